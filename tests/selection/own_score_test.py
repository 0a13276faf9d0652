# tests/selection/own_score_test.py - patterns with select(...) and a sees or a modify of their own, against fp64 with the lists that the op returns.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs on each device (TESSERA_DEVICE). torch.empty() gives NaN: a result that a kernel does not write differs."""
import os

import pytest
import torch
from outliers import close_enough
from selection_reference import Packed, check_list, heads_of, pooled_scores

torch.ops.load_library(os.environ["LIBTESSERA_TORCH"])
torch.use_deterministic_algorithms(True)
ops = torch.ops.tessera

ON_GPU = os.environ.get("TESSERA_DEVICE", "cpu") != "cpu"
LENGTHS = [0, 45, 1, 30]
LIMITS = {torch.float32: 1e-5, torch.bfloat16: 1e-2}
SOFTCAP = """
# tessera: pattern(cap=2.5)
@triton.jit
def modify(s, t, pos, head, cap: tl.constexpr):
    return cap * (2.0 * tl.sigmoid(2.0 * s / cap) - 1.0)
"""
EVEN = """
@triton.jit
def sees(t, pos):
    return (pos <= t) & ((t - pos) % 2 == 0)
"""
NEAR = """
# tessera: pattern(near=11)
@triton.jit
def sees(t, pos, head, near: tl.constexpr):
    return t - pos < near + head
"""
# The keys of a query at an odd position are all hidden.
HALF = """
@triton.jit
def sees(t, pos):
    return t % 2 == 0
"""
ALIBI = """
# tessera: learned(slope=[Hq])
@triton.jit
def modify(s, t, pos, head, slope):
    return s - slope * (t - pos)
"""
SINK_ALIBI = "\n# tessera: learned(sink=[Hq])" + ALIBI
# modify_grad is written, and the learned number multiplies the score.
WRITTEN = """
# tessera: learned(factor=[Hq])
@triton.jit
def modify(s, t, pos, head, factor):
    return factor * s * s + tl.where(pos % 3 == head % 3, 0.5, 0.0)


@triton.jit
def modify_grad(s, t, pos, head, factor):
    return 2.0 * factor * s
"""


def every(t, pos, head):
    return torch.ones_like(pos <= t)


# Functions of the file: its text, then sees(t, pos, head) and modify(s, t, pos, number) in torch, and the names of the learned numbers.
PATTERNS = {
    "softcap": (SOFTCAP, every, lambda s, t, pos, head, x: 2.5 * torch.tanh(s / 2.5), ()),
    "even": (EVEN, lambda t, pos, head: (t - pos) % 2 == 0, None, ()),
    "near": (NEAR, lambda t, pos, head: t - pos < 11 + head, None, ()),
    "half": (HALF, lambda t, pos, head: every(t, pos, head) & (t % 2 == 0), None, ()),
    "alibi": (ALIBI, every, lambda s, t, pos, head, x: s - x * (t - pos), ("slope",)),
    "sink_alibi": (SINK_ALIBI + EVEN, lambda t, pos, head: (t - pos) % 2 == 0, lambda s, t, pos, head, x: s - x * (t - pos), ("sink", "slope")),
    "sink_even": ("\n# tessera: learned(sink=[Hq])" + EVEN, lambda t, pos, head: (t - pos) % 2 == 0, None, ("sink",)),
    "written": (WRITTEN, every, lambda s, t, pos, head, x: x * s * s + torch.where(pos % 3 == head % 3, 0.5, 0.0), ("factor",)),
}
SELECT = "block=8, top=3, scope={scope}, local=1, score=pooled(mean)"


def random(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def written(folder, functions, select):
    path = folder / "mine.py"
    path.write_text(f"import triton\nimport triton.language as tl\n\n\n# tessera: select({select})" + functions)
    return str(path)


def inputs(p, heads, key_heads, width=16, value=24, dtype=torch.float32):
    return [random(p.tokens, n, d, seed=i).to(dtype).requires_grad_()
            for i, (n, d) in enumerate(((heads, width), (key_heads, width), (key_heads, value)))]


def selected(indices, t, pos, block):
    """bool [heads or lists, n, n]: whether the list of the query names the block of the key."""
    return (indices[:, :, None, :] == (pos // block)[None, :, :, None]).any(3) & (pos <= t)


def reference(p, tensors, indices, block, sees, modify, sink=None, number=None):
    """(o, lse [Hq, T]) in plain torch: one softmax over the keys that are selected and seen, zeros for a query without keys."""
    q, k, v = tensors
    heads, group = q.shape[1], q.shape[1] // k.shape[1]
    outputs, sums = [], []
    for start, length in zip(p.starts, p.lengths):
        part = slice(start, start + length)
        t, pos = torch.arange(length)[:, None], torch.arange(length)[None, :]
        lists = selected(indices[:, part], t, pos, block).repeat_interleave(heads // indices.shape[0], 0)
        head = torch.arange(heads).view(-1, 1, 1)
        shown = lists & sees(t, pos, head)
        scores = torch.einsum("thd,shd->hts", q[part], k[part].repeat_interleave(group, 1)) / q.shape[2] ** 0.5
        if modify is not None:
            scores = modify(scores, t, pos, head, None if number is None else number.view(-1, 1, 1))
        weights = torch.where(shown, scores.clamp(max=80).exp(), 0.0)
        total = weights.sum(2, keepdim=True)
        sums.append(torch.where(total > 0, total, 1.0).log().masked_fill(total == 0, float("-inf"))[:, :, 0])
        if sink is not None:
            total = total + sink.exp().view(-1, 1, 1)
        outputs.append(torch.einsum("hts,she->the", weights / torch.where(total > 0, total, 1.0), v[part].repeat_interleave(group, 1)))
    return torch.cat(outputs), torch.cat(sums, 1)


def check(folder, name, scope="q", heads=4, key_heads=2, dtype=torch.float32, select=SELECT, block=8, params="", lengths=LENGTHS, width=16):
    functions, sees, modify, names = PATTERNS[name]
    p = Packed(lengths)
    tensors = inputs(p, heads, key_heads, width, dtype=dtype)
    learned = (random(len(names), heads, seed=5) * 0.3).requires_grad_() if names else None
    leaves = [*tensors, *([learned] if names else [])]
    file = written(folder, functions, select.format(scope=scope))
    weight = random(p.tokens, heads, 24, seed=7).to(dtype)
    results = []
    for _ in range(2):                           # twice the same bits
        o, lse, indices, loss = ops.attention(*tensors, p.cu, p.longest, file, params, learned=learned)
        results.append((o, lse, *torch.autograd.grad((o * weight).sum(), leaves)))
    assert all(torch.equal(a, b) for a, b in zip(*results)) and loss.numel() == 0
    lists = indices if indices.shape[0] else torch.arange(-(-p.longest // block)).expand(1, p.tokens, -1)
    exact = [x.detach().double().requires_grad_() for x in leaves]
    number = exact[3][names.index(names[-1])] if names and names[-1] != "sink" else None
    sink = exact[3][0] if "sink" in names else None
    want, want_lse = reference(p, exact[:3], lists, block, sees, modify, sink, number)
    right = (want, want_lse, *torch.autograd.grad((want * weight.double()).sum(), exact))
    for what, a, b in zip(("o", "lse", "dq", "dk", "dv", "dlearned"), results[0], right):
        a, b = a.detach().double(), b.detach()
        assert torch.equal(a.isfinite(), b.isfinite()), (name, what, "what is finite differs")
        error = close_enough(a, b, LIMITS[dtype])
        assert error == "", (name, what, error)
    return p, tensors, indices, results[0]


@pytest.mark.parametrize("scope", ("all", "kv", "q"))
@pytest.mark.parametrize("name", ("softcap", "even"))
@pytest.mark.parametrize("heads, key_heads", [(2, 2), (4, 1)], ids=["G=1", "G=4"])
def test_the_scopes(tmp_path, name, scope, heads, key_heads):
    check(tmp_path, name, scope, heads, key_heads)


@pytest.mark.parametrize("name", PATTERNS)
def test_the_functions(tmp_path, name):
    check(tmp_path, name)


@pytest.mark.parametrize("scope", ("kv", "q"))
@pytest.mark.parametrize("name", ("softcap", "near", "sink_alibi"))
def test_bfloat16(tmp_path, name, scope):
    check(tmp_path, name, scope, dtype=torch.bfloat16)


def test_the_lists_are_those_of_the_products(tmp_path):
    """The scorer reads neither sees nor modify."""
    p, tensors, indices, _ = check(tmp_path, "near")
    for head in range(4):
        for start, length, t in p.queries():
            scores = pooled_scores(*tensors[:2], start, length, t, 8, heads_of(head, 4, 4, 2), "mean")
            check_list(indices[head, start + t].tolist(), scores, 3, 0, 1, 1e-4)


def test_a_row_whose_keys_are_all_hidden(tmp_path):
    p, _, _, (o, lse, dq, *_) = check(tmp_path, "half")
    hidden = torch.tensor([t % 2 == 1 for *_, t in p.queries()])
    assert not o[hidden].any() and (lse[:, hidden] == float("-inf")).all() and not dq[hidden].any() and o[~hidden].all()


def test_a_key_after_the_query_is_hidden_whatever_sees_returns(tmp_path):
    PATTERNS["all"] = ("\n@triton.jit\ndef sees(t, pos):\n    return pos >= 0\n", every, None, ())
    check(tmp_path, "all", select="block=48, top=1, scope={scope}, score=pooled(mean)", block=48)
    del PATTERNS["all"]


@pytest.mark.parametrize("select, block", [("block=4, top=3, scope=kv, first=1, score=pooled(max)", 4),
                                           ("block=24, top=2, scope=all, score=pooled(mean)", 24),
                                           ("block=8, top=3, scope=kv, local=0, score=compressed(l=8, d=4)", 8)])
def test_blocks_and_scorers(tmp_path, select, block):
    check(tmp_path, "sink_alibi", select=select, block=block)


@pytest.mark.parametrize("scope", ("all", "kv", "q"))
def test_an_indexer_learns_from_what_the_functions_leave(tmp_path, scope):
    functions, sees, modify, _ = PATTERNS["sink_alibi"]
    p = Packed(LENGTHS)
    tensors, learned, lists = inputs(p, 4, 2), random(2, 4, seed=5) * 0.3, {"all": 1, "kv": 2, "q": 4}[scope]
    index = [x.requires_grad_() for x in (random(p.tokens, lists, 3, 8, seed=4), random(p.tokens, 8, seed=6), random(p.tokens, lists, 3, seed=8))]
    file = written(tmp_path, functions, f"block=8, top=3, scope={scope}, score=indexer(heads=3, dim=8)")
    named = dict(zip(("index_q", "index_k", "index_weights"), index))
    _, _, indices, loss = ops.attention(*tensors, p.cu, p.longest, file, "", learned=learned, **named)
    mass = torch.zeros(lists, p.tokens, 3, dtype=torch.double)
    q, k = (x.detach().double() for x in tensors[:2])
    for start, _, t in p.queries():
        pos = torch.arange(t + 1)
        for head in range(4):
            scores = modify(k[start:start + t + 1, head // 2] @ q[start + t, head] / 4, t, pos, head, learned[1, head].double())
            mine = indices[head * lists // 4, start + t]
            shown = (mine[:, None] == pos // 8) & sees(t, pos, head)
            weights = torch.where(shown, scores.exp(), 0.0)
            mass[head * lists // 4, start + t] += weights.sum(1) / weights.sum().clamp(min=1e-30)
    _, tokens = ops.indexer_select(*(x.detach() for x in index), p.cu, p.longest, 8, 3, local=1)
    want = ops.indexer_loss(*index, tokens, mass.float(), p.cu)
    assert close_enough(loss, want, 1e-4) == ""
    got, right = (torch.autograd.grad(x.sum(), index, retain_graph=True) for x in (loss, want))
    assert all(close_enough(a, b, 1e-4) == "" for a, b in zip(got, right))


def test_dense_below_a_length(tmp_path):
    _, _, indices, _ = check(tmp_path, "sink_alibi", params="dense_below=46")
    assert indices.shape[0] == 0


@pytest.mark.parametrize("heads, key_heads, width", [(6, 1, 48), (2, 2, 96)])
def test_head_widths_of_two_slices(tmp_path, heads, key_heads, width):
    check(tmp_path, "sink_alibi", "kv", heads, key_heads, width=width)


def test_parameters(tmp_path):
    p = Packed(LENGTHS)
    tensors = [x.detach() for x in inputs(p, 4, 2)]
    file = written(tmp_path, SOFTCAP, SELECT.format(scope="q"))
    call = lambda text: ops.attention(*tensors, p.cu, p.longest, file, text)[0]
    assert torch.equal(call("cap=3, top=2"), call("top=2, cap=3.0")) and not torch.equal(call("cap=3"), call(""))
    for message, text in (("has no parameter `capp`", "capp=3"), ("attention parameter `cap=high`", "cap=high"),
                          ("has no parameter `window`", "window=4"), ("attention parameter `top=2.5`", "top=2.5")):
        with pytest.raises(ValueError, match=message):
            call(text)


def test_the_mass_of_lists_needs_an_indexer(tmp_path):
    p = Packed(LENGTHS)
    q, k, v = (x.detach() for x in inputs(p, 4, 2))
    file = written(tmp_path, SOFTCAP, SELECT.format(scope="q"))
    _, lse, indices, _ = ops.attention(q, k, v, p.cu, p.longest, file)
    with pytest.raises(ValueError, match="mine.py does not select by an indexer; name a pattern with select"):
        ops.pattern_list_mass(q, k, lse, p.cu, p.longest, indices, 8, file)


def test_the_gradient_of_lse(tmp_path):
    """It reaches q and k, unless modify reads a learned number, which is refused."""
    p = Packed(LENGTHS)
    tensors = inputs(p, 4, 2)
    o, lse, indices, _ = ops.attention(*tensors, p.cu, p.longest, written(tmp_path, SOFTCAP, SELECT.format(scope="q")))
    exact = [x.detach().double().requires_grad_() for x in tensors]
    _, want = reference(p, exact, indices, 8, *PATTERNS["softcap"][1:3])
    weight = random(*lse.shape, seed=3)
    got, right = torch.autograd.grad((lse * weight).sum(), tensors[:2]), torch.autograd.grad((want * weight).sum(), exact[:2])
    assert all(close_enough(a.double(), b, 1e-5) == "" for a, b in zip(got, right))
    (tmp_path / "other").mkdir()
    _, lse, _, _ = ops.attention(*tensors, p.cu, p.longest, written(tmp_path / "other", ALIBI, SELECT.format(scope="q")), learned=torch.zeros(1, 4))
    with pytest.raises(ValueError, match="lse has a gradient"):
        lse.sum().backward()


def test_dynamic_shapes(tmp_path):
    file = written(tmp_path, SINK_ALIBI, SELECT.format(scope="q"))
    attend = lambda q, k, v, cu, learned: ops.attention(q, k, v, cu, 45, file, learned=learned)[0]
    compiled = torch.compile(attend, dynamic=True, fullgraph=True, backend="aot_eager")
    for lengths in ([45, 1, 30], [9, 31]):
        p = Packed(lengths)
        leaves = [*inputs(p, 4, 2), random(2, 4, seed=9).requires_grad_()]
        results = [(o := run(*leaves[:3], p.cu, leaves[3]), torch.autograd.grad(o.square().sum(), leaves)) for run in (attend, compiled)]
        torch.testing.assert_close(*results)
