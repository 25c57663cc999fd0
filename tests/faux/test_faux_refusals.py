"""What the faux service refuses, and in which words."""

from __future__ import annotations

import gzip
import json
import zlib
from typing import Any

import pytest
from faux_kit import CROWD, QUESTIONS, ROUTER, SYSTEMONE, asked, post

from decidable.testing.systemone import (
    FauxSystemOne,
)


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        ({}, "a key is needed"),
        ({"authorization": "Basic right"}, "a key is needed"),
        ({"x-api-key": "right"}, "a key is needed"),
        ({"authorization": "Bearer wrong-secret"}, "the key is wrong"),
    ],
)
def test_keys(headers: dict[str, str], said: str):
    faux = FauxSystemOne("right")
    for what in (asked(), b"not JSON"):
        assert post(faux, SYSTEMONE, what, headers) == (
            401,
            {"detail": {"error_type": "authentication_error", "message": said}},
        )
        code, found = post(faux, ROUTER, what, headers)
        assert (code, found["error"]["code"]) == (401, 401)
    assert post(faux, SYSTEMONE, asked(), {"Authorization": "Bearer right"})[0] == 200
    assert post(FauxSystemOne(), SYSTEMONE, asked(), headers)[0] == 200


DEEP: Any = "x"
for _ in range(65):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("what", "where"),
    [
        (b"", []),
        (b'{"model": ', []),
        (b"\xff\xfe\x00", []),
        (b"[1]", []),
        (b'{"model": NaN}', []),
        (b"[" * 200_000 + b"]" * 200_000, []),
        (b"[" * 150 + b"]" * 150, []),
        ({"state": "x", "questions": QUESTIONS}, ["model"]),
        (asked(model=7), ["model"]),
        ({"model": "jev-latest", "questions": QUESTIONS}, ["state"]),
        (asked(state=None), ["state"]),
        (asked(state=3), ["state"]),
        (asked(state=DEEP), ["state"]),
        ({"model": "jev-latest", "state": "x"}, ["questions"]),
        (asked(questions=[]), ["questions"]),
        (asked(questions={}), ["questions"]),
        (asked(questions={"": QUESTIONS["refund"]}), ["questions", ""]),
        (asked(questions={"q": "is it?"}), ["questions", "q"]),
        (asked(questions={"q": {"instructions": "x"}}), ["questions", "q", "type"]),
        (asked(questions={"q": {"type": "boolean", "instructions": "x"}}), ["questions", "q", "type"]),
        (asked(questions={"q": {"type": [], "instructions": "x"}}), ["questions", "q", "type"]),
        (asked(questions={"q": {"type": "box", "instructions": "x"}}), ["questions", "q", "type"]),
        (asked(questions={"q": {"type": "noul", "instructions": 3}}), ["questions", "q", "instructions"]),
        (asked(questions={"q": {"type": "noul"}}), ["questions", "q"]),
        (
            asked(questions={"q": {"type": "noul", "instructions": "x", "criteria": ["yes"]}}),
            ["questions", "q", "criteria"],
        ),
        (
            asked(questions={"q": {"type": "noul", "instructions": "x", "criteria": {"true": 1}}}),
            ["questions", "q", "criteria"],
        ),
        (asked(questions={"q": {"type": "choice", "criteria": {}}}), ["questions", "q", "criteria"]),
        (asked(questions={"q": {"type": "choice", "criteria": ["a", "b"]}}), ["questions", "q", "criteria"]),
        (asked(questions={"q": {"type": "choice", "criteria": {"a": 1}}}), ["questions", "q", "criteria"]),
        (
            asked(questions={"q": {**CROWD, "criteria": {**CROWD["criteria"], "more": None}}}),
            ["questions", "q", "criteria"],
        ),
        (asked(questions={"q": {"type": "score", "criteria": {"0": "a"}}}), ["questions", "q", "criteria"]),
        (asked(questions={"q": {"type": "score", "criteria": []}}), ["questions", "q", "criteria"]),
        (asked(questions={"q": {"type": "score", "criteria": ["x"] * 11}}), ["questions", "q", "criteria"]),
        (asked(questions={"q": {"type": "score", "criteria": ["calm", None]}}), ["questions", "q", "criteria"]),
    ],
)
def test_bodies_that_are_not_valid(what: Any, where: list[str]):
    code, found = post(FauxSystemOne(), SYSTEMONE, what)
    assert (code, [one["loc"] for one in found["detail"]]) == (422, [["body", *where]])
    assert all(one["msg"] and one["type"] for one in found["detail"])
    code, found = post(FauxSystemOne(), ROUTER, what)
    assert (code, found["error"]["code"], found["error"]["metadata"]) == (400, 400, None)


def test_all_problems_are_told_and_nothing_is_quoted():
    sent = {
        "model": "",
        "state": "my secret",
        "questions": {"a": {"type": "secret"}, "b": {"type": "choice", "instructions": "secret"}},
    }
    reply = FauxSystemOne("key-secret").answer(
        "POST", SYSTEMONE, {"authorization": "Bearer key-secret"}, json.dumps(sent).encode()
    )
    found = json.loads(reply.body)
    assert [one["loc"][1:] for one in found["detail"]] == [
        ["model"],
        ["questions", "a", "type"],
        ["questions", "b", "criteria"],
    ]
    assert b"secret" not in reply.body
    code, found = post(FauxSystemOne(), SYSTEMONE, asked(model="secret"))
    assert (code, found["detail"]["error_type"], "secret" in str(found)) == (404, "not_found_error", False)


def test_compressed_bodies():
    faux = FauxSystemOne()
    raw = json.dumps(asked()).encode()
    plain = faux.answer("POST", SYSTEMONE, {}, raw).body
    for encoding, packed in (
        ("gzip", gzip.compress(raw)),
        ("deflate", zlib.compress(raw)),
        ("identity", raw),
        ("deflate, gzip", gzip.compress(zlib.compress(raw))),
    ):
        reply = faux.answer("POST", SYSTEMONE, {"content-encoding": encoding}, packed)
        assert (reply.status, reply.body) == (200, plain)
        assert (faux.requests[-1].raw, faux.requests[-1].body) == (packed, asked())
    for encoding, packed, code in (
        ("zstd", b"(\xb5/\xfd", 415),
        ("gzip", raw, 400),
        ("gzip", gzip.compress(raw)[:-9], 400),
        ("gzip", gzip.compress(bytes(65 * 2**20)), 413),
    ):
        found = post(faux, SYSTEMONE, packed, {"content-encoding": encoding})
        assert found[0] == code
        assert found[1]["detail"]["message"]
