# tests/triton/beyond_test.py - what Triton's interpreter lacks: functions of libdevice, atomics of descriptors; against torch.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""TESSERA_DEVICE names the device."""
import os

import pytest
from compiled import check, torch
from outliers import close_enough
from repository import ROOT

FILE = str(ROOT / "tests/triton/beyond/kernels.py")
N = 4096
inf, nan = float("inf"), float("nan")
EDGES = torch.tensor([0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, inf, -inf, nan, 1e-40, 1e30, -1e30])


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


@pytest.mark.parametrize("name, low, high, want, limit", (
    ("atan", -20, 20, torch.atan, 3),
    ("asin", -1.1, 1.1, torch.asin, 3),
    ("acos", -1.1, 1.1, torch.acos, 4),
    ("log1p", -1.2, 3, torch.log1p, 4),
    ("expm1", -20, 4, torch.expm1, 6),
    ("log10", 0, 1e4, torch.log10, 4),
    ("exp10", -44, 39, lambda x: torch.pow(torch.tensor(10.0, dtype=torch.float64), x), 4),
    ("tan", -1.4, 1.4, torch.tan, 5),
    ("finitef", -1, 1, lambda x: (x.abs() < inf).double(), 0),
))
def test_function_of_one(name, low, high, want, limit):
    g = torch.Generator().manual_seed(5)
    x = torch.rand(N, generator=g) * (high - low) + low
    edges = EDGES[(EDGES.abs() < 1e9) | ~torch.isfinite(EDGES)] if name == "tan" else EDGES  # sine is exact to 2^48
    x[: len(edges)] = edges
    out = torch.full((N,), -7.0)
    torch.ops.tessera.launch(FILE, "k_" + name, [x, out], [], [1], f"N={N}")
    error, at = ulps(out, want(x.double()))
    check(name, None if error <= limit else f"{error} ulp at {x[at].item()}: {out[at].item()}, not {want(x.double())[at].item()}")


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


@pytest.mark.parametrize("name, arguments, want, limit", (
    ("pow", powers, torch.pow, 4),
    ("atan2", lambda: pairs(-3, 3, 1), torch.atan2, 4),
    ("fmod", quotients, torch.fmod, 0),
    ("copysign", lambda: pairs(-3, 3, 3), torch.copysign, 0),
    ("div_rz", lambda: pairs(-30, 30, 4), toward_zero, 0),
))
def test_function_of_two(name, arguments, want, limit):
    x, y = arguments()
    out = torch.full((N,), -7.0)
    torch.ops.tessera.launch(FILE, "k_" + name, [x, y, out], [], [1], f"N={N}")
    exact = want(x.double(), y.double())
    error, at = ulps(out, exact)
    check(name, None if error <= limit else
          f"{error} ulp at ({x[at].item()}, {y[at].item()}): {out[at].item()}, not {exact[at].item()}")


@pytest.mark.parametrize("dtype", (torch.int32, torch.float32), ids=str)
def test_descriptor_atomics(dtype):
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


def test_unsigned():
    """argmax, argmin, max and min with indices of uint64 beyond 2^63."""
    g = torch.Generator().manual_seed(3)
    bits = torch.randint(-2**63, 2**63 - 1, (64,), generator=g, dtype=torch.int64)
    out = torch.zeros(4, dtype=torch.int64)
    torch.ops.tessera.launch(FILE, "k_unsigned", [bits.view(torch.uint64), out], [], [1], "N=64")
    numbers = [v % 2**64 for v in bits.tolist()]
    low, high = numbers.index(min(numbers)), numbers.index(max(numbers))
    want = [high, low, bits[high].item(), bits[low].item()]
    check("unsigned", None if out.tolist() == want else f"{out.tolist()} instead of {want}")


F8 = {"e4m3": (torch.float8_e4m3fn, 448.0), "e5m2": (torch.float8_e5m2, 57344.0)}


def same_bits(got, want):
    """Equal, where NaN is one value."""
    a, b = got.float(), want.float()
    wrong = ~((a == b) & (torch.signbit(a) == torch.signbit(b)) | (a.isnan() & b.isnan()))
    if wrong.any():
        at = wrong.nonzero()[0].item()
        return f"{a[at].item()} instead of {b[at].item()} at {at}"
    return None


@pytest.mark.parametrize("kind", F8)
def test_fp8(kind):
    dtype, largest = F8[kind]
    codes = torch.arange(256, dtype=torch.uint8).view(dtype)
    for wide in (torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int32):
        if wide == torch.int32:
            exact = codes.float().nan_to_num(0.0, 0.0, 0.0)
            source, want = exact.to(dtype), exact.to(torch.int32)
        else:
            source, want = codes, codes.to(wide)
        out = torch.zeros(256, dtype=wide)
        torch.ops.tessera.launch(FILE, "k_convert", [source, out], [], [1], "N=256")
        check(f"fp8_{kind} to {wide}", same_bits(out, want))
    # Every representable number, what lies halfway between neighbours, and its neighbours; all sizes of float32.
    points = codes.float()[torch.isfinite(codes.float())].double().sort().values
    halfway = ((points[1:] + points[:-1]) / 2).float()
    x = torch.cat([codes.float(), halfway, torch.nextafter(halfway, torch.tensor(inf)),
                   torch.nextafter(halfway, torch.tensor(-inf)), torch.tensor([inf, -inf, nan, 1e-40, -1e30, largest * 1.1]),
                   torch.arange(0, 2**32, 3000017).to(torch.int64).to(torch.int32).view(torch.float32)])
    x = torch.cat([x, torch.zeros(-len(x) % 1024)])
    for wide in (torch.float32, torch.float16, torch.bfloat16, torch.float64):
        source = x.to(wide)
        out = torch.zeros(len(x), dtype=torch.uint8).view(dtype)
        torch.ops.tessera.launch(FILE, "k_convert", [source, out], [], [len(x) // 1024], "N=1024")
        want = source.float().clamp(-largest, largest).to(dtype)
        check(f"fp8_{kind} from {wide}", same_bits(out, want))
    # Toward zero: the next number whose size is not larger.
    out = torch.zeros(len(x), dtype=torch.uint8).view(dtype)
    torch.ops.tessera.launch(FILE, "k_convert_rtz", [x, out], [], [len(x) // 1024], "N=1024")
    sizes = points[points >= 0].float()
    cut = sizes[(torch.searchsorted(sizes, x.abs().nan_to_num(0.0, largest, largest).clamp(max=largest), right=True) - 1)]
    check(f"fp8_{kind} toward zero", same_bits(out, torch.where(x.isnan(), x, torch.copysign(cut, x)).to(dtype)))
    n = 64
    source = codes[:n].clone()
    out = torch.zeros(2 * n, dtype=torch.uint8).fill_(17).view(dtype)
    torch.ops.tessera.launch(FILE, "k_fp8_moves", [source, out], [], [1], f"N={n}")
    moved = source.float()
    moved[n - 8 :] = 1.5
    moved[3::4] = -2.0
    moved = moved.reshape(n // 4, 4).t().reshape(n).clone()
    moved[::8] = 0.75
    check(f"fp8_{kind} moves", same_bits(out, torch.cat([moved, torch.zeros(n)]).to(dtype)))
    g = torch.Generator().manual_seed(4)
    a, b = torch.randn(32, 64, generator=g).to(dtype), torch.randn(64, 16, generator=g).to(dtype)
    out = torch.zeros(32, 16)
    torch.ops.tessera.launch(FILE, "k_fp8_dot", [a, b, out], [], [1], "M=32,N=16,K=64")
    want = a.double() @ b.double()
    check(f"fp8_{kind} dot", close_enough(out, want, 1e-6) or None)


def test_map_elementwise():
    """tl.map_elementwise: branches, returns, loops and packs of elements."""
    g = torch.Generator().manual_seed(8)
    x, y, n = torch.randn(256, generator=g), torch.randn(256, generator=g), 256
    out = torch.zeros(2 * n)
    torch.ops.tessera.launch(FILE, "k_map_branch", [x, out], [], [1], f"N={n}")
    check("map branch", same_bits(out[:n], torch.where(x > 0, x, 0.125 * x)))
    whole = torch.zeros(2 * n, dtype=torch.int32)
    torch.ops.tessera.launch(FILE, "k_map_grade", [x, whole], [], [1], f"N={n}")
    grades = [0 if v < -1 else 10 if v < 0 else 20 if 0.5 < v < 1 else 7 for v in x.tolist()]
    check("map returns", None if whole[:n].tolist() == grades else f"{whole[:8]} instead of {grades[:8]}")
    starts = torch.arange(1, n + 1, dtype=torch.int32)
    torch.ops.tessera.launch(FILE, "k_map_while", [starts, whole], [], [1], f"N={n}")
    ways = []
    for v in starts.tolist():
        way = [v]
        while way[-1] != 1:
            way.append(way[-1] // 2 if way[-1] % 2 == 0 else 3 * way[-1] + 1)
        ways.append(way)
    want = [len(way) - 1 for way in ways] + [max(way) for way in ways]
    check("map while", None if whole.tolist() == want else f"{whole[:8]} instead of {want[:8]}")
    powers = torch.arange(n, dtype=torch.int32) % 6
    torch.ops.tessera.launch(FILE, "k_map_for", [x, powers, out], [], [1], f"N={n}")
    want = torch.ones(n)
    for step in range(6):
        want = torch.where(powers > step, want * x, want)
    check("map for", None if torch.allclose(out[:n], want, rtol=1e-6) else f"{out[:8]} instead of {want[:8]}")
    torch.ops.tessera.launch(FILE, "k_map_pack", [x, y, out], [], [1], f"N={n}")
    a, b = x.view(-1, 2), y.view(-1, 2)
    want = torch.cat([torch.stack([a.min(1).values, a.sum(1)], 1).flatten(),
                      torch.stack([b[:, 0] - b[:, 1], b[:, 1]], 1).flatten()])
    check("map pack", same_bits(out, want))


def test_inner_names():
    x, out = torch.randn(64), torch.zeros(64)
    torch.ops.tessera.launch(FILE, "k_inner_names", [x, out], [], [1], "N=64")
    check("inner names", None if torch.allclose(out, x.max() - x.min() + 6) else f"{out[0]}")
    answers = torch.zeros(4, dtype=torch.int32)
    torch.ops.tessera.launch(FILE, "k_target", [answers], [], [1], "")
    want = [1, 1, 0, 0] if "sm_80" in os.environ.get("TESSERA_DEVICE", "cpu") else [0, 0, 0, 0]
    check("target", None if answers.tolist() == want else f"{answers} instead of {want}")
    torch.ops.tessera.launch(FILE, "k_condition", [answers], [5], [1], "")
    check("condition", None if answers[0] == 32 else f"{answers[0]}")


def test_later_names():
    """What Triton has after 3.6, or on a GPU alone."""
    g = torch.Generator().manual_seed(9)
    x, n = torch.randn(128, generator=g), 128
    out = torch.zeros(n)
    torch.ops.tessera.launch(FILE, "k_squeeze", [x, out], [], [1], f"N={n}")
    check("squeeze", None if torch.allclose(out, x + x.sum(), rtol=1e-5) else f"{out[:4]}")
    whole, low = torch.randint(-50, 50, (n,), generator=g, dtype=torch.int32), torch.randint(-50, 0, (n,), generator=g, dtype=torch.int32)
    got = torch.zeros(n, dtype=torch.int32)
    torch.ops.tessera.launch(FILE, "k_clamp", [whole, low, got], [13], [1], f"N={n}")
    check("clamp of integers", same_bits(got, whole.maximum(low).clamp(max=13)))
    for k in (8, 64, 128):
        for down in (True, False):
            best = torch.zeros(k)
            torch.ops.tessera.launch(FILE, "k_topk", [x, best], [], [1], f"N={n},K={k},DOWN={down}")
            check(f"topk {k} {down}", same_bits(best, x.topk(k, largest=down).values))
    for kind, (dtype, _) in F8.items():
        codes = torch.arange(256, dtype=torch.uint8)
        size = torch.zeros(256, dtype=torch.uint8)
        torch.ops.tessera.launch(FILE, "k_abs_fp8", [codes.view(dtype), size.view(dtype)], [], [1], "N=256")
        check(f"abs of {kind}", same_bits(size, codes & 127))
    addresses, y = torch.zeros(n, dtype=torch.int64), torch.zeros(n)
    if os.environ.get("TESSERA_DEVICE", "cpu") == "cpu":
        torch.ops.tessera.launch(FILE, "k_addresses", [x, y, addresses], [], [1], f"N={n}")
        i = torch.arange(n)
        want = torch.where(i < 64, x.data_ptr() + 4 * i, y.data_ptr() + 4 * i)
        check("addresses", same_bits(addresses, want))


@pytest.mark.parametrize("precision, parts, limit", (("bf16x3", 2, 2.0**-14), ("bf16x6", 3, 2.0**-20)))
def test_dot_of_parts(precision, parts, limit):
    """Products of two or three bf16 parts of fp32 numbers: an error relative to the sum of sizes, far below bf16's 2^-8."""
    g, n = torch.Generator().manual_seed(9), 32
    x, y, z = (torch.randn(n, n, generator=g) for _ in range(3))
    out = torch.zeros(n, n)

    def run():
        torch.ops.tessera.launch(FILE, "k_dot_parts", [x, y, z, out], [], [1], f'N={n},PRECISION="{precision}"')

    run()
    size = x.abs().double() @ y.abs().double() + z.abs().double()
    error = ((out - (z.double() + x.double() @ y.double())).abs() / size).max().item()
    check(precision, None if error < limit else f"{error}")
    if os.environ.get("TESSERA_DEVICE", "cpu") != "cpu":
        check(f"{precision} has {parts} parts", None if error > limit * 2.0**-6 else f"{error}")
    x[3, 5], y[5, 4] = inf, 2.0                    # the rest of an infinity is NaN
    x[7, 7], y[9, 9] = nan, -inf
    run()
    want = (z.double() + x.double() @ y.double()).float()
    same = (out == want) | (out.isnan() & want.isnan()) | want.isfinite()
    check(f"{precision} of infinities", None if same.all() else f"{out[~same]}, not {want[~same]}")


def test_assembly(tmp_path):
    g, n = torch.Generator().manual_seed(9), 128
    x, out = torch.rand(n, generator=g) * 6 - 3, torch.zeros(n)
    instructions = {"tanh": torch.tanh, "sin": torch.sin, "cos": torch.cos, "ex2": torch.exp2, "lg2": lambda v: torch.log2(v.abs()),
                    "rcp": lambda v: 1 / v, "rsqrt": lambda v: v.abs().rsqrt(), "sqrt": lambda v: v.abs().sqrt()}
    for name, want in instructions.items():
        given = x.abs() if name in ("lg2", "rsqrt", "sqrt") else x
        for form in (f"{name}.approx.f32 $0, $1;", f" {name}.approx.ftz.f32  $0,$1 "):
            # The text of an argument ends at a comma, so the kernel gets it from a copy of the file.
            torch.ops.tessera.launch(assembly_file(tmp_path, form), "k_text", [given, out], [], [1], f"N={n}")
            # The bound of the PTX ISA for tanh.approx is 2^-10.987.
            check(f"assembly {form}", None if torch.allclose(out, want(given.double()).float(), rtol=5e-4, atol=2e-6) else f"{out[:4]}")


def assembly_file(folder, text):
    path = folder / f"k{abs(hash(text))}.py"
    path.write_text(f"""import triton
import triton.language as tl


@triton.jit
def k_text(X, O, N: tl.constexpr):
    i = tl.arange(0, N)
    y = tl.inline_asm_elementwise("{text}", constraints="=f,f", args=[tl.load(X + i)], dtype=tl.float32, is_pure=True, pack=1)
    tl.store(O + i, y)
""")
    return str(path)
