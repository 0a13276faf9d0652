// codegen/gpu/lower/global/Atomic.cpp - read-modify-write of global memory.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// One thread acts for each element; the others get the old element through
// shared memory, or through shuffles when they sit in the same warp.
#include "codegen/gpu/lower/Families.h"
#include "codegen/gpu/lower/global/VectorAccess.h"
#include "codegen/gpu/lower/shared/SharedMemory.h"

#include "codegen/gpu/memory/Scratch.h"

#include "llvm/IR/IntrinsicsNVPTX.h"

using namespace mlir;
using tessera::layout::Dim;
using tessera::layout::LinearLayout;
using tessera::layout::Word;
using tessera::tile::AtomicKind;
using tessera::tile::MemSemantic;

namespace tessera::codegen::gpu {
namespace {

// How threads that do not act learn an old element.
enum class Share { Nothing, Shuffle, Memory };

Share shareOf(const LinearLayout &layout) {
  Word lanes = layout.hasIn(Dim::Lane) ? layout.freeBits(Dim::Lane) : 0;
  if (layout.hasIn(Dim::Warp) && layout.freeBits(Dim::Warp))
    return Share::Memory;
  if (!lanes)
    return Share::Nothing;
  // A shuffle reads the same register of another lane.
  std::vector<Word> columns = layout.columns(Dim::Lane);
  for (size_t bit = 0; bit < columns.size(); ++bit)
    if (lanes >> bit & 1 && columns[bit])
      return Share::Memory;
  return Share::Shuffle;
}

bool isMaximum(AtomicKind kind) {
  return kind == AtomicKind::Max || kind == AtomicKind::UMax ||
         kind == AtomicKind::FMax;
}

// One element of one thread.
class Element {
public:
  Element(Emitter &e, Operation *op, Type type)
      : e(e), op(op), type(e.typeOf(type)), used(!op->use_empty()) {
    if (!type.isIntOrFloat() || type.getIntOrFloatBitWidth() < 16)
      e.unsupported(op, "an atomic on elements of less than 16 bits",
                    "use memory of int32");
    bits = type.getIntOrFloatBitWidth();
    integer = e.b.getIntNTy(bits);
    if (auto rmw = dyn_cast<tile::AtomicRMWOp>(op))
      setOrder(rmw.getSem(), rmw.getScope());
    else
      setOrder(cast<tile::AtomicCASOp>(op).getSem(),
               cast<tile::AtomicCASOp>(op).getScope());
  }

  // Whether one instruction adds two neighbours: f16x2 from sm_60, bf16x2 from
  // sm_90 (PTX ISA, "atom"). Each of the two is added atomically.
  bool hasPairs() const {
    auto rmw = dyn_cast<tile::AtomicRMWOp>(op);
    return rmw && rmw.getKind() == AtomicKind::FAdd && bits == 16 && hasAdd();
  }
  // Returns the old elements of both; null if no operation uses the result.
  Registers emitPair(llvm::Value *address, llvm::Value *low, llvm::Value *high,
                     llvm::Value *condition) {
    llvm::Value *old =
        instruction("add" + floatSuffix() + "x2", address,
                    {packWord(e, {toBits(low), toBits(high)})}, condition);
    if (!old)
      return {nullptr, nullptr};
    Registers halves = unpackWord(e, old, 16);
    return {fromBits(halves[0]), fromBits(halves[1])};
  }

  // Returns the old element; 0 if `condition` is false at run time. Returns
  // null if no operation uses the result.
  llvm::Value *emit(llvm::Value *address, llvm::ArrayRef<llvm::Value *> in,
                    llvm::Value *condition) {
    if (auto rmw = dyn_cast<tile::AtomicRMWOp>(op))
      return emit(rmw.getKind(), address, in[0], condition);
    std::string width = ".b" + std::to_string(bits);
    return fromBits(instruction("cas" + width, address,
                                {toBits(in[0]), toBits(in[1])}, condition));
  }

private:
  llvm::Value *emit(AtomicKind kind, llvm::Value *address, llvm::Value *operand,
                    llvm::Value *condition) {
    std::string size = std::to_string(bits);
    bool isExtreme = kind == AtomicKind::FMax || kind == AtomicKind::FMin;
    if (kind == AtomicKind::FAdd && hasAdd())
      return fromRegister(instruction("add" + floatSuffix(), address,
                                      {toRegister(operand)}, condition));
    if (bits < 32)
      return fromBits(narrowLoop(kind, address, operand, condition));
    if (isExtreme)
      return fromBits(extreme(kind, address, operand, condition));
    std::string name;
    switch (kind) {
    case AtomicKind::Add:
      name = "add.u" + size;
      break;
    case AtomicKind::Max:
    case AtomicKind::Min:
      name = (isMaximum(kind) ? "max.s" : "min.s") + size;
      break;
    case AtomicKind::UMax:
    case AtomicKind::UMin:
      name = (isMaximum(kind) ? "max.u" : "min.u") + size;
      break;
    case AtomicKind::And:
      name = "and.b" + size;
      break;
    case AtomicKind::Or:
      name = "or.b" + size;
      break;
    case AtomicKind::Xor:
      name = "xor.b" + size;
      break;
    default:
      name = "exch.b" + size;
    }
    return fromBits(instruction(name, address, {toBits(operand)}, condition));
  }

  // PTX ISA, "atom": f16 from sm_70, bf16 from sm_90.
  bool hasAdd() const {
    return !type->isBFloatTy() || e.options.target.hasBf16Atomics();
  }
  std::string floatSuffix() const {
    if (type->isHalfTy())
      return ".noftz.f16";
    if (type->isBFloatTy())
      return ".noftz.bf16";
    return ".f" + std::to_string(bits);
  }

  void setOrder(MemSemantic order, tile::MemScope among) {
    sem = order;
    scope = "." + stringifyEnum(among).str();
  }

  llvm::Value *toBits(llvm::Value *value) {
    return e.b.CreateBitCast(value, integer);
  }
  llvm::Value *fromBits(llvm::Value *value) {
    return value ? e.b.CreateBitCast(value, type) : nullptr;
  }
  // 16-bit floats travel as integers in inline PTX.
  llvm::Value *toRegister(llvm::Value *value) {
    return bits == 16 ? toBits(value) : value;
  }
  llvm::Value *fromRegister(llvm::Value *value) {
    return value && bits == 16 ? fromBits(value) : value;
  }

  // "global" stands before the operation in every instruction.
  std::string order(MemSemantic sem) const {
    return "." + stringifyEnum(sem).str() + scope + ".global.";
  }

  // Emits atom, or red if no operation uses the result. Without a preset value,
  // the result is 0 if `condition` is false.
  llvm::Value *instruction(const std::string &name, llvm::Value *address,
                           llvm::ArrayRef<llvm::Value *> in,
                           llvm::Value *condition,
                           llvm::Value *preset = nullptr) {
    llvm::Type *result = in[0]->getType();
    char letter = constraintOf(result);
    bool reduces =
        !used && !preset && in.size() == 1 && name.compare(0, 4, "exch") != 0;
    Registers operands = {address};
    llvm::append_range(operands, in);
    std::string constraints = "l", text, values;
    size_t next = reduces ? 1 : 2;
    for (size_t i = 0; i < in.size(); ++i) {
      constraints += std::string(",") + letter;
      values += ", $" + std::to_string(next++);
    }
    if (condition) {
      constraints += ",b";
      text = "@$" + std::to_string(next) + " ";
      operands.push_back(condition);
    }
    if (reduces) {
      // red releases at most (PTX ISA, "red"): nothing is seen that could be
      // acquired.
      bool isRelaxed =
          sem == MemSemantic::Relaxed || sem == MemSemantic::Acquire;
      std::string releases =
          order(isRelaxed ? MemSemantic::Relaxed : MemSemantic::Release);
      e.assembly(text + "red" + releases + name + " [$0]" + values + ";",
                 constraints, operands, e.b.getVoidTy(), MemoryUse::Write);
      return nullptr;
    }
    constraints = std::string("=") + letter + "," + constraints;
    if (condition) {
      constraints += ",0";
      operands.push_back(preset ? preset
                                : llvm::Constant::getNullValue(result));
    }
    return e.assembly(text + "atom" + order(sem) + name + " $0, [$1]" + values +
                          ";",
                      constraints, operands, result, MemoryUse::Write);
  }

  // Calls `step` with a state until it gives true; the result is what it gave
  // then, 0 where `condition` is false.
  struct Step {
    llvm::Value *result, *next, *done;
  };
  llvm::Value *repeat(llvm::Value *condition,
                      llvm::function_ref<llvm::Value *()> start,
                      llvm::function_ref<Step(llvm::Value *)> step) {
    auto &b = e.b;
    auto block = [&] {
      return llvm::BasicBlock::Create(b.getContext(), "", e.function);
    };
    auto *first = block(), *loop = block(), *end = block();
    auto *before = b.GetInsertBlock();
    if (condition)
      b.CreateCondBr(condition, first, end);
    else
      b.CreateBr(first);
    b.SetInsertPoint(first);
    llvm::Value *initial = start();
    b.CreateBr(loop);
    b.SetInsertPoint(loop);
    auto *state = b.CreatePHI(initial->getType(), 2);
    state->addIncoming(initial, first);
    Step taken = step(state);
    state->addIncoming(taken.next, b.GetInsertBlock());
    auto *last = b.GetInsertBlock();
    b.CreateCondBr(taken.done, end, loop);
    b.SetInsertPoint(end);
    if (!condition)
      return taken.result;
    auto *result = b.CreatePHI(taken.result->getType(), 2);
    result->addIncoming(llvm::Constant::getNullValue(taken.result->getType()),
                        before);
    result->addIncoming(taken.result, last);
    return result;
  }

  // 16 bits: repeats compare-and-swap until no other thread interferes.
  llvm::Value *narrowLoop(AtomicKind kind, llvm::Value *address,
                          llvm::Value *operand, llvm::Value *condition) {
    auto &b = e.b;
    auto start = [&]() -> llvm::Value * {
      return e.assembly("ld.relaxed" + scope + ".global.b16 $0, [$1];", "=h,l",
                        {address}, integer, MemoryUse::Write);
    };
    auto step = [&](llvm::Value *state) -> Step {
      llvm::Value *next =
          toBits(combined(kind, b.CreateBitCast(state, type), operand));
      // Exchanging is done once more only to see the old element.
      llvm::Value *seen =
          instruction("cas.b16", address, {state, next}, nullptr);
      return {seen, seen, b.CreateICmpEQ(seen, state)};
    };
    return repeat(condition, start, step);
  }

  llvm::Value *combined(AtomicKind kind, llvm::Value *old,
                        llvm::Value *operand) {
    auto &b = e.b;
    auto wide = [&](llvm::Value *value) {
      return b.CreateFPExt(value, b.getFloatTy());
    };
    switch (kind) {
    case AtomicKind::FAdd:
      return b.CreateFPTrunc(b.CreateFAdd(wide(old), wide(operand)), type);
    case AtomicKind::FMax:
      return b.CreateFPTrunc(b.CreateMaxNum(wide(old), wide(operand)), type);
    case AtomicKind::FMin:
      return b.CreateFPTrunc(b.CreateMinNum(wide(old), wide(operand)), type);
    case AtomicKind::Add:
      return b.CreateAdd(old, operand);
    case AtomicKind::Max:
      return b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, old, operand);
    case AtomicKind::Min:
      return b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, old, operand);
    case AtomicKind::UMax:
      return b.CreateBinaryIntrinsic(llvm::Intrinsic::umax, old, operand);
    case AtomicKind::UMin:
      return b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, old, operand);
    case AtomicKind::And:
      return b.CreateAnd(old, operand);
    case AtomicKind::Or:
      return b.CreateOr(old, operand);
    case AtomicKind::Xor:
      return b.CreateXor(old, operand);
    case AtomicKind::Xchg:
      return operand;
    }
    llvm_unreachable("all kinds are above");
  }

  // The larger float is the larger of the bits as signed integers, or, when the
  // operand is negative, the smaller of the bits as unsigned ones. What that
  // order gets wrong is a NaN in memory, which must lose against a number
  // (docs/numerics.md): where it would stay it is swapped for the operand. An
  // operand that is NaN becomes the integer that never wins.
  llvm::Value *extreme(AtomicKind kind, llvm::Value *address,
                       llvm::Value *operand, llvm::Value *condition) {
    auto &b = e.b;
    bool isMax = kind == AtomicKind::FMax;
    std::string size = std::to_string(bits);
    llvm::Value *isNan = b.CreateFCmpUNO(operand, operand);
    auto least = llvm::APInt::getSignedMinValue(bits),
         most = llvm::APInt::getSignedMaxValue(bits);
    llvm::Value *never = b.getInt(isMax ? least : most);
    llvm::Value *value = b.CreateSelect(isNan, never, toBits(operand));
    // The one that never wins is compared as a signed integer.
    llvm::Value *isNegative =
        b.CreateAnd(b.CreateNot(isNan),
                    b.CreateICmpSLT(toBits(operand), b.getIntN(bits, 0)));
    llvm::Value *isPositive = b.CreateNot(isNegative);
    // A positive NaN stays in a maximum, a negative one in a minimum.
    llvm::APInt infinity =
        llvm::APFloat::getInf(type->getFltSemantics(), !isMax).bitcastToAPInt();
    auto start = [&]() -> llvm::Value * { return value; };
    bool wanted = used;
    used = true; // the loop reads what it finds
    auto step = [&](llvm::Value *) -> Step {
      llvm::Value *found = instruction((isMax ? "max.s" : "min.s") + size,
                                       address, {value}, isPositive);
      llvm::Value *old = instruction((isMax ? "min.u" : "max.u") + size,
                                     address, {value}, isNegative, found);
      llvm::Value *stays = isMax ? b.CreateICmpSGT(old, b.getInt(infinity))
                                 : b.CreateICmpUGT(old, b.getInt(infinity));
      stays = b.CreateAnd(stays, b.CreateNot(isNan));
      llvm::Value *seen =
          instruction("cas.b" + size, address, {old, value}, stays, old);
      return {old, value, b.CreateICmpEQ(seen, old)};
    };
    llvm::Value *result = repeat(condition, start, step);
    used = wanted;
    return result;
  }

  Emitter &e;
  Operation *op;
  llvm::Type *type, *integer = nullptr;
  bool used;
  unsigned bits = 0;
  MemSemantic sem = MemSemantic::AcqRel;
  std::string scope; // ".gpu"
};

// Every thread gets the elements of its layout from those that acted.
void share(Emitter &e, Operation *op, const LinearLayout &layout,
           llvm::ArrayRef<int64_t> sources, llvm::Value *first,
           Registers &old) {
  switch (shareOf(layout)) {
  case Share::Nothing:
    return;
  case Share::Shuffle: {
    llvm::Value *from = e.b.CreateAnd(
        e.lane(), e.i32(int64_t(~layout.freeBits(Dim::Lane) & 31)));
    for (auto [index, value] : llvm::enumerate(old))
      value = sources[index] == int64_t(index)
                  ? e.shuffle(llvm::Intrinsic::nvvm_shfl_sync_idx_i32, value,
                              from, 31)
                  : old[size_t(sources[index])];
    return;
  }
  case Share::Memory:
    break;
  }
  llvm::Type *type = old[0]->getType();
  llvm::Value *base = e.shared(e.scratchOffset(op)),
              *part = e.threadPart(layout);
  auto place = [&](size_t index) {
    Word word = layout.apply(Word(index) << layout.inStart(Dim::Register));
    return e.b.CreateGEP(type, base, e.b.CreateXor(part, e.i32(int64_t(word))));
  };
  e.barrier();
  e.onlyIf(first, [&] {
    for (auto [index, value] : llvm::enumerate(old))
      if (sources[index] == int64_t(index))
        e.b.CreateStore(value, place(index));
  });
  e.barrier();
  for (auto [index, value] : llvm::enumerate(old))
    value = sources[index] == int64_t(index)
                ? e.b.CreateLoad(type, place(index))
                : old[size_t(sources[index])];
}

} // namespace

int64_t atomicScratchBytes(Operation *op, const GpuOptions &options) {
  if (!isa<tile::AtomicRMWOp, tile::AtomicCASOp>(op) || op->use_empty())
    return 0;
  Type type = op->getResult(0).getType();
  int64_t bytes = bytesInMemory(tile::elementType(type));
  tile::LinearAttr attr = tile::layoutOf(type);
  if (!attr)
    return options.numWarps > 1 ? bytes : 0;
  LinearLayout layout = attr.layout();
  return shareOf(layout) == Share::Memory ? bytes << layout.outBits() : 0;
}

bool emitAtomic(Emitter &e, Operation *op) {
  if (!isa<tile::AtomicRMWOp, tile::AtomicCASOp>(op))
    return false;
  Value result = op->getResult(0);
  const LinearLayout &layout = e.layoutOf(result.getType());
  llvm::SmallVector<int64_t> sources = e.registerSources(layout);
  llvm::Value *first = e.isFirstReplica(layout);
  Element element(e, op, tile::elementType(result.getType()));
  const Registers pointers = e.get(op->getOperand(0));
  llvm::SmallVector<Registers> inputs = {e.get(op->getOperand(1))};
  Registers masks;
  if (auto rmw = dyn_cast<tile::AtomicRMWOp>(op)) {
    if (rmw.getMask())
      masks = e.get(rmw.getMask());
  } else {
    inputs.push_back(e.get(op->getOperand(2)));
  }
  Registers old(pointers.size());
  bool inPairs = element.hasPairs() && vectorOf(op, sources) >= 2;
  for (size_t at = 0; at < pointers.size(); ++at) {
    if (size_t(sources[at]) != at) {
      old[at] = old[size_t(sources[at])];
      continue;
    }
    Registers in;
    for (const Registers &input : inputs)
      in.push_back(input[at]);
    llvm::Value *acts = both(e, masks.empty() ? nullptr : masks[at], first);
    if (inPairs) {
      Registers pair =
          element.emitPair(pointers[at], in[0], inputs[0][at + 1], acts);
      old[at] = pair[0];
      old[++at] = pair[1];
      continue;
    }
    old[at] = element.emit(pointers[at], in, acts);
  }
  if (result.use_empty())
    return true;
  share(e, op, layout, sources, first, old);
  e.set(result, old);
  return true;
}

} // namespace tessera::codegen::gpu
