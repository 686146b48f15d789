"""Parts of an answer, put together: the order is total, so it does not matter who answered what, and when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from . import _core
from ._ids import IdType, decoded, ids_of_texts
from ._queries import MOST_ROWS
from ._reports import SearchStats
from ._result import BatchResult, Result
from ._schema import Schema
from ._shards import Part


@dataclass(frozen=True)
class Asked:
    """A part, the shard that it is from, and the numbers of the queries that it answers."""

    shard: int
    queries: np.ndarray
    part: Part


class Merged:
    """The k best hits of all parts: of each query one after the other, best first. ks: [queries], int64."""

    def __init__(self, asked: Sequence[Asked], ks: np.ndarray) -> None:
        self.asked = asked
        self._ks = ks
        ids = [a.part.ids for a in asked]
        #: Ids that are texts, ascending; then `ids` has their positions here: numbers of two shards do not compare.
        self.texts: np.ndarray | None = None
        if any(a.part.texts is not None for a in asked):
            self.texts, ids = _positions_of_texts([a.part.texts or () for a in asked])
        parts = [(a.queries, a.part.counts, of_part, a.part.scores) for a, of_part in zip(asked, ids, strict=True)]
        #: Positions among the hits of all parts; and how many hits each query has.
        self.order, self.counts = _core.merge_parts(parts, ks)
        self.ids = _joined(ids, np.int64)[self.order]
        self.scores = _joined([a.part.scores for a in asked], np.float64)[self.order]

    def given_ids(self, id_type: IdType) -> np.ndarray:
        """As users have them."""
        return decoded(self.ids, id_type) if self.texts is None else self.texts[self.ids]

    @property
    def shards(self) -> np.ndarray:
        """Of each hit."""
        of_parts = np.repeat([a.shard for a in self.asked], [len(a.part.ids) for a in self.asked])
        return of_parts.astype(np.int64)[self.order]

    def floors(self, floors: np.ndarray) -> np.ndarray:
        """For each query the score that a row of another shard must have to be in the answer; `floors`: whatever the
        parts hold."""
        is_full = self.counts >= self._ks
        raised = floors.copy()
        raised[is_full] = self.scores[np.cumsum(self.counts)[is_full] - 1]
        return raised

    def rows(self) -> tuple[np.ndarray, list[str], list[Any]]:
        """Their columns, as the extension's RowColumns has them."""
        return selected_rows(joined_rows([a.part.rows for a in self.asked]), self.order)


class MergedGroups(Merged):
    """The k best hits of all parts of one query, at most so many for each value of a column. The parts hold their own
    k: before a row of the answer there are fewer than k rows of it, and a shard has no more of a group there than the
    answer."""

    def __init__(self, asked: Sequence[Asked], ks: np.ndarray, per: tuple[str, int], schema: Schema) -> None:
        super().__init__(asked, np.full(1, MOST_ROWS))
        values = self._values_of(per[0], schema) if len(self.ids) else []
        self._keep(_first_of_each(values, per[1])[: ks[0]])

    def num_until(self, score: float, id: int | str) -> int:
        """How many hits are at this place or before it; the id as the extension has it."""
        ids = self.ids if self.texts is None else self.texts[self.ids]
        return int(((self.scores > score) | ((self.scores == score) & (ids <= id))).sum())

    def drop(self, count: int) -> None:
        """The first ones."""
        self._keep(range(count, len(self.ids)))

    def _keep(self, positions: Sequence[int]) -> None:
        kept = np.array(positions, dtype=np.int64)
        self.order, self.ids, self.scores = self.order[kept], self.ids[kept], self.scores[kept]
        self.counts = np.full(1, len(kept))

    def _values_of(self, column: str, schema: Schema) -> list[Any]:
        """Of each hit; None where it is missing."""
        attributes, _, fields = self.rows()
        if column in schema.names:
            values = attributes[:, schema.names.index(column)]
            return _with_none(values, np.isnan(values))
        field = fields[[field.name for field in schema.fields].index(column)]
        return field if isinstance(field, list) else _with_none(*field)


def _with_none(values: np.ndarray, gaps: np.ndarray | None) -> list[Any]:
    found: list[Any] = values.tolist()
    return found if gaps is None else [None if gap else value for value, gap in zip(found, gaps, strict=True)]


def _first_of_each(values: Sequence[Any], most: int) -> list[int]:
    """The positions of the first ones with each value, at most so many."""
    counts: Counter[Any] = Counter()
    kept = []
    for position, value in enumerate(values):
        counts[value] += 1
        if counts[value] <= most:
            kept.append(position)
    return kept


def _positions_of_texts(parts: Sequence[Sequence[str]]) -> tuple[np.ndarray, list[np.ndarray]]:
    """The texts of all parts, ascending, and those of each part by their positions. Python's order of texts is that of
    their bytes in UTF-8."""
    texts, positions = np.unique(ids_of_texts([text for part in parts for text in part]), return_inverse=True)
    ends = np.cumsum([len(part) for part in parts])
    return texts, np.split(positions.astype(np.int64), ends[:-1])


def _joined(arrays: Sequence[np.ndarray], kind: Any) -> np.ndarray:
    return np.concatenate(arrays) if arrays else np.zeros(0, dtype=kind)


def joined_rows(parts: Sequence[Any]) -> tuple[np.ndarray, list[str], list[Any]]:
    """Columns of rows, one part after the other."""
    parts = [rows for rows in parts if rows[1]] or list(parts[:1])  # without rows, values have no width
    values = np.concatenate([values for values, _, _ in parts])
    labels = [label for _, labels, _ in parts for label in labels]
    return values, labels, [_joined_field(fields) for fields in zip(*(fields for _, _, fields in parts))]


def _joined_field(parts: Sequence[Any]) -> Any:
    if isinstance(parts[0], list):
        return [text for part in parts for text in part]
    gaps = None
    if any(part_gaps is not None for _, part_gaps in parts):
        gaps = np.concatenate([np.zeros(len(v), dtype=bool) if g is None else g for v, g in parts])
    return np.concatenate([values for values, _ in parts]), gaps


def no_rows(num_attributes: int, field_kinds: str) -> tuple[np.ndarray, list[str], list[Any]]:
    fields: list[Any] = [[] if kind == "t" else (np.zeros(0), None) for kind in field_kinds]
    return np.zeros((0, num_attributes)), [], fields


def selected_rows(rows: tuple[np.ndarray, list[str], list[Any]], where: np.ndarray) -> tuple[Any, ...]:
    values, labels, fields = rows
    return values[where], [labels[i] for i in where], [_selected_field(field, where) for field in fields]


def _selected_field(field: Any, where: np.ndarray) -> Any:
    if isinstance(field, list):
        return [field[i] for i in where]
    values, gaps = field
    return values[where], None if gaps is None else gaps[where]


@dataclass(frozen=True)
class Origin:
    """What an answer is an answer about."""

    schema: Schema
    versions: tuple[int, ...]
    missing_shards: tuple[int, ...]  # those that did not answer


class MergedAnswer:
    """A merged answer to one query, with the interface of the extension's Answer."""

    def __init__(self, merged: Merged, origin: Origin, elapsed: float) -> None:
        self.ids, self.scores = merged.ids, merged.scores
        self.version = sum(origin.versions)
        self._merged = merged
        self._schema = origin.schema
        self._elapsed = elapsed
        self._rows: tuple[Any, ...] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def _taken(self) -> tuple[Any, ...]:
        if self._rows is None:
            self._rows = (
                self._merged.rows()
                if self._merged.asked
                else no_rows(len(self._schema.names), self._schema.field_kinds)
            )
        return self._rows

    @property
    def labels(self) -> list[str]:
        return list(self._taken()[1])

    def attribute(self, position: int) -> np.ndarray:
        return self._taken()[0][:, position]

    def rows_at(self, ranks: np.ndarray, field_kinds: str) -> tuple[Any, ...]:
        return selected_rows(self._taken(), ranks)

    @property
    def stats(self) -> dict[str, Any]:
        return _sum([a.part.stats for a in self._merged.asked], self._elapsed)


def _sum(all_stats: Sequence[Mapping[str, Any]], elapsed: float) -> dict[str, Any]:
    """Counters are added; an engine, or a device, is named once."""
    total: dict[str, Any] = {}
    for name in SearchStats.__dataclass_fields__:
        values = [stats[name] for stats in all_stats]
        if name == "elapsed_us":
            total[name] = elapsed * 1e6
        elif name in ("engine", "device"):
            total[name] = ", ".join(dict.fromkeys(value for value in values if value)) or None
        elif name == "scan_fallback":
            total[name] = any(values)
        elif name == "by_id_map":
            total[name] = all(values)
        else:
            total[name] = sum(values)
    return total


class _OfShards:
    """What answers of a sharded index say about its shards."""

    __slots__ = ()
    _origin: Origin

    @property
    def versions(self) -> tuple[int, ...]:
        return self._origin.versions

    @property
    def missing_shards(self) -> tuple[int, ...]:
        return self._origin.missing_shards

    @property
    def is_partial(self) -> bool:
        return bool(self._origin.missing_shards)


class ShardedResult(_OfShards, Result):
    """The answer to one query of a sharded index: a Result.

    Attributes:
        versions: the version of each shard that was asked about; `version` is their sum.
        missing_shards: with allow_partial=True, the numbers of the shards that did not answer. The rows of all others
            are there.
    """

    __slots__ = ("_origin",)

    def __init__(self, answer: Any, origin: Origin) -> None:
        super().__init__(answer, origin.schema)
        self._origin = origin


#: Looks up the rows of shards: by their numbers the ids, a list of those that are texts.
Lookup = Callable[[Mapping[int, Any]], Mapping[int, Any]]


class Many:
    """Merged answers to many queries, with the interface of the extension's ManyAnswers."""

    def __init__(self, merged: Merged, origin: Origin, width: int, lookup: Lookup) -> None:
        is_row = np.arange(width) < merged.counts[:, None]
        self.ids = np.full(is_row.shape, -1, dtype=np.int64)
        self.scores = np.full(is_row.shape, -np.inf)
        self.ids[is_row] = merged.ids
        self.scores[is_row] = merged.scores
        self.counts = merged.counts.astype(np.uint32)
        self.version = sum(origin.versions)
        self.texts = merged.texts
        self.index = _Rows(merged, lookup)


class _Rows:
    """Finds the rows of an answer in the shards that they are from."""

    def __init__(self, merged: Merged, lookup: Lookup) -> None:
        self._merged = merged
        self._lookup = lookup

    @cached_property
    def _shards(self) -> tuple[np.ndarray, np.ndarray]:
        """Of each id of a hit, ascending."""
        ids, first = np.unique(self._merged.ids, return_index=True)
        return ids, self._merged.shards[first]

    def get(self, ids: np.ndarray, field_kinds: str) -> tuple[Any, ...]:
        """As the extension's Index.get; `ids` are those of hits."""
        known, shards_of_known = self._shards
        shards = shards_of_known[np.searchsorted(known, ids)]
        order = np.argsort(shards, kind="stable")
        numbers = np.unique(shards)
        texts = self._merged.texts
        given = {int(shard): ids[shards == shard] for shard in numbers}
        found = self._lookup(given if texts is None else {s: texts[these].tolist() for s, these in given.items()})
        if not len(numbers):
            return no_rows(0, field_kinds)
        rows = joined_rows([found[int(shard)] for shard in numbers])
        return selected_rows(rows, np.argsort(order, kind="stable"))


class ManyOfTexts:
    """The answers of open shards to many queries, whose ids are texts. `ids` are positions in `texts`."""

    def __init__(self, answers: _core.ManyAnswers) -> None:
        self.ids, self.scores, self.counts = answers.ids, answers.scores, answers.counts
        self.version = answers.version
        self.texts = ids_of_texts(answers.texts or [])
        self.index = self
        self._shards: Any = answers.index

    def get(self, ids: np.ndarray, field_kinds: str) -> tuple[Any, ...]:
        """As the extension's Index.get."""
        return self._shards.get_texts(self.texts[ids].tolist(), field_kinds)


class ShardedBatchResult(_OfShards, BatchResult):
    """The answers to many queries of a sharded index: a BatchResult. Rows are looked up in the shards, which fails once
    these have changed too often since.

    Attributes:
        versions, missing_shards: as of a ShardedResult.
    """

    __slots__ = ("_origin",)

    def __init__(self, many: Any, origin: Origin) -> None:
        super().__init__(many, origin.schema)
        self._origin = origin

    def _texts_of(self, numbers: np.ndarray) -> list[str]:
        many: Any = self._many  # a Many
        return [] if many.texts is None else many.texts[numbers].tolist()
