"""DuckDB as an oracle for all but filters: pages, rows of each group, ranks, counts, reasons, terms and scales, alone
and together, of an index and of shards, in memory and in files, as built and after changes.

The score is one expression of SQL, by the contract: the chain of fma over weights and terms, in their order. So answers
are compared to the last bit, whatever is rounded. Only `why`, which the contract lets round, is compared with a
tolerance.

CULMEN_TEST_CASES is the number of random questions. Each question is asked in all shapes. A quarter of them use each
scale, and half of them have terms. CULMEN_TEST_SEED runs one table again, as a failure names it.
"""

import decimal
import math
import os
from fractions import Fraction

import numpy as np
import pytest

import culmen

pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")

from oracle import fma  # noqa: E402
from test_duckdb_oracle import (  # noqa: E402
    EPOCH,
    ONLY_SEED,
    QUESTIONS_OF_STAGE,
    STAGES_OF_TABLE,
    Life,
    RandomWhere,
    quoted,
    stand_in,
)
from test_rank import quantiles_of, rank  # noqa: E402

NUM_QUESTIONS = int(os.environ.get("CULMEN_TEST_CASES") or 320)
NUM_TABLES = math.ceil(NUM_QUESTIONS / (STAGES_OF_TABLE * QUESTIONS_OF_STAGE))
SCALES = ["none", "minmax", "zscore", "rank"]
ENGINES = ["auto", "bounded", "scan", "gta", "ta"]
LN2 = float.fromhex("0x1.62e42fefa39efp-1")


# ---- the functions of the contract that SQL does not have


def exp2_of_minus(t):
    """base/elementary.h"""
    whole = np.rint(t)
    z, total = (whole - t) * LN2, np.zeros(len(t))
    for n in (*range(13, 0, -1), 0):
        total = fma(total, z, 1.0 / math.factorial(n))
    power = np.minimum(whole, 1000)
    scaled = total.astype(float) * np.exp2(-power) * np.exp2(power - whole)
    return np.where(t < 1100, scaled, 0.0)


def log_of(x):
    """base/elementary.h"""
    m, exponent = np.frexp(x)
    is_low = m < float.fromhex("0x1.6a09e667f3bcdp-1")
    m, e = np.where(is_low, 2 * m, m), (exponent - is_low).astype(float)
    f = m - 1
    s = f / (2 + f)
    square, total = s * s, np.full(len(x), 1.0 / 25)
    for odd in range(23, 2, -2):
        total = fma(total, square, 1.0 / odd)
    low, high = float.fromhex("0x1.ef35793c7673p-45"), float.fromhex("0x1.62e42fefa38p-1")
    small = fma(2 * s * square, total, fma(-f, s, e * low))
    return (fma(e, high, f) + small).astype(float)


def of_distinct(function):
    def answer(values):
        distinct, place = np.unique(values, return_inverse=True)
        return np.asarray(function(distinct), dtype=float)[place]

    return answer


def add_function(connection, name, function, num_arguments):
    """Of float64 columns; of a missing value it is missing."""

    def call(*columns):
        columns = [np.asarray(column.to_pylist(), dtype=float) for column in columns]  # None becomes NaN
        known = ~np.isnan(np.stack(columns)).any(axis=0)
        values = np.zeros(len(known))
        if known.any():
            with np.errstate(all="ignore"):  # it may be asked about rows that a condition leaves out
                values[known] = np.asarray(function(*(column[known] for column in columns)), dtype=float)
        return pa.array(values, pa.float64(), mask=~known)

    counted = {1: lambda a: call(a), 3: lambda a, b, c: call(a, b, c)}[num_arguments]  # DuckDB counts them
    connection.create_function(name, counted, ["DOUBLE"] * num_arguments, "DOUBLE", type="arrow")


def number(value):
    """As SQL: a decimal literal would be rounded twice."""
    return f"'{float(value)!r}'::double"


# ---- lives


class Shapes(Life):
    """A life whose index may be in files, and then is asked by a reader too that reads what a query touches."""

    path = None

    def __init__(self, seed, folder):
        super().__init__(seed, folder)
        names = self.table.attributes
        quantiles = {name: quantiles_of(self.connection, name) for name in names}  # which changes do not move
        add_function(self.connection, "chain", fma, 3)
        add_function(self.connection, "exp2_of_minus", of_distinct(exp2_of_minus), 1)
        add_function(self.connection, "log_of", of_distinct(log_of), 1)
        for name in names:
            ranks = of_distinct(lambda values, q=quantiles[name]: [rank(q, value) for value in values])
            add_function(self.connection, f"rank_{name}", ranks, 1)
        stored = {"float32": np.float32, "float64": np.float64}[
            self.index.info.value_type
        ]  # to which means are rounded
        self.stand_in_of = {ranked.split(":")[0]: float(stored(value)) for ranked, value in self.stand_ins.items()}
        self.types = {column.name: column.type for column in self.index.schema}
        self.number = 0

    def save_and_open(self):
        super().save_and_open()
        self.path = self.folder / f"{self.seed}-{len(self.steps)}"

    def views(self):
        """The index, and a reader of its files."""
        if self.path is None:
            return [self.index]
        self.index.flush()
        return [self.index, self.reader()]

    def reader(self):
        return culmen.Index.open(self.path, loading="on_touch")

    def ask_all(self):
        views = self.views()
        for _ in range(QUESTIONS_OF_STAGE):
            Question(self, SCALES[self.number % 4], has_terms=self.number // 4 % 2 == 1).check(views)
            self.number += 1


class ShardedShapes(Shapes):
    def build(self, arrow):
        missing = {name: str(self.rng.choice(["worst", "median", "mean"])) for name in self.table.attributes}
        ranked = [name + str(self.rng.choice(["", "", ":low"])) for name in self.table.attributes]
        self.path = self.folder / f"shards-{self.seed}"
        options = {"id": "id", "missing": missing, "cluster": self.cluster, "leaf_rows": 16}
        culmen.ShardedIndex.build(arrow, self.path, ranked, shards=int(self.rng.integers(1, 6)), **options)
        stand_ins = {name: stand_in(self.table.columns[name.split(":")[0]], name, missing) for name in ranked}
        return culmen.ShardedIndex.open(self.path, writable=True), stand_ins

    def save_and_open(self):
        self.index.close()
        self.index = culmen.ShardedIndex.open(self.path, writable=True)

    def reader(self):
        return culmen.ShardedIndex.open(self.path)


# ---- questions


class Question:
    """One query, and its score as SQL."""

    def __init__(self, life, scale, has_terms):
        self.life, self.rng, self.table, self.scale = life, life.rng, life.table, scale
        self.missing = str(self.rng.choice(["skip", "skip", "fill"]))
        self.weights = self.random_weights(may_be_zero=has_terms)
        self.terms, of_terms = self.random_terms() if has_terms else ("", [])
        self.where = RandomWhere(self.table).tree(int(self.rng.integers(0, 4)))[0] if self.rng.random() < 0.6 else None
        self.given = {"where": self.where, "scale": scale, "missing": self.missing, "terms": self.terms}
        self.score = self.chain_of_weights()
        for weight, term in of_terms:
            self.score = f"chain({number(weight)}, {term}, {self.score})"
        # Attributes that the scale drops count: a row without the value has no score.
        present = [self.value(name) + " is not null" for name, weight in self.weights.items() if weight != 0]
        self.condition = " and ".join([f"({self.where or 'true'})", f"({self.score}) is not null", *present])

    def __str__(self):
        return f"{self.life}\n{self.weights} {self.given}\nselect id, {self.score} from t where {self.condition}"

    def random_weights(self, may_be_zero):
        names = self.table.attributes
        weights = (
            self.rng.integers(-8, 9, len(names)) / 4.0 if self.rng.random() < 0.5 else self.rng.normal(size=len(names))
        )
        weights[self.rng.random(len(names)) < 0.3] = 0
        if not weights.any() and not (may_be_zero and self.rng.random() < 0.5):
            weights[0] = 1
        return dict(zip(names, weights.tolist()))

    def value(self, name):
        """Of an attribute, as it is ranked but for the scale."""
        return f"coalesce({name}, {number(self.life.stand_in_of[name])})" if self.missing == "fill" else name

    def scaled(self, name):
        """Where its part of the score begins, its weight, and what that is multiplied by; None: it drops out."""
        weight, value = self.weights[name], self.value(name)
        if self.scale == "rank":
            return 0.0, weight, f"rank_{name}({value})"
        if self.scale == "none":
            return 0.0, weight, value
        center, unit = self.center_and_unit(name)
        if not unit > 0:
            return None
        return center, weight / unit, value

    def center_and_unit(self, name):
        """What a scale subtracts from values, and divides them by."""
        if self.scale == "minmax":
            [(least, most)] = self.life.connection.sql(f"select min({name}), max({name}) from t").fetchall()
            return (0.0, 0.0) if least is None else (least, most - least)
        values = [Fraction(v) for (v,) in self.life.connection.sql(f"select {name} from t").fetchall() if v is not None]
        if not values:
            return 0.0, 0.0
        mean = sum(values) / len(values)
        variance = sum(value * value for value in values) / len(values) - mean * mean
        with decimal.localcontext(prec=80):
            deviation = (decimal.Decimal(variance.numerator) / decimal.Decimal(variance.denominator)).sqrt()
        [(of_sql,)] = self.life.connection.sql(f"select stddev_pop({name}) from t").fetchall()
        assert float(deviation) == pytest.approx(of_sql, rel=1e-9, abs=1e-9)
        return float(mean), float(deviation)

    def chain_of_weights(self):
        parts = [self.scaled(name) for name, weight in self.weights.items() if weight != 0]
        start = 0.0
        for center, weight, _ in filter(None, parts):
            start = float(fma(-weight, center, start))
        score = number(start)
        for _, weight, value in filter(None, parts):
            score = f"chain({number(weight)}, {value}, {score})"
        return score

    def random_terms(self):
        """Their text, and of each its weight and its value as SQL, in the contract's order."""
        functions = dict(self.random_function() for _ in range(self.rng.integers(0, 4)))
        terms = sorted((text, sql) for text, sql in functions.items())
        where = RandomWhere(self.table)
        if self.rng.random() < 0.5:
            [name] = self.rng.choice([*self.table.attributes, *self.table.fields], 1)
            literal = where.literal(str(name), self.table.fields.get(str(name), "double"))[0]
            terms.append((f"[{name} = {literal}]", f"case when {name} = {literal} then 1 else 0 end"))
        if not terms or self.rng.random() < 0.5:
            condition = f"not ({where.tree(1)[0]})"
            terms.append((f"[{condition}]", f"case when {condition} then 1 else 0 end"))
        weights = [float(self.rng.choice([1, -1, 0.5, 2, self.rng.normal()])) for _ in terms]
        texts = [f"{weight!r} * {text}" for weight, (text, _) in zip(weights, terms)]
        joined = " + ".join(texts[i] for i in self.rng.permutation(len(texts)))
        return joined, [(weight, f"({sql})::double") for weight, (_, sql) in zip(weights, terms)]

    def random_function(self):
        """Its text, and its value as SQL: missing where the function takes none."""
        types = self.life.types  # pandas has dates as timestamps, and a column without any value as one of texts
        columns = [name for name in self.table.fields if types[name] not in ("text", "bool")]
        name = str(self.rng.choice([*self.table.attributes, *columns]))
        kind = types[name] if name in self.table.fields else "attribute"
        origin = self.rng.integers(-20, 20) + 0.25
        place, x = repr(float(origin)), f"({self.value(name) if kind == 'attribute' else name})::double"
        if kind == "date":
            day = EPOCH.isoformat()
            place, origin = quoted(day), 0.0
            x = f"date_diff('day', date {quoted(day)}, {name})::double"
        if kind == "timestamp":
            place, origin = quoted("2024-01-01 01:00:00"), 1_704_070_800.0
            x = f"(epoch_us({name}::timestamp)::double / 1e6::double)"
        distance = f"abs({x} - {number(origin)})"
        scale = float(self.rng.choice([0.5, 3, 10, 2000]))
        choice = self.rng.integers(5 if kind in ("date", "timestamp") else 9)
        if choice <= 1:
            return f"near({name}, {place})", f"-{distance}"
        shape = ["linear", "exp", "gauss"][choice - 2] if choice < 5 else ""
        text = f"decay({name}, {place}, {scale!r}, {shape})".replace(".0,", ",")
        if shape == "linear":
            left = f"1 - {distance} / (2 * {number(scale)})"
            return text, f"case when {left} > 0 then {left} when {left} <= 0 then 0 end"  # greatest() hides NULLs
        t = f"({distance} / {number(scale)})"
        if shape:
            return text, f"exp2_of_minus({t})" if shape == "exp" else f"exp2_of_minus({t} * {t})"
        least = ">" if choice == 5 else ">="
        text, value = [
            (f"log({name})", f"log_of({x})"),
            (f"log1p({name})", f"log_of(1 + {x})"),
            (f"sqrt({name})", f"sqrt(abs({x}))"),
            (f"saturate({name}, {scale:g})", f"{x} / ({x} + {number(scale)})"),
        ][choice - 5]
        return text, f"case when {x} {least} 0 then {value} end"

    # ---- the questions

    def check(self, views):
        rng = self.rng
        column, most = self.group_column(views[0]), int(rng.integers(1, 4))
        rows = self.life.connection.sql(
            f"""select id, score, row_number() over (order by score desc, id),
                       row_number() over (partition by {column} order by score desc, id)
                from (select *, ({self.score}) + 0::double as score from t where {self.condition})
                order by score desc, id"""
        ).fetchall()
        k = int(rng.choice([1, 3, 16, 10_000]))
        at = rows[rng.integers(len(rows))] if rows else (0, 0.5, 0, 0)
        if rng.random() < 0.2:  # between rows
            at = (at[0] + int(rng.integers(-1, 2)), at[1], None, None)
        after = (at[1], at[0])
        behind = [row for row in rows if row[1] < at[1] or (row[1] == at[1] and row[0] > at[0])]
        shapes = [
            ({}, rows),
            ({"after": after}, behind),
            ({"per": {column: most}}, [row for row in rows if row[3] <= most]),
            ({"per": {column: most}, "after": after}, [row for row in behind if row[3] <= most]),
        ]
        for index in views:
            for page, expected in shapes:
                least = None
                if rng.random() < 0.2 and rows:
                    least = rows[rng.integers(len(rows))][1]
                    expected = [row for row in expected if row[1] >= least]
                engine = str(rng.choice(ENGINES))
                page = {**page, **self.given, "engine": engine, "min_score": least}
                if isinstance(index, culmen.ShardedIndex) and rng.random() < 0.5:
                    page["timeout"] = 100  # which is answered by messages between shards, as in a cluster
                found = index.search(self.weights, k, **page)
                answer = list(zip(found.ids.tolist(), found.scores.tolist()))
                assert answer == [row[:2] for row in expected[:k]], f"{self}\n{page}"
            above = sum(row[1] > at[1] for row in rows)
            assert index.count_above(self.weights, at[1], **self.given) == above, str(self)
            place = next((culmen.RowRank(row[2], row[1]) for row in rows if row[0] == at[0]), None)
            assert index.rank_of(self.weights, at[0], **self.given) == place, str(self)
            if rows and any(self.weights.values()):
                self.check_reasons(index, rows[rng.integers(len(rows))], rows[rng.integers(len(rows))])

    def group_column(self, index):
        stored = {column.name for column in index.schema if column.role == "stored"}
        names = [*self.table.attributes, *self.table.fields]
        return str(self.rng.choice([name for name in names if name not in stored]))

    def check_reasons(self, index, row, other):
        values = [self.ranked_values(one[0]) for one in (row, other)]
        reasons = index.why(self.weights, row[0], other[0], scale=self.scale, missing=self.missing)
        for parts, of_row in zip((reasons.parts, reasons.others), values):
            by_size = sorted(parts, key=lambda part: -abs(part.part))
            assert list(parts) == by_size and len(parts) == sum(weight != 0 for weight in self.weights.values())
            for part in parts:
                assert part.weight == self.weights[part.attribute] and not np.isnan(part.part), str(self)
                value, is_missing = of_row[part.attribute]
                assert part.value == pytest.approx(value, rel=1e-12, abs=1e-12), str(self)
                assert part.part == part.weight * part.value and part.is_missing == is_missing, str(self)
            if not self.terms:
                score = row[1] if parts is reasons.parts else other[1]
                size = 1 + sum(abs(part.part) for part in parts) * (1 + self.largest_center())
                assert math.fsum(part.part for part in parts) == pytest.approx(score, abs=1e-12 * size), str(self)
        self.check_even(reasons.even, *values)

    def largest_center(self):
        """How far from its values a score may have begun, in units of the scale."""
        units = [self.center_and_unit(name) for name in self.weights] if self.scale in ("minmax", "zscore") else []
        return max((abs(center) / unit for center, unit in units if unit > 0), default=0)

    def ranked_values(self, id):
        """Of a row by attribute, and whether they are missing."""
        sql = ", ".join(f"{self.ranked_value(name)}, {name} is null" for name in self.table.attributes)
        [found] = self.life.connection.sql(f"select {sql} from t where id = {id}").fetchall()
        return dict(zip(self.table.attributes, zip(found[::2], found[1::2])))

    def ranked_value(self, name):
        if self.scale in ("none", "rank"):
            return self.value(name) if self.scale == "none" else f"rank_{name}({self.value(name)})"
        center, unit = self.center_and_unit(name)
        return f"({self.value(name)} - {number(center)}) / {number(unit)}" if unit > 0 else f"{self.value(name)} * 0"

    def check_even(self, even, row, other):
        """With such a weight SQL's scores of both rows are the same, but for rounding."""
        differences = {}
        for name in self.weights:
            a, b = row[name][0], other[name][0]
            differences[name] = 0.0 if a is None or b is None else a - b
        assert {one.attribute for one in even} == {name for name, d in differences.items() if d != 0}, str(self)
        changes = [abs(one.even - one.weight) for one in even]
        assert changes == sorted(changes)
        for one in even:
            changed = {**self.weights, one.attribute: one.even}
            parts = [changed[name] * differences[name] for name in changed]
            assert abs(math.fsum(parts)) <= 1e-11 * (1 + math.fsum(map(abs, parts))), f"{self}\n{one}"


@pytest.mark.parametrize("life", [Shapes, ShardedShapes])
@pytest.mark.parametrize("suite", range(2))
def test_questions_of_all_shapes_are_answered_as_sql_does(suite, life, tmp_path):
    for seed in [ONLY_SEED] if ONLY_SEED else range(1 + suite, 1 + math.ceil(NUM_TABLES / 2), 2):
        one = life(seed, tmp_path)
        for stage in range(STAGES_OF_TABLE):
            if stage > 0:
                one.step()
            one.ask_all()
        assert one.index.verify() == [], str(one)
        one.index.close()
