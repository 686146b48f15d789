"""Weights and filters as people write them."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

import numpy as np

from ._errors import InvalidArgument
from ._result import BatchResult, Result
from ._tables import take_table

#: The value of `threads` that stands for all of them.
ALL_CORES = 0

#: More than an index can have.
MOST_ROWS = (1 << 63) - 1

#: "price<=200 and stars>=4", or {"price": (None, 200), "stars": (4, None)}; a number instead of a pair: equal to it.
Where = str | Mapping[str, Any] | None


def ask(
    handle: Any, names: tuple[str, ...], weights: Any, k: int | None, rest: tuple[Any, ...]
) -> Result | BatchResult:
    """Searches an index, or its copy on a GPU. The rest: where, min_score, scale, engine; and threads for an index."""
    try:
        kind = type(weights)
        if kind is not dict and not (kind is np.ndarray and weights.ndim == 1):  # the commonest, as they are
            if is_matrix(weights):
                return BatchResult(handle.search_matrix(as_matrix(weights, names), width_of_answers(k), *rest), names)
            weights = by_name(weights)
        return Result(handle.search(weights, k, *rest), names)
    except TypeError:
        if isinstance(k, int) and k > MOST_ROWS:  # there is no upper limit
            return ask(handle, names, weights, MOST_ROWS, rest)
        _, min_score, scale, engine, *threads = rest
        check_types(k, min_score, *threads, scale=scale, engine=engine)
        raise


def is_matrix(weights: Any) -> bool:
    if isinstance(weights, (list, tuple)):
        return len(weights) > 0 and isinstance(weights[0], (list, tuple, np.ndarray, Mapping))
    return getattr(weights, "ndim", 1) == 2 or (hasattr(weights, "__arrow_c_stream__") and hasattr(weights, "columns"))


def by_name(weights: Any) -> Any:
    """A mapping, or a pandas Series with names, as a dict; everything else as it is, unless it is no weights at all."""
    if isinstance(weights, (str, bytes, bytearray, set, frozenset)) or np.ma.is_masked(weights):
        raise InvalidArgument("weights are a dict of numbers by name, one number an attribute, or a matrix of them")
    if isinstance(weights, Mapping):
        return dict(weights)
    index = getattr(weights, "index", None)
    if index is None or not hasattr(weights, "items") or not all(isinstance(name, str) for name in index):
        return weights
    return dict(weights.items())


def width_of_answers(k: int | None) -> int:
    if k is None:
        raise InvalidArgument("many questions in one call need a k: it is how wide their answers are")
    return k


def as_matrix(weights: Any, names: tuple[str, ...]) -> np.ndarray:
    """float64 [questions, attributes], row by row. Columns with names go by them; attributes not named get 0."""
    if np.ma.is_masked(weights):
        raise InvalidArgument("a weight has no value")
    if isinstance(weights, (list, tuple)) and isinstance(weights[0], Mapping):
        weights = {
            name: [row.get(name, 0) for row in weights] for name in dict.fromkeys(n for row in weights for n in row)
        }
    elif not hasattr(weights, "__arrow_c_stream__"):
        try:
            return np.ascontiguousarray(weights, dtype=np.float64)
        except (TypeError, ValueError):
            raise InvalidArgument("the rows of a matrix of weights are of one length, and hold numbers") from None
    table = take_table(weights)
    matrix = np.zeros((table.num_rows, len(names)))
    for name, column in zip(table.names, table.columns):
        if name not in names:
            raise InvalidArgument(f"no attribute {name!r}; there are {', '.join(names)}")
        matrix[:, names.index(name)] = column
    return matrix


def check_types(k: Any, min_score: Any, threads: Any = 0, **texts: Any) -> None:
    """Says which argument of a search has a wrong type."""
    for name, value in texts.items():
        if not isinstance(value, str):
            raise TypeError(f"{name} is a text, not {value!r}")
    if k is not None:
        check_integer("k", k, 1, MOST_ROWS)
    check_integer("threads", threads)
    if min_score is not None:
        try:
            float(min_score)
        except (TypeError, ValueError):
            raise TypeError(f"min_score is a number, not {min_score!r}") from None


def check_integer(name: str, value: Any, least: int = 0, most: int = (1 << 31) - 1) -> None:
    """Refuses what the library's own integers do not hold, in terms that a caller knows."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is an integer, not {value!r}") from None
    if not least <= number <= most:
        raise InvalidArgument(f"{name} is {number}; it is from {least} to {most}")
