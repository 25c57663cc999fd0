"""What may go otherwise than well with a request, as values for a test to line up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from decidable.providers.wires.codec import HttpReply
from decidable.testing.scripted import ScriptError
from decidable.testing.systemone.failing import Failure

__all__ = [
    "Fault",
    "answering",
    "body",
    "broken",
    "changed",
    "leaving_out",
    "refused",
    "refusing",
    "slow",
    "sound",
    "status",
    "without",
]

Change: TypeAlias = Callable[[dict[str, Any]], Any]


@dataclass(frozen=True, slots=True, eq=False)
class Fault:
    """What happens to one request; ``a & b`` is both, where `b` has the last word.

    Attributes:
        delay_s: Seconds until the answer comes.
        cut: What becomes of the connection.
        instead: What is answered in place of an answer.
        changes: Applied in turn to the body of an answer that would be sound.
    """

    delay_s: float = 0.0
    cut: Literal["", "refused", "broken"] = ""
    instead: HttpReply | Failure | None = None
    changes: tuple[Change, ...] = ()

    def __and__(self, other: Fault) -> Fault:
        return Fault(
            self.delay_s + other.delay_s,
            other.cut or self.cut,
            self.instead if other.instead is None else other.instead,
            (*self.changes, *other.changes),
        )


def sound() -> Fault:
    """No fault: the place of a request that goes well."""
    return Fault()


def status(code: int, error: str = "", *, message: str = "made to fail", **headers: str) -> Fault:
    """An HTTP failure, worded as the service that is asked words its own.

    Args:
        code: The status, 300 to 599.
        error: The wire's word for it; ``""`` for the one that belongs to the status.
        message: Its words.
        headers: ``retry_after="1"`` is sent as the header Retry-After.
    """
    if type(code) is not int or not 300 <= code <= 599:
        raise ValueError(f"a failure has a status from 300 to 599, not {code!r}")
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Fault(instead=Failure(code, message, error, headers=named))


def slow(seconds: float) -> Fault:
    """The answer comes that many seconds later."""
    return Fault(delay_s=seconds)


def refused() -> Fault:
    """The connection cannot be made. Over a socket it is broken off instead: who listens cannot refuse."""
    return Fault(cut="refused")


def broken() -> Fault:
    """The connection breaks after the request was sent, before there is an answer."""
    return Fault(cut="broken")


def body(content: bytes, *, status: int = 200, content_type: str = "application/json") -> Fault:
    """These bytes as the answer, whatever was asked."""
    return Fault(instead=HttpReply(status, {"content-type": content_type}, content))


def changed(change: Change) -> Fault:
    """The answer that would have been given, changed.

    Args:
        change: Gets the body of the answer, which it may change, and returns what is sent in its place.
    """
    return Fault(changes=(change,))


def refusing(*ids: str) -> Fault:
    """The model declines these questions, and answers the rest.

    Raises:
        ScriptError: When the request comes, if it does not ask one of them.
    """

    def change(whole: dict[str, Any]) -> dict[str, Any]:
        _expect(_answers(whole), ids)
        return whole

    return changed(change) & answering({name: {"type": "refusal"} for name in ids})


def answering(answers: Mapping[str, Any] | None = None, /, **more: Any) -> Fault:
    """These answers in place of those made up; one to a question that nobody asked is added.

    On OpenAI's wire an id is a question's name, or its place: ``"0"`` for the first.

    Args:
        answers: Question id to answer, in the spelling of the wire.
        more: The same, for ids that are names.
    """

    def change(whole: dict[str, Any]) -> dict[str, Any]:
        held = _answers(whole)
        for name, answer in {**(answers or {}), **more}.items():
            if isinstance(held, dict):
                held[name] = answer
                continue
            place = _place(held, name)
            called = held[place].get("name") if place < len(held) else name
            held[place : place + 1] = [{**answer, "name": called} if isinstance(answer, dict) else answer]
        return whole

    return changed(change)


def leaving_out(*ids: str) -> Fault:
    """No answer to these questions.

    Raises:
        ScriptError: When the request comes, if it does not ask one of them.
    """

    def change(whole: dict[str, Any]) -> dict[str, Any]:
        held = _answers(whole)
        _expect(held, ids)
        doomed = set(ids) if isinstance(held, dict) else {_place(held, name) for name in ids}
        for place in sorted(doomed, reverse=True):  # from the end, where no place moves
            del held[place]
        return whole

    return changed(change)


def without(*fields: str) -> Fault:
    """The answer lacks these fields wherever they stand: in the body, in its usage, in each answer."""

    def change(whole: dict[str, Any]) -> dict[str, Any]:
        inner, held = _inner(whole), _answers(whole)
        each = held.values() if isinstance(held, dict) else held
        for holder in [whole, inner, inner.get("usage"), *each]:
            if isinstance(holder, dict):
                for name in fields:
                    holder.pop(name, None)
        return whole

    return changed(change)


def _inner(whole: dict[str, Any]) -> dict[str, Any]:
    """The answer, out of the envelope in which Cloudflare sends it."""
    result = whole.get("result")
    return result if isinstance(result, dict) else whole


def _answers(whole: dict[str, Any]) -> Any:
    return _inner(whole).get("answers", {})


def _place(held: list[Any], name: str) -> int:
    """Where the answer of that name, or at that place, stands in a list; its end if nowhere."""
    names = [answer.get("name") if isinstance(answer, dict) else None for answer in held]
    if name in names:
        return names.index(name)
    return min(int(name), len(held)) if name.isdecimal() else len(held)


def _expect(held: Any, ids: tuple[str, ...]) -> None:
    """Nothing, if each of these questions was asked."""
    for name in ids:
        if name not in held if isinstance(held, dict) else _place(held, name) == len(held):
            raise ScriptError(f"no question {name!r} was asked, so its answer cannot be refused or left out")
