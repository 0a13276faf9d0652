# tests/simulator/counts_test.py - tessera analyze on Triton's PTX of two recorded cases: every counter against a count by hand.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Two counts that know nothing of the simulator. What an algorithm needs (products, sectors, passes over the banks, groups in
flight) follows from the shapes; a comment derives each number. Executed instructions by class: the PTX text is cut
into straight pieces at labels and branches, each piece's instructions are counted by their words, and how often a warp passes
through each piece is known from the kernel. PROGRAM names the program `tessera`."""
import collections
import json
import os
import re
import shutil
import subprocess
import sys

import sim_test
from repository import ROOT

CASES = ROOT / "tests/replay"


# --- Instructions by class, from the text --------------------------------------------------------------------------------------
WORDS = [  # the first that matches; integers are what is left
    (r"mma\.", "tensor"), (r"ldmatrix", "matrix load"), (r"cp\.async\.c[ag]", "async copy"), (r"cp\.async", "async wait"),
    (r"ld\.param", "constant"), (r"ld\.global", "global load"), (r"st\.global", "global store"), (r"ld\.shared", "shared load"),
    (r"st\.shared", "shared store"), (r"bar\.|barrier|membar|fence", "barrier"), (r"shfl|vote|redux", "warp"),
    (r"bra|ret|exit", "control"), (r"setp|(and|or|xor|not|mov)\.pred", "predicate"), (r"mov", "move"), (r"cvt", "convert"),
    (r"(ex2|lg2|rcp|rsqrt|sqrt|sin|cos|tanh)\.|div\.", "special"), (r"(add|sub|mul|fma|min|max|neg|abs)\.([a-z]+\.)*f32", "float"),
    (r"mul|mad", "multiply")]


def pieces(ptx):
    """Straight pieces of the body: [(label or '', Counter of classes)]."""
    body = ptx[ptx.index("{", ptx.index(".entry")):]
    body = body[:re.search(r"^}", body, re.M).end()]
    parts, fresh = [["", collections.Counter()]], False
    for line in body.splitlines():
        line = re.sub(r"//.*", "", line).strip()
        label = re.match(r"(\$L__BB\w+):", line)
        if label:
            parts.append([label[1], collections.Counter()])
            fresh = False
            continue
        word = re.match(r"(?:@!?%p\d+\s+)?([a-z][\w.:]*)", line)
        if not word:
            continue
        if fresh:
            parts.append(["", collections.Counter()])
            fresh = False
        kind = next((kind for pattern, kind in WORDS if re.match(pattern, word[1])), "integer")
        parts[-1][1][kind] += 1
        fresh = bool(re.match(r"bra", word[1]))
    return [(label, counter) for label, counter in parts if counter]


def executed(ptx, passes):
    """Warp instructions by class; passes: how many warps go through each piece, in the order of the text."""
    found = pieces(ptx)
    assert len(found) == len(passes), [label for label, _ in found]
    total = collections.Counter()
    for (_, counter), times in zip(found, passes):
        for kind, count in counter.items():
            total[kind] += count * times
    return {kind: count for kind, count in total.items() if count}


def analyze(name, temporary, ours=False):
    """PTX and counters of a case: Triton's PTX, or what our compiler makes of the kernel."""
    folder = temporary / name
    shutil.copytree(CASES / name, folder)
    ptx = "" if ours else sim_test.ptx_of(folder)
    if ptx:
        (folder / "kernel.ptx").write_text(ptx)
    done = subprocess.run([os.environ["PROGRAM"], "analyze", str(folder), "--json"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{name}: {done.stderr or done.stdout}")
    return ptx, json.loads(done.stdout)


# --- C = A B, bf16, A 64 x 64, B 64 x 32; programs of 32 x 32 in steps of 16; 4 warps, 3 stages --------------------------------
def test_matmul(tmp_path):
    ptx, got = analyze("own_matmul-bf16.matmul_plain", tmp_path)
    programs, warps, steps = 2, 4, 64 // 16
    assert got["blocks"] == programs, "matmul: blocks"
    assert got["warps"] == programs * warps, "matmul: warps"
    # A program's 32 x 32 x 64 in pieces of 16 x 8 x 16.
    assert got["tensor_instructions"] == programs * (32 // 16) * (32 // 8) * (64 // 16), "matmul: mma"
    # Copies of a step: 32 x 16 of A and 16 x 32 of B, 1 KiB each: 8 bytes for each of 128 threads. Two steps are issued before
    # the loop and one in each turn; the last two turns copy nothing, but execute.
    assert got["classes"]["async copy"] == programs * warps * 2 * (2 + steps), "matmul: executed copies"
    copies = got["memory"]["async copy"]
    assert copies["requests"] == programs * warps * 2 * steps, "matmul: copies of something"
    # 8 bytes for each of 32 lanes are two passes over the banks; swizzled, so never more. The last two turns write zeros.
    assert [got["copy_requests"], got["copy_passes"], got["copy_conflicts"]] == (
            [programs * warps * 2 * (2 + steps), 2 * programs * warps * 2 * (2 + steps), 0]), "matmul: passes of copies"
    # Rows of 16 bf16 of A are a sector of 32 bytes, of 32 bf16 of B two; no sector is read twice by a program.
    assert copies["sectors"] == programs * steps * (32 * 1 + 16 * 2), "matmul: sectors read"
    # Each tensor's copy is a group. The loop waits until two remain and then issues two.
    assert got["async_groups_in_flight"] == 4, "matmul: groups in flight"
    # A commit for each copy, a wait in each iteration and one after the loop.
    assert got["classes"]["async wait"] == programs * warps * (2 * (2 + steps) + steps + 1), "matmul: commits and waits"
    # 2 x 2 warps, 16 x 16 of C each: a step needs one 16 x 16 fragment of A and one of B, an ldmatrix.x4 each. x4 reads 512
    # bytes, four passes over banks of 128 bytes; swizzled, so never more.
    ldmatrix = got["memory"]["matrix load"]
    assert ldmatrix["requests"] == programs * warps * steps * 2, "matmul: ldmatrix"
    assert ldmatrix["bank_passes"] == 4 * ldmatrix["requests"], "matmul: their passes"
    # C goes through shared memory to rows of 16 bytes a thread: 4 bf16 pairs of a lane out, 4 back. 4 bytes a lane, swizzled.
    for kind in ("shared store", "shared load"):
        assert got["memory"][kind] == {"requests": programs * warps * 4, "bank_passes": programs * warps * 4,
                                                        "bank_conflicts": 0, "sectors": 0}, "matmul: " + kind
    # 32 rows of 64 bytes, 16 bytes a thread.
    assert got["memory"]["global store"] == (
            {"requests": programs * warps, "bank_passes": 0, "bank_conflicts": 0, "sectors": programs * 32 * 2}), "matmul: stores"
    # One before the second step's copies, two in a turn (after the wait, before the next copies), two around C's way.
    assert got["classes"]["barrier"] == programs * warps * (1 + 2 * steps + 2), "matmul: barriers"
    # Pieces: up to the branch that skips the loop when K is 0; loop preparation; the loop; rounding; the rest.
    once = programs * warps
    assert got["classes"] == executed(ptx, [once, once, once * steps, once, once]), "matmul: instructions"


# --- Selected attention: 20 tokens, 2 heads of k, 16 heads of q each; blocks of 16 keys, 2 selected; D 64, bf16; 4 warps -------
def test_attention(tmp_path):
    ptx, got = analyze("selected_attention", tmp_path)
    programs, warps, turns = 20 * 2, 4, 2
    # Tokens 0-15 select block 0 (and -1), tokens 16-19 blocks 0 and 1, for both heads.
    first, second = 20 * 2, 4 * 2
    visits = first + second
    assert got["blocks"] == programs, "attention: blocks"
    # Scores: 16 rows x 16 keys x 64 are 1 x 2 x 4 products; four warps split the keys, so that the two columns
    # of products are computed twice. Values: 16 x 64 x 16 are 1 x 8 x 1.
    assert got["tensor_instructions"] == visits * (2 * 2 * 4 + 8), "attention: mma"
    lines = collections.Counter()
    for where, line in got["lines"].items():
        lines[int(where.split(":")[1])] += line["tensor_instructions"]
    kernel = (CASES / "selected_attention" / "kernel.py").read_text().splitlines()
    at = {word: 1 + next(i for i, text in enumerate(kernel) if word in text) for word in ("tl.trans(k)", "acc * old")}
    assert lines[at["tl.trans(k)"]] == visits * 16, "attention: mma of scores"
    assert lines[at["acc * old"]] == visits * 8, "attention: mma of values"
    # Loads: q is 2 KiB, 16 bytes a thread. k and v are too, of block 0; of block 1 only keys 16-19 exist: 4 rows of 128 bytes,
    # which one warp holds. Each warp loads an index in each turn.
    rows = first * 16 + second * 4
    assert got["memory"]["global load"] == {"requests": programs * 4 + 2 * (first * 4 + second) + programs * turns * warps, "bank_passes": 0,
            "bank_conflicts": 0, "sectors": programs * 64 + 2 * rows * 4 + programs * turns * warps}, "attention: loads"
    # Stores: o is 2 KiB, lse 64 bytes by one warp.
    assert got["memory"]["global store"] == (
            {"requests": programs * 4 + programs, "bank_passes": 0, "bank_conflicts": 0, "sectors": programs * 64 + programs * 2}), "attention: stores"
    # Fragments for a warp: 8 keys x 64 of k are two x4, 16 x 64 of q four, 16 x 16 of p one, 16 keys x 16 columns of v one.
    assert got["memory"]["matrix load"] == (
            {"requests": visits * warps * 8, "bank_passes": visits * warps * 8 * 4, "bank_conflicts": 0, "sectors": 0}), "attention: ldmatrix"
    # Triton does not pipeline loads after a loaded index and a branch.
    assert got["async_groups_in_flight"] == 0, "attention: groups in flight"
    assert got["classes"].get("async copy", 0) == 0, "attention: copies"
    # In a visit: before and after k and q are stored; three for each of the two reductions over warps (before the partial results are stored, before
    # they are read, before the result of all is); before p and v are stored and before they are read: 2 + 6 + 2. After the loop: two around o's way
    # through shared memory.
    assert got["classes"]["barrier"] == warps * (visits * 10 + programs * 2), "attention: barriers"
    # Pieces in the order of the text: preparation; the loop's end; the jump after it; the loop's head; a visit; the division up
    # to the logarithms of the two rows of a lane, whose branches skip what only zero, infinity and NaN need.
    once = programs * warps
    assert got["classes"] == (
            executed(ptx, [once, once * turns, once, once * turns, visits * warps, once, 0, once, 0, once])), "attention: instructions"


# --- x + y, 1000 floats, by our compiler: whatever the code, it has this memory to move ----------------------------------------
def test_addition(tmp_path):
    _, got = analyze("vector_add", tmp_path, ours=True)
    case = json.loads((CASES / "vector_add" / "case.json").read_text())
    assert got["blocks"] == case["grid"][0], "addition: blocks"
    elements = next(entry["elements"] for entry in case["args"] if entry["kind"] == "pointer")
    assert got["memory"]["global load"]["sectors"] == 2 * elements * 4 // 32, "addition: sectors read"
    assert got["memory"]["global store"]["sectors"] == elements * 4 // 32, "addition: sectors written"
