"""Microseconds of a launch through tessera.jit, from Python's call to its return.

usage: bench/python_launch.py build/release [OUT.json]

The kernel adds 128 floats in one program. Beside it: what of that is the call
of the op alone, tessera::launch, and torch.add into a tensor that is there.
Each figure is the median over rounds of the mean of a round.
"""
# SPDX-License-Identifier: Apache-2.0
import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
BAR_US = 5.0
ROUNDS, CALLS = 31, 2000
KERNEL = """
import triton
import triton.language as tl


@triton.jit
def add(X, Y, OUT, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(OUT + at, tl.load(X + at, mask=at < n) + tl.load(Y + at, mask=at < n), mask=at < n)
"""


def measure(calls):
    """{name: figures}; the rounds of all calls alternate, so that what else the machine does meets all of them."""
    times = {name: [] for name in calls}
    for call in calls.values():
        call()
    for _ in range(ROUNDS):
        for name, call in calls.items():
            start = time.perf_counter()
            for _ in range(CALLS):
                call()
            times[name].append((time.perf_counter() - start) / CALLS * 1e6)
    return {name: {"us": statistics.median(all_), "us_least": min(all_), "us_quartiles": statistics.quantiles(all_)}
            for name, all_ in times.items()}


def calls_of(folder):
    import torch

    import tessera
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


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    os.environ["LIBTESSERA_TORCH"] = str(build / "lib/libtessera_torch.so")
    sys.path.insert(0, str(ROOT / "python"))
    with tempfile.TemporaryDirectory() as folder:
        load = os.getloadavg()[0]
        rows = measure(calls_of(folder))
    commit = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], text=True, capture_output=True,
                            check=True).stdout.strip()
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo", encoding="utf-8")
                if line.startswith("model name")), platform.machine())
    result = {"what": "microseconds of a launch from Python: median of %d rounds of %d" % (ROUNDS, CALLS),
              "command": "bench/python_launch.py build/release bench/results/python_launch.json", "cpu": cpu,
              "python": platform.python_version(), "commit": commit, "date": datetime.date.today().isoformat(),
              "load": load, "bar_us": BAR_US, "missed": rows["tessera.jit"]["us"] > BAR_US, "rows": rows}
    text = json.dumps(result, indent=1) + "\n"
    if len(sys.argv) > 2:
        pathlib.Path(sys.argv[2]).write_text(text, encoding="utf-8")
    print(text, end="")


if __name__ == "__main__":
    main()
