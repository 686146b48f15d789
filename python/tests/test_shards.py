"""A table in shards answers as one index of all its rows does, ids and score bits, whoever serves the shards.

CULMEN_TEST_CASES is the number of random questions to each index, and of those under which workers are killed.
"""

import contextlib
import datetime
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import culmen

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pq = pytest.importorskip("pyarrow.parquet")

NUM_QUESTIONS = int(os.environ.get("CULMEN_TEST_CASES") or 40)
ATTRIBUTES = ["price:low", "rating", "stars", "same"]


# ---- who serves the shards


class Threads:
    """This process."""

    num_workers = 4

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def build(self, table, directory, attributes=None, **options):
        return culmen.ShardedIndex.build(table, directory, attributes, **options)

    def open(self, directory, **options):
        return culmen.ShardedIndex.open(directory, **options)

    def data_sets(self, questions):
        return []

    def forget(self, index):
        """It holds the version that it asks about."""
        index.refresh()


class Processes:
    num_workers = 2

    def forget(self, index):
        """Whoever serves a shard opens it again."""
        for pid in {index.process_of(shard) for shard in range(index.num_shards)}:
            os.kill(pid, signal.SIGKILL)
            self.wait()


class Dask(Processes):
    """Two processes of a LocalCluster."""

    on_gpu = {"device": "cuda"}

    def __enter__(self):
        distributed = pytest.importorskip("distributed", reason="pip install 'culmen[dask]'")
        import dask

        self.stack = contextlib.ExitStack()
        settings = {
            "distributed.scheduler.work-stealing": False,
            # Under load a worker may take longer than the 15 s after which a LocalCluster lets go of it, and then calls
            # that no other worker can answer wait for ever.
            "distributed.deploy.lost-worker-timeout": "1h",
        }
        self.stack.enter_context(dask.config.set(settings))
        self.cluster = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        )
        self.stack.enter_context(self.cluster)
        self.client = self.stack.enter_context(distributed.Client(self.cluster))
        return self

    def __exit__(self, *error):
        with contextlib.suppress(KeyError):  # a LocalCluster may lose count of workers that were killed
            self.stack.close()

    def build(self, table, directory, attributes=None, **options):
        from culmen.dask import ShardedIndex

        return ShardedIndex.build(table, directory, attributes, **options)

    def open(self, directory, **options):
        from culmen.dask import ShardedIndex

        return ShardedIndex.open(directory, **options)

    def wait(self):
        """A nanny gives up on a worker that is killed while it starts; then the cluster starts another."""
        try:
            self.client.wait_for_workers(2, timeout=8)
        except TimeoutError:
            self.cluster.scale(1)
            self.cluster.scale(2)
            self.client.wait_for_workers(2, timeout=60)

    def data_sets(self, questions):
        bag = pytest.importorskip("dask.bag")
        yield self.partitioned(questions)
        yield bag.from_sequence(questions.to_pylist(), npartitions=3)

    def as_table(self, answered, questions):
        if hasattr(answered, "columns"):
            return pa.Table.from_pandas(answered.compute(), preserve_index=False)
        return pa.Table.from_pylist(answered.compute())

    def partitioned(self, table):
        dataframe = pytest.importorskip("dask.dataframe", reason="dask.dataframe is not installed")
        pandas = pytest.importorskip("pandas")
        return dataframe.from_pandas(table.to_pandas(types_mapper=pandas.ArrowDtype), npartitions=3)


class Ray(Processes):
    """Actors on two CPUs."""

    on_gpu = {"num_gpus": 1}

    def __enter__(self):
        self.ray = pytest.importorskip("ray", reason="pip install 'culmen[ray]'")
        self.ray.init(
            num_cpus=2,
            object_store_memory=100 << 20,
            include_dashboard=False,
            log_to_driver=False,
            logging_level="ERROR",
        )
        self.opened = []
        return self

    def __exit__(self, *error):
        for index in self.opened:
            index.shut_down()
        self.ray.shutdown()

    def build(self, table, directory, attributes=None, **options):
        from culmen.ray import ShardedIndex

        self.opened.append(ShardedIndex.build(table, directory, attributes, **options))
        return self.opened[-1]

    def open(self, directory, **options):
        from culmen.ray import ShardedIndex

        self.opened.append(ShardedIndex.open(directory, **options))
        return self.opened[-1]

    def wait(self):
        pass

    def data_sets(self, questions):
        yield self.partitioned(questions)

    def as_table(self, answered, questions):
        blocks = [self.ray.get(block) for block in answered.to_arrow_refs()]
        order = {name: i for i, name in enumerate(questions.column("question").to_pylist())}
        found = pa.concat_tables(blocks)
        return found.take(np.argsort([order[name] for name in found.column("question").to_pylist()]))

    def partitioned(self, table):
        data = pytest.importorskip("ray.data", reason="ray.data is not installed")
        return data.from_arrow([table.slice(0, 200), table.slice(200)])


@pytest.fixture(scope="module", params=[Threads, Dask], ids=lambda kind: kind.__name__.lower())
def cluster(request):
    with request.param() as cluster:
        yield cluster


#: Ray takes seconds to start a process, so few tests run on it.
of_all = pytest.mark.parametrize("cluster", [Threads, Dask, Ray], indirect=True, ids=lambda kind: kind.__name__.lower())
of_processes = pytest.mark.parametrize("cluster", [Dask, Ray], indirect=True, ids=lambda kind: kind.__name__.lower())


# ---- tables and questions


def table_of(rows, seed=1):
    rng = np.random.default_rng(seed)
    latent = rng.random(rows)

    def with_gaps(values, share=0.1):
        return [None if rng.random() < share else value for value in values]

    return pa.table(
        {
            "id": rng.permutation(5 * rows)[:rows] - 2 * rows,
            "name": [f"row {i}" for i in range(rows)],
            "price": pa.array(with_gaps((np.round(latent * 200) / 4).tolist()), pa.float64()),
            "rating": rng.integers(-8, 9, rows) / 4.0,
            "stars": pa.array(with_gaps(rng.integers(1, 6, rows).tolist(), 0.2), pa.int64()),
            "same": np.full(rows, 2.5),
            "brand": pa.array(with_gaps([f"brand {int(x * 12)}" for x in rng.random(rows)]), pa.string()),
            "opened": pa.array(
                with_gaps([datetime.date(2024, 1, 1) + datetime.timedelta(int(d)) for d in latent * 90]), pa.date32()
            ),
            "open": pa.array(with_gaps((rng.random(rows) < 0.4).tolist()), pa.bool_()),
        }
    )


def files_of(table, folder, num_files):
    folder.mkdir(parents=True, exist_ok=True)
    ends = np.linspace(0, len(table), num_files + 1).astype(int)
    for i, (first, end) in enumerate(zip(ends, ends[1:])):
        pq.write_table(table.slice(first, end - first), folder / f"part-{i:02}.parquet")
    return str(folder / "part-*.parquet")


WHERE = [
    None,
    None,
    "brand = 'brand 3' or brand is null",
    "opened >= '2024-02-01' and not open = true",
    "stars in (1, 2, 5) and rating > 0",
    {"price": (10, 40), "open": True},
    (culmen.col("brand") >= "brand 5") & ~(culmen.id_col() < 0),
    culmen.col("rating") <= float("inf"),
    "brand = 'nobody''s'",
]


def text_of(number):
    """An id, another one for each number below 5000."""
    return ("", "A-", "é", "日", 'x,"')[number % 5] + str(number * 7919 % 5000)


#: Of texts, to which no other filter of WHERE applies.
TEXT_WHERE = [
    *WHERE[:6],
    "id < 'A-3' or stars = 2",
    "sku like 'A-%' and rating > 0",
    culmen.ids([text_of(number) for number in range(0, 900, 3)]),
    ~culmen.ids([text_of(number) for number in range(0, 900, 2)]),
    (culmen.id_col() >= "é") & (culmen.col("brand") >= "brand 5"),
]


def question(rng, rows, wheres):
    """Weights, one or many queries, and the other arguments."""
    many = int(rng.choice([1, 1, 1, 2, 9]))
    weights = rng.choice([0, 0, 1, -1, 0.25, -3, 0.1, 1e-300, -7.25], (many, 4)) * rng.choice([1, rng.random()])
    weights[~weights.any(axis=1), 1] = 1
    options = {
        "k": int(rng.choice([1, 2, 10, max(1, rows), rows + 7])),
        "where": wheres[rng.integers(len(wheres))],
        "scale": str(rng.choice(["none", "minmax", "zscore", "rank"])),
        "missing": str(rng.choice(["skip", "fill"])),
    }
    if rng.random() < 0.3:
        options["min_score"] = float(rng.choice([-20, 0, 0.5, 3]))
        options["k"] = options["k"] if rng.random() < 0.5 else None
    if many > 1 and rng.random() < 0.5:
        options["where"] = [wheres[rng.integers(len(wheres))] for _ in range(many)]
        options["k"] = [int(rng.choice([1, 3, rows + 7])) for _ in range(many)]
        options["min_score"] = [None if rng.random() < 0.5 else float(rng.choice([-20, 0, 0.5])) for _ in range(many)]
        options["k"] = [None if least == 0 else k for k, least in zip(options["k"], options["min_score"])]
    return (weights[0] if many == 1 else weights), options


def assert_same(answer, expected):
    assert answer.ids.tolist() == expected.ids.tolist()
    assert answer.scores.tobytes() == expected.scores.tobytes()
    assert np.array_equal(answer.counts, expected.counts)


def ask_both(index, whole, rng, num_questions, with_rows=5, wheres=WHERE):
    for number in range(num_questions):
        weights, options = question(rng, len(whole), wheres)
        expected, answer = whole.search(weights, **options), index.search(weights, **options)
        assert_same(answer, expected)
        assert_same(index.search(weights, timeout=100, **options), expected)  # by messages, also within a process
        assert not answer.is_partial
        if number % with_rows == 0:
            assert answer.to_arrow().equals(expected.to_arrow())


# ---- tests


@pytest.mark.parametrize("rows, shards", [(2000, 1), (2000, 3), (700, 16), (5, 8), (1, 2)])
def test_answers_are_those_of_one_index(tmp_path, rows, shards):
    table = table_of(rows)
    options = {"id": "id", "label": "name", "missing": {"price": "median", "rating": "mean", "stars": 3.5}}
    whole = culmen.Index.build(table, ATTRIBUTES, **options)
    index = culmen.ShardedIndex.build(
        files_of(table, tmp_path / "files", 3), tmp_path / "shards", ATTRIBUTES, shards=shards, **options
    )
    assert len(index) == rows and index.num_shards == shards
    ask_both(index, whole, np.random.default_rng(rows + shards), NUM_QUESTIONS)
    assert list(index.schema) == list(whole.schema)
    assert index.verify() == []
    for id in whole.ids()[:5]:
        assert dict(index.get(id)) == dict(whole.get(id)) and id in index
    for id in (10**12, -(2**63)):
        assert index.get(id) is None and id not in index
    assert 2**63 not in index and -(2**63) - 1 not in index


@of_all
def test_every_engine_answers_alike(cluster, tmp_path):
    table = table_of(1500, seed=2)
    options = {"id": "id", "label": "name", "missing": {"price": "mean", "stars": "worst"}}
    whole = culmen.Index.build(table, ATTRIBUTES, **options)
    files = files_of(table, tmp_path / "files", 4)
    index = cluster.build(files, tmp_path / "shards", ATTRIBUTES, shards=4, **options)
    assert index.num_workers == cluster.num_workers
    ask_both(index, whole, np.random.default_rng(3), NUM_QUESTIONS)
    again = cluster.open(tmp_path / "shards")
    weights = np.random.default_rng(4).standard_normal((500, 4))
    assert_same(again.search(weights, 7), whole.search(weights, 7))
    assert list(again.search(weights[0], 9)) == list(whole.search(weights[0], 9))
    weights = np.random.default_rng(5).standard_normal((9000, 4))  # in parts
    answer, expected = again.search(weights, 7, where="stars > 1"), whole.search(weights, 7, where="stars > 1")
    assert_same(answer, expected)
    assert answer[8999].to_arrow().equals(expected[8999].to_arrow())
    assert again.verify() == []
    one, all = again.call_costs
    assert 0 < one and 0 < all


def test_shards_are_clustered(cluster, tmp_path):
    table = table_of(900, seed=25)
    whole = culmen.Index.build(table, ATTRIBUTES, id="id")
    index = cluster.build(table, tmp_path / "s", ATTRIBUTES, shards=3, id="id", cluster="brand")
    assert index.info.cluster == "brand"
    ask_both(index, whole, np.random.default_rng(26), 20)
    with pytest.raises(culmen.Error, match="nothing"):
        cluster.build(table, tmp_path / "t", ATTRIBUTES, shards=3, id="id", cluster="nothing")


@pytest.mark.parametrize("keep", ["first", "last"])
def test_one_of_several_rows_with_an_id_is_built(cluster, tmp_path, keep):
    table = table_of(600, seed=27)
    table = table.set_column(table.column_names.index("id"), "id", pa.array(np.arange(600) * 7 % 400))
    whole = culmen.Index.build(table, ATTRIBUTES, id="id", duplicates=keep)
    files = files_of(table, tmp_path / "files", 3)
    with pytest.raises(culmen.InputError, match="ids must be unique"):
        cluster.build(files, tmp_path / "s", ATTRIBUTES, shards=2, id="id")
    index = cluster.build(files, tmp_path / "s", ATTRIBUTES, shards=2, id="id", duplicates=keep)
    assert len(index) == 400
    ask_both(index, whole, np.random.default_rng(28), 20, with_rows=1)
    assert list(index.schema) == list(whole.schema)
    options = {"id": "id", "duplicates": keep, "nulls": "drop"}  # which comes first
    ask_both(
        cluster.build(files, tmp_path / "t", ATTRIBUTES, shards=5, **options),
        culmen.Index.build(table, ATTRIBUTES, **options),
        np.random.default_rng(29),
        20,
    )
    with pytest.raises(culmen.InvalidArgument, match="duplicates"):
        cluster.build(files, tmp_path / "u", ATTRIBUTES, shards=2, id="id", duplicates="both")


def test_an_empty_index_has_no_rows_to_update(tmp_path):
    culmen.ShardedIndex.build({"id": np.zeros(0, int), "a": np.zeros(0)}, tmp_path / "s", ["a"], shards=2, id="id")
    with culmen.ShardedIndex.open(tmp_path / "s", writable=True) as index:
        with pytest.raises(culmen.RowError, match="id 5 is not in the index"):
            index.update({"id": [5], "a": [1.0]})
        index.insert({"id": [5], "a": [1.0]})
        assert index.update({"id": [5], "a": [2.0]}).replaced == 1
        assert index.get(5)["a"] == 2


def test_rows_without_ids_have_their_numbers(cluster, tmp_path):
    table = table_of(400, seed=5).drop_columns(["id"])
    whole = culmen.Index.build(table, ATTRIBUTES, nulls="drop")
    index = cluster.build(files_of(table, tmp_path / "files", 3), tmp_path / "s", ATTRIBUTES, shards=2, nulls="drop")
    ask_both(index, whole, np.random.default_rng(6), 20)
    assert index.schema == whole.schema


@of_processes
def test_a_table_that_the_engine_holds(cluster, tmp_path):
    table = table_of(400, seed=7)
    whole = culmen.Index.build(table, ATTRIBUTES, id="id")
    index = cluster.build(cluster.partitioned(table), tmp_path / "s", ATTRIBUTES, shards=3, id="id")
    ask_both(index, whole, np.random.default_rng(8), 20)


def test_what_is_wrong_with_a_question_is_said(cluster, tmp_path):
    index = cluster.build(table_of(50), tmp_path / "s", ATTRIBUTES, shards=2, id="id")
    for weights, options, text in [
        ({"prize": 1}, {}, "prize"),
        ([1, 2], {}, "4"),
        ([0, 0, 0, 0], {}, "zero"),
        ([[1, 0, 0, 0], [0, 0, 0, np.nan]], {}, "query 1"),
        ([1, 0, 0, 0], {"k": 0}, "k is 0"),
        ([1, 0, 0, 0], {"where": "prize < 3"}, "prize"),
        ([1, 0, 0, 0], {"scale": "max"}, "scale"),
        ([1, 0, 0, 0], {"engine": "fast"}, "engine"),
        ([1e308, 1e308, 1e308, 1e308], {}, "overflow"),
        ([[1, 0, 0, 0], [1e308] * 4], {}, "query 1: .*overflow"),
        ([[1, 0, 0, 0], [1e308] * 4], {"k": [3, 4]}, "query 1: .*overflow"),
        ([[1, 0, 0, 0]] * 2, {"where": [None, "prize < 3"]}, "query 1: .*prize"),
        ([[1, 0, 0, 0]] * 2, {"k": [1, 0]}, "query 1: k is 0"),
        ([[1, 0, 0, 0]] * 2, {"k": [1]}, "1 values of k for 2 queries"),
        ([1, 0, 0, 0], {"k": [1]}, "of one query"),
        ([1, 0, 0, 0], {"progress": print}, "of one query"),
    ]:
        with pytest.raises(culmen.InvalidArgument, match=text):
            index.search(weights, **options)
        with pytest.raises(culmen.InvalidArgument, match=text):
            index.search(weights, allow_partial=True, **options)


@pytest.mark.parametrize("timeout", [None, 100])
def test_progress_of_many_questions(cluster, tmp_path, timeout):
    index = cluster.build(table_of(300), tmp_path / "s", ATTRIBUTES, shards=2, id="id")
    weights = np.random.default_rng(1).standard_normal((9000, 4))
    told = []
    answered = index.search(weights, 3, timeout=timeout, progress=lambda *report: told.append(report))
    assert_same(answered, index.search(weights, 3))
    assert {phase for phase, _ in told} == {"searching"}
    parts = [part for _, part in told]
    assert parts == sorted(parts) and parts[-1] == 1.0

    def stop(phase, part):
        raise OverflowError("enough")

    with pytest.raises(OverflowError, match="enough"):
        index.search(weights, 3, timeout=timeout, progress=stop)
    assert_same(index.search(weights, 3, timeout=timeout), answered)


def test_ctrl_c_ends_many_questions_by_messages(tmp_path):
    index = culmen.ShardedIndex.build(table_of(20_000), tmp_path / "s", ATTRIBUTES, shards=2, id="id")
    weights = np.random.default_rng(1).standard_normal((400_000, 4))
    signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell starts in the background ignores it
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        index.search(weights, 3, engine="scan", timeout=1000)
    assert time.monotonic() - start < 10
    assert len(index.search(weights[:10], 3, timeout=1000)) == 10


def test_a_shard_that_cannot_be_read_is_named(cluster, tmp_path):
    table = table_of(600, seed=9)
    whole = culmen.Index.build(table, ATTRIBUTES, id="id")
    cluster.build(table, tmp_path / "s", ATTRIBUTES, shards=3, id="id", missing=0).close()
    os.rename(tmp_path / "s", tmp_path / "moved")  # what is open elsewhere is not this
    lost = tmp_path / "moved" / "shard-1-1"
    shutil.rmtree(lost)
    index = cluster.open(tmp_path / "moved")
    with pytest.raises(culmen.IoError, match="a shard is missing: .*shard-1-1"):
        index.search([1, 1, 1, 1], 10)
    everything = whole.search([1, 1, 1, 1], 600)
    in_lost = culmen.ShardedIndex.open(tmp_path / "moved").search([1, 1, 1, 1], 600, allow_partial=True)
    partial = index.search([1, 1, 1, 1], 600, allow_partial=True)
    assert partial.is_partial and partial.missing_shards == (1,)
    assert_same(partial, in_lost)
    found = set(partial.ids.tolist())
    kept = [(id, score) for id, score in zip(everything.ids.tolist(), everything.scores.tolist()) if id in found]
    assert kept == list(zip(partial.ids.tolist(), partial.scores.tolist()))
    assert 0 < len(kept) < len(everything)
    batch = index.search(np.eye(4), 10, allow_partial=True)
    assert batch.missing_shards == (1,)
    assert any("shard-1-1" in fault for fault in index.verify())


@of_all
def test_a_shard_whose_directory_is_gone_is_not_answered_for(cluster, tmp_path):
    """Whoever serves it may hold an old version of it, which does not go with the new ones of the others."""
    table, directory = table_of(200, seed=30), tmp_path / "s"
    cluster.build(table, directory, ATTRIBUTES, shards=2, id="id", missing=0).close()
    reader = cluster.open(directory)
    assert len(reader.search([1, 1, 1, 1], 200, missing="fill")) == 200
    ids = table["id"].to_pylist()
    with culmen.ShardedIndex.open(directory, writable=True) as writer:
        writer.upsert(rows_of(np.random.default_rng(31), ids))
        writer.erase(ids[:80])
        truth = writer.search([1, 1, 1, 1], 200, missing="fill")
    shards = culmen._core.shards_of(truth.ids, 2)
    of_lost = int(truth.ids[shards == 0][0])
    os.rename(directory / "shard-1-0", tmp_path / "away")
    reader.refresh()
    for index in (reader, cluster.open(directory)):
        for ask in (
            lambda index: index.search([1, 1, 1, 1], 10),
            lambda index: index.search(np.eye(4), 10),
            lambda index: index.get(of_lost),
            lambda index: of_lost in index,
            lambda index: index.info,
        ):
            with pytest.raises(culmen.IoError, match="a shard is missing: .*shard-1-0") as caught:
                ask(index)
            assert not isinstance(caught.value, culmen.NoIndex)
        partial = index.search([1, 1, 1, 1], 200, missing="fill", allow_partial=True)
        assert partial.missing_shards == (0,)
        assert partial.ids.tolist() == truth.ids[shards == 1].tolist()
    os.rename(tmp_path / "away", directory / "shard-1-0")
    for index in (reader, cluster.open(directory)):
        assert_same(index.search([1, 1, 1, 1], 200, missing="fill"), truth)
    os.rename(directory / "shard-1-0", tmp_path / "away")
    os.rename(directory / "shard-1-1", tmp_path / "away-1")
    for ask in (reader.refresh, lambda: cluster.open(directory)):
        with pytest.raises(culmen.IoError, match="a shard is missing: .*shard-1-0") as caught:
            ask()
        assert not isinstance(caught.value, culmen.NoIndex)


def test_a_shard_that_is_another_index_is_not_answered_for(cluster, tmp_path):
    cluster.build(table_of(200, seed=32), tmp_path / "s", ATTRIBUTES, shards=2, id="id").close()
    shutil.rmtree(tmp_path / "s" / "shard-1-1")
    culmen.Index.build(table_of(90, seed=33), ATTRIBUTES, id="id").save(tmp_path / "s" / "shard-1-1")
    index = cluster.open(tmp_path / "s")
    with pytest.raises(culmen.FormatError, match="shard-1-1 holds another index"):
        index.search([1, 1, 1, 1], 10)
    assert index.search([1, 1, 1, 1], 10, allow_partial=True).missing_shards == (1,)


@of_all
def test_restored_files_bring_their_own_versions(cluster, tmp_path):
    """The same numbers of versions, of other rows: nobody answers from what was there before."""
    ids = list(range(40))
    table = {"id": ids, "p": [float(i) for i in ids]}
    cluster.build(pa.table(table), tmp_path / "s", ["p"], shards=2, id="id").close()
    shutil.copytree(tmp_path / "s", tmp_path / "copy")

    def change(factor):
        with culmen.ShardedIndex.open(tmp_path / "s", writable=True) as writer:
            writer.upsert({"id": ids, "p": [factor * i for i in ids]})
        return culmen.ShardedIndex.open(tmp_path / "s").search([1], 40)

    before = change(10.0)
    looked, asked = cluster.open(tmp_path / "s"), cluster.open(tmp_path / "s")
    for index in (looked, asked):
        assert_same(index.search([1], 40), before)
    for shard in ("shard-1-0", "shard-1-1"):
        shutil.rmtree(tmp_path / "s" / shard)
        shutil.copytree(tmp_path / "copy" / shard, tmp_path / "s" / shard)
    after = change(-10.0)
    assert after.versions == before.versions
    assert_same(cluster.open(tmp_path / "s").search([1], 40), after)
    assert looked.refresh() == "replaced"
    assert_same(looked.search([1], 40), after)
    assert looked.refresh() == "unchanged"
    if not isinstance(cluster, Threads):  # whoever serves the shards has seen the new files
        assert_same(asked.search([1], 40), after)


def test_a_process_that_does_not_know_a_history_looks_for_it(tmp_path):
    """Two processes serve a shard, and only one has seen that older files were restored and changed."""
    ids, directory = list(range(9)), str(tmp_path / "s")
    culmen.Index.build({"id": ids, "p": [1.0] * 9}, ["p"], id="id").save(directory)
    shutil.copytree(directory, tmp_path / "copy")

    def change(value):
        with culmen.Index.open(directory, writable=True) as writer:
            writer.upsert({"id": ids, "p": [value] * 9})

    def value_of(shard, version):
        return float(shard.get(version, np.array([3]), "")[0][0, 0])

    change(2.0)
    with culmen.Index.open(directory) as index:
        listed = culmen._shards.Version(index.info.uuid, 1, is_listed=True)
    one, other = culmen._shards.Shard(directory, None), culmen._shards.Shard(directory, None)
    old = one.state(listed, "").version
    assert value_of(one, old) == value_of(other, old) == 2.0
    shutil.rmtree(directory)
    shutil.copytree(tmp_path / "copy", directory)
    change(3.0)
    new = one.state(listed, "").version
    assert new == old and new.history != old.history
    assert value_of(other, old) == 2.0  # the driver has not looked since
    assert value_of(one, new) == value_of(other, new) == 3.0
    for shard in (one, other):
        with pytest.raises(culmen._shards.Stale):
            value_of(shard, old)
    assert one.state(listed, new.history).version.history == new.history


def test_changes_of_a_missing_shard_are_refused(cluster, tmp_path):
    table = table_of(100, seed=34)
    cluster.build(table, tmp_path / "s", ATTRIBUTES, shards=2, id="id").close()
    os.rename(tmp_path / "s" / "shard-1-0", tmp_path / "away")
    with cluster.open(tmp_path / "s", writable=True) as index:
        versions = index.versions
        with pytest.raises(culmen.IoError, match="a shard is missing: .*shard-1-0") as caught:
            index.upsert(rows_of(np.random.default_rng(35), table["id"].to_pylist()))
        assert not isinstance(caught.value, culmen.NoIndex)
        assert index.versions == versions
    os.rename(tmp_path / "away", tmp_path / "s" / "shard-1-0")
    assert cluster.open(tmp_path / "s").versions == versions


def test_an_answer_of_another_version_is_none():
    asked = culmen._shards.Version("a", 2)
    for version in (culmen._shards.Version("a", 1), culmen._shards.Version("b", 2)):
        part = culmen._shards.Part(version, *[np.zeros(0)] * 3, None, None, {}, 0.0)
        assert culmen._shards.part_of(part, version) is part
        with pytest.raises(culmen._shards.Stale):
            culmen._shards.part_of(part, asked)


def test_a_process_is_that_of_a_shard(cluster, tmp_path):
    index = cluster.build(table_of(50, seed=36), tmp_path / "s", ATTRIBUTES, shards=2, id="id")
    assert index.process_of(1) > 0
    for shard in (2, -1):
        with pytest.raises(culmen.InvalidArgument, match=f"shard is {shard}; it is from 0 to 1"):
            index.process_of(shard)


@of_processes
def test_workers_are_killed(cluster, tmp_path):
    """Each answer is that of an index of all rows, whenever a process dies."""
    table = table_of(1500, seed=10)
    whole = culmen.Index.build(table, ATTRIBUTES, id="id", label="name")
    index = cluster.build(
        files_of(table, tmp_path / "files", 2), tmp_path / "s", ATTRIBUTES, shards=4, id="id", label="name"
    )
    rng = np.random.default_rng(11)
    done = threading.Event()
    killed = []

    def kill():
        for number in range(max(2, NUM_QUESTIONS // (15 if isinstance(cluster, Dask) else 60))):
            time.sleep(0.3)
            shard = number % index.num_shards
            pid = index.process_of(shard)
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)
            cluster.wait()
        done.set()

    thread = threading.Thread(target=kill)
    thread.start()
    asked = 0
    while not done.is_set() or asked < NUM_QUESTIONS:
        ask_both(index, whole, rng, 1, with_rows=1)
        asked += 1
    thread.join()
    assert len(set(killed)) == len(killed) > 1


@pytest.mark.parametrize("cluster", [Dask], indirect=True, ids=["dask"])
def test_a_question_waits_while_there_is_no_worker(cluster, tmp_path):
    table = table_of(200, seed=12)
    index = cluster.build(table, tmp_path / "s", ATTRIBUTES, shards=4, id="id", label="name")
    before = index.search([1, 1, 1, 0], 5)
    cluster.cluster.scale(0)
    while cluster.client.scheduler_info(n_workers=-1)["workers"]:
        time.sleep(0.05)
    time.sleep(1.1)  # longer than the engine trusts what it knows of its workers
    with pytest.raises(culmen.ShardUnavailable, match="shard-1-.* did not answer in time: the cluster has no worker"):
        index.search([1, 1, 1, 0], 5, timeout=2.5)
    empty = index.search([1, 1, 1, 0], 5, timeout=0.2, allow_partial=True)
    assert len(empty) == 0 and empty.missing_shards == (0, 1, 2, 3) and list(empty) == []
    assert empty.to_arrow().schema == before.to_arrow().schema and empty.stats.rows_scored == 0
    many = index.search(np.eye(4), 5, timeout=0.2, allow_partial=True)
    assert many.counts.tolist() == [0] * 4 and many.missing_shards == (0, 1, 2, 3) and len(many[0].to_arrow()) == 0
    more = threading.Timer(0.5, cluster.cluster.scale, (2,))
    more.start()
    assert index.search([1, 1, 1, 0], 5).ids.tolist() == before.ids.tolist()
    more.join()
    cluster.wait()


def test_dask_may_limit_the_wait_for_a_worker(tmp_path):
    distributed = pytest.importorskip("distributed", reason="pip install 'culmen[dask]'")
    import dask

    from culmen.dask import ShardedIndex

    with (
        dask.config.set({"distributed.scheduler.no-workers-timeout": "1s"}),
        distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        index = ShardedIndex.build({"id": [1, 2], "p": [1.0, 2.0]}, tmp_path / "s", ["p"], shards=2, id="id")
        cluster.scale(0)
        while client.scheduler_info(n_workers=-1)["workers"]:
            time.sleep(0.05)
        time.sleep(1.1)  # longer than the engine trusts what it knows of its workers
        for ask in (lambda: index.get(1), lambda: ShardedIndex.open(tmp_path / "s"), lambda: index.search([1], 1)):
            with pytest.raises(culmen.ShardUnavailable, match="the cluster has no worker"):
                ask()


def test_a_shard_that_changes_is_asked_again(cluster, tmp_path):
    """A question names versions. Shards that have moved on make the driver look, and ask about the new ones."""
    table = table_of(300, seed=12)
    index = cluster.build(table, tmp_path / "s", ATTRIBUTES, shards=2, id="id")
    whole = culmen.Index.build(table, ATTRIBUTES, id="id")
    before = index.versions
    old = whole.search([1, 1, 1, 1], 10)
    assert_same(index.search([1, 1, 1, 1], 10), old)
    gone = old.ids[:3]
    for shard in range(2):
        with culmen.Index.open(tmp_path / "s" / f"shard-1-{shard}", writable=True) as writer:
            writer.erase(gone)
    whole.erase(gone)
    assert_same(index.search([1, 1, 1, 1], 10), old)  # who serves a shard keeps the version that questions are about
    cluster.forget(index)
    assert_same(index.search([1, 1, 1, 1], 10), whole.search([1, 1, 1, 1], 10))
    assert index.versions != before and len(index) == 297
    assert index.refresh() == "unchanged"


def rows_of(rng, ids=None, count=8):
    """A few rows, without ids unless some are given."""
    count = count if ids is None else len(ids)
    rows = {
        "price": (rng.integers(0, 200, count) / 4.0).tolist(),
        "rating": (rng.integers(-8, 9, count) / 4.0).tolist(),
        "stars": [None if rng.random() < 0.3 else int(x) for x in rng.integers(1, 6, count)],
        "same": [2.5] * count,
        "brand": [None if rng.random() < 0.3 else f"new brand {int(x)}" for x in rng.integers(0, 5, count)],
        "opened": [datetime.date(2025, 1, 1)] * count,
        "open": [True] * count,
        "name": [f"new row {int(x)}" for x in rng.integers(0, 99, count)],
    }
    return rows if ids is None else {"id": ids, **rows}


def assert_same_change(done, expected):
    for name in ("inserted", "replaced", "erased", "first_id", "repeated"):
        assert getattr(done, name) == getattr(expected, name), name


@of_all
def test_changes_are_those_of_one_index(cluster, tmp_path):
    table, rng = table_of(300, seed=13), np.random.default_rng(14)
    whole = culmen.Index.build(table, ATTRIBUTES, id="id", label="name")
    cluster.build(table, tmp_path / "s", ATTRIBUTES, shards=3, id="id", label="name").close()
    with cluster.open(tmp_path / "s", writable=True) as index:
        with pytest.raises(culmen.IoError):
            culmen.ShardedIndex.open(tmp_path / "s", writable=True)
        reader = cluster.open(tmp_path / "s")
        for _ in range(3):
            rows = rows_of(rng)
            assert_same_change(index.insert(rows), whole.insert(rows))
            rows = rows_of(rng, rng.choice(1500, 20, replace=False) - 600)
            assert_same_change(index.upsert(rows), whole.upsert(rows))
            ids = np.concatenate([whole.ids()[:30], [int(whole.ids()[4])]])  # one twice: the last counts
            changed = rows_of(rng, ids)
            changed = {name: changed[name] for name in ("id", "stars", "brand", "name")[: int(rng.integers(2, 5))]}
            assert_same_change(index.update(changed), whole.update(changed))
            rows, keep = rows_of(rng, rng.integers(0, 20, 40) + whole.info.next_id), str(rng.choice(["first", "last"]))
            assert_same_change(index.insert(rows, duplicates=keep), whole.insert(rows, duplicates=keep))
            ids = rng.choice(1500, 100, replace=False) - 600
            assert index.erase(ids) == whole.erase(ids)
            with index.batch() as batch, whole.batch() as of_whole:
                for each in (batch, of_whole):
                    each.insert(rows_of(np.random.default_rng(1), [-(10**6)]))
                    each.insert(rows_of(np.random.default_rng(2), count=3))
                    each.erase([-(10**6), 5])
                    each.erase(where=culmen.col("price") > 45)
            assert_same_change(batch.result, of_whole.result)
            rows, expire = rows_of(rng, count=20), "rating between 1 and 1.5 or brand = 'new brand 3'"
            assert_same_change(index.insert(rows, expire=expire), whole.insert(rows, expire=expire))
            assert index.erase(where="stars is null and price < 9") == whole.erase(where="stars is null and price < 9")
            ask_both(index, whole, rng, 5, with_rows=1)
        # What is wrong is found before anything changes.
        known = int(whole.ids()[0])
        rows = rows_of(rng, [*range(2 * 10**6, 2 * 10**6 + 9), known])
        with pytest.raises(culmen.RowError, match="row 10: ") as caught:
            index.insert(rows)
        assert caught.value.row == 9
        with pytest.raises(culmen.RowError, match="row 10: ") as caught:
            index.insert(rows, expire="price > 1")
        assert caught.value.row == 9
        with pytest.raises(culmen.RowError, match="row 3: id 12345678 is not in the index") as caught:
            index.update({"id": [known, int(whole.ids()[1]), 12345678], "stars": [1, 2, 3]})
        assert caught.value.row == 2
        with pytest.raises(culmen.InvalidArgument, match="no column 'starz'"):
            index.update({"id": [known], "starz": [1]})
        for empty in ("", " ", {}):
            with pytest.raises(culmen.InvalidArgument, match="where is empty, which would erase every row"):
                index.erase(where=empty)
        with pytest.raises(culmen.RowError, match="appears twice"):
            index.insert(rows_of(rng, [7777777, 7777777]))
        ask_both(index, whole, rng, 5, with_rows=1)
        assert index.verify() == []
        reader.refresh()
        ask_both(reader, whole, rng, 5, with_rows=1)
        with pytest.raises(culmen.InvalidArgument, match="writable=True"):
            reader.erase([1])
    ask_both(cluster.open(tmp_path / "s"), whole, rng, 5, with_rows=1)


@of_processes
def test_writers_are_killed(cluster, tmp_path):
    """Every batch that was acknowledged is there once."""
    table, rng = table_of(300, seed=15), np.random.default_rng(16)
    whole = culmen.Index.build(table, ATTRIBUTES, id="id", label="name")
    cluster.build(table, tmp_path / "s", ATTRIBUTES, shards=2, id="id", label="name").close()
    with cluster.open(tmp_path / "s", writable=True) as index:
        for number in range(6):
            killer = threading.Timer(0.002 * number, os.kill, (index.process_of(number % 2), signal.SIGKILL))
            killer.start()
            rows = rows_of(rng, count=40)
            done, expected = index.insert(rows), whole.insert(rows)
            killer.join()
            assert (done.inserted, done.first_id) == (expected.inserted, expected.first_id)
            ask_both(index, whole, rng, 2, with_rows=1)
            cluster.wait()
        assert index.verify() == []
    ask_both(culmen.ShardedIndex.open(tmp_path / "s"), whole, rng, 5, with_rows=1)


@contextlib.contextmanager
def out_of_space(process, file):
    """The process cannot make the file longer, nor others that are as long."""
    before = resource.prlimit(process, resource.RLIMIT_FSIZE)
    resource.prlimit(process, resource.RLIMIT_FSIZE, (file.stat().st_size + 40, before[1]))
    try:
        yield
    finally:
        resource.prlimit(process, resource.RLIMIT_FSIZE, before)


@of_all
@pytest.mark.parametrize("full", [0, 2])
def test_a_shard_that_cannot_write_ends_the_writing(cluster, tmp_path, full):
    """The index that wrote the batch shows none of it, and refuses further changes; the next one completes it."""
    table = pa.table({"id": list(range(60)), "x": [0.0] * 60})
    cluster.build(table, tmp_path / "s", ["x"], shards=3, id="id").close()
    of_full = np.arange(1000, 50000)[culmen._core.shards_of(np.arange(1000, 50000), 3) == full][:3000]
    log = tmp_path / "s" / f"shard-1-{full}" / "WAL-1"
    ones, with_ones = {"id": np.arange(60), "x": np.ones(60)}, {"weights": {"x": 1}, "where": "x = 1", "k": 100}
    others = " ".join(str(shard) for shard in range(3) if shard != full)
    for batch, where in ((ones, f"the shards {others}"), ({"id": of_full[:1], "x": [1.0]}, "no other shard")):
        with cluster.open(tmp_path / "s", writable=True) as index:
            index.upsert({"id": of_full, "x": np.zeros(3000)})  # its log is the longest
            before = index.versions
            failure = f"shard {full} of {tmp_path / 's'}: .*WAL-1: File too large.*; the batch is in {where}. No more"
            with out_of_space(index.process_of(full), log), pytest.raises(culmen.IoError, match=failure):
                index.upsert(batch)
            for change in (lambda: index.insert({"id": [-1], "x": [5.0]}), lambda: index.erase([3]), index.checkpoint):
                with pytest.raises(culmen.IoError, match=failure):
                    change()
            assert index.refresh() == "unchanged" and index.versions == before
            assert len(index.search(**with_ones)) == 0 and -1 not in index and len(index) == 3060
            assert index.get(int(batch["id"][0]))["x"] == 0
        with cluster.open(tmp_path / "s", writable=True) as index:
            assert (0 < len(index.search(**with_ones)) < 60) == (batch is ones)
            index.upsert(batch)
            assert len(index.search(**with_ones)) == len(batch["id"])
            index.upsert({"id": batch["id"], "x": np.zeros(len(batch["id"]))})


@of_all
def test_an_index_is_maintained(cluster, tmp_path):
    table, rng = table_of(2000, seed=17), np.random.default_rng(18)
    whole = culmen.Index.build(table, ATTRIBUTES, id="id", label="name", missing={"price": "median"})
    options = {"id": "id", "label": "name", "missing": {"price": "median"}}
    cluster.build(table, tmp_path / "s", ATTRIBUTES, shards=3, **options).close()
    with cluster.open(tmp_path / "s", writable=True) as index:
        for each in (index, whole):
            rows = rows_of(np.random.default_rng(19), list(range(10**6, 10**6 + 500)))
            each.upsert(rows)
            each.erase(np.arange(10**6, 10**6 + 300))
        index.flush()
        index.checkpoint()
        index.compact()
        ask_both(index, whole, rng, 5, with_rows=1)
        assert index.verify() == []
        with pytest.raises(culmen.IoError):
            culmen.ShardedIndex.rebalance(tmp_path / "s", 2)
        index.checkpoint()
        written = index.versions
    reader = cluster.open(tmp_path / "s")
    assert reader.recovery.num_batches == 0
    assert tuple(shard["version"] for shard in reader._listed()) == written == reader.versions
    for name in ("num_rows", "attributes", "value_type", "has_labels", "rounded_values", "data_bytes", "next_id"):
        assert getattr(reader.info, name) == getattr(whole.info, name), name
    assert [shard.num_rows for shard in reader.shard_infos] == [
        len(culmen.Index.open(tmp_path / "s" / f"shard-1-{s}")) for s in range(3)
    ]
    for method in ("flush", "checkpoint", "compact"):
        with pytest.raises(culmen.InvalidArgument, match="writable=True"):
            getattr(reader, method)()
    culmen.ShardedIndex.rebalance(tmp_path / "s", 2)
    assert reader.refresh() == "replaced" and reader.num_shards == 2
    ask_both(reader, whole, rng, 5, with_rows=1)
    with pytest.raises(culmen.InvalidArgument, match="shards is 0"):
        culmen.ShardedIndex.rebalance(tmp_path / "s", 0)


def questions_of(rows):
    rng = np.random.default_rng(23)
    weights = {name.partition(":")[0]: rng.choice([1.0, 0.5, -3.0], rows) for name in ATTRIBUTES[:3]}
    return pa.table({"question": pa.array([f"q{i}" for i in range(rows)]), **weights})


def assert_answered(answered, questions, whole, k, **options):
    """In the order of the questions; other columns stay."""
    assert answered.column_names == [*questions.column_names, "ids", "scores"]
    assert answered.column("question").to_pylist() == questions.column("question").to_pylist()
    expected = whole.search(questions.drop_columns(["question"]), k, **options)
    assert answered.column("ids").to_pylist() == [result.ids.tolist() for result in expected]
    assert answered.column("scores").to_pylist() == [result.scores.tolist() for result in expected]


@of_all
def test_tables_of_questions(cluster, tmp_path):
    table = table_of(800, seed=24)
    whole = culmen.Index.build(table, ATTRIBUTES, id="id")
    index = cluster.build(table, tmp_path / "s", ATTRIBUTES, shards=3, id="id")
    questions = questions_of(5000)
    answered = list(index.search_many(questions.to_reader(1500), 5, where="stars > 2"))
    assert [len(part) for part in answered] == [1500, 1500, 1500, 500]
    assert_answered(pa.concat_tables(answered), questions, whole, 5, where="stars > 2")
    taken = []
    lazy = index.search_many(iter(lambda: taken.append(1) or questions.slice(0, 10), None), 3)
    assert len(next(lazy)) == 10 and len(taken) == 1  # no more than was asked for
    for kind in cluster.data_sets(questions):
        for scale in ["minmax", "zscore", "rank"]:
            found = cluster.as_table(index.search_many(kind, None, min_score=2.0, scale=scale), questions)
            assert_answered(found, questions, whole, None, min_score=2.0, scale=scale)
    with pytest.raises(culmen.InvalidArgument, match="question"):
        next(index.search_many(questions.select(["question"])))
    with pytest.raises(culmen.InvalidArgument, match="'ids'"):
        next(index.search_many(questions.append_column("ids", questions.column("price"))))


def text_table_of(rows, seed):
    """Whose ids are texts, and whose few values make many scores tie."""
    table = table_of(rows, seed).drop_columns(["id", "name"])
    numbers = np.random.default_rng(seed).choice(5000, rows, replace=False)
    return table.append_column("sku", pa.array([text_of(int(number)) for number in numbers], pa.string()))


@of_all
def test_ids_that_are_texts(cluster, tmp_path):
    table, rng = text_table_of(900, seed=40), np.random.default_rng(41)
    whole = culmen.Index.build(table, ATTRIBUTES, id="sku")
    index = cluster.build(files_of(table, tmp_path / "files", 3), tmp_path / "s", ATTRIBUTES, shards=3, id="sku")
    assert index.schema == whole.schema
    ask_both(index, whole, rng, NUM_QUESTIONS, wheres=TEXT_WHERE)
    weights = rng.choice([1.0, -1.0, 0.0], (9000, 4)) + [0, 1e-3, 0, 0]  # in parts
    answer, expected = index.search(weights, 7, where="stars > 1"), whole.search(weights, 7, where="stars > 1")
    assert_same(answer, expected)
    assert answer[8999].ids.tolist() == expected[8999].ids.tolist()
    assert answer[8999].to_arrow().equals(expected[8999].to_arrow())
    assert index.search([0, 0, 0, 1.0], 20).cursor == whole.search([0, 0, 0, 1.0], 20).cursor
    for id in [*whole.ids()[:5], "none", ""]:
        expected = whole.get(id)
        found = index.get(id)
        assert (id in index) == (expected is not None)
        assert (found and (found.id, dict(found))) == (expected and (expected.id, dict(expected)))
    assert 7 not in index
    with pytest.raises(culmen.InvalidArgument, match="texts"):
        index.get(7)
    questions = questions_of(600)
    assert_answered(pa.concat_tables(index.search_many(questions.to_reader(250), 5)), questions, whole, 5)
    for kind in cluster.data_sets(questions):
        assert_answered(cluster.as_table(index.search_many(kind, 5), questions), questions, whole, 5)


@of_all
def test_changes_of_text_ids_are_those_of_one_index(cluster, tmp_path):
    table, rng = text_table_of(300, seed=42), np.random.default_rng(43)
    whole = culmen.Index.build(table, ATTRIBUTES, id="sku")
    cluster.build(table, tmp_path / "s", ATTRIBUTES, shards=3, id="sku").close()

    def some_rows(count):
        rows = rows_of(rng, [text_of(int(number)) for number in rng.choice(5000, count, replace=False)])
        return {"sku": rows.pop("id"), **{name: rows[name] for name in rows if name != "name"}}

    with cluster.open(tmp_path / "s", writable=True) as index:
        reader = cluster.open(tmp_path / "s")
        for _ in range(3):
            rows = some_rows(40)
            assert_same_change(index.upsert(rows), whole.upsert(rows))
            changed = {"sku": [str(id) for id in whole.ids()[::7]]}
            changed["stars"] = [3] * len(changed["sku"])
            assert_same_change(index.update(changed), whole.update(changed))
            gone = [*whole.ids()[::9], "none", *some_rows(20)["sku"]]
            assert index.erase(gone) == whole.erase(gone)
            new = {name: [*values, *values] for name, values in some_rows(5).items()}
            new["sku"] = [f"new {sku}" for sku in new["sku"]]
            keep = str(rng.choice(["first", "last"]))
            assert index.erase(new["sku"]) == whole.erase(new["sku"])
            assert_same_change(index.insert(new, duplicates=keep), whole.insert(new, duplicates=keep))
            batched = some_rows(9)
            with index.batch() as batch, whole.batch() as of_whole:
                for each in (batch, of_whole):
                    each.upsert(batched)
                    each.erase(batched["sku"][:3])
                    each.erase(where="id > '日' and price > 45")
            assert_same_change(batch.result, of_whole.result)
            ask_both(index, whole, rng, 5, with_rows=1, wheres=TEXT_WHERE)
        known = str(whole.ids()[0])
        rows = some_rows(10)
        rows["sku"][9] = known
        rows["sku"][:9] = [f"newest {i}" for i in range(9)]
        with pytest.raises(culmen.RowError, match="row 10: ") as caught:
            index.insert(rows)
        assert caught.value.row == 9
        with pytest.raises(culmen.RowError, match='row 2: id "none" is not in the index'):
            index.update({"sku": [known, "none"], "stars": [1, 2]})
        with pytest.raises(culmen.InvalidArgument, match="assigns none"):
            index.insert({name: values for name, values in rows.items() if name != "sku"})
        assert index.verify() == []
        reader.refresh()
        ask_both(reader, whole, rng, 5, with_rows=1, wheres=TEXT_WHERE)
    culmen.ShardedIndex.rebalance(tmp_path / "s", 4)
    ask_both(cluster.open(tmp_path / "s"), whole, rng, 10, with_rows=1, wheres=TEXT_WHERE)


def test_a_build_that_fails_leaves_no_directory(cluster, tmp_path):
    table = pa.table({"id": [1, 2, 1], "a": [1.0, 2.0, 3.0]})
    (tmp_path / "empty").mkdir()
    for name in ("new", "empty"):
        for options in ({"id": "nothing"}, {"id": "id"}, {"id": "id", "label": "a"}):
            with pytest.raises(culmen.Error):
                cluster.build(table, tmp_path / name, ["a"], shards=2, **options)
            assert os.listdir(tmp_path) == ["empty"] and os.listdir(tmp_path / "empty") == []


@pytest.mark.parametrize("keep", ["first", "last"])
def test_one_of_several_rows_with_a_text_is_built(tmp_path, keep):
    table = text_table_of(600, seed=44)
    skus = pa.array([text_of(i * 7 % 400) for i in range(600)])
    table = table.set_column(table.column_names.index("sku"), "sku", skus)
    whole = culmen.Index.build(table, ATTRIBUTES, id="sku", duplicates=keep)
    files = files_of(table, tmp_path / "files", 3)
    build = culmen.ShardedIndex.build
    with pytest.raises(culmen.InputError, match="ids must be unique"):
        build(files, tmp_path / "s", ATTRIBUTES, shards=2, id="sku")
    index = build(files, tmp_path / "s", ATTRIBUTES, shards=2, id="sku", duplicates=keep)
    assert len(index) == 400
    ask_both(index, whole, np.random.default_rng(45), 20, with_rows=1, wheres=TEXT_WHERE)


def test_rows_that_are_dropped_determine_nothing(tmp_path):
    table = {"a": [1.0, np.inf, np.nan, 3.0, -9.0], "b": [4.0, 5.0, 6.0, 7.0, np.nan]}
    whole = culmen.Index.build(table, nulls="drop", missing={"a": "worst"})
    culmen.ShardedIndex.build(table, tmp_path / "s", shards=2, nulls="drop", missing={"a": "worst"})
    more = {"id": [10], "a": [np.nan], "b": [1.0]}
    whole.insert(more)
    with culmen.ShardedIndex.open(tmp_path / "s", writable=True) as writer:
        writer.insert(more)
        found, expected = (i.search([1, 1], 9, missing="fill") for i in (writer, whole))
    assert found.ids.tolist() == expected.ids.tolist() == [3, 0, 10]
    assert found.scores.tolist() == expected.scores.tolist()


def test_text_ids_with_gaps_and_of_no_rows(tmp_path):
    table = pa.table({"sku": ["b", None, "a"], "a": [1.0, 2.0, 1.0]})
    with pytest.raises(culmen.InputError, match="column 'sku' has no value in row 2"):
        culmen.ShardedIndex.build(table, tmp_path / "s", ["a"], shards=2, id="sku")
    index = culmen.ShardedIndex.build(table, tmp_path / "s", ["a"], shards=2, id="sku", nulls="drop")
    assert index.search([1], 5).ids.tolist() == ["a", "b"]
    with pytest.raises(culmen.InputError, match="ids are texts; these are numbers"):
        culmen.ShardedIndex.build(table, tmp_path / "t", ["a"], shards=2, id="a", id_type="text")
    with pytest.raises(culmen.InputError, match="ids are integers; these are texts"):
        culmen.ShardedIndex.build(table, tmp_path / "u", ["a"], shards=2, id="sku", id_type="int64")
    empty = culmen.ShardedIndex.build(table.slice(0, 0), tmp_path / "v", ["a"], shards=2, id="sku")
    assert empty.search([[1.0], [-1.0]], 5).ids.shape == (2, 0)
    with culmen.ShardedIndex.open(tmp_path / "v", writable=True) as index:
        index.insert({"sku": ["z", "é", "a"], "a": [1.0, 1.0, 1.0]})
        assert index.search([1], 5).ids.tolist() == ["a", "z", "é"]


def test_what_pyarrow_does_not_hold_is_refused_as_by_one_index(tmp_path):
    for ids, says in (
        (["a", 1], "row 2: column 'id' holds texts, but 1 here"),
        (["a", "\ud800"], "row 2: .* no Unicode"),
        ([1, 2**63], 'build with id_type="uint64"'),
    ):
        with pytest.raises(culmen.InputError, match=says):
            culmen.ShardedIndex.build({"id": ids, "a": [1.0, 2.0]}, tmp_path / "s", ["a"], id="id", shards=2)


@pytest.mark.parametrize("column", ["id", "kind"])
def test_files_whose_types_do_not_agree_are_named(tmp_path, column):
    table = pa.table({"id": [1, 2], "kind": [3, 4], "a": [1.0, 2.0]})
    others = table.set_column(table.column_names.index(column), column, pa.array(["p", "q"]))
    files = [tmp_path / f"{i}.parquet" for i in range(3)]
    for part, file in zip((table, others, table), files, strict=True):
        pq.write_table(part, file)
    says = f"column '{column}' holds integers in {files[0]}, texts in {files[1]}: make it of one type"
    for build, arguments in ((culmen.Index.from_files, ()), (culmen.ShardedIndex.build, (tmp_path / "s",))):
        with pytest.raises(culmen.InputError, match=says):
            build(files, *arguments, attributes=["a"], id="id", **({"shards": 2} if arguments else {}))


@pytest.mark.parametrize("ids", [["a", None, "b", "c"], [1, None, 2, 3], None])
def test_all_rows_of_a_shard_may_be_dropped(tmp_path, ids):
    table = {"x": [1.0, 2.0, None, 3.0]} | ({} if ids is None else {"id": ids})
    id = None if ids is None else "id"
    options = {"id": id, "nulls": "drop"}
    for shards in (1, 2, 7):
        for duplicates in ("error", "last"):
            directory = tmp_path / f"{shards}-{duplicates}"
            index = culmen.ShardedIndex.build(table, directory, ["x"], shards=shards, duplicates=duplicates, **options)
            whole = culmen.Index.build(table, ["x"], **options)
            assert index.search([1], 5).ids.tolist() == whole.search([1], 5).ids.tolist()
    says = "^all 4 rows have a gap in an attribute or the id: none is left$"
    gaps = {"x": [1.0, None, None, None]} | ({} if ids is None else {"id": [None, *ids[1:]]})
    for given in (gaps if ids else {"x": [None, None, None, None]}, {**table, "x": [np.nan] * 4}):
        for missing in (None, "median"):
            with pytest.raises(culmen.InputError, match=says):
                culmen.Index.build(given, ["x"], missing=missing, **options)
            with pytest.raises(culmen.InputError, match=says):
                culmen.ShardedIndex.build(given, tmp_path / "none", ["x"], shards=2, missing=missing, **options)


@pytest.mark.parametrize("kind", ["dictionary", "string_view", "polars"])
def test_columns_that_pyarrow_does_not_take_rows_of(tmp_path, kind):
    """Views, and dictionaries that differ from file to file, or are texts in another one."""
    names = ["id", "kind"]
    parts = [pa.table({"id": [a, b], "kind": [b, None], "a": [1.0, 2.0]}) for a, b in ("pq", "rs")]
    given = [parts[0].slice(0, 0), pa.concat_tables(parts)]
    if kind == "dictionary":
        given = [part.set_column(1, "kind", part["kind"].dictionary_encode()) for part in parts]
        given.append(pa.table({"id": ["t"], "kind": ["u"], "a": [3.0]}))
    elif kind == "string_view":
        views = pa.schema([*((name, pa.string_view()) for name in names), ("a", pa.float64())])
        given = [part.cast(views) for part in given]
    if kind == "polars":
        polars = pytest.importorskip("polars")
        frame = polars.from_arrow(given[1])
        table = frame.with_columns(polars.col("kind").cast(polars.Categorical))
    else:
        table = [tmp_path / f"{i}.arrow" for i in range(len(given))]
        for part, file in zip(given, table, strict=True):
            with pa.ipc.new_file(file, part.schema) as writer:
                writer.write_table(part)
    index = culmen.ShardedIndex.build(table, tmp_path / "s", ["a"], shards=2, id="id")
    kinds = {"p": "q", "q": None, "r": "s", "s": None} | ({"t": "u"} if kind == "dictionary" else {})
    assert {id: index.get(id)["kind"] for id in index.search([1], 9).ids.tolist()} == kinds


def test_without_a_cluster_there_is_an_error():
    pytest.importorskip("distributed", reason="pip install 'culmen[dask]'")
    build = 'import culmen; culmen.dask.ShardedIndex.build({"price": [1]}, "never", shards=1)'
    done = subprocess.run([sys.executable, "-c", build], capture_output=True, text=True, timeout=60)
    assert "InvalidArgument: there is no Dask client" in done.stderr


@of_processes
@pytest.mark.skipif(culmen.num_devices() > 0, reason="there is a GPU")
def test_without_a_gpu_there_is_an_error(cluster, tmp_path):
    cluster.build(table_of(50), tmp_path / "s", ATTRIBUTES, shards=2, id="id").close()
    with pytest.raises(culmen.CudaError, match="GPU"):
        cluster.open(tmp_path / "s", **cluster.on_gpu)


@of_processes
@pytest.mark.skipif(culmen.num_devices() == 0, reason="there is no GPU")
def test_shards_on_gpus_answer_alike(cluster, tmp_path):
    table = table_of(3000, seed=20)
    whole = culmen.Index.build(table, ATTRIBUTES, id="id", label="name")
    cluster.build(table, tmp_path / "s", ATTRIBUTES, shards=1, id="id", label="name").close()
    with cluster.open(tmp_path / "s", writable=True, **cluster.on_gpu) as index:
        ask_both(index, whole, np.random.default_rng(21), NUM_QUESTIONS)
        assert "cuda" in index.search([1, 1, 1, 1], 3).stats.device
        for page in ({"per": {"brand": 1}}, {"after": (0.5, 0)}):  # which the CPU beside it answers
            assert_same(index.search([1, 1, 1, 1], 30, **page), whole.search([1, 1, 1, 1], 30, **page))
        for each in (index, whole):
            each.erase(np.arange(-100, 100))
        ask_both(index, whole, np.random.default_rng(22), NUM_QUESTIONS)
        with pytest.raises(culmen.InvalidArgument, match="overflow"):
            index.search([1e308, 1e308, 1e308, 1e308])


@pytest.mark.parametrize("rule", ["median", "mean", "worst", 7])
@pytest.mark.parametrize("start", ["reopened", "compact", "erase", "empty insert", "rebalance"])
def test_the_first_rows_determine_stand_ins(tmp_path, rule, start):
    none = pa.table({"id": pa.array([], pa.int64()), "p": pa.array([], pa.float64())})
    rows = pa.table({"id": [1, 2, 3, 4, 5], "p": [1.0, 5.0, None, 3.0, 10.0]})
    options = {"id": "id", "missing": {"p": rule}, "value_type": "float64"}
    whole = culmen.Index.build(none, ["p"], **options)
    culmen.ShardedIndex.build(none, tmp_path / "s", ["p"], shards=3, **options).close()
    if start == "rebalance":
        culmen.ShardedIndex.rebalance(tmp_path / "s", 2)
    with culmen.ShardedIndex.open(tmp_path / "s", writable=True) as index:
        if start == "compact":
            index.compact()
        elif start == "erase":
            index.erase([5])
        elif start == "empty insert":
            index.insert(none)
        index.insert(rows)
        whole.insert(rows)
        assert_same(index.search([1], missing="fill"), whole.search([1], missing="fill"))
        more = {"id": [6, 7], "p": [100.0, None]}  # which determine nothing any more
        index.insert(more)
        whole.insert(more)
        expected = whole.search([1], missing="fill")
        assert_same(index.search([1], missing="fill"), expected)
    again = culmen.ShardedIndex.open(tmp_path / "s")
    assert_same(again.search([1], missing="fill"), expected)
    assert again.info.attributes == whole.info.attributes


@pytest.mark.parametrize("rule", ["median", "worst", 7])
@pytest.mark.parametrize("values", [[None], [None, None, None], [2.0, None]])
def test_stand_ins_of_columns_without_values(tmp_path, rule, values):
    table = pa.table(
        {
            "id": list(range(len(values))),
            "p": pa.array(values, pa.float64()),
            "q": [float(i) for i in range(len(values))],
        }
    )
    options = {"id": "id", "missing": {"p": rule}, "value_type": "float64"}
    whole = culmen.Index.build(table, ["p", "q"], **options)
    index = culmen.ShardedIndex.build(table, tmp_path / "s", ["p", "q"], shards=2, **options)
    assert_same(index.search([1, 0.5], missing="fill"), whole.search([1, 0.5], missing="fill"))
    assert [a.stand_in for a in index.info.attributes] == [a.stand_in for a in whole.info.attributes]


@pytest.mark.parametrize(
    ("make", "options", "says"),
    [
        (lambda: pa.Table.from_arrays([[1.0], [2.0]], ["a", "a"]), {}, "two columns are called 'a': rename one"),
        (lambda: pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]), {}, "two columns are called 'a': rename one"),
        (lambda: {"a": [1.0, 2.0], "n": [1, 2**64]}, {}, "row 2: column 'n': 18446744073709551616 is beyond 2.63"),
        (lambda: {"a": [1.0, 2.0], "n": [-(2**70), 2]}, {}, "row 1: column 'n': -11805916207174113.* is beyond 2.63"),
        (lambda: {"a": [1.0, 2.0], "n": [1, 2**63]}, {}, "row 2: column 'n': 9223372036854775808 is beyond 2.63 - 1"),
        (lambda: pd.DataFrame({"a": [1.0, 2.0], "n": [1, 2**64]}), {}, "row 2: column 'n': 18446744073709551616 is"),
        (lambda: {"a": [1.0, 2.0], "k": [1, 2**64]}, {"id": "k"}, "row 2: column 'k': 18446744073709551616 is beyond"),
    ],
)
def test_tables_that_pyarrow_does_not_take_are_named(make, options, says, tmp_path):
    with pytest.raises(culmen.InputError, match=says):
        culmen.ShardedIndex.build(make(), tmp_path / "s", ["a"], shards=2, **options)
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize("kind", [dict, pd.DataFrame])
def test_lists_of_large_ids(kind, tmp_path):
    table = kind({"k": [2**63 + 5, 3, 2**64 - 1], "a": [1.0, 2.0, 3.0]})
    index = culmen.ShardedIndex.build(table, tmp_path / "s", ["a"], shards=2, id="k", id_type="uint64")
    assert index.search([1.0], 3).ids.tolist() == [2**64 - 1, 3, 2**63 + 5]


def test_an_index_that_is_there_is_kept(tmp_path):
    index = culmen.ShardedIndex.build(table_of(20), tmp_path / "s", ATTRIBUTES, shards=2, id="id")
    with pytest.raises(culmen.InvalidArgument, match="overwrite"):
        culmen.ShardedIndex.build(table_of(30), tmp_path / "s", ATTRIBUTES, shards=2, id="id")
    assert len(culmen.ShardedIndex.open(tmp_path / "s")) == 20
    newer = culmen.ShardedIndex.build(table_of(30), tmp_path / "s", ATTRIBUTES, shards=3, id="id", overwrite=True)
    assert len(newer) == 30 and newer.num_shards == 3
    third = culmen.ShardedIndex.open(tmp_path / "s")
    one = culmen.Index.build(table_of(30), ATTRIBUTES, id="id")
    with pytest.raises(culmen.InvalidArgument, match="holds a sharded index, and `overwrite` is not set"):
        one.save(tmp_path / "s")
    one.save(tmp_path / "t")
    with pytest.raises(culmen.InvalidArgument, match="holds an index, and `overwrite` is not set"):
        culmen.ShardedIndex.build(table_of(20), tmp_path / "t", ATTRIBUTES, shards=2, id="id")
    assert len(culmen.Index.open(tmp_path / "t")) == 30
    culmen.ShardedIndex.build(table_of(20), tmp_path / "t", ATTRIBUTES, shards=2, id="id", overwrite=True)
    assert sorted(os.listdir(tmp_path / "t")) == ["LOCK", "SHARDS", "shard-1-0", "shard-1-1"]
    one.save(tmp_path / "t", overwrite=True)
    assert len(culmen.Index.open(tmp_path / "t")) == 30
    with pytest.raises(culmen.NoIndex):
        culmen.ShardedIndex.open(tmp_path / "t")
    assert sorted(os.listdir(tmp_path / "s")) == ["LOCK", "SHARDS", "shard-2-0", "shard-2-1", "shard-2-2"]
    assert len(index.search([1, 1, 1, 1], 100, missing="fill")) == 20
    assert index.refresh() == "replaced"
    assert len(index.search([1, 1, 1, 1], 100, missing="fill")) == 30
    assert index.num_shards == 3 and index.versions == newer.versions
    culmen.ShardedIndex.build(table_of(40), tmp_path / "s", ATTRIBUTES, shards=1, id="id", overwrite=True)
    assert third.refresh() == "replaced" and len(third) == 40
    shutil.rmtree(tmp_path / "s" / "shard-3-0")
    culmen.Index.build(table_of(40), ATTRIBUTES, id="id").save(tmp_path / "s" / "shard-3-0")
    with pytest.raises(culmen.FormatError, match="shard-3-0 holds another index"):
        culmen.ShardedIndex.open(tmp_path / "s")
    with pytest.raises(culmen.InputError, match="unique .rows of shard"):
        table = table_of(30)
        culmen.ShardedIndex.build(
            pa.concat_tables([table, table.slice(7, 1)]), tmp_path / "new", ATTRIBUTES, shards=3, id="id"
        )
    with pytest.raises(culmen.NoIndex):
        culmen.ShardedIndex.open(tmp_path / "new")


@pytest.mark.parametrize("engine", ["", "dask"])
def test_the_example_runs(engine):
    if engine:
        pytest.importorskip("distributed", reason="pip install 'culmen[dask]'")
    example = pathlib.Path(__file__).parents[1] / "examples" / "shards.py"
    if not example.exists():
        pytest.skip("the examples are not beside the tests")
    done = subprocess.run([sys.executable, example, engine], capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("the same answers\n")
    assert ("killed" in done.stdout) == bool(engine)


def test_writes_within_a_limit_of_memory(cluster, tmp_path):
    table = table_of(5_000, seed=38)
    whole = culmen.Index.build(table, ATTRIBUTES, id="id")
    cluster.build(table, tmp_path / "s", ATTRIBUTES, shards=3, id="id").close()
    others = table_of(5_000, seed=39).slice(0, 200)
    with cluster.open(tmp_path / "s", writable=True, max_memory=1) as index:
        for turn in range(3):
            for one in (index, whole):
                one.erase(range(turn, 3_000, 101))
                one.upsert(others)
                one.erase([7])
            weights = [1, 1, 1, 0]
            assert index.search(weights, 50).ids.tolist() == whole.search(weights, 50).ids.tolist()
            assert len(index) == len(whole)
            if turn == 1:
                index.checkpoint()
    with culmen.ShardedIndex.open(tmp_path / "s") as index:
        assert index.verify() == []
        assert index.search([1, 1, 1, 0], 50).ids.tolist() == whole.search([1, 1, 1, 0], 50).ids.tolist()


def test_answers_within_a_limit_of_memory(cluster, tmp_path):
    table = table_of(20_000, seed=37)
    whole = culmen.Index.build(table, ATTRIBUTES, id="id")
    cluster.build(table, tmp_path / "s", ATTRIBUTES, shards=3, id="id").close()
    with cluster.open(tmp_path / "s", max_memory=1) as index:
        for weights in ([1, 1, 1, 0], [0, -1, 2, 0], [3, 0, 0, 0]):
            expected = whole.search(weights, 20)
            assert index.search(weights, 20).ids.tolist() == expected.ids.tolist()
            batch = np.array([weights, [1, 0, 0, 0]])
            assert index.search(batch, 5).ids.tolist() == whole.search(batch, 5).ids.tolist()
        # What was read once is read again.
        os.truncate(next((tmp_path / "s" / "shard-1-0").glob("SNAP-*-leaves")), 200)
        with pytest.raises(culmen.Error, match="leaves"):
            index.search([1, 1, 1, 0], 20)
        with pytest.raises(culmen.InvalidArgument, match="whole index in memory"):
            index.verify()
    # A wide table, and its log beside it.
    rows = np.random.default_rng(5).normal(size=(300, 70))
    wide = {f"a{j}": rows[:, j] for j in range(70)} | {"id": np.arange(300)}
    cluster.build(wide, tmp_path / "w", [f"a{j}" for j in range(70)], shards=2, id="id").close()
    with cluster.open(tmp_path / "w", max_memory=10**9) as index:
        before = index.search(np.ones(70), 5).ids.tolist()
        with culmen.ShardedIndex.open(tmp_path / "w", writable=True) as writer:
            writer.insert({f"a{j}": [9.0] for j in range(70)} | {"id": [1000]})
            writer.erase([before[0]])
            for found in ("advanced", "unchanged"):  # a checkpoint makes no version
                assert index.refresh() == found
                assert index.search(np.ones(70), 5).ids.tolist() == [1000, *before[1:]]
                writer.checkpoint()
    with cluster.open(tmp_path / "w", max_memory=1, codes="memory") as index:
        weights = np.where(np.arange(70) % 2, 1.0, -1.0)
        expected = culmen.ShardedIndex.open(tmp_path / "w").search(weights, 5)
        assert index.search(weights, 5).ids.tolist() == expected.ids.tolist()
    for options in ({"max_memory": 1, "codes": "disk"}, {"codes": "memory"}, {"codes": "memory", "writable": True}):
        with pytest.raises(culmen.InvalidArgument, match="codes are"):
            cluster.open(tmp_path / "w", **options)
    with pytest.raises(culmen.InvalidArgument, match="max_memory"):
        cluster.open(tmp_path / "s", max_memory=0)
    with pytest.raises(TypeError, match="max_memory is an integer"):
        cluster.open(tmp_path / "s", max_memory=True)
