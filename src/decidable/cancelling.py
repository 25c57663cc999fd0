"""`CancelToken`: lets one thread or task call off what another waits for."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Lock

__all__ = ["AbortedError", "CancelToken"]


class AbortedError(Exception):
    """What was waited for was called off by its `CancelToken`; thrown into a flow, which says what that means."""

    def __init__(self, *, in_flight: bool) -> None:
        super().__init__("cancelled")
        self.in_flight = in_flight


class CancelToken:
    """Calls off a request, or the wait before its next attempt, from anywhere. Once cancelled, it stays so.

    Example:
        >>> token = CancelToken()
        >>> token.cancel()
        >>> token.is_cancelled
        True
    """

    def __init__(self) -> None:
        self._event = Event()
        self._lock = Lock()
        self._told: list[Callable[[], object]] = []

    @property
    def is_cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._event.is_set()

    def cancel(self) -> None:
        """Call off whatever waits on this token, now and later."""
        with self._lock:
            self._event.set()
            told, self._told = self._told, []
        for tell in told:
            tell()

    def wait(self, seconds: float) -> bool:
        """Wait until cancelled, at most so many seconds; whether it was."""
        return self._event.wait(seconds)

    def tell(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Have `callback` called, from whichever thread cancels; at once if that has been. Returns what undoes it."""
        with self._lock:
            waits = not self._event.is_set()
            if waits:
                self._told.append(callback)
        if not waits:
            callback()

        def forget() -> None:
            with self._lock:
                if callback in self._told:
                    self._told.remove(callback)

        return forget
