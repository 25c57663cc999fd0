"""Made-up answers: stable, sound, and moved by nothing that should not move them."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import Any

import pytest
from faux_kit import CROWD, QUESTIONS, STATE, SYSTEMONE, answers, asked, flaws, post

from decidable.testing.systemone import (
    FauxSystemOne,
)


def test_the_same_request_gets_the_same_bytes():
    raw = json.dumps(asked()).encode()
    first, second = (FauxSystemOne().answer("POST", SYSTEMONE, {}, raw) for _ in range(2))
    assert (first.status, first.headers, first.body) == (second.status, second.headers, second.body)
    assert first.headers["x-typesafe-request-id"].startswith("faux-")


@pytest.mark.parametrize(
    "other",
    [
        {"model": "jev-1.13.0"},
        {"state": {**STATE, "ticket": "Charged once."}},
        {
            "questions": {
                "refund": {"type": "noul", "instructions": "Is a refund asked for!"},
                "team": {**QUESTIONS["team"], "criteria": {**QUESTIONS["team"]["criteria"], "billing": "Cash."}},
                "anger": {**QUESTIONS["anger"], "criteria": ["calm", "upset", "mad"]},
            }
        },
    ],
    ids=["model", "state", "question"],
)
def test_another_request_gets_other_answers(other: dict[str, Any]):
    before, after = answers(FauxSystemOne()), answers(FauxSystemOne(), **other)
    for name in QUESTIONS:
        assert before[name] != after[name]


def test_nothing_else_moves_an_answer():
    faux = FauxSystemOne()
    before = answers(faux)
    renamed = answers(faux, questions={f"Q {name}": question for name, question in QUESTIONS.items()})
    assert {f"Q {name}": answer for name, answer in before.items()} == renamed
    turned = answers(faux, questions={name: QUESTIONS[name] for name in reversed(QUESTIONS)}, seed=7, x_trace="1")
    assert turned == before
    assert list(turned) == [*reversed(before)]
    assert answers(faux, questions={**QUESTIONS, "more": CROWD})["team"] == before["team"]
    assert answers(faux, state={key: STATE[key] for key in reversed(STATE)}) == before
    team = QUESTIONS["team"]
    options = {name: team["criteria"][name] for name in reversed(team["criteria"])}
    moved = answers(faux, questions={"team": {**team, "criteria": options, "labels": 1}})
    assert moved["team"] == before["team"], "the order of options moves none of them"
    assert answers(faux, model="jev-1.14.0") == before, "an alias is another name, not another model"


def test_every_answer_is_sound():
    faux = FauxSystemOne()
    questions = {
        **QUESTIONS,
        "crowd": CROWD,
        "one": {"type": "choice", "criteria": {"only": None}},
        "level": {"type": "score", "instructions": ["How?"], "criteria": [{"is": "low"}]},
        "side": {"type": "noul", "criteria": {"true": ["late"], "false": None}},
        "bare": {"type": "noul", "instructions": {"task": "x"}, "criteria": None},
    }
    for size in range(2, 11):
        questions[f"levels {size}"] = {"type": "score", "criteria": [f"L{n}" for n in range(size)]}
    for size in (2, 3, 26, 99, 100, 101, 150, 254):
        questions[f"options {size}"] = {"type": "choice", "criteria": {f"o{n}": None for n in range(size)}}
    for number in range(60):
        found = answers(faux, state=f"state {number}", questions=questions)
        assert {name: flaws(q, found[name]) for name, q in questions.items()} == {name: [] for name in questions}


def test_confidence_is_by_the_reference_formula():
    for number in range(40):
        found = answers(FauxSystemOne(), state=f"state {number}")
        team, anger = found["team"], found["anger"]
        assert team["confidence"] == pytest.approx((3 * max(team["probabilities"].values()) - 1) / 2, abs=0.0051)
        p = list(anger["probabilities"].values())
        spread = sum(share * abs(level - p.index(max(p))) for level, share in enumerate(p))
        assert anger["confidence"] == pytest.approx(max(0.0, 1 - spread / (2 / 3)), abs=0.0051)
    one = answers(FauxSystemOne(), questions={"a": {"type": "choice", "criteria": {"x": None}}})["a"]
    assert (one["choice"], one["probabilities"], one["confidence"]) == ("x", {"x": 1.0}, 1.0)


def test_answers_are_spread():
    picks = [answers(FauxSystemOne(), state=str(n))["team"]["choice"] for n in range(90)]
    assert all(picks.count(option) > 15 for option in QUESTIONS["team"]["criteria"])
    nouls = [answers(FauxSystemOne(), state=str(n))["refund"]["noul"] for n in range(90)]
    assert 0.4 < sum(nouls) / 90 < 0.6
    assert min(nouls) < 0.1
    assert max(nouls) > 0.9


def test_no_socket_is_opened(monkeypatch: pytest.MonkeyPatch):
    faux = FauxSystemOne()
    client, async_client = faux.clients()

    class Forbidden(socket.socket):
        def connect(self, *args: Any) -> Any:  # the event loop's own socket pair does not call it
            raise AssertionError("a connection was opened")

        connect_ex = bind = connect

    async def ask_async() -> Any:
        async with async_client:
            monkeypatch.setattr(socket, "socket", Forbidden)
            return await async_client.post(f"https://api.typesafe.ai{SYSTEMONE}", json=asked())

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("a socket was opened")

    late = asyncio.run(ask_async())
    monkeypatch.setattr(socket, "socket", refuse)
    with client:
        reply = client.post(f"https://api.typesafe.ai{SYSTEMONE}", json=asked())
    assert reply.json()["answers"] == late.json()["answers"] == answers(FauxSystemOne())
    assert [request.body for request in faux.requests] == [asked(), asked()]


def test_requests_are_kept():
    faux = FauxSystemOne()
    post(faux, f"{SYSTEMONE}?x=1", asked(), {"Authorization": "Bearer k", "X-Other": "1"})
    post(faux, SYSTEMONE, b"<nothing>")
    faux.answer("GET", "/v1/models", {}, b"")
    first, second, third = faux.requests
    assert (first.method, first.path, first.body) == ("POST", f"{SYSTEMONE}?x=1", asked())
    assert first.headers == {"authorization": "Bearer k", "x-other": "1"}
    assert (first.raw, first.images) == (json.dumps(asked()).encode(), {})
    assert (second.body, second.raw, third.method) == (None, b"<nothing>", "GET")
    assert (faux.tries, faux.posts) == (3, [first, second])
    assert "Bearer" not in repr(first)
    with pytest.raises(AttributeError):
        first.path = "/"  # type: ignore[misc]
