// codegen/gpu/layouts/DotInstructions.cpp - what computes each dot.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/layouts/Passes.h"
#include "dialect/tile/DotInstruction.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace tessera::codegen::gpu {
namespace {

struct DotInstructionsPass
    : public PassWrapper<DotInstructionsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DotInstructionsPass)

  StringRef getArgument() const final { return "tessera-dot-instructions"; }
  StringRef getDescription() const final {
    return "Choose what computes each dot: tensor cores or multiply-adds";
  }
  void runOnOperation() final {
    getOperation().walk([](tile::DotOp dot) {
      if (dot.getInstruction())
        return;
      const tile::DotChoice choice = tile::chooseInstruction(dot);
      dot.setInstruction(choice.instruction);
      dot.setReason(choice.reason);
    });
  }
};

} // namespace

std::unique_ptr<Pass> createDotInstructionsPass() {
  return std::make_unique<DotInstructionsPass>();
}

} // namespace tessera::codegen::gpu
