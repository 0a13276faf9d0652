// tests/faults/ClockTest.cpp - the size limit, and clocks that are set back.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/Fixture.h"

#include <fcntl.h>
#include <sys/stat.h>

using namespace tessera;
using namespace tessera::runtime;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {
constexpr int64_t day = 86400;

class Clock : public Faults {
protected:
  static Artifact artifact(const std::string &kernel) {
    Artifact made;
    made.code = std::string(1000, kernel[0]) + kernel;
    made.meta = {{"kernel", kernel}, {"build", "build"}};
    return made;
  }
  // A load that must give the kernel, or must be a miss.
  bool there(Cache &cache, const std::string &kernel) {
    auto got = cache.load(sha256(kernel));
    outcomes.count("attempts");
    if (got)
      outcomes.count("loaded");
    outcomes.count(!got || got->code == artifact(kernel).code ? "right"
                                                              : "wrong");
    return bool(got);
  }
  static void store(Cache &cache, const std::string &kernel) {
    cache.store(sha256(kernel), artifact(kernel));
  }
  // As if last used then; seconds from now.
  static void setUse(const fs::path &path, int64_t seconds) {
    const timespec time = {::time(nullptr) + seconds, 0};
    const timespec times[2] = {time, time};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  }
  void setUse(Cache &cache, const std::string &kernel, int64_t seconds) {
    setUse(cache.entryPath(sha256(kernel)), seconds);
  }
  static bool exists(Cache &cache, const std::string &kernel) {
    return fs::exists(cache.entryPath(sha256(kernel)));
  }

  // Bytes of one entry; all have names of one length.
  uint64_t size() {
    return encodeArtifact(artifact("a0"), sha256("a0")).size();
  }
  fs::path place() { return settings().cacheFolder; }
  Outcomes outcomes;
};
} // namespace

TEST_F(Clock, TheLeastRecentlyUsedGoes) {
  Cache cache(place(), 5 * size());
  for (int i = 0; i < 5; ++i) {
    const std::string name = "a" + std::to_string(i);
    store(cache, name);
    setUse(cache, name, -100 + i);
  }
  EXPECT_TRUE(there(cache, "a0")); // used now: the last to go
  store(cache, "b0");
  EXPECT_EQ(cache.list().size(), 4u); // a tenth stays free
  for (const char *kept : {"a0", "a3", "a4", "b0"})
    EXPECT_TRUE(there(cache, kept)) << kept;
  for (const char *gone : {"a1", "a2"})
    EXPECT_FALSE(there(cache, gone)) << gone;
  // Quarantine goes before any entry.
  makePrivateFolder(place() / "quarantine");
  writeFile(place() / "quarantine" / "old.tk", std::string(3 * size(), 'x'));
  store(cache, "b0");
  EXPECT_FALSE(fs::exists(place() / "quarantine" / "old.tk"));
  EXPECT_EQ(cache.list().size(), 4u);
  // An entry that is larger than the limit is not kept, and evicts no other
  // entry.
  Artifact large = artifact("c0");
  large.code = std::string(6 * size(), 'x');
  cache.store(sha256("c0"), large);
  EXPECT_EQ(cache.list().size(), 4u);
  outcomes.report("size limit: least recently used first");
}

// Times in the future would keep entries for ever, and the newest
// kernels would go first.
TEST_F(Clock, SetBack) {
  Cache cache(place(), 5 * size());
  for (int i = 0; i < 5; ++i) {
    const std::string name = "a" + std::to_string(i);
    store(cache, name);
    setUse(cache, name, (3650 + i) * day);
  }
  for (int i = 0; i < 8; ++i) {
    const std::string name = "b" + std::to_string(i);
    store(cache, name);
    EXPECT_TRUE(there(cache, name)) << name;
  }
  // Eight were stored since: none of the future is left.
  for (const CacheEntry &entry : cache.list()) {
    EXPECT_EQ(entry.kernel[0], 'b');
    EXPECT_LT(entry.age, 60s);
  }
  outcomes.report("clock set back ten years: old entries still age");
}

TEST_F(Clock, SetForward) {
  Cache cache(place(), 5 * size());
  for (int i = 0; i < 5; ++i)
    store(cache, "a" + std::to_string(i));
  setUse(cache, "a0", -::time(nullptr));     // 1970
  setUse(cache, "a1", -::time(nullptr) - 1); // before
  store(cache, "b0");
  EXPECT_FALSE(there(cache, "a0"));
  EXPECT_FALSE(there(cache, "a1"));
  for (const char *kept : {"a2", "a3", "a4", "b0"})
    EXPECT_TRUE(there(cache, kept)) << kept;
  outcomes.report("times of 1970 and before: first to go");
}

TEST_F(Clock, PruneByAge) {
  Cache cache(place());
  for (int i = 0; i < 6; ++i)
    store(cache, "a" + std::to_string(i));
  setUse(cache, "a0", -40 * day);
  setUse(cache, "a1", -31 * day);
  setUse(cache, "a2", -29 * day);
  setUse(cache, "a3", 400 * day);
  setUse(cache, "a4", -::time(nullptr) - 5);
  PruneOptions options;
  options.olderThan = std::chrono::seconds(30 * day);
  options.dryRun = true;
  EXPECT_EQ(cache.prune(options).removed.size(), 3u);
  EXPECT_EQ(cache.list().size(), 6u);
  options.dryRun = false;
  const PruneResult result = cache.prune(options);
  EXPECT_EQ(result.removed.size(), 3u);
  EXPECT_EQ(result.kept, 3u);
  EXPECT_EQ(result.keptBytes, 3 * size());
  for (const char *kept : {"a2", "a3", "a5"})
    EXPECT_TRUE(there(cache, kept)) << kept;
  for (const char *gone : {"a0", "a1", "a4"})
    EXPECT_FALSE(there(cache, gone)) << gone;
  outcomes.report("prune --older-than with times of the future and of 1970");
}

TEST_F(Clock, PruneRemovesStaleBadAndLeftovers) {
  Cache cache(place());
  for (int i = 0; i < 3; ++i)
    store(cache, "a" + std::to_string(i));
  Artifact other = artifact("b0");
  other.meta["build"] = "older";
  cache.store(sha256("b0"), other);
  Artifact unnamed = artifact("b1");
  unnamed.meta.erase("build");
  cache.store(sha256("b1"), unnamed);
  writeFile(cache.entryPath(sha256("bad")), "bad");
  writeFile(place() / "someone.tk", "not ours"); // no key: not served either
  makePrivateFolder(place() / "quarantine");
  writeFile(place() / "quarantine" / "x.tk", "x");
  writeFile(place() / ".a.tk.1.0.tmp", "left");
  writeFile(place() / ".b.tk.1.0.tmp", "being written");
  writeFile(place() / "keep.txt", "the user's");
  setUse(place() / ".a.tk.1.0.tmp", -2 * day);
  FileLock held = cache.lock(sha256("a0"));
  {
    FileLock dropped = cache.lock(sha256("a1"));
  }

  PruneOptions options;
  options.onlyBuild = "build";
  const PruneResult result = cache.prune(options);
  EXPECT_EQ(result.removed.size(), 4u);
  EXPECT_EQ(result.kept, 3u);
  EXPECT_EQ(result.leftovers, 3u); // quarantine, one temporary, one lock
  EXPECT_TRUE(fs::exists(place() / ".b.tk.1.0.tmp"));
  EXPECT_TRUE(fs::exists(place() / "keep.txt"));
  EXPECT_TRUE(fs::exists(place() / "locks" / toHex(sha256("a0"))));
  EXPECT_FALSE(fs::exists(place() / "locks" / toHex(sha256("a1"))));
  for (const char *kept : {"a0", "a1", "a2"})
    EXPECT_TRUE(there(cache, kept)) << kept;

  setUse(cache, "a1", -5);
  setUse(cache, "a2", -10);
  options.maxBytes = 2 * size();
  EXPECT_EQ(cache.prune(options).removed.size(), 1u);
  EXPECT_FALSE(exists(cache, "a2"));
  outcomes.report("prune: stale, bad, left behind; what is in use stays");
}
