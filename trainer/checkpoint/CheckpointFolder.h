// trainer/checkpoint/CheckpointFolder.h - the files of a checkpoint: written
// whole, verified, numbered.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// ckpt/step_NNNNNNNN holds files and DONE, which has the SHA-256 of each in the
// format of sha256sum. A folder under that name has been whole, on disk too,
// since the name appeared; `sha256sum -c DONE` in it tells whether it still is.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::trainer {

/// Where the checkpoint of a step is, there or not.
std::filesystem::path checkpointPath(const std::string &run, int64_t step);

/// The folders with a checkpoint's name, by their step.
std::map<int64_t, std::filesystem::path>
listCheckpoints(const std::string &run);

/// What is wrong with a checkpoint: "model.safetensors is damaged"; empty:
/// nothing. Reads every file of it. One of before there were checksums has an
/// empty DONE and cannot be told from a damaged one but by its state.json,
/// which names no format.
std::string faultOf(const std::filesystem::path &checkpoint);

/// The lines of sha256sum: name to 64 hexadecimal digits, and back. None for
/// text of another form, and for names that lead out of the folder.
std::optional<std::map<std::string, std::string>>
parseSums(std::string_view text);
std::string formatSums(const std::map<std::string, std::string> &sums);

/// A checkpoint being written, beside its final name until commit(). What it
/// has written goes when it is destroyed before.
class UnfinishedCheckpoint {
public:
  /// Throws tessera::Error when the folder cannot be made.
  UnfinishedCheckpoint(const std::string &run, int64_t step);
  ~UnfinishedCheckpoint();
  UnfinishedCheckpoint(const UnfinishedCheckpoint &) = delete;
  UnfinishedCheckpoint &operator=(const UnfinishedCheckpoint &) = delete;

  /// Writes a file ("state.json", "kernels/nsa/ranges.py") down to the disk.
  /// Throws tessera::Error.
  void add(const std::string &name, std::string_view bytes);

  /// DONE, then the name, then both on disk. A checkpoint that has the name
  /// already stays when it is good, and this one goes.
  void commit();

private:
  std::filesystem::path final, building;
  std::map<std::string, std::string> sums;
  bool committed = false;
};

/// Removes the oldest checkpoints but `keep`, and but those of steps that
/// `milestones` divides; 0: none of these.
void pruneCheckpoints(const std::string &run, int64_t keep,
                      int64_t milestones = 0);

/// Takes the name of a checkpoint from a damaged one (it gets `.damaged`
/// behind), so that it counts no longer; its files stay for who wants to look.
void setDamagedAside(const std::filesystem::path &checkpoint);

} // namespace tessera::trainer
