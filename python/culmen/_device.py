"""DeviceIndex: the copy of an index on a GPU."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from . import _core
from ._errors import InvalidArgument
from ._progress import Progress
from ._queries import TEN_OR_ALL, KOrEach, ScoreOrEach, WhereOrEach, in_numbers, is_each
from ._ranks import Ranks
from ._reports import DeviceMember, RefreshStats
from ._result import BatchResult, Out, Result
from ._schema import Schema
from ._searching import check_page, search, search_page

_LEGACY_STREAM = 1  # cudaStreamLegacy, which libraries call 0
_CUDA = 2  # kDLCUDA
_MOST_K = 1024  # kMaxDeviceK
_LAST_DEVICE = (1 << 31) - 1

_Copy = TypeVar("_Copy", bound="_OnGpu")


def device_number(device: str | None) -> int:
    """-1 is the CPU."""
    if device is None or device == "cpu":
        return -1
    if not isinstance(device, str):
        raise InvalidArgument(f'a device is "cpu" or "cuda:0", not {device!r}')
    kind, _, number = device.partition(":")
    if kind != "cuda" or not (number or "0").isdigit():
        raise InvalidArgument(f'a device is "cpu" or "cuda:0", not {device!r}')
    if int(number or "0") > _LAST_DEVICE:
        raise InvalidArgument(f"there is no GPU {number}")
    return int(number or "0")


def place_of_codes(codes: str) -> tuple[str, int]:
    """Of "files", "memory" or a GPU: as _core.open takes it."""
    if codes in ("files", "memory"):
        return codes, 0
    if not isinstance(codes, str) or not codes.startswith("cuda"):
        raise InvalidArgument(f'codes are kept in "files", "memory" or on a GPU, "cuda:0", not {codes!r}')
    return "device", device_number(codes)


def device_numbers(device: str | list[str] | tuple[str, ...] | None) -> list[int]:
    """Of GPUs that build; none: the CPU."""
    if not isinstance(device, (list, tuple)):
        number = device_number(device)
        return [] if number < 0 else [number]
    numbers = [device_number(name) for name in device]
    if not numbers or min(numbers) < 0:
        raise InvalidArgument(f'several devices that build are GPUs, ["cuda:0", "cuda:1"], not {device!r}')
    return numbers


class DeviceAnswers(NamedTuple):
    """Answers in device memory, as arrays of the library of the weights. They are complete when the stream that was
    current during the call has reached them."""

    ids: Any  #: int64 [q, k], best first, -1 after the last row of an answer
    scores: Any  #: float64 [q, k], -infinity after the last row
    counts: Any  #: int32 [q]; -1 where Index.search would refuse the weights


class _OnGpu(Ranks):
    """What copies on one GPU and on several have in common."""

    __slots__ = ("_handle", "_schema", "_contexts", "__weakref__")
    _handle: Any
    _schema: Schema
    _contexts: threading.local  # a dict for each thread: its contexts, by stream and device, go with it

    @classmethod
    def _of(cls: type[_Copy], handle: Any, schema: Schema) -> _Copy:
        copy = object.__new__(cls)
        copy._handle, copy._schema, copy._contexts = handle, schema, threading.local()
        return copy

    def __del__(self) -> None:
        if hasattr(self, "_contexts"):
            del self._contexts  # contexts wait for their streams, which may still read the copy

    def search(
        self,
        weights: Any,
        k: KOrEach = TEN_OR_ALL,
        *,
        where: WhereOrEach = None,
        min_score: ScoreOrEach = None,
        scale: str = "none",
        missing: str = "skip",
        terms: str = "",
        engine: str = "auto",
        out: Out | None = None,
        progress: Progress | bool | None = None,
        after: tuple[float, int | str] | None = None,
        per: Mapping[str, int] | None = None,
    ) -> Result | BatchResult | DeviceAnswers:
        """As Index.search. An array of weights in device memory, of torch or CuPy, [attributes] or [queries,
        attributes], is answered there (k up to 1,024, which min_score does not replace, no scale, terms, engine, out,
        progress, after and per): the call enqueues on the library's current stream and returns DeviceAnswers without
        waiting.

        Raises:
            OutOfDeviceMemory, CudaError: in addition to what Index.search raises.
        """
        if _is_on_gpu(weights):
            others = (out, progress, after, per)
            if (scale, terms, engine) != ("none", "", "auto") or any(other is not None for other in others):
                raise InvalidArgument(
                    "weights in device memory are answered without scale, terms, engine, out, progress, after and per"
                )
            return self._search_there(weights, k, where, min_score, missing)
        rest = (where, min_score, scale, missing, terms, engine)
        if check_page(weights, after, per, is_of_many=out is not None or bool(progress)):
            return search_page(self._handle, self._schema, weights, k, rest, after, per)
        return search(self._handle, self._schema, weights, k, rest, out, progress)

    def _search_there(
        self, weights: Any, k: KOrEach, where: WhereOrEach, min_score: ScoreOrEach, missing: str
    ) -> DeviceAnswers:
        if self._schema.id_type != "int64":
            raise InvalidArgument(
                "weights in device memory are answered by indexes whose ids are int64; copy them to the host"
            )
        if len(weights.shape) not in (1, 2):
            raise InvalidArgument(
                f"weights are [attributes] or [queries, attributes], not of shape {list(weights.shape)}"
            )
        library = _library_of(weights)
        matrix = library.matrix(weights)
        num_queries, width = matrix.shape
        if width != len(self._schema.attributes):
            raise InvalidArgument(f"{width} weights for the {len(self._schema.attributes)} attributes")
        if is_each(k) or is_each(where) or is_each(min_score):
            raise InvalidArgument("weights in device memory have one k, filter and min_score for all queries")
        k, (_, min_score, *_) = in_numbers(k, (where, min_score, "none", missing, "", "auto"))
        if k is None:
            raise InvalidArgument("weights in device memory need a k: it is the width of their answers")
        if not 1 <= k <= _MOST_K:
            raise InvalidArgument(f"weights in device memory take a k of 1 to {_MOST_K}, not {k}")
        ids, scores, counts = library.answers(num_queries, k)
        context = self._context(library.stream(), weights.__dlpack_device__()[1])
        self._handle.search_async(
            library.address(matrix),
            num_queries,
            k,
            where,
            min_score,
            missing,
            library.address(ids),
            library.address(scores),
            library.address(counts),
            context,
        )
        if weights.ndim == 1:
            return DeviceAnswers(ids[0], scores[0], counts[0])
        return DeviceAnswers(ids, scores, counts)

    def _context(self, stream: int, device: int) -> Any:
        """A context serves one call at a time, so each thread has one per stream."""
        own = self._contexts.__dict__
        key = f"{stream} {device}"
        if key not in own:
            own[key] = self._make_context(stream or _LEGACY_STREAM, device)
        return own[key]

    def _make_context(self, stream: int, device: int) -> Any:
        raise NotImplementedError

    def __reduce__(self) -> Any:
        raise TypeError("a copy on a GPU is not pickled: save() the index, and open() it in the other process")


class DeviceIndex(_OnGpu):
    """The copy of an index on a GPU, with the same answers to the same bits.

    It follows the index: a search that starts after a change has returned sees the change. `index.to("cuda:0")` makes
    it. All methods may be called from any number of threads.
    """

    __slots__ = ()
    _handle: _core.DeviceIndex

    def __init__(self) -> None:
        raise TypeError('a copy on a GPU comes from index.to("cuda:0")')

    def _make_context(self, stream: int, device: int) -> _core.DeviceContext:
        return self._handle.make_context(stream)

    def refresh(self) -> RefreshStats:
        """Brings the copy to the index's current version now, instead of in the next search."""
        return RefreshStats(**self._handle.refresh())

    @property
    def device(self) -> str:
        """The GPU, as "cuda:0"."""
        return f"cuda:{self._handle.device()}"

    @property
    def memory(self) -> str:
        """Where the rows are: "device", "managed", "host" or "compressed"."""
        return self._handle.memory()

    @property
    def device_bytes(self) -> int:
        """Memory on the GPU that the copy takes."""
        return self._handle.device_bytes()

    @property
    def num_resident_multiprocessors(self) -> int:
        """Those that searches of a resident copy occupy; 0 of others."""
        return self._handle.num_resident_multiprocessors()

    def __repr__(self) -> str:
        return f"<culmen.DeviceIndex on {self.device}: {self.device_bytes} bytes, rows in {self.memory} memory>"


class DeviceGroup(_OnGpu):
    """Copies of an index on several GPUs, or its parts, which answer together, with the same answers to the same bits.

    Of copies, the queries of a matrix are divided among the GPUs by the speed that each has shown; a single query is
    answered by the GPU that has the least to do. The copies follow the index as a DeviceIndex does. Weights in device
    memory may be on any GPU; the answers are on the same one. `index.to(["cuda:0", "cuda:1"])` makes a group. All
    methods may be called from any number of threads.

    A GPU that fails, or has no room, is set aside: the call raises CudaError or OutOfDeviceMemory, whose text names
    it, and later calls are answered by the others. refresh() brings it back. Of parts (layout="shard") all are needed:
    calls raise until the GPU works again.
    """

    __slots__ = ()
    _handle: _core.DeviceGroup

    def __init__(self) -> None:
        raise TypeError('copies on several GPUs come from index.to(["cuda:0", "cuda:1"])')

    def _make_context(self, stream: int, device: int) -> _core.GroupContext:
        return self._handle.make_context(stream, device)

    def refresh(self) -> list[RefreshStats]:
        """Brings all copies to the index's current version now, also those that were set aside."""
        return [RefreshStats(**report) for report in self._handle.refresh()]

    @property
    def devices(self) -> list[str]:
        """The GPUs, as ["cuda:0", "cuda:1"]."""
        return [member.device for member in self.members]

    @property
    def members(self) -> list[DeviceMember]:
        """Each GPU, in the same order."""
        return [DeviceMember(**member) for member in self._handle.members()]

    def __repr__(self) -> str:
        return f"<culmen.DeviceGroup on {', '.join(self.devices)}>"


def _is_on_gpu(weights: Any) -> bool:
    if isinstance(weights, (np.ndarray, Mapping, Sequence)):
        return False
    device = getattr(weights, "__dlpack_device__", None)
    return device is not None and device()[0] == _CUDA


class _Torch:
    def __init__(self, weights: Any) -> None:
        import torch

        self._torch, self._device = torch, weights.device

    def matrix(self, weights: Any) -> Any:
        if weights.is_complex():
            raise TypeError("weights are real numbers, not complex ones")
        matrix = weights.detach().resolve_neg().reshape(-1, weights.shape[-1])
        return matrix.to(self._torch.float64).contiguous()

    def answers(self, num_queries: int, k: int) -> tuple[Any, Any, Any]:
        make, torch = self._torch.empty, self._torch
        shape = (num_queries, k)
        return (
            make(shape, dtype=torch.int64, device=self._device),
            make(shape, dtype=torch.float64, device=self._device),
            make(num_queries, dtype=torch.int32, device=self._device),
        )

    def stream(self) -> int:
        return self._torch.cuda.current_stream(self._device).cuda_stream

    def address(self, array: Any) -> int:
        return array.data_ptr()


class _CuPy:
    def __init__(self, weights: Any) -> None:
        import cupy

        self._cupy = cupy

    def matrix(self, weights: Any) -> Any:
        array = self._cupy.from_dlpack(weights)
        if array.dtype.kind == "c":
            raise TypeError("weights are real numbers, not complex ones")
        return self._cupy.ascontiguousarray(array.reshape(-1, array.shape[-1]), dtype=np.float64)

    def answers(self, num_queries: int, k: int) -> tuple[Any, Any, Any]:
        shape = (num_queries, k)
        return (
            self._cupy.empty(shape, dtype=np.int64),
            self._cupy.empty(shape, dtype=np.float64),
            self._cupy.empty(num_queries, dtype=np.int32),
        )

    def stream(self) -> int:
        return self._cupy.cuda.get_current_stream().ptr

    def address(self, array: Any) -> int:
        return array.data.ptr


def _library_of(weights: Any) -> Any:
    """CuPy serves all other arrays in device memory."""
    return _Torch(weights) if type(weights).__module__.partition(".")[0] == "torch" else _CuPy(weights)
