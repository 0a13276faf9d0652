// codegen/gpu/lower/Emitter.h - writes the LLVM IR of one kernel.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// The emitter traverses the kernel once in program order. A scalar becomes one
// LLVM value. A tensor becomes a list of LLVM values, one per register of its
// layout. All threads execute the same code; only lane and warp differ. Each
// operation family is a file of functions that use this class (Families.h).
#pragma once

#include "codegen/gpu/kernel/TileSizes.h"
#include "codegen/gpu/lower/Divisors.h"
#include "dialect/layout/LinearLayout.h"
#include "dialect/tile/TileDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/DIBuilder.h"
#include "llvm/IR/IRBuilder.h"

#include <map>
#include <memory>

namespace tessera::codegen::gpu {

/// One value per register of a thread; one value for a scalar.
using Registers = llvm::SmallVector<llvm::Value *>;

/// Address spaces of NVPTX.
enum AddressSpace : unsigned { kGlobal = 1, kShared = 3 };

/// The memory effects of inline PTX.
enum class MemoryUse {
  None,
  Read, // may be reordered with other reads
  // Includes loads that are ordered with other reads: volatile and relaxed
  // loads.
  Write,
};

class Emitter {
public:
  Emitter(mlir::func::FuncOp kernel, llvm::Module &module,
          const GpuOptions &options);
  void run();

  // --- Values ---------------------------------------------------------------

  /// Returns the registers of `value`. The reference is valid until set() of
  /// the same value.
  const Registers &get(mlir::Value value);
  llvm::Value *scalar(mlir::Value value);
  void set(mlir::Value value, Registers registers);

  // --- Types and layouts ----------------------------------------------------

  /// Returns the LLVM type of an element in a register. Pointers are ptr
  /// addrspace(1).
  llvm::Type *typeOf(mlir::Type element);
  /// Returns the layout with inputs register, lane, warp and outputs dim0,
  /// dim1,
  /// ... The layout of a scalar has no output bits: all lanes and warps hold
  /// replicas. The reference is valid as long as the Emitter.
  const layout::LinearLayout &layoutOf(mlir::Type type);
  int64_t numRegisters(mlir::Type type);

  // --- Position of this thread ----------------------------------------------

  llvm::Value *thread() { return threadValue; } // i32
  llvm::Value *lane() { return laneValue; }     // i32, 0 to 31
  llvm::Value *warp() { return warpValue; }     // i32
  int numWarps() const { return options.numWarps; }

  /// Returns the contribution of lane and warp to the flat output word
  /// (LinearLayout::outStart), as i32. Callers XOR that of a register as a
  /// constant.
  llvm::Value *threadPart(const layout::LinearLayout &map);
  /// Returns the coordinates of register `index`, one i32 per tile dimension.
  Registers coordinates(const layout::LinearLayout &layout, int64_t index);
  /// Returns an i1 that is true for exactly one of the threads that hold the
  /// same elements; null if no two threads do. Only that thread executes side
  /// effects.
  llvm::Value *isFirstReplica(const layout::LinearLayout &layout);
  /// Returns, per register of `layout`, the index of the first register of the
  /// same lane with the same element: its own index if it repeats none.
  llvm::SmallVector<int64_t>
  registerSources(const layout::LinearLayout &layout);

  // --- Shared memory --------------------------------------------------------

  /// Returns a ptr addrspace(3) to byte `offset` of the block's shared memory.
  llvm::Value *shared(int64_t offset);
  /// Returns the offset of the scratch of `op` in bytes (Scratch.h).
  int64_t scratchOffset(mlir::Operation *op);
  /// Emits bar.sync 0, which all threads of the block execute.
  void barrier();
  /// Emits the barrier of a `tile.barrier scratch` before the operation, if
  /// there is one. Call it before the operation first writes its scratch,
  /// unless that place calls barrier().
  void enterScratch();
  /// Emits bar.warp.sync of all lanes.
  void warpBarrier();

  // --- Instructions ---------------------------------------------------------

  llvm::Value *i32(int64_t value) { return b.getInt32(uint32_t(value)); }
  /// Emits inline PTX. With MemoryUse::None, LLVM may move and merge it.
  llvm::Value *assembly(llvm::StringRef text, const std::string &constraints,
                        llvm::ArrayRef<llvm::Value *> operands,
                        llvm::Type *result, MemoryUse memory);
  llvm::Value *intrinsic(llvm::Intrinsic::ID id,
                         llvm::ArrayRef<llvm::Value *> operands,
                         llvm::ArrayRef<llvm::Type *> overloads = {});
  /// Emits shfl.sync of a value of any element type. `kind` is Intrinsic::
  /// nvvm_shfl_sync_{bfly,idx,up,down}_i32, and `clamp` is its last operand.
  llvm::Value *shuffle(llvm::Intrinsic::ID kind, llvm::Value *value,
                       llvm::Value *other, int clamp);
  /// Calls `body` in a block that only threads with `condition` enter. A null
  /// condition is true.
  void onlyIf(llvm::Value *condition, llvm::function_ref<void()> body);
  /// Emits the operations of a block up to its terminator.
  void emitBlock(mlir::Block &block);
  void emitOperation(mlir::Operation *op);
  /// Returns the registers of all `values` in one list.
  Registers flatten(mlir::ValueRange values);
  /// Sets the registers of `values` from a flat list.
  void unflatten(mlir::ValueRange values, llvm::ArrayRef<llvm::Value *> flat);
  llvm::SmallVector<llvm::Type *> flatTypes(mlir::TypeRange types);

  /// Throws tessera::Error with the source location of `op`.
  [[noreturn]] void unsupported(mlir::Operation *op, const std::string &what,
                                const std::string &hint = {});

  llvm::IRBuilder<> b;
  const GpuOptions &options;
  llvm::Function *function = nullptr;
  Divisors divisors;

private:
  void declare();
  void setLocation(mlir::Location location);
  llvm::DILocation *debugLocation(mlir::Location location);
  llvm::DIFile *debugFile(llvm::StringRef path);

  mlir::func::FuncOp kernel;
  llvm::Module &module;
  llvm::DIBuilder debug;
  llvm::DISubprogram *subprogram = nullptr;
  llvm::DenseMap<mlir::Location, llvm::DILocation *> locations;
  std::map<std::string, llvm::DIFile *> debugFiles;
  std::map<std::pair<std::string, std::string>, llvm::DISubprogram *> inlined;
  // Callers keep references to values of the two maps while they insert others.
  // A DenseMap moves its entries when it grows, so each value has a separate
  // allocation.
  llvm::DenseMap<mlir::Value, std::unique_ptr<Registers>> values;
  llvm::DenseMap<mlir::Attribute, std::unique_ptr<layout::LinearLayout>>
      layouts;
  layout::LinearLayout scalarLayout;
  llvm::Value *threadValue = nullptr, *laneValue = nullptr,
              *warpValue = nullptr;
  llvm::GlobalVariable *sharedMemory = nullptr;
  /// True after a `tile.barrier scratch`. The next operation emits the barrier,
  /// after the instructions that only use registers.
  bool scratchBarrier = false;
};

} // namespace tessera::codegen::gpu
