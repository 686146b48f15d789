"""What an index answers: searches, rows by id, all rows, and what it holds."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from . import _core, _lookups
from ._ids import Ids, any_id_of, possible_id
from ._progress import Progress
from ._queries import (
    ALL_CORES,
    TEN_OR_ALL,
    KOrEach,
    ScoreOrEach,
    Where,
    WhereOrEach,
    by_name,
    check_types,
    in_numbers,
)
from ._ranks import Ranks
from ._reasons import Reasons, no_row
from ._reports import ColumnInfo, Explanation, IndexInfo, Prediction
from ._result import BatchResult, Out, Result, Row, Tabular
from ._rows import AllRows
from ._schema import Schema
from ._searching import check_page, search, search_page
from ._values import Values

if TYPE_CHECKING:
    import pyarrow


class Searchable(Ranks, Tabular):
    """The part of Index that reads."""

    __slots__ = ("_handle", "_schema", "__weakref__")
    _handle: _core.Index
    _schema: Schema

    # ---- queries

    @overload
    def search(
        self,
        weights: Mapping[str, float] | Sequence[float],
        k: int | None = ...,
        *,
        where: Where = ...,
        min_score: float | None = ...,
        scale: str = ...,
        missing: str = ...,
        terms: str = ...,
        engine: str = ...,
        threads: int = ...,
        after: tuple[float, int | str] | None = ...,
        per: Mapping[str, int] | None = ...,
    ) -> Result: ...

    @overload
    def search(
        self,
        weights: Sequence[Sequence[float]] | Sequence[Mapping[str, float]],
        k: KOrEach = ...,
        *,
        where: WhereOrEach = ...,
        min_score: ScoreOrEach = ...,
        scale: str = ...,
        missing: str = ...,
        terms: str = ...,
        engine: str = ...,
        threads: int = ...,
        out: Out | None = ...,
        progress: Progress | bool | None = ...,
    ) -> BatchResult: ...

    @overload
    def search(
        self,
        weights: Any,  # an array, Series or DataFrame: one query or many
        k: KOrEach = ...,
        *,
        where: WhereOrEach = ...,
        min_score: ScoreOrEach = ...,
        scale: str = ...,
        missing: str = ...,
        terms: str = ...,
        engine: str = ...,
        threads: int = ...,
        out: Out | None = ...,
        progress: Progress | bool | None = ...,
    ) -> Result | BatchResult: ...

    def search(
        self,
        weights: Any,
        k: KOrEach = TEN_OR_ALL,
        *,
        where: WhereOrEach = None,
        min_score: ScoreOrEach = None,
        scale: str = "none",
        missing: str = "skip",
        terms: str = "",
        engine: str = "auto",
        threads: int = ALL_CORES,
        out: Out | None = None,
        progress: Progress | bool | None = None,
        after: tuple[float, int | str] | None = None,
        per: Mapping[str, int] | None = None,
    ) -> Result | BatchResult:
        """The k rows with the highest weighted sums, exactly; equal scores go to the smaller id.

        Args:
            weights: a dict of numbers by name (attributes not named get 0), one number an attribute, or a
                matrix [queries, attributes], also as a DataFrame whose columns are attributes: many
                queries in one call, on all cores.
            k: how many rows. Without it 10, or with min_score all that reach it, as with None; the answers to a
                matrix are then as wide as the longest. With a matrix, k, where and min_score may each be a list
                with one for each query: where=[~culmen.ids(seen_by_ann), ~culmen.ids(seen_by_bob)].
            where: only rows that pass: a text, "price<=200 and brand='Sony'"; an expression,
                (culmen.col("price") <= 200) & ~culmen.col("stars").isin([1, 2]); or a dict by name, of a pair
                (least, most), a list or set of values, a value, or None for rows without one.
            min_score: only rows with at least this score.
            scale: "minmax": the weights apply to attributes scaled to 0..1 by their range in the index; "zscore": to
                their distances from the mean, in standard deviations, those of the rows themselves (pandas'
                std(ddof=0)), for which the first query of a version costs a pass over the index; "rank": to the
                share of the build's rows with lower values, which no outlier changes.
            missing: "skip" leaves out rows that miss an attribute whose weight is not 0; "fill" ranks them by what
                the build has chosen to stand in for it.
            terms: what is added to the score besides weight times value, as a text: "2 * near(price, 100) +
                log1p(reviews) - 0.5 * [brand = 'Sony']". Functions of a column, an attribute or not, are near(column,
                value) = -|x - value|, decay(column, origin, scale, exp), which is 1/2 at the distance scale (or linear,
                gauss), log, log1p, sqrt and saturate(column, half) = x / (x + half); a condition in brackets counts 1
                where it holds. Rows without a value that the functions take are left out. With terms all weights may
                be 0. On a GPU not with the engine "gta".
            engine: "auto", "bounded", "scan", "gta" or "ta". The answer is the same.
            threads: that share a scan, or the queries of a matrix.
            out: arrays into which the answers to a matrix are written, (ids, scores, counts): int64 [queries, k],
                float64 [queries, k] and uint32 [queries]. Without them each call has new ones, which take time if they
                are large.
            progress: of a matrix. True shows a bar, with tqdm where it is installed; a function is called with
                ("searching", the part of the queries that is answered) every 50 ms or so and at the end, and an
                exception from it ends the search.
            after: of one query, the next page: only rows behind this score and id, as Result.cursor has those of the
                last row. Pages of one version (snapshot), joined, are the one long answer.
            per: of one query, at most so many rows for each value of a column: {"brand": 2}. Rows without a value are a
                group, too, and rows of pages before `after` count.

        Returns:
            A Result; a BatchResult for a matrix.

        Raises:
            InvalidArgument: k = 0, weights of the wrong count, not finite or all zero, unknown attributes.

        >>> import culmen
        >>> phones = {"price": [300, None, 500], "rating": [7, 9, 8.5], "brand": ["Sony", "LG", "Sony"]}
        >>> index = culmen.Index.build(phones, ["price:low", "rating"], missing={"price": "median"})
        >>> index.search({"price": -0.01, "rating": 1}, where="brand = 'Sony'").ids
        array([0, 2])
        >>> index.search({"price": -0.01, "rating": 1}, missing="fill").ids
        array([1, 0, 2])
        >>> index.search({"rating": 1}, terms="0.02 * near(price, 450) + 3 * [brand = 'LG']").ids
        array([2, 0])
        >>> best = index.search({"rating": 1}, k=1)
        >>> index.search({"rating": 1}, k=1, after=best.cursor).ids, index.search({"rating": 1}, per={"brand": 1}).ids
        (array([2]), array([1, 2]))
        """
        rest = (where, min_score, scale, missing, terms, engine, threads)
        if check_page(weights, after, per, is_of_many=out is not None or bool(progress)):
            return search_page(self._handle, self._schema, weights, k, rest, after, per)
        return search(self._handle, self._schema, weights, k, rest, out, progress)

    def explain(
        self,
        weights: Mapping[str, float] | Sequence[float] | np.ndarray,
        k: int | None = TEN_OR_ALL,
        *,
        where: Where = None,
        min_score: float | None = None,
        scale: str = "none",
        missing: str = "skip",
        terms: str = "",
        engine: str = "auto",
        threads: int = ALL_CORES,
    ) -> Explanation:
        """The engine that search would use, why, and how long each engine would take. With the engine "auto" it costs
        as much as the search until a scan would begin."""
        k, rest = in_numbers(k, (where, min_score, scale, missing, terms, engine, threads))
        try:
            report = self._handle.explain(by_name(weights), k, *rest)
        except TypeError:
            check_types(k, *rest)
            raise
        predictions = tuple(Prediction(**prediction) for prediction in report["predictions"])
        return Explanation(**{**report, "predictions": predictions})

    def why(
        self,
        weights: Mapping[str, float] | Sequence[float] | np.ndarray,
        id: int | str,
        other: int | str | None = None,
        *,
        scale: str = "none",
        missing: str = "skip",
    ) -> Reasons:
        """What each attribute adds to the score of a row; and with another row, the weights that would make them equal.

        >>> import culmen
        >>> index = culmen.Index.build({"price": [80, 120], "rating": [7, 9]})
        >>> reasons = index.why({"price": -0.1, "rating": 1}, 0, 1)
        >>> [(part.attribute, part.part) for part in reasons.parts], reasons.even[0]
        ([('price', -8.0), ('rating', 7.0)], EvenWeight(attribute='price', weight=-0.1, even=-0.05))
        """
        given = [id] if other is None else [id, other]
        ids: Any = [any_id_of(one, self._schema.id_type) for one in given]
        found: Any = self._handle.why(by_name(weights), scale, missing, ids)
        if found is None:
            raise no_row(given, self)
        return Reasons.of(found)

    @overload
    def get(self, id: int | str | uuid.UUID) -> Row | None: ...  # type: ignore[overload-overlap]
    @overload
    def get(self, id: Ids, *, allow_missing: Literal[False] = False) -> list[Row]: ...
    @overload
    def get(self, id: Ids, *, allow_missing: bool) -> list[Row | None]: ...
    def get(self, id: Any, *, allow_missing: bool = False) -> Any:
        """The row with this id; None if there is none. Of several ids, in a list, an array or a column, a list of their
        rows in this order; an error names those that are not in the index, unless `allow_missing`: then None is in
        their place. What no row can have as its id, such as a text where ids are integers, is an error in any case,
        here and in other calls that take ids; only `in` answers False. The score of these rows is NaN. Cost: reads the
        ids of all rows, unless there is a map of ids: after opening, after a change, or many such calls.

        >>> import culmen
        >>> index = culmen.Index.build({"price": [80.5, 120]}, id=[7, 3])
        >>> [row["price"] for row in index.get([3, 7, 3])]
        [120.0, 80.5, 120.0]
        """

        def look_up(ids: Any) -> Any:
            return _lookups.look_up(self._handle, ids, self._schema.field_kinds)

        return _lookups.get(id, self._schema, look_up, allow_missing)

    def __contains__(self, id: object) -> bool:
        known = possible_id(id, self._schema.id_type)
        if isinstance(known, str):
            return self._handle.contains_text(known)
        return known is not None and self._handle.contains(known)

    # ---- all rows

    def ids(self) -> np.ndarray:
        """The ids of all rows, int64, uint64 or objects that are str [n], from the smallest.

        Cost, also of the next calls: a scan, a sort, and some 50 bytes per row in addition to what is returned.
        """
        return AllRows(self._handle, self._schema).ids

    def to_dict(self) -> dict[str, Any]:
        """All rows of this version, by id: the ids and labels, called as `schema` calls them, each attribute and field,
        as columns [n]. to_arrow, to_pandas and to_polars make a table of the same columns. insert and upsert take it
        as it is, build with the name of the ids. Timestamps are in UTC, without their zone, which NumPy does not have:
        to build an index with it, take another of these tables.

        >>> import culmen
        >>> culmen.Index.build({"price": [80.5, 120], "stars": [4, None]}, id=[7, 3], columns=["price"]).to_dict()
        {'id': array([3, 7]), 'price': array([120. ,  80.5])}
        """
        return super().to_dict()

    def _columns(self) -> dict[str, Values]:
        return AllRows(self._handle, self._schema).columns()

    def to_batches(self) -> pyarrow.RecordBatchReader:
        """All rows of this version, as of to_dict, in batches: for tables that do not fit into memory twice. Needs
        pyarrow.

        >>> import culmen
        >>> index = culmen.Index.build({"price": [80, 120]})
        >>> sum(batch.num_rows for batch in index.to_batches())
        2
        """
        return AllRows(self._handle, self._schema).batches()

    def to_arrow(self) -> pyarrow.Table:
        """All rows as a pyarrow table. Needs pyarrow."""
        return self.to_batches().read_all()

    # ---- what it holds

    @property
    def version(self) -> int:
        """A number that grows with each batch of changes."""
        return self._handle.version()

    @property
    def info(self) -> IndexInfo:
        """What the index is, how large, and of each attribute the range and what stands in for missing values."""
        return IndexInfo.of(self._handle.info())

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names, in the order of weights that are given without names."""
        return self._schema.names

    @property
    def schema(self) -> tuple[ColumnInfo, ...]:
        """All columns: ids, labels, attributes, then the others.

        >>> import culmen
        >>> table = {"price": [80, None], "brand": ["Sony", "LG"]}
        >>> index = culmen.Index.build(table, ["price:low"], missing="median")
        >>> [(column.name, column.role, column.type) for column in index.schema]
        [('id', 'id', 'int'), ('price', 'attribute', 'int'), ('brand', 'filter', 'text')]
        """
        return self._schema.columns()

    def __len__(self) -> int:
        return self._handle.info()["num_rows"]
