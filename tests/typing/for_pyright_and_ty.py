"""What pyright and ty infer: the union of what the options result in."""

from __future__ import annotations

from typing import Any

from shared import Colour, Escalate, Other, Plain, Point, Refund, Row, later, later_text, one, other, plain, text, two
from typing_extensions import assert_type

from decidable import (
    Decision,
    FunctionOption,
    Provider,
    Runtime,
    SchemaOption,
    ValueOption,
    agentic_function,
    connect,
    decision,
    llm,
    runtime,
)

number: ValueOption[int] = ValueOption(1)
run_one = FunctionOption(one)

# Functions and values in one dict.
assert_type(decision.make("?", {"a": one, "b": text, "done": "OVER", "n": None}), int | str | None)
assert_type(decision.make("?", {"a": one, "b": two}), int)
assert_type(decision.make("?", {"a": one, "b": text}), int | str)
assert_type(decision.make("?", [one, text]), int | str)
assert_type(decision.make("?", {"a": plain, "b": other}), Plain | Other)
assert_type(decision.make("?", {"a": (one, "d"), "b": text}), int | str)
assert_type(decision.make("?", {"a": one, "plan": ("Plan.", {"why": str})}), int | dict[str, Any])

# Option objects.
assert_type(decision.make("?", {"a": number, "b": run_one}), int)

# Whole containers.
assert_type(decision.make("?", Colour), Colour)
assert_type(decision.make("?", Refund), Refund)
assert_type(decision.make("?", Point), Point)
assert_type(decision.make("?", Row), Row)
assert_type(decision.make("?", [Refund, Escalate]), Refund | Escalate)
assert_type(decision.make("?", {"refund": Refund}), Refund)
assert_type(decision.make("?", {"a": SchemaOption(Refund)}), Refund)

# Names.
assert_type(decision.make("?", ["a", "b"]), str)

# The record.
assert_type(decision.decide("?", {"a": one, "b": text}), Decision[int | str])
assert_type(decision.decide("?", Colour).result, Colour)


async def in_a_loop() -> None:
    assert_type(await decision.async_make("?", {"a": later, "b": later_text}), int | str)
    assert_type(await decision.async_make("?", {"a": one, "b": text}), int | str)
    assert_type(await decision.async_make("?", Colour), Colour)
    assert_type(await runtime.async_exec("?"), str)
    assert_type(await runtime.async_exec("?", response_format=Refund), Refund)
    assert_type(await decision.async_decide("?", {"a": later}), Decision[int])


@agentic_function
def route(message: str, urgent: bool = False) -> int:
    return 1


@agentic_function(system="Be brief.")
def injected(rt: Runtime, message: str) -> str:
    return message


class Desk:
    @agentic_function
    def close(self, ticket: int) -> str:
        return ""


assert_type(route("x", urgent=True), int)
assert_type(route("x", runtime=Runtime("local")), int)
assert_type(injected("x"), str)
assert_type(Desk().close(3), str)
assert_type(decision.make("?", [route]), int)

assert_type(llm("?"), str)
assert_type(runtime.exec("?"), str)
assert_type(runtime.exec("?", response_format=Refund), Refund)
assert_type(runtime.stream("?").result, str)
assert_type(runtime.stream("?", response_format=Refund).result, Refund)
assert_type(runtime.stream("?", choices=["a"]).result, Decision[Any])
assert_type(connect("openai:x", api_key="x"), Provider)
assert_type(decision.make("?", ["a"], via="tools", samples=3, shuffle=True, sampling={"seed": 1}), str)
