"""instructor: a response model over the OpenAI client, whose transport answers in this process."""

import json
from typing import Any

import instructor
import openai
from openai import AsyncOpenAI, OpenAI

from schema import choice_model
from task import Queues, Script, prompt_text

TITLE = "instructor: MD_JSON mode"
CONTAINS = "also the OpenAI client with its request and response objects: it has no seam below them"
PACKAGES = ["instructor"]
RE_ASKS = True

try:  # the HTTP package that this version of the client is built on
    http = __import__("httpx2") if "httpx2" in str(openai.DefaultHttpxClient.__mro__) else __import__("httpx")
except ImportError:
    http = __import__("httpx")


class Adapter:
    def __init__(self, script: Script) -> None:
        self.script = script
        transport, mode = http.MockTransport(self._answer), instructor.Mode.MD_JSON
        settings = {"api_key": "none", "base_url": "http://localhost/v1"}
        client, async_client = http.Client(transport=transport), http.AsyncClient(transport=transport)
        self.client = instructor.from_openai(OpenAI(**settings, http_client=client), mode=mode)
        self.async_client = instructor.from_openai(AsyncOpenAI(**settings, http_client=async_client), mode=mode)

    def _answer(self, _request: Any) -> Any:
        message = {"role": "assistant", "content": self.script.next()}
        body = {
            "id": "1",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": "scripted",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}],
            "usage": {"prompt_tokens": 200, "completion_tokens": 20, "total_tokens": 220},
        }
        return http.Response(200, content=json.dumps(body).encode(), headers={"content-type": "application/json"})

    def _request(self, model: Any, options: Queues) -> dict[str, Any]:
        messages = [{"role": "user", "content": prompt_text(options)}]
        return {"model": "scripted", "response_model": model, "max_retries": 2, "messages": messages}

    def prepare(self, options: Queues) -> Any:
        return choice_model(options)

    def decide(self, model: Any, options: Queues) -> str:
        return self.client.chat.completions.create(**self._request(model, options)).choice

    async def async_decide(self, model: Any, options: Queues) -> str:
        return (await self.async_client.chat.completions.create(**self._request(model, options))).choice
