"""How CSV files are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class CsvDialect:
    """What is between the cells of a CSV file, and how its numbers look. What is None is found in the first megabyte.

    >>> CsvDialect(delimiter=";", decimal=",", thousands=".")
    CsvDialect(delimiter=';', decimal=',', thousands='.', header=None, null_words=None)
    """

    delimiter: str | None = None  #: a comma, tab, semicolon or bar
    decimal: str | None = None  #: a point or comma
    thousands: str | None = None  #: a comma, point, apostrophe or blank between groups of digits; "" for none
    header: bool | None = None  #: False: the columns are called a0, a1, ...
    null_words: Sequence[str] | None = None  #: missing values, in place of the usual words; in columns of text, too
