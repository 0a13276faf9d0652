# tests/python/ordered_loop_test.py - static figures of the backward pass in one kernel of a GPU.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""The main loop of kernels/attention/backward_ordered.py for heads of 128 columns and tiles of 64 x 128 on sm_80, of SASS by ptxas."""
import json
import pathlib
import subprocess
import tempfile

import pytest
from repository import PROGRAM, ROOT

FILES = [("dense/attn_bwd_ordered", "dense_bwd_ordered", {}), ("nsa/window_bwd_ordered", "window_bwd_ordered", dict(W=512)),
         ("nsa/cmp_bwd_ordered", "cmp_bwd_ordered", dict(L=32, STRIDE=16, SPAN=256))]


@pytest.mark.parametrize("file, kernel, sizes", FILES, ids=[kernel for _, kernel, _ in FILES])
def test_the_main_loop(file, kernel, sizes):
    wide, rows = "Rows(*bf16:16, i32:16, i32:16)", "Rows(*fp32:16, i32:16, 1)"
    types = [f"{name}={wide}" for name in "q k v do dk dv".split()] + ["dq=Rows(*fp32:16, i32:16, i32:16)", f"lse={rows}", f"delta={rows}", "scale=fp32"]
    types += [f"{name}=*i32:16" for name in ("CU", "TICKET", "ADDED")] + ["nseq=i32", "tiles=i32"]
    constants = dict(G=16, D=128, DP=128, DT=0, E=128, EP=128, BM=64, BN=128, **sizes)
    if kernel == "cmp_bwd_ordered":
        types += ["PART=*fp32:16", "CU_CMP=*i32:16", "parts=i32"]
    defines = [word for name, value in constants.items() for word in ("-D", f"{name}={value}")]
    with tempfile.TemporaryDirectory() as folder:
        options = ["--num-warps", "8", "--num-stages", "2", "--target", "sm_80", "--emit", "report", "-o", folder]
        subprocess.run([PROGRAM, "compile", ROOT / f"kernels/{file}.py", "-k", kernel, "-s", ", ".join(types), *defines, *options], check=True,
                       capture_output=True)
        report = json.loads(next(pathlib.Path(folder).glob("*.report.json")).read_text())
    assert report["spill_stores"] == report["spill_loads"] == 0
    assert report["async_stages"] == 2, "the queries of the next iteration are copied ahead of the wait for other programs"
    loops = [loop["iteration"] for loop in report["sass"]["loops"] if loop["iteration"].get("mma")]
    assert len(loops) == 3, "before, in and after the tiles that see all keys"
    # 64 x 128 pairs, five products: 2,560 tensor instructions of 8 warps. FlashAttention 2 of torch 2.11 has 8,168 instructions in all.
    assert {loop["mma"] for loop in loops} == {320}
    assert 8 * min(loop["total"] for loop in loops) <= 7600
    # dq is read and written in the layout of its product: two numbers of a lane at once, and no exchange in shared memory.
    assert min(loop["st.shared"] for loop in loops) <= 8
    assert {loop["st.global"] for loop in loops} == {16}
