"""Changes of an index: the rows that go into it, and Batch, which collects several changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

from . import _core
from ._errors import InvalidArgument
from ._reports import WriteResult
from ._tables import Columns, as_ids, column_names, take_table

if TYPE_CHECKING:
    from ._index import Index


def rows_for(index: Index, table: Any, id: Any, label: Any, nulls: str, *, needs_ids: bool) -> Columns:
    """The rows of a table with the columns of an index."""
    table, columns = column_names(table)
    named = isinstance(table, Mapping)
    if id is None and index._id in columns:
        id = index._id
    if label is None and index._label in columns:
        label = index._label
    if named and index._is_opened:
        _require_roles(index, columns, id, label)
    id, label = (None if role is False else role for role in (id, label))
    if id is None and needs_ids:
        raise InvalidArgument("upsert needs the ids of the rows: name their column, or give them, with id=...")
    return take_table(table, index.attributes if named else None, id, label, nulls, named=named)


def _require_roles(index: Index, columns: list[str], id: Any, label: Any) -> None:
    """Of a table with more columns than attributes: else its ids and labels would be left out without a word."""
    known = {*index.attributes, *(role for role in (id, label) if isinstance(role, str))}
    others = [name for name in columns if name not in known]
    if not others:
        return
    for role, given, is_missed in (("id", id, True), ("label", label, index.info.has_labels)):
        if given is None and is_missed:
            raise InvalidArgument(
                f"the table has columns beside the attributes: {', '.join(map(repr, others))}; an index that was "
                f"opened does not know what its {role}s were called: name their column with {role}=..., "
                f"or give {role}=False for rows without"
            )


def written(index: Index, steps: _core.Steps, round_to_float32: bool = False) -> WriteResult:
    return WriteResult(**_core.write(index._handle, steps, round_to_float32))


class Batch:
    """Changes that Index.batch collects. `result` says what they did, after the with statement."""

    def __init__(self, index: Index, round_to_float32: bool) -> None:
        self._index = index
        self._round_to_float32 = round_to_float32
        self._steps: _core.Steps | None = None  # within the with statement
        self.result: WriteResult | None = None

    def insert(self, table: Any, *, id: Any = None, label: Any = None, nulls: str = "error") -> None:
        """As Index.insert, when the with statement ends."""
        self._open_steps().insert(*self._rows(table, id, label, nulls, needs_ids=False))

    def upsert(self, table: Any, *, id: Any = None, label: Any = None, nulls: str = "error") -> None:
        """As Index.upsert, when the with statement ends."""
        self._open_steps().upsert(*self._rows(table, id, label, nulls, needs_ids=True))

    def erase(self, ids: int | Iterable[int]) -> None:
        """As Index.erase, when the with statement ends."""
        self._open_steps().erase(as_ids(ids).copy())

    def _rows(self, table: Any, id: Any, label: Any, nulls: str, *, needs_ids: bool) -> tuple[Any, ...]:
        return _copied(rows_for(self._index, table, id, label, nulls, needs_ids=needs_ids)).arguments()

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


def _copied(rows: Columns) -> Columns:
    """What a batch keeps until it ends is not the caller's, who may fill the same arrays again."""
    ids = None if rows.ids is None else rows.ids.copy()
    columns = [column.copy() for column in rows.columns]
    return Columns(rows.num_rows, rows.names, rows.preferences, columns, ids, rows.labels, rows.dropped)
