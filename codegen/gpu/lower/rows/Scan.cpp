// codegen/gpu/lower/rows/Scan.cpp - running combinations along an axis.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Reduces in the order of the axis. For every chunk of neighbouring registers,
// it keeps the combination of all elements before the chunk (the carry). It
// scans the elements of a chunk one after the other and adds carries at the
// end.
#include "codegen/gpu/lower/Families.h"
#include "codegen/gpu/lower/rows/AxisPlan.h"
#include "codegen/gpu/lower/rows/Combiner.h"
#include "codegen/gpu/lower/rows/Sort.h"
#include "codegen/gpu/lower/shared/ScratchArray.h"
#include "codegen/gpu/memory/Scratch.h"

#include "llvm/IR/IntrinsicsNVPTX.h"

using namespace mlir;
using tessera::layout::Dim;
using tessera::layout::LinearLayout;
using tessera::layout::Span;
using tessera::layout::Word;

namespace tessera::codegen::gpu {

static int64_t combinationBytes(Operation *op) {
  tile::LinearAttr attr = tile::layoutOf(op->getOperand(0).getType());
  if (!attr)
    return 0;
  LinearLayout layout = attr.layout();
  int axis = axisOfCombination(op);
  AxisPlan plan = planAxis(layout, axis, true);
  if (!plan.regular)
    return scratchArrayBytes(partTypes(op), int64_t(1) << layout.outBits());
  int rowBits = layout.outBits() - layout.outs()[size_t(axis)].bits;
  return plan.restBits
             ? scratchArrayBytes(partTypes(op),
                                 int64_t(1) << (rowBits + plan.restBits))
             : 0;
}

int64_t scanScratchBytes(Operation *op, const GpuOptions &) {
  if (isa<tile::ScanOp, tile::ScanByOp>(op))
    return combinationBytes(op);
  return sortScratchBytes(op) + gatherScratchBytes(op);
}

namespace {

// Row and coordinate along the axis, without the contributions of lane and
// warp.
using Key = std::pair<Word, Word>;

// Neighbouring registers, and the combination of the elements before them.
struct Chunk {
  llvm::SmallVector<Key> elements;
  Registers carry; // empty: nothing so far
  // True in threads that have a carry; null if every thread has one.
  llvm::Value *hasCarry = nullptr;
};
// The chunks of one range of the axis, and the combination of the range.
struct Group {
  Registers total;
  llvm::SmallVector<size_t> chunks;
};

class Scan {
public:
  Scan(Emitter &e, Operation *op)
      : e(e), op(op), combiner(e, op), axis(combiner.axis()),
        layout(e.layoutOf(op->getOperand(0).getType())),
        plan(planAxis(layout, axis, true)) {}

  void run() {
    for (OpResult result : op->getResults())
      if (e.layoutOf(result.getType()) != layout)
        e.unsupported(op, "the layouts of operand and result do not fit",
                      "this is a defect of tessera; please report it");
    if (!plan.regular)
      return serially();
    load();
    size_t step = chunks();
    for (; step < plan.steps.size(); ++step) {
      combined.add(plan.steps[step].axis);
      if (plan.steps[step].isLane)
        laneStep(plan.steps[step]);
      else
        registerStep();
    }
    if (plan.restBits)
      throughShared();
    finish();
  }

private:
  // A reverse scan counts coordinates from the end. The mask flips the bits of
  // registers; laneStep() and throughShared() flip those of lanes and warps.
  Word flipped() const {
    Word mask = 0;
    if (combiner.reverse())
      for (Word column : layout.columns(Dim::Register))
        mask |= axisPart(layout, axis, column);
    return mask;
  }
  Key keyOf(Word index) const {
    Word word = layout.apply(index << layout.inStart(Dim::Register));
    return {rowPart(layout, axis, word),
            axisPart(layout, axis, word) ^ flipped()};
  }
  Word restOf(Word along) const { return layout::multiply(plan.rest, along); }

  void load() {
    for (Word index = 0; index < Word(layout.inSize(Dim::Register)); ++index) {
      auto [place, added] = prefixes.try_emplace(keyOf(index));
      if (added)
        for (Value source : combiner.sources())
          place->second.push_back(e.get(source)[index]);
    }
  }

  // Scans the registers of the steps before the first lane step. Returns the
  // number of that step.
  size_t chunks() {
    size_t step = 0;
    for (; step < plan.steps.size() && !plan.steps[step].isLane; ++step)
      combined.add(plan.steps[step].axis);
    for (auto &[key, values] : prefixes) {
      Key of(key.first, combined.reduce(key.second));
      auto [group, added] = groups.try_emplace(of);
      if (added) {
        group->second.chunks.push_back(all.size());
        all.emplace_back();
      } else {
        values = combiner.combine(group->second.total, values, true);
      }
      group->second.total = values;
      all[group->second.chunks.front()].elements.push_back(key);
    }
    return step;
  }

  Registers select(llvm::Value *condition, const Registers &x,
                   const Registers &y) {
    Registers result;
    for (auto [a, b] : llvm::zip(x, y))
      result.push_back(e.b.CreateSelect(condition, a, b));
    return result;
  }

  // Puts `value` before the carry of the chunk: in threads with `condition`, or
  // in all threads if it is null.
  void addCarry(Chunk &chunk, const Registers &value, llvm::Value *condition) {
    if (chunk.carry.empty()) {
      chunk.carry = value;
      chunk.hasCarry = condition;
      return;
    }
    Registers sum = combiner.combine(value, chunk.carry);
    if (chunk.hasCarry)
      sum = select(chunk.hasCarry, sum, value);
    chunk.carry = condition ? select(condition, sum, chunk.carry) : sum;
    if (!condition)
      chunk.hasCarry = nullptr;
    else if (chunk.hasCarry)
      chunk.hasCarry = e.b.CreateOr(chunk.hasCarry, condition);
  }

  void registerStep() {
    std::map<Key, Group> next;
    for (auto &[key, group] : groups) {
      auto [place, added] =
          next.try_emplace({key.first, combined.reduce(key.second)}, group);
      if (added)
        continue;
      Group &low = place->second;
      for (size_t chunk : group.chunks)
        addCarry(all[chunk], low.total, nullptr);
      low.total = combiner.combine(low.total, group.total);
      low.chunks.append(group.chunks);
    }
    groups = std::move(next);
  }

  void laneStep(const AxisStep &step) {
    llvm::Value *bit = e.b.CreateAnd(e.lane(), e.i32(int64_t(step.places)));
    llvm::Value *isHigh = combiner.reverse() ? e.b.CreateICmpEQ(bit, e.i32(0))
                                             : e.b.CreateICmpNE(bit, e.i32(0));
    std::map<Key, Group> next;
    for (auto &[key, group] : groups) {
      Registers other;
      for (llvm::Value *value : group.total)
        other.push_back(e.shuffle(llvm::Intrinsic::nvvm_shfl_sync_bfly_i32,
                                  value, e.i32(int64_t(step.places)), 31));
      for (size_t chunk : group.chunks)
        addCarry(all[chunk], other, isHigh);
      group.total = combiner.combine(select(isHigh, other, group.total),
                                     select(isHigh, group.total, other));
      next[{key.first, combined.reduce(key.second)}] = group;
    }
    groups = std::move(next);
  }

  // Every thread loads the totals of the parts of its rows and selects the
  // combination of the parts before its own.
  void throughShared() {
    LinearLayout places = rowsOf(layout, axis, &plan);
    int rowBits = places.outBits(Dim::Dim0);
    auto arrays =
        scratchArrays(e, op, combiner.types(), int64_t(1) << places.outBits());
    e.enterScratch();
    e.onlyIf(e.isFirstReplica(places), [&] {
      ThreadWord thread(e, places);
      for (auto &[key, group] : groups)
        for (auto [array, value] : llvm::zip(arrays, group.total))
          array.store(
              array.address(thread, key.first | restOf(key.second) << rowBits),
              value);
    });
    e.barrier();
    ThreadWord row(e, rowsOf(layout, axis)), own(e, restLayout());
    // The bits of the part's number that a reverse scan flips.
    Word turned = 0;
    if (combiner.reverse())
      turned = restOf(((Word(1) << layout.outs()[size_t(axis)].bits) - 1) ^
                      flipped());
    llvm::Value *part = own.part;
    if (turned)
      part = e.b.CreateXor(part, e.i32(int64_t(turned)));
    std::map<Word, llvm::SmallVector<Registers>> rows; // running totals
    for (auto &[key, group] : groups) {
      auto [running, added] = rows.try_emplace(key.first);
      for (Word rest = 0; added && rest + 1 < Word(1) << plan.restBits;
           ++rest) {
        Registers values;
        for (ScratchArray &array : arrays)
          values.push_back(array.load(
              array.address(row, key.first | (rest ^ turned) << rowBits)));
        if (rest)
          values = combiner.combine(running->second.back(), values);
        running->second.push_back(values);
      }
      addRest(group, running->second, restOf(key.second), part, own.bits);
    }
  }
  // Adds the carry of a group, whose number among the parts of its row is
  // number ^ part. `bits` are the bits that `part` may set.
  void addRest(Group &group, llvm::ArrayRef<Registers> before, Word number,
               llvm::Value *part, Word bits) {
    Registers carry;
    for (Word rest = 1; rest <= before.size(); ++rest) {
      if ((rest ^ number) & ~bits)
        continue;
      const Registers &value = before[rest - 1];
      carry = carry.empty()
                  ? value
                  : select(e.b.CreateICmpEQ(part, e.i32(int64_t(rest & bits))),
                           value, carry);
    }
    if (carry.empty())
      return;
    bool never = !(number & ~bits);
    llvm::Value *has = never ? e.b.CreateICmpNE(part, e.i32(0)) : nullptr;
    for (size_t chunk : group.chunks)
      addCarry(all[chunk], carry, has);
  }
  LinearLayout restLayout() const {
    std::vector<Word> columns;
    for (Word column : layout.columns())
      columns.push_back(restOf(axisPart(layout, axis, column)));
    return LinearLayout(layout.ins(), {{Dim::Dim0, plan.restBits}}, columns);
  }

  void finish() {
    for (Chunk &chunk : all)
      if (!chunk.carry.empty())
        for (Key key : chunk.elements) {
          Registers &values = prefixes[key];
          Registers sum = combiner.combine(chunk.carry, values);
          values = chunk.hasCarry ? select(chunk.hasCarry, sum, values) : sum;
        }
    for (auto [number, result] : llvm::enumerate(op->getResults())) {
      Registers registers;
      for (Word index = 0; index < Word(layout.inSize(Dim::Register)); ++index)
        registers.push_back(prefixes[keyOf(index)][number]);
      e.set(result, registers);
    }
  }

  // Handles any layout: a thread computes each of its elements from all
  // elements up to it.
  void serially() {
    auto arrays =
        scratchArrays(e, op, combiner.types(), int64_t(1) << layout.outBits());
    e.enterScratch();
    for (auto [array, source] : llvm::zip(arrays, combiner.sources()))
      storeTile(e, array, layout, e.get(source));
    e.barrier();
    int64_t size = int64_t(1) << layout.outs()[size_t(axis)].bits;
    llvm::SmallVector<Registers> results(op->getNumResults());
    for (int64_t index = 0; index < layout.inSize(Dim::Register); ++index) {
      Registers coordinates = e.coordinates(layout, index);
      llvm::Value *row = e.b.CreateXor(
          e.threadPart(rowsOf(layout, axis)),
          e.i32(int64_t(rowPart(
              layout, axis,
              layout.apply(Word(index) << layout.inStart(Dim::Register))))));
      auto turn = [&](llvm::Value *at) {
        return combiner.reverse() ? e.b.CreateSub(e.i32(size - 1), at) : at;
      };
      auto read = [&](llvm::Value *at) {
        Registers values;
        llvm::Value *word = joinWord(e, layout, axis, turn(at), row);
        for (ScratchArray &array : arrays)
          values.push_back(array.load(array.address(word)));
        return values;
      };
      llvm::Value *end =
          e.b.CreateAdd(turn(coordinates[size_t(axis)]), e.i32(1));
      Registers start = read(e.i32(0));
      Registers sum = forRange(e, e.i32(1), end, start,
                               [&](llvm::Value *at, const Registers &so) {
                                 return combiner.combine(so, read(at));
                               });
      for (auto [list, value] : llvm::zip(results, sum))
        list.push_back(value);
    }
    for (auto [result, list] : llvm::zip(op->getResults(), results))
      e.set(result, list);
  }

  Emitter &e;
  Operation *op;
  Combiner combiner;
  int axis;
  LinearLayout layout;
  AxisPlan plan;
  Span combined;
  std::map<Key, Registers> prefixes; // of each element in its chunk
  llvm::SmallVector<Chunk> all;
  std::map<Key, Group> groups;
};

} // namespace

bool emitScan(Emitter &e, Operation *op) {
  if (isa<tile::ScanOp, tile::ScanByOp>(op)) {
    Scan(e, op).run();
    return true;
  }
  return emitSort(e, op) || emitGather(e, op);
}

} // namespace tessera::codegen::gpu
