// trainer/observe/EventFile.h - scalars for TensorBoard.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A file of records: length (8 bytes, little endian), the length's checksum,
// the bytes of a message, their checksum; checksums are CRC-32C, turned by 15
// bits, plus 0xa282ead8. The messages are protobuf's: Event has wall_time (1,
// double), step (2, int64), file_version (3, string), summary (5) and
// session_log (7); a summary repeats value (1) of tag (1, string) and
// simple_value (2, float).
#pragma once

#include "support/File.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::trainer {

uint32_t crc32c(std::string_view bytes);

/// events.out.tfevents.TIME.HOST.PID in a folder that is made with the first
/// scalars.
class EventFile {
public:
  /// `firstStep`: TensorBoard drops what earlier files say of this step and
  /// later ones, which a resumed run makes again.
  EventFile(std::string folder, int64_t firstStep);

  using Scalars = std::vector<std::pair<std::string, double>>;
  /// Writes scalars. Returns false if that fails; they are lost then, and errno
  /// has the reason.
  bool add(int64_t step, const Scalars &scalars);

private:
  bool open();
  bool write(std::string_view message);

  std::string folder;
  int64_t firstStep;
  UniqueFd out;
};

} // namespace tessera::trainer
