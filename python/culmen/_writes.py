"""Changes of an index: `written` applies them, Batch collects several."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from types import TracebackType
from typing import Any

import numpy as np

from . import _core
from ._errors import InvalidArgument
from ._ids import as_ids
from ._queries import Where
from ._reports import WriteResult
from ._schema import Schema
from ._tables import Columns


def written(index: _core.Index, steps: _core.Steps, round_to_float32: bool = False) -> WriteResult:
    return WriteResult(**_core.write(index, steps, round_to_float32))


def expiry(names: _core.Index, expire: Where) -> _core.Filter | None:
    """The rows that an insert erases, too."""
    if expire is None:
        return None
    if expire == {} or (isinstance(expire, str) and not expire.strip()):
        raise InvalidArgument("expire is empty, which would erase every row; say which rows")
    return _core.filter_of(names, expire)


def rows_to_erase(names: _core.Index, ids: int | Iterable[int] | None, where: Where) -> np.ndarray | _core.Filter:
    if (ids is None) == (where is None):
        raise InvalidArgument("say which rows: ids, or where=...")
    return _core.filter_of(names, where) if ids is None else as_ids(ids)


def add_erase(steps: _core.Steps, rows: np.ndarray | _core.Filter) -> None:
    if isinstance(rows, _core.Filter):
        steps.erase_where(rows)
    else:
        steps.erase(rows)


class Batch:
    """Changes that Index.batch collects. `result` says what they did, after the with statement."""

    def __init__(self, index: _core.Index, schema: Schema, round_to_float32: bool) -> None:
        self._index = index
        self._schema = schema
        self._round_to_float32 = round_to_float32
        self._steps: _core.Steps | None = None  # within the with statement
        self.result: WriteResult | None = None

    def insert(self, table: Any, *, id: Any = None, label: Any = None, nulls: str = "keep") -> None:
        """As Index.insert, when the with statement ends."""
        self._open_steps().insert(**self._rows(table, id, label, nulls, needs_ids=False))

    def upsert(self, table: Any, *, id: Any = None, label: Any = None, nulls: str = "keep") -> None:
        """As Index.upsert, when the with statement ends."""
        self._open_steps().upsert(**self._rows(table, id, label, nulls, needs_ids=True))

    def erase(self, ids: int | Iterable[int] | None = None, *, where: Where = None) -> None:
        """As Index.erase, when the with statement ends. A filter sees what the steps before have done."""
        rows = rows_to_erase(self._index, ids, where)
        add_erase(self._open_steps(), rows if isinstance(rows, _core.Filter) else rows.copy())

    def _rows(self, table: Any, id: Any, label: Any, nulls: str, *, needs_ids: bool) -> dict[str, Any]:
        return copied_rows(self._schema.rows_of(table, id, label, nulls, needs_ids=needs_ids)).arguments()

    def _open_steps(self) -> _core.Steps:
        if self._steps is None:
            raise InvalidArgument("a batch is collected within a with statement: with index.batch() as batch: ...")
        return self._steps

    def __enter__(self) -> Batch:
        self._steps = _core.Steps()
        self.result = None
        return self

    def __exit__(
        self, type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        steps, self._steps = self._open_steps(), None
        if type is None:
            self.result = written(self._index, steps, self._round_to_float32)


def copied_rows(rows: Columns) -> Columns:
    """A batch keeps its rows until it ends, and its caller may reuse the arrays before that."""
    return replace(
        rows,
        columns=[column.copy() for column in rows.columns],
        field_columns=[column.copy() for column in rows.field_columns],
        ids=None if rows.ids is None else rows.ids.copy(),
    )
