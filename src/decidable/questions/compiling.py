"""A schema, or a type, as typed questions: one flat object, one judgment a property."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from decidable.errors import QuestionError
from decidable.questions.types import Choice, Noul, Question, Score
from decidable.schema.annotations import enum_values, field_of, member_doc
from decidable.schema.deep import deep_parser, is_model_class

__all__ = ["MOST_LEVELS", "MOST_OPTIONS", "question_of", "questions_of"]

MOST_OPTIONS = 240
"""Options of one compiled choice: what every service takes, with room for exits such as "none of these"."""
MOST_LEVELS = 10
_FEWEST_LEVELS = 2
_LONGEST_WAY = 32  # references to references: one that goes on is a circle


def questions_of(source: Any, *, definitions: Mapping[str, Any] | None = None) -> dict[str, Question]:
    """The questions that fill an object, one for each property, under the property's name.

    A property's description is its question. An enum of strings is a `Choice`, a boolean a `Noul`, an integer with
    ``criteria`` (the list of its levels, lowest first) a `Score`. ``criteria`` may also describe the options of an
    enum, by option, and the sides of a boolean, as ``true`` and ``false``. Everything else is no question.

    Args:
        source: A JSON Schema of an object, a pydantic model, a dataclass or a TypedDict. In a class, a description is
            ``Field(description=...)`` or a text in ``Annotated``; a question in ``Annotated`` is asked as it is.
        definitions: What ``#/definitions/<name>`` may refer to, beside the schema's own.

    Raises:
        QuestionError: Some property is no question; `problems` names them all.

    Example:
        >>> questions_of({"properties": {"late": {"type": "boolean", "description": "Is the parcel late?"}}})
        {'late': Noul(instructions='Is the parcel late?', true=None, false=None)}
    """
    schema, given = _schema_of(source)
    known = _Definitions(schema, definitions or {})
    root = known.resolved(schema)
    properties = root.get("properties") if isinstance(root, Mapping) else None
    if not isinstance(properties, Mapping) or not properties or root.get("type", "object") != "object":
        raise QuestionError("questions are made of a schema of one object, with at least one property")
    made: dict[str, Question] = {}
    problems: list[str] = []
    for name, own in properties.items():
        question: Question | str = given[name] if name in given else _compiled(own, known)
        if isinstance(question, str):
            problems.append(f"property {name!r}: {question}")
        else:
            made[name] = question
    if problems:
        raise QuestionError("this schema cannot be asked as questions: " + "; ".join(problems), problems)
    return made


def question_of(source: Any, instructions: str) -> Question:
    """The question whose answer is a value of a type.

    Args:
        source: An Enum class (its members' docstrings describe the options), a ``Literal`` of strings, or ``bool``.
        instructions: What is asked.

    Raises:
        QuestionError: No question has such an answer.
    """
    schema = {"description": instructions, **_scalar_schema(source)}
    question = _compiled(schema, _Definitions(schema, {}))
    if isinstance(question, str):
        raise QuestionError(f"{_label(source)}: {question}")
    return question


def _schema_of(source: Any) -> tuple[Mapping[str, Any], dict[str, Question]]:
    """The schema of a source, and the questions that stand in it as they are."""
    if isinstance(source, Mapping):
        return source, {}
    if not is_model_class(source):
        raise QuestionError(
            f"questions are made of a JSON Schema, a pydantic model, a dataclass or a TypedDict, not {_label(source)}; "
            "question_of(type, instructions) makes one of an Enum, a Literal or bool"
        )
    schema = dict(deep_parser(source, _label(source)).schema)
    properties, given = {}, {}
    hints = get_type_hints(source, include_extras=True)
    for name, own in schema.get("properties", {}).items():
        found, added = _from_annotation(hints.get(name))
        properties[name] = {**added, **own} if isinstance(own, Mapping) else own
        if found is not None:
            given[name] = found
    return {**schema, "properties": properties}, given


def _from_annotation(annotation: Any) -> tuple[Question | None, dict[str, Any]]:
    """The question in an annotation; and the description and criteria that no JSON Schema has."""
    added: dict[str, Any] = {}
    question = None
    if get_origin(annotation) is Annotated:
        annotation, *extras = get_args(annotation)
        question = next((extra for extra in extras if isinstance(extra, (Noul, Choice, Score))), None)
        if words := [extra for extra in extras if isinstance(extra, str)]:
            added["description"] = " ".join(words)
    if isinstance(annotation, type) and issubclass(annotation, Enum) and (docs := _docs(annotation)):
        added["criteria"] = docs
    return question, added


def _docs(enum: type[Enum]) -> dict[Any, str]:
    return {value: doc for value, member in zip(enum_values(enum), enum, strict=True) if (doc := member_doc(member))}


def _scalar_schema(source: Any) -> dict[str, Any]:
    if isinstance(source, type) and issubclass(source, Enum):
        return {"enum": list(enum_values(source)), "criteria": _docs(source)}
    if get_origin(source) is Literal:
        return {"enum": list(field_of("", source, where=_label(source)).choices)}
    return {"type": "boolean"} if source is bool else {}


class _Definitions:
    """What references lead to: the schema's own definitions first, then the catalogue."""

    def __init__(self, schema: Any, catalogue: Mapping[str, Any]) -> None:
        self._own = schema if isinstance(schema, Mapping) else {}
        self._catalogue = catalogue

    def resolved(self, schema: Any) -> Any:
        """`schema`, or what its reference leads to; None of one that leads nowhere, or in a circle."""
        outer: dict[str, Any] = {}
        for _ in range(_LONGEST_WAY):
            if not isinstance(schema, Mapping) or not isinstance(schema.get("$ref"), str):
                return {**schema, **outer} if isinstance(schema, Mapping) else schema
            outer = {**{key: value for key, value in schema.items() if key != "$ref"}, **outer}
            schema = self._target(schema["$ref"])
        return None

    def _target(self, reference: str) -> Any:
        for holder in ("definitions", "$defs"):
            start = f"#/{holder}/"
            if reference.startswith(start):
                name = reference[len(start) :].replace("~1", "/").replace("~0", "~")
                own = self._own.get(holder)
                if isinstance(own, Mapping) and name in own:
                    return own[name]
                return self._catalogue.get(name)
        return None


def _compiled(schema: Any, known: _Definitions) -> Question | str:
    """The question of one property, or why there is none."""
    found = _without_null(known.resolved(schema), known)
    if not isinstance(found, Mapping):
        return "its reference leads nowhere, or in a circle" if found is None else "it is no schema"
    description = found.get("description")
    instructions = description.strip() if isinstance(description, str) else ""
    if not instructions:
        return "it needs a description, which is the question"
    if "enum" in found or "const" in found:
        return _choice(instructions, found)
    if found.get("type") == "boolean":
        sides = found.get("criteria")
        sides = sides if isinstance(sides, Mapping) else {}
        return Noul(instructions, _text(sides.get("true")), _text(sides.get("false")))
    if found.get("type") == "integer":
        return _score(instructions, found)
    return "free text, numbers, lists and objects are no questions; give an enum, a boolean or an integer with levels"


def _without_null(schema: Any, known: _Definitions) -> Any:
    """`schema` without the null that makes it optional."""
    if not isinstance(schema, Mapping):
        return schema
    kind, variants = schema.get("type"), schema.get("anyOf")
    if isinstance(kind, list):
        rest = [one for one in kind if one != "null"]
        return {**schema, "type": rest[0]} if len(rest) == 1 else schema
    if isinstance(variants, list):
        resolved = [known.resolved(variant) for variant in variants]
        some = [one for one in resolved if isinstance(one, Mapping) and one.get("type") != "null"]
        if len(some) == 1:
            return {**some[0], **{key: value for key, value in schema.items() if key != "anyOf"}}
    return schema


def _choice(instructions: str, schema: Mapping[str, Any]) -> Choice | str:
    options = schema["enum"] if "enum" in schema else [schema["const"]]
    options = [option for option in options if option is not None] if isinstance(options, list) else []
    if not options or not all(isinstance(option, str) for option in options):
        return "the options of an enum must be strings, at least one"
    if len(options) > MOST_OPTIONS:
        return f"it has {len(options)} options, and {MOST_OPTIONS} is the most"
    if len(set(options)) != len(options):
        return "an option stands twice"
    criteria = schema.get("criteria") or {}
    if not isinstance(criteria, Mapping):
        return "its criteria map options to descriptions"
    unknown = [name for name in criteria if name not in options]
    if unknown:
        return f"its criteria describe {', '.join(map(repr, unknown))}, which is none of its options"
    return Choice(instructions, {option: _text(criteria.get(option)) for option in options})


def _score(instructions: str, schema: Mapping[str, Any]) -> Score | str:
    levels = schema.get("criteria")
    if not isinstance(levels, list) or not all(_text(level) for level in levels):
        return "an integer is a question if criteria= lists its levels, lowest first, each described"
    if not _FEWEST_LEVELS <= len(levels) <= MOST_LEVELS:
        return f"it has {len(levels)} levels, and a score takes {_FEWEST_LEVELS} to {MOST_LEVELS}"
    if schema.get("minimum", 0) != 0 or schema.get("maximum", len(levels) - 1) != len(levels) - 1:
        return f"its levels count from 0 to {len(levels) - 1}; minimum and maximum say something else"
    return Score(instructions, tuple(level.strip() for level in levels))


def _text(value: Any) -> str | None:
    return value.strip() or None if isinstance(value, str) else None


def _label(source: Any) -> str:
    return source.__name__ if isinstance(source, type) else repr(source)
