// tests/unit/support/MemoryFileTest.cpp - files in memory.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/MemoryFile.h"
#include "support/Error.h"

#include <gtest/gtest.h>

#include <sys/resource.h>

using namespace tessera;

TEST(MemoryFile, HasAPathInThisProcess) {
  MemoryFile file("test");
  const std::string bytes(200000, 'x');
  file.write("first ");
  file.write(bytes);
  EXPECT_EQ(file.read(), "first " + bytes);
  EXPECT_EQ(file.read(), "first " + bytes); // reading moves nothing
  EXPECT_EQ(readFile(file.path()), "first " + bytes);
  MemoryFile other("test");
  EXPECT_NE(other.path(), file.path());
  EXPECT_EQ(other.read(), "");
}

TEST(MemoryFile, WithoutDescriptorsIsAnError) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  std::string message;
  try {
    const MemoryFile file("test");
  } catch (const Error &error) {
    message = error.message;
  }
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(message.rfind("cannot make a file in memory", 0), 0u) << message;
}
