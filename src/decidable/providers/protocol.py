"""`Provider`: answers requests. The one seam between this library and every model."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from decidable.errors import DecisionProviderError
from decidable.messages import Reply, Request

if TYPE_CHECKING:
    from decidable.deltas import Delta
    from decidable.questions.limits import Limits
    from decidable.questions.types import QuestionRequest

__all__ = ["Capabilities", "DecisionProvider", "Patience", "Provider", "StreamingProvider", "SyncProvider"]


@dataclass(frozen=True, slots=True)
class Patience:
    """How long, and how often, a decision provider is asked the same.

    Attributes:
        max_attempts: Times that a request is sent, the first included.
        base_delay_s: Wait before the second, doubled each time; a service that names a time is waited for instead.
        longest_delay_s: The longest wait that the service did not name.
        timeout_s: Seconds for all of it, waits included; None for as long as the caller allows.
    """

    max_attempts: int = 3
    base_delay_s: float = 0.5
    longest_delay_s: float = 5.0
    timeout_s: float | None = 30.0


@dataclass(frozen=True, slots=True, eq=False)
class Capabilities:
    """What a provider can do.

    Attributes:
        chat: Answers a `ChatRequest` with text.
        question_types: Answers a `QuestionRequest` with questions of these types, of ``noul``, ``choice``, ``score``;
            empty when it answers none.
        output_schema: Holds the reply to a JSON Schema by itself.
        images: Takes images in the content.
        remote: Reaches beyond this process, so that tests forbid it. True unless a provider says otherwise.
        limits: What one `QuestionRequest` may hold; None where nothing is known.
        models: The models that a request may name; None if any may be.
        replay: ``"never"`` if a request that may have been answered, and paid, is never sent again; ``"safe"`` if
            asking again costs no more than the tokens.
        patience: How often a request that was not answered is sent again; None leaves it to the runtime's settings.
        experimental_inputs: Inputs that it takes and does not promise to, such as ``"image"``.
        checks: Whether `send` refuses typed questions that it does not take, and checks its answers, so that nobody
            else need.
        min_margin: Below this difference between the two likeliest options, a pick counts as unsure.
        tools: Takes tools, and answers with tool calls.
        forced_tools: Can be made to call a tool, by all of its models.
        streaming: Has `StreamingProvider`'s methods.
        top_logprobs: How many alternatives per token it reports with their log-probabilities; 0 if none.
        person: Is a person, asked by a function of the caller's: `decidable.Person`.
    """

    chat: bool = False
    question_types: frozenset[str] = frozenset()
    output_schema: bool = False
    images: bool = False
    remote: bool = True
    limits: Limits | None = None
    models: tuple[str, ...] | None = None
    replay: Literal["never", "safe"] = "safe"
    patience: Patience | None = None
    experimental_inputs: frozenset[str] = frozenset()
    checks: bool = False
    min_margin: float = 0.0
    tools: bool = False
    forced_tools: bool = False
    streaming: bool = False
    top_logprobs: int = 0
    person: bool = False


@runtime_checkable
class Provider(Protocol):
    """Answers requests.

    Attributes:
        name: Stable id, e.g. ``"local"``; goes into errors, records and traces.
        model: The model it asks when a request names none; None if it has no default.
        capabilities: What it can do.
    """

    @property
    def name(self) -> str: ...  # noqa: D102 - described above

    @property
    def model(self) -> str | None: ...  # noqa: D102 - described above

    @property
    def capabilities(self) -> Capabilities: ...  # noqa: D102 - described above

    def send(self, request: Request, deadline: float | None = None) -> Reply:
        """Answer one request.

        Args:
            request: A kind that the capabilities name.
            deadline: Instant on `time.monotonic`'s clock after which nobody waits for the answer, or None.

        Raises:
            LLMError: It could not answer.
        """

    async def asend(self, request: Request, deadline: float | None = None) -> Reply:
        """Answer one request without blocking the event loop; otherwise as `send`."""

    def close(self) -> None:
        """Release what is held open."""

    async def aclose(self) -> None:
        """Release what is held open, from an event loop."""


@runtime_checkable
class StreamingProvider(Provider, Protocol):
    """A provider whose replies can be had piece by piece; its capabilities say ``streaming``."""

    def stream(self, request: Request, deadline: float | None = None) -> Iterator[Delta | Reply]:
        """The pieces of the reply as they arrive, and at last the whole `Reply`.

        Closing the iterator early gives up the rest of the reply.

        Raises:
            LLMError: It could not answer, or broke off.
        """

    def astream(self, request: Request, deadline: float | None = None) -> AsyncIterator[Delta | Reply]:
        """`stream` without blocking the event loop."""


@runtime_checkable
class DecisionProvider(Provider, Protocol):
    """A provider that answers typed questions; its capabilities name the types, and what one request may hold.

    `send` sends a request once. Whether it is sent again is for the flow to say, by `Capabilities.replay`,
    `Capabilities.patience` and what the `DecisionProviderError` says of itself.
    """

    def check(self, request: QuestionRequest) -> None:
        """Refuse what `send` would refuse before sending anything; does no I/O.

        Raises:
            DecisionProviderError: Of code ``invalid_request``, saying which limit.
        """

    def lost(self, deadline: bool, elapsed_s: float) -> DecisionProviderError:
        """The error for a request that was in flight when nobody waited any more, with its attempt.

        Args:
            deadline: Whether its time was over; else the caller cancelled it.
            elapsed_s: Seconds since it was sent.
        """


class SyncProvider:
    """Base for a provider that only knows `send`: its async side runs `send` in a worker thread."""

    def send(self, request: Request, deadline: float | None = None) -> Reply:
        """As `Provider.send`."""
        raise TypeError(f"{type(self).__name__} does not say how to send")  # pragma: no cover

    async def asend(self, request: Request, deadline: float | None = None) -> Reply:
        """`send` in a worker thread, with the caller's context."""
        import asyncio

        return await asyncio.to_thread(self.send, request, deadline)

    def close(self) -> None:
        """Nothing is held open."""

    async def aclose(self) -> None:
        """Nothing is held open."""
