"""Hand "what next?" to a model and get back the result of the next step.

    from decidable import agentic_function, decision, Runtime

See `decidable.decision.make` for the heart of it.
"""

from decidable import decision
from decidable.ambient import Frame, invocation_hook
from decidable.attempt import Attempt, FailureKind
from decidable.default_runtime import runtime, set_default_runtime, use_runtime
from decidable.deltas import ReasoningDelta, TextDelta, ToolCallDelta
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
from decidable.flow.streaming import Finished, Restarted
from decidable.function import AgenticFunction, agentic_function
from decidable.llm import async_llm, llm
from decidable.messages import Reply, Sampling, Usage
from decidable.options import FunctionOption, Option, SchemaOption, ValueOption
from decidable.providers.protocol import Provider
from decidable.providers.registry import connect, register_endpoint, register_provider
from decidable.runtimes import Runtime
from decidable.trace import Trace, trace

__version__ = "0.1.0"

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
