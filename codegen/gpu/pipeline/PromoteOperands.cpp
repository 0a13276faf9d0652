// codegen/gpu/pipeline/PromoteOperands.cpp - operands in shared memory.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// The conversion of a tile to the layout of a dot's operand goes through shared
// memory anyhow: registers, store, barrier, load. Two kinds of tile had better
// stay there:
//
//   - an operand from outside of a loop, if all of them together take more
//     registers than are to be had: each iteration of the loop loads what it
//     needs;
//   - a tile that several dots read, each in a layout of its own (q in q k^T
//     and in ds^T q): it is stored once, not once for each.
//
// A tile that is only loaded and multiplied never sees a register: cp.async
// brings it, and the wait for it stands before its first reader, or before what
// may overwrite the memory it comes from.
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

// Registers of 32 bits that the operands and accumulators of a loop may take
// before operands from outside go to shared memory. A thread has 255;
// addresses, softmax and the operands of the loop itself need the rest.
constexpr int64_t kLoopRegisters = 144;

// The same where shared memory is to be had without fewer blocks on an SM: a
// slice costs one ldmatrix for 16 rows, a spilled register two instructions.
constexpr int64_t kEasyRegisters = 112;

// Registers that a loop may carry when its operands come by cp.async.
constexpr int64_t kCarriedBesideCopies = 96;

// On commits of this pass that nobody waits for yet.
constexpr llvm::StringLiteral kStagedAttr = "tile.staged";

// A conversion to a dot's operand.
struct Reader {
  tile::ConvertLayoutOp convert;
  SmallVector<int32_t> order; // of the transposition before it; may be empty
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

// The innermost loop around `op` that `value` is defined outside of.
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

// The most shared memory that buffers take at one time: those of loops that
// follow each other share it.
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

  // Blocks of an SM that shared memory has room for, when each uses so much. An
  // SM has as much as the largest block and 1 KiB that each block takes beside
  // its own. More than two blocks have no registers for such loops.
  int64_t blocks(int64_t used) const {
    return std::min<int64_t>(2, (limit + 1024) / (used + 1024));
  }

  // For each loop: what it carries and what it takes from outside; the largest
  // operands go first.
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

  // Nobody needs the tile in registers.
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

  // A tile that each iteration of a loop loads: between the load and the store
  // to shared memory stands no barrier, so few elements are in registers at
  // once, and the dot reads slice by slice.
  static bool isLoadedInLoop(Tile &tile) {
    auto load = tile.source.getDefiningOp<tile::LoadOp>();
    return load && load->getParentOfType<scf::ForOp>() && !copyVector(load) &&
           onlyDotsRead(tile);
  }

  // Elements of one cp.async when nobody else needs the tile in registers, and
  // no copies of a pipeline are under way, which a wait would wait for.
  static int64_t copied(Tile &tile) {
    auto load = tile.source.getDefiningOp<tile::LoadOp>();
    if (!load)
      return 0;
    if (!onlyDotsRead(tile))
      return 0;
    // Addresses of all copies are in registers at once; beside large
    // accumulators they are spilled (measured: 1,344 bytes became 2,080 beside
    // 192 registers, 96 became 0 beside 64).
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
    Value buffer, source;     // of pointers
    Operation *end = nullptr; // has to find the copy done; in commit's block
  };

  // Whether it must not be done while the copy may still read its source: it
  // may write there, or it lets other threads or programs know that they may.
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

  // The first reader or what ends the reading of the source, at the latest the
  // end of the block.
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

  // All copies that have been started are waited for at once.
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
    // Conversions need some scratch beside it.
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
    // The iteration before, or whose memory it was, may still read. The barrier
    // stands before the load: what is loaded can be stored at once.
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

  // The reader's layout in the coordinates of the tile.
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
  int64_t bytes;       // of these, what is left
  OpBuilder b;
  llvm::MapVector<Value, Tile> tiles;
  llvm::DenseSet<Value> chosen;
  llvm::DenseSet<Operation *> ownBarriers; // of the kernel's author
  SmallVector<Copy> copies;
  ArgumentPairs disjoint; // of what is written while a copy may read
};

struct PromoteOperandsPass
    : public impl::PromoteOperandsPassBase<PromoteOperandsPass> {
  using Base::Base;

  void runOnOperation() final { Stager(getOperation(), sharedBytes).run(); }
};

} // namespace

} // namespace tessera::codegen::gpu

#undef DEBUG_TYPE
