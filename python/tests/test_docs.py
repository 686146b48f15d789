"""The examples in docstrings are right, and every public name has one or a text."""

import doctest
import importlib
import inspect
import pathlib
import pkgutil
import shutil

import pytest

import culmen


def test_docstrings_run():
    attempted = 0
    for module in pkgutil.iter_modules(culmen.__path__, "culmen."):
        if not module.name.endswith(("__main__", "._core")):
            result = doctest.testmod(importlib.import_module(module.name))
            assert result.failed == 0, module.name
            attempted += result.attempted
    assert attempted > 8


def test_all_names_what_is_public():
    public = {name for name, thing in vars(culmen).items() if not name.startswith("_") and not inspect.ismodule(thing)}
    assert culmen.__all__ == sorted(public | {"__version__"})


def test_everything_public_is_described():
    for name in culmen.__all__:
        thing = getattr(culmen, name)
        assert inspect.getdoc(thing), name
        if inspect.isclass(thing) and thing.__module__ in ("culmen._index", "culmen._writes", "culmen._device"):
            for member, value in vars(thing).items():
                if not member.startswith("_") and not isinstance(value, property):
                    assert inspect.getdoc(getattr(thing, member)), f"{name}.{member}"


CALLS = """
from typing import Any, assert_type
import numpy as np
import culmen

index = culmen.Index.from_parquet("part-*.parquet", ["price:low", "rating"], id="id", threads=2)
assert_type(index, culmen.Index)
assert_type(index.search({"price": 1}, 3), culmen.Result)
assert_type(index.search([1, 2.5], 3), culmen.Result)
assert_type(index.search([[1, 2], [3, 4]]), culmen.BatchResult)
assert_type(index.search([{"price": 1}, {"rating": 2}]), culmen.BatchResult)
assert_type(index.search(np.ones(2)), culmen.Result | culmen.BatchResult)
assert_type(index.search([[1, 2]])[0][0], culmen.Row)
assert_type(dict(index.search([1, 2])[0]), dict[str, Any])
index.search({"price": 1}, "3")
index.build({"a": [1]}, thread=1)
index.from_parquet("a.parquet", thread=1)
"""


def test_calls_have_types(tmp_path, monkeypatch):
    """As a strict checker sees them: the last three calls are wrong."""
    api = pytest.importorskip("mypy.api")
    (tmp_path / "calls.py").write_text(CALLS)
    package = pathlib.Path(culmen.__file__).parent
    if "site-packages" not in package.parts:  # else mypy finds it, if it says that it has types
        monkeypatch.setenv("MYPYPATH", str(package.parent))
    options = ["--strict", "--follow-imports", "silent", "--python-version", "3.11", "--cache-dir", "/dev/null"]
    report, errors, _ = api.run([*options, str(tmp_path / "calls.py")])
    last = CALLS.count("\n")
    wrong = {int(line.split(":")[1]) for line in report.splitlines() if ": error: " in line}
    assert wrong == {last - 2, last - 1, last}, report + errors


def test_types_are_sound(tmp_path):
    api = pytest.importorskip("mypy.api")
    settings = pathlib.Path(__file__).parents[1] / "pyproject.toml"
    # A copy: mypy does not check what lies beside other installed packages.
    package = shutil.copytree(pathlib.Path(culmen.__file__).parent, tmp_path / "culmen")
    report, errors, status = api.run(["--config-file", str(settings), "--cache-dir", "/dev/null", str(package)])
    assert status == 0, report + errors
