// codegen/cpu/plan/Plan.cpp - chooses the tensors to store in scratch memory.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/cpu/plan/Plan.h"

#include "codegen/analysis/Stride.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace tessera::codegen::cpu {

static bool isTensor(Value value) {
  return isa<RankedTensorType>(value.getType());
}

bool touchesTensors(Operation *op) {
  return llvm::any_of(op->getOperands(), isTensor) ||
         llvm::any_of(op->getResults(), isTensor);
}

bool isElementwise(Operation *op) {
  if (isa<arith::ConstantOp>(op))
    return false;
  return isa_and_nonnull<arith::ArithDialect, math::MathDialect>(
             op->getDialect()) ||
         isa<tile::BitcastOp, tile::ConvertOp, tile::AddPtrOp>(op);
}

// True if the result of `op` is a view of its operand.
static bool isView(Operation *op) {
  return isa<tile::SplatOp, tile::ExpandDimsOp, tile::BroadcastOp,
             tile::TransOp>(op) ||
         isUnitReshape(op);
}

bool isCheap(Operation *op) {
  if (isa<arith::ConstantOp, tile::RangeOp>(op) || isView(op))
    return true;
  if (isa<tile::AddPtrOp, tile::BitcastOp>(op))
    return true;
  if (!isa_and_nonnull<arith::ArithDialect>(op->getDialect()))
    return false;
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
          arith::CeilDivSIOp, arith::CeilDivUIOp, arith::FloorDivSIOp>(op))
    return false;
  return llvm::none_of(op->getOperandTypes(), [](Type type) {
    return isa<FloatType>(tile::elementType(type));
  });
}

// Operations that the evaluator computes element by element inside a nest.
bool canBeVirtual(Operation *op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
    return !dense || dense.isSplat();
  }
  return isElementwise(op) || isView(op) ||
         isa<tile::RangeOp, tile::LoadOp, tile::ReshapeOp, tile::JoinOp,
             tile::SplitOp, tile::GatherOp>(op);
}

static bool writesMemory(Operation *op) {
  bool writes = false;
  op->walk([&](Operation *inner) {
    writes |= isa<tile::StoreOp, tile::AtomicRMWOp, tile::AtomicCASOp>(inner);
  });
  return writes;
}

Plan::Plan(func::FuncOp function, int64_t dotRows, bool pairs)
    : dotRows(dotRows), inPairs(pairs) {
  number(function);
  choosePacked(function);
  decide(function);
  assign(function);
  assignPacked(function);
  place();
}

void Plan::number(func::FuncOp function) {
  int64_t next = 0;
  function.walk<WalkOrder::PreOrder>(
      [&](Operation *op) { numbers[op].first = next++; });
  function.walk<WalkOrder::PostOrder>([&](Operation *op) {
    int64_t last = numbers[op].first;
    for (Region &region : op->getRegions())
      for (Block &block : region)
        if (!block.empty())
          last = std::max(last, numbers[&block.back()].second);
    numbers[op].second = last;
  });
}

// Returns the operations in whose loop nests `value` is read. Operations are
// visited in reverse, so all users of `value` are already decided.
Plan::Roots Plan::rootsOf(Value value) const {
  Roots roots;
  SmallVector<Value> work = {value};
  llvm::SmallPtrSet<void *, 16> seen;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (!seen.insert(next.getAsOpaquePointer()).second)
      continue;
    for (OpOperand &use : next.getUses()) {
      Operation *user = use.getOwner();
      if (readsPacked(use))
        continue;
      if (user->getNumRegions() || !canBeVirtual(user)) {
        roots.insert(user);
        continue;
      }
      for (Value result : user->getResults()) {
        bool isRoot = !isTensor(result) || buffered.lookup(result);
        if (isRoot || packed.contains(result))
          roots.insert(user);
        if (!isRoot)
          work.push_back(result);
      }
    }
  }
  return roots;
}

// True if a dot reads its right operand directly from the kernel's memory. The
// rows are contiguous and the dot reads each element once, so a copy would save
// nothing.
bool Plan::readsInPlace(tile::DotOp dot) const {
  auto load = dot.getB().getDefiningOp<tile::LoadOp>();
  if (!load || load.getMask() || !load->hasOneUse())
    return false;
  auto type = cast<RankedTensorType>(load.getType());
  return type.getRank() == 2 && isa<FloatType>(type.getElementType()) &&
         tile::shapeOf(dot.getType())[0] <= dotRows && type.getShape()[1] > 1 &&
         strideAlong(load.getPtr(), 1) == 1;
}

// True if a user needs `value` in a buffer, whichever operation defines it.
bool Plan::mustBuffer(Value value) const {
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (isa<scf::YieldOp>(user) && isa<scf::ForOp>(user->getParentOp()))
      return true;
    if (readsPacked(use))
      continue;
    if (isa<tile::DotOp>(user) && use.getOperandNumber() < 2) {
      // The left operand may be a transposed view of a buffer.
      auto trans = value.getDefiningOp<tile::TransOp>();
      if (use.getOperandNumber() == 0 ? !trans
                                      : !readsInPlace(cast<tile::DotOp>(user)))
        return true;
    }
    if (isa<tile::ReshapeOp>(user) && !isUnitReshape(user))
      return true;
    if (isa<tile::PrintOp>(user))
      return true;
    if (isa<tile::GatherOp>(user) && use.getOperandNumber() == 0)
      return true;
    if (isa<tile::TransOp>(user))
      for (OpOperand &next : user->getResult(0).getUses())
        if (isa<tile::DotOp>(next.getOwner()) && next.getOperandNumber() == 0 &&
            !readsPacked(next) && !buffered.lookup(user->getResult(0)))
          return true;
  }
  return false;
}

// True if the elements of a pointer tensor have provably different addresses.
static bool distinctAddresses(Value pointers) {
  ArrayRef<int64_t> shape = tile::shapeOf(pointers.getType());
  int64_t dims = 0;
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] != 1) {
      auto stride = strideAlong(pointers, d);
      if (!stride || *stride == 0)
        return false;
      ++dims;
    }
  return dims <= 1;
}

// True if `root` reads `value` through elementwise operations only.
static bool readsSameElement(Value value, Operation *root) {
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (user == root) {
      if (isElementwise(root) || isa<tile::StoreOp>(root))
        continue;
      if (isa<tile::DotOp>(root) && use.getOperandNumber() == 2)
        continue;
      return false;
    }
    if (!isElementwise(user))
      return false;
    for (Value result : user->getResults())
      if (!readsSameElement(result, root))
        return false;
  }
  return true;
}

bool Plan::loadNeedsBuffer(Operation *load, const Roots &roots) const {
  if (roots.size() != 1)
    return true;
  Operation *root = *roots.begin();
  if (root->getBlock() != load->getBlock() || !isTensor(load->getResult(0)))
    return true;
  for (Operation *op = load->getNextNode(); op != root; op = op->getNextNode())
    if (!op || writesMemory(op))
      return true;
  if (auto store = dyn_cast<tile::StoreOp>(root))
    return store.getPtr() != cast<tile::LoadOp>(load).getPtr() ||
           !distinctAddresses(store.getPtr()) ||
           !readsSameElement(load->getResult(0), root);
  return writesMemory(root);
}

// True if the value is broadcast along some dimension, also after it was
// expanded.
static bool feedsGrowth(Value value) {
  for (Operation *user : value.getUsers()) {
    if (isa<tile::BroadcastOp>(user))
      return true;
    if ((isa<tile::ExpandDimsOp>(user) || isUnitReshape(user)) &&
        feedsGrowth(user->getResult(0)))
      return true;
  }
  return false;
}

void Plan::decide(func::FuncOp function) {
  SmallVector<Operation *> order;
  function.walk<WalkOrder::PreOrder>(
      [&](Operation *op) { order.push_back(op); });
  for (Operation *op : llvm::reverse(order)) {
    for (Region &region : op->getRegions())
      for (Value argument : region.getArguments())
        if (isTensor(argument))
          buffered[argument] = true;
    for (Value result : op->getResults()) {
      if (!isTensor(result))
        continue;
      if (!canBeVirtual(op) || op->getNumRegions() || mustBuffer(result)) {
        buffered[result] = true;
        continue;
      }
      if (isCheap(op) || isa<tile::SplitOp, tile::JoinOp, tile::ReshapeOp>(op))
        continue;
      Roots roots = rootsOf(result);
      bool inPack = packed.contains(result);
      if (inPack && roots.empty())
        continue;
      bool buffer = roots.size() + inPack > 1 || feedsGrowth(result);
      for (Operation *root : roots)
        buffer |= root->getBlock() != op->getBlock();
      if (isa<tile::LoadOp>(op))
        buffer |= loadNeedsBuffer(op, roots);
      if (buffer)
        buffered[result] = true;
    }
  }
}

int64_t Plan::lastUse(Value value) const {
  int64_t last = 0;
  Block *block = value.getParentBlock();
  for (Operation *root : rootsOf(value)) {
    Operation *here = block->findAncestorOpInBlock(*root);
    last = std::max(last, numbers.lookup(here ? here : root).second);
  }
  return last;
}

int Plan::newBuffer(Type type, int64_t first, int64_t last, bool widened) {
  auto tensor = cast<RankedTensorType>(type);
  MLIRContext *context = type.getContext();
  Buffer buffer;
  buffer.shape.assign(tensor.getShape().begin(), tensor.getShape().end());
  Type element = tensor.getElementType();
  if (isa<tile::PtrType>(element))
    buffer.stored = IntegerType::get(context, 64);
  else if (element.isInteger(1))
    buffer.stored = IntegerType::get(context, 8);
  else if (element.isBF16() || element.isF16())
    buffer.stored = widened && !(inPairs && element.isBF16())
                        ? Type(Float32Type::get(context))
                        : Type(IntegerType::get(context, 16));
  else if (widened && element.isInteger(8))
    buffer.stored = IntegerType::get(context, 32);
  else
    buffer.stored = element;
  return addBuffer(std::move(buffer), first, last);
}

int Plan::addBuffer(Buffer buffer, int64_t first, int64_t last) {
  buffer.bytes = buffer.stored.getIntOrFloatBitWidth() / 8;
  for (int64_t size : buffer.shape)
    buffer.bytes *= size;
  buffer.first = first;
  buffer.last = std::max(first, last);
  all.push_back(std::move(buffer));
  return int(all.size()) - 1;
}

// True if `value` is read by a dot as an operand, directly or transposed.
static bool feedsDot(Value value) {
  for (OpOperand &use : value.getUses()) {
    if (isa<tile::DotOp>(use.getOwner()) && use.getOperandNumber() < 2)
      return true;
    if (isa<tile::TransOp>(use.getOwner()) &&
        feedsDot(use.getOwner()->getResult(0)))
      return true;
  }
  return false;
}

// A dot reads a strip of a few vectors of each row of its right operand, again
// for each block of its left one. Rows a large power of two apart would share
// few sets of the first cache, which then holds only a part of the strip.
// Pads the rows of a matrix that nothing but dots reads this way.
void Plan::padRows(int buffer, Value value) {
  constexpr int64_t line = 64, apart = 512;
  Buffer &matrix = all[buffer];
  const int64_t bytes = matrix.stored.getIntOrFloatBitWidth() / 8;
  if (matrix.shape.size() != 2 || matrix.shape[1] * bytes % apart != 0 ||
      !llvm::all_of(value.getUses(), [](OpOperand &use) {
        return isa<tile::DotOp>(use.getOwner()) && use.getOperandNumber() == 1;
      }))
    return;
  matrix.padding = line / bytes;
  matrix.bytes += matrix.shape[0] * line;
}

// True if a loop-carried value's buffer may be overwritten where its next value
// is computed. Nothing may read the old value later, and the computation must
// read it element by element.
bool Plan::canUpdateInPlace(Value carriedValue, Value next) const {
  Operation *writer = next.getDefiningOp();
  Block *body = carriedValue.getParentBlock();
  if (!writer || writer->getBlock() != body || writer->getNumRegions())
    return false;
  if (!isElementwise(writer) && !isa<tile::DotOp>(writer))
    return false;
  for (Operation *root : rootsOf(carriedValue)) {
    Operation *here = body->findAncestorOpInBlock(*root);
    if (!here || (here != writer && !here->isBeforeInBlock(writer)))
      return false;
    if (root == writer) {
      // Accepts elementwise paths only: through other paths the nest would read
      // elements that it has already replaced.
      SmallVector<Value> work = {carriedValue};
      while (!work.empty())
        for (OpOperand &use : work.pop_back_val().getUses()) {
          Operation *user = use.getOwner();
          if (user == writer) {
            if (isa<tile::DotOp>(user) && use.getOperandNumber() < 2)
              return false;
            continue;
          }
          bool passes = user->getNumResults() == 1 &&
                        isTensor(user->getResult(0)) &&
                        !buffered.lookup(user->getResult(0)) &&
                        canBeVirtual(user) && user->getNumRegions() == 0;
          if (!passes)
            continue;
          if (isElementwise(user))
            work.push_back(user->getResult(0));
          else if (rootsOf(user->getResult(0)).contains(writer))
            return false;
        }
    }
  }
  return true;
}

void Plan::assignCarried(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
    llvm::SmallPtrSet<void *, 8> taken;
    for (unsigned i = 0; i < loop.getNumRegionIterArgs(); ++i) {
      Value argument = loop.getRegionIterArg(i);
      if (!isTensor(argument))
        continue;
      Value next = yield.getOperand(i);
      int64_t last =
          std::max(numbers.lookup(op).second, lastUse(loop.getResult(i)));
      bool inPlace = taken.insert(next.getAsOpaquePointer()).second &&
                     canUpdateInPlace(argument, next);
      bool widened = feedsDot(argument) || feedsDot(loop.getResult(i)) ||
                     (inPlace && feedsDot(next));
      int id = newBuffer(argument.getType(), numbers.lookup(op).first, last,
                         widened);
      carried[{op, i}] = buffers[argument] = buffers[loop.getResult(i)] = id;
      if (inPlace)
        buffers[next] = id;
    }
    // A next value that is the old value of another one needs parking.
    for (unsigned i = 0; i < loop.getNumRegionIterArgs(); ++i)
      for (unsigned j = 0; j < loop.getNumRegionIterArgs(); ++j)
        if (i != j && isTensor(yield.getOperand(i)) &&
            (yield.getOperand(i) == loop.getRegionIterArg(j) ||
             buffers.lookup_or(yield.getOperand(i), -1) ==
                 carried.lookup_or({op, j}, -2))) {
          int64_t end = numbers.lookup(op).second;
          parking[{op, i}] = newBuffer(yield.getOperand(i).getType(), end, end,
                                       feedsDot(yield.getOperand(i)));
          break;
        }
    return;
  }
  auto loop = cast<scf::WhileOp>(op);
  for (unsigned i = 0; i < loop.getBeforeArguments().size(); ++i) {
    Value argument = loop.getBeforeArguments()[i];
    if (isTensor(argument))
      carried[{op, i}] = buffers[argument] =
          newBuffer(argument.getType(), numbers.lookup(op).first,
                    numbers.lookup(op).second, feedsDot(argument));
  }
  for (unsigned i = 0; i < loop.getNumResults(); ++i) {
    Value argument = loop.getAfterArguments()[i];
    if (!isTensor(argument))
      continue;
    int64_t last =
        std::max(numbers.lookup(op).second, lastUse(loop.getResult(i)));
    buffers[argument] = buffers[loop.getResult(i)] =
        newBuffer(argument.getType(), numbers.lookup(op).first, last,
                  feedsDot(argument) || feedsDot(loop.getResult(i)));
  }
}

void Plan::assign(func::FuncOp function) {
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<scf::ForOp, scf::WhileOp>(op)) {
      assignCarried(op);
      return;
    }
    for (Value result : op->getResults())
      if (isTensor(result) && buffered.lookup(result) &&
          !buffers.count(result)) {
        const int id = newBuffer(result.getType(), numbers.lookup(op).first,
                                 lastUse(result), feedsDot(result));
        if (canBeVirtual(op))
          padRows(id, result);
        buffers[result] = id;
      }
  });
}

int Plan::carriedBuffer(Operation *op, unsigned index) const {
  auto it = carried.find({op, index});
  return it == carried.end() ? -1 : it->second;
}

int Plan::parkingBuffer(Operation *op, unsigned index) const {
  auto it = parking.find({op, index});
  return it == parking.end() ? -1 : it->second;
}

// Assigns buffers to slots, in the order of first use. Buffers with disjoint
// live ranges share a slot.
void Plan::place() {
  struct Slot {
    int64_t last, bytes;
  };
  std::vector<Slot> slots;
  std::vector<int> order(all.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = int(i);
  llvm::stable_sort(order,
                    [&](int a, int b) { return all[a].first < all[b].first; });
  for (int id : order) {
    Buffer &buffer = all[id];
    int best = -1;
    auto worse = [&](const Slot &slot) {
      // Best fit; if all slots are too small, the largest one.
      return slot.bytes >= buffer.bytes ? slot.bytes - buffer.bytes
                                        : (int64_t(1) << 40) - slot.bytes;
    };
    for (size_t s = 0; s < slots.size(); ++s)
      if (slots[s].last < buffer.first &&
          (best < 0 || worse(slots[s]) < worse(slots[best])))
        best = int(s);
    if (best < 0) {
      best = int(slots.size());
      slots.push_back({0, 0});
    }
    slots[best].last = buffer.last;
    slots[best].bytes = std::max(slots[best].bytes, buffer.bytes);
    buffer.slot = best;
  }
  for (const Slot &slot : slots) {
    slotOffsets.push_back(total);
    // Rounds up to cache lines.
    total += (slot.bytes + 63) / 64 * 64;
  }
}

} // namespace tessera::codegen::cpu
