// codegen/gpu/pipeline/SplitLoads.cpp - loads that the first dots can hide.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/pipeline/Pipeline.h"

#include "codegen/analysis/MemoryModel.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tessera::codegen::gpu {
namespace {

// The first and the last operation of the loop's body that use a tile, or
// contain what does. Conversions and transpositions of it are no uses: they
// become reads of shared memory where their results are used.
struct Uses {
  Operation *first = nullptr, *last = nullptr;
};

void addUses(Value value, scf::ForOp loop, Uses &uses) {
  for (Operation *user : value.getUsers()) {
    if (isa<tile::ConvertLayoutOp, tile::TransOp>(user)) {
      addUses(user->getResult(0), loop, uses);
      continue;
    }
    Operation *top = loop.getBody()->findAncestorOpInBlock(*user);
    if (!uses.first || top->isBeforeInBlock(uses.first))
      uses.first = top;
    if (!uses.last || uses.last->isBeforeInBlock(top))
      uses.last = top;
  }
}

bool before(Operation *a, Operation *b) { return a->isBeforeInBlock(b); }

// Whether an iteration tells other programs what it has done before it comes to
// `cut`. They may then write what a late copy still reads.
bool releasesBefore(scf::ForOp loop, Operation *cut) {
  return loop.getBody()
      ->walk([&](Operation *op) {
        Operation *top = loop.getBody()->findAncestorOpInBlock(*op);
        return memoryBehaviorOf(op).releases && before(top, cut)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

} // namespace

std::optional<SplitLoads> splitLoads(scf::ForOp loop,
                                     ArrayRef<StagedLoad> loads) {
  SmallVector<Uses> uses;
  for (const StagedLoad &staged : loads) {
    Uses found;
    tile::LoadOp load = staged.load;
    addUses(load.getResult(), loop, found);
    if (!found.first)
      return std::nullopt;
    uses.push_back(found);
  }
  SmallVector<Operation *> dots; // what contains them, in the body
  loop.getBody()->walk([&](tile::DotOp dot) {
    dots.push_back(loop.getBody()->findAncestorOpInBlock(*dot));
  });
  // Of the places where a load is first used, the one that leaves as many dots
  // as can be on both sides; of equals the later, which is past the slices of
  // one product.
  Operation *cut = nullptr;
  long most = 0;
  for (const Uses &use : uses) {
    auto ahead = llvm::count_if(
        dots, [&](Operation *dot) { return before(dot, use.first); });
    long fewer = std::min<long>(ahead, long(dots.size()) - ahead);
    if (fewer > most || (fewer && fewer == most && before(cut, use.first))) {
      most = fewer;
      cut = use.first;
    }
  }
  if (!cut || releasesBefore(loop, cut))
    return std::nullopt;
  SplitLoads split;
  split.cut = cut;
  split.once = true;
  for (auto [staged, use] : llvm::zip(loads, uses)) {
    bool late = !before(use.first, cut);
    (late ? split.late : split.early).push_back(staged);
    if (!late)
      split.once &= before(use.last, cut);
  }
  if (split.early.empty())
    return std::nullopt;
  return split;
}

} // namespace tessera::codegen::gpu
