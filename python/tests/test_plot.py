"""The pictures show what searches and why() say. Drawn without a display."""

import sys

import numpy as np
import pytest

import culmen

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def no_open_figures():
    yield
    from matplotlib import pyplot

    pyplot.close("all")


def hotels(rows=200):
    random = np.random.default_rng(1)
    table = {"price": random.integers(50, 300, rows), "rating": random.integers(0, 100, rows) / 10}
    return culmen.Index.build({**table, "name": [f"hotel {i}" for i in range(rows)]}, label="name")


@pytest.mark.parametrize("options", [{}, {"where": "price < 150"}, {"scale": "rank"}])
def test_lines_are_the_ranks_of_searches(options):
    index, values, k = hotels(), np.linspace(-0.2, 0.1, 7), 5
    ax = culmen.plot.sweep(index, {"price": -0.05, "rating": 1}, "price", values, k=k, **options)
    lines = {line.get_label(): line.get_ydata() for line in ax.get_lines()[:-1]}
    seen = set()
    for i, value in enumerate(values):
        labels = index.search({"price": value, "rating": 1}, k, **options).labels
        shown = {name: ranks[i] for name, ranks in lines.items() if not np.isnan(ranks[i])}
        assert shown == {name: rank for rank, name in enumerate(labels, start=1)}
        seen.update(labels)
    assert set(lines) == seen
    assert list(ax.get_lines()[-1].get_xdata()) == [-0.05, -0.05]
    assert ax.get_ylim() == (k + 0.5, 0.5)
    assert ax.get_xlabel() == "weight of price"


def test_values_surround_the_weight():
    index = hotels()
    for weight, ends in ((-0.05, (-0.1, 0)), (2, (0, 4)), (0, (-1, 1))):
        line = culmen.plot.sweep(index, {"price": weight, "rating": 1}, "price").get_lines()[0]
        assert (line.get_xdata()[0], line.get_xdata()[-1]) == ends
        assert len(line.get_xdata()) == 41
    assert culmen.plot.sweep(index, {"rating": 1}, "price", [1.0, 2.0], k=3).get_lines()
    with pytest.raises(culmen.InvalidArgument, match="values"):
        culmen.plot.sweep(index, {"rating": 1}, "price", [])
    with pytest.raises(culmen.InvalidArgument, match="prise"):
        culmen.plot.sweep(index, {"rating": 1}, "prise")


def test_a_weight_alone_is_never_zero():
    for weight in (-0.4, 0.0):
        ax = culmen.plot.sweep(hotels(), {"price": weight}, "price")
        assert 0 not in ax.get_lines()[0].get_xdata()


def test_rows_without_labels_are_called_by_their_ids():
    index = culmen.Index.build({"a": [1.0, 2.0], "b": [2.0, 1.0]}, id=[70, 71])
    ax = culmen.plot.sweep(index, {"a": 1, "b": 1}, "a", [0.5, 2], k=1)
    assert [line.get_label() for line in ax.get_lines()[:-1]] == ["70", "71"]


def test_answers_without_rows_are_an_empty_picture(recwarn):
    ax = culmen.plot.sweep(hotels(), {"rating": 1}, "rating", where="price < 0")
    assert len(ax.get_lines()) == 1 and not recwarn.list


def test_what_is_drawn_is_said():
    result = hotels().search({"rating": 1})
    with pytest.raises(TypeError, match="searches an index, which a Result is not"):
        culmen.plot.sweep(result, {"rating": 1}, "rating")
    with pytest.raises(TypeError, match=r"what index.why\(weights, id\) returns, not a Result"):
        culmen.plot.why(result)


def test_bars_are_the_parts():
    index, weights = hotels(), {"price": -0.05, "rating": 1}
    for others in ((), (7,)):
        reasons = index.why(weights, 3, *others)
        ax = culmen.plot.why(reasons)
        assert [text.get_text() for text in ax.get_yticklabels()] == [part.attribute for part in reasons.parts]
        drawn = [[bar.get_width() for bar in bars] for bars in ax.containers]
        wanted = [reasons.parts, reasons.others][: 1 + len(others)]
        assert drawn == [[part.part for part in parts] for parts in wanted]
        for parts, bars in zip(wanted, ax.containers):
            for part, bar in zip(parts, bars):
                middle = bar.get_y() + bar.get_height() / 2
                assert round(middle) == [p.attribute for p in reasons.parts].index(part.attribute)


def test_they_draw_where_they_are_told(tmp_path):
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2)
    index = hotels()
    assert culmen.plot.sweep(index, {"price": -0.05, "rating": 1}, "price", ax=left) is left
    assert culmen.plot.why(index.why({"rating": 1}, 3), ax=right) is right
    figure.savefig(tmp_path / "both.png")
    assert (tmp_path / "both.png").stat().st_size > 5000


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        culmen.plot.sweep(hotels(), {"rating": 1}, "rating")
