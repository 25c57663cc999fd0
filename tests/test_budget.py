"""Budgets: what a call may spend, with everything that happens within it."""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager

import pytest

from decidable import (
    ArgumentTypeError,
    Budget,
    BudgetExceeded,
    LLMError,
    Reply,
    Runtime,
    SettingError,
    Usage,
    runtime,
    use_budget,
)
from decidable.flow.run import Host
from decidable.testing import call_tool, call_tools, pick, scripted


def reply(text: str, *, tokens: tuple[int, int] | None = None, cost: float | None = None) -> Reply:
    usage = None if tokens is None else Usage(*tokens)
    return Reply(text, stop="stop", usage=usage, cost=cost)


@contextmanager
def exceeded(which: str, limit: float, spent: float | None):
    with pytest.raises(BudgetExceeded) as caught:
        yield caught
    assert (caught.value.which, caught.value.limit, caught.value.spent) == (which, limit, spent)


def test_re_asks_are_counted(both):
    rt = scripted("no", "no", pick("a"))
    with exceeded("requests", 2, 2):
        both.make("?", ["a", "b"], runtime=rt, max_retries=5, budget=Budget(requests=2))
    assert len(rt.requests) == 2


def test_retries_are_counted(both):
    down = LLMError("down", reason="transport")
    host = Host(sleep=lambda _: None, sleep_async=lambda _: asyncio.sleep(0))
    rt = scripted(down, down, "ok", max_retries=5, host=host)
    with exceeded("requests", 2, 2):
        both.exec(rt, "?", budget=Budget(requests=2))


def test_samples_are_counted(both):
    rt = scripted(*[pick("a")] * 5)
    with exceeded("requests", 3, 3):
        both.make("?", ["a", "b"], runtime=rt, samples=5, budget=Budget(requests=3))
    assert len(rt.requests) == 3


def test_tool_rounds_and_nested_calls_are_counted(both):
    def think() -> str:
        return runtime.exec("inner")

    rt = scripted(call_tool("think"), "deep", call_tool("think"), "deep")
    with exceeded("requests", 3, 3) as caught:
        both.exec(rt, "?", tools=[think], budget=Budget(requests=3))
    assert [run.is_error for run in caught.value.tool_runs] == [False, True]
    assert "BudgetExceeded" in caught.value.tool_runs[1].result
    assert caught.value.snapshot is not None


def test_a_picked_function_stays_inside_it(both):
    def think() -> str:
        return runtime.exec("inner")

    with exceeded("requests", 1, 1):
        both.make("?", [think, "b"], runtime=scripted(pick("think")), budget=Budget(requests=1))


def test_a_nested_budget_counts_for_itself_and_for_the_outer_one(both):
    def think() -> str:
        return runtime.exec("inner", budget=Budget(requests=100))

    rt = scripted(call_tool("think"), "deep")
    with exceeded("requests", 2, 2):
        both.exec(rt, "?", tools=[think], budget=Budget(requests=2))


@pytest.mark.parametrize(
    ("budget", "which", "limit", "spent"),
    [
        (Budget(input_tokens=150), "input_tokens", 150, 200),
        (Budget(output_tokens=20), "output_tokens", 20, 20),
        (Budget(cost=0.5), "cost", 0.5, 0.5),
    ],
)
def test_tokens_and_cost_stop_the_next_request(both, budget, which, limit, spent):
    rt = scripted(*[reply("no", tokens=(100, 10), cost=0.25)] * 3)
    with exceeded(which, limit, spent):
        both.make("?", ["a", "b"], runtime=rt, max_retries=5, budget=budget)
    assert len(rt.requests) == 2


def test_the_last_reply_may_go_beyond_and_is_used(both):
    rt = scripted(reply("ok", tokens=(100, 10)))
    assert both.exec(rt, "?", budget=Budget(input_tokens=1)) == "ok"


@pytest.mark.parametrize("which", ["input_tokens", "output_tokens", "cost"])
def test_what_a_provider_does_not_say_lets_no_other_request_follow(both, which):
    with exceeded(which, 5, None):
        both.make("?", ["a"], runtime=scripted("no", pick("a")), budget=Budget(**{which: 5}))
    with pytest.raises(BudgetExceeded, match=r"price=\.\.\.|reply came without them"):
        both.make("?", ["a"], runtime=scripted("no", pick("a")), budget=Budget(**{which: 5}))


def test_a_price_function_says_what_replies_cost(both):
    rt = scripted(*[reply("no", tokens=(100, 10))] * 3)
    budget = Budget(cost=0.001, price=lambda r: r.usage.input_tokens * 5e-6)
    with exceeded("cost", 0.001, 0.001):
        both.make("?", ["a"], runtime=rt, max_retries=5, budget=budget)
    assert len(rt.requests) == 2


def test_seconds_end_the_call(both):
    clock = [0.0]

    def slow(_: object) -> str:
        clock[0] += 3
        return "no"

    rt = scripted(slow, slow, slow, host=Host(clock=lambda: clock[0]))
    with pytest.raises(BudgetExceeded, match="budget of 5 seconds is spent"):
        both.make("?", ["a", "b"], runtime=rt, max_retries=5, budget=Budget(seconds=5))
    assert len(rt.requests) == 2


def test_a_wait_beyond_the_seconds_is_not_begun(both):
    clock = [0.0]
    rt = scripted(
        LLMError("busy", reason="rate_limit", retry_after_s=60), max_retries=3, host=Host(clock=lambda: clock[0])
    )
    with pytest.raises(BudgetExceeded, match="seconds"):
        both.exec(rt, "?", budget=Budget(seconds=5))


def test_a_deadline_is_no_budget(both):
    clock = [0.0]
    rt = scripted(
        LLMError("busy", reason="rate_limit", retry_after_s=60), max_retries=3, host=Host(clock=lambda: clock[0])
    )
    with pytest.raises(LLMError) as caught:
        both.exec(rt, "?", budget=Budget(seconds=500), timeout_s=5)
    assert caught.value.reason == "timeout"


def test_the_runtime_s_own_budget_is_for_each_call(both):
    rt = scripted("a", "b", "no", "no", budget=Budget(requests=1))
    assert [both.exec(rt, "?"), both.exec(rt, "?")] == ["a", "b"]
    with exceeded("requests", 1, 1):
        both.make("?", ["a"], runtime=rt)
    assert both.exec(rt, "?", budget=Budget(requests=2)) == "no"


class Counter:
    """A meter of the caller's own."""

    def __init__(self) -> None:
        self.admitted = self.booked = 0

    def admit(self, request: object) -> None:
        self.admitted += 1

    def book(self, reply: object) -> None:
        self.booked += 1


def test_a_meter_of_ones_own_counts_once_however_deep(both):
    def think() -> str:
        return runtime.exec("inner")

    counter = Counter()
    rt = scripted(call_tool("think"), "deep", "ok", budget=counter)
    both.exec(rt, "?", tools=[think])
    assert (counter.admitted, counter.booked) == (3, 3)


def test_use_budget_is_for_a_block(both):
    with use_budget(Budget(requests=2)) as spent:
        both.exec(scripted("a"), "?")
        both.exec(scripted(reply("b", tokens=(3, 4), cost=0.5)), "?")
        assert (spent.requests, spent.usage.output_tokens, spent.cost) == (2, 4, 0.5)
        with exceeded("requests", 2, 2):
            both.exec(scripted("c"), "?")
    assert both.exec(scripted("d"), "?") == "d"
    with use_budget(Budget(seconds=1e-9)), pytest.raises(BudgetExceeded, match="seconds"):
        both.exec(scripted("e"), "?")


def test_threads_share_it():
    """Of a hundred requests at once, no more go out than are allowed."""

    def think() -> str:
        return runtime.exec("inner")

    rt = scripted(call_tools(*[("think", {})] * 30), *["deep"] * 9)
    with exceeded("requests", 10, 10):
        rt.exec("?", tools=[think], budget=Budget(requests=10), max_repeats=None)
    assert len(rt.requests) == 10
    assert threading.active_count() == 1


@pytest.mark.parametrize("bad", [0, -1, True, 1.5, float("inf"), "3"])
def test_limits_out_of_range_are_refused(bad):
    with pytest.raises(SettingError, match="whole number above 0"):
        Budget(requests=bad)
    if bad in (0, -1, "3") or bad is True:
        with pytest.raises(SettingError, match="number above 0"):
            Budget(cost=bad)


def test_what_is_no_budget_is_refused(both):
    with pytest.raises(ArgumentTypeError, match="budget= takes a Budget"):
        both.exec(scripted(), "?", budget=3)
    with pytest.raises(ArgumentTypeError, match="budget= takes a Budget"):
        Runtime(lambda _: "", budget=3)
    with pytest.raises(ArgumentTypeError, match="use_budget takes"), use_budget(3):
        pass
