"""The switch that forbids real requests; off, except under pytest, where the plugin turns it on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from decidable.errors import RequestForbiddenError
from decidable.providers.protocol import Provider

__all__ = ["allow_requests", "forbid_requests", "refuse_if_forbidden", "requests_allowed"]

_allowed = True


def requests_allowed() -> bool:
    """Whether providers that reach beyond this process may be asked."""
    return _allowed


def forbid_requests() -> None:
    """From now on, in the whole process, refuse to ask a provider that reaches beyond it."""
    global _allowed  # noqa: PLW0603 - the switch is global on purpose
    _allowed = False


@contextmanager
def allow_requests(allowed: bool = True) -> Iterator[None]:
    """Allow (or forbid) real requests within a ``with`` block, in the whole process."""
    global _allowed  # noqa: PLW0603 - the switch is global on purpose
    before, _allowed = _allowed, allowed
    try:
        yield
    finally:
        _allowed = before


def refuse_if_forbidden(provider: Provider) -> None:
    """Raise when `provider` is remote and real requests are forbidden.

    Raises:
        RequestForbiddenError: Naming the provider and how to allow it.
    """
    if not _allowed and provider.capabilities.remote:
        raise RequestForbiddenError(
            f"a real request to {provider.name!r} was stopped: real requests are off here. In a test, use "
            "decidable.testing.scripted(...), or allow them: with decidable.testing.allow_requests(): ..."
        )
