#!/usr/bin/env bash
# Runs the checks and the tests of a built tree (`npm test` builds first) and ends with `N passed, N failed`.
#
#   npm test                                  everything
#   npm test -- stores http/problem           the files whose path holds one of the words (or matches a glob)
#   npm test -- test/model/outcome.test.ts    one file; its compiled name will do as well
#   npm test -- stores --timeout=300          options go to tap (with `=`); jobs and time-out per file stand in package.json
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
bin=node_modules/.bin

# Whatever ends this script early, the last line says so.
reported=
trap 'status=$?; [ -n "$reported" ] || { echo "0 passed, 1 failed"; [ "$status" -ne 0 ] || exit 1; }' EXIT

options=()
patterns=()
for argument in "$@"; do
  case $argument in
    -*) options+=("$argument") ;;
    *) patterns+=("${argument#./}") ;;
  esac
done

# The list comes from the sources: what is compiled but has no source any more does not run.
files=()
while IFS= read -r source; do
  compiled=build/${source%.ts}.js
  wanted=
  [ ${#patterns[@]} -gt 0 ] || wanted=yes
  for pattern in ${patterns[@]+"${patterns[@]}"}; do
    # shellcheck disable=SC2053 # a pattern may be a glob
    if [[ $source == *$pattern* || $compiled == *$pattern* ]]; then wanted=yes; fi
  done
  [ -z "$wanted" ] || files+=("$compiled")
done < <(find test -name '*.test.ts' | LC_ALL=C sort)
if [ ${#files[@]} -eq 0 ]; then
  echo "no test file matches: ${patterns[*]-}" >&2
  exit 1
fi

bash test/install-servers.sh || exit 1

# A failed check does not hide the tests' results; it counts as one failure. `check NAME COMMAND…`: silent when well.
failed_checks=()
check() {
  local name=$1 output
  shift
  output=$("$@" 2>&1) && return
  printf 'FAIL  %s: %s\n%s\n\n' "$name" "$*" "$output"
  failed_checks+=("--failed=$name")
}
check lint "$bin/oxlint" --type-aware --quiet src test
check format "$bin/oxfmt" --check src test

# tap's plugins are built once after each installation, which empties node_modules and with it the mark.
mark=node_modules/.tap-is-built
if [ ! -e "$mark" ]; then
  output=$("$bin/tap" build 2>&1 </dev/null) || { echo "$output"; exit 1; }
  touch "$mark"
fi

{
  "$bin/tap" --reporter=tap ${options[@]+"${options[@]}"} "${files[@]}" </dev/null
  echo "# tap ended with $?"
} | node build/test/report.js ${failed_checks[@]+"${failed_checks[@]}"} "${files[@]}"
status=$?
reported=yes
exit "$status"
