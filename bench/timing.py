"""CPU time of this process per call: medians of batches, with the garbage collected in between."""

from __future__ import annotations

import asyncio
import gc
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from types import FrameType
from typing import Any

BATCHES = 9
BATCH_S = 0.1


def cpu_us(function: Callable[[], object], *, batches: int = BATCHES, batch_s: float = BATCH_S) -> float:
    """Microseconds of one call."""
    return cpu_us_each([function], batches=batches, batch_s=batch_s)[0]


def cpu_us_each(
    functions: Sequence[Callable[[], object]], *, batches: int = BATCHES, batch_s: float = BATCH_S
) -> list[float]:
    """Microseconds of one call of each; their batches take turns, so that a slow moment of the machine hits all."""
    counts = []
    for function in functions:
        for _ in range(3):
            function()
        begun = time.process_time()
        function()
        counts.append(max(1, min(5_000, int(batch_s / max(time.process_time() - begun, 1e-7)))))
    figures: list[list[float]] = [[] for _ in functions]
    for _ in range(batches):
        for function, count, found in zip(functions, counts, figures, strict=True):
            gc.collect()
            begun = time.process_time()
            for _ in range(count):
                function()
            found.append((time.process_time() - begun) / count)
    return [statistics.median(found) * 1e6 for found in figures]


async def gathered_us(decide: Callable[[], Awaitable[object]], count: int, *, batches: int = 7) -> float:
    """Microseconds of one of `count` decisions that are awaited together."""
    await asyncio.gather(*[decide() for _ in range(min(count, 100))])
    figures = []
    for _ in range(batches):
        gc.collect()
        begun = time.process_time()
        await asyncio.gather(*[decide() for _ in range(count)])
        figures.append((time.process_time() - begun) / count)
    return statistics.median(figures) * 1e6


async def awaited_us(decide: Callable[[], Awaitable[object]], *, batches: int = 7, count: int = 500) -> float:
    """Microseconds of one decision awaited alone, through the loop that is running."""
    figures = []
    for _ in range(batches):
        gc.collect()
        begun = time.process_time()
        for _ in range(count):
            await asyncio.gather(decide())
        figures.append((time.process_time() - begun) / count)
    return statistics.median(figures) * 1e6


def calls(function: Callable[[], object]) -> tuple[int, int]:
    """How many Python functions, and how many builtins, one call of `function` calls; the same every time."""
    python = builtin = 0

    def count(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal python, builtin
        python += event == "call"
        builtin += event == "c_call"

    function()
    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(None)
    return python, builtin - 1  # setprofile itself
