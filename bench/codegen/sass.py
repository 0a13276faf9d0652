# bench/codegen/sass.py - reads a disassembly of nvdisasm: its loops, and their instructions by class.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""The rules are those of ptx/SassListing.cpp and ptx/Loops.cpp, so that the counts are those of `tessera report`, which reads PTX only.
A loop is a natural loop of the flow graph. An iteration of an innermost loop is the path from its head back to it that has the most tensor
instructions, accesses of memory (but the stack) and barriers, and of these paths the shortest. NOP is not counted."""
import collections
import re

# Class -> opcodes without modifiers. An opcode that no class names is "integer" (ptx/SassListing.cpp: Alu).
OPCODES = {
    "tensor": "HMMA IMMA BMMA DMMA QMMA HGMMA IGMMA QGMMA BGMMA",
    "ldsm": "LDSM",
    "shared": "LDS STS STSM",
    "copy": "LDGSTS UBLKCP UTMALDG UTMASTG",
    "global": "LDG LD STG ST ATOM ATOMG ATOMS RED REDG SUREDG",
    "local": "LDL STL",
    "exp": "MUFU",
    "fp": "FADD FMUL FFMA FMNMX FCHK FSWZADD HADD2 HMUL2 HFMA2 HMNMX2 DADD DMUL DFMA",
    "convert": "F2F F2FP F2I I2F I2FP FRND",
    "predicate": "FSEL FSETP FSET SEL ISETP PLOP3 PSETP P2R R2P USEL UISETP UPLOP3 UP2UR HSETP2 DSETP",
    "move": "MOV UMOV",
    "shuffle": "SHFL REDUX VOTE VOTEU MATCH",
    "barrier": "BAR DEPBAR LDGDEPBAR MEMBAR ERRBAR WARPSYNC FENCE SYNCS ARRIVES WARPGROUP CCTL",
    "control": "BRA BRX JMP JMX CALL RET EXIT BSSY BSYNC BREAK BPT KILL YIELD BMOV",
    "other": "LDC ULDC LDCU CCTLL NANOSLEEP S2R S2UR CS2R",
}
CLASSES = [*OPCODES, "integer"]
CLASS_OF = {opcode: kind for kind, opcodes in OPCODES.items() for opcode in opcodes.split()}
MASKS = {"FSEL", "SEL", "FSETP", "ISETP"}  # of a loop that masks scores: a comparison and a selection for each score
DUTIES = {"tensor", "ldsm", "copy", "global", "shared", "barrier"}
BRANCHES = {"BRA", "JMP", "BRX"}
LABEL = re.compile(r"`\(([^)]*)\)")
SECTION = re.compile(r"^\s*\.text\.(\S+):$")
PLACE = re.compile(r'^//## File "([^"]+)", line (\d+)')


def class_of(opcode):
    """The class of an opcode with its modifiers: "HMMA.16816.F32.BF16" is "tensor"."""
    if opcode.startswith(("IMAD.MOV", "IMAD.U32")):
        return "move"
    return CLASS_OF.get(opcode.partition(".")[0], "integer")


def counts_of(opcodes):
    """Class -> how many of the opcodes it has, with their "total". Classes without instructions are left out."""
    counts = dict.fromkeys(CLASSES, 0)
    for opcode in opcodes:
        counts[class_of(opcode)] += 1
    return {kind: count for kind, count in counts.items() if count} | {"total": len(opcodes)}


class Instruction:
    """An instruction: its opcode with modifiers, the label to which it branches (or None), whether the next instruction may follow, and the
    (file, line) of the source from which it comes, or None."""

    def __init__(self, text, place=None):
        text = text.strip()
        self.place = place
        conditional = False
        if text.startswith("@"):
            guard, _, text = text.partition(" ")
            conditional, text = guard != "@PT", text.strip()
        self.opcode = re.split(r"[ ;]", text, maxsplit=1)[0]
        self.label, self.falls_through = None, True
        name = self.opcode.partition(".")[0]
        if name in BRANCHES:
            found = LABEL.search(text)
            self.label = found.group(1) if found else None
            # "BRA P0, `(.L_x_1)" and "BRA.DIV" continue where a lane does not branch.
            operands = text[len(self.opcode):].strip()
            self.falls_through = conditional or name == "BRA" and not operands.startswith("`") or ".DIV" in self.opcode
        elif name in ("EXIT", "RET", "KILL"):
            self.falls_through = conditional


def kernels_of(text):
    """The names of the kernels of a disassembly, in its order."""
    return [found.group(1) for found in map(SECTION.match, text.splitlines()) if found]


def read(text, kernel=None):
    """(instructions, label -> index) of a kernel of the disassembly, of the first one if `kernel` is None. Raises ValueError if the
    disassembly does not have it."""
    code, labels, inside, done, place = [], {}, False, False, None
    for line in text.splitlines():
        section = SECTION.match(line)
        if section:
            inside = not done and kernel in (None, section.group(1))
            done = done or inside
            continue
        line = line.strip()
        if line.startswith(".section"):
            inside = False
        if not inside:
            continue
        if found := PLACE.match(line):
            place = found.group(1), int(found.group(2))
        if line.startswith("/*") and "*/" in line:
            one = Instruction(line.partition("*/")[2], place)
            if one.opcode and one.opcode != "NOP":
                code.append(one)
        elif line.endswith(":"):
            labels.setdefault(line[:-1], len(code))
    if not done:
        raise ValueError("the disassembly has no kernel %s: it has %s" % (kernel or "", ", ".join(kernels_of(text)) or "none"))
    # nvdisasm fills the end with a branch to itself that no instruction reaches.
    if code and not code[-1].falls_through and labels.get(code[-1].label) == len(code) - 1:
        code.pop()
    return code, labels


class Graph:
    """The basic blocks [first, last) of a kernel, and the edges between them. A block ends before a label, after a branch and after EXIT."""

    def __init__(self, code, labels):
        starts = {0, len(code)} | set(labels.values())
        starts |= {i + 1 for i, one in enumerate(code)
                   if labels.get(one.label) is not None or not one.falls_through or one.opcode.startswith("EXIT")}
        bounds = sorted(at for at in starts if at <= len(code))
        self.blocks = list(zip(bounds, bounds[1:]))
        number = {first: block for block, (first, _) in enumerate(self.blocks)}
        self.next = [[number[to] for to in (labels.get(code[last - 1].label), last if code[last - 1].falls_through else None) if to in number]
                     for _, last in self.blocks]
        self.previous = [[] for _ in self.blocks]
        for block, following in enumerate(self.next):
            for to in following:
                self.previous[to].append(block)
        self.order = self._order()
        self.position = {block: i for i, block in enumerate(self.order)}
        self.immediate = self._dominators()

    def _order(self):
        """Reachable blocks in reverse postorder."""
        stack, seen, order = [(0, iter(self.next[0]))], {0}, []
        while stack:
            block, edges = stack[-1]
            to = next((to for to in edges if to not in seen), None)
            if to is None:
                order.append(block)
                stack.pop()
            else:
                seen.add(to)
                stack.append((to, iter(self.next[to])))
        return order[::-1]

    def _dominators(self):
        """Block -> its immediate dominator."""
        immediate, changed = {0: 0}, True

        def meet(a, b):
            while a != b:
                if self.position[a] > self.position[b]:
                    a = immediate[a]
                else:
                    b = immediate[b]
            return a

        while changed:
            changed = False
            for block in self.order[1:]:
                best = None
                for come in self.previous[block]:
                    if come in immediate:
                        best = come if best is None else meet(best, come)
                changed |= immediate.get(block) != best
                immediate[block] = best
        return immediate

    def dominates(self, a, b):
        while self.position[b] > self.position[a]:
            b = self.immediate[b]
        return a == b

    def loops(self):
        """Head -> the blocks of its natural loop."""
        found = {}
        for tail in self.order:
            for head in self.next[tail]:
                if not self.dominates(head, tail):
                    continue
                inside, work = found.setdefault(head, {head}), [tail]
                while work:
                    block = work.pop()
                    if block in self.position and block not in inside:
                        inside.add(block)
                        work += self.previous[block]
        return found


class Path:
    """Instructions on a way through a loop. A path is better if it has more duties, or as many and fewer instructions."""

    def __init__(self, code):
        self.code = code
        self.rank = (-sum(class_of(one.opcode) in DUTIES for one in code), len(code))


def iteration(code, graph, head, inside):
    """The instructions of one iteration of an innermost loop."""
    ways, ends = {}, []
    for block in (b for b in graph.order if b in inside):
        known = [ways[come] for come in graph.previous[block] if block != head and come in ways]
        if block != head and not known:
            continue
        before = min(known, key=lambda way: way.rank).code if known else []
        ways[block] = Path(before + code[slice(*graph.blocks[block])])
        if head in graph.next[block]:
            ends.append(ways[block])
    return min(ends, key=lambda way: way.rank).code if ends else []


def tensor_loops(text, kernel=None):
    """The innermost loops with tensor instructions, in the order of the text: dicts with `at` (index of the first instruction of the head),
    `iteration` and `complete` (opcodes of an iteration and of the complete loop), and `places` (of the instructions of the iteration)."""
    code, labels = read(text, kernel)
    graph = Graph(code, labels)
    loops, found = graph.loops(), []
    for head, inside in sorted(loops.items()):
        if any(other != head and other in inside for other in loops):
            continue
        complete = [one.opcode for block in sorted(inside) for one in code[slice(*graph.blocks[block])]]
        once = iteration(code, graph, head, inside)
        if any(class_of(one.opcode) == "tensor" for one in once):
            found.append(dict(at=graph.blocks[head][0], iteration=[one.opcode for one in once], complete=complete, places=[one.place for one in once]))
    return found


def by_line(loop):
    """(file, line) -> opcode without modifiers -> how many instructions of an iteration come from there; both sorted."""
    counts = {}
    for place, opcode in zip(loop["places"], loop["iteration"]):
        counts.setdefault(place or ("", 0), collections.Counter())[opcode.partition(".")[0]] += 1
    return {place: dict(sorted(counts[place].items())) for place in sorted(counts)}


def masks_of(opcodes):
    """Comparisons and selections for each tensor instruction."""
    tensor = sum(class_of(opcode) == "tensor" for opcode in opcodes)
    return sum(opcode.partition(".")[0] in MASKS for opcode in opcodes) / tensor


def main_loop(loops):
    """The loop for complete tiles: kernels have copies of it that also mask scores. It is the one whose iteration has the fewest comparisons
    and selections for each tensor instruction, and of several the one with the most tensor instructions. None without loops."""
    def rank(loop):
        return masks_of(loop["iteration"]), -sum(class_of(opcode) == "tensor" for opcode in loop["iteration"])
    return min(loops, key=rank, default=None)
