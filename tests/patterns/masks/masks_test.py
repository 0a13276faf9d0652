# tests/patterns/masks/masks_test.py - random patterns through the op: a fixed range of seeds, and functions that were wrong once.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import mask_case  # noqa: E402

PARAMETERS = {"near": 5, "far": 5, "low": -7, "flag": False, "other": True, "ratio": 0.5, "mode": "left"}
HEAD = f"""import triton
import triton.language as tl


@triton.jit
def half(x: tl.constexpr):
    return x // 2


# tessera: pattern({", ".join(f"{name}={value!r}" for name, value in PARAMETERS.items())})
# tessera: per_sequence(prefix=i32)
@triton.jit
def sees(t, pos, prefix, {", ".join(name + ": tl.constexpr" for name in PARAMETERS)}):
"""


def case_of(body, **overrides):
    text = HEAD + "".join(f"    {line}\n" for line in body)
    return mask_case.Case(text, {**PARAMETERS, **overrides}, overrides, {"prefix": [9, 0, 1, 33]}, [40, 0, 1, 70], 2, 1)


def check(folder, body):
    case = case_of(body)
    assert not (wrong := mask_case.run(case, folder)), f"{wrong}\n{case.describe()}"


@pytest.mark.parametrize("seed", [*range(12), 20])  # 20: 16 runs of a long rule
def test_random_pattern(tmp_path, seed):
    case = mask_case.grow(seed)
    assert not (wrong := mask_case.run(case, tmp_path)), f"{wrong}\n{case.describe()}"


@pytest.mark.parametrize("tests", [
    ("flag", "near == far"), ("near != far", "near < far"), ("not other", "not (near > far)"), ("flag and other", "flag or other"),
    ("ratio > 0.75", "ratio < 0.75"), ('mode == "right"', 'mode != "right"'), ("near + low > 0", "low // 2 == -4"), ("flag == other", "flag != other"),
], ids=lambda tests: tests[0])
def test_parameters_decide_between_results_of_different_shapes(tmp_path, tests):
    """Parameters are known at compile time: an arm that is not taken has no part in the result."""
    check(tmp_path, [f"if {tests[0]}:", "    return pos < prefix", f"if {tests[1]}:", "    x = pos", "else:", "    x = t - pos",
                     "return (x >= 3) & (x - t < 8)"])


@pytest.mark.parametrize("body", [
    ["return pos <= t + low // 2"], ["return pos <= t + low % 4 - 3"], ["x = low", "return pos <= t + x // 2"], ["x = -7", "return pos <= t + x // 2"],
    ["x: tl.constexpr = low", "return pos <= t + x // 2"], ["return pos <= t + half(low) // 2"], ["x = low", "x += 2", "return pos <= t + x % 3"],
    ["x = low", "return pos <= t + tl.cdiv(x, 3)"],
], ids=lambda body: "; ".join(body))
def test_divisions_of_negative_numbers(tmp_path, body):
    """Those of parameters round down, as in Python. A name or a `return` makes a number of the run time, whose divisions truncate."""
    check(tmp_path, body)


@pytest.mark.parametrize("body", [
    ["x = other", "return (pos <= t) & ~x"], ["x = near < far", "return (pos <= t) & ~x"], ["x = flag", "x = ~x", "return (pos <= t) & x"],
    ["return (pos <= t) & ~(prefix > 5)"], ["return (pos <= t) | ~(prefix < 5)"], ["x = prefix < 5", "return (pos <= t) & (~x | flag)"],
], ids=lambda body: "; ".join(body))
def test_inverted_truth_values_of_the_run_time(tmp_path, body):
    check(tmp_path, body)


@pytest.mark.parametrize("body", [
    ["return (pos < 0) & (t > near)"], ["return pos > pos + near"], ["return flag"], ["if flag:", "    return pos <= t", "return False"],
    ["return pos > t + near"], ["return pos >= t"], ["return other"], ["return pos // low >= t // low"], ["return (t - pos) % low == 0"],
], ids=lambda body: "; ".join(body))
def test_unusual_masks(tmp_path, body):
    """They show no key, later keys alone, or all keys; divisors are negative."""
    check(tmp_path, body)


@pytest.mark.parametrize("expression, message", [
    ("pos <= t + 8 // near", "`sees` divides by 0"), ("pos <= t + 8 % near", "`sees` divides by 0"),
    ("pos + (near + 1) * 3000000000 <= t", "does not fit int32"), ("pos <= t + 99999999999999999999 + near", "does not fit 64 bits"),
])
def test_values_of_parameters_that_have_no_result_are_refused(tmp_path, expression, message):
    wrong = mask_case.run(case_of([f"return {expression}"], near=0), tmp_path)
    assert wrong.startswith("refused") and message in wrong and "mask_0.py:" in wrong, wrong


@pytest.mark.parametrize("body", [
    "(t - pos < far) & ((t - pos < far) | (pos < far))", "(pos <= t) & (t - pos < far) & ((t - pos < far) | (pos < far))",
    "(t - pos < far) & (t < near) & (pos < far)", "(t - pos <= far) & (pos <= near)", "(t - pos >= far) & (pos >= near)",
    "((t - pos <= far) & (pos <= near)) | (pos == 3)", "(pos <= t) & ((t - pos < far) | (pos < near))",
    "(pos <= t) & (t - pos < far) & ((t + pos < far) | (pos < near))",
], ids=str)
@pytest.mark.parametrize("far, near", [(1 << 30, 1 << 30), (-1 << 30, -1 << 30), (1 << 30, 7), (-1 << 30, 1 << 30)])
def test_sums_of_large_parameters(tmp_path, body, far, near):
    """Conditions on parameters imply others, whose sums of parameters do not fit int32."""
    case = case_of([f"return {body}"], far=far, near=near)
    assert not (wrong := mask_case.run(case, tmp_path)), f"{wrong}\n{case.describe()}"
