"""The test doubles that users get, and the switch that forbids real requests."""

from __future__ import annotations

from typing import Literal

import pytest

from decidable import LLMError, RefusedError, Reply, RequestForbiddenError, Runtime, Unsure, decision
from decidable.messages import ChatRequest
from decidable.providers.protocol import Capabilities
from decidable.testing import (
    ScriptError,
    allow_requests,
    distribution,
    pick,
    refusal,
    requests_allowed,
    scripted,
    text,
    truncated,
)

pytest_plugins = ["pytester"]


def test_a_request_too_many_fails_with_what_it_asked(both):
    with pytest.raises(ScriptError, match=r"request 2 is one too many: the script has 1 steps(.|\n)*second"):
        rt = scripted("one")
        both.exec(rt, "first")
        both.exec(rt, "second")


def test_left_over_steps_fail():
    with (
        pytest.raises(ScriptError, match="1 of 2 steps were never asked for; the next is 'two'"),
        scripted("one", "two") as rt,
    ):
        rt.exec("x")


def test_left_over_steps_do_not_hide_the_real_error():
    with pytest.raises(ZeroDivisionError), scripted("one"):
        raise ZeroDivisionError


def test_every_kind_of_step(both):
    assert both.exec(scripted(text("a")), "?") == "a"
    assert both.exec(scripted(Reply("b")), "?") == "b"
    assert both.exec(scripted(lambda request: f"{type(request).__name__}"), "?") == "ChatRequest"
    with pytest.raises(LLMError, match="down"):
        both.exec(scripted(LLMError("down")), "?")
    with pytest.raises(RefusedError):
        both.make("?", {"x": 1}, runtime=scripted(refusal("no")))
    assert both.make("?", {"x": 1}, runtime=scripted(truncated('{"ca'), pick("x"))) == 1
    with pytest.raises(TypeError, match="a step is"):
        scripted(3)


def test_requests_hold_prompt_menu_and_system(both):
    with scripted(pick("x")) as rt:
        both.make("Pick one.", {"x": 1}, runtime=rt)
    (seen,) = rt.requests
    assert seen.prompt.startswith("Pick one.")
    assert seen.menu.startswith("x()\n    Call: ")
    assert isinstance(seen.request, ChatRequest)
    assert seen.system is None


def test_distributions(both):
    with scripted(distribution(a=0.7, b=0.3), questions=True) as rt:
        made = both.decide("?", {"a": 1, "b": 2}, runtime=rt)
    assert (made.option, made.probability, made.margin) == ("a", 0.7, pytest.approx(0.4))
    with pytest.raises(ScriptError, match="chat request"):
        both.make("?", {"a": 1}, runtime=scripted(distribution(a=1.0)))


class Remote:
    name, model, capabilities = "far-away", None, Capabilities(chat=True)

    def send(self, request, deadline=None):
        return Reply('{"call": "x"}')

    async def asend(self, request, deadline=None):
        return self.send(request)

    def close(self): ...

    async def aclose(self): ...


def test_real_requests_are_forbidden_under_pytest(both):
    assert not requests_allowed()
    with pytest.raises(RequestForbiddenError, match="'far-away'.*scripted.*allow_requests"):
        both.make("?", {"x": 1}, runtime=Runtime(Remote()))
    with allow_requests():
        assert both.make("?", {"x": 1}, runtime=Runtime(Remote())) == 1
    assert not requests_allowed()


def test_a_host_function_is_not_a_real_request(both):
    assert both.make("?", {"x": 1}, runtime=Runtime(lambda content: '{"call": "x"}')) == 1


def test_the_fixture_fails_a_test_with_left_over_steps(pytester):
    pytester.makepyfile(
        """
        def test_good(scripted_runtime):
            assert scripted_runtime("a").exec("?") == "a"

        def test_bad(scripted_runtime):
            scripted_runtime("a")
        """
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*1 of 1 steps were never asked for*"])


def test_unsure_is_an_error_of_its_own():
    provider = scripted(distribution(a=0.55, b=0.45), questions=True).provider
    provider.capabilities = Capabilities(question_types=frozenset({"choice"}), remote=False, min_margin=0.2)
    with pytest.raises(Unsure, match=r"'a' \(0.55\) and 'b' \(0.45\) are 0.10 apart") as caught:
        decision.make("?", {"a": 1, "b": 2}, runtime=Runtime(provider))
    assert caught.value.margin == pytest.approx(0.1)
    assert caught.value.probabilities == {"a": 0.55, "b": 0.45}


def test_a_pick_that_no_question_asks_for_is_a_script_error():
    def q(n: Literal["u", "v"]):
        return n

    for wrong in ({"n": "nope"}, {"m": "v"}):
        with pytest.raises(ScriptError):
            decision.make("?", [q], runtime=scripted(pick("q", **wrong), questions=True))
    assert decision.make("?", [q], runtime=scripted(pick("q", n="v"), questions=True)) == "v"


def test_a_step_that_gives_no_reply_and_a_left_over_pick_say_so():
    with pytest.raises(TypeError, match="step 1 gave"):
        scripted(lambda request: {"call": "x"}).exec("?")
    with pytest.raises(ScriptError, match=r"pick\('close'\)"), scripted(pick("close")):
        pass


@pytest.mark.parametrize("status", ["500", 200, 600])
def test_a_failure_over_http_has_a_failures_status(status):
    from decidable.testing import http_failure

    with pytest.raises(ValueError, match="a failure has a status from 300 to 599"):
        http_failure(status)
    with pytest.raises(TypeError, match="over HTTP are for fake_endpoint"):
        scripted(http_failure(500))
