"""Changes of an index: `written` applies them, Batch collects several."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np

from . import _core
from ._errors import InvalidArgument, WrongType
from ._ids import Ids, IdType, as_ids, decoded
from ._queries import Where
from ._reports import WriteResult
from ._schema import Schema
from ._steps import Step, filter_to_erase, steps_of
from ._tables import Columns


class WriteOptions(NamedTuple):
    """As the extension takes them; documented at Index.insert."""

    round_to_float32: bool = False
    duplicates: str = "error"


def written(index: _core.Index, steps: Sequence[Step], options: WriteOptions) -> WriteResult:
    return WriteResult(**_core.write(index, steps_of(steps, index), *options))


#: Which of some ids, as the extension has them, are in the index.
Contains = Callable[[np.ndarray | list[str]], np.ndarray]


def with_dropped(result: WriteResult, steps: Sequence[Step], id_type: IdType, contains: Contains) -> WriteResult:
    """Adds what has become of rows that nulls="drop" left out, after all steps were written."""
    tables = [(step.kind, step.rows) for step in steps if isinstance(step.rows, Columns)]
    num_dropped = sum(rows.num_dropped for _, rows in tables)
    upserted = [rows.dropped_ids for kind, rows in tables if kind == "upsert" and rows.dropped_ids is not None]
    kept = set().union(*(step.distinct_ids() for step in steps if upserted and isinstance(step.rows, Columns)))
    dropped = list(dict.fromkeys(id for ids in upserted for id in _listed(ids) if id not in kept))
    if not dropped:
        return replace(result, rows_dropped=num_dropped)
    ids: np.ndarray | list[str] = dropped if id_type == "text" else np.array(dropped, dtype=np.int64)
    is_there = contains(ids)
    shown = ids if isinstance(ids, list) else decoded(ids, id_type).tolist()
    return replace(
        result, rows_dropped=num_dropped, unchanged_ids=tuple(id for id, there in zip(shown, is_there) if there)
    )


def _listed(ids: np.ndarray | list[str]) -> list[Any]:
    return ids if isinstance(ids, list) else ids.tolist()


def rows_to_erase(names: _core.Index, ids: Ids | None, where: Where) -> np.ndarray | list[str] | _core.Filter:
    if (ids is None) == (where is None):
        raise InvalidArgument("say which rows: ids, or where=...")
    if ids is None:
        return filter_to_erase(names, where, "where")
    try:
        return as_ids(ids, Schema.of(names).id_type)
    except WrongType as error:
        if isinstance(ids, (str, Mapping, _core.Filter)):
            raise WrongType(f"{error}; where=... erases the rows that pass a filter") from None
        raise


#: Writes steps, all or none.
Write = Callable[[Sequence[Step]], WriteResult]


class Batch:
    """Changes that the method `batch` of an index collects. `result` says what they did, after the with statement."""

    def __init__(self, write: Write, schema: Schema, names: _core.Index) -> None:
        self._write = write
        self._schema = schema
        self._names = names
        self._steps: list[Step] | None = None  # within the with statement
        self.result: WriteResult | None = None

    def insert(self, table: Any, *, id: Any = None, label: Any = None, nulls: str = "keep") -> None:
        """As insert of the index, when the with statement ends."""
        self._add("insert", _copied(self._schema.rows_of(table, id, label, nulls, needs_ids=False)))

    def upsert(self, table: Any, *, id: Any = None, label: Any = None, nulls: str = "keep") -> None:
        """As upsert of the index, when the with statement ends."""
        self._add("upsert", _copied(self._schema.rows_of(table, id, label, nulls, needs_ids=True)))

    def erase(self, ids: Ids | None = None, *, where: Where = None) -> None:
        """As erase of the index, when the with statement ends. A filter sees what the steps before have done."""
        rows = rows_to_erase(self._names, ids, where)
        self._add("erase", rows if isinstance(rows, _core.Filter) else rows.copy())

    def _add(self, kind: str, rows: Columns | np.ndarray | list[str] | _core.Filter) -> None:
        if self._steps is None:
            raise InvalidArgument("a batch is collected within a with statement: with index.batch() as batch: ...")
        self._steps.append(Step(kind, rows))

    def __enter__(self) -> Batch:
        self._steps = []
        self.result = None
        return self

    def __exit__(
        self, type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        steps, self._steps = self._steps or [], None
        if type is None:
            self.result = self._write(steps)


def _copied(rows: Columns) -> Columns:
    """A batch keeps its rows until it ends, and its caller may reuse the arrays before that."""
    return replace(
        rows,
        columns=[column.copy() for column in rows.columns],
        field_columns=[column.copy() for column in rows.field_columns],
        ids=None if rows.ids is None else rows.ids.copy(),
    )
