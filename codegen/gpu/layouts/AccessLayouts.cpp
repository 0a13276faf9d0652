// codegen/gpu/layouts/AccessLayouts.cpp - layouts for loads, stores and
// atomics.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/layouts/AccessLayouts.h"

#include "codegen/gpu/layouts/Traffic.h"
#include "codegen/gpu/layouts/Transfer.h"
#include "dialect/layout/RegisterLayouts.h"
#include "dialect/tile/TileDialect.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/EquivalenceClasses.h"

#include <cassert>

using namespace mlir;
using tessera::layout::Dim;
using tessera::layout::LinearLayout;
using tessera::layout::Word;

namespace tessera::codegen::gpu {

// Bytes of a cache line: a request within one line takes one pass over the tags
// of the cache.
static constexpr int64_t kLineBytes = 128;

LinearLayout accessLayout(ArrayRef<int64_t> shape, ArrayRef<int> order,
                          int64_t width, int numWarps, int64_t line,
                          bool rowsTogether) {
  size_t rank = shape.size();
  assert(rank && order.size() == rank && "each axis has its turn once");
  assert(llvm::isPowerOf2_64(uint64_t(width)) &&
         llvm::isPowerOf2_64(uint64_t(numWarps)) && "layouts are maps of bits");
  layout::Blocked how;
  how.perThread.assign(rank, 1);
  how.lanes.assign(rank, 1);
  how.warps.assign(rank, 1);
  how.order.assign(order.begin(), order.end());
  how.perThread[order[0]] = std::min(width, shape[order[0]]);
  int64_t lanes = layout::lanesPerWarp, warps = numWarps, rows = 1;
  for (int axis : order.drop_front())
    rows *= shape[axis];
  // With enough rows for all lanes and warps, the lanes on a row cover one
  // line, and a lane takes a vector of every line. The addresses of these
  // vectors differ by constants; other rows need an address each.
  const int64_t ofLine = std::max<int64_t>(1, line / width);
  const bool manyRows = line && rows * ofLine >= lanes * warps;
  for (int axis : order) {
    int64_t rest = shape[axis] / how.perThread[axis];
    if (axis == order[0] && manyRows)
      rest = std::min(rest, ofLine);
    how.lanes[axis] = std::min(lanes, rest);
    lanes /= how.lanes[axis];
  }
  auto spread = [&](int axis) {
    int64_t rest = shape[axis] / (how.perThread[axis] * how.lanes[axis]);
    how.warps[axis] = std::min(warps, rest);
    warps /= how.warps[axis];
  };
  // With single elements or many rows, warps go along the other axes first. The
  // rest of a row is then in registers of one thread, whose addresses differ by
  // constants; other rows need an address each.
  if (width > 1 && !manyRows)
    spread(order[0]);
  for (int axis : order.drop_front())
    spread(axis);
  if (width == 1 || manyRows)
    spread(order[0]);
  if (rowsTogether)
    for (int axis : order.drop_front())
      if (how.lanes[axis] == 1)
        how.perThread[axis] = shape[axis] / how.warps[axis];
  // Surplus lanes and warps hold replicas.
  how.lanes[order.back()] *= lanes;
  how.warps[order.back()] *= warps;
  return layout::blocked(shape.vec(), how);
}

LinearLayout plainLayout(ArrayRef<int64_t> shape, int numWarps) {
  return accessLayout(shape, layout::lastFirst(shape.size()), 1, numWarps, 0);
}

Value tensorOfPointers(Operation *op) {
  if (!isa<tile::LoadOp, tile::StoreOp, tile::AtomicRMWOp, tile::AtomicCASOp>(
          op))
    return {};
  Value ptr = op->getOperand(0);
  return isa<RankedTensorType>(ptr.getType()) ? ptr : Value();
}

Value maskOf(Operation *op) {
  if (auto load = dyn_cast<tile::LoadOp>(op))
    return load.getMask();
  if (auto store = dyn_cast<tile::StoreOp>(op))
    return store.getMask();
  if (auto atomic = dyn_cast<tile::AtomicRMWOp>(op))
    return atomic.getMask();
  return {};
}

namespace {
struct Access {
  std::vector<int> order;
  int64_t width = 1;
};

// Returns the result of a load or an atomic, or the stored value.
Value dataOf(Operation *op) {
  if (auto store = dyn_cast<tile::StoreOp>(op))
    return store.getValue();
  return op->getResult(0);
}
} // namespace

static Access accessOf(Operation *op, const AxisInfoAnalysis &axes,
                       int numWarps) {
  Value ptr = tensorOfPointers(op);
  ArrayRef<int64_t> shape = tile::shapeOf(ptr.getType());
  AxisInfo info = axes.of(ptr);
  Access access;
  access.order = layout::lastFirst(shape.size());
  // Orders the axes by contiguity, the longest first; among equals, the last
  // axis first.
  llvm::stable_sort(access.order, [&](int a, int b) {
    return info.axes[a].contiguity > info.axes[b].contiguity;
  });
  access.width = axes.accessWidth(ptr, maskOf(op), access.order[0]);
  int64_t bytes = elementBytes(ptr.getType());
  // An atomic instruction handles one element, or a pair of 16-bit elements.
  if (isa<tile::AtomicRMWOp, tile::AtomicCASOp>(op))
    access.width = std::min<int64_t>(access.width, bytes == 2 ? 2 : 1);
  int64_t elements = 1;
  for (int64_t size : shape)
    elements *= size;
  int64_t threads = int64_t(numWarps) * layout::lanesPerWarp;
  access.width =
      std::min(access.width, std::max<int64_t>(1, elements / threads));
  return access;
}

// Returns classes of tensors of one shape that elementwise operations and loops
// connect. A conversion between them would move every element.
static llvm::EquivalenceClasses<void *> tiedValues(func::FuncOp function) {
  llvm::EquivalenceClasses<void *> classes;
  auto tie = [&](Value a, Value b) {
    if (isa<RankedTensorType>(a.getType()) &&
        tile::shapeOf(a.getType()) == tile::shapeOf(b.getType()))
      classes.unionSets(a.getAsOpaquePointer(), b.getAsOpaquePointer());
  };
  // Only data connect tensors. Index arithmetic does not: the layout passes
  // duplicate it for each layout that needs it.
  llvm::DenseSet<Value> data;
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<tile::LoadOp, tile::AtomicRMWOp, tile::AtomicCASOp, tile::DotOp,
            tile::ReduceOp>(op))
      data.insert(op->getResult(0));
    if (auto loop = dyn_cast<scf::ForOp>(op))
      for (auto [arg, init, result, next] :
           llvm::zip(loop.getRegionIterArgs(), loop.getInitArgs(),
                     loop.getResults(), loop.getYieldedValues()))
        if (isa<FloatType>(tile::elementType(arg.getType()))) {
          data.insert(arg);
          data.insert(result);
          tie(arg, result);
          tie(arg, next);
          tie(arg, init);
        }
    if (isElementwise(op) && op->getNumResults() == 1) {
      bool any = false;
      for (Value operand : op->getOperands())
        if (data.contains(operand)) {
          tie(op->getResult(0), operand);
          any = true;
        }
      if (any)
        data.insert(op->getResult(0));
    }
  });
  return classes;
}

// Returns `layout` with at most `width` neighbours along `axis` in a lane. Lane
// bits take the strides of the surplus register bits, which move above the lane
// bits. A warp holds the same elements as in `layout`.
static LinearLayout narrowed(const LinearLayout &layout, int axis,
                             int64_t width) {
  assert(llvm::isPowerOf2_64(uint64_t(width)) && "layouts are maps of bits");
  int dim = -1;
  int run = int(llvm::Log2_64(uint64_t(neighboursInLane(layout, dim))));
  int keep = int(llvm::Log2_64(uint64_t(width)));
  if (dim != axis || keep >= run)
    return layout;
  std::vector<Word> registers = layout.columns(Dim::Register),
                    lanes = layout.columns(Dim::Lane);
  // Counts the lane bits that continue the axis above its register bits.
  const Word unit = registers[0];
  int along = 0;
  while (along < int(lanes.size()) &&
         lanes[size_t(along)] == unit << (run + along))
    ++along;
  for (int bit = 0; bit < along; ++bit)
    lanes[size_t(bit)] = unit << (keep + bit);
  for (int bit = keep; bit < run; ++bit)
    registers[size_t(bit)] = unit << (along + bit);
  std::vector<Word> columns = registers;
  llvm::append_range(columns, lanes);
  llvm::append_range(columns, layout.columns(Dim::Warp));
  return LinearLayout(layout.ins(), layout.outs(), columns);
}

int64_t iterationsIn(Region *region) {
  int64_t iterations = 1;
  for (Operation *op = region->getParentOp(); op; op = op->getParentOp())
    if (isa<scf::ForOp, scf::WhileOp>(op))
      iterations *= 8;
  return iterations;
}

llvm::MapVector<Operation *, LinearLayout>
accessLayouts(func::FuncOp function, const AxisInfoAnalysis &axes,
              int numWarps) {
  llvm::EquivalenceClasses<void *> tied = tiedValues(function);
  // Accesses of one class and order.
  struct Class {
    SmallVector<std::pair<Operation *, Access>> accesses;
    int64_t widest = 1;
  };
  using Key = std::pair<void *, std::vector<int>>;
  llvm::MapVector<Key, Class, std::map<Key, unsigned>> classes;
  auto leaderOf = [&](Value value) {
    auto leader = tied.findLeader(value.getAsOpaquePointer());
    return leader == tied.member_end() ? value.getAsOpaquePointer() : *leader;
  };
  auto keyOf = [&](Operation *op, const Access &access) {
    return std::pair(leaderOf(dataOf(op)), access.order);
  };
  // Axes along which the data are reduced. The lanes of a warp should hold
  // different columns of a sum over rows.
  llvm::DenseMap<void *, SmallVector<int>> summed;
  function.walk([&](tile::ReduceOp op) {
    for (Value operand : op->getOperands())
      summed[leaderOf(operand)].push_back(int(op.getAxis()));
  });
  auto layoutOf = [&](Operation *op, const Access &access, int64_t width) {
    Type pointers = op->getOperand(0).getType();
    const int64_t bytes = elementBytes(pointers), row = access.order[0];
    const bool acrossRows = llvm::any_of(summed.lookup(leaderOf(dataOf(op))),
                                         [&](int axis) { return axis != row; });
    ArrayRef<int64_t> shape = tile::shapeOf(pointers);
    return accessLayout(shape, access.order, width, numWarps,
                        acrossRows ? 0 : kLineBytes / bytes, width * bytes < 4);
  };
  llvm::MapVector<Operation *, LinearLayout> layouts;
  function.walk([&](Operation *op) {
    if (!tensorOfPointers(op))
      return;
    Access access = accessOf(op, axes, numWarps);
    layouts.insert({op, layoutOf(op, access, access.width)});
    if (isa<tile::AtomicRMWOp, tile::AtomicCASOp>(op))
      return;
    Class &each = classes[keyOf(op, access)];
    each.widest = std::max(each.widest, access.width);
    each.accesses.push_back({op, access});
  });
  // Chooses the width with the lowest cost of all accesses of a class, in
  // sectors and requests; among equals, the widest.
  for (auto &[key, each] : classes) {
    auto layoutWith = [&](Operation *op, const Access &access, int64_t width) {
      LinearLayout widest = layoutOf(op, access, each.widest);
      return width == each.widest ? widest
                                  : narrowed(widest, access.order[0], width);
    };
    int64_t best = each.widest, least = 0;
    for (int64_t width = each.widest; width >= 1; width /= 2) {
      int64_t cost = 0;
      for (auto &[op, access] : each.accesses) {
        Traffic traffic =
            trafficOf(layoutWith(op, access, width),
                      patternOf(op, access.order[0], access.width));
        cost += iterationsIn(op->getParentRegion()) *
                (traffic.sectors + 2 * traffic.requests);
      }
      if (width == each.widest || cost < least) {
        least = cost;
        best = width;
      }
    }
    for (auto &[op, access] : each.accesses)
      layouts[op] = layoutWith(op, access, best);
  }
  return layouts;
}

} // namespace tessera::codegen::gpu
