"""The examples run, and what they assert holds."""

import pathlib
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).parents[1] / "examples"


def run(name, *arguments):
    example = FOLDER / f"{name}.py"
    if not example.exists():
        pytest.skip("the examples are not beside the tests")
    done = subprocess.run([sys.executable, example, *arguments], capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) >= 5


@pytest.mark.parametrize("name", ["cars", "flights", "products", "sensors", "stocks"])
def test_an_example_runs(name):
    run(name)


def test_an_example_draws_a_picture(tmp_path):
    pytest.importorskip("matplotlib")
    run("stocks", tmp_path / "momentum.png")
    assert (tmp_path / "momentum.png").read_bytes().startswith(b"\x89PNG")
