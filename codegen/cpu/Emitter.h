// codegen/cpu/Emitter.h - emits the loops of one kernel.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// The emitter traverses the kernel in program order. It clones scalars and
// emits nothing for virtual tensors. A "root" (a buffered tensor, store,
// reduction or dot) becomes a loop nest. In its body, `evaluate` computes the
// operands, one vector of lanes at a time, from buffers, memory and scalars.
#pragma once

#include "codegen/analysis/AxisInfo.h"
#include "codegen/cpu/Lanes.h"
#include "codegen/cpu/Lower.h"
#include "codegen/cpu/plan/MovingTiles.h"
#include "codegen/cpu/plan/Plan.h"
#include "dialect/tile/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <map>
#include <string>

namespace tessera::codegen::cpu {

/// A strided array of f32, i32, ... in scratch memory.
struct View {
  mlir::Value address;
  mlir::Type stored;
  llvm::SmallVector<int64_t> strides;
  /// Alias scope of the memory.
  int slot = -1;
};

/// The most rows of a dot's left operand that are in registers at once.
int64_t dotRows(const CpuOptions &options);

class Emitter {
public:
  Emitter(mlir::func::FuncOp function, const Plan &plan,
          const CpuOptions &options);
  void run();

private:
  using Body = llvm::function_ref<void(const Index &)>;

  [[noreturn]] void unsupported(mlir::Operation *op, const std::string &what);

  // Entry.cpp
  void bindArguments();
  void bindBuffers();

  // Control.cpp: program order.
  void emitBlock(mlir::Block &block);
  void emitOperation(mlir::Operation *op);
  void emitScalar(mlir::Operation *op);
  void emitFor(mlir::scf::ForOp loop);
  mlir::Value countIterations(mlir::Value lower, mlir::Value upper,
                              mlir::Value step);
  void emitIf(mlir::scf::IfOp branch);
  void emitWhile(mlir::scf::WhileOp loop);
  void emitYield(mlir::scf::ForOp loop);
  void emitConstant(mlir::arith::ConstantOp op);
  mlir::Value scalar(mlir::Value value);

  // Nest.cpp: loops and buffers.
  int64_t laneWidth(int64_t size) const;
  /// The dimension that vectors run along; -1 if all have size 1. `own`: the
  /// operation of a value counts, not the buffer it may have.
  int chooseLane(llvm::ArrayRef<int64_t> shape,
                 llvm::ArrayRef<mlir::Value> values, int fallback,
                 bool own = false) const;
  void nest(llvm::ArrayRef<int64_t> shape, int lane, int64_t width, Body body);
  void loop(int64_t size, int64_t step,
            llvm::function_ref<void(mlir::Value)> body);
  /// A loop that carries vectors or scalars.
  llvm::SmallVector<mlir::Value>
  carry(int64_t size, int64_t step, mlir::ValueRange init,
        llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value,
                                                          mlir::ValueRange)>
            body);
  /// Evaluates the operation of `value`, although the plan may give it a
  /// buffer, and writes the result to `view`.
  void materialize(mlir::Value value, const View &view);
  void materializeTransposed(mlir::Value value, const View &view, int lane,
                             int64_t width);
  void materializeJoin(tile::JoinOp op, const View &view, int lane);
  mlir::Value loadEverySecond(const View &view, mlir::Value address,
                              int64_t width);
  /// Transposes an n x n tile held in n vectors of n lanes.
  void transposeVectors(llvm::MutableArrayRef<mlir::Value> rows);
  void copy(const View &from, const View &to, mlir::Type tensor);
  /// Writes `value`, buffered or not, to `view`.
  void deliver(mlir::Value value, const View &view);
  View viewOf(int buffer);
  mlir::Value elementAddress(const View &view, const Index &index,
                             int dropped = -1);
  mlir::Value loadView(const View &view, mlir::Value address, int64_t width);
  void storeView(const View &view, mlir::Value address, mlir::Value value);
  void storeLanes(const View &view, const Index &index, mlir::Type element,
                  const Lanes &lanes);
  Lanes readBuffer(mlir::Value value, const Index &index);
  Lanes readLinear(const View &view, mlir::Type element, mlir::Value linear,
                   int64_t laneStride, int64_t width, bool uniform);
  mlir::Value toStored(const View &view, mlir::Type element, mlir::Value value);
  mlir::Value fromStored(const View &view, mlir::Type element,
                         mlir::Value value);

  // Evaluate.cpp: expressions.
  /// Emits code that computes `value` at `index` or reads its buffer there.
  Lanes evaluate(mlir::Value value, const Index &index);
  /// The same, but emits the defining operation even if the value has a buffer.
  Lanes expression(mlir::Value value, const Index &index);
  Lanes evaluateElementwise(mlir::Operation *op, unsigned result,
                            const Index &index);
  mlir::Value isRun(mlir::Value vector);
  Lanes evaluateAddPtr(mlir::Operation *op, const Lanes &ptr,
                       const Lanes &offset);
  Lanes evaluateView(mlir::Operation *op, const Index &index);
  Lanes evaluateReshape(mlir::Operation *op, const Index &index);
  Lanes evaluateJoin(tile::JoinOp op, const Index &index);
  Lanes evaluateGather(tile::GatherOp op, const Index &index);
  mlir::Value insideOf(mlir::Value indices, int64_t size);
  std::optional<Lanes> affine(mlir::Operation *op, llvm::ArrayRef<Lanes> in,
                              const Index &index);
  bool neverWraps(mlir::Value value, const Index &index) const;
  Lanes mayWrap(const Lanes &offset, int64_t width);

  // Elementwise.cpp
  mlir::Value apply(mlir::Operation *op, unsigned result,
                    llvm::ArrayRef<mlir::Value> operands);
  mlir::Value safeDivisor(mlir::Operation *op, mlir::Value dividend,
                          mlir::Value divisor);
  mlir::Value bitcast(mlir::Operation *op, mlir::Value value);
  mlir::Value constant(mlir::Attribute attr, mlir::Type element);

  // Memory.cpp: the kernel's own memory.
  Lanes load(tile::LoadOp op, const Index &index);
  void store(tile::StoreOp op, const Index &index);
  void emitStore(tile::StoreOp op);
  mlir::Value memoryLoad(mlir::Value address, mlir::Type element,
                         int64_t width);
  mlir::Value either(mlir::Value condition, mlir::Type type,
                     llvm::function_ref<mlir::Value()> then,
                     llvm::function_ref<mlir::Value()> otherwise);
  void memoryStore(mlir::Value address, mlir::Type element, mlir::Value value);
  mlir::Value toMemory(mlir::Type element, mlir::Value value);
  mlir::Value fromMemory(mlir::Type element, mlir::Value value);

  // Atomic.cpp
  void emitAtomic(mlir::Operation *op);
  mlir::Value atomicElement(mlir::Operation *op, mlir::Value address,
                            mlir::ValueRange operands, mlir::Type element);
  mlir::Value atomicLoop(tile::AtomicKind kind, mlir::Value address,
                         mlir::Value operand, mlir::Type element);

  // Reduce.cpp, Scan.cpp
  void emitReduce(tile::ReduceOp op);
  mlir::Value combine(tile::ReduceKind kind, mlir::Type element, mlir::Value a,
                      mlir::Value b);
  /// The same for pairs of value and index.
  llvm::SmallVector<mlir::Value> combineAny(tile::ReduceKind kind,
                                            mlir::Type element,
                                            mlir::ValueRange a,
                                            mlir::ValueRange b);
  mlir::Value fold(tile::ReduceOp op, llvm::SmallVector<mlir::Value> partial,
                   int64_t width);
  llvm::SmallVector<mlir::Value>
  foldRows(tile::ReduceOp op, std::vector<llvm::SmallVector<mlir::Value>> rows);
  llvm::SmallVector<mlir::Value>
  reduceRow(tile::ReduceOp op, const Index &outer, int lane, int64_t width);
  bool reducesRowsTogether(tile::ReduceOp op, int lane, int64_t width,
                           int64_t rows) const;
  mlir::Value combineScan(tile::ScanKind kind, mlir::Type element,
                          mlir::Value a, mlir::Value b);
  mlir::Value lowest(mlir::Type element, bool largest);
  llvm::SmallVector<mlir::Value> identity(tile::ReduceKind kind,
                                          mlir::Type element, int64_t width);
  void emitScan(tile::ScanOp op);
  void emitHistogram(tile::HistogramOp op);

  // Combine.cpp
  /// The region's results for arguments that are scalars or vectors.
  llvm::SmallVector<mlir::Value> combineRegion(mlir::Region &region,
                                               mlir::ValueRange arguments,
                                               int64_t width);
  void emitCombine(mlir::Operation *op);

  // Sort.cpp
  void emitSort(tile::SortOp op);
  void sortVectors(tile::SortOp op, const View &view, int64_t rows);
  void sortElements(tile::SortOp op, const View &view);
  /// Returns an i1, or a vector of i1, that is true if `x` is after `y` in
  /// ascending order.
  mlir::Value comesLater(tile::SortOp op, mlir::Value x, mlir::Value y);

  // PrintAssert.cpp: callbacks of the runtime
  // (runtime/device/cpu/KernelOutput.h).
  void emitPrint(tile::PrintOp op);
  void emitAssert(tile::AssertOp op);
  mlir::Value text(const std::string &content);
  /// Memory of two 8-byte words in the frame of the entry function.
  mlir::Value spill(mlir::Value first, mlir::Value second);
  void callReport(int callback, mlir::ValueRange arguments);

  // Dot.cpp
  void emitDot(tile::DotOp op);
  /// One vector of a matrix: its row, column and width.
  using VectorAt =
      llvm::function_ref<mlir::Value(mlir::Value, mlir::Value, int64_t)>;
  bool startsFromExpression(tile::DotOp op);
  void emitFullDot(tile::DotOp op, const View &c, VectorAt start);
  /// `start`: the sums before the first product, in the form of `c`.
  void dotMatrices(tile::DotOp op, const View &a, VectorAt right, const View &c,
                   VectorAt start, bool pairs = false);
  void dotBlock(const View &a, VectorAt right, const View &c, VectorAt start,
                bool pairs, int64_t rows, int64_t vectors, int64_t width,
                int64_t depth, mlir::Value row, mlir::Value column);

  // Prefetch.cpp: fetches the loop's next tiles while a dot runs.
  struct Ahead {
    llvm::SmallVector<MovingTile> tiles;
    /// Scalars of the body with their values in the next iteration.
    llvm::DenseMap<mlir::Value, mlir::Value> scalars;
    /// An i1: this iteration is not the last.
    mlir::Value more;
  };
  Ahead lookAhead(tile::DotOp dot);
  mlir::Value scalarAhead(mlir::Value value, mlir::scf::ForOp loop,
                          Ahead &ahead);
  mlir::Value repeat(mlir::Operation *op, mlir::scf::ForOp loop, Ahead &ahead);
  void swapScalars(Ahead &ahead);
  /// Emits the share of one of `blocks` equal parts of the dot.
  void prefetch(Ahead &ahead, mlir::Value block, int64_t blocks);

  // DotPairs.cpp: products of bf16 by vdpbf16ps, two along K in 32 bits.
  void emitPairedDot(tile::DotOp op, const View &c, VectorAt start);
  void pack(mlir::Value value, const View &view);
  void packColumns(mlir::Value value, const View &view, int64_t square,
                   llvm::function_ref<mlir::Value(const Index &)> at);
  mlir::Value pairOf(mlir::Value low, mlir::Value high);
  /// sum + left[2i] * right[2i] + left[2i + 1] * right[2i + 1] for each lane.
  mlir::Value multiplyPairs(mlir::Value left, mlir::Value right,
                            mlir::Value sum);

  mlir::func::FuncOp function;
  const Plan &plan;
  const AxisInfoAnalysis axes;
  CpuOptions options;
  mlir::OpBuilder b;
  mlir::Location loc;
  LaneBuilder lanes;
  mlir::LLVM::LLVMFuncOp entry;
  llvm::DenseMap<mlir::Value, mlir::Value> scalars;
  /// The emitted loops of the kernel's loops.
  llvm::DenseMap<mlir::Operation *, mlir::scf::ForOp> loops;
  llvm::SmallVector<mlir::Value> slotAddresses;
  llvm::SmallVector<mlir::ArrayAttr> ownScope, otherScopes;
  mlir::Value args, pid, grid, scratch;
  unsigned texts = 0;

  /// What this nest body has computed already.
  using MemoKey = std::pair<void *, std::vector<void *>>;
  std::map<MemoKey, Lanes> memo;
};

} // namespace tessera::codegen::cpu
