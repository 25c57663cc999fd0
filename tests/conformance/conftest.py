"""These tests need other people's packages, so they run only when they are named: make conformance."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from decidable.testing.systemone import FauxSystemOne

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # its import would fetch a list of prices


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    asked = any("conformance" in str(argument) for argument in config.args)
    return None if asked else True


@pytest.fixture
def faux() -> FauxSystemOne:
    """An endpoint that wants a key."""
    return FauxSystemOne("faux-key")


@pytest.fixture
def url(faux: FauxSystemOne) -> Iterator[str]:
    """Where it is served."""
    with faux.serve() as address:
        yield address
