"""What the tests of the verbs share: a model that answers as a function says, and both ways of calling a verb."""

from __future__ import annotations

import asyncio
from threading import Lock

from decidable import Reply, Runtime
from decidable import judgments as verbs
from decidable.providers.protocol import Capabilities, SyncProvider
from decidable.questions import Choice, ChoiceAnswer, Limits, Noul, NoulAnswer, Refusal, ScoreAnswer


def answer_of(question, value):
    """An answer from a short word for it: P(yes); an option, or (option, its probability); a level, or shares."""
    if value == "refused":
        return Refusal()
    if isinstance(question, Noul):
        return NoulAnswer(float(value))
    if isinstance(question, Choice):
        option, p = value if isinstance(value, tuple) else (value, 0.9)
        rest = [name for name in question.criteria if name != option]
        return ChoiceAnswer(option, {option: p if rest else 1.0, **{name: (1 - p) / len(rest) for name in rest}})
    shares = value if isinstance(value, tuple) else tuple(float(n == value) for n in range(len(question.criteria)))
    return ScoreAnswer(sum(n * p for n, p in enumerate(shares)), shares)


class Model(SyncProvider):
    """A decision model in this process; `say(id, question, request)` gives each answer in short."""

    def __init__(self, say, *, name="model", model="m-1", replay="safe", limits=None, cost=0.001, fail=None):
        self.say = say if callable(say) else (lambda key, question, request: say[key])
        self.name, self.model, self.cost, self.fail = name, model, cost, fail
        self.capabilities = Capabilities(
            question_types=frozenset({"noul", "choice", "score"}),
            remote=False,
            replay=replay,
            limits=limits or Limits(),
        )
        self.requests, self.lock = [], Lock()

    def send(self, request, deadline=None):
        with self.lock:
            self.requests.append(request)
            number = len(self.requests)
        if self.fail is not None:
            self.fail(number, request)
        answers = {key: answer_of(q, self.say(key, q, request)) for key, q in request.questions.items()}
        return Reply(answers=answers, model=self.model, cost=self.cost, request_id=f"r{number}")


def runtime(say, **more):
    """A runtime on such a model; `.model` is it."""
    model = Model(say, **more)
    made = Runtime(model)
    made.asked = model
    return made


def called(how, verb, *args, **more):
    """The verb by its sync or its async twin."""
    if how == "sync":
        return getattr(verbs, verb)(*args, **more)
    return asyncio.run(getattr(verbs, f"async_{verb}")(*args, **more))
