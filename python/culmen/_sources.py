"""What a table may be: its columns by name.

Tables are: a dict of arrays by name; a two-dimensional array, row by row; and anything that exports an Arrow stream
(`__arrow_c_stream__`): pyarrow, polars and pandas tables, DuckDB relations.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ._arrow import arrow_column, arrow_columns, refuse_repeated
from ._columns import Column, read_column
from ._errors import InputError, InvalidArgument
from ._times import zone_name


@dataclass
class Source:
    """All columns of a table by name, in order."""

    columns: dict[str, Any]
    has_names: bool = True
    index: dict[str, Any] = field(default_factory=dict)  # of a pandas table: used only if named
    dropped: np.ndarray | None = None  # the numbers of rows that were left out, ascending

    def take(self, name: str, what: str) -> Any:
        if name in self.index and name not in self.columns:
            return self.index[name]
        if name not in self.columns:
            raise InvalidArgument(f"no column {name!r} for {what}; there are {', '.join(map(repr, self.columns))}")
        return self.columns[name]


def source_of(table: Any) -> Source:
    if isinstance(table, Mapping):
        return Source(_columns_of(table))
    if isinstance(table, list) and table and all(isinstance(row, Mapping) for row in table):
        names = list(dict.fromkeys(name for row in table for name in row))
        return Source({str(name): [row.get(name) for row in table] for name in names})
    if hasattr(table, "__arrow_c_stream__") and getattr(table, "ndim", 2) == 1:
        raise _not_a_table(table)  # a Series
    if hasattr(table, "__arrow_c_stream__") and hasattr(table, "reset_index"):  # pandas
        levels = {str(n): table.index.get_level_values(n).to_numpy() for n in table.index.names if n is not None}
        return Source(_columns_of_pandas(table), index=levels)
    if hasattr(table, "__arrow_c_stream__"):
        return Source(arrow_columns(table))
    matrix: Any = None
    with contextlib.suppress(ValueError):  # rows that differ in length
        matrix = table if isinstance(table, np.ma.MaskedArray) else np.asarray(table)
    if matrix is None or matrix.ndim != 2:
        raise _not_a_table(table)
    return Source({f"a{i}": matrix[:, i] for i in range(matrix.shape[1])}, has_names=False)


def _columns_of_pandas(table: Any) -> dict[str, Any]:
    refuse_repeated([str(name) for name in table])
    without_arrow = {str(name): _PandasColumn(column) for name, column in table.items()}
    try:
        columns = arrow_columns(table.reset_index(drop=True))
    except InputError:
        raise
    except (ImportError, ValueError, TypeError, NotImplementedError):
        # pandas exports Arrow streams only with pyarrow, which refuses columns of several types.
        return without_arrow
    periods = [str(name) for name, column in table.items() if str(column.dtype).startswith("period")]
    return {**columns, **{name: without_arrow[name] for name in periods}}  # to Arrow they are integers


class _PandasColumn:
    """A column that is read without Arrow."""

    def __init__(self, column: Any) -> None:
        self._column = column

    def __len__(self) -> int:
        return len(self._column)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """As pandas converts it, of objects if an array of numbers cannot hold its gaps."""
        is_exact = isinstance(self._column.dtype, np.dtype) or not self._column.hasnans
        return self._column.to_numpy() if is_exact else self._column.to_numpy(dtype=object)

    def read_column(self, name: str) -> Column:
        zone = getattr(self._column.dtype, "tz", None)
        if zone is None:
            return read_column(self.__array__(), name)
        column = read_column(self._column.to_numpy(dtype=f"M8[{self._column.dtype.unit}]"), name)
        return replace(column, format=column.format._replace(zone=zone_name(zone)))


def _columns_of(table: Mapping[Any, Any]) -> dict[str, Any]:
    """A dict of numbers and texts instead of columns is one row."""
    is_row = len(table) > 0 and all(map(_is_scalar, table.values()))
    refuse_repeated([str(name) for name in table])
    return {str(name): [given] if is_row else arrow_column(given) or given for name, given in table.items()}


def _is_scalar(value: Any) -> bool:
    return getattr(value, "ndim", None) == 0 or isinstance(value, (str, bytes)) or not hasattr(value, "__len__")


def column_names(table: Any) -> tuple[Any, list[str]]:
    """The names of a table's columns, and the table in a form that can be read again."""
    source = source_of(table)
    columns = {**source.index, **source.columns}
    return (columns if source.has_names else table), list(columns)


def _not_a_table(given: Any) -> InvalidArgument:
    return InvalidArgument(
        "a table is a dict of columns, a two-dimensional array (a row of it is a row of the table), or a DataFrame "
        f"or Arrow table, not {_kind(given)}"
    )


def _kind(table: Any) -> str:
    if isinstance(table, np.ndarray):
        return f"an array of {table.ndim} dimensions"
    return f"{type(table).__module__}.{type(table).__qualname__}"
