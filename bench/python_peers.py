"""culmen and its alternatives in Python: one machine, one process, the same questions, one at a time.

    build/python-venv/bin/python bench/python_peers.py [--rows 16000000] [--questions 20] [--k 16] [--npy FILE]

With a GPU and torch also on the card: one question at a time, and 4,096 in one call, weights and answers in device
memory; FILE, a table as `culmen generate` writes it, makes that the batch of `gpu_latency --only=batch`.

Every answer is compared first: the ids must be the same, unless float32 sums cannot distinguish rows. Skips packages
that are not installed. Needs numpy; uses faiss-cpu, duckdb, polars, torch and culmen if installed.
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
        source = pyarrow.table({"id": np.arange(len(matrix)), **columns})  # noqa: F841
        connection.execute("create table t as select * from source")

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
        if torch.cuda.is_available():
            on_gpu = tensor.cuda()
            yield (
                "torch.topk on the GPU",
                lambda weights: torch.topk(on_gpu @ torch.from_numpy(weights).cuda(), k).indices.cpu().numpy(),
            )


def has(module):
    return importlib.util.find_spec(module) is not None


def same(scores, found, expected):
    """The same scores up to what float32 sums leave open."""
    return np.allclose(np.sort(scores[found]), np.sort(scores[expected]), rtol=1e-5, atol=1e-5)


def weights_of_gpu_latency():
    """The 4,096 questions that gpu_latency asks: of C++'s mt19937_64 with seed 9, as libstdc++ makes numbers of it."""
    mask = (1 << 64) - 1
    state = [9]
    for i in range(1, 312):
        state.append((6364136223846793005 * (state[-1] ^ state[-1] >> 62) + i) & mask)
    words = []
    while len(words) < 4096 * DIMS:
        for i in range(312):
            bits = (state[i] & 0xFFFFFFFF80000000) | (state[(i + 1) % 312] & 0x7FFFFFFF)
            state[i] = state[(i + 156) % 312] ^ bits >> 1 ^ (0xB5026F5AA96619E9 if bits & 1 else 0)
        for word in state:
            word ^= word >> 29 & 0x5555555555555555
            word ^= word << 17 & 0x71D67FFFEDA60000
            word ^= word << 37 & 0xFFF7EEE000000000
            words.append((word ^ word >> 43) & mask)
    return 1 - np.array(words[: 4096 * DIMS]).astype(np.float64).reshape(4096, DIMS) * 2.0**-64


def time_batch(index, on_gpu, k):
    """4,096 questions in a tensor, answers in tensors."""
    import torch

    weights = torch.from_numpy(weights_of_gpu_latency()).cuda()
    times = []
    for _ in range(101):
        torch.cuda.synchronize()
        start = time.perf_counter()
        answers = on_gpu.search(weights, k)
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    expected = index.search(weights[:64].cpu().numpy(), k)
    assert (answers.ids[:64].cpu().numpy() == expected.ids).all()
    took = np.median(times)
    print(f"\n4096 questions in a tensor, k = {k}: {1e6 * took:.0f} us, {4096 / took:,.0f} a second")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=16_000_000)
    parser.add_argument("--questions", type=int, default=20)
    parser.add_argument("--k", type=int, default=16)
    parser.add_argument("--npy")
    settings = parser.parse_args()
    import culmen

    rng = np.random.default_rng(1)
    matrix = rng.standard_normal((settings.rows, DIMS), np.float32) if settings.npy is None else np.load(settings.npy)
    start = time.perf_counter()
    index = culmen.Index.build(matrix)
    print(f"{len(matrix)} x {DIMS} float32, {settings.npy or 'normal'}; {os.cpu_count()} cores; k = {settings.k}")
    print(f"culmen builds its index in {time.perf_counter() - start:.1f} s\n")
    both = rng.normal(size=(settings.questions, DIMS))
    signs = {"positive": np.abs(both), "both signs": both}
    rivals = [("culmen", lambda weights: index.search(weights, settings.k).ids), *peers(matrix, settings.k)]
    if culmen.num_devices() > 0:
        on_gpu = index.to("cuda:0")
        rivals.insert(1, ("culmen on the GPU", lambda weights: on_gpu.search(weights, settings.k).ids))
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
    if culmen.num_devices() > 0 and has("torch"):
        for k in (16, 128):
            time_batch(index, on_gpu, k)


if __name__ == "__main__":
    main()
