"""Builds a sharded index from parts of a table (files, or partitions that a cluster holds), in two rounds of tasks.

First each part is cut into pieces, one a shard, which are files in the directory. Then each shard is built from its
pieces. In between the coordinator, which sees no rows but those of attributes with a median or a mean to stand in,
determines what the shards must agree on: types of columns, the type of values, and stand-ins. If one of several rows
with an id is to be kept, a round before that leaves out the others.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import uuid
import zlib
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from . import _core
from ._build import BuildOptions, build, none_is_left
from ._columns import Column, Format, read_column
from ._errors import Error, InputError, InvalidArgument
from ._files import as_arrow, expand, in_utf8, open_dataset, translated
from ._fitting import common_format
from ._ids import IdType, encoded, ids_of_texts, read_any_ids, whole_numbers
from ._queries import check_integer
from ._shards import Failure
from ._sources import source_of
from ._tables import Choice, preferences_of, stand_ins_of, take_table

_ROWS_AT_ONCE = 1 << 17
#: The name of the column of rows' numbers in pieces of a table without ids.
_NUMBER = "\0number"
#: Of the texts of a part, the smallest hashes that are kept to estimate how many differ.
_SKETCH = 4096
MOST_SHARDS = 4096

T = TypeVar("T")


class Tasks(ABC):
    """Runs functions on parts of a table, somewhere."""

    @abstractmethod
    def map(self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> list[Any]:
        """The results, in order. The first argument of a call may be a part, which the function gets as a table."""


class LocalTasks(Tasks):
    """In this process, one after the other: each of them uses all cores, and the memory for one shard is enough."""

    def map(self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> list[Any]:
        with ThreadPoolExecutor(max_workers=1) as pool:  # a thread, so that Ctrl-C is noticed between two of them
            return list(pool.map(lambda arguments: function(*arguments), calls))


@dataclass(frozen=True)
class ColumnReport:
    """What the coordinator must know of a column in a part."""

    is_exact_in_float64: bool
    is_exact_in_float32: bool
    extremes: tuple[float, ...]  # minimum and maximum, if there are values
    hashes: np.ndarray | None  # of texts, the smallest


@dataclass(frozen=True)
class PartReport:
    num_rows: int
    schema: Any  # pyarrow's
    columns: dict[str, ColumnReport]
    part: str = ""  # for messages; of pieces, whose types agree, none


@dataclass(frozen=True)
class Plan:
    """What all shards agree on."""

    parts: Sequence[int]  # whose pieces have the rows
    schema: Any
    choice: Choice
    options: BuildOptions


# ---- tasks


def count_rows(part: Any) -> int:
    if not isinstance(part, str):
        return len(as_arrow(part))
    with in_utf8([part]) as files, translated(files):
        return int(open_dataset(files).count_rows())


def _as_value(function: Callable[..., Any]) -> Callable[..., Any]:
    """Engines repeat tasks that raise, but an error of culmen would only be raised again."""
    return partial(_caught, function)


def _caught(function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except Error as error:
        return Failure(error)


def cut(
    part: Any, number: int, first_row: int, folder: str, num_shards: int, choice: Choice, threads: int
) -> PartReport:
    """Writes the rows of a part to one file a shard."""
    columns = None if choice.columns is None else choice.named_columns(())
    reports: dict[str, ColumnReport] = {}
    num_rows, schema = 0, None
    with _Pieces(folder, number, num_shards) as pieces:
        for report, of_shards in _in_order(_cut_batches(part, columns, first_row, num_shards, choice), threads):
            schema = report.schema if schema is None else schema
            num_rows += report.num_rows
            for name, column in report.columns.items():
                reports[name] = _joined_report(reports.get(name), column)
            pieces.add(of_shards)
    return PartReport(num_rows, schema, reports, part if isinstance(part, str) else f"part {number + 1} of the table")


Cut = tuple[PartReport, dict[int, Any]]


def _cut_batches(
    part: Any, columns: Sequence[str] | None, first_row: int, num_shards: int, choice: Choice
) -> Iterator[Callable[[], Cut]]:
    for batch in _batches(part, columns):
        yield partial(_cut_batch, batch, first_row, num_shards, choice)
        first_row += len(batch)


def _cut_batch(batch: Any, first_row: int, num_shards: int, choice: Choice) -> Cut:
    """What the coordinator must know of the rows, and those of each shard; of no rows, their columns to shard 0."""
    report = _report_of_rows(batch, choice)
    rows, ids = _with_ids(batch, first_row, choice)
    if len(ids) == 0:
        return report, {0: rows}
    shards_of: Any = _core.shards_of if isinstance(ids, np.ndarray) else _core.shards_of_texts
    shards = shards_of(ids, num_shards).astype(np.uint16)  # which NumPy sorts by counting
    counts = np.bincount(shards, minlength=num_shards)
    rows = rows.take(np.argsort(shards, kind="stable"))
    ends = np.cumsum(counts)
    return report, {int(s): rows.slice(ends[s] - counts[s], counts[s]) for s in np.flatnonzero(counts)}


def _in_order(calls: Iterator[Callable[[], T]], threads: int) -> Iterator[T]:
    """What the calls return, made by threads a few calls ahead."""
    threads = threads or os.cpu_count() or 1
    if threads == 1:
        yield from (call() for call in calls)
        return
    with ThreadPoolExecutor(max_workers=threads) as pool:
        ahead: deque[Future[T]] = deque()
        try:
            for call in calls:
                ahead.append(pool.submit(call))
                if len(ahead) > threads:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:
            for future in ahead:
                future.cancel()


def keep_distinct(shard: int, part: int, folder: str, num_shards: int, plan: Plan) -> PartReport:
    """Writes the rows of a shard that are indexed, one of each id, as its piece of a further part, which it reports."""
    table = _typed(_rows_of_shard(shard, folder, plan), plan)
    if (dropped := take_table(table, plan.choice).dropped) is not None:
        table = table.take(np.delete(np.arange(len(table)), dropped.astype(np.int64)))
    ids, _ = read_any_ids(source_of(table).take(plan.choice.id, "the ids"), len(table), plan.choice.id_type)
    given = whole_numbers(ids) if isinstance(ids, np.ndarray) else ids_of_texts(ids.to_list())
    table = table.take(_distinct(given, plan.options.duplicates))
    with _Pieces(folder, part, num_shards) as pieces:
        pieces.add({shard: table})
    return _report_of_rows(table, plan.choice)


def _distinct(ids: np.ndarray, keep: str) -> np.ndarray:
    """The first or the last row of each id, in order."""
    if keep == "first":
        return np.sort(np.unique(ids, return_index=True)[1])
    return np.sort(len(ids) - 1 - np.unique(ids[::-1], return_index=True)[1])


def build_shard(shard: int, folder: str, directory: str, plan: Plan) -> tuple[str, int, bytes]:
    """Builds a shard from its pieces, and saves it. Returns its uuid, version and statistics."""
    table = _rows_of_shard(shard, folder, plan)
    choice = plan.choice
    if _NUMBER in table.column_names:
        choice = replace(choice, id=table.column(_NUMBER).to_numpy())
        table = table.drop_columns([_NUMBER])
    table = _typed(table, plan)
    try:
        columns = take_table(table, choice)
        if columns.num_rows == 0:  # all were dropped, but other shards have rows: it is one of no rows
            columns = replace(columns, dropped=None)
        handle = build(columns, plan.options)
    except InputError as error:
        raise InputError(f"{error} (rows of shard {shard})") from None
    handle.save(os.fsencode(directory), True)
    return (*_core.saved_version(os.fsencode(directory)), _core.statistics(handle, "none"))


def _rows_of_shard(shard: int, folder: str, plan: Plan) -> Any:
    import pyarrow

    return pyarrow.concat_tables(_read_pieces(folder, plan.parts, shard), promote_options="permissive")


def _typed(table: Any, plan: Plan) -> Any:
    return table.cast(plan.schema) if table.num_columns else plan.schema.empty_table()


# ---- parts and pieces


def _batches(part: Any, columns: Sequence[str] | None) -> Iterator[Any]:
    """Tables of pyarrow: of a file, or of a table that somebody holds. At least one, which may have no rows."""
    import pyarrow

    if isinstance(part, str):
        with in_utf8([part]) as files, translated(files):
            dataset = open_dataset(files)
            batches = dataset.to_batches(columns=columns, batch_size=_ROWS_AT_ONCE)
            yield _plain(_selected(dataset.schema.empty_table(), columns))
            yield from (_plain(pyarrow.Table.from_batches([batch])) for batch in batches if batch.num_rows > 0)
        return
    yield _plain(_selected(as_arrow(part), columns))


def _selected(table: Any, columns: Sequence[str] | None) -> Any:
    for name in columns or ():
        if name not in table.column_names:
            known = ", ".join(map(repr, table.column_names))
            meant = _core.did_you_mean(name, table.column_names)
            raise InvalidArgument(f"no column {name!r}{meant}; there are {known}")
    return table if columns is None else table.select(list(columns))


def _plain(table: Any) -> Any:
    """With views and dictionaries as plain columns: pyarrow takes no rows of views, and dictionaries that differ from
    part to part neither go into one file nor agree with the texts of another part."""
    for position, field in enumerate(table.schema):
        plain = _plain_type(field.type)
        if plain != field.type:
            table = table.set_column(position, field.with_type(plain), _plain_column(table.column(position), plain))
    return table


def _plain_type(type: Any) -> Any:
    import pyarrow

    if pyarrow.types.is_dictionary(type):
        type = type.value_type
        if pyarrow.types.is_string(type):  # a text of the dictionary is repeated, perhaps beyond 2^31 bytes
            return pyarrow.large_string()
    # By its name, as older releases of pyarrow have no views.
    return {"string_view": pyarrow.large_string(), "binary_view": pyarrow.large_binary()}.get(str(type), type)


def _plain_column(column: Any, plain: Any) -> Any:
    import pyarrow

    if not pyarrow.types.is_dictionary(column.type):
        return column.cast(plain)
    chunks = [chunk.dictionary.cast(plain).take(chunk.indices) for chunk in column.chunks]
    return pyarrow.chunked_array(chunks, type=plain)


def _with_ids(batch: Any, first_row: int, choice: Choice) -> tuple[Any, np.ndarray | _core.TextColumn]:
    """The rows, and their ids. Skips rows without an id if the choice drops them."""
    import pyarrow

    if choice.id is None:
        numbers = np.arange(first_row, first_row + len(batch))
        return batch.append_column(_NUMBER, pyarrow.array(numbers)), numbers
    column = source_of(batch).take(choice.id, "the ids")
    ids, gaps = read_any_ids(column, len(batch), choice.id_type, choice.id)
    if gaps is not None:
        if choice.nulls != "drop":
            raise InputError(
                f"column {choice.id!r} has no value in row {first_row + int(gaps.argmax()) + 1}: fill the gaps, or "
                "leave such rows out with nulls='drop'"
            )
        batch = batch.filter(pyarrow.array(~gaps))
        ids = ids[~gaps] if isinstance(ids, np.ndarray) else ids.selected(~gaps)
    if not isinstance(ids, np.ndarray):
        return batch, ids
    return batch, encoded(whole_numbers(ids), choice.id_type or "int64")


class _Pieces:
    """The files of a part, one a shard that has rows of it. A part that is cut again writes the same files."""

    def __init__(self, folder: str, part: int, num_shards: int) -> None:
        self._names = [_piece(folder, part, shard) for shard in range(num_shards)]
        self._token = uuid.uuid4().hex
        self._writers: dict[int, Any] = {}

    def add(self, of_shards: Mapping[int, Any]) -> None:
        import pyarrow

        for shard, rows in of_shards.items():
            if len(rows) == 0 and self._writers:
                continue
            if shard not in self._writers:
                self._writers[shard] = pyarrow.ipc.new_file(f"{self._names[shard]}.{self._token}", rows.schema)
            self._writers[shard].write_table(rows)

    def __enter__(self) -> _Pieces:
        return self

    def __exit__(self, kind: Any, *rest: Any) -> None:
        for shard, writer in self._writers.items():
            writer.close()
            if kind is None:
                os.replace(f"{self._names[shard]}.{self._token}", self._names[shard])


def _piece(folder: str, part: int, shard: int) -> str:
    return os.path.join(folder, f"{part}-{shard}.arrow")


def _read_pieces(folder: str, parts: Sequence[int], shard: int, columns: list[str] | None = None) -> list[Any]:
    import pyarrow

    pieces = []
    for part in parts:
        with_rows = _piece(folder, part, shard)
        if os.path.exists(with_rows):
            with pyarrow.memory_map(with_rows) as file:
                table = pyarrow.ipc.open_file(file).read_all()
            pieces.append(table if columns is None else table.select(columns))
    return pieces or [pyarrow.table({})]


# ---- what the coordinator learns


def _report_of_rows(rows: Any, choice: Choice) -> PartReport:
    columns = source_of(rows).columns.items()
    reports = {name: _report_of(read_column(c, name, are_ids=name == choice.id)) for name, c in columns}
    return PartReport(len(rows), rows.schema, reports)


def _schema_of_all(reports: Sequence[PartReport]) -> Any:
    import pyarrow

    try:
        return pyarrow.unify_schemas([report.schema for report in reports], promote_options="permissive")
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError) as error:
        _refuse_differing(reports)
        raise InputError(f"the parts have columns of different types: {error}") from None


def _refuse_differing(reports: Sequence[PartReport]) -> None:
    """Names a column, its types, and a part of each."""
    found: dict[str, list[tuple[Format, str]]] = {}
    for report in reports:
        for name, column in source_of(report.schema.empty_table()).columns.items():
            found.setdefault(name, []).append((read_column(column, name).format, report.part))
    for name, formats in found.items():
        common_format(formats, name)


def _report_of(column: Column) -> ColumnReport:
    if isinstance(column.values, _core.TextColumn):
        return ColumnReport(True, False, (), _smallest_hashes(column.values.to_list()))
    values = _numbers_of(column)
    values = values[~np.isnan(values)]
    with np.errstate(over="ignore"):
        in_float32 = bool((values.astype(np.float32) == values).all()) and column.is_exact_in_float64
    extremes = (float(values.min()), float(values.max())) if len(values) else ()
    return ColumnReport(column.is_exact_in_float64, in_float32, extremes, None)


def _numbers_of(column: Column) -> np.ndarray:
    """In float64, with NaN for what is missing. None of texts, which the builds of the shards refuse to rank."""
    if isinstance(column.values, _core.TextColumn):
        return np.full(len(column.values), np.nan)
    return column.values.astype(np.float64) if column.gaps is None else np.where(column.gaps, np.nan, column.values)


def _quantiles_of(numbers: np.ndarray, value_type: str) -> list[float]:
    """As docs/contract.md defines them."""
    values = numbers[~np.isnan(numbers)]
    if value_type == "float32":
        with np.errstate(over="ignore"):  # what is beyond it is refused by the build
            values = values.astype(np.float32).astype(np.float64)
    last = len(values) - 1
    steps = min(256, last)
    if steps <= 0:
        return (values + 0.0).tolist()
    ranks = np.arange(steps + 1) * last // steps
    return (np.partition(values, ranks)[ranks] + 0.0).tolist()


def _smallest_hashes(texts: Sequence[str | None]) -> np.ndarray:
    distinct = {text for text in texts if text is not None}
    return np.unique([zlib.crc32(text.encode("utf-8", "surrogateescape")) for text in distinct])[:_SKETCH]


def _joined_report(a: ColumnReport | None, b: ColumnReport) -> ColumnReport:
    if a is None:
        return b
    hashes = a.hashes if b.hashes is None else b.hashes
    if a.hashes is not None and b.hashes is not None:
        hashes = np.union1d(a.hashes, b.hashes)[:_SKETCH]
    ends = (*a.extremes, *b.extremes)
    return ColumnReport(
        a.is_exact_in_float64 and b.is_exact_in_float64,
        a.is_exact_in_float32 and b.is_exact_in_float32,
        (min(ends), max(ends)) if ends else (),
        hashes,
    )


def _num_distinct(hashes: np.ndarray) -> float:
    return len(hashes) if len(hashes) < _SKETCH else (_SKETCH - 1) * 2.0**32 / float(hashes[-1])


class Coordinator:
    """Builds the shards of a directory."""

    def __init__(self, tasks: Tasks, directory: str, num_shards: int, overwrite: bool) -> None:
        self._tasks = tasks
        self._directory = directory
        self._num_shards = check_integer("shards", num_shards, 1, MOST_SHARDS)
        self._overwrite = overwrite

    def build(self, parts: Sequence[Any], choice: Choice, options: BuildOptions) -> None:
        if choice.id is not None and not isinstance(choice.id, str):
            raise InvalidArgument("id names a column of the files")
        if choice.label is not None and not isinstance(choice.label, str):
            raise InvalidArgument("label names a column of the files")
        if options.duplicates not in ("error", "first", "last"):
            raise InvalidArgument(f'duplicates is "error", "first" or "last", not {options.duplicates!r}')
        is_new = not os.path.exists(self._directory)
        generation = _next_generation(self._directory, self._overwrite)
        folder = os.path.join(self._directory, f"pieces-{uuid.uuid4().hex}")
        os.makedirs(folder)
        try:
            first_rows = self._first_rows(parts, choice)
            cuts = [
                (part, number, first_rows[number], folder, self._num_shards, choice, options.threads)
                for number, part in enumerate(parts)
            ]
            reports = self._map(cut, cuts)
            plan = self._plan(reports, range(len(reports)), choice, options, folder)
            if options.duplicates != "error" and choice.id is not None:
                plan = self._of_distinct(plan, options, folder)
            self._build_shards(generation, folder, plan, reports)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            if is_new:
                with contextlib.suppress(OSError):  # of a build that has not failed it is not empty
                    os.rmdir(self._directory)

    def _of_distinct(self, plan: Plan, options: BuildOptions, folder: str) -> Plan:
        """The plan for one row of each id."""
        further = len(plan.parts)
        calls = [(shard, further, folder, self._num_shards, plan) for shard in range(self._num_shards)]
        reports = self._map(keep_distinct, calls)
        return self._plan(reports, [further], plan.choice, replace(options, duplicates="error"), folder)

    def _map(self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> list[Any]:
        results = self._tasks.map(_as_value(function), calls)
        for result in results:
            if isinstance(result, Failure):
                raise result.error
        return results

    def _first_rows(self, parts: Sequence[Any], choice: Choice) -> list[int]:
        """Rows without ids get their numbers in the whole table."""
        if choice.id is not None:
            return [0] * len(parts)
        counts = self._map(count_rows, [(part,) for part in parts])
        return [0, *np.cumsum(counts).tolist()][: len(parts)]

    def _plan(
        self,
        reports: Sequence[PartReport],
        parts: Sequence[int],
        choice: Choice,
        options: BuildOptions,
        folder: str,
    ) -> Plan:
        schema = _schema_of_all(reports)
        for report in reports:
            missing = [name for name in schema.names if name not in report.schema.names]
            if missing:
                raise InputError(f"a part has no column {missing[0]!r}, which other parts have")
        columns: dict[str, ColumnReport] = {}
        for report in reports:
            for name, column in report.columns.items():
                columns[name] = _joined_report(columns.get(name), column)
        num_rows = sum(report.num_rows for report in reports)
        choice = _decided(choice, schema, columns, num_rows)
        if choice.id_type is None:
            choice = replace(choice, id_type=_id_type_in(schema, choice.id))
        assert choice.attributes is not None
        preferences = preferences_of(choice.attributes, schema.names)
        value_type = options.value_type
        if value_type == "automatic":
            fits = num_rows > 0 and all(columns[name].is_exact_in_float32 for name in preferences)
            value_type = "float32" if fits else "float64"
        stand_ins = stand_ins_of(choice.missing, preferences)
        if num_rows == 0:  # the first batch determines them
            return Plan(parts, schema, choice, replace(options, value_type=value_type))
        kept = self._kept(list(preferences), parts, folder) if choice.nulls == "drop" else None
        if kept is not None and not kept.any():
            raise none_is_left(num_rows)
        determined = [
            self._stand_in(name, preference, *stand_ins[name], columns[name].extremes, kept, value_type, parts, folder)
            for name, preference in preferences.items()
        ]
        options = replace(options, value_type=value_type, stand_ins=determined)
        quantiles = self._quantiles(list(preferences), kept, value_type, parts, folder)
        return Plan(parts, schema, choice, replace(options, quantiles=quantiles))

    def _stand_in(
        self,
        name: str,
        preference: str,
        kind: str,
        number: float,
        extremes: tuple[float, ...],
        kept: np.ndarray | None,
        value_type: str,
        parts: Sequence[int],
        folder: str,
    ) -> float:
        """As an index of this column alone determines it, of `kept` rows; of the extremes, where these do."""
        import pyarrow

        table: Any = {name: np.array(extremes or (np.nan,), dtype=np.float64)}
        if kept is not None:
            table = {name: self._numbers(name, parts, folder)[kept]}
        elif kind in ("median", "mean"):
            pieces = [p for s in range(self._num_shards) for p in _read_pieces(folder, parts, s, [name])]
            table = pyarrow.concat_tables(pieces, promote_options="permissive")
        given = number if kind == "number" else "worst" if kind == "refuse" else kind
        taken = take_table(table, Choice({name: preference}, missing=given))
        handle = build(taken, BuildOptions(value_type, "random", None, 1, 0, 0, None, None))
        stand_in = _core.statistics_report(_core.statistics(handle, "none"))["attributes"][0][4]
        assert stand_in is not None  # the column has rows
        return float(stand_in)

    def _quantiles(
        self, names: Sequence[str], kept: np.ndarray | None, value_type: str, parts: Sequence[int], folder: str
    ) -> list[list[float]]:
        """Of the columns in all shards: what scale="rank" goes by. One column is in memory at a time. `kept`: those of
        its rows that count; None: all."""
        columns = (self._numbers(name, parts, folder) for name in names)
        return [_quantiles_of(column if kept is None else column[kept], value_type) for column in columns]

    def _kept(self, names: Sequence[str], parts: Sequence[int], folder: str) -> np.ndarray:
        """bool, True for the rows of all shards that have all these numbers."""
        return np.logical_and.reduce([np.isfinite(self._numbers(name, parts, folder)) for name in names])

    def _numbers(self, name: str, parts: Sequence[int], folder: str) -> np.ndarray:
        import pyarrow

        pieces = [p for s in range(self._num_shards) for p in _read_pieces(folder, parts, s, [name])]
        table = pyarrow.concat_tables(pieces, promote_options="permissive")
        return _numbers_of(read_column(source_of(table).columns[name], name))

    def _build_shards(self, generation: int, folder: str, plan: Plan, reports: Sequence[PartReport]) -> None:
        directories = [os.path.join(self._directory, f"shard-{generation}-{s}") for s in range(self._num_shards)]
        try:
            calls = [(s, folder, directory, plan) for s, directory in enumerate(directories)]
            built = self._map(build_shard, calls)
            next_id = sum(report.num_rows for report in reports) if plan.choice.id is None else 0
            _core.write_shards(os.fsencode(self._directory), generation, next_id, built)
        except BaseException:
            for directory in directories:
                shutil.rmtree(directory, ignore_errors=True)
            raise


def _next_generation(directory: str, overwrite: bool) -> int:
    os.makedirs(directory, exist_ok=True)
    return _core.next_generation(os.fsencode(directory), overwrite)


def _id_type_in(schema: Any, id: str | None) -> IdType:
    """By the type of the column, as the ids of one part do not tell how large those of others are."""
    if id is None:
        return "int64"
    return (
        "text"
        if read_column(source_of(schema.empty_table()).take(id, "the ids"), id).format.type == "text"
        else "int64"
    )


def _decided(choice: Choice, schema: Any, columns: dict[str, ColumnReport], num_rows: int) -> Choice:
    """The choice with attributes and stored columns named: they depend on the whole table."""
    roles = {choice.id, choice.label}
    formats = {
        name: read_column(column, name).format
        for name, column in source_of(schema.empty_table()).columns.items()
        if name not in roles or (choice.attributes is not None and name in preferences_of(choice.attributes, columns))
    }
    stored = choice.stored
    if stored is None:
        ranked = {} if choice.attributes is None else preferences_of(choice.attributes, columns)
        stored = [
            name
            for name in formats
            if name not in ranked
            and num_rows > 1000
            and (hashes := columns[name].hashes) is not None
            and _num_distinct(hashes) * 2 > num_rows
        ]
    attributes = choice.attributes
    if attributes is None:
        attributes = {
            name: "high"
            for name, format in formats.items()
            if name not in stored and format.is_number and columns[name].is_exact_in_float64
        }
        if not attributes:
            raise InputError("no column holds numbers to rank by: name others with attributes=[...]")
    return replace(choice, attributes=attributes, stored=stored)


def parts_of(table: Any) -> list[Any]:
    """Files, by their absolute names: workers may run in another folder. Or a table, which is one part."""
    is_several = isinstance(table, (list, tuple)) and len(table) > 0
    if not isinstance(table[0] if is_several else table, (str, bytes, os.PathLike)):
        return [table]
    files = [os.path.abspath(file) for file in expand(table)]
    if any(file.lower().endswith((".csv", ".tsv", ".gz", ".zst")) for file in files):
        raise InvalidArgument(
            "shards are built from Parquet or Arrow files here; of CSV files by `culmen build --shards`"
        )
    return files
