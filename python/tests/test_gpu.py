"""Copies on a GPU: the same answers as on the CPU, from host arrays and from tensors of torch and CuPy."""

import contextlib
import gc
import threading

import numpy as np
import pytest

import culmen

pytestmark = pytest.mark.skipif(culmen.num_devices() == 0, reason="no GPU")


def index_of(num_rows=50_000, width=6, **options):
    matrix = np.random.default_rng(3).normal(size=(num_rows, width)).astype(np.float32)
    return culmen.Index.build(matrix, **options)


def questions(count, width=6, seed=4):
    return np.random.default_rng(seed).normal(size=(count, width))


@pytest.mark.parametrize("resident", [False, True])
def test_answers_as_the_cpu_does(resident):
    index = index_of()
    on_gpu = index.to("cuda:0", resident=resident)
    assert (on_gpu.num_resident_multiprocessors > 0) == resident
    assert on_gpu.device == "cuda:0" and on_gpu.memory == "device" and on_gpu.device_bytes > 0
    for weights in questions(20):
        for engine in ("auto", "bounded", "scan", "gta"):
            result, expected = on_gpu.search(weights, 20, engine=engine), index.search(weights, 20)
            assert result.ids.tolist() == expected.ids.tolist()
            assert result.scores.tolist() == expected.scores.tolist()
            assert result.stats.device == "cuda:0"
    weights, where = questions(500), "a0<=0.5 and a3>=-1"
    many, expected = on_gpu.search(weights, 7, where=where), index.search(weights, 7, where=where)
    assert (many.ids == expected.ids).all() and (many.scores == expected.scores).all()
    assert many.to_pandas().equals(expected.to_pandas())


def test_each_query_has_a_k_and_a_filter_of_its_own():
    index = index_of()
    weights = questions(60)
    seen = index.search(weights, 5).ids
    ks, wheres = [1 + q % 7 for q in range(60)], [None if q % 3 == 0 else ~culmen.ids(seen[q]) for q in range(60)]
    told = []
    expected = index.search(weights, ks, where=wheres)
    found = index.to("cuda:0").search(weights, ks, where=wheres, progress=lambda *report: told.append(report))
    assert (found.ids == expected.ids).all() and (found.scores == expected.scores).all()
    assert told[-1] == ("searching", 1.0)


def test_pages_and_groups():
    matrix = np.random.default_rng(5).normal(size=(30_000, 3)).astype(np.float32)
    brands = np.random.default_rng(6).choice(["LG", "Sony", "Acer"], 30_000).tolist()
    table = {"a": matrix[:, 0], "b": matrix[:, 1], "c": matrix[:, 2], "brand": brands}
    index = culmen.Index.build(table, ["a", "b", "c"])
    on_gpu, weights = index.to("cuda:0"), {"a": 1, "b": -0.5, "c": 0.25}
    for options in ({}, {"per": {"brand": 20}}, {"where": "b > 0", "terms": "near(c, 0.5)"}):
        for engine in ("auto", "scan"):
            after = None
            for _ in range(3):
                expected = index.search(weights, 15, after=after, **options)
                found = on_gpu.search(weights, 15, after=after, engine=engine, **options)
                assert found.ids.tolist() == expected.ids.tolist()
                assert found.scores.tolist() == expected.scores.tolist()
                after = found.cursor
    with pytest.raises(culmen.InvalidArgument, match="gta"):
        on_gpu.search(weights, 15, per={"brand": 1}, engine="gta")
    with pytest.raises(culmen.InvalidArgument, match="not of a matrix"):
        on_gpu.search([[1, 2, 3]], 15, per={"brand": 1})


TERMS = ["near(a0, 0.5)", "2 * decay(a1, 0, 0.1, gauss) - [a2 > 1 or id < 100]", "log1p(a3) + sqrt(a4)"]


@pytest.mark.parametrize("engine", ["auto", "scan"])
@pytest.mark.parametrize("options", [*({"terms": terms} for terms in TERMS), {"scale": "rank"}])
def test_terms_and_ranks(options, engine):
    index = index_of()
    on_gpu = index.to("cuda:0")
    for weights in (np.zeros(6) if "terms" in options else np.ones(6), questions(200)):
        found, expected = on_gpu.search(weights, 20, engine=engine, **options), index.search(weights, 20, **options)
        assert (found.ids == expected.ids).all() and (found.scores == expected.scores).all()
    with pytest.raises(culmen.InvalidArgument, match="gta takes no score terms"):
        on_gpu.search(np.ones(6), 20, engine="gta", **options)


def test_a_build_on_the_gpu_is_the_same():
    weights = questions(50)
    expected = index_of().search(weights, 9).ids
    for device in ("cuda:0", ["cuda:0"], all_gpus(2), tuple(all_gpus(3))):
        assert (index_of(device=device).search(weights, 9).ids == expected).all()
    with pytest.raises(culmen.CudaError, match="999"):
        index_of(device=["cuda:0", "cuda:999"])


def test_follows_changes():
    index = index_of()
    on_gpu = index.to("cuda:0", memory="host")
    index.insert(np.full((3, 6), 100.0))
    assert on_gpu.refresh().leaves > 0
    assert on_gpu.search(np.ones(6), 3).ids.tolist() == [50_000, 50_001, 50_002]


def libraries():
    torch = pytest.importorskip("torch")
    yield (
        lambda array: torch.from_numpy(array).cuda(),
        lambda tensor: tensor.cpu().numpy(),
        torch.cuda.Stream,
        torch.cuda.stream,
    )
    cupy = pytest.importorskip("cupy")
    yield cupy.asarray, cupy.asnumpy, lambda: cupy.cuda.Stream(non_blocking=True), lambda stream: stream


@pytest.mark.parametrize("library", [0, 1], ids=["torch", "cupy"])
def test_tensors_are_answered_where_they_are(library):
    to_gpu, to_host, make_stream, use = list(libraries())[library]
    index = index_of()
    on_gpu = index.to("cuda:0")
    weights = questions(3000)
    expected = index.search(weights, 16, where="a1<=1", min_score=0.5)

    def check(tensor):
        ids, scores, counts = on_gpu.search(tensor, 16, where="a1<=1", min_score=0.5)
        assert type(ids) is type(tensor)
        assert (to_host(ids) == expected.ids).all() and (to_host(scores) == expected.scores).all()
        assert (to_host(counts) == expected.counts).all()

    check(to_gpu(weights))
    check(to_gpu(np.asfortranarray(weights)))
    with use(make_stream()):
        for _ in range(20):
            check(to_gpu(weights))
            gc.collect()
    one = on_gpu.search(to_gpu(weights[0]), 16, where="a1<=1", min_score=0.5)
    assert to_host(one.ids).tolist() == expected.ids[0].tolist()
    singles = to_gpu(weights.astype(np.float32))
    found = to_host(on_gpu.search(singles, 5).ids)
    assert (found == index.search(weights.astype(np.float32), 5).ids).all()
    threads = [threading.Thread(target=check, args=(to_gpu(weights),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("library", [0, 1], ids=["torch", "cupy"])
def test_refusals(library):
    to_gpu, to_host, _, _ = list(libraries())[library]
    on_gpu = index_of(1000).to("cuda:0")
    for arguments, text in [
        ({"k": None}, "need a k"),
        ({"k": 2000}, "1024"),
        ({"scale": "minmax"}, "without scale"),
        ({"scale": "zscore"}, "without scale"),
    ]:
        with pytest.raises(culmen.InvalidArgument, match=text):
            on_gpu.search(to_gpu(questions(3)), **arguments)
    with pytest.raises(culmen.InvalidArgument, match="5 weights"):
        on_gpu.search(to_gpu(questions(3, width=5)))
    weights = questions(2)
    weights[1] = np.nan
    assert to_host(on_gpu.search(to_gpu(weights), 3).counts).tolist() == [3, -1]


def index_with_gaps():
    rng = np.random.default_rng(3)
    table = {"a": rng.integers(0, 99, 5000) / 4, "b": rng.random(5000), "brand": [f"b{i % 7}" for i in range(5000)]}
    table["a"][::9] = np.nan
    return culmen.Index.build(table)


FILTERS = [None, "brand = 'b1'", "a is null or brand in ('b2', 'b5')", "not (a < 20 and b > 0.5)"]


@pytest.mark.parametrize("missing", ["skip", "fill"])
@pytest.mark.parametrize("where", FILTERS)
def test_fields_and_gaps(missing, where):
    index = index_with_gaps()
    on_gpu = index.to("cuda:0")
    for weights in ([1, 2], [[1, 2], [-1, 0], [0, 1]]):
        expected, found = (x.search(weights, 20, where=where, missing=missing) for x in (index, on_gpu))
        assert (found.ids == expected.ids).all() and (found.scores == expected.scores).all()
    assert on_gpu.search([0, 1], 3)[0]["brand"] == index.search([0, 1], 3)[0]["brand"]


@pytest.mark.parametrize("missing", ["skip", "fill"])
@pytest.mark.parametrize("where", FILTERS)
@pytest.mark.parametrize("library", [0, 1], ids=["torch", "cupy"])
def test_fields_and_gaps_of_tensors(library, where, missing):
    to_gpu, to_host, _, _ = list(libraries())[library]
    index = index_with_gaps()
    weights = np.array([[1.0, 2], [-1, 0], [0, 1]])
    found = index.to("cuda:0").search(to_gpu(weights), 20, where=where, missing=missing)
    expected = index.search(weights, 20, where=where, missing=missing)
    assert (to_host(found.ids) == expected.ids).all() and (to_host(found.scores) == expected.scores).all()


def all_gpus(count):
    return [f"cuda:{device % culmen.num_devices()}" for device in range(count)]


@pytest.mark.parametrize("layout", ["replicate", "shard"])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_groups_answer_as_the_cpu_does(count, layout):
    index = index_of()
    group = index.to(all_gpus(count), layout=layout)
    assert group.devices == all_gpus(count)
    for weights in questions(10):
        result, expected = group.search(weights, 20), index.search(weights, 20)
        assert result.ids.tolist() == expected.ids.tolist()
        assert result.scores.tolist() == expected.scores.tolist()
    weights, where = questions(1500), "a0<=0.5 and a3>=-1"
    for options in ({"k": 7}, {"k": None, "min_score": 12.0}):
        many, expected = (x.search(weights, where=where, **options) for x in (group, index))
        assert (many.ids == expected.ids).all() and (many.scores == expected.scores).all()
    assert sum(member.share for member in group.members) == pytest.approx(1)
    assert all(member.is_usable and member.memory == "device" for member in group.members)


@pytest.mark.parametrize("layout", ["replicate", "shard"])
def test_groups_follow_changes(layout):
    index = index_of()
    group = index.to(all_gpus(2), memory="host", layout=layout)
    index.insert(np.full((3, 6), 100.0))
    assert sum(report.leaves > 0 for report in group.refresh()) == (2 if layout == "replicate" else 1)
    assert group.search(np.ones(6), 3).ids.tolist() == [50_000, 50_001, 50_002]


def test_groups_refuse():
    index = index_of(1000)
    with pytest.raises(culmen.CudaError, match="999"):
        index.to(["cuda:0", "cuda:999"])
    with pytest.raises(culmen.InvalidArgument, match="replicate"):
        index.to(all_gpus(2), layout="stripes")
    weights = questions(600)
    weights[500] = 0
    with pytest.raises(culmen.InvalidArgument, match="query 500"):
        index.to(all_gpus(2)).search(weights)


@pytest.mark.parametrize("layout", ["replicate", "shard"])
@pytest.mark.parametrize("library", [0, 1], ids=["torch", "cupy"])
def test_groups_answer_tensors_where_they_are(library, layout):
    to_gpu, to_host, make_stream, use = list(libraries())[library]
    index = index_of()
    group = index.to(all_gpus(3), layout=layout)
    weights = questions(3000)
    expected = index.search(weights, 16, where="a1<=1")
    for stream in (None, make_stream()):
        with contextlib.nullcontext() if stream is None else use(stream):
            for count in (1, 100, 3000):
                ids, scores, counts = group.search(to_gpu(weights[:count]), 16, where="a1<=1")
                assert (to_host(ids) == expected.ids[:count]).all()
                assert (to_host(scores) == expected.scores[:count]).all()
                assert (to_host(counts) == expected.counts[:count]).all()


def expect_ranks_of_cpu(index, copy):
    for options in ({}, {"where": "a0 < 0.5 and a3 >= -1"}, {"terms": "2 * near(a0, 0.5)"}, {"scale": "minmax"}):
        weights = {"a1": 1, "a2": -0.5}
        order = index.search(weights, 2000, **options)
        for place in (0, 1, 77, 1999):
            id, score = int(order.ids[place]), float(order.scores[place])
            assert copy.rank_of(weights, id, **options) == culmen.RowRank(place + 1, score)
            assert copy.count_above(weights, score, **options) == index.count_above(weights, score, **options)
    assert copy.rank_of([1] * 6, 10**9) is None
    with pytest.raises(culmen.InvalidArgument):
        copy.count_above([0] * 6, 1)
    with pytest.raises(TypeError):
        copy.rank_of([1] * 6, "a text")


@pytest.mark.parametrize("layout", ["replicate", "shard"])
def test_ranks_and_counts(layout):
    index = index_of()
    group = index.to(["cuda:0", "cuda:0"], layout=layout)
    for copy in (index.to("cuda:0"), group):
        expect_ranks_of_cpu(index, copy)
    index.erase(where="a1 > 1")
    expect_ranks_of_cpu(index, group)
