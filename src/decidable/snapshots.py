"""A run as JSON, to be kept anywhere and gone on with in another process; nothing in it is ever executed."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from decidable.asking import Manner
from decidable.attempt import Attempt, FailureKind
from decidable.content import MediaPart, TextPart
from decidable.errors import SettingError
from decidable.flow.job import Job, Repeats, Round
from decidable.flow.prompts import state_json
from decidable.menu import Menu
from decidable.messages import Message, Reply, Sampling, Usage
from decidable.questions.types import (
    ChoiceAnswer,
    Evidence,
    NoulAnswer,
    Provenance,
    ProviderAttempt,
    Refusal,
    ScoreAnswer,
)
from decidable.tools import Echo, NamedTool, Token, ToolCall, ToolResult, ToolRun

__all__ = ["VERSION", "dumped", "loaded", "settings_of"]

VERSION = 1
_KIND = "decidable.run"
_NEEDED = {"manner", "options", "record"}
_MARK = "$"

_CLASSES: dict[str, type[Any]] = {
    cls.__name__: cls
    for cls in (
        *(Attempt, Echo, Job, MediaPart, Message, NamedTool, Repeats, Reply, Round, Sampling, TextPart, Token),
        *(ToolCall, ToolResult, ToolRun, Usage, ChoiceAnswer, NoulAnswer, Refusal, ScoreAnswer),
        *(Evidence, Provenance, ProviderAttempt),
    )
}
_AS_THEY_ARE: dict[str, Any] = {"data": Echo, "arguments": (ToolCall, ToolRun)}
"""Attributes that hold JSON of others: kept word for word, lists as lists."""
_LISTS = (Job, Round)
"""Classes whose sequences change, and so are lists; those of all others are tuples."""


def dumped(job: Job, settings: Mapping[str, Any]) -> dict[str, Any]:
    """A run, and how it was asked for, as JSON values.

    Args:
        job: The run.
        settings: What is needed to go on; values that JSON, or this module, knows.
    """
    return {
        "kind": _KIND,
        "version": VERSION,
        "settings": {name: _out(value) for name, value in settings.items()},
        "job": _out(job),
    }


def settings_of(manner: Manner, *, menu: Menu | None, record: bool, **more: Any) -> dict[str, Any]:
    """How a run was asked for, for `dumped`.

    Args:
        manner: How the model is asked.
        menu: What is chosen from, if anything; only the names are kept.
        record: Whether the run ends in the whole record.
        more: Whatever else is needed to go on.
    """
    kept = {f.name: getattr(manner, f.name) for f in fields(manner) if f.name not in ("gate", "ledger")}
    if more.get("state") is not None:
        more["state"] = state_json(more["state"])
    return {"manner": kept, "options": None if menu is None else list(menu.index), "record": record, **more}


def loaded(snapshot: Any) -> tuple[Job, dict[str, Any]]:
    """The run in a snapshot, and how it was asked for.

    Args:
        snapshot: As `dumped` made it, or its JSON text.

    Raises:
        SettingError: It is no snapshot, or one of another version, or was changed.
    """
    if isinstance(snapshot, (str, bytes)):
        try:
            snapshot = json.loads(snapshot)
        except ValueError as error:
            raise SettingError(f"the snapshot is not JSON: {error}") from None
    if not isinstance(snapshot, Mapping) or snapshot.get("kind") != _KIND:
        what = f"this {type(snapshot).__name__}" if isinstance(snapshot, Mapping) else repr(snapshot)
        raise SettingError(f"resume takes a stopped run's error, or its snapshot (error.snapshot), not {what}")
    if snapshot.get("version") != VERSION:
        raise SettingError(f"the snapshot is of version {snapshot.get('version')!r}; this library reads {VERSION}")
    try:
        job = _in(snapshot["job"])
        settings = {name: _in(value) for name, value in snapshot["settings"].items()}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SettingError(f"the snapshot was changed or cut: {type(error).__name__}: {error}") from None
    if not isinstance(job, Job) or not settings.keys() >= _NEEDED:
        raise SettingError("the snapshot was changed or cut: it holds no whole run")
    return job, settings


def _out(value: Any) -> Any:
    name = type(value).__name__
    if _CLASSES.get(name) is type(value):
        made: dict[str, Any] = {_MARK: name}
        for f in fields(value):
            held = getattr(value, f.name)
            made[f.name] = held if _is_foreign(type(value), f.name) else _out(held)
        return made
    if isinstance(value, bytes):
        return {_MARK: "bytes", "base64": base64.b64encode(value).decode()}
    if isinstance(value, (list, tuple)):
        return [_out(item) for item in value]
    if isinstance(value, Mapping):
        return {_MARK: "map", "items": {key: _out(item) for key, item in value.items()}}
    return value.value if isinstance(value, FailureKind) else value


def _in(value: Any) -> Any:
    if isinstance(value, list):
        return [_in(item) for item in value]
    if not isinstance(value, dict):
        return value
    name = value[_MARK]
    if name == "bytes":
        return base64.b64decode(value["base64"], validate=True)
    if name == "map":
        return {key: _in(item) for key, item in value["items"].items()}
    cls = _CLASSES[name]
    held: dict[str, Any] = {}
    for f in fields(cls):
        if f.name in value:
            inner = value[f.name]
            held[f.name] = inner if _is_foreign(cls, f.name) else _sequence(cls, _in(inner))
    if cls is Attempt:
        held["kind"] = FailureKind(held["kind"])
    if cls is Job:
        held["attempts"] = tuple(held["attempts"])
    return cls(**held)


def _is_foreign(cls: type[Any], name: str) -> bool:
    return name in _AS_THEY_ARE and issubclass(cls, _AS_THEY_ARE[name])


def _sequence(cls: type[Any], value: Any) -> Any:
    if not isinstance(value, list) or cls in _LISTS:
        return value
    return tuple(tuple(item) if isinstance(item, list) else item for item in value)
