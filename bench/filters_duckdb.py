"""DuckDB on the table and the questions of bench/filters.cc, on one thread.

    build/release/bench/filters --write=/tmp/filters
    build/python-venv/bin/python bench/filters_duckdb.py /tmp/filters [--repeats 3]

A line for each filter: the median of milliseconds a question. Needs numpy, pyarrow and duckdb.
"""

import argparse
import pathlib
import statistics
import time

import duckdb
import numpy as np
import pyarrow as pa


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    connection = load(arguments.folder)
    questions = np.loadtxt(arguments.folder / "weights.txt")
    for line in (arguments.folder / "filters.txt").read_text().splitlines():
        name, where = line.split("\t")
        times = [
            statistics.median(seconds(connection, statement(weights, where)) for _ in range(arguments.repeats))
            for weights in questions
        ]
        print(f"{name:44} {1000 * statistics.median(times):11.2f} ms", flush=True)


def load(folder):
    """The table t, its texts as VARCHAR."""
    words = pa.array([f"b{i:03d}" for i in range(1000)])
    columns = {f"a{i}": np.fromfile(folder / f"a{i}.bin", np.float32) for i in range(8)}
    for name in ("number", "near", "day", "rare"):
        columns[name] = pa.array(np.fromfile(folder / f"{name}.bin", np.int32))
    columns["day"] = columns["day"].cast(pa.date32())
    rows = len(columns["a0"])
    columns["rare"] = pa.array(columns["rare"].to_numpy(), mask=np.arange(rows) == rows // 2)
    for name in ("brand", "town"):
        codes = pa.array(np.fromfile(folder / f"{name}.bin", np.uint16).astype(np.int32))
        columns[name] = pa.DictionaryArray.from_arrays(codes, words).cast(pa.string())
    source = pa.table({"id": np.arange(rows), **columns})
    connection = duckdb.connect()
    connection.execute("set threads to 1")
    connection.register("source", source)
    connection.execute("create table t as select * from source")
    connection.unregister("source")
    return connection


def statement(weights, where):
    score = " + ".join(f"{float(weight)!r}::double * a{i}" for i, weight in enumerate(weights))
    condition = f"where {where} " if where else ""
    return f"select id from t {condition}order by {score} desc, id limit 16"


def seconds(connection, sql):
    start = time.perf_counter()
    connection.execute(sql).fetchall()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
