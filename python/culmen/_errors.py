"""Exceptions. Every class derives from Error and from the built-in exception that callers expect."""


class Error(Exception):
    """The base of all that culmen raises, except MemoryError for host memory, and what a callback raises."""


class InvalidArgument(Error, ValueError):
    """An argument makes no sense: an unknown attribute, k = 0, weights that are not finite, ..."""


class WrongType(InvalidArgument, TypeError):
    """An argument is of another type than what it stands for."""


class InputError(Error, ValueError):
    """A table cannot be indexed: an infinity, an id twice, a column of lists, ..."""


class RowError(InputError):
    """A row of a table cannot be stored. The text counts rows from 1."""

    row: int  #: The row, counted from 0.


def row_error(row: int, problem: str) -> RowError:
    error = RowError(f"row {row + 1}: {problem}")
    error.row = row
    return error


class FormatError(Error, ValueError):
    """An index file is damaged, foreign or of another format version."""


class IoError(Error, OSError):
    """The operating system refused: no such file, no space, no permission."""


class NoIndex(IoError, FileNotFoundError):
    """What is at the path is not an index."""


class CudaError(Error, RuntimeError):
    """A CUDA call failed, or there is no device to call."""


class OutOfDeviceMemory(CudaError, MemoryError):
    """Device memory, or pinned host memory, ran out."""


_MOST_SHOWN = 60  # characters


def short_repr(value: object) -> str:
    """For a message."""
    return shortened(repr(value))


def shortened(text: str) -> str:
    """For a message."""
    return text if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN] + "..."
