"""Ids and labels of rows."""

from __future__ import annotations

import operator
import uuid
from collections.abc import Iterable, Iterator, Sequence, Set, ValuesView
from typing import Any, Literal

import numpy as np

from . import _core
from ._arrow import arrow_column
from ._columns import CALLED, TEXTS_INSTEAD, Column, is_missing, read_column
from ._errors import InputError, InvalidArgument, WrongType, short_repr
from ._sources import column_of, refuse_lazy


def read_ids(given: Any, num_rows: int, name: str = "") -> tuple[np.ndarray, np.ndarray | None]:
    """The numbers as they are, and bool, True where one is missing; None if none is. NaN is a gap: pandas stores
    integers with gaps as float64. name: of their column, for messages."""
    column = read_column(column_of(given), "the ids", are_ids=True)
    if not column.format.is_number and column.format.type != "null":
        raise InputError(f"{_prefix(name)}ids are integers; {_these_are(column)}{TEXTS_INSTEAD}")
    if len(column) != num_rows:
        raise InvalidArgument(f"there are {len(column)} ids for {num_rows} rows")
    values, gaps = column.values, column.gaps
    assert isinstance(values, np.ndarray)
    if values.dtype.kind == "f":
        gaps = ~np.isfinite(values) if gaps is None else gaps | ~np.isfinite(values)
    return values, gaps if gaps is not None and gaps.any() else None


def read_any_ids(
    given: Any, num_rows: int, id_type: IdType | None, name: str = ""
) -> tuple[np.ndarray | _core.TextColumn, np.ndarray | None]:
    """As read_ids, or texts if the type may be these."""
    column = read_column(column_of(given), "the ids", are_ids=True)
    if not isinstance(column.values, _core.TextColumn) or id_type not in (None, "text"):
        if id_type == "text" and column.format.type != "null" and num_rows > 0:
            raise InputError(f"{_prefix(name)}ids are texts; {_these_are(column)}: turn them into texts")
        return read_ids(column, num_rows, name)
    if len(column) != num_rows:
        raise InvalidArgument(f"there are {len(column)} ids for {num_rows} rows")
    gaps: Any = column.values.gaps()
    return column.values, gaps


def _prefix(name: str) -> str:
    return f"column {name!r}: " if name else ""


def _these_are(column: Column) -> str:
    """ "these are dates, such as 2024-12-31"."""
    what = f"these are {CALLED[column.format.type]}"
    missing = column.missing()
    known = np.arange(len(column)) if missing is None else np.flatnonzero(~missing)
    if len(known) == 0 or isinstance(column.values, _core.TextColumn):
        return what
    value = column.values[known[0]]
    if column.format.type in ("date", "timestamp"):
        value = np.int64(value).astype(f"M8[{column.format.unit or 'D'}]")
    return f"{what}, such as {bool(value) if column.format.type == 'bool' else value}"


#: What the ids of an index are. The extension has those of uint64 as int64, with their top bit flipped, so that they
#: compare as the numbers do, and texts in the place of labels (culmen/id_type.h).
IdType = Literal["int64", "uint64", "text"]
TOP_BIT_OF_ID = 1 << 63
TOP_BIT = np.uint64(TOP_BIT_OF_ID)

_MOST_BYTES = 32_767  # of a text

#: Of one row or of several.
Ids = int | str | uuid.UUID | Iterable[int] | Iterable[str] | Iterable[uuid.UUID] | np.ndarray


def check_id_type(id_type: str | None) -> None:
    if id_type not in (None, "int64", "uint64", "text"):
        raise InvalidArgument(f'id_type is "int64", "uint64" or "text", not {id_type!r}')


def id_type_of(numbers: np.ndarray) -> IdType:
    """What whole_numbers says."""
    return "uint64" if numbers.dtype == np.uint64 else "int64"


def encoded(numbers: np.ndarray, id_type: IdType) -> np.ndarray:
    """Whole numbers, or what stands in for texts, as the extension has ids of this type: int64."""
    is_unsigned = numbers.dtype == np.uint64
    if id_type != "uint64":
        if is_unsigned and len(numbers) and numbers.max() >= TOP_BIT:
            raise InputError(
                f'ids are below 2^63 where they are int64; {numbers.max()} is not: build with id_type="uint64"'
            )
        return np.ascontiguousarray(numbers, dtype=np.int64)
    if not is_unsigned and len(numbers) and numbers.min() < 0:
        raise InputError(f"ids are from 0 to 2^64 - 1 where they are uint64; {numbers.min()} is not")
    return (numbers.astype(np.uint64) ^ TOP_BIT).view(np.int64)


def decoded(ids: np.ndarray, id_type: IdType) -> np.ndarray:
    """The numbers of ids that the extension has returned; of texts, what stands in for them."""
    return ids.view(np.uint64) ^ TOP_BIT if id_type == "uint64" else ids.view(np.int64)


def whole_numbers(values: np.ndarray) -> np.ndarray:
    """Ids without gaps: int64, or uint64 if they are so or one is 2^63 or more."""
    if values.dtype.kind == "O":
        values = np.asarray(values.tolist())
    if values.dtype.kind == "f":
        if not (is_integer := values == np.floor(values)).all():
            raise InputError(f"ids are integers; {values[~is_integer][0]} is not{TEXTS_INSTEAD}")
        if (abs(values) >= 2.0 ** (np.finfo(values.dtype).nmant + 1)).any():
            raise InputError(f"ids are integers; some of these are too large for {values.dtype} to hold exactly")
        values = values.astype(np.int64)
    if values.dtype.kind not in "iu":
        found = "texts" if values.dtype.kind in "SUT" else values.dtype
        raise InputError(f"ids are integers; these are {found}{TEXTS_INSTEAD}")
    is_uint64 = values.dtype.kind == "u" and values.dtype.itemsize == 8
    return np.ascontiguousarray(values, dtype=np.uint64 if is_uint64 else np.int64)


def _without_gaps(values: np.ndarray, gaps: np.ndarray | None) -> np.ndarray:
    if gaps is not None:
        raise InputError("an id has no value")
    return whole_numbers(values)


def read_labels(given: Any, num_rows: int) -> _core.TextColumn:
    given = column_of(given)
    if hasattr(given, "read_column"):
        column = given.read_column("the labels")
        if isinstance(column.values, _core.TextColumn):
            return _of_all_rows(column.values, num_rows)
        if column.format.type != "int":
            raise InputError(f"labels are texts; these are of the type {column.format}")
        gaps = np.zeros(len(column), dtype=bool) if column.gaps is None else column.gaps
        given = [None if gap else value for value, gap in zip(column.values.tolist(), gaps)]
    labels = _core.TextColumn()
    labels.append_list([_text(value) for value in given])
    return _of_all_rows(labels, num_rows)


def _of_all_rows(labels: _core.TextColumn, num_rows: int) -> _core.TextColumn:
    if len(labels) != num_rows:
        raise InvalidArgument(
            f"label names one column, or has a text for each row: there are {len(labels)} for {num_rows} rows"
        )
    return labels


def _text(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    if is_missing(value) or value != value:
        return None
    if isinstance(value, bytes):
        raise InputError(f"a label is a text, not the bytes {value!r}")
    return str(value)


def any_id_of(given: Any, id_type: IdType) -> int | str:
    """The id of a row that is looked up, as the extension has it. Refuses what no row can have as its id."""
    if id_type == "text":
        if not isinstance(given, (str, uuid.UUID)):
            raise WrongType(_not_one_id(given, "texts"))
        return _checked_text(str(given))
    try:
        number = operator.index(given)
    except TypeError:
        raise WrongType(_not_one_id(given, "integers")) from None
    if isinstance(given, bool):
        raise WrongType(_not_one_id(given, "integers"))
    least, end = ends_of(id_type)
    if not least <= number < end:
        ends = "0 to 2^64 - 1" if id_type == "uint64" else "-2^63 to 2^63 - 1"
        raise InvalidArgument(f"no row has the id {short_repr(number)}: those of this index are {id_type}, {ends}")
    return number - (TOP_BIT_OF_ID if id_type == "uint64" else 0)


def possible_id(given: object, id_type: IdType) -> int | str | None:
    """As any_id_of; None for an object that no row can have as its id."""
    if id_type == "text":
        return str(given) if isinstance(given, (str, uuid.UUID)) and may_be_id(str(given)) else None
    least, end = ends_of(id_type)
    is_id = isinstance(given, (int, np.integer)) and not isinstance(given, bool) and least <= given < end
    return any_id_of(given, id_type) if is_id else None


def ends_of(id_type: str) -> tuple[int, int]:
    """The least integer that is an id, and the first beyond the largest."""
    return (0, 1 << 64) if id_type == "uint64" else (-(1 << 63), 1 << 63)


def is_one_id(given: Any) -> bool:
    if isinstance(given, (str, bytes)) or getattr(given, "ndim", 1) == 0:
        return True
    refuse_lazy(given, "ids")
    return not hasattr(given, "__iter__") and not hasattr(given, "__arrow_c_stream__")  # as a table of pyarrow


def _not_one_id(given: Any, what: str) -> str:
    if hasattr(given, "__len__") and not isinstance(given, (str, bytes)):
        return "one id is expected here, not several: ask for each, or search with where=culmen.ids(...)"
    return f"the ids of this index are {what}, which {short_repr(given)} is not"


def is_unicode(text: str) -> bool:
    """Python's texts may have half of a character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def may_be_id(text: str) -> bool:
    """Whether it can be the id of a row."""
    return is_unicode(text) and len(text.encode()) <= _MOST_BYTES and "\0" not in text


def _checked_text(id: str) -> str:
    if not is_unicode(id):
        raise InvalidArgument(f"the id {short_repr(id)} is no Unicode text: it has half of a character")
    return str(id)


def as_ids(ids: Ids, id_type: IdType) -> np.ndarray | list[str]:
    """Of rows that are looked up or erased."""
    if is_one_id(ids):
        id = any_id_of(ids, id_type)
        return [id] if isinstance(id, str) else np.array([id])
    given = list(ids) if isinstance(ids, (Iterator, Set, ValuesView)) else ids
    try:
        return _given_texts(given) if id_type == "text" else encoded(_given_numbers(given), id_type)
    except InputError as error:  # its text is of a table
        raise _first_refusal(given, id_type, error) from None


def _first_refusal(given: Any, id_type: IdType, error: InputError) -> Exception:
    values = given.to_pylist() if hasattr(given, "to_pylist") else given
    for one in () if hasattr(given, "columns") else values:  # of a table these would be names
        if is_missing(one) or one != one:
            return InvalidArgument("an id that is looked up has no value")
        if isinstance(one, (float, np.floating)) and one == np.floor(one):
            continue  # a whole number, which may be too large
        try:
            any_id_of(one, id_type)
        except InvalidArgument as refusal:
            return refusal
    return error


def _given_texts(given: Any) -> list[str]:
    texts = texts_of(given)
    if texts is None and len(given) > 0:
        raise InputError("the ids of this index are texts; these are others")
    return [_checked_text(text) for text in texts or []]


def texts_of(given: Any) -> list[str] | None:
    """A column or a collection of texts as a list; None if it holds anything else, or nothing to tell by."""
    given = column_of(given)
    if hasattr(given, "read_column"):
        read = given.read_column("ids", are_ids=True)
        if not isinstance(read.values, _core.TextColumn):
            return None
        if read.values.gaps() is not None:
            raise InputError("an id has no value")
        return read.values.to_list()
    if not isinstance(given, (np.ndarray, list, tuple, Set, ValuesView)) or getattr(given, "ndim", 1) != 1:
        return None
    if len(given) == 0 or not all(isinstance(one, (str, uuid.UUID)) for one in given):  # ends with the first
        return None
    return list(map(str, given))


def text_column(texts: Sequence[str]) -> _core.TextColumn:
    column = _core.TextColumn()
    column.append_list(list(texts))
    return column


def ids_of_texts(labels: Sequence[str]) -> np.ndarray:
    """As answers have them."""
    ids = np.empty(len(labels), dtype=object)
    ids[:] = labels
    return ids


def _given_numbers(ids: Any) -> np.ndarray:
    if np.ma.is_masked(ids):
        raise InputError("an id has no value")
    column = column_of(ids)
    if hasattr(column, "read_column"):
        return _without_gaps(*read_ids(column, len(column)))
    given = ids if isinstance(ids, np.ndarray) else list(ids)
    values = np.asarray(given)
    if values.dtype.kind == "f" and isinstance(given, list):  # NumPy rounds 2^63 and more beside smaller integers
        values = np.array(given, dtype=object)
    if values.dtype.kind == "O" and values.ndim == 1:
        return _without_gaps(*read_ids(values, len(values)))
    if values.ndim != 1:
        raise InvalidArgument(f"ids are one column, not an array of {values.ndim} dimensions")
    return np.empty(0, dtype=np.int64) if values.size == 0 else whole_numbers(values)


def text_set(given: Any) -> _core.TextColumn:
    """What culmen.ids takes as texts."""
    texts = texts_of(given)
    if texts is None and len(given) > 0:
        column = read_column(arrow_column(given) or list(given), "ids", are_ids=True)
        if _has_gaps(column):
            raise InputError("an id has no value")
        raise InputError(f'ids are texts where id_type is "text"; these are {CALLED[column.format.type]}')
    return text_column(texts or [])


def encoded_ends(given: range, id_type: Any) -> tuple[int, int, IdType]:
    """The least and the largest id of a range that is not empty, as the extension has them, and their type."""
    least, largest = sorted((given[0], given[-1]))
    found: IdType = id_type or ("uint64" if largest >= 1 << 63 else "int64")
    first, end = ends_of(found)
    if least < first or largest >= end:
        raise InputError(
            f"ids are from -2^63 to 2^63 - 1 or, of uint64, from 0 to 2^64 - 1: no index has both {least} and {largest}"
        )
    offset = TOP_BIT_OF_ID if found == "uint64" else 0
    return least - offset, largest - offset, found


def _has_gaps(column: Column) -> bool:
    gaps: Any = column.values.gaps() if isinstance(column.values, _core.TextColumn) else column.missing()
    return gaps is not None and bool(gaps.any())


def id_set(given: Any) -> np.ndarray | bytes:
    """What culmen.ids takes, as int64, uint64, or in Roaring's portable format for 64 bits."""
    if isinstance(given, (bytes, bytearray, memoryview)):
        return bytes(given)
    if type(given).__module__.partition(".")[0] == "pyroaring":
        return _of_pyroaring(given)
    if isinstance(given, range) and given:
        return _numbers_of_range(given)
    if not hasattr(given, "__len__") or isinstance(given, (Set, range)):
        given = list(given)
    values = _values_of(given)
    if values.ndim != 1:
        raise InvalidArgument(f"ids are one column, not an array of {values.ndim} dimensions")
    if values.dtype.kind == "b":
        return np.flatnonzero(values)
    return whole_numbers(values) if values.size > 0 else np.empty(0, dtype=np.int64)


def _numbers_of_range(given: range) -> np.ndarray:
    """Of one whose ends encoded_ends takes."""
    least, largest = sorted((given[0], given[-1]))
    dtype = np.uint64 if largest >= 1 << 63 else np.int64
    return np.arange(len(given), dtype=dtype) * dtype(abs(given.step)) + dtype(least)


def _values_of(given: Any) -> np.ndarray:
    if isinstance(given, np.ndarray) and given.dtype.kind != "O" and not isinstance(given, np.ma.MaskedArray):
        return given
    column = read_column(arrow_column(given) or given, "ids", are_ids=True)
    if _has_gaps(column):
        raise InputError("an id has no value")
    if not isinstance(column.values, np.ndarray) or column.format.type in ("date", "timestamp"):
        raise InputError(f"ids are integers; these are {CALLED[column.format.type]}{TEXTS_INSTEAD}")
    return column.values.astype(bool) if column.format.type == "bool" else column.values


def default_id_type(of: Any) -> IdType:
    """Of a set in Roaring's format."""
    is_bitmap = type(of).__module__.partition(".")[0] == "pyroaring"
    return "uint64" if is_bitmap and len(of) > 0 and of.max() >= 1 << 63 else "int64"


def _of_pyroaring(bitmap: Any) -> bytes:
    if "64" not in type(bitmap).__name__:  # one bitmap, whose upper 32 bits are 0
        return (1).to_bytes(8, "little") + (0).to_bytes(4, "little") + bitmap.serialize()
    return bitmap.serialize()
