// support/Trust.h - checks whether other users could change files that a
// process executes.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A file is trusted if the effective user or root owns it, and neither its
// group nor others may write to it. The same holds for each folder up to the
// root, and for the owner of each symbolic link on the way. A sticky folder
// such as /tmp may be writable by others: there only the owner of an entry
// replaces it. The cache, packs, worker lookup, edited stages, imports of
// kernel files and dlopen() use this check.
#pragma once

#include "support/File.h"

#include <filesystem>
#include <optional>
#include <string>
#include <sys/types.h>

namespace tessera {

// The reason why a path is not trusted: "PATH is writable by others".
struct Distrust {
  std::string reason;
  std::string hint;
};

// What is trusted in addition to the rule above.
struct TrustedContext {
  // Folders that contain this path are not checked.
  std::filesystem::path above;
  // A further owner, and the permissions (group, others) that its files may
  // have if they belong to `group`.
  std::optional<uid_t> owner;
  mode_t writers = 0;
  gid_t group = 0;

  // Returns the context of a file that this process already executes or reads.
  // A user who can change that file gains nothing by changing another one.
  static TrustedContext of(const std::filesystem::path &file);
};

// Returns nullopt if the file or folder is trusted, does not exist or cannot be
// reached.
std::optional<Distrust>
findDistrust(const std::filesystem::path &path,
             const TrustedContext &context = TrustedContext());

// Throws Error "WHAT is not used: REASON" if the path is not trusted. Other
// users cannot replace a trusted path after the check.
void requireTrusted(const std::filesystem::path &path, const std::string &what,
                    const TrustedContext &context = TrustedContext());

// A regular file that is open for reading.
struct TrustedFile {
  UniqueFd fd;
  int error = 0; // errno if the file cannot be opened
  // Set if it can be opened and is not trusted, or is not a regular file.
  std::optional<Distrust> distrust;
  uint64_t bytes = 0;
};
enum class LastLink { Follow, Refuse };
// The check and the descriptor refer to the same file.
TrustedFile openTrusted(const std::filesystem::path &path,
                        LastLink link = LastLink::Follow);

} // namespace tessera
