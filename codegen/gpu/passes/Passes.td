// codegen/gpu/passes/Passes.td - what each pass of the GPU does, and why.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// scripts/pass-page prints this text and what each pass makes of a loop.
// PassList.cpp has the order.
#ifndef TESSERA_GPU_PASSES_TD
#define TESSERA_GPU_PASSES_TD

include "mlir/Pass/PassBase.td"

class GpuPass<string argument> : Pass<argument, "::mlir::ModuleOp">;

def NumWarps : Option<"numWarps", "num-warps", "int", /*default=*/"4",
                      "warps of a block, a power of two up to 32">;

def DotInstructionsPass : GpuPass<"tessera-dot-instructions"> {
  let summary = "Choose what computes each dot: tensor cores or multiply-adds";
  let description = [{
    Every dot that has no instruction yet gets one, and the reason where it is
    not one of tensor cores (dialect/tile/DotInstruction.h). It comes first:
    operands change places, layouts are chosen and loops are pipelined for the
    instruction, the remark about a missed tensor core tells its reason, and the
    lowering does what it says.
  }];
}

def SwapOperandsPass : GpuPass<"tessera-swap-operands"> {
  let summary = "Compute b^T a^T instead of a b where a has few rows";
  let description = [{
    A dot whose result has fewer rows than an instruction of tensor cores (16)
    is computed as the transpose of b^T a^T where that takes a warp fewer
    instructions: they have 8 columns. Only for kernels with the hint `swap_ab`,
    because the transposed operands may cost more than the instructions save.
  }];
  let options = [NumWarps];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def MaskLoadsPass : GpuPass<"tessera-mask-loads"> {
  let summary = "Mask loads off where a select throws them away";
  let description = [{
    The condition of a select that keeps a loaded element or gives 0 becomes
    part of the load's mask. What is not needed is not read, and the load can be
    an asynchronous copy, which writes 0 where it is masked off.
  }];
}

def CoalescePass : GpuPass<"tessera-coalesce"> {
  let summary = "Choose layouts for loads, stores and atomics";
  let description = [{
    A layout for every access (attribute `tile.layout`), after the run and the
    alignment of its addresses: neighbouring lanes take neighbouring 16 bytes.
  }];
  let options = [NumWarps];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def DotLayoutsPass : GpuPass<"tessera-dot-layouts"> {
  let summary = "Choose layouts for dots: fragments, warps along M and N";
  let description = [{
    Layouts for the operands and the accumulator of every dot (attribute
    `tile.layout`), those of its instruction. Warps lie so that the result of
    one dot is where the next one wants it.
  }];
  let options = [NumWarps];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def AssignLayoutsPass : GpuPass<"tessera-assign-layouts"> {
  let summary = "Give every tensor a layout, with few conversions";
  let description = [{
    Layouts propagate from the accesses and dots. Where a user wants another one
    than a value has, the value is rematerialized or converted
    (`tile.convert_layout`), whichever costs less.
  }];
  let options = [NumWarps];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def TrimWarpsPass : GpuPass<"tessera-trim-warps"> {
  let summary = "Launch no warps that only do what others do";
  let description = [{
    A bit of the warp number that moves no element of any tensor doubles the
    block for nothing. It is dropped from all layouts, and the module says with
    how many warps a block is launched (`tessera.num_warps`).
  }];
  let options = [NumWarps];
}

def VectorWidthsPass : GpuPass<"tessera-vector-widths"> {
  let summary = "Say how many elements a lane loads or stores at once";
  let description = [{
    The attribute `tile.vector` of loads, stores and atomics, from their layouts
    and the runs of their addresses and masks.
  }];
}

def PipelineLoopsPass : GpuPass<"tessera-pipeline-loops"> {
  let summary = "Copy operands of dots to shared memory iterations ahead";
  let description = [{
    A loop that loads an operand of a dot waits for memory in each iteration.
    The pass copies the tile of a later iteration in the background while the
    current one computes. It changes loops with at least two stages and without
    a barrier or acquire. Each load gets `num-stages` - 1 buffers, but two
    buffers with two stages. If two buffers exceed `shared-bytes`, the pass
    splits a loop with two stages and may use one buffer.
  }];
  let options = [
    Option<"numStages", "num-stages", "int", "3", "num_stages of Triton: 2 and 3 copy one iteration ahead, n > 3 copies n - 2">,
    Option<"sharedBytes", "shared-bytes", "int64_t", "0",
           "shared memory of a block with which 16 warps fit on an SM: if two buffers for each load exceed it, the pass splits a loop with two stages">,
    Option<"constantInputs", "constant-inputs", "bool", "false",
           "promise that no other program writes to arguments that the kernel only reads: their loads may move above barriers and acquiring accesses">];
  let dependentDialects = ["::tessera::tile::TileDialect", "::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
}

def PromoteOperandsPass : GpuPass<"tessera-promote-operands"> {
  let summary = "Keep operands that dots share, or that are too many, in shared memory";
  let description = [{
    Tiles that several dots read, and operands from outside of a loop that has
    too many for its registers, are stored to shared memory once and read from
    there by each dot. Copies that it starts have landed before anything can
    write what they read.
  }];
  let options = [
    Option<"sharedBytes", "shared-bytes", "int64_t", "166912", "shared memory of a block">];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

def GuardMasksPass : GpuPass<"tessera-guard-masks"> {
  let summary = "Mask the scores of a loop only in iterations that mask some";
  let description = [{
    Only the first and the last iterations of a loop over keys meet the diagonal
    or the end. The condition of the branch is one scalar of the whole block: all
    warps take the same side, and an iteration that needs no mask spends a few
    instructions on it instead of two or three for each element.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def AsyncWaitsPass : GpuPass<"tessera-async-waits"> {
  let summary = "Say how many groups of copies a wait may leave under way";
  let description = [{
    The hardware waits until at most so many of a thread's groups are under way,
    and these are the youngest. For a `tile.async_wait` that is the number of
    groups that are committed behind the ones it names, where ways through
    branches and loops differ the least. Refused are a commit that leaves out a
    copy under way or takes a token of no copy of its own, a wait for an operand that is not a
    group, and a copy that a load needs and no operation waits for.
  }];
}

def AllocateSharedPass : GpuPass<"tessera-allocate-shared"> {
  let summary = "Give buffers and scratch their places in shared memory";
  let description = [{
    What is live at other times shares a place (`tile.scratch`, the first byte):
    a buffer lives from the first operation that touches it to the last, loops as
    a whole unless each iteration fills it anew; scratch of `tile.scratch_bytes`
    lives during its operation. `tessera.shared_bytes` is what a block needs;
    whether it has so much the lowering asks.
  }];
  let options = [NumWarps,
    Option<"target", "target", "std::string", "\"sm_80\"", "whose instructions scratch is for">];
}

def MemoryBarriersPass : GpuPass<"tessera-memory-barriers"> {
  let summary = "Insert barriers between conflicting accesses of a program";
  let description = [{
    A program is one thread of control to its author, but many threads on a GPU.
    Without barriers, a thread could load an element before another thread has
    stored it. The pass inserts a `tile.barrier` before every access of global
    memory that may conflict with an access of another thread since the last
    barrier:

    - two accesses through one pointer argument of which one writes (a store or
      an atomic), unless both go through the same pointers in the same layout
      without replication and no two of the pointers are equal: then each
      element stays with its thread. Two atomics of one kind whose old elements
      have no use may come in any order;
    - an atomic that releases, after any access: every thread must have done
      what the atomic tells other programs;
    - any access after an atomic that acquires and whose old element is used:
      every thread must see what the atomic has learned.

    Thread 0 executes all stores and atomics of a single address, so that two of
    them need no barrier.

    A barrier without an access since the last one is removed.

    Different arguments are assumed to point to different memory. The stores of
    one statement in different iterations are assumed to write different
    addresses if each loop advances the tile by a constant of at least its size,
    or by a number that is not constant.

    A `tile.barrier scratch` precedes every operation with scratch. Reductions,
    scans, gathers and histograms omit it if their scratch overlaps no shared
    memory that was accessed since the last barrier. Copies for which only this
    thread has waited count as accesses. An operation with scratch contains a
    barrier after all earlier accesses, so later accesses need no other barrier
    against those.
  }];
  let dependentDialects = ["::tessera::tile::TileDialect"];
}

#endif // TESSERA_GPU_PASSES_TD
