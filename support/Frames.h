// support/Frames.h - the protocol between a program and its tessera-worker.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tessera {

// A frame is a 32-bit little-endian length and that many bytes. A request is
// one frame (JSON); a reply is two: JSON, then the artifact's bytes (an empty
// frame where there are none). Before its reply the worker may send frames of
// phasePrefix and the name of what it does now. The worker reads requests from
// descriptor 3 until it is closed and writes replies to descriptor 4, in order.
inline constexpr int workerRequestFd = 3;
inline constexpr int workerReplyFd = 4;
inline constexpr uint32_t maxFrameBytes = 1u << 30;
inline constexpr std::string_view phasePrefix = "phase ";

enum class FrameStatus {
  Good,
  Closed,   // the other side is gone, between frames or within one
  TimedOut, // the time was over before the frame was complete
  Invalid,  // a length above maxFrameBytes
};

// No time-out means to wait as long as it takes. Neither raises SIGPIPE on a
// socket.
FrameStatus readFrame(int fd, std::string &bytes,
                      std::optional<std::chrono::milliseconds> timeout = {});
// Good when there is something to read, be it the end.
FrameStatus awaitFrame(int fd, std::chrono::milliseconds timeout);
FrameStatus writeFrame(int fd, std::string_view bytes,
                       std::optional<std::chrono::milliseconds> timeout = {});

} // namespace tessera
