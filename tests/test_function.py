"""`@agentic_function`: what it injects, what it describes, and what it keeps apart."""

from __future__ import annotations

import asyncio
import inspect
import threading

import pytest

from decidable import (
    CancelledError,
    Runtime,
    RuntimeMissingError,
    UsageError,
    agentic_function,
    decision,
    invocation_hook,
    llm,
    runtime,
    set_default_runtime,
    use_runtime,
)
from decidable.testing import pick, scripted


def test_the_first_example_of_the_idea():
    def analyze_sentiment(text: str) -> str:
        """Say how it sounds."""
        return "positive"

    def fallback_reply() -> str:
        return "sorry"

    @agentic_function
    def route_message(msg: str) -> str:
        return decision.make("Pick a way to handle this message.", {
            "analyze":  analyze_sentiment,        # a function
            "fallback": fallback_reply,           # a function
            "done":     "CONVERSATION_OVER",      # a value
        })  # fmt: skip

    assert route_message("hi", runtime=scripted(pick("done"))) == "CONVERSATION_OVER"
    assert route_message("hi", runtime=scripted(pick("analyze", text="hi"))) == "positive"


def test_the_second_example_of_the_idea():
    def issue_refund() -> dict:
        return {"status": "refunded"}

    def escalate_to_human() -> dict:
        return {"status": "escalated"}

    @agentic_function
    def handle_ticket(ticket: str) -> dict:
        """Read the ticket, look up references, then decide which flow to route it to."""
        return runtime.exec(
            f"Handle this ticket: {ticket}",
            toolset="default",          # earlier: the model uses tools to look up references and run commands
            choices={                   # wrap-up: the return must pick one from here
                "refund":    issue_refund,
                "escalate":  escalate_to_human,
                "close":     {"status": "closed"},
            },
        )  # fmt: skip

    with scripted("Looked it up.\n" + '{"call": "close"}') as rt:
        assert handle_ticket("t", runtime=rt) == {"status": "closed"}
    assert handle_ticket("t", runtime=scripted(pick("refund"))) == {"status": "refunded"}


def test_declared_runtime_parameters_all_get_the_same_one():
    @agentic_function
    def f(x: int, runtime: Runtime | None = None, exec_runtime=None, review_runtime=None):
        return runtime, exec_runtime, review_runtime

    rt = scripted()
    with use_runtime(rt):
        assert f(1) == (rt, rt, rt)
        assert f(1, runtime=None) == (rt, rt, rt)
        other = scripted()
        assert f(1, exec_runtime=other) == (other, other, other)
        assert f(1, other) == (other, other, other)
    assert f(1) == (None, None, None)


def test_a_required_runtime_parameter_needs_one():
    @agentic_function
    def f(runtime):
        return runtime

    with pytest.raises(RuntimeMissingError, match="set_default_runtime"):
        f()
    rt = scripted()
    set_default_runtime(rt)
    assert f() is rt


def test_use_runtime_decorates_sync_and_async():
    rt = scripted("a", "b")

    @use_runtime(rt)
    def f():
        return llm("?")

    @use_runtime(rt)
    async def g():
        return llm("?")

    assert f() == "a"
    assert asyncio.run(g()) == "b"
    with pytest.raises(RuntimeMissingError):
        llm("?")


def test_it_looks_like_the_function_it_wraps():
    @agentic_function
    async def f(a: int, b: str = "x") -> bool:
        """Doc."""
        return True

    assert (f.__name__, f.__doc__, f.__module__) == ("f", "Doc.", __name__)
    assert list(inspect.signature(f).parameters) == ["a", "b"]
    assert inspect.iscoroutinefunction(f)
    assert asyncio.run(f(1))


def test_spec_and_execute():
    @agentic_function(
        name="pay",
        description="Pay out.",
        input={"to": {"description": "Who.", "options": ["a", "b"]}, "db": {"hidden": True}},
    )
    def f(to: str, amount: float = 2.5, db: object = None, runtime=None) -> str:
        return f"{to} {amount} {db} {runtime is not None}"

    assert f.spec == {
        "name": "pay",
        "description": "Pay out.",
        "parameters": {
            "type": "object",
            "properties": {
                "to": {"type": "string", "enum": ["a", "b"], "description": "Who."},
                "amount": {"type": "number", "default": 2.5},
            },
            "required": ["to"],
            "additionalProperties": False,
        },
    }
    with use_runtime(scripted()):
        assert f.execute(to="a", amount=1.0, invented=3, db="D") == "a 1.0 D True"


def test_methods_of_all_kinds():
    class Desk:
        name = "front"

        @agentic_function
        def hello(self, who: str) -> str:
            """Greet."""
            return f"{self.name} greets {who}"

        @classmethod
        @agentic_function
        def make(cls, n: int) -> str:
            return f"{cls.__name__} {n}"

        @staticmethod
        @agentic_function
        def add(a: int, b: int) -> int:
            return a + b

        @agentic_function
        async def later(self) -> str:
            return self.name

    desk = Desk()
    assert desk.hello("me") == "front greets me"
    assert desk.hello.execute(who="you") == "front greets you"
    assert list(desk.hello.spec["parameters"]["properties"]) == ["who"]
    assert (Desk.make(3), desk.make(4), Desk.add(1, 2), asyncio.run(desk.later())) == ("Desk 3", "Desk 4", 3, "front")
    assert decision.make("?", [desk.hello], runtime=scripted(pick("hello", who="x"))) == "front greets x"


def test_wrong_use():
    with pytest.raises(UsageError, match="generator"):

        @agentic_function
        def gen():
            yield 1

    with pytest.raises(UsageError, match="below @classmethod"):
        agentic_function(classmethod(lambda cls: 1))


def test_recursion_is_bounded():
    @agentic_function
    def down(n: int) -> int:
        return 0 if n == 0 else 1 + down(n - 1)

    @agentic_function
    def ping(n: int) -> int:
        return 0 if n == 0 else pong(n - 1)

    @agentic_function
    def pong(n: int) -> int:
        return ping(n)

    assert down(4) == 4
    with pytest.raises(RecursionError, match="'down' called itself more than 5"):
        down(5)
    assert ping(4) == 0
    with pytest.raises(RecursionError):
        ping(5)


def test_system_holds_for_its_own_frame_only():
    @agentic_function(system="inner")
    def inner() -> str:
        return llm("in")

    @agentic_function(system="outer")
    def outer() -> str:
        llm("before")
        try:
            inner()
        finally:
            llm("after")
        return helper()

    @agentic_function
    def helper() -> str:
        return llm("plain")

    with scripted("1", "2", "3", "4", "5") as rt:
        outer(runtime=rt)
        rt.exec("outside")
    assert [s.system for s in rt.requests] == ["outer", "inner", "outer", None, None]


def test_system_is_restored_when_the_function_fails():
    @agentic_function(system="s")
    def fail() -> None:
        raise ValueError

    with scripted("1") as rt:
        with pytest.raises(ValueError):
            fail(runtime=rt)
        rt.exec("x")
    assert rt.requests[0].system is None


def test_tasks_and_threads_never_see_each_other():
    @agentic_function
    async def ask(name: str) -> tuple[str, str]:
        await asyncio.sleep(0)
        first = runtime.exec(name)
        await asyncio.sleep(0)
        return first, await runtime.async_exec(name)

    async def main():
        runtimes = [scripted(f"{i}", f"{i}") for i in range(20)]
        answers = await asyncio.gather(*(ask("x", runtime=rt) for rt in runtimes))
        assert answers == [(f"{i}", f"{i}") for i in range(20)]
        with pytest.raises(RuntimeMissingError):
            runtime.exec("outside")

    asyncio.run(main())
    seen = []

    @agentic_function(system="mine")
    def spawn() -> None:
        def work():
            with pytest.raises(RuntimeMissingError):
                llm("?")
            seen.append("alone")

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()

    spawn(runtime=scripted())
    assert seen == ["alone"]


def test_one_runtime_shared_by_threads_keeps_system_apart():
    barrier = threading.Barrier(2)
    rt = scripted(*["ok"] * 2)

    def run(system):
        @agentic_function(system=system)
        def f():
            barrier.wait()
            return llm(system)

        f(runtime=rt)

    threads = [threading.Thread(target=run, args=(s,)) for s in ("a", "b")]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert {(s.prompt, s.system) for s in rt.requests} == {("a", "a"), ("b", "b")}


def test_hooks_run_before_the_body_and_may_cancel():
    seen = []

    @agentic_function
    def f() -> str:
        seen.append("body")
        return "done"

    with invocation_hook(lambda frame: seen.append(frame.name)):
        assert f() == "done"
    assert seen == ["f", "body"]

    def stop(frame):
        raise CancelledError("stop")

    @agentic_function
    def stubborn() -> str:
        try:
            return f()
        except Exception:
            return "swallowed"

    with pytest.raises(CancelledError), invocation_hook(stop):
        stubborn()
    assert f() == "done"


def test_the_proxy_says_what_it_is():
    assert repr(runtime) == "<the ambient runtime>"
    with use_runtime(scripted()):
        assert runtime.provider.name == "scripted"


@pytest.mark.parametrize("wrong", [int, 3, "name"])
def test_what_is_no_function(wrong):
    with pytest.raises(TypeError, match="decorates a function"):
        agentic_function(wrong)


@pytest.mark.parametrize(
    ("described", "message"),
    [
        ({"x": {}}, "no parameter 'x'.*'order'"),
        ({"order": "the order"}, "must be a mapping"),
        ({"order": {"option": ["a"]}}, "unknown key 'option'; did you mean 'options'"),
    ],
)
def test_input_is_checked_where_it_is_written(described, message):
    with pytest.raises(TypeError, match=message):

        @agentic_function(input=described)
        def f(order: str): ...


def test_functions_made_by_one_factory_are_different_functions():
    def make(inner):
        @agentic_function
        def f() -> int:
            return 1 + inner()

        return f

    chain = lambda: 0  # noqa: E731
    for _ in range(8):
        chain = make(chain)
    assert chain() == 8


def test_tools_may_look_at_the_proxy_without_a_runtime():
    assert not hasattr(runtime, "__wrapped__")
    with pytest.raises(RuntimeMissingError):
        runtime.exec("?")


def test_one_use_runtime_shared_by_tasks_and_threads():
    rt = scripted(*["ok"] * 3)
    shared = use_runtime(rt)

    async def ask(delay):
        with shared:
            await asyncio.sleep(delay)
            answer = llm("?")
        with pytest.raises(RuntimeMissingError):
            llm("?")
        return answer

    async def main():
        return await asyncio.gather(ask(0.02), ask(0.01), ask(0.03))

    assert asyncio.run(main()) == ["ok"] * 3
