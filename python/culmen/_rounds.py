"""Whether a question goes to all shards at once, or to the best one first."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from ._engines import Engine

#: Weight of the newest measurement.
_NEWEST = 0.2
#: Every so many questions the other way is taken, so that both measurements stay recent.
_TRIAL = 64


class Rounds:
    """Estimates both ways from what calls cost, and from what searches took in the shards: with a floor, that is with
    the k-th score of another shard as min_score, they end sooner. The answer is the same either way."""

    def __init__(self, num_shards: int) -> None:
        self._num_shards = num_shards
        self._lock = threading.Lock()
        self._seconds: dict[bool, float] = {}  # a query in a shard: without a floor, with one
        self._num_questions = 0

    def are_two(self, num_queries: int, engine: Engine, calls_overlap: bool, deadline: float | None) -> bool:
        """calls_overlap: shards are at work on other queries while the calls are on their way."""
        if self._num_shards == 1:
            return False
        with self._lock:
            self._num_questions += 1
            is_trial = self._num_questions % _TRIAL == 0
            if len(self._seconds) < 2:
                return True  # which measures both
            free, floored = self._seconds[False], self._seconds[True]
        if calls_overlap:
            return (floored < free) != is_trial
        costs = engine.costs(deadline)
        if costs is None:
            return False
        of_one = self._of_one(num_queries, free, engine, costs)
        return (self._of_two(num_queries, free, floored, engine, costs) < of_one) != is_trial

    def _of_one(self, num_queries: int, free: float, engine: Engine, costs: tuple[float, float]) -> float:
        at_once = min(self._num_shards, engine.num_workers)
        return costs[1] + num_queries * free * self._num_shards / at_once

    def _of_two(
        self, num_queries: int, free: float, floored: float, engine: Engine, costs: tuple[float, float]
    ) -> float:
        """The first round of a single query keeps one worker busy, that of many queries all."""
        first_at_once = min(num_queries, self._num_shards, engine.num_workers)
        second_at_once = min(self._num_shards - 1 if num_queries == 1 else self._num_shards, engine.num_workers)
        first_call = costs[0] if num_queries == 1 else costs[1]
        work = num_queries * (free / first_at_once + floored * (self._num_shards - 1) / second_at_once)
        return first_call + costs[1] + work

    def learn(self, measured: Sequence[tuple[int, float]], is_second: bool) -> None:
        """Of each shard, how many queries it answered, and in how many seconds."""
        if not measured:
            return
        seconds = sum(seconds for _, seconds in measured) / sum(queries for queries, _ in measured)
        with self._lock:
            known = self._seconds.get(is_second, seconds)
            self._seconds[is_second] = known + _NEWEST * (seconds - known)
