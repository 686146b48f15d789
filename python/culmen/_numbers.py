"""Real numbers of any type."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._errors import InvalidArgument


def is_real_number(value: Any) -> bool:
    """True if the type converts to float without losing an imaginary part."""
    if isinstance(value, np.ndarray):
        return value.ndim == 0 and value.dtype.kind in "biuf"
    if isinstance(value, (complex, np.complexfloating)):
        return False
    return hasattr(type(value), "__float__") or hasattr(type(value), "__index__")


def real_number(name: str, value: Any) -> float:
    """Propagates what the value's own conversion raises."""
    if type(value) is float:
        return value
    if not is_real_number(value):
        raise TypeError(f"{name} is a real number, not {value!r}")
    try:
        return float(value)
    except OverflowError:
        if not isinstance(value, int):
            raise
        raise InvalidArgument(f"{name} is not a number that float64 can hold: {value!r}") from None
