# tests/simulator/sass_test.py - how often the instructions of SASS run, counted by hand for small basic blocks.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""tests/unit/ptx/ReportTest.cpp has the reading of the disassembly and its division into blocks."""
import re

from harness.context import simulator_path

simulator_path()
from codegen.measure import TENSOR, executed  # noqa: E402


def blocks(*code):
    """The basic blocks of "LABEL:" or (PTX line, instruction), as `tessera report --blocks` prints them: [[PTX line, opcode], ...]."""
    found, start = [], True
    for item in code:
        if isinstance(item, str):
            start = True
            continue
        line, text = item
        if start:
            found.append([])
        opcode = re.sub(r"^@\S+ ", "", text).split()[0].split(".")[0]
        found[-1].append([line, opcode])
        start = opcode in ("BRA", "EXIT")
    return found


LOOP = [(3, "MOV R1, c[0x0][0x28]"), (5, "LDG.E R2, [R4.64]"), ".L_x_1:", (8, "HMMA.16816.F32 R8, R4, R6, R8"), (9, "IADD3 R2, R2, 0x1, RZ"),
        (10, "@P0 BRA `(.L_x_1)"), (12, "STG.E [R4.64], R8"), (13, "EXIT")]
RUNS = {3: 4, 5: 4, 8: 40, 9: 40, 10: 40, 12: 4, 13: 4}  # 4 warps, 10 rounds


def test_counts():
    assert executed(blocks(*LOOP), RUNS) == 2 * 4 + 3 * 40 + 2 * 4, "a loop"
    assert executed(blocks(*LOOP), RUNS, TENSOR) == 40, "its tensor instructions"
    # ptxas moved the line of a round before the loop: it runs as often as the block that contains it.
    moved = [LOOP[0], LOOP[4], LOOP[1], LOOP[2], LOOP[3], *LOOP[5:]]
    assert executed(blocks(*moved), RUNS) == 3 * 4 + 2 * 40 + 2 * 4, "moved out of the loop"
    # Two rounds in one: each of the two copies runs half as often.
    twice = LOOP[:5] + LOOP[3:]
    assert executed(blocks(*twice), RUNS) == 2 * 4 + 5 * 20 + 2 * 4, "two rounds in one"
    # If a block has no other instruction with a fixed position, only branches show how often it runs.
    skip = [(5, "LDG.E R2, [R4.64]"), (6, "@P1 BRA `(.L_x_3)"), (7, "FADD R2, R2, R2"), (9, "FADD R3, R2, R2"), (8, "BRA `(.L_x_4)"), ".L_x_3:",
            (9, "FMUL R2, R2, R2"), ".L_x_4:", (12, "STG.E [R4.64], R2"), (13, "EXIT")]
    assert executed(blocks(*skip), {5: 4, 6: 4, 7: 1, 8: 1, 9: 3, 12: 4, 13: 4}) == 2 * 4 + 3 * 1 + 3 + 2 * 4, "blocks of arithmetic"
    # The branch has its own line's count, the rest of its block may come from anywhere.
    branch = [(5, "LDG.E R2, [R4.64]"), ".L_x_1:", (7, "IADD3 R2, R2, R4, RZ"), (8, "IADD3 R3, R3, R5, RZ"), (6, "@P0 BRA `(.L_x_1)"), (12, "EXIT")]
    assert executed(blocks(*branch), {5: 4, 6: 12, 7: 4, 8: 4, 12: 4}) == 4 + 3 * 12 + 4, "a branch tells"
    three = [(5, "LDG.E R2, [R4.64]"), (6, "LDG.E R3, [R4.64]"), (7, "LDG.E R5, [R4.64]"), (12, "EXIT")]
    assert executed(blocks(*three), {5: 4, 6: 4, 7: 400, 12: 4}) == 4 * 4, "most of three"
    wide = [(5, "LDG.E R2, [R4.64]"), (6, "BRA `(.L_x_1)"), ".L_x_1:", (7, "IADD3 R2, R2, R4, RZ"), (7, "IADD3 R3, R3, R5, RZ"), ".L_x_2:",
            (12, "EXIT")]
    assert executed(blocks(*wide), {5: 4, 6: 4, 7: 4, 12: 4}) == 2 * 4 + 2 * 4 + 4, "one line's two instructions"
    assert executed(blocks((5, "LDG.E R2, [R4.64]"), ".L_x_1:", (99, "MOV R1, R2"), ".L_x_2:", (12, "EXIT")), {5: 4, 12: 4}) == 3 * 4, "no line is known"
    assert executed(blocks((5, "LDG.E R2, [R4.64]"), (6, "@P1 BRA `(.L_x_3)"), (7, "STG.E [R4.64], R2"), ".L_x_3:", (13, "EXIT")),
                    {5: 4, 6: 4, 7: 0, 13: 4}) == 3 * 4, "never run"
    assert executed([], RUNS) is None, "no disassembly"
