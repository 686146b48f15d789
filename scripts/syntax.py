#!/usr/bin/env python3
"""Reads the C++ files that `dev` compiles one at a time as it would compile them, warnings as errors, without making
code: an eighth of the work. A unity build does not see that a file lacks an include. With a CUDA toolkit, the files
that need it are among them, and CUDA's own are compiled, which takes longest. Of the tests, which are a unity build in
`dev` too, only those that need CUDA are read: `cpu-only` and `asan` compile the others. `fuzz` is only configured:
`asan` has the same library and the same targets. Each is configured in build/PRESET.

CULMEN_SYNTAX_SECONDS    starts no further file after this many seconds (default: no limit) and says how many it has
                         checked. Benchmarks of the CPU, which CI compiles nowhere else, come first, then those changed
                         last
"""

import json
import math
import os
import re
import shlex
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
END = time.monotonic() + float(os.environ.get("CULMEN_SYNTAX_SECONDS", math.inf))


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


def places_by_change() -> dict[str, int]:
    """By path: those of the latest commits first; without a history there are none."""
    command = ["git", "log", "--format=", "--name-only"]
    log = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    return {str(ROOT / name): place for place, name in enumerate(dict.fromkeys(log.split("\n")))}


def without_code(words: list[str], file: Path) -> list[str]:
    """The command, so that it leaves nothing. nvcc has no way to read a file only."""
    words = list(words)
    output = words.index("-o") + 1
    if file.suffix == ".cu":
        words[output] = os.devnull
    else:
        del words[output - 1 : output + 1]
        words[words.index("-c")] = "-fsyntax-only"
    return words


def is_read(file: Path, build: Path) -> bool:
    if file.is_relative_to(build / "tests"):
        return file.is_relative_to(build / "tests/gpu") and "Unity" in file.parts
    return file.suffix in (".cc", ".cu") and not file.is_relative_to(ROOT / "tests")


def commands(build: Path) -> list[tuple[str, list[str]]]:
    """Where each runs, and its words: benchmarks of the CPU come first, then the files that were changed last."""
    places = places_by_change()
    found = []
    for entry in json.loads((build / "compile_commands.json").read_text()):
        file = Path(entry["file"])
        if is_read(file, build):
            unity = re.findall(r'^#include "(.*)"', file.read_text(), re.MULTILINE) if "Unity" in file.parts else []
            place = min(places.get(name, len(places)) for name in unity or [str(file)])
            if file.parent in (ROOT / "bench", ROOT / "bench/planner") and not file.name.startswith("gpu_"):
                place = -1
            found.append((place, entry["directory"], without_code(shlex.split(entry["command"]), file)))
    found.sort(key=lambda each: each[0])
    return [(folder, words) for _, folder, words in found]


def is_clean(command: tuple[str, list[str]]) -> bool | None:
    """None: there was no time for it."""
    folder, words = command
    return subprocess.run(words, cwd=folder).returncode == 0 if time.monotonic() < END else None


def main() -> int:
    configure("fuzz")
    build = configure("dev")
    precompile_headers(build)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(is_clean, commands(build)))
    checked = len(results) - results.count(None)
    print(f"syntax: checked {checked} of {len(results)} files, {results.count(False)} with errors")
    return 1 if False in results or checked == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
