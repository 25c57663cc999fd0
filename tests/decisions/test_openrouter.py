"""OpenRouter: its models, its costs, and images in the form that each model reads."""

from __future__ import annotations

import asyncio
import base64
import struct
import threading
import time
import zlib

import pytest
from decisions_kit import reply

from decidable import openrouter_provider
from decidable.content import MediaPart
from decidable.providers.images import size_of
from decidable.providers.wires.codec import HttpReply
from decidable.questions import Choice, Noul, ScoreAnswer
from decidable.questions import Score as Rating
from decidable.testing.provider_conformance import FakeTransport

KEY = "key-that-must-not-leak"
ASKED = {
    "refund": Noul("Is a refund asked for?"),
    "team": Choice("Which team?", ["billing", "technical", "other"]),
    "urgency": Rating("How urgent?", ["low", "medium", "high"]),
}
ONE = {"q": Noul("So?")}
YES = {"id": "gen-1", "model": "m", "answers": {"q": {"type": "noul", "noul": 0.9}}, "usage": {}}
JEV, CLEF, TEXT = "typesafe/jev-1.14", "cloudflare/clef", "liquid/d1"


@pytest.fixture
def openrouter(service):
    return lambda model=None, **settings: service(openrouter_provider, model, **{"api_key": KEY, **settings})


def test_the_request(openrouter):
    it = openrouter()
    it.ask({"ticket": "Charged twice."}, ASKED, "openrouter_ok", model="perplexity/pplx-decider-v1.2")
    (sent,) = it.transport.sends
    assert (sent.path, sent.headers["authorization"]) == ("/api/v1/systemone", f"Bearer {KEY}")
    assert it.provider._transport.address == "https://openrouter.ai"
    assert sent.json() == {
        "model": "perplexity/pplx-decider-v1.2",
        "state": {"ticket": "Charged twice."},
        "questions": {
            "refund": {"type": "noul", "instructions": "Is a refund asked for?"},
            "team": {
                "type": "choice",
                "instructions": "Which team?",
                "criteria": {"billing": None, "technical": None, "other": None},
            },
            "urgency": {"type": "score", "instructions": "How urgent?", "criteria": ["low", "medium", "high"]},
        },
    }


def test_a_model_must_be_named(openrouter):
    error = openrouter().fails("x", ONE, YES)
    assert error.code == "invalid_request"
    assert "name a model" in str(error)
    it = openrouter(TEXT)
    it.ask("x", ONE, YES)
    it.ask("x", ONE, YES, model=CLEF)
    assert [body["model"] for body in it.sent] == [TEXT, CLEF]


def test_costs(openrouter):
    found = openrouter(JEV).ask("x", ASKED, "openrouter_ok")
    assert (found.cost_usd, found.cost_basis) == (0.0000125, "reported")
    assert (found.model, found.provider_request_id, found.usage.input_tokens) == (JEV, "gen-dec-1", 287)
    found = openrouter(JEV).ask("x", ASKED, "openrouter_nocost")
    assert (found.cost_usd, found.cost_basis) == (None, "unknown")
    for cost in (-1, "0.1", float("nan"), True, 1e12):
        body = {**YES, "usage": {"input_tokens": 1, "output_tokens": 0, "cost": cost}}
        assert openrouter(JEV).ask("x", ONE, body).cost_usd is None


def test_what_is_sparse_is_filled_and_what_is_missing_is_refused(openrouter):
    found = openrouter(JEV).ask("x", ASKED, "openrouter_sparse")
    assert found.confidence_source == {"refund": "noul", "team": "derived", "urgency": "reported"}
    assert found.answers["urgency"] == ScoreAnswer(0.94, (0.17, 0.72, 0.11), 0.58)
    listed = {"type": "score", "score": 0.9, "legend": ["a", "b"], "probabilities": {"0": 0.1, "1": 0.9}}
    rubric = {"q": Rating("?", ["a", "b"])}
    assert openrouter(JEV).ask("x", rubric, {**YES, "answers": {"q": listed}}).values == {"q": 1}
    for bad, why in (
        ({"type": "choice", "choice": "a"}, "probabilities"),
        ({"type": "box", "box": {}}, "answer_type"),
        ({"type": "choice", "choice": "a", "probabilities": [0.9, 0.1]}, "probability_keys"),
    ):
        error = openrouter(JEV).fails("x", {"q": Choice("?", ["a", "b"])}, {**YES, "answers": {"q": bad}})
        assert (error.code, error.detail) == ("invalid_response", why)
    assert openrouter(JEV).ask("x", ONE, {**YES, "answers": {"q": {"type": "refusal"}}}).refused == ("q",)


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, "invalid_request"),
        (401, "auth"),
        (402, "auth"),
        (403, "auth"),
        (404, "invalid_request"),
        (413, "invalid_request"),
        (429, "rate_limited"),
        (500, "outcome_unknown"),
        (502, "outcome_unknown"),
        (524, "outcome_unknown"),
        (529, "outcome_unknown"),
    ],
)
def test_statuses(openrouter, status, code):
    it = openrouter(JEV)
    error = it.fails("x", ONE, reply("openrouter_402", status))
    assert (error.code, len(it.sent)) == (code, 1)
    assert (error.cost_usd, error.cost_basis) == (None, "unknown" if code == "outcome_unknown" else None)
    assert "Insufficient" not in str(error)


# --- images -----------------------------------------------------------------------------------------------------------


def png(width=300, height=300):
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + head + struct.pack(">I", zlib.crc32(b"IHDR" + head))


def jpeg(width=300, height=300):
    app = b"\xff\xe0" + struct.pack(">H", 16) + b"JFIF\0" + b"\0" * 9
    return b"\xff\xd8" + app + b"\xff\xff\xc2" + struct.pack(">HBHHB", 11, 8, height, width, 1) + b"\0\0\0"


def image(data=None, mime="image/png"):
    return MediaPart("image", png() if data is None else data, mime)


def test_sizes():
    assert size_of(png(1569, 7)) == (1569, 7)
    assert size_of(jpeg(640, 480)) == (640, 480)
    for nothing in (
        b"",
        b"GIF89a",
        png()[:20],
        b"\xff\xd8\xff\xe0",
        b"\xff\xd8\xff\xc0\x00\x04",
        b"\xff\xd8nonsense----",
    ):
        assert size_of(nothing) is None


CATALOG = reply("catalog")


def test_an_image_goes_along_to_a_model_that_takes_it(openrouter):
    it = openrouter(JEV)
    it.ask(
        {"note": "see <i1> here"}, {"q": Noul("Is <i2> torn?")}, CATALOG, YES, images={"<i1>": image(), "<i2>": image()}
    )
    listing, sent = it.transport.sends
    assert (listing.method, listing.path) == ("GET", "/api/v1/models?output_modalities=decisions")
    assert "authorization" in sent.headers
    assert sent.headers["typesafe-danger-zone-images"] == "true"
    body = sent.json()
    assert body["state"] == {"note": "see <i1> here"}
    assert body["assets"]["<i1>"] == {
        "type": "image",
        "format": "png",
        "data_base64": base64.b64encode(png()).decode(),
    }
    it = openrouter(JEV)
    it.ask("x", ONE, YES)
    assert "typesafe-danger-zone-images" not in it.transport.sends[0].headers


def test_only_to_models_that_are_listed_with_it(openrouter):
    for model in (TEXT, "no/such"):
        it = openrouter(model)
        error = it.fails(["<i1>"], ONE, CATALOG, images={"<i1>": image()})
        assert (error.code, len(it.transport.sends)) == ("invalid_request", 1)
        assert "with image input" in str(error)


@pytest.mark.parametrize(
    ("state", "sent"),
    [
        ({"invoice": "<i1>", "receipt": "<i2>"}, [{"image_fields": ["invoice", "receipt"]}, "<i1>", "<i2>"]),
        ({"b": "<i2>", "a": "<i1>"}, [{"image_fields": ["b", "a"]}, "<i2>", "<i1>"]),
        (
            {"note": "x", "photo": "<i1>", "n": 3, "o": "<i2>"},
            [{"note": "x", "n": 3, "image_fields": ["photo", "o"]}, "<i1>", "<i2>"],
        ),
        (["text", "<i1>", "<i2>"], ["text", "<i1>", "<i2>"]),
    ],
)
def test_the_form_that_other_models_read(openrouter, state, sent):
    it = openrouter(CLEF)
    it.ask(state, ONE, CATALOG, YES, images={"<i1>": image(), "<i2>": image(jpeg(), "image/jpeg")})
    assert it.transport.sends[1].json()["state"] == sent


def test_an_image_alone(openrouter):
    it = openrouter(CLEF)
    it.ask("<i1>", ONE, CATALOG, YES, images={"<i1>": image()})
    assert it.transport.sends[1].json()["state"] == ["<i1>"]


@pytest.mark.parametrize(
    ("state", "questions"),
    [
        ({"deep": {"photo": "<i1>"}}, ONE),
        ({"deep": ["<i1>"]}, ONE),
        ({"note": "see <i1>"}, ONE),
        ([{"photo": "<i1>"}], ONE),
        ({"photo": "<i1>", "note": "again <i1>"}, ONE),
        ({"photo": "<i1>"}, {"q": Noul("Is <i1> torn?")}),
        ({"photo": "<i1>"}, {"q": Choice("?", {"<i1>": None, "b": None})}),
        ({"photo": "<i1>", "image_fields": []}, ONE),
        ({"<i1>": "photo", "x": "<i1>"}, ONE),
        ({"photo": "none of them"}, ONE),
    ],
)
def test_where_other_models_read_none(openrouter, state, questions):
    it = openrouter(CLEF)
    error = it.fails(state, questions, CATALOG, YES, images={"<i1>": image()})
    assert (error.code, error.detail, it.transport.sends) == ("invalid_request", "images", [])


@pytest.mark.parametrize("model", [JEV, "jev-latest", "~typesafe/jev-latest"])
def test_sizes_that_jev_takes(openrouter, model):
    it = openrouter(model, takes_images=True)
    it.ask("<i1>", ONE, YES, images={"<i1>": image(png(1568, 1568))})
    assert len(it.transport.sends) == 1
    for width, height in ((1569, 300), (300, 1569)):
        error = it.fails("<i1>", ONE, YES, images={"<i1>": image(png(width, height))})
        assert (error.code, len(it.transport.sends)) == ("invalid_request", 1)
        assert "1568 on a side" in str(error)


@pytest.mark.parametrize(
    "images",
    [
        {"<i1>": image(), "<unused>": image()},
        {" ": image()},
        {"<i1>": image(b"GIF89a", "image/gif")},
        {"<i1>": image(b"no image")},
        {"x" * 1025: image()},
    ],
)
def test_images_that_are_none(openrouter, images):
    it = openrouter(JEV, takes_images=True)
    error = it.fails("<i1> and   x", ONE, YES, images=images)
    assert (error.code, it.transport.sends) == ("invalid_request", [])


def test_a_token_without_an_image_is_text(openrouter):
    it = openrouter(TEXT)
    it.ask("<i1>", ONE, YES)
    assert it.sent[0]["state"] == "<i1>"


@pytest.mark.parametrize("takes", [True, False])
def test_the_catalogue_can_be_overruled(openrouter, takes):
    it = openrouter(TEXT, takes_images=takes)
    if takes:
        it.ask(["<i1>"], ONE, YES, images={"<i1>": image()})
        assert [one.method for one in it.transport.sends] == ["POST"]
    else:
        assert it.fails(["<i1>"], ONE, YES, images={"<i1>": image()}).code == "invalid_request"
        assert it.transport.sends == []


class Shop(FakeTransport):
    """A service whose catalogue is scripted apart from its answers."""

    def __init__(self, *catalogs):
        super().__init__()
        self.catalogs, self.reads = list(catalogs), 0
        self.lock = threading.Lock()

    def _answer(self, method, path, headers, body):
        if method == "POST":
            return reply(YES)
        with self.lock:
            self.reads += 1
            return self.catalogs[min(self.reads, len(self.catalogs)) - 1]


def shop_judge(shop, **settings):
    from decidable import judge_from_provider

    client, async_client = shop.clients()
    return judge_from_provider(
        openrouter_provider(CLEF, api_key=KEY, client=client, async_client=async_client, **settings)
    )


def test_the_catalogue_is_read_once_for_requests_at_once(service):
    shop = Shop((CATALOG, 0.1))
    judge = shop_judge(shop)

    async def ten():
        asked = [judge.async_ask(["<i1>"], ONE, images={"<i1>": image()}) for _ in range(10)]
        return await asyncio.gather(*asked)

    assert len(asyncio.run(ten())) == 10
    judge.ask(["<i1>"], ONE, images={"<i1>": image()})
    assert shop.reads == 1


@pytest.mark.parametrize("bad", [HttpReply(500, {}, b""), HttpReply(200, {}, b"[]"), HttpReply(200, {}, b"<html>")])
def test_a_read_that_failed_is_tried_again_by_the_next(service, bad):
    from decidable import DecisionProviderError

    shop = Shop(bad, CATALOG)
    judge = shop_judge(shop)
    with pytest.raises(DecisionProviderError, match="takes_images=") as caught:
        judge.ask(["<i1>"], ONE, images={"<i1>": image()})
    assert caught.value.code == "connection"
    assert judge.ask(["<i1>"], ONE, images={"<i1>": image()}).values == {"q": True}
    assert shop.reads == 2


def test_a_deadline_ends_a_requests_wait_and_not_the_read(service):
    from decidable import DecisionProviderError

    shop = Shop((CATALOG, 0.4))
    judge = shop_judge(shop)
    for ask in (
        lambda: judge.ask(["<i1>"], ONE, images={"<i1>": image()}, timeout_s=0.1),
        lambda: asyncio.run(judge.async_ask(["<i1>"], ONE, images={"<i1>": image()}, timeout_s=0.1)),
    ):
        with pytest.raises(DecisionProviderError) as caught:
            ask()
        assert (caught.value.code, caught.value.cost_basis) == ("timeout", None)
    time.sleep(0.3)
    judge.ask(["<i1>"], ONE, images={"<i1>": image()})
    assert shop.reads == 1
