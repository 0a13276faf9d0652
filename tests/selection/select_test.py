# tests/selection/select_test.py - the ops that select blocks: pooled keys, a learned indexer, the attention of each block.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import itertools
import os

import pytest
import torch
from selection_reference import Packed, check_list, heads_of, indexer_scores, pooled_scores

torch.ops.load_library(os.environ["LIBTESSERA_TORCH"])
ops = torch.ops.tessera
ON_GPU = os.environ.get("TESSERA_DEVICE", "cpu") != "cpu"
LENGTHS = [0, 37, 1, 24] if ON_GPU else [0, 70, 1, 133, 16]
# fp32 products of a GPU round their factors to 10 bits.
TOLERANCES = {torch.float32: 2e-2 if ON_GPU else 1e-4, torch.bfloat16: 1e-1}


def random(*shape, dtype=torch.float32, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def check_pooled(p, q, k, block, top, lists, first=0, local=1, pool="mean"):
    got = ops.pooled_select(q, k, p.cu, p.longest, block, top, lists=lists, first=first, local=local, pool=pool)
    assert got.shape == (lists, p.tokens, top) and got.dtype == torch.int32
    for number in range(lists):
        mine = heads_of(number, lists, q.shape[1], k.shape[1])
        for start, length, t in p.queries():
            scores = pooled_scores(q, k, start, length, t, block, mine, pool)
            check_list(got[number, start + t].tolist(), scores, top, first, local, TOLERANCES[q.dtype] * len(mine))


@pytest.mark.parametrize("lists, group", [(1, 3), (2, 1), (2, 3), (6, 3), (2, 6), (2, 16)])
def test_pooled_select_keeps_the_best_blocks(lists, group):
    p = Packed(LENGTHS)
    check_pooled(p, random(p.tokens, 2 * group, 24), random(p.tokens, 2, 24, seed=1), 8, 4, lists, first=1)


@pytest.mark.parametrize("block, top, pool", [(1, 5, "mean"), (5, 3, "max"), (16, 2, "max"), (128, 1, "mean")])
def test_pooled_select_takes_any_block(block, top, pool):
    p = Packed(LENGTHS)
    check_pooled(p, random(p.tokens, 4, 16), random(p.tokens, 2, 16, seed=1), block, top, 4, pool=pool)


def test_pooled_select_in_bf16_and_with_wide_heads():
    p = Packed([40, 9])
    for dtype, width in itertools.product((torch.float32, torch.bfloat16), (64, 192)):
        q, k = random(p.tokens, 4, width, dtype=dtype), random(p.tokens, 2, width, dtype=dtype, seed=1)
        check_pooled(p, q / width**0.5, k, 8, 3, 2)


def test_equal_scores_keep_the_earlier_block():
    p = Packed([80])
    got = ops.pooled_select(torch.zeros(80, 2, 16), random(80, 1, 16), p.cu, 80, 8, 4, lists=1, first=0, local=1)
    for t in range(80):
        own = t // 8
        want = sorted({own, *range(min(3, own))})
        assert got[0, t].tolist() == want + [-1] * (4 - len(want))


def test_numbers_that_are_not_finite_select_valid_blocks():
    p = Packed([64])
    for value in (float("nan"), float("inf"), -float("inf")):
        q, k = random(64, 2, 16), random(64, 1, 16)
        k[20:30], q[40] = value, value
        got = ops.pooled_select(q, k, p.cu, 64, 8, 4, lists=2)
        for row in got.flatten(0, 1):
            chosen = [j for j in row.tolist() if j >= 0]
            assert chosen == sorted(set(chosen)) and max(chosen) < 8


def check_indexer(p, q, k, weights, block, top, first, local):
    got, tokens = ops.indexer_select(q, k, weights, p.cu, p.longest, block, top, first=first, local=local)
    tolerance = TOLERANCES[q.dtype] * q.shape[2]
    for number in range(q.shape[1]):
        for start, _, t in p.queries():
            scores, each = indexer_scores(q[start + t, number], k, weights[start + t, number], start, t, block)
            row, best = got[number, start + t].tolist(), tokens[number, start + t].tolist()
            check_list(row, scores, top, first, local, tolerance)
            for j, token in zip(row, best):
                assert (j, token) == (-1, -1) or token // block == j
                assert j == -1 or (token <= t and float(each[token]) >= scores[j] - tolerance)


@pytest.mark.parametrize("block, top, heads, lists", [(1, 20, 2, 1), (8, 3, 4, 2), (5, 4, 1, 1), (64, 2, 3, 2)])
def test_indexer_select_keeps_the_best_blocks(block, top, heads, lists):
    p = Packed(LENGTHS)
    for dtype in (torch.float32, torch.bfloat16):
        q, k = random(p.tokens, lists, heads, 16, dtype=dtype), random(p.tokens, 16, dtype=dtype, seed=1)
        check_indexer(p, q / 4, k, random(p.tokens, lists, heads, seed=2), block, top, first=1, local=1)
    check_indexer(p, random(p.tokens, lists, heads, 40) / 6, random(p.tokens, 40, seed=1), random(p.tokens, lists, heads), block, top, 0, 0)


def test_tokens_whose_score_is_nan_come_last():
    p = Packed([8])
    k = torch.ones(8, 16)
    k[:4] = float("nan")
    for weight in (-1.0, 1.0):
        got, _ = ops.indexer_select(torch.ones(8, 1, 1, 16), k, torch.full((8, 1, 1), weight), p.cu, 8, 4, 1)
        assert got[0, 7].tolist() == [1]


def attention_lse(p, q, k, indices, block):
    """Natural logarithm of the sum of exponentials over the selected keys, [Hq, T], in fp64."""
    heads, group = q.shape[1], q.shape[1] // k.shape[1]
    lists = indices.shape[0]
    lse = torch.full((heads, p.tokens), -float("inf"), dtype=torch.float64)
    shares = torch.zeros(*indices.shape, dtype=torch.float64)
    for start, _, t in p.queries():
        for number in range(lists):
            mine = heads_of(number, lists, heads, k.shape[1])
            for h in mine:
                parts = []
                for j in indices[number, start + t].tolist():
                    keys = k[start + j * block : start + min((j + 1) * block, t + 1), h // group].double() if j >= 0 else k[:0, 0].double()
                    parts.append(torch.exp(keys @ q[start + t, h].double() * q.shape[2] ** -0.5).sum())
                total = sum(parts)
                lse[h, start + t] = torch.log(total)
                shares[number, start + t] += torch.stack(parts) / total / len(mine)
    return lse, shares


@pytest.mark.parametrize("lists", [1, 2, 6])
def test_block_mass_is_the_mean_share_of_each_block(lists):
    p = Packed(LENGTHS)
    q, k = random(p.tokens, 6, 24), random(p.tokens, 2, 24, seed=1)
    indices = ops.pooled_select(q, k, p.cu, p.longest, 8, 4, lists=lists)
    lse, want = attention_lse(p, q, k, indices, 8)
    got = ops.block_mass(q, k, lse.float(), indices, p.cu, p.longest, 8)
    assert torch.allclose(got.double(), want, atol=5e-3 if ON_GPU else 1e-5)
    hostile = indices.clone()
    hostile[:, :, 1:] = torch.tensor([2**31 - 1, -(2**31), 10**6], dtype=torch.int32)
    assert ops.block_mass(q, k, lse.float(), hostile, p.cu, p.longest, 8)[:, :, 1:].count_nonzero() == 0


def test_compressed_select_is_the_selection_of_averaged_keys():
    p = Packed(LENGTHS)
    q, k = random(p.tokens, 6, 16), random(p.tokens, 2, 16, seed=1)
    q.requires_grad_()
    got = ops.compressed_select(q, k, p.cu, p.longest, 8, 4, length=8, stride=4, first=1, local=1)
    for start, _, t in p.queries():
        count = max(t + 1 - 4, 0) // 4                       # averaged keys that end at t or before
        means = torch.stack([k[start + 4 * i : start + 4 * i + 8].double().mean(0) for i in range(count)]) if count else k[:0].double()
        for head in range(2):
            scores = dict.fromkeys(range(t // 8 + 1), 0.0)
            for h in range(3 * head, 3 * head + 3):
                shares = torch.softmax(means[:, head] @ q[start + t, h].detach().double() / 4, 0)
                for i, j in itertools.product(range(count), scores):
                    overlap = min(4 * i + 8, 8 * j + 8) - max(4 * i, 8 * j)
                    scores[j] += float(shares[i]) * max(overlap, 0) / 4
            check_list(got[head, start + t].tolist(), scores, 4, 1, 1, TOLERANCES[torch.float32])


def test_indexer_loss_and_its_gradients():
    p = Packed([0, 30, 1, 17])
    lists, heads, width = 2, 3, 8
    inputs = random(p.tokens, lists, heads, width), random(p.tokens, width, seed=1), random(p.tokens, lists, heads, seed=2)
    _, tokens = ops.indexer_select(*inputs, p.cu, p.longest, 5, 3, first=0, local=1)
    mass = random(lists, p.tokens, 3, seed=3).exp()
    got = [x.clone().requires_grad_() for x in inputs]
    loss = ops.indexer_loss(*got, tokens, mass, p.cu)
    q, k, weights = want = [x.double().requires_grad_() for x in inputs]
    each = []
    for start, _, t in p.queries():
        total = 0
        for number in range(lists):
            chosen = [i for i, token in enumerate(tokens[number, start + t].tolist()) if token >= 0]
            rows = k[[start + int(tokens[number, start + t, i]) for i in chosen]]
            scores = (weights[start + t, number][:, None] * torch.relu(q[start + t, number] @ rows.T)).sum(0)
            share = mass[number, start + t, chosen].double()
            share = share / share.sum()
            total = total + torch.nn.functional.kl_div(torch.log_softmax(scores, 0), share, reduction="sum") / lists
        each.append(total)
    assert torch.allclose(loss.double(), torch.stack(each), atol=1e-5)
    weighting = random(p.tokens, seed=4)
    for mine, exact in zip(torch.autograd.grad((loss * weighting).sum(), got), torch.autograd.grad((torch.stack(each) * weighting).sum(), want)):
        assert torch.allclose(mine.double(), exact, atol=1e-5)


def test_indexer_loss_refuses_integers_and_complex_numbers(subtests):
    cu = torch.tensor([0, 3], dtype=torch.int32)
    tokens = torch.zeros(1, 3, 2, dtype=torch.int32)
    given = dict(q=torch.zeros(3, 1, 2, 16), k=torch.zeros(3, 16), weights=torch.zeros(3, 1, 2), mass=torch.zeros(1, 3, 2))
    order = ("q", "k", "weights", "tokens", "mass")
    for name in given:
        for kind in (torch.int32, torch.complex64):
            changed = {**given, "tokens": tokens, name: given[name].to(kind)}
            with subtests.test(name, kind=kind), pytest.raises(ValueError, match=f"{name} is "):
                ops.indexer_loss(*(changed[each] for each in order), cu)


def test_indexer_loss_of_nothing():
    q, k, weights = random(0, 1, 2, 8), random(0, 8), random(0, 1, 2)
    cu = torch.zeros(2, dtype=torch.int32)
    indices, tokens = ops.indexer_select(q, k, weights, cu, 1, 8, 2)
    assert ops.indexer_loss(q, k, weights, tokens, tokens.float(), cu).shape == (0,) and indices.shape == (1, 0, 2)


def test_shapes_of_meta_tensors():
    p = Packed([20, 13])
    q, k, cu = torch.empty(33, 4, 16, device="meta"), torch.empty(33, 2, 16, device="meta"), p.cu.to("meta")
    assert ops.pooled_select(q, k, cu, 20, 8, 3, lists=4).shape == (4, 33, 3)
    index = torch.empty(33, 2, 3, 8, device="meta"), torch.empty(33, 8, device="meta"), torch.empty(33, 2, 3, device="meta")
    assert [x.shape for x in ops.indexer_select(*index, cu, 20, 8, 5)] == [(2, 33, 5)] * 2
    indices = torch.empty(2, 33, 3, dtype=torch.int32, device="meta")
    assert ops.block_mass(q, k, torch.empty(4, 33, device="meta"), indices, cu, 20, 8).shape == (2, 33, 3)


def test_opcheck():
    p = Packed([20, 0, 13])
    q, k, index = random(33, 4, 16), random(33, 2, 16, seed=1), random(33, 2, 3, 8)
    tests = ("test_schema", "test_faketensor")
    torch.library.opcheck(ops.pooled_select.default, (q, k, p.cu, 20, 8, 3), dict(lists=4), test_utils=tests)
    torch.library.opcheck(ops.indexer_select.default, (index, random(33, 8), random(33, 2, 3), p.cu, 20, 8, 3), test_utils=tests)
    indices = ops.pooled_select(q, k, p.cu, 20, 8, 3, lists=2)
    torch.library.opcheck(ops.block_mass.default, (q, k, random(4, 33), indices, p.cu, 20, 8), test_utils=tests)


def test_indexer_loss_is_compiled_with_dynamic_shapes():
    """Once for all numbers of tokens, with the numbers and the gradients of the op."""
    graphs = []

    def record(graph, _):
        graphs.append(graph)
        return graph

    compiled = torch.compile(ops.indexer_loss, dynamic=True, fullgraph=True, backend=record)
    traced = torch.compile(ops.indexer_loss, dynamic=True, fullgraph=True, backend="aot_eager")
    for lengths in ([20, 0, 13], [9, 31], [1, 2, 3]):
        p = Packed(lengths)
        q, k, weights = (random(p.tokens, *shape, seed=i).requires_grad_() for i, shape in enumerate(((2, 3, 8), (8,), (2, 3))))
        _, tokens = ops.indexer_select(q.detach(), k.detach(), weights.detach(), p.cu, p.longest, 8, 3)
        mass = random(2, p.tokens, 3, seed=5).abs()
        want = ops.indexer_loss(q, k, weights, tokens, mass, p.cu)
        gradients = torch.autograd.grad(want.square().sum(), (q, k, weights))
        for run in (compiled, traced):
            got = run(q, k, weights, tokens, mass, p.cu)
            torch.testing.assert_close(got, want)
            torch.testing.assert_close(torch.autograd.grad(got.square().sum(), (q, k, weights)), gradients)
    assert len(graphs) == 1


def test_wrong_arguments_are_refused():
    p = Packed([20, 13])
    q, k, index, keys, weights = random(33, 4, 16), random(33, 2, 16), random(33, 2, 3, 8), random(33, 8), random(33, 2, 3)
    pooled = lambda block=8, top=3, **more: ops.pooled_select(q, k, p.cu, 20, block, top, **{"lists": 2, **more})
    learned = lambda **new: ops.indexer_select(new.get("q", index), new.get("k", keys), new.get("w", weights), p.cu, 20, 8, new.get("top", 3))
    for message, call in (
        ("block is 0; pass 1 to 128", lambda: pooled(block=0)),
        ("block is 129", lambda: pooled(block=129)),
        ("top is 0", lambda: pooled(top=0)),
        ("top is 3 and must hold the forced blocks, first = 2 and local = 2", lambda: pooled(first=2, local=2)),
        ("local is 0; pass 1 or more", lambda: pooled(local=0)),
        ("lists is 3; pass 1, one for each of the 2 key heads", lambda: pooled(lists=3)),
        ('pool is "median"', lambda: pooled(pool="median")),
        ("first is -1", lambda: pooled(first=-1)),
        (r"k has shape \[33, 4\]", lambda: learned(k=random(33, 4))),
        (r"weights has shape \[33, 2, 2\]", lambda: learned(w=random(33, 2, 2))),
        ("compressed_select: stride is 2 and must divide length = 3", lambda: ops.compressed_select(q, k, p.cu, 20, 8, 3, length=3, stride=2)),
        ("weights is Double", lambda: learned(w=weights.double())),
        (r"weights is BFloat16; pass float32, for example weights.float\(\)", lambda: learned(w=weights.bfloat16())),
        ("lse is BFloat16", lambda: ops.block_mass(q, k, random(4, 33).bfloat16(), torch.zeros(2, 33, 3, dtype=torch.int32), p.cu, 20, 8)),
        ("k is BFloat16", lambda: learned(k=keys.bfloat16())),
        ("q has shape", lambda: learned(q=random(33, 0, 3, 8), w=random(33, 0, 3))),
        ("indices", lambda: ops.block_mass(q, k, random(4, 33), torch.zeros(2, 33, 3), p.cu, 20, 8)),
        (r"indices has shape \[2, 30, 3\]", lambda: ops.block_mass(q, k, random(4, 33), torch.zeros(2, 30, 3, dtype=torch.int32), p.cu, 20, 8)),
        ("lists is 3", lambda: ops.block_mass(q, k, random(4, 33), torch.zeros(3, 33, 3, dtype=torch.int32), p.cu, 20, 8)),
        ("lse has shape", lambda: ops.block_mass(q, k, random(3, 33), torch.zeros(2, 33, 3, dtype=torch.int32), p.cu, 20, 8)),
    ):
        with pytest.raises(ValueError, match=message):
            call()
