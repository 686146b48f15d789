"""Sharded indexes: the program treats them as one index, or says what to do."""

import csv
import json
import random
import shutil
import unittest

from program import Case


class ShardsTest(Case):
    def setUp(self):
        super().setUp()
        rng = random.Random(7)
        lines = ["id,city,price,rating"]
        for id in range(300):
            rating = "" if rng.random() < 0.2 else rng.randrange(40) / 4
            lines.append(f"{id * 7 - 50},{rng.choice(['Brno', 'Praha', ''])},{rng.randrange(200)},{rating}")
        self.write("table.csv", "\n".join(lines) + "\n")
        for directory, options in (("one", ()), ("many", ("--shards", "5"))):
            out, err = self.culmen(
                "build", "table.csv", "-o", directory, "--id", "id", "--attributes", "price:low,rating", *options
            )
            self.assertEqual(out, "")
        self.assertIn("5 shards of ", err)

    def both(self, command, *arguments, **options):
        """The same output for one index and for the sharded one."""
        one, _ = self.culmen(command, "one", *arguments, **options)
        many, _ = self.culmen(command, "many", *arguments, **options)
        self.assertEqual(one.replace("one", "many"), many)
        return many

    def check_queries(self):
        for arguments in (
            ("-w", "price=-1,rating=2", "-k", "7"),
            ("-w", "price=-1,rating=2", "--scale", "minmax", "-k", "400"),
            ("-w", "price=-1,rating=2", "--scale", "zscore", "-k", "400"),
            ("-w", "price=-1,rating=2", "--scale", "rank", "-k", "400"),
            ("-w", "rating=1", "--missing", "fill", "--where", "city = 'Brno' and price < 150"),
            ("-w", "price=1", "--min-score", "120"),
            ("-w", "price=1,rating=1", "--engine", "scan", "--show", "city,price"),
        ):
            self.assertGreater(len(self.both("query", *arguments, "--format", "csv").splitlines()), 3)
        self.write("weights.csv", "price,rating\n1,2\n-1,0\n0,-3\n")
        self.both("query", "--weights-file", "weights.csv", "-k", "4", "--format", "csv")

    def test_answers_as_one_index(self):
        self.check_queries()
        self.both("get", "--ids=-50,6,7,13,-43")
        one, many = (self.culmen("export", directory, "--where", "price > 50")[0] for directory in ("one", "many"))
        self.assertEqual(sorted(one.splitlines()), sorted(many.splitlines()))

    def test_changes_as_one_index(self):
        self.write("new.csv", "city,price,rating\nBrno,1,9\nOlomouc,2,\nBrno,3,8.5\n")
        self.write("changed.csv", "id,city,price,rating\n-50,Opava,150,1\n5000,Opava,0,9.75\n")
        for directory in ("one", "many"):
            self.culmen("insert", directory, "new.csv", "--new-ids")
            self.culmen("upsert", directory, "changed.csv", "--id", "id")
        self.both("delete", "--where", "price > 190")
        self.both("delete", "--ids", "6,7")
        self.check_queries()
        out = self.both("get", "--ids", "2044,2045,2046,5000")
        self.assertEqual(len(out.splitlines()), 5)
        self.culmen("insert", "many", "changed.csv", code=3)
        self.culmen("compact", "many")
        self.culmen("rebalance", "many", "--shards", "2")
        self.check_queries()
        out, _ = self.culmen("verify", "many", "--deep")
        self.assertIn("no fault found", out)

    def test_force_replaces_either_kind(self):
        build = ("build", "table.csv", "--id", "id", "--attributes", "price:low,rating", "--force")
        before = self.culmen("query", "one", "-w", "price=-1,rating=2", "--format", "csv")[0]
        for directory, options in (("many", ()), ("many", ("--shards", "3")), ("one", ("--shards", "2")), ("one", ())):
            self.culmen(*build, "-o", directory, *options)
            self.assertEqual(self.culmen("query", directory, "-w", "price=-1,rating=2", "--format", "csv")[0], before)
            self.assertEqual((self.dir / directory / "SHARDS").exists(), bool(options))
            self.assertEqual((self.dir / directory / "CURRENT").exists(), not options)
            self.assertIn("no fault found", self.culmen("verify", directory, "--deep")[0])

    def test_info_lists_the_shards(self):
        one, many = (json.loads(self.culmen("info", directory, "--json")[0]) for directory in ("one", "many"))
        self.assertNotIn("shards", one)
        self.assertEqual([shard["directory"] for shard in many["shards"]], [f"shard-1-{i}" for i in range(5)])
        self.assertEqual(sum(shard["rows"] for shard in many["shards"]), one["rows"])
        self.assertEqual(many["rows"], one["rows"])
        self.assertEqual(many["attributes"], one["attributes"])
        self.assertIn("shard-1-4", self.culmen("info", "many")[0])

    def test_a_shard_that_is_missing_or_damaged_is_named(self):
        shutil.copytree(self.dir / "many", self.dir / "copy")
        shutil.rmtree(self.dir / "many" / "shard-1-3")
        self.refused("query", "many", "-w", "price=1", code=1, says="shard 3 of ")
        out, _ = self.culmen("verify", "many", code=3)
        self.assertIn("shard 3 of ", out)
        remedy = "restore the shard from a copy, or build the sharded index again; culmen repair DIR/SHARD -o NEWDIR "
        self.assertIn(remedy, out)
        leaves = self.dir / "copy" / "shard-1-2" / "SNAP-1-leaves"
        data = bytearray(leaves.read_bytes())
        data[len(data) // 2] ^= 1
        leaves.write_bytes(data)
        self.refused("query", "copy", "-w", "price=1", code=3, says="copy/shard-1-2/SNAP-1-leaves")
        out, _ = self.culmen("verify", "copy", code=3)
        self.assertIn(remedy, out)

    def test_what_does_not_work_says_what_to_do(self):
        weights = ("-w", "price=1")
        self.refused("query", "many", *weights, "--explain", code=2, says="one of its shards")
        self.refused("query", "many", *weights, "--device", "cuda:0", code=2, says="one of its shards")
        self.refused("query", "many", *weights, "--count-above", "1", "--device", "cuda:0", code=2, says="its shards")
        self.refused("repair", "many", "-o", "mended", code=2, says="the damaged shard")
        self.refused("rebalance", "one", "--shards", "2", code=1, says="no sharded index")
        for directory in ("one", "many"):
            for options in ((), ("--shards", "2")):
                self.refused(
                    "build", "table.csv", "-o", directory, *options, code=2, says="holds an index; --force replaces it"
                )
        self.refused("build", "table.csv", "-o", "new", "--shards", "5000", code=2, says="4096")
        self.culmen("query", "many/shard-1-0", *weights)

    def test_a_table_without_rows(self):
        self.write("none.csv", "id,city,price,rating\n")
        types = ("--types", "city=text", "--attributes", "price:low,rating", "--id", "id")
        self.culmen("build", "none.csv", "-o", "one", "--force", *types)
        self.culmen("build", "none.csv", "-o", "many", "--shards", "3", "--force", *types)
        self.culmen("query", "many", "-w", "price=1")
        self.write("new.csv", "id,city,price,rating\n1,Brno,7.1,\n2,Brno,5,3\n3,,6,9\n")
        for directory in ("one", "many"):
            self.culmen("insert", directory, "new.csv")
        out = self.both("query", "-w", "rating=1", "--missing", "fill", "--format", "csv")
        self.assertEqual(len(out.splitlines()), 4)
        self.both("get", "--ids=1,2,3")

    def test_build_replaces_a_sharded_index(self):
        self.culmen("build", "table.csv", "-o", "many", "--shards", "2", "--force", "--id", "id")
        self.assertEqual(
            sorted(path.name for path in (self.dir / "many").iterdir()), ["LOCK", "SHARDS", "shard-2-0", "shard-2-1"]
        )
        self.write("bad.csv", "id,price,rating\n1,2,inf\n")
        self.refused(
            "build", "bad.csv", "-o", "many", "--shards", "2", "--force", "--id", "id", code=3, says="bad.csv:2"
        )
        self.assertIn("300", self.culmen("info", "many")[0])


class TextShardsTest(Case):
    """The same with ids that are texts. Most scores tie, so that the order is that of the texts."""

    IDS = [f"{letter}{number}" for letter in ("A-", "b,", 'c"', "é", "日") for number in range(40)]

    def setUp(self):
        super().setUp()
        rng = random.Random(9)
        self.write_rows("table.csv", [(sku, rng.choice(["Brno", "Praha"]), rng.randrange(3)) for sku in self.IDS])
        for directory, options in (("one", ()), ("many", ("--shards", "5"))):
            self.culmen("build", "table.csv", "-o", directory, "--id", "sku", "--id-type", "text", *options)

    def write_rows(self, name, rows):
        with (self.dir / name).open("w", newline="") as file:
            csv.writer(file).writerows([("sku", "city", "price"), *rows])

    def both(self, command, *arguments):
        one, _ = self.culmen(command, "one", *arguments)
        many, _ = self.culmen(command, "many", *arguments)
        self.assertEqual(one.replace("one: ", "many: "), many)
        return many

    def check(self):
        for arguments in (
            ("-w", "price=1", "-k", "7"),
            ("-w", "price=-1", "-k", "400", "--scale", "minmax"),
            ("-w", "price=1", "-k", "400", "--where", "id >= 'b' and city = 'Brno'"),
            ("-w", "price=1", "-k", "400", "--where", "sku like 'A-%' or id in ('é3', '日7', 'none')"),
            ("-w", "price=1", "-k", "9", "--per", "city=3"),
            ("-w", "price=1", "--min-score", "2", "--after", "2,b"),
            ("-w", "price=1", "-k", "400", "--after", "1,A-27", "--engine", "scan"),
            ("-w", "price=1", "--count-above", "1"),
            ("-w", "price=1", "--rank-of", "é3,A-9"),
            ("-w", "price=1", "--why", "日7,A-30"),
        ):
            self.assertGreater(len(self.both("query", *arguments)), 1, arguments)
        self.write("weights.csv", "price\n1\n-1\n0.5\n")
        self.both("query", "--weights-file", "weights.csv", "-k", "4", "--format", "csv")
        self.both("get", "--ids", "é3,none,A-9,日7")
        self.assertIn('"c""3"', self.both("get", "--ids", 'A-9,"b,3", "c""3"'))
        one, many = (self.culmen("export", directory)[0] for directory in ("one", "many"))
        self.assertEqual(sorted(one.splitlines()), sorted(many.splitlines()))

    def test_answers_as_one_index(self):
        self.check()
        page = json.loads(self.culmen("query", "many", "-w", "price=1", "-k", "50", "--format", "json")[0])
        after = page["queries"][0]["after"]
        self.both("query", "-w", "price=1", "-k", "50", "--format", "csv", "--after", after)

    def test_changes_as_one_index(self):
        self.write_rows("new.csv", [("Z-1", "Opava", 9), ("A-05", "Brno", 2), ("é", "Brno", 2)])
        self.write_rows("changed.csv", [("é3", "Opava", 2), ("b,,", "Opava", 1)])
        self.write("part.csv", "sku,price\nA-9,8\n日7,7\n")
        for directory in ("one", "many"):
            self.culmen("insert", directory, "new.csv")
            self.assertIn("1 row inserted, 1 replaced", self.culmen("upsert", directory, "changed.csv")[1])
            self.assertIn("2 replaced", self.culmen("upsert", directory, "part.csv", "--partial")[1])
            self.refused("insert", directory, "new.csv", code=3, says='new.csv:2: id "Z-1" is already in the index')
        self.check()
        for arguments in (("--where", "id > '日7'"), ("--ids", "A-1,none,é5")):
            self.both("delete", *arguments, "--dry-run")
            self.both("delete", *arguments)
        self.check()
        self.culmen("compact", "many")
        self.culmen("rebalance", "many", "--shards", "2")
        self.check()
        self.assertIn("no fault found", self.culmen("verify", "many", "--deep")[0])
        one, many = (json.loads(self.culmen("info", directory, "--json")[0]) for directory in ("one", "many"))
        self.assertEqual(many["id_type"], one["id_type"])

    def test_a_text_that_is_there_twice(self):
        self.write_rows("twice.csv", [("x", "Brno", 1), ("y", "Brno", 2), ("x", "Brno", 3)])
        command = ("build", "twice.csv", "-o", "twice", "--id", "sku", "--shards", "3")
        self.refused(*command, code=3, says='twice.csv:4: id "x" stands in row 1 as well; ids must be unique')
        self.assertFalse((self.dir / "twice").exists())
        self.culmen(*command, "--duplicates", "last")
        self.assertEqual(self.culmen("get", "twice", "--ids", "x")[0], "sku,price,city\nx,3,Brno\n")


if __name__ == "__main__":
    unittest.main()
