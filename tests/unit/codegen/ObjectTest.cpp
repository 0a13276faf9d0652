// tests/unit/codegen/ObjectTest.cpp - shared objects from LLVM dialect text.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/cpu/object/Object.h"
#include "codegen/cpu/object/Link.h"
#include "codegen/cpu/object/Target.h"
#include "support/Error.h"
#include "tests/unit/codegen/LoadedKernel.h"

#include "mlir/Dialect/DLTI/DLTI.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Target/TargetMachine.h"
#include "gtest/gtest.h"

#include <numeric>

using namespace tessera;
using namespace tessera::codegen::cpu;

namespace {

class ObjectTest : public testing::Test {
protected:
  ObjectTest() {
    context.loadDialect<mlir::LLVM::LLVMDialect, mlir::DLTIDialect>();
    context.disableMultithreading();
  }

  SharedObject compile(const std::string &text, ObjectOptions options = {}) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    return emitSharedObject(*module, options);
  }

  mlir::MLIRContext context;
};

// y[i] += x[i] * x[i], with and without leave to fuse.
std::string squares(const std::string &flags) {
  return R"(
llvm.func @tessera_entry(%args: !llvm.ptr, %pid: !llvm.ptr, %grid: !llvm.ptr, %scratch: !llvm.ptr) {
  %c0 = llvm.mlir.constant(0 : i64) : i64
  %c1 = llvm.mlir.constant(1 : i64) : i64
  %c16 = llvm.mlir.constant(16 : i64) : i64
  %x = llvm.load %args : !llvm.ptr -> !llvm.ptr
  %slot = llvm.getelementptr %args[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  %y = llvm.load %slot : !llvm.ptr -> !llvm.ptr
  llvm.br ^head(%c0 : i64)
^head(%i: i64):
  %more = llvm.icmp "slt" %i, %c16 : i64
  llvm.cond_br %more, ^body, ^end
^body:
  %px = llvm.getelementptr %x[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %py = llvm.getelementptr %y[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %vx = llvm.load %px : !llvm.ptr -> f32
  %vy = llvm.load %py : !llvm.ptr -> f32
  %p = llvm.fmul %vx, %vx )" +
         flags + R"( : f32
  %s = llvm.fadd %vy, %p )" +
         flags + R"( : f32
  llvm.store %s, %py : f32, !llvm.ptr
  %next = llvm.add %i, %c1 : i64
  llvm.br ^head(%next : i64)
^end:
  llvm.return
})";
}

TEST_F(ObjectTest, RunsAndExportsOnlyTheEntry) {
  SharedObject object = compile(squares(""));
  EXPECT_EQ(exportedSymbols(object.bytes),
            std::vector<std::string>{"tessera_entry"});
  EXPECT_TRUE(undefinedSymbols(object.bytes).empty());
  LoadedKernel loaded(object.bytes);
  float x[16], y[16];
  std::iota(x, x + 16, 1.0f);
  std::fill(y, y + 16, 0.5f);
  const void *args[] = {x, y};
  loaded.run(args);
  for (int i = 0; i < 16; ++i)
    EXPECT_EQ(y[i], 0.5f + x[i] * x[i]);
}

// Without the limit, the scheduler's time grows with the square of the number
// of memory accesses of a basic block. Linking an object restores the default.
TEST_F(ObjectTest, LimitsTheAccessesThatTheSchedulerCompares) {
  compile(squares(""));
  const auto machine = createTargetMachine(CpuTarget());
  const auto &known = llvm::cl::getRegisteredOptions();
  const auto limit = known.find("dag-maps-huge-region");
  ASSERT_NE(limit, known.end());
  EXPECT_EQ(static_cast<llvm::cl::opt<unsigned> *>(limit->second)->getValue(),
            100u);
}

TEST_F(ObjectTest, SameModuleSameBytes) {
  std::string first = compile(squares("")).bytes;
  // Other work between the two must leave no trace.
  compile(squares("{fastmathFlags = #llvm.fastmath<contract>}"));
  EXPECT_EQ(first, compile(squares("")).bytes);
}

TEST_F(ObjectTest, FusesOnlyWhatMayContract) {
  ObjectOptions options;
  options.keepAsm = options.keepLlvm = true;
  SharedObject strict = compile(squares(""), options);
  EXPECT_EQ(strict.asmText.find("vfmadd"), std::string::npos);
  EXPECT_NE(strict.asmText.find("vmul"), std::string::npos);
  SharedObject fused =
      compile(squares("{fastmathFlags = #llvm.fastmath<contract>}"), options);
  EXPECT_NE(fused.asmText.find("vfmadd"), std::string::npos);
  EXPECT_NE(fused.llvmText.find("fmul contract"), std::string::npos);
  EXPECT_EQ(fused.bytes.substr(0, 4), "\177ELF");
}

TEST_F(ObjectTest, UsesTheVectorWidthOfTheTarget) {
  std::string body = R"(
llvm.func @tessera_entry(%args: !llvm.ptr, %pid: !llvm.ptr, %grid: !llvm.ptr, %scratch: !llvm.ptr) {
  %x = llvm.load %args : !llvm.ptr -> !llvm.ptr
  %v = llvm.load %x : !llvm.ptr -> vector<16xf32>
  %s = llvm.fadd %v, %v : vector<16xf32>
  llvm.store %s, %x : vector<16xf32>, !llvm.ptr
  llvm.return
})";
  ObjectOptions options;
  options.keepAsm = true;
  EXPECT_EQ(compile(body, options).asmText.find("%zmm"), std::string::npos);
  options.target = *CpuTarget::parse("cpu:x86-64-v4:001f");
  EXPECT_EQ(options.target.vectorBits(), 512u);
  EXPECT_NE(compile(body, options).asmText.find("%zmm"), std::string::npos);
}

TEST_F(ObjectTest, LongCopiesNeedNoLibrary) {
  SharedObject object = compile(R"(
llvm.func @tessera_entry(%args: !llvm.ptr, %pid: !llvm.ptr, %grid: !llvm.ptr, %scratch: !llvm.ptr) {
  %to = llvm.load %args : !llvm.ptr -> !llvm.ptr
  %slot1 = llvm.getelementptr %args[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  %from = llvm.load %slot1 : !llvm.ptr -> !llvm.ptr
  %slot2 = llvm.getelementptr %args[2] : (!llvm.ptr) -> !llvm.ptr, i64
  %n = llvm.load %slot2 : !llvm.ptr -> i64
  %slot3 = llvm.getelementptr %args[3] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  %fill = llvm.load %slot3 : !llvm.ptr -> !llvm.ptr
  %byte = llvm.mlir.constant(90 : i8) : i8
  "llvm.intr.memmove"(%to, %from, %n) <{isVolatile = false}> : (!llvm.ptr, !llvm.ptr, i64) -> ()
  "llvm.intr.memset"(%fill, %byte, %n) <{isVolatile = false}> : (!llvm.ptr, i8, i64) -> ()
  %end = llvm.getelementptr %fill[%n] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  "llvm.intr.memcpy"(%end, %to, %n) <{isVolatile = false}> : (!llvm.ptr, !llvm.ptr, i64) -> ()
  llvm.return
})");
  EXPECT_TRUE(undefinedSymbols(object.bytes).empty());
  EXPECT_EQ(exportedSymbols(object.bytes),
            std::vector<std::string>{"tessera_entry"});
  LoadedKernel loaded(object.bytes);
  for (int shift : {-3, 0, 5}) {
    std::vector<unsigned char> data(1100), expected(1100), fill(2000);
    std::iota(data.begin(), data.end(), 7);
    expected = data;
    int64_t n = 1000;
    std::copy(data.begin() + 50, data.begin() + 50 + n,
              expected.begin() + 50 + shift);
    if (shift > 0)
      std::copy_backward(data.begin() + 50, data.begin() + 50 + n,
                         expected.begin() + 50 + shift + n);
    int64_t args[] = {reinterpret_cast<int64_t>(data.data() + 50 + shift),
                      reinterpret_cast<int64_t>(data.data() + 50), n,
                      reinterpret_cast<int64_t>(fill.data())};
    loaded.run(args);
    EXPECT_EQ(data, expected) << "shift " << shift;
    for (int64_t i = 0; i < n; ++i) {
      ASSERT_EQ(fill[i], 90);
      ASSERT_EQ(fill[n + i], expected[50 + shift + i]);
    }
  }
}

TEST_F(ObjectTest, LoopsDoNotBecomeCalls) {
  // A loop that fills memory with zero is a memset to LLVM.
  ObjectOptions options;
  options.keepLlvm = true;
  SharedObject object = compile(R"(
llvm.func @tessera_entry(%args: !llvm.ptr, %pid: !llvm.ptr, %grid: !llvm.ptr, %scratch: !llvm.ptr) {
  %c0 = llvm.mlir.constant(0 : i64) : i64
  %c1 = llvm.mlir.constant(1 : i64) : i64
  %zero = llvm.mlir.constant(0.0 : f32) : f32
  %x = llvm.load %args : !llvm.ptr -> !llvm.ptr
  %slot = llvm.getelementptr %args[1] : (!llvm.ptr) -> !llvm.ptr, i64
  %n = llvm.load %slot : !llvm.ptr -> i64
  llvm.br ^head(%c0 : i64)
^head(%i: i64):
  %more = llvm.icmp "slt" %i, %n : i64
  llvm.cond_br %more, ^body, ^end
^body:
  %p = llvm.getelementptr %x[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  llvm.store %zero, %p : f32, !llvm.ptr
  %next = llvm.add %i, %c1 : i64
  llvm.br ^head(%next : i64)
^end:
  llvm.return
})",
                                options);
  EXPECT_EQ(object.llvmText.find("@llvm.memset"), std::string::npos);
  EXPECT_TRUE(undefinedSymbols(object.bytes).empty());
}

TEST_F(ObjectTest, NamesWhatIsMissing) {
  try {
    compile(R"(
llvm.func @expf(f32) -> f32
llvm.func @tessera_entry(%args: !llvm.ptr, %pid: !llvm.ptr, %grid: !llvm.ptr, %scratch: !llvm.ptr) {
  %x = llvm.load %args : !llvm.ptr -> f32
  %y = llvm.call @expf(%x) : (f32) -> f32
  llvm.store %y, %args : f32, !llvm.ptr
  llvm.return
})");
    FAIL() << "expected an error";
  } catch (const Error &error) {
    EXPECT_NE(error.message.find("expf"), std::string::npos) << error.message;
  }
  EXPECT_THROW(compile("llvm.func @other() { llvm.return }"), Error);
}

// The lines survive optimization, and the texts that people edit hold none.
TEST_F(ObjectTest, KnowsTheLinesOfInstructions) {
  ObjectOptions options;
  options.keepLlvm = options.keepAsm = true;
  const SharedObject object = compile(R"(
llvm.func @tessera_entry(%args: !llvm.ptr, %pid: !llvm.ptr, %grid: !llvm.ptr, %scratch: !llvm.ptr) {
  %x = llvm.load %args : !llvm.ptr -> i64 loc("folder/k.py":7:3)
  llvm.store %x, %scratch : i64, !llvm.ptr loc("h.py":9:1)
  llvm.return loc("folder/k.py":8:3)
} loc("folder/k.py":5:1))",
                                      options);
  const LineTable &lines = object.lines;
  ASSERT_GE(lines.rows.size(), 3u);
  EXPECT_EQ(lines.rows.front().offset, 0u);
  std::vector<std::string> places;
  for (const LineTable::Row &row : lines.rows)
    places.push_back(lines.placeOf(row.offset));
  EXPECT_NE(std::find(places.begin(), places.end(), "k.py:7"), places.end());
  EXPECT_NE(std::find(places.begin(), places.end(), "h.py:9"), places.end());
  EXPECT_EQ(object.llvmText.find("!dbg"), std::string::npos);
  EXPECT_EQ(object.asmText.find(".loc"), std::string::npos);
}

TEST(CpuTargetTest, NamesRoundTrip) {
  auto target = CpuTarget::parse("cpu:x86-64-v4:005f");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->name(), "cpu:x86-64-v4:005f");
  EXPECT_TRUE(target->has("avx512bf16"));
  EXPECT_FALSE(target->has("avx512vnni"));
  EXPECT_EQ(target->llvmFeatures(),
            "+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx512cd,+avx512bf16");
  for (const char *bad :
       {"", "cpu", "cpu:", "cuda:sm_80", "cpu:znver4:0000", "cpu:x86-64-v3",
        "cpu:x86-64-v3:", "cpu:x86-64-v3:12", "cpu:x86-64-v3:00zz",
        "cpu:x86-64-v3:ffff", "cpu:x86-64-v3:00000"})
    EXPECT_FALSE(CpuTarget::parse(bad)) << bad;
}

} // namespace
