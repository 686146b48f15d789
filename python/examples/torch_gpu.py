"""Questions that are made on the GPU and answered there: nothing but the index passes through the host.

    python torch_gpu.py [ROWS]

Needs torch.
"""

import sys
import time

import torch

import culmen


def main() -> None:
    num_rows = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    table = torch.rand(num_rows, 8)
    on_gpu = culmen.Index.build(table.numpy(), device="cuda:0").to("cuda:0")
    users = torch.randn(4096, 32, device="cuda")
    to_weights = torch.rand(32, 8, device="cuda")
    for _ in range(3):
        torch.cuda.synchronize()
        start = time.perf_counter()
        answers = on_gpu.search((users @ to_weights).abs(), k=16)  # enqueued after the product
        mean = answers.scores.mean()  # and this after the search
        torch.cuda.synchronize()
        seconds = time.perf_counter() - start
        print(f"{len(users)} questions, {1e3 * seconds:.2f} ms, {len(users) / seconds:,.0f} a second, mean {mean:.4f}")


if __name__ == "__main__":
    main()
