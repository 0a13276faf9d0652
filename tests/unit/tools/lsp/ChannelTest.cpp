// tests/unit/tools/lsp/ChannelTest.cpp - messages framed by Content-Length.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/lsp/Channel.h"

#include "support/Error.h"
#include "support/File.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace tessera;
using namespace tessera::tools::lsp;

namespace {
struct Pipe {
  UniqueFd in, out;
  Pipe() {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    in = UniqueFd(ends[0]);
    out = UniqueFd(ends[1]);
  }
  void put(std::string_view bytes) {
    EXPECT_EQ(::write(out.get(), bytes.data(), bytes.size()),
              ssize_t(bytes.size()));
  }
};

// The error message of reading these bytes.
std::string refused(const std::string &bytes) {
  Pipe pipe;
  pipe.put(bytes);
  pipe.out.reset();
  Channel channel(pipe.in.get(), -1);
  try {
    channel.read();
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}
} // namespace

TEST(LspChannel, MessagesComeOneByOne) {
  Pipe pipe;
  pipe.put("Content-Length: 2\r\n\r\n{}content-length:3\r\n"
           "Content-Type: application/vscode-jsonrpc\r\n\r\n[1]");
  Channel channel(pipe.in.get(), -1);
  EXPECT_EQ(channel.read(), "{}");
  EXPECT_TRUE(channel.ready(std::chrono::milliseconds(0)));
  EXPECT_EQ(channel.read(), "[1]");
  EXPECT_FALSE(channel.ready(std::chrono::milliseconds(0)));
  pipe.out.reset();
  EXPECT_TRUE(channel.ready(std::chrono::milliseconds(0)));
  EXPECT_EQ(channel.read(), std::nullopt);
}

TEST(LspChannel, WhatIsWrittenIsRead) {
  Pipe pipe;
  Channel writer(-1, pipe.out.get()), reader(pipe.in.get(), -1);
  EXPECT_TRUE(writer.write("{\"a\": \"\u00e9\"}"));
  EXPECT_EQ(reader.read(), "{\"a\": \"\u00e9\"}");
}

TEST(LspChannel, OtherInputIsAnError) {
  const auto expectPart = [](const std::string &bytes, const char *part) {
    EXPECT_NE(refused(bytes).find(part), std::string::npos)
        << bytes.substr(0, 60) << ": " << refused(bytes);
  };
  expectPart("Content-Type: x\r\n\r\n{}", "without Content-Length");
  expectPart("Content-Length: two\r\n\r\n{}", "`two` is not a length");
  expectPart("Content-Length: -1\r\n\r\n{}", "`-1` is not a length");
  expectPart("Content-Length: 67108865\r\n\r\n", "at most 64 MiB");
  expectPart("Content-Length: 3\r\n\r\n{}", "ends within a message");
  expectPart("Content-Len", "ends within a message");
  expectPart(std::string(5000, 'x'), "more than 4096 bytes");
}
