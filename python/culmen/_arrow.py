"""Columns of tables that export Arrow streams, read on first use."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _core
from ._columns import Column, Format, as_elements, nothing, refuse_beyond_int64
from ._errors import InputError, InvalidArgument

_UNITS = {"s": "s", "m": "ms", "u": "us", "n": "ns"}
_MILLISECONDS_A_DAY = 86_400_000


class ArrowColumn:
    """One column."""

    def __init__(self, table: _core.ArrowTable, position: int) -> None:
        self._table = table
        self._position = position
        self._format = table.format(position)

    def __len__(self) -> int:
        return self._table.num_rows

    def read_column(self, name: str, are_ids: bool = False) -> Column:
        """Raises InputError for a type that culmen does not keep."""
        if self._format == "n":
            return nothing(len(self))
        if self._format in ("u", "U", "vu", "uuid"):
            return Column(Format("text"), self._table.texts(self._position))
        values = self._numbers(name)
        gaps: Any = self._table.gaps(self._position)
        if not are_ids:
            refuse_beyond_int64(values, gaps, name)
        return Column(self._number_format(), as_elements(values, name, are_ids), gaps)

    def _numbers(self, name: str) -> np.ndarray:
        values = np.asarray(self._table.numbers(self._position, name))
        if self._format == "e":
            return values.view(np.float16)
        return values // _MILLISECONDS_A_DAY if self._format == "tdm" else values

    def _number_format(self) -> Format:
        if self._format.startswith("ts"):
            return Format("timestamp", _UNITS[self._format[2]], self._format[4:])
        if self._format.startswith("td"):
            return Format("date")
        if self._format == "b":
            return Format("bool")
        if self._format.startswith("d:"):  # d:precision,scale: integers without digits after the point
            return Format("float" if int(self._format.split(",")[1]) > 0 else "int")
        return Format("float" if self._format[0] in "efg" else "int")


def refuse_repeated(names: list[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(f"two columns are called {name!r}: rename one")
        seen.add(name)


def arrow_columns(table: _core.ArrowTable) -> dict[str, ArrowColumn]:
    refuse_repeated(table.names)
    return {name: ArrowColumn(table, i) for i, name in enumerate(table.names)}


def arrow_column(column: Any) -> ArrowColumn | None:
    """A Series of polars, an array of pyarrow, or a table of one column; None for what is none of these."""
    if hasattr(column, "__arrow_c_stream__"):
        table = _core.ArrowTable(column.__arrow_c_stream__())
        if not table.is_one_column and len(table.names) != 1:
            names = ", ".join(map(repr, table.names[:5])) + (", ..." if len(table.names) > 5 else "")
            raise InvalidArgument(f"one column is expected, not a table of {len(table.names)} ({names}): choose one")
        return ArrowColumn(table, 0)
    is_chunked = type(column).__name__ == "ChunkedArray"  # which exports no stream before pyarrow 16
    if is_chunked or hasattr(column, "__arrow_c_array__"):
        import pyarrow

        column = column if isinstance(column, (pyarrow.Array, pyarrow.ChunkedArray)) else pyarrow.array(column)
        table = pyarrow.Table.from_arrays([column], ["x"])
        return ArrowColumn(_core.ArrowTable(table.__arrow_c_stream__()), 0)
    return None
