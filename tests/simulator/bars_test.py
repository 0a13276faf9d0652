# tests/simulator/bars_test.py - how `make codegen-report` counts, on made-up rows: every rule, and the block of docs/results.md.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
from codegen import bars
from repository import load

codegen = load("scripts/checks/codegen.py")


SIDE = dict(source_to_cubin_ms=125.0, start_ms=10.0, source_to_cubin_cpu_ms=110.0, start_cpu_ms=10.0, threads=128,
            registers=32, stack=0, spill=0, shared=0, blocks_per_sm=4,
            loop_non_tensor_per_tensor=4.0, loop_whole=5.0, async_stages=2, executed_warp_instructions=1000, executed_sass=1500,
            tensor_instructions=64, global_sectors=100, bank_conflicts=10, loop_bank_conflicts=0, shared_passes=100)


def row(name, ours=(), theirs=(), **more):
    """A row that meets every limit, except for what `ours` and `theirs` change."""
    good = dict(SIDE, source_to_cubin_ms=70.0, source_to_cubin_cpu_ms=60.0, executed_warp_instructions=900, executed_sass=1400)
    return dict(dict(source="kernels", instance=name, dtype="torch.float16", target="sm_80", num_warps=4, num_stages=3,
                     ours=dict(good, **dict(ours)), triton=dict(SIDE, **dict(theirs)), differs=0.0, reference=True), **more)


def missed(rows, target="sm_80"):
    """{limit: the names of the rows that exceed it, worst first}"""
    return {bar.name: [r["instance"] for r, _ in bar.rows] for bar in bars.bars(rows, target) if not bar.holds}


def bar_of(rows, name):
    return next(bar for bar in bars.bars(rows, "sm_80") if bar.name == name)


def without(r, *figures):
    """The row of a report that did not have these figures yet."""
    for side in ("ours", "triton"):
        r[side] = {k: v for k, v in r[side].items() if k not in figures}
    return r


def test_complete_loops():
    """A round leaves out what most rounds jump over; the complete loop has a separate limit, for all rows and for each source."""
    assert missed([row("a", dict(loop_whole=5.1))]) == dict(loop_whole=["a"], loop_whole_kernels=["a"]), "complete loop"
    mixed = [row("a", dict(loop_whole=2.0)), row("b", dict(loop_whole=5.05), source="fla")]
    assert missed(mixed) == dict(loop_whole_fla=["b"]), "one source does not make up for another"
    assert round(bar_of(mixed, "loop_whole_fla").figure, 6) == 1.01, "its figure"
    assert round(bar_of(mixed, "loop_whole_kernels").figure, 6) == 0.4, "the other's"
    one_side = [row("a", dict(loop_whole=None)), row("b"), row("c", dict(loop_whole=None), dict(loop_whole=None))]
    assert bar_of(one_side, "loop_whole").figure == 1.0, "only one side has a loop"
    assert bars.summary(one_side, "sm_80")[0]["loop_on_one_side"] == ["a float16"], "its row"
    assert bars.summary(mixed, "sm_80")[0]["loop_whole"] == 0.6356, "four digits"


def test_shared_passes():
    assert missed([row("a", dict(shared_passes=105))]) == {}, "at the limit"
    assert missed([row("a", dict(shared_passes=106))]) == dict(shared_passes_kernels=["a"]), "over it"
    mixed = [row("a", dict(shared_passes=10)), row("b", dict(shared_passes=200), source="liger")]
    assert missed(mixed) == dict(shared_passes_liger=["b"]), "one source does not make up for another"
    # None on one side has no ratio: what helps us is left out, what does not is counted.
    assert missed([row("a", dict(shared_passes=8), dict(shared_passes=0))]) == dict(shared_only=["a"]), "none of Triton's"
    free = [row("a", dict(shared_passes=0)), row("b", dict(shared_passes=110))]
    assert missed(free) == dict(shared_passes_kernels=["b"]), "none of ours"


def test_compile_times():
    """What a kernel of one line takes is taken off both."""
    def times(cpu, start, clock=100.0, start_clock=20.0):
        return dict(source_to_cubin_cpu_ms=cpu, start_cpu_ms=start, source_to_cubin_ms=clock, start_ms=start_clock)

    pair = [row("a", times(75.0, 15.0, 90.0), times(120.0, 20.0, 140.0))]
    assert missed(pair) == {}, "at the limit"
    assert round(bar_of(pair, "compile_ratio").figure, 6) == 0.6, "its figure"
    pair[0]["triton"]["start_cpu_ms"] = 21.0
    assert missed(pair) == dict(compile_ratio=["a"]), "over it"
    assert round(bars.summary(pair, "sm_80")[0]["compile_ratio_with_start"], 6) == 0.625, "off neither"
    before = without(row("b", dict(compile_ms=90.0), dict(compile_ms=100.0)), *times(1, 1))
    assert bar_of([before], "compile_ratio").figure is None, "an older row"
    assert bars.summary([before], "sm_80")[1]["compile_ratio"] is None, "its verdict"
    assert bar_of(pair + [before], "compile_ratio").measured == (1, 2), "rows with the figure"
    busy = without(row("c"), "source_to_cubin_ms", "start_ms")
    assert bar_of([busy], "compile_ratio").figure == 0.5, "a busy machine keeps no times of the clock"
    none = row("d", times(10.0, 12.0), times(12.0, 13.0))
    assert bar_of([none], "compile_ratio").figure == 1.0, "noise does not make a time negative"
    none["triton"]["source_to_cubin_cpu_ms"] = 23.0
    assert round(bar_of([none], "compile_ratio").figure, 6) == 0.1, "nor tiny"


def test_threads():
    rows = [row("a", dict(threads=64)), row("b"), without(row("c"), "threads")]
    assert (len(bars.fewer_threads(rows)), bars.measured(rows, "threads")) == (1, (2, 3)), "fewer threads"


def test_doubts():
    rows = [row("a", dict(executed_sass_tensor=64), dict(executed_sass_tensor=62)), row("b", dict(executed_sass_tensor=60)), row("c"),
            row("d", dict(executed_sass_tensor=64), dict(executed_sass_tensor=80))]
    assert bars.summary(rows, "sm_80")[0]["sass_doubtful"] == ["b float16", "d float16"], "doubtful estimates"


def test_the_block_of_results():
    rows = [row("a", dict(loop_whole=5.1, executed_warp_instructions=800)),
            row("dense_fwd D=192 EP=128", dict(spill=72), dict(spill=72), source="fla", commit="abc"),
            without(row("c", dict(compile_ms=1), dict(compile_ms=2)), "source_to_cubin_ms", "start_ms",
                    "source_to_cubin_cpu_ms", "start_cpu_ms", "executed_sass", "threads")]
    text = codegen.table(dict(rows=rows, triton="3", date="2026-01-01", commit="def"))
    for part in ("1 at abc, 2 at def", "| `kernels/`, 2 | fla, 1 | all | largest differences |",
                 "| others per tensor instruction of a loop, by iteration | 1 | 1.00x | 1.00x | 1.00x |  |",
                 "| the same, summed over the loop | 1, 1 each | **1.01x** | 1.00x | **1.01x** | `a fp16` 1.02x |",
                 "| executed SASS instructions, estimated | 0.95 | 0.93x (1 rows, PTX 0.80x) | 0.93x | 0.93x (2 rows, PTX 0.85x) |  |",
                 "| processor time of compiling, without start-up of either compiler | 0.6 | 0.50x (1 rows) | 0.50x | 0.50x (2 rows) |  |",
                 "| kernels that spill (heads of 128 in 4 warps: over 128 bytes) | 0 | 0 | 1 | 1 | `dense_fwd D=192 fp16` 72 bytes",
                 "in 0 of 2 kernels"):
        assert part in text, "docs/results.md: " + part
    assert [codegen.shown(1.002, 1), codegen.shown(1.02, 1), codegen.shown(1.002, None)] == ["**1.002x**", "**1.02x**", "1.00x"], "third digits"
    # As many lines as fit; the others are sentences.
    bad = row("all", {figure: 999 for figure in ("spill", "tensor_instructions", "bank_conflicts", "global_sectors")} | dict(
        blocks_per_sm=1, async_stages=0, loop_non_tensor_per_tensor=40.0), differs=9.0)
    text = codegen.table(dict(rows=[bad, dict(row("b"), ours=dict(error="b: no"))], triton="3", date="2026-01-01", commit="def"))
    assert sum(line.startswith("| kernels") for line in text.splitlines()) == codegen.MOST - 1, "lines of counts"
    assert "Other limits that are not met: 1 kernels that fail (`b fp16` no); 1 kernels whose results differ" in text, "and the rest"
    assert len(text.splitlines()) == 19, "all lines"


def test_bars_of_rows():
    assert missed([row("a"), row("matmul b")]) == {}, "good rows"
    for figure, bar, value in [("spill", "worse_spill", 8), ("tensor_instructions", "worse_tensor_instructions", 65),
                               ("bank_conflicts", "worse_bank_conflicts", 11), ("global_sectors", "worse_global_sectors", 101),
                               ("blocks_per_sm", "worse_blocks_per_sm", 3)]:
        worse = row("worse", {figure: value})
        worst = row("worst", {figure: value * 3 if figure != "blocks_per_sm" else 1})
        assert missed([row("a"), worse, worst, row("b")]).get(bar) == ["worst", "worse"], bar
        assert missed([row("a"), row("x", {figure: value}, dict(spill=257))]) == {}, bar + " apart"
    # Where Triton spills so much that the row is judged separately, ours may still not spill more.
    assert missed([row("more", dict(spill=301), dict(spill=300)), row("as much", dict(spill=300), dict(spill=300))]) == (
            dict(worse_spill=["more"])), "spill of rows apart"
    assert missed([row("dense_fwd D=128", dict(spill=128), dict(spill=128))]) == {}, "spill limit"
    assert missed([row("dense_fwd D=128", dict(spill=132), dict(spill=200))]) == dict(spill=["dense_fwd D=128"]), "spill above"
    assert missed([row("dense_fwd D=128", dict(spill=8), dict(spill=8), num_warps=8)]) == dict(spill=["dense_fwd D=128"]), "spill of 8 warps"
    # The allowance is for the head's size alone: not for a tile, a padded size or the values' size of 128.
    for name in ("dense_fwd BM=64 BN=64 D=192 DP=256 E=128 EP=128", "dense_fwd BLOCK=128 D=64", "matmul BK=128 D=64", "fwd BV=128 D=64",
                 "dense_fwd D=96 DP=128"):
        assert missed([row(name, dict(spill=72), dict(spill=72))]) == dict(spill=[name]), name
    assert missed([row("norm D=128", dict(spill=72, tensor_instructions=0), dict(spill=72, tensor_instructions=0))]) == (
            dict(spill=["norm D=128"])), "no tensor instructions"
    # Means: sqrt(0.5 * 2) is 1; one row is above 1.15.
    pair = [row("half", dict(loop_non_tensor_per_tensor=2.0)), row("double", dict(loop_non_tensor_per_tensor=8.0))]
    assert missed(pair) == dict(loop_above_1_15=["double"]), "geometric mean"
    # Half of the tensor instructions, as many others in all: a reason; a third more of them in all: none.
    fewer = [row("half", dict(loop_non_tensor_per_tensor=2.0)),
             row("same work", dict(loop_non_tensor_per_tensor=8.0, tensor_instructions=32)),
             row("more work", dict(loop_non_tensor_per_tensor=8.0, tensor_instructions=42))]
    assert missed(fewer).get("loop_above_1_15") == ["more work"], "with a reason"
    skipped = row("skipped", dict(tensor_instructions=0), dict(tensor_instructions=0))
    assert missed([skipped]) == {}, "a loop that did not run"
    assert bars.text([skipped], "sm_80").count("MISSED") == 0, "its text"
    assert missed([row("a", dict(executed_warp_instructions=960))]) == dict(executed_ratio=["a"]), "executed PTX"
    assert missed([row("a", dict(executed_sass=1430))]) == dict(executed_sass_ratio=["a"]), "executed SASS"
    assert missed([row("matmul", dict(loop_bank_conflicts=1)), row("gate", dict(loop_bank_conflicts=1))]) == (
            dict(dense_loop_conflicts=["matmul"])), "dense conflicts"
    assert missed([row("a", dict(async_stages=0)), row("b", dict(async_stages=0), dict(async_stages=0)),
                               row("select_fwd", dict(async_stages=0), dict(async_stages=0)),
                               row("c", dict(async_stages=0), num_stages=1)]) == dict(async_copies=["a", "select_fwd"]), "cp.async"
    assert missed([row("a", differs=1.5), row("b", differs=None)]) == dict(results=["a"]), "results"
    error = dict(error="a.py:1:2: error: no")
    broken = dict(row("a"), ours=error)
    assert missed([broken, row("b")]) == dict(all_compile=["a"]), "failed"
    named = dict(row("a D=1"), ours=dict(error="a: out-of-bounds: reads 16 bytes\n  at a.py:1:2"))
    assert bar_of([named], "all_compile").rows[0][1] == "out-of-bounds: reads 16 bytes", "why"
    assert missed([dict(row("a", source="fla", reference=False), ours=error, triton=error), row("b")]) == {}, "failed for both, not ours"
    assert missed([dict(broken, triton=error, reference=False), row("b")]) == dict(all_compile=["a"]), "failed for both, ours"
    assert missed([row("a", dict(tensor_instructions=99), target="sm_90")], "sm_90") == {}, "sm_90 is the same code"
    assert missed([row("a", dict(spill=4), target="sm_90")], "sm_90") == dict(spill=["a"]), "sm_90 spills"
    summary, holds = bars.summary([row("a"), row("b", dict(spill=4))], "sm_80")
    assert (summary["rows"], summary["worse_spill"], holds["worse_spill"], holds["results"]) == (2, ["b float16"], False, True), "summary"
    assert "MISSED      1 (at most 0)  kernels that spill more" in bars.text([row("b", dict(spill=4))], "sm_80"), "text"
