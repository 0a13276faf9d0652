// tests/unit/support/TrustTest.cpp - tests of support/Trust.h.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/Trust.h"

#include "support/Descriptors.h"
#include "support/Error.h"
#include "tests/unit/support/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace tessera;
namespace fs = std::filesystem;

namespace {

class Trust : public testing::Test {
protected:
  Trust() {
    fs::create_directories(inner);
    writeFile(file, "code");
  }
  // "" if the path is trusted.
  static std::string why(const fs::path &path,
                         const TrustedContext &context = {}) {
    const auto found = findDistrust(path, context);
    if (found) {
      EXPECT_FALSE(found->hint.empty());
    }
    return found ? found->reason : "";
  }
  static void mode(const fs::path &path, mode_t bits) {
    ASSERT_EQ(::chmod(path.c_str(), bits), 0);
  }
  static std::string writable(const fs::path &path) {
    return path.string() + " is writable by others";
  }

  TemporaryFolder folder;
  const fs::path outer = folder.path() / "outer", inner = outer / "inner",
                 file = inner / "file";
};

TEST_F(Trust, OwnFilesInOwnFolders) {
  EXPECT_EQ(why(file), "");
  EXPECT_EQ(why(inner), "");
  EXPECT_EQ(why(folder.path() / "none"), "");
  EXPECT_EQ(why("/"), "");
  EXPECT_EQ(why(inner / "../inner/./file"), "");
  EXPECT_NO_THROW(requireTrusted(file, "the code"));
}

TEST_F(Trust, FilesThatOthersWriteTo) {
  for (mode_t bits : {0602, 0620, 0666, 0777}) {
    mode(file, bits);
    EXPECT_EQ(why(file), writable(file)) << std::oct << bits;
    EXPECT_TRUE(openTrusted(file).distrust);
  }
  mode(file, 0755);
  EXPECT_EQ(why(file), "");
}

TEST_F(Trust, FoldersThatOthersWriteTo) {
  for (const fs::path &path : {inner, outer, folder.path()})
    for (mode_t bits : {0770, 0707, 0777}) {
      mode(path, bits);
      EXPECT_EQ(why(file), writable(path)) << std::oct << bits;
      EXPECT_TRUE(openTrusted(file).distrust);
      mode(path, 01777); // as /tmp: others cannot replace what the user owns
      EXPECT_EQ(why(file), "");
      mode(path, 0700);
    }
  // The sticky folder itself may get files of others.
  mode(inner, 01777);
  EXPECT_EQ(why(inner), writable(inner));
}

TEST_F(Trust, TheMessageHasTheRemedy) {
  mode(outer, 0777);
  try {
    requireTrusted(file, "the code");
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.message, "the code is not used: " + writable(outer));
    EXPECT_EQ(error.hint,
              "if you trust its contents, run: chmod go-w " + outer.string());
  }
  mode(outer, 0700);
}

TEST_F(Trust, LinksAreFollowedOneByOne) {
  const fs::path link = folder.path() / "link", far = folder.path() / "far";
  fs::create_symlink("outer/inner", link);
  fs::create_symlink(fs::canonical(file), far);
  EXPECT_EQ(why(link / "file"), "");
  EXPECT_EQ(why(far), "");
  EXPECT_EQ(readFile(far), "code");
  EXPECT_TRUE(openTrusted(far).fd);
  EXPECT_EQ(openTrusted(far, LastLink::Refuse).distrust->reason,
            far.string() + " is a symbolic link");
  EXPECT_TRUE(openTrusted(link / "file", LastLink::Refuse).fd);
  // The folders that a link leads through count.
  mode(outer, 0777);
  EXPECT_EQ(why(link / "file"), writable(outer));
  EXPECT_EQ(why(far), writable(fs::canonical(outer)));
  mode(outer, 0700);
  fs::create_symlink("loop", folder.path() / "loop");
  EXPECT_EQ(openTrusted(folder.path() / "loop").error, ELOOP);
}

TEST_F(Trust, OpensRegularFilesOnly) {
  TrustedFile opened = openTrusted(file);
  ASSERT_TRUE(opened.fd);
  EXPECT_EQ(opened.bytes, 4u);
  std::string bytes;
  EXPECT_EQ(readToEnd(opened.fd.get(), bytes), 0);
  EXPECT_EQ(bytes, "code");
  EXPECT_EQ(openTrusted(inner / "none").error, ENOENT);
  EXPECT_EQ(openTrusted(file / "none").error, ENOTDIR);
  // Opening a pipe would wait.
  ASSERT_EQ(::mkfifo((inner / "pipe").c_str(), 0600), 0);
  for (const fs::path &path :
       {inner, inner / "pipe", fs::path("/dev/zero"), fs::path("/dev/full")}) {
    const TrustedFile other = openTrusted(path);
    EXPECT_FALSE(other.fd) << path;
    EXPECT_TRUE(other.distrust) << path;
  }
}

// A name with a newline or a percent sign is a name.
TEST_F(Trust, NamesAreTakenAsTheyAre) {
  for (const char *name :
       {"new\nline", "%s%n", "-rf", " ", "\xff\xfe", "..."}) {
    writeFile(inner / name, "x");
    EXPECT_EQ(why(inner / name), "");
    EXPECT_TRUE(openTrusted(inner / name).fd);
    mode(inner / name, 0666);
    EXPECT_EQ(why(inner / name), writable(inner / name));
  }
}

// The folders of the running program are as safe as the program.
TEST_F(Trust, AContextAddsItsFoldersOwnerAndMode) {
  const fs::path program = outer / "program", other = folder.path() / "other";
  writeFile(program, "p");
  writeFile(other, "o");
  mode(outer, 0777);
  EXPECT_EQ(why(file, TrustedContext::of(program)), "");
  mode(outer, 0700);
  mode(inner, 0777); // does not contain the program
  EXPECT_EQ(why(file, TrustedContext::of(program)), writable(inner));
  mode(inner, 0700);
  mode(file, 0775);
  EXPECT_EQ(why(file, TrustedContext::of(program)), writable(file));
  mode(program, 0775); // of the same group
  EXPECT_EQ(why(file, TrustedContext::of(program)), "");
  mode(file, 0777);
  EXPECT_EQ(why(file, TrustedContext::of(program)), writable(file));
  EXPECT_EQ(why(file, TrustedContext::of(folder.path() / "none")),
            writable(file));
}

// Without descriptors the check fails; it does not pass.
TEST_F(Trust, NothingIsTrustedWithoutDescriptors) {
  rlimit old;
  ::getrlimit(RLIMIT_NOFILE, &old);
  rlimit small = old;
  small.rlim_cur = 0;
  ::setrlimit(RLIMIT_NOFILE, &small);
  const auto found = findDistrust(file);
  const TrustedFile opened = openTrusted(file);
  ::setrlimit(RLIMIT_NOFILE, &old);
  ASSERT_TRUE(found);
  EXPECT_NE(found->hint.find("no free file descriptors"), std::string::npos)
      << found->hint;
  EXPECT_FALSE(opened.fd);
  EXPECT_EQ(opened.error, EMFILE);
}

// Only root can give files to other users: the test needs-root runs these.
class TrustOfOwners : public Trust {
protected:
  void SetUp() override { ASSERT_EQ(::geteuid(), 0u) << "needs root"; }
  static constexpr uid_t other = 65533;
  static void give(const fs::path &path) {
    ASSERT_EQ(::lchown(path.c_str(), other, other), 0);
  }
  static std::string foreign(const fs::path &path) {
    return path.string() + " belongs to another user (uid 65533)";
  }
};

TEST_F(TrustOfOwners, FilesFoldersAndLinksOfOtherUsers) {
  for (const fs::path &path : {file, inner, outer}) {
    give(path);
    EXPECT_EQ(why(file), foreign(path));
    EXPECT_TRUE(openTrusted(file).distrust);
    ASSERT_EQ(::lchown(path.c_str(), 0, 0), 0);
  }
  // In a folder such as /tmp, another user makes a link under any name.
  const fs::path link = folder.path() / "link";
  fs::create_symlink(file, link);
  mode(folder.path(), 01777);
  EXPECT_EQ(why(link), "");
  give(link);
  EXPECT_EQ(why(link), foreign(link));
  EXPECT_TRUE(openTrusted(link).distrust);
}

TEST_F(TrustOfOwners, RootsFilesAreTrustedByAll) {
  mode(folder.path(), 0755);
  mode(outer, 0755);
  mode(inner, 0755);
  mode(file, 0644);
  ASSERT_EQ(::seteuid(other), 0);
  const std::string of = why(file);
  const bool opened = bool(openTrusted(file).fd);
  ASSERT_EQ(::seteuid(0), 0);
  EXPECT_EQ(of, "");
  EXPECT_TRUE(opened);
}

TEST_F(TrustOfOwners, TheOwnerOfTheProgram) {
  const fs::path program = inner / "program";
  writeFile(program, "p");
  give(program);
  give(file);
  EXPECT_EQ(why(file, TrustedContext::of(program)), "");
  ASSERT_EQ(::chown(file.c_str(), 65532, 65532), 0);
  EXPECT_NE(why(file, TrustedContext::of(program)), "");
}

// Who may write to the program is not who may write to a file of another group.
TEST_F(TrustOfOwners, TheGroupOfTheProgram) {
  const fs::path program = inner / "program";
  writeFile(program, "p");
  mode(program, 0775);
  mode(file, 0775);
  EXPECT_EQ(why(file, TrustedContext::of(program)), "");
  ASSERT_EQ(::chown(file.c_str(), 0, other), 0);
  EXPECT_EQ(why(file, TrustedContext::of(program)), writable(file));
}

} // namespace
