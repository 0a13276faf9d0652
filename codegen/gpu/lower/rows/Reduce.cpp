// codegen/gpu/lower/rows/Reduce.cpp - reductions along an axis.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Combines the registers of a lane, then lanes by butterfly shuffles, then
// warps through shared memory. The lanes of the same rows each load a share of
// the warps' parts and combine them by shuffles; if lanes are lacking, every
// lane loads all parts. All threads of a row get the same bits: the combination
// commutes, or the lower part goes first.
#include "codegen/gpu/lower/Families.h"
#include "codegen/gpu/lower/rows/AxisPlan.h"
#include "codegen/gpu/lower/rows/Combiner.h"
#include "codegen/gpu/lower/shared/ScratchArray.h"
#include "codegen/gpu/memory/Scratch.h"

#include "llvm/IR/IntrinsicsNVPTX.h"

using namespace mlir;
using tessera::layout::Dim;
using tessera::layout::LinearLayout;
using tessera::layout::Span;
using tessera::layout::Word;

namespace tessera::codegen::gpu {

int64_t reduceScratchBytes(Operation *op, const GpuOptions &) {
  if (!isa<tile::ReduceOp, tile::ReduceByOp>(op))
    return 0;
  tile::LinearAttr attr = tile::layoutOf(op->getOperand(0).getType());
  if (!attr)
    return 0;
  LinearLayout layout = attr.layout();
  int axis = axisOfCombination(op);
  AxisPlan plan = planAxis(layout, axis, isOrderedCombination(op));
  auto types = partTypes(op);
  if (!plan.regular) { // sources only: the loop counter is the index
    types.truncate(op->getNumOperands());
    return scratchArrayBytes(types, int64_t(1) << layout.outBits());
  }
  if (!plan.restBits)
    return 0;
  int rowBits = layout.outBits() - layout.outs()[size_t(axis)].bits;
  return scratchArrayBytes(types, int64_t(1) << (rowBits + plan.restBits));
}

namespace {

// Identifies a part of a row: row and coordinate along the axis, without the
// contributions of lane and warp.
using Key = std::pair<Word, Word>;

class Reduction {
public:
  Reduction(Emitter &e, Operation *op)
      : e(e), op(op), combiner(e, op), axis(combiner.axis()),
        layout(e.layoutOf(op->getOperand(0).getType())),
        plan(planAxis(layout, axis, combiner.ordered())) {}

  void run() {
    if (plan.regular) {
      load();
      for (size_t i = 0; i < plan.steps.size(); ++i) {
        combined.add(plan.steps[i].axis);
        if (!plan.steps[i].isLane)
          registerStep();
        else if (const Word share = shareOf(plan.steps[i].places))
          scatterStep(i, share);
        else if (!reduxStep(i))
          laneStep(plan.steps[i]);
        else
          break;
      }
      if (plan.restBits)
        throughShared();
      finish([&](Word row) -> const Registers & {
        auto found = parts.find({row, 0});
        if (found == parts.end())
          mismatch();
        return found->second;
      });
    } else {
      serially();
    }
  }

private:
  [[noreturn]] void mismatch() {
    e.unsupported(op, "the layouts of operand and result do not fit",
                  "this is a defect of tessera; please report it");
  }
  // Collects the elements of all registers, replicas once.
  void load() {
    llvm::Value *along = nullptr;
    if (combiner.isArg())
      along = e.threadPart(alongAxis());
    for (Word index = 0; index < Word(layout.inSize(Dim::Register)); ++index) {
      Word word = layout.apply(index << layout.inStart(Dim::Register));
      Word at = axisPart(layout, axis, word);
      Key key(rowPart(layout, axis, word), at);
      auto [place, added] = parts.try_emplace(key);
      if (!added)
        continue;
      for (Value source : combiner.sources())
        place->second.push_back(e.get(source)[index]);
      if (along)
        place->second.push_back(e.b.CreateXor(along, e.i32(int64_t(at))));
    }
  }
  LinearLayout alongAxis() {
    std::vector<Word> columns;
    for (Word column : layout.columns())
      columns.push_back(axisPart(layout, axis, column));
    return LinearLayout(
        layout.ins(), {{Dim::Dim0, layout.outs()[size_t(axis)].bits}}, columns);
  }

  void registerStep() {
    std::map<Key, Registers> next;
    // The keys are sorted: parts of a row come in the order of the axis.
    for (auto &[key, part] : parts) {
      auto [place, added] =
          next.try_emplace(Key(key.first, combined.reduce(key.second)), part);
      if (!added)
        place->second =
            combiner.combine(place->second, part, plan.registersAgree);
    }
    parts = std::move(next);
  }

  void laneStep(const AxisStep &step) {
    std::map<Key, Registers> next;
    for (auto &[key, part] : parts)
      next[{key.first, combined.reduce(key.second)}] =
          joinLanes(part, step.places);
    parts = std::move(next);
  }

  // Returns the difference between the result's rows in the two lanes of a
  // step; 0 if both lanes keep all rows.
  Word shareOf(Word places) const {
    auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    if (!type || !std::has_single_bit(places))
      return 0;
    const size_t bit = size_t(std::countr_zero(places));
    return rowsOf(layout, axis).columns(Dim::Lane)[bit]
               ? 0
               : e.layoutOf(type).columns(Dim::Lane)[bit];
  }

  // Each lane of the step keeps one of two rows that differ by `share` and
  // sends its part of the other row to the other lane.
  void scatterStep(size_t number, Word share) {
    const AxisStep &step = plan.steps[number];
    llvm::Value *isHigh = isHighLane(step.places);
    // The rows that the low lane keeps: the span of the result's register bases
    // and of the shares of later steps.
    const LinearLayout &wanted = e.layoutOf(op->getResult(0).getType());
    Span low(wanted.columns(Dim::Register));
    for (const AxisStep &later : llvm::drop_begin(plan.steps, number + 1))
      if (later.isLane)
        low.add(shareOf(later.places));
    shares.add(share);
    std::map<Key, Registers> next;
    for (auto &[key, part] : parts) {
      if (!low.contains(key.first))
        continue;
      auto high = parts.find({key.first ^ share, key.second});
      if (high == parts.end())
        mismatch();
      Registers keep, give;
      for (auto [a, b] : llvm::zip(part, high->second)) {
        keep.push_back(e.b.CreateSelect(isHigh, b, a));
        give.push_back(e.b.CreateSelect(isHigh, a, b));
      }
      next[{key.first, combined.reduce(key.second)}] =
          join(keep, fromLane(give, step.places), step.places);
    }
    parts = std::move(next);
  }

  llvm::Value *isHighLane(Word places) {
    return e.b.CreateICmpNE(e.b.CreateAnd(e.lane(), e.i32(int64_t(places))),
                            e.i32(0));
  }
  Registers fromLane(const Registers &part, Word places) {
    return llvm::map_to_vector<0>(part, [&](llvm::Value *value) {
      return e.shuffle(llvm::Intrinsic::nvvm_shfl_sync_bfly_i32, value,
                       e.i32(int64_t(places)), 31);
    });
  }
  // Combines the part of this lane with the part of lane ^ places.
  Registers joinLanes(const Registers &part, Word places) {
    return join(part, fromLane(part, places), places);
  }
  Registers join(const Registers &part, const Registers &other, Word places) {
    if (!combiner.ordered())
      return combiner.combine(part, other);
    llvm::Value *isHigh = isHighLane(places);
    Registers first = part, second = other;
    for (size_t i = 0; i < part.size(); ++i) {
      first[i] = e.b.CreateSelect(isHigh, other[i], part[i]);
      second[i] = e.b.CreateSelect(isHigh, part[i], other[i]);
    }
    return combiner.combine(first, second);
  }

  // Emits all lane steps from `first` as one redux.sync, if they combine all 32
  // lanes. Returns false otherwise.
  bool reduxStep(size_t first) {
    size_t count = plan.steps.size() - first;
    if (count != 5 || combiner.ordered())
      return false;
    std::map<Key, Registers> next;
    for (auto &[key, part] : parts) {
      Registers result = combiner.reduceWarp(part);
      if (result.empty())
        return false;
      next[key] = result;
    }
    parts = std::move(next);
    return true;
  }

  // Returns bits of the lane number that do not change the row. Each supplies a
  // bit of the part's number, so that the lanes load different parts in one
  // pass over the banks. Loads of all parts by every lane take one pass a part.
  llvm::SmallVector<int> sharingLanes(const LinearLayout &rows) const {
    const int rowBits = rows.outBits();
    const int most = std::min(plan.restBits, 5 - rowBits);
    llvm::SmallVector<int> lanes;
    for (auto [bit, row] : llvm::enumerate(rows.columns(Dim::Lane)))
      if (!row && int(lanes.size()) < most)
        lanes.push_back(int(bit));
    // Ordered combinations join neighbouring parts first. Lanes supply the
    // lowest bits of the number but are combined last.
    if (combiner.ordered() && int(lanes.size()) < plan.restBits)
      lanes.clear();
    return lanes;
  }

  void throughShared() {
    LinearLayout places = rowsOf(layout, axis, &plan);
    LinearLayout rows = rowsOf(layout, axis);
    int rowBits = places.outBits(Dim::Dim0);
    const llvm::SmallVector<int> lanes = sharingLanes(rows);
    std::vector<Word> columns = rows.columns();
    for (auto [bit, lane] : llvm::enumerate(lanes))
      columns[size_t(rows.inStart(Dim::Lane) + lane)] |=
          Word(1) << (rowBits + int(bit));
    const int shared = int(lanes.size());
    auto arrays =
        scratchArrays(e, op, combiner.types(), int64_t(1) << places.outBits());
    e.enterScratch();
    // Lanes of completed steps hold the same part. Their basis vectors in
    // `places` are zero, so they count as replicas.
    e.onlyIf(e.isFirstReplica(places), [&] {
      ThreadWord thread(e, places);
      for (auto &[key, part] : parts)
        for (auto [array, value] : llvm::zip(arrays, part))
          array.store(
              array.address(thread,
                            key.first | layout::multiply(plan.rest, key.second)
                                            << rowBits),
              value);
    });
    e.barrier();
    ThreadWord thread(e, LinearLayout(rows.ins(), places.outs(), columns));
    std::map<Key, Registers> next;
    for (auto &[key, part] : parts) {
      auto [place, added] = next.try_emplace(Key(key.first, 0));
      if (!added)
        continue;
      llvm::SmallVector<Registers> all;
      for (Word rest = 0; rest < Word(1) << (plan.restBits - shared); ++rest) {
        Registers values;
        for (ScratchArray &array : arrays)
          values.push_back(array.load(
              array.address(thread, key.first | rest << (rowBits + shared))));
        all.push_back(values);
      }
      Registers sum = combiner.combineAll(all);
      for (int lane : lanes)
        sum = joinLanes(sum, Word(1) << lane);
      place->second = sum;
    }
    parts = std::move(next);
  }

  // Sets each register of the results to `partOf(row)` of its row.
  template <typename F>
  void finish(F partOf) {
    bool second = combiner.isArg();
    for (auto [index, result] : llvm::enumerate(op->getResults())) {
      const LinearLayout &wanted = e.layoutOf(result.getType());
      LinearLayout rows = rowsOf(layout, axis);
      if (isa<RankedTensorType>(result.getType()) &&
          (!agree(wanted.columns(Dim::Lane), rows.columns(Dim::Lane)) ||
           wanted.columns(Dim::Warp) != rows.columns(Dim::Warp)))
        mismatch();
      Registers registers;
      for (Word place = 0; place < Word(e.numRegisters(result.getType()));
           ++place)
        registers.push_back(
            partOf(isa<RankedTensorType>(result.getType())
                       ? wanted.apply(place << wanted.inStart(Dim::Register))
                       : 0)[second ? 1 : index]);
      e.set(result, registers);
    }
  }

  // True if each lane bit has its wanted row, or scatterStep() distributed it.
  bool agree(const std::vector<Word> &wanted, const std::vector<Word> &rows) {
    return llvm::all_of(llvm::zip(wanted, rows), [&](auto pair) {
      auto [want, row] = pair;
      return want == row || (!row && shares.contains(want));
    });
  }

  // Handles any layout: stores the tile to shared memory, from where every
  // thread combines its rows element by element.
  void serially() {
    auto types = combiner.types().take_front(op->getNumOperands());
    auto arrays = scratchArrays(e, op, types, int64_t(1) << layout.outBits());
    e.enterScratch();
    for (auto [array, source] : llvm::zip(arrays, combiner.sources()))
      storeTile(e, array, layout, e.get(source));
    e.barrier();
    ThreadWord thread(e, rowsOf(layout, axis));
    std::map<Word, Registers> done;
    finish([&](Word row) -> const Registers & {
      auto [place, added] = done.try_emplace(row);
      if (added)
        place->second =
            combineRow(arrays, e.b.CreateXor(thread.part, e.i32(int64_t(row))));
      return place->second;
    });
  }
  Registers combineRow(llvm::MutableArrayRef<ScratchArray> arrays,
                       llvm::Value *row) {
    int64_t size = int64_t(1) << layout.outs()[size_t(axis)].bits;
    auto read = [&](llvm::Value *at) {
      Registers values;
      llvm::Value *word = joinWord(e, layout, axis, at, row);
      for (ScratchArray &array : arrays)
        values.push_back(array.load(array.address(word)));
      if (combiner.isArg())
        values.push_back(at);
      return values;
    };
    Registers start = read(e.i32(0));
    return forRange(e, e.i32(1), e.i32(size), start,
                    [&](llvm::Value *at, const Registers &so) {
                      return combiner.combine(so, read(at));
                    });
  }

  Emitter &e;
  Operation *op;
  Combiner combiner;
  int axis;
  LinearLayout layout;
  AxisPlan plan;
  Span combined;
  Span shares; // the differences of rows that scatterStep() distributed
  std::map<Key, Registers> parts;
};

} // namespace

bool emitReduce(Emitter &e, Operation *op) {
  if (!isa<tile::ReduceOp, tile::ReduceByOp>(op))
    return false;
  Reduction(e, op).run();
  return true;
}

} // namespace tessera::codegen::gpu
