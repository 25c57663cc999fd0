"""Receipts in a file of JSON lines."""

from __future__ import annotations

import json
import os
from pathlib import Path
from threading import Lock
from typing import Any

from decidable.questions.receipts import Receipt
from decidable.receipts.memory import MemoryReceipts

__all__ = ["JSONLReceipts"]


class JSONLReceipts:
    """Keeps receipts in a file that is only ever added to, one JSON object a line; the last line of an id counts.

    A line is on the disk before it counts as kept. A line that a crash cut off is left out, and what follows begins on
    a line of its own. For one process at a time: `SQLiteReceipts` serves several.

    Args:
        path: The file; made where there is none.

    Raises:
        ValueError: The file holds a whole line that is no receipt.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._lock = Lock()
        self._kept = MemoryReceipts()
        self._read()
        self._file = self.path.open("ab", buffering=0)

    def _read(self) -> None:
        data = self.path.read_bytes() if self.path.exists() else b""
        whole, newline, torn = data.rpartition(b"\n")
        for number, line in enumerate(whole.split(b"\n") if newline else (), 1):
            if line.strip():
                self._kept_line(number, line)
        if torn:  # a crash in the middle of a line: it was never kept
            with self.path.open("r+b") as file:
                file.truncate(len(data) - len(torn))

    def _kept_line(self, number: int, line: bytes) -> None:
        try:
            value: Any = json.loads(line)
            if "forget" in value:
                self._kept.forget(value["forget"])
            else:
                self._kept.record(Receipt.from_json(value))
        except (ValueError, TypeError) as error:
            raise ValueError(f"{self.path}, line {number}, is no receipt: {error}") from None

    def __len__(self) -> int:
        return len(self._kept)

    def all(self) -> tuple[Receipt, ...]:
        """Every receipt, in the order in which their requests were first made."""
        return self._kept.all()

    def find(self, receipt_id: str) -> Receipt | None:
        """The receipt of an id, or None."""
        return self._kept.find(receipt_id)

    def claim(self, receipt: Receipt) -> Receipt | None:
        """As `decidable.receipts.ReceiptStore.claim`."""
        with self._lock:
            earlier = self._kept.find(receipt.id)
            if earlier is not None and not earlier.may_be_asked_again:
                return earlier
            self._write(receipt.to_json())
            self._kept.record(receipt)
            return None

    def record(self, receipt: Receipt) -> None:
        """Keep a receipt; it is on the disk when this returns."""
        with self._lock:
            self._write(receipt.to_json())
            self._kept.record(receipt)

    def forget(self, receipt_id: str) -> None:
        """Drop a receipt, so that its question is asked again, and paid again."""
        with self._lock:
            self._write({"forget": receipt_id})
            self._kept.forget(receipt_id)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _write(self, value: Any) -> None:
        line = json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"
        place = self._file.seek(0, os.SEEK_END)
        written = self._file.write(line)
        if written != len(line):  # a full disk: half a line must not stay before the next
            self._file.truncate(place)
            raise OSError(f"{self.path}: only {written} of {len(line)} bytes could be written")
        os.fsync(self._file.fileno())
