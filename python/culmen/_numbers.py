"""Real numbers of any type."""

from __future__ import annotations

import decimal
import numbers
from typing import Any

import numpy as np

from ._errors import InvalidArgument, short_repr


def is_real_number(value: Any) -> bool:
    """True if the type converts to float without losing an imaginary part."""
    if isinstance(value, np.ndarray):
        return value.ndim == 0 and value.dtype.kind in "biuf"
    if isinstance(value, (complex, np.complexfloating)):
        return False
    return hasattr(type(value), "__float__") or hasattr(type(value), "__index__")


def as_integer(value: Any) -> int | None:
    """A decimal or a fraction without digits after the point as an integer of 64 bits; None for all others."""
    if isinstance(value, decimal.Decimal):
        exponent = value.as_tuple().exponent
        if not isinstance(exponent, int) or exponent < 0:  # of infinity it is a letter
            return None
    elif not isinstance(value, numbers.Rational) or value.denominator != 1:
        return None
    return int(value) if -(1 << 63) <= value < 1 << 63 else None


def real_number(name: str, value: Any) -> float:
    """Propagates what the value's own conversion raises."""
    if type(value) is float:
        return value
    if not is_real_number(value):
        raise TypeError(f"{name} is a real number, not {short_repr(value)}")
    try:
        return float(value)
    except OverflowError:
        if not isinstance(value, int):
            raise
        raise InvalidArgument(f"{name} is not a number that float64 can hold: {value!r}") from None
