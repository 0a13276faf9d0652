# tests/verify/redundant.py - the faults that the verifier may accept, because the barrier, wait or commit is redundant.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""redundant.jsonl has a line for each: the kernel, the kind of fault, its `place`, and the reason. `place` names an instruction by the source
line that it was compiled from, as text, and by the instructions before and after it that access memory, synchronize or branch:

    acc = tl.dot(q, k, acc) | ldmatrix | bra

so that another line number or register does not matter. `count`: how many instructions of one text with this place are redundant (default: 1).
Where the verifier accepts more, others than those that were examined are accepted."""
import collections
import functools
import json
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
PATH = pathlib.Path(__file__).with_name("redundant.jsonl")
SYNC = re.compile(r"\t(bar\.sync|cp\.async\.(commit|wait)_group)")
EVENT = re.compile(r"\t(?:@!?%p\d+ )?(bar\.sync|cp\.async\.(?:commit|wait)_group|cp\.async|ldmatrix|ld\.shared|st\.shared|atom|red|ld\.global|st\.global"
                   r"|bra|ret)\b|(\$L__BB)\w+:")


@functools.cache
def source_lines(name):
    """Of the file of kernels/ with the name; empty where there is none, or more than one."""
    paths = list((ROOT / "kernels").rglob(name))
    return paths[0].read_text().splitlines() if len(paths) == 1 else []


def without_comment(line):
    return re.sub(r"\s+#\s.*", "", line.strip())


def source_text(loc, files):
    """The source line of a .loc, of the function that was inlined last; empty if it is unknown."""
    for file, line in re.findall(r"(?:\.loc\s+|inlined_at )(\d+) (\d+)", loc):
        lines = source_lines(files.get(file, "?"))
        if 0 < int(line) <= len(lines):
            return without_comment(lines[int(line) - 1])
    return ""


def event(line):
    """What an instruction does to memory or control: "bar.sync", "st.shared", "label"; None for arithmetic."""
    match = EVENT.match(line)
    return match and (match[1] or "label")


def places(ptx):
    """{line, 0-based, of sentryward.text(): place} of the instructions that synchronize."""
    files = dict(re.findall(r'\.file\s+(\d+)\s+"([^"]*)"', ptx))
    loc, events = "", []
    number = -1
    for line in ptx.splitlines():
        if line.lstrip().startswith(".loc"):
            loc = line
        if line.lstrip().startswith(("//", ".loc", ".file")):
            continue
        number += 1
        if what := event(line):
            events.append((number, what, SYNC.match(line) and source_text(loc, files)))
    around = zip(["begin"] + [what for _, what, _ in events], events, [what for _, what, _ in events[1:]] + ["end"])
    return {number: f"{source} | {before} | {after}" for before, (number, _, source), after in around if source is not None}


def reasons(path=PATH):
    """{(kernel, kind, place): how many} of a file of reasons; ValueError if a line lacks it."""
    allowed = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        one = json.loads(line)
        if not one.get("reason"):
            raise ValueError(f"{path}:{number}: no reason")
        allowed[one["kernel"], one["fault"], one["place"]] = one.get("count", 1)
    return allowed


def unexplained(rows, allowed):
    """The rows of accepted faults without a reason. Those of one text and place are explained together."""
    groups = collections.defaultdict(list)
    for row in rows:
        groups[row["digest"].split(":")[0], row["kernel"], row["fault"]["kind"], row["fault"].get("place", "")].append(row)
    return [row for (_, *key), mine in groups.items() if len(mine) > allowed.get(tuple(key), 0) for row in mine]
