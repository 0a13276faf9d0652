# tests/triton/report_test.py - what kernels print and assert on cpu, and what a person sees of it.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import os
import pathlib
import subprocess
import sys

FILE = str(pathlib.Path(__file__).resolve().parent / "reports/kernels.py")
library = os.environ.get("LIBTESSERA_TORCH")
if not library:
    print("skipped: LIBTESSERA_TORCH is not set")
    sys.exit(1 if os.environ.get("TEST_COMPLETE") else 77)

if len(sys.argv) > 1:                                     # one launch, in a process of its own
    import torch
    torch.ops.load_library(library)
    kernel, n, programs, N = sys.argv[1], *map(int, sys.argv[2:])
    x = torch.tensor([1.5, -2.0, 1000.0, 0.1] * 16)
    out = torch.zeros(64)
    try:
        torch.ops.tessera.launch(FILE, kernel, [x, out], [n], [programs], f"N={N}")
        print("out", out.sum().item())
    except RuntimeError as error:
        print("error:", error)
    sys.exit(0)

failures = 0


def run(kernel, n, programs=1, N=8, **options):
    environment = {k: v for k, v in os.environ.items() if k != "TESSERA_DEBUG"} | {k: str(v) for k, v in options.items()}
    return subprocess.run([sys.executable, __file__, kernel, str(n), str(programs), str(N)], env=environment, text=True,
                          capture_output=True).stdout


def expect(what, text, *parts):
    global failures
    for part in parts:
        if part not in text:
            failures += 1
            print(f"FAILED {what}: no `{part}` in\n{text}")


expect("assert", run("bounded", 11, 2, TESSERA_DEBUG=1), "error:", "kernel `bounded`", "kernels.py:11:5: assertion failed: past the end",
       "program (1, 0, 0), element 3 of the block", "comparing 11 and 11", "HINT")
expect("assert off", run("bounded", 11, 2), "out ")
expect("assert masked", run("masked", 2, TESSERA_DEBUG=1), "out 8")
expect("assert masked, seen", run("masked", 3, TESSERA_DEBUG=1), "too large", "element 2", "comparing 1000 and 100")
expect("debug=True", run("always", 5), "assertion failed", "program (0, 0, 0), comparing 5 and 100")
expect("print", run("prints", 7), "pid (0, 0, 0) x fp32[4]: 1.5 -2 1000 0.100000001\n", "mixed: int32: 7\n", "bf16[4]: 1.5 -2 1000 0.1001\n",
       "int1[4]: True False True True\n", "uint8[4]: 255 0 1 2\n", "bits fp32[4]: 0x3fc00000 0xc0000000 0x447a0000 0x3dcccccd\n",
       "pid (0, 0, 0) hello\n", "out ")
text = run("chatty", 5000, TESSERA_PRINT_LIMIT=3)
expect("limit", text, "i int32: 0\n", "i int32: 2\n", "left out (TESSERA_PRINT_LIMIT=3)")
if text.count("\n") != 5:
    failures += 1
    print(f"FAILED limit: {text.count(chr(10))} lines")
print("failures:", failures)
sys.exit(1 if failures else 0)
