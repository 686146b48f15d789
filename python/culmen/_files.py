"""Tables from files, read in batches: memory holds the columns that are kept, and a few batches."""

from __future__ import annotations

import contextlib
import csv
import glob
import math
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from . import _core
from ._columns import Column
from ._errors import Error, InputError, InvalidArgument, IoError, RowError, row_error
from ._tables import Choice, Columns, preferences_of, take_table

if TYPE_CHECKING:
    import pyarrow.dataset

#: Bytes are the name that the system uses, as from os.fsencode.
Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
#: A path, a pattern such as "part-*.parquet", or several of either.
Paths = Path | Sequence[Path]

_FORMATS = {".parquet": "parquet", ".arrow": "ipc", ".feather": "ipc", ".ipc": "ipc", ".csv": "csv"}
#: Endings of files that the program does not read itself.
READ_BY_PYARROW = frozenset(_FORMATS) - {".csv"}
_BATCH_ROWS = 1 << 17
#: Cells of CSV files without a value, as the program reads them.
_NULLS = [""]


def read_files(paths: Paths, choice: Choice) -> Columns:
    with in_utf8(_expand(paths)) as files, _translated(files):
        return _read(files, choice)


def _read(files: Mapping[str, str], choice: Choice) -> Columns:
    dataset = open_dataset(files)
    names = dataset.schema.names
    wanted = choice.names()
    if choice.columns is not None and choice.attributes is not None:
        wanted = list(dict.fromkeys([*preferences_of(choice.attributes, names), *wanted]))
    for name in wanted:
        if name not in names:
            raise InvalidArgument(f"no column {name!r}; there are {', '.join(map(repr, names))}")
    read = None if choice.columns is None else wanted
    _refuse_differing(dataset, read or names, files)
    columns = _Growing(dataset.count_rows())
    for first_row, batch in _batches(dataset, read):
        try:
            columns.add(take_table(batch, choice, first_row=first_row))
        except RowError as error:
            raise row_error(first_row + error.row, str(error).partition(": ")[2]) from None
    return columns.taken()


def _expand(paths: Paths) -> list[str]:
    several = [paths] if isinstance(paths, (str, bytes, os.PathLike)) else paths
    found: list[str] = []
    for given in several:
        path = os.fsdecode(given)
        if os.path.isdir(path):
            path = os.path.join(path, "*")
        is_pattern = glob.has_magic(path) and not os.path.exists(path)
        matches = sorted(glob.glob(path, recursive=True)) if is_pattern else [path]
        files = [match for match in matches if os.path.isfile(match)]
        if not files:
            raise IoError(f"no file is called {path}")
        found.extend(files)
    if not found:
        raise InvalidArgument("there is no file to read")
    return found


@contextlib.contextmanager
def in_utf8(files: Iterable[str]) -> Iterator[dict[str, str]]:
    """Maps names in UTF-8, all different, which pyarrow requires, to the files' own names. Other files get a symbolic
    link, and so does a file that is named again."""
    names: dict[str, str] = {}
    with contextlib.ExitStack() as stack:
        folder = None
        for file in files:
            taken = file
            if not _is_utf8(file) or file in names:
                folder = folder or stack.enter_context(tempfile.TemporaryDirectory(prefix="culmen-"))
                ending = os.path.splitext(file)[1]
                taken = os.path.join(folder, f"{len(names)}{ending if _is_utf8(ending) else ''}")
                os.symlink(os.path.abspath(file), taken)
            names[taken] = file
        yield names


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def open_dataset(files: Mapping[str, str]) -> pyarrow.dataset.Dataset:
    try:
        import pyarrow.dataset
    except ImportError:
        raise IoError("this takes pyarrow: pip install pyarrow") from None
    endings = {os.path.splitext(file)[1].lower() for file in files.values()}
    if len(endings) != 1 or (ending := min(endings)) not in _FORMATS:
        found = ", ".join(map(repr, sorted(endings)))
        raise InvalidArgument(f"files end with one of {', '.join(_FORMATS)}; these end with {found}")
    if ending != ".csv":
        return pyarrow.dataset.dataset(list(files), format=_FORMATS[ending])
    for taken, file in files.items():
        _refuse_missing_header(taken, file)
    dataset = _csv_dataset(files, ignore_empty_lines=True)
    # In a file of one column an empty line is a row with a missing value.
    return dataset if len(dataset.schema.names) > 1 else _csv_dataset(files, ignore_empty_lines=False)


def _csv_dataset(files: Mapping[str, str], *, ignore_empty_lines: bool) -> pyarrow.dataset.Dataset:
    import pyarrow.csv

    format = pyarrow.dataset.CsvFileFormat(
        pyarrow.csv.ParseOptions(ignore_empty_lines=ignore_empty_lines),
        convert_options=pyarrow.csv.ConvertOptions(strings_can_be_null=True, null_values=_NULLS),
    )
    return pyarrow.dataset.dataset(list(files), format=format)


def _refuse_missing_header(taken: str, file: str) -> None:
    """pyarrow would take the first row for the names."""
    with open(taken, encoding="utf-8-sig", errors="replace") as opened:
        names = next(csv.reader(opened, quoting=csv.QUOTE_NONE), [])
    if names and all(map(_is_number, names)):
        raise InputError(
            f"{file}:1:1: expected a header line, found only numbers: put a line of names above them, or quotes around "
            "them if they are names"
        )


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


@contextlib.contextmanager
def _translated(files: Mapping[str, str]) -> Iterator[None]:
    """Raises pyarrow's errors as culmen's, whose texts name the file."""
    try:
        yield
    except Error:
        raise
    except (OSError, ValueError) as error:  # pyarrow.ArrowInvalid is a ValueError
        text = str(error)
        for taken, file in files.items():
            text = text.replace(taken, file)
        raise (IoError if isinstance(error, OSError) else InputError)(text) from error


def _refuse_differing(dataset: pyarrow.dataset.Dataset, columns: list[str], files: Mapping[str, str]) -> None:
    """pyarrow would fill a column that a file lacks with nulls."""
    for fragment in dataset.get_fragments():
        missing = [name for name in columns if name not in fragment.physical_schema.names]
        if missing:
            raise InputError(
                f"{files.get(fragment.path, fragment.path)} has no column {missing[0]!r}, which other files have"
            )


def _batches(dataset: pyarrow.dataset.Dataset, columns: list[str] | None) -> Iterator[tuple[int, Any]]:
    """Yields the number of rows before a batch, and the batch as a table; one empty batch if there are no rows."""
    import pyarrow

    first_row = 0
    for batch in dataset.to_batches(columns=columns, batch_size=_BATCH_ROWS):
        if batch.num_rows > 0:
            yield first_row, pyarrow.Table.from_batches([batch])
            first_row += batch.num_rows
    if first_row == 0:
        schema = dataset.schema
        yield 0, (schema if columns is None else pyarrow.schema([schema.field(c) for c in columns])).empty_table()


class _Growing:
    """Columns that batches fill from the front."""

    def __init__(self, num_rows: int) -> None:
        self._num_rows = num_rows
        self._size = 0
        self._dropped: list[np.ndarray] = []
        self._table: Columns | None = None

    def add(self, part: Columns) -> None:
        if self._table is None:
            self._table = replace(
                part,
                columns=list(map(self._empty, part.columns)),
                field_columns=list(map(self._empty, part.field_columns)),
                ids=None if part.ids is None else np.empty(self._num_rows, dtype=np.int64),
                labels=None if part.labels is None else _core.TextColumn(),
            )
        rows = slice(self._size, self._size + part.num_rows)
        whole = self._table
        pairs = zip([*whole.columns, *whole.field_columns], [*part.columns, *part.field_columns])
        for column, more in pairs:
            self._fill(column, more, rows)
        if whole.ids is not None and part.ids is not None:
            whole.ids[rows] = part.ids
        if whole.labels is not None and part.labels is not None:
            whole.labels.append(part.labels)
        self._size += part.num_rows
        if part.dropped is not None:
            self._dropped.append(part.dropped)

    def _empty(self, column: Column) -> Column:
        if isinstance(column.values, _core.TextColumn):
            return replace(column, values=_core.TextColumn())
        return replace(column, values=np.empty(self._num_rows, dtype=column.values.dtype), gaps=None)

    def _fill(self, column: Column, part: Column, rows: slice) -> None:
        if isinstance(column.values, _core.TextColumn):
            assert isinstance(part.values, _core.TextColumn)
            column.values.append(part.values)
            return
        column.values[rows] = part.values
        if part.gaps is not None:
            if column.gaps is None:
                column.gaps = np.zeros(self._num_rows, dtype=bool)
            column.gaps[rows] = part.gaps

    def taken(self) -> Columns:
        """The rows that were added: fewer than there was room for, if some were dropped."""
        assert self._table is not None
        table, size = self._table, self._size
        return replace(
            table,
            num_rows=size,
            columns=[_shortened(column, size) for column in table.columns],
            field_columns=[_shortened(column, size) for column in table.field_columns],
            ids=None if table.ids is None else table.ids[:size],
            dropped=np.concatenate(self._dropped) if self._dropped else None,
        )


def _shortened(column: Column, size: int) -> Column:
    if isinstance(column.values, _core.TextColumn):
        return column
    return replace(column, values=column.values[:size], gaps=None if column.gaps is None else column.gaps[:size])
