// trainer/observe/EventFile.h - writes scalars to TensorBoard's event files.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// The file is a sequence of TFRecords. CRC is the CRC-32C of the preceding
// field, rotated right by 15 bits, plus 0xa282ead8:
//
//   length, uint64 little-endian | CRC | message | CRC
//
// Messages are protobuf's Event, with the fields wall_time (1, double),
// step (2, int64), file_version (3, string), summary (5) and session_log (7).
// A summary repeats value (1), which has tag (1, string) and
// simple_value (2, float).
#pragma once

#include "support/File.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::trainer {

/// Returns the CRC-32C (Castagnoli) of the bytes.
uint32_t crc32c(std::string_view bytes);

/// Appends scalars to FOLDER/events.out.tfevents.TIME.HOST.PID. The first add()
/// creates the folder and the file.
class EventFile {
public:
  /// `firstStep` is the first step that will be written. TensorBoard discards
  /// this step and later ones from older files, because a resumed run repeats
  /// them.
  EventFile(std::string folder, int64_t firstStep);

  using Scalars = std::vector<std::pair<std::string, double>>;
  /// Writes scalars with their tags. Returns false if that fails; the scalars
  /// are then lost, and errno has the reason.
  bool add(int64_t step, const Scalars &scalars);

private:
  bool open();
  bool write(std::string_view message);

  std::string folder;
  int64_t firstStep;
  UniqueFd out;
};

} // namespace tessera::trainer
