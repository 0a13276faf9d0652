# bench/cpu/products.py - kernels/tutorials/matmul.py compared with torch.mm.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import torch

from harness import alternate, compared, error

SIZE = 1024
# Tiles that are tried; the fastest is compared, as torch's library has chosen its own.
TILES = [(64, 64, 64), (64, 128, 64), (128, 64, 64), (128, 128, 64), (64, 64, 256), (128, 128, 128), (256, 128, 128), (128, 256, 128),
         (256, 256, 128), (256, 256, 256), (512, 256, 128)]


def matmul(root, a, b, c, tiles):
    """A function that runs C = A @ B with these tiles."""
    bm, bn, bk = tiles
    launch, file = torch.ops.tessera.launch.default, str(root / "kernels/tutorials/matmul.py")
    grid = [(SIZE // bm) * (SIZE // bn)]
    constexprs = "BM=%d,BN=%d,BK=%d,ROWS=4,LEAKY=0" % (bm, bn, bk)
    return lambda: launch(file, "matmul", [a, b, c], [SIZE, SIZE, SIZE, SIZE, SIZE, SIZE], grid, constexprs)


def measure(name, context):
    dtype = torch.bfloat16 if "bf16" in name else torch.float32
    context.torch.manual_seed(0)
    a, b = (torch.randn(SIZE, SIZE).to(dtype) for _ in range(2))
    c, d = torch.empty_like(a), torch.empty_like(a)
    tried = alternate({tiles: matmul(context.root, a, b, c, tiles) for tiles in TILES}, 3)
    best = min(TILES, key=lambda tiles: min(tried[tiles]))
    times = alternate({"tessera": matmul(context.root, a, b, c, best), "torch.mm": lambda: torch.mm(a, b, out=d)}, context.rounds)
    found = compared(times, "tessera", ["torch.mm"])
    # The peak is that of fp32: instructions for bf16 may do more.
    share = None if dtype != torch.float32 else 2 * SIZE ** 3 / (found["ours"] / 1e3) / context.flop_per_second
    return {**found, "tiles": list(best), "max_error": error(c, d), "peak_share": share, "bound": "multiply-adds"}
