"""A program killed at every step of a paid question, and started again: nothing is sent twice, and nothing is lost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from crashing import STAGES

from decidable.receipts import JSONLReceipts, SQLiteReceipts

KNOWN = {"before the claim", "once it is kept"}
"""Where it dies without leaving a doubt: nothing was sent yet, or the answer is kept."""


def run(folder, kind, stage):
    here = Path(__file__).parent
    return subprocess.run(
        [sys.executable, str(here / "crashing.py"), str(folder), kind, stage],
        capture_output=True,
        text=True,
        check=False,
        cwd=here,
    )


@pytest.mark.parametrize("kind", ["sqlite", "jsonl"])
@pytest.mark.parametrize("stage", STAGES)
def test_nothing_is_sent_twice_and_nothing_is_lost(tmp_path, kind, stage):
    first = run(tmp_path, kind, stage)
    assert first.returncode == -9, first.stderr
    for _ in range(2):
        again = run(tmp_path, kind, "never")
        assert again.returncode == 0, again.stderr
        middle = "answered" if stage in KNOWN else "decision_interrupted"
        assert again.stdout.split() == ["answered", middle, "answered"]
    sent = (tmp_path / "sent").read_text().split("\n")[:-1]
    assert len(sent) == len(set(sent))
    store = SQLiteReceipts(tmp_path / "receipts") if kind == "sqlite" else JSONLReceipts(tmp_path / "receipts")
    asked = {one.questions["holds"]["instructions"]: one.status for one in store.all()}
    store.close()
    assert set(asked) == {f"Question {n}?" for n in range(3)}
    assert set(sent) <= set(asked)
    assert asked["Question 1?"] == ("answered" if middle == "answered" else "pending")
