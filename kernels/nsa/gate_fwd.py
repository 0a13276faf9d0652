# kernels/nsa/gate_fwd.py - gates of the three branches and the combined output.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl
from kernels.tiles import load_live_rows, store_rows


# tessera: types("OC OS OW LOGITS O: *TYPE:16", "GATES: *fp32:16", "T slt slh sgt sgh: i32", "inv_tau: fp32", "s*: i32:16")
# tessera: instance gate_fwd_quick_f32(TYPE="fp32", G=3, E=32, EP=32, SOFTMAX=1, BT=32)
# tessera: instance gate_fwd_d64_f32(TYPE="fp32", G=4, E=64, EP=64, SOFTMAX=1, BT=32)
# tessera: instance gate_fwd_paper_bf16(TYPE="bf16", G=16, E=128, EP=128, SOFTMAX=1, BT=32)
# tessera: cpu(BT=32)
# tessera: cpu(BT=64)
# tessera: space(BT=[8, 16, 32, 64, 128])
@triton.jit(do_not_specialize=["T"])
def gate_fwd(OC, OS, OW, LOGITS, GATES, O, T, inv_tau, sbt, sbh, slt, slh, sgt, sgh, sot, soh,
             G: tl.constexpr, E: tl.constexpr, EP: tl.constexpr, SOFTMAX: tl.constexpr, BT: tl.constexpr):
    """Computes for BT tokens of one KV head o = gc*oc + gs*os + gw*ow for each query head of the group; OC, OS, OW [T, Hq, E]. The gates
    are the softmax (SOFTMAX=1) or sigmoid (0) of LOGITS * inv_tau. LOGITS and GATES (fp32) are [T, Hkv, 3].

    Grid: (cdiv(T, BT), Hkv).
    """
    t0 = tl.program_id(0) * BT
    group = tl.program_id(1).to(tl.int64)
    token0 = tl.program_id(0).to(tl.int64) * BT
    rel = tl.arange(0, BT)
    live = t0 + rel < T
    logit = LOGITS + token0 * slt + group * slh + rel * slt
    ac = tl.load(logit, mask=live, other=0.0).to(tl.float32)
    as_ = tl.load(logit + 1, mask=live, other=0.0).to(tl.float32)
    aw = tl.load(logit + 2, mask=live, other=0.0).to(tl.float32)
    slope = inv_tau * 1.4426950408889634
    if SOFTMAX:
        top = tl.maximum(ac, tl.maximum(as_, aw))
        gc = tl.exp2((ac - top) * slope)
        gs = tl.exp2((as_ - top) * slope)
        gw = tl.exp2((aw - top) * slope)
        total = gc + gs + gw
        gc = gc / total
        gs = gs / total
        gw = gw / total
    else:
        gc = 1.0 / (1.0 + tl.exp2(-ac * slope))
        gs = 1.0 / (1.0 + tl.exp2(-as_ * slope))
        gw = 1.0 / (1.0 + tl.exp2(-aw * slope))
    gate = GATES + token0 * sgt + group * sgh + rel * sgt
    tl.store(gate, gc, mask=live)
    tl.store(gate + 1, gs, mask=live)
    tl.store(gate + 2, gw, mask=live)
    for g in range(0, G):
        base = token0 * sbt + (group * G + g) * sbh
        oc = load_live_rows(OC + base, rel * sbt, live, E, EP).to(tl.float32)
        os = load_live_rows(OS + base, rel * sbt, live, E, EP).to(tl.float32)
        ow = load_live_rows(OW + base, rel * sbt, live, E, EP).to(tl.float32)
        o = gc[:, None] * oc + gs[:, None] * os + gw[:, None] * ow
        store_rows(O + token0 * sot + (group * G + g) * soh, rel * sot, o, E, EP, live)
