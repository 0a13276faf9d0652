// tests/fuzz/FramesFuzz.cpp - any bytes from the other side of a worker's pipe.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/File.h"
#include "support/Frames.h"
#include "tests/fuzz/Fuzz.h"

#include <algorithm>
#include <fcntl.h>
#include <unistd.h>
#include <vector>

using namespace tessera;

// The frames in these bytes according to the protocol's description, computed
// independently of support/Frames.cpp.
static FrameStatus expected(std::string_view bytes,
                            std::vector<std::string_view> &frames) {
  while (bytes.size() >= 4) {
    uint64_t length = 0;
    for (int i = 3; i >= 0; --i)
      length = length * 256 + uint8_t(bytes[size_t(i)]);
    if (length > (uint64_t(1) << 30))
      return FrameStatus::Invalid;
    bytes.remove_prefix(4);
    if (length > bytes.size())
      break;
    frames.push_back(bytes.substr(0, length));
    bytes.remove_prefix(length);
  }
  return FrameStatus::Closed;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  size = std::min<size_t>(size, 4096 * 15); // what a pipe holds
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return 0;
  UniqueFd read(ends[0]), write(ends[1]);
  fuzz::require(!size || ::write(write.get(), data, size) == ssize_t(size),
                "a pipe that takes no bytes");
  write.reset();
  std::vector<std::string_view> frames;
  const FrameStatus end =
      expected({reinterpret_cast<const char *>(data), size}, frames);
  std::string frame;
  for (std::string_view wanted : frames) {
    fuzz::require(readFrame(read.get(), frame) == FrameStatus::Good,
                  "a complete frame is not read");
    fuzz::require(frame == wanted, "a frame with other bytes");
  }
  fuzz::require(readFrame(read.get(), frame) == end,
                "the end of the frames is another");
  return 0;
}
