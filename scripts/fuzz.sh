#!/usr/bin/env bash
# Builds the libFuzzer targets with clang and runs each for a while. The corpus of each grows in build/fuzz/corpus;
# an input that breaks one is kept in build/fuzz.
#
#   scripts/fuzz.sh [SECONDS_EACH] [TARGET...]     60 seconds and every target by default, e.g. csv_fuzz
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds=${1:-60}
[[ $# -eq 0 ]] || shift
targets=("$@")
if [[ ${#targets[@]} -eq 0 ]]; then
  mapfile -t targets < <(find tests/fuzz -name '*_fuzz.cc' -exec basename {} .cc \; | sort)
fi
[[ ${#targets[@]} -gt 0 ]] || {
  echo "fuzz: no target in tests/fuzz" >&2
  exit 1
}
command -v clang++ >/dev/null || {
  echo "fuzz: no clang; run scripts/setup.sh --ci" >&2
  exit 1
}

cmake --preset fuzz
cmake --build --preset fuzz --target "${targets[@]}" "${targets[@]/%/_libfuzzer}"

for target in "${targets[@]}"; do
  corpus="build/fuzz/corpus/$target"
  mkdir -p "$corpus"
  # Our own driver knows the seeds; without them libFuzzer starts from nothing.
  "build/fuzz/tests/fuzz/$target" --write-corpus "$corpus"
  echo "fuzz: $target for $seconds s"
  # What only mapped pages point to, as the labels of an arena, would be taken for leaks. CTest looks for them at the end.
  "build/fuzz/tests/fuzz/${target}_libfuzzer" "$corpus" -max_total_time="$seconds" -max_len=4096 -rss_limit_mb=2048 \
    -timeout=10 -detect_leaks=0 -verbosity=0 -print_final_stats=1 -artifact_prefix="build/fuzz/$target-"
done
echo "fuzz: nothing found by ${#targets[@]} targets"
