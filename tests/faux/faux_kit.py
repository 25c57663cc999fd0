"""What the tests of the faux decision service share: a request, and what is wrong with an answer to it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from decidable.testing.systemone import (
    FauxSystemOne,
)

STATE = {"ticket": "Charged twice for order 4471.", "tags": ["refund", {"mood": "angry"}]}
QUESTIONS: dict[str, Any] = {
    "refund": {"type": "noul", "instructions": "Is a refund asked for?"},
    "team": {
        "type": "choice",
        "instructions": "Which team?",
        "criteria": {"billing": "Money.", "Tëch": None, "x y": None},
    },
    "anger": {"type": "score", "instructions": "How angry?", "criteria": ["calm", "upset", "furious"]},
}
CROWD = {"type": "choice", "instructions": "Which shelf?", "criteria": {f"Shelf {n}": None for n in range(255)}}
PNG = b"\x89PNG\r\n\x1a\n\r\n--not a boundary\r\n\xff\x00"
JPEG = b"\xff\xd8\xff\r\r\n"
SYSTEMONE = "/v1/systemone"
ROUTER = "/api/v1/systemone"
DANGER = {"TypeSafe-Danger-Zone-Images": "true"}


OPENAI_QUESTIONS = [
    {"type": "predicate", "name": "late", "instructions": "Is it late?"},
    {"type": "choice", "instructions": "Which?", "choices": [{"value": "true"}, {"value": True, "description": "yes"}]},
    {"type": "score", "name": None, "instructions": "How?", "levels": [{"label": "low"}, {"label": "high"}]},
]


def asked(**more: Any) -> dict[str, Any]:
    return {"model": "jev-latest", "state": STATE, "questions": QUESTIONS, **more}


def post(faux: FauxSystemOne, path: str, what: Any, headers: Mapping[str, str] = {}) -> tuple[int, Any]:
    """Status and JSON of an answer."""
    raw = what if isinstance(what, bytes) else json.dumps(what).encode()
    reply = faux.answer("POST", path, headers, raw)
    assert not isinstance(reply, tuple)
    return reply.status, json.loads(reply.body)


def answers(faux: FauxSystemOne, path: str = SYSTEMONE, **more: Any) -> Any:
    code, found = post(faux, path, asked(**more))
    assert code == 200, found
    return found["answers"]


def flaws(question: Mapping[str, Any], answer: Any, *, confident: bool = True) -> list[str]:
    """What is wrong with an answer; written apart from the library's own rules."""
    if not isinstance(answer, dict) or answer.get("type") != question["type"]:
        return ["type"]
    if question["type"] == "noul":
        extra = set(answer) - {"type", "noul"}
        return [*extra, *([] if 0 <= answer["noul"] <= 1 else ["range"])]
    keys = (
        [*question["criteria"]] if question["type"] == "choice" else [str(n) for n in range(len(question["criteria"]))]
    )
    shares = answer["probabilities"]
    found = [] if list(shares) == keys else ["keys"]
    found += [f"{p} is no probability" for p in shares.values() if not (isinstance(p, float) and 0 <= p <= 1)]
    found += [f"{p} has too many places" for p in shares.values() if len(json.dumps(p).partition(".")[2]) > 2]
    if round(sum(round(100 * p) for p in shares.values())) != 100 or round(sum(shares.values()), 2) != 1.0:
        found.append("sum")
    if confident and not 0 <= answer["confidence"] <= 1:
        found.append("confidence")
    if not confident and "confidence" in answer:
        found.append("confidence is there")
    if question["type"] == "choice":
        return found if shares[answer["choice"]] == max(shares.values()) else [*found, "choice"]
    if abs(sum(int(level) * p for level, p in shares.items()) - answer["score"]) > 1e-9:
        found.append("mean")
    if answer["legend"] != dict(zip(keys, question["criteria"], strict=True)):
        found.append("legend")
    return found
