"""Builds an index from columns, of a table or of files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from . import _core
from ._device import device_numbers
from ._errors import InputError
from ._files import Path, as_bytes
from ._progress import Progress, shown
from ._queries import check_integer
from ._tables import Columns


@dataclass(frozen=True)
class BuildOptions:
    """The options that Index.build and Index.from_files share; documented there."""

    value_type: str
    partitioning: str
    cluster: str | None
    num_partitions: int
    leaf_rows: int
    threads: int
    device: str | list[str] | tuple[str, ...] | None
    progress: Progress | bool | None
    duplicates: str = "error"
    temp_directory: Path | None = None
    # Of each attribute, if the rows are part of a table that determines them:
    stand_ins: Sequence[float] = ()
    quantiles: Sequence[Sequence[float]] = ()

    def __post_init__(self) -> None:
        for name in ("num_partitions", "leaf_rows", "threads"):
            object.__setattr__(self, name, check_integer(name, getattr(self, name)))


def none_is_left(num_rows: int) -> InputError:
    """Of so many rows, where those with a gap are dropped."""
    return InputError(f"all {num_rows} rows have a gap in an attribute or the id: none is left")


def build(columns: Columns, options: BuildOptions) -> _core.Index:
    if columns.num_dropped > 0 and columns.num_rows == 0:
        raise none_is_left(columns.num_dropped)
    with shown(options.progress) as report:
        return _core.build(
            **columns.arguments(),
            partitioning=options.partitioning,
            cluster=options.cluster or "",
            num_partitions=options.num_partitions,
            leaf_rows=options.leaf_rows,
            value_type=options.value_type,
            num_threads=options.threads,
            devices=device_numbers(options.device),
            on_progress=report,
            stand_ins=list(options.stand_ins),
            quantiles=list(options.quantiles),
            duplicates=options.duplicates,
            temp_directory=as_bytes(options.temp_directory),
        )
