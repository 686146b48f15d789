"""Tables from files, read in batches: memory holds the columns that are kept, and a few batches."""

from __future__ import annotations

import contextlib
import glob
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from . import _core
from ._arrow import refuse_repeated
from ._columns import Column, Format, joined_numbers, read_column
from ._dialect import CsvDialect, RejectedRow
from ._errors import Error, InputError, InvalidArgument, IoError, RowError, row_error
from ._fitting import joined
from ._ids import decoded
from ._sources import Source, is_of_objects, refuse_lazy, source_of
from ._tables import Choice, preferences_of

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.dataset

#: Bytes are the name that the system uses, as from os.fsencode.
Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
#: A path, a pattern such as "part-*.parquet", or several of either.
Paths = Path | Sequence[Path]


def as_bytes(path: Path | None) -> bytes:
    """A directory for temporary files as the extension takes it; b"": none."""
    if path is None:
        return b""
    if not isinstance(path, (str, bytes, os.PathLike)) or not os.fsencode(path):
        raise InvalidArgument(f"temp_directory is a directory, or None: to build in memory; not {path!r}")
    return os.fsencode(path)


_FORMATS = {".parquet": "parquet", ".arrow": "ipc", ".feather": "ipc", ".ipc": "ipc"}
#: Endings of files that the program does not read itself.
READ_BY_PYARROW = frozenset(_FORMATS)
_PACKED = ("", ".gz", ".bz2", ".xz", ".zst")
_CSV = tuple(f".{kind}{packed}" for kind in ("csv", "tsv", "txt", "jsonl", "ndjson") for packed in _PACKED)
_BATCH_ROWS = 1 << 17


def read_files(
    paths: Paths,
    choice: Choice,
    dialect: CsvDialect | None = None,
    rejects: list[RejectedRow] | None = None,
    unique_ids: bool = True,
    temp_directory: Path | None = None,
) -> Source:
    """temp_directory: of the columns; None: in memory."""
    expanded = expand(paths)
    if all(file.lower().endswith(_CSV) for file in expanded):
        return _read_csv(expanded, choice, dialect or CsvDialect(), rejects, unique_ids, as_bytes(temp_directory))
    if dialect is not None or rejects is not None:
        raise InvalidArgument("dialect and rejects are of CSV files; these are of another format")
    with in_utf8(expanded) as files, translated(files):
        return _read(files, choice, as_bytes(temp_directory))


def _read_csv(
    files: list[str],
    choice: Choice,
    dialect: CsvDialect,
    rejects: list[RejectedRow] | None,
    unique_ids: bool,
    temp_directory: bytes,
) -> Source:
    """As the program reads them. Types are those of all cells, of all files."""
    marks = (dialect.delimiter, dialect.decimal, dialect.thousands)
    if any(mark is not None and (not isinstance(mark, str) or len(mark) > 1) for mark in marks):
        raise InvalidArgument(f"the marks of a dialect are single characters: {dialect}")
    if dialect.dates not in (None, "day-first", "month-first"):
        raise InvalidArgument(f'dates are "day-first" or "month-first", not {dialect.dates!r}')
    null_words = None if dialect.null_words is None else list(map(str, dialect.null_words))
    form = (*marks, dialect.header, null_words, dialect.dates or "")
    ranked = [] if choice.attributes is None else list(preferences_of(choice.attributes, ()))
    stored = list(map(str, choice.stored or ()))
    columns = None if choice.columns is None else list(dict.fromkeys([*map(str, choice.columns), *stored]))
    id, label = (role if isinstance(role, str) else "" for role in (choice.id, choice.label))
    parts: dict[str, list[Column]] = {}
    ids: list[np.ndarray | _core.TextColumn] = []
    dropped, num_rows, id_type = [], 0, choice.id_type
    for file in files:
        reject = None if rejects is None else _rejecting(file, rejects)
        read = _core.read_csv(
            os.fsencode(file),
            ranked,
            id,
            label,
            columns,
            stored,
            choice.nulls == "drop",
            *form,
            unique_ids,
            id_type,
            reject,
            temp_directory,
        )
        if ids and (read[3] == "text") != isinstance(ids[0], _core.TextColumn):
            raise InputError(f'{file} has ids that are texts, {files[0]} integers: id_type="text" takes all as texts')
        id_type = "text" if read[3] == "text" else id_type  # of the next files
        found = {name: Column(Format(*format), values, gaps) for name, format, values, gaps in read[0]}
        for name in parts.keys() ^ found.keys() if parts else ():
            lacking, other = (file, files[0]) if name in parts else (files[0], file)
            raise InputError(f"{lacking} has no column {name!r}, which {other} has")
        for name, column in found.items():
            parts.setdefault(name, []).append(column)
        if id:
            ids.append(read[1] if read[3] == "text" else decoded(read[1], read[3]))
        dropped.append(np.asarray(read[2]) + np.uint64(num_rows))
        num_rows += len(next(iter(found.values()), ())) + len(dropped[-1])
    source = Source({name: joined(several, name, files) for name, several in parts.items()})
    if id:
        source.columns[id] = _joined_ids(ids)
    source.dropped = np.concatenate(dropped) if any(map(len, dropped)) else None
    return source


def _joined_ids(parts: list[Any]) -> Column | np.ndarray:
    if not isinstance(parts[0], _core.TextColumn):
        return joined_numbers(parts)
    texts = _core.TextColumn()
    for part in parts:
        texts.append(part)
    return Column(Format("text"), texts)


def _rejecting(file: str, rejects: list[RejectedRow]) -> Callable[[int, int, bytes, bytes], None]:
    def reject(line: int, column: int, problem: bytes, text: bytes) -> None:
        rejects.append(RejectedRow(file, line, column, problem.decode(errors="replace"), text.decode(errors="replace")))

    return reject


def _read(files: Mapping[str, str], choice: Choice, temp_directory: bytes) -> Source:
    dataset = open_dataset(files)
    names = dataset.schema.names
    refuse_repeated(names)
    wanted = choice.named_columns(names)
    for name in wanted:
        if name not in names:
            meant = _core.did_you_mean(name, names)
            raise InvalidArgument(f"no column {name!r}{meant}; there are {', '.join(map(repr, names))}")
    read = names if choice.columns is None else wanted
    id = choice.id if isinstance(choice.id, str) else None
    fragments = list(dataset.get_fragments())
    _refuse_lacking(fragments, read, files)
    if all(_has_types_of(fragment.physical_schema, dataset.schema, read) for fragment in fragments):
        return Source(_columns_of(dataset, dataset.schema, read, 0, id, temp_directory))
    parts: dict[str, list[Column]] = {name: [] for name in read}
    num_rows = 0
    for fragment in fragments:
        columns = _columns_of(fragment, fragment.physical_schema, read, num_rows, id, temp_directory)
        for name, column in columns.items():
            parts[name].append(column)
        num_rows += fragment.count_rows()
    paths = [files.get(fragment.path, fragment.path) for fragment in fragments]
    return Source({name: joined(several, name, paths) for name, several in parts.items()})


def _has_types_of(schema: pyarrow.Schema, other: pyarrow.Schema, columns: list[str]) -> bool:
    return all(schema.field(name).type == other.field(name).type for name in columns)


def _columns_of(
    rows: pyarrow.dataset.Dataset | pyarrow.dataset.Fragment,
    schema: pyarrow.Schema,
    names: list[str],
    first_row: int,
    id: str | None,
    temp_directory: bytes,
) -> dict[str, Column]:
    """Of a dataset, or of one of its files, whose first row has this number in the dataset."""
    columns = {name: _Growing(rows.count_rows(), temp_directory) for name in names}
    for row, batch in _batches(rows, schema, names):
        try:
            for name, column in source_of(batch).columns.items():
                columns[name].add(column.read_column(name, are_ids=name == id))
        except RowError as error:
            raise row_error(first_row + row + error.row, str(error).partition(": ")[2]) from None
    return {name: column.whole() for name, column in columns.items()}


def expand(paths: Paths) -> list[str]:
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
        raise InvalidArgument(
            f"files end with one of {', '.join([*_FORMATS, *_CSV])}, all alike; these end with {found}"
        )
    try:
        return pyarrow.dataset.dataset(list(files), format=_FORMATS[ending])
    except pyarrow.ArrowInvalid:
        _refuse_repeated_columns(files, _FORMATS[ending])
        raise


def _refuse_repeated_columns(files: Mapping[str, str], format: str) -> None:
    """pyarrow's message names neither."""
    from pyarrow.dataset import IpcFileFormat, ParquetFileFormat
    from pyarrow.fs import LocalFileSystem

    reader = ParquetFileFormat() if format == "parquet" else IpcFileFormat()
    for taken, file in files.items():
        try:
            refuse_repeated(reader.inspect(taken, LocalFileSystem()).names)
        except InputError as error:
            raise InputError(f"{file}: {error}: rename one") from None


@contextlib.contextmanager
def translated(files: Mapping[str, str]) -> Iterator[None]:
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


def _refuse_lacking(fragments: list[pyarrow.dataset.Fragment], columns: list[str], files: Mapping[str, str]) -> None:
    """pyarrow would fill a column that a file lacks with nulls."""
    for fragment in fragments:
        missing = [name for name in columns if name not in fragment.physical_schema.names]
        if missing:
            raise InputError(
                f"{files.get(fragment.path, fragment.path)} has no column {missing[0]!r}, which other files have"
            )


def _batches(
    rows: pyarrow.dataset.Dataset | pyarrow.dataset.Fragment, schema: pyarrow.Schema, columns: list[str]
) -> Iterator[tuple[int, Any]]:
    """Yields the number of rows before a batch, and the batch as a table; one empty batch if there are no rows."""
    import pyarrow

    first_row = 0
    for batch in rows.to_batches(columns=columns, batch_size=_BATCH_ROWS):
        if batch.num_rows > 0:
            yield first_row, pyarrow.Table.from_batches([batch])
            first_row += batch.num_rows
    if first_row == 0:
        yield 0, pyarrow.schema([schema.field(name) for name in columns]).empty_table()


class _Growing:
    """A column that batches fill from the front. temp_directory: of its arrays; empty: in memory."""

    def __init__(self, num_rows: int, temp_directory: bytes) -> None:
        self._num_rows = num_rows
        self._temp_directory = temp_directory
        self._size = 0
        self._column: Column | None = None

    def add(self, part: Column) -> None:
        if self._column is None:
            self._column = self._empty(part)
        whole, rows = self._column, slice(self._size, self._size + len(part))
        self._size += len(part)
        if isinstance(whole.values, _core.TextColumn):
            assert isinstance(part.values, _core.TextColumn)
            whole.values.append(part.values)
            return
        whole.values[rows] = part.values
        if part.gaps is not None:
            if whole.gaps is None:
                whole.gaps = self._zeros(np.dtype(bool))
            whole.gaps[rows] = part.gaps

    def _empty(self, like: Column) -> Column:
        if isinstance(like.values, _core.TextColumn):
            return replace(like, values=_core.TextColumn(self._temp_directory))
        return replace(like, values=self._zeros(like.values.dtype), gaps=None)

    def _zeros(self, dtype: np.dtype) -> np.ndarray:
        return _core.temporary_array(self._temp_directory, self._num_rows * dtype.itemsize).view(dtype)

    def whole(self) -> Column:
        assert self._column is not None and self._size == self._num_rows
        return self._column


def as_arrow(table: Any) -> Any:
    """As pyarrow's, with the named levels of a pandas index as columns, which may be ids."""
    import pyarrow

    if isinstance(table, pyarrow.Table):
        refuse_repeated(table.column_names)
        return table
    if not isinstance(table, Mapping) and not hasattr(table, "__arrow_c_stream__"):
        refuse_lazy(table, "the rows")
        raise InvalidArgument("a table is a dict of columns, or one of a library with Arrow")
    if hasattr(table, "reset_index"):
        refuse_repeated([str(name) for name in table])
        is_named = any(name is not None for name in table.index.names)
        table = table.reset_index() if is_named else table
    elif any(map(is_of_objects, getattr(table, "dtypes", ()))):  # of polars
        table = {of.name: of.to_list() if is_of_objects(of.dtype) else of.to_arrow() for of in table}
    try:
        return _converted(table)
    except OverflowError:  # integers that int64 does not hold
        return _converted({str(name): _as_uint64(column, str(name)) for name, column in table.items()})
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError, UnicodeEncodeError) as error:
        if len(table) > 1:  # finds the column
            for name, column in table.items():
                as_arrow({name: column})
        for name, column in source_of(table).columns.items():
            read_column(column, name)  # says which cell is wrong
        raise InputError(f"pyarrow does not take the table: {error}") from None


def _converted(table: Any) -> Any:
    import pyarrow

    return (
        pyarrow.Table.from_pandas(table, preserve_index=False)
        if hasattr(table, "reset_index")
        else pyarrow.table(table)
    )


def _as_uint64(column: Any, name: str) -> Any:
    """Integers of which one is 2^63 or more, which may be ids, as an array; other columns as they are."""
    if not isinstance(column, (list, tuple)) and str(getattr(column, "dtype", "")) != "object":
        return column
    values = list(column)
    if not any(isinstance(value, int) and not -(1 << 63) <= value < 1 << 63 for value in values):
        return column
    if not all(isinstance(value, int) and 0 <= value < 1 << 64 for value in values):
        read_column(values, name)  # says which is wrong
    return np.array(values, dtype=np.uint64)
