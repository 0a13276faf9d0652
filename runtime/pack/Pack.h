// runtime/pack/Pack.h - a pack: a file of compiled code that launches use
// before cache and compiler.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Request.h"
#include "runtime/pack/PackFile.h"
#include "support/MappedFile.h"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace tessera::runtime {

// Immutable, hence thread-safe. The file stays mapped.
class Pack {
public:
  // A pack is native code: to execute it, the file must be trusted
  // (support/Trust.h). Throws Error if it is not, and if the file is truncated
  // or is not a pack.
  explicit Pack(const std::filesystem::path &path,
                MappedFile::Use use = MappedFile::Use::Execute);

  const std::string &path() const { return name; }
  const PackIndex &index() const { return contents; }
  // Throws Error if another compiler build produced the pack.
  void requireCompiler(const std::string &buildId) const;

  // Returns null if the pack lacks the request; whyNot() returns the reason.
  const PackEntry *find(const language::CompileRequest &request) const;
  std::string whyNot(const language::CompileRequest &request) const;
  // Returns the command that creates a pack with the request's code: "pack this
  // run: tessera pack --config run.yaml ...".
  std::string remedy(const language::CompileRequest &request) const;
  // Reads an entry. Throws Error if its checksum does not match.
  Artifact read(const PackEntry &entry) const;

private:
  // Returns the targets of the pack and of the request:
  // "cpu:x86-64-v3:0000,sm_80".
  std::string targetsWith(const std::string &target) const;

  const std::string name;
  const MappedFile file;
  const PackIndex contents;
  std::map<std::string, const PackEntry *> byRequest;
};

// Sets the command that remedy() suggests: the arguments of `tessera pack`
// without targets and output. Modifies the environment, so it must be called
// before other threads start.
void setPackArguments(const std::vector<std::string> &arguments);

// Returns the pack of TESSERA_PACK, or null if unset. Reads it on the first
// call. Throws Error.
const Pack *environmentPack();

} // namespace tessera::runtime
