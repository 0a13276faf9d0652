# NAME_test.py - NAME under Triton's interpreter, without tessera or a GPU.
"""Run it:            python NAME_test.py        (needs torch and triton)
The compiled kernel: tessera check NAME.py      (all instances and shapes, gradients too)"""
import math
import os
import sys

os.environ["TRITON_INTERPRET"] = "1"
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import torch  # noqa: E402

import NAME as kernels  # noqa: E402

H, G, D, W, BM, BN = 2, 2, 16, 20, 32, 16
LENGTHS = [1, 0, 45]


def main():
    torch.manual_seed(0)
    tokens, longest = sum(LENGTHS), max(LENGTHS)
    starts = torch.tensor([0] + LENGTHS).cumsum(0).to(torch.int32)
    q, k, v = (torch.randn(tokens, heads, D) for heads in (H * G, H, H))

    def run(kernel, grid, **tiles):
        o = torch.full((tokens, H * G, D), float("nan"))
        lse = torch.full((H * G, tokens), float("nan"))
        strides = [s for x in (q, k, v, o) for s in x.stride()[:2]]
        kernel[grid](q, k, v, o, lse, starts, 1 / math.sqrt(D), tokens, *strides,
                     G=G, W=W, D=D, DP=D, E=D, EP=D, **tiles)
        return o, lse

    got = run(kernels.NAME, (-(-longest * G // BM), H, len(LENGTHS)), BM=BM, BN=BN)
    want = run(kernels.NAME_ref, (longest, H * G, len(LENGTHS)))
    worst = max((a - b).abs().max().item() for a, b in zip(got, want))
    print(f"largest difference from the reference: {worst:.1e}")
    return 0 if worst < 1e-5 else 1


if __name__ == "__main__":
    sys.exit(main())
