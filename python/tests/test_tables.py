"""What a table may be, and what is said of those that cannot be taken."""

import datetime
import decimal

import numpy as np
import pytest

import culmen

COLUMNS = {"price": [80.0, 120.0, 60.0], "rating": [8, 9, 6]}
EXPECTED = [1, 0, 2]


def order(table, **options):
    return culmen.Index.build(table, **options).search([1, 1]).ids.tolist()


@pytest.mark.parametrize(
    "dtype", ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">f4", ">f8", ">i4", ">i8", ">u2"]
)
def test_every_type_of_numbers(dtype):
    assert order({name: np.array(column, dtype=dtype) for name, column in COLUMNS.items()}) == EXPECTED


def test_bool_is_ranked_as_0_and_1_if_it_is_named():
    table = {"a": np.array([False, True, True]), "b": np.array([5, 5, 4])}
    assert culmen.Index.build(table).attributes == ("b",)
    index = culmen.Index.build(table, ["a", "b"])
    assert index.search([1, 1]).ids.tolist() == [1, 0, 2] and index.get(1)["a"] is True


@pytest.mark.parametrize("make", [np.ascontiguousarray, np.asfortranarray, lambda m: np.repeat(m, 2, axis=1)[:, ::2]])
def test_matrices_in_any_layout(make):
    matrix = make(np.column_stack(list(COLUMNS.values())))
    assert order(matrix) == EXPECTED
    assert order(matrix[::-1]) == [1, 2, 0]
    assert culmen.Index.build(matrix, ["price:low", "rating"]).attributes == ("price", "rating")


def test_columns_of_arrays_are_named_by_their_order():
    index = culmen.Index.build(np.array([[1.0, 5.0], [2.0, 1.0]]), ["a1", "a0:low"])
    assert index.search({"a0": 1}, 1).ids.tolist() == [0]
    assert index.info.attributes[1].preference == "low"
    assert culmen.Index.build({"x:low": [1], "y:z": [2]}, ["x:low", "y:z:low"]).attributes == ("x:low", "y:z")


def test_subclasses_of_arrays():
    class Named(np.ndarray):
        pass

    assert order(np.column_stack(list(COLUMNS.values())).view(Named)) == EXPECTED
    assert order({name: np.ma.array(column) for name, column in COLUMNS.items()}) == EXPECTED


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "duckdb"])
def test_tables_of_other_libraries(library):
    module = pytest.importorskip(library)
    columns = {"hotel": ["a", None, "a hotel with a long name"], **COLUMNS, "key": [7, 8, 9]}
    if library == "pandas":
        table = module.DataFrame(columns)
    elif library == "polars":
        table = module.DataFrame(columns)
    elif library == "pyarrow":
        table = module.table(columns)
    else:
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame(columns)  # noqa: F841
        table = module.sql("select * from frame")
    index = culmen.Index.build(table, ["price", "rating"], id="key", label="hotel")
    result = index.search([1, 1])
    assert result.ids.tolist() == [8, 7, 9]
    assert result.labels == ["", "a", "a hotel with a long name"]


def test_arrow_in_pieces_with_offsets_and_dictionaries():
    pyarrow = pytest.importorskip("pyarrow")
    whole = pyarrow.table(
        {
            "a": pyarrow.array(np.arange(100.0)),
            "b": pyarrow.array(np.arange(100), type=pyarrow.int16()),
            "flag": pyarrow.array([i % 2 == 0 for i in range(100)]),
            "name": pyarrow.array([f"row {i}" for i in range(100)]).dictionary_encode(),
            "large": pyarrow.array([f"row {i}" for i in range(100)], type=pyarrow.large_string()),
            "view": pyarrow.array([f"row {i}" * (i % 3 + 1) for i in range(100)], type=pyarrow.string_view()),
        }
    )
    table = pyarrow.concat_tables([whole.slice(3, 20), whole.slice(50, 0), whole.slice(31, 13)])
    rows = [*range(3, 23), *range(31, 44)]
    for label in ("name", "large", "view"):
        index = culmen.Index.build(table, ["a", "b", "flag"], label=label)
        result = index.search({"a": 1, "b": -1, "flag": 0.5}, 100)
        expected = sorted(range(len(rows)), key=lambda i: (-0.5 * (rows[i] % 2 == 0), i))
        assert result.ids.tolist() == expected
        assert result.labels == [whole[label][rows[i]].as_py() for i in expected]


def test_what_is_read_in_place_is_not_copied():
    matrix = np.random.default_rng(0).random((1000, 4), dtype=np.float32)
    from culmen._tables import Choice, take_table

    for table in (matrix, {"a": matrix[:, 1]}):
        assert all(np.shares_memory(column.values, matrix) for column in take_table(table, Choice()).columns)
    pyarrow = pytest.importorskip("pyarrow")
    array = pyarrow.array(np.arange(10.0))
    column = take_table(pyarrow.table({"a": array}), Choice()).columns[0].values
    assert column.__array_interface__["data"][0] == array.buffers()[1].address


@pytest.mark.parametrize("missing", ["worst", "median", "mean", 0, "refuse", "drop"])
def test_gaps(missing):
    pyarrow = pytest.importorskip("pyarrow")
    rows = {"a": [1.0, None, 3.0, 5.0], "b": [1, 2, None, 6]}
    tables = [
        pyarrow.table(rows),
        {name: np.ma.masked_equal([v or 0 for v in column], 0) for name, column in rows.items()},
        rows,
    ]
    options = {"id": [10, 11, 12, 13], "label": ["p", "q", "r", "s"]}
    for table in tables:
        if missing == "refuse":
            with pytest.raises(culmen.RowError, match='row 2: column "a"'):
                culmen.Index.build(table, missing="refuse", **options)
        elif missing == "drop":
            index = culmen.Index.build(table, nulls="drop", **options)
            assert index.search([1, 1], missing="fill").ids.tolist() == [13, 10] and index.rows_dropped == 2
            assert index.search([1, 1]).labels == ["s", "p"]
        else:
            index = culmen.Index.build(table, missing={"a": missing, "b": missing}, **options)
            a, b = {"worst": (1, 1), "median": (3, 2), "mean": (3, 3), 0: (0, 0)}[missing]
            assert [attribute.stand_in for attribute in index.info.attributes] == [a, b]
            filled = dict(zip([10, 11, 12, 13], [2, a + 2, 3 + b, 11]))
            expected = sorted(filled.items(), key=lambda item: (-item[1], item[0]))
            result = index.search([1, 1], missing="fill")
            assert list(zip(result.ids.tolist(), result.scores.tolist())) == expected
            assert index.search([1, 1]).ids.tolist() == [13, 10]
            assert index.search([1, 0]).ids.tolist() == [13, 12, 10]
            assert np.isnan(result.attribute("a")[result.ids == 11]) and index.get(11)["a"] is None
            batch = index.search([[1, 1], [1, 0]], missing="fill")
            assert batch.ids[0].tolist() == result.ids.tolist() and index.search([[1, 1]], 4).counts.tolist() == [2]


def test_nan_is_missing_and_infinity_is_refused():
    table = {"a": [1.0, float("nan"), float("inf")]}
    with pytest.raises(culmen.RowError, match="row 3.*infinity") as raised:
        culmen.Index.build(table)
    assert raised.value.row == 2
    assert len(culmen.Index.build(table, nulls="drop")) == 1
    with pytest.raises(culmen.RowError, match="row 3.*infinity"):
        culmen.Index.build({**table, "b": [1, 2, 3]}, ["b"])


@pytest.mark.parametrize(
    ("table", "arguments", "error", "text"),
    [
        ({"a": ["x", "y"]}, {}, culmen.InputError, r"attributes=.*'a' \(text\)"),
        ({"a": ["x", "y"]}, {"attributes": ["a"]}, culmen.InputError, "'a' holds texts.*attributes="),
        ({"a": [1, 2], "b": [1, 2, 3]}, {}, culmen.InvalidArgument, "differ in length"),
        ({"a": [1, 2]}, {"attributes": ["b"]}, culmen.InvalidArgument, "no column 'b'.*'a'"),
        ({"a": [1, 2]}, {"attributes": "a"}, culmen.InvalidArgument, "list of names"),
        ({"a": [1, 2]}, {"attributes": ["a", "a"]}, culmen.InvalidArgument, "twice"),
        ({"a": [1, 2]}, {"attributes": {"a": "good"}}, culmen.InvalidArgument, "high"),
        ({"a": [1, 2]}, {"id": [1, 1]}, culmen.InputError, "unique"),
        ({"a": [1, 2]}, {"id": [1.5, 2]}, culmen.InputError, "integers"),
        ({"a": [1, 2]}, {"id": [1]}, culmen.InvalidArgument, "1 ids for 2 rows"),
        ({"a": [1, 2]}, {"label": ["x"]}, culmen.InvalidArgument, "text for each row: there are 1 for 2 rows"),
        ({"a": [1, 2]}, {"nulls": "error"}, culmen.InvalidArgument, "nulls.*refuse"),
        ({"a": [1, 2]}, {"missing": "best"}, culmen.InvalidArgument, "'best'"),
        ({"a": [1, 2]}, {"missing": {"b": "mean"}}, culmen.InvalidArgument, "no attribute 'b'"),
        ({"a": [1, 2]}, {"columns": "a"}, culmen.InvalidArgument, "list of names"),
        ({"a": [1, 2]}, {"columns": ["b"]}, culmen.InvalidArgument, "no column 'b'"),
        (
            {"distance": [1], "t": [2]},
            {"attributes": ["distanse"]},
            culmen.InvalidArgument,
            """no column 'distanse' for a column .did you mean "distance"..; there are 'distance', 't'""",
        ),
        ({"distance": [1]}, {"attributes": ["Distance"]}, culmen.InvalidArgument, 'did you mean "distance"'),
        ({"distance": [1]}, {"id": "T", "attributes": ["distance"]}, culmen.InvalidArgument, "no column 'T' for"),
        ({"a": [1, 2]}, {"stored": ["b"]}, culmen.InvalidArgument, "no column 'b'"),
        ({"a": [1, 2]}, {"value_type": "half"}, culmen.InvalidArgument, "value_type"),
        ({"a": [1, 2]}, {"device": "gpu"}, culmen.InvalidArgument, "cuda:0"),
        ({"a": np.array(["2020-01-01"], dtype="M8[D]")}, {}, culmen.InputError, r"'a' \(date\)"),
        ({"a": np.array([1, 1 << 63], dtype="u8")}, {}, culmen.RowError, "row 2.*2\\^63"),
        ({"a": [1], "b": np.array([1], dtype="m8[s]")}, {}, culmen.InputError, "'b' holds durations.*columns="),
        ({"a": [1, 2], "b": ["x", 3]}, {}, culmen.RowError, "row 2: column 'b' holds texts, but 3 here"),
        ({"a": [1], "b": [b"x"]}, {}, culmen.InputError, "'b' holds bytes"),
        ({"a": [1], "b": [[1]]}, {}, culmen.InputError, "'b' holds .*list"),
        ({"a": [decimal.Decimal("0.1234567890123456789")]}, {}, culmen.RowError, "row 1.*float64 would round"),
        ({"a": [(1 << 53) + 1]}, {"attributes": ["a"]}, culmen.InputError, "2\\^53"),
        ({"a": [1 << 70]}, {}, culmen.InputError, "2\\^63"),
        ({"a": [object()]}, {}, culmen.InputError, "objects"),
        ({"a": np.zeros((2, 2))}, {}, culmen.InvalidArgument, "dimensions"),
        (np.zeros(3), {}, culmen.InvalidArgument, "1 dimensions"),
        ("hotels.csv", {}, culmen.InvalidArgument, "builtins.str: Index.from_files reads files"),
        ({"": [1, 2]}, {}, culmen.InputError, "empty name: rename it"),
        ({"a": {1, 2}}, {}, culmen.InvalidArgument, "column 'a' is a set"),
        ({"a": [1, 2]}, {"id": [True, False]}, culmen.InputError, "ids are integers; these are booleans"),
        ({"a": [1, 2]}, {"id": [datetime.date(2025, 6, 1)] * 2}, culmen.InputError, "integers; these are dates"),
        ({"a": [1, 2]}, {"id": ["x", "y"], "id_type": "int64"}, culmen.InputError, "these are texts"),
        ({"a": [1, 2]}, {"id": 0}, culmen.InvalidArgument, "no column '0' for the ids; there are 'a'"),
        ({"a": [1, 2]}, {"id": [1, "x"]}, culmen.RowError, "row 2: ids are all integers or all texts; 'x' is here"),
        ({"a": [1]}, {"id": [object()]}, culmen.InputError, "objects of the type object: turn them into texts"),
        ({"a": [1], "key": [b"x"]}, {"id": "key"}, culmen.InputError, "these are bytes: turn them into texts"),
        ({"a": [1, 2], "key": [1, 2]}, {"id": ["key"]}, culmen.InvalidArgument, "name of one column.*not .'key'."),
        ({"a": [1, 2], "key": [1, 2, 3]}, {"id": "key"}, culmen.InvalidArgument, "'a' has 2, 'key' has 3"),
        ({"a": [(1 << 53) + 1]}, {}, culmen.InputError, "'a' .int, some beyond 2.53, which float64 would round"),
        ({}, {}, culmen.InputError, "no attribute"),
        (np.zeros((2, 3)), {"attributes": ["a", "b"]}, culmen.InvalidArgument, "2 attributes for the 3 columns"),
    ],
)
def test_refusals_say_what_to_do(table, arguments, error, text):
    with pytest.raises(error, match=text):
        culmen.Index.build(table, **arguments)


def test_what_arrow_has_and_culmen_does_not_keep_is_named():
    pyarrow = pytest.importorskip("pyarrow")
    one = datetime.timedelta(seconds=1)
    for values, what in (
        (pyarrow.array([[1]]), "lists"),
        (pyarrow.array([{"x": 1}]), "structs"),
        (pyarrow.array([b"x"]), "bytes"),
        (pyarrow.array([datetime.time(1)]), "times of day"),
        (pyarrow.array([one]), "durations"),
    ):
        table = pyarrow.table({"a": [1.0], "odd": values})
        with pytest.raises(culmen.InputError, match=f"column 'odd' holds {what}.*columns="):
            culmen.Index.build(table)
        assert culmen.Index.build(table, columns=["a"]).attributes == ("a",)


@pytest.mark.parametrize("attributes", [["whole:low", "single", "few"], ["whole"]])
def test_pandas_without_pyarrow(monkeypatch, attributes):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "id": [5, 3, 9, 7],
            "whole": pandas.array([4, None, 2, 3], dtype="Int64"),
            "single": np.array([1, 2, 3, 4], dtype=np.float32),
            "few": np.array([1, 0, 1, 0], dtype=bool),
            "text": ["a", None, "ü", ""],
            "kind": pandas.Categorical(["x", "y", None, "x"]),
            "day": [datetime.date(2025, 6, 1), None, datetime.date(1960, 1, 1), datetime.date(2025, 6, 2)],
            "local": pandas.to_datetime(["2025-06-01 12:30", None, "1969-12-31 23:59", "2025-06-01 00:00"]),
            "zoned": pandas.to_datetime(["2025-06-01 12:30", None, "2025-01-01 00:00", "2025-06-01 00:00"]).tz_localize(
                "Europe/Paris"
            ),
        }
    )
    options = {"attributes": attributes, "id": "id", "label": "text"}
    expected = culmen.Index.build(frame, **options)

    def refuse(*_):
        raise ImportError("no pyarrow")

    monkeypatch.setattr(pandas.DataFrame, "__arrow_c_stream__", refuse)
    found = culmen.Index.build(frame, **options)
    assert found.schema == expected.schema
    for id in (5, 3, 9, 7):
        assert dict(found.get(id)) == dict(expected.get(id)) and found.get(id).label == expected.get(id).label
    with pytest.raises(culmen.RowError, match="row 2"):
        culmen.Index.build(frame, **options, missing="refuse")
    with pytest.raises(culmen.InputError, match="'text' holds texts"):
        culmen.Index.build(frame, ["text"])
    with pytest.raises(culmen.InputError, match="two columns are called 'few'"):
        culmen.Index.build(frame[["few", "few"]])
    index = culmen.Index.build(frame[["single", "few"]], ["single", "few"])
    assert index.search(pandas.DataFrame({"few": [1.0, 0.0], "single": [0.0, 1.0]}), 1).ids.tolist() == [[0], [3]]


def test_the_index_of_a_pandas_table_is_no_column():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0, 2.0, 3.0]}, index=[3, 5, 9])
    assert culmen.Index.build(frame).attributes == ("a",)
    assert culmen.Index.build(frame, id=frame.index).search([1]).ids.tolist() == [9, 5, 3]
    frame.index.name = "key"
    assert culmen.Index.build(frame).attributes == ("a",)
    assert culmen.Index.build(frame, id="key").search([1]).ids.tolist() == [9, 5, 3]
    index = culmen.Index.build(frame, id="key")
    assert index.upsert(frame).replaced == 3


def test_names_of_every_kind():
    """Names that are no texts are the texts that str makes of them."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame([[1, 2, "p"], [3, None, "q"]])
    index = culmen.Index.build(frame, {1: "low"}, id=0, label=2, missing={1: "mean"}, columns=[])
    assert [(c.name, c.role) for c in index.schema] == [("0", "id"), ("2", "label"), ("1", "attribute")]
    assert index.upsert(frame).replaced == 2
    day = pandas.Timestamp("2025-06-01")
    nested = pandas.DataFrame({("x", "y"): [1.0, 2.0], ("x", "z"): [4, 3], day: [5, 6], None: [7, 8]})
    index = culmen.Index.build(nested, [("x", "y"), day], id=("x", "z"))
    assert [c.name for c in index.schema] == ["('x', 'z')", "('x', 'y')", "2025-06-01 00:00:00", "None"]
    assert index.search({"('x', 'y')": 1}).ids.tolist() == [3, 4]
    names = ["a b", 'q"x', "p'y", "čau", "a\nb", "and", "1x", "x.y", "%", "(", "a:low"]
    index = culmen.Index.build(dict.fromkeys(names, [1.0, 2.0, None]))
    for name in names:
        quoted = '"' + name.replace('"', '""') + '"'
        for where in (f"{quoted} > 1", culmen.col(name) > 1, {name: (2, None)}, f"not {quoted} <= 1"):
            assert index.search({name: 1}, where=where).ids.tolist() == [1], (name, where)
        assert index.search({name: 1}, where=str(culmen.col(name) > 1)).ids.tolist() == [1]


def test_records_are_columns_by_name():
    records = np.array([(1.5, 7, "x"), (2.5, 8, "y")], dtype=[("a", "f8"), ("n", "i2"), ("t", "U1")])
    for table in (records, np.rec.array(records), np.ma.array(records)):
        index = culmen.Index.build(table, ["a"], id="n")
        assert [dict(index.get(i)) for i in (7, 8)] == [{"a": 1.5, "t": "x"}, {"a": 2.5, "t": "y"}]


def test_columns_of_pandas_are_read_one_by_one():
    """A column that is not kept, or that pyarrow refuses, does not change how the others are read."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "a": [1.0, 2.0],
            "t": pandas.Categorical(["x", None]),
            "n": pandas.array([2**60 + 1, None], dtype="Int64"),
            "odd": pandas.Series(["x", 1.5], dtype=object),
            "complex": [1j, 2],
        }
    )
    index = culmen.Index.build(frame, columns=["a", "t", "n"])
    assert [dict(index.get(i)) for i in range(2)] == [
        {"a": 1.0, "t": "x", "n": 2**60 + 1},
        {"a": 2.0, "t": None, "n": None},
    ]
    assert [column.type for column in index.schema] == ["int", "float", "text", "int"]


def test_columns_of_one_name_are_refused():
    pyarrow = pytest.importorskip("pyarrow")
    for table in (pyarrow.table([[1.0], [2.0]], names=["a", "a"]), {1: [1.0], "1": [5.0]}):
        with pytest.raises(culmen.InputError, match="two columns"):
            culmen.Index.build(table)


def test_masks_are_gaps_wherever_they_are():
    matrix = np.ma.array([[1.0, -999], [2, 3]], mask=[[0, 1], [0, 0]])
    assert culmen.Index.build(matrix).search([1, 1]).ids.tolist() == [1]
    index = culmen.Index.build(matrix, nulls="drop")
    assert index.search([1, 1]).ids.tolist() == [1]
    assert index.insert(matrix).inserted == 2 and index.search([0, 1]).ids.tolist() == [1, 3]
    with pytest.raises(culmen.InvalidArgument):
        index.search(np.ma.array([1.0, 100], mask=[0, 1]))
    assert culmen.Index.build({"a": [1, 2]}, label=np.ma.array(["x", "y"], mask=[0, 1])).search([1]).labels == ["", "x"]


def test_fields_of_packed_records():
    records = np.array([(1.5, 7), (2.5, 8)], dtype="f8,u1")
    assert culmen.Index.build({"a": records["f0"], "b": records["f1"]}).search([1, 1]).scores.tolist() == [10.5, 8.5]


def test_float16_in_arrow():
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"a": pyarrow.array(np.array([1, 2.5], dtype="f2"))})
    assert culmen.Index.build(table).search([1]).scores.tolist() == [2.5, 1.0]


def test_texts_that_are_none():
    with pytest.raises(culmen.InvalidArgument, match="text"):
        culmen.Index.build({"\ud800": [1.0]})
    with pytest.raises(culmen.InputError, match="bytes"):
        culmen.Index.build({"a": [1.0]}, label=[b"x"])


GAPS = {"list": [7, None, 9], "floats": np.array([7, np.nan, 9]), "objects": np.array([7, None, 9], dtype=object)}


@pytest.mark.parametrize("kind", [*GAPS, "pandas", "pandas.Int64", "pandas.NA", "masked"])
def test_rows_whose_id_is_missing_are_dropped_or_named(kind):
    ids = GAPS.get(kind)
    if kind.startswith("pandas"):
        pandas = pytest.importorskip("pandas")
        ids = [7, pandas.NA, 9] if kind == "pandas.NA" else pandas.Series([7, None, 9])
        ids = ids.astype("Int64") if kind == "pandas.Int64" else ids
    elif kind == "masked":
        ids = np.ma.array([7, 8, 9], mask=[False, True, False])
    table = {"id": ids, "a": [1.0, 2.0, 3.0]}
    if kind in ("pandas", "pandas.Int64"):
        table = pandas.DataFrame(table)
    with pytest.raises(culmen.InputError, match="no value in row 2.*nulls='drop'"):
        culmen.Index.build(table, id="id")
    index = culmen.Index.build(table, id="id", nulls="drop")
    assert index.to_dict()["id"].tolist() == [7, 9] and index.to_dict()["a"].tolist() == [1, 3]


@pytest.mark.parametrize(
    ("ids", "text"),
    [
        ([1.5], "1.5 is not"),
        ([2**63], r"int64, -2\^63 to"),
        ([2.0**53], "too large"),
        (["a"], "the ids of this index are integers, which 'a' is not"),
        ([[1, 2]], "2 dimensions"),
    ],
)
def test_ids_to_erase_get_advice_that_fits(ids, text):
    index = culmen.Index.build({"a": [1.0, 2.0]})
    with pytest.raises(ValueError, match=text) as raised:
        index.erase(ids)
    assert isinstance(raised.value, culmen.Error) and "label" not in str(raised.value)
    assert index.erase(np.array([1], dtype=np.float32)) == 1
    with pytest.raises(culmen.InputError, match="too large"):
        index.erase(np.array([2**24], dtype=np.float32))


@pytest.mark.parametrize("kind", ["pyarrow", "pyarrow chunks", "polars", "pandas Int64", "objects", "decimals"])
def test_ids_to_erase_of_other_libraries(kind):
    if kind in ("objects", "decimals"):
        ids = [np.array([1, 3], dtype=object), [decimal.Decimal(1), decimal.Decimal(3)]][kind == "decimals"]
        with_gap = [1, None]
    else:
        library = pytest.importorskip(kind.split()[0])
        make = library.array if kind == "pyarrow" else getattr(library, "Series", None)
        make = {"pyarrow chunks": lambda ids: library.chunked_array([ids, ids])}.get(kind, make)
        make = {"pandas Int64": lambda ids: library.Series(ids, dtype="Int64")}.get(kind, make)
        ids, with_gap = make([1, 3]), make([1, None])
    index = culmen.Index.build({"a": [1.0, 2.0, 3.0, 4.0]})
    with pytest.raises(culmen.InvalidArgument, match="has no value|integers"):
        index.erase(with_gap)
    assert index.erase(ids) == 2 and index.ids().tolist() == [0, 2]


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_a_table_is_not_taken_for_its_first_column(kind):
    library = pytest.importorskip(kind)
    make = library.table if kind == "pyarrow" else library.DataFrame
    index = culmen.Index.build({"price": [2.0, 1.0, 0.0], "key": [1, 2, 3]}, id="key")
    table = make({"price": [2, 1], "key": [3, 3]})
    for call in (index.erase, culmen.ids, lambda ids: culmen.Index.build({"a": [1, 2]}, id=ids)):
        with pytest.raises(culmen.InvalidArgument, match="one column is expected, not a table of 2 .'price', 'key'."):
            call(table)
    assert index.erase(make({"key": [3]})) == 1 and index.ids().tolist() == [1, 2]


def test_a_column_of_nulls_is_all_gaps():
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"a": pyarrow.nulls(3), "b": [1.0, 2.0, 3.0]})
    index = culmen.Index.build(table)
    assert index.attributes == ("b",) and index.search([1])[0]["a"] is None
    assert culmen.Index.build(table, ["a", "b"]).search([1, 1]).ids.tolist() == []
    with pytest.raises(culmen.InputError, match="all 3 rows"):
        culmen.Index.build(table, ["a"], nulls="drop")
    index = culmen.Index.build({"a": [1.0], "b": [1.0]})
    assert index.insert(table, nulls="drop").inserted == 0


def test_a_column_without_values_fits_every_column():
    pyarrow = pytest.importorskip("pyarrow")
    types = {"whole": pyarrow.int64(), "day": pyarrow.date32(), "text": pyarrow.string(), "at": pyarrow.timestamp("us")}
    one = {"whole": [1], "day": [datetime.date(2025, 6, 1)], "text": ["x"], "at": [datetime.datetime(2025, 6, 1)]}
    index = culmen.Index.build({"a": [1.0], **one}, ["a"])
    for kind in types.values():
        index.insert(pyarrow.table({"a": [2.0], **{name: pyarrow.nulls(1, kind) for name in types}}))
    assert [row["text"] for row in index.search([-1])] == ["x"] + [None] * len(types)
    with pytest.raises(culmen.InputError, match="column 'whole' holds dates; the index has integers there"):
        index.insert(pyarrow.table({"a": [2.0, 3.0], **{n: [None, one["day"][0]] for n in types}}))


def test_what_is_no_table_is_named():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1, 2]})
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    for given, text in (
        (frame["a"], "Series"),
        (polars.Series("a", [1, 2]), "Series"),
        (pyarrow.chunked_array([[1, 2]]), "ChunkedArray"),
        (polars.LazyFrame({"a": [1, 2]}), "LazyFrame.*collect"),
        ([[1, 2], [3]], "list"),
        ([{"a": 1}, [1]], "list"),
    ):
        with pytest.raises(culmen.InvalidArgument, match=f"a table is .*{text}"):
            culmen.Index.build(given)
        with pytest.raises(culmen.InvalidArgument, match=f"a table is .*{text}"):
            culmen.Index.create(["a"]).insert(given)
    with pytest.raises(culmen.InputError, match="two columns are called 'a'"):
        culmen.Index.build(pandas.concat([frame, frame], axis=1))
