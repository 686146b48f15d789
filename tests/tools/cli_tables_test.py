"""The program with files as the world writes them, and questions about pages, groups and single rows."""

import bz2
import json
import lzma
import re
import shlex
import subprocess
import unittest

from program import PROGRAM, Case

GERMAN = "modell;preis;rabatt\nGolf;15.990,00;12 %\nPolo;9.450,50;-\n\n"


class DialectTest(Case):
    def test_what_is_found_is_said_and_can_be_given(self):
        self.write("p.csv", GERMAN)
        found = "semicolons between cells, decimal commas, points between thousands"
        self.assertIn(f"read with {found}", self.culmen("build", "p.csv", "-o", "p.index", "--label", "modell")[1])
        out = self.culmen("query", "p.index", "-w", "preis=1")[0]
        self.assertEqual([line.split(",")[2] for line in out.splitlines()], ["score", "15990", "9450.5"])
        for mark, decimal in ((";", ","), ("semicolon", "comma")):
            err = self.culmen(
                *("build", "p.csv", "-o", "p.index", "--label", "modell", "--force"),
                *("--delimiter", mark, "--decimal", decimal),
            )[1]
            self.assertIn(f"read with {found}", err)

    def test_what_may_be_read_in_two_ways_names_the_option(self):
        self.write("p.csv", "name;preis\nA;15.990\n")
        self.refused("build", "p.csv", "-o", "p.index", code=3, says="--decimal point or --decimal comma")
        self.culmen("build", "p.csv", "-o", "p.index", "--decimal", "comma")
        self.assertIn("15990", self.culmen("query", "p.index", "-w", "preis=1")[0])
        self.refused("insert", "p.index", "p.csv", "--new-ids", code=3, says="--decimal")
        self.culmen("insert", "p.index", "p.csv", "--new-ids", "--decimal", "comma")
        self.write("y.csv", "2019,2020\n1,2\n")
        self.refused("build", "y.csv", "-o", "y.index", code=3, says="--header yes or --header no")
        self.assertIn("2 rows", self.culmen("build", "y.csv", "-o", "y.index", "--header", "no")[1])

    def test_a_mark_between_thousands_settles_what_it_is_not(self):
        self.write("q.csv", 'a,b\n"2,757",1\n"3,005",2\n')
        self.refused("build", "q.csv", "-o", "q.index", code=3, says="--decimal point or --decimal comma")
        self.culmen("build", "q.csv", "-o", "q.index", "--thousands", "comma")
        self.assertIn("\n0,2757,1\n", self.culmen("export", "q.index")[0])

    def test_json_that_is_no_json_lines_says_what_makes_some(self):
        array = '[{"a": 1}, {"a": 2}]\n'
        self.write("a.json", array)
        for name in ("-", "a.json"):
            self.refused("build", name, "-o", "a.index", code=3 if name == "-" else 2, stdin=array, says="jq -c '.[]'")

    def test_marks_that_cannot_be(self):
        self.write("p.csv", GERMAN)
        for option, mark in (("--delimiter", "x"), ("--decimal", "semicolon"), ("--thousands", "tab")):
            self.refused("build", "p.csv", "-o", "p.index", option, mark, code=2, says="expected")
        self.refused("build", "p.csv", "-o", "p.index", "--delimiter", "xy", code=2, says="--delimiter")

    def test_missing_values_have_words(self):
        self.write("g.csv", "a,b\n1,none\nunknown,x\n")
        self.culmen("build", "g.csv", "-o", "g.index", "--null", "unknown,x")
        out = self.culmen("query", "g.index", "-w", "a=1", "--where", "b is null", "--missing", "fill")[0]
        self.assertEqual(len(out.splitlines()), 2)

    def test_dates_that_may_begin_with_day_or_month_are_asked_for(self):
        self.write("d.csv", "a,day\n1,01/02/2024\n2,03/04/2024\n")
        self.refused("build", "d.csv", "-o", "d.index", code=3, says="--dates day-first or --dates month-first")
        _, err = self.culmen("build", "d.csv", "-o", "d.index", "--dates", "day-first")
        self.assertIn("read with days before months", err)
        out = self.culmen("query", "d.index", "-w", "a=1", "--where", "day < '2024-03-01'")[0]
        self.assertIn("2024-02-01", out)
        out = self.culmen("inspect", "d.csv", "--dates", "month-first")[0]
        self.assertIn(" --dates month-first ", out.splitlines()[-1])

    def test_all_problems_are_told_at_once_or_listed(self):
        self.write("r.csv", "id,a\n1,1\nx,2\n3,3\n4\n5,y\n6,6\n")
        err = self.culmen("build", "r.csv", "-o", "r.index", "--id", "id", "--attributes", "a", code=3)[1]
        self.assertRegex(err, r"r.csv:3:1: .*\n  r.csv:5:2: .*\n  r.csv:6:2: .* \(--rejects FILE leaves")
        build = ("build", "r.csv", "-o", "r.index", "--id", "id", "--attributes", "a", "--rejects", "bad.csv")
        self.assertIn("3 rows refused and left out: bad.csv says why", self.culmen(*build)[1])
        listed = (self.dir / "bad.csv").read_text()
        self.assertIn('5,2,"expected 2 fields as in the header, found 1",4\n', listed)
        self.assertEqual(len(listed.splitlines()), 4)
        self.write("s.csv", "id,a\n7,7\n8,z\n9,9\n")
        self.culmen("insert", "r.index", "s.csv", "--rejects", "worse.csv")
        self.assertIn('"8,z"', (self.dir / "worse.csv").read_text())
        self.assertEqual(len(self.culmen("export", "r.index")[0].splitlines()), 6)
        self.write("s.csv", "id,a\n10,10\n")
        self.culmen("insert", "r.index", "s.csv", "--rejects", "worse.csv")
        self.assertEqual((self.dir / "worse.csv").read_text(), "line,column,problem,row\n")

    def test_what_cannot_be_read_does_not_hide_the_columns(self):
        self.write("r.csv", "id,a\n1,1\n2,2,2\n3,3\n4\n")
        out = self.culmen("inspect", "r.csv")[0]
        self.assertIn("r.csv: 2 rows, 2 columns", out)
        self.assertIn("2 rows cannot be read:\n  r.csv:3:3: expected 2 fields as in the header, found 3\n", out)
        self.assertTrue(out.endswith("--rejects r.rejects.csv\n"))
        self.culmen(*out.splitlines()[-1].split()[1:])
        self.assertEqual(len((self.dir / "r.rejects.csv").read_text().splitlines()), 3)
        found = json.loads(self.culmen("inspect", "r.csv", "--json")[0])
        self.assertEqual((found["refused"], found["problems"][1]["line"]), (2, 5))
        self.write("t.csv", "name,city\nx,y\n")
        out = self.culmen("inspect", "t.csv")[0]
        self.assertRegex(out, r"\A.*\n  name .*\n  city .*\nno index can be built yet: no column holds numbers.*\n\Z")
        self.assertEqual(json.loads(self.culmen("inspect", "t.csv", "--json")[0])["build"], "")

    def test_json_lines_come_through_pipes(self):
        lines = '{"id":1,"a":1.5}\n{"id":2,"a":2.5}\n'
        for name in ("-", "/dev/stdin", "/dev/fd/0"):
            with self.subTest(name):
                self.assertIn("2 rows, 2 columns", self.culmen("inspect", name, stdin=lines)[0])
                self.culmen("build", name, "-o", "l.index", "--id", "id", "--force", stdin=lines)
                self.culmen("insert", "l.index", name, stdin='{"id":3,"a":1}')
                self.culmen("upsert", "l.index", name, stdin='\n {"id":3,"a":7}')
                self.assertIn("3,7", self.culmen("export", "l.index")[0])
                self.assertIn("2 rows, 2 columns", self.culmen("inspect", name, stdin="{a},b\n1,2\n3,4\n")[0])
        self.write("l.csv", lines)
        self.refused("build", "l.csv", "-o", "l.index", "--force", code=3, says="found an object as in JSON Lines")

    def test_rejects_of_a_run_that_continues_are_added(self):
        rows = [f"{i},{'x' if i % 7 == 3 else i}" for i in range(100)]
        self.write("a.csv", "id,a\n100,1\n")
        self.culmen("build", "a.csv", "-o", "r.index", "--id", "id")
        self.write("b.csv", "\n".join(["id,a", *rows[:50], "100,1", *rows[50:]]) + "\n")
        insert = ("insert", "r.index", "b.csv", "--rejects", "bad.csv", "--batch", 10)
        err = self.culmen(*insert, code=3)[1]
        skip = int(re.search(r"--skip (\d+)", err)[1])
        listed = (self.dir / "bad.csv").read_text().splitlines()
        self.assertEqual(len(listed), 1 + sum("x" in row for row in rows[:skip]))
        self.write("b.csv", "\n".join(["id,a", *rows[:50], "101,1", *rows[50:]]) + "\n")
        self.culmen(*insert, "--skip", skip)
        listed = (self.dir / "bad.csv").read_text().splitlines()
        self.assertEqual([line.split('"')[-2] for line in listed[1:]], [row for row in rows if "x" in row])
        self.culmen("upsert", "r.index", "a.csv", "--rejects", "bad.csv")
        self.assertEqual((self.dir / "bad.csv").read_text(), "line,column,problem,row\n")

    def test_columns_that_the_input_lacks_are_missing(self):
        self.write("t.csv", "id,a,city,note\n1,1,x,y\n")
        self.culmen("build", "t.csv", "-o", "t.index", "--id", "id", "--attributes", "a")
        self.write("u.csv", "id,a,city,other\n2,2,z,w\n")
        self.culmen("insert", "t.index", "u.csv", "--columns", "city,note")
        self.assertIn("2,2,z,\n", self.culmen("export", "t.index")[0])
        self.refused("insert", "t.index", "u.csv", "--columns", "city,notes", code=2, says='no column "notes"')
        self.refused(
            *("build", "t.csv", "-o", "n.index", "--id", "id", "--types", "id=text"), code=2, says="--id-type text"
        )

    def test_tabs_from_a_pipe_and_compressed_files(self):
        table = "a\tb\n1\t2\n3\t4\n"
        self.assertIn("2 rows, 2 attributes", self.culmen("build", "-", "-o", "t.index", stdin=table)[1])
        (self.dir / "t.tsv.bz2").write_bytes(bz2.compress(table.encode()))
        (self.dir / "t.csv.xz").write_bytes(lzma.compress(table.encode()))
        for file in ("t.tsv.bz2", "t.csv.xz"):
            self.assertIn("2 rows, 2 attributes", self.culmen("build", file, "-o", file + ".index")[1])

    def test_a_directory_for_temporary_files_changes_nothing(self):
        rows = [f"{i},{(i * 7919) % 5003 / 4},name {i},{'' if i % 7 == 0 else i % 11}" for i in range(5000)]
        (self.dir / "t.csv").write_text("\n".join(["id,a,name,b", *rows]) + "\n")
        (self.dir / "tmp").mkdir()
        build = ("build", "t.csv", "--id", "id", "--label", "name")
        summaries = []
        for name, options in (("m", ()), ("t", ("--temp-directory", "tmp"))):
            self.culmen(*build, "-o", f"{name}.index", *options)
            summaries.append(self.culmen("info", f"{name}.index")[0].replace(f"{name}.index", ""))
        self.assertEqual(*(summary.splitlines()[1:6] for summary in summaries))
        self.assertEqual(*(self.culmen("export", f"{name}.index")[0] for name in "mt"))
        self.culmen("delete", "t.index", "--ids", "3,4")
        self.culmen("compact", "t.index", "--temp-directory", "tmp")
        self.culmen("verify", "t.index", "--deep")
        self.assertRegex(self.culmen("info", "t.index")[0], r"rows +4,998\n")
        self.assertEqual(list((self.dir / "tmp").iterdir()), [])
        for command in ((*build, "-o", "n.index"), ("compact", "t.index")):
            self.refused(
                *command,
                "--temp-directory",
                "missing",
                code=1,
                says="missing: No such file or directory; name a directory",
            )
            self.refused(*command, "--temp-directory", "", code=2, says="name a directory, or leave the option out")

    def test_json_lines(self):
        self.write("t.jsonl", '{"id": 7, "a": 1.5, "n": "x"}\n{"n": "y", "id": 8, "a": null}\n')
        self.culmen("build", "t.jsonl", "-o", "t.index", "--id", "id", "--label", "n")
        self.assertIn("7,1.5,x,1.5", self.culmen("query", "t.index", "-w", "a=1")[0])
        self.write("u.jsonl", '{"id": 9, "a": 2, "n": "z"}\n')
        self.culmen("upsert", "t.index", "u.jsonl")
        self.assertIn("9,2,z,2", self.culmen("query", "t.index", "-w", "a=1")[0])
        self.write("v.jsonl", '{"id": 9}\n{"id": }\n')
        self.refused("build", "v.jsonl", "-o", "v.index", code=3, says="v.jsonl:2: ")


class InspectTest(Case):
    def test_the_line_does_what_build_without_options_does(self):
        self.write("p q.csv", GERMAN.replace("rabatt", "x,y"))
        out, err = self.culmen("inspect", "p q.csv")
        self.assertEqual(err, "")
        self.assertIn("2 rows, 3 columns; read with semicolons between cells, decimal commas", out)
        self.assertRegex(out, r"preis +ranked +number, 2 distinct, 9450.5 to 15990\n")
        self.assertRegex(out, r"x,y +ranked +integer, 1 distinct, 12 to 12; 1 missing\n")
        self.assertRegex(out, r"modell +for filters text, 2 distinct, Golf to Polo\n")
        line = shlex.split(out.splitlines()[-1])
        self.assertEqual(line[:5], ["culmen", "build", "p q.csv", "-o", "p q.index"])
        self.culmen(*line[1:])
        self.culmen("build", "p q.csv", "-o", "plain.index")
        infos = [json.loads(self.culmen("info", d, "--json")[0]) for d in ("p q.index", "plain.index")]
        for info in infos:
            del info["uuid"]
        self.assertEqual(*infos)

    def test_ids_are_suggested(self):
        self.write("t.csv", "key,a\n5,1.5\n6,1.5\n")
        out = self.culmen("inspect", "t.csv")[0]
        self.assertIn("--id key", out)
        found = json.loads(self.culmen("inspect", "t.csv", "--json")[0])
        self.assertEqual([column["may_be_ids"] for column in found["columns"]], [True, False])
        self.assertEqual(found["build"], "culmen build t.csv -o t.index --attributes key,a")

    def test_texts_are_suggested_where_no_integers_are(self):
        self.write("t.csv", "sku,name,a\nA-1,x,1.5\nB-2,x,1.5\n")
        out = self.culmen("inspect", "t.csv")[0]
        self.assertIn("all values of sku differ: --id sku --id-type text takes them as ids\n", out)
        self.assertNotIn("of name differ", out)
        found = json.loads(self.culmen("inspect", "t.csv", "--json")[0])
        may_be = {column["name"]: column["may_be_ids"] for column in found["columns"]}
        self.assertEqual(may_be, {"sku": True, "name": False, "a": False})
        self.culmen(*shlex.split(out.splitlines()[-1])[1:], "--id", "sku", "--id-type", "text")
        for table in ("code,n,a\nA-1,1,1.5\nB-2,2,1.5\n", "code,a\nA-1,1.5\n,1.5\n"):  # integers; a gap
            self.write("t.csv", table)
            self.assertNotIn("of code differ", self.culmen("inspect", "t.csv")[0])

    def test_columns_that_are_named_as_ids_are_suggested_first(self):
        self.write("t.csv", "price,sku,name\n10,A-1,x\n20,B-2,y\n")
        out = self.culmen("inspect", "t.csv")[0]
        says = "all values of sku differ, and its name is one of ids: --id sku --id-type text takes them as ids\n"
        self.assertIn(says + "the values of price differ, too\n", out)
        self.assertNotIn("name differ", out)
        found = json.loads(self.culmen("inspect", "t.csv", "--json")[0])
        self.assertEqual([column["name"] for column in found["columns"] if column["may_be_ids"]], ["sku"])
        for name, is_proposed in {
            "Product ID": True,
            "hotelId": True,
            "row-id": True,
            "paid": False,
            "grid": False,
        }.items():
            self.write("t.csv", f"n,{name}\n1,A\n2,B\n")
            self.assertEqual(" --id-type text " in self.culmen("inspect", "t.csv")[0], is_proposed, name)

    def test_codes_with_leading_zeros_are_asked_for(self):
        self.write("t.csv", "sku,a\n1,1.5\n002,2.5\n")
        says = "--id-type text takes ids as texts, --id-type int64 as numbers"
        self.refused("build", "t.csv", "-o", "index", "--id", "sku", code=3, says=says)
        for kind, id in (("text", "002"), ("int64", "2")):
            self.culmen("build", "t.csv", "-o", kind, "--id", "sku", "--id-type", kind)
            self.assertEqual(self.culmen("get", kind, "--ids", id)[0], f"sku,a\n{id},2.5\n")
            self.culmen("upsert", kind, "t.csv")
        self.write("t.csv", "sku,a\n1,1.5\nx,2.5\n")
        self.refused("build", "t.csv", "-o", "index", "--id", "sku", code=3, says=says)

    def test_a_column_without_a_name_gets_one(self):
        self.write("t.csv", ",a\n5,1.5\n6,1.5\n")  # as pandas writes its index
        out = self.culmen("inspect", "t.csv")[0]
        self.assertIn("--id column0", out)
        self.culmen(*shlex.split(out.splitlines()[-1])[1:], "--id", "column0")
        self.assertEqual(self.culmen("query", "t.index", "-w", "a=1", "--rank-of", "6")[0], "id 6: rank 2, score 1.5\n")

    def test_a_cell_that_makes_a_column_text_is_named(self):
        for odd, says in [
            ({150: "na"}, 'a is text: 1 of 300 cells is no number, the first "na" at t.csv:152; --null na takes it'),
            ({150: "na", 170: "tbd"}, '2 of 300 cells are no numbers, the first "na" at t.csv:152; --null na,tbd'),
            ({299: "1 000 m"}, 'a is text: 1 of 300 cells is no number, the first "1 000 m" at t.csv:301\n'),
            ({i: f"x{i}" for i in range(20)}, 'a is text: 20 of 300 cells are no numbers, the first "x0" at t.csv:2\n'),
        ]:
            with self.subTest(odd):
                self.write("t.csv", "\n".join(["a,b"] + [f"{odd.get(i, i)},{i}" for i in range(300)]) + "\n")
                self.assertIn(says, self.culmen("inspect", "t.csv")[0])
                self.assertIn(says, self.culmen("build", "t.csv", "-o", "index", "--force")[1])
                self.assertIn(says, self.culmen("build", "t.csv", "-o", "shards", "--shards", 2, "--force")[1])
        self.assertNotIn("is text", self.culmen("inspect", "t.csv", "--null", ",".join(odd.values()))[0])
        for texts in [["x"] * 300, [f"0{i}" for i in range(300)], [f"x{i}" if i % 2 else i for i in range(300)]]:
            self.write("t.csv", "\n".join(["a,b"] + [f"{text},{i}" for i, text in enumerate(texts)]) + "\n")
            self.assertNotIn("is text", self.culmen("inspect", "t.csv")[0])

    def test_words_for_gaps_in_a_column_of_texts_are_named(self):
        self.write("t.csv", "a,note\n1,ok\n2,NA\n3,NULL\n4,NA\n5,none\n")
        says = "note has NA,NULL in 3 cells; --null NA,NULL takes them as missing\n"
        self.assertIn(says, self.culmen("inspect", "t.csv")[0])
        self.assertIn(says, self.culmen("build", "t.csv", "-o", "index")[1])
        self.assertNotIn("note has", self.culmen("inspect", "t.csv", "--null", "NA,NULL")[0])

    def test_what_cannot_help_is_not_advised(self):
        self.write("t.csv", "a,city\n" + "".join(f"{i},Rome\n" for i in range(3000)))
        err = self.culmen("build", "t.csv", "-o", "index", "--attributes", "city", code=3)[1]
        self.assertIn('expected a number in column "city"', err)
        self.assertNotIn("--rejects", err)
        self.write("t.csv", "name,city\nA,Rome\n")
        self.refused("build", "t.csv", "-o", "index", code=3, says="--attributes names the columns to rank")
        self.write("t.csv", "sep=;\na;b\n1;2\n")
        self.refused("build", "t.csv", "-o", "index", code=3, says="which tells Excel the delimiter")
        self.write("t.parquet", "")
        self.refused("build", "t.parquet", "-o", "index", code=2, says="which the culmen of the Python package reads")

    def test_a_cell_that_makes_a_column_of_dates_text_is_named(self):
        day = "; --types a=date and --rejects FILE leave such rows out"
        for good, odd, says in [
            ("2024-01-{:02}", {15: "bald"}, 'cells is no date, the first "bald" at t.csv:17; --null bald takes it'),
            ("{:02}/12/2024", {15: "bald"}, 'cells is no date, the first "bald" at t.csv:17; --null bald takes it'),
            ("2024-01-{:02}", {15: "2024-02-30"}, f'"2024-02-30" (there is no such day or time) at t.csv:17{day}'),
            (
                "2024-01-{:02} 10:00Z",
                {15: "-soon"},
                'is no timestamp, the first "-soon" at t.csv:17; --types a=timestamp',
            ),
            ("2024-01-{:02}", {15: "a b", 16: "c d"}, f'are no dates, the first "a b" at t.csv:17{day}'),
        ]:
            with self.subTest(odd):
                rows = [f"{odd.get(i, good.format(i % 28 + 1))},{i}" for i in range(300)]
                self.write("t.csv", "\n".join(["a,b", *rows]) + "\n")
                for out in (
                    self.culmen("inspect", "t.csv")[0],
                    self.culmen("build", "t.csv", "-o", "index", "--force")[1],
                ):
                    self.assertIn(says, out)
        self.write("t.csv", "a,b\n2024-01-01,1\nsome,2\nother,3\ntexts,4\n")
        self.assertNotIn("is text", self.culmen("inspect", "t.csv")[0])

    def test_the_line_is_one_of_a_shell_whatever_names_are(self):
        for number, (name, head) in enumerate(
            [("-x.csv", "-key,a"), ("a\x1b[31m\n'\\.csv", "\x1b[0m,a"), ("--.csv", "--,-"), ("o'k.csv", "k'y,a")]
        ):
            with self.subTest(name):
                self.write(name, f"{head}\n5,1.5\n6,1.5\n")
                out = self.culmen("inspect", "--", name)[0]
                self.assertNotIn("\x1b", out)
                line = out.splitlines()[-1]
                self.assertRegex(line, "^culmen build ")
                command = line.replace("culmen", shlex.quote(str(PROGRAM)), 1)
                built = subprocess.run(["bash", "-c", command], cwd=self.dir, capture_output=True, text=True)
                self.assertEqual(built.returncode, 0, built.stderr)
                self.assertEqual(len([entry for entry in self.dir.iterdir() if entry.is_dir()]), number + 1)

    def test_of_many_columns_an_error_lists_some(self):
        names = [f"c{number}" for number in range(100)]
        self.write("wide.csv", ",".join(names) + "\n" + ",".join(["1"] * 100) + "\n")
        self.culmen("build", "wide.csv", "-o", "wide.index", "--attributes", ",".join(names[:60]))
        for options in (("-w", "c1=1", "--show", "nothing"), ("-w", "nothing=1")):
            _, err = self.culmen("query", "wide.index", *options, code=2)
            self.assertIn("c0, c1, c2", err)
            self.assertLess(len(err), 600)
        self.refused("query", "wide.index", "-w", "c1=1", "--show", "nothing", code=2, says="c63 and 36 others")

    def test_an_id_that_is_suggested_may_begin_with_a_dash(self):
        self.write("t.csv", "-key,a\n5,1.5\n6,1.5\n")
        self.assertIn("differ: --id=-key takes them as ids", self.culmen("inspect", "t.csv")[0])


class NextPageTest(Case):
    def test_pages_joined_are_the_long_answer(self):
        self.build_numbers([[i % 7, i % 3, 0] for i in range(60)])
        whole = self.ids("-w", "a=1,b=-1", "-k", 60)
        joined, after = [], []
        while True:
            out = self.culmen("query", "index", "-w", "a=1,b=-1", "-k", 13, "--format", "json", *after)[0]
            answer = json.loads(out)["queries"][0]
            if not answer["results"]:
                self.assertIsNone(answer["after"])
                break
            joined += [row["id"] for row in answer["results"]]
            after = ["--after", answer["after"]]
        self.assertEqual(joined, whole)
        self.assertEqual(self.ids("-w", "a=1,b=-1", "-k", 1, "--after", "6,6"), [27])
        for text in ("6", "x,6", "6,x", "6,", ",6", '6,""'):
            says = f'--after: expected SCORE,ID of the last row before, found "{text}"'
            self.refused("query", "index", "-w", "a=1", "--after", text, code=2, says=says)

    def test_some_of_each_group(self):
        self.build_numbers([[i, i % 3, 0] for i in range(30)])
        self.assertEqual(self.ids("-w", "a=1", "--per", "b=1"), [29, 28, 27])
        self.assertEqual(self.ids("-w", "a=1", "--per", "b=2", "-k", 4), [29, 28, 27, 26])
        self.assertEqual(self.ids("-w", "a=1", "--per", "b=2", "-k", 4, "--after", "27,27"), [26, 25, 24])
        self.refused("query", "index", "-w", "a=1", "--per", "b", code=2, says="--per: expected COLUMN=N")
        self.refused("query", "index", "-w", "a=1", "--per", "bb=1", code=2, says="no such column (did")
        self.refused("query", "index", "-w", "a=1", "--per", "zz=1", code=2, says="no such column; known: a, b")


class RowQuestionTest(Case):
    def test_ranks_and_counts(self):
        self.build_numbers([[i, i % 3, 0] for i in range(30)])
        self.assertEqual(self.culmen("query", "index", "-w", "a=1", "--count-above", "25")[0], "4\n")
        out = self.culmen("query", "index", "-w", "a=1", "--rank-of", "27,0")[0]
        self.assertEqual(out, "id 27: rank 3, score 27\nid 0: rank 30, score 0\n")
        out = self.culmen("query", "index", "-w", "a=1", "--rank-of", "27", "--where", "b=0", "--format", "json")[0]
        self.assertEqual(json.loads(out), {"rows": [{"id": 27, "rank": 1, "score": 27}]})
        both = [{"id": 27, "rank": 3, "score": 27}, {"id": 0, "rank": 30, "score": 0}]
        out = self.culmen("query", "index", "-w", "a=1", "--rank-of", "27,0", "--format", "json")[0]
        self.assertEqual(json.loads(out), {"rows": both})
        out = self.culmen("query", "index", "-w", "a=1", "--rank-of", "27,0", "--format", "jsonl")[0]
        self.assertEqual([json.loads(line) for line in out.splitlines()], both)
        self.refused("query", "index", "-w", "a=1", "--rank-of", "27", "--why", "27", "--format", "json",
                     code=2, says="one document")  # fmt: skip
        out = self.culmen("query", "index", "--terms", "near(a, 20)", "--rank-of", "20")[0]
        self.assertIn("id 20: rank 1, ", out)
        self.refused("query", "index", "-w", "a=1", "--rank-of", "x", code=2, says="--rank-of: expected a 64-bit")
        self.refused("query", "index", "-w", "a=1", "--why", "1,x", code=2, says="--why: expected a 64-bit")
        out = self.culmen("query", "index", "-w", "a=1", "--rank-of", "27", "--where", "b=1")[0]
        self.assertIn("not ranked", out)
        self.refused("query", "index", "-w", "a=1", "--rank-of", "99", code=2, says="no row with the id 99")
        for output in (["-o", "ranks.npy"], ["--format", "csv"], ["-o", "ranks.CSV"]):
            self.refused("query", "index", "-w", "a=1", "--rank-of", "1", *output, code=2, says="but no csv or npy")

    def test_why(self):
        self.build_numbers([[i, i % 3, 0] for i in range(30)])
        out = self.culmen("query", "index", "-w", "a=1,b=-2", "--why", "5")[0]
        self.assertIn("id 5: rank 27, score 1\n", out)
        self.assertRegex(out, r"5 += 1 \* 5 of a\n")
        self.assertRegex(out, r"-4 += -2 \* 2 of b\n")
        found = json.loads(self.culmen("query", "index", "-w", "a=1,b=-2", "--why", "5,6", "--format", "json")[0])
        self.assertEqual(found["even_weights"][0], {"attribute": "b", "weight": -2.0, "even": 0.5, "change": 2.5})
        self.refused("query", "index", "-w", "a=1", "--why", "1,2,3", code=2, says="one id or two")


if __name__ == "__main__":
    unittest.main()
