"""DuckDB as a second oracle: the same rows as ORDER BY score DESC, id LIMIT k with a WHERE.

Values and weights are small integers, so that every sum is exact in whatever order it is computed.
"""

import numpy as np
import pytest

import culmen

duckdb = pytest.importorskip("duckdb")


def test_answers_as_sql_does():
    rng = np.random.default_rng(7)
    for _ in range(20):
        num_rows, width = int(rng.integers(1, 3000)), int(rng.integers(1, 8))
        names = [f"c{i}" for i in range(width)]
        values = rng.integers(-50, 50, (num_rows, width))
        columns = {"id": rng.permutation(5 * num_rows)[:num_rows]}
        columns.update({name: values[:, i] for i, name in enumerate(names)})
        index = culmen.Index.build(columns, names, id="id", leaf_rows=16)
        connection = duckdb.connect()
        import pyarrow

        connection.register("t", pyarrow.table(columns))
        for _ in range(50):
            weights = rng.integers(-9, 10, width)
            if not weights.any():
                continue
            k = int(rng.choice([1, 5, 100, 10_000]))
            column, limit = rng.choice(names), int(rng.integers(-50, 50))
            sign = rng.choice(["<", "<=", ">", ">=", "="])
            where = f"{column} {sign} {limit}"
            score = " + ".join(f"{w} * {name}" for w, name in zip(weights, names))
            sql = f"select id, {score} as score from t where {where} order by score desc, id limit {k}"
            expected = connection.sql(sql).fetchall()
            result = index.search(weights.astype(float), k, where=where)
            assert list(zip(result.ids.tolist(), result.scores.tolist())) == expected, sql
