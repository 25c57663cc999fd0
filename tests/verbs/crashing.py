"""A program that asks three paid questions and dies where it is told to; `test_crashes` starts it again."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from verbs_kit import Model

from decidable import Complete, Runtime, ask, outcome_of
from decidable.receipts import JSONLReceipts, SQLiteReceipts, use_receipts

STAGES = (
    "before the claim",
    "before it is sent",
    "in flight",
    "after the answer",
    "while it is kept",
    "once it is kept",
)


def main(folder: str, kind: str, stage: str) -> None:
    def die(now: str, receipt=None) -> None:
        if now == stage and (receipt is None or receipt.questions["holds"]["instructions"] == "Question 1?"):
            os.kill(os.getpid(), signal.SIGKILL)

    base = SQLiteReceipts if kind == "sqlite" else JSONLReceipts

    class Store(base):
        def claim(self, receipt):
            die("before the claim", receipt)
            found = super().claim(receipt)
            if found is None:
                die("before it is sent", receipt)
            return found

        def record(self, receipt):
            die("after the answer", receipt)
            super().record(receipt)
            die("once it is kept", receipt)

        if kind == "sqlite":

            def _put(self, receipt):
                if receipt.status != "answered":
                    super()._put(receipt)
                    return
                self._database.execute("BEGIN")
                super()._put(receipt)
                die("while it is kept", receipt)
                self._database.execute("COMMIT")
        else:

            def _write(self, value):
                if stage == "while it is kept" and value["status"] == "answered" and "Question 1?" in str(value):
                    self._file.write(b'{"v": 1, "id": "half a li')
                    die("while it is kept")
                super()._write(value)

    def say(key, question, request):
        with Path(folder, "sent").open("a") as log:  # the service: what it got, it got
            log.write(question.instructions + "\n")
        if question.instructions == "Question 1?":
            die("in flight")
        return 0.9

    rt = Runtime(Model(say, replay="never"))
    with use_receipts(Store(f"{folder}/receipts")):
        for number in range(3):
            found = outcome_of(ask, f"Question {number}?", "s", runtime=rt)
            sys.stdout.write(("answered" if isinstance(found, Complete) else found.kind) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
