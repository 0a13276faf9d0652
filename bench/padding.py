# bench/padding.py - tensor instructions that the attention kernels execute for a GPU, compared with those that the shape needs.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Tensor instructions of the attention kernels on sm_80 over those that the pairs of queries and keys need.

Nine geometries: head sizes 192/128, 128/128 and 64/64 with 4, 6 and 16 query heads a key
head. One sequence and one key head, bf16, code for sm_80, each kernel in its configuration for a GPU. Kernels of one token and those for
decoding are left out: they multiply 16 rows whatever there are.

Needed, in instructions m16n8k16 (2,048 multiply-adds) without rounding anything up:

    pairs * G * (a D + b E) / 2048

pairs are those of a query and a key that it sees, whatever tiles they lie in:
    dense       T (T + 1) / 2
    window      sum over t of min(t + 1, w)
    compressed  sum over t of max(0, (t + 1 - l + d) // d)
    selected    sum over t of the keys <= t in the blocks that t selected
a, b: 1, 1 for a forward; 2, 1 for dq; 2, 2 for dk and dv, with the scores computed again in both; 1, 0 for score_select.
So all of these count as waste: idle rows of a tile, keys of a step behind the diagonal, before the window or behind the last key,
tokens of a step that is not full, columns that a head size is padded by.

Selected blocks are the same for all tokens (the first 14, the one before their own, their own), since products of a tile for tokens
that did not select a block do not count as padding (bench/selected.py counts them). At 65,536 tokens a compressed row has 4,096 keys, so that its
diagonal, at most one step a tile, is small beside the rest, as in the dense and compressed kernels it is at any length of use.

Executed: a program's steps, from the text of its loop, times the instructions of a step. Up to three programs of different numbers of
steps run on the simulator and must have executed exactly that."""
from layer import LSEL, MACHINE, MACS, STRIDE, WINDOW, L, layer_of, torch, zeros

TARGET, MOST_STEPS = 1.15, 600
HEADS, GROUPS = [(192, 128), (128, 128), (64, 64)], [4, 6, 16]
PRODUCTS = dict(fwd=(1, 1), dq=(2, 1), dkdv=(2, 2), select=(1, 0))      # by the end of a kernel's name
KERNELS = ["cmp_fwd", "cmp_select_fwd", "score_select", "select_list_fwd", "window_fwd", "dense_fwd", "cmp_bwd_dq", "cmp_bwd_dkdv",
           "select_list_bwd_dq", "select_bwd_dkdv", "window_bwd_dq", "window_bwd_dkdv", "dense_bwd_dq", "dense_bwd_dkdv"]
OPTIONS, QUICK = {"tokens": 65536}, {"tokens": 2048}


def cdiv(a, b):
    return -(-a // b)


def seen(t):
    """Compressed tokens that token t sees."""
    return max(0, t + 1 - L + STRIDE) // STRIDE


def pairs(name, one):
    tokens = range(one.length)
    if name.startswith("dense"):
        return sum(t + 1 for t in tokens)
    if name.startswith("window"):
        return sum(min(t + 1, WINDOW) for t in tokens)
    if name.startswith("select_"):
        first = one.idx * LSEL                   # -LSEL for none
        own = torch.arange(one.length)[:, None]
        return int(torch.where(one.idx >= 0, (own + 1 - first).clamp(0, LSEL), 0).sum())
    return sum(map(seen, tokens))


def row_steps(name, one, c, tile):
    """Of the program with this tile of tokens."""
    size = c["BM"] // c.get("GB", one.group)
    t0 = tile * size
    if t0 >= one.length:
        return 0
    last = min(t0 + size, one.length) - 1
    if name.startswith("select_list"):
        return len(one.blocks_of_tile(tile)) * cdiv(LSEL, c["BN"])
    if name == "score_select":
        return cdiv(last // LSEL + 1, c["BJ"]) * (one.group // c["GB"])
    if name == "cmp_select_fwd":
        reached = L + LSEL - 1 if c["MERGE"] else LSEL       # blocks into which a token reaches, or in which one begins
        return cdiv(((seen(last) - 1) * STRIDE + reached) // LSEL, c["BJ"]) if seen(last) > 0 else 0
    if name.startswith("cmp"):
        return cdiv(seen(last), c["BN"])
    first = max(t0 - WINDOW + 1, 0) // c["BN"] * c["BN"] if name.startswith("window") else 0
    return cdiv(last + 1 - first, c["BN"])


def key_steps(name, one, c, tile):
    """Of the program with this tile of keys, or this chunk of an inverse list."""
    if name == "select_bwd_dkdv":
        return cdiv(one.chunk_sizes[tile // cdiv(LSEL, c["BN"])], c["BM"] // one.group)
    parts = one.parts if name.startswith("cmp") else 1
    n, keys = tile // parts * c["BN"], one.count if name.startswith("cmp") else one.length
    if n >= keys:
        return 0
    first = n * STRIDE + L - 1 if name.startswith("cmp") else n
    stop = min(n + c["BN"] - 1 + WINDOW, one.length) if name.startswith("window") else one.length
    if parts > 1:
        early, part = n // 128 * 128 * STRIDE + L - 1, tile % parts
        share = cdiv(one.length - early, parts)
        first, stop = max(early + part * share, first), min(early + (part + 1) * share, stop)
    return cdiv(max(stop - first, 0), c["BM"] // one.group)


def count(name, one):
    """(executed, needed, programs that ran) of one kernel."""
    launch = one.launch(name)
    by_keys = name.endswith("dkdv")
    programs = launch.grid[1] if by_keys else launch.grid[0]
    if name == "cmp_select_fwd":                 # a program for each tile here, where the op has fewer that take several
        programs = one.tiles(launch.constexprs["BM"] // one.group)
        launch.grid = (programs, 1)
        launch.args["SUMS"] = zeros(programs, launch.args["SUMS"][0, 0].numel(), dtype=torch.float32)
    steps = [(key_steps if by_keys else row_steps)(name, one, launch.constexprs, i) for i in range(programs)]
    few = sorted({s for s in steps if 0 < s <= MOST_STEPS})
    chosen = sorted({few[0], few[len(few) // 3], few[-1] if by_keys else few[len(few) // 2]}) if few else []
    assert chosen, f"{name}: no program has at most {MOST_STEPS} steps"
    executed = {}
    for s in chosen:
        tile = len(steps) - 1 - steps[::-1].index(s)
        program = tile if by_keys else programs - 1 - tile
        executed[s] = launch.count([program])["tensor_instructions"]
    each = executed[chosen[0]] / chosen[0]
    for s, got in executed.items():
        assert got == each * s, f"{name}: {got} tensor instructions in {s} steps, {each} in one"
    a, b = PRODUCTS[name.rsplit("_", 1)[1]]
    return each * sum(steps), pairs(name, one) * one.group * (a * one.dim + b * one.vdim) / MACS, len(executed)


def rows(options):
    return {f"{dim}/{vdim}, {group} heads, {name}": (dim, vdim, group, name) for dim, vdim in HEADS for group in GROUPS for name in KERNELS}


def measure(row, context):
    dim, vdim, group, name = row
    executed, needed, programs = count(name, layer_of(group, 1, dim, vdim, context.options.tokens, "sink"))
    return dict(kernel=name, heads=f"{dim}/{vdim}", group=group, executed=round(executed), needed=round(needed), programs=programs,
                ratio=round(executed / needed, 4), met=executed <= TARGET * needed)


def summary(records, context):
    met = sum(record["met"] for record in records)
    return dict(machine=MACHINE, tokens=context.options.tokens, bar=f"executed / needed <= {TARGET}", met=met, missed=len(records) - met)
