"""Answers as arrays, rows, or tables of other libraries."""

from __future__ import annotations

import html
import operator
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._reports import SearchStats

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


_SHOWN_ROWS = 20  # in notebooks


@dataclass(frozen=True)
class Row(Mapping[str, float]):
    """A row of an answer: a mapping of its attributes by name, besides its id, score and label.

    >>> row = Row(7, 9.5, {"price": 80.0, "rating": 9.0}, "Bellevue")
    >>> row["price"], row.get("stars"), dict(row)
    (80.0, None, {'price': 80.0, 'rating': 9.0})
    """

    id: int
    score: float
    attributes: Mapping[str, float]
    label: str = ""

    def __getitem__(self, name: str) -> float:
        if name not in self.attributes:
            raise KeyError(f"no attribute {name!r}; there are {', '.join(self.attributes)}")
        return self.attributes[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.attributes)

    def __len__(self) -> int:
        return len(self.attributes)

    def __hash__(self) -> int:
        return hash((self.id, self.score))

    def to_dict(self) -> dict[str, Any]:
        """`id`, `score`, `label` if there is one, and each attribute."""
        columns: dict[str, Any] = {"id": self.id, "score": self.score}
        if self.label:
            columns["label"] = self.label
        return with_attributes(columns, self.attributes.items())


class Tabular:
    """Conversions of answers, and of all rows of an index."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Columns by name."""
        raise NotImplementedError

    def to_arrow(self) -> pyarrow.Table:
        """As a pyarrow table. Needs pyarrow."""
        import pyarrow

        columns = self.to_dict()
        texts = {
            name: pyarrow.array(texts, pyarrow.string()) for name, texts in columns.items() if isinstance(texts, list)
        }
        return pyarrow.table(columns | texts)

    def to_pandas(self) -> pandas.DataFrame:
        """As a pandas DataFrame. Needs pandas."""
        import pandas

        return pandas.DataFrame(self.to_dict())

    def to_polars(self) -> polars.DataFrame:
        """As a polars DataFrame. Needs polars."""
        import polars

        columns = self.to_dict()
        texts = {name: polars.String for name, values in columns.items() if isinstance(values, list)}
        return polars.DataFrame(columns, schema_overrides=texts)


def with_attributes(columns: dict[str, Any], attributes: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Adds attributes to columns. One with the name of an existing column becomes "attribute.NAME"."""
    for name, values in attributes:
        columns[f"attribute.{name}" if name in columns else name] = values
    return columns


def _html_row(kind: str, cells: Iterable[str]) -> str:
    return "<tr>" + "".join(f"<{kind}>{html.escape(cell)}</{kind}>" for cell in cells) + "</tr>"


class Result(Tabular):
    """The answer to one query, best row first.

    It holds the version of the index that answered, so attributes and labels stay readable whatever happens to
    the index. `len(result)`, iteration over its `Row`s, and `result[rank]` work as for a sequence.

    Attributes:
        ids: int64 [n], the ids of the rows.
        scores: float64 [n], in the same order; equal scores go to the smaller id.
        counts: n.
        version: the version of the index that was searched.
    """

    __slots__ = ("_answer", "_names", "_rows")

    def __init__(self, answer: _core.Answer | _AnswerOfMany, names: tuple[str, ...]) -> None:
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
        """What the search did. The answers of a BatchResult have none: AttributeError."""
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
            self._rows = self._first(len(self))
        return self._rows

    def _first(self, count: int) -> list[Row]:
        values, labels = self._answer.rows_at(np.arange(min(count, len(self))))
        return [
            Row(id, score, dict(zip(self._names, of_row)), label)
            for id, score, of_row, label in zip(self.ids.tolist(), self.scores.tolist(), values.tolist(), labels)
        ]

    def to_dict(self) -> dict[str, Any]:
        """`id`, `score`, `label` if the index has labels, and each attribute, as columns [n]."""
        return self._columns(len(self))

    def _columns(self, count: int) -> dict[str, Any]:
        """The columns of the first rows."""
        ranks = np.arange(min(count, len(self)))
        values, labels = self._answer.rows_at(ranks)
        columns: dict[str, Any] = {"id": self.ids[ranks], "score": self.scores[ranks]}
        if self._answer.has_labels:
            columns["label"] = labels
        return with_attributes(columns, zip(self._names, values.reshape(len(ranks), len(self._names)).T))

    def __repr__(self) -> str:
        shown = ", ".join(f"{row.label or row.id}: {row.score:.6g}" for row in self._first(5))
        return f"<culmen.Result: {len(self)} rows{'; ' if shown else ''}{shown}{', ...' if len(self) > 5 else ''}>"

    def _repr_html_(self) -> str:
        """A small table, for notebooks."""
        columns = self._columns(_SHOWN_ROWS)
        lines = [_html_row("th", columns)]
        for row in zip(*columns.values()):
            lines.append(_html_row("td", (f"{cell:.10g}" if isinstance(cell, float) else str(cell) for cell in row)))
        more = f"<p>{len(self) - _SHOWN_ROWS} more rows</p>" if len(self) > _SHOWN_ROWS else ""
        return "<table>" + "\n".join(lines) + "</table>" + more


class BatchResult(Tabular):
    """The answers to many queries that differ in their weights.

    `len(batch)`, iteration, and `batch[q]` work as for a sequence of one Result per query. The first access to
    attributes or labels looks up those of all answers.

    >>> import culmen
    >>> index = culmen.Index.build({"price": [80, 120], "rating": [7, 9]}, label=["Bellevue", "Miramar"])
    >>> batch = index.search([[-1, 0], [0, 1]], k=1)
    >>> [row.label for result in batch for row in result]
    ['Bellevue', 'Miramar']

    Attributes:
        ids: int64 [q, k], best first, -1 after the last row of an answer. The arrays are read-only.
        scores: float64 [q, k] in the same order, -infinity after the last row.
        counts: uint32 [q], rows of each answer.
        version: the version of the index that was searched.
    """

    __slots__ = ("_many", "_names", "_found", "ids", "scores", "counts")

    def __init__(self, many: _core.ManyAnswers, names: tuple[str, ...]) -> None:
        self._many = many
        self._names = names
        self.ids: np.ndarray = many.ids.view(np.int64)
        self.scores: np.ndarray = many.scores
        self.counts: np.ndarray = many.counts
        for array in (self.ids, self.scores, self.counts):
            array.flags.writeable = False  # lookups rely on them
        self._found: _Found | None = None

    @property
    def version(self) -> int:
        return self._many.version

    @property
    def labels(self) -> list[list[str]]:
        """[q][k]; empty texts after the last row, and where the index has no labels."""
        is_row = self._is_row()
        labels = iter(self._lookup().rows(self.ids[is_row])[1])
        return [[next(labels) if there else "" for there in of_answer] for of_answer in is_row.tolist()]

    def __len__(self) -> int:
        return len(self.counts)

    def __iter__(self) -> Iterator[Result]:
        return (self[q] for q in range(len(self)))

    def __getitem__(self, q: int) -> Result:
        number = operator.index(q)
        if not -len(self) <= number < len(self):
            raise IndexError(f"no answer {number}; there are {len(self)}")
        return Result(_AnswerOfMany(self, number % len(self)), self._names)

    def _is_row(self) -> np.ndarray:
        """bool [q, k]; not by the ids, since a row may have the id -1."""
        return np.arange(self.ids.shape[1]) < self.counts[:, None]

    def _lookup(self) -> _Found:
        if self._found is None:
            self._found = _Found(self._many.index, np.unique(self.ids[self._is_row()]), len(self._names))
        return self._found

    def to_dict(self) -> dict[str, Any]:
        """`query`, `rank` (both from 0), `id`, `score`, `label` if the index has labels, and each attribute."""
        query, rank = np.nonzero(self._is_row())
        ids = self.ids[query, rank]
        columns: dict[str, Any] = {"query": query, "rank": rank, "id": ids, "score": self.scores[query, rank]}
        values, labels = self._lookup().rows(ids)
        if self._lookup().has_labels:
            columns["label"] = labels
        return with_attributes(columns, zip(self._names, values.T))

    def __repr__(self) -> str:
        return f"<culmen.BatchResult: {self.ids.shape[0]} answers of up to {self.ids.shape[1]} rows>"


class _Found:
    """Attributes and labels of the rows of many answers, from one lookup, which reads the ids of the whole index."""

    def __init__(self, index: _core.Index, ids: np.ndarray, width: int) -> None:
        rows = index.get(ids)
        self._ids = ids
        self._values = np.array([row[1] for row in rows]).reshape(len(rows), width)
        self._labels = [row[2] for row in rows]
        self.has_labels = index.info()["has_labels"]

    def rows(self, ids: np.ndarray) -> tuple[np.ndarray, list[str]]:
        where = np.searchsorted(self._ids, ids)
        return self._values[where], [self._labels[i] for i in where]


class _AnswerOfMany:
    """One answer of a BatchResult, with the interface of the extension's Answer."""

    def __init__(self, batch: BatchResult, q: int) -> None:
        self._batch = batch
        self._q = q
        self._count = int(batch.counts[q])

    def __len__(self) -> int:
        return self._count

    @property
    def ids(self) -> np.ndarray:
        return self._batch.ids[self._q, : self._count].copy()

    @property
    def scores(self) -> np.ndarray:
        return self._batch.scores[self._q, : self._count].copy()

    @property
    def values(self) -> np.ndarray:
        return self._batch._lookup().rows(self.ids)[0]

    @property
    def labels(self) -> list[str]:
        return self._batch._lookup().rows(self.ids)[1]

    @property
    def has_labels(self) -> bool:
        return self._batch._lookup().has_labels

    def rows_at(self, ranks: np.ndarray) -> tuple[np.ndarray, list[str]]:
        return self._batch._lookup().rows(self.ids[ranks])

    @property
    def version(self) -> int:
        return self._batch.version

    @property
    def stats(self) -> dict[str, Any]:
        raise AttributeError("the answers to a matrix are not measured one by one: they have no stats")
