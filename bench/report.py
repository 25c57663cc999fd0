"""One row of the report, and whether its bars hold."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """One row of the report.

    Attributes:
        what: What was measured.
        figure: The median, in `unit`.
        unit: For `figure` and `bar`.
        bar: What it should not exceed, or None where nothing was promised.
        floor: The floor for the same task, in `unit`, or None where there is none.
        most_floors: Bar for the ratio to the floor, or None.
        note: What else is worth knowing.
        at_least: Whether the bar is a least instead of a most.
    """

    what: str
    figure: float | None
    unit: str
    bar: float | None = None
    floor: float | None = None
    most_floors: float | None = None
    note: str = ""
    at_least: bool = False

    @property
    def holds(self) -> bool | None:
        """Whether every bar of the line is met; None if it has none, or nothing was measured."""
        if self.figure is None or (self.bar is None and self.most_floors is None):
            return None
        met = True
        if self.bar is not None:
            met = self.figure >= self.bar if self.at_least else self.figure <= self.bar
        if self.most_floors is not None and self.floor:
            met = met and self.figure / self.floor <= self.most_floors
        return met

    def cells(self) -> list[str]:
        """The row, column by column."""
        sign = ">=" if self.at_least else "<="
        bars = [f"{sign} {_number(self.bar)} {self.unit}"] if self.bar is not None else []
        bars += [f"<= {self.most_floors:g}x floor"] if self.most_floors is not None else []
        ratio = f"{self.figure / self.floor:.1f}x" if self.floor and self.figure is not None else ""
        return [
            self.what,
            "" if self.figure is None else f"{_number(self.figure)} {self.unit}",
            "" if self.floor is None else f"{_number(self.floor)} {self.unit}",
            ratio,
            ", ".join(bars) or "none",
            {True: "yes", False: "**no**", None: ""}[self.holds],
            self.note,
        ]


def _number(value: float) -> str:
    return f"{value:.3g}" if value < 100 else f"{value:,.0f}"
