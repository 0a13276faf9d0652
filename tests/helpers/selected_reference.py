# tests/helpers/selected_reference.py - reference of tessera::selected_attention, for one query and head at a time, with autograd.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Follows the text of docs/torch-ops.md: builds the set of a query's key positions in Python, then computes one softmax over these keys.
Computes in the type of the inputs; tests pass fp64."""
import torch


def visible_tokens(entries, t, block, window):
    """Returns the positions of the keys that the query at position t attends to, ascending: those in the blocks `entries` of its list, and
    those in the window. Ignores block numbers out of range."""
    seen = set()
    for entry in entries:
        if 0 <= entry <= t // block:
            seen.update(pos for pos in range(entry * block, entry * block + block) if pos <= t)
    seen.update(range(max(t - window + 1, 0), t + 1) if window else ())
    return sorted(seen)


def visible_extra(count, t, length, stride):
    """Returns the indices of the second stream's keys whose last token is at position t or before."""
    return [i for i in range(count) if i * stride + length - 1 <= t]


def list_of(indices, head, heads, key_heads):
    """Returns the lists [T, n] of a query head. `indices` has one list for all heads, for each key head or for each query head."""
    scopes = indices.shape[0]
    return indices[{1: 0, key_heads: head * key_heads // heads, heads: head}[scopes]]


def attention(q, k, v, cu, indices, block, window=0, sink=None, extra_k=None, extra_v=None, extra_cu=None, extra_length=1, extra_stride=1,
              scale=None):
    """Returns (o [T, Hq, E], lse [Hq, T]). Reads `indices` as Python integers, so any int32 is allowed. The log-sum-exp excludes the sink."""
    heads, key_heads = q.shape[1], k.shape[1]
    scale = q.shape[2] ** -0.5 if scale is None else scale
    cu = cu.tolist()
    extra_cu = None if extra_cu is None else extra_cu.tolist()
    outputs, sums = [], []
    for b in range(len(cu) - 1):
        for t in range(cu[b + 1] - cu[b]):
            for h in range(heads):
                kv = h * key_heads // heads
                entries = list_of(indices, h, heads, key_heads)[cu[b] + t].tolist()
                rows = [cu[b] + pos for pos in visible_tokens(entries, t, block, window)]
                keys, values = k[rows, kv], v[rows, kv]
                if extra_cu is not None:
                    more = [extra_cu[b] + i for i in visible_extra(extra_cu[b + 1] - extra_cu[b], t, extra_length, extra_stride)]
                    keys, values = torch.cat((keys, extra_k[more, kv])), torch.cat((values, extra_v[more, kv]))
                if len(keys) == 0:
                    outputs.append(v.new_zeros(v.shape[2]))
                    sums.append(v.new_full((), float("-inf")))
                    continue
                scores = scale * (keys @ q[cu[b] + t, h])
                total = scores.logsumexp(0)
                sums.append(total)
                if sink is not None:
                    total = torch.logaddexp(total, sink[h])
                outputs.append((scores - total).exp() @ values)
    if not outputs:
        return q.new_zeros(0, heads, v.shape[2]), q.new_zeros(heads, 0)
    return torch.stack(outputs).view(-1, heads, v.shape[2]), torch.stack(sums).view(-1, heads).t()
