"""The keywords that calls share, and what is in range for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, cast, get_args

from decidable.attempt import Repair
from decidable.errors import ArgumentTypeError, SettingError, UsageError, did_you_mean
from decidable.flow.ask import RetryInfo

if TYPE_CHECKING:
    from decidable.runtimes import Runtime

__all__ = [
    "DecisionSettings",
    "ExecSettings",
    "OnRetry",
    "checked_count",
    "checked_repair",
    "checked_seconds",
    "refuse_tools",
    "refuse_unknown",
]

OnRetry: TypeAlias = Callable[[RetryInfo], None]

TOOLSETS: Mapping[str, tuple[Any, ...]] = {"default": ()}
"""Named groups of tools. The default one is empty: tools are off unless given."""


class DecisionSettings(TypedDict, total=False):
    """Keywords of the verbs in `decidable.decision`; `make` says what they mean."""

    runtime: Runtime | None
    state: Any
    context: Mapping[str, Any] | None
    max_retries: int
    repair: Repair | None
    model: str | None
    timeout_s: float | None
    on_retry: OnRetry | None


class ExecSettings(TypedDict, total=False):
    """Keywords of `Runtime.exec` that do not change what it returns."""

    context: Mapping[str, Any] | None
    model: str | None
    tools: Iterable[Any] | None
    toolset: str | None
    max_retries: int
    repair: Repair | None
    timeout_s: float | None
    on_retry: OnRetry | None
    effort: str | None


def refuse_unknown(name: str, given: Mapping[str, Any], known: type[Any]) -> None:
    """Raise if `given` holds a keyword that the settings class `known` does not name."""
    for keyword in given:
        if keyword not in known.__annotations__:
            hint = did_you_mean(keyword, tuple(known.__annotations__))
            raise ArgumentTypeError(f"{name}() got an unexpected keyword argument {keyword!r}; {hint}")


def refuse_tools(tools: Iterable[Any] | None, toolset: str | None) -> None:
    """Raise if there are tools to run, or the toolset has no such name."""
    if toolset is not None and toolset not in TOOLSETS:
        raise UsageError(f"no toolset is named {toolset!r}; {did_you_mean(toolset, tuple(TOOLSETS))}")
    if tools is not None and list(tools):
        raise UsageError(
            "this version runs no tools: leave tools= out, and offer what the model may do as choices=, or run the "
            "tools in your own loop"
        )


def checked_count(value: Any) -> int:
    """`value` as a number of retries."""
    if type(value) is not int or value < 0:
        raise SettingError(f"max_retries counts retries, 0 or more, not {value!r}")
    return value


def checked_seconds(value: Any) -> float | None:
    """`value` as a time limit, or None for none."""
    if value is None:
        return None
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not value > 0:
        raise SettingError(f"timeout_s is a number of seconds above 0, or None, not {value!r}")
    return float(value)


def checked_repair(value: Any) -> Repair:
    """`value` as a repair level."""
    if value not in get_args(Repair):
        raise SettingError(f"repair is one of {', '.join(map(repr, get_args(Repair)))}, not {value!r}")
    return cast("Repair", value)
