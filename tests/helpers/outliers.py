# tests/helpers/outliers.py - the rule that finds single wrong elements of a result, which an RMS error over all elements hides.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""docs/numerics.md, "Single elements", says why. support/Outliers.h has the same rule for C++."""
import torch

FACTOR = 6


def bounds(want, limit, floor=0.0):
    """The largest difference from each finite element of `want`, as float64; the RMS error of all is at most `limit` times the RMS of
    `want`. `floor`: the least RMS that counts as that of `want`; where both are 0, differences are absolute."""
    want = want.detach().double().cpu()
    finite = torch.isfinite(want)
    squares = torch.where(finite, want, 0.0).square()
    size = max((squares.sum() / finite.sum().clamp(min=1)).sqrt().item(), floor) or 1.0
    if want.dim():  # the root mean square of the row of each element, if it is larger
        size = (squares.sum(-1, keepdim=True) / finite.sum(-1, keepdim=True).clamp(min=1)).sqrt().clamp(min=size)
    return FACTOR * limit * (size + want.abs())


def outliers(got, want, limit, floor=0.0):
    """Which elements of `got` are wrong. `limit` and `floor`: as bounds."""
    got, want = got.detach().double().cpu(), want.detach().double().cpu()
    near = (got - want).abs() <= bounds(want, limit, floor)
    same = (got == want) | (got.isnan() & want.isnan())
    return ~torch.where(torch.isfinite(want), near, same)


def outlier_text(got, want, limit, floor=0.0):
    """"" if no element is wrong, else the first wrong element."""
    wrong = outliers(got, want, limit, floor).nonzero()
    if not len(wrong):
        return ""
    at = tuple(wrong[0].tolist())
    return (f"element {list(at)} is {got[at].item():.6g}, not {want[at].item():.6g} "
            f"({len(wrong)} of {want.numel()} elements are off by more than rounding)")


def close_enough(got, want, limit, floor=0.0):
    """"" if the relative RMS error is at most the limit and no element is wrong, else what is wrong."""
    got, want = got.detach().double().cpu(), want.detach().double().cpu()
    if got.shape != want.shape:
        return f"shape {tuple(got.shape)} instead of {tuple(want.shape)}"
    finite = torch.isfinite(want) & torch.isfinite(got)
    if finite.any():
        size = max(want[finite].square().mean().sqrt().item(), floor) or 1.0
        error = (got - want)[finite].square().mean().sqrt().item() / size
        if not error <= limit:
            return f"relative RMS error {error:.2e}, limit {limit:.0e}; largest difference {(got - want)[finite].abs().max().item():.2e}"
    return outlier_text(got, want, limit, floor)
