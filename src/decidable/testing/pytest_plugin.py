"""Loaded by pytest by itself: forbids real requests, and offers the `scripted_runtime` fixture."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from decidable.testing import ScriptedRuntime

__all__ = ["pytest_configure", "scripted_runtime"]


def pytest_configure() -> None:
    """Forbid real requests for the whole session; `decidable.testing.allow_requests` lets some through."""
    from decidable.providers.forbid import forbid_requests

    forbid_requests()


@pytest.fixture
def scripted_runtime() -> Iterator[Callable[..., ScriptedRuntime]]:
    """Makes scripted runtimes, and fails the test if one of them has steps left over."""
    from decidable.testing import scripted

    made: list[ScriptedRuntime] = []

    def make(*steps: Any, **settings: Any) -> ScriptedRuntime:
        made.append(scripted(*steps, **settings))
        return made[-1]

    yield make
    for runtime in made:
        runtime.assert_complete()
