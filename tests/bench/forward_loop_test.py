# tests/bench/forward_loop_test.py - the main loop of the forward kernels in their default configuration, of ptxas' code.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""FlashAttention 2 executes 0.3125 LDSM for each HMMA at a head width of 128 (bench/results/main_loops.json): 32 rows of a warp share the keys."""
import json
import os
import pathlib
import subprocess

import pytest
import triton
from repository import PROGRAM, ROOT

PTXAS = pathlib.Path(triton.__file__).parent / "backends/nvidia/bin/ptxas"
ROWS = "Rows(*bf16:16, i32:16, i32:16)"
SIGNATURE = f"q={ROWS}, k={ROWS}, v={ROWS}, o={ROWS}, lse=Rows(*fp32:16, i32:16, 1), CU=*i32:16, scale=fp32, nseq=i32"


def report(folder, file, kernel, width, target):
    """`tessera report` of a kernel in the configuration that its decorator names first, 16 query heads of a key head."""
    environment = os.environ | {"TESSERA_PTXAS": str(PTXAS), "TESSERA_CACHE_DIR": str(folder / "cache")}
    listed = subprocess.run([PROGRAM, "compile", ROOT / "kernels" / file, "--list", "--json"], text=True, capture_output=True, check=True)
    first = next(k for k in json.loads(listed.stdout)["kernels"] if k["name"] == kernel)["configs"][0]
    sizes = dict(G=16, D=width, DP=width, DT=0, E=width, EP=width, **first["constexprs"]) | ({"W": 512} if kernel == "window_fwd" else {})
    defines = [word for name, value in sizes.items() for word in ("-D", f"{name}={value}")]
    done = subprocess.run([PROGRAM, "compile", ROOT / "kernels" / file, "-k", kernel, "-s", SIGNATURE, *defines, "--target", target, "--emit",
                           "report", "--num-warps", str(first["num_warps"]), "--num-stages", str(first["num_stages"]), "-o", folder],
                          env=environment, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    return json.loads((folder / f"{kernel}.report.json").read_text())


@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
@pytest.mark.parametrize("width, others, loads", [(64, 4.25, 0.25), (128, 2.55, 0.3125)])
@pytest.mark.parametrize("file, kernel", [("dense/attn_fwd.py", "dense_fwd"), ("nsa/window_fwd.py", "window_fwd")])
def test_main_loop(tmp_path, file, kernel, width, others, loads, target):
    figures = report(tmp_path, file, kernel, width, target)
    iteration, = [loop["iteration"] for loop in figures["sass"]["loops"] if loop.get("iteration", {}).get("mma")]
    assert iteration["ldmatrix"] / iteration["mma"] == loads
    assert figures["loop_non_tensor_per_tensor"] <= others
    assert "ld.local" not in iteration and "st.local" not in iteration
    assert figures["spill_stores"] <= (4 if (target, width) == ("sm_90", 128) else 0)      # a pointer that the end of the kernel needs
