"""What notebooks show."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._reports import ColumnInfo

SHOWN_ROWS = 20


def table(names: Iterable[str], rows: Iterable[Iterable[Any]], num_rows: int) -> str:
    """The first rows of `num_rows`."""
    lines = [_row("td", map(_shown, row)) for row in rows]
    more = f"<p>{num_rows - SHOWN_ROWS} more rows</p>" if num_rows > SHOWN_ROWS else ""
    if not lines:
        more = "<p>no rows</p>"
    return "<table>" + "\n".join([_row("th", names), *lines]) + "</table>" + more


def text(shown: str, tag: str) -> str:
    return f"<{tag}>{html.escape(shown)}</{tag}>"


def index(shown: str, schema: Sequence[ColumnInfo]) -> str:
    """What it is, and its first columns."""
    columns = [(c.name, c.role, c.type, c.unit, c.time_zone) for c in schema]
    names = table(("column", "role", "type", "unit", "zone"), columns[:SHOWN_ROWS], 0)
    more = f"<p>{len(columns) - SHOWN_ROWS} more columns</p>" if len(columns) > SHOWN_ROWS else ""
    return text(shown, "p") + names + more


def _row(kind: str, cells: Iterable[str]) -> str:
    return "<tr>" + "".join(text(cell, kind) for cell in cells) + "</tr>"


def _shown(cell: Any) -> str:
    return "" if cell is None else f"{cell:.10g}" if isinstance(cell, float) else str(cell)
