# bench/codegen/rows.py - rows of an earlier report beside those of a run: what is the same row, what is kept.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import json

NAMES = ("source", "kernel", "instance", "dtype", "target", "num_warps", "num_stages")


def same(a, b):
    """The same kernel with the same constants, launch and types; older rows do not have all their types."""
    return all(a.get(n) == b.get(n) for n in NAMES) and ("types" not in a or "types" not in b or a["types"] == b["types"])


def load(path, sources):
    """Rows of a report, each with the commit that measured it; what it left out of sources other than these."""
    result = json.loads(path.read_text())
    rows = [dict(dict(source="kernels", commit=result["commit"]), **row) for row in result["rows"]]
    return rows, [line for line in result["left_out"] if line.split(",")[0].split(":")[0] not in sources]


def known(earlier, row, commit):
    """The row as this commit has measured it before, or None; what failed is tried again."""
    return next((r for r in earlier if r["commit"] == commit and "types" in r and "error" not in r["ours"] and same(r, row)), None)


def merged(earlier, fresh):
    """The earlier rows, those in `fresh` in place of theirs; new ones follow."""
    result, rest = [], list(fresh)
    for row in earlier:
        newer = next((r for r in rest if same(row, r)), None)
        rest = [r for r in rest if r is not newer]
        result.append(newer or row)
    return result + rest
