"""What mypy infers: the type where all options agree, and Any, never a wrong type, where it cannot know."""

from __future__ import annotations

from typing import Any

from shared import (
    Colour,
    Escalate,
    Plain,
    Point,
    Refund,
    Row,
    later,
    later_text,
    one,
    other,
    plain,
    plain_too,
    text,
    two,
)
from typing_extensions import assert_type

from decidable import (
    Decision,
    FunctionOption,
    Option,
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

number = ValueOption(1)
run_one = FunctionOption(one)

# One return type, whatever the parameters.
assert_type(decision.make("?", {"a": one, "b": two}), int)
assert_type(decision.make("?", [one, two]), int)
assert_type(decision.make("?", {"a": (one, "d"), "b": (two, "d")}), int)
assert_type(decision.make("?", {"a": plain, "b": plain_too}), Plain)
assert_type(decision.make("?", [one]), int)

# Different ones: Any.
assert_type(decision.make("?", {"a": one, "b": text}), Any)
assert_type(decision.make("?", [one, text]), Any)
assert_type(decision.make("?", {"a": plain, "b": other}), Any)
assert_type(decision.make("?", {"a": one, "b": text, "done": "OVER", "n": None}), Any)
assert_type(decision.make("?", {"a": one, "done": "OVER"}), Any)
joined = {"a": one, "b": text}
assert_type(decision.make("?", joined), Any)
assert_type(decision.make("?", {"a": Plain()}), Any)

# Option objects.
assert_type(decision.make("?", {"a": number}), int)
assert_type(decision.make("?", {"a": number, "b": run_one}), int)
assert_type(decision.make("?", [run_one]), int)
assert_type(decision.make("?", {"a": number, "b": ValueOption("x")}), Any)

# Whole containers.
assert_type(decision.make("?", Colour), Colour)
assert_type(decision.make("?", Refund), Refund)
assert_type(decision.make("?", Point), Point)
assert_type(decision.make("?", Row), Row)
assert_type(decision.make("?", {"refund": Refund}), Refund)
assert_type(decision.make("?", [Refund]), Refund)
assert_type(decision.make("?", [Refund, Escalate]), Any)
assert_type(decision.make("?", {"a": SchemaOption(Refund)}), Refund)

# Names and values.
assert_type(decision.make("?", ["a", "b"]), str)
assert_type(decision.make("?", {"plan": ("Plan.", {"why": str})}), Any)

# The record.
assert_type(decision.decide("?", {"a": one, "b": two}), Decision[int])
assert_type(decision.decide("?", {"a": one, "b": text}), Decision[Any])
assert_type(decision.decide("?", Colour).result, Colour)


async def in_a_loop() -> None:
    assert_type(await decision.async_make("?", {"a": later}), int)
    assert_type(await decision.async_make("?", {"a": one, "b": two}), int)
    assert_type(await decision.async_make("?", {"a": later, "b": later_text}), Any)
    assert_type(await decision.async_make("?", Colour), Colour)
    assert_type(await runtime.async_exec("?"), str)
    assert_type(await runtime.async_exec("?", response_format=Refund), Refund)
    assert_type(await decision.async_decide("?", {"a": later}), Decision[int])
    assert_type(await decision.async_decide("?", [Refund]), Decision[Refund])


# Agentic functions keep their signature; a leading runtime is injected.
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
assert_type(decision.make("?", {"a": route, "b": text}), Any)
assert_type(route.spec, dict[str, Any])
route(3)  # type: ignore[call-overload]
Desk().close("x")  # type: ignore[call-overload]

assert_type(llm("?"), str)
assert_type(runtime.exec("?"), str)
assert_type(runtime.exec("?", response_format=Refund), Refund)
assert_type(runtime.stream("?").result, str)
assert_type(runtime.stream("?", response_format=Refund).result, Refund)
assert_type(runtime.stream("?", choices=["a"]).result, Decision[Any])
assert_type(connect("openai:x", api_key="x"), Provider)
assert_type(decision.make("?", ["a"], via="tools", samples=3, shuffle=True, sampling={"seed": 1}), str)

# Wrong calls are errors.
decision.make("?", 3)  # type: ignore[call-overload]
decision.make("?", {"a": one}, max_retries="no")  # type: ignore[call-overload]
decision.make("?", {"a": one}, max_retrys=1)  # type: ignore[call-overload]


def option_is_covariant(option: Option[int]) -> Option[object]:
    return option
