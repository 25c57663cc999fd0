"""What a decision's record holds where it took more than one provider or sample. Imported where one is met."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from decidable.errors import DecidableError
from decidable.flow.record import FallbackOn
from decidable.messages import Usage

__all__ = ["Fallback", "Spent", "Vote", "Votes"]


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
class Spent:
    """What one provider took for a decision.

    Attributes:
        provider: Its name.
        requests: Replies, re-asks and samples included.
        usage: Their tokens, or None if unknown.
        cost: US dollars, or None if unknown.
    """

    provider: str
    requests: int
    usage: Usage | None
    cost: float | None


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
