#!/usr/bin/env bash
# On a machine with a GPU: builds culmen, runs all tests, and the GPU tests under each tool of compute-sanitizer.
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

for tool in memcheck racecheck initcheck synccheck; do
  echo "gpu_test: $tool"
  CULMEN_TEST_CASES="${CULMEN_SANITIZER_CASES:-8}" compute-sanitizer --tool "$tool" --error-exitcode 9 \
    build/release/tests/gpu/device_test --gtest_filter='*DeviceEngines*:Device.AnswersAnEmptyIndex' ||
    fail "$tool has something to report"
done
echo "gpu_test: ok"
