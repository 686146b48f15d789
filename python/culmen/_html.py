"""What notebooks show."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import Any

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


def _row(kind: str, cells: Iterable[str]) -> str:
    return "<tr>" + "".join(text(cell, kind) for cell in cells) + "</tr>"


def _shown(cell: Any) -> str:
    return "" if cell is None else f"{cell:.10g}" if isinstance(cell, float) else str(cell)
