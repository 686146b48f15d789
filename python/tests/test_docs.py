"""The examples in docstrings are right, and every public name has one or a text."""

import doctest
import importlib
import inspect
import pathlib
import pkgutil

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
    assert sorted(culmen.__all__) == sorted(public | {"__version__"})


def test_everything_public_is_described():
    for name in culmen.__all__:
        thing = getattr(culmen, name)
        assert inspect.getdoc(thing), name
        if inspect.isclass(thing) and thing.__module__ in ("culmen._index", "culmen._writes", "culmen._device"):
            for member, value in vars(thing).items():
                if not member.startswith("_") and not isinstance(value, property):
                    assert inspect.getdoc(getattr(thing, member)), f"{name}.{member}"


def test_types_are_sound():
    api = pytest.importorskip("mypy.api")
    settings = pathlib.Path(__file__).parents[1] / "pyproject.toml"
    package = pathlib.Path(culmen.__file__).parent
    report, errors, status = api.run(["--config-file", str(settings), "--cache-dir", "/dev/null", str(package)])
    assert status == 0, report + errors
