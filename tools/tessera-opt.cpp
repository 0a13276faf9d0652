// tools/tessera-opt.cpp - runs passes over IR text, for tests and for
// debugging.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Passes.h"
#include "compiler/Pipeline.h"
#include "tools/TraceOption.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  tessera::compiler::registerDialects(registry);
  tessera::compiler::registerPasses();
  tessera::compiler::registerLoweringPass();
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "tessera-opt: passes over IR text\n", registry));
}
