// tests/unit/support/ScratchFolderTest.cpp - a folder for the time of a scope.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/ScratchFolder.h"
#include "support/Error.h"
#include "support/File.h"
#include "tests/unit/support/TemporaryFolder.h"

#include <gtest/gtest.h>

using namespace tessera;
namespace fs = std::filesystem;

namespace {

// TMPDIR for the time of a test.
class ScratchFolders : public testing::Test {
protected:
  void SetUp() override { use(parent.path().string()); }
  void TearDown() override {
    if (before)
      ::setenv("TMPDIR", before->c_str(), 1);
    else
      ::unsetenv("TMPDIR");
  }
  static void use(const std::string &folder) {
    ::setenv("TMPDIR", folder.c_str(), 1);
  }
  TemporaryFolder parent;

private:
  std::optional<std::string> before =
      ::getenv("TMPDIR") ? std::optional<std::string>(::getenv("TMPDIR"))
                         : std::nullopt;
};

TEST_F(ScratchFolders, GoesWithAllThatIsInIt) {
  fs::path kept;
  {
    const ScratchFolder scratch("diff"), other("diff");
    kept = scratch.path();
    EXPECT_NE(kept, other.path());
    EXPECT_EQ(kept.parent_path(), parent.path());
    EXPECT_TRUE(kept.filename().string().starts_with("tessera-diff-")) << kept;
    EXPECT_EQ(fs::status(kept).permissions(), fs::perms::owner_all);
    fs::create_directories(kept / "a/b");
    writeFile(kept / "a/b/file", "text");
  }
  EXPECT_FALSE(fs::exists(kept));
  EXPECT_TRUE(fs::is_empty(parent.path()));
}

TEST_F(ScratchFolders, BelowAnotherFolder) {
  const fs::path other = parent.path() / "other";
  fs::create_directory(other);
  {
    const ScratchFolder scratch("link", other);
    EXPECT_EQ(scratch.path().parent_path(), other);
  }
  EXPECT_TRUE(fs::is_empty(other));
}

TEST_F(ScratchFolders, ReportsWhereItCannotBe) {
  for (const std::string &folder :
       {(parent.path() / "none").string(), std::string("/proc")}) {
    use(folder);
    try {
      ScratchFolder scratch("diff");
      FAIL() << scratch.path();
    } catch (const Error &error) {
      EXPECT_NE(error.hint.find("TMPDIR"), std::string::npos) << error.hint;
      EXPECT_NE(error.message.find("cannot make a folder in "),
                std::string::npos)
          << error.message;
    }
  }
}

} // namespace
