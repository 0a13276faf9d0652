# tools/gpucheck/peers.py - times other libraries' attention on a GPU of a machine with torch.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""peers.py PACKED [--seconds 60]

Writes one JSON object to stdout: {"not_measured": WHY} without torch or a GPU, else {"torch", "cuda", "cudnn", "rows": [...]}.
A row has `what`, `shape`, `us` with `us_quartiles` by two CUDA events around one call, the L2 cache overwritten before, or
`not_measured` with the reason. Measured are torch's scaled_dot_product_attention, causal, forward and backward, by flash
attention, cuDNN and the memory-efficient kernel, on the shape of each packed launch of dense attention in 16-bit types of one
sequence (`case`) and on one layer of 12 query and 2 KV heads of 64 channels; and fla's parallel_nsa, which wants 16 query heads
for each KV head, without a window. Entries that do not fit into the seconds are reported as such."""
import argparse
import json
import pathlib
import sys
import time

WARM_UPS, LAUNCHES = 3, 15
LENGTHS = (1024, 4096, 16384)
BACKENDS = (("flash", "FLASH_ATTENTION"), ("cuDNN", "CUDNN_ATTENTION"), ("memory-efficient", "EFFICIENT_ATTENTION"))


class Timer:
    def __init__(self, torch, seconds):
        self.torch, self.end = torch, time.monotonic() + seconds
        cache = getattr(torch.cuda.get_device_properties(0), "L2_cache_size", 0) or 50 << 20
        self.flush = torch.empty(2 * cache, dtype=torch.int8, device="cuda")
        self.rows = []

    def add(self, what, shape, make, **more):
        """`make()` gives the call to be timed."""
        row = dict(what=what, shape=shape, **more)
        if time.monotonic() > self.end:
            row["not_measured"] = "no time was left"
        else:
            try:
                row.update(self.measure(make()))
            except Exception as error:  # the row of an unsupported case contains the reason
                row["not_measured"] = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[:300]
        self.rows.append(row)

    def measure(self, call):
        cuda, times = self.torch.cuda, []
        for turn in range(WARM_UPS + LAUNCHES):
            before, after = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
            self.flush.zero_()
            before.record()
            call()
            after.record()
            after.synchronize()
            if turn >= WARM_UPS:
                times.append(1000 * before.elapsed_time(after))
        times.sort()
        return dict(us=times[len(times) // 2], us_least=times[0], us_quartiles=[times[len(times) // 4], times[len(times) * 3 // 4]])


def dense_shapes(folder):
    """(case, tokens, query heads, KV heads, channels, value channels, dtype) of packed launches of dense attention."""
    for path in sorted(folder.glob("*/case.json")):
        case = json.loads(path.read_text())
        if case.get("kernel") != "dense_fwd":
            continue
        shapes = {argument["name"]: argument for argument in case["args"]}
        q, k, v = (shapes[f"{name}.ptr"] for name in "qkv")
        if shapes["CU"]["shape"] == [2] and q["dtype"] in ("bf16", "fp16"):
            yield path.parent.name, q["shape"][0], q["shape"][1], k["shape"][1], q["shape"][2], v["shape"][2], q["dtype"]


def sdpa(torch, timer, tokens, heads, kv_heads, dim, value_dim, dtype, **more):
    from torch.nn.attention import SDPBackend, sdpa_kernel
    kind = dict(bf16=torch.bfloat16, fp16=torch.float16)[dtype]
    shape = dict(tokens=tokens, heads=heads, kv_heads=kv_heads, channels=dim, value_channels=value_dim, dtype=dtype)

    def tensors(gradients):
        return [torch.randn(1, n, tokens, d, dtype=kind, device="cuda", requires_grad=gradients)
                for n, d in ((heads, dim), (kv_heads, dim), (kv_heads, value_dim))]

    def call(backend, q, k, v):
        with sdpa_kernel([backend]):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=heads != kv_heads)

    for name, member in BACKENDS:
        backend = getattr(SDPBackend, member)

        def forward():
            q, k, v = tensors(False)
            return lambda: call(backend, q, k, v)

        def backward():
            inputs = tensors(True)
            out = call(backend, *inputs)
            gradient = torch.randn_like(out)
            return lambda: torch.autograd.grad(out, inputs, gradient, retain_graph=True)

        timer.add(f"torch SDPA {name} forward", shape, forward, **more)
        timer.add(f"torch SDPA {name} backward", shape, backward, **more)


def fla(torch, timer):
    shape = dict(heads=32, kv_heads=2, channels=64, value_channels=64, dtype="bf16", block=64, selected=16, window=0)
    try:
        from fla.ops.nsa import parallel_nsa
        import fla as package
    except Exception as error:
        timer.rows.append(dict(what="fla parallel_nsa", not_measured=f"{type(error).__name__}: {error}"[:300]))
        return
    for tokens in LENGTHS[:2]:
        def forward(tokens=tokens):
            def rand(*dims):
                return torch.randn(1, tokens, *dims, dtype=torch.bfloat16, device="cuda")
            q, k, v, g1, g2 = rand(32, 64), rand(2, 64), rand(2, 64), rand(32), rand(32)
            return lambda: parallel_nsa(q, k, v, g_cmp=g1, g_slc=g2, block_counts=16, block_size=64, window_size=0)
        timer.add(f"fla {getattr(package, '__version__', '')} parallel_nsa forward", dict(shape, tokens=tokens), forward)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    try:
        import torch
    except Exception as error:  # a broken installation raises many kinds of errors
        return dict(not_measured=f"no torch in {sys.executable}: {type(error).__name__}: {error}"[:500])
    if not torch.cuda.is_available():
        return dict(not_measured=f"torch {torch.__version__} sees no GPU")
    timer = Timer(torch, options.seconds)
    for case, *shape in dense_shapes(options.folder):
        sdpa(torch, timer, *shape, case=case)
    for tokens in LENGTHS:
        sdpa(torch, timer, tokens, 12, 2, 64, 64, "bf16")
    fla(torch, timer)
    return dict(torch=torch.__version__, cuda=torch.version.cuda, cudnn=torch.backends.cudnn.version(),
                gpu=torch.cuda.get_device_name(0), rows=timer.rows)


if __name__ == "__main__":
    print(json.dumps(main()))
