#!/usr/bin/env bash
# Installs what is missing, builds culmen and runs its tests. The last line reads "N passed, M failed".
#
#   scripts/test.sh [--preset NAME] [arguments for ctest]
#
# NAME                   release, dev, asan, tsan or cpu-only; default: release on a machine with a GPU, else cpu-only
# CULMEN_TEST_CASES=N    random cases per randomised test
# CULMEN_TEST_TARGETS=.. builds only these targets; what CTest is to run is then to be named with -R
# CULMEN_WERROR=1        warnings are errors in presets that only show them
# CULMEN_SKIP_SETUP=1    do not call scripts/setup.sh
# CULMEN_SKIP_BENCH=1    leave the benchmarks out
# CULMEN_SKIP_PYTHON=1   leave the Python package out; without it, and but for the sanitizers, what it is tested with is
#                        installed from PyPI in build/python-venv
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

preset=cpu-only
[[ ! -e /dev/nvidiactl ]] || preset=release
if [[ "${1:-}" == --preset ]]; then
  preset=${2:?--preset needs a name}
  shift 2
fi
results="$PWD/build/$preset/tests.xml"
python_results="$PWD/build/$preset/python-tests.xml"
venv="$PWD/build/python-venv"

# Prints the sum of a number in the heads of all results, e.g. tests="120" failures="0".
count() {
  { cat "$results" "$python_results" 2>/dev/null || true; } | tr '\n' ' ' | grep -o '<testsuite [^>]*>' |
    sed -n "s/.*[[:space:]]$1=\"\([0-9]*\)\".*/\1/p" | awk '{ sum += $1 } END { print sum + 0 }'
}

setup=(scripts/setup.sh)
[[ "$preset" != asan ]] || setup+=(--ci) # clang
[[ "${CULMEN_SKIP_SETUP:-0}" == 1 ]] || "${setup[@]}"
python_options=(-DCULMEN_BUILD_PYTHON=OFF)
if [[ "${CULMEN_SKIP_PYTHON:-0}" != 1 && "$preset" != @(asan|tsan) ]]; then
  [[ -x "$venv/bin/python" ]] || python3 -m venv "$venv"
  "$venv/bin/pip" install -q --disable-pip-version-check -r python/requirements-test.txt
  python_options=(-DCULMEN_BUILD_PYTHON=ON "-DPython_EXECUTABLE=$venv/bin/python")
fi
options=("${python_options[@]}")
[[ "${CULMEN_WERROR:-0}" != 1 ]] || options+=(-DCULMEN_WERROR=ON)
[[ "${CULMEN_SKIP_BENCH:-0}" != 1 ]] || options+=(-DCULMEN_BUILD_BENCH=OFF)
cmake --preset "$preset" "${options[@]}"
targets=()
[[ -z "${CULMEN_TEST_TARGETS:-}" ]] || read -ra targets <<<"--target $CULMEN_TEST_TARGETS"
cmake --build --preset "$preset" "${targets[@]}"

# The distribution's oneTBB is not instrumented: ThreadSanitizer would take its hand-over of work for races. On one
# core oneTBB has no workers; threads that culmen's tests start themselves are seen as ever. The tests Stealing* ask
# for workers all the same, so the preset leaves them out.
on_cores=()
[[ "$preset" != tsan ]] || on_cores=(taskset -c 0)

rm -f "$results" "$python_results"
status=0
# One more than there are cores: some tests mostly wait.
"${on_cores[@]}" ctest --preset "$preset" --parallel "$(($(nproc) + 1))" --output-junit "$results" "$@" || status=$?
[[ -f "$results" ]] || exit "$status"
if [[ ${#python_options[@]} -gt 1 ]]; then
  # test_shards.py first: it takes as long as all others together.
  PYTHONPATH="build/$preset/python" PATH="$venv/bin:$PATH" "$venv/bin/python" -m pytest -q -p no:cacheprovider \
    --numprocesses "$(nproc)" --dist loadfile --no-loadscope-reorder \
    --junit-xml="$python_results" python/tests/test_shards.py python/tests || status=$?
fi
failed=$(($(count failures) + $(count errors)))
echo "$(($(count tests) - failed - $(count skipped) - $(count disabled))) passed, $failed failed"
exit "$status"
