"""Many questions at once: culmen, FAISS's IndexFlatIP and NumPy, interleaved, medians.

    build/python-venv/bin/python bench/peers_batch.py [--k 1,10,100] [--rounds 5] [--only TEXT] [--no-numpy]
    build/python-venv/bin/python bench/peers_batch.py --device cuda:0 [--sizes 4000000x64x16384]

With --device both sides are on a GPU, weights and answers in its memory: culmen beside torch, which multiplies in
float32 and takes the best of each part of the product.

Tables of normal values, of latent factors (falling variance, popular items longer) and of uniform, positive ones. Both
sides use all cores. Of every table one answer in a hundred is compared with float64 products. Needs numpy and culmen;
faiss-cpu if installed, and torch with --device. Unset OPENBLAS_CORETYPE: it slows FAISS and NumPy.
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


def by_torch(torch, table, weights, k):
    parts = max(1, len(weights) * len(table) // 1_000_000_000)
    for part in weights.chunk(parts):
        torch.topk(part @ table.T, k, dim=1)


def searches_on_gpu(table, weights, device):
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False  # float32, as FAISS and NumPy
    index = culmen.Index.build(table).to(device)
    wide = torch.from_numpy(weights).to(device, torch.float64)
    on_device = torch.from_numpy(table).to(device)
    narrow = wide.to(torch.float32)

    def after_all(call):
        def search(k):
            result = call(k)
            torch.cuda.synchronize()
            return result

        return search

    return {
        "culmen": after_all(lambda k: index.search(wide, k=k)[0].cpu()),
        "torch": after_all(lambda k: by_torch(torch, on_device, narrow, k)),
    }


def print_line(name, peers, k, rounds):
    taken = {peer: [] for peer in peers}
    for _ in range(rounds):
        for peer, search in peers.items():
            taken[peer].append(timed(lambda search=search: search(k)))
    ms = {peer: 1000 * statistics.median(times) for peer, times in taken.items()}
    cells = [f"{ms[peer]:.1f} ({ms[peer] / ms['culmen']:.2f})" for peer in peers]
    print(f"| {name} | {k} | {' | '.join(cells)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--k", default="10")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="")
    parser.add_argument("--no-numpy", action="store_true")
    parser.add_argument("--device")
    parser.add_argument("--sizes", help="ROWSxATTRIBUTESxQUESTIONS, several with commas")
    options = parser.parse_args()
    sizes = [tuple(map(int, size.split("x"))) for size in options.sizes.split(",")] if options.sizes else SIZES
    print("table, k, then ms of each peer (over those of culmen)")
    for rows, d, questions in sizes:
        for kind in ("Gaussian", "latent", "uniform"):
            name = f"{kind} {rows:,} x {d}, {questions:,}"
            if options.only not in name:
                continue
            table, weights = make(kind, rows, d, questions)
            if options.device:
                peers = searches_on_gpu(table, weights, options.device)
            else:
                peers = searches(table, weights, not options.no_numpy)
            print(f"| table | k | {' | '.join(peers)} |", flush=True)
            for k in map(int, options.k.split(",")):
                compare(table, weights, np.asarray(peers["culmen"](k)), k)
                print_line(name, peers, k, options.rounds)


if __name__ == "__main__":
    main()
