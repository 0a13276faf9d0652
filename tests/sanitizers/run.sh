#!/usr/bin/env bash
# tests/sanitizers/run.sh PRESET [ctest arguments] - every test of the preset asan or tsan.
#   tests/sanitizers/run.sh asan                     address and undefined behaviour: builds build/asan, runs all but the long tests
#   tests/sanitizers/run.sh tsan                     data races, in what links neither MLIR nor LibTorch
#   tests/sanitizers/run.sh asan -R 'layout|sim_'    only these
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "$0")/../.."
case ${1:-} in
asan | tsan) preset=$1 && shift ;;
*)
  sed -n '2,5s/^# //p' tests/sanitizers/run.sh
  [[ ${1:-} == -h || ${1:-} == --help ]] && exit 0 || exit 2
  ;;
esac
# Tests fork processes that have threads.
export TSAN_OPTIONS="die_after_fork=0 ${TSAN_OPTIONS:-}"
scripts/build "$preset" all tests
exec scripts/run-tests "build/$preset" -LE '^full$' -j "${JOBS:-$(nproc)}" "$@"
