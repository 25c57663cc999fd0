"""`verify`: somebody's work, reviewed by a model, and done again until it holds."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Unpack

from decidable.errors import QuestionError, SettingError, VerificationError
from decidable.flow.effects import Consult, Flow
from decidable.flow.judged import Judgement, question_request
from decidable.flow.prompts import state_json
from decidable.flow.receipting import Draft
from decidable.judgments.judged import questions_from
from decidable.judgments.putting import JudgmentSettings, Putting, opened, refuse_refusals
from decidable.questions.measures import checked_gate
from decidable.questions.rules import action_of
from decidable.questions.types import Noul, Question

__all__ = ["Drive", "Verified", "async_verify", "is_filled", "verify"]

MOST_DRIVES = 2
FLOOR = 0.3
"""A field that is filled is doubted below this P(yes)."""
REQUIREMENT = 0.5

_PLACEHOLDERS = frozenset(
    {"none", "null", "nil", "n/a", "na", "unknown", "-"}
    | {f"not {what}" for what in ("published", "stated", "available", "found", "applicable")}
)


@dataclass(frozen=True, slots=True)
class Drive:
    """One review.

    Attributes:
        drive: Its number, from 1.
        submission: What was reviewed.
        doubted: Ids of the questions about a field that is filled, and seems wrong.
        unmet: Ids of the requirements that are not met.
        accepted: Whether there is none of either.
        judgement: The whole answer.
    """

    drive: int
    submission: Any
    doubted: tuple[str, ...]
    unmet: tuple[str, ...]
    accepted: bool
    judgement: Judgement


@dataclass(frozen=True, slots=True)
class Verified:
    """Work that was accepted.

    Attributes:
        submission: The work.
        drives: Every review, in order; the last accepted it.
    """

    submission: Any
    drives: tuple[Drive, ...]


def verify(
    submission: Any,
    questions: Any,
    *,
    revise: Callable[[str], Any] | None = None,
    finish: Callable[[Any], Any] | None = None,
    state: Any = None,
    max_drives: int = MOST_DRIVES,
    below: float = FLOOR,
    **settings: Unpack[JudgmentSettings],
) -> Verified:
    """Have a model review some work, and have it done again until it is accepted.

    A yes/no question named as a field of the work is about that field: filled, it is doubted below `below`; empty, it
    is not judged. Any other yes/no question is a requirement, met from 0.5 on.

    Args:
        submission: The work: an object, a model, a dataclass.
        questions: As of `judge`; at least one yes/no question.
        revise: Does the work again: told what is doubted and unmet, in words; gives the next submission.
        finish: Makes the final work of an accepted one; reviewed again, unless it is equal.
        state: What the review goes by, beside the submission.
        max_drives: Most reviews, 1 or more.
        below: Above 0, below 1.
        settings: As `decidable.judgments.JudgmentSettings` says.

    Raises:
        VerificationError: The last review did not accept it; `.candidate` and `.drives` say why.
        QuestionError: There is no yes/no question.
        RefusedError: The model declined a question.
        LLMError: The provider failed.
        ReceiptError: The receipt could not be kept.
    """
    __tracebackhide__ = True
    putting, flow = _verifying(submission, questions, revise, finish, state, max_drives, below, settings)
    return putting.runtime.run(flow, putting.scope)


async def async_verify(
    submission: Any,
    questions: Any,
    *,
    revise: Callable[[str], Any] | None = None,
    finish: Callable[[Any], Any] | None = None,
    state: Any = None,
    max_drives: int = MOST_DRIVES,
    below: float = FLOOR,
    **settings: Unpack[JudgmentSettings],
) -> Verified:
    """`verify` from an event loop: an async `revise` or `finish` is awaited."""
    __tracebackhide__ = True
    putting, flow = _verifying(submission, questions, revise, finish, state, max_drives, below, settings)
    return await putting.runtime.run_async(flow, putting.scope)


def _verifying(  # noqa: PLR0917 - the arguments of `verify`
    submission: Any,
    questions: Any,
    revise: Callable[[str], Any] | None,
    finish: Callable[[Any], Any] | None,
    state: Any,
    max_drives: Any,
    below: Any,
    settings: Mapping[str, Any],
) -> tuple[Putting, Flow[Verified]]:
    asked = questions_from(questions)
    if not any(isinstance(question, Noul) for question in asked.values()):
        raise QuestionError("verify needs at least one yes/no question, a Noul or a bool")
    if type(max_drives) is not int or max_drives < 1:
        raise SettingError(f"verify: max_drives is a whole number, 1 or more, not {max_drives!r}")
    floor = checked_gate(below, "verify: below", 0.0, inclusive=False)
    if floor == 1:
        raise SettingError("verify: below is a number above 0 and below 1, not 1")
    own = ("revise", "finish", "state", "max_drives", "below")
    must = "verify(below=...)" if floor != FLOOR else None
    putting = opened("verify", {"label": "verify", **settings}, own, must_measure=must)
    review = _Review(putting, asked, state, max_drives, floor)
    return putting, putting.noted(review.flow(submission, revise, finish), asked)


@dataclass(slots=True)
class _Review:
    putting: Putting
    questions: Mapping[str, Question]
    state: Any
    most: int
    floor: float
    drives: tuple[Drive, ...] = ()

    def flow(
        self, submission: Any, revise: Callable[[str], Any] | None, finish: Callable[[Any], Any] | None
    ) -> Flow[Verified]:
        """Review after review, until one accepts."""
        while True:
            drive = yield from self._reviewed(submission)
            if drive.accepted:
                final = submission if finish is None else (yield Consult(finish, submission))
                if final == submission:
                    return Verified(final, self.drives)
                submission, finish = final, None  # what was made of it is looked at once more
                if len(self.drives) < self.most:
                    continue
                raise self._exhausted(submission, "the final work was not reviewed, since no review was left")
            if revise is None or len(self.drives) >= self.most:
                raise self._exhausted(submission, _message(drive, self.questions))
            submission = yield Consult(revise, _message(drive, self.questions))

    def _reviewed(self, submission: Any) -> Flow[Drive]:
        fields = _fields(submission)
        thresholds = {
            name: _threshold(name, fields, self.floor)
            for name, question in self.questions.items()
            if isinstance(question, Noul)
        }
        present = [name for name in thresholds if name in fields]
        rule = {"kind": "verify", "thresholds": thresholds, "present": present}
        known = self.state if isinstance(self.state, Mapping) else {} if self.state is None else {"context": self.state}
        settings, label = self.putting.settings, f"{self.putting.label} (verify)"
        request = question_request(
            state_json({**known, "submission": submission}),
            self.questions,
            settings.get("model"),
            settings.get("images"),
        )
        draft = Draft("verify", label, rule, len(self.drives), self.most)
        judgement = yield from self.putting.ask(request, draft)
        refuse_refusals(judgement, label)
        action = action_of(rule, judgement.answers, self.questions) or {}
        drive = Drive(
            len(self.drives) + 1,
            submission,
            tuple(action["doubted"]),
            tuple(action["unmet"]),
            action["accepted"],
            judgement,
        )
        self.drives = (*self.drives, drive)
        return drive

    def _exhausted(self, candidate: Any, why: str) -> VerificationError:
        count = len(self.drives)
        return VerificationError(
            f"{self.putting.label}: not accepted in {count} review{'s' if count > 1 else ''}: {why}",
            candidate=candidate,
            drives=self.drives,
        )


def _threshold(name: str, fields: Mapping[str, Any], floor: float) -> float | None:
    if name not in fields:
        return REQUIREMENT
    return floor if is_filled(fields[name]) else None


def _fields(submission: Any) -> Mapping[str, Any]:
    made = state_json(submission)
    return made if isinstance(made, dict) else {}


def is_filled(value: Any) -> bool:
    """Whether a field says something: no None, no False, no blank or placeholder such as ``"n/a"``, no empty list."""
    if value is None or value is False:
        return False
    if isinstance(value, str):
        text = value.strip().lower()
        return bool(text) and text not in _PLACEHOLDERS
    return not (isinstance(value, Iterable) and not isinstance(value, Mapping) and not list(value))


def _message(drive: Drive, questions: Mapping[str, Question]) -> str:
    """What is wrong, in words, for whoever does the work again."""
    lines = ["The review did not accept this."]
    for heading, names in (("Doubted, look at these again:", drive.doubted), ("Not met:", drive.unmet)):
        if names:
            lines += [heading, *(f"- {name}: {inspect.cleandoc(questions[name].instructions)}" for name in names)]
    return "\n".join(lines)
