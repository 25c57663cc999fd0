"""The tool loop on every wire, through its codec: every tool use has its result, ids match, order is kept."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from decidable import ApprovalRequired, Runtime, ToolCall, ToolResult, tool
from decidable.content import MediaPart, TextPart
from decidable.messages import Reply
from decidable.testing import call_tool, call_tools, fake_endpoint, pick

NAMES = ["openai:tiny", "openai-responses:tiny", "anthropic:tiny", "gemini:tiny", "openrouter:tiny", "ollama:tiny"]


@pytest.fixture(params=NAMES)
def name(request) -> str:
    return request.param


def look(order: str, detailed: bool = False) -> str:
    """Find an order."""
    return f"{order} is here"


def boom(why: str) -> str:
    """Fail."""
    raise ValueError(why)


def in_anthropic(body: dict) -> Iterator[tuple[str, str]]:
    for turn in body["messages"]:
        for block in turn["content"] if isinstance(turn["content"], list) else []:
            if block["type"] == "tool_use":
                yield "use", block["id"]
            elif block["type"] == "tool_result":
                yield "result", block["tool_use_id"]


def in_gemini(body: dict) -> Iterator[tuple[str, str]]:
    """By name: the wire has no ids, the order tells."""
    for part in (part for turn in body["contents"] for part in turn["parts"]):
        if "functionCall" in part:
            yield "use", part["functionCall"]["name"]
        elif "functionResponse" in part:
            yield "result", part["functionResponse"]["name"]


def in_responses(body: dict) -> Iterator[tuple[str, str]]:
    kinds = {"function_call": "use", "function_call_output": "result"}
    for item in body["input"]:
        if item.get("type") in kinds:
            yield kinds[item["type"]], item["call_id"]


def in_chat(body: dict) -> Iterator[tuple[str, str]]:
    for message in body["messages"]:
        yield from (("use", call["id"]) for call in message.get("tool_calls") or ())
        if message["role"] == "tool":
            yield "result", message["tool_call_id"]


USES = {"anthropic": in_anthropic, "gemini": in_gemini, "openai-responses": in_responses}


def check_whole(name: str, body: dict, rounds: list[int]) -> None:
    """Each round's uses as they were sent, then its results in the same order, and nothing dangling."""
    found = list(USES.get(name.split(":", maxsplit=1)[0], in_chat)(body))
    for size in rounds:
        uses, found = found[:size], found[size:]
        results, found = found[:size], found[size:]
        assert [kind for kind, _ in uses] == ["use"] * size
        assert [("use", id_) for kind, id_ in results if kind == "result"] == uses
    assert found == []


def test_rounds_of_one_and_of_several_calls(name, both):
    fake = fake_endpoint(
        name,
        call_tool("look", order="1", text="Let me see."),
        call_tools(("look", {"order": "2"}), ("boom", {"why": "bad"}), ("lok", {"order": "3"})),
        "Done.",
    )
    assert both.exec(Runtime(fake.provider), "?", tools=[look, boom]) == "Done."
    check_whole(name, fake.bodies[1], [1])
    check_whole(name, fake.bodies[2], [1, 3])
    understood = fake._wire.asked(fake.paths[2], fake.bodies[2])
    results = understood.messages[-1].tool_results
    assert [r.name for r in results] == ["look", "boom", "lok"]
    said = [str(r.content) for r in results]
    assert "2 is here" in said[0]
    assert "ValueError: bad" in said[1]
    assert "there is no tool 'lok'" in said[2]
    fake.assert_complete()


def test_the_tools_are_declared_in_every_request(name, both):
    fake = fake_endpoint(name, call_tool("look", order="1"), "Done.")
    both.exec(Runtime(fake.provider), "?", tools=[look])
    for number in (0, 1):
        request = fake._wire.asked(fake.paths[number], fake.bodies[number])
        assert [spec.name for spec in request.tools] == ["look"]


@pytest.mark.parametrize("via", ["menu", "tools", "schema"])
def test_work_then_decide(name, both, via):
    steps = [pick("close")] if via == "menu" else ["Looked.", pick("close")]
    fake = fake_endpoint(name, call_tools(("look", {"order": "1"}), ("look", {"order": "2"})), *steps)
    out = both.exec(Runtime(fake.provider), "?", tools=[look], choices={"close": "closed", "look": look}, via=via)
    assert out == "closed"
    check_whole(name, fake.bodies[-1], [2])


def test_a_re_ask_keeps_the_conversation_whole(name, both):
    fake = fake_endpoint(name, call_tool("look", order="1"), "Hmm.", pick("close"))
    both.exec(Runtime(fake.provider), "?", tools=[look], choices=["close", "wait"])
    check_whole(name, fake.bodies[-1], [1])
    request = fake._wire.asked(fake.paths[-1], fake.bodies[-1])
    if name.startswith("ollama"):  # it reads no tool choice, so there is nothing to call
        assert request.tools == ()
    else:
        assert request.tool_choice == "none"


@pytest.mark.parametrize("name", [name for name in NAMES if name != "ollama:tiny"])
def test_the_choice_is_sent(name, both):
    fake = fake_endpoint(name, call_tool("look", order="1"), "Done.")
    both.exec(Runtime(fake.provider), "?", tools=[look, boom], tool_choice="look", parallel_tool_calls=False)
    first, second = (fake._wire.asked(p, b) for p, b in zip(fake.paths, fake.bodies, strict=True))
    assert first.tool_choice.name == "look"
    assert second.tool_choice == "auto"


@pytest.mark.parametrize("name", ["openai-responses:tiny", "anthropic:tiny"])
def test_a_result_may_be_an_image(name, both):
    image = MediaPart("image", b"\x89PNG", "image/png")
    fake = fake_endpoint(name, call_tool("draw"), "A dot.")
    both.exec(Runtime(fake.provider), "?", tools=[tool(lambda: image, name="draw")])
    request = fake._wire.asked(fake.paths[1], fake.bodies[1])
    assert request.messages[-1].tool_results[0].content[0].data == b"\x89PNG"


def test_a_snapshot_goes_on_over_the_wire(name, both):
    paid = []

    def pay(order: str) -> str:
        """Pay."""
        paid.append(order)
        return "paid"

    guarded = tool(pay, requires_approval=True)
    first = fake_endpoint(name, call_tools(("look", {"order": "1"}), ("pay", {"order": "1"})))
    with pytest.raises(ApprovalRequired) as caught:
        both.exec(Runtime(first.provider), "?", tools=[look, guarded])
    second = fake_endpoint(name, "Done.")
    id_ = caught.value.pending[0].id
    assert Runtime(second.provider).resume(caught.value.snapshot, {id_: True}, tools=[look, guarded]) == "Done."
    assert paid == ["1"]
    check_whole(name, second.bodies[0], [2])


def test_reasoning_is_sent_back_with_the_calls_that_it_led_to():
    fake = fake_endpoint(
        "anthropic:tiny",
        lambda request: Reply(
            "So.", "tool_calls", reasoning="think", tool_calls=(ToolCall("toolu_1", "look", {"order": "1"}),)
        ),
        "Done.",
    )
    Runtime(fake.provider).exec("?", tools=[look])
    kinds = [block["type"] for block in fake.bodies[1]["messages"][1]["content"]]
    assert kinds == ["thinking", "text", "tool_use"]


def test_a_stream_shows_the_same_on_every_wire(name):
    fake = fake_endpoint(name, call_tool("look", order="1"), "Done.")
    events = list(Runtime(fake.provider).stream("?", tools=[look]))
    kinds = [type(event).__name__ for event in events if isinstance(event, (ToolCall, ToolResult))]
    assert kinds == ["ToolCall", "ToolResult"]
    assert events[-1].result == "Done."
    streamed = [
        body.get("stream") or "streamGenerateContent" in path
        for body, path in zip(fake.bodies, fake.paths, strict=True)
    ]
    assert streamed == [True, True]


def picture() -> list[TextPart | MediaPart]:
    """A picture, a sound, and what they are."""
    return [TextPart("a cat"), MediaPart("image", b"\x89PNG", "image/png"), MediaPart("audio", b"x", "audio/wav")]


def test_images_that_tools_give_back_reach_the_model_and_other_media_is_named(name, both):
    fake = fake_endpoint(name, call_tools(("picture", {}), ("look", {"order": "1"}), ("picture", {})), "Two cats.")
    assert both.exec(Runtime(fake.provider), "?", tools=[picture, look]) == "Two cats."
    check_whole(name, fake.bodies[1], [3])
    sent = str(fake.bodies[1])
    assert sent.count("iVBORw==") == 2
    assert sent.count("[audio/wav, which you cannot be shown]") == 2
    assert sent.count("a cat") == 2
    assert "1 is here" in sent
    fake.assert_complete()


def test_images_follow_the_results_on_the_chat_wire_in_their_order():
    fake = fake_endpoint("openai:tiny", call_tools(("picture", {}), ("picture", {})), "ok")
    Runtime(fake.provider).exec("?", tools=[picture])
    first, second, images = fake.bodies[1]["messages"][2:]
    assert first["content"].startswith("a cat\n\n[image 1 of the message that follows]")
    assert "[image 2 of the message that follows]" in second["content"]
    assert images["role"] == "user"
    assert [part["type"] for part in images["content"]] == ["text", "image_url", "image_url"]


def test_an_endpoint_without_images_is_told_that_there_was_one(both):
    fake = fake_endpoint("deepseek:tiny", call_tool("picture"), "A cat.")
    assert both.exec(Runtime(fake.provider), "?", tools=[picture]) == "A cat."
    (result,) = [m for m in fake.bodies[1]["messages"] if m["role"] == "tool"]
    assert result["content"] == (
        "a cat\n\n[image/png, which you cannot be shown]\n\n[audio/wav, which you cannot be shown]"
    )
