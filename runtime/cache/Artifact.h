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

// An entry of a GPU target has its PTX under stages["ptx"], always: simulator
// and drivers of other GPUs run that. The cubin is the code; it is empty where
// there was no ptxas.
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

// None when anything about the bytes is wrong; `reason` then says what.
std::optional<Artifact> decodeArtifact(std::string_view bytes,
                                       const Sha256Digest &key,
                                       std::string &reason);

} // namespace tessera::runtime
