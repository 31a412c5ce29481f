#!/usr/bin/env bash
# Brings the programs that the tests start themselves, or those that are named (the benchmarks ask for wrk too). One that is missing is a
# failure, not a skip. CHROMIUM=/path/to/chrome names a browser that is not on the PATH.
set -euo pipefail

[ $# -gt 0 ] || set -- redis-server postgresql chromium prometheus systemd helm

found() {
  case $1 in
    chromium) command -v "${CHROMIUM:-chromium}" >/dev/null || command -v google-chrome >/dev/null ;;
    postgresql) command -v postgres >/dev/null || ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 ;;
    systemd) command -v systemd-analyze >/dev/null || [ "$(uname)" != Linux ] ;;
    # Debian has no helm: Go's template engine with helm's functions stands in for it.
    helm) command -v helm >/dev/null || { command -v go >/dev/null && [ -d /usr/share/gocode/src/github.com/Masterminds/sprig ]; } ;;
    *) command -v "$1" >/dev/null ;;
  esac
}

missing=()
for program in "$@"; do
  found "$program" || missing+=("$program")
done
[ ${#missing[@]} -gt 0 ] || exit 0
packages=${missing[*]/#helm/golang-go golang-github-masterminds-sprig-dev golang-gopkg-yaml.v3-dev}

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
  echo "The tests need ${missing[*]}. Please install it, for example:" >&2
  echo "  sudo apt-get install $packages    (macOS: brew install redis postgresql prometheus helm; CHROMIUM=/path/to/chrome)" >&2
  exit 1
fi

echo "installing ${missing[*]} ..."
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
# Debian would make a cluster of its own and start it: the tests make theirs.
create=/etc/postgresql-common/createcluster.conf
[[ " ${missing[*]} " != *' postgresql '* || -e $create ]] || { mkdir -p "${create%/*}" && echo 'create_main_cluster = false' >"$create"; }
install=(apt-get install -y --no-install-recommends -o Dpkg::Options::=--force-confold)
if ! { apt-get update && "${install[@]}" $packages; } </dev/null >"$log" 2>&1; then
  cat "$log" >&2
  echo "${missing[*]} could not be installed" >&2
  exit 1
fi
