"""One menu, put in three ways: the same case has the same result on all of them."""

from __future__ import annotations

import enum
import json
from typing import Literal

import pytest
from pydantic import BaseModel

from decidable import DecisionError, RefusedError, SettingError, UnaskableError, decision
from decidable.menu import menu_of
from decidable.messages import ChatRequest, Reply
from decidable.native import menu_schema, menu_tools
from decidable.providers.protocol import Capabilities
from decidable.runtimes import Runtime
from decidable.testing import pick, scripted, text, truncated
from decidable.tools import NamedTool, ToolCall, ToolResult

VIAS = ("menu", "tools", "schema")


class Address(BaseModel):
    street: str
    floor: int | None = None


class Colour(enum.Enum):
    red = "red"
    blue = "blue"


def refund(order: str, amount: float = 1.5) -> tuple[str, str, float]:
    """Give money back.

    Never shown.
    """
    return ("refund", order, amount)


def move(to: Address, why: Literal["noise", "rent"]) -> tuple[str, Address, str]:
    """Move house."""
    return ("move", to, why)


def paint(colours: list[Colour]) -> list[Colour]:
    return colours


MENU = {
    "refund": refund,
    "move": move,
    "paint it!": paint,
    "close": "closed",
    "nothing": (None, "Leave it"),
    "note": ("Write it down", {"text": str, "tags": [str]}),
    "address": Address,
}
CASES = [
    ("refund", {"order": "A-17", "amount": 2.0}, ("refund", "A-17", 2.0)),
    ("refund", {"order": "A-17"}, ("refund", "A-17", 1.5)),
    ("move", {"to": {"street": "Elm 1"}, "why": "rent"}, ("move", Address(street="Elm 1"), "rent")),
    (
        "move",
        {"to": {"street": "Elm 1", "floor": 3}, "why": "noise"},
        ("move", Address(street="Elm 1", floor=3), "noise"),
    ),
    ("paint it!", {"colours": ["red", "blue"]}, [Colour.red, Colour.blue]),
    ("close", {}, "closed"),
    ("nothing", {}, None),
    ("note", {"text": "T", "tags": ["a"]}, {"decision": "note", "text": "T", "tags": ["a"]}),
    ("address", {"street": "Elm 1"}, Address(street="Elm 1")),
]


@pytest.mark.parametrize("via", VIAS)
@pytest.mark.parametrize(("name", "arguments", "result"), CASES, ids=[f"{c[0]}-{len(c[1])}" for c in CASES])
def test_the_same_case_has_the_same_result(both, via, name, arguments, result):
    with scripted(pick(name, **arguments)) as rt:
        made = both.decide("Next?", MENU, runtime=rt, via=via)
    assert (made.option, made.result, made.attempts) == (name, result, ())


@pytest.mark.parametrize("via", VIAS)
@pytest.mark.parametrize(
    ("name", "arguments", "kind"),
    [
        ("refund", {}, "missing_required"),
        ("refund", {"order": 5}, "type_mismatch"),
        ("move", {"to": {"street": "Elm 1"}, "why": "love"}, "enum_violation"),
        ("paint it!", {"colours": ["green"]}, "enum_violation"),
        ("note", {"text": "T", "tags": "a"}, "type_mismatch"),
    ],
)
def test_the_same_mistake_is_the_same_failure_and_is_asked_again(both, via, name, arguments, kind):
    with scripted(pick(name, **arguments), pick("close")) as rt:
        made = both.decide("Next?", MENU, runtime=rt, via=via)
    assert made.result == "closed"
    assert [attempt.kind for attempt in made.attempts] == [kind]


@pytest.mark.parametrize("via", VIAS)
def test_exec_with_choices_takes_the_same_ways(both, via):
    with scripted(pick("refund", order="A")) as rt:
        assert both.exec(rt, "Work, then decide", choices=MENU, via=via) == ("refund", "A", 1.5)
    with scripted(pick("close"), via=via) as rt:
        assert both.exec(rt, "Work, then decide", choices=MENU) == "closed"
        assert bool(rt.requests[0].request.tools) == (via == "tools")


# --- tools ------------------------------------------------------------------------------------------------------------


def call(name: str, arguments: object = None, id_: str = "c1") -> ToolCall:
    return ToolCall(id_, name, {} if arguments is None else arguments)


def called(*calls: ToolCall, **more) -> Reply:
    return Reply(**{"stop": "tool_calls", "tool_calls": calls, **more})


def request_of(rt, number: int) -> ChatRequest:
    return rt.requests[number].request


def test_one_tool_per_option_and_a_call_is_forced():
    with scripted(pick("close")) as rt:
        decision.make("Next?", MENU, runtime=rt, via="tools")
    request = request_of(rt, 0)
    assert [tool.name for tool in request.tools] == [
        "refund",
        "move",
        "paint_it",
        "close",
        "nothing",
        "note",
        "address",
    ]
    assert request.tool_choice == "required"
    assert request.parallel_tool_calls is False
    assert request.tools[0].description == "Give money back."
    assert request.tools[2].description == "paint it!"
    assert request.tools[3].parameters == {
        "type": "object",
        "properties": {},
        "required": [],
        "additionalProperties": False,
    }
    assert "Menu:" not in rt.requests[0].prompt


def test_an_answer_in_text_is_an_attempt_and_not_a_crash(both):
    with scripted("I would close it.", pick("close")) as rt:
        made = both.decide("Next?", MENU, runtime=rt, via="tools")
    assert [a.kind for a in made.attempts] == ["no_action"]
    assert "called no tool but said: I would close it." in made.attempts[0].message


def test_a_good_pick_in_text_does_not_count_where_a_call_was_forced():
    with scripted('{"call": "close"}', pick("close")) as rt:
        assert len(decision.decide("Next?", MENU, runtime=rt, via="tools").attempts) == 1


def test_every_call_is_answered_before_the_re_ask(both):
    two = called(call("refund", {"order": "A"}, "x"), call("close", {}, "y"))
    with scripted(two, called(call("vanish", {}, "z")), pick("close")) as rt:
        made = both.decide("Next?", MENU, runtime=rt, via="tools", max_retries=2)
    assert [a.kind for a in made.attempts] == ["ambiguous", "unknown_call"]
    messages = request_of(rt, 2).messages
    assert [m.role for m in messages] == ["user", "assistant", "user", "assistant", "user"]
    assert messages[1].tool_calls == two.tool_calls
    assert [(r.call_id, r.is_error) for r in messages[2].tool_results] == [("x", True), ("y", True)]
    assert [r.call_id for r in messages[4].tool_results] == ["z"]
    assert messages[2].content == ""
    assert "Decide by calling exactly one of the tools" in messages[4].content
    assert (
        "there is no tool 'vanish'; the tools are: 'refund', 'move', 'paint_it'" in messages[4].tool_results[0].content
    )


def test_the_turn_of_a_model_that_reasons_goes_back_as_it_came():
    from decidable.tools import Echo

    echo = Echo("scripted", [{"signed": "thought"}])
    with scripted(called(call("vanish"), echo=echo), pick("close")) as rt:
        decision.make("Next?", MENU, runtime=rt, via="tools")
    assert request_of(rt, 1).messages[1].echo is echo


def test_calls_that_say_the_same_are_one_pick():
    with scripted(called(call("close", {}, "x"), call("close", {}, "y"))) as rt:
        assert decision.make("Next?", MENU, runtime=rt, via="tools") == "closed"


@pytest.mark.parametrize(("repair", "works"), [("none", False), ("syntax", True), ("lossless", True)])
def test_arguments_that_are_no_json_are_mended_as_far_as_allowed(repair, works):
    reply = called(call("refund", "{'order': 'A',}"))
    rt = scripted(reply, repair=repair)
    if works:
        made = decision.decide("Next?", MENU, runtime=rt, via="tools", max_retries=0)
        assert made.result == ("refund", "A", 1.5)
        assert made.repairs == ("mended the arguments' JSON",)
    else:
        with pytest.raises(DecisionError, match="must be an object"):
            decision.make("Next?", MENU, runtime=rt, via="tools", max_retries=0)


def test_a_call_that_was_cut_off_is_not_carried_out():
    cut = called(call("refund", {"order": "A"}), stop="length")
    with pytest.raises(DecisionError, match="cut off") as caught:
        decision.make("Next?", MENU, runtime=scripted(cut), via="tools", max_retries=0)
    assert caught.value.kind == "truncated"
    with pytest.raises(DecisionError, match="cut off"):
        decision.make("Next?", MENU, runtime=scripted(truncated("Well, ")), via="tools", max_retries=0)


def test_a_refusal_is_final():
    with scripted(Reply("No.", "refusal"), max_retries=0) as rt, pytest.raises(RefusedError, match="No."):
        decision.make("Next?", MENU, runtime=rt, via="tools", max_retries=5)


def test_nothing_said_and_nothing_called():
    with pytest.raises(DecisionError) as caught:
        decision.make("Next?", MENU, runtime=scripted(text("")), via="tools", max_retries=0)
    assert caught.value.kind == "empty"


class Unforced:
    """A chat model with tools that cannot be made to call one."""

    name = "unforced"
    model = None

    def __init__(self, *replies, **capabilities):
        self.capabilities = Capabilities(chat=True, tools=True, remote=False, **capabilities)
        self.replies = list(replies)
        self.requests = []

    def send(self, request, deadline=None):
        self.requests.append(request)
        return self.replies.pop(0)

    async def asend(self, request, deadline=None):
        return self.send(request, deadline)

    def close(self):
        pass

    async def aclose(self):
        pass


@pytest.mark.parametrize("reply", [Reply('{"call": "close"}', "stop"), called(call("close"))])
def test_where_no_call_can_be_forced_the_menu_is_in_the_prompt_and_text_counts(reply):
    provider = Unforced(reply)
    assert decision.make("Next?", MENU, runtime=Runtime(provider), via="tools") == "closed"
    request = provider.requests[0]
    assert request.tool_choice == "auto"
    assert "Menu:\n\nrefund(order: str" in request.messages[0].content


# --- names and schemas ------------------------------------------------------------------------------------------------


def test_names_that_no_wire_takes_are_respelled_and_lead_back():
    names = ["naïve plan", "naïve-plan", "na_ve_plan", "2nd", "x" * 100, "x" * 99, "", "日本"]
    options = {name or "?": number for number, name in enumerate(names)}
    tools, back = menu_tools(menu_of(options))
    spelled = [tool.name for tool in tools]
    assert len(set(spelled)) == len(names)
    assert all(len(name) <= 64 and name.replace("-", "_").isidentifier() and name.isascii() for name in spelled)
    assert [back[name] for name in spelled] == list(options)
    for number, name in enumerate(options):
        assert decision.make("Next?", options, runtime=scripted(pick(name)), via="tools") == number


def test_a_name_that_is_fine_keeps_it_even_when_another_is_respelled_to_it():
    tools, back = menu_tools(menu_of({"a b": 1, "a_b": 2}))
    assert [tool.name for tool in tools] == ["a_b_2", "a_b"]
    assert back == {"a_b_2": "a b", "a_b": "a_b"}


def test_the_schema_of_a_pick_ties_each_name_to_its_arguments():
    assert menu_schema(menu_of({"refund": refund, "close": 1})) == {
        "anyOf": [
            {
                "type": "object",
                "properties": {
                    "call": {"type": "string", "const": "refund"},
                    "args": {
                        "type": "object",
                        "properties": {"order": {"type": "string"}, "amount": {"type": "number", "default": 1.5}},
                        "required": ["order"],
                        "additionalProperties": False,
                    },
                },
                "required": ["call", "args"],
                "additionalProperties": False,
            },
            {
                "type": "object",
                "properties": {"call": {"type": "string", "const": "close"}},
                "required": ["call"],
                "additionalProperties": False,
            },
        ]
    }


def test_the_text_menu_is_shown_beside_the_schema():
    with scripted(pick("close")) as rt:
        decision.make("Next?", MENU, runtime=rt, via="schema")
    assert request_of(rt, 0).output_schema == menu_schema(menu_of(MENU))
    assert 'Call: {"call": "close"}' in rt.requests[0].prompt


# --- what cannot be asked ---------------------------------------------------------------------------------------------


def test_unknown_ways_are_refused():
    for make in (lambda: scripted(via="magic"), lambda: decision.make("?", ["a"], runtime=scripted(), via="magic")):
        with pytest.raises(SettingError, match="via is one of 'menu', 'tools', 'schema', not 'magic'"):
            make()


@pytest.mark.parametrize(("via", "message"), [("tools", "takes no tools"), ("schema", "holds no reply to a schema")])
def test_a_provider_that_cannot_is_not_asked(via, message):
    def model(content):
        raise AssertionError("asked")

    with pytest.raises(UnaskableError, match=message):
        decision.make("Next?", ["a", "b"], runtime=Runtime(model), via=via)


@pytest.mark.parametrize(
    "setting",
    [{"via": "tools"}, {"samples": 2}, {"shuffle": True}, {"logprobs": True}, {"sampling": {"temperature": 0}}],
)
def test_a_decision_model_is_asked_in_its_own_way(setting):
    with pytest.raises(UnaskableError, match=f"{next(iter(setting))}= is for models that write"):
        decision.make("Next?", ["a", "b"], runtime=scripted(questions=True), **setting)


def test_named_tools_are_a_choice_of_their_own():
    assert NamedTool("auto") != "auto"
    assert ToolResult("1", "t", "x").is_error is False


def test_the_scripted_pick_names_the_tools_when_there_is_none():
    with pytest.raises(AssertionError, match="the tools offered are close"):
        decision.make("?", {"close": 1}, runtime=scripted(pick("open")), via="tools")


def test_pick_in_json_is_still_json():
    assert json.loads(pick("a", x=1)(ChatRequest(())).text) == {"call": "a", "args": {"x": 1}}
