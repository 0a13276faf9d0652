# tests/differential/pointers.py - loads and stores through a pointer for each row: chosen, carried, or made of an integer.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Pointers is a base of program.Program. A kernel has such statements if "pointers" is one of the features."""
from generate import SHORT

WAYS = ["where", "if", "for", "while", "while_swaps", "integer", "helper", "join", "scalar"]
PICK = """@triton.jit
def chosen_pointer(p, q, condition):
    return tl.where(condition, p, q)


"""


class Pointers:

    def row_pointers(self, buffer, first, second, pitch):
        """The name of a tile of M pointers: to `first` or `second`, offsets of rows into the buffer, or up to two pitches
        further."""
        name, other, index = self.name("p"), self.name("q"), self.name("i")
        p, q = "%s + %s" % (buffer, first), "%s + %s" % (buffer, second)
        mask = self.pick(lambda v: v.is_bool and v.shape == (self.tile[0],) and v.err == 0)
        condition = mask.text if mask is not None else "(rows %% %d == 0)" % self.rng.choice([2, 3])
        chosen, rounds = "tl.where(%s, %s, %s)" % (condition, p, q), self.rng.randrange(3)
        lines = {
            "where": ["%s = %s" % (name, chosen)],
            "if": ["if %s:" % self.condition(), "    %s = %s" % (name, p), "else:", "    %s = %s" % (name, q)],
            "for": ["%s = %s" % (name, p), "for %s in range(%d):" % (index, rounds),
                    "    %s += tl.where(%s, %d, 0)" % (name, condition, pitch)],
            "while": ["%s = %s" % (name, p), "%s = zero + 0" % index, "while %s < %d:" % (index, rounds),
                      "    %s += %d" % (name, pitch), "    %s += 1" % index],
            "while_swaps": ["%s = %s" % (name, p), "%s = %s" % (other, q), "%s = zero + 0" % index,
                            "while %s < %d:" % (index, rounds), "    %s, %s = %s, %s + %d" % (name, other, other, name, pitch),
                            "    %s += 1" % index],
            "integer": ["%s = %s.to(tl.int64)" % (other, chosen), "%s = %s.to(%s.dtype)" % (name, other, buffer)],
            "helper": ["%s = chosen_pointer(%s, %s, %s)" % (name, p, q, condition)],
            "join": ["%s, %s = tl.split(tl.join(%s, %s))" % (name, other, chosen, q)],
            "scalar": ["%s = %s" % (other, buffer), "if %s:" % self.condition(), "    %s += %d" % (other, pitch),
                       "%s = %s + %s" % (name, other, first)],
        }
        way = self.rng.choice(WAYS)
        if way == "helper" and PICK not in self.helpers:
            self.helpers.append(PICK)
        for line in lines[way]:
            self.emit(line)
        return name

    def pointer_load(self):
        m, n = self.tile
        buffer, pitch = self.input(), self.rng.choice([n, n + 3])
        starts = ["%d + rows * %d" % (self.rng.randrange(60), pitch) for _ in range(2)]
        pointers = self.row_pointers(buffer.name, *starts, pitch)
        if self.chance(0.3):
            text, shape = "%s[None, :] + columns[:, None]" % pointers, (n, m)
        elif self.chance(0.2):
            text, shape = pointers, (m,)
        else:
            text, shape = "%s[:, None] + columns[None, :]" % pointers, (m, n)
        mask = self.pick(lambda v: v.is_bool and v.shape == shape and v.err == 0) if self.chance(0.4) else None
        self.keep(self.loaded(buffer, "tl.load(%s%s)" % (text, ", mask=%s, other=1" % mask.text if mask is not None else ""),
                              shape, mask is not None), "x")

    def pointer_store(self):
        """To rows of the program's own segment that are apart: no two pointers meet, wherever each goes."""
        m, n = self.tile
        value = self.pick(lambda v: v.shape == (m, n) and not v.is_bool)
        if value is None:
            return
        buffer = self.buffer("o" + SHORT[value.dtype], value.dtype, 0, "output")
        base, pitch, size = buffer.elements, n, 4 * m * n
        if base + size > self.segment:
            return
        buffer.elements += size
        # A row may move by up to two pitches; the next one starts four pitches later.
        starts = ["pid * %d + %d + rows * %d" % (self.segment, base + skip, 4 * n) for skip in (0, n)]
        pointers = self.row_pointers(buffer.name, *starts, pitch)
        mask = self.pick(lambda v: v.is_bool and v.shape == (m, n) and v.err == 0) if self.chance(0.4) else None
        self.emit("tl.store(%s[:, None] + columns[None, :], %s%s)" % (
            pointers, value.text, ", mask=%s" % mask.text if mask is not None else ""))
        buffer.errors[base] = (size, value.err)
