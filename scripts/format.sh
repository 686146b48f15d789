#!/usr/bin/env bash
# Formats every C++ file with clang-format; with --check it changes nothing and fails on the first difference.
# Releases of clang-format differ in details: 14 (Debian 12) is the one that counts.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

format=$(command -v clang-format-14 || command -v clang-format) || {
  echo "format: no clang-format; run scripts/setup.sh --ci" >&2
  exit 1
}
mode=(-i)
case "${1:-}" in
  '') ;;
  --check) mode=(--dry-run --Werror --ferror-limit=3) ;;
  *)
    echo "usage: scripts/format.sh [--check]" >&2
    exit 2
    ;;
esac

folders=(include base index query cpu planner gpu select api table tools python tests bench examples)
find "${folders[@]}" \( -name '*.h' -o -name '*.cc' -o -name '*.cu' -o -name '*.cuh' \) -print0 | xargs -0 "$format" "${mode[@]}"
