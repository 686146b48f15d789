"""Converts tables to NumPy columns, which culmen reads in place where it can.

Tables are: a dict of arrays by name; a two-dimensional array, row by row; and anything that exports an Arrow stream
(`__arrow_c_stream__`): pyarrow, polars and pandas tables, DuckDB relations.
"""

from __future__ import annotations

import contextlib
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ._arrow import ArrowColumn, arrow_columns, refuse_repeated
from ._errors import InputError, InvalidArgument

#: Names, with ":low" if small values are good, or a mapping of names to "high" or "low".
Attributes = Sequence[str] | Mapping[str, str] | None

_READ_IN_PLACE = {np.dtype(t) for t in ("f4", "f8", "i4", "i8")}
_WIDENED = {
    np.dtype("f2"): "f4",
    np.dtype("b1"): "i4",
    np.dtype("i1"): "i4",
    np.dtype("u1"): "i4",
    np.dtype("i2"): "i4",
    np.dtype("u2"): "i4",
    np.dtype("u4"): "i8",
}

#: The types of None, pandas.NA, pandas.NaT and numpy.ma.masked.
_MISSING = frozenset({"NoneType", "NAType", "NaTType", "MaskedConstant"})


@dataclass
class Columns:
    """The input of the extension: columns of float32, float64, int32 or int64, any stride, native byte order."""

    num_rows: int
    names: list[str]  # empty: by position, in the order of the index
    preferences: list[str]
    columns: list[np.ndarray]
    ids: np.ndarray | None = None  # None: the rows' numbers, dropped rows counted
    labels: list[str | None] | None = None
    dropped: np.ndarray | None = None  # the numbers of dropped rows, ascending

    @property
    def num_dropped(self) -> int:
        return 0 if self.dropped is None else len(self.dropped)

    def arguments(self) -> tuple[Any, ...]:
        return self.num_rows, self.names, self.preferences, self.columns, self.ids, self.labels, self.dropped


@dataclass
class _Source:
    """All columns of a table by name, in order."""

    columns: dict[str, Any]
    has_names: bool = True
    index: dict[str, Any] = field(default_factory=dict)  # of a pandas table: used only if named

    def take(self, name: str, what: str) -> Any:
        if name in self.index and name not in self.columns:
            return self.index[name]
        if name not in self.columns:
            raise InvalidArgument(f"no column {name!r} for {what}; there are {', '.join(map(repr, self.columns))}")
        return self.columns[name]


def take_table(
    table: Any,
    attributes: Attributes = None,
    id: str | Any | None = None,
    label: str | Any | None = None,
    nulls: str = "error",
    named: bool = True,
    first_row: int = 0,
) -> Columns:
    """Attributes default to all columns but those of ids and labels. `named` false: columns are matched by position.
    Messages and the numbers of dropped rows count from `first_row`, which is 0 for a whole table."""
    if nulls not in ("error", "drop"):
        raise InvalidArgument(f'nulls is "error" or "drop", not {nulls!r}')
    source = _source_of(table)
    preferences = _preferences(attributes, source, id, label)
    chosen = {name: source.take(name, "an attribute") for name in preferences}
    columns = {name: _numbers(column, name) for name, column in chosen.items()}
    ids = source.take(id, "the ids") if isinstance(id, str) else id
    labels = source.take(label, "the labels") if isinstance(label, str) else label
    gaps = {name: gap for name, column in chosen.items() if (gap := _gaps(column)) is not None}
    num_rows = _length(columns, ids)
    if ids is not None and (gap := _gaps_of_ids(ids, num_rows)) is not None:
        gaps[id if isinstance(id, str) else "the ids"] = gap
    keep = _rows_without_gaps(columns, gaps, num_rows, nulls, first_row)
    taken = Columns(
        num_rows,
        list(columns) if named else [],
        list(preferences.values()) if named else [],
        list(columns.values()),
        None
        if ids is None
        else _ids(ids, keep, ": leave id out (rows are then numbered), and give texts as label=..."),
        None if labels is None else _texts(labels, num_rows),
    )
    return taken if keep is None else _only(taken, keep, first_row)


def _source_of(table: Any) -> _Source:
    if isinstance(table, Mapping):
        return _Source(_columns_of(table))
    if isinstance(table, list) and table and all(isinstance(row, Mapping) for row in table):
        names = list(dict.fromkeys(name for row in table for name in row))
        return _Source({str(name): [row.get(name) for row in table] for name in names})
    if hasattr(table, "__arrow_c_stream__") and getattr(table, "ndim", 2) == 1:
        raise _not_a_table(table)  # a Series
    if hasattr(table, "__arrow_c_stream__") and hasattr(table, "reset_index"):  # pandas
        levels = {str(n): table.index.get_level_values(n).to_numpy() for n in table.index.names if n is not None}
        return _Source(_columns_of_pandas(table), index=levels)
    if hasattr(table, "__arrow_c_stream__"):
        return _Source(arrow_columns(table))
    matrix: Any = None
    with contextlib.suppress(ValueError):  # rows that differ in length
        matrix = table if isinstance(table, np.ma.MaskedArray) else np.asarray(table)
    if matrix is None or matrix.ndim != 2:
        raise _not_a_table(table)
    return _Source({f"a{i}": matrix[:, i] for i in range(matrix.shape[1])}, has_names=False)


def _columns_of_pandas(table: Any) -> dict[str, Any]:
    refuse_repeated([str(name) for name in table])
    try:
        return arrow_columns(table.reset_index(drop=True))
    except ImportError:  # pandas exports Arrow streams only with pyarrow
        return {str(name): _values_of_pandas(column) for name, column in table.items()}


def _values_of_pandas(column: Any) -> Any:
    """An array, or a list with None for gaps if an array of numbers cannot hold them."""
    is_exact = isinstance(column.dtype, np.dtype) or not column.hasnans
    values = column.to_numpy() if is_exact else column.to_numpy(dtype=object)
    if values.dtype.kind != "O":
        return values
    return [None if is_gap else value for value, is_gap in zip(values, column.isna())]


def _columns_of(table: Mapping[Any, Any]) -> dict[str, Any]:
    """A dict of numbers and texts instead of columns is one row."""
    is_row = len(table) > 0 and all(np.ndim(v) == 0 and not isinstance(v, ArrowColumn) for v in table.values())
    refuse_repeated([str(name) for name in table])
    return {str(name): [column] if is_row else column for name, column in table.items()}


def column_names(table: Any) -> tuple[Any, list[str]]:
    """The names of a table's columns, and the table in a form that can be read again."""
    source = _source_of(table)
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


def _preferences(attributes: Attributes, source: _Source, id: Any, label: Any) -> dict[str, str]:
    if attributes is None:
        others = {name for name in (id, label) if isinstance(name, str)}
        return {name: "high" for name in source.columns if name not in others}
    if source.has_names:
        return preferences_of(attributes, source.columns)
    preferences = preferences_of(attributes, ())
    if len(preferences) != len(source.columns):
        raise InvalidArgument(f"{len(preferences)} attributes for the {len(source.columns)} columns of the array")
    source.columns = dict(zip(preferences, source.columns.values()))
    return preferences


def preferences_of(attributes: Attributes, known: Container[str]) -> dict[str, str]:
    """ "high" or "low" by name. A known name may have a colon in it."""
    if attributes is None or isinstance(attributes, str):
        raise InvalidArgument(f"attributes is a list of names, or a dict, not the text {attributes!r}")
    if isinstance(attributes, Mapping):
        return dict(attributes)
    preferences: dict[str, str] = {}
    for given in attributes:
        if not isinstance(given, (str, int, np.integer)):
            raise InvalidArgument(f"attributes are named by texts, not by {given!r}")
        attribute = str(given)
        name, _, preference = (attribute, "", "") if attribute in known else attribute.rpartition(":")
        if not name:
            name, preference = preference, ""
        if name in preferences:
            raise InvalidArgument(f"attribute {name!r} comes twice")
        preferences[name] = preference or "high"
    return preferences


def _gaps(column: Any) -> np.ndarray | None:
    """True where the value is missing; None if none is."""
    if isinstance(column, ArrowColumn):
        return column.gaps()
    if isinstance(column, (list, tuple)) or getattr(getattr(column, "dtype", None), "kind", "") == "O":
        if not any(kind.__name__ in _MISSING for kind in set(map(type, column))):
            return None
        return np.fromiter((_is_missing(value) for value in column), dtype=bool, count=len(column))
    if not isinstance(column, np.ma.MaskedArray) or not np.ma.is_masked(column):
        return None
    return np.ma.getmaskarray(column)


def _is_missing(value: Any) -> bool:
    return type(value).__name__ in _MISSING


def _numbers(column: Any, name: str) -> np.ndarray:
    values = np.ma.getdata(column) if isinstance(column, np.ma.MaskedArray) else np.asarray(column)
    if values.ndim != 1:
        raise InvalidArgument(f"column {name!r} has {values.ndim} dimensions; a column has one")
    if values.dtype.kind == "O":
        values = _from_objects(values, name)
    if values.itemsize > 0 and values.strides[0] % values.itemsize != 0:
        values = values.copy()  # a field of a packed record
    kind = values.dtype.newbyteorder("=")
    if kind in _READ_IN_PLACE:
        return values if values.dtype == kind else values.astype(kind)
    if kind in _WIDENED:
        return values.astype(_WIDENED[kind])
    if kind == np.dtype("u8"):
        if len(values) and values.max() >= 1 << 63:
            raise InputError(f"column {name!r} has integers of 2^63 and more, which would be rounded: make it float64")
        return values.astype("i8")
    if kind.kind in "mM":
        raise InputError(f"column {name!r} holds dates or times: turn it into numbers, e.g. with .astype('int64')")
    raise InputError(
        f"column {name!r} holds {'text' if kind.kind in 'SUT' else str(kind)}, not numbers: name the columns to rank "
        "by with attributes=[...], and a column of texts that is to come with the answers with label=..."
    )


def _from_objects(values: np.ndarray, name: str) -> np.ndarray:
    """For lists of Python numbers with None among them, decimals, ..."""
    if any(isinstance(value, (str, bytes)) for value in values):
        return values.astype("U")
    if all(isinstance(value, int) for value in values):
        try:
            return np.array(values.tolist(), dtype=np.int64)
        except OverflowError:
            raise InputError(f"column {name!r} has integers beyond 2^63") from None
    if not all(_is_missing(value) or is_real_number(value) for value in values):
        raise InputError(f"column {name!r} holds Python objects that are not numbers")
    return np.array([np.nan if _is_missing(value) else float(value) for value in values])


def is_real_number(value: Any) -> bool:
    """True if the type converts to float without losing an imaginary part."""
    if isinstance(value, np.ndarray):
        return value.ndim == 0 and value.dtype.kind in "biuf"
    if isinstance(value, (complex, np.complexfloating)):
        return False
    return hasattr(type(value), "__float__") or hasattr(type(value), "__index__")


def real_number(name: str, value: Any) -> float:
    """Propagates what the value's own conversion raises."""
    if type(value) is float:
        return value
    if not is_real_number(value):
        raise TypeError(f"{name} is a real number, not {value!r}")
    try:
        return float(value)
    except OverflowError:
        if not isinstance(value, int):
            raise
        raise InvalidArgument(f"{name} is not a number that float64 can hold: {value!r}") from None


def _gaps_of_ids(ids: Any, num_rows: int) -> np.ndarray | None:
    """NaN is a gap as well: pandas stores integers with gaps as float64."""
    values = np.asarray(ids)
    if values.shape != (num_rows,):
        raise InvalidArgument(f"the ids have the shape {values.shape} for {num_rows} rows")
    gaps = _gaps(ids)
    if values.dtype.kind != "f":
        return gaps
    return ~np.isfinite(values) if gaps is None else gaps | ~np.isfinite(values)


def _ids(ids: Any, keep: np.ndarray | None, advice_for_texts: str = "") -> np.ndarray:
    """Of the rows to keep, or of all."""
    values = np.asarray(ids) if keep is None else np.asarray(ids)[keep]
    if values.dtype.kind == "O":
        values = np.asarray(values.tolist())
    if values.dtype.kind == "f":
        if not (is_integer := values == np.floor(values)).all():
            raise InputError(f"ids are integers; {values[~is_integer][0]} is not")
        if (abs(values) >= 2.0 ** (np.finfo(values.dtype).nmant + 1)).any():
            raise InputError(f"ids are integers; some of these are too large for {values.dtype} to hold exactly")
        values = values.astype(np.int64)
    if values.dtype.kind == "u" and len(values) and values.max() >= 1 << 63:
        raise InputError(f"ids are below 2^63; {values.max()} is not")
    if values.dtype.kind not in "iu":
        is_text = values.dtype.kind in "SUT"
        raise InputError(f"ids are integers; these are {f'texts{advice_for_texts}' if is_text else values.dtype}")
    return np.ascontiguousarray(values, dtype=np.int64)


def _text(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    if _is_missing(value) or value != value:
        return None
    if isinstance(value, bytes):
        raise InputError(f"a label is a text, not the bytes {value!r}")
    return str(value)


def _texts(labels: Any, num_rows: int) -> list[str | None]:
    texts = [_text(value) for value in labels]
    if len(texts) != num_rows:
        raise InvalidArgument(f"there are {len(texts)} labels for {num_rows} rows; one column of texts comes along")
    return texts


def _length(columns: Mapping[str, np.ndarray], ids: Any) -> int:
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise InvalidArgument(
            "the columns differ in length: " + ", ".join(f"{name!r} has {n}" for name, n in lengths.items())
        )
    return next(iter(lengths.values()), 0 if ids is None else len(ids))


def _rows_without_gaps(
    columns: Mapping[str, np.ndarray], gaps: Mapping[str, np.ndarray], num_rows: int, nulls: str, first_row: int
) -> np.ndarray | None:
    """None: keep all rows. NaN is a gap only if gaps are dropped; otherwise the index reports its row."""
    keep = None
    for name in {**dict.fromkeys(gaps), **dict.fromkeys(columns)}:
        is_gap = gaps.get(name)
        if nulls == "drop" and name in columns and columns[name].dtype.kind == "f":
            without = ~np.isfinite(columns[name])
            is_gap = without if is_gap is None else is_gap | without
        if is_gap is None or not is_gap.any():
            continue
        if nulls == "error":
            raise InputError(
                f"column {name!r} has no value in row {first_row + int(is_gap.argmax()) + 1} ({int(is_gap.sum())} of "
                f"{num_rows} rows): fill the gaps, or leave such rows out with nulls='drop'"
            )
        keep = ~is_gap if keep is None else keep & ~is_gap
    return keep


def _only(table: Columns, keep: np.ndarray, first_row: int) -> Columns:
    """The rows to keep; the ids are already theirs."""
    return Columns(
        int(keep.sum()),
        table.names,
        table.preferences,
        [column[keep] for column in table.columns],
        table.ids,
        None if table.labels is None else [text for text, kept in zip(table.labels, keep) if kept],
        (np.flatnonzero(~keep) + first_row).astype(np.uint64),
    )


def as_ids(ids: int | Iterable[int] | np.ndarray) -> np.ndarray:
    if np.ma.is_masked(ids):
        raise InputError("an id has no value")
    values = np.atleast_1d(np.asarray(ids if isinstance(ids, (int, np.integer, np.ndarray)) else list(ids)))
    if values.ndim != 1:
        raise InvalidArgument(f"ids are one column, not an array of {values.ndim} dimensions")
    return np.empty(0, dtype=np.int64) if values.size == 0 else _ids(values, None)
