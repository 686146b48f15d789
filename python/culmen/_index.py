"""Index: build it from a table, save and open it, change it, search it for the k best rows."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from types import TracebackType
from typing import Any, overload

import numpy as np

from . import _core, _html
from ._build import BuildOptions, build
from ._device import DeviceGroup, DeviceIndex, device_number, place_of_codes
from ._dialect import CsvDialect, RejectedRow
from ._errors import InvalidArgument
from ._files import Path, Paths, as_bytes, read_files
from ._ids import Ids, IdType
from ._lookups import look_up
from ._other_words import HasOtherWords
from ._progress import Progress
from ._queries import ALL_CORES, Where, check_integer
from ._reports import RecoveryInfo, RepairReport, WriteResult
from ._schema import Schema, declared
from ._searchable import Searchable
from ._steps import Step, with_expiry
from ._tables import Attributes, Choice, Columns, Missing, preferences_of, take_table
from ._writes import Batch, WriteOptions, rows_to_erase, with_dropped, written


class Index(HasOtherWords, Searchable):
    """An index of a table: exact top-k under weights that come with each query.

    It is a handle: copies of it share one index. Each batch of changes publishes the next version; a search sees one
    version. All methods may be called from any number of threads, and release the GIL while they work. Ctrl-C stops a
    build, and a matrix of queries between two parts of it.

    >>> import culmen
    >>> hotels = {"id": [1, 2, 3], "price": [80, 120, 60], "rating": [7.9, 9.1, 6.0]}
    >>> index = culmen.Index.build(hotels, attributes=["price:low", "rating"], id="id")
    >>> [row.id for row in index.search({"price": -0.05, "rating": 1}, k=2)]
    [1, 2]
    """

    __slots__ = ("_dropped",)
    _dropped: int

    def __init__(self, *_: Any, **__: Any) -> None:
        raise TypeError("an index comes from Index.build, Index.create or Index.open")

    @classmethod
    def _of(cls, handle: _core.Index) -> Index:
        index = object.__new__(cls)
        index._handle = handle
        index._schema = Schema.of(handle)
        index._dropped = 0
        return index

    # ---- making an index

    @classmethod
    def build(
        cls,
        table: Any,
        attributes: Attributes = None,
        *,
        id: str | Any | None = None,
        label: str | Any | None = None,
        id_type: IdType | None = None,
        columns: Collection[str] | None = None,
        stored: Collection[str] | None = None,
        missing: Missing = None,
        nulls: str = "keep",
        value_type: str = "automatic",
        cluster: str | None = None,
        partitioning: str = "automatic",
        num_partitions: int = 0,
        leaf_rows: int = 0,
        threads: int = ALL_CORES,
        device: str | list[str] | tuple[str, ...] | None = None,
        progress: Progress | bool | None = None,
        duplicates: str = "error",
        temp_directory: Path | None = None,
    ) -> Index:
        """Builds an index in memory.

        Args:
            table: a dict of columns by name, an array [rows, attributes], or a table of pyarrow, polars, pandas or
                DuckDB (anything that exports an Arrow stream). Columns of float32, float64, int32 and int64 are
                read in place; others are converted, which copies them. None, NaN, NA, NaT and masked values are
                missing.
            attributes: the columns to rank by: names, with ":low" after those whose small values are good, or
                a dict of names to "high" or "low". It never changes an answer: it says which sign a weight
                usually has, and makes that sign the fast one. Default: all columns of numbers but id and label.
                All other columns are kept as well: filters test them, and answers show them.
            id: the column of ids, or the ids: unique integers or texts. Default: the rows' numbers, from 0, even if a
                column is called "id".
            label: the column of texts that come with the answers, or the texts.
            id_type: what ids are, "int64", "uint64" (0 to 2^64 - 1) or "text", which have no labels besides. Default:
                "text" for texts, "uint64" for an array or a column of uint64, and if an id is 2^63 or more. An index
                of such ids assigns none: each row brings its own. Of equal scores the smaller id comes first, texts
                by their bytes.
            columns: keeps only these columns, and those named by the other arguments.
            stored: columns that answers show and filters do not test. Default: those of more than 1,000 texts of
                which more than half differ; with [] none.
            missing: what is ranked for a missing value of an attribute when a query fills gaps: "worst" (the default:
                the smallest value, of a ":low" attribute the largest), "median", "mean", or a number; "refuse"
                raises for it instead. Or a dict of these by name. It is computed once, from the first rows.
            nulls: "keep", or "drop" to skip rows in which an attribute or the id is missing or infinite;
                `rows_dropped` says how many. The others keep their numbers.
            value_type: "automatic" keeps float32 where every value is exactly one, else float64; "float32"
                rounds; "float64".
            cluster: groups rows by the values of this column first, an attribute or one that filters test. Filters on
                it become much faster, other queries slower.
            partitioning: how rows are grouped: "kd", "angle", "random", or "automatic": kd for up to 8 attributes,
                else angle; for large tables what reads least on a sample: kd and angle may be without shells
                ("kd-flat"), ordered by sums ("kd-sum"), or both ("kd-flat-sum").
            num_partitions: about how many groups; kd and angle round it down. 0: chosen.
            leaf_rows: rows per leaf, a multiple of 16 up to 4096; 0: 96. The last leaf of a group takes up a whole
                leaf even if it is nearly empty. None of these four changes an answer.
            threads: all cores by default. The number never changes a byte of the index.
            device: "cuda:0" builds on that GPU, ["cuda:0", "cuda:1"] on several, each a share; the index is the same.
            progress: True shows a bar, with tqdm where it is installed; or a function.
            duplicates: of several rows with one id "error", or keep the "first" or the "last".
            temp_directory: for a table that is larger than memory: a directory on a local disk, in which the build
                keeps what it needs, about five times the table, in files that are gone when the index is. The table
                itself is where it was: from_files reads one into the directory as well, and columns may be
                numpy.memmap. The rows of the index that is returned are in the files, too: save it, and open it from
                its directory; to change the index itself, keep the temporary directory, too. It never changes a byte
                of the index. Not with `device`.

        Raises:
            InputError: for a table that cannot be indexed (infinity, an integer that float64 rounds, an id twice, a
                column of lists).
            InvalidArgument: for columns that are not there, and options out of range.

        Cost: O(n log n) time, and about twice the table's size of memory while it lasts, unless there is a
        temp_directory.
        """
        taken = take_table(table, Choice(attributes, id, label, columns, stored, missing, nulls, id_type))
        options = BuildOptions(
            value_type,
            partitioning,
            cluster,
            num_partitions,
            leaf_rows,
            threads,
            device,
            progress,
            duplicates,
            temp_directory=temp_directory,
        )
        return cls._of_columns(taken, options)

    @classmethod
    def from_files(
        cls,
        paths: Paths,
        attributes: Attributes = None,
        *,
        id: str | None = None,
        label: str | None = None,
        id_type: IdType | None = None,
        columns: Collection[str] | None = None,
        stored: Collection[str] | None = None,
        missing: Missing = None,
        nulls: str = "keep",
        value_type: str = "automatic",
        cluster: str | None = None,
        partitioning: str = "automatic",
        num_partitions: int = 0,
        leaf_rows: int = 0,
        threads: int = ALL_CORES,
        device: str | list[str] | tuple[str, ...] | None = None,
        progress: Progress | bool | None = None,
        dialect: CsvDialect | None = None,
        rejects: list[RejectedRow] | None = None,
        duplicates: str = "error",
        temp_directory: Path | None = None,
    ) -> Index:
        """Builds an index of Parquet, Arrow (IPC, Feather) or CSV files, all of the same columns.

        Args:
            paths: a path, a pattern such as "part-*.parquet", or several of either. The rows are those of the
                files one after the other, those of a pattern by name. A file that is named twice is read twice.
            columns: as for build; the others are not read.
            dialect: how CSV files are written, where their first megabyte does not tell: CsvDialect(decimal=",").
            rejects: a list that gets the rows of CSV files that cannot be read, which are left out; without it they are
                an error, which names ten of them. The other rows keep their numbers.

        Parquet and Arrow files need pyarrow, and memory for the columns that are kept, some batches of 131,072 rows,
        and what build needs. CSV files and JSON Lines (.csv, .tsv, .txt, .jsonl, also with .gz, .bz2, .xz or .zst) are
        read as the program reads them; several of them take the memory of their columns twice for a while. With a
        temp_directory the columns are in files there, but for those of several CSV files, once these are joined, and of
        files with a column of other types. The other arguments and errors are those of build; IoError for files that
        cannot be read.
        """
        choice = Choice(attributes, id, label, columns, stored, missing, nulls, id_type)
        unique_ids = duplicates == "error"
        taken = take_table(read_files(paths, choice, dialect, rejects, unique_ids, temp_directory), choice)
        options = BuildOptions(
            value_type,
            partitioning,
            cluster,
            num_partitions,
            leaf_rows,
            threads,
            device,
            progress,
            duplicates,
            temp_directory=temp_directory,
        )
        return cls._of_columns(taken, options)

    from_parquet = from_files  # the name under which people look for it

    @classmethod
    def _of_columns(cls, columns: Columns, options: BuildOptions) -> Index:
        index = cls._of(build(columns, options))
        index._dropped = columns.num_dropped
        return index

    @classmethod
    def create(
        cls,
        attributes: Sequence[str] | Mapping[str, str],
        *,
        fields: Mapping[str, str] | None = None,
        stored: Collection[str] = (),
        id: str | None = None,
        label: str | None = None,
        has_labels: bool = False,
        id_type: IdType = "int64",
        missing: Missing = None,
        value_type: str = "automatic",
        cluster: str | None = None,
        leaf_rows: int = 0,
    ) -> Index:
        """An empty index in memory, to be filled by changes; "automatic" is float64 here.

        Args:
            attributes, missing, cluster: as for build.
            fields: the other columns: names to "text", "int", "float", "bool", "date", "timestamp[us]" (or s, ms,
                ns) or "timestamp[us, Europe/Paris]".
            stored: those of the fields that filters do not test.
            id, label: the columns of the tables to come that hold these.
            has_labels: rows have labels; not needed with `label`.
            id_type: "uint64" for ids from 0 to 2^64 - 1, or "text", which each row brings then.

        >>> index = Index.create(["price:low", "rating"], fields={"brand": "text"})
        >>> index.insert({"price": [80, 120], "rating": [7.9, None], "brand": ["Sony", None]}).inserted
        2
        """
        leaf_rows = check_integer("leaf_rows", leaf_rows)
        ranked, others = declared(preferences_of(attributes, ()), fields or {}, stored, missing)
        has_labels = has_labels or label is not None
        return cls._of(
            _core.create(
                ranked, others, id or "", label or "", id_type, has_labels, value_type, cluster or "", leaf_rows
            )
        )

    @classmethod
    def open(
        cls,
        directory: Path,
        *,
        writable: bool = False,
        durability: str = "sync",
        threads: int = ALL_CORES,
        loading: str | None = None,
        max_memory: int | None = None,
        temp_directory: Path | None = None,
        codes: str = "files",
    ) -> Index:
        """Opens the index in a directory, with every acknowledged change. Reads and checks every byte.

        Args:
            writable: locks the directory and allows changes; one process at a time can write.
            durability: when a change is durable: "sync", it survives a power failure when the call returns; "os", it
                survives a crash of the process; "batch", after flush().
            loading: "whole", which is the default, or "on_touch": opening takes no time, and each part of the files is
                read and checked when a call first needs it, which raises FormatError or IoError if it cannot be read.
                Large changes, checkpoints, scans and copies to a GPU read all that is left.
            max_memory: bytes; for an index that is larger than memory. It is read on touch, and about so much of what
                was read is kept. `verify`, `save`, engine "ta", and while there are changes since the last checkpoint
                copies to a GPU, need all of it and raise InvalidArgument. With `writable` half of it is for what is
                changed: once that is more, the next change waits for a checkpoint, which takes as long as `compact`.
            temp_directory: with `writable` and `max_memory`, where such a checkpoint has its temporary files, about
                five times the room of the table. By default the index's own directory.
            codes: with `max_memory`, to read: "memory", or a GPU, "cuda:0", keeps 4 bits a value of all rows there,
                beside the limit. Searches that bounds hardly help, by weights alone and filters of attributes, read far
                fewer rows then. Opening, and `refresh` behind a checkpoint of the writer, read the whole table once.
                "files": of rows that are in memory alone.

        Raises:
            NoIndex: if there is none. It is a FileNotFoundError.
            FormatError: if a file is damaged; the text names it.
            IoError: if a file cannot be read, or another process has the lock. It is an OSError.
            InvalidArgument: if these do not go together, as `codes` with `writable` or without `max_memory`.
            OutOfDeviceMemory, CudaError: if the GPU for the codes has no room, or there is none.
        """
        threads = check_integer("threads", threads)
        most = 0 if max_memory is None else check_integer("max_memory", max_memory, 1, (1 << 64) - 1)
        if loading is None:
            loading = "whole" if max_memory is None else "on_touch"
        return cls._of(
            _core.open(
                _path(directory),
                writable,
                durability,
                threads,
                loading,
                most,
                as_bytes(temp_directory),
                *place_of_codes(codes),
            )
        )

    @staticmethod
    def repair(source: Path, target: Path) -> RepairReport:
        """Saves what is sound of a damaged index: writes a new one to `target`, which must not exist or be empty. The
        report says what was lost."""
        report = _core.repair(_path(source), _path(target))
        return RepairReport(**{**report, "dropped": tuple(report["dropped"])})

    def save(self, directory: Path, *, overwrite: bool = False) -> None:
        """Saves this version in a directory, which is created. After a crash or an error it holds the old index or
        the new one, whole. Raises InvalidArgument if an index is there and overwrite is false."""
        self._handle.save(_path(directory), overwrite)

    # ---- changes

    def insert(
        self,
        table: Any,
        *,
        id: Any = None,
        label: Any = None,
        nulls: str = "keep",
        round_to_float32: bool = False,
        duplicates: str = "error",
        expire: Where = None,
    ) -> WriteResult:
        """Adds rows, all or none. Columns are matched by name (`schema` has them), those of an array by position. A
        dict of values is one row. A table may lack fields, or have columns that the index has not, but not both.

        Args:
            id, label: the columns of ids and labels, or these themselves. Default: the columns that the index calls
                so, if the table has them, else those that to_pandas and the like call so, "id" and "label"; False for
                none. Rows without ids get the next free id plus their number, rows without labels empty ones.
            nulls: as for build.
            round_to_float32: an index of float32 rounds values instead of refusing those that float32 cannot hold.
            duplicates: of several of these rows with one id "error", or take the "first" or the "last". An id that is
                in the index already is an error in any case.
            expire: a filter, as where of a search. In the same batch, after the rows are in, it erases those that pass,
                also of these rows; `erased` says how many.

        Raises:
            RowError: for an id that is in the index already, infinity, a value that float32 cannot hold, ...
            InputError: for a column of another type than the index's, if its values do not fit.

        >>> index = Index.create(["score", "minute"])
        >>> index.insert({"score": [7, 9], "minute": [1, 2]}).version
        2
        >>> index.insert({"score": [8], "minute": [3]}, expire="minute < 2").erased
        1
        """
        rows = Step("insert", self._schema.rows_of(table, id, label, nulls, needs_ids=False))
        steps = with_expiry(rows, self._handle, expire)
        return self._write(steps, WriteOptions(round_to_float32, duplicates))

    def upsert(
        self,
        table: Any,
        *,
        id: Any = None,
        label: Any = None,
        nulls: str = "keep",
        round_to_float32: bool = False,
        expire: Where = None,
    ) -> WriteResult:
        """Adds rows, and replaces those with the same id: whole rows, labels too. Of several rows with one id the last
        counts. A row that `nulls="drop"` leaves out replaces none: `unchanged_ids` has the ids of such rows that are in
        the index. Otherwise as insert.

        >>> index = Index.build({"price": [80, 120]})
        >>> index.upsert({"id": [1, 2], "price": [None, 70]}, nulls="drop").unchanged_ids
        (1,)
        """
        rows = Step("upsert", self._schema.rows_of(table, id, label, nulls, needs_ids=True))
        return self._write(with_expiry(rows, self._handle, expire), WriteOptions(round_to_float32))

    def update(self, table: Any, *, id: Any = None, label: Any = None, round_to_float32: bool = False) -> WriteResult:
        """Changes some columns of rows that are there: those of the table, by name. The others keep their values, as do
        labels. An id that is not in the index is an error. Changes that another thread makes meanwhile may be lost.

        >>> index = Index.build({"price": [80, 120], "stock": [3, 0]})
        >>> index.update({"id": [1], "stock": [5]}).replaced
        1
        >>> index.get(1)["price"], index.get(1)["stock"]
        (120, 5)
        """
        columns = Step("update", self._schema.some_columns_of(table, id, label))
        return written(self._handle, [columns], WriteOptions(round_to_float32))

    def erase(self, ids: Ids | None = None, *, where: Where = None) -> int:
        """Erases rows and returns how many. Ids that are not in the index are ignored; what no row can have as its id
        is an error, as of `get`.

        Args:
            where: instead of ids, the rows that pass a filter, as of search. An empty one is refused; all rows pass
                "id is not null".

        >>> index = Index.build({"price": [80, 120, 300]})
        >>> index.erase(where="price > 100")
        2
        """
        return written(self._handle, [Step("erase", rows_to_erase(self._handle, ids, where))], WriteOptions()).erased

    def batch(self, *, round_to_float32: bool = False, duplicates: str = "error") -> Batch:
        """Several changes that become visible together, or not at all.

        >>> index = Index.create(["price"])
        >>> with index.batch() as batch:
        ...     batch.insert({"price": [1, 2, 3]})
        ...     batch.erase([0])
        >>> len(index)
        2
        """
        options = WriteOptions(round_to_float32, duplicates)
        return Batch(lambda steps: self._write(steps, options), self._schema, self._handle)

    def _write(self, steps: Sequence[Step], options: WriteOptions) -> WriteResult:
        def contains(ids: np.ndarray | list[str]) -> np.ndarray:
            return look_up(self._handle, ids, self._schema.field_kinds)[1]

        result = with_dropped(written(self._handle, steps, options), steps, self._schema.id_type, contains)
        self._dropped += result.rows_dropped
        return result

    def flush(self) -> None:
        """Makes all changes so far durable, whatever durability the index was opened with."""
        _core.flush(self._handle)

    def checkpoint(self) -> None:
        """Writes a snapshot to the directory, so that opening has no log to replay. Also written in the background."""
        _core.checkpoint(self._handle)

    def compact(self, *, temp_directory: Path | None = None) -> None:
        """Rebuilds the index from all rows, with the partitions and bounds of a fresh build. Searches go on.

        Args:
            temp_directory: as for build, of an index in a directory that was opened with loading="on_touch": its rows
                are read a few at a time.
        """
        _core.compact(self._handle, as_bytes(temp_directory))

    def close(self) -> None:
        """Ends writing: makes all changes durable and releases the lock. Writes a checkpoint if the log has become
        long. Searches still work."""
        _core.close(self._handle)

    def __enter__(self) -> Index:
        return self

    def __exit__(
        self, type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def refresh(self) -> str:
        """For an index that was opened for reading: loads what its writer has published since. Returns "unchanged",
        "advanced", or "replaced" if the directory now holds another index. Raises as `open`; searches then go on with
        the version of before, and the next call tries again."""
        outcome = self._handle.refresh()
        if outcome == "replaced":
            self._schema = Schema.of(self._handle)
        return outcome

    def snapshot(self) -> Index:
        """A handle to this version: its searches do not see later changes."""
        return Index._of(self._handle.snapshot())

    @overload
    def to(self, device: str, *, memory: str = "auto", resident: bool = False) -> DeviceIndex: ...
    @overload
    def to(
        self,
        device: list[str] | tuple[str, ...],
        *,
        memory: str = "auto",
        layout: str = "replicate",
        resident: bool = False,
    ) -> DeviceGroup: ...
    def to(
        self,
        device: str | list[str] | tuple[str, ...],
        *,
        memory: str = "auto",
        layout: str = "replicate",
        resident: bool = False,
    ) -> DeviceIndex | DeviceGroup:
        """Copies the index to a GPU, "cuda:0", or to several, ["cuda:0", "cuda:1"], which answer together; one that is
        named twice has two copies or parts. The copies follow the changes of the index, and their memory is free
        once nothing refers to them (`del`).

        Args:
            memory: where rows are kept: "device", "managed", "host" (pinned, read over the bus), "compressed" (on the
                GPU in the few bits that they need, as in files, about a third of the bytes of prices, ratings, counts
                or dates; kernels decode what they score), or "auto": device if they fit, else compressed if that
                does, else host.
            layout: of several GPUs: "replicate", each has a copy and answers a share of the queries, or "shard", each
                has a part of the index, and all answer every query.
            resident: whether a kernel stays on seven eighths of the GPU's multiprocessors while single queries come, so
                that they do not wait for a launch. It answers those of up to 1,024 rows without a filter, one at a
                time, and leaves after at most 4 ms; until then other work that needs the whole GPU, or frees memory,
                waits.

        Raises:
            OutOfDeviceMemory: if there is no room. It is a MemoryError.
            CudaError: if there is no such GPU, or this culmen was built without CUDA.
        """
        names = list(device) if isinstance(device, (list, tuple)) else [device]
        numbers = [device_number(name) for name in names]
        if any(number < 0 for number in numbers):
            raise InvalidArgument('an index is on the CPU; to() copies it to a GPU, "cuda:0"')
        if isinstance(device, (list, tuple)):
            return DeviceGroup._of(self._handle.to_devices(numbers, memory, layout, resident), self._schema)
        return DeviceIndex._of(self._handle.to_device(numbers[0], memory, resident), self._schema)

    @property
    def recovery(self) -> RecoveryInfo:
        """What opening found in the log."""
        return RecoveryInfo(**self._handle.recovery())

    @property
    def rows_dropped(self) -> int:
        """Rows that were skipped because of gaps (nulls="drop"): by the build, and by changes through this object."""
        return self._dropped

    def verify(self, deep: bool = True) -> list[str]:
        """Recomputes order, ids, bounds and counts, and returns the faults, one line each. Cost: reads everything;
        `deep` also recomputes the subset maxima of every leaf."""
        return self._handle.verify(deep)

    def __repr__(self) -> str:
        info = self.info
        names = ", ".join(self.attributes[:8])
        if len(self.attributes) > 8:
            names += f" and {len(self.attributes) - 8} more"
        dropped = f" ({self._dropped} dropped)" if self._dropped else ""
        return f"<culmen.Index: {info.num_rows} rows{dropped}, {names}; {info.value_type}, version {info.version}>"

    def _repr_html_(self) -> str:
        """Its columns, for notebooks."""
        return _html.index(repr(self), self.schema)

    def __copy__(self) -> Index:
        return self  # a handle

    def __reduce__(self) -> Any:
        raise TypeError("an index is not pickled: save() it, and open() the directory in the other process")


def _path(path: Path) -> bytes:
    name = os.fsencode(path)
    if b"\0" in name:
        raise ValueError(f"there is a null character in the path {name!r}")
    return name
