"""Another provider, when one does not decide."""

from __future__ import annotations

import pytest

from decidable import (
    DecisionError,
    LLMError,
    ModelRetry,
    RefusedError,
    Runtime,
    SettingError,
    UnaskableError,
    Unsure,
    Usage,
    UsageError,
)
from decidable.messages import Reply
from decidable.testing import distribution, pick, refusal, scripted, text

DOWN = LLMError("down for good", reason="auth", provider="scripted")
AB = ["a", "b"]


def chained(*runtimes, **settings) -> Runtime:
    return Runtime([rt.provider for rt in runtimes], **{"max_retries": 0, **settings})


def done(*runtimes) -> None:
    for rt in runtimes:
        rt.assert_complete()


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ([DOWN], "failure"),
        ([LLMError("busy", reason="rate_limit")], "failure"),
        (["no", "no"], "exhausted"),
        ([refusal()], "refusal"),
        ([LLMError("filtered", reason="policy")], "refusal"),
    ],
)
def test_the_next_one_decides_and_the_record_says_why(both, steps, reason):
    first, second = scripted(*steps), scripted(pick("b"))
    rt = chained(first, second, fallback_on=("failure", "exhausted", "refusal"))
    made = both.decide("Next?", AB, runtime=rt)
    assert made.result == "b"
    assert [(f.provider, f.reason) for f in made.fallbacks] == [("scripted", reason)]
    assert isinstance(made.fallbacks[0].error, (LLMError, DecisionError))
    done(first, second)


def test_unsure_goes_on(both):
    first = scripted(distribution(a=0.51, b=0.49), questions=True)
    first.provider.capabilities = first.provider.capabilities.__class__(
        question_types=frozenset({"choice"}), remote=False, min_margin=0.2
    )
    made = both.decide("Next?", AB, runtime=chained(first, scripted(pick("b"))))
    assert (made.result, made.fallbacks[0].reason) == ("b", "unsure")
    assert isinstance(made.fallbacks[0].error, Unsure)
    assert made.probabilities is None


@pytest.mark.parametrize(
    ("steps", "on", "error"),
    [
        ([refusal()], ("failure", "exhausted", "unsure"), RefusedError),
        ([DOWN], ("exhausted",), LLMError),
        (["no", "no"], ("failure",), DecisionError),
        (["no", "no"], (), DecisionError),
    ],
)
def test_only_for_the_reasons_given(both, steps, on, error):
    second = scripted()
    with pytest.raises(error):
        both.make("Next?", AB, runtime=chained(scripted(*steps), second, fallback_on=on))
    assert second.requests == ()


def test_the_last_error_is_raised_and_notes_the_others(both):
    rt = chained(scripted(DOWN), scripted("no", "no"), scripted(LLMError("gone", reason="provider")))
    with pytest.raises(LLMError, match="gone") as caught:
        both.make("Next?", AB, runtime=rt)
    notes = caught.value.__notes__
    assert notes[0] == "before that, scripted was asked: down for good"
    assert notes[1].startswith("before that, scripted was asked: no valid pick in 2 replies")


def test_requests_usage_and_cost_are_those_of_all():
    def reply(text_):
        return Reply(text_, "stop", usage=Usage(10, 1), cost=0.25)

    rt = chained(scripted(reply("no"), reply("no")), scripted(reply('{"call": "a"}')))
    with rt:
        from decidable import decision

        made = decision.decide("Next?", AB, runtime=rt)
    assert (made.requests, made.usage, made.cost) == (3, Usage(30, 3), 0.75)


def refund(order: str) -> str:
    return order


def test_what_a_decision_model_cannot_fill_is_written_by_the_next_model(both):
    questions, chat = scripted(pick("refund"), questions=True), scripted("what?", pick("refund", order="A"))
    made = both.decide(
        "Next?", {"refund": refund, "b": 1}, runtime=chained(questions, chat), state={"ticket": "Twice!"}
    )
    assert (made.result, made.provider, made.filled_by) == ("A", "scripted", "scripted")
    assert made.fallbacks == ()
    assert (made.requests, made.origin, made.probability) == (3, "model", 1.0)
    assert made.reply.answers["pick"].choice == "refund"
    assert [a.kind.value for a in made.attempts] == ["no_action"]
    assert set(questions.requests[0].request.questions) == {"pick"}
    assert "refund(order: str)" in chat.requests[0].menu
    assert "b()" not in chat.requests[0].menu
    assert "Twice!" in chat.requests[0].prompt


def test_only_the_taken_option_needs_anybody_to_write(both):
    questions, chat = scripted(pick("b"), questions=True), scripted()
    made = both.decide("Next?", {"refund": refund, "b": 1}, runtime=chained(questions, chat))
    assert (made.result, made.filled_by, made.requests) == (1, None, 1)


def test_after_a_retry_the_writer_is_asked_again(both):
    seen = []

    def order(name: str) -> str:
        seen.append(name)
        if len(seen) == 1:
            raise ModelRetry("not that one")
        return name

    questions, chat = (
        scripted(pick("order"), questions=True),
        scripted(pick("order", name="x"), pick("order", name="y")),
    )
    assert both.make("Next?", {"order": order, "b": 1}, runtime=chained(questions, chat)) == "y"
    assert "not that one" in chat.requests[1].prompt


def test_the_writer_is_the_first_that_writes_and_a_failure_of_the_decision_model_goes_to_it(both):
    down, chat = scripted(DOWN, questions=True), scripted(pick("refund", order="B"))
    made = both.decide("Next?", {"refund": refund, "b": 1}, runtime=chained(down, chat))
    assert (made.result, made.filled_by, made.fallbacks[0].reason) == ("B", None, "failure")


def test_a_menu_that_nobody_can_fill_is_refused(both):
    with pytest.raises(UnaskableError, match=r"scripted: .*free text.*; scripted: .*free text"):
        both.make(
            "Next?",
            {"refund": refund, "b": 1},
            runtime=chained(scripted(questions=True), scripted(questions=True)),
        )


def test_chat_settings_do_not_bar_a_decision_model(both):
    first, second = scripted(DOWN, DOWN), scripted(distribution(a=0.9, b=0.1), questions=True)
    made = both.decide("Next?", AB, runtime=chained(first, second), samples=2, via="tools", sampling={"seed": 1})
    assert (made.result, made.origin) == ("a", "model")


def test_a_models_name_is_only_good_for_the_first():
    first, second = scripted(DOWN), scripted(pick("a"))
    chained(first, second, model="big").exec("Next?", choices=AB)
    assert [rt.requests[0].request.model for rt in (first, second)] == ["big", None]


def test_at_the_deadline_nobody_else_is_asked(both):
    second = scripted()
    late = LLMError("too late", reason="timeout")
    with pytest.raises(LLMError, match="too late"):
        both.make("Next?", AB, runtime=chained(scripted(late), second), timeout_s=5)
    assert second.requests == ()


def test_a_function_that_fails_is_no_reason_to_ask_another(both):
    def boom() -> None:
        raise DecisionError("mine", kind="mine")

    second = scripted()
    with pytest.raises(DecisionError, match="mine"):
        both.make("Next?", {"boom": boom, "b": 1}, runtime=chained(scripted(pick("boom")), second))
    assert second.requests == ()


def test_text_and_values_fall_back_too(both):
    assert both.exec(chained(scripted(DOWN), scripted("fine")), "Hello") == "fine"
    assert both.exec(chained(scripted("x", "y"), scripted("[1]")), "Hello", response_format=list[int]) == [1]
    refused = chained(scripted(refusal("No.")), scripted("fine"), fallback_on=["refusal"])
    assert both.exec(refused, "Hello") == "fine"
    assert both.exec(chained(scripted(refusal("No.")), scripted()), "Hello") == "No."
    last = chained(scripted(DOWN), scripted(refusal("No.")), fallback_on=["failure", "refusal"])
    assert both.exec(last, "Hello") == "No."
    with pytest.raises(UnaskableError, match="none of scripted, scripted can write text"):
        both.exec(
            chained(scripted(questions=True), scripted(questions=True)).__class__(
                [scripted(questions=True).provider], fallback=[scripted(questions=True).provider]
            ),
            "Hello",
        )


def test_fallback_may_be_given_apart(both):
    rt = Runtime(scripted(DOWN).provider, fallback=lambda content: '{"call": "a"}', max_retries=0)
    assert both.make("Next?", AB, runtime=rt) == "a"
    assert repr(rt) == "Runtime('scripted', model=None, then '<lambda>')"


def test_all_are_closed():
    closed = []

    class Closing:
        name, model = "closing", None
        capabilities = scripted().provider.capabilities

        def send(self, request, deadline=None):
            return text("x")

        async def asend(self, request, deadline=None):
            return self.send(request)

        def close(self):
            closed.append(self)

        async def aclose(self):
            closed.append(self)

    one, two = Closing(), Closing()
    Runtime([one, two]).close()
    assert closed == [one, two]


@pytest.mark.parametrize("on", ["later", ["failure", "never"], ["unaskable"]])
def test_unknown_reasons(on):
    with pytest.raises(
        SettingError, match="fallback_on lists some of 'failure', 'exhausted', 'unsure', 'refusal', not"
    ):
        Runtime(lambda content: "", fallback_on=on)


def test_an_empty_list():
    with pytest.raises(UsageError, match="the list of providers is empty"):
        Runtime([])
