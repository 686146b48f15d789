"""The schema of an index, and rows of tables with its columns."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from . import _core
from ._columns import UNITS, Column, Format, read_column
from ._errors import InputError, InvalidArgument
from ._fitting import fitted, missing_column
from ._ids import IdType
from ._reports import ColumnInfo
from ._sources import Source, source_of
from ._tables import Attribute, Columns, Field, Missing, check_nulls, stand_ins_of, with_rows

_KINDS = {"text": "t", "float": "f"}

#: Columns of answers besides ids, labels and those of the index.
_OF_ANSWERS = ("score", "query", "rank")


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


def renamed(name: str) -> str:
    """A column of the index in a table where its name is taken."""
    return f"attribute.{name}"


def _read_as(given: Any, wanted: Format, name: str) -> Column:
    column = read_column(given, name)
    is_of_numpy = isinstance(given, np.ndarray) and given.dtype.kind == "M"
    if wanted.zone and column.format.type == "timestamp" and is_of_numpy:  # as to_dict has them: in UTC
        column = replace(column, format=column.format._replace(zone="UTC"))
    return fitted(column, wanted, name)


@dataclass(frozen=True)
class Schema:
    """The columns of an index, which never change."""

    attributes: tuple[Attribute, ...]
    fields: tuple[Field, ...]
    has_labels: bool
    id_name: str
    label_name: str
    id_type: IdType

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
            report["id_type"],
        )

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Of the attributes."""
        return tuple(attribute.name for attribute in self.attributes)

    @cached_property
    def has_only_floats(self) -> bool:
        return not self.fields and all(attribute.format.type == "float" for attribute in self.attributes)

    @property
    def has_text_ids(self) -> bool:
        """They are where the extension has labels."""
        return self.id_type == "text"

    @property
    def id_column(self) -> str:
        return self.id_name or "id"

    @property
    def label_column(self) -> str:
        return self.label_name or "label"

    @cached_property
    def field_kinds(self) -> str:
        """As the extension's RowColumns takes them."""
        return "".join(_KINDS.get(field.format.type, "i") for field in self.fields)

    def columns(self) -> tuple[ColumnInfo, ...]:
        def info(name: str, role: str, format: Format, **more: Any) -> ColumnInfo:
            return ColumnInfo(name, role, format.type, format.unit, format.zone, **more)

        ids = [info(self.id_column, "id", Format("text" if self.has_text_ids else "int"))]
        labels = [info(self.label_column, "label", Format("text"))] if self.has_labels else []
        ranked = [
            info(a.name, "attribute", a.format, preference=a.preference, missing=_given(a)) for a in self.attributes
        ]
        return (*ids, *labels, *ranked, *(info(f.name, f.role, f.format) for f in self.fields))

    def rows_of(self, table: Any, id: Any, label: Any, nulls: str, *, needs_ids: bool) -> Columns:
        """The rows of a table with the columns of the index. `id` and `label` may be False, for none."""
        check_nulls(nulls)
        source = source_of(table)
        replaced = self._undo_renaming(source)
        id = self._role(id, source, replaced, self.id_name, "id")
        label = self._role(label, source, replaced, self.label_name, "label" if self.has_labels else "")
        if id is None and needs_ids:
            raise InvalidArgument("upsert needs the ids of the rows: name their column, or give them, with id=...")
        if source.has_names:
            self._refuse_misspelt(source, id, label)
            advice = "; update changes some columns of rows that are there" if needs_ids else ""
            given = {name: source.take(name, "an attribute", advice) for name in self.names}
        else:
            given = self._by_position(source)
        columns = [_read_as(given[a.name], a.format, a.name) for a in self.attributes]
        num_rows = len(columns[0])
        fields = [
            _read_as(source.columns[f.name], f.format, f.name)
            if source.has_names and f.name in source.columns
            else missing_column(f.format, num_rows)
            for f in self.fields
        ]
        taken = Columns(num_rows, list(self.attributes), columns, list(self.fields), fields)
        return with_rows(taken, source, id, label, nulls, self.id_type)

    def some_columns_of(self, table: Any, id: Any, label: Any) -> Columns:
        """As rows_of, of a table that may lack attributes, too."""
        source = source_of(table)
        if not source.has_names:
            raise InvalidArgument("update takes a table whose columns have names")
        replaced = self._undo_renaming(source)
        id = self._role(id, source, replaced, self.id_name, "id")
        label = self._role(label, source, replaced, self.label_name, "label" if self.has_labels else "")
        if id is None:
            raise InvalidArgument("update needs the ids of the rows: name their column, or give them, with id=...")
        known = {*self._own, self.id_name, self.label_name, *(role for role in (id, label) if isinstance(role, str))}
        for name in source.columns:
            if name not in known:
                raise InvalidArgument(f"the index has no column {name!r}{_core.did_you_mean(name, sorted(self._own))}")
        attributes = [a for a in self.attributes if a.name in source.columns]
        fields = [f for f in self.fields if f.name in source.columns]
        columns = [_read_as(source.columns[a.name], a.format, a.name) for a in attributes]
        field_columns = [_read_as(source.columns[f.name], f.format, f.name) for f in fields]
        if not columns and not field_columns:
            raise InvalidArgument("the table has no column besides ids and labels")
        num_rows = len((columns or field_columns)[0])
        return with_rows(
            Columns(num_rows, attributes, columns, fields, field_columns), source, id, label, "keep", self.id_type
        )

    @cached_property
    def _own(self) -> frozenset[str]:
        return frozenset([*self.names, *(field.name for field in self.fields)])

    def _undo_renaming(self, source: Source) -> dict[str, Any]:
        """Tables of answers call a column "attribute.NAME" where the ids, labels or scores have its name. Renames it,
        and returns what has taken the names."""
        replaced = {}
        taken = {self.id_column, self.label_column, "id", "label", *_OF_ANSWERS}
        for name in taken & self._own if source.has_names else ():
            alias = renamed(name)
            if alias in source.columns and alias not in self._own:
                replaced[name] = source.columns.get(name)
                source.columns[name] = source.columns.pop(alias)
        return replaced

    def _role(self, given: Any, source: Source, replaced: Mapping[str, Any], name: str, usual: str) -> Any:
        """Ids or labels: as given, or the column that the index or tables of answers call so; None for none."""
        if given is not None:
            return None if given is False else source.role(given)
        for wanted in filter(None, (usual, name) if name in _OF_ANSWERS else (name, usual)):
            if wanted in replaced:
                return replaced[wanted]
            is_there = source.has_names and (wanted in source.columns or wanted in source.index)
            if is_there and (wanted == name or wanted not in self._own):
                return wanted
        return None

    def _by_position(self, source: Source) -> dict[str, Any]:
        if len(source.columns) != len(self.attributes):
            raise InputError(f"the array has {len(source.columns)} columns for {len(self.attributes)} attributes")
        return dict(zip(self.names, source.columns.values()))

    def _refuse_misspelt(self, source: Source, id: Any, label: Any) -> None:
        """A table may lack fields, or have columns that the index has not, but not both."""
        roles = [role for role in (id, label) if isinstance(role, str)]
        known = {*self._own, self.id_name, self.label_name, *roles}
        lacking = [field.name for field in self.fields if field.name not in source.columns]
        unknown = [name for name in source.columns if name not in known]
        if lacking and unknown:
            others = ", ".join(map(repr, unknown))
            raise InvalidArgument(
                f"the table has no column {lacking[0]!r}, but {others}, which the index does not know"
            )
