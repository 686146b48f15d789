"""Columns of tables that export Arrow streams, read on first use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from . import _core
from ._errors import InputError


class ArrowColumn:
    """One column. `np.asarray` reads it as numbers, iteration as texts; each raises InputError for the other kind."""

    def __init__(self, table: _core.ArrowTable, position: int) -> None:
        self._table = table
        self._position = position

    def __len__(self) -> int:
        return self._table.num_rows

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if self._table.format(self._position) in ("u", "U", "vu", "dictionary"):
            return np.empty(len(self), dtype="U1")  # the caller refuses text by this type
        if self._table.format(self._position) == "n":
            return np.full(len(self), np.nan)  # only gaps
        values = np.asarray(self._table.numbers(self._position))
        if self._table.format(self._position) == "e":
            values = values.view(np.float16)
        return values if dtype is None else values.astype(dtype)

    def __iter__(self) -> Iterator[str | None]:
        return iter(self._table.texts(self._position))

    def gaps(self) -> np.ndarray | None:
        """True where the value is missing; None if none is."""
        if self._table.format(self._position) == "n":
            return np.ones(len(self), dtype=bool)
        gaps = self._table.gaps(self._position)
        return None if gaps is None else np.asarray(gaps, dtype=bool)


def refuse_repeated(names: list[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(f"two columns are called {name!r}")
        seen.add(name)


def arrow_columns(table: Any) -> dict[str, ArrowColumn]:
    read = _core.ArrowTable(table.__arrow_c_stream__())
    refuse_repeated(read.names)
    return {name: ArrowColumn(read, i) for i, name in enumerate(read.names)}
