"""Ten typed questions through a judge: with a provider in this process, and over httpx's mock transport."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable

import httpx

from decidable import (
    Judge,
    Runtime,
    decision,
    judge,
    judge_from_provider,
    sift,
    systemone_provider,
    use_receipts,
)
from decidable.messages import Reply, Request
from decidable.providers.protocol import Capabilities, SyncProvider
from decidable.questions import (
    Choice,
    ChoiceAnswer,
    Limits,
    Noul,
    NoulAnswer,
    Score,
    ScoreAnswer,
    answer_json,
    question_json,
)
from decidable.receipts import SQLiteReceipts
from report import Line
from task import TICKET
from timing import cpu_us, cpu_us_each

_IN_PROCESS_US = 100.0
_ADDED_US = 200.0
"""What ten questions may cost: in all, and beyond the request itself."""

QUESTIONS = {
    **{f"noul {n}": Noul(f"Is it {n}?", "It is.", "It is not.") for n in range(4)},
    **{f"choice {n}": Choice(f"Which of {n}?", {"a": "The first.", "b": "The second.", "c": None}) for n in range(4)},
    **{f"score {n}": Score(f"How much of {n}?", ("none", "some", "much")) for n in range(2)},
}
ANSWERS = {
    name: NoulAnswer(0.9)
    if isinstance(question, Noul)
    else ChoiceAnswer("a", {"a": 0.8, "b": 0.15, "c": 0.05}, 0.7)
    if isinstance(question, Choice)
    else ScoreAnswer(1.25, (0.25, 0.25, 0.5), 0.25)
    for name, question in QUESTIONS.items()
}


class InProcess(SyncProvider):
    """Has its answers ready, and leaves checking them to the library."""

    name = "in-process"
    model: str | None = "ready"
    capabilities = Capabilities(
        question_types=frozenset({"noul", "choice", "score"}),
        remote=False,
        limits=Limits(max_questions=100, choice_options=(2, 255), score_levels=(2, 10)),
    )

    def send(self, request: Request, deadline: float | None = None) -> Reply:
        """All answers."""
        return Reply(answers=ANSWERS, model="ready")


class Picking(InProcess):
    """Picks the first option."""

    def send(self, request: Request, deadline: float | None = None) -> Reply:
        """One answer."""
        return Reply(answers={"pick": ChoiceAnswer("billing", {"billing": 0.8, "tech": 0.15, "sales": 0.05})})


def typed_questions(batches: int) -> list[Line]:
    """What typed questions cost beside the model's own time."""
    asked = _asking(judge_from_provider(InProcess()))
    body = {"model": "m", "answers": {name: answer_json(ANSWERS[name], q) for name, q in QUESTIONS.items()}}
    content = json.dumps(body).encode()
    transport = httpx.MockTransport(lambda _request: httpx.Response(200, content=content))
    client, async_client = httpx.Client(transport=transport), httpx.AsyncClient(transport=transport)
    provider = systemone_provider("http://fake.example", "m", client=client, async_client=async_client)
    over_http = _asking(judge_from_provider(provider))
    spelled = {name: question_json(question) for name, question in QUESTIONS.items()}
    sent = json.dumps({"model": "m", "state": TICKET, "questions": spelled}).encode()

    def bare() -> object:
        headers = {"content-type": "application/json"}
        return client.post("http://fake.example/v1/systemone", content=sent, headers=headers).content

    if not asked() or not over_http():
        raise RuntimeError("the answers did not come out as scripted")
    runtime = Runtime(Picking())
    judging = Runtime(InProcess())
    options = {"billing": 1, "tech": 2, "sales": 3}
    ours, floor = cpu_us_each([over_http, bare], batches=batches)
    return [
        Line("10 questions, in this process", cpu_us(asked, batches=batches), "us", _IN_PROCESS_US),
        Line(
            "judge with 10 questions, in this process",
            cpu_us(lambda: judge(TICKET, QUESTIONS, runtime=judging), batches=batches),
            "us",
            120,
        ),
        *_sifted(),
        _kept_on_disk(),
        Line("10 questions over HTTP", ours, "us", floor + _ADDED_US, floor, note=f"adds {ours - floor:.0f} us"),
        Line(
            "a decision on a decision model, 3 values",
            cpu_us(lambda: decision.make(TICKET, options, runtime=runtime), batches=batches),
            "us",
            60,
        ),
    ]


class Yes(InProcess):
    """Says yes to everything."""

    def send(self, request: Request, deadline: float | None = None) -> Reply:
        """Its answers."""
        return Reply(answers={name: NoulAnswer(0.9) for name in request.questions})


def _sifted() -> list[Line]:
    """How the time of a sift grows with its items."""
    runtime, late = Runtime(Yes()), {"late": Noul("Is it late?")}

    def each(count: int) -> float:
        items = [{"n": number, "text": TICKET} for number in range(count)]
        begun = time.perf_counter()
        sift(items, late, keep="late", runtime=runtime)
        return (time.perf_counter() - begun) / count * 1e6

    each(1000)
    small, large = each(1000), each(10_000)
    return [Line("sift, each of 10,000 items / of 1,000", large / small, "x", 1.5, note=f"{large:.0f} us an item")]


def _kept_on_disk() -> Line:
    """What a receipt in SQLite adds to a request."""
    runtime, late, count = Runtime(Yes()), {"late": Noul("Is it late?")}, 200
    with tempfile.TemporaryDirectory(dir=".") as folder:
        store = SQLiteReceipts(f"{folder}/receipts.db")
        with use_receipts(store):
            begun = time.perf_counter()
            for number in range(count):
                judge(f"ticket {number}", late, runtime=runtime)
            ms = (time.perf_counter() - begun) / count * 1000
        store.close()
    return Line("a judgement with its receipt in SQLite, wall", ms, "ms", 1)


def _asking(asked: Judge) -> Callable[[], object]:
    return lambda: asked.ask(TICKET, QUESTIONS).answers
