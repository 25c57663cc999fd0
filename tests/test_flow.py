"""The flows as lists of effects: no network, no clock, no event loop."""

from __future__ import annotations

import pytest

from decidable import DecisionError, LLMError, RefusedError, Usage
from decidable.attempt import FailureKind
from decidable.flow.ask import Call, RetryInfo, ask
from decidable.flow.askers import ChatAsker
from decidable.flow.decide import decide, picked
from decidable.flow.effects import Begin, Draw, End, Now, RunOption, Send, Wait, in_node
from decidable.menu import menu_of
from decidable.messages import ChatRequest, Message, Reply
from decidable.testing import scripted

REQUEST = ChatRequest((Message("user", "hi"),))
PROVIDER = scripted().provider


def play(flow, *answers):
    """Feed `answers` to a flow, one per effect; the effects it yielded, and what it ended with."""
    effects = []
    try:
        effect = next(flow)
        for answer in answers:
            effects.append(effect)
            effect = flow.throw(answer) if isinstance(answer, BaseException) else flow.send(answer)
        effects.append(effect)
    except StopIteration as stop:
        return effects, stop.value
    except Exception as error:
        return effects, error
    return effects, None


def transport(**kwargs):
    return LLMError("down", reason="transport", **kwargs)


def test_one_request_one_reply():
    effects, reply = play(ask(Call(PROVIDER), REQUEST), Reply("yes"))
    assert effects == [Send(PROVIDER, REQUEST)]
    assert reply.text == "yes"


def test_waits_double_and_are_spread_by_a_quarter():
    call = Call(PROVIDER, max_retries=3)
    effects, _ = play(
        ask(call, REQUEST), transport(), 1.0, 0.5, None, transport(), 2.0, 0.0, None, transport(), 3.0, 1.0, None
    )
    assert [e.seconds for e in effects if isinstance(e, Wait)] == [1.5, 3.0 * 0.75, 6.0 * 1.25]
    assert [type(e) for e in effects[:5]] == [Send, Now, Draw, Wait, Send]


@pytest.mark.parametrize(("chance", "seconds"), [(0.0, 20.0), (0.5, 22.5), (1.0, 25.0)])
def test_retry_after_is_a_lower_bound_and_spreads_upward_only(chance, seconds):
    effects, _ = play(ask(Call(PROVIDER), REQUEST), transport(retry_after_s=20.0), 1.0, chance, None)
    assert effects[3].seconds == seconds


def test_a_short_retry_after_does_not_shorten_the_wait():
    effects, _ = play(ask(Call(PROVIDER), REQUEST), transport(retry_after_s=0.1), 1.0, 0.5, None)
    assert effects[3].seconds == 1.5


@pytest.mark.parametrize("reason", ["auth", "authz", "invalid", "context", "policy", "timeout"])
def test_permanent_errors_are_not_retried(reason):
    effects, error = play(ask(Call(PROVIDER), REQUEST), LLMError("no", reason=reason), 1.0)
    assert error.reason == reason
    assert not any(isinstance(e, Wait) for e in effects)


@pytest.mark.parametrize("reason", ["transport", "rate_limit", "provider", "unknown"])
def test_passing_errors_are_retried(reason):
    _, reply = play(ask(Call(PROVIDER), REQUEST), LLMError("no", reason=reason), 1.0, 0.5, None, Reply("ok"))
    assert reply.text == "ok"


def test_retries_end_and_the_error_counts_them():
    call = Call(PROVIDER, max_retries=1, started=10.0)
    _, error = play(ask(call, REQUEST), transport(), 11.0, 0.5, None, transport(), 14.0)
    assert (error.attempts, error.elapsed_s) == (2, 4.0)


@pytest.mark.parametrize("mistake", [TypeError("x"), NotImplementedError("x"), KeyError("x")])
def test_mistakes_in_the_program_pass_through(mistake):
    effects, error = play(ask(Call(PROVIDER), REQUEST), mistake)
    assert error is mistake
    assert len(effects) == 1


def test_a_wait_that_would_cross_the_deadline_is_not_begun():
    call = Call(PROVIDER, deadline=12.0)
    effects, error = play(ask(call, REQUEST), transport(), 11.0, 0.5)
    assert error.reason == "timeout"
    assert isinstance(error.__cause__, LLMError)
    assert not any(isinstance(e, Wait) for e in effects)
    assert effects[0].deadline == 12.0


def test_on_retry_is_told_before_the_wait_and_may_fail():
    seen: list[RetryInfo] = []

    def listen(info):
        seen.append(info)
        raise ValueError("a listener's own trouble")

    effects, _ = play(ask(Call(PROVIDER, on_retry=listen), REQUEST), transport(), 1.0, 0.5, None)
    effects[3].before()
    assert [(i.kind, i.attempt, i.wait_s, i.problem) for i in seen] == [("transport", 1, 1.5, "down")]


class Limit:
    """A budget of so many requests."""

    def __init__(self, requests):
        self.left = requests
        self.booked = []

    def admit(self, request):
        if not self.left:
            raise RuntimeError("spent")
        self.left -= 1

    def book(self, reply):
        self.booked.append(reply)


def asker(**kwargs):
    return ChatAsker(menu_of({"go": 1, "add": add}), "Next?", **kwargs)


def add(n: int) -> int:
    return n + 1


GO = Reply('{"call": "go"}', usage=Usage(10, 5), cost=0.5)
BAD = Reply("hm", usage=Usage(3, 1))


def test_a_budget_sees_re_asks_too():
    budget = Limit(1)
    _, error = play(decide(picked(Call(PROVIDER, meters=(budget,)), asker()), {}), BAD)
    assert str(error) == "spent"
    assert budget.booked == [BAD]


def test_a_value_is_resolved_within_the_flow():
    effects, decision = play(decide(picked(Call(PROVIDER), asker()), {}), GO)
    assert (decision.option, decision.result, decision.usage, decision.cost) == ("go", 1, Usage(10, 5), 0.5)
    assert len(effects) == 1


def test_a_function_is_run_by_the_driver():
    effects, decision = play(decide(picked(Call(PROVIDER), asker()), {}), Reply('{"call": "add", "args": {"n": 4}}'), 5)
    assert isinstance(effects[1], RunOption)
    assert (effects[1].arguments, decision.result, decision.args) == ({"n": 4}, 5, {"n": 4})


def test_what_a_function_raises_is_neither_retried_nor_wrapped():
    boom = ValueError("mine")
    _, error = play(decide(picked(Call(PROVIDER), asker()), {}), Reply('{"call": "add", "args": {"n": 4}}'), boom)
    assert error is boom


def test_a_re_ask_shows_every_reply_and_every_problem():
    effects, decision = play(
        decide(picked(Call(PROVIDER), asker(max_retries=2)), {}), Reply("first"), Reply('{"call": "stop"}'), GO
    )
    assert [e.purpose for e in effects] == ["model_call", "re_ask", "re_ask"]
    turns = [(m.role, m.content) for m in effects[2].request.messages]
    assert [role for role, _ in turns] == ["user", "assistant", "user", "assistant", "user"]
    assert turns[1][1] == "first"
    assert "no pick" in turns[4][1]
    assert "'stop' is not on the menu" in turns[4][1]
    assert 'Call: {"call": "go"}' in turns[4][1]
    assert (decision.requests, [a.kind for a in decision.attempts]) == (3, ["no_action", "unknown_call"])


def test_a_repeated_problem_is_told_once():
    effects, _ = play(decide(picked(Call(PROVIDER), asker(max_retries=3)), {}), BAD, BAD, BAD)
    assert effects[3].request.messages[-1].content.count("holds no pick") == 1


def test_a_long_reply_goes_back_shortened():
    effects, _ = play(decide(picked(Call(PROVIDER), asker()), {}), Reply("x" * 50_000))
    assert len(effects[1].request.messages[1].content) < 2000


def test_exhaustion_says_kind_message_and_head_of_the_reply():
    _, error = play(decide(picked(Call(PROVIDER), asker()), {}), BAD, Reply("I would rather not say"))
    assert isinstance(error, DecisionError)
    assert isinstance(error, ValueError)
    assert error.kind == "no_action"
    assert [a.reply.text for a in error.attempts] == ["hm", "I would rather not say"]
    assert "no_action" in str(error)
    assert "I would rather not say" in str(error)


def test_a_refusal_ends_it_at_once():
    effects, error = play(decide(picked(Call(PROVIDER), asker(max_retries=5)), {}), Reply("No.", stop="refusal"))
    assert isinstance(error, RefusedError)
    assert len(effects) == 1


def test_a_truncated_reply_is_asked_for_without_explanation():
    effects, _ = play(decide(picked(Call(PROVIDER), asker()), {}), Reply('{"call": "ad', stop="length"))
    assert "Leave out any explanation" in effects[1].request.messages[-1].content


def test_the_kinds_of_failure_are_words():
    assert {k.value for k in FailureKind} >= {
        "no_action", "unknown_call", "bad_args", "missing_required", "type_mismatch", "enum_violation", "ambiguous",
        "empty", "truncated", "refusal",
    }  # fmt: skip


def test_usage_and_cost_of_all_replies_are_counted():
    _, decision = play(decide(picked(Call(PROVIDER), asker()), {}), BAD, GO)
    assert (decision.usage, decision.cost, decision.requests) == (Usage(13, 6), 0.5, 2)


def test_a_node_is_closed_however_the_flow_ends():
    effects, _ = play(in_node(ask(Call(PROVIDER), REQUEST), "k", "n", "in"), "handle", Reply("x"), None)
    assert [type(e) for e in effects] == [Begin, Send, End]
    assert effects[2].output == Reply("x")
    effects, error = play(in_node(ask(Call(PROVIDER), REQUEST), "k", "n", "in"), "handle", KeyError("k"), None)
    assert effects[2].error is error
