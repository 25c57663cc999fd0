"""The receipt of one request to a model: what was asked, what came back, and what was done by which rule."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, Protocol, TypeAlias

from decidable.questions.canonical import sha256_of
from decidable.questions.checking import answers_of
from decidable.questions.rules import action_of
from decidable.questions.types import Answer, Choice, Noul, Question, Score, Stated

__all__ = ["Kind", "Receipt", "ReceiptStore", "Status", "receipt_id", "rederive"]

Kind: TypeAlias = Literal["judge", "pick", "sift", "route", "ask", "verify", "decide"]

Status: TypeAlias = Literal["pending", "answered", "failed", "cancelled"]
"""Sent, and nothing is known yet; answered; the request, or its answers, failed; called off before it ended."""

VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """One request to a model, and what came of it. All of it is JSON; the state itself is not in it, only its hash.

    Attributes:
        v: The version of this form, 1.
        id: SHA-256 of what makes the request this one (`receipt_id`).
        at: When it was made, ISO 8601, UTC.
        node: The label of what asked.
        kind: What asked.
        item: Index of the item of a loop that it belongs to, or None.
        execution_path: Where in the program it was asked, e.g. ``"/root/refunds/items/3/body"``.
        request: ``index`` and ``count`` of this request among those of the same call; ``items``, of a sift, the
            positions of the items in it.
        status: How it ended.
        state_sha256: SHA-256 of the state in canonical JSON.
        questions: The questions in full.
        answers: The answers as received, refusals too; empty if there are none.
        rule: How the action follows from the answers; None unless answered.
        action: What followed; None unless answered, or where a question was refused.
        provider: Who was asked.
        model: The model that answered, or None if unknown.
        replay: ``"never"`` if asking again might cost twice, else ``"safe"``.
        origin: Where the probabilities come from.
        confidence_source: Question id to where its confidence comes from.
        evidence: The sources that the provider names.
        usage: ``input_tokens`` and ``output_tokens``, or None.
        cost_usd: US dollars, or None if unknown.
        cost_basis: What the cost rests on.
        provider_request_id: The provider's own id, or None.
        request_sha256: SHA-256 of the bytes that were sent, or None.
        latency_ms: How long it took.
        in_doubt: Whether it may have been answered, and paid, and nobody knows.
        error: What went wrong, at most 2,000 characters; None if nothing did.
    """

    id: str
    at: str
    node: str
    kind: Kind
    status: Status
    state_sha256: str
    questions: Mapping[str, Any]
    provider: str
    v: int = VERSION
    item: int | None = None
    execution_path: str = "/root"
    request: Mapping[str, Any]
    answers: Mapping[str, Any]
    rule: Mapping[str, Any] | None = None
    action: Mapping[str, Any] | None = None
    model: str | None = None
    replay: Literal["never", "safe"] = "safe"
    origin: str = "model"
    confidence_source: Mapping[str, str]
    evidence: tuple[Mapping[str, Any], ...] = ()
    usage: Mapping[str, int] | None = None
    cost_usd: float | None = None
    cost_basis: str = "unknown"
    provider_request_id: str | None = None
    request_sha256: str | None = None
    latency_ms: float = 0.0
    in_doubt: bool = False
    error: str | None = None

    @property
    def refused(self) -> tuple[str, ...]:
        """Ids of the questions that the model declined."""
        return tuple(name for name, answer in self.answers.items() if answer.get("type") == "refusal")

    @property
    def may_be_asked_again(self) -> bool:
        """Whether nothing can be paid twice: it ended without an answer, and is known not to have been answered."""
        return self.status in ("failed", "cancelled") and not (self.in_doubt and self.replay == "never")

    def to_json(self) -> dict[str, Any]:
        """The receipt as a JSON object."""
        return {one.name: _listed(getattr(self, one.name)) for one in fields(self)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Receipt:
        """The receipt that `to_json` gave.

        Raises:
            ValueError: It is none of this version.
        """
        if not isinstance(value, Mapping) or value.get("v") != VERSION:
            raise ValueError(f"this is no receipt of version {VERSION}")
        known = {one.name for one in fields(cls)}
        try:
            made = {name: item for name, item in value.items() if name in known}
            return cls(**{**made, "evidence": tuple(made.get("evidence") or ())})
        except TypeError as error:
            raise ValueError(f"this receipt lacks a field: {error}") from None


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def receipt_id(
    kind: str,
    questions: Mapping[str, Any],
    state_sha256: str,
    *,
    execution_path: str = "/root",
    index: int = 0,
    model: str | None = None,
    provider: str | None = None,
) -> str:
    """What makes a request this one: the same in every run, another with any other state.

    Args:
        kind: What asks.
        questions: The questions as JSON.
        state_sha256: SHA-256 of the state in canonical JSON.
        execution_path: Where in the program it is asked.
        index: The request's number among those of the same call.
        model: The model, if one is pinned.
        provider: Who is asked, where it is not the first of several.
    """
    parts = ["decision-v1", execution_path, kind, index, questions, state_sha256]
    if model is not None or provider is not None:
        parts.append(model)
    if provider is not None:
        parts.append(provider)
    return sha256_of(parts)


def rederive(receipt: Receipt, rule: Mapping[str, Any] | None = None, **changes: Any) -> Mapping[str, Any] | None:
    """The action that follows from a receipt, without a model: its own, or that of another rule.

    Args:
        receipt: What was asked and answered.
        rule: Another rule; None for the receipt's own.
        changes: Parts of the rule to change, e.g. ``gte=0.9``.

    Returns:
        The action; None of a receipt that is not answered, or whose questions were refused.

    Raises:
        ValueError: Its answers do not match its questions.
    """
    if receipt.status != "answered":
        return None
    applied = receipt.rule if rule is None else rule
    whole = {**applied, **changes} if applied is not None else None
    return action_of(whole, answers_in(receipt), questions_in(receipt))


def questions_in(receipt: Receipt) -> dict[str, Question]:
    """The questions of a receipt."""
    return {name: _question(one) for name, one in receipt.questions.items()}


def answers_in(receipt: Receipt) -> dict[str, Answer]:
    """The answers of a receipt, checked against its questions once more.

    Raises:
        ValueError: They do not match.
    """
    plain = {name: one for name, one in receipt.answers.items() if one.get("type") == "stated"}
    questions = {name: one for name, one in questions_in(receipt).items() if name not in plain}
    rest = {name: one for name, one in receipt.answers.items() if name not in plain}
    made = answers_of(questions, rest, rounded=True)
    if isinstance(made, tuple):
        raise ValueError(  # noqa: TRY004 - the value is wrong, and a tuple says how
            f"the answers of receipt {receipt.id} do not match its questions: {made[0]}"
        )
    return {name: Stated(plain[name]["value"]) if name in plain else made[name] for name in receipt.answers}


def _question(one: Mapping[str, Any]) -> Question:
    if one["type"] == "choice":
        return Choice(one["instructions"], one["criteria"])
    if one["type"] == "score":
        return Score(one["instructions"], one["criteria"])
    sides = one.get("criteria") or {}
    return Noul(one.get("instructions", ""), sides.get("true"), sides.get("false"))


class ReceiptStore(Protocol):
    """Keeps receipts; its methods may also be async. `decidable.receipts` has three."""

    def find(self, receipt_id: str, /) -> Receipt | Awaitable[Receipt | None] | None:
        """The last receipt of an id."""

    def claim(self, receipt: Receipt, /) -> Receipt | Awaitable[Receipt | None] | None:
        """Keep a pending receipt, unless there is one already that may not be asked again; that one is given back.

        In one step: of two that claim the same id at once, one gets the other's.
        """

    def record(self, receipt: Receipt, /) -> Awaitable[None] | None:
        """Keep how a request ended, in place of what was kept under its id. It is kept when this returns."""
