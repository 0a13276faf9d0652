// replay/packed/Packed.h - recorded launches packed with their GPU code
// (docs/gpu-check.md).
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/compile/CompileService.h"
#include "support/Json.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tessera::cases {

// Hint for a folder that cannot be read.
inline constexpr const char *packAgain =
    "pack the cases again: tessera pack-cases";

// The code of a kernel in the blobs of a packed folder (PackedTensors.h):
// {"meta": that of an artifact, "cubin": BLOB, "ptx": BLOB}, with at least one
// of the two. packCode() writes it for the folder of a case. `withPtx`: adds
// the PTX even if the code has a cubin, for drivers that reject the cubin.
// readCode() throws Error for invalid contents; it ignores other members.
Json packCode(const std::filesystem::path &folder,
              const runtime::CompiledKernel &compiled, bool withPtx);
runtime::CompiledKernel readCode(const std::filesystem::path &folder,
                                 const Json &code, const std::string &where);

// Adds the code for a target to a case's gpu.json. Throws Error.
void packTarget(const std::filesystem::path &folder, const std::string &target,
                const runtime::CompiledKernel &compiled, bool tf32 = false);

// Returns the targets of a packed case, in order; none for a case without
// gpu.json. Throws Error for an invalid gpu.json.
std::vector<std::string> packedTargets(const std::filesystem::path &folder);
// Returns the newest packed target that a GPU with the target `gpu` can run.
// Throws Error.
std::string newestPackedTarget(const std::filesystem::path &folder,
                               const std::string &gpu);
runtime::CompiledKernel readPacked(const std::filesystem::path &folder,
                                   const std::string &target);
// True if fp32 dots without an explicit precision were compiled as tf32.
bool packedTf32(const std::filesystem::path &folder);

// Another compiler's code for the same kernel.
struct PeerCode {
  runtime::CompiledKernel compiled;
  uint32_t appended = 0; // null pointers after the arguments
  std::string compiler;  // "triton 3.6.0"
};
std::optional<PeerCode> readPeer(const std::filesystem::path &folder,
                                 const std::string &target);

// Reads a file of a packed case: {"version": 1, "targets": {NAME: ...}, ...}. A
// missing file has no targets. Throws Error for unlisted members and invalid
// targets.
Json readTargets(const std::filesystem::path &file,
                 const std::vector<std::string> &members);
// Returns the names of the targets, in order.
std::vector<std::string> targetNames(const Json &file);

} // namespace tessera::cases
