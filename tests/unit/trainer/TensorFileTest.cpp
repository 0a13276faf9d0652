// tests/unit/trainer/TensorFileTest.cpp - safetensors out, in, and damaged.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/TensorFile.h"

#include "TestFolder.h"
#include "support/Error.h"
#include "support/File.h"

#include <ATen/ATen.h>
#include <cstring>
#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::trainer;

namespace {

std::vector<models::Parameter> some() {
  return {{"b", at::arange(6, at::kFloat).view({2, 3})},
          {"a.scalar", at::full({}, 7.5f)},
          {"c", at::full({5}, -1.0f)}};
}

std::vector<models::Parameter> blank() {
  auto all = some();
  for (auto &p : all)
    p.value.zero_();
  return all;
}

TEST(TensorFile, RoundTrip) {
  const TestFolder folder;
  writeTensors(folder.file("t"), some());
  auto read = blank();
  readTensors(folder.file("t"), read);
  const auto expected = some();
  for (size_t i = 0; i < read.size(); ++i)
    EXPECT_TRUE(at::equal(read[i].value, expected[i].value));
  // Data starts at a multiple of 64 bytes behind a header that begins with {.
  const std::string bytes = readFile(folder.file("t"));
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  EXPECT_EQ((length + 8) % 64, 0u);
  EXPECT_EQ(bytes[8], '{');
  EXPECT_EQ(bytes.size(), length + 8 + 4 * 12);
}

TEST(TensorFile, RefusesDamageAndChangesNothing) {
  const TestFolder folder;
  writeTensors(folder.file("t"), some());
  const std::string good = readFile(folder.file("t"));
  std::string hugeHeader = good;
  hugeHeader[7] = 1;
  std::string otherShape = good;
  otherShape.replace(otherShape.find("[2,3]"), 5, "[3,2]");
  std::string range = good;
  range.replace(range.find("[0,24]"), 6, "[9,24]");
  for (const std::string &bad :
       {std::string(), good.substr(0, 4), good.substr(0, 40),
        good.substr(0, good.size() - 1), hugeHeader, otherShape, range}) {
    folder.write("bad", bad);
    auto read = blank();
    EXPECT_THROW(readTensors(folder.file("bad"), read), Error);
    for (const auto &p : read)
      EXPECT_EQ(p.value.abs().sum().item<double>(), 0);
  }
  auto fewer = blank();
  fewer.pop_back();
  EXPECT_THROW(readTensors(folder.file("t"), fewer), Error);
  auto renamed = blank();
  renamed[0].name = "z";
  EXPECT_THROW(readTensors(folder.file("t"), renamed), Error);
}

} // namespace
