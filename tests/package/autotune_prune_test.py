# tests/package/autotune_prune_test.py - how many configurations autotune times: top_k as a number and as a share, as in Triton.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0

import pytest
import torch

import tessera
import tessera.language as tl

SIZES = (16, 64, 32, 128, 256)


def fill_kernel(pre_hook, prune):
    """A kernel with a configuration for each size, and the list that gets an entry for each that is timed."""
    calls = []

    def clock(fn, quantiles):
        calls.append(None)
        fn()
        return [1.0] * len(quantiles)

    @tessera.autotune([tessera.Config({"BLOCK": size}, pre_hook=pre_hook) for size in SIZES], key=["n"], prune_configs_by=prune,
                      do_bench=clock)
    @tessera.jit
    def fill(OUT, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(OUT + at, 1.0, mask=at < n)

    return fill, calls


def timed(prune):
    """The sizes of the configurations that are timed, in this order, or of the only one; the model predicts that the largest is the fastest."""
    order = []
    fill_kernel(lambda args: order.append(args["BLOCK"]), prune)[0][(1,)](torch.zeros(16), 16)
    assert order[-1] == order[0]  # the launch itself, of the first of equal times
    return order[:-1] if len(order) > 1 else order


def largest_first(BLOCK, **rest):
    return -BLOCK


def expect(sizes, **prune):
    assert timed({"perf_model": largest_first, **prune}) == list(sizes)


def test_a_number():
    expect([256, 128], top_k=2)
    expect([256], top_k=1)


def test_a_share():
    expect([256, 128], top_k=0.4)
    expect([256, 128], top_k=0.59)  # rounded down
    expect([256, 128, 64], top_k=0.6)
    expect([256], top_k=0.1)        # at least one
    expect([256], top_k=0.0)


def test_all_of_them_keep_their_order():
    for top in (1.0, 5, 9):
        expect(SIZES, top_k=top)
    expect(SIZES)


def test_a_share_counts_what_early_pruning_left():
    early = lambda configs, named, **kwargs: [c for c in configs if c.kwargs["BLOCK"] <= 64]
    expect([64], early_config_prune=early, top_k=0.4)   # 1 of 3, not 2 of 5
    expect([64, 32], early_config_prune=early, top_k=0.67)


def test_one_that_is_left_is_not_timed():
    fill, calls = fill_kernel(lambda args: None, {"perf_model": largest_first, "top_k": 1})
    fill[(1,)](torch.zeros(16), 16)
    assert fill.best_config.kwargs == {"BLOCK": 256}
    assert not calls


def test_what_is_no_number():
    for top in (1.5, -1, 0, "2", True):
        with pytest.raises(TypeError, match=f"kernel `fill`: top_k of prune_configs_by is {top!r}\nHINT"):
            timed({"perf_model": largest_first, "top_k": top})
