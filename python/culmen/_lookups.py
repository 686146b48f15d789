"""Rows by their ids."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import _core
from ._errors import InvalidArgument, short_repr
from ._ids import Ids, as_ids, decoded, is_one_id
from ._result import Row
from ._schema import Schema
from ._values import named_rows

#: Ids as the extension has them: the columns of those rows that are there, and bool, True for each id that has one.
LookUp = Callable[[np.ndarray | list[str]], tuple[Any, np.ndarray]]

_MOST_NAMED = 10


def look_up(handle: _core.Index, ids: np.ndarray | list[str], field_kinds: str) -> tuple[Any, np.ndarray]:
    """As LookUp, in an index."""
    return handle.look_up_texts(ids, field_kinds) if isinstance(ids, list) else handle.look_up(ids, field_kinds)


def get(given: int | str | Ids, schema: Schema, look_up: LookUp, allow_missing: bool) -> Any:
    """One row or None, or a list of rows for several ids."""
    ids = as_ids(given, schema.id_type)
    if not is_one_id(given):
        return _rows(ids, schema, look_up, allow_missing)
    [row] = _rows(ids, schema, look_up, True)
    return row


def _rows(ids: np.ndarray | list[str], schema: Schema, look_up: LookUp, allow_missing: bool) -> list[Row | None]:
    taken, is_there = look_up(ids)
    shown: Sequence[Any] = ids if isinstance(ids, list) else decoded(ids, schema.id_type).tolist()
    if not allow_missing and not is_there.all():
        raise InvalidArgument(_not_there([id for id, there in zip(shown, is_there) if not there], len(shown)))
    found = zip(taken[1], named_rows(schema, taken))
    return [_row(id, schema, *next(found)) if there else None for id, there in zip(shown, is_there)]


def _row(id: int | str, schema: Schema, label: str, columns: dict[str, Any]) -> Row:
    return Row(id, float("nan"), columns, "" if schema.has_text_ids else label)


def _not_there(ids: Sequence[int | str], num_asked: int) -> str:
    named = ", ".join(map(short_repr, ids[:_MOST_NAMED]))
    more = f" and {len(ids) - _MOST_NAMED} more" if len(ids) > _MOST_NAMED else ""
    return f"{len(ids)} of {num_asked} ids are not in the index: {named}{more}; allow_missing=True has None for these"
