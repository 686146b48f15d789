"""Steps of a batch of changes, which may be on their way to shards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from . import _core
from ._errors import InvalidArgument
from ._ids import text_column
from ._queries import Where
from ._tables import Columns, only_rows


@dataclass(frozen=True)
class Step:
    """A change: of rows, which have ids; of some columns of rows; or to erase, those with some ids or those that pass a
    filter."""

    kind: str  # "insert", "upsert", "update" or "erase"
    rows: Columns | np.ndarray | list[str] | _core.Filter

    @property
    def ids(self) -> np.ndarray | _core.TextColumn:
        """Of all but a filter."""
        assert not isinstance(self.rows, _core.Filter)
        if isinstance(self.rows, list):
            return text_column(self.rows)
        if isinstance(self.rows, np.ndarray):
            return self.rows
        ids = self.rows.labels if self.rows.id_type == "text" else self.rows.ids
        assert ids is not None
        return ids

    @property
    def lacks_ids(self) -> bool:
        """Whether its rows are to get the next ones."""
        return isinstance(self.rows, Columns) and self.rows.ids is None and self.rows.id_type != "text"

    def shards(self, num_shards: int) -> np.ndarray:
        """Of each id."""
        ids = self.ids
        if isinstance(ids, np.ndarray):
            return _core.shards_of(ids, num_shards)
        return _core.shards_of_texts(ids, num_shards)

    def distinct_ids(self) -> set[int] | set[str]:
        ids = self.ids
        return set(ids.tolist() if isinstance(ids, np.ndarray) else ids.to_list())

    def only(self, keep: np.ndarray) -> Step:
        assert not isinstance(self.rows, _core.Filter)
        if isinstance(self.rows, list):
            return replace(self, rows=[text for text, is_kept in zip(self.rows, keep, strict=True) if is_kept])
        return replace(self, rows=self.rows[keep] if isinstance(self.rows, np.ndarray) else only_rows(self.rows, keep))

    def add_to(self, steps: _core.Steps, index: _core.Index | None) -> None:
        if self.kind == "update":
            assert isinstance(self.rows, Columns) and index is not None
            steps.update(index, **self.rows.arguments())
        elif isinstance(self.rows, Columns):
            getattr(steps, self.kind)(**self.rows.arguments())
        elif isinstance(self.rows, np.ndarray):
            steps.erase(self.rows)
        elif isinstance(self.rows, list):
            steps.erase_texts(self.rows)
        else:
            steps.erase_where(self.rows)


def steps_of(parts: Sequence[Step], index: _core.Index | None = None) -> _core.Steps:
    """For the index, which an update reads; it may be the only step, as it does not see what others do."""
    steps = _core.Steps()
    for part in parts:
        part.add_to(steps, index)
    return steps


def with_expiry(rows: Step, names: _core.Index, expire: Where) -> list[Step]:
    """An insert or upsert, and the rows that it erases, too."""
    return [rows] if expire is None else [rows, Step("erase", filter_to_erase(names, expire, "expire"))]


def filter_to_erase(names: _core.Index, where: Where, name: str) -> _core.Filter:
    """Refuses the empty filter, which every row passes: a variable that was never filled would empty the index."""
    if where == {} or (isinstance(where, str) and not where.strip()):
        raise InvalidArgument(f"{name} is empty, which would erase every row; say which rows")
    return _core.filter_of(names, where)
