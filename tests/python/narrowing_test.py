# tests/python/narrowing_test.py - float64 becomes a shorter float with one rounding.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Against exact rounding of fractions, to nearest even; by way of float32, a value just above the middle of two results would be rounded
twice."""
import fractions
import math

import pytest
import tessera
import tessera.language as tl
import torch

# TYPE -> torch's type, bits of the fraction, least exponent, largest number, does a larger one become it?
TYPES = {
    "float32": (torch.float32, 23, -126, float.fromhex("0x1.fffffep127"), False),
    "float16": (torch.float16, 10, -14, 65504.0, False),
    "bfloat16": (torch.bfloat16, 7, -126, float.fromhex("0x1.fep127"), False),
    "float8e4nv": (torch.float8_e4m3fn, 3, -6, 448.0, True),
    "float8e5": (torch.float8_e5m2, 2, -14, 57344.0, True),
}


@tessera.jit
def narrow(X, Y, Z, TYPE: tl.constexpr, N: tl.constexpr):
    """Y: converted; Z: by the store."""
    i = tl.program_id(0) * N + tl.arange(0, N)
    x = tl.load(X + i)
    tl.store(Y + i, x.to(TYPE))
    tl.store(Z + i, x)


def rounded(x, bits, least, largest, saturates):
    if math.isnan(x) or x == 0 or (math.isinf(x) and not saturates):
        return x
    if math.isinf(x):
        return math.copysign(largest, x)
    exact = abs(fractions.Fraction(x))
    exponent = max(math.frexp(x)[1] - 1, least)
    unit = fractions.Fraction(2) ** (exponent - bits)
    result = round(exact / unit) * unit  # Python rounds halves to even.
    if result > largest:
        result = largest if saturates else math.inf
    return math.copysign(float(result), x)


def values(bits, least, largest):
    found = [0.0, -0.0, math.inf, -math.inf, math.nan, largest, 5e-324, 1e-310, 1.7e308]
    for exponent in (0, 1, 5, least, least - 1, least - bits, least - bits - 1, math.frexp(largest)[1] - 1):
        for count in (0, 1, 2, 3, 2 ** bits - 2, 2 ** bits - 1):
            middle = 1 + (count + 0.5) / 2 ** bits
            for tail in (0, 2.0 ** -(bits + 3), 2.0 ** -25, 2.0 ** -30, 2.0 ** -45, 2.0 ** -51):
                found += [math.ldexp(sign * (middle + side * tail), exponent) for sign in (1, -1) for side in (1, -1)]
    generator = torch.Generator().manual_seed(1)
    found += (torch.randn(1024, generator=generator, dtype=torch.float64) * 2.0 ** torch.randint(-20, 20, (1024,), generator=generator)).tolist()
    return found + [0.0] * (-len(found) % 64)


@pytest.mark.parametrize("kind", TYPES)
def test_one_rounding(kind):
    dtype, bits, least, largest, saturates = TYPES[kind]
    numbers = values(bits, least, largest)
    x = torch.tensor(numbers, dtype=torch.float64)
    converted, stored = (torch.zeros(len(x), dtype=dtype) for _ in range(2))
    narrow[(len(x) // 64,)](x, converted, stored, TYPE=getattr(tl, kind), N=64)
    for result in (converted, stored):
        for number, got in zip(numbers, result.double().tolist()):
            want = rounded(number, bits, least, largest, saturates)
            same = math.isnan(got) if math.isnan(want) else got == want and math.copysign(1, got) == math.copysign(1, want)
            assert same, f"{number.hex()} became {got}, not {want}"
