// codegen/cpu/PrintAssert.cpp - emits prints and assertions of a running
// kernel.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A kernel links no library. It prints and fails through a table of callbacks
// that the runtime passes in the slot after the last argument.
// runtime/device/cpu/KernelOutput.h has the layout of the table: print, fail.
#include "codegen/ShownType.h"
#include "codegen/SourceLines.h"
#include "codegen/cpu/Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tessera::codegen::cpu {

enum { kPrint = 0, kFail = 1 };

// Returns the name of the type in memory of an element of type `element`.
static std::string typeName(Type element, Type stored, bool isUnsigned) {
  if (isa<tile::PtrType>(element))
    return "ptr";
  if (element.isInteger(1))
    return "i1";
  if (isa<FloatType>(stored))
    return stored.isF64() ? "fp64" : "fp32";
  if (element.isBF16())
    return "bf16";
  if (element.isF16())
    return "fp16";
  return (isUnsigned ? "u" : "i") +
         std::to_string(stored.getIntOrFloatBitWidth());
}

Value Emitter::text(const std::string &content) {
  std::string bytes = content;
  bytes += '\0';
  auto type = LLVM::LLVMArrayType::get(b.getI8Type(), bytes.size());
  std::string name = "tessera_text" + std::to_string(texts++);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(entry);
    // MLIR gives lines to operations inside of functions only.
    LLVM::GlobalOp::create(b, b.getUnknownLoc(), type, /*isConstant=*/true,
                           LLVM::Linkage::Internal, name,
                           b.getStringAttr(bytes));
  }
  return LLVM::AddressOfOp::create(
      b, loc, LLVM::LLVMPointerType::get(b.getContext()), name);
}

Value Emitter::spill(Value first, Value second) {
  Value words;
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&entry.getBody().front());
    words = LLVM::AllocaOp::create(b, loc,
                                   LLVM::LLVMPointerType::get(b.getContext()),
                                   b.getI64Type(), lanes.i64(2), 8);
  }
  // Two adjacent elements of one type.
  auto store = [&](Value value, int64_t at) {
    if (isa<LLVM::LLVMPointerType>(value.getType()))
      value = LLVM::PtrToIntOp::create(b, loc, b.getI64Type(), value);
    if (value.getType().isInteger(1))
      value = arith::ExtUIOp::create(b, loc, b.getI8Type(), value);
    int64_t bytes = value.getType().getIntOrFloatBitWidth() / 8;
    LLVM::StoreOp::create(b, loc, value,
                          lanes.byteOffset(words, lanes.i64(at * bytes)), 1);
  };
  store(first, 0);
  if (second)
    store(second, 1);
  return words;
}

void Emitter::callReport(int callback, ValueRange arguments) {
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  auto read = [&](Value from, int64_t offset) -> Value {
    return LLVM::LoadOp::create(b, loc, pointer,
                                lanes.byteOffset(from, lanes.i64(offset)), 8);
  };
  Value table = read(args, 8 * int64_t(function.getNumArguments()));
  SmallVector<Value> operands = {read(table, 8 * callback), table};
  operands.append(arguments.begin(), arguments.end());
  SmallVector<Type> types;
  for (Value operand : llvm::drop_begin(operands))
    types.push_back(operand.getType());
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(b.getContext()), types);
  LLVM::CallOp::create(b, loc, type, operands);
  entry->getParentOp()->setAttr(kReportsAttr, b.getUnitAttr());
}

void Emitter::emitPrint(tile::PrintOp op) {
  std::string prefix = op.getPrefix().rtrim().str();
  ArrayRef<bool> unsignedFlags;
  if (op.getIsUnsigned())
    unsignedFlags = *op.getIsUnsigned();
  Value hex = lanes.i64(op.getHex());
  if (op.getValues().empty()) {
    Value none = LLVM::ZeroOp::create(
        b, loc, LLVM::LLVMPointerType::get(b.getContext()));
    callReport(kPrint,
               {text(prefix), text("i8"), pid, none, lanes.i64(0), hex});
  }
  for (auto [i, value] : llvm::enumerate(op.getValues())) {
    bool isUnsigned = i < unsignedFlags.size() && unsignedFlags[i];
    Type element = tile::elementType(value.getType());
    std::string label = prefix + (prefix.empty() ? "" : " ") +
                        shownType(value.getType(), isUnsigned) + ":";
    Value data;
    Type stored;
    int64_t count = 1;
    if (isa<RankedTensorType>(value.getType())) {
      View view = viewOf(plan.bufferOf(value));
      data = view.address;
      stored = view.stored;
      for (int64_t size : tile::shapeOf(value.getType()))
        count *= size;
    } else {
      Value held = scalar(value);
      stored = isa<LLVM::LLVMPointerType>(held.getType()) ? b.getI64Type()
                                                          : held.getType();
      data = spill(held, {});
    }
    callReport(kPrint,
               {text(label), text(typeName(element, stored, isUnsigned)), pid,
                data, lanes.i64(count), hex});
  }
}

// Returns the comparison that decides a condition: the condition itself, or one
// side of `c | mask`.
static Operation *comparisonOf(Value condition) {
  Operation *op = condition.getDefiningOp();
  for (int step = 0; step < 4 && op; ++step) {
    if (isa<arith::CmpIOp, arith::CmpFOp>(op))
      return op;
    if (!isa<arith::OrIOp>(op))
      return nullptr;
    op = op->getOperand(0).getDefiningOp();
  }
  return nullptr;
}

void Emitter::emitAssert(tile::AssertOp op) {
  ArrayRef<int64_t> shape = tile::shapeOf(op.getCondition().getType());
  std::string message = op.getMessage().str();
  Value words = text(whereOf(op.getLoc()) + ": assertion failed" +
                     (message.empty() ? "" : ": " + message));
  Operation *comparison = comparisonOf(op.getCondition());
  nest(shape, -1, 1, [&](const Index &index) {
    Value good = lanes.vector(evaluate(op.getCondition(), index), 1);
    loc = op.getLoc();
    Value bad =
        arith::XOrIOp::create(b, loc, good, lanes.integer(b.getI1Type(), 1));
    auto branch = scf::IfOp::create(b, loc, TypeRange(), bad, false);
    auto saved = memo;
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&branch.getThenRegion().front());
    Value element = lanes.i64(shape.empty() ? -1 : 0);
    int64_t stride = 1;
    for (size_t d = shape.size(); d-- > 0; stride *= shape[d])
      element = lanes.add(element, lanes.mul(index.at[d], lanes.i64(stride)));
    std::string type;
    Value sides = LLVM::ZeroOp::create(
        b, loc, LLVM::LLVMPointerType::get(b.getContext()));
    if (comparison) {
      Value left = lanes.vector(evaluate(comparison->getOperand(0), index), 1);
      Value right = lanes.vector(evaluate(comparison->getOperand(1), index), 1);
      loc = op.getLoc();
      bool isUnsigned = false;
      if (auto integers = dyn_cast<arith::CmpIOp>(comparison))
        isUnsigned = integers.getPredicate() >= arith::CmpIPredicate::ult;
      type = typeName(left.getType(), left.getType(), isUnsigned);
      sides = spill(left, right);
    }
    callReport(kFail, {words, pid, element, text(type), sides});
    memo = std::move(saved);
  });
}

} // namespace tessera::codegen::cpu
