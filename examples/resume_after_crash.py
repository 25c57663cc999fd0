"""A program that dies in the middle of a paid question, and goes on: nothing is asked twice, and nothing is lost.

The service is made up, on a port of this machine. The first run is killed while its second question is in flight; the
second answers the first question from its receipt, asks the third, and says that nobody knows about the second.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from decidable import Complete, Runtime, ask, outcome_of, parallel_provider
from decidable.receipts import SQLiteReceipts, use_receipts
from decidable.testing.systemone import FauxSystemOne, slow

COMPANIES = ["Acme Robotics", "Globex", "Initech"]


def work(url: str, path: str) -> None:
    """Ask about each company, and print what is known."""
    runtime = Runtime(parallel_provider(base_url=url, api_key="faux"))
    with use_receipts(SQLiteReceipts(path)):
        for company in COMPANIES:
            outcome = outcome_of(ask, "Is the company still operating?", company, runtime=runtime)
            if isinstance(outcome, Complete):
                how = "from its receipt" if outcome.value.judgement.replayed else "by the service"
                print(f"{company}: answered {how}", flush=True)
            else:
                print(f"{company}: {outcome.kind}: it may have been paid, and is not asked again", flush=True)


def main() -> None:
    if len(sys.argv) == 3:
        work(*sys.argv[1:])
        return
    faux = FauxSystemOne()
    with tempfile.TemporaryDirectory() as folder, faux.serve() as url:
        command = [sys.executable, __file__, url, str(Path(folder) / "receipts.db")]
        faux.next(slow(0), slow(60))
        print("The first run:")
        try:
            subprocess.run(command, timeout=3, check=True)
        except subprocess.TimeoutExpired:
            print("... is killed while it waits.")
        print("The second run:")
        subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
