"""The commands of culmen that change an index: valid input, errors, and recovery.

Where rows are compared, a dictionary of rows by id models the index.
"""

import ast
import csv
import gzip
import io
import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import threading
import time
import unittest

from program import PROGRAM, SANITIZED, Case, wait_until_sigint_is_caught, with_small_files, write_npy

TABLE = "id,a,b\n1,1,-1\n2,2,-2\n3,3,-3\n"  # the index of most tests, in float32
ROWS = {1: (1, -1), 2: (2, -2), 3: (3, -3)}


class IndexCase(Case):
    def build(self, text=TABLE, *options):
        self.write("table.csv", text)
        ids = ["--id", "id"] if text.startswith("id,") else []
        self.culmen("build", "table.csv", "-o", "index", "--force", *ids, *options)

    def build_labels(self):
        self.build("id,name,a\n1,one,1\n2,two,2\n", "--label", "name")

    def table(self, names=("a", "b"), directory="index"):
        """Every row of the index, by id: its values, or for one name its value."""
        out, _ = self.culmen("query", directory, "-w", f"{names[0]}=1", "-k", 1000000, "--format", "jsonl")
        answer = [json.loads(line) for line in out.splitlines()]
        rows = answer[0]["results"] if answer and "results" in answer[0] else answer
        return {row["id"]: tuple(row["attributes"][name] for name in names) for row in rows}

    def labels(self):
        out, _ = self.culmen("query", "index", "-w", "a=1", "-k", 1000, "--format", "csv")
        return {int(line.split(",")[1]): line.split(",")[3] for line in out.splitlines()[1:]}

    def info(self, directory="index"):
        return json.loads(self.culmen("info", directory, "--json")[0])

    def refused_and_unchanged(self, *arguments, **options):
        before = self.table(), self.info()["version"]
        self.refused(*arguments, **options)
        self.assertEqual((self.table(), self.info()["version"]), before)

    def verify(self, directory="index"):
        self.assertIn("no fault found", self.culmen("verify", directory, "--deep")[0])


class InsertTest(IndexCase):
    def insert(self, text, *options, name="new.csv", **more):
        self.write(name, text)
        return self.culmen("insert", "index", name, *options, **more)

    def test_nothing_after_skip_is_reported(self):
        self.build()
        _, err = self.insert("a,b\n4,0\n", "--skip", 5)
        self.assertIn("new.csv has no row after the first 5 (--skip)\n", err)

    def test_new_rows_are_found(self):
        self.build()
        out, err = self.insert("id,a,b\n-7,4,0\n9,0,5\n", "--id", "id")
        self.assertEqual(out, "")
        self.assertIn("index: 2 rows inserted\n", err)
        self.assertRegex(err, r"version \d+, 5 rows in all")
        self.assertEqual(self.table(), {**ROWS, -7: (4, 0), 9: (0, 5)})
        self.verify()

    def test_a_limit_of_memory_changes_nothing(self):
        self.build()
        self.insert("id,a,b\n-7,4,0\n9,0,5\n8,1,1\n", "--id", "id", "--max-memory", "1kb", "--batch", 1)
        self.culmen("delete", "index", "9", "--max-memory", "1kb")
        self.assertEqual(self.table(), {**ROWS, -7: (4, 0), 8: (1, 1)})
        self.verify()

    def test_quiet_says_nothing(self):
        self.build()
        self.assertEqual(self.insert("a,b\n4,4\n", "-q"), ("", ""))
        self.assertEqual(len(self.table()), 4)

    def test_without_an_id_column_rows_get_the_next_free_ids(self):
        self.build()
        self.assertIn("ids assigned: 4 to 5\n", self.insert("a,b\n4,-4\n5,-5\n")[1])
        self.assertIn("ids assigned: 6 to 8\n", self.insert("a,b\n6,-6\n7,-7\n8,-8\n", "--batch", 2)[1])
        self.assertEqual(self.table(), {id: (id, -id) for id in range(1, 9)})

    def test_an_id_once_deleted_is_not_given_out_again(self):
        self.build()
        self.culmen("delete", "index", "3")
        self.insert("a,b\n7,7\n")
        self.assertEqual(self.table(), {1: (1, -1), 2: (2, -2), 4: (7, 7)})

    def test_columns_are_found_by_name_in_any_order(self):
        self.build()
        self.insert("b,id,a\n5,9,6\n")
        self.assertEqual(self.table()[9], (6, 5))
        self.write("new.csv", "b,c,id,a\n5,x,10,6\n")
        self.refused_and_unchanged("insert", "index", "new.csv", code=3, says='no column "c"')
        self.culmen("insert", "index", "new.csv", "--columns", "")
        self.assertEqual(self.table()[10], (6, 5))

    def test_columns_of_other_names_are_named(self):
        self.build()
        self.insert("id,height,weight\n9,6,5\n", "--id", "id", "--attributes", "weight,height")
        self.assertEqual(self.table()[9], (5, 6))
        self.refused_and_unchanged("insert", "index", "new.csv", "--attributes", "weight", code=2, says='"a", "b"')

    def test_reads_what_build_reads(self):
        self.build()
        rows = [[10, 20], [30, 40]]
        text = "a\tb\n10\t20\n30\t40\n"
        (self.dir / "t.tsv.gz").write_bytes(gzip.compress(text.encode()))
        write_npy(self.dir / "t.NPY", rows)
        (self.dir / "t.fvecs").write_bytes(b"".join(struct.pack("<iff", 2, *row) for row in rows))
        for name in ["t.tsv.gz", "t.NPY", "t.fvecs"]:
            with self.subTest(name):
                self.build()
                self.culmen("insert", "index", name, "--batch", 1)
                self.assertEqual(self.table(), {**ROWS, 4: (10, 20), 5: (30, 40)})

    def test_columns_without_names_count_by_position(self):
        self.build()
        write_npy(self.dir / "t.npy", [[1, 2, 3]])
        self.refused_and_unchanged("insert", "index", "t.npy", code=2, says="3 columns for the 2 attributes")
        self.culmen("insert", "index", "t.npy", "--attributes", "a2,a0")
        self.assertEqual(self.table()[4], (3, 1))

    def test_a_table_without_rows_changes_nothing(self):
        self.build()
        for options in [[], ["--atomic"]]:
            before = self.info()["version"]
            self.assertIn("0 rows inserted", self.insert("id,a,b\n", *options)[1])
            self.assertEqual(self.info()["version"], before)

    def test_an_empty_index_takes_rows(self):
        self.build("a,b\n", "--leaf-rows", "16")
        self.assertIn(
            "ids assigned: 0 to 99", self.insert("a,b\n" + "".join(f"{i},{-i}\n" for i in range(100)), "--batch", 7)[1]
        )
        self.assertEqual(self.table(), {i: (i, -i) for i in range(100)})
        self.verify()

    def test_refuses_bad_input_and_changes_nothing(self):
        self.build()
        cases = {
            "an empty file": ("", 3, "empty file"),
            "an unknown column": ("id,a,c\n4,1,2\n", 2, '"c"'),
            "infinity": ("id,a,b\n4,inf,1\n", 3, "new.csv:2:2"),
            "text": ("id,a,b\n4,x,1\n", 3, "new.csv:2:2"),
            "a ragged row": ("id,a,b\n4,1\n", 3, "new.csv:2"),
            "an id twice": ("id,a,b\n4,1,1\n5,1,1\n4,2,2\n", 3, "new.csv:4:1"),
            "an id that is there": ("id,a,b\n4,1,1\n2,1,1\n", 3, "2"),
            "an id beyond int64": ("id,a,b\n9223372036854775808,1,1\n", 3, "int64"),
            "a broken id": ("id,a,b\n4.5,1,1\n", 3, "4.5"),
            "no id": ("id,a,b\n,1,1\n", 3, "new.csv:2:1"),
            "an integer beyond 2^53": ("id,a,b\n4,9007199254740993,1\n", 3, "2^53"),
        }
        for name, (text, code, says) in cases.items():
            for atomic in [[], ["--atomic"]]:
                with self.subTest(name, atomic=atomic):
                    self.write("new.csv", text)
                    self.refused_and_unchanged(
                        "insert", "index", "new.csv", "--id", "id", *atomic, code=code, says=says
                    )

    def test_refuses_wrong_options_and_changes_nothing(self):
        self.build()
        self.write("new.csv", "id,a,b\n4,1,1\n")
        self.write("new.parquet", "PAR1")
        cases = [
            (["--id", "key"], '"key"'),
            (["--label", "b"], "no labels"),
            (["--batch", "0"], "--batch"),
            (["--batch", "-1"], "--batch"),
            (["--skip", "-1"], "--skip"),
            (["--atomic", "--skip", "1"], "--"),
            (["--atomic", "--batch", "5"], "--"),
            (["--durability", "maybe"], "sync"),
            (["--type", "f64"], "f32"),
            (["--nulls", "skip"], "skip"),
            (["--new-ids", "--id", "id"], "--id"),
            (["--threads", "-1"], "--threads"),
            (["--attributes", "a,a"], "twice"),
            (["--duplicates", "both"], "first"),
            (["--duplicates", "last"], "--atomic"),
            (["--max-delay", "5"], "--max-delay: expected a whole number with its unit"),
            (["--max-delay", "1e3s"], "5s"),
            (["--max-delay", "-1s"], "5s"),
            (["--max-delay", "25h"], "24h"),
            (["--max-delay", "1s", "--atomic"], "--"),
        ]
        for options, says in cases:
            with self.subTest(options):
                self.refused_and_unchanged("insert", "index", "new.csv", *options, code=2, says=says)
        self.refused("insert", "index", "missing.csv", code=1, says="missing.csv")
        self.refused("insert", "missing", "new.csv", code=1, says="missing")
        self.refused("insert", "index", "missing.parquet", code=1, says="missing.parquet: No such file")
        self.refused("insert", "index", "new.parquet", code=2, says="new.parquet is Parquet or Arrow")
        self.refused("insert", "index", code=2, says="INPUT")

    def test_drops_rows_with_nulls_only_when_asked(self):
        self.build()
        _, err = self.insert("id,a,b\n4,nan,1\n5,5,-5\n6,,2\n", "--id", "id", "--nulls", "drop")
        self.assertIn("1 row inserted", err)
        self.assertIn("2 rows dropped", err)
        self.assertEqual(self.table(), {**ROWS, 5: (5, -5)})

    def test_rows_keep_their_numbers_when_others_are_dropped(self):
        text = "a,b\n,1\n1,1\nnan,1\n,1\n4,1\n5,1\n,1\n"  # rows 1, 4 and 5 of seven
        rows = [[float(cell or "nan") for cell in line.split(",")] for line in text.splitlines()[1:]]
        write_npy(self.dir / "new.npy", rows)
        write_npy(self.dir / "fortran.npy", rows, fortran=True)
        for name in ("new.csv", "new.npy", "fortran.npy"):
            for options in (["--batch", 1], ["--batch", 2], ["--batch", 3], ["--atomic"], []):
                with self.subTest(name, options=options):
                    self.write("new.csv", text)
                    self.culmen("build", "new.csv", "-o", "index", "--force", "--nulls", "drop")
                    kept = {1: (1, 1), 4: (4, 1), 5: (5, 1)}
                    self.assertEqual(self.table(), kept)
                    for first in (7, 14):  # dropped rows at the end have numbers, too
                        _, err = self.culmen("insert", "index", name, "--nulls", "drop", *options)
                        self.assertIn(f"ids assigned: {first + 1} to {first + 5}\n", err)
                        kept |= {first + 1: (1, 1), first + 4: (4, 1), first + 5: (5, 1)}
                        self.assertEqual(self.table(), kept)
                    self.verify()

    def test_rows_of_which_all_are_dropped_take_their_numbers(self):
        self.build()
        _, err = self.insert("a,b\n,1\n2,nan\n", "--nulls", "drop")
        self.assertIn("0 rows inserted", err)
        self.assertNotIn("ids assigned", err)
        self.insert("id,a,b\n,1,1\n", "--nulls", "drop", "--id", "id")  # had none to take
        _, err = self.insert("a,b\n7,8\n")
        self.assertIn("ids assigned: 6 to 6\n", err)

    def test_rows_that_are_left_for_skip_keep_their_numbers(self):
        self.build("a,b\n1,1\n")
        text = "a,b\n,1\n2,2\n,3\n4,4\n5,x\n,6\n7,7\n"
        _, err = self.insert(text, "--nulls", "drop", "--batch", 1, code=3)
        self.assertIn("--skip 4 continues", err)
        self.insert(text.replace("x", "5"), "--nulls", "drop", "--batch", 1, "--skip", 4)
        self.assertEqual(self.table(), {0: (1, 1), 2: (2, 2), 4: (4, 4), 5: (5, 5), 7: (7, 7)})

    def test_ids_may_be_any_int64(self):
        self.build()
        low, high = -(2**63), 2**63 - 1
        self.insert(f"id,a,b\n{low},1,2\n{high},3,4\n0,5,6\n-1,7,8\n", "--id", "id")
        self.assertEqual(self.table(), {**ROWS, low: (1, 2), high: (3, 4), 0: (5, 6), -1: (7, 8)})
        self.write("more.csv", "a,b\n1,1\n")  # there is no next id
        before = self.table()
        _, err = self.culmen("insert", "index", "more.csv", code=3)
        self.assertRegex(err, r"\Aculmen: [^\n]*id[^\n]*\n\Z")
        self.assertEqual(self.table(), before)

    def test_a_float32_index_says_what_to_do_with_other_values(self):
        self.build()
        self.write("new.csv", "a,b\n4,4\n0.1,5\n")
        self.refused_and_unchanged("insert", "index", "new.csv", code=3, says="culmen: new.csv:3: column a: 0.1 is")
        _, err = self.culmen("insert", "index", "new.csv", code=3)
        self.assertIn("--type f32", err)
        self.assertIn("--type f64", err)
        _, err = self.culmen("insert", "index", "new.csv", "--type", "f32")
        self.assertIn("rounded to float32: 1", err)
        (rounded,) = struct.unpack("<f", struct.pack("<f", 0.1))
        self.assertEqual(self.table(), {**ROWS, 4: (4, 4), 5: (rounded, 5)})
        self.write("new.csv", "a,b\n1e300,5\n")
        self.refused_and_unchanged(
            "insert",
            "index",
            "new.csv",
            "--type",
            "f32",
            code=3,
            says='culmen: new.csv:2: column "a": 1e+300 is beyond the range of float32\n',
        )

    def test_a_float64_index_takes_every_value(self):
        self.build("id,a,b\n1,0.1,2\n")
        self.insert("a,b\n0.3,1e300\n")
        self.assertEqual(self.table()[2], (0.3, 1e300))
        self.refused_and_unchanged("insert", "index", "new.csv", "--type", "f32", code=2, says="leave --type out")

    def test_labels_are_asked_for_where_the_index_keeps_them(self):
        self.build_labels()
        self.write("new.csv", "a,id\n3,3\n")
        self.refused(
            "insert", "index", "new.csv", code=2, says="new.csv has no column name: name the column with --label"
        )
        self.write("new.csv", "name,a,id\nthree,3,3\n")
        self.refused("insert", "index", "new.csv", "--label", "name", "--no-labels", code=2, says="--no-labels")
        self.refused("insert", "index", "new.csv", "--label", "title", code=2, says='"title"')
        self.culmen("insert", "index", "new.csv")
        self.culmen("insert", "index", "new.csv", "--no-labels", "--new-ids")
        self.assertEqual(self.labels(), {1: "one", 2: "two", 3: "three", 4: ""})

    def test_labels_stay_with_their_rows_over_batches(self):
        self.build_labels()
        self.insert("name,a\n" + "".join(f"n{i},{i}\n" for i in range(3, 50)), "--label", "name", "--batch", 4)
        self.assertEqual(self.labels(), {1: "one", 2: "two", **{i: f"n{i}" for i in range(3, 50)}})

    def test_a_later_fault_leaves_whole_batches_and_says_how_to_go_on(self):
        self.build()
        text = "a,b\n" + "".join(f"{i},{-i}\n" for i in range(4, 12)) + "x,0\n" + "12,-12\n"
        self.write("new.csv", text)
        _, err = self.culmen("insert", "index", "new.csv", "--batch", 3, code=3)
        first, second = err.splitlines()
        self.assertIn("new.csv:10:1", first)
        self.assertIn("the first 6 rows of new.csv went into index; --skip 6 continues", second)
        self.assertEqual(self.table(), {id: (id, -id) for id in range(1, 10)})
        self.write("new.csv", text.replace("x,0\n", ""))
        self.culmen("insert", "index", "new.csv", "--batch", 3, "--skip", 6)
        self.assertEqual(self.table(), {id: (id, -id) for id in range(1, 13)})

    def test_atomic_takes_all_or_nothing(self):
        self.build()
        self.write("new.csv", "a,b\n" + "5,5\n" * 30 + "x,0\n")
        self.refused_and_unchanged("insert", "index", "new.csv", "--atomic", code=3, says="new.csv:32:1")
        before = self.info()["version"]
        self.insert("a,b\n" + "5,5\n" * 30, "--atomic")
        self.assertEqual((len(self.table()), self.info()["version"]), (33, before + 1))

    def test_one_of_several_rows_with_an_id_is_kept(self):
        rows = "id,a,b\n7,1,1\n8,2,2\n7,3,3\n7,4,4\n"
        for shards in ((), ("--shards", 2)):
            for policy, expected in (("first", (1, 1)), ("last", (4, 4))):
                with self.subTest(policy, shards=shards):
                    self.build("id,a,b\n1,1,-1\n", *shards)
                    self.write("new.csv", rows)
                    self.refused_and_unchanged("insert", "index", "new.csv", "--atomic", code=3, says="found 7 again")
                    _, err = self.insert(rows, "--atomic", "--duplicates", policy)
                    self.assertIn("index: 2 rows inserted\n  2 rows left out: another has its id\n", err)
                    self.assertEqual(self.table(), {1: (1, -1), 7: expected, 8: (2, 2)})
                    again = ("--atomic", "--duplicates", policy)
                    self.refused_and_unchanged("insert", "index", "new.csv", *again, code=3, says="new.csv:2: id 7")
                    shutil.rmtree(self.dir / "index")
        self.refused("upsert", "index", "new.csv", "--duplicates", "first", code=2, says="--duplicates")

    def test_an_id_of_an_earlier_batch_is_an_error_as_well(self):
        self.build()
        self.write("new.csv", "id,a,b\n4,4,-4\n5,5,-5\n4,6,-6\n")
        _, err = self.culmen("insert", "index", "new.csv", "--id", "id", "--batch", 2, code=3)
        self.assertIn("the first 2 rows of new.csv", err)
        self.assertIn("culmen: new.csv:4: id 4 is already in the index; upsert replaces rows\n", err)
        self.assertEqual(self.table(), {id: (id, -id) for id in range(1, 6)})

    def test_errors_count_lines_of_text_and_rows_of_matrices_from_1(self):
        self.build_labels()
        self.write("new.csv", 'a,name,id\n3,"three\nlines",3\nnan,x,9\n4,four,4\n5,five,1\n')
        for options in [[], ["--atomic"], ["--batch", 2]]:
            _, err = self.culmen(
                "insert", "index", "new.csv", "--id", "id", "--label", "name", "--nulls", "drop", *options, code=3
            )
            self.assertTrue(err.startswith("culmen: new.csv:6: id 1 is already in the index"), err)
            self.culmen("delete", "index", "--ids", "3,4")
        self.build()
        write_npy(self.dir / "new.npy", [[1, 2], [float("nan"), 2], [3, 4], [5, 0.1]])
        for options in [[], ["--atomic"], ["--batch", 3]]:
            _, err = self.culmen("insert", "index", "new.npy", "--nulls", "drop", *options, code=3)
            self.assertTrue(err.startswith("culmen: new.npy: row 4: column b: 0.1 is no float32"), err)
        self.refused_and_unchanged(
            "insert", "index", "new.npy", "--nulls", "reject", code=3, says="new.npy: row 2, column"
        )

    def test_every_durability_is_durable_when_the_command_ends(self):
        self.build()
        for i, durability in enumerate(["sync", "os", "batch"]):
            self.insert(f"a,b\n{4 + i},{-4 - i}\n", "--durability", durability)
        self.assertEqual(self.table(), {id: (id, -id) for id in range(1, 7)})

    def test_rows_expire_with_the_batches(self):
        rng = random.Random(5)
        self.build("a,b\n0,0\n", "--leaf-rows", "16")
        rows = [(0, 0)]
        for turn in range(1, 9):
            new = [(turn - rng.randrange(5), rng.randrange(9)) for _ in range(rng.randrange(1, 60))]
            text = "a,b\n" + "".join(f"{a},{b}\n" for a, b in new)
            options = rng.choice([["--batch", 7], ["--atomic"], []])
            version = self.info()["version"]
            _, err = self.insert(text, "--expire", f"a<{turn - 3}", *options)
            left = [row for row in rows + new if row[0] >= turn - 3]
            gone = len(rows) + len(new) - len(left)
            self.assertIn(f"\n  {gone} row{'' if gone == 1 else 's'} expired\n", err)
            rows = left
            self.assertEqual(sorted(self.table().values()), sorted(rows))
            self.assertEqual(self.info()["version"], version + -(-len(new) // (7 if "--batch" in options else 10000)))
        self.verify()

    def test_what_expires_is_said(self):
        self.build()
        self.write("new.csv", "a,b\n4,4\n")
        for options, code, says in [
            (["--expire", " "], 2, "--expire is empty"),
            (["--expire", "c < 1"], 2, '"c"'),
            (["--expire", "a <"], 2, "a <"),
            (["--expire", "a < 'x'"], 2, "a"),
        ]:
            with self.subTest(options):
                self.refused_and_unchanged("insert", "index", "new.csv", *options, code=code, says=says)
        self.insert("a,b\n", "--expire", "a < 9")  # without rows there is no batch
        self.assertEqual(self.table(), ROWS)

    def test_a_full_disk_leaves_the_index_as_it_was(self):
        self.build()
        self.write("new.csv", "a,b\n" + "1,1\n" * 20000)
        before = self.table()
        _, err = self.culmen("insert", "index", "new.csv", "--atomic", code=1, **with_small_files(4096))
        self.assertIn("index", err)
        self.assertEqual(self.table(), before)
        self.culmen("insert", "index", "new.csv")
        self.assertEqual(len(self.table()), 20003)


class UpsertTest(IndexCase):
    def test_replaces_rows_and_adds_others(self):
        self.build()
        self.write("new.csv", "id,a,b\n2,20,21\n9,90,91\n")
        _, err = self.culmen("upsert", "index", "new.csv", "--id", "id")
        self.assertIn("1 row inserted, 1 replaced", err)
        self.assertEqual(self.table(), {**ROWS, 2: (20, 21), 9: (90, 91)})
        self.verify()

    def test_the_last_of_an_id_wins_however_the_batches_fall(self):
        text = "id,a,b\n5,1,1\n2,2,2\n5,3,3\n2,4,4\n5,5,5\n"
        self.write("new.csv", text)
        for options in [["--batch", 1], ["--batch", 2], ["--batch", 100], ["--atomic"]]:
            with self.subTest(options):
                self.build()
                self.culmen("upsert", "index", "new.csv", "--id", "id", *options)
                self.assertEqual(self.table(), {**ROWS, 2: (4, 4), 5: (5, 5)})

    def test_an_id_twice_is_an_error_if_asked_for(self):
        self.build()
        self.write("new.csv", "id,a,b\n5,1,1\n2,2,2\n5,3,3\n")
        for partial in ([], ["--partial"]):
            upsert = ("upsert", "index", "new.csv", "--duplicates", "error", *partial)
            self.refused_and_unchanged(*upsert, code=2, says="needs --atomic")
            self.refused_and_unchanged(*upsert, "--atomic", code=3, says="found 5 again (first on line 2)")
        self.culmen("upsert", "index", "new.csv", "--duplicates", "last", "--atomic")
        self.assertEqual(self.table(), {**ROWS, 2: (2, 2), 5: (3, 3)})

    def test_rows_that_are_replaced_expire_by_their_new_values(self):
        self.build()
        self.write("new.csv", "id,a,b\n1,5,-1\n3,0,0\n9,0,0\n")
        _, err = self.culmen("upsert", "index", "new.csv", "--expire", "a<3")
        self.assertIn("1 row inserted, 2 replaced\n  3 rows expired\n", err)
        self.assertEqual(self.table(), {1: (5, -1)})
        self.refused_and_unchanged(
            "upsert", "index", "new.csv", "--partial", "--expire", "a<9", code=2, says="--partial"
        )

    def test_names_the_ids_whose_new_rows_are_dropped(self):
        self.write("new.csv", "id,a,b\n2,,5\n3,7,7\n8,nan,1\n1,,1\n,1,1\n1,4,4\n")
        for options in (["--atomic"], ["--batch", 100], ["--partial"]):
            with self.subTest(options):
                self.build()
                if options == ["--partial"]:
                    self.write("new.csv", "id,a\n2,\n3,7\n")
                _, err = self.culmen("upsert", "index", "new.csv", "--nulls", "drop", *options)
                self.assertIn(
                    "for missing or infinite values\n  1 id keeps its row, since the new one was dropped: 2\n", err
                )
                self.assertEqual(self.table()[2], (2, -2))
                self.verify()
        self.build()
        self.write("new.csv", "id,a,b\n2,,5\n1,inf,1\n")
        version = self.info()["version"]
        _, err = self.culmen("upsert", "index", "new.csv", "--nulls", "drop")
        self.assertIn("  2 ids keep their rows, since the new ones were dropped: 1, 2\n", err)
        self.assertEqual((self.table(), self.info()["version"]), (ROWS, version))
        _, err = self.culmen("upsert", "index", "new.csv", "--nulls", "drop", "-q")
        self.assertEqual(err, "")

    def test_names_some_of_many_ids_over_shards_too(self):
        rows = "".join(f"r{i:02},{i}\n" for i in range(30))
        new = "id,a\n" + "".join(f"r{i:02},\n" for i in range(15, 45))
        self.write("new.csv", new)
        listed = ", ".join(f'"r{i}"' for i in range(15, 25))
        for shards in ([], ["--shards", 3]):
            self.write("old.csv", "id,a\n" + rows)
            directory = f"index{len(shards)}"
            self.culmen("build", "old.csv", "-o", directory, "--id", "id", *shards)
            _, err = self.culmen("upsert", directory, "new.csv", "--nulls", "drop")
            self.assertIn(f"15 ids keep their rows, since the new ones were dropped: {listed} and 5 more\n", err)

    def test_a_file_without_some_columns_names_partial(self):
        self.build()
        self.write("new.csv", "id,a\n2,5\n")
        self.refused(
            "upsert", "index", "new.csv", code=2, says='no column "b"; the columns are "id", "a" (--partial keeps'
        )
        for wrong in (("insert", "index", "new.csv"), ("upsert", "index", "new.csv", "--id", "key")):
            self.assertNotIn("--partial", self.culmen(*wrong, code=2)[1])

    def test_needs_ids(self):
        self.build()
        self.write("new.csv", "a,b\n1,1\n")
        self.refused_and_unchanged("upsert", "index", "new.csv", code=2, says="--id COLUMN")

    def test_replaces_the_label_too(self):
        self.build_labels()
        self.write("new.csv", "id,name,a\n1,uno,1\n")
        self.culmen("upsert", "index", "new.csv", "--id", "id", "--label", "name")
        self.assertEqual(self.labels(), {1: "uno", 2: "two"})
        self.culmen("upsert", "index", "new.csv", "--id", "id", "--no-labels")
        self.assertEqual(self.labels(), {1: "", 2: "two"})

    def test_may_be_said_again(self):
        self.build()
        self.write("new.csv", "id,a,b\n2,20,21\n9,90,91\n")
        for _ in range(3):
            self.culmen("upsert", "index", "new.csv", "--id", "id")
            self.assertEqual(self.table(), {**ROWS, 2: (20, 21), 9: (90, 91)})


class DeleteTest(IndexCase):
    def delete(self, *options, **more):
        out, err = self.culmen("delete", "index", *options, **more)
        self.assertEqual(err, "")
        return out

    def test_by_ids(self):
        self.build()
        self.assertEqual(self.delete("--ids", "1,3"), "index: 2 rows deleted\n")
        self.assertEqual(self.table(), {2: (2, -2)})
        self.verify()

    def test_ids_that_are_not_there_are_passed_over_and_counted(self):
        self.build()
        self.assertEqual(self.delete("--ids", "-5,2,77,2"), "index: 1 row deleted; 2 of the 3 ids were not there\n")
        self.assertEqual(self.delete("--ids", "2"), "index: 0 rows deleted; 1 of the 1 id was not there\n")
        self.assertEqual(sorted(self.table()), [1, 3])

    def test_by_a_file_of_ids(self):
        self.build()
        self.write("ids.txt", "\n 3 \r\n\n1")
        self.assertEqual(self.delete("--ids-file", "ids.txt"), "index: 2 rows deleted\n")
        self.assertEqual(self.delete("--ids-file", "-", stdin="\ufeff2\n"), "index: 1 row deleted\n")
        self.assertEqual(self.table(), {})

    def test_an_empty_file_of_ids_deletes_nothing(self):
        self.build()
        before = self.info()["version"]
        self.assertEqual(self.delete("--ids-file", "-", stdin=""), "index: 0 rows deleted\n")
        self.assertEqual(self.info()["version"], before)

    def test_where_takes_the_rows_that_a_query_would(self):
        self.build("a,b\n" + "".join(f"{i},{i % 7}\n" for i in range(500)), "--leaf-rows", "16")
        self.assertEqual(self.delete("--where", "a<100 and b>=5"), "index: 28 rows deleted\n")
        self.assertEqual(self.table(), {i: (i, i % 7) for i in range(500) if not (i < 100 and i % 7 >= 5)})
        self.verify()

    def test_where_may_match_nothing_or_everything(self):
        self.build()
        before = self.info()["version"]
        self.assertEqual(self.delete("--where", "a>3"), "index: 0 rows deleted\n")
        self.assertEqual(self.info()["version"], before)
        self.assertEqual(self.delete("--where", "a>=1"), "index: 3 rows deleted\n")
        self.assertEqual(self.table(), {})
        self.assertEqual(self.delete("--where", "a>=1"), "index: 0 rows deleted\n")
        self.verify()

    def test_an_index_that_lost_all_its_rows_takes_new_ones(self):
        self.build()
        self.delete("--where", "a>=1")
        self.write("new.csv", "a,b\n7,8\n")
        self.culmen("insert", "index", "new.csv")
        self.assertEqual(self.table(), {4: (7, 8)})

    def test_where_finds_rows_that_miss_values(self):
        self.write("t.csv", "id,a,b\n1,,5\n2,7,6\n3,,\n4,8,\n")
        self.culmen("build", "t.csv", "-o", "gaps", "--id", "id", "--attributes", "a,b", "-q")
        for where, count in [("a is null", 2), ("b is null", 2), ("b > 0", 2), ("id > 0", 4), ("a > 0", 2)]:
            out = self.culmen("delete", "gaps", "--where", where, "--dry-run")[0]
            self.assertIn(f"gaps: {count} rows would be deleted", out)

    def test_dry_run_counts_and_leaves_everything(self):
        self.build()
        before = self.snapshot("index")
        self.assertEqual(self.delete("--where", "a>1", "--dry-run"), "index: 2 rows would be deleted\n")
        self.assertEqual(
            self.delete("--ids", "3,4", "--dry-run"), "index: 1 row would be deleted; 1 of the 2 ids were not there\n"
        )
        self.assertEqual(self.snapshot("index"), before)

    def test_refuses_what_it_does_not_understand_and_changes_nothing(self):
        self.build()
        self.write("ids.txt", "1\ntwo\n")
        self.write("long.txt", "1" * 1000)
        cases = [
            ([], 2, "--where"),
            (["--ids", "1", "--where", "a>1"], 2, "--ids"),
            (["--ids", ""], 2, "--ids"),
            (["--ids", "1,,2"], 2, "--ids"),
            (["--ids", "1,x"], 2, 'found "x"'),
            (["--ids", "1.0"], 2, "1.0"),
            (["--ids", "9223372036854775808"], 2, "9223372036854775808"),
            (["--where", " "], 2, "every row"),
            (["--where", "c>1"], 2, "a, b"),
            (["--where", "a>"], 2, "a>"),
            (["--ids-file", "ids.txt"], 3, "ids.txt:2"),
            (["--ids-file", "long.txt"], 3, "long.txt:1"),
            (["--ids-file", "missing"], 1, "missing"),
            (["--ids-file", "."], 1, "cannot read"),
            (["--ids", "1", "--durability", "x"], 2, "sync"),
        ]
        for options, code, says in cases:
            with self.subTest(options):
                self.refused_and_unchanged("delete", "index", *options, code=code, says=says)
        self.refused("delete", "missing", "--ids", "1", code=1, says="missing")


def feeding(*arguments, directory, **options):
    """The program with a pipe to its standard input."""
    return subprocess.Popen(
        [PROGRAM, *map(str, arguments)],
        cwd=directory,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,
    )


class StreamTest(IndexCase):
    def wait_for_rows(self, num_rows):
        for _ in range(600):
            if self.info()["rows"] == num_rows:
                return
            time.sleep(0.05)
        self.fail(f"the index never had {num_rows} rows")

    def send(self, process, text):
        process.stdin.write(text.encode())
        process.stdin.flush()

    def test_rows_are_visible_while_the_stream_goes_on(self):
        self.build()
        with feeding("insert", "index", "-", "--batch", 2, directory=self.dir) as process:
            self.send(process, "a,b\n4,-4\n5,-5\n")
            self.wait_for_rows(5)
            self.send(process, "6,-6\n")
            self.wait_for_rows(6)  # after a pause, though the batch is not full
            self.send(process, "7,-7\n8,-8\n9,-9")
            _, err = process.communicate(timeout=60)
        self.assertEqual((process.returncode, self.table()), (0, {id: (id, -id) for id in range(1, 10)}), err)

    def test_rows_are_visible_after_the_longest_delay(self):
        """However short the pauses between them are, and long after."""
        self.build()
        with feeding("insert", "index", "-", "--max-delay", "300ms", directory=self.dir) as process:
            self.send(process, "a,b\n4,-4\n")
            for number in range(5, 500):
                if self.info()["rows"] > 5:
                    break
                self.send(process, f"{number},-{number}\n")
                time.sleep(0.02)
            self.assertGreater(self.info()["rows"], 5)
            self.send(process, "1000,-1000\n")
            self.wait_for_rows(number)  # nothing else comes
            process.stdin.close()
            self.assertEqual(process.wait(timeout=60), 0)

    def test_a_compressed_pipe_has_no_longest_delay(self):
        self.build()
        os.mkfifo(self.dir / "feed.csv.gz")
        writer = threading.Thread(target=lambda: open(self.dir / "feed.csv.gz", "wb").close())  # once it is being read
        writer.start()
        self.refused("insert", "index", "feed.csv.gz", "--max-delay", "1s", code=2, says="a compressed pipe")
        writer.join()

    def test_ctrl_c_between_batches_says_what_is_in(self):
        self.build()
        with feeding("insert", "index", "-", "--batch", 2, directory=self.dir) as process:
            wait_until_sigint_is_caught(process.pid)
            self.send(process, "a,b\n4,-4\n5,-5\n")
            self.wait_for_rows(5)
            process.send_signal(signal.SIGINT)  # and no more input
            self.assertEqual(process.wait(timeout=60), 130)
            out, err = process.stdout.read(), process.stderr.read().decode()
        self.assertEqual(out, b"")
        self.assertRegex(
            err, r"\Aculmen: interrupted\nculmen: the first 2 rows of standard input went into index;.*\n\Z"
        )
        self.assertEqual(len(self.table()), 5)
        self.verify()

    def test_ctrl_c_before_the_first_batch_leaves_the_index_alone(self):
        self.build()
        with feeding("insert", "index", "-", directory=self.dir) as process:
            wait_until_sigint_is_caught(process.pid)
            self.send(process, "a,b\n4,-4\n")
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(timeout=60), 130)
            err = process.stderr.read()
        self.assertIn(b"culmen: interrupted\n", err)
        self.assertLessEqual(len(self.table()), 4)  # one row more if it had waited for a second

    def test_a_killed_writer_leaves_its_batches_and_no_lock(self):
        self.build()
        with feeding("insert", "index", "-", "--batch", 2, directory=self.dir) as process:
            self.send(process, "a,b\n4,-4\n5,-5\n6,-6\n7,-7\n")
            self.wait_for_rows(7)
            process.kill()
            process.communicate(timeout=60)
        self.assertEqual(self.table(), {id: (id, -id) for id in range(1, 8)})
        self.write("new.csv", "a,b\n8,-8\n")
        self.culmen("insert", "index", "new.csv")
        self.assertEqual(self.table(), {id: (id, -id) for id in range(1, 9)})
        self.verify()

    def test_writers_killed_at_any_time_leave_whole_batches(self):
        self.build("a,b\n")
        rows = "".join(f"{i},{-i}\n" for i in range(4000))
        source = random.Random(8)
        num_rows = 0
        for _ in range(10):
            with feeding("insert", "index", "-", "--batch", 10, directory=self.dir) as process:
                time.sleep(source.random() * 0.05)
                timer = source.random() * 0.1
                self.send(process, "a,b\n" + rows)
                time.sleep(timer)
                process.kill()
                process.communicate(timeout=60)
            found = self.table()
            self.assertGreaterEqual(len(found), num_rows)
            self.assertEqual(len(found) % 10, 0)
            added = sorted(found)[num_rows:]
            self.assertEqual([found[id] for id in added], [(i, -i) for i in range(len(added))])
            num_rows = len(found)
        self.verify()

    @unittest.skipIf(SANITIZED, "sanitizers have memory of their own")
    def test_memory_does_not_grow_with_the_stream(self):
        names = [f"a{i}" for i in range(8)]
        row = ",".join(["123456"] * 8)

        def peak_memory(num_rows):
            self.build(f"id,{','.join(names)}\n")
            read_end, write_end = os.pipe()
            pid = os.fork()
            if pid == 0:
                os.close(write_end)
                os.dup2(read_end, 0)
                os.chdir(self.dir)
                os.execv(PROGRAM, [PROGRAM, "upsert", "index", "-", "--id", "id", "-q", "--durability", "os"])
            os.close(read_end)
            with os.fdopen(write_end, "w") as stdin:
                stdin.write(f"id,{','.join(names)}\n")
                for begin in range(0, num_rows, 1000):  # the same thousand rows again and again
                    stdin.write("".join(f"{i},{row}\n" for i in range(min(1000, num_rows - begin))))
            _, status, usage = os.wait4(pid, 0)
            self.assertEqual(os.waitstatus_to_exitcode(status), 0)
            self.assertEqual(self.info()["rows"], 1000)
            return usage.ru_maxrss

        short, long = peak_memory(50_000), peak_memory(1_000_000)
        self.assertLess(long - short, 32 << 10)  # KiB; the text alone is 60 MB longer


class LogTest(IndexCase):
    def test_every_command_reads_the_log(self):
        self.build()
        self.write("new.csv", "a,b\n4,-4\n")
        for _ in range(3):
            self.culmen("insert", "index", "new.csv")
        info = self.info()
        self.assertEqual((info["rows"], info["log_batches"], info["log_dropped_bytes"]), (6, 3, 0))
        out, _ = self.culmen("info", "index")
        self.assertRegex(out, r"\nlog +3 batches\n")
        self.assertRegex(out, r"\nversion +\d+\n")
        out, _ = self.culmen("verify", "index")
        self.assertEqual(out, "index: no fault found in 6 rows\nindex: 3 batches of the log applied\n")
        self.assertEqual(len(self.table()), 6)

    def test_versions_count_batches(self):
        self.build()
        before = self.info()["version"]
        self.write("new.csv", "a,b\n" + "4,-4\n" * 10)
        self.culmen("insert", "index", "new.csv", "--batch", 5)
        self.assertEqual(self.info()["version"], before + 2)
        self.culmen("delete", "index", "--ids", "1")
        self.assertEqual(self.info()["version"], before + 3)

    def test_an_unfinished_end_of_the_log_is_left_out_and_counted(self):
        self.build()
        self.write("new.csv", "a,b\n4,-4\n")
        self.culmen("insert", "index", "new.csv")
        log = self.newest_log()
        with open(log, "ab") as file:
            file.write(b"\x01" * 100)
        out, _ = self.culmen("verify", "index")
        self.assertIn("no fault found in 4 rows", out)
        self.assertIn(f"{log.name}: 100 bytes at its end skipped, as they are no whole batch", out)
        self.assertEqual(self.info()["log_dropped_bytes"], 100)
        self.culmen("insert", "index", "new.csv")  # which truncates them
        self.assertEqual((self.info()["log_dropped_bytes"], len(self.table())), (0, 5))

    def newest_log(self):
        return max(
            (path for path in self.files("index") if path.name.startswith("WAL")),
            key=lambda path: int(re.sub(r"\D", "", path.name)),
        )


class PermissionsTest(IndexCase):
    def modes(self, directory):
        paths = [self.dir / directory, *(self.dir / directory).iterdir()]
        return {(path.is_dir(), path.stat().st_mode & 0o7777) for path in paths}

    def test_files_and_directories_are_made_as_the_umask_says(self):
        self.write("new.csv", "a,b\n9,9\n")
        for mask in [0o002, 0o022, 0o077]:
            with self.subTest(mask=oct(mask)):
                under_mask = {"preexec_fn": lambda mask=mask: os.umask(mask)}
                expected = {(True, 0o777 & ~mask), (False, 0o666 & ~mask)}
                self.write("table.csv", TABLE)
                self.culmen("build", "table.csv", "-o", "index", "--id", "id", **under_mask)
                self.assertEqual(self.modes("index"), expected)
                for command in [
                    ["insert", "index", "new.csv"],
                    ["compact", "index"],
                    ["delete", "index", "--ids", "1"],
                    ["build", "table.csv", "-o", "index", "--id", "id", "--force"],
                ]:
                    self.culmen(*command, **under_mask)
                    self.assertEqual(self.modes("index"), expected, command)
                self.culmen("repair", "index", "-o", "mended", **under_mask)
                self.assertEqual(self.modes("mended"), expected)
                shutil.rmtree(self.dir / "index")
                shutil.rmtree(self.dir / "mended")


class WritersTest(IndexCase):
    def test_a_second_writer_is_refused_and_readers_are_not(self):
        self.build()
        self.write("new.csv", "a,b\n9,9\n")
        with feeding("insert", "index", "-", directory=self.dir) as process:
            wait_until_sigint_is_caught(process.pid)
            time.sleep(0.5)  # for the lock
            for command in [
                ["insert", "index", "new.csv"],
                ["upsert", "index", "new.csv", "--id", "a"],
                ["delete", "index", "--ids", "1"],
                ["compact", "index"],
                ["build", "table.csv", "-o", "index", "--force"],
            ]:
                with self.subTest(command):
                    self.refused(*command, code=1, says=str(process.pid))
            self.assertEqual(self.table(), ROWS)
            self.assertEqual(
                self.culmen("delete", "index", "--ids", "1", "--dry-run")[0], "index: 1 row would be deleted\n"
            )
            self.verify()
            process.stdin.write(b"a,b\n4,-4\n")
            process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0)
        self.culmen("delete", "index", "--ids", "1")
        self.assertEqual(sorted(self.table()), [2, 3, 4])

    def test_a_directory_that_cannot_be_written_is_an_error(self):
        if os.geteuid() == 0:
            self.skipTest("root may write anywhere")
        self.build()
        self.write("new.csv", "a,b\n9,9\n")
        os.chmod(self.dir / "index", 0o555)
        self.addCleanup(os.chmod, self.dir / "index", 0o755)
        self.refused("insert", "index", "new.csv", code=1, says="index")


class UnsignedIdsTest(Case):
    """Ids up to 2^64 - 1, of an index and of a sharded one."""

    LARGE, LARGEST = 2**63, 2**64 - 1

    def build(self, *options):
        self.write("table.csv", f"id,a\n{self.LARGEST},1\n7,1\n{self.LARGE},1\n8,2\n")
        shutil.rmtree(self.dir / "index", ignore_errors=True)
        self.culmen("build", "table.csv", "-o", "index", "--id", "id", *options)

    def each(self):
        """Builds each kind of index, and yields when it is there."""
        for options in ((), ("--shards", "3")):
            self.build(*options)
            yield

    def ids(self, *options):
        out = self.culmen("query", "index", "-w", "a=1", "--format", "csv", *options)[0]
        return [int(row["id"]) for row in csv.DictReader(io.StringIO(out))]

    def test_answers(self):
        for _ in self.each():
            self.assertIn("uint64", self.culmen("info", "index")[0])
            self.assertEqual(json.loads(self.culmen("info", "index", "--json")[0])["id_type"], "uint64")
            self.assertEqual(self.ids(), [8, 7, self.LARGE, self.LARGEST])
            self.assertEqual(self.ids("--after", f"1,{self.LARGE}"), [self.LARGEST])
            self.assertEqual(self.ids("--where", f"id > {self.LARGE - 1}"), [self.LARGE, self.LARGEST])
            self.assertEqual(self.ids("--where", "id < 8.5"), [8, 7])
            self.write("ids.txt", f"{self.LARGEST}\n8\n")
            self.assertEqual(self.ids("--ids-file", "ids.txt"), [8, self.LARGEST])
            self.assertEqual(self.ids("--not-ids-file", "ids.txt"), [7, self.LARGE])
            out = self.culmen("query", "index", "-w", "a=1", "--rank-of", f"{self.LARGEST},7")[0]
            self.assertEqual(out, f"id {self.LARGEST}: rank 4, score 1\nid 7: rank 2, score 1\n")
            out = self.culmen("query", "index", "-w", "a=1", "--why", f"{self.LARGE}", "--format", "json")[0]
            self.assertEqual(json.loads(out)["rows"][0]["id"], self.LARGE)
            answer = json.loads(self.culmen("query", "index", "-w", "a=1", "--format", "json")[0])["queries"][0]
            self.assertEqual([row["id"] for row in answer["results"]], [8, 7, self.LARGE, self.LARGEST])
            self.assertEqual(answer["after"], f"1,{self.LARGEST}")
            self.assertIn(f"{self.LARGEST}", self.culmen("query", "index", "-w", "a=1", "--format", "table")[0])

    def test_arrays(self):
        self.build()
        for command in (["query", "index", "-w", "a=1", "-o", "ids.npy"], ["export", "index", "ids.npy"]):
            self.culmen(*command)
            data = (self.dir / "ids.npy").read_bytes()
            header = ast.literal_eval(data[10 : data.index(b"\n")].decode())
            self.assertEqual(header["descr"][0], ("id", "<u8"))
            values = data[data.index(b"\n") + 1 :]
            ids = {struct.unpack_from("<Q", values, 16 * row)[0] for row in range(4)}
            self.assertEqual(ids, {7, 8, self.LARGE, self.LARGEST})

    def test_changes(self):
        for _ in self.each():
            out = self.culmen("get", "index", "--ids", f"{self.LARGEST},9,{self.LARGE}")[0]
            self.assertEqual(out, f"id,a\n{self.LARGEST},1\n{self.LARGE},1\n")
            self.write("new.csv", f"id,a\n{self.LARGEST},5\n3,0\n")
            self.assertIn("1 row inserted, 1 replaced", self.culmen("upsert", "index", "new.csv")[1])
            self.assertEqual(self.ids(), [self.LARGEST, 8, 7, self.LARGE, 3])
            self.refused("insert", "index", "new.csv", code=3, says=f"id {self.LARGEST} is already in the index")
            self.culmen("delete", "index", "--ids", f"{self.LARGEST},7,6")
            self.assertEqual(self.ids(), [8, self.LARGE, 3])
            rows = self.culmen("export", "index")[0]
            self.assertEqual(sorted(rows.split()[1:]), sorted(["8,2", f"{self.LARGE},1", "3,0"]))
            self.culmen("compact", "index")
            self.culmen("verify", "index")
            self.assertEqual(self.ids(), [8, self.LARGE, 3])

    def test_refusals(self):
        for _ in self.each():
            self.refused("get", "index", "--ids", "-1", code=2, says="expected an integer from 0 to 2^64 - 1")
            self.refused("get", "index", "--ids", f"{2**64}", code=2, says="expected an integer from 0 to 2^64 - 1")
            self.write("new.csv", "id,a\n-1,5\n")
            self.refused("insert", "index", "new.csv", code=3, says="beyond the range of uint64")
            self.write("new.csv", "a\n5\n")
            self.refused("insert", "index", "new.csv", code=2, says="give the rows ids")
        self.write("table.csv", f"id,a\n-1,1\n{self.LARGE},1\n")
        self.refused("build", "table.csv", "-o", "mixed", "--id", "id", code=3, says="none is negative")
        self.write("table.csv", f"id,a\n1,1\n{self.LARGE},1\n")
        self.refused("build", "table.csv", "-o", "mixed", "--id", "id", "--id-type", "int64", code=3,
                     says="beyond the range of int64")  # fmt: skip
        self.write("table.csv", "id,a\n1,1\n2,1\n")
        self.culmen("build", "table.csv", "-o", "small", "--id", "id")
        self.write("new.csv", f"id,a\n{self.LARGE},5\n")
        self.refused("insert", "small", "new.csv", code=3, says="need an index of uint64 ids")
        self.culmen("build", "table.csv", "-o", "small", "--id", "id", "--force", "--id-type", "uint64")
        self.culmen("insert", "small", "new.csv")
        self.assertIn(f"{self.LARGE},5", self.culmen("export", "small")[0])


class TextIdsTest(Case):
    """Ids that are texts: with commas, quotes and line ends in them, empty, beyond ASCII."""

    IDS = ["B-2", "a,b", 'say "x"', '"x" is said', "two\nlines", "", "é", "A-10", "A-9"]

    def table(self, rows, name="table.csv"):
        text = io.StringIO()
        csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC).writerows([["sku", "a"], *rows])
        self.write(name, text.getvalue())

    def build(self, *options):
        self.table([(sku, 1) for sku in self.IDS])
        shutil.rmtree(self.dir / "index", ignore_errors=True)
        return self.culmen("build", "table.csv", "-o", "index", "--id", "sku", *options)[1]

    def ids(self, *options):
        out = self.culmen("query", "index", "-w", "a=1", "--format", "csv", *options)[0]
        return [row["id"] for row in csv.DictReader(io.StringIO(out, newline=""))]

    def test_answers(self):
        in_order = sorted(self.IDS, key=str.encode)
        for options in (), ("--id-type", "text"):
            self.assertIn("ids are texts", self.build(*options))
            self.assertIn("texts from the column sku", self.culmen("info", "index")[0])
            info = json.loads(self.culmen("info", "index", "--json")[0])
            self.assertEqual((info["id_type"], info["labels"]), ("text", False))
            self.assertEqual(self.ids(), in_order)
            self.assertEqual(self.ids("--after", "1,a,b"), in_order[in_order.index("a,b") + 1 :])
            self.assertEqual(self.ids("--after", "1,A-95"), in_order[in_order.index("A-9") + 1 :])  # no row has it
            self.assertEqual(self.ids("--where", "id in ('A-9', 'a,b', 'none') or sku > 'z'"), ["A-9", "a,b", "é"])
            self.assertEqual(self.ids("--where", "id like 'A-%'"), ["A-10", "A-9"])
            for ids in ("", "A-9,", "A-9, ,B-2"):
                self.refused("get", "index", "--ids", ids, code=2, says="expected an id")
            self.write("ids.txt", "A-9\na,b\nnone\n")
            self.assertEqual(self.ids("--ids-file", "ids.txt"), ["A-9", "a,b"])
            lines = io.StringIO()
            csv.writer(lines, lineterminator="\n").writerows([sku] for sku in self.IDS)
            self.write("printed.txt", lines.getvalue())
            self.assertEqual(self.ids("--ids-file", "printed.txt"), in_order)
            for wrong, says in (('"A-9\n', "not closed"), ('A-9\n"B-2" x\n', "text 2: expected the end")):
                self.write("wrong.txt", wrong)
                self.refused("query", "index", "-w", "a=1", "--ids-file", "wrong.txt", code=3, says=says)
            self.assertEqual(self.ids("--not-ids-file", "ids.txt"), [i for i in in_order if i not in ("A-9", "a,b")])
        ask = ("query", "index", "-w", "a=1")
        self.assertEqual(
            self.culmen(*ask, "--rank-of", "A-9,B-2")[0], "id A-9: rank 4, score 1\nid B-2: rank 5, score 1\n"
        )
        out = json.loads(self.culmen(*ask, "--rank-of", "é", "--format", "json")[0])
        self.assertEqual(out["rows"][0]["id"], "é")
        out = json.loads(self.culmen(*ask, "--why", "A-9,é", "--format", "json")[0])
        self.assertEqual([row["id"] for row in out["rows"]], ["A-9", "é"])
        answer = json.loads(self.culmen(*ask, "--format", "json", "-k", "5")[0])["queries"][0]
        self.assertEqual([row["id"] for row in answer["results"]], in_order[:5])
        self.assertNotIn("label", answer["results"][0])
        self.assertEqual(self.ids("--after", answer["after"]), in_order[5:])
        self.check_cursors(in_order)
        self.refused(*ask, "--after", "1,", code=2, says='found "1,"; an id that is an empty text')
        self.assertEqual(self.ids("--after", '1,""'), in_order[1:])
        self.assertIn('say "x"', self.culmen(*ask, "--format", "table")[0])

    def check_cursors(self, in_order):
        """Each place as CSV has it, and as the answer in JSON names it."""
        for i, sku in enumerate(in_order):
            csv_cell = '"' + sku.replace('"', '""') + '"'
            self.assertEqual(self.ids("--after", f"1,{csv_cell}"), in_order[i + 1 :])
            out = self.culmen("query", "index", "-w", "a=1", "--format", "json", "-k", i + 1)[0]
            self.assertEqual(self.ids("--after", json.loads(out)["queries"][0]["after"]), in_order[i + 1 :])
        for wrong in ('1,"a', '1,"a"b', '1,"'):
            self.refused("query", "index", "-w", "a=1", "--after", wrong, code=2, says="in quotes, as in CSV")

    def test_changes(self):
        self.build()
        self.assertEqual(self.culmen("get", "index", "--ids", "B-2,C-3")[0], "sku,a\nB-2,1\n")
        self.table([("B-2", 5), ("C-3", 0)], "new.csv")
        self.refused("insert", "index", "new.csv", code=3, says='id "B-2" is already in the index')
        self.assertIn("1 row inserted, 1 replaced", self.culmen("upsert", "index", "new.csv")[1])
        self.assertEqual(self.ids("-k", "1"), ["B-2"])
        self.culmen("delete", "index", "--ids", "A-9,none")
        self.culmen("delete", "index", "--where", "a = 5")
        rows = self.culmen("export", "index")[0]
        left = {sku for sku in [*self.IDS, "C-3"] if sku not in ("A-9", "B-2")}
        self.assertEqual({row["sku"] for row in csv.DictReader(io.StringIO(rows, newline=""))}, left)
        self.write("rows.csv", rows)  # what export writes, build reads
        self.culmen("compact", "index")
        self.culmen("verify", "index", "--deep")
        before = self.ids()
        self.culmen("build", "rows.csv", "-o", "index", "--id", "sku", "--force")
        self.assertEqual(self.ids(), before)
        self.write("part.csv", "sku,a\nC-3,4\n")
        self.culmen("upsert", "index", "part.csv", "--partial")
        self.assertEqual(self.ids("-k", "1"), ["C-3"])

    def test_other_files(self):
        self.write("rows.jsonl", '{"sku": "x", "a": 1}\n{"sku": "w", "a": 1}\n')
        self.culmen("build", "rows.jsonl", "-o", "index", "--id", "sku")
        self.assertEqual(self.ids(), ["w", "x"])
        # Texts in a column that is found to hold numbers only at its end: the file is read twice.
        self.write("late.csv", "sku,a,b\n" + "".join(f"k{i},1,1\n" for i in range(3000)) + "last,1,x\n")
        self.culmen("build", "late.csv", "-o", "index", "--id", "sku", "--attributes", "a", "--force")
        self.assertEqual(self.culmen("get", "index", "--ids", "last")[0], "sku,a,b\nlast,1,x\n")

    def test_refusals(self):
        self.build()
        for command in ("insert", "upsert"):
            self.write("new.csv", "a\n5\n")
            self.refused(command, "index", "new.csv", code=2, says="name the column of ids with --id COLUMN")
        self.refused("query", "index", "-w", "a=1", "-o", "ids.npy", code=2, says="write csv, json or jsonl")
        self.refused("export", "index", "ids.npy", code=2, says="ids that are texts: write csv or jsonl\n")
        self.refused("query", "index", "-w", "a=1", "--where", "id = 7", code=2, says="id holds texts")
        self.refused("query", "index", "-w", "a=1", "--why", "none", code=2, says='no row with the id "none"')
        self.table([("x", 1), ("y", 2), ("x", 3)])
        self.refused(
            "build",
            "table.csv",
            "-o",
            "twice",
            "--id",
            "sku",
            code=3,
            says='table.csv:4: id "x" stands in row 1 as well; ids must be unique',
        )
        self.culmen("build", "table.csv", "-o", "twice", "--id", "sku", "--duplicates", "last")
        self.assertEqual(self.culmen("get", "twice", "--ids", "x")[0], "sku,a\nx,3\n")
        self.write("table.csv", f"sku,a\n{'x' * 40_000},1\n")
        says = "table.csv:2: the id has 40000 bytes"
        self.refused("build", "table.csv", "-o", "long", "--id", "sku", code=3, says=says)
        self.write("table.csv", "sku,a,name\nx,1,n\n")
        self.refused("build", "table.csv", "-o", "named", "--id", "sku", "--label", "name", code=2,
                     says="has no labels besides")  # fmt: skip
        self.write("table.csv", "id,a\n" + "".join(f"{i},1\n" for i in range(9)) + "x,1\n")
        self.refused("build", "table.csv", "-o", "mixed", "--id", "id", code=3, says="expected a 64-bit integer")


class RoundTripTest(IndexCase):
    """What get writes, upsert reads, without options."""

    def check(self, text, ids, *options):
        self.write("table.csv", text)
        self.culmen("build", "table.csv", "-o", "index", "--force", *options)
        ask = ["get", "index", "--ids", ids]
        before = self.culmen(*ask)[0]
        self.culmen(*ask, "-o", "rows.csv")
        self.assertIn("0 rows inserted, 2 replaced", self.culmen("upsert", "index", "rows.csv")[1])
        self.assertEqual(self.culmen(*ask)[0], before)
        self.culmen("delete", "index", "--ids", ids)
        self.culmen("insert", "index", "rows.csv")
        self.assertEqual(self.culmen(*ask)[0], before)
        return before

    def test_of_named_ids_and_labels(self):
        self.check("key,name,a\n5,x,1\n7,y,100000\n", "7,5", "--id", "key", "--label", "name")

    def test_of_ids_without_a_column(self):
        self.assertTrue(self.check("a,b\n1,x\n2,\n", "0,1").startswith("id,a,b\n"))

    def test_of_columns_called_like_the_id(self):
        self.assertTrue(self.check("id,row.id\n1,x\n2,y\n", "1,0").startswith("row.row.id,id,row.id\n"))
        self.check("id,a\n1,5\n2,6\n", "1,2", "--id", "id", "--attributes", "id,a")

    def test_of_numbers_of_every_size(self):
        numbers = ["100000.5", "1e15", "1e16", "0.00001", "123456789012345680", "1e-7", "-2.5e300"]
        text = "a,b\n" + "".join(f"{number},{number}\n" for number in numbers[:2])
        self.check(text, "0,1", "--attributes", "a")


class CompactTest(IndexCase):
    def test_says_what_it_was_and_what_it_is(self):
        self.build("a,b\n" + "".join(f"{i},{-i}\n" for i in range(200)), "--leaf-rows", "16")
        self.culmen("delete", "index", "--where", "a>=20")
        out, err = self.culmen("compact", "index")
        self.assertEqual(out, "")
        self.assertRegex(
            err,
            r"\Aindex: 20 rows, compacted in .*\n  before: \d+ leaves?, .* on disk\n  after:  2 leaves, .* on disk\n\Z",
        )
        self.assertEqual(self.table(), {i: (i, -i) for i in range(20)})
        self.assertEqual(self.info()["log_batches"], 0)
        self.verify()

    def test_an_index_without_rows(self):
        self.build("a,b\n", "--leaf-rows", "16")
        for _ in range(2):
            self.assertIn("index: 0 rows, compacted", self.culmen("compact", "index")[1])
        self.write("new.csv", "a,b\n1,2\n")
        self.culmen("insert", "index", "new.csv")
        self.culmen("delete", "index", "--ids", "0")
        self.assertIn("index: 0 rows, compacted", self.culmen("compact", "index")[1])
        self.verify()

    def test_ids_are_not_given_out_again_afterwards(self):
        self.build()
        self.culmen("delete", "index", "--ids", "3")
        self.culmen("compact", "index")
        self.write("new.csv", "a,b\n4,-4\n")
        self.culmen("insert", "index", "new.csv")
        self.assertEqual(sorted(self.table()), [1, 2, 4])

    def test_refuses_what_is_no_index(self):
        self.refused("compact", "missing", code=1, says="missing")


class RepairTest(IndexCase):
    def build_changed(self):
        """A snapshot on disk, and a log after it."""
        self.build("a,b\n" + "".join(f"{i},{-i}\n" for i in range(300)), "--leaf-rows", "16")
        self.write("new.csv", "a,b\n" + "".join(f"{i},{-i}\n" for i in range(300, 320)))
        self.culmen("insert", "index", "new.csv", "--batch", 5)
        self.culmen("delete", "index", "--ids", "0,7,310")
        return self.table()

    def test_a_sound_index_is_copied_whole(self):
        rows = self.build_changed()
        before = self.snapshot("index")
        out, err = self.culmen("repair", "index", "-o", "mended")
        self.assertEqual(out, "mended: 317 rows kept; 5 batches of the log applied; nothing was skipped\n")
        self.assertEqual((err, self.snapshot("index")), ("", before))
        self.assertEqual(self.table(directory="mended"), rows)
        self.verify("mended")

    def test_whatever_is_damaged_what_is_left_is_sound(self):
        rows = self.build_changed()
        num_saved = num_lost = 0
        for path in self.files("index"):
            whole = path.read_bytes()
            for position in sorted({0, 9, len(whole) // 3, len(whole) // 2, len(whole) - 1}):
                with self.subTest(file=path.name, position=position):
                    damaged = bytearray(whole)
                    damaged[position] ^= 0x10
                    path.write_bytes(damaged)
                    done = subprocess.run(
                        [PROGRAM, "repair", "index", "-o", "mended"],
                        cwd=self.dir,
                        capture_output=True,
                        timeout=120,
                        check=False,
                    )
                    self.assertIn(done.returncode, [0, 3], done.stderr)
                    if (self.dir / "mended").exists():
                        kept = self.table(directory="mended")
                        self.verify("mended")
                        self.assertTrue(set(kept.items()) <= set(rows.items()) or self.is_of_an_earlier_time(kept))
                        self.assertEqual(
                            done.returncode, 0 if kept == rows and b"nothing was skipped" in done.stdout else 3
                        )
                        num_saved += 1
                        shutil.rmtree(self.dir / "mended")
                    else:
                        self.assertEqual((done.returncode, done.stdout), (3, b""))
                        self.assertRegex(done.stderr.decode(), r"\Aculmen: [^\n]+\n\Z")
                        num_lost += 1
                    path.write_bytes(whole)
        self.assertGreater(num_saved, num_lost)

    def is_of_an_earlier_time(self, kept):
        """If the log is damaged, deleted rows may reappear and recent ones may be missing."""
        return all((a, b) == (id, -id) and 0 <= id < 320 for id, (a, b) in kept.items())

    def test_names_what_it_left_out(self):
        self.build_changed()
        snapshot = [path for path in self.files("index") if path.name.startswith("SNAP")]
        largest = max(snapshot, key=lambda path: path.stat().st_size)
        damaged = bytearray(largest.read_bytes())
        damaged[len(damaged) // 2] ^= 1
        largest.write_bytes(damaged)
        self.refused("query", "index", "-w", "a=1", "-k", 9999, code=3, says=largest.name)
        out, err = self.culmen("repair", "index", "-o", "mended", code=3)
        self.assertEqual(err, "")
        *dropped, summary = out.splitlines()
        self.assertTrue(any(largest.name in line for line in dropped), out)
        self.assertRegex(summary, r"\Amended: \d+ rows kept, \d+ lost; 5 batches of the log applied\Z")

    def test_refuses_directories_that_are_taken(self):
        self.build()
        self.write("file", "")
        for name in ["index", "file"]:
            self.refused("repair", "index", "-o", name, code=2, says=name)
        self.refused("repair", "missing", "-o", "mended", code=1, says="missing")
        self.assertFalse((self.dir / "mended").exists())


class ChangesTest(IndexCase):
    def test_any_changes_leave_what_the_same_changes_of_a_dictionary_leave(self):
        for seed in range(2 if SANITIZED else 5):
            with self.subTest(seed=seed):
                self.run_changes(random.Random(seed))

    def run_changes(self, source):
        self.build("id,a,b\n", "--leaf-rows", "16")
        model = {}
        next_id = 0
        for _ in range(25):
            what = source.choice(["insert", "insert ids", "upsert", "upsert", "delete", "where", "compact"])
            num_rows = source.choice([0, 1, 5, 60])
            values = [(source.randrange(-99, 99), source.randrange(-9, 9)) for _ in range(num_rows)]
            batch = ["--batch", source.choice([1, 7, 1000])]
            if what == "insert":
                self.write("t.csv", "a,b\n" + "".join(f"{a},{b}\n" for a, b in values))
                self.culmen("insert", "index", "t.csv", *batch)
                model.update({next_id + i: value for i, value in enumerate(values)})
                next_id += len(values)
            elif what in ("insert ids", "upsert"):
                ids = source.sample(range(-200, 400), num_rows)
                if what == "insert ids":
                    ids = [id for id in ids if id not in model]
                rows = dict(zip(ids, values))
                self.write("t.csv", "b,a,id\n" + "".join(f"{b},{a},{id}\n" for id, (a, b) in rows.items()))
                self.culmen(what.split()[0], "index", "t.csv", "--id", "id", *batch)
                model.update(rows)
                next_id = max([next_id, *(id + 1 for id in ids)])
            elif what == "delete" and model:
                ids = source.sample(sorted(model), min(len(model), 20)) + [10**6]
                self.culmen("delete", "index", f"--ids={','.join(map(str, ids))}")
                for id in ids:
                    model.pop(id, None)
            elif what == "where":
                low = source.randrange(-99, 99)
                self.culmen("delete", "index", "--where", f"a>={low} and a<{low + 30}")
                model = {id: row for id, row in model.items() if not low <= row[0] < low + 30}
            elif what == "compact":
                self.culmen("compact", "index")
            self.assertEqual(self.table(), model)
        self.verify()


if __name__ == "__main__":
    unittest.main()
