# tests/triton/beyond_test.py - what Triton's interpreter lacks: functions of libdevice, atomics of descriptors; against torch.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""usage: beyond_test.py [PART OF A NAME]. LIBTESSERA_TORCH names the library of the ops, TESSERA_DEVICE the device."""
import os
import pathlib
import sys

try:
    import torch
except ImportError as error:
    print("skipped:", error)
    sys.exit(1 if os.environ.get("TEST_COMPLETE") else 77)

library = os.environ.get("LIBTESSERA_TORCH")
if not library:
    print("skipped: LIBTESSERA_TORCH is not set")
    sys.exit(1 if os.environ.get("TEST_COMPLETE") else 77)
torch.ops.load_library(library)
FILE = str(pathlib.Path(__file__).resolve().parent / "beyond" / "kernels.py")
wanted = sys.argv[1] if len(sys.argv) > 1 else ""
failures, count = [], 0
N = 4096
inf, nan = float("inf"), float("nan")
EDGES = torch.tensor([0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, inf, -inf, nan, 1e-40, 1e30, -1e30])


def check(name, problem):
    global count
    count += 1
    if problem:
        failures.append(f"{name}: {problem}")


def ulps(got, want):
    """The largest distance in units of the last place of `want` (float64 values), beside NaN and infinities, which are exact."""
    finite = torch.isfinite(want) & (want.abs() < 3.4028235e38)
    rest = ~finite
    rounded = want.float()
    same = (got == rounded) | (got.isnan() & rounded.isnan())
    if not bool(same[rest].all()):
        at = (rest & ~same).nonzero()[0].item()
        return inf, at
    size = want.abs().clamp(min=2.0**-126)
    unit = torch.exp2(torch.floor(torch.log2(size)) - 23)
    error = torch.where(finite, (got.double() - want).abs() / unit, 0.0)
    return error.max().item(), error.argmax().item()


def one(name, low, high, want, limit):
    if wanted not in name:
        return
    g = torch.Generator().manual_seed(5)
    x = torch.rand(N, generator=g) * (high - low) + low
    edges = EDGES[(EDGES.abs() < 1e9) | ~torch.isfinite(EDGES)] if name == "tan" else EDGES  # sine is exact to 2^48
    x[: len(edges)] = edges
    out = torch.full((N,), -7.0)
    torch.ops.tessera.launch(FILE, "k_" + name, [x, out], [], [1], f"N={N}")
    error, at = ulps(out, want(x.double()))
    check(name, None if error <= limit else f"{error} ulp at {x[at].item()}: {out[at].item()}, not {want(x.double())[at].item()}")


def two(name, x, y, want, limit):
    if wanted not in name:
        return
    out = torch.full((N,), -7.0)
    torch.ops.tessera.launch(FILE, "k_" + name, [x, y, out], [], [1], f"N={N}")
    exact = want(x.double(), y.double())
    error, at = ulps(out, exact)
    check(name, None if error <= limit else
          f"{error} ulp at ({x[at].item()}, {y[at].item()}): {out[at].item()}, not {exact[at].item()}")


def pairs(low, high, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.rand(N, generator=g) * (high - low) + low
    y = torch.rand(N, generator=g) * (high - low) + low
    e = len(EDGES)
    x[: e * e] = EDGES.repeat_interleave(e)
    y[: e * e] = EDGES.repeat(e)
    return x, y


def toward_zero(x, y):
    """x / y in float64, then cut to float32."""
    q = x / y
    cut = q.float()
    away = cut.double().abs() > q.abs()
    return torch.where(away & torch.isfinite(q), torch.nextafter(cut, torch.zeros_like(cut)), cut).double()


def quotients():
    """`%` is exact where the quotient is below 2^53."""
    x, y = pairs(-30, 30, 2)
    far = (x.double() / y.double()).abs() > 2.0**52
    far &= torch.isfinite(x) & (y != 0)
    x[far], y[far] = 5.0, 3.0
    return x, y


def powers():
    g = torch.Generator().manual_seed(9)
    x, y = pairs(-3, 3, 9)
    e = len(EDGES) ** 2
    x[e:] = torch.exp2(torch.rand(N - e, generator=g) * 40 - 20)
    y[e:] = torch.rand(N - e, generator=g) * 14 - 7
    x[e : e + 200] = 1 + (torch.rand(200, generator=g) - 0.5) * 1e-3
    y[e : e + 200] = torch.randint(-60000, 60000, (200,), generator=g).float()
    x[e + 200 : e + 400] = -torch.rand(200, generator=g) * 8
    y[e + 200 : e + 400] = torch.randint(-20, 20, (200,), generator=g).float()
    return x, y


one("atan", -20, 20, torch.atan, 3)
one("asin", -1.1, 1.1, torch.asin, 3)
one("acos", -1.1, 1.1, torch.acos, 4)
one("log1p", -1.2, 3, torch.log1p, 4)
one("expm1", -20, 4, torch.expm1, 6)
one("log10", 0, 1e4, torch.log10, 4)
one("exp10", -44, 39, lambda x: torch.pow(torch.tensor(10.0, dtype=torch.float64), x), 4)
one("tan", -1.4, 1.4, torch.tan, 5)
one("finitef", -1, 1, lambda x: (x.abs() < inf).double(), 0)
two("pow", *powers(), torch.pow, 4)
two("atan2", *pairs(-3, 3, 1), torch.atan2, 4)
two("fmod", *quotients(), torch.fmod, 0)
two("copysign", *pairs(-3, 3, 3), torch.copysign, 0)
two("div_rz", *pairs(-30, 30, 4), toward_zero, 0)


def atomics(dtype):
    if wanted not in "descriptor_atomics":
        return
    base = torch.arange(24, dtype=dtype).reshape(4, 6).repeat(1, 2).contiguous()  # [4, 12]
    value = (torch.arange(32).reshape(2, 16) % 7).to(dtype)
    kinds = {0: lambda a, b: a + b, 1: torch.maximum, 2: torch.minimum}
    if dtype != torch.float32:
        kinds.update({3: torch.bitwise_and, 4: torch.bitwise_or, 5: torch.bitwise_xor})
    for kind, want in kinds.items():
        if dtype == torch.float32 and kind:
            continue
        got = base.clone()
        torch.ops.tessera.launch(FILE, "k_descriptor_atomics", [got, value], [4, 12], [1], f"KIND={kind}")
        expected = base.clone()
        # The block begins at row 3, column -4: one row and 12 columns are inside.
        expected[3, 0:12] = want(base[3, 0:12], value[0, 4:16])
        check(f"atomic {kind} {dtype}", None if torch.equal(got, expected) else f"{got[3]} instead of {expected[3]}")


atomics(torch.int32)
atomics(torch.float32)


def unsigned():
    """argmax, argmin, max and min with indices of uint64 beyond 2^63."""
    if wanted not in "unsigned":
        return
    g = torch.Generator().manual_seed(3)
    bits = torch.randint(-2**63, 2**63 - 1, (64,), generator=g, dtype=torch.int64)
    out = torch.zeros(4, dtype=torch.int64)
    torch.ops.tessera.launch(FILE, "k_unsigned", [bits.view(torch.uint64), out], [], [1], "N=64")
    numbers = [v % 2**64 for v in bits.tolist()]
    low, high = numbers.index(min(numbers)), numbers.index(max(numbers))
    want = [high, low, bits[high].item(), bits[low].item()]
    check("unsigned", None if out.tolist() == want else f"{out.tolist()} instead of {want}")


unsigned()
for line in failures:
    print("FAILED", line)
print(f"checks: {count}, failures: {len(failures)}")
sys.exit(1 if failures or not count else 0)
