"""Files: the same index as from the table that they hold."""

import datetime
import gzip
import os

import numpy as np
import pytest

import culmen

pyarrow = pytest.importorskip("pyarrow")
for part in ("csv", "feather", "parquet"):
    pytest.importorskip(f"pyarrow.{part}")


def hotels(num_rows, seed=0):
    rng = np.random.default_rng(seed)
    return pyarrow.table(
        {
            "id": rng.permutation(3 * num_rows)[:num_rows],
            "name": [f"hotel {i}" for i in range(num_rows)],
            "price": rng.integers(50, 300, num_rows).astype("i2"),
            "rating": rng.random(num_rows, dtype=np.float32),
            "note": ["text"] * num_rows,
        }
    )


def write(table, path):
    ending = path.suffix
    if ending == ".parquet":
        pyarrow.parquet.write_table(table, path, row_group_size=1000)
    elif ending == ".csv":
        pyarrow.csv.write_csv(table, path)
    else:
        pyarrow.feather.write_feather(table, path, chunksize=777)


@pytest.mark.parametrize("ending", [".parquet", ".feather", ".csv"])
@pytest.mark.parametrize("num_files", [1, 3])
def test_gives_the_index_of_the_table(tmp_path, ending, num_files):
    table = hotels(5000)
    pieces = np.linspace(0, 5000, num_files + 1).astype(int)
    for i, (first, end) in enumerate(zip(pieces, pieces[1:])):
        write(table.slice(first, end - first), tmp_path / f"part-{i}{ending}")
    index = culmen.Index.from_files(tmp_path / f"part-*{ending}", ["price:low", "rating"], id="id", label="name")
    expected = culmen.Index.build(table, ["price:low", "rating"], id="id", label="name")
    weights = {"price": -0.01, "rating": 1}
    assert index.search(weights, 50).to_dict()["label"] == expected.search(weights, 50).labels
    assert index.search(weights, 5000).ids.tolist() == expected.search(weights, 5000).ids.tolist()
    assert index.info.value_type == ("float64" if ending == ".csv" else "float32")


@pytest.mark.parametrize("ending", [".parquet", ".feather", ".csv"])
@pytest.mark.parametrize("num_files", [1, 2])
def test_a_directory_for_temporary_files_changes_nothing(tmp_path, ending, num_files):
    table = hotels(40_000)
    table = table.set_column(2, "price", pyarrow.array([None if i % 9 == 0 else i % 250 for i in range(40_000)]))
    for i in range(num_files):
        write(table.slice(i * 40_000 // num_files, 40_000 // num_files), tmp_path / f"part-{i}{ending}")
    chosen = {"attributes": ["price:low", "rating"], "id": "id", "label": "name"}
    folder = tmp_path / "temporary"
    folder.mkdir()
    paths = tmp_path / f"part-*{ending}"
    index = culmen.Index.from_files(paths, **chosen, temp_directory=folder)
    expected = culmen.Index.from_files(paths, **chosen)
    assert index.info == expected.info
    answer, wanted = (one.search({"price": 1, "rating": 1}, 40_000, missing="fill") for one in (index, expected))
    assert answer.ids.tolist() == wanted.ids.tolist() and answer.scores.tolist() == wanted.scores.tolist()
    assert answer.labels == wanted.labels
    assert list(folder.iterdir()) == []
    with open("/proc/self/maps") as maps:
        assert str(folder) in maps.read()


def test_a_directory_for_temporary_files_takes_mapped_columns_and_compacts(tmp_path):
    np.save(tmp_path / "a.npy", np.random.default_rng(1).random((30_000, 3)))
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r")
    index = culmen.Index.build(mapped, temp_directory=tmp_path)
    expected = culmen.Index.build(np.array(mapped))
    assert index.info == expected.info
    index.save(tmp_path / "a.index")
    with culmen.Index.open(tmp_path / "a.index", writable=True, loading="on_touch") as writer:
        writer.erase([5, 7])
        writer.compact(temp_directory=tmp_path)
        assert len(writer) == 29_998
    expected.erase([5, 7])
    weights = np.random.default_rng(2).random((20, 3))
    opened = culmen.Index.open(tmp_path / "a.index")
    assert opened.verify() == []
    assert (opened.search(weights, 9).ids == expected.search(weights, 9).ids).all()


def test_a_directory_for_temporary_files_that_is_not_there_is_named(tmp_path):
    missing = tmp_path / "missing"
    with pytest.raises(culmen.IoError, match=f"{missing}: No such file or directory; name a directory that is there"):
        culmen.Index.build({"a": [1.0]}, temp_directory=missing)
    for wrong in ("", 0, True, ["x"]):
        with pytest.raises(culmen.InvalidArgument, match="temp_directory is a directory"):
            culmen.Index.build({"a": [1.0]}, temp_directory=wrong)


def test_a_file_that_is_named_twice_is_read_twice(tmp_path):
    for ending in (".parquet", ".csv", ".feather"):
        file = tmp_path / f"a{ending}"
        write(pyarrow.table({"a": [1.0, None, 3.0]}), file)
        index = culmen.Index.from_files([file, tmp_path / ".." / tmp_path.name / file.name, file], nulls="drop")
        assert index.ids().tolist() == [0, 2, 3, 5, 6, 8]
        assert [row["a"] for row in map(culmen.Index.from_files([file, file]).get, range(6))] == [1, None, 3] * 2


def test_gaps_are_told_by_the_row_of_all_files_or_dropped(tmp_path):
    for i, values in enumerate([[1.0, 2.0], [3.0, None, 5.0]]):
        write(pyarrow.table({"a": values}), tmp_path / f"{i}.parquet")
    with pytest.raises(culmen.RowError, match="row 4.*missing"):
        culmen.Index.from_parquet([tmp_path / "0.parquet", tmp_path / "1.parquet"], missing="refuse")
    index = culmen.Index.from_parquet(tmp_path / "*.parquet", nulls="drop")
    assert index.search([1.0], 2).scores.tolist() == [5.0, 3.0]
    assert index.ids().tolist() == [0, 1, 2, 4]


def test_an_empty_line_of_one_column_is_a_row(tmp_path):
    (tmp_path / "a.csv").write_text("a\n1\n\n2\n")
    assert culmen.Index.from_files(tmp_path / "a.csv", nulls="drop").ids().tolist() == [0, 2]
    assert len(culmen.Index.from_files(tmp_path / "a.csv")) == 3


def test_a_file_without_rows_is_an_index_without_rows(tmp_path):
    write(pyarrow.table({"a": pyarrow.array([], type=pyarrow.float64())}), tmp_path / "empty.parquet")
    assert len(culmen.Index.from_parquet(tmp_path / "empty.parquet")) == 0


def test_refusals_say_what_to_do(tmp_path):
    write(hotels(10), tmp_path / "a.parquet")
    write(hotels(10), tmp_path / "a.csv")
    (tmp_path / "bad.parquet").write_bytes(b"this is no parquet file at all")
    for paths, options, error, text in [
        (tmp_path / "none-*.parquet", {}, culmen.IoError, "no file is called"),
        (tmp_path / "missing.parquet", {}, culmen.IoError, "missing.parquet"),
        (tmp_path / "bad.parquet", {}, culmen.InputError, "bad.parquet"),
        ([], {}, culmen.InvalidArgument, "no file"),
        ([tmp_path / "a.parquet", tmp_path / "a.csv"], {}, culmen.InvalidArgument, "end with"),
        (tmp_path / "a.parquet", {"attributes": ["name"]}, culmen.InputError, "'name' holds text"),
        (tmp_path / "a.parquet", {"columns": ["price", "stars"]}, culmen.InvalidArgument, "no column 'stars'.*'price'"),
        (tmp_path / "a.parquet", {"attributes": ["stars"]}, culmen.InvalidArgument, "no column 'stars'.*'price'"),
        (tmp_path / "a.parquet", {"attributes": ["price"], "id": "key"}, culmen.InvalidArgument, "no column 'key'"),
    ]:
        with pytest.raises(error, match=text):
            culmen.Index.from_files(paths, **options)


def test_a_file_that_lacks_a_column_is_named(tmp_path):
    write(pyarrow.table({"a": [1.0], "b": [1.0]}), tmp_path / "1.parquet")
    write(pyarrow.table({"b": [2.0]}), tmp_path / "2.parquet")
    with pytest.raises(culmen.InputError, match="2.parquet has no column 'a'"):
        culmen.Index.from_parquet(tmp_path / "*.parquet", ["a"], nulls="drop")


def test_patterns_and_folders(tmp_path):
    (tmp_path / "deep" / "er").mkdir(parents=True)
    for i, folder in enumerate([tmp_path, tmp_path / "deep", tmp_path / "deep" / "er"]):
        write(pyarrow.table({"a": [float(i)]}), folder / f"{i}.parquet")
    assert len(culmen.Index.from_parquet(tmp_path / "**" / "*.parquet")) == 3
    assert len(culmen.Index.from_parquet(tmp_path)) == 1


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_files_may_have_names_that_are_no_utf8(tmp_path, ending):
    folder = os.path.join(os.fsencode(tmp_path), b"caf\xe9")
    os.mkdir(folder)
    for i in range(3):
        write(pyarrow.table({"a": [float(i)]}), tmp_path / f"plain{ending}")
        os.rename(tmp_path / f"plain{ending}", os.path.join(folder, b"%d\xff" % i + ending.encode()))
    first = os.path.join(folder, b"0\xff" + ending.encode())
    for paths in (folder, os.fsdecode(folder), folder + b"/*", [os.path.join(folder, b"?*" + ending.encode())]):
        assert culmen.Index.from_files(paths).search([1.0]).scores.tolist() == [2.0, 1.0, 0.0]
    assert len(culmen.Index.from_files(first)) == 1
    with open(first, "wb") as file:
        file.write(b"a\n1,2\n")
    with pytest.raises(culmen.InputError) as raised:
        culmen.Index.from_files(first)
    assert os.fsdecode(first) in str(raised.value)


def test_a_csv_file_without_a_header_is_refused(tmp_path):
    for content in ("1,2\n3,4\n", "\ufeff1\n2\n", "10\t20\n"):
        (tmp_path / "a.csv").write_text(content)
        with pytest.raises(culmen.InputError, match="a.csv:1:1: expected a header line, found only numbers.*quotes"):
            culmen.Index.from_files(tmp_path / "a.csv")
    for content in ('"1","2"\n3,4\n', "a,1\n3,4\n", "nan,2\n3,4\n"):
        (tmp_path / "a.csv").write_text(content)
        assert len(culmen.Index.from_files(tmp_path / "a.csv")) == 1


@pytest.mark.parametrize("ending", [".parquet", ".feather", ".csv"])
def test_columns_of_every_type_are_kept(tmp_path, ending):
    day, noon = datetime.date(2025, 6, 1), datetime.datetime(2025, 6, 1, 12)
    columns = {
        "a": [1.5, None, 3.0],
        "n": [1, None, 3],
        "flag": [True, False, None],
        "day": [day, None, day],
        "at": [noon, None, noon],
        "text": ["NA", "", None],
        "none": pyarrow.nulls(3, pyarrow.string()),
    }
    table = pyarrow.table(columns)
    for i in range(2):
        write(table, tmp_path / f"{i}{ending}")
    index = culmen.Index.from_files(tmp_path / f"*{ending}")
    expected = [dict(zip(columns, row)) for row in zip(*table.to_pydict().values())]
    assert [dict(index.get(i)) for i in range(6)] == 2 * expected
    assert index.attributes == ("a", "n")
    index = culmen.Index.from_files(tmp_path / f"*{ending}", ["n"], columns=["day"], nulls="drop")
    assert index.ids().tolist() == [0, 2, 3, 5] and dict(index.get(5)) == {"n": 3, "day": day}
    index.insert(table)


def test_csv_files_are_read_as_the_program_reads_them(tmp_path):
    (tmp_path / "1.csv").write_text('a,n,t,day,e\n1,5,NA,2025-06-01,\nNA,,"",,\n')
    (tmp_path / "2.csv").write_text("a,n,t,day,e\n2.5,,x,2025-06-02 12:00,7\n,6,,NULL,\n")
    index = culmen.Index.from_files(tmp_path / "*.csv")
    first, noon = datetime.datetime(2025, 6, 1), datetime.datetime(2025, 6, 2, 12)
    assert [dict(index.get(i)) for i in range(4)] == [
        {"a": 1.0, "n": 5, "e": None, "t": "NA", "day": first},
        {"a": None, "n": None, "e": None, "t": "", "day": None},
        {"a": 2.5, "n": None, "e": 7, "t": "x", "day": noon},
        {"a": None, "n": 6, "e": None, "t": None, "day": None},
    ]
    assert culmen.Index.from_files(tmp_path / "*.csv", ["a"], columns=["t"], nulls="drop").ids().tolist() == [0, 2]
    (tmp_path / "2.csv").write_text("a,n,t,day,e\n2.5,x,x,2025-06-02,7\n")
    with pytest.raises(culmen.InputError, match="'n' holds integers in .*1.csv, texts in .*2.csv: make.*columns="):
        culmen.Index.from_files(tmp_path / "*.csv", ["a"])
    (tmp_path / "2.csv").write_text("a,n,t,day,e\n2.5,9007199254740993,x,2025-06-02,7\n")
    (tmp_path / "3.csv").write_text("a,n,t,day,e\n2.5,1.5,x,2025-06-02,7\n")
    with pytest.raises(culmen.InputError, match="'n' has fractions, and in .*2.csv integers that .*columns="):
        culmen.Index.from_files(tmp_path / "*.csv", ["a"])
    (tmp_path / "3.csv").unlink()
    (tmp_path / "2.csv").write_text("a,n\n1,1\n")
    with pytest.raises(culmen.InputError, match="2.csv has no column"):
        culmen.Index.from_files(tmp_path / "*.csv")
    (tmp_path / "2.csv").write_text("a,n\ninf,1\n")
    with pytest.raises(culmen.InputError, match="2.csv:2:1.*inf"):
        culmen.Index.from_files(tmp_path / "*.csv", ["a"], columns=[])
    index = culmen.Index.from_files(tmp_path / "*.csv", ["a"], columns=[], nulls="drop")
    assert index.ids().tolist() == [0] and index.rows_dropped == 2
    with gzip.open(tmp_path / "3.tsv.gz", "wt") as file:
        file.write("id\tname\ta\n9007199254740993\tx\t1\n")
    index = culmen.Index.from_files(tmp_path / "3.tsv.gz", id="id", label="name")
    assert index.get(2**53 + 1).label == "x" and [c.name for c in index.schema] == ["id", "name", "a"]


NOON = datetime.datetime(2025, 6, 1, 12)


@pytest.mark.parametrize("ending", [".parquet", ".feather"])
@pytest.mark.parametrize(
    ("types", "values", "kept"),
    [
        (["int8", "int64", "uint8"], [[1, None], [2**60, 3], [255]], "int"),
        (["int64", "int8"], [[2**53 + 1, 3], [None, 4]], "int"),
        (["int32", "float64"], [[1, None], [0.1, 2.5]], "float"),
        (["float32", "float64"], [[1.5, None], [0.1, 2.5]], "float"),
        (["date32", "timestamp[us]"], [[NOON.date(), None], [NOON]], "timestamp[us]"),
        (["timestamp[s]", "timestamp[us]"], [[NOON, None], [NOON.replace(microsecond=5)]], "timestamp[us]"),
        (["string", "large_string"], [["x", None], ["y"]], "text"),
        (["null", "int8"], [[None], [5]], "int"),
        (["int8", "null", "int16"], [[5], [None, None], [300]], "int"),
        (["null", "string"], [[None, None], ["x"]], "text"),
        (["int64", "string"], [[1], ["x"]], "column 'x' holds integers in .*0{0}, texts in .*1{0}: .*columns="),
        (["string", "string", "bool"], [["x"], ["y"], [True]], "'x' holds texts in .*0{0}, booleans in .*2{0}:"),
        (["float64", "int64"], [[0.5], [2**53 + 1]], "column 'x' has fractions, and in .*1{0} integers that float64"),
        (
            ["timestamp[us]", "timestamp[us, tz=UTC]"],
            [[NOON], [NOON]],
            "'x' holds timestamps without a zone in .*0{0}, timestamps of the zone UTC in .*1{0}:",
        ),
    ],
)
def test_files_may_differ_in_the_types_of_a_column(tmp_path, ending, types, values, kept):
    known = {"timestamp[us, tz=UTC]": pyarrow.timestamp("us", "UTC")}
    for i, (type, column) in enumerate(zip(types, values)):
        x = pyarrow.array(column, known.get(type) or pyarrow.type_for_alias(type))
        write(pyarrow.table({"a": np.ones(len(column)), "x": x}), tmp_path / f"{i}{ending}")
    files = tmp_path / f"*{ending}"
    if "'x'" in kept:
        with pytest.raises(culmen.InputError, match=kept.format(ending)):
            culmen.Index.from_files(files)
        assert culmen.Index.from_files(files, columns=["a"]).attributes == ("a",)
        return
    index = culmen.Index.from_files(files, ["a"])
    expected = [value for column in values for value in column]
    if kept.startswith("timestamp"):
        expected = [value if value is None else datetime.datetime.combine(value, NOON.time().min) for value in expected]
        expected[-1] = values[-1][-1]
        expected[0] = NOON if types[0].startswith("timestamp") else expected[0]
    assert [index.get(i)["x"] for i in range(len(index))] == expected
    column = index.schema[-1]
    assert kept == column.type + (f"[{column.unit}]" if column.unit else "")


def test_ids_of_several_widths_and_the_place_of_an_infinity(tmp_path):
    for i, (type, ids, a) in enumerate([("int16", [1, 2], [1.0, 2.0]), ("int64", [2**60, 3], [3.0, np.inf])]):
        table = pyarrow.table({"id": pyarrow.array(ids, pyarrow.type_for_alias(type)), "a": a})
        write(table, tmp_path / f"{i}.parquet")
    with pytest.raises(culmen.RowError, match="row 4.*infinity"):
        culmen.Index.from_files(tmp_path / "*.parquet", id="id")
    index = culmen.Index.from_files(tmp_path / "*.parquet", id="id", nulls="drop")
    assert index.ids().tolist() == [1, 2, 2**60]
    write(pyarrow.table({"id": pyarrow.array([7], pyarrow.uint64()), "a": [1.0]}), tmp_path / "2.parquet")
    large = pyarrow.array([2**63], pyarrow.uint64())
    write(pyarrow.table({"id": large, "a": [1.0]}), tmp_path / "3.parquet")
    with pytest.raises(culmen.RowError, match="row 6: column 'id'"):
        culmen.Index.from_files(tmp_path / "*.parquet", ["id"])
    write(pyarrow.table([[1.0], [2.0]], names=["a", "a"]), tmp_path / "twice.feather")
    with pytest.raises(culmen.InputError, match="twice.feather: two columns are called 'a'"):
        culmen.Index.from_files(tmp_path / "twice.feather")
