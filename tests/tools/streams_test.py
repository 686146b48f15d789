"""The program culmen with standard streams that are closed, full, or pipes that nobody reads.

Whatever happens to its messages, a command does the same and returns the same exit code. It fails only if it cannot
write its result, as to a full disk.
"""

import itertools
import os
import pty
import shutil
import subprocess
import time
import unittest

from program import HOTELS, PROGRAM, Case

BUILD = "--id id --label name --attributes price:low,rating"

# Command, its exit code, its exit code if standard output is full.
COMMANDS = [
    ("generate zipf --rows 5 -o made.csv", 0, 0),
    ("generate zipf --rows 5 -o made.xls", 2, 2),
    (f"build hotels.csv -o built {BUILD}", 0, 0),
    (f"build hotels.csv -o index --force {BUILD}", 0, 0),
    (f"build half.csv -o built {BUILD}", 3, 3),
    ("query index -w rating=1", 0, 1),
    ("query index -w rating=1 --format table", 0, 1),
    ("query index -w rating=1 --format json", 0, 1),
    ("query index -w rating=1 --format jsonl", 0, 1),
    ("query index -w rating=1 --format npy", 0, 1),
    ("query index -w rating=1 --explain", 0, 1),
    ("query index -w rating=1 --profile", 0, 1),
    ("query index -w rating=1 -o best.csv --profile", 0, 0),
    ("query index -w rating=1 -o /dev/full", 1, 1),
    ("query index -w stars=1", 2, 2),
    ("query damaged -w rating=1", 3, 3),
    ("get index --ids 7,8", 0, 1),
    ("get index --ids 7,8 -o row.csv", 0, 0),
    ("insert index more.csv --new-ids", 0, 0),
    ("insert index more.csv --new-ids --durability batch --batch 1", 0, 0),
    ("insert index half.csv --new-ids --batch 1", 3, 3),
    ("upsert index more.csv --id id --label name", 0, 0),
    ("delete index --ids 7,8", 0, 1),
    ("delete index --ids 7,8 --dry-run", 0, 1),
    ("info index", 0, 1),
    ("info index --json", 0, 1),
    ("compact index", 0, 0),
    ("verify index", 0, 1),
    ("verify damaged", 3, 3),
    ("repair index -o mended", 0, 1),
    ("repair damaged -o mended", 3, 3),
    ("help", 0, 1),
    ("help query", 0, 1),
    ("query --help", 0, 1),
    ("--help", 0, 1),
    ("--version", 0, 1),
    ("frobnicate", 2, 2),
]
# Command, its exit code, its exit code if standard input is closed or a directory.
READERS = [
    (f"build - -o built {BUILD}", 0, 1),
    ("insert index - --new-ids", 0, 1),
    ("query index --weights-file -", 0, 1),
    ("get index --ids-file -", 0, 1),
    ("delete index --ids-file -", 0, 1),
]
INPUTS = {
    "build": HOTELS,
    "insert": HOTELS,
    "query": "rating\n1\n",
    "get": "7\n",
    "delete": "7\n",
}


def broken_pipe():
    read_end, write_end = os.pipe()
    os.close(read_end)
    return write_end


def destination(state):
    """The argument of Popen for a stream, and what the caller must close afterwards."""
    if state == "read":
        return subprocess.PIPE, None
    if state == "closed":
        return None, None
    file = broken_pipe() if state == "broken" else os.open("/dev/full", os.O_WRONLY)
    return file, file


class StreamsTest(Case):
    def setUp(self):
        super().setUp()
        self.build_hotels()
        self.write("more.csv", HOTELS)
        self.write("half.csv", HOTELS.replace("200,", "many,"))
        shutil.copytree(self.dir / "index", self.dir / "damaged")
        largest = max(self.files("damaged"), key=lambda path: path.stat().st_size)
        content = bytearray(largest.read_bytes())
        content[len(content) // 2] ^= 0x10
        largest.write_bytes(content)
        self.base = self.dir
        self.copy = self.base.with_name(self.base.name + "-copy")
        self.addCleanup(shutil.rmtree, self.copy, ignore_errors=True)

    def with_streams(self, command, stdin="read", stdout="read", stderr="read"):
        """Runs a command on a copy of the files; returns its exit code, its output, and the files afterwards."""
        self.dir = self.copy
        shutil.rmtree(self.dir, ignore_errors=True)
        shutil.copytree(self.base, self.dir)
        closed = [i for i, state in enumerate([stdin, stdout, stderr]) if state == "closed"]
        out, out_file = destination(stdout)
        err, err_file = destination(stderr)
        feed = INPUTS.get(command.split()[0], "").encode() if stdin == "read" else None
        in_file = os.open(self.dir, os.O_RDONLY) if stdin == "directory" else None
        try:
            process = subprocess.Popen(
                [PROGRAM, *command.split()],
                stdin=subprocess.PIPE if feed is not None else in_file,
                stdout=out,
                stderr=err,
                cwd=self.dir,
                preexec_fn=lambda: [os.close(i) for i in closed],
            )
            printed = process.communicate(feed, timeout=120)
        finally:
            for file in [in_file, out_file, err_file]:
                if file is not None:
                    os.close(file)
        return process.returncode, tuple((text or b"").decode(errors="replace") for text in printed), self.contents()

    def contents(self):
        """The changed files by their bytes, and the changed index directories by their rows."""
        found = {}
        for path in self.dir.iterdir():
            if path.is_file():
                found[path.name] = path.read_bytes()
            elif self.is_as_before(path.name):
                found[path.name] = "as before"
            else:
                self.culmen("verify", path.name, "--deep")
                found[path.name] = self.culmen("query", path.name, "-w", "rating=1", "--min-score", "-1e9")[0]
        return found

    def is_as_before(self, directory):
        if not (self.base / directory).exists():
            return False
        before = {path.name: path.read_bytes() for path in (self.base / directory).iterdir()}
        return {path.name: path.read_bytes() for path in (self.dir / directory).iterdir()} == before

    def check(self, command, code, expected, **streams):
        with self.subTest(command, **streams):
            found, printed, contents = self.with_streams(command, **streams)
            self.assertEqual(found, code, printed)
            self.assertEqual(contents, expected)
            return printed
        return "", ""

    def test_every_command_does_the_same_whatever_its_streams_are(self):
        states = ["read", "closed", "full", "broken"]
        for command, code, code_if_full in COMMANDS:
            _, (out, err), expected = self.with_streams(command)
            self.check(command, code, expected, stdin="closed")
            self.check(command, code, expected, stdin="closed", stdout="closed", stderr="closed")
            for stdout, stderr in itertools.product(states, states):
                printed = self.check(
                    command, code_if_full if stdout == "full" else code, expected, stdout=stdout, stderr=stderr
                )
                if stdout == "read":
                    self.assertEqual(bool(printed[0]), bool(out), (command, stderr))
                elif stderr == "read" and stdout == "full" and out:
                    self.assertIn("standard output: cannot write: No space left on device\n", printed[1], command)
                elif stderr == "read" and stdout == "broken" and out:
                    self.assertEqual(printed[1], "", command)
                elif stderr == "read":
                    self.assertEqual(bool(printed[1]), bool(err), (command, stdout))

    def test_a_change_that_cannot_be_printed_is_reported_as_made(self):
        for command, says in [
            ("delete index --ids 7,8", "index: 1 row deleted; 1 of the 2 ids were not there"),
            ("repair index -o mended", "mended: 4 rows kept; nothing was skipped"),
        ]:
            _, (_, err), _ = self.with_streams(command, stdout="full")
            self.assertEqual(
                err,
                f"culmen: {says}; this could not be printed: standard output: cannot write: No space left on device\n",
            )
        _, (_, err), _ = self.with_streams("delete index --ids 7,8 --dry-run", stdout="full")
        self.assertEqual(err, "culmen: standard output: cannot write: No space left on device\n")

    def test_an_input_that_cannot_be_read_is_an_error(self):
        rows, _ = self.culmen("query", "index", "-w", "rating=1", "--min-score", "-1e9")
        for command, code, code_if_bad in READERS:
            self.assertEqual(self.with_streams(command)[0], code, command)
            for stdin in ["closed", "directory"]:
                code_found, (out, err), contents = self.with_streams(command, stdin=stdin)
                self.assertEqual((code_found, out), (code_if_bad, ""), (command, stdin, err))
                self.assertRegex(err, r"\Aculmen: cannot (read|open) standard input[^\n]*\n\Z", (command, stdin))
                self.assertEqual(set(contents), {path.name for path in self.base.iterdir()})
                self.assertIn(contents["index"], ["as before", rows], (command, stdin))

    def test_what_waits_for_its_reader_arrives_whole(self):
        """Non-blocking pipes, as some programs pass to their children."""
        self.build_numbers([[i, 0, 0] for i in range(20000)])
        expected, _ = self.culmen("query", "index", "-w", "a=1", "-k", 20000)
        read_end, write_end = os.pipe()
        os.set_blocking(write_end, False)
        with os.fdopen(read_end, "rb") as pipe:
            process = subprocess.Popen(
                [PROGRAM, "query", "index", "-w", "a=1", "-k", "20000"], cwd=self.dir, stdout=write_end
            )
            os.close(write_end)
            time.sleep(0.2)
            self.assertEqual(pipe.read().decode(), expected)
            self.assertEqual(process.wait(timeout=60), 0)

    def test_a_file_that_may_not_grow_is_full(self):
        for stream, code in [("1", 1), ("2", 0)]:
            done = subprocess.run(
                ["sh", "-c", f'ulimit -f 0; exec "$0" "$@" {stream}>printed', PROGRAM]
                + "query index -w rating=1 --profile".split(),
                cwd=self.dir,
                capture_output=True,
                timeout=60,
                check=False,
            )
            self.assertEqual(done.returncode, code, done)
            self.assertEqual((self.dir / "printed").read_bytes(), b"")

    def test_a_terminal_that_goes_away_does_not_end_a_build(self):
        main, worker = pty.openpty()
        process = subprocess.Popen(
            [PROGRAM, "build", "-", "-o", "built"],
            cwd=self.dir,
            stdin=subprocess.PIPE,
            stderr=worker,
            env={**os.environ, "TERM": "xterm"},
        )
        os.close(worker)
        process.stdin.write(b"a,b\n1,2\n")
        process.stdin.flush()
        time.sleep(0.5)  # longer than the bar waits before it shows itself
        os.close(main)
        process.communicate(b"3,4\n", timeout=60)
        self.assertEqual(process.returncode, 0)
        self.culmen("verify", "built")


if __name__ == "__main__":
    unittest.main()
