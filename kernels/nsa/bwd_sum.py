# kernels/nsa/bwd_sum.py - dk and dv of compressed and of selected attention where several programs made them: their sums, in a fixed order.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl
from kernels.tiles import find_tile, part_count, store_rows


@triton.jit
def add_up(part, offs, step, n, scale, to_k, to_v, sdkt, sdvt, held,
           D: tl.constexpr, DP: tl.constexpr, E: tl.constexpr, EP: tl.constexpr, BR: tl.constexpr):
    """dk and dv of BR rows: the sum of n sums of D + E numbers a row, `step` apart, in ascending order."""
    rows = tl.arange(0, BR)
    d = tl.arange(0, DP)
    e = tl.arange(0, EP)
    dk_mask = held[:, None] & (d[None, :] < D)
    dv_mask = held[:, None] & (e[None, :] < E)
    dk = tl.zeros((BR, DP), tl.float32)
    dv = tl.zeros((BR, EP), tl.float32)
    for _ in range(0, n):
        dk += tl.load(part + offs[:, None] + d[None, :], mask=dk_mask, other=0.0)
        dv += tl.load(part + D + offs[:, None] + e[None, :], mask=dv_mask, other=0.0)
        part += step
    store_rows(to_k, rows * sdkt, dk * scale, D, DP, held)
    store_rows(to_v, rows * sdvt, dv, E, EP, held)


@triton.jit
def sum_chunks(PART, PTR, DK, DV, CU, scale, nseq, nblk, chunks, sdkt, sdkh, sdvt, sdvh, group, program,
               LSEL: tl.constexpr, CHUNK: tl.constexpr, D: tl.constexpr, DP: tl.constexpr, E: tl.constexpr, EP: tl.constexpr,
               BR: tl.constexpr):
    """BR keys of a block whose list has more than one chunk (select_bwd_dkdv)."""
    STEPS: tl.constexpr = (LSEL + BR - 1) // BR
    block = program // STEPS
    lists = PTR + group * (nblk + 1) + block
    entry0 = tl.load(lists)
    listed = tl.load(lists + 1) - entry0
    if listed > CHUNK:
        _, start, length, first = find_tile(CU, nseq, block, LSEL)
        n = first + program % STEPS * BR
        rows = tl.arange(0, BR)
        held = n + rows < tl.minimum(first + LSEL, length)
        chunk0 = entry0 // CHUNK + block         # as find_tile numbers them
        part = PART + ((group * chunks + chunk0) * LSEL + (n - first)) * (D + E)
        key0 = (start + n).to(tl.int64)
        add_up(part, rows * (D + E), LSEL * (D + E), (listed + CHUNK - 1) // CHUNK, scale, DK + key0 * sdkt + group * sdkh,
               DV + key0 * sdvt + group * sdvh, sdkt, sdvt, held, D, DP, E, EP, BR)


@triton.jit
def sum_parts(PART, DK, DV, CU, CU_CMP, scale, nseq, parts, sdkt, sdkh, sdvt, sdvh, group, heads, program,
              SPAN: tl.constexpr, D: tl.constexpr, DP: tl.constexpr, E: tl.constexpr, EP: tl.constexpr, BR: tl.constexpr):
    """BR compressed tokens of a sequence that has more than one part (cmp_bwd_dkdv)."""
    b, cmp_start, count, n = find_tile(CU_CMP, nseq, program, BR)
    cut = part_count(tl.load(CU + b + 1) - tl.load(CU + b), parts, SPAN)
    if (cut > 1) & (n < count):
        rows = tl.arange(0, BR)
        key0 = (cmp_start + n).to(tl.int64)
        part = PART + (key0 * heads + group) * parts * (D + E)
        add_up(part, rows * (heads * parts * (D + E)), D + E, cut, scale, DK + key0 * sdkt + group * sdkh, DV + key0 * sdvt + group * sdvh,
               sdkt, sdvt, n + rows < count, D, DP, E, EP, BR)


# tessera: types("DK DV: *TYPE:16", "PART: *fp32:16", "PTR CU: *i32:16", "scale: fp32", "nseq nblk chunks: i32", "s*: i32:16")
# tessera: instance select_bwd_sum_quick_f32(TYPE="fp32", LSEL=32, CHUNK=64, D=32, DP=32, E=32, EP=32, BR=8)
# tessera: instance select_bwd_sum_d64_f32(TYPE="fp32", LSEL=64, CHUNK=512, D=64, DP=64, E=64, EP=64, BR=8)
# tessera: instance select_bwd_sum_paper_bf16(TYPE="bf16", LSEL=64, CHUNK=512, D=192, DP=256, E=128, EP=128, BR=8)
# tessera: cpu(BR=8)
# tessera: space(BR=[2, 4, 8, 16, 32], where=BR <= LSEL)
# tessera: grid(H, nblk * cdiv(LSEL, BR))
@triton.autotune(
    configs=[
        triton.Config({"BR": 8}, num_warps=4),
        triton.Config({"BR": 4}, num_warps=4),
    ],
    key=["D", "E"],
)
@triton.jit(do_not_specialize=["nblk", "nseq", "chunks"])
def select_bwd_sum(PART, PTR, DK, DV, CU, scale, nseq, nblk, chunks, sdkt, sdkh, sdvt, sdvh,
                   LSEL: tl.constexpr, CHUNK: tl.constexpr, D: tl.constexpr, DP: tl.constexpr, E: tl.constexpr, EP: tl.constexpr,
                   BR: tl.constexpr):
    """dk and dv of BR keys of a block whose list has more than one chunk: the sum of the chunks in ascending order."""
    sum_chunks(PART, PTR, DK, DV, CU, scale, nseq, nblk, chunks, sdkt, sdkh, sdvt, sdvh, tl.program_id(0).to(tl.int64), tl.program_id(1),
               LSEL, CHUNK, D, DP, E, EP, BR)


# tessera: types("DK DV: *TYPE:16", "PART: *fp32:16", "CU CU_CMP: *i32:16", "scale: fp32", "nseq parts: i32", "s*: i32:16")
# tessera: instance cmp_bwd_sum_quick_f32(TYPE="fp32", SPAN=32, D=32, DP=32, E=32, EP=32, BR=8)
# tessera: instance cmp_bwd_sum_d64_f32(TYPE="fp32", SPAN=256, D=64, DP=64, E=64, EP=64, BR=8)
# tessera: instance cmp_bwd_sum_paper_bf16(TYPE="bf16", SPAN=256, D=192, DP=256, E=128, EP=128, BR=8)
# tessera: cpu(BR=8)
# tessera: space(BR=[2, 4, 8, 16, 32])
# tessera: grid(H, TC // BR + B)
@triton.autotune(
    configs=[
        triton.Config({"BR": 8}, num_warps=4),
        triton.Config({"BR": 4}, num_warps=4),
    ],
    key=["D", "E"],
)
@triton.jit(do_not_specialize=["nseq", "parts"])
def cmp_bwd_sum(PART, DK, DV, CU, CU_CMP, scale, nseq, parts, sdkt, sdkh, sdvt, sdvh,
                SPAN: tl.constexpr, D: tl.constexpr, DP: tl.constexpr, E: tl.constexpr, EP: tl.constexpr, BR: tl.constexpr):
    """dk and dv of BR compressed tokens of a sequence with more than one part: the sum of the parts in ascending order."""
    sum_parts(PART, DK, DV, CU, CU_CMP, scale, nseq, parts, sdkt, sdkh, sdvt, sdvh, tl.program_id(0).to(tl.int64), tl.num_programs(0),
              tl.program_id(1), SPAN, D, DP, E, EP, BR)


# tessera: types("DK DV CDK CDV: *TYPE:16", "PART CPART: *fp32:16", "PTR CU CU_CMP: *i32:16", "scale: fp32", "nseq nblk chunks parts: i32", "s*: i32:16")
# tessera: instance branch_bwd_sum_quick_f32(TYPE="fp32", LSEL=32, CHUNK=64, SPAN=32, D=32, DP=32, E=32, EP=32, BR=8)
# tessera: instance branch_bwd_sum_d64_f32(TYPE="fp32", LSEL=64, CHUNK=512, SPAN=256, D=64, DP=64, E=64, EP=64, BR=8)
# tessera: instance branch_bwd_sum_paper_bf16(TYPE="bf16", LSEL=64, CHUNK=512, SPAN=256, D=192, DP=256, E=128, EP=128, BR=8)
# tessera: cpu(BR=8)
# tessera: space(BR=[2, 4, 8, 16, 32], where=BR <= LSEL)
# tessera: grid(H, nblk * cdiv(LSEL, BR) + TC // BR + B)
@triton.autotune(
    configs=[
        triton.Config({"BR": 8}, num_warps=4),
        triton.Config({"BR": 4}, num_warps=4),
    ],
    key=["D", "E"],
)
@triton.jit(do_not_specialize=["nblk", "nseq", "chunks", "parts"])
def branch_bwd_sum(PART, PTR, DK, DV, CPART, CDK, CDV, CU, CU_CMP, scale, nseq, nblk, chunks, parts, sdkt, sdkh, sdvt, sdvh,
                   scdkt, scdkh, scdvt, scdvh,
                   LSEL: tl.constexpr, CHUNK: tl.constexpr, SPAN: tl.constexpr, D: tl.constexpr, DP: tl.constexpr, E: tl.constexpr,
                   EP: tl.constexpr, BR: tl.constexpr):
    """select_bwd_sum by the first programs of a key head, cmp_bwd_sum by the others."""
    STEPS: tl.constexpr = (LSEL + BR - 1) // BR
    group = tl.program_id(0).to(tl.int64)
    program = tl.program_id(1)
    if program < nblk * STEPS:
        sum_chunks(PART, PTR, DK, DV, CU, scale, nseq, nblk, chunks, sdkt, sdkh, sdvt, sdvh, group, program, LSEL, CHUNK, D, DP, E, EP, BR)
    else:
        sum_parts(CPART, CDK, CDV, CU, CU_CMP, scale, nseq, parts, scdkt, scdkh, scdvt, scdvh, group, tl.num_programs(0),
                  program - nblk * STEPS, SPAN, D, DP, E, EP, BR)
