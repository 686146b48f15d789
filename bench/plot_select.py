#!/usr/bin/env python3
"""Draws what bench/gpu_select measured: time over k, both logarithmic, a line for each method.

    build/release/bench/gpu_select --csv=select.csv
    bench/plot_select.py select.csv --out docs/pictures/select.svg [--input uniform]

Needs nothing but Python's standard library.
"""

import argparse
import collections
import csv
import math

WIDTH, HEIGHT = 760, 430
LEFT, RIGHT, TOP, BOTTOM = 62, 652, 24, 384  # of the axes
INK, GREY, PALE = "#1f2933", "#9aa5b1", "#e8eef3"
COLOURS = {
    "sample": "#2f855a",
    "radix11": "#1d6fa5",
    "radix8": "#63a4cc",
    "bucket": "#805ad5",
    "bitonic": "#c53030",
    "heaps": "#b7791f",
    "sort": "#52606d",
    "cub topk": "#d53f8c",
    "torch.topk": "#dd6b20",
}
LINE_OF_TEXT = 14


def read_table(path, wanted_input):
    """Returns {method: [(k, us), ..]}, the microseconds of one read, and the number of rows."""
    lines = collections.defaultdict(list)
    read_us = rows = None
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            if row["input"] != wanted_input:
                continue
            lines[row["method"]].append((int(row["k"]), float(row["us"])))
            read_us, rows = float(row["read_us"]), int(row["rows"])
    if not lines:
        raise SystemExit(f"{path}: no rows of input {wanted_input}")
    return {method: sorted(points) for method, points in lines.items()}, read_us, rows


class Axis:
    """Places of logarithms between two pixels."""

    def __init__(self, values, first, last):
        self.low, self.high = math.log(min(values)), math.log(max(values))
        self.first, self.last = first, last

    def __call__(self, value):
        share = (math.log(value) - self.low) / ((self.high - self.low) or 1)
        return self.first + share * (self.last - self.first)


def text(x, y, words, colour=INK, anchor="start", size=12, more=""):
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" font-size="{size}" text-anchor="{anchor}"{more}>{words}</text>'
    )


def line(x1, y1, x2, y2, colour, more=""):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"{more}/>'


def grid(x, y, ks, highest_us):
    for decade in range(2, 8):
        for digit in (1, 2, 5):
            us = digit * 10**decade
            if math.log(us) < y.low or us > highest_us:
                continue
            yield line(LEFT, y(us), RIGHT, y(us), PALE)
            yield text(LEFT - 8, y(us) + 4, f"{us:,}", anchor="end")
    for k in ks:
        yield line(x(k), BOTTOM, x(k), BOTTOM + 5, INK)
        power = k.bit_length() - 1
        label = f"{k:,}" if k < 1 << 17 or k != 1 << power else f"2^{power}"
        yield text(x(k), BOTTOM + 19, label, anchor="middle")
    yield line(LEFT, BOTTOM, RIGHT, BOTTOM, INK, ' stroke-width="1.2"')
    yield line(LEFT, TOP, LEFT, BOTTOM, INK, ' stroke-width="1.2"')


def labels(x, y, methods):
    """The name of a line at its end; the ends at one place are pushed apart."""
    last_y = collections.defaultdict(lambda: -math.inf)
    for method, points in sorted(methods.items(), key=lambda entry: -entry[1][-1][1]):
        k, us = points[-1]
        last_y[k] = max(y(us) + 4, last_y[k] + LINE_OF_TEXT)
        yield text(x(k) + 8, last_y[k], method, COLOURS.get(method, INK))


def draw(methods, read_us, rows, what):
    ks = sorted({k for points in methods.values() for k, _ in points})
    times = [us for points in methods.values() for _, us in points]
    x = Axis(ks, LEFT + 10, RIGHT - 10)
    y = Axis([*times, read_us * 0.8], BOTTOM, TOP + 6)
    title = f"Microseconds to select the k best of {rows:,} keys ({what})"
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        'role="img" font-family="DejaVu Sans, Helvetica, Arial, sans-serif">'
    )
    yield f"<title>{title}</title>"
    yield f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>'
    yield from grid(x, y, ks, max(times))
    yield line(LEFT, y(read_us), RIGHT, y(read_us), GREY, ' stroke-width="1.2" stroke-dasharray="4 3"')
    yield text(LEFT + 8, y(read_us) + LINE_OF_TEXT, "one read of the keys", GREY)
    for method, points in methods.items():
        colour = COLOURS.get(method, INK)
        path = " ".join(f"{x(k):.1f},{y(us):.1f}" for k, us in points)
        yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.8"/>'
        yield from (f'<circle cx="{x(k):.1f}" cy="{y(us):.1f}" r="2.6" fill="{colour}"/>' for k, us in points)
    yield from labels(x, y, methods)
    yield text((LEFT + RIGHT) / 2, HEIGHT - 8, "k", size=13, anchor="middle", more=' font-style="italic"')
    yield text(LEFT + 6, TOP + 2, "µs", size=13)
    yield "</svg>"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", help="what gpu_select --csv=FILE wrote")
    parser.add_argument("--out", required=True, help="the SVG file")
    parser.add_argument("--input", default="uniform", help="which input of the table (default: uniform)")
    arguments = parser.parse_args()
    methods, read_us, rows = read_table(arguments.table, arguments.input)
    with open(arguments.out, "w") as file:
        file.write("\n".join(draw(methods, read_us, rows, arguments.input)) + "\n")


if __name__ == "__main__":
    main()
