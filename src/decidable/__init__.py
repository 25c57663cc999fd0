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
    HostFunctionError,
    LLMError,
    LLMErrorReason,
    MaxIterationsError,
    MissingExtraError,
    MissingKeyError,
    ModelRetry,
    OptionError,
    OptionTypeError,
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
from decidable.providers.protocol import Provider
from decidable.providers.registry import connect, register_endpoint, register_provider
from decidable.runtimes import Runtime
from decidable.trace import Trace, trace

if TYPE_CHECKING:
    from decidable.approval import ApprovalRequest, Approver, Denied, Verdict
    from decidable.budget import Budget, Spending, use_budget
    from decidable.deltas import ReasoningDelta, TextDelta, ToolCallDelta
    from decidable.flow.record_parts import Fallback, Vote, Votes
    from decidable.flow.streaming import Finished, Restarted
    from decidable.mcp import mcp_tools
    from decidable.toolkit import to_openai_tools, tool
    from decidable.tools import ToolCall, ToolResult, ToolRun

__version__ = "0.1.0"

_LATER = {
    "ApprovalRequest": "decidable.approval",
    "Approver": "decidable.approval",
    "Budget": "decidable.budget",
    "Denied": "decidable.approval",
    "Fallback": "decidable.flow.record_parts",
    "Finished": "decidable.flow.streaming",
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
    "mcp_tools": "decidable.mcp",
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
    "CancelledError",
    "ContentError",
    "DecidableError",
    "Decision",
    "DecisionError",
    "Denied",
    "FailureKind",
    "Fallback",
    "Finished",
    "Frame",
    "FunctionOption",
    "HostFunctionError",
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
    "llm",
    "mcp_tools",
    "register_endpoint",
    "register_provider",
    "runtime",
    "set_default_runtime",
    "to_openai_tools",
    "tool",
    "trace",
    "use_budget",
    "use_runtime",
]
