"""Reports of calls. The C++ headers document the fields in more detail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from . import _html


@dataclass(frozen=True)
class SearchStats:
    """What a search did. Counts are exact; bytes are those of the values, codes and bounds that were read."""

    engine: str  #: the engine that answered; "auto" if none did, as ids were looked up
    rows_in_index: int
    rows_scored: int
    rows_by_codes: int  #: rows whose codes were read, to see which to score; on a GPU, in a scan or a sweep
    leaves_visited: int  #: leaves whose rows were scored
    nodes_visited: int  #: inner nodes whose children's bounds were computed
    bounds_computed: int
    leaves_tied_out: int  #: leaves that could only tie, with ids too large to enter; 0 from a GPU, like the next two
    candidates: int  #: rows that passed the filter, with at least the k-th best score so far
    replacements: int  #: candidates that replaced another row
    bytes_touched: int
    ids_looked_up: int  #: the filter lets pass rows of only so many ids: these were looked up instead of a search
    by_id_map: bool  #: by a map of ids, not by a pass over the ids of all rows
    scan_fallback: bool  #: the search by bounds gave up, and a scan answered the rest
    device: str | None  #: the GPU that answered, as "cuda:0"
    elapsed_us: float

    @property
    def share_scored(self) -> float:
        """The part of the table whose scores were computed."""
        return self.rows_scored / self.rows_in_index if self.rows_in_index else 0.0


@dataclass(frozen=True)
class AttributeInfo:
    """The values of an attribute."""

    name: str
    preference: str  #: "high" or "low": which end is good
    minimum: float  #: over the index, of the values that are not missing; 0 when there are none
    maximum: float
    stand_in: float  #: what stands in for missing values with missing="fill"
    has_missing: bool  #: some row misses it


@dataclass(frozen=True)
class ColumnInfo:
    """A column of an index."""

    name: str  #: of the table's column; "id" and "label" where these were given without a name
    role: str  #: "id", "label", "attribute" (ranked), "filter" or "stored" (only shown)
    type: str  #: "float", "int", "bool", "date", "timestamp" or "text"
    unit: str = ""  #: of timestamps: "s", "ms", "us" or "ns"
    time_zone: str = ""  #: of timestamps; empty: local times of no known zone
    preference: str | None = None  #: of attributes: "high" or "low"
    missing: str | float | None = None  #: of attributes: what stands in for missing values, as build was told


@dataclass(frozen=True)
class IndexInfo:
    """What an index is, and how large."""

    num_rows: int
    attributes: tuple[AttributeInfo, ...]
    value_type: str  #: "float32" or "float64"
    has_labels: bool
    partitioning: str  #: "kd", "angle" or "random"; "-flat": without shells; "-sum": rows are ordered by their sums
    cluster: str | None  #: the column that rows are clustered by
    num_partitions: int
    leaf_rows: int
    num_leaves: int
    num_nodes: int
    height: int
    data_bytes: int  #: attributes and ids
    overhead_bytes: int  #: tree, bounds, bookkeeping and empty slots
    code_bytes: int  #: codes (quantized values), in memory only and not counted above
    num_reads: int  #: leaves and nodes read since the files were opened, if only what is touched is read
    next_id: int  #: what the next row without an id would get; 0 where none is assigned, as ids are uint64
    rounded_values: int  #: values changed by value_type="float32"
    uuid: str  #: of an index in a directory; else empty, also of one in shards
    version: int
    compact_advised: bool  #: compact() would make the index smaller: it has 1.3 times the leaves of a fresh build

    def _repr_html_(self) -> str:
        rows = [(field.name, getattr(self, field.name)) for field in fields(self) if field.name != "attributes"]
        return _html.table(("", ""), rows, 0)

    @classmethod
    def of(cls, report: Mapping[str, Any]) -> IndexInfo:
        attributes = tuple(AttributeInfo(**attribute) for attribute in report["attributes"])
        return cls(**{**report, "attributes": attributes})

    @classmethod
    def of_shards(cls, shards: Sequence[IndexInfo], statistics: Mapping[str, Any]) -> IndexInfo:
        """Of all rows, whose statistics are given. Counts and bytes are sums, the height is that of the highest."""
        attributes = []
        of_all = zip(shards[0].attributes, statistics["attributes"])
        for attribute, (least, most, _, has_missing, stand_in) in of_all:
            known = attribute.stand_in if stand_in is None else stand_in
            attributes.append(replace(attribute, minimum=least, maximum=most, has_missing=has_missing, stand_in=known))
        return replace(
            shards[0],
            **{name: sum(getattr(shard, name) for shard in shards) for name in _SUMS},
            attributes=tuple(attributes),
            height=max(shard.height for shard in shards),
            next_id=max(shard.next_id for shard in shards),
            compact_advised=any(shard.compact_advised for shard in shards),
            uuid="",
        )


#: What counts of all shards are sums of.
_SUMS = (
    "num_rows",
    "num_partitions",
    "num_leaves",
    "num_nodes",
    "data_bytes",
    "overhead_bytes",
    "code_bytes",
    "num_reads",
    "rounded_values",
    "version",
)


@dataclass(frozen=True)
class WriteResult:
    """What a batch of changes did."""

    version: int  #: the first version of the index that holds the batch
    inserted: int  #: rows whose id was new
    replaced: int  #: rows that replaced one with the same id
    erased: int
    #: Row r of the table was assigned first_id + r. Dropped rows are counted, so if row 0 was dropped, no row has this
    #: id. None: no row was assigned one.
    first_id: int | None
    #: By a sharded index, in some shard: a worker died after it had written its part, and was asked again. The counts
    #: are then those of the rows that came and went.
    repeated: bool = False
    rows_dropped: int = 0  #: rows that nulls="drop" left out
    #: Of an upsert: ids of such rows that are in the index, whose rows are as they were.
    unchanged_ids: tuple[int, ...] | tuple[str, ...] = ()


@dataclass(frozen=True)
class RecoveryInfo:
    """What opening a directory found in its log."""

    num_batches: int  #: applied
    #: At the end of the log, and no whole batch: what a crash or a power failure left of the last write, or a last
    #: batch that is damaged. With the durability "sync" the former was never reported as done.
    dropped_bytes: int
    dropped_from: str


@dataclass(frozen=True)
class RepairReport:
    """What Index.repair kept and lost."""

    rows_kept: int
    rows_lost: int  #: those of damaged leaves
    batches_applied: int  #: of the log
    #: Of the log, at least so many that had been written: damaged ones, and all after them, which build on them.
    #: Their rows are not in rows_lost.
    batches_lost: int
    dropped: tuple[str, ...]  #: one line each: file, position, fault


@dataclass(frozen=True)
class Prediction:
    """How long an engine would take, as the planner estimates."""

    engine: str
    elapsed_us: float
    device: str | None


@dataclass(frozen=True)
class Explanation:
    """What a search would do, and why. `print(explanation)` shows it."""

    engine: str
    reason: str
    predictions: tuple[Prediction, ...]
    text: str

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return _html.text(self.text, "pre")


@dataclass(frozen=True)
class RefreshStats:
    """The cost of bringing a copy on a GPU to the index's current version."""

    version: int
    leaves: int
    nodes: int
    bytes: int
    is_whole: bool
    elapsed_us: float


@dataclass(frozen=True)
class DeviceMember:
    """A GPU of a DeviceGroup."""

    device: str  #: as "cuda:0"
    memory: str  #: where the rows are: "device", "managed", "host" or "compressed"
    device_bytes: int  #: memory on the GPU that its copy takes
    share: float  #: of a large batch, as it would be divided now; of parts: of the index, about
    is_usable: bool  #: False: set aside, since it has failed
