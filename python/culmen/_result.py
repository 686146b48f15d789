"""Answers: arrays, rows one by one, or a table of another library."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._reports import SearchStats

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


@dataclass(frozen=True)
class Row:
    """A row of an answer. `row["price"]` is one of its attributes."""

    id: int
    score: float
    attributes: Mapping[str, float]
    label: str = ""

    def __getitem__(self, name: str) -> float:
        if name not in self.attributes:
            raise KeyError(f"no attribute {name!r}; there are {', '.join(self.attributes)}")
        return self.attributes[name]

    def __hash__(self) -> int:
        return hash((self.id, self.score))

    def to_dict(self) -> dict[str, Any]:
        """`id`, `score`, `label` if there is one, and each attribute."""
        columns: dict[str, Any] = {"id": self.id, "score": self.score}
        if self.label:
            columns["label"] = self.label
        for name, value in self.attributes.items():
            columns[f"attribute.{name}" if name in columns else name] = value
        return columns


class _Tabular:
    """What both kinds of answers can be turned into."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Columns by name, best row first."""
        raise NotImplementedError

    def to_arrow(self) -> pyarrow.Table:
        """As a pyarrow table. Needs pyarrow."""
        import pyarrow

        return pyarrow.table(self.to_dict())

    def to_pandas(self) -> pandas.DataFrame:
        """As a pandas DataFrame. Needs pandas."""
        import pandas

        return pandas.DataFrame(self.to_dict())

    def to_polars(self) -> polars.DataFrame:
        """As a polars DataFrame. Needs polars."""
        import polars

        return polars.DataFrame(self.to_dict())


def _with_attributes(columns: dict[str, Any], names: tuple[str, ...], values: np.ndarray) -> dict[str, Any]:
    """An attribute called like a column that is there already stands as "attribute.NAME"."""
    for i, name in enumerate(names):
        columns[f"attribute.{name}" if name in columns else name] = values[:, i]
    return columns


class Result(_Tabular):
    """The answer to one question, best row first.

    It keeps the version of the index that answered, so attributes and labels stay readable whatever happens to
    the index. `len(result)`, iteration over its `Row`s, and `result[rank]` work as for a sequence.

    Attributes:
        ids: int64 [n], the ids of the rows.
        scores: float64 [n], in the same order; equal scores go to the smaller id.
        counts: n.
        version: the version of the index that was searched.
        stats: what the search did.
    """

    __slots__ = ("_answer", "_names", "_rows")

    def __init__(self, answer: _core.Answer, names: tuple[str, ...]) -> None:
        self._answer = answer
        self._names = names
        self._rows: list[Row] | None = None

    @property
    def ids(self) -> np.ndarray:
        return self._answer.ids.view(np.int64)

    @property
    def scores(self) -> np.ndarray:
        return self._answer.scores

    @property
    def counts(self) -> int:
        return len(self._answer)

    @property
    def labels(self) -> list[str]:
        """[n]; empty texts where the index has no labels."""
        return self._answer.labels

    @property
    def version(self) -> int:
        return self._answer.version

    @property
    def stats(self) -> SearchStats:
        return SearchStats(**self._answer.stats)

    def attribute(self, name: str) -> np.ndarray:
        """One attribute of all rows, float64 [n]. Raises KeyError for an unknown name."""
        if name not in self._names:
            raise KeyError(f"no attribute {name!r}; there are {', '.join(self._names)}")
        if len(self) == 0:
            return np.empty(0)
        return self._answer.values[:, self._names.index(name)]

    def __len__(self) -> int:
        return len(self._answer)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._all())

    def __getitem__(self, rank: int) -> Row:
        return self._all()[rank]

    def _all(self) -> list[Row]:
        if self._rows is None:
            answer = self._answer
            self._rows = [
                Row(id, score, dict(zip(self._names, values)), label)
                for id, score, values, label in zip(
                    answer.ids.tolist(), answer.scores.tolist(), answer.values.tolist(), answer.labels
                )
            ]
        return self._rows

    def to_dict(self) -> dict[str, Any]:
        """`id`, `score`, `label` if there are labels, and each attribute, as columns [n]."""
        columns: dict[str, Any] = {"id": self.ids, "score": self.scores}
        labels = self.labels
        if any(labels):
            columns["label"] = labels
        values = self._answer.values if len(self) else np.empty((0, len(self._names)))
        return _with_attributes(columns, self._names, values)

    def __repr__(self) -> str:
        shown = ", ".join(f"{row.label or row.id}: {row.score:.6g}" for row in self._all()[:5])
        return f"<culmen.Result: {len(self)} rows{'; ' if shown else ''}{shown}{', ...' if len(self) > 5 else ''}>"


class BatchResult(_Tabular):
    """The answers to many questions that differ in their weights.

    Attributes:
        ids: int64 [q, k], best first, -1 after the last row of an answer.
        scores: float64 [q, k] in the same order, -infinity after the last row.
        counts: uint32 [q], rows of each answer.
        version: the version of the index that was searched.
    """

    __slots__ = ("_many", "_names", "ids", "scores", "counts")

    def __init__(self, many: _core.ManyAnswers, names: tuple[str, ...]) -> None:
        self._many = many
        self._names = names
        self.ids: np.ndarray = many.ids.view(np.int64)
        self.scores: np.ndarray = many.scores
        self.counts: np.ndarray = many.counts

    @property
    def version(self) -> int:
        return self._many.version

    def __len__(self) -> int:
        return len(self.counts)

    def to_dict(self) -> dict[str, Any]:
        """`query`, `rank` (both from 0), `id`, `score`, `label` if there are labels, and each attribute."""
        query, rank = np.nonzero(np.arange(self.ids.shape[1]) < self.counts[:, None])
        ids = self.ids[query, rank]
        columns: dict[str, Any] = {"query": query, "rank": rank, "id": ids, "score": self.scores[query, rank]}
        unique, where = np.unique(ids, return_inverse=True)
        rows = self._many.index.get(unique)
        labels = [row[2] for row in rows]
        if any(labels):
            columns["label"] = [labels[i] for i in where]
        values = np.array([row[1] for row in rows]).reshape(len(rows), len(self._names))
        return _with_attributes(columns, self._names, values[where])

    def __repr__(self) -> str:
        return f"<culmen.BatchResult: {self.ids.shape[0]} answers of up to {self.ids.shape[1]} rows>"
