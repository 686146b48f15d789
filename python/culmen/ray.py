"""Shards served by actors of a Ray cluster: pip install "culmen[ray]".

    import ray
    from culmen.ray import ShardedIndex

    ray.init()
    index = ShardedIndex.open("hotels.shards")
    index.search({"price": -0.4, "rating": 12})

Each shard has an actor of its own, which outlives the driver and serves all drivers. One that dies is started again,
and opens its shard with the next question.
"""

from __future__ import annotations

import contextlib
import hashlib
import pickle
import time
from collections.abc import Callable, Sequence
from typing import Any

from ._engines import Engine, WorkerLost
from ._errors import CudaError
from ._files import Path
from ._question_tables import AT_ONCE
from ._shard_builds import Tasks, parts_of
from ._sharded import ShardedIndex as _ShardedIndex
from ._shards import READ_WHOLE, Reading, Shards
from ._tables import Attributes

__all__ = ["ShardedIndex"]

_NAMESPACE = "culmen"
#: Questions that an actor answers at the same time.
_MAX_CONCURRENCY = 8


def _ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise ImportError('culmen.ray needs ray: pip install "culmen[ray]"') from error
    return ray


class _ShardActor:
    """Serves a shard. The constructor opens nothing: an actor whose constructor fails is never started again."""

    def __init__(self, device: int | None, reading: Reading) -> None:
        self._shards = Shards(device, reading)

    def call(self, message: bytes) -> bytes:
        """Ray carries bytes as they are, and would pickle each argument and array on its own."""
        return pickle.dumps(self._shards.call(*pickle.loads(message)), pickle.HIGHEST_PROTOCOL)


def _require_gpus(num_gpus: float, num_actors: int) -> None:
    """Actors for which there are no GPUs would wait for ever."""
    there = float(_ray().cluster_resources().get("GPU", 0))
    if num_gpus * num_actors > there:
        raise CudaError(f"{num_actors} actors with num_gpus={num_gpus:g} need more than the cluster's {there:g} GPUs")


class RayEngine(Engine):
    """An actor a shard, found by a name that the shard's directory determines."""

    def __init__(self, directories: Sequence[str], options: dict[str, Any], reading: Reading = READ_WHOLE) -> None:
        super().__init__(directories)
        self.options = options
        self.reading = reading
        _require_gpus(options.get("num_gpus", 0), len(directories))
        self._actors = [self._actor(directory) for directory in directories]
        self._num_workers = min(len(directories), max(1, int(_ray().cluster_resources().get("CPU", 1))))

    def _actor(self, directory: str) -> Any:
        """Calls are not repeated by Ray: the driver does, which knows when to give up."""
        on_gpu = self.options.get("num_gpus", 0) > 0
        key = hashlib.sha256(directory.encode("utf-8", "surrogateescape")).hexdigest()[:32]
        most, codes = self.reading
        limit = f"-{most}-{codes}" if most else ""
        return (
            _ray()
            .remote(_ShardActor)
            .options(
                name=f"shard-{key}-gpu{limit}" if on_gpu else f"shard-{key}{limit}",
                namespace=_NAMESPACE,
                lifetime="detached",
                get_if_exists=True,
                max_restarts=-1,
                max_concurrency=_MAX_CONCURRENCY,
                scheduling_strategy="SPREAD",
                **self.options,
            )
            .remote(0 if on_gpu else None, self.reading)
        )

    @property
    def num_workers(self) -> int:
        return self._num_workers

    def submit(self, shard: int, method: str, *arguments: Any) -> Any:
        message = pickle.dumps((self.directories[shard], method, *arguments), pickle.HIGHEST_PROTOCOL)
        return shard, self._actors[shard].call.remote(message)

    def outcomes(self, calls: Sequence[Any], timeout: float | None) -> list[Any]:
        start = time.monotonic()
        with contextlib.suppress(_ray().exceptions.RayError):  # of which call, is asked below
            return [pickle.loads(answer) for answer in _ray().get([call for _, call in calls], timeout=timeout)]
        timeout = None if timeout is None else max(0.0, start + timeout - time.monotonic())
        done, _ = _ray().wait([call for _, call in calls], num_returns=len(calls), timeout=timeout)
        is_done = set(done)
        return [self._outcome(shard, call) if call in is_done else TimeoutError() for shard, call in calls]

    def _outcome(self, shard: int, call: Any) -> Any:
        ray = _ray()
        try:
            return pickle.loads(ray.get(call))
        except ray.exceptions.ActorDiedError as error:  # for good: somebody has ended it
            self._actors[shard] = self._actor(self.directories[shard])
            return WorkerLost(str(error))
        except (ray.exceptions.RayActorError, ray.exceptions.ObjectLostError) as error:
            return WorkerLost(str(error))
        except ray.exceptions.RayError as error:
            return error

    def close(self) -> None:
        """The actors stay, for other drivers."""

    def shut_down(self) -> None:
        for actor in self._actors:
            with contextlib.suppress(_ray().exceptions.RayError):
                _ray().kill(actor)


class RayTasks(Tasks):
    """Parts are files, or the blocks of a Ray Data set."""

    def map(self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> list[Any]:
        ray = _ray()

        @ray.remote
        def task(*arguments: Any) -> Any:
            return function(*arguments)

        return ray.get([task.remote(*call) for call in calls])


class _Asker:
    """Answers batches of a data set of questions, in a process of Ray Data."""

    def __init__(self, directory: str, options: dict[str, Any], k: int | None, rest: tuple[Any, ...]) -> None:
        self._index = ShardedIndex.open(directory, **options)
        self._k, self._rest = k, rest

    def __call__(self, questions: Any) -> Any:
        return self._index._answered(questions, self._k, self._rest)


def _parts_of(table: Any) -> list[Any]:
    return list(table.to_arrow_refs()) if hasattr(table, "to_arrow_refs") else parts_of(table)


class ShardedIndex(_ShardedIndex):
    """culmen.ShardedIndex, with its shards in actors of a Ray cluster."""

    _engine: RayEngine

    @classmethod
    def build(
        cls, table: Any, directory: Path, attributes: Attributes = None, *, actors: Any = None, **options: Any
    ) -> ShardedIndex:
        """Builds a sharded index by tasks, and opens it.

        Args:
            table: Parquet or Arrow files that all nodes see, or a Ray Data set.
            actors: a dict of what Ray sets aside for each actor, as for open.

        The other arguments are those of culmen.ShardedIndex.build.
        """
        cls._build(RayTasks(), _parts_of(table), directory, attributes, **options)
        return cls.open(directory, **(actors or {}))

    @classmethod
    def open(
        cls,
        directory: Path,
        *,
        writable: bool = False,
        min_version: int = 0,
        max_memory: int | None = None,
        codes: str = "files",
        num_cpus: float | None = None,
        num_gpus: float | None = None,
        memory: float | None = None,
    ) -> ShardedIndex:
        """Opens the sharded index in a directory, which all nodes see. Its actors are started unless they run.

        Args:
            num_cpus, memory: that Ray sets aside for each actor.
            num_gpus: likewise; with 1, or a part of 1, each actor puts its shard on its GPU, as Index.to("cuda"), and
                answers there what needs neither a scale nor missing="fill". Changes are made on the CPU, and
                follow on the GPU.

        Otherwise as culmen.ShardedIndex.open.

        Raises:
            CudaError: if the cluster has too few GPUs, or an actor cannot use its own.
        """
        given = {"num_cpus": num_cpus, "num_gpus": num_gpus, "memory": memory}
        options = {name: value for name, value in given.items() if value is not None}
        return cls._over(
            directory,
            lambda directories, reading: RayEngine(directories, options, reading),
            writable,
            min_version,
            max_memory,
            codes,
        )

    def _search_many(self, questions: Any, k: int | None, rest: tuple[Any, ...]) -> Any:
        """Of a Ray Data set, a data set, which is answered as it is read."""
        if not hasattr(questions, "map_batches"):
            return super()._search_many(questions, k, rest)
        options = dict(self._engine.options)
        most, codes = self._engine.reading
        if most:
            options |= {"max_memory": most * self.num_shards, "codes": codes}
        arguments = (self._path, options, k, rest)
        return questions.map_batches(
            _Asker, fn_constructor_args=arguments, batch_format="pyarrow", batch_size=AT_ONCE, concurrency=1
        )

    def shut_down(self) -> None:
        """Ends the actors, also for other drivers. The next open starts new ones."""
        self._engine.shut_down()
