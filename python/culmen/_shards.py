"""A shard where it is served: in this process, on a Dask worker, in a Ray actor. The messages are the same for all.

A shard is opened by the first message that needs it, so whoever serves it may die and start again at any time. Every
question names the version that it is about, and every answer the version that it is of. Who cannot serve a version says
so, and the whole question is asked again: parts of two versions never meet in one answer.

Versions are kept for questions that began before a change, and only the driver that asks knows whether it means such a
version. One that it has read in the manifest, because the shard did not answer when it looked, may be long past: it is
served only if the directory still holds it.

Numbers of versions can come again: older files are restored, and then changed. So a driver names the history that it
means, by a text that whoever serves the shard has drawn. A process that does not know the text looks into the directory
once before it serves what it has kept; one that has seen the files be replaced serves no version of before.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from . import _core
from ._device import place_of_codes
from ._errors import Error, FormatError, IoError, NoIndex
from ._lookups import look_up
from ._schema import Schema
from ._steps import Step, steps_of
from ._writes import WriteOptions

#: Versions of a shard that are kept for questions that began before a change.
_KEPT_VERSIONS = 4


class Stale(Error):
    """The shard is at another version than the question. The answer is not wrong: there is none."""


class ShardMissing(IoError):
    """There is no index where the manifest lists a shard. A NoIndex would invite callers to build one in its place."""


class WriteFailed(IoError):
    """The shard could not write its part of a batch. What its files hold, the next one who opens them finds out."""


@dataclass(frozen=True)
class Version:
    """A version of an index; numbers of different indexes mean nothing to each other."""

    uuid: str
    number: int
    is_listed: bool = field(default=False, compare=False)  # by the manifest: the shard has not said that it is there
    history: str = field(default="", compare=False)  # of the shard's files; empty: any

    def is_other_index(self, other: Version) -> bool:
        is_other_history = bool(self.history and other.history) and self.history != other.history
        return self.uuid != other.uuid or is_other_history


class State(NamedTuple):
    """What others must know of a shard before they ask it."""

    version: Version
    statistics: bytes
    schema: Schema | None  # None: nobody has opened it
    next_id: int


@dataclass(frozen=True)
class Part:
    """What one shard answers: the hits of all queries one after the other, each query's best first."""

    version: Version
    counts: np.ndarray  # [queries]
    ids: np.ndarray
    scores: np.ndarray
    texts: Sequence[str] | None  # the ids, if they are texts: then `ids` has what stands in for them in this version
    rows: tuple[Any, ...] | None  # of all hits, as the extension's RowColumns has them
    stats: Mapping[str, Any]
    elapsed: float  # seconds, here


@dataclass(frozen=True)
class Failure:
    """An error of culmen as a value: engines repeat calls that raise, and this one would only raise again."""

    error: Exception


def _version_of(index: _core.Index) -> Version:
    info = index.info()
    return Version(info["uuid"], info["version"])


def part_of(answer: Any, asked: Version) -> Part:
    """What a search in a shard has answered. Raises if that is an error, or of another version than was asked."""
    if isinstance(answer, Failure):
        answer = answer.error
    if isinstance(answer, Exception):
        raise answer
    assert isinstance(answer, Part)
    if answer.version != asked:
        raise Stale(f"an answer is of version {answer.version.number}, not {asked.number}")
    return answer


class Reading(NamedTuple):
    """How each shard is read, as Index.open takes it."""

    max_memory: int = 0  #: bytes for what a shard has read on touch; 0: shards are read whole
    codes: str = "files"


#: Into memory as they are opened.
READ_WHOLE = Reading()


class Shard:
    """One shard of a table. Its methods are the messages; any number of threads may send them."""

    def __init__(self, directory: str, device: int | None, reading: Reading = READ_WHOLE) -> None:
        self._directory = directory
        self._device = device
        self._reading = reading
        self._copy: _core.DeviceIndex | None = None  # of the newest version, on the device
        self._lock = threading.Lock()
        self._newest: _core.Index | None = None
        self._is_writable = False
        self._kept: dict[Version, _core.Index] = {}
        self._histories = {""}  # texts for what is in the directory, and for what was there before
        self._past_histories: set[str] = set()

    def ping(self) -> int:
        """Costs what a call costs. Returns the process."""
        return os.getpid()

    def state(self, listed: Version, history: str) -> State:
        """Opens the shard, or loads what was published since. `listed`: what the manifest says of it. `history`: as the
        driver calls what it knows, if it does."""
        with self._lock:
            return self._state(self._looked(listed), history)

    def _looked(self, listed: Version) -> Version:
        """The version in the directory."""
        version = self._refreshed()
        if version.uuid != listed.uuid:
            raise FormatError(f"{self._directory} holds another index than the manifest lists")
        if version.number < listed.number:
            raise FormatError(
                f"{self._directory} is at version {version.number}; the manifest has seen {listed.number}"
            )
        return version

    def _state(self, version: Version, history: str) -> State:
        index = self._kept[version]
        if not history or not self._has_history(history):
            history = next((known for known in self._histories if known), "") or secrets.token_hex(8)
            self._histories.add(history)
        version = replace(version, history=history)
        return State(version, _core.statistics(index, "none"), Schema.of(index), index.info()["next_id"])

    def statistics(self, version: Version, scale: str) -> bytes:
        """With what queries of this scale need."""
        return _core.statistics(self.at(version), scale)

    def search(
        self, version: Version, queries: bytes, statistics: bytes, engine: str, threads: int, field_kinds: str | None
    ) -> Part:
        """The queries' best rows of this shard, with their columns if `field_kinds` says which fields there are."""
        start = time.perf_counter()
        index = self.at(version)
        answer = _core.answer_queries(index, self._copy, queries, statistics, engine, threads, field_kinds)
        counts, ids, scores, texts, rows, stats = answer
        return Part(_version_of(index), counts, ids, scores, texts, rows, stats, time.perf_counter() - start)

    def rank_of(self, version: Version, query: bytes, statistics: bytes, id: int | str) -> tuple[int, float] | None:
        """Where the row with this id stands among those of this shard, and its score."""
        found: Any = _core.rank_in_shard(self.at(version), query, statistics, id)
        return found

    def count_before(
        self, version: Version, query: bytes, statistics: bytes, score: float, id: int | str | None
    ) -> int:
        """How many of its rows rank before this place; without an id, how many score more."""
        return _core.count_in_shard(self.at(version), query, statistics, score, id)

    def get(self, version: Version, ids: np.ndarray | list[str], field_kinds: str) -> tuple[Any, ...]:
        """The rows with these ids, of those that are here."""
        index = self.at(version)
        return index.get_texts(ids, field_kinds) if isinstance(ids, list) else index.get(ids, field_kinds)

    def look_up(self, version: Version, ids: np.ndarray | list[str], field_kinds: str) -> tuple[Any, np.ndarray]:
        """The same, and bool, True for each id whose row is here."""
        return look_up(self.at(version), ids, field_kinds)

    def contains(self, version: Version, id: int | str) -> bool:
        index = self.at(version)
        return index.contains_text(id) if isinstance(id, str) else index.contains(id)

    def verify(self, version: Version, deep: bool) -> list[str]:
        return self.at(version).verify(deep)

    def info(self, version: Version) -> dict[str, Any]:
        return self.at(version).info()

    def recovery(self) -> dict[str, Any]:
        with self._lock:
            self._refreshed()
            assert self._newest is not None
            return self._newest.recovery()

    def check(self, version: Version, steps: Sequence[Step], options: WriteOptions) -> None:
        """Raises what apply would, and changes nothing."""
        with self._lock:
            index = self._writable()
            if index.version() != version.number:
                raise Stale(f"{self._directory} is at version {index.version()}, not {version.number}")
            _core.check(index, steps_of(steps, index), *options)

    def apply(self, version: Version, steps: Sequence[Step], options: WriteOptions) -> tuple[dict[str, Any], State]:
        """Writes steps to a shard at this version; if it is at the next one, it has written them before."""
        with self._lock:
            index = self._writable()
            try:
                result = _core.write(index, steps_of(steps, index), *options, version.number)
            except IoError as error:
                raise WriteFailed(str(error)) from error
            return result, self._state(self._refreshed(), version.history)

    def flush(self) -> State:
        return self._maintained(_core.flush)

    def checkpoint(self) -> State:
        return self._maintained(_core.checkpoint)

    def compact(self) -> State:
        return self._maintained(lambda index: _core.compact(index, b""))

    def _maintained(self, work: Callable[[_core.Index], None]) -> State:
        with self._lock:
            work(self._writable())
            return self._state(self._refreshed(), "")

    def _writable(self) -> _core.Index:
        if self._newest is None or not self._is_writable:
            self._adopt(_core.open(os.fsencode(self._directory), True, "sync", 0, *self._how()))
            self._is_writable = True
            self._refreshed()  # keeps this version, too: the driver shows it until all shards have the batch
        assert self._newest is not None
        return self._newest

    def _how(self) -> tuple[str, int, bytes, str, int]:
        """The last arguments of _core.open."""
        most, codes = self._reading
        return "on_touch" if most else "whole", most, b"", *place_of_codes(codes)

    def _adopt(self, newest: _core.Index) -> None:
        self._kept.clear()  # the directory may have been replaced
        copy = None if self._device is None else newest.to_device(self._device, "auto", False)
        self._newest, self._copy = newest, copy

    def release(self) -> None:
        """Ends writing, so that another process may."""
        with self._lock:
            newest, is_writable = self._newest, self._is_writable
            self._newest, self._copy, self._is_writable = None, None, False
            if is_writable and newest is not None:
                _core.close(newest)

    def at(self, version: Version) -> _core.Index:
        with self._lock:
            newest = version
            if version.is_listed:
                newest = self._looked(version)
            elif version not in self._kept or version.history not in self._histories:
                newest = self._refreshed()
            if not self._has_history(version.history) or version not in self._kept:
                raise Stale(f"{self._directory} is at version {newest.number}, not {version.number}")
            if version.is_listed and newest != version:
                raise Stale(f"{self._directory} is at version {newest.number}; the manifest lists {version.number}")
            return self._kept[version]

    def _has_history(self, history: str) -> bool:
        """Whether the text is for what is in the directory; one that nobody has told is from now on."""
        if history in self._past_histories:
            return False
        self._histories.add(history)
        return True

    def _refreshed(self) -> Version:
        if self._newest is None:
            self._adopt(_core.open(os.fsencode(self._directory), False, "sync", 0, *self._how()))
        elif not self._is_writable and self._newest.refresh() == "replaced":
            self._kept.clear()
            self._past_histories |= self._histories - {""}
            self._histories = {""}
        assert self._newest is not None
        newest = self._newest.snapshot()
        version = _version_of(newest)
        self._kept.setdefault(version, newest)
        while len(self._kept) > _KEPT_VERSIONS:
            del self._kept[next(iter(self._kept))]
        return version


#: Messages for the one process that writes to the shard.
WRITING = ("check", "apply", "release", "flush", "checkpoint", "compact")


class Shards:
    """The shards that a process serves, by directory.

    Args:
        device: the number of the GPU that answers what it can, from copies of the shards.
        reading: how they are read.
    """

    def __init__(self, device: int | None = None, reading: Reading = READ_WHOLE) -> None:
        self._device = device
        self._reading = reading
        self._lock = threading.Lock()
        self._shards: dict[str, Shard] = {}

    def call(self, directory: str, method: str, *arguments: Any) -> Any:
        """Returns culmen's own errors, as Failure."""
        try:
            return getattr(self._shard(directory), method)(*arguments)
        except NoIndex as error:
            advice = "restore its directory from a copy, or build the sharded index again"
            return Failure(ShardMissing(f"a shard is missing: {error}; {advice}"))
        except Error as error:
            return Failure(error)

    def at(self, directory: str, version: Version) -> _core.Index:
        """Raises culmen's own errors."""
        return self._shard(directory).at(version)

    def _shard(self, directory: str) -> Shard:
        with self._lock:
            return self._shards.setdefault(directory, Shard(directory, self._device, self._reading))

    def close(self) -> None:
        with self._lock:
            self._shards.clear()
