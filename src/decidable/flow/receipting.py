"""A question asked with a receipt: answered from it if there is one, and kept before anything acts on the answer."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from decidable.ambient import Ledger
from decidable.errors import DecidableError, DecisionProviderError, ProviderErrorCode, ReceiptError
from decidable.flow.ask import Call
from decidable.flow.effects import Consult, Flow, Now, Today
from decidable.messages import Reply, Usage
from decidable.questions.canonical import sha256_of
from decidable.questions.decoding import with_confidence
from decidable.questions.receipts import Kind, Receipt, answers_in, receipt_id
from decidable.questions.rules import action_of
from decidable.questions.spelling import answer_json, question_json
from decidable.questions.types import Answer, Evidence, Provenance, QuestionRequest

__all__ = ["Draft", "settled"]


@dataclass(frozen=True, slots=True)
class Draft:
    """What is known of a receipt before anything is asked.

    Attributes:
        kind: What asks.
        node: Its label.
        rule: What follows from the answers.
        index: The request's number among those of the same call.
        count: How many there are.
        items: Of a sift, the positions of the items in it.
        first: Whether the first provider is asked, and not one that it falls back to.
    """

    kind: Kind
    node: str
    rule: Mapping[str, Any]
    index: int = 0
    count: int = 1
    items: tuple[int, ...] | None = None
    first: bool = True


def settled(
    call: Call, request: QuestionRequest, draft: Draft, ledger: Ledger | None, asking: Flow[Reply]
) -> Flow[Reply]:
    """The reply to `request`: from its receipt, or by `asking`, and then it is on a receipt.

    Raises:
        DecisionProviderError: Of code ``outcome_unknown``: it was asked before, nobody knows what came of it, and
            asking again might cost twice. Or what `asking` raises, once that is on the receipt.
        ReceiptError: The receipt could not be kept; nothing may act on the answer.
        ExceptionGroup: Both failed: what `asking` raised, then the `ReceiptError`.
    """
    if ledger is None or ledger.store is None:
        return (yield from asking)
    store = ledger.store
    begun: float = yield Now()
    pending = yield from _pending(call, request, draft, ledger)
    is_risky = pending.replay == "never"
    earlier: Receipt | None = yield from _consulted(store.claim if is_risky else store.find, pending, is_risky=is_risky)
    if earlier is not None and earlier.status == "answered":
        asking.close()
        call.cost = call.cost or 0.0
        return _replayed(earlier)
    if earlier is not None and is_risky:
        asking.close()
        raise _interrupted(earlier)
    try:
        reply = yield from asking
    except GeneratorExit:
        raise
    except BaseException as error:
        now: float = yield Now()
        yield from _fail(store, pending, error, (now - begun) * 1000)
        raise
    now = yield Now()
    receipt = _answered(pending, request, reply, (now - begun) * 1000)
    yield from _keep(store, receipt)
    provenance = replace(reply.provenance or Provenance(), receipt_id=receipt.id)
    return replace(reply, provenance=provenance)


def _pending(call: Call, request: QuestionRequest, draft: Draft, ledger: Ledger) -> Flow[Receipt]:
    today: float = yield Today()
    questions = {name: question_json(question) for name, question in request.questions.items()}
    images = {token: hashlib.sha256(part.data).hexdigest() for token, part in request.images.items()}
    state_sha256 = sha256_of([request.state, images] if images else request.state)
    name = call.provider.name
    request_of: dict[str, Any] = {"index": draft.index, "count": draft.count}
    if draft.items is not None:
        request_of["items"] = list(draft.items)
    return Receipt(
        id=receipt_id(
            draft.kind,
            questions,
            state_sha256,
            execution_path=ledger.path,
            index=draft.index,
            model=request.model,
            provider=None if draft.first else name,
        ),
        at=datetime.fromtimestamp(today, UTC).isoformat(timespec="milliseconds"),
        node=ledger.prefix + draft.node,
        kind=draft.kind,
        item=ledger.item,
        execution_path=ledger.path,
        request=request_of,
        status="pending",
        state_sha256=state_sha256,
        questions=questions,
        answers={},
        rule=draft.rule,
        provider=name,
        model=request.model or call.provider.model,
        replay=call.provider.capabilities.replay,
        confidence_source={},
    )


def _consulted(method: Any, pending: Receipt, *, is_risky: bool) -> Flow[Receipt | None]:
    try:
        found: Receipt | None = yield Consult(method, pending if is_risky else pending.id)
    except Exception as error:
        raise _unkept(pending, error, "could not be looked up") from error
    return found


def _keep(store: Any, receipt: Receipt) -> Flow[None]:
    try:
        yield Consult(store.record, receipt)
    except Exception as error:
        raise _unkept(receipt, error, "could not be kept, so nothing was done with the answer") from error


def _unkept(receipt: Receipt, error: Exception, what: str) -> ReceiptError:
    return ReceiptError(
        f"{receipt.node}: receipt {receipt.id[:12]}... {what}: {type(error).__name__}: {error}",
        receipt_id=receipt.id,
        node=receipt.node,
        receipt=receipt if receipt.status != "pending" else None,
    )


def _fail(store: Any, pending: Receipt, error: BaseException, latency_ms: float) -> Flow[None]:
    """Keep that a request failed, before its failure goes on its way."""
    code = error.code if isinstance(error, DecisionProviderError) else None
    stopped = code is ProviderErrorCode.ABORTED or not isinstance(error, Exception)
    unforeseen = stopped or not isinstance(error, DecidableError)  # a provider that broke may have sent it before
    doubtful = code is ProviderErrorCode.OUTCOME_UNKNOWN or (unforeseen and getattr(error, "sent", None) is not False)
    failed = replace(
        pending,
        status="cancelled" if stopped else "failed",
        rule=None,
        in_doubt=doubtful,
        error=str(error)[:_LONGEST],
        latency_ms=latency_ms,
        cost_usd=getattr(error, "cost_usd", None),
        cost_basis=getattr(error, "cost_basis", None) or "unknown",
    )
    if isinstance(error, DecisionProviderError):
        error.receipt_id = pending.id
    try:
        yield from _keep(store, failed)
    except ReceiptError as unkept:
        if not isinstance(error, Exception):  # the wish to stop goes first
            error.add_note(str(unkept))
            return
        raise ExceptionGroup("the request failed, and so did keeping its receipt", [error, unkept]) from None


_LONGEST = 2000


def _answered(pending: Receipt, request: QuestionRequest, reply: Reply, latency_ms: float) -> Receipt:
    answers: Mapping[str, Answer] = reply.answers or {}
    found = reply.provenance or Provenance(cost_basis="unknown" if reply.cost is None else "reported")
    usage = reply.usage
    return replace(
        pending,
        status="answered",
        answers={name: answer_json(answer, request.questions[name]) for name, answer in answers.items()},
        action=action_of(pending.rule, answers, request.questions),
        model=reply.model or pending.model,
        origin=found.origin,
        confidence_source=dict(found.confidence_source) or with_confidence(answers)[1],
        evidence=tuple({**asdict(one), "excerpts": list(one.excerpts)} for one in found.evidence),
        usage=None if usage is None else {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens},
        cost_usd=reply.cost,
        cost_basis=found.cost_basis,
        provider_request_id=reply.request_id,
        request_sha256=found.request_sha256,
        latency_ms=latency_ms,
    )


def _replayed(receipt: Receipt) -> Reply:
    """The reply that a receipt holds; it costs nothing this time."""
    try:
        answers = answers_in(receipt)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ReceiptError(
            f"{receipt.node}: receipt {receipt.id[:12]}... cannot be read, and is not asked again unasked: {error}",
            receipt_id=receipt.id,
            node=receipt.node,
        ) from error
    sources: Any = receipt.confidence_source
    evidence = tuple(Evidence(**{**one, "excerpts": tuple(one["excerpts"])}) for one in receipt.evidence)
    origin: Any = receipt.origin
    provenance = Provenance(
        sources, evidence, "reported", receipt.request_sha256, (), origin, receipt.id, replayed=True
    )
    return Reply(
        answers=answers,
        usage=Usage(),
        cost=0.0,
        model=receipt.model,
        request_id=receipt.provider_request_id,
        provenance=provenance,
    )


def _interrupted(earlier: Receipt) -> DecisionProviderError:
    error = DecisionProviderError(
        f"{earlier.node}: {earlier.provider} was asked this at {earlier.at}, and nobody knows whether it answered; "
        f"asking again might be paid twice. Look at receipt {earlier.id[:12]}..., and forget it to ask again",
        code=ProviderErrorCode.OUTCOME_UNKNOWN,
        cost_usd=earlier.cost_usd,
        cost_basis=earlier.cost_basis,
        provider=earlier.provider,
        model=earlier.model,
        sent=False,
    )
    error.receipt_id = earlier.id
    error.attempts = 0
    error.elapsed_s = 0.0
    return error
