"""Answers against the oracle: the same ids, the same bits of the scores."""

import decimal
import fractions
import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import culmen
from culmen import col, id_col
from culmen._device import DeviceIndex
from oracle import scores, top

VALUES = {
    "float32": lambda rng, shape: rng.random(shape, dtype=np.float32),
    "float64": lambda rng, shape: rng.normal(size=shape) * 10.0 ** rng.integers(-3, 4, shape[1]),
    "int32": lambda rng, shape: rng.integers(-5, 6, shape, dtype=np.int32),
    "int64": lambda rng, shape: rng.integers(-(1 << 40), 1 << 40, shape),
    "tiny": lambda rng, shape: rng.random(shape) * 5e-324 * 100,
}

questions = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 1 << 32),
        "values": st.sampled_from(sorted(VALUES)),
        "num_rows": st.sampled_from([1, 2, 15, 97, 400, 1000]),
        "width": st.integers(1, 11),
        "k": st.sampled_from([1, 2, 10, 100, 5000]),
        "engine": st.sampled_from(["auto", "bounded", "scan", "gta", "ta"]),
        "filters": st.booleans(),
        "named_ids": st.booleans(),
        "sparse": st.booleans(),
    }
)


@settings(max_examples=300, deadline=None)
@given(questions)
def test_is_the_oracles(question):
    rng = np.random.default_rng(question["seed"])
    shape = (question["num_rows"], question["width"])
    matrix = VALUES[question["values"]](rng, shape)
    ids = rng.permutation(10 * shape[0])[: shape[0]] if question["named_ids"] else np.arange(shape[0])
    index = culmen.Index.build(matrix, id=ids if question["named_ids"] else None, leaf_rows=16)
    weights = rng.normal(size=shape[1])
    if question["sparse"]:
        weights[rng.random(shape[1]) < 0.5] = 0
    if not weights.any():
        weights[0] = 1
    exact = matrix.astype(np.float64)
    where, passes = None, None
    if question["filters"]:
        limit = float(np.median(exact[:, 0]))
        where, passes = {"a0": (None, limit)}, exact[:, 0] <= limit
    result = index.search(weights, question["k"], where=where, engine=question["engine"])
    expected_ids, expected_scores = top(exact, ids, weights, question["k"], passes)
    assert result.ids.tolist() == expected_ids
    assert result.scores.tobytes() == np.array(expected_scores, dtype=np.float64).tobytes()
    assert result.counts == len(result) == len(expected_ids)
    batch = index.search(np.array([weights, -weights, weights]), question["k"], where=where)
    for q in (0, 2):
        assert batch.ids[q, : batch.counts[q]].tolist() == expected_ids
        assert batch.scores[q, : batch.counts[q]].tolist() == expected_scores
        assert (batch.ids[q, batch.counts[q] :] == -1).all()


def index_of(num_rows=1000, width=3, seed=0, **options):
    matrix = np.random.default_rng(seed).random((num_rows, width))
    return culmen.Index.build(matrix, **options), matrix


def test_min_score_without_k_gives_all_that_reach_it():
    index, matrix = index_of()
    all_scores = scores(matrix, [1, 2, 3])
    result = index.search([1, 2, 3], None, min_score=4.0)
    assert len(result) == (all_scores >= 4.0).sum() > 10
    assert result.scores.min() >= 4.0
    assert index.search([1, 2, 3], min_score=4.0).ids.tolist() == result.ids.tolist()
    assert culmen.rank(matrix, [1, 2, 3], min_score=4.0).ids.tolist() == result.ids.tolist()
    assert index.explain([1, 2, 3], min_score=4.0).engine == index.explain([1, 2, 3], None, min_score=4.0).engine
    assert len(index.search([1, 2, 3], 10, min_score=4.0)) == len(index.search([1, 2, 3])) == 10


@pytest.mark.parametrize("num_questions", [0, 1, 3, 3000])
def test_a_batch_without_k_is_as_wide_as_its_longest_answer(num_questions):
    index, matrix = index_of(200)
    weights = np.random.default_rng(1).random((num_questions, 3)) * 2
    batch = index.search(weights, min_score=3.0)
    assert batch.ids.shape == batch.scores.shape == (num_questions, max(batch.counts, default=0))
    for q in range(num_questions):
        expected = index.search(weights[q], min_score=3.0)
        assert batch.counts[q] == len(expected) == (scores(matrix, weights[q]) >= 3.0).sum()
        assert batch.ids[q].tolist() == expected.ids.tolist() + [-1] * (batch.ids.shape[1] - len(expected))
        assert batch.scores[q, : len(expected)].tolist() == expected.scores.tolist()
        assert (batch.scores[q, len(expected) :] == -np.inf).all()
    assert index.search(weights, min_score=1e9).ids.shape == (num_questions, 0)


@pytest.mark.parametrize(
    "where",
    ["a0<=0.5 and a2>0.25", {"a0": (None, 0.5), "a2": (np.nextafter(0.25, 1), None)}],
)
def test_filters_as_text_and_as_dict(where):
    index, matrix = index_of()
    passes = (matrix[:, 0] <= 0.5) & (matrix[:, 2] > 0.25)
    expected, _ = top(matrix, np.arange(1000), [1, 1, 1], 20, passes)
    assert index.search([1, 1, 1], 20, where=where).ids.tolist() == expected


@pytest.mark.parametrize(
    ("where", "passes"),
    [
        ("a0<=0.5 or not a2>0.25", lambda m: (m[:, 0] <= 0.5) | (m[:, 2] <= 0.25)),
        ((col("a0") <= 0.5) | ~(col("a2") > 0.25), lambda m: (m[:, 0] <= 0.5) | (m[:, 2] <= 0.25)),
        (col("a0").between(0.25, 0.5) & (col("a1") != 0.5), lambda m: (m[:, 0] >= 0.25) & (m[:, 0] <= 0.5)),
        (col(1) < np.float32(0.5), lambda m: m[:, 1] < 0.5),
        (0.5 > col(1), lambda m: m[:, 1] < 0.5),
        (np.float64(0.5) >= col(1), lambda m: m[:, 1] <= 0.5),
        (col("id").isin(range(10, 20)), lambda m: (np.arange(1000) >= 10) & (np.arange(1000) < 20)),
        (id_col() >= 900, lambda m: np.arange(1000) >= 900),
        ({"id": [5, np.int64(6)], "a0": (None, None)}, lambda m: np.isin(np.arange(1000), [5, 6])),
        ({"id": {7}}, lambda m: np.arange(1000) == 7),
        ({"id": 7}, lambda m: np.arange(1000) == 7),
        (col("a0").is_null(), lambda m: m[:, 0] > 9),
        (col("a0").is_not_null() & (col("id") < 2**70), lambda m: m[:, 0] < 9),
    ],
)
def test_filters_of_every_kind(where, passes):
    index, matrix = index_of()
    expected, _ = top(matrix, np.arange(1000), [1, 1, 1], 20, passes(matrix))
    assert index.search([1, 1, 1], 20, where=where).ids.tolist() == expected
    batch = index.search(np.array([[1.0, 1, 1], [1, 1, 1]]), 20, where=where)
    assert [i for i in batch.ids[1].tolist() if i >= 0] == expected


def test_integers_in_filters_are_exact():
    ids = [2**53, 2**53 + 1, -(2**63), 2**63 - 1]
    index = culmen.Index.build({"a": [1.0, 2.0, 3.0, 4.0], "key": ids}, ["a"], id="key")
    for i in ids:
        for where in (f"id = {i}", col("id") == i, {"id": np.array([i])[0]}, {"id": [i]}):
            assert index.search([1.0], where=where).ids.tolist() == [i]


def test_filters_show_what_they_are():
    where = (col("a b") <= 2) & ~col("c").isin([1, 2.5])
    assert str(where) == '"a b" <= 2 and not c in (1, 2.5)' and str(where) in repr(where)
    for wrong in (lambda: where and where, lambda: not where, lambda: 1 < col("a") < 3):
        with pytest.raises(TypeError, match="neither true nor false"):
            wrong()
    with pytest.raises(culmen.InvalidArgument, match="not a number: b'x'"):
        col("a") == b"x"  # noqa: B015
    with pytest.raises(culmen.InvalidArgument, match=r"is_null\(\)"):
        col("a") == None  # noqa: B015, E711
    with pytest.raises(TypeError):
        where & 1
    with pytest.raises(TypeError):
        hash(col("a"))


def test_weights_by_name_in_any_container():
    index, _ = index_of()
    expected = index.search([1, 0, 2], 7).ids.tolist()
    for weights in (
        {"a2": 2, "a0": 1},
        (1, 0, 2),
        np.array([1, 0, 2]),
        np.array([1, 0, 2], dtype=np.float32),
        np.array([1, 9, 0, 9, 2, 9])[::2],
        np.array([1, 0, 2], dtype=">f8"),
    ):
        assert index.search(weights, 7).ids.tolist() == expected


def test_minmax_scale():
    index = culmen.Index.build({"small": [0, 1, 2], "large": [2000, 1000, 0]})
    assert index.search({"small": 1, "large": 1.5}, 1, scale="minmax").ids.tolist() == [0]
    assert index.search({"small": 1, "large": 0.5}, 1, scale="minmax").ids.tolist() == [2]


@pytest.mark.parametrize("kind", sorted(VALUES))
def test_zscore_scale(kind):
    """Against NumPy; fractions say what mean and deviation really are."""
    rng = np.random.default_rng(7)
    matrix = np.asarray(VALUES[kind](rng, (300, 3)), dtype=np.float64)
    weights = np.array([1, -0.5, 2.0])
    if kind == "tiny":
        weights *= 1e-300  # the deviations are as small
    index = culmen.Index.build(matrix)
    found = index.search(weights, 300, scale="zscore")
    start, scaled = 0.0, []
    for column, weight in zip(matrix.T, weights):
        exact = [fractions.Fraction(value) for value in column]
        mean = sum(exact) / len(exact)
        variance = sum((value - mean) ** 2 for value in exact) / len(exact)
        scaled.append(weight / root_of(variance))
        start -= scaled[-1] * float(mean)
    with np.errstate(all="ignore"):
        expected = start + matrix @ np.array(scaled)
    assert np.allclose(found.scores, np.sort(expected)[::-1], rtol=1e-9, atol=1e-9 * np.abs(weights).max())
    if kind != "tiny":
        numpy_scores = ((matrix - matrix.mean(axis=0)) / matrix.std(axis=0)) @ weights
        assert np.allclose(found.scores, numpy_scores[found.ids], rtol=1e-9, atol=1e-9)


def root_of(fraction):
    """To 60 bits, of numbers that are too small to be squared as floats."""
    shift = 2300
    return float(fractions.Fraction(math.isqrt(int(fraction * 4**shift)), 2**shift))


def test_zscore_scale_as_pandas_has_it():
    pandas = pytest.importorskip("pandas")
    cars = pandas.DataFrame({"price": [9000, 21000, None, 15500], "age": [9, 1, 4, 4.0], "wheels": [4, 4, 4, 4]})
    index = culmen.Index.build(cars, ["price:low", "age:low", "wheels"])
    found = index.search({"price": -1, "age": -2, "wheels": 3}, scale="zscore")
    scaled = (cars - cars.mean()) / cars.std(ddof=0)  # a missing value does not count; a constant column has no scale
    scores = (-scaled["price"] - 2 * scaled["age"]).dropna().sort_values(ascending=False)
    assert found.ids.tolist() == scores.index.tolist()
    assert np.allclose(found.scores, scores)
    reasons = index.why({"price": -1, "age": -2}, 1, scale="zscore")
    assert {part.attribute: part.value for part in reasons.parts} == pytest.approx(
        {"price": scaled["price"][1], "age": scaled["age"][1]}
    )


def test_zscore_scale_follows_changes(tmp_path):
    index = culmen.Index.build({"a": [1.0, 2, 3], "b": [5.0, 5, 9]})
    index.save(tmp_path / "i")
    writer = culmen.Index.open(tmp_path / "i", writable=True)
    reader = culmen.Index.open(tmp_path / "i")
    before = writer.snapshot()
    writer.insert({"a": [1000.0], "b": [7.0]})
    writer.erase([0])
    writer.flush()
    reader.refresh()
    for handle, a in [(before, [1, 2, 3]), (writer, [2, 3, 1000]), (reader, [2, 3, 1000])]:
        found = handle.search({"a": 1}, 1, scale="zscore")
        assert found.scores[0] == pytest.approx((a[-1] - np.mean(a)) / np.std(a))


def test_an_index_without_rows_answers_with_none():
    index = culmen.Index.build(np.empty((0, 2)))
    assert len(index.search([1, 1])) == 0
    assert index.search([1, 1]).ids.dtype == np.int64
    assert index.search(np.ones((3, 2))).counts.tolist() == [0, 0, 0]
    assert index.search([1, 1]).to_dict().keys() == {"id", "score", "a0", "a1"}


def test_results_are_sequences_and_tables():
    index = culmen.Index.build({"price": [80, 120, 60], "score": [7, 9, 6]}, label=["a", "b", "c"])
    result = index.search({"price": 1, "score": 1}, 2)
    assert [row.label for row in result] == ["b", "a"]
    assert result[0]["price"] == 120 and result[-1].id == 0 and result[0].score == 129.0
    assert result.attribute("score").tolist() == [9, 7]
    assert result["price"].tolist() == [120, 80] and result["label"] == ["b", "a"]
    with pytest.raises(KeyError, match='no column .*prise.* .did you mean "price"..; there are id, score, label'):
        result["prise"]
    columns = {"id": [1, 0], "score": [129.0, 87.0], "label": ["b", "a"], "price": [120.0, 80.0]}
    columns["attribute.score"] = [9.0, 7.0]
    assert {name: list(column) for name, column in result.to_dict().items()} == columns
    for library in ("pandas", "pyarrow", "polars"):
        pytest.importorskip(library)
    for of in (result, index.search(np.eye(2))):
        with pytest.raises(TypeError, match=r"is no array: to_pandas\(\) and to_dict\(\) have its columns"):
            pytest.importorskip("pandas").DataFrame(of)
    assert result.to_pandas().to_dict("list") == columns
    assert result.to_arrow().to_pydict() == columns
    assert result.to_polars().to_dict(as_series=False) == columns
    batch = index.search(np.array([[1.0, 1.0], [0.0, 1.0]]), 2)
    assert batch.to_pandas()["label"].tolist() == ["b", "a", "b", "a"]
    assert batch.to_pandas()["query"].tolist() == [0, 0, 1, 1]
    with pytest.raises(TypeError, match="columns of all answers are in to_dict"):
        batch["price"]
    with pytest.raises(KeyError, match="no (attribute|column) 'stars'"):
        result.attribute("stars")


def test_tables_have_labels_if_the_index_has():
    import pyarrow

    index = culmen.Index.build({"a": [1.0, 2.0, 3.0]}, label=["", "", "x"])
    nobody = index.search([1.0], 2, where="a<=2")
    assert nobody.to_dict()["label"] == ["", ""]
    assert index.search(np.ones((2, 1)), 1, where="a<=2").to_dict()["label"] == ["", ""]
    assert nobody[:0] == [] and "label" not in culmen.Index.build({"a": [1.0]}).search([1.0], 1).to_dict()
    nothing = index.search([1.0], 2, where="a<=0")
    assert nothing.to_arrow().schema.field("label").type == pyarrow.string()
    polars = pytest.importorskip("polars")
    assert nothing.to_polars().schema["label"] == polars.String


def test_an_answer_of_a_batch_is_that_of_one_search():
    index, _ = index_of(200, label=[f"row {i}" for i in range(200)], id=np.arange(200) * 7 % 1000)
    weights = np.random.default_rng(1).normal(size=(20, 3))
    for where in (None, "a0<=0.02", "a0<=-1"):  # all of 10 rows, some, none
        batch = index.search(weights, 10, where=where)
        assert len(list(batch)) == len(batch) == 20
        for q, result in enumerate(batch):
            alone = index.search(weights[q], 10, where=where)
            assert list(result) == list(alone) == list(batch[q - 20]) and repr(result) == repr(alone)
            assert result.scores.tobytes() == alone.scores.tobytes() and result.ids.tolist() == alone.ids.tolist()
            assert result.labels == alone.labels and result.attribute("a1").tolist() == alone.attribute("a1").tolist()
            assert batch.labels[q] == alone.labels + [""] * (batch.ids.shape[1] - len(alone))
            assert (result.counts, result.version) == (alone.counts, alone.version)
            one, other = result.to_dict(), alone.to_dict()
            assert one.keys() == other.keys() and all(list(one[name]) == list(other[name]) for name in one)


def test_an_answer_of_a_batch_stays_and_is_the_callers():
    index = culmen.Index.build({"a": [1.0, 2.0, 3.0]}, id=[5, 6, -1], label=["x", "y", "z"])
    batch = index.search(np.array([[1.0], [-1.0]]), 2)
    first = batch[np.int64(0)]
    index.erase([5, 6, -1])
    first.ids[:] = first.scores[:] = 0
    assert [row.label for row in first] == ["z", "y"] and batch.ids.tolist() == [[-1, 6], [5, 6]]
    assert batch[1].labels == ["x", "y"] and batch.labels == [["z", "y"], ["x", "y"]]
    for q in (2, -3):
        with pytest.raises(IndexError, match="there are 2"):
            batch[q]
    with pytest.raises(TypeError):
        batch["0"]
    with pytest.raises(AttributeError, match="no stats"):
        _ = first.stats
    assert index.search(np.ones((1, 1)), 2).labels == [[]]


def test_rows_are_mappings_of_attributes():
    index = culmen.Index.build({"price": [80, 120], "id": [7, 9]}, label=["a", "b"])
    row = index.search([1, 0], 1)[0]
    assert dict(row) == {**row} == {"price": 120.0, "id": 9.0} and len(row) == 2
    assert "price" in row and "label" not in row and row.get("stars") is None and row.id == 1
    assert list(row.keys()) == ["price", "id"] and list(row.values()) == [120.0, 9.0]
    assert row == index.search([1, 0], 1)[0] and len({row, index.search([1, 0], 1)[0]}) == 1
    assert row != dict(row) and row != index.search([2, 0], 1)[0]
    with pytest.raises(KeyError, match="no (attribute|column) 'stars'"):
        row["stars"]
    assert index.insert(list(index.search([1, 0])), label=["c", "d"]).inserted == 2
    assert index.get(2).columns == row.columns


def test_notebooks_show_a_small_table():
    index = culmen.Index.build({"<i>": np.arange(30) / 2, "big": [1751328013] * 30}, label=["<b>&"] * 30)
    shown = index.search({"<i>": 1}, 25)._repr_html_()
    assert shown.count("<tr>") == 21 and "5 more rows" in shown
    assert "<tr><th>id</th><th>score</th><th>label</th><th>&lt;i&gt;</th><th>big</th></tr>" in shown
    assert "<tr><td>29</td><td>14.5</td><td>&lt;b&gt;&amp;</td><td>14.5</td><td>1751328013</td></tr>" in shown
    assert "<b>" not in shown and "<i>" not in shown
    assert "more" not in index.search({"<i>": 1}, 20)._repr_html_()
    nothing = index.search({"<i>": 1}, where="big<0")._repr_html_()
    assert nothing.count("<tr>") == 1 and "<th>big</th>" in nothing and nothing.endswith("<p>no rows</p>")
    assert "no rows" not in shown and "no rows" not in index._repr_html_()
    assert index.search([[1, 0]], where="big<0")._repr_html_().endswith("<p>no rows</p>")
    many = index.search([[1, 0], [-1, 0], [0, 1]], 9)._repr_html_()
    assert many.count("<tr>") == 21 and "7 more rows" in many and "<tr><td>1</td><td>1</td><td>0</td><td>0</td>" in many
    shown = index._repr_html_()
    assert "&lt;culmen.Index: 30 rows" in shown and "<td>&lt;i&gt;</td><td>attribute</td><td>float</td>" in shown
    assert "<td>num_rows</td><td>30</td>" in index.info._repr_html_()
    assert index.explain([1, 0])._repr_html_().startswith("<pre>")


def test_explain_and_stats_tell_what_was_done():
    index, _ = index_of(20_000)
    explanation = index.explain([1, 2, 3], 5)
    assert explanation.engine in ("bounded", "scan") and explanation.reason in str(explanation)
    stats = index.search([1, 2, 3], 5, engine="bounded").stats
    assert stats.engine == "bounded" and 0 < stats.share_scored < 1 and stats.device is None


@pytest.mark.parametrize(
    ("weights", "arguments", "text"),
    [
        ([1, 1], {}, "2 weights"),
        ({"stars": 1}, {}, "stars"),
        ({0: 1}, {}, "named"),
        ([1, "x", 1], {}, "not a number"),
        ([1, float("nan"), 1], {}, "finite"),
        ([0, 0, 0], {}, "zero"),
        ([1, 1, 1], {"k": 0}, "k is 0"),
        ([1, 1, 1], {"k": None}, "neither k nor min_score"),
        ([1, 1, 1], {"engine": "fast"}, "fast"),
        ([1, 1, 1], {"scale": "log"}, "scale"),
        ([1, 1, 1], {"where": 7}, "filter"),
        ([1, 1, 1], {"where": {"a0": (1, 2, 3)}}, "pair"),
        ([1, 1, 1], {"where": {"a0": {"x"}}}, "holds numbers: compare it with a number"),
        ([1, 1, 1], {"where": {"a0": float("nan")}}, "NaN"),
        ([1, 1, 1], {"where": col("a9") > 1}, "did you mean"),
        ([1, 1, 1], {"where": "a0 < 1 or a1 << 2"}, "position 15"),
        ([1, 1, 1], {"where": "a9 > 1"}, "a9"),
        ([1, 1, 1], {"threads": -1}, "thread"),
        (np.ones((2, 4)), {}, "4 columns for 3 attributes"),
        (np.ones((2, 3)), {"k": None}, "neither k nor min_score"),
        ([[1, 2, 3], [1, 2]], {}, "one length"),
        ([1, 1, 1], {"k": -1}, "k is -1"),
        ([1, 1, 1], {"threads": 2**31}, "threads is 2147483648"),
        ([1, 1, 1], {"where": {5: 1}}, "names"),
        (5, {}, "a dict of numbers"),
        (None, {}, "a dict of numbers"),
        ([{"a0": 1}, [1, 2, 3]], {}, "all dicts"),
        ([[1, 2, 3], {"a0": 1}], {}, "all dicts"),
        (np.ones((1, 1, 3)), {}, "3 dimensions"),
        ([[[1, 2, 3]]], {}, "3 dimensions"),
        ([[1, 1, 1], [0, 0, 0]], {}, "query 1: all weights are zero"),
        ([[1, 1, 1], [1, 1, 1], [1, float("nan"), 1]], {}, 'query 2: the weight of "a1"'),
        ([{"a0": 1}, {"a1": 0}], {}, "query 1: all weights are zero"),
        ([[1, 1, 1], [1, 1, 1], [1e308, 1e308, 1e308]], {}, "query 2: .*overflow"),
        ([[1, 1, 1], [1e308, 1e308, 1e308]], {"k": None, "min_score": 0}, "query 1: .*overflow"),
        ([[1, 1, 1], [0, 0, 0]], {"k": [1, 2]}, "query 1: all weights are zero"),
        (np.ones((2, 3)), {"k": 0}, "^k is 0"),
    ],
)
def test_refusals_say_why(weights, arguments, text):
    index, _ = index_of(10)
    with pytest.raises(culmen.InvalidArgument, match=text):
        index.search(weights, **arguments)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"k": 3.0}, "k is an integer"),
        ({"min_score": "a"}, "min_score is a real number"),
        ({"threads": 1.5}, "threads"),
    ],
)
def test_wrong_types_are_named(arguments, text):
    index, _ = index_of(10)
    for weights in ([1, 1, 1], np.ones((2, 3))):
        with pytest.raises(TypeError, match=text):
            index.search(weights, **arguments)


def test_a_copy_on_a_gpu_is_asked_as_the_index_is():
    """Without a GPU: the handle of an index takes the place of the copy's, which has no threads to be told of."""
    index, _ = index_of()

    class Copy:
        def search(self, *question):
            return index._handle.search(*question, 0)

        def search_matrix(self, *question):
            *asked, out, progress = question
            return index._handle.search_matrix(*asked, 0, out, progress)

    on_gpu = DeviceIndex._of(Copy(), index._schema)
    question = {"where": "a0<=0.5", "min_score": 0.5, "scale": "minmax", "missing": "fill", "engine": "scan"}
    for weights in ({"a2": 2, "a0": -1}, (1, 0, 2), np.array([1, 0, 2]), [[1, 0, 2], [0, 3, 0]], [{"a1": 1}]):
        expected = index.search(weights, 5, **question).ids
        assert expected.size > 0 and on_gpu.search(weights, 5, **question).ids.tolist() == expected.tolist()
    for wrong, text in (({"k": 3.0}, "k is an integer"), ({"engine": 3}, "engine is a text")):
        with pytest.raises(TypeError, match=text):
            on_gpu.search([1, 1, 1], **wrong)


def test_a_matrix_in_any_container():
    index, _ = index_of()
    expected = index.search(np.array([[1.0, 0, 2], [0, 3, 0]]), 5).ids.tolist()
    pandas = pytest.importorskip("pandas")
    for weights in (
        [[1, 0, 2], [0, 3, 0]],
        ((1, 0, 2), (0, 3, 0)),
        [np.array([1, 0, 2]), np.array([0, 3, 0])],
        np.asfortranarray([[1, 0, 2], [0, 3, 0]], dtype=np.float32),
        pandas.DataFrame({"a2": [2, 0], "a1": [0, 3], "a0": [1, 0]}),
    ):
        assert index.search(weights, 5).ids.tolist() == expected
    with pytest.raises(culmen.InvalidArgument, match="no (attribute|column) 'stars'"):
        index.search(pandas.DataFrame({"stars": [1]}), 5)


def test_queries_that_name_no_attribute_are_refused():
    index, _ = index_of(10)
    pandas = pytest.importorskip("pandas")
    for weights in ([{}], [{}, {}], pandas.DataFrame(index=range(3)), pandas.DataFrame()):
        with pytest.raises(culmen.InvalidArgument, match="name no attribute"):
            index.search(weights, 1)
    assert index.search(pandas.DataFrame({"a0": []}), 1).ids.shape == (0, 1)


def test_a_column_that_is_not_ranked_has_no_weight():
    index = culmen.Index.build({"a": [1.0], "city": ["x"]})
    with pytest.raises(culmen.InvalidArgument, match='no attribute "city": the build keeps that column.*known: a'):
        index.search({"city": 1})


def test_a_column_that_the_build_left_out_is_none_of_the_index():
    index = culmen.Index.build({"a": [1.0], "city": ["x"], "shop": ["y"]}, ["a"], columns=["city"])
    for arguments in (
        {"weights": {"shop": 1}},
        {"weights": {"a": 1}, "where": "shop = 'y'"},
        {"weights": {"a": 1}, "where": culmen.col("shop") == "y"},
        {"weights": {"a": 1}, "per": {"shop": 1}},
        {"weights": {"a": 1}, "terms": "[shop = 'y']"},
    ):
        with pytest.raises(culmen.InvalidArgument, match="shop.*known: a.*left out.*columns="):
            index.search(**arguments)


def test_rows_in_the_order_of_their_ids_as_the_error_of_zero_weights_says():
    index = culmen.Index.build({"a": [1.0, 5.0, 3.0]}, id=[30, 10, 20])
    with pytest.raises(culmen.InvalidArgument, match=r"all weights are zero.*\[id is not null\]"):
        index.search({"a": 0})
    assert index.search({"a": 0}, terms="[id is not null]").ids.tolist() == [10, 20, 30]


def test_a_lazy_frame_is_to_be_collected():
    polars = pytest.importorskip("polars")
    index, lazy = culmen.Index.build({"a": [1.0, 2.0]}), polars.LazyFrame({"a": [1.0]})
    for call in (index.search, index.get, index.erase, culmen.ids, lambda of: culmen.Index.build({"a": [1.0]}, id=of)):
        with pytest.raises(culmen.InvalidArgument, match=r"LazyFrame.*collect\(\) it first"):
            call(lazy)
    with pytest.raises(culmen.InvalidArgument, match=r"LazyFrame.*collect\(\) it first"):
        culmen.ShardedIndex.build(lazy, "never", shards=2)
    assert index.search(lazy.collect(), 1).ids.tolist() == [[1]]


@pytest.mark.parametrize("weight", [None, "x", 10**400])
def test_a_weight_that_is_no_number_is_refused_alike_in_every_form(weight):
    index, _ = index_of(10)
    for weights in ({"a0": weight}, [weight, 1, 1], [[weight, 1, 1]], [{"a0": weight}]):
        with pytest.raises(culmen.InvalidArgument, match="not a number"):
            index.search(weights)


def test_a_gap_in_weights_names_the_query():
    pandas = pytest.importorskip("pandas")
    index, _ = index_of(10)
    for weights in (pandas.DataFrame({"a0": [1, None]}), pandas.DataFrame({"a0": [1, pandas.NA]}, dtype="Int64")):
        with pytest.raises(culmen.InvalidArgument, match="query 1: a weight is not finite, or has no value") as raised:
            index.search(weights)
        assert "nulls" not in str(raised.value)
    for weights in ({"a0": pandas.NA}, [pandas.NA, 1, 1], [[pandas.NA, 1, 1]], [{"a0": pandas.NA}]):
        with pytest.raises(culmen.InvalidArgument, match="not a number"):
            index.search(weights)


def test_rank_is_one_call():
    table = {"name": ["x", "y", "z"], "price": [3.0, 1.0, 2.0], "rating": [1, 2, 3]}
    result = culmen.rank(table, {"price": -1, "rating": 1}, 2, label="name")
    assert [row.label for row in result] == ["y", "z"]


def test_a_series_is_weights_by_name():
    pandas = pytest.importorskip("pandas")
    index, _ = index_of()
    expected = index.search({"a2": 2, "a0": -1}, 5).ids.tolist()
    assert index.search(pandas.Series({"a2": 2, "a0": -1}), 5).ids.tolist() == expected
    assert index.search([{"a2": 2, "a0": -1}, {"a1": 1}], 5).ids[0].tolist() == expected
    assert culmen.rank(pandas.DataFrame({"n": ["x"], "a": [1.0]}), pandas.Series({"a": 1}), where="a>0").counts == 1


def test_rank_reads_what_weights_and_filter_name():
    table = {"name": ["x", "y", "z"], "price": [3.0, 1.0, 2.0], "rating": [1, 2, 3]}
    for where in ("rating>=2", {"rating": (2, None)}, col("rating") >= 2):
        assert culmen.rank(table, {"price": 1}, 1, where=where).ids.tolist() == [2]
    with pytest.raises(culmen.InvalidArgument, match="no (attribute|column) 'stars'"):
        culmen.rank(table, {"stars": 1})


def test_a_range_without_a_number_is_refused():
    index, _ = index_of(10)
    with pytest.raises(culmen.InvalidArgument, match="least, most"):
        index.search([1, 1, 1], where={"a0": (3, 1)})


def test_arrays_of_a_batch_are_read_only():
    batch = culmen.Index.build({"a": [1.0, 2.0, 3.0]}, id=[10, 20, 30]).search([[1.0], [-1.0]], 2)
    for array in (batch.ids, batch.scores, batch.counts):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 1
    assert [row.id for row in batch[0]] == [30, 20]


@pytest.mark.parametrize("num_questions", [0, 1, 3000])
def test_answers_are_written_where_the_caller_wants(num_questions):
    rng = np.random.default_rng(num_questions)
    index = culmen.Index.build(rng.normal(size=(500, 4)))
    weights = rng.normal(size=(num_questions, 4))
    for k, where in ((3, None), (20, "a1 > 1.9"), (700, None)):
        expected = index.search(weights, k, where=where)
        width = expected.ids.shape[1]
        shape = (num_questions, k)
        out = np.full(shape, 77), np.full(shape, 7.5), np.full(num_questions, 7, np.uint32)
        found = index.search(weights, k, where=where, out=out)
        assert found.ids is out[0] and found.scores is out[1] and found.counts is out[2]
        assert (out[0][:, :width] == expected.ids).all() and (out[0][:, width:] == -1).all()
        assert (out[1][:, :width] == expected.scores).all() and (out[1][:, width:] == -np.inf).all()
        assert (out[2] == expected.counts).all()
        assert len(found) == num_questions and found.version == expected.version
        if num_questions > 0:
            assert [row["a0"] for row in found[0]] == [row["a0"] for row in expected[0]]


def test_arrays_that_do_not_fit_are_refused():
    index = culmen.Index.build(np.eye(3))

    def out(ids=np.int64, scores=np.float64, counts=np.uint32, shape=(2, 5)):
        return np.zeros(shape, ids), np.zeros(shape, scores), np.zeros(shape[0], counts)

    weights = np.ones((2, 3))
    index.search(weights, 5, out=out())
    read_only = out()
    read_only[1].flags.writeable = False
    turned = np.zeros((5, 2), np.int64).T, *out()[1:]
    for wrong in (
        out(ids=np.int32),
        out(scores=np.float32),
        out(counts=np.int64),
        out(shape=(2, 4)),
        out(shape=(3, 5)),
        read_only,
        turned,
        out()[:2],
        [1],
        (1, 2, 3),
    ):
        with pytest.raises(culmen.InvalidArgument, match="out"):
            index.search(weights, 5, out=wrong)
    with pytest.raises(culmen.InvalidArgument, match="needs a k"):
        index.search(weights, min_score=0, out=out())
    with pytest.raises(culmen.InvalidArgument, match="matrix"):
        index.search(weights[0], 5, out=out())


def test_k_has_no_upper_limit():
    index = culmen.Index.build({"a": [1.0, 3.0, 2.0]})
    for k in (3, 4, 2**63, 2**64, 10**30):
        assert list(index.search([1], k=k).ids) == [1, 2, 0]
        assert list(index.search([[1], [-1]], k=k)[1].ids) == [0, 2, 1]


@pytest.mark.parametrize("name", ["num_partitions", "leaf_rows", "threads"])
def test_integers_beyond_those_of_the_library_are_refused_by_name(name):
    for value in (2**31, 2**64, -1):
        with pytest.raises(culmen.InvalidArgument, match=f"{name} is {value}"):
            culmen.Index.build({"a": [1.0]}, **{name: value})


class Odd:
    """A number that does something else first."""

    def __init__(self, action):
        self.action = action

    def __float__(self):
        self.action()
        return 1.0

    __index__ = __float__

    def __repr__(self):
        return "odd \udcff"


def raising(error):
    def action():
        raise error

    return action


@pytest.mark.parametrize("names", [["a0", "a1", "a2"], ["a0", "a1", "a2", "no such attribute"]])
def test_containers_may_change_while_their_numbers_are_read(names):
    index, _ = index_of(10)
    for _ in range(20):
        weights, where, pair = {}, {}, []
        for name in names:  # keys and values that nobody else keeps
            weights["".join(name)] = Odd(weights.clear)
            where["".join(name)] = Odd(where.clear)
        sequence = []
        sequence += [Odd(sequence.clear), 1, 1]
        pair[:] = [Odd(pair.clear), Odd(pair.clear)]
        if len(names) == 3:
            assert index.search(weights, 3).ids.tolist() == index.search([1, 1, 1], 3).ids.tolist()
            assert len(index.search([1, 1, 1], 3, where=where)) == 0
            assert len(index.search([1, 1, 1], 3, where={"a0": pair})) == 0
        else:
            with pytest.raises(culmen.InvalidArgument, match="no such attribute"):
                index.search(weights, 3)
            with pytest.raises(culmen.InvalidArgument, match="no such attribute"):
                index.search([1, 1, 1], 3, where=where)
        with pytest.raises(culmen.InvalidArgument):  # one weight is left
            index.search(sequence, 3)


def test_each_query_of_a_matrix_has_a_k_a_filter_and_a_min_score_of_its_own():
    rng = np.random.default_rng(5)
    index = culmen.Index.build(rng.normal(size=(3000, 16)))
    weights = rng.normal(size=(300, 16))
    seen = index.search(weights, 7).ids
    ks = [1 + q % 9 for q in range(300)]
    wheres = [
        None if q % 5 == 0 else f"a1 > {q / 300 - 0.5}" if q % 5 == 1 else ~culmen.ids(seen[q]) for q in range(300)
    ]
    floors = [None if q % 4 else 1.5 for q in range(300)]
    batch = index.search(weights, ks, where=wheres, min_score=floors)
    for q in range(300):
        alone = index.search(weights[q], ks[q], where=wheres[q], min_score=floors[q], engine="scan")
        assert batch[q].ids.tolist() == alone.ids.tolist() and batch[q].scores.tolist() == alone.scores.tolist()
    assert not np.isin(batch[2].ids, seen[2]).any()
    one_k = index.search(weights, 4, where=tuple(wheres))
    assert one_k.ids[7].tolist() == index.search(weights[7], 4, where=wheres[7]).ids.tolist()
    assert (index.search(weights, np.array(ks)).counts == ks).all()
    long = index.search(weights[:2], min_score=np.array([1.0, 2.0]))
    assert long.counts.tolist() == [len(index.search(w, min_score=s)) for w, s in zip(weights, (1.0, 2.0))]
    told = []
    index.search(weights, ks, progress=lambda *report: told.append(report))
    assert told[-1] == ("searching", 1.0)
    assert len(index.search(np.empty((0, 16)), [])) == 0


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"k": [1]}, "1 values of k for 2 queries"),
        ({"where": ["a0 > 1", "a1 > 1", None]}, "3 filters for 2 queries"),
        ({"where": ["a0 > 1", "b > 1"]}, "query 1: .*b"),
        ({"min_score": [1.0]}, "1 values of min_score for 2 queries"),
        ({"min_score": [1.0, math.inf]}, "query 1: .*inf is not a finite number"),
        ({"min_score": math.inf, "k": [1, 2]}, "^min_score: inf is not a finite number"),
        ({"k": [0, 1]}, "query 0: k is 0"),
        ({"k": 0, "min_score": [0, 1]}, "^k is 0"),
        ({"k": [1, None]}, "query 1: neither k nor min_score"),
    ],
)
def test_what_each_query_cannot_have(options, text):
    index, _ = index_of(10)
    with pytest.raises(culmen.InvalidArgument, match=text):
        index.search(np.ones((2, 3)), **options)


def test_one_query_has_one_of_each():
    index, _ = index_of(10)
    for options in ({"k": [3]}, {"where": [None]}, {"min_score": np.ones(1)}):
        with pytest.raises(culmen.InvalidArgument, match="of one query"):
            index.search([1, 1, 1], **options)
    for where in ([1, 2], np.ones(10, dtype=bool)):
        with pytest.raises(culmen.InvalidArgument, match=r"where=culmen.ids\(...\) chooses rows by their ids"):
            index.search([1, 1, 1], where=where)
    with pytest.raises(culmen.InvalidArgument, match="out takes"):
        index.search(np.ones((1, 3)), [1], out=(np.empty((1, 1), np.int64), np.empty((1, 1)), np.empty(1, np.uint32)))
    with pytest.raises(TypeError, match="query 1: k is an integer"):
        index.search(np.ones((2, 3)), [1, "2"])


def test_arrays_for_answers_do_not_overlap():
    index, _ = index_of(10)
    memory = np.zeros(100)
    weights, counts = memory[:6].reshape(2, 3), np.zeros(2, np.uint32)
    weights[:] = 1
    ids, scores = memory[10:16].view(np.int64).reshape(2, 3), memory[20:26].reshape(2, 3)
    index.search(weights, 3, out=(ids, scores, counts))
    for out, text in (
        ((memory[5:11].view(np.int64).reshape(2, 3), scores, counts), "weights and ids overlap"),
        ((ids, memory[:6].reshape(2, 3), counts), "weights and scores overlap"),
        ((ids, memory[15:21].reshape(2, 3), counts), "ids and scores overlap"),
        ((ids, scores, memory[25:26].view(np.uint32)), "scores and counts overlap"),
    ):
        with pytest.raises(culmen.InvalidArgument, match=text):
            index.search(weights, 3, out=out)


def test_a_text_that_is_no_unicode_is_named_in_a_message():
    index, _ = index_of(10)
    with pytest.raises(culmen.InvalidArgument, match=r"range of a filter, \(odd \\udcff, 0\)"):
        index.search([1, 1, 1], where={"a0": (Odd(lambda: None), 0)})


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(), TypeError("mine"), ValueError("mine"), OSError()])
def test_what_a_number_raises_is_passed_on(error):
    index, _ = index_of(10)
    odd = Odd(raising(error))
    for call in (
        lambda: index.search({"a0": odd}),
        lambda: index.search([odd, 1, 1]),
        lambda: index.search([[odd, 1, 1], [1, 1, 1]]),
        lambda: index.search([{"a0": odd}, {"a1": 1}]),
        lambda: index.search([1, 1, 1], odd),
        lambda: index.search([1, 1, 1], min_score=odd),
        lambda: index.search([1, 1, 1], threads=odd),
        lambda: index.search([1, 1, 1], where={"a0": odd}),
        lambda: index.search([1, 1, 1], where={"a0": (None, odd)}),
        lambda: index.explain([1, 1, 1], odd),
        lambda: index.explain({"a0": odd}),
        lambda: culmen.rank({"a": [odd, 1]}, {"a": 1}),
        lambda: culmen.Index.build({"a": [1, odd]}),
        lambda: culmen.Index.build({"a": [1]}, leaf_rows=odd),
        lambda: culmen.Index.create(["a"], leaf_rows=odd),
        lambda: index.insert({"a0": odd, "a1": 1, "a2": 1}),
    ):
        with pytest.raises(type(error)) as raised:
            call()
        assert raised.value is error


def test_numbers_are_read_as_their_types_say():
    index, _ = index_of(10)
    expected = index.search([1, 2, 3], 2, min_score=2, where={"a0": (0.5, None)}).ids.tolist()
    for one, two, three in (
        (np.float32(1), np.int8(2), np.array(3.0)),
        (decimal.Decimal(1), fractions.Fraction(2), True + 2),
    ):
        named = {"a2": three, "a1": two, "a0": one}
        where = {"a0": (one / 2, None)}
        assert index.search([one, two, three], np.int8(2), min_score=2, where=where).ids.tolist() == expected
        assert index.search(named, 2, min_score=two, where=where).ids.tolist() == expected
        for matrix in ([[one, two, three]], [named]):
            assert index.search(matrix, 2, min_score=2, where="a0>=0.5").ids[0].tolist() == expected


@pytest.mark.parametrize("number", [1 + 2j, np.complex64(1 + 2j), np.complex128(1), np.array(1j)])
def test_complex_numbers_are_refused(number):
    index, _ = index_of(10)
    for call in (
        lambda: index.search({"a0": number}),
        lambda: index.search([number, 1, 1]),
        lambda: index.search(np.array([number, 1, 1])),
        lambda: index.search([[number, 1, 1], [1, 1, 1]]),
        lambda: index.search(np.array([[number, 1, 1]])),
        lambda: index.search(np.array([[number, None, 1]], dtype=object)),
        lambda: index.search([{"a0": number}, {"a1": 1}]),
        lambda: index.search([1, 1, 1], min_score=number),
        lambda: index.search([1, 1, 1], where={"a0": number}),
        lambda: index.search([1, 1, 1], where={"a0": (number, None)}),
        lambda: culmen.rank({"a0": [1.0]}, {"a0": number}),
    ):
        with pytest.raises(TypeError, match="complex|real number"), warnings.catch_warnings():
            warnings.simplefilter("error")
            call()
    for column in ([number, 1], [number, None], np.array([number, 1])):
        with pytest.raises(culmen.InputError, match="does not keep"):
            culmen.Index.build({"a": column})
