"""All rows of an index in id order, in batches."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from . import _core
from ._ids import decoded, ids_of_texts
from ._queries import ALL_CORES
from ._result import with_columns
from ._schema import Schema
from ._values import INT, TEXT, Values, columns_of_rows

if TYPE_CHECKING:
    import pyarrow

_PART_ROWS = 1 << 17


class AllRows:
    """The rows of one version, found by a search: every row reaches a score of -infinity."""

    def __init__(self, index: _core.Index, schema: Schema) -> None:
        weights = np.zeros(len(schema.attributes))
        weights[0] = 1  # any attribute: the score is its value, which cannot overflow
        kept = index.snapshot()
        self._found = kept.search(weights, None, None, float("-inf"), "none", "fill", "", "scan", ALL_CORES)
        self._schema = schema
        ids = self._found.ids.view(np.int64)
        self._ranks = np.argsort(ids)
        self._numbers = decoded(ids[self._ranks], schema.id_type)

    @property
    def ids(self) -> np.ndarray:
        if not self._schema.has_text_ids:
            return self._numbers
        return ids_of_texts(self._found.labels)[self._ranks]

    def parts(self) -> Iterator[dict[str, Values]]:
        """Yields batches of columns by name; one empty batch for an index without rows."""
        for first in range(0, max(1, len(self._ranks)), _PART_ROWS):
            part = slice(first, first + _PART_ROWS)
            taken = self._found.rows_at(self._ranks[part], self._schema.field_kinds)
            ids = Values(TEXT, taken[1]) if self._schema.has_text_ids else Values(INT, self._numbers[part])
            columns = {self._schema.id_column: ids}
            if self._schema.has_labels:
                columns[self._schema.label_column] = Values(TEXT, taken[1])
            yield with_columns(columns, columns_of_rows(self._schema, taken, len(taken[1])).items())

    def columns(self) -> dict[str, Values]:
        whole: dict[str, Values] = {}
        first = 0
        for part in self.parts():
            rows = slice(first, first + len(part[self._schema.id_column]))
            for name, values in part.items():
                if name not in whole:
                    whole[name] = values.empty(len(self._ranks))
                whole[name].fill(rows, values)
            first = rows.stop
        return whole

    def batches(self) -> pyarrow.RecordBatchReader:
        import pyarrow

        batches = (
            pyarrow.RecordBatch.from_pydict({name: values.to_arrow() for name, values in part.items()})
            for part in self.parts()
        )
        first = next(batches)
        return pyarrow.RecordBatchReader.from_batches(first.schema, chain([first], batches))
