// codegen/gpu/lower/shared/Convert.cpp - tensors from one layout to another.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// layout::planConversion decides; this file writes down what the plan says.
// Registers without replication come first: `source` register r is the
// operand's register plan.sources(r), and result register r is the plan's
// register plan.replication(r).
#include "codegen/gpu/lower/Emitter.h"
#include "codegen/gpu/lower/Families.h"
#include "codegen/gpu/lower/shared/Plans.h"
#include "codegen/gpu/lower/shared/SharedMemory.h"
#include "codegen/gpu/memory/Scratch.h"

#include "dialect/layout/ShapeOps.h"

#include "llvm/IR/IntrinsicsNVPTX.h"

using namespace mlir;
using tessera::layout::ConversionKind;
using tessera::layout::ConversionPlan;
using tessera::layout::Dim;
using tessera::layout::LinearLayout;
using tessera::layout::MovmatrixPlan;
using tessera::layout::ShufflePlan;
using tessera::layout::Word;

namespace tessera::codegen::gpu {

static int64_t registerOf(const LinearLayout &map, int64_t index) {
  Word mask = (Word(1) << map.outBits(Dim::Register)) - 1;
  return int64_t(map.apply(Word(index) << map.inStart(Dim::Register)) >>
                     map.outStart(Dim::Register) &
                 mask);
}

// --- Selects -----------------------------------------------------------------

namespace {

/// result[i] = values[i ^ M t], where M t is a sum of register numbers, one for
/// each bit of lane and warp that is set: a select for each dimension of M, not
/// for each bit.
class Exchange {
public:
  Exchange(Emitter &e, const LinearLayout &map, Dim out) : e(e) {
    layout::Span span;
    auto collect = [&](Dim dim) {
      for (int bit = 0; bit < map.inBits(dim); ++bit) {
        Word column = map.column(dim, bit) >> map.outStart(out) &
                      ((Word(1) << map.outBits(out)) - 1);
        columns.push_back({dim, bit, column});
        if (span.add(column))
          basis.push_back(column);
      }
    };
    collect(Dim::Lane);
    collect(Dim::Warp);
    layout::Span solver(basis);
    for (size_t i = 0; i < basis.size(); ++i) {
      // The bits of this thread whose sum says whether basis[i] is part of M t.
      Word lanes = 0, warps = 0;
      for (const Column &column : columns)
        if (*solver.solve(column.value) >> i & 1)
          (column.dim == Dim::Lane ? lanes : warps) |= Word(1) << column.bit;
      conditions.push_back(parity(lanes, warps));
    }
  }

  llvm::SmallVector<llvm::Value *>
  operator()(llvm::ArrayRef<llvm::Value *> values) {
    llvm::SmallVector<llvm::Value *> now(values), next(values.size());
    for (size_t i = 0; i < basis.size(); ++i) {
      for (size_t j = 0; j < now.size(); ++j) {
        llvm::Value *same = now[j], *other = now[j ^ basis[i]];
        next[j] = same && other ? e.b.CreateSelect(conditions[i], other, same)
                                : nullptr;
      }
      now = next;
    }
    return now;
  }

private:
  struct Column {
    Dim dim;
    int bit;
    Word value;
  };

  llvm::Value *parity(Word lanes, Word warps) {
    llvm::Value *sum = nullptr;
    auto add = [&](llvm::Value *index, Word mask) {
      if (!mask)
        return;
      llvm::Value *bits = e.b.CreateAnd(index, e.i32(int64_t(mask)));
      if (!llvm::isPowerOf2_64(mask))
        bits = e.b.CreateAnd(
            e.intrinsic(llvm::Intrinsic::ctpop, {bits}, {bits->getType()}),
            e.i32(1));
      llvm::Value *odd = e.b.CreateICmpNE(bits, e.i32(0));
      sum = sum ? e.b.CreateXor(sum, odd) : odd;
    };
    add(e.lane(), lanes);
    add(e.warp(), warps);
    return sum;
  }

  Emitter &e;
  std::vector<Column> columns;
  std::vector<Word> basis;
  llvm::SmallVector<llvm::Value *> conditions;
};

} // namespace

// --- Within a warp -----------------------------------------------------------

namespace {

// Elements of fewer than 32 bits are sent as words of several neighbours, which
// are numbered by the bits packedBits of the step.
class Packing {
public:
  Packing(const ShufflePlan &plan, bool packs, int width)
      : plan(plan), packs(packs), width(width) {
    for (int bit : packs ? plan.packedBits : decltype(plan.packedBits)()) {
      int64_t moved = registerOf(plan.send, int64_t(1) << bit);
      sources.push_back(int(llvm::Log2_64(uint64_t(moved))));
      steps |= Word(1) << bit;
      registers |= Word(moved);
    }
  }

  // A word for each register, null for those that another's word has.
  Registers pack(Emitter &e, const Registers &source) const {
    const int64_t parts = int64_t(1) << sources.size();
    Registers words(source.size(), nullptr);
    for (int64_t r = 0; r < int64_t(source.size()); ++r) {
      if (Word(r) & registers)
        continue;
      llvm::Value *first = source[size_t(r)];
      if (!packs) {
        words[size_t(r)] = first;
        continue;
      }
      if (parts == 1) {
        words[size_t(r)] = e.b.CreateZExt(
            e.b.CreateBitCast(first, e.b.getIntNTy(unsigned(width))),
            e.b.getInt32Ty());
        continue;
      }
      llvm::SmallVector<llvm::Value *> list;
      for (int64_t i = 0; i < parts; ++i)
        list.push_back(source[size_t(r | spreadBits(i, sources))]);
      while (list.size() < size_t(32 / width)) // unused padding
        list.push_back(llvm::ConstantInt::get(list[0]->getType(), 0));
      words[size_t(r)] = packWord(e, list);
    }
    return words;
  }

  // The element of `step` in the word that came.
  llvm::Value *unpack(Emitter &e, llvm::Value *word, int64_t step) const {
    if (!packs)
      return word;
    if (sources.empty())
      return e.b.CreateTrunc(word, e.b.getIntNTy(unsigned(width)));
    int64_t part = 0;
    for (auto [i, bit] : llvm::enumerate(plan.packedBits))
      part |= (step >> bit & 1) << i;
    return unpackWord(e, word, width)[size_t(part)];
  }

  Word steps = 0; // their words go with another step's

private:
  const ShufflePlan &plan;
  bool packs;
  int width;
  llvm::SmallVector<int> sources; // bits of the register
  Word registers = 0;
};

} // namespace

// Step s: pass register send(s) on, read the lane source(s), put what comes
// into register receive(s).
static Registers shuffled(Emitter &e, const ShufflePlan &plan,
                          const Registers &source, int width) {
  // Does every lane read itself when the step adds nothing?
  bool stays = plan.source.isZero(Dim::Warp);
  for (int bit = 0; bit < plan.source.inBits(Dim::Lane); ++bit)
    stays &= plan.source.column(Dim::Lane, bit) == Word(1) << bit;
  // What each step adds to the lane that is read.
  int64_t laneMask = plan.source.outSize(Dim::Lane) - 1;
  auto shiftOf = [&](int64_t step) {
    return int64_t(plan.source.apply(Word(step)
                                     << plan.source.inStart(Dim::Register))) &
           laneMask;
  };
  bool shuffles = !stays;
  for (int64_t step = 0; step < plan.steps; ++step)
    shuffles |= shiftOf(step) != 0;

  const Packing packing(plan, width < 32 && shuffles, width);
  Exchange before(e, plan.send, Dim::Register);
  llvm::SmallVector<llvm::Value *> sent = before(packing.pack(e, source));
  llvm::SmallVector<llvm::Value *> received(size_t(plan.steps), nullptr);
  llvm::Value *lanes = e.threadPart(plan.source);
  for (int64_t step = 0; step < plan.steps; ++step) {
    if (Word(step) & packing.steps)
      continue;
    llvm::Value *value = sent[size_t(registerOf(plan.send, step))];
    if (shuffles && (!stays || shiftOf(step)))
      value = e.shuffle(llvm::Intrinsic::nvvm_shfl_sync_idx_i32, value,
                        e.b.CreateXor(lanes, e.i32(shiftOf(step))), 31);
    received[size_t(step)] = value;
  }
  Exchange after(e, plan.receive, Dim::Register);
  llvm::SmallVector<llvm::Value *> placed = after(received);
  Registers result(size_t(plan.steps), nullptr);
  for (int64_t step = 0; step < plan.steps; ++step)
    result[size_t(step)] =
        packing.unpack(e, placed[size_t(Word(step) & ~packing.steps)], step);
  return result;
}

static Registers movedMatrices(Emitter &e, const ConversionPlan &plan,
                               const Registers &operand) {
  const MovmatrixPlan &move = *plan.movmatrix;
  LinearLayout places = plan.replication.pseudoInverse();
  Registers result(size_t(plan.replication.outSize(Dim::Register)), nullptr);
  int64_t other = registerOf(plan.sources, int64_t(1) << move.sourceBit);
  for (int64_t r = 0; r < int64_t(result.size()); ++r) {
    if (r >> move.resultBit & 1)
      continue;
    // Lane 0 of the result holds what lane 0 of the first operand register has.
    int64_t first = registerOf(plan.from, registerOf(places, r));
    llvm::Value *word =
        packWord(e, {operand[size_t(first)], operand[size_t(first ^ other)]});
    // PTX ISA, "movmatrix".
    auto *moved = llvm::cast<llvm::CallInst>(
        e.assembly("movmatrix.sync.aligned.m8n8.trans.b16 $0, $1;", "=r,r",
                   {word}, e.b.getInt32Ty(), MemoryUse::None));
    moved->setConvergent();
    Registers pair = unpackWord(e, moved, 16);
    result[size_t(r)] = pair[0];
    result[size_t(r | int64_t(1) << move.resultBit)] = pair[1];
  }
  return result;
}

// --- Through shared memory ---------------------------------------------------

static Registers throughShared(Emitter &e, const ConversionPlan &plan,
                               const LinearLayout &src, const Registers &source,
                               llvm::Type *type, llvm::Value *base) {
  const layout::SharedTrip &trip = *plan.shared;
  Registers result(size_t(plan.replication.outSize(Dim::Register)),
                   llvm::PoisonValue::get(type));
  bool alone = staysInWarp(plan, src);
  for (int64_t iteration = 0; iteration < trip.iterationCount(); ++iteration) {
    // Others may still read what was in this place before: in an earlier
    // iteration, or before a `tile.barrier scratch`.
    if (!iteration)
      e.enterScratch();
    else if (alone)
      e.warpBarrier();
    else
      e.barrier();
    e.onlyIf(e.isFirstReplica(src),
             [&] { storeShared(e, trip.store, source, iteration, base); });
    if (alone)
      e.warpBarrier();
    else
      e.barrier();
    loadShared(e, trip.load, result, iteration, base);
  }
  return result;
}

// --- Conversions -------------------------------------------------------------

/// The registers of a tensor in another layout. `scratch` is the offset of the
/// shared memory that the plan needs.
static Registers convertRegisters(Emitter &e, const LinearLayout &src,
                                  const LinearLayout &dst, Type element,
                                  const Registers &operand, int64_t scratch) {
  auto plan = planOf(src, dst, bytesInMemory(element), e.options);
  Registers result;
  if (plan->kind == ConversionKind::None ||
      plan->kind == ConversionKind::Registers) {
    for (int64_t r = 0; r < dst.inSize(Dim::Register); ++r)
      result.push_back(operand[size_t(registerOf(plan->from, r))]);
    return result;
  }
  Bits bits(e, element);
  Registers all = bits.from(operand), source, moved;
  for (int64_t r = 0; r < plan->sources.inSize(Dim::Register); ++r)
    source.push_back(all[size_t(registerOf(plan->sources, r))]);
  if (plan->kind == ConversionKind::Shuffle)
    moved = shuffled(e, *plan->shuffle, source, bits.width());
  else if (plan->kind == ConversionKind::Movmatrix)
    moved = movedMatrices(e, *plan, all);
  else
    moved =
        throughShared(e, *plan, src, source, bits.type(), e.shared(scratch));
  moved = bits.to(moved);
  for (int64_t r = 0; r < dst.inSize(Dim::Register); ++r)
    result.push_back(moved[size_t(registerOf(plan->replication, r))]);
  return result;
}

static std::shared_ptr<const ConversionPlan>
planOf(tile::ConvertLayoutOp convert, const GpuOptions &options) {
  Type from = convert.getSrc().getType(), to = convert.getType();
  return planOf(tile::layoutOf(from).layout(), tile::layoutOf(to).layout(),
                bytesInMemory(tile::elementType(from)), options);
}

int64_t convertScratchBytes(Operation *op, const GpuOptions &options) {
  auto convert = dyn_cast<tile::ConvertLayoutOp>(op);
  if (!convert)
    return 0;
  auto plan = planOf(convert, options);
  return plan->shared ? plan->shared->bytes() : 0;
}

bool hasScratchOfWarp(Operation *op, const GpuOptions &options) {
  auto convert = dyn_cast<tile::ConvertLayoutOp>(op);
  return convert &&
         staysInWarp(*planOf(convert, options),
                     tile::layoutOf(convert.getSrc().getType()).layout());
}

bool emitConvert(Emitter &e, Operation *op) {
  auto convert = dyn_cast<tile::ConvertLayoutOp>(op);
  if (!convert)
    return false;
  const LinearLayout &src = e.layoutOf(convert.getSrc().getType()),
                     &dst = e.layoutOf(convert.getType());
  int64_t scratch =
      op->hasAttr(tile::kScratchOffsetAttr) ? e.scratchOffset(op) : 0;
  e.set(convert,
        convertRegisters(e, src, dst, tile::elementType(convert.getType()),
                         e.get(convert.getSrc()), scratch));
  return true;
}

} // namespace tessera::codegen::gpu
