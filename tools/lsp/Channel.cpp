// tools/lsp/Channel.cpp - reads and writes messages of the Language Server
// Protocol.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/lsp/Channel.h"

#include "support/Error.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <poll.h>
#include <unistd.h>

namespace tessera::tools::lsp {

static constexpr size_t mostHeader = 4096;
static constexpr uint64_t mostBody = uint64_t(64) << 20;

bool Channel::fill() {
  char bytes[65536];
  ssize_t count;
  do
    count = ::read(in, bytes, sizeof(bytes));
  while (count < 0 && errno == EINTR);
  if (count <= 0)
    return false;
  buffer.append(bytes, size_t(count));
  return true;
}

// Returns the length. Ignores other headers (Content-Type). Throws Error.
static uint64_t lengthIn(std::string_view header) {
  constexpr std::string_view name = "content-length:";
  while (!header.empty()) {
    const size_t end = std::min(header.find("\r\n"), header.size());
    std::string_view line = header.substr(0, end);
    header.remove_prefix(std::min(end + 2, header.size()));
    const bool match =
        line.size() > name.size() &&
        std::equal(name.begin(), name.end(), line.begin(), [](char a, char b) {
          return a == (b >= 'A' && b <= 'Z' ? char(b + 32) : b);
        });
    if (!match)
      continue;
    line.remove_prefix(name.size());
    while (!line.empty() && line[0] == ' ')
      line.remove_prefix(1);
    uint64_t length = 0;
    const auto [after, error] =
        std::from_chars(line.data(), line.data() + line.size(), length);
    if (error != std::errc() || after != line.data() + line.size() ||
        length > mostBody)
      throw Error("Content-Length `" + std::string(line) + "` is not a length",
                  "a number of bytes, at most 64 MiB");
    return length;
  }
  throw Error("a message without Content-Length",
              "write the Language Server Protocol to the standard input, as "
              "editors do");
}

std::optional<std::string> Channel::read() {
  size_t end;
  while ((end = buffer.find("\r\n\r\n")) == std::string::npos) {
    if (buffer.size() > mostHeader)
      throw Error("a header of more than 4096 bytes",
                  "write the Language Server Protocol to the standard input, "
                  "as editors do");
    if (!fill()) {
      if (!buffer.empty())
        throw Error("the input ends within a message");
      return std::nullopt;
    }
  }
  const uint64_t length = lengthIn(std::string_view(buffer).substr(0, end));
  buffer.erase(0, end + 4);
  while (buffer.size() < length)
    if (!fill())
      throw Error("the input ends within a message");
  std::string body = buffer.substr(0, length);
  buffer.erase(0, length);
  return body;
}

bool Channel::ready(std::chrono::milliseconds time) const {
  if (!buffer.empty())
    return true;
  pollfd wait = {in, POLLIN, 0};
  return ::poll(&wait, 1, int(time.count())) != 0;
}

bool Channel::write(std::string_view body) const {
  const std::string message = "Content-Length: " + std::to_string(body.size()) +
                              "\r\n\r\n" + std::string(body);
  for (size_t at = 0; at < message.size();) {
    const ssize_t count =
        ::write(out, message.data() + at, message.size() - at);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return false;
    at += size_t(count);
  }
  return true;
}

} // namespace tessera::tools::lsp
