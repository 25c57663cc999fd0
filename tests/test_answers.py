"""A decision model's answers: what is accepted as reported, and what contradicts itself."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decidable.reading.answers import check_answers
from decidable.typed import (
    ChoiceAnswer,
    ChoiceQuestion,
    NoulAnswer,
    NoulQuestion,
    RefusalAnswer,
    ScoreAnswer,
    ScoreQuestion,
)

CHOICE = ChoiceQuestion("", {"a": None, "b": None})
NOUL = NoulQuestion("")
SCORE = ScoreQuestion("", ("low", "mid", "high"))


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (CHOICE, ChoiceAnswer("a", {"a": 0.7, "b": 0.3}, 0.4)),
        (CHOICE, ChoiceAnswer("a", {"a": 0.99, "b": 0.02})),
        (CHOICE, RefusalAnswer()),
        (NOUL, NoulAnswer(0.0)),
        (NOUL, NoulAnswer(1)),
        (SCORE, ScoreAnswer(1.25, (0.25, 0.25, 0.5))),
    ],
)
def test_accepted_as_it_is(question, answer):
    assert check_answers({"q": question}, {"q": answer}) is None


@pytest.mark.parametrize(
    ("question", "answer", "reason"),
    [
        (CHOICE, NoulAnswer(0.5), "another type"),
        (NOUL, ChoiceAnswer("a", {"a": 1.0}), "another type"),
        (NOUL, NoulAnswer(1.1), "from 0 to 1"),
        (NOUL, NoulAnswer(math.nan), "from 0 to 1"),
        (NOUL, NoulAnswer(True), "from 0 to 1"),
        (NOUL, NoulAnswer("0.5"), "from 0 to 1"),
        (CHOICE, ChoiceAnswer("a", {"a": 0.7, "b": 0.3}, 1.5), "confidence"),
        (CHOICE, ChoiceAnswer("a", {"a": 1.0}), "exactly the options"),
        (CHOICE, ChoiceAnswer("a", {"a": 0.5, "b": 0.3, "c": 0.2}), "exactly the options"),
        (CHOICE, ChoiceAnswer("a", {"a": 0.7, "b": 0.2}), "add up to 1"),
        (CHOICE, ChoiceAnswer("a", {"a": 1.2, "b": -0.2}), "a probability"),
        (CHOICE, ChoiceAnswer("c", {"a": 0.7, "b": 0.3}), "not among the options"),
        (SCORE, ScoreAnswer(1.0, (0.5, 0.5)), "exactly the levels"),
        (SCORE, ScoreAnswer(1.0, (0.5, 0.2, 0.2)), "add up to 1"),
        (SCORE, ScoreAnswer(1.5, (0.25, 0.25, 0.5)), "probability-weighted"),
        (SCORE, ScoreAnswer(math.nan, (0.25, 0.25, 0.5)), "probability-weighted"),
        (SCORE, ScoreAnswer(1.25, (0.25, 0.25, 0.5), -0.1), "confidence"),
        (SCORE, ScoreAnswer(10**400, (0.25, 0.25, 0.5)), "probability-weighted"),
        (SCORE, ScoreAnswer("1.25", (0.25, 0.25, 0.5)), "probability-weighted"),
        (SCORE, ScoreAnswer(True, (0.0, 1.0, 0.0)), "probability-weighted"),
        (NOUL, NoulAnswer(10**400), "from 0 to 1"),
    ],
)
def test_refused_with_a_reason(question, answer, reason):
    failure = check_answers({"q": question}, {"q": answer})
    assert failure.kind == "inconsistent_answer"
    assert reason in failure.message


@pytest.mark.parametrize(
    "answers", [None, {}, {"other": NoulAnswer(0.5)}, {"q": NoulAnswer(0.5), "r": NoulAnswer(0.5)}]
)
def test_the_answers_are_those_to_the_questions(answers):
    assert check_answers({"q": NOUL}, answers) is not None


@given(st.lists(st.integers(0, 100), min_size=2, max_size=2).filter(sum))
def test_a_distribution_of_two_rounded_to_two_places_is_accepted(weights):
    total = sum(weights)
    rounded = {name: round(weight / total, 2) for name, weight in zip("ab", weights, strict=True)}
    assert check_answers({"q": CHOICE}, {"q": ChoiceAnswer("a", rounded)}) is None
