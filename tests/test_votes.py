"""Probabilities for models that give none: samples, orders, letters."""

from __future__ import annotations

import asyncio
import math
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decidable import DecisionError, LLMError, SettingError, UnaskableError, Unsure, Usage, decision, trace
from decidable.flow.votes import orders
from decidable.menu import menu_of
from decidable.messages import Reply
from decidable.runtimes import Runtime
from decidable.testing import pick, scripted
from decidable.tools import Token

ABC = ["a", "b", "c"]


def refund(order: str, amount: float = 1.0) -> tuple[str, float]:
    """Give money back."""
    return (order, amount)


def names_shown(request) -> list[str]:
    menu = request.messages[0].content.partition("Menu:\n\n")[2]
    return [line.split("(")[0] for line in menu.split("\n") if line.endswith("()")]


def takes_the_first(request) -> str:
    return f'{{"call": "{names_shown(request)[0]}"}}'


# --- votes ------------------------------------------------------------------------------------------------------------


def test_most_votes_win_and_their_shares_are_the_probabilities(both):
    steps = [pick(name) for name in ("a", "b", "b", "c", "b")]
    with scripted(*steps) as rt:
        made = both.decide("Next?", ABC, runtime=rt, samples=5)
    assert (made.option, made.result, made.origin, made.calibrated) == ("b", "b", "votes", False)
    assert made.probabilities == {"b": 0.6, "a": 0.2, "c": 0.2}
    assert (made.probability, made.margin) == (0.6, pytest.approx(0.4))
    assert made.votes.counts == {"b": 3, "a": 1, "c": 1}
    assert [vote.option for vote in made.votes.samples] == ["a", "b", "b", "c", "b"]
    assert (made.votes.invalid, made.votes.flip_rate, made.requests) == (0, None, 5)


def test_a_tie_goes_to_the_option_that_was_voted_for_first():
    with scripted(pick("c"), pick("a"), pick("a"), pick("c")) as rt:
        made = decision.decide("Next?", ABC, runtime=rt, samples=4)
    assert (made.option, made.margin) == ("c", 0.0)


def test_the_function_runs_once_with_the_arguments_that_most_votes_give():
    ran = []

    def pay(to: str, cents: int) -> str:
        ran.append((to, cents))
        return to

    steps = [pick("pay", to="A", cents=1), pick("pay", to="B", cents=2), pick("pay", to="B", cents=2), pick("wait")]
    with scripted(*steps) as rt:
        assert decision.make("Next?", {"pay": pay, "wait": 0}, runtime=rt, samples=4) == "B"
    assert ran == [("B", 2)]


def test_each_sample_asks_again_on_its_own_and_invalid_ones_do_not_count(both):
    with scripted("nothing", pick("a"), "still", "nothing", pick("b"), pick("a")) as rt:
        made = decision.decide("Next?", ABC, runtime=rt, samples=4)
    assert (made.option, made.requests) == ("a", 6)
    assert made.probabilities == {"a": pytest.approx(2 / 3), "b": pytest.approx(1 / 3), "c": 0.0}
    assert [vote.option for vote in made.votes.samples] == ["a", None, "b", "a"]
    assert made.votes.samples[1].error.kind == "no_action"
    assert made.votes.invalid == 1
    assert [attempt.kind for attempt in made.attempts] == ["no_action"]


def test_paid_samples_are_not_lost_with_one_that_failed():
    with scripted(pick("a"), pick("a"), LLMError("down", reason="auth")) as rt:
        made = decision.decide("Next?", ABC, runtime=rt, samples=20)
    assert (made.option, made.probability, made.votes.invalid, made.requests) == ("a", 1.0, 18, 2)


def test_once_the_provider_failed_no_other_sample_is_begun(both):
    asked = []

    def down(request):
        asked.append(request)
        raise LLMError("busy", reason="rate_limit")

    from decidable.flow.run import Host

    async def no_sleep(seconds):
        pass

    host = Host(sleep=lambda seconds: None, sleep_async=no_sleep)
    rt = scripted(*[down] * 200, max_retries=2, host=host)
    with pytest.raises(LLMError, match="busy"):
        both.make("Next?", ABC, runtime=rt, samples=40)
    assert len(asked) == 3  # one sample's request and its two retries


def test_each_sample_has_a_seed_of_its_own(both):
    with scripted(*[pick("a")] * 3, sampling={"seed": 7}) as rt:
        both.make("Next?", ABC, runtime=rt, samples=3)
    assert sorted(seen.request.sampling.seed for seen in rt.requests) == [7, 8, 9]


def test_when_no_sample_holds_the_models_failure_is_raised_before_the_connections(both):
    with scripted("no", "no", LLMError("down", reason="auth")) as rt, pytest.raises(DecisionError) as caught:
        both.make("Next?", ABC, runtime=rt, samples=2)
    assert caught.value.__notes__ == ["none of 2 samples made a valid pick"]
    with scripted(LLMError("down", reason="auth")) as rt, pytest.raises(LLMError, match="down"):
        both.make("Next?", ABC, runtime=rt, samples=1, shuffle=True)


def test_a_mistake_in_the_program_is_no_vote(both):
    with scripted(pick("a"), TypeError("boom")) as rt, pytest.raises(TypeError, match="boom"):
        both.make("Next?", ABC, runtime=rt, samples=2)


def test_usage_and_cost_are_those_of_all_samples():
    def paid(option):
        return Reply(f'{{"call": "{option}"}}', "stop", usage=Usage(10, 2), cost=0.5)

    with scripted(paid("a"), paid("a"), paid("b")) as rt:
        made = decision.decide("Next?", ABC, runtime=rt, samples=3)
    assert (made.usage, made.cost) == (Usage(30, 6), 1.5)


@pytest.mark.parametrize("via", ["menu", "tools", "schema"])
def test_votes_are_cast_in_every_way_of_asking(both, via):
    with scripted(pick("refund", order="A"), pick("close"), pick("refund", order="A")) as rt:
        made = both.decide("?", {"refund": refund, "close": 0}, runtime=rt, samples=3, via=via)
    assert made.result == ("A", 1.0)


def test_async_samples_are_asked_for_at_the_same_time():
    inside, most = [0], [0]
    gate = asyncio.Semaphore(0)

    async def model(content):
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        if inside[0] == 8:
            for _ in range(8):
                gate.release()
        async with gate:
            inside[0] -= 1
        return '{"call": "a"}'

    made = asyncio.run(decision.async_decide("?", ABC, runtime=Runtime(model), samples=8, timeout_s=5))
    assert (made.probability, most[0]) == (1.0, 8)


def test_at_most_sixteen_are_under_way():
    inside, most = [0], [0]

    async def model(content):
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        await asyncio.sleep(0.001)
        inside[0] -= 1
        return '{"call": "a"}'

    asyncio.run(decision.async_make("?", ABC, runtime=Runtime(model), samples=60))
    assert most[0] == 16


def test_cancelling_leaves_no_task_behind():
    async def main():
        started = asyncio.Event()

        async def model(content):
            started.set()
            await asyncio.sleep(30)

        task = asyncio.create_task(decision.async_make("?", ABC, runtime=Runtime(model), samples=5))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return [t for t in asyncio.all_tasks() if t is not asyncio.current_task()]

    assert asyncio.run(main()) == []


def test_a_wish_to_stop_stops_all_samples():
    from decidable import CancelledError

    asked = []

    async def model(content):
        asked.append(1)
        if len(asked) == 2:
            raise CancelledError("enough")
        await asyncio.sleep(30)

    async def main():
        with pytest.raises(CancelledError, match="enough"):
            await decision.async_make("?", ABC, runtime=Runtime(model), samples=5)
        return [t for t in asyncio.all_tasks() if t is not asyncio.current_task()]

    assert asyncio.run(main()) == []


def test_sync_samples_stay_in_their_thread():
    threads = set()

    def model(content):
        threads.add(threading.current_thread())
        return '{"call": "a"}'

    decision.make("?", ABC, runtime=Runtime(model), samples=4)
    assert threads == {threading.current_thread()}


def test_every_sample_is_a_node_of_the_decision(both):
    with trace() as nodes, scripted(pick("a"), "no", pick("a"), pick("b")) as rt:
        both.make("?", ABC, runtime=rt, samples=3)
    decisions = [n for n in nodes.nodes if n.kind == "decision"]
    calls = [n for n in nodes.nodes if n.kind in ("model_call", "re_ask")]
    assert len(decisions) == 1
    assert [n.caller for n in calls] == [decisions[0].id] * 4
    assert all(n.status == "done" for n in nodes.nodes)


@pytest.mark.parametrize("samples", [0, -1, 1001, True, "3", 2.0])
def test_samples_out_of_range(samples):
    with pytest.raises(SettingError, match="samples counts samples, from 1 to 1000"):
        decision.make("?", ABC, runtime=scripted(), samples=samples)


# --- order ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [2, 3, 5, 8])
def test_a_model_that_takes_the_first_line_gets_a_flat_distribution(both, size):
    options = [f"o{i}" for i in range(size)]
    with scripted(*[takes_the_first] * (2 * size)) as rt:
        made = both.decide("Next?", options, runtime=rt, samples=2 * size, shuffle=True)
    assert made.probabilities == {name: pytest.approx(1 / size) for name in options}
    assert made.votes.flip_rate == pytest.approx((size - 1) / size)


def test_a_model_that_ignores_the_order_never_flips(both):
    with scripted(*[pick("b")] * 6) as rt:
        made = both.decide("Next?", ABC, runtime=rt, samples=6, shuffle=True)
    assert (made.probability, made.votes.flip_rate) == (1.0, 0.0)
    assert len({vote.order for vote in made.votes.samples}) == 3


def test_the_same_seed_gives_the_same_orders_and_another_seed_others():
    seen = []
    for seed in (4, 4, 5, True):
        with scripted(*[takes_the_first] * 6) as rt:
            made = decision.decide("Next?", list("abcdef"), runtime=rt, samples=6, shuffle=seed)
        seen.append([vote.order for vote in made.votes.samples])
    assert seen[0] == seen[1] != seen[2]
    assert all(len(set(orders_)) == 6 for orders_ in seen)


def test_one_shuffled_sample_is_shown_in_another_order_and_says_so():
    with scripted(takes_the_first) as rt:
        made = decision.decide("Next?", list("abcdef"), runtime=rt, shuffle=3)
    assert names_shown(rt.requests[0].request) == list(made.votes.samples[0].order) != list("abcdef")
    assert (made.probabilities, made.origin, made.votes.flip_rate) == (None, "none", None)


def test_shuffle_takes_a_seed_or_a_switch():
    with pytest.raises(SettingError, match="shuffle is True, False, or an int"):
        decision.make("?", ABC, runtime=scripted(), samples=2, shuffle="yes")


@given(st.integers(1, 7), st.integers(1, 30), st.integers(0, 99))
def test_every_option_stands_in_every_place_equally_often(size, samples, seed):
    menu = menu_of([f"o{i}" for i in range(size)])
    shown = [tuple(m.index) for m in orders(menu, samples, seed)]
    assert len(shown) == samples
    assert all(sorted(order) == sorted(menu.index) for order in shown)
    for start in range(0, samples - samples % size, size):
        for place in range(size):
            assert len({order[place] for order in shown[start : start + size]}) == size


@given(st.lists(st.sampled_from(ABC), min_size=1, max_size=25))
def test_the_shares_are_the_counts(cast):
    with scripted(*[pick(name) for name in cast]) as rt:
        made = decision.decide("Next?", ABC, runtime=rt, samples=len(cast))
    if len(cast) > 1:
        assert made.probabilities == {name: pytest.approx(cast.count(name) / len(cast)) for name in ABC}
    assert cast.count(made.option) == max(cast.count(name) for name in ABC)


# --- letters ----------------------------------------------------------------------------------------------------------


def letters(*places: dict[str, float], text: str = ""):
    """A reply whose tokens have these probabilities."""
    tokens = []
    for place in places:
        top = tuple((token, math.log(p)) for token, p in place.items())
        tokens.append(Token(top[0][0], top[0][1], top))
    return Reply(text or "".join(token.text for token in tokens), "length", tokens=tuple(tokens))


def test_the_log_probabilities_of_the_letters_are_those_of_the_options(both):
    reply = letters({"B": 0.6, " B": 0.1, "A": 0.2, "The": 0.1})
    with scripted(reply) as rt:
        made = both.decide("Next?", ABC, runtime=rt, logprobs=True)
    assert (made.option, made.result, made.origin, made.requests, made.votes) == ("b", "b", "logprobs", 1, None)
    assert made.probabilities == {"b": pytest.approx(7 / 9), "a": pytest.approx(2 / 9), "c": 0.0}
    request = rt.requests[0].request
    assert (request.sampling.top_logprobs, request.sampling.max_tokens) == (20, 16)
    assert "A) a\nB) b\nC) c\n\n" in request.messages[0].content


def test_a_bracket_before_the_letter_is_passed_over():
    reply = letters({"(": 0.99, "A": 0.01}, {"C": 0.8, "A": 0.2})
    made = decision.decide("Next?", ABC, runtime=scripted(reply), logprobs=True)
    assert made.option == "c"
    assert made.probability == pytest.approx(0.8)


def test_the_arguments_are_asked_for_of_the_picked_option_alone(both):
    options = {"close": 0, "refund": refund}
    with scripted(letters({"B": 1.0}), pick("refund", order="A-1")) as rt:
        made = both.decide("Next?", options, runtime=rt, logprobs=True)
    assert (made.result, made.requests, made.origin) == (("A-1", 1.0), 2, "logprobs")
    assert made.probabilities == {"refund": 1.0, "close": 0.0}
    assert "close" not in rt.requests[1].prompt
    with scripted(letters({"A": 1.0})) as rt:  # nothing to fill: nothing is asked
        assert both.make("Next?", options, runtime=rt, logprobs=True) == 0


def test_descriptions_are_shown_on_one_line():
    options = {"a": (1, "First.\nB) b: not an option"), "b": (2, "Second")}
    with scripted(letters({"B": 1.0})) as rt:
        decision.make("Next?", options, runtime=rt, logprobs=True)
    assert "A) a: First. B) b: not an option\nB) b: Second\n" in rt.requests[0].prompt


def test_a_model_that_says_something_else_is_asked_again():
    with scripted(letters({"The": 0.7, "A": 0.3}, text="The first"), letters({"C": 0.9, "A": 0.1})) as rt:
        made = decision.decide("Next?", ABC, runtime=rt, logprobs=True)
    assert (made.option, [a.kind for a in made.attempts]) == ("c", ["no_action"])
    assert "not the letter of an option, but 'The first'" in made.attempts[0].message
    with scripted(letters({"x": 1.0}, text="x")) as rt, pytest.raises(DecisionError, match="no letter of an option"):
        decision.make("Next?", ABC, runtime=rt, logprobs=True, max_retries=0)


def test_where_none_are_given_there_is_a_pick_and_no_made_up_number():
    made = decision.decide("Next?", ABC, runtime=scripted("B)"), logprobs=True)
    assert (made.option, made.probabilities, made.origin) == ("b", None, "none")
    made = decision.decide("Next?", ABC, runtime=scripted("B", letters({"A": 1.0}), "B"), logprobs=True, samples=3)
    assert (made.option, made.origin) == ("b", "votes")


@pytest.mark.parametrize(
    ("reply", "option"),
    [
        (Reply("I would pick C", "length", tokens=(Token("I", -0.1, (("I", -0.1), ("C", -3.0))),)), None),
        (Reply("A good choice is C", "length", tokens=(Token("A", -0.1, (("A", -0.1), ("C", -3.0))),)), None),
        (Reply("B) b", "length", tokens=(Token("B", -0.1, (("B", -0.1), ("C", -3.0))),)), "b"),
        (Reply("**C**", "stop", tokens=(Token("**", -0.1, (("**", -0.1),)), Token("C", -0.1, (("C", -0.1),)))), "c"),
        (Reply("B", "stop", tokens=(Token("B", -0.1, (("B", math.nan), ("C", math.nan))),)), None),
    ],
)
def test_a_letter_that_is_a_word_is_no_pick(reply, option):
    menu = {letter: letter for letter in "abcdefghij"}
    if option is not None:
        assert decision.make("Next?", menu, runtime=scripted(reply), logprobs=True, max_retries=0) == option
        return
    with pytest.raises(DecisionError, match="no letter of an option"):
        decision.make("Next?", menu, runtime=scripted(reply), logprobs=True, max_retries=0)


def test_a_token_without_alternatives_is_no_distribution():
    reply = Reply("B", "stop", tokens=(Token("B", -0.6),))
    made = decision.decide("Next?", ABC, runtime=scripted(reply), logprobs=True)
    assert (made.option, made.probabilities, made.origin) == ("b", None, "none")


def test_samples_of_letters_are_averaged_over_orders(both):
    def leans(request):  # 0.7 on the letter A, whatever it stands for, and 0.3 on "b"
        shown = request.messages[0].content.partition("Menu:\n\n")[2].split("\n")
        letter = next(line[0] for line in shown if line.endswith(") b"))
        return letters({"A": 1.0} if letter == "A" else {"A": 0.7, letter: 0.3})

    with scripted(*[leans] * 3) as rt:
        made = both.decide("Next?", ABC, runtime=rt, logprobs=True, samples=3, shuffle=True)
    assert made.option == "b"
    assert made.probabilities == {
        "b": pytest.approx(1.6 / 3),
        "a": pytest.approx(0.7 / 3),
        "c": pytest.approx(0.7 / 3),
    }
    assert made.votes.flip_rate == pytest.approx(2 / 3)


def test_too_many_options_for_letters():
    with pytest.raises(UnaskableError, match="at most 20 options apart here, this menu has 21; use samples="):
        decision.make("?", [f"o{i}" for i in range(21)], runtime=scripted(), logprobs=True)


def test_a_provider_without_log_probabilities():
    with pytest.raises(UnaskableError, match="reports no token log-probabilities; use samples="):
        decision.make("?", ABC, runtime=Runtime(lambda content: ""), logprobs=True)


def test_a_refusal_is_a_refusal():
    with scripted(Reply("No.", "refusal")) as rt, pytest.raises(DecisionError) as caught:
        decision.make("?", ABC, runtime=rt, logprobs=True)
    assert caught.value.kind == "refusal"
    assert not isinstance(caught.value, Unsure)


def test_scripts_answer_with_letters(both):
    from decidable.testing import distribution

    with scripted(pick("b"), distribution(a=0.2, c=0.8)) as rt:
        assert both.decide("?", ABC, runtime=rt, logprobs=True).probabilities == {"b": 1.0, "a": 0.0, "c": 0.0}
        made = both.decide("?", ABC, runtime=rt, logprobs=True)
    assert (made.option, made.probability) == ("c", pytest.approx(0.8))
    with pytest.raises(AssertionError, match="or a chat request with logprobs=True"):
        both.make("?", ABC, runtime=scripted(distribution(a=1.0)))
