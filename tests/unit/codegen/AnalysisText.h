// tests/unit/codegen/AnalysisText.h - kernels of a few lines for analyses.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialect/tile/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <stdexcept>

namespace tessera::test {

// A function @k(%p, %q: !tile.ptr<f32>, %t: !tile.ptr<!tile.ptr<f32>>,
// %n: i32, %c: i1) and, in order, the operands of the operations test.ask.
class AnalysisText {
public:
  explicit AnalysisText(const std::string &body, const std::string &types = "")
      : context(mlir::MLIRContext::Threading::DISABLED) {
    context.loadDialect<tile::TileDialect, mlir::arith::ArithDialect,
                        mlir::scf::SCFDialect, mlir::func::FuncDialect>();
    context.allowUnregisteredDialects();
    module = mlir::parseSourceString<mlir::ModuleOp>(
        types +
            "func.func @k(%p: !tile.ptr<f32>, %q: !tile.ptr<f32>, "
            "%t: !tile.ptr<!tile.ptr<f32>>, %n: i32, %c: i1) {\n"
            "%c0 = arith.constant 0 : i32\n%c1 = arith.constant 1 : i32\n" +
            body + "\nreturn\n}",
        &context);
    if (!module)
      throw std::runtime_error("the kernel does not parse: " + body);
    module->walk([&](mlir::Operation *op) {
      if (op->getName().getStringRef() == "test.ask")
        llvm::append_range(asked, op->getOperands());
    });
  }

  mlir::func::FuncOp kernel() {
    return *module->getOps<mlir::func::FuncOp>().begin();
  }
  mlir::Value argument(unsigned number) { return kernel().getArgument(number); }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<mlir::Value> asked;
};

} // namespace tessera::test
