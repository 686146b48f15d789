"""Engines: how a call reaches the process that serves a shard. Everything else about shards is the same for all."""

from __future__ import annotations

import contextlib
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

from . import _core
from ._errors import Error
from ._shards import READ_WHOLE, Failure, Reading, Shards, Version

#: A call whose worker died is made again as often, with pauses that double up to a second: Ray needs 2 s or more to
#: start a process.
_ATTEMPTS = 30
_FIRST_PAUSE = 0.05
#: Empty calls of a kind that are measured.
_PINGS = 5


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
        self._all_answered = True  # when they were asked last

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

    def trouble(self) -> str:
        """What is wrong with the engine itself, if that is why calls are not answered."""
        return ""

    def costs(self, deadline: float | None = None) -> tuple[float, float] | None:
        """Seconds of an empty call to one shard, and of one to each. None while nobody knows: if a shard does not
        answer, or did not when it was asked last and there is a deadline. Half of the time is left to the caller."""
        if self._costs is None and (deadline is None or self._all_answered):
            now = time.monotonic()
            until = None if deadline is None else now + (deadline - now) / 2
            with contextlib.suppress(TimeoutError):
                one, all = {0: ("ping",)}, dict.fromkeys(range(len(self.directories)), ("ping",))
                self._ping(all, until)
                self._costs = self._measured(one, until), self._measured(all, until)
        return self._costs

    def _measured(self, requests: Mapping[int, tuple[Any, ...]], until: float | None) -> float:
        return sorted(self._ping(requests, until) for _ in range(_PINGS))[_PINGS // 2]

    def _ping(self, requests: Mapping[int, tuple[Any, ...]], until: float | None) -> float:
        start = time.monotonic()
        self.ask(requests, None if until is None else max(0.0, until - start))
        if not self._all_answered:
            raise TimeoutError
        return time.monotonic() - start

    def ask(self, requests: Mapping[int, tuple[Any, ...]], timeout: float | None = None) -> dict[int, Any]:
        """Makes one call a shard, all at once, again where a worker died. An answer may be an exception."""
        deadline = None if timeout is None else time.monotonic() + timeout
        answers: dict[int, Any] = {}
        pending, pause = dict(requests), _FIRST_PAUSE
        is_late = False
        for _attempt in range(_ATTEMPTS):
            calls = [self.submit(shard, *request) for shard, request in pending.items()]
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            for shard, outcome in zip(list(pending), self.outcomes(calls, left)):
                answers[shard] = outcome.error if isinstance(outcome, Failure) else outcome
                if not isinstance(outcome, WorkerLost):
                    del pending[shard]
            is_late = deadline is not None and time.monotonic() >= deadline
            if not pending or is_late:
                break
            time.sleep(pause if deadline is None else min(pause, max(0.0, deadline - time.monotonic())))
            pause = min(1.0, 2 * pause)
        named = {shard: self._named(shard, answer, is_late) for shard, answer in answers.items()}
        self._all_answered = not any(isinstance(answer, ShardUnavailable) for answer in named.values())
        return named

    def _named(self, shard: int, answer: Any, is_late: bool) -> Any:
        """Says which shard did not answer, and why."""
        if isinstance(answer, Error) or not isinstance(answer, (WorkerLost, TimeoutError)):
            return answer
        within = "in time" if is_late or isinstance(answer, TimeoutError) else f"in {_ATTEMPTS} attempts"
        text = f"shard {shard} ({self.directories[shard]}) did not answer {within}"
        reason = self.trouble() or str(answer)
        return ShardUnavailable(f"{text}: {reason}" if reason else text)


class ThreadEngine(Engine):
    """All shards in this process, a thread each."""

    def __init__(self, directories: Sequence[str], reading: Reading = READ_WHOLE) -> None:
        super().__init__(directories)
        self._shards = Shards(reading=reading)
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
