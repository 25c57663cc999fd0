"""`Menu`: an ordered, name-unique set of options, and how each kind of model sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from json import dumps
from json.encoder import encode_basestring as quoted
from typing import TYPE_CHECKING, Any, NamedTuple

from decidable.errors import OptionError
from decidable.options import Option, Options, options_of
from decidable.schema.field import MISSING, Field, placeholder, type_label

if TYPE_CHECKING:
    from decidable.questions.types import Choice, Question

__all__ = ["Menu", "menu_of"]

_JSON = {"ensure_ascii": False}


class Menu:
    """Options that a model picks exactly one of; immutable, and its renderings are made once.

    Attributes:
        options: The options in order.
        index: Name to option.
    """

    __slots__ = ("_text", "index", "options")

    def __init__(self, options: Sequence[Option[Any]]) -> None:
        self.options = tuple(options)
        self.index: dict[str, Option[Any]] = {option.name: option for option in options}
        self._text: str | None = None
        if len(self.index) != len(self.options):
            raise OptionError(f"two options are named {_repeated(self.options)!r}; names on a menu are unique")

    def __repr__(self) -> str:
        return f"Menu({', '.join(self.index)})"

    def render(self) -> str:
        """The menu as text: per option a signature, a description, a line per argument, and its call as JSON."""
        if self._text is None:
            self._text = "\n\n".join(
                [
                    _with_fields(option.name, option.description, option.fields)
                    if option.fields
                    else _without_fields(option.name, option.description)
                    for option in self.options
                ]
            )
        return self._text

    def pick_question(self, instructions: str) -> Choice:
        """The question that asks which option."""
        from decidable.questions.types import Choice

        return Choice(instructions or _NEXT, {o.name: o.description or None for o in self.options})

    def questions(self, instructions: str, types: frozenset[str], *, sides_required: bool = False) -> Asked:
        """The menu as typed questions: which option, and every finite field of each, asked ahead.

        Args:
            instructions: What is to be decided.
            types: The question types that the model answers, of ``noul``, ``choice``, ``score``.
            sides_required: Whether it answers a yes/no only if both sides are described.
        """
        asked: dict[str, Question] = {PICK: self.pick_question(instructions)}
        unfilled: dict[str, list[str]] = {}
        for option in self.options:
            for field in option.fields:
                question = _question(field, option, types, sides_required)
                if not isinstance(question, str):
                    asked[field_id(option, field)] = question
                elif field.required:
                    unfilled.setdefault(option.name, []).append(f"field {field.name!r}: {question}")
        for name in unfilled:  # half of its arguments are of no use
            for field in self.index[name].fields:
                asked.pop(field_id(self.index[name], field), None)
        return Asked(asked, unfilled)


class Asked(NamedTuple):
    """A menu as typed questions.

    Attributes:
        questions: Question id to question.
        unfilled: Names of the options with a required field that is no question, and which and why.
    """

    questions: Mapping[str, Question]
    unfilled: Mapping[str, Sequence[str]]


_NEXT = "Which of these is the right next step?"
"""Asked where the state itself says what is to be decided: some services want a question."""

PICK = "pick"
"""Id of the question that asks which option."""


def field_id(option: Option[Any], field: Field) -> str:
    """Id of the question that asks for one field of one option; no option is named so that it could clash."""
    return f"{PICK}:{option.name}:{field.name}"


def menu_of(options: Menu | Options) -> Menu:
    """The menu of any container of options; a menu stays as it is."""
    return options if isinstance(options, Menu) else Menu(options_of(options))


def choice_labels(field: Field) -> dict[str, Any]:
    """The label of each allowed value in a choice question."""
    return {value if isinstance(value, str) else dumps(value): value for value in field.choices}


YES, NO = "yes", "no"


def _question(field: Field, option: Option[Any], types: frozenset[str], sides_required: bool) -> Question | str:
    """The question that fills `field`, or why there is none."""
    from decidable.questions.types import Choice, Noul

    about = f"{option.name}: {field.description or field.name}"
    criteria: Mapping[Any, str] = field.criteria or {}
    if field.choices:
        if "choice" not in types:
            return "this model answers no choice questions"
        labels = choice_labels(field)
        if len(labels) != len(field.choices):
            return "two of its allowed values read the same"
        return Choice(about, {label: criteria.get(value) for label, value in labels.items()})
    if field.type == "bool":
        true, false = criteria.get(True), criteria.get(False)
        if "noul" in types and (not sides_required or (true and false)):
            return Noul(about, true, false)
        if true and false and "choice" in types:
            return Choice(about, {YES: true, NO: false})
        return "a bare yes/no is beyond this model; describe both sides with options={True: '...', False: '...'}"
    return f"a {type_label(field)} is free text or a number to this model, which only picks among listed values"


def _repeated(options: Sequence[Option[Any]]) -> str:
    seen: set[str] = set()
    for option in options:
        if option.name in seen:
            return option.name
        seen.add(option.name)
    return ""  # pragma: no cover


@lru_cache(maxsize=4096)
def _without_fields(name: str, description: str) -> str:
    return f'{_plain(name)}(){_about(description)}\n    Call: {{"call": {quoted(name)}}}'


@lru_cache(maxsize=2048)
def _with_fields(name: str, description: str, fields: tuple[Field, ...]) -> str:
    """An option with arguments; kept, since a function's fields are the same objects every time."""
    signature = ", ".join([_parameter(field) for field in fields])
    breakdown = "".join([f"\n    - {line}" for field in fields for line in _explained(field, field.name)])
    shown = {f.name: placeholder(f) if f.required else f.default for f in fields if f.required or _default_text(f)}
    arguments = dumps(shown, **_JSON)  # type: ignore[arg-type]
    return (
        f"{_plain(name)}({signature}){_about(description)}{breakdown}"
        f'\n    Call: {{"call": {quoted(name)}, "args": {arguments}}}'
    )


def _about(description: str) -> str:
    return f"\n    {_indented(description)}" if description else ""


def _parameter(field: Field) -> str:
    label = f"{_plain(field.name)}: {type_label(field)}"
    if field.required:
        return label
    shown = _default_text(field)
    return f"{label} = {shown}" if shown else f"{label} = ..."


def _default_text(field: Field) -> str:
    if field.default is MISSING:
        return ""
    try:
        return dumps(field.default, **_JSON)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return ""


_DEEPEST = 3  # a recursive model has no bottom


def _explained(field: Field, path: str, *, hidden: bool = False) -> list[str]:
    """One line about a field, then those of the fields within it.

    Within an optional field each has a line: its call line shows the default, and so none of them.
    """
    notes = []
    if field.description:
        notes.append(_indented(field.description))
    if field.choices:
        notes.append("one of " + ", ".join(_allowed(field, value) for value in field.choices))
    elif field.criteria and field.type == "bool":
        notes.append("; ".join(f"{dumps(bool(k))}: {_indented(v)}" for k, v in field.criteria.items()))
    if not field.required:
        notes.append("optional")
    hidden = hidden or not field.required
    lines = [f"{_plain(path)} ({type_label(field)}): {'; '.join(notes)}"] if notes or hidden or "." not in path else []
    if path.count(".") >= _DEEPEST:
        return [line.removesuffix(": ") for line in lines]
    for sub in field.fields or ():
        lines += _explained(sub, f"{path}.{sub.name}", hidden=hidden)
    if field.items is not None:
        lines += _explained(field.items, f"{path}[]") if field.items.description or field.items.choices else []
        for sub in field.items.fields or ():
            lines += _explained(sub, f"{path}[].{sub.name}", hidden=hidden)
    return [line if not line.endswith(": ") else line[:-2] for line in lines]


def _allowed(field: Field, value: Any) -> str:
    text = dumps(value, **_JSON)  # type: ignore[arg-type]
    meaning = (field.criteria or {}).get(value)
    return f"{text} ({_indented(meaning)})" if meaning else text


def _plain(text: str) -> str:
    return text if text.isprintable() and text[:1] != " " else quoted(text)


def _indented(text: str) -> str:
    """Every further line stands deeper than any option's name, so a description cannot pass for an option."""
    if text.isprintable():
        return text
    return "\n      ".join(line.strip() for line in text.splitlines() if line.strip())
