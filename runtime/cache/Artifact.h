// runtime/cache/Artifact.h - a compiled kernel and its form as a file.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Hash.h"
#include "support/Json.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace tessera::runtime {

// A compiled kernel. For a GPU target stages["ptx"] always holds the PTX,
// because the simulator and the drivers of other GPUs execute it. `code` is
// then the cubin, or empty if ptxas was not available.
struct Artifact {
  std::string code; // shared object (cpu) or cubin
  Json meta = Json::object();
  std::map<std::string, std::string> stages; // texts by stage name
};

// The file, all numbers little-endian:
//
//   0   8 bytes   magic "tessera\n"
//   8   u32       version of this layout
//   12  u32       zero
//   16  u64 x 3   bytes of code, of meta (JSON), of stages (JSON)
//   40  32 bytes  artifact key
//   72  32 bytes  SHA-256 of all other bytes of the file
//   104           code, meta, stages
inline constexpr uint32_t artifactVersion = 1;
inline constexpr size_t artifactHeaderBytes = 104;

std::string encodeArtifact(const Artifact &artifact, const Sha256Digest &key);

// Decodes a file. Returns nullopt if the bytes are damaged or belong to another
// key, and sets `reason`.
std::optional<Artifact> decodeArtifact(std::string_view bytes,
                                       const Sha256Digest &key,
                                       std::string &reason);

} // namespace tessera::runtime
