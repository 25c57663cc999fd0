"""The keywords that calls share, and what is in range for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, cast, get_args

from decidable.attempt import Repair
from decidable.errors import ArgumentTypeError, SettingError, UsageError, did_you_mean
from decidable.flow.ask import RetryInfo
from decidable.flow.record import FallbackOn
from decidable.messages import Sampling

if TYPE_CHECKING:
    from decidable.ambient import Meter
    from decidable.approval import Approver
    from decidable.budget import Budget
    from decidable.questions.measures import Threshold
    from decidable.questions.receipts import ReceiptStore
    from decidable.runtimes import Runtime

__all__ = [
    "Checkpoint",
    "DecisionSettings",
    "ExecSettings",
    "OnRetry",
    "ResumeSettings",
    "Via",
    "checked_approver",
    "checked_count",
    "checked_effort",
    "checked_fallback",
    "checked_iterations",
    "checked_repair",
    "checked_repeats",
    "checked_samples",
    "checked_seconds",
    "checked_seed",
    "checked_store",
    "checked_via",
    "refuse_unknown",
    "refuse_without_choices",
    "sampling_of",
    "unknown_setting",
]

OnRetry: TypeAlias = Callable[[RetryInfo], None]

Via: TypeAlias = Literal["menu", "tools", "schema"]
"""How a menu is put to a chat model: as text, as one tool per option, or as text with a schema for the reply."""

Checkpoint: TypeAlias = Callable[[dict[str, Any]], Any]
"""Keeps a snapshot; sync or async."""


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
    effort: str | None
    via: Via | None
    samples: int
    shuffle: bool | int
    logprobs: bool
    sampling: Sampling | Mapping[str, Any] | None
    budget: Budget | Meter | None
    approver: Approver | None
    threshold: float | Threshold | None
    margin: float | None
    unsure: Any
    none_of_these: Any
    ask_someone: Any
    orders: int


class ExecSettings(TypedDict, total=False):
    """Keywords of `Runtime.exec` that do not change what it returns."""

    context: Mapping[str, Any] | None
    model: str | None
    tools: Iterable[Any] | None
    toolset: str | Sequence[str] | None
    tools_allow: Iterable[str] | None
    tools_deny: Iterable[str] | None
    tool_choice: str
    parallel_tool_calls: bool | None
    max_iterations: int
    max_repeats: int | None
    approver: Approver | None
    checkpoint: Checkpoint | None
    budget: Budget | Meter | None
    max_retries: int
    repair: Repair | None
    timeout_s: float | None
    on_retry: OnRetry | None
    effort: str | None
    via: Via | None
    samples: int
    shuffle: bool | int
    logprobs: bool
    sampling: Sampling | Mapping[str, Any] | None


class ResumeSettings(TypedDict, total=False):
    """Keywords of `Runtime.resume`."""

    tools: Iterable[Any] | None
    toolset: str | Sequence[str] | None
    tools_allow: Iterable[str] | None
    tools_deny: Iterable[str] | None
    choices: Any
    response_format: Any
    context: Mapping[str, Any] | None
    approver: Approver | None
    checkpoint: Checkpoint | None
    budget: Budget | Meter | None
    timeout_s: float | None
    on_retry: OnRetry | None
    max_iterations: int
    max_repeats: int | None


def refuse_unknown(name: str, given: Mapping[str, Any], known: type[Any], *own: str) -> None:
    """Raise if `given` holds a keyword that the settings class `known` does not name; `own` are the function's own."""
    for keyword in given:
        if keyword not in known.__annotations__:
            hint = did_you_mean(keyword, (*own, *known.__annotations__))
            raise ArgumentTypeError(f"{name}() got an unexpected keyword argument {keyword!r}; {hint}")


_ABOUT_CHOICES: Mapping[str, Any] = {"via": None, "samples": 1, "shuffle": False, "logprobs": False}
"""Settings that say how choices are put to a model, and what they are when nothing was said."""


def refuse_without_choices(given: Mapping[str, Any]) -> None:
    """Raise if a setting is given that has no meaning where there is nothing to choose."""
    for name, unset in _ABOUT_CHOICES.items():
        if given.get(name, unset) != unset:
            raise UsageError(
                f"{name}= says how choices are put to the model, and there are none: give choices=, or leave it"
            )


_RUNTIME = (
    "model",
    "max_retries",
    "repair",
    "timeout_s",
    "on_retry",
    "budget",
    "sampling",
    "via",
    "fallback",
    "fallback_on",
    "toolsets",
    "receipts",
)
_CONNECTION = ("api_key", "base_url", "headers", "extra", "proxy", "client", "async_client")


def unknown_setting(name: str, *_others: str) -> str:
    """What is wrong with a keyword that `Runtime` does not have, and where it belongs."""
    said = f"Runtime() got an unexpected keyword argument {name!r}"
    if name in _CONNECTION:
        return f"{said}; it is a setting of the connection: Runtime(connect('provider:model', {name}=...))"
    if name in Sampling.__dataclass_fields__:
        return f"{said}; write sampling={{{name!r}: ...}}"
    return f"{said}; {did_you_mean(name, _RUNTIME)}"


EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""Every level that some provider knows; which of them a model takes, only its provider can say."""


def checked_effort(value: Any) -> str | None:
    """`value` as a level of reasoning, or None for the provider's default."""
    if value is not None and value not in EFFORTS:
        raise SettingError(f"effort is one of {', '.join(map(repr, EFFORTS))}, or None, not {value!r}")
    return cast("str | None", value)


def checked_approver(value: Any) -> Approver | None:
    """`value` as whom to ask whether a call may run, or None."""
    if value is not None and not callable(value):
        raise ArgumentTypeError(
            f"approver= is a function of an ApprovalRequest that returns True or False, not {value!r}"
        )
    return cast("Approver | None", value)


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


def checked_via(value: Any) -> Via:
    """`value` as a way of putting a menu."""
    if value not in get_args(Via):
        raise SettingError(f"via is one of {', '.join(map(repr, get_args(Via)))}, not {value!r}")
    return cast("Via", value)


def checked_store(value: Any) -> ReceiptStore | None:
    """`value` as what keeps receipts, or None."""
    if value is None:
        return None
    missing = [name for name in ("find", "claim", "record") if not callable(getattr(value, name, None))]
    if missing:
        raise ArgumentTypeError(
            "receipts= takes a store such as decidable.receipts.SQLiteReceipts('receipts.db'), not "
            f"{value!r}, which has no {', '.join(missing)}"
        )
    store: ReceiptStore = value
    return store


MOST_ITERATIONS = 50
"""The range of upstream's loop."""


def checked_iterations(value: Any, before: int = 0) -> int:
    """`value` as a number of replies in a run of tools, of which there were some before it stopped."""
    most = before + MOST_ITERATIONS
    if type(value) is not int or not 1 <= value <= most:
        counted = " from the beginning" if before else ""
        raise SettingError(f"max_iterations counts replies{counted}, from 1 to {most}, not {value!r}")
    return value


def checked_repeats(value: Any) -> int | None:
    """`value` as how often the same call may give the same result, or None for as often as it likes."""
    if value is not None and (type(value) is not int or value < 1):
        raise SettingError(f"max_repeats counts equal calls, 1 or more, or None, not {value!r}")
    found: int | None = value
    return found


MOST_SAMPLES = 1000


def checked_samples(value: Any, name: str = "samples") -> int:
    """`value` as a number of samples, or of orders."""
    if type(value) is not int or not 1 <= value <= MOST_SAMPLES:
        raise SettingError(f"{name} counts {name}, from 1 to {MOST_SAMPLES}, not {value!r}")
    return value


def checked_seed(shuffle: Any) -> int | None:
    """The seed that ``shuffle=`` means: True is 0, False is no shuffling, a number is itself."""
    if isinstance(shuffle, bool):
        return 0 if shuffle else None
    if not isinstance(shuffle, int):
        raise SettingError(f"shuffle is True, False, or an int that seeds it, not {shuffle!r}")
    return shuffle


def checked_fallback(value: Any) -> tuple[FallbackOn, ...]:
    """`value` as the outcomes after which another provider is asked."""
    known = tuple(name for name in get_args(FallbackOn) if name != "unaskable")
    names = (value,) if isinstance(value, str) else tuple(value)
    for name in names:
        if name not in known:
            raise SettingError(f"fallback_on lists some of {', '.join(map(repr, known))}, not {name!r}")
    return names


def sampling_of(value: Any) -> Sampling | None:
    """`value` as sampling settings: a `Sampling`, or a mapping of its fields.

    Raises:
        SettingError: A name or a number that is none of them.
    """
    if value is None or isinstance(value, Sampling):
        checked: Sampling | None = value
    elif isinstance(value, Mapping):
        known = tuple(Sampling.__dataclass_fields__)
        for name in value:
            if name not in known:
                raise SettingError(f"sampling has no {name!r}; {did_you_mean(name, known)}")
        stop = value.get("stop") or ()
        stops = (stop,) if isinstance(stop, str) else tuple(stop) if isinstance(stop, (list, tuple)) else stop
        checked = Sampling(**{**value, "stop": stops})
    else:
        raise SettingError(f"sampling is a Sampling or a mapping such as {{'temperature': 0}}, not {value!r}")
    if checked is not None:
        _check_sampling(checked)
    return checked


def _check_sampling(sampling: Sampling) -> None:
    for name, kind, low, high in (
        ("temperature", (int, float), 0, 2),
        ("top_p", (int, float), 0, 1),
        ("max_tokens", int, 1, None),
        ("seed", int, None, None),
        ("top_logprobs", int, 0, 20),
    ):
        value = getattr(sampling, name)
        if value is None:
            continue
        fits = isinstance(value, kind) and not isinstance(value, bool) and isfinite(value)
        if not fits or (low is not None and value < low) or (high is not None and value > high):
            span = f" from {low} to {high}" if high is not None else f" of at least {low}" if low is not None else ""
            noun = "a whole number" if kind is int else "a number"
            raise SettingError(f"sampling: {name} is {noun}{span}, not {value!r}")
    if not isinstance(sampling.stop, tuple) or not all(isinstance(text, str) and text for text in sampling.stop):
        raise SettingError(f"sampling: stop lists texts at which the reply ends, not {sampling.stop!r}")
