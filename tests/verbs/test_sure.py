"""`decision.make` that must be sure: thresholds, ways out, orders, rounds, cascades."""

from __future__ import annotations

import asyncio
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from verbs_kit import Model, runtime

from decidable import (
    DecisionProviderError,
    Exit,
    LLMError,
    OptionError,
    Person,
    RefusedError,
    RequestForbiddenError,
    Runtime,
    SettingError,
    Threshold,
    ThresholdMismatchError,
    UnaskableError,
    Unsure,
    UsageError,
    ask,
    async_ask,
    cascade,
    decision,
    dry_run,
    judge,
    outcome_of,
)
from decidable.questions import Choice, ChoiceAnswer, Limits
from decidable.receipts import MemoryReceipts, rederive, use_receipts
from decidable.testing import distribution, pick, scripted


@pytest.fixture(params=["sync", "async"])
def decide(request):
    def run(*args, **more):
        if request.param == "sync":
            return decision.decide(*args, **more)
        return asyncio.run(decision.async_decide(*args, **more))

    return run


def shares(**probabilities):
    """A decision model that always gives these."""
    return scripted(distribution(**probabilities), questions=True)


# --- thresholds ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "sure"),
    [
        ({"threshold": 0.625}, True),
        ({"threshold": 0.63}, False),
        ({"margin": 0.375}, True),
        ({"margin": 0.376}, False),
        ({"threshold": 0.6, "margin": 0.4}, False),
        ({"threshold": Threshold(0.4375, "typesafe")}, True),
        ({"threshold": Threshold(0.44, "typesafe")}, False),
        ({"threshold": Threshold(0.18, "entropy")}, True),
        ({"threshold": Threshold(0.19, "entropy")}, False),
    ],
)
def test_a_pick_is_held_against_what_was_asked_for(decide, more, sure):
    rt = shares(a=0.625, b=0.25, c=0.125)
    if sure:
        assert decide("?", ["a", "b", "c"], runtime=rt, **more).option == "a"
        return
    with pytest.raises(Unsure, match="'a' is the likeliest") as caught:
        decide("?", ["a", "b", "c"], runtime=rt, **more)
    assert (caught.value.option, caught.value.origin) == ("a", "model")
    assert caught.value.value < caught.value.at_least


def test_the_distribution_is_kept_and_every_measure_is_made_of_it(decide):
    made = decide("?", ["a", "b", "c"], runtime=shares(a=0.6, b=0.3, c=0.1), threshold=0.5)
    assert made.probabilities == {"a": 0.6, "b": 0.3, "c": 0.1}
    assert (made.confidence(), made.confidence("margin")) == (0.6, pytest.approx(0.3))
    assert (made.confidence("typesafe"), made.confidence("reported")) == (pytest.approx(0.4), None)
    assert decide("?", ["a"], runtime=scripted(pick("a"))).confidence("entropy") is None


def test_a_providers_own_number_is_measured_under_its_own_name(decide):
    class Reporting(Model):
        def send(self, request, deadline=None):
            from dataclasses import replace

            answer = ChoiceAnswer("a", {"a": 0.9, "b": 0.1}, 0.33)
            return replace(super().send(request), answers={"pick": answer})

    rt = Runtime(Reporting({"pick": "a"}))
    assert decide("?", ["a", "b"], runtime=rt).confidence("reported") == 0.33
    with pytest.raises(Unsure, match=r"reported is 0\.33"):
        decide("?", ["a", "b"], runtime=rt, threshold=Threshold(0.5, "reported"))


def test_below_it_the_unsure_option_of_the_menu_is_taken(decide):
    ran = []
    options = {"refund": lambda: ran.append(1), "review": ("for a person", "A person looks at it.")}
    made = decide("?", options, runtime=shares(refund=0.7, review=0.3), threshold=0.9, unsure="review")
    assert (made.option, made.result, made.unsure_of, ran) == ("review", "for a person", "refund", [])
    assert made.probabilities == {"refund": 0.7, "review": 0.3}
    sure = decide("?", options, runtime=shares(refund=0.95, review=0.05), threshold=0.9, unsure="review")
    assert (sure.option, sure.unsure_of, ran) == ("refund", None, [1])


def test_a_chat_model_needs_samples_or_log_probabilities_for_it(decide):
    with pytest.raises(SettingError, match=r"gives no probability.*samples=5"):
        decide("?", ["a", "b"], runtime=scripted(pick("a")), threshold=0.5)
    rt = scripted(pick("a"), pick("a"), pick("b"))
    assert decide("?", ["a", "b"], runtime=rt, samples=3, threshold=0.6).option == "a"
    with pytest.raises(Unsure) as caught:
        decide("?", ["a", "b"], runtime=scripted(pick("a"), pick("a"), pick("b")), samples=3, threshold=0.7)
    assert caught.value.origin == "votes"
    rt = scripted(distribution(a=0.8, b=0.2))
    assert decide("?", ["a", "b"], runtime=rt, logprobs=True, margin=0.5).origin == "logprobs"


def test_a_threshold_of_another_question_is_refused_before_anything_is_sent(decide):
    rt = runtime({"pick": "a"})
    bound = Threshold(0.5, question=Choice("Which?", ["a", "b"]))
    assert decide("Which?", ["a", "b"], state="s", runtime=rt, threshold=bound).option == "a"
    with pytest.raises(ThresholdMismatchError, match="question"):
        decide("Which?", ["a", "c"], state="s", runtime=rt, threshold=bound)
    assert len(rt.asked.requests) == 1


def test_a_threshold_of_another_model_is_refused_when_that_is_known(decide):
    with pytest.raises(ThresholdMismatchError, match="model 'm-2', not 'm-1'"):
        decide("?", ["a", "b"], runtime=runtime({"pick": "a"}), threshold=Threshold(0.5, model="m-2"))


@pytest.mark.parametrize("value", [1.5, -1, "0.9", True])
def test_a_number_out_of_range_is_refused(decide, value):
    for name in ("threshold", "margin"):
        with pytest.raises(SettingError):
            decide("?", ["a", "b"], runtime=runtime({"pick": "a"}), **{name: value})


# --- ways out -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["none_of_these", "unsure", "ask_someone"])
def test_a_way_out_is_an_option_and_an_outcome_of_its_own(decide, way):
    rt = runtime({"pick": way})
    made = decide("?", {"a": 1}, runtime=rt, **{way: True})
    assert (made.option, made.result, made.unsure_of) == (way, Exit(way), None)
    assert list(rt.asked.requests[0].questions["pick"].criteria) == ["a", way]
    assert rt.asked.requests[0].questions["pick"].criteria[way]
    assert decide("?", {"a": 1}, runtime=rt, **{way: lambda: "mine"}).result == "mine"
    assert decide("?", {"a": 1}, runtime=rt, **{way: (7, "Words of my own.")}).result == 7
    assert rt.asked.requests[-1].questions["pick"].criteria[way] == "Words of my own."


def test_ways_out_work_on_a_chat_model_too(decide):
    assert (
        decide("?", {"a": 1}, runtime=scripted(pick("none_of_these")), none_of_these=True).result is Exit.NONE_OF_THESE
    )


def test_low_confidence_goes_to_a_way_out_that_was_asked_too(decide):
    made = decide("?", {"a": 1}, runtime=shares(a=0.6, unsure=0.4), unsure=True, threshold=0.9)
    assert (made.result, made.unsure_of) == (Exit.UNSURE, "a")


@pytest.mark.parametrize(
    ("more", "error", "match"),
    [
        ({"unsure": "b"}, SettingError, "the options are: 'a'"),
        ({"unsure": lambda x: x}, SettingError, "needs x"),
        ({"none_of_these": True}, OptionError, "has one already"),
    ],
)
def test_a_way_out_that_is_none_is_refused(decide, more, error, match):
    options = {"a": 1} if "unsure" in more else {"a": 1, "none_of_these": 2}
    with pytest.raises(error, match=match):
        decide("?", options, runtime=runtime({"pick": "a"}), **more)


def test_a_refusal_is_final_and_no_low_confidence(decide):
    rt = Runtime([Model({"pick": "refused"}), Model({"pick": "a"})])
    with pytest.raises(RefusedError):
        decide("?", ["a", "b"], runtime=rt, threshold=0.5, unsure="b")


# --- orders -------------------------------------------------------------------------------------------------------


def by_place(key, question, request):
    """A model that goes by nothing but the place of an option."""
    return (next(iter(question.criteria)), 0.7)


def test_orders_are_one_request_whose_mean_is_flat_for_a_bias_for_the_first_place(decide):
    rt = runtime(by_place)
    made = decide("?", ["a", "b", "c", "d"], runtime=rt, orders=4)
    assert len(rt.asked.requests) == made.requests == 1
    assert list(made.probabilities.values()) == pytest.approx([0.25] * 4)
    assert made.votes.flip_rate == 0.75
    assert {vote.order[0] for vote in made.votes.samples} == {"a", "b", "c", "d"}


@given(st.integers(2, 7), st.integers(1, 3))
@settings(max_examples=20, deadline=None)
def test_any_whole_number_of_turns_is_flat(count, turns):
    names = [f"o{n}" for n in range(count)]
    made = decision.decide("?", names, runtime=runtime(by_place), orders=count * turns)
    assert list(made.probabilities.values()) == pytest.approx([1 / count] * count)
    assert made.votes.flip_rate == pytest.approx(1 - 1 / count)


def test_a_model_that_ignores_the_order_flips_never(decide):
    made = decide("?", ["a", "b", "c"], runtime=runtime(lambda *_: ("b", 0.8)), orders=5)
    assert (made.option, made.votes.flip_rate, made.probability) == ("b", 0, pytest.approx(0.8))


def test_arguments_are_asked_once_however_many_orders(decide):
    def refund(urgent: bool) -> bool:
        """Give money back."""
        return urgent

    rt = runtime(lambda key, q, request: ("refund", 0.9) if key.startswith("pick#") or key == "pick" else 0.9)
    assert decide("?", {"refund": refund, "no": None}, runtime=rt, orders=3).result is True
    assert list(rt.asked.requests[0].questions) == ["pick", "pick#1", "pick#2", "pick:refund:urgent"]


def test_a_chat_model_is_asked_once_for_each_order(decide):
    made = decide("?", ["a", "b"], runtime=scripted(*[pick("a")] * 4), orders=4)
    assert (made.requests, made.origin, made.votes.shuffled) == (4, "votes", True)


@pytest.mark.parametrize("value", [0, -1, 1.5, "2", True])
def test_orders_counts_orders(decide, value):
    with pytest.raises(SettingError, match="orders counts orders"):
        decide("?", ["a", "b"], runtime=runtime({"pick": "a"}), orders=value)


# --- rounds -------------------------------------------------------------------------------------------------------


def of_weights(weights):
    """A consistent model: the odds of two options do not depend on what else is asked."""

    def say(request):
        answers = {}
        for key, question in request.questions.items():
            total = sum(weights[name] for name in question.criteria)
            odds = {name: weights[name] / total for name in question.criteria}
            answers[key] = ChoiceAnswer(max(odds, key=odds.__getitem__), odds)
        return answers

    return say


class Consistent(Model):
    def __init__(self, weights, most):
        super().__init__({}, limits=Limits(choice_options=(1, most)))
        self.odds = of_weights(weights)

    def send(self, request, deadline=None):
        from decidable import Reply

        self.requests.append(request)
        return Reply(answers=self.odds(request), model="m-1", cost=0.001)


@given(st.integers(2, 60), st.integers(2, 9), st.integers(0, 1000))
@settings(max_examples=60, deadline=None)
def test_a_tournament_picks_what_one_request_would_with_the_same_odds(count, most, seed):
    chance = random.Random(seed)
    weights = {f"o{n}": chance.uniform(0.1, 5) for n in range(count)}
    whole = decision.decide("?", list(weights), runtime=Runtime(Consistent(weights, 1000)))
    model = Consistent(weights, most)
    made = decision.decide("?", list(weights), runtime=Runtime(model))
    assert made.option == whole.option
    assert made.probabilities == pytest.approx(whole.probabilities)
    for request in model.requests:
        assert all(len(question.criteria) <= most for question in request.questions.values())
    if count > most:
        assert made.requests == len(model.requests) > 1
        assert made.cost == pytest.approx(0.001 * made.requests)


@pytest.mark.parametrize("most", [255, 208, 26])
def test_a_menu_past_a_models_limit_is_one_result(decide, most):
    names = [f"o{n}" for n in range(most + 1)]
    weights = {name: 1 + (name == "o7") for name in names}
    made = decide("?", names, runtime=Runtime(Consistent(weights, most)))
    assert (made.option, made.requests, len(made.probabilities)) == ("o7", 2, most + 1)
    assert sum(made.probabilities.values()) == pytest.approx(1)


def test_only_the_finalists_fields_are_asked(decide):
    def act(urgent: bool) -> bool:
        """Act."""
        return urgent

    model = Model(
        lambda key, q, request: 0.9 if key.startswith("pick:") else next(iter(q.criteria)),
        limits=Limits(choice_options=(1, 2)),
    )
    assert decide("?", {f"o{n}": act for n in range(4)}, runtime=Runtime(model)).result is True
    assert [sorted(one.questions) for one in model.requests] == [
        ["pick/0", "pick/1"],
        ["pick", "pick:o0:urgent", "pick:o2:urgent"],
    ]


def test_each_round_has_a_receipt_and_a_tournament_is_replayed_whole(decide):
    weights = {f"o{n}": n + 1.0 for n in range(30)}
    model, store = Consistent(weights, 5), MemoryReceipts()
    for _ in range(2):
        with use_receipts(store):
            made = decide("?", list(weights), runtime=Runtime(model), threshold=0.01)
    assert (made.option, made.requests, made.cost, made.replayed) == ("o29", 0, 0, True)
    assert len(model.requests) == len(store.all()) == 3
    assert [one.request["index"] for one in store.all()] == [0, 1, 2]
    assert all(rederive(one) == one.action for one in store.all())
    assert store.all()[-1].action == {"option": "o29", "unsure": False}


def test_orders_and_rounds_together_are_refused(decide):
    with pytest.raises(UnaskableError, match="leave orders= out"):
        decide("?", list("abcdef"), runtime=Runtime(Consistent(dict.fromkeys("abcdef", 1), 3)), orders=2)


# --- cascades -----------------------------------------------------------------------------------------------------


def test_a_confident_pick_stops_early(decide):
    small, big = shares(a=0.95, b=0.05), scripted(pick("b"))
    made = decide("?", ["a", "b"], runtime=cascade([small.provider, big.provider], threshold=0.9))
    assert (made.option, made.provider, made.requests, len(big.requests)) == ("a", "scripted", 1, 0)


def test_the_record_says_who_decided_at_what_price_on_which_request(decide):
    small, big = (
        Model({"pick": ("a", 0.6)}, name="small", cost=0.001),
        Model({"pick": ("b", 0.99)}, name="big", cost=0.02),
    )
    made = decide("?", ["a", "b"], runtime=cascade([small, big, Person(lambda question: "a")], threshold=0.9))
    assert (made.option, made.provider, made.request_id, made.cost) == ("b", "big", "r1", pytest.approx(0.021))
    assert [(one.provider, one.requests, one.cost) for one in made.spent] == [("small", 1, 0.001), ("big", 1, 0.02)]
    (fallback,) = made.fallbacks
    assert (fallback.provider, fallback.reason, fallback.error.probabilities["a"]) == ("small", "unsure", 0.6)


def test_a_person_decides_last_and_is_asked_what_the_models_were(decide):
    asked = []

    def somebody(question):
        asked.append(question)
        return "b"

    rt = cascade([shares(a=0.5, b=0.5).provider, Person(somebody, "ada")], threshold=0.9)
    made = decide("Which?", {"a": (1, "One."), "b": (2, "Two.")}, state={"x": 1}, runtime=rt)
    assert (made.result, made.provider, made.origin) == (2, "ada", "none")
    assert (asked[0].prompt, asked[0].state, asked[0].options) == ("Which?", {"x": 1}, {"a": "One.", "b": "Two."})


def test_a_person_may_give_arguments_or_not_decide_or_be_wrong(decide):
    def refund(order: str) -> str:
        """Give money back."""
        return order

    assert decide("?", [refund], runtime=Runtime(Person(lambda _: ("refund", {"order": "A"})))).result == "A"
    with pytest.raises(RefusedError, match="person did not decide"):
        decide("?", ["a"], runtime=Runtime(Person(lambda _: None)))
    with pytest.raises(ValueError, match="not on the menu"):
        decide("?", ["a"], runtime=Runtime(Person(lambda _: "c")))


def test_an_async_person_is_awaited_and_answers_questions_too():
    async def somebody(question):
        return "yes"

    answer = asyncio.run(async_ask("Late?", "s", runtime=Runtime(Person(somebody))))
    assert (answer.holds, answer.p_yes) == (True, None)
    found = judge("s", {"team": Choice("Who?", ["a", "b"])}, runtime=Runtime(Person(lambda question: "b")))
    assert (found.values, found.provider, found.origin) == ({"team": "b"}, "person", "none")
    assert outcome_of(ask, "Late?", "s", runtime=Runtime(Person(lambda _: None))).kind == "decision_refused"


def test_a_step_has_a_threshold_of_its_own_and_the_last_none(decide):
    first, second = shares(a=0.6, b=0.4).provider, shares(a=0.6, b=0.4).provider
    made = decide("?", ["a", "b"], runtime=cascade([(first, 0.5), second], threshold=0.9))
    assert len(made.spent) == 1
    made = decide(
        "?", ["a", "b"], runtime=cascade([shares(a=0.6, b=0.4).provider, shares(a=0.6, b=0.4).provider], threshold=0.9)
    )
    assert (made.option, len(made.spent)) == ("a", 2)
    rt = cascade([shares(a=0.6, b=0.4).provider, (shares(a=0.7, b=0.3).provider, 0.9)], threshold=0.9)
    with pytest.raises(Unsure) as caught:
        decide("?", ["a", "b"], runtime=rt)
    assert [one.reason for one in caught.value.fallbacks] == ["unsure"]
    rt = cascade([shares(a=0.6, b=0.4).provider, (shares(a=0.7, b=0.3).provider, 0.9)], threshold=0.9)
    made = decide("?", ["a", "b"], runtime=rt, unsure="b")
    assert (made.option, made.unsure_of, [one.reason for one in made.fallbacks]) == ("b", "a", ["unsure"])


def test_an_outage_goes_on_and_a_refusal_does_not(decide):
    def down(number, request):
        raise DecisionProviderError("down", code="connection")

    last = Model({"pick": "b"})
    assert decide("?", ["a", "b"], runtime=cascade([Model({}, fail=down), last], threshold=0.5)).option == "b"
    with pytest.raises(RefusedError):
        decide("?", ["a", "b"], runtime=cascade([Model({"pick": "refused"}), last], threshold=0.5))
    assert len(last.requests) == 1


def test_a_model_without_probabilities_in_the_middle_is_a_mistake_and_not_passed_over(decide):
    rt = cascade([shares(a=0.5, b=0.5).provider, scripted(pick("a")).provider, Person(lambda _: "b")], threshold=0.9)
    with pytest.raises(SettingError, match="put it last in a cascade"):
        decide("?", ["a", "b"], runtime=rt)


@pytest.mark.parametrize(
    ("steps", "more"), [([], {}), (["local"], {"threshold": 0.5}), ([1, 2], {}), ("local", {"threshold": 0.5})]
)
def test_what_is_no_cascade_is_refused(steps, more):
    with pytest.raises(UsageError):
        cascade(steps, **more)


@given(st.lists(st.tuples(st.sampled_from(["sure", "unsure", "down"]), st.floats(0.5, 1)), min_size=2, max_size=6))
@settings(max_examples=60, deadline=None)
def test_a_cascade_never_costs_more_requests_than_its_length(steps):
    def model(how, p):
        if how == "down":
            return Model({}, fail=lambda *_: (_ for _ in ()).throw(LLMError("down", reason="invalid")))
        return Model({"pick": ("a", p if how == "sure" else 0.5)})

    models = [model(how, p) for how, p in steps]
    try:
        made = decision.decide("?", ["a", "b"], runtime=cascade(models, threshold=0.9))
    except LLMError:
        made = None
    assert all(len(one.requests) <= 1 for one in models)
    asked = [one for one in models if one.requests]
    assert asked == models[: len(asked)]
    if made is not None:
        assert made.requests <= len(models)
        assert made.probability >= 0.9 or len(asked) == len(models)


# --- dry runs -----------------------------------------------------------------------------------------------------


def test_a_dry_run_of_a_decision_runs_nothing_and_is_unsure(decide):
    ran, rt = [], runtime({"pick": "a"})
    with dry_run() as would:
        made = decide("?", {"a": lambda: ran.append(1), "b": 2}, runtime=rt)
        assert (made.option, made.result, ran) == ("a", None, [])
        assert decide("?", {"a": lambda: 1, "b": 2}, runtime=rt, threshold=0.6, unsure="b").result == 2
        with pytest.raises(Unsure):
            decide("?", ["a", "b"], runtime=rt, margin=0.1)
        assert decide("?", ["a", "b"], runtime=scripted()).option == "a"
        with pytest.raises(RequestForbiddenError, match="dry run"):
            scripted("text").exec("Write.")
    assert [one.kind for one in would.requests] == ["decide"] * 4
    assert not rt.asked.requests
