"""Sets of ids in filters: whatever they are made of, and alone or with other conditions."""

import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyroaring
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import culmen
from culmen import FormatError, InputError, InvalidArgument

RNG = np.random.default_rng(7)
N = 3000
A, B = RNG.integers(0, 50, N).astype(float), RNG.random(N)


@pytest.fixture(scope="module")
def index():
    return culmen.Index.build({"a": A, "b": B})


def expected(passing, k=20, weights=(1.0, 2.0)):
    scores = np.float64(weights[1]) * B + weights[0] * A  # one rounding each: weights are powers of 2
    ids = np.flatnonzero(passing)
    return ids[np.lexsort((ids, -scores[ids]))][:k].tolist()


def found(index, where, **options):
    return index.search({"a": 1.0, "b": 2.0}, k=20, where=where, **options).ids.tolist()


CHOSEN = np.unique(RNG.integers(0, N, 400))
MASK = np.isin(np.arange(N), CHOSEN)


@pytest.mark.parametrize(
    "given",
    [
        CHOSEN,
        CHOSEN[::-1],
        CHOSEN.astype(np.int32),
        CHOSEN.astype(np.uint64),
        CHOSEN.astype(float),
        CHOSEN.tolist(),
        set(CHOSEN.tolist()),
        dict.fromkeys(CHOSEN.tolist()).keys(),
        (i for i in CHOSEN.tolist()),
        np.concatenate([CHOSEN, CHOSEN, [-5, 1 << 40]]),
        MASK,
        MASK.tolist(),
        np.ma.masked_array(CHOSEN, np.zeros(len(CHOSEN), dtype=bool)),
        pd.Series(CHOSEN),
        pd.Series(CHOSEN, dtype="Int64"),
        pd.Series(CHOSEN, dtype="int64[pyarrow]"),
        pd.Series(MASK),
        pd.Index(CHOSEN),
        pl.Series(CHOSEN),
        pl.Series(CHOSEN, dtype=pl.UInt32),
        pl.Series(MASK),
        pa.array(CHOSEN),
        pa.chunked_array([CHOSEN[:7], CHOSEN[7:]]),
        pa.array(MASK),
        pyroaring.BitMap(CHOSEN.tolist()),
        pyroaring.BitMap64(CHOSEN.tolist()),
        pyroaring.FrozenBitMap64(CHOSEN.tolist()),
        pyroaring.BitMap64(CHOSEN.tolist()).serialize(),
        bytearray(pyroaring.BitMap64(CHOSEN.tolist()).serialize()),
    ],
    ids=lambda given: type(given).__name__,
)
def test_what_sets_are_made_of(index, given):
    where = culmen.ids(given)
    assert found(index, where) == expected(MASK)
    assert found(index, ~where) == expected(~MASK)


@pytest.mark.parametrize("engine", ["auto", "scan", "bounded", "gta", "ta"])
def test_sets_are_conditions(index, engine):
    where = culmen.ids(CHOSEN)
    assert found(index, where & (culmen.col("a") > 3), engine=engine) == expected(MASK & (A > 3))
    assert found(index, where | (culmen.col("a") > 40), engine=engine) == expected(MASK | (A > 40))
    assert found(index, ~(where | (culmen.col("a") > 40)), engine=engine) == expected(~MASK & ~(A > 40))
    assert found(index, culmen.ids(range(100)) & ~where, engine=engine) == expected(~MASK & (np.arange(N) < 100))


def test_few_none_and_all(index):
    assert found(index, culmen.ids([])) == []
    assert found(index, culmen.ids(np.array([]))) == []
    assert found(index, ~culmen.ids([])) == expected(np.ones(N, dtype=bool))
    assert found(index, culmen.ids([7])) == [7]
    assert found(index, culmen.ids([-1, N, 1 << 62])) == []
    assert found(index, culmen.ids(range(N))) == expected(np.ones(N, dtype=bool))


def test_batches(index):
    weights = np.array([[1.0, 2.0], [0.5, 4.0], [-1.0, 1.0]])
    batch = index.search(weights, k=20, where=~culmen.ids(MASK))
    for row, ids in zip(weights, batch.ids):
        assert ids.tolist() == expected(~MASK, weights=tuple(row))


def test_large_and_negative_ids():
    ids = np.array([-(1 << 63), -5, -1, 0, 5, 1 << 32, (1 << 63) - 1])
    index = culmen.Index.build({"id": ids, "a": np.arange(7.0)}, id="id")
    for chosen in ([-5], [-(1 << 63), (1 << 63) - 1], ids[::2].tolist(), ids.tolist()):
        assert sorted(index.search({"a": 1.0}, k=9, where=culmen.ids(chosen)).ids.tolist()) == sorted(chosen)
        others = sorted(set(ids.tolist()) - set(chosen))
        assert sorted(index.search({"a": 1.0}, k=9, where=~culmen.ids(chosen)).ids.tolist()) == others
    minus_5 = pyroaring.BitMap64([(1 << 64) - 5]).serialize()
    assert index.search({"a": 1.0}, where=culmen.ids(minus_5)).ids.tolist() == [-5]


@pytest.mark.parametrize(
    "given", [range(-70, 50, 3), range(50, -70, -7), range(2**63 - 4, 2**64, 2**61), range(2**64 - 1, 0, -(2**62))]
)
def test_ranges_in_steps_are_their_numbers(given):
    id_type = "uint64" if max(given) >= 2**63 else "int64"
    ids = [one for one in dict.fromkeys([*range(-70, 51), *given]) if id_type == "int64" or one >= 0]
    index = culmen.Index.build({"a": np.ones(len(ids))}, id=ids, id_type=id_type)
    assert index.search({"a": 1.0}, k=999, where=culmen.ids(given)).ids.tolist() == sorted(given)


def test_a_range_in_steps_is_no_list():
    tracemalloc.start()
    try:
        culmen.ids(range(0, 3_000_000, 3))
        assert tracemalloc.get_traced_memory()[1] < 30_000_000  # of integers of Python alone 32 MB
    finally:
        tracemalloc.stop()


def test_they_show_how_many_ids_they_have():
    assert repr(culmen.ids([3, 1, 2, 3])) == "<culmen.Filter id in {3 ids}>"
    assert str(~culmen.ids([3]) & (culmen.col("a") > 3)) == "not id in {1 id} and a > 3"


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ([1, 1 << 64], InputError, "row 2.*2\\^63"),
        ([-1, 1 << 63], InputError, "row 1.*2\\^63"),
        ([1.5], InputError, "integers"),
        ([1, "a"], InputError, "integers"),
        ([1, None], InputError, "no value"),
        (pd.Series([1, None]), InputError, "no value"),
        (pd.Series([True, None], dtype="boolean"), InputError, "no value"),
        (pl.Series([1, None]), InputError, "no value"),
        (np.zeros((2, 2), dtype=np.int64), InvalidArgument, "dimensions"),
        (pd.Series(["2025-06-01"], dtype="M8[ns]"), InputError, "integers"),
        (b"", FormatError, "byte 0"),
        (pyroaring.BitMap([1, 2, 3]).serialize(), FormatError, "64-bit"),
        (pyroaring.BitMap64([1, 2, 3]).serialize()[:-1], FormatError, "ends too early"),
        (pyroaring.BitMap64([1, 2, 3]).serialize() + b"x", FormatError, "more follows"),
    ],
)
def test_what_is_refused(given, error, text):
    with pytest.raises(error, match=text):
        culmen.ids(given)


@given(st.sets(st.integers(0, (1 << 63) - 1) | st.integers(0, 70_000), max_size=200), st.data())
@settings(max_examples=50, deadline=None)
def test_bytes_of_pyroaring(ids, data):
    bitmap = pyroaring.BitMap64(ids)
    if data.draw(st.booleans()):
        first = data.draw(st.integers(0, 1 << 40))
        bitmap.add_range(first, first + data.draw(st.integers(1, 70_000)))
    if data.draw(st.booleans()):
        bitmap.run_optimize()
    table = np.array(sorted(ids | {0, 5, 1 << 50}), dtype=np.int64)
    index = culmen.Index.build({"id": table, "a": np.zeros(len(table))}, id="id")
    inside = [i for i in table.tolist() if i in bitmap]
    assert index.search({"a": 1.0}, k=1000, where=culmen.ids(bitmap.serialize())).ids.tolist() == inside


def test_damaged_bytes_are_refused_or_read():
    whole = bytearray(pyroaring.BitMap64([*range(0, 9000, 2), *range(1 << 40, (1 << 40) + 5000), 1 << 50]).serialize())
    rng = np.random.default_rng(1)
    read = 0
    for _ in range(500):
        damaged = bytearray(whole)
        damaged[rng.integers(0, 100 if rng.random() < 0.5 else len(whole))] = rng.integers(0, 256)
        try:
            culmen.ids(damaged)
            read += 1
        except FormatError:
            pass
    assert 0 < read < 500
