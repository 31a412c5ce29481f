#!/usr/bin/env bash
# Brings the programs that the tests start themselves: redis-server, or those that are named (the benchmarks ask for wrk too).
# One that is missing is a failure, not a skip.
set -euo pipefail

missing=()
for program in "${@:-redis-server}"; do
  command -v "$program" >/dev/null || missing+=("$program")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
  echo "The tests need ${missing[*]}. Please install it, for example:" >&2
  echo "  sudo apt-get install ${missing[*]}    (macOS: brew install redis)" >&2
  exit 1
fi

echo "installing ${missing[*]} ..."
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
if ! { apt-get update && apt-get install -y --no-install-recommends "${missing[@]}"; } </dev/null >"$log" 2>&1; then
  cat "$log" >&2
  echo "${missing[*]} could not be installed" >&2
  exit 1
fi
