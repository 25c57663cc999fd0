"""Sift a CSV file of 300 rows: which messages ask for money back?

The rows are made here, and so are the answers, by a service in this process: it runs without key or network. Name a
real one to have its judgment: ``python examples/sift_a_csv.py jev``.
"""

from __future__ import annotations

import csv
import sys
import tempfile
from pathlib import Path

from decidable import Runtime, sift
from decidable.questions import Noul
from decidable.testing.systemone import FauxSystemOne

MESSAGES = ["Please return my payment.", "The app crashes.", "Thank you!", "Where is my parcel?", "Cancel my contract."]
REFUND = Noul("Does the customer ask for money back?", "A payment is wanted back.", "Anything else is wanted.")


def made_up(path: Path, count: int = 300) -> None:
    """Write a CSV file of messages."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["id", "message"])
        writer.writeheader()
        writer.writerows({"id": n, "message": MESSAGES[n % len(MESSAGES)]} for n in range(count))


def main() -> None:
    runtime = Runtime(sys.argv[1]) if len(sys.argv) > 1 else Runtime(FauxSystemOne().provider())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "messages.csv"
        made_up(path)
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    found = sift(
        rows,
        {"refund": REFUND},
        keep="refund",
        gte=0.8,
        max_questions=100,
        on_progress=lambda done, count: print(f"{done} of {count}"),
        runtime=runtime,
    )
    print(f"{len(found.items)} of {len(rows)} rows kept, in {found.requests} requests")


if __name__ == "__main__":
    main()
