"""scikit-build-core, and source distributions that hold the C++ sources, which lie above this folder."""

import contextlib
import pathlib
import shutil

from scikit_build_core import build as _build
from scikit_build_core.build import *  # noqa: F403

_HERE = pathlib.Path(__file__).resolve().parent.parent
_ABOVE = _HERE.parent
_COPY = _HERE / "culmen-src"  # which pyproject.toml names
_ROOMS = [
    "api",
    "base",
    "cmake",
    "coding",
    "cpu",
    "gpu",
    "include",
    "index",
    "planner",
    "query",
    "select",
    "serve",
    "shard",
    "table",
    "tools",
]


@contextlib.contextmanager
def _sources():
    if _COPY.exists():  # this is a source distribution
        yield
        return
    try:
        for folder in [*_ROOMS, "python/src"]:
            shutil.copytree(_ABOVE / folder, _COPY / folder)
        for file in ("CMakeLists.txt", "LICENSE", "python/CMakeLists.txt"):
            shutil.copy(_ABOVE / file, _COPY / file)
        yield
    finally:
        shutil.rmtree(_COPY, ignore_errors=True)


def build_sdist(sdist_directory, config_settings=None):
    with _sources():
        return _build.build_sdist(sdist_directory, config_settings)
