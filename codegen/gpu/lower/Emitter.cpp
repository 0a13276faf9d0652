// codegen/gpu/lower/Emitter.cpp - values, layouts and threads of a kernel.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/lower/Emitter.h"

#include "codegen/SourceLines.h"
#include "codegen/gpu/lower/Families.h"
#include "codegen/gpu/lower/LowersToLlvm.h"
#include "support/Error.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"

#include <cassert>

using namespace mlir;
using tessera::layout::Dim;
using tessera::layout::LinearLayout;
using tessera::layout::Word;

namespace tessera::codegen::gpu {

void Emitter::unsupported(Operation *op, const std::string &what,
                          const std::string &hint) {
  throw Error(whereOf(op->getLoc()) + ": error: " + what,
              hint.empty() ? "write it with other operations, or run the "
                             "kernel on cpu"
                           : hint);
}

void Emitter::emitOperation(Operation *op) {
  setLocation(op->getLoc());
  for (Value result : op->getResults())
    if (isa<tile::TokenType>(result.getType()))
      set(result, {});
  for (auto *emit : {emitElementwise, emitMath, emitShape, emitMemory,
                     emitControl, emitConvert, emitDot, emitShared, emitReduce,
                     emitScan, emitAtomic, emitDebug})
    if (emit(*this, op))
      return;
  if (auto own = dyn_cast<LowersToLlvm>(op))
    return own.emit(*this);
  unsupported(op, "`" + op->getName().getStringRef().str() +
                      "` cannot be compiled for a GPU");
}

void Emitter::emitBlock(Block &block) {
  // A local variable, because a reduction emits the block of its combine
  // function before the barrier that it owes.
  bool pending = false;
  for (Operation &op : block.without_terminator()) {
    if (auto barrier = dyn_cast<tile::BarrierOp>(op);
        barrier && barrier.getScratch()) {
      scratchBarrier = pending = true;
      continue;
    }
    emitOperation(&op);
    assert(!(pending && scratchBarrier) &&
           "an operation with scratch emits its barrier");
    pending = false;
  }
}

// --- Values ------------------------------------------------------------------

const Registers &Emitter::get(Value value) {
  auto found = values.find(value);
  assert(found != values.end() && "used before it is emitted");
  return *found->second;
}

llvm::Value *Emitter::scalar(Value value) {
  const Registers &registers = get(value);
  assert(registers.size() == 1 && "not a scalar");
  return registers.front();
}

void Emitter::set(Value value, Registers registers) {
  assert(int64_t(registers.size()) == numRegisters(value.getType()) &&
         "one value for each register");
  std::unique_ptr<Registers> &held = values[value];
  if (held)
    *held = std::move(registers);
  else
    held = std::make_unique<Registers>(std::move(registers));
}

Registers Emitter::flatten(ValueRange list) {
  Registers flat;
  for (Value value : list)
    llvm::append_range(flat, get(value));
  return flat;
}

void Emitter::unflatten(ValueRange list, llvm::ArrayRef<llvm::Value *> flat) {
  for (Value value : list) {
    size_t count = size_t(numRegisters(value.getType()));
    assert(flat.size() >= count && "fewer registers than the values have");
    set(value, Registers(flat.take_front(count)));
    flat = flat.drop_front(count);
  }
}

llvm::SmallVector<llvm::Type *> Emitter::flatTypes(TypeRange types) {
  llvm::SmallVector<llvm::Type *> flat;
  for (Type type : types)
    if (const int64_t count = numRegisters(type))
      flat.append(size_t(count), typeOf(tile::elementType(type)));
  return flat;
}

// --- Types and layouts -------------------------------------------------------

llvm::Type *Emitter::typeOf(Type element) {
  if (isa<tile::PtrType>(element))
    return b.getPtrTy(kGlobal);
  if (isa<tile::SmemType>(element))
    return b.getPtrTy(kShared);
  if (element.isF16())
    return b.getHalfTy();
  if (element.isBF16())
    return b.getBFloatTy();
  if (element.isF32())
    return b.getFloatTy();
  if (element.isF64())
    return b.getDoubleTy();
  if (element.isIndex())
    return b.getInt64Ty();
  return b.getIntNTy(cast<IntegerType>(element).getWidth());
}

const LinearLayout &Emitter::layoutOf(Type type) {
  tile::LinearAttr attr = tile::layoutOf(type);
  if (!attr)
    return scalarLayout;
  std::unique_ptr<LinearLayout> &known = layouts[attr];
  if (!known)
    known = std::make_unique<LinearLayout>(attr.layout());
  return *known;
}

int64_t Emitter::numRegisters(Type type) {
  if (isa<tile::TokenType>(type))
    return 0;
  tile::LinearAttr attr = tile::layoutOf(type);
  return attr ? int64_t(1) << attr.getRegisters().size() : 1;
}

llvm::Value *Emitter::threadPart(const LinearLayout &map) {
  // A run of input bits that map to consecutive single output bits takes one
  // and and one shift. Any other input bit takes a select.
  llvm::Value *sum = nullptr;
  auto add = [&](Dim dim, llvm::Value *index) {
    if (!map.hasIn(dim))
      return;
    std::vector<Word> columns = map.columns(dim);
    for (size_t bit = 0; bit < columns.size();) {
      if (!columns[bit]) {
        ++bit;
        continue;
      }
      // Finds the end of the run of bits that move by the same distance.
      size_t end = bit + 1;
      bool single = llvm::isPowerOf2_64(columns[bit]);
      while (single && end < columns.size() &&
             columns[end] == columns[bit] << (end - bit))
        ++end;
      llvm::Value *part;
      if (single) {
        int64_t mask = ((int64_t(1) << (end - bit)) - 1) << bit;
        part = b.CreateAnd(index, i32(mask));
        int shift = int(llvm::Log2_64(columns[bit])) - int(bit);
        if (shift > 0)
          part = b.CreateShl(part, i32(shift));
        else if (shift < 0)
          part = b.CreateLShr(part, i32(-shift));
      } else {
        llvm::Value *set =
            b.CreateICmpNE(b.CreateAnd(index, i32(int64_t(1) << bit)), i32(0));
        part = b.CreateSelect(set, i32(int64_t(columns[bit])), i32(0));
      }
      sum = sum ? b.CreateXor(sum, part) : part;
      bit = end;
    }
  };
  add(Dim::Lane, laneValue);
  add(Dim::Warp, warpValue);
  return sum ? sum : i32(0);
}

Registers Emitter::coordinates(const LinearLayout &layout, int64_t index) {
  assert(index >= 0 && index < layout.inSize(Dim::Register) &&
         "the layout does not have this register");
  llvm::Value *part = threadPart(layout);
  Word constant = layout.apply(Word(index) << layout.inStart(Dim::Register));
  if (!layout.hasIn(Dim::Register))
    constant = 0;
  Registers result;
  for (const layout::Extent &out : layout.outs()) {
    int start = layout.outStart(out.dim);
    int64_t mask = (int64_t(1) << out.bits) - 1;
    llvm::Value *own = b.CreateAnd(b.CreateLShr(part, i32(start)), i32(mask));
    result.push_back(b.CreateXor(own, i32(int64_t(constant >> start) & mask)));
  }
  return result;
}

llvm::Value *Emitter::isFirstReplica(const LinearLayout &layout) {
  // A thread's number is warp * 32 + lane.
  Word replicas = 0;
  if (layout.hasIn(Dim::Lane))
    replicas |= layout.freeBits(Dim::Lane);
  if (layout.hasIn(Dim::Warp))
    replicas |= layout.freeBits(Dim::Warp) << 5;
  if (!replicas)
    return nullptr;
  llvm::Value *bits = threadValue;
  if (int64_t(replicas) != 32 * options.numWarps - 1)
    bits = b.CreateAnd(bits, i32(int64_t(replicas)));
  return b.CreateICmpEQ(bits, i32(0));
}

llvm::SmallVector<int64_t>
Emitter::registerSources(const LinearLayout &layout) {
  llvm::SmallVector<int64_t> sources;
  std::map<Word, int64_t> first;
  int start = layout.inStart(Dim::Register);
  for (int64_t index = 0; index < layout.inSize(Dim::Register); ++index)
    sources.push_back(
        first.try_emplace(layout.apply(Word(index) << start), index)
            .first->second);
  return sources;
}

// --- Shared memory -----------------------------------------------------------

llvm::Value *Emitter::shared(int64_t offset) {
  assert(offset >= 0 && "before the first byte of shared memory");
  if (!sharedMemory) {
    sharedMemory = new llvm::GlobalVariable(
        module, llvm::ArrayType::get(b.getInt8Ty(), 0), /*isConstant=*/false,
        llvm::GlobalValue::ExternalLinkage, nullptr, kSharedSymbol, nullptr,
        llvm::GlobalValue::NotThreadLocal, kShared);
    sharedMemory->setAlignment(llvm::Align(1024));
  }
  return b.CreateConstInBoundsGEP1_32(b.getInt8Ty(), sharedMemory,
                                      unsigned(offset));
}

int64_t Emitter::scratchOffset(Operation *op) {
  auto attr = op->getAttrOfType<IntegerAttr>(tile::kScratchOffsetAttr);
  assert(attr && "tessera-allocate-shared has not seen this operation");
  return attr.getInt();
}

void Emitter::enterScratch() {
  if (scratchBarrier)
    barrier();
}

void Emitter::barrier() {
  scratchBarrier = false;
  if (options.numWarps == 1)
    return warpBarrier();
  intrinsic(llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_all, {i32(0)});
}

void Emitter::warpBarrier() {
  intrinsic(llvm::Intrinsic::nvvm_bar_warp_sync, {i32(-1)});
}

// --- Instructions ------------------------------------------------------------

llvm::Value *Emitter::assembly(llvm::StringRef text,
                               const std::string &constraints,
                               llvm::ArrayRef<llvm::Value *> operands,
                               llvm::Type *result, MemoryUse memory) {
  llvm::SmallVector<llvm::Type *> types;
  for (llvm::Value *operand : operands)
    types.push_back(operand->getType());
  auto *type = llvm::FunctionType::get(result, types, /*isVarArg=*/false);
  // LLVM's IR passes assume that a call reads and writes all memory that its
  // attributes do not exclude. The code generator uses the clobber alone:
  // without it, MachineSink may move loads below a store. Reads need no
  // clobber: the code generator moves neither them nor stores across them.
  const char *clobber = memory == MemoryUse::Write ? ",~{memory}" : "";
  return b.CreateCall(
      type,
      llvm::InlineAsm::get(type, text, constraints + clobber,
                           /*hasSideEffects=*/memory != MemoryUse::None),
      operands);
}

llvm::Value *Emitter::intrinsic(llvm::Intrinsic::ID id,
                                llvm::ArrayRef<llvm::Value *> operands,
                                llvm::ArrayRef<llvm::Type *> overloads) {
  return b.CreateIntrinsic(id, overloads, operands);
}

llvm::Value *Emitter::shuffle(llvm::Intrinsic::ID kind, llvm::Value *value,
                              llvm::Value *other, int clamp) {
  llvm::Type *type = value->getType();
  bool isPointer = type->isPointerTy();
  unsigned bits =
      isPointer
          ? 64
          : type->getScalarSizeInBits() *
                (type->isVectorTy()
                     ? llvm::cast<llvm::FixedVectorType>(type)->getNumElements()
                     : 1);
  assert(bits <= 64 && "a shuffle of more than two words");
  auto word = [&](llvm::Value *part) {
    return intrinsic(kind, {i32(-1), part, other, i32(clamp)});
  };
  llvm::Type *integer = b.getIntNTy(bits);
  llvm::Value *raw = isPointer ? b.CreatePtrToInt(value, integer)
                               : b.CreateBitCast(value, integer);
  llvm::Value *result;
  if (bits <= 32) {
    result = b.CreateTrunc(word(b.CreateZExt(raw, b.getInt32Ty())), integer);
  } else {
    llvm::Value *low = word(b.CreateTrunc(raw, b.getInt32Ty()));
    llvm::Value *high =
        word(b.CreateTrunc(b.CreateLShr(raw, 32), b.getInt32Ty()));
    result = b.CreateOr(b.CreateZExt(low, integer),
                        b.CreateShl(b.CreateZExt(high, integer), 32));
  }
  return isPointer ? b.CreateIntToPtr(result, type)
                   : b.CreateBitCast(result, type);
}

void Emitter::onlyIf(llvm::Value *condition, llvm::function_ref<void()> body) {
  if (!condition)
    return body();
  auto &context = b.getContext();
  auto *then = llvm::BasicBlock::Create(context, "", function);
  auto *end = llvm::BasicBlock::Create(context, "", function);
  b.CreateCondBr(condition, then, end);
  b.SetInsertPoint(then);
  body();
  b.CreateBr(end);
  b.SetInsertPoint(end);
}

} // namespace tessera::codegen::gpu

#include "codegen/gpu/lower/LowersToLlvm.cpp.inc"
