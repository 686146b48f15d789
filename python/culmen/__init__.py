"""Exact top-k over many attributes, with weights chosen at query time.

    import culmen

    index = culmen.Index.build(hotels, attributes=["price:low", "rating"], id="id", label="name")
    for row in index.search({"price": -0.4, "rating": 1.2}, k=10, where="price<=200"):
        print(row.label, row.score, row["price"])

Index is the class to begin with: build, open, search, insert, save. rank is a one-off query of a table. Answers are a
Result, or a BatchResult for a matrix of weights. All exceptions derive from Error.
"""

from . import dask as dask  # which needs Dask when it is used
from . import plot as plot  # matplotlib
from . import ray as ray
from ._core import Filter, num_devices
from ._device import DeviceAnswers, DeviceGroup, DeviceIndex
from ._dialect import CsvDialect, RejectedRow
from ._engines import ShardUnavailable
from ._errors import (
    CudaError,
    Error,
    FormatError,
    InputError,
    InvalidArgument,
    IoError,
    NoIndex,
    OutOfDeviceMemory,
    RowError,
)
from ._filters import Column, col, id_col, ids
from ._index import Index
from ._merging import ShardedBatchResult, ShardedResult
from ._rank import rank
from ._reasons import EvenWeight, Reasons, RowRank, ScorePart
from ._reports import (
    AttributeInfo,
    ColumnInfo,
    DeviceMember,
    Explanation,
    IndexInfo,
    Prediction,
    RecoveryInfo,
    RefreshStats,
    RepairReport,
    SearchStats,
    WriteResult,
)
from ._result import BatchResult, Result, Row
from ._sharded import ShardedIndex
from ._version import __version__
from ._writes import Batch

# A literal list: type checkers cannot compute it, and without it they treat these imports as private.
__all__ = [
    "AttributeInfo",
    "Batch",
    "BatchResult",
    "Column",
    "ColumnInfo",
    "CsvDialect",
    "CudaError",
    "DeviceAnswers",
    "DeviceGroup",
    "DeviceIndex",
    "DeviceMember",
    "Error",
    "EvenWeight",
    "Explanation",
    "Filter",
    "FormatError",
    "Index",
    "IndexInfo",
    "InputError",
    "InvalidArgument",
    "IoError",
    "NoIndex",
    "OutOfDeviceMemory",
    "Prediction",
    "Reasons",
    "RecoveryInfo",
    "RefreshStats",
    "RejectedRow",
    "RepairReport",
    "Result",
    "Row",
    "RowError",
    "RowRank",
    "ScorePart",
    "SearchStats",
    "ShardUnavailable",
    "ShardedBatchResult",
    "ShardedIndex",
    "ShardedResult",
    "WriteResult",
    "__version__",
    "col",
    "id_col",
    "ids",
    "num_devices",
    "rank",
]
