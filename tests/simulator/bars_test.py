# tests/simulator/bars_test.py - how `make codegen-report` counts, on made-up rows: every rule, and README's block.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import json
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench" / "codegen"), str(ROOT / "scripts" / "checks")]
sys.dont_write_bytecode = True

import bars  # noqa: E402
import codegen  # noqa: E402
import rows as report_rows  # noqa: E402

failures = []


def expect(what, got, want):
    if got != want:
        failures.append(f"{what}: {got!r}, not {want!r}")


SIDE = dict(source_to_cubin_ms=125.0, start_ms=10.0, source_to_cubin_cpu_ms=110.0, start_cpu_ms=10.0, threads=128,
            registers=32, stack=0, spill=0, shared=0, blocks_per_sm=4,
            loop_non_tensor_per_tensor=4.0, loop_whole=5.0, async_stages=2, executed_warp_instructions=1000, executed_sass=1500,
            tensor_instructions=64, global_sectors=100, bank_conflicts=10, loop_bank_conflicts=0, shared_passes=100)


def row(name, ours=(), theirs=(), **more):
    """A row that meets every bar, but for what `ours` and `theirs` change."""
    good = dict(SIDE, source_to_cubin_ms=70.0, source_to_cubin_cpu_ms=60.0, executed_warp_instructions=900, executed_sass=1400)
    return dict(dict(source="kernels", instance=name, dtype="torch.float16", target="sm_80", num_warps=4, num_stages=3,
                     ours=dict(good, **dict(ours)), triton=dict(SIDE, **dict(theirs)), differs=0.0, reference=True), **more)


def missed(rows, target="sm_80"):
    """Bar -> the names of its rows, worst first."""
    return {bar.name: [r["instance"] for r, _ in bar.rows] for bar in bars.bars(rows, target) if not bar.holds}


def bar_of(rows, name):
    return next(bar for bar in bars.bars(rows, "sm_80") if bar.name == name)


def old(rows, name):
    """The figure by the rule before."""
    return bar_of(rows, name).old


def without(r, *figures):
    """The row of a report that did not have these figures yet."""
    for side in ("ours", "triton"):
        r[side] = {k: v for k, v in r[side].items() if k not in figures}
    return r


def whole_loops():
    """A round leaves out what most rounds jump over; the whole loop has its own bar, everywhere and in each source."""
    expect("whole loop", missed([row("a", dict(loop_whole=5.1))]), dict(loop_whole=["a"], loop_whole_kernels=["a"]))
    mixed = [row("a", dict(loop_whole=2.0)), row("b", dict(loop_whole=5.05), source="fla")]
    expect("one source does not make up for another", missed(mixed), dict(loop_whole_fla=["b"]))
    expect("its figure", round(bar_of(mixed, "loop_whole_fla").figure, 6), 1.01)
    expect("the other's", round(bar_of(mixed, "loop_whole_kernels").figure, 6), 0.4)
    one_side = [row("a", dict(loop_whole=None)), row("b"), row("c", dict(loop_whole=None), dict(loop_whole=None))]
    expect("only one side has a loop", bar_of(one_side, "loop_whole").figure, 1.0)
    expect("its row", bars.summary(one_side, "sm_80")[0]["loop_on_one_side"], ["a float16"])
    expect("four digits", bars.summary(mixed, "sm_80")[0]["loop_whole"], 0.6356)


def shared_passes():
    expect("at the bar", missed([row("a", dict(shared_passes=105))]), {})
    expect("over it", missed([row("a", dict(shared_passes=106))]), dict(shared_passes_kernels=["a"]))
    mixed = [row("a", dict(shared_passes=10)), row("b", dict(shared_passes=200), source="liger")]
    expect("one source does not make up for another", missed(mixed), dict(shared_passes_liger=["b"]))
    # None on one side has no ratio: what helps us is left out, what does not is counted.
    expect("none of Triton's", missed([row("a", dict(shared_passes=8), dict(shared_passes=0))]), dict(shared_only=["a"]))
    free = [row("a", dict(shared_passes=0)), row("b", dict(shared_passes=110))]
    expect("none of ours", missed(free), dict(shared_passes_kernels=["b"]))


def compile_times():
    """What a kernel of one line takes is taken off both."""
    def times(cpu, start, clock=100.0, start_clock=20.0):
        return dict(source_to_cubin_cpu_ms=cpu, start_cpu_ms=start, source_to_cubin_ms=clock, start_ms=start_clock)

    pair = [row("a", times(75.0, 15.0, 90.0), times(120.0, 20.0, 140.0))]
    expect("at the bar", missed(pair), {})
    expect("its figure", round(bar_of(pair, "compile_ratio").figure, 6), 0.6)
    expect("by the clock, taken off ours only, as before", round(old(pair, "compile_ratio"), 6), 0.5)
    pair[0]["triton"]["start_cpu_ms"] = 21.0
    expect("over it", missed(pair), dict(compile_ratio=["a"]))
    expect("off neither", round(bars.summary(pair, "sm_80")[0]["compile_ratio_with_start"], 6), 0.625)
    before = without(row("b", dict(compile_ms=90.0), dict(compile_ms=100.0)), *times(1, 1))
    expect("an older row", bar_of([before], "compile_ratio").figure, None)
    expect("its verdict", bars.summary([before], "sm_80")[1]["compile_ratio"], None)
    expect("an older row, as before", round(old([before], "compile_ratio"), 6), 0.9)
    expect("rows with the figure", bar_of(pair + [before], "compile_ratio").measured, (1, 2))
    busy = without(row("c"), "source_to_cubin_ms", "start_ms")
    expect("a busy machine keeps no times of the clock", (bar_of([busy], "compile_ratio").figure, old([busy], "compile_ratio")), (0.5, None))
    none = row("d", times(10.0, 12.0), times(12.0, 13.0))
    expect("noise does not make a time negative", bar_of([none], "compile_ratio").figure, 1.0)
    none["triton"]["source_to_cubin_cpu_ms"] = 23.0
    expect("nor tiny", round(bar_of([none], "compile_ratio").figure, 6), 0.1)


def threads():
    rows = [row("a", dict(threads=64)), row("b"), without(row("c"), "threads")]
    expect("fewer threads", (len(bars.fewer_threads(rows)), bars.measured(rows, "threads")), (1, (2, 3)))


def doubts():
    rows = [row("a", dict(executed_sass_tensor=64), dict(executed_sass_tensor=62)), row("b", dict(executed_sass_tensor=60)), row("c"),
            row("d", dict(executed_sass_tensor=64), dict(executed_sass_tensor=80))]
    expect("doubtful estimates", bars.summary(rows, "sm_80")[0]["sass_doubtful"], ["b float16", "d float16"])


def earlier_rows():
    """A report onto an earlier one: rows measured anew take the places of theirs, the others stay and say which commit measured them."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "report.json"
        file.write_text(json.dumps(dict(commit="old", left_out=["fla, norm: no", "kernels: no"], rows=[
            row("a", kernel="k"), row("a", kernel="k"), row("b", kernel="k"), row("c", kernel="k", commit="older", types=["float16"]),
            row("e", kernel="k", commit="new")])))
        earlier, left_out = report_rows.load(file, ["kernels"])
    expect("their commits", [r["commit"] for r in earlier], ["old", "old", "old", "older", "new"])
    expect("what was left out", left_out, ["fla, norm: no"])
    fresh = [row("a", kernel="k", types=["float16"], commit="new"), row("a", kernel="k", types=["float16", "int32"], commit="new"),
             row("d", kernel="k", types=[], commit="new"), row("b", kernel="k", types=[], commit="new", num_warps=8)]
    found = report_rows.merged(earlier, fresh)
    expect("rows", [(r["instance"], r["commit"], r["num_warps"]) for r in found],
           [("a", "new", 4), ("a", "new", 4), ("b", "old", 4), ("c", "older", 4), ("e", "new", 4), ("d", "new", 4), ("b", "new", 8)])
    expect("both of two alike", [r.get("types") for r in found[:2]], [["float16"], ["float16", "int32"]])
    expect("measured by this commit", report_rows.known(found, row("a", kernel="k", types=["float16", "int32"]), "new") is found[1], True)
    expect("by another", report_rows.known(found, row("c", kernel="k", types=["float16"]), "new"), None)
    expect("by this commit, before rows had types", report_rows.known(found, row("e", kernel="k", types=[]), "new"), None)
    failed = row("f", kernel="k", types=[], commit="new") | dict(ours=dict(error="no"))
    expect("failed", report_rows.known([failed], failed, "new"), None)
    expect("other types", report_rows.known(found, row("d", kernel="k", types=["float16"]), "new"), None)


def readme():
    rows = [row("a", dict(loop_whole=5.1, executed_warp_instructions=800)),
            row("dense_fwd D=192 EP=128", dict(spill=72), dict(spill=72), source="fla", commit="abc"),
            without(row("c", dict(compile_ms=1), dict(compile_ms=2)), "source_to_cubin_ms", "start_ms",
                    "source_to_cubin_cpu_ms", "start_cpu_ms", "executed_sass", "threads")]
    text = codegen.table(dict(rows=rows, triton="3", date="2026-01-01", commit="def"))
    for part in ("1 at abc, 2 at def", "| `kernels/`, 2 | fla, 1 | all | as counted before |",
                 "| others per tensor instruction of a loop, by iteration | 1 | 1.00x | 1.00x | 1.00x | the same |",
                 "| the same of the whole loop | 1, 1 each | **1.01x** | 1.00x | **1.01x** | no bar | `a fp16` 1.02x |",
                 "| executed SASS instructions, estimated | 0.95 | 0.93x (1 rows, PTX 0.80x) | 0.93x | 0.93x (2 rows, PTX 0.85x) | no bar |",
                 "| processor time of compiling, start-up taken off both | 0.6 | 0.50x (1 rows) | 0.50x | 0.50x (2 rows) | 0.49x |",
                 "| kernels that spill (heads of 128 in 4 warps: over 128 bytes) | 0 | 0 | 1 | 1 | 0 | `dense_fwd D=192 fp16` 72 bytes",
                 "in 0 of 2 kernels"):
        expect("README: " + part, part in text, True)
    expect("third digits", [codegen.shown(1.002, 1), codegen.shown(1.02, 1), codegen.shown(1.002, None)], ["**1.002x**", "**1.02x**", "1.00x"])
    # As many lines as fit; the others are sentences.
    bad = row("all", {figure: 999 for figure in ("spill", "tensor_instructions", "bank_conflicts", "global_sectors")} | dict(
        blocks_per_sm=1, async_stages=0, loop_non_tensor_per_tensor=40.0), differs=9.0)
    text = codegen.table(dict(rows=[bad, dict(row("b"), ours=dict(error="b: no"))], triton="3", date="2026-01-01", commit="def"))
    expect("lines of counts", sum(line.startswith("| kernels") for line in text.splitlines()), codegen.MOST - 1)
    expect("and the rest", "Also missed: 1 kernels that fail (`b fp16` no); 1 kernels whose results differ" in text, True)
    expect("all lines", len(text.splitlines()), 19)


def bars_of_rows():
    expect("good rows", missed([row("a"), row("matmul b")]), {})
    for figure, bar, value in [("spill", "worse_spill", 8), ("tensor_instructions", "worse_tensor_instructions", 65),
                               ("bank_conflicts", "worse_bank_conflicts", 11), ("global_sectors", "worse_global_sectors", 101),
                               ("blocks_per_sm", "worse_blocks_per_sm", 3)]:
        worse = row("worse", {figure: value})
        worst = row("worst", {figure: value * 3 if figure != "blocks_per_sm" else 1})
        expect(bar, missed([row("a"), worse, worst, row("b")]).get(bar), ["worst", "worse"])
        expect(bar + " apart", missed([row("a"), row("x", {figure: value}, dict(spill=257))]), {})
    # Where Triton spills so much that the row stands apart, ours may still not spill more.
    expect("spill of rows apart", missed([row("more", dict(spill=301), dict(spill=300)), row("as much", dict(spill=300), dict(spill=300))]),
           dict(worse_spill=["more"]))
    expect("as counted before", old([row("more", dict(spill=301), dict(spill=300))], "worse_spill"), 0)
    expect("spill limit", missed([row("dense_fwd D=128", dict(spill=128), dict(spill=128))]), {})
    expect("spill above", missed([row("dense_fwd D=128", dict(spill=132), dict(spill=200))]), dict(spill=["dense_fwd D=128"]))
    expect("spill of 8 warps", missed([row("dense_fwd D=128", dict(spill=8), dict(spill=8), num_warps=8)]), dict(spill=["dense_fwd D=128"]))
    # The allowance is for the head's size alone: not for a tile, a padded size or the values' size of 128.
    for name in ("dense_fwd BM=64 BN=64 D=192 DP=256 E=128 EP=128", "dense_fwd BLOCK=128 D=64", "matmul BK=128 D=64", "fwd BV=128 D=64",
                 "dense_fwd D=96 DP=128"):
        expect(name, missed([row(name, dict(spill=72), dict(spill=72))]), dict(spill=[name]))
    expect("no tensor instructions", missed([row("norm D=128", dict(spill=72, tensor_instructions=0), dict(spill=72, tensor_instructions=0))]),
           dict(spill=["norm D=128"]))
    expect("as counted before", old([row("dense_fwd D=192 DP=256 E=128 EP=128", dict(spill=72), dict(spill=72))], "spill"), 0)
    # Means: sqrt(0.5 * 2) is 1; one row is above 1.15.
    pair = [row("half", dict(loop_non_tensor_per_tensor=2.0)), row("double", dict(loop_non_tensor_per_tensor=8.0))]
    expect("geometric mean", missed(pair), dict(loop_above_1_15=["double"]))
    # Half of the tensor instructions, as many others in all: a reason; a third more of them in all: none.
    fewer = [row("half", dict(loop_non_tensor_per_tensor=2.0)),
             row("same work", dict(loop_non_tensor_per_tensor=8.0, tensor_instructions=32)),
             row("more work", dict(loop_non_tensor_per_tensor=8.0, tensor_instructions=42))]
    expect("with a reason", missed(fewer).get("loop_above_1_15"), ["more work"])
    skipped = row("skipped", dict(tensor_instructions=0), dict(tensor_instructions=0))
    expect("a loop that did not run", missed([skipped]), {})
    expect("its text", bars.text([skipped], "sm_80").count("MISSED"), 0)
    expect("executed PTX", missed([row("a", dict(executed_warp_instructions=960))]), dict(executed_ratio=["a"]))
    expect("executed SASS", missed([row("a", dict(executed_sass=1430))]), dict(executed_sass_ratio=["a"]))
    expect("dense conflicts", missed([row("matmul", dict(loop_bank_conflicts=1)), row("gate", dict(loop_bank_conflicts=1))]),
           dict(dense_loop_conflicts=["matmul"]))
    expect("cp.async", missed([row("a", dict(async_stages=0)), row("b", dict(async_stages=0), dict(async_stages=0)),
                               row("select_fwd", dict(async_stages=0), dict(async_stages=0)),
                               row("c", dict(async_stages=0), num_stages=1)]), dict(async_copies=["a", "select_fwd"]))
    expect("results", missed([row("a", differs=1.5), row("b", differs=None)]), dict(results=["a"]))
    error = dict(error="a.py:1:2: error: no")
    broken = dict(row("a"), ours=error)
    expect("failed", missed([broken, row("b")]), dict(all_compile=["a"]))
    named = dict(row("a D=1"), ours=dict(error="a: out-of-bounds: reads 16 bytes\n  at a.py:1:2"))
    expect("why", bar_of([named], "all_compile").rows[0][1], "out-of-bounds: reads 16 bytes")
    expect("failed for both, not ours", missed([dict(row("a", source="fla", reference=False), ours=error, triton=error), row("b")]), {})
    expect("failed for both, ours", missed([dict(broken, triton=error, reference=False), row("b")]), dict(all_compile=["a"]))
    expect("sm_90 is the same code", missed([row("a", dict(tensor_instructions=99), target="sm_90")], "sm_90"), {})
    expect("sm_90 spills", missed([row("a", dict(spill=4), target="sm_90")], "sm_90"), dict(spill=["a"]))
    summary, holds = bars.summary([row("a"), row("b", dict(spill=4))], "sm_80")
    expect("summary", (summary["rows"], summary["worse_spill"], holds["worse_spill"], holds["results"]), (2, ["b float16"], False, True))
    expect("text", "MISSED      1 (at most 0)  kernels that spill more" in bars.text([row("b", dict(spill=4))], "sm_80"), True)


whole_loops()
shared_passes()
compile_times()
threads()
doubts()
earlier_rows()
readme()
bars_of_rows()
for line in failures:
    print("FAILED", line)
print("failures:", len(failures))
sys.exit(1 if failures else 0)
