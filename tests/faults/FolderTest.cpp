// tests/faults/FolderTest.cpp - cache folders that are full, forbidden or odd.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cpu/CpuModule.h"
#include "tests/faults/Fixture.h"

#include <csignal>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace tessera;
using namespace tessera::runtime;
namespace fs = std::filesystem;

namespace {
class Folder : public Faults {
protected:
  Folder() { ::setenv("FAKE_WORKER_NAMED", "1", 1); }

  // The kernels "k0", "k1", ... of one process's life with that folder.
  static void attempts(const CompileService::Settings &settings, int kernels,
                       Outcomes &outcomes) {
    CompileService service(settings);
    const size_t before = service.cache().list().size();
    for (int i = 0; i < kernels; ++i)
      attempt(service, "k" + std::to_string(i), outcomes);
    countWork(service, outcomes);
    const size_t stored = service.cache().list().size() - before;
    outcomes.count("memory", service.counters().compiled - stored);
  }

  // Counts from a child, or why the test is skipped.
  std::string merge(const std::string &text, Outcomes &outcomes) {
    if (text.rfind("skip: ", 0) == 0)
      return text.substr(6);
    if (text.empty() || text[0] != '{')
      ADD_FAILURE() << text;
    else
      outcomes.add(parseJson(text, "outcomes"));
    return "";
  }
  // As the user 65534 if this is root: root may do everything.
  static void dropRights() {
    if (::geteuid() == 0 && (::setgid(65534) || ::setuid(65534)))
      throw Error("cannot become another user");
  }
};

size_t temporariesIn(const fs::path &folder) {
  return Cache(folder).leftovers().temporaries;
}
} // namespace

TEST_F(Folder, WritableByOthersIsNotUsed) {
  const fs::path path = settings().cacheFolder;
  Outcomes outcomes;
  makePrivateFolder(path);
  for (mode_t mode : {0777, 0770, 0702, 01777}) {
    ::chmod(path.c_str(), mode);
    testing::internal::CaptureStderr();
    attempts(settings(), 2, outcomes);
    attempts(settings(), 2, outcomes);
    const std::string log = testing::internal::GetCapturedStderr();
    if (mode == 0777) {
      EXPECT_NE(log.find("chmod go-w " + path.string()), std::string::npos)
          << log;
      EXPECT_NE(log.find("not cached"), std::string::npos) << log;
      EXPECT_EQ(log.find("not cached"), log.rfind("not cached"))
          << "warned twice";
    }
    EXPECT_TRUE(fs::is_empty(path));
  }
  EXPECT_EQ(outcomes["memory"], outcomes["right"]);
  outcomes.report("folder writable by others");
}

TEST_F(Folder, ReadOnlyFolder) {
  const fs::path path = settings().cacheFolder;
  makePrivateFolder(path);
  if (::geteuid() == 0) {
    ::chmod(folder.path().c_str(), 0711);
    ASSERT_EQ(::chown(path.c_str(), 65534, 65534), 0);
  }
  ::chmod(path.c_str(), 0500);
  Outcomes outcomes;
  merge(inChild([&] {
          dropRights();
          Cache cache(path);
          const bool good =
              !cache.usable() &&
              checkPrivateFolder(path).state == FolderState::Unwritable &&
              !cache.load(sha256("k"));
          cache.store(sha256("k"), {});
          cache.lock(sha256("k"));
          Outcomes counts;
          counts.count("attempts");
          counts.count(good ? "right" : "wrong");
          counts.count("memory");
          return counts.json().dump();
        }),
        outcomes);
  ::chmod(path.c_str(), 0700);
  EXPECT_TRUE(fs::is_empty(path));
  outcomes.report("folder without the right to write");
}

TEST_F(Folder, ReadOnlyDisk) {
  Outcomes outcomes;
  const std::string skipped =
      merge(inChild([&]() -> std::string {
              auto there = settings();
              const fs::path disk = folder.path() / "disk";
              if (auto why = mountPrivate(disk, 1 << 20); !why.empty())
                return "skip: " + why;
              there.cacheFolder = disk / "cache";
              Outcomes counts;
              attempts(there, 3, counts);
              if (::mount(nullptr, disk.c_str(), nullptr,
                          MS_REMOUNT | MS_RDONLY, nullptr) != 0)
                return "skip: cannot remount (" + errnoText(errno) + ")";
              attempts(there, 5, counts);
              there.cacheFolder = disk / "another";
              attempts(there, 5, counts);
              return counts.json().dump();
            }),
            outcomes);
  if (!skipped.empty())
    GTEST_SKIP() << skipped;
  EXPECT_EQ(outcomes["right"], 13u);
  EXPECT_EQ(outcomes["memory"], 10u);
  outcomes.report("disk mounted read-only");
}

// Kernels are loaded from memory: nothing is executed from the folder.
TEST_F(Folder, DiskWithoutExecution) {
  Outcomes outcomes;
  const std::string skipped = merge(
      inChild([&]() -> std::string {
        auto there = settings();
        there.cacheFolder = folder.path() / "disk";
        if (auto why = mountPrivate(there.cacheFolder, 1 << 20, MS_NOEXEC);
            !why.empty())
          return "skip: " + why;
        Outcomes counts;
        for (int process = 0; process < 2; ++process) {
          attempts(there, 3, counts);
          CompileService service(there);
          const CpuModule module(service.get(request("k0"))->code,
                                 "tessera_entry");
          int64_t out[6] = {};
          const void *slots[3] = {out, out, out};
          alignas(64) char scratch[1024];
          const uint32_t pid[3] = {0, 0, 0}, grid[3] = {1, 1, 1};
          module.entry()(slots, pid, grid, scratch);
          counts.count(out[0] == 1 ? "ran" : "wrong");
        }
        return counts.json().dump();
      }),
      outcomes);
  if (!skipped.empty())
    GTEST_SKIP() << skipped;
  EXPECT_EQ(outcomes["loaded"], 3u);
  EXPECT_EQ(outcomes["ran"], 2u);
  outcomes.report("disk mounted noexec");
}

TEST_F(Folder, FullDisk) {
  Outcomes outcomes;
  const std::string skipped = merge(
      inChild([&]() -> std::string {
        auto there = settings();
        const fs::path disk = folder.path() / "disk";
        if (auto why = mountPrivate(disk, 256 << 10); !why.empty())
          return "skip: " + why;
        there.cacheFolder = disk / "cache";
        // Entries of one page, whatever the compiler makes of the fixture.
        writeFile(folder.path() / "code", std::string(2000, 'c'));
        ::setenv("FAKE_WORKER_ARTIFACT", (folder.path() / "code").c_str(), 1);
        // Leaves room for a few of the entries.
        writeFile(disk / "ballast", std::string(160 << 10, 'x'));
        Outcomes counts;
        testing::internal::CaptureStderr();
        attempts(there, 60, counts);
        const std::string log = testing::internal::GetCapturedStderr();
        const uint64_t kept = Cache(there.cacheFolder).list().size();
        const bool good = kept > 2 && kept < 58 &&
                          !temporariesIn(there.cacheFolder) &&
                          counts["memory"] == 60 - kept &&
                          log.find("free some space") != std::string::npos &&
                          log.find("not be kept") == log.rfind("not be kept");
        counts.count(good ? "held" : "wrong");
        // The kept entries are complete; once there is room again, every entry
        // is kept.
        fs::remove(disk / "ballast");
        attempts(there, 20, counts);
        counts.count(counts["loaded"] == std::min<uint64_t>(kept, 20)
                         ? "held"
                         : "wrong");
        return counts.json().dump();
      }),
      outcomes);
  if (!skipped.empty())
    GTEST_SKIP() << skipped;
  EXPECT_EQ(outcomes["right"], 80u);
  EXPECT_EQ(outcomes["held"], 2u);
  outcomes.report("full disk (256 KiB tmpfs)");
}

// Without any right: the limit of file sizes stops the write, and its signal,
// which would end the process, does not arrive.
TEST_F(Folder, FileSizeLimit) {
#ifdef __SANITIZE_THREAD__
  // The thread sanitizer writes a file when a process starts.
  const std::vector<rlim_t> limits = {1, 50, 104, 2000};
#else
  const std::vector<rlim_t> limits = {0, 1, 50, 104, 2000};
#endif
  Outcomes outcomes;
  merge(inChild([&] {
          ::signal(SIGXFSZ, SIG_DFL);
          // Warnings may go to a file that is longer than the limit.
          UniqueFd nothing(::open("/dev/null", O_WRONLY | O_CLOEXEC));
          ::dup2(nothing.get(), 2);
          Outcomes counts;
          for (rlim_t most : limits) {
            rlimit small = {most, RLIM_INFINITY};
            rlimit old;
            ::getrlimit(RLIMIT_FSIZE, &old);
            small.rlim_max = old.rlim_max;
            // The worker's log would be cut too.
            ::unsetenv("FAKE_WORKER_LOG");
            ::setrlimit(RLIMIT_FSIZE, &small);
            attempts(settings(), 2, counts);
            ::setrlimit(RLIMIT_FSIZE, &old);
            counts.count(Cache(settings().cacheFolder).list().empty() &&
                                 !temporariesIn(settings().cacheFolder)
                             ? "held"
                             : "wrong");
          }
          attempts(settings(), 2, counts);
          return counts.json().dump();
        }),
        outcomes);
  EXPECT_EQ(outcomes["held"], limits.size());
  EXPECT_EQ(outcomes["memory"], 2 * limits.size());
  EXPECT_EQ(outcomes["right"], 2 * limits.size() + 2);
  outcomes.report("writes stopped by the limit of file sizes");
}

TEST_F(Folder, PathsThatAreNoFolders) {
  Outcomes outcomes;
  auto there = settings();
  writeFile(folder.path() / "file", "mine");
  fs::create_symlink(folder.path() / "nowhere", folder.path() / "dangling");
  fs::create_symlink(folder.path() / "loop", folder.path() / "loop");
  ASSERT_EQ(::mkfifo((folder.path() / "pipe").c_str(), 0600), 0);
  const std::string deep = "/" + std::string(200, 'd');
  std::string tooDeep = folder.path().string();
  for (int i = 0; i < 30; ++i)
    tooDeep += deep;
  for (const fs::path &path :
       {folder.path() / "file", folder.path() / "file" / "cache",
        folder.path() / "dangling", folder.path() / "dangling" / "cache",
        folder.path() / "loop", folder.path() / "pipe",
        folder.path() / std::string(300, 'n'), fs::path(tooDeep),
        fs::path("/dev/null"), fs::path("/proc/self/cache"), fs::path()}) {
    there.cacheFolder = path;
    testing::internal::CaptureStderr();
    attempts(there, 2, outcomes);
    const std::string log = testing::internal::GetCapturedStderr();
    EXPECT_NE(log.find("are not cached on disk: "), std::string::npos)
        << path << log;
  }
  EXPECT_EQ(outcomes["memory"], 22u);
  EXPECT_EQ(readFile(folder.path() / "file"), "mine");
  outcomes.report("path of a file, pipe, broken link, too long, not there");
}

// The folder's name still fits; the entries' names no longer do.
TEST_F(Folder, PathTooLongForItsEntries) {
  Outcomes outcomes;
  auto there = settings();
  fs::path path = folder.path() / "long";
  while (path.string().size() < 3900)
    path /= std::string(100, 'd');
  path /= std::string(4085 - path.string().size(), 'e');
  there.cacheFolder = path;
  attempts(there, 3, outcomes);
  EXPECT_EQ(outcomes["right"], 3u);
  EXPECT_EQ(outcomes["memory"], 3u);
  outcomes.report("path so long that no entry fits");
}

TEST_F(Folder, LinksSpacesAndOtherLetters) {
  Outcomes outcomes;
  auto there = settings();
  makePrivateFolder(folder.path() / "target");
  fs::create_symlink(folder.path() / "target", folder.path() / "link");
  for (const char *name : {"link", "with space", "cr\nlf", "\xc3\xa9t\xc3\xa9",
                           "not utf-8 \xff", "{}%s\\"}) {
    there.cacheFolder = folder.path() / name;
    attempts(there, 2, outcomes);
    attempts(there, 2, outcomes);
  }
  EXPECT_EQ(outcomes["loaded"], 12u);
  EXPECT_EQ(outcomes["memory"], 0u);
  outcomes.report("path through a link, with spaces or odd letters");
}

// What one user's umask takes away must not make every start a cold one.
TEST_F(Folder, Umasks) {
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(folder.path().c_str(), 65534, 65534), 0);
  }
  Outcomes outcomes;
  for (mode_t mask : {0, 022, 077, 0277, 0777}) {
    const fs::path path = folder.path() / ("mask" + std::to_string(mask));
    merge(inChild([&] {
            dropRights();
            ::umask(mask);
            Artifact artifact;
            artifact.code = "code";
            Cache(path).store(sha256("k"), artifact);
            Cache second(path);
            Outcomes counts;
            counts.count("attempts");
            auto got = second.load(sha256("k"));
            struct stat info;
            const bool good = got && got->code == "code" &&
                              bool(second.lock(sha256("k")).locked()) &&
                              ::stat(path.c_str(), &info) == 0 &&
                              (info.st_mode & 0777) == 0700;
            counts.count(good ? "right" : "wrong");
            counts.count("loaded", got ? 1 : 0);
            return counts.json().dump();
          }),
          outcomes);
  }
  outcomes.report("umask 000, 022, 077, 277, 777");
}

TEST_F(Folder, AnotherUsersFolder) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "needs root, to be two users";
  Outcomes outcomes;
  ::chmod(folder.path().c_str(), 0711);
  auto countAs = [&](uid_t owner, uid_t reader) {
    const fs::path path = folder.path() / std::to_string(owner);
    makePrivateFolder(path);
    ::chmod(path.c_str(), 0755);
    ASSERT_EQ(::chown(path.c_str(), owner, owner), 0);
    merge(inChild([&] {
            if (reader && (::setgid(reader) || ::setuid(reader)))
              return std::string("died: setuid");
            Cache cache(path);
            Outcomes counts;
            counts.count("attempts");
            counts.count(cache.usable() ? "wrong" : "right");
            counts.count("memory");
            return counts.json().dump();
          }),
          outcomes);
  };
  countAs(65533, 65534); // a neighbour's
  countAs(65533, 0);     // root does not run a user's code
  countAs(0, 65534);     // root's, not writable
  outcomes.report("folder of another user");
}
