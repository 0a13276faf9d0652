# tests/generator/scalars.py - loops and branches.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import arrays
import numpy as np
import program as P
import values as V


def scalar(g):
    """A run-time number: an argument, the program's number, or a variable."""
    found = g.pick(lambda t: t.element is V.I32 and not t.shape and not t.pointee)
    names = list(g.scalars) + ["pid"] + ([found[0]] * 2 if found else [])
    return g.random.choice(names)


def inside(g, grow):
    """The statements that `grow` makes; what they define ends with them."""
    body, scope, rows = g.body, list(g.scope), dict(g.rows)
    g.body = []
    g.depth += 1
    grow()
    made, g.body, g.scope, g.rows = g.body, body, scope, rows
    g.depth -= 1
    return made


def carry(g, names):
    """Gives some outer variables new values of their types."""
    for name in names:
        tile = g.tile_of(name)
        if tile.pointee:
            continue
        new = g.pick(lambda t: t.element is tile.element and t.shape == tile.shape and not t.pointee)
        if new is None or new[0] == name:
            new = (g.any_of(tile.element, tile.shape),)
        value = new[0]
        if tile.element.is_float and g.tile_of(value).bound > tile.bound:
            value, _ = arrays.bounded(g, value, g.tile_of(value), max(tile.bound, 1))
        g.add(P.Assign([name], value, {value}, lambda env, value=value: env[value]))


def outer(g):
    """Some variables that a loop or a branch may change."""
    usable = [n for n, t in g.scope if not t.pointee and (not t.element.is_float or t.bound >= 1) and n not in g.scalars]
    return g.random.sample(usable, min(len(usable), g.random.randint(0, 3)))


def repeat(g, times, body):
    """body() that many times, by a for or a while."""
    if g.chance(0.5):
        variable = g.name("i")

        def grow():
            g.scope.append((variable, V.Tile(V.I32, ())))
            body()
        made = inside(g, grow)
        g.add(P.For(variable, "range(%d)" % times, lambda env: [np.asarray(i, np.int32) for i in range(times)], set(), made))
        return
    counter = g.define(V.Tile(V.I32, ()), "tl.cast(%d, tl.int32)" % times, (), lambda env: np.asarray(times, np.int32), "k")
    hide(g, counter)

    def grow():
        body()
        g.add(P.Assign([counter], "%s - 1" % counter, {counter}, lambda env: np.asarray(env[counter] - np.int32(1))))
    made = inside(g, grow)
    g.add(P.While("%s > 0" % counter, lambda env: bool(env[counter] > 0), {counter}, made))


def hide(g, name):
    """A loop's counter is changed by its loop alone."""
    g.scope = [(n, t) for n, t in g.scope if n != name]


def loop(g):
    r, variable = g.random, g.name("i")
    way = r.choice(["constant", "argument", "bounds"])
    uses = set()
    if way == "constant":
        start, stop, step = r.randint(-2, 2), r.randint(0, 5), r.choice([1, 1, 2, -1])
        header = "range(%d, %d, %d)" % (start, stop, step)
        rounds = lambda env: range(start, stop, step)
    elif way == "argument":
        name = scalar(g)
        header, uses = "range(%s & 3)" % name, {name}
        rounds = lambda env: range(int(env[name] & np.int32(3)))
    else:
        a, b, step = scalar(g), scalar(g), r.choice([1, 2, 3])
        header, uses = "range(%s & 3, (%s & 7) - 1, %d)" % (a, b, step), {a, b}
        rounds = lambda env: range(int(env[a] & np.int32(3)), int(env[b] & np.int32(7)) - 1, step)
    changed = outer(g)

    def grow():
        g.scope.append((variable, V.Tile(V.I32, ())))
        for _ in range(r.randint(1, 4)):
            g.statement()
        carry(g, changed)
    made = inside(g, grow)
    g.add(P.For(variable, header, lambda env: [np.asarray(i, np.int32) for i in rounds(env)], uses, made))


def loop_while(g):
    r = g.random
    changed = outer(g)

    def body():
        for _ in range(r.randint(1, 4)):
            g.statement()
        carry(g, changed)
    times = r.randint(1, 4)
    counter = g.define(V.Tile(V.I32, ()), "tl.cast(%d, tl.int32)" % times, (), lambda env: np.asarray(times, np.int32), "k")
    hide(g, counter)
    limit = scalar(g)

    def grow():
        body()
        g.add(P.Assign([counter], "%s - 1" % counter, {counter}, lambda env: np.asarray(env[counter] - np.int32(1))))
    made = inside(g, grow)
    if limit in g.scalars or limit == "pid":
        g.add(P.While("(%s > 0) & (%s > -2)" % (counter, limit), lambda env: bool((env[counter] > 0) & (env[limit] > -2)), {counter, limit}, made))
    else:
        g.add(P.While("%s > 0" % counter, lambda env: bool(env[counter] > 0), {counter}, made))


def branch(g):
    r = g.random
    a, b, sign = scalar(g), scalar(g), r.choice(list(arrays.COMPARE))
    if g.chance(0.4):
        number = r.randint(-2, 6)
        text, uses, holds = "%s %s %d" % (a, sign, number), {a}, lambda env: bool(arrays.COMPARE[sign](env[a], np.int32(number)))
    else:
        text, uses, holds = "%s %s %s" % (a, sign, b), {a, b}, lambda env: bool(arrays.COMPARE[sign](env[a], env[b]))
    changed = outer(g)

    def grow():
        for _ in range(r.randint(1, 3)):
            g.statement()
        carry(g, [name for name in changed if g.chance(0.7)])
    body = inside(g, grow)
    other = inside(g, grow) if g.chance(0.6) else []
    g.add(P.If(text, holds, uses, body, other))
