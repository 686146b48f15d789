#!/usr/bin/env bash
# On a machine with a GPU: builds culmen and runs all tests, the GPU tests again on emulated smaller cards, the ladders
# of kernels, and GPU tests under each tool of compute-sanitizer, as many side by side as there are cores.
# The last line reads "gpu_test: ok" or names what failed; logs are in build/gpu_test.
#
# CULMEN_SKIP_SETUP=1           do not call scripts/setup.sh
# CULMEN_SANITIZER_CASES=N      random cases under compute-sanitizer (default 8; racecheck is slow)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() {
  echo "gpu_test: $1" >&2
  exit 1
}

# As tests/gpu/cuda/emulated_card.cc reads them: Turing's smallest and its data centre card, then the same of Ampere. What
# does not run here, copying and building, asks for nothing that cards differ in.
cards=(14x64 40x64 16x99 108x163)
programs=(device_test device_fields_test async_test allocation_test refresh_test select_test sweep_test kth_bound_test group_test group_async_test group_shards_test resident_test)
logs=$PWD/build/gpu_test

program() { find build/release/tests -name "$1" -type f; }

# Each line a check: a name for its log, then a command. Those that take longest come first.
checks() {
  local tool
  tool_checks racecheck
  card_checks
  for tool in synccheck initcheck memcheck; do tool_checks "$tool"; done
}

tool_checks() {
  local tool=$1 test filter cases name
  while read -r test filter cases; do
    name=$tool-$test-${filter//[^A-Za-z0-9]/}
    cases=${cases:-${CULMEN_SANITIZER_CASES:-8}}
    echo "${name:0:60} env CULMEN_TEST_CASES=$cases compute-sanitizer --tool $tool --error-exitcode 9 $(program "$test") --gtest_filter=$filter"
  done < <(sanitized "$tool")
}

card_checks() {
  local card test
  for card in "${cards[@]}"; do
    for test in "${programs[@]}"; do
      echo "card-$card-$test env CULMEN_TEST_CARD=$card CULMEN_TEST_CASES=20 $(program "$test")"
    done
  done
}

# What runs under a tool: a program, a filter of its tests and, if others than usual, how many cases.
sanitized() {
  echo 'limits_test TallTrees.*'
  echo 'limits_test RepeatedIds.* 2'
  echo 'device_fields_test *AreFiltered*/0:FieldSlots.A*:DeviceFilters.Differ*'
  echo 'device_test *DeviceEngines*:Device.AnswersAnEmptyIndex'
  echo 'async_test *AsyncBatches*:Async.AnswersAnEmptyIndex'
  echo 'resident_test *AsTheCpuDoes:*FollowsChanges:*ManyThreads* 8'
  echo 'sweep_test *Sweeps*'
  echo 'sweep_test Products.* 1'
  echo 'group_shards_test *AnswerAsTheCpuDoes/mixed:*/to_nothing 2'
  echo 'group_async_test */2:Lane.*'
  echo 'group_test *Groups*/mixed:Group.SetsAside*:*BesideAWriter* 2'
  echo 'kth_bound_test *'
  echo 'device_load_test *WritesTheFiles*:*LargerThanTheDevice*:*FieldsAndGaps*'
  echo 'mirror_test *mixed:*ties:*to_nothing:GrowingBuffer*:WriteBytes*'
  echo 'refresh_test *AnswersAreTheOracles/mixed:*AnswersAreTheOracles/to_nothing'
  echo 'limits_test Cards/Limits.*OraclesRows*/1x*:Cards/Limits.*OraclesRows*/7x*'
  case $1 in
    memcheck)
      echo 'allocation_test *:-*LargerCandidateList*'
      echo 'select_test Select.Float32:Select.Int64:Select.*TwoThreadBlocks'
      ;;
    initcheck)
      echo 'allocation_test *:-*LargerCandidateList*'
      echo 'select_test Select.Int64:Select.*TwoThreadBlocks'
      ;;
    # What these look for is in kernels, which do not change when memory runs out.
    racecheck) echo 'select_test Select.*TwoThreadBlocks' ;; # the others would take it hours
    synccheck) echo 'select_test Select.Int64:Select.*TwoThreadBlocks' ;;
  esac
}

# check NAME COMMAND...
check() {
  local name=$1 start=$SECONDS status=0
  shift
  "$@" >"$logs/$name.log" 2>&1 || status=$?
  if [[ $status -eq 0 ]]; then
    echo "gpu_test: $name ok ($((SECONDS - start)) s)"
  else
    tail -n 20 "$logs/$name.log"
    echo "gpu_test: $name FAILED with $status, see $logs/$name.log"
  fi
  return "$status"
}

nvidia-smi -L || fail "no GPU"
command -v compute-sanitizer >/dev/null || fail "no compute-sanitizer: it comes with the CUDA toolkit"
CULMEN_SKIP_PYTHON=${CULMEN_SKIP_PYTHON:-1} scripts/test.sh # PyPI may be out of reach there
cmake --build --preset release --target bounded_ladder bitonic_ladder
build/release/bench/bounded_ladder --rows=1000000 --repeats=3 || fail "the ladder of bounded"
build/release/bench/bitonic_ladder --rows=1000003 --ks=1,2,7,16,100,512,1000,2048 --repeats=3 || fail "the ladder of bitonic"
mkdir -p "$logs"
export logs
export -f check
checks | xargs -P "$(nproc)" -L 1 bash -c 'check "$@"' check || fail "some of the checks"
echo "gpu_test: ok"
