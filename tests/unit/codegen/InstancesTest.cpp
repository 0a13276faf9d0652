// tests/unit/codegen/InstancesTest.cpp - every kernel of kernels/ lowers to
// cpu.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/compiler/semantics/Instances.h"
#include "codegen/cpu/Lower.h"
#include "codegen/cpu/object/Object.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Verifier.h"

#include <cstdlib>
#include <set>
#include <sstream>

using namespace tessera;

namespace {

// How many operations of the LLVM dialect are `unreachable`.
size_t unreachable(mlir::ModuleOp module) {
  size_t count = 0;
  module.walk([&](mlir::LLVM::UnreachableOp) { ++count; });
  return count;
}

// The same of LLVM IR as text, where an instruction is a line.
size_t unreachable(const std::string &text) {
  size_t count = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    count += llvm::StringRef(line).trim() == "unreachable";
  return count;
}

// With ALL_INSTANCES set, as in `make test-full`, each becomes an object. Else
// the first one of each kernel does, because that takes most of the time.
TEST(CpuInstances, AllLower) {
  const bool all = std::getenv("ALL_INSTANCES");
  std::set<std::string> kernels;
  test::forInstances(
      KERNEL_DIR, 51,
      [&](mlir::ModuleOp module, const language::Instance &instance,
          const std::string &kernel) {
        codegen::cpu::lowerToCpu(module,
                                 codegen::cpu::cpuOptionsFor(CpuTarget()));
        EXPECT_TRUE(mlir::succeeded(mlir::verify(module)));
        auto scratch = module->getAttrOfType<mlir::IntegerAttr>(
            codegen::cpu::kScratchBytesAttr);
        ASSERT_TRUE(scratch);
        // What a thread can be asked to set aside.
        EXPECT_LT(scratch.getInt(), 16 << 20) << instance.name;
        if (!kernels.insert(kernel).second && !all)
          return;
        const size_t before = unreachable(module);
        codegen::cpu::ObjectOptions options;
        options.keepLlvm = true;
        // Throws if the object needs a symbol from outside.
        const auto object = codegen::cpu::emitSharedObject(module, options);
        EXPECT_FALSE(object.bytes.empty());
        // LLVM replaces code without a defined behaviour by `unreachable`.
        EXPECT_LE(unreachable(object.llvmText), before) << instance.name;
      });
}

} // namespace
