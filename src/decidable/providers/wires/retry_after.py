"""How long a provider wants to be left alone, from its headers."""

from __future__ import annotations

import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

__all__ = ["retry_after"]

_LONGEST_S = 24 * 3600.0


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Seconds to wait, from ``retry-after-ms`` or ``retry-after`` (seconds or an HTTP date); None without one.

    Args:
        headers: By lower-case name.
        now: Seconds since the epoch, for a date; default the clock.
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name, "").strip()
        if not value:
            continue
        try:
            seconds = float(value) * unit
        except ValueError:
            seconds = _until(value, time.time() if now is None else now)
        if 0 <= seconds <= _LONGEST_S:  # also refuses nan
            return seconds
    return None


def _until(date: str, now: float) -> float:
    try:
        return max(0.0, parsedate_to_datetime(date).timestamp() - now)
    except ValueError:
        return -1.0
