"""`make` and `decide`, sync and async: one test, both ways."""

from __future__ import annotations

import asyncio
import contextvars
import threading

import pydantic
import pytest

from decidable import (
    DecisionError,
    LLMError,
    Reply,
    Runtime,
    RuntimeClosedError,
    RuntimeMissingError,
    SettingError,
    UnaskableError,
    UsageError,
    agentic_function,
    decision,
    runtime,
    set_default_runtime,
    use_runtime,
)
from decidable.testing import pick, scripted


def refund(order: str, amount: float = 1.0) -> str:
    """Give money back."""
    return f"refunded {order} {amount}"


class Money(pydantic.BaseModel):
    amount: float
    currency: str = "EUR"


MARK = object()
OPTIONS = {"refund": refund, "mark": MARK, "plan": ("Plan.", {"why": str}), "money": Money}


def test_a_function_runs_and_its_result_comes_back(both):
    assert both.make("?", OPTIONS, runtime=scripted(pick("refund", order="A"))) == "refunded A 1.0"


def test_a_value_comes_back_as_the_same_object(both):
    assert both.make("?", OPTIONS, runtime=scripted(pick("mark"))) is MARK


def test_a_payload_comes_back(both):
    assert both.make("?", OPTIONS, runtime=scripted(pick("plan", why="x"))) == {"decision": "plan", "why": "x"}
    assert both.make("?", OPTIONS, runtime=scripted(pick("money", amount=3))) == Money(amount=3.0)


def test_the_record(both):
    reply = Reply('{"call": "refund", "args": {"order": "A", "extra": 1}}', stop="stop", model="m-1")
    made = both.decide("?", OPTIONS, runtime=scripted("hm", reply, model="m"))
    assert (made.option, dict(made.args), made.result) == ("refund", {"order": "A"}, "refunded A 1.0")
    assert (made.provider, made.model, made.requests) == ("scripted", "m-1", 2)
    assert [a.kind for a in made.attempts] == ["no_action"]
    assert (made.probabilities, made.origin, made.probability, made.margin) == (None, "none", None, None)


def test_max_retries(both):
    with pytest.raises(DecisionError) as caught:
        both.make("?", OPTIONS, runtime=scripted("a", "b", "c"), max_retries=2)
    assert len(caught.value.attempts) == 3
    with scripted("a") as rt, pytest.raises(DecisionError):
        both.make("?", OPTIONS, runtime=rt, max_retries=0)


@pytest.mark.parametrize("count", [-1, 1.5, True, None, "1"])
def test_bad_max_retries(both, count):
    with pytest.raises(SettingError, match="max_retries"):
        both.make("?", OPTIONS, runtime=scripted(), max_retries=count)
    with pytest.raises(ValueError, match="max_retries"):
        both.exec(scripted(), "?", choices=OPTIONS, max_retries=count)


def test_on_retry_hears_of_re_asks(both):
    seen = []
    both.make("?", OPTIONS, runtime=scripted("hm", pick("mark")), on_retry=seen.append)
    assert [(i.kind, i.attempt) for i in seen] == [("re_ask", 1)]


def test_repair_levels(both):
    loose = '{"call": "REFUND", "args": {"order": 7}}'
    with pytest.raises(DecisionError, match="unknown_call"):
        both.make("?", OPTIONS, runtime=scripted(loose), max_retries=0)
    made = both.decide("?", OPTIONS, runtime=scripted(loose), repair="lossless")
    assert made.result == "refunded 7 1.0"
    assert len(made.repairs) == 2
    assert both.make("?", OPTIONS, runtime=scripted(loose, repair="lossless")) == "refunded 7 1.0"
    with pytest.raises(DecisionError):
        both.make("?", OPTIONS, runtime=scripted("x {'call': 'mark'}"), repair="none", max_retries=0)
    with pytest.raises(SettingError, match="'none', 'syntax', 'lossless'"):
        both.make("?", OPTIONS, runtime=scripted(), repair="all")


def test_state_stands_under_the_prompt(both):
    with scripted(pick("mark")) as rt:
        both.make("Who takes this?", OPTIONS, runtime=rt, state={"ticket": 7})
    assert '"ticket": 7' in rt.requests[0].prompt


def test_hidden_parameters_come_from_context(both):
    @agentic_function(input={"db": {"hidden": True}})
    def look_up(key: str, db: dict) -> str:
        return db[key]

    with scripted(pick("look_up", key="a")) as rt:
        assert both.make("?", [look_up], runtime=rt, context={"db": {"a": "found"}}) == "found"
    assert "db" not in rt.requests[0].menu
    with scripted() as rt, pytest.raises(ValueError, match="'look_up' needs its hidden parameter 'db'"):
        both.make("?", [look_up], runtime=rt)


def test_what_an_option_raises_passes_through(both):
    class Mine(Exception):
        pass

    def fail() -> None:
        raise Mine("untouched")

    with scripted(pick("fail")) as rt, pytest.raises(Mine, match="^untouched$"):
        both.make("?", [fail], runtime=rt, max_retries=3)


def test_a_stop_iteration_passes_through_sync():
    def fail():
        raise StopIteration("mine")

    with pytest.raises(StopIteration, match="mine"):
        decision.make("?", [fail], runtime=scripted(pick("fail")))


def test_a_stop_iteration_does_not_hang_async():
    def fail():
        raise StopIteration("mine")

    with pytest.raises(RuntimeError, match="StopIteration"):
        asyncio.run(asyncio.wait_for(decision.async_make("?", [fail], runtime=scripted(pick("fail"))), 5))


def test_async_options_are_awaited_and_sync_ones_leave_the_loop():
    variable = contextvars.ContextVar("variable", default="outside")

    async def later() -> str:
        await asyncio.sleep(0)
        return threading.current_thread().name

    def now() -> tuple[str, str]:
        return variable.get(), threading.current_thread().name

    async def main():
        variable.set("inside")
        rt = scripted(pick("later"), pick("now"))
        here = threading.current_thread().name
        assert await decision.async_make("?", [later, now], runtime=rt) == here
        seen, thread = await decision.async_make("?", [later, now], runtime=rt)
        assert seen == "inside"
        assert thread != here

    asyncio.run(main())


def test_an_async_option_in_a_sync_call_is_refused_before_anything_is_sent():
    async def later() -> None: ...

    with scripted() as rt, pytest.raises(UsageError, match="'later' is an async function.*async_make"):
        decision.make("?", [later], runtime=rt)


# --- exec ---------------------------------------------------------------------------------------------------------


def test_exec_returns_text(both):
    assert both.exec(scripted("  plain text "), "Hello") == "  plain text "


def test_exec_with_choices_ends_in_a_decision(both):
    with scripted('I thought.\n\n{"call": "mark"}') as rt:
        assert both.exec(rt, "Work.", choices=OPTIONS) is MARK
    assert decision.DECISION_FINISH_INSTRUCTION in rt.requests[0].prompt


def test_exec_with_a_response_format(both):
    assert both.exec(scripted('```json\n{"amount": 2}\n```'), "How much?", response_format=Money) == Money(amount=2.0)
    assert both.exec(scripted("no", "[1, 2]"), "Numbers?", response_format=list[int]) == [1, 2]
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    assert both.exec(scripted('{"a": 1}'), "?", response_format=schema) == {"a": 1}
    with pytest.raises(DecisionError) as caught:
        both.exec(scripted('{"a": "x"}'), "?", response_format=schema, max_retries=0)
    assert caught.value.kind == "type_mismatch"


def test_choices_and_response_format_exclude_each_other(both):
    with pytest.raises(UsageError, match="not both"):
        both.exec(scripted(), "?", choices=OPTIONS, response_format=Money)


def test_the_default_toolset_is_empty(both):
    assert both.exec(scripted("ok"), "?", tools=[], toolset="default") == "ok"
    with pytest.raises(UsageError, match="did you mean 'default'"):
        both.exec(scripted(), "?", toolset="defaults")


def test_effort_and_model_reach_the_request(both):
    with scripted("ok") as rt:
        both.exec(rt, "?", model="m-2", effort="high")
    assert (rt.requests[0].request.model, rt.requests[0].request.effort) == ("m-2", "high")


# --- which runtime -------------------------------------------------------------------------------------------------


def test_no_runtime_names_the_remedies(both):
    with pytest.raises(RuntimeMissingError, match=r"agentic_function.*runtime=rt.*DECIDABLE_MODEL"):
        both.make("?", OPTIONS)


def test_explicit_then_ambient_then_default(both):
    set_default_runtime(scripted(pick("mark"), pick("mark")))
    assert both.make("?", {"mark": "default"}) == "default"
    with use_runtime(scripted(pick("x"))):
        assert both.make("?", {"x": "ambient"}) == "ambient"
    assert both.make("?", {"y": "explicit"}, runtime=scripted(pick("y"))) == "explicit"


def test_the_environment_names_a_runtime(both, monkeypatch):
    from decidable.providers.registry import register_provider

    register_provider("from-test", lambda model: scripted(pick("x"), pick("x"), model=model).provider)
    monkeypatch.setenv("DECIDABLE_MODEL", "from-test:m-3")
    monkeypatch.setattr("decidable.default_runtime._from_environment", None)
    assert both.decide("?", {"x": 1}).model == "m-3"
    assert both.make("?", {"x": 1}) == 1  # the same runtime again, not a new one per call


def test_the_picked_function_finds_the_same_runtime(both):
    def inner() -> str:
        return runtime.exec("inner")

    assert both.make("?", [inner], runtime=scripted(pick("inner"), "from inside")) == "from inside"


def test_a_closed_runtime(both):
    rt = scripted()
    with rt:
        pass
    rt.close()
    with pytest.raises(RuntimeClosedError, match="was closed"):
        both.make("?", OPTIONS, runtime=rt)
    with pytest.raises(RuntimeError):
        both.exec(rt, "?")


# --- deadlines -----------------------------------------------------------------------------------------------------


class Clock:
    def __init__(self):
        self.now = 100.0

    def host(self):
        from decidable.flow.run import Host

        async def sleep_async(seconds):
            self.now += seconds

        return Host(lambda: self.now, self.sleep, sleep_async, lambda: 0.5)

    def sleep(self, seconds):
        self.now += seconds


def test_timeout_covers_re_asks(both):
    clock = Clock()

    def slow(request):
        clock.now += 3
        return "hm"

    rt = scripted(slow, slow, host=clock.host())
    with pytest.raises(LLMError, match="was not asked") as caught:
        both.make("?", OPTIONS, runtime=rt, timeout_s=2.9)
    assert caught.value.reason == "timeout"
    assert len(rt.requests) == 1


def test_a_nested_call_gets_what_is_left(both):
    clock = Clock()

    def inner() -> str:
        clock.now += 6
        return runtime.exec("more", timeout_s=60)

    rt = scripted(pick("inner"), host=clock.host())
    with pytest.raises(LLMError) as caught:
        both.make("?", [inner], runtime=rt, timeout_s=5)
    assert caught.value.reason == "timeout"


def test_transport_retries_wait_on_the_host_clock(both):
    clock = Clock()
    down = LLMError("down", reason="transport")
    rt = scripted(down, down, pick("mark"), host=clock.host(), max_retries=2)
    assert both.make("?", OPTIONS, runtime=rt) is MARK
    assert clock.now == 100.0 + 1.5 + 3.0


def test_an_async_provider_that_hangs_is_cut_off():
    class Hanging:
        name, model = "hanging", None
        capabilities = scripted().provider.capabilities
        cancelled = False

        def send(self, request, deadline=None):
            raise AssertionError

        async def asend(self, request, deadline=None):
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                self.cancelled = True
                raise

        def close(self): ...

        async def aclose(self): ...

    provider = Hanging()
    with pytest.raises(LLMError) as caught:
        asyncio.run(Runtime(provider).async_exec("?", timeout_s=0.05))
    assert caught.value.reason == "timeout"
    assert provider.cancelled


@pytest.mark.parametrize("seconds", [0, -1, "3", True])
def test_bad_timeouts(both, seconds):
    with pytest.raises(SettingError, match="timeout_s"):
        both.make("?", OPTIONS, runtime=scripted(), timeout_s=seconds)


# --- decision models -----------------------------------------------------------------------------------------------


def test_a_decision_model_is_asked_questions(both):
    with scripted(pick("refund_to", team="sales"), questions=True) as rt:
        made = both.decide("?", {"refund_to": hand_over, "mark": MARK}, runtime=rt)
    assert made.result == "to sales"
    assert made.probabilities == {"refund_to": 1.0, "mark": 0.0}
    assert (made.origin, made.margin, made.probability) == ("model", 1.0, 1.0)


@agentic_function(input={"team": {"options": ["billing", "sales"]}})
def hand_over(team: str) -> str:
    return f"to {team}"


def test_a_menu_that_it_cannot_answer_is_refused_before_sending(both):
    with scripted(questions=True) as rt, pytest.raises(UnaskableError, match="'refund', field 'order'"):
        both.make("?", OPTIONS, runtime=rt)


def test_a_decision_model_writes_no_text(both):
    with scripted(questions=True) as rt, pytest.raises(UnaskableError, match="choices="):
        both.exec(rt, "?")


def test_a_contradicting_answer_is_an_error_and_not_asked_again(both):
    from decidable.questions.types import ChoiceAnswer

    wrong = Reply(answers={"pick": ChoiceAnswer("a", {"a": 1.0})})
    with scripted(wrong, questions=True) as rt, pytest.raises(DecisionError) as caught:
        both.make("?", {"a": 1, "b": 2}, runtime=rt, max_retries=5)
    assert caught.value.kind == "inconsistent_answer"


# --- the two halves on their own -----------------------------------------------------------------------------------


def test_render_and_parse_for_a_loop_of_your_own():
    assert '"call": "refund"' in decision.render_options(OPTIONS)
    choice = decision.parse_args('{"call": "refund", "args": {"order": "A"}}', OPTIONS)
    assert choice.option.resolve(choice.arguments) == "refunded A 1.0"
    with pytest.raises(DecisionError, match="missing_required"):
        decision.parse_args('{"call": "refund"}', OPTIONS)


def test_the_traceback_of_an_option_has_few_frames_of_ours(both):
    import traceback

    def fail() -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError) as caught:
        both.make("?", [fail], runtime=scripted(pick("fail")))
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert frames[-1].name == "fail"
    assert sum("/decidable/" in f.filename for f in frames) <= 4
    assert not any("concurrent" in f.filename for f in frames)


def test_a_re_ask_wants_the_pick_only(both):
    with scripted("worked a lot", pick("mark")) as rt:
        both.exec(rt, "Work.", choices=OPTIONS)
    assert rt.requests[1].prompt.count(decision.DECISION_FINISH_INSTRUCTION) == 1


def test_a_lambda_around_an_async_function_is_awaited():
    async def later(n):
        return n + 1

    assert asyncio.run(decision.async_make("?", {"x": lambda: later(2)}, runtime=scripted(pick("x")))) == 3


def test_a_wrong_keyword_names_the_verb(both):
    name = "async_make" if both.is_async else "make"
    with pytest.raises(TypeError, match=rf"^{name}\(\) got an unexpected keyword argument 'max_retrys'"):
        both.make("?", OPTIONS, runtime=scripted(), max_retrys=1)
    with pytest.raises(TypeError, match=r"decide\(\) got an unexpected keyword argument 'in_loop'"):
        both.decide("?", OPTIONS, runtime=scripted(), in_loop=True)
    with pytest.raises(TypeError, match=r"exec\(\) got an unexpected keyword argument 'state'"):
        both.exec(scripted(), "?", choices=OPTIONS, state="s")


def test_state_shows_models_and_dataclasses_by_their_fields(both):
    with scripted(pick("mark")) as rt:
        both.make("?", OPTIONS, runtime=rt, state={"money": Money(amount=3)})
    assert '"amount": 3.0' in rt.requests[0].prompt


def test_a_typed_reply_that_fails_is_not_called_a_pick(both):
    with pytest.raises(DecisionError, match="^no valid value in 1 reply"):
        both.exec(scripted("hello"), "?", response_format=int, max_retries=0)


def test_parse_args_checks_what_it_is_given():
    with pytest.raises(TypeError, match="a str, not NoneType"):
        decision.parse_args(None, ["a"])
    with pytest.raises(SettingError, match="repair"):
        decision.parse_args("x", ["a"], repair="zz")


def test_a_traced_lambda_around_an_async_function_records_its_result():
    from decidable import trace

    async def later():
        return 3

    with trace() as t:
        asyncio.run(decision.async_make("?", {"x": lambda: later()}, runtime=scripted(pick("x"))))
    assert [(n.kind, n.output) for n in t.nodes][-1] == ("function", 3)
