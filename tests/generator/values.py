# tests/generator/values.py - element types, tiles and memory of the second generator, with their meaning in numpy.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Everything is exact: integers wrap, and floats hold integers that are small enough for their type.

A tile is a numpy array of static shape; a scalar is an array of shape (). A tile of pointers is a pair: the number of the buffer that each
element points into, and the element's index there."""
import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class Type:
    """An element type: its name in the language, its type in numpy, and the largest integer that sums and products may reach."""
    name: str
    numpy: type
    limit: int = 0  # 0: an integer

    @property
    def is_float(self):
        return self.limit != 0

    @property
    def bits(self):
        return {"i1": 1, "bf16": 16}.get(self.name, np.dtype(self.numpy).itemsize * 8)

    @property
    def text(self):
        return "tl." + {"i1": "int1", "f16": "float16", "bf16": "bfloat16", "f32": "float32"}.get(self.name, self.name)


BOOL = Type("i1", np.bool_)
I8, I16, I32, I64 = (Type("int%d" % bits, getattr(np, "int%d" % bits)) for bits in (8, 16, 32, 64))
U8, U16, U32 = (Type("uint%d" % bits, getattr(np, "uint%d" % bits)) for bits in (8, 16, 32))
# A bf16 holds integers up to 256 exactly; numpy lacks the type, and float32 holds the same numbers.
F16, BF16, F32 = Type("f16", np.float16, 2048), Type("bf16", np.float32, 256), Type("f32", np.float32, 1 << 22)
INTEGERS = (I8, I16, I32, I64, U8, U16, U32)
FLOATS = (F16, BF16, F32)
ELEMENTS = INTEGERS + FLOATS


@dataclasses.dataclass(frozen=True)
class Tile:
    """The static type of a value: element type, shape, and for floats a bound of its magnitude. `pointee`: a tile of pointers."""
    element: Type
    shape: tuple
    bound: int = 0
    pointee: bool = False

    def like(self, **changes):
        return dataclasses.replace(self, **changes)


@dataclasses.dataclass
class Pointers:
    """A tile of pointers at run time."""
    buffer: np.ndarray
    index: np.ndarray

    def both(self, change):
        return Pointers(change(self.buffer), change(self.index))

    @property
    def shape(self):
        return self.index.shape


def truncated_division(a, b):
    """a // b as C has it; b is positive."""
    quotient = a // b
    return quotient + ((a - quotient * b != 0) & (a < 0)).astype(a.dtype)


def as_type(value, element):
    """A conversion as `.to()` makes it, of numbers that the type can hold, or of integers, which wrap."""
    if element is BOOL:
        return value != 0
    return value.astype(element.numpy)


def each(function, value):
    """Applies a change of shape to a tile of numbers or of pointers."""
    return value.both(function) if isinstance(value, Pointers) else function(value)
