"""rank: a one-off query of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ._core import Filter
from ._index import Index
from ._queries import TEN_OR_ALL, Where, by_name
from ._result import Result
from ._sources import column_names
from ._tables import Attributes, Missing


def rank(
    table: Any,
    weights: Mapping[str, float] | Sequence[float],
    k: int | None = TEN_OR_ALL,
    *,
    attributes: Attributes = None,
    id: Any = None,
    label: Any = None,
    nulls: str = "keep",
    where: Where = None,
    min_score: float | None = None,
    scale: str = "none",
    missing: Missing = "skip",
) -> Result:
    """The k best rows of a table, for a one-off query: builds an index, searches it and drops it. Without attributes,
    those that the weights name are ranked, and the columns that the filter names are read.

    missing: "skip" leaves out rows that miss a value of a weighted attribute; otherwise what stands in for it, as for
    Index.build.

    >>> rank({"price": [80, 120, 60], "rating": [7.9, 9.1, 6.0]}, {"price": -0.05, "rating": 1}, k=1).ids
    array([0])
    """
    weights = by_name(weights)
    columns = None
    if attributes is None and isinstance(weights, Mapping):
        table, known = column_names(table)
        named = str(where) if isinstance(where, Filter) else where
        columns = [name for name in known if named is not None and name in named]
        attributes = list(weights)
    is_skipped = isinstance(missing, str) and missing == "skip"
    stand_in = None if is_skipped else missing
    index = Index.build(table, attributes, id=id, label=label, columns=columns, missing=stand_in, nulls=nulls)
    how = "skip" if is_skipped else "fill"
    return index.search(weights, k, where=where, min_score=min_score, scale=scale, missing=how)
