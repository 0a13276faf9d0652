// codegen/gpu/emit/RegisterLimit.cpp - limits registers per thread in ptxas.
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

// PTX above this size in bytes is assumed to need every register. Only the
// largest kernels exceed it, for which a run of ptxas takes 300 ms and more.
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
    // Without --minnctapersm, ptxas has a default limit, for which it spills
    // only if the kernel needs far more. With one block, it uses all registers.
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

  // Returns nullopt if ptxas crashes or times out, and always after that or
  // after mostAttempts runs: the first run has produced code.
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

  // Searches between the blocks reached and the blocks that shared memory and
  // warps allow. Small kernels often reach the maximum, which is tried first;
  // large ones seldom get two steps further.
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
