// support/Frames.cpp - reading and writing of frames with a deadline.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/Frames.h"

#include <algorithm>
#include <cerrno>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace tessera {

using Clock = std::chrono::steady_clock;
using Deadline = std::optional<Clock::time_point>;

static Deadline deadlineOf(std::optional<std::chrono::milliseconds> timeout) {
  if (!timeout)
    return std::nullopt;
  return Clock::now() + *timeout;
}

// Waits until the descriptor is ready. Returns Good if it is, which includes
// end of file.
static FrameStatus await(int fd, short events, const Deadline &deadline) {
  while (true) {
    int wait = -1;
    if (deadline) {
      auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline -
                                                               Clock::now());
      if (left.count() <= 0)
        return FrameStatus::TimedOut;
      wait = int(std::min<int64_t>(left.count(), 1 << 30));
    }
    pollfd entry = {fd, events, 0};
    int ready = ::poll(&entry, 1, wait);
    if (ready > 0)
      return entry.revents & POLLNVAL ? FrameStatus::Closed : FrameStatus::Good;
    if (ready < 0 && errno != EINTR)
      return FrameStatus::Closed;
  }
}

static FrameStatus readAll(int fd, char *data, size_t size,
                           const Deadline &deadline) {
  while (size) {
    if (FrameStatus status = await(fd, POLLIN, deadline);
        status != FrameStatus::Good)
      return status;
    ssize_t got = ::read(fd, data, size);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
      continue;
    if (got <= 0)
      return FrameStatus::Closed;
    data += got;
    size -= size_t(got);
  }
  return FrameStatus::Good;
}

static FrameStatus writeAll(int fd, const char *data, size_t size,
                            const Deadline &deadline) {
  while (size) {
    if (FrameStatus status = await(fd, POLLOUT, deadline);
        status != FrameStatus::Good)
      return status;
    // Without MSG_DONTWAIT a large message would block past the deadline.
    ssize_t put = ::send(fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (put < 0 && errno == ENOTSOCK)
      put = ::write(fd, data, size);
    if (put < 0 && (errno == EINTR || errno == EAGAIN))
      continue;
    if (put <= 0)
      return FrameStatus::Closed;
    data += put;
    size -= size_t(put);
  }
  return FrameStatus::Good;
}

FrameStatus awaitFrame(int fd, std::chrono::milliseconds timeout) {
  return await(fd, POLLIN, deadlineOf(timeout));
}

FrameStatus readFrame(int fd, std::string &bytes,
                      std::optional<std::chrono::milliseconds> timeout) {
  const Deadline deadline = deadlineOf(timeout);
  unsigned char header[4];
  if (FrameStatus status = readAll(fd, reinterpret_cast<char *>(header),
                                   sizeof(header), deadline);
      status != FrameStatus::Good)
    return status;
  const uint32_t size = uint32_t(header[0]) | uint32_t(header[1]) << 8 |
                        uint32_t(header[2]) << 16 | uint32_t(header[3]) << 24;
  if (size > maxFrameBytes)
    return FrameStatus::Invalid;
  // Reads in steps, so that a large length without data allocates little
  // memory.
  bytes.clear();
  while (bytes.size() < size) {
    const size_t done = bytes.size();
    const size_t step = std::min<size_t>(size - done, 1 << 20);
    bytes.resize(done + step);
    if (FrameStatus status = readAll(fd, bytes.data() + done, step, deadline);
        status != FrameStatus::Good)
      return status;
  }
  return FrameStatus::Good;
}

FrameStatus writeFrame(int fd, std::string_view bytes,
                       std::optional<std::chrono::milliseconds> timeout) {
  if (bytes.size() > maxFrameBytes)
    return FrameStatus::Invalid;
  const Deadline deadline = deadlineOf(timeout);
  const uint32_t size = uint32_t(bytes.size());
  const char header[4] = {char(size), char(size >> 8), char(size >> 16),
                          char(size >> 24)};
  if (FrameStatus status = writeAll(fd, header, sizeof(header), deadline);
      status != FrameStatus::Good)
    return status;
  return writeAll(fd, bytes.data(), bytes.size(), deadline);
}

} // namespace tessera
