# bench/codegen/sass.py - how many SASS instructions a launch executes, from what the simulator counted of its PTX.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""ptxas notes the PTX line of every SASS instruction (-lineinfo, nvdisasm -gp). A basic block of SASS runs as often as the PTX lines
of the instructions in it that stay in their place and are one for one: memory, tensor cores, barriers; without such by its branches;
else by all. The median of them: what ptxas moves between blocks carries the count of where it came from. A line that stands there
several times, as in an unrolled loop, shares its count among its copies. An estimate, made for every compiler's code alike; for code
without branches it is exact."""
import re
import statistics

TENSOR = {"HMMA", "IMMA", "BMMA", "DMMA"}
IN_PLACE = TENSOR | {"LDSM", "LDGSTS", "LDG", "LD", "STG", "ST", "LDS", "STS", "ATOM", "ATOMG", "ATOMS", "RED",
            "BAR", "LDGDEPBAR", "DEPBAR", "SHFL"}
BRANCHES = {"BRA", "BRX", "JMP", "EXIT", "RET"}
LINE = re.compile(r'//## File "[^"]*nv_debug_ptx_txt[^"]*", line (\d+)')
CODE = re.compile(r"/\*[0-9a-f]+\*/\s+(?:@!?\w+\s+)?(\w+)")


def blocks(text, kernel):
    """Basic blocks of nvdisasm -gp -c: lists of (PTX line, opcode)."""
    found, inside, line = [[]], False, 0
    for text_line in map(str.strip, text.splitlines()):
        if text_line.startswith((".text.", ".section")):
            inside = text_line == f".text.{kernel}:"
        if not inside:
            continue
        if match := LINE.search(text_line):
            line = int(match.group(1))
        elif match := CODE.match(text_line):
            if match.group(1) != "NOP":
                found[-1].append((line, match.group(1)))
            if match.group(1) in BRANCHES:
                found.append([])
        elif text_line.endswith(":"):
            found.append([])
    found = [block for block in found if block]
    # The end is filled up with a branch to itself that nothing reaches.
    return found[:-1] if len(found) > 1 and [opcode for _, opcode in found[-1]] == ["BRA"] else found


def executed(text, kernel, issues, only=None):
    """SASS instructions that the warps of a launch execute, or those of some opcodes; issues: PTX line -> how often the simulator issued
    it. None: no such kernel."""
    code = blocks(text, kernel)
    copies = {}
    for block in code:
        # Other lines may take several instructions: their copies are in other blocks.
        for place in [p for p in block if p[1] in IN_PLACE] + list({p for p in block if p[1] not in IN_PLACE}):
            copies[place] = copies.get(place, 0) + 1
    total, runs = 0, 0
    for block in code:
        known = [(opcode, issues[line] / copies[line, opcode]) for line, opcode in block if line in issues]
        for group in (IN_PLACE, BRANCHES, None):
            told = [count for opcode, count in known if group is None or opcode in group]
            if told:
                runs = statistics.median(told)
                break
        total += runs * sum(not only or opcode in only for _, opcode in block)
    return round(total) if code else None
