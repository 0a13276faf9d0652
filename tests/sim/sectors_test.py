# tests/sim/sectors_test.py - global sectors of compression, merging of ranges and gates beside the least possible.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""The measurement of bench/sectors.py at 2,048 tokens of 12 and 2 heads of 64/64."""
import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import layer  # noqa: E402
import sectors  # noqa: E402

# A program reads the filters for 512 tokens: more than the bar where heads are small (bench/results/sectors_sm_80.json).
LIMITS = {("compress_pair_fwd", True): 1.14}

layer.harness.use(compiler="tessera")
wrong = 0
for row in sectors.measure(argparse.Namespace(tokens=2048, shapes="B", only=None)):
    limit = LIMITS.get((row["kernel"], row["filters"]), sectors.BAR)
    good = row["least"] <= row["sectors"] <= limit * row["least"]            # fewer would be a wrong count
    print("ok    " if good else "FAILED", *(f"{key} {value}" for key, value in row.items()))
    wrong += not good
sys.exit(1 if wrong else 0)
