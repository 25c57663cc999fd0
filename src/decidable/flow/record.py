"""`Decision`, the whole record of one decision, and what it is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from decidable.attempt import Attempt, Origin
from decidable.content import Content
from decidable.errors import DecidableError
from decidable.messages import Reply, Usage

__all__ = ["Decision", "Fallback", "FallbackOn", "ToolRun", "Vote", "Votes", "margin_of"]

T_co = TypeVar("T_co", covariant=True)

FallbackOn: TypeAlias = Literal["failure", "exhausted", "unsure", "refusal", "unaskable"]
"""Why the next provider was asked: this one failed (after its retries); it never made a valid pick; it was unsure; it,
or its content policy, declined; it cannot be asked this menu."""


@dataclass(frozen=True, slots=True, eq=False)
class Fallback:
    """A provider that did not decide.

    Attributes:
        provider: Its name.
        reason: Why the next one was asked.
        error: What it ended in.
    """

    provider: str
    reason: FallbackOn
    error: DecidableError


@dataclass(frozen=True, slots=True)
class ToolRun:
    """One tool call of a run, as the model saw it.

    Attributes:
        id: The call's id.
        name: The tool.
        arguments: What the model gave; as text when it was no JSON object.
        result: What went back to the model.
        is_error: Whether that says what went wrong: then the tool failed, or was not run.
    """

    id: str
    name: str
    arguments: Mapping[str, Any] | str
    result: Content
    is_error: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Vote:
    """One sample of a decision.

    Attributes:
        option: The option it picked, or None if it made no valid pick.
        order: Option names in the order in which the model saw them.
        probabilities: Option name to probability in this sample, where it has log-probabilities.
        error: Why it made no pick, or None.
    """

    option: str | None
    order: tuple[str, ...]
    probabilities: Mapping[str, float] | None = None
    error: DecidableError | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Votes:
    """All samples of a decision.

    Attributes:
        samples: In the order in which they were asked for.
        shuffled: Whether the model saw the options in different orders.
    """

    samples: tuple[Vote, ...]
    shuffled: bool

    @property
    def counts(self) -> dict[str, int]:
        """Option name to how many samples picked it, the most first."""
        counts: dict[str, int] = {}
        for vote in self.samples:
            if vote.option is not None:
                counts[vote.option] = counts.get(vote.option, 0) + 1
        return dict(sorted(counts.items(), key=lambda item: -item[1]))

    @property
    def invalid(self) -> int:
        """How many samples made no valid pick."""
        return sum(vote.option is None for vote in self.samples)

    @property
    def flip_rate(self) -> float | None:
        """Share of the valid samples that picked another option than most did, when the order was shuffled.

        0 for a model that ignores the order; (n - 1) / n for one that goes by nothing but the order of n options. A
        model that samples flips by chance too: compare with the same decision unshuffled. None if it was not shuffled,
        or has but one valid sample.
        """
        counts = list(self.counts.values())
        total = sum(counts)
        return 1 - counts[0] / total if self.shuffled and total > 1 else None


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

    @property
    def probability(self) -> float | None:
        """Probability of the option picked, or None."""
        return None if self.probabilities is None else self.probabilities[self.option]

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
