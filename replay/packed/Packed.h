// replay/packed/Packed.h - recorded launches with their GPU code beside them:
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

// The metadata of code as JSON keeps it, and back. `where` stands in messages.
Json packedMeta(const language::ArtifactMeta &meta);
language::ArtifactMeta readPackedMeta(const Json &json,
                                      const std::string &where);

// Writes the code for a target into a case's folder: TARGET.ptx.z,
// TARGET.cubin.z unless it is empty, and its entry of gpu.json. Throws Error.
void packCode(const std::filesystem::path &folder, const std::string &target,
              const runtime::CompiledKernel &compiled, bool tf32 = false);

// The targets of a packed case, in order; none for a case without gpu.json.
// Throws Error for a gpu.json that is wrong.
std::vector<std::string> packedTargets(const std::filesystem::path &folder);
runtime::CompiledKernel readPacked(const std::filesystem::path &folder,
                                   const std::string &target);
// fp32 dots that name no precision were compiled as tf32.
bool packedTf32(const std::filesystem::path &folder);

// Another compiler's code of the same kernel: TARGET.peer.cubin.z.
struct PeerCode {
  runtime::CompiledKernel compiled;
  uint32_t appended = 0; // null pointers after the arguments
  std::string compiler;  // "triton 3.6.0"
};
std::optional<PeerCode> readPeer(const std::filesystem::path &folder,
                                 const std::string &target);

} // namespace tessera::cases
