"""ShardedIndex: one table in several indexes, asked as one: build it, open it, change it."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from types import TracebackType
from typing import Any, TypeVar

from . import _core
from ._build import BuildOptions
from ._device import place_of_codes
from ._engines import Engine, ThreadEngine
from ._errors import InvalidArgument, IoError
from ._files import Path
from ._ids import Ids, IdType
from ._other_words import HasOtherWords
from ._queries import ALL_CORES, Where, check_integer
from ._reports import WriteResult
from ._shard_builds import MOST_SHARDS, Coordinator, LocalTasks, Tasks, parts_of
from ._sharded_searchable import ShardedSearchable
from ._sharded_writes import Writer
from ._shards import Reading
from ._steps import Step, with_expiry
from ._tables import Attributes, Choice, Missing
from ._writes import Batch, WriteOptions, rows_to_erase, with_dropped

T = TypeVar("T")
S = TypeVar("S", bound="ShardedIndex")


class ShardedIndex(HasOtherWords, ShardedSearchable):
    """A table in several indexes (shards), each in a directory of its own. Its answers are those of one index of all
    rows, ids and score bits.

    This one serves all shards in its own process, with a thread each. culmen.dask and culmen.ray have the same class
    over the processes of a cluster. All methods may be called from any number of threads.

    A question goes to the most promising shard first, then to the others with its k-th score as the least that they
    have to return, or to all at once, whichever the measured costs of a call and of a search favour. A shard that
    cannot have a row of the answer is not asked.
    """

    def __init__(self, *_: Any, **__: Any) -> None:
        raise TypeError("a sharded index comes from ShardedIndex.build or ShardedIndex.open")

    _writer: Writer | None
    _writing: threading.Lock

    @classmethod
    def build(
        cls,
        table: Any,
        directory: Path,
        attributes: Attributes = None,
        *,
        shards: int,
        overwrite: bool = False,
        id: str | None = None,
        label: str | None = None,
        id_type: IdType | None = None,
        columns: Collection[str] | None = None,
        stored: Collection[str] | None = None,
        missing: Missing = None,
        nulls: str = "keep",
        value_type: str = "automatic",
        partitioning: str = "automatic",
        cluster: str | None = None,
        num_partitions: int = 0,
        leaf_rows: int = 0,
        threads: int = ALL_CORES,
        duplicates: str = "error",
    ) -> ShardedIndex:
        """Builds a sharded index in a directory, and opens it. The hash of a row's id chooses its shard.

        Args:
            table: Parquet or Arrow files, as for Index.from_files, or a table with names, as for Index.build. Needs
                pyarrow.
            shards: how many.
            id_type: "uint64" for ids from 0 to 2^64 - 1; otherwise one of 2^63 or more is an error. A column of texts
                is "text" by default.
            overwrite: replaces an index that is in the directory, sharded or not. Who has it open keeps it.
            cluster: the column that rows are grouped by within each shard.

        The other arguments are those of Index.build, and so are the answers. Only what a column of texts is for, if
        `stored` does not say, depends on an estimate of how many of them differ.

        Cost: memory for one shard at a time, and room in the directory for a copy of the table while it lasts.
        """
        cls._build(
            LocalTasks(),
            parts_of(table),
            directory,
            attributes,
            shards=shards,
            overwrite=overwrite,
            id=id,
            label=label,
            id_type=id_type,
            columns=columns,
            stored=stored,
            missing=missing,
            nulls=nulls,
            value_type=value_type,
            partitioning=partitioning,
            cluster=cluster,
            num_partitions=num_partitions,
            leaf_rows=leaf_rows,
            threads=threads,
            duplicates=duplicates,
        )
        return cls.open(directory)

    @classmethod
    def _build(
        cls,
        tasks: Tasks,
        parts: Sequence[Any],
        directory: Path,
        attributes: Attributes,
        *,
        shards: int,
        overwrite: bool = False,
        id: str | None = None,
        label: str | None = None,
        id_type: IdType | None = None,
        columns: Collection[str] | None = None,
        stored: Collection[str] | None = None,
        missing: Missing = None,
        nulls: str = "keep",
        value_type: str = "automatic",
        partitioning: str = "automatic",
        cluster: str | None = None,
        num_partitions: int = 0,
        leaf_rows: int = 0,
        threads: int = ALL_CORES,
        duplicates: str = "error",
    ) -> None:
        choice = Choice(attributes, id, label, columns, stored, missing, nulls, id_type)
        options = BuildOptions(
            value_type, partitioning, cluster, num_partitions, leaf_rows, threads, None, None, duplicates
        )
        path = os.path.abspath(os.fsdecode(directory))
        Coordinator(tasks, path, shards, overwrite).build(parts, choice, options)

    @classmethod
    def open(
        cls,
        directory: Path,
        *,
        writable: bool = False,
        min_version: int = 0,
        max_memory: int | None = None,
        codes: str = "files",
    ) -> ShardedIndex:
        """Opens the sharded index in a directory.

        Args:
            writable: locks the directory and allows changes; one driver at a time can write. Whoever serves a shard
                writes to it.
            min_version: raises InvalidArgument if `version` is below.
            max_memory: bytes that the shards share evenly, as Index.open takes it for one.
            codes: as Index.open takes it; a GPU is one of whoever serves a shard.

        Raises:
            NoIndex: there is no sharded index.
            FormatError, IoError: as Index.open, and IoError for a shard that is missing; the text names it. Searches
                raise what they meet later.
        """
        return cls._over(directory, ThreadEngine, writable, min_version, max_memory, codes)

    @classmethod
    def _over(
        cls: type[S],
        directory: Path,
        make_engine: Callable[[Sequence[str], Reading], Engine],
        writable: bool,
        min_version: int,
        max_memory: int | None,
        codes: str,
    ) -> S:
        """make_engine: of directories, and how each shard is read."""
        place_of_codes(codes)  # raises for what is none
        if codes != "files" and (writable or max_memory is None):
            raise InvalidArgument("codes are kept by readers with max_memory")
        most = 0 if max_memory is None else check_integer("max_memory", max_memory, 1, (1 << 64) - 1)
        index = object.__new__(cls)
        index._path = os.path.abspath(os.fsdecode(directory))
        index._make_engine = lambda directories: make_engine(
            directories, Reading(max(1, most // max(1, len(directories))) if most else 0, codes)
        )
        index._is_writable = writable
        index._writing = threading.Lock()
        index._writer = None
        index._failure = ""
        index._serve(index._listed())
        try:
            index._writer = Writer(index._path, index._engine) if writable else None
            index._view = index._looked()
            if index.version < min_version:
                raise InvalidArgument(f"{index._path} is at version {index.version}, not yet at {min_version}")
        except BaseException:
            index.close()
            raise
        return index

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
        """As Index.insert: adds rows, all or none. Needs open(..., writable=True)."""
        rows = self._view.schema.rows_of(table, id, label, nulls, needs_ids=False)
        steps = with_expiry(Step("insert", rows), self._view.names, expire)
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
        """As Index.upsert: adds rows, and replaces those with the same id."""
        rows = self._view.schema.rows_of(table, id, label, nulls, needs_ids=True)
        return self._write(with_expiry(Step("upsert", rows), self._view.names, expire), WriteOptions(round_to_float32))

    def update(self, table: Any, *, id: Any = None, label: Any = None, round_to_float32: bool = False) -> WriteResult:
        """As Index.update: changes some columns of rows that are there. Each shard completes its rows itself."""
        columns = Step("update", self._view.schema.some_columns_of(table, id, label))
        return self._write([columns], WriteOptions(round_to_float32))

    def erase(self, ids: Ids | None = None, *, where: Where = None) -> int:
        """As Index.erase: erases rows, by their ids or by a filter, and returns how many."""
        return self._write([Step("erase", rows_to_erase(self._view.names, ids, where))], WriteOptions()).erased

    def batch(self, *, round_to_float32: bool = False, duplicates: str = "error") -> Batch:
        """Several changes, as Index.batch. This index sees them together, or none.

        Each shard writes its part durably, whole or not at all. What is wrong with rows is found before any of them
        writes. If this process dies in the middle, some shards have their part; other readers may see one shard with
        the batch and another without it while it is written.

        Raises:
            IoError: a shard could not write. The text says which shards have their part; this index still shows none
                of it, and refuses further changes until it is opened again.
        """
        options = WriteOptions(round_to_float32, duplicates)
        return Batch(lambda steps: self._write(steps, options), self._view.schema, self._view.names)

    def _write(self, steps: Sequence[Step], options: WriteOptions) -> WriteResult:
        with self._as_writer() as writer:
            try:
                if self._view.has_stand_ins or not any(step.kind in ("insert", "upsert") for step in steps):
                    result, self._view = writer.write(self._view, steps, options)
                    return self._with_dropped(result, steps)
                result = writer.write_first(steps, options)
                self.refresh()
                writer.engine = self._engine  # of other shards
                return self._with_dropped(result, steps)
            finally:
                self._failure = writer.failure

    def _with_dropped(self, result: WriteResult, steps: Sequence[Step]) -> WriteResult:
        view = self._view
        return with_dropped(result, steps, view.schema.id_type, lambda ids: self._are_there(view, ids))

    @contextlib.contextmanager
    def _as_writer(self) -> Iterator[Writer]:
        with self._writing:
            if self._failure:
                raise IoError(self._failure)
            if self._writer is None:
                raise InvalidArgument("the index was opened for reading: open(..., writable=True)")
            yield self._writer

    def flush(self) -> None:
        """As Index.flush, in all shards. Batches are durable as they are acknowledged."""
        self._maintain("flush")

    def checkpoint(self) -> None:
        """As Index.checkpoint, in all shards. Then the manifest lists these versions."""
        self._maintain("checkpoint")

    def compact(self) -> None:
        """As Index.compact, in all shards at the same time."""
        self._maintain("compact")

    def _maintain(self, method: str) -> None:
        with self._as_writer() as writer:
            try:
                self._view = writer.maintain(self._view, method)
            except IoError:
                self.refresh()  # some shards may be at other versions, of the same rows
                raise

    @staticmethod
    def rebalance(directory: Path, shards: int, *, threads: int = ALL_CORES) -> None:
        """Distributes all rows over another number of shards, in this process: writes these, then replaces the
        manifest, then removes the old ones. Who has the index open keeps the old shards until its next refresh().
        Memory: one old shard, and the rows of one new shard with the index that is built of them; every old shard is
        read for each new one.

        Raises:
            IoError: while the index is open for writing.
        """
        count = check_integer("shards", shards, 1, MOST_SHARDS)
        _core.rebalance_shards(os.fsencode(directory), count, check_integer("threads", threads))

    def close(self) -> None:
        """Ends writing, and lets go of the shards."""
        with self._writing:
            writer, self._writer = self._writer, None
            if writer is not None:
                self._engine.ask(self._to_all("release"))
                writer.release()
        self._engine.close()

    def __enter__(self: T) -> T:
        return self

    def __exit__(
        self, type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError("a sharded index is not pickled: open its directory in the other process")
