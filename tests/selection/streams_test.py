# tests/selection/streams_test.py - patterns with streams(...) by the op tessera::attention, against masked attention in fp64.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import math
import os

import pytest
import torch
from outliers import outlier_text
from selection_reference import Packed, check_list

torch.ops.load_library(os.environ["LIBTESSERA_TORCH"])
ops = torch.ops.tessera
LENGTHS = [0, 45, 1, 30, 5]


def random(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).requires_grad_()


def inputs(p, streams, heads=4, key_heads=2, width=16, value=24):
    """q [T, heads, width]; k and v with the key heads of each stream one after another."""
    return [random(p.tokens, n, d, seed=i) for i, (n, d) in enumerate(((heads, width), (streams * key_heads, width), (streams * key_heads, value)))]


def library(name):
    return f"kernels/patterns/{name}.py"


def means(x, length, stride):
    """[tokens, ...] -> the mean of each complete block."""
    count = 0 if len(x) < length else (len(x) - length) // stride + 1
    return torch.stack([x[i * stride:i * stride + length].mean(0) for i in range(count)]) if count else x[:0]


def complete(tokens, count, length, stride):
    """bool [tokens, count]: whether the last token of each block is at or before the query."""
    return torch.arange(count)[None, :] * stride + length - 1 <= torch.arange(tokens)[:, None]


def near(tokens, window):
    apart = torch.arange(tokens)[:, None] - torch.arange(tokens)[None, :]
    return (apart >= 0) & (apart < window)


def attend(q, parts, sink=None):
    """One softmax of q [n, heads, d] over parts (k, v, mask [n, keys] or [heads, n, keys]): (o [n, heads, e], lse [heads, n])."""
    group = q.shape[1] // parts[0][0].shape[1]
    k, v = (torch.cat([part[i] for part in parts]).repeat_interleave(group, 1).transpose(0, 1) for i in (0, 1))
    mask = torch.cat([part[2].expand(q.shape[1], -1, -1) for part in parts], 2)
    scores = (q.transpose(0, 1) @ k.transpose(1, 2) / math.sqrt(q.shape[2])).masked_fill(~mask, -math.inf)
    lse = scores.logsumexp(2)
    if sink is not None:
        scores = torch.cat([scores, sink[:, None, None].expand(-1, len(q), 1)], 2)
    shares = torch.nan_to_num(scores.softmax(2))[..., :k.shape[1]]        # a row without keys has the output 0
    return (shares @ v).transpose(0, 1), lse


def compare(p, found, leaves, reference):
    """The output, lse and the gradients of all leaves against reference(*leaves of one sequence) in fp64."""
    exact = [x.detach().double().requires_grad_() for x in leaves]
    outputs, rows = [], []
    for start, end in zip(p.cu.tolist(), p.cu.tolist()[1:]):
        one = [x[start:end] if x.shape[0] == p.tokens else x for x in exact]
        if end > start:
            o, lse = reference(start, *one)
            outputs.append(o)
            rows.append(lse)
    o, lse = found[:2]
    want = torch.cat(outputs)
    assert outlier_text(o, want, 1e-5) == ""
    if lse.numel():
        assert outlier_text(lse, torch.cat(rows, 1), 1e-5) == ""
    weight = torch.randn(o.shape, generator=torch.Generator().manual_seed(7))
    got = torch.autograd.grad((o * weight).sum(), leaves)
    for i, (a, b) in enumerate(zip(got, torch.autograd.grad((want * weight).sum(), exact))):
        assert outlier_text(a, b, 1e-5) == "", i


@pytest.mark.parametrize("length, stride, window, heads", [(8, 8, 6, 4), (8, 4, 1, 4), (1, 1, 3, 2), (32, 32, 100, 12), (64, 64, 5, 4)])
def test_all_compressed_keys_and_a_window_share_a_softmax(length, stride, window, heads):
    p = Packed(LENGTHS)
    tensors, sink = inputs(p, 2, heads), random(1, heads, seed=9)

    def reference(_, q, k, v, row):
        ck, cv = means(k[:, :2], length, stride), means(v[:, :2], length, stride)
        return attend(q, [(ck, cv, complete(len(q), len(ck), length, stride)), (k[:, 2:], v[:, 2:], near(len(q), window))], row[0])

    found = ops.attention(*tensors, p.cu, p.longest, library("heavily_compressed"), f"l={length}, d={stride}, window={window}", learned=sink)
    assert found[2].numel() == found[3].numel() == 0
    compare(p, found, [*tensors, sink], reference)


@pytest.mark.parametrize("scope, lists", [("all", 1), ("kv", 2), ("q", 4)])
@pytest.mark.parametrize("length, stride, top", [(8, 4, 3), (4, 4, 2), (4, 1, 5), (64, 64, 4)])
def test_an_indexer_selects_compressed_keys(tmp_path, scope, lists, length, stride, top):
    file = tmp_path / "chosen.py"
    file.write_text(f"import triton\n\n\n# tessera: select(block=1, top={top}, scope={scope}, local=0, score=indexer(heads=3, dim=8))\n"
                    f"# tessera: streams(selected(compressed(l={length}, d={stride})), window(6), joined)\n# tessera: learned(sink=[Hq])\n"
                    "@triton.jit\ndef sees(t, pos):\n    return pos <= t\n")
    p = Packed(LENGTHS)
    tensors, sink = inputs(p, 2), random(1, 4, seed=9)
    index = [random(p.tokens, lists, 3, 8, seed=4), random(p.tokens, 8, seed=5), random(p.tokens, lists, 3, seed=6)]
    named = dict(zip(("index_q", "index_k", "index_weights"), index))
    found = ops.attention(*tensors, p.cu, p.longest, str(file), "", learned=sink, **named)
    indices, loss = found[2:]
    assert indices.shape == (lists, p.tokens, top) and loss.shape == (p.tokens,)
    for start, tokens, t in p.queries():
        keys = means(index[1][start:start + tokens].detach(), length, stride)
        for number in range(lists):
            q, weights = (x[start + t, number].detach() for x in (index[0], index[2]))
            scores = ((q @ keys.T).relu() * weights[:, None]).sum(0)[complete(tokens, len(keys), length, stride)[t]]
            check_list(indices[number, start + t].tolist(), dict(enumerate(scores.tolist())), top, 0, 0, 1e-4)

    def masks(start, count, tokens):
        chosen = torch.zeros(lists, tokens, count + 1, dtype=torch.bool)
        chosen.scatter_(2, indices[:, start:start + tokens].long() + 1, True)
        return chosen[..., 1:] & complete(tokens, count, length, stride)

    def reference(start, q, k, v, row):
        ck, cv = means(k[:, :2], length, stride), means(v[:, :2], length, stride)
        return attend(q, [(ck, cv, masks(start, len(ck), len(q)).repeat_interleave(4 // lists, 0)), (k[:, 2:], v[:, 2:], near(len(q), 6))], row[0])

    compare(p, [x.detach() if x.dtype == torch.int32 else x for x in found], [*tensors, sink], reference)


def test_the_loss_of_an_indexer_over_compressed_keys_is_a_divergence():
    length, stride, top = 8, 4, 3
    p = Packed([45, 30])
    tensors, sink = inputs(p, 2), random(1, 4, seed=9)
    index = [random(p.tokens, 1, 2, 8, seed=4), random(p.tokens, 8, seed=5), random(p.tokens, 1, 2, seed=6)]
    named = dict(zip(("index_q", "index_k", "index_weights"), index))
    *_, indices, loss = ops.attention(*tensors, p.cu, p.longest, library("compressed_sparse"), f"top={top}, l={length}, d={stride}, window=6, heads=2, dim=8",
                                      learned=sink, **named)
    exact = [x.detach().double().requires_grad_() for x in index]
    want = []
    for start, tokens, t in p.queries():
        q, k, *_ = (x[start:start + tokens].detach().double() for x in tensors)
        ck, chosen = means(k[:, :2], length, stride), [j for j in indices[0, start + t].tolist() if j >= 0]
        if not chosen:
            want.append(exact[0].sum() * 0)
            continue
        scores = torch.stack([ck[chosen, head // 2] @ q[t, head] for head in range(4)]) / 4
        window = torch.stack([k[max(0, t - 5):t + 1, 2 + head // 2] @ q[t, head] for head in range(4)]) / 4
        target = torch.cat([scores, window], 1).softmax(1)[:, :len(chosen)].mean(0)      # the loss takes shares among the selected keys
        target = target / target.sum()
        keys = means(exact[1][start:start + tokens], length, stride)[chosen]
        logs = ((exact[0][start + t, 0] @ keys.T).relu() * exact[2][start + t, 0][:, None]).sum(0).log_softmax(0)
        want.append((torch.xlogy(target, target) - target * logs).sum())
    want = torch.stack(want)
    assert outlier_text(loss, want, 1e-5) == "" and want.sum() > 0
    got = torch.autograd.grad(loss.sum(), [*tensors, sink, *index], allow_unused=True)
    assert got[:4] == (None,) * 4
    for a, b in zip(got[4:], torch.autograd.grad(want.sum(), exact)):
        assert outlier_text(a, b, 1e-4) == ""


def test_nsa_is_the_op_of_nsa():
    p = Packed(LENGTHS)
    q, k, v = inputs(p, 3)
    gates = random(p.tokens, 2, 3, seed=5)
    found = ops.attention(q, k, v, p.cu, p.longest, library("nsa"), "block=8, top=4, l=8, d=4, window=6", gate_logits=gates)
    cu_cmp = ops.compressed_offsets(p.cu, 8, 4)
    kc, ks, kw, vc, vs, vw = *k.split(2, 1), *v.split(2, 1)
    want = ops.nsa_attention(q, kc, vc, ks, vs, kw, vw, gates, p.cu, cu_cmp, p.longest, int(cu_cmp[-1]), 8, 4, 8, 4, 6, 1, 2, gate_mode="sigmoid")
    assert torch.equal(found[0], want[0]) and torch.equal(found[2], want[1]) and found[1].numel() == found[3].numel() == 0
    chosen = want[1]

    def reference(start, q, k, v, gates):
        n = len(q)
        ck, cv = means(k[:, :2], 8, 4), means(v[:, :2], 8, 4)
        blocks = torch.zeros(2, n, 7, dtype=torch.bool).scatter(2, chosen[:, start:start + n].long() + 1, True)[..., 1:]
        picked = blocks.repeat_interleave(8, 2)[..., :n].repeat_interleave(2, 0) & near(n, n)
        parts = [(ck, cv, complete(n, len(ck), 8, 4)), (k[:, 2:4], v[:, 2:4], picked), (k[:, 4:], v[:, 4:], near(n, 6))]
        weights = gates.sigmoid().repeat_interleave(2, 1).unsqueeze(-1)
        return sum(attend(q, [part])[0] * weights[:, :, i] for i, part in enumerate(parts)), None

    compare(p, found, [q, k, v, gates], reference)


def test_wrong_calls_are_refused():
    p = Packed([20])
    q, k, v = (x.detach() for x in inputs(p, 3))
    call = lambda name, keys=k, values=v, **more: ops.attention(q, keys, values, p.cu, 20, library(name), "", **more)
    gates, sink = random(20, 2, 3).detach(), random(1, 4).detach()
    for message, wrong in (
        ("pass gate_logits", lambda: call("nsa")),
        ("leave gate_logits away", lambda: call("heavily_compressed", gate_logits=gates, learned=sink)),
        ("leave gate_logits away", lambda: call("window", gate_logits=gates)),
        (r"has 3 streams: pass \[tokens, streams", lambda: call("nsa", k[:, :4], gate_logits=gates)),
        (r"v has shape .* has 2 streams", lambda: call("heavily_compressed", k[:, :4], v[:, :3], learned=sink)),
        ("selects by an indexer", lambda: call("compressed_sparse", k[:, :4], v[:, :4], learned=sink)),
        ("has no indexer", lambda: call("nsa", gate_logits=gates, index_k=random(20, 8))),
        ("has no parameter `top`", lambda: ops.attention(q, k[:, :4], v[:, :4], p.cu, 20, library("heavily_compressed"), "top=3", learned=sink)),
        ("`d` is 3, which does not divide l", lambda: ops.attention(q, k[:, :4], v[:, :4], p.cu, 20, library("heavily_compressed"), "l=8, d=3", learned=sink)),
    ):
        with pytest.raises((ValueError, RuntimeError), match=message):
            wrong()


def test_offsets_of_compressed_index_keys_are_checked():
    p = Packed([20, 9])
    q, k, weights = random(p.tokens, 1, 2, 8), random(5, 8), random(p.tokens, 1, 2)
    offsets = ops.compressed_offsets(p.cu, 8, 4)
    for message, keys, more in (
        ("length is 0", k, dict(k_cu_seqlens=offsets, length=0, stride=4)),
        ("k_cu_seqlens for keys of more than one token", random(p.tokens, 8), dict(length=8, stride=4)),
        ("must be", k, dict(k_cu_seqlens=offsets, length=8, stride=2)),
        ("the number of rows of k", random(6, 8), dict(k_cu_seqlens=offsets, length=8, stride=4)),
    ):
        with pytest.raises((ValueError, RuntimeError), match=message):
            ops.indexer_select(q, keys, weights, p.cu, p.longest, 1, 2, **more)
