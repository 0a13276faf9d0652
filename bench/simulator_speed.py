# bench/simulator_speed.py - lane instructions that the PTX simulator executes in a second of one core.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Lane instructions and tensor instructions of the simulator in a second of one core, with all checks and without."""
from harness import ROOT, alternate, quartiles
from harness.context import simulator_path

simulator_path()
import simulator  # noqa: E402
from simulator import torch  # noqa: E402

FOLDER = ROOT / "tests/unit/simulator/machine/ptx"


def vector_add():
    n = 1 << 18
    x, y, z = torch.ones(n), torch.full((n,), 2.0), torch.zeros(n)
    return "vadd", "vadd", (n // 1024,), 0, [x, y, z, n, 0, 0]


def softmax():
    rows_, columns = 256, 1000
    x, y = torch.ones(rows_, columns), torch.zeros(rows_, columns)
    return "softmax", "softmax", (rows_,), 16, [x, y, columns, columns, 0, 0]


def product():
    n = 256
    a, b, c = (torch.zeros(n, n, dtype=torch.float16) for _ in range(3))
    return "matmul_fp16", "matmul", (n // 64, n // 64), 16384, [a, b, c, *[n] * 6, 0, 0]


CASES = {"vector add": vector_add, "softmax": softmax, "fp16 product": product}


def rows(options):
    return {name: name for name in CASES}


def measure(name, context):
    file, kernel, grid, shared, args = CASES[name]()
    module = simulator.Module((FOLDER / (file + ".ptx")).read_text(), file)
    values = [arg.data_ptr() if isinstance(arg, torch.Tensor) else arg for arg in args]
    ranges = simulator.ranges_of([("memory", arg) for arg in args if isinstance(arg, torch.Tensor)])
    run = lambda flags: module.launch(kernel, grid, (128,), shared, values, ranges, flags)
    counters = run(simulator.SERIAL)["counters"]
    times = alternate({"all": lambda: run(simulator.SERIAL), "none": lambda: run(simulator.SERIAL | simulator.UNCHECKED)}, context.rounds)
    for checks, all_ in times.items():
        first, ms, third = quartiles(all_)
        yield {"kernel": name, "checks": checks, "ms": ms, "ms_quartiles": [first, third],
               "lane_instructions_per_s": counters["lane_instructions"] / ms * 1e3,
               "tensor_instructions_per_s": counters["tensor_instructions"] / ms * 1e3}
