"""What a trace records, and that it costs nothing when off."""

from __future__ import annotations

import asyncio

import pytest

from decidable import LLMError, Reply, Usage, agentic_function, decision, llm, trace
from decidable.testing import pick, scripted


def add(n: int) -> int:
    return n + 1


@agentic_function
def outer(text: str) -> int:
    llm("look")
    return decision.make(text, {"add": add, "inner": inner})


@agentic_function
def inner() -> int:
    return decision.make("again", {"x": 7})


def shape(t):
    return [(n.kind, n.name, n.caller, n.status) for n in t.nodes]


def test_functions_calls_re_asks_and_decisions_are_nodes():
    rt = scripted("seen", "hm", pick("add", n=1))
    with trace() as t:
        assert outer("go", runtime=rt) == 2
    assert shape(t) == [
        ("function", "outer", None, "done"),
        ("model_call", "scripted", 1, "done"),
        ("decision", "add | inner", 1, "done"),
        ("model_call", "scripted", 3, "done"),
        ("re_ask", "scripted", 3, "done"),
        ("function", "add", 3, "done"),
    ]
    assert t.nodes[5].output == 2
    assert t.nodes[2].output.option == "add"
    assert all(n.duration_s is not None and n.duration_s >= 0 for n in t.nodes)


def test_an_agentic_option_is_one_node_and_holds_its_own_decision():
    with trace() as t:
        outer("go", runtime=scripted("a", pick("inner"), pick("x")))
    assert [(n.kind, n.caller) for n in t.nodes] == [
        ("function", None), ("model_call", 1), ("decision", 1), ("model_call", 3), ("function", 3), ("decision", 5),
        ("model_call", 6),
    ]  # fmt: skip


def test_usage_cost_and_model_stand_on_the_call():
    reply = Reply('{"call": "x"}', usage=Usage(3, 4), cost=0.1, model="m")
    with trace() as t:
        inner(runtime=scripted(reply))
    node = t.nodes[-1]
    assert (node.model, node.usage, node.cost, node.output) == ("m", Usage(3, 4), 0.1, reply)


def test_errors_close_their_nodes(both):
    with trace() as t, pytest.raises(LLMError):
        both.make("?", {"x": 1}, runtime=scripted(LLMError("down")))
    assert [(n.kind, n.status) for n in t.nodes] == [("decision", "error"), ("model_call", "error")]
    assert isinstance(t.nodes[0].error, LLMError)


def test_a_failing_option_closes_its_nodes(both):
    def fail() -> None:
        raise ValueError("mine")

    with trace() as t, pytest.raises(ValueError, match="mine"):
        both.make("?", [fail], runtime=scripted(pick("fail")))
    assert [(n.kind, n.status) for n in t.nodes] == [
        ("decision", "error"),
        ("model_call", "done"),
        ("function", "error"),
    ]


def test_cancellation_leaves_the_trace_complete():
    class Slow:
        name, model, capabilities = "slow", None, scripted().provider.capabilities

        async def asend(self, request, deadline=None):
            await asyncio.sleep(60)

        def send(self, request, deadline=None): ...
        def close(self): ...
        async def aclose(self): ...

    async def main():
        from decidable import Runtime

        @agentic_function
        async def f():
            return await decision.async_make("?", {"x": 1})

        with trace() as t:
            task = asyncio.create_task(f(runtime=Runtime(Slow())))
            await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        return t

    t = asyncio.run(main())
    assert [(n.kind, n.status) for n in t.nodes] == [
        ("function", "cancelled"), ("decision", "cancelled"), ("model_call", "cancelled"),
    ]  # fmt: skip


def test_tasks_keep_their_own_branches():
    async def main():
        @agentic_function
        async def ask(name: str):
            await asyncio.sleep(0)
            return await decision.async_make(name, {"x": 1})

        with trace() as t:
            await asyncio.gather(*(ask(str(i), runtime=scripted(pick("x"))) for i in range(10)))
        return t

    t = asyncio.run(main())
    kinds = {n.id: n.kind for n in t.nodes}
    assert [kinds.get(n.caller) for n in t.nodes if n.kind == "decision"] == ["function"] * 10
    assert [kinds.get(n.caller) for n in t.nodes if n.kind == "model_call"] == ["decision"] * 10
    assert len({n.caller for n in t.nodes if n.kind == "decision"}) == 10


def test_the_tree():
    with trace() as t:
        outer("go", runtime=scripted("seen", pick("add", n=1)))
    lines = str(t).splitlines()
    assert lines[0].startswith("function outer -> 2 (")
    assert lines[1].startswith("├─ model call scripted -> seen (")
    assert lines[2].startswith("└─ decision add | inner -> add = 2 (")
    assert lines[4].startswith("   └─ function add -> 2 (")
    assert repr(t) == "Trace(5 nodes)"


def test_nothing_recorded():
    with trace() as t:
        pass
    assert str(t) == "(nothing was recorded)"


def test_nothing_is_recorded_outside():
    rt = scripted(pick("x"), pick("x"))
    with trace() as t:
        inner(runtime=rt)
    inner(runtime=rt)
    assert len(t.nodes) == 3
