"""All rows of an index in id order, in batches."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._queries import ALL_CORES
from ._result import with_attributes

if TYPE_CHECKING:
    import pyarrow

_PART_ROWS = 1 << 17


class AllRows:
    """The rows of one version, found by a search: every row reaches a score of -infinity."""

    def __init__(self, index: _core.Index, names: tuple[str, ...]) -> None:
        weights = np.zeros(len(names))
        weights[0] = 1  # any attribute: the score is its value, which cannot overflow
        kept = index.snapshot()
        self._found = kept.search(weights, None, None, float("-inf"), "none", "scan", ALL_CORES)
        self._has_labels = kept.info()["has_labels"]
        self._names = names
        ids = self._found.ids.view(np.int64)
        self._ranks = np.argsort(ids)
        self.ids = ids[self._ranks]

    def parts(self) -> Iterator[dict[str, Any]]:
        """Yields batches of columns by name; one empty batch for an index without rows."""
        for first in range(0, max(1, len(self.ids)), _PART_ROWS):
            part = slice(first, first + _PART_ROWS)
            values, labels = self._found.rows_at(self._ranks[part])
            columns: dict[str, Any] = {"id": self.ids[part]}
            if self._has_labels:
                columns["label"] = labels
            yield with_attributes(columns, zip(self._names, values.reshape(len(labels), len(self._names)).T))

    def columns(self) -> dict[str, Any]:
        whole: dict[str, Any] = {}
        first = 0
        for part in self.parts():
            end = first + len(part["id"])
            for name, values in part.items():
                if isinstance(values, list):
                    whole.setdefault(name, []).extend(values)
                    continue
                if name not in whole:
                    whole[name] = np.empty(len(self.ids), dtype=values.dtype)
                whole[name][first:end] = values
            first = end
        return whole

    def batches(self) -> pyarrow.RecordBatchReader:
        import pyarrow

        parts = self.parts()
        first = next(parts)
        schema = pyarrow.schema(
            (name, pyarrow.string() if isinstance(values, list) else pyarrow.from_numpy_dtype(values.dtype))
            for name, values in first.items()
        )
        batches = (pyarrow.record_batch(part, schema=schema) for part in chain([first], parts))
        return pyarrow.RecordBatchReader.from_batches(schema, batches)
