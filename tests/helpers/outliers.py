# tests/helpers/outliers.py - finds single wrong elements of a result, which an RMS error over all elements hides.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""docs/numerics.md, "Single elements", explains the rule. support/Outliers.h implements the same rule in C++."""
import torch

FACTOR = 6


def bounds(want, limit, floor=0.0):
    """Returns the largest allowed difference from each finite element of `want`, as float64, for results whose relative RMS error is at most
    `limit`. `floor` replaces a smaller RMS of `want`. If both are 0, the bounds are absolute."""
    want = want.detach().double().cpu()
    finite = torch.isfinite(want)
    squares = torch.where(finite, want, 0.0).square()
    size = max((squares.sum() / finite.sum().clamp(min=1)).sqrt().item(), floor) or 1.0
    if want.dim():  # use the RMS of the element's row if it is larger
        size = (squares.sum(-1, keepdim=True) / finite.sum(-1, keepdim=True).clamp(min=1)).sqrt().clamp(min=size)
    return FACTOR * limit * (size + want.abs())


def outliers(got, want, limit, floor=0.0):
    """Returns a bool tensor that is True for the wrong elements of `got`. `limit` and `floor` are those of bounds()."""
    got, want = got.detach().double().cpu(), want.detach().double().cpu()
    near = (got - want).abs() <= bounds(want, limit, floor)
    same = (got == want) | (got.isnan() & want.isnan())
    return ~torch.where(torch.isfinite(want), near, same)


def outlier_text(got, want, limit, floor=0.0):
    """Returns "" if no element is wrong, else a text about the first wrong element."""
    wrong = outliers(got, want, limit, floor).nonzero()
    if not len(wrong):
        return ""
    at = tuple(wrong[0].tolist())
    return (f"element {list(at)} is {got[at].item():.6g}, not {want[at].item():.6g} "
            f"({len(wrong)} of {want.numel()} elements are off by more than rounding)")


def close_enough(got, want, limit, floor=0.0):
    """Returns "" if shapes agree, the relative RMS error is at most `limit` and no element is wrong; else a text about the difference."""
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
