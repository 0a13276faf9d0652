// tests/unit/autotune/search/TableFileTest.cpp - tests of
// autotune/search/TableFile.h and of Times: several writers of one file.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/search/TableFile.h"

#include "autotune/search/Times.h"
#include "support/Error.h"
#include "tests/unit/support/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <thread>

using namespace tessera;
using namespace tessera::tune;
namespace fs = std::filesystem;

namespace {

const DeviceModel processor = {"A Processor", "cpu:x86-64-v3:0000", 2, 4, 0};

TuneEntry someTime(const std::string &kernel, double us,
                   const std::string &text = std::string(32, '0')) {
  TuneEntry entry;
  entry.key.kernel = kernel + ".py:" + kernel;
  entry.key.textHash = text;
  entry.timeUs = us;
  entry.date = "2026-01-01";
  return entry;
}

// The number of files in the table's folder: a write leaves no temporary file
// there.
size_t filesIn(const fs::path &folder) {
  return size_t(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

} // namespace

TEST(TableFile, TwoWritersKeepEachOthersEntries) {
  TemporaryFolder folder;
  const fs::path path = folder.path() / "table.yaml";
  TableFile a(path, processor, {}), b(path, processor, {});
  a.replace(someTime("x", 1));
  a.write();
  b.replace(someTime("y", 2));
  b.write();
  EXPECT_EQ(readTable(path).entries().size(), 2u);
  // The last writer's time of one kernel stays, and entries of older texts go.
  a.replace(someTime("y", 3, std::string(32, '1')));
  a.write();
  b.write();
  const TuneTable table = readTable(path);
  ASSERT_EQ(table.entries().size(), 2u);
  EXPECT_EQ(table.entries()[1].timeUs, 3);
  EXPECT_EQ(b.table(), table);
  EXPECT_EQ(filesIn(folder.path()), 1u);
}

TEST(TableFile, ManyWritersAtOnceLoseNothing) {
  TemporaryFolder folder;
  const fs::path path = folder.path() / "table.yaml";
  constexpr int writers = 4, each = 10;
  std::vector<std::thread> threads;
  for (int w = 0; w < writers; ++w)
    threads.emplace_back([&, w] {
      TableFile table(path, processor, {});
      Times times = Times::read(timesFile(path));
      for (int i = 0; i < each; ++i) {
        const std::string name =
            "k" + std::to_string(w) + "_" + std::to_string(i);
        table.replace(someTime(name, 1));
        table.write();
        KnownTime known;
        known.seconds.median = 1;
        times.set(name, known);
        times.write(timesFile(path));
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(readTable(path).entries().size(), size_t(writers * each));
  EXPECT_EQ(Times::read(timesFile(path)).size(), size_t(writers * each));
  EXPECT_EQ(filesIn(folder.path()), 2u);
}

TEST(TableFile, ATableThatIsOfAnotherDeviceByNowStaysAsItIs) {
  TemporaryFolder folder;
  const fs::path path = folder.path() / "table.yaml";
  TableFile table(path, processor, {});
  TuneTable other;
  other.device = {"Another", "cpu:x86-64-v4:0000", 8, 16, 0};
  other.set(someTime("z", 1));
  writeTable(path, other);
  table.replace(someTime("x", 1));
  EXPECT_THROW(table.write(), Error);
  EXPECT_EQ(readTable(path), other);
}

// A time that this process measured replaces the other's, and one that it only
// read does not.
TEST(Times, OfTwoWritersAreThoseThatEachMeasured) {
  TemporaryFolder folder;
  const fs::path file = folder.path() / "t.times";
  KnownTime one, two;
  one.seconds.median = 1;
  two.seconds.median = 2;
  Times first;
  first.set("a", one);
  first.set("b", one);
  first.write(file);
  Times second = Times::read(file);
  first.set("a", two);
  first.write(file);
  second.set("b", two);
  second.write(file);
  const Times found = Times::read(file);
  EXPECT_EQ(found.find("a")->seconds.median, 2);
  EXPECT_EQ(found.find("b")->seconds.median, 2);
  EXPECT_EQ(second.find("a")->seconds.median, 2);
}
