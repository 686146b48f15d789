"""Many questions at once: culmen, FAISS's IndexFlatIP and NumPy, interleaved, medians.

    build/python-venv/bin/python bench/peers_batch.py [--k 1,10,100] [--rounds 5] [--only TEXT] [--no-numpy]

Tables of normal values, of latent factors (falling variance, popular items longer) and of uniform, positive ones. Both
sides use all cores. Of every table one answer in a hundred is compared with float64 products. Needs numpy and culmen;
faiss-cpu if installed. Unset OPENBLAS_CORETYPE: it slows FAISS and NumPy.
"""

import argparse
import importlib.util
import statistics
import time

import numpy as np

import culmen

SIZES = [
    (20_000, 64, 10_000),
    (200_000, 64, 2_000),
    (1_000_000, 64, 500),
    (200_000, 32, 2_000),
    (1_000_000, 16, 1_000),
    (1_000_000, 8, 1_000),
    (20_000, 128, 10_000),
    (20_000, 256, 10_000),
    (20_000, 768, 10_000),
    (200_000, 128, 2_000),
    (200_000, 256, 2_000),
    (200_000, 768, 1_000),
]


def make(kind, rows, d, questions):
    random = np.random.default_rng(1)
    if kind == "uniform":
        return random.random((rows, d), np.float32), random.random((questions, d), np.float32)
    table = random.standard_normal((rows, d), np.float32)
    weights = random.standard_normal((questions, d), np.float32)
    if kind == "latent":
        falling = (1 / np.sqrt(1 + np.arange(d))).astype(np.float32)
        longer = random.lognormal(0, 0.4, (rows, 1)).astype(np.float32)
        return table * falling * longer, weights * falling
    return table, weights


def by_numpy(table, weights, k):
    for part in np.array_split(weights, max(1, len(weights) * len(table) // 50_000_000)):
        np.argpartition(part @ table.T, -k, axis=1)[:, -k:]


def timed(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def compare(table, weights, ids, k):
    asked = range(0, len(weights), 100)
    scores = weights[::100].astype(np.float64) @ table.astype(np.float64).T
    best = -np.sort(np.partition(-scores, k - 1, axis=1)[:, :k], axis=1)
    for i, q in enumerate(asked):
        if not np.allclose(scores[i, ids[q]], best[i], rtol=1e-12, atol=1e-12):
            raise SystemExit(f"question {q} has another answer")


def searches(table, weights, has_numpy):
    """What each peer is asked, as functions of k."""
    index = culmen.Index.build(table)
    wide = weights.astype(np.float64)
    peers = {"culmen": lambda k: index.search(wide, k=k).ids}
    if importlib.util.find_spec("faiss") is not None:
        import faiss

        flat = faiss.IndexFlatIP(table.shape[1])
        flat.add(table)
        peers["FAISS"] = lambda k: flat.search(weights, k)
    if has_numpy:
        peers["NumPy"] = lambda k: by_numpy(table, weights, k)
    return peers


def print_line(name, peers, k, rounds):
    taken = {peer: [] for peer in peers}
    for _ in range(rounds):
        for peer, search in peers.items():
            taken[peer].append(timed(lambda search=search: search(k)))
    ms = {peer: 1000 * statistics.median(times) for peer, times in taken.items()}
    cells = [f"{ms[p]:.0f}" if p in ms else "" for p in ("culmen", "FAISS")]
    ratio = f"{ms['FAISS'] / ms['culmen']:.2f}" if "FAISS" in ms else ""
    print(f"| {name} | {k} | {cells[0]} | {cells[1]} | {ratio} | {ms.get('NumPy', 0):.0f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--k", default="10")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="")
    parser.add_argument("--no-numpy", action="store_true")
    options = parser.parse_args()
    print("| table | k | culmen ms | FAISS ms | FAISS / culmen | NumPy ms |\n|---|---|---|---|---|---|")
    for rows, d, questions in SIZES:
        for kind in ("Gaussian", "latent", "uniform"):
            name = f"{kind} {rows:,} x {d}, {questions:,}"
            if options.only not in name:
                continue
            table, weights = make(kind, rows, d, questions)
            peers = searches(table, weights, not options.no_numpy)
            for k in map(int, options.k.split(",")):
                compare(table, weights, np.asarray(peers["culmen"](k)), k)
                print_line(name, peers, k, options.rounds)


if __name__ == "__main__":
    main()
