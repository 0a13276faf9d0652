// tests/unit/compiler/semantics/InstancesTest.cpp - every kernel of kernels/
// lowers.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/compiler/semantics/Instances.h"

#include "mlir/IR/Verifier.h"

using namespace tessera;

namespace {

TEST(Instances, AllLower) {
  test::forInstances(KERNEL_DIR, 51, [](mlir::ModuleOp module, auto &, auto &) {
    EXPECT_TRUE(mlir::succeeded(mlir::verify(module)));
  });
}

} // namespace
