# bench/cpu/attention.py - attention of one sequence, 8 query heads of 64, compared with torch's SDPA and NSA in torch ops.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import re
import sys

import torch
import torch.nn.functional as F

from cpu import trained
from harness import ROOT, alternate, compared, error
from peers import nsa_torch_baseline as baseline

HEADS, GROUPS, SIZE = baseline.H, baseline.HKV, baseline.DH
assert trained.GEOMETRY == (baseline.L, baseline.D_STR, baseline.LS, baseline.N, baseline.W)


def flops(length, products):
    """Of causal dense attention: 2 products forward, 5 backward."""
    return 2.0 * length * (length + 1) / 2 * HEADS * SIZE * products


def nsa_pairs(length, block, stride, selection, kept, window):
    """Pairs of a query and a compressed token, a key of a selected block, or one of the window, of one head and sequence."""
    pairs = 0
    for seen in range(1, length + 1):
        compressed = (seen - block) // stride + 1 if seen >= block else 0
        selected = seen if seen <= kept * selection else (kept - 1) * selection + (seen - 1) % selection + 1
        pairs += compressed + selected + min(window, seen)
    return pairs


def nsa_flops(length, products):
    """Of the pairs that NSA's branches see; means of blocks, and scores, which reuse a product, cost next to nothing."""
    return 2.0 * nsa_pairs(length, *trained.GEOMETRY) * HEADS * SIZE * products


def sdpa(q, k, v):
    """torch's SDPA; q [T, H, D], k and v [T, groups, D] -> [T, H, D]. Heads are repeated before the clock runs."""
    dense = [x.transpose(0, 1)[None].contiguous() for x in (q, k.repeat_interleave(HEADS // k.shape[1], 1),
                                                            v.repeat_interleave(HEADS // v.shape[1], 1))]
    return dense, lambda: F.scaled_dot_product_attention(*dense, is_causal=True)


def noise(length):
    """(q, six keys and values, gate logits), packed, of the baseline's inputs."""
    q, *branches, _ = baseline.inputs(length)
    pack = lambda x: x[0].transpose(0, 1).contiguous()
    return q[0].flatten(0, 1).transpose(0, 1).contiguous(), [pack(x) for x in branches], torch.randn(length, GROUPS, 3)


def with_gradients(forward, inputs, seed=None):
    """A function that runs `forward` and computes the gradients of all inputs."""
    for x in inputs:
        x.requires_grad_()
    seeds = [] if seed is None else [seed]

    def run():
        output = forward()
        if not seeds:
            seeds.append(torch.randn_like(output))
        return torch.autograd.grad(output, inputs, seeds[0])

    return run


def result(times, baselines, difference, operations, context):
    """The figures of a row; operations: those that the result needs."""
    found = compared(times, "tessera", baselines)
    share = operations / (found["ours"] / 1e3) / context.flop_per_second
    return {**found, "max_error": difference, "peak_share": share, "bound": "multiply-adds"}


def flash(name, context):
    """All of dense attention with as many key heads as query heads, forward or backward alone."""
    length = 4096
    q, k, v = (torch.randn(length, HEADS, SIZE) for _ in range(3))
    cu = torch.tensor([0, length], dtype=torch.int32)
    dense, theirs = sdpa(q, k, v)
    ours = lambda: torch.ops.tessera.dense_attention(q, k, v, cu, length)[0]
    if "bwd" not in name:
        with torch.no_grad():
            difference = error(ours(), theirs()[0].transpose(0, 1))
            times = alternate({"tessera": ours, "SDPA": theirs}, context.rounds)
        return result(times, ["SDPA"], difference, flops(length, 2), context)
    for x in (q, k, v, *dense):
        x.requires_grad_()
    seed = torch.randn(length, HEADS, SIZE)
    a, b = ours(), theirs()
    back = {"tessera": lambda: torch.autograd.grad(a, (q, k, v), seed, retain_graph=True),
            "SDPA": lambda: torch.autograd.grad(b, dense, seed.transpose(0, 1)[None], retain_graph=True)}
    difference = max(error(x, y[0].transpose(0, 1)) for x, y in zip(back["tessera"](), back["SDPA"]()))
    return result(alternate(back, context.rounds), ["SDPA"], difference, flops(length, 5), context)


def exact(q, packed, logits, cu):
    """Largest error against the fp64 program of the tests, on the first 1024 tokens."""
    sys.path.append(str(ROOT / "tests/helpers"))
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
    return error(found, reference.combine(out, wide[7], "sigmoid", 1.0))


def nsa(name, context):
    length, backward = int(re.search(r"_s(\d+)_", name)[1]), "fwdbwd" in name
    cu = torch.tensor([0, length], dtype=torch.int32)
    q, packed, logits = trained.inputs(context, length) if name.endswith("trained") else noise(length)
    with torch.no_grad():
        difference = exact(q, packed, logits, cu)
    dense, theirs = sdpa(q, packed[2], packed[3])
    functions = {"tessera": lambda: trained.attend(q, packed, logits, cu)[0], "SDPA": theirs}
    if backward:
        seed = torch.randn(length, HEADS, SIZE)
        functions = {"tessera": with_gradients(functions["tessera"], [q, *packed, logits], seed),
                     "SDPA": with_gradients(theirs, dense, seed.transpose(0, 1)[None])}
    with torch.set_grad_enabled(backward):
        times = alternate(functions, context.rounds)
    return result(times, ["SDPA"], difference, nsa_flops(length, 7 if backward else 2), context)


def torch_nsa(name, context):
    """The baseline's variants that fit into memory at this length, alternately with ours."""
    length = int(re.search(r"_s(\d+)_", name)[1])
    cu = torch.tensor([0, length], dtype=torch.int32)
    q, packed, logits = noise(length)
    inputs, chunk = baseline.inputs(length), 0 if length < 4096 else 1024
    variants = {"mask": lambda: baseline.nsa(*inputs, chunk=chunk, variant="mask"),
                "gather": lambda: baseline.nsa(*inputs, chunk=16, variant="gather")}
    with torch.no_grad():
        times = alternate({"tessera": lambda: trained.attend(q, packed, logits, cu), **variants}, max(3, context.rounds // 3))
        difference = exact(q, packed, logits, cu)
    return result(times, list(variants), difference, nsa_flops(length, 2), context)


def measure(name, context):
    context.torch.manual_seed(0)
    if name.startswith("flash"):
        return flash(name, context)
    return torch_nsa(name, context) if name.endswith("torch_nsa") else nsa(name, context)
