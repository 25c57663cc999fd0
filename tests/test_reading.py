"""What is mended on the way to a pick, which pick counts, and what is refused."""

from __future__ import annotations

import time

import pytest

from decidable.attempt import Failure
from decidable.binding import bind
from decidable.menu import menu_of
from decidable.reading import read, read_json


def log(text: str) -> None: ...


def put(rows: list, note: str = "") -> None: ...


MENU = menu_of({"log": log, "put": put, "close": 1, "not_spam": 2, "spam": 3})
GOOD = '{"call": "log", "args": {"text": "hi"}}'


def got(text, *, stop="stop", repair="syntax"):
    """``(option, arguments)``, or the failure kind."""
    pick = read(text, MENU, stop=stop, repair=repair)
    choice = pick if isinstance(pick, Failure) else bind(pick, MENU, repair)
    if isinstance(choice, Failure):
        return choice.kind.value
    return choice.option.name, dict(choice.arguments)


def repairs(text, repair="syntax"):
    return read(text, MENU, stop="stop", repair=repair).repairs


HI = ("log", {"text": "hi"})


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"  \n{GOOD}\n ",
        f"```json\n{GOOD}\n```",
        f"```\n{GOOD}\n```",
        f"```json {GOOD} ```",
        f"```JSON\n{GOOD}\n```\nDone.",
        f"Sure! I'll do it:\n{GOOD}\nHope it helps.",
        f"`{GOOD}`",
        f"**{GOOD}**",
        f"<think>maybe {{'call': 'close'}}</think>{GOOD}",
        f'<Thinking>\n```json\n{{"call": "close"}}\n```\n</Thinking>\n{GOOD}',
        f"[THINK]close[/THINK]{GOOD}",
        f'{{"call": "close"}} hm\n</think>\n{GOOD}',
        "\ufeff" + GOOD,
        GOOD.replace(" ", "\u00a0"),
        GOOD.replace('"}}', '",},}'),
        GOOD.replace('"', "'"),
        "{“call”: “log”, “args”: {“text”: “hi”}}",
        "{call: 'log', args: {text: 'hi'}}",
        '{"call": "log", /* the note */ "args": {"text": "hi"} // done\n}',
        "{{" + GOOD[1:] + "}",
        f"[{GOOD}]",
        f'{{"decision": {GOOD}}}',
        '{"tool_calls": [{"id": "1", "type": "function", "function": {"name": "log", "arguments": {"text": "hi"}}}]}',
        '{"name": "log", "arguments": {"text": "hi"}}',
        '{"name": "log", "parameters": {"text": "hi"}}',
        '{"action": "log", "args": {"text": "hi"}}',
        '{"function": "log", "args": {"text": "hi"}}',
        '{"tool": "log", "args": {"text": "hi"}}',
        '<tool_call>\n{"name": "log", "arguments": {"text": "hi"}}\n</tool_call>',
        '<|python_start|>{"name": "log", "parameters": {"text": "hi"}}<|python_end|>',
        '<function=log>{"text": "hi"}</function>',
        '<|channel|>commentary to=functions.log <|constrain|>json<|message|>{"text": "hi"}<|call|>',
        '<|start|>assistant to=functions.log<|channel|>commentary json<|message|>{"text": "hi"}',
        GOOD + GOOD,
        f'```bash\necho \'{{"call": "close"}}\'\n```\n{GOOD}',
        f'> {{"call": "close"}}\n\n{GOOD}',
        f"The set {{a, b}} matters [1].\n{GOOD}",
        f"Result: {GOOD}. See [1], {{2}}",
    ],
)
def test_always_on(text):
    assert got(text) == HI


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ('a, ]} b",}', 'a, ]} b",}'),
        ("use <think> and ``` and {x}", "use <think> and ``` and {x}"),
        ("None, True, 'x'", "None, True, 'x'"),
        ("“quoted”", "“quoted”"),
        ("&amp; <str", "&amp; <str"),
        ("a\tb\nc", "a\tb\nc"),
        ("// no comment", "// no comment"),
        ("x" * 100_000, "x" * 100_000),
    ],
)
def test_the_text_in_a_string_is_never_touched(raw, text):
    import json

    plain = json.dumps({"call": "log", "args": {"text": raw}})
    assert got(plain) == ("log", {"text": text})
    assert got(f"So:\n```json\n{plain}\n```") == ("log", {"text": text})
    assert got(plain[:-2] + ",}}") == ("log", {"text": text})  # with a trailing comma, so by the tolerant reader


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("two\nlines", "two\nlines"),
        ("a\tb", "a\tb"),
        (r"C:\Users\demo", r"C:\Users\demo"),
        (r"\(x\)", r"\(x\)"),
        (r"$\frac{1}{2}$", r"$\frac{1}{2}$"),
        (r"\beta", r"\beta"),
        (r"a \"b\" c", 'a "b" c'),
        (r"caf\u00e9 \ud83d\ude00", "café 😀"),
        ('he said "yes" to it', 'he said "yes" to it'),
    ],
)
def test_slips_inside_strings_that_have_one_reading(written, meant):
    assert got(f'{{"call": "log", "args": {{"text": "{written}"}}}}') == ("log", {"text": meant})


@pytest.mark.parametrize(
    "written",
    [r"C:\Users\new", r"\alpha and a line\nbreak", 'a "b", "c": "d', 'one " only', r"\x41", r"\U0001f600", r"\u12"],
)
def test_slips_that_have_two_readings_are_never_executed_wrongly(written):
    outcome = got(f'{{"call": "log", "args": {{"text": "{written}"}}}}')
    assert isinstance(outcome, str) or outcome == ("log", {"text": written})


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "empty"),
        ("  \n", "empty"),
        ("I would log it.", "no_action"),
        ("{}", "no_action"),
        ("[]", "no_action"),
        ("null", "no_action"),
        ('"log"', "no_action"),
        ('{"text": "hi"}', "no_action"),
        ('{"name": "log"}', "no_action"),
        ("Not spam.", "no_action"),
        ("spam", "no_action"),
        (f"<think>{GOOD}", "no_action"),
        (f"> {GOOD}", "no_action"),
        (f"```python\nprint(1)\n```\n> {GOOD}", "no_action"),
        (f"```bash\n{GOOD}\n```", "no_action"),
        ('{"call": "refund"}', "unknown_call"),
        ('{"call": "logs", "args": {"text": "hi"}}', "unknown_call"),
        ('{"call": "log", "args": {"text": "<str>"}}', "bad_args"),
        ('{"call": "log", "args": "hi"}', "bad_args"),
        ('{"call": "log"}', "missing_required"),
        ('{"call": "close"}{"call": "spam"}', "ambiguous"),
        ('{"call": "close"}\n{"call": "spam"}', "ambiguous"),
        ('[{"call": "close"}, {"call": "spam"}]', "ambiguous"),
        ('Either {"call": "close"} or {"call": "spam"}', "ambiguous"),
        ('```json\n{"call": "close"}\n```\n```json\n{"call": "spam"}\n```', "ambiguous"),
        ('{"call": "close", "call": "spam"}', "no_action"),
        ('{"call": "close", "action": "spam"}', "ambiguous"),
        ('{"call": "log", "args": {"text": 1}}', "type_mismatch"),
        ('{"call": "log", "args": {"text": 1, "text": "1"}}', "no_action"),
    ],
)
def test_failures_have_a_kind(text, kind):
    assert got(text) == kind


@pytest.mark.parametrize("stop", ["refusal", "content_filter"])
def test_a_refusal_is_one_whatever_it_says(stop):
    assert got(GOOD, stop=stop) == "refusal"
    assert got("", stop=stop) == "refusal"


def test_the_conclusion_wins_over_a_draft():
    assert got('It could be {"call": "close"}.\nOn reflection:\n{"call": "spam"}') == ("spam", {})
    assert got('{"call": "close"}\n\nNo, rather:\n```json\n{"call": "spam"}\n```') == ("spam", {})
    assert got('{"call": "close"}\nor, on reflection, {"call": "spam"} is too harsh') == "ambiguous"


def test_one_and_true_are_different_picks():
    assert got('{"call": "put", "args": {"rows": [1]}}{"call": "put", "args": {"rows": [true]}}') == "ambiguous"
    assert got('{"call": "put", "args": {"rows": [1]}}{"call": "put", "args": {"rows": [1.0]}}') == "ambiguous"


def test_a_call_inside_arguments_is_data():
    inner = {"call": "close"}
    assert got('{"call": "put", "args": {"rows": [{"call": "close"}],}}') == ("put", {"rows": [inner]})
    assert got('{"call": "put", "args": {"rows": [{"call": "close"}], "note": oops}}') == "no_action"


@pytest.mark.parametrize("stop", ["length", None, "stop"])
@pytest.mark.parametrize(
    "cut",
    [
        '{"call": "log", "args": {"text": "h',
        '{"call": "log", "args": {"text": "hi"',
        '{"call": "lo',
        '{"call":',
        '{"call":    \n',
    ],
)
def test_a_cut_reply_is_truncated(cut, stop):
    assert got(cut, stop=stop) == "truncated"
    assert got(f"Sure:\n```json\n{cut}", stop=stop) == "truncated"


def test_a_number_or_word_at_the_end_may_go_on():
    assert got('{"call": "put", "args": {"rows": [1, 2', stop="stop") == "truncated"
    assert got('{"call": "put", "args": {"rows": []}, "sure": tru', stop="stop") == "truncated"


def test_closing_brackets_are_added_only_when_the_model_stopped_by_itself():
    open_ended = GOOD[:-1]
    assert got(open_ended, stop="stop") == HI
    assert "closing bracket added" in repairs(open_ended)
    assert got(open_ended, stop=None) == "truncated"
    assert got(open_ended, stop="length") == "truncated"


def test_the_limit_after_a_complete_pick_does_no_harm():
    assert got(f"{GOOD}\n\nTo explain further, the", stop="length") == HI
    assert got('{"call": "close"}\nOn reflection:\n{"call": "spam", "args', stop="length") == "truncated"
    assert got("I think that", stop="length") == "truncated"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("spam", "spam"),
        ("SPAM", "spam"),
        ("**Spam**.", "spam"),
        ("Answer: spam", "spam"),
        ("It looks odd.\nFinal decision: not spam", "not_spam"),
        ("It looks odd {a} {.\n\n- **SPAM**", "spam"),
        ("not-spam", "not_spam"),
        ('"{\\"call\\": \\"close\\"}"', "close"),
    ],
)
def test_bare_names_under_lossless(text, name):
    assert got(text, repair="lossless") == (name, {})
    assert isinstance(got(text), str)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Not spam at all", "no_action"),
        ("This is spam because of the link", "no_action"),
        ("spam; not_spam", "ambiguous"),
        ("spam or close", "ambiguous"),
        ("spam\nclose", "ambiguous"),
        ("spamm", "no_action"),
        ("sp", "no_action"),
        ("log", "missing_required"),
        ("<think>spam</think>", "no_action"),
        ("> spam", "no_action"),
    ],
)
def test_bare_names_that_are_none(text, kind):
    assert got(text, repair="lossless") == kind


@pytest.mark.parametrize(
    "text",
    [
        '{"call": "Log", "args": {"text": "hi"}}',
        '{"call": "functions.log", "args": {"text": "hi"}}',
        '{"call": "log", "text": "hi"}',
        '{"call": "log", "args": "{\\"text\\": \\"hi\\"}"}',
        '{"call": "log", "args": {"arguments": {"text": "hi"}}}',
        'I will call [log(text="hi")]',
        "<function=log><parameter=text>hi</parameter></function>",
        '<invoke name="log"><parameter name="text">hi</parameter></invoke>',
    ],
)
def test_lossless_repairs_are_reported_and_off_by_default(text):
    assert got(text, repair="lossless") == HI
    assert isinstance(got(text), str)
    pick = read(text, MENU, stop="stop", repair="lossless")
    assert bind(pick, MENU, "lossless").repairs


@pytest.mark.parametrize(
    "text",
    [
        '[log(text="hi", text="ho")]',
        "[log('hi')]",
        '[log(text=open("x"))]',
        "<function=log><parameter=text>hi",
        "<function=log>hi</function>",
    ],
)
def test_other_notations_that_are_not_clear(text):
    assert isinstance(got(text, repair="lossless"), str)


def test_two_spellings_of_two_options_are_no_guess():
    menu = menu_of({"web-search": 1, "web_search": 2})
    for name in ("web search", "WebSearch", "WEB-SEARCH"):
        assert bind(read(f'{{"call": "{name}"}}', menu), menu, "lossless").kind == "unknown_call"
    assert bind(read('{"call": "web_search"}', menu), menu, "lossless").option.name == "web_search"


def test_strict_json_only():
    assert got(GOOD, repair="none") == HI
    assert got(f" {GOOD}\n", repair="none") == HI
    for text in (f"x {GOOD}", f"```json\n{GOOD}\n```", "{'call': 'close'}", f"[{GOOD}]", GOOD[:-1], f'{{"d": {GOOD}}}'):
        assert got(text, repair="none") == "no_action"


def test_repairs_say_what_was_done():
    assert repairs(GOOD) == ()
    assert repairs(f"x\n{GOOD}") == ("text around the JSON",)
    assert repairs("{'call': 'close', }") == ("single quotes", "trailing comma")
    assert repairs('{"call":\u00a0"close"}') == ("unusual space",)
    assert repairs(f"[{GOOD}]") == ("unwrapped",)


def test_read_json_for_replies_without_a_menu():
    assert read_json('Here: {"a": [1]}. Done.') == {"a": [1]}
    assert read_json("[1, 2]") == [1, 2]
    assert read_json('{"a": 1}{"a": 2}').kind == "ambiguous"
    assert read_json("nothing").kind == "no_action"
    assert read_json("").kind == "empty"
    assert read_json('{"a": 1', stop="length").kind == "truncated"
    assert read_json('{"a": 1}', stop="refusal").kind == "refusal"
    assert read_json('x {"a": 1}', repair="none").kind == "no_action"


HOSTILE = {
    "braces": "{",
    "objects": '{"a":',
    "quotes": '{"',
    "keys": "{a:",
    "lists": "[{",
    "fences": "```\n",
    "thoughts": "<think>",
    "ends": "</think>",
    "comments": "{/*",
    "channels": "<|channel|>analysis<|message|>",
    "recipients": "to=functions.a <|message|>{",
    "calls": '{"call": "log", ',
    "nested calls": '{"call":{"call":',
    "backslashes": '{"a": "\\',
    "curly quotes": "{“",
    "parameters": "<function=log><parameter=text>",
    "python": "[log(",
    "names": "spam, ",
    "lines": "spam\n",
    "quoted": '> {"call": "close"}\n',
    "complete": '{"call": "close"} ',
    "spaces": "{ " + " " * 50,
}


@pytest.mark.parametrize("unit", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_gives_a_failure_or_a_pick_in_linear_time(unit):
    def seconds(size):
        text = unit * (size // len(unit))
        best = 1e9
        for _ in range(2):
            started = time.process_time()
            for repair in ("syntax", "lossless"):
                got(text, repair=repair)
            best = min(best, time.process_time() - started)
        return best

    small, large = seconds(25_000), seconds(200_000)
    assert large < max(small, 0.005) * 8 * 4  # quadratic would be 8 times more than this


def test_a_megabyte_of_braces():
    started = time.process_time()
    assert got("{" * 1_000_000) == "no_action"
    assert time.process_time() - started < 2  # takes 0.06 s; the bar itself is in bench/


def test_depth_is_bounded_and_never_a_recursion_error():
    for opener, closer in (("[", "]"), ('{"a":', "}")):
        for depth in (60, 65, 1000, 100_000):
            nested = opener * depth + "1" + closer * depth
            outcome = got(f'{{"call": "put", "args": {{"rows": [{nested}]}}}}')
            assert outcome == "no_action" or outcome[0] == "put"


@pytest.mark.parametrize(
    "text",
    [
        f'{{"args": {GOOD} "call" "put"}}',
        f'{{"args": {{"note": "x" "data": {GOOD}}}, "call": "put"}}',
        f'{{"args": {{"note": oops, "data": {GOOD}',
        f'{{"note": "say "x" y, "data": {GOOD}',
        f'{{"arguments": {GOOD}}}',
        f'{{"a": {{"b": {GOOD}}}}}',
        f'{{"a": {GOOD}, "b": 1}}',
    ],
)
def test_what_an_object_holds_that_is_no_pick_is_its_data(text):
    assert got(text) in ("no_action", "truncated")
    assert got(f"So:\n```json\n{text}\n```") in ("no_action", "truncated")


@pytest.mark.parametrize("text", [f'["not", {GOOD}]', f"[{GOOD}, 1]", f'[{GOOD}, {{"a": 1}}]', f"So: [{GOOD}, x]"])
def test_a_call_in_a_list_stands_alone_there(text):
    assert got(text) == "no_action"


def test_a_list_of_one_may_end_in_a_comma():
    assert got(f"[{GOOD},]") == HI


@pytest.mark.parametrize("stop", ["stop", "length", None])
@pytest.mark.parametrize("tail", ["", ",", ", {", ", \n{"])
def test_an_open_list_may_have_held_another_pick(tail, stop):
    assert got(f"[{GOOD}{tail}", stop=stop) == "truncated"


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ('{"call": "put", "args": {"rows": [{"x": 1}]}', ("put", {"rows": [{"x": 1}]})),
        ('{"decision": {"call": "put", "args": {"rows": [1]}}', ("put", {"rows": [1]})),
        ('{"call": "put", "args": {"rows": [{"x": 1}]', "truncated"),
        ('{"call": "put", "args": {"rows": [{"x": 1}', "truncated"),
        ('{"call": "put", "rows": [1]', "truncated"),
        ('<function=put>{"rows": [1]', "truncated"),
    ],
)
def test_a_bracket_is_added_only_where_no_argument_can_be_lost(text, outcome):
    assert got(text) == outcome
    assert got(text, repair="lossless") == outcome


@pytest.mark.parametrize(
    "text",
    [
        f"<think>a <reasoning>{GOOD}</reasoning> hm, {GOOD}",
        f"{GOOD}\n<think>wait, that is",
        f"Well. <think>{GOOD}</think> I will not.",
    ],
)
def test_reasoning_that_goes_on_concludes_nothing(text):
    assert got(text) == "no_action"
    assert got(text, stop="length") == "truncated"


@pytest.mark.parametrize(
    "text",
    [
        'Well. <think>[log(text="hi")]</think> I will not.',
        '> [log(text="hi")]',
        '- > [log(text="hi")]',
        '```bash\n[log(text="hi")]\n```',
        '> <function=log>{"text": "hi"}</function>',
        f"1. > {GOOD}",
        f"  > {GOOD}",
        f"> He wrote:\n> ```json\n> {GOOD}\n> ```",
        f"```bash\necho '{GOOD}'",
    ],
)
def test_no_notation_is_read_out_of_reasoning_quotations_or_other_code(text):
    assert got(text) == "no_action"
    assert got(text, repair="lossless") == "no_action"


def test_a_closing_fence_is_no_language():
    assert got(f'```json\n{GOOD}\n```Done. No, rather:\n{{"call": "close"}}') == ("close", {})


def test_the_recipient_of_one_harmony_message_is_not_that_of_the_next():
    first = '<|start|>assistant<|channel|>commentary to=functions.log<|message|>{"text": "hi"}<|call|>'
    last = '<|start|>assistant<|channel|>final<|message|>{"call": "close"}'
    assert got(first) == HI
    assert got(first + last) == "ambiguous"


def test_a_repeated_menu_is_no_pick():
    assert got(MENU.render()) == "ambiguous"
    assert got("The options are:\n\n" + MENU.render()) == "ambiguous"
    assert got(MENU.render() + f"\n\nI pick:\n{GOOD}") == HI
    assert got(MENU.render() + '\n\nI pick:\n{"call": "close"}') == ("close", {})


def test_an_example_gives_way_to_the_pick_with_values():
    example = '{"call": "log", "args": {"text": "<str>"}}'
    assert got(GOOD + example) == HI
    assert got(example + '{"call": "close"}') == "ambiguous"
    assert got(f'{GOOD}{{"call": "close"}}') == "ambiguous"
    assert got(f'{{"call": "put", "args": {{"rows": []}}}}{GOOD}') == "ambiguous"


def test_valid_json_with_escaped_backslashes_is_left_alone():
    text = r'{"call": "log", "args": {"text": "C:\\bin\\foo and \\beta"}}'
    for level in ("none", "syntax", "lossless"):
        assert got(text, repair=level) == ("log", {"text": r"C:\bin\foo and \beta"})
    assert repairs(text) == ()


@pytest.mark.parametrize(
    "written",
    [
        '{"call": "put", "args": {"rows": [007]}}',
        '{"call": "put", "args": {"rows": [1] "x"}}',
        '{"call": "put", "args": {"rows": [1], "note", "x": 1}}',
        '{"call": "put", "args": {"rows": [1], "rows": [true]}}',
        '{"call": "put", "args": {"rows": [1 2]}}',
        '{"call": "put", "args": {"rows": [.5]}}',
        '{"call": "put", "args": {"rows": [one]}}',
    ],
)
def test_what_a_mend_would_lose_is_refused(written):
    assert got(written) == "no_action"
    assert got(written, repair="lossless") == "no_action"


@pytest.mark.parametrize(
    "text",
    [
        '[log(text="hi")(text="ho")]',
        '[log(text="\\d")]',
        "[log(text=1or 2)]",
        '[put(rows={1: 2, "a": 3})]',
        "[put(rows=(1,))]",
        "[log(text=1+2j)]",
        "[log(text=" + "(" * 5000 + ")]",
        "[log(text=" + "-" * 15_000 + "1)]",
        "[log(text=" + "9" * 5000 + ")]",
        "<function=put><parameter=rows>[1]</parameter><parameter=note>x</function>",
        "<function=log><parameter=text>a</parameter><parameter=text>b</parameter></function>",
    ],
)
def test_other_notations_that_would_lose_something(text):
    assert got(text, repair="lossless") == "no_action"


def test_a_name_is_no_part_of_a_word():
    menu = menu_of({"s": 1, "menu_open": 2})
    assert bind(read('{"call": "stool"}', menu), menu, "lossless").kind == "unknown_call"
    assert bind(read('{"call": "MenuOpen_tool"}', menu), menu, "lossless").option.name == "menu_open"


@pytest.mark.parametrize("repair", ["none", "syntax", "lossless"])
@pytest.mark.parametrize(
    "text",
    [
        "[" + "9" * 5000 + "," + "[" * 100_000,
        '{"call": "put", "args": {"n": ' + "9" * 5000 + ', "rows": ' + "[" * 100_000 + "]" * 100_000 + "}}",
        '{"call": "' + "x" * 100_000 + '"}',
        '{"call": "log", "args": [' + "1," * 10_000 + "1]}",
        '{"call": "log", "args": {"' + "x" * 100_000 + '" 1}}',
        '{"call": "log", "args": {"text": ' + "x" * 100_000 + "}}",
        "```" + "x" * 100_000 + "\n{a",
    ],
)
def test_messages_are_short_whatever_the_reply(text, repair):
    pick = read(text, MENU, stop="stop", repair=repair)
    failure = pick if isinstance(pick, Failure) else bind(pick, MENU, repair)
    assert len(failure.message) < 500


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("```json\n[1, 2]\n```", [1, 2]),
        ('```json\n[{"a": 1}]\n```', [{"a": 1}]),
        ('```json\n[{"a": 1,},]\n```', [{"a": 1}]),
        ('Here:\n[{"a": 1}, {"a": 2}]', [{"a": 1}, {"a": 2}]),
        ("\ufeff[1]", [1]),
    ],
)
def test_read_json_reads_arrays(text, value):
    assert read_json(text, stop="stop") == value


@pytest.mark.parametrize("text", ['[{"a": 1}', '[{"a": 1},', '```json\n[{"a": 1}', '{"a": 1}\n<think>or', "```\n[1, 2"])
@pytest.mark.parametrize("stop", ["stop", "length", None])
def test_read_json_takes_no_part_for_the_whole(text, stop):
    assert isinstance(read_json(text, stop=stop), Failure)
