# tests/differential/values.py - what the generator knows of a value: type, shape, range, and how far two right compilers may differ.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Floats carry three facts.

mag   bound of the absolute value.
err   bound of the absolute difference between two correct evaluations. 0 means bit-equal: the inputs are
      equal and the operation is correctly rounded on both sides.
grid  s where the value is an exact multiple of 2^-s; None where it was rounded. Sums and products of such
      values are exact in any order while mag * 2^s stays below 2^precision, so sums, scans and dots
      can be compared bit for bit.
product  a rounded product: adding to it may be contracted to one fma, which saves a rounding.

Integers carry an interval; one that leaves its type becomes the complete range, as arithmetic wraps.
"""
import dataclasses

INTS = {"int8": (8, True), "int16": (16, True), "int32": (32, True), "int64": (64, True),
        "uint8": (8, False), "uint16": (16, False), "uint32": (32, False), "uint64": (64, False)}
FLOATS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}     # precision in bits
LARGEST = {"float16": 3e4, "bfloat16": 1e30, "float32": 1e30, "float64": 1e200}


def limits(dtype):
    bits, signed = INTS[dtype]
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)


def epsilon(dtype):
    return 2.0 ** (1 - FLOATS[dtype])


@dataclasses.dataclass
class Value:
    text: str
    dtype: str
    shape: tuple = ()
    low: int = 0
    high: int = 0
    mag: float = 0.0
    err: float = 0.0
    grid: object = None
    product: bool = False

    @property
    def is_int(self):
        return self.dtype in INTS

    @property
    def is_float(self):
        return self.dtype in FLOATS

    @property
    def is_bool(self):
        return self.dtype == "int1"

    @property
    def size(self):
        size = 1
        for n in self.shape:
            size *= n
        return size

    def like(self, text, shape=None, **changes):
        return dataclasses.replace(self, text=text, shape=self.shape if shape is None else tuple(shape), **changes)


def integer(text, dtype, shape, low, high):
    least, most = limits(dtype)
    if low < least or high > most:
        low, high = least, most
    return Value(text, dtype, tuple(shape), low, high)


def boolean(text, shape):
    return Value(text, "int1", tuple(shape), 0, 1)


def floating(text, dtype, shape, mag, err, grid, product=False):
    """Drops the grid where the value need not be representable."""
    if grid is not None and (err > 0 or mag * 2.0 ** grid > 2.0 ** FLOATS[dtype] or grid > 40):
        grid = None
    return Value(text, dtype, tuple(shape), mag=mag, err=err, grid=grid, product=product)


def promote(a, b, divides=False):
    """The common type of two run-time values (Triton's rules, docs/language/types.md); None for an error."""
    kinds = [v.dtype for v in (a, b)]
    for wide in ("float64", "float32"):
        if wide in kinds:
            return wide
    if "float16" in kinds:
        return "float32" if divides else "float16"
    if "bfloat16" in kinds:
        return "float32" if divides or kinds[0] != kinds[1] else "bfloat16"
    (m, s), (n, t) = INTS[kinds[0]], INTS[kinds[1]]
    if divides and s != t:
        return None
    if s == t:
        return kinds[0] if m >= n else kinds[1]
    unsigned, signed = (kinds[0], kinds[1]) if not s else (kinds[1], kinds[0])
    return unsigned if INTS[unsigned][0] >= INTS[signed][0] else signed


def broadcast(a, b):
    """The common shape; None where there is none."""
    x, y = list(a), list(b)
    while len(x) < len(y):
        x.insert(0, 1)
    while len(y) < len(x):
        y.insert(0, 1)
    shape = []
    for m, n in zip(x, y):
        if m != n and 1 not in (m, n):
            return None
        shape.append(max(m, n))
    return tuple(shape)


def convert(value, dtype):
    """The facts after a cast of a value, text unchanged; None where results are not defined or not bounded."""
    if value.dtype == dtype:
        return value
    if dtype == "int1":
        return boolean(value.text, value.shape) if value.err == 0 else None
    if value.is_bool or value.is_int:
        low, high = value.low, value.high
        if dtype in INTS:
            return integer(value.text, dtype, value.shape, low, high)
        mag = float(max(abs(low), abs(high)))
        if mag > min(LARGEST[dtype], 2.0 ** 24) or (dtype == "bfloat16" and mag > 256):
            return None
        return floating(value.text, dtype, value.shape, mag, 0.0, 0)
    if dtype in INTS:
        # Out of range is undefined, and a difference may cross an integer.
        if value.err > 0 or value.mag >= 2.0 ** (INTS[dtype][0] - 1) or (not INTS[dtype][1]):
            return None
        return integer(value.text, dtype, value.shape, -int(value.mag) - 1, int(value.mag) + 1)
    if value.mag > LARGEST[dtype]:
        return None
    if dtype == "bfloat16" and (value.grid is None or value.mag * 2.0 ** value.grid > 2.0 ** 8):
        return None         # the interpreter truncates
    exact = value.grid is not None and value.mag * 2.0 ** value.grid <= 2.0 ** FLOATS[dtype]
    wider = FLOATS[dtype] > FLOATS[value.dtype]
    err = value.err if wider or value.err == 0 else value.err + epsilon(dtype) * value.mag
    mag = value.mag if wider or exact else value.mag * (1 + epsilon(dtype))
    return floating(value.text, dtype, value.shape, mag, err, value.grid if exact or wider else None, value.product)
