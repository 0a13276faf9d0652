// tests/fuzz/SemanticsFuzz.cpp - kernel text to tile IR.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/semantics/Semantics.h"
#include "language/Decorators.h"
#include "tests/fuzz/Fuzz.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"

#include <cctype>
#include <optional>

using namespace tessera;
using namespace tessera::language;

// LLVM's allocators poison memory that they have not handed out yet. Their code
// is inline: its copies in this binary are instrumented and poison a slab,
// those in libMLIR are not and hand out memory without unpoisoning it.
extern "C" const char *__asan_default_options() {
  return "allow_user_poisoning=0";
}

// A context keeps every type and attribute it ever saw.
static mlir::MLIRContext &context() {
  static std::optional<mlir::MLIRContext> current;
  static int uses = 0;
  if (!current || ++uses % 500 == 0)
    current.emplace(mlir::MLIRContext::Threading::DISABLED);
  return *current;
}

static void build(const Program &program, const std::string &kernel,
                  std::vector<Argument> arguments) {
  CompileRequest request;
  request.file = "k.py";
  request.kernel = kernel;
  request.args = std::move(arguments);
  std::vector<Diagnostic> notes;
  try {
    auto module =
        semantics::buildTileModule(context(), program, request, &notes);
    fuzz::require(module && mlir::succeeded(mlir::verify(*module)),
                  "a module that does not verify");
  } catch (const CompileError &error) {
    fuzz::require(!error.diagnostics.empty(), "an error without diagnostics");
    fuzz::checkDiagnostics(error.diagnostics);
    fuzz::expectErrorsOnly([&] { throw error; }); // to be shown
  }
  fuzz::checkDiagnostics(notes);
}

// For a kernel without an instance: sizes are 16, arguments named like memory
// are pointers.
static Argument guess(const KernelParameter &parameter) {
  Argument argument;
  argument.name = parameter.name;
  if (parameter.isConstexpr) {
    argument.value =
        parameter.hasDefault ? parameter.defaultValue : Value(int64_t(16));
    return argument;
  }
  const bool pointer =
      std::isupper(static_cast<unsigned char>(parameter.name[0])) ||
      parameter.name.find("ptr") != std::string::npos ||
      std::string_view("abcdopqxyz").find(parameter.name[0]) !=
          std::string_view::npos;
  argument.kind = pointer ? ArgKind::Pointer : ArgKind::Int;
  argument.type = pointer ? "*fp32:16" : "i32";
  return argument;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz::expectErrorsOnly([&] {
    auto program =
        Program::load("k.py", fuzz::text(data, size),
                      [](const std::string &) { return std::nullopt; });
    for (const StmtPtr &stmt : program->main().body) {
      auto *function = stmt->as<FunctionDef>();
      if (!function)
        continue;
      fuzz::expectErrorsOnly([&] {
        const KernelInfo info = describeKernel(*program, *function);
        size_t built = 0;
        for (const Instance &instance : info.hints.instances) {
          if (++built > 2)
            break;
          fuzz::expectErrorsOnly(
              [&] { build(*program, function->name, instance.arguments); });
        }
        if (built)
          return;
        std::vector<Argument> arguments;
        for (const KernelParameter &parameter : info.signature.parameters)
          arguments.push_back(guess(parameter));
        build(*program, function->name, std::move(arguments));
      });
    }
  });
  return 0;
}
