#!/usr/bin/env python3
"""Attention on this CPU over the sequence length: tessera's NSA and dense ops beside
torch's SDPA and the same NSA in plain torch ops, all in one process, interleaved.

usage: attention.py --library libtessera_torch.so --out DIR [--lengths 512,1024,...] [--threads N] [--backward]
Writes DIR/attention_cpu.json (every median and spread, hardware, versions, commit) and DIR/attention_cpu.svg;
with --backward, which times forward and backward together, attention_cpu_backward.json and .svg.
SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import math
import os
import platform
import subprocess
import sys
import time

import torch
import torch.nn.functional as F

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers"))
import nsa_torch_baseline as peer  # noqa: E402

Q_HEADS, KV_HEADS, HEAD_DIM = peer.H, peer.HKV, peer.DH
BLOCK, STRIDE, SELECTION, SELECTED, WINDOW = peer.L, peer.D_STR, peer.LS, peer.N, peer.W
# A figure above this rate would be a mistake: two 16-lane fp32 FMAs a cycle and core at 5 GHz.
PEAK_GFLOPS_PER_CORE = 2 * 16 * 2 * 5.0


def with_gradients(forward, inputs):
    """A function that runs `forward` and computes the gradients of all inputs."""
    for x in inputs:
        x.requires_grad_()
    seed = []

    def run():
        result = forward()
        output = result if isinstance(result, torch.Tensor) else result[0]
        if not seed:
            seed.append(torch.randn_like(output))
        return torch.autograd.grad(output, inputs, seed[0])

    return run


def variants(length, backward):
    """name -> a function that runs one forward pass, or a forward and a backward one; inputs are made once."""
    torch.manual_seed(0)
    q, kc, vc, ks, vs, kw, vw, gates = peer.inputs(length)
    ops = torch.ops.tessera
    pack = lambda x: x[0].transpose(0, 1).contiguous()
    packed_q = q[0].flatten(0, 1).transpose(0, 1).contiguous()
    packed = [pack(x) for x in (kc, vc, ks, vs, kw, vw)]
    logits = torch.randn(length, KV_HEADS, 3)
    cu = torch.tensor([0, length], dtype=torch.int32)
    cu_cmp = ops.compressed_offsets(cu, BLOCK, STRIDE)
    total = int(cu_cmp[-1])
    dense_q = q.flatten(1, 2)
    dense_k, dense_v = (x.repeat_interleave(Q_HEADS // KV_HEADS, 1) for x in (ks, vs))
    result = {
        "tessera NSA": lambda: ops.nsa_attention(
            packed_q, *packed, logits, cu, cu_cmp, length, total, BLOCK, STRIDE, SELECTION, SELECTED, WINDOW,
            gate_mode="sigmoid"),
        "tessera dense": lambda: ops.dense_attention(packed_q, packed[2], packed[3], cu, length),
        "torch SDPA": lambda: F.scaled_dot_product_attention(dense_q, dense_k, dense_v, is_causal=True),
    }
    inputs = {"tessera NSA": [packed_q, *packed, logits], "tessera dense": [packed_q, packed[2], packed[3]],
              "torch SDPA": [dense_q, dense_k, dense_v], "torch NSA": [q, kc, vc, ks, vs, kw, vw, gates]}
    if length <= (2048 if backward else 4096):     # beyond, its masks do not fit into memory
        chunk = 0 if length < 4096 else 1024
        result["torch NSA"] = lambda: peer.nsa(q, kc, vc, ks, vs, kw, vw, gates, chunk=chunk, variant="mask")
    if backward:
        return {name: with_gradients(forward, inputs[name]) for name, forward in result.items()}
    return result


def measure(functions, rounds):
    times = {name: [] for name in functions}
    for function in functions.values():
        function()
    for _ in range(rounds):
        for name, function in functions.items():
            start = time.perf_counter()
            function()
            times[name].append((time.perf_counter() - start) * 1e3)
    return {name: sorted(values) for name, values in times.items()}


def svg(rows, path):
    """Milliseconds over length, both axes logarithmic."""
    width, height, left, bottom, top = 640, 380, 60, 50, 20
    lengths = [row["length"] for row in rows]
    values = [value for row in rows for value in row["ms"].values()]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    x = lambda s: left + (math.log2(s / lengths[0]) / max(1, math.log2(lengths[-1] / lengths[0]))) * (width - left - 150)
    y = lambda v: height - bottom - (math.log10(v) - low) / (high - low) * (height - bottom - top)
    colors = {"tessera NSA": "#c0392b", "tessera dense": "#e67e22", "torch SDPA": "#2c3e50", "torch NSA": "#7f8c8d"}
    out = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">'
           % (width, height), '<rect width="100%" height="100%" fill="white"/>']
    for power in range(low, high + 1):
        out.append('<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%g ms</text>'
                   % (left, width - 150, y(10.0 ** power), y(10.0 ** power), left - 6, y(10.0 ** power) + 4, 10.0 ** power))
    for s in lengths:
        out.append('<text x="%.1f" y="%d" text-anchor="middle">%d</text>' % (x(s), height - bottom + 18, s))
    out.append('<text x="%d" y="%d" text-anchor="middle">sequence length (tokens)</text>' % ((left + width - 150) // 2, height - 10))
    for index, (name, color) in enumerate(colors.items()):
        points = [(x(row["length"]), y(row["ms"][name])) for row in rows if name in row["ms"]]
        out.append('<polyline fill="none" stroke="%s" stroke-width="2" points="%s"/>'
                   % (color, " ".join("%.1f,%.1f" % p for p in points)))
        out.append('<text x="%d" y="%d" fill="%s">%s</text>' % (width - 140, top + 16 + 18 * index, color, name))
    out.append("</svg>")
    with open(path, "w", encoding="utf-8") as handle:
        handle.write("\n".join(out) + "\n")


def cpu_name():
    with open("/proc/cpuinfo", encoding="utf-8") as handle:
        for line in handle:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--lengths", default="512,1024,2048,4096,8192")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--backward", action="store_true", help="forward and backward together")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.ops.load_library(arguments.library)
    load = os.getloadavg()[0]
    rows = []
    with torch.set_grad_enabled(arguments.backward):
        for length in map(int, arguments.lengths.split(",")):
            times = measure(variants(length, arguments.backward), arguments.rounds)
            row = {"length": length, "ms": {n: t[len(t) // 2] for n, t in times.items()},
                   "spread_ms": {n: [t[0], t[-1]] for n, t in times.items()}}
            # Two products forward, five backward.
            flops = 2.0 * length * (length + 1) / 2 * Q_HEADS * (7 if arguments.backward else 2) * HEAD_DIM
            for name in ("tessera dense", "torch SDPA"):
                rate = flops / row["ms"][name] / 1e6
                if rate > PEAK_GFLOPS_PER_CORE * arguments.threads:
                    sys.exit("attention.py: %s at %d would be %.0f GFLOP/s, above the hardware's peak" % (name, length, rate))
            rows.append(row)
            print("%6d  " % length + "  ".join("%s %.2f ms" % item for item in row["ms"].items()), flush=True)
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False,
                            cwd=os.path.dirname(os.path.abspath(__file__))).stdout.strip()
    report = {"what": "attention %s, one sequence, fp32" % ("forward and backward" if arguments.backward else "forward"),
              "cpu": cpu_name(), "threads": arguments.threads,
              "torch": torch.__version__, "commit": commit, "date": time.strftime("%Y-%m-%d"),
              "library": arguments.library, "load_before": load, "q_heads": Q_HEADS, "kv_heads": KV_HEADS, "head_dim": HEAD_DIM,
              "nsa": {"l": BLOCK, "d": STRIDE, "l_sel": SELECTION, "n_sel": SELECTED, "w": WINDOW}, "rows": rows}
    os.makedirs(arguments.out, exist_ok=True)
    name = os.path.join(arguments.out, "attention_cpu" + ("_backward" if arguments.backward else ""))
    with open(name + ".json", "w", encoding="utf-8") as handle:
        json.dump(report, handle, indent=1)
        handle.write("\n")
    svg(rows, name + ".svg")


if __name__ == "__main__":
    main()
