# bench/harness/__init__.py - what a benchmark of this folder may use: docs/bench.md.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
from harness.context import Context, failure
from harness.facts import ROOT, commit, processor
from harness.results import write
from harness.timing import alternate, compared, error, quartiles, rotated

__all__ = ["ROOT", "Context", "alternate", "commit", "compared", "error", "failure", "processor", "quartiles", "rotated", "write"]
