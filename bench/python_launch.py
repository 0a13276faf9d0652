# bench/python_launch.py - a launch through tessera.jit, from Python's call to its return.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Microseconds of a launch from Python: median, least and quartiles over rounds of 2,000 calls.

The kernel adds 128 floats in one program. Compared with it: the call of the op alone, tessera::launch, and torch.add into a tensor that
exists. The rounds of all calls alternate."""
import pathlib
import statistics
import sys
import tempfile

from harness import ROOT, alternate, quartiles

TARGET_US, ROUNDS, CALLS = 5.0, 31, 2000
KERNEL = """
import triton
import triton.language as tl


@triton.jit
def add(X, Y, OUT, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(OUT + at, tl.load(X + at, mask=at < n) + tl.load(Y + at, mask=at < n), mask=at < n)
"""


def rows(options):
    return {"launch": None}


def calls_of(torch, folder):
    sys.path.insert(0, str(ROOT / "python"))
    import tessera.triton
    torch.set_num_threads(1)
    path = pathlib.Path(folder, "add_kernel.py")
    path.write_text(KERNEL)
    sys.path.insert(0, folder)
    with tessera.triton.installed():
        from add_kernel import add
    x, y, out = torch.randn(128), torch.randn(128), torch.zeros(128)
    launch, name = torch.ops.tessera.launch.default, str(path)
    calls = {
        "tessera.jit": lambda: add[(1,)](x, y, out, 128, BLOCK=128),
        "tessera.jit, num_warps": lambda: add[(1,)](x, y, out, 128, BLOCK=128, num_warps=4),
        "tessera.jit, grid of META": lambda: add[lambda meta: (1,)](x, y, out, 128, BLOCK=128),
        "tessera.jit, no program": lambda: add[(0,)](x, y, out, 128, BLOCK=128),
        "torch.ops.tessera.launch": lambda: launch(name, "add", [x, y, out], [128], [1], "BLOCK=128"),
        "torch.add": lambda: torch.add(x, y, out=out),
    }
    for call in calls.values():
        call()
    assert torch.equal(out, x + y)
    return calls


def many(call):
    def run():
        for _ in range(CALLS):
            call()
    return run


def measure(row, context):
    with tempfile.TemporaryDirectory() as folder:
        calls = {name: many(call) for name, call in calls_of(context.torch, folder).items()}
        times = alternate(calls, context.rounds, least_ms=0)
    for name, all_ in times.items():
        us = [ms * 1e3 / CALLS for ms in all_]
        record = {"name": name, "us": statistics.median(us), "us_least": min(us), "us_quartiles": quartiles(us)}
        yield dict(record, bar_us=TARGET_US, met=record["us"] <= TARGET_US) if name == "tessera.jit" else record
