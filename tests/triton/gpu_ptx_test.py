# tests/triton/gpu_ptx_test.py - tessera report on Triton's PTX: its figures against ptxas and against counts of the text.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""No GPU is needed: the target is named."""
import importlib.util
import json
import os
import pathlib
import re
import subprocess

import pytest
import triton
from instances import instances_of, is_type
from repository import PROGRAM, ROOT
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

MATMUL = ROOT / "kernels/tutorials/matmul.py"
PTXAS = pathlib.Path(triton.__file__).parent / "backends/nvidia/bin/ptxas"


def kernel(path, name):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    fn = getattr(module, name)
    while not isinstance(fn, triton.JITFunction):
        fn = fn.fn
    return fn


def report(folder, ptx, shared, ptxas):
    file = folder / "kernel.ptx"
    file.write_text(ptx)
    environment = os.environ | {"TESSERA_PTXAS": str(ptxas), "TESSERA_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run([PROGRAM, "report", str(file), "--json", "--shared", str(shared)], env=environment, text=True,
                          capture_output=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def log_of(folder, ptx):
    file = folder / "log.ptx"
    file.write_text(ptx)
    done = subprocess.run([str(PTXAS), "-v", "--gpu-name=sm_80", str(file), "-o", str(folder / "log.cubin")], text=True,
                          capture_output=True, check=True)
    return done.stderr + done.stdout


def source_of(given):
    fn, signature, constexprs, attrs = kernel(MATMUL, "matmul"), {}, {}, {}
    for i, parameter in enumerate(fn.arg_names):
        value = given[parameter]
        if is_type(value):
            signature[parameter] = value.partition(":")[0]
            if ":" in value:
                attrs[(i,)] = [["tt.divisibility", 16]]
        else:
            signature[parameter] = "constexpr"
            constexprs[(i,)] = value
    return ASTSource(fn, signature, constexprs, attrs)


@pytest.mark.parametrize("warps", (2, 4))
@pytest.mark.parametrize("instance", ("matmul_f16", "matmul_f32"))
def test_report(instance, warps, tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    done = triton.compile(source_of(instances_of(MATMUL)["matmul"][instance]), target=GPUTarget("cuda", 80, 32),
                          options={"num_warps": warps, "num_stages": 3})
    ptx, shared = done.asm["ptx"], done.metadata.shared
    got = report(tmp_path, ptx, shared, PTXAS)
    # Lines of instructions: not directives, labels, braces or comments.
    code = ptx[ptx.index(".entry"):ptx.index(".section")]
    code = [line.split("//")[0].strip() for line in code.splitlines()]
    count = lambda pattern, lines=code: sum(bool(re.match(r"(@!?%p\d+ )?" + pattern, line)) for line in lines)
    classes = got["ptx"]["instructions"]
    for key, pattern in [("mma", r"mma\."), ("ldmatrix", r"ldmatrix\."), ("cp.async", r"cp\.async\.c[ag]"),
                         ("st.global", r"st\.global"), ("ld.global", r"ld\.global"), ("bar", r"(bar|cp\.async\.[cw]\w+_)")]:
        assert classes.get(key, 0) == count(pattern), key
    # The one loop is between its label and the branch back to it.
    loops = [l for l in got["ptx"]["loops"] if l["innermost"]]
    for loop in loops:
        text = ptx.splitlines()
        first = max(i for i in range(loop["text_line"]) if text[i].startswith("$L__BB"))
        label = text[first].split(":")[0]
        last = max(i for i, line in enumerate(text) if re.search(r"\bbra\b", line) and label + ";" in line)
        inside = [line.split("//")[0].strip() for line in text[first:last + 1]]
        assert loop["instructions"].get("mma", 0) == count(r"mma\.", inside), "mma in the loop"
    assert any(l["instructions"].get("mma") for l in loops), "a loop with mma"
    log = log_of(tmp_path, ptx)
    number = lambda pattern: int(re.search(pattern, log).group(1))
    assert got["registers"] == number(r"Used (\d+) registers"), "registers"
    assert got["spill_stores"] == number(r"(\d+) bytes spill stores"), "spills"
    assert got["shared"] == shared, "shared"
    assert got["threads"] == 32 * warps, "threads"
    # Blocks an SM of 65536 registers, 167936 bytes and 64 warps holds.
    registers = -(-got["registers"] * 32 // 256) * 256
    blocks = min(65536 // 4 // registers * 4 // warps, 167936 // (-(-shared // 128) * 128 + 1024), 64 // warps, 32)
    assert got["blocks_per_sm"] == blocks, "blocks"
    if got["sass"]:
        assert got["sass"]["instructions"].get("mma", 0) > 0, "mma of the SASS"


def test_every_instance_is_tested():
    assert set(instances_of(MATMUL)["matmul"]) == {"matmul_f16", "matmul_f32"}
