#!/usr/bin/env bash
# Installs what is missing, builds culmen, makes a table of a million hotels and asks it three questions.
#
#   scripts/demo.sh [DIRECTORY]    where the table and the index stay; default: a temporary one, removed after
#
# CULMEN_DEMO_ROWS=N     another number of hotels
# CULMEN_SKIP_SETUP=1    do not call scripts/setup.sh
set -euo pipefail

directory=${1:-}
is_kept=$([[ -n "$directory" ]] && echo yes || echo no)
if [[ $is_kept == yes ]]; then
  mkdir -p "$directory"
else
  directory=$(mktemp -d "${TMPDIR:-/tmp}/culmen-demo.XXXXXX")
  trap 'rm -rf "$directory"' EXIT
fi
directory=$(cd "$directory" && pwd)

cd "$(dirname "${BASH_SOURCE[0]}")/.."
# Without a GPU there is no use for the engines that run on one, which take longest to build.
preset=cpu-only
[[ ! -e /dev/nvidiactl ]] || preset=release
culmen=$PWD/build/$preset/tools/culmen

fail() {
  echo "demo: $1" >&2
  exit 1
}

heading() { printf '\n== %s\n\n' "$1"; }

# Prints a command as one would type it, then runs it.
show() {
  local argument line='$ culmen'
  for argument in "$@"; do
    if [[ "$argument" == *"'"* ]]; then
      argument="\"$argument\""
    elif [[ ! "$argument" =~ ^[[:alnum:]_.,:=/-]+$ ]]; then
      argument="'$argument'"
    fi
    line+=" $argument"
  done
  printf '%s\n' "$line"
  "$culmen" "$@"
}

# Prints a query's time in microseconds out of its JSON.
elapsed_us() { sed -n 's/.*"elapsed_us":\([0-9.e+]*\).*/\1/p' "$1"; }

# Asks one question; then again with a full scan of the table, whose answer has to be the same to the bit.
ask() {
  local engine question=(query hotels.index "${@:2}" --scale minmax -k 5)
  heading "$1"
  show "${question[@]}" --format table -q
  echo
  for engine in auto scan; do
    "$culmen" "${question[@]}" --engine "$engine" --format csv -o "$engine.csv"
    "$culmen" "${question[@]}" --engine "$engine" --format json -o "$engine.json" --profile 2>profile.txt
    tail -n 1 profile.txt
  done
  cmp auto.csv scan.csv || fail "the full scan gives another answer"
  awk -v index_us="$(elapsed_us auto.json)" -v scan_us="$(elapsed_us scan.json)" 'BEGIN {
    printf "The full scan takes %.0f times as long and agrees to the last bit.\n", scan_us / index_us }'
}

heading "Building culmen"
[[ "${CULMEN_SKIP_SETUP:-0}" == 1 ]] || scripts/setup.sh
cmake --preset "$preset" >/dev/null
cmake --build --preset "$preset" --target culmen_cli

cd "$directory"
heading "A table of hotels"
show generate hotels --rows "${CULMEN_DEMO_ROWS:-1000000}" -o hotels.csv
head -n 4 hotels.csv

heading "An index of it, built without knowing the questions"
show build hotels.csv -o hotels.index --id id --label name --force \
  --attributes price:low,rating,stars,distance:low,reviews,breakfast,noise:low,renovated

ask "A student: cheap above all, then near the centre and decently rated" \
  -w price=-6,distance=-2,rating=2
ask "A family: quiet, well rated, with breakfast, recently renovated, at a fair price" \
  -w noise=-3,rating=3,breakfast=1,renovated=1,price=-1
ask "A weekend in Roma or Wien: close by, much reviewed, three stars or more for at most 120 a night" \
  -w distance=-4,rating=2,reviews=1 --where "city in ('Roma', 'Wien') and price<=120 and stars>=3"

printf '\nThe program is build/%s/tools/culmen. ' "$preset"
if [[ $is_kept == yes ]]; then
  printf 'A page where weights are sliders:\n\n  %s serve %s/hotels.index\n\nThen open http://127.0.0.1:8080/\n' "$culmen" "$directory"
else
  printf 'scripts/demo.sh DIRECTORY keeps the index, for a page where weights are sliders:\n\n  culmen serve hotels.index\n'
fi
