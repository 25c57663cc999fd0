"""The faux endpoint against a conformance suite and seven clients that nobody here wrote.

The packages are in the dependency group `conformance`; `make conformance` installs them in an environment of their own.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

import pytest

from decidable.testing.systemone import FauxSystemOne, status

STATE = {"ticket": "I was charged twice for order 4471.", "tags": ["refund"]}
QUESTIONS: dict[str, Any] = {
    "refund": {"type": "noul", "instructions": "Is a refund asked for?"},
    "team": {"type": "choice", "instructions": "Which team?", "criteria": {"Billing": "Payments.", "Techniqué": None}},
    "anger": {"type": "score", "instructions": "How angry?", "criteria": ["calm", "upset", "furious"]},
}
PNG = b"\x89PNG\r\n\x1a\n\r\n--\xff\x00 no boundary"


def said(faux: FauxSystemOne) -> Any:
    """The body that answered the last question: the same request gets the same bytes again."""
    asked = faux.posts[-1]
    reply = FauxSystemOne("faux-key").answer(asked.method, asked.path, asked.headers, asked.raw)
    assert not isinstance(reply, tuple)
    assert reply.status == 200
    return json.loads(reply.body)


def likeliest(probabilities: dict[str, float]) -> str:
    return max(probabilities, key=lambda option: probabilities[option])


def check(faux: FauxSystemOne, path: str, model: str, *, state: Any = STATE) -> dict[str, Any]:
    """The answers to what a client asked, once it is certain that it asked just that."""
    (request,) = faux.posts
    assert (request.path, request.headers["authorization"]) == (path, "Bearer faux-key")
    assert request.body == {"model": model, "state": state, "questions": QUESTIONS}
    answers: dict[str, Any] = said(faux)["answers"]
    assert answers["team"]["choice"] == likeliest(answers["team"]["probabilities"])
    return answers


# --- the suite --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("key", "shoulds"), [(None, 13), ("faux-key", 15)], ids=["open", "with a key"])
def test_jevcompat(key: str | None, shoulds: int, tmp_path: Path):
    report = tmp_path / "report.json"
    command = [str(Path(sys.executable).with_name("jevcompat")), "test"]
    with FauxSystemOne(key).serve() as url:
        command += [url, "--json", str(report), *(["--key", key] if key else [])]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(report.read_text())
    assert found["summary"]["verdict"] == "conformant"
    failed = [result["id"] for result in found["results"] if result["status"] == "fail"]
    passed = [
        [result["level"] for result in found["results"] if result["status"] == "pass"].count(level)
        for level in ("MUST", "SHOULD")
    ]
    assert (failed, passed) == ([], [32, shoulds])
    skipped = {result["id"] for result in found["results"] if result["status"] == "skip"}
    assert skipped == ({"auth.ignored-when-off"} if key else {"auth.bearer", "auth.missing", "auth.invalid"})


# --- typesafe-sdk -----------------------------------------------------------------------------------------------------


def test_typesafe_sdk(faux: FauxSystemOne, url: str):
    from typesafe_sdk import TypeSafeClient

    with TypeSafeClient(api_key="faux-key", base_url=url) as client:
        found = client.system_one(STATE, QUESTIONS)
        models = client.models.list().models
    answers = check(faux, "/v1/systemone", "jev-latest")
    assert found.model == "jev-1.14.0"
    assert found.request_id is not None
    assert found.request_id.startswith("faux-")
    assert found.nouls["refund"].noul == answers["refund"]["noul"]
    assert found.choices["team"].choice == likeliest(found.choices["team"].probabilities) == answers["team"]["choice"]
    anger = found.scores["anger"]
    assert (anger.score, anger.confidence) == (answers["anger"]["score"], answers["anger"]["confidence"])
    assert anger.legend == dict(enumerate(QUESTIONS["anger"]["criteria"]))
    assert found.usage.input_tokens == len(faux.posts[0].raw) // 4
    assert "jev-latest" in [model.name for model in models]


def test_typesafe_sdk_sends_an_image(faux: FauxSystemOne, url: str):
    from typesafe_sdk import Image, Noul, TypeSafeBadRequestError, TypeSafeClient

    danger = {"TypeSafe-Danger-Zone-Images": "true"}
    questions = {"dog": Noul(instructions="Is it a dog?")}
    nouls = []
    with TypeSafeClient(api_key="faux-key", base_url=url) as client:
        for data in (PNG, PNG, PNG + b"!"):
            photo = Image(data)
            with client.attach_assets(photo):
                found = client.system_one({"photo": f"see {photo}"}, questions, extra_headers=danger)
            assert faux.posts[-1].headers["content-type"].startswith("multipart/form-data")
            assert faux.posts[-1].images == {str(photo): data}
            assert found.nouls["dog"].noul == said(faux)["answers"]["dog"]["noul"]
            nouls.append(found.nouls["dog"].noul)
        with client.attach_assets(photo), pytest.raises(TypeSafeBadRequestError):
            client.system_one(str(photo), questions)
    assert nouls[0] == nouls[1] != nouls[2]


def test_typesafe_sdk_tries_again_and_tells_errors_apart(faux: FauxSystemOne, url: str):
    from typesafe_sdk import (
        AsyncTypeSafeClient,
        TypeSafeAuthenticationError,
        TypeSafeNotFoundError,
        TypeSafeUnprocessableEntityError,
    )

    faux.next(status(429, retry_after_ms="1"), status(529, retry_after="0"))

    async def ask() -> Any:
        async with AsyncTypeSafeClient(api_key="faux-key", base_url=url) as client:
            found = await client.system_one(STATE, QUESTIONS)
            with pytest.raises(TypeSafeNotFoundError):
                await client.system_one(STATE, QUESTIONS, model="nobody")
            with pytest.raises(TypeSafeUnprocessableEntityError):
                await client.system_one(STATE, QUESTIONS, extra_body={"state": None})
        async with AsyncTypeSafeClient(api_key="other", base_url=url) as client:
            with pytest.raises(TypeSafeAuthenticationError):
                await client.system_one(STATE, QUESTIONS)
        return found

    found = asyncio.run(ask())
    assert faux.tries == 6
    again = faux.posts[2]
    assert again.headers["x-typesafe-retry-count"] == "2"
    reply = FauxSystemOne().answer(again.method, again.path, again.headers, again.raw)
    assert not isinstance(reply, tuple)
    assert found.choices["team"].choice == json.loads(reply.body)["answers"]["team"]["choice"]


# --- pydantic-ai ------------------------------------------------------------------------------------------------------


def handling() -> Any:
    from pydantic import BaseModel, Field

    class Handling(BaseModel):
        verdict: Literal["run", "reject", "ask"] = Field(description="How to handle this command?")
        irreversible: bool = Field(description="Would it destroy data?")

    return Handling


def test_pydantic_ai(faux: FauxSystemOne, url: str):
    import httpx2
    from pydantic_ai import Agent
    from pydantic_ai.models.system_one import SystemOneModel
    from pydantic_ai.providers.system_one import SystemOneProvider

    async def ask() -> Any:
        async with httpx2.AsyncClient() as client:
            provider = SystemOneProvider(base_url=url, api_key="faux-key", http_client=client)
            agent = Agent(SystemOneModel("jev-latest", provider=provider), output_type=handling())
            return await agent.run("rm -rf /tmp/x")

    found = asyncio.run(ask())
    (request,) = faux.posts
    assert (request.path, request.body["model"]) == ("/v1/systemone", "jev-latest")
    assert request.headers["authorization"] == "Bearer faux-key"
    assert [question["type"] for question in request.body["questions"].values()] == ["choice", "noul"]
    verdict, irreversible = said(faux)["answers"].values()
    assert found.output.verdict == likeliest(verdict["probabilities"])
    assert found.output.irreversible == (irreversible["noul"] >= 0.5)
    assert found.usage.input_tokens == len(request.raw) // 4


def test_pydantic_ai_on_openai_decisions(faux: FauxSystemOne, url: str):
    from openai import AsyncOpenAI
    from pydantic_ai import Agent, BinaryContent
    from pydantic_ai.models.openai_decisions import OpenAIDecisionsModel
    from pydantic_ai.providers.openai import OpenAIProvider

    async def ask() -> Any:
        async with AsyncOpenAI(api_key="faux-key", base_url=f"{url}/v1") as client:
            model = OpenAIDecisionsModel("gpt-6-luna", provider=OpenAIProvider(openai_client=client))
            agent = Agent(model, output_type=handling())
            return await agent.run(["rm -rf /tmp/x", BinaryContent(PNG, media_type="image/png")])

    found = asyncio.run(ask())
    (request,) = faux.posts
    assert (request.path, request.body["model"]) == ("/v1/decisions", "gpt-6-luna")
    assert [question["type"] for question in request.body["questions"]] == ["choice", "predicate"]
    assert request.images == {"0": PNG}
    verdict, irreversible = said(faux)["answers"]
    shares = {one["value"]: one["probability"] for one in verdict["probabilities"]}
    assert found.output.verdict == likeliest(shares) == verdict["choice"]
    assert found.output.irreversible == (irreversible["probability"] >= 0.5)


# --- the rest ---------------------------------------------------------------------------------------------------------


def test_openrouter(faux: FauxSystemOne, url: str):
    from openrouter import OpenRouter
    from openrouter.errors import BadRequestResponseError, UnauthorizedResponseError

    with OpenRouter(api_key="faux-key", server_url=f"{url}/api/v1") as client:
        found = client.system_one.create(model="jev-latest", state=STATE, questions=QUESTIONS)
        answers = check(faux, "/api/v1/systemone", "jev-latest")
        with pytest.raises(BadRequestResponseError):
            client.system_one.create(model="jev-latest", state=STATE, questions={})
    assert (found.model, found.provider) == ("typesafe/jev-1.14", "Faux")
    assert found.id is not None
    assert found.id.startswith("faux-")
    assert found.usage.cost is not None
    assert 0 < found.usage.cost < 0.001
    assert found.answers["refund"].noul == answers["refund"]["noul"]
    assert found.answers["team"].choice == likeliest(found.answers["team"].probabilities) == answers["team"]["choice"]
    assert found.answers["anger"].score == answers["anger"]["score"]
    with OpenRouter(api_key="other", server_url=f"{url}/api/v1") as client, pytest.raises(UnauthorizedResponseError):
        client.system_one.create(model="jev-latest", state=STATE, questions=QUESTIONS)


def test_litellm(faux: FauxSystemOne, url: str):
    import litellm

    found = litellm.systemone(
        model="typesafe/jev-latest", state=STATE, questions=QUESTIONS, api_base=url, api_key="faux-key"
    )
    answers = check(faux, "/v1/systemone", "jev-latest")
    assert found.model == "jev-1.14.0"
    assert found.answers["refund"].noul == answers["refund"]["noul"]
    assert found.answers["team"].choice == likeliest(found.answers["team"].probabilities) == answers["team"]["choice"]
    assert found.answers["anger"].score == answers["anger"]["score"]
    assert found.usage.input_tokens == len(faux.posts[0].raw) // 4


def test_openai(faux: FauxSystemOne, url: str):
    from openai import AuthenticationError, BadRequestError, NotFoundError, OpenAI

    questions: Any = [
        {"type": "predicate", "name": "late", "instructions": "Is it late?"},
        {"type": "choice", "instructions": "Which?", "choices": [{"value": "true"}, {"value": True}]},
        {"type": "score", "name": "far", "instructions": "How far?", "levels": [{"label": "near"}, {"label": "far"}]},
    ]
    shown: Any = [{"role": "user", "content": [{"type": "input_json", "data": STATE}]}]
    with OpenAI(api_key="faux-key", base_url=f"{url}/v1", max_retries=0) as client:
        found = client.decisions.create(model="gpt-6-luna", input=shown, questions=questions)
        wanted = said(faux)
        with pytest.raises(NotFoundError):
            client.decisions.create(model="gpt-0", input="x", questions=questions)
        with pytest.raises(BadRequestError) as caught:
            client.decisions.create(model="gpt-6-luna", input="x", questions=[])
    assert caught.value.param == "questions"
    with OpenAI(api_key="other", base_url=f"{url}/v1") as client, pytest.raises(AuthenticationError):
        client.decisions.create(model="gpt-6-luna", input="x", questions=questions)
    assert faux.posts[0].body == {"model": "gpt-6-luna", "input": shown, "questions": questions}
    late, which, far = found.answers
    assert late.type == "predicate"
    assert (late.name, late.probability) == ("late", wanted["answers"][0]["probability"])
    assert which.type == "choice"
    top = max(which.probabilities, key=lambda one: one.probability)
    assert (which.name, which.choice, type(which.choice)) == (None, top.value, type(top.value))
    assert far.type == "score"
    assert (far.name, far.score) == ("far", wanted["answers"][2]["score"])
    assert [one.label for one in far.probabilities] == ["near", "far"]
    assert found.usage.total_tokens == len(faux.posts[0].raw) // 4


def test_pydecide(faux: FauxSystemOne, url: str):
    from decide import Choice, Client, Noul, Score
    from decide.backends.typesafe import TypeSafeBackend

    questions = {
        "refund": Noul(QUESTIONS["refund"]["instructions"]),
        "team": Choice(QUESTIONS["team"]["instructions"], QUESTIONS["team"]["criteria"]),
        "anger": Score(QUESTIONS["anger"]["instructions"], QUESTIONS["anger"]["criteria"]),
    }
    backend = TypeSafeBackend("faux-key", base_url=url)
    try:
        found = Client([backend]).decide(STATE, questions)
    finally:
        backend.close()
    answers = check(faux, "/v1/systemone", "jev-latest")
    assert (found.meta.model, found.meta.route) == ("jev-1.14.0", ["typesafe:ok"])
    assert found.nouls["refund"].noul == answers["refund"]["noul"]
    assert found.choices["team"].choice == likeliest(found.choices["team"].probabilities) == answers["team"]["choice"]
    assert found.choices["team"].confidence == answers["team"]["confidence"]
    assert found.scores["anger"].score == answers["anger"]["score"]
