# kernels/nn/reduce_rows.py - sums the rows of an fp32 matrix in ascending order.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl


# tessera: instance reduce_rows(PART="*fp32:16", OUT="*fp32:16", rows="i32", cols="i32", BC=256)
# tessera: cpu(BC=64)
# tessera: cpu(BC=256)
# tessera: space(BC=[16, 32, 64, 128, 256, 512])
@triton.jit(do_not_specialize=["rows", "cols"])
def reduce_rows(PART, OUT, rows, cols, BC: tl.constexpr):
    """Sums BC columns of fp32 PART [rows, cols] over the rows, in order, to OUT [cols]. PART has one row for each program of the first
    stage.

    Grid: (cdiv(cols, BC)).
    """
    c = tl.program_id(0) * BC + tl.arange(0, BC)
    live = c < cols
    row = PART
    acc = tl.zeros((BC,), tl.float32)
    for r in range(0, rows):
        acc += tl.load(row + c, mask=live, other=0.0)
        row += cols
    tl.store(OUT + c, acc.to(OUT.dtype.element_ty), mask=live)
