"""Pictures of how answers move and of what scores are made of. They need matplotlib.

    culmen.plot.sweep(index, {"price": -0.4, "rating": 1}, "price", k=5)
    culmen.plot.why(index.why({"price": -0.4, "rating": 1}, 1000017, 1000018))

Each call draws into `ax`, or into new axes, and returns the axes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._errors import InvalidArgument
from ._index import Index
from ._reasons import Reasons
from ._sharded import ShardedIndex

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def sweep(
    index: Index | ShardedIndex,
    weights: Mapping[str, float],
    column: str,
    values: Sequence[float] | np.ndarray | None = None,
    *,
    k: int = 10,
    ax: Axes | None = None,
    **options: Any,
) -> Axes:
    """How the best rows change as one weight does: a line of ranks for each row that is ever among the best k.

    Args:
        index: an index, or one of shards.
        weights: by attribute. A dotted line marks that of `column`.
        column: the attribute whose weight moves.
        values: of that weight, ascending. None: 41 from 0 to twice what it is in `weights`, or from -1 to 1 if that
            is 0.
        k: how many rows have ranks.
        options: as of search, of all queries: where, min_score, scale, missing, terms.
    """
    if not hasattr(index, "search"):
        raise TypeError(f"sweep searches an index, which a {type(index).__name__} is not")
    ax = _axes(ax)
    weight = float(weights.get(column, 0.0))
    moved = _around(weight) if values is None else np.asarray(values, dtype=np.float64)
    if values is None and not any(other for name, other in weights.items() if name != column):
        moved = moved[moved != 0]  # no search is without any weight
    if moved.ndim != 1 or moved.size == 0:
        raise InvalidArgument("values are one or more weights")
    answers = index.search([{**weights, column: float(value)} for value in moved], k, **options)
    ranks = _ranks(answers)
    for line, ((row, name), of_row) in enumerate(ranks.items()):
        style = ("-", "--", "-.", ":")[line // 10 % 4]  # after ten lines the colours repeat
        ax.plot(moved, of_row, marker=".", linestyle=style, label=name or str(row))
    ax.axvline(weight, color="gray", linestyle=":")
    ax.set(xlabel=f"weight of {column}", ylabel="rank", ylim=(k + 0.5, 0.5))
    if ranks:
        ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize="small")
    return ax


def why(reasons: Reasons, *, ax: Axes | None = None) -> Axes:
    """What each attribute adds to the score of a row, as bars, the largest on top; and of another row beside it."""
    if not isinstance(reasons, Reasons):
        raise TypeError(f"why draws what index.why(weights, id) returns, not a {type(reasons).__name__}")
    ax = _axes(ax)
    rows = [reasons.parts, reasons.others] if reasons.others else [reasons.parts]
    names = list(dict.fromkeys(part.attribute for parts in rows for part in parts))
    height = 0.8 / len(rows)
    for row, parts in enumerate(rows):
        places = [names.index(part.attribute) + (row - (len(rows) - 1) / 2) * height for part in parts]
        bars = ax.barh(places, [part.part for part in parts], height, label=("the row", "the other row")[row])
        ax.bar_label(bars, ["missing" if part.is_missing else f"{part.part:.4g}" for part in parts], padding=2)
    ax.axvline(0, color="gray", linewidth=0.8)
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.margins(x=0.2)  # for the numbers beside the bars
    ax.set_xlabel("part of the score")
    if len(rows) > 1:
        ax.legend(fontsize="small")
    return ax


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("culmen.plot needs matplotlib: pip install matplotlib") from error
    return pyplot.subplots(layout="constrained")[1]


def _around(weight: float) -> np.ndarray:
    return np.linspace(-1, 1, 41) if weight == 0 else np.sort(np.linspace(0, 2 * weight, 41))


def _ranks(answers: Any) -> dict[tuple[int, str], np.ndarray]:
    """Of each id and label the ranks in all answers; NaN: not among the best."""
    ranks: dict[tuple[int, str], np.ndarray] = {}
    for query, result in enumerate(answers):
        for rank, row in enumerate(result, start=1):
            of_row = ranks.setdefault((row.id, row.label), np.full(len(answers), np.nan))
            of_row[query] = rank
    return ranks
