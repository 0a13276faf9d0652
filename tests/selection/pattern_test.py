# tests/selection/pattern_test.py - patterns with select(...) by the op tessera::attention, against fp64 with the lists that it returns.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import os

import pytest
import selected_reference
import torch
from outliers import outlier_text
from selection_reference import Packed, check_list, heads_of, indexer_scores, pooled_scores

torch.ops.load_library(os.environ["LIBTESSERA_TORCH"])
ops = torch.ops.tessera
LENGTHS = [0, 45, 1, 30]


def random(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def inputs(p, heads=4, key_heads=2, width=16, value=24):
    return [random(p.tokens, n, d, seed=i).requires_grad_() for i, (n, d) in enumerate(((heads, width), (key_heads, width), (key_heads, value)))]


def library(name):
    return f"kernels/patterns/{name}.py"


def check_attention(p, tensors, o, lse, indices, block, window=0, sink=None):
    """The outputs and the gradients of q, k, v and the sink against fp64."""
    exact = [x.detach().double().requires_grad_() for x in tensors]
    exact_sink = None if sink is None else sink.detach().double().requires_grad_()
    want, want_lse = selected_reference.attention(*exact, p.cu, indices, block, window=window, sink=exact_sink)
    assert outlier_text(o, want, 1e-5) == "" and outlier_text(lse, want_lse, 1e-5) == ""
    weight = random(*o.shape, seed=7)
    leaves, exact_leaves = ([*x, s] if s is not None else x for x, s in ((list(tensors), sink), (exact, exact_sink)))
    got = torch.autograd.grad((o * weight).sum(), leaves, retain_graph=True)
    for i, (a, b) in enumerate(zip(got, torch.autograd.grad((want * weight).sum(), exact_leaves))):
        assert outlier_text(a, b, 1e-5) == "", i


def test_moba_attends_to_the_blocks_with_the_best_mean_keys():
    p = Packed(LENGTHS)
    tensors = inputs(p)
    o, lse, indices, loss = ops.attention(*tensors, p.cu, p.longest, library("moba"), "block=8, top=3")
    assert indices.shape == (4, p.tokens, 3) and loss.shape == (0,)
    for head in range(4):
        for start, length, t in p.queries():
            scores = pooled_scores(*tensors[:2], start, length, t, 8, heads_of(head, 4, 4, 2), "mean")
            check_list(indices[head, start + t].tolist(), scores, 3, 0, 1, 1e-4)
    check_attention(p, tensors, o, lse, indices, 8)


def test_infllm_v2_is_dense_below_a_length():
    p = Packed(LENGTHS)
    tensors = inputs(p)
    sizes = "block=8, l=8, d=4, top=4, local=2"
    o, lse, indices, _ = ops.attention(*tensors, p.cu, p.longest, library("infllm_v2"), sizes + ", dense_below=46")
    assert indices.shape == (0, p.tokens, 0)
    every = torch.arange(6, dtype=torch.int32).expand(1, p.tokens, 6)
    check_attention(p, tensors, o, lse, every, 8)
    o, lse, indices, _ = ops.attention(*tensors, p.cu, p.longest, library("infllm_v2"), sizes + ", dense_below=45")
    assert torch.equal(indices, ops.compressed_select(*tensors[:2], p.cu, p.longest, 8, 4, length=8, stride=4, first=1, local=2))
    check_attention(p, tensors, o, lse, indices, 8)


def test_learned_blocks_train_the_indexer_alone_by_its_loss():
    p = Packed(LENGTHS)
    tensors = inputs(p)
    index = [x.requires_grad_() for x in (random(p.tokens, 1, 3, 8, seed=4), random(p.tokens, 8, seed=5), random(p.tokens, 1, 3, seed=6))]
    named = dict(zip(("index_q", "index_k", "index_weights"), index))
    o, lse, indices, loss = ops.attention(*tensors, p.cu, p.longest, library("learned_blocks"), "block=8, top=3, heads=3, dim=8", **named)
    for start, _, t in p.queries():
        q, k, weights = (x.detach() for x in index)
        check_list(indices[0, start + t].tolist(), indexer_scores(q[start + t, 0], k, weights[start + t, 0], start, t, 8)[0], 3, 0, 1, 1e-4)
    check_attention(p, tensors, o, lse, indices, 8)
    assert loss.shape == (p.tokens,)
    found = torch.autograd.grad(loss.sum(), [*tensors, *index], allow_unused=True, retain_graph=True)
    assert found[:3] == (None, None, None) and all(x.abs().sum() > 0 for x in found[3:])
    found = torch.autograd.grad(o.sum(), index, allow_unused=True)
    assert found == (None, None, None)


def test_an_indexer_below_the_dense_length_has_no_loss():
    p = Packed(LENGTHS)
    index = [x.requires_grad_() for x in (random(p.tokens, 1, 3, 8, seed=4), random(p.tokens, 8, seed=5), random(p.tokens, 1, 3, seed=6))]
    named = dict(zip(("index_q", "index_k", "index_weights"), index))
    *_, loss = ops.attention(*inputs(p), p.cu, p.longest, library("learned_blocks"), "heads=3, dim=8, dense_below=100", **named)
    assert loss.shape == (p.tokens,) and loss.count_nonzero() == 0
    assert all(x.count_nonzero() == 0 for x in torch.autograd.grad(loss.sum(), index))


def test_a_file_with_window_and_sink(tmp_path):
    file = tmp_path / "near_blocks.py"
    file.write_text("import triton\n\n\n# tessera: select(block=4, top=2, scope=all, window=5, score=pooled(max))\n# tessera: learned(sink=[Hq])\n"
                    "@triton.jit\ndef sees(t, pos):\n    return pos <= t\n")
    p = Packed(LENGTHS)
    tensors, sink = inputs(p), random(1, 4, seed=9).requires_grad_()
    o, lse, indices, _ = ops.attention(*tensors, p.cu, p.longest, str(file), "", learned=sink)
    assert indices.shape == (1, p.tokens, 2)
    row = sink[0]
    exact = selected_reference.attention(*(x.double() for x in tensors), p.cu, indices, 4, window=5, sink=row.double())
    assert outlier_text(o, exact[0], 1e-5) == "" and outlier_text(lse, exact[1], 1e-5) == ""
    got, want = torch.autograd.grad(o.square().sum(), sink)[0], torch.autograd.grad(exact[0].square().sum(), sink)[0]
    assert outlier_text(got, want, 1e-5) == ""


@pytest.mark.parametrize("name, learned", [("window", False), ("sink_window", True)])
def test_patterns_without_a_selection(name, learned):
    p = Packed(LENGTHS)
    tensors = inputs(p)
    sink = random(1, 4, seed=9) if learned else None
    o, lse, indices, loss = ops.attention(*tensors, p.cu, p.longest, library(name), "window=9", learned=sink)
    more = (sink[:, None].expand(1, p.tokens, 4).transpose(0, 1), "SINK") if learned else (None, "")
    want = ops.custom_attention(*tensors, p.cu, p.longest, library(name), name, name + "_bwd", "window=9", None, *more)
    assert torch.equal(o, want[0]) and torch.equal(lse, want[1]) and indices.numel() == loss.numel() == 0


@pytest.mark.parametrize("name, params", [("moba", "block=8, top=3"), ("infllm_v2", "block=8, l=8, d=4, top=4, local=2, dense_below=0"),
                                          ("learned_blocks", "block=8, top=3, heads=3, dim=8"), ("sink_window", "window=9")])
def test_patterns_are_compiled_with_dynamic_shapes(name, params):
    def attend(q, k, v, cu, more):
        o, _, _, loss = ops.attention(q, k, v, cu, 45, library(name), params, **more)
        return o, loss

    compiled = torch.compile(attend, dynamic=True, fullgraph=True, backend="aot_eager")
    for lengths in ([45, 1, 30], [9, 31]):
        p = Packed(lengths)
        more = {"learned": random(1, 4, seed=9)} if name == "sink_window" else {}
        if name == "learned_blocks":
            more = {"index_q": random(p.tokens, 1, 3, 8, seed=4), "index_k": random(p.tokens, 8, seed=5), "index_weights": random(p.tokens, 1, 3, seed=6)}
        leaves = [*inputs(p), *(x.requires_grad_() for x in more.values())]
        results = []
        for run in (attend, compiled):
            o, loss = run(*leaves[:3], p.cu, more)
            results.append((o, loss, torch.autograd.grad(o.square().sum() + loss.sum(), leaves)))
        torch.testing.assert_close(*results)


def test_learned_numbers_and_weights_of_an_indexer_may_be_bf16(tmp_path):
    """They become fp32, in which the kernels take them."""
    p = Packed(LENGTHS)
    file = tmp_path / "sink_blocks.py"
    file.write_text("import triton\n\n\n# tessera: select(block=8, top=2, score=indexer(heads=3, dim=8))\n# tessera: learned(sink=[Hq])\n"
                    "@triton.jit\ndef sees(t, pos):\n    return pos <= t\n")
    sink, index_q, index_k, weights = (random(*shape, seed=i) for i, shape in enumerate(((1, 4), (p.tokens, 2, 3, 8), (p.tokens, 8), (p.tokens, 2, 3))))
    narrow = [x.bfloat16() for x in (sink, weights)]
    results = [ops.attention(*inputs(p), p.cu, p.longest, str(file), learned=a, index_q=index_q, index_k=index_k, index_weights=b)
               for a, b in (narrow, [x.float() for x in narrow])]
    assert all(torch.equal(*pair) for pair in zip(*results))


def test_wrong_calls_are_refused():
    p = Packed([20])
    tensors = [x.detach() for x in inputs(p)]
    others = dict(index_k=random(20, 8), index_weights=random(20, 2, 4))
    call = lambda name, params="", **more: ops.attention(*tensors, p.cu, 20, library(name), params, **more)
    for message, wrong in (
        ("has no parameter `topp`", lambda: call("moba", "topp=4")),
        ("attention parameter `top=many`", lambda: call("moba", "top=many")),
        ("`top` is 0", lambda: call("moba", "top=0")),
        ("less than the 40 forced blocks", lambda: call("moba", "local=8, first=32, top=32")),
        ("no kernel file", lambda: call("mobba")),
        ("has 0 learned numbers for each head, and learned is a tensor", lambda: call("moba", learned=random(1, 4))),
        ("has 1 learned numbers for each head, and learned is None", lambda: call("sink_window")),
        ("selects by an indexer; pass index_q", lambda: call("learned_blocks")),
        ("set `top` twice", lambda: call("moba", "top=4, top=5")),
        ("moba.py has no indexer", lambda: call("moba", index_k=random(20, 8))),
        (r"index_q has shape \[20, 2, 4, 8\]", lambda: call("learned_blocks", index_q=random(20, 2, 4, 8), **others)),
        ("has no indexer", lambda: call("window", index_k=random(20, 8))),
        ("is not a pattern", lambda: ops.attention(*tensors, p.cu, 20, "kernels/dense/attn_fwd.py")),
    ):
        with pytest.raises(ValueError, match=message):
            wrong()
