"""Columns of every type, from every library: what comes out is what went in, and filters find it."""

import datetime
import decimal
import fractions
import itertools
import math
import subprocess
import sys
import zoneinfo

import numpy as np
import pytest

import culmen
from culmen import col

UTC = datetime.timezone.utc
PARIS = zoneinfo.ZoneInfo("Europe/Paris")

#: Names to values, as Python's objects.
MESSY = {
    "id": [11, 12, 13, 14, 15],
    "score": [1.5, None, 3.25, -2.0, 0.0],
    "small": [1, 2, None, -4, 5],
    "wide": [2**62 + 1, None, -(2**62) - 1, 0, 1],
    "flag": [True, None, False, True, False],
    "brand": ["Sony", "", None, "Sony's", "été"],
    "kind": ["x", "y", "x", None, "x"],
    "day": [
        datetime.date(2025, 6, 1),
        datetime.date(1969, 12, 31),
        None,
        datetime.date(2025, 6, 2),
        datetime.date(1, 1, 1),
    ],
    "local": [
        datetime.datetime(2025, 6, 1, 12, 30),
        None,
        datetime.datetime(1969, 12, 31, 23, 59, 59, 250_000),
        datetime.datetime(2025, 6, 1),
        datetime.datetime(2025, 6, 1, 12, 30, 0, 1),
    ],
    "zoned": [
        datetime.datetime(2025, 6, 1, 12, 30, tzinfo=PARIS),
        None,
        datetime.datetime(1969, 12, 31, tzinfo=PARIS),
        datetime.datetime(2025, 6, 1, tzinfo=PARIS),
        datetime.datetime(2025, 6, 1, 12, 30, 0, 1, tzinfo=PARIS),
    ],
}
RANKED = ["score", "small:low"]
TYPES = {
    "score": "float",
    "small": "int",
    "wide": "int",
    "flag": "bool",
    "brand": "text",
    "kind": "text",
    "day": "date",
    "local": "timestamp",
    "zoned": "timestamp",
}


def of_arrow():
    pyarrow = pytest.importorskip("pyarrow")
    types = {
        "score": pyarrow.float32(),
        "small": pyarrow.int8(),
        "brand": pyarrow.large_string(),
        "day": pyarrow.date32(),
        "local": pyarrow.timestamp("us"),
        "zoned": pyarrow.timestamp("us", "Europe/Paris"),
    }
    table = pyarrow.table({name: pyarrow.array(values, types.get(name)) for name, values in MESSY.items()})
    kinds = table["kind"].dictionary_encode()
    return table.set_column(table.schema.get_field_index("kind"), "kind", kinds)


def of_arrow_in_pieces():
    pyarrow = pytest.importorskip("pyarrow")
    table = of_arrow()
    table = table.set_column(7, "day", table["day"].cast(pyarrow.date64()))
    table = table.set_column(5, "brand", table["brand"].cast(pyarrow.string_view()))
    return pyarrow.concat_tables([table.slice(0, 2), table.slice(2, 0), table.slice(2, 3)])


def of_pandas():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({name: pandas.Series(values, dtype=object) for name, values in MESSY.items()})
    frame["id"] = frame["id"].astype("int32")
    frame["score"] = frame["score"].astype("float64")
    frame["small"] = frame["small"].astype("Int16")
    frame["flag"] = frame["flag"].astype("boolean")
    frame["brand"] = frame["brand"].astype("string")
    frame["kind"] = frame["kind"].astype("category")
    frame["local"] = pandas.Series(np.array(MESSY["local"], dtype="M8[us]"))
    return frame


def of_pandas_objects():
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({name: pandas.Series(values, dtype=object) for name, values in MESSY.items()})


def of_polars():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({name: values for name, values in MESSY.items() if name != "zoned"}, strict=False)
    zoned = polars.Series("zoned", [value and value.astimezone(UTC) for value in MESSY["zoned"]])
    zoned = zoned.dt.convert_time_zone("Europe/Paris")
    return frame.with_columns(polars.col("kind").cast(polars.Categorical), polars.col("small").cast(polars.Int8), zoned)


def of_duckdb():
    duckdb = pytest.importorskip("duckdb")
    table = of_arrow()
    connection = duckdb.connect()
    connection.execute("set timezone to 'Europe/Paris'")
    connection.register("t", table)
    return connection.sql("select * replace (kind::enum('x', 'y') as kind) from t")


def of_series():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    return {
        **MESSY,
        "score": np.array([1.5, np.nan, 3.25, -2, 0], dtype="f2"),
        "small": np.ma.array([1, 2, 99, -4, 5], mask=[0, 0, 1, 0, 0], dtype="i1"),
        "wide": pandas.Series(pandas.array(MESSY["wide"], dtype="Int64")),
        "flag": pyarrow.array(MESSY["flag"]),
        "brand": polars.Series(MESSY["brand"]),
        "kind": pandas.Series(MESSY["kind"], dtype="category"),
        "day": np.array(MESSY["day"], dtype="M8[D]"),
        "local": np.array(MESSY["local"], dtype="M8[us]"),
    }


SOURCES = {
    "dict": lambda: MESSY,
    "rows": lambda: [dict(zip(MESSY, row)) for row in zip(*MESSY.values())],
    "arrow": of_arrow,
    "arrow in pieces": of_arrow_in_pieces,
    "pandas": of_pandas,
    "pandas objects": of_pandas_objects,
    "polars": of_polars,
    "duckdb": of_duckdb,
    "series": of_series,
}


def as_written(value):
    return "float" if isinstance(value, float) else type(value).__name__, value


@pytest.mark.parametrize("source", SOURCES)
def test_a_messy_table_comes_out_as_it_went_in(source):
    index = culmen.Index.build(SOURCES[source](), RANKED, id="id", missing={"score": "mean", "small": 7})
    known = {column.name: column for column in index.schema}
    assert {name: column.type for name, column in known.items()} == {"id": "int", **TYPES}
    assert (known["zoned"].time_zone, known["zoned"].unit, known["local"].time_zone) == ("Europe/Paris", "us", "")
    assert (known["small"].preference, known["score"].missing, known["small"].missing) == ("low", "mean", 7.0)
    result = index.search({"score": 0.5, "small": -1}, missing="fill")
    assert len(result) == 5
    for i, id in enumerate(MESSY["id"]):
        expected = {name: values[i] for name, values in MESSY.items() if name != "id"}
        for row in (index.get(id), next(row for row in result if row.id == id)):
            assert {n: as_written(v) for n, v in row.items()} == {n: as_written(v) for n, v in expected.items()}
            assert row["zoned"] is None or row["zoned"].tzinfo is not None
    index.upsert(SOURCES[source]())
    index.insert(SOURCES[source](), id=np.arange(100, 105))
    assert dict(index.get(103)) == dict(index.get(14))


@pytest.mark.parametrize("source", ["dict", "arrow", "pandas", "polars"])
def test_answers_are_tables_that_can_be_read_again(source, monkeypatch):
    monkeypatch.setattr("culmen._rows._PART_ROWS", 2)
    index = culmen.Index.build(SOURCES[source](), RANKED, id="id")
    everything = [index, index.search({"score": 1}, missing="fill")]
    for library in ("to_dict", "to_arrow", "to_pandas", "to_polars"):
        pytest.importorskip(library[3:].replace("arrow", "pyarrow")) if library != "to_dict" else None
        for given in everything:
            table = getattr(given, library)()
            ranked = RANKED
            if given is not index:  # an answer has scores of its own
                ranked = ["attribute.score", "small:low"]
            again = culmen.Index.build(table, ranked, id="id", columns=[name for name in TYPES if name != "score"])
            for id in MESSY["id"]:
                found, expected = dict(again.get(id)), dict(index.get(id))
                if library == "to_dict":  # NumPy has no zones
                    assert (found.pop("zoned") is None) == (expected.pop("zoned") is None)
                assert list(found.values()) == list(expected.values())
    batch = index.search([{"score": 1}, {"small": -1}], 3, missing="fill")
    names = ["query", "rank", "id", "score", "attribute.score", *[name for name in TYPES if name != "score"]]
    for table in (batch.to_dict(), batch.to_arrow().to_pydict(), batch.to_pandas(), batch.to_polars().to_dict()):
        assert list(table) == names and len(table["id"]) == 6


TRIPS = {
    "named": (MESSY, {"attributes": RANKED, "id": "id", "label": "kind"}),
    "other names": (
        {{"id": "key", "kind": "score", "score": "rating"}.get(name, name): values for name, values in MESSY.items()},
        {"attributes": ["rating", "small:low"], "id": "key", "label": "score"},
    ),
    "no ids": ({name: MESSY[name] for name in MESSY if name != "id"}, {"attributes": RANKED}),
    "given": (MESSY, {"attributes": RANKED, "id": [5, 4, 3, 2, 1], "label": ["p", "q", "r", "s", "t"]}),
    "names of answers": (
        {"score": [1.0, None, 3.0], "id": [4, 4, 6], "label": ["x", None, "z"], "rank": [7, 8, 9], "query": [1, 2, 3]},
        {"attributes": ["score", "rank", "id"], "label": ["p", "q", "r"]},
    ),
    "ranked ids": ({"k": [3, 1, 2], "a": [1.0, 2.0, 3.0]}, {"attributes": ["a", "k"], "id": "k"}),
}


@pytest.mark.parametrize("trip", TRIPS)
@pytest.mark.parametrize(
    ("what", "library"),
    [
        *itertools.product(["index", "answer", "answers"], ["to_dict", "to_arrow", "to_pandas", "to_polars"]),
        ("index", "to_batches"),
    ],
)
def test_what_comes_out_goes_in_again_without_options(trip, what, library):
    for module in {"to_pandas": ["pandas"], "to_polars": ["polars"], "to_dict": []}.get(library, ["pyarrow"]):
        pytest.importorskip(module)
    table, options = TRIPS[trip]
    index = culmen.Index.build(table, **options)
    ids = index.ids().tolist()
    first = {index.attributes[0]: 1}
    given = {"index": index, "answer": index.search(first, missing="fill")}
    given["answers"] = index.search([first], missing="fill")

    def rows():
        return [(id, index.get(id).label, [as_written(v) for v in index.get(id).values()]) for id in index.ids()]

    before = rows()
    assert index.upsert(getattr(given[what], library)()).replaced == len(ids)
    assert rows() == before
    again = getattr(given[what], library)()
    index.erase(ids)
    assert index.insert(again).inserted == len(ids) and rows() == before
    with index.batch() as batch:
        batch.upsert(getattr(given[what], library)())
    assert rows() == before and index.verify() == []


@pytest.mark.parametrize("library", ["to_dict", "to_arrow", "to_pandas", "to_polars"])
def test_a_column_that_looks_renamed_is_none(library):
    table = {"a": [1.0, 2.0], "attribute.a": [5.0, 6.0], "attribute.b": ["x", "y"]}
    index = culmen.Index.build(table, ["a"])
    assert index.upsert(getattr(index, library)()).replaced == 2
    assert dict(index.get(1)) == {"a": 2.0, "attribute.a": 6.0, "attribute.b": "y"}
    other = culmen.Index.create(["a"])
    other.insert({"a": [1.0], "attribute.a": [7.0]})
    assert other.get(0)["a"] == 1.0


def test_types_of_other_libraries_are_kept():
    pyarrow, pandas, polars = map(pytest.importorskip, ("pyarrow", "pandas", "polars"))
    index = culmen.Index.build(of_arrow(), RANKED, id="id")
    schema = index.to_arrow().schema
    assert schema.field("day").type == pyarrow.date32() and schema.field("flag").type == pyarrow.bool_()
    assert schema.field("zoned").type == pyarrow.timestamp("us", "Europe/Paris")
    assert index.to_arrow()["small"].null_count == index.to_arrow()["score"].null_count == 1
    frame = index.to_pandas()
    assert str(frame.dtypes["small"]) == "Int64" and str(frame.dtypes["flag"]) == "boolean"
    assert str(frame.dtypes["local"]) == "datetime64[us]" and frame["zoned"].dt.tz == PARIS
    assert frame["score"].isna().sum() == frame["day"].isna().sum() == frame["brand"].isna().sum() == 1
    assert index.to_polars().schema["zoned"] == polars.Datetime("us", "Europe/Paris")
    assert index.to_polars()["wide"].to_list() == MESSY["wide"]
    batches = index.to_batches()
    assert batches.schema == schema


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Paris", "+02:00"])
def test_timestamps_of_every_unit_and_zone(unit, zone):
    pyarrow, pandas = pytest.importorskip("pyarrow"), pytest.importorskip("pandas")
    counts = pyarrow.array([1_750_000_000, None, -1], pyarrow.int64())
    table = pyarrow.table({"a": [1.0, 2.0, 3.0], "t": counts.view(pyarrow.timestamp(unit, zone))})
    index = culmen.Index.build(table)
    assert index.to_arrow()["t"].combine_chunks().equals(table["t"].combine_chunks())
    assert index.schema[-1].unit == unit and index.schema[-1].time_zone == (zone or "")
    value = index.get(0)["t"]
    assert isinstance(value, pandas.Timestamp if unit == "ns" else datetime.datetime)
    assert (value.tzinfo is None) == (zone is None)
    for given in (value, np.datetime64(1_750_000_000, unit) if zone is None else value.astimezone(UTC)):
        assert index.search([1], where=col("t") == given).ids.tolist() == [0]
        assert index.search([1], where={"t": (given, None)}).ids.tolist() == [0]
        assert index.search([1], where=col("t") < given).ids.tolist() == [2]
    index.to_pandas(), index.to_polars()


@pytest.mark.parametrize(
    ("unit", "zone", "count"),
    [
        ("s", "Europe/Paris", 253_402_300_799),  # the last second of 9999, in UTC
        ("us", "Asia/Tokyo", 253_402_300_799_000_000),
        ("ms", "America/New_York", -62_135_596_800_000),
        ("ns", "Europe/Paris", 2**63 - 1),
        ("ns", "America/New_York", -(2**63) + 1),
    ],
)
def test_a_moment_beyond_the_last_year_in_its_zone_alone(unit, zone, count):
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"a": [1.0], "t": pyarrow.array([count], pyarrow.timestamp(unit, zone))})
    index = culmen.Index.build(table, ["a"])
    assert index.get(0)["a"] == 1.0
    assert index.search([1])[0]["t"] == np.datetime64(count, unit)
    assert repr(index.search([1]))


YEARS = ["2025-06-01", "-0044-03-15", "-0001-12-31", "0000-02-29", "9999-12-31", "12345-01-01", "5881580-07-11"]


@pytest.mark.parametrize("unit", ["D", "s", "ms", "us"])
@pytest.mark.parametrize("ranked", [False, True])
def test_years_of_any_length_come_back_by_way_of_csv(unit, ranked, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    times = np.array(YEARS[: 6 if unit == "us" else 7], dtype=f"M8[{unit}]")
    index = culmen.Index.build({"a": np.arange(len(times)), "t": times}, ["t", "a"] if ranked else ["a"])
    index.save(tmp_path / "index")
    command = [sys.executable, "-m", "culmen", "export", tmp_path / "index", tmp_path / "rows.csv"]
    subprocess.run(command, check=True)
    again = culmen.Index.from_files(tmp_path / "rows.csv", ["t", "a"] if ranked else ["a"], id="id")
    assert again.to_dict()["t"].astype(times.dtype).tolist() == times.tolist()
    for given in times:
        assert index.search([1] * len(index.attributes), where=col("t") == given).to_dict()["t"] == [given]
    if unit == "D":
        assert index.to_arrow()["t"].cast(pyarrow.int32()).to_pylist() == times.astype("i8").tolist()


def test_what_numpy_would_take_for_a_missing_time_is_refused():
    pyarrow = pytest.importorskip("pyarrow")
    least = pyarrow.array([0, -(2**63)]).view(pyarrow.timestamp("us"))
    for attributes in (["a"], ["a", "t"]):
        with pytest.raises(culmen.InputError, match="row 2: column .t.*NaT"):
            culmen.Index.build(pyarrow.table({"a": [1, 2], "t": least}), attributes)
    index = culmen.Index.build({"a": [1], "t": np.array([7], "M8[us]")}, ["a"])
    with pytest.raises(culmen.InputError, match="NaT"):
        index.insert(pyarrow.table({"a": [1, 2], "t": least}))
    with pytest.raises(culmen.InputError, match="beyond the dates"):
        culmen.Index.build({"a": [1], "day": np.array([2**31], "M8[D]")}, ["a"])


LARGE = 2**53 + 1  # not a float64


@pytest.mark.parametrize("source", ["list", "pandas", "array"])
@pytest.mark.parametrize(
    ("values", "kept"),
    [
        ([LARGE, 3], [LARGE, 3]),
        ([LARGE, None], [LARGE, None]),
        ([decimal.Decimal(LARGE), 3], [LARGE, 3]),
        ([decimal.Decimal(LARGE), math.nan], [LARGE, None]),
        ([fractions.Fraction(8, 2), decimal.Decimal(-(2**63))], [4, -(2**63)]),
        ([fractions.Fraction(1, 4), 2], [0.25, 2.0]),
        ([2**64, 0.5], [2.0**64, 0.5]),
        ([decimal.Decimal("0.1"), decimal.Decimal("NaN")], [0.1, None]),
        ([decimal.Decimal("1E+30"), None], [1e30, None]),
        ([LARGE, 0.5], "row 1: column 'x': float64 would round 9007199254740993.*make the column float"),
        ([0.5, True, LARGE], "row 3: column 'x': float64 would round 9007199254740993"),
        ([np.int64(LARGE), 0.5], "row 1: column 'x': float64 would round"),
        ([0.5, fractions.Fraction(1, 3)], "row 2: column 'x': float64 would round 1/3"),
        ([decimal.Decimal(LARGE), decimal.Decimal("0.5")], "row 1: column 'x': float64 would round"),
        ([np.longdouble(1) / 3, 1.0], "row 1: column 'x': float64 would round"),
        ([datetime.date(2025, 6, 1), datetime.datetime(2025, 6, 1, 12)], "row 2: column 'x' holds dates, but"),
    ],
)
def test_no_digit_is_lost_unseen(source, values, kept):
    if source == "pandas":
        column = pytest.importorskip("pandas").Series(values, dtype=object)
    else:
        column = np.array([*values, None], dtype=object)[:-1] if source == "array" else values
    table = {"a": np.zeros(len(values)), "x": column}
    for given in (table, pytest.importorskip("pandas").DataFrame(table)) if source == "pandas" else (table,):
        if isinstance(kept, str):
            with pytest.raises(culmen.RowError, match=kept):
                culmen.Index.build(given)
            assert culmen.Index.build(given, columns=["a"]).attributes == ("a",)
            continue
        index = culmen.Index.build(given, ["a"])
        assert [as_written(index.get(i)["x"]) for i in range(len(kept))] == [as_written(value) for value in kept]
        if LARGE in kept:
            assert index.search([1], where=f"x = {LARGE}").ids.tolist() == [0]
            with pytest.raises(culmen.RowError, match="row 1.*9007199254740993"):
                culmen.Index.build(given, ["x"])


@pytest.mark.parametrize("kind", ["pyarrow", "pyarrow chunks", "polars", "pandas", "pandas objects", "list", "array"])
def test_ids_and_labels_of_other_libraries(kind):
    given = {"list": list, "array": lambda values: np.array(values, dtype=object)}.get(kind)
    if given is None:
        library = pytest.importorskip(kind.split()[0])
        given = {
            "pyarrow": library.array if kind == "pyarrow" else None,
            "pyarrow chunks": lambda values: library.chunked_array([values[:1], values[1:]]),
            "polars": getattr(library, "Series", None),
            "pandas": lambda values: library.Series(values, dtype="str" if isinstance(values[0], str) else "Int64"),
            "pandas objects": lambda values: library.Series(values, dtype=object, index=[9, 9, 9]),
        }[kind]
    ids, labels = given([LARGE, None, 7]), given(["x", "y", None])
    index = culmen.Index.build({"a": [1.0, 2.0, 3.0]}, id=ids, label=labels, nulls="drop")
    assert [(id, index.get(id).label) for id in index.ids()] == [(7, ""), (LARGE, "x")]
    index.insert({"a": [1.0, 2.0, 3.0]}, id=given([1, LARGE + 2, 3]), label=labels)
    assert index.get(LARGE + 2).label == "y"
    assert index.erase(given([LARGE, LARGE + 2, 5])) == 2


def test_no_digit_of_a_matrix_or_an_id_is_lost_unseen():
    with pytest.raises(culmen.RowError, match="row 1.*a0.*9007199254740993"):
        culmen.Index.build([[LARGE, 0.5], [1, 2]])
    assert culmen.Index.build([[2**53, 0.5], [1, 2]]).get(0)["a0"] == 2.0**53
    for ids in ([decimal.Decimal(LARGE), 7], [LARGE, 7.0], {"x": LARGE, "y": 7}.values()):
        if isinstance(ids, list) and type(ids[1]) is float:
            with pytest.raises(culmen.RowError, match="the ids.*round"):
                culmen.Index.build({"a": [1, 2]}, id=ids)
        else:
            assert culmen.Index.build({"a": [1, 2]}, id=ids).ids().tolist() == [7, LARGE]


@pytest.mark.parametrize("library", ["pyarrow", "polars", "duckdb"])
def test_decimals_without_digits_after_the_point_are_integers(library):
    """As DuckDB's sums, and all integers of some databases."""
    module = pytest.importorskip(library)
    values = [LARGE, None, -(2**63), 2**63 - 1]

    def table(values):
        if library == "duckdb":
            shown = ", ".join("(null)" if value is None else f"({value}::hugeint)" for value in values)
            return module.sql(f"select 1.5::double as a, x from (values {shown}) t(x)")
        decimals = [None if value is None else decimal.Decimal(value) for value in values]
        if library == "polars":
            x = module.Series(decimals, dtype=module.Decimal(38, 0))
            return module.DataFrame({"a": [1.5] * len(values), "x": x})
        return module.table({"a": [1.5] * len(values), "x": module.array(decimals, module.decimal128(38, 0))})

    index = culmen.Index.build(table(values))
    assert [index.get(i)["x"] for i in range(4)] == values and index.schema[-1].type == "int"
    keyed = culmen.Index.build(table([LARGE, 2]), id="x")
    assert keyed.ids().tolist() == [2, LARGE]
    for beyond in (2**63, -(2**63) - 1, 10**30):
        with pytest.raises(culmen.RowError, match="row 2: column 'x' has an integer beyond 2\\^63: cast"):
            culmen.Index.build(table([1, beyond]))


def test_decimals_of_a_negative_scale_are_integers():
    pyarrow = pytest.importorskip("pyarrow")
    x = pyarrow.array([decimal.Decimal("-1500"), None], pyarrow.decimal128(5, -2))
    index = culmen.Index.build(pyarrow.table({"x": x}))
    assert (index.get(0)["x"], index.get(1)["x"], index.schema[-1].type) == (-1500, None, "int")


def test_what_is_numeric_is_ranked_and_the_rest_are_fields():
    index = culmen.Index.build({**MESSY, "note": [f"n{i}" for i in range(5)]}, id="id")
    assert index.attributes == ("score", "small")  # float64 does not hold the integers of `wide`
    fields = {"wide", "flag", "brand", "kind", "day", "local", "zoned", "note"}
    assert {column.name for column in index.schema if column.role == "filter"} == fields
    assert culmen.Index.build({"a": [2**60, -(2**53), None]}).attributes == ("a",)


def test_columns_and_stored_say_what_is_kept():
    table = {"a": [1.0, 2.0], "b": [3, 4], "c": ["x", "y"], "d": ["p", "q"], "bad": [[1], [2]]}
    index = culmen.Index.build(table, columns=["a", "c"], stored=["d"])
    assert [(c.name, c.role) for c in index.schema] == [
        ("id", "id"),
        ("a", "attribute"),
        ("c", "filter"),
        ("d", "stored"),
    ]
    assert dict(index.get(0)) == {"a": 1.0, "c": "x", "d": "p"}
    with pytest.raises(culmen.InvalidArgument, match="stored"):
        index.search([1], where="d = 'p'")
    numbers = culmen.Index.build({"a": [1, 2], "b": [3, 4]}, stored=["b"])
    assert numbers.attributes == ("a",) and numbers.get(1)["b"] == 4


def test_nearly_unique_texts_are_stored_by_default():
    texts = [f"row {i}" for i in range(2000)]
    table = {"a": np.arange(2000.0), "note": texts, "few": [f"{i % 7}" for i in range(2000)]}
    roles = {c.name: c.role for c in culmen.Index.build(table).schema}
    assert roles["note"] == "stored" and roles["few"] == "filter"
    index = culmen.Index.build(table, stored=[])
    assert index.search([1], where=col("note") == "row 5").ids.tolist() == [5]
    assert {c.name: c.role for c in culmen.Index.build({"a": [1.0], "note": ["x"]}).schema}["note"] == "filter"


def test_dates_can_be_ranked():
    days = [datetime.date(2025, 6, 1), None, datetime.date(2025, 6, 3)]
    index = culmen.Index.build({"day": days, "ok": [True, False, None]}, ["day", "ok"])
    result = index.search({"day": 1})
    assert [row["day"] for row in result] == [days[2], days[0]]
    assert result.scores.tolist() == [(day - datetime.date(1970, 1, 1)).days for day in (days[2], days[0])]
    assert index.search({"day": 1}, where=col("day") > datetime.date(2025, 6, 1)).ids.tolist() == [2]


DECIMALS = [decimal.Decimal("0.10"), None, decimal.Decimal("-123456789012.345"), decimal.Decimal("7")]


@pytest.mark.parametrize("library", ["list", "pyarrow", "pyarrow256", "pandas", "polars", "duckdb"])
def test_decimals_of_up_to_15_digits_are_numbers(library):
    module = pytest.importorskip(library.rstrip("256")) if library != "list" else None
    values = [*DECIMALS, decimal.Decimal("1234567890123.4567")]

    def table(values):
        if library in ("list", "pandas"):
            return {"a": values} if module is None else module.DataFrame({"a": values})
        if library == "polars":
            return module.DataFrame({"a": module.Series(values, dtype=module.Decimal(30, 4))})
        if library == "duckdb":
            shown = ", ".join("(null)" if value is None else f"({value}::decimal(30, 4))" for value in values)
            return module.sql(f"select * from (values {shown}) t(a)")
        kind = module.decimal256(50, 4) if library == "pyarrow256" else module.decimal128(30, 4)
        return module.table({"a": module.array(values, kind)})

    index = culmen.Index.build(table(DECIMALS))
    assert [index.get(i)["a"] for i in range(4)] == [0.1, None, -123456789012.345, 7.0]
    assert index.search([1], where="a = 0.1").ids.tolist() == [0]
    with pytest.raises(culmen.RowError, match="row 5: column 'a'.*float64 would round") as raised:
        culmen.Index.build(table(values))
    assert raised.value.row == 4


@pytest.mark.parametrize(
    ("column", "text"),
    [
        ([1.0, math.inf], "row 2.*infinity"),
        (np.array([1, -np.inf], dtype="f4"), "row 2.*infinity"),
        (np.array([2**63 - 1, 2**63], dtype="u8"), "row 2.*2\\^63"),
        ([1, 2**63], "row 2.*2\\^63"),
        (["x", 1.5], "row 2.*holds texts, but 1.5"),
        ([datetime.date(2025, 1, 1), datetime.datetime(2025, 1, 1)], "row 2.*holds dates, but"),
        ([datetime.datetime(2025, 1, 1), datetime.datetime(2025, 1, 1, tzinfo=UTC)], "row 2.*time zone"),
        ([datetime.timedelta(1), None], "timedelta"),
        ([datetime.time(1), None], "time"),
        (np.array([b"x", b"y"]), "bytes"),
        (np.array([1, 2], dtype="m8[D]"), "durations"),
        ([{"x": 1}, None], "dict"),
        (["x", "\ud800"], "row 2.*Unicode"),
    ],
)
def test_what_is_not_kept_is_named_with_its_place(column, text):
    table = {"a": [1.0, 2.0], "odd": column}
    for attributes in (["a"], None):
        with pytest.raises(culmen.InputError, match=text):
            culmen.Index.build(table, attributes)
    assert culmen.Index.build(table, columns=["a"]).attributes == ("a",)
    index = culmen.Index.create(["a"], fields={"odd": "int"})
    with pytest.raises(culmen.InputError, match="row 2|odd"):
        index.insert(table)


def test_integers_beyond_2_to_63_may_be_masked():
    largest = np.ma.array([1, 2**63 + 5], mask=[False, True], dtype="u8")
    assert culmen.Index.build({"a": largest}).get(1)["a"] is None


def test_pandas_has_columns_that_are_not_kept():
    pandas = pytest.importorskip("pandas")
    for column in (
        pandas.Series(["x", 1.5]),
        pandas.Series(pandas.period_range("2020", "2021", freq="Y")),
        pandas.Series(pandas.interval_range(0, 2)),
        pandas.Series(pandas.to_timedelta([1, 2])),
        pandas.Series([1j, 2]),
    ):
        frame = pandas.DataFrame({"a": [1.0, 2.0], "odd": column})
        with pytest.raises(culmen.InputError, match="'odd' holds .*columns="):
            culmen.Index.build(frame)
        assert culmen.Index.build(frame, columns=["a"]).attributes == ("a",)


def test_infinity_is_no_value_of_a_field():
    index = culmen.Index.create(["a"], fields={"f": "float", "i": "int", "b": "bool"})
    for wrong in ({"f": [math.inf]}, {"i": [1.5]}, {"b": [2]}, {"i": ["x"]}, {"f": [datetime.date(2025, 1, 1)]}):
        row = {"a": [1.0], "f": [None], "i": [None], "b": [None]} | wrong
        with pytest.raises(culmen.InputError, match=next(iter(wrong))):
            index.insert(row)
    index.insert({"a": [1.0], "f": [3], "i": [3.0], "b": [1]})
    assert [as_written(value) for value in index.get(0).values()] == [
        ("float", 1.0),
        ("float", 3.0),
        ("int", 3),
        ("bool", True),
    ]


def test_times_are_taken_in_the_units_of_the_index():
    index = culmen.Index.create(
        ["a"], fields={"s": "timestamp[s]", "ns": "timestamp[ns, UTC]", "day": "date", "note": "text"}, stored=["note"]
    )
    noon, day = datetime.datetime(2025, 6, 1, 12), datetime.date(2025, 6, 1)
    index.insert({"a": [1], "s": [noon], "ns": [noon.replace(tzinfo=PARIS)], "day": [day], "note": ["n"]})
    index.insert({"a": [2], "s": [day], "ns": [None], "day": [datetime.datetime(2025, 6, 1)], "note": [None]})
    index.insert(
        {"a": [3], "s": np.array(["2025-06-01T12"], dtype="M8[h]"), "ns": [None], "day": [None], "note": [None]}
    )
    rows = [index.get(i) for i in range(3)]
    assert [row["s"] for row in rows] == [noon, datetime.datetime(2025, 6, 1), noon]
    assert [row["day"] for row in rows] == [day, day, None] and rows[0]["ns"] == noon.replace(tzinfo=PARIS)
    row = {"a": [1], "s": [None], "ns": [None], "day": [None], "note": [None]}
    for wrong, text in (
        ({"s": [noon.replace(microsecond=1)]}, "row 1.*'s'.*exactly"),
        ({"day": [noon]}, "row 1.*'day'.*exactly"),
        ({"s": [noon.replace(tzinfo=UTC)]}, "'s' holds timestamps of a time zone"),
        ({"ns": [noon]}, "'ns' holds timestamps of no time zone"),
        ({"ns": [datetime.datetime(2600, 1, 1, tzinfo=UTC)]}, "row 1.*'ns'.*exactly"),
        ({"note": [5]}, "'note' holds integers"),
        ({"s": ["2025-06-01"]}, "'s' holds texts"),
    ):
        with pytest.raises(culmen.InputError, match=text):
            index.insert(row | wrong)
    for wrong in ({"x": "timestamp[h]"}, {"x": "string"}):
        with pytest.raises(culmen.InvalidArgument, match="a field is"):
            culmen.Index.create(["a"], fields=wrong)
    with pytest.raises(culmen.InvalidArgument, match="no field 'x'"):
        culmen.Index.create(["a"], stored=["x"])


def test_an_index_of_fields_survives_its_directory(tmp_path):
    index = culmen.Index.build(MESSY, RANKED, id="id", stored=["brand"], missing="median")
    index.save(tmp_path / "index")
    with culmen.Index.open(tmp_path / "index", writable=True) as opened:
        assert opened.schema == index.schema and opened.info.attributes == index.info.attributes
        opened.upsert(MESSY)
        opened.erase(11)
        opened.insert({**MESSY, "id": [1, 2, 3, 4, 5]})
    opened = culmen.Index.open(tmp_path / "index")
    assert [dict(opened.get(id)) for id in (12, 15, 1, 2)] == [dict(index.get(id)) for id in (12, 15, 11, 12)]
    assert opened.verify() == []


def test_filters_with_values_of_every_type():
    pandas = pytest.importorskip("pandas")
    index = culmen.Index.build(MESSY, RANKED, id="id")

    def found(where):
        return sorted(index.search({"score": 1}, where=where, missing="fill").ids.tolist())

    noon = MESSY["local"][0]
    for where, expected in (
        (col("wide") == decimal.Decimal(2**62 + 1), [11]),
        (col("wide") == fractions.Fraction(2**62 + 1), [11]),
        (col("wide").isin([decimal.Decimal(2**62), decimal.Decimal(1)]), [15]),
        (col("small") > fractions.Fraction(4, 3), [12, 15]),
        (col("score") == decimal.Decimal("3.25"), [13]),
        (col("wide") < decimal.Decimal("1E+30"), [11, 13, 14, 15]),
        (col("brand") == "Sony", [11]),
        ("brand = 'Sony''s'", [14]),
        (col("brand") != "Sony", [12, 14, 15]),
        (~(col("brand") == "Sony"), [12, 14, 15]),
        (col("brand").startswith("Sony"), [11, 14]),
        (col("brand").startswith(""), [11, 12, 14, 15]),
        (col("brand").isin(["", "été", "nothing"]), [12, 15]),
        (col("brand").between("A", "T"), [11, 14]),
        (col("brand").is_null(), [13]),
        (col("brand").is_not_null() & (col("kind") == "x"), [11, 15]),
        ((col("kind") == "y") | col("kind").is_null(), [12, 14]),
        ({"brand": "Sony"}, [11]),
        ({"brand": ["Sony", "été"], "flag": False}, [15]),
        ({"brand": ("S", None)}, [11, 14, 15]),
        ({"brand": None}, [13]),
        ({"day": (datetime.date(1969, 12, 31), datetime.date(2025, 6, 1))}, [11, 12]),
        (col("flag") == True, [11, 14]),  # noqa: E712
        (col("flag") == np.bool_(False), [13, 15]),
        (col("wide") == 2**62 + 1, [11]),
        (col("wide") < np.int64(0), [13]),
        (col("wide") >= np.uint64(2**62 + 2), []),
        (col("small") > np.float32(1.5), [12, 15]),
        (col("small").is_null(), [13]),
        (col("score").is_null(), [12]),
        (col("day") == datetime.date(2025, 6, 1), [11]),
        (col("day") < datetime.date(1970, 1, 1), [12, 15]),
        (col("day") >= np.datetime64("2025-06-01"), [11, 14]),
        (col("day") >= np.datetime64("2025"), [11, 14]),
        (col("day") > pandas.Timestamp("2025-06-01 00:00:00"), [14]),
        (col("day") == datetime.datetime(2025, 6, 1, 12), []),
        (col("day").isin([datetime.date(1, 1, 1), datetime.date(2025, 6, 2)]), [14, 15]),
        (col("local") == noon, [11]),
        (col("local") > pandas.Timestamp(noon), [15]),
        (col("local") > pandas.Timestamp("2025-06-01 12:30:00.000000999"), [15]),
        (col("local") <= np.datetime64("2025-06-01T12:30"), [11, 13, 14]),
        (col("local") == datetime.date(2025, 6, 1), [14]),
        (col("zoned") == MESSY["zoned"][0], [11]),
        (col("zoned") == MESSY["zoned"][0].astimezone(UTC), [11]),
        (col("zoned") > pandas.Timestamp(MESSY["zoned"][0]), [15]),
        (col("zoned").between(MESSY["zoned"][3], MESSY["zoned"][0]), [11, 14]),
        (culmen.id_col().isin([11, np.int32(13)]), [11, 13]),
        (None, [11, 12, 13, 14, 15]),
    ):
        assert found(where) == expected, where
        if isinstance(where, culmen.Filter):
            assert found(str(where)) == expected, str(where)


@pytest.mark.parametrize(
    ("where", "text"),
    [
        (lambda: col("brand") == 5, "brand. holds texts"),
        (lambda: col("small") == "x", "small. holds numbers"),
        (lambda: col("day") == "tomorrow", "day. holds dates"),
        (lambda: col("local") == MESSY["zoned"][0], "local. has no time zone"),
        (lambda: col("small").startswith("x"), "prefix"),
        (lambda: col("branc") == "x", 'no column "?branc.*brand'),
        (lambda: {"brand": ("Z", "A")}, "least, most"),
        (lambda: col("brand") == None, r"is_null\(\)"),  # noqa: E711
        (lambda: col("brand").isin(["x", None]), r"is_null\(\)"),
        (lambda: col("day") == np.datetime64("NaT"), r"is_null\(\)"),
        (lambda: col("brand") == b"x", "not a number"),
        (lambda: col("brand") == [1], "not a number"),
        (lambda: col("small") < col("score"), "a value of a filter is a column"),
        (lambda: {"small": (None, col("score"))}, "a limit of a filter is a column"),
        (lambda: "brand = Sony", "position"),
    ],
)
def test_filters_that_make_no_sense_say_why(where, text):
    index = culmen.Index.build(MESSY, RANKED, id="id")
    with pytest.raises(culmen.InvalidArgument, match=text):
        index.search({"score": 1}, where=where())


def test_na_of_pandas_is_no_value_of_a_filter():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(culmen.InvalidArgument, match=r"is <NA>: is_null\(\)"):
        _ = col("brand") == pandas.NA
    with pytest.raises(TypeError, match="startswith takes one text"):
        col("brand").startswith(("x", "y"))


def test_missing_is_skip_or_fill():
    index = culmen.Index.build(MESSY, RANKED, id="id", missing={"score": 10})
    assert index.search({"score": 1}, 1).ids.tolist() == [13]
    assert index.search({"score": 1}, 1, missing="fill").ids.tolist() == [12]
    assert index.search([[1, 0], [0, 1]], 2, missing="fill").ids.tolist() == [[12, 13], [13, 15]]
    assert index.search([[1, 0], [1, 1]], 9).counts.tolist() == [4, 3]
    assert index.search([[1, 0], [1, 1]], None, min_score=-99).counts.tolist() == [4, 3]
    assert index.explain({"score": 1}, missing="fill").engine
    with pytest.raises(culmen.InvalidArgument, match='missing is "skip" or "fill"'):
        index.search({"score": 1}, missing="worst")
    with pytest.raises(TypeError, match="missing is a text"):
        index.search({"score": 1}, missing=None)
    table = {"a": [1.0, None, 3.0], "b": [5, 1, 1]}
    assert culmen.rank(table, {"a": 1}).ids.tolist() == [2, 0]
    assert culmen.rank(table, {"a": 1}, missing=9).ids.tolist() == [1, 2, 0]
    assert culmen.rank(table, {"a": 1}, missing={"a": "mean"}, where="b < 5").ids.tolist() == [2, 1]


@pytest.mark.parametrize("score", [math.inf, -math.inf])
def test_an_infinite_min_score_is_refused(score):
    index = culmen.Index.build({"a": [1.0]})
    with pytest.raises(culmen.InvalidArgument, match="min_score: -?inf is not a finite number"):
        index.search([1], min_score=score)


# ---- a small table against plain Python


def random_table(rng, num_rows):
    def with_gaps(values):
        share = rng.choice([0, 0.1, 0.5])
        return [None if rng.random() < share else value for value in values]

    day = datetime.date(2025, 1, 1)
    return {
        "id": rng.permutation(10 * num_rows)[:num_rows].tolist(),
        "a": with_gaps((rng.integers(-20, 20, num_rows) / 4).tolist()),
        "b": with_gaps(rng.integers(-9, 9, num_rows).tolist()),
        "c": with_gaps((rng.integers(0, 5, num_rows) / 2).tolist()),
        "n": with_gaps(rng.integers(-3, 4, num_rows).tolist()),
        "t": with_gaps([["", "x", "xy", "yx", "z"][i] for i in rng.integers(0, 5, num_rows)]),
        "d": with_gaps([day + datetime.timedelta(int(i)) for i in rng.integers(0, 6, num_rows)]),
        "f": with_gaps((rng.random(num_rows) < 0.5).tolist()),
    }


def random_condition(rng, table, depth):
    """A filter, and a function of a row that is True, False or None (SQL's unknown)."""
    if depth > 0 and rng.random() < 0.7:
        (one, one_of), (two, two_of) = random_condition(rng, table, depth - 1), random_condition(rng, table, depth - 1)
        kind = rng.integers(3)
        if kind == 0:
            return ~one, lambda row: None if one_of(row) is None else not one_of(row)
        if kind == 1:
            return one & two, lambda row: sql_and(one_of(row), two_of(row))
        return one | two, lambda row: sql_not(sql_and(sql_not(one_of(row)), sql_not(two_of(row))))
    name = rng.choice(list(table))
    present = [value for value in table[name] if value is not None] or [0]
    one, two = (present[i] for i in rng.integers(0, len(present), 2))
    column = culmen.id_col() if name == "id" else col(str(name))

    def known(test):
        return lambda row: None if row[name] is None else test(row[name])

    kinds = [
        (column == one, known(lambda value: value == one)),
        (column != one, known(lambda value: value != one)),
        (column < one, known(lambda value: value < one)),
        (column >= one, known(lambda value: value >= one)),
        (column.between(one, two), known(lambda value: one <= value <= two)),
        (column.isin([one, two]), known(lambda value: value in (one, two))),
        (column.is_null(), lambda row: row[name] is None),
        (column.is_not_null(), lambda row: row[name] is not None),
    ]
    if name == "t":
        kinds.append((column.startswith(one[:1]), known(lambda value: value.startswith(one[:1]))))
    return kinds[rng.integers(len(kinds))]


def sql_not(value):
    return None if value is None else not value


def sql_and(one, two):
    if one is False or two is False:
        return False
    return None if one is None or two is None else True


@pytest.mark.parametrize("seed", range(6))
def test_random_questions_are_answered_as_plain_python_does(seed):
    """Sums of quarters are exact in whatever order they are computed."""
    rng = np.random.default_rng(seed)
    table = random_table(rng, int(rng.integers(1, 300)))
    stand_ins = {"a": 0.25, "b": -2, "c": 9}
    index = culmen.Index.build(table, ["a", "b:low", "c"], id="id", missing=stand_ins, leaf_rows=16)
    rows = [dict(zip(table, row)) for row in zip(*table.values())]
    for _ in range(50):
        weights = {name: float(rng.integers(-3, 4)) for name in "abc"}
        if not any(weights.values()):
            continue
        where, passes = random_condition(rng, table, 3)
        fill = bool(rng.random() < 0.5)
        scored = []
        for row in rows:
            values = {n: stand_ins[n] if row[n] is None and fill else row[n] for n, w in weights.items() if w}
            if None not in values.values() and passes(row) is True:
                scored.append((-sum(weights[n] * value for n, value in values.items()), row["id"]))
        k = int(rng.choice([1, 5, 50]))
        expected = [(id, -score) for score, id in sorted(scored)[:k]]
        result = index.search(weights, k, where=where, missing="fill" if fill else "skip")
        assert list(zip(result.ids.tolist(), result.scores.tolist())) == expected, str(where)
        for row in result:
            assert dict(row) == {name: value for name, value in rows[table["id"].index(row.id)].items() if name != "id"}


def test_days_beyond_those_of_a_column_are_compared():
    days = np.array([-(2**31), 0, 2**31 - 1]).astype("M8[D]")
    index = culmen.Index.build({"a": [1.0, 2.0, 3.0], "day": days}, ["a"])

    def found(where):
        return sorted(index.search({"a": 1}, where=where).ids.tolist())

    for beyond in ("+5881580-07-12", "+9999999-01-01"):
        assert (
            found(f"day < '{beyond}'") == [0, 1, 2] and found(f"day >= '{beyond}'") == found(f"day = '{beyond}'") == []
        )
    for before in ("-5877641-06-22", "-9999999-01-01"):
        assert found(f"day > '{before}'") == [0, 1, 2] and found(f"day <= '{before}'") == []
    assert found("day = '+5881580-07-11'") == [2] and found("day = '-5877641-06-23'") == [0]
    assert found(culmen.col("day") < np.datetime64("9999999-01-01")) == [0, 1, 2]
    assert found(culmen.col("day").isin([np.datetime64("9999999-01-01"), np.datetime64(0, "D")])) == [1]
