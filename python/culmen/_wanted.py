"""What the queries of a matrix ask for: a k, a filter and a min_score that all share, or that each has."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _core
from ._errors import InvalidArgument
from ._queries import MOST_ROWS, check_types, in_numbers, is_each


class Shared:
    """One of each for all queries, already in Python's own numbers."""

    def __init__(
        self, k: int | None, where: Any, min_score: float | None, num_queries: int, page: tuple[Any, Any] = (None, None)
    ) -> None:
        self._k, self._where, self._min_score = k, where, min_score
        self._num_queries = num_queries
        self._page = page  # of one query: `after` and `per`, as the extension takes them

    def ks(self) -> np.ndarray:
        """Of each query; MOST_ROWS for all rows."""
        return np.full(self._num_queries, MOST_ROWS if self._k is None else self._k, dtype=np.int64)

    def floors(self) -> np.ndarray:
        """The score that a row of each query must have."""
        return np.full(self._num_queries, -np.inf if self._min_score is None else self._min_score)

    def part(self, first: int, end: int) -> Shared:
        return Shared(self._k, self._where, self._min_score, end - first, self._page)

    def width(self, num_rows: int, counts: np.ndarray) -> int:
        """Of the arrays of answers."""
        return int(counts.max(initial=0)) if self._k is None else min(self._k, num_rows)

    def search(self, handle: Any, matrix: np.ndarray, *rest: Any) -> Any:
        return handle.search_matrix(matrix, self._k, self._where, self._min_score, *rest)

    def messages(
        self, names: _core.Index, matrix: np.ndarray, floors: np.ndarray, rest: Any, numbers: Any, first: int
    ) -> list[bytes]:
        """For shards; `numbers` are those of the queries that each is asked. rest: scale, missing, terms. first: the
        number of the matrix's first query among all."""
        scale, missing, terms = rest
        return _core.queries_messages(
            names, matrix, self._k, self._where, floors, scale, missing, terms, numbers, *self._page
        )

    def throw_refusal(self, names: _core.Index, statistics: bytes, matrix: np.ndarray, rest: Any) -> None:
        """Raises what is wrong with the first query that a shard refuses, with its number."""
        _core.throw_refusal(names, statistics, matrix, self._k, self._where, self._min_score, *rest)


class Each:
    """Lists with one for each query, as the extension takes them."""

    def __init__(self, ks: list[int | None], wheres: list[Any], min_scores: list[float | None]) -> None:
        self._ks, self._wheres, self._min_scores = ks, wheres, min_scores

    @classmethod
    def of(cls, k: Any, where: Any, min_score: Any, rest: tuple[Any, ...], num_queries: int) -> Each:
        """rest: scale, missing, terms, engine and perhaps threads. Errors of a list name the query."""
        shared = in_numbers(None if is_each(k) else k, (None, None if is_each(min_score) else min_score, *rest))
        check_types(shared[0], *shared[1])
        numbers = [
            _of_query(query, *of_query, rest)
            for query, of_query in enumerate(
                zip(
                    _one_each("values of k", k, num_queries),
                    _one_each("values of min_score", min_score, num_queries),
                    strict=True,
                )
            )
        ]
        wheres = _one_each("filters", where, num_queries)
        return cls([number for number, _ in numbers], wheres, [least for _, least in numbers])

    def ks(self) -> np.ndarray:
        return np.array([MOST_ROWS if k is None else k for k in self._ks], dtype=np.int64)

    def floors(self) -> np.ndarray:
        return np.array([-np.inf if least is None else least for least in self._min_scores], dtype=np.float64)

    def part(self, first: int, end: int) -> Each:
        return Each(self._ks[first:end], self._wheres[first:end], self._min_scores[first:end])

    def width(self, num_rows: int, counts: np.ndarray) -> int:
        return int(counts.max(initial=0))

    def search(self, handle: Any, matrix: np.ndarray, *rest: Any) -> Any:
        return handle.search_each(matrix, self._ks, self._wheres, self._min_scores, *rest)

    def messages(
        self, names: _core.Index, matrix: np.ndarray, floors: np.ndarray, rest: Any, numbers: Any, first: int
    ) -> list[bytes]:
        scale, missing, terms = rest
        ks, wheres = self._ks, self._wheres
        return _core.each_messages(names, matrix, ks, wheres, floors, scale, missing, terms, numbers, first)

    def throw_refusal(self, names: _core.Index, statistics: bytes, matrix: np.ndarray, rest: Any) -> None:
        _core.throw_refusal_of_each(names, statistics, matrix, self._ks, self._wheres, self._min_scores, *rest)


Wanted = Shared | Each


def have_lists(k: Any, where: Any, min_score: Any) -> bool:
    return is_each(k) or is_each(where) or is_each(min_score)


def refuse_lists_of_one(where: Any) -> None:
    advice = "; where=culmen.ids(...) chooses rows by their ids" if is_each(where) else ""
    raise InvalidArgument(
        f"a k, a filter or a min_score for each query is for a matrix of weights; these are of one query{advice}"
    )


def _of_query(query: int, k: Any, min_score: Any, rest: tuple[Any, ...]) -> tuple[int | None, float | None]:
    try:
        k, (_, min_score, *_) = in_numbers(k, (None, min_score, *rest))
        check_types(k, None, min_score, *rest)
    except (InvalidArgument, TypeError) as error:
        if type(error) not in (InvalidArgument, TypeError):
            raise
        raise type(error)(f"query {query}: {error}") from None
    return k, min_score


def _one_each(name: str, given: Any, count: int) -> list[Any]:
    if not is_each(given):
        return [given] * count
    values = list(given)
    if len(values) != count:
        raise InvalidArgument(f"{len(values)} {name} for {count} queries")
    return values
