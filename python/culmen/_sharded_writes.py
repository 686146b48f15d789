"""Changes of a sharded index: each batch is cut into one part a shard, and written there by whoever serves the shard.

All shards check their parts before any writes. A part names the version that its shard must be at, so one that arrives
twice, because a worker died before it could say that it had written, is written once. Each shard writes its part whole
or not at all; if the driver dies between two of them, or one cannot write, some have theirs. A driver that lives on
shows none of that batch, and writes no more.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._engines import ShardUnavailable
from ._errors import IoError, RowError, row_error
from ._reports import WriteResult
from ._shards import State, WriteFailed
from ._steps import Step, steps_of
from ._tables import Columns
from ._writes import WriteOptions

if TYPE_CHECKING:
    from ._engines import Engine
    from ._view import View


class Writer:
    """The only one who changes a sharded index."""

    def __init__(self, directory: str, engine: Engine) -> None:
        self._directory = os.fsencode(directory)
        self._lock = _core.ShardsLock(self._directory)
        self.engine = engine
        self.failure = ""  # why no more changes are accepted

    def write_first(self, steps: Sequence[Step], options: WriteOptions) -> WriteResult:
        """The first rows of all, which determine the stand-ins. The library writes them in this process, to new shards:
        those that are served are replaced."""
        for answer in self.engine.ask(dict.fromkeys(range(len(self.engine.directories)), ("release",))).values():
            if isinstance(answer, Exception):
                raise answer
        del self._lock
        try:
            report = _core.write_sharded(self._directory, steps_of(steps), *options)
        except IoError as error:
            self.failure = str(error)
            raise
        finally:
            self._lock = _core.ShardsLock(self._directory)
        return WriteResult(**report)

    def write(self, view: View, steps: Sequence[Step], options: WriteOptions) -> tuple[WriteResult, View]:
        """Returns what it did, and the versions with the batch."""
        steps, first_id = self._with_ids(view, steps)
        parts, numbers = self._parts(view, steps)
        if len(parts) > 1:
            _raise_refusal(self._ask(view, "check", parts, options), parts, numbers)
        written = self._ask(view, "apply", parts, options)
        self._require_whole(written)
        _raise_refusal(written, parts, numbers)
        states = list(view.states)
        counts = {"inserted": 0, "replaced": 0, "erased": 0}
        is_repeated = False
        for shard, (result, state) in written.items():
            if result["repeated"]:
                is_repeated = True
                result = _counts_of(parts[shard], _rows_of(states[shard]), _rows_of(state))
            for name in counts:
                counts[name] += result[name]
            states[shard] = state
        after = view.of(view.engine, states, {})
        version = sum(state.version.number for state in states)
        done = (counts["inserted"], counts["replaced"], counts["erased"])
        return WriteResult(version, *done, first_id=first_id, repeated=is_repeated), after

    def maintain(self, view: View, method: str) -> View:
        """Calls the method of all shards. Afterwards the manifest lists their versions."""
        answers = self.engine.ask(dict.fromkeys(range(len(view.states)), (method,)))
        for _, answer in sorted(answers.items()):
            if isinstance(answer, Exception):
                raise answer
        states = [answers[shard] for shard in range(len(view.states))]
        if method == "checkpoint":
            self._lock.note([(state.version.number, state.statistics) for state in states])
        return view.of(view.engine, states, {})

    def release(self) -> None:
        del self._lock

    def _with_ids(self, view: View, steps: Sequence[Step]) -> tuple[list[Step], int | None]:
        """Rows without ids get the next ones, which are reserved first."""
        least = max(state.next_id for state in view.states)
        first_id = None
        complete = []
        for step in steps:
            if step.lacks_ids:
                assert isinstance(step.rows, Columns)
                total = step.rows.num_rows + step.rows.num_dropped
                first = self._lock.reserve_ids(total, least)
                numbers = np.arange(first, first + total)
                kept = numbers if step.rows.dropped is None else np.delete(numbers, step.rows.dropped.astype(np.int64))
                step = replace(step, rows=replace(step.rows, ids=kept))
                first_id = first if first_id is None else first_id
                least = first + total
            elif step.kind != "erase" and isinstance(ids := step.ids, np.ndarray) and len(ids):
                least = max(least, int(ids.max()) + 1)
            complete.append(step)
        return complete, first_id

    def _parts(self, view: View, steps: Sequence[Step]) -> tuple[dict[int, list[Step]], dict[int, list[np.ndarray]]]:
        """By shard: its steps, and the numbers of their rows in the tables as they were given."""
        parts: dict[int, list[Step]] = {}
        numbers: dict[int, list[np.ndarray]] = {}
        for step in steps:
            if isinstance(step.rows, _core.Filter):  # any shard may have rows that pass
                for shard in range(len(view.states)):
                    parts.setdefault(shard, []).append(step)
                    numbers.setdefault(shard, []).append(np.zeros(0, dtype=np.int64))
                continue
            shards = step.shards(len(view.states))
            for shard in np.unique(shards).tolist():
                keep = shards == shard
                parts.setdefault(shard, []).append(step.only(keep))
                numbers.setdefault(shard, []).append(_given_numbers(step)[keep])
        return parts, numbers

    def _ask(self, view: View, method: str, parts: Mapping[int, list[Step]], options: WriteOptions) -> dict[int, Any]:
        return self.engine.ask({shard: (method, view.versions[shard], part, options) for shard, part in parts.items()})

    def _require_whole(self, written: Mapping[int, Any]) -> None:
        """Raises if some shards have their part and others do not, or may not; from then on there are no changes."""
        errors = {shard: answer for shard, answer in written.items() if isinstance(answer, Exception)}
        have_it = sorted(written.keys() - errors.keys())
        is_unknown = any(isinstance(error, (WriteFailed, ShardUnavailable)) for error in errors.values())
        if not errors or not (have_it or is_unknown):
            return
        shard, error = min(errors.items(), key=lambda item: item[0])
        where = f"the shards {' '.join(map(str, have_it))}" if have_it else "no other shard"
        self.failure = (
            f"shard {shard} of {os.fsdecode(self._directory)}: {error}; the batch is in {where}. "
            "No more changes are accepted until the index is opened again"
        )
        raise IoError(self.failure) from error


def _raise_refusal(
    answers: Mapping[int, Any], parts: Mapping[int, list[Step]], numbers: Mapping[int, list[np.ndarray]]
) -> None:
    """Raises the first error; of several rows that are refused it names the first, as they were given."""
    refused = {}
    for shard, answer in sorted(answers.items()):
        tables = [place for place, step in enumerate(parts[shard]) if isinstance(step.rows, Columns)]
        if isinstance(answer, RowError) and len(tables) == 1 and hasattr(answer, "row"):
            refused[int(numbers[shard][tables[0]][answer.row])] = str(answer).partition(": ")[2]
        elif isinstance(answer, Exception):
            raise answer
    if refused:
        row = min(refused)
        raise row_error(row, refused[row])


def _given_numbers(step: Step) -> np.ndarray:
    if not isinstance(step.rows, Columns) or step.rows.dropped is None:
        return np.arange(len(step.ids))
    total = step.rows.num_rows + step.rows.num_dropped
    return np.delete(np.arange(total), step.rows.dropped.astype(np.int64))


def _rows_of(state: State) -> int:
    return int(_core.statistics_report(state.statistics)["num_rows"])


def _counts_of(steps: Sequence[Step], before: int, after: int) -> dict[str, int]:
    """Of a part whose writer did not live to say. Exact if all steps are of one kind."""
    given = len(set().union(*(step.distinct_ids() for step in steps if step.kind != "erase")))
    inserted = max(0, after - before)
    return {"inserted": inserted, "replaced": given - inserted, "erased": max(0, before - after)}
