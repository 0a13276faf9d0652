// tests/unit/compiler/semantics/ErrorTest.cpp - every diagnostic, with its
// location.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/semantics/Quote.h"
#include "tests/unit/compiler/semantics/Harness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace tessera::semantics::test {
namespace {

// The last line of `body` contains the error; its caret points to the text
// `at`. Each body follows the prelude below.
struct ErrorCase {
  const char *name;
  DiagnosticId id;
  const char *body;
  const char *at;
  const char *says; // a part of message or hint
};

const char *const kPrelude = "def plain(x):\n"
                             "    return x\n"
                             "@triton.jit\n"
                             "def helper(x, by=1):\n"
                             "    return x * by\n"
                             "@triton.jit\n"
                             "def named(x, *, by=1):\n"
                             "    return x * by\n"
                             "@triton.jit\n"
                             "def again(x):\n"
                             "    return again(x)\n"
                             "@triton.jit\n"
                             "def uneven(n):\n"
                             "    if n > 3: return n\n"
                             "    return 1.5\n"
                             "@triton.constexpr_function\n"
                             "def log(n):\n"
                             "    return n\n"
                             "@triton.constexpr_function\n"
                             "def forever(n):\n"
                             "    while True: n = n + 1\n"
                             "@triton.jit\n"
                             "def both(a, b):\n"
                             "    return a, b\n"
                             "@triton.jit\n"
                             "def totals(v):\n"
                             "    return tl.sum(v, axis=0)\n"
                             "@triton.jit\n"
                             "def stores(v):\n"
                             "    if v > 0: tl.device_print('v', v)\n"
                             "    return v\n"
                             "@triton.jit\n"
                             "def k(p, u, n, N: tl.constexpr):\n"
                             "    r = tl.arange(0, 16)\n"
                             "    x = tl.load(p + r)\n"
                             "    m = tl.load(p + r[:, None] + r[None, :])\n"
                             "    w = tl.load(u + r)\n";

using Id = DiagnosticId;

const ErrorCase kErrorCases[] = {
    {"UnknownName", Id::UnknownName, "rows = r\ny = rwos + 1", "rwos",
     "did you mean `rows`"},
    {"LostName", Id::UnknownName, "if n > 3:\n    y = 1\nz = y", "y",
     "one arm only"},
    {"LoopLocal", Id::UnknownName, "for i in range(n):\n    y = i\nz = y", "y",
     "only inside the loop"},
    {"UnknownBuiltin", Id::NotSupported, "y = tl.lod(p)", "tl.lod",
     "`tl.load`"},
    {"Power", Id::NotSupported, "y = x ** 2", "x ** 2", "x * x"},
    {"PlainFunction", Id::NotSupported, "y = plain(x)", "plain(x)",
     "@triton.jit"},
    {"IndexWithNumber", Id::NotSupported, "y = x[0]", "0", "None and `:`"},
    {"Break", Id::UnsupportedSyntax, "for i in range(n):\n    break", "break",
     "`if`"},
    {"AssignElement", Id::UnsupportedSyntax, "x[0] = 1", "x[0]", "tl.where"},
    {"DoubledTuple", Id::TooComplex,
     "t = (1,)\nfor i in tl.static_range(18):\n    t = t + t", "t + t",
     "at most 100000"},
    {"NestedTuple", Id::TooComplex,
     "t = (1,)\nfor i in tl.static_range(18):\n    t = (t, t)", "(t, t)",
     "at most 100000"},
    {"RepeatedTuple", Id::TooComplex, "t = (1,) * 1000\ny = t * 1000",
     "t * 1000", "at most 100000"},
    {"SpreadTuple", Id::TooComplex,
     "t = (1,)\nfor i in tl.static_range(18):\n    t = (*t, *t)", "(*t, *t)",
     "at most 100000"},
    {"ListOfTuples", Id::TooComplex, "t = (1,) * 1000\ny = [t for i in t]",
     "[t for", "at most 100000"},
    {"DoubledText", Id::ConstantArithmetic,
     "t: tl.constexpr = 'ab'\nfor i in tl.static_range(18):\n"
     "    t: tl.constexpr = t + t",
     "t + t", "too long"},
    {"DoubledFormattedText", Id::ConstantArithmetic,
     "t: tl.constexpr = 'ab'\nfor i in tl.static_range(40):\n"
     "    t: tl.constexpr = f'{t}{t}'",
     "f'{t}{t}'", "longer than 100000"},
    {"LongTextInAHint", Id::ConstantArithmetic,
     "t: tl.constexpr = 'ab'\nfor i in tl.static_range(10):\n"
     "    t: tl.constexpr = t + t\ny = t * t",
     "t * t", "ababababababababababababababababababab... (2048 bytes)"},
    {"UnknownAttribute", Id::UnknownAttribute, "y = x.dtyp", "dtyp", "dtype"},
    {"UnknownKeyword", Id::UnknownKeyword, "y = tl.load(p + r, msk=r < n)",
     "msk", "did you mean `mask`"},
    {"HelperKeyword", Id::UnknownKeyword, "y = helper(x, bi=2)", "bi", "`by`"},
    {"MissingArgument", Id::MissingArgument, "tl.store(p)", "tl.store(p)",
     "`value`"},
    {"HelperMissing", Id::MissingArgument, "y = helper()", "helper()", "`x`"},
    {"TooMany", Id::TooManyArguments, "y = tl.exp(x, x)", "x)", "at most 1"},
    {"GivenTwice", Id::DuplicateArgument, "y = helper(x, x=1)", "x=1", "twice"},
    {"NotCallable", Id::NotCallable, "y = tl.float32(x)", "tl.float32", ".to("},
    {"ChainedComparison", Id::ChainedComparison, "y = 0 < r & r < 3",
     "0 < r & r < 3", "(0 < r) & (r < 3)"},
    {"ShapesDoNotBroadcast", Id::ShapeMismatch, "y = x + tl.arange(0, 8)",
     "x + tl.arange(0, 8)", "16 and 8"},
    {"NoneBehindTheLastAxis", Id::ShapeMismatch, "y = n[:, None]", "None",
     "too many `:`"},
    {"DotShapes", Id::ShapeMismatch,
     "y = tl.dot(m, tl.zeros((32, 16), tl.float32))", "tl.zeros((32",
     "16 columns"},
    {"DotTypes", Id::TypeMismatch, "y = tl.dot(m, m.to(tl.float16))", "m.to",
     "one type"},
    {"DotAccumulator", Id::TypeMismatch, "y = tl.dot(m, m, x)", "x)", "`acc`"},
    {"StoreNeedsPointer", Id::BadPointer, "tl.store(n, 1)", "n, 1",
     "must be a pointer"},
    {"PointerPlusFloat", Id::BadPointer, "y = p + 1.5", "p + 1.5",
     "needs an integer"},
    {"PointerTimes", Id::BadPointer, "y = p * 2", "p * 2", "tl.load"},
    {"MaskNotBoolean", Id::BadArgument, "y = tl.load(p + r, mask=r)", "mask=r",
     "boolean"},
    {"OtherWithoutMask", Id::BadArgument, "y = tl.load(p + r, other=0.0)",
     "other=0.0", "needs a mask"},
    {"AxisOutside", Id::BadArgument, "y = tl.sum(x, axis=1)", "axis=1",
     "rank 1"},
    {"ProgramAxis", Id::BadArgument, "y = tl.program_id(3)", "3", "0, 1 and 2"},
    {"ExpOfInt", Id::BadArgument, "y = tl.exp(r)", "r)", "tl.float32"},
    {"RunTimeShape", Id::NotConstexpr, "y = tl.arange(0, n)", "n)",
     "tl.constexpr"},
    {"AssignedIsRunTime", Id::NotConstexpr, "B = N * 2\ny = tl.arange(0, B)",
     "B)", "annotate"},
    {"StaticRangeBound", Id::NotConstexpr, "for i in tl.static_range(n): pass",
     "tl.static_range(n)", "use range"},
    {"NotPowerOfTwo", Id::BlockShape, "y = tl.arange(0, 12)",
     "tl.arange(0, 12)", "use 16"},
    {"TooLarge", Id::BlockSize, "y = tl.zeros((2048, 1024), tl.float32)",
     "(2048", "1048576"},
    {"FloatFloorDiv", Id::BadOperand, "y = x // 2", "x // 2", "tl.floor"},
    {"FloatBits", Id::BadOperand, "y = x & x", "x & x", "integers"},
    {"NotOfInteger", Id::BadOperand, "y = not n", "not n", "compare with 0"},
    {"MixedSigns", Id::MixedSigns, "y = w // r", "w // r", "signed"},
    {"NegativeWithUnsigned", Id::MixedSigns, "y = w + (-1)", "w + (-1)",
     "negative"},
    {"IntegerRange", Id::IntegerRange, "y = r + 5000000000", "r + 5000000000",
     "does not fit"},
    {"DivisionByZero", Id::ConstantArithmetic, "y = N // 0", "N // 0", "zero"},
    {"BlockCondition", Id::BadCondition, "if x > 0: pass", "x > 0", "tl.where"},
    {"ArmTypes", Id::BranchType, "y = 1\nif n > 3:\n    y = 1.5", "y = 1.5",
     "int32 before"},
    {"TernaryTypes", Id::BranchType, "y = 1 if n > 3 else 2.0",
     "1 if n > 3 else 2.0", "int32 and fp32"},
    {"CarriedType", Id::LoopCarriedType,
     "y = 0\nfor i in range(n):\n    y = y + 0.5", "y = y + 0.5", "int32"},
    {"CarriedConstexpr", Id::LoopCarriedType,
     "for i in range(n):\n    N = N + 1", "N = N + 1", "another name"},
    {"ForOverNumber", Id::BadLoop, "for i in n: pass", "n", "needs range"},
    {"WhileTrue", Id::BadLoop, "while N > 1: n = n + 1", "N > 1",
     "always true"},
    {"WhileBlock", Id::BadCondition, "while x > 0: pass", "x > 0", "tl.max"},
    {"WhileCarried", Id::LoopCarriedType, "y = 0\nwhile n > 3: y = y + 0.5",
     "y = y + 0.5", "int32"},
    {"ReturnInWhile", Id::BadReturn, "while n > 3:\n    if n > 4: return",
     "return", "inside a loop"},
    {"RunTimeFString", Id::NotConstexpr, "tl.static_assert(N == 8, f'{n}')",
     "n}", "device_print"},
    {"ConstexprFunctionOfRunTime", Id::NotConstexpr, "y = log(n)", "n)",
     "runs while compiling"},
    {"ComprehensionOverBlock", Id::BadLoop, "y = [v for v in x]", "x]",
     "tuple"},
    {"ReduceArity", Id::BadArgument, "y = tl.reduce(x, 0, both)", "both)",
     "one value for each input"},
    {"ReduceOfScalar", Id::BadArgument, "y = tl.reduce(n, 0, helper)", "n, 0",
     "block of numbers"},
    {"ReduceWithoutFunction", Id::NotCallable, "y = tl.reduce(x, 0, 3)",
     "tl.reduce(x, 0, 3)", "@triton.jit"},
    {"SortAxis", Id::NotSupported, "y = tl.sort(m, 0)", "0)", "tl.trans"},
    {"HintLength", Id::BadArgument, "y = tl.multiple_of(r, (8, 8))", "(8, 8)",
     "one number for each"},
    {"BatchSizes", Id::ShapeMismatch,
     "y = tl.dot(m[None, :, :], tl.zeros((2, 16, 16), tl.float32))", "tl.zeros",
     "batches of one size"},
    {"DescriptorStride", Id::BadArgument,
     "y = tl.make_tensor_descriptor(p, [n, n], [1, n], [8, 16])", "[1, n]",
     "rows of a descriptor are contiguous"},
    {"DescriptorBytes", Id::BadArgument,
     "y = tl.make_tensor_descriptor(p, [n, n], [n, 1], [16, 2])", "[16, 2]",
     "make it longer"},
    {"DescriptorOffsets", Id::BadArgument,
     "y = tl.make_tensor_descriptor(p, [n], [1], [16]).load([0, 0])", "[0, 0]",
     "one for each dimension"},
    {"DescriptorValue", Id::ShapeMismatch,
     "tl.make_tensor_descriptor(p, [n], [1], [16]).store([0], 1.0)", "1.0",
     "tl.full([16]"},
    {"LoadOfPointer", Id::UnknownAttribute, "y = p.load([0])", "load",
     "tl.make_tensor_descriptor(p"},
    {"ArangeBelowZero", Id::BadArgument, "y = tl.arange(-8, 0)", "-8",
     "tl.arange(0, 8) - 8"},
    {"ItemOfBlock", Id::ShapeMismatch, "y = x.item()", "x", "tl.sum(x)"},
    {"IsInstance", Id::BadArgument, "y = isinstance(x, tl.load)", "tl.load",
     "tl.tensor"},
    {"GetAttr", Id::UnknownAttribute, "y = getattr(x, 'no')", "x", "default"},
    {"RaiseReached", Id::StaticAssert, "raise ValueError('not nine')",
     "raise ValueError('not nine')", "tl.device_assert"},
    {"AddressOf32Bits", Id::BadPointer, "y = n.to(tl.pi32_t)",
     "n.to(tl.pi32_t)", "tl.int64"},
    {"DotScaled", Id::NotSupported, "y = tl.dot_scaled(m, m)", "tl.dot_scaled",
     "tl.dot"},
    {"Fp8Kind", Id::NotSupported, "y = x.to(tl.float8e4b15)", "tl.float8e4b15",
     "tl.float8e4nv"},
    {"Fp8Sum", Id::BadOperand, "e = x.to(tl.float8e5)\ny = e + 1.0", "e + 1.0",
     "e.to(tl.float16)"},
    {"Fp8Beside", Id::BadOperand, "e = x.to(tl.float8e5)\ny = r * e", "r * e",
     "e.to(tl.float16)"},
    {"Fp8Reduce", Id::BadArgument, "e = x.to(tl.float8e5)\ny = tl.sum(e, 0)",
     "e", "e.to(tl.float32)"},
    {"Fp8Sort", Id::BadArgument, "e = x.to(tl.float8e5)\ny = tl.sort(e)", "e",
     "e.to(tl.float32)"},
    {"Libdevice", Id::NotSupported, "y = tl.extra.libdevice.j0(x)",
     "tl.extra.libdevice.j0", "before the launch"},
    {"CountOfFloats", Id::BadArgument, "y = tl.math.popc(x)", "x",
     "x.to(tl.int32)"},
    {"Clock", Id::NotSupported, "y = tl.extra.cuda.globaltimer()",
     "tl.extra.cuda.globaltimer", "from the host"},
    {"MapPack", Id::BadArgument, "y = tl.map_elementwise(helper, x, pack=3)",
     "pack=3", "power of two"},
    {"MapNothing", Id::MissingArgument, "y = tl.map_elementwise(helper)",
     "tl.map_elementwise(helper)", "map_elementwise(function, x)"},
    {"TypeText", Id::BadArgument, "y = tl.str_to_ty('fp31')", "'fp31'",
     "\"fp32\""},
    {"LargestFloat", Id::BadArgument, "y = x.dtype.get_int_max_value()",
     "x.dtype", "inf"},
    {"InlineAsm", Id::NotSupported,
     "y = tl.inline_asm_elementwise('tanh.approx.f32 $0, $1; exit;', '=f,f', "
     "[x], tl.float32, True, 1)",
     "'tanh", "one instruction"},
    {"InlineAsmOfTwo", Id::NotSupported,
     "y = tl.inline_asm_elementwise('ex2.approx.f32 $0, $1;', '=f,f', [x, x], "
     "tl.float32, True, 1)",
     "[x, x]", "one instruction"},
    {"InlineAsmOfHalf", Id::NotSupported,
     "y = tl.inline_asm_elementwise('ex2.approx.f32 $0, $1;', '=h,h', "
     "[x.to(tl.float16)], tl.float16, True, 1)",
     "[x.to", ".to(tl.float32)"},
    {"InlineAsmPacked", Id::NotSupported,
     "y = tl.inline_asm_elementwise('ex2.approx.f32 $0, $1;', '=r,r', [x], "
     "tl.float32, True, 2)",
     "2)", "pack=1"},
    {"TupleAsPointer", Id::BadPointer, "q = (p + r,)\ny = tl.load(q)", "q)",
     "comma"},
    {"KeywordOnly", Id::TooManyArguments, "y = named(x, 2)", "2)", "by=..."},
    {"FloatBound", Id::BadLoop, "for i in range(0, 1.5): pass", "range(0, 1.5)",
     "integers"},
    {"ZeroStep", Id::BadLoop, "for i in range(0, n, 0): pass", "range(0, n, 0)",
     "zero"},
    {"Unrolls", Id::UnrollLimit, "for i in tl.static_range(100000): pass",
     "tl.static_range", "4096"},
    {"UnrollsNested", Id::UnrollLimit,
     "for i in tl.static_range(4000):\n    for j in tl.static_range(4000):\n"
     "        pass",
     "pass", "500000"},
    {"ReturnInLoop", Id::BadReturn, "for i in range(n):\n    if n > i: return",
     "return", "inside a loop"},
    {"KernelReturnsValue", Id::BadReturn, "return n", "return n", "tl.store"},
    {"StaticAssert", Id::StaticAssert, "tl.static_assert(N == 9, 'nine')",
     "N == 9", "nine"},
    {"Unpacking", Id::BadUnpacking, "a, b, c = n, n", "a, b, c",
     "2 values into 3"},
};

class Errors : public testing::TestWithParam<ErrorCase> {};

Arguments arguments() {
  return {arg("p", "*fp32"), arg("u", "*u32"), arg("n", "i32"),
          constant("N", language::Value(8))};
}

TEST_P(Errors, PointsAtItsLocation) {
  const ErrorCase &param = GetParam();
  std::string text = kPrelude;
  uint32_t line = 2 + uint32_t(std::count(text.begin(), text.end(), '\n'));
  std::istringstream body(param.body);
  std::string last;
  while (std::getline(body, last)) {
    text += "    " + last + "\n";
    ++line;
  }
  Lowered lowered = lower(text, "k", arguments());
  ASSERT_EQ(lowered.errors.size(), 1u) << lowered.message << lowered.ir;
  const Diagnostic &error = lowered.errors[0];
  EXPECT_STREQ(diagnosticName(error.id), diagnosticName(param.id))
      << lowered.message;
  EXPECT_EQ(error.range.line, line) << lowered.message;
  EXPECT_EQ(error.range.column, last.rfind(param.at) + 5) << lowered.message;
  EXPECT_NE((error.message + error.hint).find(param.says), std::string::npos)
      << lowered.message;
}

INSTANTIATE_TEST_SUITE_P(All, Errors, testing::ValuesIn(kErrorCases),
                         [](const auto &info) { return info.param.name; });

TEST(Error, CallersAreListed) {
  Lowered lowered = lower("@triton.jit\n"
                          "def inner(x):\n"
                          "    return x + nope\n"
                          "@triton.jit\n"
                          "def outer(x):\n"
                          "    return inner(x)\n"
                          "@triton.jit\n"
                          "def k(p):\n"
                          "    tl.store(p, outer(1.0))\n",
                          "k", {arg("p", "*fp32")});
  ASSERT_EQ(lowered.errors.size(), 1u) << lowered.message;
  const Diagnostic &error = lowered.errors[0];
  EXPECT_EQ(error.range.line, 5u);
  ASSERT_EQ(error.callers.size(), 2u);
  EXPECT_EQ(error.callers[0].function, "outer");
  EXPECT_EQ(error.callers[0].range.line, 8u);
  EXPECT_EQ(error.callers[1].function, "k");
  EXPECT_EQ(error.callers[1].range.line, 11u);
}

TEST(Error, Recursion) {
  Lowered lowered =
      lower(std::string(kPrelude) + "    again(x)\n", "k", arguments());
  ASSERT_EQ(lowered.errors.size(), 1u) << lowered.message;
  EXPECT_EQ(lowered.errors[0].id, Id::RecursiveCall);
  EXPECT_EQ(lowered.errors[0].range.line, 13u);
}

// Errors in the function that tl.map_elementwise calls, at their location in
// that function.
TEST(Error, FunctionsOfElements) {
  struct Row {
    const char *call, *at, *says;
    Id id;
  };
  const Row rows[] = {
      {"totals", "tl.sum(v, axis=0)", "before the call", Id::NotSupported},
      {"stores", "tl.device_print('v', v)", "with a mask", Id::NotSupported},
  };
  for (const Row &row : rows) {
    Lowered lowered =
        lower(std::string(kPrelude) + "    y = tl.map_elementwise(" + row.call +
                  ", x)\n",
              "k", arguments());
    ASSERT_EQ(lowered.errors.size(), 1u) << lowered.message;
    const Diagnostic &error = lowered.errors[0];
    EXPECT_EQ(error.id, row.id);
    std::istringstream lines{std::string(kPrelude)};
    std::string line;
    // The harness puts its imports in front.
    for (uint32_t number = 3; number <= error.range.line; ++number)
      std::getline(lines, line);
    EXPECT_EQ(error.range.column, line.find(row.at) + 1) << line;
    EXPECT_NE(error.hint.find(row.says), std::string::npos) << error.hint;
    ASSERT_EQ(error.callers.size(), 1u);
    EXPECT_EQ(error.callers[0].function, "k");
  }
}

TEST(Error, EndlessConstexprFunction) {
  Lowered lowered =
      lower(std::string(kPrelude) + "    y = forever(N)\n", "k", arguments());
  ASSERT_EQ(lowered.errors.size(), 1u) << lowered.message;
  EXPECT_EQ(lowered.errors[0].id, Id::UnrollLimit);
}

TEST(Error, ReturnTypesOfAHelper) {
  Lowered lowered =
      lower(std::string(kPrelude) + "    y = uneven(n)\n", "k", arguments());
  ASSERT_EQ(lowered.errors.size(), 1u) << lowered.message;
  EXPECT_EQ(lowered.errors[0].id, Id::BadReturn);
}

TEST(Error, CallDepth) {
  std::string text;
  for (int i = 70; i >= 0; --i)
    text += "@triton.jit\ndef f" + std::to_string(i) + "(x):\n    return " +
            (i == 70 ? "x" : "f" + std::to_string(i + 1) + "(x)") + "\n";
  text += "@triton.jit\ndef k(p):\n    tl.store(p, f0(1.0))\n";
  Lowered lowered = lower(text, "k", {arg("p", "*fp32")});
  ASSERT_EQ(lowered.errors.size(), 1u) << lowered.message;
  EXPECT_EQ(lowered.errors[0].id, Id::CallDepth);
}

TEST(Error, Signature) {
  std::string text = "@triton.jit\ndef k(p, N: tl.constexpr):\n    pass\n";
  for (const Arguments &given :
       {Arguments{arg("p", "*fp32")},
        Arguments{arg("p", "*fp99"), constant("N", language::Value(1))},
        Arguments{arg("p", "*fp32"), arg("N", "i32")},
        Arguments{arg("p", "*fp32"), constant("N", language::Value(1)),
                  arg("q", "i32")}}) {
    Lowered lowered = lower(text, "k", given);
    ASSERT_EQ(lowered.errors.size(), 1u) << lowered.message << lowered.ir;
    EXPECT_EQ(lowered.errors[0].id, Id::BadSignature) << lowered.message;
  }
  EXPECT_EQ(lower(text, "kk", {}).errors.size(), 1u);
}

// A range that its file does not have is not quoted, not even in part.
TEST(Error, OnlyTextOfTheFileIsQuoted) {
  const SourceFile file("k.py", "x = abc\ny = 1\n");
  auto quoted = [&](const SourceRange &range) {
    return expandQuotes(quote(range, "it"), file, nullptr, nullptr);
  };
  EXPECT_EQ(quoted({1, 5, 1, 8}), "abc");
  EXPECT_EQ(quoted({1, 5, 1, 9}), "it");
  EXPECT_EQ(quoted({1, 9, 1, 12}), "it");
  EXPECT_EQ(quoted({1, 8, 1, 5}), "it");
  EXPECT_EQ(quoted({1, 5, 2, 2}), "it");
  EXPECT_EQ(quoted({9, 1, 9, 2}), "it");
  EXPECT_EQ(quoted({}), "it");
}

} // namespace
} // namespace tessera::semantics::test
