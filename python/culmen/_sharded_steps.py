"""Steps of a batch of changes, on their way to shards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from . import _core
from ._tables import Columns, only_rows


@dataclass(frozen=True)
class Step:
    """A change: of rows, which have ids; or of ids alone, to erase."""

    kind: str  # "insert", "upsert" or "erase"
    rows: Columns | np.ndarray

    @property
    def ids(self) -> np.ndarray:
        ids = self.rows if isinstance(self.rows, np.ndarray) else self.rows.ids
        assert ids is not None
        return ids

    def only(self, keep: np.ndarray) -> Step:
        return replace(self, rows=self.rows[keep] if isinstance(self.rows, np.ndarray) else only_rows(self.rows, keep))

    def add_to(self, steps: _core.Steps) -> None:
        if isinstance(self.rows, np.ndarray):
            steps.erase(self.rows)
        else:
            getattr(steps, self.kind)(**self.rows.arguments())


def steps_of(parts: Sequence[Step]) -> _core.Steps:
    steps = _core.Steps()
    for part in parts:
        part.add_to(steps)
    return steps
