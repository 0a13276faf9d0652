# tests/verify/steps.py - how often the programs of a launch execute its synchronization, by the simulator.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""The verifier gets two programs on each axis. It accepts any fault in code that these do not execute, and in a loop of a single step, so faults
need a launch, and programs of it, that take several steps."""
import collections
import itertools
import json
import random
import re

from ptx_faults import faults

FAULTS = ("barrier dropped", "wait dropped", "wait too weak", "commit dropped")
ENOUGH = 4  # executions of an instruction: with two buffers, the third step of a loop writes again what the first one read
SAMPLES = 48  # programs of a launch that are counted, evenly spaced
ISSUES = 4  # flag of the simulator: count the executions of each line


def mutants(ptx):
    """The faults in the synchronization of a text."""
    return [mutant for kind, found in faults(ptx, random.Random(1)).items() if kind in FAULTS for mutant in found]


def three(extents):
    return [*extents, 1, 1][:3]


def first_program(grid, program, extent=2):
    """The first of the `extent` programs on each axis that the verifier gets, `program` among them."""
    return [max(0, min(at, size - extent)) for at, size in zip(program, three(grid))]


def best_window(grid, counts, extent=2):
    """(score, first program) of the programs that the verifier gets at once and that execute most, the first of equals. The score adds up, over
    the lines, the executions by the program that executes the line most often, at most ENOUGH. counts: {program: {line: executions}}."""
    best = 0, [0, 0, 0]
    firsts = {tuple(first_program(grid, [at - back for at, back in zip(program, step)])) for program in counts
              for step in itertools.product(range(extent), repeat=3)}
    for first in sorted(firsts, key=lambda one: one[::-1]):
        most = collections.Counter()
        for program in itertools.product(*(range(at, at + extent) for at in first)):
            most |= collections.Counter(counts.get(program, {}))
        score = sum(min(count, ENOUGH) for count in most.values())
        if score > best[0]:
            best = score, list(first)
    return best


def busiest(launch):
    """best_window() of a launch, which the simulator runs one program at a time."""
    lines = {mutant.line for mutant in mutants(launch["ptx"])}
    if not lines:
        return 0, [0, 0, 0]
    from schedules_all import Replay
    replay = Replay(launch)
    replay.reset()
    width, height, depth = three(launch["grid"])
    warps, counts = (launch["block"][0] + 31) // 32, {}
    for block in range(0, width * height * depth, max(1, width * height * depth // SAMPLES)):
        reply = replay.module.launch(launch["kernel"], launch["grid"], launch["block"], launch["shared"], replay.values, replay.ranges,
                                     ISSUES, raise_findings=False, blocks=(block,))
        program = block % width, block // width % height, block // (width * height)
        counts[program] = {line - 1: count / warps for line, count in reply["issues"] if line - 1 in lines}
    return best_window(launch["grid"], counts)


def shifted(ptx, first):
    """The text with the numbers of programs counted from `first`, so that the verifier, which starts at 0, gets others."""
    for axis, offset in zip("xyz", first):
        if offset:
            ptx = re.sub(rf"(\tmov\.u32 \t(%r\d+), %ctaid\.{axis};)", rf"\1 add.u32 \2, \2, {offset};", ptx)
    return ptx


def measured(found, folder, wanted):
    """{digest: busiest()} of the launches of the digests `wanted`; the counts are kept in the folder."""
    path = folder / "steps.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    missing = [digest for digest in wanted if digest not in known]
    for digest in missing:
        known[digest] = busiest(found[digest][1])
    if missing:
        path.write_text(json.dumps(known))
    return {digest: known[digest] for digest in wanted}
