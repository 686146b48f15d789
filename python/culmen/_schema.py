"""The schema of an index, and rows of tables with its columns."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from . import _core
from ._columns import UNITS, Format, fitted, missing_column, read_column
from ._errors import InputError, InvalidArgument
from ._reports import ColumnInfo
from ._sources import Source, source_of
from ._tables import Attribute, Columns, Field, Missing, check_nulls, stand_ins_of, with_rows

_KINDS = {"text": "t", "float": "f"}


def _given(attribute: Attribute) -> str | float:
    """What stands in for missing values, as build takes it."""
    return attribute.number if attribute.stand_in == "number" else attribute.stand_in


def declared(
    preferences: Mapping[str, str], fields: Mapping[str, str], stored: Collection[str], missing: Missing
) -> tuple[list[Attribute], list[Field]]:
    """The columns of Index.create."""
    for name in stored:
        if name not in fields:
            raise InvalidArgument(f"no field {name!r} to store; there are {', '.join(map(repr, fields))}")
    stand_ins = stand_ins_of(missing, preferences)
    attributes = [Attribute(name, preferences[name], *stand_ins[name], Format("float")) for name in preferences]
    roles = {name: "stored" if name in stored else "filter" for name in fields}
    return attributes, [Field(name, roles[name], _format_of(text)) for name, text in fields.items()]


def _format_of(text: str) -> Format:
    parts = re.fullmatch(r"timestamp\[(\w+)(?:, *(.+))?\]", text)
    if parts and parts[1] in UNITS:
        return Format("timestamp", parts[1], parts[2] or "")
    if text in ("text", "int", "float", "bool", "date"):
        return Format(text)
    raise InvalidArgument(
        f'a field is "text", "int", "float", "bool", "date", "timestamp[us]" or "timestamp[us, UTC]", not {text!r}'
    )


@dataclass(frozen=True)
class Schema:
    """The columns of an index, which never change."""

    attributes: tuple[Attribute, ...]
    fields: tuple[Field, ...]
    has_labels: bool
    id_name: str
    label_name: str

    @classmethod
    def of(cls, handle: _core.Index) -> Schema:
        report = handle.schema()
        return cls(
            tuple(
                Attribute(name, preference, stand_in, number, Format(*format))
                for name, preference, stand_in, number, format in report["attributes"]
            ),
            tuple(Field(name, role, Format(*format)) for name, role, format in report["fields"]),
            report["has_labels"],
            report["id_name"],
            report["label_name"],
        )

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Of the attributes."""
        return tuple(attribute.name for attribute in self.attributes)

    @cached_property
    def has_only_floats(self) -> bool:
        return not self.fields and all(attribute.format.type == "float" for attribute in self.attributes)

    @cached_property
    def field_kinds(self) -> str:
        """As the extension's RowColumns takes them."""
        return "".join(_KINDS.get(field.format.type, "i") for field in self.fields)

    def columns(self) -> tuple[ColumnInfo, ...]:
        def info(name: str, role: str, format: Format, **more: Any) -> ColumnInfo:
            return ColumnInfo(name, role, format.type, format.unit, format.zone, **more)

        ids = [info(self.id_name or "id", "id", Format("int"))]
        labels = [info(self.label_name or "label", "label", Format("text"))] if self.has_labels else []
        ranked = [
            info(a.name, "attribute", a.format, preference=a.preference, missing=_given(a)) for a in self.attributes
        ]
        return (*ids, *labels, *ranked, *(info(f.name, f.role, f.format) for f in self.fields))

    def rows_of(self, table: Any, id: Any, label: Any, nulls: str, *, needs_ids: bool) -> Columns:
        """The rows of a table with the columns of the index. `id` and `label` may be False, for none."""
        check_nulls(nulls)
        source = source_of(table)
        known = {**source.index, **source.columns} if source.has_names else {}
        if id is None and self.id_name in known:
            id = self.id_name
        if label is None and self.label_name in known:
            label = self.label_name
        id, label = (None if role is False else role for role in (id, label))
        if id is None and needs_ids:
            raise InvalidArgument("upsert needs the ids of the rows: name their column, or give them, with id=...")
        if source.has_names:
            self._refuse_misspelt(source, id, label)
            given = {name: source.take(name, "an attribute") for name in self.names}
        else:
            given = self._by_position(source)
        columns = [fitted(read_column(given[a.name], a.name), a.format, a.name) for a in self.attributes]
        num_rows = len(columns[0])
        fields = [
            fitted(read_column(source.columns[f.name], f.name), f.format, f.name)
            if source.has_names and f.name in source.columns
            else missing_column(f.format, num_rows)
            for f in self.fields
        ]
        taken = Columns(num_rows, list(self.attributes), columns, list(self.fields), fields)
        return with_rows(taken, source, id, label, nulls)

    def _by_position(self, source: Source) -> dict[str, Any]:
        if len(source.columns) != len(self.attributes):
            raise InputError(f"the array has {len(source.columns)} columns for {len(self.attributes)} attributes")
        return dict(zip(self.names, source.columns.values()))

    def _refuse_misspelt(self, source: Source, id: Any, label: Any) -> None:
        """A table may lack fields, or have columns that the index has not, but not both."""
        roles = [role for role in (id, label) if isinstance(role, str)]
        known = {*self.names, *(field.name for field in self.fields), self.id_name, self.label_name, *roles}
        lacking = [field.name for field in self.fields if field.name not in source.columns]
        unknown = [name for name in source.columns if name not in known]
        if lacking and unknown:
            others = ", ".join(map(repr, unknown))
            raise InvalidArgument(
                f"the table has no column {lacking[0]!r}, but {others}, which the index does not know"
            )
