"""The package as a whole: its face, what importing it costs, its hot path, its examples."""

from __future__ import annotations

import gc
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import decidable
from decidable import Reply, Runtime, decision, trace
from decidable.providers.protocol import Capabilities

ROOT = Path(__file__).parent.parent


def test_the_public_names_are_there_and_sorted():
    assert decidable.__all__ == sorted(decidable.__all__)
    for name in decidable.__all__:
        assert getattr(decidable, name) is not None


@pytest.mark.parametrize("module", sorted((ROOT / "src").rglob("*.py")), ids=lambda p: p.stem)
def test_every_all_names_what_is_there(module):
    name = ".".join(module.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")
    if name.endswith("minilm"):
        pytest.importorskip("onnxruntime", reason="needs decidable[local]")
    namespace = sys.modules.get(name) or __import__(name, fromlist=["x"])
    for public in getattr(namespace, "__all__", ()):
        assert hasattr(namespace, public), public


def test_importing_it_brings_no_network_no_loop_no_database_and_no_model():
    code = (
        "import sys, decidable; "
        "print(sorted({'httpx', 'asyncio', 'sqlite3', 'pydantic', 'numpy', 'onnxruntime'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_version_is_the_packages():
    assert re.search(rf'^version = "{re.escape(decidable.__version__)}"$', (ROOT / "pyproject.toml").read_text(), re.M)


class InProcess:
    name, model, capabilities = "in-process", None, Capabilities(chat=True, remote=False)

    def __init__(self, text):
        self.reply = Reply(text, stop="stop")

    def send(self, request, deadline=None):
        return self.reply

    async def asend(self, request, deadline=None):
        return self.reply

    def close(self): ...

    async def aclose(self): ...


def refund(order: str, amount: float = 1.0) -> str:
    """Give money back."""
    return order


def calls_of(function):
    """Python and C calls that `function` makes."""
    count = 0

    def profiler(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    function()
    function()
    gc.collect()
    gc.disable()  # what other tests left behind is not this function's
    sys.setprofile(profiler)
    try:
        function()
    finally:
        sys.setprofile(None)
        gc.enable()
    return count - 1


def test_a_decision_takes_at_most_150_calls():
    rt = Runtime(InProcess('{"call": "refund", "args": {"order": "A-17"}}'))

    def one():
        decision.make(
            "The mug of order A-17 broke.",
            {"refund": refund, "wait": ("w", "Nothing for now."), "close": (None, "Nothing more to do.")},
            runtime=rt,
        )

    assert calls_of(one) <= 150


def test_a_trace_that_is_off_costs_no_call():
    rt = Runtime(InProcess('{"call": "a"}'))

    def one():
        decision.make("?", ["a", "b"], runtime=rt)

    off = calls_of(one)
    with trace():
        assert calls_of(one) > off
    assert calls_of(one) == off


@pytest.mark.parametrize(
    "name",
    [
        "ticket_router",
        "work_then_decide",
        "nested_functions",
        "support_agent",
        "ask_a_decision_model",
        "triage_with_unsure",
        "sift_a_csv",
    ],
)
def test_examples_run(name, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", [name])
    if name == "ticket_router":
        pytest.importorskip("onnxruntime", reason="needs decidable[local]")
    runpy.run_path(str(ROOT / "examples" / f"{name}.py"), run_name="__main__")
    assert len(capsys.readouterr().out.splitlines()) > 3


def test_the_example_of_a_crash_asks_nothing_twice():
    command = [sys.executable, str(ROOT / "examples" / "resume_after_crash.py")]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    )
    second = done.stdout.partition("The second run:\n")[2].splitlines()
    assert [line.split(": ")[1] for line in second] == [
        "answered from its receipt",
        "decision_interrupted",
        "answered by the service",
    ]


def test_the_router_decides_every_message_and_mostly_right(capsys):
    pytest.importorskip("onnxruntime", reason="needs decidable[local]")
    example = runpy.run_path(str(ROOT / "examples" / "ticket_router.py"))
    assert len(example["MESSAGES"]) >= 20
    with Runtime("local") as rt:
        picked = [example["route"](message, runtime=rt).option for message in example["MESSAGES"]]
    wanted = (
        ["start_refund"] * 3 + ["track_parcel"] * 3 + ["send_login_link"] * 3 + ["report_bug"] * 3
        + ["manage_account"] * 2 + ["call_back"] * 3 + ["close"] * 2 + ["spam"] * 2 + ["manage_account"]
    )  # fmt: skip
    assert sum(a == b for a, b in zip(picked, wanted, strict=True)) >= 20


def test_the_support_agent_decides_each_ticket_on_what_its_tools_found(capsys):
    example = runpy.run_path(str(ROOT / "examples" / "support_agent.py"))
    outcomes = example["main"]()
    assert [outcome["outcome"] for outcome in outcomes] == ["refund", "escalate", "close"]
    assert outcomes[0]["eur"] == 89.0, "the price is the database's, not the model's"
    said = capsys.readouterr().out
    assert "manager, may I refund" in said
    assert "tool call orders_of -> [{'id': 'B-02'" in said


def test_the_testing_example_is_a_passing_test_file():
    path = ROOT / "examples" / "testing_without_a_model.py"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
