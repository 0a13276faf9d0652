// runtime/pack/PackFile.h - the bytes of a pack: compiled kernels of a training
// run in one file.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/cache/Artifact.h"
#include "support/Json.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::runtime {

// A kernel with code in the pack.
struct PackKernel {
  std::string file; // "kernels/nsa/select_fwd.py"
  std::string name;
  std::string text; // SHA-256 of language::CompileRequest::text, hexadecimal
  Json manifest;    // of the file: language::manifestJson()

  bool operator==(const PackKernel &) const = default;
};

// Code of one specialization.
struct PackEntry {
  std::string request;            // language::CompileRequest::key()
  uint64_t kernel = 0;            // index into PackIndex::kernels
  std::string target;             // "sm_80", "cpu:x86-64-v3:0000"
  std::string configuration;      // "BM=64 D=128", for people
  std::string assembler;          // version of ptxas; empty: not used
  uint64_t offset = 0, bytes = 0; // of the artifact in the file

  bool operator==(const PackEntry &) const = default;
};

struct PackIndex {
  std::string version, commit; // of tessera; the commit may be empty
  std::string compiler;        // compilerBuildId()
  std::string command;         // that created it
  std::vector<PackKernel> kernels;
  std::vector<PackEntry> entries;
  // Tables of tuned configurations (autotune/table/TuneTable.h), as texts.
  std::vector<std::string> tables;

  bool operator==(const PackIndex &) const = default;
};

// The file, all numbers little-endian:
//
//   0   8 bytes   magic "tesspack"
//   8   u32       version of this layout
//   12  u32       zero
//   16  u64       bytes of the file
//   24  u64 x 2   place and bytes of the index (JSON)
//   40  32 bytes  SHA-256 of the 40 bytes above and of the index
//   72            artifacts as in the cache (runtime/cache/Artifact.h), each
//                 with a checksum of its own; then the index
inline constexpr uint32_t packVersion = 1;
inline constexpr size_t packHeaderBytes = 72;

// Encodes a pack and fills in the offsets of its entries. `artifacts` are those
// of the entries, in their order.
std::string encodePack(PackIndex index, const std::vector<Artifact> &artifacts);

// Decodes the header and the index. `name` is the file's name, for messages.
// Throws Error.
PackIndex decodePack(std::string_view bytes, const std::string &name);

// Reads the artifact of an entry. Throws Error if its checksum does not match.
Artifact readPacked(std::string_view bytes, const PackIndex &index,
                    const PackEntry &entry, const std::string &name);

} // namespace tessera::runtime
