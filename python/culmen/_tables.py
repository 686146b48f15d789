"""Takes from a table what an index keeps: attributes, fields, ids and labels."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from . import _core
from ._columns import Column, Format, read_column
from ._errors import InputError, InvalidArgument
from ._fitting import fitted
from ._ids import IdType, check_id_type, encoded, id_type_of, read_any_ids, read_labels, whole_numbers
from ._numbers import is_real_number, real_number
from ._sources import Source, source_of

#: Names, with ":low" if small values are good, or a mapping of names to "high" or "low".
Attributes = Sequence[str] | Mapping[str, str] | None

#: What stands in for missing values: "worst", "median", "mean", a number, "refuse"; or one of these by name.
Missing = str | float | Mapping[str, str | float] | None


class Attribute(NamedTuple):
    """A ranked column, as the extension takes it."""

    name: str
    preference: str
    stand_in: str
    number: float  # for the stand-in "number"
    format: Format


class Field(NamedTuple):
    """Any other column, as the extension takes it."""

    name: str
    role: str  # "filter" or "stored"
    format: Format


@dataclass
class Columns:
    """The input of the extension."""

    num_rows: int
    attributes: list[Attribute]  # empty: by position, in the order of the index
    columns: list[Column]  # of the attributes
    fields: list[Field] = field(default_factory=list)
    field_columns: list[Column] = field(default_factory=list)
    ids: np.ndarray | None = None  # None: the rows' numbers, dropped rows counted
    labels: _core.TextColumn | None = None
    dropped: np.ndarray | None = None  # the numbers of dropped rows, ascending
    dropped_ids: np.ndarray | list[str] | None = None  # of those that have one; as the extension has ids
    id_name: str = ""
    label_name: str = ""
    id_type: IdType = "int64"

    @property
    def num_dropped(self) -> int:
        return 0 if self.dropped is None else len(self.dropped)

    def arguments(self) -> dict[str, Any]:
        return {
            **{name: value for name, value in vars(self).items() if name != "dropped_ids"},
            "columns": [column.argument() for column in self.columns],
            "field_columns": [column.argument() for column in self.field_columns],
        }


@dataclass(frozen=True)
class Choice:
    """What a build makes of a table's columns; documented at Index.build."""

    attributes: Attributes = None
    id: Any = None
    label: Any = None
    columns: Collection[str] | None = None
    stored: Collection[str] | None = None
    missing: Missing = None
    nulls: str = "keep"
    id_type: IdType | None = None

    def __post_init__(self) -> None:
        check_nulls(self.nulls)
        check_id_type(self.id_type)
        for name in ("columns", "stored"):
            if isinstance(getattr(self, name), str):
                raise InvalidArgument(f"{name} is a list of names, not the text {getattr(self, name)!r}")

    def named_columns(self, known: Collection[str]) -> list[str]:
        """All columns that it names. `known`: those of the table."""
        attributes = [] if self.attributes is None else list(preferences_of(self.attributes, known))
        roles = [role for role in (self.id, self.label) if isinstance(role, str)]
        return [*dict.fromkeys([*attributes, *map(str, self.columns or ()), *map(str, self.stored or ()), *roles])]


def check_nulls(nulls: str) -> None:
    if nulls not in ("keep", "drop"):
        advice = '; missing="refuse" raises for a gap' if nulls == "error" else ""
        raise InvalidArgument(f'nulls is "keep" or "drop", not {nulls!r}{advice}')


def take_table(table: Any, choice: Choice) -> Columns:
    source = table if isinstance(table, Source) else source_of(table)
    choice = replace(choice, id=source.role(choice.id), label=source.role(choice.label))
    preferences = _preferences(choice, source)
    kept = _kept(choice, source, preferences)
    if "" in kept:
        raise InputError("a column has an empty name: rename it, or name the columns to keep with columns=[...]")
    columns = {name: read_column(source.take(name, "a column"), name) for name in kept}
    if preferences is None:
        preferences = _ranked_by_default(columns, choice)
    stand_ins = stand_ins_of(choice.missing, preferences)
    ranked = {name: _as_numbers(columns.pop(name), name) for name in preferences}
    taken = Columns(
        0,
        [Attribute(name, preferences[name], *stand_ins[name], column.format) for name, column in ranked.items()],
        list(ranked.values()),
        [Field(name, _role_of(name, column, choice), _kept_format(column)) for name, column in columns.items()],
        [_as_kept(column) for column in columns.values()],
        id_name=choice.id if isinstance(choice.id, str) else "",
        label_name=choice.label if isinstance(choice.label, str) else "",
    )
    return with_rows(taken, source, choice.id, choice.label, choice.nulls, choice.id_type)


def with_rows(taken: Columns, source: Source, id: Any, label: Any, nulls: str, id_type: IdType | None) -> Columns:
    """Adds ids and labels, and drops rows. Without a type it is that of the ids."""
    attributes = [attribute.name for attribute in taken.attributes]
    ids = source.take(id, "the ids") if isinstance(id, str) else id
    labels = source.take(label, "the labels") if isinstance(label, str) else label
    fields = [field.name for field in taken.fields]
    others = [(id, ids)] if isinstance(id, str) and hasattr(ids, "__len__") and not isinstance(ids, str) else []
    num_rows = _length([*zip(attributes, taken.columns), *zip(fields, taken.field_columns), *others], ids)
    if isinstance(id, (list, tuple)) and len(id) != num_rows and any(name in source.columns for name in id):
        raise InvalidArgument(f"id is the name of one column, or an id for each of {num_rows} rows, not {id!r}")
    given_ids, id_gaps = (
        (None, None) if ids is None else read_any_ids(ids, num_rows, id_type, id if isinstance(id, str) else "")
    )
    keep = _rows_to_keep(taken.columns, id_gaps, nulls)
    if keep is None and id_gaps is not None:
        raise InputError(
            f"column {id if isinstance(id, str) else 'the ids'!r} has no value in row "
            f"{int(id_gaps.argmax()) + 1} ({int(id_gaps.sum())} of {num_rows} rows): fill the gaps, or "
            "leave such rows out with nulls='drop'"
        )
    texts: _core.TextColumn | None = None  # labels, or ids
    numbers: np.ndarray | None = None
    if isinstance(given_ids, _core.TextColumn):
        if labels is not None:
            raise InvalidArgument("a table whose ids are texts has no labels besides: leave label out")
        texts, id_type = given_ids, "text"
    elif given_ids is not None:
        numbers = whole_numbers(given_ids if keep is None else given_ids[keep])
        id_type = id_type or id_type_of(numbers)
    elif id_type in ("uint64", "text"):
        raise InvalidArgument(
            f"an index whose ids are {id_type} assigns none: name their column, or give them, with id=..."
        )
    if labels is not None:
        texts = read_labels(labels, num_rows)
    whole = replace(
        taken,
        num_rows=num_rows,
        ids=None if numbers is None else encoded(numbers, id_type or "int64"),
        id_type=id_type or "int64",
        labels=texts,
        dropped=source.dropped,
    )
    # A reader that has dropped rows has dropped all.
    if keep is None:
        return whole
    has_id = ~keep if id_gaps is None else ~keep & ~id_gaps
    return replace(_only(whole, keep), dropped_ids=_ids_of(given_ids, has_id, whole.id_type))


def _kept(choice: Choice, source: Source, preferences: Mapping[str, str] | None) -> list[str]:
    """The names of attributes and fields, attributes first."""
    others = {name for name in (choice.id, choice.label) if isinstance(name, str)}
    known = source.columns if choice.columns is None else map(str, choice.columns)
    kept = [*(preferences or ()), *known, *map(str, choice.stored or ())]
    return [name for name in dict.fromkeys(kept) if name not in others or name in (preferences or ())]


def _ranked_by_default(columns: Mapping[str, Column], choice: Choice) -> dict[str, str]:
    """Numbers, but for integers that float64 does not hold: ids of other tables, say."""
    stored = set(map(str, choice.stored or ()))
    ranked = {
        name: "high"
        for name, column in columns.items()
        if name not in stored and (_is_empty(column) or (column.format.is_number and column.is_exact_in_float64))
    }
    if columns and not ranked:
        raise InputError(
            "no column holds numbers to rank by: name others, or columns of booleans, dates or timestamps, with "
            f"attributes=[...]; there are {', '.join(f'{n!r} ({_described(column)})' for n, column in columns.items())}"
        )
    return ranked


def _described(column: Column) -> str:
    is_rounded = column.format.is_number and not column.is_exact_in_float64
    return f"{column.format}, some beyond 2^53, which float64 would round" if is_rounded else str(column.format)


def _is_empty(column: Column) -> bool:
    """An empty list, which says no type."""
    return len(column) == 0 and column.format.type == "null"


def _role_of(name: str, column: Column, choice: Choice) -> str:
    if choice.stored is not None:
        return "stored" if name in map(str, choice.stored) else "filter"
    is_stored = isinstance(column.values, _core.TextColumn) and column.values.is_nearly_unique()
    return "stored" if is_stored else "filter"


def _as_numbers(column: Column, name: str) -> Column:
    if column.format.type == "text":
        raise InputError(
            f"column {name!r} holds texts, which cannot be ranked, only be filtered by: name the columns to rank by "
            "with attributes=[...]"
        )
    if column.format.type == "null":
        return replace(column, format=Format("float"))
    return column


def _kept_format(column: Column) -> Format:
    return Format("text") if column.format.type == "null" else column.format


def _as_kept(column: Column) -> Column:
    return fitted(column, Format("text"), "") if column.format.type == "null" else column


def stand_ins_of(missing: Missing, attributes: Collection[str]) -> dict[str, tuple[str, float]]:
    if not isinstance(missing, Mapping):
        return dict.fromkeys(attributes, _stand_in(missing))
    missing = {str(name): given for name, given in missing.items()}
    for name in missing:
        if name not in attributes:
            raise InvalidArgument(
                f"no attribute {name!r} for missing=...; there are {', '.join(map(repr, attributes))}"
            )
    return {name: _stand_in(missing.get(name)) for name in attributes}


def _stand_in(given: Any) -> tuple[str, float]:
    if given is None:
        return "worst", 0.0
    if isinstance(given, str) and given in ("worst", "median", "mean", "refuse"):
        return given, 0.0
    if isinstance(given, str) or not is_real_number(given):
        raise InvalidArgument(f'missing is "worst", "median", "mean", "refuse" or a number, not {given!r}')
    return "number", real_number("missing", given)


def _preferences(choice: Choice, source: Source) -> dict[str, str] | None:
    """None: the attributes depend on the types of the columns. Those of an array without names are all ranked."""
    if choice.attributes is None:
        return None if source.has_names else dict.fromkeys(source.columns, "high")
    if source.has_names:
        return preferences_of(choice.attributes, source.columns)
    preferences = preferences_of(choice.attributes, ())
    if len(preferences) != len(source.columns):
        raise InvalidArgument(f"{len(preferences)} attributes for the {len(source.columns)} columns of the array")
    source.columns = dict(zip(preferences, source.columns.values()))
    return preferences


def preferences_of(attributes: Attributes, known: Container[str]) -> dict[str, str]:
    """ "high" or "low" by name. A known name may have a colon in it."""
    if attributes is None or isinstance(attributes, str):
        raise InvalidArgument(f"attributes is a list of names, or a dict, not the text {attributes!r}")
    if isinstance(attributes, Mapping):
        return {str(name): preference for name, preference in attributes.items()}
    preferences: dict[str, str] = {}
    for given in attributes:
        attribute = str(given)
        if not isinstance(given, (str, int, np.integer)) and attribute not in known:
            raise InvalidArgument(f"attributes are named by texts, not by {given!r}")
        name, _, preference = (attribute, "", "") if attribute in known else attribute.rpartition(":")
        if not name:
            name, preference = preference, ""
        if name in preferences:
            raise InvalidArgument(f"attribute {name!r} comes twice")
        preferences[name] = preference or "high"
    return preferences


def _length(columns: Iterable[tuple[str, Any]], ids: Any) -> int:
    lengths = {name: len(column) for name, column in columns}
    if len(set(lengths.values())) > 1:
        raise InvalidArgument(
            "the columns differ in length: " + ", ".join(f"{name!r} has {n}" for name, n in lengths.items())
        )
    return next(iter(lengths.values()), 0 if ids is None else len(ids))


def _rows_to_keep(columns: Iterable[Column], id_gaps: np.ndarray | None, nulls: str) -> np.ndarray | None:
    """None: all rows."""
    if nulls == "keep":
        return None
    gaps = [gap for gap in (id_gaps, *(column.missing() for column in columns)) if gap is not None]
    return ~np.logical_or.reduce(gaps) if gaps else None


def _only(table: Columns, keep: np.ndarray) -> Columns:
    """The rows to keep, with the numbers of the others; the ids are already theirs."""
    return replace(
        only_rows(replace(table, ids=None), keep), ids=table.ids, dropped=np.flatnonzero(~keep).astype(np.uint64)
    )


def _ids_of(given: np.ndarray | _core.TextColumn | None, rows: np.ndarray, id_type: IdType) -> Any:
    """Of dropped rows: what is no id is left out, too."""
    if given is None:
        return None
    if isinstance(given, _core.TextColumn):
        return given.selected(rows).to_list()
    ids = given[rows]
    return encoded(whole_numbers(ids[ids == np.floor(ids)] if ids.dtype.kind == "f" else ids), id_type)


def only_rows(table: Columns, keep: np.ndarray) -> Columns:
    return replace(
        table,
        num_rows=int(keep.sum()),
        columns=[column.selected(keep) for column in table.columns],
        field_columns=[column.selected(keep) for column in table.field_columns],
        ids=None if table.ids is None else table.ids[keep],
        labels=None if table.labels is None else table.labels.selected(keep),
        dropped=None,
        dropped_ids=None,
    )
