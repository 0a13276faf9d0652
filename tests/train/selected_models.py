# tests/train/selected_models.py - attention to selected and compressed keys in plain PyTorch, for torch_losses.py.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""All sequences have the same length. Scores, masks and softmax are matrices of all queries and keys, so that autograd does the rest."""
import math

import torch


def heads_apart(x, batch):
    """[T, heads, width] -> [batch, heads, length, width]."""
    return x.reshape(batch, -1, *x.shape[1:]).transpose(1, 2)


def best_blocks(scores, block, top):
    """Mask [..., length, length] of the keys in the `top` best blocks, the own one included; scores [..., length, blocks]."""
    length, blocks = scores.shape[-2:]
    own = torch.arange(length)[:, None] // block
    number = torch.arange(blocks)[None, :]
    rank = scores.detach().masked_fill(number == own, math.inf).masked_fill(number > own, -math.inf)
    value, order = rank.sort(dim=-1, descending=True, stable=True)
    chosen = torch.zeros_like(rank, dtype=torch.bool).scatter(-1, order[..., :top], value[..., :top] > -math.inf)
    keys = torch.arange(length)
    return chosen.repeat_interleave(block, -1)[..., :length] & (keys[None, :] <= keys[:, None]), chosen


def masked(q, k, v, mask):
    scores = (q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])).masked_fill(~mask, -math.inf)
    shares = scores.softmax(-1)
    return (shares @ v).transpose(1, 2).flatten(0, 1), shares


def moba(query, keys, values, batch, block, top):
    q, k, v = (heads_apart(x, batch) for x in (query, keys, values))
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    pooled = k.unflatten(2, (-1, block)).mean(3)
    mask, _ = best_blocks(q @ pooled.transpose(-1, -2), block, top)
    return masked(q, k, v, mask)[0]


def learned_blocks(query, keys, values, index_query, index_key, index_weights, batch, block, top):
    """(output, mean divergence of the indexer's distribution over the selected blocks from the attention's)."""
    q, k, v = (heads_apart(x, batch) for x in (query, keys, values))
    group = q.shape[1] // k.shape[1]
    iq, ik = heads_apart(index_query, batch), index_key.reshape(batch, 1, -1, index_key.shape[-1])
    weights = index_weights.reshape(batch, -1, index_weights.shape[-1]).transpose(1, 2).unsqueeze(-1)
    tokens = ((iq @ ik.transpose(-1, -2)).relu() * weights).sum(1)
    length = tokens.shape[-1]
    causal = torch.arange(length)[None, :] <= torch.arange(length)[:, None]
    scores = tokens.masked_fill(~causal, -math.inf).unflatten(2, (-1, block)).amax(-1)
    mask, chosen = best_blocks(scores, block, top)
    output, shares = masked(q, k.repeat_interleave(group, 1), v.repeat_interleave(group, 1), mask.unsqueeze(1))
    target = shares.detach().mean(1).unflatten(2, (-1, block)).sum(-1)
    logs = scores.masked_fill(~chosen, -1e30).log_softmax(-1)
    return output, (torch.xlogy(target, target) - target * logs.masked_fill(~chosen, 0)).sum(-1).mean()


def means(x, length, stride):
    """[..., tokens, width] -> the mean of each complete block."""
    return x.unfold(-2, length, stride).mean(-1)


def joined(query, keys, values, sink, batch, length, stride, window, index=None, top=0):
    """(output, loss): one softmax over compressed keys, of which an indexer (queries, keys, weights) selects `top`, a window and a sink."""
    q = heads_apart(query, batch)
    (ck, wk), (cv, wv) = ([heads_apart(x, batch) for x in pair] for pair in (keys, values))
    ck, cv, group = means(ck, length, stride), means(cv, length, stride), q.shape[1] // ck.shape[1]
    tokens, count = q.shape[2], ck.shape[2]
    t = torch.arange(tokens)[:, None]
    seen = (torch.arange(count)[None, :] * stride + length - 1 <= t).expand(batch, 1, -1, -1)
    if index is not None:
        iq, ik, weights = index
        iq, ik = heads_apart(iq, batch), means(ik.reshape(batch, 1, tokens, -1), length, stride)
        weights = weights.reshape(batch, tokens, -1).transpose(1, 2).unsqueeze(-1)
        scores = ((iq @ ik.transpose(-1, -2)).relu() * weights).sum(1)
        value, order = scores.detach().masked_fill(~seen[:, 0], -math.inf).sort(dim=-1, descending=True, stable=True)
        chosen = torch.zeros_like(seen[:, 0]).scatter(-1, order[..., :top], value[..., :top] > -math.inf)
        seen = chosen.unsqueeze(1)
    near = (t >= torch.arange(tokens)[None, :]) & (t - torch.arange(tokens)[None, :] < window)
    k, v = (torch.cat(pair, 2).repeat_interleave(group, 1) for pair in ((ck, wk), (cv, wv)))
    mask = torch.cat([seen, near.expand(batch, 1, -1, -1)], 3)
    logits = (q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])).masked_fill(~mask, -math.inf)
    shares = torch.cat([logits, sink[None, :, None, None].expand(batch, -1, tokens, 1)], 3).softmax(-1)[..., :-1]
    output = (shares @ v).transpose(1, 2).flatten(0, 1)
    if index is None:
        return output, 0.0
    # Without the sink, as lse is; then among the selected keys.
    target = logits.detach().softmax(-1)[..., :count].mean(1)
    target = target / target.sum(-1, keepdim=True).clamp_min(1e-30)
    logs = scores.masked_fill(~chosen, -1e30).log_softmax(-1)
    return output, (torch.xlogy(target, target) - target * logs.masked_fill(~chosen, 0)).sum(-1).mean()
