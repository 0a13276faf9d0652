// codegen/gpu/pipeline/SplitLoads.cpp - splits loads into early and late ones.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/pipeline/Pipeline.h"

#include "codegen/analysis/MemoryModel.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tessera::codegen::gpu {
namespace {

// The first and the last operation of the loop's body that use a tile or
// contain a use. Conversions and transpositions do not count as uses: they
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

// True if an operation before `cut` releases. Other programs may then write
// memory that a late copy still reads.
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
  SmallVector<Operation *> dots; // operations of the body that contain them
  loop.getBody()->walk([&](tile::DotOp dot) {
    dots.push_back(loop.getBody()->findAncestorOpInBlock(*dot));
  });
  // Cuts at a first use of a load, so that the side with fewer dots has as many
  // as possible. Of equal cuts, takes the later one: it does not separate the
  // slices of one product.
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
