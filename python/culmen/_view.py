"""What a driver knows of all shards at one time: the versions that it asks about, and the statistics of all rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from . import _core
from ._engines import Engine
from ._errors import FormatError
from ._schema import Schema
from ._shards import State, Version


def names_of(schema: Schema) -> _core.Index:
    """An index of the same columns, without rows, for the extension's calls that know columns by their names."""
    attributes, fields = list(schema.attributes), list(schema.fields)
    return _core.create(
        attributes, fields, schema.id_name, schema.label_name, schema.id_type, schema.has_labels, "automatic", "", 0
    )


@dataclass(frozen=True)
class View:
    """One version of each shard, and the engine that reaches these shards."""

    engine: Engine
    states: tuple[State, ...]
    statistics: bytes  # of all rows
    schema: Schema
    shards: tuple[dict[str, Any], ...]  # the statistics of each
    faults: dict[int, Exception] = field(default_factory=dict)  # of shards whose state is that of the manifest
    _by_scale: dict[str, bytes] = field(default_factory=dict)  # what statistics_for has asked for

    @classmethod
    def of(cls, engine: Engine, states: Sequence[State], faults: dict[int, Exception]) -> View:
        schemas = [state.schema for state in states if state.schema is not None]
        for number, state in enumerate(states):
            if state.schema is not None and state.schema != schemas[0]:
                raise FormatError(f"shard {number} has other columns than the first one")
        whole = _core.merge_statistics([state.statistics for state in states])
        reports = tuple(_core.statistics_report(state.statistics) for state in states)
        return cls(engine, tuple(states), whole, schemas[0], reports, faults)

    @cached_property
    def versions(self) -> tuple[Version, ...]:
        return tuple(state.version for state in self.states)

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        return tuple(version.number for version in self.versions)

    @cached_property
    def has_stand_ins(self) -> bool:
        """False until there are rows, which determine what stands in for missing values."""
        return any(stand_in is not None for *_, stand_in in _core.statistics_report(self.statistics)["attributes"])

    @cached_property
    def open_shards(self) -> _core.OpenShards | None:
        """All shards, if the engine has them in this process."""
        opened = None if self.faults else self.engine.opened(self.versions)
        return None if opened is None else _core.OpenShards.of(opened)

    @cached_property
    def names(self) -> _core.Index:
        return names_of(self.schema)

    @property
    def num_rows(self) -> int:
        return sum(report["num_rows"] for report in self.shards)

    def statistics_for(self, scale: str, timeout: float | None = None) -> bytes:
        """Of all rows, with what queries of this scale need. For "zscore" and "rank" every shard is asked once, and
        each has to answer: mean and deviation are those of all rows, and quantiles are the same in all shards."""
        if scale not in ("zscore", "rank"):
            return self.statistics
        if scale not in self._by_scale:
            requests = {shard: ("statistics", version, scale) for shard, version in enumerate(self.versions)}
            answers = [answer for _, answer in sorted(self.engine.ask(requests, timeout).items())]
            for answer in answers:
                if isinstance(answer, Exception):
                    raise answer
            self._by_scale[scale] = _core.merge_statistics(answers)
        return self._by_scale[scale]

    def bounds(self, weights: np.ndarray, scale: str, missing: str, statistics: bytes) -> np.ndarray:
        """[shards, queries]: no row of the shard has a higher score. By the ranges of the attributes, and for the
        scale by the statistics."""
        if self.num_rows == 0:
            return np.full((len(self.shards), len(weights)), -np.inf)
        start = np.zeros(weights.shape[1])
        if scale == "minmax":
            start, maximum = self._whole_ranges
            with np.errstate(all="ignore"):
                weights = _divided(weights, maximum - start)
        elif scale == "zscore":
            start, deviation = np.array(_core.statistics_report(statistics)["spreads"]).T
            weights = _divided(weights, deviation)
        ranges = self._filled_ranges if missing == "fill" else self._present_ranges
        if scale == "rank":
            quantiles = _core.statistics_report(statistics)["quantiles"]
            ranges = [_ranks(quantiles, low, high) for low, high in ranges]
        return np.array([self._bound(low, high, weights, start) for low, high in ranges])

    @staticmethod
    def _bound(low: np.ndarray, high: np.ndarray, weights: np.ndarray, start: np.ndarray) -> np.ndarray:
        if low.size == 0:
            return np.full(len(weights), -np.inf)
        with np.errstate(all="ignore"):
            bounds = np.maximum(weights * (low - start), weights * (high - start)).sum(axis=1)
            largest = np.abs(weights) @ (np.maximum(np.abs(low), np.abs(high)) + np.abs(start))
            # Each of the chain's steps, and of these sums, rounds by half a unit in the last place at most.
            bounds += largest * (4 * weights.shape[1] + 8) * 2.0**-53 + 2.0**-1000
        return np.where(np.isnan(bounds), np.inf, bounds)

    @cached_property
    def _whole_ranges(self) -> tuple[np.ndarray, np.ndarray]:
        return self._ranges(_core.statistics_report(self.statistics), "skip")

    @cached_property
    def _present_ranges(self) -> list[tuple[np.ndarray, np.ndarray]]:
        return [self._ranges(report, "skip") for report in self.shards]

    @cached_property
    def _filled_ranges(self) -> list[tuple[np.ndarray, np.ndarray]]:
        return [self._ranges(report, "fill") for report in self.shards]

    @staticmethod
    def _ranges(report: dict[str, Any], missing: str) -> tuple[np.ndarray, np.ndarray]:
        """Of each attribute. Empty arrays for no rows."""
        low: list[float] = []
        high: list[float] = []
        if report["num_rows"] == 0:
            return np.zeros(0), np.zeros(0)
        for least, most, has_values, has_missing, stand_in in report["attributes"]:
            ends = [least, most] if has_values else []
            if missing == "fill" and has_missing and stand_in is not None:
                ends.append(stand_in)
            low.append(min(ends, default=0.0))
            high.append(max(ends, default=0.0))
        return np.array(low), np.array(high)


def _ranks(quantiles: Sequence[np.ndarray], low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Between which ranks values from `low` to `high` are: those of the quantiles around them."""
    if low.size == 0:
        return low, high
    return (
        np.array([_step(of, least, "left") for of, least in zip(quantiles, low)]),
        np.array([_step(of, most, "right") for of, most in zip(quantiles, high)]),
    )


def _step(quantiles: np.ndarray, value: float, side: Literal["left", "right"]) -> float:
    """No larger than the value's rank ("left"), or no smaller."""
    steps = max(1, len(quantiles) - 1)
    after = int(np.searchsorted(quantiles, value, "right"))
    if after == 0:
        return 0.0
    if side == "right":
        return min(1.0, after / steps)
    return int(np.searchsorted(quantiles, quantiles[after - 1], "left")) / steps


def _divided(weights: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """An attribute that is constant does not count."""
    with np.errstate(all="ignore"):
        return np.where(widths > 0, weights / widths, 0)
