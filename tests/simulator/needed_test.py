# tests/simulator/needed_test.py - the steps that bench/padding.py takes from the kernels' text, beside programs that ran.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""At 4,096 tokens of 64/64 with 6 heads of a group: programs of unlike numbers of steps must execute as many tensor instructions as
bench/padding.py says, or it throws; and none may need more than it executes."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import layer  # noqa: E402
import padding  # noqa: E402

one = layer.Layer(6, 1, 64, 64, 4096, idx=layer.selection(4096, "sink"))
# Pairs that are seen, counted one by one in another way: whole sums of the definitions of docs/nsa.md.
PAIRS = dict(dense=4096 * 4097 // 2, window=4096 * 512 - 512 * 511 // 2, cmp=sum((t - 15) // 16 for t in range(31, 4096)),
             select_=sum(64 * min(t // 64, 15) + t % 64 + 1 for t in range(4096)))
wrong = 0
for name in padding.KERNELS:
    executed, needed, programs = padding.count(name, one)
    pairs = PAIRS[next((key for key in PAIRS if name.startswith(key)), "cmp")]
    good = needed <= executed <= 1.4 * needed and programs > (1 if name != "select_bwd_dkdv" else 0) and padding.pairs(name, one) == pairs
    print("ok    " if good else "FAILED", name, f"executed {executed:.0f} needed {needed:.0f} programs {programs} pairs {pairs}")
    wrong += not good
sys.exit(1 if wrong else 0)
