# bench/codegen/loop_table.py - the table of main loops in docs/codegen-report.md, from the records of bench/codegen/flash_attention.py.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Works on the rows of a result file; needs neither torch nor Triton."""
# Title -> classes of bench/codegen/sass.py.
COLUMNS = {"tensor": ["tensor"], "LDSM": ["ldsm"], "LDS, STS": ["shared"], "copies": ["copy"], "global": ["global"], "local": ["local"],
           "exp": ["exp"], "fp32": ["fp"], "convert": ["convert"], "integer": ["integer"], "move": ["move"], "select": ["predicate"],
           "shuffle": ["shuffle"], "barrier": ["barrier"], "rest": ["control", "other"]}
COMPILERS = {"nvcc": "FlashAttention 2", "tessera": "ours", "triton": "Triton"}


def number(value):
    return "%d" % round(value) if value else ""


def classes(row):
    """Column -> warp instructions for 64 x 128 pairs."""
    each = row["warp_instructions"] / row["iteration"]["total"]
    return {title: each * sum(row["iteration"].get(kind, 0) for kind in kinds) for title, kinds in COLUMNS.items()}


def together(first, second):
    """The record of two kernels that share the work of a pass."""
    scale = [row["warp_instructions"] / row["iteration"]["total"] for row in (first, second)]
    kinds = {**first["iteration"], **second["iteration"]}
    iteration = {kind: sum(each * row["iteration"].get(kind, 0) for each, row in zip(scale, (first, second))) for kind in kinds}
    tensor = iteration["tensor"]
    return dict(first, kernel="both", iteration=iteration, warp_instructions=iteration["total"], tensor_instructions=tensor,
                other_per_tensor=(iteration["total"] - tensor) / tensor, ldsm_per_tensor=iteration.get("ldsm", 0) / tensor)


def with_sums(rows):
    """The rows, and after those of two kernels of a backward pass their sum."""
    for row in rows:
        yield row
        if row["kernel"] == "dense_bwd_dkdv" and "left_out" not in row:
            first = [r for r in rows if r["kernel"] == "dense_bwd_dq" and "left_out" not in r and (r["head"], r["compiler"]) == (row["head"], row["compiler"])]
            yield from [together(first[0], row)] if first else []


def name_of(row):
    compiler = COMPILERS[row["compiler"]]
    if row["compiler"] == "nvcc":
        return "%s, %s" % (compiler, "causal" if row["mask"] == "causal" else "no mask")
    return "`%s`, %s" % (row["kernel"], compiler) if row["kernel"] != "both" else "both, " + compiler


def table(rows):
    """A table for each pass and head size; the kernels that were left out follow as sentences."""
    lines = []
    for way, head in dict.fromkeys((row["way"], row["head"]) for row in rows):
        mine = [row for row in rows if (row["way"], row["head"]) == (way, head)]
        lines += ["| %s, D = %d | others | LDSM | all | %s |" % (way, head, " | ".join(COLUMNS)), "|---|" + "---:|" * (3 + len(COLUMNS))]
        for row in with_sums(mine):
            if "left_out" not in row:
                cells = ["%.2f" % row["other_per_tensor"], "%.2f" % row["ldsm_per_tensor"], number(row["warp_instructions"])]
                lines.append("| %s | %s |" % (name_of(row), " | ".join(cells + [number(value) for value in classes(row).values()])))
        lines += ["", *["%s: %s." % (name_of(row), row["left_out"]) for row in mine if "left_out" in row]]
    return "\n".join(lines).strip()


def listing(rows):
    """A table with the lines of the kernel from which the instructions of a main loop come, of the row that has them; empty without one."""
    row = next((row for row in rows if row.get("lines")), None)
    if not row:
        return ""
    heads = "`%s`, D = %d: an iteration of a warp has %d instructions for %d x %d pairs by %d warps." % (
        row["kernel"], row["head"], row["iteration"]["total"], row["rows"], row["keys"], row["warps"])
    lines = [heads, "", "| line | all | instructions | text |", "|---|---:|---|---|"]
    for one in row["lines"]:
        opcodes = sorted(one["opcodes"].items(), key=lambda item: (-item[1], item[0]))
        text = "`%s`" % one["text"].replace("|", "\\|") if one["text"] else ""
        lines.append("| %s:%d | %d | %s | %s |" % (one["file"].removeprefix("kernels/"), one["line"], sum(one["opcodes"].values()),
                                               ", ".join("%d %s" % (count, opcode) for opcode, count in opcodes), text))
    return "\n".join(lines)
