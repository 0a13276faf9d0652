// tests/unit/codegen/TextKernel.h - kernels as text of the language, run here.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/semantics/Semantics.h"
#include "tests/unit/codegen/TileKernel.h"

namespace tessera {

/// "Q=*fp32 n=i32 BM:32 CAUSAL:1": run-time arguments by class, compile-time
/// ones by value.
inline std::vector<language::Argument> argumentsOf(const std::string &text) {
  std::vector<language::Argument> result;
  size_t at = 0;
  while (at < text.size()) {
    size_t end = std::min(text.find(' ', at), text.size());
    std::string word = text.substr(at, end - at);
    at = end + 1;
    size_t split = word.find_first_of("=:");
    language::Argument argument;
    argument.name = word.substr(0, split);
    std::string rest = word.substr(split + 1);
    if (word[split] == ':') {
      argument.kind = language::ArgKind::Constexpr;
      argument.value = language::Value(int64_t(std::stoll(rest)));
    } else {
      argument.kind = rest[0] == '*'   ? language::ArgKind::Pointer
                      : rest[0] == 'f' ? language::ArgKind::Float
                                       : language::ArgKind::Int;
      argument.type = rest;
    }
    result.push_back(std::move(argument));
  }
  return result;
}

inline TileKernel textKernel(const std::string &text, const std::string &name,
                             const std::string &arguments,
                             const CpuTarget &target) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  semantics::loadDialects(context);
  auto program = language::Program::load(
      "k.py", "import triton\nimport triton.language as tl\n" + text,
      [](const std::string &) { return std::nullopt; });
  language::CompileRequest request;
  request.file = "k.py";
  request.kernel = name;
  request.args = argumentsOf(arguments);
  request.options.f32Default = "ieee";
  auto module = semantics::buildTileModule(context, *program, request);
  return TileKernel(*module, target);
}

} // namespace tessera
