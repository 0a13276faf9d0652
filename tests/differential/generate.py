# tests/differential/generate.py - random valid kernels, the same for a seed everywhere.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""generate(seed) gives a Case: a kernel file, the launch, the buffers, and how exactly each output must agree.

What is left out, because Triton 3.6's interpreter (on numpy) is not a reference for it:
  bfloat16 arithmetic         the interpreter computes on the raw 16-bit pattern; bf16 is loaded, cast and stored
  float32 to bfloat16         only exact values: the interpreter truncates
  NaN and infinity            numpy propagates NaN through max and min, Triton does not; none are generated
  integer division by zero,   undefined in the language; divisors are made positive, shift amounts masked,
  shifts by the width,        casts to integers clamped; casts of negative floats to unsigned are left out
  float to integer overflow
  >> of mixed signs           the interpreter changes the type of the operand itself
  ~ of unsigned integers      the interpreter asks numpy for -1 of an unsigned type, which numpy 2 refuses
  arithmetic on booleans      numpy's + of booleans is `or`
  numbers assigned to names   `x = 3` stays a Python int in the interpreter, is an int32 when compiled
  arithmetic with the loop    the same: `i` is a Python int in the interpreter (an int32 is made of it first)
    variable
  atomics of flipped or       the interpreter reads numpy's arrays as if they had no strides; values are
    transposed blocks           flattened into fresh arrays first
  sums to one integer that    the interpreter raises where a block would wrap
    may overflow
  scalar truth values with    the interpreter gives the result of a scalar comparison the type of its operands
    blocks
  libdevice                   not there
"""
import argparse
import dataclasses
import random
import sys

from values import FLOATS, INTS, Value, boolean, broadcast, convert, epsilon, floating, integer, limits, promote

LENGTH = 4096               # elements of an input buffer
SHORT = {"int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16",
         "uint32": "u32", "uint64": "u64", "float16": "f16", "bfloat16": "bf16", "float32": "f32",
         "float64": "f64", "int1": "b"}
MAX_ELEMENTS = 4096


@dataclasses.dataclass
class Buffer:
    name: str
    dtype: str
    elements: int
    fill: str               # "small", "wide" or "grid": inputs; "output"; "zero": of atomics
    exact: bool = True
    errors: dict = dataclasses.field(default_factory=dict)   # first element of a segment -> tolerance


@dataclasses.dataclass
class Case:
    seed: int
    text: str
    grid: tuple
    buffers: list
    scalars: dict           # n: int, scale: float
    tile: tuple             # M, N
    segment: int            # elements that one program owns in each output


class Generator:

    def __init__(self, seed, features=()):
        self.seed = seed
        self.rng = random.Random(seed)
        self.features = set(features)
        self.lines, self.helpers = [], []
        self.depth = 1
        self.count = 0
        self.scope = []         # values that statements may use
        self.buffers = {}
        self.stored = []        # (buffer, offset, value)

    # ---- text
    def emit(self, line):
        self.lines.append("    " * self.depth + line)

    def name(self, prefix="v"):
        self.count += 1
        return "%s%d" % (prefix, self.count)

    def keep(self, value, prefix="v"):
        """Assigns an expression to a new name."""
        name = self.name(prefix)
        self.emit("%s = %s" % (name, value.text))
        value = value.like(name)
        self.scope.append(value)
        return value

    # ---- picking
    def chance(self, p):
        return self.rng.random() < p

    def pick(self, test=lambda v: True):
        found = [v for v in self.scope if test(v)]
        if not found:
            return None
        return found[-1 - min(int(self.rng.expovariate(0.25)), len(found) - 1)]

    def number(self, test=lambda v: True):
        return self.pick(lambda v: not v.is_bool and v.dtype != "bfloat16" and test(v))

    def literal_int(self, dtype):
        low, high = limits(dtype)
        number = self.rng.choice([0, 1, 2, 3, 5, 7, 12, 100, -1, -3, -17])
        return max(low, min(high, number))

    def binary(self, a=None, b=None):
        a = a or self.number()
        if a is None:
            return None
        if a.is_int and self.chance(0.35):
            return self.int_literal(a)
        if a.is_float and self.chance(0.25):
            return self.float_literal(a)
        b = b or self.number(lambda v: broadcast(a.shape, v.shape) is not None)
        if b is None:
            return None
        shape = broadcast(a.shape, b.shape)
        if shape is None or Value("", "int32", shape).size > MAX_ELEMENTS:
            return None
        if a.is_int and b.is_int:
            return self.int_binary(a, b, shape)
        return self.float_binary(a, b, shape)

    def int_literal(self, a):
        n = self.literal_int(a.dtype)
        op = self.rng.choice(["+", "-", "*", "&", "|", "^"])
        swap = self.chance(0.3)
        text = "(%s %s %s)" % ((n, op, a.text) if swap else (a.text, op, n))
        return self.interval(text, op, a.dtype, a.shape, (n, n) if swap else (a.low, a.high),
                             (a.low, a.high) if swap else (n, n))

    def interval(self, text, op, dtype, shape, x, y):
        corners = {"+": lambda p, q: p + q, "-": lambda p, q: p - q, "*": lambda p, q: p * q}.get(op)
        if corners is None:
            if op == "&" and min(y) >= 0 and min(x) >= 0:
                return integer(text, dtype, shape, 0, min(max(x), max(y)))
            return integer(text, dtype, shape, *limits(dtype))
        all_ = [corners(p, q) for p in x for q in y]
        return integer(text, dtype, shape, min(all_), max(all_))

    def fit(self, value, dtype):
        """The interval after the promotion of one operand."""
        low, high = limits(dtype)
        return (value.low, value.high) if low <= value.low and value.high <= high else (low, high)

    def int_binary(self, a, b, shape):
        kind = self.rng.choice(["arith", "arith", "bits", "divide", "shift", "compare", "minmax", "cdiv"])
        if kind in ("divide", "cdiv"):
            if INTS[a.dtype][1] != INTS[b.dtype][1]:
                return None
            divisor = "((%s & 15) + 1)" % b.text
            dtype = promote(a, b)
            if kind == "cdiv":
                if a.high >= limits(dtype)[1] - 32 or a.low < 0:
                    return None
                return integer("tl.cdiv(%s, %s)" % (a.text, divisor), dtype, shape, 0, a.high)
            op = self.rng.choice(["//", "%"])
            low, high = self.fit(a, dtype)
            if op == "%":
                low, high = (max(low, -15), min(high, 15))
                low, high = min(low, 0), max(high, 0)
            else:
                low, high = min(low, 0), max(high, 0)
            return integer("(%s %s %s)" % (a.text, op, divisor), dtype, shape, low, high)
        if kind == "shift":
            if INTS[a.dtype][1] != INTS[b.dtype][1]:
                return None
            dtype = promote(a, b)
            amount = "(%s & %d)" % (b.text, min(INTS[dtype][0], INTS[b.dtype][0] // 2 * 2) - 1)
            op = self.rng.choice(["<<", ">>"])
            low, high = self.fit(a, dtype)
            if op == "<<":
                low, high = limits(dtype)
            return integer("(%s %s %s)" % (a.text, op, amount), dtype, shape, min(low, 0), max(high, 0))
        dtype = promote(a, b)
        x, y = self.fit(a, dtype), self.fit(b, dtype)
        if kind == "compare":
            op = self.rng.choice(["<", "<=", ">", ">=", "==", "!="])
            return boolean("(%s %s %s)" % (a.text, op, b.text), shape)
        if kind == "minmax":
            f = self.rng.choice(["minimum", "maximum"])
            pairs = (min(x[0], y[0]), min(x[1], y[1])) if f == "minimum" else (max(x[0], y[0]), max(x[1], y[1]))
            return integer("tl.%s(%s, %s)" % (f, a.text, b.text), dtype, shape, *pairs)
        op = self.rng.choice(["&", "|", "^"] if kind == "bits" else ["+", "-", "*"])
        return self.interval("(%s %s %s)" % (a.text, op, b.text), op, dtype, shape, x, y)

    def float_literal(self, a):
        n = self.rng.choice([0.5, 2.0, 1.5, -1.0, 0.25, 3.0, -0.75])
        op = self.rng.choice(["+", "-", "*"])
        b = floating(repr(n), a.dtype, (), abs(n), 0.0, 2)
        pair = (b, a) if self.chance(0.3) else (a, b)
        return self.float_op(op, pair[0], pair[1], a.dtype, a.shape)

    def float_op(self, op, a, b, dtype, shape):
        text = "(%s %s %s)" % (a.text, op, b.text)
        eps = epsilon(dtype)
        if op == "*":
            mag = a.mag * b.mag
            err = a.err * b.mag + b.err * a.mag + a.err * b.err
            grid = None if a.grid is None or b.grid is None else a.grid + b.grid
        else:
            mag = a.mag + b.mag
            err = a.err + b.err
            grid = None if a.grid is None or b.grid is None else max(a.grid, b.grid)
        if mag > min(LARGEST_SAFE, 3e4 if dtype == "float16" else LARGEST_SAFE):
            return None
        value = floating(text, dtype, shape, mag, 0.0, grid)
        if value.grid is None:
            contracted = op != "*" and (a.product or b.product)
            rounding = eps * mag if err > 0 or contracted else 0.0
            return Value(text, dtype, tuple(shape), mag=mag * (1 + eps), err=err + rounding, product=op == "*")
        return dataclasses.replace(value, err=err, grid=grid if err == 0 else None)

    def float_binary(self, a, b, shape):
        kind = self.rng.choice(["arith", "arith", "arith", "divide", "compare", "minmax", "fma"])
        if kind == "divide" and not (a.is_int or b.is_int):
            dtype = promote(a, b, divides=True)
            x, y = convert(a, dtype), convert(b, dtype)
            if x is None or y is None or dtype == "float16":
                return None
            eps = epsilon(dtype)
            err = 0.0 if x.err == y.err == 0 and not y.product else x.err + (y.err + eps * (y.mag + 1)) * x.mag + eps * x.mag
            return Value("(%s / (tl.abs(%s) + 1.0))" % (a.text, b.text), dtype, shape, mag=x.mag * 1.001, err=err)
        dtype = promote(a, b)
        x, y = convert(a, dtype), convert(b, dtype)
        if x is None or y is None:
            return None
        if kind == "compare":
            if x.err or y.err or x.product or y.product:
                return None
            return boolean("(%s %s %s)" % (a.text, self.rng.choice(["<", "<=", ">", ">=", "==", "!="]), b.text), shape)
        if kind == "minmax":
            grid = None if x.grid is None or y.grid is None else max(x.grid, y.grid)
            return floating("tl.%s(%s, %s)" % (self.rng.choice(["minimum", "maximum"]), a.text, b.text), dtype, shape,
                            max(x.mag, y.mag), max(x.err, y.err), grid, x.product or y.product)
        if kind == "fma" and dtype in ("float32", "float64") and a.is_float and b.is_float and a.dtype == b.dtype:
            product = self.float_op("*", x, y, dtype, shape)
            if product is None or product.grid is None:
                return None
            total = self.float_op("+", product, x, dtype, shape)
            return total and dataclasses.replace(total, text="tl.fma(%s, %s, %s)" % (a.text, b.text, a.text))
        if kind in ("divide", "fma"):
            return None
        return self.float_op(self.rng.choice(["+", "-", "*"]), x, y, dtype, shape)

    def unary(self):
        a = self.number()
        if a is None:
            return None
        if a.is_int:
            low, high = limits(a.dtype)
            choices = ["-%s", "tl.abs(%s)"] + (["~%s"] if INTS[a.dtype][1] else [])
            form = self.rng.choice(choices)
            if form == "tl.abs(%s)":
                top = max(abs(a.low), abs(a.high))
                inside = a.low > low or a.low >= 0
                return integer(form % a.text, a.dtype, a.shape, 0 if inside else low, top if inside else high)
            if form == "-%s":
                return integer("(-%s)" % a.text, a.dtype, a.shape, -a.high, -a.low)
            return integer("(~%s)" % a.text, a.dtype, a.shape, -a.high - 1, -a.low - 1)
        form = self.rng.choice(["neg", "abs", "clamp", "floor", "ceil", "exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin",
                                "cos", "erf", "sigmoid"])
        if form == "neg":
            return a.like("(-%s)" % a.text)
        if form == "abs":
            return a.like("tl.abs(%s)" % a.text)
        if a.dtype == "float16":
            return None
        if form == "clamp":
            return dataclasses.replace(a, text="tl.clamp(%s, -2.5, 6.0)" % a.text, mag=min(a.mag, 6.0),
                                       grid=None if a.grid is None else max(a.grid, 1))
        if form in ("floor", "ceil"):
            if a.err or a.product:
                return None
            return floating("tl.%s(%s)" % (form, a.text), a.dtype, a.shape, a.mag + 1, 0.0, 0)
        return self.transcendental(form, a)

    def transcendental(self, form, a):
        """Bounds: docs/numerics.md for ours (2 ulp), numpy's for float32 (at most 4 ulp), and the slope."""
        eps = epsilon(a.dtype)
        bounded = a.text if a.mag <= 8 else "tl.minimum(tl.maximum(%s, -8.0), 8.0)" % a.text
        mag = min(a.mag, 8.0)
        positive = "(tl.abs(%s) + 1.0)" % a.text
        err = a.err + (eps * a.mag if a.product else 0.0)
        shifted = err + eps * (a.mag + 1)                # after the + 1.0
        if form in ("exp", "exp2"):
            top = 2981.0 if form == "exp" else 256.0
            return Value("tl.%s(%s)" % (form, bounded), a.dtype, a.shape, mag=top, err=top * (err + 6 * eps))
        if form in ("log", "log2"):
            return Value("tl.%s(%s)" % (form, positive), a.dtype, a.shape, mag=64.0, err=1.5 * shifted + 64 * 6 * eps)
        if form == "sqrt":
            return Value("tl.sqrt(%s)" % positive, a.dtype, a.shape, mag=a.mag + 1,
                         err=0.0 if err == 0 else shifted + eps * (a.mag + 1))
        if form == "rsqrt":
            return Value("tl.rsqrt(%s)" % positive, a.dtype, a.shape, mag=1.0, err=shifted + 4 * eps)
        if form == "erf" and a.dtype == "float64":
            return None                                  # an error there, by docs/numerics.md
        if form == "sigmoid" and a.dtype == "float64":
            return None
        slope = {"sin": 1.0, "cos": 1.0, "erf": 1.2, "sigmoid": 0.25}[form]
        text = "tl.%s(%s)" % (form, bounded)
        return Value(text, a.dtype, a.shape, mag=1.0, err=slope * err + 12 * eps if mag else 12 * eps)

    def cast_to(self, value, dtype):
        after = convert(value, dtype)
        return after and after.like("%s.to(tl.%s)" % (value.text, dtype))

    def cast(self):
        value = self.pick(lambda v: not v.is_bool or self.chance(0.5))
        if value is None:
            return None
        dtype = self.rng.choice(list(INTS) + list(FLOATS) * 2)
        if self.chance(0.15):
            exact = self.number(lambda v: v.dtype == "float32" and convert(v, "bfloat16") is not None)
            value, dtype = (exact, "bfloat16") if exact is not None else (value, dtype)
        if value.is_bool and dtype == "bfloat16":
            return None
        if value.dtype == "bfloat16" and dtype != "float32":
            return None
        if dtype == "bfloat16" and value.dtype != "float32":
            return None
        if value.is_float and dtype in INTS and value.mag > 100:
            if value.err or value.product or value.dtype == "float16":
                return None
            clamped = "tl.minimum(tl.maximum(%s, -100.0), 100.0)" % value.text
            return integer("%s.to(tl.%s)" % (clamped, dtype), dtype, value.shape, -100, 100) if INTS[dtype][1] else None
        return self.cast_to(value, dtype)

    def bitcast(self):
        value = self.number(lambda v: v.is_int)
        if value is None:
            return None
        bits, signed = INTS[value.dtype]
        dtype = ("uint%d" if signed else "int%d") % bits
        return integer("%s.to(tl.%s, bitcast=True)" % (value.text, dtype), dtype, value.shape, *limits(dtype))

    def logic(self):
        a = self.pick(lambda v: v.is_bool)
        if a is None:
            return None
        if self.chance(0.25):
            return boolean("(~%s)" % a.text, a.shape)
        b = self.pick(lambda v: v.is_bool and broadcast(a.shape, v.shape) is not None
                      and (a.shape == ()) == (v.shape == ()))
        shape = broadcast(a.shape, b.shape)
        return boolean("(%s %s %s)" % (a.text, self.rng.choice(["&", "|", "^"]), b.text), shape)

    def where(self):
        c = self.pick(lambda v: v.is_bool)
        a = self.number()
        if c is None or a is None:
            return None
        b = self.number(lambda v: broadcast(a.shape, v.shape) is not None)
        shape = b and broadcast(a.shape, b.shape)
        shape = shape and broadcast(shape, c.shape)
        # `where` broadcasts its condition last: ranks must not differ the other way.
        if not shape or len(c.shape) > len(shape) or (c.shape == ()) != (shape == ()) or Value("", "int32", shape).size > MAX_ELEMENTS:
            return None
        dtype = promote(a, b)
        x, y = convert(a, dtype), convert(b, dtype)
        if x is None or y is None:
            return None
        text = "tl.where(%s, %s, %s)" % (c.text, a.text, b.text)
        if dtype in INTS:
            return integer(text, dtype, shape, min(x.low, y.low), max(x.high, y.high))
        grid = None if x.grid is None or y.grid is None else max(x.grid, y.grid)
        return floating(text, dtype, shape, max(x.mag, y.mag), max(x.err, y.err), grid, x.product or y.product)

    # ---- reductions, scans, products
    def summed(self, text, a, n, shape):
        """The facts of a sum of n values of a."""
        if a.is_int:
            dtype = a.dtype if INTS[a.dtype][0] >= 32 else ("int32" if INTS[a.dtype][1] else "uint32")
            low, high = n * a.low if a.low < 0 else 0, n * a.high if a.high > 0 else 0
            if shape == () and (low < limits(dtype)[0] or high > limits(dtype)[1]):
                return None
            return integer(text, dtype, shape, low, high)
        mag = a.mag * n
        if mag > (3e4 if a.dtype == "float16" else LARGEST_SAFE):
            return None
        value = floating(text, a.dtype, shape, mag, 0.0, a.grid)
        if value.grid is not None:
            return value
        return Value(text, a.dtype, shape, mag=mag * 1.001, err=n * a.err + 2 * n * epsilon(a.dtype) * mag)

    def reduce(self):
        a = self.number(lambda v: v.shape and v.size > 1)
        if a is None:
            return None
        axis = self.rng.randrange(len(a.shape))
        whole = self.chance(0.15)
        n = a.size if whole else a.shape[axis]
        keep = not whole and self.chance(0.4)
        shape = () if whole else a.shape[:axis] + ((1,) if keep else ()) + a.shape[axis + 1:]
        rest = "" if whole else ", axis=%d" % (axis if self.chance(0.7) else axis - len(a.shape))
        rest += ", keep_dims=True" if keep else ""
        form = self.rng.choice(["sum", "sum", "max", "min", "argmax", "argmin", "xor_sum"])
        text = "tl.%s(%s%s)" % (form, a.text, rest)
        if form == "sum":
            return self.summed(text, a, n, shape)
        if form == "xor_sum":
            if not a.is_int or a.size > 256 or "=-" in rest:     # the interpreter takes no negative axis here
                return None
            return integer(text, a.dtype, shape, *limits(a.dtype))
        if form in ("argmax", "argmin"):
            if whole or a.err or a.product or a.dtype == "uint64":
                return None
            return integer(text, "int32", shape, 0, n - 1)
        if a.is_int:
            dtype = a.dtype if INTS[a.dtype][0] >= 32 else "int32"
            return integer(text, dtype, shape, a.low, a.high)
        dtype = "float32" if a.dtype == "float16" else a.dtype
        return dataclasses.replace(a, text=text, dtype=dtype, shape=shape)

    def scan(self):
        a = self.number(lambda v: v.shape and 1 < v.size <= 1024)
        if a is None:
            return None
        axis = self.rng.randrange(len(a.shape))
        rest = ", axis=%d" % axis + (", reverse=True" if self.chance(0.4) else "")
        if self.chance(0.25):
            if not a.is_int or INTS[a.dtype][0] < 32:
                return None
            return integer("tl.cumprod(%s%s)" % (a.text, rest), a.dtype, a.shape, *limits(a.dtype))
        return self.summed("tl.cumsum(%s%s)" % (a.text, rest), a, a.shape[axis], a.shape)

    def combined(self):
        """A reduction or scan by a function of the file; the interpreter calls it for every element."""
        a = self.number(lambda v: v.shape and 1 < v.size <= 64 and v.dtype != "float16" and (v.is_float or INTS[v.dtype][0] >= 32))
        if a is None:
            return None
        axis = self.rng.randrange(len(a.shape))
        f = self.rng.choice(["larger", "both"]) if a.is_int else "larger"
        low, high = (a.low, a.high) if f == "larger" else limits(a.dtype)
        changes = dict(low=low, high=high) if a.is_int else {}
        if self.chance(0.5):
            return a.like("tl.associative_scan(%s, %d, %s)" % (a.text, axis, f), **changes)
        return a.like("tl.reduce(%s, %d, %s)" % (a.text, axis, f), a.shape[:axis] + a.shape[axis + 1:], **changes)

    def dot(self):
        kinds = ("float16", "float32", "float64", "int8")
        a = self.pick(lambda v: len(v.shape) == 2 and v.dtype in kinds and v.size <= 4096)
        if a is None:
            return None
        b = self.pick(lambda v: len(v.shape) == 2 and v.dtype == a.dtype and v.shape[0] == a.shape[1])
        other = b.text if b is not None else ""
        if b is None:
            b = self.pick(lambda v: len(v.shape) == 2 and v.dtype == a.dtype and v.shape[1] == a.shape[1])
            if b is None:
                return None
            other = "tl.trans(%s)" % b.text
            b = b.like(b.text, shape=b.shape[::-1])
        k, shape = a.shape[1], (a.shape[0], b.shape[1])
        text = "tl.dot(%s, %s, %%sinput_precision=\"ieee\")" % (a.text, other)
        if a.dtype == "int8":
            top = k * max(abs(a.low), abs(a.high)) * max(abs(b.low), abs(b.high))
            value = integer(text, "int32", shape, -top, top)
        else:
            dtype = "float64" if a.dtype == "float64" else "float32"
            x, y = convert(a, dtype), convert(b, dtype)
            mag = k * x.mag * y.mag
            if mag > LARGEST_SAFE:
                return None
            grid = None if x.grid is None or y.grid is None else x.grid + y.grid
            value = floating(text, dtype, shape, mag, 0.0, grid)
            if value.grid is None:
                value = Value(text, dtype, shape, mag=mag * 1.001, product=True,
                              err=k * (x.err * y.mag + y.err * x.mag + x.err * y.err) + 2 * (k + 1) * epsilon(dtype) * mag)
        acc = self.pick(lambda v: v.dtype == value.dtype and v.shape == shape and v.err == 0)
        if acc is None or self.chance(0.5):
            return value.like(text % "")
        # Triton requires the type of an accumulator that is not float32.
        start = "acc=%s, " % acc.text + ("" if value.dtype == "float32" else "out_dtype=tl.%s, " % value.dtype)
        if value.is_int:
            return integer(text % start, "int32", shape, value.low + acc.low, value.high + acc.high)
        total = self.float_op("+", value, acc, value.dtype, shape)
        return total and total.like(text % start)

    # ---- shapes
    def reshape(self):
        a = self.pick(lambda v: v.shape)
        if a is None:
            return None
        form = self.rng.choice(["reshape", "trans", "permute", "none", "broadcast", "ravel", "split", "join", "flip",
                                "gather", "T", "expand", "interleave", "histogram"])
        rank = len(a.shape)
        if form == "reshape":
            shape, left = [], a.size
            while left > 1 and len(shape) < 2:
                n = self.rng.choice([m for m in (1, 2, 4, 8, 16, 32, 64) if m <= left])
                shape.append(n)
                left //= n
            shape = tuple(shape) + ((left,) if left > 1 or not shape else ())
            self.rng.shuffle(list(shape))
            return a.like("tl.reshape(%s, %s)" % (a.text, list(shape)), shape)
        if form in ("trans", "T") and rank == 2:
            return a.like(a.text + ".T" if form == "T" else "tl.trans(%s)" % a.text, a.shape[::-1])
        if form == "permute" and rank == 3:
            order = self.rng.sample(range(3), 3)
            return a.like("tl.permute(%s, %s)" % (a.text, order), [a.shape[i] for i in order])
        if form == "none" and rank <= 2:
            at = self.rng.randrange(rank + 1)
            items = [":"] * rank
            items.insert(at, "None")
            return a.like("%s[%s]" % (a.text, ", ".join(items)), a.shape[:at] + (1,) + a.shape[at:])
        if form == "expand" and rank <= 2:
            at = self.rng.randrange(rank + 1)
            return a.like("tl.expand_dims(%s, %d)" % (a.text, at), a.shape[:at] + (1,) + a.shape[at:])
        if form == "broadcast" and 1 in a.shape:
            shape = tuple(self.rng.choice([2, 4, 8]) if n == 1 else n for n in a.shape)
            if Value("", "int32", shape).size <= MAX_ELEMENTS:
                return a.like("tl.broadcast_to(%s, %s)" % (a.text, list(shape)), shape)
        if form == "ravel":
            return a.like("tl.ravel(%s)" % a.text, (a.size,))
        if form == "join" and a.size <= 1024 and rank <= 2:
            b = self.pick(lambda v: v.dtype == a.dtype and v.shape == a.shape)
            return self.merged("tl.join(%s, %s)" % (a.text, b.text), a, b, a.shape + (2,))
        if form == "interleave" and a.size <= 1024 and rank <= 2 and a.shape[-1] > 1:
            b = self.pick(lambda v: v.dtype == a.dtype and v.shape == a.shape)
            return self.merged("tl.interleave(%s, %s)" % (a.text, b.text), a, b, a.shape[:-1] + (2 * a.shape[-1],))
        if form == "histogram" and rank == 1 and a.dtype == "int32":
            return integer("tl.histogram(%s & 15, 16)" % a.text, "int32", (16,), 0, a.size)
        if form == "split" and a.size >= 4:
            if a.shape[-1] != 2 or rank < 2:
                a = a.like("tl.reshape(%s, [%d, 2])" % (a.text, a.size // 2), (a.size // 2, 2))
            x, y = self.name(), self.name()
            self.emit("%s, %s = tl.split(%s)" % (x, y, a.text))
            self.scope.append(a.like(x, a.shape[:-1]))
            return a.like(y, a.shape[:-1])
        if form == "flip" and not a.is_bool and a.dtype != "bfloat16" and a.shape[-1] > 1:
            return a.like("tl.flip(%s, %d)" % (a.text, rank - 1))
        if form == "gather" and rank <= 2 and not a.is_bool and a.dtype != "bfloat16":
            index = self.number(lambda v: v.dtype in ("int32", "int64") and len(v.shape) == rank
                                and v.shape[1:] == a.shape[1:])
            if index is None:
                return None
            return a.like("tl.gather(%s, %s & %d, 0)" % (a.text, index.text, a.shape[0] - 1), index.shape)
        return None

    def merged(self, text, a, b, shape):
        if a.is_bool:
            return boolean(text, shape)
        if a.is_int:
            return integer(text, a.dtype, shape, min(a.low, b.low), max(a.high, b.high))
        grid = None if a.grid is None or b.grid is None else max(a.grid, b.grid)
        return floating(text, a.dtype, shape, max(a.mag, b.mag), max(a.err, b.err), grid, a.product or b.product)


LARGEST_SAFE = 1e6


def main():
    from program import generate
    parser = argparse.ArgumentParser(description="Prints the kernel of a seed.")
    parser.add_argument("seed", type=int)
    sys.stdout.write(generate(parser.parse_args().seed).text)


if __name__ == "__main__":
    main()
