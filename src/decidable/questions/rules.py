"""From answers to what is done, by a rule that is written down; recomputed at any time without a model.

A rule is a JSON object, and so is the action that it gives. Every threshold that was applied is in the rule.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from decidable.questions.decoding import confidence_of, decode
from decidable.questions.measures import measured
from decidable.questions.types import (
    Answer,
    Choice,
    ChoiceAnswer,
    NoulAnswer,
    Question,
    Refusal,
    ScoreAnswer,
    Stated,
)

__all__ = ["NONE_OF_THESE", "action_of", "averaged", "combined", "item_id", "passes", "value_of"]

NONE_OF_THESE = "none_of_these"
"""The option of a pick that means none."""


def item_id(index: int) -> str:
    """The option that stands for an item."""
    return f"item_{index}"


def action_of(
    rule: Mapping[str, Any] | None, answers: Mapping[str, Answer], questions: Mapping[str, Question]
) -> dict[str, Any] | None:
    """What a rule makes of answers.

    Args:
        rule: E.g. ``{"kind": "ask", "gte": 0.6}``; a receipt holds the one that was applied.
        answers: Question id to answer.
        questions: What was asked.

    Returns:
        E.g. ``{"holds": True}``; None without a rule, or where a question that it needs was refused.
    """
    if rule is None:
        return None
    refused = any(isinstance(answer, Refusal) for answer in answers.values())
    kind = rule["kind"]
    if kind == "decide":
        return _decided(rule, answers, questions)
    if kind == "route":
        return _routed(rule, answers, refused)
    return None if refused else _ACTIONS[kind](rule, answers)


def value_of(answer: Answer) -> float | None:
    """P(yes) of a noul, the score of a score; 1 or 0 of a plain yes or no; None of a choice."""
    if isinstance(answer, NoulAnswer):
        return answer.noul
    if isinstance(answer, ScoreAnswer):
        return answer.score
    if isinstance(answer, Stated) and not isinstance(answer.value, str):
        return float(answer.value)
    return None


def passes(answer: Answer, threshold: float) -> bool:
    """Whether a yes is sure enough; a plain yes, of a model that gives no probability, is taken at its word."""
    value = value_of(answer)
    return value is not None and math.isfinite(value) and value >= threshold


def _judged(_rule: Any, answers: Mapping[str, Answer]) -> dict[str, Any]:
    return {name: decode(answer) for name, answer in answers.items()}


def _picked(rule: Mapping[str, Any], answers: Mapping[str, Answer]) -> dict[str, Any]:
    option = decode(answers["pick"])
    if rule["none"] is not None and option == rule["none"]:
        return {"index": None, "none": True}
    return {"index": rule["options"].index(option), "none": False}


def _routed(rule: Mapping[str, Any], answers: Mapping[str, Answer], refused: bool) -> dict[str, Any] | None:
    unsure = rule["unsure"]
    if refused:
        return None if unsure is None else {"branch": None, "taken": unsure["branch"], "unsure": True}
    branch = decode(answers["branch"])
    if unsure is not None and confidence_of(answers["branch"]) < unsure["gte"]:
        return {"branch": branch, "taken": unsure["branch"], "unsure": True}
    return {"branch": branch, "taken": branch, "unsure": False}


def _sifted(rule: Mapping[str, Any], answers: Mapping[str, Answer]) -> dict[str, Any]:
    keep = rule["keep"]
    if keep is None:
        return {"kept": list(range(rule["items"]))}
    kept = []
    for place in range(rule["items"]):
        answer = answers[f"{place}.{keep['id']}"]
        measure = confidence_of(answer) if keep["measure"] == "confidence" else value_of(answer)
        if measure is not None and math.isfinite(measure) and measure >= keep["gte"]:
            kept.append(place)
    return {"kept": kept}


def _asked(rule: Mapping[str, Any], answers: Mapping[str, Answer]) -> dict[str, Any]:
    return {"holds": passes(answers["holds"], rule["gte"])}


def _verified(rule: Mapping[str, Any], answers: Mapping[str, Answer]) -> dict[str, Any]:
    failed = [name for name, at in rule["thresholds"].items() if at is not None and not passes(answers[name], at)]
    doubted = [name for name in failed if name in rule["present"]]
    unmet = [name for name in failed if name not in rule["present"]]
    return {"accepted": not failed, "doubted": doubted, "unmet": unmet}


def _decided(
    rule: Mapping[str, Any], answers: Mapping[str, Answer], questions: Mapping[str, Question]
) -> dict[str, Any] | None:
    asked = [name for name in answers if name in rule["picks"]]
    given = [answer for name in asked if isinstance(answer := answers[name], ChoiceAnswer)]
    if not given or len(given) < len(asked):
        return None
    if rule["chunks"]:
        return {"winners": [answer.choice for answer in given]}
    options = next(question.criteria for name in asked if isinstance(question := questions[name], Choice))
    shares = averaged([answer.probabilities for answer in given], list(options))
    option = max(shares, key=shares.__getitem__)
    shares = combined(shares, rule["beaten"]) if rule["beaten"] else shares
    unsure = False
    for threshold in rule["thresholds"]:
        of = given[0] if threshold["measure"] == "reported" and len(given) == 1 else shares
        value = measured(of, threshold["measure"])
        unsure = unsure or value is None or value < threshold["at_least"]
    return {"option": option, "unsure": unsure}


_ACTIONS = {"judge": _judged, "pick": _picked, "sift": _sifted, "ask": _asked, "verify": _verified}


def averaged(distributions: Sequence[Mapping[str, float]], options: Sequence[str]) -> dict[str, float]:
    """The mean of several distributions over the same options, in the options' order."""
    if len(distributions) == 1:
        return {name: distributions[0][name] for name in options}
    count = len(distributions)
    return {name: math.fsum(one[name] for one in distributions) / count for name in options}


def combined(final: Mapping[str, float], beaten: Mapping[str, Sequence[Any]]) -> dict[str, float]:
    """The distribution over all options of a tournament.

    An option that lost its round stands to that round's winner as it did there, and the whole adds up to 1. For a model
    whose preferences do not depend on what else is on the menu, that is what one request over all options would give.

    Args:
        final: Winner to probability in the last round.
        beaten: Option to the winner of its round and its share of that winner's probability there.
    """
    whole = {name: final[winner] * ratio for name, (winner, ratio) in beaten.items()}
    total = math.fsum(whole.values())
    return {name: share / total for name, share in whole.items()} if total > 0 else whole
