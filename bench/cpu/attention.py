# bench/cpu/attention.py - attention of one sequence, 8 query heads of 64, next to torch's SDPA and NSA in torch ops.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import pathlib
import re
import sys

import torch
import torch.nn.functional as F

import rows
import timing
import trained

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "peers"))
import nsa_torch_baseline as peer  # noqa: E402

HEADS, GROUPS, SIZE = peer.H, peer.HKV, peer.DH
assert trained.GEOMETRY == (peer.L, peer.D_STR, peer.LS, peer.N, peer.W)


def flops(length, products):
    """Of causal dense attention: 2 products forward, 5 backward."""
    return 2.0 * length * (length + 1) / 2 * HEADS * SIZE * products


def nsa_flops(length, products):
    """Of the pairs that NSA's branches see; means of blocks, and scores, which reuse a product, cost next to nothing."""
    return 2.0 * rows.nsa_pairs(length, *trained.GEOMETRY) * HEADS * SIZE * products


def sdpa(q, k, v):
    """torch's SDPA; q [T, H, D], k and v [T, groups, D] -> [T, H, D]. Heads are repeated before the clock runs."""
    dense = [x.transpose(0, 1)[None].contiguous() for x in (q, k.repeat_interleave(HEADS // k.shape[1], 1),
                                                            v.repeat_interleave(HEADS // v.shape[1], 1))]
    return dense, lambda: F.scaled_dot_product_attention(*dense, is_causal=True)


def flash(name, context):
    """All of dense attention with as many key heads as query heads, forward or backward alone."""
    length = 4096
    q, k, v = (torch.randn(length, HEADS, SIZE) for _ in range(3))
    cu = torch.tensor([0, length], dtype=torch.int32)
    dense, theirs = sdpa(q, k, v)
    ours = lambda: torch.ops.tessera.dense_attention(q, k, v, cu, length)[0]
    if "bwd" not in name:
        with torch.no_grad():
            difference = timing.error(ours(), theirs()[0].transpose(0, 1))
            found = timing.figures(timing.turns({"tessera": ours, "SDPA": theirs}, context.rounds), "tessera", ["SDPA"])
        products = 2
    else:
        for x in (q, k, v, *dense):
            x.requires_grad_()
        seed = torch.randn(length, HEADS, SIZE)
        a, b = ours(), theirs()
        back = {"tessera": lambda: torch.autograd.grad(a, (q, k, v), seed, retain_graph=True),
                "SDPA": lambda: torch.autograd.grad(b, dense, seed.transpose(0, 1)[None], retain_graph=True)}
        difference = max(timing.error(x, y[0].transpose(0, 1)) for x, y in zip(back["tessera"](), back["SDPA"]()))
        found = timing.figures(timing.turns(back, context.rounds), "tessera", ["SDPA"])
        products = 5
    share = flops(length, products) / (found["ours"] / 1e3) / context.flop_per_second
    return {**found, "max_error": difference, "peak_share": share, "bound": "multiply-adds"}


def ours_of(length, how, context):
    """(q, six keys and values, gate logits): white noise, or of a trained model on a text."""
    if how == "trained":
        return trained.inputs(context, length)
    q, *branches, _ = peer.inputs(length)
    pack = lambda x: x[0].transpose(0, 1).contiguous()
    return q[0].flatten(0, 1).transpose(0, 1).contiguous(), [pack(x) for x in branches], torch.randn(length, GROUPS, 3)


def exact(q, packed, logits, cu):
    """Largest error against the fp64 program of the tests, on the first 1024 tokens."""
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/helpers"))
    import nsa_reference as reference
    tokens = min(1024, len(q))
    short = [x[:tokens].contiguous() for x in (q, *packed, logits)]
    block, stride, selection, _, window = trained.GEOMETRY
    found, indices, _ = trained.attend(short[0], short[1:7], short[7], torch.tensor([0, tokens], dtype=torch.int32))
    p = reference.Packing([tokens])
    wide = [x.double() for x in short]
    scale = SIZE ** -0.5
    kc, vc = (reference.compress(x, p, block, stride) for x in wide[1:3])
    out = [reference.attention(wide[0], kc, vc, reference.compressed_mask(p, block, stride), scale)[0],
           reference.attention(wide[0], *wide[3:5], reference.selected_mask(p, indices, selection), scale)[0],
           reference.attention(wide[0], *wide[5:7], reference.window_mask(p, window), scale)[0]]
    return timing.error(found, reference.combine(out, wide[7], "sigmoid", 1.0))


def nsa(name, context):
    length = int(re.search(r"_s(\d+)_", name)[1])
    cu = torch.tensor([0, length], dtype=torch.int32)
    q, packed, logits = ours_of(length, "trained" if name.endswith("trained") else "noise", context)
    with torch.no_grad():
        difference = exact(q, packed, logits, cu)
    dense, theirs = sdpa(q, packed[2], packed[3])
    ours = lambda: trained.attend(q, packed, logits, cu)[0]
    functions = {"tessera": ours, "SDPA": theirs}
    if "fwdbwd" in name:
        def with_gradients(forward, inputs, seed):
            for x in inputs:
                x.requires_grad_()
            return lambda: torch.autograd.grad(forward(), inputs, seed)
        seed = torch.randn(length, HEADS, SIZE)
        functions = {"tessera": with_gradients(ours, [q, *packed, logits], seed),
                     "SDPA": with_gradients(theirs, dense, seed.transpose(0, 1)[None])}
    with torch.set_grad_enabled("fwdbwd" in name):
        found = timing.figures(timing.turns(functions, context.rounds), "tessera", ["SDPA"])
    share = nsa_flops(length, 7 if "fwdbwd" in name else 2) / (found["ours"] / 1e3) / context.flop_per_second
    return {**found, "max_error": difference, "peak_share": share, "bound": "multiply-adds"}


def torch_nsa(name, context):
    """The peer's variants that fit into memory at this length, in turns with ours."""
    length = int(re.search(r"_s(\d+)_", name)[1])
    cu = torch.tensor([0, length], dtype=torch.int32)
    q, packed, logits = ours_of(length, "noise", context)
    inputs = peer.inputs(length)
    chunk = 0 if length < 4096 else 1024
    variants = {"mask": lambda: peer.nsa(*inputs, chunk=chunk, variant="mask"),
                "gather": lambda: peer.nsa(*inputs, chunk=16, variant="gather")}
    with torch.no_grad():
        times = timing.turns({"tessera": lambda: trained.attend(q, packed, logits, cu), **variants}, max(3, context.rounds // 3))
        difference = exact(q, packed, logits, cu)
    found = timing.figures(times, "tessera", list(variants))
    share = nsa_flops(length, 2) / (found["ours"] / 1e3) / context.flop_per_second
    return {**found, "max_error": difference, "peak_share": share, "bound": "multiply-adds"}


def measure(name, context):
    torch.manual_seed(0)
    if name.startswith("flash"):
        return flash(name, context)
    return torch_nsa(name, context) if name.endswith("torch_nsa") else nsa(name, context)
