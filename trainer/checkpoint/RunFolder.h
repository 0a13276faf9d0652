// trainer/checkpoint/RunFolder.h - claims and locks the folder of a run.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace tessera::trainer {

/// Creates the folder, checks that it is writable and holds its lock until
/// destroyed. Throws tessera::Error, without a change, if another run holds the
/// lock, or if the folder has files that do not belong to a run.
class RunFolder {
public:
  explicit RunFolder(const std::string &path);
  ~RunFolder();
  RunFolder(const RunFolder &) = delete;
  RunFolder &operator=(const RunFolder &) = delete;

  std::string file(const std::string &name) const { return path + "/" + name; }
  bool finished() const; ///< metrics.json is there.

  /// Marks a finished run as unfinished, so that it can continue: renames
  /// metrics.json to metrics-N.json, where N is the number of its steps.
  void reopen(int64_t steps);

  /// Throws tessera::Error if the folder contains files that runs do not write.
  /// A resumed run tolerates such files, but putAside() must not move them.
  void refuseForeignFiles() const;

  /// Moves the files of an earlier run to previous-N and returns that folder.
  /// Returns an empty text if there were none, or if the run made no step.
  /// Calls refuseForeignFiles() before it moves a file.
  std::string putAside();

private:
  std::string path;
  int lock = -1;
};

} // namespace tessera::trainer
