# kernels/nsa/bwd_sum.py - dk and dv of compressed and of selected attention where several programs made them: their sums, in a fixed order.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""dk = scale * sum_i PART[i, :D] and dv = sum_i PART[i, D:] of each key, in ascending order of i, with dk [T, H, D] and dv [T, H, E]. PART, fp32,
is [H, chunks, LSEL, D + E] if select_bwd_dkdv writes it, and [Tc, H, parts, D + E] if cmp_bwd_dkdv writes it."""
import triton
import triton.language as tl
from kernels.attention.backward_kv import store_key_rows
from kernels.attention.core import Rows
from kernels.tiles import find_tile, part_count

SUM_CONFIGS = [triton.Config({"BR": 8}, num_warps=4), triton.Config({"BR": 4}, num_warps=4)]


@triton.jit
def add_up(part, offs, step, n, scale, dk, dv, first, group, held, D: tl.constexpr, DP: tl.constexpr, E: tl.constexpr, EP: tl.constexpr,
           BR: tl.constexpr):
    """dk and dv of BR rows from row `first` on, where `held` is set: the sum of n sums of D + E numbers a row, `step` apart."""
    d = tl.arange(0, DP)
    e = tl.arange(0, EP)
    dk_mask = held[:, None] & (d[None, :] < D)
    dv_mask = held[:, None] & (e[None, :] < E)
    sum_k = tl.zeros((BR, DP), tl.float32)
    sum_v = tl.zeros((BR, EP), tl.float32)
    for _ in range(0, n):
        sum_k += tl.load(part + offs[:, None] + d[None, :], mask=dk_mask, other=0.0)
        sum_v += tl.load(part + D + offs[:, None] + e[None, :], mask=dv_mask, other=0.0)
        part += step
    store_key_rows(dk, first, group, sum_k * scale, None, held, 0, D, DP, 0)
    store_key_rows(dv, first, group, sum_v, None, held, 0, E, EP, 0)


@triton.jit
def sum_chunks(PART, PTR, dk, dv, CU, scale, nseq, nblk, chunks, group, program, LSEL: tl.constexpr, CHUNK: tl.constexpr, D: tl.constexpr,
               DP: tl.constexpr, E: tl.constexpr, EP: tl.constexpr, BR: tl.constexpr):
    """BR keys of a block whose list has more than one chunk."""
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
        add_up(part, rows * (D + E), LSEL * (D + E), (listed + CHUNK - 1) // CHUNK, scale, dk, dv, start + n, group, held, D, DP, E, EP, BR)


@triton.jit
def sum_parts(PART, dk, dv, CU, CU_CMP, scale, nseq, parts, group, program, SPAN: tl.constexpr, D: tl.constexpr, DP: tl.constexpr,
              E: tl.constexpr, EP: tl.constexpr, BR: tl.constexpr):
    """BR compressed tokens of a sequence that has more than one part."""
    b, cmp_start, count, n = find_tile(CU_CMP, nseq, program, BR)
    cut = part_count(tl.load(CU + b + 1) - tl.load(CU + b), parts, SPAN)
    if (cut > 1) & (n < count):
        rows = tl.arange(0, BR)
        heads = tl.num_programs(0)
        part = PART + ((cmp_start + n).to(tl.int64) * heads + group) * parts * (D + E)
        add_up(part, rows * (heads * parts * (D + E)), D + E, cut, scale, dk, dv, cmp_start + n, group, n + rows < count, D, DP, E, EP, BR)


# tessera: types("dk dv: Rows(*TYPE:16, i32:16, i32:16)", "PART: *fp32:16", "PTR CU: *i32:16", "scale: fp32", "nseq nblk chunks: i32")
# tessera: instance select_bwd_sum_quick_f32(TYPE="fp32", LSEL=32, CHUNK=64, D=32, DP=32, E=32, EP=32, BR=8)
# tessera: instance select_bwd_sum_d64_f32(TYPE="fp32", LSEL=64, CHUNK=512, D=64, DP=64, E=64, EP=64, BR=8)
# tessera: instance select_bwd_sum_paper_bf16(TYPE="bf16", LSEL=64, CHUNK=512, D=192, DP=256, E=128, EP=128, BR=8)
# tessera: cpu(BR=8)
# tessera: space(BR=[2, 4, 8, 16, 32], where=BR <= LSEL)
# tessera: grid(H, nblk * cdiv(LSEL, BR))
@triton.autotune(configs=SUM_CONFIGS, key=["D", "E"])
@triton.jit(do_not_specialize=["nblk", "nseq", "chunks"])
def select_bwd_sum(PART, PTR, dk: Rows, dv: Rows, CU, scale, nseq, nblk, chunks, LSEL: tl.constexpr, CHUNK: tl.constexpr, D: tl.constexpr,
                   DP: tl.constexpr, E: tl.constexpr, EP: tl.constexpr, BR: tl.constexpr):
    """Computes dk and dv of BR keys of a block whose list has more than one chunk: the sum of the chunks."""
    sum_chunks(PART, PTR, dk, dv, CU, scale, nseq, nblk, chunks, tl.program_id(0).to(tl.int64), tl.program_id(1), LSEL, CHUNK, D, DP, E, EP, BR)


# tessera: types("dk dv: Rows(*TYPE:16, i32:16, i32:16)", "PART: *fp32:16", "CU CU_CMP: *i32:16", "scale: fp32", "nseq parts: i32")
# tessera: instance cmp_bwd_sum_quick_f32(TYPE="fp32", SPAN=32, D=32, DP=32, E=32, EP=32, BR=8)
# tessera: instance cmp_bwd_sum_d64_f32(TYPE="fp32", SPAN=256, D=64, DP=64, E=64, EP=64, BR=8)
# tessera: instance cmp_bwd_sum_paper_bf16(TYPE="bf16", SPAN=256, D=192, DP=256, E=128, EP=128, BR=8)
# tessera: cpu(BR=8)
# tessera: space(BR=[2, 4, 8, 16, 32])
# tessera: grid(H, TC // BR + B)
@triton.autotune(configs=SUM_CONFIGS, key=["D", "E"])
@triton.jit(do_not_specialize=["nseq", "parts"])
def cmp_bwd_sum(PART, dk: Rows, dv: Rows, CU, CU_CMP, scale, nseq, parts, SPAN: tl.constexpr, D: tl.constexpr, DP: tl.constexpr,
                E: tl.constexpr, EP: tl.constexpr, BR: tl.constexpr):
    """Computes dk and dv of BR compressed tokens of a sequence with more than one part: the sum of the parts."""
    sum_parts(PART, dk, dv, CU, CU_CMP, scale, nseq, parts, tl.program_id(0).to(tl.int64), tl.program_id(1), SPAN, D, DP, E, EP, BR)


# tessera: types("dk dv cdk cdv: Rows(*TYPE:16, i32:16, i32:16)", "PART CPART: *fp32:16", "PTR CU CU_CMP: *i32:16", "scale: fp32", "nseq nblk chunks parts: i32")
# tessera: instance branch_bwd_sum_quick_f32(TYPE="fp32", LSEL=32, CHUNK=64, SPAN=32, D=32, DP=32, E=32, EP=32, BR=8)
# tessera: instance branch_bwd_sum_d64_f32(TYPE="fp32", LSEL=64, CHUNK=512, SPAN=256, D=64, DP=64, E=64, EP=64, BR=8)
# tessera: instance branch_bwd_sum_paper_bf16(TYPE="bf16", LSEL=64, CHUNK=512, SPAN=256, D=192, DP=256, E=128, EP=128, BR=8)
# tessera: cpu(BR=8)
# tessera: space(BR=[2, 4, 8, 16, 32], where=BR <= LSEL)
# tessera: grid(H, nblk * cdiv(LSEL, BR) + TC // BR + B)
@triton.autotune(configs=SUM_CONFIGS, key=["D", "E"])
@triton.jit(do_not_specialize=["nblk", "nseq", "chunks", "parts"])
def branch_bwd_sum(PART, PTR, dk: Rows, dv: Rows, CPART, cdk: Rows, cdv: Rows, CU, CU_CMP, scale, nseq, nblk, chunks, parts, LSEL: tl.constexpr,
                   CHUNK: tl.constexpr, SPAN: tl.constexpr, D: tl.constexpr, DP: tl.constexpr, E: tl.constexpr, EP: tl.constexpr,
                   BR: tl.constexpr):
    """Runs select_bwd_sum in the first programs of a key head and cmp_bwd_sum in the others. The results are bitwise equal to theirs."""
    STEPS: tl.constexpr = (LSEL + BR - 1) // BR
    group = tl.program_id(0).to(tl.int64)
    program = tl.program_id(1)
    if program < nblk * STEPS:
        sum_chunks(PART, PTR, dk, dv, CU, scale, nseq, nblk, chunks, group, program, LSEL, CHUNK, D, DP, E, EP, BR)
    else:
        sum_parts(CPART, cdk, cdv, CU, CU_CMP, scale, nseq, parts, group, program - nblk * STEPS, SPAN, D, DP, E, EP, BR)
