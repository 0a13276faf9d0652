// tests/unit/compiler/semantics/Harness.cpp - kernels as text, lowered in a
// test.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/compiler/semantics/Harness.h"

#include "compiler/semantics/Semantics.h"
#include "support/Error.h"

#include "mlir/IR/MLIRContext.h"

namespace tessera::semantics::test {

language::Argument arg(std::string name, std::string type) {
  language::Argument argument;
  argument.name = std::move(name);
  argument.kind = type[0] == '*'   ? language::ArgKind::Pointer
                  : type[0] == 'f' ? language::ArgKind::Float
                                   : language::ArgKind::Int;
  argument.type = std::move(type);
  return argument;
}

language::Argument constant(std::string name, language::Value value) {
  language::Argument argument;
  argument.name = std::move(name);
  argument.kind = language::ArgKind::Constexpr;
  argument.value = std::move(value);
  return argument;
}

Lowered lower(const std::string &text, const std::string &kernel,
              Arguments arguments, const std::string &f32Default) {
  Lowered result;
  mlir::MLIRContext context;
  try {
    std::shared_ptr<const language::Program> program = language::Program::load(
        "k.py", "import triton\nimport triton.language as tl\n" + text,
        [](const std::string &) { return std::nullopt; });
    language::CompileRequest request;
    request.file = "k.py";
    request.kernel = kernel;
    request.args = std::move(arguments);
    request.options.f32Default = f32Default;
    auto module = buildTileModule(context, *program, request, &result.notes);
    llvm::raw_string_ostream stream(result.ir);
    module->print(stream);
  } catch (const CompileError &error) {
    result.errors = error.diagnostics;
    result.message = error.what();
  } catch (const Error &error) {
    result.message = error.what();
  }
  return result;
}

std::string missing(const std::string &ir,
                    const std::vector<std::string> &lines) {
  size_t from = 0;
  for (const std::string &line : lines) {
    if (line.rfind("no ", 0) == 0) {
      if (ir.find(line.substr(3)) != std::string::npos)
        return line;
      continue;
    }
    size_t found = ir.find(line, from);
    if (found == std::string::npos)
      return line;
    from = found + line.size();
  }
  return "";
}

} // namespace tessera::semantics::test
