// ptx/Ptxas.h - assembles PTX to a cubin with NVIDIA's ptxas.
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

// Resources of a kernel, as reported by ptxas -v.
struct Resources {
  uint32_t registers = 0; // per thread
  // Bytes per thread.
  uint64_t stack = 0, spillStores = 0, spillLoads = 0;
  uint64_t staticShared = 0; // bytes per block, without dynamic shared memory
  uint32_t barriers = 0;
  bool known = false; // true if the log contains the kernel
};

// Parses the log of ptxas -v.
Resources parseResources(std::string_view log, std::string_view kernel);

struct AssembleOptions {
  std::filesystem::path ptxas;
  GpuTarget target;
  std::string kernel;
  std::chrono::milliseconds timeout{120000};
  // Minimum number of resident blocks per SM, which limits the registers
  // (--minnctapersm); 0: no limit. A directive in the text takes precedence.
  uint32_t minBlocks = 0;
  // PTX that a user wrote, so errors in it are the user's: an edited stage of a
  // compilation (TESSERA_OVERRIDE), or a separate file (`ownFile`).
  std::shared_ptr<const tessera::SourceFile> edited;
  bool ownFile = false;
};

struct Cubin {
  std::string bytes;
  Resources resources;
  std::string log;
  int64_t microseconds = 0;
};

// Runs ptxas in a separate process group. PTX and cubin are files in memory, so
// nothing remains if one of the two processes is killed. Throws Error with the
// reason for a missing cubin: ptxas ran out of time, died, is too old for the
// PTX or the target, or rejects the text. In the last case, the message names
// the line of PTX and the kernel's line.
Cubin assemble(const std::string &ptx, const AssembleOptions &options);

// Returns the output of nvdisasm -c for a cubin, with the lines of the kernel
// (-g) or of the PTX (-gp). Throws Error.
enum class SassLines { Kernel, Ptx };
std::string disassemble(const std::string &cubin,
                        const std::filesystem::path &nvdisasm,
                        SassLines lines = SassLines::Kernel);

} // namespace tessera::ptx
