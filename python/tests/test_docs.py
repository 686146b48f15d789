"""The examples in docstrings are right, and every public name has one or a text."""

import doctest
import inspect
import pathlib

import pytest

import culmen
import culmen._index
import culmen._result


def test_docstrings_run():
    for module in (culmen._index, culmen._result):
        result = doctest.testmod(module)
        assert result.failed == 0 and (module is not culmen._index or result.attempted > 5)


def test_everything_public_is_described():
    for name in culmen.__all__:
        thing = getattr(culmen, name)
        assert inspect.getdoc(thing), name
        if inspect.isclass(thing) and thing.__module__ == "culmen._index":
            for member, value in vars(thing).items():
                if not member.startswith("_") and not isinstance(value, property):
                    assert inspect.getdoc(getattr(thing, member)) or thing is culmen.Batch, f"{name}.{member}"


def test_types_are_sound():
    api = pytest.importorskip("mypy.api")
    settings = pathlib.Path(__file__).parents[1] / "pyproject.toml"
    package = pathlib.Path(culmen.__file__).parent
    report, errors, status = api.run(["--config-file", str(settings), "--cache-dir", "/dev/null", str(package)])
    assert status == 0, report + errors
