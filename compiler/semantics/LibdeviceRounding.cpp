// compiler/semantics/LibdeviceRounding.cpp - libdevice: arithmetic and
// conversions rounded in a direction.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/semantics/Prelude.h"

namespace tessera::semantics {

namespace {

// Helpers of directed rounding. float64 holds a product of float32 exactly, and
// of a sum the value or its rounding error. One step to the neighbouring number
// then suffices. A quotient or root of float32 is at least 2^-49 away from each
// float32 that it does not equal.
const char *const kHelpers = R"py(

@triton.constexpr_function
def _is_fp64(x):
    return x == tl.float64


@triton.jit
def _toward(result, rest, mode: tl.constexpr):
    # `result` is the float nearest to an exact value that lies `rest` (its sign counts) beyond it: the
    # neighbour in the direction of `mode`, "d" down, "u" up, "z" to zero, "n" the nearest.
    if mode == "n":
        moved = result
    else:
        down = (rest < 0.0) & (result == result)
        up = (rest > 0.0) & (result == result)
        if mode == "d":
            up = up & (rest < rest)
        elif mode == "u":
            down = down & (rest < rest)
        else:
            down = down & (result > 0.0)
            up = up & (result < 0.0)
        bits = _bits(result)
        step = tl.where(down == (result > 0.0), -1, 1)
        SIGN: tl.constexpr = _sign_bit(result.dtype)
        near = tl.where(result == 0.0, tl.where(down, SIGN + 1, 1), bits + step)
        moved = tl.where(down | up, _from_bits(near.to(bits.dtype)), result)
    return moved


@triton.jit
def _narrow(x, rest, mode: tl.constexpr):
    # The float64 x + rest, rest below an ulp of x, as a float32.
    result = x.to(tl.float32)
    wide = result.to(tl.float64)
    beyond = tl.where(x == wide, rest, x - wide)
    return _toward(result, tl.where(tl.abs(x) == float("inf"), 0.0, beyond), mode)


@triton.jit
def _sum64(x, y):
    # x + y and what its rounding lost (Knuth's two-sum).
    total = x + y
    part = total - x
    return total, (x - (total - part)) + (y - part)


@triton.jit
def _add_as(x, y, mode: tl.constexpr):
    x = _float(x)
    y = _float(y)
    total, rest = _sum64(x.to(tl.float64), y.to(tl.float64))
    result = _narrow(total, rest, mode)
    if mode == "d":
        # A sum of opposite numbers is -0 when rounded down.
        result = tl.where((result == 0.0) & ((_bits(x) < 0) | (_bits(y) < 0)), -0.0, result)
    return result


@triton.jit
def _mul_as(x, y, mode: tl.constexpr):
    x = _float(x)
    return _narrow(x.to(tl.float64) * _float(y).to(tl.float64), 0.0, mode)


@triton.jit
def _div_as(x, y, mode: tl.constexpr):
    x = _float(x)
    return _narrow(x.to(tl.float64) / _float(y).to(tl.float64), 0.0, mode)


@triton.jit
def _fma_as(x, y, z, mode: tl.constexpr):
    x = _float(x)
    product = x.to(tl.float64) * _float(y).to(tl.float64)
    total, rest = _sum64(product, _float(z).to(tl.float64))
    result = _narrow(total, rest, mode)
    if mode == "d":
        minus = ((product < 0.0) | (z < 0.0)) | ((_bits(x) < 0) != (_bits(y) < 0)) | (_bits(z) < 0)
        result = tl.where((total == 0.0) & minus, -0.0, result)
    return result


@triton.jit
def _sqrt_as(x, mode: tl.constexpr):
    x = _float(x)
    return _narrow(tl.sqrt(x.to(tl.float64)), 0.0, mode)


@triton.jit
def _rcp_as(x, mode: tl.constexpr):
    x = _float(x)
    return _narrow(1.0 / x.to(tl.float64), 0.0, mode)


@triton.jit
def _double2float(x, mode: tl.constexpr):
    x = tl.to_tensor(x)
    tl.static_assert(_is_fp64(x.dtype.scalar), "this function of libdevice takes float64")
    return _narrow(x, 0.0, mode)


@triton.jit
def _whole(x, mode: tl.constexpr):
    if mode == "n":
        result = tl.math.rint(x)
    elif mode == "d":
        result = tl.floor(x)
    elif mode == "u":
        result = tl.ceil(x)
    else:
        result = tl.math.trunc(x)
    return result


@triton.jit
def _to_whole(x, dtype: tl.constexpr, mode: tl.constexpr):
    # What does not fit becomes the nearest that does, NaN 0 (in 64 bits the sign bit alone).
    LONG: tl.constexpr = dtype.primitive_bitwidth == 64
    MOST: tl.constexpr = 2.0 ** (dtype.primitive_bitwidth - (1 if dtype.is_int_signed() else 0))
    LEAST: tl.constexpr = -MOST if dtype.is_int_signed() else 0.0
    LARGEST: tl.constexpr = int(MOST) - 1
    SMALLEST: tl.constexpr = int(LEAST)
    wide = _whole(_real(x), mode).to(tl.float64)
    inside = (wide >= LEAST) & (wide < MOST)
    number = tl.where(inside, wide, 0.0)
    if LONG:
        if dtype.is_int_signed():
            whole = number.to(tl.int64)
        else:
            high = number >= 9223372036854775808.0
            part = tl.where(high, number - 9223372036854775808.0, number).to(tl.int64).to(tl.uint64, bitcast=True)
            whole = tl.where(high, part + 9223372036854775808, part)
        none: tl.constexpr = -0x8000000000000000 if dtype.is_int_signed() else 0x8000000000000000
    else:
        whole = number.to(tl.int64).to(dtype)
        none: tl.constexpr = 0
    whole = tl.where(wide >= MOST, LARGEST, whole)
    whole = tl.where(wide < LEAST, SMALLEST, whole)
    return tl.where(wide != wide, none, whole)


@triton.jit
def _of_whole(x, dtype: tl.constexpr, to: tl.constexpr, mode: tl.constexpr):
    # `dtype` says how to read the bits. Halves of 32 bits are exact in float64.
    x = tl.to_tensor(x)
    if dtype.primitive_bitwidth == 32:
        total = x.to(dtype, bitcast=True).to(tl.float64)
        rest = 0.0
    else:
        x = x.to(dtype, bitcast=True)
        low = (x & 0xFFFFFFFF).to(tl.uint32).to(tl.float64)
        high = (x >> 32).to(tl.float64) * 4294967296.0
        total, rest = _sum64(high, low)
    if to == tl.float32:
        result = _narrow(total, rest, mode)
    else:
        result = _toward(total, rest, mode)
    return result
)py";

// Returns the text of a function that calls a helper.
std::string wrapper(const std::string &name, const std::string &parameters,
                    const std::string &body) {
  return "\n\n@triton.jit\ndef libdevice_" + name + "(" + parameters +
         "):\n    return " + body + "\n";
}

// Returns the text of all functions for one rounding mode: "n", "z", "d" or
// "u".
std::string wrappersOf(const std::string &mode) {
  const std::string quoted = "\"" + mode + "\"", suffix = "_r" + mode;
  struct Operation {
    const char *name, *parameters;
  };
  constexpr Operation kOperations[] = {{"add", "x, y"}, {"mul", "x, y"},
                                       {"div", "x, y"}, {"fma", "x, y, z"},
                                       {"sqrt", "x"},   {"rcp", "x"}};
  std::string text;
  for (const auto &[name, parameters] : kOperations)
    // In the mode "n", these two are members of tl.math.
    if (mode != "n" ||
        (name != std::string("div") && name != std::string("sqrt")))
      text += wrapper(name + suffix, parameters,
                      "_" + std::string(name) + "_as(" + parameters + ", " +
                          quoted + ")");
  text += wrapper("sub" + suffix, "x, y",
                  "_add_as(x, _from_bits(_bits(_float(y)) ^ -0x80000000), " +
                      quoted + ")");
  text +=
      wrapper("double2float" + suffix, "x", "_double2float(x, " + quoted + ")");
  constexpr std::pair<const char *, const char *> kIntegers[] = {
      {"int", "int32"}, {"uint", "uint32"}, {"ll", "int64"}, {"ull", "uint64"}};
  for (auto [name, dtype] : kIntegers) {
    const std::string type = "tl." + std::string(dtype);
    for (const char *real : {"float", "double"})
      text += wrapper(std::string(real) + "2" + name + suffix, "x",
                      "_to_whole(x, " + type + ", " + quoted + ")");
    for (const char *real : {"float", "double"})
      text +=
          wrapper(std::string(name) + "2" + real + suffix, "x",
                  "_of_whole(x, " + type + ", tl." +
                      (real == std::string("float") ? "float32" : "float64") +
                      ", " + quoted + ")");
  }
  return text;
}

} // namespace

std::string libdeviceRoundingText() {
  std::string text = kHelpers;
  for (const char *mode : {"n", "z", "d", "u"})
    text += wrappersOf(mode);
  return text;
}

} // namespace tessera::semantics
