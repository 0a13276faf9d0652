// runtime/pack/Pack.h - a pack that launches take code from.
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
  // Throws Error where another compiler made it.
  void requireCompiler(const std::string &buildId) const;

  // Null: there is no code for the request; whyNot() says why.
  const PackEntry *find(const language::CompileRequest &request) const;
  std::string whyNot(const language::CompileRequest &request) const;
  // The command that makes a pack with the code of the request: "pack this run:
  // tessera pack --config run.yaml ...".
  std::string remedy(const language::CompileRequest &request) const;
  // Throws Error where its checksum does not fit.
  Artifact read(const PackEntry &entry) const;

private:
  // Those of the pack and the one of the request: "cpu:x86-64-v3:0000,sm_80".
  std::string targetsWith(const std::string &target) const;

  const std::string name;
  const MappedFile file;
  const PackIndex contents;
  std::map<std::string, const PackEntry *> byRequest;
};

// Tells what packs the kernels of this process, for remedies: the arguments of
// `tessera pack` without targets and output. Writes the environment: call it
// before other threads start.
void setPackArguments(const std::vector<std::string> &arguments);

// The pack of TESSERA_PACK; null: none. Read at the first call. Throws Error.
const Pack *environmentPack();

} // namespace tessera::runtime
