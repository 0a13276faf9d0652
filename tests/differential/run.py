# tests/differential/run.py - generated kernels on our cpu target and under Triton's interpreter, outputs compared.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""usage: run.py [--count N] [--first SEED] [--seed SEED] [--pointers] [--keep DIR]

A seed that fails is run again in smaller and smaller versions; its kernel, inputs and first differing element are
printed. Exit 1 then; 77 without torch or triton. Batches run in processes of their own, so that a crash is one
failing seed and not the end.
"""
import argparse
import faulthandler
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import warnings

os.environ["TRITON_INTERPRET"] = "1"
os.environ["TESSERA_F32_DEFAULT"] = "ieee"
try:
    import numpy as np
    import torch
    import triton
except ImportError as error:
    print("skipped:", error)
    sys.exit(1 if os.environ.get("TEST_COMPLETE") else 77)

import minimize
from program import generate, programs

warnings.filterwarnings("ignore")
np.seterr(all="ignore")
torch.set_num_threads(1)
BATCH = 50
# Triton 3.9 removed block pointers.
HAS_BLOCK_POINTERS = triton.__version__ < "3.9"
HANGS = 240                 # seconds; a kernel takes one or two on a busy machine


def contents(buffer, seed):
    """What a buffer holds before the launch."""
    rng = np.random.default_rng([seed, len(buffer.name), sum(map(ord, buffer.name))])
    dtype = getattr(torch, buffer.dtype)
    shape = buffer.elements
    if buffer.fill == "zero":
        return torch.zeros(shape, dtype=dtype)
    if buffer.fill == "output":
        return torch.full((shape,), 77, dtype=torch.int64).to(dtype)
    if buffer.fill == "flags":
        return torch.from_numpy(rng.integers(0, 2, shape).astype(bool))
    if buffer.fill == "grid":
        return torch.from_numpy(rng.integers(-64, 65, shape) / 8.0).to(dtype)
    low, high = (0, 51) if buffer.dtype[0] == "u" else (-50, 51)
    if buffer.fill == "small":
        return torch.from_numpy(rng.integers(low, high, shape)).to(dtype)
    info = np.iinfo(buffer.dtype)
    wide = rng.integers(info.min, info.max, shape, dtype=buffer.dtype, endpoint=True)
    ends = rng.integers(0, 16, shape)
    wide[ends == 0], wide[ends == 1], wide[ends == 2] = info.min, info.max, 0
    return torch.from_numpy(wide)


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.kernel


def execute(case, text, folder):
    """(outputs of the interpreter, outputs of ours); an exception's text instead of either."""
    path = pathlib.Path(tempfile.mkstemp(".py", "case_", folder)[1])
    path.write_text(text)
    m, n = case.tile
    results = []
    for ours in (False, True):
        tensors = {b.name: contents(b, case.seed) for b in case.buffers}
        try:
            if ours:
                torch.ops.tessera.launch(str(path), "kernel", list(tensors.values()),
                                         [case.scalars["n"], case.scalars["scale"]], list(case.grid), "M=%d, N=%d" % (m, n))
            else:
                load(path)[case.grid](*tensors.values(), case.scalars["n"], case.scalars["scale"], M=m, N=n)
            results.append(tensors)
        except Exception as error:  # noqa: BLE001 - either side may refuse a kernel in its own way
            results.append("%s: %s" % (type(error).__name__, error))
    return results


def as_exact(tensor):
    """float64, or integers as Python may compare them."""
    if tensor.dtype.is_floating_point:
        return tensor.double().numpy()
    return tensor.numpy()


def difference(case, want, got):
    """None, or what differs first."""
    if isinstance(want, str) and isinstance(got, str):
        return None
    if isinstance(want, str):
        return "only the interpreter refuses: " + want
    if isinstance(got, str):
        return "only ours refuses: " + got
    for buffer in case.buffers:
        a, b = as_exact(want[buffer.name]), as_exact(got[buffer.name])
        allowed = np.zeros(buffer.elements)
        for base, (size, err) in buffer.errors.items():
            for p in range(programs(case.grid)):
                allowed[p * case.segment + base:p * case.segment + base + size] = err
        with np.errstate(all="ignore"):
            wrong = a != b
            if a.dtype.kind == "f":
                wrong &= ~(np.abs(a - b) <= allowed) & ~(np.isnan(a) & np.isnan(b))
        if wrong.any():
            at = int(np.flatnonzero(wrong)[0])
            return "%s[%d]: interpreter %r, ours %r, allowed %g (program %d, element %d; %d differ)" % (
                buffer.name, at, a[at].item(), b[at].item(), allowed[at], at // case.segment, at % case.segment, wrong.sum())
    return None


def check(case, text, folder):
    return difference(case, *execute(case, text, folder))


def kind_of(what):
    """What stays the same while a kernel is reduced: the buffer's name, or the refusal without locations and numbers."""
    if "refuses" not in what:
        return what.split("[")[0]
    first = re.sub(r"\S*/\S*|[\d`'\"]+", "", what.splitlines()[0])
    return first[:110]


def report(case, what, folder, keep):
    print("FAILED seed %d: %s" % (case.seed, what))

    def still(text):
        found = check(case, text, folder)
        return found is not None and kind_of(found) == kind_of(what)

    text = minimize.minimize(case.text, still)
    print("smallest kernel that differs (%s):\n%s" % (check(case, text, folder), text))
    print("grid %s, n=%s, scale=%s, M=%d, N=%d" % (case.grid, case.scalars["n"], case.scalars["scale"], *case.tile))
    for buffer in case.buffers:
        if buffer.name in text.split("def kernel", 1)[1].split("):", 1)[1] and buffer.fill != "output":
            print("input %s: %s %s" % (buffer.name, buffer.dtype, contents(buffer, case.seed)[:16].tolist()))
    if keep:
        pathlib.Path(keep).mkdir(parents=True, exist_ok=True)
        (pathlib.Path(keep) / ("seed_%d.py" % case.seed)).write_text(case.text)
        (pathlib.Path(keep) / ("seed_%d_small.py" % case.seed)).write_text(text)
    print("again: run.py --seed %d" % case.seed, flush=True)


def run(seeds, features, keep):
    torch.ops.load_library(os.environ["LIBTESSERA_TORCH"])
    failed = refused = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in seeds:
            print("seed", seed, flush=True)
            # A kernel that never ends is one failing seed too; the traceback shows where it hangs.
            faulthandler.dump_traceback_later(HANGS, exit=True)
            case = generate(seed, features)
            if "make_block_ptr" in case.text and not HAS_BLOCK_POINTERS:
                faulthandler.cancel_dump_traceback_later()
                print("left out", flush=True)
                continue
            want, got = execute(case, case.text, folder)
            what = difference(case, want, got)
            faulthandler.cancel_dump_traceback_later()
            if isinstance(want, str):
                refused += 1
                print("seed %d is refused: %s | %s" % (seed, want[:200], str(got)[:400]), flush=True)
            if what is not None:
                failed += 1
                report(case, what, folder, keep)
    print("batch failed=%d refused=%d" % (failed, refused), flush=True)
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, help="this one only, in this process")
    parser.add_argument("--pointers", action="store_true", help="kernels that choose, carry and make pointers of rows")
    parser.add_argument("--batch", help=argparse.SUPPRESS)
    parser.add_argument("--keep", help="folder for failing kernels")
    options = parser.parse_args()
    features = ("pointers",) if options.pointers else ()
    if options.seed is not None:
        return run([options.seed], features, options.keep)
    if options.batch:
        first, last = map(int, options.batch.split(","))
        return run(range(first, last), features, options.keep)
    start, failures, refused, left_out = time.time(), [], 0, 0
    at, end = options.first, options.first + options.count
    while at < end:
        last = min(at + BATCH, end)
        command = [sys.executable, __file__, "--batch", "%d,%d" % (at, last)] + (["--pointers"] if features else []) + (
            ["--keep", options.keep] if options.keep else [])
        child = subprocess.run(command, capture_output=True, text=True)
        seeds = [line.split()[1] for line in child.stdout.splitlines() if line.startswith("seed ")]
        left_out += child.stdout.count("left out\n")
        shown = "\n".join(line for line in child.stdout.splitlines() if not line.startswith(("seed ", "batch ", "left out")))
        if shown:
            print(shown)
        failures += [line.split()[2].rstrip(":") for line in child.stdout.splitlines() if line.startswith("FAILED seed")]
        refused += sum(int(line.split("refused=")[1]) for line in child.stdout.splitlines() if line.startswith("batch "))
        if child.returncode not in (0, 1) or (child.returncode == 1 and "batch failed" not in child.stdout):
            crashed = int(seeds[-1]) if seeds else at
            print("FAILED seed %d: the process ended with %d\n%s" % (crashed, child.returncode, child.stderr[-2000:]))
            failures.append(str(crashed))
            last = crashed + 1
        at = last
        print("%d of %d kernels, %d failed, %.0f s" % (at - options.first, options.count, len(failures), time.time() - start),
              flush=True)
    print("kernels: %d, left out: %d, refused by both: %d, failed: %d %s" % (
        options.count - left_out, left_out, refused, len(failures), " ".join(failures)))
    # If both sides refuse most kernels, the generator tests nothing.
    return 1 if failures or refused * 20 > options.count else 0


if __name__ == "__main__":
    sys.exit(main())
