"""The program culmen, run as users run it: in a temporary directory, checked by its output and the files it writes.

The commands that change an index have tests of their own: cli_changes_test.py.
"""

import csv
import fcntl
import gzip
import io
import json
import lzma
import math
import os
import pty
import random
import re
import resource
import signal
import struct
import subprocess
import termios
import time
import unittest
from pathlib import Path

from program import (
    ENGINES,
    HOTELS,
    PROGRAM,
    SANITIZED,
    Case,
    best,
    bits,
    read_npy,
    wait_until_sigint_is_caught,
    with_small_files,
    write_npy,
)


class GenerateTest(Case):
    def test_makes_every_kind(self):
        for kind in [
            *("independent", "correlated", "anticorrelated", "ratings", "zipf", "clusters"),
            *("gaussian", "weather", "heavytailed", "sparse", "series", "compositional"),
        ]:
            with self.subTest(kind):
                out, err = self.culmen("generate", kind, "--rows", 20, "--dims", 3, "-o", "t.csv")
                self.assertEqual(out, "")
                self.assertIn("20 rows, 3 attributes", err)
                self.assertEqual(len((self.dir / "t.csv").read_text().splitlines()), 21)

    def test_hotels_have_ids_and_names(self):
        self.culmen("generate", "hotels", "--rows", 30, "-o", "t.csv")
        with open(self.dir / "t.csv", encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(len({row["id"] for row in rows}), 30)
        self.assertTrue(all(row["name"] for row in rows))

    def test_hotels_have_their_own_attributes(self):
        self.refused("generate", "hotels", "--rows", 3, "--dims", 8, "-o", "t.csv", code=2, says="leave --dims out")

    def test_same_seed_gives_same_bytes_and_another_seed_others(self):
        for name, seed in [("a.npy", 5), ("b.npy", 5), ("c.npy", 6)]:
            self.culmen("generate", "independent", "--rows", 50, "--seed", seed, "-o", name)
        a, b, c = ((self.dir / name).read_bytes() for name in ["a.npy", "b.npy", "c.npy"])
        self.assertEqual(a, b)
        self.assertNotEqual(a, c)

    def test_refuses_an_unknown_kind_and_an_unknown_ending(self):
        self.refused("generate", "motels", "--rows", 5, "-o", "t.csv", code=2, says="hotels")
        self.refused("generate", "hotels", "--rows", 5, "-o", "t.xls", code=2, says=".npy")
        self.refused("generate", "hotels", "--rows", -5, "-o", "t.csv", code=2, says="--rows")
        self.assertEqual(self.listing(), [])

    def test_says_so_when_the_file_cannot_be_written(self):
        self.refused("generate", "hotels", "--rows", 5, "-o", "no/such/t.csv", code=1, says="no/such/t.csv")
        self.refused("generate", "hotels", "--rows", 5, "-o", "t.csv", code=1, says="t.csv", **with_small_files(20))
        self.assertEqual(self.listing(), [])

    def test_quiet_says_nothing(self):
        self.assertEqual(self.culmen("generate", "zipf", "--rows", 5, "-o", "t.csv", "-q"), ("", ""))


class BuildTest(Case):
    def test_a_header_alone_makes_an_index_that_takes_every_value(self):
        self.write("empty.csv", "id,price\n")
        _, err = self.culmen("build", "empty.csv", "-o", "index", "--id", "id")
        self.assertIn("stored as float64: there is no value yet", err)
        self.write("rows.csv", "id,price\n1,79.9\n")
        self.culmen("insert", "index", "rows.csv", "--id", "id")
        self.culmen("build", "empty.csv", "-o", "small", "--id", "id", "--type", "f32")

    def test_a_file_without_a_header_is_refused(self):
        self.write("plain.csv", "1,2\n3,4\n")
        self.refused("build", "plain.csv", "-o", "index", code=3, says="plain.csv:1:1: expected a header line")
        self.culmen("build", "plain.csv", "-o", "index", "--attributes", "1,2")

    def test_its_own_rows_can_be_read_back(self):
        values = [12345678901234567168, 9007199254740994, -(2**63), 10**22, 79.9]
        self.build_numbers([[value] for value in values], ["a"])
        self.culmen("get", "index", "--ids", "0,1,2,3,4", "-o", "rows.csv")
        self.culmen("upsert", "index", "rows.csv", "--id", "id")
        self.assertEqual([row["a"] for row in self.rows("-w", "a=1", "-k", 1)], ["1e+22"])

    def test_sums_up_on_stderr(self):
        self.write("hotels.csv", HOTELS)
        out, err = self.culmen("build", "hotels.csv", "-o", "index", "--id", "id", "--label", "name")
        self.assertEqual(out, "")
        self.assertIn("4 rows, 2 attributes, labels", err)
        self.assertIn("stored as float64: column price", err)
        self.assertNotIn("\r", err)  # no progress bar: stderr is no terminal

    def test_quiet_says_nothing(self):
        self.write("t.csv", "a\n1\n")
        self.assertEqual(self.culmen("build", "t.csv", "-o", "index", "--quiet"), ("", ""))

    def test_says_why_a_type_was_chosen(self):
        self.write("exact.csv", "a\n1.5\n")
        self.write("inexact.csv", "a,b\n1.5,0.1\n")
        self.assertIn("every value is one exactly", self.culmen("build", "exact.csv", "-o", "i1")[1])
        self.assertIn("column b has", self.culmen("build", "inexact.csv", "-o", "i2")[1])
        err = self.culmen("build", "inexact.csv", "-o", "i3", "--type", "f32")[1]
        self.assertIn("values rounded: 1", err)
        self.assertIn("float64, as asked", self.culmen("build", "exact.csv", "-o", "i4", "--type", "f64")[1])

    def test_says_what_standard_input_is_if_it_is_no_text(self):
        for what, compress in [("gzip", gzip.compress), ("xz", lzma.compress)]:
            done = subprocess.run(
                [PROGRAM, "build", "-", "-o", "index"],
                cwd=self.dir,
                capture_output=True,
                input=compress(HOTELS.encode()),
                timeout=60,
                check=False,
            )
            self.assertEqual(done.returncode, 3)
            self.assertIn(f"found {what} data (decompress it with {what} -dc", done.stderr.decode())
        self.assertEqual(self.listing(), [])

    def test_names_the_options_that_would_help(self):
        self.write("t.csv", "a,b\n1,2\n,x\n")
        self.refused(
            "build",
            "t.csv",
            "-o",
            "index",
            "--nulls",
            "reject",
            code=3,
            says='t.csv:3:1: expected a number in column "a", found an empty cell (--nulls drop leaves such rows out)',
        )
        self.refused("build", "t.csv", "-o", "index", "--attributes", "b", code=3, says='column "b", found "x"\n')
        names = ",".join(f"a{i}" for i in range(1025))
        self.write("t.csv", f"{names}\n{names.replace('a', '')}\n")
        self.refused("build", "t.csv", "-o", "index", code=3, says="(--attributes names the columns to rank, --columns")

    def test_names_the_line_of_a_value_beyond_the_type(self):
        self.write("t.csv", 'a,name\n1,"two\nlines"\n1e300,x\n')
        self.refused(
            "build",
            "t.csv",
            "-o",
            "index",
            "--label",
            "name",
            "--type",
            "f32",
            code=3,
            says='culmen: t.csv:4: column "a": 1e+300 is beyond the range of float32\n',
        )

    def test_reads_standard_input(self):
        self.culmen("build", "-", "-o", "index", "--id", "id", "--label", "name", stdin=HOTELS)
        self.assertEqual(self.ids("-w", "rating=1", "-k", 1), [9])

    def test_every_partitioning_gives_the_same_answers(self):
        rows = [[random.Random(i).randrange(-50, 50) / 4, i % 7, -i] for i in range(300)]
        expected = [id for id, _ in best(rows, [1, 2, 0.5], 20)]
        for options in [
            [],
            ["--partition", "random", "--partitions", 3],
            ["--splits", 2, "--leaf-rows", 16],
            ["--partitions", 5, "--threads", 1],
            ["--partition", "kd-sum", "--partitions", 5],
            ["--partition", "angle-flat-sum", "--partitions", 20, "--leaf-rows", 16],
            ["--cluster", "b", "--partitions", 9, "--leaf-rows", 16],
            ["--type", "f32"],
        ]:
            with self.subTest(options):
                self.build_numbers(rows, ("a", "b", "c"), *options)
                self.assertEqual(self.ids("-w", "1,2,0.5", "-k", 20), expected)

    def test_a_gpu_that_is_not_there_is_an_error(self):
        self.write("t.csv", "a\n1\n")
        self.culmen("build", "t.csv", "-o", "index", "--device", "cpu")
        self.refused("build", "t.csv", "-o", "other", "--device", "cuda:9999", code=1, says="9999")

    def test_drops_rows_with_nulls_only_when_asked(self):
        self.write("t.csv", "a,b\n1,2\n,3\n4,nan\n5,6\n")
        err = self.culmen("build", "t.csv", "-o", "index", "--nulls", "reject", code=3)[1]
        self.assertRegex(err, r"\Aculmen: t.csv:3:1: .*\n  t.csv:4:2: .* \(--nulls drop leaves such rows out\)\n\Z")
        _, err = self.culmen("build", "t.csv", "-o", "index", "--nulls", "drop")
        self.assertIn("2 rows dropped", err)
        self.assertIn("2 rows, 2 attributes", err)
        self.assertEqual(self.ids("-w", "a=1"), [3, 0])

    def test_refuses_bad_tables_and_leaves_nothing_behind(self):
        cases = {
            "ragged": ("a,b\n1,2\n3\n", "3"),
            "text": ("a,b\n1,2\n3,four\n", "four"),
            "infinity": ("a,b\n1,2\n3,inf\n", "t.csv:3:2"),
            "no row left": ("a,b\n1,\n,2\n", "no row is left: all 2"),
            "refused": ("a,b\n1,2\n3,\n", "b"),
            "empty": ("", "t.csv"),
            "id twice": ("id,a\n1,2\n1,3\n", ""),
        }
        for name, (text, says) in cases.items():
            with self.subTest(name):
                self.write("t.csv", text)
                options = {
                    "id twice": ["--id", "id"],
                    "text": ["--attributes", "a,b"],
                    "no row left": ["--nulls", "drop", "--attributes", "a,b"],
                    "refused": ["--missing", "refuse"],
                }.get(name, [])
                self.refused("build", "t.csv", "-o", "index", *options, code=3, says=says)
                self.assertEqual(self.listing(), ["t.csv"])

    def test_refuses_wrong_options_and_leaves_nothing_behind(self):
        self.write("t.csv", "a,b\n1,2\n")
        cases = [
            (["--attributes", "a,x"], "x"),
            (["--id", "x"], "x"),
            (["--label", "x"], "x"),
            (["--leaf-rows", "17"], "16"),
            (["--type", "f16"], "f16"),
            (["--splits", "2", "--partitions", "3"], "--"),
            (["--partition", "radius"], "radius"),
            (["--threads", "-1"], "--threads"),
            (["--nulls", "skip"], "skip"),
            (["--columns", "a,bb"], '"bb" (did you mean "b"?)'),
            (["--stored", "c"], '"c"'),
            (["--attributes", "a", "--stored", "a"], "cannot be stored"),
            (["--missing", "best"], "median"),
            (["--missing", "c=1"], "'c'"),
            (["--partition", "random", "--splits", "2"], "split"),
            (["--cluster", "c"], '"c"'),
            (["--cluster", "a", "--partition", "angle"], "k-d"),
            (["--device", "auto"], "cuda:N"),
            (["--device", "cuda:"], "cuda:N"),
            (["--device", "cuda:0,"], "for several GPUs"),
        ]
        for options, says in cases:
            with self.subTest(options):
                self.refused("build", "t.csv", "-o", "index", *options, code=2, says=says)
                self.assertEqual(self.listing(), ["t.csv"])

    def test_replaces_an_index_only_by_force(self):
        self.build_hotels()
        self.write("other.csv", "x\n1\n2\n")
        before = self.snapshot("index")
        self.refused("build", "other.csv", "-o", "index", code=2, says="--force")
        self.assertEqual(self.snapshot("index"), before)
        self.culmen("build", "other.csv", "-o", "index", "--force")
        self.assertEqual(self.ids("-w", "x=1"), [1, 0])

    def test_refuses_before_it_reads_the_input(self):
        self.build_hotels()
        self.refused("build", "no-such-file.csv", "-o", "index", code=2, says="--force")

    def test_a_refused_table_leaves_the_old_index_untouched(self):
        self.build_hotels()
        before = self.snapshot("index")
        self.write("bad.csv", "a\n1\nx\n")
        self.refused("build", "bad.csv", "-o", "index", "--force", code=3, says="bad.csv")
        self.assertEqual(self.snapshot("index"), before)

    def test_a_full_disk_leaves_nothing_behind_and_the_old_index_untouched(self):
        self.write("t.csv", "a\n" + "\n".join(map(str, range(5000))) + "\n")
        self.refused("build", "t.csv", "-o", "new", code=1, says="new", **with_small_files(4096))
        self.assertEqual(self.listing(), ["t.csv"])
        self.build_hotels()
        before = self.snapshot("index")
        self.refused("build", "t.csv", "-o", "index", "--force", code=1, says="index", **with_small_files(4096))
        self.assertEqual(self.snapshot("index"), before)

    def test_force_spares_directories_and_files_that_are_no_index(self):
        (self.dir / "home").mkdir()
        self.write("home/thesis.txt", "dear")
        self.write("t.csv", "a\n1\n")
        self.refused("build", "t.csv", "-o", "home", "--force", code=2, says="no index")
        self.refused("build", "t.csv", "-o", "t.csv", "--force", code=2, says="not a directory")
        self.assertEqual(self.snapshot("home"), {"thesis.txt": b"dear"})

    def test_an_empty_directory_may_become_an_index(self):
        (self.dir / "index").mkdir()
        self.build_hotels()

    def test_ctrl_c_ends_it_with_130_and_nothing_behind(self):
        with subprocess.Popen(
            [PROGRAM, "build", "-", "-o", "index"],
            cwd=self.dir,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            process.stdin.write(b"a,b\n1,2\n")
            process.stdin.flush()
            wait_until_sigint_is_caught(process.pid)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(b"3,4\n", timeout=60)
        self.assertEqual((process.returncode, out, err), (130, b"", b"culmen: interrupted\n"))
        self.assertEqual(self.listing(), [])


class QueryTest(Case):
    def test_all_engines_print_the_same_bytes(self):
        source = random.Random(4)
        rows = [[source.randrange(-20, 20) / 4 for _ in range(4)] for _ in range(500)]
        self.build_numbers(rows, ("a", "b", "c", "d"))
        for weights in [[1, 1, 1, 1], [3, 0, 0, 0.5], [-1, 2, -0.25, 0], [0, 0, 0, -4]]:
            text = ",".join(map(str, weights))
            expected = [(str(id), bits(score)) for id, score in best(rows, weights, 25)]
            for engine in ENGINES:
                with self.subTest(engine=engine, weights=text):
                    found = self.rows("-w", text, "-k", 25, "--engine", engine)
                    self.assertEqual([(row["id"], bits(row["score"])) for row in found], expected)

    def test_ten_rows_unless_told_otherwise(self):
        self.build_numbers([[i, 0, 0] for i in range(30)])
        self.assertEqual(len(self.ids("-w", "a=1")), 10)
        self.assertEqual(len(self.ids("-w", "a=1", "-k", 12)), 12)
        self.assertEqual(self.ids("-w", "a=1", "-k", 1000), list(range(29, -1, -1)))

    def test_min_score_alone_gives_every_row_at_or_above(self):
        self.build_numbers([[i, 0, 0] for i in range(30)])
        self.assertEqual(self.ids("-w", "a=1", "--min-score", 15), list(range(29, 14, -1)))
        self.assertEqual(self.ids("-w", "a=1", "--min-score", 15, "-k", 2), [29, 28])
        self.assertEqual(self.ids("-w", "a=-1", "--min-score", "-2"), [0, 1, 2])
        self.assertEqual(self.ids("-w", "a=1", "--min-score", 100), [])

    def test_where_keeps_rows_in_range(self):
        self.build_numbers([[i, i % 5, 0] for i in range(30)])
        self.assertEqual(self.ids("-w", "a=1", "--where", "a<20 and b>=4"), [19, 14, 9, 4])
        self.assertEqual(self.ids("-w", "a=1", "--where", "a > 27"), [29, 28])
        self.assertEqual(self.ids("-w", "a=1", "--where", "a = 3"), [3])
        self.assertEqual(self.ids("-w", "a=1", "--where", "not (a > 3 or a in (1, 2)) and id != 0"), [3])
        self.assertEqual(self.ids("-w", "a=1", "--where", "id = 4 or a = 3"), [4, 3])
        self.assertEqual(self.ids("-w", "a=1", "--where", "a between 5 and 7 AND 6 <= a"), [7, 6])
        self.assertEqual(self.ids("-w", "a=1", "--where", "a is null"), [])

    def test_minmax_scales_by_the_index_itself(self):
        self.build_numbers([[0, 0, 0], [1000, 0, 0], [0, 1, 0]])
        self.assertEqual(self.ids("-w", "a=1,b=2", "-k", 1), [1])
        found = self.rows("-w", "a=1,b=2", "-k", 1, "--scale", "minmax")
        self.assertEqual((found[0]["id"], float(found[0]["score"])), ("2", 2.0))

    def test_zscore_scales_by_the_deviations(self):
        self.build_numbers([[0, 0, 0], [1000, 0, 0], [0, 1, 0], [1000, 1, 0]])
        found = self.rows("-w", "a=1,b=2", "-k", 2, "--scale", "zscore")
        self.assertEqual([(row["id"], float(row["score"])) for row in found], [("3", 3.0), ("2", 1.0)])
        out, _ = self.culmen("query", "index", "-w", "a=1,b=2", "--scale", "zscore", "--why", "2", "--format", "json")
        self.assertEqual([part["value"] for part in json.loads(out)["rows"][0]["parts"]], [1, -1])

    def test_rank_scales_by_the_share_of_lower_values(self):
        self.build_numbers([[0, 0, 0], [10, 0, 0], [1e9, 1, 0]])
        found = self.rows("-w", "a=1,b=-1", "-k", 3, "--scale", "rank")
        self.assertEqual([(row["id"], float(row["score"])) for row in found], [("1", 0.5), ("0", 0.0), ("2", 0.0)])
        out, _ = self.culmen("query", "index", "-w", "a=1,b=-1", "--scale", "rank", "--why", "2", "--format", "json")
        self.assertEqual([part["value"] for part in json.loads(out)["rows"][0]["parts"]], [1, 1])

    def test_ties_go_to_the_smaller_id(self):
        self.write("t.csv", "id,a\n5,1\n2,1\n9,1\n3,0\n")
        self.culmen("build", "t.csv", "-o", "index", "--id", "id")
        for engine in ENGINES:
            self.assertEqual(self.ids("-w", "a=1", "-k", 2, "--engine", engine), [2, 5])

    def test_device_cpu_is_the_cpu_and_a_gpu_that_is_not_there_is_an_error(self):
        self.build_numbers([[2, 3, 0], [4, 1, 0]])
        out, _ = self.culmen("query", "index", "-w", "1,1,1", "--device", "cpu", "--format", "json")
        self.assertEqual(json.loads(out)["queries"][0]["stats"]["device"], "cpu")
        self.refused("query", "index", "-w", "1,1,1", "--device", "cuda:9999", code=1, says="9999")
        self.refused("query", "index", "-w", "1,1,1", "--device", "cuda:9999,9999", code=1, says="9999")
        for question in (("--rank-of", "1"), ("--count-above", "1"), ("--why", "1")):
            self.refused("query", "index", "-w", "1,1,1", *question, "--device", "cuda:9999", code=1, says="9999")
        self.write("t.csv", "a,b\n1,2\n")
        for device in ("cuda:9999", "cuda:9999,9999"):
            self.refused("build", "t.csv", "-o", "other", "--device", device, code=1, says="there is no GPU 9999")
        self.refused("build", "t.csv", "-o", "other", "--device", "cuda:0,x", code=2, says="for several GPUs")

    def test_an_empty_index_answers_with_no_rows(self):
        self.write("t.csv", "a,b\n")
        self.culmen("build", "t.csv", "-o", "index")
        for engine in ENGINES:
            out, _ = self.culmen("query", "index", "-w", "1,1", "--engine", engine)
            self.assertEqual(out, "rank,id,score,a,b\n")
        out, _ = self.culmen("query", "index", "-w", "1,1", "--format", "json")
        self.assertEqual(json.loads(out)["queries"][0]["results"], [])

    def test_one_row_is_enough(self):
        self.build_numbers([[2, 3, 4]])
        for engine in ENGINES:
            found = self.rows("-w", "1,-1,0.5", "--engine", engine)
            self.assertEqual([(row["id"], float(row["score"])) for row in found], [("0", 1.0)])

    def test_explain_prints_the_plan_instead(self):
        self.build_hotels()
        out, err = self.culmen("query", "index", "-w", "rating=1", "--explain", "--engine", "scan")
        self.assertIn("scan", out)
        self.assertNotIn("rank,id", out)
        self.assertRegex(out, r"predicted   scan    about [0-9.]+ us")
        self.assertEqual(err, "")

    def test_explain_is_json_if_asked(self):
        self.build_hotels()
        self.write("w.csv", "price,rating\n-1,1\n0,1\n")
        ask = ["query", "index", "--explain", "-w", "rating=1"]
        plan = json.loads(self.culmen(*ask, "--format", "json")[0])["queries"]
        self.assertEqual([query["weights"] for query in plan], [{"rating": 1.0}])
        self.assertIn(plan[0]["plan"]["engine"], ENGINES)
        self.assertEqual({p["engine"] for p in plan[0]["plan"]["predictions"]}, {"bounded", "scan"})
        self.assertIn("engine ", plan[0]["plan"]["text"])
        self.culmen(*ask, "-o", "plan.json")
        self.assertEqual(json.loads((self.dir / "plan.json").read_text())["queries"][0]["weights"], {"rating": 1.0})
        batch = ["query", "index", "--explain", "--weights-file", "w.csv", "--device", "cpu", "--format"]
        self.assertEqual(json.loads(self.culmen(*batch, "json")[0])["placement"]["device"], "cpu")
        lines = [json.loads(line) for line in self.culmen(*batch, "jsonl")[0].splitlines()]
        self.assertEqual([list(line) for line in lines], [["weights", "plan"], ["weights", "plan"], ["placement"]])
        self.refused(*ask, "--format", "csv", code=2, says="--explain prints text, or JSON")

    def test_explain_says_where_a_file_of_queries_belongs(self):
        self.build_hotels()
        self.write("w.csv", "price,rating\n-1,1\n0,1\n")
        without_gpus = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
        out, err = self.culmen("query", "index", "--weights-file", "w.csv", "--explain", env=without_gpus)
        self.assertEqual(out.count("GPU         none is there\n"), 2)
        self.assertTrue(out.endswith("all 2 queries: on the CPU, there is no GPU\n"), out)
        self.assertEqual(err, "")

    def test_get_prints_rows_by_their_ids(self):
        self.write("t.csv", 'id,a,name,score\n5,0.1,"x, y",1\n-7,2,z,1e300\n')
        self.culmen("build", "t.csv", "-o", "index", "--id", "id", "--label", "name")
        out, err = self.culmen("get", "index", "--ids", "-7,6,5,-7")
        self.assertEqual(out, 'id,name,a,score\n-7,z,2,1e+300\n5,"x, y",0.1,1\n-7,z,2,1e+300\n')
        self.assertEqual(err, "1 of 4 ids not in index: 6\n")
        self.assertEqual(self.culmen("get", "index", "--", "5", "-7"), self.culmen("get", "index", "--ids", "5,-7"))
        _, err = self.culmen("get", "index", *map(str, range(5, 1020)))
        self.assertEqual(err, "1,014 of 1,015 ids not in index: 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 and 1,004 more\n")
        self.assertEqual(self.culmen("get", "index", "6", "--quiet")[1], "")
        self.write("ids.txt", "5\n")
        self.culmen("get", "index", "--ids-file", "ids.txt", "-o", "out.csv")
        self.assertEqual((self.dir / "out.csv").read_text(), 'id,name,a,score\n5,"x, y",0.1,1\n')
        self.refused("get", "index", code=2, says="--ids")
        self.refused("get", "index", "--ids", "x", code=2, says="x")
        self.refused("get", "index", "5", "y", code=2, says='ID: expected a 64-bit integer, found "y"')
        self.refused("get", "index", "5", "--ids", "5", code=2, says="--ids")
        self.refused("get", "index", "--ids", "5", "-o", "rows.json", code=2, says=".csv")

    def test_export_writes_all_rows(self):
        self.write("t.csv", 'id,a,name,score\n5,0.1,"x, y",1\n-7,,z,1e300\n9,3,,\n')
        self.culmen("build", "t.csv", "-o", "index", "--id", "id", "--label", "name")
        self.write("new.csv", "id,a,name,score\n11,4,new,2\n")
        self.culmen("insert", "index", "new.csv")

        def rows(*arguments):
            out, err = self.culmen("export", "index", *arguments)
            self.assertEqual(err, "")
            lines = out.splitlines()
            return [lines[0], *sorted(lines[1:])]

        self.assertEqual(rows(), ["id,name,a,score", "-7,z,,1e+300", "11,new,4,2", '5,"x, y",0.1,1', "9,,3,"])
        self.assertEqual(rows("--where", "a>=3", "--show", "score"), ["id,name,score", "11,new,2", "9,,"])
        self.assertEqual(rows("--where", "a>=3", "--show", "name,score,id"), ["id,name,score", "11,new,2", "9,,"])
        self.refused("export", "index", "--show", "label,names", code=2, says="'names'")
        self.assertEqual(rows("--where", "a>1000"), ["id,name,a,score"])
        out, err = self.culmen("export", "index", "out.csv")
        self.assertEqual((out, err), ("", "4 rows of index written to out.csv\n"))
        self.culmen("build", "out.csv", "-o", "again", "--id", "id", "--label", "name")
        again, _ = self.culmen("export", "again")
        self.assertEqual(sorted(again.splitlines()), sorted((self.dir / "out.csv").read_text().splitlines()))
        self.refused("export", "index", "rows.json", code=2, says=".json")
        self.refused("export", "index", "rows.csv", "--where", "b=1", code=2, says="b")
        self.refused("export", "nothing", code=1, says="nothing")

    def test_json_lines_are_read_back(self):
        rows = [
            (5, 'x, "y"\nz\t\x01', 1, 0.1, "true", "+12345-01-01", "2025-06-01 12:30:00.250Z", 9007199254740993),
            (-7, "007", 3, 2.0, "false", "2025-06-01", "", -1),
            (9, "", 2, "", "", "", "-0044-03-15 00:00:00Z", ""),
        ]
        text = io.StringIO()
        writer = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
        writer.writerow(["id", "name", "n", "f", "flag", "day", "at", "wide"])
        for row in rows:
            writer.writerow(row)
        self.write("t.csv", text.getvalue().replace('"",', ",").replace("9,,", '9,"",').replace(',""\n', ",\n"))
        options = ["--id", "id", "--attributes", "n,f"]
        for kept in ([*options, "--types", "name=text"], [*options, "--label", "name"], ["--id", "name", *options[2:]]):
            with self.subTest(kept=kept):
                id_type = ["--id-type", "text"] if kept[:2] == ["--id", "name"] else []
                self.culmen("build", "t.csv", "-o", "index", *kept, *id_type, "--force")
                self.culmen("export", "index", "out.jsonl")
                lines = [json.loads(line) for line in (self.dir / "out.jsonl").read_text().splitlines()]
                found = {row["wide"]: row for row in lines}[9007199254740993]
                self.assertEqual(found["name"], 'x, "y"\nz\t\x01')
                self.assertEqual([found["f"], found["flag"], found["day"]], [0.1, True, "+12345-01-01"])
                self.assertEqual(found["at"], "2025-06-01T12:30:00.250Z")
                self.assertIsNone({row["n"]: row for row in lines}[2]["day"])
                self.culmen(
                    "build", "out.jsonl", "-o", "again", *options[2:], *kept[:2], *kept[4:], *id_type, "--force"
                )
                exported = [self.culmen("export", d)[0] for d in ("index", "again")]
                self.assertEqual(*(sorted(csv.reader(io.StringIO(e))) for e in exported))
                infos = [json.loads(self.culmen("info", d, "--json")[0]) for d in ("index", "again")]
                for info in infos:
                    del info["uuid"]
                self.assertEqual(*infos)
                self.assertEqual(
                    self.culmen("export", "index", "--format", "jsonl", "--where", "n=3", "--show", "f")[0],
                    {"text": '{"name":"007","f":2.0}', "--label": '{"id":-7,"name":"007","f":2.0}'}.get(
                        "text" if id_type else kept[4], '{"id":-7,"f":2.0}'
                    )
                    + "\n",
                )
        self.refused("export", "index", "rows.json", code=2, says=".jsonl")

    def test_what_has_blanks_around_it_is_read_back(self):
        self.write("t.csv", 'id," a ",t\n5,1,x\n6,2," y"\n')
        self.culmen("build", "t.csv", "-o", "index", "--id", "id")
        self.culmen("export", "index", "out.csv")
        header, *rows = (self.dir / "out.csv").read_text().splitlines()
        self.assertEqual((header, sorted(rows)), ('id," a ",t', ["5,1,x", '6,2," y"']))
        self.culmen("upsert", "index", "out.csv")

    def test_export_writes_arrays(self):
        self.write("t.csv", "id,a,it's\n5,0.1,1\n-7,,2\n9,3,4\n")
        self.culmen("build", "t.csv", "-o", "index", "--id", "id")

        def records(*arguments):
            self.culmen("export", "index", "out.npy", *arguments)
            descr, shape, data = read_npy((self.dir / "out.npy").read_bytes())
            layout = struct.Struct("<" + "".join({"<i8": "q", "<f8": "d"}[kind] for _, kind in descr))
            found = list(layout.iter_unpack(data))
            self.assertEqual(shape, (len(found),))
            return [name for name, _ in descr], sorted(found)

        names, found = records()
        self.assertEqual(names, ["id", "a", "it's"])
        self.assertTrue(math.isnan(found[0][1]))
        self.assertEqual([found[0][0], found[0][2]], [-7, 2])
        self.assertEqual(found[1:], [(5, 0.1, 1), (9, 3, 4)])
        self.assertEqual(records("--where", "a > 1", "--show", "a"), (["id", "a"], [(9, 3)]))
        self.write("texts.csv", "id,a,city\n5,1,Brno\n")
        self.culmen("build", "texts.csv", "-o", "index", "--id", "id", "--force")
        self.assertEqual(records(), (["id", "a"], [(5, 1)]))
        self.refused("export", "index", "out.npy", "--show", "a,city", code=2, says="city")

    def test_sets_of_ids_choose_rows_or_leave_them_out(self):
        self.write("t.csv", "id,a\n5,1\n-7,2\n9,3\n4294967301,4\n")
        self.culmen("build", "t.csv", "-o", "index", "--id", "id")
        self.write("ids.txt", "5\n\n9\n-7\n1000\n")
        self.write("seen.txt", "9\n")
        # 5 and 2^32 + 5, as pyroaring.BitMap64.serialize() writes them.
        head, one = "0200000000000000", "3a300000010000000000000010000000" + "0500"
        bitmap = bytes.fromhex(head + "00000000" + one + "01000000" + one)
        (self.dir / "two.roaring").write_bytes(bitmap)
        query = ["-w", "a=1"]

        def ids(*options, **how):
            out, _ = self.culmen("query", "index", "-w", "a=1", "--show", "a", *options, **how)
            return [int(line.split(",")[1]) for line in out.splitlines()[1:]]

        self.assertEqual(ids("--ids-file", "ids.txt"), [9, -7, 5])
        self.assertEqual(ids("--not-ids-file", "ids.txt"), [4294967301])
        self.assertEqual(ids("--ids-file", "ids.txt", "--not-ids-file", "seen.txt"), [-7, 5])
        self.assertEqual(ids("--ids-file", "ids.txt", "--where", "a < 3 and id > 0"), [5])
        self.assertEqual(ids("--ids-file", "two.roaring"), [4294967301, 5])
        self.assertEqual(ids("--not-ids-file", "two.roaring"), [9, -7])
        self.assertEqual(ids("--ids-file", "-", stdin="9\n"), [9])
        self.assertEqual(ids("--ids-file", "-", stdin=""), [])
        self.assertEqual(ids("--not-ids-file", "-", stdin=""), [4294967301, 9, -7, 5])
        self.write("w.csv", "a\n1\n-1\n")
        out, _ = self.culmen("query", "index", "--weights-file", "w.csv", "-k", 1, "--not-ids-file", "seen.txt")
        self.assertEqual([line.split(",")[2] for line in out.splitlines()[1:]], ["4294967301", "5"])
        out, _ = self.culmen("get", "index", "--ids-file", "two.roaring")
        self.assertEqual(out, "id,a\n5,1\n4294967301,4\n")
        (self.dir / "torn.roaring").write_bytes(bitmap[:-1])
        self.refused(
            "query", "index", *query, "--ids-file", "torn.roaring", code=3, says="torn.roaring: this is no Roaring"
        )
        self.refused("get", "index", "--ids-file", "torn.roaring", code=3, says="torn.roaring")
        self.refused("query", "index", *query, "--ids-file", "none.roaring", code=1, says="none.roaring")
        self.refused("query", "index", *query, "--ids-file", "t.csv", code=3, says="t.csv:1")
        both = ["--ids-file", "-", "--not-ids-file", "-"]
        self.refused("query", "index", *query, *both, code=2, says="standard input")

    def test_profile_tells_stderr_what_was_read(self):
        self.build_hotels()
        out, err = self.culmen("query", "index", "-w", "rating=1", "--engine", "scan", "--profile")
        self.assertTrue(out.startswith("rank,id,score"))
        self.assertIn("4 of 4 rows scored (100 %)", err)
        self.assertIn("engine scan", err)
        self.assertIn("leaves visited", err)
        self.assertRegex(err, r"predicted  .*, measured .* x\)")
        self.assertNotIn("read from files", err)
        _, err = self.culmen("query", "index", "-w", "rating=1", "--max-memory", "1", "--profile")
        self.assertRegex(err, r"read from files  [1-9]\d* leaves and nodes")
        self.assertNotIn("predicted", err)

    def test_answers_are_all_that_stdout_and_nothing_that_stderr_gets(self):
        self.build_hotels()
        self.assertEqual(self.culmen("query", "index", "-w", "rating=1")[1], "")

    def test_refuses_what_cannot_be_asked(self):
        self.build_hotels()
        ask = ["query", "index", "-w", "rating=1"]
        cases = [
            (["query", "index"], "-w"),
            ([*ask, "-k", "0"], "at least 1"),
            ([*ask, "-k", "-3"], "-k"),
            ([*ask, "-k", "many"], "-k"),
            ([*ask, "--where", "stars>=4"], "price"),
            ([*ask, "--where", "price<"], "price<"),
            ([*ask, "--where", "price<9 or rating"], "position 18: expected a comparison"),
            ([*ask, "--where", "prise<9"], 'did you mean "price"'),
            ([*ask, "--where", "label='x'"], "label"),
            ([*ask, "--min-score", "high"], "--min-score"),
            ([*ask, "--min-score", "nan"], "--min-score"),
            ([*ask, "--scale", "log"], "log"),
            ([*ask, "--engine", "warp"], "bounded"),
            ([*ask, "--device", "gpu"], "cuda:N"),
            ([*ask, "--device", "cuda:x"], "cuda:N"),
            ([*ask, "--device", "cuda:0,"], "cuda:N,M"),
            ([*ask, "--device", "cuda:0,-1"], "cuda:N,M"),
            ([*ask, "--memory", "disk"], "managed"),
            ([*ask, "--layout", "stripes"], "replicate"),
            ([*ask, "--format", "xml"], "xml"),
            ([*ask, "--weights-file", "w.csv"], "--weights"),
            ([*ask, "--threads", "-2"], "--threads"),
            ([*ask, "surplus"], "surplus"),
        ]
        for arguments, says in cases:
            with self.subTest(arguments):
                self.refused(*arguments, code=2, says=says)

    def test_a_closed_pipe_is_no_error(self):
        self.build_numbers([[i, 0, 0] for i in range(20000)])
        read_end, write_end = os.pipe()
        os.close(read_end)
        with os.fdopen(write_end, "wb") as stdout:
            done = subprocess.run(
                [PROGRAM, "query", "index", "-w", "a=1", "-k", "20000"],
                cwd=self.dir,
                stdout=stdout,
                stderr=subprocess.PIPE,
                timeout=60,
                check=False,
            )
        self.assertEqual((done.returncode, done.stderr), (0, b""))


class ColumnsTest(Case):
    """Tables with text, dates and gaps."""

    CARS = (
        "key,model,brand,price,km,registered,seen,automatic,hash,note\n"
        '11,Astra,Opel,8900,98000,2016-03-01,2025-06-01 12:30:00.250,false,9007199254740993,"a, b"\n'
        '12,Civic,Honda,15400.5,,2019-07-15,2025-06-01 08:00:00,TRUE,-1,""\n'
        "13,Corsa,Opel,NA,61000,,,,,\n"
        "14,Golf,VW,11990,84500,2018-01-20,,false,5,x\n"
    )
    AS_CSV = (
        "key,model,price,km,brand,registered,seen,automatic,hash,note\n"
        '11,Astra,8900,98000,Opel,2016-03-01,2025-06-01 12:30:00.250,false,9007199254740993,"a, b"\n'
        '12,Civic,15400.5,,Honda,2019-07-15,2025-06-01 08:00:00,true,-1,""\n'
        "13,Corsa,,61000,Opel,,,,,\n"
        "14,Golf,11990,84500,VW,2018-01-20,,false,5,x\n"
    )

    def build(self, *options, text=CARS):
        self.write("cars.csv", text)
        ask = ["build", "cars.csv", "-o", "index", "--force", "--id", "key", "--label", "model"]
        return self.culmen(*ask, "--attributes", "price:low,km:low", *options)[1]

    def test_come_out_as_they_went_in(self):
        self.build()
        self.assertEqual(self.culmen("get", "index", "--ids", "11,12,13,14")[0], self.AS_CSV)
        out, _ = self.culmen("query", "index", "-w", "price=-1", "-k", 1, "--format", "json")
        row = json.loads(out)["queries"][0]["results"][0]
        self.assertEqual(row["attributes"], {"price": 8900, "km": 98000})
        fields = {
            "brand": "Opel",
            "registered": "2016-03-01",
            "seen": "2025-06-01T12:30:00.250",
            "automatic": False,
            "hash": 9007199254740993,
            "note": "a, b",
        }
        self.assertEqual(row["fields"], fields)
        out, _ = self.culmen("query", "index", "-w", "km=-1", "--show", "price,note", "--format", "json")
        last = json.loads(out)["queries"][0]["results"][0]
        self.assertEqual((last["attributes"], last["fields"]), ({"price": None}, {"note": None}))

    def test_of_an_index_need_no_options_in_changes(self):
        self.build()
        self.culmen("get", "index", "--ids", "12,13", "-o", "two.csv")
        self.assertIn("0 rows inserted, 2 replaced", self.culmen("upsert", "index", "two.csv")[1])
        self.assertEqual(self.culmen("get", "index", "--ids", "11,12,13,14")[0], self.AS_CSV)
        self.write("new.csv", "price,key,km,brand,model,registered\n,15,1,Škoda,Fabia,2020-02-29\n")
        self.culmen("insert", "index", "new.csv")
        line = self.culmen("get", "index", "--ids", "15")[0].splitlines()[1]
        self.assertEqual(line, "15,Fabia,,1,Škoda,2020-02-29,,,,")
        self.assertEqual(self.ids("-w", "km=-1", "--where", "brand = 'Škoda'"), [15])

    def test_that_do_not_fit_the_index_are_refused(self):
        self.build()
        for header, cell, says in [
            ("registered", "soon", 'new.csv:2:5: expected a date as in 2025-06-01 in column "registered"'),
            ("automatic", "2", "expected true or false"),
            ("hash", "1.5", "expected an integer"),
            ("seen", "2025-06-01 08:00:00Z", "without a zone"),
            ("color", "red", 'no column "color"'),
        ]:
            self.write("new.csv", f"key,model,price,km,{header}\n20,x,1,1,{cell}\n")
            self.refused("insert", "index", "new.csv", code=3, says=says)
        self.culmen("insert", "index", "new.csv", "--columns", "")
        self.write("new.csv", "model,price,km\nx,1,1\n")
        self.refused("upsert", "index", "new.csv", code=2, says="has no column key")

    def test_are_tested_by_filters(self):
        self.build()
        for where, ids in {
            "brand = 'Opel'": [11],
            "brand = 'Opel' or price is null": [11],
            "registered >= '2017-01-01'": [14, 12],
            "not automatic = true": [11, 14],
            "hash > 9007199254740992": [11],
            "seen < '2025-06-01 12:00:00'": [12],
            "note = ''": [12],
            "note is null": [],
            "brand like 'H%' and automatic = true": [12],
        }.items():
            with self.subTest(where):
                self.assertEqual(self.ids("-w", "price=-1", "--where", where), ids)

    def test_that_miss_values_are_left_out_or_filled(self):
        self.build()
        ask = ["-w", "price=-1,km=-0.1"]
        self.assertEqual(self.ids(*ask), [11, 14])
        self.assertEqual(self.ids(*ask, "--missing", "fill"), [11, 14, 13, 12])
        self.assertEqual(self.ids("-w", "km=-0.1"), [13, 14, 11])
        self.build("--missing", "price=median,km=0")
        self.assertEqual(self.ids(*ask, "--missing", "fill"), self.filled())
        info = json.loads(self.culmen("info", "index", "--json")[0])
        self.assertEqual(
            [(a["has_missing"], a["stand_in"], a["stand_in_value"]) for a in info["attributes"]],
            [(True, "median", 11990), (True, "number", 0)],
        )

    def filled(self):
        price, km = {11: 8900, 12: 15400.5, 13: 11990, 14: 11990}, {11: 98000, 12: 0, 13: 61000, 14: 84500}
        return sorted(price, key=lambda id: price[id] + 0.1 * km[id])

    def test_are_kept_as_asked(self):
        err = self.build("--columns", "brand,note", "--stored", "note")
        self.assertIn("filters may also test brand (text)\n", err)
        self.assertIn("only shown: note (text)\n", err)
        info = json.loads(self.culmen("info", "index", "--json")[0])
        self.assertEqual(
            [(f["name"], f["role"], f["type"]) for f in info["fields"]],
            [("brand", "filter", "text"), ("note", "stored", "text")],
        )
        self.refused("query", "index", "-w", "price=1", "--where", "note = 'x'", code=2, says="note")
        self.refused("query", "index", "-w", "price=1", "--show", "brnd", code=2, says='did you mean "brand"')

    def test_of_numbers_are_ranked_by_default(self):
        self.write("cars.csv", self.CARS)
        self.culmen("build", "cars.csv", "-o", "index", "--id", "key", "--label", "model")
        info = json.loads(self.culmen("info", "index", "--json")[0])
        self.assertEqual([a["name"] for a in info["attributes"]], ["price", "km"])
        names = ["brand", "registered", "seen", "automatic", "hash", "note"]
        self.assertEqual([f["name"] for f in info["fields"]], names)

    def test_may_turn_out_to_be_text_at_the_end_of_a_pipe(self):
        text = "a,b\n" + "".join(f"{i},{i}\n" for i in range(200_000)) + "7,x\n"
        self.culmen("build", "-", "-o", "index", stdin=text)
        info = json.loads(self.culmen("info", "index", "--json")[0])
        self.assertEqual([(f["name"], f["role"], f["type"]) for f in info["fields"]], [("b", "stored", "text")])
        self.assertIn("5,5,5\n", self.culmen("get", "index", "--ids", "5")[0])

    def test_with_leading_zeros_are_texts(self):
        self.write("t.csv", "n,zip\n1,10001\n2,00501\n")
        self.culmen("build", "t.csv", "-o", "index")
        self.assertEqual(self.culmen("get", "index", "--ids", "0,1")[0], "id,n,zip\n0,1,10001\n1,2,00501\n")
        self.assertEqual(self.ids("-w", "n=1", "--where", "zip = '00501'"), [1])

    def test_have_the_types_that_are_given(self):
        self.write("t.csv", "n,zip,day\n1,10001,2025-06-01\n2,,\n")
        ask = ["build", "t.csv", "-o", "index", "--force"]
        self.culmen(*ask, "--types", "zip=text, day=timestamp")
        info = json.loads(self.culmen("info", "index", "--json")[0])
        self.assertEqual([(f["name"], f["type"]) for f in info["fields"]], [("zip", "text"), ("day", "timestamp")])
        self.assertEqual([a["name"] for a in info["attributes"]], ["n"])
        for types, code, says in [
            ("zip=txt", 2, "--types: no type is called 'txt' (did you mean \"text\"?); known: number, integer"),
            ("zip", 2, "--types: expected COLUMN=TYPE as in zip=text, found 'zip'"),
            ("zpi=text", 2, 'no column "zpi" (did you mean "zip"?)'),
            ("zip=text,zip=date", 2, 'column "zip" is named twice in the list of types'),
            ("day=integer", 3, 't.csv:2:3: expected an integer in column "day", found "2025-06-01"'),
        ]:
            self.refused(*ask, "--types", types, code=code, says=says)

    def test_are_named_once(self):
        self.write("t.csv", "p,q,r\n1,2,x\n")
        ask = ["build", "t.csv", "-o", "index", "--force"]
        for options in [
            ["--attributes", "p,q,p"],
            ["--columns", "r,r"],
            ["--stored", "r,r"],
            ["--missing", "p=median,p=0"],
            ["--missing", "p=median,q=0,p=median"],
        ]:
            self.refused(*ask, *options, code=2, says="is named twice")
        self.refused(*ask, "--missing", "worst,median", code=2, says="'worst' and 'median' are both for all attributes")
        self.culmen(*ask, "--missing", "p=median,mean")
        info = json.loads(self.culmen("info", "index", "--json")[0])
        self.assertEqual([a["stand_in"] for a in info["attributes"]], ["median", "mean"])
        self.write("new.csv", "p,q,r\n1,2,x\n")
        self.refused("insert", "index", "new.csv", "--columns", "r,r", code=2, says="is named twice")
        self.refused("insert", "index", "new.csv", "--attributes", "p,p", code=2, says="is named twice")

    def test_of_times_are_not_compared_with_numbers(self):
        self.build()
        for where in ["registered > 20170101", "20170101 < registered", "seen in ('2025-06-01', 1748736000)"]:
            self.refused(
                "query",
                "index",
                "-w",
                "price=1",
                "--where",
                where,
                code=2,
                says="in single quotes, such as '2025-06-01",
            )
        self.refused("delete", "index", "--where", "registered > 0", code=2, says="in single quotes")
        self.assertEqual(self.ids("-w", "price=-1", "--where", "automatic = 0"), [11, 14])
        self.refused("query", "index", "-w", "price=1", "--where", "automatic = 2", code=2, says="true or false")

    def test_of_nanoseconds_are_not_ranked(self):
        self.write("t.csv", "n,at\n1,2025-06-01 12:00:00.000000001\n")
        self.refused(
            "build",
            "t.csv",
            "-o",
            "index",
            "--attributes",
            "at",
            code=3,
            says="do not rank the column: a filter column holds all timestamps",
        )
        self.culmen("build", "t.csv", "-o", "index", "--attributes", "n")

    def test_beyond_1024_are_listed(self):
        names = [f"c{i}" for i in range(1030)]
        self.write("t.csv", ",".join(names) + "\n" + ",".join("1" for _ in names) + "\n")
        self.refused("build", "t.csv", "-o", "index", code=3, says='"c8", "c9" and 1020 more (--attributes names')
        self.culmen("build", "t.csv", "-o", "index", "--attributes", ",".join(names[:1000]))


class WeightsTest(Case):
    def test_a_weight_below_every_float64_is_zero(self):
        self.build_hotels()
        self.assertEqual(self.ids("-w", "price=1e-400,rating=1"), self.ids("-w", "rating=1"))
        self.refused("query", "index", "-w", "price=1e400", code=2, says="beyond the range of float64")

    def test_an_equals_sign_after_the_short_option(self):
        self.build_hotels()
        self.refused("query", "index", "-w=price=-1", code=2, says="write -w price=-1 or --weights=price=-1")

    def test_names_positions_and_signs(self):
        self.build_hotels()
        by_name = self.ids("-w", "price=-0.25,rating=8")
        self.assertEqual(by_name, [7, 3, 4, 9])
        for weights in ["-0.25,8", "rating=8,price=-0.25", "rating=+8, price=-.25", "-25e-2,8", " -0.25 , 8.0 "]:
            with self.subTest(weights):
                self.assertEqual(self.ids("-w", weights), by_name)
        self.assertEqual(self.ids("--weights=-0.25,8"), by_name)
        self.assertEqual(self.ids("-w", "price=-1"), [4, 7, 3, 9])  # attributes not named have weight 0

    def test_odd_names_may_be_quoted(self):
        self.write("t.csv", '"a,b","c=d","say ""x""",plain\n1,0,0,0\n0,1,0,0\n0,0,1,0\n')
        self.culmen("build", "t.csv", "-o", "index")
        for weights, id in [('"a,b"=1', 0), ("c=d=1", 1), ('"c=d"=1', 1), ('"say ""x"""=1,plain=2', 2)]:
            with self.subTest(weights):
                self.assertEqual(self.ids("-w", weights, "-k", 1), [id])

    def test_refuses_what_is_no_weight_and_lists_the_names(self):
        self.build_hotels()
        cases = [
            ("1", "price, rating"),
            ("1,2,3", "price, rating"),
            ("stars=1", "price"),
            ("price=1,price=2", "rating"),
            ("price", "number"),
            ("price=", "number"),
            ("price=1,2", "name=value"),
            ("1,,2", "number"),
            ("1,2,", "number"),
            ("inf,1", "finite"),
            ("nan,1", "finite"),
            ("price=1e999", "range"),
            ("1x,2", "1x"),
            ("0,0", ""),
            ("0x1,2", "0x1"),
        ]
        for weights, says in cases:
            with self.subTest(weights):
                self.refused("query", "index", "-w", weights, code=2, says=says)

    def test_a_csv_file_asks_one_query_a_row(self):
        self.build_numbers([[1, 0, 0], [0, 1, 0], [0, 0, 1]])
        self.write("w.csv", "c,a\n1,2\n3,1\n")
        found = self.rows("--weights-file", "w.csv", "-k", 2)
        self.assertEqual(
            [(row["query"], row["rank"], row["id"], float(row["score"])) for row in found],
            [("1", "1", "0", 2), ("1", "2", "2", 1), ("2", "1", "2", 3), ("2", "2", "0", 1)],
        )
        stdin = (self.dir / "w.csv").read_text()
        self.assertEqual(self.rows("--weights-file", "-", "-k", 2, stdin=stdin), found)

    def test_rows_of_a_file_may_have_their_own_filter_k_and_minimum(self):
        self.build_numbers([[i, i % 3, 0] for i in range(20)])
        expected = [["19", "16"], ["18", "15", "12"], ["19", "18"], ["19"]]
        lines = [
            {"a": 1, "where": "b = 1", "k": 2},
            {"a": 1, "where": "b = 0 and a > 10", "min_score": 11},
            {"a": 1, "b": 0, "min_score": 18},
            {"a": 1, "k": 1, "min_score": 5},
        ]
        self.write("w.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
        self.write("w.csv", 'where,a,k,min_score\nb = 1,1,2,\n"b = 0 and a > 10",1,,11\n,1,,18\n"",1,1,5\n')
        for file in ("w.jsonl", "w.csv"):
            found = self.rows("--weights-file", file)
            self.assertEqual([[r["id"] for r in found if r["query"] == str(q)] for q in (1, 2, 3, 4)], expected)
            found = self.rows("--weights-file", file, "--where", "a < 19", "-k", 1)
            self.assertEqual([r["id"] for r in found], ["16", "13", "18", "18", "18"])
        piped = self.rows("--weights-file", "-", stdin=(self.dir / "w.jsonl").read_text())
        self.assertEqual(len(piped), 8)

    def test_an_attribute_called_as_a_setting_has_weights(self):
        self.build_numbers([[1, 5, 0], [2, 4, 0]], names=("k", "where", "c"))
        self.write("w.csv", "k,where\n0,1\n1,0\n")
        self.assertEqual([row["id"] for row in self.rows("--weights-file", "w.csv")], ["0", "1", "1", "0"])

    def test_settings_that_cannot_be(self):
        self.build_numbers([[1, 5, 0]])
        ask = ("query", "index", "--weights-file", "w.csv")
        for text, code, says in (
            ("a,k\n1,0\n", 2, "w.csv:2: k is 0"),
            ("a,k\n1,2.5\n", 3, 'w.csv:2:2: expected an integer in column "k"'),
            ("a,where\n1,a >\n", 2, "w.csv:2: "),
            ("a,where\n1,a > 1\n1,z > 1\n", 2, "w.csv:3: "),
            ("a,min_score\n1,x\n", 3, "w.csv:2:2: expected a number"),
            ("a,limit\n1,2\n", 2, "no attribute is called 'limit'; the attributes are a, b, c, and a row may have"),
        ):
            with self.subTest(text):
                self.write("w.csv", text)
                self.refused(*ask, code=code, says=says)
        self.write("w.jsonl", '{"a": 1}\n{"b": 1, "k": 1}\n')
        self.assertEqual(len(self.rows("--weights-file", "w.jsonl")), 2)

    def test_an_npy_file_asks_by_position(self):
        self.build_numbers([[1, 0, 0], [0, 1, 0], [0, 0, 1]])
        write_npy(self.dir / "w.npy", [[2, 0, 1], [-1, 0, 3]])
        found = self.rows("--weights-file", "w.npy", "-k", 1)
        self.assertEqual(
            [(row["query"], row["id"], float(row["score"])) for row in found], [("1", "0", 2), ("2", "2", 3)]
        )

    def test_a_batch_answers_as_its_queries_one_by_one(self):
        source = random.Random(9)
        self.build_numbers([[source.randrange(99) for _ in range(3)] for _ in range(400)])
        queries = [[source.randrange(-9, 9) for _ in range(2)] + [1] for _ in range(30)]
        self.write("w.csv", "\n".join(["a,b,c"] + [",".join(map(str, query)) for query in queries]) + "\n")
        for engine in ENGINES:
            batch = self.rows("--weights-file", "w.csv", "-k", 7, "--engine", engine)
            for number in (1, 17, 30):
                alone = self.rows("-w", ",".join(map(str, queries[number - 1])), "-k", 7)
                mine = [row for row in batch if row.pop("query", None) == str(number)]
                self.assertEqual(mine, alone)
                batch = self.rows("--weights-file", "w.csv", "-k", 7, "--engine", engine)

    def test_a_file_that_is_worth_a_gpu_is_answered_without_one(self):
        self.build_numbers([[1, 0, 0], [0, 1, 0], [0, 0, 1]])
        self.write("w.csv", "c,a\n" + "1,2\n" * 10_000)
        ask = ["query", "index", "--weights-file", "w.csv", "-k", 1, "--format", "csv"]
        without_gpus = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
        expected, err = self.culmen(*ask, "--device", "cpu")
        self.assertEqual(err, "")
        found, err = self.culmen(*ask, env=without_gpus)
        self.assertEqual(found, expected)
        self.assertRegex(err, r"\Aculmen: answering on the CPU: there is no GPU [^\n]+\n\Z")
        self.assertEqual(self.culmen(*ask, "--quiet", env=without_gpus), (expected, ""))

    def test_a_file_without_rows_has_no_answers(self):
        self.build_hotels()
        self.write("w.csv", "price,rating\n")
        out, err = self.culmen("query", "index", "--weights-file", "w.csv", "--format", "json", "--profile")
        self.assertEqual((json.loads(out), err), ({"queries": []}, ""))

    def test_refuses_files_that_do_not_fit(self):
        self.build_hotels()
        self.write("unknown.csv", "price,stars\n1,2\n")
        self.write("text.csv", "price\nx\n")
        self.write("zero.csv", "price,rating\n1,1\n0,0\n")
        write_npy(self.dir / "wide.npy", [[1, 2, 3]])
        ask = ["query", "index", "--weights-file"]
        self.refused(*ask, "unknown.csv", code=2, says="price, rating")
        self.refused(*ask, "text.csv", code=3, says='text.csv:2:1: expected a number in column "price", found "x"\n')
        self.write("gap.csv", 'price\n""\n')  # no option of query would help
        self.refused(
            *ask, "gap.csv", code=3, says='gap.csv:2:1: expected a number in column "price", found an empty cell\n'
        )
        self.refused(*ask, "zero.csv", code=2, says="query 2")
        self.refused(*ask, "wide.npy", code=2, says="price, rating")
        self.refused(*ask, "missing.csv", code=1, says="missing.csv")


class FormatsTest(Case):
    def setUp(self):
        super().setUp()
        self.build_hotels()

    def output(self, *arguments):
        return self.culmen("query", "index", "-w", "price=-0.1,rating=1.3", *arguments)[0]

    def test_csv_quotes_labels_that_need_it(self):
        out = self.output("--format", "csv", "-k", 4)
        self.assertTrue(out.startswith("rank,id,score,label,price,rating\n"))
        rows = list(csv.DictReader(io.StringIO(out)))
        self.assertEqual(
            {row["label"] for row in rows}, {"Inn, by the sea", 'The "Old" Mill', "Zürich Höhe", "Two\nlines"}
        )
        self.assertIn('"The ""Old"" Mill"', out)
        self.assertNotIn('"Zürich', out)

    def test_csv_is_the_default_of_a_pipe(self):
        self.assertEqual(self.output(), self.output("--format", "csv"))

    def test_json_has_the_promised_shape(self):
        answer = json.loads(self.output("--format", "json", "-k", 2))
        self.assertEqual(list(answer), ["queries"])
        (query,) = answer["queries"]
        self.assertEqual(list(query), ["weights", "results", "after", "stats"])
        self.assertEqual(query["weights"], {"price": -0.1, "rating": 1.3})
        self.assertEqual([hit["rank"] for hit in query["results"]], [1, 2])
        for hit in query["results"]:
            self.assertEqual(list(hit), ["rank", "id", "score", "label", "attributes"])
            self.assertEqual(list(hit["attributes"]), ["price", "rating"])
        self.assertEqual(
            list(query["stats"]),
            [
                "engine",
                "device",
                "rows_in_index",
                "rows_scored",
                "rows_by_codes",
                "share_scored",
                "leaves_visited",
                "nodes_visited",
                "bounds_computed",
                "bytes_touched",
                "ids_looked_up",
                "by_id_map",
                "elapsed_us",
            ],
        )
        self.assertEqual(query["stats"]["rows_in_index"], 4)

    def test_json_and_csv_hold_the_same_bits(self):
        source = random.Random(1)
        self.build_numbers(
            [[source.uniform(-1, 1) * 10 ** source.randrange(-9, 9) for _ in range(3)] for _ in range(200)]
        )
        ask = ["-w", "0.1,-0.7,1e-3", "-k", "200"]
        found = self.rows(*ask)
        (query,) = json.loads(self.culmen("query", "index", *ask, "--format", "json")[0])["queries"]
        self.assertEqual(len(found), 200)
        for row, hit in zip(found, query["results"]):
            self.assertEqual((row["rank"], row["id"]), (str(hit["rank"]), str(hit["id"])))
            self.assertEqual(bits(row["score"]), bits(hit["score"]))
            for name in "abc":
                self.assertEqual(bits(row[name]), bits(hit["attributes"][name]))

    def test_values_come_back_as_they_were_given(self):
        values = [0.1, 1e-300, -2.5e17, 1 / 3, 5e-324, 123456789.125]
        self.build_numbers([[value] for value in values], ("a",))
        found = {int(row["id"]): bits(row["a"]) for row in self.rows("-w", "a=1")}
        self.assertEqual(found, {id: bits(value) for id, value in enumerate(values)})

    def test_labels_are_left_out_where_there_are_none(self):
        self.build_numbers([[1, 2, 3]])
        self.assertEqual(list(self.rows("-w", "a=1")[0]), ["rank", "id", "score", "a", "b", "c"])
        answer = json.loads(self.culmen("query", "index", "-w", "a=1", "--format", "json")[0])
        self.assertNotIn("label", answer["queries"][0]["results"][0])

    def test_jsonl_has_one_query_a_line(self):
        self.write("w.csv", "price,rating\n-1,1\n1,0\n")
        ask = ["query", "index", "--weights-file", "w.csv"]
        lines = [json.loads(line) for line in self.culmen(*ask, "--format", "jsonl")[0].splitlines()]
        whole = json.loads(self.culmen(*ask, "--format", "json")[0])["queries"]
        self.assertEqual(len(lines), 2)
        self.assertEqual([line["results"] for line in lines], [query["results"] for query in whole])
        self.assertEqual(lines[1]["weights"], {"price": 1})

    def test_npy_holds_ids_and_scores_padded(self):
        self.write("w.csv", "price,rating\n-1,1\n1,0\n")
        ask = ["--weights-file", "w.csv", "--where", "price<150", "-k", 4]
        self.culmen("query", "index", *ask, "-o", "best.npy")
        descr, shape, data = read_npy((self.dir / "best.npy").read_bytes())
        self.assertEqual((descr, shape), ([("id", "<i8"), ("score", "<f8")], (2, 4)))
        slots = list(struct.iter_unpack("<qd", data))
        expected = [(int(row["id"]), float(row["score"])) for row in self.rows(*ask)]
        nobody = [(-1, float("-inf"))]
        self.assertEqual(slots, expected[:3] + nobody + expected[3:] + nobody)

    def test_npy_is_no_wider_than_the_index_has_rows(self):
        self.culmen("query", "index", "-w", "price=1", "-k", 20000000, "-o", "best.npy")
        _, shape, data = read_npy((self.dir / "best.npy").read_bytes())
        self.assertEqual((shape, len(data)), ((1, 4), 4 * 16))

    def test_npy_without_k_is_as_wide_as_the_longest_answer(self):
        out = subprocess.run(
            [PROGRAM, "query", "index", "-w", "price=1", "--min-score", "100", "--format", "npy"],
            cwd=self.dir,
            capture_output=True,
            check=True,
        ).stdout
        _, shape, data = read_npy(out)
        self.assertEqual((shape, [id for id, _ in struct.iter_unpack("<qd", data)]), ((1, 2), [9, 3]))

    def test_table_is_aligned_and_harmless(self):
        self.write("t.csv", 'id,name,a\n1,"\x1b[31mred",1.23456789\n22,Zürich,2\n333,' + "x" * 60 + ",3\n")
        self.culmen("build", "t.csv", "-o", "index", "--force", "--id", "id", "--label", "name")
        out, _ = self.culmen("query", "index", "-w", "a=1", "--format", "table")
        lines = out.splitlines()
        self.assertEqual(len({len(line) for line in lines}), 1, out)
        self.assertEqual(lines[0].split(), ["rank", "id", "score", "label", "a"])
        self.assertIn("1.23456789", lines[3])
        self.assertNotIn("\x1b", out)
        self.assertIn("x" * 39 + "…", lines[1])

    def test_table_of_a_batch_names_each_query(self):
        self.write("w.csv", "price,rating\n-1,1\n1,0\n")
        out, _ = self.culmen("query", "index", "--weights-file", "w.csv", "--format", "table")
        self.assertIn("query 1: price=-1, rating=1\n", out)
        self.assertIn("\nquery 2: price=1\n", out)

    def test_the_ending_of_the_file_chooses_the_format(self):
        self.output("-o", "best.json")
        json.loads((self.dir / "best.json").read_text())
        self.output("-o", "best.JSONL")
        self.assertEqual(len((self.dir / "best.JSONL").read_text().splitlines()), 1)
        self.output("-o", "best")
        self.assertTrue((self.dir / "best").read_text().startswith("rank,id"))
        self.output("-o", "best.csv", "--format", "jsonl")
        json.loads((self.dir / "best.csv").read_text())
        self.assertEqual(self.output("-o", "-"), self.output())

    def test_an_ending_of_no_format_is_an_error_unless_a_format_is_named(self):
        for name in ["best.parquet", "best.txt", "best.csv.gz", "best."]:
            with self.subTest(name):
                self.refused(
                    "query", "index", "-w", "rating=1", "-o", name, code=2, says=".csv, .json, .jsonl and .npy"
                )
                self.assertFalse((self.dir / name).exists())
        self.output("-o", "best.txt", "--format", "table")
        self.assertTrue((self.dir / "best.txt").read_text().startswith("rank  id"))
        self.output("-o", "plan.txt", "--explain")  # is of no format
        self.assertIn("engine", (self.dir / "plan.txt").read_text())

    def test_attributes_called_like_columns_of_the_answer_stay_apart(self):
        names = ["score", "id", "rank", "query", "label", "attribute.id", "a"]
        self.build_numbers([range(7), range(1, 8)], names)
        titles = [
            "attribute.score",
            "attribute.attribute.id",
            "attribute.rank",
            "attribute.query",
            "attribute.label",
            "attribute.id",
            "a",
        ]
        out, _ = self.culmen("query", "index", "-w", "score=1", "--format", "csv")
        header, best, _ = [line.split(",") for line in out.splitlines()]
        self.assertEqual(header, ["rank", "id", "score", *titles])
        self.assertEqual(best, ["1", "1", "1", *"1234567"])
        out, _ = self.culmen("query", "index", "-w", "score=1", "--format", "table")
        self.assertEqual(out.split()[:10], ["rank", "id", "score", *titles])
        self.write("w.csv", "score\n1\n")
        out, _ = self.culmen("query", "index", "--weights-file", "w.csv", "--format", "csv")
        self.assertEqual(out.split()[0].split(","), ["query", "rank", "id", "score", *titles])
        out, _ = self.culmen("query", "index", "-w", "score=1", "--format", "json")
        self.assertEqual(list(json.loads(out)["queries"][0]["results"][0]["attributes"]), names)

    def test_table_shows_numbers_that_can_be_recognised(self):
        for type, column in [
            (
                "f64",
                {
                    1751328013: "1751328013",
                    -(2**53): "-9007199254740992",
                    0.1: "0.1",
                    52.5200066: "52.5200066",
                    1751328013.25: "1751328013.25",
                    0.30000000000000004: "0.3",
                    1e300: "1e+300",
                    -0.0000125: "-1.25e-05",
                },
            ),
            ("f32", {1751328000: "1751328000", 79.9: "79.9", 1234567.875: "1234567.88", 0.1: "0.1"}),
        ]:
            with self.subTest(type):
                self.build_numbers([[value] for value in column], ("a",), "--type", type)
                for where in [[], ["--scale", "minmax"]]:
                    out, _ = self.culmen("query", "index", "-w", "a=1", "--format", "table", *where)
                    self.assertEqual({line.split()[3] for line in out.splitlines()[1:]}, set(column.values()))
                out, _ = self.culmen("query", "index", "-w", "a=1", "--format", "table")
                for line in out.splitlines()[1:]:
                    _, _, score, value = line.split()
                    self.assertEqual(score, value)
        self.assertIn("0.1 to 1751328000\n", self.culmen("info", "index")[0])

    def test_a_file_holds_what_stdout_would_get(self):
        self.assertEqual(self.output("-o", "best.csv"), "")
        self.assertEqual((self.dir / "best.csv").read_bytes().decode(), self.output())

    def test_a_file_is_replaced_whole_or_not_touched(self):
        self.write("best.csv", "old")
        self.refused("query", "index", "-w", "nonsense=1", "-o", "best.csv", code=2, says="nonsense")
        self.assertEqual((self.dir / "best.csv").read_text(), "old")
        self.output("-o", "best.csv")
        self.assertTrue((self.dir / "best.csv").read_text().startswith("rank,id"))
        self.assertEqual(self.listing(), ["best.csv", "hotels.csv", "index"])

    def test_a_full_disk_leaves_the_old_file(self):
        self.write("best.csv", "old")
        self.refused(
            "query", "index", "-w", "rating=1", "-o", "best.csv", code=1, says="best.csv", **with_small_files(20)
        )
        self.assertEqual((self.dir / "best.csv").read_text(), "old")
        self.assertEqual(self.listing(), ["best.csv", "hotels.csv", "index"])

    def test_a_link_stays_a_link_and_a_device_a_device(self):
        self.write("target.csv", "old")
        os.symlink("target.csv", self.dir / "link.csv")
        self.output("-o", "link.csv")
        self.assertTrue((self.dir / "link.csv").is_symlink())
        self.assertTrue((self.dir / "target.csv").read_text().startswith("rank,id"))
        self.output("-o", "/dev/null")
        self.assertFalse(Path("/dev/null").is_file())

    def test_every_output_keeps_what_is_at_its_name(self):
        for command in [
            ["query", "index", "-w", "rating=1"],
            ["get", "index", "--ids", "7"],
            ["generate", "zipf", "--rows", "9", "-q"],
        ]:
            with self.subTest(command[0]):
                for name in ["private.csv", "target.csv"]:
                    self.write(name, "old")
                    (self.dir / name).chmod(0o640)
                os.symlink("target.csv", self.dir / "link.csv")
                os.symlink("absent.csv", self.dir / "dangling.csv")
                os.mkfifo(self.dir / "pipe.csv")
                reader = os.open(self.dir / "pipe.csv", os.O_RDONLY | os.O_NONBLOCK)
                before = self.listing()
                for name in ["private.csv", "link.csv", "dangling.csv", "pipe.csv"]:
                    self.assertEqual(self.culmen(*command, "-o", name), ("", ""))
                self.assertEqual(self.listing(), sorted([*before, "absent.csv"]))
                text = (self.dir / "private.csv").read_bytes()
                self.assertGreater(len(text), 10)
                self.assertEqual((self.dir / "private.csv").stat().st_mode & 0o777, 0o640)
                self.assertEqual(os.read(reader, 1 << 16), text)
                os.close(reader)
                for link, target in [("link.csv", "target.csv"), ("dangling.csv", "absent.csv")]:
                    self.assertTrue((self.dir / link).is_symlink())
                    self.assertEqual((self.dir / target).read_bytes(), text)
                for name in ["private.csv", "target.csv", "absent.csv", "link.csv", "dangling.csv", "pipe.csv"]:
                    (self.dir / name).unlink()

    def test_says_so_when_the_file_cannot_be_written(self):
        ask = ["query", "index", "-w", "rating=1", "-o"]
        self.refused(*ask, "no/such/best.csv", code=1, says="no/such/best.csv")
        self.refused(*ask, "/dev/full", code=1, says="/dev/full")
        self.assertEqual(self.listing(), ["hotels.csv", "index"])


class TerminalTest(Case):
    def on_terminal(self, *arguments, stdout=False, stderr=False, feed=None, width=0, env=None):
        """Runs the program with a terminal as stdout or stderr; returns what the terminal got, and the rest."""
        main, worker = pty.openpty()
        fcntl.ioctl(worker, termios.TIOCSWINSZ, struct.pack("4H", 24, width, 0, 0))
        process = subprocess.Popen(
            [PROGRAM, *arguments],
            cwd=self.dir,
            stdin=subprocess.PIPE,
            stdout=worker if stdout else subprocess.PIPE,
            stderr=worker if stderr else subprocess.PIPE,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "", **(env or {})},
        )
        os.close(worker)
        if feed:
            feed(process.stdin)
        rest = b"".join(process.communicate(timeout=60)[:2][i] or b"" for i in (0, 1))
        shown = b""
        try:
            while piece := os.read(main, 65536):
                shown += piece
        except OSError:
            pass  # how Linux reports that the last writer closed it
        os.close(main)
        self.assertEqual(process.returncode, 0, shown + rest)
        return shown.decode().replace("\r\n", "\n"), rest.decode()

    def test_a_terminal_gets_a_table_and_a_summary(self):
        self.build_hotels()
        shown, err = self.on_terminal("query", "index", "-w", "rating=1", stdout=True)
        self.assertTrue(shown.startswith("rank  id  score  label"), shown)
        self.assertRegex(err, r"\A\d of 4 rows scored \(\d+ %\), .* engine \w+\n\Z")

    def test_a_table_fits_the_terminal(self):
        names = [f"column{i}" for i in range(12)]
        note = "A hotel with a name of more than forty letters by the sea"
        self.write("wide.csv", ",".join(["id", "note", *names]) + "\n" + ",".join(["1", note, *"123456789012"]) + "\n")
        self.culmen("build", "wide.csv", "-o", "index", "--id", "id")
        ask = ("query", "index", "-w", "column9=1")
        full, _ = self.on_terminal(*ask, stdout=True)
        self.assertGreater(len(full.splitlines()[0]), 120)
        for width in (60, 80, 100):
            shown, err = self.on_terminal(*ask, stdout=True, width=width)
            self.assertLessEqual(max(map(len, shown.splitlines())), width)
            self.assertIn("column9", shown)
            left_out = re.search(rf"not shown in {width} columns: (.*) \(--show chooses\)\n", err)[1].split(", ")
            for name in names:
                self.assertEqual(name in shown.split(), name not in left_out)
        narrow, err = self.on_terminal(*ask, stdout=True, env={"COLUMNS": "60"}, width=200)
        self.assertEqual(narrow, self.on_terminal(*ask, stdout=True, width=60)[0])
        self.assertEqual(self.on_terminal(*ask, "--quiet", stdout=True, width=60), (narrow, ""))
        self.assertEqual(self.on_terminal(*ask, "--show", ",".join([*names, "note"]), stdout=True, width=60)[0], full)
        self.assertEqual(self.culmen(*ask, "--format", "table", env={**os.environ, "COLUMNS": "60"})[0], full)

    def test_quiet_leaves_the_summary_out(self):
        self.build_hotels()
        self.assertEqual(self.on_terminal("query", "index", "-w", "rating=1", "-q", stdout=True)[1], "")

    def test_npy_is_refused_on_a_terminal(self):
        self.build_hotels()
        main, worker = pty.openpty()
        done = subprocess.run(
            [PROGRAM, "query", "index", "-w", "rating=1", "--format", "npy"],
            cwd=self.dir,
            stdout=worker,
            stderr=subprocess.PIPE,
            check=False,
            timeout=60,
        )
        os.close(worker)
        os.close(main)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"-o FILE", done.stderr)

    def slow_table(self, stdin):
        stdin.write(b"a,b\n1,2\n")
        stdin.flush()
        time.sleep(0.5)  # longer than the bar waits before it shows itself

    def test_a_terminal_gets_a_progress_bar_that_is_wiped(self):
        shown, _ = self.on_terminal("build", "-", "-o", "index", stderr=True, feed=self.slow_table)
        bar, _, summary = shown.rpartition("\r\x1b[K")
        self.assertRegex(bar, r"\r\x1b\[K\w+")
        self.assertTrue(summary.startswith("index: 1 row,"), shown)

    def test_quiet_leaves_the_bar_out(self):
        self.assertEqual(self.on_terminal("build", "-", "-o", "index", "-q", stderr=True, feed=self.slow_table)[0], "")


class InfoTest(Case):
    def test_terminal_escapes_in_names_are_not_printed(self):
        self.build_numbers([[1, 2]], ["a\x1b[31m", "b"])
        out, _ = self.culmen("info", "index")
        self.assertIn("  a [31m", out)
        self.assertNotIn("\x1b", out)

    def test_tells_people_what_the_index_holds(self):
        self.build_hotels()
        out, err = self.culmen("info", "index")
        self.assertEqual(err, "")
        self.assertRegex(out, r"rows +4\n")
        self.assertRegex(out, r"price +low +is better +60\.1 to 200\n")
        self.assertRegex(out, r"rating +high +is better +7 to 9\.5\n")

    def test_tells_programs_the_same_exactly(self):
        self.build_hotels()
        info = json.loads(self.culmen("info", "index", "--json")[0])
        self.assertEqual((info["rows"], info["labels"], info["value_type"]), (4, True, "float64"))
        price = {
            "name": "price",
            "prefer": "low",
            "minimum": 60.1,
            "maximum": 200,
            "has_missing": False,
            "stand_in": "worst",
            "stand_in_value": 200,
            "type": "number",
        }
        self.assertEqual(info["attributes"][0], price)
        self.assertEqual((info["id_column"], info["label_column"], info["fields"]), ("id", "name", []))
        self.assertEqual((info["partitioning"], info["rounded_values"]), ("kd", 0))

    def test_shows_the_options_of_the_build(self):
        self.write("t.csv", "a,b\n0.1,2\n3,4\n")
        self.culmen("build", "t.csv", "-o", "index", "--type", "f32", "--partition", "random", "--leaf-rows", 32)
        info = json.loads(self.culmen("info", "index", "--json")[0])
        self.assertEqual((info["value_type"], info["rounded_values"]), ("float32", 1))
        self.assertEqual((info["partitioning"], info["leaf_rows"]), ("random", 32))

    def test_rows_stay_in_their_order(self):
        rows = "".join(f"{i},{i * 7 % 100},{i * 13 % 100}\n" for i in range(600))
        self.write("t.csv", "id,a,b\n" + rows)
        options = ["--partition", "kd-flat-sum", "--partitions", 20, "--leaf-rows", 16]
        _, summary = self.culmen("build", "t.csv", "-o", "index", "--id", "id", *options)
        self.assertIn("partitions by kd-flat-sum", summary)
        self.culmen("delete", "index", "--where", "a >= 90")
        self.assertIn("by kd-flat-sum\n", self.culmen("info", "index")[0])
        self.culmen(
            "delete", "index", "--where", "a >= 30"
        )  # more than half: the index is built anew, of few partitions
        self.assertIn("by kd-sum\n", self.culmen("info", "index")[0])
        self.assertIn("no fault found", self.culmen("verify", "index", "--deep")[0])

    def test_rows_stay_clustered(self):
        cities = ["Oslo", "Prague", ""]
        self.write("t.csv", "id,a,city\n" + "".join(f"{i},{i},{cities[i % 3]}\n" for i in range(600)))
        _, summary = self.culmen(
            "build", "t.csv", "-o", "index", "--id", "id", "--cluster", "city", "--leaf-rows", 16, "--partitions", 8
        )
        self.assertIn("kd, clustered by city", summary)
        self.write("new.csv", "id,a,city\n" + "".join(f"{i},{i},Rome\n" for i in range(600, 900)))
        self.culmen("insert", "index", "new.csv")
        self.assertEqual(self.ids("-w", "a=1", "-k", 2, "--where", "city = 'Rome'"), [899, 898])
        self.culmen("compact", "index")
        self.culmen("repair", "index", "-o", "repaired")
        for directory in "index", "repaired":
            self.culmen("verify", directory)
            self.assertEqual(json.loads(self.culmen("info", directory, "--json")[0])["cluster"], "city")
            self.assertIn("kd, clustered by city", self.culmen("info", directory)[0])
        self.assertEqual(self.ids("-w", "a=1", "-k", 2, "--where", "city = 'Prague'"), [598, 595])

    def test_an_empty_index_has_a_schema(self):
        self.write("t.csv", "a,b\n")
        self.culmen("build", "t.csv", "-o", "index")
        info = json.loads(self.culmen("info", "index", "--json")[0])
        self.assertEqual((info["rows"], [a["name"] for a in info["attributes"]]), (0, ["a", "b"]))

    def test_refuses_what_is_no_index(self):
        (self.dir / "nothing").mkdir()
        self.write("t.csv", "a\n1\n")
        makes_one = "culmen build INPUT -o DIR makes one"
        self.refused("info", "missing", code=1, says="missing; culmen build INPUT -o DIR makes one")
        for name in ["nothing", "t.csv"]:
            for command in [
                ["info", name],
                ["verify", name],
                ["compact", name],
                ["query", name, "-w", "a=1"],
                ["insert", name, "t.csv"],
                ["delete", name, "--ids", "1"],
                ["repair", name, "-o", "new"],
            ]:
                with self.subTest(command):
                    self.refused(*command, code=1, says=f"{name} holds no index")
                    self.refused(*command, code=1, says=makes_one)
        self.assertEqual(self.listing(), ["nothing", "t.csv"])
        self.assertEqual(os.listdir(self.dir / "nothing"), [])


class VerifyTest(Case):
    def test_finds_no_fault_in_a_fresh_index(self):
        self.build_hotels()
        for options in [[], ["--deep"]]:
            out, err = self.culmen("verify", "index", *options)
            self.assertIn("no fault found in 4 rows", out)
            self.assertEqual(err, "")

    def test_every_damaged_file_is_named(self):
        self.build_numbers([[i, -i, i % 3] for i in range(1000)])
        for path in self.files("index"):
            whole = path.read_bytes()
            for position in {0, len(whole) // 3, len(whole) // 2, len(whole) - 1}:
                with self.subTest(file=path.name, position=position):
                    damaged = bytearray(whole)
                    damaged[position] ^= 0x10
                    path.write_bytes(damaged)
                    out, err = self.culmen("verify", "index", code=3)
                    self.assertRegex(out, f"{path.name}.*\\nculmen repair DIR -o NEWDIR saves the intact rows\\n")
                    self.assertEqual(err, "")
                    path.write_bytes(whole)
        self.culmen("verify", "index", "--deep")

    def test_all_damaged_frames_are_counted(self):
        self.build_numbers([[i, -i, i % 3] for i in range(1000)], "abc", "--leaf-rows", "16")
        for name in ["leaves", "nodes"]:
            path = self.dir / "index" / f"SNAP-1-{name}"
            damaged = bytearray(path.read_bytes())
            for position in range(128, len(damaged), 64):
                damaged[position] ^= 0x10
            path.write_bytes(damaged)
        out, _ = self.culmen("verify", "index", code=3)
        # Ten leaves, and the directory of the file's frames.
        self.assertEqual(len(re.findall(r"SNAP-1-leaves, byte \d+: ", out)), 11)
        self.assertRegex(out, r"\nand \d+ more frames of index/SNAP-1-leaves\n")
        self.assertRegex(out, r"SNAP-1-nodes, byte \d+: ")

    def test_a_missing_file_is_a_fault(self):
        self.build_numbers([[i, -i, i % 3] for i in range(1000)])
        for path in self.files("index"):
            if path.name == "CURRENT":
                continue
            with self.subTest(file=path.name):
                whole = path.read_bytes()
                path.unlink()
                self.assertIn(path.name, self.culmen("verify", "index", code=3)[0])
                path.write_bytes(whole)

    def test_a_truncated_file_is_refused_by_every_reader(self):
        self.build_numbers([[i, -i, i % 3] for i in range(1000)])
        largest = max(self.files("index"), key=lambda path: path.stat().st_size)
        largest.write_bytes(largest.read_bytes()[:-100])
        self.assertIn(largest.name, self.culmen("verify", "index", code=3)[0])
        for command in [["info", "index"], ["query", "index", "-w", "a=1"]]:
            self.refused(*command, code=3, says=largest.name)


class ExitCodesTest(Case):
    def test_usage(self):
        for arguments in [
            [],
            ["frobnicate"],
            ["query"],
            ["build", "t.csv"],
            ["query", "index", "--frob"],
            ["generate", "hotels", "-o", "t.csv"],
            ["info"],
            ["verify", "--fast"],
        ]:
            with self.subTest(arguments):
                self.refused(*arguments, code=2, says="--help")

    def test_numbers_are_asked_for_in_a_few_words(self):
        self.write("t.csv", "a\n1\n")
        query, build = ["query", "index", "-w", "a=1"], ["build", "t.csv", "-o", "index"]
        insert, generate = ["insert", "index", "t.csv"], ["generate", "zipf", "-o", "t.npy"]
        cases = [
            (query, "-k", "ten", "at least 1"),
            (query, "-k", "1e3", "at least 1"),
            (query, "-k", "", "at least 1"),
            (query, "-k", "0x10", "at least 1"),
            (query, "-k", "9" * 400, "at most 18446744073709551615"),
            (query, "--threads", "-1", "at least 0"),
            (query, "--threads", "3000000000", "at most 2147483647"),
            (build, "--threads", "x", "at least 0"),
            (build, "--leaf-rows", "0", "at least 1"),
            (build, "--splits", "-1", "at least 1"),
            (build, "--partitions", "1.5", "at least 1"),
            (insert, "--threads", "x", "at least 0"),
            (insert, "--batch", "0", "at least 1"),
            (insert, "--skip", "-1", "at least 0"),
            (["compact", "index"], "--threads", "-1", "at least 0"),
            (generate, "--rows", "many", "at least 0"),
            (generate, "--rows", "-5", "at least 0"),
            (generate, "--dims", "1025", "at most 1024"),
            (generate, "--seed", "-1", "at least 0"),
        ]
        for command, option, value, expected in cases:
            with self.subTest((*command, option, value)):
                found = value if len(value) < 40 else value[:40] + "..."
                says = f"culmen: {option}: expected a whole number of {expected}, found '{found}'; "
                self.refused(*command, option, value, code=2, says=says)

    def test_numbers_are_decimal(self):
        self.write("t.csv", "a\n" + "1\n" * 20)
        self.culmen("build", "t.csv", "-o", "index")
        for k in ["010", "+10", "10"]:
            self.assertEqual(len(self.ids("-w", "a=1", "-k", k)), 10)

    def test_mistyped_commands_are_told_the_one_that_was_meant(self):
        for word, meant in [
            ("qury", "query"),
            ("isnert", "insert"),
            ("verfy", "verify"),
            ("cmpact", "compact"),
            ("Build", "build"),
            ("erase", "delete"),
            ("add", "insert"),
        ]:
            self.refused(
                word, "index", code=2, says=f'there is no command "{word}" (did you mean "{meant}"?); the commands'
            )
            self.refused(
                "help", word, code=2, says=f'there is no command "{word}" (did you mean "{meant}"?); the commands'
            )
        self.refused(
            "frobnicate",
            code=2,
            says='there is no command "frobnicate"; the commands are generate, inspect, build, query',
        )
        self.refused(code=2, says="name a command: generate, inspect, build, query")

    def test_mistyped_options_are_told_the_one_that_was_meant(self):
        self.refused(
            "query",
            "index",
            "--wieghts=a=1",
            code=2,
            says='culmen query has no option --wieghts (did you mean "--weights"?)',
        )
        self.refused("query", "index", "--frobnicate", code=2, says="culmen query has no option --frobnicate; ")
        self.refused("-q", "info", "index", code=2, says="culmen has no option -q: a command comes first")
        self.refused("info", "index", "other", code=2, says='culmen info does not expect "other"')

    def test_missing_files_are_failures(self):
        self.refused("build", "missing.csv", "-o", "index", code=1, says="missing.csv")
        self.refused("query", "missing", "-w", "1", code=1, says="missing")
        self.refused("verify", "missing", code=1, says="missing")

    def test_unknown_formats_are_usage(self):
        self.write("t.parquet", "")
        self.refused("build", "t.parquet", "-o", "index", code=2, says="t.parquet")

    @unittest.skipIf(SANITIZED, "sanitizers end the program themselves")
    def test_memory_that_is_not_there(self):
        limit = 1 << 30
        self.refused(
            "generate",
            "independent",
            "--rows",
            400_000_000,
            "-o",
            "t.npy",
            code=4,
            says="memory",
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
        )
        self.assertEqual(self.listing(), [])

    def test_errors_stay_on_one_line(self):
        self.write("t.csv", 'a\n"x\ny"\n')
        self.refused("build", "t.csv", "-o", "index", code=3, says="t.csv")

    def test_a_directory_may_be_called_like_a_command(self):
        self.write("t.csv", "a\n1\n")
        self.culmen("build", "t.csv", "-o", "info")
        self.assertIn("rows", self.culmen("info", "info")[0])


class HelpTest(Case):
    COMMANDS = [
        "generate",
        "build",
        "query",
        "get",
        "insert",
        "upsert",
        "delete",
        "info",
        "compact",
        "verify",
        "repair",
        "rebalance",
    ]

    def examples(self, *command):
        out, err = self.culmen(*command, "--help")
        self.assertEqual(err, "")
        return re.findall(r"^  ((?:cat \S+ \| )?culmen .+)$", out.partition("Examples:\n")[2], re.MULTILINE)

    def test_every_example_runs(self):
        """Each example continues those before it, in the order of the commands."""
        path = f"{Path(PROGRAM).resolve().parent}:{os.environ['PATH']}"
        self.write("seen.txt", "1000001\n1000002\n")  # the only file that no example writes
        for command in self.COMMANDS:
            lines = self.examples(command)
            self.assertGreaterEqual(len(lines), 2, command)
            for line in lines:
                with self.subTest(line):
                    done = subprocess.run(
                        line,
                        shell=True,
                        cwd=self.dir,
                        capture_output=True,
                        timeout=120,
                        env={**os.environ, "PATH": path},
                        check=False,
                    )
                    self.assertEqual(done.returncode, 0, done.stderr.decode())
        for line in self.examples():
            subprocess.run(
                line,
                shell=True,
                cwd=self.dir,
                capture_output=True,
                timeout=120,
                env={**os.environ, "PATH": path},
                check=True,
            )

    def test_the_program_lists_its_commands(self):
        out, _ = self.culmen("--help")
        for command in self.COMMANDS:
            self.assertRegex(out, rf"\n  {command} ")

    def test_help_is_a_command_as_well(self):
        self.assertEqual(self.culmen("help"), self.culmen("--help"))
        for command in [*self.COMMANDS, "help"]:
            self.assertEqual(self.culmen("help", command), self.culmen(command, "--help"))

    def test_version(self):
        self.assertRegex(self.culmen("--version")[0], r"\Aculmen \d+\.\d+\.\d+\n\Z")


if __name__ == "__main__":
    unittest.main()
