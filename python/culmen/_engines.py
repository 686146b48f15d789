"""Engines: how a call reaches the process that serves a shard. Everything else about shards is the same for all."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

from . import _core
from ._errors import Error
from ._shards import Failure, Shards, Version

#: A call whose worker died is made again as often, with pauses that double up to a second: Ray needs 2 s or more to
#: start a process.
_ATTEMPTS = 30
_FIRST_PAUSE = 0.05


class ShardUnavailable(Error, ConnectionError):
    """The processes that serve a shard died as often as it was asked, or did not answer in time."""


class WorkerLost(Exception):
    """The process that was asked has died; another one may answer."""


class Engine(ABC):
    """Sends calls to shards. `directories` are those of the shards, which all workers see."""

    def __init__(self, directories: Sequence[str]) -> None:
        self.directories = tuple(directories)
        self.is_writing = False  # each shard has one process that may change it
        self._costs: tuple[float, float] | None = None

    @property
    @abstractmethod
    def num_workers(self) -> int:
        """How many shards work at the same time."""

    @property
    def threads(self) -> int:
        """That a shard uses if the caller does not say; 0: all cores."""
        return 0

    def opened(self, versions: Sequence[Version]) -> list[_core.Index] | None:
        """The shards at these versions, if they are in this process."""
        return None

    @abstractmethod
    def submit(self, shard: int, method: str, *arguments: Any) -> Any:
        """Starts a call of Shard's method."""

    @abstractmethod
    def outcomes(self, calls: Sequence[Any], timeout: float | None) -> list[Any]:
        """What the calls returned or raised, in order: WorkerLost where a process died, TimeoutError for those that
        are not done in time."""

    @abstractmethod
    def close(self) -> None:
        """Lets go of the shards."""

    @property
    def costs(self) -> tuple[float, float]:
        """Seconds of an empty call to one shard, and of one to each."""
        if self._costs is None:
            one, all = {0: ("ping",)}, dict.fromkeys(range(len(self.directories)), ("ping",))
            self.ask(all)
            self._costs = self._measured(one), self._measured(all)
        return self._costs

    def _measured(self, requests: Mapping[int, tuple[Any, ...]]) -> float:
        times = []
        for _ in range(5):
            start = time.perf_counter()
            self.ask(requests)
            times.append(time.perf_counter() - start)
        return sorted(times)[len(times) // 2]

    def ask(self, requests: Mapping[int, tuple[Any, ...]], timeout: float | None = None) -> dict[int, Any]:
        """Makes one call a shard, all at once, again where a worker died. An answer may be an exception."""
        deadline = None if timeout is None else time.monotonic() + timeout
        answers: dict[int, Any] = {}
        pending, pause = dict(requests), _FIRST_PAUSE
        for _attempt in range(_ATTEMPTS):
            calls = [self.submit(shard, *request) for shard, request in pending.items()]
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            for shard, outcome in zip(list(pending), self.outcomes(calls, left)):
                answers[shard] = outcome.error if isinstance(outcome, Failure) else outcome
                if not isinstance(outcome, WorkerLost):
                    del pending[shard]
            if not pending or (deadline is not None and time.monotonic() >= deadline):
                break
            time.sleep(pause)
            pause = min(1.0, 2 * pause)
        return {shard: self._named(shard, answer) for shard, answer in answers.items()}

    def _named(self, shard: int, answer: Any) -> Any:
        """Says which shard did not answer."""
        if isinstance(answer, (WorkerLost, TimeoutError)) and not isinstance(answer, Error):
            reason = "in time" if isinstance(answer, TimeoutError) else f"in {_ATTEMPTS} attempts: {answer}"
            return ShardUnavailable(f"shard {shard} ({self.directories[shard]}) did not answer {reason}")
        return answer


class ThreadEngine(Engine):
    """All shards in this process, a thread each."""

    def __init__(self, directories: Sequence[str]) -> None:
        super().__init__(directories)
        self._shards = Shards()
        self._pool = ThreadPoolExecutor(max_workers=max(1, len(directories)), thread_name_prefix="culmen")

    @property
    def num_workers(self) -> int:
        return len(self.directories)

    def opened(self, versions: Sequence[Version]) -> list[_core.Index] | None:
        try:
            return [self._shards.at(*shard) for shard in zip(self.directories, versions)]
        except Error:
            return None  # which calls then say

    def submit(self, shard: int, method: str, *arguments: Any) -> Future[Any]:
        return self._pool.submit(self._shards.call, self.directories[shard], method, *arguments)

    def outcomes(self, calls: Sequence[Future[Any]], timeout: float | None) -> list[Any]:
        wait(calls, timeout)
        return [_outcome(call) for call in calls]

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._shards.close()


def _outcome(call: Future[Any]) -> Any:
    if not call.done():
        return TimeoutError()
    return call.exception() or call.result()
