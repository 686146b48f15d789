#!/usr/bin/env python3
"""Reads the C++ files that `dev` compiles one at a time as it would compile them, warnings as errors, without making
code: an eighth of the work. A unity build does not see that a file lacks an include. Tests are left out: they are a
unity build in `dev` too, and `release` and `asan` compile the same. `fuzz` is only configured: `asan` has the same
library and the same targets. Each is configured in build/PRESET."""

import json
import os
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def configure(preset: str) -> Path:
    options = ["-DCULMEN_BUILD_PYTHON=OFF"]
    subprocess.run(["cmake", "--preset", preset, *options], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return ROOT / "build" / preset


def precompile_headers(build: Path) -> None:
    targets = subprocess.run(
        ["ninja", "-C", build, "-t", "targets", "all"], check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    headers = re.findall(r"^((?!tests/)\S*cmake_pch\.hxx\.(?:gch|pch)):", targets, re.MULTILINE)
    if headers:
        subprocess.run(["ninja", "--quiet", "-C", build, *headers], check=True)


def commands(build: Path) -> list[tuple[str, list[str]]]:
    """Where each runs, and its words."""
    found = []
    for entry in json.loads((build / "compile_commands.json").read_text()):
        file = Path(entry["file"])
        if file.suffix != ".cc" or file.is_relative_to(ROOT / "tests"):
            continue
        words = shlex.split(entry["command"])
        output = words.index("-o")
        del words[output : output + 2]
        words[words.index("-c")] = "-fsyntax-only"
        found.append((entry["directory"], words))
    return found


def is_clean(command: tuple[str, list[str]]) -> bool:
    folder, words = command
    return subprocess.run(words, cwd=folder).returncode == 0


def main() -> int:
    configure("fuzz")
    build = configure("dev")
    precompile_headers(build)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(is_clean, commands(build)))
    print(f"syntax: {len(results)} files, {results.count(False)} with errors")
    return 1 if False in results or not results else 0


if __name__ == "__main__":
    sys.exit(main())
