"""Ids up to 2^64 - 1: as numbers, in one order everywhere."""

import numpy as np
import pyroaring
import pytest

import culmen

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
polars = pytest.importorskip("polars")

RNG = np.random.default_rng(11)
LARGE, LARGEST = 2**63, 2**64 - 1
ENGINES = ["auto", "scan", "ta", "gta", "bounded"]


def random_ids(count):
    """Near the ends of both halves, or anywhere."""
    places = [0, LARGE - 20, LARGEST - 40]
    ids = {int(RNG.integers(0, 41)) + places[int(RNG.integers(0, 3))] for _ in range(count // 2)}
    while len(ids) < count:
        ids.add(int(RNG.integers(0, 2**64, dtype=np.uint64)))
    return np.array(list(ids), dtype=np.uint64)


IDS = random_ids(300)
A = RNG.integers(0, 4, len(IDS)).astype(float)  # most scores tie
TABLE = {"id": IDS, "a": A}


def expected(passing=None, count=None):
    chosen = np.arange(len(IDS)) if passing is None else np.flatnonzero(passing)
    return IDS[chosen[np.lexsort((IDS[chosen], -A[chosen]))]][:count].tolist()


@pytest.fixture(scope="module", params=["one", "shards"])
def index(request, tmp_path_factory):
    if request.param == "one":
        return culmen.Index.build(TABLE, id="id")
    directory = tmp_path_factory.mktemp("shards") / "index"
    return culmen.ShardedIndex.build(pa.table(TABLE), directory, shards=3, id="id", id_type="uint64")


def test_answers_are_in_the_order_of_the_numbers(index):
    for engine in ENGINES:
        result = index.search({"a": 1}, k=200, engine=engine)
        assert result.ids.dtype == np.uint64
        assert result.ids.tolist() == expected(count=200)
        assert [row.id for row in result] == expected(count=200)
    assert result.to_dict()["id"].tolist() == expected(count=200)
    assert result.to_pandas()["id"].tolist() == expected(count=200)
    assert result.to_arrow()["id"].to_pylist() == expected(count=200)
    assert result.to_arrow().schema.field("id").type == pa.uint64()
    assert result.to_polars()["id"].to_list() == expected(count=200)


def test_pages(index):
    if not isinstance(index, culmen.Index):
        pytest.skip("pages are of one index")
    page = index.search({"a": 1}, k=70)
    joined = page.ids.tolist()
    while page := index.search({"a": 1}, k=70, after=page.cursor):
        joined += page.ids.tolist()
    assert joined == expected()
    for id in (-1, 2**64):
        with pytest.raises(culmen.InvalidArgument, match="uint64"):
            index.search({"a": 1}, after=(1.0, id))


def test_filters(index):
    def found(where):
        return index.search({"a": 1}, k=400, where=where).ids.tolist()

    for limit in (0, 1, LARGE - 1, LARGE, LARGE + 1, LARGEST, *IDS[:20].tolist()):
        assert found(culmen.id_col() < limit) == expected(np.uint64(limit) > IDS)
        assert found(culmen.id_col() >= limit) == expected(np.uint64(limit) <= IDS)
        assert found(f"id = {limit}") == expected(np.uint64(limit) == IDS)
    assert found(culmen.id_col() > -3) == expected()
    assert found(culmen.id_col() < -3) == []
    assert found(culmen.id_col() < 2.0**64) == expected()
    for chosen in ([], [7, LARGEST], IDS[::3].tolist(), IDS[IDS < LARGE].tolist()):
        isin = np.isin(IDS, np.array(chosen, dtype=np.uint64))
        for given in (chosen, np.array(chosen, dtype=np.uint64), pyroaring.BitMap64(chosen)):
            assert found(culmen.ids(given)) == expected(isin)
            assert found(~culmen.ids(given)) == expected(~isin)
        assert found(culmen.ids(pyroaring.BitMap64(chosen).serialize(), "uint64")) == expected(isin)


def test_rows_by_their_ids(index):
    for position in range(0, len(IDS), 7):
        row = index.get(int(IDS[position]))
        assert (row.id, row["a"]) == (IDS[position], A[position])
        assert IDS[position] in index
    absent = next(number for number in range(LARGE + 100, LARGEST) if number not in IDS)
    assert index.get(absent) is None
    for id in (absent, -1, 2**64):
        assert id not in index
    if not isinstance(index, culmen.Index):
        return
    best, second = expected(count=2)
    assert index.rank_of({"a": 1}, second).rank == 2
    assert index.why({"a": 1}, best, second).parts[0].part == 3
    with pytest.raises(culmen.InvalidArgument, match=f"no row with the id {absent}"):
        index.why({"a": 1}, best, absent)


def test_matrices(index):
    batch = index.search([[1.0], [-1.0]], k=5)
    assert batch.ids.dtype == np.uint64
    assert batch.ids[0].tolist() == expected(count=5)
    rows = list(batch[1])
    assert [row.id for row in rows] == batch.ids[1].tolist()
    assert [row["a"] for row in rows] == (-batch.scores[1]).tolist()
    assert batch.to_dict()["id"].tolist() == batch.ids.ravel().tolist()
    few = index.search([[1.0]], k=5, where=culmen.ids([int(IDS[0])]))
    assert few.ids.tolist() == [[int(IDS[0]), *[LARGEST] * 4]]
    assert few.counts.tolist() == [1]


def test_answers_in_arrays_of_the_caller():
    index = culmen.Index.build(TABLE, id="id")
    out = np.zeros((1, 5), dtype=np.uint64), np.zeros((1, 5)), np.zeros(1, dtype=np.uint32)
    for _ in range(2):
        batch = index.search([[1.0]], k=5, out=out)
        assert batch.ids is out[0] or np.shares_memory(batch.ids, out[0])
        assert out[0][0].tolist() == expected(count=5)
    with pytest.raises(culmen.InvalidArgument, match="uint64"):
        index.search([[1.0]], k=5, out=(np.zeros((1, 5), dtype=np.int64), *out[1:]))


def test_changes(tmp_path):
    culmen.Index.build(TABLE, id="id").save(tmp_path / "one")
    culmen.ShardedIndex.build(pa.table(TABLE), tmp_path / "many", shards=3, id="id", id_type="uint64")
    for opened in (culmen.Index.open, culmen.ShardedIndex.open):
        directory = tmp_path / ("one" if opened == culmen.Index.open else "many")
        with opened(directory, writable=True) as index:
            rows = dict(zip(IDS.tolist(), A.tolist()))
            assert index.erase(IDS[:50].tolist()) == 50
            assert index.erase(IDS[40:60]) == 10
            for id in IDS[:60].tolist():
                del rows[id]
            index.upsert({"id": [int(IDS[70]), LARGE + 5, 3], "a": [9, 8, 7]})
            rows |= {int(IDS[70]): 9, LARGE + 5: 8, 3: 7}
            index.insert(polars.DataFrame({"id": polars.Series([LARGE + 77], dtype=polars.UInt64), "a": [1.5]}))
            rows[LARGE + 77] = 1.5
            index.update({"id": [LARGE + 77], "a": [2.5]})
            rows[LARGE + 77] = 2.5
            with pytest.raises(culmen.Error, match=f"id {LARGE + 77} is already in the index"):
                index.insert({"id": [LARGE + 77], "a": [1]})
            with pytest.raises(culmen.InputError, match="-1 is not"):
                index.insert({"id": [-1], "a": [1]})
            with pytest.raises(culmen.InvalidArgument, match="assigns none"):
                index.insert({"a": [1]})
            assert index.search({"a": 1}, k=3).ids.tolist() == [int(IDS[70]), LARGE + 5, 3]
        index = opened(directory)
        ids = index.search({"a": 1}, k=1000).ids
        assert dict(zip(ids.tolist(), index.search({"a": 1}, k=1000).scores.tolist())) == rows
        if opened == culmen.Index.open:
            assert index.ids().tolist() == sorted(rows)
            assert index.to_dict()["id"].tolist() == sorted(rows)


@pytest.mark.parametrize("kind", ["numpy", "arrow", "polars", "list", "csv", "parquet"])
def test_tables(kind, tmp_path):
    table = {"id": [LARGEST, 1, LARGE], "a": [1.0, 1.0, 1.0]}
    if kind == "csv":
        lines = ["id,a", *(f"{id},1" for id in table["id"])]
        (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
        (tmp_path / "u.csv").write_text("id,a\n5,1\n")
        index = culmen.Index.from_files(tmp_path / "?.csv", id="id")
        assert index.ids().tolist() == [1, 5, LARGE, LARGEST]
        (tmp_path / "u.csv").write_text("id,a\n-5,1\n")
        with pytest.raises(culmen.InputError, match="-5 is not"):
            culmen.Index.from_files(tmp_path / "?.csv", id="id")
        with pytest.raises(culmen.InputError, match="int64"):
            culmen.Index.from_files(tmp_path / "t.csv", id="id", id_type="int64")
        return
    if kind == "parquet":
        pq.write_table(pa.table({**table, "id": pa.array(table["id"], pa.uint64())}), tmp_path / "t.parquet")
        index = culmen.Index.from_files(tmp_path / "t.parquet", id="id")
    else:
        unsigned = {
            "numpy": np.array(table["id"], dtype=np.uint64),
            "arrow": pa.array(table["id"], pa.uint64()),
            "polars": polars.Series(table["id"], dtype=polars.UInt64),
            "list": table["id"],
        }
        index = culmen.Index.build({"a": table["a"]}, id=unsigned[kind])
    assert index.ids().dtype == np.uint64
    assert index.ids().tolist() == [1, LARGE, LARGEST]


def test_the_type_of_ids():
    small = np.array([1, 2], dtype=np.uint64)
    table = {"a": [1.0, 2.0]}
    assert culmen.Index.build(table, id=small).ids().dtype == np.uint64
    assert culmen.Index.build(table, id=small, id_type="int64").ids().dtype == np.int64
    assert culmen.Index.build(table, id=[1, 2]).ids().dtype == np.int64
    assert culmen.Index.build(table, id=[1, 2], id_type="uint64").ids().dtype == np.uint64
    with pytest.raises(culmen.InputError, match='build with id_type="uint64"'):
        culmen.Index.build(table, id=[1, LARGE], id_type="int64")
    with pytest.raises(culmen.InputError, match="-1 is not"):
        culmen.Index.build(table, id=[1, -1], id_type="uint64")
    with pytest.raises(culmen.InvalidArgument, match="assigns none"):
        culmen.Index.build(table, id_type="uint64")
    with pytest.raises(culmen.InvalidArgument, match="id_type"):
        culmen.Index.build(table, id=[1, 2], id_type="int32")
    index = culmen.Index.create(["a"], id="id", id_type="uint64")
    index.insert({"id": [LARGEST, 2], "a": [1, 1]})
    assert index.search({"a": 1}).ids.tolist() == [2, LARGEST]
    signed = culmen.Index.build(table, id=[-1, 2])
    assert signed.search({"a": 1}, where=culmen.ids([2, LARGEST])).ids.tolist() == [2]
    with pytest.raises(culmen.InvalidArgument, match="int64"):
        signed.erase([LARGE])


def test_files_of_several_types(tmp_path):
    for name, type, ids in [("a", pa.int64(), [1, 2]), ("b", pa.uint64(), [LARGEST, 7]), ("c", pa.int32(), [5])]:
        table = pa.table({"id": pa.array(ids, type), "a": [1.0] * len(ids)})
        pq.write_table(table, tmp_path / f"{name}.parquet")
    index = culmen.Index.from_files(tmp_path / "*.parquet", id="id")
    assert index.ids().tolist() == [1, 2, 5, 7, LARGEST]
    pq.write_table(pa.table({"id": [-1], "a": [1.0]}), tmp_path / "a.parquet")
    with pytest.raises(culmen.InputError, match="-1 is not"):
        culmen.Index.from_files(tmp_path / "*.parquet", id="id")
    pq.write_table(pa.table({"id": pa.array([3], pa.uint64()), "a": [1.0]}), tmp_path / "b.parquet")
    assert culmen.Index.from_files(tmp_path / "*.parquet", id="id").ids().tolist() == [-1, 3, 5]
