"""Shards served by the workers of a Dask cluster (distributed): pip install "culmen[dask]".

    from distributed import Client, LocalCluster
    from culmen.dask import ShardedIndex

    with Client(LocalCluster()) as client:
        index = ShardedIndex.open("hotels.shards")
        index.search({"price": -0.4, "rating": 12})

Calls are tasks. A shard is a worker's to serve, but any worker can: the directory is visible to all. If one dies, its
tasks run elsewhere, and the shard is opened there.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._device import device_number
from ._engines import Engine, WorkerLost
from ._errors import InvalidArgument
from ._files import Path
from ._ids import IdType, decoded
from ._question_tables import check_names, lists_of, merged_lists, weights_of, with_answers
from ._schema import Schema
from ._shard_builds import Tasks, parts_of
from ._sharded import ShardedIndex as _ShardedIndex
from ._shards import READ_WHOLE, WRITING, Reading, Shards, Version, part_of
from ._tables import Attributes
from ._view import names_of

if TYPE_CHECKING:
    import pyarrow
    from distributed import Client, Future

__all__ = ["ShardedIndex"]

_PLUGIN = "culmen-shards"
#: Seconds for which the list of workers is not read again.
_WORKERS_ARE_KNOWN = 1.0
_RETRIES = 3
#: Seconds after which answers that workers have count as lost with them.
_GATHERING = 10.0


def _distributed() -> Any:
    try:
        import distributed
    except ImportError as error:
        raise ImportError('culmen.dask needs distributed: pip install "culmen[dask]"') from error
    return distributed


def _current_client() -> Any:
    try:
        return _distributed().get_client()
    except ValueError:
        raise InvalidArgument("there is no Dask client: make one, Client(LocalCluster()), or pass client=...") from None


def _call(kind: tuple[int | None, int], directory: str, method: str, *arguments: Any) -> Any:
    """A task."""
    return _distributed().get_worker().plugins[_PLUGIN].shards_of(kind).call(directory, method, *arguments)


def _plugin() -> Any:
    class ShardPlugin(_distributed().WorkerPlugin):  # type: ignore[misc]
        """Keeps shards open on a worker between tasks."""

        name = _PLUGIN
        idempotent = True

        def setup(self, worker: Any) -> None:
            self.lock = threading.Lock()
            self.shards: dict[tuple[int | None, Reading], Shards] = {}

        def teardown(self, worker: Any) -> None:
            for shards in self.shards.values():
                shards.close()

        def shards_of(self, kind: tuple[int | None, Reading]) -> Shards:
            """kind: the arguments of Shards."""
            with self.lock:
                return self.shards.setdefault(kind, Shards(*kind))

    return ShardPlugin()


class DaskEngine(Engine):
    """Calls are tasks, each on the worker that has the shard open, or on any other if that one is gone."""

    def __init__(
        self,
        client: Client | None,
        device: int | None,
        directories: Sequence[str],
        reading: Reading = READ_WHOLE,
    ) -> None:
        super().__init__(directories)
        self._kind = device, reading
        self._client: Any = client or _current_client()
        self._client.register_plugin(_plugin())
        self._workers: dict[str, int] = {}  # the threads of each
        self._homes: list[str | None] = [None] * len(directories)
        self._looked_at = -_WORKERS_ARE_KNOWN
        self._lock = threading.Lock()

    @property
    def num_workers(self) -> int:
        return max(1, len(self._known_workers()))  # while there are none, calls wait for one

    @property
    def threads(self) -> int:
        return min(self._known_workers().values(), default=0)

    def _known_workers(self) -> dict[str, int]:
        with self._lock:
            now = time.monotonic()
            if now - self._looked_at > _WORKERS_ARE_KNOWN or not self._workers:
                workers = self._client.scheduler_info(n_workers=-1)["workers"]
                self._workers = {address: worker["nthreads"] for address, worker in workers.items()}
                self._looked_at = now
            return self._workers

    def trouble(self) -> str:
        return "" if self._known_workers() else "the cluster has no worker"

    def _home(self, shard: int) -> str | None:
        """The worker that has the shard open, or one with the fewest. A shard that is written stays where it is: its
        writer has a lock."""
        workers = self._known_workers()
        with self._lock:
            counts = {address: self._homes.count(address) for address in workers}
            home = self._homes[shard]
            is_crowded = home in counts and not self.is_writing and counts[home] > -(-len(self._homes) // len(counts))
            if counts and (home not in counts or is_crowded):
                self._homes[shard] = home = min(counts, key=lambda address: (counts[address], address))
            return home if home in counts else None

    def address_of(self, shard: int) -> tuple[tuple[int | None, Reading], str]:
        """The first arguments of a task."""
        return self._kind, self.directories[shard]

    def place_of(self, shard: int, method: str) -> dict[str, Any]:
        """Where a task runs, for Dask."""
        home = self._home(shard)
        return {} if home is None else {"workers": [home], "allow_other_workers": method not in WRITING}

    def submit(self, shard: int, method: str, *arguments: Any) -> Future[Any]:
        place = self.place_of(shard, method)
        return self._client.submit(
            _call, *self.address_of(shard), method, *arguments, pure=False, retries=_RETRIES, **place
        )

    def outcomes(self, calls: Sequence[Any], timeout: float | None) -> list[Any]:
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        waiting = list(calls)
        idle: set[Any] = set()
        while waiting and (left := deadline - time.monotonic()) > 0:
            with contextlib.suppress(TimeoutError, _distributed().CancelledError):
                _distributed().wait(waiting, min(left, _WORKERS_ARE_KNOWN))
            waiting = [call for call in waiting if call.status == "pending"]
            idle = self._drop_stranded(waiting, idle)
        finished = [number for number, call in enumerate(calls) if call.status == "finished"]
        answers = self._gathered({number: calls[number] for number in finished})
        return [
            answers[number] if number in answers else self._failure(call, number in finished)
            for number, call in enumerate(calls)
        ]

    def _gathered(self, calls: dict[int, Any]) -> dict[int, Any]:
        """The answers, but for those that are lost with the worker that has them."""

        import asyncio  # takes longer than the rest of this module

        async def gather() -> Any:
            return await asyncio.wait_for(self._client.gather(calls, asynchronous=True), _GATHERING)

        for _ in range(_RETRIES):
            with contextlib.suppress(Exception):
                return dict(self._client.sync(gather)) if calls else {}
            calls = {number: call for number, call in calls.items() if call.status == "finished"}
        return {}

    def _drop_stranded(self, waiting: Sequence[Any], idle: set[Any]) -> set[Any]:
        """Cancels calls that no worker has, and that none had when it was asked before; returns the others of that
        kind. If all workers die, the scheduler does not give their tasks to new ones: a task that names a worker, even
        one that may run elsewhere, then waits for that worker's return. While there is no worker at all, calls wait."""
        if not waiting or not self._known_workers():
            return set()
        taken = {key for keys in self._client.processing().values() for key in keys}
        found = {call.key for call in waiting if call.key not in taken}
        for call in waiting:
            if call.key in found & idle:
                call.cancel()
        return found - idle

    def _failure(self, call: Any, was_finished: bool) -> Exception:
        distributed = _distributed()
        if call.status == "pending" and not was_finished:
            call.cancel()
            return TimeoutError()
        error = call.exception() if call.status == "error" else None
        if type(error).__name__ in ("NoWorkerError", "NoValidWorkerError"):  # which not all releases have
            return TimeoutError(str(error))
        lost = (distributed.KilledWorker, distributed.CancelledError, distributed.comm.CommClosedError)
        return WorkerLost(str(error or "its answer was lost")) if error is None or isinstance(error, lost) else error

    def close(self) -> None:
        """Shards stay open on the workers, for other drivers."""


class DaskTasks(Tasks):
    """Parts are files, or the delayed partitions of a DataFrame."""

    def __init__(self, client: Client | None) -> None:
        self._client: Any = client or _current_client()

    def map(self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> list[Any]:
        import dask

        task = dask.delayed(function, pure=False)
        return self._client.gather(self._client.compute([task(*call) for call in calls], retries=_RETRIES))


def _message_of(questions: Any, schema: Schema, k: int | None, rest: tuple[Any, ...]) -> bytes:
    """A task: what all shards are asked about a partition of questions, a pandas DataFrame or a list of dicts."""
    where, min_score, scale, missing, terms, _, _ = rest
    weights = weights_of(_as_table(questions), schema.names)
    floors = np.full(len(weights), -np.inf if min_score is None else min_score)
    numbers = [np.arange(len(weights))]
    [message] = _core.queries_messages(names_of(schema), weights, k, where, floors, scale, missing, terms, numbers)
    return bytes(message)


def _with_answers(
    questions: Any, k: int | None, id_type: IdType, versions: Sequence[Version], answers: Sequence[Any]
) -> Any:
    """A task: a partition of questions with what shards have answered, of the same kind."""
    parts = [part_of(answer, version) for answer, version in zip(answers, versions)]
    return _with_lists(questions, merged_lists(parts, len(questions), k, id_type))


def _with_lists(questions: Any, answers: dict[str, pyarrow.Array]) -> Any:
    if isinstance(questions, list):
        return with_answers(_as_table(questions), answers).to_pylist()
    import pandas

    columns = {name: pandas.arrays.ArrowExtensionArray(lists) for name, lists in answers.items()}
    return questions.assign(**columns)


def _as_table(questions: Any) -> Any:
    import pyarrow

    return pyarrow.Table.from_pylist(questions) if isinstance(questions, list) else questions


def _parts_of(table: Any) -> list[Any]:
    return list(table.to_delayed()) if hasattr(table, "to_delayed") else parts_of(table)


class ShardedIndex(_ShardedIndex):
    """culmen.ShardedIndex, with its shards on the workers of a Dask cluster."""

    _engine: DaskEngine

    @classmethod
    def build(
        cls, table: Any, directory: Path, attributes: Attributes = None, *, client: Client | None = None, **options: Any
    ) -> ShardedIndex:
        """Builds a sharded index by tasks, and opens it.

        Args:
            table: Parquet or Arrow files that all workers see, or a Dask DataFrame, whose partitions are pandas'.
            client: of the cluster. Default: the current one.

        The other arguments are those of culmen.ShardedIndex.build.
        """
        cls._build(DaskTasks(client), _parts_of(table), directory, attributes, **options)
        return cls.open(directory, client=client)

    @classmethod
    def open(
        cls,
        directory: Path,
        *,
        writable: bool = False,
        min_version: int = 0,
        max_memory: int | None = None,
        codes: str = "files",
        client: Client | None = None,
        device: str | None = None,
    ) -> ShardedIndex:
        """Opens the sharded index in a directory, which all workers see.

        Args:
            client: of the cluster. Default: the current one.
            device: "cuda": each worker puts its shards on its GPU (of several, the first that it sees), as
                Index.to("cuda"), and answers there what needs neither a scale nor missing="fill". Changes are
                made on the CPU, and follow on the GPU.

        Otherwise as culmen.ShardedIndex.open.

        Raises:
            CudaError: if a worker has no such GPU.
        """
        number = device_number(device)
        on = None if number < 0 else number
        return cls._over(
            directory,
            lambda directories, reading: DaskEngine(client, on, directories, reading),
            writable,
            min_version,
            max_memory,
            codes,
        )

    def _search_many(self, questions: Any, k: int | None, rest: tuple[Any, ...]) -> Any:
        """Of a Dask DataFrame or Bag another one, which is answered when it is computed: about the versions of now, in
        one round."""
        if not hasattr(questions, "to_delayed"):
            return super()._search_many(questions, k, rest)
        partitions = [self._answered_later(partition, k, rest) for partition in questions.to_delayed()]
        if not hasattr(questions, "columns"):
            import dask.bag

            return dask.bag.from_delayed(partitions)
        import dask.dataframe

        check_names(questions.columns)
        none = np.zeros(0, dtype=np.int64)
        no_ids = none.astype(object) if self._view.schema.has_text_ids else decoded(none, self._view.schema.id_type)
        meta = _with_lists(questions._meta, lists_of(none, no_ids, none.astype(np.float64)))
        return dask.dataframe.from_delayed(partitions, meta=meta)

    def _answered_later(self, partition: Any, k: int | None, rest: tuple[Any, ...]) -> Any:
        import dask

        _, _, scale, _, _, searcher, threads = rest
        view, statistics = self._at_one_version(lambda view: (view, view.statistics_for(scale)))
        message = dask.delayed(_message_of, pure=False)(partition, view.schema, k, rest)
        options = (statistics, searcher, threads or self._engine.threads, None)
        call = dask.delayed(_call, pure=False)
        parts = []
        for shard, version in enumerate(view.versions):
            with dask.annotate(retries=_RETRIES, **self._engine.place_of(shard, "search")):
                parts.append(call(*self._engine.address_of(shard), "search", version, message, *options))
        return dask.delayed(_with_answers, pure=False)(partition, k, view.schema.id_type, view.versions, parts)
