"""What of a System One body is accepted; all that is wrong with one is told at once, and none of it is quoted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from decidable.testing.systemone.dialects import PARALLEL, Dialect
from decidable.testing.systemone.failing import Problem, invalid

__all__ = ["check", "levels_of"]

_DEEPEST = 64
"""Levels of a state."""


def check(body: Any, dialect: Dialect, model: str) -> dict[str, Any]:
    """`body`, if it is sound.

    Args:
        body: What came.
        dialect: Who is asked.
        model: The model that the path names, or ``""``.

    Raises:
        Failure: With everything that is wrong.
    """
    if not isinstance(body, dict):
        raise invalid(Problem((), "must be an object", "dict_type"))
    problems = [*_model(body, dialect, model), *_state(body), *_questions(body, dialect)]
    if problems:
        raise invalid(*problems)
    return body


def levels_of(value: Any) -> int:
    """How deep a JSON value is nested; counted without recursion, as it may be deeper than Python goes."""
    level, left = 0, [value]
    while holders := [one for one in left if isinstance(one, (dict, list))]:
        level += 1
        left = [inner for one in holders for inner in (one.values() if isinstance(one, dict) else one)]
    return level


def _model(body: Mapping[str, Any], dialect: Dialect, model: str) -> Iterator[Problem]:
    if dialect is PARALLEL:
        if body.get("mode", "fast") != "fast":
            yield Problem(("mode",), "must be 'fast'", "literal_error")
    elif not model:
        yield from _text_at(body, "model")


def _text_at(body: Mapping[str, Any], name: str) -> Iterator[Problem]:
    if name not in body:
        yield Problem((name,), "is required", "missing")
    elif not isinstance(body[name], str) or not body[name]:
        yield Problem((name,), "must be a string, and not empty", "string_type")


def _state(body: Mapping[str, Any]) -> Iterator[Problem]:
    if "state" not in body:
        yield Problem(("state",), "is required", "missing")
    elif not isinstance(body["state"], (str, dict, list)):
        yield Problem(("state",), "must be a string, an object or an array", "value_error")
    elif levels_of(body["state"]) > _DEEPEST:
        yield Problem(("state",), f"must be nested at most {_DEEPEST} levels deep", "too_deep")


def _questions(body: Mapping[str, Any], dialect: Dialect) -> Iterator[Problem]:
    questions = body.get("questions")
    if "questions" not in body:
        yield Problem(("questions",), "is required", "missing")
    elif not isinstance(questions, dict):
        yield Problem(("questions",), "must be an object", "dict_type")
    elif not questions:
        yield Problem(("questions",), "must hold at least one question", "too_short")
    elif dialect.questions is not None and len(questions) > dialect.questions:
        yield Problem(("questions",), f"must hold at most {dialect.questions} questions", "too_long")
    else:
        for name, question in questions.items():
            for problem in _question(name, question, dialect):
                yield Problem(("questions", name, *problem.where), problem.message, problem.kind)


def _question(name: str, question: Any, dialect: Dialect) -> Iterator[Problem]:
    if not name:
        yield Problem((), "must have an id that is not empty", "string_too_short")
    if not isinstance(question, dict):
        yield Problem((), "must be an object", "dict_type")
        return
    kind = question.get("type")
    instructions, criteria = question.get("instructions"), question.get("criteria")
    if "type" not in question:
        yield Problem(("type",), "is required", "missing")
    elif kind == "box":
        yield Problem(("type",), "box questions are not served here", "unsupported")
    elif kind not in ("noul", "choice", "score"):
        yield Problem(("type",), "must be 'noul', 'choice' or 'score'", "literal_error")
    elif not _is_text(instructions, optional=True):
        yield Problem(("instructions",), "must be a string, an object or an array", "value_error")
    elif dialect.instructed and not instructions:
        yield Problem(("instructions",), "is required", "missing")
    elif kind == "noul":
        yield from _noul(instructions, criteria, dialect)
    elif kind == "choice":
        yield from _choice(criteria, dialect)
    else:
        yield from _score(criteria, dialect)


def _noul(instructions: Any, criteria: Any, dialect: Dialect) -> Iterator[Problem]:
    if criteria is not None and not isinstance(criteria, dict):
        yield Problem(("criteria",), "must be an object or null", "dict_type")
        return
    sides = [criteria.get(side) for side in ("true", "false")] if criteria is not None else []
    if any(not _is_text(side, optional=True) for side in sides):
        yield Problem(("criteria",), "each side must be a string, an object, an array or null", "value_error")
    elif not instructions and not any(sides):
        yield Problem((), "needs instructions or one described side", "missing")
    elif dialect.two_sided and sides and not all(sides):
        yield Problem(("criteria",), "needs both sides", "missing")


def _choice(criteria: Any, dialect: Dialect) -> Iterator[Problem]:
    fewest, most = dialect.options
    if not isinstance(criteria, dict):
        yield Problem(("criteria",), "must be an object of options", "dict_type")
    elif not fewest <= len(criteria) <= most:
        yield Problem(("criteria",), f"must hold {fewest} to {most} options", "too_short_or_long")
    elif any(not _is_text(about, optional=not dialect.described) for about in criteria.values()):
        yield Problem(("criteria",), "each description must be a string, an object or an array", "value_error")


def _score(criteria: Any, dialect: Dialect) -> Iterator[Problem]:
    fewest, most = dialect.levels
    if not isinstance(criteria, list):
        yield Problem(("criteria",), "must be an array of levels, lowest first", "list_type")
    elif not fewest <= len(criteria) <= most:
        yield Problem(("criteria",), f"must hold {fewest} to {most} levels", "too_short_or_long")
    elif any(not _is_text(level) for level in criteria):
        yield Problem(("criteria",), "each level must be a string, an object or an array", "value_error")


def _is_text(value: Any, *, optional: bool = False) -> bool:
    return isinstance(value, (str, dict, list)) or (optional and value is None)
