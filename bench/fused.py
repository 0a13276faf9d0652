# bench/fused.py - residual sums in norms, and the loss of a linear layer without logits, next to the operations they stand for.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""python3 bench/fused.py LIBRARY [rounds=5] [result=FILE]

LIBRARY is libtessera_torch.so. Times are those of forward and backward pass, in turns, two threads; the memory of a loss is what the
peak of a process of its own rises by in one such pass, after a small one."""
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys

import torch

sys.path.append(str(pathlib.Path(__file__).resolve().parent / "cpu"))
from timing import turns  # noqa: E402

NORMS = [(2048, 192, "float32"), (4096, 768, "float32"), (4096, 768, "bfloat16")]
LOSSES = [(2048, 256, 192, "float32"), (1024, 8192, 512, "float32"), (1024, 50257, 768, "float32"), (1024, 50257, 768, "bfloat16")]


def norms(rows, dim, dtype):
    """{name: a forward and backward pass}."""
    ops, dtype = torch.ops.tessera, getattr(torch, dtype)
    x, r = (torch.randn(rows, dim).to(dtype).requires_grad_() for _ in range(2))
    w = torch.ones(dim, dtype=dtype, requires_grad=True)
    dz, dy = torch.randn(rows, dim).to(dtype), torch.randn(rows, dim).to(dtype)

    def both(forward):
        return lambda: torch.autograd.grad(forward(), (x, r, w), (dz, dy))

    def two():
        total = x + r
        return total, ops.rms_norm(total, w, 1e-6)

    return {"residual_norm": both(lambda: ops.residual_norm(x, r, w, 1e-6)), "sum, rms_norm": both(two)}


def losses(tokens, vocabulary, dim, dtype):
    dtype = getattr(torch, dtype)
    h = torch.randn(tokens, dim).to(dtype).requires_grad_()
    w = (torch.randn(vocabulary, dim) * dim ** -0.5).to(dtype).requires_grad_()
    targets = torch.randint(vocabulary, (tokens,))
    functional = torch.nn.functional

    def both(forward):
        return lambda: torch.autograd.grad(forward(), (h, w))

    return {"linear_cross_entropy": both(lambda: torch.ops.tessera.linear_cross_entropy(h, w, targets)),
            "linear, cross_entropy": both(lambda: functional.cross_entropy(functional.linear(h, w).float(), targets))}


def mebibytes(library, name, shape):
    """What one pass adds to the peak of a process."""
    done = subprocess.run([sys.executable, __file__, library, "one=" + name, "shape=" + json.dumps(shape)], capture_output=True, text=True,
                          check=True)
    return float(done.stdout.split()[-1])


def most():
    """The most that this process had, in MiB; what a parent had (as in getrusage) is not in it."""
    return int(re.search(r"VmHWM:\s+(\d+)", pathlib.Path("/proc/self/status").read_text()).group(1)) / 1024


def one(name, shape):
    losses(*[min(64, n) if isinstance(n, int) else n for n in shape])[name]()
    passes = losses(*shape)
    pathlib.Path("/proc/self/clear_refs").write_text("5")       # the peak begins with what there is now
    before = most()
    passes[name]()
    print(most() - before)


def processor():
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))


def main():
    library = str(pathlib.Path(sys.argv[1]).resolve())
    options = dict(part.split("=", 1) for part in sys.argv[2:])
    torch.ops.load_library(library)
    torch.set_num_threads(2)
    if "one" in options:
        return one(options["one"], json.loads(options["shape"]))
    rounds, rows = int(options.get("rounds", 5)), []
    for what, shapes, make in (("norm", NORMS, norms), ("loss", LOSSES, losses)):
        for shape in shapes:
            times = turns(make(*shape), rounds)
            row = {"what": what, "shape": shape, "ms": {name: [round(min(t), 3), round(sorted(t)[len(t) // 2], 3)] for name, t in times.items()}}
            if what == "loss":
                row["mebibytes"] = {name: round(mebibytes(library, name, shape), 1) for name in times}
            rows.append(row)
            print(row, flush=True)
    result = {"what": "milliseconds (least, median of the rounds) of a forward and backward pass: norms [rows, dim, type], losses [tokens, "
                      "vocabulary, dim, type]; mebibytes by which a pass raises the peak of its process",
              "command": "bench/fused.py libtessera_torch.so rounds=%d result=bench/results/fused_cpu.json" % rounds,
              "commit": subprocess.run(["git", "describe", "--always", "--dirty=+changes"], check=True, capture_output=True,
                                       text=True).stdout.strip(),
              "date": str(datetime.date.today()), "machine": processor() + ", 2 threads", "torch": torch.__version__,
              "load": os.getloadavg()[0], "rows": rows}
    if "result" in options:
        pathlib.Path(options["result"]).write_text(json.dumps(result, indent=1) + "\n")


main()
