# tests/generator/grow.py - random kernels: expressions and statements over tiles, pointers and memory.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""A kernel's programs never race: a program stores to a part of each buffer that it has for itself, at different addresses within one
statement, and buffers that programs share are read only, or are added to by atomics whose results no one uses."""
import random

import arrays
import memory
import numpy as np
import program as P
import scalars
import values as V

SHAPES = ((), (1,), (2,), (4,), (16,), (32,), (64,), (128,), (2, 2), (4, 8), (8, 4), (1, 16), (16, 1), (32, 2), (16, 16), (2, 4, 8), (4, 1, 4), (8, 2, 2))


class Grower:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.scope = []      # [(name, Tile)], innermost last
        self.count = 0
        self.depth = 0
        self.loop = 0        # loops around: results of their bodies must keep bounds
        self.helpers = {}
        self.body = []
        self.buffers = []
        self.scalars = {}

    # --- names and scopes
    def name(self, prefix="v"):
        self.count += 1
        return "%s%d" % (prefix, self.count)

    def add(self, statement):
        self.body.append(statement)

    def define(self, tile, text, uses, compute, prefix="v"):
        """One more variable; returns its name."""
        name = self.name(prefix)
        self.add(P.Assign([name], text, set(uses), compute))
        self.scope.append((name, tile))
        return name

    def define_many(self, tiles, text, uses, compute):
        names = [self.name() for _ in tiles]
        self.add(P.Assign(names, text, set(uses), compute))
        self.scope += zip(names, tiles)
        return names

    def pick(self, wanted):
        """A variable that `wanted(tile)` accepts, rather a late one; None if there is none."""
        found = [(n, t) for n, t in self.scope if wanted(t)]
        if not found:
            return None
        return found[-1 - int(abs(self.random.gauss(0, len(found) / 3))) % len(found)]

    def chance(self, probability):
        return self.random.random() < probability

    # --- values of a wanted kind
    def shape(self, least=0):
        return self.random.choice([s for s in SHAPES if len(s) >= least])

    def number(self, element):
        """A literal that the type can hold."""
        r = self.random
        if element.is_float:
            return r.randint(-6, 6)
        if element is V.BOOL:
            return r.randint(0, 1)
        low = 0 if element.name.startswith("u") else -(1 << (element.bits - 1))
        high = (1 << element.bits) + low - 1
        return r.choice([r.randint(max(low, -9), 9), r.randint(max(low, -100), 100), r.randint(low, high), low, high])

    def constant(self, element, shape):
        value = self.number(element)
        array = np.full(shape, value).astype(element.numpy)
        text = "tl.full(%s, %s, %s)" % (list(shape), value, element.text)
        if not shape:
            text = "tl.cast(%s, %s)" % (value, element.text)
        return self.define(V.Tile(element, shape, abs(value) if element.is_float else 0), text, (), lambda env: array)

    def any_of(self, element, shape):
        """A variable of this element type and shape, made if there is none."""
        found = self.pick(lambda t: t.element is element and t.shape == shape and not t.pointee)
        if found and self.chance(0.8):
            return found[0]
        return self.make(element, shape)

    def make(self, element, shape):
        r = self.random
        ways = [self.constant, self.indices, self.converted, self.reshaped]
        if not shape and self.scalars and element is V.I32:
            ways.append(lambda *_: r.choice(list(self.scalars)))
        return r.choice(ways)(element, shape)

    def tile_of(self, name):
        for known, tile in reversed(self.scope):
            if known == name:
                return tile
        if name in self.scalars or name == "pid":
            return V.Tile(V.I32, ())
        raise KeyError(name)

    def indices(self, element, shape):
        """tl.arange along an axis, times and plus a number, in the wanted type."""
        if not shape:
            return self.constant(element, shape)
        r, axis = self.random, self.random.randrange(len(shape))
        size = shape[axis]
        if size == 1:
            return self.constant(element, shape)
        cut = "[%s]" % ", ".join(":" if a == axis else "None" for a in range(len(shape)))
        by, more = r.choice([1, 1, 2, 3, -1]), r.choice([0, 0, 1, 5])
        if element.is_float:
            by, more = 1, 0
        along = np.arange(size, dtype=np.int32).reshape([size if a == axis else 1 for a in range(len(shape))])
        flat = np.broadcast_to(along * by + more, shape)
        if element.is_float:
            flat = flat % 8
        array = V.as_type(flat, element)
        inner = "(tl.arange(0, %d)%s%s)" % (size, cut if len(shape) > 1 else "", " * %d + %d" % (by, more) if (by, more) != (1, 0) else "")
        if element.is_float:
            inner = "(%s %% 8)" % inner
        text = "%s.to(%s)" % (inner, element.text) if element is not V.BOOL else "(%s != 0)" % inner
        text = "tl.broadcast_to(%s, %s)" % (text, list(shape)) if len(shape) > 1 else text
        return self.define(V.Tile(element, shape, 7 if element.is_float else 0), text, (), lambda env: array)

    def converted(self, element, shape):
        """Another element type's variable of this shape, converted; integers first lose what a float cannot hold."""
        found = self.pick(lambda t: t.shape == shape and not t.pointee and t.element is not element)
        if not found:
            return self.constant(element, shape)
        name, tile = found
        text, bound, cut = name, tile.bound, False
        if element.is_float and not tile.element.is_float and tile.element is not V.BOOL:
            text, bound, cut = "(%s & 7)" % name, 7, True
        elif element.is_float and tile.element is V.BOOL:
            bound = 1
        elif element.is_float and tile.bound > element.limit:
            return self.constant(element, shape)
        elif tile.element.is_float and element is not V.BOOL and (tile.bound >= 1 << (element.bits - 1) or element.name.startswith("u")):
            return self.constant(element, shape)
        if element is V.BOOL:
            return self.define(V.Tile(element, shape), "(%s != 0)" % name, {name}, lambda env: env[name] != 0)
        compute = lambda env: V.as_type(env[name] & env[name].dtype.type(7) if cut else env[name], element)
        return self.define(V.Tile(element, shape, bound if element.is_float else 0), "%s.to(%s)" % (text, element.text), {name}, compute)

    def reshaped(self, element, shape):
        """Another shape's variable of this element type, brought to the shape."""
        return arrays.reshaped(self, element, shape)

    # --- the complete kernel
    def grow(self):
        r = self.random
        memory.arguments(self)
        for _ in range(r.randint(6, 22)):
            self.statement()
        memory.final_stores(self)
        # Loops that copy ahead take the memory of different arguments to be different.
        aliased = any(b.alias >= 0 for b in self.buffers)
        return P.Program(self.buffers, self.scalars, list(self.helpers.values()), self.body, self.programs,
                         {"num_warps": r.choice([1, 2, 4, 4, 8]), "num_stages": 1 if aliased else r.choice([1, 2, 3])})

    def statement(self):
        r = self.random
        kinds = [(6, arrays.elementwise), (2, arrays.movement), (2, arrays.reduction), (2, arrays.scan), (1, arrays.gather), (1, arrays.joined),
                 (1, arrays.product), (3, memory.load), (3, memory.store), (2, memory.atomic), (2, memory.pointers), (1, arrays.helper)]
        if self.depth < 3:
            kinds += [(1, scalars.loop), (1, scalars.loop_while), (1, scalars.branch)]
        r.choices([k for _, k in kinds], [w for w, _ in kinds])[0](self)
