# tests/patterns/shapes_test.py - patterns whose scores are not blocks, and heads that need smaller tiles than the first configuration.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import os

import pytest
import torch

torch.ops.load_library(os.environ["LIBTESSERA_TORCH"])
ops = torch.ops.tessera
T, HEADS, KEY_HEADS = 70, 6, 2
GROUP = HEADS // KEY_HEADS
RULES = {"0.5": lambda t, pos, head: torch.tensor(0.5), "t * 0.01": lambda t, pos, head: t * 0.01, "head * 0.1": lambda t, pos, head: head * 0.1,
         "pos * 0.05": lambda t, pos, head: pos * 0.05}


def pattern(folder, rule):
    file = folder / "flat.py"
    file.write_text("import triton\nimport triton.language as tl\n\n\n# tessera: pattern()\n@triton.jit\ndef modify(s, t, pos, head):\n"
                    f"    return {rule}\n")
    return str(file)


@pytest.mark.parametrize("rule", RULES)
def test_a_score_may_be_a_number_or_belong_to_a_row_or_column(tmp_path, rule):
    torch.manual_seed(2)
    q, k, v = torch.randn(1, T, HEADS, 16), torch.randn(1, KEY_HEADS, T, 16), torch.randn(1, KEY_HEADS, T, 24)
    t, pos = torch.arange(T)[None, :, None], torch.arange(T)[None, None, :]
    head = torch.arange(HEADS)[:, None, None]
    scores = RULES[rule](t, pos, head).double().expand(HEADS, T, T).masked_fill(pos > t, float("-inf"))
    want = torch.einsum("hts,hse->the", scores.softmax(-1), v[0].double().repeat_interleave(GROUP, 0))
    file = pattern(tmp_path, rule)
    cached = ops.pattern_decode(q[:, 60:], k, v, 60, file, "")
    torch.testing.assert_close(cached[0].double(), want[60:], atol=1e-5, rtol=1e-5)
    cu = torch.tensor([0, T], dtype=torch.int32)
    o = ops.attention(q[0], k[0].transpose(0, 1), v[0].transpose(0, 1), cu, T, file)[0]
    torch.testing.assert_close(o.double(), want, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("sizes", [(192, 192), (192, 128), (256, 256)])
def test_gradients_of_wide_heads_in_fp32(sizes):
    torch.manual_seed(3)
    lengths, (width, values) = [T, 9], sizes
    cu = torch.tensor([0, T, T + 9], dtype=torch.int32)
    tensors = [torch.randn(T + 9, heads, size).requires_grad_() for heads, size in ((HEADS, width), (KEY_HEADS, width), (KEY_HEADS, values))]
    weight = torch.randn(T + 9, HEADS, values)
    o = ops.attention(*tensors, cu, T, "kernels/patterns/window.py", "window=20")[0]
    got = torch.autograd.grad(o, tensors, weight)
    wide = [x.detach().double().requires_grad_() for x in tensors]
    parts, start = [], 0
    for length in lengths:
        q, k, v = (x[start:start + length] for x in wide)
        t, pos = torch.arange(length)[:, None], torch.arange(length)[None, :]
        scores = torch.einsum("thd,shd->hts", q, k.repeat_interleave(GROUP, 1)) / width ** 0.5
        scores = scores.masked_fill((pos > t) | (pos <= t - 20), float("-inf"))
        parts.append(torch.einsum("hts,she->the", scores.softmax(-1), v.repeat_interleave(GROUP, 1)))
        start += length
    for mine, theirs in zip(got, torch.autograd.grad(torch.cat(parts), wide, weight.double())):
        torch.testing.assert_close(mine.double(), theirs, atol=1e-4, rtol=1e-4)


def test_learned_numbers_are_floats():
    q, k, v = torch.randn(5, 2, 16), torch.randn(5, 1, 16), torch.randn(5, 1, 16)
    cu = torch.tensor([0, 5], dtype=torch.int32)
    for kind in (torch.int32, torch.complex64):
        with pytest.raises(ValueError, match="learned is "):
            ops.attention(q, k, v, cu, 5, "kernels/patterns/alibi.py", learned=torch.ones(1, 2).to(kind))
