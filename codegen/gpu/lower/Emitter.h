// codegen/gpu/lower/Emitter.h - writes the LLVM IR of one kernel.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// One walk over the kernel in program order. A scalar is one LLVM value; a
// tensor is a list of them, one for each register of its layout, the same list
// for every thread: what differs between threads is the lane and the warp. An
// operation family is one file of functions over this class (Families.h).
#pragma once

#include "codegen/gpu/kernel/TileSizes.h"
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

/// One value a register; one for a scalar.
using Registers = llvm::SmallVector<llvm::Value *>;

/// Address spaces of NVPTX.
enum AddressSpace : unsigned { kGlobal = 1, kShared = 3 };

/// What inline PTX does to memory.
enum class MemoryUse {
  None,
  Read, // may change places with other reads
  // Also of what only reads but is ordered with other reads: volatile and
  // relaxed loads.
  Write,
};

class Emitter {
public:
  Emitter(mlir::func::FuncOp kernel, llvm::Module &module,
          const GpuOptions &options);
  void run();

  // --- Values ---------------------------------------------------------------

  /// The registers of `value`; the reference stays valid until set() of the
  /// same value.
  const Registers &get(mlir::Value value);
  llvm::Value *scalar(mlir::Value value);
  void set(mlir::Value value, Registers registers);

  // --- Types and layouts ----------------------------------------------------

  /// Of an element in a register: pointers are ptr addrspace(1).
  llvm::Type *typeOf(mlir::Type element);
  /// ins register, lane, warp; outs dim0, dim1, ... Of a scalar: no bits of
  /// tile, all lanes and warps are replicas. The reference stays valid as long
  /// as the Emitter.
  const layout::LinearLayout &layoutOf(mlir::Type type);
  int64_t numRegisters(mlir::Type type);

  // --- Where this thread is -------------------------------------------------

  llvm::Value *thread() { return threadValue; } // i32
  llvm::Value *lane() { return laneValue; }     // i32, 0 to 31
  llvm::Value *warp() { return warpValue; }     // i32
  int numWarps() const { return options.numWarps; }

  /// The flat output word (LinearLayout::outStart) that lane and warp give:
  /// i32, without what registers add. Registers are XORed in as constants.
  llvm::Value *threadPart(const layout::LinearLayout &map);
  /// The coordinates of register `index`, one i32 a tile dimension.
  Registers coordinates(const layout::LinearLayout &layout, int64_t index);
  /// True for the one thread of all that hold the same elements; null when no
  /// two threads do. What has effects happens there only.
  llvm::Value *isFirstReplica(const layout::LinearLayout &layout);
  /// Registers of `layout` that repeat an earlier one of the same lane are
  /// given as that one's index; others as themselves.
  llvm::SmallVector<int64_t>
  registerSources(const layout::LinearLayout &layout);

  // --- Shared memory --------------------------------------------------------

  /// ptr addrspace(3), `offset` bytes from the block's first.
  llvm::Value *shared(int64_t offset);
  /// Where the scratch of `op` starts (Scratch.h).
  int64_t scratchOffset(mlir::Operation *op);
  /// bar.sync 0: all threads of the block.
  void barrier();
  /// Before an operation first writes its scratch, unless it calls barrier()
  /// there: the `tile.barrier scratch` that stands before it, if one does.
  void enterScratch();
  /// bar.warp.sync of all lanes.
  void warpBarrier();

  // --- Instructions ---------------------------------------------------------

  llvm::Value *i32(int64_t value) { return b.getInt32(uint32_t(value)); }
  /// Inline PTX. Without memory it may be moved and merged.
  llvm::Value *assembly(llvm::StringRef text, const std::string &constraints,
                        llvm::ArrayRef<llvm::Value *> operands,
                        llvm::Type *result, MemoryUse memory);
  llvm::Value *intrinsic(llvm::Intrinsic::ID id,
                         llvm::ArrayRef<llvm::Value *> operands,
                         llvm::ArrayRef<llvm::Type *> overloads = {});
  /// shfl.sync of a value of any element type; `kind` is Intrinsic::
  /// nvvm_shfl_sync_{bfly,idx,up,down}_i32, `clamp` its last operand.
  llvm::Value *shuffle(llvm::Intrinsic::ID kind, llvm::Value *value,
                       llvm::Value *other, int clamp);
  /// Calls `body` in a block that only threads with `condition` enter. A null
  /// condition is true.
  void onlyIf(llvm::Value *condition, llvm::function_ref<void()> body);
  /// Emits the operations of a block up to its terminator.
  void emitBlock(mlir::Block &block);
  void emitOperation(mlir::Operation *op);
  /// The terminator's operands, all registers in one list.
  Registers flatten(mlir::ValueRange values);
  /// Gives `values` the registers of a flat list.
  void unflatten(mlir::ValueRange values, llvm::ArrayRef<llvm::Value *> flat);
  llvm::SmallVector<llvm::Type *> flatTypes(mlir::TypeRange types);

  /// Throws tessera::Error naming the place of `op`.
  [[noreturn]] void unsupported(mlir::Operation *op, const std::string &what,
                                const std::string &hint = {});

  llvm::IRBuilder<> b;
  const GpuOptions &options;
  llvm::Function *function = nullptr;

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
  // Callers keep references to what the two maps hold while they add to them,
  // so each entry has a separate address: a DenseMap moves its entries when
  // it grows.
  llvm::DenseMap<mlir::Value, std::unique_ptr<Registers>> values;
  llvm::DenseMap<mlir::Attribute, std::unique_ptr<layout::LinearLayout>>
      layouts;
  layout::LinearLayout scalarLayout;
  llvm::Value *threadValue = nullptr, *laneValue = nullptr,
              *warpValue = nullptr;
  llvm::GlobalVariable *sharedMemory = nullptr;
  /// A `tile.barrier scratch` was met: the next operation emits it, after what
  /// it computes in registers alone.
  bool scratchBarrier = false;
};

} // namespace tessera::codegen::gpu
