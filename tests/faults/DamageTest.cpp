// tests/faults/DamageTest.cpp - entries that are cut, changed or no files.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/Keys.h"
#include "tests/faults/Fixture.h"

#include <fstream>
#include <random>
#include <sys/stat.h>

using namespace tessera;
using namespace tessera::runtime;
namespace fs = std::filesystem;

namespace {
class Damage : public Faults {
protected:
  Damage() {
    CompileService service(settings());
    service.get(request("k"));
    good = readFile(entry());
  }

  fs::path entry() {
    return Cache(settings().cacheFolder)
        .entryPath(artifactKey(request("k").key(), "build"));
  }
  void write(const std::string &bytes) {
    std::ofstream(entry(), std::ios::binary | std::ios::trunc) << bytes;
  }

  // In a new process the entry is a miss. The process moves it to quarantine/,
  // compiles the kernel again, and stores a good entry.
  void checkRecovery(const std::string &what) {
    testing::internal::CaptureStderr();
    CompileService service(settings());
    attempt(service, "k", outcomes);
    countWork(service, outcomes);
    const std::string log = testing::internal::GetCapturedStderr();
    EXPECT_EQ(service.counters().compiled, 1u) << what;
    EXPECT_EQ(service.counters().loaded, 0u) << what;
    EXPECT_EQ(service.cache().badEntries(), 1u) << what;
    EXPECT_NE(log.find("bad cache entry"), std::string::npos) << log;
    EXPECT_NE(log.find("): moved to " +
                       (settings().cacheFolder / "quarantine").string() +
                       "; compiling the kernel again"),
              std::string::npos)
        << log;
    EXPECT_TRUE(
        fs::exists(settings().cacheFolder / "quarantine" / entry().filename()))
        << what;
    EXPECT_EQ(readFile(entry()), good) << what;
  }

  std::string good;
  Outcomes outcomes;
};
} // namespace

TEST_F(Damage, TruncatedAtEveryByteOfTheHeader) {
  for (size_t length = 0; length <= artifactHeaderBytes; ++length) {
    write(good.substr(0, length));
    checkRecovery("at " + std::to_string(length));
  }
  for (size_t length : {artifactHeaderBytes + 1, good.size() - 1}) {
    write(good.substr(0, length));
    checkRecovery("at " + std::to_string(length));
  }
  write(good + "x");
  checkRecovery("one byte too many");
  CompileService service(settings());
  service.get(request("k"));
  EXPECT_EQ(service.counters().loaded, 1u);
  outcomes.report("entry cut at every byte of the header");
}

TEST_F(Damage, FlippedAtAThousandOffsets) {
  std::mt19937 random(4);
  for (int i = 0; i < 1000; ++i) {
    // Every byte of the header once, then anywhere.
    const size_t offset = size_t(i) < artifactHeaderBytes
                              ? size_t(i)
                              : size_t(random() % good.size());
    std::string damaged = good;
    damaged[offset] ^= char(1u << random() % 8);
    write(damaged);
    checkRecovery("flip at " + std::to_string(offset));
  }
  outcomes.report("one bit of an entry flipped, seeded places");
}

TEST_F(Damage, OverwrittenInParts) {
  std::mt19937 random(5);
  for (int i = 0; i < 100; ++i) {
    std::string damaged = good;
    const size_t offset = random() % good.size();
    const size_t length = 1 + random() % (good.size() - offset);
    for (size_t j = offset; j < offset + length; ++j)
      damaged[j] = i % 2 ? '\0' : char(random());
    if (damaged == good)
      damaged[offset] ^= 1; // zeros that were zeros
    write(damaged);
    checkRecovery(std::to_string(length) + " at " + std::to_string(offset));
  }
  outcomes.report("a stretch of an entry zeroed or overwritten");
}

TEST_F(Damage, WhatIsNoFile) {
  auto replace = [&](const std::function<void()> &make) {
    fs::remove_all(entry());
    fs::remove_all(settings().cacheFolder / "quarantine");
    make();
    checkRecovery("no file");
  };
  replace([&] { fs::create_directory(entry()); });
  replace([&] {
    fs::create_directory(entry());
    writeFile(entry() / "file", "x");
  });
  replace([&] { ASSERT_EQ(::mkfifo(entry().c_str(), 0600), 0); });
  replace([&] {
    writeFile(entry(), "");
    fs::resize_file(entry(), uint64_t(1) << 40); // sparse
  });
  replace([&] {
    writeFile(folder.path() / "elsewhere", "not ours");
    fs::create_symlink(folder.path() / "elsewhere", entry());
  });
  EXPECT_EQ(readFile(folder.path() / "elsewhere"), "not ours");
  outcomes.report("folder, pipe, link or 1 TiB hole in an entry's place");
}

// The other entry's bytes are intact: only the key differs.
TEST_F(Damage, TheEntryOfAnotherKernel) {
  CompileService service(settings());
  service.get(request("other"));
  write(readFile(
      service.cache().entryPath(artifactKey(request("other").key(), "build"))));
  checkRecovery("of another kernel");
  outcomes.report("another kernel's entry under this name");
}

TEST_F(Damage, QuarantineThatCannotBeMade) {
  writeFile(settings().cacheFolder / "quarantine", "a file");
  write(good.substr(0, 50));
  testing::internal::CaptureStderr();
  CompileService service(settings());
  attempt(service, "k", outcomes);
  countWork(service, outcomes);
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(service.counters().compiled, 1u);
  EXPECT_EQ(readFile(entry()), good);
  EXPECT_NE(log.find("): removed; compiling the kernel again"),
            std::string::npos)
      << log;
  outcomes.report("no quarantine to be had: the bad entry is removed");
}
