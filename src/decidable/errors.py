"""Every error this library raises, in one place; imports nothing.

Four families, so that a caller can tell whose turn it is to act::

    DecidableError
    ├── UsageError                     the caller's mistake: fix the program
    │   ├── OptionError                  options that cannot be a menu            (ValueError)
    │   ├── OptionTypeError              options of the wrong type                (TypeError)
    │   ├── SettingError                 an argument or setting out of range      (ValueError)
    │   ├── ArgumentTypeError            an argument of the wrong type            (TypeError)
    │   ├── ContentError                 a content block nobody can send          (TypeError)
    │   ├── RuntimeMissingError          no runtime to ask                        (RuntimeError)
    │   ├── RuntimeClosedError           the runtime was closed                   (RuntimeError)
    │   ├── HostFunctionError            a call function used the wrong way       (RuntimeError)
    │   ├── UnknownProviderError         no provider of that name                 (ValueError)
    │   ├── MissingExtraError            an optional dependency is not installed  (ImportError)
    │   ├── MissingKeyError              a provider's key is not set              (ValueError)
    │   ├── QuestionError                typed questions that cannot be asked     (ValueError)
    │   ├── UnaskableError               this provider cannot be asked this       (ValueError)
    │   ├── ThresholdMismatchError       a threshold made for something else      (ValueError)
    │   ├── RouteError                   a value that leads to no branch          (ValueError)
    │   └── RequestForbiddenError        real requests are switched off           (RuntimeError)
    ├── LLMError                       the provider's failure: retry, wait, or change provider
    │   └── DecisionProviderError        a decision model's: what it cost, and whether it may be asked again
    ├── DecisionError                  the model's bad replies: no valid pick     (ValueError)
    │   ├── RefusedError                 the model declined
    │   ├── Unsure                       the pick is not sure enough
    │   └── VerificationError            no submission was accepted
    ├── ReceiptError                   a receipt could not be kept, or read
    ├── Escalation                     the program itself hands over to a person
    └── RunStopped                     a run ended before it was done; what exists is kept
        ├── ApprovalRequired             a person must say whether a call may run
        ├── BudgetExceeded               the budget is spent
        ├── MaxIterationsError           the model still wants tools after the last round
        └── RepeatedCallError            the model makes the same call over and over

Two stand apart. `CancelledError` is a `BaseException`, so that a user's ``except Exception`` cannot swallow the wish
to stop. `ModelRetry` is what a tool or an option raises to have the model try again.

No error carries a key, a header or a body of a request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from decidable.approval import ApprovalRequest
    from decidable.attempt import Attempt, Origin
    from decidable.flow.record_parts import Fallback
    from decidable.questions.receipts import Receipt
    from decidable.questions.types import ProviderAttempt
    from decidable.tools import ToolRun

__all__ = [
    "ApprovalRequired",
    "ArgumentTypeError",
    "BudgetExceeded",
    "CancelledError",
    "ContentError",
    "DecidableError",
    "DecisionError",
    "DecisionProviderError",
    "Escalation",
    "HostFunctionError",
    "LLMError",
    "LLMErrorReason",
    "MaxIterationsError",
    "MissingExtraError",
    "MissingKeyError",
    "ModelRetry",
    "OptionError",
    "OptionTypeError",
    "ProviderErrorCode",
    "QuestionError",
    "ReceiptError",
    "RefusedError",
    "RepeatedCallError",
    "RequestForbiddenError",
    "RouteError",
    "RunStopped",
    "RuntimeClosedError",
    "RuntimeMissingError",
    "SettingError",
    "ThresholdMismatchError",
    "UnaskableError",
    "UnknownProviderError",
    "Unsure",
    "UsageError",
    "VerificationError",
]


class DecidableError(Exception):
    """Base of everything this library raises on purpose."""

    def __reduce__(self) -> Any:
        """For pickle and copy, between processes too: without what only this process can hold."""
        held = {name: value for name, value in self.__dict__.items() if name != "live"}
        return _rebuilt, (type(self), self.args, held)


def _rebuilt(cls: type[DecidableError], args: tuple[Any, ...], held: Mapping[str, Any]) -> DecidableError:
    error = cls.__new__(cls, *args)
    error.__dict__.update(held)
    return error


class UsageError(DecidableError):
    """The caller's mistake; nothing was sent to a model."""


class OptionError(UsageError, ValueError):
    """Options that cannot be a menu: empty, duplicate names, a name that is not usable."""


class OptionTypeError(UsageError, TypeError):
    """Options, or parts of them, of a type that no menu understands."""


class SettingError(UsageError, ValueError):
    """An argument outside its range, such as a negative number of retries."""


class ArgumentTypeError(UsageError, TypeError):
    """An argument of the wrong type, such as a provider's name where a runtime is wanted."""


class ContentError(UsageError, TypeError):
    """A content block that cannot be sent: unknown type, or nothing in it."""


class RuntimeMissingError(UsageError, RuntimeError):
    """A model is needed and no runtime was given, is ambient, or is the process default."""


class RuntimeClosedError(UsageError, RuntimeError):
    """The runtime was used after `close()`."""


class HostFunctionError(UsageError, RuntimeError):
    """A call function used the wrong way: async in a sync call, or out of replies."""


class UnknownProviderError(UsageError, ValueError):
    """A provider name that is not registered; the message offers close names."""


class MissingExtraError(UsageError, ImportError):
    """An optional dependency is not installed; the message says which extra brings it."""


class MissingKeyError(UsageError, ValueError):
    """A provider needs a key and none is set, or what is set cannot be one; the message names the variable."""


class QuestionError(UsageError, ValueError):
    """Typed questions that cannot be asked, or a schema that cannot be made into them.

    Attributes:
        problems: Everything that is wrong, one line each.
    """

    def __init__(self, message: str, problems: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems) or (message,)


class UnaskableError(UsageError, ValueError):
    """This provider cannot be asked this; refused before anything was sent or run."""


class ThresholdMismatchError(UsageError, ValueError):
    """A threshold was used with another measure, model or question than it was made for."""


class RouteError(UsageError, ValueError):
    """A value leads to no branch; none was run.

    Attributes:
        kind: ``"route_missing"``: there is no value; ``"route_unknown"``: no branch has its name; ``"route_type"``: it
            is no text.
    """

    def __init__(self, message: str, *, kind: str) -> None:
        super().__init__(message)
        self.kind = kind


class RequestForbiddenError(UsageError, RuntimeError):
    """A real request was attempted while real requests are switched off (as under pytest)."""


class CancelledError(BaseException):
    """Stop now. Raise it from an invocation hook to cancel the work in progress."""


class LLMErrorReason(StrEnum):
    """Why a provider could not answer."""

    TRANSPORT = "transport"
    """The connection failed."""
    RATE_LIMIT = "rate_limit"
    """Too many requests for now."""
    PROVIDER = "provider"
    """The provider failed inside (5xx)."""
    AUTH = "auth"
    """Who is asking was not accepted."""
    AUTHZ = "authz"
    """Known, but not allowed to."""
    INVALID = "invalid"
    """The request was refused as malformed."""
    CONTEXT = "context"
    """The request is longer than the model reads."""
    POLICY = "policy"
    """The provider's content policy."""
    TIMEOUT = "timeout"
    """The time given was over."""
    UNKNOWN = "unknown"
    """None of the above could be told."""


_RETRYABLE = frozenset(
    {LLMErrorReason.TRANSPORT, LLMErrorReason.RATE_LIMIT, LLMErrorReason.PROVIDER, LLMErrorReason.UNKNOWN}
)


class LLMError(DecidableError):
    """A provider did not answer.

    Attributes:
        reason: Why, as an `LLMErrorReason`.
        retryable: Whether the same request may succeed later. Defaults to true for `transport`,
            `rate_limit`, `provider` and `unknown`, false for the rest.
        http_status: The HTTP status, where there was one.
        retry_after_s: The provider's own wish, in seconds, before the next attempt.
        attempts: How many requests were made for this one question so far.
        elapsed_s: Seconds since the call began.
        provider: The provider's name.
        model: The model that was asked.
        sent: False if the request provably never left; None where that is not known.
    """

    def __init__(
        self,
        message: str,
        *,
        reason: LLMErrorReason | str = LLMErrorReason.UNKNOWN,
        retryable: bool | None = None,
        http_status: int | None = None,
        retry_after_s: float | None = None,
        provider: str | None = None,
        model: str | None = None,
        sent: bool | None = None,
    ) -> None:
        super().__init__(message)
        self.sent = sent
        self.reason = LLMErrorReason(reason)
        self.retryable = self.reason in _RETRYABLE if retryable is None else retryable
        self.http_status = http_status
        self.retry_after_s = retry_after_s
        self.attempts = 1
        self.elapsed_s = 0.0
        self.provider = provider
        self.model = model


class ProviderErrorCode(StrEnum):
    """Why a decision provider did not answer, and so whether it has been asked and may have been paid."""

    CONFIGURATION = "configuration"
    """There is no key; nothing was sent."""
    INVALID_REQUEST = "invalid_request"
    """The request is over a limit, which is found before anything is sent; or the service refused it."""
    AUTH = "auth"
    """The service did not accept who is asking."""
    RATE_LIMITED = "rate_limited"
    """Too many requests, and no time to wait for was named, or all attempts are spent."""
    CONNECTION = "connection"
    """The request never reached the service."""
    OUTCOME_UNKNOWN = "outcome_unknown"
    """The request was sent, and nobody knows whether it was answered: it may have been billed."""
    TIMEOUT = "timeout"
    """The time given ended while nothing was in flight."""
    ABORTED = "aborted"
    """The caller cancelled it."""
    INVALID_RESPONSE = "invalid_response"
    """The service answered with what is no answer to the questions."""


_REASON_OF_CODE = {
    ProviderErrorCode.CONFIGURATION: LLMErrorReason.AUTH,
    ProviderErrorCode.INVALID_REQUEST: LLMErrorReason.INVALID,
    ProviderErrorCode.AUTH: LLMErrorReason.AUTH,
    ProviderErrorCode.RATE_LIMITED: LLMErrorReason.RATE_LIMIT,
    ProviderErrorCode.CONNECTION: LLMErrorReason.TRANSPORT,
    ProviderErrorCode.OUTCOME_UNKNOWN: LLMErrorReason.PROVIDER,
    ProviderErrorCode.TIMEOUT: LLMErrorReason.TIMEOUT,
    ProviderErrorCode.ABORTED: LLMErrorReason.UNKNOWN,
    ProviderErrorCode.INVALID_RESPONSE: LLMErrorReason.PROVIDER,
}


class DecisionProviderError(LLMError):
    """A decision provider did not answer.

    Besides what every `LLMError` has:

    Attributes:
        code: Why, as a `ProviderErrorCode`, e.g. ``"outcome_unknown"``.
        cost_usd: US dollars that it may have cost; None if nothing, or unknown.
        cost_basis: ``"reported"``, ``"estimate"`` or ``"unknown"``, where a request may have been billed; else None.
        ref_id: The service's own id of the failure, or None.
        detail: Which check failed: a reason of `decidable.questions.REASONS`, or a word such as ``"not_json"``.
        provider_attempts: Every time the request was sent, as `decidable.questions.ProviderAttempt`.
        receipt_id: Id of the receipt that says so, where one is kept.
    """

    receipt_id: str | None = None

    def __init__(
        self,
        message: str,
        *,
        code: ProviderErrorCode | str,
        cost_usd: float | None = None,
        cost_basis: str | None = None,
        ref_id: str | None = None,
        detail: str = "",
        retryable: bool = False,
        **known: Any,
    ) -> None:
        self.code = ProviderErrorCode(code)
        super().__init__(message, reason=_REASON_OF_CODE[self.code], retryable=retryable, **known)
        self.cost_usd = cost_usd
        self.cost_basis = cost_basis
        self.ref_id = ref_id
        self.detail = detail
        self.provider_attempts: tuple[ProviderAttempt, ...] = ()


class DecisionError(DecidableError, ValueError):
    """The model never made a valid pick.

    Attributes:
        kind: The last failure kind, e.g. ``"unknown_call"`` (all of them: `decidable.attempt.FailureKind`).
        attempts: Every attempt in order, each with its reply, kind and message.
        tool_runs: The tools that ran before it, with what they gave back, in order.
    """

    tool_runs: tuple[ToolRun, ...] = ()

    def __init__(self, message: str, *, kind: str, attempts: Sequence[Attempt] = ()) -> None:
        super().__init__(message)
        self.kind = kind
        self.attempts = tuple(attempts)


class RefusedError(DecisionError):
    """The model declined to decide; asking again for better JSON would not help.

    Attributes:
        refused: Ids of the typed questions that were declined.
        receipt_id: Id of the receipt that says so, where one is kept.
    """

    refused: tuple[str, ...] = ()
    receipt_id: str | None = None


class Unsure(DecisionError):  # noqa: N818 - an outcome that the caller asked for, named as one
    """The model is less sure than the caller wants.

    Attributes:
        probabilities: Option name to probability.
        margin: First minus second.
        option: The likeliest option.
        measure: Which number was too low: ``"top"``, ``"margin"``, ``"entropy"``, ``"typesafe"`` or ``"reported"``.
        value: That number.
        at_least: What was asked for.
        origin: Where the probabilities come from.
        fallbacks: Providers that were asked before, and why they did not decide.
    """

    option: str = ""
    measure: str = "margin"
    value: float = 0.0
    at_least: float = 0.0
    origin: Origin = "none"
    fallbacks: tuple[Fallback, ...] = ()

    def __init__(
        self, message: str, *, probabilities: Mapping[str, float], margin: float, attempts: Sequence[Attempt] = ()
    ) -> None:
        super().__init__(message, kind="unsure", attempts=attempts)
        self.probabilities = dict(probabilities)
        self.margin = margin


class VerificationError(DecisionError):
    """No submission was accepted in as many reviews as there may be.

    Attributes:
        candidate: The last one.
        drives: Every review, as `decidable.judgments.Drive`.
    """

    def __init__(self, message: str, *, candidate: Any, drives: Sequence[Any]) -> None:
        super().__init__(message, kind="unverified")
        self.candidate = candidate
        self.drives = tuple(drives)


class ReceiptError(DecidableError):
    """A receipt could not be kept, or read: nothing was done with the answer.

    Attributes:
        receipt_id: Its id.
        node: The label of what asked.
        receipt: What should have been kept; the answer in it is paid for. None if it could not be read.
    """

    def __init__(self, message: str, *, receipt_id: str, node: str, receipt: Receipt | None = None) -> None:
        super().__init__(message)
        self.receipt_id = receipt_id
        self.node = node
        self.receipt = receipt


class Escalation(DecidableError):  # noqa: N818 - as `Unsure`
    """Raise it to hand over to a person; `decidable.outcome_of` gives it back as an `Escalated`.

    Args:
        kind: What it is about, for a program.
        summary: What it is about, for a person.
        state: What the person needs to see.
    """

    def __init__(self, kind: str, summary: str = "", *, state: Any = None) -> None:
        super().__init__(kind, summary)
        self.kind = kind
        self.summary = summary
        self.state = state

    def __str__(self) -> str:
        return f"{self.kind}: {self.summary}" if self.summary else self.kind


class RunStopped(DecidableError):  # noqa: N818 - as `Unsure`; so are those below
    """A run ended before it was done; nothing that was done is lost.

    Attributes:
        snapshot: The run as JSON, for ``runtime.resume(...)``; None where there was nothing to keep.
        tool_runs: The tools that ran, with what they gave back, in order.
        text: What the model said last.
    """

    snapshot: dict[str, Any] | None = None
    tool_runs: tuple[ToolRun, ...] = ()
    text: str = ""
    live: Mapping[str, Any] | None = None  # what no JSON can hold, for a resume in the same process


class ApprovalRequired(RunStopped):
    """A call needs a person's word, and nobody was there to give it: ``runtime.resume(error, {id: True})`` goes on.

    Attributes:
        pending: The calls that wait, in order.
    """

    def __init__(self, pending: Sequence[ApprovalRequest]) -> None:
        named = ", ".join(
            f"{'a call within ' if request.within else ''}{request.name!r} (id {request.id!r})" for request in pending
        )
        again = any(request.within for request in pending)
        super().__init__(
            f"approval is required for {named}; give approver=, or go on with "
            f"runtime.resume(error, {{{pending[0].id!r}: True}}{', approver=...' if again else ''})"
            f"{', which runs that function again from its beginning' if again else ''}"
        )
        self.pending = tuple(pending)


class BudgetExceeded(RunStopped):
    """The budget is spent; the request that would have gone beyond it was not sent.

    Attributes:
        which: The limit: ``"requests"``, ``"input_tokens"``, ``"output_tokens"``, ``"cost"`` or ``"seconds"``.
        limit: What was allowed.
        spent: How far it had come; None where a provider did not say.
    """

    def __init__(self, which: str, limit: float, spent: float | None) -> None:
        if spent is None:
            said = f"the budget limits {which} to {limit:g}, and a reply came without them, so none is sent any more"
            if which == "cost":
                said = (
                    f"the budget limits cost to {limit:g} US dollars, and a reply came without its price, so no other "
                    "request is sent; give Budget(price=...)"
                )
        else:
            said = f"the budget of {limit:g} {_UNITS.get(which, which)} is spent: {spent:.6g} so far"
        super().__init__(said)
        self.which = which
        self.limit = limit
        self.spent = spent


_UNITS = {"cost": "US dollars", "input_tokens": "input tokens", "output_tokens": "output tokens"}


class MaxIterationsError(RunStopped):
    """After the last round that ``max_iterations=`` allows, the model still wants tools; those were not run."""


class RepeatedCallError(RunStopped):
    """The model makes the same call with the same arguments over and over, though it was told."""


class ModelRetry(Exception):  # noqa: N818 - a signal, not a failure of this library
    """Raise it in a tool or a function option to have the model try again: the message is what it is told.

    From a tool it goes back as that call's result. From an option it counts as a reply that did not hold: the model is
    asked again, as often as ``max_retries=`` allows.
    """


_MANY = 50  # comparing costs 2 us a name, so of many only those with the same first letter are compared


def did_you_mean(name: Any, known: Sequence[str], label: str = "known") -> str:
    """The tail of an error about a name: close names if there are any, else what is known."""
    from difflib import get_close_matches  # costs an import that a program without mistakes never needs

    likely = known if len(known) <= _MANY else [k for k in known if k[:1].casefold() == str(name)[:1].casefold()]
    close = get_close_matches(name, likely, n=3, cutoff=0.6) if isinstance(name, str) else []
    if close:
        return "did you mean " + " or ".join(repr(c) for c in close) + "?"
    shown = ", ".join(repr(k) for k in known[:20]) or "none"
    return f"{label}: {shown}" + (f" and {len(known) - 20} more" if len(known) > 20 else "")
