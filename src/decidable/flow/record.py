"""`Decision`, the whole record of one decision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar

from decidable.attempt import Attempt, Origin
from decidable.messages import Reply, Usage

if TYPE_CHECKING:
    from decidable.flow.ask import Call
    from decidable.flow.record_parts import Fallback, Spent, Votes
    from decidable.questions.measures import Measure
    from decidable.tools import ToolRun

__all__ = ["Decision", "FallbackOn", "margin_of"]

T_co = TypeVar("T_co", covariant=True)

FallbackOn: TypeAlias = Literal["failure", "exhausted", "unsure", "refusal", "unaskable"]
"""Why the next provider was asked: this one failed (after its retries); it never made a valid pick; it was unsure; it,
or its content policy, declined; it cannot be asked this menu."""


@dataclass(frozen=True, slots=True, eq=False)
class Decision(Generic[T_co]):
    """The whole record of one decision.

    Attributes:
        option: Name of the option picked.
        args: What the model filled in, checked and parsed.
        result: What the option resolved to: the function's return value, the value, or the payload.
        attempts: Replies that did not hold, before the one that did.
        repairs: What was mended to read the reply, in order; empty when nothing was.
        reply: The reply that held; with several samples, the first that picked this option.
        provider: Who answered.
        model: The model that answered, if known.
        requests: How many replies it took, re-asks, samples and other providers' included.
        usage: Tokens of all of them, or None if unknown.
        cost: US dollars of all of them, or None if unknown.
        probabilities: Option name to probability, or None if the model gives none.
        origin: Where the probabilities come from: ``"model"``, ``"logprobs"``, ``"votes"`` or ``"none"``. Numbers of
            different origins are not comparable.
        calibrated: Whether the provider claims that they are calibrated; if not, they only rank.
        votes: The samples, when several were asked for; else None.
        fallbacks: Providers that were asked before and did not decide, and why.
        tool_runs: The tools that ran before it, in order, with what they gave back.
        filled_by: The provider that filled the arguments, where a decision model picked an option that it could not
            fill; else None.
        unsure_of: The option that the model picked, where it was not sure enough and the one of ``unsure=`` was taken;
            else None.
        calls: How each provider was asked; `spent` says what it cost.
    """

    option: str
    args: Mapping[str, Any]
    result: T_co
    attempts: tuple[Attempt, ...]
    repairs: tuple[str, ...]
    reply: Reply
    provider: str
    model: str | None
    requests: int = 1
    usage: Usage | None = None
    cost: float | None = None
    probabilities: Mapping[str, float] | None = None
    origin: Origin = "none"
    calibrated: bool = False
    votes: Votes | None = None
    fallbacks: tuple[Fallback, ...] = ()
    tool_runs: tuple[ToolRun, ...] = ()
    filled_by: str | None = None
    unsure_of: str | None = None
    calls: tuple[Call, ...] = field(default=(), repr=False)

    @property
    def probability(self) -> float | None:
        """Probability of the option picked, or None."""
        return None if self.probabilities is None else self.probabilities[self.option]

    @property
    def request_id(self) -> str | None:
        """The provider's own id of the request that decided, or None."""
        return self.reply.request_id

    @property
    def receipt_id(self) -> str | None:
        """Id of the receipt of the request that decided, where one is kept."""
        return None if self.reply.provenance is None else self.reply.provenance.receipt_id

    @property
    def replayed(self) -> bool:
        """Whether the pick was read from a receipt, and nobody was asked."""
        return self.reply.provenance is not None and self.reply.provenance.replayed

    @property
    def spent(self) -> tuple[Spent, ...]:
        """Each provider that was asked, in order, and what it cost; the last one decided, or filled the arguments."""
        from decidable.flow.record_parts import Spent  # few look at it

        return tuple(Spent(call.provider.name, call.requests, call.usage, call.cost) for call in self.calls)

    def confidence(self, measure: Measure = "top") -> float | None:
        """How sure the pick is; None where nobody knows.

        Args:
            measure: Which number: ``"top"``, ``"margin"``, ``"entropy"``, ``"typesafe"``, or the provider's own,
                ``"reported"``. They are not comparable with one another.
        """
        from decidable.flow.gates import reported_in  # as above
        from decidable.questions.measures import measured

        if measure == "reported":
            return reported_in(self.reply)
        return None if self.probabilities is None else measured(self.probabilities, measure)

    @property
    def margin(self) -> float | None:
        """Probability of the likeliest option minus that of the second; None without probabilities."""
        if self.probabilities is None:
            return None
        return margin_of(self.probabilities)


def margin_of(probabilities: Mapping[str, float]) -> float:
    """The largest probability minus the second largest; 1 when there is only one."""
    ranked = sorted(probabilities.values(), reverse=True)
    return ranked[0] - ranked[1] if len(ranked) > 1 else 1.0
