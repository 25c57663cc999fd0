"""`cascade`: small, big, a person; the first that is sure enough decides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from decidable.errors import SettingError
from decidable.flow.gates import thresholds_of
from decidable.questions.measures import Threshold
from decidable.runtimes import Runtime

__all__ = ["cascade"]


def cascade(
    steps: Sequence[Any], *, threshold: float | Threshold | None = None, margin: float | None = None, **settings: Any
) -> Runtime:
    """A runtime whose providers are asked one after the other, until one is sure enough.

    A step that is not sure, fails, or makes no valid pick is followed by the next; one that declines is not: a refusal
    is final. The last step decides for whoever comes to it, unless it has a threshold of its own.

    Args:
        steps: In order: providers in any form that `Runtime` takes, or a `decidable.Person`. A pair ``(provider,
            threshold)`` has a threshold of its own; None for none.
        threshold: How sure a step must be: the least probability of its pick, or a `decidable.Threshold`.
        margin: How far ahead its pick must be.
        settings: As of `Runtime`.

    Raises:
        SettingError: There are no two steps, or nothing says how sure the first must be.

    Example:
        >>> from decidable import Person, decision
        >>> from decidable.testing import distribution, scripted
        >>> small = scripted(distribution(refund=0.55, close=0.45), questions=True).provider
        >>> big = scripted(distribution(refund=0.97, close=0.03), questions=True).provider
        >>> rt = cascade([small, big, Person(lambda question: "close")], threshold=0.9)
        >>> made = decision.decide("The mug broke.", ["refund", "close"], runtime=rt)
        >>> made.option, made.requests, [one.reason for one in made.fallbacks]
        ('refund', 2, ['unsure'])
    """
    if not isinstance(steps, (list, tuple)) or len(steps) < 2:
        raise SettingError("a cascade has two steps or more, in a list")
    shared = thresholds_of(threshold, margin)
    providers, gates = [], []
    for place, step in enumerate(steps):
        own: tuple[Threshold, ...] | None = shared if place < len(steps) - 1 else None
        if isinstance(step, tuple):
            step, limit = step  # noqa: PLW2901 - the pair in it
            own = None if limit is None else thresholds_of(limit, None)
        providers.append(step)
        gates.append(own)
    if gates[0] == ():
        raise SettingError(
            "a cascade needs threshold= or margin=, or (provider, threshold): else the first step decides"
        )
    runtime = Runtime(providers, **{"fallback_on": ("failure", "exhausted", "unsure"), **settings})
    runtime.gates = [gate or None for gate in gates]
    return runtime
