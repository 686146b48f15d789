"""culmen beside what people would use from Python: one machine, one process, the same questions, one at a time.

    build/python-venv/bin/python bench/python_peers.py [--rows 16000000] [--questions 20] [--k 16]

Every answer is compared first: the same ids, but where scores of float32 sums cannot tell rows apart. Those that are not
installed are left out. Needs numpy; faiss-cpu, duckdb, polars, torch and culmen as there are.
"""

import argparse
import importlib.util
import os
import time

import numpy as np

DIMS = 8


def peers(matrix, k):
    """Name, and a function from weights to the ids of the k best, for each that is installed."""

    def by_numpy(weights):
        scores = matrix @ weights
        best = np.argpartition(scores, -k)[-k:]
        return best[np.argsort(-scores[best], kind="stable")]

    yield "NumPy", by_numpy
    if has("faiss"):
        import faiss

        flat = faiss.IndexFlatIP(DIMS)
        flat.add(matrix)
        yield "FAISS IndexFlatIP", lambda weights: flat.search(weights[None, :], k)[1][0]
    columns = {f"a{i}": np.ascontiguousarray(matrix[:, i]) for i in range(DIMS)}
    if has("duckdb") and has("pyarrow"):
        import duckdb
        import pyarrow

        connection = duckdb.connect()
        table = pyarrow.table({"id": np.arange(len(matrix)), **columns})  # noqa: F841
        connection.execute("create table t as select * from table")

        def by_duckdb(weights):
            score = " + ".join(f"{float(w)!r} * a{i}" for i, w in enumerate(weights))
            found = connection.execute(f"select id from t order by {score} desc, id limit {k}").fetchnumpy()
            return found["id"]

        yield "DuckDB", by_duckdb
    if has("polars"):
        import polars

        frame = polars.DataFrame(columns).with_row_index("id")

        def by_polars(weights):
            score = sum(polars.col(f"a{i}") * float(w) for i, w in enumerate(weights))
            return frame.lazy().select("id", score.alias("s")).top_k(k, by="s").collect()["id"].to_numpy()

        yield "Polars", by_polars
    if has("torch"):
        import torch

        tensor = torch.from_numpy(matrix)
        yield "torch.topk", lambda weights: torch.topk(tensor @ torch.from_numpy(weights), k).indices.numpy()


def has(module):
    return importlib.util.find_spec(module) is not None


def same(scores, found, expected):
    """The same scores up to what float32 sums leave open."""
    return np.allclose(np.sort(scores[found]), np.sort(scores[expected]), rtol=1e-5, atol=1e-5)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=16_000_000)
    parser.add_argument("--questions", type=int, default=20)
    parser.add_argument("--k", type=int, default=16)
    settings = parser.parse_args()
    import culmen

    rng = np.random.default_rng(1)
    matrix = rng.normal(size=(settings.rows, DIMS)).astype(np.float32)
    start = time.perf_counter()
    index = culmen.Index.build(matrix)
    print(f"{settings.rows} x {DIMS} float32, normal; {os.cpu_count()} cores; k = {settings.k}")
    print(f"culmen builds its index in {time.perf_counter() - start:.1f} s\n")
    signs = {"positive": np.abs(rng.normal(size=(settings.questions, DIMS))), "both signs": rng.normal(size=(settings.questions, DIMS))}
    rivals = [("culmen", lambda weights: index.search(weights, settings.k).ids), *peers(matrix, settings.k)]
    print(f"{'median ms (95 %)':24}" + "".join(f"{name:>22}" for name in signs))
    for name, ask in rivals:
        cells = []
        for questions in signs.values():
            times = []
            for weights in questions.astype(np.float32):
                expected = index.search(weights, settings.k).ids
                assert same(matrix @ weights, ask(weights), expected), name
                start = time.perf_counter()
                ask(weights)
                times.append(1e3 * (time.perf_counter() - start))
            cells.append(f"{np.median(times):12.3f} ({np.quantile(times, 0.95):.3f})")
        print(f"{name:24}" + "".join(f"{cell:>22}" for cell in cells))


if __name__ == "__main__":
    main()
