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
    ArgumentTypeError,
    CancelledError,
    ContentError,
    DecidableError,
    DecisionError,
    HostFunctionError,
    LLMError,
    LLMErrorReason,
    MissingExtraError,
    MissingKeyError,
    OptionError,
    OptionTypeError,
    RefusedError,
    RequestForbiddenError,
    RuntimeClosedError,
    RuntimeMissingError,
    SettingError,
    UnaskableError,
    UnknownProviderError,
    Unsure,
    UsageError,
)
from decidable.flow.ask import RetryInfo
from decidable.flow.record import Decision, Fallback, Vote, Votes
from decidable.function import AgenticFunction, agentic_function
from decidable.llm import async_llm, llm
from decidable.messages import Reply, Sampling, Usage
from decidable.options import FunctionOption, Option, SchemaOption, ValueOption
from decidable.providers.protocol import Provider
from decidable.providers.registry import connect, register_endpoint, register_provider
from decidable.runtimes import Runtime
from decidable.trace import Trace, trace

if TYPE_CHECKING:
    from decidable.deltas import ReasoningDelta, TextDelta, ToolCallDelta
    from decidable.flow.streaming import Finished, Restarted

__version__ = "0.1.0"

_LATER = {
    "Finished": "decidable.flow.streaming",
    "ReasoningDelta": "decidable.deltas",
    "Restarted": "decidable.flow.streaming",
    "TextDelta": "decidable.deltas",
    "ToolCallDelta": "decidable.deltas",
}
"""What is imported when it is first asked for: most programs never stream."""


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'decidable' has no attribute {name!r}")
    value = getattr(import_module(_LATER[name]), name)
    globals()[name] = value
    return value


__all__ = [
    "AgenticFunction",
    "ArgumentTypeError",
    "Attempt",
    "CancelledError",
    "ContentError",
    "DecidableError",
    "Decision",
    "DecisionError",
    "FailureKind",
    "Fallback",
    "Finished",
    "Frame",
    "FunctionOption",
    "HostFunctionError",
    "LLMError",
    "LLMErrorReason",
    "MissingExtraError",
    "MissingKeyError",
    "Option",
    "OptionError",
    "OptionTypeError",
    "Provider",
    "ReasoningDelta",
    "RefusedError",
    "Reply",
    "RequestForbiddenError",
    "Restarted",
    "RetryInfo",
    "Runtime",
    "RuntimeClosedError",
    "RuntimeMissingError",
    "Sampling",
    "SchemaOption",
    "SettingError",
    "TextDelta",
    "ToolCallDelta",
    "Trace",
    "UnaskableError",
    "UnknownProviderError",
    "Unsure",
    "Usage",
    "UsageError",
    "ValueOption",
    "Vote",
    "Votes",
    "__version__",
    "agentic_function",
    "async_llm",
    "connect",
    "decision",
    "invocation_hook",
    "llm",
    "register_endpoint",
    "register_provider",
    "runtime",
    "set_default_runtime",
    "trace",
    "use_runtime",
]
