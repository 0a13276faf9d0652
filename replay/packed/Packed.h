// replay/packed/Packed.h - recorded launches with their GPU code:
// docs/gpu-check.md.
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

// What to do about a folder that does not read.
inline constexpr const char *packAgain =
    "pack the cases again: tessera pack-cases";

// Code of a kernel in the blobs of a packed folder (PackedTensors.h): {"meta":
// that of an artifact, "cubin": BLOB, "ptx": BLOB}, one form at least.
// packCode() gives that for the folder of a case; `withPtx`: also the PTX of
// code that has a cubin, for a driver that does not take that. readCode()
// throws Error for anything else; it ignores other members.
Json packCode(const std::filesystem::path &folder,
              const runtime::CompiledKernel &compiled, bool withPtx);
runtime::CompiledKernel readCode(const std::filesystem::path &folder,
                                 const Json &code, const std::string &where);

// Adds the code for a target to a case's gpu.json. Throws Error.
void packTarget(const std::filesystem::path &folder, const std::string &target,
                const runtime::CompiledKernel &compiled, bool tf32 = false);

// The targets of a packed case, in order; none for a case without gpu.json.
// Throws Error for a gpu.json that is wrong.
std::vector<std::string> packedTargets(const std::filesystem::path &folder);
// The newest one that a GPU takes whose own target is `gpu`. Throws Error.
std::string newestPackedTarget(const std::filesystem::path &folder,
                               const std::string &gpu);
runtime::CompiledKernel readPacked(const std::filesystem::path &folder,
                                   const std::string &target);
// True if fp32 dots that name no precision were compiled as tf32.
bool packedTf32(const std::filesystem::path &folder);

// Another compiler's code of the same kernel.
struct PeerCode {
  runtime::CompiledKernel compiled;
  uint32_t appended = 0; // null pointers after the arguments
  std::string compiler;  // "triton 3.6.0"
};
std::optional<PeerCode> readPeer(const std::filesystem::path &folder,
                                 const std::string &target);

// A file of a packed case: {"version": 1, "targets": {NAME: ...}, ...}. Without
// the file it has no targets. Throws Error for members that are not listed, and
// targets that are none.
Json readTargets(const std::filesystem::path &file,
                 const std::vector<std::string> &members);
// The names of the targets, in order.
std::vector<std::string> targetNames(const Json &file);

} // namespace tessera::cases
