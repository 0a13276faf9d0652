# tests/python/ops_test.py - the ops of libtessera_torch.so in Python: values and gradients against fp64, meta shapes, opcheck, errors.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import os
import tempfile

import nsa_reference as ref
import pytest
import torch
from outliers import outlier_text

torch.ops.load_library(os.environ["LIBTESSERA_TORCH"])
ops = torch.ops.tessera

PACKINGS = ([37], [20, 0, 5, 33])
GEOMETRY = dict(block_length=8, block_stride=4)
LIMITS = {torch.float32: 1e-5, torch.bfloat16: 5e-3, torch.float16: 5e-3}


def rms_ratio(got, want):
    got, want = got.detach().double(), want.detach().double()
    finite = torch.isfinite(want)
    assert torch.equal(finite, torch.isfinite(got)), "infinite entries differ"
    got, want = got[finite], want[finite]
    return float((got - want).norm() / want.norm().clamp(min=1e-30))


def leaves(*shapes, dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator).to(dtype).requires_grad_() for shape in shapes]


def double(*tensors):
    return [t.detach().double().requires_grad_() for t in tensors]


def close(got, want, name, limit=1e-5):
    error = rms_ratio(got, want)
    assert error < limit, name
    assert outlier_text(got, want, limit) == "", name


def compare(got, got_leaves, want, want_leaves, limit=1e-5):
    """Outputs and gradients of their random projections."""
    generator = torch.Generator().manual_seed(9)
    for i, (a, b) in enumerate(zip(got, want)):
        close(a, b, f"output {i}", limit)
    weights = [torch.randn(b.shape, generator=generator).masked_fill(~torch.isfinite(b), 0) for b in want]
    loss = lambda outputs: sum((torch.where(torch.isfinite(o), o, 0) * w.to(o.dtype)).sum() for o, w in zip(outputs, weights))
    got_grads = torch.autograd.grad(loss(got), got_leaves)
    want_grads = torch.autograd.grad(loss(want), want_leaves, allow_unused=True)
    for i, (a, b) in enumerate(zip(got_grads, want_grads)):
        close(a, torch.zeros_like(a) if b is None else b, f"gradient {i}", limit)


def test_dense_attention():
    for lengths in PACKINGS:
        p = ref.Packing(lengths)
        x = leaves((p.tokens, 4, 16), (p.tokens, 2, 16), (p.tokens, 2, 8))
        y = double(*x)
        got = ops.dense_attention(*x, p.cu, p.longest)
        compare(got, x, ref.attention(*y, ref.dense_mask(p), 0.25), y)


def test_dense_gradients_by_processors():
    """The CPU takes one kernel where at most 8 shares of the queries keep all processors busy, and not for heads of two slices; a GPU takes
    two kernels."""
    processors = len(os.sched_getaffinity(0))
    for sequences, heads, dim in ((processors, 2, 16), (1, 1, 16), (processors, 2, 48)):
        p = ref.Packing([21 + n for n in range(sequences)])
        for dtype in (torch.float32, torch.bfloat16):
            x = leaves((p.tokens, 2 * heads, dim), (p.tokens, heads, dim), (p.tokens, heads, 16), dtype=dtype)
            y = double(*x)
            got = ops.dense_attention(*x, p.cu, p.longest)
            with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as seen:
                compare(got[:1], x, ref.attention(*y, ref.dense_mask(p), dim ** -0.5)[:1], y, LIMITS[dtype])
            names = {e.key for e in seen.key_averages()}
            one = os.environ.get("TESSERA_DEVICE", "cpu") == "cpu" and dim == 16 and 2 * processors <= 8 * heads * sequences
            assert ("kernel dense_bwd" in names) == one, names
            assert ("kernel dense_bwd_dkdv" in names) == (not one), names


def test_dense_attention_half_types():
    p = ref.Packing([33, 20])
    for dtype in (torch.bfloat16, torch.float16):
        x = leaves((p.tokens, 4, 16), (p.tokens, 2, 16), (p.tokens, 2, 16), dtype=dtype)
        y = double(*x)
        got = ops.dense_attention(*x, p.cu, p.longest)
        assert got[0].dtype == dtype
        compare(got[:1], x, ref.attention(*y, ref.dense_mask(p), 0.25)[:1], y, LIMITS[dtype])


def test_window_attention():
    for lengths in PACKINGS:
        p = ref.Packing(lengths)
        x = leaves((p.tokens, 4, 16), (p.tokens, 2, 16), (p.tokens, 2, 8))
        y = double(*x)
        got = ops.nsa_window_attention(*x, p.cu, p.longest, 5, scale=0.3)
        compare(got, x, ref.attention(*y, ref.window_mask(p, 5), 0.3), y)


def test_window_off():
    p = ref.Packing([9])
    x = leaves((9, 4, 16), (9, 2, 16), (9, 2, 8))
    o, lse = ops.nsa_window_attention(*x, p.cu, 9, 0)
    assert not o.any()
    assert (lse == float("-inf")).all()
    for grad in torch.autograd.grad(o.sum(), x):
        assert not grad.any()


def test_strided_inputs():
    p = ref.Packing([37])
    packed = leaves((37, 8, 16))[0]
    q, k, v = packed.split((4, 2, 2), 1)
    reference = double(packed)[0]
    want = ref.attention(*reference.split((4, 2, 2), 1), ref.window_mask(p, 6), 0.25)
    compare(ops.nsa_window_attention(q, k, v, p.cu, 37, 6), [packed], want, [reference])
    transposed = [x.detach().transpose(1, 2).contiguous().transpose(1, 2) for x in (q, k, v)]
    close(ops.nsa_window_attention(*transposed, p.cu, 37, 6)[0], want[0], "transposed")


def test_compressed_attention():
    for lengths in PACKINGS:
        p = ref.Packing(lengths)
        cu_cmp = ops.compressed_offsets(p.cu, 8, 4)
        rows = int(cu_cmp[-1])
        assert rows == len(p.blocks(8, 4))
        x = leaves((p.tokens, 4, 16), (rows, 2, 16), (rows, 2, 8))
        y = double(*x)
        got = ops.nsa_compressed_attention(*x, p.cu, cu_cmp, p.longest, 8, 4)
        compare(got, x, ref.attention(*y, ref.compressed_mask(p, 8, 4), 0.25), y)


def test_compress():
    for lengths in PACKINGS:
        p = ref.Packing(lengths)
        cu_cmp = ops.compressed_offsets(p.cu, 8, 4)
        x = leaves((p.tokens, 2, 12), (8, 12))
        y = double(*x)
        arguments = (p.cu, cu_cmp, p.longest, int(cu_cmp[-1]), 8, 4)
        compare([ops.nsa_compress(*x, *arguments)], x, [ref.compress(y[0], p, 8, 4, y[1])], y)
        compare([ops.nsa_compress(x[0], None, *arguments)], x[:1], [ref.compress(y[0], p, 8, 4)], y[:1])


def test_compress_without_blocks():
    x, w = leaves((5, 2, 12), (8, 12))
    cu = torch.tensor([0, 5], dtype=torch.int32)
    cu_cmp = ops.compressed_offsets(cu, 8, 4)
    out = ops.nsa_compress(x, w, cu, cu_cmp, 5, 0, 8, 4)
    assert out.shape == (0, 2, 12)
    for grad in torch.autograd.grad(out.sum(), (x, w)):
        assert not grad.any()


def test_select_and_ranges():
    for lengths in PACKINGS:
        p = ref.Packing(lengths)
        cu_cmp = ops.compressed_offsets(p.cu, 8, 4)
        q, k = (x.detach() for x in leaves((p.tokens, 4, 16), (int(cu_cmp[-1]), 2, 16)))
        _, lse = ops.nsa_compressed_attention(q, k, k, p.cu, cu_cmp, p.longest, 8, 4)
        arguments = (q, k, lse, p.cu, cu_cmp, p.longest, 8, 4, 8, 4)
        indices, scores = ops.nsa_select_scores(*arguments)
        want = ref.block_scores(q.double(), k.double(), p, 8, 4, 8, 0.25)
        visible = torch.arange(want.shape[2]) * 8 <= p.position[:, None]
        close(scores * visible, want * visible, "scores")
        # Exact on the kernel's own scores.
        assert torch.equal(indices, ref.select(scores, p, 8, 4))
        assert torch.equal(indices, ops.nsa_select(*arguments))
        ranges = ops.nsa_ranges(indices, p.cu, p.longest, 8)
        covered = torch.zeros(2, p.tokens, p.tokens, dtype=torch.bool)
        for h in range(2):
            for t in range(p.tokens):
                end = -1
                for first, last in ranges[h, t].tolist():
                    if last > 0:
                        assert end < first < last
                        end = last
                        start = int(p.cu[p.sequence[t]])
                        covered[h, t, start + first:start + last] = True
        assert torch.equal(covered, ref.selected_mask(p, indices, 8))


def test_selected_attention():
    for lengths in PACKINGS:
        p = ref.Packing(lengths)
        scores = torch.rand(2, p.tokens, -(-p.longest // 8), generator=torch.Generator().manual_seed(3))
        indices = ref.select(scores, p, 8, 4)
        x = leaves((p.tokens, 6, 16), (p.tokens, 2, 16), (p.tokens, 2, 8))
        y = double(*x)
        got = ops.nsa_selected_attention(*x, indices, p.cu, p.longest, 8)
        compare(got, x, ref.attention(*y, ref.selected_mask(p, indices, 8), 0.25), y)


def test_decode_attention():
    """One token over a cache: any number of shares gives fp64's result, and the same bits each time."""
    q, k, v = (x.detach() for x in leaves((3, 6, 16), (3, 2, 700, 16), (3, 2, 700, 24)))
    blocks = torch.tensor([0, 4, 9, -1], dtype=torch.int32).expand(3, 2, 4).contiguous()
    place = torch.arange(700)
    for first, last, indices in ((0, 650, None), (137, 601, None), (0, 610, blocks), (0, 1, None), (5, 5, None)):
        seen = (place >= first) & (place < last)
        if indices is not None:
            seen &= (place // 64 == torch.tensor([0, 4, 9])[:, None]).any(0)
        wide = lambda x: x.double().repeat_interleave(3, 1)
        s = torch.where(seen, torch.einsum("bhd,bhtd->bht", q.double(), wide(k)) / 4, float("-inf"))
        p = torch.where(seen, s.softmax(2), 0.0) if seen.any() else torch.zeros_like(s)
        for splits in (0, 1, 3, 64):
            call = lambda: ops.decode_attention(q, k, v, first, last, indices, 64, splits)
            (o, lse), (again, _) = call(), call()
            close(o, torch.einsum("bht,bhtd->bhd", p, wide(v)), (first, last, splits))
            close(lse, s.logsumexp(2), (first, last, splits))
            assert torch.equal(o, again)


def test_combine():
    for mode, tau in (("softmax", 0.7), ("sigmoid", 0.4)):
        x = leaves((37, 6, 12), (37, 6, 12), (37, 6, 12), (37, 2, 3))
        y = double(*x)
        out, gates = ops.nsa_combine(*x, mode, tau)
        assert not gates.requires_grad
        close(gates, (y[3] / tau).softmax(-1) if mode == "softmax" else (y[3] / tau).sigmoid(), "gates")
        compare([out], x, [ref.combine(y[:3], y[3], mode, tau)], y)


def test_nsa_attention():
    """The complete attention: RoPE, compression, selection, window and gates, and all gradients."""
    for lengths in PACKINGS:
        p = ref.Packing(lengths)
        t, h = p.tokens, 2
        x = leaves((t, 4, 16), *[(t, h, d) for d in (16, 8, 16, 8, 16, 8)], (t, h, 3), (8, 16), (8, 8))
        y = double(*x)
        cos, sin = ops.rope_table(p.longest, 16)
        cu_cmp = ops.compressed_offsets(p.cu, 8, 4)
        turn = lambda z: ops.rope(z, cos, sin, p.cu, p.longest)
        q, ks, kc, kw = turn(x[0]), turn(x[3]), turn(x[1]), turn(x[5])
        out, indices, gates = ops.nsa_attention(
            q, kc, x[2], ks, x[4], kw, x[6], x[7], p.cu, cu_cmp, p.longest, int(cu_cmp[-1]), 8, 4, 8, 4, 6,
            k_filter=x[8], v_filter=x[9], gate_mode="sigmoid", tau=0.4)
        assert not indices.requires_grad

        turn = lambda z: ref.rope(z, p.position, 10000.0, 16)
        q, kc, ks, kw = turn(y[0]), turn(y[1]), turn(y[3]), turn(y[5])
        k = ref.compress(kc, p, 8, 4, y[8])
        scores = ref.block_scores(q, k, p, 8, 4, 8, 0.25)
        assert torch.equal(indices, ref.select(scores, p, 8, 4))
        branches = (ref.attention(q, k, ref.compress(y[2], p, 8, 4, y[9]), ref.compressed_mask(p, 8, 4), 0.25)[0],
                    ref.attention(q, ks, y[4], ref.selected_mask(p, indices, 8), 0.25)[0],
                    ref.attention(q, kw, y[6], ref.window_mask(p, 6), 0.25)[0])
        compare([out], x, [ref.combine(branches, y[7], "sigmoid", 0.4)], y)


def test_rms_norm():
    x, w = leaves((7, 5, 24), (24,))
    y = double(x, w)
    want = y[0] * (y[0].square().mean(-1, keepdim=True) + 1e-3).rsqrt() * y[1]
    compare([ops.rms_norm(x, w, 1e-3)], [x, w], [want], y)


def test_residual_norm():
    x, r, w = leaves((7, 5, 24), (7, 5, 24), (24,))
    y = double(x, r, w)

    def two():
        total = y[0] + y[1]
        return total, total * (total.square().mean(-1, keepdim=True) + 1e-3).rsqrt() * y[2]

    for used in ((0, 1), (0,), (1,)):       # outputs that something is made of
        pick = lambda outputs: [outputs[i] for i in used]
        inputs = 3 if 1 in used else 2
        compare(pick(ops.residual_norm(x, r, w, 1e-3)), [x, r, w][:inputs], pick(two()), y[:inputs])


def test_residual_norm_has_the_bits_of_two_operations():
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        for dim in (24, 192):
            x, r, w, after, last = leaves((67, dim), (67, dim), (dim,), (67, dim), (67, dim), dtype=dtype)
            results = []
            for fused in (True, False):
                total = x + r
                total, y = ops.residual_norm(x, r, w, 1e-6) if fused else (total, ops.rms_norm(total, w, 1e-6))
                loss = (total * after).sum() + (y * last).sum()
                results.append([total, y, *torch.autograd.grad(loss, (x, r, w))])
            for name, a, b in zip(("sum", "y", "dx", "dr", "dw"), *results):
                assert torch.equal(a, b), (name, dtype, dim)


def linear_loss(tokens, vocabulary, dim, dtype=torch.float32, reduction="mean", ignored=(), scale=1.0, seed=3, keep=False):
    """Loss and gradients next to torch's in fp64. Kept logits are rounded to the type, which moves the loss."""
    h, w = leaves((tokens, dim), (vocabulary, dim), dtype=dtype, seed=seed)
    w = (w.detach() * scale).requires_grad_()
    targets = torch.randint(vocabulary, (tokens,), generator=torch.Generator().manual_seed(seed))
    targets[list(ignored)] = -100
    y = double(h, w)
    got = ops.linear_cross_entropy(h, w, targets, reduction=reduction, keep_logits=keep)
    want = torch.nn.functional.cross_entropy(y[0] @ y[1].T, targets, reduction=reduction)
    assert got.dtype == torch.float32
    close(got, want, "loss", LIMITS[dtype] if keep else 1e-5)
    weight = torch.randn(want.shape, generator=torch.Generator().manual_seed(9))
    for name, a, b in zip(("dhidden", "dweight"), torch.autograd.grad(got, (h, w), weight), torch.autograd.grad(want, y, weight.double())):
        assert a.dtype == dtype
        close(a, b, name, LIMITS[dtype])


def test_linear_cross_entropy():
    for tokens, vocabulary, dim in ((1, 1, 1), (67, 300, 96), (130, 2049, 24), (64, 4096, 16)):
        for reduction in ("mean", "sum", "none"):
            linear_loss(tokens, vocabulary, dim, reduction=reduction, scale=dim ** -0.5)
        linear_loss(tokens, vocabulary, dim, dtype=torch.bfloat16, scale=dim ** -0.5)


def kept_logits(tokens, vocabulary, dim, dtype=torch.float32, ignored=(), scale=1.0, seed=3):
    """Each step of the op that keeps its logits, in fp64 from what the step before wrote."""
    generator = torch.Generator().manual_seed(seed)
    h = torch.randn(tokens, dim + 3, generator=generator).to(dtype)[:, 2:2 + dim]          # rows that are not packed
    w = (torch.randn(vocabulary, dim, generator=generator) * scale).to(dtype)
    targets, grad = torch.randint(vocabulary, (tokens,), generator=generator), torch.randn(tokens, generator=generator)
    targets[list(ignored)] = -100
    losses, lse, logits = ops.linear_cross_entropy_logits(h, w, targets, -100)
    assert (logits.shape, logits.dtype) == ((tokens, -(-vocabulary // 16) * 16), dtype)
    close(logits[:, :vocabulary], h.double() @ w.double().T, "logits", LIMITS[dtype])
    exact = logits[:, :vocabulary].double().requires_grad_()
    want = torch.nn.functional.cross_entropy(exact, targets, reduction="none")
    close(losses, want, "losses")
    close(lse, torch.logsumexp(exact, 1), "lse")
    assert not losses[list(ignored)].any()
    (d,) = torch.autograd.grad(want, exact, grad.double())
    dh, dw = ops.linear_cross_entropy_logits_backward(grad, h, w, targets, lse, logits, -100)
    close(logits[:, :vocabulary], d, "gradient of logits", LIMITS[dtype])
    assert not logits[:, vocabulary:].any() and not logits[list(ignored)].any()
    close(dh, d @ w.double(), "dhidden", LIMITS[dtype])
    close(dw, d.T @ h.double(), "dweight", LIMITS[dtype])


@pytest.mark.parametrize("dtype", LIMITS, ids=str)
def test_kept_logits(dtype):
    for tokens, vocabulary, dim in ((1, 1, 1), (1, 300, 24), (67, 300, 96), (33, 2049, 24), (16, 4096, 16), (5, 50257, 8)):
        kept_logits(tokens, vocabulary, dim, dtype, scale=dim ** -0.5)
    kept_logits(67, 300, 32, dtype, ignored=(0, 5, 66), scale=0.2)
    kept_logits(9, 71, 64, dtype, scale=400.0)                 # logits of thousands do not overflow
    for reduction in ("mean", "sum", "none"):
        linear_loss(67, 300, 96, dtype, reduction, ignored=(3,), scale=0.1, keep=True)
    h, w = leaves((0, 8), (70, 8), dtype=dtype)
    for keep in (False, True):
        grads = torch.autograd.grad(ops.linear_cross_entropy(h, w, torch.zeros(0).long(), reduction="sum", keep_logits=keep), (h, w))
        assert grads[0].shape == (0, 8) and not grads[1].any()


def test_kept_logits_are_those_of_all_tokens():
    """One tensor of rounded columns is saved; without a backward pass there is none, and the bits are those of the other way."""
    h, w = leaves((33, 16), (70, 16), dtype=torch.bfloat16)
    targets, kept = torch.arange(33), []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t.numel()) or t, lambda t: t):
        ops.linear_cross_entropy(h, w, targets, keep_logits=True)
    assert max(kept) == 33 * 80, kept
    with torch.no_grad():
        assert torch.equal(ops.linear_cross_entropy(h, w, targets, keep_logits=True), ops.linear_cross_entropy(h, w, targets))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        narrowed = ops.linear_cross_entropy(h.float(), w.float(), targets, keep_logits=True)
    assert torch.equal(narrowed, ops.linear_cross_entropy(h, w, targets, keep_logits=True))


def test_kept_logits_have_one_backward_pass():
    """Gradients take the memory of the logits, so a second pass is refused; so is one after a change of an operand."""
    h, w = leaves((9, 16), (70, 16))
    targets = torch.arange(9)
    loss = ops.linear_cross_entropy(h, w, targets, keep_logits=True)
    with pytest.raises(NotImplementedError, match="double backward"):
        torch.autograd.grad(loss, h, create_graph=True)
    first = torch.autograd.grad(loss, (h, w), retain_graph=True)          # which the refused pass left possible
    with pytest.raises(ValueError, match="replaced the kept logits by their gradient; pass keep_logits=False"):
        torch.autograd.grad(loss, (h, w), retain_graph=True)
    other = ops.linear_cross_entropy(h, w, targets)
    torch.autograd.grad(other, (h, w), retain_graph=True)
    for a, b in zip(first, torch.autograd.grad(other, (h, w))):
        close(a, b, "twice without kept logits")
    loss = ops.linear_cross_entropy(h, w, targets, keep_logits=True)
    with torch.no_grad():
        w.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        torch.autograd.grad(loss, h)
    with pytest.raises(ValueError, match="logits has the strides"):
        _, lse, logits = ops.linear_cross_entropy_logits(h.detach(), w.detach(), targets, -100)
        ops.linear_cross_entropy_logits_backward(lse, h.detach(), w.detach(), targets, lse, logits.T.contiguous().T, -100)


def test_linear_cross_entropy_of_odd_vocabulary():
    for dtype in (torch.float32, torch.bfloat16):
        linear_loss(45, 50257, 96, dtype=dtype, scale=0.1)


def test_linear_cross_entropy_leaves_targets_out():
    for reduction in ("mean", "none"):
        linear_loss(67, 300, 32, reduction=reduction, ignored=(0, 5, 66), scale=0.2)
    h, w = leaves((3, 8), (5, 8))
    none = torch.full((3,), -100)
    assert ops.linear_cross_entropy(h, w, none).isnan()       # as torch's
    (dh,) = torch.autograd.grad(ops.linear_cross_entropy(h, w, none, reduction="sum"), h)
    assert not dh.any()
    assert ops.linear_cross_entropy(h, w, torch.tensor([2, 7, 4]), 7, "none")[1] == 0


def test_linear_cross_entropy_in_pieces():
    """More tokens than there are logits for at a time: two pieces, and three, the last of two tokens, next to a call for each."""
    for dtype in (torch.float32, torch.bfloat16):
        linear_loss(700, 50257, 8, dtype=dtype, scale=0.05)
        h, w = leaves((130, 8), (264208, 8), dtype=dtype)
        targets = torch.arange(130) * 2000
        whole = torch.autograd.grad(ops.linear_cross_entropy(h, w, targets, reduction="sum"), (h, w))
        parts = [torch.autograd.grad(ops.linear_cross_entropy(h[a:a + 64], w, targets[a:a + 64], reduction="sum"), (h, w)) for a in (0, 64, 128)]
        for name, a, b in zip(("dhidden", "dweight"), whole, (sum(x.double() for x in part) for part in zip(*parts))):
            close(a, b, name, LIMITS[dtype])


def test_linear_cross_entropy_keeps_no_logits():
    """And large logits do not overflow: the same numbers plus 1,000 in each row."""
    h, w = leaves((33, 16), (70, 16))
    targets = torch.randint(70, (33,))
    more = torch.cat([h, torch.full((33, 1), 1000.0)], 1), torch.cat([w, torch.ones(70, 1)], 1)
    close(ops.linear_cross_entropy(*more, targets), ops.linear_cross_entropy(h, w, targets), "shifted", 1e-4)
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t.numel()) or t, lambda t: t):
        ops.linear_cross_entropy(h, w, targets)
    assert max(kept) < 33 * 70, kept


def test_mlp_activation():
    for kind in ("relu2", "silu", "swiglu"):
        x, gate = leaves((7, 5, 130), (7, 5, 130))
        y = double(x, gate)
        want = {"relu2": y[0].relu().square(), "silu": torch.nn.functional.silu(y[0]),
                "swiglu": torch.nn.functional.silu(y[1]) * y[0]}[kind]
        given = 2 if kind == "swiglu" else 1
        compare([ops.mlp_activation(x, kind, *([gate] if given == 2 else []))], [x, gate][:given], [want], y[:given])


def test_mlp_activation_passes_nan_on():
    for kind in ("relu2", "silu", "swiglu"):
        x, gate = leaves((130,), (130,))
        with torch.no_grad():
            x[7] = gate[9] = float("nan")
        y = ops.mlp_activation(x, kind, *([gate] if kind == "swiglu" else []))
        y.sum().backward()
        both = kind == "swiglu"
        where = lambda t: set(t.isnan().nonzero().flatten().tolist())
        assert where(y) == ({7, 9} if both else {7}), kind
        assert where(x.grad) == ({9} if both else {7}), kind  # that of swiglu does not depend on x
        if both:
            assert where(gate.grad) == {7, 9}, kind


def test_rope():
    p = ref.Packing([20, 0, 33])
    x = leaves((53, 3, 16))
    y = double(*x)
    cos, sin = ops.rope_table(33, 12, base=100.0, scale=2.0)
    got = ops.rope(x[0], cos, sin, p.cu, 33)
    compare([got], x, [ref.rope(y[0], p.position, 100.0, 12, 2.0)], y)
    close(ops.rope(got, cos, sin, p.cu, 33, inverse=True), x[0], "inverse")


def test_launch():
    source = '''
import triton
import triton.language as tl


@triton.jit
def scaled_add(X, Y, OUT, n, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + at, mask=at < n, other=0.0)
    y = tl.load(Y + at, mask=at < n, other=0.0)
    tl.store(OUT + at, x + factor * y, mask=at < n)
'''
    x, y, out = torch.randn(100), torch.randn(100), torch.zeros(100)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "scaled_add.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(source)
        ops.launch(path, "scaled_add", [x, y, out], [100, 0.5], [4], "BLOCK=32")
        close(out, x.double() + 0.5 * y, "launch", 1e-6)
        with pytest.raises(NotImplementedError, match="no gradient"):
            ops.launch(path, "scaled_add", [x.requires_grad_(), y, out], [100, 0.5], [4], "BLOCK=32")


def test_launch_takes_values_of_all_kinds():
    """Bools among the scalars; strings, bools, floats, dtypes, None and options among the constexprs."""
    source = '''
import triton
import triton.language as tl


@triton.jit
def every(X, OUT, n, factor, negate, BLOCK: tl.constexpr, ACT: tl.constexpr, CLIP: tl.constexpr, EPS: tl.constexpr,
          TYPE: tl.constexpr, BIAS: tl.constexpr = None):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + at, mask=at < n, other=0.0) * factor
    if negate:
        x = -x
    if ACT == "relu":
        x = tl.maximum(x, 0.0)
    if CLIP:
        x = tl.minimum(x, 1.0)
    if BIAS is not None:
        x = x + BIAS
    tl.store(OUT + at, (x + EPS).to(TYPE).to(tl.float32), mask=at < n)
'''
    x, out = torch.randn(100), torch.zeros(100)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "every.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(source)

        def launch(negate, constexprs):
            out.fill_(7)
            ops.launch(path, "every", [x, out], [100, 1.5, negate], [4], "BLOCK=32, " + constexprs)
            return out.clone()

        y = x * 1.5
        close(launch(True, 'ACT="relu", CLIP=True, EPS=1e-3, TYPE=tl.bfloat16, BIAS=0.25, num_warps=2'),
                   ((-y).clamp(0, 1).double() + 0.251).to(torch.bfloat16).double(), "all", 4e-3)
        close(launch(False, "ACT='none', CLIP=False, EPS=-0.5, TYPE=tl.float32, BIAS=None"), y.double() - 0.5, "others", 1e-6)
        for text, words in [("ACT=relu, CLIP=True, EPS=0.0, TYPE=tl.float32", "relu"),
                            ("ACT='a', CLIP=True, EPS=0.0, TYPE=tl.float23", "float23"),
                            ("ACT='a', CLIP=True, EPS=0.0, TYPE=tl.float32, num_warps=65", "num_warps")]:
            with pytest.raises(ValueError, match=words):
                launch(False, text)


def test_compressed_selection():
    """One sweep has o, lse and the selection of the ops that do one thing each, and of a token by itself the bits it has among all."""
    p = ref.Packing([61, 61])
    cu_cmp = ops.compressed_offsets(p.cu, 8, 4)
    rows = int(cu_cmp[1])
    q, k, v = torch.randn(122, 6, 40), torch.randn(2 * rows, 2, 40), torch.randn(2 * rows, 2, 24)
    apart = (p.cu, cu_cmp, 61, 8, 4)
    for selected, scale in ((4, None), (4, 0.3), (0, None)):
        o, lse = ops.nsa_compressed_attention(q, k, v, *apart, scale)
        want = o, lse, ops.nsa_select(q, k, lse, *apart, 8, selected, scale=scale)
        got = ops.nsa_compressed_selection(q, k, v, *apart, 8, selected, scale=scale)
        close(got[0], o.double(), "o", 1e-6)
        close(got[1].nan_to_num(neginf=0), lse.double().nan_to_num(neginf=0), "lse", 1e-6)
        assert torch.equal(got[2], want[2])
    o, lse, indices = ops.nsa_compressed_selection(q, k, v, *apart, 8, 4)
    cache = [torch.zeros(2, 2, rows + 3, x.shape[2]) for x in (k, v)]
    for to, x in zip(cache, (k, v)):
        to[:, :, :rows] = x.unflatten(0, (2, rows)).transpose(1, 2)
        to[:, :, rows:] = float("nan")
    strided = [cache[0].transpose(1, 2).contiguous().transpose(1, 2), cache[1]]      # laid out in different ways
    for t in (0, 6, 7, 30, 60):
        at = torch.tensor([t, 61 + t])
        for keys, values in (cache, strided):
            got = ops.decode_compressed(q[at], keys, values, t, 8, 4, 8, 4)
            for mine, all_of_them in zip(got, (o[at], lse[:, at].T, indices[:, at].transpose(0, 1))):
                assert torch.equal(mine, all_of_them), t
    for words, change in (("sees 15 compressed", dict(position=64)), ("scale is -1", dict(scale=-1.0)), ("selected is 0", dict(selected=0)),
                          ("must hold the forced", dict(selected=2))):
        given = dict(position=60, block_length=8, block_stride=4, selection_length=8, selected=4)
        with pytest.raises(ValueError, match=words):
            ops.decode_compressed(q[:2], cache[0][:, :, :14], cache[1][:, :, :14], **{**given, **change})


def examples():
    """One call of every functional op."""
    p = ref.Packing([20, 9])
    cu_cmp = ops.compressed_offsets(p.cu, 8, 4)
    rows = int(cu_cmp[-1])
    q, k, v, w, g = leaves((29, 4, 16), (29, 2, 16), (29, 2, 8), (8, 16), (29, 2, 3))
    kc, vc = leaves((rows, 2, 16), (rows, 2, 8))
    o, lse = ops.nsa_compressed_attention(q.detach(), kc.detach(), vc.detach(), p.cu, cu_cmp, 20, 8, 4)
    indices = ref.select(torch.rand(2, 29, 3), p, 8, 3)
    cos, sin = ops.rope_table(20, 16)
    branches = leaves((29, 4, 8), (29, 4, 8), (29, 4, 8))
    yield "dense_attention", (q, k, v, p.cu, 20)
    yield "nsa_window_attention", (q, k, v, p.cu, 20, 4)
    yield "nsa_compressed_attention", (q, kc, vc, p.cu, cu_cmp, 20, 8, 4)
    yield "nsa_selected_attention", (q, k, v, indices, p.cu, 20, 8)
    yield "nsa_select", (q, kc, lse, p.cu, cu_cmp, 20, 8, 4, 8, 3)
    yield "nsa_select_scores", (q, kc, lse, p.cu, cu_cmp, 20, 8, 4, 8, 3)
    yield "nsa_select_scores", (q, kc, lse, p.cu, cu_cmp, 24, 8, 4, 8, 3)  # complete blocks
    yield "nsa_ranges", (indices, p.cu, 20, 8)
    yield "nsa_compress", (k, w, p.cu, cu_cmp, 20, rows, 8, 4)
    yield "nsa_compress", (k, None, p.cu, cu_cmp, 20, rows, 8, 4)
    yield "nsa_compress_pair", (k, v, w, None, p.cu, cu_cmp, 20, rows, 8, 4)
    yield "nsa_block_lists", (indices, p.cu, 20, 8, 2)
    yield "nsa_listed_attention", (q.detach(), k.detach(), v.detach(), indices, *ops.nsa_block_lists(indices, p.cu, 20, 8, 2), p.cu, 20, 8)
    yield "nsa_compressed_selection", (q.detach(), kc.detach(), vc.detach(), p.cu, cu_cmp, 20, 8, 4, 8, 3)
    yield "decode_compressed", (q[:2].detach(), torch.randn(2, 2, 6, 16), torch.randn(2, 2, 6, 8), 20, 8, 4, 8, 3)
    yield "nsa_gated_attention", (q, kc, vc, k, v, k, v, g, p.cu, cu_cmp, 20, 8, 4, 8, 3, 4)
    cache = torch.randn(2, 2, 30, 16), torch.randn(2, 2, 30, 8)
    yield "decode_attention", (q[:2].detach(), *cache, 3, 25)
    yield "pattern_decode", (torch.randn(2, 3, 4, 16), *cache, 20, "kernels/patterns/window.py", "window=9")
    yield "nsa_combine", (*branches, g)
    yield "rms_norm_forward", (q, torch.ones(16, requires_grad=True), 1e-6)
    yield "residual_norm_forward", (q, q.detach() + 1, torch.ones(16, requires_grad=True), 1e-6)
    h, w = leaves((29, 16), (70, 16))
    yield "linear_cross_entropy_forward", (h, w, torch.arange(29), -100)
    yield "linear_cross_entropy_logits", (h.detach(), w.detach(), torch.arange(29), -100)
    yield "linear_cross_entropy", (h, w, torch.arange(29), -100, "mean", True)
    yield "mlp_activation", (q, "relu2")
    yield "mlp_activation", (q, "swiglu", q)
    yield "rope", (q, cos, sin, p.cu, 20)


def test_meta_shapes():
    for name, arguments in examples():
        op = getattr(ops, name)
        real = op(*arguments)
        meta = op(*[a.to("meta") if isinstance(a, torch.Tensor) else a for a in arguments])
        for a, b in zip(*[x if isinstance(x, tuple) else (x,) for x in (real, meta)]):
            assert (a.shape, a.dtype, a.stride()) == (b.shape, b.dtype, b.stride()), name


def test_scale_is_positive():
    """Kernels take the largest product of a row for its largest score, which holds for a scale above 0 alone."""
    scaled = [(name, arguments) for name, arguments in examples()
              if name not in ("rope", "nsa_combine") and any(a.name == "scale" for a in getattr(ops, name).default._schema.arguments)]
    assert len(scaled) >= 9
    for name, arguments in scaled:
        for scale in (0.0, -0.5, float("nan"), float("inf")):
            with pytest.raises(ValueError, match=f"scale is {scale:g} and must be a finite number above 0"):
                getattr(ops, name)(*arguments, scale=scale)


def test_opcheck(subtests):
    utils = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_static")
    for name, arguments in examples():
        with subtests.test(name):
            # Lists hold arbitrary values after their count, and so do logits after the vocabulary: two calls differ.
            unset = name in ("nsa_block_lists", "linear_cross_entropy_logits")
            torch.library.opcheck(getattr(ops, name).default, arguments, test_utils=utils[:3] if unset else utils)


def test_autocast():
    """Queries, keys and values are narrowed, sums are not; gradients have the types of the leaves."""
    p = ref.Packing([20, 9])
    q, k, v = leaves((29, 4, 16), (29, 2, 16), (29, 2, 8))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        o, lse = ops.dense_attention(q, k, v, p.cu, 20)
        (dq,) = torch.autograd.grad(o.sum(), q)
        branches = (o, o.detach().float(), o.detach())
        gated, gates = ops.nsa_combine(*branches, torch.zeros(29, 2, 3))
    want = ops.dense_attention(*(x.detach().bfloat16() for x in (q, k, v)), p.cu, 20)
    assert (o.dtype, lse.dtype, dq.dtype) == (torch.bfloat16, torch.float32, torch.float32)
    assert torch.equal(o, want[0]) and torch.equal(lse, want[1])
    assert (gated.dtype, gates.dtype) == (torch.float32, torch.float32)
    h, w = leaves((9, 16), (70, 16))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = ops.linear_cross_entropy(h, w, torch.arange(9))
        (dw,) = torch.autograd.grad(loss, w)
        total, y = ops.residual_norm(h, h.detach().bfloat16(), torch.ones(16))
    want = ops.linear_cross_entropy(h.detach().bfloat16(), w.detach().bfloat16(), torch.arange(9))
    assert torch.equal(loss, want)
    assert (loss.dtype, dw.dtype, total.dtype, y.dtype) == (torch.float32,) * 4
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=False):
        assert ops.dense_attention(q, k, v, p.cu, 20)[0].dtype == torch.float32


def test_lse_is_stored_by_tokens():
    """[heads, tokens] to the caller; the heads of a token lie side by side. A caller's own may have other strides."""
    p = ref.Packing([20, 9])
    q, k, v = leaves((29, 4, 16), (29, 2, 16), (29, 2, 8))
    cu_cmp = ops.compressed_offsets(p.cu, 8, 4)
    kc, vc = leaves((int(cu_cmp[-1]), 2, 16), (int(cu_cmp[-1]), 2, 8))
    for lse in (ops.dense_attention(q, k, v, p.cu, 20)[1], ops.nsa_window_attention(q, k, v, p.cu, 20, 0)[1],
                ops.nsa_compressed_attention(q, kc, vc, p.cu, cu_cmp, 20, 8, 4)[1]):
        assert (lse.shape, lse.stride()) == ((4, 29), (1, 4))
    call = lambda x: ops.nsa_select(q, kc, x, p.cu, cu_cmp, 20, 8, 4, 8, 3)
    assert torch.equal(call(lse), call(lse.contiguous()))
    o, lse = ops.dense_attention(q, k, v, p.cu, 20)
    back = lambda x: ops.dense_attention_backward(o.detach(), None, q, k, v, o, x, p.cu, 20)
    with torch.no_grad():
        for a, b in zip(back(lse), back(lse.contiguous())):
            assert torch.equal(a, b)


def test_neighbours_are_not_read():
    """NaN in the other sequences changes no bit of one between them: tiles end with their sequence."""
    lens, mine = [13, 21, 9], slice(13, 34)
    p = ref.Packing(lens)
    cu_cmp = ops.compressed_offsets(p.cu, 8, 4)
    a, z = int(cu_cmp[1]), int(cu_cmp[2])
    indices = ref.select(torch.rand(2, 43, 3, generator=torch.Generator().manual_seed(1)), p, 8, 3)
    for name, rows, kept, tail in (
            ("dense_attention", 43, mine, (p.cu, 21)), ("nsa_window_attention", 43, mine, (p.cu, 21, 6)),
            ("nsa_selected_attention", 43, mine, (indices, p.cu, 21, 8)),
            ("nsa_compressed_attention", int(cu_cmp[-1]), slice(a, z), (p.cu, cu_cmp, 21, 8, 4))):
        q, k, v = leaves((43, 6, 16), (rows, 2, 16), (rows, 2, 16))
        weight = torch.randn(43, 6, 16)
        results = []
        for poison in (False, True):
            x = [t.detach().clone() for t in (q, k, v, weight)]
            for t, keep in zip(x, (mine, kept, kept, mine)):
                if poison:
                    outside = torch.ones(len(t), dtype=torch.bool)
                    outside[keep] = False
                    t[outside] = float("nan")
            x[:3] = [t.requires_grad_() for t in x[:3]]
            o, lse = getattr(ops, name)(*x[:3], *tail)
            grads = torch.autograd.grad(o, x[:3], x[3])
            results.append([o[mine], lse[:, mine], grads[0][mine], grads[1][kept], grads[2][kept]])
        for clean, poisoned in zip(*results):
            assert torch.equal(clean, poisoned), name


def test_double_backward_is_an_error():
    p = ref.Packing([9])
    x = leaves((9, 4, 16), (9, 2, 16), (9, 2, 8))
    o, _ = ops.dense_attention(*x, p.cu, 9)
    with pytest.raises(NotImplementedError, match="double backward"):
        torch.autograd.grad(o.sum(), x, create_graph=True)


def test_double_backward_of_each_op_is_an_error(subtests):
    """Without a kernel of the key Autograd, the gradient of a backward op is a constant: double backward gives zeros, silently."""
    names = sorted({name.split("::")[1].split(".")[0] for name in torch._C._dispatch_get_all_op_names() if name.startswith("tessera::")})
    backward = [name for name in names if name.endswith("_backward")]
    assert len(backward) > 10
    for name in backward:
        with subtests.test(name):
            assert torch._C._dispatch_has_kernel_for_dispatch_key(f"tessera::{name}", "Autograd")
    for kind in ("relu2", "silu", "swiglu"):
        x, gate = leaves((5, 16), (5, 16))
        given = (x, kind, gate) if kind == "swiglu" else (x, kind)
        with pytest.raises(NotImplementedError, match="double backward"):
            torch.autograd.grad(ops.mlp_activation(*given).sum(), x, create_graph=True)


def test_errors_name_the_argument(subtests):
    cu = torch.tensor([0, 9], dtype=torch.int32)
    cmp = torch.tensor([0, 1], dtype=torch.int32)
    q, k = torch.zeros(9, 4, 16), torch.zeros(9, 2, 16)
    kc, lse = torch.zeros(1, 2, 16), torch.zeros(4, 9)
    select = lambda **change: ops.nsa_select(
        q, kc, lse, cu, cmp, 9, **{**dict(block_length=8, block_stride=4, selection_length=8, selected=3), **change})
    cases = [
        ("q has head size 16 but k has 8", lambda: ops.dense_attention(q, k[..., :8], k, cu, 9)),
        ("q has 4 heads and k has 3", lambda: ops.dense_attention(q, torch.zeros(9, 3, 16), torch.zeros(9, 3, 16), cu, 9)),
        ("q is Double", lambda: ops.dense_attention(q.double(), k.double(), k.double(), cu, 9)),
        ("k is Half but q is Float", lambda: ops.dense_attention(q, k.half(), k, cu, 9)),
        ("q has 2 dimensions", lambda: ops.dense_attention(q[0], k, k, cu, 9)),
        ("cu_seqlens is Long", lambda: ops.dense_attention(q, k, k, cu.long(), 9)),
        ("cu_seqlens ends with 8", lambda: ops.dense_attention(q, k, k, cu - torch.tensor([0, 1], dtype=torch.int32), 9)),
        ("cu_seqlens is not contiguous", lambda: ops.dense_attention(q, k, k, torch.tensor([0, 5, 9, 5], dtype=torch.int32)[::2], 9)),
        ("max_seqlen is 5", lambda: ops.dense_attention(q, k, k, cu, 5)),
        ("max_seqlen is 4611686018427387904 and must be at most", lambda: ops.dense_attention(q, k, k, cu, 2**62)),
        ("window is 2147483648 and must be at most", lambda: ops.nsa_window_attention(q, k, k, cu, 9, 2**31)),
        ("cu_seqlens starts with 1", lambda: ops.compressed_offsets(cu + 1, 4, 2)),
        ("cu_seqlens falls after entry 1", lambda: ops.compressed_offsets(torch.tensor([0, 5, 3], dtype=torch.int32), 4, 2)),
        ("must not decrease", lambda: ops.dense_attention(q, k, k, torch.tensor([0, 10, 9], dtype=torch.int32), 10)),
        ("window is -1", lambda: ops.nsa_window_attention(q, k, k, cu, 9, -1)),
        ("block_stride is 16", lambda: select(block_stride=16)),
        ("block_length is 0", lambda: select(block_length=0)),
        ("block_stride = 3 must divide", lambda: ops.nsa_select(
            q, kc, lse, cu, cmp, 9, block_length=8, block_stride=3, selection_length=8, selected=3)),
        ("selected is 2", lambda: select(selected=2)),
        ("selection_length is 0", lambda: select(selection_length=0)),
        (r"lse has shape \[9, 4\] and must have \[4, 9\]", lambda: ops.nsa_select(
            q, kc, lse.t(), cu, cmp, 9, block_length=8, block_stride=4, selection_length=8, selected=3)),
        ("lse is Double", lambda: ops.nsa_select(
            q, kc, lse.double(), cu, cmp, 9, block_length=8, block_stride=4, selection_length=8, selected=3)),
        (r"cu_cmp\[1\] is 1 and must be 2", lambda: ops.nsa_compressed_attention(
            q, kc, kc, torch.tensor([0, 9], dtype=torch.int32), cmp, 9, 4, 4)),
        ('gate_mode is "tanh"', lambda: ops.nsa_combine(q, q, q, torch.zeros(9, 2, 3), "tanh")),
        ("gate_logits has shape", lambda: ops.nsa_combine(q, q, q, torch.zeros(9, 3, 3))),
        ("weight has shape", lambda: ops.rms_norm(q, torch.ones(8))),
        ("rstd is Double", lambda: ops.rms_norm_backward(q, q, torch.ones(16), torch.ones(36).double())),
        (r"rstd is Float with strides \[2\]", lambda: ops.rms_norm_backward(q, q, torch.ones(16), torch.ones(72)[::2])),
        (r"added has shape \[9, 2, 16\] and must have \[9, 4, 16\]", lambda: ops.residual_norm(q, k, torch.ones(16))),
        ("weight has shape", lambda: ops.residual_norm(q, q, torch.ones(8))),
        ("hidden has shape .* flatten", lambda: ops.linear_cross_entropy(q, kc[0], torch.zeros(9).long())),
        (r"weight has shape \[2, 16\] and must have \[V, 4\]", lambda: ops.linear_cross_entropy(q[0, :, :4], kc[0], torch.zeros(4).long())),
        ("weight is Half but hidden is Float", lambda: ops.linear_cross_entropy(q[0], kc[0].half(), torch.zeros(4).long())),
        ("targets is Int; pass int64", lambda: ops.linear_cross_entropy(q[0], kc[0], torch.zeros(4, dtype=torch.int32))),
        (r"targets has shape \[3\] and must have \[4\]", lambda: ops.linear_cross_entropy(q[0], kc[0], torch.zeros(3).long())),
        (r"targets\[1\] is 2 and weight has 2 rows; pass 0 to 1, or ignore_index = -100",
         lambda: ops.linear_cross_entropy(q[0], kc[0], torch.tensor([1, 2, 0, 0]))),
        (r"targets\[0\] is -1 ", lambda: ops.linear_cross_entropy(q[0], kc[0], torch.tensor([-1, 2, 0, 0]))),
        ('reduction is "max"', lambda: ops.linear_cross_entropy(q[0], kc[0], torch.zeros(4).long(), reduction="max")),
        ("ignore_index is 4294967296", lambda: ops.linear_cross_entropy(q[0], kc[0], torch.zeros(4).long(), 1 << 32)),
        ("only swiglu takes a gate", lambda: ops.mlp_activation(q, "silu", q)),
        ("swiglu takes a gate", lambda: ops.mlp_activation(q, "swiglu")),
        ('kind is "gelu"', lambda: ops.mlp_activation(q, "gelu")),
        ("dim is 3", lambda: ops.rope_table(9, 3)),
        ("cos has 5 positions", lambda: ops.rope(q, *ops.rope_table(5, 16), cu, 9)),
    ]
    for pattern, call in cases:
        with subtests.test(pattern):
            with pytest.raises(ValueError, match="tessera::.*" + pattern):
                call()


def test_rows_of_tiles_that_share_lists():
    """A tile holds four tokens, or two where four have more than 32 rows; 64 rows where a sequence has few blocks. A list has an entry for each
    selected block of each token of its tile."""
    def tokens(length, group):
        indices = torch.zeros(1, length, 4, dtype=torch.int32)
        return ops.nsa_block_lists(indices, ref.Packing([length]).cu, length, 8, group)[0].shape[-1] // 4

    assert [tokens(8 * 13, group) for group in (1, 4, 6, 8, 16, 32)] == [16, 4, 5, 4, 2, 2]
    assert [tokens(8 * 12, group) for group in (4, 6, 16, 32)] == [16, 10, 4, 2]
