"""Hand "what next?" to a model and get back the result of the next step.

    from decidable import agentic_function, decision, Runtime

See `decidable.decision.make` for the heart of it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from decidable import decision
from decidable.ambient import Frame, invocation_hook
from decidable.attempt import Attempt, FailureKind
from decidable.default_runtime import runtime, set_default_runtime, use_runtime
from decidable.errors import (
    ApprovalRequired,
    ArgumentTypeError,
    BudgetExceeded,
    CancelledError,
    ContentError,
    DecidableError,
    DecisionError,
    DecisionProviderError,
    Escalation,
    HostFunctionError,
    LLMError,
    LLMErrorReason,
    MaxIterationsError,
    MissingExtraError,
    MissingKeyError,
    ModelRetry,
    OptionError,
    OptionTypeError,
    ProviderErrorCode,
    QuestionError,
    ReceiptError,
    RefusedError,
    RepeatedCallError,
    RequestForbiddenError,
    RouteError,
    RunStopped,
    RuntimeClosedError,
    RuntimeMissingError,
    SettingError,
    ThresholdMismatchError,
    UnaskableError,
    UnknownProviderError,
    Unsure,
    UsageError,
    VerificationError,
)
from decidable.flow.ask import RetryInfo
from decidable.flow.record import Decision
from decidable.function import AgenticFunction, agentic_function
from decidable.llm import agent, async_agent, async_llm, llm
from decidable.messages import Reply, Sampling, Usage
from decidable.options import FunctionOption, Option, SchemaOption, ValueOption
from decidable.providers.protocol import DecisionProvider, Provider
from decidable.providers.registry import connect, register_endpoint, register_provider
from decidable.runtimes import Runtime
from decidable.trace import Trace, trace

if TYPE_CHECKING:
    from decidable.approval import ApprovalRequest, Approver, Denied, Verdict
    from decidable.budget import Budget, Spending, use_budget
    from decidable.cancelling import CancelToken
    from decidable.cascading import cascade
    from decidable.deltas import ReasoningDelta, TextDelta, ToolCallDelta
    from decidable.exits import Exit
    from decidable.flow.record_parts import Fallback, Vote, Votes
    from decidable.flow.streaming import Finished, Restarted
    from decidable.judging import Judge, Judgement, judge_from_provider, judge_from_providers
    from decidable.judgments import (
        ask,
        async_ask,
        async_judge,
        async_pick,
        async_route,
        async_route_by_value,
        async_sift,
        async_verify,
        judge,
        pick,
        route,
        route_by_value,
        sift,
        verify,
    )
    from decidable.mcp import mcp_tools
    from decidable.outcomes import Complete, Escalated, Outcome, async_outcome_of, outcome_of
    from decidable.providers.decision_providers import (
        jev_provider,
        openai_decisions_provider,
        openrouter_provider,
        parallel_provider,
        systemone_provider,
    )
    from decidable.providers.person import Person, PersonQuestion
    from decidable.questions.measures import Threshold
    from decidable.receipts.steps import step, use_receipts
    from decidable.rehearsing import dry_run
    from decidable.toolkit import to_openai_tools, tool
    from decidable.tools import ToolCall, ToolResult, ToolRun

__version__ = "0.1.0"

_LATER = {
    "ApprovalRequest": "decidable.approval",
    "Approver": "decidable.approval",
    "Budget": "decidable.budget",
    "CancelToken": "decidable.cancelling",
    "Complete": "decidable.outcomes",
    "Denied": "decidable.approval",
    "Escalated": "decidable.outcomes",
    "Exit": "decidable.exits",
    "Fallback": "decidable.flow.record_parts",
    "Finished": "decidable.flow.streaming",
    "Judge": "decidable.judging",
    "Judgement": "decidable.judging",
    "Outcome": "decidable.outcomes",
    "Person": "decidable.providers.person",
    "PersonQuestion": "decidable.providers.person",
    "ReasoningDelta": "decidable.deltas",
    "Restarted": "decidable.flow.streaming",
    "Spending": "decidable.budget",
    "TextDelta": "decidable.deltas",
    "Threshold": "decidable.questions.measures",
    "ToolCall": "decidable.tools",
    "ToolCallDelta": "decidable.deltas",
    "ToolResult": "decidable.tools",
    "ToolRun": "decidable.tools",
    "Verdict": "decidable.approval",
    "Vote": "decidable.flow.record_parts",
    "Votes": "decidable.flow.record_parts",
    "ask": "decidable.judgments",
    "async_ask": "decidable.judgments",
    "async_judge": "decidable.judgments",
    "async_outcome_of": "decidable.outcomes",
    "async_pick": "decidable.judgments",
    "async_route": "decidable.judgments",
    "async_route_by_value": "decidable.judgments",
    "async_sift": "decidable.judgments",
    "async_verify": "decidable.judgments",
    "cascade": "decidable.cascading",
    "dry_run": "decidable.rehearsing",
    "jev_provider": "decidable.providers.decision_providers",
    "judge": "decidable.judgments",
    "judge_from_provider": "decidable.judging",
    "judge_from_providers": "decidable.judging",
    "mcp_tools": "decidable.mcp",
    "openai_decisions_provider": "decidable.providers.decision_providers",
    "openrouter_provider": "decidable.providers.decision_providers",
    "outcome_of": "decidable.outcomes",
    "parallel_provider": "decidable.providers.decision_providers",
    "pick": "decidable.judgments",
    "route": "decidable.judgments",
    "route_by_value": "decidable.judgments",
    "sift": "decidable.judgments",
    "step": "decidable.receipts.steps",
    "systemone_provider": "decidable.providers.decision_providers",
    "to_openai_tools": "decidable.toolkit",
    "tool": "decidable.toolkit",
    "use_budget": "decidable.budget",
    "use_receipts": "decidable.receipts.steps",
    "verify": "decidable.judgments",
}
"""What is imported when it is first asked for: many a program never streams, has no tools, or sets no budget."""


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'decidable' has no attribute {name!r}")
    value = getattr(import_module(_LATER[name]), name)
    globals()[name] = value
    return value


__all__ = [
    "AgenticFunction",
    "ApprovalRequest",
    "ApprovalRequired",
    "Approver",
    "ArgumentTypeError",
    "Attempt",
    "Budget",
    "BudgetExceeded",
    "CancelToken",
    "CancelledError",
    "Complete",
    "ContentError",
    "DecidableError",
    "Decision",
    "DecisionError",
    "DecisionProvider",
    "DecisionProviderError",
    "Denied",
    "Escalated",
    "Escalation",
    "Exit",
    "FailureKind",
    "Fallback",
    "Finished",
    "Frame",
    "FunctionOption",
    "HostFunctionError",
    "Judge",
    "Judgement",
    "LLMError",
    "LLMErrorReason",
    "MaxIterationsError",
    "MissingExtraError",
    "MissingKeyError",
    "ModelRetry",
    "Option",
    "OptionError",
    "OptionTypeError",
    "Outcome",
    "Person",
    "PersonQuestion",
    "Provider",
    "ProviderErrorCode",
    "QuestionError",
    "ReasoningDelta",
    "ReceiptError",
    "RefusedError",
    "RepeatedCallError",
    "Reply",
    "RequestForbiddenError",
    "Restarted",
    "RetryInfo",
    "RouteError",
    "RunStopped",
    "Runtime",
    "RuntimeClosedError",
    "RuntimeMissingError",
    "Sampling",
    "SchemaOption",
    "SettingError",
    "Spending",
    "TextDelta",
    "Threshold",
    "ThresholdMismatchError",
    "ToolCall",
    "ToolCallDelta",
    "ToolResult",
    "ToolRun",
    "Trace",
    "UnaskableError",
    "UnknownProviderError",
    "Unsure",
    "Usage",
    "UsageError",
    "ValueOption",
    "Verdict",
    "VerificationError",
    "Vote",
    "Votes",
    "__version__",
    "agent",
    "agentic_function",
    "ask",
    "async_agent",
    "async_ask",
    "async_judge",
    "async_llm",
    "async_outcome_of",
    "async_pick",
    "async_route",
    "async_route_by_value",
    "async_sift",
    "async_verify",
    "cascade",
    "connect",
    "decision",
    "dry_run",
    "invocation_hook",
    "jev_provider",
    "judge",
    "judge_from_provider",
    "judge_from_providers",
    "llm",
    "mcp_tools",
    "openai_decisions_provider",
    "openrouter_provider",
    "outcome_of",
    "parallel_provider",
    "pick",
    "register_endpoint",
    "register_provider",
    "route",
    "route_by_value",
    "runtime",
    "set_default_runtime",
    "sift",
    "step",
    "systemone_provider",
    "to_openai_tools",
    "tool",
    "trace",
    "use_budget",
    "use_receipts",
    "use_runtime",
    "verify",
]
