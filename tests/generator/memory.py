# tests/generator/memory.py - arguments, loads, stores, atomics and pointers.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import program as P
import values as V

OWN = 1024       # elements of a buffer that a program has for itself
MOST = 16        # largest magnitude of floats in memory
COUNTERS = 64    # elements of a buffer that programs add to


def arguments(g):
    r = g.random
    g.programs = r.choice([1, 1, 2, 3])
    numbers = np.random.default_rng(r.getrandbits(32))
    for i in range(r.randint(3, 5)):
        element = r.choice([V.I32, V.I32, V.F32, V.F16, V.I64, V.I8, V.I16, V.BF16, V.U8, V.U32, V.U16])
        size = OWN * g.programs
        if element.is_float:
            initial = numbers.integers(-MOST, MOST + 1, size).astype(element.numpy)
        else:
            low = 0 if element.name.startswith("u") else -100
            initial = numbers.integers(low, 101, size).astype(element.numpy)
        g.buffers.append(P.Buffer("X%d" % i, element, size, OWN, initial))
    twins = [(i, j) for j, b in enumerate(g.buffers) for i, a in enumerate(g.buffers[:j]) if a.element is b.element]
    if twins and g.chance(0.3):
        i, j = r.choice(twins)
        g.buffers[j].alias = i
        g.buffers[j].initial = g.buffers[i].initial
    g.counters = len(g.buffers)
    g.buffers.append(P.Buffer("C", V.I32, COUNTERS, 0, numbers.integers(-5, 6, COUNTERS).astype(np.int32)))
    g.scalars.update({"n%d" % i: r.choice([0, 1, 2, 3, 4, 5, 7, 17, -3, 1000, 2**31 - 1]) for i in range(r.randint(1, 3))})
    g.rows = {}  # pointer variable -> elements that may be added to each


def base(g, number):
    return "(%s + pid * %d)" % (g.buffers[number].name, OWN)


def own(g, chosen=lambda b: True):
    """The number of a buffer that is divided among the programs."""
    found = [i for i, b in enumerate(g.buffers) if b.own and chosen(b)]
    return g.random.choice(found) if found else None


def address(number, env, offsets):
    index = np.asarray(offsets, np.int64) + int(env["pid"]) * OWN
    return V.Pointers(np.full(index.shape, number), index)


def distinct(g, shape):
    """(text, compute, uses): offsets below OWN, all different."""
    r, size = g.random, int(np.prod(shape))
    parts, strides, rest = [], [], size
    for extent in shape:
        rest //= extent
        strides.append(rest)
    if g.chance(0.3) and len(shape) > 1:
        strides = [int(np.prod(shape[:axis])) for axis in range(len(shape))]
    linear = np.zeros(shape, np.int32)
    for axis, (extent, stride) in enumerate(zip(shape, strides)):
        cut = "[%s]" % ", ".join(":" if a == axis else "None" for a in range(len(shape))) if len(shape) > 1 else ""
        parts.append("tl.arange(0, %d)%s * %d" % (extent, cut, stride))
        linear = linear + np.arange(extent, dtype=np.int32).reshape([extent if a == axis else 1 for a in range(len(shape))]) * stride
    text = "(%s)" % (" + ".join(parts) or "tl.cast(0, tl.int32)")
    way = r.choice(["plain", "plain", "xor", "reverse", "odd"])
    if way == "xor":
        by = r.randrange(size)
        text, linear = "(%s ^ %d)" % (text, by), linear ^ np.int32(by)
    elif way == "reverse":
        text, linear = "(%d - %s)" % (size - 1, text), size - 1 - linear
    elif way == "odd":
        by, more = r.choice([3, 5, 7]), r.randrange(size)
        text, linear = "((%s * %d + %d) & %d)" % (text, by, more, size - 1), (linear * by + more) & (size - 1)
    scale = r.choice([1, 1, 2]) if size * 2 <= OWN else 1
    room = OWN - size * scale + 1
    if scale == 2:
        text, linear = "(%s * 2)" % text, linear * 2
    scalar = g.pick(lambda t: t.element is V.I32 and not t.shape and not t.pointee)
    if scalar and g.chance(0.4):
        most = 1
        while most * 2 <= room:
            most *= 2
        name = scalar[0]
        return "(%s + (%s & %d))" % (text, name, most - 1), lambda env: linear + (env[name] & np.int32(most - 1)), {name}
    more = r.randrange(room)
    return "(%s + %d)" % (text, more), lambda env: linear + more, set()


def anywhere(g, shape):
    """Offsets below OWN that may repeat."""
    name = g.any_of(V.I32, shape)
    return "(%s & %d)" % (name, OWN - 1), lambda env: env[name] & np.int32(OWN - 1), {name}


def target(g, shape, element=None, repeat=False):
    """(element, text of a tile of pointers, compute(env) -> Pointers, uses), to a program's own memory."""
    whole = g.pick(lambda t: t.pointee and t.shape == shape and shape and (element is None or t.element is element))
    if whole and g.rows[whole[0]] > 0 and g.chance(0.6):
        return whole[1].element, whole[0], lambda env: env[whole[0]], {whole[0]}
    rows = g.pick(lambda t: t.pointee and t.shape == shape[:-1] and len(shape) == 2 and (element is None or t.element is element))
    if rows and g.rows[rows[0]] >= shape[-1] and g.chance(0.7):
        name, tile = rows
        columns = np.arange(shape[-1])
        return (tile.element, "%s[:, None] + tl.arange(0, %d)[None, :]" % (name, shape[-1]), lambda env: V.Pointers(
            np.broadcast_to(env[name].buffer[:, None], shape), env[name].index[:, None] + columns[None, :]), {name})
    number = own(g, lambda b: element is None or b.element is element)
    if number is None:
        return None
    text, offsets, uses = (anywhere if repeat else distinct)(g, shape)
    return g.buffers[number].element, "%s + %s" % (base(g, number), text), lambda env: address(number, env, offsets(env)), uses


def a_shape(g, most=1024):
    rows = g.pick(lambda t: t.pointee and len(t.shape) == 1)
    if rows and g.rows[rows[0]] > 0 and g.chance(0.5):
        return rows[1].shape + (g.random.choice([w for w in (1, 2, 4, 8, 16) if w <= g.rows[rows[0]]]),)
    while True:
        found = g.pick(lambda t: not t.pointee)
        shape = found[1].shape if found and g.chance(0.6) else g.shape()
        if int(np.prod(shape)) <= most:
            return shape


def mask_of(g, shape):
    import arrays
    return arrays.condition(g, shape) if g.chance(0.4) else None


def load(g):
    shape = a_shape(g)
    found = target(g, shape, repeat=g.chance(0.4))
    element, text, compute, uses = found
    mask = mask_of(g, shape)
    more, other = "", np.zeros(shape, element.numpy)
    if mask:
        value = g.random.randint(0, 5)
        more, other = ", mask=%s, other=%d" % (mask, value), np.full(shape, value).astype(element.numpy)
        uses = uses | {mask}
    name = g.name()
    g.add(P.Load(name, "tl.load(%s%s)" % (text, more), set(uses), lambda state: state.load(compute(state.env), None if not mask else state.env[mask], other)))
    g.scope.append((name, V.Tile(element, shape, MOST if element.is_float else 0)))


def store(g):
    import arrays
    found = g.pick(lambda t: not t.pointee and t.element is not V.BOOL and int(np.prod(t.shape)) <= OWN and
                   own(g, lambda b: b.element is t.element) is not None)
    if not found:
        return
    name, tile = found
    rows = g.pick(lambda t: t.pointee and len(t.shape) == 1)
    if rows and g.chance(0.5):
        shape = a_shape(g)
        name = g.any_of(rows[1].element, shape)
        tile = g.tile_of(name)
    name, tile = arrays.bounded(g, name, tile, MOST)
    aimed = target(g, tile.shape, tile.element)
    if aimed is None:
        return
    _, text, compute, uses = aimed
    mask = mask_of(g, tile.shape)
    g.add(P.Effect("tl.store(%s, %s%s)" % (text, name, ", mask=" + mask if mask else ""), set(uses) | {name} | ({mask} if mask else set()),
                   lambda state: state.store(compute(state.env), state.env[name], state.env[mask] if mask else None)))


COMBINE = {"add": np.add, "max": np.maximum, "min": np.minimum, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
           "xchg": lambda old, new: new}


def atomic(g):
    """On the shared counters with one commuting operation for a kernel, results unused; or on own memory, where results may be used."""
    r = g.random
    if g.chance(0.4):
        shape = g.shape()
        if int(np.prod(shape)) > 256:
            return
        value, at = g.any_of(V.I32, shape), g.any_of(V.I32, shape)
        mask = mask_of(g, shape)
        way = g.__dict__.setdefault("commuting", r.choice(["add", "max", "min", "and", "or", "xor"]))
        g.add(P.Effect("tl.atomic_%s(C + (%s & %d), %s%s)" % (way, at, COUNTERS - 1, value, ", mask=" + mask if mask else ""),
                       {value, at} | ({mask} if mask else set()), lambda state: state.atomic(
                           V.Pointers(np.full(shape, g.counters), (state.env[at] & np.int32(COUNTERS - 1)).astype(np.int64)), state.env[value],
                           state.env[mask] if mask else None, COMBINE[way])))
        return
    element = V.I32
    if own(g, lambda b: b.element is element) is None:
        return
    shape = a_shape(g, 256)
    aimed = target(g, shape, element)
    if aimed is None:
        return
    _, text, compute, uses = aimed
    value = g.any_of(element, shape)
    way = r.choice(list(COMBINE))
    mask = mask_of(g, shape)
    names = [g.name()] if not mask and g.chance(0.6) else []
    g.add(P.Effect("tl.atomic_%s(%s, %s%s)" % (way, text, value, ", mask=" + mask if mask else ""), set(uses) | {value} | ({mask} if mask else set()),
                   lambda state: state.atomic(compute(state.env), state.env[value], state.env[mask] if mask else None, COMBINE[way]), names))
    if names:
        g.scope.append((names[0], V.Tile(element, shape)))


# --- pointers as values
def row_pointers(g, number, rows, width):
    text = "%s + tl.arange(0, %d) * %d" % (base(g, number), rows, width)
    name = g.define(V.Tile(g.buffers[number].element, (rows,), 0, True), text, (), lambda env: address(number, env, np.arange(rows) * width), "p")
    g.rows[name] = width
    return name


def pointers(g):
    """A pointer for each row; two of them, one of which is chosen for each row; one that goes through an integer; or a walk over columns."""
    r = g.random
    way = r.choice(["rows", "chosen", "address", "walk", "walk"])
    rows = r.choice([1, 2, 4, 16, 32])
    width = r.choice([w for w in (1, 2, 4, 8, 16) if rows * w <= OWN])
    number = own(g)
    if way == "walk":
        return walk(g, number, rows, width)
    name = row_pointers(g, number, rows, width)
    tile = g.tile_of(name)
    if way == "chosen":
        import arrays
        second = row_pointers(g, own(g, lambda b: b.element is tile.element), rows, width)
        mask = arrays.condition(g, (rows,))
        chosen = g.define(tile, "tl.where(%s, %s, %s)" % (mask, name, second), {mask, name, second}, lambda env: V.Pointers(
            np.where(env[mask], env[name].buffer, env[second].buffer), np.where(env[mask], env[name].index, env[second].index)), "p")
        g.rows[chosen] = width
    elif way == "address":
        size = tile.element.bits // 8
        more = r.randrange(width)
        back = g.define(tile, "(%s.to(tl.int64) + %d).to(tl.pointer_type(%s))" % (name, more * size, tile.element.text), {name},
                        lambda env: V.Pointers(env[name].buffer, env[name].index + more), "p")
        g.rows[back] = width - more
    return None


def walk(g, number, rows, width):
    """A loop that carries a pointer for each row along the columns, loads there, and may store."""
    import arrays
    import scalars
    r = g.random
    steps = r.choice([s for s in (1, 2, 3, 4) if rows * width * s <= OWN] or [1])
    stride = width * steps
    if rows * stride > OWN:
        return
    name = row_pointers(g, number, rows, stride)
    tile, shape = g.tile_of(name), (rows, width)
    if g.chance(0.4):
        second = row_pointers(g, own(g, lambda b: b.element is tile.element), rows, stride)
        mask = arrays.condition(g, (rows,))
        name = g.define(tile, "tl.where(%s, %s, %s)" % (mask, name, second), {mask, name, second}, lambda env, a=name: V.Pointers(
            np.where(env[mask], env[a].buffer, env[second].buffer), np.where(env[mask], env[a].index, env[second].index)), "p")
    g.rows[name] = 0  # not used elsewhere: the loop moves it
    total = g.define(V.Tile(V.I32, shape), "tl.zeros(%s, tl.int32)" % list(shape), (), lambda env: np.zeros(shape, np.int32))
    columns = np.arange(width)
    place = "%s[:, None] + tl.arange(0, %d)[None, :]" % (name, width)
    at = lambda env: V.Pointers(np.broadcast_to(env[name].buffer[:, None], shape), env[name].index[:, None] + columns[None, :])

    def body():
        loaded = g.name()
        g.add(P.Load(loaded, "tl.load(%s)" % place, {name}, lambda state: state.load(at(state.env), None, np.zeros(shape, tile.element.numpy))))
        value = V.Tile(tile.element, shape, MOST if tile.element.is_float else 0)
        g.scope.append((loaded, value))
        whole = g.define(V.Tile(V.I32, shape), "%s.to(tl.int32)" % loaded, {loaded}, lambda env: env[loaded].astype(np.int32))
        g.add(P.Assign([total], "%s * 3 + %s" % (total, whole), {total, whole}, lambda env: env[total] * np.int32(3) + env[whole]))
        for _ in range(r.randint(0, 2)):
            g.statement()
        if g.chance(0.5):
            new = g.any_of(tile.element, shape)
            new, _ = arrays.bounded(g, new, g.tile_of(new), MOST)
            g.add(P.Effect("tl.store(%s, %s)" % (place, new), {name, new}, lambda state: state.store(at(state.env), state.env[new], None)))
        g.add(P.Assign([name], "%s + %d" % (name, width), {name}, lambda env: V.Pointers(env[name].buffer, env[name].index + width)))
    scalars.repeat(g, steps, body)


def final_stores(g):
    """What most variables hold at the end goes to memory, so that a wrong one shows."""
    taken = [n for n, t in g.scope if not t.pointee]
    g.random.shuffle(taken)
    for name in taken[:12]:
        tile = g.tile_of(name)
        number = len(g.buffers)
        if tile.element is V.BOOL:
            inner = name
            name = g.define(tile.like(element=V.I8), "%s.to(tl.int8)" % inner, {inner}, lambda env, inner=inner: env[inner].astype(np.int8))
            tile = g.tile_of(name)
        size = int(np.prod(tile.shape))
        initial = np.zeros(OWN * 2 * g.programs, tile.element.numpy)
        g.buffers.append(P.Buffer("O%d" % number, tile.element, initial.size, 0, initial))
        stride, parts, linear = size, [], np.zeros(tile.shape, np.int64)
        for axis, extent in enumerate(tile.shape):
            stride //= extent
            cut = "[%s]" % ", ".join(":" if a == axis else "None" for a in range(len(tile.shape))) if len(tile.shape) > 1 else ""
            parts.append("tl.arange(0, %d)%s * %d" % (extent, cut, stride))
            linear = linear + np.arange(extent).reshape([extent if a == axis else 1 for a in range(len(tile.shape))]) * stride
        text = "O%d + pid * %d" % (number, OWN * 2) + "".join(" + " + p for p in parts)
        g.add(P.Effect("tl.store(%s, %s)" % (text, name), {name}, lambda state, number=number, linear=linear, name=name: state.store(
            V.Pointers(np.full(linear.shape, number), linear + int(state.env["pid"]) * OWN * 2), np.asarray(state.env[name]), None)))
