# tests/helpers/library_masks.py - small parameters of each pattern with derived kernels, and a hand-written mask for them:
# (parameters, function of the positions of query and key and of the prefix length that is True if the query attends to the key).
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0


def causal(t, pos, prefix):
    return pos <= t


CASES = {
    "dense": ("", causal),
    "window": ("window=20", lambda t, pos, prefix: (pos <= t) & (t - pos < 20)),
    "sink_window": ("window=16, first=2", lambda t, pos, prefix: (pos <= t) & ((t - pos < 16) | (pos < 2))),
    "strided": ("local=5, stride=7", lambda t, pos, prefix: (pos <= t) & ((t - pos < 5) | ((t - pos) % 7 == 0))),
    "fixed": ("block=16, summary=3", lambda t, pos, prefix: (pos <= t) & ((pos // 16 == t // 16) | (pos % 16 >= 13))),
    "block_causal": ("block=12", lambda t, pos, prefix: pos // 12 <= t // 12),
    "prefix_lm": ("", lambda t, pos, prefix: (pos <= t) | (pos < prefix)),
    "softcap": ("cap=2.5", causal),
    "alibi": ("", causal),
}
