"""Answers about single rows: where they stand, and why."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any

from . import _html
from ._errors import InvalidArgument, shortened


def no_row(ids: Sequence[Any], index: Container[Any]) -> InvalidArgument:
    """Names those of the ids that the index does not have."""
    absent = [shortened(str(id)) for id in ids if id not in index]
    return InvalidArgument(f"there is no row with the id {' or '.join(absent)}")


@dataclass(frozen=True)
class RowRank:
    """Where a row stands among all that a query ranks."""

    rank: int  #: 1: the best
    score: float


@dataclass(frozen=True)
class ScorePart:
    """What an attribute adds to the score of a row."""

    attribute: str
    weight: float
    value: float  #: as it is ranked: scaled, or what stands in for a missing value
    part: float  #: weight * value
    is_missing: bool


@dataclass(frozen=True)
class EvenWeight:
    """A weight with which two rows score the same, all others as they are."""

    attribute: str
    weight: float  #: as it is
    even: float


@dataclass(frozen=True)
class Reasons:
    """Why a row scores what it scores. `print(reasons)` shows it.

    Attributes:
        parts: of the attributes whose weight is not 0, the largest first. Their sum is the score, but for rounding.
        others: those of the other row; empty without one.
        even: the smallest change first; empty without another row, or if one misses a value that is ranked.
    """

    parts: tuple[ScorePart, ...]
    others: tuple[ScorePart, ...]
    even: tuple[EvenWeight, ...]

    @classmethod
    def of(cls, found: tuple[Any, Any]) -> Reasons:
        """found: what the extension says of one row or two."""
        parts = [tuple(ScorePart(*part) for part in of_row) for of_row in found[0]]
        return cls(parts[0], parts[1] if len(parts) > 1 else (), tuple(EvenWeight(*weight) for weight in found[1]))

    def __str__(self) -> str:
        lines = _lines(self.parts)
        if self.others:
            lines += ["the other row:", *_lines(self.others)]
        if self.even:
            lines.append("they score the same with one of these weights changed, and beyond it swap:")
            lines += [f"  {one.attribute} = {one.even!r} (now {one.weight!r})" for one in self.even]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """The parts of each row, and the weights that would make them equal, for notebooks."""
        of_part = ("attribute", "weight", "value", "part")
        others = _table(of_part, self.others) if self.others else ""
        even = _table(("attribute", "weight", "even"), self.even) if self.even else ""
        return _table(of_part, self.parts) + others + even


def _lines(parts: tuple[ScorePart, ...]) -> list[str]:
    """As `culmen query --why` has them."""
    return [
        f"  {part.part!r:>14}  = {part.weight!r} * {'(missing) ' if part.is_missing else ''}{part.value!r}"
        f" of {part.attribute}"
        for part in parts
    ]


def _table(names: tuple[str, ...], rows: tuple[Any, ...]) -> str:
    shown = [[getattr(row, name) for name in names] for row in rows[: _html.SHOWN_ROWS]]
    return _html.table(names, shown, len(rows))
