"""The same task with other libraries: ``python bench/peers.py setup``, then ``python bench/peers.py run [NAME ...]``.

Each peer lives in a virtual environment of its own and answers from memory, so what is timed is what it adds around
the model call. One that is not installed is reported as missing.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import importlib.util
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
VENVS = HERE.parent / ".venv-bench"
OURS = "decidable"
NAMES = (OURS, "floor", "pydantic_ai", "instructor", "langgraph", "langchain_core", "dspy")
COLUMNS = {
    "reused": "3 options, schema reused",
    "built": "3 options, built per call",
    "many": "200 options, built per call",
    "gather": "1,000 by gather, each",
    "re_ask": "one re-ask",
    "tools": "a round of tools, of 10",
    "import": "import",
}


def constant(name: str, wanted: str) -> Any:
    """A constant of an adapter, read without importing what it measures."""
    tree = ast.parse((HERE / "peers" / f"{name}.py").read_text(encoding="utf-8"))
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == wanted for target in targets):
            return ast.literal_eval(node.value)  # type: ignore[attr-defined]
    raise LookupError(f"{name} has no {wanted}")


def python_of(name: str, venvs: Path) -> Path:
    """The interpreter that a peer runs in; ours for what needs no packages."""
    if not constant(name, "PACKAGES"):
        return Path(sys.executable)
    return venvs / name / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


# --- set-up -----------------------------------------------------------------------------------------------------------


def setup(names: list[str], venvs: Path) -> int:
    """Make each peer's environment and install it; go on when one fails."""
    for name in names:
        packages = constant(name, "PACKAGES")
        if not packages:
            continue
        print(f"{name}: installing {', '.join(packages)}", flush=True)
        made = subprocess.run([sys.executable, "-m", "venv", str(venvs / name)], check=False).returncode == 0
        install = [str(python_of(name, venvs)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        if not made or subprocess.run([*install, *packages], check=False).returncode:
            print(f"{name}: could not be installed; it will be reported as missing")
    return 0


# --- one adapter, inside its own environment --------------------------------------------------------------------------


def one(name: str, batches: int) -> int:
    """Measure one adapter in this interpreter, and print one JSON object."""
    path = HERE / "peers" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"adapter_{name}", path)
    if spec is None or spec.loader is None:
        raise LookupError(path)
    module = importlib.util.module_from_spec(spec)
    begun = time.process_time()
    spec.loader.exec_module(module)
    figures: dict[str, float | str] = {"import": (time.process_time() - begun) * 1e6}

    from task import queues

    measured: dict[str, Callable[[], float]] = {
        "reused": lambda: _alone(module, queues(3), batches, reuse=True),
        "built": lambda: _alone(module, queues(3), batches),
        "many": lambda: _alone(module, queues(200), batches),
        "gather": lambda: asyncio.run(_together(module, batches)),
    }
    if module.RE_ASKS:
        measured["re_ask"] = lambda: _alone(module, queues(3), batches, bad_first=True)
    if hasattr(module, "loop"):
        measured["tools"] = lambda: _looped(module, batches)
    for column, measure in measured.items():
        try:
            figures[column] = measure()
        except Exception as error:  # a peer's own failure is a result
            figures[column] = f"{type(error).__name__}: {error}"[:200]
    print("\n" + json.dumps(figures))
    return 0


def _alone(module: Any, options: Any, batches: int, *, reuse: bool = False, bad_first: bool = False) -> float:
    from task import ANSWER, Script
    from timing import cpu_us

    script = Script(bad_first=bad_first, key=getattr(module, "KEY", "choice"))
    adapter = module.Adapter(script)
    prepared = adapter.prepare(options)

    def decide() -> str:
        return adapter.decide(prepared if reuse or bad_first else adapter.prepare(options), options)

    if decide() != ANSWER or script.calls != len(script.replies):
        raise RuntimeError(f"expected {ANSWER!r} after {len(script.replies)} requests, made {script.calls}")
    return cpu_us(decide, batches=batches)


def _looped(module: Any, batches: int) -> float:
    from task import ROUNDS
    from timing import cpu_us

    loop = module.loop()
    if loop() not in ("done", 2 * ROUNDS + 1):
        raise RuntimeError("the loop did not come out as scripted")
    return cpu_us(loop, batches=batches) / ROUNDS


async def _together(module: Any, batches: int) -> float:
    from task import ANSWER, Script, queues
    from timing import gathered_us

    options = queues(3)
    adapter = module.Adapter(Script(key=getattr(module, "KEY", "choice")))
    prepared = adapter.prepare(options)
    if await adapter.async_decide(prepared, options) != ANSWER:
        raise RuntimeError(f"expected {ANSWER!r}")
    return await gathered_us(lambda: adapter.async_decide(prepared, options), 1_000, batches=min(batches, 3))


# --- all of them ------------------------------------------------------------------------------------------------------


def run(names: list[str], venvs: Path, rounds: int) -> int:
    """Measure the adapters in turn, `rounds` times, and print medians and their ratios to ours."""
    names = [OURS, *[name for name in names if name != OURS]]
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    missing: dict[str, str] = {}
    for turn in range(rounds):
        for name in names:
            if name in missing:
                continue
            print(f"round {turn + 1} of {rounds}: {name}", file=sys.stderr, flush=True)
            python = python_of(name, venvs)
            if not python.exists():
                missing[name] = "not installed: run `python bench/peers.py setup`"
                continue
            command = [str(python), str(HERE / "peers.py"), "one", name]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                missing[name] = (done.stderr.strip().splitlines() or ["it died"])[-1][:200]
            else:
                found[name].append(json.loads(done.stdout.strip().splitlines()[-1]))
    _print_table(found, missing)
    return 0


def _print_table(found: dict[str, list[dict[str, Any]]], missing: dict[str, str]) -> None:
    medians = {name: {column: _median(rows, column) for column in COLUMNS} for name, rows in found.items()}
    ours, remarks = medians[OURS], []
    print(f"| | {' | '.join(COLUMNS.values())} |\n|{'---|' * (len(COLUMNS) + 1)}")
    for name, rows in found.items():
        title = constant(name, "TITLE")
        if name in missing:
            print(f"| {title} |{' missing |' * len(COLUMNS)}")
            remarks.append(f"{name} is missing: {missing[name]}")
            continue
        print(f"| {title} | {' | '.join(_cell(medians[name][c], ours[c], name) for c in COLUMNS)} |")
        failed = {row[c] for row in rows for c in COLUMNS if isinstance(row.get(c), str)}
        remarks.append(f"{name} contains: {constant(name, 'CONTAINS')}")
        remarks += [f"{name} failed: {text}" for text in sorted(failed)]
    print("\nCPU per decision, and in brackets how many times ours.\n")
    print("\n".join(f"* {remark}" for remark in remarks))


def _median(rows: list[dict[str, Any]], column: str) -> float | None:
    figures = [row[column] for row in rows if isinstance(row.get(column), float)]
    return statistics.median(figures) if figures else None


def _cell(figure: float | None, ours: float | None, name: str) -> str:
    if figure is None:
        return "–"
    shown = f"{figure / 1e3:.3g} ms" if figure >= 1e3 else f"{figure:.3g} us"
    return shown if name == OURS or not ours else f"{shown} ({_times(figure / ours)}x)"


def _times(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2g}"


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="The same decisions with other libraries.")
    parser.add_argument("command", choices=("setup", "run", "one"), help="'one' is what 'run' starts per peer")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}; default all")
    parser.add_argument("--venvs", type=Path, default=VENVS, help="where the environments are; default .venv-bench/")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    names = arguments.names or list(NAMES)
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        parser.error(f"no adapter is named {unknown[0]!r}")
    if arguments.command == "one":
        return one(names[0], batches=5)
    if arguments.command == "setup":
        return setup(names, arguments.venvs)
    return run(names, arguments.venvs, arguments.rounds)


if __name__ == "__main__":
    sys.exit(main())
