"""What all type checkers infer of calls with tools."""

from __future__ import annotations

from typing import Any

from shared import Refund, later, one, two
from typing_extensions import assert_type

from decidable import (
    ApprovalRequest,
    ApprovalRequired,
    Budget,
    Denied,
    FunctionOption,
    RunStopped,
    Runtime,
    Verdict,
    agent,
    async_agent,
    decision,
    mcp_tools,
    runtime,
    tool,
    use_budget,
)

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
