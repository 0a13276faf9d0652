// codegen/gpu/RegisterLimit.cpp - how many registers ptxas may give a thread.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/RegisterLimit.h"

#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/MemoryBufferRef.h"

#include <algorithm>

namespace tessera::codegen {
namespace {

// From here on a text is taken for one that needs every register: the largest
// kernels only, for which a run of ptxas takes 300 ms and more.
constexpr size_t largeText = 128 << 10;
constexpr uint32_t mostAttempts = 4;

uint64_t spills(const Cubin &cubin) {
  return cubin.resources.spillStores + cubin.resources.spillLoads;
}

class Search {
public:
  Search(const std::string &ptx, const RegisterLimitOptions &options,
         const Assembler &assembler)
      : ptx(ptx), options(options), assembler(assembler) {}

  Assembled run() {
    // ptxas does not spill to keep to its own idea of a limit unless the
    // limit is far off; asked for one block it uses what there is.
    best = attempt(ptx.size() > largeText ? 1 : 0);
    if (spills(best.cubin) && best.minBlocks == 0 &&
        best.cubin.resources.registers < mostRegisters()) {
      Assembled other = attempt(1);
      if (spills(other.cubin) < spills(best.cubin))
        best = std::move(other);
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
    result.ptx = blocks ? withMinBlocks(ptx, blocks) : ptx;
    result.cubin = assembler(result.ptx);
    return result;
  }

  // Between what there is and what shared memory and warps allow. Small kernels
  // often reach the end at once; large ones seldom get two steps further.
  void climb() {
    const uint64_t allowed = codeSize(best.cubin.bytes) * 9 / 8;
    uint32_t reached = blocksOf(best.cubin.resources.registers);
    uint32_t failed = blocksOf(1) + 1;
    const bool small = best.cubin.resources.registers <= 64;
    for (bool first = true; reached + 1 < failed && attempts < mostAttempts;
         first = false) {
      uint32_t next = small ? (reached + failed) / 2 : reached + 1;
      if (first && small)
        next = failed - 1;
      Assembled other = attempt(next);
      const uint32_t blocks = blocksOf(other.cubin.resources.registers);
      if (spills(other.cubin) || blocks <= reached ||
          codeSize(other.cubin.bytes) > allowed) {
        failed = next;
        continue;
      }
      reached = blocks;
      best = std::move(other);
    }
  }

  const std::string &ptx;
  const RegisterLimitOptions &options;
  const Assembler &assembler;
  Assembled best;
  uint32_t attempts = 0;
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

std::string withMinBlocks(const std::string &ptx, uint32_t blocks) {
  const size_t at = ptx.find(".reqntid");
  const size_t end = at == ptx.npos ? at : ptx.find('\n', at);
  if (end == ptx.npos)
    return ptx;
  return ptx.substr(0, end + 1) + ".minnctapersm " + std::to_string(blocks) +
         ptx.substr(end);
}

Assembled assembleForOccupancy(const std::string &ptx,
                               const RegisterLimitOptions &options,
                               const Assembler &assembler) {
  const bool decided = ptx.find(".reqntid") == ptx.npos ||
                       ptx.find(".minnctapersm") != ptx.npos ||
                       ptx.find(".maxnreg") != ptx.npos;
  if (decided)
    return {ptx, assembler(ptx), 0, 1};
  return Search(ptx, options, assembler).run();
}

Assembled assembleForOccupancy(const std::string &ptx,
                               const RegisterLimitOptions &options) {
  return assembleForOccupancy(ptx, options, [&](const std::string &text) {
    return assemble(text, options.assemble);
  });
}

} // namespace tessera::codegen
