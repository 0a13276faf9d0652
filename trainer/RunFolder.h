// trainer/RunFolder.h - one run's folder: claimed, lockable, recoverable.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tessera::trainer {

/// Makes the folder, proves that it can be written and holds its lock until
/// destroyed. Throws tessera::Error when another run holds it.
class RunFolder {
public:
  explicit RunFolder(const std::string &path);
  ~RunFolder();
  RunFolder(const RunFolder &) = delete;
  RunFolder &operator=(const RunFolder &) = delete;

  std::string file(const std::string &name) const { return path + "/" + name; }
  bool finished() const; ///< metrics.json is there.

  /// Moves what an earlier run left into previous-N; returns that folder, or
  /// nothing when there was nothing, or a run that made no step.
  std::string putAside();

private:
  std::string path;
  int lock = -1;
};

} // namespace tessera::trainer
