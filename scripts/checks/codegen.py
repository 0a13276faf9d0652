#!/usr/bin/env python3
"""Checks the summary of `make codegen-report` in docs/results.md, and that of bench/results/codegen_sm_80.json itself, against that file's rows;
--fix writes both.

SPDX-License-Identifier: Apache-2.0
"""
import collections
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "scripts" / "lib")]  # this file has the name of a folder of bench/
sys.dont_write_bytecode = True
import compact  # noqa: E402
import page_block  # noqa: E402
from codegen import bars  # noqa: E402

RESULTS, PAGE = ROOT / "bench" / "results" / "codegen_sm_80.json", ROOT / "docs" / "results.md"
BEGIN, END = "<!-- make codegen-report: written by scripts/checks/codegen.py --fix -->", "<!-- end of make codegen-report -->"
SHORT = dict(kernels="`kernels/`", tutorials="tutorials", fla="fla", liger="Liger")
MOST = 7  # table lines for limits on single kernels; a sentence lists the others
# Lines of the means: title, measurement, limit of all rows, limit of each source, name of the limit in bench/codegen/bars.py.
MEANS = [("others per tensor instruction of a loop, by iteration", "loop_non_tensor_per_tensor", 1, None, "loop_ratio"),
         ("the same, summed over the loop", "loop_whole", 1, 1, "loop_whole"),
         ("passes over shared memory", "shared_passes", None, 1.05, None),
         ("executed PTX instructions of warps", "executed_warp_instructions", 0.95, None, "executed_ratio"),
         ("executed SASS instructions, estimated", "executed_sass", 0.95, None, "executed_sass_ratio"),
         ("processor time of compiling, without start-up of either compiler", "compile", 0.6, None, "compile_ratio")]


def shown(figure, limit):
    """"0.88x", with a third digit where two would hide a miss; or the number of kernels. What is over the limit is bold."""
    if figure is None or isinstance(figure, int):
        return "-" if figure is None else str(figure)
    over = limit is not None and figure > limit
    text = ("%.3fx" if over and round(figure, 2) <= limit else "%.2fx") % figure
    return "**%s**" % text if over else text


def cell(rows, what, limit):
    """The geometric mean, and of how many rows where not all have the figure."""
    found, of = bars.measured(rows, what)
    like = ""
    if what == "executed_sass" and 0 < found < of:  # the same rows' PTX, not that of all
        like = ", PTX %s" % shown(bars.mean_ratio([r for r in rows if "executed_sass" in r["ours"]], "executed_warp_instructions"), None)
    return shown(bars.mean_ratio(rows, what), limit) + (" (%d rows%s)" % (found, like) if 0 < found < of else "")


def worst(bar):
    return "; ".join("`%s` %s" % (bars.tiny(row), what.split(":")[0]) for row, what in bar.rows[:2])


def means(rows, sources, found):
    """Lines of the table: ours / Triton's of each source and of all."""
    lines = []
    for title, what, whole, each, name in MEANS:
        missed = [bar for bar in found if not bar.holds and (bar.name == name or bar.name.startswith(what + "_"))]
        cells = [cell([r for r in rows if r["source"] == source], what, each) for source in sources] + [cell(rows, what, whole)]
        limit = ", ".join((["%g" % whole] if whole else []) + (["%g each" % each] if each else []))
        lines.append("| %s | %s | %s | %s |" % (title, limit, " | ".join(cells), "; ".join(dict.fromkeys(map(worst, missed)))))
    return lines


def counts(sources, missed):
    """A line for each limit on single kernels that is not met."""
    return ["| %s | %g | %s | %d | %s |" % (bar.text, bar.limit, " | ".join(
        str(sum(r["source"] == source for r, _ in bar.rows)) for source in sources), bar.figure, worst(bar)) for bar in missed]


def commits(rows, of_report):
    """"2 at abc, 277 at def": rows that another commit than the report's has measured carry it."""
    counts = collections.Counter(r.get("commit", of_report) for r in rows)
    return ", ".join("%d at %s" % (n, commit) for commit, n in sorted(counts.items(), key=lambda item: item[1]))


def table(result):
    """The block between the marks."""
    rows = result["rows"]
    for row in rows:
        row.setdefault("source", "kernels")
    mine = [r for r in rows if r["target"] == "sm_80"]
    sources = [name for name in bars.WHERE if any(r["source"] == name for r in mine)]
    found = bars.bars(rows, "sm_80")
    text = ("Our code for sm_80 compared with that of Triton %s: same source, constants, warps and inputs, one ptxas, on the simulator "
            "(`make codegen-report`, %s, %s; [all measurements](../bench/results/codegen_sm_80.json), "
            "[definitions](codegen-report.md)). %d kernel specializations of %s; "
            "the means leave out %d in which Triton spills more than %d bytes. "
            % (result["triton"], result["date"], commits(mine, result["commit"]), len(mine), ", ".join(bars.WHERE[s] for s in sources),
               sum(map(bars.apart, mine)), bars.PEER_SPILLS))
    single = [bar for bar in found if bar.limit == 0 and bar.figure is not None]
    none = [bar.text for bar in single if bar.holds]
    text += "These counts are 0: %s. " % "; ".join(none) if none else ""
    missed = [bar for bar in single if not bar.holds]
    if len(missed) > MOST:
        text += "Other limits that are not met: %s. " % "; ".join("%d %s (%s)" % (bar.figure, bar.text, worst(bar)) for bar in missed[:-MOST])
    known = bars.measured(mine, "threads")[0]
    text += "Ours launches fewer threads in %d of %d kernels. " % (len(bars.fewer_threads(mine)), known) if known else ""
    other = [r for r in rows if r["target"] == "sm_90"]
    if other:
        text += "sm_90: %d kernels, %s." % (len(other), "; ".join("%s %s" % (bar.text, shown(bar.figure, None)) for bar in bars.bars(rows, "sm_90")))
    head = ["ours / Triton's, geometric means; kernels that exceed a limit", "at most"] + [
        "%s, %d" % (SHORT[s], sum(r["source"] == s for r in mine)) for s in sources] + ["all", "largest differences"]
    lines = [text.strip(), "", "| %s |" % " | ".join(head), "|---|" + "---:|" * (len(head) - 2) + "---|"]
    lines += means(mine, sources, found) + counts(sources, missed[-MOST:])
    return "\n".join([BEGIN] + lines + [END])


def main():
    result = json.loads(RESULTS.read_text(encoding="utf-8"))
    texts = page_block.replaced(PAGE, "docs/results.md", BEGIN, END, table(result))
    if not texts:
        return 1
    counted = dict(zip(("summary", "bars"), zip(*(bars.summary(result["rows"], target) for target in result["targets"]))))
    counted = {key: dict(zip(result["targets"], found)) for key, found in counted.items()}
    same = texts[0] == texts[1] and counted == {key: result[key] for key in counted}
    return page_block.settle({} if same else {PAGE: texts[1], RESULTS: compact.dumps(dict(result, **counted))},
                             "docs/results.md, bench/results/codegen_sm_80.json: the summary of make codegen-report differs from the rows")


if __name__ == "__main__":
    sys.exit(main())
