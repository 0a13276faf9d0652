# tests/patterns/decode_test.py - patterns over a cache: the op against attention under a mask in fp64, and the keys that it reads.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import os

import pytest
import torch
from library_masks import CASES

torch.ops.load_library(os.environ["LIBTESSERA_TORCH"])
ops = torch.ops.tessera
B, H, G, D, E, CAPACITY = 2, 2, 3, 16, 24, 200
PREFIX = torch.tensor([[9, 40]], dtype=torch.int32)
# Spans of new tokens: one and many, at and around the borders of tiles of 64 keys.
SPANS = [(0, 1), (0, 70), (62, 1), (63, 1), (64, 1), (65, 3), (127, 2), (128, 1), (130, 70)]


def file_of(name):
    return f"kernels/patterns/{name}.py"


def inputs(count, seed=3):
    generator = torch.Generator().manual_seed(seed)
    shapes = [(B, count, H * G, D), (B, H, CAPACITY, D), (B, H, CAPACITY, E)]
    return [*(torch.randn(shape, generator=generator) for shape in shapes), torch.rand(1, H * G, generator=generator) * 0.3]


def reference(name, q, k, v, numbers, first, visible):
    """fp64 attention of the new tokens under visible(t, pos, prefix)."""
    last = first + q.shape[1]
    t, pos = torch.arange(first, last)[:, None], torch.arange(last)[None, :]
    k, v = (x[:, :, :last].double().repeat_interleave(G, 1) for x in (k, v))
    scores = torch.einsum("bnhd,bhsd->bhns", q.double(), k) / D ** 0.5
    per_head = numbers.double().view(1, -1, 1, 1)
    if name == "softcap":
        scores = 2.5 * torch.tanh(scores / 2.5)
    if name == "alibi":
        scores = scores - per_head * (t - pos)
    shown = torch.stack([visible(t, pos, int(prefix)).expand(len(t), last) for prefix in PREFIX[0]])[:, None]
    scores = scores.masked_fill(~shown, float("-inf"))
    if name == "sink_window":
        scores = torch.cat([scores, per_head.expand(B, -1, len(t), 1)], 3)
    return torch.einsum("bhns,bhse->bnhe", scores.softmax(-1)[..., :last], v)


def decode(name, q, k, v, numbers, first, file=None):
    learned = numbers if name in ("sink_window", "alibi") else None
    return ops.pattern_decode(q, k, v, first, file or file_of(name), CASES[name][0] if name in CASES else "", None, learned,
                              PREFIX if name == "prefix_lm" else None)


@pytest.mark.parametrize("name", CASES)
def test_new_tokens_match_attention_under_a_mask(name):
    for first, count in SPANS:
        q, k, v, numbers = inputs(count)
        o = decode(name, q, k, v, numbers, first)
        want = reference(name, q, k, v, numbers, first, CASES[name][1])
        torch.testing.assert_close(o.double(), want, atol=1e-5, rtol=1e-5, msg=lambda m: f"{name} {first}+{count}: {m}")


@pytest.mark.parametrize("name, hidden", [("window", [(0, 64)]), ("sink_window", [(64, 128)]), ("fixed", []), ("strided", [])])
def test_tiles_without_a_visible_key_are_not_read(name, hidden):
    """A query at position 190 of a cache whose hidden tiles, and whose positions past the end, hold NaN."""
    q, k, v, numbers = inputs(1)
    want = reference(name, q, k, v, numbers, 190, CASES[name][1])
    for low, high in [*hidden, (191, CAPACITY)]:
        k[:, :, low:high] = v[:, :, low:high] = float("nan")
    torch.testing.assert_close(decode(name, q, k, v, numbers, 190).double(), want, atol=1e-5, rtol=1e-5)


def test_an_infinite_sink():
    """That of +inf leaves nothing to the keys, that of -inf everything."""
    q, k, v, numbers = inputs(3)
    numbers[0, 0], numbers[0, 1] = float("inf"), -float("inf")
    o = decode("sink_window", q, k, v, numbers, 70)
    want = reference("sink_window", q, k, v, numbers.clamp(-1e30, 1e30), 70, CASES["sink_window"][1])
    assert not o[:, :, 0].any()
    torch.testing.assert_close(o.double(), want, atol=1e-5, rtol=1e-5)


def test_caches_with_any_strides():
    q, k, v, numbers = inputs(3)
    want = decode("window", q, k, v, numbers, 70)
    apart = [x.transpose(1, 2).contiguous().transpose(1, 2) for x in (k, v)]
    assert torch.equal(decode("window", q.transpose(1, 2).contiguous().transpose(1, 2), *apart, numbers, 70), want)


def test_a_window_of_each_head(tmp_path):
    file = tmp_path / "wider.py"
    file.write_text("import triton\nimport triton.language as tl\n\n\n# tessera: pattern(step=6)\n@triton.jit\n"
                    "def sees(t, pos, head, step: tl.constexpr):\n    return (pos <= t) & (t - pos < step * (head + 1))\n")
    q, k, v, numbers = inputs(4)
    o = decode("wider", q, k, v, numbers, 100, str(file))
    for head in range(H * G):
        want = reference("", q, k, v, numbers, 100, lambda t, pos, prefix, head=head: (pos <= t) & (t - pos < 6 * (head + 1)))
        torch.testing.assert_close(o[:, :, head].double(), want[:, :, head], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", CASES)
def test_the_first_reader_is_that_of_the_mask(name):
    """The lowest position whose query attends to a new key; earlier tokens need not be read again."""
    for first, last in [(1, 2), (11, 12), (12, 13), (23, 25), (39, 40), (64, 70)]:
        t, pos = torch.arange(last)[:, None], torch.arange(first, last)[None, :]
        want = min(int(CASES[name][1](t, pos, int(prefix)).any(1).nonzero().min()) for prefix in PREFIX[0])
        found = ops.pattern_first_reader(first, last, H * G, file_of(name), CASES[name][0], B, PREFIX if name == "prefix_lm" else None)
        assert found == min(want, first), (name, first, last)


def test_wrong_arguments_are_errors():
    q, k, v, numbers = inputs(2)
    for arguments, message in [((q, k, v, 199, file_of("window")), "do not fit a cache of 200"),
                               ((q, k, v, 0, file_of("alibi")), "1 learned tensors"),
                               ((q, k, v, 0, file_of("prefix_lm")), "1 values of each sequence"),
                               ((q, k[:, :1].expand(-1, 4, -1, -1), v, 0, file_of("window")), "multiple of the key heads"),
                               ((q, k, v.double(), 0, file_of("window")), "v"),
                               ((q, k, v, 0, "kernels/nsa/decode.py"), "is not a pattern")]:
        with pytest.raises((RuntimeError, ValueError, TypeError), match=message):
            ops.pattern_decode(*arguments)
