// trainer/checkpoint/RunFolder.h - one run's folder: claimed, lockable,
// recoverable.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace tessera::trainer {

/// Makes the folder, proves that it can be written and holds its lock until
/// destroyed. Throws tessera::Error when another run holds it, and when it is a
/// folder with files in which no run has been; nothing is changed then.
class RunFolder {
public:
  explicit RunFolder(const std::string &path);
  ~RunFolder();
  RunFolder(const RunFolder &) = delete;
  RunFolder &operator=(const RunFolder &) = delete;

  std::string file(const std::string &name) const { return path + "/" + name; }
  bool finished() const; ///< metrics.json is there.

  /// The result of a finished run that goes on becomes metrics-N.json, for the
  /// N steps it had made: the run is under way again.
  void reopen(int64_t steps);

  /// Throws tessera::Error when the folder holds anything that no run writes.
  /// Such files may lie beside a run that goes on, but none is moved.
  void refuseForeignFiles() const;

  /// Moves what an earlier run left into previous-N; returns that folder, or
  /// nothing when there was nothing, or a run that made no step. Refuses as
  /// refuseForeignFiles() does, before anything is moved.
  std::string putAside();

private:
  std::string path;
  int lock = -1;
};

} // namespace tessera::trainer
