"""One column of a table, converted to what culmen reads: numbers, in place where it can, or texts, and where there are
none."""

from __future__ import annotations

import contextlib
import datetime
import decimal
import numbers
import uuid
from collections import deque
from collections.abc import Callable, KeysView, Sequence, ValuesView
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from . import _core
from ._errors import InputError, InvalidArgument, row_error, short_repr
from ._numbers import as_integer
from ._times import zone_name

UNITS = ("s", "ms", "us", "ns")

_READ_IN_PLACE = {np.dtype(t) for t in ("f4", "f8", "i4", "i8")}
_WIDENED = {
    np.dtype("f2"): "f4",
    np.dtype("b1"): "i4",
    np.dtype("i1"): "i4",
    np.dtype("u1"): "i4",
    np.dtype("i2"): "i4",
    np.dtype("u2"): "i4",
    np.dtype("u4"): "i8",
}

#: The types of None, pandas.NA, pandas.NaT and numpy.ma.masked.
_MISSING = frozenset({"NoneType", "NAType", "NaTType", "MaskedConstant"})

#: Types that a column may have beside each other.
NUMBERS = {"bool", "int", "float"}

#: Of messages.
CALLED = {
    "int": "integers",
    "float": "numbers",
    "bool": "booleans",
    "date": "dates",
    "timestamp": "timestamps",
    "text": "texts",
}


class Format(NamedTuple):
    """What the values of a column are."""

    type: str  #: "float", "int", "bool", "date", "timestamp", "text"; of a table's column also "null": all are missing
    unit: str = ""  #: of timestamps: "s", "ms", "us" or "ns"
    zone: str = ""  #: of timestamps: "UTC", "Europe/Paris"; empty: local times of no known zone

    @property
    def is_number(self) -> bool:
        return self.type in ("float", "int")

    def __str__(self) -> str:
        if self.type != "timestamp":
            return self.type
        return f"timestamp[{self.unit}, {self.zone}]" if self.zone else f"timestamp[{self.unit}]"


@dataclass
class Column:
    """Numbers are float32, float64, int32 or int64, of any stride, in native byte order; ids may be uint64. Dates are
    days, timestamps units, since 1970. Numbers that are missing are marked in `gaps`, or NaN."""

    format: Format
    values: np.ndarray | _core.TextColumn
    gaps: np.ndarray | None = None  #: bool, True where a number is missing

    def __len__(self) -> int:
        return len(self.values)

    def read_column(self, name: str, are_ids: bool = False) -> Column:
        """It is read."""
        if are_ids or not isinstance(self.values, np.ndarray) or self.values.dtype != np.uint64:
            return self
        refuse_beyond_int64(self.values, self.gaps, name)
        return replace(self, values=self.values.astype(np.int64))

    def argument(self) -> tuple[Any, ...]:
        return self.values, self.gaps

    def selected(self, keep: np.ndarray) -> Column:
        if isinstance(self.values, _core.TextColumn):
            return replace(self, values=self.values.selected(keep))
        return replace(self, values=self.values[keep], gaps=None if self.gaps is None else self.gaps[keep])

    def copy(self) -> Column:
        """Of the caller's memory. Texts and gaps are copies already, or arrays that nobody changes."""
        return replace(self, values=self.values.copy()) if isinstance(self.values, np.ndarray) else self

    @property
    def is_exact_in_float64(self) -> bool:
        """Whether float64 holds all integers exactly, as it must where they are ranked."""
        if not isinstance(self.values, np.ndarray) or self.values.dtype != np.int64 or len(self.values) == 0:
            return True
        if -(1 << 53) <= self.values.min() and self.values.max() <= 1 << 53:
            return True
        values = self.values if self.gaps is None else self.values[~self.gaps]
        magnitude = np.abs(values).astype(np.uint64)
        lowest_bit = magnitude & (~magnitude + np.uint64(1))
        return bool((magnitude >> np.uint64(53) <= lowest_bit - np.uint64(1)).all())

    def missing(self) -> np.ndarray | None:
        """bool, True where a number is missing or infinite; None if none is."""
        if not isinstance(self.values, np.ndarray) or self.values.dtype.kind != "f":
            return self.gaps
        gaps = ~np.isfinite(self.values)
        gaps = gaps if self.gaps is None else gaps | self.gaps
        return gaps if gaps.any() else None


def nothing(num_rows: int) -> Column:
    """A column without any value, which says no type."""
    return Column(Format("null"), np.zeros(num_rows, dtype="i4"), np.ones(num_rows, dtype=bool))


def read_column(given: Any, name: str, are_ids: bool = False) -> Column:
    """Of a list, an array, or a column of another library. Raises InputError for what culmen does not keep. Ids of
    uint64 stay so; other numbers are at most int64."""
    if hasattr(given, "read_column"):  # an ArrowColumn
        return given.read_column(name, are_ids)
    if isinstance(given, np.ma.MaskedArray):
        gaps = np.ma.getmaskarray(given) if np.ma.is_masked(given) else None
        return _marked(_from_array(np.ma.getdata(given), name, gaps, are_ids), gaps)
    if isinstance(given, (list, tuple, deque, KeysView, ValuesView)):
        return _from_objects(given if isinstance(given, (list, tuple)) else list(given), name, are_ids)
    return _from_array(np.asarray(given), name, None, are_ids)


def joined_numbers(parts: Sequence[np.ndarray]) -> np.ndarray:
    """One after the other. NumPy would round int64 and uint64 together to float64: they are uint64, or, where one is
    negative, int64."""
    is_unsigned = [part.dtype == np.uint64 for part in parts]
    signed = [part for part in parts if part.dtype.kind == "i"]
    if not any(is_unsigned) or not signed:
        return np.concatenate(parts)
    least = min((int(part.min()) for part in signed if len(part)), default=0)
    most = max((int(part.max()) for part, unsigned in zip(parts, is_unsigned) if unsigned and len(part)), default=0)
    if least < 0 and most >= 1 << 63:
        raise InputError(f"ids are from 0 to 2^64 - 1 where one is 2^63 or more; {least} is not")
    return np.concatenate([part.astype(np.int64 if least < 0 else np.uint64) for part in parts])


def _marked(column: Column, gaps: np.ndarray | None) -> Column:
    if gaps is None:
        return column
    if isinstance(column.values, _core.TextColumn):
        kept = [None if gap else text for text, gap in zip(column.values.to_list(), gaps)]
        return column_of_texts(kept)
    return replace(column, gaps=gaps if column.gaps is None else gaps | column.gaps)


def _from_array(values: np.ndarray, name: str, gaps: np.ndarray | None, are_ids: bool) -> Column:
    if values.ndim == 0:
        raise InvalidArgument(f"column {name!r} is a {type(values.item()).__name__}; a column is a list or an array")
    if values.ndim != 1:
        raise InvalidArgument(f"column {name!r} has {values.ndim} dimensions; a column has one")
    if values.dtype.kind in "OUT":
        return _from_objects(values.tolist(), name, are_ids)
    if values.dtype.kind == "M":
        return _from_datetimes(values, name)
    if not are_ids:
        refuse_beyond_int64(values, gaps, name)
    format = Format("float" if values.dtype.kind == "f" else "bool" if values.dtype.kind == "b" else "int")
    return Column(format, as_elements(values, name, are_ids))


def as_elements(values: np.ndarray, name: str, are_ids: bool) -> np.ndarray:
    """Numbers of a type that culmen reads: the same memory where it can."""
    if values.itemsize > 0 and values.strides[0] % values.itemsize != 0:
        values = values.copy()  # a field of a packed record
    kind = values.dtype.newbyteorder("=")
    if kind in _READ_IN_PLACE:
        return values if values.dtype == kind else values.astype(kind)
    if kind in _WIDENED:
        return values.astype(_WIDENED[kind])
    if kind == np.dtype("u8"):
        return values.astype("u8" if are_ids else "i8")
    what = {"S": "bytes", "V": "records", "m": "durations", "c": "complex numbers"}.get(kind.kind, str(kind))
    raise _refused(name, what, are_ids)


def _refused(name: str, what: str, are_ids: bool = False) -> InputError:
    if are_ids:
        return InputError(f"ids are integers or texts; these are {what}: turn them into texts")
    return InputError(
        f"column {name!r} holds {what}, which culmen does not keep: turn them into numbers or texts, or name the "
        "columns to keep with columns=[...]"
    )


def refuse_beyond_int64(values: np.ndarray, gaps: np.ndarray | None, name: str) -> None:
    if values.dtype.kind != "u" or values.dtype.itemsize < 8:
        return
    is_beyond = values >= np.uint64(1 << 63)
    if gaps is not None:
        is_beyond &= ~gaps
    if is_beyond.any():
        row = int(is_beyond.argmax())
        raise row_error(row, f"column {name!r}: {values[row]} is beyond 2^63 - 1: make the column float64, or texts")


def _from_datetimes(values: np.ndarray, name: str) -> Column:
    unit, count = np.datetime_data(values.dtype)
    if unit in ("Y", "M", "W", "D"):
        format, wanted = Format("date"), "M8[D]"
    elif unit in UNITS or unit in ("h", "m", "generic"):
        kept = unit if unit in UNITS else "s"
        format, wanted = Format("timestamp", kept), f"M8[{kept}]"
    else:
        raise _refused(name, f"timestamps in {unit}, below nanoseconds")
    gaps = np.isnat(values)
    return Column(format, values.astype(wanted, copy=False).view("i8"), gaps if gaps.any() else None)


# ---- Python's objects

#: Of ids that are no integers of 64 bits.
TEXTS_INSTEAD = ': an index of id_type="text" has other ids, as texts'


def is_missing(value: Any) -> bool:
    return type(value).__name__ in _MISSING


def column_of_texts(texts: Sequence[str | None]) -> Column:
    column = _core.TextColumn()
    column.append_list(texts if isinstance(texts, list) else list(texts))
    return Column(Format("text"), column)


def _family(kind: type) -> str:
    """What values of a Python type are: a Format's type, "missing", or "other"."""
    if kind.__name__ in _MISSING:
        return "missing"
    for bases, family in (
        ((str, uuid.UUID), "text"),
        ((bool, np.bool_), "bool"),
        ((int, np.integer), "int"),
        ((datetime.datetime, np.datetime64), "timestamp"),
        (datetime.date, "date"),
        ((complex, np.complexfloating, np.ndarray), "other"),
    ):
        if issubclass(kind, bases):
            return family
    if hasattr(kind, "__float__"):
        return "float"
    return "int" if hasattr(kind, "__index__") else "other"


def _from_objects(values: Sequence[Any], name: str, are_ids: bool) -> Column:
    families = {kind: _family(kind) for kind in set(map(type, values))}
    kinds = found = set(families.values())
    with contextlib.suppress(OverflowError):
        if families.keys() == {float} or families.keys() == {int}:  # the usual ones
            [family] = found
            return Column(Format(family), np.array(values, dtype=np.float64 if family == "float" else np.int64))
    if "other" in found:
        kind = next(kind for kind, family in families.items() if family == "other")
        what = "bytes" if kind in (bytes, bytearray) else f"Python objects of the type {kind.__name__}"
        raise _refused(name, what, are_ids)
    gaps = None
    if "missing" in found or len(found) > 1 or decimal.Decimal in families:  # NaN marks gaps of any column of objects
        gaps = np.fromiter((is_missing(value) or _is_nan(value) for value in values), dtype=bool, count=len(values))
        families = {kind: families[kind] for kind in {type(v) for v, gap in zip(values, gaps) if not gap}}
        found = set(families.values())
    if found == {"bool", "int"} or _are_whole(values, gaps, families):
        found = {"int"}
    elif found <= NUMBERS and "float" in found:
        found = {"float"}
    if len(found) > 1:
        raise _mixed(values, families, name, are_ids)
    if not found and "float" in kinds:
        found = {"float"}
    elif not found:  # no value
        return nothing(len(values))
    [family] = found
    if are_ids and family == "int":
        return _id_objects(values, gaps if gaps is not None and gaps.any() else None)
    return _READERS[family](values, gaps if gaps is not None and gaps.any() else None, name)


def _is_nan(value: Any) -> bool:
    if isinstance(value, decimal.Decimal):
        return value.is_nan()
    return isinstance(value, (float, np.floating)) and bool(value != value)


def _are_whole(values: Sequence[Any], gaps: np.ndarray | None, families: dict[type, str]) -> bool:
    """Whether there are decimals or fractions, all without digits after the point, and other integers at most."""
    broken = [kind for kind, family in families.items() if family == "float"]
    if not broken or not all(issubclass(kind, (decimal.Decimal, numbers.Rational)) for kind in broken):
        return False
    return set(families.values()) <= NUMBERS and all(
        _is_whole(value) for row, value in enumerate(values) if gaps is None or not gaps[row]
    )


def _is_whole(value: Any) -> bool:
    return isinstance(value, (np.integer, np.bool_)) or as_integer(value) is not None


def _mixed(values: Sequence[Any], families: dict[type, str], name: str, are_ids: bool) -> InputError:
    first = next(families[type(value)] for value in values if type(value) in families)
    row = next(i for i, value in enumerate(values) if families.get(type(value), first) != first)
    if are_ids:
        return row_error(
            row, f"ids are all integers or all texts; {short_repr(values[row])} is here beside {CALLED[first]}"
        )
    return row_error(
        row,
        f"column {name!r} holds {CALLED[first]}, but {short_repr(values[row])} here: convert the column to one type, "
        "or name the columns to keep with columns=[...]",
    )


def _text_objects(values: Sequence[Any], gaps: np.ndarray | None, name: str) -> Column:
    texts = values if gaps is None else [None if gap else value for value, gap in zip(values, gaps)]
    if any(issubclass(kind, uuid.UUID) for kind in set(map(type, texts))):
        texts = [str(value) if isinstance(value, uuid.UUID) else value for value in texts]
    return column_of_texts(texts)


def _integer_objects(values: Sequence[Any], gaps: np.ndarray | None, name: str) -> Column:
    whole = values if gaps is None else [0 if gap else value for value, gap in zip(values, gaps)]
    try:
        return Column(Format("int"), np.array([int(value) for value in whole], dtype=np.int64), gaps)
    except OverflowError:
        row = next(i for i, value in enumerate(whole) if not -(1 << 63) <= int(value) < 1 << 63)
        raise row_error(row, f"column {name!r}: {whole[row]} is beyond 2^63: make the column float, or texts") from None


def _id_objects(values: Sequence[Any], gaps: np.ndarray | None) -> Column:
    """Int64, or uint64 if one of them is 2^63 or more."""
    whole = [0 if gaps is not None and gaps[row] else int(value) for row, value in enumerate(values)]
    is_unsigned = max(whole) >= 1 << 63
    least, end, what = (0, 1 << 64, "from 0 to 2^64 - 1 where one is 2^63 or more") if is_unsigned else (
        -(1 << 63), 1 << 63, "from -2^63 on"
    )  # fmt: skip
    for row, id in enumerate(whole):
        if not least <= id < end:
            raise row_error(row, f"ids that are integers are {what}; {id} is not{TEXTS_INSTEAD}")
    return Column(Format("int"), np.array(whole, dtype=np.uint64 if is_unsigned else np.int64), gaps)


def _boolean_objects(values: Sequence[Any], gaps: np.ndarray | None, name: str) -> Column:
    flags = values if gaps is None else [False if gap else value for value, gap in zip(values, gaps)]
    return Column(Format("bool"), np.array(flags, dtype=bool).astype("i4"), gaps)


def _float_objects(values: Sequence[Any], gaps: np.ndarray | None, name: str) -> Column:
    numbers = np.empty(len(values))
    for row, value in enumerate(values):
        numbers[row] = np.nan if gaps is not None and gaps[row] else _as_float(value, row, name)
    return Column(Format("float"), numbers)


def _as_float(value: Any, row: int, name: str) -> float:
    if type(value) is float:
        return value
    try:
        number = float(value)
    except OverflowError:
        raise row_error(row, f"column {name!r}: {value} is not a number that float64 can hold") from None
    if _is_rounded(value, number):
        raise row_error(
            row, f"column {name!r}: float64 would round {value} to {number!r}: make the column float if that is fine"
        )
    return number


def _is_rounded(value: Any, number: float) -> bool:
    """Decimals are those that float64 gives back, other numbers are exact."""
    if isinstance(value, decimal.Decimal):
        return value.is_finite() and decimal.Decimal(repr(number)) != value
    if isinstance(value, numbers.Rational):  # integers among them
        return (int(value) if isinstance(value, np.integer) else value) != number
    return isinstance(value, np.longdouble) and bool(value == value and np.longdouble(number) != value)


def _date_objects(values: Sequence[Any], gaps: np.ndarray | None, name: str) -> Column:
    dates = values if gaps is None else [None if gap else value for value, gap in zip(values, gaps)]
    return replace(_from_datetimes(np.array(dates, dtype="M8[D]"), name), gaps=gaps)


def _timestamp_objects(values: Sequence[Any], gaps: np.ndarray | None, name: str) -> Column:
    zones: set[str | None] = set()
    moments: list[Any] = []
    for row, value in enumerate(values):
        if gaps is not None and gaps[row]:
            moments.append(np.datetime64("NaT"))
            continue
        zone = getattr(value, "tzinfo", None)
        zones.add(None if zone is None else zone_name(zone))
        if len(zones) > 1 and None in zones:
            raise row_error(row, f"column {name!r} holds timestamps with and without a time zone")
        moments.append(_in_utc(value))
    column = _from_datetimes(np.array(moments), name)
    zone = "" if None in zones else zones.pop() if len(zones) == 1 else "UTC"
    return replace(column, format=column.format._replace(zone=zone or ""), gaps=gaps)


def _in_utc(value: Any) -> Any:
    if hasattr(value, "to_datetime64"):
        return value.to_datetime64()  # pandas': in UTC
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    return np.datetime64(value)


_READERS: dict[str, Callable[[Sequence[Any], np.ndarray | None, str], Column]] = {
    "text": _text_objects,
    "int": _integer_objects,
    "bool": _boolean_objects,
    "float": _float_objects,
    "date": _date_objects,
    "timestamp": _timestamp_objects,
}
