"""Events of a call as they happen."""

from __future__ import annotations

import asyncio
import gc

import pytest

from decidable import (
    ArgumentTypeError,
    DecisionError,
    Finished,
    LLMError,
    ReasoningDelta,
    Restarted,
    Runtime,
    TextDelta,
    ToolCallDelta,
    UsageError,
    agentic_function,
    trace,
)
from decidable.ambient import current_scope
from decidable.flow.run import Host
from decidable.messages import Reply
from decidable.providers.protocol import Capabilities
from decidable.testing import pick, scripted


def close() -> str:
    """Nothing is left to do."""
    return "closed"


MENU = {"close": close, "wait": "waiting"}


@pytest.fixture(params=["sync", "async"])
def events_of(request):
    """All events of a call, through the sync stream and through the async one."""

    def sync(runtime: Runtime, *args, **kwargs):
        with runtime.stream(*args, **kwargs) as events:
            return list(events)

    def in_loop(runtime: Runtime, *args, **kwargs):
        async def main():
            async with runtime.async_stream(*args, **kwargs) as events:
                return [event async for event in events]

        return asyncio.run(main())

    return sync if request.param == "sync" else in_loop


def texts(events) -> list[str]:
    return [event.text for event in events if isinstance(event, TextDelta)]


def test_text_arrives_in_pieces_and_ends_whole(events_of):
    with scripted("It rains.", chunks=4) as rt:
        events = events_of(rt, "Weather?")
    assert events[:-1] == [TextDelta("It r"), TextDelta("ains"), TextDelta(".")]
    assert (events[-1].result, events[-1].reply.text) == ("It rains.", "It rains.")


def test_reasoning_and_tool_calls_are_kept_apart(events_of):
    def call(request):
        return Reply("", "tool_calls", reasoning="hm", tool_calls=pick("wait")(request).tool_calls)

    with scripted(call, chunks=1) as rt:
        events = events_of(rt, "Next?", choices=MENU, via="tools")
    assert events[:2] == [ReasoningDelta("h"), ReasoningDelta("m")]
    assert events[2:4] == [ToolCallDelta(0, "{", "call_0", "wait"), ToolCallDelta(0, "}", "call_0", "wait")]
    assert events[-1].result.result == "waiting"


def test_with_choices_the_decision_comes_last_and_its_function_has_run(events_of):
    with scripted(pick("close"), chunks=5) as rt:
        events = events_of(rt, "Work, then decide", choices=MENU)
    assert "".join(texts(events)) == '{"call": "close"}'
    finished = events[-1]
    assert isinstance(finished, Finished)
    assert (finished.result.option, finished.result.result, finished.result.requests) == ("close", "closed", 1)
    assert sum(isinstance(event, Finished) for event in events) == 1


def test_a_re_ask_says_that_what_came_does_not_count(events_of):
    with scripted("abc", pick("wait"), chunks=2) as rt:
        events = events_of(rt, "Next?", choices=MENU)
    assert events[:3] == [TextDelta("ab"), TextDelta("c"), Restarted("re_ask", "scripted")]
    assert "".join(texts(events[3:])) == '{"call": "wait"}'
    assert events[-1].result.attempts[0].reply.text == "abc"


class Breaking:
    """Breaks off in the middle of its first replies."""

    name = "breaking"
    model = None
    capabilities = Capabilities(chat=True, remote=False, streaming=True)

    def __init__(self, breaks: int, after: int = 1) -> None:
        self.breaks = breaks
        self.after = after
        self.closed = 0

    def send(self, request, deadline=None):
        raise AssertionError("not streamed")

    asend = send

    def stream(self, request, deadline=None):
        try:
            self.breaks -= 1
            for number, piece in enumerate(("on", "ce")):
                if self.breaks >= 0 and number == self.after:
                    raise LLMError("broke off", reason="transport")
                yield TextDelta(piece)
            if self.breaks >= 0:
                return
            yield Reply("once", "stop")
        finally:
            self.closed += 1

    async def astream(self, request, deadline=None):
        pieces = self.stream(request, deadline)
        try:
            for piece in pieces:
                yield piece
        finally:
            pieces.close()

    def close(self):
        pass

    async def aclose(self):
        pass


async def _no_sleep(seconds):
    pass


QUICK = Host(sleep=lambda seconds: None, sleep_async=_no_sleep)


def test_a_retry_in_the_middle_is_visible(events_of):
    provider = Breaking(1)
    events = events_of(Runtime(provider, max_retries=1, host=QUICK), "Hello")
    assert events[:-1] == [TextDelta("on"), Restarted("failure", "breaking"), TextDelta("on"), TextDelta("ce")]
    assert events[-1].result == "once"
    assert provider.closed == 2


def test_a_retry_before_anything_came_is_not(events_of):
    events = events_of(Runtime(Breaking(1, after=0), max_retries=1, host=QUICK), "Hello")
    assert events[:-1] == [TextDelta("on"), TextDelta("ce")]


def test_what_exec_raises_the_stream_raises(events_of):
    with pytest.raises(LLMError, match="broke off"):
        events_of(Runtime(Breaking(9), max_retries=1, host=QUICK), "Hello")
    with pytest.raises(DecisionError, match="no valid pick in 2 replies"):
        events_of(scripted("a", "b", chunks=1), "Next?", choices=MENU)
    with pytest.raises(ZeroDivisionError):
        events_of(scripted(pick("boom"), chunks=1), "Next?", choices={"boom": lambda: 1 / 0})


def test_a_stream_that_ends_without_a_reply_broke_off(events_of):
    with pytest.raises(LLMError, match="breaking broke off its reply") as caught:
        events_of(Runtime(Breaking(1, after=5), max_retries=0), "Hello")
    assert caught.value.reason == "transport"


def test_the_next_provider_begins_anew(events_of):
    rt = Runtime([Breaking(9), scripted("two", chunks=1).provider], max_retries=0)
    events = events_of(rt, "Hello")
    assert events[:2] == [TextDelta("on"), Restarted("failure", "scripted")]
    assert events[-1].result == "two"


def test_a_provider_that_does_not_stream_gives_its_text_in_one_piece(events_of):
    events = events_of(Runtime(lambda content: "all of it"), "Hello")
    assert events[:-1] == [TextDelta("all of it")]
    assert events[-1].result == "all of it"


def test_typed_replies_end_in_their_value(events_of):
    with scripted("[1, 2]", chunks=2) as rt:
        assert events_of(rt, "Numbers?", response_format=list[int])[-1].result == [1, 2]


def test_samples_are_not_streamed_but_end_in_their_decision(events_of):
    with scripted(*[pick("wait")] * 3, chunks=2) as rt:
        events = events_of(rt, "Next?", choices=MENU, samples=3)
    assert len(events) == 1
    assert events[0].result.probabilities == {"wait": 1.0, "close": 0.0}


def test_a_decision_model_streams_nothing_but_its_decision(events_of):
    events = events_of(scripted(pick("wait"), questions=True), "Next?", choices=MENU)
    assert [event.result.option for event in events] == ["wait"]


def test_the_result_is_there_at_the_end_and_not_before():
    with scripted("abc", chunks=1) as rt, rt.stream("Hello") as events:
        next(events)
        with pytest.raises(UsageError, match="has not ended; iterate over it to its end"):
            _ = events.result
        list(events)
        assert events.result == "abc"
        assert list(events) == []


def test_a_loop_that_is_left_early_gives_up_the_rest():
    provider = Breaking(0)
    with Runtime(provider).stream("Hello") as events:
        assert next(events) == TextDelta("on")
    assert provider.closed == 1
    assert list(events) == []

    async def main():
        async with Runtime(provider).async_stream("Hello") as events:
            async for _ in events:
                break

    asyncio.run(main())
    assert provider.closed == 2


def test_what_is_ambient_for_the_call_is_not_so_in_the_loop():
    seen = []

    def look() -> str:
        seen.append(current_scope().runtime)
        return "seen"

    with trace() as nodes, scripted(pick("look"), chunks=3) as rt:
        outside = current_scope()
        with rt.stream("Next?", choices={"look": look, "other": 1}) as events:
            for _ in events:
                assert current_scope() is outside
        assert current_scope() is outside
    assert seen == [rt]
    assert [(n.kind, n.status) for n in nodes.nodes] == [
        ("decision", "done"),
        ("model_call", "done"),
        ("function", "done"),
    ]
    assert [n.caller for n in nodes.nodes] == [None, 1, 1]


def test_an_abandoned_stream_closes_its_nodes():
    with trace() as nodes, scripted(pick("wait"), chunks=1) as rt, rt.stream("Next?", choices=MENU) as events:
        next(events)
    assert [(n.kind, n.status) for n in nodes.nodes] == [("decision", "cancelled"), ("model_call", "cancelled")]
    assert all(n.duration_s is not None for n in nodes.nodes)


def test_a_stream_that_is_dropped_leaves_nothing_in_the_context():
    with trace() as nodes, scripted(pick("wait"), chunks=1, timeout_s=60) as rt:
        outside = current_scope()
        for _ in rt.stream("Next?", choices=MENU):
            break
        gc.collect()
        assert current_scope() is outside
    assert [n.status for n in nodes.nodes] == ["cancelled", "cancelled"]


def test_two_streams_at_once_do_not_mix():
    with trace() as nodes, scripted("abcd", "1234", chunks=1) as rt:
        first, second = rt.stream("A"), rt.stream("B")
        mixed = [(a.text, b.text) for a, b in zip(first, second, strict=True) if isinstance(a, TextDelta)]
    assert mixed == [("a", "1"), ("b", "2"), ("c", "3"), ("d", "4")]
    assert [n.caller for n in nodes.nodes] == [None, None]


def test_a_stream_inside_an_agentic_function_asks_its_runtime():
    @agentic_function(system="Be brief.")
    def tell(runtime=None) -> str:
        with runtime.stream("Hello") as events:
            return "".join(texts(events))

    with scripted("short", chunks=2) as rt:
        assert tell(runtime=rt) == "short"
    assert rt.requests[0].system == "Be brief."


def test_async_options_are_awaited_in_the_async_stream_only():
    async def later() -> str:
        await asyncio.sleep(0)
        return "later"

    async def main():
        async with scripted(pick("later"), chunks=9).async_stream("Next?", choices={"later": later, "b": 1}) as events:
            return [event async for event in events][-1].result.result

    assert asyncio.run(main()) == "later"
    with pytest.raises(UsageError, match="async"):
        scripted(chunks=1).stream("Next?", choices={"later": later, "b": 1})


def test_the_deadline_holds_between_two_pieces():
    class Slow(Breaking):
        async def astream(self, request, deadline=None):
            yield TextDelta("on")
            await asyncio.sleep(30)

    async def main():
        async with Runtime(Slow(0)).async_stream("Hello", timeout_s=0.05) as events:
            return [event async for event in events]

    with pytest.raises(LLMError, match="did not finish in the time given") as caught:
        asyncio.run(main())
    assert caught.value.reason == "timeout"


def test_mistakes_are_refused_before_anything_is_sent():
    rt = scripted(chunks=1)
    with pytest.raises(ArgumentTypeError, match="'chioces'; did you mean"):
        rt.stream("Next?", chioces=MENU)
    with pytest.raises(ArgumentTypeError, match="async_stream"):
        rt.async_stream("Next?", chioces=MENU)
    with pytest.raises(UsageError, match="choices= or response_format="):
        rt.stream("Next?", choices=MENU, response_format=int)
    with pytest.raises(ValueError, match="chunks counts characters"):
        scripted(chunks=0)
