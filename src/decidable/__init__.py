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
    RefusedError,
    RepeatedCallError,
    RequestForbiddenError,
    RunStopped,
    RuntimeClosedError,
    RuntimeMissingError,
    SettingError,
    UnaskableError,
    UnknownProviderError,
    Unsure,
    UsageError,
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
    from decidable.deltas import ReasoningDelta, TextDelta, ToolCallDelta
    from decidable.flow.record_parts import Fallback, Vote, Votes
    from decidable.flow.streaming import Finished, Restarted
    from decidable.judging import Judge, Judgement, judge_from_provider, judge_from_providers
    from decidable.mcp import mcp_tools
    from decidable.providers.decision_providers import (
        jev_provider,
        openai_decisions_provider,
        openrouter_provider,
        parallel_provider,
        systemone_provider,
    )
    from decidable.toolkit import to_openai_tools, tool
    from decidable.tools import ToolCall, ToolResult, ToolRun

__version__ = "0.1.0"

_LATER = {
    "ApprovalRequest": "decidable.approval",
    "Approver": "decidable.approval",
    "Budget": "decidable.budget",
    "CancelToken": "decidable.cancelling",
    "Denied": "decidable.approval",
    "Fallback": "decidable.flow.record_parts",
    "Finished": "decidable.flow.streaming",
    "Judge": "decidable.judging",
    "Judgement": "decidable.judging",
    "ReasoningDelta": "decidable.deltas",
    "Restarted": "decidable.flow.streaming",
    "Spending": "decidable.budget",
    "TextDelta": "decidable.deltas",
    "ToolCall": "decidable.tools",
    "ToolCallDelta": "decidable.deltas",
    "ToolResult": "decidable.tools",
    "ToolRun": "decidable.tools",
    "Verdict": "decidable.approval",
    "Vote": "decidable.flow.record_parts",
    "Votes": "decidable.flow.record_parts",
    "jev_provider": "decidable.providers.decision_providers",
    "judge_from_provider": "decidable.judging",
    "judge_from_providers": "decidable.judging",
    "mcp_tools": "decidable.mcp",
    "openai_decisions_provider": "decidable.providers.decision_providers",
    "openrouter_provider": "decidable.providers.decision_providers",
    "parallel_provider": "decidable.providers.decision_providers",
    "systemone_provider": "decidable.providers.decision_providers",
    "to_openai_tools": "decidable.toolkit",
    "tool": "decidable.toolkit",
    "use_budget": "decidable.budget",
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
    "ContentError",
    "DecidableError",
    "Decision",
    "DecisionError",
    "DecisionProvider",
    "DecisionProviderError",
    "Denied",
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
    "Provider",
    "ProviderErrorCode",
    "QuestionError",
    "ReasoningDelta",
    "RefusedError",
    "RepeatedCallError",
    "Reply",
    "RequestForbiddenError",
    "Restarted",
    "RetryInfo",
    "RunStopped",
    "Runtime",
    "RuntimeClosedError",
    "RuntimeMissingError",
    "Sampling",
    "SchemaOption",
    "SettingError",
    "Spending",
    "TextDelta",
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
    "Vote",
    "Votes",
    "__version__",
    "agent",
    "agentic_function",
    "async_agent",
    "async_llm",
    "connect",
    "decision",
    "invocation_hook",
    "jev_provider",
    "judge_from_provider",
    "judge_from_providers",
    "llm",
    "mcp_tools",
    "openai_decisions_provider",
    "openrouter_provider",
    "parallel_provider",
    "register_endpoint",
    "register_provider",
    "runtime",
    "set_default_runtime",
    "systemone_provider",
    "to_openai_tools",
    "tool",
    "trace",
    "use_budget",
    "use_runtime",
]
