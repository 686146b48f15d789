"""scale="rank" by its definition (docs/contract.md): quantiles from DuckDB, each operation rounded once.

CULMEN_TEST_CASES is the number of random questions.
"""

import os
import sys
from fractions import Fraction

import numpy as np
import pytest

import culmen
from culmen._view import _ranks

NUM_QUESTIONS = int(os.environ.get("CULMEN_TEST_CASES") or 2000)
QUESTIONS_OF_TABLE = 20
STEPS = 256
MOST = sys.float_info.max
SIZES = [1, 2, 3, 40, STEPS, STEPS + 1, STEPS + 2, 2 * STEPS + 1, 1000]


def fma(a, b, c):
    """Python's division of Fractions rounds once."""
    return float(Fraction(a) * Fraction(b) + Fraction(c))


def quantiles_of(connection, column):
    """Of a column of the table t, by SQL."""
    return [
        value
        for (value,) in connection.execute(
            f"""with sorted as (select {column} v, row_number() over (order by {column}) - 1 place,
                                       count(*) over () - 1 last from t where {column} is not null)
                select v from sorted join range({STEPS + 1}) steps(j)
                on j <= least({STEPS}, last) and place = j * last // greatest(1, least({STEPS}, last))
                order by j"""
        ).fetchall()
    ]


def rank(quantiles, x):
    if not quantiles or x < quantiles[0]:
        return 0.0
    steps = max(len(quantiles) - 1, 1)
    below = max(q for q in quantiles if q <= x)
    first = quantiles.index(below)
    if x >= quantiles[-1]:
        return first / steps
    above = min(q for q in quantiles if q > x)
    part = min(x - below, MOST) / min(above - below, MOST)
    return fma(part, quantiles.index(above) - first, first) / steps


def random_column(rng, rows):
    kind = rng.integers(7)
    if kind == 0:
        values = rng.integers(-3, 4, rows).astype(float)
    elif kind == 1:
        values = rng.normal(size=rows)
    elif kind == 2:
        values = rng.lognormal(0, 4, rows) * rng.choice([-1, 1])
    elif kind == 3:
        values = np.full(rows, 2.5)
    elif kind == 4:
        values = np.where(rng.random(rows) < 0.7, 0.0, rng.random(rows))
    elif kind == 5:
        values = rng.choice([-MOST, MOST, 5e-324, 0.0, 1.0], rows)
    else:
        values = 1e6 + rng.integers(0, 50, rows) / 8
    return [
        None if gone else float(value)
        for value, gone in zip(values, rng.random(rows) < rng.choice([0, 0.1, 1], p=[0.7, 0.27, 0.03]))
    ]


@pytest.mark.parametrize("suite", range(4))
def test_scores_are_those_of_the_definition(suite):
    duckdb = pytest.importorskip("duckdb")
    pa = pytest.importorskip("pyarrow")
    rng = np.random.default_rng(suite)
    for _ in range(max(1, NUM_QUESTIONS // 4 // QUESTIONS_OF_TABLE)):
        rows = int(rng.choice(SIZES))
        names = [f"a{i}" for i in range(rng.integers(1, 5))]
        columns = {name: random_column(rng, rows) for name in names}
        table = pa.table(
            {"id": pa.array(range(rows), pa.int64()), **{n: pa.array(c, pa.float64()) for n, c in columns.items()}}
        )
        connection = duckdb.connect()
        connection.register("t", table)
        quantiles = {name: quantiles_of(connection, name) for name in names}
        known = {name: {} for name in names}
        for name in names:
            known[name] = {x: rank(quantiles[name], x) for x in set(columns[name]) if x is not None}
            if rows <= STEPS + 1:
                ranks = connection.execute(
                    f"select {name}, percent_rank() over (order by {name}) from t where {name} is not null"
                )
                assert all(known[name][x] == share for x, share in ranks.fetchall())
        attributes = [name + str(rng.choice(["", ":low"])) for name in names]
        index = culmen.Index.build(table, attributes, id="id", leaf_rows=16)
        for _ in range(QUESTIONS_OF_TABLE):
            ask(index, columns, known, rng)


def ask(index, columns, ranks, rng):
    weights = {name: float(rng.choice([0, 1, -1, 0.5, rng.normal()])) for name in columns}
    if not any(weights.values()):
        weights[next(iter(weights))] = 1.0
    expected = []
    for row, values in enumerate(zip(*columns.values())):
        score = 0.0
        for name, value in zip(columns, values):
            if weights[name] != 0:
                score = None if score is None or value is None else fma(weights[name], ranks[name][value], score)
        if score is not None:
            expected.append((-score, row))
    k = int(rng.choice([1, 5, 50, len(index)]))
    expected = sorted(expected)[:k]
    for engine in ("auto", "bounded", "scan", "gta", "ta"):
        found = index.search(weights, k, scale="rank", engine=engine)
        assert found.ids.tolist() == [row for _, row in expected]
        assert found.scores.tolist() == [-score + 0.0 for score, _ in expected]


def test_an_outlier_changes_no_more_than_a_place():
    prices = [80.0, 120, 95, 100, 1e9]
    index = culmen.Index.build({"price": prices, "rating": [7.0, 9, 8, 6, 1]})
    found = index.search({"price": -1, "rating": 1}, 5, scale="rank")
    assert dict(zip(found.ids.tolist(), found.scores.tolist())) == {0: 0.5, 1: 0.25, 2: 0.5, 3: -0.25, 4: -1.0}
    parts = index.why({"price": -1, "rating": 1}, 1, scale="rank").parts
    assert [(part.attribute, part.value, part.part) for part in parts] == [("rating", 1, 1), ("price", 0.75, -0.75)]
    even = index.why({"price": -1, "rating": 1}, 1, 0, scale="rank").even
    assert [(weight.attribute, weight.even) for weight in even] == [("price", pytest.approx(-2 / 3)), ("rating", 1.5)]


def test_changes_do_not_move_the_quantiles(tmp_path):
    index = culmen.Index.build({"a": [0.0, 1, 2]}, id=[1, 2, 3])
    index.save(tmp_path / "i")
    writer, reader = culmen.Index.open(tmp_path / "i", writable=True), culmen.Index.open(tmp_path / "i")
    writer.insert({"a": np.arange(-250, 250) / 128}, id=range(10, 510))
    writer.erase([3])
    writer.flush()
    reader.refresh()
    assert writer.search({"a": 1}, 2, scale="rank").scores.tolist() == [0.97265625, 0.96875]
    assert reader.search({"a": 1}, 2, scale="rank").scores[0] == 0.97265625
    assert reader.search({"a": -1}, 1, scale="rank").scores[0] == 0  # as what is below all of the build
    writer.compact()
    assert writer.search({"a": 1}, 1, scale="rank").scores[0] == 0.97265625
    writer.upsert({"a": [70.0]}, id=[600])
    assert writer.search({"a": 1}, 1, scale="rank").scores[0] == 1
    writer.close()
    assert culmen.Index.open(tmp_path / "i").search({"a": 1}, 2, scale="rank").scores.tolist() == [1, 0.97265625]


def test_an_index_that_was_built_without_rows_refuses():
    index = culmen.Index.build({"a": np.empty(0)})
    index.insert({"a": [1.0, 2]})
    with pytest.raises(culmen.InvalidArgument, match="no quantiles.*build it again"):
        index.search({"a": 1}, scale="rank")
    assert index.search({"a": 1}, scale="zscore").ids.tolist() == [1, 0]


def test_batches_and_one_off_queries():
    rng = np.random.default_rng(3)
    matrix = rng.normal(size=(3000, 3))
    index = culmen.Index.build(matrix)
    weights = rng.normal(size=(20, 3))
    answers = index.search(weights, 7, scale="rank")
    for row, answer in zip(weights, answers):
        one = index.search(row, 7, scale="rank")
        assert answer.ids.tolist() == one.ids.tolist() and answer.scores.tobytes() == one.scores.tobytes()
    assert culmen.rank(matrix, weights[0], 7, scale="rank").ids.tolist() == answers.ids[0].tolist()
    with_terms = index.search(weights[0], 3000, scale="rank", terms="near(a0, 0)")
    assert len(with_terms) == 3000 and with_terms.ids[:7].tolist() != answers.ids[0].tolist()


def test_a_shard_is_bounded_by_the_quantiles_around_its_values():
    rng = np.random.default_rng(4)
    for _ in range(300):
        quantiles = np.sort(rng.choice([rng.integers(0, 9, 20), rng.normal(size=20) * 5])[: rng.integers(1, 21)])
        low, high = np.sort(rng.uniform(-2, 11, (2, 40)).round(rng.integers(0, 3)), axis=0)
        least, most = _ranks([quantiles] * 40, low, high)
        for i in range(40):
            assert 0 <= least[i] <= rank(quantiles.tolist(), low[i])
            assert rank(quantiles.tolist(), high[i]) <= most[i] <= 1
