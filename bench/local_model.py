"""Measure the local model in a fresh process, and print one JSON object; `run.py` starts this."""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from pathlib import Path

import decidable
from routing_sets import SETS


def rss_mb() -> float | None:
    """Resident memory of this process, where the system shows it."""
    statm = Path("/proc/self/statm")
    if not statm.exists():
        return None
    return int(statm.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6


def main() -> int:
    """Load, decide every text of every set in both orders of the menu, and report."""
    before, begun = rss_mb(), time.perf_counter()
    try:
        runtime = decidable.Runtime("local")
    except decidable.MissingExtraError as error:
        print(json.dumps({"missing": str(error)}))
        return 0
    report: dict[str, object] = {"load_s": time.perf_counter() - begun}

    def pick(text: str, options: dict[str, str]) -> str:
        return decidable.decision.decide(text, list(options.items()), runtime=runtime).option

    milliseconds, sets = [], {}
    for name, (options, texts) in SETS.items():
        backwards = dict(reversed(options.items()))
        for menu in (options, backwards):
            pick("the first decision over a menu encodes its options", menu)
        right = flips = count = 0
        for wanted, group in texts.items():
            for text in group:
                cpu = time.process_time()
                got = pick(text, options)
                milliseconds.append((time.process_time() - cpu) * 1e3)
                count += 1
                right += got == wanted
                flips += got != pick(text, backwards)
        sets[name] = {"right": right, "flips": flips, "count": count, "options": len(options)}
    after = rss_mb()
    report["ms"] = statistics.median(milliseconds)
    report["rss_mb"] = after - before if after is not None and before is not None else None
    report["sets"] = sets
    print(json.dumps(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
