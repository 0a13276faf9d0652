# tests/simulator/sectors_test.py - global sectors of compression, merging of ranges and gates beside the least possible.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""The measurement of bench/sectors.py at 2,048 tokens of 12 and 2 heads of 64/64; compression forward with 64 and 4 heads of 128/128, too."""
import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import layer  # noqa: E402
import sectors  # noqa: E402

layer.launcher.use(compiler="tessera")
wrong = 0
for shape in "AB":
    for row in sectors.measure(argparse.Namespace(tokens=2048, shapes=shape, only=None if shape == "B" else "compress_pair_fwd")):
        # At 64/64 the filters of a program are too many for its 512 tokens: above the bar (bench/results/sectors_sm_80.json).
        if shape == "B" and row["filters"] and row["kernel"] == "compress_pair_fwd":
            continue
        good = row["least"] <= row["sectors"] <= sectors.BAR * row["least"]      # fewer would be a wrong count
        print("ok    " if good else "FAILED", *(f"{key} {value}" for key, value in row.items()))
        wrong += not good
sys.exit(1 if wrong else 0)
