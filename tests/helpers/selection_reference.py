# tests/helpers/selection_reference.py - reference of block selection in fp64, for one query and one block at a time.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import torch


class Packed:
    """Packed sequences of the given lengths."""

    def __init__(self, lengths):
        self.lengths = list(lengths)
        self.starts = [sum(self.lengths[:i]) for i in range(len(self.lengths))]
        self.tokens, self.longest = sum(self.lengths), max(self.lengths)
        self.cu = torch.tensor([*self.starts, self.tokens], dtype=torch.int32)

    def queries(self):
        """Yields (first token of the sequence, length of the sequence, position in it) for each token."""
        for start, length in zip(self.starts, self.lengths):
            for t in range(length):
                yield start, length, t


def heads_of(number, lists, heads, key_heads):
    """Returns the query heads that share the list `number`. `lists` is 1, key_heads or heads."""
    if lists == 1:
        return range(heads)
    group = heads // key_heads
    return range(number * group, (number + 1) * group) if lists == key_heads else range(number, number + 1)


def pooled_scores(q, k, start, length, t, block, mine, pool):
    """Returns {block: score} for the query at position t: the sum over the heads `mine` of the product of q and the block's pooled key.
    `pool` is "mean" or "max"."""
    q, k, group = q.detach(), k.detach(), q.shape[1] // k.shape[1]
    scores = {}
    for j in range(t // block + 1):
        keys = k[start + j * block : start + min((j + 1) * block, length)].double()
        pooled = keys.mean(0) if pool == "mean" else keys.max(0).values
        scores[j] = sum(float(q[start + t, h].double() @ pooled[h // group]) for h in mine)
    return scores


def indexer_scores(q, k, weights, start, t, block):
    """Returns ({block: score}, scores of the tokens up to t) for q [heads, width] and weights [heads] of one list and token. The score of a
    block is the largest score of its tokens."""
    tokens = (weights.double()[:, None] * torch.relu(q.double() @ k[start : start + t + 1].double().T)).sum(0)
    return {j: float(tokens[j * block : (j + 1) * block].max()) for j in range(t // block + 1)}, tokens


def check_list(got, scores, top, first, local, tolerance):
    """Asserts that `got` contains the `top` best blocks, ascending, then -1. The first `first` and the last `local` blocks are always
    selected. Scores that differ by at most `tolerance` count as equal."""
    chosen = [j for j in got if j != -1]
    count = min(top, len(scores))
    assert chosen == sorted(set(chosen)) and len(chosen) == count, (got, count)
    assert got == chosen + [-1] * (top - count), got
    forced = {j for j in scores if j < first or j > len(scores) - 1 - local}
    assert forced <= set(chosen), (got, forced)
    left = [scores[j] for j in scores if j not in chosen]
    worst = min((scores[j] for j in chosen if j not in forced), default=float("inf"))
    assert not left or worst >= max(left) - tolerance, (got, worst, max(left))
