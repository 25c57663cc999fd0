"""A decision model's answers: what is accepted as reported, what contradicts itself, and what values they make."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decidable.questions import (
    REASONS,
    Choice,
    ChoiceAnswer,
    Noul,
    NoulAnswer,
    Refusal,
    Score,
    ScoreAnswer,
    answer_json,
    answers_of,
    confidence_of,
    decode,
    derived_confidence,
    invalid_answers,
    sidecar_of,
    synthetic_answers,
)

CHOICE = Choice("Secret question?", {"a": None, "b": "secret option"})
NOUL = Noul("Secret question?")
SCORE = Score("Secret question?", ("low", "mid", "high"))


def choice(**changes):
    return {"type": "choice", "choice": "a", "probabilities": {"a": 0.7, "b": 0.3}, "confidence": 0.4, **changes}


def score(**changes):
    return {
        "type": "score",
        "score": 1.25,
        "legend": {"0": "low", "1": "mid", "2": "high"},
        "probabilities": {"0": 0.25, "1": 0.25, "2": 0.5},
        "confidence": 0.25,
        **changes,
    }


def spread(score, values, confidence=None):
    return ScoreAnswer(score, values, confidence)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (CHOICE, ChoiceAnswer("a", {"a": 0.7, "b": 0.3}, 0.4)),
        (CHOICE, ChoiceAnswer("a", {"a": 0.99, "b": 0.02})),
        (CHOICE, ChoiceAnswer("b", {"a": 0.5, "b": 0.5})),
        (CHOICE, Refusal()),
        (NOUL, NoulAnswer(0.0)),
        (NOUL, NoulAnswer(1)),
        (SCORE, ScoreAnswer(1.25, (0.25, 0.25, 0.5))),
    ],
)
def test_accepted_as_it_is(question, answer):
    assert invalid_answers({"q": question}, {"q": answer}) is None
    given = answer_json(answer, question)
    made = answers_of({"q": question}, {"q": given})
    assert made == {"q": answer}


@pytest.mark.parametrize(
    ("question", "answer", "reason"),
    [
        (CHOICE, NoulAnswer(0.5), "answer_type"),
        (NOUL, ChoiceAnswer("a", {"a": 1.0}), "answer_type"),
        (NOUL, NoulAnswer(1.1), "noul_probability"),
        (NOUL, NoulAnswer(math.nan), "noul_probability"),
        (NOUL, NoulAnswer(True), "noul_probability"),
        (NOUL, NoulAnswer("0.5"), "noul_probability"),
        (NOUL, NoulAnswer(10**400), "noul_probability"),
        (CHOICE, ChoiceAnswer("a", {"a": 0.7, "b": 0.3}, 1.5), "confidence"),
        (CHOICE, ChoiceAnswer("a", {"a": 1.0}), "probability_keys"),
        (CHOICE, ChoiceAnswer("a", {"a": 0.5, "b": 0.3, "c": 0.2}), "probability_keys"),
        (CHOICE, ChoiceAnswer("a", {"a": 0.7, "b": 0.2}), "probability_mass"),
        (CHOICE, ChoiceAnswer("a", {"a": 1.2, "b": -0.2}), "probabilities"),
        (CHOICE, ChoiceAnswer("c", {"a": 0.7, "b": 0.3}), "choice_option"),
        (CHOICE, ChoiceAnswer("b", {"a": 0.7, "b": 0.3}), "choice_option"),
        (SCORE, ScoreAnswer(1.0, (0.5, 0.5)), "probability_keys"),
        (SCORE, ScoreAnswer(1.0, (0.5, 0.2, 0.2)), "probability_mass"),
        (SCORE, ScoreAnswer(1.5, (0.25, 0.25, 0.5)), "score_consistency"),
        (SCORE, ScoreAnswer(math.nan, (0.25, 0.25, 0.5)), "score_range"),
        (SCORE, ScoreAnswer(1.25, (0.25, 0.25, 0.5), -0.1), "confidence"),
        (SCORE, ScoreAnswer(10**400, (0.25, 0.25, 0.5)), "score_consistency"),
        (SCORE, ScoreAnswer("1.25", (0.25, 0.25, 0.5)), "score_range"),
        (SCORE, ScoreAnswer(True, (0.0, 1.0, 0.0)), "score_range"),
    ],
)
def test_refused_with_a_reason(question, answer, reason):
    assert invalid_answers({"q": question}, {"q": answer}) == (reason, "q")
    assert reason in REASONS


@pytest.mark.parametrize(
    "answers", [None, {}, {"other": NoulAnswer(0.5)}, {"q": NoulAnswer(0.5), "r": NoulAnswer(0.5)}]
)
def test_the_answers_are_those_to_the_questions(answers):
    assert invalid_answers({"q": NOUL}, answers) == (REASONS[0 if answers is None else 1], None)


EACH_REASON = [
    ("answers_shape", NOUL, None),
    ("answers_shape", NOUL, ["q"]),
    ("answer_keys", NOUL, {}),
    ("answer_keys", NOUL, {"q": {"type": "noul", "noul": 0.5}, "r": {"type": "noul", "noul": 0.5}}),
    ("answer_shape", NOUL, {"q": 0.5}),
    ("answer_type", NOUL, {"q": choice()}),
    ("answer_type", NOUL, {"q": {"type": "boolean", "noul": 0.5}}),
    ("answer_type", NOUL, {"q": {"type": ["noul"], "noul": 0.5}}),
    ("noul_probability", NOUL, {"q": {"type": "noul", "noul": 1.5}}),
    ("noul_probability", NOUL, {"q": {"type": "noul"}}),
    ("confidence", CHOICE, {"q": choice(confidence=1.5)}),
    ("confidence", SCORE, {"q": score(confidence="high")}),
    ("probabilities", CHOICE, {"q": choice(probabilities=None)}),
    ("probabilities", SCORE, {"q": score(probabilities={"0": math.inf, "1": 0.5, "2": 0.5})}),
    ("probability_keys", CHOICE, {"q": choice(probabilities=[0.7, 0.3])}),
    ("probability_keys", CHOICE, {"q": choice(probabilities={"a": 0.7, "B": 0.3})}),
    ("probability_keys", SCORE, {"q": score(probabilities={"1": 0.25, "2": 0.25, "3": 0.5})}),
    ("probability_mass", CHOICE, {"q": choice(probabilities={"a": 0.7, "b": 0.2})}),
    ("score_legend", SCORE, {"q": score(legend={"1": "low", "2": "mid", "3": "high"})}),
    ("score_legend", SCORE, {"q": score(legend={"0": "low", "1": "high", "2": "mid"})}),
    ("score_consistency", SCORE, {"q": score(score=2.0)}),
    ("choice_option", CHOICE, {"q": choice(choice="c")}),
    ("choice_option", CHOICE, {"q": choice(choice=None)}),
    ("score_range", SCORE, {"q": score(score=None)}),
]


@pytest.mark.parametrize(("reason", "question", "answers"), EACH_REASON)
def test_each_reason_fires_on_its_own_and_quotes_nothing(reason, question, answers):
    found = answers_of({"q": question}, answers)
    assert isinstance(found, tuple)
    assert found[0] == reason
    assert "secret" not in repr(found).lower()


def test_all_thirteen_reasons_fire():
    assert {reason for reason, _, _ in EACH_REASON} == set(REASONS)
    assert len(REASONS) == 13


def test_the_first_of_several_reasons_is_named():
    everything = score(confidence=2, probabilities={"0": 0.5}, legend={}, score=9)
    for reason, mend in (
        ("confidence", {"confidence": 0.5}),
        ("probability_keys", {"probabilities": {"0": 0.1, "1": 0.1, "2": 0.1}}),
        ("probability_mass", {"probabilities": {"0": 0.25, "1": 0.25, "2": 0.5}}),
        ("score_legend", {"legend": {"0": "low", "1": "mid", "2": "high"}}),
        ("score_consistency", {"score": 1.25}),
    ):
        assert answers_of({"q": SCORE}, {"q": everything}) == (reason, "q")
        everything |= mend
    assert isinstance(answers_of({"q": SCORE}, {"q": everything}), dict)


@pytest.mark.parametrize(("total", "is_accepted"), [(0.98, True), (1.02, True), (0.979, False), (1.021, False)])
def test_a_sum_may_be_off_by_two_hundredths_and_is_never_rescaled(total, is_accepted):
    answer = ChoiceAnswer("a", {"a": 0.5, "b": round(total - 0.5, 3) if total < 1 else 0.5})
    if total > 1:
        answer = ChoiceAnswer("a", {"a": round(total - 0.5, 3), "b": 0.5})
    invalid = invalid_answers({"q": CHOICE}, {"q": answer})
    assert (invalid is None) == is_accepted
    made = answers_of({"q": CHOICE}, {"q": answer_json(answer, CHOICE)})
    assert made == ({"q": answer} if is_accepted else ("probability_mass", "q"))


def test_ties_and_many_options_printed_in_two_places():
    thirds = Choice("?", ["a", "b", "c"])
    assert invalid_answers({"q": thirds}, {"q": ChoiceAnswer("c", dict.fromkeys("abc", 0.33))}) is None
    eight = Choice("?", list("abcdefgh"))
    shares = dict(zip("abcdefgh", (0.56, 0.1, 0.1, 0.1, 0.05, 0.04, 0.02, 0.02), strict=True))
    assert sum(shares.values()) == pytest.approx(0.99)
    assert invalid_answers({"q": eight}, {"q": ChoiceAnswer("a", shares)}) is None


@pytest.mark.parametrize(("off", "is_accepted"), [(9e-6, True), (-9e-6, True), (1.1e-5, False), (-1.1e-5, False)])
def test_a_score_is_the_weighted_level(off, is_accepted):
    answer = ScoreAnswer(1.25 + off, (0.25, 0.25, 0.5))
    assert (invalid_answers({"q": SCORE}, {"q": answer}) is None) == is_accepted


def test_a_service_that_rounds_may_be_off_by_what_rounding_explains():
    printed = ScoreAnswer(0.97, (0.17, 0.72, 0.11))  # 0.94 from what is printed
    assert invalid_answers({"q": SCORE}, {"q": printed}) == ("score_consistency", "q")
    assert invalid_answers({"q": SCORE}, {"q": printed}, rounded=True) is None
    likeliest = ScoreAnswer(1.0, (0.20000001, 0.699999, 0.10000099))  # a level, not the mean: nothing is rounded here
    assert invalid_answers({"q": SCORE}, {"q": likeliest}, rounded=True) == ("score_consistency", "q")


@given(st.data())
@settings(max_examples=300)
def test_any_distribution_printed_in_two_places_is_accepted(data):
    weights = data.draw(st.lists(st.floats(1e-9, 1), min_size=1, max_size=data.draw(st.sampled_from([3, 10, 60, 255]))))
    total = sum(weights)
    exact = [weight / total for weight in weights]
    printed = [round(p, 2) for p in exact]
    names = [str(n) for n in range(len(printed))]
    best = names[exact.index(max(exact))]
    question = Choice("?", names)
    assert invalid_answers({"q": question}, {"q": ChoiceAnswer(best, dict(zip(names, printed, strict=True)))}) is None
    levels = exact[:10]
    share = sum(levels)
    mean = sum(level * p / share for level, p in enumerate(levels))
    rated = ScoreAnswer(round(mean, 2), tuple(round(p / share, 2) for p in levels))
    rubric = Score("?", tuple(map(str, range(len(levels)))))
    assert invalid_answers({"q": rubric}, {"q": rated}, rounded=True) is None


@given(
    st.lists(st.integers(0, 100), min_size=2, max_size=6).filter(lambda hundredths: abs(sum(hundredths) - 100) > 5),
)
def test_a_sum_that_no_distribution_printed_so_has_is_refused(hundredths):
    names = [str(n) for n in range(len(hundredths))]
    probabilities = {name: n / 100 for name, n in zip(names, hundredths, strict=True)}
    answer = ChoiceAnswer(max(probabilities, key=probabilities.__getitem__), probabilities)
    assert invalid_answers({"q": Choice("?", names)}, {"q": answer}) == ("probability_mass", "q")


@given(st.lists(st.floats(0.01, 1), min_size=3, max_size=8), st.data())
def test_a_choice_that_its_probabilities_contradict_is_refused(weights, data):
    total = sum(weights)
    shares = {str(n): weight / total for n, weight in enumerate(weights)}
    chosen = data.draw(st.sampled_from(sorted(shares)))
    invalid = invalid_answers({"q": Choice("?", list(shares))}, {"q": ChoiceAnswer(chosen, shares)}, rounded=True)
    if max(shares.values()) - shares[chosen] > 0.011:
        assert invalid == ("choice_option", "q")
    elif shares[chosen] == max(shares.values()):
        assert invalid is None


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        (ChoiceAnswer("b", {"a": 0.4, "b": 0.6}), "b"),
        (NoulAnswer(0.5), True),
        (NoulAnswer(0.49999), False),
        (ScoreAnswer(1.6, ()), 2),
        (ScoreAnswer(2.5, ()), 3),
        (ScoreAnswer(0.5, ()), 1),
        (ScoreAnswer(0.4999, ()), 0),
    ],
)
def test_values(answer, value):
    assert decode(answer) == value
    assert type(decode(answer)) is type(value)


def test_a_refusal_has_no_value():
    with pytest.raises(TypeError, match="declined"):
        decode(Refusal())


@pytest.mark.parametrize(
    ("probabilities", "confidence"),
    [
        ((0.8, 0.2), 0.6),
        ((0.17, 0.72, 0.11), 0.58),
        ((0.56, *[0.44 / 7] * 7), 0.497),
        ((0.99, *[0.0025] * 4), 0.9875),
        ((0.91, 0.03, 0.06), 0.865),
        ((0.1, 0.1, 0.8), 0.7),
        ((0.25,) * 4, 0.0),
        ((1.0, 0.0), 1.0),
        ((0.97,), 1.0),
    ],
)
def test_derived_confidence(probabilities, confidence):
    assert derived_confidence(probabilities) == pytest.approx(confidence, abs=2e-4)
    assert derived_confidence(dict(zip("abcdefgh", probabilities, strict=False))) == derived_confidence(probabilities)


@given(st.floats(0, 1))
def test_for_two_options_it_is_the_rule_of_yes_and_no(p):
    assert derived_confidence((p, 1 - p)) == pytest.approx(confidence_of(NoulAnswer(p)), abs=1e-12)


def test_the_sidecar_names_the_weakest_answer():
    answers = {
        "sure": NoulAnswer(0.99),
        "weak": ChoiceAnswer("a", {"a": 0.6, "b": 0.4}, 0.123456),
        "as weak": ScoreAnswer(1.0, (0.0, 1.0), 0.123456),
        "unknown": ChoiceAnswer("a", {"a": 0.6, "b": 0.4}),
        "declined": Refusal(),
    }
    found = sidecar_of(answers)
    assert found.confidence == {"sure": 0.98, "weak": 0.1235, "as weak": 0.1235, "unknown": 0.0}
    assert (found.weakest, found.min_confidence) == ("unknown", 0.0)
    assert "declined" not in found.answers
    del answers["unknown"]
    assert sidecar_of(answers).weakest == "weak"
    empty = sidecar_of({"declined": Refusal()})
    assert (empty.weakest, empty.min_confidence, empty.confidence) == (None, None, {})


def test_synthetic_answers_satisfy_no_gate():
    questions = {"n": NOUL, "c": Choice("?", ["x", "y", "z", "w"]), "s": Score("?", ("a", "b", "c", "d"))}
    answers = synthetic_answers(questions)
    assert answers["n"] == NoulAnswer(0.5)
    assert answers["c"] == ChoiceAnswer("x", dict.fromkeys("xyzw", 0.25), 0.0)
    assert answers["s"] == ScoreAnswer(1.5, (0.25,) * 4, 0.0)
    assert invalid_answers(questions, answers) is None
    assert sidecar_of(answers).min_confidence == 0.0


@pytest.mark.parametrize("name", ["__proto__", "constructor", "0", "a.b", "with spaces", "日本語", "é", "-"])
def test_hostile_names_of_questions_and_options(name):
    questions = {name: Choice("?", {name: None, "other": None})}
    given = {name: {"type": "choice", "choice": name, "probabilities": {name: 0.9, "other": 0.1}}}
    assert answers_of(questions, given) == {name: ChoiceAnswer(name, {name: 0.9, "other": 0.1})}
