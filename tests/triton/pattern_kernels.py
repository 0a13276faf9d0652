# tests/triton/pattern_kernels.py - kernels that call what is derived from patterns.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""The texts are tests/unit/language/pattern/golden/NAME.txt: a pattern, a line "# derived", and what is derived from it."""
import importlib.util
import inspect
import os
import sys

from repository import BUILD, ROOT

FOLDER = ROOT / "tests/unit/language/pattern"
sys.path += [str(ROOT), str(FOLDER)]  # kernel files import from kernels.attention.intervals
from stand_in import INTERVALS, load  # noqa: E402

PROBE = """

@triton.jit
def probe(TILES, OUT, length, prefix{constexprs}):
    tile = TILES + tl.program_id(0) * 6
    t0 = tl.load(tile)
    t1 = tl.load(tile + 1)
    pos0 = tl.load(tile + 2)
    pos1 = tl.load(tile + 3)
    head0 = tl.load(tile + 4)
    head1 = tl.load(tile + 5)
    out = OUT + tl.program_id(0) * 10
    some, every = sees_tile(t0, t1, pos0, pos1{trailing})
    tl.store(out, tl.where(some, 1, 0))
    tl.store(out + 1, tl.where(every, 1, 0))
    first, full_first, full_past, past = key_range(t0, t1, length{trailing})
    tl.store(out + 2, first)
    tl.store(out + 3, full_first)
    tl.store(out + 4, full_past)
    tl.store(out + 5, past)
    first, full_first, full_past, past = query_range(pos0, pos1, length{trailing})
    tl.store(out + 6, first)
    tl.store(out + 7, full_first)
    tl.store(out + 8, full_past)
    tl.store(out + 9, past)
"""
SLOPES = """

@triton.jit
def slopes(S, OUT, slope{constexprs}):
    row = tl.arange(0, 16)
    t = row[:, None]
    pos = row[None, :]
    place = t * 16 + pos
    s = tl.load(S + place)
    tl.store(OUT + place, tl.zeros_like(s) + {name}(s, t, pos, 0{trailing}))
"""


def golden(name):
    """The pattern and what is derived from it."""
    return (FOLDER / f"golden/{name}.txt").read_text().split("# derived\n")


def write_kernel(name, text):
    """A kernel file below the repository, where imports of kernels.attention are found, and its module."""
    path = BUILD / "pattern-kernels" / f"{name}.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    library = "from triton.language.extra import libdevice\n" if "libdevice" in text else ""
    temporary = path.with_suffix(f".{os.getpid()}")  # another test may read the file
    temporary.write_text("import triton\nimport triton.language as tl\n" + library + text)
    temporary.replace(path)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return str(path), module


# name: values of the parameters
VISIBILITY = {
    "causal": [{}], "bidirectional": [{}], "opaque": [{}],
    "window": [{"window": 9}, {"window": 1}], "sink_window": [{"window": 9, "sinks": 4}, {"window": 5, "sinks": 0}],
    "strided": [{"step": 4}, {"step": 1}], "dilated_window": [{"window": 9, "step": 4}],
    "block_causal": [{"block": 8}, {"block": -2}], "prefix": [{}], "chunks": [{"chunk": 8}, {"chunk": 1}],
    "switch": [{"radius": 6, "causal": True}, {"radius": 6, "causal": False}], "heads": [{"window": 5}],
    "mixed": [{"block": 3, "rows": 4}, {"block": -1, "rows": 2}],
}


def visibility_kernel(name):
    """The functions as plain Python, their last parameters, and file and module of a kernel `probe` that calls them."""
    pattern, text = golden(name)
    functions = load(INTERVALS.read_text(), pattern, text)
    trailing = list(inspect.signature(functions.sees_tile).parameters)[4:]
    body = PROBE.format(trailing="".join(", " + name for name in trailing), constexprs=constexprs_of(VISIBILITY[name][0]))
    return functions, trailing, *write_kernel(name, text[:text.index("@")] + pattern + "\n\n" + text[text.index("@"):] + body)


def gradient_kernel(name, function, values):
    """File and module of a kernel `slopes` that stores what `function` returns."""
    pattern, text = golden(name)
    takes = pattern.split("def modify(s, t, pos, head")[1].split(")")[0]
    trailing = ", slope" if "slope" in takes else "".join(", " + name for name in values)
    return write_kernel(f"{name}_{function}", pattern + "\n\n" + text + SLOPES.format(name=function, trailing=trailing, constexprs=constexprs_of(values)))


def constexprs_of(values):
    return "".join(f", {name}: tl.constexpr" for name in values)
