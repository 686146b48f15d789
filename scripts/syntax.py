#!/usr/bin/env python3
"""Reads every C++ file as the presets that CI does not build would compile it, warnings as errors where the preset has
them so, without making code: an eighth of the work. `dev`: all files; `fuzz`: the targets alone, as `asan` has the
same library. Each is configured in build/PRESET."""

import json
import os
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = {"dev": "", "fuzz": "tests/fuzz/"}


def configure(preset: str) -> Path:
    """Also compiles the headers that the preset's files want precompiled."""
    options = ["-DCULMEN_BUILD_PYTHON=OFF"]
    subprocess.run(["cmake", "--preset", preset, *options], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    build = ROOT / "build" / preset
    targets = subprocess.run(
        ["ninja", "-C", build, "-t", "targets", "all"], check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    headers = re.findall(r"^(\S*cmake_pch\.hxx\.(?:gch|pch)):", targets, re.MULTILINE)
    if not FOLDERS[preset] and headers:
        subprocess.run(["ninja", "--quiet", "-C", build, *headers], check=True)
    return build


def commands(build: Path, folder: str) -> list[tuple[str, list[str]]]:
    """Where each runs, and its words."""
    found = []
    for entry in json.loads((build / "compile_commands.json").read_text()):
        file = Path(entry["file"])
        if file.suffix not in (".cc", ".cxx") or "cmake_pch" in file.name:
            continue
        if not str(file).startswith(str(ROOT / folder)):
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
    num_failed = 0
    for preset, folder in FOLDERS.items():
        all_commands = commands(configure(preset), folder)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            results = list(pool.map(is_clean, all_commands))
        print(f"syntax: {preset}: {len(results)} files, {results.count(False)} with errors")
        num_failed += results.count(False) + (not results)
    return 1 if num_failed else 0


if __name__ == "__main__":
    sys.exit(main())
