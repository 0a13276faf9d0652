"""tests/helpers/recorded_launches.py - runs ops and kernels whose launches tests/python/record_test.py records.

usage: recorded_launches.py all | packed LENGTH ... | file PATH. SPDX-License-Identifier: Apache-2.0
"""
import os
import sys

import torch

torch.ops.load_library(os.environ["LIBTESSERA_TORCH"])
ops = torch.ops.tessera


def launches():
    """Calls ops, among them some with strided tensors, bf16 and an empty sequence."""
    torch.manual_seed(0)
    x = torch.randn(20, 64)[:, :48].requires_grad_()
    ops.rms_norm(x, torch.randn(48).requires_grad_(), 1e-5).square().sum().backward()
    cu = torch.tensor([0, 21, 21, 40], dtype=torch.int32)
    q, k, v = torch.randn(40, 4, 16), torch.randn(2, 40, 16).transpose(0, 1), torch.randn(40, 2, 16)
    for y in (q, k, v):
        y.requires_grad_()
    o, _ = ops.nsa_window_attention(q, k, v, cu, 21, 7)
    o.square().sum().backward()
    ops.dense_attention(*(y.detach().bfloat16() for y in (q, k, v)), cu, 21)
    cos, sin = ops.rope_table(21, 16)
    ops.rope(q.detach(), cos, sin, cu, 21)
    cu_cmp = ops.compressed_offsets(cu, 8, 4)
    total = int(cu_cmp[-1])
    kc = ops.nsa_compress(k.detach(), torch.rand(8, 16), cu, cu_cmp, 21, total, 8, 4)
    assert kc.shape[0] == total


def packed(lengths):
    """Runs attention forward and backward over packed sequences of these lengths."""
    cu = torch.tensor([0, *lengths], dtype=torch.int32).cumsum(0, dtype=torch.int32)
    cu_cmp = ops.compressed_offsets(cu, 8, 4)
    tokens = int(cu[-1])
    inputs = [torch.randn(tokens, heads, 16, requires_grad=True) for heads in (4, 2, 2, 2, 2, 2, 2)]
    longest, total = max(lengths), int(cu_cmp[-1])
    ops.nsa_attention(*inputs, torch.randn(tokens, 2, 3), cu, cu_cmp, longest, total, 8, 4, 8, 4, 7)[0].sum().backward()
    ops.dense_attention(*inputs[:3], cu, longest)[0].sum().backward()
    ops.nsa_ranges(torch.zeros(2, tokens, 4, dtype=torch.int32), cu, longest, 8)


def own_file(path):
    """Launches the kernel named `own` of a file."""
    x, out = torch.randn(100), torch.zeros(100)
    ops.launch(path, "own", [x, out], [100], [2], "BLOCK=64, BY=0.5")


if __name__ == "__main__":
    if sys.argv[1] == "all":
        launches()
    elif sys.argv[1] == "packed":
        packed([int(length) for length in sys.argv[2:]])
    else:
        own_file(sys.argv[2])
