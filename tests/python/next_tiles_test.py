# tests/python/next_tiles_test.py - a loop with a product fetches its next tiles ahead, on the CPU.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Counts the prefetches of each loop, and compares results with numpy where a next address is the last, empty or loaded one."""
import importlib.util
import os
import re
import subprocess
import sys

import numpy as np
import pytest
import torch
from run_tessera import tessera as program

# WAY -> how the loop finds the pointers of its tile of B, [DEPTH, 64]; is the next tile known?
WAYS = {
    "carried": ("b", "b += DEPTH * stride", True),
    "counted": ("B + (step * DEPTH + k)[:, None] * stride + n[None, :]", "pass", True),
    "by_index": ("B + (tl.load(ORDER + step) * DEPTH + k)[:, None] * stride + n[None, :]", "pass", True),
    "by_loaded_index": ("B + (tl.load(ORDER + tl.load(ORDER + step)) * DEPTH + k)[:, None] * stride + n[None, :]", "pass", False),
    "turned": ("B + (step * DEPTH + k)[:, None] + n[None, :] * stride", "pass", True),
    "same": ("B + k[:, None] * stride + n[None, :]", "pass", False),
    "by_rows": ("B + tl.load(ROWS + step * DEPTH + k)[:, None] * stride + n[None, :]", "pass", False),
    "by_result": ("B + (last * DEPTH + k)[:, None] * stride + n[None, :]", "last = tl.load(ORDER + last)", False),
}
KERNEL = '''import tessera as triton
import tessera.language as tl


@triton.jit
def product(A, B, C, ORDER, ROWS, stride, steps, DEPTH: tl.constexpr):
    """C = the sum of A[step] B[step] over the steps; A is [64, steps * DEPTH]."""
    m, n, k = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, DEPTH)
    b = B + k[:, None] * stride + n[None, :]
    acc = tl.zeros((64, 64), tl.float32)
    last = 0
    for step in range(steps):
        a = tl.load(A + m[:, None] * (steps * DEPTH) + (step * DEPTH + k)[None, :])
        acc = tl.dot(a, tl.load({pointers}), acc)
        {then}
    tl.store(C + m[:, None] * 64 + n[None, :], acc)
'''
DEPTH, STRIDE, STEPS = 32, 256, 5


def source(way, folder):
    pointers, then, _ = WAYS[way]
    file = folder / f"{way}.py"
    file.write_text(KERNEL.format(pointers=pointers, then=then))
    return file


def prefetches(file, folder, depth=DEPTH):
    done = program("compile", file, "-k", "product", "-s", "*fp32, *fp32, *fp32, *i32, *i32, i32, i32", "-D", f"DEPTH={depth}",
                   "--emit", "loops", "-o", folder)
    assert done.returncode == 0, done.stdout
    return (folder / "product.loops.mlir").read_text().count("llvm.intr.prefetch")


@pytest.mark.parametrize("way", WAYS)
def test_tiles_with_known_addresses_are_fetched(way, tmp_path):
    # The tile of A, whose addresses are known, and the one of B.
    assert prefetches(source(way, tmp_path), tmp_path) == 1 + WAYS[way][2]


def test_a_tile_of_which_the_product_uses_few_elements_is_not_fetched(tmp_path):
    file = source("counted", tmp_path)
    file.write_text(file.read_text().replace("m, n, k = tl.arange(0, 64)", "m, n, k = tl.arange(0, 4)").replace("(64, 64)", "(4, 64)"))
    assert prefetches(file, tmp_path) == 1  # of A, 4 rows


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("steps", (0, 1, STEPS))
def test_results_are_those_of_numpy(way, steps, tmp_path):
    spec = importlib.util.spec_from_file_location(way, source(way, tmp_path))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    generator = torch.Generator().manual_seed(1)
    order = torch.randperm(STEPS, generator=generator).int()
    rows = torch.randperm(STEPS * DEPTH, generator=generator).int()
    a, b = torch.randn(64, max(steps, 1) * DEPTH, generator=generator), torch.randn(STRIDE, STRIDE, generator=generator)
    c = torch.full((64, 64), float("nan"))
    module.product[(1,)](a, b, c, order, rows, STRIDE, steps, DEPTH=DEPTH)
    expected, last = np.zeros((64, 64)), 0
    for step in range(steps):
        tile = {"same": 0, "by_index": order[step].item(), "by_loaded_index": order[order[step].item()].item(), "by_result": last}.get(way, step)
        at = rows[step * DEPTH:(step + 1) * DEPTH].long() if way == "by_rows" else torch.arange(tile * DEPTH, (tile + 1) * DEPTH)
        right = b[:64, at].T if way == "turned" else b[at, :64]
        expected += a[:, step * DEPTH:(step + 1) * DEPTH].double().numpy() @ right.double().numpy()
        last = order[last].item()
    assert np.abs(c.double().numpy() - expected).max() < 1e-4


RUN = """
import importlib.util, sys, torch
order = torch.tensor([3, 1, 4, 0, 2], dtype=torch.int32)
found = {}
for file in sys.argv[2:]:
    spec = importlib.util.spec_from_file_location("product_kernel", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    a, b, c = torch.ones(64, 5 * 32), torch.zeros(256, 256), torch.zeros(64, 64)
    module.product[(1,)](a, b, c, order, order, 256, 5, DEPTH=32)
    found[file.rsplit("/", 1)[-1][:-3]] = b
torch.save(found, sys.argv[1])
"""
PREFETCH = re.compile(r"(?:tail )?call void @llvm\.prefetch\.p0\(ptr (%[\w.]+), i32 0, i32 2, i32 1\)")


def test_the_lines_are_those_of_the_next_tile(tmp_path):
    """The prefetches, edited to additions to what is at their addresses, count the lines of B that they fetch."""
    ways = ("carried", "counted", "by_index", "turned")
    files = [source(way, tmp_path) for way in ways]

    def run(**variables):
        environment = os.environ | {name: str(tmp_path / folder) for name, folder in variables.items()}
        return subprocess.run([sys.executable, "-c", RUN, tmp_path / "found.pt", *files], env=environment, check=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True).stdout

    run(TESSERA_DUMP="stages")
    stages = list((tmp_path / "stages").glob("product-*/03-llvm.ll"))
    for stage in stages:
        text, count = PREFETCH.subn(lambda call: f"%fetched{call.start()} = atomicrmw add ptr {call[1]}, i32 1 monotonic", stage.read_text())
        assert count > 0
        stage.write_text(text)
    assert run(TESSERA_OVERRIDE="stages").count("03-llvm.ll") == len(stages) == len(ways)
    for way, times in torch.load(tmp_path / "found.pt").items():
        expected = torch.zeros(256, 256, dtype=torch.int32)
        tiles = [3, 1, 4, 0, 2] if way == "by_index" else range(5)
        for step in range(5):
            rows = slice(tiles[min(step + 1, 4)] * 32, tiles[min(step + 1, 4)] * 32 + 32)
            (expected[:64, rows] if way == "turned" else expected[rows, :64])[:, ::16] += 1
        assert torch.equal(times.view(torch.int32), expected), (way, (times.view(torch.int32) != expected).nonzero().tolist()[:9])
