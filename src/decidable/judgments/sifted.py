"""`sift`: the same questions about each of many items, as many to a request as fit; some are kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, Generic, TypeVar, Unpack

from decidable.cancelling import CancelToken
from decidable.errors import ArgumentTypeError, QuestionError, SettingError
from decidable.flow.effects import Flow, RunAll
from decidable.flow.judged import Judgement, question_request
from decidable.flow.prompts import state_json
from decidable.flow.receipting import Draft
from decidable.judgments.judged import question_named, questions_from
from decidable.judgments.picked import described
from decidable.judgments.putting import JudgmentSettings, Putting, opened, refuse_refusals
from decidable.questions.decoding import Sidecar, sidecar_of
from decidable.questions.rules import action_of, item_id
from decidable.questions.types import Choice, Noul, Question, Score

__all__ = ["Sifted", "async_sift", "sift"]

T = TypeVar("T")

AT_ONCE = 4
"""Requests in flight at the same time."""
MOST_QUESTIONS = 256
DEFAULT_GATE = 0.5


@dataclass(frozen=True, slots=True)
class Sifted(Generic[T]):
    """What was asked of each item, and which were kept.

    Attributes:
        items: The items that were kept, in order.
        kept: Their places among all.
        values: For every item, question id to plain value.
        answers: For every item, its answers and how sure they are.
        requests: How many requests it took.
        model: The model that answered; None if it is not known, or not always the same.
        cost_usd: US dollars; None if it is not known of every request.
        receipt_ids: Ids of the receipts, where they are kept, in the order of the requests.
    """

    items: list[T]
    kept: list[int]
    values: list[dict[str, str | bool | int]] = field(repr=False)
    answers: list[Sidecar] = field(repr=False)
    requests: int = 0
    model: str | None = None
    cost_usd: float | None = None
    receipt_ids: tuple[str, ...] = ()


def sift(
    items: Iterable[T],
    questions: Any,
    *,
    keep: str | None = None,
    gte: float | None = None,
    state: Any = None,
    describe: Callable[[T], str] | None = None,
    max_questions: int = MOST_QUESTIONS,
    max_state_bytes: int | None = None,
    at_once: int = AT_ONCE,
    on_progress: Callable[[int, int], object] | None = None,
    **settings: Unpack[JudgmentSettings],
) -> Sifted[T]:
    """Ask the same of each item, and keep some.

    Items share requests: each holds as many as fit. The first request that fails ends it; those in flight are called
    off, and what was answered is on its receipts.

    Args:
        items: Anything JSON can show; models and dataclasses by their fields.
        questions: As of `judge`; each is asked of each item.
        keep: What decides: the id of a yes/no question (its P(yes) counts) or of a score (its score counts), or
            ``"<id>.confidence"`` of any question. None keeps all.
        gte: An item is kept from this number on; default 0.5 for a yes/no question, else 0.
        state: What else there is to know: an object, whose fields stand beside the items, or anything else.
        describe: A summary of an item, to stand beside it.
        max_questions: Most questions of one request, 1 or more; a provider's own limit may be lower.
        max_state_bytes: Most UTF-8 bytes of one request's state as compact JSON; a provider's own limit may be lower.
        at_once: Most requests in flight.
        on_progress: Told how many items are done, and how many there are, after each request.
        settings: As `decidable.judgments.JudgmentSettings` says.

    Raises:
        QuestionError: The questions cannot be asked, one item alone does not fit, or `keep` names none of them.
        SettingError: A limit is no positive whole number.
        RefusedError: The model declined a question.
        LLMError: The provider failed.
        ReceiptError: A receipt could not be kept.
    """
    __tracebackhide__ = True
    putting, flow = _sifting(
        items, questions, keep, gte, state, describe, max_questions, max_state_bytes, at_once, on_progress, settings
    )
    return putting.runtime.run(flow, putting.scope)


async def async_sift(
    items: Iterable[T],
    questions: Any,
    *,
    keep: str | None = None,
    gte: float | None = None,
    state: Any = None,
    describe: Callable[[T], str] | None = None,
    max_questions: int = MOST_QUESTIONS,
    max_state_bytes: int | None = None,
    at_once: int = AT_ONCE,
    on_progress: Callable[[int, int], object] | None = None,
    **settings: Unpack[JudgmentSettings],
) -> Sifted[T]:
    """`sift` from an event loop."""
    __tracebackhide__ = True
    putting, flow = _sifting(
        items, questions, keep, gte, state, describe, max_questions, max_state_bytes, at_once, on_progress, settings
    )
    return await putting.runtime.run_async(flow, putting.scope)


def _sifting(  # noqa: PLR0917 - the arguments of `sift`
    items: Iterable[T],
    questions: Any,
    keep: str | None,
    gte: float | None,
    state: Any,
    describe: Callable[[T], str] | None,
    max_questions: Any,
    max_state_bytes: Any,
    at_once: Any,
    on_progress: Callable[[int, int], object] | None,
    settings: Mapping[str, Any],
) -> tuple[Putting, Flow[Sifted[T]]]:
    for name, value in (("max_questions", max_questions), ("max_state_bytes", max_state_bytes), ("at_once", at_once)):
        if not (value is None and name == "max_state_bytes") and (type(value) is not int or value < 1):
            raise SettingError(f"sift: {name} is a whole number, 1 or more, not {value!r}")
    asked = questions_from(questions)
    for name in asked:
        if "." in name:
            raise QuestionError(f"sift: question {name!r} has a dot in its id, which stands between an item and its id")
    rule = _keep_rule(keep, gte, asked)
    needs = keep is not None and (gte is not None or keep.endswith(".confidence"))
    own = ("keep", "gte", "state", "describe", "max_questions", "max_state_bytes", "at_once", "on_progress")
    putting = opened("sift", settings, own, must_measure="sift(keep=..., gte=...)" if needs else None)
    given = list(items)
    fields = state if isinstance(state, Mapping) else {} if state is None else {"context": state}
    if "items" in fields:
        raise QuestionError("sift: the state has a field 'items', which is where the items go")
    packing = _Packing(
        given,
        describe,
        dict(state_json(fields)) if fields else {},
        len(asked),
        _limits(putting, max_questions, max_state_bytes),
    )
    sifting = _Sifting(putting, given, asked, rule, packing, at_once, on_progress)
    return putting, putting.noted(sifting.flow(), asked)


def _keep_rule(keep: Any, gte: Any, questions: Mapping[str, Question]) -> dict[str, Any] | None:
    if keep is None:
        if gte is not None:
            raise SettingError("sift: gte= says from where on keep= keeps; give keep= too")
        return None
    if not isinstance(keep, str):
        raise ArgumentTypeError(f"sift: keep= is the id of a question, or '<id>.confidence', not {keep!r}")
    name, dot, what = keep.partition(".")
    question = question_named(name, questions)
    if dot and what != "confidence":
        raise QuestionError(f"sift: keep={keep!r}: after the id of a question there may stand '.confidence' only")
    if isinstance(question, Choice) and not dot:
        raise QuestionError(f"sift: keep={keep!r} is a choice, which is no number; keep by '{name}.confidence'")
    most = len(question.criteria) - 1 if isinstance(question, Score) and not dot else 1
    if gte is not None and (not isinstance(gte, (int, float)) or isinstance(gte, bool) or not 0 <= gte <= most):
        raise SettingError(f"sift: gte for {keep!r} is a number from 0 to {most}, not {gte!r}")
    default = DEFAULT_GATE if isinstance(question, Noul) and not dot else 0
    return {"id": name, "measure": "confidence" if dot else "value", "gte": default if gte is None else gte}


def _limits(putting: Putting, max_questions: int, max_state_bytes: int | None) -> tuple[int, int | None]:
    """The lower of the caller's limits and those of everybody who may be asked."""
    counts, sizes = [max_questions], [] if max_state_bytes is None else [max_state_bytes]
    for call in putting.calls:
        limits = call.provider.capabilities.limits
        if limits is not None and limits.max_questions is not None:
            counts.append(limits.max_questions)
        if limits is not None and limits.max_state_bytes is not None:
            sizes.append(limits.max_state_bytes)
    return min(counts), min(sizes, default=None)


class _Packing:
    """Which items share a request: as many as fit, in order."""

    def __init__(
        self,
        items: list[Any],
        describe: Callable[[Any], str] | None,
        base: dict[str, Any],
        questions: int,
        limits: tuple[int, int | None],
    ) -> None:
        most, self._bytes = limits
        self.base, self._items, self._describe = base, items, describe
        self._count = most // questions
        if self._count < 1:
            raise QuestionError(f"sift: one item has {questions} questions, and a request holds at most {most}")

    def shown(self, place: int) -> dict[str, Any]:
        """An item as it stands in the state."""
        item = self._items[place]
        summary = {} if self._describe is None else {"summary": described(item, place, self._describe)}
        return {"id": item_id(place), **summary, "item": _json(item)}

    def state(self, places: range) -> dict[str, Any]:
        """The state of one request."""
        return {**self.base, "items": [self.shown(place) for place in places]}

    def requests(self) -> list[range]:
        """The places of the items of each request.

        Raises:
            QuestionError: The state alone, or one item alone, is over the limit.
        """
        if self._bytes is None:
            count = len(self._items)
            return [range(start, min(start + self._count, count)) for start in range(0, count, self._count)]
        return list(self._packed(self._bytes))

    def _packed(self, most: int) -> Iterator[range]:
        empty = _size(self.state(range(0)))
        if empty > most:
            raise QuestionError(f"sift: the state alone has {empty} bytes, and a request holds at most {most}")
        start, held = 0, empty
        for place in range(len(self._items)):
            size = _size(self.shown(place))
            if empty + size > most:
                raise QuestionError(
                    f"sift: item {place} has {size} bytes, {empty} stand around it, and {most} is the most"
                )
            comma = place > start
            if place - start == self._count or held + size + comma > most:
                yield range(start, place)
                start, held, comma = place, empty, False
            held += size + comma
        if start < len(self._items):
            yield range(start, len(self._items))


def _size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"))


def _json(item: Any) -> Any:
    return item if item is None or isinstance(item, (str, int, float, bool)) else state_json(item)


@dataclass(slots=True)
class _Sifting:
    """One sift: its requests, and what stops them."""

    putting: Putting
    items: list[Any]
    questions: Mapping[str, Question]
    keep: dict[str, Any] | None
    packing: _Packing
    at_once: int
    on_progress: Callable[[int, int], object] | None
    failed: list[BaseException] = field(default_factory=list)
    done: int = 0
    lock: Lock = field(default_factory=Lock)

    def flow(self) -> Flow[Sifted[Any]]:
        """All requests, at most so many at once; then what is kept."""
        places = self.packing.requests()
        cancel, undo = _own_token(self.putting.settings.get("cancel"))
        try:
            flows = [self._one(where, number, len(places), cancel) for number, where in enumerate(places)]
            outcomes: list[tuple[Any, Any]] = (yield RunAll(flows, self.at_once, in_threads=True)) if flows else []
        finally:
            undo()
        if self.failed:
            raise self.failed[0]
        for _, error in outcomes:
            if error is not None:
                raise error
        return self._joined(places, [judgement for judgement, _ in outcomes])

    def _one(self, places: range, number: int, count: int, cancel: CancelToken) -> Flow[Judgement]:
        if self.failed:
            raise self.failed[0]
        try:
            judgement = yield from self._asked(places, number, count, cancel)
        except BaseException as error:
            if not self.failed:
                self.failed.append(error)
                cancel.cancel()
            raise
        with self.lock:  # requests of a sync call run in threads
            self.done += len(places)
            if self.on_progress is not None:
                self.on_progress(self.done, len(self.items))
        return judgement

    def _asked(self, places: range, number: int, count: int, cancel: CancelToken) -> Flow[Judgement]:
        putting = self.putting
        asked = {
            f"{local}.{name}": _about(question, local, place)
            for local, place in enumerate(places)
            for name, question in self.questions.items()
        }
        settings = putting.settings
        request = question_request(self.packing.state(places), asked, settings.get("model"), settings.get("images"))
        draft = Draft("sift", putting.label, self._rule(places), number, count, tuple(places))
        judgement = yield from putting.ask(request, draft, cancel)
        refuse_refusals(judgement, putting.label)
        return replace(judgement, questions={})  # thousands of items would keep theirs

    def _rule(self, places: range) -> dict[str, Any]:
        return {"kind": "sift", "items": len(places), "ids": list(self.questions), "keep": self.keep}

    def _joined(self, places: list[range], judgements: list[Judgement]) -> Sifted[Any]:
        values: list[dict[str, Any]] = []
        sidecars: list[Sidecar] = []
        kept: list[int] = []
        for where, judgement in zip(places, judgements, strict=True):
            action = action_of(self._rule(where), judgement.answers, {}) or {"kept": []}
            kept += [where[local] for local in action["kept"]]
            plain = judgement.values
            for local in range(len(where)):
                ids = {name: f"{local}.{name}" for name in self.questions}
                values.append({name: plain[key] for name, key in ids.items()})
                sidecars.append(sidecar_of({name: judgement.answers[key] for name, key in ids.items()}))
        models = {judgement.model for judgement in judgements}
        costs = [judgement.cost_usd for judgement in judgements]
        return Sifted(
            [self.items[place] for place in kept],
            kept,
            values,
            sidecars,
            len(judgements),
            models.pop() if len(models) == 1 else None,
            None if None in costs else float(sum(cost for cost in costs if cost is not None)),
            tuple(one.receipt_id for one in judgements if one.receipt_id is not None),
        )


def _own_token(given: CancelToken | None) -> tuple[CancelToken, Callable[[], None]]:
    """What calls off the requests in flight: the first that fails, or the caller."""
    own = CancelToken()
    return own, (_nothing if given is None else given.tell(own.cancel))


def _nothing() -> None:
    """There is nothing to undo."""


def _about(question: Question, local: int, place: int) -> Question:
    """A question that names its item."""
    words = f"About items[{local}] ({item_id(place)}): {question.instructions}"
    if isinstance(question, Noul):
        return Noul(words, question.true, question.false)
    return type(question)(words, question.criteria)  # type: ignore[call-arg,attr-defined]  # a Choice or a Score
