# tests/python/selected_attention_test.py - compares tessera::selected_attention with an fp64 reference, for all options and for invalid lists.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""CMake runs this file three times: the CPU's kernels on the CPU, the GPU's kernels compiled for the CPU (TESSERA_KERNELS_OF=gpu), and the
GPU's kernels on the simulator (TESSERA_DEVICE). With deterministic algorithms, torch.empty() fills memory with NaN or the largest integer.
An element that no kernel writes, or that is computed from memory that was not written, therefore differs from the reference."""
import os

import pytest
import selected_reference as ref
import torch
from outliers import close_enough

torch.ops.load_library(os.environ["LIBTESSERA_TORCH"])
torch.use_deterministic_algorithms(True)
ops = torch.ops.tessera

ON_GPU = os.environ.get("TESSERA_DEVICE", "cpu") != "cpu"
LIMITS = {torch.float32: 1e-5, torch.bfloat16: 1e-2}
# Block numbers that are not valid. For some of them, number * length or (number + 1) * length of a block overflows int32 and wraps to a
# position inside a valid block.
HOSTILE = torch.tensor([-1, -2, -2**26, -2**31, -2**31 + 1, 2**26, 2**27, 2**28, 2**29, 2**30, 2**31 - 1], dtype=torch.int64)
NAMES = ("o", "lse", "dq", "dk", "dv", "dsink", "dextra_k", "dextra_v")


def random_lists(shape, blocks, generator):
    """Returns int32 lists in random order. They repeat blocks and contain blocks after the query, blocks of the next sequence and invalid
    numbers."""
    some = torch.randint(-1, blocks + 3, shape, generator=generator)
    none = HOSTILE[torch.randint(len(HOSTILE), shape, generator=generator)]
    other = torch.rand(shape, generator=generator) < 0.25
    empty = torch.rand((*shape[:-1], 1), generator=generator) < 0.1
    return torch.where(other | empty, none, some).int()


class Case:
    """Inputs of one call. scope: "all", "key" or "query"; extra: keys of the second stream in each sequence."""

    def __init__(self, lengths=(33, 0, 1, 20), heads=4, key_heads=2, size=16, value_size=8, scope="key", block=16, count=3, window=0,
                 sink=False, extra=None, extra_length=4, extra_stride=3, dtype=torch.float32, scale=None, seed=0):
        self.generator = torch.Generator().manual_seed(seed)
        self.cu = torch.tensor([0, *lengths]).cumsum(0).int()
        tokens, self.longest, self.block, self.dtype = sum(lengths), max(lengths), block, dtype
        lists = {"all": 1, "key": key_heads, "query": heads}[scope]
        self.indices = random_lists((lists, tokens, count), -(-self.longest // block), self.generator)
        shapes = {"q": (tokens, heads, size), "k": (tokens, key_heads, size), "v": (tokens, key_heads, value_size)}
        self.options = {"window": window, "scale": scale}
        if sink:
            shapes["sink"] = (heads,)
        if extra is not None:
            shapes |= {"extra_k": (sum(extra), key_heads, size), "extra_v": (sum(extra), key_heads, value_size)}
            self.options |= {"extra_length": extra_length, "extra_stride": extra_stride}
        self.extra_cu = None if extra is None else torch.tensor([0, *extra]).cumsum(0).int()
        self.x = {name: self.leaf(name, shape) for name, shape in shapes.items()}

    def leaf(self, name, shape):
        numbers = torch.randn(shape, generator=self.generator)
        return numbers.to(torch.float32 if name == "sink" else self.dtype).requires_grad_()

    def call(self, x=None):
        q, k, v, *rest = (x or self.x).values()
        named = dict(zip(list(self.x)[3:], rest)) | self.options
        if self.extra_cu is not None:
            named["extra_cu_seqlens"] = self.extra_cu
        return ops.selected_attention(q, k, v, self.cu, self.longest, self.indices, self.block, **named)

    def want(self):
        """(o, lse) in fp64 and the leaves."""
        y = {name: x.detach().double().requires_grad_() for name, x in self.x.items()}
        q, k, v, *rest = y.values()
        named = dict(zip(list(y)[3:], rest)) | self.options
        return ref.attention(q, k, v, self.cu, self.indices, self.block, extra_cu=self.extra_cu, **named), list(y.values())

    def loss(self, o, lse):
        """A random projection of o and of the finite numbers of lse."""
        generator = torch.Generator().manual_seed(9)
        weight, other = torch.randn(o.shape, generator=generator), torch.randn(lse.shape, generator=generator)
        live = torch.isfinite(lse)
        return (o * weight.to(o.dtype)).sum() + (lse[live] * other[live].to(lse.dtype)).sum()

    def check(self, label=None):
        """Compares two calls bit by bit, and one with the reference; returns its results. label: printed on failure."""
        results = []
        for _ in range(2):                       # both runs must give the same bits
            o, lse = self.call()
            results.append((o, lse, *torch.autograd.grad(self.loss(o, lse), list(self.x.values()))))
        for name, a, b in zip(("o", "lse", *self.x), *results):
            assert torch.equal(a, b), (label, name, "two runs differ")
        (wo, wl), leaves = self.want()
        loss = self.loss(wo, wl)
        gradients = torch.autograd.grad(loss, leaves, allow_unused=True) if loss.requires_grad else [None] * len(leaves)
        want = (wo, wl, *(torch.zeros_like(y) if g is None else g for g, y in zip(gradients, leaves)))
        assert (o.dtype, lse.dtype) == (self.dtype, torch.float32)
        for name, a, b in zip(("o", "lse", *("d" + n for n in self.x)), results[0], want):
            a, b = a.detach().double(), b.detach().double()
            assert torch.equal(torch.isfinite(a), torch.isfinite(b)), (label, name, "what is finite differs")
            error = close_enough(a, b, LIMITS[self.dtype])
            assert error == "", (label, name, error)
        return results[0]


BLOCKS = (1, 4, 16, 32, 48, 64, 128)
SCOPES = ("all", "key", "query")


def some(cases):
    """All cases on the CPU; on other devices (simulated or real GPUs) some of them, because the simulator is slow."""
    return cases[::max(len(cases) // 3, 1)] if ON_GPU else cases


@pytest.mark.parametrize("block,scope", some([(b, s) for b in BLOCKS for s in SCOPES]))
def test_scopes_and_blocks(block, scope):
    Case(scope=scope, block=block, count=7 if block < 16 else 3, lengths=(70, 0, 1, 20) if block > 32 else (33, 0, 1, 20), seed=block).check()


@pytest.mark.parametrize("block,count,window,scope", some([(1, 1, 0, "all"), (1, 40, 9, "query"), (2, 20, 0, "key"), (3, 40, 5, "query"),
                                                           (5, 9, 0, "all"), (8, 9, 3, "key"), (9, 3, 0, "query")]))
def test_small_blocks(block, count, window, scope):
    """The op joins blocks of at most 8 tokens into super-blocks (kernels/attention/masks.py, picked_mask)."""
    Case(lengths=(50, 0, 1, 33), block=block, count=count, window=window, scope=scope, heads=6, size=24).check()


@pytest.mark.parametrize("block", (4, 16))
def test_more_heads_than_rows_of_a_tile(block):
    Case(lengths=(20,), heads=80, key_heads=2, block=block, scope="key", size=8, value_size=8).check()


@pytest.mark.parametrize("heads,key_heads,scope", some([(h, k, s) for h, k in ((2, 2), (2, 1), (6, 1), (16, 1), (12, 2)) for s in SCOPES]))
def test_groups(heads, key_heads, scope):
    Case(lengths=(21, 1), heads=heads, key_heads=key_heads, scope=scope, block=16, size=8, value_size=24).check()


@pytest.mark.parametrize("scope", some(SCOPES))
@pytest.mark.parametrize("block", some((4, 16, 64)))
def test_bfloat16(block, scope):
    Case(scope=scope, block=block, dtype=torch.bfloat16, window=5, sink=True, extra=(9, 2, 0, 4)).check()


@pytest.mark.parametrize("window", some((1, 7, 16, 1000, 2**62)))
@pytest.mark.parametrize("block,scope", some([(1, "query"), (16, "key"), (16, "query"), (48, "all")]))
def test_window_counts_a_key_once(window, block, scope):
    Case(window=window, block=block, scope=scope).check()


@pytest.mark.parametrize("scope", SCOPES)
def test_sink(scope):
    case = Case(scope=scope, sink=True)
    with torch.no_grad():
        case.x["sink"][0], case.x["sink"][1] = 30.0, -float("inf")      # head 0's sink has most of the probability, head 1's none
    case.check()


@pytest.mark.parametrize("scope", some(SCOPES))
def test_a_sink_of_infinity(scope):
    """A sink of +infinity has probability 1, so all keys have probability 0, and no gradient is NaN. The reference uses a sink of 1e30, for
    which autograd gives finite gradients."""
    case = Case(scope=scope, sink=True, window=4, extra=(9, 2, 0, 4))
    with torch.no_grad():
        case.x["sink"][1] = float("inf")
    o, lse = case.call()
    weight = torch.randn(o.shape, generator=case.generator)
    got = torch.autograd.grad((o * weight).sum(), list(case.x.values()))
    with torch.no_grad():
        case.x["sink"][1] = 1e30
    (want, sums), leaves = case.want()
    assert not o[:, 1].any()
    for name, a, b in zip(NAMES, (o, lse, *got), (want, sums, *torch.autograd.grad((want * weight).sum(), leaves))):
        assert close_enough(a.detach().double(), b.detach(), 1e-5) == "", name
    with torch.no_grad():
        case.x["sink"][1] = float("inf")
    o, lse = case.call()                         # lse has a gradient, too
    assert all(x.isfinite().all() for x in torch.autograd.grad(case.loss(o, lse), list(case.x.values())))


@pytest.mark.parametrize("window,sink,count", some([(0, False, 3), (0, True, 3), (6, False, 3), (6, True, 3), (0, False, 0), (6, True, 0)]))
def test_second_stream(window, sink, count):
    Case(extra=(40, 3, 5, 2), window=window, sink=sink, count=count, scope="query").check()


@pytest.mark.parametrize("extra,length,stride", some([((0, 0, 0, 0), 4, 3), ((9, 0, 1, 0), 1, 1), ((3, 0, 0, 2), 40, 1), ((5, 1, 1, 5), 8, 2**24)]))
def test_keys_of_the_second_stream(extra, length, stride):
    """The cases: no keys; fewer keys than the tokens could see; no visible key; keys that are far apart."""
    Case(extra=extra, extra_length=length, extra_stride=stride).check()


def test_no_stream():
    case = Case(count=0, sink=True)
    o, lse, *gradients = case.check()
    assert not o.any() and (lse == -float("inf")).all()
    assert not any(g.any() for g in gradients)


def test_rows_without_keys():
    case = Case(lengths=(40,), scope="query", sink=True)
    case.indices.fill_(-1)
    case.indices[:, 5] = 2                       # after the query
    case.indices[:, 39, 1] = 1
    o, lse, dq, *_ = case.check()
    assert not o[:39].any() and (lse[:, :39] == -float("inf")).all() and not dq[:39].any()


def test_no_tokens():
    case = Case(lengths=(0, 0), sink=True, window=3, extra=(2, 0))
    results = case.check()
    assert results[0].shape == (0, 4, 8) and results[1].shape == (4, 0)


def test_any_order_and_repetition():
    """Lists that name the same blocks, in any order and with repetitions, give the reference's result."""
    for names in ([0, 0, 3], [3, 0, -1], [-1, 3, 0], [3, 3, 0], [0, 5, 3]):            # block 5 is after the query
        case = Case(lengths=(64,), scope="query")
        case.indices[:] = torch.tensor(names, dtype=torch.int32)
        case.check(names)


def test_the_same_bits_as_nsa():
    case = Case(lengths=(70, 20), heads=6, block=32)
    q, k, v = case.x.values()
    assert all(torch.equal(a, b) for a, b in
               zip(case.call(), ops.nsa_selected_attention(q, k, v, case.indices, case.cu, case.longest, case.block)))


def test_strided_inputs():
    case = Case(scope="query", window=3, sink=True, extra=(9, 0, 1, 2))
    want = case.call()
    spread = {name: torch.stack((x.detach(), x.detach()), -1)[..., 0] for name, x in case.x.items()}
    assert all(torch.equal(a, b) for a, b in zip(case.call(spread), want))


def test_opcheck():
    for case in (Case(scope="query"), Case(window=4, sink=True, extra=(9, 0, 1, 2), dtype=torch.bfloat16)):
        x = case.x
        named = case.options | {n: x[n] for n in ("sink", "extra_k", "extra_v") if n in x}
        if case.extra_cu is not None:
            named["extra_cu_seqlens"] = case.extra_cu
        torch.library.opcheck(ops.selected_attention.default, (x["q"], x["k"], x["v"], case.cu, case.longest, case.indices, case.block), named)


def test_meta():
    case = Case(sink=True)
    q, k, v = (case.x[n].detach().to("meta") for n in "qkv")
    o, lse = ops.selected_attention(q, k, v, case.cu.to("meta"), case.longest, case.indices.to("meta"), case.block)
    want = case.call()
    assert [(x.shape, x.dtype, x.stride()) for x in (o, lse)] == [(x.shape, x.dtype, x.stride()) for x in want]


def test_autocast():
    """Queries, keys and values are narrowed; the sink is not; gradients have the types of the leaves."""
    case = Case(window=4, sink=True, extra=(9, 0, 1, 2))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        o, lse = case.call()
        gradients = torch.autograd.grad(o.sum(), list(case.x.values()))
    narrow = {n: x.detach() if n == "sink" else x.detach().bfloat16() for n, x in case.x.items()}
    assert all(torch.equal(a, b) for a, b in zip((o, lse), case.call(narrow)))
    assert (o.dtype, lse.dtype) == (torch.bfloat16, torch.float32)
    assert {g.dtype for g in gradients} == {torch.float32}


def test_double_backward_is_refused():
    case = Case()
    o, _ = case.call()
    with pytest.raises(NotImplementedError, match="double backward is not supported"):
        torch.autograd.grad(o.sum(), case.x["q"], create_graph=True)


WRONG = {
    "indices is Long; pass int32": lambda c: setattr(c, "indices", c.indices.long()),
    "indices has 3 lists for each token; pass 1, one for each key head \\(2\\) or one for each query head \\(4\\)":
        lambda c: setattr(c, "indices", c.indices[:1].repeat(3, 1, 1)),
    "indices has shape": lambda c: setattr(c, "indices", c.indices[:, 1:].contiguous()),
    "block is 129; pass the tokens of a block, 1 to 128": lambda c: setattr(c, "block", 129),
    "block is 0": lambda c: setattr(c, "block", 0),
    "window is -1 and must not be negative": lambda c: c.options.update(window=-1),
    "sink is Double; pass float32": lambda c: c.x.update(sink=c.x["sink"].double()),
    "sink has shape": lambda c: c.x.update(sink=c.x["sink"][:2]),
    "belong together": lambda c: setattr(c, "extra_cu", None),
    "extra_cu_seqlens ends with 12 but extra_k has 11 rows": lambda c: c.x.update(extra_k=c.x["extra_k"][1:], extra_v=c.x["extra_v"][1:]),
    "extra_k has shape": lambda c: c.x.update(extra_k=c.x["extra_k"][:, :1]),
    "extra_v has shape": lambda c: c.x.update(extra_v=c.x["extra_v"][:, :, :4]),
    "extra_k is BFloat16": lambda c: c.x.update(extra_k=c.x["extra_k"].bfloat16()),
    "extra_stride is 0": lambda c: c.options.update(extra_stride=0),
    "the last position that they reach must be below 2\\^30": lambda c: c.options.update(extra_stride=2**29),
    "extra_cu_seqlens falls from 9 to 8": lambda c: c.extra_cu.__setitem__(2, 8),
    "extra_cu_seqlens has shape": lambda c: setattr(c, "extra_cu", c.extra_cu[1:]),
}


@pytest.mark.parametrize("message", WRONG)
def test_wrong_arguments_are_refused(message):
    case = Case(sink=True, extra=(9, 0, 1, 2))
    WRONG[message](case)
    with pytest.raises(ValueError, match="tessera::selected_attention: .*" + message):
        case.call()
