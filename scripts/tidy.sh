#!/usr/bin/env bash
# Runs clang-tidy with the checks of .clang-tidy over the library, the program and the Python extension, on all
# cores. It configures a folder of its own, in which each file is compiled by itself.
#
# CULMEN_TIDY_SECONDS    starts no further file after this many seconds (default 240) and says how many it has
#                        checked. Those changed last come first
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=build/tidy
deadline=$((SECONDS + ${CULMEN_TIDY_SECONDS:-240}))
tidy=$(command -v clang-tidy-14 || command -v clang-tidy) || {
  echo "tidy: no clang-tidy; run scripts/setup.sh --ci" >&2
  exit 1
}
python=$PWD/build/python-venv/bin/python # of scripts/test.sh
python_options=(-DCULMEN_BUILD_PYTHON=OFF)
[[ ! -x "$python" ]] || python_options=(-DCULMEN_BUILD_PYTHON=ON "-DPython_EXECUTABLE=$python")
cmake --preset release -B "$build" -DCMAKE_UNITY_BUILD=OFF "${python_options[@]}" >/dev/null

rooms=(base index query cpu planner gpu select api shard table coding serve tools python/src)

# The library's files, those of the latest commits first.
newest_first() {
  {
    git log --format= --name-only -- "${rooms[@]}" 2>/dev/null || true
    find "${rooms[@]}" -name '*.cc' | sort
  } | awk '/\.cc$/ && !seen[$0]++'
}

# Only what this configuration compiles: without CUDA the files that need it cannot be read, without the environment
# those of the extension.
files=()
while IFS= read -r file; do
  ! grep -qF "\"file\": \"$PWD/$file\"" "$build/compile_commands.json" || files+=("$file")
done < <(newest_first)
# clang cannot read the headers that gcc has precompiled.
mkdir -p "$build/commands"
sed -E 's/ -Winvalid-pch//; s/ -include [^ ]*cmake_pch\.hxx//' "$build/compile_commands.json" >"$build/commands/compile_commands.json"
next=0
failed=0
running=0
for file in "${files[@]}"; do
  ((SECONDS < deadline)) || break
  if ((running == $(nproc))); then
    wait -n || failed=1
    running=$((running - 1))
  fi
  "$tidy" --quiet -p "$build/commands" "$file" 2>/dev/null &
  next=$((next + 1))
  running=$((running + 1))
done
while ((running > 0)); do
  wait -n || failed=1
  running=$((running - 1))
done
echo "tidy: checked $next of ${#files[@]} files"
exit "$failed"
