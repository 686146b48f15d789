"""How CSV files are written, and their rows that cannot be read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True)
class CsvDialect:
    """What is between the cells of a CSV file, and how its numbers look. What is None is found in the first megabyte.

    >>> CsvDialect(delimiter=";", decimal=",", thousands=".")
    CsvDialect(delimiter=';', decimal=',', thousands='.', header=None, null_words=None, dates=None)
    """

    delimiter: str | None = None  #: a comma, tab, semicolon or bar
    decimal: str | None = None  #: a point or comma
    #: a comma, point, apostrophe or blank between groups of digits; "" for none. If it is a comma or a point, the other
    #: one is the decimal mark.
    thousands: str | None = None
    header: bool | None = None  #: False: the columns are called a0, a1, ...
    null_words: Sequence[str] | None = None  #: missing values, in place of the usual words; in columns of text, too
    dates: str | None = None  #: what 01/02/2024 begins with: "day-first" or "month-first"


class RejectedRow(NamedTuple):
    """A row of a CSV file that is not read: a cell does not fit its column, or the line is no row."""

    file: str
    line: int  #: of the cell, from 1
    column: int  #: of the cell, from 1; 0: the whole row
    problem: str
    text: str  #: the row as it is in the file
