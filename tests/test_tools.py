"""The tool loop: what tools are, what runs, what goes wrong in a call, and what the model is told."""

from __future__ import annotations

import asyncio
import threading
import time
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

from decidable import (
    ArgumentTypeError,
    CancelledError,
    DecisionError,
    Finished,
    LLMError,
    MaxIterationsError,
    ModelRetry,
    OptionError,
    OptionTypeError,
    RepeatedCallError,
    Reply,
    Runtime,
    RuntimeMissingError,
    SettingError,
    TextDelta,
    ToolCall,
    ToolResult,
    UnaskableError,
    UsageError,
    agent,
    agentic_function,
    async_agent,
    runtime,
    to_openai_tools,
    tool,
    trace,
    use_runtime,
)
from decidable.content import MediaPart, TextPart
from decidable.testing import call_tool, call_tools, pick, scripted


def lookup(order: str, detailed: bool = False) -> dict[str, object]:
    """Find an order.

    More that the model need not read.
    """
    return {"order": order, "detailed": detailed}


def results(rt: scripted, request: int = -1) -> list[ToolResult]:
    """The tool results at the end of a request."""
    return list(rt.requests[request].request.messages[-1].tool_results)


def told(rt: scripted, request: int = -1) -> str:
    """What the model was told of the one call of the last round."""
    (result,) = results(rt, request)
    return str(result.content)


# --- the loop ---------------------------------------------------------------------------------------------------------


def test_the_model_calls_a_tool_reads_its_result_and_answers(both):
    with scripted(call_tool("lookup", order="A-17", text="Let me see."), "It is there.") as rt:
        assert both.exec(rt, "Where is A-17?", tools=[lookup]) == "It is there."
    first, second = (seen.request for seen in rt.requests)
    assert [spec.name for spec in first.tools] == ["lookup"]
    assert first.tools[0].description == "Find an order."
    assert first.tools[0].parameters["required"] == ["order"]
    assert first.tools[0].parameters["properties"]["detailed"]["default"] is False
    question, called, answer = second.messages
    assert question.content == "Where is A-17?"
    assert (called.role, called.content, called.tool_calls[0].name) == ("assistant", "Let me see.", "lookup")
    assert answer.role == "user"
    assert answer.tool_results == (ToolResult("call_1", "lookup", '{"order": "A-17", "detailed": false}'),)


def test_tools_are_off_unless_given(both):
    with scripted("ok") as rt:
        assert both.exec(rt, "?", toolset="default") == "ok"
    assert rt.requests[0].request.tools == ()


def test_an_empty_list_of_tools_is_none(both):
    assert both.exec(scripted("ok"), "?", tools=[]) == "ok"


def test_several_rounds_keep_the_conversation_in_order(both):
    with scripted(
        call_tool("lookup", order="1"), call_tools(("lookup", {"order": "2"}), ("lookup", {"order": "3"})), "ok"
    ) as rt:
        both.exec(rt, "?", tools=[lookup])
    messages = rt.requests[-1].request.messages
    ids = [[c.id for c in m.tool_calls] or [r.call_id for r in m.tool_results] for m in messages]
    assert ids == [[], ["call_1"], ["call_1"], ["call_2", "call_3"], ["call_2", "call_3"]]


def test_agentic_functions_are_tools_and_find_their_runtime(both):
    @agentic_function
    def think(topic: str) -> str:
        """Think about it."""
        return f"{topic}: {runtime.exec('think')}"

    with scripted(call_tool("think", topic="rain"), "wet", "It is wet.") as rt:
        assert both.exec(rt, "?", tools=[think]) == "It is wet."
    assert told(rt) == "rain: wet"


class Kind(Enum):
    NEW = "new"


@dataclass
class Place:
    city: str


class Customer(BaseModel):
    name: str
    age: Annotated[int, Field(ge=0)]


def test_arguments_arrive_parsed(both):
    seen = {}

    def book(day: date, kind: Kind, place: Place, customer: Customer, size: Literal["s", "m"], tags: list[str]) -> None:
        seen.update(locals())

    arguments = {
        "day": "2026-12-01",
        "kind": "new",
        "place": {"city": "Ulm"},
        "customer": {"name": "Ana", "age": 3},
        "size": "m",
        "tags": ["a"],
    }
    with scripted(call_tool("book", **arguments), "ok") as rt:
        both.exec(rt, "?", tools=[book])
    assert told(rt) == "null"
    assert seen["day"] == date(2026, 12, 1)
    assert seen["kind"] is Kind.NEW
    assert seen["place"] == Place("Ulm")
    assert seen["customer"] == Customer(name="Ana", age=3)


# --- forms of tools ---------------------------------------------------------------------------------------------------

SPEC = {
    "name": "weather",
    "description": "The weather.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string", "minLength": 2}, "days": {"type": "integer"}},
        "required": ["city"],
    },
}


def weather(city: str, days: int = 1) -> str:
    return f"{city} {days}"


class WeatherTool:
    spec = SPEC

    def execute(self, **arguments: object) -> str:
        return weather(**arguments)


@pytest.mark.parametrize(
    "given",
    [
        {"spec": SPEC, "execute": weather},
        {"spec": {"type": "function", "function": SPEC}, "execute": weather},
        WeatherTool(),
    ],
    ids=["mapping", "enveloped", "object"],
)
def test_spec_and_execute_make_a_tool_whose_schema_is_sent_as_it_is(both, given):
    with scripted(call_tool("weather", city="Ulm", days=2), "ok") as rt:
        both.exec(rt, "?", tools=[given])
    assert rt.requests[0].request.tools[0].parameters == SPEC["parameters"]
    assert told(rt) == "Ulm 2"


def test_a_foreign_schema_is_checked_as_far_as_it_says(both):
    with scripted(call_tool("weather", city=7), "ok") as rt:
        both.exec(rt, "?", tools=[{"spec": SPEC, "execute": weather}])
    assert "type_mismatch: weather: city: must be a string" in told(rt)


def test_an_open_schema_lets_other_keys_through(both):
    seen = {}
    spec = {"name": "log", "description": "", "parameters": {"type": "object"}}
    with scripted(call_tool("log", a=1, b=[2]), "ok") as rt:
        both.exec(rt, "?", tools=[{"spec": spec, "execute": lambda **k: seen.update(k)}])
    assert seen == {"a": 1, "b": [2]}


def test_a_tool_gets_a_name_and_a_description(both):
    with scripted(call_tool("find", order="1"), "ok") as rt:
        both.exec(rt, "?", tools=[tool(lookup, name="find", description="Finds.")])
    spec = rt.requests[0].request.tools[0]
    assert (spec.name, spec.description) == ("find", "Finds.")


def test_hidden_parameters_come_from_the_context(both):
    def charge(amount: int, account: str) -> str:
        return f"{amount} from {account}"

    with scripted(call_tool("charge", amount=3), "ok") as rt:
        both.exec(rt, "?", tools=[tool(charge, hidden=("account",))], context={"account": "X"})
    assert told(rt) == "3 from X"
    assert "account" not in rt.requests[0].request.tools[0].parameters["properties"]
    with pytest.raises(OptionError, match="tool 'charge' needs its hidden parameter 'account'"):
        both.exec(scripted(), "?", tools=[tool(charge, hidden=("account",))])


def test_methods_are_tools(both):
    class Shop:
        def __init__(self, name: str) -> None:
            self.name = name

        def find(self, order: str) -> str:
            return f"{self.name}: {order}"

    with scripted(call_tool("find", order="1"), "ok") as rt:
        both.exec(rt, "?", tools=[Shop("tea").find])
    assert told(rt) == "tea: 1"


def test_what_a_function_does_to_its_arguments_changes_no_record(both):
    def add(items: list[str], more: dict[str, int]) -> str:
        items.append("x")
        more["y"] = 1
        return f"{items} {more}"

    given = {"items": ["a"], "more": {"z": 1}}
    with scripted(call_tool("add", items=["a"], more={"z": 1}), "ok") as rt, trace() as recorded:
        both.exec(rt, "?", tools=[add])
    assert told(rt) == "['a', 'x'] {'z': 1, 'y': 1}"
    assert rt.requests[1].request.messages[1].tool_calls[0].arguments == given
    assert [node.input for node in recorded.nodes if node.kind == "tool_call"] == [given]
    made = both.decide("?", [add], runtime=scripted(pick("add", items=["a"], more={"z": 1})))
    assert (made.result, made.args) == ("['a', 'x'] {'z': 1, 'y': 1}", given)


def test_a_tool_with_a_description_beside_it(both):
    with scripted("ok") as rt:
        both.exec(rt, "?", tools=[(lookup, "Find it.")])
    assert [(t.name, t.description) for t in rt.requests[0].request.tools] == [("lookup", "Find it.")]
    with pytest.raises(
        OptionTypeError, match=r"is \(FunctionOption\(lookup, name='again'\), 'Once more.'\); a tool is"
    ):
        both.exec(rt, "?", tools=[(tool(lookup, name="again"), "Once more.")])


def test_to_openai_tools_is_for_loops_of_ones_own():
    @agentic_function
    def escalate(team: str) -> str:
        """Hand over."""
        return team

    made = to_openai_tools([lookup, escalate, {"spec": SPEC, "execute": weather}])
    assert [t["type"] for t in made] == ["function"] * 3
    assert made[0]["function"]["parameters"]["properties"]["order"] == {"type": "string"}
    assert made[1]["function"] == {
        "name": "escalate",
        "description": "Hand over.",
        "parameters": escalate.spec["parameters"],
    }
    assert escalate.execute(team="A", other=1) == "A"


def test_execute_checks_what_a_model_gave():
    def due(order: str, day: date, self: int = 0, desk: str = "") -> str:
        return f"{order} {day:%d.%m.%Y} {desk}"

    made = tool(due, name="due_on", description="When.", hidden=("desk",), requires_approval=True)
    assert (made.spec["name"], made.spec["description"]) == ("due_on", "When.")
    assert list(made.spec["parameters"]["properties"]) == ["order", "day", "self"]
    assert made.execute(order="A", day="2026-12-01", self=1, desk="front", more=1) == "A 01.12.2026 front"
    with pytest.raises(ModelRetry, match="type_mismatch: due_on: day: "):
        made.execute(order="A", day="soon")
    with pytest.raises(ModelRetry, match="missing_required: due_on: order: is required and missing"):
        made.execute(day="2026-12-01")
    foreign = to_openai_tools([{"spec": SPEC, "execute": weather}])[0]["function"]
    assert agentic_function(due).spec["parameters"]["required"] == ["order", "day"]
    assert foreign["parameters"] == SPEC["parameters"]


@pytest.mark.parametrize(
    ("given", "error", "match"),
    [
        ("lookup", ArgumentTypeError, r"lists tools, such as \[lookup, refund\]; it is 'lookup'"),
        (lookup, ArgumentTypeError, "lists tools"),
        ({"find": lookup}, ArgumentTypeError, r"or tool\(function, name=...\)"),
        ([("Find.", lookup)], OptionTypeError, "a tool is a function"),
        ([lambda: 1], OptionError, "a lambda has no name"),
        (["lookup"], OptionTypeError, r"tools\[0\] is 'lookup'; a tool is a function"),
        ([{"spec": SPEC}], OptionTypeError, "has 'spec'"),
        ([{"spec": {"description": "x"}, "execute": print}], OptionError, "needs a 'name'"),
        ([{"spec": SPEC, "execute": 3}], OptionTypeError, "'execute' a function"),
        ([lookup, tool(weather, name="lookup")], OptionError, "two tools are named 'lookup'"),
        ([BaseModel], OptionTypeError, "a tool is a function"),
    ],
)
def test_what_is_no_tool_is_refused_with_what_would_be(both, given, error, match):
    with pytest.raises(error, match=match):
        both.exec(scripted(), "?", tools=given)


def test_an_async_tool_in_a_sync_call_is_refused_before_anything_is_sent():
    async def slow(order: str) -> str:
        return order

    with pytest.raises(UsageError, match="tool 'slow' is an async function; use the async twin"):
        scripted().exec("?", tools=[slow])


def test_a_model_that_takes_no_tools_is_not_asked(both):
    def plain(content: list[object]) -> str:
        raise AssertionError("asked")

    with pytest.raises(UnaskableError, match="takes no tools; leave tools= out"):
        both.exec(Runtime(plain), "?", tools=[lookup])


# --- toolsets ---------------------------------------------------------------------------------------------------------


def refund(order: str) -> str:
    """Give money back."""
    return f"refunded {order}"


def offered(rt: scripted) -> list[str]:
    return [spec.name for spec in rt.requests[0].request.tools]


def test_toolsets_allow_and_deny(both):
    sets = {"orders": [lookup, refund], "sky": [weather]}

    def names(**settings):
        with scripted("ok", toolsets=sets) as rt:
            both.exec(rt, "?", **settings)
        return offered(rt)

    assert names() == []
    assert names(toolset="orders") == ["lookup", "refund"]
    assert names(toolset=["orders", "sky"], tools_deny=["refund"]) == ["lookup", "weather"]
    assert names(toolset="orders", tools=[weather], tools_allow=["weather", "refund"]) == ["weather", "refund"]
    assert names(toolset="orders", tools=[lookup]) == ["lookup", "refund"]
    assert names(toolset="orders", tools_allow=[]) == []


def test_mistakes_in_toolsets_are_found(both):
    rt = scripted(toolsets={"orders": [lookup, refund]})
    with pytest.raises(UsageError, match="no toolset is named 'order'; did you mean 'orders'"):
        both.exec(rt, "?", toolset="order")
    with pytest.raises(UsageError, match="tools_deny= names 'refunds', which is no tool; did you mean 'refund'"):
        both.exec(rt, "?", toolset="orders", tools_deny=["refunds"])
    with pytest.raises(ArgumentTypeError, match=r"tools_allow= lists names: \['lookup'\]"):
        both.exec(rt, "?", toolset="orders", tools_allow="lookup")
    with pytest.raises(OptionError, match="another tool is named 'lookup' too"):
        both.exec(rt, "?", toolset="orders", tools=[tool(weather, name="lookup")])
    with pytest.raises(ArgumentTypeError, match="toolsets= maps names"):
        scripted(toolsets=[lookup])
    with pytest.raises(OptionTypeError, match=r"toolset 'a'\[0\] is 3"):
        scripted(toolsets={"a": [3]})


def test_a_tool_that_is_not_available_is_not_offered(both):
    there = [False]
    given = [lookup, tool(refund, available=lambda: there[0])]
    for names in (["lookup"], ["lookup", "refund"]):
        with scripted("ok") as rt:
            both.exec(rt, "?", tools=given, tools_deny=[])
        assert offered(rt) == names
        there[0] = True


# --- what goes wrong in a call ----------------------------------------------------------------------------------------


def test_a_decision_that_fails_after_the_work_says_what_ran(both):
    for kwargs in ({"choices": ["a", "b"]}, {"response_format": int}):
        rt = scripted(call_tool("lookup", order="A-1"), "Hmm.", "Hmm.")
        with pytest.raises(DecisionError) as caught:
            both.exec(rt, "?", tools=[lookup], **kwargs)
        assert [(run.name, run.is_error) for run in caught.value.tool_runs] == [("lookup", False)]
        assert len(caught.value.attempts) == 2


def test_an_option_that_is_called_as_a_tool_is_told_to_be_one(both):
    ran = []

    def refund(order: str) -> str:
        ran.append(order)
        return "refunded"

    with scripted(call_tool("refund", order="A-1"), pick("refund", order="A-1")) as rt:
        assert both.exec(rt, "?", tools=[lookup], choices=[refund]) == "refunded"
    assert told(rt) == "'refund' is no tool: it is an option of the menu. Pick it when you are done, as the menu says"
    assert ran == ["A-1"]


def test_an_unknown_tool_is_told_with_close_names(both):
    with scripted(call_tool("lookpu", order="1"), "ok") as rt:
        assert both.exec(rt, "?", tools=[lookup]) == "ok"
    assert told(rt) == "there is no tool 'lookpu'; did you mean 'lookup'?"
    assert results(rt)[0].is_error


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({}, "missing_required: lookup: order: is required and missing"),
        ({"order": 7}, "type_mismatch: lookup: order: must be a string"),
        ({"order": "1", "detailed": "yes"}, "type_mismatch: lookup: detailed: must be true or false"),
    ],
)
def test_invalid_arguments_are_told_with_path_and_reason(both, arguments, why):
    with scripted(call_tool("lookup", **arguments), "ok") as rt:
        both.exec(rt, "?", tools=[lookup])
    assert told(rt).startswith(why)
    assert results(rt)[0].is_error


def test_arguments_that_are_no_json_are_mended_or_told(both):
    def reply(text: str) -> Reply:
        return Reply(stop="tool_calls", tool_calls=(ToolCall("c1", "lookup", text),))

    with scripted(reply('{"order": "1",}'), "ok") as rt:
        both.exec(rt, "?", tools=[lookup])
    assert not results(rt)[0].is_error
    with scripted(reply("order=1"), "ok") as rt:
        both.exec(rt, "?", tools=[lookup])
    assert "bad_args" in told(rt)
    with scripted(reply('{"order": "1",}'), "ok") as rt:
        both.exec(rt, "?", tools=[lookup], repair="none")
    assert results(rt)[0].is_error


def test_lossless_repair_holds_for_tools_too(both):
    def add(a: int) -> int:
        return a + 1

    with scripted(call_tool("add", a="3"), "ok") as rt:
        both.exec(rt, "?", tools=[add], repair="lossless")
    assert told(rt) == "4"


def test_an_exception_is_told_and_its_traceback_is_in_the_trace_alone(both):
    def boom() -> None:
        raise KeyError("no such order")

    with scripted(call_tool("boom"), "ok") as rt, trace() as t:
        assert both.exec(rt, "?", tools=[boom]) == "ok"
    assert told(rt) == "KeyError: 'no such order'"
    (node,) = [n for n in t.nodes if n.kind == "tool_call"]
    assert (node.name, node.status) == ("boom", "error")
    assert node.error.__traceback__ is not None


@pytest.mark.parametrize(
    "error", [StopIteration("x"), StopAsyncIteration("x"), RecursionError("deep"), LLMError("down")]
)
def test_any_exception_of_a_tool_is_a_result(both, error):
    def boom() -> None:
        raise error

    with scripted(call_tool("boom"), "ok") as rt:
        assert both.exec(rt, "?", tools=[boom]) == "ok"
    assert results(rt)[0].is_error


@pytest.mark.parametrize("stop", [CancelledError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("count", [1, 3])
def test_a_wish_to_stop_passes_through(both, stop, count):
    def boom() -> None:
        raise stop("now")

    def fine(n: int) -> int:
        return n

    calls = [("boom", {}), *[("fine", {"n": n}) for n in range(count - 1)]]
    before = threading.active_count()
    with trace() as t, pytest.raises(stop):
        both.exec(scripted(call_tools(*calls)), "?", tools=[boom, fine])
    assert [n.status for n in t.nodes if n.name == "boom"] == ["cancelled"]
    assert not [n for n in t.nodes if n.status == "running"]
    assert threading.active_count() == before


def test_model_retry_is_told_in_its_own_words(both):
    def search(query: str) -> str:
        if len(query) < 3:
            raise ModelRetry("use at least three letters")
        return "found"

    with scripted(call_tool("search", query="ab"), call_tool("search", query="abc"), "ok") as rt:
        both.exec(rt, "?", tools=[search])
    assert told(rt, 1) == "use at least three letters"
    assert results(rt, 1)[0].is_error
    assert told(rt, 2) == "found"


def test_a_long_result_keeps_its_head_and_tail(both):
    def read() -> str:
        return "a" * 40_000 + "z" * 10_000

    with scripted(call_tool("read"), "ok") as rt:
        both.exec(rt, "?", tools=[read])
    text = told(rt)
    head, note, tail = text.split("\n")
    assert (head, tail) == ("a" * 21_000, "z" * 9_000)
    assert note == "[... 20,000 of 50,000 characters cut ...]"
    with scripted(call_tool("read"), "ok") as rt:
        both.exec(rt, "?", tools=[tool(read, max_chars=100)])
    assert "49,900 of 50,000" in told(rt)


def test_results_are_text_json_or_parts(both):
    class Model(BaseModel):
        a: int

    image = MediaPart("image", b"x", "image/png")
    circular: list[object] = []
    circular.append(circular)
    for value, shown in [
        ("text", "text"),
        ({"a": [1, None]}, '{"a": [1, null]}'),
        (Model(a=1), '{"a": 1}'),
        ([Model(a=1)], '[{"a": 1}]'),
        (date(2026, 12, 1), '"2026-12-01"'),
        (image, (image,)),
        ([TextPart("see"), image], (TextPart("see"), image)),
        ([], "[]"),
        (circular, "[[...]]"),
        ({(1, 2): "x"}, "{(1, 2): 'x'}"),
    ]:
        with scripted(call_tool("give"), "ok") as rt:
            both.exec(rt, "?", tools=[tool(lambda v=value: v, name="give", hidden=("v",))])
        assert results(rt)[0].content == shown
        assert not results(rt)[0].is_error


def test_a_sync_function_around_an_async_one(both):
    async def fetch(order: str) -> str:
        return f"fetched {order}"

    def indirect(order: str):
        return fetch(order)

    for one in (indirect, tool(indirect, timeout_s=5)):
        with scripted(call_tool("indirect", order="A"), "ok") as rt:
            both.exec(rt, "?", tools=[one])
        assert results(rt)[0].is_error is not both.is_async
        assert ("fetched A" if both.is_async else "'indirect' gave a coroutine; use the async twin") in told(rt)


def test_generators_are_no_tools_but_may_be_options(both):
    def each(order: str):
        yield order

    async def later(order: str):
        yield order

    for one in (each, later, tool(each)):
        with pytest.raises(OptionTypeError, match="is a generator function, so its body would not run; return a list"):
            both.exec(scripted(), "?", tools=[one])
    made = both.make("?", [each], runtime=scripted(pick("each", order="A")))
    assert list(made) == ["A"]


def test_calls_in_a_reply_that_was_cut_off_are_not_made(both):
    cut = Reply(stop="length", tool_calls=(ToolCall("c1", "refund", {"order": "A-1"}),))
    ran = []
    with scripted(cut, "ok") as rt:
        both.exec(rt, "?", tools=[tool(lambda order: ran.append(order), name="refund")])
    assert ran == []
    assert "cut off at the token limit" in told(rt)


# --- time, and several at once ----------------------------------------------------------------------------------------


def test_a_tool_that_takes_too_long_is_told(both):
    release = threading.Event()

    def slow() -> str:
        release.wait(5)
        return "late"

    begun = time.monotonic()
    with scripted(call_tool("slow"), "ok") as rt:
        if both.is_async:

            async def slow_async() -> str:
                await asyncio.sleep(5)
                return "late"

            both.exec(rt, "?", tools=[tool(slow_async, name="slow", timeout_s=0.05)])
        else:
            both.exec(rt, "?", tools=[tool(slow, timeout_s=0.05)])
    release.set()
    assert told(rt) == "TimeoutError: 'slow' did not finish within 0.05 s"
    assert time.monotonic() - begun < 2


def test_a_tool_with_a_time_limit_keeps_result_error_and_context(both):
    variable: ContextVar[str] = ContextVar("variable", default="unset")
    variable.set("here")

    def fine() -> str:
        return variable.get()

    def boom() -> str:
        raise ValueError("bad")

    with scripted(call_tools(("fine", {}), ("boom", {})), "ok") as rt:
        both.exec(rt, "?", tools=[tool(fine, timeout_s=5), tool(boom, timeout_s=5)])
    assert [r.content for r in results(rt)] == ["here", "ValueError: bad"]


def test_several_calls_run_at_once_and_results_keep_their_order(both):
    together = threading.Barrier(3, timeout=5)
    variable: ContextVar[str] = ContextVar("variable", default="unset")
    variable.set("copied")

    def wait(n: int) -> str:
        together.wait()
        time.sleep(0.01 * (3 - n))
        return f"{n} {variable.get()}"

    with scripted(call_tools(*[("wait", {"n": n}) for n in range(3)]), "ok") as rt:
        both.exec(rt, "?", tools=[wait])
    assert [r.content for r in results(rt)] == ["0 copied", "1 copied", "2 copied"]
    assert [r.call_id for r in results(rt)] == ["call_1", "call_2", "call_3"]


def test_without_parallel_calls_they_run_one_after_the_other(both):
    running, most = [0], [0]

    def work(n: int) -> int:
        running[0] += 1
        most[0] = max(most[0], running[0])
        time.sleep(0.01)
        running[0] -= 1
        return n

    with scripted(call_tools(*[("work", {"n": n}) for n in range(3)]), "ok") as rt:
        both.exec(rt, "?", tools=[work], parallel_tool_calls=False)
    assert most == [1]
    assert rt.requests[0].request.parallel_tool_calls is False


def test_async_tools_share_the_loop():
    async def wait(n: int) -> int:
        await asyncio.sleep(0.05)
        return n

    rt = scripted(call_tools(*[("wait", {"n": n}) for n in range(100)]), "ok")
    begun = time.monotonic()
    asyncio.run(rt.async_exec("?", tools=[wait]))
    assert time.monotonic() - begun < 1
    assert [r.content for r in results(rt)] == [str(n) for n in range(100)]


def test_a_nested_call_stays_inside_the_deadline(both):
    left = []

    def inner() -> str:
        from decidable.ambient import current_scope

        left.append(current_scope().deadline)
        return runtime.exec("inner", timeout_s=1000)

    with scripted(call_tool("inner"), "deep", "ok") as rt:
        assert both.exec(rt, "?", tools=[inner], timeout_s=50) == "ok"
    assert left[0] is not None
    assert told(rt) == "deep"


def test_at_the_deadline_no_other_round_is_begun(both):
    def slow() -> None:
        time.sleep(0.2)

    rt = scripted(call_tool("slow"), "never")
    with pytest.raises(LLMError) as caught:
        both.exec(rt, "?", tools=[slow], timeout_s=0.1)
    assert caught.value.reason == "timeout"
    assert len(rt.requests) == 1


def test_cancelling_the_task_leaves_nothing_behind():
    async def forever() -> None:
        await asyncio.sleep(100)

    async def main() -> None:
        with trace() as t:
            rt = scripted(call_tools(("forever", {}), ("forever", {"x": 1})))
            task = asyncio.ensure_future(rt.async_exec("?", tools=[forever]))
            await asyncio.sleep(0.02)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert [n.status for n in t.nodes if n.kind == "tool_call"] == ["cancelled", "cancelled"]
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


# --- limits -----------------------------------------------------------------------------------------------------------


def test_tool_choice_holds_until_a_tool_has_run(both):
    for wanted, sent in [("required", "required"), ("lookup", "NamedTool"), ("auto", "auto")]:
        with scripted(call_tool("lookup", order="1"), "ok") as rt:
            both.exec(rt, "?", tools=[lookup, refund], tool_choice=wanted)
        first, second = (seen.request.tool_choice for seen in rt.requests)
        assert first == sent or type(first).__name__ == sent
        assert second == "auto"


def test_tool_choice_names_a_tool_as_the_model_sees_it(both):
    with scripted(call_tool("Look_up", order="1"), "ok") as rt:
        both.exec(rt, "?", tools=[tool(lookup, name="Look up!")], tool_choice="Look up!")
    assert [t.name for t in rt.requests[0].request.tools] == ["Look_up"]
    assert rt.requests[0].request.tool_choice.name == "Look_up"
    assert not results(rt)[0].is_error


def test_tool_choice_none_runs_nothing(both):
    with scripted("ok") as rt:
        both.exec(rt, "?", tools=[lookup], tool_choice="none")
    assert rt.requests[0].request.tool_choice == "none"
    with scripted(call_tool("lookup", order="1"), "ok") as rt:
        both.exec(rt, "?", tools=[lookup], tool_choice="none")
    assert "no tool can be called now" in told(rt)


def test_settings_out_of_range_are_refused(both):
    for settings, match in [
        ({"tool_choice": "lookpu"}, "did you mean 'lookup'"),
        ({"max_iterations": 0}, "from 1 to 50"),
        ({"max_iterations": 51}, "from 1 to 50"),
        ({"max_repeats": 0}, "1 or more, or None"),
    ]:
        with pytest.raises(SettingError, match=match):
            both.exec(scripted(), "?", tools=[lookup], **settings)
    with pytest.raises(SettingError, match="needs tools="):
        both.exec(scripted(), "?", tool_choice="required")
    with pytest.raises(SettingError, match="timeout_s"):
        tool(lookup, timeout_s=0)
    with pytest.raises(SettingError, match="max_chars"):
        tool(lookup, max_chars=0)
    with pytest.raises(OptionTypeError, match="requires_approval="):
        tool(lookup, requires_approval="yes")
    with pytest.raises(OptionTypeError, match="available="):
        tool(lookup, available=True)


def test_after_the_last_iteration_what_exists_is_kept(both):
    ran = []

    def step(n: int) -> str:
        ran.append(n)
        return f"done {n}"

    rt = scripted(*[call_tool("step", n=n, text=f"step {n}") for n in range(3)], "finished")
    with pytest.raises(MaxIterationsError, match="still wants tools after 3 replies") as caught:
        both.exec(rt, "?", tools=[step], max_iterations=3)
    assert ran == [0, 1]
    assert [run.result for run in caught.value.tool_runs] == ["done 0", "done 1"]
    assert caught.value.text == "step 2"
    assert rt.resume(caught.value, max_iterations=4) == "finished"
    assert ran == [0, 1, 2]


def test_the_same_call_over_and_over_is_told_once_and_then_an_error(both):
    ran = []

    def check(order: str) -> str:
        ran.append(order)
        return "pending"

    rt = scripted(*[call_tool("check", order="1")] * 10)
    with pytest.raises(RepeatedCallError, match="again and again: 3 times with the same result"):
        both.exec(rt, "?", tools=[check], max_repeats=3)
    assert len(ran) == 3
    assert "you have called 'check' 3 times" in told(rt)


def test_a_result_that_changes_is_no_repeat(both):
    count = [0]

    def check() -> int:
        count[0] += 1
        return count[0] // 2

    with scripted(*[call_tool("check")] * 8, "ok") as rt:
        assert both.exec(rt, "?", tools=[check], max_repeats=3) == "ok"
    assert count == [8]


def test_repeats_may_be_allowed(both):
    with scripted(*[call_tool("lookup", order="1")] * 8, "ok") as rt:
        assert both.exec(rt, "?", tools=[lookup], max_repeats=None) == "ok"


# --- choices after work -----------------------------------------------------------------------------------------------


def close() -> str:
    """Nothing is left to do."""
    return "closed"


@pytest.mark.parametrize("via", ["menu", "tools", "schema"])
def test_work_then_decide(both, via):
    end = [pick("refund", order="A-17")] if via == "menu" else ["It broke.", pick("refund", order="A-17")]
    with scripted(call_tool("lookup", order="A-17"), *end) as rt:
        assert both.exec(rt, "Handle it.", tools=[lookup], choices=[refund, close], via=via) == "refunded A-17"
    first, last = rt.requests[0], rt.requests[-1]
    assert "refund(order: str)" in first.menu
    assert [spec.name for spec in first.request.tools] == ["lookup"]
    if via == "tools":
        assert [spec.name for spec in last.request.tools] == ["refund", "close"]
        assert last.request.tool_choice == "required"
    if via == "schema":
        assert last.request.output_schema is not None
        assert last.request.tool_choice == "none"
    if via != "menu":
        assert last.request.messages[-2].content == "It broke."


@pytest.mark.parametrize("via", ["menu", "tools", "schema"])
def test_without_a_pick_the_model_is_asked_again_without_tools(both, via):
    steps = ["Hmm."] if via == "menu" else ["Found.", "Hmm."]
    with scripted(call_tool("lookup", order="A-17"), *steps, pick("close")) as rt:
        assert both.exec(rt, "Handle it.", tools=[lookup], choices=[refund, close], via=via) == "closed"
    again = rt.requests[-1].request
    assert again.tool_choice == ("required" if via == "tools" else "none")
    assert "cannot be used" in again.messages[-1].content
    answered = [r.call_id for m in again.messages for r in m.tool_results]
    assert answered == [c.id for m in again.messages for c in m.tool_calls] == ["call_1"]


def test_a_call_where_none_can_be_made_is_an_attempt(both):
    stubborn = Reply(stop="tool_calls", tool_calls=(ToolCall("c9", "lookup", {"order": "1"}),))
    with scripted("Hmm.", stubborn, pick("close")) as rt:
        assert both.exec(rt, "?", tools=[lookup], choices=[close, "wait"], max_retries=2) == "closed"
    assert all(not m.tool_calls for m in rt.requests[-1].request.messages)


def test_the_same_function_is_tool_and_option(both):
    for via, steps in [("menu", []), ("tools", ["Looked."])]:
        with scripted(call_tool("lookup", order="1"), *steps, pick("lookup", order="2")) as rt:
            got = both.exec(rt, "?", tools=[lookup], choices=[lookup, close], via=via)
        assert got["order"] == "2"


def test_a_model_that_decides_at_once_needs_no_tool(both):
    with scripted(pick("close")) as rt:
        assert both.exec(rt, "?", tools=[lookup], choices=[refund, close]) == "closed"


def test_a_typed_reply_after_work(both):
    class Found(BaseModel):
        order: str

    with scripted(call_tool("lookup", order="1"), "It is 1.", '{"order": "1"}') as rt:
        assert both.exec(rt, "?", tools=[lookup], response_format=Found) == Found(order="1")
    assert rt.requests[-1].request.tool_choice == "none"
    assert '"properties"' in rt.requests[0].prompt


def test_several_samples_are_for_a_decision_of_its_own(both):
    with pytest.raises(UsageError, match="for a decision of its own"):
        both.exec(scripted(), "?", tools=[lookup], choices=[close], samples=3)


def test_the_record_has_the_tool_runs():
    with (
        scripted(call_tool("lookup", order="1"), pick("close")) as rt,
        rt.stream("?", tools=[lookup], choices=[close, "wait"]) as events,
    ):
        last = list(events)[-1]
    decision = last.result
    assert (decision.option, decision.requests) == ("close", 2)
    assert [(run.name, run.arguments, run.is_error) for run in decision.tool_runs] == [
        ("lookup", {"order": "1"}, False)
    ]


def test_the_trace_shows_work_and_decision(both):
    with trace() as t, scripted(call_tool("lookup", order="1"), pick("close")) as rt:
        both.exec(rt, "?", tools=[lookup], choices=[close, "wait"])
    assert [(n.kind, n.name) for n in t.nodes] == [
        ("decision", "close | wait"),
        ("model_call", "scripted"),
        ("tool_call", "lookup"),
        ("model_call", "scripted"),
        ("function", "close"),
    ]
    assert {n.caller for n in t.nodes[1:]} == {t.nodes[0].id}


def test_what_a_tool_does_stands_under_its_node(both):
    def outer() -> str:
        return runtime.exec("inner")

    with trace() as t, scripted(call_tools(("outer", {}), ("outer", {})), "a", "b", "ok") as rt:
        both.exec(rt, "?", tools=[outer])
    tools = [n.id for n in t.nodes if n.kind == "tool_call"]
    inner = [n.caller for n in t.nodes if n.kind == "model_call" and n.caller is not None]
    assert sorted(inner) == tools


def test_model_retry_in_an_option_has_the_model_pick_again(both):
    def refund_checked(amount: int) -> str:
        if amount > 10:
            raise ModelRetry("at most 10 can be paid back")
        return f"paid {amount}"

    with scripted(pick("refund", amount=50), pick("refund", amount=5)) as rt:
        made = both.decide("?", {"refund": refund_checked, "close": close}, runtime=rt)
    assert made.result == "paid 5"
    assert [(a.kind.value, a.message) for a in made.attempts] == [("retry", "at most 10 can be paid back")]
    assert "at most 10 can be paid back" in rt.requests[1].prompt
    with scripted(pick("refund", amount=50)) as rt, pytest.raises(DecisionError) as caught:
        both.decide("?", {"refund": refund_checked, "close": close}, runtime=rt, max_retries=0)
    assert caught.value.kind == "retry"


# --- streaming --------------------------------------------------------------------------------------------------------


def test_a_stream_shows_calls_and_results_and_no_restart():
    with scripted(call_tool("lookup", order="1", text="Let me see."), "It is 1.", chunks=100) as rt:
        events = list(rt.stream("?", tools=[lookup]))
    shown = [e for e in events if isinstance(e, (TextDelta, ToolCall, ToolResult, Finished))]
    assert [type(e).__name__ for e in shown] == ["TextDelta", "ToolCall", "ToolResult", "TextDelta", "Finished"]
    assert shown[1] == ToolCall("call_1", "lookup", {"order": "1"})
    assert shown[-1].result == "It is 1."
    assert len(events) == len(shown) + 1  # and the piece of the call's arguments


def test_an_async_stream_shows_the_same():
    async def main() -> list[str]:
        rt = scripted(call_tools(("lookup", {"order": "1"}), ("lookup", {"order": "2"})), "ok")
        return [type(e).__name__ async for e in rt.async_stream("?", tools=[lookup])]

    assert asyncio.run(main()) == ["ToolCall", "ToolCall", "ToolResult", "ToolResult", "TextDelta", "Finished"]


# --- agent ------------------------------------------------------------------------------------------------------------


def test_agent_works_on_the_ambient_runtime():
    with scripted(call_tool("lookup", order="1"), "ok") as rt, use_runtime(rt):
        assert agent("?", [lookup]) == "ok"
    with scripted(call_tool("lookup", order="1"), pick("close")) as rt, use_runtime(rt):
        assert asyncio.run(async_agent("?", [lookup], choices=[close, "wait"])) == "closed"
    with pytest.raises(RuntimeMissingError):
        agent("?", [lookup])
    with pytest.raises(ArgumentTypeError, match="agent"):
        agent("?", [lookup], tool_choise="auto", runtime=scripted())
    with pytest.raises(ArgumentTypeError, match="ask with llm"):
        agent("?", None, runtime=scripted())
