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
#include <vector>

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

  // LONG1 with eight bytes.
  static std::string number(int64_t value) {
    std::string text("\x8a\x08", 2);
    for (int i = 0; i < 8; ++i)
      text += char(uint64_t(value) >> (8 * i));
    return text;
  }
  static std::string numbers(const std::vector<int64_t> &values) {
    std::string text = "(";
    for (const int64_t value : values)
      text += number(value);
    return text + "t";
  }
  // One of the storage data/KEY.
  static std::string tensor(char key, int64_t first,
                            const std::vector<int64_t> &shape,
                            const std::vector<int64_t> &strides) {
    return "ctorch._utils\n_rebuild_tensor_v2\n(" +
           std::string("(X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\0",
                       38) +
           key + std::string("X\x03\0\0\0cpuK\x01tQ", 12) + number(first) +
           numbers(shape) + numbers(strides) + "tR";
  }
  // The error of a dictionary with that tensor of a storage of four elements.
  std::string errorOfTensor(int64_t first, const std::vector<int64_t> &shape,
                            const std::vector<int64_t> &strides) {
    const std::string pickle = std::string("\x80\x02}X\x01\0\0\0a", 9) +
                               tensor('0', first, shape, strides) + "s.";
    const std::string file = folder.file("tensor.pt");
    caffe2::serialize::PyTorchStreamWriter writer(file);
    const float elements[] = {1, 2, 3, 4};
    writer.writeRecord("data.pkl", pickle.data(), pickle.size());
    writer.writeRecord("data/0", elements, sizeof elements);
    writer.writeEndOfFile();
    return errorOf(file);
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
  // The last value of each pair is not the deepest one.
  expectHas(refused(protocol + ")" + repeated(")\x86", 1000) + "."), limit);
}

// Two bytes double a text: 40 times that are 2^40 bytes.
TEST_F(Pickle, NamesThatDouble) {
  const std::string text("X\x10\0\0\0aaaaaaaaaaaaaaaaq\0", 23);
  const std::string twice("h\0h\0\x93q\0", 7);
  expectHas(refused(protocol + text + repeated(twice, 12) + "."),
            "its pickle has a global of more than 1000 bytes");
}

TEST_F(Pickle, LongNamesOfGlobals) {
  const std::string longName(1001, 'a'), shortName(1000, 'a');
  const std::string limit = "its pickle has a global of more than 1000 bytes";
  expectHas(refused(protocol + "c" + longName + "\nb\n."), limit);
  expectHas(refused(protocol + "cb\n" + longName + "\n."), limit);
  expectHas(refused(protocol + "c" + shortName + "\n" + shortName + "\n."),
            "it holds something else");
}

TEST_F(Pickle, OperationsWithoutTheirValues) {
  expectHas(
      refused(protocol + repeated("N", 20) + std::string("X\x10\0\0\0abc", 8)),
      "its pickle is cut off");
  expectHas(refused(protocol + "\x8a\x09" + std::string(9, '\1') + "."),
            "its pickle has a number of more than 64 bits");
  expectHas(refused(protocol + "NNa."),
            "its pickle adds to a value without items");
  expectHas(refused(protocol + "\x85."), "its pickle takes what is not there");
  expectHas(refused(protocol + "t."), "its pickle has no mark");
  expectHas(refused(protocol + "h\x05."),
            "its pickle names a value that it lacks");
}

TEST_F(Pickle, TensorsOutsideOfTheirElements) {
  EXPECT_EQ(errorOfTensor(0, {4}, {1}), "no error");
  EXPECT_EQ(errorOfTensor(3, {1, 0}, {1, 9}), "no error");
  const std::string larger = "it has a tensor larger than its elements";
  expectHas(errorOfTensor(0, {5}, {1}), larger);
  expectHas(errorOfTensor(1, {4}, {1}), larger);
  // The offset of the last element is 2^64.
  expectHas(errorOfTensor(0, {(int64_t(1) << 62) + 1}, {4}), larger);
  expectHas(errorOfTensor(-1, {1}, {1}), "it has a tensor without elements");
  const std::string negative = "it has a tensor of a negative shape";
  expectHas(errorOfTensor(0, {-1}, {1}), negative);
  expectHas(errorOfTensor(3, {2}, {-1}), negative);
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

// Each record is smaller than the file, both together are not.
TEST_F(Pickle, CompressedRecordsTogether) {
  const std::string pickle = protocol + "}" + std::string("X\x01\0\0\0a", 6) +
                             tensor('0', 0, {4}, {1}) + "s" +
                             std::string("X\x01\0\0\0b", 6) +
                             tensor('1', 0, {4}, {1}) + "s.";
  const std::string zeros(900'000, '\0');
  std::string unused(1'000'000, '\0');
  uint32_t state = 1;
  for (char &c : unused)
    c = char((state = state * 1664525 + 1013904223) >> 24);
  const std::string file = folder.file("hostile.pt");
  caffe2::serialize::PyTorchStreamWriter writer(file);
  writer.writeRecord("data.pkl", pickle.data(), pickle.size());
  writer.writeRecord("unused", unused.data(), unused.size());
  writer.writeRecord("data/0", zeros.data(), zeros.size(), /*compress=*/true);
  writer.writeRecord("data/1", zeros.data(), zeros.size(), /*compress=*/true);
  writer.writeEndOfFile();
  expectHas(errorOf(file), "its records have more bytes than it, as of data/1");
}

TEST_F(Pickle, WhatIsNotAFile) {
  expectHas(errorOf(folder.path.string()), "it is not a regular file");
  ASSERT_EQ(::mkfifo(folder.file("pipe.pt").c_str(), 0600), 0);
  expectHas(errorOf(folder.file("pipe.pt")), "it is not a regular file");
  expectHas(errorOf(folder.write("empty.pt", "")), "empty.pt");
}

} // namespace
