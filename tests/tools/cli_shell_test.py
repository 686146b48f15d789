"""The shell of the program, completions, its manual page; rows with one id, and columns that are changed alone."""

import os
import pty
import select
import shutil
import signal
import subprocess
import time
import unittest

from program import PROGRAM, Case


class ShellTest(Case):
    def test_lines_of_a_pipe_are_questions(self):
        self.build_numbers([[i, i % 3, 0] for i in range(30)])
        questions = (
            "a=1 -k 1\n\n# a comment\n-w b=1 -k 1 --show b\na=1 -k 1 --where 'b = 1'\ncolumns\nhelp\nquit\na=1\n"
        )
        out, err = self.culmen("shell", "index", stdin=questions)
        self.assertEqual(err, "")
        lines = out.splitlines()
        self.assertEqual(lines[1], "1,29,29,29,2,0")
        self.assertEqual(lines[2:4], ["rank,id,score,b", "1,2,2,2"])
        self.assertTrue(lines[5].startswith("1,28,28,"))
        self.assertIn("30 rows, 3 attributes", out)
        self.assertIn("quit ends", lines[-1])

    def test_questions_within_a_limit_of_memory_have_the_same_answers(self):
        self.build_numbers([[i * 7919 % 3001, i % 3, 0] for i in range(3000)])
        question = "a=1,b=-500 -k 20 --where 'b >= 1'\n"
        expected = self.culmen("shell", "index", stdin=question)
        self.assertEqual(self.culmen("shell", "index", "--max-memory", "1kb", stdin=question), expected)
        asked = ["query", "index", "-w", "a=1,b=-500", "-k", "20", "--where", "b >= 1", "--format", "csv"]
        self.assertEqual(self.culmen(*asked, "--max-memory", "2MB"), self.culmen(*asked))
        for command in (asked, ("shell", "index")):
            limited = self.culmen(*command, "--max-memory", "1kb", "--codes", "memory", stdin=question)
            self.assertEqual(limited, self.culmen(*command, stdin=question))
            self.assertIn("a limit of memory", self.culmen(*command, "--codes", "memory", code=2)[1])
            _, err = self.culmen(*command, "--max-memory", "1kb", "--codes", "disk", code=2)
            self.assertIn('--codes takes files, memory, cpu, cuda or cuda:N, not "disk"', err)
        # So many that they would be worth a copy to a GPU, which would need the whole index.
        self.write("many.csv", "a,b\n" + "1,-500\n" * 10_000)
        many = ["query", "index", "--weights-file", "many.csv", "-k", "1", "--format", "csv", "--max-memory", "2MB"]
        self.assertEqual(self.culmen(*many)[0].count("\n"), 10_001)
        for wrong in ("much", "-1", "-5MB", "0", "00kb", "1e3", "", "1.5GB"):
            out, err = self.culmen(*asked, "--max-memory", wrong, code=2)
            self.assertIn("--max-memory: a size is", err, wrong)

    def test_rows_of_each_group_behind_a_log_are_those_of_one_tree(self):
        names = ["amber", "blue", None, "cyan"]
        numbers = [[i * 7919 % 3001, i % 3] for i in range(3000)]
        lines = [f"{i},{a},{b},{names[i % 4] or ''}" for i, (a, b) in enumerate(numbers)]
        self.write("rows.csv", "\n".join(["id,a,b,colour", *lines]) + "\n")
        self.culmen("build", "rows.csv", "-o", "index", "--attributes", "a,b", "--id", "id")
        self.write("more.csv", "id,a,b,colour\n5000,4000,1,azure\n5001,3999,0,azure\n5002,3990,2,blue\n7,3900,1,\n")
        self.culmen("upsert", "index", "more.csv")
        self.culmen("delete", "index", "--where", "a >= 2990 and a < 3000")
        self.assertIn("2 batches", self.culmen("info", "index")[0])
        answers = []
        for _ in range(2):
            for limit in ((), ("--max-memory", "1kb")):
                for per in ("colour=1", "colour=3", "b=2"):
                    asked = ["query", "index", "-w", "a=1,b=-5", "-k", "8", "--per", per, "--format", "csv", *limit]
                    out, _ = self.culmen(*asked)
                    page, _ = self.culmen(*asked, "--after", "3980,5002")
                    answers.append((out, page))
            self.culmen("compact", "index")
        self.assertEqual(answers[:3] * 3, answers[3:])
        ids = [line.split(",")[1] for line in answers[0][0].splitlines()[1:]]
        self.assertEqual(ids, ["5001", "5002", "7", "2511", "72"])

    def test_the_first_error_of_a_pipe_ends_it(self):
        self.build_numbers([[1, 2, 3]])
        for line in ("zz=1", "a=1 --nonsense", 'a=1 --where "b'):
            out, err = self.culmen("shell", "index", stdin=f"{line}\na=1\n", code=2)
            self.assertEqual(out, "")
            self.assertRegex(err, r"\Aculmen: [^\n]+\n\Z")

    def test_questions_see_what_was_written_meanwhile(self):
        self.build_numbers([[1, 2, 3]])
        shell = subprocess.Popen([PROGRAM, "shell", "index"], stdin=-1, stdout=-1, cwd=self.dir, text=True)
        self.addCleanup(shell.stdout.close)

        def ask():
            shell.stdin.write("a=1 -k 1\n")
            shell.stdin.flush()
            shell.stdout.readline()
            return shell.stdout.readline()

        self.assertTrue(ask().startswith("1,0,1,"))
        self.write("more.csv", "id,a,b,c\n7,9,0,0\n")
        self.culmen("insert", "index", "more.csv")
        self.assertTrue(ask().startswith("1,7,9,"))
        shell.stdin.close()
        self.assertEqual(shell.wait(60), 0)

    def test_a_terminal_goes_on_after_errors_and_interrupts(self):
        self.build_numbers([[1, 2, 3]])
        main, side = pty.openpty()
        self.addCleanup(os.close, main)
        shell = subprocess.Popen(
            [PROGRAM, "query", "index"],
            stdin=side,
            stdout=side,
            stderr=side,
            cwd=self.dir,
            env={**os.environ, "HOME": str(self.dir), "TERM": "dumb"},
        )
        os.close(side)
        self.read_until(main, "index> ")
        os.write(main, b"zz=1\n")
        self.assertIn("no attribute", self.read_until(main, "index> "))
        shell.send_signal(signal.SIGINT)
        os.write(main, b"a=2\n")
        self.assertIn("score", self.read_until(main, "index> "))
        os.write(main, b"quit\n")
        deadline = time.monotonic() + 30
        while shell.poll() is None and time.monotonic() < deadline:
            self.read_some(main)
        self.assertEqual(shell.wait(1), 0)

    def read_some(self, terminal):
        if not select.select([terminal], [], [], 0.2)[0]:
            return ""
        try:
            return os.read(terminal, 4096).decode(errors="replace")
        except OSError:
            return ""

    def read_until(self, terminal, text):
        seen, deadline = "", time.monotonic() + 30
        while text not in seen and time.monotonic() < deadline:
            seen += self.read_some(terminal)
        self.assertIn(text, seen)
        return seen


class CompletionTest(Case):
    def test_bash_completes_commands_and_options(self):
        script = self.culmen("help", "--completion", "bash")[0]
        words = 'COMP_WORDS=({}); COMP_CWORD={}; _culmen; echo "${{COMPREPLY[@]}}"'
        for typed, at, expected in (
            ("culmen bu", 1, "build"),
            ("culmen build --rej", 2, "--rejects"),
            ("culmen help que", 2, "query"),
            ("culmen query --rank", 2, "--rank-of"),
        ):
            done = subprocess.run(
                ["bash", "-c", script + words.format(typed, at)], capture_output=True, text=True, check=False
            )
            self.assertEqual((done.stdout.strip(), done.stderr), (expected, ""), typed)
        self.assertIn("bashcompinit", self.culmen("help", "--completion", "zsh")[0])
        fish = self.culmen("help", "--completion", "fish")[0]
        for name, takes_value in (("rejects", True), ("quiet", False), ("help", False), ("partial", False)):
            lines = [line for line in fish.splitlines() if f" -l {name} -d" in line]
            self.assertTrue(lines, name)
            self.assertEqual({line.endswith(" -r") for line in lines}, {takes_value}, name)
        self.assertNotIn(" -l name ", fish)  # of inspect, for the Python package

    def test_the_manual_page_has_all_commands_and_options(self):
        page = self.culmen("help", "--man")[0]
        self.assertTrue(page.startswith(".TH CULMEN 1\n"))
        for text in (".SS culmen build\n", ".SS culmen shell\n", "\\-\\-rejects FILE"):
            self.assertIn(text, page)
        if shutil.which("groff"):
            done = subprocess.run(
                ["groff", "-man", "-Tutf8", "-ww"], input=page, capture_output=True, text=True, check=False
            )
            self.assertEqual((done.returncode, done.stderr), (0, ""))


class OneRowTest(Case):
    def test_one_of_the_rows_with_an_id_is_kept(self):
        self.write("d.csv", "id,a\n1,1\n2,2\n1,3\n3,4\n2,5\n")
        self.refused("build", "d.csv", "-o", "d.index", "--id", "id", code=3, says="found 1 again")
        for shards in ((), ("--shards", 2)):
            for policy, expected in (("first", ["1,1", "2,2", "3,4"]), ("last", ["1,3", "2,5", "3,4"])):
                _, err = self.culmen(
                    *("build", "d.csv", "-o", f"d{len(shards)}{policy}.index", "--id", "id"),
                    *("--duplicates", policy, *shards),
                )
                self.assertIn("3 rows", err)
                self.assertIn("2 rows left out: another has its id", err)
                out = self.culmen("get", f"d{len(shards)}{policy}.index", "--ids", "1,2,3")[0]
                self.assertEqual(out.splitlines()[1:], expected)

    def test_columns_that_are_not_given_keep_their_values(self):
        self.write("t.csv", "id,name,a,b,city,day\n1,x,1,1.5,Roma,2024-01-01\n2,y,2,,,2024-01-02\n3,z,3,3.5,Wien,\n")
        for shards in ((), ("--shards", 2)):
            self.culmen("build", "t.csv", "-o", "t.index", "--id", "id", "--label", "name", "--force", *shards)
            self.write("u.csv", "id,b,city\n2,9,Brno\n3,,\n")
            self.assertIn("2 replaced", self.culmen("upsert", "t.index", "u.csv", "--partial")[1])
            rows = self.culmen("get", "t.index", "--ids", "1,2,3")[0].splitlines()[1:]
            self.assertEqual(rows, ["1,x,1,1.5,Roma,2024-01-01", "2,y,2,9,Brno,2024-01-02", "3,z,3,,,"])
            self.write("u.csv", "id,day\n1,2025-01-01\n")
            self.culmen("upsert", "t.index", "u.csv", "--partial")
            self.assertIn("2025-01-01", self.culmen("get", "t.index", "--ids", "1")[0])
            self.write("u.csv", "id,a\n1,5\n9,5\n")
            self.refused("upsert", "t.index", "u.csv", "--partial", code=3, says="u.csv:3: id 9 is not in the index")
            self.write("u.csv", "a\n5\n")
            self.refused("upsert", "t.index", "u.csv", "--partial", code=2, says="no column")
            shutil.rmtree(self.dir / "t.index")


if __name__ == "__main__":
    unittest.main()
