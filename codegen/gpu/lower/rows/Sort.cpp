// codegen/gpu/lower/rows/Sort.cpp - lowers tile.sort.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A bitonic network compares element i with element i ^ distance, which is in
// another register, lane or warp. Irregular layouts (AxisPlan.h) count ranks.
#include "codegen/gpu/lower/rows/Sort.h"

#include "codegen/gpu/lower/rows/AxisPlan.h"
#include "codegen/gpu/lower/shared/ScratchArray.h"

#include "llvm/IR/IntrinsicsNVPTX.h"

using namespace mlir;
using tessera::layout::Dim;
using tessera::layout::LinearLayout;
using tessera::layout::Word;

namespace tessera::codegen::gpu {

int64_t sortScratchBytes(Operation *op) {
  auto sort = dyn_cast<tile::SortOp>(op);
  tile::LinearAttr attr = sort ? tile::layoutOf(sort.getType()) : nullptr;
  if (!attr)
    return 0;
  LinearLayout layout = attr.layout();
  AxisPlan plan = planAxis(layout, int(layout.outs().size()) - 1, true);
  if (plan.regular && !plan.restBits)
    return 0;
  return scratchArrayBytes(tile::elementType(sort.getType()),
                           int64_t(1) << layout.outBits());
}

namespace {

class Sort {
public:
  Sort(Emitter &e, tile::SortOp op)
      : e(e), op(op), layout(e.layoutOf(op.getType())),
        axis(int(layout.outs().size()) - 1),
        start(layout.outStart(layout.outs().back().dim)),
        size(Word(1) << layout.outs().back().bits),
        element(tile::elementType(op.getType())) {}

  void run() {
    if (!planAxis(layout, axis, true).regular)
      return byRank();
    for (Word index = 0; index < Word(layout.inSize(Dim::Register)); ++index)
      values.try_emplace(wordOf(index), e.get(op.getSrc())[index]);
    for (Word length = 2; length <= size; length *= 2)
      for (Word distance = length / 2; distance; distance /= 2)
        merge(length, distance);
    Registers results;
    for (Word index = 0; index < Word(layout.inSize(Dim::Register)); ++index)
      results.push_back(values[wordOf(index)]);
    e.set(op, results);
  }

private:
  Word wordOf(Word index) const {
    return layout.apply(index << layout.inStart(Dim::Register));
  }
  // Returns the bit of `dim` that moves by `distance` along the axis; 0 if none
  // does.
  Word placeOf(Dim dim, Word distance) const {
    std::vector<Word> columns = layout.columns(dim);
    for (size_t i = 0; i < columns.size(); ++i)
      if (columns[i] == distance << start)
        return Word(1) << i;
    return 0;
  }
  // Returns whether this bit of the coordinate is set in the thread's elements;
  // null if registers differ in it, or if the axis does not have it.
  llvm::Value *bitOf(Word distance) {
    if (distance == size || placeOf(Dim::Register, distance))
      return nullptr;
    Word lane = placeOf(Dim::Lane, distance);
    Word place = lane ? lane : placeOf(Dim::Warp, distance);
    return e.b.CreateICmpNE(
        e.b.CreateAnd(lane ? e.lane() : e.warp(), e.i32(int64_t(place))),
        e.i32(0));
  }
  llvm::Value *greater(llvm::Value *x, llvm::Value *y) {
    if (x->getType()->isFloatingPointTy())
      return e.b.CreateFCmpOGT(x, y);
    if (op.getIsUnsigned() || element.isInteger(1))
      return e.b.CreateICmpUGT(x, y);
    return e.b.CreateICmpSGT(x, y);
  }

  // Compares and exchanges. Both elements of a pair come to the same decision:
  // an element takes the other value if it must hold the smaller one and has
  // the greater one, or the reverse.
  void merge(Word length, Word distance) {
    llvm::Value *upper = bitOf(distance), *turned = bitOf(length);
    std::map<Word, llvm::Value *> others = exchange(distance), next;
    for (auto &[word, value] : values) {
      Word at = word >> start;
      // What registers determine of: the upper half of a pair, a descending
      // run, a descending sort.
      bool holdsGreater =
          bool(at & distance) ^ bool(at & length) ^ bool(op.getDescending());
      llvm::Value *dynamic = upper;
      if (turned)
        dynamic = dynamic ? e.b.CreateXor(dynamic, turned) : turned;
      llvm::Value *other = others[word];
      next[word] = e.b.CreateSelect(takes(value, other, holdsGreater, dynamic),
                                    other, value);
    }
    values = std::move(next);
  }

  // Returns whether `other` replaces `value`. `dynamic`, if not null, inverts
  // holdsGreater where it is true.
  llvm::Value *takes(llvm::Value *value, llvm::Value *other, bool holdsGreater,
                     llvm::Value *dynamic) {
    if (!dynamic)
      return holdsGreater ? greater(other, value) : greater(value, other);
    // Equal integers are interchangeable, so not-greater serves as less. With a
    // NaN, it would duplicate one value and lose the other.
    if (value->getType()->isIntegerTy()) {
      llvm::Value *more = greater(value, other);
      return e.b.CreateXor(holdsGreater ? e.b.CreateNot(more) : more, dynamic);
    }
    llvm::Value *more = greater(value, other), *less = greater(other, value);
    return holdsGreater ? e.b.CreateSelect(dynamic, more, less)
                        : e.b.CreateSelect(dynamic, less, more);
  }

  // Returns, for every element, the value of the element at `distance`.
  std::map<Word, llvm::Value *> exchange(Word distance) {
    std::map<Word, llvm::Value *> others;
    Word lane = placeOf(Dim::Lane, distance);
    if (placeOf(Dim::Register, distance)) {
      for (auto &[word, value] : values)
        others[word] = values[word ^ distance << start];
    } else if (lane) {
      for (auto &[word, value] : values)
        others[word] = e.shuffle(llvm::Intrinsic::nvvm_shfl_sync_bfly_i32,
                                 value, e.i32(int64_t(lane)), 31);
    } else {
      ScratchArray array = scratch();
      ThreadWord thread(e, layout);
      e.barrier();
      e.onlyIf(e.isFirstReplica(layout), [&] {
        for (auto &[word, value] : values)
          array.store(array.address(thread, word), value);
      });
      e.barrier();
      ThreadWord partner = thread;
      partner.part =
          e.b.CreateXor(thread.part, e.i32(int64_t(distance << start)));
      for (auto &[word, value] : values)
        others[word] = array.load(array.address(partner, word));
    }
    return others;
  }

  ScratchArray scratch() {
    return scratchArrays(e, op, element, int64_t(1) << layout.outBits())
        .front();
  }

  // Returns an integer in the order of the elements. Floats are ordered by
  // their bits, so that NaNs have a position too.
  llvm::Value *keyOf(llvm::Value *value) {
    llvm::Type *type = value->getType();
    if (!type->isFloatingPointTy())
      return value;
    unsigned bits = unsigned(type->getPrimitiveSizeInBits());
    llvm::Type *integer = e.b.getIntNTy(bits);
    llvm::Value *raw = e.b.CreateBitCast(value, integer);
    return e.b.CreateXor(raw, e.b.CreateLShr(e.b.CreateAShr(raw, bits - 1), 1));
  }

  // Handles any layout: the new position of an element is the number of
  // elements that sort before it.
  void byRank() {
    ScratchArray array = scratch();
    e.barrier();
    storeTile(e, array, layout, e.get(op.getSrc()));
    e.barrier();
    Registers ranks, rows;
    for (Word index = 0; index < Word(layout.inSize(Dim::Register)); ++index) {
      llvm::Value *at = e.coordinates(layout, int64_t(index)).back();
      llvm::Value *row =
          e.b.CreateXor(e.threadPart(rowsOf(layout, axis)),
                        e.i32(int64_t(rowPart(layout, axis, wordOf(index)))));
      llvm::Value *own = keyOf(e.get(op.getSrc())[index]);
      Registers counted = forRange(
          e, e.i32(0), e.i32(int64_t(size)), {e.i32(0)},
          [&](llvm::Value *other, const Registers &so) -> Registers {
            llvm::Value *key = keyOf(array.load(
                array.address(joinWord(e, layout, axis, other, row))));
            llvm::Value *before =
                op.getDescending() ? greater(key, own) : greater(own, key);
            llvm::Value *tie = e.b.CreateAnd(e.b.CreateICmpEQ(key, own),
                                             e.b.CreateICmpSLT(other, at));
            return {
                e.b.CreateAdd(so[0], e.b.CreateZExt(e.b.CreateOr(before, tie),
                                                    e.b.getInt32Ty()))};
          });
      ranks.push_back(counted[0]);
      rows.push_back(row);
    }
    e.barrier();
    // Replicas write what the first one writes, so they need not write.
    e.onlyIf(e.isFirstReplica(layout), [&] {
      for (auto [index, source] : llvm::enumerate(e.registerSources(layout)))
        if (int64_t(index) == source)
          array.store(array.address(
                          joinWord(e, layout, axis, ranks[index], rows[index])),
                      e.get(op.getSrc())[index]);
    });
    e.barrier();
    ThreadWord thread(e, layout);
    Registers results;
    for (Word index = 0; index < Word(layout.inSize(Dim::Register)); ++index)
      results.push_back(array.load(array.address(thread, wordOf(index))));
    e.set(op, results);
  }

  Emitter &e;
  tile::SortOp op;
  LinearLayout layout;
  int axis, start;
  Word size;
  Type element;
  std::map<Word, llvm::Value *> values; // by registers' words
};

} // namespace

bool emitSort(Emitter &e, Operation *op) {
  auto sort = dyn_cast<tile::SortOp>(op);
  if (sort)
    Sort(e, sort).run();
  return bool(sort);
}

} // namespace tessera::codegen::gpu
