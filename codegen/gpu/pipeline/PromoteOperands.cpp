// codegen/gpu/pipeline/PromoteOperands.cpp - keeps operands in shared memory.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Most conversions to the layout of a dot's operand go through shared memory.
// This pass stores such a tile once and lets each dot read it from there, if
//
//   - the tile is defined outside of a loop whose operands and accumulators
//     take too many registers: each iteration then loads what it needs;
//   - several conversions read the tile (q in q k^T and in ds^T q);
//   - a loop loads the tile, only dots read it, and cp.async cannot copy it.
//
//     q = load p                        barrier
//     a = convert_layout q              async_copy p, buffer; async_commit
//     for i:                            async_wait; barrier
//       dot a, ..                       for i:
//                                         dot (smem_load buffer), ..
//
// cp.async copies a tile that is only loaded and multiplied, so the tile takes
// no registers. The wait comes before the first reader, or before an operation
// that may overwrite the source. Other tiles use smem_store and a barrier.
#include "codegen/analysis/MemoryModel.h"
#include "codegen/analysis/PointerOrigins.h"
#include "codegen/gpu/kernel/Attributes.h"
#include "codegen/gpu/kernel/TileSizes.h"
#include "codegen/gpu/passes/Passes.h"
#include "codegen/gpu/pipeline/OperandLayout.h"
#include "codegen/gpu/pipeline/Pipeline.h"
#include "dialect/layout/Conversion.h"
#include "dialect/layout/ShapeOps.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/DebugLog.h"

#include <numeric>

#define DEBUG_TYPE "tessera-promote-operands"

using namespace mlir;
using tessera::layout::LinearLayout;

namespace tessera::codegen::gpu {

#define GEN_PASS_DEF_PROMOTEOPERANDSPASS
#include "codegen/gpu/passes/Passes.h.inc"

namespace {

// Limit on the 32-bit registers per thread for a loop's accumulators and its
// operands from outside. Above it, operands from outside go to shared memory. A
// thread has 255; addresses, softmax and operands loaded in the loop need the
// rest.
constexpr int64_t kLoopRegisters = 144;

// The limit if the buffer does not reduce the number of blocks on an SM. It is
// lower because a slice costs one ldmatrix for 16 rows, and a spilled register
// costs two instructions.
constexpr int64_t kEasyRegisters = 112;

// Limit on the registers that a loop carries if cp.async copies its operands.
constexpr int64_t kCarriedBesideCopies = 96;

// Marks commits of this pass for which it has not inserted a wait yet.
constexpr llvm::StringLiteral kStagedAttr = "tile.staged";

// A conversion to the layout of a dot's operand.
struct Reader {
  tile::ConvertLayoutOp convert;
  SmallVector<int32_t> order; // of a transposition before it; empty if none
};

// A tile in registers and the conversions that read it.
struct Tile {
  Value source;
  SmallVector<Reader> readers;
};

bool feedsDotsOnly(tile::ConvertLayoutOp convert) {
  return !convert->use_empty() &&
         llvm::all_of(convert->getUses(), [](OpOperand &use) {
           return isa<tile::DotOp>(use.getOwner()) &&
                  use.getOperandNumber() != 2;
         });
}

bool goesThroughShared(tile::ConvertLayoutOp convert) {
  Type element = tile::elementType(convert.getType());
  if (!element.isIntOrFloat() || element.getIntOrFloatBitWidth() < 8)
    return false;
  layout::ConversionOptions options;
  options.elementBits = int(element.getIntOrFloatBitWidth());
  return layout::planConversion(
             tile::layoutOf(convert.getSrc().getType()).layout(),
             tile::layoutOf(convert.getType()).layout(), options)
             .kind == layout::ConversionKind::Shared;
}

// Returns the innermost loop around `op`, or null if `value` is defined in it.
scf::ForOp loopBetween(Value value, Operation *op) {
  scf::ForOp found;
  for (auto loop = op->getParentOfType<scf::ForOp>(); loop;
       loop = loop->getParentOfType<scf::ForOp>()) {
    if (loop->isAncestor(value.getParentBlock()->getParentOp()))
      break;
    if (!found)
      found = loop;
  }
  return found;
}

// Returns an estimate of the bytes of shared memory that buffers use at one
// time. Buffers of different outermost loops share memory.
int64_t bytesInUse(ModuleOp module) {
  llvm::MapVector<Operation *, int64_t> ofLoop;
  int64_t outside = 0;
  module.walk([&](tile::SmemAllocOp alloc) {
    llvm::SmallPtrSet<Operation *, 4> loops;
    for (Operation *user : usersOfBuffer(alloc)) {
      scf::ForOp outermost;
      for (auto loop = user->getParentOfType<scf::ForOp>();
           loop && !loop->isAncestor(alloc);
           loop = loop->getParentOfType<scf::ForOp>())
        outermost = loop;
      if (outermost)
        loops.insert(outermost);
    }
    if (loops.size() != 1)
      outside += alloc.getType().getBytes();
    else
      ofLoop[*loops.begin()] += alloc.getType().getBytes();
  });
  int64_t most = 0;
  for (auto &[loop, bytes] : ofLoop)
    most = std::max(most, bytes);
  return outside + most;
}

class Stager {
public:
  Stager(ModuleOp module, int64_t bytes)
      : module(module), limit(bytes), bytes(bytes), b(module.getContext()) {}

  void run() {
    module.walk([&](tile::BarrierOp barrier) {
      if (!barrier->removeAttr(kPipelineAttr))
        ownBarriers.insert(barrier);
    });
    module.walk([&](tile::ConvertLayoutOp convert) {
      if (!feedsDotsOnly(convert) || !goesThroughShared(convert))
        return;
      Reader reader{convert, {}};
      Value source = convert.getSrc();
      if (auto trans = source.getDefiningOp<tile::TransOp>()) {
        source = trans.getSrc();
        reader.order.assign(trans.getOrder().begin(), trans.getOrder().end());
      }
      Tile &tile = tiles[source];
      tile.source = source;
      tile.readers.push_back(reader);
    });
    bytes -= bytesInUse(module);
    for (auto &[source, tile] : tiles)
      if (tile.readers.size() > 1)
        chosen.insert(source);
    for (auto &[source, tile] : tiles)
      if (isLoadedInLoop(tile))
        chosen.insert(source);
    chooseForLoops();
    for (auto &[source, tile] : tiles)
      if (chosen.contains(source))
        stage(tile);
    awaitCopies();
  }

private:
  static int64_t sizeOf(const Tile &tile) {
    return tileBytes(tile.source.getType());
  }

  // Returns how many blocks fit into an SM's shared memory if each uses `used`
  // bytes. Each block needs 1 KiB more, and an SM has room for one block of the
  // largest size. The result is at most 2: registers do not suffice for more.
  int64_t blocks(int64_t used) const {
    return std::min<int64_t>(2, (limit + 1024) / (used + 1024));
  }

  // Chooses operands from outside, the largest first, until the registers that
  // each loop needs are within the limits.
  void chooseForLoops() {
    llvm::MapVector<Operation *, SmallVector<Tile *>> outside;
    for (auto &[source, tile] : tiles)
      for (Reader &reader : tile.readers)
        for (Operation *dot : reader.convert->getUsers())
          if (auto loop = loopBetween(source, dot))
            if (!llvm::is_contained(outside[loop], &tile))
              outside[loop].push_back(&tile);
    int64_t used = limit - bytes;
    for (auto &[source, tile] : tiles)
      if (chosen.contains(source))
        used += sizeOf(tile);
    for (auto &[op, list] : outside) {
      int64_t total = 0;
      for (Type type : cast<scf::ForOp>(op).getInitArgs().getTypes())
        total += tileRegisters(type);
      auto registers = [](Tile *tile) {
        int64_t sum = 0;
        for (Reader &reader : tile->readers)
          sum += tileRegisters(reader.convert.getType());
        return sum;
      };
      for (Tile *tile : list)
        total += registers(tile);
      llvm::stable_sort(
          list, [&](Tile *x, Tile *y) { return registers(x) > registers(y); });
      for (Tile *tile : list) {
        const int64_t more = chosen.contains(tile->source) ? 0 : sizeOf(*tile);
        if (total <= kEasyRegisters ||
            (total <= kLoopRegisters && blocks(used + more) < blocks(used)))
          continue;
        total -= registers(tile);
        used += more;
        chosen.insert(tile->source);
      }
    }
  }

  // True if all uses of the tile are conversions that feed dots.
  static bool onlyDotsRead(Tile &tile) {
    size_t uses = 0;
    llvm::SmallPtrSet<Operation *, 4> direct;
    for (Reader &reader : tile.readers)
      if (direct
              .insert(reader.order.empty()
                          ? reader.convert.getOperation()
                          : reader.convert.getSrc().getDefiningOp())
              .second)
        ++uses;
    for (Operation *user : direct)
      if (isa<tile::TransOp>(user) &&
          !llvm::all_of(user->getUsers(), [&](Operation *op) {
            return llvm::any_of(tile.readers, [&](Reader &reader) {
              return reader.convert == op;
            });
          }))
        return false;
    return uses == size_t(std::distance(tile.source.use_begin(),
                                        tile.source.use_end()));
  }

  // True if each iteration of a loop loads the tile, only dots read it, and
  // cp.async cannot copy it. No barrier separates the load from the store to
  // shared memory, so few elements are in registers at one time.
  static bool isLoadedInLoop(Tile &tile) {
    auto load = tile.source.getDefiningOp<tile::LoadOp>();
    return load && load->getParentOfType<scf::ForOp>() && !copyVector(load) &&
           onlyDotsRead(tile);
  }

  // Returns the number of elements of one cp.async, or 0 if the tile should not
  // be copied: an operation other than a dot reads it, or a pipelined loop
  // around it has incomplete copies, which a wait would also wait for.
  static int64_t copied(Tile &tile) {
    auto load = tile.source.getDefiningOp<tile::LoadOp>();
    if (!load)
      return 0;
    if (!onlyDotsRead(tile))
      return 0;
    // The addresses of all copies are in registers at one time. With large
    // accumulators, ptxas spills them.
    if (auto loop = load->getParentOfType<scf::ForOp>()) {
      int64_t carried = 0;
      for (Type type : loop.getInitArgs().getTypes())
        carried += tileRegisters(type);
      if (carried > kCarriedBesideCopies)
        return 0;
    }
    for (auto loop = load->getParentOfType<scf::ForOp>(); loop;
         loop = loop->getParentOfType<scf::ForOp>())
      if (loop.getBody()
              ->walk([](tile::AsyncCommitOp op) {
                return op->hasAttr(kStagedAttr) ? WalkResult::advance()
                                                : WalkResult::interrupt();
              })
              .wasInterrupted())
        return 0;
    return copyVector(load);
  }

  struct Copy {
    tile::AsyncCommitOp commit;
    Value buffer, source;     // `source`: a tensor of pointers
    Operation *end = nullptr; // the wait is before it; in commit's block
  };

  // True if the copy from `source` must be complete before `op` runs: `op` may
  // write to the source, or it is a barrier of the author or a release, after
  // which other threads or programs may write there.
  bool endsReading(Operation *op, Value source, PointerOrigins &origins) const {
    return op
        ->walk([&](Operation *inner) {
          auto write = globalWriteOf(inner);
          return ownBarriers.contains(inner) ||
                         memoryBehaviorOf(inner).releases ||
                         (write && origins.mayAlias(write->through, source))
                     ? WalkResult::interrupt()
                     : WalkResult::advance();
        })
        .wasInterrupted();
  }

  // Returns the first operation after the commit that reads the buffer or for
  // which endsReading() is true, or else the block's terminator.
  Operation *endOf(const Copy &copy, PointerOrigins &origins) {
    llvm::SmallPtrSet<Operation *, 4> readers;
    for (Operation *user : copy.buffer.getUsers())
      readers.insert(copy.commit->getBlock()->findAncestorOpInBlock(*user));
    Operation *op = copy.commit->getNextNode();
    while (!op->hasTrait<OpTrait::IsTerminator>() && !readers.contains(op) &&
           !endsReading(op, copy.source, origins)) {
      op->walk([&](Operation *inner) {
        if (auto write = globalWriteOf(inner))
          addPairs(disjoint, origins, copy.source, write->through);
      });
      op = op->getNextNode();
    }
    return op;
  }

  // Inserts the waits. Each wait covers all copies that were started before it
  // in its block.
  void awaitCopies() {
    PointerOrigins origins;
    for (Copy &copy : copies)
      copy.end = endOf(copy, origins);
    requireDisjoint(module, disjoint);
    while (!copies.empty()) {
      Operation *end = copies.front().end;
      for (const Copy &other : copies)
        if (other.end->getBlock() == end->getBlock() &&
            other.end->isBeforeInBlock(end))
          end = other.end;
      Location loc = copies.front().commit->getLoc();
      b.setInsertionPoint(end);
      SmallVector<Value> groups;
      llvm::erase_if(copies, [&](Copy &copy) {
        bool done = copy.commit->getBlock() == end->getBlock() &&
                    copy.commit->isBeforeInBlock(end);
        if (done) {
          copy.commit->removeAttr(kStagedAttr);
          groups.push_back(copy.commit);
        }
        return done;
      });
      tile::AsyncWaitOp::create(b, loc, groups);
      tile::BarrierOp::create(b, loc);
    }
  }

  static void trace(const Tile &tile, tile::SmemType memory, bool fits,
                    int64_t vector) {
    LDBG() << "tile of " << memory.getBytes() << " bytes at "
           << tile.source.getLoc() << ", read by " << tile.readers.size()
           << " conversions: "
           << (!fits    ? "no room in shared memory"
               : vector ? "copied to shared memory by cp.async"
                        : "stored to shared memory");
  }

  void stage(Tile &tile) {
    auto type = cast<RankedTensorType>(tile.source.getType());
    LinearLayout registers =
        layout::dropReplication(tile::layoutOf(type).layout());
    std::vector<LinearLayout> readers;
    for (Reader &reader : tile.readers)
      readers.push_back(layout::dropReplication(inSource(reader)));
    int64_t vector = copied(tile);
    LinearLayout shared = operandLayout(
        registers, vector ? layout::log2Exact(vector, "vector") : -1, readers,
        int(type.getElementTypeBitWidth()));
    auto memory = tile::SmemType::get(
        b.getContext(), 1, type.getShape(), type.getElementType(),
        tile::SharedAttr::get(b.getContext(), shared));
    // Leaves memory for the scratch of conversions.
    constexpr int64_t kScratch = 16 << 10;
    const bool fits = memory.getBytes() + kScratch <= bytes;
    trace(tile, memory, fits, vector);
    if (!fits)
      return;
    bytes -= memory.getBytes();
    Location loc = tile.source.getLoc();
    auto function =
        tile.source.getParentRegion()->getParentOfType<func::FuncOp>();
    if (!function)
      function =
          cast<func::FuncOp>(tile.source.getParentRegion()->getParentOp());
    b.setInsertionPointToStart(&function.getBody().front());
    Value buffer = tile::SmemAllocOp::create(b, loc, memory);
    if (tile.source.getParentBlock() == &function.getBody().front() &&
        isa<BlockArgument>(tile.source))
      b.setInsertionPointAfterValue(buffer);
    else
      b.setInsertionPointAfterValue(tile.source);
    // Threads may still read this memory, for the previous iteration or another
    // buffer. The barrier is before the load, not between load and store.
    {
      OpBuilder::InsertionGuard guard(b);
      if (auto load = tile.source.getDefiningOp<tile::LoadOp>())
        b.setInsertionPoint(load);
      tile::BarrierOp::create(b, loc);
    }
    if (vector) {
      auto load = tile.source.getDefiningOp<tile::LoadOp>();
      Value copy = tile::AsyncCopyOp::create(b, loc, load.getPtr(), buffer,
                                             load.getMask(), uint64_t(vector));
      auto commit = tile::AsyncCommitOp::create(b, loc, copy);
      commit->setAttr(kStagedAttr, b.getUnitAttr());
      copies.push_back({commit, buffer, load.getPtr()});
    } else {
      tile::SmemStoreOp::create(b, loc, tile.source, buffer);
      tile::BarrierOp::create(b, loc);
    }
    for (Reader &reader : tile.readers)
      for (OpOperand &use :
           llvm::make_early_inc_range(reader.convert->getUses())) {
        b.setInsertionPoint(use.getOwner());
        Value view = buffer;
        if (!reader.order.empty()) {
          LinearLayout turned =
              layout::transpose(memory.getLayout().layout(),
                                {reader.order.begin(), reader.order.end()});
          view = tile::SmemTransOp::create(
              b, reader.convert.getLoc(),
              tile::SmemType::get(
                  b.getContext(), 1, layout::shapeOf(turned),
                  memory.getElement(),
                  tile::SharedAttr::get(b.getContext(), turned)),
              buffer, b.getDenseI32ArrayAttr(reader.order));
        }
        use.set(tile::SmemLoadOp::create(b, reader.convert.getLoc(),
                                         reader.convert.getType(), view));
      }
    for (Reader &reader : tile.readers) {
      auto trans = reader.convert.getSrc().getDefiningOp<tile::TransOp>();
      reader.convert->erase();
      if (trans && trans->use_empty())
        trans.erase();
    }
    if (vector)
      tile.source.getDefiningOp()->erase();
  }

  // Returns the reader's layout in the coordinates of the tile.
  static LinearLayout inSource(Reader &reader) {
    LinearLayout layout =
        tile::layoutOf(reader.convert->getResult(0).getType()).layout();
    if (reader.order.empty())
      return layout;
    std::vector<int> inverse(reader.order.size());
    for (auto [axis, source] : llvm::enumerate(reader.order))
      inverse[size_t(source)] = int(axis);
    return layout::transpose(layout, inverse);
  }

  ModuleOp module;
  const int64_t limit; // bytes of shared memory of a block
  int64_t bytes;       // bytes of `limit` that are still free
  OpBuilder b;
  llvm::MapVector<Value, Tile> tiles;
  llvm::DenseSet<Value> chosen;
  llvm::DenseSet<Operation *> ownBarriers; // barriers of the kernel's author
  SmallVector<Copy> copies;
  ArgumentPairs disjoint; // arguments written while a copy may read others
};

struct PromoteOperandsPass
    : public impl::PromoteOperandsPassBase<PromoteOperandsPass> {
  using Base::Base;

  void runOnOperation() final { Stager(getOperation(), sharedBytes).run(); }
};

} // namespace

} // namespace tessera::codegen::gpu

#undef DEBUG_TYPE
