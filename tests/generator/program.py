# tests/generator/program.py - a kernel as a tree of statements: its text in the language, and its meaning in numpy.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import dataclasses
import itertools

import numpy as np
import values


@dataclasses.dataclass
class Assign:
    """names = text; `compute(env)` gives their values."""
    names: list
    text: str
    uses: set
    compute: object

    def lines(self):
        return ["%s = %s" % (", ".join(self.names), self.text)]

    def run(self, state):
        results = self.compute(state.env)
        for name, value in zip(self.names, results if len(self.names) > 1 else [results]):
            state.env[name] = value

    def defines(self):
        return set(self.names)


@dataclasses.dataclass
class Effect:
    """A store or an atomic; `apply(state)` changes memory. `names`: the results of an atomic, if they are used."""
    text: str
    uses: set
    apply: object
    names: list = dataclasses.field(default_factory=list)

    def lines(self):
        return [(self.names[0] + " = " if self.names else "") + self.text]

    def run(self, state):
        result = self.apply(state)
        if self.names:
            state.env[self.names[0]] = result

    def defines(self):
        return set(self.names)


@dataclasses.dataclass
class Load:
    name: str
    text: str
    uses: set
    read: object  # (state) -> value

    def lines(self):
        return ["%s = %s" % (self.name, self.text)]

    def run(self, state):
        state.env[self.name] = self.read(state)

    def defines(self):
        return {self.name}


def indented(body):
    return ["    " + line for statement in body for line in statement.lines()] or ["    pass"]


def run_all(body, state):
    for statement in body:
        statement.run(state)


def uses_of(body):
    return set().union(*(s.uses if not hasattr(s, "all_uses") else s.all_uses() for s in body)) if body else set()


@dataclasses.dataclass
class For:
    """for variable in range(start, stop, step): bounds are expressions of the environment."""
    variable: str
    header: str
    rounds: object  # (env) -> numpy scalars
    uses: set
    body: list

    def lines(self):
        return ["for %s in %s:" % (self.variable, self.header)] + indented(self.body)

    def run(self, state):
        for number in self.rounds(state.env):
            state.env[self.variable] = number
            run_all(self.body, state)

    def defines(self):
        return set()

    def all_uses(self):
        return self.uses | uses_of(self.body)


@dataclasses.dataclass
class While:
    condition: str
    holds: object
    uses: set
    body: list

    def lines(self):
        return ["while %s:" % self.condition] + indented(self.body)

    def run(self, state):
        for _ in range(1000):
            if not self.holds(state.env):
                return
            run_all(self.body, state)
        raise AssertionError("a while loop of the generator does not terminate")

    def defines(self):
        return set()

    def all_uses(self):
        return self.uses | uses_of(self.body)


@dataclasses.dataclass
class If:
    condition: str
    holds: object
    uses: set
    body: list
    other: list

    def lines(self):
        return ["if %s:" % self.condition] + indented(self.body) + (["else:"] + indented(self.other) if self.other else [])

    def run(self, state):
        run_all(self.body if self.holds(state.env) else self.other, state)

    def defines(self):
        return set()

    def all_uses(self):
        return self.uses | uses_of(self.body) | uses_of(self.other)


class State:
    """One program of a launch: its variables, and the memory that all programs share."""

    def __init__(self, memory, env):
        self.memory, self.env = memory, env

    def load(self, pointers, mask, other):
        picked = np.array(other, copy=True)
        live = np.ones(pointers.shape, bool) if mask is None else mask
        for number in np.unique(pointers.buffer[live]):
            here = live & (pointers.buffer == number)
            picked[here] = self.memory[number][pointers.index[here]]
        return picked

    def store(self, pointers, value, mask):
        """The addresses of a store differ from one another."""
        live = np.ones(pointers.shape, bool) if mask is None else mask
        for number in np.unique(pointers.buffer[live]):
            here = live & (pointers.buffer == number)
            self.memory[number][pointers.index[here]] = value[here]

    def atomic(self, pointers, value, mask, combine):
        """Elements in any order: either they are at different addresses, or no result is used and `combine` commutes."""
        old = np.zeros(pointers.shape, value.dtype)
        for at in itertools.product(*map(range, pointers.shape)):
            if mask is None or mask[at]:
                buffer, index = self.memory[int(pointers.buffer[at])], int(pointers.index[at])
                old[at] = buffer[index]
                buffer[index] = combine(buffer[index], value[at])
        return old


@dataclasses.dataclass
class Buffer:
    """An argument that points to memory. `own`: elements that each program has for itself; 0: all programs only read it, or add to it."""
    name: str
    element: values.Type
    size: int
    own: int
    initial: np.ndarray
    alias: int = -1  # the buffer whose memory this argument names, too


@dataclasses.dataclass
class Program:
    """A kernel with its launch."""
    buffers: list
    scalars: dict  # name -> int, run-time arguments
    helpers: list  # texts of helpers
    body: list
    programs: int
    options: dict  # num_warps, num_stages

    def text(self, name="kernel"):
        arguments = [b.name for b in self.buffers] + list(self.scalars)
        head = ["import tessera", "import tessera.language as tl", ""]
        # As in Triton, an argument 1 is a constant, which takes the type of the other operand.
        casts = ["    %s = tl.cast(%s, tl.int32)" % (scalar, scalar) for scalar, value in self.scalars.items() if value == 1]
        lines = ["@tessera.jit", "def %s(%s):" % (name, ", ".join(arguments)), "    pid = tl.program_id(0)"] + casts + indented(self.body)
        return "\n".join(head + [line for helper in self.helpers for line in ["", *helper.split("\n"), ""]] + [""] + lines) + "\n"

    def expected(self):
        """Memory after all programs ran."""
        memory = [b.initial.copy() for b in self.buffers]
        for number, buffer in enumerate(self.buffers):
            if buffer.alias >= 0:
                memory[number] = memory[buffer.alias]
        with np.errstate(all="ignore"):
            for pid in range(self.programs):
                env = {"pid": np.asarray(pid, np.int32), **{name: np.asarray(value, np.int32) for name, value in self.scalars.items()}}
                run_all(self.body, State(memory, env))
        return memory
