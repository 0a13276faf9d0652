// codegen/cpu/Entry.cpp - emits the entry function, its arguments and its
// scratch memory.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/cpu/Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tessera::codegen::cpu {

Emitter::Emitter(func::FuncOp function, const Plan &plan,
                 const CpuOptions &options)
    : function(function), plan(plan), axes(function), options(options),
      b(function.getContext()), loc(function.getLoc()), lanes(b, loc) {}

// Reads the arguments: `args` has one 8-byte slot per parameter.
void Emitter::bindArguments() {
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  for (auto [i, argument] : llvm::enumerate(function.getArguments())) {
    Type type = argument.getType();
    Value address = lanes.byteOffset(args, lanes.i64(8 * int64_t(i)));
    auto read = [&](Type as) -> Value {
      return LLVM::LoadOp::create(b, loc, as, address, 8, false, false, true);
    };
    Value value;
    if (isa<tile::PtrType>(type))
      value = read(pointer);
    else if (type.isF16() || type.isBF16())
      value = lanes.widenBits(type, read(b.getI16Type()));
    else if (isa<FloatType>(type))
      value = read(type);
    else if (type.isInteger(64))
      value = read(type);
    else if (isa<IntegerType>(type))
      value = arith::TruncIOp::create(b, loc, type, read(b.getI64Type()));
    else
      unsupported(function, "an argument of this type");
    scalars[argument] = value;
  }
}

// Gives each slot of scratch memory an alias scope, because accesses to
// different slots do not alias.
void Emitter::bindBuffers() {
  MLIRContext *context = b.getContext();
  auto domain = LLVM::AliasScopeDomainAttr::get(
      context, StringAttr::get(context, "tessera.scratch"));
  SmallVector<Attribute> scopes;
  for (int slot = 0; slot < plan.numSlots(); ++slot) {
    auto name = StringAttr::get(context, "slot" + std::to_string(slot));
    scopes.push_back(LLVM::AliasScopeAttr::get(domain, name));
    slotAddresses.push_back(
        lanes.byteOffset(scratch, lanes.i64(plan.slotOffset(slot))));
  }
  for (size_t slot = 0; slot < scopes.size(); ++slot) {
    ownScope.push_back(ArrayAttr::get(context, {scopes[slot]}));
    SmallVector<Attribute> others(scopes);
    others.erase(others.begin() + slot);
    otherScopes.push_back(ArrayAttr::get(context, others));
  }
}

void Emitter::run() {
  MLIRContext *context = b.getContext();
  b.setInsertionPoint(function);
  Type pointer = LLVM::LLVMPointerType::get(context);
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context),
                                          {pointer, pointer, pointer, pointer});
  entry = LLVM::LLVMFuncOp::create(b, loc, "tessera_entry", type);
  for (int i : {0, 1, 2})
    entry.setArgAttr(i, LLVM::LLVMDialect::getReadonlyAttrName(),
                     b.getUnitAttr());
  entry.setArgAttr(3, LLVM::LLVMDialect::getNoAliasAttrName(), b.getUnitAttr());
  entry.setArgAttr(3, LLVM::LLVMDialect::getAlignAttrName(),
                   b.getI64IntegerAttr(64));
  // A kernel may convert an integer to a null pointer; its access must fault.
  // Without this attribute LLVM deletes the access and the code around it.
  entry.setPassthroughAttr(
      b.getArrayAttr(b.getStringAttr("null_pointer_is_valid")));
  Block *block = entry.addEntryBlock(b);
  b.setInsertionPointToStart(block);
  args = block->getArgument(0);
  pid = block->getArgument(1);
  grid = block->getArgument(2);
  scratch = block->getArgument(3);
  bindArguments();
  bindBuffers();
  emitBlock(function.getBody().front());
  LLVM::ReturnOp::create(b, loc, ValueRange());
}

} // namespace tessera::codegen::cpu
