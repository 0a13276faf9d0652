# tests/triton/gpu_ptx_test.py - tessera report on Triton's PTX: its figures against ptxas and against counts of the text.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""No GPU is needed: the target is named. PROGRAM is the tessera binary."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

program = os.environ.get("PROGRAM")
if not program:
    print("skipped: PROGRAM is not set")
    sys.exit(77)
folder = tempfile.TemporaryDirectory()
os.environ["TRITON_CACHE_DIR"] = folder.name
try:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
except ImportError as error:
    print("skipped:", error)
    sys.exit(77)

from instances import instances_of, is_type  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
PTXAS = pathlib.Path(triton.__file__).parent / "backends/nvidia/bin/ptxas"
failures = 0


def expect(what, got, want):
    global failures
    if got != want:
        failures += 1
        print(f"FAILED {what}: {got}, not {want}")


def kernel(path, name):
    import importlib.util
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    fn = getattr(module, name)
    while not isinstance(fn, triton.JITFunction):
        fn = fn.fn
    return fn


def report(ptx, shared, ptxas):
    file = pathlib.Path(folder.name) / "kernel.ptx"
    file.write_text(ptx)
    environment = os.environ | {"TESSERA_PTXAS": str(ptxas), "TESSERA_CACHE_DIR": folder.name + "/cache"}
    done = subprocess.run([program, "report", str(file), "--json", "--shared", str(shared)], env=environment, text=True,
                          capture_output=True)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def log_of(ptx):
    file = pathlib.Path(folder.name) / "log.ptx"
    file.write_text(ptx)
    done = subprocess.run([str(PTXAS), "-v", "--gpu-name=sm_80", str(file), "-o", folder.name + "/log.cubin"], text=True,
                          capture_output=True, check=True)
    return done.stderr + done.stdout


instances = instances_of(ROOT / "kernels/tutorials/matmul.py")["matmul"]
for name, given in instances.items():
    fn = kernel(ROOT / "kernels/tutorials/matmul.py", "matmul")
    signature, constexprs, attrs = {}, {}, {}
    for i, parameter in enumerate(fn.arg_names):
        value = given[parameter]
        if is_type(value):
            signature[parameter] = value.partition(":")[0]
            if ":" in value:
                attrs[(i,)] = [["tt.divisibility", 16]]
        else:
            signature[parameter] = "constexpr"
            constexprs[(i,)] = value
    for warps in (2, 4):
        done = triton.compile(ASTSource(fn, signature, constexprs, attrs), target=GPUTarget("cuda", 80, 32),
                              options={"num_warps": warps, "num_stages": 3})
        ptx, shared = done.asm["ptx"], done.metadata.shared
        got, what = report(ptx, shared, PTXAS), f"{name}, {warps} warps"
        # Lines of instructions: not directives, labels, braces or comments.
        code = ptx[ptx.index(".entry"):ptx.index(".section")]
        code = [line.split("//")[0].strip() for line in code.splitlines()]
        count = lambda pattern, lines=code: sum(bool(re.match(r"(@!?%p\d+ )?" + pattern, line)) for line in lines)
        classes = got["ptx"]["instructions"]
        for key, pattern in [("mma", r"mma\."), ("ldmatrix", r"ldmatrix\."), ("cp.async", r"cp\.async\.c[ag]"),
                             ("st.global", r"st\.global"), ("ld.global", r"ld\.global"), ("bar", r"(bar|cp\.async\.[cw]\w+_)")]:
            expect(f"{what}: {key}", classes.get(key, 0), count(pattern))
        # The one loop lies between its label and the branch back to it.
        loops = [l for l in got["ptx"]["loops"] if l["innermost"]]
        for loop in loops:
            text = ptx.splitlines()
            first = max(i for i in range(loop["text_line"]) if text[i].startswith("$L__BB"))
            label = text[first].split(":")[0]
            last = max(i for i, line in enumerate(text) if re.search(r"\bbra\b", line) and label + ";" in line)
            inside = [line.split("//")[0].strip() for line in text[first:last + 1]]
            expect(f"{what}: mma in the loop", loop["instructions"].get("mma", 0), count(r"mma\.", inside))
        expect(f"{what}: a loop with mma", any(l["instructions"].get("mma") for l in loops), True)
        log = log_of(ptx)
        number = lambda pattern: int(re.search(pattern, log).group(1))
        expect(f"{what}: registers", got["registers"], number(r"Used (\d+) registers"))
        expect(f"{what}: spills", got["spill_stores"], number(r"(\d+) bytes spill stores"))
        expect(f"{what}: shared", got["shared"], shared)
        expect(f"{what}: threads", got["threads"], 32 * warps)
        # Blocks an SM of 65536 registers, 167936 bytes and 64 warps holds.
        registers = -(-got["registers"] * 32 // 256) * 256
        blocks = min(65536 // 4 // registers * 4 // warps, 167936 // (-(-shared // 128) * 128 + 1024), 64 // warps, 32)
        expect(f"{what}: blocks", got["blocks_per_sm"], blocks)
        if got["sass"]:
            expect(f"{what}: mma of the SASS", got["sass"]["instructions"].get("mma", 0) > 0, True)
print("instances:", len(instances), "failures:", failures)
sys.exit(1 if failures or not instances else 0)
