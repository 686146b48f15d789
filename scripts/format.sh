#!/usr/bin/env bash
# Formats every C++ file with clang-format and every Python file with ruff, which also mends what it can of its other
# findings (ruff.toml); with --check it changes nothing and fails on a difference or a finding. Releases of clang-format
# differ in details: 14 (Debian 12) is the one that counts. ruff is in build/python-venv, where scripts/test.sh puts it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

format=$(command -v clang-format-14 || command -v clang-format) || {
  echo "format: no clang-format; run scripts/setup.sh --ci" >&2
  exit 1
}
ruff=$(command -v build/python-venv/bin/ruff || command -v ruff) || {
  echo "format: no ruff; run scripts/test.sh, or pip install -r python/requirements-test.txt" >&2
  exit 1
}
mode=(-i)
ruff_format=()
ruff_check=(--fix)
case "${1:-}" in
  '') ;;
  --check)
    mode=(--dry-run --Werror --ferror-limit=3)
    ruff_format=(--diff)
    ruff_check=()
    ;;
  *)
    echo "usage: scripts/format.sh [--check]" >&2
    exit 2
    ;;
esac

folders=(include base index query cpu planner gpu select api shard table coding serve tools python tests bench examples)
find "${folders[@]}" \( -name '*.h' -o -name '*.cc' -o -name '*.cu' -o -name '*.cuh' \) -print0 | xargs -0 "$format" "${mode[@]}"
status=0
"$ruff" check --quiet "${ruff_check[@]}" || status=1
"$ruff" format --quiet "${ruff_format[@]}" || status=1
exit "$status"
