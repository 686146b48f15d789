"""The command that comes with the package, with files that the program itself does not read."""

import datetime
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import culmen

pyarrow = pytest.importorskip("pyarrow")
for part in ("csv", "feather", "parquet"):
    pytest.importorskip(f"pyarrow.{part}")


def run(*arguments, stderr=subprocess.PIPE):
    command = [sys.executable, "-m", "culmen", *map(str, arguments)]
    return subprocess.run(
        command, stdout=subprocess.PIPE, stderr=stderr, text=True, errors="surrogateescape", timeout=60
    )


def wait_until(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_is_the_program():
    assert culmen.__version__ in run("--version").stdout
    assert run("query").returncode != 0


@pytest.mark.parametrize("ending", [".parquet", ".feather"])
def test_reads_parquet_and_arrow(tmp_path, ending):
    rng = np.random.default_rng(0)
    table = pyarrow.table(
        {
            "id": np.arange(3000),
            "name": [f'"hotel", {i}' for i in range(3000)],
            "price": rng.random(3000, dtype=np.float32),
            "rating": rng.normal(size=3000).astype(np.float32),
        }
    )
    file, directory = tmp_path / f"hotels{ending}", tmp_path / "hotels.index"
    (pyarrow.parquet.write_table if ending == ".parquet" else pyarrow.feather.write_feather)(table, file)
    built = run("build", file, "-o", directory, "--id", "id", "--label", "name")
    assert built.returncode == 0, built.stderr
    index = culmen.Index.open(directory)
    expected = culmen.Index.build(table, ["price", "rating"], id="id", label="name")
    assert index.info.value_type == "float32"
    result, wanted = index.search([1, -0.3], 3000), expected.search([1, -0.3], 3000)
    assert result.ids.tolist() == wanted.ids.tolist() and result.scores.tolist() == wanted.scores.tolist()
    assert result.labels == wanted.labels


def test_rows_keep_their_order(tmp_path):
    """Batches are converted at the same time."""
    pyarrow.parquet.write_table(pyarrow.table({"a": np.arange(200_000.0)}), tmp_path / "t.parquet", row_group_size=5000)
    built = run("build", tmp_path / "t.parquet", "-o", tmp_path / "index")
    assert built.returncode == 0, built.stderr
    table = culmen.Index.open(tmp_path / "index").to_dict()
    assert np.array_equal(table["id"], np.arange(200_000)) and np.array_equal(table["a"], table["id"])


def test_inspect_names_the_file_that_was_converted(tmp_path):
    file, directory = tmp_path / "some hotels.parquet", tmp_path / "index"
    pyarrow.parquet.write_table(pyarrow.table({"a": [1.0, 2.5], "city": ["x", "y"]}), file)
    seen = run("inspect", file)
    assert seen.returncode == 0, seen.stderr
    assert seen.stdout.startswith(f"{file}: 2 rows, ") and ".csv" not in seen.stdout
    words = shlex.split(seen.stdout.splitlines()[-1])
    assert words[:5] == ["culmen", "build", str(file), "-o", "some hotels.index"]
    words[4] = str(directory)
    assert run(*words[1:]).returncode == 0
    assert len(culmen.Index.open(directory)) == 2


def test_takes_paths_that_are_no_utf8(tmp_path):
    file, directory = (os.path.join(os.fsencode(tmp_path), name) for name in (b"caf\xe9.parquet", b"\xff.index"))
    pyarrow.parquet.write_table(pyarrow.table({"a": [1.0, 2.0]}), tmp_path / "plain.parquet")
    os.rename(tmp_path / "plain.parquet", file)
    built = run("build", os.fsdecode(file), "-o", os.fsdecode(directory))
    assert built.returncode == 0, built.stderr
    assert len(culmen.Index.open(directory)) == 2


def test_says_what_is_wrong_and_does_not_hang(tmp_path):
    (tmp_path / "bad.parquet").write_bytes(b"nothing of the kind")
    failed = run("build", tmp_path / "bad.parquet", "-o", tmp_path / "index")
    assert failed.returncode == 3 and "bad.parquet" in failed.stderr and failed.stderr.count("culmen:") == 1
    for name in ("none.parquet", "none.what"):
        failed = run("build", tmp_path / name, "-o", tmp_path / "index")
        assert failed.returncode == 1 and "No such file" in failed.stderr and name in failed.stderr
    pyarrow.parquet.write_table(
        pyarrow.table({"a": np.arange(500_000.0)}), tmp_path / "cut.parquet", row_group_size=9999
    )
    content = bytearray((tmp_path / "cut.parquet").read_bytes())
    content[len(content) // 2 : len(content) // 2 + 4096] = bytes(4096)
    (tmp_path / "cut.parquet").write_bytes(content)
    failed = run("build", tmp_path / "cut.parquet", "-o", tmp_path / "index")
    assert failed.returncode == 3 and "cut.parquet" in failed.stderr and not (tmp_path / "index").exists()
    with open("/dev/full", "w") as full:  # a message that cannot be written makes a part no whole
        assert run("build", tmp_path / "cut.parquet", "-o", tmp_path / "index", stderr=full).returncode == 3
    assert not (tmp_path / "index").exists()
    pyarrow.parquet.write_table(pyarrow.table({"a": [1.0, None]}), tmp_path / "gap.parquet")
    failed = run("build", tmp_path / "gap.parquet", "-o", tmp_path / "index", "--nulls", "reject")
    assert failed.returncode != 0 and "gap.parquet.csv:3" in failed.stderr
    assert run("build", tmp_path / "gap.parquet", "--no-such-option").returncode != 0


def test_takes_types_as_the_package_does(tmp_path):
    noon = datetime.datetime(2025, 6, 1, 12, 0, 0, 5)
    columns = {
        "a": [1.5, None],
        "flag": [True, None],
        "day": [noon.date(), None],
        "local": [noon, None],
        "zoned": pyarrow.array([noon, None], pyarrow.timestamp("us", "Europe/Paris")),
        "text": ["NA", None],
        "kind": pyarrow.array(["x", ""]).dictionary_encode(),
        "view": pyarrow.array(["x", None]).cast(pyarrow.string_view()),
    }
    table = pyarrow.table(columns)
    pyarrow.feather.write_feather(table, tmp_path / "t.feather")
    built = run("build", tmp_path / "t.feather", "-o", tmp_path / "index")
    assert built.returncode == 0, built.stderr
    index, expected = culmen.Index.open(tmp_path / "index"), culmen.Index.build(table)
    assert [(c.name, c.role, c.type) for c in index.schema] == [(c.name, c.role, c.type) for c in expected.schema]
    for id in (0, 1):
        assert dict(index.get(id)) == dict(expected.get(id))


@pytest.mark.parametrize("whole_group", [False, True])  # kill -INT, and Ctrl-C in a terminal
def test_an_interrupted_conversion_ends_as_the_program_does(tmp_path, whole_group):
    table = pyarrow.table({f"a{i}": np.random.default_rng(i).random(1_000_000) for i in range(8)})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    command = [sys.executable, "-m", "culmen", "build", str(tmp_path / "t.parquet"), "-o", str(tmp_path / "index")]
    (tmp_path / "pipes").mkdir()
    environment = {**os.environ, "TMPDIR": str(tmp_path / "pipes")}
    process = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        env=environment,
        start_new_session=True,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # tests in the background ignore it
    )
    wait_until(lambda: pathlib.Path(f"/proc/{process.pid}/exe").resolve().name == "culmen")
    time.sleep(0.3)  # now it reads
    (os.killpg if whole_group else os.kill)(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors.strip()) == (130, "culmen: interrupted")
    wait_until(lambda: not os.listdir(tmp_path / "pipes"))
    assert not (tmp_path / "index").exists()


def test_a_table_with_gaps_gets_the_same_ids_through_every_door(tmp_path):
    rng = np.random.default_rng(1)
    values = rng.random((400_000, 2), dtype=np.float32)  # several batches of pyarrow's
    values[rng.random(values.shape) < 0.1] = np.nan
    values[-3:, 0] = np.nan
    table = pyarrow.table(dict(zip("ab", values.T)))
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet", row_group_size=70_000)
    pyarrow.csv.write_csv(table, tmp_path / "t.csv")
    np.save(tmp_path / "t.npy", values)
    expected = np.flatnonzero(np.isfinite(values).all(axis=1))
    for index in (
        culmen.Index.build(values, ["a", "b"], nulls="drop"),
        culmen.Index.build(table, nulls="drop"),
        culmen.Index.from_files(tmp_path / "t.parquet", nulls="drop"),
        culmen.Index.from_files(tmp_path / "t.csv", nulls="drop"),
    ):
        assert np.array_equal(index.ids(), expected)
        assert index.insert({"a": [1.0], "b": [None]}, nulls="drop").first_id is None
        assert index.insert({"a": [1.0], "b": [1.0]}).first_id == len(values) + 1
    for file in ("t.parquet", "t.csv", "t.npy"):
        directory = tmp_path / f"{file}.index"
        assert run("build", tmp_path / file, "-o", directory, "--nulls", "drop").returncode == 0
        assert np.array_equal(culmen.Index.open(directory).ids(), expected)
        inserted = run("insert", directory, tmp_path / file, "--nulls", "drop")
        assert inserted.returncode == 0, inserted.stderr
        both = np.concatenate([expected, expected + len(values)])
        assert np.array_equal(culmen.Index.open(directory).ids(), both)


def test_a_part_is_never_taken_for_the_whole(tmp_path, capfd):
    """Whatever ends a conversion, the program refuses what it has got."""
    from culmen._program import _write

    class Broken:
        schema = pyarrow.schema({"a": pyarrow.float64()})

        def to_batches(self):
            yield pyarrow.RecordBatch.from_pydict({"a": [1.0, 2.0]})
            raise AttributeError("another pyarrow")

    part = tmp_path / "part.csv"
    _write("t.parquet", Broken(), str(part))
    assert "t.parquet: another pyarrow" in capfd.readouterr().err
    built = run("build", part, "-o", tmp_path / "index")
    assert built.returncode == 3 and not (tmp_path / "index").exists()
