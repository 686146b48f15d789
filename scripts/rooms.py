#!/usr/bin/env python3
"""Draws the rooms of the code, into docs/hacking.md.

    scripts/rooms.py            draws it anew, and counts each room's lines
    scripts/rooms.py --check    fails if the drawing is not that of the code, or if an include goes upwards

Rooms are folders; an arrow leads from one to another that it includes.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "hacking.md"
BEGIN, END = "<!-- rooms: scripts/rooms.py -->\n", "<!-- end of rooms -->\n"

# From the ground up: a room may include those before it alone.
ROOMS = [
    "include",
    "base",
    "index",
    "index/build",
    "index/encoding",
    "index/storage",
    "query",
    "cpu",
    "index/write",
    "gpu/cuda",
    "gpu/mirror",
    "gpu/build",
    "select",
    "gpu/search",
    "gpu/group",
    "planner",
    "api",
    "shard",
    "table",
    "coding",
    "serve",
    "tools",
]
ENDINGS = {".h", ".cc", ".cu", ".cuh"}


def room_of(path):
    """The innermost room that a file, named from the root, is in."""
    if path.startswith("culmen/"):
        return "include"
    return max((room for room in ROOMS if path.startswith(room + "/")), key=len, default=None)


def read_code():
    """Lines of each room, and for each pair of rooms an include that goes from one to the other."""
    lines, arrows = dict.fromkeys(ROOMS, 0), {}
    tops = {room.split("/")[0] for room in ROOMS}
    for file in sorted(file for top in tops for file in (ROOT / top).rglob("*") if file.suffix in ENDINGS):
        name = str(file.relative_to(ROOT))
        source, text = room_of(name), file.read_text()
        if source is None:
            sys.exit(f"rooms: {name} is in no room; scripts/rooms.py lists them")
        lines[source] += text.count("\n")
        for included in re.findall(r'^#include "([^"]+)"', text, re.M):
            target = room_of(included)
            if target not in (None, source):
                arrows.setdefault((source, target), f"{name} includes {included}")
    return lines, arrows


def without_detours(arrows):
    """The arrows that no way over other rooms stands for."""
    below = {room: {t for s, t in arrows if s == room} for room in ROOMS}
    for room in ROOMS:  # in order: what is below those below is known
        below[room] |= {deeper for t in below[room] for deeper in below[t]}
    return [(s, t) for s, t in arrows if not any(t in below[u] for v, u in arrows if v == s and u != t)]


def drawing(arrows):
    text = "```mermaid\ngraph BT\n"
    for room in ROOMS:
        text += f'  {room.replace("/", "_")}["{room}"]\n'
    for source, target in sorted(without_detours(arrows), key=lambda a: (ROOMS.index(a[0]), ROOMS.index(a[1]))):
        text += f"  {source.replace('/', '_')} --> {target.replace('/', '_')}\n"
    return text + "```\n"


def main():
    lines, arrows = read_code()
    upwards = [what for (s, t), what in arrows.items() if ROOMS.index(t) > ROOMS.index(s)]
    if upwards:
        sys.exit("rooms: includes that go upwards:\n" + "\n".join(upwards))
    page = PAGE.read_text()
    begin, end = page.index(BEGIN) + len(BEGIN), page.index(END)
    fresh = page[:begin] + drawing(arrows) + page[end:]
    if sys.argv[1:] == ["--check"]:
        if page != fresh:
            sys.exit("rooms: the drawing in docs/hacking.md is an old one; run scripts/rooms.py")
    else:
        PAGE.write_text(fresh)
        for room in ROOMS:
            print(f"{lines[room]:6} {room}")


main()
