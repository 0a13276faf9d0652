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
// one frame (JSON). A reply is two frames: JSON, then the artifact's bytes,
// which may be empty. Before the reply, the worker may send frames that contain
// phasePrefix and the name of its current phase. The worker reads requests from
// descriptor 3 until it is closed, and writes replies to descriptor 4, in
// order.
inline constexpr int workerRequestFd = 3;
inline constexpr int workerReplyFd = 4;
inline constexpr uint32_t maxFrameBytes = 1u << 30;
inline constexpr std::string_view phasePrefix = "phase ";

enum class FrameStatus {
  Good,
  Closed,   // the other side closed, between or within frames
  TimedOut, // the frame was incomplete at the deadline
  Invalid,  // a length above maxFrameBytes
};

// Reads a frame. Without a timeout, waits indefinitely. Neither this function
// nor writeFrame() raises SIGPIPE on a socket.
FrameStatus readFrame(int fd, std::string &bytes,
                      std::optional<std::chrono::milliseconds> timeout = {});
// Waits for data. Returns Good if data or the end of the stream is available.
FrameStatus awaitFrame(int fd, std::chrono::milliseconds timeout);
FrameStatus writeFrame(int fd, std::string_view bytes,
                       std::optional<std::chrono::milliseconds> timeout = {});

} // namespace tessera
