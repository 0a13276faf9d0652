// codegen/gpu/pipeline/PipelineLoops.cpp - rewrites loops to copy tiles ahead.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/pipeline/Pipeline.h"

#include "codegen/analysis/MemoryModel.h"
#include "codegen/gpu/kernel/Contraction.h"
#include "codegen/gpu/kernel/TileSizes.h"
#include "codegen/gpu/passes/Passes.h"
#include "dialect/layout/ShapeOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>
#include <utility>

#define DEBUG_TYPE "tessera-pipeline-loops"

using namespace mlir;

namespace tessera::codegen::gpu {

#define GEN_PASS_DEF_PIPELINELOOPSPASS
#include "codegen/gpu/passes/Passes.h.inc"

namespace {

// Loads whose copies form one cp.async group. `memories` has one allocation of
// shared memory for each load, with `buffers` tiles each.
struct Group {
  SmallVector<StagedLoad> loads;
  AddressSlice slice;
  int buffers = 1;
  SmallVector<Value> memories = {};
};

// Rewrites one loop (diagram: Pipeline.h). The new loop copies each tile of
// `ahead` `distance` iterations before the iteration that uses it. A split loop
// also has a group `late`: it copies these tiles at the start of the iteration
// that uses them, and waits for them before the operation `cut`. If `ahead` has
// one buffer, the copies for the next iteration start at `cut`, after the last
// use of the buffer:
//
//     for i:                    copy k(0)
//       k = load; v = load      for i:
//       s = dot k                 wait k; barrier; copy v(i)
//       dot s, v                  s = dot (smem_load k)
//                          cut:   wait v; barrier; copy k(i + 1)
//                                 dot s, (smem_load v)
class LoopPipeliner {
public:
  LoopPipeliner(scf::ForOp loop, Group ahead, int distance)
      : LoopPipeliner(loop, std::move(ahead), distance, {}, nullptr) {}
  LoopPipeliner(scf::ForOp loop, Group aheadGroup, int distance,
                Group lateGroup, Operation *cut)
      : loop(loop), ahead(std::move(aheadGroup)), late(std::move(lateGroup)),
        cut(cut), distance(distance), b(loop), loc(loop.getLoc()) {}

  void run() {
    assert(distance >= 1 && "copies are of later iterations");
    assert((cut || ahead.buffers > 1) &&
           "with one buffer the next copy waits for a cut");
    keepLoads();
    allocate();
    emitPrologue();
    emitLoop();
  }

private:
  Value integer(int64_t value) {
    return arith::ConstantOp::create(
        b, loc, b.getIntegerAttr(loop.getUpperBound().getType(), value));
  }
  Value index(int64_t value) {
    return arith::ConstantOp::create(b, loc,
                                     b.getI32IntegerAttr(int32_t(value)));
  }

  void allocate() {
    barrierInCopies = llvm::any_of(ahead.slice.operations, mayHaveScratch);
    if (!barrierInCopies)
      barrierBeforeFirstCopy();
    for (Group *group : {&ahead, &late})
      for (const StagedLoad &staged : group->loads) {
        auto type = cast<RankedTensorType>(staged.load->getResult(0).getType());
        auto memory =
            tile::SmemType::get(b.getContext(), group->buffers, type.getShape(),
                                type.getElementType(), staged.layout);
        // In the block of the loop: no data survives until an outer loop runs
        // this one again.
        group->memories.push_back(
            tile::SmemAllocOp::create(b, staged.load->getLoc(), memory));
      }
  }

  // Another buffer may have used this memory, or an outer loop may run this
  // loop again. Other threads may still read it.
  void barrierBeforeFirstCopy() { barrier(); }

  void barrier() {
    tile::BarrierOp::create(b, loc)->setAttr(kPipelineAttr, b.getUnitAttr());
  }

  // True if `op` may use scratch: shared memory that a conversion or a
  // reduction needs for a moment.
  static bool mayHaveScratch(Operation *op) {
    return memoryBehaviorOf(op).scratch != ScratchUse::None;
  }

  // Returns `mask` and `scalar` as a mask for the type `like`. A null operand
  // or result means true.
  Value both(Value mask, Value scalar, Type like) {
    if (!scalar)
      return mask;
    Value all = scalar;
    if (auto tensor = dyn_cast<RankedTensorType>(like))
      all = tile::SplatOp::create(
          b, loc, tile::withElementType(tensor, b.getI1Type()), scalar);
    return mask ? arith::AndIOp::create(b, loc, mask, all).getResult() : all;
  }

  // Returns the condition under which `op` runs in the iteration that `map`
  // describes: the conditions of the `if`s around `op`, and `inside`, which is
  // true if the loop has that iteration. Null means true.
  Value guardOf(Operation *op, const IRMapping &map, Value inside) {
    Value guard = inside;
    for (Operation *inner = op, *parent = op->getParentOp(); parent != loop;
         inner = parent, parent = parent->getParentOp()) {
      auto branch = cast<scf::IfOp>(parent);
      Value condition = map.lookupOrDefault(branch.getCondition());
      if (inner->getParentRegion() == &branch.getElseRegion())
        condition = arith::XOrIOp::create(
            b, loc, condition,
            arith::ConstantOp::create(b, loc, b.getBoolAttr(true)));
      guard = guard
                  ? arith::AndIOp::create(b, loc, guard, condition).getResult()
                  : condition;
    }
    return guard;
  }

  // Starts the copies of one iteration and appends their group to `groups`. If
  // `inside` is false, a branch or the masks disable the copies. `map` holds
  // the iteration's induction variable and carried values. Returns the carried
  // values of the next iteration, then the values of `kept`.
  SmallVector<Value> copyTiles(IRMapping &map, Value inside, Value slot) {
    groups.push_back(commit(ahead.slice.carried.empty()
                                ? copyUnderBranch(map, inside, slot)
                                : startCopies(ahead, map, inside, slot)));
    SmallVector<Value> next;
    for (unsigned number : ahead.slice.carried)
      next.push_back(map.lookupOrDefault(loop.getYieldedValues()[number]));
    for (tile::LoadOp load : kept)
      next.push_back(map.lookup(load.getResult()));
    return next;
  }

  Value commit(ValueRange copies) {
    return tile::AsyncCommitOp::create(b, loc, copies);
  }

  // Starts the copies under a branch that all threads take together. This is
  // possible if the address slice carries no values: then only the tokens and
  // the values of `kept` leave the branch.
  SmallVector<Value> copyUnderBranch(IRMapping &map, Value inside, Value slot) {
    SmallVector<Type> types(ahead.loads.size(), b.getType<tile::TokenType>());
    for (tile::LoadOp load : kept)
      types.push_back(load.getType());
    auto branch = scf::IfOp::create(b, loc, types, inside, true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    SmallVector<Value> started = startCopies(ahead, map, Value(), slot);
    for (tile::LoadOp load : kept)
      started.push_back(map.lookup(load.getResult()));
    scf::YieldOp::create(b, loc, started);
    b.setInsertionPointToStart(branch.elseBlock());
    SmallVector<Value> none(ahead.loads.size(),
                            tile::AsyncDoneOp::create(b, loc));
    for (tile::LoadOp load : kept)
      none.push_back(
          arith::ConstantOp::create(b, loc, b.getZeroAttr(load.getType())));
    scf::YieldOp::create(b, loc, none);
    auto results = branch.getResults();
    for (auto [load, result] : llvm::zip(kept, results.take_back(kept.size())))
      map.map(load.getResult(), result);
    return llvm::to_vector_of<Value>(results.take_front(ahead.loads.size()));
  }

  // Finds loaded scalars from which the next iteration's addresses are computed
  // and that the body also uses elsewhere. The loop carries them, so that each
  // is loaded once. It does not carry tensors: they would take registers. Only
  // for distance 1: then the loaded value is that of the next iteration.
  void keepLoads() {
    if (distance != 1)
      return;
    for (Operation *op : ahead.slice.operations) {
      auto load = dyn_cast<tile::LoadOp>(op);
      if (load && load->getParentOp() == loop &&
          load.getType().isIntOrIndexOrFloat() && staysInBody(load))
        kept.push_back(load);
    }
  }

  // True if anything other than the addresses of the tiles of `ahead` needs
  // `op`.
  bool staysInBody(Operation *op) {
    return llvm::any_of(op->getUsers(), [&](Operation *user) {
      if (ahead.slice.operations.contains(user))
        return staysInBody(user);
      return llvm::none_of(ahead.loads, [&](const StagedLoad &staged) {
        return staged.load == user;
      });
    });
  }

  // Clones the address slice of `group` for the iteration of `map` and starts
  // the copies to buffer `slot`. Returns one token per copy.
  SmallVector<Value> startCopies(const Group &group, IRMapping &map,
                                 Value inside, Value slot) {
    for (Operation *op : group.slice.operations) {
      if (op->getNumResults() == 1 && map.contains(op->getResult(0)))
        continue;
      keepRoundings(op);
      Operation *copy = b.clone(*op, map);
      auto read = dyn_cast<tile::LoadOp>(copy);
      if (!read)
        continue;
      // A cloned load must not execute for an iteration that the loop lacks.
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(copy);
      Value runs = guardOf(op, map, inside);
      if (!runs)
        continue;
      Value mask = both(read.getMask(), runs, read.getPtr().getType());
      Value other = read.getOther();
      if (!other)
        other =
            arith::ConstantOp::create(b, loc, b.getZeroAttr(read.getType()));
      auto masked = tile::LoadOp::create(
          b, read.getLoc(), read.getType(), read.getPtr(), mask, other,
          read.getCacheAttr(), read.getEvictionAttr(), false);
      masked->setDiscardableAttrs(read->getDiscardableAttrDictionary());
      map.map(op->getResult(0), masked.getResult());
      read.erase();
    }
    if (std::exchange(barrierInCopies, false))
      barrierBeforeFirstCopy();
    SmallVector<Value> copies;
    for (auto [staged, memory] : llvm::zip(group.loads, group.memories)) {
      tile::LoadOp load = staged.load;
      Value pointer = map.lookupOrDefault(load.getPtr());
      Value mask =
          load.getMask() ? map.lookupOrDefault(load.getMask()) : Value();
      mask = both(mask, guardOf(load, map, inside), pointer.getType());
      Value buffer = tile::SmemIndexOp::create(
          b, loc, cast<tile::SmemType>(memory.getType()).withBuffers(1), memory,
          slot);
      copies.push_back(tile::AsyncCopyOp::create(
          b, load.getLoc(), pointer, buffer, mask, uint64_t(staged.vector)));
    }
    return copies;
  }

  // Returns the mapping of an iteration with the given values.
  IRMapping iteration(Value inductionVariable, ValueRange carried) {
    IRMapping map;
    map.map(loop.getInductionVar(), inductionVariable);
    for (auto [number, value] : llvm::zip_first(ahead.slice.carried, carried))
      map.map(loop.getRegionIterArgs()[number], value);
    return map;
  }

  // Returns bound - step, or the least number of the type if that wraps. An
  // iteration that starts below the result has a next one below `bound`.
  Value oneEarlier(Value bound) {
    unsigned width = bound.getType().getIntOrFloatBitWidth();
    Value least = integer(llvm::minIntN(width));
    Value enough = arith::MaxSIOp::create(
        b, loc, bound, arith::AddIOp::create(b, loc, least, loop.getStep()));
    return arith::SubIOp::create(b, loc, enough, loop.getStep());
  }

  void emitPrologue() {
    Value variable = loop.getLowerBound();
    lastStart = loop.getUpperBound();
    for (unsigned number : ahead.slice.carried)
      carried.push_back(loop.getInitArgs()[number]);
    for (int i = 0; i < distance; ++i) {
      // Compares the lower bound, because `variable` may have wrapped.
      Value inside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                                           loop.getLowerBound(), lastStart);
      IRMapping map = iteration(variable, carried);
      carried = copyTiles(map, inside, index(i));
      variable = arith::AddIOp::create(b, loc, variable, loop.getStep());
      lastStart = oneEarlier(lastStart);
    }
  }

  // Returns slot + 1, or 0 after the last buffer.
  Value nextSlot(Value slot) {
    Value next = arith::AddIOp::create(b, loc, slot, index(1));
    Value wraps = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, next,
                                        index(ahead.buffers));
    return arith::SelectOp::create(b, loc, wraps, index(0), next);
  }

  // Creates the new loop without a body. It carries the values of the old loop,
  // then `carried`, the two slots (if there are several buffers) and `groups`.
  scf::ForOp emptyLoop() {
    SmallVector<Value> init(loop.getInitArgs());
    init.append(carried);
    if (ahead.buffers > 1) {
      init.push_back(index(distance));
      init.push_back(index(0));
    }
    init.append(groups);
    auto piped = scf::ForOp::create(b, loc, loop.getLowerBound(),
                                    loop.getUpperBound(), loop.getStep(), init);
    piped->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    return piped;
  }

  void emitLoop() {
    Value reach =
        arith::MulIOp::create(b, loc, loop.getStep(), integer(distance));
    scf::ForOp piped = emptyLoop();
    size_t own = loop.getNumRegionIterArgs(), all = carried.size(),
           lead = all - kept.size();
    auto args = piped.getRegionIterArgs();
    auto known = args.slice(own + lead, kept.size());
    Value writeSlot, readSlot;
    b.setInsertionPointToEnd(piped.getBody());
    // After the wait and the barrier, the copies of this iteration are complete
    // and no thread reads the buffer of the previous iteration.
    groups = llvm::to_vector_of<Value>(args.take_back(groups.size()));
    tile::AsyncWaitOp::create(b, loc, groups.front());
    groups.erase(groups.begin());
    barrier();
    Value lateGroup;
    if (cut) {
      // Copies `late` for the current iteration.
      IRMapping map;
      map.map(loop.getInductionVar(), piped.getInductionVar());
      map.map(loop.getRegionIterArgs(), args.take_front(own));
      for (auto [load, value] : llvm::zip(kept, known))
        map.map(load.getResult(), value);
      lateGroup = commit(startCopies(late, map, Value(), index(0)));
    }
    SmallVector<Value> results, advanced;
    auto copyNext = [&] {
      Value variable =
          arith::AddIOp::create(b, loc, piped.getInductionVar(), reach);
      Value inside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                                           piped.getInductionVar(), lastStart);
      IRMapping map = iteration(variable, args.slice(own, lead));
      results = copyTiles(map, inside, writeSlot);
    };
    if (ahead.buffers > 1) {
      writeSlot = args[own + all];
      readSlot = args[own + all + 1];
      copyNext();
      useBuffers(ahead, readSlot);
      advanced = {nextSlot(writeSlot), nextSlot(readSlot)};
    } else {
      writeSlot = readSlot = index(0);
    }
    if (cut) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(cut);
      tile::AsyncWaitOp::create(b, loc, lateGroup);
      barrier();
      if (ahead.buffers == 1)
        copyNext();
      useBuffers(late, index(0), cut);
    }
    if (ahead.buffers == 1)
      useBuffers(ahead, readSlot);
    for (auto [load, value] : llvm::zip(kept, known)) {
      load.getResult().replaceAllUsesWith(value);
      load.erase();
    }
    moveBody(piped, results, advanced);
  }

  // Moves the old loop's body into `piped`, yields the additional carried
  // values, and erases the old loop.
  void moveBody(scf::ForOp piped, ArrayRef<Value> next,
                ArrayRef<Value> advanced) {
    size_t own = loop.getNumRegionIterArgs();
    loop.getInductionVar().replaceAllUsesWith(piped.getInductionVar());
    for (auto [from, to] : llvm::zip(loop.getRegionIterArgs(),
                                     piped.getRegionIterArgs().take_front(own)))
      from.replaceAllUsesWith(to);
    auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
    SmallVector<Value> results(yield.getOperands());
    results.append(next.begin(), next.end());
    results.append(advanced.begin(), advanced.end());
    results.append(groups);
    yield.erase();
    piped.getBody()->getOperations().splice(piped.getBody()->end(),
                                            loop.getBody()->getOperations());
    b.setInsertionPointToEnd(piped.getBody());
    scf::YieldOp::create(b, loc, results);
    b.setInsertionPointAfter(piped);
    tile::AsyncWaitOp::create(b, loc,
                              piped.getResults().take_back(groups.size()));
    loop.replaceAllUsesWith(piped.getResults().take_front(own));
    loop.erase();
  }

  void useBuffers(const Group &group, Value slot, Operation *place = nullptr) {
    for (auto [staged, memory] : llvm::zip(group.loads, group.memories)) {
      auto type = cast<tile::SmemType>(memory.getType()).withBuffers(1);
      useBuffer(staged, tile::SmemIndexOp::create(b, loc, type, memory, slot),
                place);
    }
  }

  // Replaces the load by reads of `buffer`, one for each layout conversion.
  // Inserts the reads before `place`; if it is null, before the operations that
  // they replace.
  void useBuffer(const StagedLoad &staged, Value buffer, Operation *place) {
    tile::LoadOp load = staged.load;
    read(load.getResult(), buffer, load, place);
    load.erase();
  }

  void read(Value value, Value buffer, Operation *origin, Operation *place) {
    OpBuilder::InsertionGuard guard(b);
    for (Operation *user : llvm::make_early_inc_range(value.getUsers())) {
      if (auto convert = dyn_cast<tile::ConvertLayoutOp>(user)) {
        b.setInsertionPoint(place ? place : convert);
        convert.replaceAllUsesWith(tile::SmemLoadOp::create(b, convert.getLoc(),
                                                            convert.getType(),
                                                            buffer)
                                       .getResult());
        convert.erase();
      } else if (auto trans = dyn_cast<tile::TransOp>(user)) {
        b.setInsertionPoint(place ? place : trans);
        auto memory = cast<tile::SmemType>(buffer.getType());
        auto layout = layout::transpose(
            memory.getLayout().layout(),
            {trans.getOrder().begin(), trans.getOrder().end()});
        auto type = tile::SmemType::get(
            b.getContext(), 1, layout::shapeOf(layout), memory.getElement(),
            tile::SharedAttr::get(b.getContext(), layout));
        Value turned = tile::SmemTransOp::create(b, trans.getLoc(), type,
                                                 buffer, trans.getOrderAttr());
        read(trans.getResult(), turned, trans, place);
        trans.erase();
      }
    }
    if (value.use_empty())
      return;
    b.setInsertionPoint(place ? place : origin);
    value.replaceAllUsesWith(
        tile::SmemLoadOp::create(b, origin->getLoc(), value.getType(), buffer)
            .getResult());
  }

  scf::ForOp loop;
  Group ahead, late;
  Operation *cut;
  int distance;
  OpBuilder b;
  Location loc;
  // Scratch memory of the address slice may overlap the buffers. If the slice
  // uses scratch, the barrier is therefore placed after the slice and before
  // the first copy.
  bool barrierInCopies = false;
  SmallVector<tile::LoadOp> kept; // the loop carries their results
  // Values that the next copy needs: carried values of the address, then the
  // results of `kept`.
  SmallVector<Value> carried;
  SmallVector<Value> groups; // incomplete cp.async groups, the oldest first
  // After an iteration whose induction variable is below it, at least
  // `distance` iterations follow.
  Value lastStart;
};

int64_t bytesOf(ArrayRef<StagedLoad> loads) {
  int64_t bytes = 0;
  for (const StagedLoad &staged : loads)
    bytes += tileBytes(staged.load->getResult(0).getType());
  return bytes;
}

struct PipelineLoopsPass
    : public impl::PipelineLoopsPassBase<PipelineLoopsPass> {
  using Base::Base;

  void runOnOperation() final {
    // Collects all loops first, because keepsLoadsBehind() would take barriers
    // of this pass for barriers of the author. The second element is the
    // operation in which no write may touch the memory that is copied ahead.
    // A barrier or an acquiring access keeps the loads after it, because other
    // programs may have written their memory. With `constantInputs`, the kernel
    // promises that nothing else writes its inputs (hint constant_inputs): then
    // only writes of the function matter.
    SmallVector<std::pair<scf::ForOp, Operation *>> loops;
    getOperation().walk([&](scf::ForOp loop) {
      if (!keepsLoadsBehind(loop))
        loops.emplace_back(loop, loop);
      else if (constantInputs)
        loops.emplace_back(loop, loop->getParentOfType<func::FuncOp>());
      else
        notPipelined(
            loop, "a barrier or an acquiring access keeps the loads after it");
    });
    // Argument pairs whose read and write were reordered. A launch fails if
    // they overlap.
    ArgumentPairs disjoint;
    for (auto [loop, scope] : loops) {
      int stages = numStages;
      if (auto own = loop->getAttrOfType<IntegerAttr>("tile.num_stages"))
        stages = int(own.getInt());
      if (stages < 2) {
        notPipelined(loop, "fewer than two stages");
        continue;
      }
      auto loads = stagedLoads(loop);
      if (loads.empty()) {
        notPipelined(loop, "no load that cp.async can do feeds a dot");
        continue;
      }
      auto slice = addressSlice(loop, loads, scope);
      if (!slice) {
        notPipelined(loop,
                     "an address of a later iteration is not known early");
        continue;
      }
      disjoint.insert(slice->disjoint.begin(), slice->disjoint.end());
      // With at most `sharedBytes` of shared memory per block, 16 warps fit on
      // an SM (sharedFor16Warps() in PassList.cpp).
      auto split = stages == 2 && 2 * bytesOf(loads) > sharedBytes
                       ? splitLoads(loop, loads)
                       : std::nullopt;
      LDBG() << "loop at " << loop.getLoc() << " pipelined: " << stages
             << " stages, " << loads.size() << " loads, " << bytesOf(loads)
             << " bytes for each buffer"
             << (split ? ", split in early and late loads" : "");
      if (split)
        LoopPipeliner(loop,
                      {split->early, *addressSlice(loop, split->early, scope),
                       split->once ? 1 : 2},
                      1, {split->late, *addressSlice(loop, split->late, scope)},
                      split->cut)
            .run();
      else
        LoopPipeliner(loop, {loads, *slice, std::max(stages - 1, 2)},
                      std::max(stages - 2, 1))
            .run();
    }
    requireDisjoint(getOperation(), disjoint);
  }

private:
  static void notPipelined(scf::ForOp loop, StringRef why) {
    LDBG() << "loop at " << loop.getLoc() << " not pipelined: " << why;
  }
};

} // namespace

} // namespace tessera::codegen::gpu

#undef DEBUG_TYPE
