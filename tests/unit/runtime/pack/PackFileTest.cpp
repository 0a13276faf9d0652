// tests/unit/runtime/pack/PackFileTest.cpp - tests of runtime/pack/PackFile.h.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/pack/PackFile.h"

#include "support/Error.h"
#include "support/Hash.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace tessera;
using namespace tessera::runtime;

namespace {

PackIndex index() {
  PackIndex made;
  made.version = "0.1.0";
  made.commit = "abc";
  made.compiler = "build";
  made.command = "tessera pack";
  made.kernels = {{"kernels/a.py", "a", sha256Hex("text"), Json::object()}};
  made.tables = {"tessera_tuning: 1\n"};
  for (const char *target : {"cpu:x86-64-v3:0000", "sm_80"}) {
    PackEntry entry;
    entry.request = sha256Hex(target);
    entry.target = target;
    entry.configuration = "BM=64";
    entry.assembler = std::string(target) == "sm_80" ? "12.8.93" : "";
    made.entries.push_back(entry);
  }
  return made;
}

std::string packed() {
  Artifact cpu, gpu;
  cpu.code = "shared object";
  gpu.code = "cubin";
  gpu.stages["ptx"] = ".version 8.7";
  return encodePack(index(), {cpu, gpu});
}

std::string failureOf(const std::string &bytes) {
  try {
    decodePack(bytes, "run.tpack");
  } catch (const Error &error) {
    EXPECT_FALSE(error.hint.empty()) << error.message;
    return error.message;
  }
  return "";
}

void expectHas(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

} // namespace

TEST(PackFile, WhatIsWrittenIsRead) {
  const std::string bytes = packed();
  const PackIndex read = decodePack(bytes, "run.tpack");
  PackIndex expected = index();
  for (size_t i = 0; i < expected.entries.size(); ++i) {
    expected.entries[i].offset = read.entries[i].offset;
    expected.entries[i].bytes = read.entries[i].bytes;
  }
  EXPECT_EQ(read, expected);
  EXPECT_EQ(readPacked(bytes, read, read.entries[0], "p").code,
            "shared object");
  EXPECT_EQ(readPacked(bytes, read, read.entries[1], "p").stages.at("ptx"),
            ".version 8.7");
  EXPECT_EQ(packed(), bytes);
}

// Wherever a file is cut, and whichever bit of it changed.
TEST(PackFile, NoDamageIsOverlooked) {
  const std::string bytes = packed();
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_NE(failureOf(bytes.substr(0, size)), "") << size;
  expectHas(failureOf(bytes.substr(0, 40)), "is cut");
  expectHas(failureOf(bytes.substr(0, bytes.size() - 1)), "is cut");
  expectHas(failureOf(bytes + "x"), "too long");
  expectHas(failureOf("{}"), "not a pack of tessera");
  const PackIndex good = decodePack(bytes, "run.tpack");
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] = char(changed[i] ^ 1 << i % 8);
    if (!failureOf(changed).empty())
      continue;
    // Header and index are intact, so the changed bit is in an artifact.
    size_t refused = 0;
    for (const PackEntry &entry : good.entries)
      try {
        readPacked(changed, good, entry, "run.tpack");
      } catch (const Error &error) {
        expectHas(error.message, "run.tpack: the code of `a` for ");
        ++refused;
      }
    EXPECT_EQ(refused, 1u) << i;
  }
}

// With a right checksum, as no accident makes it.
TEST(PackFile, AnEntryEndsWhereTheArtifactsEnd) {
  std::string bytes = packed();
  const PackEntry last = decodePack(bytes, "run.tpack").entries.back();
  const size_t end = size_t(last.offset + last.bytes);
  const std::string word = "\"bytes\":" + std::to_string(last.bytes);
  const size_t place = bytes.rfind(word);
  ASSERT_NE(place, std::string::npos);
  const std::string more = "\"bytes\":" + std::to_string(last.bytes + 1);
  ASSERT_EQ(more.size(), word.size());
  bytes.replace(place, word.size(), more);
  const Sha256Digest sum = Sha256()
                               .update(std::string_view(bytes).substr(0, 40))
                               .update(std::string_view(bytes).substr(end))
                               .finish();
  std::memcpy(bytes.data() + 40, sum.data(), sum.size());
  expectHas(failureOf(bytes), "an entry is outside of the file");
}

TEST(PackFile, AnotherVersionIsReported) {
  std::string bytes = packed();
  bytes[8] = 2;
  expectHas(failureOf(bytes),
            "is a pack of version 2; this tessera reads version 1");
}
