"""Whatever the model does: a result or one of our errors, never a hang, never a call without its result."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decidable import (
    ApprovalRequired,
    CancelledError,
    DecidableError,
    LLMError,
    ModelRetry,
    Reply,
    ToolCall,
    Usage,
    tool,
    trace,
)
from decidable.testing import ScriptError, call_tools, pick, scripted

# --- any sequence of turns --------------------------------------------------------------------------------------------


def add(a: int, b: int = 0) -> int:
    """Add."""
    return a + b


def fail(why: str) -> None:
    """Fail."""
    raise ValueError(why)


def again() -> None:
    """Ask for another try."""
    raise ModelRetry("again")


def pay(amount: float) -> str:
    """Pay."""
    return "paid"


TOOLS = [add, fail, again, tool(pay, requires_approval=lambda a: a["amount"] > 10)]

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
arguments = st.one_of(
    st.fixed_dictionaries({"a": st.integers(0, 3)}),
    st.fixed_dictionaries({"amount": st.sampled_from([1.0, 50.0])}),
    st.fixed_dictionaries({"why": st.text(max_size=5)}),
    st.dictionaries(st.text(max_size=6), json_values, max_size=3),
    st.text(max_size=20),
    json_values.map(json.dumps),
)
calls = st.builds(
    ToolCall,
    st.sampled_from(["a", "b", "c"]) | st.text(max_size=4),
    st.sampled_from(["add", "fail", "again", "pay", "ad", "close"]) | st.text(max_size=6),
    arguments,
)
replies = st.builds(
    Reply,
    st.sampled_from(["", "Hm.", '{"call": "close"}', '{"call": "add", "args": {"a": 1}}', "{{{"])
    | st.text(max_size=10),
    st.sampled_from([None, "stop", "length", "tool_calls", "refusal", "content_filter"]),
    tool_calls=st.lists(calls, max_size=4).map(tuple),
    usage=st.none() | st.just(Usage(10, 5)),
)
turns = st.lists(replies | st.just(LLMError("down", reason="auth")), min_size=1, max_size=8)


def check_conversation(rt: scripted) -> None:
    """Every request holds each call with exactly one result, in order."""
    for seen in rt.requests:
        messages = seen.request.messages
        for turn, following in zip(messages, [*messages[1:], None], strict=True):
            wanted = [(call.id, call.name) for call in turn.tool_calls]
            given_back = [] if following is None else [(r.call_id, r.name) for r in following.tool_results]
            assert wanted == given_back or not wanted
        assert messages[-1].role == "user"


@settings(max_examples=300, deadline=None)
@given(turns, st.booleans(), st.sampled_from(["menu", "tools", "schema", None]), st.integers(1, 4), st.booleans())
def test_any_turns_end_in_a_result_or_in_one_of_our_errors(steps, in_loop, via, iterations, approves):
    rt = scripted(*steps)
    options = {} if via is None else {"choices": {"close": "closed", "add": add}, "via": via}
    before = threading.active_count()
    with trace() as t:
        try:
            run = {
                "tools": TOOLS,
                "max_iterations": iterations,
                "max_repeats": 2,
                "approver": (lambda _: True) if approves else None,
            }
            if in_loop:
                asyncio.run(rt.async_exec("?", **run, **options))
            else:
                rt.exec("?", **run, **options)
        except ScriptError:
            assert len(rt.requests) == len(steps) + 1
        except DecidableError:
            pass
    check_conversation(rt)
    assert not [node for node in t.nodes if node.status == "running"]
    assert threading.active_count() <= before + (6 if in_loop else 0)  # a loop's own pool ends with it


@settings(max_examples=150, deadline=None)
@given(turns, st.sampled_from(["menu", "tools", "schema", None]), st.booleans())
def test_any_stopped_run_goes_on_from_its_json_without_doing_a_thing_twice(steps, via, approves):
    ran: list[str] = []

    def counted(n: str) -> str:
        ran.append(n)
        return n

    numbered = []
    for number, step in enumerate(steps):
        if isinstance(step, Reply):
            made = [ToolCall(f"{number}.{i}", "counted", {"n": f"{number}.{i}"}) for i in range(len(step.tool_calls))]
            step = Reply(step.text, step.stop, tool_calls=tuple(made))
        numbered.append(step)
    guarded = tool(counted, requires_approval=lambda a: a["n"].endswith(".1"))
    options = {} if via is None else {"choices": {"close": "closed", "wait": "waiting"}}
    rt = scripted(*numbered)
    try:
        rt.exec("?", tools=[guarded], max_iterations=20, **options, **({} if via is None else {"via": via}))
    except ApprovalRequired as stop:
        stopped = stop
        for _ in range(len(steps)):
            words = {request.id: approves for request in stopped.pending}
            try:
                rt.resume(json.dumps(stopped.snapshot), words, tools=[guarded], **options)
            except ApprovalRequired as more:
                stopped = more
                continue
            except (DecidableError, ScriptError):
                pass
            break
    except (DecidableError, ScriptError):
        pass
    check_conversation(rt)
    assert len(ran) == len(set(ran))


# --- cancelled at every effect ----------------------------------------------------------------------------------------

STEPS = 12


class Fuse:
    """Burns at the n-th place that is passed."""

    def __init__(self, places: int, error: type[BaseException]) -> None:
        self.left = places
        self.error = error
        self.lock = threading.Lock()

    def passed(self) -> None:
        with self.lock:
            self.left -= 1
            burns = self.left == -1
        if burns:
            raise self.error

    async def passed_async(self) -> None:
        await asyncio.sleep(0)
        self.passed()


def program(fuse: Fuse, *, in_loop: bool):
    """A run that passes the fuse at every effect: requests, tools, the approver, checkpoints, the option."""

    def answer(step):
        def asked(request):
            fuse.passed()
            return step(request) if callable(step) else step

        return asked

    steps = [call_tools(("one", {}), ("two", {}), ("two", {"n": 1})), call_tools(("one", {})), pick("end")]
    rt = scripted(*[answer(step) for step in steps])
    if in_loop:

        async def one() -> str:
            await fuse.passed_async()
            return "one"

        async def approver(request) -> bool:
            await fuse.passed_async()
            return True

        async def end() -> str:
            await fuse.passed_async()
            return "ended"
    else:

        def one() -> str:
            fuse.passed()
            return "one"

        def approver(request) -> bool:
            fuse.passed()
            return True

        def end() -> str:
            fuse.passed()
            return "ended"

    def two(n: int = 0) -> str:
        fuse.passed()
        return "two"

    def checkpoint(snapshot) -> None:
        fuse.passed()

    settings_ = {
        "tools": [tool(one, requires_approval=True), two],
        "choices": {"end": end, "wait": "waiting"},
        "approver": approver,
        "checkpoint": checkpoint,
    }
    return rt, settings_


PLACES = 3 + 4 + 2 + 1 + (1 + 3 * 2 + 1) + (1 + 2 + 1) + 1
"""Requests, tools, words of the approver, the option; checkpoints of the two rounds, and before the option."""


@pytest.mark.parametrize("error", [CancelledError, KeyboardInterrupt])
@pytest.mark.parametrize("place", range(PLACES + 1))
def test_a_stop_at_every_effect_leaves_the_trace_whole_and_nothing_running(place, error, both):
    fuse = Fuse(place, error)
    rt, options = program(fuse, in_loop=both.is_async)
    before = threading.active_count()
    with trace() as t:
        if place == PLACES:
            assert both.exec(rt, "?", **options) == "ended"
            assert fuse.left == 0
        else:
            with pytest.raises(error):
                both.exec(rt, "?", **options)
    assert {node.status for node in t.nodes} <= {"done", "error", "cancelled"}
    assert all(node.duration_s is not None for node in t.nodes)
    assert threading.active_count() == before


@pytest.mark.parametrize("beats", range(30))
def test_a_task_cancelled_after_any_number_of_beats_leaves_nothing_behind(beats):
    async def main() -> None:
        rt, options = program(Fuse(10**6, CancelledError), in_loop=True)
        with trace() as t:
            task = asyncio.ensure_future(rt.async_exec("?", **options))
            for _ in range(beats):
                await asyncio.sleep(0)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        assert {node.status for node in t.nodes} <= {"done", "error", "cancelled"}
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())
