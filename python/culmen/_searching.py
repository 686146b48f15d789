"""One search of an index, or of its copy on a GPU."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ._errors import InvalidArgument
from ._ids import any_id_of
from ._numbers import real_number
from ._progress import Progress, shown
from ._queries import KOrEach, as_matrix, by_name, check_types, in_numbers, integer, is_matrix
from ._result import BatchResult, Out, Result
from ._schema import Schema
from ._wanted import Each, have_lists, refuse_lists_of_one


def search(
    handle: Any,
    schema: Schema,
    weights: Any,
    k: KOrEach,
    rest: tuple[Any, ...],
    out: Out | None = None,
    progress: Progress | bool | None = None,
) -> Result | BatchResult:
    """The rest: where, min_score, scale, missing, terms, engine; and threads for an index."""
    if have_lists(k, *rest[:2]):
        return _search_each(handle, schema, weights, k, rest, out, progress)
    k, rest = in_numbers(k, rest)
    try:
        kind = type(weights)
        if kind is not dict and not (kind is np.ndarray and weights.ndim == 1):  # the usual ones need no conversion
            if is_matrix(weights):
                matrix = as_matrix(weights, schema.names)
                check_out(out, len(matrix), k, schema.id_type)
                with shown(progress) as report:
                    answers = handle.search_matrix(matrix, k, *rest, _as_int64(out), report)
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
    after, per = page_of(after, per, schema)
    return Result(handle.search_page(by_name(weights), k, *rest, after, per), schema)


def check_page(weights: Any, after: Any, per: Any, is_of_many: bool) -> bool:
    """Whether a page or groups are wanted. Refuses them of many queries, which other arguments may say, too."""
    if after is None and per is None:
        return False
    if is_of_many or is_matrix(weights):
        raise InvalidArgument("after and per are of one query, not of a matrix of weights")
    return True


def page_of(after: Any, per: Any, schema: Schema) -> tuple[Any, Any]:
    """As the extension takes them."""
    if after is not None:
        if not isinstance(after, (tuple, list)) or len(after) != 2:
            raise InvalidArgument("after is the (score, id) of the last row before, as Result.cursor")
        is_text = isinstance(after[1], str) or schema.has_text_ids
        number = any_id_of(after[1] if is_text else integer("the id of after", after[1]), schema.id_type)
        after = (real_number("the score of after", after[0]), number)
        if math.isnan(after[0]):
            raise InvalidArgument("the score of `after` is NaN")
    if per is not None:
        if not isinstance(per, Mapping) or len(per) != 1:
            raise InvalidArgument('per is a column and how many rows of each value: {"brand": 2}')
        [(column, most)] = per.items()
        per = (str(column), min(integer("per", most), (1 << 63) - 1))
        if per[1] < 1:
            raise InvalidArgument(f"at most {per[1]} rows per {column!r}; ask for one at least")
    return after, per


def _search_each(
    handle: Any, schema: Schema, weights: Any, k: Any, rest: tuple[Any, ...], out: Any, progress: Any
) -> BatchResult:
    """Queries of which each has a k, a filter or a min_score of its own."""
    if not is_matrix(weights):
        refuse_lists_of_one(rest[0])
    if out is not None:
        raise InvalidArgument("out takes answers that are all of one k, filter and min_score")
    matrix = as_matrix(weights, schema.names)
    where, min_score, scale, missing, terms, engine, *threads = rest
    others = (scale, missing, terms, engine, *(integer("threads", count) for count in threads))
    wanted = Each.of(k, where, min_score, others, len(matrix))
    with shown(progress) as report:
        answers = wanted.search(handle, matrix, *others, report)
        if report is not None:
            report("searching", 1.0)
    return BatchResult(answers, schema)


def _as_int64(out: Out | None) -> Out | None:
    """The same arrays: the extension writes ids of either type as int64."""
    return None if out is None else (out[0].view(np.int64), *out[1:])


def check_out(out: Any, num_queries: int, k: int | None, id_type: str) -> None:
    if out is None:
        return
    if id_type == "text":
        raise InvalidArgument("out takes ids that are integers; those of this index are texts")
    if k is None:
        raise InvalidArgument("out needs a k, by which its arrays are wide")
    if not isinstance(out, tuple) or len(out) != 3:
        raise InvalidArgument("out is three arrays: (ids, scores, counts)")
    needed: dict[str, tuple[Any, tuple[int, ...]]] = {
        "ids": (np.dtype(id_type), (num_queries, k)),
        "scores": (np.float64, (num_queries, k)),
        "counts": (np.uint32, (num_queries,)),
    }
    for array, (name, (dtype, shape)) in zip(out, needed.items(), strict=True):
        if not isinstance(array, np.ndarray) or array.dtype != dtype or array.shape != shape:
            found = f"{array.dtype} {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
            raise InvalidArgument(f"out: the {name} are a NumPy array {np.dtype(dtype)} {shape}, not {found}")
        if not (array.flags.c_contiguous and array.flags.writeable):
            raise InvalidArgument(f"out: the array of {name} is not contiguous, or read-only")
