// codegen/gpu/pipeline/StageOperands.cpp - operands of dots that stay in shared
// memory. Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0
//
// The conversion of a tile to the layout of a dot's operand goes through shared
// memory anyhow: registers, store, barrier, load. Two kinds of tile had better
// stay there:
//
//   - an operand from outside of a loop, if all of them together take more
//     registers than are to be had: each round of the loop loads what it needs;
//   - a tile that several dots read, each in a layout of its own (q in q k^T
//     and in ds^T q): it is stored once, not once for each.
#include "codegen/gpu/Lower.h"
#include "codegen/gpu/pipeline/OperandLayout.h"
#include "codegen/gpu/pipeline/Pipeline.h"
#include "dialect/layout/Conversion.h"
#include "dialect/layout/ShapeOps.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/MapVector.h"

#include <numeric>

using namespace mlir;
using tessera::layout::LinearLayout;

namespace tessera::codegen::gpu {
namespace {

// Registers of 32 bits that the operands and accumulators of a loop may take
// before operands from outside go to shared memory. A thread has 255;
// addresses, softmax and the operands of the loop itself need the rest.
constexpr int64_t kLoopRegisters = 144;

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

int64_t registersOf(Type type) {
  tile::LinearAttr layout = tile::layoutOf(type);
  if (!layout)
    return 1;
  Type element = tile::elementType(type);
  int64_t bits = isa<tile::PtrType>(element)
                     ? 64
                     : std::max(8u, element.getIntOrFloatBitWidth());
  return std::max<int64_t>(1, (bits << layout.getRegisters().size()) / 32);
}

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

class Stager {
public:
  Stager(ModuleOp module, int64_t bytes)
      : module(module), bytes(bytes), b(module.getContext()) {}

  void run() {
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
    module.walk(
        [&](tile::SmemAllocOp alloc) { bytes -= alloc.getType().getBytes(); });
    for (auto &[source, tile] : tiles)
      if (tile.readers.size() > 1)
        chosen.insert(source);
    chooseForLoops();
    for (auto &[source, tile] : tiles)
      if (chosen.contains(source))
        stage(tile);
  }

private:
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
    for (auto &[op, list] : outside) {
      int64_t total = 0;
      for (Type type : cast<scf::ForOp>(op).getInitArgs().getTypes())
        total += registersOf(type);
      auto registers = [](Tile *tile) {
        int64_t sum = 0;
        for (Reader &reader : tile->readers)
          sum += registersOf(reader.convert.getType());
        return sum;
      };
      for (Tile *tile : list)
        total += registers(tile);
      llvm::stable_sort(
          list, [&](Tile *x, Tile *y) { return registers(x) > registers(y); });
      for (Tile *tile : list) {
        if (total <= kLoopRegisters)
          break;
        total -= registers(tile);
        chosen.insert(tile->source);
      }
    }
  }

  void stage(Tile &tile) {
    auto type = cast<RankedTensorType>(tile.source.getType());
    LinearLayout registers = layout::dropCopies(tile::layoutOf(type).layout());
    std::vector<LinearLayout> readers;
    for (Reader &reader : tile.readers)
      readers.push_back(layout::dropCopies(inSource(reader)));
    LinearLayout shared = operandLayout(registers, -1, readers,
                                        int(type.getElementTypeBitWidth()));
    auto memory = tile::SmemType::get(
        b.getContext(), 1, type.getShape(), type.getElementType(),
        tile::SharedAttr::get(b.getContext(), shared));
    // Conversions need some scratch beside it.
    constexpr int64_t kScratch = 16 << 10;
    if (memory.getBytes() + kScratch > bytes)
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
    // The round before, or whose memory it was, may still read.
    tile::BarrierOp::create(b, loc);
    tile::SmemStoreOp::create(b, loc, tile.source, buffer);
    tile::BarrierOp::create(b, loc);
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
  int64_t bytes; // of shared memory that are left
  OpBuilder b;
  llvm::MapVector<Value, Tile> tiles;
  llvm::DenseSet<Value> chosen;
};

struct StageOperandsPass
    : public PassWrapper<StageOperandsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(StageOperandsPass)

  StageOperandsPass() = default;
  explicit StageOperandsPass(int64_t bytes) { sharedBytes = bytes; }
  StageOperandsPass(const StageOperandsPass &other) : PassWrapper(other) {}

  Option<int64_t> sharedBytes{*this, "shared-bytes",
                              llvm::cl::desc("shared memory of a block"),
                              llvm::cl::init(166912)};

  StringRef getArgument() const final { return "tessera-stage-operands"; }
  StringRef getDescription() const final {
    return "Keep operands that dots share, or that are too many, in shared "
           "memory";
  }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<tile::TileDialect>();
  }
  void runOnOperation() final { Stager(getOperation(), sharedBytes).run(); }
};

} // namespace

std::unique_ptr<Pass> createStageOperandsPass(int64_t sharedBytes) {
  return std::make_unique<StageOperandsPass>(sharedBytes);
}

void registerStageOperandsPass() { PassRegistration<StageOperandsPass>(); }

} // namespace tessera::codegen::gpu
