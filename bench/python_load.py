"""An index from Parquet, against pyarrow reading the same files and a build from its table, in turns.

    build/python-venv/bin/python bench/python_load.py [--rows 10000000] [--files 4] [--repeats 5]

8 columns of float32, an id column and an unused text column. Share: (reading + building) / from_parquet,
the medians. Needs pyarrow. The files are read from the page cache.
"""

import argparse
import pathlib
import statistics
import tempfile
import time

import numpy as np
import pyarrow
import pyarrow.parquet

import culmen

DIMS = 8
COLUMNS = ["id", *(f"a{i}" for i in range(DIMS))]


def write_files(folder, rows, files):
    rng = np.random.default_rng(1)
    for f in range(files):
        first, last = f * rows // files, (f + 1) * rows // files
        columns = {f"a{i}": rng.random(last - first, np.float32) for i in range(DIMS)}
        names = pyarrow.array(np.char.add("row ", np.arange(last - first).astype(str)))
        table = pyarrow.table({"id": np.arange(first, last), **columns, "name": names})
        pyarrow.parquet.write_table(table, folder / f"part-{f}.parquet")


def timed(call):
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--files", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=5)
    settings = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_files(folder, settings.rows, settings.files)
        paths = sorted(folder.glob("*.parquet"))
        reading, building, both = [], [], []
        for _ in range(settings.repeats):
            read, tables = timed(lambda: [pyarrow.parquet.read_table(path, columns=COLUMNS) for path in paths])
            table = pyarrow.concat_tables(tables)
            built, index = timed(lambda table=table: culmen.Index.build(table, id="id"))
            took, loaded = timed(lambda: culmen.Index.from_parquet(paths, attributes=COLUMNS[1:], id="id"))
            weights = np.ones(DIMS)
            assert (loaded.search(weights, 100).ids == index.search(weights, 100).ids).all()
            reading.append(read), building.append(built), both.append(took)
    read, built, took = map(statistics.median, (reading, building, both))
    print(f"{settings.rows} rows in {settings.files} files, medians of {settings.repeats}")
    share = (read + built) / took
    print(f"pyarrow reads {read:.2f} s, culmen builds {built:.2f} s, from_parquet {took:.2f} s: {share:.0%}")


if __name__ == "__main__":
    main()
