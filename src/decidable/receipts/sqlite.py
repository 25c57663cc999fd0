"""Receipts in a SQLite database."""

from __future__ import annotations

import json
import os
import sqlite3
from threading import Lock
from typing import Any

from decidable.questions.receipts import Receipt

__all__ = ["SQLiteReceipts"]

_TABLE = """
CREATE TABLE IF NOT EXISTS receipts (
    id TEXT PRIMARY KEY,
    status TEXT NOT NULL,
    node TEXT NOT NULL,
    at TEXT NOT NULL,
    receipt TEXT NOT NULL
)
"""


class SQLiteReceipts:
    """Keeps receipts in a SQLite database; safe to share between threads, tasks and processes.

    The write-ahead log is on the disk before a receipt counts as kept (``synchronous=FULL``), so neither a killed
    program nor a lost power supply takes one away. Columns: ``id``, ``status``, ``node``, ``at``, and ``receipt``, the
    whole as JSON.

    Args:
        path: The file; made where there is none.
        timeout_s: Seconds to wait while another process writes.
    """

    def __init__(self, path: str | os.PathLike[str], *, timeout_s: float = 30.0) -> None:
        self.path = os.fspath(path)
        self._lock = Lock()
        self._database = sqlite3.connect(self.path, timeout=timeout_s, isolation_level=None, check_same_thread=False)
        self._database.execute("PRAGMA journal_mode=WAL")
        self._database.execute("PRAGMA synchronous=FULL")
        self._database.execute(_TABLE)

    def __len__(self) -> int:
        with self._lock:
            count: int = self._database.execute("SELECT count(*) FROM receipts").fetchone()[0]
        return count

    def all(self) -> tuple[Receipt, ...]:
        """Every receipt, in the order in which their requests were first made."""
        with self._lock:
            rows = self._database.execute("SELECT receipt FROM receipts ORDER BY rowid").fetchall()
        return tuple(_read(row) for row in rows)

    def find(self, receipt_id: str) -> Receipt | None:
        """The receipt of an id, or None."""
        with self._lock:
            return self._found(receipt_id)

    def claim(self, receipt: Receipt) -> Receipt | None:
        """As `decidable.receipts.ReceiptStore.claim`, also between processes."""
        with self._lock:
            self._database.execute("BEGIN IMMEDIATE")
            try:
                earlier = self._found(receipt.id)
                if earlier is None or earlier.may_be_asked_again:
                    earlier = None
                    self._put(receipt)
                self._database.execute("COMMIT")
            except BaseException:
                self._database.execute("ROLLBACK")
                raise
        return earlier

    def record(self, receipt: Receipt) -> None:
        """Keep a receipt; it is on the disk when this returns."""
        with self._lock:
            self._put(receipt)

    def forget(self, receipt_id: str) -> None:
        """Drop a receipt, so that its question is asked again, and paid again."""
        with self._lock:
            self._database.execute("DELETE FROM receipts WHERE id = ?", (receipt_id,))

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            self._database.close()

    def _found(self, receipt_id: str) -> Receipt | None:
        row = self._database.execute("SELECT receipt FROM receipts WHERE id = ?", (receipt_id,)).fetchone()
        return None if row is None else _read(row)

    def _put(self, receipt: Receipt) -> None:
        value = json.dumps(receipt.to_json(), ensure_ascii=True, separators=(",", ":"))
        self._database.execute(
            "INSERT INTO receipts (id, status, node, at, receipt) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT (id) DO UPDATE SET status = excluded.status, node = excluded.node, at = excluded.at, "
            "receipt = excluded.receipt",
            (receipt.id, receipt.status, receipt.node, receipt.at, value),
        )


def _read(row: tuple[Any, ...]) -> Receipt:
    return Receipt.from_json(json.loads(row[0]))
