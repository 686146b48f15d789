"""Attributes that were built from integers or booleans, and then get other numbers."""

import datetime

import numpy as np
import pytest

import culmen


def test_fractions_in_an_attribute_of_integers_are_shown():
    index = culmen.Index.build({"id": [1, 2], "v": [1, 2]}, attributes=["v"], id="id")
    assert index.get(1)["v"] == 1 and isinstance(index.get(1)["v"], int)
    index.upsert({"id": 1, "v": 2.75})
    assert index.get(1)["v"] == 2.75
    found = index.search({"v": 1}, k=2)
    assert [row["v"] for row in found] == [2.75, 2]
    assert list(found.to_dict()["v"]) == [2.75, 2]
    index.upsert({"id": 1, "v": 2.0**100})
    assert index.search({"v": 1}, k=1)[0]["v"] == 2.0**100


def test_numbers_in_an_attribute_of_booleans_are_shown():
    index = culmen.Index.build({"id": [1, 2], "v": [True, False]}, attributes=["v"], id="id")
    assert [row["v"] for row in index.search({"v": 1}, k=2)] == [True, False]
    index.upsert({"id": 2, "v": 5})
    assert [row["v"] for row in index.search({"v": 1}, k=2)] == [5, 1]


@pytest.mark.parametrize("values", [["x"], [datetime.date(2020, 1, 2)]])
def test_nan_alone_fits_every_field(values):
    index = culmen.Index.build({"id": [1], "v": [1.5], "s": values}, attributes=["v"], id="id")
    index.upsert({"id": np.array([2]), "v": np.array([2.5]), "s": np.array([np.nan])})
    assert index.get(2)["s"] is None
    assert index.get(1)["s"] == values[0]
