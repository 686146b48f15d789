"""Roles: which columns of a table hold the attributes, ids and labels of an index."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ._errors import InvalidArgument
from ._tables import Columns, column_names, take_table


@dataclass(frozen=True)
class Roles:
    attributes: tuple[str, ...]
    has_labels: bool
    id: str | None = None  #: The column of ids of the table that the index was built from.
    label: str | None = None  #: The same for labels.
    is_opened: bool = False  #: The files of an index do not name these columns, so nothing is known about them.

    def rows_of(self, table: Any, id: Any, label: Any, nulls: str, *, needs_ids: bool) -> Columns:
        """The rows of a table with the columns of the index. `id` and `label` may be False, for none."""
        table, columns = column_names(table)
        named = isinstance(table, Mapping)
        if id is None and self.id in columns:
            id = self.id
        if label is None and self.label in columns:
            label = self.label
        if named and self.is_opened:
            self._refuse_unnamed(columns, id, label)
        id, label = (None if role is False else role for role in (id, label))
        if id is None and needs_ids:
            raise InvalidArgument("upsert needs the ids of the rows: name their column, or give them, with id=...")
        return take_table(table, self.attributes if named else None, id, label, nulls, named=named)

    def _refuse_unnamed(self, columns: list[str], id: Any, label: Any) -> None:
        """Columns beside the attributes may hold ids and labels, which would be ignored silently."""
        known = {*self.attributes, *(role for role in (id, label) if isinstance(role, str))}
        others = [name for name in columns if name not in known]
        if not others:
            return
        for role, given, is_missed in (("id", id, True), ("label", label, self.has_labels)):
            if given is None and is_missed:
                raise InvalidArgument(
                    f"the table has columns beside the attributes: {', '.join(map(repr, others))}; an index that was "
                    f"opened does not know what its {role}s were called: name their column with {role}=..., "
                    f"or give {role}=False for rows without"
                )
