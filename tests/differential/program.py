# tests/differential/program.py - complete kernels: loads, control flow, helpers, stores, atomics around random expressions.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import dataclasses

from generate import (LARGEST_SAFE, LENGTH, MAX_ELEMENTS, SHORT, Buffer, Case, Generator)
from pointers import Pointers
from values import FLOATS, INTS, boolean, floating, integer, limits

COMBINE = """@triton.jit
def larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def both(a, b):
    return a & b


"""
SHAPES = [(8, 4), (16, 8), (4, 16), (16, 16), (32, 4), (2, 32), (64, 2), (1, 16), (16, 1), (8, 64), (32, 32)]


class Program(Pointers, Generator):

    # ---- memory
    def buffer(self, name, dtype, elements, fill):
        if name not in self.buffers:
            self.buffers[name] = Buffer(name, dtype, elements, fill)
        return self.buffers[name]

    def input(self, dtype=None):
        dtype = dtype or self.rng.choice(list(INTS) + ["float16", "float32", "float32", "float32", "float64", "bfloat16"])
        fill = "grid" if dtype in FLOATS else self.rng.choice(["small", "wide"])
        return self.buffer("x%s%s" % (SHORT[dtype], "w" if fill == "wide" else ""), dtype, LENGTH, fill)

    def loaded(self, buffer, text, shape, masked):
        """The facts about the values in an input buffer."""
        if buffer.dtype in FLOATS:
            return floating(text, buffer.dtype, shape, 8.0, 0.0, 3)
        if buffer.fill == "wide":
            return integer(text, buffer.dtype, shape, *limits(buffer.dtype))
        return integer(text, buffer.dtype, shape, 0 if buffer.dtype[0] == "u" else -50, 50)

    def index(self, shape, stride):
        """Offsets of a block of this shape into a buffer of LENGTH elements, at most 1023 + shape."""
        if shape == ():
            return "pid"
        names = ["rows", "columns"]
        if len(shape) == 1:
            return "(pid * %d + tl.arange(0, %d) * %d)" % (self.rng.randrange(40), shape[0], stride)
        if len(shape) == 2:
            return "(pid * %d + %s[:, None] * %d + %s[None, :])" % (self.rng.randrange(40), names[0], stride, names[1])
        return "(pid * %d + tl.arange(0, %d)[:, None, None] * %d + rows[None, :, None] * %d + columns[None, None, :])" % (
            self.rng.randrange(20), shape[0], shape[1] * shape[2], shape[2])

    def load(self):
        m, n = self.tile
        choices = [(m, n)] * 4 + [(m,), (n,), ()]
        if 2 * m * n <= 1024:
            choices.append((2, m, n))
        shape = self.rng.choice(choices)
        buffer = self.input()
        stride = self.rng.choice([n, n, n + 3]) if len(shape) == 2 else self.rng.choice([1, 1, 2])
        gathered = self.pick(lambda v: v.is_int and v.shape == shape and INTS[v.dtype][0] >= 16) if self.chance(0.25) else None
        offset = "(%s & 1023)" % gathered.text if gathered else self.index(shape, stride)
        pointer = "%s + %s" % (buffer.name, offset)
        mask = self.pick(lambda v: v.is_bool and v.shape == shape) if self.chance(0.4) else None
        if mask is None and self.chance(0.4) and not gathered:
            mask = boolean("(%s < n)" % offset, shape)
        rest = ""
        if mask is not None:
            rest = ", mask=%s" % mask.text
            if self.chance(0.6):
                rest += ", other=%s" % (self.rng.choice(["0.0", "1.5", "-2.0"]) if buffer.dtype in FLOATS
                                        else self.rng.choice(["0", "1", "7"]))
        self.keep(self.loaded(buffer, "tl.load(%s%s)" % (pointer, rest), shape, mask is not None), "x")

    def block_load(self):
        m, n = self.tile
        buffer = self.input(self.rng.choice(["int32", "float32", "float16", "int8", "float64"]))
        height, width = self.rng.choice([(40, 50), (33, 64), (64, 37)])
        check = self.rng.choice(["(0, 1)", "(1,)", "(0,)", "(0, 1)"])
        rows = self.rng.choice([0, 3, height - 2]) if "0" in check else 0
        columns = self.rng.choice([0, 5, width - 1]) if "1" in check else 0
        # What is not checked must lie inside of the buffer.
        if ("0" not in check and m > height) or ("1" not in check and n > width):
            return
        back = self.rng.choice(["0", "-2"]) if check == "(0, 1)" else "0"
        name = self.name("p")
        self.emit("%s = tl.make_block_ptr(%s, (%d, %d), (%d, 1), (%d, %s), (%d, %d), (1, 0))" % (
            name, buffer.name, height, width, width, rows, columns if back == "0" else back, m, n))
        padding = self.rng.choice(["", ', padding_option="zero"'])
        value = self.loaded(buffer, "tl.load(%s, boundary_check=%s%s)" % (name, check, padding), (m, n), True)
        self.keep(value, "x")
        if self.chance(0.4) and check == "(0, 1)":
            self.emit("%s = tl.advance(%s, (%d, %d))" % (name, name, self.rng.choice([0, 1, m]), self.rng.choice([0, 2, n])))
            self.keep(dataclasses.replace(value), "x")

    def walk(self):
        """A loop that moves pointers, plain ones or a block pointer, and adds what they point to."""
        m, n = self.tile
        dtype = self.rng.choice(["int32", "int64", "float32", "float32", "float64"])
        buffer, rounds = self.input(dtype), self.rng.choice([1, 2, 4])
        total, pointer = self.name("w"), self.name("p")
        blocked = self.chance(0.5)
        shape = (m, n) if blocked else self.rng.choice([(m, n), (m,), (n,)])
        self.emit("%s = tl.zeros(%s, tl.%s)" % (total, list(shape), dtype))
        if blocked:
            self.emit("%s = tl.make_block_ptr(%s, (40, 50), (50, 1), (%d, %d), (%d, %d), (1, 0))" % (
                pointer, buffer.name, self.rng.choice([0, 7, 39]), self.rng.choice([-1, 0, 30]), m, n))
        else:
            self.emit("%s = %s + %s" % (pointer, buffer.name, self.index(shape, n if len(shape) == 2 else 1)))
        mask = "" if blocked else self.rng.choice(["", "", ", mask=%s < n + pid" % self.index(shape, n if len(shape) == 2 else 1)])
        self.emit("for %s in range(%d):" % (self.name("i"), rounds))
        self.depth += 1
        if blocked:
            self.emit("%s += tl.load(%s, boundary_check=(0, 1))" % (total, pointer))
            self.emit("%s = tl.advance(%s, (%d, %d))" % (pointer, pointer, self.rng.choice([0, 1, m]), self.rng.choice([0, 3, n])))
        else:
            self.emit("%s += tl.load(%s%s)" % (total, pointer, mask))
            self.emit(self.rng.choice(["%s += %d", "%s = %s + %d"]).replace("= %s +", "= " + pointer + " +")
                      % (pointer, self.rng.choice([1, 16, 100])))
        self.depth -= 1
        value = self.summed(total, self.loaded(buffer, "", shape, True), rounds, shape)
        if value is not None:
            self.scope.append(value)

    def block_store(self):
        """A block pointer over a part of the program's own segment; what hangs over is not written."""
        value = self.pick(lambda v: len(v.shape) == 2 and not v.is_bool)
        if value is None:
            return
        (m, n), buffer = value.shape, self.buffer("o" + SHORT[value.dtype], value.dtype, 0, "output")
        base, pitch = buffer.elements, n + 3
        if base + m * pitch > self.segment:
            return
        buffer.elements += m * pitch
        rows, columns = max(1, m - self.rng.randrange(3)), max(1, n - self.rng.randrange(4))
        pointer = self.name("p")
        self.emit("%s = tl.make_block_ptr(%s + pid * %d + %d, (%d, %d), (%d, 1), (%d, %d), (%d, %d), (1, 0))" % (
            pointer, buffer.name, self.segment, base, rows, columns, pitch, self.rng.choice([0, 0, 1, -1]),
            self.rng.choice([0, 0, 2, -1]), m, n))
        self.emit("tl.store(%s, %s, boundary_check=(0, 1))" % (pointer, value.text))
        buffer.errors[base] = (m * pitch, value.err)

    def flags(self):
        """A mask from memory."""
        m, n = self.tile
        shape = self.rng.choice([(m, n), (m,), (n,)])
        buffer = self.buffer("xb", "bool", LENGTH, "flags")
        self.keep(boolean("tl.load(%s + %s)" % (buffer.name, self.index(shape, n if len(shape) == 2 else 1)), shape), "m")

    def offsets(self, shape):
        """0, 1, 2 ... over a block, and how many."""
        sizes = [str(s) for s in shape]
        if not shape:
            return "0"
        parts = []
        for i, size in enumerate(shape):
            index = ["None"] * len(shape)
            index[i] = ":"
            part = "tl.arange(0, %d)" % size
            if len(shape) > 1:
                part += "[%s]" % ", ".join(index)
            below = 1
            for later in shape[i + 1:]:
                below *= later
            parts.append(part + (" * %d" % below if below > 1 else ""))
        return "(" + " + ".join(parts) + ")" if sizes else "0"

    def store(self, value):
        """To the program's own segment of the output of the value's type."""
        dtype = "int8" if value.is_bool else value.dtype
        buffer = self.buffer("o" + SHORT[dtype], dtype, 0, "output")
        base = buffer.elements
        buffer.elements += value.size
        if base + value.size > self.segment:
            buffer.elements = base
            return
        mask = ""
        if self.chance(0.25):
            found = self.pick(lambda v: v.is_bool and v.shape == value.shape)
            mask = ", mask=%s" % found.text if found is not None and found.err == 0 else ""
        text = value.text + (".to(tl.int8)" if value.is_bool else "")
        self.emit("tl.store(%s + pid * %d + %d + %s, %s%s)" % (
            buffer.name, self.segment, base, self.offsets(value.shape), text, mask))
        buffer.errors[base] = (value.size, value.err)
        if self.chance(0.15) and not mask and value.shape and value.err == 0 and not value.is_bool:
            self.reload(buffer, base, value)

    def reload(self, buffer, base, value):
        """Reads back what was stored, in another order, and may store it over itself."""
        size, name = value.size, self.name("y")
        shift = self.rng.randrange(size)
        self.emit("%s = tl.load(%s + pid * %d + %d + ((tl.arange(0, %d) + %d) & %d))" % (
            name, buffer.name, self.segment, base, size, shift, size - 1))
        again = value.like(name, (size,))
        if self.chance(0.5):
            self.emit("tl.store(%s + pid * %d + %d + tl.arange(0, %d), %s)" % (buffer.name, self.segment, base, size, name))
        if value.dtype != "bfloat16":
            self.scope.append(again)

    def atomic(self):
        value = self.pick(lambda v: v.dtype in ("int32", "int64", "uint32") and v.size <= 256)
        index = self.number(lambda v: v.is_int and value is not None and v.shape == value.shape)
        if value is None or index is None:
            return
        op = self.rng.choice(["add", "max", "min", "and", "or", "xor"])
        buffer = self.buffer("a%s%s" % (op, SHORT[value.dtype]), value.dtype, 64, "zero")
        mask = self.pick(lambda v: v.is_bool and v.shape == value.shape) if self.chance(0.4) else None
        # The interpreter's atomics read arrays of numpy as if they had no strides: operations make fresh ones.
        fresh = (lambda v: v.text) if value.shape == () else (lambda v: "tl.ravel(%s)" % v.text)
        self.emit("tl.atomic_%s(%s + (%s & 63), %s + 0%s)" % (
            op, buffer.name, fresh(index), fresh(value),
            ", mask=%s & %s" % (fresh(mask), fresh(mask)) if mask is not None else ""))

    # ---- statements
    EXPRESSIONS = ["binary"] * 8 + ["unary"] * 3 + ["cast"] * 3 + ["where"] * 2 + ["logic", "bitcast"] + \
        ["reduce"] * 3 + ["scan", "combined", "dot", "dot"] + ["reshape"] * 4

    def expression(self):
        for _ in range(8):
            value = getattr(self, self.rng.choice(self.EXPRESSIONS))()
            if value is not None and value.size <= MAX_ELEMENTS and value.mag <= LARGEST_SAFE and len(value.text) < 160:
                return value
        return None

    def inline(self):
        """A binary operation on an expression instead of a name."""
        inner = self.expression()
        if inner is None or inner.is_bool or inner.dtype == "bfloat16":
            return inner
        return self.binary(a=inner) or inner

    def statement(self, level):
        if "pointers" in self.features and level == 0 and self.chance(0.3):
            self.rng.choice([self.pointer_load, self.pointer_load, self.pointer_store])()
            return
        kind = self.rng.random()
        if kind < 0.12:
            self.load()
        elif kind < 0.16 and level == 0:
            self.block_load()
        elif kind < 0.24 and level < 2:
            self.branch(level)
        elif kind < 0.34 and level < 2:
            self.loop(level)
        elif kind < 0.40:
            self.call()
        elif kind < 0.43:
            self.atomic()
        elif kind < 0.47 and level == 0:
            self.rng.choice([self.walk, self.walk, self.block_store, self.flags])()
        elif kind < 0.50 and level == 0:
            value = self.pick()
            self.store(value)
        else:
            value = self.inline() if self.chance(0.25) else self.expression()
            if value is not None:
                self.keep(value)

    def statements(self, count, level):
        for _ in range(count):
            self.statement(level)

    def block(self, count, level):
        """Statements of an arm or body; what they define ends with it."""
        outer = list(self.scope)
        self.depth += 1
        before = len(self.lines)
        self.statements(count, level)
        inner = self.scope
        if len(self.lines) == before:
            self.emit("pass")
        self.scope = outer
        self.depth -= 1
        return inner

    def condition(self):
        scalar = self.pick(lambda v: v.is_int and v.shape == () and not v.text.startswith("("))
        if scalar is None or self.chance(0.5):
            return "pid %s %d" % (self.rng.choice(["<", ">", "==", "!=", ">="]), self.rng.randrange(4))
        return "%s %s %d" % (scalar.text, self.rng.choice(["<", ">"]), self.rng.choice([0, 3, 20]))

    def branch(self, level):
        """An `if`: one variable gets a value of one type in both arms, or changes in one."""
        old = self.number()
        if old is None:
            return
        name = self.name("c")
        both = self.chance(0.6)
        if not both:
            self.emit("%s = %s" % (name, old.text))
        self.emit("if %s:" % self.condition())
        first = self.arm(name, old, level)
        other = old
        if both:
            self.emit("else:")
            other = self.arm(name, old, level)
        if old.is_int:
            self.scope.append(integer(name, old.dtype, old.shape, min(first.low, other.low), max(first.high, other.high)))
        else:
            self.scope.append(self.merged(name, first, other, old.shape))

    def arm(self, name, old, level):
        self.block(self.rng.randrange(3), level + 1)
        inner = old
        self.depth += 1
        for _ in range(6):
            value = self.binary(a=old)
            if value is not None and value.dtype == old.dtype and value.shape == old.shape:
                inner = value
                break
        self.emit("%s = %s" % (name, inner.text))
        self.depth -= 1
        return inner

    def loop(self, level):
        """A loop that carries one sum, extreme or integer."""
        m, n = self.tile
        shape = self.rng.choice([(m, n), (m,), ()])
        dtype = self.rng.choice(["int32", "int64", "uint32", "float32", "float32", "float64"])
        start = self.pick(lambda v: v.dtype == dtype and v.shape == shape)
        rounds = self.rng.choice([1, 2, 3, 5])
        name, i, k = self.name("s"), self.name("i"), self.name("k")
        if start is None:
            if not shape:
                return
            zero = "tl.zeros(%s, tl.%s)" % (list(shape), dtype)
            start = integer(zero, dtype, shape, 0, 0) if dtype in INTS else floating(zero, dtype, shape, 0.0, 0.0, 0)
        self.emit("%s = %s" % (name, start.text))
        form = self.rng.choice(["range(0, %d)", "range(1, %d)", "range(n %% %d)", "tl.static_range(%d)", "range(%d, 0, -1)",
                                "tl.range(0, %d)", "while", "while"])
        count = min(rounds, 3) if "static" in form else rounds
        if form == "while":
            self.emit("%s = zero + 0" % i)
            self.emit("while %s < %d:" % (i, count))
        else:
            self.emit("for %s in %s:" % (i, form % count))
        outer = list(self.scope)
        self.depth += 1
        self.emit("%s = zero + %s" % (k, i))
        self.scope.append(integer(k, "int32", (), 0, 8))
        self.statements(self.rng.randrange(1, 4), level + 1)
        term = None
        for _ in range(12):
            found = self.inline() if self.chance(0.3) else self.binary()
            if found is not None and found.dtype == dtype and found.shape in (shape, ()):
                term = found
                break
        after = start
        if term is None:
            term = self.pick(lambda v: v.dtype == dtype and v.shape in (shape, ()))
        if term is not None:
            op = self.rng.choice(["+", "+", "max"])
            if op == "max":
                self.emit("%s = tl.maximum(%s, %s)" % (name, name, term.text))
                after = self.merged(name, start, term, shape)
            else:
                total = self.summed(name, term, rounds + 1, shape)
                after = total and (integer(name, dtype, shape, *limits(dtype)) if dtype in INTS
                                   else self.float_op("+", total, start, dtype, shape))
                if after is None:
                    after = start
                    self.emit("pass")
                else:
                    self.emit("%s %s" % (name, "+= %s" % term.text if self.chance(0.5) else "= %s + %s" % (name, term.text)))
        if form == "while":
            self.emit("%s += 1" % i)
        self.depth -= 1
        self.scope = outer
        self.scope.append(after.like(name))

    def call(self):
        """A helper made for the types of its arguments."""
        a, b = self.number(), self.number()
        if a is None:
            return
        name = self.name("helper")
        inner = Program(self.rng.randrange(1 << 30), self.features)
        inner.tile, inner.segment, inner.buffers = self.tile, 0, self.buffers
        inner.scope = [a.like("x"), b.like("y")]
        inner.count = 0
        for _ in range(self.rng.randrange(1, 4)):
            value = inner.expression()
            if value is not None:
                inner.keep(value, "t")
        result = inner.scope[-1]
        early = self.chance(0.3) and not result.is_bool and result.dtype != "bfloat16"
        lines = ["@triton.jit", "def %s(x, y, pid):" % name] + inner.lines
        if early:
            other = next((v for v in (inner.binary(a=result) for _ in range(6))
                          if v is not None and v.dtype == result.dtype and v.shape == result.shape), None)
            if other is not None:
                lines += ["    if pid > %d:" % self.rng.randrange(3), "        return %s" % other.text]
                result = (integer("", result.dtype, result.shape, min(result.low, other.low), max(result.high, other.high))
                          if result.is_int else self.merged("", result, other, result.shape)).like(result.text)
        others = [v for v in inner.scope[2:-1] if not early]
        if others and self.chance(0.4):             # a tuple
            other = others[-1]
            self.helpers += inner.helpers + lines + ["    return %s, %s" % (result.text, other.text), "", ""]
            first, second = self.name("v"), self.name("v")
            self.emit("%s, %s = %s(%s, %s, pid)" % (first, second, name, a.text, b.text))
            self.scope += [other.like(second), result.like(first)]
            return
        lines += ["    return %s" % result.text, "", ""]
        self.helpers += inner.helpers + lines
        keyword = "y=%s, pid=pid" % b.text if self.chance(0.3) else "%s, pid" % b.text
        self.keep(result.like("%s(%s, %s)" % (name, a.text, keyword)))

    # ---- the kernel
    def case(self):
        rng = self.rng
        self.tile = rng.choice(SHAPES)
        self.grid = rng.choice([(1,), (2,), (3,), (2, 2), (4,), (1, 3)])
        self.segment = 1 << 14
        m, n = self.tile
        self.emit("rows = tl.arange(0, M)")
        self.emit("columns = tl.arange(0, N)")
        self.emit("pid = tl.program_id(0)" if len(self.grid) == 1
                  else "pid = tl.program_id(1) * tl.num_programs(0) + tl.program_id(0)")
        self.emit("zero = pid - pid")
        self.emit("factor = zero.to(tl.float32) + scale")       # a Python float in the interpreter
        self.scope += [integer("rows", "int32", (m,), 0, m - 1), integer("columns", "int32", (n,), 0, n - 1),
                       integer("pid", "int32", (), 0, 5), integer("n", "int32", (), 0, LENGTH),
                       floating("factor", "float32", (), 4.0, 0.0, 3)]
        for _ in range(rng.randrange(2, 5)):
            self.load()
        self.statements(rng.randrange(6, 22), 0)
        kept = [v for v in self.scope if v.text not in ("rows", "columns", "pid", "n", "factor")]
        for value in kept[-8:]:
            self.store(value)
        if not any(b.fill == "output" and b.errors for b in self.buffers.values()):
            self.store(self.pick(lambda v: v.is_int))
        for buffer in self.buffers.values():
            if buffer.fill == "output":
                buffer.elements = self.segment * programs(self.grid)
        scalars = {"n": rng.choice([5, 16, 77, 128, 1000]), "scale": rng.choice([0.5, 1.25, -2.0, 3.0])}
        return Case(self.seed, self.render(), self.grid, list(self.buffers.values()), scalars, self.tile, self.segment)

    def render(self):
        parameters = ", ".join([b.name for b in self.buffers.values()] + ["n", "scale", "M: tl.constexpr", "N: tl.constexpr"])
        return "\n".join(["import triton", "import triton.language as tl", "", "", COMBINE] + self.helpers +
                         ["@triton.jit", "def kernel(%s):" % parameters] + self.lines) + "\n"


def programs(grid):
    count = 1
    for n in grid:
        count *= n
    return count


def generate(seed, features=()):
    return Program(seed, features).case()
