# tests/generator/arrays.py - operations on tiles of numbers.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import values as V


def bounded(g, name, tile, most):
    """The variable, or its values cut to -most .. most."""
    if not tile.element.is_float or tile.bound <= most:
        return name, tile
    # The numbers become fp32 scalars, and the result with them.
    text = "tl.minimum(tl.maximum(%s, -%d.0), %d.0).to(%s)" % (name, most, most, tile.element.text)
    cut = tile.like(bound=most)
    return g.define(cut, text, {name}, lambda env: np.minimum(np.maximum(env[name], env[name].dtype.type(-most)), env[name].dtype.type(most))), cut


def same_shape(g):
    """(element, shape) of something that is there, or new."""
    found = g.pick(lambda t: not t.pointee and t.element is not V.BOOL)
    if found and g.chance(0.85):
        return found[1].element, found[1].shape
    return g.random.choice(V.ELEMENTS), g.shape()


COMPARE = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal}


def condition(g, shape):
    """A variable of booleans."""
    r = g.random
    found = g.pick(lambda t: t.element is V.BOOL and t.shape == shape and not t.pointee)
    if found and g.chance(0.4):
        return found[0]
    other = g.pick(lambda t: t.shape == shape and not t.pointee and t.element is not V.BOOL)
    element = other[1].element if other else V.I32
    a, b = g.any_of(element, shape), g.any_of(element, shape)
    sign = r.choice(list(COMPARE))
    name = g.define(V.Tile(V.BOOL, shape), "%s %s %s" % (a, sign, b), {a, b}, lambda env: COMPARE[sign](env[a], env[b]))
    if g.chance(0.3):
        c = condition(g, shape)
        way, numpy = r.choice([("&", np.logical_and), ("|", np.logical_or), ("^", np.logical_xor)])
        return g.define(V.Tile(V.BOOL, shape), "%s %s %s" % (name, way, c), {name, c}, lambda env: numpy(env[name], env[c]))
    return name


def elementwise(g):
    element, shape = same_shape(g)
    if g.chance(0.2):
        c = condition(g, shape)
        a, b = g.any_of(element, shape), g.any_of(element, shape)
        bound = max(g.tile_of(a).bound, g.tile_of(b).bound)
        g.define(V.Tile(element, shape, bound), "tl.where(%s, %s, %s)" % (c, a, b), {c, a, b}, lambda env: np.where(env[c], env[a], env[b]))
        return
    a, b = g.any_of(element, shape), g.any_of(element, shape)
    if element.is_float:
        return of_floats(g, element, shape, a, b)
    of_integers(g, element, shape, a, b)


def of_floats(g, element, shape, a, b):
    way = g.random.choice(["+", "-", "*", "minimum", "maximum", "fma", "neg", "abs"])
    ta, tb = g.tile_of(a), g.tile_of(b)
    most = {"+": element.limit // 2, "-": element.limit // 2, "*": int(element.limit ** 0.5), "fma": int((element.limit // 2) ** 0.5)}.get(way, element.limit)
    a, ta = bounded(g, a, ta, most)
    b, tb = bounded(g, b, tb, most)
    if way == "fma":
        bound = ta.bound * tb.bound + ta.bound
        return g.define(V.Tile(element, shape, bound), "%s * %s + %s" % (a, b, a), {a, b}, lambda env: env[a] * env[b] + env[a])
    if way in ("neg", "abs"):
        numpy = {"neg": np.negative, "abs": np.abs}[way]
        return g.define(ta, "-%s" % a if way == "neg" else "tl.abs(%s)" % a, {a}, lambda env: numpy(env[a]))
    if way in ("minimum", "maximum"):
        text, numpy, bound = "tl.%s(%s, %s)" % (way, a, b), getattr(np, way), max(ta.bound, tb.bound)
        if element is V.BF16:
            text += ".to(tl.bfloat16)"
    else:
        text, numpy = "%s %s %s" % (a, way, b), {"+": np.add, "-": np.subtract, "*": np.multiply}[way]
        bound = ta.bound * tb.bound if way == "*" else ta.bound + tb.bound
    return g.define(V.Tile(element, shape, bound), text, {a, b}, lambda env: numpy(env[a], env[b]))


def of_integers(g, element, shape, a, b):
    r = g.random
    way = r.choice(["+", "-", "*", "&", "|", "^", "minimum", "maximum", "//", "%", "<<", ">>", "neg", "~", "mixed"])
    tile, kind = V.Tile(element, shape), element.numpy
    if way == "mixed":
        # The wider of two signed types wins.
        other = r.choice([e for e in (V.I8, V.I16, V.I32, V.I64) if e is not element])
        c = g.any_of(other, shape)
        if element.name.startswith("u"):
            return None
        wide = max(element, other, key=lambda e: e.bits)
        return g.define(V.Tile(wide, shape), "%s + %s" % (a, c), {a, c}, lambda env: V.as_type(env[a], wide) + V.as_type(env[c], wide))
    if way in ("//", "%") and g.chance(0.5):
        return guarded_division(g, tile, way, a, b)
    if way in ("//", "%"):
        by = "((%s & 7) + 1)" % b if element.bits > 3 else b
        divisor = lambda env: ((env[b] & kind(7)) + kind(1)).astype(kind)
        if way == "//":
            return g.define(tile, "(%s // %s).to(%s)" % (a, by, element.text), {a, b}, lambda env: V.truncated_division(env[a], divisor(env)))
        return g.define(tile, "(%s %% %s).to(%s)" % (a, by, element.text), {a, b},
                        lambda env: (env[a] - V.truncated_division(env[a], divisor(env)) * divisor(env)).astype(kind))
    if way in ("<<", ">>"):
        most = element.bits - 1
        numpy = np.left_shift if way == "<<" else np.right_shift
        return g.define(tile, "%s %s (%s & %d)" % (a, way, b, most), {a, b}, lambda env: numpy(env[a], env[b] & kind(most)).astype(kind))
    if way in ("neg", "~"):
        numpy = np.negative if way == "neg" else np.invert
        return g.define(tile, ("-" if way == "neg" else "~") + a, {a}, lambda env: numpy(env[a]))
    if way in ("minimum", "maximum"):
        numpy = getattr(np, way)
        return g.define(tile, "tl.%s(%s, %s)" % (way, a, b), {a, b}, lambda env: numpy(env[a], env[b]))
    numpy = {"+": np.add, "-": np.subtract, "*": np.multiply, "&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor}[way]
    return g.define(tile, "%s %s %s" % (a, way, b), {a, b}, lambda env: numpy(env[a], env[b]).astype(kind))


def guarded_division(g, tile, way, a, b):
    """A quotient or remainder by a value that may be zero, and `a` where the value is not positive. A compiler must not
    conclude from the division that the value is not zero."""
    def compute(env):
        valid = env[b] > 0
        divisor = np.where(valid, env[b], 1).astype(env[b].dtype)
        quotient = V.truncated_division(env[a], divisor)
        return np.where(valid, quotient if way == "//" else env[a] - quotient * divisor, env[a]).astype(tile.element.numpy)

    text = "tl.where((%s != 0) & (%s >= 0), (%s %s %s).to(%s), %s)" % (b, b, a, way, b, tile.element.text, a)
    return g.define(tile, text, {a, b}, compute)


# --- shapes
def moved(g, name, tile):
    """One change of shape of a variable, of numbers or of pointers."""
    r, shape = g.random, tile.shape
    ways = ["expand"] if len(shape) < 3 else []
    if len(shape) >= 2:
        ways += ["trans", "permute"]
    if shape:
        ways += ["reshape", "reshape"]
    if any(s == 1 for s in shape) and not tile.pointee:  # a store's addresses stay different
        ways.append("broadcast")
    way = r.choice(ways)
    if way == "expand":
        axis = r.randint(0, len(shape))
        cut = ", ".join("None" if a == axis else ":" for a in range(len(shape) + 1))
        new = shape[:axis] + (1,) + shape[axis:]
        text = "%s[%s]" % (name, cut) if shape else "tl.full([1], 0, tl.int32) + %s" % name
        if not shape:
            return None
        change = lambda x: np.expand_dims(x, axis)
    elif way == "broadcast":
        new = tuple(r.choice([2, 4, 8]) if s == 1 else s for s in shape)
        text, change = "tl.broadcast_to(%s, %s)" % (name, list(new)), lambda x: np.broadcast_to(x, new)
    elif way == "reshape":
        size, new = int(np.prod(shape)), []
        while len(new) < 2 and size > 1 and g.chance(0.7):
            part = r.choice([p for p in (1, 2, 4, 8, 16, 32) if p <= size])
            new.append(part)
            size //= part
        new = tuple(new + [size])
        text, change = "tl.reshape(%s, %s)" % (name, list(new)), lambda x: x.reshape(new)
    else:
        order = list(range(len(shape)))
        r.shuffle(order)
        if way == "trans" and len(shape) == 2:
            order = [1, 0]
        text = "tl.trans(%s)" % name if order == [1, 0] else "tl.permute(%s, %s)" % (name, order)
        new, change = tuple(shape[o] for o in order), lambda x: np.transpose(x, order)
    if int(np.prod(new)) > 2048:
        return None
    made = g.define(tile.like(shape=new), text, {name}, lambda env: V.each(change, env[name]), "p" if tile.pointee else "v")
    if tile.pointee:
        g.rows[made] = g.rows[name]
    return made


def movement(g):
    found = g.pick(lambda t: True)
    if found and g.rows.get(found[0]) != 0:
        moved(g, *found)


def reshaped(g, element, shape):
    """A variable of that many elements or of one axis less, brought to the shape; else a constant."""
    size = int(np.prod(shape))
    found = g.pick(lambda t: t.element is element and not t.pointee and t.shape and int(np.prod(t.shape)) == size and t.shape != shape)
    if found and shape:
        name, tile = found
        return g.define(tile.like(shape=shape), "tl.reshape(%s, %s)" % (name, list(shape)), {name}, lambda env: env[name].reshape(shape))
    for axis in range(len(shape)):
        less = shape[:axis] + shape[axis + 1:]
        found = g.pick(lambda t, less=less: t.element is element and not t.pointee and t.shape == less and t.shape)
        if found:
            name, tile = found
            cut = ", ".join("None" if a == axis else ":" for a in range(len(shape)))
            return g.define(tile.like(shape=shape), "tl.broadcast_to(%s[%s], %s)" % (name, cut, list(shape)), {name},
                            lambda env, axis=axis: np.broadcast_to(np.expand_dims(env[name], axis), shape))
    return g.constant(element, shape)


def joined(g):
    """A join, or a split of a tile whose last dimension is two."""
    pair = g.pick(lambda t: t.shape and t.shape[-1] == 2 and not t.pointee and len(t.shape) > 1)
    if pair and g.chance(0.6):
        name, tile = pair
        half = tile.like(shape=tile.shape[:-1])
        g.define_many([half, half], "tl.split(%s)" % name, {name}, lambda env: (env[name][..., 0], env[name][..., 1]))
        return
    found = g.pick(lambda t: t.shape and len(t.shape) < 3 and not t.pointee and t.element is not V.BOOL and int(np.prod(t.shape)) < 1024)
    if not found:
        return
    a, tile = found
    b = g.any_of(tile.element, tile.shape)
    bound = max(tile.bound, g.tile_of(b).bound)
    way = g.random.choice(["join", "interleave"])
    if way == "interleave":
        new = tile.shape[:-1] + (tile.shape[-1] * 2,)
        g.define(tile.like(shape=new, bound=bound), "tl.interleave(%s, %s)" % (a, b), {a, b},
                 lambda env: np.stack([env[a], env[b]], -1).reshape(new))
        return
    g.define(tile.like(shape=tile.shape + (2,), bound=bound), "tl.join(%s, %s)" % (a, b), {a, b}, lambda env: np.stack([env[a], env[b]], -1))


def gather(g):
    found = g.pick(lambda t: t.shape and not t.pointee and t.element is not V.BOOL)
    if not found:
        return
    name, tile = found
    axis = g.random.randrange(len(tile.shape))
    at = g.any_of(V.I32, tile.shape)
    most = tile.shape[axis] - 1
    g.define(tile, "tl.gather(%s, %s & %d, %d)" % (name, at, most, axis), {name, at},
             lambda env: np.take_along_axis(env[name], (env[at] & np.int32(most)).astype(np.int64), axis))


# --- reductions and scans
AFFINE = """@tessera.jit
def affine(a, b, c, d):
    return a * c, b * c + d"""
LAST = """@tessera.jit
def keep_last(a, b):
    return b"""
ADD = """@tessera.jit
def add(a, b):
    return a + b"""
LARGEST = """@tessera.jit
def larger(a, b):
    return tl.maximum(a, b)"""


def of_32_bits(g):
    """An integer tile of 32 or 64 bits with an axis, made if there is none."""
    found = g.pick(lambda t: t.shape and not t.pointee and t.element in (V.I32, V.I64))
    if found:
        return found
    name = g.make(V.I32, g.shape(1))
    return name, g.tile_of(name)


def compose(x, y):
    """Of affine maps: first x, then y."""
    return x[0] * y[0], x[1] * y[0] + y[1]


def folded(x, axis, combine):
    """Left to right along an axis, of a tuple of arrays; the list of all prefixes."""
    parts = [tuple(np.take(v, i, axis) for v in x) for i in range(x[0].shape[axis])]
    prefixes = [parts[0]]
    for part in parts[1:]:
        prefixes.append(combine(prefixes[-1], part))
    return prefixes


def reduction(g):
    r = g.random
    name, tile = of_32_bits(g)
    axis = r.randrange(len(tile.shape))
    less = tile.like(shape=tile.shape[:axis] + tile.shape[axis + 1:])
    way = r.choice(["sum", "max", "min", "xor_sum", "affine", "keep_last", "add", "larger", "argmax", "all"])
    if way == "all" and len(tile.shape) > 1:
        g.define(tile.like(shape=()), "tl.sum(%s)" % name, {name}, lambda env: np.asarray(env[name].sum(dtype=tile.element.numpy)))
    elif way in ("sum", "max", "min", "xor_sum"):
        numpy = {"sum": np.add, "max": np.maximum, "min": np.minimum, "xor_sum": np.bitwise_xor}[way]
        g.define(less, "tl.%s(%s, %d)" % (way, name, axis), {name}, lambda env: np.asarray(numpy.reduce(env[name], axis=axis, dtype=tile.element.numpy)
                                                                                          if way in ("sum",) else numpy.reduce(env[name], axis=axis)))
    elif way == "argmax":
        g.define(V.Tile(V.I32, less.shape), "tl.argmax(%s, %d)" % (name, axis), {name}, lambda env: np.asarray(np.argmax(env[name], axis)).astype(np.int32))
    elif way == "affine":
        g.helpers["affine"] = AFFINE
        b = g.any_of(tile.element, tile.shape)
        g.define_many([less, less], "tl.reduce((%s, %s), %d, affine)" % (name, b, axis), {name, b},
                      lambda env: tuple(np.asarray(v) for v in folded((env[name], env[b]), axis, compose)[-1]))
    else:
        helper, numpy = {"keep_last": (LAST, lambda x, y: (y[0],)), "add": (ADD, lambda x, y: (x[0] + y[0],)),
                         "larger": (LARGEST, lambda x, y: (np.maximum(x[0], y[0]),))}.get(way, (ADD, lambda x, y: (x[0] + y[0],)))
        way = way if way in ("keep_last", "add", "larger") else "add"
        g.helpers[way] = helper
        g.define(less, "tl.reduce(%s, %d, %s)" % (name, axis, way), {name}, lambda env: np.asarray(folded((env[name],), axis, numpy)[-1][0]))


def scan(g):
    r = g.random
    name, tile = of_32_bits(g)
    axis, reverse = r.randrange(len(tile.shape)), g.chance(0.4)
    way = r.choice(["cumsum", "affine", "keep_last", "larger"])
    flip = (lambda x: np.flip(x, axis)) if reverse else (lambda x: x)
    more = ", reverse=True" if reverse else ""
    stack = lambda prefixes, k: flip(np.stack([p[k] for p in prefixes], axis))
    if way == "cumsum":
        g.define(tile, "tl.cumsum(%s, %d%s)" % (name, axis, more), {name},
                 lambda env: flip(np.cumsum(flip(env[name]), axis, dtype=tile.element.numpy)))
    elif way == "affine":
        g.helpers["affine"] = AFFINE
        b = g.any_of(tile.element, tile.shape)

        def compute(env):
            prefixes = folded((flip(env[name]), flip(env[b])), axis, compose)
            return stack(prefixes, 0), stack(prefixes, 1)
        g.define_many([tile, tile], "tl.associative_scan((%s, %s), %d, affine%s)" % (name, b, axis, more), {name, b}, compute)
    else:
        helper, numpy = {"keep_last": (LAST, lambda x, y: (y[0],)), "larger": (LARGEST, lambda x, y: (np.maximum(x[0], y[0]),))}[way]
        g.helpers[way] = helper
        g.define(tile, "tl.associative_scan(%s, %d, %s%s)" % (name, axis, way, more), {name},
                 lambda env: stack(folded((flip(env[name]),), axis, numpy), 0))


# --- products and helpers
def product(g):
    """A dot of small integers, exact in every precision."""
    r = g.random
    element = r.choice([V.F16, V.BF16, V.F32, V.I8])
    m, n, k = (r.choice([16, 32]) for _ in range(3))
    if element is V.I8:
        k = 32
    a, b = g.any_of(element, (m, k)), g.any_of(element, (k, n))
    result = V.I32 if element is V.I8 else V.F32
    if element.is_float:
        a, ta = bounded(g, a, g.tile_of(a), 64)
        b, tb = bounded(g, b, g.tile_of(b), 64)
        bound, kind = ta.bound * tb.bound * k, np.float32
    else:
        bound, kind = 0, np.int32
    g.define(V.Tile(result, (m, n), bound), "tl.dot(%s, %s)" % (a, b), {a, b}, lambda env: env[a].astype(kind) @ env[b].astype(kind))


HELPER = """@tessera.jit
def mix(x, y, c):
    if c > 3:
        z = x - y
    else:
        z = x ^ y
    return z + c, x & y"""


def helper(g):
    found = g.pick(lambda t: not t.pointee and t.element is V.I32)
    scalar = g.pick(lambda t: t.element is V.I32 and not t.shape and not t.pointee)
    if not found or not scalar:
        return
    g.helpers["mix"] = HELPER
    a, tile = found
    b, c = g.any_of(V.I32, tile.shape), scalar[0]
    g.define_many([tile, tile], "mix(%s, %s, %s)" % (a, b, c), {a, b, c}, lambda env: (
        ((env[a] - env[b] if env[c] > 3 else env[a] ^ env[b]) + env[c]).astype(np.int32), env[a] & env[b]))
