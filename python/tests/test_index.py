"""An index's life: directories, changes, readers, threads, Ctrl-C."""

import contextlib
import copy
import functools
import io
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import types

import numpy as np
import pytest

import culmen


def table(first, count):
    ids = np.arange(first, first + count)
    return {"id": ids, "a": ids * 1.0, "b": (ids * 7919 % 101).astype(np.float32)}


def test_saves_opens_and_changes(tmp_path):
    directory = tmp_path / "index"
    culmen.Index.build(table(0, 100), ["a", "b"], id="id").save(directory)
    with pytest.raises(culmen.InvalidArgument, match="`overwrite`"):
        culmen.Index.build(table(0, 5), ["a", "b"], id="id").save(directory)
    reader = culmen.Index.open(directory)
    with culmen.Index.open(directory, writable=True) as index:
        with pytest.raises(OSError, match="lock|process|writer"):
            culmen.Index.open(directory, writable=True)
        result = index.insert(table(100, 20), id="id")
        assert (result.inserted, result.replaced, result.version) == (20, 0, 2)
        assert index.upsert({"id": [5, 500], "b": [1, 2], "a": [10.0, 9999]}, id="id").replaced == 1
        assert index.erase([7, 8, 10**9]) == 2
        assert index.erase(9) == 1
        with index.batch() as batch:
            batch.insert({"a": [1.0], "b": [1.0]})
            batch.erase([0])
        assert batch.result.inserted == 1 and batch.result.erased == 1 and batch.result.first_id == 501
        index.flush()
        index.checkpoint()
    assert len(reader) == 100
    assert reader.refresh() == "advanced"
    assert reader.refresh() == "unchanged"
    assert len(reader) == 118 and 5 in reader and 7 not in reader
    assert reader.get(5)["a"] == 10.0 and reader.get(7) is None
    assert reader.search({"a": 1}, 1).ids.tolist() == [500]
    assert reader.verify() == []
    assert reader.info.num_rows == 118 and reader.info.uuid
    with pytest.raises(culmen.InvalidArgument):
        reader.erase([1])


def test_rows_stay_clustered(tmp_path):
    rows = {"id": range(900), "a": [float(i) for i in range(900)], "city": ["Oslo", "Prague", None] * 300}
    index = culmen.Index.build(rows, ["a"], id="id", cluster="city", leaf_rows=16, num_partitions=9)
    assert index.info.cluster == "city"
    index.save(tmp_path / "index")
    with culmen.Index.open(tmp_path / "index", writable=True) as index:
        index.upsert({"id": [0, 1000], "a": [5000, 6000], "city": ["Prague", "Rome"]})
        index.compact()
        assert index.info.cluster == "city" and index.verify() == []
        assert list(index.search({"a": 1}, 2, where="city = 'Prague'").ids) == [0, 898]
        assert list(index.search({"a": 1}, 2, where="city is null").ids) == [899, 896]
    (nodes,) = (tmp_path / "index").glob("SNAP-*-nodes")
    with nodes.open("r+b") as file:
        file.seek(200)
        file.write(b"?")
    report = culmen.Index.repair(tmp_path / "index", tmp_path / "mended")
    mended = culmen.Index.open(tmp_path / "mended")
    assert (report.rows_lost, mended.info.cluster, mended.verify()) == (0, "city", [])
    assert culmen.Index.build(rows, ["a"]).info.cluster is None
    assert culmen.Index.create(["a"], fields={"city": "text"}, cluster="city").info.cluster == "city"
    with pytest.raises(culmen.InvalidArgument, match='"town"'):
        culmen.Index.build(rows, ["a"], cluster="town")
    with pytest.raises(culmen.InvalidArgument, match="k-d"):
        culmen.Index.build(rows, ["a"], cluster="city", partitioning="random")


def test_a_batch_that_fails_changes_nothing():
    index = culmen.Index.build(table(0, 10), ["a", "b"], id="id")
    with pytest.raises(culmen.RowError, match="already in the index"):
        with index.batch() as batch:
            batch.erase([1, 2, 3])
            batch.insert(table(9, 3), id="id")
    assert len(index) == 10 and index.version == 1
    with pytest.raises(KeyError):
        with index.batch() as batch:
            batch.erase([1])
            raise KeyError("the caller's own")
    assert len(index) == 10


def test_a_snapshot_and_a_result_stay_as_they_were():
    index = culmen.Index.build(table(0, 1000), ["a", "b"], id="id", label=[f"row {i}" for i in range(1000)])
    before, result = index.snapshot(), index.search({"a": 1}, 3)
    many = index.search(np.array([[1.0, 0.0]]), 3)
    index.erase(range(990, 1000))
    index.compact()
    assert result.labels == ["row 999", "row 998", "row 997"]
    assert many.to_dict()["a"].tolist() == [999.0, 998.0, 997.0]
    assert before.search({"a": 1}, 1).ids.tolist() == [999]
    assert index.search({"a": 1}, 1).ids.tolist() == [989]


def test_many_threads_search_while_one_writes():
    index = culmen.Index.build(table(0, 20_000), ["a", "b"], id="id")
    errors, done = [], threading.Event()

    def search():
        try:
            while not done.is_set():
                result = index.search({"a": 1.0, "b": 0.25}, 10)
                assert result.scores.tolist() == [row["a"] + 0.25 * row["b"] for row in result]
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=search) for _ in range(4)]
    for thread in threads:
        thread.start()
    for i in range(50):
        index.insert(table(20_000 + 10 * i, 10), id="id")
        index.erase(range(10 * i, 10 * i + 10))
    done.set()
    for thread in threads:
        thread.join()
    assert errors == [] and len(index) == 20_000


def test_progress_is_reported_and_may_stop_a_build():
    seen = []
    culmen.Index.build(np.random.default_rng(0).random((200_000, 4)), progress=lambda *at: seen.append(at))
    assert seen and all(0 <= fraction <= 1 for _, fraction in seen)

    class Enough(Exception):
        pass

    def stop(phase, fraction):
        raise Enough

    with pytest.raises(Enough):
        culmen.Index.build(np.random.default_rng(0).random((200_000, 4)), progress=stop)


@pytest.mark.parametrize("fails", [False, True])
def test_a_bar_shows_progress_and_is_closed(fails, monkeypatch):
    class Bar:
        def __init__(self, total, bar_format):
            self.n, self.phases, self.is_closed = 0.0, [], False
            bars.append(self)

        def set_description_str(self, phase, refresh):
            self.phases.append(phase)

        def reset(self):
            self.n = 0.0

        def update(self, by):
            self.n += by

        def close(self):
            self.is_closed = True

    bars = []
    monkeypatch.setitem(sys.modules, "tqdm.auto", types.SimpleNamespace(tqdm=Bar))
    monkeypatch.setitem(sys.modules, "tqdm", types.SimpleNamespace(auto=sys.modules["tqdm.auto"]))
    matrix = np.random.default_rng(0).random((200_000, 4))
    matrix[-1, -1] = np.inf if fails else 0
    with pytest.raises(culmen.RowError) if fails else contextlib.nullcontext():
        culmen.Index.build(matrix, progress=True)
    assert bars[0].is_closed and (fails or (bars[0].phases and bars[0].n == pytest.approx(1)))


@pytest.mark.parametrize("broken", ["none", "closed", "full", "pipe"])
def test_a_bar_that_cannot_be_drawn_does_not_stop_the_build(monkeypatch, broken):
    pytest.importorskip("tqdm")
    monkeypatch.setenv("TQDM_MININTERVAL", "0")
    is_read, stream = os.pipe()
    os.close(is_read)  # Python ignores SIGPIPE
    if broken == "full":
        os.close(stream)
        stream = os.open("/dev/full", os.O_WRONLY)
    stderr = io.TextIOWrapper(io.FileIO(stream, "w"), write_through=True)
    if broken == "closed":
        stderr.close()
    monkeypatch.setattr(sys, "stderr", None if broken == "none" else stderr)
    assert len(culmen.Index.build(np.random.default_rng(0).random((50_000, 4)), progress=True)) == 50_000


@pytest.mark.parametrize("progress", [5, "x"])
def test_progress_is_true_or_a_function(progress):
    with pytest.raises(TypeError, match="progress is True or a function"):
        culmen.Index.build(np.ones((10, 2)), progress=progress)


def shown(capsys):
    """The phases in what a bar has written, and the percentages of each."""
    phases = {}
    for phase, percent in re.findall(r"\r(\w*): +(\d+)%\|", capsys.readouterr().err):
        phases.setdefault(phase, []).append(int(percent))
    phases.pop("", None)  # before the first report
    return phases


def test_progress_is_a_bar_of_each_phase(capsys):
    pytest.importorskip("tqdm")
    culmen.Index.build(np.random.default_rng(0).random((200_000, 4)), progress=True)
    phases = shown(capsys)
    assert {"partitioning", "sorting", "bounding"} < phases.keys() and phases["done"][-1] == 100
    assert all(percents[0] == 0 and percents == sorted(percents) for percents in phases.values())


def test_progress_can_be_switched_off_or_do_without_tqdm(capsys, monkeypatch):
    auto = pytest.importorskip("tqdm.auto")
    matrix = np.random.default_rng(0).random((2000, 4))
    with monkeypatch.context() as within:
        within.setattr(auto, "tqdm", functools.partial(auto.tqdm, disable=True))  # as TQDM_DISABLE=1 in the environment
        culmen.Index.build(matrix, progress=True)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)  # importing it is an ImportError
    assert len(culmen.Index.build(matrix, progress=True)) == 2000
    assert capsys.readouterr().err == ""


INTERRUPTED = """
import numpy as np, culmen, signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # which programs in the background begin without
matrix = np.random.default_rng(0).random(({rows}, 8))
index = culmen.Index.build(matrix[:100_000])
weights = np.random.default_rng(1).normal(size=(1_000_000, 8))
calls = {{
    "build": lambda: culmen.Index.build(matrix),
    "batch": lambda: index.search(weights, 10, engine="scan"),
    "without k": lambda: index.search(weights, min_score=1.0, engine="scan"),
}}
print("ready", flush=True)
try:
    calls[{call!r}]()
except KeyboardInterrupt:
    print("stopped", flush=True)
"""


@pytest.mark.parametrize(("call", "rows"), [("build", 4_000_000), ("batch", 100_000), ("without k", 100_000)])
def test_ctrl_c_stops_long_calls(call, rows):
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED.format(call=call, rows=rows)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.3)
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert out == "stopped\n" and process.returncode == 0
    assert time.monotonic() - start < 20


def test_a_batch_tells_how_far_it_is():
    index = culmen.Index.build(np.random.default_rng(0).random((100_000, 8)))
    weights = np.random.default_rng(1).normal(size=(2000, 8))
    told = []

    def report(phase, part):
        told.append((phase, part))

    answers = index.search(weights, 10, engine="scan", threads=1, progress=report)
    assert (answers.ids == index.search(weights, 10).ids).all()
    assert told[-1] == ("searching", 1.0)
    parts = [part for _, part in told]
    assert len(parts) > 1 and parts == sorted(parts) and all(phase == "searching" for phase, _ in told)
    told.clear()
    index.search(weights[:200], min_score=2.0, engine="scan", threads=1, progress=report)  # thousands of rows each
    assert [part for _, part in told] == sorted(part for _, part in told)


def test_what_progress_raises_ends_the_batch():
    index = culmen.Index.build(np.random.default_rng(0).random((100_000, 8)))
    weights = np.random.default_rng(1).normal(size=(200_000, 8))  # a minute of scans

    def fail(phase, part):
        raise error

    for error in (KeyError("mine"), TypeError("mine")):
        start = time.monotonic()
        with pytest.raises(type(error)) as raised:
            index.search(weights, 10, engine="scan", progress=fail)
        assert raised.value is error and time.monotonic() - start < 10
    with pytest.raises(culmen.InvalidArgument, match="of one query"):
        index.search(weights[0], progress=fail)
    with pytest.raises(TypeError, match="True or a function"):
        index.search(weights[:2], progress=7)


def test_errors_derive_from_what_people_expect(tmp_path):
    with pytest.raises(FileNotFoundError):
        culmen.Index.open(tmp_path / "nothing")
    with pytest.raises(ValueError):
        culmen.Index.build({"a": [1.0]}).search([1.0, 2.0])
    for derived, base in [
        (culmen.NoIndex, culmen.IoError),
        (culmen.IoError, OSError),
        (culmen.FormatError, culmen.Error),
        (culmen.RowError, culmen.InputError),
        (culmen.OutOfDeviceMemory, MemoryError),
        (culmen.CudaError, RuntimeError),
    ]:
        assert issubclass(derived, base)


def test_a_damaged_file_is_named(tmp_path):
    directory = tmp_path / "index"
    culmen.Index.build(table(0, 1000), ["a", "b"], id="id").save(directory)
    largest = max((path for path in directory.rglob("*") if path.is_file()), key=lambda path: path.stat().st_size)
    content = bytearray(largest.read_bytes())
    content[len(content) // 2] ^= 1
    largest.chmod(0o644)
    largest.write_bytes(content)
    with pytest.raises(culmen.FormatError, match=os.path.basename(largest)):
        culmen.Index.open(directory)
    report = culmen.Index.repair(directory, tmp_path / "saved")
    assert report.rows_kept + report.rows_lost == 1000
    assert len(culmen.Index.open(tmp_path / "saved")) == report.rows_kept


def test_reads_what_it_needs_when_it_is_touched(tmp_path):
    directory = tmp_path / "index"
    whole = culmen.Index.build(table(0, 20_000), ["a", "b"], id="id")
    whole.save(directory)
    index = culmen.Index.open(directory, loading="on_touch")
    untouched = culmen.Index.open(directory, loading="on_touch")
    weights = {"a": 1, "b": -2}
    assert index.search(weights, 5).ids.tolist() == whole.search(weights, 5).ids.tolist()
    leaves = next(directory.glob("SNAP-*-leaves"))
    os.truncate(leaves, 200)
    assert index.search(weights, 5).ids.tolist() == whole.search(weights, 5).ids.tolist()
    for call in (lambda: index.search(weights, 5, engine="scan"), lambda: untouched.search(weights, 5)):
        with pytest.raises(culmen.Error, match=leaves.name):
            call()
    with pytest.raises(culmen.InvalidArgument, match="on_touch"):
        culmen.Index.open(directory, loading="lazily")


def test_has_the_columns_of_what_replaced_it(tmp_path):
    directory = tmp_path / "index"

    def save(**fields):
        culmen.Index.build({"id": [5, 7], "x": [1.0, 2.0], **fields}, ["x"], id="id").save(directory, overwrite=True)

    kinds = ({}, {"city": ["p", "q"]}, {"city": [3, 4]}, {"n": [1, 2], "city": ["r", "s"]}, {})
    save(city=["a", "b"])
    reader = culmen.Index.open(directory)
    for fields in kinds:
        save(**fields)
        assert reader.refresh() == "replaced"
        rows = reader.to_pandas()
        assert set(rows.columns) == {"id", "x", *fields}
        for name, values in fields.items():
            assert sorted(rows[name].tolist()) == values
        assert reader.get(7)["x"] == 2.0


def test_answers_within_a_limit_of_memory(tmp_path):
    directory = tmp_path / "index"
    whole = culmen.Index.build(table(0, 20_000), ["a", "b"], id="id")
    whole.save(directory)
    index = culmen.Index.open(directory, max_memory=1)
    for weights in ({"a": 1, "b": -2}, {"a": -1}, {"b": 3}):
        for engine in ("auto", "scan"):
            assert index.search(weights, 30, engine=engine).ids.tolist() == whole.search(weights, 30).ids.tolist()
        batch = np.array([[1, -2], [0.5, 1]])
        assert index.search(batch, 5).ids.tolist() == whole.search(batch, 5).ids.tolist()
    # What was read once is read again.
    os.truncate(next(directory.glob("SNAP-*-leaves")), 200)
    with pytest.raises(culmen.Error, match="leaves"):
        index.search({"a": 1, "b": -2}, 30)
    with pytest.raises(culmen.InvalidArgument, match="limit of memory"):
        index.verify()
    for wrong in ({"loading": "whole"}, {"max_memory": 0}):
        with pytest.raises(culmen.InvalidArgument, match="memory"):
            culmen.Index.open(directory, **{"max_memory": 1, **wrong})


def test_reads_what_the_codes_of_all_rows_say(tmp_path):
    directory = tmp_path / "index"
    rng = np.random.default_rng(1)
    whole = culmen.Index.build(rng.random((40_000, 24)))
    whole.save(directory)
    index = culmen.Index.open(directory, max_memory=1, codes="memory")
    plain = culmen.Index.open(directory, max_memory=1)
    for _ in range(5):
        weights = rng.uniform(0.5, 1, 24) * rng.choice([-1, 1], 24)
        found, expected = index.search(weights, 10), whole.search(weights, 10)
        assert found.ids.tolist() == expected.ids.tolist()
        assert found.scores.tobytes() == expected.scores.tobytes()
        assert found.stats.rows_by_codes >= 40_000
        assert found.stats.leaves_visited < plain.search(weights, 10).stats.leaves_visited / 2
    assert 0 == whole.info.num_reads < plain.info.num_reads
    before = plain.info.num_reads
    visited = plain.search(weights, 10).stats.leaves_visited
    assert visited <= plain.info.num_reads - before <= 3 * visited  # and nodes
    with pytest.raises(culmen.InvalidArgument, match="for readers"):
        culmen.Index.open(directory, max_memory=1, codes="memory", writable=True)
    with pytest.raises(culmen.InvalidArgument, match="limit of memory"):
        culmen.Index.open(directory, codes="memory")
    with pytest.raises(culmen.InvalidArgument, match='"files", "memory" or on a GPU'):
        culmen.Index.open(directory, max_memory=1, codes="disk")
    if culmen.num_devices() == 0:
        with pytest.raises(culmen.CudaError):
            culmen.Index.open(directory, max_memory=1, codes="cuda:0")


def test_writes_within_a_limit_of_memory(tmp_path):
    directory = tmp_path / "index"
    whole = culmen.Index.build(table(0, 5_000), ["a", "b"], id="id")
    whole.save(directory)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    with culmen.Index.open(directory, writable=True, max_memory=1, temp_directory=temporary) as index:
        for change in range(6):
            for one in (index, whole):
                one.upsert(table(100 * change, 4_990 + 7 * change))
                one.erase(range(change, 4_000, 501))
                one.erase(where="a > 2")
            weights = {"a": 1, "b": -2}
            assert index.search(weights, 30).ids.tolist() == whole.search(weights, 30).ids.tolist()
            assert index.get(4_995) == whole.get(4_995)
            if change == 3:
                index.compact()
                whole.compact()
        with pytest.raises(culmen.InvalidArgument, match="limit of memory"):
            index.verify()
    assert culmen.Index.open(directory).verify() == []
    with pytest.raises(culmen.IoError, match="nowhere"):
        with culmen.Index.open(directory, writable=True, max_memory=1, temp_directory=tmp_path / "nowhere") as index:
            index.erase([9])
            index.checkpoint()
    assert 9 not in culmen.Index.open(directory)


def test_is_not_pickled_nor_made_by_hand():
    index = culmen.Index.build({"a": [1.0]})
    with pytest.raises(TypeError, match="save"):
        pickle.dumps(index)
    for weights in ([1.0], [[1.0]]):
        with pytest.raises(TypeError, match="to_pandas"):
            pickle.dumps(index.search(weights))
        assert copy.copy(index.search(weights)).ids.tolist() == index.search(weights).ids.tolist()
    for make in (culmen.Index, culmen.ShardedIndex, lambda: culmen.Index({"a": [1.0]}, id="a")):
        with pytest.raises(TypeError, match="Index.build"):
            make()


def test_a_masked_weight_names_its_query():
    index = culmen.Index.build(np.ones((9, 3), dtype=np.float32))
    weights = np.ma.masked_array(np.ones((4, 3)), mask=np.zeros((4, 3)))
    assert index.search(weights, 1).ids.tolist() == [[0]] * 4
    weights.mask[2, 1] = True
    with pytest.raises(culmen.InvalidArgument, match="query 2: a weight has no value"):
        index.search(weights, 1)


def test_representations_are_worth_reading():
    index = culmen.Index.build(table(0, 10), ["a", "b"], id="id")
    assert repr(index) == "<culmen.Index: 10 rows, a, b; float32, version 1>"
    assert repr(index.search({"a": 1}, 2)) == "<culmen.Result: 2 rows; 9: 9, 8: 8>"
    assert "5 answers" in repr(index.search(np.ones((5, 2)), 3))


def test_without_a_gpu_says_so():
    if culmen.num_devices() > 0:
        pytest.skip("there is a GPU")
    with pytest.raises(culmen.CudaError):
        culmen.Index.build({"a": [1.0]}, device="cuda:0")
    with pytest.raises(culmen.CudaError):
        culmen.Index.build({"a": [1.0]}, device=["cuda:0", "cuda:1"])
    with pytest.raises(culmen.CudaError):
        culmen.Index.build({"a": [1.0]}).to(["cuda:0", "cuda:1"])


def test_several_devices_that_build_are_gpus():
    for device in ([], ["cpu"], ["cuda:0", "cpu"], ["gpu"]):
        with pytest.raises(culmen.InvalidArgument, match="device"):
            culmen.Index.build({"a": [1.0]}, device=device)


def test_a_group_of_gpus_has_at_least_one_and_no_cpu():
    index = culmen.Index.build({"a": [1.0]})
    with pytest.raises(culmen.InvalidArgument, match="at least one"):
        index.to([])
    with pytest.raises(culmen.InvalidArgument, match="on the CPU"):
        index.to(["cuda:0", "cpu"])
    with pytest.raises(culmen.InvalidArgument, match="gpu"):
        index.to(("gpu",))


def test_rows_that_are_left_out_keep_the_numbers_of_the_others():
    table = {"a": [None, 1.0, 3.0, None, 2.0], "b": [1, 2, 3, 4, 5]}
    index = culmen.Index.build(table, nulls="drop")
    assert index.search([1, 0], 2).ids.tolist() == [2, 4] and index.rows_dropped == 2
    assert "3 rows (2 dropped)" in repr(index)
    assert culmen.rank(table, {"a": 1}, 1, nulls="drop").ids.tolist() == [2]
    assert index.insert(table, nulls="drop").first_id == 5
    assert index.ids().tolist() == [1, 2, 4, 6, 7, 9]
    assert index.insert({"a": [None, 1.0, None], "b": [1, 2, 3]}, nulls="drop").first_id == 10
    with index.batch() as batch:
        batch.insert({"a": [None], "b": [1]}, nulls="drop")
        batch.insert({"a": [1.0], "b": [1]}, nulls="drop")
    assert batch.result.first_id == 14 and index.ids()[-2:].tolist() == [11, 14]
    with pytest.raises(culmen.InputError, match="none is left"):
        culmen.Index.build({"a": [None, float("nan")]}, nulls="drop")


@pytest.mark.parametrize(
    "id_type, ids", [("int64", [3, 5, 9]), ("uint64", [3, 2**63 + 5, 9]), ("text", ["c", "e", "i"])]
)
def test_upserts_name_the_ids_whose_new_rows_were_left_out(tmp_path, id_type, ids):
    rows = {"id": np.array(ids[:2], "u8") if id_type == "uint64" else ids[:2], "a": [1.0, 2.0]}
    culmen.ShardedIndex.build(rows, tmp_path / "s", ["a"], shards=3, id="id", id_type=id_type)
    dropped = {"id": [ids[0], ids[1], ids[2], None, ids[0]], "a": [None, float("inf"), None, 1.0, None]}
    with culmen.ShardedIndex.open(tmp_path / "s", writable=True) as shards:
        for index in (culmen.Index.build(rows, ["a"], id="id", id_type=id_type), shards):
            result = index.upsert(dropped, nulls="drop")
            assert (result.inserted, result.replaced, result.rows_dropped) == (0, 0, 5)
            assert result.unchanged_ids == tuple(ids[:2])
            assert [row["a"] for row in index.get(ids[:2])] == [1, 2]
            with index.batch() as batch:
                batch.upsert(dropped, nulls="drop")
                batch.upsert({"id": [ids[1]], "a": [7.0]})
                batch.insert({"id": [ids[2]], "a": [None]}, nulls="drop")
            assert (batch.result.rows_dropped, batch.result.unchanged_ids) == (6, (ids[0],))
            plain = index.upsert({"id": ids, "a": [4.0, 5.0, 6.0]}, nulls="drop")
            assert (plain.rows_dropped, plain.unchanged_ids) == (0, ())
            if isinstance(index, culmen.Index):
                assert index.rows_dropped == 11


def test_errors_name_rows_by_their_numbers_before_others_were_left_out():
    table = {"id": [4, 5, 6, 7], "a": [None, 1.0, None, 1e300]}
    for id in (None, "id"):
        with pytest.raises(culmen.RowError, match="row 4: .*1e\\+300") as raised:
            culmen.Index.build(table, ["a"], id=id, nulls="drop", value_type="float32")
        assert raised.value.row == 3
        index = culmen.Index.build({"a": [1.0]})
        with pytest.raises(culmen.RowError, match="row 4: .*1e\\+300"):
            index.insert(table, id=id, nulls="drop")


def test_the_columns_of_ids_and_labels_are_remembered():
    table = {"key": [30, 31], "name": ["x", "y"], "a": [1.0, 2.0]}
    index = culmen.Index.build(table, ["a"], id="key", label="name")
    with pytest.raises(culmen.RowError, match="already in the index"):
        index.insert(table)
    assert index.upsert({"key": 31, "name": "z", "a": 9.0}).replaced == 1  # one row
    assert index.insert([{"key": 40, "name": "w", "a": 5.0}, {"key": 41, "name": "v", "a": 4.0}]).inserted == 2
    assert index.search([1.0], 3).labels == ["z", "w", "v"]
    with pytest.raises(culmen.InvalidArgument, match="needs the ids"):
        index.upsert({"a": [1.0]})


def test_a_batch_is_of_one_with_statement():
    index = culmen.Index.create(["a"])
    batch = index.batch()
    with pytest.raises(culmen.InvalidArgument, match="with statement"):
        batch.insert({"a": [1.0]})
    for expected in (2, 4):
        with batch:
            batch.insert({"a": [1.0, 2.0]})
        assert len(index) == expected and batch.result.inserted == 2
    with pytest.raises(culmen.InvalidArgument, match="with statement"):
        batch.erase([0])


def test_rows_expire_with_the_batch_that_brings_new_ones(tmp_path):
    """Beside a reader, and in a directory that is opened again."""
    rng, ids, minutes = np.random.default_rng(3), np.zeros(0, np.int64), np.zeros(0, np.int64)
    culmen.Index.create(["heat", "minute"], fields={"site": "text"}, leaf_rows=16).save(tmp_path / "i")
    with culmen.Index.open(tmp_path / "i", writable=True, durability="os") as index:
        for minute in range(40):
            count = int(rng.integers(1, 30))
            new = minute - rng.integers(0, 12, count)  # some have come too late
            rows = {"heat": rng.random(count), "minute": new, "site": ["north"] * count}
            done = index.insert(
                rows, expire=f"minute < {minute - 10}" if minute % 2 else culmen.col("minute") < minute - 10
            )
            assert done.inserted == count and done.version == minute + 2
            ids = np.concatenate([ids, np.arange(done.first_id, done.first_id + count)])
            minutes = np.concatenate([minutes, new])
            assert done.erased == int((minutes < minute - 10).sum())
            ids, minutes = ids[minutes >= minute - 10], minutes[minutes >= minute - 10]
            assert index.ids().tolist() == ids.tolist()
    assert culmen.Index.open(tmp_path / "i").ids().tolist() == ids.tolist()


@pytest.mark.parametrize("keep", ["first", "last"])
def test_one_of_several_rows_with_an_id_is_inserted(keep):
    rng, index = np.random.default_rng(4), culmen.Index.create(["a"], fields={"city": "text"})
    expected = {}
    for round in range(20):
        ids = 100 * round + rng.integers(0, 20, 30)
        rows = {"id": ids, "a": rng.random(30), "city": [f"city {n}" for n in rng.integers(0, 99, 30)]}
        with pytest.raises(culmen.RowError, match="appears twice"):
            index.insert(rows)
        given = list(zip(ids.tolist(), rows["a"].tolist(), rows["city"]))
        expected |= {id: (a, city) for id, a, city in (given[::-1] if keep == "first" else given)}
        if round % 2:
            assert index.insert(rows, duplicates=keep).inserted == len(set(ids.tolist()))
        else:  # of a batch, whichever of its inserts has them
            with index.batch(duplicates=keep) as batch:
                for part in (slice(0, 10), slice(10, 30)):
                    batch.insert({name: values[part] for name, values in rows.items()})
            assert batch.result.inserted == len(set(ids.tolist()))
    assert {id: (index.get(id)["a"], index.get(id)["city"]) for id in expected} == expected
    assert len(index) == len(expected)
    with pytest.raises(culmen.RowError, match="already in the index"):
        index.insert(rows, duplicates=keep)
    with pytest.raises(culmen.InvalidArgument, match="error, first, last"):
        index.insert(rows, duplicates="both")


def test_what_expires_is_said():
    index = culmen.Index.build({"a": [1.0, 2.0]})
    for empty in ("", " ", {}):
        with pytest.raises(culmen.InvalidArgument, match="expire is empty"):
            index.insert({"a": [3.0]}, expire=empty)
    with pytest.raises(culmen.InvalidArgument, match="nothing"):
        index.upsert({"id": [7], "a": [3.0]}, expire=culmen.col("nothing") > 1)
    with pytest.raises(culmen.RowError, match="row 2: "):
        index.insert({"a": [3.0, np.inf]}, expire="a < 2")
    assert index.version == 1 and len(index) == 2
    assert index.upsert({"id": [1, 7], "a": [0.5, 3.0]}, expire={"a": (None, 1)}).erased == 2
    assert index.ids().tolist() == [7]


@pytest.mark.parametrize("empty", ["", " \r\n\t", {}])
def test_an_empty_filter_erases_nothing(empty):
    index = culmen.Index.build({"a": [1.0, 2.0]})
    with pytest.raises(culmen.InvalidArgument, match="where is empty, which would erase every row"):
        index.erase(where=empty)
    with pytest.raises(culmen.InvalidArgument, match="where is empty"), index.batch() as batch:
        batch.erase(where=empty)
    assert index.version == 1 and len(index) == 2
    assert index.erase(where="id is not null") == 2


def test_a_batch_erases_by_filters_in_the_order_of_its_steps():
    index = culmen.Index.build({"a": [1.0, 2.0, 3.0]})
    with index.batch() as batch:
        batch.erase(where="a >= 3")
        batch.insert({"a": [3.0, 4.0]})
        batch.erase(where=culmen.col("a") > 3)
        batch.upsert({"id": [0], "a": [9.0]})
    assert batch.result.erased == 2 and index.ids().tolist() == [0, 1, 3]
    with pytest.raises(culmen.InvalidArgument, match="say which rows"), index.batch() as batch:
        batch.erase()


def test_filters_are_pickled():
    where = (culmen.col("a") <= 2) & ~culmen.col("city").isin(["Brno", "Prague"]) | culmen.ids([3, 1])
    again = pickle.loads(pickle.dumps(where))
    assert str(again) == str(where)
    index = culmen.Index.build({"a": [1.0, 2.0, 3.0, 4.0], "city": ["Brno", "Roma", "Roma", "Brno"]}, ["a"])
    assert index.search([1.0], where=again).ids.tolist() == index.search([1.0], where=where).ids.tolist() == [3, 1]
    with pytest.raises(culmen.FormatError):
        culmen.Filter.__new__(culmen.Filter).__setstate__(b"CLMF")


def test_a_batch_keeps_what_it_was_given():
    index, buffer, ids = culmen.Index.create(["a"]), np.empty(2), np.array([0])
    with index.batch() as batch:
        for i in range(3):
            buffer[:] = 10 * i
            batch.insert({"a": buffer})
    assert index.search([1.0]).scores.tolist() == [20, 20, 10, 10, 0, 0]
    with index.batch() as batch:
        for i in range(3):
            ids[0] = i
            batch.erase(ids)
    assert len(index) == 3


def test_ids_one_by_one():
    index = culmen.Index.build(table(0, 10), ["a", "b"], id="id")
    result = index.search({"a": 1}, 1)
    assert result.ids[0] in index and 2**70 not in index and "x" not in index and 5.0 not in index
    assert index.get(result.ids[0]).id == 9
    assert index.erase(result.ids[0]) == 1
    for wrong in (5.5, "5", None):
        with pytest.raises(TypeError, match=f"the ids of this index are integers, which {wrong!r} is not"):
            index.get(wrong)
    with pytest.raises(TypeError, match="the ids of this index are integers, which 1.5 is not"):
        index.erase(1.5)
    for several in ([1, 2], np.arange(3), {5}):
        with pytest.raises(TypeError, match="one id is expected here, not several"):
            index.rank_of({"a": 1}, several)
    with pytest.raises(culmen.InvalidArgument, match="no value"):
        index.erase(np.ma.array([0, 1], mask=[0, 1]))


@pytest.mark.parametrize("shards", [0, 2])
@pytest.mark.parametrize(
    ("id_type", "ids", "wrong", "error", "says"),
    [
        ("int64", [5, 7], 2**63, culmen.InvalidArgument, "no row has the id 9223372036854775808: .* int64, -2\\^63 to"),
        ("int64", [5, 7], -(2**70), culmen.InvalidArgument, "no row has the id -11805"),
        ("uint64", [5, 7], -1, culmen.InvalidArgument, "no row has the id -1: .* uint64, 0 to 2\\^64 - 1"),
        ("uint64", [5, 7], 2**64, culmen.InvalidArgument, "no row has the id 18446744073709551616"),
        ("int64", [5, 7], "5", TypeError, "the ids of this index are integers, which '5' is not"),
        ("uint64", [5, 7], b"5", TypeError, "the ids of this index are integers, which b'5' is not"),
        ("int64", [5, 7], 5.5, TypeError, "the ids of this index are integers, which 5.5 is not"),
        ("text", ["5", "7"], 5, TypeError, "the ids of this index are texts, which 5 is not"),
        ("text", ["5", "7"], b"5", TypeError, "the ids of this index are texts, which b'5' is not"),
        ("text", ["5", "7"], "x" * 32_768, culmen.InvalidArgument, "the id has 32768 bytes, and at most 32767"),
        ("text", ["5", "7"], "5\0", culmen.InvalidArgument, "the id has a NUL character"),
        ("text", ["5", "7"], "\ud800", culmen.InvalidArgument, "half of a character"),
    ],
)
def test_an_id_that_no_row_can_have_is_an_error_of_all_lookups(shards, id_type, ids, wrong, error, says, tmp_path):
    rows = {"id": ids, "a": [1.0, 2.0]}
    if shards:
        culmen.ShardedIndex.build(rows, tmp_path / "i", shards=2, id="id", id_type=id_type)
        index = culmen.ShardedIndex.open(tmp_path / "i", writable=True)
    else:
        index = culmen.Index.build(rows, id="id", id_type=id_type)
    series = pytest.importorskip("pandas").Series([ids[0], wrong], dtype=object)
    calls = [
        lambda: index.get(wrong),
        lambda: index.get([ids[0], wrong]),
        lambda: index.get([ids[0], wrong], allow_missing=True),
        lambda: index.get(iter([wrong]), allow_missing=True),
        lambda: index.get(series),
        lambda: index.erase(wrong),
        lambda: index.erase([ids[0], wrong]),
        lambda: index.erase(series),
    ]
    if not shards:
        calls += [lambda: index.rank_of({"a": 1}, wrong), lambda: index.why({"a": 1}, wrong)]
    for call in calls:
        with pytest.raises(error, match=says):
            call()
    with pytest.raises(error, match=says), index.batch() as batch:
        batch.erase([ids[0], wrong])
    assert wrong not in index and len(index) == 2


@pytest.mark.parametrize("kind", ["int64", "uint64", "text"])
@pytest.mark.parametrize("shards", [0, 3])
def test_several_ids_get_their_rows_in_order(kind, shards, tmp_path):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    ids = {"int64": [7, -3, 9, 12], "uint64": [7, 3, 2**64 - 1, 12], "text": ["a", "b", "c,d", ""]}[kind]
    rows = {"id": ids, "a": [1.0, 2.0, 3.0, 4.0], "city": ["Rome", None, "Brno", "Rome"]}
    if shards:
        rows["id"] = np.array(ids, dtype=np.uint64) if kind == "uint64" else ids
        index = culmen.ShardedIndex.build(rows, tmp_path / "index", ["a"], shards=shards, id="id", id_type=kind)
    else:
        index = culmen.Index.build(rows, ["a"], id="id")
    asked = [ids[2], ids[0], ids[2], ids[1]]
    array = np.array(asked, dtype=np.uint64 if kind == "uint64" else None)
    for given in (asked, tuple(asked), array, pandas.Series(array), iter(asked), polars.Series(array)):
        found = index.get(given)
        assert [row.id for row in found] == asked and [row["a"] for row in found] == [3.0, 1.0, 3.0, 2.0]
        assert [row["city"] for row in found] == ["Brno", "Rome", "Brno", None]
        assert type(found[0].id) is type(ids[0])
    assert index.get([]) == [] and index.get(np.array([], dtype=np.int64)) == []
    assert index.get(ids[0]).id == ids[0]
    absent = [f"x{i}" for i in range(12)] if kind == "text" else list(range(100, 112))
    rows = index.get([absent[0], ids[1], absent[1]], allow_missing=True)
    assert rows[0] is None and rows[1].id == ids[1] and rows[2] is None
    assert index.get(absent, allow_missing=True) == [None] * 12
    with pytest.raises(culmen.InvalidArgument, match=f"2 of 3 ids are not in the index: {absent[0]!r}, {absent[1]!r};"):
        index.get([absent[0], ids[1], absent[1]])
    with pytest.raises(culmen.InvalidArgument, match=f"12 of 12 ids are not.*, {absent[9]!r} and 2 more;"):
        index.get(absent)


@pytest.mark.parametrize("value_type", ["float32", "float64"])
def test_all_rows_come_out_as_they_went_in(value_type, monkeypatch):
    for library in ("pandas", "pyarrow", "polars"):
        pytest.importorskip(library)
    monkeypatch.setattr("culmen._rows._PART_ROWS", 300)
    rng = np.random.default_rng(5)
    ids = rng.permutation(5000)[:1000]
    rows = {"id": ids, "low": rng.normal(size=1000) * 1e30, "label": rng.integers(-9, 9, 1000) / 4}
    if value_type == "float32":
        rows["low"] = rows["low"].astype(np.float32)
    texts = [f"row {i}" if i % 3 else None for i in range(1000)]
    index = culmen.Index.build(rows, ["low:low", "label"], id="id", label=texts)
    assert index.info.value_type == value_type
    index.erase(ids[:100])
    index.upsert({"id": [ids[500]], "low": [0.0], "label": [1.0]}, id="id", label=["new"])
    order = np.argsort(ids[100:]) + 100
    rows["low"][500], rows["label"][500], texts[500] = 0, 1, "new"
    expected = {
        "id": ids[order].tolist(),
        "label": [texts[i] or "" for i in order],
        "low": rows["low"][order].tolist(),
        "attribute.label": rows["label"][order].tolist(),
    }
    before = index.snapshot()
    index.erase(ids)
    assert before.ids().tolist() == expected["id"]
    assert {name: list(column) for name, column in before.to_dict().items()} == expected
    assert before.to_arrow().to_pydict() == expected
    assert before.to_pandas().to_dict("list") == expected
    assert before.to_polars().to_dict(as_series=False) == expected
    assert [batch.num_rows for batch in before.to_batches()] == [300, 300, 300]
    again = culmen.Index.build(before.to_arrow(), ["low:low", "attribute.label"], id="id", label="label")
    assert again.search([1, 2], 900).scores.tolist() == before.search([1, 2], 900).scores.tolist()


def test_an_index_without_rows_has_columns():
    index = culmen.Index.create(["a", "b"], has_labels=True)
    assert index.ids().tolist() == [] and index.ids().dtype == np.int64
    assert {name: list(column) for name, column in index.to_dict().items()} == {"id": [], "label": [], "a": [], "b": []}
    assert "label" not in culmen.Index.create(["a", "b"]).to_dict()
    pyarrow = pytest.importorskip("pyarrow")
    types = [pyarrow.int64(), pyarrow.string(), pyarrow.float64(), pyarrow.float64()]
    assert index.to_arrow().schema.types == types and index.to_arrow().num_rows == 0


def test_extreme_values_are_among_all_rows():
    largest = np.finfo(np.float64).max
    index = culmen.Index.build({"a": [largest, -largest, 5e-324, -0.0], "b": [largest, largest, 1, 2]})
    assert index.to_dict()["a"].tolist() == [largest, -largest, 5e-324, 0.0]


def test_paths_are_taken_as_they_are(tmp_path):
    index = culmen.Index.build({"a": [1.0]})
    for call in (lambda path: index.save(path, overwrite=True), culmen.Index.open):
        with pytest.raises(ValueError, match="null"):
            call(f"{tmp_path}/x\0y")
    assert list(tmp_path.iterdir()) == []


DAEMON = """
import threading, time, numpy as np, culmen
table = np.random.rand(300_000, 4)
index = culmen.Index.build(table)
def work():
    while True:
        {call}
threading.Thread(target=work, daemon=True).start()
time.sleep(0.3)
"""


@pytest.mark.parametrize("call", ["index.search(np.ones(4), engine='scan')", "culmen.Index.build(table)"])
def test_a_daemon_thread_does_not_abort_the_end(call):
    ended = subprocess.run([sys.executable, "-c", DAEMON.format(call=call)], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_an_index_knows_its_columns(tmp_path):
    cars = {"key": [1, 2], "name": ["a", "b"], "price": [5.0, None], "brand": ["Sony", "LG"]}
    more = {"key": [3], "name": ["c"], "price": [7.0], "brand": [None]}
    culmen.Index.build(cars, id="key", label="name").save(tmp_path / "cars.index")
    with culmen.Index.open(tmp_path / "cars.index", writable=True) as index:
        index.insert(more)
        with pytest.raises(culmen.InvalidArgument, match="upsert needs the ids"):
            index.upsert(more, id=False)
        assert index.upsert({"key": 2, "name": "B", "price": 8, "brand": "LG"}).replaced == 1
        index.insert({"price": [8.0]})
        index.insert(more, id=np.array([10]), label=False)
        index.insert(more, id=False, label=False)
        rows = [(row.id, row.label, row["brand"]) for row in map(index.get, (1, 2, 3, 4, 10, 11))]
        assert rows == [(1, "a", "Sony"), (2, "B", "LG"), (3, "c", None), (4, "", None), (10, "", None), (11, "", None)]


def test_columns_that_the_index_lacks_are_ignored_unless_one_may_be_misspelt():
    index = culmen.Index.build({"id": [1, 2], "price": [5.0, 6.0], "brand": ["x", "y"]}, id="id")
    index.insert({"id": [3], "price": [7.0], "brand": ["z"], "colour": ["red"]})
    assert index.get(3)["brand"] == "z"
    with pytest.raises(culmen.InvalidArgument, match="no column 'brand', but 'barnd'"):
        index.insert({"id": [4], "price": [7.0], "barnd": ["z"]})
    with pytest.raises(culmen.InvalidArgument, match="no column 'price'"):
        index.insert({"id": [4], "brand": ["z"]})
    with pytest.raises(culmen.InvalidArgument, match="no column 'price'.*update changes some columns"):
        index.upsert({"id": [2], "brand": ["z"]})


@pytest.mark.parametrize("name", [b"caf\xe9 \xff", "größe".encode()])
def test_paths_are_whatever_the_system_calls_a_directory(tmp_path, name):
    class Named:
        def __fspath__(self):
            return os.path.join(os.fsencode(tmp_path), name)

    path = os.path.join(os.fsencode(tmp_path), name)
    for spelled in (path, os.fsdecode(path), tmp_path / os.fsdecode(name), Named()):
        with pytest.raises(culmen.NoIndex) as raised:
            culmen.Index.open(spelled)
        assert os.fsdecode(name) in str(raised.value)
        culmen.Index.build({"a": [1.0, 2.0]}).save(spelled)
        with pytest.raises(culmen.InvalidArgument) as raised:
            culmen.Index.build({"a": [1.0]}).save(spelled)
        assert os.fsdecode(name) in str(raised.value)
        with culmen.Index.open(spelled, writable=True) as index:
            index.insert({"a": [3.0]})
        [log] = [file for file in os.listdir(path) if file.startswith(b"WAL")]
        with open(os.path.join(path, log), "ab") as file:
            file.write(b"x" * 512)
        assert name.decode(errors="surrogateescape") in culmen.Index.open(spelled).recovery.dropped_from
        assert culmen.Index.repair(spelled, path + b" repaired").rows_kept == 3
        assert len(culmen.Index.open(path + b" repaired")) == 3
        for directory in (path, path + b" repaired"):
            shutil.rmtree(directory)
    with pytest.raises(ValueError, match="null character"):
        culmen.Index.open(path + b"\0")
    with pytest.raises(TypeError):
        culmen.Index.open(5)
