# tests/simulator/ptx_faults.py - the faults that tests/simulator/mutants.py injects into PTX.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Works on text alone: neither the simulator nor Triton is needed."""
import collections
import re

REGISTER = re.compile(r"%(rd|rs|r|f|p|h|fd)(\d+)\b")
MOVED = re.compile(r"(ld|st|atom|red)\.shared|ldmatrix")
READ = re.compile(r"ld\.shared|ldmatrix|cp\.async\.wait")
USED = re.compile(r"(ld|st|atom|red)\.shared|ldmatrix|cp\.async\.wait")
INSTRUCTION = re.compile(r"^(\s*)(@!?%p\d+\s+)?([a-z][\w.:]*)(\s+(.*))?;\s*$")


class Mutant(collections.namedtuple("Mutant", "kind line text what")):
    """`line` of the PTX (0-based) becomes `text`."""

    def apply(self, ptx):
        lines = ptx.split("\n")
        lines[self.line] = self.text
        return "\n".join(lines)


def registers(text):
    return [m.group(0) for m in REGISTER.finditer(text)]


def joins_next(lines, number):
    """Is a dropped commit without effect, whatever the input? Its copies join the group of the thread's next commit, which must come
    before any wait, label or branch. With W the most groups that a wait of the kernel leaves in flight, every wait must be for both:
    W is 0; or these are commits k and k + 1 of n on the straight line at the kernel's start, and k + 1 <= n - W. (A wait that leaves
    w <= W of c >= n groups is for the first c - w, of one group less for c - 1 - w, the joined one among them.)"""
    most = max((int(left) for left in re.findall(r"cp\.async\.wait_group\s+(\d+)", "\n".join(lines))), default=0)
    commits = [i for i, line in enumerate(lines) if re.match(r"\s*cp\.async\.commit", line)]
    ends = [i for i, line in enumerate(lines) if re.match(r"\s*(@!?%p\d+\s+)?(bra|ret|exit|cp\.async\.wait)|\$L__BB", line)]
    after = [i for i in commits if i > number]
    if not after or any(number < i < after[0] for i in ends):
        return False
    start = [i for i in commits if i < ends[0]]
    return most == 0 or (number in start and start.index(number) + 2 <= len(start) - most)


def always_true(lines, guard):
    """Whether the guard's predicate is the constant true: its mask has no effect on any input."""
    predicate = re.match(r"@(%p\d+)", guard)
    if not predicate:
        return False
    writes = [line for line in lines if re.match(rf"\s*(@!?%p\d+\s+)?[a-z][\w.]*\s+{predicate.group(1)}\b", line)]
    return [line.split() for line in writes] == [["mov.pred", predicate.group(1) + ",", "-1;"]]


def faults(ptx, rng):
    """All faults of a text: {kind: [Mutant]}."""
    found = collections.defaultdict(list)
    lines = ptx.split("\n")
    inside, defined = False, collections.defaultdict(list)

    def add(kind, number, text, what):
        if text != lines[number]:
            found[kind].append(Mutant(kind, number, text, what))

    for number, line in enumerate(lines):
        if line.startswith("{"):
            inside, begin = True, number
        if line.startswith("}"):
            inside = False
        match = INSTRUCTION.match(line)
        if not inside or not match or line.strip().startswith("."):
            continue
        indent, guard, opcode, _, operands = match.groups()
        guard, operands = guard or "", operands or ""
        drop = f"{indent}// dropped"
        memory = re.match(r"(ld|st|atom|red|cp\.async)\.", opcode)
        # Synchronization.
        # Not counted as faults, because without effect whatever the input. A barrier outside of loops that has shared memory
        # used on one side only (copies that no wait has ended count for neither side), or stores alone before it and nothing
        # until the next barrier. The wait and commit that drain what is left after the pipelined loop.
        earlier, later = "\n".join(lines[begin:number]), "\n".join(lines[number + 1:])
        loops = any(re.search(rf"^{re.escape(target)}:", earlier, re.M) for target in re.findall(r"bra\s+(\$\w+)", later))
        if opcode.startswith(("bar.sync", "barrier")) and not loops:
            before, after = USED.search(earlier), USED.search(later)
            pending = READ.search(earlier) or MOVED.search(later.split("bar.sync")[0])
            if not (before and after and pending):
                continue
        elif opcode.startswith(("cp.async.wait", "cp.async.commit")) and not loops and "mma." not in later:
            continue
        elif opcode.startswith("cp.async.commit") and joins_next(lines[begin:], number - begin):
            continue
        if opcode.startswith("bar.sync") or opcode.startswith("barrier"):
            add("barrier dropped", number, drop, opcode)
        elif opcode.startswith("cp.async.wait"):
            add("wait dropped", number, drop, opcode)
            if operands.strip().isdigit():
                add("wait too weak", number, f"{indent}{opcode} {int(operands) + 1};", operands)
        elif opcode.startswith("cp.async.commit"):
            add("commit dropped", number, drop, opcode)
        # Masks and predicates.
        elif guard and opcode != "bra" and memory:
            if not always_true(lines, guard):
                add("mask dropped", number, line.replace(guard, "", 1), guard)
            add("mask inverted", number, line.replace(guard, guard.replace("@", "@!").replace("@!!", "@"), 1), guard)
        elif guard and opcode.startswith("bra"):
            add("branch inverted", number, line.replace(guard, guard.replace("@", "@!").replace("@!!", "@"), 1), guard)
        if memory and not opcode.startswith(("cp.async.wait", "cp.async.commit", "ld.param")):
            if opcode.startswith(("st.", "cp.async", "red", "atom")):
                add("store dropped", number, drop, opcode)
            address = re.search(r"\[\s*(%\w+)\s*(\+\s*(-?\d+))?\s*\]", line)
            if address:
                step = rng.choice((-16, 16, 64, -64, 128))
                offset = int(address.group(3) or 0) + step
                add("offset changed", number, line[:address.start()] + f"[{address.group(1)}+{offset}]" + line[address.end():],
                    f"by {step}")
        if opcode.startswith("cp.async.c") and "0x" in operands:
            # The size operand of a masked copy: all or nothing.
            last = operands.rsplit(",", 1)[-1].strip()
            if last.startswith("%"):
                add("copy unmasked", number, line.replace(", " + last, ", 16"), last)
        if opcode.startswith("ldmatrix"):
            if ".trans" in opcode:
                add("trans dropped", number, line.replace(".trans", "", 1), opcode)
        # Arithmetic: constants (swizzle, stage), comparisons, opcodes.
        constant = re.search(r"(?<![\w%.+])(-?\d+)\s*;", line)
        if constant and re.match(r"(xor|or|shl)", opcode):
            value = int(constant.group(1))
            bit = 1 << rng.randrange(max(1, min(8, abs(value).bit_length())))
            add("swizzle bit", number, line[:constant.start(1)] + str(value ^ bit) + ";", f"{value} ^ {bit}")
        elif (constant and re.match(r"(add|sub|mad|mul)\.", opcode) and ".f" not in opcode
              and abs(int(constant.group(1))) < 1 << 20):
            value = int(constant.group(1))
            add("constant changed", number, line[:constant.start(1)] + str(value + rng.choice((-32, 1, 8))) + ";", str(value))
        elif constant and opcode.startswith("setp") and 2 <= abs(int(constant.group(1))) < 1 << 20:
            # Stage counters by one, bounds by half a tile, so that the condition holds less often: one copy too early
            # is harmless, one copy too few is a fault. Tests against 0 and 1 are of signs, huge numbers a float's bits.
            value = int(constant.group(1))
            step = 1 if abs(value) < 8 else abs(value) // 2 + 1
            sign = {"gt": 1, "ge": 1, "lt": -1, "le": -1}.get(opcode.split(".")[1]) or rng.choice((-1, 1))
            add("stage or bound changed", number, line[:constant.start(1)] + str(value + sign * step) + ";", str(value))
        compare = re.match(r"setp\.(lt|le|gt|ge|eq|ne)\.", opcode)
        if compare and "0f" not in operands:  # with a float's constant: special cases of libdevice
            opposite = dict(lt="ge", le="gt", gt="le", ge="lt", eq="ne", ne="eq")[compare.group(1)]
            add("comparison inverted", number, line.replace(f"setp.{compare.group(1)}.", f"setp.{opposite}.", 1), opposite)
        for old, new in (("add.s32", "sub.s32"), ("add.f32", "sub.f32"), ("sub.f32", "add.f32"), ("mul.f32", "add.f32"),
                         ("max.f32", "min.f32"), ("and.pred", "or.pred"), ("or.b32", "and.b32"), ("shl.b32", "shr.u32")):
            if opcode == old and "0f" not in operands:
                add("operation changed", number, line.replace(old, new, 1), f"{old} -> {new}")
        lane = re.search(r"shfl\.sync\.bfly\.b32.*?, (\d+), 31, -1", line)
        if lane:
            add("shuffle distance", number, line.replace(f", {lane.group(1)}, 31", f", {int(lane.group(1)) ^ 3}, 31"), "")
        # A register: another one of its type, defined before.
        names = registers(operands)
        if opcode.startswith("mma"):
            groups = re.findall(r"\{[^}]*\}", operands)
            if len(groups) == 4:
                one = rng.choice(registers(groups[1]))
                other = [r for r in registers(groups[1]) + registers(groups[2]) if r != one]
                if other:
                    wrong = operands.replace(groups[1], groups[1].replace(one, rng.choice(other)), 1)
                    add("operand of mma", number, line.replace(operands, wrong, 1), one)
            add("mma dropped", number, re.sub(r"^\s*", "// ", line), opcode)
        elif len(names) > 1 and not opcode.startswith(("ld.param", "mov", "cvta")):
            source = rng.choice(names[1:] if not opcode.startswith(("st", "red", "cp")) else names)
            bank = REGISTER.match(source).group(1)
            others = [r for r in defined[bank][-12:] if r != source and r not in names]
            if others:
                at = line.rindex(source)
                wrong = rng.choice(others)
                text = line[:at] + wrong + line[at + len(source):]
                add("register changed", number, text, f"{source} -> {wrong}")
        if names and not opcode.startswith(("st", "bra", "bar", "red")):
            defined[REGISTER.match(names[0]).group(1)].append(names[0])
    return found
