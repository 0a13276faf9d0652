// codegen/gpu/layouts/DotRoles.cpp - which operand of a dot is the A of mma.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/layouts/DotRoles.h"

#include "codegen/gpu/layouts/LayoutPropagation.h"
#include "codegen/gpu/layouts/Transfer.h"
#include "dialect/tile/DotInstruction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/EquivalenceClasses.h"

#include <limits>

using namespace mlir;

namespace tessera::codegen::gpu {

namespace {

// The result of dot `from` reaches an operand of dot `to`. `turned` is true if
// it is transposed an odd number of times between them.
struct Link {
  tile::DotOp from, to;
  bool isA, turned;
  // True if `to` sums over the columns of from's result.
  bool columnsAreK() const { return isA != turned; }
};

} // namespace

// True if `trans` exchanges the last two axes.
static bool turns(tile::TransOp trans) {
  ArrayRef<int32_t> order = trans.getOrder();
  return order.size() >= 2 && order.back() + 2 == int32_t(order.size());
}

static void follow(tile::DotOp dot, SmallVector<Link> &links) {
  llvm::DenseSet<std::pair<Value, int>> seen;
  SmallVector<std::pair<Value, bool>> queue = {{dot.getResult(), false}};
  while (!queue.empty()) {
    auto [value, turned] = queue.pop_back_val();
    if (!seen.insert({value, int(turned)}).second)
      continue;
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (auto next = dyn_cast<tile::DotOp>(user)) {
        if (use.getOperandNumber() != 2)
          links.push_back({dot, next, use.getOperandNumber() == 0, turned});
      } else if (isElementwise(user)) {
        queue.push_back({user->getResult(0), turned});
      } else if (auto trans = dyn_cast<tile::TransOp>(user)) {
        queue.push_back({trans.getResult(), turned != turns(trans)});
      }
    }
  }
}

// Returns the instructions of the busiest warp per step of K, with the best
// distribution of warps over rows and columns.
static int64_t instructionsOf(const layout::MmaShape &mma, int64_t rows,
                              int64_t columns, int numWarps) {
  int64_t least = std::numeric_limits<int64_t>::max();
  for (int64_t r = 1; r <= numWarps; r *= 2)
    least = std::min(least,
                     std::max<int64_t>(1, rows / mma.m / r) *
                         std::max<int64_t>(1, columns / mma.n * r / numWarps));
  return least;
}

// True if the operands of the dot may be swapped. An instruction has 16 rows
// and 8 columns: the swapped result must have as many and must not take more
// instructions.
static bool maySwap(tile::DotOp dot, int numWarps) {
  std::optional<layout::MmaShape> mma = tile::mmaShapeOf(dot);
  if (!mma || mma->m != 16 ||
      !isa<FloatType>(tile::elementType(dot.getA().getType())))
    return false;
  ArrayRef<int64_t> shape = tile::shapeOf(dot.getType());
  int64_t m = shape[shape.size() - 2], n = shape[shape.size() - 1];
  return m >= mma->n && n >= mma->m &&
         instructionsOf(*mma, n, m, numWarps) <=
             instructionsOf(*mma, m, n, numWarps);
}

// Returns the axis along which memory is contiguous, for a value that comes
// from a load: 0 for rows, 1 for columns; nullopt if it is unknown.
static std::optional<int> contiguousAxis(Value value) {
  bool turned = false;
  for (Operation *op = value.getDefiningOp(); op;
       op = op->getOperand(0).getDefiningOp()) {
    if (isa<tile::LoadOp>(op)) {
      auto attr = op->getAttrOfType<tile::LinearAttr>(kLayoutAttr);
      if (!attr || attr.getRegisters().empty())
        return std::nullopt;
      layout::LinearLayout layout = attr.layout();
      size_t rank = layout.outs().size();
      layout::Word first = layout.column(layout::Dim::Register, 0);
      for (int axis : {0, 1}) {
        const layout::Extent &out = layout.outs()[rank - 2 + size_t(axis)];
        layout::Word mask = ((layout::Word(1) << out.bits) - 1)
                            << layout.outStart(out.dim);
        if (first && !(first & ~mask))
          return turned ? 1 - axis : axis;
      }
      return std::nullopt;
    }
    if (auto trans = dyn_cast<tile::TransOp>(op))
      turned ^= turns(trans);
    else if (!isElementwise(op) || op->getNumOperands() != 1)
      return std::nullopt;
  }
  return std::nullopt;
}

// True if a loop carries the accumulator and otherwise only scales its rows, as
// an online softmax does. Few shuffles bring the factors of the rows to the
// columns of a swapped dot.
static bool onlySums(tile::DotOp dot) {
  Value acc = dot.getAcc();
  if (auto scaled = acc.getDefiningOp<arith::MulFOp>();
      scaled && scaled->hasOneUse())
    for (OpOperand &factor : scaled->getOpOperands())
      if (factor.get().getDefiningOp<tile::BroadcastOp>())
        acc = scaled->getOperand(1 - factor.getOperandNumber());
  auto carried = dyn_cast<BlockArgument>(acc);
  if (!carried || !carried.hasOneUse() || !dot->hasOneUse())
    return false;
  auto loop = dyn_cast<scf::ForOp>(carried.getOwner()->getParentOp());
  if (!loop || carried.getArgNumber() == 0)
    return false;
  OpOperand &use = *dot->use_begin();
  return use.getOwner() == loop.getBody()->getTerminator() &&
         use.getOperandNumber() + 1 == carried.getArgNumber();
}

// Gives dots whose results are combined element by element on the way to the
// same operand (p and dp of ds = p * dp) the sum of their votes. If they have
// one layout, no data move where they are combined.
static void voteTogether(ArrayRef<Link> links,
                         llvm::MapVector<tile::DotOp, DotRoles> &roles) {
  llvm::EquivalenceClasses<Operation *> meeting;
  for (Link one : links)
    for (Link other : links)
      if (one.to == other.to && one.isA == other.isA &&
          one.turned == other.turned &&
          roles[one.from].swapped == roles[other.from].swapped &&
          one.from.getType() == other.from.getType())
        meeting.unionSets(one.from, other.from);
  llvm::DenseMap<Operation *, std::pair<int, int>> votes;
  auto leader = [&](Operation *dot) {
    auto found = meeting.findLeader(dot);
    return found == meeting.member_end() ? dot : *found;
  };
  for (auto &[dot, role] : roles) {
    auto &[rows, columns] = votes[leader(dot)];
    rows += role.rows;
    columns += role.columns;
  }
  for (auto &[dot, role] : roles)
    std::tie(role.rows, role.columns) = votes[leader(dot)];
}

llvm::MapVector<tile::DotOp, DotRoles> dotRoles(func::FuncOp function,
                                                int numWarps) {
  llvm::MapVector<tile::DotOp, DotRoles> roles;
  SmallVector<Link> links;
  function.walk([&](tile::DotOp dot) {
    roles.insert({dot, {}});
    follow(dot, links);
  });
  llvm::DenseMap<Operation *, int> wishes;
  llvm::DenseSet<Operation *> feeds;
  for (Link link : links) {
    // Only for 32-bit elements: movmatrix transposes 16-bit elements at a lower
    // cost than that of the rows that a lane holds after a swap.
    if (tile::elementType(link.to.getA().getType()).isF32())
      wishes[link.from] += link.columnsAreK() ? -1 : 1;
    feeds.insert(link.from);
  }
  for (auto &[dot, role] : roles) {
    bool may = maySwap(dot, numWarps);
    role.swapped = wishes[dot] > 0 && may;
    if (!tile::elementType(dot.getA().getType()).isF32() || !may)
      continue;
    auto a = contiguousAxis(dot.getA()), b = contiguousAxis(dot.getB());
    bool alongM = a == 0, alongN = b == 1;
    if (alongN && !alongM && !feeds.contains(dot) && onlySums(dot))
      role.swapped = true;
    role.pairedRows = (role.swapped ? alongN : alongM) && !feeds.contains(dot);
  }
  for (Link link : links) {
    DotRoles &from = roles[link.from], &to = roles[link.to];
    // True if rows of from's instruction are the axis that `to` does not sum
    // over.
    bool rows = link.columnsAreK() != from.swapped;
    bool toRows = link.isA != to.swapped;
    (rows ? from.rows : from.columns) += 1;
    (toRows ? to.rows : to.columns) += 1;
    to.chained |= rows;
    from.pairedColumns |= !rows && toRows;
    to.pairedColumns |= rows && !toRows;
  }
  voteTogether(links, roles);
  return roles;
}

} // namespace tessera::codegen::gpu
