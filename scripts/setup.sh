#!/usr/bin/env bash
# Installs what culmen needs from the distribution (Debian 12, Ubuntu 24.04 and newer), and only what is missing.
#
#   scripts/setup.sh         what it takes to build, test and run culmen
#   scripts/setup.sh --ci    also clang and its tools: formatter, linter, fuzzer; on Debian Chromium
set -euo pipefail

packages=(
  build-essential cmake ninja-build pkg-config git ca-certificates ccache python3 python3-dev python3-venv
  libtbb-dev libhwy-dev libeigen3-dev libboost-dev libxxhash-dev libzstd-dev zlib1g-dev libbz2-dev liblzma-dev
  libroaring-dev libsimdjson-dev
  libcli11-dev nlohmann-json3-dev libfmt-dev libedit-dev
  libgtest-dev libbenchmark-dev
)
ci_packages=(clang libclang-rt-dev clang-format clang-tidy)
# For the tests of the page, which are skipped without a browser. Ubuntu has Chromium only as a snap.
[[ "$(. /etc/os-release && echo "$ID")" != debian ]] || ci_packages+=(chromium)

fail() {
  echo "setup: $1" >&2
  exit 1
}

is_installed() {
  [[ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" == installed ]]
}

as_root() {
  if [[ $EUID -eq 0 ]]; then
    env DEBIAN_FRONTEND=noninteractive "$@"
  else
    sudo env DEBIAN_FRONTEND=noninteractive "$@"
  fi
}

case "${1:-}" in
  '') ;;
  --ci) packages+=("${ci_packages[@]}") ;;
  *) fail "unknown argument $1; usage: scripts/setup.sh [--ci]" ;;
esac

command -v apt-get >/dev/null || fail "there is no apt here. Install the equivalents of: ${packages[*]}
setup: then set CULMEN_SKIP_SETUP=1 for the other scripts."

missing=()
for package in "${packages[@]}"; do
  is_installed "$package" || missing+=("$package")
done
if [[ ${#missing[@]} -eq 0 ]]; then
  echo "setup: nothing to install"
  exit 0
fi

echo "setup: installing what is missing: ${missing[*]}"
[[ $EUID -eq 0 ]] || command -v sudo >/dev/null ||
  fail "installing needs root, and there is no sudo. Run as root: apt-get install ${missing[*]}"
as_root apt-get update -qq || fail "apt-get update failed; see above"

unknown=()
for package in "${missing[@]}"; do
  apt-cache show "$package" >/dev/null 2>&1 || unknown+=("$package")
done
[[ ${#unknown[@]} -eq 0 ]] || fail "this release has no package ${unknown[*]}; culmen needs Debian 12, Ubuntu 24.04 or newer"

as_root apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null || fail "apt-get install failed; see above"
echo "setup: installed ${#missing[@]} packages"
