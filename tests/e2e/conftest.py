"""The fixture `base_url`: one real model server for all end-to-end tests of a run, or a skip that says what to install.

A server that is not installed skips, because its packages are large and nothing else here needs them.  One that is
installed and does not start fails: a skip would hide that the tests no longer run.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from server import what_is_missing
from server_process import served


@pytest.fixture(scope="session")
def base_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The root of the OpenAI-compatible API, such as http://127.0.0.1:40000/v1."""
    if missing := what_is_missing():
        pytest.skip(f"no model server: {missing}")
    with served(tmp_path_factory.mktemp("server") / "stderr.txt") as url:
        yield url
