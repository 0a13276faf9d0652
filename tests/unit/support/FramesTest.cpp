// tests/unit/support/FramesTest.cpp - tests of support/Frames.h.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/Frames.h"

#include "support/File.h"
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <thread>

using namespace tessera;
using namespace std::chrono_literals;

namespace {
struct Channel {
  Channel() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0) {
      a.reset(ends[0]);
      b.reset(ends[1]);
    }
  }
  UniqueFd a, b;
};
} // namespace

TEST(Frames, RoundTrip) {
  Channel channel;
  const std::string large(3 << 20, 'x');
  std::thread writer([&] {
    EXPECT_EQ(writeFrame(channel.a.get(), "hello"), FrameStatus::Good);
    EXPECT_EQ(writeFrame(channel.a.get(), ""), FrameStatus::Good);
    EXPECT_EQ(writeFrame(channel.a.get(), large), FrameStatus::Good);
    channel.a.reset();
  });
  std::string got = "before";
  EXPECT_EQ(readFrame(channel.b.get(), got), FrameStatus::Good);
  EXPECT_EQ(got, "hello");
  EXPECT_EQ(readFrame(channel.b.get(), got), FrameStatus::Good);
  EXPECT_EQ(got, "");
  EXPECT_EQ(readFrame(channel.b.get(), got), FrameStatus::Good);
  EXPECT_EQ(got, large);
  EXPECT_EQ(readFrame(channel.b.get(), got), FrameStatus::Closed);
  writer.join();
}

TEST(Frames, WorksOnPipes) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  UniqueFd read(ends[0]), write(ends[1]);
  EXPECT_EQ(writeFrame(write.get(), "abc"), FrameStatus::Good);
  std::string got;
  EXPECT_EQ(readFrame(read.get(), got), FrameStatus::Good);
  EXPECT_EQ(got, "abc");
}

TEST(Frames, LengthIsLittleEndian) {
  Channel channel;
  ASSERT_EQ(writeFrame(channel.a.get(), "ab"), FrameStatus::Good);
  unsigned char bytes[6];
  ASSERT_EQ(::recv(channel.b.get(), bytes, 6, MSG_WAITALL), 6);
  EXPECT_EQ(std::string(bytes, bytes + 6), std::string("\2\0\0\0ab", 6));
}

TEST(Frames, EndsInTheMiddleAndBadLengths) {
  for (size_t cut : {1, 3, 4, 6}) {
    Channel channel;
    ASSERT_EQ(::send(channel.a.get(), "\4\0\0\0abcd", cut, 0), ssize_t(cut));
    channel.a.reset();
    std::string got;
    EXPECT_EQ(readFrame(channel.b.get(), got), FrameStatus::Closed) << cut;
  }
  Channel channel;
  ASSERT_EQ(::send(channel.a.get(), "\xff\xff\xff\xff", 4, 0), 4);
  std::string got;
  EXPECT_EQ(readFrame(channel.b.get(), got), FrameStatus::Invalid);
}

TEST(Frames, TimeOutsAndClosedPeers) {
  Channel channel;
  std::string got;
  auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(readFrame(channel.b.get(), got, 30ms), FrameStatus::TimedOut);
  EXPECT_GE(std::chrono::steady_clock::now() - start, 30ms);
  // No process reads: the socket's buffer fills up.
  EXPECT_EQ(writeFrame(channel.a.get(), std::string(8 << 20, 'x'), 30ms),
            FrameStatus::TimedOut);
  channel.b.reset();
  EXPECT_EQ(writeFrame(channel.a.get(), "x"), FrameStatus::Closed);
}
