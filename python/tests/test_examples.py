"""The examples run, and what they assert holds."""

import pathlib
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize("name", ["cars", "flights", "products", "sensors", "stocks"])
def test_an_example_runs(name):
    example = FOLDER / f"{name}.py"
    if not example.exists():
        pytest.skip("the examples are not beside the tests")
    done = subprocess.run([sys.executable, example], capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) >= 5
