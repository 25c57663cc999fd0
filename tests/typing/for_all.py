"""What all type checkers infer of calls with tools."""

from __future__ import annotations

from typing import Any

from shared import Refund, later, one, two
from typing_extensions import assert_type

from decidable import (
    ApprovalRequest,
    ApprovalRequired,
    Budget,
    DecisionProviderError,
    Denied,
    FunctionOption,
    Judge,
    Judgement,
    RunStopped,
    Runtime,
    Verdict,
    agent,
    async_agent,
    decision,
    judge_from_provider,
    mcp_tools,
    parallel_provider,
    runtime,
    tool,
    use_budget,
)
from decidable.questions import Choice, Noul, Question, Score, questions_of

# Tools: what a call takes, and what it gives.
careful = tool(two, requires_approval=lambda arguments: arguments["a"] > 3, timeout_s=1.5)
assert_type(careful, FunctionOption[int])
assert_type(decision.make("?", [careful], budget=Budget(requests=3), approver=lambda request: request.name == "a"), int)
assert_type(runtime.exec("?", tools=[one, careful], toolset="x", tool_choice="required", max_repeats=None), str)
assert_type(runtime.exec("?", tools=[one], response_format=Refund, budget=Budget(cost=0.5)), Refund)
assert_type(runtime.exec("?", tools=[one], response_format=None), str)
assert_type(agent("?", [one]), str)
assert_type(agent("?", [one], choices=[two]), Any)
assert_type(careful.spec, dict[str, Any])


def large(arguments: dict[str, Any]) -> bool:
    return bool(arguments["a"] > 3)


assert_type(tool(two, requires_approval=large), FunctionOption[int])
assert_type(tool(careful, timeout_s=3), FunctionOption[int])
guarded: FunctionOption[Any] = tool({"spec": {"name": "x"}, "execute": one}, requires_approval=True)


def person(request: ApprovalRequest) -> Verdict:
    return Denied("no") if request.arguments else True


def gone_on(rt: Runtime) -> Any:
    try:
        rt.exec("?", tools=[careful], approver=person, checkpoint=print)
    except ApprovalRequired as stopped:
        verdicts: dict[str, Verdict] = {request.id: person(request) for request in stopped.pending}
        return rt.resume(stopped, verdicts, max_iterations=30)
    except RunStopped as stopped:
        return rt.resume(stopped.snapshot or {}, tools=[careful])


async def with_tools() -> None:
    assert_type(await async_agent("?", [later]), str)
    with mcp_tools(["python", "server.py"]) as tools:
        assert_type(await runtime.async_exec("?", tools=[*tools, later]), str)
    with use_budget(Budget(seconds=3)) as spent:
        assert_type(spent.requests, int)


# Typed questions: what is asked, and what comes back.
judge = judge_from_provider(parallel_provider(api_key="k", modes=["fast"]))
assert_type(judge, Judge)
asked = {"refund": Noul("A refund?"), "team": Choice("Which?", ["a", "b"]), "anger": Score("How?", ["low", "high"])}
judgement = judge.ask({"ticket": 1}, asked, timeout_s=3)
assert_type(judgement, Judgement)
assert_type(judgement.values, dict[str, str | bool | int])
assert_type(judgement.cost_usd, float | None)
assert_type(questions_of({"properties": {}}), dict[str, Question])


async def asks() -> Judgement:
    return await judge.async_ask("text", {"q": Noul("?")}, model="parallel-fast")


def looks(error: DecisionProviderError) -> None:
    assert_type(error.cost_usd, float | None)
