# tools/gpucheck/selected_launches.py - launches of the kernels of selected attention that tests/triton does not launch, for record.py.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Lists of blocks, their inverse index and the passes over them, with the constants of the instances. The index is made in Python."""
import torch
from cases import rows
from launcher import cdiv, fresh, pow2

FLOAT, HALF = torch.float32, torch.bfloat16


def lists_of(generator, lists, tokens, block, count):
    """int32 [lists, tokens, count]: random blocks up to the token's own, some twice, then -1."""
    picks = torch.randint(0, cdiv(tokens, block), (lists, tokens, count), generator=generator, dtype=torch.int32)
    return torch.where(picks <= (torch.arange(tokens) // block)[None, :, None], picks, -1)


def inverse_of(indices, block, tile):
    """(PTR, STARTS, INV) of one sequence (docs/kernel-reference.md); `tile` tokens make a tile."""
    lists, tokens, count = indices.shape
    blocks, tiles = tokens // block + 1, tokens // tile + 1
    offsets, starts, inverse = torch.zeros(lists, blocks + 1), torch.zeros(lists, tiles, blocks), torch.zeros(lists, tokens * count)
    for number in range(lists):
        entry = 0
        for j in range(blocks):
            offsets[number, j] = entry
            mine = [t for t in range(tokens) if j in indices[number, t].tolist()]
            for i in range(tiles):
                starts[number, i, j] = entry + sum(t < i * tile for t in mine)
            inverse[number, entry : entry + len(mine)] = torch.tensor(mine)
            entry += len(mine)
        offsets[number, blocks] = entry
    return [x.to(torch.int32) for x in (offsets, starts, inverse)]


def passes(launch, rand, generator, few):
    file = "nsa/select_blocks.py"
    for tokens, share, block, count, span, dim, tile in ((75, 1, 32, 6, 64, 32, 32), (150, 4, 64, 16, 1024, 64, 64))[:few]:
        heads = share
        indices = lists_of(generator, heads, tokens, block, count)
        offsets, starts, inverse = inverse_of(indices, block, 8)
        q, do, k, v = rand(tokens, heads, dim), rand(tokens, heads, dim), rand(tokens, 1, dim), rand(tokens, 1, dim)
        acc, state = torch.zeros(heads, tokens, 1, dim), torch.zeros(2, heads, tokens, 1)
        state[0] = -float("inf")
        o, lse, dq = fresh(tokens, heads, dim), fresh(tokens, heads), torch.zeros(tokens, heads, dim)
        cu, sizes = torch.tensor([0, tokens], dtype=torch.int32), (tokens, 1, tokens // block + 1, tokens // 8 + 1)
        common = dict(G=1, LSEL=block, NSEL=count, BT=8, SPAN=span, D=dim, DP=dim, DT=0, E=dim, EP=dim, BM=tile, BN=tile, SHARE=share, HIDDEN=0, SUB=0)
        grid, index, scale = (tokens // span + 1, heads), (offsets, starts, inverse), dim**-0.5
        launch(file, "select_blocks_fwd", grid, *rows(q, k, v), *index, acc, state, *rows(o, lse), cu, scale, *sizes, **common)
        delta = (o * do).sum(-1)
        launch(file, "select_blocks_bwd_dq", grid, *rows(q, k, v), *index, *rows(do, lse, delta, dq), cu, scale, *sizes, **common)


def super_blocks(launch, generator, few):
    file = "nsa/super_blocks.py"
    for tokens, block, per, count, tile in ((75, 4, 4, 6, 8), (37, 1, 16, 256, 1))[:few]:
        indices, cu = lists_of(generator, 2, tokens, block, count), torch.tensor([0, tokens], dtype=torch.int32)
        numbers, bits = fresh(2, tokens, count, dtype=torch.int32), fresh(2, tokens, count, dtype=torch.int32)
        launch(file, "super_lists", (tokens // tile + 1, 2), indices, numbers, bits, cu, tokens, 1, LSEL=block, PER=per, NSEL=count, NP=pow2(count),
               NOUT=count, BT=tile)
        _, starts, _ = inverse_of(numbers, 16, 8)
        inverse = fresh(2, tokens * count, dtype=torch.int64)
        launch(file, "inverse_fill_bits", (tokens // 8 + 1, 2), numbers, bits, starts, inverse, cu, tokens, 1, tokens // 16 + 1, LSEL=16, NSEL=count,
               NP=pow2(count), BT=8)


def joint(launch, rand, few):
    file = "nsa/joint.py"
    for heads, streams, dim, dtype, padding in ((6, 2, 32, FLOAT, 0), (16, 2, 64, FLOAT, 1), (64, 3, 128, HALF, 0))[:few]:
        tokens = 40
        padded = lambda: fresh(tokens, heads + padding)[:, :heads]
        part, sums, sink = rand(streams, tokens, heads, dim), rand(streams, tokens, heads), rand(heads)
        o, lse = fresh(tokens, heads, dim, dtype=dtype), padded()
        launch(file, "merge_streams", (cdiv(tokens, 32), heads), part, sums, sink, o, lse, tokens, tokens * heads * dim, tokens * heads,
               *o.stride()[:2], *lse.stride(), H=heads, STREAMS=streams, E=dim, EP=dim, BT=32)
        delta, given = rand(tokens, heads), rand(tokens, heads + 1)[:, :heads]
        total, sums = fresh(tokens, heads), fresh(cdiv(tokens, 32), heads)
        launch(file, "sink_rows", (cdiv(tokens, 32),), lse, sink, delta, given, total, sums, tokens, *lse.stride(), *given.stride(), H=heads,
               HP=pow2(heads), BT=32)


def selection(launch, rand, generator):
    """The scorers, for one sequence."""
    tokens, cu, top = 150, torch.tensor([0, 150], dtype=torch.int32), dict(BLOCK=64, TOP=16, W=16, FIRST=0, LOCAL=1)
    for share, dim, tile, dtype in ((2, 64, 32, FLOAT), (8, 128, 64, HALF)):
        q, k, pooled = rand(tokens, share, dim, dtype=dtype), rand(tokens, 1, dim, dtype=dtype), fresh(3, 1, dim, dtype=dtype)
        launch("selection/pool_keys.py", "pool_keys", (3, 1), k, pooled, cu, 1, *k.stride()[:2], *pooled.stride()[:2], BLOCK=64, BP=64, D=dim,
               DP=dim, MAX=0)
        indices = fresh(share, tokens, 16, dtype=torch.int32)
        launch("selection/pooled_select.py", "pooled_select", (tokens // tile + 1, share), q, pooled, indices, cu, tokens, 1, *q.stride()[:2],
               *pooled.stride()[:2], HEADS=1, SHARE=share, KEYS=1, **top, D=dim, DP=dim, DT=0, BT=tile, BJ=16)
    for dtype, tile in ((FLOAT, 16), (HALF, 32)):
        q, k, weights = rand(tokens, 1, 4, 64, dtype=dtype), rand(tokens, 64, dtype=dtype), rand(tokens, 1, 4)
        indices, best = fresh(1, tokens, 16, dtype=torch.int32), fresh(1, tokens, 16, dtype=torch.int32)
        launch("selection/indexer_select.py", "indexer_select", (tokens // tile + 1, 1), q, k, weights, indices, best, cu, cu, tokens, 1, *q.stride()[:3],
               k.stride(0), *weights.stride(), HEADS=4, BP=64, **top, D=64, DP=64, DT=0, BJ=2, BT=tile)
    for heads, dim, dtype in ((4, 64, FLOAT), (16, 128, HALF)):
        q, k, lse = rand(tokens, heads, dim, dtype=dtype), rand(tokens, 1, dim, dtype=dtype), rand(tokens, heads) + 5
        indices = lists_of(generator, 1, tokens, 64, 16)
        launch("selection/block_mass.py", "block_mass", (tokens + 1, 1), q, k, lse, indices, fresh(1, tokens, 16), cu, dim**-0.5, tokens, 1,
               *q.stride()[:2], *k.stride()[:2], *lse.stride(), HEADS=heads, HP=heads, SHARE=1, KEYS=1, BLOCK=64, TOP=16, D=dim, DP=dim, DT=0, BN=64)


def run(launch, rand, generator, smallest):
    """`smallest`: the instances named quick alone."""
    few = 1 if smallest else None
    if not smallest:
        selection(launch, rand, generator)
    passes(launch, rand, generator, few)
    super_blocks(launch, generator, few)
    joint(launch, rand, few)
