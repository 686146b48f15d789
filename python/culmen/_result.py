"""Answers as arrays, rows, or tables of other libraries."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from . import _core, _html
from ._ids import TOP_BIT, decoded, encoded, ids_of_texts
from ._reports import SearchStats
from ._schema import Schema, renamed
from ._values import FLOAT, INT, TEXT, Values, columns_of_rows, named_rows, rows_of

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


@dataclass(frozen=True)
class Row(Mapping[str, Any]):
    """A row of an answer: a mapping of its columns by name, besides its id, score and label. Values are int, float,
    bool, str, datetime.date or datetime.datetime (pandas.Timestamp for nanoseconds), and None where there is none.

    >>> row = Row(7, 9.5, {"price": 80.0, "brand": "Sony"}, "Bellevue")
    >>> row["price"], row.get("stars"), dict(row)
    (80.0, None, {'price': 80.0, 'brand': 'Sony'})
    """

    id: int | str
    score: float
    columns: Mapping[str, Any]
    label: str = ""

    def __getitem__(self, name: str) -> Any:
        if name not in self.columns:
            raise KeyError(
                f"no column {name!r}; there are {', '.join(self.columns)}, and the row has id, score and label"
            )
        return self.columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __hash__(self) -> int:
        return hash((self.id, self.score))

    def to_dict(self) -> dict[str, Any]:
        """`id`, `score`, `label` if there is one, and each column."""
        columns: dict[str, Any] = {"id": self.id, "score": self.score}
        if self.label:
            columns["label"] = self.label
        return with_columns(columns, self.columns.items())


class Tabular:
    """Conversions of answers, and of all rows of an index."""

    __slots__ = ()

    def _columns(self) -> dict[str, Values]:
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Columns by name: NumPy arrays, of texts lists. Missing numbers are NaN or, of integers and booleans, masked;
        missing dates and timestamps NaT, missing texts None. Timestamps are in UTC; their zone, which NumPy does not
        have, is in the other tables."""
        return {name: values.to_numpy() for name, values in self._columns().items()}

    def to_arrow(self) -> pyarrow.Table:
        """As a pyarrow table. Needs pyarrow."""
        import pyarrow

        return pyarrow.table({name: values.to_arrow() for name, values in self._columns().items()})

    def to_pandas(self) -> pandas.DataFrame:
        """As a pandas DataFrame. Needs pandas."""
        import pandas

        return pandas.DataFrame({name: values.to_pandas() for name, values in self._columns().items()})

    def to_polars(self) -> polars.DataFrame:
        """As a polars DataFrame. Needs polars. Times in a zone that is an offset, as +02:00, which polars does not
        have, are in UTC."""
        import polars

        return polars.DataFrame({name: values.to_polars() for name, values in self._columns().items()})

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The same as an Arrow stream, which polars, DuckDB, pyarrow and pandas.DataFrame.from_arrow take. Needs
        pyarrow."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        """Refused: pandas.DataFrame(result) would come here, and lose ids and scores."""
        raise TypeError(f"a culmen.{type(self).__name__} is no array: to_pandas() and to_dict() have its columns")


T = TypeVar("T")

#: Arrays for answers to a matrix of weights: ids, scores and counts, as those of a BatchResult.
Out = tuple[np.ndarray, np.ndarray, np.ndarray]


def with_columns(columns: dict[str, T], others: Iterable[tuple[str, T]]) -> dict[str, T]:
    """Adds attributes and fields. One with the name of an existing column becomes "attribute.NAME"."""
    for name, values in others:
        columns[renamed(name) if name in columns else name] = values
    return columns


class Result(Tabular):
    """The answer to one query, best row first.

    It holds the version of the index that answered, so attributes and labels stay readable whatever happens to
    the index. `len(result)`, iteration over its `Row`s, and `result[rank]` work as for a sequence.
    """

    __slots__ = ("_answer", "_schema", "_rows")

    def __init__(self, answer: _core.Answer | _AnswerOfMany, schema: Schema) -> None:
        self._answer = answer
        self._schema = schema
        self._rows: list[Row] | None = None

    @property
    def ids(self) -> np.ndarray:
        """int64 [n], the ids of the rows; uint64, or objects that are str, where the index has such ids."""
        if self._schema.has_text_ids:
            return ids_of_texts(self._answer.labels)
        return decoded(self._answer.ids, self._schema.id_type)

    @property
    def scores(self) -> np.ndarray:
        """float64 [n], in the same order; equal scores go to the smaller id."""
        return self._answer.scores

    @property
    def counts(self) -> int:
        """n."""
        return len(self._answer)

    @property
    def labels(self) -> list[str]:
        """[n]; empty texts where the index has no labels."""
        return [""] * len(self) if self._schema.has_text_ids else self._answer.labels

    @property
    def version(self) -> int:
        """Of the index that was searched."""
        return self._answer.version

    @property
    def stats(self) -> SearchStats:
        """What the search did. The answers of a BatchResult have none: AttributeError."""
        return SearchStats(**self._answer.stats)

    @property
    def cursor(self) -> tuple[float, int | str] | None:
        """(score, id) of the last row, for search(..., after=cursor): the next page. None without rows."""
        if not len(self):
            return None
        return float(self.scores[-1]), self.ids[-1] if self._schema.has_text_ids else int(self.ids[-1])

    def attribute(self, name: str) -> np.ndarray:
        """One attribute of all rows, float64 [n], with NaN where it is missing. Raises KeyError for an unknown name."""
        if name not in self._schema.names:
            raise KeyError(f"no attribute {name!r}; there are {', '.join(self._schema.names)}")
        return self._answer.attribute(self._schema.names.index(name))

    def __len__(self) -> int:
        return len(self._answer)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._all())

    @overload
    def __getitem__(self, rank: int) -> Row: ...

    @overload
    def __getitem__(self, rank: str) -> Any: ...

    def __getitem__(self, rank: int | str) -> Any:
        """A row by its place, or a column by its name, as to_dict has it."""
        if isinstance(rank, str):
            return self._column(rank)
        return self._all()[rank]

    def _column(self, name: str) -> Any:
        columns = self._columns()
        if name not in columns:  # ids and labels may have names of their own
            own = {self._schema.id_column: "id", self._schema.label_column: "label"}
            name = own.get(name, name)
        if name not in columns:
            names = list(columns)
            raise KeyError(f"no column {name!r}{_core.did_you_mean(name, names)}; there are {', '.join(names)}")
        return columns[name].to_numpy()

    def _all(self) -> list[Row]:
        if self._rows is None:
            self._rows = self._first(len(self))
        return self._rows

    def _first(self, count: int) -> list[Row]:
        taken = self._rows_at(min(count, len(self)))
        rows = named_rows(self._schema, taken)
        if self._schema.has_text_ids:
            return list(map(Row, taken[1], self.scores.tolist(), rows))
        return list(map(Row, self.ids.tolist(), self.scores.tolist(), rows, taken[1]))

    def _rows_at(self, count: int) -> tuple[Any, ...]:
        """Of the first rows, as the extension's RowColumns has them."""
        return self._answer.rows_at(np.arange(count), self._schema.field_kinds)

    def _columns(self, count: int | None = None) -> dict[str, Values]:
        """`id`, `score`, `label` if the index has labels, and each attribute and field, of the first rows."""
        taken = self._rows_at(len(self) if count is None else min(count, len(self)))
        size = len(taken[1])
        ids = Values(TEXT, taken[1]) if self._schema.has_text_ids else Values(INT, self.ids[:size])
        columns = {"id": ids, "score": Values(FLOAT, self.scores[:size])}
        if self._schema.has_labels:
            columns["label"] = Values(TEXT, taken[1])
        return with_columns(columns, columns_of_rows(self._schema, taken, size).items())

    def __repr__(self) -> str:
        shown = ", ".join(f"{row.label or row.id}: {row.score:.6g}" for row in self._first(5))
        return f"<culmen.Result: {len(self)} rows{'; ' if shown else ''}{shown}{', ...' if len(self) > 5 else ''}>"

    def _repr_html_(self) -> str:
        """A small table, for notebooks."""
        columns = self._columns(_html.SHOWN_ROWS)
        return _html.table(columns, rows_of(columns.values()), len(self))


class BatchResult(Tabular):
    """The answers to many queries.

    `len(batch)`, iteration, and `batch[q]` work as for a sequence of one Result per query. The first access to
    attributes or labels looks up those of all answers.

    >>> import culmen
    >>> index = culmen.Index.build({"price": [80, 120], "rating": [7, 9]}, label=["Bellevue", "Miramar"])
    >>> batch = index.search([[-1, 0], [0, 1]], k=1)
    >>> [row.label for result in batch for row in result]
    ['Bellevue', 'Miramar']

    Attributes:
        scores: float64 [q, k] in the same order, -infinity after the last row.
        counts: uint32 [q], rows of each answer.
    """

    __slots__ = ("_many", "_schema", "_found", "_numbers", "scores", "counts")

    def __init__(self, many: _core.ManyAnswers, schema: Schema, out: Out | None = None) -> None:
        self._many = many
        self._schema = schema
        self._numbers: np.ndarray  # the ids, or of texts what stands in for them
        self.scores: np.ndarray
        self.counts: np.ndarray
        self._numbers, self.scores, self.counts = out or (many.ids.view(np.int64), many.scores, many.counts)
        if schema.id_type == "uint64":
            self._numbers = self._numbers.view(np.uint64)
            self._numbers[self._is_row()] ^= TOP_BIT  # in place: the array may be the caller's
        if out is None:
            for array in (self._numbers, self.scores, self.counts):
                array.flags.writeable = False  # lookups rely on them
        self._found: _Found | None = None

    @property
    def ids(self) -> np.ndarray:
        """int64 [q, k], best first, -1 after the last row of an answer; uint64, and 2^64 - 1, where the index has such
        ids; of ids that are texts objects, str and None, which each call makes. The arrays are read-only, unless they
        are those of `out`: then they, and the rows that are looked up by them, change with the next search that gets
        them."""
        if not self._schema.has_text_ids:
            return self._numbers
        is_row = self._is_row()
        texts = np.full(is_row.shape, None, dtype=object)
        texts[is_row] = self._texts_of(self._numbers[is_row])
        texts.flags.writeable = False
        return texts

    def _texts_of(self, numbers: np.ndarray) -> list[str]:
        """The ids that are texts, by what stands in for them."""
        return self._lookup().rows(numbers)[1]

    @property
    def version(self) -> int:
        """Of the index that was searched."""
        return self._many.version

    @property
    def labels(self) -> list[list[str]]:
        """[q][k]; empty texts after the last row, and where the index has no labels."""
        is_row = self._is_row()
        if self._schema.has_text_ids:
            return [[""] * len(of_answer) for of_answer in is_row]
        labels = iter(self._lookup().rows(self._numbers[is_row])[1])
        return [[next(labels) if there else "" for there in of_answer] for of_answer in is_row.tolist()]

    def __len__(self) -> int:
        return len(self.counts)

    def __iter__(self) -> Iterator[Result]:
        return (self[q] for q in range(len(self)))

    def __getitem__(self, q: int) -> Result:
        if isinstance(q, str):
            raise TypeError(f"the columns of all answers are in to_dict(), those of query q in batch[q], not in {q!r}")
        number = operator.index(q)
        if not -len(self) <= number < len(self):
            raise IndexError(f"no answer {number}; there are {len(self)}")
        return Result(_AnswerOfMany(self, number % len(self)), self._schema)

    def _is_row(self) -> np.ndarray:
        """bool [q, k]; not by the ids, since a row may have the id -1."""
        return np.arange(self._numbers.shape[1]) < self.counts[:, None]

    def _lookup(self) -> _Found:
        if self._found is None:
            self._found = _Found(self._many.index, np.unique(self._numbers[self._is_row()]), self._schema)
        return self._found

    def _columns(self) -> dict[str, Values]:
        """`query` (from 0), `rank` (from 1), `id`, `score`, `label` if the index has labels, attributes and fields."""
        query, rank = np.nonzero(self._is_row())
        ids = self._numbers[query, rank]
        taken = self._lookup().rows(ids)
        columns = {
            "query": Values(INT, query),
            "rank": Values(INT, rank + 1),
            "id": Values(TEXT, taken[1]) if self._schema.has_text_ids else Values(INT, ids),
            "score": Values(FLOAT, self.scores[query, rank]),
        }
        if self._schema.has_labels:
            columns["label"] = Values(TEXT, taken[1])
        return with_columns(columns, columns_of_rows(self._schema, taken, len(ids)).items())

    def __repr__(self) -> str:
        return f"<culmen.BatchResult: {self._numbers.shape[0]} answers of up to {self._numbers.shape[1]} rows>"

    def _repr_html_(self) -> str:
        """The first rows, for notebooks, without columns that had to be looked up."""
        places = islice(((q, rank) for q in range(len(self)) for rank in range(self.counts[q])), _html.SHOWN_ROWS)
        rows = [(q, rank + 1, self.ids[q, rank], float(self.scores[q, rank])) for q, rank in places]
        return _html.table(("query", "rank", "id", "score"), rows, int(self.counts.sum()))


class _Found:
    """The rows of many answers, from one lookup, which reads the ids of the whole index."""

    def __init__(self, index: _core.Index | _core.OpenShards, ids: np.ndarray, schema: Schema) -> None:
        self._ids = ids
        values, self._labels, self._fields = index.get(encoded(ids, schema.id_type), schema.field_kinds)
        self._values = values.reshape(len(ids), len(schema.attributes))

    def rows(self, ids: np.ndarray) -> tuple[np.ndarray, list[str], list[Any]]:
        """As the extension's RowColumns has them."""
        where = np.searchsorted(self._ids, ids)
        fields = [_selected(field, where) for field in self._fields]
        return self._values[where], [self._labels[i] for i in where], fields


def _selected(field: Any, where: np.ndarray) -> Any:
    if isinstance(field, list):
        return [field[i] for i in where]
    values, gaps = field
    return values[where], None if gaps is None else gaps[where]


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
        """int64 [n], as the extension has the ids of the rows."""
        return encoded(self._numbers, self._batch._schema.id_type)

    @property
    def _numbers(self) -> np.ndarray:
        return self._batch._numbers[self._q, : self._count].copy()

    @property
    def scores(self) -> np.ndarray:
        return self._batch.scores[self._q, : self._count].copy()

    def attribute(self, position: int) -> np.ndarray:
        return self._batch._lookup().rows(self._numbers)[0][:, position]

    @property
    def labels(self) -> list[str]:
        if self._batch._schema.has_text_ids:
            return self._batch._texts_of(self._numbers)
        return self._batch._lookup().rows(self._numbers)[1]

    def rows_at(self, ranks: np.ndarray, field_kinds: str) -> tuple[Any, ...]:
        return self._batch._lookup().rows(self._numbers[ranks])

    @property
    def version(self) -> int:
        return self._batch.version

    @property
    def stats(self) -> dict[str, Any]:
        raise AttributeError("the answers to a matrix are not measured one by one: they have no stats")
