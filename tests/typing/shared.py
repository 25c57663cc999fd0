"""Functions and classes for the menus in this folder."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypedDict

from pydantic import BaseModel


class Colour(Enum):
    RED = 1
    BLUE = 2


class Refund(BaseModel):
    amount: int


class Escalate(BaseModel):
    team: str


@dataclass
class Point:
    x: int


class Row(TypedDict):
    x: int


class Plain: ...


class Other: ...


def one() -> int:
    return 1


def two(a: int, b: str = "") -> int:
    return a


def text(a: int) -> str:
    return str(a)


def plain() -> Plain:
    return Plain()


def plain_too(x: int) -> Plain:
    return Plain()


def other() -> Other:
    return Other()


async def later() -> int:
    return 1


async def later_text(a: int) -> str:
    return ""
