# bench/cpu/elementwise.py - rows of 8192 x 1024 numbers, bounded by memory, compared with torch, eager and compiled.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import torch

from harness import alternate, compared, error, failure

ROWS, COLUMNS = 8192, 1024


def _rmsnorm(context):
    x, w = torch.randn(ROWS, COLUMNS), torch.randn(COLUMNS)
    return lambda: torch.ops.tessera.rms_norm(x, w, 1e-6), lambda: torch.nn.functional.rms_norm(x, (COLUMNS,), w, 1e-6), 2 * x.nbytes


def _softmax(context):
    x, y = torch.randn(ROWS, COLUMNS), torch.empty(ROWS, COLUMNS)
    file = str(context.root / "kernels/tutorials/softmax.py")

    def ours():
        torch.ops.tessera.launch(file, "softmax", [x, y], [ROWS, COLUMNS, COLUMNS, COLUMNS], [64], "BLOCK=%d" % COLUMNS)
        return y

    return ours, lambda: torch.softmax(x, -1), 2 * x.nbytes


def _cross_entropy(context):
    x, y = torch.randn(ROWS, COLUMNS), torch.randint(0, COLUMNS, (ROWS,))
    targets, losses = y.to(torch.int32), torch.empty(ROWS)
    file = str(context.root / "bench/cpu/cross_entropy.py")

    def ours():
        torch.ops.tessera.launch(file, "cross_entropy", [x, targets, losses], [ROWS, COLUMNS, COLUMNS], [64], "BLOCK=%d" % COLUMNS)
        return losses

    return ours, lambda: torch.nn.functional.cross_entropy(x, y, reduction="none"), x.nbytes


def _rope(context):
    heads, size = 16, COLUMNS // 16
    x = torch.randn(ROWS, heads, size)
    cos, sin = torch.ops.tessera.rope_table(ROWS, size)
    cu = torch.tensor([0, ROWS], dtype=torch.int32)
    c, s = cos[:ROWS, None], sin[:ROWS, None]

    def baseline():
        even, odd = x[..., 0::2], x[..., 1::2]
        return torch.stack((even * c - odd * s, even * s + odd * c), -1).flatten(-2)

    return lambda: torch.ops.tessera.rope(x, cos, sin, cu, ROWS), baseline, 2 * x.nbytes


def _gate(context):
    heads, groups, size = 16, 4, COLUMNS // 16
    branches = [torch.randn(ROWS, heads, size) for _ in range(3)]
    logits = torch.randn(ROWS, groups, 3)

    def baseline():
        g = logits.softmax(-1).repeat_interleave(heads // groups, 1)
        return sum(g[..., i:i + 1] * branch for i, branch in enumerate(branches))

    return lambda: torch.ops.tessera.nsa_combine(*branches, logits)[0], baseline, 4 * branches[0].nbytes


MAKE = dict(rmsnorm=_rmsnorm, softmax=_softmax, cross_entropy=_cross_entropy, rope=_rope, gate=_gate)


def measure(name, context):
    context.torch.manual_seed(0)
    with torch.no_grad():
        ours, baseline, moved = MAKE[name](context)
        functions, left_out = {"tessera": ours, "torch eager": baseline}, None
        try:
            functions["torch compiled"] = compiled = torch.compile(baseline, dynamic=False)
            compiled()
        except Exception as problem:  # of many types: no compiler, no headers of Python
            del functions["torch compiled"]
            left_out = "torch.compile: " + failure(problem)
        difference = error(ours(), baseline())
        found = compared(alternate(functions, context.rounds), "tessera", [name for name in functions if name != "tessera"])
    # Inputs of this size stay partly in a large last-level cache: a share of copying above 1 is not wrong.
    return {**found, "left_out": left_out, "max_error": difference, "bound": "memory",
            "copy_share": moved / (found["ours"] / 1e3) / context.bytes_per_second}
