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
  // Throws Error where its checksum does not fit.
  Artifact read(const PackEntry &entry) const;

private:
  const std::string name;
  const MappedFile file;
  const PackIndex contents;
  std::map<std::string, const PackEntry *> byRequest;
};

// The pack of TESSERA_PACK; null: none. Read at the first call. Throws Error.
const Pack *environmentPack();

} // namespace tessera::runtime
