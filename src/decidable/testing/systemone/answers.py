"""Made-up answers: numbers that depend on the model, the question and the state, and on nothing else."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import count, islice
from typing import Any

__all__ = [
    "answered",
    "canonical",
    "choice_confidence",
    "distribution",
    "mean",
    "probability",
    "score_confidence",
    "seed_of",
]

_ENCODE = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


def canonical(value: Any) -> bytes:
    """One spelling of a JSON value, whatever the order of its keys and its spaces were."""
    return _ENCODE(value).encode()


def seed_of(model: str, kind: str, instructions: Any, criteria: Any, state: Any) -> bytes:
    """What an answer grows from.

    A question's id is not in it, nor are its neighbours: a name must not move an answer.
    """
    return sha256(canonical([model, kind, instructions, criteria, state])).digest()


def _numbers(seed: bytes) -> Iterator[float]:
    """Numbers in [0, 1), as many as are wanted."""
    for block in count():
        words = sha256(seed + block.to_bytes(8)).digest()
        for start in range(0, len(words), 8):
            # 53 bits are what a float holds: with all 64 it could round up to 1
            yield (int.from_bytes(words[start : start + 8]) >> 11) / 2**53


def probability(seed: bytes) -> float:
    """One probability, in hundredths."""
    return round(next(_numbers(seed)) * 100) / 100


def distribution(seed: bytes, size: int) -> list[float]:
    """Probabilities in hundredths that sum to exactly 1.00.

    What rounding leaves over goes, a hundredth each, to those that lost most by it. So each stays within a hundredth
    of its share, also where there are so many that most of them round to nothing.
    """
    weights = [-math.log(1 - number) for number in islice(_numbers(seed), size)]
    total = sum(weights)
    shares = [100 * weight / total if total else 100 / size for weight in weights]
    counts = [int(share) for share in shares]
    losers = sorted(range(size), key=lambda place: counts[place] - shares[place])
    for place in losers[: 100 - sum(counts)]:
        counts[place] += 1
    return [hundredths / 100 for hundredths in counts]


def choice_confidence(probabilities: Sequence[float]) -> float:
    """How far the largest stands above an even spread: 0 at uniform, 1 at certainty."""
    size = len(probabilities)
    return 1.0 if size == 1 else round(max(0.0, (size * max(probabilities) - 1) / (size - 1)), 2)


def score_confidence(probabilities: Sequence[float]) -> float:
    """How close the levels lie around the most probable one, against an even spread."""
    size = len(probabilities)
    if size == 1:
        return 1.0
    mode = probabilities.index(max(probabilities))
    spread = sum(p * abs(level - mode) for level, p in enumerate(probabilities))
    even = sum(abs(level - (size - 1) / 2) for level in range(size)) / size
    return round(max(0.0, 1 - spread / even), 2)


def answered(model: str, question: Mapping[str, Any], state: Any) -> dict[str, Any]:
    """The answer to one question in the System One spelling, which is known to be sound."""
    kind: str = question["type"]
    criteria: Any = question.get("criteria")
    seed = seed_of(model, kind, question.get("instructions"), criteria, state)
    if kind == "noul":
        return {"type": "noul", "noul": probability(seed)}
    if kind == "choice":
        # by sorted name, so that the order in which options are listed moves none of them
        by_name = dict(zip(sorted(criteria), distribution(seed, len(criteria)), strict=True))
        shares = {option: by_name[option] for option in criteria}
        return {
            "type": "choice",
            "choice": max(shares, key=shares.__getitem__),
            "probabilities": shares,
            "confidence": choice_confidence(list(shares.values())),
        }
    levels = distribution(seed, len(criteria))
    return {
        "type": "score",
        "score": mean(levels),
        "legend": {str(level): text for level, text in enumerate(criteria)},
        "probabilities": {str(level): p for level, p in enumerate(levels)},
        "confidence": score_confidence(levels),
    }


def mean(levels: Sequence[float]) -> float:
    """The weighted mean of levels whose weights are hundredths."""
    return sum(level * round(100 * p) for level, p in enumerate(levels)) / 100
