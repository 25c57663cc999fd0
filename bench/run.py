"""Measure what this library adds around a model's reply, and print it as a table: ``python bench/run.py [--quick]``.

These are no tests: figures depend on the machine, so a missed bar is reported and never fails anything.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import statistics
import subprocess
import sys
from pathlib import Path

from decidable import Reply, Runtime, decision
from decidable.menu import menu_of
from decidable.messages import Request
from decidable.providers.protocol import Capabilities
from decidable.reading import read
from over_http import over_http
from report import Line
from task import ANSWER, Queues, Script, floor, hostile, long_replies, queues
from task import TICKET as PROMPT
from timing import BATCHES, awaited_us, calls, cpu_us, cpu_us_each, gathered_us
from tool_loop import tool_loop
from typed_questions import typed_questions

HERE = Path(__file__).resolve().parent


class Scripted:
    """An in-process provider that costs nothing: the floor's script behind the library's seam."""

    name = "scripted"
    model: str | None = None
    capabilities = Capabilities(chat=True, remote=False)

    def __init__(self, *replies: str) -> None:
        self.replies = [Reply(text, stop="stop") for text in replies]
        self.calls = 0

    def send(self, request: Request, deadline: float | None = None) -> Reply:
        """The next reply."""
        reply = self.replies[self.calls % len(self.replies)]
        self.calls += 1
        return reply

    async def asend(self, request: Request, deadline: float | None = None) -> Reply:
        """The next reply."""
        return self.send(request, deadline)

    def close(self) -> None:
        """Nothing is held open."""

    async def aclose(self) -> None:
        """Nothing is held open."""


def call(name: str, **arguments: str) -> str:
    """A reply that picks `name`."""
    return json.dumps({"call": name, "args": arguments} if arguments else {"call": name})


def refund(invoice: str, amount: float = 0.0) -> str:
    """Pay a charge back."""
    return f"refund {invoice} {amount}"


def repair(device: str, restarted: bool = False) -> str:
    """Find out why something does not work."""
    return f"repair {device} {restarted}"


def reset_password(login: str) -> str:
    """Send a link for a new password."""
    return f"reset {login}"


ACTIONS = {"refund": refund, "repair": repair, "reset_password": reset_password}


# --- decisions --------------------------------------------------------------------------------------------------------


def decisions(batches: int) -> list[Line]:
    """One decision, with the menu built in each call and the trace off."""
    good = call(ANSWER)

    def pair(options: Queues, *, bad_first: bool = False) -> tuple[float, float]:
        replies = (call("refunds"), good) if bad_first else (good,)
        provider, script = Scripted(*replies), Script(bad_first=bad_first)
        runtime = Runtime(provider)

        def ours() -> object:
            return decision.make(PROMPT, options, runtime=runtime)

        if ours() != ANSWER or provider.calls != len(replies):
            raise RuntimeError("the decision did not come out as scripted")
        figures = cpu_us_each([ours, lambda: floor(options, script)], batches=batches)
        return figures[0], figures[1]

    three, three_floor = pair(queues(3))
    many, many_floor = pair(queues(200))
    re_ask, re_ask_floor = pair(queues(3), bad_first=True)
    acting = Runtime(Scripted(call("refund", invoice="INV-20391")))
    functions = cpu_us(lambda: decision.make(PROMPT, ACTIONS, runtime=acting), batches=batches)
    return [
        Line("one decision, 3 values", three, "us", 60, three_floor, 10),
        Line(
            "one decision, 3 functions with arguments", functions, "us", 60, three_floor, note="the picked one is run"
        ),
        Line("one decision, 200 values", many, "us", 400, many_floor),
        Line("one decision, 3 values, one re-ask", re_ask, "us", 120, re_ask_floor),
    ]


def concurrent(count: int = 1_000) -> list[Line]:
    """Decisions awaited together, and one alone through the same loop."""
    options, runtime = queues(3), Runtime(Scripted(call(ANSWER)))
    acting = Runtime(Scripted(call("refund", invoice="INV-20391")))
    script = Script()

    async def plain() -> object:
        return floor(options, script)

    async def measured() -> tuple[float, float, float, float]:
        return (
            await gathered_us(lambda: decision.async_make(PROMPT, options, runtime=runtime), count),
            await awaited_us(lambda: decision.async_make(PROMPT, options, runtime=runtime)),
            await gathered_us(plain, count),
            await gathered_us(lambda: decision.async_make(PROMPT, ACTIONS, runtime=acting), count, batches=3),
        )

    together, alone, least, threads = asyncio.run(measured())
    return [
        Line(f"{count:,} decisions by asyncio.gather, each", together, "us", 80, least),
        Line(f"cost({count:,}) / cost(1), per decision", together / alone, "x", 3, note=f"cost(1) = {alone:.0f} us"),
        Line("the same, picking a sync function, each", threads, "us", note="runs in a worker thread"),
    ]


def counted() -> list[Line]:
    """Function calls per decision: the one figure that no neighbour on the machine disturbs."""
    options, runtime = queues(3), Runtime(Scripted(call(ANSWER)))
    acting = Runtime(Scripted(call("refund", invoice="INV-20391")))
    lines = []
    for what, run in (
        ("calls per decision, 3 values", lambda: decision.make(PROMPT, options, runtime=runtime)),
        ("calls per decision, 3 functions", lambda: decision.make(PROMPT, ACTIONS, runtime=acting)),
    ):
        python, builtin = calls(run)
        lines.append(Line(what, python + builtin, "calls", 150, note=f"{python} Python, {builtin} builtin"))
    return lines


# --- reading ----------------------------------------------------------------------------------------------------------


def reading(batches: int) -> list[Line]:
    """Long replies, and replies that mean harm."""
    menu = menu_of(queues(3))
    lines = []
    for shape, text in long_replies("call").items():
        if getattr(read(text, menu), "name", None) != ANSWER:
            raise RuntimeError(f"the pick in {shape} was not found")
        lines.append(
            Line(
                f"reading {len(text) / 1e3:.0f} kB, {shape}",
                cpu_us(lambda t=text: read(t, menu), batches=batches) / 1e3,
                "ms",
                6,
            )
        )
    braces = "{" * 1_000_000
    lines.append(Line('reading 1 MB of "{"', cpu_us(lambda: read(braces, menu), batches=5) / 1e3, "ms", 100))
    small, large = hostile(100_000), hostile(400_000)
    growth, cost = {}, {}
    for shape in small:
        texts = (small[shape], large[shape])
        times = cpu_us_each([lambda t=text: read(t, menu) for text in texts], batches=5, batch_s=0.05)
        growth[shape] = times[1] / max(times[0], 100.0)  # below 0.1 ms, what a call costs anyway hides the growth
        cost[shape] = times[1] / 1e3
    worst, slowest = max(growth, key=growth.__getitem__), max(cost, key=cost.__getitem__)
    note = f"{worst}, of {len(small)} hostile shapes; slowest: {slowest}, {cost[slowest]:.0f} ms per 400 kB"
    lines.append(Line("time for 400 kB / time for 100 kB, at worst", growth[worst], "x", 5, note=note))
    return lines


# --- imports ----------------------------------------------------------------------------------------------------------

_CHILD = (
    "import sys, time; begun = time.process_time(); {statement}; cost = time.process_time() - begun; "
    "print(cost * 1e3, ','.join(m for m in ('httpx', 'asyncio', 'sqlite3') if m in sys.modules))"
)


def imports(rounds: int) -> list[Line]:
    """CPU of an import in a fresh interpreter, in turn with pydantic's; pydantic loads most of itself on first use."""
    statements = ("import decidable", "import pydantic", "from pydantic import BaseModel")
    cost: dict[str, list[float]] = {statement: [] for statement in statements}
    loaded = ""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    for turn in range(rounds + 1):
        for statement, figures in cost.items():
            command = [sys.executable, "-c", _CHILD.format(statement=statement)]
            out = subprocess.run(command, capture_output=True, text=True, check=True, env=env).stdout.split()
            if turn:  # the first one warms the disk
                figures.append(float(out[0]))
            if statement == "import decidable":
                loaded = out[1] if len(out) > 1 else ""
    ours, bare, used = (statistics.median(figures) for figures in cost.values())
    return [
        Line("import decidable / import pydantic", ours / bare, "x", 1.3, note=f"{ours:.0f} ms and {bare:.0f} ms"),
        Line("import decidable / from pydantic import BaseModel", ours / used, "x", note=f"the latter {used:.0f} ms"),
        Line(
            "heavy modules that the import loads",
            len(loaded.split(",")) if loaded else 0,
            "modules",
            0,
            note=f"of httpx, asyncio, sqlite3{': ' + loaded if loaded else ''}",
        ),
    ]


# --- the local model --------------------------------------------------------------------------------------------------


def local_model() -> list[Line]:
    """The embedded model, in a process of its own."""
    done = subprocess.run(
        [sys.executable, str(HERE / "local_model.py")], capture_output=True, text=True, check=False, cwd=HERE
    )
    if done.returncode:
        return [Line("local model", None, "", note=f"failed: {done.stderr.strip().splitlines()[-1]}")]
    report = json.loads(done.stdout)
    if "missing" in report:
        return [Line("local model", None, "", note=f"not measured: {report['missing']}")]
    lines = [
        Line("local model, one decision", report["ms"], "ms", 20, note="menu seen before; CPU"),
        Line("local model, loading", report["load_s"] * 1e3, "ms", 1_000, note="imports included; wall time"),
        Line("local model, memory added", report["rss_mb"], "MB", 250),
    ]
    for name, found in report["sets"].items():
        share = 100 * found["right"] / found["count"]
        note = f"{found['right']} of {found['count']}, {found['options']} options"
        bar = 80 if name == "support queues" else None
        lines += [
            Line(f"local model, right: {name}", share, "%", bar, note=note, at_least=True),
            Line("- flips when the menu is reversed", found["flips"], "picks", 0),
        ]
    return lines


# --- the report -------------------------------------------------------------------------------------------------------

_HEADS = ("what", "median", "floor", "ratio", "bar", "holds", "note")


def main() -> int:
    """Measure everything and print it."""
    parser = argparse.ArgumentParser(description="What decidable adds around a model's reply.")
    parser.add_argument("--quick", action="store_true", help="a third of the batches; rougher figures")
    quick = parser.parse_args().quick

    batches = 3 if quick else BATCHES
    print(f"Python {platform.python_version()}, {platform.machine()}; CPU time unless noted.\n")
    print(f"| {' | '.join(_HEADS)} |\n|{'---|' * len(_HEADS)}")
    missed = []
    for section in (
        lambda: decisions(batches),
        concurrent,
        counted,
        lambda: reading(batches),
        lambda: tool_loop(batches),
        lambda: over_http(batches),
        lambda: typed_questions(batches),
        lambda: imports(3 if quick else 9),
        local_model,
    ):
        for line in section():
            print(f"| {' | '.join(line.cells())} |", flush=True)
            missed += [line.what] if line.holds is False else []
    print(f"\nBars missed: {', '.join(missed) or 'none'}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
