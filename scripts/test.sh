#!/usr/bin/env bash
# Installs what is missing, builds culmen and runs its tests. The last line reads "N passed, M failed".
#
#   scripts/test.sh [--preset NAME] [arguments for ctest]     NAME: release (default), dev, asan, tsan, cpu-only
#
# CULMEN_TEST_CASES=N    random cases per randomised test
# CULMEN_SKIP_SETUP=1    do not call scripts/setup.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

preset=release
if [[ "${1:-}" == --preset ]]; then
  preset=${2:?--preset needs a name}
  shift 2
fi
results="$PWD/build/$preset/tests.xml"

# Prints one number of the results' head line, e.g. tests="120" failures="0".
count() {
  sed -n "s/^[[:space:]]*$1=\"\([0-9]*\)\".*/\1/p" "$results" | head -n 1
}

setup=(scripts/setup.sh)
[[ "$preset" != asan ]] || setup+=(--ci) # clang
[[ "${CULMEN_SKIP_SETUP:-0}" == 1 ]] || "${setup[@]}"
cmake --preset "$preset"
cmake --build --preset "$preset"

# The distribution's oneTBB is not instrumented: ThreadSanitizer would take its hand-over of work for races. On one
# core oneTBB has no workers; threads that culmen's tests start themselves are seen as ever.
on_cores=()
[[ "$preset" != tsan ]] || on_cores=(taskset -c 0)

rm -f "$results"
status=0
"${on_cores[@]}" ctest --preset "$preset" --parallel "$(nproc)" --output-junit "$results" "$@" || status=$?
[[ -f "$results" ]] || exit "$status"
failed=$(count failures)
echo "$(($(count tests) - failed - $(count skipped) - $(count disabled))) passed, $failed failed"
exit "$status"
