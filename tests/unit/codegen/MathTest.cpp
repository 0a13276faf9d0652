// tests/unit/codegen/MathTest.cpp - emitted functions against double libm.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Each function is compiled as a kernel over an array and run on about a
// million floats: a stride over all bit patterns, a dense sample of the range
// where the function is interesting, and every special value.
#include "codegen/math/Math.h"
#include "codegen/cpu/ToLlvm.h"
#include "codegen/cpu/object/Object.h"
#include "tests/unit/codegen/LoadedKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/DLTI/DLTI.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"

#include <bit>
#include <cmath>
#include <functional>
#include <random>

using namespace tessera;
using namespace tessera::codegen;

namespace {

class MathTest : public testing::Test {
protected:
  MathTest() {
    context.loadDialect<mlir::arith::ArithDialect, mlir::cf::ControlFlowDialect,
                        mlir::DLTIDialect, mlir::func::FuncDialect,
                        mlir::LLVM::LLVMDialect, mlir::math::MathDialect,
                        mlir::scf::SCFDialect, mlir::vector::VectorDialect>();
    context.disableMultithreading();
  }

  // y[i] = body(x[i], w[i]) in the given element or vector type.
  std::string loop(const std::string &body, const std::string &type,
                   const std::string &element, int lanes) {
    return R"(
func.func @tessera_entry(%args: !llvm.ptr, %pid: !llvm.ptr, %grid: !llvm.ptr, %scratch: !llvm.ptr) {
  %c0 = arith.constant 0 : i64
  %step = arith.constant )" +
           std::to_string(lanes) + R"( : i64
  %px = llvm.load %args : !llvm.ptr -> !llvm.ptr
  %s1 = llvm.getelementptr %args[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  %pw = llvm.load %s1 : !llvm.ptr -> !llvm.ptr
  %s2 = llvm.getelementptr %args[2] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  %py = llvm.load %s2 : !llvm.ptr -> !llvm.ptr
  %s3 = llvm.getelementptr %args[3] : (!llvm.ptr) -> !llvm.ptr, i64
  %n = llvm.load %s3 : !llvm.ptr -> i64
  scf.for %i = %c0 to %n step %step : i64 {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr, i64) -> !llvm.ptr, )" +
           element + R"(
    %aw = llvm.getelementptr %pw[%i] : (!llvm.ptr, i64) -> !llvm.ptr, )" +
           element + R"(
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr, i64) -> !llvm.ptr, )" +
           element + R"(
    %x = llvm.load %ax {alignment = 1 : i64} : !llvm.ptr -> )" +
           type + R"(
    %w = llvm.load %aw {alignment = 1 : i64} : !llvm.ptr -> )" +
           type + "\n" + body + R"(
    llvm.store %y, %ay {alignment = 1 : i64} : )" +
           type + R"(, !llvm.ptr
  }
  return
})";
  }

  LoadedKernel compile(const std::string &text, CpuTarget target = {}) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
    mlir::PassManager passes(&context);
    passes.enableVerifier(true);
    cpu::addLlvmPasses(passes, target);
    EXPECT_TRUE(mlir::succeeded(passes.run(*module)));
    cpu::ObjectOptions options;
    options.target = target;
    return LoadedKernel(cpu::emitSharedObject(*module, options).bytes);
  }

  template <typename T>
  std::vector<T> run(const LoadedKernel &kernel, std::vector<T> x,
                     std::vector<T> w = {}) {
    size_t n = x.size();
    x.resize((n + 15) / 16 * 16);
    w.resize(x.size());
    std::vector<T> y(x.size());
    int64_t args[] = {reinterpret_cast<int64_t>(x.data()),
                      reinterpret_cast<int64_t>(w.data()),
                      reinterpret_cast<int64_t>(y.data()), int64_t(x.size())};
    kernel.run(args);
    y.resize(n);
    return y;
  }

  mlir::MLIRContext context;
};

std::vector<float> samples(float low, float high) {
  std::vector<float> x;
  // A prime stride over all bit patterns: all signs, exponents, NaNs.
  for (uint64_t bits = 0; bits < 1ull << 32; bits += 8191)
    x.push_back(std::bit_cast<float>(uint32_t(bits)));
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(low, high);
  for (int i = 0; i < 500000; ++i)
    x.push_back(uniform(random));
  float inf = INFINITY;
  for (float special :
       {0.0f, -0.0f, inf, -inf, NAN, 1.0f, -1.0f, 0x1p-126f, 0x1p-149f,
        -0x1p-149f, 0x1.fffffep127f, 0.5f, 2.0f, low, high})
    for (float near :
         {special, std::nextafter(special, inf), std::nextafter(special, -inf)})
      x.push_back(near);
  return x;
}

struct Worst {
  double ulp = 0;
  float at = 0;
};

// Distance in units of the last place of the exact result. Results below the
// normal range may be flushed to zero.
Worst compare(const std::vector<float> &x, const std::vector<float> &y,
              const std::function<double(double)> &exact,
              const std::function<bool(float)> &inRange) {
  Worst worst;
  for (size_t i = 0; i < x.size(); ++i) {
    double want = exact(x[i]);
    float rounded = float(want);
    if (!inRange(x[i]))
      continue;
    double error;
    if (std::isnan(want) || std::isnan(y[i]))
      error = std::isnan(want) && std::isnan(y[i]) ? 0 : INFINITY;
    else if (std::isinf(rounded) || std::isinf(y[i])) {
      // An overflow may come one float early or late, and no more.
      float edge = std::copysign(0x1.fffffep127f, y[i]);
      bool same = rounded == y[i];
      bool near = std::abs(want) < 0x1.000004p128 &&
                  std::abs(want) > 0x1.fffff8p127 &&
                  (y[i] == edge || std::isinf(y[i]));
      error = same ? 0 : near ? 1 : INFINITY;
    } else {
      int exponent = std::max(std::ilogb(want == 0 ? 0x1p-149 : want), -126);
      error = std::abs(double(y[i]) - want) / std::ldexp(1.0, exponent - 23);
      if (y[i] == 0 && std::abs(want) < 0x1p-126)
        error = 0;
    }
    if (error > worst.ulp)
      worst = {error, x[i]};
  }
  return worst;
}

struct Function {
  const char *name;
  std::string body; // of T, the type
  float low, high;
  double bound;
  std::function<double(double)> exact;
  std::function<bool(float)> inRange = [](float) { return true; };
};

std::string replaced(std::string text, const std::string &type) {
  for (size_t at; (at = text.find("$T")) != std::string::npos;)
    text.replace(at, 2, type);
  return text;
}

std::vector<Function> functions() {
  // The reference is double libm: its error is 1e-9 ulp of a float.
  auto one = [](const char *op) {
    return std::string("%y = math.") + op + " %x : $T";
  };
  const char *sigmoid = R"(
    %one = arith.constant )"
                        "$1"
                        R"( : $T
    %m = arith.negf %x : $T
    %e = math.exp %m : $T
    %d = arith.addf %e, %one : $T
    %y = arith.divf %one, %d : $T)";
  auto upTo = [](float limit) {
    return [limit](float x) { return !(std::abs(x) > limit); };
  };
  return {
      {"exp", one("exp"), -104, 89, 2, [](double x) { return std::exp(x); }},
      {"exp2", one("exp2"), -150, 128.5, 2,
       [](double x) { return std::exp2(x); }},
      {"log", one("log"), 0, 4, 2, [](double x) { return std::log(x); }},
      {"log2", one("log2"), 0, 4, 2, [](double x) { return std::log2(x); }},
      {"sigmoid", sigmoid, -90, 20, 2,
       [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"sin", one("sin"), -100, 100, 2, [](double x) { return std::sin(x); },
       upTo(0x1p48f)},
      {"cos", one("cos"), -100, 100, 2, [](double x) { return std::cos(x); },
       upTo(0x1p48f)},
      {"tanh", one("tanh"), -10, 10, 2, [](double x) { return std::tanh(x); }},
      {"erf", one("erf"), -4.5, 4.5, 2, [](double x) { return std::erf(x); }},
      {"sqrt", one("sqrt"), 0, 100, 0.5001,
       [](double x) { return std::sqrt(x); }},
      {"rsqrt", one("rsqrt"), 0, 100, 1.5,
       [](double x) { return 1 / std::sqrt(x); }},
      {"floor", one("floor"), -1e7, 1e7, 0,
       [](double x) { return std::floor(x); }},
      {"ceil", one("ceil"), -1e7, 1e7, 0,
       [](double x) { return std::ceil(x); }},
      {"absf", one("absf"), -1, 1, 0, [](double x) { return std::abs(x); }},
  };
}

TEST_F(MathTest, EveryFunctionStaysWithinItsBound) {
  for (const Function &f : functions()) {
    std::vector<float> x = samples(f.low, f.high);
    std::vector<float> first;
    std::vector<std::pair<int, CpuTarget>> variants = {
        {8, {}}, {1, {}}, {16, {}}};
    if (auto host = CpuTarget::host(); host && host->vectorBits() == 512)
      variants.emplace_back(16, *host);
    for (const auto &[lanes, target] : variants) {
      std::string type =
          lanes == 1 ? "f32" : "vector<" + std::to_string(lanes) + "xf32>";
      std::string ones = lanes == 1 ? "1.0" : "dense<1.0>";
      std::string body = replaced(f.body, type);
      if (size_t at = body.find("$1"); at != std::string::npos)
        body.replace(at, 2, ones);
      auto kernel = compile(loop(body, type, "f32", lanes), target);
      std::vector<float> y = run(kernel, x);
      Worst worst = compare(x, y, f.exact, f.inRange);
      EXPECT_LE(worst.ulp, f.bound)
          << f.name << " at " << worst.at << " x " << type;
      // Scalars and vectors compute the same bits.
      if (first.empty()) {
        std::printf("%-8s max %.3f ulp at %.9g (%zu floats)\n", f.name,
                    worst.ulp, worst.at, x.size());
        first = y;
      } else {
        size_t differences = 0;
        for (size_t i = 0; i < y.size(); ++i)
          differences +=
              std::isnan(y[i]) ? !std::isnan(first[i]) : y[i] != first[i];
        EXPECT_EQ(differences, 0u) << f.name << " " << type;
      }
    }
  }
}

TEST_F(MathTest, DoubleFunctions) {
  struct Case {
    const char *op;
    double low, high, bound;
    double (*exact)(double);
  };
  const Case cases[] = {
      {"exp", -745, 710, 2, std::exp},   {"exp2", -1075, 1024, 2, std::exp2},
      {"log", 0, 10, 2, std::log},       {"log2", 0, 10, 2.5, std::log2},
      {"sin", -1e6, 1e6, 2, std::sin},   {"cos", -1e6, 1e6, 2, std::cos},
      {"tanh", -20, 20, 3, std::tanh},   {"tanh", -0.6, 0.6, 3, std::tanh},
      {"erf", -6.5, 6.5, 3, std::erf},   {"erf", -1.1, 1.1, 2, std::erf},
      {"sqrt", 0, 1e10, 0.5, std::sqrt}, {"floor", -9e9, 9e9, 0, std::floor}};
  std::mt19937_64 random(3);
  for (const Case &c : cases) {
    std::vector<double> x = {0.0, INFINITY, -INFINITY, NAN,
                             1.0, c.low,    c.high,    0x1p-1074};
    std::uniform_real_distribution<double> uniform(c.low, c.high);
    for (int i = 0; i < 100000; ++i)
      x.push_back(uniform(random));
    auto kernel =
        compile(loop(std::string("%y = math.") + c.op + " %x : vector<4xf64>",
                     "vector<4xf64>", "f64", 4));
    std::vector<double> y = run(kernel, x);
    if (auto host = CpuTarget::host(); host && host->vectorBits() == 512) {
      auto wide =
          compile(loop(std::string("%y = math.") + c.op + " %x : vector<8xf64>",
                       "vector<8xf64>", "f64", 8),
                  *host);
      std::vector<double> same = run(wide, x);
      EXPECT_TRUE(std::equal(y.begin(), y.end(), same.begin(),
                             [](double a, double b) {
                               return a == b ||
                                      (std::isnan(a) && std::isnan(b));
                             }))
          << c.op;
    }
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      double want = c.exact(x[i]);
      if (std::isnan(want) || std::isinf(want)) {
        EXPECT_TRUE(std::isnan(want) ? std::isnan(y[i]) : y[i] == want)
            << c.op << " " << x[i] << ": " << y[i];
        continue;
      }
      int exponent = std::max(std::ilogb(want == 0 ? 0x1p-1074 : want), -1022);
      worst =
          std::max(worst, std::abs(y[i] - want) / std::ldexp(1, exponent - 52));
    }
    std::printf("%-8s f64 max %.3f ulp\n", c.op, worst);
    EXPECT_LE(worst, c.bound) << c.op;
  }
}

TEST_F(MathTest, RemainderIsExact) {
  auto kernel = compile(loop("%y = arith.remf %x, %w : vector<8xf32>",
                             "vector<8xf32>", "f32", 8));
  std::mt19937 random(5);
  std::vector<float> x, w;
  for (int i = 0; i < 1000000; ++i) {
    uint32_t a = random(), b = random();
    float p = std::bit_cast<float>(a), q = std::bit_cast<float>(b);
    // The documented range: quotients below 2^53.
    if (std::isfinite(p) && std::isfinite(q) &&
        !(std::abs(double(p) / q) < 0x1p53))
      continue;
    x.push_back(p);
    w.push_back(q);
  }
  for (float p : {1.0f, -3.0f, 0.0f, 5.5f, INFINITY, NAN})
    for (float q : {1.0f, -2.0f, 0.5f, INFINITY, -INFINITY, NAN}) {
      x.push_back(p);
      w.push_back(q);
    }
  ASSERT_GT(x.size(), 500000u);
  std::vector<float> y = run(kernel, x, w);
  for (size_t i = 0; i < x.size(); ++i) {
    float want = std::fmod(x[i], w[i]);
    ASSERT_TRUE(std::isnan(want) ? std::isnan(y[i]) : y[i] == want)
        << x[i] << " % " << w[i] << " = " << want << ", got " << y[i];
  }
}

TEST_F(MathTest, RemainderOfDoublesIsExact) {
  auto kernel = compile(loop("%y = arith.remf %x, %w : vector<4xf64>",
                             "vector<4xf64>", "f64", 4));
  std::mt19937_64 random(6);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> x, w;
  for (int i = 0; i < 200000; ++i) {
    const int exponent = int(random() % 60);
    w.push_back(std::ldexp(uniform(random), int(random() % 200) - 100));
    // Quotients below 2^53; some differ from an integer by one bit.
    double p = std::ldexp(uniform(random), std::ilogb(w.back()) + exponent - 8);
    if (i % 3 == 0)
      p = std::nextafter(w.back() * double(random() % 1000),
                         i % 2 ? INFINITY : -INFINITY);
    x.push_back(p);
  }
  const double inf = INFINITY, nan = NAN;
  for (double p : {1.0, -3.0, 0.0, -0.0, 5.5, 1e308, inf, nan})
    for (double q : {1.0, -2.0, 0.5, 1e307, 0.0, inf, -inf, nan}) {
      x.push_back(p);
      w.push_back(q);
    }
  std::vector<double> y = run(kernel, x, w);
  for (size_t i = 0; i < x.size(); ++i) {
    if (std::isfinite(x[i]) && w[i] != 0 && !(std::abs(x[i] / w[i]) < 0x1p53))
      continue;
    const double want = std::fmod(x[i], w[i]);
    ASSERT_TRUE(std::isnan(want)
                    ? std::isnan(y[i])
                    : y[i] == want && std::signbit(y[i]) == std::signbit(want))
        << x[i] << " % " << w[i] << " = " << want << ", got " << y[i];
  }
}

TEST_F(MathTest, HalfTypesRoundOnce) {
  // exp in bf16: the f32 result rounded to nearest even, with and without
  // hardware conversion; here on all 65536 values.
  auto kernel = compile(
      loop("%y = math.exp %x : vector<8xbf16>", "vector<8xbf16>", "bf16", 8));
  auto single = compile(
      loop("%y = math.exp %x : vector<8xf32>", "vector<8xf32>", "f32", 8));
  std::vector<uint16_t> x(65536);
  std::vector<float> wide(65536);
  for (uint32_t i = 0; i < 65536; ++i) {
    x[i] = uint16_t(i);
    wide[i] = std::bit_cast<float>(i << 16);
  }
  auto y = run(kernel, x);
  auto reference = run(single, wide);
  for (uint32_t i = 0; i < 65536; ++i) {
    uint32_t bits = std::bit_cast<uint32_t>(reference[i]);
    if (std::isnan(reference[i])) {
      EXPECT_TRUE(std::isnan(std::bit_cast<float>(uint32_t(y[i]) << 16)));
      continue;
    }
    uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    ASSERT_EQ(y[i], rounded) << wide[i];
  }
}

TEST_F(MathTest, TraitsOfMlirAreSeen) {
  // Fails when MLIR's packages and this code print different names for a trait
  // (cmake/GccTypeNames.h): then no constant is recognized.
  mlir::OpBuilder builder(&context);
  mlir::OwningOpRef<mlir::ModuleOp> module(
      mlir::ModuleOp::create(builder, builder.getUnknownLoc()));
  builder.setInsertionPointToEnd(module->getBody());
  mlir::Value one = mlir::arith::ConstantOp::create(
      builder, builder.getUnknownLoc(), builder.getF32FloatAttr(1));
  EXPECT_TRUE(mlir::matchPattern(one, mlir::m_OneFloat()));
  EXPECT_TRUE(one.getDefiningOp()->hasTrait<mlir::OpTrait::ConstantLike>());
  EXPECT_TRUE((*module)->hasTrait<mlir::OpTrait::IsIsolatedFromAbove>());
  EXPECT_TRUE((*module)->hasTrait<mlir::OpTrait::OneRegion>());
}

TEST_F(MathTest, ScalingIsOneInstructionOfAvx512) {
  auto textOf = [&](const std::string &type, bool avx512) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(
        "func.func @f(%x: " + type + ") -> " + type +
            " { %y = math.exp %x : " + type + " return %y : " + type + " }",
        &context);
    EXPECT_TRUE(mlir::succeeded(rewriteMath(*module, avx512)));
    std::string text;
    llvm::raw_string_ostream stream(text);
    module->print(stream);
    return text;
  };
  const char *single = "llvm.x86.avx512.mask.scalef.ps.512";
  EXPECT_NE(textOf("vector<16xf32>", true).find(single), std::string::npos);
  EXPECT_NE(
      textOf("vector<8xf64>", true).find("llvm.x86.avx512.mask.scalef.pd.512"),
      std::string::npos);
  for (const char *type : {"f32", "vector<8xf32>", "vector<4x4xf32>"})
    EXPECT_EQ(textOf(type, true).find("scalef"), std::string::npos) << type;
  EXPECT_EQ(textOf("vector<16xf32>", false).find("scalef"), std::string::npos);
}

TEST_F(MathTest, RefusesWhatItCannotDo) {
  auto messageOf = [&](const std::string &op, const std::string &type) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(
        "func.func @f(%x: " + type + ") -> " + type + " { %y = " + op +
            " %x : " + type + " return %y : " + type + " }",
        &context);
    EXPECT_TRUE(module);
    std::string message;
    mlir::ScopedDiagnosticHandler handler(&context,
                                          [&](mlir::Diagnostic &diagnostic) {
                                            message = diagnostic.str();
                                            return mlir::success();
                                          });
    EXPECT_TRUE(mlir::failed(rewriteMath(*module)));
    return message;
  };
  EXPECT_EQ(messageOf("math.atan", "f32"),
            "'math.atan' op has no CPU implementation");
  EXPECT_EQ(messageOf("math.tanh", "vector<4xf80>"),
            "'math.tanh' op has no CPU implementation on 'f80'");
}

} // namespace
