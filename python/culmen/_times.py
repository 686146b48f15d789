"""Dates and timestamps: how filters write them, and the zones of timestamps."""

from __future__ import annotations

import datetime
import re
import uuid
import zoneinfo
from typing import Any

import numpy as np

from ._errors import InvalidArgument


def text_of_value(value: Any) -> str | None:
    """A date, a timestamp or a UUID as a filter's text writes it; None for other values. What has a zone is written in
    UTC."""
    if isinstance(value, np.datetime64):
        unit = np.datetime_data(value.dtype)[0]
        if unit in ("Y", "M", "W"):
            value = value.astype("M8[D]")
        elif unit in ("h", "m"):
            value = value.astype("M8[s]")
        _refuse_nat(np.isnat(value))
        return _with_signed_year(str(value).replace("T", " "))
    if isinstance(value, datetime.datetime):  # pandas' too
        _refuse_nat(value != value)
        if value.tzinfo is None:
            return value.isoformat(sep=" ")
        return value.astimezone(datetime.timezone.utc).replace(tzinfo=None).isoformat(sep=" ") + "Z"
    if isinstance(value, datetime.date):
        return value.isoformat()
    return str(value) if isinstance(value, uuid.UUID) else None


def _with_signed_year(text: str) -> str:
    """NumPy's years before 0001 and after 9999 as culmen writes them: 12345 is +12345, and -001 is -0001."""
    sign, year, rest = re.fullmatch(r"(-?)(\d+)(-.*)", text).groups()  # type: ignore[union-attr]
    if not sign and len(year) == 4 and year != "0000":
        return text
    return f"{sign or '+'}{year:0>4}{rest}"


def _refuse_nat(is_nat: bool) -> None:
    if is_nat:
        raise InvalidArgument("a value of a filter is NaT: is_null() finds the rows without a value")


def zone_name(zone: datetime.tzinfo) -> str:
    """Of a name that other libraries know, or an offset, "+02:00"; "UTC" where it has neither."""
    name = getattr(zone, "key", None) or getattr(zone, "zone", None)
    if isinstance(name, str):
        return name
    text = str(zone)
    return text.removeprefix("UTC") or "UTC" if re.fullmatch(r"UTC([+-]\d\d:\d\d)?", text) else "UTC"


def zone_of(name: str) -> datetime.tzinfo:
    """UTC for a name that this machine does not know."""
    offset = re.fullmatch(r"([+-])(\d\d):?(\d\d)", name)
    if offset:
        minutes = 60 * int(offset[2]) + int(offset[3])
        return datetime.timezone(datetime.timedelta(minutes=-minutes if offset[1] == "-" else minutes))
    try:
        return datetime.timezone.utc if name.upper() in ("UTC", "Z") else zoneinfo.ZoneInfo(name)
    except (ValueError, zoneinfo.ZoneInfoNotFoundError):
        return datetime.timezone.utc
