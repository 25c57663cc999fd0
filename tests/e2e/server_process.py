"""`server.py` in a process of its own, for as long as a test needs it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

import pytest

SERVER = Path(__file__).with_name("server.py")
START_WITHIN = 60.0
STOP_WITHIN = 10.0


@contextmanager
def served(log: Path, *arguments: str) -> Iterator[str]:
    """The base URL of a server started with `arguments`; what it says on stderr goes to `log`."""
    command = [sys.executable, str(SERVER), "--port", "0", *arguments]
    with (
        log.open("wb") as stderr,  # a pipe nobody reads would block the server when full
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            timer = Timer(START_WITHIN, process.kill)  # ends the read below, which has no timeout of its own
            timer.start()
            line = process.stdout.readline().decode().strip()
            timer.cancel()
            if not line.startswith("http://"):
                process.kill()
                pytest.fail(f"the model server did not start within {START_WITHIN:g} s:\n{log.read_text()}")
            yield line
        finally:
            process.stdin.close()  # asks it to end
            try:
                process.wait(STOP_WITHIN)
            except subprocess.TimeoutExpired:
                process.kill()  # leaving the block waits for it
