"""One call of a sharded index's search: which shards it asks, in how many rounds, and what they answer together."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from . import _core
from ._errors import InvalidArgument
from ._merging import (
    Asked,
    Many,
    ManyOfTexts,
    Merged,
    MergedAnswer,
    MergedGroups,
    Origin,
    ShardedBatchResult,
    ShardedResult,
)
from ._progress import Progress
from ._queries import MOST_ROWS, as_matrix, by_name, check_types, in_numbers, integer, is_matrix
from ._rounds import Rounds
from ._schema import Schema
from ._searching import page_of
from ._shards import Stale, part_of
from ._view import View
from ._wanted import Each, Shared, Wanted, have_lists, refuse_lists_of_one

#: Parts of many queries that are under way at the same time, and how many queries they have.
_PARTS = 3
_FEWEST_QUERIES = 2048
_MOST_QUERIES = 16384

#: `after` and `per`, as the extension takes them.
Page = tuple[Any, Any]

#: Looks up rows in shards of a view: the ids by shard.
RowsOf = Callable[[View, Mapping[int, Any]], Mapping[int, Any]]


class Question:
    """One query or many, which may be asked of several views until all shards have the versions of one."""

    def __init__(
        self,
        weights: Any,
        k: Any,
        rest: tuple[Any, ...],
        rounds: Rounds,
        rows_of: RowsOf,
        allow_partial: bool,
        timeout: float | None,
        report: Progress | None = None,
        after: Any = None,
        per: Any = None,
    ) -> None:
        self._is_one = not is_matrix(weights)
        self._has_lists = have_lists(k, *rest[:2])
        if self._is_one and self._has_lists:
            refuse_lists_of_one(rest[0])
        if self._has_lists:
            rest = (*rest[:6], integer("threads", rest[6]))
        else:
            k, rest = in_numbers(k, rest)
            check_types(k, *rest)
        self._weights = by_name(weights) if self._is_one else weights
        self._k, self._where, self._min_score = k, *rest[:2]
        self._scale, self._missing, self._terms, self._searcher, self._threads = self._others = rest[2:]
        self._rounds = rounds
        self._rows_of = rows_of
        self._allow_partial = allow_partial
        self._timeout = timeout
        self._report = report
        self._after, self._per = after, per

    def answered(self, view: View) -> ShardedResult | ShardedBatchResult:
        page = page_of(self._after, self._per, view.schema)
        if self._timeout is None and view.open_shards is not None:
            return self._answered_here(view, view.open_shards, page)
        start = time.perf_counter()
        deadline = None if self._timeout is None else time.monotonic() + self._timeout
        matrix = self._matrix(view)
        wanted = self._wanted(len(matrix), page)
        statistics = view.statistics_for(self._scale, self._timeout)
        lost: set[int] = set()

        def ask(wanted: Wanted) -> list[Asked]:
            return self._asked_in_parts(view, statistics, matrix, wanted, lost, deadline)

        try:
            merged = self._merged(ask, wanted, page, view.schema)
        except InvalidArgument:
            if not self._is_one:
                wanted.throw_refusal(view.names, statistics, matrix, self._others[:3])
            raise
        origin = Origin(view.schema, view.numbers, tuple(sorted(lost)))
        if self._is_one:
            return ShardedResult(MergedAnswer(merged, origin, time.perf_counter() - start), origin)
        width = wanted.width(view.num_rows, merged.counts)
        return ShardedBatchResult(Many(merged, origin, width, lambda ids: self._rows_of(view, ids)), origin)

    def _merged(self, ask: Callable[[Wanted], list[Asked]], wanted: Wanted, page: Page, schema: Schema) -> Merged:
        after, per = page
        if per is None:
            return Merged(ask(wanted), wanted.ks())
        if after is None:
            return MergedGroups(ask(wanted), wanted.ks(), per, schema)
        return self._page_of_groups(ask, after, per, schema)

    def _page_of_groups(self, ask: Callable[[Wanted], list[Asked]], after: Any, per: Any, schema: Schema) -> Merged:
        """Rows of earlier pages count towards their groups, and only those of all shards together tell which groups are
        full. So a page is cut from a longer answer, which begins with the first row of all. Those that score as much
        as the cursor say how many rows come before the page."""

        def groups(k: int | None, min_score: float | None) -> MergedGroups:
            wanted = Shared(k, self._where, min_score, 1, (None, per))
            return MergedGroups(ask(wanted), wanted.ks(), per, schema)

        k = self._k
        if k is not None:
            least = after[0] if self._min_score is None else max(after[0], self._min_score)
            k = min(k + groups(None, least).num_until(*after), MOST_ROWS)
        merged = groups(k, self._min_score)
        merged.drop(merged.num_until(*after))
        return merged

    def _answered_here(self, view: View, shards: _core.OpenShards, page: Page) -> ShardedResult | ShardedBatchResult:
        origin = Origin(view.schema, view.numbers, ())
        if self._is_one:
            rest: tuple[Any, ...] = (*self._others, *page)
            answer = shards.search(self._weights, self._k, self._where, self._min_score, *rest)
            return ShardedResult(answer, origin)
        matrix = as_matrix(self._weights, view.schema.names)
        answers = self._wanted(len(matrix), page).search(shards, matrix, *self._others, self._report)
        return ShardedBatchResult(ManyOfTexts(answers) if view.schema.has_text_ids else answers, origin)

    def _wanted(self, num_queries: int, page: Page) -> Wanted:
        if self._has_lists:
            return Each.of(self._k, self._where, self._min_score, self._others, num_queries)
        return Shared(self._k, self._where, self._min_score, num_queries, page)

    def _matrix(self, view: View) -> np.ndarray:
        """Refuses what any shard would refuse, with the number of the query."""
        if self._is_one:
            return _matrix_of_one(self._weights, view)
        num_attributes = len(view.schema.names)
        matrix = as_matrix(self._weights, view.schema.names)
        if matrix.shape[1] != num_attributes:
            raise InvalidArgument(
                f"the matrix of weights has {matrix.shape[1]} columns for {num_attributes} attributes"
            )
        is_refused = ~np.isfinite(matrix).all(axis=1) | (~matrix.any(axis=1) & (self._terms == ""))
        if is_refused.any():
            raise InvalidArgument(f"query {is_refused.argmax()}: weights are finite, and not all of them are 0")
        return matrix

    def _asked_in_parts(
        self,
        view: View,
        statistics: bytes,
        matrix: np.ndarray,
        wanted: Wanted,
        lost: set[int],
        deadline: float | None,
    ) -> list[Asked]:
        """Parts of many queries, so that shards are at work on one of them while another is on its way."""
        num_parts = max(1, min(_PARTS, len(matrix) // _FEWEST_QUERIES), -(-len(matrix) // _MOST_QUERIES))
        firsts = [len(matrix) * part // num_parts for part in range(num_parts + 1)]
        is_over = threading.Event()

        def ask(part: int) -> list[Asked]:
            first, end = firsts[part], firsts[part + 1]
            of_part = _Part(matrix[first:end], wanted.part(first, end), first, statistics, is_over)
            asked = self._asked(view, of_part, lost, deadline, calls_overlap=num_parts > 1)
            return [replace(a, queries=a.queries + first) for a in asked]

        if num_parts == 1:
            return ask(0)
        pool = ThreadPoolExecutor(_PARTS, thread_name_prefix="culmen")
        try:
            asked = []
            for part, of_part in enumerate(pool.map(ask, range(num_parts))):
                asked += of_part
                if self._report is not None:
                    self._report("searching", firsts[part + 1] / len(matrix))
            return asked
        finally:  # after an error, as Ctrl-C, parts that are under way end with the round that they are in
            is_over.set()
            pool.shutdown(wait=False, cancel_futures=True)

    def _asked(
        self, view: View, part: _Part, lost: set[int], deadline: float | None, calls_overlap: bool
    ) -> list[Asked]:
        """In one round or in two."""
        bounds = view.bounds(part.matrix, self._scale, self._missing, part.statistics)
        if self._terms:
            bounds = np.where(bounds == -np.inf, bounds, np.inf)  # what terms add is known to the shards alone
        floors = part.wanted.floors()
        best = _most_promising(bounds)
        may_answer = bounds >= floors
        may_answer[best, np.arange(len(best))] = True  # somebody has to refuse what is wrong with the query
        if not self._rounds.are_two(len(part.matrix), view.engine, calls_overlap, deadline):
            return self._round(view, part, may_answer, floors, lost, deadline, is_second=False)
        is_first = np.arange(len(bounds))[:, None] == best
        asked = self._round(view, part, is_first, floors, lost, deadline, is_second=False)
        if part.is_over.is_set():
            return []
        floors = Merged(asked, part.wanted.ks()).floors(floors)
        others = may_answer & ~is_first & (bounds >= floors)
        return asked + self._round(view, part, others, floors, lost, deadline, is_second=True)

    def _round(
        self,
        view: View,
        part: _Part,
        is_asked: np.ndarray,
        floors: np.ndarray,
        lost: set[int],
        deadline: float | None,
        is_second: bool,
    ) -> list[Asked]:
        """One message to each shard that is asked at all."""
        kinds = view.schema.field_kinds if self._is_one else None
        queries = {s: np.flatnonzero(is_asked[s]) for s in range(len(is_asked)) if is_asked[s].any()}
        numbers = list(queries.values())
        messages = part.wanted.messages(view.names, part.matrix, floors, self._others[:3], numbers, part.first)
        threads = self._threads or view.engine.threads
        requests = {
            s: ("search", view.versions[s], message, part.statistics, self._searcher, threads, kinds)
            for s, message in zip(queries, messages)
        }
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        asked = []
        for shard, answer in sorted(view.engine.ask(requests, left).items()):
            try:
                asked.append(Asked(shard, queries[shard], part_of(answer, view.versions[shard])))
            except Exception as error:
                self._check(error)
                lost.add(shard)
        self._rounds.learn([(len(a.queries), a.part.elapsed) for a in asked], is_second)
        return asked

    def _check(self, error: Exception) -> None:
        """Raises it unless the answer may do without the shard."""
        if isinstance(error, (Stale, InvalidArgument)) or not self._allow_partial:
            raise error


class RowsQuery:
    """A query about the place of a row, or of a score, in the order of all rows."""

    def __init__(self, weights: Any, where: Any, scale: str, missing: str, terms: str) -> None:
        check_types(1, where, None, scale, missing, terms, "auto")
        self._weights = by_name(weights)
        self._where = where
        self._scale, self._missing, self._terms = scale, missing, terms

    def message(self, view: View) -> tuple[bytes, bytes]:
        """For each shard: the query, and the statistics of all rows."""
        wanted = Shared(1, self._where, None, 1)
        others = (self._scale, self._missing, self._terms)
        matrix = _matrix_of_one(self._weights, view)
        [query] = wanted.messages(view.names, matrix, wanted.floors(), others, [np.arange(1)], 0)
        return query, view.statistics_for(self._scale)


def _matrix_of_one(weights: Any, view: View) -> np.ndarray:
    matrix = _core.weights_of(view.names, weights)[None, :]
    if matrix.shape[1] != len(view.schema.names):
        raise InvalidArgument(f"{matrix.shape[1]} weights for {len(view.schema.names)} attributes")
    return matrix


@dataclass(frozen=True)
class _Part:
    """Some of many queries."""

    matrix: np.ndarray
    wanted: Wanted
    first: int  # the number of the first one
    statistics: bytes  # of all rows, for the scale
    is_over: threading.Event  # nobody waits for their answers any more


def _most_promising(bounds: np.ndarray) -> np.ndarray:
    """For each query a shard with about the highest bound; not the same one for all queries if several have it."""
    highest = bounds.max(axis=0)
    with np.errstate(invalid="ignore"):  # bounds may be infinite
        is_near = (bounds >= highest - 0.02 * np.abs(highest)) | (bounds == highest)
    turn = np.arange(bounds.shape[1]) % is_near.sum(axis=0)
    return (np.cumsum(is_near, axis=0) > turn).argmax(axis=0)
