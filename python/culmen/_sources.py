"""What a table may be: its columns by name.

Tables are: a dict of arrays by name; a two-dimensional array, row by row; and anything that exports an Arrow stream
(`__arrow_c_stream__`): pyarrow, polars and pandas tables, DuckDB relations.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from . import _core
from ._arrow import ArrowColumn, arrow_column, arrow_columns, refuse_repeated
from ._columns import Column, read_column
from ._errors import InvalidArgument
from ._times import zone_name


@dataclass
class Source:
    """All columns of a table by name, in order."""

    columns: dict[str, Any]
    has_names: bool = True
    index: dict[str, Any] = field(default_factory=dict)  # of a pandas table: used only if named
    dropped: np.ndarray | None = None  # the numbers of rows that were left out, ascending

    def role(self, given: Any) -> Any:
        """The name of a column of ids or labels as a text, as pandas may have others; the ids or labels themselves as
        they are."""
        refuse_lazy(given, "ids or labels")
        is_name = not hasattr(given, "__len__") or (isinstance(given, tuple) and str(given) in self.columns)
        return str(given) if given is not None and is_name else given

    def take(self, name: str, what: str, advice: str = "") -> Any:
        if name in self.index and name not in self.columns:
            return self.index[name]
        if name not in self.columns:
            known = f"there are {', '.join(map(repr, self.columns))}" if self.columns else "the table has no columns"
            meant = _core.did_you_mean(name, list(self.columns))
            raise InvalidArgument(f"no column {name!r} for {what}{meant}; {known}{advice}")
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
    if hasattr(table, "__arrow_c_stream__") and any(map(is_of_objects, getattr(table, "dtypes", ()))):
        return Source(_columns_of_polars(table))
    if hasattr(table, "__arrow_c_stream__"):
        read = _core.ArrowTable(table.__arrow_c_stream__())
        if read.is_one_column:
            raise _not_a_table(table)
        return Source(arrow_columns(read))
    if isinstance(table, np.ndarray) and table.dtype.names:  # records
        return Source({name: table[name] for name in table.dtype.names})
    matrix = _matrix_of(table)
    if matrix is None or matrix.ndim != 2:
        raise _not_a_table(table)
    return Source({f"a{i}": matrix[:, i] for i in range(matrix.shape[1])}, has_names=False)


def _matrix_of(table: Any) -> np.ndarray | None:
    """None for rows that differ in length."""
    if isinstance(table, np.ma.MaskedArray):
        return table
    try:
        matrix = np.asarray(table)
    except ValueError:
        return None
    if isinstance(table, (list, tuple)) and matrix.dtype.kind == "f" and (abs(matrix) >= 1 << 53).any():
        return np.array(table, dtype=object)  # whose integers nothing has rounded yet
    return matrix


def is_of_objects(dtype: Any) -> bool:
    """Whether this is polars' type of Python's objects, such as UUIDs, which Arrow exports as pointers."""
    return type(dtype).__module__.startswith("polars.") and str(dtype) == "Object"


def _columns_of_polars(table: Any) -> dict[str, Any]:
    return {column.name: column.to_list() if is_of_objects(column.dtype) else arrow_column(column) for column in table}


def _columns_of_pandas(table: Any) -> dict[str, Any]:
    refuse_repeated([str(name) for name in table])
    return {str(name): _PandasColumn(column) for name, column in table.items()}


class _PandasColumn:
    """A column, read through Arrow where that changes no value."""

    def __init__(self, column: Any) -> None:
        self._column = column

    def __len__(self) -> int:
        return len(self._column)

    def read_column(self, name: str, are_ids: bool = False) -> Column:
        through_arrow = self._through_arrow()
        if through_arrow is not None:
            return through_arrow.read_column(name, are_ids)
        zone = getattr(self._column.dtype, "tz", None)
        if zone is None:
            return read_column(self._to_numpy(), name, are_ids)
        column = read_column(self._column.to_numpy(dtype=f"M8[{self._column.dtype.unit}]"), name)
        return replace(column, format=column.format._replace(zone=zone_name(zone)))

    def _through_arrow(self) -> ArrowColumn | None:
        """None where pandas cannot export it: without pyarrow, or of a type that pyarrow refuses."""
        if not _is_for_arrow(self._column):
            return None
        frame = self._column.reset_index(drop=True).to_frame("x")  # pandas 2 exports only tables
        with contextlib.suppress(ImportError, ValueError, TypeError, NotImplementedError):
            return ArrowColumn(_core.ArrowTable(frame.__arrow_c_stream__()), 0)
        return None

    def _to_numpy(self) -> np.ndarray:
        """As pandas converts it, of objects if an array of numbers cannot hold its gaps."""
        is_exact = isinstance(self._column.dtype, np.dtype) or not self._column.hasnans
        return self._column.to_numpy() if is_exact else self._column.to_numpy(dtype=object)


def _is_for_arrow(column: Any) -> bool:
    """Not numbers of NumPy, which need no conversion, nor objects but texts: pyarrow makes them all of one type, and
    cuts the time off a timestamp beside a date, or digits off an integer beside a fraction. Nor periods and intervals,
    which are integers and structs to it."""
    dtype = column.dtype
    if hasattr(dtype, "categories"):
        return dtype.categories.dtype.kind in "biufM" or all(isinstance(value, str) for value in dtype.categories)
    if isinstance(dtype, np.dtype):
        return dtype.kind == "O" and _holds_texts(column)
    return not str(dtype).startswith(("period", "interval"))


def _holds_texts(column: Any) -> bool:
    import pandas

    return pandas.api.types.infer_dtype(column) == "string"  # and gaps


def _columns_of(table: Mapping[Any, Any]) -> dict[str, Any]:
    """A dict of numbers and texts instead of columns is one row."""
    is_row = len(table) > 0 and all(map(_is_scalar, table.values()))
    refuse_repeated([str(name) for name in table])
    return {str(name): [given] if is_row else column_of(given) for name, given in table.items()}


def refuse_lazy(given: Any, what: str) -> None:
    """A LazyFrame of polars, which has no values yet."""
    if hasattr(given, "collect_schema") and not hasattr(given, "__arrow_c_stream__"):
        raise InvalidArgument(f"{what} are a {type(given).__name__}, which has no values yet: collect() it first")


def column_of(given: Any) -> Any:
    """A column of another library as read_column takes it; lists and arrays as they are."""
    refuse_lazy(given, "the values of a column")
    if is_of_objects(getattr(given, "dtype", None)) and hasattr(given, "to_list"):
        return given.to_list()
    is_of_pandas = hasattr(given, "reset_index") and hasattr(given, "dtype")
    return _PandasColumn(given) if is_of_pandas else arrow_column(given) or given


def _is_scalar(value: Any) -> bool:
    return getattr(value, "ndim", None) == 0 or isinstance(value, (str, bytes)) or not hasattr(value, "__len__")


def column_names(table: Any) -> tuple[Any, list[str]]:
    """The names of a table's columns, and the table in a form that can be read again."""
    source = source_of(table)
    columns = {**source.index, **source.columns}
    return (columns if source.has_names else table), list(columns)


def _not_a_table(given: Any) -> InvalidArgument:
    advice = ""
    if isinstance(given, (str, bytes, os.PathLike)):
        advice = ": Index.from_files reads files"
    elif hasattr(given, "collect"):  # polars' LazyFrame
        advice = ": collect() it first"
    return InvalidArgument(
        "a table is a dict of columns, a two-dimensional array (a row of it is a row of the table), or a DataFrame "
        f"or Arrow table, not {_kind(given)}{advice}"
    )


def _kind(table: Any) -> str:
    if isinstance(table, np.ndarray):
        return f"an array of {table.ndim} dimensions"
    return f"{type(table).__module__}.{type(table).__qualname__}"
