"""Fixtures shared by all tests; `both` runs a test once through the sync verbs and once through the async ones."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from decidable import decision
from decidable.runtimes import Runtime


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """The end-to-end tests start a model server, so they run only when they are named: make e2e."""
    asked = any("e2e" in str(argument) for argument in config.args)
    return True if collection_path.name == "e2e" and not asked else None


class Sync:
    """The sync verbs."""

    is_async = False

    def make(self, *args: Any, **kwargs: Any) -> Any:
        return decision.make(*args, **kwargs)

    def decide(self, *args: Any, **kwargs: Any) -> Any:
        return decision.decide(*args, **kwargs)

    def exec(self, runtime: Runtime, *args: Any, **kwargs: Any) -> Any:
        return runtime.exec(*args, **kwargs)


class Async:
    """The async verbs, each driven to its end on an event loop of its own."""

    is_async = True

    def make(self, *args: Any, **kwargs: Any) -> Any:
        return asyncio.run(decision.async_make(*args, **kwargs))

    def decide(self, *args: Any, **kwargs: Any) -> Any:
        return asyncio.run(decision.async_decide(*args, **kwargs))

    def exec(self, runtime: Runtime, *args: Any, **kwargs: Any) -> Any:
        return asyncio.run(runtime.async_exec(*args, **kwargs))


@pytest.fixture(params=[Sync, Async], ids=["sync", "async"])
def both(request: pytest.FixtureRequest) -> Sync | Async:
    verbs: Callable[[], Sync | Async] = request.param
    return verbs()


@pytest.fixture(autouse=True)
def no_default_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees a runtime that it did not set."""
    monkeypatch.delenv("DECIDABLE_MODEL", raising=False)
    from decidable import set_default_runtime

    set_default_runtime(None)
