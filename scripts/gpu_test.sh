#!/usr/bin/env bash
# On a machine with a GPU: builds culmen, runs all tests and the ladders of kernels, and the GPU tests under each tool
# of compute-sanitizer.
# The last line reads "gpu_test: ok" or names what failed.
#
# CULMEN_SKIP_SETUP=1           do not call scripts/setup.sh
# CULMEN_SANITIZER_CASES=N      random cases under compute-sanitizer (default 8; racecheck is slow)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() {
  echo "gpu_test: $1" >&2
  exit 1
}

nvidia-smi -L || fail "no GPU"
command -v compute-sanitizer >/dev/null || fail "no compute-sanitizer: it comes with the CUDA toolkit"
scripts/test.sh
cmake --build --preset release --target bounded_ladder bitonic_ladder
build/release/bench/bounded_ladder --rows=1000000 --repeats=3 || fail "the ladder of bounded"
build/release/bench/bitonic_ladder --rows=1000003 --ks=1,2,7,16,100,512,1000,2048 --repeats=3 || fail "the ladder of bitonic"

# check TOOL PROGRAM TESTS
check() {
  echo "gpu_test: $1, $2"
  CULMEN_TEST_CASES="${CULMEN_SANITIZER_CASES:-8}" compute-sanitizer --tool "$1" --error-exitcode 9 \
    "build/release/tests/gpu/$2" --gtest_filter="$3" || fail "$1 has something to report about $2"
}
for tool in memcheck racecheck initcheck synccheck; do
  check "$tool" device_test '*DeviceEngines*:Device.AnswersAnEmptyIndex'
  check "$tool" async_test '*AsyncBatches*:Async.AnswersAnEmptyIndex'
  check "$tool" allocation_test '*:-*LargerCandidateList*' # of a million rows, which would take it too long
  check "$tool" device_load_test '*WritesTheFiles*:*LargerThanTheDevice*'
  check "$tool" mirror_test '*mixed:*ties:*to_nothing:GrowingBuffer*'
  check "$tool" refresh_test '*AnswersAreTheOracles/mixed:*AnswersAreTheOracles/to_nothing'
  check "$tool" limits_test 'Cards/Limits.*/1x*:Cards/Limits.*OraclesRows*/7x*:TallTrees.*:RepeatedIds.*'
  check "$tool" select_test 'Select.*TwoThreadBlocks'
  [[ "$tool" == racecheck ]] || check "$tool" select_test 'Select.Float32:Select.Int64' # it would take hours
done
echo "gpu_test: ok"
