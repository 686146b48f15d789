"""What shards cost, and what more processes gain, beside one index of all rows.

    build/python-venv/bin/python bench/scale_out.py [--rows-per-shard 16000000] [--shards 4] [--questions 200] [--k 16]
        [--batches 1000,10000] [--repeats 7] [--engines dask,ray] [--folder DIRECTORY]

The table has 8 independent float32 attributes and an id, in one Parquet file a shard. Measures
  * a build from these files, beside the builds of the same number of rows of each file, one after the other;
  * shards in the threads of this process, beside one index of all rows;
  * on Dask and Ray, a question beside empty calls of the engine's own to the same workers, one a shard;
  * on Dask, batches: one worker of one thread a shard, beside one such worker that has all shards, and beside one index
    of all rows on as many threads.

What is compared is asked in turns. Each line has the median, and the quartiles. The first answers are compared with
those of one index, ids and score bits. Needs numpy and pyarrow; skips engines that are not installed.
"""

import argparse
import contextlib
import importlib.util
import os
import pathlib
import shutil
import sys
import tempfile
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import culmen

NAMES = [f"a{i}" for i in range(8)]
WARM_UP = 20


# ---- measuring


def in_turns(asked, repeats):
    """Seconds of each function by its name, called in turns."""
    times = {name: [] for name in asked}
    for _ in range(repeats):
        for name, function in asked.items():
            start = time.perf_counter()
            function()
            times[name].append(time.perf_counter() - start)
    return {name: np.array(seconds) for name, seconds in times.items()}


def line(name, seconds, scale=1e3, unit="ms", note=""):
    low, median, high = np.quantile(seconds, [0.25, 0.5, 0.75]) * scale
    print(f"  {name:52} {median:11.3f} {unit}  ({low:.3f} to {high:.3f}){note}", flush=True)


def ratio(name, of, over):
    print(f"  {name:52} {np.median(of) / np.median(over):11.2f}", flush=True)


def title(text):
    print(f"\n{text}", flush=True)


# ---- the table and its indexes


def write_files(folder, settings):
    files = []
    rows = settings.rows_per_shard
    for number in range(settings.shards):
        rng = np.random.default_rng(number)
        columns = {name: rng.random(rows, np.float32) for name in NAMES}
        columns["id"] = np.arange(number * rows, (number + 1) * rows)
        files.append(str(folder / f"part-{number:02}.parquet"))
        pq.write_table(pa.table(columns), files[-1], compression="none")
    return files


def time_builds(files, folder, settings):
    title("build from Parquet, and save")
    start = time.perf_counter()
    culmen.ShardedIndex.build(files, folder / "shards", NAMES, shards=settings.shards, id="id", overwrite=True).close()
    of_shards = time.perf_counter() - start
    alone = 0.0
    for file in files:
        start = time.perf_counter()
        culmen.Index.from_files(file, NAMES, id="id").save(folder / "alone", overwrite=True)
        alone += time.perf_counter() - start
    shutil.rmtree(folder / "alone")
    line(f"{len(files)} shards", [of_shards], 1, "s")
    line("an index of each file, one after the other", [alone], 1, "s")
    ratio("their sum / the shards", [alone], [of_shards])


def assert_same(answer, expected):
    assert answer.ids.tolist() == expected.ids.tolist()
    assert answer.scores.tobytes() == expected.scores.tobytes()


class Questions:
    """Single ones, asked one after the other, and matrices."""

    def __init__(self, settings):
        rng = np.random.default_rng(99)
        self.k = settings.k
        self.batches = settings.batches
        self.many = rng.random((max(settings.batches), len(NAMES)))
        self._next = 0

    def one(self, index, **options):
        def ask():
            self._next = (self._next + 1) % len(self.many)
            index.search(self.many[self._next], self.k, **options)

        return ask

    def matrix(self, index, size, **options):
        return lambda: index.search(self.many[:size], self.k, **options)

    def check(self, index, whole):
        assert_same(index.search(self.many[0], self.k), whole.search(self.many[0], self.k))
        assert_same(index.search(self.many[:200], self.k), whole.search(self.many[:200], self.k))
        for _ in range(WARM_UP):
            self.one(index)()


# ---- engines


def time_threads(folder, whole, questions, settings):
    title(f"{settings.shards} shards in the threads of this process, beside one index of all rows")
    index = culmen.ShardedIndex.open(folder / "shards")
    questions.check(index, whole)
    times = in_turns({"shards": questions.one(index), "one index": questions.one(whole)}, settings.questions)
    line("one question, shards", times["shards"], 1e6, "us")
    line("one question, one index", times["one index"], 1e6, "us")
    ratio("shards / one index", times["shards"], times["one index"])
    for size in questions.batches:
        asked = {"shards": questions.matrix(index, size), "one index": questions.matrix(whole, size)}
        times = in_turns(asked, settings.repeats)
        line(f"{size} questions, shards, all cores", times["shards"])
        line(f"{size} questions, one index, all cores", times["one index"])
        ratio("shards / one index", times["shards"], times["one index"])
    index.close()


def time_one(index, empty, whole, questions, settings):
    """One question beside the engine's empty calls."""
    questions.check(index, whole)
    for _ in range(WARM_UP):
        empty()
    times = in_turns({"question": questions.one(index), "empty": empty}, settings.questions)
    line("one question", times["question"])
    line(f"{settings.shards} empty calls, at once", times["empty"])
    ratio("question / empty calls", times["question"], times["empty"])


def nothing(number):
    return number


@contextlib.contextmanager
def dask_cluster(num_workers):
    import dask
    import distributed

    with (
        dask.config.set({"distributed.scheduler.work-stealing": False}),
        distributed.LocalCluster(
            n_workers=num_workers, threads_per_worker=1, memory_limit=None, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def time_dask(folder, whole, questions, settings):
    from culmen.dask import ShardedIndex

    with dask_cluster(settings.shards) as many, dask_cluster(1) as one:
        index = ShardedIndex.open(folder / "shards", client=many)
        workers = sorted(many.scheduler_info(n_workers=-1)["workers"])

        def empty():
            calls = [many.submit(nothing, n, workers=[worker], pure=False) for n, worker in enumerate(workers)]
            many.gather(calls)

        title(f"Dask, {settings.shards} workers of one thread")
        time_one(index, empty, whole, questions, settings)
        alone = ShardedIndex.open(folder / "shards", client=one)
        questions.check(alone, whole)
        for size in questions.batches:
            time_batches(index, alone, whole, size, questions, settings)


def time_batches(index, alone, whole, size, questions, settings):
    """Beside one worker, which has all shards, and one index."""
    asked = {
        "many": questions.matrix(index, size),
        "one": questions.matrix(alone, size),
        "whole": questions.matrix(whole, size, threads=settings.shards),
    }
    in_turns(asked, 3)
    times = in_turns(asked, settings.repeats)
    line(f"{size} questions, {settings.shards} workers", times["many"])
    line(f"{size} questions, one worker with all shards", times["one"])
    line(f"{size} questions, one index, {settings.shards} threads", times["whole"])
    ratio("one worker / all workers", times["one"], times["many"])
    ratio(f"one index on {settings.shards} threads / all workers", times["whole"], times["many"])


def time_ray(folder, whole, questions, settings):
    import ray

    from culmen.ray import ShardedIndex

    ray.init(
        num_cpus=settings.shards + 1,
        object_store_memory=200 << 20,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="ERROR",
    )

    @ray.remote(num_cpus=0)
    class Empty:
        def call(self):
            return 0

    try:
        actors = [Empty.remote() for _ in range(settings.shards)]
        index = ShardedIndex.open(folder / "shards")
        title(f"Ray, {settings.shards} actors")
        time_one(index, lambda: ray.get([a.call.remote() for a in actors]), whole, questions, settings)
        for size in questions.batches:
            times = in_turns({"many": questions.matrix(index, size)}, settings.repeats)
            line(f"{size} questions", times["many"])
        index.shut_down()
    finally:
        ray.shutdown()


ENGINES = {"dask": ("distributed", time_dask), "ray": ("ray", time_ray)}


def numbers(text):
    return [int(number) for number in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows-per-shard", type=int, default=16_000_000)
    parser.add_argument("--shards", type=int, default=4)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--k", type=int, default=16)
    parser.add_argument(
        "--batches", type=lambda sizes: [int(size) for size in sizes.split(",")], default=[1000, 10_000]
    )
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--engines", default="dask,ray")
    parser.add_argument("--folder", type=pathlib.Path, help="that is kept, with its files, for the next run")
    settings = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = settings.folder or pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        run(folder, settings)


def run(folder, settings):
    print(
        f"{settings.shards} x {settings.rows_per_shard} rows x {len(NAMES)} float32, independent; k = {settings.k}; "
        f"{os.cpu_count()} cores; Python {sys.version.split()[0]}"
    )
    files = write_files(folder, settings)
    time_builds(files, folder, settings)
    whole = culmen.Index.from_files(files, NAMES, id="id")
    questions = Questions(settings)
    time_threads(folder, whole, questions, settings)
    for name in settings.engines.split(","):
        module, measure = ENGINES[name]
        if importlib.util.find_spec(module) is None:
            title(f"{module} is not installed")
            continue
        measure(folder, whole, questions, settings)


if __name__ == "__main__":
    main()
