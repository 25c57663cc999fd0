"""What the tool loop adds to each round, and how long many calls at once take."""

from __future__ import annotations

import asyncio
import statistics
import time

from decidable import Reply, Runtime, ToolCall
from decidable.messages import Request
from decidable.providers.protocol import Capabilities
from report import Line
from task import ROUNDS, floor_of_tools, lookup
from timing import awaited_us, cpu_us_each

TOGETHER = 100
WAIT_S = 0.05


class Working:
    """An in-process provider that calls a tool in each of ten replies, then answers."""

    name = "working"
    model: str | None = None
    capabilities = Capabilities(chat=True, tools=True, forced_tools=True, remote=False)

    def __init__(self, calls: int = 1) -> None:
        made = [
            tuple(ToolCall(f"call_{turn}_{n}", "lookup", {"order": f"A-{turn}-{n}"}) for n in range(calls))
            for turn in range(ROUNDS if calls == 1 else 1)
        ]
        self.replies = [*(Reply(stop="tool_calls", tool_calls=calls_) for calls_ in made), Reply("done", "stop")]
        self.asked = 0

    def send(self, request: Request, deadline: float | None = None) -> Reply:
        """The next reply."""
        reply = self.replies[self.asked % len(self.replies)]
        self.asked += 1
        return reply

    async def asend(self, request: Request, deadline: float | None = None) -> Reply:
        """The next reply."""
        return self.send(request, deadline)

    def close(self) -> None:
        """Nothing is held open."""

    async def aclose(self) -> None:
        """Nothing is held open."""


async def lookup_async(order: str) -> str:
    """Find an order."""
    return order


async def waiting(order: str) -> str:
    """Find an order, which takes its time."""
    await asyncio.sleep(WAIT_S)
    return order


waiting.__name__ = lookup_async.__name__ = "lookup"


def tool_loop(batches: int) -> list[Line]:
    """Ten rounds, sync and async, per round; and a hundred calls in one reply."""
    provider = Working()
    runtime = Runtime(provider)

    def ours() -> object:
        return runtime.exec("?", tools=[lookup])

    if ours() != "done" or provider.asked != ROUNDS + 1:
        raise RuntimeError("the loop did not come out as scripted")
    sync, least = (figure / ROUNDS for figure in cpu_us_each([ours, floor_of_tools], batches=batches))

    async def measured() -> tuple[float, float, float]:
        in_loop = await awaited_us(lambda: runtime.async_exec("?", tools=[lookup_async]), count=100) / ROUNDS
        walls: dict[int, list[float]] = {1: [], TOGETHER: []}
        for _ in range(batches):
            for calls, found in walls.items():
                many = Runtime(Working(calls)) if calls > 1 else Runtime(_One())
                begun = time.perf_counter()
                await many.async_exec("?", tools=[waiting])
                found.append(time.perf_counter() - begun)
        return in_loop, statistics.median(walls[1]), statistics.median(walls[TOGETHER])

    in_loop, one, many = asyncio.run(measured())
    return [
        Line("tool loop, 10 rounds, each round", sync, "us", 60, least, note="the tool's own time included"),
        Line("- the same, async", in_loop, "us", note="an async tool"),
        Line(
            f"{TOGETHER} parallel async tools / one",
            many / one,
            "x",
            2,
            note=f"{many * 1e3:.0f} and {one * 1e3:.0f} ms",
        ),
    ]


class _One(Working):
    def __init__(self) -> None:
        super().__init__()
        self.replies = [self.replies[0], self.replies[-1]]
