# bench/codegen/flash_attention.py - main loops of attention: ours and Triton's compared with FlashAttention 2 in torch's library.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""A row is a pass and a head size in bf16 on sm_80. Its records are the main loops of FlashAttention 2, and of the kernels of kernels/ in the
configuration that the decorator names first, compiled by both compilers through one ptxas. bench/codegen/sass.py counts all of them."""
import contextlib
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest.mock
from typing import NamedTuple

from codegen import sass, torch_library
from codegen.torch_library import LeftOut
from harness import ROOT, commit
from harness.context import simulator_path

HEADS = (64, 128)
ROWS = {"flash_attention, %s, %d" % (way, head): (way, head) for head in HEADS for way in ("forward", "backward")}
# Products of tiles, each 2 * head * rows * keys operations: q k^T and p v; in the backward pass also do v^T, ds k, ds^T q, p^T do.
PRODUCTS = {"flash_fwd": 2, "flash_bwd": 5, "dense_fwd": 2, "window_fwd": 2, "dense_bwd_dq": 3, "dense_bwd_dkdv": 4}
OURS = {"forward": ("dense_fwd", "window_fwd"), "backward": ("dense_bwd_dq", "dense_bwd_dkdv")}
# (rows, keys, warps) of the tiles that FlashAttention 2 launches on sm_80 without dropout.
TILES = {("forward", 64): (128, 128, 4), ("forward", 128): (128, 64, 4), ("backward", 64): (128, 128, 8), ("backward", 128): (64, 128, 8)}
NAME = re.compile(r"(flash_fwd_kernel|flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel)I\d+Flash_[fb]wd_kernel_traitsI"
                  r"Li(\d+)ELi(\d+)ELi(\d+)ELi(\d+)E.*bfloat16_t.*?EE((?:Lb[01]E)+)EEv")
MULTIPLIES = {"HMMA.16816": 16 * 8 * 16, "HMMA.1688": 16 * 8 * 8}
LISTED = ("dense_fwd", 128, "tessera")  # the loop that docs/codegen-report.md lists by line
PAIRS = 64 * 128  # (query, key) pairs for which instructions are given


class Template(NamedTuple):
    """The template arguments in a mangled name. The flags are: dropout, causal, window, ALiBi, rows and keys fill all tiles, the head fills
    its tile, soft cap; forward also: store the softmax."""
    way: str
    head: int
    rows: int
    keys: int
    warps: int
    flags: tuple


def template_of(name):
    """The Template of a kernel's mangled name; None for other kernels."""
    found = NAME.search(name)
    if not found:
        return None
    way = "forward" if "fwd" in found.group(1) else "backward"
    return Template(way, *map(int, found.groups()[1:5]), tuple(flag == "1" for flag in re.findall(r"Lb([01])E", found.group(6))))


def wanted(way, head, causal):
    return Template(way, head, *TILES[way, head], (False, causal, False, False, True, True, False) + (False,) * (way == "forward"))


def kernel_of(names, template):
    """The name with these template arguments. Raises LeftOut if no name has them."""
    for name in names:
        if template_of(name) == template:
            return name
    raise LeftOut("torch's library has no %s kernel of FlashAttention 2 with head %d, tiles of %d x %d and %d warps%s; of its %d kernels: %s" % (
        template.way, template.head, template.rows, template.keys, template.warps, ", causal" if template.flags[1] else "", len(names),
        "; ".join(sorted({"%d x %d, %d warps" % t[2:5] for t in map(template_of, names) if t})) or "none of attention"))


def multiplies(opcodes):
    """Multiply-adds of the tensor instructions."""
    tensor = [opcode for opcode in opcodes if sass.class_of(opcode) == "tensor"]
    unknown = {opcode for opcode in tensor if ".".join(opcode.split(".")[:2]) not in MULTIPLIES}
    if unknown:
        raise ValueError("the size of %s is unknown: add it to MULTIPLIES of bench/codegen/flash_attention.py" % ", ".join(sorted(unknown)))
    return sum(MULTIPLIES[".".join(opcode.split(".")[:2])] for opcode in tensor)


def exponent_range(opcodes):
    """Instructions that bring arguments of MUFU.EX2 into its range and back (exp2f without -use_fast_math): a comparison, FSETP.GEU, and
    two multiplications for each."""
    count = lambda start: sum(opcode.startswith(start) for opcode in opcodes)
    return 3 * min(count("FSETP.GEU"), count("MUFU.EX2"))


def figures(loops, products, head, rows, keys, warps):
    """The figures of the main loop, whose iteration covers a tile of rows x keys. Raises ValueError if the tensor instructions are not those of
    one tile."""
    loop = sass.main_loop(loops)
    if not loop:
        raise ValueError("the kernel has no loop with tensor instructions")
    counts, complete = sass.counts_of(loop["iteration"]), sass.counts_of(loop["complete"])
    tensor, times = counts["tensor"], multiplies(loop["iteration"]) * warps / (products * head * rows * keys)
    if times != 1:
        raise ValueError("an iteration multiplies %g times what a tile of %d x %d takes: the loop is unrolled, or warps repeat products; "
                         "find out with the simulator, and count them in bench/codegen/flash_attention.py" % (times, rows, keys))
    each = warps * PAIRS / (rows * keys)
    return dict(rows=rows, keys=keys, warps=warps, loops=len(loops), other_per_tensor=round((counts["total"] - tensor) / tensor, 4),
                complete_per_tensor=round((complete["total"] - complete["tensor"]) / complete["tensor"], 4),
                ldsm_per_tensor=round(counts.get("ldsm", 0) / tensor, 4), warp_instructions=round(each * counts["total"], 2),
                tensor_instructions=round(each * tensor, 2), exponent_range=exponent_range(loop["iteration"]), iteration=counts)


def of_flash_attention(way, head, causal):
    """A record of FlashAttention 2; with `left_out` if the installed torch does not have the kernel."""
    short = "flash_fwd" if way == "forward" else "flash_bwd"
    record = dict(kernel=short, compiler="nvcc", mask="causal" if causal else "none")
    try:
        text = torch_library.disassembly("%s_hdim%d_bf16%s_sm80" % (short, head, "_causal" if causal else ""))
        template = wanted(way, head, causal)
        loops = sass.tensor_loops(text, kernel_of(sass.kernels_of(text), template))
        return dict(record, **figures(loops, PRODUCTS[short], *template[1:5]))
    except LeftOut as why:
        return dict(record, left_out=str(why))


def launches(head):
    """Kernel -> (path below kernels/, Triton's function, arguments, constants, options) for heads of this size; nothing is run."""
    simulator_path()
    from codegen import kernel_files
    return {name: launch for name, launch in kernel_files.attention_launches(head).items() if name in PRODUCTS}


def count_report(ptx, shared, threads, min_blocks):
    """(loops, the report of `tessera report`) of PTX. sass.py counts the loops of the same SASS. Raises RuntimeError if the two differ."""
    with tempfile.TemporaryDirectory(prefix="tessera-loops-") as folder:
        source, listing = pathlib.Path(folder, "kernel.ptx"), pathlib.Path(folder, "kernel.sass")
        source.write_text(ptx)
        done = subprocess.run([os.environ["PROGRAM"], "report", str(source), "--json", "--sass", str(listing), "--shared", str(shared), "--threads",
                               str(threads), "--target", "sm_80", "--min-blocks", str(min_blocks)], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr.strip())
        report, loops = json.loads(done.stdout), sass.tensor_loops(listing.read_text())
    require_same(report["sass"]["loops"], loops)
    return loops, report


def require_same(reported, loops):
    """Raises RuntimeError if `tessera report` counts other iterations than sass.py."""
    theirs = [loop["iteration"] for loop in reported if loop["innermost"] and loop["iteration"].get("mma")]
    theirs = sorted((one["total"], one["mma"], one.get("ldmatrix", 0), one.get("mov", 0), one.get("bar", 0)) for one in theirs)
    ours = [sass.counts_of(loop["iteration"]) for loop in loops]
    ours = sorted((one["total"], one["tensor"], one.get("ldsm", 0), one.get("move", 0), one.get("barrier", 0)) for one in ours)
    if ours != theirs:
        raise RuntimeError("`tessera report` and bench/codegen/sass.py count different loops, as (all, tensor, ldmatrix, mov, barrier): %s and %s: "
                           "make sass.py follow ptx/Loops.cpp" % (theirs, ours))


def lines_of(loops):
    """The lines of kernels/ from which the instructions of the main loop come: a list of dicts with file, line, text and counts of opcodes."""
    files = {}
    for path in sorted((ROOT / "kernels").rglob("*.py")):
        files.setdefault(path.name, []).append(path)
    found = []
    for (name, line), opcodes in sass.by_line(sass.main_loop(loops)).items():
        known = files.get(name, [])
        text = known[0].read_text().splitlines()[line - 1].strip() if len(known) == 1 else ""
        found.append(dict(file=known[0].relative_to(ROOT).as_posix() if text else name, line=line, text=text, opcodes=opcodes))
    return found


def of_ours(name, head, launch, compiler):
    """A record of one of our kernels. Triton's failures are left out with their reason."""
    import simulator
    path, fn, arguments, constants, options = launch
    mask = "window" if name.startswith("window") else "causal"
    record = dict(kernel=name, compiler=compiler, mask=mask, num_stages=options["num_stages"], group=constants["G"])
    signature, known, attributes, _ = simulator.specialize(fn, arguments, constants)
    try:
        if compiler == "triton":
            done = simulator.Compiled(simulator.ASTSource(fn, signature, known, attributes), dict(options, enable_fp_fusion=True))
        else:
            done = simulator.OwnCompiled(ROOT / "kernels" / path, name, signature, known, attributes, dict(options, hints=True, occupancy=True))
    except Exception as error:  # Triton's failures have many types
        if compiler == "tessera":
            raise
        return dict(record, left_out="%s: %s" % (type(error).__name__, str(error)[:300]))
    threads = getattr(done, "threads", 32 * options["num_warps"])
    loops, report = count_report(done.ptx, done.shared, threads, getattr(done, "min_blocks", 0))
    if (name, head, compiler) == LISTED:
        record["lines"] = lines_of(loops)
    return dict(record, ptxas=report["ptxas"], registers=report["registers"], spill=report["spill_stores"] + report["spill_loads"],
                blocks_per_sm=report["blocks_per_sm"],
                **figures(loops, PRODUCTS[name], head, constants["BM"], constants["BN"], threads // 32))


def records(way, head):
    """The records of a row, as they are measured."""
    about = dict(source="flash_attention", way=way, head=head, dtype="torch.bfloat16", target="sm_80",
                 commit=commit("codegen", "compiler", "dialect", "kernels", "bench/codegen"))
    for causal in (False, True):
        yield dict(about, **of_flash_attention(way, head, causal))
    found = launches(head)
    with tempfile.TemporaryDirectory(prefix="tessera-codegen-") as empty, contextlib.ExitStack() as stack:
        stack.enter_context(unittest.mock.patch.dict(os.environ, TESSERA_CACHE_DIR=empty))
        for name in OURS[way]:
            for compiler in ("tessera", "triton"):
                yield dict(about, **of_ours(name, head, found[name], compiler))


def line(record):
    """A record as a line of text."""
    mask = "no mask" if record["mask"] == "none" else "%(mask)s mask" % record
    name = "%s, head %d, %s, %s" % (record["kernel"], record["head"], mask, record["compiler"])
    if "left_out" in record:
        return "%s: left out: %s" % (name, record["left_out"])
    return "%s: %.2f others and %.2f LDSM for each tensor instruction; %.0f warp instructions for 64 x 128 pairs, %.0f of them tensor" % (
        name, record["other_per_tensor"], record["ldsm_per_tensor"], record["warp_instructions"], record["tensor_instructions"])
