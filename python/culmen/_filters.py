"""Filters as expressions: (culmen.col("price") <= 200) & ~culmen.col("stars").isin([1, 2])."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from . import _core
from ._core import Filter
from ._errors import InvalidArgument, short_repr
from ._ids import (
    check_id_type,
    default_id_type,
    encoded,
    encoded_ends,
    id_set,
    id_type_of,
    text_column,
    text_set,
    texts_of,
)

#: Each of which takes memory while the set is made.
_MOST_IN_STEPS = 1 << 28


class Column:
    """What a filter compares: a column, or the id of a row. Comparisons with a number, a text, a date or a timestamp
    (of Python, NumPy or pandas) are filters.

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

    def startswith(self, prefix: str) -> Filter:
        """Texts that begin with these letters."""
        if not isinstance(prefix, str):
            raise TypeError(f"startswith takes one text, not {prefix!r}; | joins several filters")
        return self._column.startswith(prefix)

    def is_null(self) -> Filter:
        """Rows without a value."""
        return self._column.is_null()

    def is_not_null(self) -> Filter:
        """Rows with a value."""
        return self._column.is_not_null()


def col(name: str | int) -> Column:
    """A column in a filter, by its name, or an attribute by its position. "id" is the row's id, unless a column has
    this name."""
    return Column(_core.col(name))


def id_col() -> Column:
    """The id of a row in a filter."""
    return Column(_core.id_col())


def ids(of: Any, id_type: str | None = None) -> Filter:
    """Rows whose ids are in a set: ids(seen), or ~ids(seen) for all others. It is a filter, to be joined by & and |.

    Queries that use it share the set, so build it once. 10 million ids near each other take a few
    tenths of a second. A range in steps of one takes neither time nor memory for each id; one in other steps, of at
    most 2^28 ids, takes some 12 bytes for each while the set is made. Texts are looked up once in each version of an
    index that is searched.

    Args:
        of: texts, or integers, as an array, a column of pandas, polars or Arrow, a list, a set or a range; booleans, of
            which those that are true stand at the places of the ids 0, 1, 2, ..., the ids of a table without an id
            column; a BitMap or BitMap64 of pyroaring; or bytes in Roaring's portable format for 64 bits, as
            BitMap64.serialize() returns them.
        id_type: "int64", "uint64" or "text", what the ids of the index are. Numbers are the same for the first two, but
            in Roaring's format one of 2^63 or more is for "int64" the negative id with the same bits. Of the other of
            the two, each search makes a copy of the set. Default: "text" for texts, "uint64" for an array of uint64,
            and if a number is 2^63 or more; "int64" otherwise, and for bytes.

    >>> ids([3, 1, 2]) & (col("price") <= 200)
    <culmen.Filter id in {3 ids} and price <= 200>
    """
    check_id_type(id_type)
    if of is None:
        raise InvalidArgument("a set of ids is made of a collection, not of None")
    if isinstance(of, (int, np.integer, str)):
        one = short_repr(of)
        raise InvalidArgument(f"a set of ids is made of a collection, such as ids([{one}]), or id_col() == {one}")
    if isinstance(of, Iterator):
        of = list(of)
    if id_type == "text":
        return _core.ids_in_texts(text_set(of))
    if id_type is None and (texts := texts_of(of)):
        return _core.ids_in_texts(text_column(texts))
    if isinstance(of, range) and of:
        first, last, of_range = encoded_ends(of, id_type)
        if abs(of.step) == 1:
            return _core.ids_in_range(first, last, of_range)
        if (num_ids := (last - first) // abs(of.step) + 1) > _MOST_IN_STEPS:
            raise InvalidArgument(
                f"a range in steps has at most 2^28 ids, not {num_ids}: join the sets of its parts by |, give the "
                "ids as bytes in Roaring's format, or test the id itself, as in id_col() >= 5"
            )
    given = id_set(of)
    if isinstance(given, bytes):
        return _core.ids_in_bytes(given, id_type or default_id_type(of))
    found: Any = id_type or id_type_of(given)
    return _core.ids_in(encoded(given, found), found)
