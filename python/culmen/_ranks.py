"""How rows rank, by an index or by its copies on GPUs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ._ids import any_id_of
from ._numbers import real_number
from ._queries import Where, by_name
from ._reasons import RowRank
from ._schema import Schema


class Ranks:
    """What needs no search for all rows that are better."""

    __slots__ = ()
    _handle: Any
    _schema: Schema

    def rank_of(
        self,
        weights: Mapping[str, float] | Sequence[float] | np.ndarray,
        id: int | str,
        *,
        where: Where = None,
        scale: str = "none",
        missing: str = "skip",
        terms: str = "",
    ) -> RowRank | None:
        """Where the row with this id stands among all that the query ranks; None if it is not among them. Blocks of
        rows that all rank before or after it are not read.

        >>> import culmen
        >>> index = culmen.Index.build({"rating": [7, 9, 8.5]})
        >>> index.rank_of({"rating": 1}, 2)
        RowRank(rank=2, score=8.5)
        """
        number: Any = any_id_of(id, self._schema.id_type)
        found: Any = self._handle.rank_of(by_name(weights), where, scale, missing, terms, number)
        return None if found is None else RowRank(*found)

    def count_above(
        self,
        weights: Mapping[str, float] | Sequence[float] | np.ndarray,
        score: float,
        *,
        where: Where = None,
        scale: str = "none",
        missing: str = "skip",
        terms: str = "",
    ) -> int:
        """How many rows score more than this."""
        return self._handle.count_above(by_name(weights), where, scale, missing, terms, real_number("score", score))
