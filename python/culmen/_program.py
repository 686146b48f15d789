"""The command `culmen`, which comes with the package."""

import os
import pathlib
import sys


def main() -> None:
    program = pathlib.Path(__file__).with_name("culmen")
    os.execv(program, ["culmen", *sys.argv[1:]])
