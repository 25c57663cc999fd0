"""A decision through the chat wire and a real httpx client, against the bare httpx request, on httpx's mock transport."""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import tracemalloc
from collections.abc import Callable

import httpx

from decidable import Runtime, connect, decision
from report import Line
from task import ANSWER, TICKET, prompt_text, queues
from timing import awaited_us, cpu_us_each, gathered_us

REPLY = json.dumps(
    {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1796083200,
        "model": "fake",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": json.dumps({"call": ANSWER}), "refusal": None},
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 210, "completion_tokens": 9, "total_tokens": 219},
    }
).encode()
_ADDED_US = 150.0
"""What a decision may cost beyond the request itself."""
_BASE = "http://fake.example/v1"


def _answer(_request: httpx.Request) -> httpx.Response:
    return httpx.Response(200, content=REPLY, headers={"content-type": "application/json"})


def over_http(batches: int) -> list[Line]:
    """What is added to an HTTP request."""
    transport = httpx.MockTransport(_answer)
    client, aclient = httpx.Client(transport=transport), httpx.AsyncClient(transport=transport)
    runtime = Runtime(connect("openai:fake", api_key="x", base_url=_BASE, client=client, async_client=aclient))
    options = queues(3)
    body = json.dumps({"model": "fake", "messages": [{"role": "user", "content": prompt_text(options)}]}).encode()
    headers = {"authorization": "Bearer x", "content-type": "application/json"}
    url = f"{_BASE}/chat/completions"

    def ours(via: str) -> Callable[[], object]:
        return lambda: decision.make(TICKET, options, runtime=runtime, via=via)  # type: ignore[arg-type]

    def bare() -> object:
        return client.post(url, content=body, headers=headers).content

    async def bare_async() -> object:
        return (await aclient.post(url, content=body, headers=headers)).content

    async def ours_async() -> object:
        return await decision.async_make(TICKET, options, runtime=runtime)

    if ours("menu")() != ANSWER:
        raise RuntimeError("the decision did not come out as scripted")
    menu, floor = cpu_us_each([ours("menu"), bare], batches=batches)
    many, least, alone = asyncio.run(_gathered(ours_async, bare_async))
    loaded = [name for name in ("openai", "anthropic", "google.genai") if name in sys.modules]
    return [
        Line("one decision over HTTP", menu, "us", floor + _ADDED_US, floor, note=f"adds {menu - floor:.0f} us"),
        Line(
            "1,000 of them by asyncio.gather, each",
            many,
            "us",
            least + _ADDED_US,
            least,
            note=f"adds {many - least:.0f} us; alone {alone:.0f} us",
        ),
        Line("memory kept by 10,000 calls in turn", _kept(ours("menu"), 10_000) / 1024, "KiB", 64),
        Line("SDKs imported", len(loaded), "modules", 0, note=", ".join(loaded)),
    ]


async def _gathered(ours: Callable[[], object], bare: Callable[[], object]) -> tuple[float, float, float]:
    many = await gathered_us(ours, 1_000, batches=5)  # type: ignore[arg-type]
    least = await gathered_us(bare, 1_000, batches=5)  # type: ignore[arg-type]
    return many, least, await awaited_us(ours, batches=5, count=200)  # type: ignore[arg-type]


def _kept(function: Callable[[], object], times: int) -> float:
    """Bytes that are still held after many calls, beyond those held after a few."""
    for _ in range(200):
        function()
    gc.collect()
    tracemalloc.start()
    for _ in range(200):
        function()
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(times):
        function()
    gc.collect()
    kept = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return float(kept)
