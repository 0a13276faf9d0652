// codegen/gpu/emit/RegisterLimit.cpp - how many registers ptxas may give a
// thread.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/emit/RegisterLimit.h"

#include "support/Error.h"

#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/MemoryBufferRef.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace tessera::codegen::gpu {
namespace {

// From here on a text is taken for one that needs every register: the largest
// kernels only, for which a run of ptxas takes 300 ms and more.
constexpr size_t largeText = 128 << 10;
constexpr uint32_t mostAttempts = 4;

uint64_t spills(const ptx::Cubin &cubin) {
  return cubin.resources.spillStores + cubin.resources.spillLoads;
}

class Search {
public:
  Search(size_t textSize, const RegisterLimitOptions &options,
         const Assembler &assembler)
      : textSize(textSize), options(options), assembler(assembler) {}

  Assembled run() {
    // ptxas does not spill to keep to its own idea of a limit unless the
    // limit is far off; asked for one block it uses what there is.
    best = attempt(textSize > largeText ? 1 : 0);
    if (spills(best.cubin) && best.minBlocks == 0 &&
        best.cubin.resources.registers < mostRegisters()) {
      std::optional<Assembled> other = again(1);
      if (other && spills(other->cubin) < spills(best.cubin))
        best = *std::move(other);
    }
    if (best.cubin.resources.known && !spills(best.cubin))
      climb();
    best.attempts = attempts;
    return std::move(best);
  }

private:
  uint32_t mostRegisters() const {
    return std::min(options.assemble.target.registersPerThread,
                    options.assemble.target.registersPerBlock /
                        std::max(options.threads, 32u));
  }

  uint32_t blocksOf(uint32_t registers) const {
    return options.assemble.target
        .occupancy(registers, options.sharedBytes, options.threads)
        .blocks;
  }

  Assembled attempt(uint32_t blocks) {
    ++attempts;
    Assembled result;
    result.minBlocks = blocks;
    result.cubin = assembler(blocks);
    return result;
  }

  // None if ptxas dies or does not end: there is code already, and a ptxas that
  // failed is not asked any more.
  std::optional<Assembled> again(uint32_t blocks) {
    if (failed || attempts >= mostAttempts)
      return std::nullopt;
    try {
      return attempt(blocks);
    } catch (const Error &) {
      failed = true;
      return std::nullopt;
    }
  }

  // Between what there is and what shared memory and warps allow. Small kernels
  // often reach the end at once; large ones seldom get two steps further.
  void climb() {
    const uint64_t allowed = codeSize(best.cubin.bytes) * 9 / 8;
    uint32_t reached = blocksOf(best.cubin.resources.registers);
    uint32_t limit = blocksOf(1) + 1;
    const bool small = best.cubin.resources.registers <= 64;
    for (bool first = true; reached + 1 < limit; first = false) {
      uint32_t next = small ? (reached + limit) / 2 : reached + 1;
      if (first && small)
        next = limit - 1;
      std::optional<Assembled> other = again(next);
      if (!other)
        return;
      const uint32_t blocks = blocksOf(other->cubin.resources.registers);
      if (spills(other->cubin) || blocks <= reached ||
          codeSize(other->cubin.bytes) > allowed) {
        limit = next;
        continue;
      }
      reached = blocks;
      best = *std::move(other);
    }
  }

  const size_t textSize;
  const RegisterLimitOptions &options;
  const Assembler &assembler;
  Assembled best;
  uint32_t attempts = 0;
  bool failed = false;
};

} // namespace

uint64_t codeSize(const std::string &cubin) {
  auto file = llvm::object::ObjectFile::createELFObjectFile(
      llvm::MemoryBufferRef(cubin, "cubin"));
  if (!file) {
    llvm::consumeError(file.takeError());
    return 0;
  }
  uint64_t bytes = 0;
  for (const llvm::object::SectionRef &section : (*file)->sections())
    if (section.isText())
      bytes += section.getSize();
  return bytes / 16;
}

Assembled assembleForOccupancy(const std::string &ptx,
                               const RegisterLimitOptions &options,
                               const Assembler &assembler) {
  const bool decided = ptx.find(".reqntid") == ptx.npos ||
                       ptx.find(".minnctapersm") != ptx.npos ||
                       ptx.find(".maxnreg") != ptx.npos;
  if (decided)
    return {assembler(0), 0, 1};
  return Search(ptx.size(), options, assembler).run();
}

Assembled assembleForOccupancy(const std::string &ptx,
                               const RegisterLimitOptions &options) {
  return assembleForOccupancy(ptx, options, [&](uint32_t minBlocks) {
    ptx::AssembleOptions how = options.assemble;
    how.minBlocks = minBlocks;
    return ptx::assemble(ptx, how);
  });
}

} // namespace tessera::codegen::gpu
