"""Columns in the format of an index that is there, and the columns of several files in one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from . import _core
from ._columns import CALLED, NUMBERS, Column, Format, column_of_texts, joined_numbers, nothing
from ._errors import InputError, row_error

_PER_SECOND = {"s": 1, "ms": 1000, "us": 1_000_000, "ns": 1_000_000_000}
_PER_DAY = {unit: 86_400 * count for unit, count in _PER_SECOND.items()}


def _has_no_value(column: Column) -> bool:
    """In no row. Then its type says little: NumPy and pandas call it one of floats or texts, whatever it is."""
    if isinstance(column.values, _core.TextColumn):
        return _misses_all(column)
    if column.gaps is not None and column.gaps.all():
        return True
    return column.values.dtype.kind == "f" and bool(np.isnan(column.values).all())


def fitted(column: Column, wanted: Format, name: str) -> Column:
    """The column as one of the index's, which has the format `wanted`. The library checks that numbers fit."""
    have = column.format
    if have == wanted:
        return column
    if have.type == "null" or _has_no_value(column):
        return missing_column(wanted, len(column))
    if have.type in NUMBERS and wanted.type in NUMBERS:
        return replace(column, format=wanted)
    if have.type == "date" and wanted.type == "timestamp" and not wanted.zone:
        return _in_unit(column, wanted, _PER_DAY[wanted.unit], 1, name)
    if have.type == "timestamp" and wanted.type == "date" and not have.zone:
        return _in_unit(column, wanted, 1, _PER_DAY[have.unit], name)
    if have.type == wanted.type == "timestamp" and bool(have.zone) == bool(wanted.zone):
        return _in_unit(column, wanted, *_ratio(_PER_SECOND[wanted.unit], _PER_SECOND[have.unit]), name)
    if have.type == wanted.type:
        zone = "a time zone" if have.zone else "no time zone"
        raise InputError(f"column {name!r} holds timestamps of {zone}; those of the index are {wanted}")
    raise InputError(f"column {name!r} holds {CALLED[have.type]}; the index has {CALLED[wanted.type]} there")


def joined(parts: list[Column], name: str, files: list[str]) -> Column:
    """The columns of several files one after the other, as one of a type that holds them all."""
    if len(parts) == 1:
        return parts[0]
    known = [nothing(len(part)) if _misses_all(part) else part for part in parts]
    format = common_format([(part.format, file) for part, file in zip(known, files)], name)
    for part, file in zip(known, files):
        if format.type == "float" and not part.is_exact_in_float64:
            raise InputError(
                f"column {name!r} has fractions, and in {file} integers that float64 would round: make the column "
                "float there if that is fine, or name the columns to keep with columns=[...]"
            )
    fits = [fitted(part, format, name) for part in known]
    if format.type == "text":
        texts = _core.TextColumn()
        for part in fits:
            assert isinstance(part.values, _core.TextColumn)
            texts.append(part.values)
        return Column(format, texts)
    gaps = None
    if any(part.gaps is not None for part in fits):
        gaps = np.concatenate([np.zeros(len(p), dtype=bool) if p.gaps is None else p.gaps for p in fits])
    return Column(format, joined_numbers([np.asarray(part.values) for part in fits]), gaps)


def _misses_all(column: Column) -> bool:
    return isinstance(column.values, _core.TextColumn) and column.values.misses_all()


def common_format(found: list[tuple[Format, str]], name: str) -> Format:
    """A format that holds the values of all; each comes with the file that it is of."""
    found = [(format, file) for format, file in found if format.type != "null"]
    formats = {format for format, _ in found}
    types = {format.type for format in formats}
    if len(formats) <= 1:
        return next(iter(formats), Format("text"))
    if types == {"int", "float"}:
        return Format("float")
    zones = {format.zone for format in formats if format.type == "timestamp"}
    if types <= {"date", "timestamp"} and ("" not in zones or zones == {""}) and ("date" not in types or zones == {""}):
        finest = max((format.unit for format in formats), key=lambda unit: _PER_SECOND.get(unit, 0))
        return Format("timestamp", finest, zones.pop() if len(zones) == 1 else "UTC")
    first: dict[str, str] = {}
    for format, file in found:
        first.setdefault(_kind(format), file)
    shown = ", ".join(f"{kind} in {file}" for kind, file in first.items())
    raise InputError(
        f"column {name!r} holds {shown}: make it of one type, or name the columns to keep with columns=[...]"
    )


def _kind(format: Format) -> str:
    """For messages about columns that do not fit each other."""
    if format.type != "timestamp":
        return CALLED[format.type]
    return f"timestamps {f'of the zone {format.zone}' if format.zone else 'without a zone'}"


def _ratio(a: int, b: int) -> tuple[int, int]:
    return (a // b, 1) if a >= b else (1, b // a)


def missing_column(format: Format, num_rows: int) -> Column:
    if format.type == "text":
        return column_of_texts([None] * num_rows)
    return Column(format, np.zeros(num_rows, dtype="i4"), np.ones(num_rows, dtype=bool))


def _in_unit(column: Column, wanted: Format, factor: int, divisor: int, name: str) -> Column:
    assert isinstance(column.values, np.ndarray)
    values = column.values.astype("i8")
    if column.gaps is not None:
        values = np.where(column.gaps, 0, values)
    is_lost = (values % divisor != 0) | (abs(values // divisor) > ((1 << 63) - 1) // factor)
    if is_lost.any():
        row = int(is_lost.argmax())
        raise row_error(row, f"column {name!r}: the index's {wanted} does not hold this {column.format} exactly")
    return Column(wanted, values // divisor * factor, column.gaps)
