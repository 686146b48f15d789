"""Pages, rows of each group, ranks, counts and reasons of a table in shards are those of one index of all its rows.

CULMEN_TEST_CASES is the number of random questions to each index.
"""

import os

import numpy as np
import pytest

import culmen

pa = pytest.importorskip("pyarrow")

from test_shards import (  # noqa: E402
    ATTRIBUTES,
    TEXT_WHERE,
    WHERE,
    Dask,
    Ray,
    Threads,
    assert_same,
    question,
    table_of,
    text_table_of,
)

NUM_QUESTIONS = int(os.environ.get("CULMEN_TEST_CASES") or 30)
TERMS = ["", "", "0.5 * near(price, 20) + [open = true]", "-2 * [brand = 'brand 3'] + log1p(stars)"]
COLUMNS = ["price", "rating", "stars", "same", "brand", "opened", "open"]


@pytest.fixture(scope="module")
def cluster(request):
    with request.param() as cluster:
        yield cluster


def unsigned_table_of(rows, seed):
    table = table_of(rows, seed)
    ids = table.column("id").to_numpy().astype(np.uint64) + np.uint64(1 << 63)
    return table.set_column(0, "id", pa.array(ids, pa.uint64()))


#: Of each type of ids: a table, the arguments of its build, an id that no row has, and filters.
TABLES = {
    "int64": (table_of, {"id": "id", "label": "name"}, 10**12, WHERE),
    "uint64": (unsigned_table_of, {"id": "id", "id_type": "uint64"}, 3, [*WHERE[:6], "id >= 9223372036854775900"]),
    "text": (text_table_of, {"id": "sku"}, "none", TEXT_WHERE),
}


#: Who serves the shards, of which ids and how many rows, in how many shards, and a part of the questions.
of_all = pytest.mark.parametrize(
    "cluster, id_type, rows, shards, share",
    [
        (Threads, "int64", 600, 3, 1),
        (Threads, "uint64", 500, 16, 1),
        (Threads, "text", 600, 4, 1),
        (Threads, "int64", 5, 8, 2),
        (Dask, "int64", 400, 3, 3),
        (Dask, "text", 400, 3, 3),
        (Ray, "text", 400, 2, 3),
    ],
    indirect=["cluster"],
    scope="module",  # one cluster at a time, for all tests
)


def both(cluster, id_type, folder, rows, shards):
    """One index, and the same in shards."""
    make, options, _, _ = TABLES[id_type]
    table = make(rows, seed=50)
    options = {**options, "missing": {"price": "median", "stars": 3.5}}
    index = cluster.build(table, folder, ATTRIBUTES, shards=shards, **options)
    return culmen.Index.build(table, ATTRIBUTES, **options), index


def one_question(rng, rows, wheres):
    """Weights of one query, k, and the other arguments."""
    while True:
        weights, options = question(rng, rows, wheres)
        if weights.ndim == 1:
            return weights, options.pop("k"), {**options, "terms": str(rng.choice(TERMS))}


def place(rng, id_type, rows):
    """A cursor: mostly of a row, also between rows."""
    row = rows[rng.integers(len(rows))]
    id = TABLES[id_type][2] if rng.random() < 0.2 else row.id
    return (row.score + float(rng.choice([0, 0, 0.125, -1e-9])), id)


def ask_page(index, whole, weights, k, options):
    """Also with a time limit: that is by messages within a process, too."""
    expected = whole.search(weights, k, **options)
    for timeout in (None, 100):
        found = index.search(weights, k, timeout=timeout, **options)
        assert_same(found, expected)
        assert found.cursor == expected.cursor
    return found, expected


@of_all
def test_pages_and_groups_are_those_of_one_index(cluster, tmp_path, id_type, rows, shards, share):
    whole, index = both(cluster, id_type, tmp_path / "s", rows, shards)
    rng = np.random.default_rng(51)
    for number in range(NUM_QUESTIONS // share):
        weights, k, options = one_question(rng, len(whole), TABLES[id_type][3])
        ranked = list(whole.search(weights, len(whole), **{**options, "min_score": None}))
        per = {str(rng.choice(COLUMNS)): int(rng.integers(1, 4))}
        if ranked:
            after = place(rng, id_type, ranked)
            ask_page(index, whole, weights, k, {**options, "after": after})
            ask_page(index, whole, weights, k, {**options, "after": after, "per": per})
        found, expected = ask_page(index, whole, weights, k, {**options, "per": per})
        if number % 5 == 0:
            assert found.to_arrow().equals(expected.to_arrow())


@pytest.mark.parametrize("id_type", TABLES)
def test_pages_joined_are_the_long_answer(tmp_path, id_type):
    whole, index = both(Threads(), id_type, tmp_path / "s", rows=300, shards=5)
    weights = {"rating": 1.0, "same": -0.5}  # many scores tie
    pages = [index.search(weights, 37)]
    while pages[-1].cursor and len(pages) < 30:
        pages.append(index.search(weights, 37, after=pages[-1].cursor))
    expected = whole.search(weights, 300)
    assert [id for page in pages for id in page.ids] == expected.ids.tolist()
    assert np.concatenate([page.scores for page in pages]).tobytes() == expected.scores.tobytes()


@of_all
def test_ranks_counts_and_reasons_are_those_of_one_index(cluster, tmp_path, id_type, rows, shards, share):
    whole, index = both(cluster, id_type, tmp_path / "s", rows, shards)
    none, wheres = TABLES[id_type][2:]
    rng, ids = np.random.default_rng(52), whole.ids().tolist()
    for _ in range(NUM_QUESTIONS // share):
        weights, _, options = one_question(rng, len(whole), wheres)
        options.pop("min_score", None)
        id, other = (ids[i] for i in rng.integers(len(ids), size=2))
        expected = whole.rank_of(weights, id, **options)
        assert index.rank_of(weights, id, **options) == expected
        score = expected.score if expected else 0.5
        assert index.count_above(weights, score, **options) == whole.count_above(weights, score, **options)
        scaled = {name: options[name] for name in ("scale", "missing")}
        assert index.why(weights, id, **scaled) == whole.why(weights, id, **scaled)
        assert index.why(weights, id, other, **scaled) == whole.why(weights, id, other, **scaled)
    assert index.rank_of({"rating": 1}, none) is None
    with pytest.raises(culmen.InvalidArgument, match=f"no row with the id {none}$"):
        index.why({"rating": 1}, ids[0], none)
    assert index.why({"rating": 1}, ids[0])._repr_html_() == whole.why({"rating": 1}, ids[0])._repr_html_()


def test_what_cannot_be_asked_is_refused_as_by_one_index(tmp_path):
    whole, index = both(Threads(), "int64", tmp_path / "s", rows=20, shards=3)
    for options in (
        {"after": "x"},
        {"after": (1,)},
        {"after": (np.nan, 1)},
        {"after": (np.nan, 1), "per": {"brand": 1}},
        {"after": (1, 1), "per": {"brands": 1}},
        {"after": (1, 1 << 63)},
        {"after": (1, 1), "progress": print},
        {"per": "brand"},
        {"per": {"brand": 0}},
        {"per": {"brands": 1}},
        {"per": {"brand": 1}, "where": "brands = 1"},
    ):
        with pytest.raises(culmen.InvalidArgument) as expected:
            whole.search({"rating": 1}, **options)
        for timeout in (None, 100):
            with pytest.raises(culmen.InvalidArgument) as found:
                index.search({"rating": 1}, timeout=timeout, **options)
            assert str(found.value) == str(expected.value)
    with pytest.raises(culmen.InvalidArgument, match="of one query"):
        index.search([[1, 0, 0, 0]], after=(1, 1))
    for method, arguments in (
        ("rank_of", ({"ratings": 1}, 1)),
        ("rank_of", ([0, 0, 0, 0], 1)),
        ("count_above", ({"rating": 1}, np.nan)),
        ("count_above", ([np.inf, 0, 0, 0], 1)),
        ("why", ({"ratings": 1}, 1)),
        ("why", ([1, 2], int(whole.ids()[0]))),
        ("why", ({"rating": 1}, 99, 77)),
    ):
        with pytest.raises(culmen.InvalidArgument) as expected:
            getattr(whole, method)(*arguments)
        with pytest.raises(culmen.InvalidArgument) as found:
            getattr(index, method)(*arguments)
        assert str(found.value) == str(expected.value)
    with pytest.raises(culmen.InvalidArgument, match="2 weights for 4 attributes"):
        index.rank_of([1, 2], 1)


@pytest.mark.parametrize("scale", ["none", "minmax", "zscore", "rank"])
def test_shards_without_rows_answer_by_messages_too(tmp_path, scale):
    _, index = both(Threads(), "int64", tmp_path / "s", rows=9, shards=2)
    with culmen.ShardedIndex.open(tmp_path / "s", writable=True) as writer:
        writer.erase(where="id is not null")
    index.refresh()
    for timeout in (None, 100):
        assert len(index.search({"rating": 1}, scale=scale, timeout=timeout)) == 0
        assert len(index.search({"rating": 1}, scale=scale, per={"brand": 1}, after=(1, 1), timeout=timeout)) == 0


def test_ranks_are_of_one_version(tmp_path):
    """A shard that has moved on makes the driver look, and ask all shards about the new versions."""
    whole, index = both(Threads(), "int64", tmp_path / "s", rows=200, shards=3)
    reader = culmen.ShardedIndex.open(tmp_path / "s")
    best = whole.search({"rating": 1}, 50)
    with culmen.ShardedIndex.open(tmp_path / "s", writable=True) as writer:
        writer.erase(best.ids[:40])
    last = int(best.ids[49])
    assert reader.rank_of({"rating": 1}, last).rank == 50
    reader.refresh()
    assert reader.rank_of({"rating": 1}, last).rank == 10
    assert reader.count_above({"rating": 1}, -100) == 160
    assert "<td>rating</td>" in reader._repr_html_() and "160 rows in 3 shards" in reader._repr_html_()
