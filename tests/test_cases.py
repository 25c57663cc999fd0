"""Replies that real models gave, each with where it was met: read at its level, never another pick at any level."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from decidable.attempt import Failure
from decidable.binding import bind
from decidable.menu import Menu
from decidable.options import SchemaOption, ValueOption
from decidable.questions import Choice, ChoiceAnswer, Score, ScoreAnswer, invalid_answers
from decidable.reading import read
from decidable.schema.jsonschema import fields_from_schema

LEVELS = ("none", "syntax", "lossless")
CASES = [
    json.loads(line) for line in (Path(__file__).parent / "cases" / "replies.jsonl").read_text("utf-8").splitlines()
]
TEXT_CASES = [case for case in CASES if case.get("channel") != "decision_model"]
ANSWER_CASES = [case for case in CASES if case.get("channel") == "decision_model"]


def menu_for(case):
    return Menu(
        [
            ValueOption(option["value"], option["description"], name)
            if option["kind"] == "value"
            else SchemaOption({}, option["description"], name, fields_from_schema(option["schema"]))
            for name, option in case["options"].items()
        ]
    )


def outcome(case, level):
    menu = menu_for(case)
    pick = read(case["reply"], menu, stop=case["finish"], repair=level)
    choice = pick if isinstance(pick, Failure) else bind(pick, menu, level)
    if isinstance(choice, Failure):
        return {"error": choice.kind.value}
    return {"call": choice.option.name, "args": dict(choice.arguments)}


def test_the_corpus_is_whole():
    assert len(CASES) >= 69
    assert all(case["source"].startswith("https://") for case in CASES)


@pytest.mark.parametrize("case", TEXT_CASES, ids=lambda case: case["id"])
def test_a_reply_at_its_level(case):
    got = outcome(case, case["repair"])
    assert got == case["expect"] or (case["level"] == "hard" and "error" in got)


@pytest.mark.parametrize("case", TEXT_CASES, ids=lambda case: case["id"])
def test_the_same_reply_at_every_other_level_is_never_another_pick(case):
    for level in LEVELS:
        got = outcome(case, level)
        if "error" in case["expect"] and LEVELS.index(level) <= LEVELS.index(case["repair"]):
            assert "error" in got
        elif "call" in case["expect"]:
            assert "error" in got or got == case["expect"]


@pytest.mark.parametrize("case", ANSWER_CASES, ids=lambda case: case["id"])
def test_a_typed_answer(case):
    said = json.loads(case["reply"])
    if said["type"] == "choice":
        question = Choice("", {name: o["description"] for name, o in case["options"].items()})
        answer = ChoiceAnswer(said["choice"], said["probabilities"])
    else:
        question = Score("", ("low", "high"))
        answer = ScoreAnswer(said["score"], tuple(said["probabilities"].values()))
    assert case["expect"]["error"] == "inconsistent_answer"
    assert invalid_answers({"q": question}, {"q": answer}) is not None
