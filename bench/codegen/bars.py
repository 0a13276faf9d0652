# bench/codegen/bars.py - the limits of the codegen report, and which rows exceed them by how much.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Works on the rows of a report's JSON; needs neither torch nor Triton."""
import math
import re

PEER_SPILLS = 256  # bytes of Triton's from which on a row is listed apart: no mean has it
DENSE = re.compile(r"matmul|dense_|flash_attention|attn_fwd|attention\b")  # kernels whose main loop may have no bank conflict

WHERE = dict(kernels="`kernels/`", tutorials="tutorials in usual configurations", fla="flash-linear-attention", liger="Liger-Kernel")
BEHIND_INDEX = re.compile(r"^(?:select_fwd|select_bwd_dq|parallel_nsa_fwd|parallel_nsa_bwd_kernel_dq)")


def label(row):
    """The kernel, the constants that are not sizes of the problem, the type."""
    parts = [row["instance"]]
    if row["dtype"]:
        parts.append(row["dtype"].replace("torch.", ""))
    return " ".join(parts)


def short(row, width=58):
    text = label(row)
    return text if len(text) <= width else text[:width - 2 - len(text.split()[-1])] + ".. " + text.split()[-1]


def tiny(row):
    """The kernel, the size of a head or a tile, the type."""
    sizes = [re.search(rf"\b{name}=\d+", row["instance"]) for name in ("D", "K", "BLOCK", "BLOCK_SIZE", "BM", "BT")]
    size = next(filter(None, sizes), None)
    kind = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16"}
    dtype = row["dtype"].replace("torch.", "")
    return " ".join([row["instance"].split()[0]] + ([size.group()] if size else []) + [kind.get(dtype, dtype)]).strip()


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def failed(row, side):
    return "error" in row[side]


def apart(row):
    return not failed(row, "triton") and row["triton"]["spill"] > PEER_SPILLS


def comparable(rows):
    return [r for r in rows if not failed(r, "ours") and not failed(r, "triton") and not apart(r)]


def compile_ms(row, side):
    """Processor time from source to cubin less what a kernel of one line takes there; None for a row that lacks one of the times."""
    if "start_cpu_ms" not in row[side]:
        return None
    return max(row[side]["source_to_cubin_cpu_ms"] - row[side]["start_cpu_ms"], 1.0)


DERIVED = dict(compile=compile_ms)


def value(row, side, what):
    """A figure of the row, or one made of its figures; None where the row has it not."""
    return DERIVED[what](row, side) if what in DERIVED else row[side].get(what)


def ratio(row, what):
    return value(row, "ours", what) / value(row, "triton", what)


def both(rows, what):
    """Rows with a ratio: neither side is without the figure, or zero."""
    return [r for r in comparable(rows) if value(r, "ours", what) and value(r, "triton", what)]


def mean_ratio(rows, what):
    return geometric_mean([ratio(r, what) for r in both(rows, what)])


def measured(rows, what):
    """(rows with the figure on both sides, rows compared): older rows lack the newer figures."""
    compared = comparable(rows)
    return sum(all(what in DERIVED and value(r, side, what) is not None or what in r[side] for side in ("ours", "triton"))
               for r in compared), len(compared)


def fewer_threads(rows):
    return [r for r in both(rows, "threads") if ratio(r, "threads") < 1]


def doubtful(rows):
    """Rows in which the estimate of executed SASS is off by more than a twentieth in tensor instructions, which are counted exactly, too."""
    def off(figures):
        exact, estimate = figures["tensor_instructions"], figures.get("executed_sass_tensor")
        return estimate is not None and abs(estimate - exact) > 0.05 * exact
    return [r for r in comparable(rows) if off(r["ours"]) or off(r["triton"])]


class Bar:
    """A line of the summary: `figure` is a mean or a number of rows; `rows` miss it, worst first, as (row, text). measured:
    (rows with the figure, rows that should have it)."""

    def __init__(self, name, text, limit, figure, rows=(), measured=None):
        self.name, self.text, self.limit, self.figure, self.rows = name, text, limit, figure, list(rows)
        self.measured = measured

    @property
    def holds(self):
        return self.figure is None or self.figure <= self.limit


def _worse(compared, what, least=False):
    """Rows whose figure is above Triton's (below with `least`), worst first."""
    number = lambda r, side: r[side][what] or 0
    missed = [r for r in compared if (number(r, "ours") < number(r, "triton") if least else number(r, "ours") > number(r, "triton"))]
    factor = lambda r: (number(r, "triton") + 1) / (number(r, "ours") + 1) if least else (number(r, "ours") + 1) / (number(r, "triton") + 1)
    return [(r, f"{number(r, 'ours')}, Triton {number(r, 'triton')}") for r in sorted(missed, key=factor, reverse=True)]


def _mean_bar(rows, name, text, what, limit):
    compared = both(rows, what)
    over = [r for r in compared if ratio(r, what) > limit]
    listed = [(r, f"{ratio(r, what):.2f}x: {value(r, 'ours', what):g}, Triton {value(r, 'triton', what):g}")
              for r in sorted(over, key=lambda r: ratio(r, what), reverse=True)]
    return Bar(name, text, limit, geometric_mean([ratio(r, what) for r in compared]), listed,
               measured(rows, what))


def _source_bars(rows):
    """Limits of each source by itself, so that a gain in one source does not hide a loss in another."""
    found = []
    for source in WHERE:
        own = [r for r in rows if r["source"] == source]
        if own:
            found += [_mean_bar(own, f"loop_whole_{source}", f"other instructions per tensor instruction of whole loops, {WHERE[source]}",
                                "loop_whole", 1.0),
                      _mean_bar(own, f"shared_passes_{source}", f"passes over shared memory, {WHERE[source]}", "shared_passes", 1.05)]
    return found


def same_work(row):
    """Other instructions of a loop for the work of one of Triton's tensor instructions, ours / Triton's: ours takes fewer tensor
    instructions for some products (operands the other way round), and a ratio to its own would count that against it."""
    return ratio(row, "loop_non_tensor_per_tensor") * tensor_share(row)


def tensor_share(row):
    """Tensor instructions that ran, ours / Triton's; 1 where a launch skipped the loop."""
    return ratio(row, "tensor_instructions") if row["ours"]["tensor_instructions"] and row["triton"]["tensor_instructions"] else 1.0


def reason(row):
    """Why a loop may have more other instructions per tensor instruction; empty: no reason."""
    share = tensor_share(row)
    if share < 1 and same_work(row) <= 1.15:
        return f"{share:.2f}x as many tensor instructions; {same_work(row):.2f}x as many others for the same work"
    return ""


def _count_bar(name, text, listed, known=True):
    """known: the rows have the figure at all; older ones have not."""
    return Bar(name, text, 0, len(listed) if known else None, listed)


def spill_limit(row):
    """Bytes that a default may spill: attention with heads of 128 in 4 warps keeps more than the registers there are. The head's
    size is D."""
    wide = re.search(r"\bD=128\b", row["instance"]) and row["ours"]["tensor_instructions"]
    return 128 if wide and row["num_warps"] == 4 else 0


def _spills(rows):
    over = [r for r in rows if not failed(r, "ours") and not apart(r) and r["ours"]["spill"] > spill_limit(r)]
    over.sort(key=lambda r: r["ours"]["spill"], reverse=True)
    return [(r, f"{r['ours']['spill']} bytes" + ("" if failed(r, "triton") else f", Triton {r['triton']['spill']}")) for r in over]


def _shared_only(rows):
    """Rows without a ratio of passes: our code passes through shared memory and Triton's code does not."""
    return _worse([r for r in comparable(rows) if not r["triton"].get("shared_passes") and r["ours"].get("shared_passes")], "shared_passes")


def _no_copies(rows):
    """Pipelined loops with dots and without cp.async, where Triton has it or where keys are loaded behind an index."""
    missed = [r for r in rows if not failed(r, "ours") and r["num_stages"] > 1 and not r["ours"]["async_stages"]
              and r["ours"]["loop_non_tensor_per_tensor"]
              and (BEHIND_INDEX.search(r["instance"]) or not failed(r, "triton") and r["triton"]["async_stages"])]
    return [(r, "none" if failed(r, "triton") else f"none, Triton {r['triton']['async_stages'] or 'none'}") for r in missed]


def _dense_conflicts(rows):
    missed = [r for r in rows if not failed(r, "ours") and DENSE.search(r["instance"]) and r["ours"].get("loop_bank_conflicts")]
    missed.sort(key=lambda r: r["ours"]["loop_bank_conflicts"], reverse=True)
    return [(r, f"{r['ours']['loop_bank_conflicts']}" +
             ("" if failed(r, "triton") else f", Triton {r['triton']['loop_bank_conflicts']}")) for r in missed]


def _refused(rows):
    """Ours fails: one of our own kernels, or one that Triton compiles right for sm_80."""
    return [(r, next((l for l in r["ours"]["error"].splitlines() if "error" in l or "fault" in l),
                     r["ours"]["error"].splitlines()[0]).removeprefix(r["instance"].split()[0] + ": ")[:160])
            for r in rows if failed(r, "ours") and (r.get("reference", True) or r["source"] in ("kernels", "tutorials"))]


def _different(rows):
    off = [r for r in rows if r.get("differs") is not None and r["differs"] > 1]
    return [(r, f"{r['differs']:g} times the limit") for r in sorted(off, key=lambda r: r["differs"], reverse=True)]


def bars(rows, target):
    """The limits for the rows of one target, each with the rows that exceed it."""
    rows = [r for r in rows if r["target"] == target]
    served = [r for r in rows if not failed(r, "ours") and not failed(r, "triton")]  # with those apart
    compared = comparable(rows)
    whole = [_count_bar("all_compile", "kernels that fail", _refused(rows)),
             _count_bar("results", "kernels whose results differ from Triton's", _different(rows),
                        any("differs" in r for r in rows)),
             _count_bar("spill", "kernels that spill (heads of 128 in 4 warps: over 128 bytes)", _spills(rows))]
    if target != "sm_80":
        return whole  # the same code: correct and free of spills
    ratios = both(rows, "loop_non_tensor_per_tensor")
    above = sorted((r for r in ratios if ratio(r, "loop_non_tensor_per_tensor") > 1.15),
                   key=lambda r: ratio(r, "loop_non_tensor_per_tensor"), reverse=True)
    return whole + [
        _mean_bar(rows, "loop_ratio", "other instructions per tensor instruction of a loop's iteration",
                  "loop_non_tensor_per_tensor", 1.0),
        _mean_bar(rows, "loop_whole", "other instructions per tensor instruction of whole loops", "loop_whole", 1.0),
        _count_bar("loop_above_1_15", "kernels where an iteration's is above 1.15 without a reason",
                   [(r, f"{ratio(r, 'loop_non_tensor_per_tensor'):.2f}x") for r in above if not reason(r)]),
        *_source_bars(rows),
        _count_bar("shared_only", "kernels that pass through shared memory where Triton's do not", _shared_only(rows)),
        _mean_bar(rows, "executed_ratio", "executed PTX instructions of warps", "executed_warp_instructions", 0.95),
        _mean_bar(rows, "executed_sass_ratio", "executed SASS instructions of warps, estimated", "executed_sass", 0.95),
        _mean_bar(rows, "compile_ratio", "processor time of compiling, start-up taken off both", "compile", 0.6),
        _count_bar("worse_spill", "kernels that spill more than Triton's, those apart too", _worse(served, "spill")),
        _count_bar("worse_tensor_instructions", "kernels with more tensor instructions", _worse(compared, "tensor_instructions")),
        _count_bar("worse_bank_conflicts", "kernels with more bank conflicts", _worse(compared, "bank_conflicts")),
        _count_bar("worse_global_sectors", "kernels that move more 32-byte sectors", _worse(compared, "global_sectors")),
        _count_bar("worse_blocks_per_sm", "kernels with fewer resident blocks", _worse(compared, "blocks_per_sm", least=True)),
        _count_bar("dense_loop_conflicts", "dense kernels with bank conflicts in the main loop", _dense_conflicts(rows),
                   any("loop_bank_conflicts" in r["ours"] for r in rows)),
        _count_bar("async_copies", "pipelined loops without cp.async (Triton has it, or keys behind an index)", _no_copies(rows))]


def rounded(figure):
    """So that the last bits of a machine's logarithm are not in the JSON."""
    return figure if figure is None else round(figure, 4)


def summary(rows, target):
    """What the JSON keeps for a target."""
    found = bars(rows, target)
    mine = [r for r in rows if r["target"] == target]
    result = dict(rows=len(mine), compared=len(comparable(mine)), apart=[label(r) for r in mine if apart(r)],
                  peer_failed=[label(r) for r in mine if failed(r, "triton")])
    for bar in found:
        counted = bar.limit == 0
        result[bar.name] = [label(r) for r, _ in bar.rows] if counted else rounded(bar.figure)
    result["rows_measured"] = {bar.name: bar.measured[0] for bar in found if bar.measured}
    result["sass_doubtful"] = [label(r) for r in doubtful(mine)]
    result["fewer_threads"] = [label(r) for r in fewer_threads(mine)]
    result["loop_on_one_side"] = [label(r) for r in comparable(mine) if bool(value(r, "ours", "loop_whole")) != bool(value(r, "triton", "loop_whole"))]
    result["compile_ratio_with_start"] = rounded(mean_ratio(mine, "source_to_cubin_cpu_ms"))
    result["loop_same_work"] = rounded(geometric_mean([same_work(r) for r in both(mine, "loop_non_tensor_per_tensor")]))
    return result, {bar.name: None if bar.figure is None else bar.holds for bar in found}


def reasoned(rows):
    """A line for each row above 1.15 that has a reason, and the mean for the same work."""
    ratios = both(rows, "loop_non_tensor_per_tensor")
    if not ratios:
        return []
    return [f"  other instructions of a loop for the same work, ours / Triton's: {geometric_mean(list(map(same_work, ratios))):.3f}"] + [
        f"           {short(r):60s} {ratio(r, 'loop_non_tensor_per_tensor'):.2f}x: {reason(r)}"
        for r in ratios if ratio(r, "loop_non_tensor_per_tensor") > 1.15 and reason(r)]


def sides(rows):
    """What the two launches differ in, and the compile time with start-up left in."""
    with_start = mean_ratio(rows, "source_to_cubin_cpu_ms")
    return [f"ours launches fewer threads in {len(fewer_threads(rows))} of {measured(rows, 'threads')[0]} rows"] + (
        [f"processor time of compiling, start-up taken off neither: {with_start:.3f}"] if with_start else [])


def hinted(rows):
    """A line for each row with hints that Triton cannot read: what they change."""
    lines = []
    for row in rows:
        with_hints = row.get("hinted")
        if not with_hints or failed(row, "ours"):
            continue
        if "error" in with_hints:
            lines.append(f"           {short(row):60s} {', '.join(with_hints['hints'])}: {with_hints['error'].splitlines()[0][:100]}")
            continue
        changed = [f"{what} {row['ours'][what]} -> {with_hints[what]}"
                   for what in ("tensor_instructions", "executed_warp_instructions", "registers", "bank_conflicts", "blocks_per_sm")
                   if row["ours"][what] != with_hints[what]]
        lines.append(f"           {short(row):60s} {', '.join(with_hints['hints'])}: {', '.join(changed) or 'nothing changes'}")
    return lines


def text(rows, target, most=8):
    """The summary as text: a line for each limit, and below a limit that is not met the rows that exceed it, worst first."""
    mine = [r for r in rows if r["target"] == target]
    lines = [f"{target}: {len(mine)} kernels, {len(comparable(mine))} compared; apart (Triton spills over {PEER_SPILLS} bytes): "
             f"{sum(map(apart, mine))}; without figures of Triton: {sum(failed(r, 'triton') for r in mine)}"]
    for bar in bars(rows, target):
        figure = "-" if bar.figure is None else str(bar.figure) if bar.limit == 0 else f"{bar.figure:.3f}"
        state = "      " if bar.figure is None else "met   " if bar.holds else "MISSED"
        more = f" ({bar.measured[0]} of {bar.measured[1]} rows measured)" if bar.measured and bar.measured[0] < bar.measured[1] else ""
        lines.append(f"  {state} {figure:>6s} (at most {bar.limit:g})  {bar.text}"
                     + more)
        if not bar.holds:
            lines += [f"           {short(r):60s} {what}" for r, what in bar.rows[:most]]
            if len(bar.rows) > most:
                lines.append(f"           and {len(bar.rows) - most} more")
    lines += [f"  {line}" for line in sides(mine)] + reasoned(mine) if target == "sm_80" else []
    hints = hinted(mine)
    return "\n".join(lines + (["  with the hints that Triton cannot read:"] + hints if hints else []))
