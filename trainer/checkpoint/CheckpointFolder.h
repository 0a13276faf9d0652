// trainer/checkpoint/CheckpointFolder.h - writes, verifies, lists and removes
// folders of checkpoints.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// ckpt/step_NNNNNNNN contains the files and DONE, which has the SHA-256 of each
// in the format of sha256sum. A folder gets this name only when all its files
// are on disk. `sha256sum -c DONE` verifies it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::trainer {

/// Returns the path of a step's checkpoint, which need not exist.
std::filesystem::path checkpointPath(const std::string &run, int64_t step);

/// Returns the folders whose names are those of checkpoints, by step.
std::map<int64_t, std::filesystem::path>
listCheckpoints(const std::string &run);

/// Returns what is wrong with a checkpoint, "model.safetensors is damaged", or
/// an empty text if it is intact. Reads every file. Version 1 checkpoints have
/// an empty DONE; they are recognized by a state.json without a version.
std::string faultOf(const std::filesystem::path &checkpoint);

/// Parses and formats the lines of sha256sum, a map from names to 64
/// hexadecimal digits. Returns nullopt for text of another form and for names
/// outside the folder.
std::optional<std::map<std::string, std::string>>
parseSums(std::string_view text);
std::string formatSums(const std::map<std::string, std::string> &sums);

/// A checkpoint that is being written under a temporary name until commit().
/// The destructor removes the files of an uncommitted checkpoint.
class UnfinishedCheckpoint {
public:
  /// Throws tessera::Error if the folder cannot be created.
  UnfinishedCheckpoint(const std::string &run, int64_t step);
  ~UnfinishedCheckpoint();
  UnfinishedCheckpoint(const UnfinishedCheckpoint &) = delete;
  UnfinishedCheckpoint &operator=(const UnfinishedCheckpoint &) = delete;

  /// Writes and syncs a file ("state.json", "kernels/nsa/ranges.py"). Throws
  /// tessera::Error if it fails.
  void add(const std::string &name, std::string_view bytes);

  /// Writes DONE, renames the folder and syncs both. If an intact checkpoint
  /// has the final name already, keeps that one and removes this one.
  void commit();

private:
  std::filesystem::path final, building;
  std::map<std::string, std::string> sums;
  bool committed = false;
};

/// Removes all checkpoints except the newest `keep` and those of steps that are
/// multiples of `milestones` (0: no milestones).
void pruneCheckpoints(const std::string &run, int64_t keep,
                      int64_t milestones = 0);

/// Renames a damaged checkpoint to NAME.damaged, so that it no longer counts as
/// a checkpoint. Its files remain for inspection.
void setDamagedAside(const std::filesystem::path &checkpoint);

} // namespace tessera::trainer
