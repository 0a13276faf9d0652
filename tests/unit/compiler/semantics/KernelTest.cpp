// tests/unit/compiler/semantics/KernelTest.cpp - one expression at a time, to
// ops.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/compiler/semantics/Harness.h"

#include <gtest/gtest.h>

#include <sstream>

namespace tessera::semantics::test {
namespace {

// The body of a kernel over the arguments below, and lines of its IR in order
// ("no ": absent). x, y: fp32[16]; h, b: fp16[16], bf16[16]; i, u: int32[16],
// uint32[16]; n: int32; p: *fp32; m: fp32[16, 16].
struct Case {
  const char *name;
  const char *body;
  std::vector<std::string> lines;
};

class Ops : public testing::TestWithParam<Case> {};

TEST_P(Ops, Lowers) {
  std::string text = "@triton.jit\n"
                     "def k(p, hp, bp, ip, up, n, s, N: tl.constexpr):\n"
                     "    r = tl.arange(0, 16)\n"
                     "    x = tl.load(p + r)\n"
                     "    y = tl.load(p + 16 + r)\n"
                     "    h = tl.load(hp + r)\n"
                     "    b = tl.load(bp + r)\n"
                     "    i = tl.load(ip + r)\n"
                     "    u = tl.load(up + r)\n"
                     "    m = tl.load(p + r[:, None] * 16 + r[None, :])\n";
  std::istringstream body(GetParam().body);
  for (std::string line; std::getline(body, line);)
    text += "    " + line + "\n";
  Lowered lowered =
      lower(text, "k",
            {arg("p", "*fp32:16"), arg("hp", "*fp16"), arg("bp", "*bf16"),
             arg("ip", "*i32"), arg("up", "*u32"), arg("n", "i32"),
             arg("s", "fp32"), constant("N", language::Value(8))});
  ASSERT_EQ(lowered.message, "");
  EXPECT_EQ(missing(lowered.ir, GetParam().lines), "")
      << GetParam().body << "\n"
      << lowered.ir;
}

const Case kCases[] = {
    {"AddFloats", "x + y", {"arith.addf %", "tensor<16xf32>"}},
    {"HalfStaysHalf", "h * 2.0", {"arith.mulf %", "tensor<16xf16>"}},
    {"HalfDividesInFp32",
     "h / h",
     {"tile.convert", "tensor<16xf16> -> tensor<16xf32>", "arith.divf",
      "tensor<16xf32>"}},
    {"HalfWithBf16IsHalf",
     "h + b",
     {"tensor<16xbf16> -> tensor<16xf32>", "tensor<16xf32> -> tensor<16xf16>",
      "arith.addf %", "tensor<16xf16>"}},
    {"Bf16WithIntIsFp32",
     "b + i",
     {"tensor<16xbf16> -> tensor<16xf32>", "arith.sitofp", "arith.addf %",
      "tensor<16xf32>"}},
    {"IntDividesInFp32",
     "i / i",
     {"arith.sitofp", "arith.sitofp", "arith.divf %", "tensor<16xf32>"}},
    {"FloorDivTruncates", "i // 3", {"arith.divsi"}},
    {"UnsignedFloorDiv", "u // 3", {"arith.divui"}},
    {"Modulo", "i % 3", {"arith.remsi"}},
    {"ConstexprFloors", "i + (-7 // 2)", {"dense<-4> : tensor<16xi32>"}},
    {"MixedSignsAdd", "i + u", {"arith.addi"}},
    {"ShiftRightSigned", "i >> 2", {"arith.shrsi"}},
    {"ShiftRightUnsigned", "u >> 2", {"arith.shrui"}},
    {"UnsignedCompare", "u < 3", {"arith.cmpi ult"}},
    {"SignedCompare", "i < 3", {"arith.cmpi slt"}},
    {"FloatNotEqual", "x != y", {"arith.cmpf une"}},
    {"FloatLess", "x < y", {"arith.cmpf olt"}},
    {"Negate", "-x", {"arith.negf", "no arith.subf"}},
    {"Invert", "~(x < y)", {"dense<true>", "arith.xori"}},
    {"NotScalar", "not (n < 3)", {"arith.cmpi slt", "arith.xori", ": i1"}},
    {"NotTuple",
     "tl.store(p, 7.0 if not (n, s) else 5.0)",
     {"constant 5.000000e+00", "no 7.000000e+00"}},
    {"NotEmptyTuple",
     "tl.store(p, 7.0 if not (n, s)[2:] else 5.0)",
     {"constant 7.000000e+00", "no 5.000000e+00"}},
    {"AndScalars", "(n < 3) and (n > 1)", {"arith.andi", ": i1"}},
    {"OrDropsConstexpr", "(N > 100) or (n > 1)", {"cmpi sgt", "no arith.ori"}},
    {"PointerPlusScalar", "p + n", {"tile.addptr %arg0, %arg5"}},
    {"PointerMinus", "p - n", {"arith.subi", "tile.addptr"}},
    {"UnsignedOffsetExtends",
     "p + u",
     {"arith.extui", "tile.addptr", "tensor<16xi64>"}},
    {"Exp", "tl.exp(x)", {"math.exp "}},
    {"MathSpelling", "tl.math.exp2(x)", {"math.exp2 "}},
    {"Rsqrt", "tl.rsqrt(x)", {"math.rsqrt"}},
    {"MethodSpelling", "x.sqrt()", {"math.sqrt"}},
    {"AbsInt", "tl.abs(i)", {"math.absi"}},
    {"AbsUnsignedIsNothing", "tl.abs(u)", {"no math.abs"}},
    {"Maximum", "tl.maximum(x, y)", {"arith.maxnumf"}},
    {"MaximumNan",
     "tl.maximum(x, y, propagate_nan=tl.PropagateNan.ALL)",
     {"arith.maximumf"}},
    {"MaximumOfPythonFloatKeepsTheType",
     "tl.maximum(h, 0.1)",
     {"arith.maxnumf", "no tile.convert"}},
    {"MinimumUnsigned", "tl.minimum(u, u)", {"arith.minui"}},
    {"Clamp", "tl.clamp(x, 0.0, 1.0)", {"arith.maxnumf", "arith.minnumf"}},
    {"Sigmoid",
     "tl.sigmoid(x)",
     {"arith.negf", "math.exp ", "arith.addf", "arith.divf"}},
    {"Softmax",
     "tl.softmax(x)",
     {"tile.reduce  max", "arith.subf", "math.exp ", "tile.reduce  sum",
      "arith.divf"}},
    {"Fma", "tl.fma(x, y, x)", {"math.fma"}},
    {"Where", "tl.where(x < y, x, 0)", {"dense<0.000000e+00>", "arith.select"}},
    {"WhereScalarCondition",
     "tl.where(n < 3, x, y)",
     {"arith.select %", "tensor<16xf32>"}},
    {"CdivScalar", "tl.cdiv(n, 16)", {"arith.addi", "arith.divsi"}},
    {"CdivConstexpr",
     "tl.arange(0, triton.next_power_of_2(tl.cdiv(N * 5, 16)))",
     {"tile.range 0, 4 : tensor<4xi32>"}},
    {"Dot",
     "tl.dot(m, m)",
     {"tile.dot", "tf32",
      "tensor<16x16xf32>, tensor<16x16xf32> -> "
      "tensor<16x16xf32>"}},
    {"DotIeee", "tl.dot(m, m, input_precision='ieee')", {"tile.dot", "ieee"}},
    {"DotNoTf32", "tl.dot(m, m, allow_tf32=False)", {"tile.dot", "ieee"}},
    {"DotFp16Result",
     "tl.dot(m.to(tl.float16), m.to(tl.float16), out_dtype=tl.float16)",
     {"tensor<16x16xf16>, tensor<16x16xf16> -> tensor<16x16xf32>",
      "tile.convert", "tensor<16x16xf32> -> tensor<16x16xf16>"}},
    {"Transpose", "m.T", {"tile.trans %", "[1, 0]"}},
    {"Trans", "tl.trans(m)", {"tile.trans %", "[1, 0]"}},
    {"Permute3",
     "tl.permute(m[:, :, None], (2, 0, 1))",
     {"tile.trans %", "[2, 0, 1]",
      "tensor<16x16x1xf32> -> tensor<1x16x16xf32>"}},
    {"Reshape", "m.reshape(N, 32)", {"tile.reshape", "tensor<8x32xf32>"}},
    {"ReshapeTuple", "tl.reshape(m, (4, 64))", {"tensor<4x64xf32>"}},
    {"Ravel", "tl.ravel(m)", {"tensor<256xf32>"}},
    {"BroadcastTo",
     "tl.broadcast_to(x[:, None], (16, 4))",
     {"tile.broadcast", "tensor<16x4xf32>"}},
    {"Join", "tl.join(x, y)", {"tile.join", "tensor<16x2xf32>"}},
    {"Split",
     "a, c = tl.split(tl.join(x, y))\na + c",
     {"tile.split", "arith.addf"}},
    {"Sum", "tl.sum(m, axis=1)", {"tile.reduce  sum", ", 1", "tensor<16xf32>"}},
    {"SumAll",
     "tl.sum(m)",
     {"tile.reshape", "tile.reduce  sum", "tensor<256xf32> -> f32"}},
    {"SumKeepDims",
     "tl.sum(m, axis=1, keep_dims=True)",
     {"tile.reduce  sum", "tile.expand_dims", "tensor<16x1xf32>"}},
    {"SumOfMask",
     "tl.sum(x < y)",
     {"arith.extui", "tile.reduce  sum", "tensor<16xi32> -> i32"}},
    {"SumOfHalf",
     "tl.sum(h)",
     {"tensor<16xf16> -> tensor<16xf32>", "tile.reduce  sum", "tile.convert",
      "f32 -> f16"}},
    {"MaxOfHalfIsFp32",
     "tl.max(h) + s",
     {"tensor<16xf16> -> tensor<16xf32>", "tile.reduce  max", "arith.addf"}},
    {"MaxUnsigned", "tl.max(u)", {"tile.reduce  umax"}},
    {"MaxWithIndex",
     "v, at = tl.max(x, axis=0, return_indices=True)\nat + n",
     {"tile.reduce  max", "tile.reduce  argmax", "tensor<16xf32> -> i32",
      "arith.addi"}},
    {"Argmin", "tl.argmin(x, 0)", {"tile.reduce  argmin"}},
    {"CumsumReverse",
     "tl.cumsum(x, 0, reverse=True)",
     {"tile.scan  sum", "reverse"}},
    {"Histogram", "tl.histogram(i, 8)", {"tile.histogram", "tensor<8xi32>"}},
    {"Gather", "tl.gather(x, i, 0)", {"tile.gather"}},
    {"Flip",
     "tl.flip(x, 0)",
     {"tile.range 0, 16", "arith.subi", "tile.gather"}},
    {"CastToBool", "x.to(tl.int1)", {"arith.cmpf une"}},
    {"CastKeepsType",
     "x.to(tl.float32, fp_downcast_rounding='rtne')",
     {"no tile.convert"}},
    {"CastToUnsigned", "x.to(tl.uint32)", {"arith.fptoui"}},
    {"CastToByte", "x.to(tl.uint8)", {"arith.fptosi", "arith.trunci"}},
    {"CastBoolToFloat", "(x < y).to(tl.float32)", {"arith.uitofp"}},
    {"CastNarrows",
     "x.to(tl.bfloat16)",
     {"tile.convert", "rtne", "tensor<16xbf16>"}},
    {"CastTowardZero",
     "x.to(tl.bfloat16, fp_downcast_rounding='rtz')",
     {"tile.convert", "rtz"}},
    {"Bitcast", "x.to(tl.int32, bitcast=True)", {"tile.bitcast"}},
    {"CastThroughDtype",
     "x.to(hp.dtype.element_ty)",
     {"tensor<16xf32> -> tensor<16xf16>"}},
    {"LoadMasked",
     "tl.load(p + r, mask=r < n, other=0.0)",
     {"tile.load %", "mask %", "other %"}},
    {"LoadMaskBroadcast",
     "tl.load(p + r[:, None] + r[None, :], mask=(r < n)[:, None])",
     {"tile.broadcast", "tensor<16x16xi1>", "tile.load"}},
    {"StoreConverts",
     "tl.store(hp + r, x)",
     {"tile.convert", "tile.store %", "tensor<16xf16>"}},
    {"StoreScalarToBlock", "tl.store(p + r, 0.0)", {"dense<0.0", "tile.store"}},
    {"BlockPointer",
     "q = tl.make_block_ptr(p, (n, 16), (16, 1), (0, 0), (8, 16), (1, 0))\n"
     "v = tl.load(q, boundary_check=(0,), padding_option='zero')\n"
     "q = tl.advance(q, (8, 0))\n"
     "tl.store(q, v)",
     {"arith.cmpi sge", "arith.cmpi slt", "tile.load", "mask", "other",
      "tile.store"}},
    {"AtomicAdd", "tl.atomic_add(p + r, x)", {"tile.atomic_rmw  fadd"}},
    {"AtomicMaxInt",
     "tl.atomic_max(ip + r, i, mask=r < n)",
     {"tile.atomic_rmw  max", "mask"}},
    {"AtomicCas", "tl.atomic_cas(ip, 0, 1)", {"tile.atomic_cas"}},
    {"ProgramId",
     "tl.program_id(axis=1) + tl.num_programs(0)",
     {"tile.program_id 1", "tile.num_programs 0"}},
    {"Assume", "tl.assume(n > 0)", {"tile.assume"}},
    {"Full",
     "tl.full((N, 4), float('-inf'), tl.float32)",
     {"dense<0xFF800000> : tensor<8x4xf32>"}},
    {"ZerosLike", "tl.zeros_like(h) + h", {"dense<0.0", "tensor<16xf16>"}},
    {"HintsPass", "tl.multiple_of(n, 16) + 1", {"arith.addi"}},
    {"AssignedNumberIsRunTime",
     "half = 0.5\nb * half",
     {"tensor<16xbf16> -> tensor<16xf32>", "arith.mulf %", "tensor<16xf32>"}},
    {"AnnotatedNumberStaysWeak",
     "half: tl.constexpr = 0.5\nb * half",
     {"dense<5.000000e-01> : tensor<16xbf16>", "arith.mulf"}},
    {"TupleSwap", "a, c = x, y\na, c = c, a\na - c", {"arith.subf"}},
    {"ShapeQuery", "tl.arange(0, m.shape[1])", {"tile.range 0, 16"}},
    {"TernaryConstexpr",
     "x + (1.0 if N == 8 else 2.0)",
     {"no scf.if", "arith.addf"}},
    {"TernaryRunTime",
     "s + (1.0 if n > 0 else 2.0)",
     {"scf.if", "-> (f32)", "scf.yield"}},
    {"PythonMinMax",
     "tl.arange(0, min(N, 4))\nmax(n, 3)",
     {"tile.range 0, 4", "arith.maxsi"}},
    {"StaticAssertHolds", "tl.static_assert(N == 8, 'eight')", {"return"}},
    {"DtypePredicate",
     "if h.dtype.is_fp16():\n    h = h + h",
     {"arith.addf %", "tensor<16xf16>", "no scf.if"}},
};

INSTANTIATE_TEST_SUITE_P(All, Ops, testing::ValuesIn(kCases),
                         [](const auto &info) { return info.param.name; });

TEST(Kernel, DivisibilityAndNames) {
  Lowered lowered = lower("@triton.jit\n"
                          "def k(p, n, one):\n"
                          "    tl.store(p, n + one)\n",
                          "k",
                          {arg("p", "*i32:16"), arg("n", "i32:16"),
                           constant("one", language::Value(1))});
  EXPECT_EQ(missing(lowered.ir,
                    {"func.func @k(%arg0: !tile.ptr<i32> {tile.divisibility = "
                     "16 : i32}, %arg1: i32 {tile.divisibility = 16 : i32})",
                     "constant 1 : i32", "arith.addi", "tile.store"}),
            "")
      << lowered.message << lowered.ir;
}

TEST(Kernel, BooleansAreBytesInMemory) {
  Lowered lowered = lower("@triton.jit\n"
                          "def k(p):\n"
                          "    v = tl.load(p)\n"
                          "    tl.store(p + 1, ~v)\n",
                          "k", {arg("p", "*i1")});
  EXPECT_EQ(missing(lowered.ir, {"!tile.ptr<i8>", "tile.load", "arith.cmpi ne",
                                 "arith.xori", "arith.extui", "tile.store"}),
            "")
      << lowered.message << lowered.ir;
}

TEST(Kernel, DefaultPrecisionComesFromTheRequest) {
  std::string text = "@triton.jit\n"
                     "def k(p):\n"
                     "    r = tl.arange(0, 16)\n"
                     "    m = tl.load(p + r[:, None] * 16 + r[None, :])\n"
                     "    tl.store(p, tl.sum(tl.dot(m, m)))\n";
  EXPECT_EQ(missing(lower(text, "k", {arg("p", "*fp32")}, "ieee").ir,
                    {"tile.dot", "ieee"}),
            "");
}

TEST(Kernel, StaticPrintIsANote) {
  Lowered lowered =
      lower("@triton.jit\n"
            "def k(p, N: tl.constexpr):\n"
            "    for i in range(0, 4):\n"
            "        tl.static_print('N is', N)\n",
            "k", {arg("p", "*fp32"), constant("N", language::Value(3))});
  ASSERT_EQ(lowered.notes.size(), 1u) << lowered.message;
  EXPECT_EQ(lowered.notes[0].message, "N is 3");
  EXPECT_EQ(lowered.notes[0].range.line, 6u);
}

} // namespace
} // namespace tessera::semantics::test
