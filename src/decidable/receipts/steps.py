"""Blocks of a program: where receipts are kept, and where in it a decision is made."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from decidable.ambient import Ledger, current_scope, use_scope
from decidable.errors import ArgumentTypeError
from decidable.questions.receipts import ReceiptStore
from decidable.settings import checked_store

__all__ = ["step", "use_receipts"]


@contextmanager
def use_receipts(store: ReceiptStore) -> Iterator[ReceiptStore]:
    """Keep a receipt of every question to a model within a ``with`` block, and ask none twice.

    What was answered is answered from its receipt, at no cost. What was sent and never answered, to a provider that is
    paid for each request, is not sent again: it raises `DecisionProviderError` of code ``outcome_unknown``.

    Args:
        store: `MemoryReceipts`, `JSONLReceipts`, `SQLiteReceipts`, or one of your own.
    """
    if store is None:
        raise ArgumentTypeError("use_receipts takes a store, such as MemoryReceipts()")
    scope = current_scope()
    held: Any = checked_store(store)
    with use_scope(replace(scope, ledger=replace(scope.ledger or Ledger(), store=held))):
        yield held


@contextmanager
def step(name: str, *, item: int | None = None) -> Iterator[None]:
    """Say where in the program decisions are made: the same question is asked again in another step.

    Args:
        name: Of the step. It is part of the execution path, and stands before the labels of what is within.
        item: Index of the item, in a loop: each has a path of its own, and labels stay as they are.
    """
    if not isinstance(name, str) or not name:
        raise ArgumentTypeError(f"a step's name is text, not {name!r}")
    scope = current_scope()
    with use_scope(replace(scope, ledger=_within(scope.ledger or Ledger(), name, item))):
        yield


def _within(ledger: Ledger, name: str, item: int | None) -> Ledger:
    path = f"{ledger.path}/{escaped(name)}"
    if item is None:
        return replace(ledger, path=path, prefix=f"{ledger.prefix}{name}/")
    return replace(ledger, path=f"{path}/{item}/body", item=item)


def escaped(name: str) -> str:
    """A name as a part of an execution path, as in a JSON pointer."""
    return name.replace("~", "~0").replace("/", "~1")
