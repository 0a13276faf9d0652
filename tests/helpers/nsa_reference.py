# tests/helpers/nsa_reference.py - reference of NSA: masked attention in plain torch operations, in fp64 with autograd.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import torch


class Packing:
    """Sequence number and position of each token of packed sequences with the given lengths."""

    def __init__(self, lengths):
        self.lengths = lengths
        self.cu = torch.tensor([0] + lengths).cumsum(0).to(torch.int32)
        self.tokens = sum(lengths)
        self.longest = max(lengths)
        self.sequence = torch.cat([torch.full((n,), b) for b, n in enumerate(lengths)]).long()
        self.position = torch.cat([torch.arange(n) for n in lengths])

    def blocks(self, length, stride):
        """Returns [blocks, 3]: sequence, index in the sequence and first packed token of each compressed block."""
        rows = [(b, i, int(self.cu[b]) + i * stride) for b, n in enumerate(self.lengths)
                for i in range((n - length) // stride + 1 if n >= length else 0)]
        return torch.tensor(rows, dtype=torch.long).reshape(-1, 3)


def attention(q, k, v, mask, scale):
    """Returns the output [T, Hq, dv] and the log-sum-exp [Hq, T] of q [T, Hq, dk] over keys [S, Hkv, d]. `mask` is [Hkv, T, S] or [T, S]; a
    row without keys has the output 0 and the log-sum-exp -inf."""
    group = q.shape[1] // k.shape[1]
    if mask.dim() == 2:
        mask = mask.expand(k.shape[1], *mask.shape)
    mask = mask.repeat_interleave(group, 0)
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    scores = scale * torch.einsum("thd,shd->hts", q, k)
    live = mask.any(-1)
    # A row without keys attends to all keys, and its result is set to zero. Otherwise its gradient would be NaN.
    p = scores.masked_fill(~(mask | ~live[..., None]), float("-inf")).softmax(-1) * live[..., None]
    lse = scores.masked_fill(~(mask | ~live[..., None]), float("-inf")).logsumexp(-1)
    return torch.einsum("hts,shd->thd", p, v), lse.masked_fill(~live, float("-inf"))


def dense_mask(p):
    same = p.sequence[:, None] == p.sequence
    return same & (p.position[:, None] >= p.position)


def window_mask(p, window):
    return dense_mask(p) & (p.position[:, None] - p.position < window)


def compressed_mask(p, length, stride):
    blocks = p.blocks(length, stride)
    return (p.sequence[:, None] == blocks[:, 0]) & (blocks[:, 1] * stride + length <= p.position[:, None] + 1)


def selected_mask(p, indices, selection_length):
    """Converts block indices [Hkv, T, n] to a causal mask of the tokens in these blocks, [Hkv, T, T]."""
    block = p.position // selection_length
    chosen = (indices[:, :, None, :] == block[None, None, :, None]).any(-1)
    return chosen & dense_mask(p)


def compress(x, p, length, stride, weight=None):
    first = p.blocks(length, stride)[:, 2]
    rows = x[first[:, None] + torch.arange(length)]  # [blocks, length, H, D]
    if weight is None:
        return rows.mean(1)
    return torch.einsum("blhd,ld->bhd", rows, weight)


def block_scores(q, k_cmp, p, length, stride, selection_length, scale):
    """Returns the scores of the selection blocks, [Hkv, T, blocks]: the probabilities of compressed attention, weighted by the overlap of
    compressed and selection blocks and summed over the query heads of a key head."""
    heads = k_cmp.shape[1]
    group = q.shape[1] // heads
    mask = compressed_mask(p, length, stride)
    scores = scale * torch.einsum("thd,shd->hts", q, k_cmp.repeat_interleave(group, 1))
    probabilities = torch.nan_to_num(scores.masked_fill(~mask, float("-inf")).softmax(-1))
    blocks = -(-p.longest // selection_length)
    first = p.blocks(length, stride)[:, 1] * stride
    begin = torch.arange(blocks) * selection_length
    overlap = torch.minimum(first[:, None] + length, begin + selection_length) - torch.maximum(first[:, None], begin)
    weights = overlap.clamp(min=0).to(q.dtype) / stride
    return (probabilities @ weights).reshape(heads, group, p.tokens, blocks).sum(1)


def select(scores, p, selection_length, n, initial=1, local=2):
    """Returns the indices of the selected blocks, int32 [Hkv, T, n], ascending and -1 padded. The first `initial` and the last `local` blocks
    of a query are always selected, then those with the highest scores; of equal scores, the lower index."""
    scores = scores.detach()
    out = torch.full((scores.shape[0], p.tokens, n), -1, dtype=torch.int32)
    for h in range(scores.shape[0]):
        for t in range(p.tokens):
            current = int(p.position[t]) // selection_length
            forced = {j for j in range(initial) if j <= current} | {current - j for j in range(local) if current >= j}
            rest = sorted((j for j in range(current + 1) if j not in forced), key=lambda j: (-float(scores[h, t, j]), j))
            chosen = sorted(forced | set(rest[:n - len(forced)]))
            out[h, t, :len(chosen)] = torch.tensor(chosen, dtype=torch.int32)
    return out


def combine(branches, logits, mode, tau):
    gates = (logits / tau).softmax(-1) if mode == "softmax" else (logits / tau).sigmoid()
    group = branches[0].shape[1] // logits.shape[1]
    gates = gates.repeat_interleave(group, 1)
    return sum(gates[..., c, None] * branch for c, branch in enumerate(branches))


def rope(x, position, base, rotated, scale=1.0):
    frequency = base ** (-torch.arange(0, rotated, 2, dtype=x.dtype) / rotated)
    angle = (position[:, None].to(x.dtype) / scale * frequency)[:, None]
    a, b = x[..., 0:rotated:2], x[..., 1:rotated:2]
    turned = torch.stack((a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()), -1).flatten(-2)
    return torch.cat((turned, x[..., rotated:]), -1)
