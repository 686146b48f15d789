#!/usr/bin/env python3
"""torch.topk on a GPU, for comparison with gpu_latency: a random float32 table, a score for every row, the k best.

    bench/torch_topk.py [--rows N] [--dims D]
    bench/torch_topk.py --keys N               torch.topk of N random float32 alone, beside gpu_select

The columns are contiguous in device memory. Microseconds, the median of 11 runs after one that does not count: on the
device (CUDA events), and on the host, from the weights there to the k scores and rows there. "x reading" is the time on
the host against that to read the columns once, by a copy on the card that reads as much as it writes.
"""

import argparse
import statistics
import time
from functools import partial

import torch

REPEATS = 11
COPIED = 1 << 28  # values, 1 GiB


def median_us(call, fetch=True):
    """Times of call() on the device, and on the host: there until the tensors it returns are copied, if `fetch`."""
    device, host = [], []
    for run in range(REPEATS + 1):
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        start = time.perf_counter()
        first.record()
        result = call()
        last.record()
        if fetch:
            for tensor in result:
                tensor.cpu()
        torch.cuda.synchronize()
        if run > 0:
            host.append(1e6 * (time.perf_counter() - start))
            device.append(1e3 * first.elapsed_time(last))
    return statistics.median(device), statistics.median(host)


def reading_us(columns):
    values = columns.flatten()[:COPIED]
    copy = torch.empty_like(values)
    device, _ = median_us(lambda: copy.copy_(values), fetch=False)
    return device / 2 * columns.numel() / values.numel()


def measure_keys(count):
    keys = torch.rand(1, count, device="cuda")
    reading = median_us(lambda: torch.max(keys), fetch=False)[0]
    print(f"torch {torch.__version__}, {torch.cuda.get_device_name()}, {count} keys, torch.max {reading:.0f} us")
    for k in (1, 16, 64, 256, 1024, 4096, 16384, 65536, 1 << 20):
        device, _ = median_us(partial(torch.topk, keys[0], k), fetch=False)
        print(f"torch.topk k {k:8} {device:10.1f} us on the device = {device / reading:.2f} x torch.max")


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--rows", type=int, default=16_000_000)
    flags.add_argument("--dims", type=int, default=8)
    flags.add_argument("--keys", type=int)
    args = flags.parse_args()
    if args.keys:
        measure_keys(args.keys)
        return

    torch.manual_seed(1)
    columns = torch.rand(args.dims, args.rows, device="cuda")
    weights = torch.rand(args.dims)
    reading = reading_us(columns)
    print(f"torch {torch.__version__}, {torch.cuda.get_device_name()}, {args.rows} x {args.dims}")
    print(f"reading all columns once: {reading:.0f} us")

    def scores():
        return weights.cuda() @ columns

    def report(name, call, fetch=True):
        device, host = median_us(call, fetch)
        print(f"{name:24} {device:9.0f} us on the device, {host:9.0f} us on the host = {host / reading:.2f} x reading")

    report("scores alone", scores, fetch=False)
    for k in (16, 128, 256):
        report(f"scores + topk, k = {k}", lambda k=k: torch.topk(scores(), k))


if __name__ == "__main__":
    main()
