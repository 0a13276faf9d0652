// tests/unit/trainer/data/FetchTest.cpp - files of a list, checked and gone on
// with.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/Fetch.h"

#include "support/Error.h"
#include "support/File.h"
#include "support/Hash.h"
#include "tests/unit/trainer/TestFolder.h"

#include <cstdlib>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>

using namespace tessera;
using namespace tessera::trainer;
namespace fs = std::filesystem;

namespace {

class Fetch : public testing::Test {
protected:
  Fetch() {
    for (size_t i = 0; i < 3 << 20; ++i)
      large += char(i * 2654435761u >> 13);
    folder.write("mirror/a.bin", "first file");
    folder.write("mirror/deep/b.bin", large);
  }

  Fetched fetch(const std::string &list, const std::string &mirror = "") {
    lines.clear();
    options.list = folder.write("list", list);
    options.out = folder.file("out");
    options.mirror = mirror;
    return fetchData(options,
                     [&](const std::string &line) { lines += line + "\n"; });
  }
  std::string refused(const std::string &list, const std::string &mirror = "") {
    try {
      fetch(list, mirror);
    } catch (const Error &e) {
      EXPECT_FALSE(e.hint.empty());
      return e.message + "\nHINT: " + e.hint;
    }
    return "no error";
  }
  static void expectHas(const std::string &text, const std::string &part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  std::string got(const std::string &name) {
    return readFile(folder.path / "out" / name);
  }
  bool has(const std::string &name) {
    return fs::exists(folder.path / "out" / name);
  }
  std::string address(const std::string &name) {
    return "file://" + folder.file("mirror/" + name);
  }

  TestFolder folder;
  FetchOptions options;
  std::string large, lines;
};

TEST_F(Fetch, FilesOfAListComeOnce) {
  const std::string list = "# two files\n\n" + address("a.bin") + " " +
                           sha256Hex("first file") + "\n" + sha256Hex(large) +
                           " *deep/b.bin\n";
  Fetched done = fetch(list, fs::relative(folder.file("mirror")).string());
  EXPECT_EQ(got("a.bin"), "first file");
  EXPECT_EQ(got("b.bin"), large);
  EXPECT_EQ(done.files, 2);
  EXPECT_EQ(done.there, 0);
  EXPECT_EQ(done.bytes, int64_t(10 + large.size()));
  EXPECT_EQ(done.unchecked, 0);
  EXPECT_FALSE(has("a.bin.part"));
  // The source may be gone: nothing is read again.
  fs::remove_all(folder.path / "mirror");
  done = fetch(list, folder.file("mirror"));
  EXPECT_EQ(done.there, 2);
  EXPECT_EQ(done.bytes, 0);
}

TEST_F(Fetch, ResumesAfterTheReceivedBytes) {
  // Without a checksum it shows: the bytes that are there stay.
  std::string half = large.substr(0, large.size() / 2);
  half[7] ^= 1;
  folder.write("out/b.bin.part", half);
  EXPECT_EQ(fetch(address("deep/b.bin") + "\n").unchecked, 1);
  EXPECT_EQ(got("b.bin"), half + large.substr(half.size()));
  expectHas(lines, "no checksum");
  // With one the wrong beginning is noticed, and everything comes anew.
  fs::remove(folder.path / "out/b.bin");
  folder.write("out/b.bin.part", half);
  fetch(address("deep/b.bin") + " " + sha256Hex(large) + "\n");
  EXPECT_EQ(got("b.bin"), large);
  // So it is with more bytes than the file has.
  folder.write("out/a.bin.part", "something longer than it");
  fetch(address("a.bin") + " " + sha256Hex("first file") + "\n");
  EXPECT_EQ(got("a.bin"), "first file");
}

TEST_F(Fetch, WrongFilesAreRefusedAndNothingIsLost) {
  const std::string other = sha256Hex("another file");
  std::string text = refused("\n" + address("a.bin") + " " + other);
  expectHas(text, "list:2: ");
  expectHas(text, "has the SHA-256 " + sha256Hex("first file"));
  EXPECT_FALSE(has("a.bin"));
  EXPECT_FALSE(has("a.bin.part"));

  folder.write("out/a.bin", "mine");
  expectHas(refused(address("a.bin") + " " + other),
            "is there with another SHA-256");
  EXPECT_EQ(got("a.bin"), "mine");

  expectHas(refused(address("none.bin")), "cannot read");
  expectHas(refused("b.bin"), "neither a URL nor a path\nHINT: --mirror");
  expectHas(refused("https://host/"), "no name of a file");
  expectHas(refused("https://host/.."), "no name of a file");
  expectHas(refused("https://host/x 1234"), "not an address with a SHA-256");
  expectHas(refused("https://h/x?a=1\nhttps://g/x"), "x comes from");
  expectHas(refused("# nothing"), "has no addresses");

  const UniqueFd lock(
      ::open(folder.file("out/.fetch.lock").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::flock(lock.get(), LOCK_EX | LOCK_NB), 0);
  expectHas(refused(address("deep/b.bin")), "another fetch is at work");
}

TEST_F(Fetch, OtherProtocolsNamesAndSourcesAreRefused) {
  for (const char *address :
       {"ftp://host/x", "scp://host/x", "-Kconfig://host/x", "dict://host/x",
        "gopher://host/x", "://host/x"})
    expectHas(refused(address), "is not an https address");
  expectHas(refused("x", "ftp://host"), "is not an https address");
  expectHas(refused("https://host/.bashrc"), "names a hidden file");
  expectHas(refused("https://host/.fetch.lock"), "names a hidden file");
  expectHas(refused("/dev/zero"), "/dev/zero is not a regular file");
  expectHas(refused("file:///dev/zero"), "/dev/zero is not a regular file");
  options.largest = 9;
  expectHas(refused(address("a.bin")), "has more than 9 B\nHINT: --max-size");
  EXPECT_FALSE(has("a.bin"));
  options.largest = 10;
  fetch(address("a.bin"));
  EXPECT_EQ(got("a.bin"), "first file");
}

// A program named curl on PATH replaces curl: it appends the missing bytes, as
// `--continue-at -` requests, or exits as curl does if the server does not
// support ranges.
TEST_F(Fetch, CurlFetchesUrlsAndResumes) {
  const std::string script =
      "#!/bin/sh\n"
      "echo \"$@\" >>'" +
      folder.file("asked") +
      "'\n"
      "while [ $# -gt 1 ]; do [ \"$1\" = --output ] && out=$2; shift; done\n"
      "have=0; [ -e \"$out\" ] && have=$(wc -c <\"$out\")\n"
      "case $1 in\n"
      "*norange*) [ $have -gt 0 ] && exit 33 ;;\n"
      "*gone*) exit 22 ;;\n"
      "esac\n"
      "tail -c +$((have + 1)) '" +
      folder.file("mirror/deep/b.bin") + "' >>\"$out\"\n";
  fs::permissions(folder.write("bin/curl", script), fs::perms::owner_all);
  const std::string before = std::getenv("PATH");
  ::setenv("PATH", (folder.file("bin") + ":" + before).c_str(), 1);
  const std::string sum = " " + sha256Hex(large) + "\n";
  folder.write("out/x.bin.part", large.substr(0, 1000));
  folder.write("out/norange.bin.part", large.substr(0, 1000));
  fetch("https://host/x.bin?token=1" + sum + "norange.bin" + sum,
        "https://mirror/folder");
  EXPECT_EQ(got("x.bin"), large);
  EXPECT_EQ(got("norange.bin"), large);
  const std::string asked = readFile(folder.file("asked"));
  expectHas(asked, "https://host/x.bin?token=1\n");
  expectHas(asked, "https://mirror/folder/norange.bin\n");
  expectHas(asked, "--continue-at - ");
  // The first option: no .curlrc. The last one: what follows is an address.
  EXPECT_TRUE(asked.starts_with("--disable ")) << asked;
  expectHas(asked, " --proto =https --proto-redir =https ");
  expectHas(asked, " --max-filesize 68719476736 ");
  expectHas(asked, " --globoff ");
  expectHas(asked, " -- https://host/x.bin");
  const std::string text = refused("https://host/gone.bin" + sum);
  expectHas(text, "list:1: https://host/gone.bin did not come: curl ended with "
                  "exit status 22");
  EXPECT_FALSE(has("gone.bin"));
  expectHas(refused("http://host/z.bin" + sum),
            "is not an https address\nHINT: use https");
  options.http = true;
  fetch("http://host/z.bin" + sum);
  EXPECT_EQ(got("z.bin"), large);
  expectHas(readFile(folder.file("asked")),
            " --proto =http,https --proto-redir =http,https ");
  fetch("HTTPS://host/upper.bin" + sum); // https still ends at https
  const std::string last = readFile(folder.file("asked"));
  expectHas(last.substr(last.rfind("--disable")), "--proto-redir =https ");
  options.http = false;
  // A server that does not say the size of what it sends.
  options.largest = large.size() - 1;
  expectHas(refused("https://host/long.bin" + sum), "has more than 3.0 MiB");
  EXPECT_FALSE(has("long.bin"));
  EXPECT_FALSE(has("long.bin.part"));
  options.largest = large.size();
  fetch("https://host/long.bin" + sum);
  ::setenv("PATH", folder.file("nothing").c_str(), 1);
  expectHas(refused("https://host/y.bin" + sum), "apt-get install curl");
  ::setenv("PATH", before.c_str(), 1);
}

} // namespace
