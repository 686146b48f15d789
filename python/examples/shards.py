"""Ten Parquet files, four shards, two processes: a worker is killed, and the answers are the same.

python shards.py dask      (pip install "culmen[dask]")
python shards.py ray       (pip install "culmen[ray]")
python shards.py           in this process
"""

import os
import signal
import sys
import tempfile

import numpy as np
import pyarrow
import pyarrow.parquet

import culmen


def write_files(folder: str, rows_of_file: int = 10_000) -> str:
    """Hotels, in ten files."""
    rng = np.random.default_rng(1)
    for number in range(10):
        rating = np.round(rng.normal(7.5, 1, rows_of_file).clip(1, 10), 1)
        table = {
            "id": np.arange(number * rows_of_file, (number + 1) * rows_of_file),
            "price": np.round(rng.lognormal(4.5, 0.5, rows_of_file) * rating / 7, 2),
            "rating": np.where(rng.random(rows_of_file) < 0.1, np.nan, rating),  # not rated yet
            "distance": np.round(rng.exponential(2, rows_of_file), 1),
            "city": rng.choice(["Prague", "Brno", "Ostrava"], rows_of_file),
        }
        pyarrow.parquet.write_table(pyarrow.table(table), os.path.join(folder, f"hotels-{number}.parquet"))
    return os.path.join(folder, "hotels-*.parquet")


def answers(index: culmen.ShardedIndex) -> list[tuple[list[int], bytes]]:
    """To 20 questions: ids, and the bits of the scores."""
    found = []
    for query in range(20):
        weights = {"price": -0.1, "rating": query - 5, "distance": -1}
        result = index.search(weights, k=10, where="city = 'Prague'", scale="minmax")
        found.append((result.ids.tolist(), result.scores.tobytes()))
    return found


def try_it(ShardedIndex: type[culmen.ShardedIndex], folder: str) -> None:
    files, directory = write_files(folder), os.path.join(folder, "hotels.shards")
    index = ShardedIndex.build(files, directory, ["price:low", "rating", "distance:low"], shards=4, id="id")
    print(index)
    expected = answers(index)
    print(index.search({"price": -0.1, "rating": 2}, k=3).to_pandas())
    if index.process_of(0) != os.getpid():
        os.kill(index.process_of(0), signal.SIGKILL)
        print("killed the worker of shard 0")
    assert answers(index) == expected
    whole = culmen.Index.from_files(files, ["price:low", "rating", "distance:low"], id="id")
    assert answers(whole) == expected
    print("the same answers")


def main(engine: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        if engine == "dask":
            from distributed import Client, LocalCluster

            from culmen.dask import ShardedIndex

            with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
                try_it(ShardedIndex, folder)
        elif engine == "ray":
            import ray

            from culmen.ray import ShardedIndex

            ray.init(num_cpus=2, object_store_memory=100 << 20, include_dashboard=False)
            try_it(ShardedIndex, folder)
            ShardedIndex.open(os.path.join(folder, "hotels.shards")).shut_down()
            ray.shutdown()
        else:
            try_it(culmen.ShardedIndex, folder)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
