// ptx/Ptxas.h - PTX to a cubin by NVIDIA's assembler.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/GpuTarget.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace tessera {
class SourceFile;
}

namespace tessera::ptx {

// What ptxas -v says of a kernel.
struct Resources {
  uint32_t registers = 0; // per thread
  // Bytes per thread.
  uint64_t stack = 0, spillStores = 0, spillLoads = 0;
  uint64_t staticShared = 0; // bytes per block, without the dynamic ones
  uint32_t barriers = 0;
  bool known = false; // whether the log had the kernel
};

// Reads the log of ptxas -v.
Resources parseResources(std::string_view log, std::string_view kernel);

struct AssembleOptions {
  std::filesystem::path ptxas;
  GpuTarget target;
  std::string kernel;
  std::chrono::milliseconds timeout{120000};
  // Blocks that an SM shall hold at least, which bounds the registers
  // (--minnctapersm); 0: as ptxas likes. A directive of the text goes before.
  uint32_t minBlocks = 0;
  // PTX that somebody wrote: errors stand in it, and are not ours. An edited
  // stage of a compilation (TESSERA_OVERRIDE), or a file of its own.
  std::shared_ptr<const tessera::SourceFile> edited;
  bool ownFile = false;
};

struct Cubin {
  std::string bytes;
  Resources resources;
  std::string log;
  int64_t microseconds = 0;
};

// Runs ptxas in a process group of its own. PTX and cubin are files in memory
// that go with the two processes, so nothing is left behind when one of them is
// killed. Throws Error that says why there is no cubin: ptxas ran out of time,
// died, is too old for the PTX or the target, or does not accept the text,
// with the line of it and the kernel's line that it is for.
Cubin assemble(const std::string &ptx, const AssembleOptions &options);

// What nvdisasm -c prints for a cubin, with the lines of the kernel (-g) or of
// the PTX (-gp). Throws Error.
enum class SassLines { Kernel, Ptx };
std::string disassemble(const std::string &cubin,
                        const std::filesystem::path &nvdisasm,
                        SassLines lines = SassLines::Kernel);

} // namespace tessera::ptx
