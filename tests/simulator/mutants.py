# tests/simulator/mutants.py - seeded faults in real PTX: does the simulator notice?
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""mutants.py [seed=1] [n=300] [only=KERNEL] [list=1] [results=FILE]

Each mutant is the PTX that Triton made of one kernel with one fault of the kind a code generator makes. It runs on every input of
its kernel. It is caught if a check fires, if an output differs in a bit, or if a run executes more lane instructions or moves more
sectors of global memory than the unchanged PTX does: a fault that only adds work. The others are survivors: each is listed with the
reason that a second, instrumented run gives. `results`: a line of JSON with all that is printed is added there; `caught_without_work`
in it leaves out the third kind. Exit status 1 below 98 % (fewer than 50 mutants: if more than one survives)."""
import collections
import json
import pathlib
import random
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "triton")]

import simulator_launcher as launcher  # noqa: E402
import simulator  # noqa: E402
from simulator_launcher import cdiv, kernel, torch  # noqa: E402
from cases import rows  # noqa: E402
from ptx_faults import INSTRUCTION, REGISTER, Mutant, faults, registers  # noqa: E402
from repository import commit  # noqa: E402
from schedules_all import machine  # noqa: E402
from simulator import ASTSource, Compiled, Finding, SimError, bits_of, specialize  # noqa: E402

TARGET = 0.98
WORK = ("lane_instructions", "global_sectors")  # counters whose increase is a fault


# ---- the kernels and their inputs -------------------------------------------------------------------------------------------

def rand(seed, *dims, dtype=torch.float32):
    return torch.randn(*dims, generator=torch.Generator().manual_seed(seed)).to(dtype)


def empty(*dims, dtype=torch.float32):
    return launcher.fresh(*dims, dtype=dtype)


def ints(*values):
    return torch.tensor(values, dtype=torch.int32)


MATMUL = ((65, 80, 96), (64, 64, 32), (34, 16, 16), (129, 64, 128), (70, 144, 48), (40, 64, 176), (97, 112, 80), (3, 208, 112), (47, 32, 24),
          (77, 96, 200), (64, 128, 160), (20, 40, 72), (5, 16, 0), *((n, n, 16) for n in range(3, 65, 2)))  # the last: the mask of each row and column


def matmul(dtype):
    def make(i):
        m, n, k = MATMUL[i]
        args = (rand(i, m, k, dtype=dtype), rand(i + 9, k, n, dtype=dtype), empty(m, n, dtype=dtype), m, n, k, k, n, n)
        if k % 32:  # what the mask on K hides must not matter: 0 * NaN shows
            args[0][::3] = float("nan")
        return (cdiv(m, 64) * cdiv(n, 64),), args, dict(BM=64, BN=64, BK=32, ROWS=2, LEAKY=1)
    return "tutorials/matmul.py", "matmul", make


def flash_attention(dtype):
    def make(i):
        # A tile has 32 keys, of which a thread copies four rows, 8 apart: ends in each of them.
        t = (96, 7, 33, 64, 65, 130, 128, 161, 45, 84, 60, 105)[i]
        q, k, v = (rand(10 * i + j, 2, t, 64, dtype=dtype) for j in range(3))
        return ((cdiv(t, 64), 2), (q, k, v, empty(2, t, 64, dtype=dtype), empty(2, t), 0.125, t * 64, 64, t),
                dict(D=64, BM=64, BN=32, CAUSAL=1))
    return "tutorials/flash_attention.py", "flash_attention", make


def softmax():
    def make(i):
        rows, cols = ((5, 781), (4, 1024), (3, 513), (1, 1), (2, 129), (6, 385), (3, 701), (2, 961), (3, 257), (2, 640), (4, 77),
                      (3, 1000))[i]
        return (2,), (rand(i, rows, cols), empty(rows, cols), rows, cols, cols, cols), dict(BLOCK=1024)
    return "tutorials/softmax.py", "softmax", make


def layer_norm():
    def make(i):
        rows, n = ((3, 300), (2, 385), (2, 384), (1, 127), (2, 129), (2, 2), (2, 97), (2, 31), (2, 256), (3, 200), (2, 64),
                   (2, 513))[i]
        return ((rows,), (rand(i, rows, n), rand(i + 3, n), rand(i + 6, n), empty(rows, n), empty(rows), empty(rows), n, n, 1e-5),
                dict(BLOCK=128))
    return "tutorials/layer_norm.py", "layer_norm_fwd", make


def select():
    """Two sequences, two key heads of 16 query heads each: a full tile of rows, none of which is another one's copy. Blocks of 64
    keys are four turns of the inner loop, so that what a turn prepares for the next is used."""
    def make(i):
        first, t = ((30, 70), (3, 5), (64, 64), (1, 129), (33, 40), (96, 97), (63, 96), (1, 34), (45, 60), (20, 104), (13, 41),
                    (75, 340))[i]
        q, k, v = rand(i, t, 32, 32), rand(i + 3, t, 2, 32), rand(i + 6, t, 2, 32)
        if i % 3 == 0:  # what belongs to the other sequence must not matter: 0 * NaN shows
            v[first:] = float("nan")
        generator = random.Random(i)
        index = []
        for _ in range(2):
            for row in range(t):
                blocks = (row if row < first else row - first) // 64 + 1
                index += (sorted({0, blocks - 1, *generator.sample(range(blocks), min(2, blocks))}) + [-1] * 4)[:4]
        o, lse = empty(t, 32, 32), empty(t, 32)
        return ((t + 2, 2), (*rows(q, k, v), ints(*index).reshape(2, t, 4), *rows(o, lse), ints(0, first, t), 0.17, t, 2),
                dict(G=16, GP=16, LSEL=64, NSEL=4, D=32, DP=32, DT=0, E=32, EP=32, BN=16))
    return "nsa/select_fwd.py", "select_fwd", make


BASES = {
    "matmul_f16": (matmul(torch.float16), 4, 3, 4),
    "matmul_f32": (matmul(torch.float32), 4, 4, 3),
    "flash_attention_f16": (flash_attention(torch.float16), 4, 3, 4),
    "flash_attention_f32": (flash_attention(torch.float32), 4, 2, 2),
    "softmax": (softmax(), 4, 2, 1),
    "layer_norm": (layer_norm(), 4, 3, 1),
    "select_fwd": (select(), 2, 2, 2),
}  # kernel, warps, stages, share of the mutants
# How often a kind is drawn; 1 for the others.
WEIGHTS = {"barrier dropped": 2, "wait dropped": 2, "wait too weak": 2, "offset changed": 2,
           "operand of mma": 2, "mma dropped": 2, "store dropped": 2, "branch inverted": 2, "trans dropped": 2}
INPUTS = 12  # of each kernel but matmul: sizes at, just over and under multiples of the tiles, and tiny ones


class Base:
    """One compiled kernel, its inputs, and the outputs of the unchanged PTX."""

    def __init__(self, name):
        (path, function, self.make), warps, stages, self.share = BASES[name]
        self.name, self.fn = name, kernel(path, function)
        self.inputs = len(MATMUL) if function == "matmul" else INPUTS
        # All inputs must share one specialization: sizes are not promised to be divisible, nor 1.
        first = self.specialized(0)
        for i in range(1, self.inputs):
            other = self.specialized(i)
            first = (first[0], first[1], {k: v for k, v in first[2].items() if k in other[2]})
        self.signature, self.constants, self.attributes = first
        self.done = Compiled(ASTSource(self.fn, *first), dict(num_warps=warps, num_stages=stages))
        self.ptx, self.entry = self.done.ptx, self.done.name
        self.expected, self.work, self.longest = [], [], 0
        for i in range(self.inputs):
            outputs, reply = self.run(self.done.module, i)
            self.expected.append(outputs)
            self.work.append(reply["counters"])
            self.longest = max(self.longest, reply["counters"]["warp_instructions"])

    def specialized(self, i):
        _, args, constexprs = self.make(i)
        signature, constants, attributes, _ = specialize(self.fn, args, constexprs)
        return signature, constants, attributes

    def run(self, module, i, limit=0):
        """Outputs as bytes, and the reply. Raises Finding."""
        grid, args, constexprs = self.make(i)
        actual = specialize(self.fn, args, constexprs)[3]
        values = [a.data_ptr() if isinstance(a, torch.Tensor) else bits_of(a) for _, a in actual]
        values += [0] * (len(module.kernels[self.entry]["params"]) - len(values))
        tensors = [(n, a) for n, a in actual if isinstance(a, torch.Tensor)]
        ranges = simulator.ranges_of(tensors)
        reply = module.launch(self.entry, grid, (32 * self.done.warps,), self.done.shared, values, ranges,
                              max_instructions=limit)
        return [bytes(a.contiguous().view(torch.uint8).flatten().numpy()) for _, a in tensors], reply

    def verdict(self, ptx):
        """Returns None for a survivor, otherwise what caught it: the name of a check, "outputs", or "work" if only the counters of
        WORK tell. Raises SimError if the text is not PTX."""
        module, more = simulator.Module(ptx, self.name + ".ptx"), False
        for i in range(self.inputs):
            try:
                outputs, reply = self.run(module, i, 20 * self.longest)
            except Finding as finding:
                return finding.findings[0]["check"]
            if outputs != self.expected[i]:
                return "outputs"
            more = more or any(reply["counters"][name] > self.work[i][name] for name in WORK)
        return "work" if more else None


# ---- why a survivor survives --------------------------------------------------------------------------------------------------

def reason(base, mutant):
    """From runs of instrumented texts. The faulty instruction is never executed; its results never differ; or they do and the
    outputs are the same."""
    lines = base.ptx.split("\n")
    original = lines[mutant.line]
    trap = base.verdict(Mutant("", mutant.line, "\ttrap;\n" + original, "").apply(base.ptx))
    if trap in (None, "work"):
        return "not executed on any input"
    if mutant.kind.startswith(("barrier", "wait", "commit")):
        return "redundant: no two accesses need it on any input (the race check watched)"
    match, wrong = INSTRUCTION.match(original), INSTRUCTION.match(mutant.text)
    if match and wrong and match.group(3).startswith(("setp", "add", "sub", "mul", "mad", "and", "or", "xor", "shl", "shr", "lop3",
                                                      "selp", "fma", "max", "min", "cvt", "shfl", "bfe")):
        names = registers(match.group(5))
        bank = REGISTER.match(names[0]).group(1) if names else ""
        if bank in ("r", "p") and names[0] in match.group(5).split(",")[0]:
            kind = {"r": ".b32", "p": ".pred"}[bank]
            twin = mutant.text.replace(names[0], "%twin", 1)
            differs = ("setp.ne.b32 %differs, %twin, " + names[0] if bank == "r" else f"xor.pred %differs, %twin, {names[0]}")
            text = f"{{ .reg {kind} %twin; .reg .pred %differs;\n{twin}\n{original}\n{differs};\n@%differs trap; }}"
            try:
                if base.verdict(Mutant("", mutant.line, text, "").apply(base.ptx)) in (None, "work"):
                    return "gives the same value at every execution"
            except SimError:
                pass
            return "gives another value that no output depends on"
    if mutant.kind.startswith("mask"):
        return "the mask is true (or its accesses harmless) on every input"
    return "other values, same outputs"


# ---- the run ------------------------------------------------------------------------------------------------------------------

def main():
    settings = dict(a.split("=") for a in sys.argv[1:])
    seed, count = int(settings.get("seed") or 1), int(settings.get("n") or 300)
    rng = random.Random(seed)
    launcher.use("tf32")
    names = [n for n in BASES if settings.get("only", n) == n]
    bases = {name: Base(name) for name in names}
    pool = {name: faults(base.ptx, rng) for name, base in bases.items()}
    if "list" in settings:
        for name, kinds in pool.items():
            print(name, {k: len(v) for k, v in sorted(kinds.items())})
        return 0

    # Draws kernels by their share, kinds by their weight, positions at random; no mutant twice.
    weighted = [name for name in names for _ in range(bases[name].share)]
    taken, tried, killed, invalid = set(), collections.Counter(), collections.Counter(), 0
    by, survivors = collections.Counter(), []
    misses = 0
    while sum(tried.values()) < count and misses < 20 * count:
        name = rng.choice(weighted)
        kind = rng.choice([kind for kind in sorted(pool[name]) for _ in range(WEIGHTS.get(kind, 1))])
        mutant = rng.choice(pool[name][kind])
        if (name, mutant.kind, mutant.line, mutant.text) in taken:
            misses += 1
            continue
        taken.add((name, mutant.kind, mutant.line, mutant.text))
        try:
            verdict = bases[name].verdict(mutant.apply(bases[name].ptx))
        except SimError:
            invalid += 1
            continue
        tried[kind] += 1
        if verdict:
            killed[kind] += 1
            by[verdict] += 1
        else:
            survivors.append((name, mutant))
        if sys.stderr.isatty():
            print(f"\r{sum(tried.values())}/{count}", end="", file=sys.stderr)

    for kind in sorted(tried):
        print(f"{kind:24s} {killed[kind]:4d} of {tried[kind]}")
    print("killed by:", ", ".join(f"{check} {n}" for check, n in by.most_common()))
    listed = []
    for name, mutant in survivors:
        line = bases[name].ptx.split("\n")[mutant.line].strip()
        print(f"SURVIVED {name} line {mutant.line + 1}: {mutant.kind} ({mutant.what}): {line}")
        why = reason(bases[name], mutant)
        print(f"         outputs bit-identical on {bases[name].inputs} inputs; {why}")
        listed.append(dict(kernel=name, line=mutant.line + 1, kind=mutant.kind, what=mutant.what, text=line, reason=why))
    total, caught = sum(tried.values()), sum(killed.values())
    print(simulator.summary())
    print(f"caught {caught} of {total} mutants, {caught - by['work']} without the counters of work (seed {seed}; {invalid} texts were "
          f"not valid PTX and are not counted)")
    if "results" in settings:
        row = dict(seed=seed, mutants=total, caught=caught, caught_without_work=caught - by["work"], invalid=invalid, by=dict(by),
                   kinds={k: [killed[k], tried[k]] for k in sorted(tried)}, survivors=listed,
                   inputs={name: base.inputs for name, base in bases.items()}, commit=commit(),
                   date=time.strftime("%Y-%m-%d", time.gmtime()), machine=machine())
        with open(settings["results"], "a") as out:
            out.write(json.dumps(row) + "\n")
    return 0 if total and caught >= min(TARGET * total, total - 1) else 1


if __name__ == "__main__":
    sys.exit(main())
