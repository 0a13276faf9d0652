# tests/patterns/op_test.py - patterns from Python: the op with gradients against attention under a mask in fp64.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import os

import pytest
import torch
from outliers import outlier_text

torch.ops.load_library(os.environ["LIBTESSERA_TORCH"])
ops = torch.ops.tessera
LENGTHS, H, G, D, E = [33, 0, 90, 1], 2, 3, 16, 24


def positions(length):
    t = torch.arange(length)
    return t[:, None], t[None, :]


def causal(t, pos):
    return pos <= t


CASES = {
    "dense": ("", causal),
    "window": ("window=20", lambda t, pos: (pos <= t) & (t - pos < 20)),
    "sink_window": ("window=16, first=2", lambda t, pos: (pos <= t) & ((t - pos < 16) | (pos < 2))),
    "strided": ("local=5, stride=7", lambda t, pos: (pos <= t) & ((t - pos < 5) | ((t - pos) % 7 == 0))),
    "fixed": ("block=16, summary=3", lambda t, pos: (pos <= t) & ((pos // 16 == t // 16) | (pos % 16 >= 13))),
    "block_causal": ("block=12", lambda t, pos: pos // 12 <= t // 12),
    "prefix_lm": ("", lambda t, pos, prefix: (pos <= t) | (pos < prefix)),
    "softcap": ("cap=2.5", causal),
    "alibi": ("", causal),
}
LEARNED = {"sink_window": "SINK", "alibi": "SLOPE"}
PREFIXES = [7, 5, 65, 1]


def reference(name, q, k, v, learned, prefixes=PREFIXES):
    """fp64 attention under a mask, one sequence after the other; learned is [tokens, 1, heads] or None."""
    outputs, start = [], 0
    for length, prefix in zip(LENGTHS, prefixes):
        part = slice(start, start + length)
        start += length
        t, pos = positions(length)
        scores = torch.einsum("thd,shd->hts", q[part], k[part].repeat_interleave(G, 1)) / D ** 0.5
        if name == "softcap":
            scores = 2.5 * torch.tanh(scores / 2.5)
        if name == "alibi":
            scores = scores - learned[part, 0].T[:, :, None] * (t - pos)
        shown = CASES[name][1](t, pos, *([prefix] if name == "prefix_lm" else []))
        scores = scores.masked_fill(~shown, float("-inf"))
        if name == "sink_window":
            scores = torch.cat([scores, learned[part, 0].T[:, :, None]], 2)
        outputs.append(torch.einsum("hts,she->the", scores.softmax(-1)[:, :, :length], v[part].repeat_interleave(G, 1)))
    return torch.cat(outputs)


def inputs(name):
    generator = torch.Generator().manual_seed(3)
    tokens = sum(LENGTHS)
    made = [torch.randn(s, generator=generator) for s in [(tokens, H * G, D), (tokens, H, D), (tokens, H, E)]]
    if name in LEARNED:
        made.append(torch.rand(tokens, 1, H * G, generator=generator) * 0.3)
    return made


def values(prefixes):
    return torch.tensor([prefixes], dtype=torch.int32)


def attention(name, tensors, constexprs):
    ends = torch.tensor([0, *LENGTHS]).cumsum(0).to(torch.int32)
    return ops.custom_attention(*tensors[:3], ends, max(LENGTHS), f"kernels/patterns/{name}.py", name, name + "_bwd", constexprs, None,
                                tensors[3] if len(tensors) > 3 else None, LEARNED.get(name, ""),
                                *((values(PREFIXES), "PREFIX") if name == "prefix_lm" else ()))


@pytest.mark.parametrize("dtype, limit", [(torch.float32, 1e-5), (torch.bfloat16, 5e-3)], ids=["fp32", "bf16"])
@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name, dtype, limit):
    tensors = inputs(name)
    mine = [t.to(dtype).requires_grad_() for t in tensors[:3]] + [t.clone().requires_grad_() for t in tensors[3:]]
    wide = [t.detach().double().requires_grad_() for t in mine]
    o, _ = attention(name, mine, CASES[name][0])
    want = reference(name, *wide[:3], wide[3] if name in LEARNED else None)
    assert not outlier_text(o, want, limit)
    assert (o.detach().double() - want.detach()).norm() <= limit * want.detach().norm()
    weights = torch.randn(want.shape, generator=torch.Generator().manual_seed(4)).to(dtype)
    got = torch.autograd.grad((o * weights).sum(), mine)
    expected = torch.autograd.grad((want * weights).sum(), wide)
    for which, a, b in zip(["q", "k", "v", "learned"], got, expected):
        assert not outlier_text(a, b, limit), which
        assert (a.double() - b).norm() <= limit * b.norm(), which


@pytest.mark.parametrize("prefixes", [[0, 0, 0, 0], [1, 0, 1, 1], [33, 9, 90, 1], [99, 99, 99, 99], [32, 0, 63, 0], [0, 3, 64, 1]], ids=str)
def test_a_prefix_of_each_sequence(prefixes):
    """By the op of patterns; prefixes end before, at and after tiles and sequences."""
    mine, wide = ([x.to(dtype).requires_grad_() for x in inputs("prefix_lm")] for dtype in (torch.float32, torch.float64))
    ends = torch.tensor([0, *LENGTHS]).cumsum(0).to(torch.int32)
    o, lse, indices, loss = ops.attention(*mine, ends, max(LENGTHS), "kernels/patterns/prefix_lm.py", per_sequence=values(prefixes))
    want = reference("prefix_lm", *wide, None, prefixes)
    assert not outlier_text(o, want, 1e-5) and indices.numel() == loss.numel() == 0
    for a, b in zip(torch.autograd.grad(o.square().sum(), mine), torch.autograd.grad(want.square().sum(), wide)):
        assert not outlier_text(a, b, 1e-5)
        assert (a - b).norm() <= 1e-5 * b.norm()


def test_two_values_of_each_sequence(tmp_path):
    """They reach the kernels by their names, in any order of the rows of custom_attention, and in the file's order by attention."""
    path = tmp_path / "mine.py"
    path.write_text("""import triton


# tessera: per_sequence(prefix=i32, width=i32)
@triton.jit
def sees(t, pos, prefix, width):
    return (pos < prefix) | ((pos <= t) & (t - pos < width))
""")
    tensors = inputs("window")
    ends = torch.tensor([0, *LENGTHS]).cumsum(0).to(torch.int32)
    rows = torch.tensor([[7, 5, 65, 1], [3, 9, 20, 1]], dtype=torch.int32)
    o = ops.attention(*tensors, ends, max(LENGTHS), str(path), per_sequence=rows)[0]
    turned = ops.custom_attention(*tensors, ends, max(LENGTHS), str(path), "mine", "mine_bwd", "", None, None, "", rows.flip(0), "WIDTH, PREFIX")[0]
    assert torch.equal(o, turned)
    start = 0
    for length, prefix, width in zip(LENGTHS, *rows.tolist()):
        part, (t, pos) = slice(start, start + length), positions(length)
        start += length
        q, k, v = (x[part].double() for x in tensors)
        scores = torch.einsum("thd,shd->hts", q, k.repeat_interleave(G, 1)) / D ** 0.5
        scores = scores.masked_fill(~((pos < prefix) | ((pos <= t) & (t - pos < width))), float("-inf"))
        want = torch.einsum("hts,she->the", scores.softmax(-1), v.repeat_interleave(G, 1))
        assert length == 0 or not outlier_text(o[part], want, 1e-5)


def test_wrong_values_of_a_sequence_are_named():
    tensors, ends = inputs("prefix_lm"), torch.tensor([0, *LENGTHS]).cumsum(0).to(torch.int32)
    pattern = lambda name, given: ops.attention(*tensors, ends, max(LENGTHS), f"kernels/patterns/{name}.py", per_sequence=given)
    custom = lambda given, names, name="prefix_lm": ops.custom_attention(
        *tensors, ends, max(LENGTHS), f"kernels/patterns/{name}.py", name, name + "_bwd", "", None, None, "", given, names)
    for message, wrong in (
        ("takes 1 values of each sequence, and per_sequence is None", lambda: pattern("prefix_lm", None)),
        ("takes 0 values of each sequence, and per_sequence is a tensor", lambda: pattern("window", values(PREFIXES))),
        ("takes 0 values of each sequence, and per_sequence is a tensor", lambda: pattern("moba", values(PREFIXES))),
        ("per_sequence", lambda: pattern("prefix_lm", values(PREFIXES[1:]))),
        ("per_sequence", lambda: pattern("prefix_lm", values(PREFIXES).long())),
        ("go together", lambda: custom(values(PREFIXES), "", "window")),
        ("go together", lambda: custom(None, "PREFIX")),
        ("per_sequence has `prefix`", lambda: custom(values(PREFIXES), "prefix")),
        ("per_sequence has `CU`, which is passed already", lambda: custom(values(PREFIXES), "CU")),
        ("a parameter `PREFIX` that nothing is passed for", lambda: custom(values(PREFIXES), "PREFIXES")),
    ):
        with pytest.raises((ValueError, RuntimeError), match=message):
            wrong()


def test_gradients_are_the_same_in_every_run():
    def once():
        mine = [t.clone().requires_grad_() for t in inputs("alibi")]
        return torch.autograd.grad(attention("alibi", mine, "")[0].square().sum(), mine)

    first = once()
    for _ in range(3):
        assert all(torch.equal(a, b) for a, b in zip(first, once()))


def test_the_sum_of_a_row_with_a_sink_has_no_gradient():
    mine = [t.clone().requires_grad_() for t in inputs("sink_window")]
    _, lse = attention("sink_window", mine, "window=16, first=2")
    with pytest.raises(ValueError, match="kernels with a sink do not pass on"):
        lse.sum().backward()


def test_a_learned_number_does_not_receive_the_gradient_of_the_sum():
    """The correction of delta's error in kernels/attention/backward_q.py would remove it from the number's gradient without a message."""
    mine = [t.clone().requires_grad_() for t in inputs("alibi")]
    _, lse = attention("alibi", mine, "")
    with pytest.raises(ValueError, match="lse has a gradient, which a learned number of modify does not receive; use o alone"):
        lse.sum().backward()


@pytest.mark.parametrize("value", [float("inf"), -float("inf")])
def test_an_infinite_sink(value):
    """That of +inf takes all of the softmax, as 1e30 does in fp64, whose derivatives autograd knows; that of -inf takes nothing."""
    tensors = inputs("sink_window")
    tensors[3][:, :, 1] = value
    mine = [t.clone().requires_grad_() for t in tensors]
    o, _ = attention("sink_window", mine, "window=16, first=2")
    wide = [t.double().clamp(max=1e30).requires_grad_() for t in tensors]
    want = reference("sink_window", *wide)
    assert not outlier_text(o, want, 1e-5) and o[:, 1].any() == (value < 0)
    got, expected = (torch.autograd.grad(x.square().sum(), leaves) for x, leaves in ((o, mine), (want, wide)))
    assert not any(outlier_text(a, b, 1e-5) for a, b in zip(got, expected))


@pytest.mark.parametrize("value", [float("inf"), -float("inf"), 0.5])
def test_a_sink_in_rows_without_keys(tmp_path, value):
    """They have the output 0 and gradients of 0."""
    file = written(tmp_path, "# tessera: learned(sink=[Hq])\n@triton.jit\ndef sees(t, pos):\n    return pos + 20 < t\n")
    mine = [t.clone().requires_grad_() for t in inputs("window")]
    sink = torch.full((sum(LENGTHS), 1, H * G), value, requires_grad=True)
    ends = torch.tensor([0, *LENGTHS]).cumsum(0).to(torch.int32)
    o, _ = ops.custom_attention(*mine, ends, max(LENGTHS), file, "mine", "mine_bwd", "", None, sink, "SINK")
    rows = torch.cat([torch.arange(n) for n in LENGTHS]) <= 20
    gradients = torch.autograd.grad(o.square().sum(), [*mine, sink])
    assert not o[rows].any() and not gradients[0][rows].any() and not gradients[3][rows].any()
    assert all(g.isfinite().all() for g in gradients)


def test_wrong_parameters_are_named():
    tensors = inputs("window")
    with pytest.raises(ValueError, match="windw"):
        attention("window", tensors, "windw=4")
    with pytest.raises(ValueError, match="NAME=number"):
        attention("window", tensors, "window=wide")
    for text in ("window=4.5", "window=True"):
        with pytest.raises(ValueError, match="another type than its default 512"):
            attention("window", tensors, text)


def written(folder, text):
    path = folder / "mine.py"
    path.write_text("import triton\nimport triton.language as tl\n\n\n" + text)
    return str(path)


def call(file, tensors, constexprs=""):
    ends = torch.tensor([0, *LENGTHS]).cumsum(0).to(torch.int32)
    return ops.custom_attention(*tensors, ends, max(LENGTHS), file, "mine", "mine_bwd", constexprs)[0]


@pytest.mark.parametrize("window", [2**30, 2**31 - 1])
def test_large_integers_are_right_or_refused(window):
    """Bounds add a parameter and a position: 2^31 - 1 would overflow and hide keys."""
    mine, wide = ([t.to(dtype).requires_grad_() for t in inputs("window")] for dtype in (torch.float32, torch.float64))
    if window > 2**30:
        with pytest.raises(RuntimeError, match=r"window must be from -2\*\*30 to 2\*\*30"):
            attention("window", mine, f"window={window}")
        return
    got = torch.autograd.grad(attention("window", mine, f"window={window}")[0].square().sum(), mine)
    want = torch.autograd.grad(reference("dense", *wide, None).square().sum(), wide)
    assert all((a - b).norm() <= 1e-5 * b.norm() for a, b in zip(got, want))


def test_rows_whose_scores_are_all_minus_infinity(tmp_path):
    """They have the output 0 and gradients of 0, and leave other rows alone."""
    file = written(tmp_path, """# tessera: pattern()
@triton.jit
def modify(s, t, pos, head):
    return tl.where(t % 5 == 1, float("-inf"), s)
""")
    mine = [t.clone().requires_grad_() for t in inputs("window")]
    o = call(file, mine)
    rows = torch.cat([torch.arange(n) for n in LENGTHS]) % 5 == 1
    assert (o[rows] == 0).all() and (o[~rows] != 0).any()
    gradients = torch.autograd.grad(o.square().sum(), mine)
    assert all(g.isfinite().all() for g in gradients) and (gradients[0][rows] == 0).all()


def test_an_infinite_derivative_of_a_hidden_key_counts_for_nothing(tmp_path):
    file = written(tmp_path, """# tessera: pattern()
@triton.jit
def modify(s, t, pos, head):
    return s / (t - pos + 1)
""")
    mine = [t.clone().requires_grad_() for t in inputs("window")]
    gradients = torch.autograd.grad(call(file, mine).square().sum(), mine)
    assert all(g.isfinite().all() for g in gradients)


@pytest.mark.parametrize("rule", ["(t % 3 == pos % 3) & (t - pos < far)", "((t - pos) % 14 == 0) & (t - pos < far)"], ids=["residues", "every"])
@pytest.mark.parametrize("tiles", ["", "# tessera: tiles(BM=16, BN=16, RUN=4)\n"], ids=["tiles", "runs"])
@pytest.mark.parametrize("far", [-2**30, -70])
def test_a_range_that_begins_after_its_end_is_empty(tmp_path, rule, tiles, far):
    """The first visible key would be 2^30 tokens later: nothing is read there, and the output is 0."""
    file = written(tmp_path, f"{tiles}# tessera: pattern(far={far})\n@triton.jit\ndef sees(t, pos, far: tl.constexpr):\n"
                             f"    return (pos <= t) & {rule}\n")
    o = ops.pattern_decode(torch.randn(1, 1, 2, 16), torch.randn(1, 1, 65, 16), torch.randn(1, 1, 65, 16), 64, file, "")
    assert not o.any()
    q, k, v = (torch.randn(65, heads, 16, requires_grad=True) for heads in (2, 1, 1))
    o, lse, *_ = ops.attention(q, k, v, torch.tensor([0, 65], dtype=torch.int32), 65, file)
    assert not o.any() and (lse == -float("inf")).all()
    assert not any(g.any() for g in torch.autograd.grad(o.sum(), (q, k, v)))


FAR_PATTERN = """@triton.jit
def sees(t, pos, window: tl.constexpr, first: tl.constexpr):
    return (pos <= t) & ((t - pos < window) | (pos < first) | ((t - pos) % 200 == 0))
"""


def far(t, pos):
    return (pos <= t) & ((t - pos < 16) | (pos < 2) | ((t - pos) % 200 == 0))


def compare_under_a_mask(file, group, length, shown):
    """The op of a pattern's file against fp64 under the mask shown(t, pos), output and gradients."""
    generator = torch.Generator().manual_seed(8)
    tensors = [torch.randn(s, generator=generator) for s in [(length, group, 16), (length, 1, 16), (length, 1, 16)]]
    mine, wide = ([x.to(dtype).requires_grad_() for x in tensors] for dtype in (torch.float32, torch.float64))
    o = ops.attention(*mine, torch.tensor([0, length], dtype=torch.int32), length, str(file))[0]
    t, pos = positions(length)
    scores = torch.einsum("thd,sd->hts", wide[0], wide[1][:, 0]) / 4
    scores = scores.masked_fill(~shown(t, pos), float("-inf"))
    want = torch.einsum("hts,se->the", scores.softmax(-1), wide[2][:, 0])
    assert not outlier_text(o, want, 1e-5)
    for a, b in zip(torch.autograd.grad(o.square().sum(), mine), torch.autograd.grad(want.square().sum(), wide)):
        assert not outlier_text(a, b, 1e-5)
        assert (a - b).norm() <= 1e-5 * b.norm()


@pytest.mark.parametrize("rule, shown", [
    ("(t // per - pos // per <= far) & (pos <= t)", lambda t, pos, far, per: (t // per - pos // per <= far) & (pos <= t)),
    ("(pos // per <= far) & (pos <= t)", lambda t, pos, far, per: (pos // per <= far) & (pos <= t)),
    ("(pos // per >= -far) & (pos <= t)", lambda t, pos, far, per: (pos // per >= -far) & (pos <= t)),
    ("((t - pos) // per < far) & (pos <= t)", lambda t, pos, far, per: ((t - pos) // per < far) & (pos <= t)),
    ("((t - pos) // per > -far) & (pos <= t)", lambda t, pos, far, per: (torch.div(t - pos, per, rounding_mode="trunc") > -far) & (pos <= t)),
], ids=["blocks", "first", "least", "distance", "ahead"])
@pytest.mark.parametrize("far, per", [(2**30, 7), (2**30, 2**30), (3, 2**30), (2**30, 1), (2**28, 9), (2, 7)], ids=str)
def test_large_parameters_do_not_overflow_the_ranges(tmp_path, rule, shown, far, per):
    """2**30 means no limit: the derived ranges multiply a number of blocks, of which far is one, by the size per of a block."""
    text = f"# tessera: pattern(far={far}, per={per})\n@triton.jit\ndef sees(t, pos, far: tl.constexpr, per: tl.constexpr):\n    return {rule}\n"
    compare_under_a_mask(written(tmp_path, text), 1, 150, lambda t, pos: shown(t, pos, far, per))


@pytest.mark.parametrize("tiles", ["", "tiles(BM=16, BN=32)", "tiles(BM=64, BN=64, RUN=16)", "tiles(BM=16, BN=32, RUN=4)", "tiles(BM=32, BN=16, RUN=1)"])
def test_gaps_longer_than_32_tiles(tmp_path, tiles):
    """The kernels look at 32 tiles or runs of keys at a time: they find keys after a long gap, forward and backward."""
    directive = f"# tessera: {tiles}\n" if tiles else ""
    compare_under_a_mask(written(tmp_path, directive + "# tessera: pattern(window=16, first=2)\n" + FAR_PATTERN), 2, 1900, far)


@pytest.mark.parametrize("tiles, at", [("tiles(BM=16, BN=32, RUN=4)", 132), ("tiles(BM=64, BN=32)", 1056)], ids=["runs", "tiles"])
def test_the_first_candidate_of_the_second_search_is_seen(tmp_path, tiles, at):
    """The first keys fill a run or tile, the next 32 are hidden, and the one after them is visible."""
    text = (f"# tessera: {tiles}\n# tessera: pattern(at={at})\n@triton.jit\ndef sees(t, pos, at: tl.constexpr):\n"
            "    return (pos <= t) & ((t - pos < 8) | (pos < 4) | ((pos >= at) & (pos < at + 4)))\n")
    compare_under_a_mask(written(tmp_path, text), 2, 1200,
                         lambda t, pos: (pos <= t) & ((t - pos < 8) | (pos < 4) | ((pos >= at) & (pos < at + 4))))


@pytest.mark.parametrize("tiles, group", [("tiles(BM=16, BN=32, RUN=4)", 20), ("", 80)], ids=["runs", "default"])
def test_more_heads_than_a_tile_has_rows(tmp_path, tiles, group):
    directive = f"# tessera: {tiles}\n" if tiles else ""
    compare_under_a_mask(written(tmp_path, directive + "# tessera: pattern(window=16, first=2)\n" + FAR_PATTERN), group, 300, far)


def test_large_slopes_in_bf16():
    """A rounding of the output would appear in the gradient of a slope, multiplied by distances, without the correction for it."""
    tensors = inputs("alibi")
    mine = [t.bfloat16().requires_grad_() for t in tensors[:3]] + [(tensors[3] * 5 - 0.5).requires_grad_()]
    wide = [t.detach().double().requires_grad_() for t in mine]
    weights = torch.randn(sum(LENGTHS), H * G, E, generator=torch.Generator().manual_seed(4)).bfloat16()
    got, = torch.autograd.grad((attention("alibi", mine, "")[0] * weights).sum(), mine[3])
    want, = torch.autograd.grad((reference("alibi", *wide) * weights).sum(), wide[3])
    assert (got - want).norm() <= 1e-3 * want.norm()


def test_bools_and_texts_are_parameters(tmp_path):
    file = written(tmp_path, """# tessera: pattern(both=False, kind="near")
@triton.jit
def sees(t, pos, both: tl.constexpr, kind: tl.constexpr):
    if kind == "near":
        return (tl.abs(t - pos) < 8) & (both | (pos <= t))
    return pos == t
""")
    tensors = inputs("window")
    results = [call(file, tensors, text) for text in ("", "both=True", "kind=own", "both=true, kind=near")]
    assert torch.equal(results[1], results[3])
    assert not torch.equal(results[0], results[1]) and not torch.equal(results[0], results[2])
    values = tensors[2].repeat_interleave(G, 1)
    assert (results[2] - values).norm() <= 1e-6 * values.norm()


def test_an_integer_for_a_float():
    tensors = inputs("softcap")
    assert torch.equal(attention("softcap", tensors, "cap=3")[0], attention("softcap", tensors, "cap=3.0")[0])
