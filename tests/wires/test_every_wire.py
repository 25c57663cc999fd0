"""The same decisions on every wire, through its codec: what is really sent, what really comes back."""

from __future__ import annotations

import pytest

from decidable import DecisionError, LLMError, RefusedError, Runtime, TextDelta, UnaskableError, Usage
from decidable.messages import Reply
from decidable.testing import fake_endpoint, http_failure, pick, refusal, truncated
from decidable.tools import Token, ToolCall
from test_via import CASES, MENU, VIAS

NAMES = ["openai:tiny", "openai-responses:tiny", "anthropic:tiny", "gemini:tiny", "openrouter:tiny", "vllm:tiny"]


@pytest.fixture(params=NAMES)
def name(request) -> str:
    return request.param


@pytest.mark.parametrize("via", VIAS)
@pytest.mark.parametrize(("option", "arguments", "result"), CASES, ids=[f"{c[0]}-{len(c[1])}" for c in CASES])
def test_the_same_case_has_the_same_result(name, via, option, arguments, result, both):
    fake = fake_endpoint(name, pick(option, **arguments))
    made = both.decide("Next?", MENU, runtime=Runtime(fake.provider), via=via)
    assert (made.option, made.result, made.attempts, made.repairs) == (option, result, (), ())
    fake.assert_complete()


@pytest.mark.parametrize("via", VIAS)
def test_a_bad_pick_is_asked_again_and_the_server_understands_the_history(name, via, both):
    fake = fake_endpoint(name, pick("refund", order=5), pick("close"))
    made = both.decide("Next?", MENU, runtime=Runtime(fake.provider), via=via)
    assert made.result == "closed"
    assert [attempt.kind for attempt in made.attempts] == ["type_mismatch"]
    again = fake._wire.asked(fake.paths[1], fake.bodies[1])
    assert [message.role for message in again.messages] == ["user", "assistant", "user"]
    assert "order: must be a str" in again.messages[2].content
    if via == "tools":
        (call,) = again.messages[1].tool_calls
        assert call.name == "refund"
        assert [(r.call_id, r.name) for r in again.messages[2].tool_results] == [(call.id, "refund")]


def test_every_one_of_several_calls_is_answered(name, both):
    def two(request):
        return Reply("", "tool_calls", tool_calls=(ToolCall("a1", "close", {}), ToolCall("b2", "nothing", {})))

    fake = fake_endpoint(name, two, pick("close"))
    made = both.decide("Next?", MENU, runtime=Runtime(fake.provider), via="tools")
    assert [attempt.kind for attempt in made.attempts] == ["ambiguous"]
    again = fake._wire.asked(fake.paths[1], fake.bodies[1])
    asked = [(call.id, call.name) for call in again.messages[1].tool_calls]
    assert [name_ for _, name_ in asked] == ["close", "nothing"]
    assert [(r.call_id, r.name) for r in again.messages[2].tool_results] == asked


def test_the_system_prompt_and_the_history_arrive(name):
    from decidable import agentic_function

    @agentic_function(system="Be brief.")
    def ask(runtime=None) -> str:
        return runtime.exec("Hello")

    fake = fake_endpoint(name, "Hi.")
    assert ask(runtime=Runtime(fake.provider)) == "Hi."
    request = fake._wire.asked(fake.paths[0], fake.bodies[0])
    assert (request.system, request.messages[0].content, request.model) == ("Be brief.", "Hello", "tiny")


def test_images_arrive(name):
    fake = fake_endpoint(name, "A cat.")
    picture = {"type": "image", "data": b"\x89PNG", "mime_type": "image/png"}
    assert Runtime(fake.provider).exec(["What is this?", picture]) == "A cat."
    content = fake._wire.asked(fake.paths[0], fake.bodies[0]).messages[0].content
    assert (content[0].text, content[1].data, content[1].mime_type) == ("What is this?", b"\x89PNG", "image/png")


@pytest.mark.parametrize("kind", ["audio", "video", "file"])
def test_other_media_are_refused_before_anything_is_sent(name, kind):
    fake = fake_endpoint(name)
    with pytest.raises(UnaskableError, match=f"is sent text and images; the content holds {kind}"):
        Runtime(fake.provider).exec([{"type": kind, "data": b"x", "mime_type": f"{kind}/y"}])


def test_typed_replies_are_held_to_their_schema(name, both):
    fake = fake_endpoint(name, "[1, 2, 3]")
    assert both.exec(Runtime(fake.provider), "Numbers?", response_format=list[int]) == [1, 2, 3]
    request = fake._wire.asked(fake.paths[0], fake.bodies[0])
    assert request.output_schema is not None
    assert request.messages[0].content == "Numbers?"


def test_a_type_that_the_wire_cannot_express_goes_through_the_prompt(name):
    fake = fake_endpoint(name, '{"a": [1, "x"]}')
    found = Runtime(fake.provider).exec("A map?", response_format=dict[str, tuple[int, str]])
    assert found == {"a": (1, "x")}
    request = fake._wire.asked(fake.paths[0], fake.bodies[0])
    if name != "vllm:tiny":  # which takes any JSON Schema
        assert request.output_schema is None
        assert "It must fit this JSON Schema" in request.messages[0].content


def test_a_menu_that_the_wire_cannot_express_as_a_schema_is_refused_with_its_path(name):
    def note(words: dict[str, list]) -> None:
        """Write down."""

    fake = fake_endpoint(name, pick("note", words={}))
    if name == "vllm:tiny":
        Runtime(fake.provider, via="schema").exec("Next?", choices={"note": note, "b": 1})
        return
    with pytest.raises(UnaskableError, match=r"output schema: at \$\|0\.args\.words.*cannot express"):
        Runtime(fake.provider, via="schema").exec("Next?", choices={"note": note, "b": 1})
    assert fake.bodies == []


def test_refusals_and_cuts_keep_their_meaning(name, both):
    with pytest.raises(RefusedError):
        both.make("Next?", MENU, runtime=Runtime(fake_endpoint(name, _declined(name)).provider))
    fake = fake_endpoint(name, truncated('{"call": "ref'), truncated('{"call": "ref'))
    with pytest.raises(DecisionError) as caught:
        both.make("Next?", MENU, runtime=Runtime(fake.provider))
    assert caught.value.kind == "truncated"


def _declined(name: str) -> Reply:
    """Gemini has no refusal of its own, only what its filters hold back."""
    return Reply("", "content_filter") if name.startswith("gemini") else refusal("No.")


@pytest.mark.parametrize("via", VIAS)
def test_decisions_stream(name, via):
    fake = fake_endpoint(name, pick("refund", order="A-17"))
    with Runtime(fake.provider).stream("Next?", choices=MENU, via=via) as events:
        seen = list(events)
    assert seen[-1].result.result == ("refund", "A-17", 1.5)
    assert (sum(isinstance(e, TextDelta) for e in seen) > 1) == (via != "tools")


def test_usage_is_counted_over_re_asks(name, both):
    def reply(text):
        return Reply(text, "stop", usage=Usage(10, 4, 3, 2))

    fake = fake_endpoint(name, reply("no"), reply('{"call": "close"}'))
    assert both.decide("Next?", MENU, runtime=Runtime(fake.provider)).usage == Usage(20, 8, 6, 4)


def test_failures_are_tried_again_and_reasons_told(name, both):
    fake = fake_endpoint(name, http_failure(503), http_failure(429, retry_after="0"), pick("close"))
    told = []
    from decidable.flow.run import Host

    async def no_sleep(seconds):
        pass

    rt = Runtime(fake.provider, on_retry=told.append, host=Host(sleep=lambda s: None, sleep_async=no_sleep))
    assert both.make("Next?", MENU, runtime=rt) == "closed"
    assert [info.error.reason for info in told] == ["provider", "rate_limit"]
    with pytest.raises(LLMError) as caught:
        both.make("Next?", MENU, runtime=Runtime(fake_endpoint(name, http_failure(401)).provider))
    assert (caught.value.reason, caught.value.retryable) == ("auth", False)


def test_samples_are_asked_for_on_every_wire(name, both):
    fake = fake_endpoint(name, pick("close"), pick("nothing"), pick("close"))
    made = both.decide("Next?", MENU, runtime=Runtime(fake.provider), samples=3)
    assert (made.option, made.origin) == ("close", "votes")
    assert made.probability == pytest.approx(2 / 3)


def test_log_probabilities_where_the_wire_has_them(name, both):
    reply = Reply("A", "stop", tokens=(Token("A", -0.105, (("A", -0.105), ("B", -2.303))),))
    fake = fake_endpoint(name, reply)
    if name.startswith("anthropic"):
        with pytest.raises(UnaskableError, match="reports no token log-probabilities; use samples="):
            both.decide("Next?", ["a", "b"], runtime=Runtime(fake.provider), logprobs=True)
        return
    made = both.decide("Next?", ["a", "b"], runtime=Runtime(fake.provider), logprobs=True)
    assert made.origin == "logprobs"
    assert made.probabilities == {"a": pytest.approx(0.9, abs=0.001), "b": pytest.approx(0.1, abs=0.001)}


def test_the_script_is_kept_to(name):
    fake = fake_endpoint(name, "one", "two")
    Runtime(fake.provider).exec("Hello")
    with pytest.raises(AssertionError, match="1 of 2 steps were never asked for"):
        fake.assert_complete()
    fake = fake_endpoint(name)
    with pytest.raises(AssertionError, match="request 1 is one too many"):
        Runtime(fake.provider).exec("Hello")
