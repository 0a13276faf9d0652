// compiler/semantics/builtins/Assembly.cpp - inline assembly of one instruction
// that has an operation.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A kernel uses inline assembly to get a fast approximate instruction. The
// operation that replaces it is at least as exact and runs on every target.
#include "compiler/semantics/Builtins.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace tessera::semantics {
namespace {

using AssemblyEmit = Tensor (*)(Emitter &, const Tensor &);

template <typename Op>
Tensor emitMath(Emitter &emit, const Tensor &x) {
  return {Op::create(emit.builder, emit.location(), x.handle), x.type};
}

Tensor emitReciprocal(Emitter &emit, const Tensor &x) {
  return *emit.binary(BinaryOp::Div, Const(1.0), x).tensor();
}

struct Instruction {
  std::string_view name; // without .approx, .rn, .ftz and .f32
  AssemblyEmit emit;
};

constexpr std::array<Instruction, 8> kInstructions{{
    {"tanh", emitMath<mlir::math::TanhOp>},
    {"sin", emitMath<mlir::math::SinOp>},
    {"cos", emitMath<mlir::math::CosOp>},
    {"ex2", emitMath<mlir::math::Exp2Op>},
    {"lg2", emitMath<mlir::math::Log2Op>},
    {"rcp", emitReciprocal},
    {"rsqrt", emitMath<mlir::math::RsqrtOp>},
    {"sqrt", emitMath<mlir::math::SqrtOp>},
}};

// Returns the words of the text, which blanks, commas and semicolons separate.
std::vector<std::string> wordsOf(const std::string &text) {
  std::vector<std::string> words;
  bool inWord = false;
  for (const char c : text) {
    const bool isGap = std::isspace((unsigned char)c) || c == ',' || c == ';';
    if (!isGap && !inWord)
      words.emplace_back();
    if (!isGap)
      words.back() += c;
    inWord = !isGap;
  }
  return words;
}

// Returns null if the text is not `NAME.approx.f32 $0, $1;` with a known name.
const Instruction *instructionOf(const std::string &text) {
  const std::vector<std::string> words = wordsOf(text);
  if (words.size() != 3 || words[1] != "$0" || words[2] != "$1" ||
      std::count(text.begin(), text.end(), ';') > 1)
    return nullptr;
  const std::string &whole = words[0];
  for (const Instruction &instruction : kInstructions)
    for (const char *rest :
         {".approx.f32", ".approx.ftz.f32", ".rn.f32", ".rn.ftz.f32"})
      if (whole == std::string(instruction.name) + rest)
        return &instruction;
  return nullptr;
}

Value emitInlineAssembly(BuiltinCall &call) {
  const char *hint = "one instruction on float32 is: tanh, sin, cos, ex2, lg2, "
                     "rcp, rsqrt or sqrt with .approx.f32, written "
                     "\"tanh.approx.f32 $0, $1;\"; write others with the "
                     "functions of tl";
  const std::string text = call.string(0);
  const Instruction *instruction = instructionOf(text);
  if (!instruction)
    call.fail(0, DiagnosticId::NotSupported,
              "this inline assembly is not supported", hint);
  const std::vector<Value> *list = call[2].tupleValues();
  if (!list || list->size() != 1)
    call.fail(2, DiagnosticId::NotSupported,
              "inline assembly of anything but one argument is not supported",
              hint);
  const Tensor x = call.emit.toTensor((*list)[0]);
  if (x.type.element != kFp32 || call.element(3) != kFp32)
    call.fail(2, DiagnosticId::NotSupported,
              "inline assembly of anything but float32 is not supported, got " +
                  toString(x.type),
              "convert it with .to(tl.float32)");
  if (call.integer(5) != 1)
    call.fail(5, DiagnosticId::NotSupported,
              "inline assembly of packed elements is not supported",
              "write pack=1");
  return instruction->emit(call.emit, x);
}

} // namespace

void registerAssembly(Registry &registry) {
  registry.add("inline_asm_elementwise",
               "asm, constraints, args, dtype, is_pure, pack",
               emitInlineAssembly);
}

} // namespace tessera::semantics
