"""`local`: a small real model on this machine, without key or network. Extra: ``decidable[local]``.

It compares meaning: the state with each option's name and description. It does not reason, count, negate, or fill in
text. Its probabilities rank the options; they are not calibrated.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from threading import Lock
from typing import Any, Protocol

from decidable.errors import SettingError, UnaskableError, UnknownProviderError, did_you_mean
from decidable.messages import Reply, Request
from decidable.providers.checking import check_request
from decidable.providers.protocol import Capabilities, SyncProvider
from decidable.questions.decoding import with_confidence
from decidable.questions.limits import Limits
from decidable.questions.types import (
    Answer,
    Choice,
    ChoiceAnswer,
    Noul,
    NoulAnswer,
    Provenance,
    Question,
    QuestionRequest,
    Score,
    ScoreAnswer,
)

__all__ = ["LocalProvider", "Scorer"]


class Scorer(Protocol):
    """A local model: how well candidates fit a text. Better models come in here."""

    def scores(self, text: str, menus: Sequence[tuple[str, ...]]) -> list[list[float]]:
        """For each menu, one similarity per candidate, in [-1, 1]; higher fits better."""


MODELS = ("minilm",)
"""Model names that ``local:`` knows."""


class LocalProvider(SyncProvider):
    """Answers typed questions, and so menus, by similarity of meaning.

    What it can: pick among described options, fill fields with listed values (an enum, or a yes/no whose two sides
    are described), and place a state on a rubric of described levels. What it cannot: reason, count, understand
    negation, write text or numbers.

    Args:
        model: ``"minilm"`` (all-MiniLM-L6-v2, int8), the default.
        temperature: Of the softmax over similarities; a smaller one spreads the probabilities further. 0.05 to 0.07
            suits this model.
        min_margin: Raise `decidable.Unsure` when the two likeliest options are closer than this, in probability.
        scorer: Another model behind the same seam.

    Raises:
        UnknownProviderError: No local model has that name.
        MissingExtraError: The packages of ``decidable[local]`` are not installed.
    """

    def __init__(
        self,
        model: str | None = None,
        *,
        temperature: float = 0.06,
        min_margin: float = 0.0,
        scorer: Scorer | None = None,
    ) -> None:
        if not temperature > 0:
            raise SettingError(f"temperature must be above 0, not {temperature!r}")
        if not 0 <= min_margin <= 1:
            raise SettingError(f"min_margin is a difference of probabilities, from 0 to 1, not {min_margin!r}")
        model = model or MODELS[0]
        if scorer is None and model not in MODELS:
            raise UnknownProviderError(f"no local model is named {model!r}; {did_you_mean(model, MODELS)}")
        self.name = "local"
        self.model: str | None = model
        self.temperature = temperature
        self.capabilities = Capabilities(
            question_types=frozenset({"noul", "choice", "score"}),
            limits=Limits(choice_options=(1, 255), score_levels=(1, 10), sides_required=True),
            models=MODELS if scorer is None else None,
            remote=False,
            min_margin=min_margin,
        )
        self._scorer = scorer or _loaded()

    def __repr__(self) -> str:
        return (
            f"LocalProvider({self.model!r}: matches meaning; no reasoning, counting, negation or free text; "
            "uncalibrated)"
        )

    def send(self, request: Request, deadline: float | None = None) -> Reply:
        """Answer typed questions; about 10 ms."""
        if not isinstance(request, QuestionRequest):
            raise UnaskableError(f"the local model {self.model!r} picks among options; it cannot write text")
        check_request(self, request)
        menus = [_candidates(question) for question in request.questions.values()]
        scores = self._scorer.scores(_text(request.state), menus)
        answers = {
            name: self._answer(question, row)
            for (name, question), row in zip(request.questions.items(), scores, strict=True)
        }
        answered, sources = with_confidence(answers)
        return Reply(
            answers=answered, model=self.model, cost=0.0, provenance=Provenance(sources, cost_basis="reported")
        )

    def _answer(self, question: Question, scores: Sequence[float]) -> Answer:
        """Similarities as a softmax, which ranks and is not calibrated."""
        top = max(scores)
        weights = [math.exp((score - top) / self.temperature) for score in scores]
        total = sum(weights)
        shares = [weight / total for weight in weights]
        if isinstance(question, Noul):
            return NoulAnswer(shares[0])
        if isinstance(question, Score):
            return ScoreAnswer(sum(level * share for level, share in enumerate(shares)), tuple(shares))
        options = question.criteria if isinstance(question, Choice) else ()
        probabilities = dict(zip(options, shares, strict=True))
        return ChoiceAnswer(max(probabilities, key=probabilities.__getitem__), probabilities)


def _text(state: Any) -> str:
    """A state as the model reads it, which reads text."""
    return state if isinstance(state, str) else json.dumps(state, ensure_ascii=False, indent=1, default=str)


def _candidates(question: Question) -> tuple[str, ...]:
    """What each option of a question says, as the model reads it."""
    if isinstance(question, Noul):  # the words yes and no mean nothing to it; their descriptions do
        return question.true or "", question.false or ""
    if isinstance(question, Score):
        return question.criteria
    options = question.criteria.items() if isinstance(question, Choice) else ()
    return tuple(f"{_words(label)}: {about}" if about else _words(label) for label, about in options)


def _words(label: str) -> str:
    """A label as words, since the model reads language: ``issue_refund`` says ``issue refund``."""
    return label.replace("_", " ").replace("-", " ")


_model: Scorer | None = None
_lock = Lock()


def _loaded() -> Scorer:
    """The one copy of the model in this process; loading it takes about half a second, imports included, and 220 MB."""
    global _model  # noqa: PLW0603 - one model serves the process
    with _lock:
        if _model is None:
            from decidable.providers.local.minilm import MiniLM

            _model = MiniLM()
        return _model
