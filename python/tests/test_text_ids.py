"""Ids that are texts: in one order, by their bytes, in every answer; and what takes and refuses them."""

import csv
import datetime
import pickle
import uuid

import numpy as np
import pandas as pd
import pytest

import culmen

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
polars = pytest.importorskip("polars")

RNG = np.random.default_rng(12)
ENGINES = ["auto", "scan", "ta", "gta", "bounded"]
PARTS = ["a", "b", "A-", ",", '"', "\n", " ", "é", "日本", "\U0001f600", "0"]


def random_texts(count):
    texts = {"", "x" * 400}
    while len(texts) < count:
        texts.add("".join(RNG.choice(PARTS, RNG.integers(0, 5))))
    return list(texts)


SKUS = random_texts(300)
A = RNG.integers(0, 4, len(SKUS)).astype(float)  # most scores tie
TABLE = {"sku": SKUS, "a": A}


def expected(passing=lambda sku: True, count=None):
    rows = [(-a, sku.encode(), sku) for sku, a in zip(SKUS, A, strict=True) if passing(sku)]
    return [sku for _, _, sku in sorted(rows)][:count]


@pytest.fixture(scope="module")
def index():
    return culmen.Index.build(TABLE, id="sku")


def test_answers_are_in_the_order_of_bytes(index):
    assert [column.type for column in index.schema if column.role == "id"] == ["text"]
    assert all(column.role != "label" for column in index.schema)
    for engine in ENGINES:
        result = index.search({"a": 1}, k=200, engine=engine)
        assert result.ids.dtype == object
        assert result.ids.tolist() == expected(count=200)
        assert [row.id for row in result] == expected(count=200)
        assert set(result.labels) == {""}
    assert result[0].to_dict() == {"id": expected()[0], "score": 3.0, "a": 3.0}
    assert result.to_dict()["id"] == expected(count=200)
    assert result.to_pandas()["id"].tolist() == expected(count=200)
    assert result.to_arrow()["id"].to_pylist() == expected(count=200)
    assert result.to_arrow().schema.field("id").type == pa.string()
    assert result.to_polars()["id"].to_list() == expected(count=200)
    assert "label" not in result.to_dict()
    assert expected()[1] in repr(index.search({"a": 1}, k=2)) or expected()[1] == ""


def test_batches(index):
    batch = index.search([[1], [-1]], k=400)
    assert batch.ids.shape == batch.scores.shape
    assert batch.ids[0].tolist()[: len(SKUS)] == expected()
    assert set(batch.ids[0].tolist()[len(SKUS) :]) <= {None}
    assert batch[0].ids.tolist() == expected()
    assert [row.id for row in batch[0]][:5] == expected(count=5)
    assert batch.to_dict()["id"][: len(SKUS)] == expected()
    assert batch.to_arrow().schema.field("id").type == pa.string()
    out = (np.zeros((2, 3), np.int64), np.zeros((2, 3)), np.zeros(2, np.uint32))
    with pytest.raises(culmen.InvalidArgument, match="texts"):
        index.search([[1], [-1]], k=3, out=out)


def test_pages(index):
    page = index.search({"a": 1}, k=70)
    joined = page.ids.tolist()
    while page := index.search({"a": 1}, k=70, after=page.cursor):
        joined += page.ids.tolist()
    assert joined == expected()
    after = index.search({"a": 1}, k=400, after=(2.0, "b"))  # whether or not a row has it
    assert after.ids.tolist() == [
        sku for sku in expected() if (a := A[SKUS.index(sku)]) < 2 or (a == 2 and sku.encode() > b"b")
    ]
    with pytest.raises(TypeError, match="texts"):
        index.search({"a": 1}, after=(1.0, 7))


def test_filters(index):
    def found(where):
        return index.search({"a": 1}, k=400, where=where).ids.tolist()

    seen = set(SKUS[::3])
    for given in (seen, list(seen), np.array(sorted(seen)), pd.Series(sorted(seen)), pa.array(sorted(seen))):
        assert found(~culmen.ids(given)) == expected(lambda sku: sku not in seen)
    assert found(culmen.ids(["none"])) == []
    assert found(culmen.ids([], "text")) == []
    assert found(culmen.id_col() < "b") == expected(lambda sku: sku.encode() < b"b")
    assert found("sku like 'A-%' or id = 'b'") == expected(lambda sku: sku.startswith("A-") or sku == "b")
    assert found({"sku": list(seen)}) == expected(lambda sku: sku in seen)
    kept = pickle.loads(pickle.dumps(culmen.ids(seen)))
    assert found(kept) == expected(lambda sku: sku in seen)
    with pytest.raises(culmen.InvalidArgument, match="those of the index text"):
        found(culmen.ids([1, 2]))


def test_single_rows(index):
    for sku in SKUS[:20]:
        assert index.get(sku).id == sku
        assert index.get(sku)["a"] == A[SKUS.index(sku)]
        assert sku in index
        assert index.rank_of({"a": 1}, sku).rank == expected().index(sku) + 1
    assert index.get("none") is None
    assert "none" not in index
    assert 7 not in index
    assert index.rank_of({"a": 1}, "none") is None
    reasons = index.why({"a": 1}, SKUS[0], SKUS[1])
    assert reasons.parts[0].part == A[0]
    with pytest.raises(culmen.InvalidArgument, match="no row with the id none"):
        index.why({"a": 1}, "none")
    with pytest.raises(TypeError, match="texts"):
        index.get(7)
    with pytest.raises(TypeError):
        culmen.Index.build({"a": [1.0]}).get("x")
    numbered = culmen.Index.build({"a": [1.0, 2.0]})
    assert True not in numbered
    for ask in (numbered.get, lambda given: numbered.rank_of([1], given)):
        with pytest.raises(TypeError, match="integers, which True is not"):
            ask(True)


def test_all_rows(index):
    in_order = sorted(SKUS, key=str.encode)
    assert index.ids().tolist() == in_order
    assert index.to_dict()["sku"] == in_order
    assert index.to_arrow()["sku"].to_pylist() == in_order
    again = culmen.Index.build(index.to_arrow(), id="sku")
    assert again.search({"a": 1}, k=400).ids.tolist() == expected()


@pytest.mark.parametrize("kind", ["dict", "pandas", "polars", "arrow", "pandas index", "array"])
def test_tables(kind):
    frame = pd.DataFrame(TABLE)
    table, id = {
        "dict": (TABLE, "sku"),
        "pandas": (frame, "sku"),
        "polars": (polars.DataFrame(TABLE), "sku"),
        "arrow": (pa.table(TABLE), "sku"),
        "pandas index": (frame.set_index("sku"), "sku"),
        "array": ({"a": A}, np.array(SKUS)),
    }[kind]
    index = culmen.Index.build(table, id=id)
    assert index.search({"a": 1}, k=400).ids.tolist() == expected()


def test_files(tmp_path):
    pd.DataFrame(TABLE).to_csv(tmp_path / "t.csv", index=False, quoting=csv.QUOTE_NONNUMERIC)
    pq.write_table(pa.table(TABLE), tmp_path / "t.parquet")
    for name in ("t.csv", "t.parquet"):
        index = culmen.Index.from_files(tmp_path / name, id="sku")
        assert index.search({"a": 1}, k=400).ids.tolist() == expected(), name
    (tmp_path / "a.csv").write_text("sku,a\nx,1\n")
    (tmp_path / "b.csv").write_text("sku,a\n7,2\n")
    both = [tmp_path / "a.csv", tmp_path / "b.csv"]
    assert culmen.Index.from_files(both, id="sku").search({"a": 1}).ids.tolist() == ["7", "x"]
    with pytest.raises(culmen.InputError, match="texts"):
        culmen.Index.from_files(both[::-1], id="sku")
    assert len(culmen.Index.from_files(both[::-1], id="sku", id_type="text")) == 2


def test_what_replaces_it_has_ids_of_the_same_type(tmp_path):
    directory = tmp_path / "index"

    def save(ids):
        culmen.Index.build({"sku": ids, "a": [1.0, 2.0]}, ["a"], id="sku").save(directory, overwrite=True)

    kinds = [["a", "b"], [5, 7], np.array([3, 2**63 + 1], np.uint64)]
    for old in range(3):
        for new in range(3):
            save(kinds[old])
            reader = culmen.Index.open(directory)
            save(kinds[new])
            if old == new:
                assert reader.refresh() == "replaced"
            else:
                with pytest.raises(culmen.InvalidArgument, match="ids are of another type: open it again"):
                    reader.refresh()
            assert sorted(reader.search([1]).ids.tolist()) == list(kinds[old])


def test_half_a_character_is_no_id():
    index = culmen.Index.build(TABLE, id="sku")
    for call in (index.get, lambda id: index.search({"a": 1}, after=(1.0, id))):
        with pytest.raises(culmen.InvalidArgument, match="no Unicode text"):
            call("\ud800")


def test_half_a_character_is_in_no_index(tmp_path):
    culmen.ShardedIndex.build(TABLE, tmp_path / "s", ["a"], id="sku", shards=2)
    with culmen.ShardedIndex.open(tmp_path / "s", writable=True) as sharded:
        for index in (culmen.Index.build(TABLE, id="sku"), sharded):
            assert "\ud800" not in index and SKUS[0] in index
            for erase in (index.erase, index.batch().__enter__().erase):
                for given in ("\ud800", ["a", "\ud800"]):
                    with pytest.raises(culmen.InvalidArgument, match="no Unicode text"):
                        erase(given)


def test_changes_follow_a_dict(tmp_path):
    culmen.Index.build(TABLE, id="sku").save(tmp_path / "index")
    rows = dict(zip(SKUS, A.tolist(), strict=True))
    with culmen.Index.open(tmp_path / "index", writable=True, durability="os") as index:
        for _ in range(20):
            chosen = random_texts(20)
            values = RNG.integers(0, 4, len(chosen)).astype(float)
            index.upsert({"sku": chosen, "a": values})
            rows.update(zip(chosen, values.tolist(), strict=True))
            gone = list(rows)[::9]
            assert index.erase([*gone, "none"]) == len(gone)
            for sku in gone:
                del rows[sku]
            best = sorted(rows, key=lambda sku: (-rows[sku], sku.encode()))
            assert index.search({"a": 1}, k=500).ids.tolist() == best
        one = best[0]
        index.update({"sku": [one], "a": [9.0]})
        assert index.get(one)["a"] == 9
        assert index.erase(one) == 1
        assert index.erase(pd.Series([best[1]])) == 1
        with index.batch() as batch:
            batch.insert({"sku": ["new"], "a": [8.0]})
            batch.erase([best[2]])
        assert index.search({"a": 1}, k=1).ids.tolist() == ["new"]
        assert index.verify() == []
    for loading in ("whole", "on_touch"):
        opened = culmen.Index.open(tmp_path / "index", loading=loading)
        assert opened.search({"a": 1}, k=1).ids.tolist() == ["new"]
        assert opened.get("new")["a"] == 8


def test_an_empty_index_takes_texts():
    index = culmen.Index.create(["a"], id="sku", id_type="text")
    assert index.insert({"sku": ["b", "a"], "a": [1, 1]}).inserted == 2
    assert index.search({"a": 1}).ids.tolist() == ["a", "b"]
    assert index.insert({"sku": ["c", "c"], "a": [1, 2]}, duplicates="last").inserted == 1
    assert index.get("c")["a"] == 2


def test_what_is_refused(index, tmp_path):
    build = culmen.Index.build
    with pytest.raises(culmen.InputError, match='row 3: id "x" stands in row 1 as well'):
        build({"a": [1, 2, 3]}, id=["x", "y", "x"])
    assert build({"a": [1, 2, 3]}, id=["x", "y", "x"], duplicates="last").get("x")["a"] == 3
    with pytest.raises(culmen.InputError, match="no value"):
        build({"a": [1, 2]}, id=["x", None])
    assert build({"a": [1, 2]}, id=["x", None], nulls="drop").search({"a": 1}).ids.tolist() == ["x"]
    with pytest.raises(culmen.InvalidArgument, match="no labels besides"):
        build({"a": [1, 2]}, id=["x", "y"], label=["p", "q"])
    with pytest.raises(culmen.InputError, match="ids are texts; these are integers"):
        build({"a": [1, 2]}, id=[1, 2], id_type="text")
    with pytest.raises(culmen.InputError, match="ids are integers; these are texts"):
        build({"a": [1, 2]}, id=["x", "y"], id_type="int64")
    builds = (build, lambda table, **options: culmen.ShardedIndex.build(table, tmp_path / "s", shards=2, **options))
    for ids, what in (
        ([None, datetime.date(2024, 12, 31)], "dates, such as 2024-12-31"),
        ([datetime.datetime(2024, 12, 31, 12), None], "timestamps, such as 2024-12-31T12:00:00.000000"),
        ([1.5, 2.0], "numbers, such as 1.5"),
        ([False, True], "booleans, such as False"),
    ):
        for one in builds:
            with pytest.raises(culmen.InputError, match=f"column 'k': ids are texts; these are {what}: turn them into"):
                one({"k": ids, "a": [1.0, 2.0]}, id="k", id_type="text")
    with pytest.raises(culmen.InvalidArgument, match="assigns none"):
        index.insert({"a": [1.0]})
    with pytest.raises(culmen.InputError, match="ids are integers; these are texts"):
        build({"a": [1.0]}, id=[7]).upsert({"id": ["x"], "a": [2.0]})
    with pytest.raises(TypeError, match="texts"):
        index.erase([1])


def test_sets_say_what_they_cannot_hold():
    for given, id_type, error, says in [
        (["a", None], None, culmen.InputError, "an id has no value"),
        ([None, "a"], "text", culmen.InputError, "an id has no value"),
        (np.array(["a", None], object), None, culmen.InputError, "an id has no value"),
        ([1, None], "text", culmen.InputError, "an id has no value"),
        ([1, 2], "text", culmen.InputError, 'ids are texts where id_type is "text"; these are integers'),
        (["a"], "int64", culmen.InputError, 'ids are integers; these are texts: .* id_type="text"'),
        (["a", 1], None, culmen.InputError, "row 2: ids are all integers or all texts; 1 is here beside texts"),
        (["\ud800"], None, culmen.InputError, "no Unicode"),
        ([-1, 2**64 - 1], None, culmen.InputError, "from 0 to 2\\^64 - 1 where one is 2\\^63 or more; -1 is not"),
        ([1, 2**64], None, culmen.InputError, '18446744073709551616 is not: .* id_type="text"'),
        ([1, -(2**63) - 1], None, culmen.InputError, "from -2\\^63 on; -9223372036854775809 is not"),
        (range(-5, 2**63 + 1), None, culmen.InputError, "no index has both -5 and 9223372036854775808"),
        (range(2**40), None, culmen.InvalidArgument, "ranges of more than 2\\^36 ids .* between 0 and 1099511627775"),
        (range(0, 2**40, 2), None, culmen.InvalidArgument, "at most 2\\^28 ids, not 549755813888: join"),
        (range(10**9, 0, -3), None, culmen.InvalidArgument, "at most 2\\^28 ids, not 333333334: join"),
        (7, None, culmen.InvalidArgument, "ids\\(\\[7\\]\\)"),
        ("a", None, culmen.InvalidArgument, "ids\\(\\['a'\\]\\)"),
        (None, None, culmen.InvalidArgument, "not of None"),
    ]:
        with pytest.raises(error, match=says):
            culmen.ids(given, id_type)
    assert str(culmen.ids(range(2**63, 2**63 + 9))) == "id in {9 ids}"
    assert str(culmen.ids(range(9, 0, -1))) == "id in {9 ids}"
    assert str(culmen.ids(range(0))) == "id in {0 ids}"
    assert str(culmen.ids(iter(["a", "b", "a"]))) == "id in {2 ids}"
    unsigned = culmen.Index.build({"a": [1.0, 2.0]}, id=np.array([7, 2**63 + 1], np.uint64))
    assert unsigned.search([1], where=culmen.ids(range(2**63, 2**63 + 9))).ids.tolist() == [2**63 + 1]
    assert unsigned.search([1], where=culmen.ids(range(8))).ids.tolist() == [7]
    steps = culmen.Index.build({"a": np.arange(20.0)})
    assert steps.search([1], where=culmen.ids(range(3, 19, 5))).ids.tolist() == [18, 13, 8, 3]
    assert steps.search([1], where=culmen.ids(range(5, 3, -1))).ids.tolist() == [5, 4]


def test_long_ids_are_cut_in_messages():
    long = "é" * 16_000
    index = culmen.Index.build({"a": [1.0]}, id=[long])
    for call in (
        lambda: culmen.Index.build({"a": [1.0]}, id=[long * 100]),
        lambda: index.get(long + "\ud800"),
        lambda: index.get(long.encode()),
        lambda: index.search({"a": 1}, after=(long, "x")),
        lambda: culmen.ids(long),
        lambda: culmen.ids([1, long]),
        lambda: culmen.Index.build({"a": [1.0, 2.0]}, id=[long, long]),
        lambda: index.insert({"id": [long], "a": [1.0]}),
        lambda: index.update({"id": [long + "x"], "a": [1.0]}),
        lambda: index.why({"a": 1}, long + "x"),
        lambda: index.insert({"id": ["x", "x"], "a": [1.0, 2.0]}),
    ):
        with pytest.raises((culmen.Error, TypeError)) as caught:
            call()
        assert len(str(caught.value)) < 200
    assert index.get(long)["a"] == 1


def test_what_csv_does_not_hold_is_no_id():
    longest = "x" * 32_767
    index = culmen.Index.build({"a": [1.0]}, id=[longest])
    assert longest in index and longest + "x" not in index and "a\0b" not in index
    for id, says in ((longest + "x", "32768 bytes, and at most 32767"), ("a\0b", "NUL")):
        with pytest.raises(culmen.RowError, match=f"row 2: the id has .*{says}"):
            culmen.Index.build({"a": [1.0, 2.0]}, id=["x", id])
        with pytest.raises(culmen.RowError, match=f"row 1: the id has .*{says}"):
            index.upsert({"id": [id], "a": [1.0]})
        for call in (
            lambda id=id: index.get(id),
            lambda id=id: index.get([longest, id]),
            lambda id=id: index.erase([longest, id]),
            lambda id=id: culmen.ids([longest, id]),
            lambda id=id: index.rank_of({"a": 1}, id),
            lambda id=id: index.why({"a": 1}, id),
            lambda id=id: index.search({"a": 1}, where=culmen.id_col().isin([longest, id])),
        ):
            with pytest.raises(culmen.InvalidArgument, match=f"the id has .*{says}"):
                call()


@pytest.mark.parametrize("source", ["list", "pandas", "array", "arrow", "arrow chunks", "dict", "polars"])
@pytest.mark.parametrize("shards", [0, 2])
def test_uuids_are_their_texts(source, shards, tmp_path):
    given = [uuid.UUID(int=7 * 16**29 + i) for i in range(4)]
    texts = list(map(str, given))
    others = [given[1], None, given[2], given[1]]
    a = [1.0, 2.0, 3.0, 4.0]
    if source.startswith("arrow"):
        as_array = lambda values: pa.array([v and v.bytes for v in values], pa.uuid())  # noqa: E731
        table = pa.table({"key": as_array(given), "a": a, "other": as_array(others)})
        if source == "arrow chunks":
            table = pa.concat_tables([table.slice(0, 1), table.slice(1)])
    else:
        as_column = {
            "list": list,
            "dict": list,
            "pandas": pd.Series,
            "array": lambda values: np.array(values, dtype=object),
            "polars": lambda values: polars.Series(values, dtype=polars.Object),
        }[source]
        table = {"key": as_column(given), "a": a, "other": as_column(others)}
        table = {"pandas": pd.DataFrame, "polars": polars.DataFrame}.get(source, dict)(table)
    if shards:
        index = culmen.ShardedIndex.build(table, tmp_path / "index", ["a"], shards=shards, id="key")
        index = culmen.ShardedIndex.open(tmp_path / "index", writable=True)
    else:
        index = culmen.Index.build(table, ["a"], id="key")
    found = index.search([1], 4)
    assert found.ids.tolist() == texts[::-1]
    assert found.to_dict()["other"] == [other and str(other) for other in others[::-1]]
    assert given[0] in index and uuid.uuid4() not in index
    assert index.get(given[1]).id == texts[1]
    assert [row.id for row in index.get(given[2:])] == texts[2:]
    for where in (
        culmen.ids(given[1:2]),
        culmen.ids(pd.Series(given[1:2])),
        culmen.ids(polars.Series(given[1:2], dtype=polars.Object)),
        culmen.id_col() == given[1],
        {"id": given[1]},
        culmen.id_col().isin(given[1:2]),
        culmen.col("other").isin([given[1]]) & (culmen.col("a") < 2) | (culmen.id_col() == given[1]),
    ):
        assert texts[1] in index.search([1], where=where).ids
    assert index.erase(given[0]) == 1 and index.erase([given[1], texts[2]]) == 2
    index.upsert({"key": [given[0]], "a": [9.0]})
    assert index.get(texts[0])["a"] == 9.0
    if not shards:
        assert index.rank_of([1], given[0]).rank == 1 and index.why([1], given[0]).parts[0].part == 9.0
        assert index.search([1], after=(9.0, given[0])).ids.tolist() == [texts[3]]
    with pytest.raises(TypeError, match="integers"):
        culmen.Index.build({"a": [1.0]}, id=[1]).erase(given[0])
