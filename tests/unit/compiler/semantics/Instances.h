// tests/unit/compiler/semantics/Instances.h - every instance of kernels/, for
// tests that compile them all.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/semantics/Semantics.h"
#include "language/Decorators.h"
#include "language/Program.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

namespace tessera::test {

/// Calls `use` with the tile IR of every `# tessera: instance` of the files in
/// `folder` and with its kernel's name. What it throws is a failure that names
/// the instance. `only`: this one alone. Fewer than `least` are a failure.
inline void forInstances(
    const std::filesystem::path &folder, size_t least,
    const std::function<void(mlir::ModuleOp, const language::Instance &,
                             const std::string &kernel)> &use,
    const char *only = nullptr) {
  size_t good = 0;
  for (const auto &entry :
       std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".py")
      continue;
    auto program = language::Program::loadFile(entry.path());
    for (const language::StmtPtr &stmt : program->main().body) {
      auto *function = stmt->as<language::FunctionDef>();
      if (!function || function->hints.empty())
        continue;
      language::Hints hints =
          language::describeKernel(*program, *function).hints;
      for (const language::Instance &instance : hints.instances) {
        if (only && instance.name != only)
          continue;
        language::CompileRequest request;
        request.file = entry.path();
        request.kernel = function->name;
        request.args = instance.arguments;
        mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
        semantics::loadDialects(context);
        try {
          auto module = semantics::buildTileModule(context, *program, request);
          use(*module, instance, function->name);
          ++good;
        } catch (const std::exception &error) {
          ADD_FAILURE() << instance.name << "\n" << error.what();
        }
      }
    }
  }
  EXPECT_GE(good, only ? 1 : least);
}

} // namespace tessera::test
