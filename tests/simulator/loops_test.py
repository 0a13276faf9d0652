# tests/simulator/loops_test.py - what the loops of our attention kernels are made of, counted in the PTX text.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Each test guards one decision of the compiler that ptxas cannot make up for. The bound is what the decision gives; without the decision
the count is far above the bound. No GPU and no ptxas are needed."""
import os
import pathlib
import re
import subprocess
import tempfile

import pytest
from repository import PROGRAM, ROOT


def ptx_of(path, kernel, signature, stages, **constants):
    """The PTX of one specialization, 4 warps, sm_80."""
    with tempfile.TemporaryDirectory() as folder:
        command = [PROGRAM, "compile", str(ROOT / "kernels" / path), "--kernel", kernel, "--target", "sm_80", "--signature", signature,
                   "--num-warps", "4", "--num-stages", str(stages), "--emit", "ptx,meta", "--output", folder]
        for name, value in constants.items():
            command += ["--define", f"{name}={value}"]
        environment = dict(os.environ, TESSERA_F32_DEFAULT="tf32", TESSERA_CACHE_DIR=folder + "/cache")
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
        return next(f for f in pathlib.Path(folder).iterdir() if f.suffix == ".ptx").read_text()


def rows(names, types):
    """Types of tensors that a kernel takes as tuples."""
    return "".join(f"{name}=({types}), " for name in names.split())


@pytest.fixture(scope="module", name="select_fwd")
def loop_of_select_fwd():
    """One token with 4 heads, head size 64, fp32; rows of K start anywhere."""
    ptx = ptx_of("nsa/select_fwd.py", "select_fwd", rows("q v o", "*fp32:16, i32:16, i32:16") + rows("k lse", "*fp32:16, i32, i32")
                 + "IDX=*i32:16, CU=*i32:16, scale=fp32, T=i32, nseq=i32", 2,
                 G=4, GP=4, LSEL=64, NSEL=16, D=64, DP=64, DT=0, E=64, EP=64, BN=64)
    lines = loop(ptx)
    assert lines, "no loop with mma in select_fwd"
    return lines


def cmp_fwd():
    """16 heads, head size 192 in one slice and 128, bf16: q, k and v are larger than the registers, and one block fills an SM anyway."""
    return ptx_of("nsa/cmp_fwd.py", "cmp_fwd", rows("q k v o", "*bf16:16, i32:16, i32:16") + rows("lse", "*fp32:16, i32, i32")
                  + "CU=*i32:16, CU_CMP=*i32:16, scale=fp32, nseq=i32", 2,
                  G=16, L=32, STRIDE=16, D=192, DP=256, DT=0, E=128, EP=128, BM=64, BN=64)


def loop(ptx):
    """The innermost loop with the most mma: its lines."""
    lines, best = ptx.splitlines(), []
    labels = {}
    for number, line in enumerate(lines):
        if found := re.match(r"(\$L__BB\w+):", line):
            labels[found[1]] = number
        elif found := re.search(r"bra(?:\.uni)?\s+(\$L__BB\w+);", line):
            start = labels.get(found[1])
            if start is not None:
                inside = lines[start:number + 1]
                count = sum("mma.sync" in x for x in inside)
                if count and (not best or count >= sum("mma.sync" in x for x in best) and len(inside) < len(best)):
                    best = inside
    return best


def count(pattern, lines):
    return sum(bool(re.search(pattern, line)) for line in lines)


def test_fragments_stay_together(select_fwd):
    """Of 16 rows 12 are copies. An accumulator that was given back without its copies cost two moves for each instruction."""
    sums = re.findall(r"mma\.sync[^{]*(?:\{[^}]*\},\s*){3}\{([^}]*)\}", "\n".join(select_fwd))
    assert sums
    assert sum(len({x.strip() for x in s.split(",")}) < 4 for s in sums) <= len(sums) // 4, "mma whose accumulator repeats registers"


def test_rows_have_no_counters(select_fwd):
    """Loop strength reduction made a counter for each row of K and V: 24 registers that live through the loop."""
    assert count(r"add\.s32\s+(%r\d+), \1, 64;", select_fwd) <= 3, "counters in steps of a tile"


def test_addresses_share_sums(select_fwd):
    """Row and column are added to a pointer in 64 bits; the column, which all rows share, once. It cost one more addition a row."""
    copies = count(r"cp\.async\.c", select_fwd)
    assert 0 < count(r"add\.s64", select_fwd) <= copies * 5 // 4, "64-bit additions for the copies"


def test_q_comes_from_shared_memory():
    """16 ldmatrix a round for q instead of 64 registers through the loop, which spilled 128 bytes; 64 are for k, 32 for v."""
    assert count(r"ldmatrix.*x4", loop(cmp_fwd())) >= 112
