# bench/codegen/bars.py - the bars of the codegen report: what a run's rows are held to, and which rows miss it by how much.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Works on the rows of a report's JSON; needs neither torch nor Triton."""
import math
import re

PEER_SPILLS = 256  # bytes of Triton's from which on a row is listed apart
DENSE = re.compile(r"matmul|dense_|flash_attention|attn_fwd|attention\b")  # kernels whose main loop may have no bank conflict

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


def ratio(row, what):
    return row["ours"][what] / row["triton"][what]


def both(rows, what):
    return [r for r in comparable(rows) if r["ours"][what] and r["triton"][what]]


class Bar:
    """A line of the summary: `figure` is a mean or a number of rows; `rows` miss it, worst first, as (row, text)."""

    def __init__(self, name, text, limit, figure, rows=()):
        self.name, self.text, self.limit, self.figure, self.rows = name, text, limit, figure, list(rows)

    @property
    def holds(self):
        return self.figure is None or self.figure <= self.limit


def _worse(rows, what, least=False):
    """Rows whose figure is above Triton's (below with `least`), worst first."""
    value = lambda r, side: r[side][what] or 0
    missed = [r for r in comparable(rows) if (value(r, "ours") < value(r, "triton") if least else value(r, "ours") > value(r, "triton"))]
    factor = lambda r: (value(r, "triton") + 1) / (value(r, "ours") + 1) if least else (value(r, "ours") + 1) / (value(r, "triton") + 1)
    return [(r, f"{value(r, 'ours')}, Triton {value(r, 'triton')}") for r in sorted(missed, key=factor, reverse=True)]


def _mean_bar(rows, name, text, what, limit):
    compared = both(rows, what)
    over = [r for r in compared if ratio(r, what) > limit]
    listed = [(r, f"{ratio(r, what):.2f}x: {r['ours'][what]:g}, Triton {r['triton'][what]:g}")
              for r in sorted(over, key=lambda r: ratio(r, what), reverse=True)]
    return Bar(name, text, limit, geometric_mean([ratio(r, what) for r in compared]), listed)


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
    """Bytes that a default may spill: attention with heads of 128 in 4 warps keeps more than the registers there are."""
    wide = re.search(r"\b(?:DP|EP|D|BK|BV)=128\b", row["instance"]) and row["ours"]["tensor_instructions"]
    return 128 if wide and row["num_warps"] == 4 else 0


def _spills(rows):
    over = [r for r in rows if not failed(r, "ours") and not apart(r) and r["ours"]["spill"] > spill_limit(r)]
    over.sort(key=lambda r: r["ours"]["spill"], reverse=True)
    return [(r, f"{r['ours']['spill']} bytes" + ("" if failed(r, "triton") else f", Triton {r['triton']['spill']}")) for r in over]


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
                     r["ours"]["error"].splitlines()[0])[:160])
            for r in rows if failed(r, "ours") and (r.get("reference", True) or r["source"] in ("kernels", "tutorials"))]


def _different(rows):
    off = [r for r in rows if r.get("differs") is not None and r["differs"] > 1]
    return [(r, f"{r['differs']:g} times the limit") for r in sorted(off, key=lambda r: r["differs"], reverse=True)]


def bars(rows, target):
    """The bars of the rows of one target."""
    rows = [r for r in rows if r["target"] == target]
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
        _mean_bar(rows, "loop_ratio", "other instructions per tensor instruction of a loop, ours / Triton's",
                  "loop_non_tensor_per_tensor", 1.0),
        _count_bar("loop_above_1_15", "kernels where that is above 1.15 without a reason",
                   [(r, f"{ratio(r, 'loop_non_tensor_per_tensor'):.2f}x") for r in above if not reason(r)]),
        _mean_bar(rows, "executed_ratio", "executed warp instructions, ours / Triton's", "executed_warp_instructions", 0.95),
        _mean_bar(rows, "compile_ratio", "compile time, ours / Triton's", "compile_ms", 0.6),
        _count_bar("worse_spill", "kernels that spill more than Triton's", _worse(rows, "spill")),
        _count_bar("worse_tensor_instructions", "kernels with more tensor instructions", _worse(rows, "tensor_instructions")),
        _count_bar("worse_bank_conflicts", "kernels with more bank conflicts", _worse(rows, "bank_conflicts")),
        _count_bar("worse_global_sectors", "kernels that move more 32-byte sectors", _worse(rows, "global_sectors")),
        _count_bar("worse_blocks_per_sm", "kernels with fewer resident blocks", _worse(rows, "blocks_per_sm", least=True)),
        _count_bar("dense_loop_conflicts", "dense kernels with bank conflicts in the main loop", _dense_conflicts(rows),
                   any("loop_bank_conflicts" in r["ours"] for r in rows)),
        _count_bar("async_copies", "pipelined loops without cp.async (Triton has it, or keys behind an index)", _no_copies(rows))]


def summary(rows, target):
    """What the JSON keeps for a target."""
    found = bars(rows, target)
    mine = [r for r in rows if r["target"] == target]
    result = dict(rows=len(mine), compared=len(comparable(mine)), apart=[label(r) for r in mine if apart(r)],
                  peer_failed=[label(r) for r in mine if failed(r, "triton")])
    for bar in found:
        counted = bar.limit == 0
        result[bar.name] = [label(r) for r, _ in bar.rows] if counted else bar.figure
    result["loop_whole"] = geometric_mean([ratio(r, "loop_whole") for r in comparable(mine)
                                           if r["ours"].get("loop_whole") and r["triton"].get("loop_whole")])
    result["loop_same_work"] = geometric_mean([same_work(r) for r in both(mine, "loop_non_tensor_per_tensor")])
    return result, {bar.name: bar.holds for bar in found}


def reasoned(rows):
    """A line for each row above 1.15 that has a reason, and the mean for the same work."""
    ratios = both(rows, "loop_non_tensor_per_tensor")
    if not ratios:
        return []
    whole = [ratio(r, "loop_whole") for r in ratios if r["ours"].get("loop_whole") and r["triton"].get("loop_whole")]
    return [f"  other instructions of a loop for the same work, ours / Triton's: {geometric_mean(list(map(same_work, ratios))):.3f}",
            f"  with what most rounds jump over (masks of the last ones), to a tensor instruction: {geometric_mean(whole) or 0:.3f}"] + [
        f"           {short(r):60s} {ratio(r, 'loop_non_tensor_per_tensor'):.2f}x: {reason(r)}"
        for r in ratios if ratio(r, "loop_non_tensor_per_tensor") > 1.15 and reason(r)]


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
    """The summary as people read it: a line for each bar; below a missed one its rows, worst first."""
    mine = [r for r in rows if r["target"] == target]
    lines = [f"{target}: {len(mine)} kernels, {len(comparable(mine))} compared; apart (Triton spills over {PEER_SPILLS} bytes): "
             f"{sum(map(apart, mine))}; without figures of Triton: {sum(failed(r, 'triton') for r in mine)}"]
    for bar in bars(rows, target):
        figure = "-" if bar.figure is None else str(bar.figure) if bar.limit == 0 else f"{bar.figure:.3f}"
        lines.append(f"  {'met   ' if bar.holds else 'MISSED'} {figure:>6s} (at most {bar.limit:g})  {bar.text}")
        if not bar.holds:
            lines += [f"           {short(r):60s} {what}" for r, what in bar.rows[:most]]
            if len(bar.rows) > most:
                lines.append(f"           and {len(bar.rows) - most} more")
    lines += reasoned(mine) if target == "sm_80" else []
    hints = hinted(mine)
    return "\n".join(lines + (["  with the hints that Triton cannot read:"] + hints if hints else []))
