"""Runs the type checkers over the public API: `make check` calls it; it is no part of `make test`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
BIN = Path(sys.executable).parent


@pytest.mark.parametrize(
    "command",
    [
        ["mypy", "--strict", "--config-file=", "--no-incremental", "for_mypy.py", "for_all.py"],
        ["pyright", "--pythonpath", sys.executable, "for_pyright_and_ty.py", "for_all.py"],
        ["ty", "check", "--python", str(BIN.parent), "for_pyright_and_ty.py", "for_all.py"],
    ],
    ids=["mypy", "pyright", "ty"],
)
def test_the_public_api_has_the_types_it_says(command):
    done = subprocess.run([BIN / command[0], *command[1:]], cwd=HERE, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
