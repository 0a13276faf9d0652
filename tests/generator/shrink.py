# tests/generator/shrink.py - makes a failing kernel smaller by leaving statements out.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import copy

import program as P


def valid(body, known):
    """Whether every name is defined before its use; `known` grows by what the body defines."""
    for s in body:
        if not s.uses <= known:
            return False
        if isinstance(s, P.For):
            if not valid(s.body, known | {s.variable}):
                return False
        elif isinstance(s, P.While):
            if not valid(s.body, set(known)):
                return False
        elif isinstance(s, P.If):
            if not valid(s.body, set(known)) or not valid(s.other, set(known)):
                return False
        else:
            known |= s.defines()
    return True


def blocks(body):
    """All lists of statements, the outermost first."""
    yield body
    for s in body:
        for inner in (getattr(s, "body", None), getattr(s, "other", None)):
            if inner:
                yield from blocks(inner)


def without(program, block, first, count):
    """A copy of the program that lacks some statements of its block-th list."""
    new = copy.copy(program)
    new.body = copied(program.body)
    lists = list(blocks(new.body))
    del lists[block][first:first + count]
    return new


def copied(body):
    out = []
    for s in body:
        s = copy.copy(s)
        if hasattr(s, "body"):
            s.body = copied(s.body)
        if hasattr(s, "other"):
            s.other = copied(s.other)
        out.append(s)
    return out


def counts_down(statement):
    """The last statement of a while loop of the generator changes its counter; without it the loop does not terminate."""
    return isinstance(statement, P.Assign) and statement.names[0].startswith("k")


def smaller(program, fault, find, budget=300):
    """(program, fault) of the same kind with as few statements as `budget` trials find."""
    known = {"pid", *program.scalars}
    changed = True
    while changed and budget > 0:
        changed = False
        for block in range(len(list(blocks(program.body)))):
            lists = list(blocks(program.body))
            if block >= len(lists):
                break
            size = max(1, len(lists[block]) // 2)
            while size and budget > 0:
                at = len(list(blocks(program.body))[block]) - size
                while at >= 0 and budget > 0:
                    here = list(blocks(program.body))
                    if block >= len(here):
                        break
                    if any(counts_down(s) for s in here[block][at:at + size]) and block:
                        at -= 1
                        continue
                    candidate = without(program, block, at, size)
                    if valid(candidate.body, set(known)):
                        budget -= 1
                        again = find(candidate)
                        if again and again[0] == fault[0]:
                            program, fault, changed = candidate, again, True
                    at -= size
                size //= 2

    return program, fault
