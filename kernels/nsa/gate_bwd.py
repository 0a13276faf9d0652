# kernels/nsa/gate_bwd.py - gated combination, backward: gradients of the logits, and what the branches' backwards take.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl
from kernels.tiles import load_live_rows


@triton.jit
def store_logits(ptr, gates, changes, inv_tau, live, SOFTMAX: tl.constexpr):
    """Gradients of the three logits of each token, side by side at ptr [BT], from its gates and their gradients, three tensors [BT] each."""
    mean = gates[0] * changes[0] + gates[1] * changes[1] + gates[2] * changes[2] if SOFTMAX else 0.0
    logits = ()
    for i in tl.static_range(0, 3):
        logits += ((gates[i] * (changes[i] - mean) if SOFTMAX else gates[i] * (1.0 - gates[i]) * changes[i]) * inv_tau,)
    for i in tl.static_range(0, 3):
        tl.store(ptr + i, logits[i].to(ptr.dtype.element_ty), mask=live)


@triton.jit
def gated_lse(ptr, gate, live):
    """lse - ln(gate) of rows at ptr: exp(s - that) is the gate times exp(s - lse). A gate of zero makes all of a row zero."""
    lse = tl.load(ptr, mask=live, other=0.0)
    return tl.where(gate > 0.0, lse - tl.log2(gate) * 0.6931471805599453, float("inf"))


# tessera: types("DO OC OS OW DLOGITS: *TYPE:16", "LC LS LW GATES LSE DELTA: *fp32:16", "T sgt sgh slt slh: i32", "inv_tau: fp32", "plane s*: i32:16")
# tessera: instance gate_bwd_rows_quick_f32(TYPE="fp32", G=3, E=32, EP=32, SOFTMAX=1, BT=32)
# tessera: instance gate_bwd_rows_d64_f32(TYPE="fp32", G=4, E=64, EP=64, SOFTMAX=1, BT=32)
# tessera: instance gate_bwd_rows_paper_bf16(TYPE="bf16", G=16, E=128, EP=128, SOFTMAX=1, BT=32)
# tessera: cpu(BT=32)
# tessera: cpu(BT=64)
# tessera: space(BT=[8, 16, 32, 64, 128])
@triton.jit(do_not_specialize=["T"])
def gate_bwd_rows(DO, OC, OS, OW, LC, LS, LW, GATES, DLOGITS, LSE, DELTA, T, inv_tau, plane, sdot, sdoh, sbt, sbh,
                  sgt, sgh, slt, slh,
                  G: tl.constexpr, E: tl.constexpr, EP: tl.constexpr, SOFTMAX: tl.constexpr, BT: tl.constexpr):
    """Computes what gate_bwd computes for BT tokens of one KV head, without scaled copies of dO.

    LSE = lse_c - ln(g_c), infinite for a gate of 0, and DELTA = dO.O_c are three fp32 planes [T, Hq] each, `plane` elements apart (at least
    T*Hq, a multiple of 16). With them exp(score - LSE) is g_c * p, so the backward pass of a branch on dO itself gives the gradients of g_c
    * O_c. LC, LS, LW: the lse of the forward passes, contiguous. Grid: (cdiv(T, BT), Hkv).
    """
    t0 = tl.program_id(0) * BT
    group = tl.program_id(1).to(tl.int64)
    token0 = tl.program_id(0).to(tl.int64) * BT
    rel = tl.arange(0, BT)
    live = t0 + rel < T
    which = tl.arange(0, 4)                              # of the three gates side by side
    gates = tl.load(GATES + token0 * sgt + group * sgh + (rel * sgt)[:, None] + which[None, :],
                    mask=live[:, None] & (which < 3)[None, :], other=0.0)
    gc = tl.sum(tl.where((which == 0)[None, :], gates, 0.0), 1)
    gs = tl.sum(tl.where((which == 1)[None, :], gates, 0.0), 1)
    gw = tl.sum(tl.where((which == 2)[None, :], gates, 0.0), 1)
    dgc = tl.zeros((BT,), tl.float32)
    dgs = tl.zeros((BT,), tl.float32)
    dgw = tl.zeros((BT,), tl.float32)
    heads = tl.num_programs(1) * G
    far = plane.to(tl.int64)                             # from one branch of LSE and DELTA to the next
    GP: tl.constexpr = triton.next_power_of_2(G)
    lane = tl.arange(0, GP)
    own = live[:, None] & (lane < G)[None, :]
    row = token0 * heads + group * G + (rel * heads)[:, None] + lane[None, :]        # a token's heads lie side by side
    tl.store(LSE + row, gated_lse(LC + row, gc[:, None], own), mask=own)
    tl.store(LSE + far + row, gated_lse(LS + row, gs[:, None], own), mask=own)
    tl.store(LSE + 2 * far + row, gated_lse(LW + row, gw[:, None], own), mask=own)
    dc = tl.zeros((BT, GP), tl.float32)
    ds = tl.zeros((BT, GP), tl.float32)
    dw = tl.zeros((BT, GP), tl.float32)
    for g in range(0, G):
        head = group * G + g
        base = token0 * sbt + head * sbh
        do = load_live_rows(DO + token0 * sdot + head * sdoh, rel * sdot, live, E, EP).to(tl.float32)
        pc = tl.sum(do * load_live_rows(OC + base, rel * sbt, live, E, EP).to(tl.float32), 1)
        ps = tl.sum(do * load_live_rows(OS + base, rel * sbt, live, E, EP).to(tl.float32), 1)
        pw = tl.sum(do * load_live_rows(OW + base, rel * sbt, live, E, EP).to(tl.float32), 1)
        dgc += pc
        dgs += ps
        dgw += pw
        here = (lane == g)[None, :]
        dc = tl.where(here, pc[:, None], dc)
        ds = tl.where(here, ps[:, None], ds)
        dw = tl.where(here, pw[:, None], dw)
    tl.store(DELTA + row, dc, mask=own)
    tl.store(DELTA + far + row, ds, mask=own)
    tl.store(DELTA + 2 * far + row, dw, mask=own)
    store_logits(DLOGITS + token0 * slt + group * slh + rel * slt, (gc, gs, gw), (dgc, dgs, dgw), inv_tau, live, SOFTMAX)


# tessera: types("DO OC OS OW DOC DOS DOW DLOGITS: *TYPE:16", "GATES DELTA: *fp32:16", "T sgt sgh slt slh: i32", "inv_tau: fp32", "s*: i32:16")
# tessera: instance gate_bwd_quick_f32(TYPE="fp32", G=3, E=32, EP=32, SOFTMAX=1, BT=32)
# tessera: instance gate_bwd_d64_f32(TYPE="fp32", G=4, E=64, EP=64, SOFTMAX=1, BT=32)
# tessera: instance gate_bwd_paper_bf16(TYPE="bf16", G=16, E=128, EP=128, SOFTMAX=1, BT=32)
# tessera: cpu(BT=32)
# tessera: cpu(BT=64)
# tessera: space(BT=[8, 16, 32, 64, 128])
@triton.jit(do_not_specialize=["T"])
def gate_bwd(DO, OC, OS, OW, GATES, DOC, DOS, DOW, DLOGITS, DELTA, T, inv_tau, sdot, sdoh, sbt, sbh, sgt, sgh,
             sct, sch, slt, slh,
             G: tl.constexpr, E: tl.constexpr, EP: tl.constexpr, SOFTMAX: tl.constexpr, BT: tl.constexpr):
    """Computes for BT tokens of one KV head dO_c = g_c*dO (DOC, DOS, DOW), DLOGITS [T, Hkv, 3] from dg_c = sum over heads of dO.O_c, and
    DELTA fp32 [3, T, Hq], contiguous: delta_c = dO_c.O_c = g_c*(dO.O_c).

    Grid: (cdiv(T, BT), Hkv).
    """
    t0 = tl.program_id(0) * BT
    group = tl.program_id(1).to(tl.int64)
    token0 = tl.program_id(0).to(tl.int64) * BT
    rel = tl.arange(0, BT)
    live = t0 + rel < T
    gate = GATES + token0 * sgt + group * sgh + rel * sgt
    gc = tl.load(gate, mask=live, other=0.0)
    gs = tl.load(gate + 1, mask=live, other=0.0)
    gw = tl.load(gate + 2, mask=live, other=0.0)
    e = tl.arange(0, EP)
    keep = live[:, None] & (e[None, :] < E)
    dgc = tl.zeros((BT,), tl.float32)
    dgs = tl.zeros((BT,), tl.float32)
    dgw = tl.zeros((BT,), tl.float32)
    heads = tl.num_programs(1) * G
    plane = heads.to(tl.int64) * T                       # one branch of DELTA
    for g in range(0, G):
        head = group * G + g
        base = token0 * sbt + head * sbh
        do = load_live_rows(DO + token0 * sdot + head * sdoh, rel * sdot, live, E, EP).to(tl.float32)
        oc = load_live_rows(OC + base, rel * sbt, live, E, EP).to(tl.float32)
        os = load_live_rows(OS + base, rel * sbt, live, E, EP).to(tl.float32)
        ow = load_live_rows(OW + base, rel * sbt, live, E, EP).to(tl.float32)
        pc = tl.sum(do * oc, 1)
        ps = tl.sum(do * os, 1)
        pw = tl.sum(do * ow, 1)
        dgc += pc
        dgs += ps
        dgw += pw
        delta = DELTA + token0 * heads + head + rel * heads
        tl.store(delta, gc * pc, mask=live)
        tl.store(delta + plane, gs * ps, mask=live)
        tl.store(delta + 2 * plane, gw * pw, mask=live)
        out = token0 * sct + head * sch + (rel * sct)[:, None] + e[None, :]
        tl.store(DOC + out, (gc[:, None] * do).to(DOC.dtype.element_ty), mask=keep)
        tl.store(DOS + out, (gs[:, None] * do).to(DOS.dtype.element_ty), mask=keep)
        tl.store(DOW + out, (gw[:, None] * do).to(DOW.dtype.element_ty), mask=keep)
    store_logits(DLOGITS + token0 * slt + group * slh + rel * slt, (gc, gs, gw), (dgc, dgs, dgw), inv_tau, live, SOFTMAX)
