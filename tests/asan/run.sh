#!/usr/bin/env bash
# tests/asan/run.sh [ctest arguments] - every test of the preset asan: built with the address and the undefined-behaviour sanitizer.
#   tests/asan/run.sh                     builds build/asan, runs its tests but the long ones
#   tests/asan/run.sh -R 'layout|sim_'    only these
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "$0")/../.."
case ${1:-} in -h | --help) exec sed -n '2,4s/^# //p' tests/asan/run.sh ;; esac
scripts/build asan all tests
exec scripts/run-tests build/asan -LE '^full$' -j "${JOBS:-$(nproc)}" "$@"
