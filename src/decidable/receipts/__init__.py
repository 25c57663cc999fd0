"""Receipts of decisions: what keeps them, and blocks of a program that say where in it a decision is made.

from decidable.receipts import SQLiteReceipts, step, use_receipts

with use_receipts(SQLiteReceipts("receipts.db")), step("triage"):
    ...  # asked once, whatever happens; answered from its receipt from then on
"""

from decidable.questions.receipts import Receipt, ReceiptStore, rederive
from decidable.receipts.jsonl import JSONLReceipts
from decidable.receipts.memory import MemoryReceipts
from decidable.receipts.sqlite import SQLiteReceipts
from decidable.receipts.steps import step, use_receipts

__all__ = [
    "JSONLReceipts",
    "MemoryReceipts",
    "Receipt",
    "ReceiptStore",
    "SQLiteReceipts",
    "rederive",
    "step",
    "use_receipts",
]
