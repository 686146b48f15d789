"""Queries: weights, k and filters as users write them, converted for the extension."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ._columns import Column, read_column
from ._core import Filter
from ._errors import InvalidArgument
from ._numbers import is_real_number, real_number
from ._sources import refuse_lazy, source_of

#: The value of `threads` for all cores.
ALL_CORES = 0

#: No index has as many rows.
MOST_ROWS = (1 << 63) - 1


class _TenOrAll:
    def __repr__(self) -> str:
        return "10"


#: The k of a query without one: 10, or with min_score all rows that reach it.
TEN_OR_ALL: Any = _TenOrAll()

#: "price<=200 and brand='Sony'", or col("price") <= 200, or {"price": (None, 200), "stars": [4, 5], "brand": "Sony"}:
#: pairs (least, most), lists and sets of values, or a value.
Where = str | Filter | Mapping[str, Any] | None

#: Of a matrix of weights: one for all queries, or one for each.
KOrEach = int | Sequence[int | None] | np.ndarray | None
WhereOrEach = Where | Sequence[Where]
ScoreOrEach = float | Sequence[float | None] | np.ndarray | None


def is_each(value: Any) -> bool:
    """Whether a k, a filter or a min_score is one for each query."""
    return value is not None and (isinstance(value, (list, tuple)) or getattr(value, "ndim", 0) == 1)


def in_numbers(k: Any, rest: tuple[Any, ...]) -> tuple[int | None, tuple[Any, ...]]:
    """Converts to Python's own numbers. The extension takes only these: it would hide what other types raise."""
    if type(k) is int and k <= MOST_ROWS and rest[1] is None and type(rest[-1]) in (int, str):
        return k, rest  # the usual case
    where, min_score, scale, missing, terms, engine, *threads = rest
    if k is TEN_OR_ALL:
        k = 10 if min_score is None else None
    elif k is not None:
        k = min(integer("k", k), MOST_ROWS)  # k has no upper limit
    if min_score is not None:
        min_score = real_number("min_score", min_score)
        if math.isinf(min_score):
            raise InvalidArgument(f"min_score: {min_score} is not a finite number")
    return k, (where, min_score, scale, missing, terms, engine, *(integer("threads", count) for count in threads))


def is_matrix(weights: Any) -> bool:
    if isinstance(weights, (list, tuple)):
        return len(weights) > 0 and isinstance(weights[0], (list, tuple, np.ndarray, Mapping))
    return getattr(weights, "ndim", 1) >= 2 or (hasattr(weights, "__arrow_c_stream__") and hasattr(weights, "columns"))


def by_name(weights: Any) -> Any:
    """A mapping, or a pandas Series with names, as a dict; anything else unchanged. Refuses what cannot be weights."""
    if weights is None or isinstance(weights, (str, bytes, bytearray, set, frozenset)) or np.ma.is_masked(weights):
        raise InvalidArgument("weights are a dict of numbers by name, one number an attribute, or a matrix of them")
    if isinstance(weights, Mapping):
        return dict(weights)
    refuse_lazy(weights, "weights")
    index = getattr(weights, "index", None)
    if index is None or not hasattr(weights, "items") or not all(isinstance(name, str) for name in index):
        return weights
    return dict(weights.items())


def as_matrix(weights: Any, names: tuple[str, ...]) -> np.ndarray:
    """float64 [queries, attributes], row-major. Columns with names are matched by name; attributes not named get 0."""
    if np.ma.is_masked(weights):
        query = np.ma.getmaskarray(weights).reshape(len(weights), -1).any(axis=1).argmax()
        raise InvalidArgument(f"query {query}: a weight has no value")
    if isinstance(weights, (list, tuple)) and any(isinstance(row, Mapping) for row in weights):
        if not all(isinstance(row, Mapping) for row in weights):
            raise InvalidArgument("the queries of a list are all dicts, or all of one number an attribute")
        weights = {
            name: [_weight(row.get(name, 0)) for row in weights]
            for name in dict.fromkeys(n for row in weights for n in row)
        }
    elif not hasattr(weights, "__arrow_c_stream__"):
        return _as_floats(weights)
    columns = {name: read_column(given, name) for name, given in source_of(weights).columns.items()}
    if not columns:  # such a table has no number of rows
        raise InvalidArgument("the weights name no attribute")
    matrix = np.zeros((len(next(iter(columns.values()))), len(names)))
    for name, column in columns.items():
        if name not in names:
            raise InvalidArgument(f"no attribute {name!r}; there are {', '.join(names)}")
        matrix[:, names.index(name)] = _weights_of(column, name)
    return matrix


def _weights_of(column: Column, name: str) -> np.ndarray:
    if column.format.type not in ("int", "float", "bool", "null"):
        raise InvalidArgument(f"the weights of {name!r} are not numbers")
    missing = column.missing()
    if missing is not None:
        raise InvalidArgument(f"query {missing.argmax()}: a weight is not finite, or has no value")
    return np.asarray(column.values)


def _as_floats(weights: Any) -> np.ndarray:
    try:
        given = np.asarray(weights)
    except ValueError:
        raise InvalidArgument("the rows of a matrix of weights are of one length") from None
    if given.dtype.kind == "O":
        given = np.array([_weight(weight) for weight in given.flat]).reshape(given.shape)
    if given.dtype.kind == "c":
        raise TypeError("a weight is a real number; these are complex")
    if given.dtype.kind not in "biuf":
        raise InvalidArgument(f"a weight is not a number; these are {given.dtype}")
    if given.ndim != 2:
        raise InvalidArgument(f"the weights have {given.ndim} dimensions; a matrix of them has two")
    return np.ascontiguousarray(given, dtype=np.float64)


def _weight(value: Any) -> float:
    """As the extension converts a weight."""
    if not is_real_number(value) and not isinstance(value, (complex, np.ndarray, np.complexfloating)):
        raise InvalidArgument(f"a weight is not a number: {value!r}")
    return real_number("a weight", value)


def check_types(
    k: int | None, where: Any, min_score: Any, scale: Any, missing: Any, terms: Any, engine: Any, threads: int = 0
) -> None:
    """Raises for the argument of a search that has the wrong type."""
    for name, value in (("scale", scale), ("missing", missing), ("terms", terms), ("engine", engine)):
        if not isinstance(value, str):
            raise TypeError(f"{name} is a text, not {value!r}")
    if k is not None:
        check_integer("k", k, 1, MOST_ROWS)
    check_integer("threads", threads)


def check_integer(name: str, value: Any, least: int = 0, most: int = (1 << 31) - 1) -> int:
    """Refuses what does not fit the library's integers, with a message about the argument."""
    number = integer(name, value)
    if not least <= number <= most:
        raise InvalidArgument(f"{name} is {number}; it is from {least} to {most}")
    return number


def integer(name: str, value: Any) -> int:
    """Propagates what the value's own conversion raises."""
    if type(value) is int:
        return value
    if not hasattr(type(value), "__index__") or isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} is an integer, not {value!r}")
    return operator.index(value)
