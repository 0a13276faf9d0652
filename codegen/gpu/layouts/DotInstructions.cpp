// codegen/gpu/layouts/DotInstructions.cpp - chooses the instruction of each
// dot.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/passes/Passes.h"
#include "dialect/tile/DotInstruction.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "tessera-dot-instructions"

using namespace mlir;

namespace tessera::codegen::gpu {

#define GEN_PASS_DEF_DOTINSTRUCTIONSPASS
#include "codegen/gpu/passes/Passes.h.inc"

namespace {

struct DotInstructionsPass
    : public impl::DotInstructionsPassBase<DotInstructionsPass> {
  using Base::Base;

  void runOnOperation() final {
    getOperation().walk([](tile::DotOp dot) {
      if (dot.getInstruction())
        return;
      const tile::DotChoice choice = tile::chooseInstruction(dot);
      dot.setInstruction(choice.instruction);
      dot.setReason(choice.reason);
      LDBG() << stringifyEnum(choice.instruction)
             << (choice.reason ? ", because of: " : "")
             << (choice.reason ? stringifyEnum(*choice.reason) : "")
             << " for the dot at " << dot.getLoc();
    });
  }
};

} // namespace

} // namespace tessera::codegen::gpu

#undef DEBUG_TYPE
