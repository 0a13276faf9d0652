// tests/unit/trainer/checkpoint/PickleFileTest.cpp - hostile files of
// torch.save's format.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/checkpoint/PickleFile.h"

#include "support/Error.h"
#include "tests/unit/trainer/TestFolder.h"

#include <caffe2/serialize/inline_container.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

using namespace tessera;
using namespace tessera::trainer;

namespace {

class Pickle : public testing::Test {
protected:
  // The error of a file with that pickle.
  std::string refused(const std::string &pickle, bool compress = false) {
    const std::string file = folder.file("hostile.pt");
    caffe2::serialize::PyTorchStreamWriter writer(file);
    writer.writeRecord("data.pkl", pickle.data(), pickle.size(), compress);
    writer.writeEndOfFile();
    return errorOf(file);
  }
  static std::string errorOf(const std::string &file) {
    try {
      readPickle(file);
    } catch (const Error &error) {
      EXPECT_FALSE(error.hint.empty());
      return error.message;
    }
    return "no error";
  }
  static void expectHas(const std::string &text, const std::string &part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  static std::string repeated(const std::string &part, int times) {
    std::string text;
    for (int i = 0; i < times; ++i)
      text += part;
    return text;
  }

  TestFolder folder;
};

const std::string protocol("\x80\x02", 2);

TEST_F(Pickle, NestedDeeply) {
  const std::string limit = "its pickle is nested more than 64 deep";
  // TUPLE1 of TUPLE1; a list appended to a list, which is appended, ...
  expectHas(refused(protocol + ")" + repeated("\x85", 3'000'000) + "."), limit);
  expectHas(refused(protocol + repeated("]", 1000) + repeated("a", 999) + "."),
            limit);
  expectHas(refused(protocol + repeated("(", 1000) + repeated("t", 1000) + "."),
            limit);
}

// Two bytes double a text: 40 times that are 2^40 bytes.
TEST_F(Pickle, NamesThatDouble) {
  const std::string text("X\x10\0\0\0aaaaaaaaaaaaaaaaq\0", 23);
  const std::string twice("h\0h\0\x93q\0", 7);
  expectHas(refused(protocol + text + repeated(twice, 12) + "."),
            "its pickle has a global of more than 1000 bytes");
}

// A text of 8 MiB that is named 100,000 times is stored once.
TEST_F(Pickle, TextsThatAreNamedAgain) {
  const std::string text = std::string("X\0\0\x80\0", 5) +
                           std::string(8 << 20, 'a') + std::string("q\0", 2);
  const std::string again("h\0", 2);
  expectHas(refused(protocol + "(" + text + repeated(again, 100'000) + "t."),
            "it holds something else");
}

TEST_F(Pickle, DictionariesThatContainThemselves) {
  const std::string key("X\x01\0\0\0a", 6), itself("h\0", 2);
  expectHas(refused(protocol + std::string("}q\0", 3) + key + itself + "s."),
            "a is not a tensor");
}

TEST_F(Pickle, MoreOperationsThanAnyCheckpoint) {
  expectHas(refused(repeated(protocol, (1 << 24) + 1) + "."),
            "its pickle has more than 16777216 operations");
}

TEST_F(Pickle, ShapesOfManyDimensions) {
  const std::string shape = "(" + repeated(std::string("K\x01", 2), 65) + "t";
  const std::string storage =
      std::string("(X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\0"
                  "0X\x03\0\0\0cpuK\x01tQ",
                  51);
  const std::string pickle = protocol + "ctorch._utils\n_rebuild_tensor_v2\n(" +
                             storage + std::string("K\0", 2) + shape + shape +
                             "tR.";
  const std::string file = folder.file("hostile.pt");
  caffe2::serialize::PyTorchStreamWriter writer(file);
  const float element = 1;
  writer.writeRecord("data.pkl", pickle.data(), pickle.size());
  writer.writeRecord("data/0", &element, sizeof(element));
  writer.writeEndOfFile();
  expectHas(errorOf(file), "it has a tensor of more than 64 dimensions");
}

// 32 MiB of zeros are 32 KiB of the file.
TEST_F(Pickle, CompressedRecords) {
  expectHas(refused(std::string(32 << 20, '\0'), /*compress=*/true),
            "its records have more bytes than it");
}

TEST_F(Pickle, WhatIsNotAFile) {
  expectHas(errorOf(folder.path.string()), "it is not a regular file");
  ASSERT_EQ(::mkfifo(folder.file("pipe.pt").c_str(), 0600), 0);
  expectHas(errorOf(folder.file("pipe.pt")), "it is not a regular file");
  expectHas(errorOf(folder.write("empty.pt", "")), "empty.pt");
}

} // namespace
