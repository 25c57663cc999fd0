"""What must hold for any menu, any arguments and any text."""

from __future__ import annotations

import json

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from decidable.attempt import Failure, Pick
from decidable.binding import Choice, bind
from decidable.menu import Menu, menu_of
from decidable.options import SchemaOption, ValueOption
from decidable.reading import read, read_json
from decidable.schema.field import PLACEHOLDERS

settings.register_profile("reading", deadline=None, derandomize=True, max_examples=300)
settings.load_profile("reading")

names = st.text("abcdefghijABC_-", min_size=1, max_size=8).filter(lambda s: s.strip())
# A backspace or form feed before a letter is read as the backslash that "\\beta" lost: corpus case B15.
strings = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\b\f"), max_size=20).filter(
    lambda s: s not in PLACEHOLDERS
)
scalars = {"str": strings, "int": st.integers(-(10**12), 10**12), "bool": st.booleans()}
scalars["float"] = st.floats(allow_nan=False, allow_infinity=False, width=32)
TYPES = {"str": str, "int": int, "bool": bool, "float": float}
data = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | strings,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner, max_size=2),
    max_leaves=5,
)
call_like = st.fixed_dictionaries({"call": names, "args": st.dictionaries(names, st.integers(0, 9), max_size=1)})


@st.composite
def picks(draw):
    """A menu, and a good pick from it: ``(menu, name, arguments)``."""
    fields = draw(st.dictionaries(names, st.sampled_from([*TYPES, "dict", "list"]), max_size=4))
    name = draw(names)
    schema = {field: TYPES.get(kind, dict if kind == "dict" else list) for field, kind in fields.items()}
    option = SchemaOption(schema, "", name) if schema else ValueOption(1, "", name)
    others = [ValueOption(i, "", f"other{i}") for i in range(draw(st.integers(0, 2)))]
    free = {
        "dict": st.dictionaries(names, data | call_like, max_size=2),
        "list": st.lists(data | call_like, max_size=2),
    }
    arguments = {field: draw({**scalars, **free}[kind]) for field, kind in fields.items()}
    return Menu([option, *others]), name, arguments


def python_text(value):
    return repr(value)


def has_python_escape(arguments):
    """Escapes that JSON does not have; refused, as another test says."""
    return any(escape in repr(arguments) for escape in ("\\x", "\\U"))


def trailing_commas(value):
    text = json.dumps(value)
    return text[:-1] + ",}"


SHAPES = {
    "call": lambda n, a: {"call": n, "args": a},
    "action": lambda n, a: {"action": n, "args": a},
    "tool call": lambda n, a: {"name": n, "arguments": a},
    "typed": lambda n, a: {"type": "function", "name": n, "parameters": a},
}
TEXTS = {
    "plain": json.dumps,
    "unicode": lambda v: json.dumps(v, ensure_ascii=False),
    "indented": lambda v: json.dumps(v, indent=2),
    "compact": lambda v: json.dumps(v, separators=(",", ":")),
    "trailing comma": trailing_commas,
    "python": python_text,
}
WRAPS = {
    "bare": "{}",
    "fence": "```json\n{}\n```",
    "anonymous fence": "```\n{}\n```",
    "prose before": "Sure, here is what I would do:\n\n{}",
    "prose after": "{}\n\nLet me know if that helps.",
    "prose around a fence": "First I looked at it.\n\n```json\n{}\n```\n\nThat is all.",
    "thought": "<think>hm, maybe the other one</think>\n{}",
    "end of thought": "hm, maybe the other one\n</think>\n{}",
    "byte order mark": "\ufeff{}",
    "tool call tag": "<tool_call>\n{}\n</tool_call>",
    "list": "[{}]",
    "wrapper": '{{"decision": {}}}',
    "spaces": "\n\n  {}  \n",
}
wrappings = st.tuples(st.sampled_from(sorted(SHAPES)), st.sampled_from(sorted(TEXTS)), st.sampled_from(sorted(WRAPS)))


def written(name, arguments, wrapping):
    shape, text, wrap = wrapping
    return WRAPS[wrap].format(TEXTS[text](SHAPES[shape](name, arguments)))


def outcome(text, menu, stop, repair):
    pick = read(text, menu, stop=stop, repair=repair)
    assert isinstance(pick, (Pick, Failure))
    if isinstance(pick, Failure):
        return pick
    choice = bind(pick, menu, repair)
    assert isinstance(choice, (Choice, Failure))
    return choice


@given(picks(), wrappings, st.sampled_from(["syntax", "lossless"]), st.sampled_from(["stop", None, "length"]))
def test_any_pick_in_any_lossless_wrapping_reads_back_equal(pick, wrapping, repair, stop):
    menu, name, arguments = pick
    assume(wrapping[1] != "python" or not has_python_escape(arguments))
    choice = outcome(written(name, arguments, wrapping), menu, stop, repair)
    assert isinstance(choice, Choice), choice
    assert choice.option.name == name
    assert json.dumps(choice.arguments, sort_keys=True) == json.dumps(arguments, sort_keys=True)


@given(picks(), wrappings)
@settings(max_examples=15)
def test_a_reply_cut_anywhere_never_runs_anything_but_its_own_whole_pick(pick, wrapping):
    assume(wrapping[1] != "python" or not has_python_escape(pick[2]))
    check_every_cut(*pick, wrapping)


@pytest.mark.parametrize("wrap", WRAPS)
def test_a_reply_that_holds_calls_as_data_cut_anywhere(wrap):
    inner = {"call": "close", "args": {}}
    arguments = {"rows": [inner, {"n": 12, "x": [inner]}], "n": 125}
    for text in TEXTS:
        check_every_cut(MENU, "put", arguments, ("call", text, wrap))


def check_every_cut(menu, name, arguments, wrapping):
    text = written(name, arguments, wrapping)
    whole = json.dumps(arguments, sort_keys=True)
    body = TEXTS[wrapping[1]](SHAPES[wrapping[0]](name, arguments))
    complete = text.rindex(body) + len(body)
    for end in range(len(text)):
        for stop in ("length", None, "stop"):
            for repair in ("syntax", "lossless"):
                choice = outcome(text[:end], menu, stop, repair)
                if isinstance(choice, Choice):
                    assert (choice.option.name, json.dumps(choice.arguments, sort_keys=True)) == (name, whole)
                    assert end >= complete or (stop == "stop" and "closing bracket added" in choice.repairs)


def log(text: str) -> None: ...


def put(rows: list, n: int = 1) -> None: ...


MENU = menu_of({"log": log, "put": put, "close": 1, "not_spam": 2, "spam": 3})
FRAGMENTS = [
    "{", "}", "[", "]", '"', "'", ":", ",", "\\", "\n", " ", "`", "```", "```json\n", "```bash\n", "<think>", "</think>", "<tool_call>",
    "</tool_call>", "<|channel|>analysis<|message|>", "<|message|>", "<|end|>", "to=functions.log ", "<function=log>", "</function>",
    "<parameter=text>", "</parameter>", "> ", "call", '"call"', '"call": ', '"args"', '"args": {', '"name": "log"', '"arguments": ',
    '{"call": "close"}', '{"call": "log", "args": {"text": "x"}}', "spam", "not spam", "close", "log", "[log(text='a')]", "Answer: ",
    "NaN", "Infinity", "1e999", "9" * 5000, "\\u12", "\ud800", "\ufeff", "“", "”", "„", "//", "/*", "*/", "null", "None", "true", "or", "é",
]  # fmt: skip
fragments = st.lists(st.sampled_from(FRAGMENTS), max_size=25).map("".join)
stops = st.sampled_from(["stop", "length", "refusal", "content_filter", None])
levels = st.sampled_from(["none", "syntax", "lossless"])


@given(st.text(max_size=200) | fragments, stops, levels)
@settings(max_examples=1500)
@example('{"call": "log", "args": {"text": "\ud800"}}', None, "syntax")
@example('{"call": "put", "args": {"rows": [1e999]}}', "stop", "lossless")
def test_any_text_at_all_gives_a_choice_or_a_failure(text, stop, repair):
    choice = outcome(text, MENU, stop, repair)
    if isinstance(choice, Choice):
        assert choice.option in MENU.options
        assert stop not in ("refusal", "content_filter")
    else:
        assert choice.message
        assert len(choice.message) < 2000
    read_json(text, stop=stop, repair=repair)


@given(fragments, stops)
@settings(max_examples=600)
def test_a_wider_level_never_picks_something_else(text, stop):
    found = [
        c
        for c in (outcome(text, MENU, stop, level) for level in ("none", "syntax", "lossless"))
        if isinstance(c, Choice)
    ]
    assert len({(c.option.name, json.dumps(c.arguments, sort_keys=True, default=repr)) for c in found}) <= 1


@given(
    st.sampled_from(["close", "spam"]),
    st.sampled_from(["close", "spam"]),
    st.sampled_from(["", " ", "\n", ",", "\n\n", "; "]),
)
def test_picks_side_by_side_are_one_or_ambiguous(first, second, between):
    choice = outcome(f'{{"call": "{first}"}}{between}{{"call": "{second}"}}', MENU, "stop", "syntax")
    if first == second:
        assert choice.option.name == first
    else:
        assert choice.kind == "ambiguous"
