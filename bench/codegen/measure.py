# bench/codegen/measure.py - one launch compiled by both compilers, run by the simulator, and its figures.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""PROGRAM names the tessera binary, SIM_ABI libtessera_sim_abi.so. tests/simulator and tests/helpers must be on the path."""
import json
import os
import pathlib
import re
import statistics
import subprocess
import tempfile
import time
import unittest.mock

import simulator

from codegen import one
from outliers import bounds
from simulator import torch, triton

TENSOR = {"HMMA", "IMMA", "BMMA", "DMMA"}
# SASS instructions that ptxas leaves in place, each for one PTX instruction; and those that end a basic block.
IN_PLACE = TENSOR | {"LDSM", "LDGSTS", "LDG", "LD", "STG", "ST", "LDS", "STS", "ATOM", "ATOMG", "ATOMS", "RED",
                     "BAR", "LDGDEPBAR", "DEPBAR", "SHFL"}
BRANCHES = {"BRA", "BRX", "JMP", "EXIT", "RET"}
LIMITS = {torch.float64: 1e-9, torch.float32: 5e-3, torch.float16: 2e-2, torch.bfloat16: 3e-2}  # ours against Triton's, RMS


def static_report(ptx, shared, threads, target, min_blocks=0):
    """`tessera report`: ptxas figures, occupancy, loops, basic blocks of the SASS. `min_blocks`: how ptxas was asked for the code (of the .json)."""
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
        file.write(ptx)
        file.flush()
        done = subprocess.run([os.environ["PROGRAM"], "report", file.name, "--json", "--blocks", "--shared", str(shared), "--threads",
                               str(threads), "--target", target, "--min-blocks", str(min_blocks)], capture_output=True, text=True)
    if done.returncode:
        raise simulator.SimError(done.stderr.strip())
    return json.loads(done.stdout)


def quiet():
    """Whether nothing else keeps the machine busy: only then are times of the clock worth keeping."""
    return os.getloadavg()[0] <= os.cpu_count() / 2


def start_seconds(side, target):
    """What each compiler takes, in the state that it is timed in, for a kernel of one line without ptxas; the shorter of two. Ours: a
    process and a worker, nothing is found in the cache. Triton's: warm."""
    launch = Launch(pathlib.Path(one.__file__), "one", one.one, (1,), [torch.zeros(4)], {}, dict(num_warps=4, num_stages=3))
    with unittest.mock.patch.dict(os.environ, TESSERA_PTXAS="none"):
        return shorter(*(seconds_of(lambda: launch.compile_again(side, target)) for _ in range(2)))


def seconds_of(compile_once):
    """What simulator.totals counts for it: seconds by the clock, seconds of processors."""
    before = dict(simulator.totals)
    compile_once()
    return tuple(simulator.totals[what] - before[what] for what in ("compile_seconds", "compile_cpu"))


def shorter(*times):
    """The shortest of several measurements, by the clock and of processors each."""
    return tuple(map(min, zip(*times)))


def assemble(ptx, min_blocks=0):
    """Seconds of Triton's ptxas for what the PTX says it is for, as seconds_of has them. `min_blocks`: as static_report."""
    ptxas = pathlib.Path(triton.__file__).parent / "backends/nvidia/bin/ptxas"
    target = re.search(r"^\.target\s+(\w+)", ptx, re.M).group(1)
    blocks = [f"--minnctapersm={min_blocks}"] if min_blocks else []
    with tempfile.TemporaryDirectory() as folder:
        text = pathlib.Path(folder) / "kernel.ptx"
        text.write_text(ptx)
        begin, cpu = time.time(), simulator.cpu_seconds()
        subprocess.run([str(ptxas), f"--gpu-name={target}", "-lineinfo", *blocks, "-o", folder + "/kernel.cubin", str(text)], check=True,
                       capture_output=True, cwd=folder)
        return time.time() - begin, simulator.cpu_seconds() - cpu


def executed(blocks, issues, only=None):
    """SASS instructions that the warps of a launch execute, or those of some opcodes: an estimate, exact for code without branches.
    blocks: [[PTX line, opcode], ...] of each basic block; issues: PTX line -> how often the simulator issued it.

    A basic block runs as often as the PTX lines of its instructions that stay in place; without such by its branches; else by all. The
    estimate takes their median, since what ptxas moves between blocks carries the count of where it came from. A line with several
    instructions of an opcode, as in an unrolled loop, shares its count among them."""
    copies = {}
    for block in blocks:
        places = [tuple(place) for place in block]
        # Other lines may take several instructions: their copies are in other blocks.
        for place in [p for p in places if p[1] in IN_PLACE] + list({p for p in places if p[1] not in IN_PLACE}):
            copies[place] = copies.get(place, 0) + 1
    total, runs = 0, 0
    for block in blocks:
        known = [(opcode, issues[line] / copies[line, opcode]) for line, opcode in block if line in issues]
        for group in (IN_PLACE, BRANCHES, None):
            told = [count for opcode, count in known if group is None or opcode in group]
            if told:
                runs = statistics.median(told)
                break
        total += runs * sum(not only or opcode in only for _, opcode in block)
    return round(total) if blocks else None


def tensor_loop_lines(ptx):
    """Lines (from 1) of the innermost loops with tensor instructions: from a label to the last branch back to it."""
    lines = ptx.splitlines()
    labels = {match.group(1): i for i, line in enumerate(lines, 1) if (match := re.match(r"\s*([$\w]+):", line))}
    loops = {}
    for i, line in enumerate(lines, 1):
        match = re.search(r"\bbra(?:\.uni)?\s+([$\w]+)\s*;", line)
        if match and labels.get(match.group(1), i) < i:
            loops[labels[match.group(1)]] = i
    mmas = [i for i, line in enumerate(lines, 1) if "mma.sync" in line]
    inner = [(a, b) for a, b in loops.items()
             if any(a < m < b for m in mmas) and not any(a < c and d < b and any(c < m < d for m in mmas) for c, d in loops.items())]
    return {i for a, b in inner for i in range(a, b + 1)}


def whole_loops(report):
    """Other instructions per tensor instruction with all that stands in the innermost loops, what most iterations jump over, too."""
    loops = [loop["instructions"] for loop in (report["sass"] or report["ptx"])["loops"]
             if loop["innermost"] and loop["instructions"].get("mma")]
    tensor = sum(loop["mma"] for loop in loops)
    return round((sum(loop["total"] for loop in loops) - tensor) / tensor, 4) if tensor else None


def figures(ptx, shared, threads, reply, target, min_blocks):
    report, counters = static_report(ptx, shared, threads, target, min_blocks), reply["counters"]
    loop = tensor_loop_lines(ptx)
    issues = {int(line): count for line, count in reply["issues"]}
    return dict(
        threads=threads, registers=report["registers"], stack=report["stack"],
        spill=report["spill_stores"] + report["spill_loads"], shared=shared, blocks_per_sm=report["blocks_per_sm"],
        loop_non_tensor_per_tensor=report["loop_non_tensor_per_tensor"], loop_whole=whole_loops(report), async_stages=report["async_stages"],
        executed_warp_instructions=counters["warp_instructions"],
        executed_sass=executed(report["sass_blocks"], issues),
        executed_sass_tensor=executed(report["sass_blocks"], issues, TENSOR), tensor_instructions=counters["tensor_instructions"],
        global_sectors=counters["global_sectors"], bank_conflicts=counters["bank_conflicts"],
        loop_bank_conflicts=sum(c["conflicts"] for c in reply["conflicts"] if c["ptx_line"] in loop),
        shared_passes=counters["shared_ways"], barriers=counters["barriers"])


def copies(args):
    """Arguments that a launch may overwrite; views of one storage stay views of one storage."""
    made = {}

    def copy_of(value):
        if isinstance(value, tuple):
            return type(value)(*map(copy_of, value))
        if isinstance(value, torch.Tensor):
            storage = value.untyped_storage()
            if storage.data_ptr() not in made:
                made[storage.data_ptr()] = storage.clone()
            copy = torch.empty(0, dtype=value.dtype).set_(
                made[storage.data_ptr()], value.storage_offset(), value.shape, value.stride())
            if getattr(value, "unwritten", False):
                simulator.mark_unwritten(copy)
            value = copy
        return value

    return [copy_of(value) for value in args]


def difference(ours, theirs, unordered=False):
    """Largest relative RMS error of a tensor of floats, as a share of its type's limit, or largest difference of one element, as a
    share of its bound (docs/numerics.md, "Single elements"); integers must be equal. 0: the same."""
    worst = 0.0
    for a, b in zip(ours, theirs):
        if not isinstance(a, torch.Tensor) or a.numel() == 0:
            continue
        if not a.dtype.is_floating_point:
            a, b = (a.flatten().sort().values, b.flatten().sort().values) if unordered else (a, b)
            worst = max(worst, 0.0 if torch.equal(a, b) else float("inf"))
            continue
        x, y = a.double(), b.double()
        both = torch.isfinite(x) & torch.isfinite(y)
        same = both | (x == y) | (x.isnan() & y.isnan())
        if not same.all():
            return float("inf")
        size = y[both].square().mean().sqrt().item() if both.any() else 0.0
        error = (x[both] - y[both]).square().mean().sqrt().item() if both.any() else 0.0
        limit = LIMITS[a.dtype]
        single = ((x - y).abs() / bounds(y, limit))[both].max().item() if both.any() else 0.0
        worst = max(worst, (error / size if size else error) / limit, single)
    return worst


def hints_of(file, name):
    """The lines above a kernel that change its GPU code and that Triton cannot read."""
    above = pathlib.Path(file).read_text().partition(f"\ndef {name}(")[0].splitlines()
    found = []
    while above and above[-1].startswith(("#", "@", " ", ")")):
        match = re.match(r"# tessera: (swap_ab|stages\(.*\))", above.pop())
        found += [match.group(1)] if match else []
    return sorted(found)


class Launch:
    """A launch that both compilers serve. `file` holds the kernel `name` for ours, `fn` is Triton's JITFunction. unordered: the
    kernel leaves the order of integers open, so that they are compared sorted."""

    def __init__(self, file, name, fn, grid, args, constexprs, options, unordered=False):
        self.file, self.name, self.fn, self.grid = file, name, fn, grid
        self.args, self.constexprs, self.options, self.unordered = args, constexprs, options, unordered
        self.reference = None  # arguments after Triton's code for sm_80

    def _triton(self, args, target):
        reply = simulator.launch_triton(self.fn, self.grid, args, self.constexprs, dict(self.options, enable_fp_fusion=True),
                                        simulator.ISSUES, target)
        done = simulator.last
        ptx = re.sub(r"^\.target sm_90a\b", ".target sm_90", done.ptx, flags=re.M)  # what ran needs no more
        return ptx, done.shared, 32 * done.warps, reply

    def _ours(self, args, target, hints=False):
        reply = simulator.launch_tessera(self.file, self.name, self.fn, self.grid, args, self.constexprs,
                                         dict(self.options, hints=hints), simulator.ISSUES, target)
        done = simulator.last
        return done.ptx, done.shared, done.threads, reply

    def compile_again(self, side, target, hints=False):
        signature, constants, attributes, _ = simulator.specialize(self.fn, self.args, self.constexprs)
        if side == "triton":
            simulator.Compiled(simulator.ASTSource(self.fn, signature, constants, attributes),
                               dict(self.options, enable_fp_fusion=True), target)
        else:
            with tempfile.TemporaryDirectory(prefix="tessera-codegen-") as empty:  # nothing is found there
                with unittest.mock.patch.dict(os.environ, TESSERA_CACHE_DIR=empty):
                    simulator.OwnCompiled(self.file, self.name, signature, constants, attributes, dict(self.options, hints=hints, occupancy=True), target)

    def measure(self, side, target, **hints):
        """The figures of one side (ours also with hints=True), or {"error": message}; and the arguments afterwards. Only sm_80 is timed
        twice."""
        args = copies(self.args)
        try:
            run = self._triton if side == "triton" else self._ours
            done = []
            seconds = seconds_of(lambda: done.append(run(args, target, **hints)))
            ptx, shared, threads, reply = done[0]
            min_blocks = getattr(simulator.last, "min_blocks", 0) if side == "ours" else 0
            assembly = assemble(ptx, min_blocks)
            if target == "sm_80":
                seconds = shorter(seconds, seconds_of(lambda: self.compile_again(side, target, **hints)))
                assembly = shorter(assembly, assemble(ptx)) if side == "triton" else assembly
            if side == "triton":
                seconds = tuple(map(sum, zip(seconds, assembly)))  # ours includes it
            times = dict(zip(("source_to_cubin_ms", "source_to_cubin_cpu_ms", "start_ms", "start_cpu_ms"),
                             (round(1e3 * s, 1) for s in seconds + start_seconds(side, target))))
            if not quiet():
                times = {what: ms for what, ms in times.items() if "cpu" in what}
            return dict(times, **figures(ptx, shared, threads, reply, target, min_blocks)), args
        except (simulator.Finding, simulator.SimError) as error:
            return dict(error=str(error)[:2000]), None
        except Exception as error:  # Triton's own failures have many types
            if side == "ours":
                raise
            return dict(error=f"{type(error).__name__}: {error}"[:2000]), None

    def _reference(self):
        """The arguments after Triton's code for sm_80; None when that fails."""
        try:
            args = copies(self.args)
            self._triton(args, "sm_80")
            return args
        except Exception:  # noqa: BLE001 - Triton's failures have many types
            return None

    def row(self, target):
        """{"ours", "triton", "differs", "reference"}: differs is the difference of the results over its limit, None where one
        failed; reference says whether Triton's code for sm_80 works. (Triton's code for sm_90 has wgmma, which the simulator does not execute.)
        "hinted" are our figures with the hints of the file, where it has any; "ours" are without."""
        triton, theirs = self.measure("triton", target)
        if self.reference is None:
            self.reference = theirs if theirs is not None or target == "sm_80" else self._reference()
        ours, done = self.measure("ours", target)
        row = dict(ours=ours, triton=triton, reference=self.reference is not None)
        results = [done]
        hints = hints_of(self.file, self.name)
        if hints:
            hinted, done = self.measure("ours", target, hints=True)
            row["hinted"] = dict(hinted, hints=hints)
            results.append(done)
        wanted = theirs if theirs is not None else self.reference
        known = [difference(done, wanted, self.unordered) for done in results if done is not None and wanted is not None]
        row["differs"] = min(round(max(known), 3), 1e9) if known else None
        return row
