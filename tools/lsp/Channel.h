// tools/lsp/Channel.h - messages of the Language Server Protocol over
// descriptors: "Content-Length: N", an empty line, N bytes of JSON.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace tessera::tools::lsp {

class Channel {
public:
  Channel(int in, int out) : in(in), out(out) {}

  // Returns the body of the next message, or nullopt at the end of the input.
  // Throws Error for an invalid header or a length above 64 MiB, after which
  // message boundaries are unknown.
  std::optional<std::string> read();
  // True if read() has data, or reached the end of the input, within `time`.
  bool ready(std::chrono::milliseconds time) const;
  // Writes a message. Returns false if the client has closed the channel.
  bool write(std::string_view body) const;

private:
  bool fill();

  const int in, out;
  std::string buffer;
};

} // namespace tessera::tools::lsp
