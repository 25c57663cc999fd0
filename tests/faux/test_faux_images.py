"""Images beside a state, as the real services take them."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from faux_kit import DANGER, JPEG, PNG, QUESTIONS, ROUTER, SYSTEMONE, asked, post

from decidable.testing.systemone import (
    FauxSystemOne,
)


def asset(data: bytes, form: str = "png") -> dict[str, str]:
    return {"type": "image", "format": form, "data_base64": base64.b64encode(data).decode()}


def shown(state: Any, *tokens: str, **more: Any) -> dict[str, Any]:
    return asked(state=state, assets={token: asset(PNG) for token in tokens or ("<i1>",)}, **more)


def test_an_image_is_part_of_what_is_asked():
    faux = FauxSystemOne()
    one = {"state": {"deep": ["see <i1> there"]}, "assets": {"<i1>": asset(PNG)}}
    found = post(faux, SYSTEMONE, asked(**one), DANGER)[1]["answers"]
    assert faux.requests[0].images == {"<i1>": PNG}
    other = post(faux, SYSTEMONE, asked(**{**one, "assets": {"<i1>": asset(JPEG, "jpg")}}), DANGER)[1]["answers"]
    assert all(found[name] != other[name] for name in QUESTIONS)
    renamed = {"state": {"deep": ["see <longer> there"]}, "assets": {"<longer>": asset(PNG)}}
    assert post(faux, SYSTEMONE, asked(**renamed), DANGER)[1]["answers"] == found, "a token is a made-up name"
    more = {**QUESTIONS, "look": {"type": "score", "instructions": "At <i2>?", "criteria": ["like <i2>", "not"]}}
    both = {**one, "assets": {"<i1>": asset(PNG), "<i2>": asset(JPEG, "jpeg")}, "questions": more}
    last = post(faux, SYSTEMONE, asked(**both), DANGER)[1]["answers"]
    assert last.pop("look")["legend"] == {"0": "like <i2>", "1": "not"}
    assert last == found, "another question's image moves no answer"


@pytest.mark.parametrize(
    ("model", "state", "code"),
    [
        ("cloudflare/clef", ["look", "<i1>"], 200),
        ("cloudflare/clef", ["look at <i1>", "<i1>"], 400),
        ("cloudflare/clef", [["<i1>"]], 400),
        ("cloudflare/clef", {"photo": "<i1>"}, 400),
        ("cloudflare/clef", "<i1>", 400),
        ("cloudflare/clef", ["nothing"], 400),
        ("liquid/d1", ["<i1>"], 400),
        ("typesafe/jev-1.14", {"a": {"b": "see <i1>"}}, 200),
        ("typesafe/jev-1.14", "nothing", 400),
        ("typesafe/jev-1.13", "<i1>", 400),
        ("jev-latest", "<i1>", 200),
    ],
)
def test_where_an_image_may_stand(model: str, state: Any, code: int):
    found = post(FauxSystemOne(), ROUTER, shown(state, model=model), DANGER)
    assert found[0] == code
    assert ("answers" in found[1]) == (code == 200)


def test_an_image_in_a_question_is_read_by_jev_alone():
    questions = {"q": {"type": "noul", "instructions": "Is <i1> a dog?"}}
    assert post(FauxSystemOne(), ROUTER, shown("x", questions=questions), DANGER)[0] == 200
    assert (
        post(FauxSystemOne(), ROUTER, shown(["<i1>"], questions=questions, model="cloudflare/clef"), DANGER)[0] == 400
    )


def test_images_need_their_header():
    for path in (SYSTEMONE, ROUTER):
        for headers in ({}, {"typesafe-danger-zone-images": "false"}):
            assert post(FauxSystemOne(), path, shown("<i1>"), headers)[0] == 400
    assert post(FauxSystemOne(), SYSTEMONE, shown("<i1>"))[1]["detail"]["error_type"] == "invalid_request_error"


@pytest.mark.parametrize(
    "assets",
    [
        {},
        [],
        {" ": asset(PNG)},
        {"t" * 1025: asset(PNG)},
        {"<i1>": "data"},
        {"<i1>": asset(PNG, "gif")},
        {"<i1>": {**asset(PNG), "type": "video"}},
        {"<i1>": {"type": "image", "format": "png"}},
        {"<i1>": {"type": "image", "format": "png", "data_base64": "data:image/png;base64,AA=="}},
        {"<i1>": {"type": "image", "part": "asset-0"}},
    ],
)
def test_assets_that_are_not_valid(assets: Any):
    assert post(FauxSystemOne(), SYSTEMONE, asked(state="<i1>", assets=assets), DANGER)[0] == 422


def form(parts: dict[str, bytes], boundary: str = "b0undary") -> tuple[dict[str, str], bytes]:
    raw = b""
    for name, content in parts.items():
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\nContent-Type: image/png\r\n\r\n'
        raw += head.encode() + content + b"\r\n"
    return {**DANGER, "content-type": f"multipart/form-data; boundary={boundary}"}, raw + f"--{boundary}--\r\n".encode()


def in_parts(*parts: str) -> bytes:
    return json.dumps(asked(state="<i1>", assets={"<i1>": {"type": "image", "part": part} for part in parts})).encode()


def test_a_body_in_parts():
    faux = FauxSystemOne()
    headers, raw = form({"request": in_parts("asset-0"), "asset-0": PNG})
    code, found = post(faux, SYSTEMONE, raw, headers)
    assert (code, found["answers"]) == (200, post(faux, SYSTEMONE, shown("<i1>"), DANGER)[1]["answers"])
    kept = faux.requests[0]
    assert (kept.images, kept.body, kept.raw) == ({"<i1>": PNG}, json.loads(in_parts("asset-0")), raw)
    assert post(faux, ROUTER, raw, headers)[0] == 415
    assert post(faux, SYSTEMONE, *reversed(form({"request": json.dumps(asked()).encode()})))[0] == 200
    for parts, expected in (
        ({"asset-0": PNG}, 400),
        ({"request": in_parts("asset-0"), "asset-0": PNG, "asset-1": PNG}, 400),
        ({"request": in_parts("asset-1"), "asset-0": PNG}, 422),
        ({"request": json.dumps(asked()).encode(), "asset-0": PNG}, 422),
        ({"request": b"{"}, 422),
    ):
        headers, raw = form(parts)
        assert post(faux, SYSTEMONE, raw, headers)[0] == expected
    assert post(faux, SYSTEMONE, b"junk", headers)[0] == 400
    assert post(faux, SYSTEMONE, raw, {"content-type": "multipart/form-data"})[0] == 400
