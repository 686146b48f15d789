"""Pages, rows of each group, ranks and reasons; against DuckDB's window functions on random tables."""

import math
import os

import numpy as np
import pytest

import culmen


def build():
    rows = {"price": [80, 120, 60, 80], "rating": [7, 9, None, 7], "brand": ["LG", "Sony", "LG", None]}
    return culmen.Index.build(rows, ["price:low", "rating"], id=[1, 2, 3, 4])


def test_pages_joined_are_the_long_answer():
    rng = np.random.default_rng(3)
    index = culmen.Index.build({"a": rng.integers(0, 9, 500), "b": rng.integers(0, 5, 500)}).snapshot()
    whole = index.search({"a": 1, "b": -2}, k=500)
    joined, cursor = [], None
    while True:
        page = index.search({"a": 1, "b": -2}, k=37, after=cursor)
        if len(page) == 0:
            break
        joined += zip(page.ids.tolist(), page.scores.tolist())
        cursor = page.cursor
    assert joined == list(zip(whole.ids.tolist(), whole.scores.tolist()))
    assert page.cursor is None


def test_arguments_that_cannot_be_are_refused():
    index = build()
    for after in ("x", 3, (1,), (math.nan, 1), (1, 1 << 63)):
        with pytest.raises(culmen.InvalidArgument):
            index.search({"rating": 1}, after=after)
    for per in ("brand", {}, {"brand": 0}, {"brand": 1, "price": 1}, {"nobrand": 1}):
        with pytest.raises(culmen.InvalidArgument):
            index.search({"rating": 1}, per=per)
    assert len(index.search({"rating": 1}, per={"brand": 1 << 64})) == len(index.search({"rating": 1}))
    with pytest.raises(TypeError, match="integer"):
        index.why({"rating": 1}, None)
    with pytest.raises(culmen.InvalidArgument, match="of one query"):
        index.search([[1, 0]], per={"brand": 1})


def test_rows_of_each_group_behind_a_log_are_those_of_one_tree(tmp_path):
    rng = np.random.default_rng(5)

    def rows(ids, names):
        brand = [names[i] for i in rng.integers(0, len(names), len(ids))]
        return {"id": ids, "a": rng.standard_normal(len(ids)), "b": rng.integers(0, 5, len(ids)) / 4, "brand": brand}

    culmen.Index.build(rows(np.arange(5000), ["LG", "Sony", None, "Sharp"]), ["a", "b"], id="id").save(
        tmp_path / "index"
    )
    writer = culmen.Index.open(tmp_path / "index", writable=True)
    writer.upsert(rows(np.arange(4800, 5300), ["Acer", "LG", None]))
    writer.erase(np.arange(100, 200))
    readers = [
        culmen.Index.open(tmp_path / "index", loading="on_touch"),
        culmen.Index.open(tmp_path / "index", max_memory=1),
    ]
    for per in ({"brand": 1}, {"brand": 300}, {"b": 2}, {"a": 1}):
        asked = {"weights": {"a": 1, "b": -2}, "k": 20, "per": per}
        page = writer.search(**asked)
        following = writer.search(**asked, after=page.cursor)
        for reader in readers:
            for expected, after in ((page, None), (following, page.cursor)):
                found = reader.search(**asked, after=after)
                assert found.ids.tolist() == expected.ids.tolist()
                assert found.scores.tolist() == expected.scores.tolist()
                assert found["brand"] == expected["brand"]


def test_ranks_counts_and_reasons():
    index = build()
    assert index.rank_of({"rating": 1}, 4) == culmen.RowRank(3, 7.0)
    assert index.rank_of({"rating": 1}, 3) is None
    assert index.rank_of({"rating": 1}, 4, where="brand is null").rank == 1
    assert index.count_above({"price": -1}, -100) == 3
    reasons = index.why({"price": -1, "rating": 10}, 1, 2)
    assert [(part.attribute, part.part) for part in reasons.parts] == [("price", -80.0), ("rating", 70.0)]
    assert reasons.even[0] == culmen.EvenWeight("price", -1.0, -0.5)
    assert index.why({"rating": 1}, 3).parts[0].is_missing
    with pytest.raises(culmen.InvalidArgument, match="no row"):
        index.why({"rating": 1}, 99)
    with pytest.raises(culmen.InvalidArgument, match="no row with the id 77$"):
        index.why({"rating": 1}, 1, 77)
    with pytest.raises(culmen.InvalidArgument, match="no row with the id 99 or 77$"):
        index.why({"rating": 1}, 99, 77)


def test_reasons_are_readable_text():
    index = culmen.Index.build({"price": [80, 120], "rating": [7, 9]})
    assert str(index.why({"price": -0.1, "rating": 1}, 0, 1)).splitlines() == [
        "            -8.0  = -0.1 * 80.0 of price",
        "             7.0  = 1.0 * 7.0 of rating",
        "the other row:",
        "           -12.0  = -0.1 * 120.0 of price",
        "             9.0  = 1.0 * 9.0 of rating",
        "they score the same with one of these weights changed, and beyond it swap:",
        "  price = -0.05 (now -0.1)",
        "  rating = 2.0 (now 1.0)",
    ]
    assert len(str(index.why({"price": -0.1}, 0)).splitlines()) == 1


def test_other_words_name_the_method_that_is_meant():
    index = culmen.Index.build({"price": [80, 120]})
    with pytest.raises(AttributeError, match="'Index' object has no attribute 'delete'; did you mean 'erase'"):
        index.delete([1])
    with pytest.raises(AttributeError, match="no attribute 'prices'$"):
        index.prices  # noqa: B018
    with pytest.raises(TypeError, match="'price > 100' is not; where=... erases the rows"):
        index.erase("price > 100")
    with pytest.raises(TypeError, match="where=... erases the rows"):
        index.erase(culmen.col("price") > 100)


def test_columns_of_ids_and_labels_have_their_names():
    index = culmen.Index.build({"key": [4, 7], "a": [1.0, 2], "name": ["x", "y"]}, ["a"], id="key", label="name")
    result = index.search({"a": 1})
    assert list(result["name"]) == list(result["label"]) == ["y", "x"]
    assert result["key"].tolist() == result["id"].tolist() == [7, 4]
    with pytest.raises(KeyError, match="the row has id, score and label"):
        result[0]["name"]
    assert index.search([[1.0], [-1]], 2).to_dict()["rank"].tolist() == [1, 2, 1, 2]  # as rank_of counts


def test_rows_are_erased_by_a_filter():
    index = build()
    assert index.erase(where="brand = 'LG'") == 2
    assert index.ids().tolist() == [2, 4]
    for arguments in ({}, {"ids": [1], "where": "price > 1"}):
        with pytest.raises(culmen.InvalidArgument, match="say which rows"):
            index.erase(**arguments)


def test_answers_are_arrow_streams_and_no_arrays():
    pa = pytest.importorskip("pyarrow")
    result = build().search({"rating": 1})
    assert pa.table(result).column_names == ["id", "score", "price", "rating", "brand"]
    pandas = pytest.importorskip("pandas")
    with pytest.raises(TypeError, match="to_pandas"):
        pandas.DataFrame(result)


def test_csv_dialects(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("name;preis\nA;15.990\n")
    with pytest.raises(culmen.InputError, match="CsvDialect"):
        culmen.Index.from_files(path)
    dialect = culmen.CsvDialect(decimal=",")
    assert culmen.Index.from_files(path, dialect=dialect).search({"preis": 1}).scores.tolist() == [15990.0]
    path.write_text("2019,2020\n1,unknown\n")
    index = culmen.Index.from_files(path, dialect=culmen.CsvDialect(header=False, null_words=["unknown"]))
    assert len(index) == 2 and index.attributes == ("a0", "a1")
    with pytest.raises(culmen.InvalidArgument, match="single characters"):
        culmen.Index.from_files(path, dialect=culmen.CsvDialect(delimiter="ab"))
    with pytest.raises(culmen.InvalidArgument, match="delimiter"):
        culmen.Index.from_files(path, dialect=culmen.CsvDialect(delimiter="x"))


def test_rejected_rows_are_listed(tmp_path):
    path = tmp_path / "p.csv"
    path.write_bytes(b"a,b\n1,1\nx,\xff\n3\n4,4\n")
    with pytest.raises(culmen.InputError, match=r"p.csv:3:1: .*\n.*p.csv:4:2: .*rejects"):
        culmen.Index.from_files(path, ["a"])
    rejects = []
    index = culmen.Index.from_files(path, ["a"], rejects=rejects)
    assert index.ids().tolist() == [0, 3]
    assert [(row.line, row.column, row.text) for row in rejects] == [(3, 1, "x,\ufffd"), (4, 2, "3")]
    assert rejects[0].file == str(path) and "expected a number" in rejects[0].problem
    with pytest.raises(culmen.InvalidArgument, match="CSV"):
        culmen.Index.from_files(__file__, rejects=[])


def test_cells_that_are_none_do_not_hide_how_times_are_written(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("t,a\n2025-11-28T09:00:00Z,1\nsoon,2\n2025-11-28T10:00:00Z,3\n")
    rejects = []
    index = culmen.Index.from_files(path, ["t"], rejects=rejects)
    assert [row.text for row in rejects] == ["soon,2"]
    assert index.ids().tolist() == [0, 2]
    assert index.schema[1].time_zone == "UTC"
    path = tmp_path / "d.jsonl"
    path.write_text('{"a":1,"d":"01/02/2024"}\n{"a":2,"d":"31/12/2024"}\n')
    assert culmen.Index.from_files(path).search({"a": -1}, 1, where="d = '2024-02-01'").ids.tolist() == [0]
    path.rename(tmp_path / "d.csv")
    with pytest.raises(culmen.InputError, match="JSON Lines"):
        culmen.Index.from_files(tmp_path / "d.csv")


def test_json_lines(tmp_path):
    path = tmp_path / "p.jsonl"
    path.write_text('{"a": 1, "name": "x"}\n{"name": "y", "a": null}\n')
    index = culmen.Index.from_files(path, label="name")
    assert [row.label for row in index.search({"a": 1})] == ["x"]


NUM_QUESTIONS = int(os.environ.get("CULMEN_TEST_CASES") or 2000)


@pytest.mark.parametrize("suite", range(2))
def test_questions_are_answered_as_window_functions_do(suite):
    duckdb = pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    from test_duckdb_oracle import RandomTable, RandomWhere

    questions_of_table = 20
    for seed in range(1 + suite, 1 + NUM_QUESTIONS // questions_of_table, 2):
        rng = np.random.default_rng(10_000 + seed)
        table = RandomTable(rng)
        arrow = table.arrow()
        index = culmen.Index.build(arrow, table.attributes, id="id", leaf_rows=16)
        connection = duckdb.connect()
        connection.execute("set threads to 1")
        connection.register("source", arrow)
        connection.execute("create table t as select * from source")
        stored = {column.name for column in index.schema if column.role == "stored"}
        for _ in range(questions_of_table):
            ask(index, connection, table, [n for n in table.columns if n != "id" and n not in stored], RandomWhere)


def ask(index, connection, table, columns, RandomWhere):
    rng = table.rng
    weights = rng.integers(-8, 9, len(table.attributes)) / 4.0
    if not weights.any():
        weights[0] = 1
    weights = {name: float(weight) for name, weight in zip(table.attributes, weights) if weight != 0}
    score = " + ".join(f"{weight!r}::double * {name}" for name, weight in weights.items())
    where = RandomWhere(table).tree(int(rng.integers(0, 4)))[0]
    column, most = columns[rng.integers(len(columns))], int(rng.integers(1, 4))
    k = int(rng.choice([1, 3, 16, 10_000]))
    order = f"""(select id, {score} as score, row_number() over (order by {score} desc, id) as rank,
        row_number() over (partition by {column} order by {score} desc, id) as in_group
        from t where ({where}) and ({score}) is not null)"""
    rows = connection.sql(f"select id, score, rank, in_group from {order} order by rank").fetchall()
    at = rows[rng.integers(len(rows))] if rows else (0, 0.5, 0, 0)
    after = (at[1], at[0])
    behind = [(id, s) for id, s, _, _ in rows if s < at[1] or (s == at[1] and id > at[0])]
    engine = str(rng.choice(["auto", "bounded", "scan", "gta", "ta"]))
    found = index.search(weights, k, where=where, after=after, engine=engine)
    assert list(zip(found.ids.tolist(), found.scores.tolist())) == behind[:k], (score, where, after)
    grouped = [(id, s) for id, s, _, in_group in rows if in_group <= most]
    found = index.search(weights, k, where=where, per={column: most})
    assert list(zip(found.ids.tolist(), found.scores.tolist())) == grouped[:k], (score, where, column, most)
    grouped = [row for row in grouped if row in set(behind)]
    found = index.search(weights, k, where=where, per={column: most}, after=after)
    assert list(zip(found.ids.tolist(), found.scores.tolist())) == grouped[:k], (score, where, column, most, after)
    assert index.count_above(weights, at[1], where=where) == sum(s > at[1] for _, s, _, _ in rows), (score, where)
    if rows:
        assert index.rank_of(weights, at[0], where=where) == culmen.RowRank(at[2], at[1]), (score, where, at)
