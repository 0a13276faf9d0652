# tests/triton/compiled.py - the ops, loaded, and what failed: of the tests that launch kernels by torch.ops.tessera.launch.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""LIBTESSERA_TORCH names the library of the ops. Exit status 77 means skipped (a module or the library is not there)."""
import os
import pathlib
import sys


def skip(why):
    print("skipped:", why)
    sys.exit(1 if os.environ.get("TEST_COMPLETE") else 77)


try:
    import torch
except ImportError as missing:
    skip(missing)

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "helpers"))
from outliers import close_enough, outlier_text  # noqa: E402, F401

library = os.environ.get("LIBTESSERA_TORCH") or skip("LIBTESSERA_TORCH is not set")
torch.ops.load_library(library)
wanted = sys.argv[1] if len(sys.argv) > 1 else ""  # part of a name
failures, count = [], 0


def check(name, problem):
    global count
    count += 1
    if problem:
        failures.append(f"{name}: {problem}")


def finish():
    for line in failures:
        print("FAILED", line)
    print(f"checks: {count}, failures: {len(failures)}")
    sys.exit(1 if failures or not count else 0)
