// tests/unit/runtime/CacheTest.cpp - tests of runtime/cache/Cache.h.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/Cache.h"
#include "runtime/cache/Keys.h"
#include "tests/unit/support/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

using namespace tessera;
using namespace tessera::runtime;
namespace fs = std::filesystem;

static Artifact artifact(const std::string &kernel, const std::string &code) {
  Artifact made;
  made.code = code;
  made.meta = {{"kernel", kernel}, {"target", "cpu:x"}};
  return made;
}

TEST(Cache, StoresLoadsListsAndClears) {
  TemporaryFolder folder;
  Cache cache(folder.path() / "new" / "cache");
  ASSERT_TRUE(cache.usable());
  const Sha256Digest a = sha256("a"), b = sha256("b");
  EXPECT_FALSE(cache.load(a));
  cache.store(a, artifact("ka", "code a"));
  cache.store(b, artifact("kb", "code b"));
  cache.store(b, artifact("kb", "code c"));
  EXPECT_EQ(cache.load(a)->code, "code a");
  EXPECT_EQ(cache.load(b)->code, "code c");
  EXPECT_EQ(Cache(cache.folder()).load(a)->code, "code a");

  auto entries = cache.list();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].kernel, "ka");
  EXPECT_EQ(entries[1].target, "cpu:x");
  EXPECT_FALSE(entries[0].bad);
  writeFile(cache.entryPath(a), "damaged");
  entries = cache.list();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_TRUE(entries[0].bad);

  EXPECT_EQ(cache.clear(), 2u);
  EXPECT_TRUE(cache.list().empty());
  EXPECT_FALSE(cache.load(b));
}

TEST(Cache, FolderComesFromTheEnvironment) {
  ::setenv("TESSERA_CACHE_DIR", "/a/b", 1);
  EXPECT_EQ(defaultCacheFolder(), "/a/b");
  ::unsetenv("TESSERA_CACHE_DIR");
  ::setenv("XDG_CACHE_HOME", "/x", 1);
  EXPECT_EQ(defaultCacheFolder(), "/x/tessera");
  ::unsetenv("XDG_CACHE_HOME");
  ::setenv("HOME", "/h", 1);
  EXPECT_EQ(defaultCacheFolder(), "/h/.cache/tessera");
  ::unsetenv("HOME");
  EXPECT_EQ(defaultCacheFolder(), "");
  EXPECT_FALSE(Cache(defaultCacheFolder()).usable());
}

TEST(Cache, KeyDependsOnRequestAndCompiler) {
  std::set<Sha256Digest> keys = {artifactKey("r1", "b1"),
                                 artifactKey("r1", "b2"),
                                 artifactKey("r2", "b1")};
  EXPECT_EQ(keys.size(), 3u);
  EXPECT_EQ(artifactKey("r1", "b1"), artifactKey("r1", "b1"));
}
