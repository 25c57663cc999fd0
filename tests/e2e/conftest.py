"""The fixture `base_url`: one real model server for all end-to-end tests of a run, or a skip that says what to install.

A server that is not installed skips, because its packages are large and nothing else here needs them.  One that is
installed and does not start fails: a skip would hide that the tests no longer run.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Timer

import pytest
from server import what_is_missing

SERVER = Path(__file__).with_name("server.py")
START_WITHIN = 60.0
STOP_WITHIN = 10.0


@pytest.fixture(scope="session")
def base_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The root of the OpenAI-compatible API, such as http://127.0.0.1:40000/v1."""
    if missing := what_is_missing():
        pytest.skip(f"no model server: {missing}")
    log = tmp_path_factory.mktemp("server") / "stderr.txt"  # a pipe nobody reads would block the server when full
    with (
        log.open("wb") as stderr,
        subprocess.Popen(
            [sys.executable, str(SERVER), "--port", "0"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr
        ) as process,
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
