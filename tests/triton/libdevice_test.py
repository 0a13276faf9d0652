# tests/triton/libdevice_test.py - every function of libdevice against mpmath, torch, or integers of Python.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""TESSERA_DEVICE names the device. The errors of functions of floats are printed: pytest -rP shows them.

Floats are compared in units of the last place of the exact result, which mpmath computes with 40 digits; NaN and
infinities must agree. Rounded arithmetic and integers are compared bit by bit with Python's exact numbers."""
import fractions
import functools
import math
import random
import struct

import mpmath
import pytest
from compiled import torch
from repository import ROOT

FILE = str(ROOT / "tests/triton/beyond/kernels.py")
N = 256
CASES = []  # of test_function: the comparisons that the calls of real() and exact() below describe
inf, nan = math.inf, math.nan
mpmath.mp.dps = 40
F32, F64 = torch.float32, torch.float64


def case(compare):
    """A function that appends a call of `compare` to CASES instead of making it."""
    def append(name, *arguments, **options):
        CASES.append(pytest.param(functools.partial(compare, name, *arguments, **options), id=name))
    return append


def launch(name, inputs, out):
    """The function applied to N elements of each input."""
    constexprs = f'N={N},NAME="{name}"'
    torch.ops.tessera.launch(FILE, f"k_call{len(inputs)}", [*inputs, out], [], [1], constexprs)
    return out.tolist()


def unit(value, dtype):
    """The distance of neighbours at a number that mpmath holds."""
    digits, least = (23, -126) if dtype == F32 else (52, -1022)
    exponent = least if value == 0 else max(least, int(mpmath.floor(mpmath.log(abs(value), 2))))
    return mpmath.mpf(2) ** (exponent - digits)


def distance(got, want, dtype):
    """In units of the last place; infinite for a wrong NaN or infinity."""
    largest = mpmath.mpf(3.4028236e38 if dtype == F32 else 1.7976931348623158e308)
    if isinstance(want, float) and (math.isnan(want) or math.isinf(want)):
        return 0 if (math.isnan(want) and math.isnan(got)) or got == want else inf
    want = mpmath.mpf(want)
    if abs(want) > largest:
        return 0 if math.isinf(got) and (got > 0) == (want > 0) else inf
    if math.isnan(got) or math.isinf(got):
        return 0 if abs(want) > largest * (1 - mpmath.mpf(2) ** -22) and not math.isnan(got) else inf
    return float(abs(mpmath.mpf(got) - want) / unit(want, dtype))


def numbers(low, high, dtype, seed, extra=()):
    """Uniform between the bounds, with the edges that functions stumble over in front."""
    g = torch.Generator().manual_seed(seed)
    x = torch.rand(N, generator=g, dtype=F64) * (high - low) + low
    edges = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, inf, -inf, nan, 1e-30, -1e-30, 1e-9, 3e-5, -3e-5, 0.1, *extra]
    x[: len(edges)] = torch.tensor(edges, dtype=F64)
    return x.to(dtype)


@case
def real(name, want, limit, *bounds, dtype=F32, extra=(), within=lambda *x: True):
    """A function of floats; `bounds` is a (low, high) for each argument."""
    inputs = [numbers(low, high, dtype, 7 + i, extra) for i, (low, high) in enumerate(bounds)]
    for i, x in enumerate(inputs):
        if i:  # pair every edge with others
            x[:34] = x[:34].roll(5 * i)
    got = launch(name, inputs, torch.full((N,), -7.0, dtype=dtype))
    largest, at = 0.0, None
    for n, values in enumerate(zip(*[x.tolist() for x in inputs])):
        if not within(*values):
            continue
        error = distance(got[n], want(*values), dtype)
        if at is None or error > largest:
            largest, at = error, (values, got[n], want(*values))
    print(f"{name} {dtype}: {largest:.2f} ulp")
    assert largest <= limit, f"{largest:.3g} ulp at {at[0]}: {at[1]}, not {mpmath.nstr(mpmath.mpf(at[2]), 17)}"


def guarded(function, special=None):
    """mpmath's function with NaN for NaN and a table of what else it has no value for."""

    def call(*values):
        if special:
            known = special(*values)
            if known is not None:
                return known
        if any(math.isnan(v) for v in values):
            return nan
        result = function(*[mpmath.mpf(v) for v in values])
        return nan if isinstance(result, mpmath.mpc) else result

    return call


def tail(x):
    """The inverse of erfc; 1 - x needs the digits of x."""
    with mpmath.workdps(100):
        return mpmath.erfinv(1 - x)


def odd_infinity(x):
    return x if math.isinf(x) else None


def floats(dtype, add):
    """The functions that both types have; add: 1 for float64, whose last place mpmath sees more exactly."""
    big = 88.0 if dtype == F32 else 709.0
    real("sinh", guarded(mpmath.sinh, odd_infinity), 4, (-big, big), dtype=dtype, extra=(89.1, -89.1, 89.5))
    real("cosh", guarded(mpmath.cosh, lambda x: abs(x) if math.isinf(x) else None), 4, (-big, big), dtype=dtype,
         extra=(89.1, -89.1, 89.5))
    real("tanh", guarded(mpmath.tanh, lambda x: math.copysign(1, x) if math.isinf(x) else None), 3, (-6, 6), dtype=dtype)
    real("asinh", guarded(mpmath.asinh, odd_infinity), 4, (-30, 30), dtype=dtype, extra=(1e10, -1e30))
    real("acosh", guarded(mpmath.acosh, lambda x: inf if x == inf else nan if x < 1 else None), 4, (1, 30), dtype=dtype,
         extra=(1.0001, 1e10, 1e30))
    real("atanh", guarded(mpmath.atanh, lambda x: math.copysign(inf, x) if abs(x) == 1 else nan if abs(x) > 1 else None),
         4, (-1, 1), dtype=dtype)
    real("log1p", guarded(mpmath.log1p, lambda x: inf if x == inf else -inf if x == -1 else nan if x < -1 else None), 3,
         (-1, 4), dtype=dtype, extra=(1e-7, -1e-7, 1e10, 1e30, -0.9999999, 0.41, -0.29))
    real("expm1", guarded(mpmath.expm1, lambda x: inf if x == inf else -1.0 if x == -inf else None), 3, (-5, 20),
         dtype=dtype, extra=(1e-7, -1e-7, 88.5, 88.72, -50.0, -1000.0, 0.34, -0.34))
    real("exp10", guarded(lambda x: mpmath.mpf(10) ** x, lambda x: inf if x == inf else 0.0 if x == -inf else None), 4,
         (-37, 38), dtype=dtype)
    real("log10", guarded(mpmath.log10, lambda x: inf if x == inf else -inf if x == 0 else nan if x < 0 else None), 5,
         (2, 1000), dtype=dtype)
    real("cbrt", guarded(lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)), odd_infinity), 1 + add, (-1e3, 1e3), dtype=dtype,
         extra=(1e-40, -1e30, 27.0))
    real("rcbrt", guarded(lambda x: 1 / (mpmath.sign(x) * mpmath.cbrt(abs(x))),
                          lambda x: math.copysign(inf, x) if x == 0 else math.copysign(0, x) if math.isinf(x) else None),
         2 + add, (-1e3, 1e3), dtype=dtype)
    real("hypot", guarded(mpmath.hypot, lambda x, y: inf if math.isinf(x) or math.isinf(y) else None), 1 + add, (-30, 30),
         (-30, 30), dtype=dtype, extra=(1e30, 3e37))
    real("rhypot", guarded(lambda x, y: 1 / mpmath.hypot(x, y), lambda x, y: 0.0 if math.isinf(x) or math.isinf(y)
                           else inf if x == 0 and y == 0 else None), 3 + add, (-30, 30), (-30, 30), dtype=dtype)
    real("norm3d", guarded(lambda *v: mpmath.norm(v), lambda *v: inf if any(map(math.isinf, v)) else None), 1 + add,
         (-30, 30), (-30, 30), (-30, 30), dtype=dtype)
    real("rnorm3d", guarded(lambda *v: 1 / mpmath.norm(v), lambda *v: 0.0 if any(map(math.isinf, v)) else
                            inf if not any(v) else None), 3 + add, (-30, 30), (-30, 30), (-30, 30), dtype=dtype)
    real("norm4d", guarded(lambda *v: mpmath.norm(v), lambda *v: inf if any(map(math.isinf, v)) else None), 1 + add,
         (-30, 30), (-30, 30), (-30, 30), (-30, 30), dtype=dtype)
    real("rnorm4d", guarded(lambda *v: 1 / mpmath.norm(v), lambda *v: 0.0 if any(map(math.isinf, v)) else
                            inf if not any(v) else None), 3 + add, (-30, 30), (-30, 30), (-30, 30), (-30, 30), dtype=dtype)
    real("sinpi", guarded(mpmath.sinpi, lambda x: nan if math.isinf(x) else None), 3, (-20, 20), dtype=dtype)
    real("cospi", guarded(mpmath.cospi, lambda x: nan if math.isinf(x) else None), 3, (-20, 20), dtype=dtype)
    real("erfc", guarded(mpmath.erfc, lambda x: 0.0 if x == inf else 2.0 if x == -inf else None), 1 + 5 * add, (-5, 9),
         dtype=dtype, extra=(9.5, 10.0, 0.49999, 0.50001))
    real("erfcx", guarded(lambda x: mpmath.exp(x * x) * mpmath.erfc(x), lambda x: 0.0 if x == inf else inf if x == -inf
                          else None), 1 + 7 * add, (-5, 30), dtype=dtype, extra=(9.5, -9.0, 1e5))
    real("normcdf", guarded(mpmath.ncdf, lambda x: 1.0 if x == inf else 0.0 if x == -inf else None), 1 + 7 * add,
         (-10, 6), dtype=dtype)
    real("erfinv", guarded(mpmath.erfinv, lambda x: math.copysign(inf, x) if abs(x) == 1 else nan if abs(x) > 1 else None),
         1 + 3 * add, (-1, 1), dtype=dtype, extra=(0.9999999, -0.99999, 0.49, 0.51))
    real("erfcinv", guarded(tail, lambda x: inf if x == 0 else -inf if x == 2 else nan if x < 0 or
                            x > 2 else None), 1 + 3 * add, (0, 2), dtype=dtype, extra=(1e-10, 1e-38, 1e-6, 1.99999))
    real("normcdfinv", guarded(lambda x: -mpmath.sqrt(2) * tail(2 * x), lambda x: -inf if x == 0 else inf if
                               x == 1 else nan if x < 0 or x > 1 else None), 1 + 4 * add, (0, 1), dtype=dtype,
         extra=(1e-10, 1e-38, 1e-6, 0.99999))
    # Next to its zeros below 0 float64 has no digits for it.
    real("lgamma", guarded(lambda x: mpmath.re(mpmath.loggamma(x)), lambda x: inf if math.isinf(x) or (x <= 0 and
                           x == math.floor(x)) else None), 1 if not add else 64, (0.05, 60) if add else (-5, 60),
         dtype=dtype, extra=(1.0000001, 1.9999999, 1e10, 1e-20), within=lambda x: not (add and abs(x) < 3 and x < 2.5))
    real("fdim", guarded(lambda x, y: x - y if x > y else 0.0, lambda x, y: nan if math.isnan(x) or math.isnan(y) else
                         (0.0 if x <= y else inf) if math.isinf(x) or math.isinf(y) else None), 0.5, (-3, 3), (-3, 3),
         dtype=dtype)
    real("remainder", lambda x, y: nan if math.isnan(x) or math.isnan(y) or math.isinf(x) or y == 0 else
         math.remainder(x, y), 0, (-30, 30), (-3, 3), dtype=dtype,
         within=lambda x, y: not (math.isfinite(x) and y != 0 and abs(x / y) > 2.0**50))
    real("fmod", lambda x, y: nan if math.isnan(x) or math.isnan(y) or math.isinf(x) or y == 0 else math.fmod(x, y), 0,
         (-30, 30), (-3, 3), dtype=dtype, within=lambda x, y: not (math.isfinite(x) and y != 0 and abs(x / y) > 2.0**50))
    real("copysign", lambda x, y: nan if math.isnan(x) else math.copysign(x, y), 0, (-3, 3), (-3, 3), dtype=dtype)
    real("rint", lambda x: x if not math.isfinite(x) else float(round(x)), 0, (-9, 9), dtype=dtype, extra=(2.5, 3.5, -2.5))
    real("nearbyint", lambda x: x if not math.isfinite(x) else float(round(x)), 0, (-9, 9), dtype=dtype, extra=(2.5, 3.5))
    real("round", lambda x: x if not math.isfinite(x) else math.copysign(math.floor(abs(x) + 0.5), x), 0, (-9, 9),
         dtype=dtype, extra=(2.5, 3.5, -2.5))
    real("trunc", lambda x: x if not math.isfinite(x) else float(math.trunc(x)), 0, (-9, 9), dtype=dtype)
    real("logb", lambda x: abs(x) if math.isinf(x) else x if math.isnan(x) else -inf if x == 0 else
         float(math.frexp(x)[1] - 1), 0, (-900, 900), dtype=dtype, extra=(1e-40, 1e37))


for dtype, add in ((F32, 0), (F64, 1)):
    floats(dtype, add)
real("tgamma", guarded(mpmath.gamma, lambda x: inf if x == inf else nan if x == -inf or (x < 0 and x == math.floor(x)) else
                       math.copysign(inf, x) if x == 0 else None), 1, (-8, 36), extra=(34.9, 35.5, -40.5))
real("saturatef", lambda x: 0.0 if math.isnan(x) else min(max(x, 0.0), 1.0), 0, (-2, 2))
real("rsqrt_rn", guarded(lambda x: 1 / mpmath.sqrt(x), lambda x: math.copysign(inf, x) if x == 0 else 0.0 if x == inf else
                         nan if x < 0 else None), 0.5, (0, 90))


# Arithmetic and conversions rounded in a direction: exact fractions of Python.
FORMATS = {F32: (23, -126, fractions.Fraction(3.4028234663852886e38)),
           F64: (52, -1022, fractions.Fraction(1.7976931348623157e308))}


def rounded(value, mode, dtype=F32):
    """An exact number as a float of the format."""
    digits, least, largest = FORMATS[dtype]
    if value == 0:
        return 0.0
    exponent = abs(value.numerator).bit_length() - value.denominator.bit_length()
    if fractions.Fraction(2) ** exponent > abs(value):
        exponent -= 1
    quantum = fractions.Fraction(2) ** (max(exponent, least) - digits)
    steps = {"n": round, "d": math.floor, "u": math.ceil, "z": math.trunc}[mode](value / quantum)
    result = steps * quantum
    if abs(result) > largest:
        cut = mode == "z" or (mode == "d") == (result > 0) and mode != "n"
        return (float(largest) if cut else inf) * (1 if result > 0 else -1)
    return float(result)


def bits_of(value, dtype=F32):
    """A number's bits; zeros of either sign are one."""
    return 0 if value == 0 else struct.pack("<f" if dtype == F32 else "<d", value)


@case
def exact(name, inputs, out, want):
    """Every element as Python has it."""
    got, dtype = launch(name, inputs, out), out.dtype
    for n, values in enumerate(zip(*[x.tolist() for x in inputs])):
        expected = want(*values)
        same = bits_of(got[n], dtype) == bits_of(expected, dtype) if dtype.is_floating_point else got[n] == expected
        assert same, f"{values}: {got[n]!r}, not {expected!r}"


def spread(seed, dtype=F32, limit=60):
    """Finite numbers of all sizes, a few of them equal or opposite."""
    r = random.Random(seed)
    values = [math.ldexp(r.uniform(-1, 1), r.randint(-limit, limit)) for _ in range(N)]
    values[:6] = [1.0, -1.0, 3.0, 0.1, 1e-40, 3e38 if dtype == F32 else 1e300]
    return torch.tensor(values, dtype=F64).to(dtype)


Fraction = fractions.Fraction


def root(x):
    with mpmath.workdps(80):
        return Fraction(int(mpmath.floor(mpmath.sqrt(mpmath.mpf(x)) * mpmath.mpf(2) ** 220)), 2**220)


INTEGERS = (("int", torch.int32, -2**31, 2**31 - 1), ("uint", torch.uint32, 0, 2**32 - 1),
            ("ll", torch.int64, -2**63, 2**63 - 1), ("ull", torch.uint64, 0, 2**64 - 1))


def arithmetic(mode):
    """Sums, products, quotients and roots rounded in one direction."""
    x, y, z, out = spread(1), spread(2), spread(3), torch.zeros(N)
    y[6:40] = -x[6:40]
    exact("add_r" + mode, [x, y], out, lambda a, b: rounded(Fraction(a) + Fraction(b), mode))
    exact("sub_r" + mode, [x, y], out, lambda a, b: rounded(Fraction(a) - Fraction(b), mode))
    exact("mul_r" + mode, [x, y], out, lambda a, b: rounded(Fraction(a) * Fraction(b), mode))
    exact("div_r" + mode, [x, y], out, lambda a, b: rounded(Fraction(a) / Fraction(b), mode))
    exact("rcp_r" + mode, [x], out, lambda a: rounded(1 / Fraction(a), mode))
    exact("fma_r" + mode, [x, y, z], out, lambda a, b, c: rounded(Fraction(a) * Fraction(b) + Fraction(c), mode))
    exact("sqrt_r" + mode, [x.abs()], out, lambda a: rounded(root(a), mode))
    exact("double2float_r" + mode, [spread(4, F64, 100)], out, lambda a: rounded(Fraction(a), mode))


def to_integers(mode, name, dtype, least, most):
    whole = {"n": round, "z": math.trunc, "d": math.floor, "u": math.ceil}[mode]
    for source, floats_ in (("float", spread(5, F32, 70)), ("double", spread(6, F64, 70))):
        floats_[10:14] = torch.tensor([2.5, -2.5, 3.5, 0.5])
        exact(f"{source}2{name}_r{mode}", [floats_], torch.zeros(N, dtype=dtype), lambda a: min(max(whole(Fraction(a)), least), most))


def from_integers(mode, name, dtype, least, most):
    r = random.Random(8)
    values = [r.randint(least, most) >> r.randint(0, 40) for _ in range(N)]
    values[:5] = [least, most, 0, 1, most - 1]
    values = torch.tensor(values, dtype=dtype)
    exact(f"{name}2float_r{mode}", [values], torch.zeros(N), lambda a: rounded(Fraction(a), mode))
    exact(f"{name}2double_r{mode}", [values], torch.zeros(N, dtype=F64), lambda a: rounded(Fraction(a), mode, F64))


for mode in "nzdu":
    arithmetic(mode)
    for kind in INTEGERS:
        to_integers(mode, *kind)
        from_integers(mode, *kind)


# Integers and bits.
def signed(value, bits):
    value %= 2**bits
    return value - 2**bits if value >> (bits - 1) else value


def bits_and_sums(bits, dtype):
    def integers(seed):
        r = random.Random(seed)
        values = [signed(r.getrandbits(bits) >> r.choice([0, 0, 0, 7, 20, bits - 1]), bits) for _ in range(N)]
        values[:4] = [0, 1, -1, -2 ** (bits - 1)]
        return torch.tensor(values, dtype=dtype)

    a, b, c = integers(1), integers(2), integers(3)
    count32, same = torch.zeros(N, dtype=torch.int32), torch.zeros(N, dtype=dtype)
    exact("clz", [a], count32, lambda v: bits - (v % 2**bits).bit_length())
    exact("popc", [a], count32, lambda v: bin(v % 2**bits).count("1"))
    exact("ffs", [a], count32, lambda v: (v & -v).bit_length())
    exact("brev", [a], same, lambda v: signed(int(f"{v % 2**bits:0{bits}b}"[::-1], 2), bits))
    exact("mulhi", [a, b], same, lambda v, w: (v * w) >> bits)
    exact("hadd", [a, b], same, lambda v, w: (v + w) >> 1)
    exact("rhadd", [a, b], same, lambda v, w: (v + w + 1) >> 1)
    if bits == 32:
        exact("mul24", [a, b], same, lambda v, w: signed(signed(v, 24) * signed(w, 24), 32))
        exact("sad", [a, b, c], same, lambda u, v, w: signed(abs(u - v) + w, 32))
        exact("byte_perm", [a, b, c], same, lambda u, v, s: signed(sum(
            (((u % 2**32) | (v % 2**32) << 32) >> (8 * (s >> 4 * i & 7)) & 255) << 8 * i for i in range(4)), 32))
        exact("hiloint2double", [torch.tensor([1074266112 + i for i in range(N)], dtype=dtype), a],
              torch.zeros(N, dtype=F64), lambda h, l: struct.unpack("<d", struct.pack("<Ii", l % 2**32, h))[0])
        unsigned = a.view(torch.uint32)
        exact("mulhi", [unsigned, b.view(torch.uint32)], torch.zeros(N, dtype=torch.uint32), lambda v, w: (v * w) >> 32)
    else:
        halves = spread(11, F64)
        exact("double_as_longlong", [halves], same, lambda v: struct.unpack("<q", struct.pack("<d", v))[0])
        exact("longlong_as_double", [halves.view(torch.int64)], torch.zeros(N, dtype=F64),
              lambda v: struct.unpack("<d", struct.pack("<q", v))[0])
        exact("double2hiint", [halves], count32, lambda v: struct.unpack("<ii", struct.pack("<d", v))[1])
        exact("double2loint", [halves], count32, lambda v: struct.unpack("<ii", struct.pack("<d", v))[0])


bits_and_sums(32, torch.int32)
bits_and_sums(64, torch.int64)
x, out = spread(12), torch.zeros(N)
exact("float_as_int", [x], torch.zeros(N, dtype=torch.int32), lambda v: struct.unpack("<i", struct.pack("<f", v))[0])
exact("float_as_uint", [x], torch.zeros(N, dtype=torch.uint32), lambda v: struct.unpack("<I", struct.pack("<f", v))[0])
exact("int_as_float", [x.view(torch.int32)], out, lambda v: struct.unpack("<f", struct.pack("<i", v))[0])
exact("uint_as_float", [x.view(torch.uint32)], out, lambda v: struct.unpack("<f", struct.pack("<I", v))[0])


def parts_of_floats(dtype):
    x = spread(13, dtype)
    x[20:24] = torch.tensor([0.0, -0.0, 1.5, -1.5])
    y = x.roll(1)
    y[:3], y[20:22] = x[:3], torch.tensor([1.0, -1.0])
    int32, same = torch.zeros(N, dtype=torch.int32), torch.zeros(N, dtype=dtype)
    follows = torch.nextafter(x, y).tolist()
    pairs = dict(zip(zip(x.tolist(), y.tolist()), follows))
    exact("nextafter", [x, y], same, lambda a, b: pairs[a, b])
    exact("signbit", [x], int32, lambda v: int(math.copysign(1, v) < 0))
    exact("ilogb", [x], int32, lambda v: -0x7FFFFFFF if v == 0 else math.frexp(v)[1] - 1)
    powers = torch.tensor([random.Random(i).randint(-160, 160) for i in range(N)], dtype=torch.int32)
    for name in ("ldexp", "scalbn"):
        exact(name, [x, powers], same, lambda v, n: rounded(Fraction(v) * Fraction(2) ** n, "n", dtype))
    small = (x.double().clamp(-1e15, 1e15) * 1.0).to(dtype)
    exact("llrint", [small], torch.zeros(N, dtype=torch.int64), lambda v: round(v))
    exact("llround", [small], torch.zeros(N, dtype=torch.int64),
          lambda v: int(math.copysign(math.floor(Fraction(abs(v)) + Fraction(1, 2)), v)))
    exact("isfinited", [x], torch.zeros(N, dtype=torch.int32), lambda v: 1)


parts_of_floats(F32)
parts_of_floats(F64)


@pytest.mark.parametrize("compare", CASES)
def test_function(compare):
    compare()
