# kernels/nsa/gate_bwd.py - gated combination, backward: gradients of the branches and of the logits, and each branch's delta.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl


@triton.jit
def load_rows(ptr, offs, live, N: tl.constexpr, NP: tl.constexpr):
    """Rows that start at ptr + offs, N elements each; others than live rows, and columns N .. NP-1, read as zero."""
    cols = tl.arange(0, NP)
    if N == NP:
        x = tl.load(ptr + offs[:, None] + cols[None, :], mask=live[:, None], other=0.0)
    else:
        x = tl.load(ptr + offs[:, None] + cols[None, :], mask=live[:, None] & (cols[None, :] < N), other=0.0)
    return x


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
    """BT tokens of one KV head. dO_c = g_c*dO; dg_c = sum over heads of dO.O_c; delta_c = dO_c.O_c = g_c*(dO.O_c)."""
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
        do = load_rows(DO + token0 * sdot + head * sdoh, rel * sdot, live, E, EP).to(tl.float32)
        oc = load_rows(OC + base, rel * sbt, live, E, EP).to(tl.float32)
        os = load_rows(OS + base, rel * sbt, live, E, EP).to(tl.float32)
        ow = load_rows(OW + base, rel * sbt, live, E, EP).to(tl.float32)
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
    if SOFTMAX:
        mean = gc * dgc + gs * dgs + gw * dgw
        dac = gc * (dgc - mean) * inv_tau
        das = gs * (dgs - mean) * inv_tau
        daw = gw * (dgw - mean) * inv_tau
    else:
        dac = gc * (1.0 - gc) * dgc
        das = gs * (1.0 - gs) * dgs
        daw = gw * (1.0 - gw) * dgw
    logit = DLOGITS + token0 * slt + group * slh + rel * slt
    tl.store(logit, dac.to(DLOGITS.dtype.element_ty), mask=live)
    tl.store(logit + 1, das.to(DLOGITS.dtype.element_ty), mask=live)
    tl.store(logit + 2, daw.to(DLOGITS.dtype.element_ty), mask=live)
