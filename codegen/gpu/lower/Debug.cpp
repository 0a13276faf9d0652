// codegen/gpu/lower/Debug.cpp - printing, assertions, assumptions.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// vprintf and __assertfail are provided by the driver (CUDA C++ Programming
// Guide, "Formatted Output", "Assertion") and by the simulator.
#include "codegen/ShownType.h"
#include "codegen/SourceLines.h"
#include "codegen/gpu/lower/Emitter.h"
#include "codegen/gpu/lower/Families.h"

#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace tessera::codegen::gpu {

// Returns a generic pointer to constant text.
static llvm::Value *text(Emitter &e, const std::string &content) {
  llvm::Value *global =
      e.b.CreateGlobalString(content, "tessera_text", kGlobal);
  return e.b.CreateAddrSpaceCast(global, e.b.getPtrTy());
}

static std::string escaped(StringRef text) {
  std::string result;
  for (char c : text)
    result += c == '%' ? std::string("%%") : std::string(1, c);
  return result;
}

namespace {
// The printf conversion for a value and the type of its argument.
struct Shown {
  std::string conversion;
  llvm::Type *type;
};
} // namespace

static Shown howShown(Emitter &e, Type element, bool isUnsigned, bool hex) {
  if (isa<tile::PtrType>(element))
    return {"0x%016llx", e.b.getInt64Ty()};
  unsigned bits = element.getIntOrFloatBitWidth();
  bool wide = bits == 64;
  llvm::Type *word = wide ? e.b.getInt64Ty() : e.b.getInt32Ty();
  if (hex)
    return {"0x%0" + std::to_string(std::max(bits / 4, 2u)) +
                (wide ? "llx" : "x"),
            word};
  if (isa<FloatType>(element)) {
    const char *digits = bits == 64 ? "%.17g" : bits == 32 ? "%.9g" : "%.5g";
    return {digits, e.b.getDoubleTy()};
  }
  if (bits == 1)
    return {"%s", e.b.getPtrTy()};
  return {std::string("%") + (wide ? "ll" : "") + (isUnsigned ? "u" : "d"),
          word};
}

static llvm::Value *argument(Emitter &e, llvm::Value *value, Type element,
                             const Shown &shown, bool isUnsigned) {
  auto &b = e.b;
  if (value->getType()->isPointerTy())
    return b.CreatePtrToInt(value, shown.type);
  if (shown.type->isDoubleTy())
    return b.CreateFPExt(value, shown.type);
  if (shown.type->isPointerTy())
    return b.CreateSelect(value, text(e, "True"), text(e, "False"));
  unsigned bits = element.getIntOrFloatBitWidth();
  value = b.CreateBitCast(value, b.getIntNTy(bits));
  bool bitsOnly = isa<FloatType>(element) || isUnsigned ||
                  shown.conversion[0] == '0'; // hex
  return bitsOnly ? b.CreateZExt(value, shown.type)
                  : b.CreateSExt(value, shown.type);
}

// Emits a call of vprintf with `arguments`, each of 4 or 8 bytes.
static void print(Emitter &e, const std::string &format,
                  llvm::ArrayRef<llvm::Value *> arguments) {
  auto &b = e.b;
  llvm::SmallVector<llvm::Type *> types;
  for (llvm::Value *value : arguments)
    types.push_back(value->getType());
  auto *type = llvm::StructType::get(b.getContext(), types);
  llvm::Value *buffer;
  {
    llvm::IRBuilderBase::InsertPointGuard guard(b);
    llvm::BasicBlock &entry = e.function->getEntryBlock();
    b.SetInsertPoint(&entry, entry.begin());
    buffer = b.CreateAlloca(type);
  }
  for (auto [index, value] : llvm::enumerate(arguments))
    b.CreateStore(value, b.CreateStructGEP(type, buffer, unsigned(index)));
  auto callee = e.function->getParent()->getOrInsertFunction(
      "vprintf", b.getInt32Ty(), b.getPtrTy(), b.getPtrTy());
  b.CreateCall(callee, {text(e, format), buffer});
}

static Registers program(Emitter &e) {
  using namespace llvm::Intrinsic;
  Registers ids;
  for (auto id : {nvvm_read_ptx_sreg_ctaid_x, nvvm_read_ptx_sreg_ctaid_y,
                  nvvm_read_ptx_sreg_ctaid_z})
    ids.push_back(e.intrinsic(id, {}));
  return ids;
}

// Prints one line for each element, in no particular order:
//   pid (0, 0, 0) idx (3, 1) row fp32[8, 4]: 1.5
static void emitPrint(Emitter &e, tile::PrintOp op) {
  StringRef prefix = op.getPrefix().rtrim();
  ArrayRef<bool> flags;
  if (op.getIsUnsigned())
    flags = *op.getIsUnsigned();
  const std::string pid = "pid (%u, %u, %u)";
  std::string label = prefix.empty() ? "" : " " + escaped(prefix);
  if (op.getValues().empty())
    e.onlyIf(e.b.CreateICmpEQ(e.thread(), e.i32(0)),
             [&] { print(e, pid + label + "\n", program(e)); });
  for (auto [number, value] : llvm::enumerate(op.getValues())) {
    bool isUnsigned = number < flags.size() && flags[number];
    Type element = tile::elementType(value.getType());
    Shown shown = howShown(e, element, isUnsigned, op.getHex());
    const layout::LinearLayout &layout = e.layoutOf(value.getType());
    size_t rank = tile::shapeOf(value.getType()).size();
    std::string format = pid;
    for (size_t axis = 0; axis < rank; ++axis)
      format += axis ? ", %u" : " idx (%u";
    format += (rank ? ")" : "") + label + " " +
              shownType(value.getType(), isUnsigned) + ": " + shown.conversion +
              "\n";
    const Registers registers = e.get(value);
    llvm::SmallVector<int64_t> sources = e.registerSources(layout);
    e.onlyIf(e.isFirstReplica(layout), [&] {
      for (auto [index, held] : llvm::enumerate(registers)) {
        if (sources[index] != int64_t(index))
          continue;
        Registers arguments = program(e);
        if (rank)
          llvm::append_range(arguments, e.coordinates(layout, int64_t(index)));
        arguments.push_back(argument(e, held, element, shown, isUnsigned));
        print(e, format, arguments);
      }
    });
  }
}

// Every thread tests its elements. A thread with a false one calls
// __assertfail.
static void emitAssert(Emitter &e, tile::AssertOp op) {
  auto &b = e.b;
  llvm::Value *all = nullptr;
  for (llvm::Value *value : e.get(op.getCondition()))
    all = all ? b.CreateAnd(all, value) : value;
  // "file:line:column"
  std::string where = whereOf(op.getLoc());
  std::string file = where, line = "0";
  if (size_t second = where.rfind(':'); second != std::string::npos && second)
    if (size_t first = where.rfind(':', second - 1);
        first != std::string::npos) {
      // The file name only, as in line information: the code must not depend
      // on the folder of the checkout.
      file = llvm::sys::path::filename(where.substr(0, first)).str();
      line = where.substr(first + 1, second - first - 1);
    }
  int64_t number = 0;
  (void)StringRef(line).getAsInteger(10, number);
  std::string message = op.getMessage().str();
  auto callee = e.function->getParent()->getOrInsertFunction(
      "__assertfail", b.getVoidTy(), b.getPtrTy(), b.getPtrTy(), b.getInt32Ty(),
      b.getPtrTy(), b.getInt64Ty());
  e.onlyIf(b.CreateNot(all), [&] {
    b.CreateCall(callee,
                 {text(e, message.empty() ? "a condition is false" : message),
                  text(e, file), e.i32(number),
                  text(e, e.function->getName().str()), b.getInt64(1)});
  });
}

bool emitDebug(Emitter &e, Operation *op) {
  if (auto print = dyn_cast<tile::PrintOp>(op))
    emitPrint(e, print);
  else if (auto claim = dyn_cast<tile::AssertOp>(op))
    emitAssert(e, claim);
  else if (auto fact = dyn_cast<tile::AssumeOp>(op))
    e.b.CreateAssumption(e.scalar(fact.getCondition()));
  else
    return false;
  return true;
}

} // namespace tessera::codegen::gpu
