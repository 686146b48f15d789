"""The command `culmen`, which the package contains. It does not read Parquet and Arrow files itself; they are converted
to CSV that keeps every digit, and piped to it."""

from __future__ import annotations

import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
from typing import TYPE_CHECKING, BinaryIO

from ._files import in_utf8

if TYPE_CHECKING:
    import pyarrow

_PROGRAM = pathlib.Path(__file__).with_name("culmen")
_FORMATS = {".parquet": "parquet", ".arrow": "ipc", ".feather": "ipc", ".ipc": "ipc"}


def main() -> None:
    arguments = sys.argv[1:]
    if not any(map(_is_converted, arguments)):
        os.execv(_PROGRAM, ["culmen", *arguments])
    with tempfile.TemporaryDirectory(prefix="culmen-") as folder:
        status = subprocess.run([_PROGRAM, *(_through_pipe(argument, folder) for argument in arguments)]).returncode
    sys.exit(status if status >= 0 else 128 - status)


def _is_converted(argument: str) -> bool:
    return pathlib.Path(argument).suffix.lower() in _FORMATS and os.path.isfile(argument)


def _through_pipe(argument: str, folder: str) -> str:
    if not _is_converted(argument):
        return argument
    pipe = os.path.join(folder, pathlib.Path(argument).stem + ".csv")  # the program's messages name it
    os.mkfifo(pipe)
    threading.Thread(target=_write, args=(argument, pipe), daemon=True).start()  # ends with the process at the latest
    return pipe


def _write(file: str, pipe: str) -> None:
    with open(pipe, "wb") as out:  # blocks until the program opens the other end
        try:
            _convert(file, out)
        except BrokenPipeError:
            pass  # the program has read enough, and says why
        except (ImportError, OSError, ValueError) as error:
            problem = "this takes pyarrow: pip install pyarrow" if isinstance(error, ImportError) else error
            _say(f"culmen: {file}: {problem}")
            out.write(b'\n"the rest could not be read')  # malformed on purpose, so the program refuses the part


def _say(message: str) -> None:
    """Writes to standard error without Python's buffer, which changes the exit code if it cannot be flushed."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            os.write(sys.stderr.fileno(), (message + "\n").encode(errors="backslashreplace"))


def _convert(file: str, out: BinaryIO) -> None:
    import pyarrow.csv
    import pyarrow.dataset

    with in_utf8([file]) as names:
        dataset = pyarrow.dataset.dataset(list(names), format=_FORMATS[pathlib.Path(file).suffix.lower()])
        schema = _widened(dataset.schema)
        with pyarrow.csv.CSVWriter(out, schema) as writer:
            for batch in dataset.to_batches():
                writer.write(batch.cast(schema))


def _widened(schema: pyarrow.Schema) -> pyarrow.Schema:
    """float32 becomes float64: the shortest digits of a float32 are those of a different float64."""
    import pyarrow

    narrow = (pyarrow.float16(), pyarrow.float32())
    return pyarrow.schema([f.with_type(pyarrow.float64()) if f.type in narrow else f for f in schema])
