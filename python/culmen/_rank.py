"""rank: a one-off query of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ._core import Filter
from ._index import Index
from ._queries import TEN_OR_ALL, Where, by_name
from ._result import Result
from ._tables import Attributes, column_names


def rank(
    table: Any,
    weights: Mapping[str, float] | Sequence[float],
    k: int | None = TEN_OR_ALL,
    *,
    attributes: Attributes = None,
    id: Any = None,
    label: Any = None,
    nulls: str = "error",
    where: Where = None,
    min_score: float | None = None,
    scale: str = "none",
) -> Result:
    """The k best rows of a table, for a one-off query: builds an index, searches it and drops it. Without attributes,
    the columns that the weights and the filter name are read.

    >>> rank({"price": [80, 120, 60], "rating": [7.9, 9.1, 6.0]}, {"price": -0.05, "rating": 1}, k=1).ids
    array([0])
    """
    weights = by_name(weights)
    if attributes is None and isinstance(weights, Mapping):
        table, columns = column_names(table)
        named = str(where) if isinstance(where, Filter) else where
        attributes = [name for name in columns if name in weights or (named is not None and name in named)]
        attributes += [name for name in weights if name not in columns]  # the build refuses them
    index = Index.build(table, attributes, id=id, label=label, nulls=nulls)
    return index.search(weights, k, where=where, min_score=min_score, scale=scale)
