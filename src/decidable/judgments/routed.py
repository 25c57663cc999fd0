"""`route`: one branch of a program, chosen by a model; `route_by_value`: by a value, without one."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Unpack

from decidable.ambient import Ledger, Scope, current_scope
from decidable.errors import OptionError, RouteError, SettingError, did_you_mean
from decidable.flow.drivers import drive, drive_async
from decidable.flow.effects import Flow, Now, RunOption, in_node
from decidable.flow.judged import Judgement, question_request
from decidable.flow.receipting import Draft
from decidable.judgments.judged import refuse_no_state
from decidable.judgments.putting import JudgmentSettings, Putting, opened, refuse_refusals
from decidable.menu import Menu, menu_of
from decidable.options import FunctionOption, Option
from decidable.questions.measures import checked_gate
from decidable.questions.rules import action_of
from decidable.questions.types import Choice
from decidable.receipts.steps import escaped

__all__ = ["Routed", "async_route", "async_route_by_value", "route", "route_by_value"]

FEWEST, MOST = 2, 240


@dataclass(frozen=True, slots=True)
class Routed:
    """Which branch was taken, and what it gave.

    Attributes:
        branch: The branch that the model chose, or that the value names; None if it chose none.
        taken: The branch that was taken.
        unsure: Whether it was taken because the model was not sure, or declined.
        result: What the branch gave.
        judgement: The whole answer; None where no model was asked.
        fallback: Whether it was taken because no branch has the value's name.
    """

    branch: str | None
    taken: str
    unsure: bool
    result: Any
    judgement: Judgement | None = None
    fallback: bool = False


def route(
    state: Any,
    instructions: str,
    branches: Any,
    *,
    unsure: str | None = None,
    gte: float | None = None,
    **settings: Unpack[JudgmentSettings],
) -> Routed:
    """Take the branch that a model chooses.

    Args:
        state: What it is about.
        instructions: What is to be chosen.
        branches: 2 to 240 branches, in any form that a menu has: name to a function without arguments, which runs, or
            to a value; ``(function, "description")`` for a description.
        unsure: The branch that is taken when the model's confidence is below `gte`, or when it declines.
        gte: How sure it must be: above 0, at most 1; the confidence of a choice, as `decidable.questions.confidence_of`
            gives it. Exactly `gte` is sure.
        settings: As `decidable.judgments.JudgmentSettings` says.

    Raises:
        OptionError: Branches that are no branches.
        SettingError: `unsure` without `gte`, or the other way round, or no such branch.
        RefusedError: The model declined, and there is no `unsure`.
        LLMError: The provider failed.
        ReceiptError: The receipt could not be kept; no branch was run.
        Exception: Whatever the branch raises, untouched.
    """
    __tracebackhide__ = True
    putting, menu, flow = _routing(state, instructions, branches, unsure, gte, settings)
    found = putting.runtime.run(flow, putting.scope)
    option = menu.index[found.taken]
    return replace(found, result=putting.runtime.run(_body(option), _inside(putting.scope, option)))


async def async_route(
    state: Any,
    instructions: str,
    branches: Any,
    *,
    unsure: str | None = None,
    gte: float | None = None,
    **settings: Unpack[JudgmentSettings],
) -> Routed:
    """`route` from an event loop: an async branch is awaited, a sync one runs in a worker thread."""
    __tracebackhide__ = True
    putting, menu, flow = _routing(state, instructions, branches, unsure, gte, settings, in_loop=True)
    found = await putting.runtime.run_async(flow, putting.scope)
    option = menu.index[found.taken]
    return replace(found, result=await putting.runtime.run_async(_body(option), _inside(putting.scope, option)))


def _routing(  # noqa: PLR0917 - the arguments of `route`
    state: Any,
    instructions: str,
    branches: Any,
    unsure: str | None,
    gte: float | None,
    settings: Mapping[str, Any],
    in_loop: bool = False,
) -> tuple[Putting, Menu, Flow[Routed]]:
    refuse_no_state(state, "route")
    menu = _branches(branches, in_loop)
    if not FEWEST <= len(menu.options) <= MOST:
        raise OptionError(f"a route has {FEWEST} to {MOST} branches, not {len(menu.options)}")
    if (unsure is None) != (gte is None):
        raise SettingError("unsure= names the branch to take below gte=; give both, or neither")
    gate = None
    if unsure is not None:
        gate = {"gte": checked_gate(gte, "route: gte", 0.0, inclusive=False), "branch": unsure}
        if unsure not in menu.index:
            raise SettingError(f"unsure= names a branch; {did_you_mean(unsure, tuple(menu.index), 'they are')}")
    putting = opened("route", settings, ("unsure", "gte"), must_measure="route(gte=...)" if gate else None)
    question = Choice(instructions, {option.name: option.description or None for option in menu.options})
    request = question_request(state, {"branch": question}, settings.get("model"), settings.get("images"))
    return putting, menu, putting.noted(_routed(putting, request, {"kind": "route", "unsure": gate}), question)


def _routed(putting: Putting, request: Any, rule: dict[str, Any]) -> Flow[Routed]:
    judgement = yield from putting.ask(request, Draft("route", putting.label, rule))
    if rule["unsure"] is None:
        refuse_refusals(judgement, putting.label)
        action = action_of(rule, judgement.answers, request.questions) or {}
    elif judgement.refused:
        action = {"branch": None, "taken": rule["unsure"]["branch"], "unsure": True}
    else:
        action = action_of(rule, judgement.answers, request.questions) or {}
    return Routed(action["branch"], action["taken"], action["unsure"], None, judgement)


def route_by_value(value: Any, branches: Any, *, otherwise: str | None = None, label: str = "route") -> Routed:
    """Take the branch that a value names; no model is asked.

    Args:
        value: The name of a branch, as text. Nothing is coerced.
        branches: As of `route`.
        otherwise: The branch for a value that is missing (None) or names no branch.
        label: Name of this route in traces and errors.

    Raises:
        RouteError: Of kind ``route_missing``, ``route_unknown`` or ``route_type``; no branch was run. The value is not
            quoted.
        Exception: Whatever the branch raises, untouched.

    Example:
        >>> route_by_value("close", {"close": "closed", "wait": "waiting"}).result
        'closed'
    """
    __tracebackhide__ = True
    menu = _branches(branches, False)
    found = drive(_by_value(value, menu, otherwise, label))
    return replace(found, result=_run_here(menu.index[found.taken]))


async def async_route_by_value(
    value: Any, branches: Any, *, otherwise: str | None = None, label: str = "route"
) -> Routed:
    """`route_by_value` from an event loop: an async branch is awaited, a sync one runs in a worker thread."""
    __tracebackhide__ = True
    menu = _branches(branches, True)
    found = await drive_async(_by_value(value, menu, otherwise, label))
    return replace(found, result=await _run_here_async(menu.index[found.taken]))


def _by_value(value: Any, menu: Menu, otherwise: str | None, label: str) -> Flow[Routed]:
    if otherwise is not None and otherwise not in menu.index:
        raise SettingError(f"otherwise= names a branch; {did_you_mean(otherwise, tuple(menu.index), 'they are')}")
    flow = _taken(value, menu, otherwise, label)
    return (yield from flow if current_scope().recorder is None else in_node(flow, "route", label, tuple(menu.index)))


def _taken(value: Any, menu: Menu, otherwise: str | None, label: str) -> Flow[Routed]:
    if value is not None and not isinstance(value, str):
        raise RouteError(f"{label}: a route goes by text, not by a {type(value).__name__}", kind="route_type")
    if value in menu.index:
        return Routed(value, value, unsure=False, result=None)
    if otherwise is None:
        what = "there is no value" if value is None else "no branch has the name that the value gives"
        raise RouteError(
            f"{label}: {what}; the branches are {', '.join(map(repr, menu.index))}, and otherwise= takes all others",
            kind="route_missing" if value is None else "route_unknown",
        )
    yield Now()
    return Routed(None, otherwise, unsure=False, result=None, fallback=True)


def _branches(branches: Any, in_loop: bool) -> Menu:
    menu = menu_of(branches)
    for option in menu.options:
        if option.fields or (isinstance(option, FunctionOption) and option.signature.hidden_required):
            raise OptionError(
                f"branch {option.name!r} takes arguments, and a route has none to give; use decision.make, or a lambda"
            )
        if isinstance(option, FunctionOption) and option.signature.is_async and not in_loop:
            raise OptionError(f"branch {option.name!r} is async; use the async twin of the call")
    return menu


def _body(option: Option[Any]) -> Flow[Any]:
    return (yield RunOption(option, {}))


def _inside(scope: Scope, option: Option[Any]) -> Scope:
    """The scope of a branch, with a path of its own."""
    ledger = scope.ledger or Ledger()
    return replace(scope, ledger=replace(ledger, path=f"{ledger.path}/branches/{escaped(option.name)}/body"))


def _run_here(option: Option[Any]) -> Any:
    from decidable.ambient import use_scope  # only here is there no runtime to run it

    with use_scope(_inside(current_scope(), option)):
        return drive(_body(option))


async def _run_here_async(option: Option[Any]) -> Any:
    from decidable.ambient import use_scope  # as above

    with use_scope(_inside(current_scope(), option)):
        result = await drive_async(_body(option))
        return await result if inspect.isawaitable(result) else result
