"""Filters as expressions: (culmen.col("price") <= 200) & ~culmen.col("stars").isin([1, 2])."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from . import _core
from ._core import Filter


class Column:
    """What a filter compares: an attribute, or the id of a row. Comparisons with a number are filters.

    >>> (col("price") <= 200) & ~col("stars").isin([1, 2.5])
    <culmen.Filter price <= 200 and not stars in (1, 2.5)>
    """

    __slots__ = ("_column",)
    __hash__ = None  # type: ignore[assignment]
    __array_ufunc__ = None  # a NumPy number on the left leaves the comparison to the column

    def __init__(self, column: _core.Column) -> None:
        self._column = column

    def __eq__(self, value: Any) -> Filter:  # type: ignore[override]
        return self._column.equal(value)

    def __ne__(self, value: Any) -> Filter:  # type: ignore[override]
        return self._column.not_equal(value)

    def __lt__(self, value: Any) -> Filter:
        return self._column.less(value)

    def __le__(self, value: Any) -> Filter:
        return self._column.less_equal(value)

    def __gt__(self, value: Any) -> Filter:
        return self._column.greater(value)

    def __ge__(self, value: Any) -> Filter:
        return self._column.greater_equal(value)

    def between(self, least: Any, most: Any) -> Filter:
        """Both limits included."""
        return self._column.between(least, most)

    def isin(self, values: Iterable[Any]) -> Filter:
        """Equal to one of the values; no row is, if there are none."""
        return self._column.isin(values)

    def is_null(self) -> Filter:
        """Rows without a value. Attributes and ids always have one."""
        return self._column.is_null()

    def is_not_null(self) -> Filter:
        """Rows with a value."""
        return self._column.is_not_null()


def col(attribute: str | int) -> Column:
    """An attribute in a filter, by its name or its position. "id" is the row's id, unless an attribute is called so."""
    return Column(_core.col(attribute))


def id_col() -> Column:
    """The id of a row in a filter."""
    return Column(_core.id_col())
