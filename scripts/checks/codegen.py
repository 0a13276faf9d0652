#!/usr/bin/env python3
"""Checks README's summary of `make codegen-report` against bench/results/codegen_sm_80.json; --fix writes it.

SPDX-License-Identifier: Apache-2.0
"""
import json
import pathlib
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bench" / "codegen"))
sys.dont_write_bytecode = True
import bars  # noqa: E402

RESULTS, README = ROOT / "bench" / "results" / "codegen_sm_80.json", ROOT / "README.md"
BEGIN, END = "<!-- make codegen-report: written by scripts/checks/codegen.py --fix -->", "<!-- end of make codegen-report -->"
WHERE = dict(kernels="`kernels/`", tutorials="tutorials in usual configurations", fla="flash-linear-attention", liger="Liger-Kernel")


def figure(bar):
    """"0.88x", or the number of kernels."""
    return str(bar.figure) if isinstance(bar.figure, int) else "%.2fx" % bar.figure


def table(result):
    """The block between the marks."""
    rows = result["rows"]
    for row in rows:
        row.setdefault("source", "kernels")
    mine = [r for r in rows if r["target"] == "sm_80"]
    sources = [name for name in WHERE if any(r["source"] == name for r in mine)]
    found = [bar for bar in bars.bars(rows, "sm_80") if bar.figure is not None]
    text = ("PTX for sm_80 next to Triton %s's from the same source, constants, warps and inputs, on the simulator and through one "
            "ptxas (`make codegen-report`, %s, %s; [all figures](bench/results/codegen_sm_80.json)): %d kernel specializations of %s; "
            "%d in which Triton spills over %d bytes are apart. "
            % (result["triton"], result["date"], result["commit"], len(mine), ", ".join(WHERE[s] for s in sources),
               sum(map(bars.apart, mine)), bars.PEER_SPILLS))
    none = [bar.text for bar in found if bar.holds and bar.limit == 0]
    means = ["%s %s (at most %g)" % (bar.text, figure(bar), bar.limit) for bar in found if bar.holds and bar.limit]
    text += "Bars met: %s." % "; ".join(means + (["no " + ", no ".join(none)] if none else [])) if means or none else "No bar is met."
    other = [r for r in rows if r["target"] == "sm_90"]
    if other:
        text += " sm_90: %d kernels, %s." % (len(other), "; ".join("%s %s" % (bar.text, figure(bar)) for bar in bars.bars(rows, "sm_90")))
    lines = textwrap.wrap(text, 118, break_long_words=False, break_on_hyphens=False)
    missed = [bar for bar in found if not bar.holds]
    if missed:
        lines += ["", "| bar missed | at most | measured | we lose most in |", "|---|---:|---:|---|"]
        lines += ["| %s | %g | %s | %s |" % (bar.text, bar.limit, figure(bar), "; ".join(
            "`%s` %s" % (bars.tiny(row), what.split(":")[0]) for row, what in bar.rows[:2])) for bar in missed]
    return "\n".join([BEGIN] + lines + [END])


def main():
    text = README.read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        print("check: README.md lacks the lines %s and %s" % (BEGIN, END))
        return 1
    head, rest = text.split(BEGIN)
    fresh = head + table(json.loads(RESULTS.read_text(encoding="utf-8"))) + rest.split(END)[1]
    if fresh == text:
        return 0
    if "--fix" in sys.argv:
        README.write_text(fresh, encoding="utf-8")
        return 0
    print("check: README.md: its summary of make codegen-report is not what bench/results/codegen_sm_80.json says: "
          "run scripts/check --fix")
    return 1


if __name__ == "__main__":
    sys.exit(main())
