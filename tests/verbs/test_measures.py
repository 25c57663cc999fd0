"""How sure: several measures of one distribution, and thresholds that know which one they mean."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from verbs_kit import runtime

from decidable import SettingError, Threshold, ThresholdMismatchError, judge
from decidable.questions import Choice, ChoiceAnswer, Noul, NoulAnswer, ScoreAnswer, Stated, derived_confidence
from decidable.questions.measures import Measure, ThresholdMismatchWarning, measured

P = {"a": 0.6, "b": 0.3, "c": 0.1}


def test_the_four_measures_of_a_distribution():
    assert measured(P, "top") == 0.6
    assert measured(P, "margin") == pytest.approx(0.3)
    assert measured(P, "typesafe") == pytest.approx((3 * 0.6 - 1) / 2)
    entropy = -sum(p * math.log(p) for p in P.values())
    assert measured(P, "entropy") == pytest.approx(1 - entropy / math.log(3))


def test_a_noul_is_a_distribution_over_yes_and_no():
    assert measured(NoulAnswer(0.2), "top") == 0.8
    assert measured(NoulAnswer(0.2), "margin") == pytest.approx(0.6)
    assert measured(NoulAnswer(0.2), "typesafe") == pytest.approx(0.6)


def test_the_providers_own_number_is_its_own_and_never_a_derived_one():
    answer = ChoiceAnswer("a", P, 0.42)
    assert measured(answer, "reported") == 0.42
    assert measured(answer, "reported", source="derived") is None
    assert measured(NoulAnswer(0.9), "reported") is None
    assert measured(P, "reported") is None


def test_what_has_no_probability_has_no_measure():
    assert all(measured(Stated("a"), name) is None for name in Measure.__args__)


@given(st.lists(st.floats(0.001, 1), min_size=2, max_size=9))
def test_every_measure_is_from_0_to_1_and_1_for_certainty_and_flat_is_least(weights):
    shares = tuple(weight / sum(weights) for weight in weights)
    count = len(shares)
    for name in ("margin", "entropy", "typesafe"):
        assert -1e-9 <= measured(shares, name) <= 1 + 1e-9
        assert measured((1.0, *[0.0] * (count - 1)), name) == pytest.approx(1)
        assert measured((1 / count,) * count, name) == pytest.approx(0, abs=1e-9)
    assert measured(shares, "typesafe") == pytest.approx(derived_confidence(shares))


def test_a_threshold_is_met_from_exactly_its_number_on():
    assert Threshold(0.8).is_met(0.8)
    assert not Threshold(0.8).is_met(0.79999)


@pytest.mark.parametrize(
    ("bound", "used"),
    [
        ({"measure": "margin"}, {"measure": "top"}),
        ({"model": "jev-1.14.0"}, {"model": "jev-1.15.0"}),
        ({"question": Noul("Late?")}, {"question": Noul("Too late?")}),
    ],
)
def test_a_threshold_used_with_another_refuses_or_warns_if_told_to(bound, used):
    with pytest.raises(ThresholdMismatchError, match=next(iter(bound))):
        Threshold(0.8, **bound).is_met(0.9, **used)
    with pytest.warns(ThresholdMismatchWarning, match=next(iter(bound))):
        assert Threshold(0.8, **bound, on_mismatch="warn").is_met(0.9, **used)
    assert Threshold(0.8, **bound).is_met(0.9, **{next(iter(bound)): next(iter(bound.values()))})


def test_a_threshold_of_another_model_or_question_is_refused_by_a_judgement():
    question = Noul("Late?")
    found = judge("A parcel.", {"late": question}, runtime=runtime({"late": 0.9}))
    assert found.is_sure("late", Threshold(0.9, model="m-1", question=question))
    assert not found.is_sure("late", Threshold(0.91))
    with pytest.raises(ThresholdMismatchError, match="model 'm-2', not 'm-1'"):
        found.is_sure("late", Threshold(0.5, model="m-2"))
    with pytest.raises(ThresholdMismatchError, match="question"):
        found.is_sure("late", Threshold(0.5, question=Noul("Early?")))
    with pytest.raises(SettingError, match="did you mean 'late'"):
        found.confidence("lat")


def test_a_judgement_has_every_measure_of_every_answer():
    asked = {"team": Choice("Which?", ["a", "b", "c"]), "late": Noul("Late?")}
    found = judge("A parcel.", asked, runtime=runtime({"team": ("b", 0.6), "late": 0.75}))
    assert found.confidence("team", "top") == 0.6
    assert found.confidence("team", "typesafe") == pytest.approx(0.4)
    assert found.confidence("team", "reported") is None  # it was derived here
    assert found.confidence("late", "margin") == pytest.approx(0.5)


@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan, "0.5", True, None])
def test_a_threshold_is_a_number_from_0_to_1(value):
    with pytest.raises(SettingError, match="from 0 to 1"):
        Threshold(value)


def test_an_unknown_measure_is_refused():
    with pytest.raises(SettingError, match="'top', 'margin'"):
        Threshold(0.5, "certainty")
    with pytest.raises(SettingError, match="'top', 'margin'"):
        measured(P, "certainty")


def test_a_score_is_measured_by_its_levels():
    assert measured(ScoreAnswer(1.0, (0.0, 1.0)), "entropy") == 1
