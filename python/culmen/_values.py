"""Columns of answers, as NumPy, Python and other libraries have them."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ._columns import Format
from ._errors import InvalidArgument
from ._times import zone_of

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from ._schema import Schema

_EPOCH = datetime.datetime(1970, 1, 1)
_MOST_SECONDS = (2**63 - 1) // 1000
_MICROSECONDS = {"s": 1_000_000, "ms": 1000, "us": 1}
INT, FLOAT, TEXT = Format("int"), Format("float"), Format("text")


@dataclass
class Values:
    """A column. Texts are a list with None for those that are missing, floats have NaN there, other numbers are int64,
    and marked in `gaps`."""

    format: Format
    values: Any
    gaps: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.values)

    def empty(self, size: int) -> Values:
        """A column of this type for `size` values."""
        return Values(self.format, [] if isinstance(self.values, list) else np.empty(size, dtype=self.values.dtype))

    def fill(self, rows: slice, part: Values) -> None:
        """Puts a part in its place. Texts are appended."""
        if isinstance(self.values, list):
            self.values.extend(part.values)
            return
        self.values[rows] = part.values
        if part.gaps is not None:
            if self.gaps is None:
                self.gaps = np.zeros(len(self), dtype=bool)
            self.gaps[rows] = part.gaps

    def to_numpy(self) -> Any:
        """Dates and timestamps (in UTC) as datetime64 with NaT, other numbers that have gaps as a masked array, texts
        as a list."""
        if self.format.type in ("text", "float"):
            return self.values
        if self.format.type in ("date", "timestamp"):
            values = self.values.view(f"M8[{self.format.unit or 'D'}]")
            return values if self.gaps is None else np.where(self.gaps, np.datetime64("NaT"), values)
        values = self.values.astype(bool) if self.format.type == "bool" else self.values
        return values if self.gaps is None else np.ma.MaskedArray(values, self.gaps)

    def to_list(self) -> list[Any]:
        """Python's objects, with None where a value is missing."""
        if self.format.type == "text":
            return list(self.values)
        objects = self.values.tolist()
        if self.format.type == "float":
            return [None if value != value else value for value in objects]
        if self.format.type != "int":
            objects = list(map(_reader_of(self.format), objects))
        if self.gaps is None:
            return objects
        return [None if gap else value for value, gap in zip(objects, self.gaps)]

    def to_arrow(self) -> pyarrow.Array:
        import pyarrow

        if self.format.type == "text":
            return pyarrow.array(self.values, pyarrow.string())
        if self.format.type == "float":
            gaps = np.isnan(self.values)
            return pyarrow.array(self.values, mask=gaps if gaps.any() else None)
        if self.format.type == "date":
            return pyarrow.array(self.values.astype("i4"), mask=self.gaps).view(pyarrow.date32())
        if self.format.type == "bool":
            return pyarrow.array(self.values.astype(bool), mask=self.gaps)
        values = pyarrow.array(self.values, mask=self.gaps)
        if self.format.type == "int":
            return values
        return values.view(pyarrow.timestamp(self.format.unit, self.format.zone or None))

    def to_pandas(self) -> pandas.Series[Any]:
        import pandas

        if self.format.type == "date":
            return pandas.Series(self.to_list(), dtype=object)
        if self.format.type == "timestamp":
            series = pandas.Series(self.to_numpy())
            return series.dt.tz_localize("UTC").dt.tz_convert(zone_of(self.format.zone)) if self.format.zone else series
        if self.gaps is None:
            return pandas.Series(self.to_numpy())
        values = self.values.astype(bool) if self.format.type == "bool" else self.values
        array = pandas.arrays.BooleanArray if self.format.type == "bool" else pandas.arrays.IntegerArray
        return pandas.Series(array(values, self.gaps.copy()))

    def to_polars(self) -> polars.Series:
        import polars

        if self.format.type == "text":
            return polars.Series(self.values, dtype=polars.String)
        unit = self.format.unit
        values = self.values if unit != "s" else _milliseconds(self.values)  # polars has no seconds
        gaps = np.isnan(values) if self.format.type == "float" else self.gaps
        series = polars.Series(values)
        if gaps is not None and gaps.any():
            series = series.set(polars.Series(gaps), None)
        if self.format.type == "timestamp":
            series = series.cast(polars.Datetime("ms" if unit == "s" else unit))  # type: ignore[arg-type]
            return _in_zone_of_polars(series, self.format.zone)
        kinds = {"bool": polars.Boolean, "date": polars.Int32}
        series = series.cast(kinds[self.format.type]) if self.format.type in kinds else series
        return series.cast(polars.Date) if self.format.type == "date" else series


def _milliseconds(seconds: np.ndarray) -> np.ndarray:
    if len(seconds) and max(abs(int(seconds.min())), abs(int(seconds.max()))) > _MOST_SECONDS:
        raise InvalidArgument(
            "polars counts timestamps in milliseconds, which do not reach all of these seconds: take to_arrow()"
        )
    return seconds * 1000


def _in_zone_of_polars(series: polars.Series, zone: str) -> polars.Series:
    """polars knows zones by name, and no offsets."""
    if not zone:
        return series
    name = "UTC" if zone[0] in "+-" else zone
    return series.dt.replace_time_zone("UTC").dt.convert_time_zone(name)


def _reader_of(format: Format) -> Callable[[int], Any]:
    """Makes a boolean, date or timestamp Python's. Dates and timestamps that Python's do not hold are NumPy's: those of
    nanoseconds without pandas, and years beyond 9999."""
    if format.type == "timestamp":
        return _timestamp_reader(format)
    return bool if format.type == "bool" else _date


def _date(days: int) -> Any:
    try:
        return datetime.date.fromordinal(days + 719_163)
    except (ValueError, OverflowError):
        return np.datetime64(days, "D")


def _timestamp_reader(format: Format) -> Callable[[int], Any]:
    zone = zone_of(format.zone) if format.zone else None
    if format.unit == "ns":
        try:
            import pandas
        except ImportError:
            return lambda value: np.datetime64(value, "ns")
        return lambda value: _moment_or_utc(lambda: pandas.Timestamp(value, unit="ns", tz=zone), value, "ns")

    def moment_of(value: int) -> datetime.datetime:
        moment = _EPOCH + datetime.timedelta(microseconds=value * _MICROSECONDS[format.unit])
        return moment if zone is None else moment.replace(tzinfo=datetime.timezone.utc).astimezone(zone)

    return lambda value: _moment_or_utc(lambda: moment_of(value), value, format.unit)


def _moment_or_utc(moment: Callable[[], Any], value: int, unit: str) -> Any:
    """NumPy's timestamp, in UTC, where there is no other: also if it leaves the years in its zone alone."""
    try:
        return moment()
    except (OverflowError, ValueError):  # pandas raises a ValueError of its own
        return np.int64(value).astype(f"M8[{unit}]")


def columns_of_rows(schema: Schema, taken: tuple[Any, ...], num_rows: int) -> dict[str, Values]:
    """Attributes and fields, of what the extension's RowColumns has taken."""
    matrix, _, fields = taken
    matrix = matrix.reshape(num_rows, len(schema.attributes))
    columns = {a.name: _of_attribute(a.format, matrix[:, i]) for i, a in enumerate(schema.attributes)}
    for field, column in zip(schema.fields, fields):
        columns[field.name] = _of_field(field.format, column)
    return columns


def _of_attribute(format: Format, values: np.ndarray) -> Values:
    if format.type == "float":
        return Values(format, values)
    gaps = np.isnan(values)
    whole = np.where(gaps, 0, values)
    if not _are_of(format, whole):
        return Values(FLOAT, values)
    return Values(format, whole.astype("i8"), gaps if gaps.any() else None)


def _are_of(format: Format, values: np.ndarray) -> bool:
    """Attributes are numbers: later rows may have others than the first ones, such as fractions."""
    if format.type == "bool":
        return bool(((values == 0) | (values == 1)).all())
    return bool(((values == np.rint(values)) & (np.abs(values) < 2.0**63)).all())


def _of_field(format: Format, column: Any) -> Values:
    if format.type == "text":
        return Values(format, column)
    values, gaps = column
    if format.type == "float" and gaps is not None:
        return Values(format, np.where(gaps, np.nan, values))
    return Values(format, values, gaps)


def rows_of(columns: Iterable[Values]) -> list[tuple[Any, ...]]:
    """Python's objects, row by row."""
    return list(zip(*(column.to_list() for column in columns)))


def named_rows(schema: Schema, taken: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Attributes and fields of each row, of what the extension's RowColumns has taken."""
    if schema.has_only_floats and not np.isnan(taken[0]).any():  # the quick case
        return [dict(zip(schema.names, values)) for values in taken[0].tolist()]
    columns = columns_of_rows(schema, taken, len(taken[1]))
    return [dict(zip(columns, values)) for values in rows_of(columns.values())]
