"""Receipts in memory."""

from __future__ import annotations

from threading import Lock

from decidable.questions.receipts import Receipt

__all__ = ["MemoryReceipts"]


class MemoryReceipts:
    """Keeps receipts while the program runs; safe to share between threads and tasks."""

    def __init__(self) -> None:
        self._kept: dict[str, Receipt] = {}
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def all(self) -> tuple[Receipt, ...]:
        """Every receipt, in the order in which their requests were first made."""
        with self._lock:
            return tuple(self._kept.values())

    def find(self, receipt_id: str) -> Receipt | None:
        """The receipt of an id, or None."""
        return self._kept.get(receipt_id)

    def claim(self, receipt: Receipt) -> Receipt | None:
        """As `decidable.receipts.ReceiptStore.claim`."""
        with self._lock:
            earlier = self._kept.get(receipt.id)
            if earlier is not None and not earlier.may_be_asked_again:
                return earlier
            self._kept[receipt.id] = receipt
            return None

    def record(self, receipt: Receipt) -> None:
        """Keep a receipt."""
        with self._lock:
            self._kept[receipt.id] = receipt

    def forget(self, receipt_id: str) -> None:
        """Drop a receipt, so that its question is asked again, and paid again."""
        with self._lock:
            self._kept.pop(receipt_id, None)
