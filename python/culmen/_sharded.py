"""ShardedIndex: one table in several indexes, asked as one. This is the driver; engines only carry its calls."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, TypeVar

import numpy as np

from . import _core
from ._build import BuildOptions
from ._engines import Engine, ShardUnavailable, ThreadEngine
from ._errors import InvalidArgument, IoError
from ._files import Path
from ._ids import as_ids, id_of
from ._merging import ShardedBatchResult, ShardedResult, joined_rows
from ._progress import Progress, shown
from ._queries import (
    ALL_CORES,
    TEN_OR_ALL,
    KOrEach,
    ScoreOrEach,
    Where,
    WhereOrEach,
    check_integer,
    check_types,
    in_numbers,
    is_matrix,
)
from ._question import Question
from ._question_tables import lists_of, tables_of, weights_of, with_answers
from ._reports import ColumnInfo, IndexInfo, RecoveryInfo, WriteResult
from ._result import Row
from ._rounds import Rounds
from ._shard_builds import MOST_SHARDS, Coordinator, LocalTasks, Tasks, parts_of
from ._sharded_steps import Step
from ._sharded_writes import ShardedBatch, Writer
from ._shards import ShardMissing, Stale, State, Version
from ._tables import Attributes, Choice, Missing
from ._values import named_rows
from ._view import View
from ._writes import expiry, rows_to_erase

#: A question is asked anew if shards have changed under it. So often only if they change faster than they answer.
_RESTARTS = 20
_PAUSE = 0.01

T = TypeVar("T")
S = TypeVar("S", bound="ShardedIndex")


class ShardedIndex:
    """A table in several indexes (shards), each in a directory of its own. Its answers are those of one index of all
    rows, ids and score bits.

    This one serves all shards in its own process, with a thread each. culmen.dask and culmen.ray have the same class
    over the processes of a cluster. All methods may be called from any number of threads.

    A question goes to the most promising shard first, then to the others with its k-th score as the least that they
    have to return, or to all at once, whichever the measured costs of a call and of a search favour. A shard that
    cannot have a row of the answer is not asked.
    """

    def __init__(self) -> None:
        raise TypeError("a sharded index comes from ShardedIndex.build or ShardedIndex.open")

    _make_engine: Callable[[Sequence[str]], Engine]
    _engine: Engine
    _is_writable: bool
    _writer: Writer | None
    _writing: threading.Lock
    _view: View
    _rounds: Rounds
    _path: str

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
    ) -> ShardedIndex:
        """Builds a sharded index in a directory, and opens it. The hash of a row's id chooses its shard.

        Args:
            table: Parquet or Arrow files, as for Index.from_files, or a table with names, as for Index.build. Needs
                pyarrow.
            shards: how many.
            overwrite: replaces a sharded index that is in the directory. Who has it open keeps it.
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
    ) -> None:
        choice = Choice(attributes, id, label, columns, stored, missing, nulls)
        options = BuildOptions(value_type, partitioning, cluster, num_partitions, leaf_rows, threads, None, None)
        path = os.path.abspath(os.fsdecode(directory))
        Coordinator(tasks, path, shards, overwrite).build(parts, choice, options)

    @classmethod
    def open(cls, directory: Path, *, writable: bool = False, min_version: int = 0) -> ShardedIndex:
        """Opens the sharded index in a directory.

        Args:
            writable: locks the directory and allows changes; one driver at a time can write. Whoever serves a shard
                writes to it.
            min_version: raises InvalidArgument if `version` is below.

        Raises:
            NoIndex: there is no sharded index.
            FormatError, IoError: as Index.open, and IoError for a shard that is missing; the text names it. Searches
                raise what they meet later.
        """
        return cls._over(directory, ThreadEngine, writable, min_version)

    @classmethod
    def _over(
        cls: type[S], directory: Path, make_engine: Callable[[Sequence[str]], Engine], writable: bool, min_version: int
    ) -> S:
        index = object.__new__(cls)
        index._path = os.path.abspath(os.fsdecode(directory))
        index._make_engine = make_engine
        index._is_writable = writable
        index._writing = threading.Lock()
        index._writer = None
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

    def _listed(self) -> list[dict[str, Any]]:
        return _core.listed_shards(os.fsencode(self._path))

    def _directories_of(self, listed: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
        return tuple(os.path.join(self._path, shard["directory"]) for shard in listed)

    def _serve(self, listed: Sequence[Mapping[str, Any]]) -> None:
        self._engine = self._make_engine(self._directories_of(listed))
        self._engine.is_writing = self._is_writable
        self._rounds = Rounds(len(listed))

    def _looked(self) -> View:
        """Asks all shards what they are. One that does not answer is what the manifest says."""
        listed = self._listed()
        if self._directories_of(listed) != self._engine.directories:
            self._serve(listed)  # built again; questions that have begun keep the shards that they know
        states, faults = [], {}
        known = [Version(shard["uuid"], shard["version"], is_listed=True) for shard in listed]
        seen: View | None = getattr(self, "_view", None)
        histories = {version.uuid: version.history for version in seen.versions} if seen else {}
        answers = self._engine.ask({s: ("state", v, histories.get(v.uuid, "")) for s, v in enumerate(known)})
        for number, answer in sorted(answers.items()):
            if isinstance(answer, Exception):
                faults[number] = answer
                answer = State(known[number], listed[number]["statistics"], None, 0)
            states.append(answer)
        if len(faults) < len(states):
            return View.of(self._engine, states, faults)
        if self._is_served():
            raise faults[0]
        return self._looked()

    def _is_served(self) -> bool:
        """Whether the shards that the manifest lists are those of the engine, still."""
        return self._directories_of(self._listed()) == self._engine.directories

    def _to_all(self, method: str, *arguments: Any) -> dict[int, tuple[Any, ...]]:
        return dict.fromkeys(range(self.num_shards), (method, *arguments))

    # ---- queries

    def search(
        self,
        weights: Any,
        k: KOrEach = TEN_OR_ALL,
        *,
        where: WhereOrEach = None,
        min_score: ScoreOrEach = None,
        scale: str = "none",
        missing: str = "skip",
        terms: str = "",
        engine: str = "auto",
        threads: int = ALL_CORES,
        allow_partial: bool = False,
        timeout: float | None = None,
        progress: Progress | bool | None = None,
    ) -> ShardedResult | ShardedBatchResult:
        """As Index.search: the k rows with the highest weighted sums of all shards, exactly. A matrix of queries is one
        message a shard, or a few, of up to 16,384 queries.

        Args:
            threads: of each shard that is asked, for a scan or the queries of a matrix. Default: those of its worker.
            allow_partial: whether an answer may lack shards that cannot be asked: `missing_shards` names them, and
                the rows of all others are there. Without it, that is an error.
            timeout: seconds after which a shard counts as one that cannot be asked.
            progress: as of Index.search. Where shards are in other processes, or there is a timeout, it is told after
                each message to all of them.

        Raises:
            InvalidArgument: as Index.search.
            ShardUnavailable: for shards whose workers died again and again, or did not answer in time.
            FormatError, IoError: for a shard that is missing, damaged, or cannot be read.
        """
        rest = (where, min_score, scale, missing, terms, engine, threads)
        if progress is not None and progress is not False and not is_matrix(weights):
            raise InvalidArgument("progress is of a matrix of weights; these are of one query")
        with shown(progress) as report:
            question = Question(weights, k, rest, self._rounds, self._rows, allow_partial, timeout, report)
            found = self._at_one_version(question.answered)
            if report is not None:
                report("searching", 1.0)
        return found

    def search_many(
        self,
        questions: Any,
        k: int | None = TEN_OR_ALL,
        *,
        where: Where = None,
        min_score: float | None = None,
        scale: str = "none",
        missing: str = "skip",
        terms: str = "",
        engine: str = "auto",
        threads: int = ALL_CORES,
    ) -> Any:
        """Answers tables of questions that need not fit into memory. Needs pyarrow.

        Args:
            questions: a table whose columns with the names of attributes are weights, or an iterable of such tables,
                like a pyarrow.RecordBatchReader.

        The other arguments are those of search.

        Returns:
            An iterator over tables of pyarrow: all columns of the questions, `ids` and `scores`. A table is answered
            when it is asked for.
        """
        k, rest = in_numbers(k, (where, min_score, scale, missing, terms, engine, threads))
        check_types(k, *rest)
        return self._search_many(questions, k, rest)

    def _search_many(self, questions: Any, k: int | None, rest: tuple[Any, ...]) -> Any:
        return (self._answered(table, k, rest) for table in tables_of(questions))

    def _answered(self, table: Any, k: int | None, rest: tuple[Any, ...]) -> Any:
        """With the answers to its questions."""
        weights = weights_of(table, self.attributes)
        question = Question(weights, k, rest, self._rounds, self._rows, allow_partial=False, timeout=None)
        found = self._at_one_version(question.answered)
        assert isinstance(found, ShardedBatchResult)
        is_row = np.arange(found.ids.shape[1]) < found.counts[:, None]
        return with_answers(table, lists_of(found.counts, found.ids[is_row], found.scores[is_row]))

    def _at_one_version(self, ask: Callable[[View], T]) -> T:
        """Asks again, about newer versions, if a shard has moved on."""
        pause = _PAUSE
        for _ in range(_RESTARTS):
            try:
                return ask(self._view)
            except (Stale, ShardMissing) as error:
                if isinstance(error, ShardMissing) and self._is_served():
                    raise
                self.refresh()
                time.sleep(pause)
                pause = min(1.0, 2 * pause)
        return ask(self._view)

    def get(self, id: int) -> Row | None:
        """The row with this id; None if there is none. Its score is NaN."""
        if (number := id_of(id)) is None:
            return None

        def ask(view: View) -> Row | None:
            found = self._rows(view, {_shard_of(view, number): as_ids(number)})
            [taken] = found.values()
            if not taken[1]:
                return None
            taken = joined_rows([taken])
            [columns] = named_rows(view.schema, taken)
            return Row(number, float("nan"), columns, taken[1][0])

        return self._at_one_version(ask)

    def __contains__(self, id: object) -> bool:
        number = id_of(id) if isinstance(id, (int, np.integer)) else None
        if number is None:
            return False

        def ask(view: View) -> bool:
            shard = _shard_of(view, number)
            return bool(_all_answers(view.engine, {shard: ("contains", view.versions[shard], number)})[shard])

        return self._at_one_version(ask)

    @staticmethod
    def _rows(view: View, ids: Mapping[int, np.ndarray]) -> Mapping[int, Any]:
        kinds = view.schema.field_kinds
        return _all_answers(view.engine, {s: ("get", view.versions[s], of_shard, kinds) for s, of_shard in ids.items()})

    # ---- changes

    def insert(
        self,
        table: Any,
        *,
        id: Any = None,
        label: Any = None,
        nulls: str = "keep",
        round_to_float32: bool = False,
        expire: Where = None,
    ) -> WriteResult:
        """As Index.insert: adds rows, all or none. Needs open(..., writable=True)."""
        rows = self._view.schema.rows_of(table, id, label, nulls, needs_ids=False)
        return self._write_rows(Step("insert", rows), round_to_float32, expire)

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
        return self._write_rows(Step("upsert", rows), round_to_float32, expire)

    def _write_rows(self, step: Step, round_to_float32: bool, expire: Where) -> WriteResult:
        erased = expiry(self._view.names, expire)
        return self._write([step] if erased is None else [step, Step("erase", erased)], round_to_float32)

    def erase(self, ids: int | Iterable[int] | None = None, *, where: Where = None) -> int:
        """As Index.erase: erases rows, by their ids or by a filter, and returns how many."""
        return self._write([Step("erase", rows_to_erase(self._view.names, ids, where))], False).erased

    def batch(self, *, round_to_float32: bool = False) -> ShardedBatch:
        """Several changes, as Index.batch. This index sees them together, or none.

        Each shard writes its part durably, whole or not at all. What is wrong with rows is found before any of them
        writes. If this process dies in the middle, some shards have their part; other readers may see one shard with
        the batch and another without it while it is written.
        """
        return ShardedBatch(self._write, self._view, round_to_float32)

    def _write(self, steps: Sequence[Step], round_to_float32: bool) -> WriteResult:
        with self._as_writer() as writer:
            if not self._view.has_stand_ins and any(step.kind != "erase" for step in steps):
                result = writer.write_first(steps, round_to_float32)
                self.refresh()
                writer.engine = self._engine  # of other shards
                return result
            result, self._view = writer.write(self._view, steps, round_to_float32)
            return result

    @contextlib.contextmanager
    def _as_writer(self) -> Iterator[Writer]:
        with self._writing:
            if self._writer is None:
                raise InvalidArgument("the index was opened for reading: open(..., writable=True)")
            try:
                yield self._writer
            except IoError:
                self.refresh()  # some shards have written
                raise

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
            self._view = writer.maintain(self._view, method)

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

    # ---- what it is

    def refresh(self) -> str:
        """Loads what the writers of the shards have published since. Returns "unchanged", "advanced", or "replaced" if
        the directory now holds other shards, or older files of a shard."""
        old = self._view.versions
        self._view = self._looked()
        if len(old) != len(self._view.versions) or any(map(Version.is_other_index, old, self._view.versions)):
            return "replaced"
        return "unchanged" if old == self._view.versions else "advanced"

    def verify(self, deep: bool = True) -> list[str]:
        """The faults of all shards, one line each, which names the shard. As Index.verify."""
        view = self._view
        answers = view.engine.ask({s: ("verify", version, deep) for s, version in enumerate(view.versions)})
        faults = []
        for shard, answer in sorted(answers.items()):
            found = [str(answer)] if isinstance(answer, Exception) else answer
            faults += [f"{os.path.basename(view.engine.directories[shard])}: {fault}" for fault in found]
        return faults

    @property
    def info(self) -> IndexInfo:
        """As Index.info, of all rows: counts and bytes are sums over the shards."""
        return IndexInfo.of_shards(self.shard_infos, _core.statistics_report(self._view.statistics))

    @property
    def shard_infos(self) -> tuple[IndexInfo, ...]:
        """What each shard is, and how large."""

        def ask(view: View) -> tuple[IndexInfo, ...]:
            found = _all_answers(view.engine, {s: ("info", version) for s, version in enumerate(view.versions)})
            return tuple(IndexInfo.of(report) for _, report in sorted(found.items()))

        return self._at_one_version(ask)

    @property
    def recovery(self) -> RecoveryInfo:
        """What opening the shards found in their logs."""
        reports = _all_answers(self._engine, self._to_all("recovery"))
        found = [RecoveryInfo(**report) for _, report in sorted(reports.items())]
        return RecoveryInfo(
            sum(part.num_batches for part in found),
            sum(part.dropped_bytes for part in found),
            next((part.dropped_from for part in found if part.dropped_from), ""),
        )

    @property
    def num_shards(self) -> int:
        return len(self._engine.directories)

    @property
    def num_workers(self) -> int:
        """How many of its shards can work at the same time."""
        return self._engine.num_workers

    @property
    def version(self) -> int:
        """The sum of `versions`."""
        return sum(self.versions)

    @property
    def versions(self) -> tuple[int, ...]:
        """The version of each shard that questions are about."""
        return self._view.numbers

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names, in the order of weights that are given without names."""
        return self._view.schema.names

    @property
    def schema(self) -> tuple[ColumnInfo, ...]:
        """All columns, as of Index.schema."""
        return self._view.schema.columns()

    def process_of(self, shard: int) -> int:
        """The number of the process that serves a shard now."""
        check_integer("shard", shard, 0, self.num_shards - 1)
        return int(_all_answers(self._engine, {shard: ("ping",)})[shard])

    @property
    def call_costs(self) -> tuple[float, float]:
        """Seconds of an empty call to one shard, and to all at once, as measured now or when it was last asked for."""
        costs = self._engine.costs()
        if costs is None:
            raise ShardUnavailable("not all shards answer")
        return costs

    def __len__(self) -> int:
        return self._view.num_rows

    def __repr__(self) -> str:
        names = ", ".join(self.attributes[:8]) + (", ..." if len(self.attributes) > 8 else "")
        return f"<{type(self).__module__}.ShardedIndex: {len(self)} rows in {self.num_shards} shards, {names}>"

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


def _shard_of(view: View, id: int) -> int:
    return int(_core.shards_of(as_ids(id), len(view.versions))[0])


def _all_answers(engine: Engine, requests: Mapping[int, tuple[Any, ...]]) -> dict[int, Any]:
    answers = engine.ask(requests)
    for _, answer in sorted(answers.items()):
        if isinstance(answer, Exception):
            raise answer
    return answers
