// compiler/semantics/Prelude.cpp - builtins that are written in the kernel
// language.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/semantics/Prelude.h"

namespace tessera::semantics {
namespace {

// Random numbers are Philox (Salmon et al. 2011, "Parallel random numbers: as
// easy as 1, 2, 3", section 3.3) with its published constants. Integers become
// floats in [0, 1) as in Triton: the bits of negative ones are inverted, and
// the factor is the largest that keeps every product below 1.
const char *const kImports = R"(
import triton
import triton.language as tl
)";

const char *const kText = R"(

@triton.jit
def philox_impl(c0, c1, c2, c3, k0, k1, n_rounds: tl.constexpr = 10):
    WIDE: tl.constexpr = c0.dtype.primitive_bitwidth == 64
    MUL0: tl.constexpr = 0xD2E7470EE14C6C93 if WIDE else 0xD2511F53
    MUL1: tl.constexpr = 0xCA5A826395121157 if WIDE else 0xCD9E8D57
    KEY0: tl.constexpr = 0x9E3779B97F4A7C15 if WIDE else 0x9E3779B9
    KEY1: tl.constexpr = 0xBB67AE8584CAA73B if WIDE else 0xBB67AE85
    for _round in tl.static_range(n_rounds):
        low0 = c0 * MUL0
        low2 = c2 * MUL1
        high0 = tl.umulhi(c0, MUL0)
        high2 = tl.umulhi(c2, MUL1)
        c0 = high2 ^ c1 ^ k0
        c2 = high0 ^ c3 ^ k1
        c1 = low2
        c3 = low0
        k0 = k0 + KEY0
        k1 = k1 + KEY1
    return c0, c1, c2, c3


@triton.jit
def philox(seed, c0, c1, c2, c3, n_rounds: tl.constexpr = 10):
    seed = tl.to_tensor(seed).to(tl.uint64)
    c0 = tl.to_tensor(c0)
    c1 = tl.to_tensor(c1)
    c2 = tl.to_tensor(c2)
    c3 = tl.to_tensor(c3)
    if c0.dtype.primitive_bitwidth == 32:
        return philox_impl(
            c0.to(tl.uint32, bitcast=True), c1.to(tl.uint32, bitcast=True),
            c2.to(tl.uint32, bitcast=True), c3.to(tl.uint32, bitcast=True),
            (seed & 0xFFFFFFFF).to(tl.uint32), (seed >> 32).to(tl.uint32), n_rounds)
    else:
        tl.static_assert(c0.dtype.primitive_bitwidth == 64, "philox takes counters of 32 or 64 bits")
        return philox_impl(
            c0.to(tl.uint64, bitcast=True), c1.to(tl.uint64, bitcast=True),
            c2.to(tl.uint64, bitcast=True), c3.to(tl.uint64, bitcast=True),
            seed, tl.zeros_like(seed), n_rounds)


@triton.jit
def randint4x(seed, offset, n_rounds: tl.constexpr = 10):
    offset = tl.to_tensor(offset)
    low = offset.to(tl.uint32)
    zero = low * 0
    if offset.dtype.primitive_bitwidth > 32:
        return philox(seed, low, (offset >> 32).to(tl.uint32), zero, zero, n_rounds)
    else:
        return philox(seed, low, zero, zero, zero, n_rounds)


@triton.jit
def randint(seed, offset, n_rounds: tl.constexpr = 10):
    return randint4x(seed, offset, n_rounds)[0]


@triton.jit
def uint_to_uniform_float(x):
    if x.dtype.primitive_bitwidth == 32:
        signed = x.to(tl.int32, bitcast=True)
        return tl.where(signed < 0, -signed - 1, signed) * 4.6566127342e-10
    else:
        wide = x.to(tl.int64, bitcast=True)
        return tl.where(wide < 0, -wide - 1, wide) * 1.0842020432385337e-19


@triton.jit
def rand(seed, offset, n_rounds: tl.constexpr = 10):
    return uint_to_uniform_float(randint(seed, offset, n_rounds))


@triton.jit
def rand4x(seed, offsets, n_rounds: tl.constexpr = 10):
    a, b, c, d = randint4x(seed, offsets, n_rounds)
    return uint_to_uniform_float(a), uint_to_uniform_float(b), uint_to_uniform_float(c), uint_to_uniform_float(d)


@triton.jit
def pair_uniform_to_normal(u1, u2):
    radius = tl.sqrt(-2.0 * tl.log(tl.maximum(1.0e-7, u1)))
    angle = 6.283185307179586 * u2
    return radius * tl.cos(angle), radius * tl.sin(angle)


@triton.jit
def randn(seed, offset, n_rounds: tl.constexpr = 10):
    a, b, _c, _d = randint4x(seed, offset, n_rounds)
    return pair_uniform_to_normal(uint_to_uniform_float(a), uint_to_uniform_float(b))[0]


@triton.jit
def randn4x(seed, offset, n_rounds: tl.constexpr = 10):
    a, b, c, d = rand4x(seed, offset, n_rounds)
    n0, n1 = pair_uniform_to_normal(a, b)
    n2, n3 = pair_uniform_to_normal(c, d)
    return n0, n1, n2, n3


@triton.jit
def swizzle2d(i, j, size_i, size_j, size_g):
    flat = i * size_j + j
    per_group = size_g * size_j
    first = flat // per_group * size_g
    rows = tl.minimum(size_i - first, size_g)
    inside = flat % per_group
    return first + inside % rows, inside // rows


@triton.jit
def unsqueeze(x, dim: tl.constexpr):
    return tl.expand_dims(x, dim)


@triton.jit
def squeeze(x, dim: tl.constexpr):
    RANK: tl.constexpr = len(x.shape)
    AT: tl.constexpr = dim + RANK if dim < 0 else dim
    tl.static_assert(0 <= AT and AT < RANK, "tl.squeeze: no such dimension")
    tl.static_assert(x.shape[AT] == 1, "tl.squeeze removes a dimension of size 1")
    if RANK == 1:
        y = x.item()
    else:
        y = tl.reshape(x, x.shape[:AT] + x.shape[AT + 1:])
    return y


@triton.jit
def topk(x, k: tl.constexpr, dim: tl.constexpr = None, descending: tl.constexpr = True):
    LAST: tl.constexpr = len(x.shape) - 1
    tl.static_assert(dim is None or dim == LAST, "tl.topk works along the last dimension only")
    tl.static_assert(k <= x.shape[LAST], "tl.topk: k is larger than the dimension")
    index = tl.arange(0, k)
    for _axis in tl.static_range(LAST):
        index = tl.expand_dims(index, 0)
    top = tl.gather(tl.sort(x, None, descending), tl.broadcast_to(index, x.shape[:-1] + (k,)), LAST)
    # Triton leaves elements out with tl.max, which widens.
    if x.dtype.primitive_bitwidth >= 32 or (k == x.shape[LAST] and k > 1):
        return top
    else:
        return top.to(tl.float32 if x.dtype.is_floating() else tl.int32)


@triton.jit
def bitonic_merge(x, dim: tl.constexpr = None, descending: tl.constexpr = False):
    return tl.sort(x, dim, descending)


@triton.jit
def _sum_combine(a, b):
    return a + b


@triton.jit
def _prod_combine(a, b):
    return a * b


@triton.jit
def _xor_combine(a, b):
    return a ^ b


@triton.jit
def _or_combine(a, b):
    return a | b


@triton.jit
def _elementwise_max(a, b):
    return tl.maximum(a, b)


@triton.jit
def _elementwise_min(a, b):
    return tl.minimum(a, b)


@triton.jit
def _argmax_combine_tie_break_left(value1, index1, value2, index2):
    first = (value1 > value2) | ((value1 == value2) & (index1 < index2))
    return tl.where(first, value1, value2), tl.where(first, index1, index2)


@triton.jit
def _argmax_combine_tie_break_fast(value1, index1, value2, index2):
    first = value1 > value2
    return tl.where(first, value1, value2), tl.where(first, index1, index2)


@triton.jit
def _argmin_combine_tie_break_left(value1, index1, value2, index2):
    first = (value1 < value2) | ((value1 == value2) & (index1 < index2))
    return tl.where(first, value1, value2), tl.where(first, index1, index2)


@triton.jit
def _argmin_combine_tie_break_fast(value1, index1, value2, index2):
    first = value1 < value2
    return tl.where(first, value1, value2), tl.where(first, index1, index2)


@triton.constexpr_function
def _is_power_of_two(i):
    return i > 0 and (i & (i - 1)) == 0


@triton.constexpr_function
def _log2(i):
    result = 0
    while i > 1:
        i >>= 1
        result += 1
    return result
)";

std::shared_ptr<const language::Program> parsed(const char *path,
                                                const std::string &text) {
  return language::Program::load(
      path, kImports + text, [](const std::string &) { return std::nullopt; });
}

// Parsed separately, because most kernels do not call libdevice.
const language::Program &libdevice() {
  static const std::shared_ptr<const language::Program> program = parsed(
      "tessera/libdevice.py",
      std::string(kLibdeviceText) + kLibdeviceElementaryText +
          kLibdeviceBitsText + libdeviceRoundingText() + kLibdeviceSpecialText);
  return *program;
}

} // namespace

const language::Program &prelude() {
  static const std::shared_ptr<const language::Program> program =
      parsed("tessera/prelude.py", std::string(kText) + kPreludeAtomicsText);
  return *program;
}

const language::FunctionDef *preludeFunction(std::string_view name) {
  return prelude().main().findFunction(name);
}

const language::FunctionDef *libdeviceFunction(std::string_view name) {
  return libdevice().main().findFunction("libdevice_" + std::string(name));
}

const language::Program *
preludeOf(const std::shared_ptr<const SourceFile> &file) {
  if (!file || file->path().rfind("tessera/", 0) != 0)
    return nullptr;
  if (file == prelude().main().file)
    return &prelude();
  return file == libdevice().main().file ? &libdevice() : nullptr;
}

} // namespace tessera::semantics
