"""The command `culmen`, which the package contains. It does not read Parquet and Arrow files itself; they are converted
to CSV that keeps every digit, and piped to it."""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, NoReturn, TypeVar

from ._files import READ_BY_PYARROW, in_utf8, open_dataset

if TYPE_CHECKING:
    import pyarrow.dataset

T = TypeVar("T")
R = TypeVar("R")

_PROGRAM = pathlib.Path(__file__).with_name("culmen")


def main() -> None:
    arguments = sys.argv[1:]
    files = [file for option, file in zip(["", *arguments], arguments) if _is_converted(option, file)]
    try:
        if files:
            pipes = _pipes_from_converter(files)
            arguments = [pipes.get(argument, argument) for argument in arguments]
            if arguments[0] == "inspect":  # which prints a command that reads the file
                arguments.append(f"--name={files[0]}")
        os.execv(_PROGRAM, ["culmen", *arguments])
    except KeyboardInterrupt:  # the program answers it itself
        _say("culmen: interrupted")
        sys.exit(130)


def _is_converted(option: str, file: str) -> bool:
    is_output = option in ("-o", "--output")
    return not is_output and os.path.splitext(file)[1].lower() in READ_BY_PYARROW and os.path.isfile(file)


def _pipes_from_converter(files: list[str]) -> dict[str, str]:
    """Forks a process that writes each file to a named pipe, and returns the pipes once it has opened all files. This
    process becomes the program, so that signals and the terminal reach the program itself."""
    # The program's messages name the pipe.
    pipes = {file: os.path.join(tempfile.mkdtemp(prefix="culmen-"), os.path.basename(file) + ".csv") for file in files}
    for pipe in pipes.values():
        os.mkfifo(pipe)
    program = os.getpid()
    is_ready, ready = os.pipe()
    converter = os.fork()
    if converter == 0:
        _serve(pipes, program, ready)
    os.close(ready)
    if not os.read(is_ready, 1):
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(converter, 0)[1]))
    return pipes


def _serve(pipes: dict[str, str], program: int, ready: int) -> NoReturn:
    """Converts until the program ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the program decides when to end
    status = 0
    try:
        with in_utf8(pipes) as names:
            datasets = {file: _opened(name, file) for name, file in names.items()}
            for file, dataset in datasets.items():
                threading.Thread(target=_write, args=(file, dataset, pipes[file]), daemon=True).start()
            os.write(ready, b"!")
            while os.getppid() == program:
                time.sleep(0.02)
    except SystemExit as end:
        status = int(str(end.code))
    finally:
        for pipe in pipes.values():
            shutil.rmtree(os.path.dirname(pipe), ignore_errors=True)
        os._exit(status)  # threads may wait for a reader


def _opened(name: str, file: str) -> pyarrow.dataset.Dataset:
    try:
        return open_dataset({name: file})
    except (OSError, ValueError) as error:
        _say(f"culmen: {file}: {error}")
        sys.exit(1 if isinstance(error, OSError) else 3)


def _write(file: str, dataset: pyarrow.dataset.Dataset, pipe: str) -> None:
    import pyarrow

    with open(pipe, "wb") as out:  # blocks until the program opens the other end
        try:
            schema = _for_csv(dataset.schema)
            out.write(_csv(schema.empty_table(), has_header=True))
            batches = (pyarrow.Table.from_batches([batch]) for batch in dataset.to_batches())
            for text in _in_order(lambda rows: _csv(rows.cast(schema), has_header=False), batches):
                out.write(text)
        except BrokenPipeError:
            pass  # the program has read enough, and says why
        except Exception as error:  # whatever it is: the program must not take the part for the whole
            _say(f"culmen: {file}: {error}")
            out.write(b'\n"the rest could not be read')  # malformed on purpose, so the program refuses the part


def _csv(rows: pyarrow.Table, has_header: bool) -> pyarrow.Buffer:
    import pyarrow.csv

    out = pyarrow.BufferOutputStream()
    pyarrow.csv.write_csv(rows, out, pyarrow.csv.WriteOptions(include_header=has_header))
    return out.getvalue()


def _in_order(function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """Calls it on all cores, ahead of what is taken by two items a core."""
    num_threads = os.cpu_count() or 1
    with ThreadPoolExecutor(num_threads) as pool:
        begun: deque[Future[R]] = deque()
        for item in items:
            begun.append(pool.submit(function, item))
            if len(begun) > 2 * num_threads:
                yield begun.popleft().result()
        while begun:
            yield begun.popleft().result()


def _say(message: str) -> None:
    """Writes to standard error without Python's buffer, which changes the exit code if it cannot be flushed."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            os.write(sys.stderr.fileno(), (message + "\n").encode(errors="backslashreplace"))


def _for_csv(schema: pyarrow.Schema) -> pyarrow.Schema:
    """float32 becomes float64: the shortest digits of a float32 are those of a different float64. Zones become UTC, as
    which the program reads timestamps. Dictionaries and views of texts become texts."""
    import pyarrow

    def written(kind: pyarrow.DataType) -> pyarrow.DataType:
        if kind in (pyarrow.float16(), pyarrow.float32()):
            return pyarrow.float64()
        if pyarrow.types.is_timestamp(kind) and kind.tz is not None:
            return pyarrow.timestamp(kind.unit, "UTC")
        if pyarrow.types.is_dictionary(kind):
            return written(kind.value_type)
        return pyarrow.string() if str(kind) == "string_view" else kind

    return pyarrow.schema(field.with_type(written(field.type)) for field in schema)
