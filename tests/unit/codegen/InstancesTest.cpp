// tests/unit/codegen/InstancesTest.cpp - every kernel of kernels/ lowers to
// cpu. Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0
#include "tests/unit/semantics/Instances.h"
#include "codegen/cpu/Lower.h"
#include "codegen/cpu/object/Object.h"

#include "mlir/IR/Verifier.h"

using namespace tessera;

namespace {

TEST(CpuInstances, AllLower) {
  test::forInstances(
      KERNEL_DIR, 51,
      [](mlir::ModuleOp module, const syntax::Instance &instance, auto &) {
        codegen::lowerToCpu(module, codegen::cpuOptionsFor(CpuTarget()));
        EXPECT_TRUE(mlir::succeeded(mlir::verify(module)));
        auto scratch = module->getAttrOfType<mlir::IntegerAttr>(
            codegen::kScratchBytesAttr);
        ASSERT_TRUE(scratch);
        // What a thread can be asked to set aside.
        EXPECT_LT(scratch.getInt(), 16 << 20) << instance.name;
        // Throws if the object needs a symbol from outside.
        EXPECT_FALSE(codegen::emitSharedObject(module, {}).bytes.empty());
      });
}

} // namespace
