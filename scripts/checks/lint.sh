#!/usr/bin/env bash
# scripts/checks/lint.sh [--fix] - lint (ruff) and spelling (codespell) of the folder in which it runs. Its configuration
# is ruff.toml and .codespellrc. --fix corrects what ruff can.
# SPDX-License-Identifier: Apache-2.0
set -uo pipefail

failed=0
report() { echo "check: $1"; failed=1; }

# The linters of scripts/setup, or those in PATH.
PATH=${TESSERA_DEPS:-${XDG_DATA_HOME:-$HOME/.local/share}/tessera}/venv/bin:$PATH
for linter in ruff codespell; do
  command -v $linter >/dev/null || report "$linter is not installed: run scripts/setup check"
done
if command -v ruff >/dev/null; then
  ruff check --no-cache --quiet ${1:+"$1"} . || report "lint: correct the lines above; scripts/check --fix corrects some"
fi
if command -v codespell >/dev/null; then
  codespell || report "spelling: correct the words above; names belong to ignore-words-list of .codespellrc"
fi
exit $failed
