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
from ._progress import Progress, shown
from ._result import BatchResult, Out, Result
from ._schema import Schema
from ._sources import source_of

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


def search(
    handle: Any,
    schema: Schema,
    weights: Any,
    k: KOrEach,
    rest: tuple[Any, ...],
    out: Out | None = None,
    progress: Progress | bool | None = None,
) -> Result | BatchResult:
    """Searches an index, or its copy on a GPU. The rest: where, min_score, scale, missing, engine; and threads for an
    index."""
    if is_each(k) or is_each(rest[0]) or is_each(rest[1]):
        return _search_each(handle, schema, weights, k, rest, out, progress)
    k, rest = in_numbers(k, rest)
    try:
        kind = type(weights)
        if kind is not dict and not (kind is np.ndarray and weights.ndim == 1):  # the usual ones need no conversion
            if is_matrix(weights):
                matrix = as_matrix(weights, schema.names)
                check_out(out, len(matrix), k)
                with shown(progress) as report:
                    answers = search_matrix(handle, matrix, k, rest, out, report)
                    if report is not None:
                        report("searching", 1.0)
                return BatchResult(answers, schema, out)
            weights = by_name(weights)
        if out is not None:
            raise InvalidArgument("out takes the answers to a matrix of weights; these are of one query")
        if progress is not None and progress is not False:
            raise InvalidArgument("progress is of a matrix of weights; these are of one query")
        return Result(handle.search(weights, k, *rest), schema)
    except TypeError:
        check_types(k, *rest)
        raise


def search_page(
    handle: Any, schema: Schema, weights: Any, k: Any, rest: tuple[Any, ...], after: Any, per: Any
) -> Result:
    """One query, of which the rows behind a cursor, or some of each group, are wanted."""
    k, rest = in_numbers(k, rest)
    check_types(k, *rest)
    if after is not None:
        if not isinstance(after, (tuple, list)) or len(after) != 2:
            raise InvalidArgument("after is the (score, id) of the last row before, as Result.cursor")
        after = (real_number("the score of after", after[0]), integer("the id of after", after[1]))
    if per is not None:
        if not isinstance(per, Mapping) or len(per) != 1:
            raise InvalidArgument('per is a column and how many rows of each value: {"brand": 2}')
        [(column, most)] = per.items()
        per = (str(column), integer("per", most))
        if per[1] < 1:
            raise InvalidArgument(f"at most {per[1]} rows per {column!r}; ask for one at least")
    return Result(handle.search_page(by_name(weights), k, *rest, after, per), schema)


def search_matrix(handle: Any, matrix: np.ndarray, k: int | None, rest: tuple[Any, ...], *more: Any) -> Any:
    """more: where the answers go and who is told how many there are, of an index or its copies on GPUs."""
    try:
        return handle.search_matrix(matrix, k, *rest, *more)
    except InvalidArgument as error:
        is_refused = ~np.isfinite(matrix).all(axis=1) | ~matrix.any(axis=1)
        if matrix.shape[1] == 0 or not is_refused.any():
            raise
        raise InvalidArgument(f"query {is_refused.argmax()}: {error}") from None


def is_each(value: Any) -> bool:
    """Whether a k, a filter or a min_score is one for each query."""
    return value is not None and (isinstance(value, (list, tuple)) or getattr(value, "ndim", 0) == 1)


def _search_each(
    handle: Any, schema: Schema, weights: Any, k: Any, rest: tuple[Any, ...], out: Any, progress: Any
) -> BatchResult:
    """Queries of which each has a k, a filter or a min_score of its own."""
    if not is_matrix(weights):
        raise InvalidArgument(
            "a k, a filter or a min_score for each query is for a matrix of weights; these are of one query"
        )
    if out is not None:
        raise InvalidArgument("out takes answers that are all of one k, filter and min_score")
    matrix = as_matrix(weights, schema.names)
    where, min_score, scale, missing, engine, *threads = rest
    wheres = _one_each("filters", where, len(matrix))
    numbers = [
        in_numbers(k_of_query, (None, least, scale, missing, engine, *threads))
        for k_of_query, least in zip(
            _one_each("values of k", k, len(matrix)),
            _one_each("values of min_score", min_score, len(matrix)),
            strict=True,
        )
    ]
    ks = [number for number, _ in numbers]
    for number in ks:
        check_types(number, None, None, scale, missing, engine)
    threads = [integer("threads", count) for count in threads]
    with shown(progress) as report:
        answers = handle.search_each(
            matrix, ks, wheres, [of_query[1] for _, of_query in numbers], scale, missing, engine, *threads, report
        )
        if report is not None:
            report("searching", 1.0)
    return BatchResult(answers, schema)


def _one_each(name: str, given: Any, count: int) -> list[Any]:
    if not is_each(given):
        return [given] * count
    values = list(given)
    if len(values) != count:
        raise InvalidArgument(f"{len(values)} {name} for {count} queries")
    return values


def check_out(out: Any, num_queries: int, k: int | None) -> None:
    if out is None:
        return
    if k is None:
        raise InvalidArgument("out needs a k, by which its arrays are wide")
    if not isinstance(out, tuple) or len(out) != 3:
        raise InvalidArgument("out is three arrays: (ids, scores, counts)")
    needed = {
        "ids": (np.int64, (num_queries, k)),
        "scores": (np.float64, (num_queries, k)),
        "counts": (np.uint32, (num_queries,)),
    }
    for array, (name, (dtype, shape)) in zip(out, needed.items(), strict=True):
        if not isinstance(array, np.ndarray) or array.dtype != dtype or array.shape != shape:
            found = f"{array.dtype} {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
            raise InvalidArgument(f"out: the {name} are a NumPy array {np.dtype(dtype)} {shape}, not {found}")
        if not (array.flags.c_contiguous and array.flags.writeable):
            raise InvalidArgument(f"out: the array of {name} is not contiguous, or read-only")


def in_numbers(k: Any, rest: tuple[Any, ...]) -> tuple[int | None, tuple[Any, ...]]:
    """Converts to Python's own numbers. The extension takes only these: it would hide what other types raise."""
    if type(k) is int and k <= MOST_ROWS and rest[1] is None and type(rest[-1]) in (int, str):
        return k, rest  # the usual case
    where, min_score, scale, missing, engine, *threads = rest
    if k is TEN_OR_ALL:
        k = 10 if min_score is None else None
    elif k is not None:
        k = min(integer("k", k), MOST_ROWS)  # k has no upper limit
    if min_score is not None:
        min_score = real_number("min_score", min_score)
        if math.isinf(min_score):
            raise InvalidArgument(f"min_score: {min_score} is not a finite number")
    return k, (where, min_score, scale, missing, engine, *(integer("threads", count) for count in threads))


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
    index = getattr(weights, "index", None)
    if index is None or not hasattr(weights, "items") or not all(isinstance(name, str) for name in index):
        return weights
    return dict(weights.items())


def as_matrix(weights: Any, names: tuple[str, ...]) -> np.ndarray:
    """float64 [queries, attributes], row-major. Columns with names are matched by name; attributes not named get 0."""
    if np.ma.is_masked(weights):
        raise InvalidArgument("a weight has no value")
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
    k: int | None, where: Any, min_score: Any, scale: Any, missing: Any, engine: Any, threads: int = 0
) -> None:
    """Raises for the argument of a search that has the wrong type."""
    for name, value in (("scale", scale), ("missing", missing), ("engine", engine)):
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
    if not hasattr(type(value), "__index__"):
        raise TypeError(f"{name} is an integer, not {value!r}")
    return operator.index(value)
