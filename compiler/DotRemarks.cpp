// compiler/DotRemarks.cpp - remarks on dots that do not use the tensor cores.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/DotRemarks.h"

#include "codegen/SourceLines.h"
#include "dialect/tile/DotInstruction.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Path.h"

#include <cassert>
#include <set>

using namespace mlir;

namespace tessera::compiler {
namespace {

// Returns the element type as kernels spell it: "fp32".
std::string nameOf(Type element) {
  if (element.isBF16())
    return "bf16";
  const std::string bits = std::to_string(element.getIntOrFloatBitWidth());
  return (isa<FloatType>(element) ? "fp" : "int") + bits;
}

// Returns the type of a value: "fp32[16, 8]".
std::string describe(Value value) {
  std::string text = nameOf(tile::elementType(value.getType())) + "[";
  for (int64_t size : tile::shapeOf(value.getType()))
    text += (text.back() == '[' ? "" : ", ") + std::to_string(size);
  return text + "]";
}

// Returns "; called from k.py:31:9" for every inlined call, the innermost
// first.
std::string callersOf(Location location) {
  std::string text;
  while (auto call = dyn_cast<CallSiteLoc>(location)) {
    location = call.getCaller();
    text += "; called from " +
            llvm::sys::path::filename(codegen::whereOf(location)).str();
  }
  return text;
}

struct Reason {
  std::string what, hint;
};

Reason reasonOf(tile::DotOp dot) {
  assert(dot.getReason() && "the dot runs on tensor cores");
  const Type element = tile::elementType(dot.getA().getType());
  switch (*dot.getReason()) {
  case tile::FmaReason::IEEE:
    return {"the precision is ieee, and tensor cores round fp32 to tf32",
            "write input_precision=\"tf32x3\" (three products, nearly as "
            "exact) or \"tf32\"; where tl.dot names none, TESSERA_F32_DEFAULT "
            "decides"};
  case tile::FmaReason::Type:
    return {"no instruction multiplies " + nameOf(element) + " by " +
                nameOf(tile::elementType(dot.getB().getType())),
            "convert the operands to fp16, bf16 or int8"};
  case tile::FmaReason::ShortK: {
    const auto mma = tile::mmaFor(element, dot.getPrecision());
    const std::string least = std::to_string(tile::shapeOf(*mma)->k);
    const int64_t k = tile::shapeOf(dot.getA().getType()).back();
    return {"it sums over " + std::to_string(k) + ", an instruction for " +
                nameOf(element) + " over " + least,
            "make the columns of the first operand at least " + least +
                "; zeros (masked loads with other=0) change no sum"};
  }
  case tile::FmaReason::Layout:
    return {"the layouts of its operands are not those of the instruction",
            "use the layouts that the compiler chooses"};
  }
  llvm_unreachable("every reason has a text");
}

} // namespace

std::vector<DotRemark> dotRemarks(ModuleOp module) {
  std::vector<DotRemark> remarks;
  std::set<std::pair<const void *, std::string>> seen;
  module.walk([&](tile::DotOp dot) {
    if (!dot.getReason())
      return;
    const Reason reason = reasonOf(dot);
    std::string message =
        "the dot of " + describe(dot.getA()) + " and " + describe(dot.getB()) +
        " runs as multiply-adds, not on tensor cores: " + reason.what +
        callersOf(dot.getLoc());
    if (seen.insert({dot.getLoc().getAsOpaquePointer(), message}).second)
      remarks.push_back({dot.getLoc(), std::move(message), reason.hint});
  });
  return remarks;
}

} // namespace tessera::compiler
