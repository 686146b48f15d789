"""What the tests of the program culmen share: running it in a temporary directory, tables, and small readers.

CULMEN_PROGRAM names the built program. Values and weights are small multiples of a power of two wherever an
answer is computed here again, so that every sum is exact.
"""

import ast
import csv
import io
import os
import re
import resource
import signal
import struct
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

PROGRAM = os.environ.get("CULMEN_PROGRAM", "culmen")
SANITIZED = bool(os.environ.get("CULMEN_SANITIZE"))
ENGINES = ["auto", "scan", "ta", "gta", "bounded"]

HOTELS = """id,name,price,rating
7,"Inn, by the sea",80.5,8.5
3,"The ""Old"" Mill",120,9.25
9,Zürich Höhe,200,9.5
4,"Two
lines",60.1,7
"""


class Case(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.dir = Path(directory.name)

    def culmen(self, *arguments, code=0, stdin="", **options):
        """Runs the program, checks its exit code, returns (stdout, stderr)."""
        done = subprocess.run(
            [PROGRAM, *map(str, arguments)],
            input=stdin.encode(),
            capture_output=True,
            cwd=self.dir,
            timeout=120,
            check=False,
            **options,
        )
        out, err = done.stdout.decode(), done.stderr.decode()
        self.assertEqual(done.returncode, code, f"culmen {arguments}\n{out}\n{err}")
        return out, err

    def refused(self, *arguments, code, says, **options):
        """Runs a command that must fail: silent on stdout, one line on stderr, with `says` in it."""
        out, err = self.culmen(*arguments, code=code, **options)
        self.assertEqual(out, "")
        self.assertRegex(err, r"\Aculmen: [^\n]+\n\Z")
        self.assertIn(says, err)

    def write(self, name, text):
        (self.dir / name).write_text(text)
        return name

    def listing(self):
        return sorted(path.name for path in self.dir.iterdir())

    def files(self, directory):
        """Every file below `directory` but LOCK, whose content is not part of the index."""
        return [path for path in (self.dir / directory).rglob("*") if path.is_file() and path.name != "LOCK"]

    def snapshot(self, directory):
        return {path.name: path.read_bytes() for path in self.files(directory)}

    def build_hotels(self):
        self.write("hotels.csv", HOTELS)
        self.culmen(
            "build", "hotels.csv", "-o", "index", "--id", "id", "--label", "name", "--attributes", "price:low,rating"
        )

    def build_numbers(self, rows, names=("a", "b", "c"), *options):
        lines = [",".join(names)] + [",".join(map(str, row)) for row in rows]
        self.write("numbers.csv", "\n".join(lines) + "\n")
        self.culmen("build", "numbers.csv", "-o", "index", "--force", *options)

    def rows(self, *arguments, **options):
        """The rows of a query's CSV as dictionaries."""
        out, _ = self.culmen("query", "index", *arguments, "--format", "csv", **options)
        return list(csv.DictReader(io.StringIO(out)))

    def ids(self, *arguments, **options):
        return [int(row["id"]) for row in self.rows(*arguments, **options)]


def with_small_files(limit_bytes):
    """Options for a process whose files cannot grow beyond a limit, as on a full disk."""
    return {
        "restore_signals": False,  # Python ignores SIGXFSZ; so must the child, to see the error instead
        "preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes)),
    }


def best(rows, weights, k):
    """The full scan: (id, score) of the k best rows, higher score first, then smaller id."""
    scored = [(sum(w * a for w, a in zip(weights, row)), id) for id, row in enumerate(rows)]
    return [(id, score) for score, id in sorted(scored, key=lambda s: (-s[0], s[1]))[:k]]


def bits(number):
    return struct.pack("<d", float(number))


def read_npy(data):
    """(dtype description, shape, data bytes) of an NPY file of format 1.0."""
    assert data[:8] == b"\x93NUMPY\x01\x00"
    (length,) = struct.unpack("<H", data[8:10])
    assert (10 + length) % 64 == 0
    header = ast.literal_eval(data[10 : 10 + length].decode())
    assert header["fortran_order"] is False
    return header["descr"], header["shape"], data[10 + length :]


def write_npy(path, rows, fortran=False):
    header = str({"descr": "<f8", "fortran_order": fortran, "shape": (len(rows), len(rows[0]))})
    header = header.ljust(117) + "\n"
    values = b"".join(bits(value) for line in (zip(*rows) if fortran else rows) for value in line)
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + values)


def wait_until_sigint_is_caught(pid):
    for _ in range(600):
        status = Path(f"/proc/{pid}/status").read_text()
        caught = int(re.search(r"SigCgt:\s*(\w+)", status).group(1), 16)
        if caught & (1 << (signal.SIGINT - 1)):
            return
        time.sleep(0.05)
    raise AssertionError("the program does not catch SIGINT")
