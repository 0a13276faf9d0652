# bench/selected_cpu.py - selected_attention on this CPU, compared with plain PyTorch formulations of the same attention.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Milliseconds of `selected_attention` with a list for each query head, as MoBA selects, and of three formulations in PyTorch, fp32.

One sequence, 16 blocks of 64 tokens: the query's own and others before it, drawn at random for each token and query head; 4 query heads of
64 channels. `masked` is `F.scaled_dot_product_attention` with a boolean mask, which is made before the clock starts. `gathered` takes the
selected keys and values of 128 tokens at a time with an index, and computes a chunk again in its backward pass: all of them at once take
17 GB. `flex` is FlexAttention without torch.compile, with a block mask that is made before the clock starts; where it fails, `flex_error` has the
reason. All run alternately in one process, each with the gradients of q, k and v in the rows "forward and backward". `speedup` is the fastest
formulation's time divided by the op's; the limit is 2 for forward and backward."""
import statistics

from harness import alternate, failure

OPTIONS, QUICK, ROUNDS = {"length": 8192}, {"length": 1024}, 3
HEADS, SIZE, BLOCK, SELECTED, CHUNK, SPEEDUP = 4, 64, 64, 16, 128, 2.0
DIRECTIONS = ("forward", "forward and backward")


def rows(options):
    return {f"{key_heads} key heads, {what}": (key_heads, what) for key_heads in (4, 2) for what in DIRECTIONS}


def selection(torch, length):
    """int32 [HEADS, length, SELECTED]: the own block, and others before it in random order; -1 where there are fewer."""
    blocks = -(-length // BLOCK)
    own = torch.arange(length) // BLOCK
    order = torch.rand(HEADS, length, blocks)
    order = torch.where(torch.arange(blocks) < own[:, None], order, 2.0).scatter(2, own.expand(HEADS, length)[..., None], -1.0)
    best, picks = order.topk(min(SELECTED, blocks), largest=False)
    return torch.where(best < 2, picks, -1).int().contiguous()


def formulations(torch, q, k, v, indices):
    """Name -> function to o [1, HEADS, length, SIZE], and the op to o [length, HEADS, SIZE]."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention
    from torch.utils.checkpoint import checkpoint

    length, key_heads = q.shape[0], k.shape[1]
    ends = torch.tensor([0, length], dtype=torch.int32)
    t = torch.arange(length)
    mask = torch.zeros(HEADS, length, -(-length // BLOCK) + 1, dtype=torch.bool)
    mask = mask.scatter_(2, torch.where(indices < 0, mask.shape[2] - 1, indices).long(), True)[..., :-1]
    chosen = mask
    block_mask = create_block_mask(lambda b, head, t, pos: chosen[head, t, pos // BLOCK] & (pos <= t), 1, HEADS, length, length, device="cpu")
    mask = (mask.repeat_interleave(BLOCK, 2)[..., :length] & (t <= t[:, None]))[None]
    wide = lambda x: x.transpose(0, 1).repeat_interleave(HEADS // key_heads, 0)          # [HEADS, length, SIZE]

    def chunk(q, k, v, first):
        entries = indices[:, first:first + CHUNK].long()
        pos = (entries.clamp(min=0)[..., None] * BLOCK + torch.arange(BLOCK)).flatten(2)
        shown = ((entries >= 0)[..., None].expand(*entries.shape, BLOCK).flatten(2) & (pos <= t[first:first + CHUNK, None])).unsqueeze(2)
        pos, heads = pos.clamp(max=length - 1), torch.arange(HEADS)[:, None, None]
        return torch.nn.functional.scaled_dot_product_attention(q.unsqueeze(2), k[heads, pos], v[heads, pos], attn_mask=shown).squeeze(2)

    def gathered():
        rows, keys, values = q.transpose(0, 1), wide(k), wide(v)
        return torch.cat([checkpoint(chunk, rows[:, i:i + CHUNK], keys, values, i, use_reentrant=False) for i in range(0, length, CHUNK)], 1)

    masked = lambda: torch.nn.functional.scaled_dot_product_attention(q.transpose(0, 1)[None], wide(k)[None], wide(v)[None], attn_mask=mask)
    flex = lambda: flex_attention(*(x.transpose(0, 1)[None] for x in (q, k, v)), block_mask=block_mask, enable_gqa=key_heads < HEADS)
    return {"flex": flex, "op": lambda: torch.ops.tessera.selected_attention(q, k, v, ends, length, indices, BLOCK)[0], "masked": masked, "gathered": gathered}


def measure(row, context):
    (key_heads, what), torch, length = row, context.torch, context.options.length
    torch.manual_seed(0)
    backward, failed = what != "forward", None
    q, k, v = (torch.randn(length, heads, SIZE, requires_grad=backward) for heads in (HEADS, key_heads, key_heads))
    forward = formulations(torch, q, k, v, selection(torch, length))
    try:
        forward["flex"]()
    except (NotImplementedError, RuntimeError) as problem:
        failed = failure(problem)
        del forward["flex"]
    functions = {key: (lambda f=f: torch.autograd.grad(f().sum(), (q, k, v))) for key, f in forward.items()} if backward else forward
    with torch.set_grad_enabled(backward):
        results = {key: (f().transpose(0, 1) if key == "op" else f().view(HEADS, length, SIZE)) for key, f in forward.items()}
        error = max((results[key] - results["op"]).abs().max().item() for key in forward)
        assert error < 1e-4, error
        del results
        times = alternate(functions, context.rounds, least_ms=0)
    ms = {key: statistics.median(values) for key, values in times.items()}
    record = {"key_heads": key_heads, "direction": what, "length": length, "ms": ms,
              "spread_ms": {key: [min(all_), max(all_)] for key, all_ in times.items()}, "difference": error,
              "speedup": min(time for key, time in ms.items() if key != "op") / ms["op"]}
    if failed:
        record["flex_error"] = failed
    if backward:
        record["limit_speedup"], record["met"] = SPEEDUP, record["speedup"] >= SPEEDUP
    return record


def summary(records, context):
    return {"q_heads": HEADS, "head_dim": SIZE, "block": BLOCK, "selected": SELECTED, "dtype": "fp32"}
