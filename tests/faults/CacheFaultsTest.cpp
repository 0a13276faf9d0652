// tests/faults/CacheFaultsTest.cpp - damaged, unusable and shared caches.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/Keys.h"
#include "support/Error.h"
#include "tests/faults/Fixture.h"

#include <csignal>
#include <fstream>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace tessera;
using namespace tessera::runtime;
namespace fs = std::filesystem;

namespace {
class CacheFaults : public Faults {
protected:
  fs::path entry() {
    return Cache(settings().cacheFolder)
        .entryPath(artifactKey(request("k").key(), "build"));
  }
  // A fresh process's view: the entry is damaged, gets recompiled and is good
  // afterwards.
  void checkRecovery(const std::string &damaged) {
    std::ofstream(entry(), std::ios::binary | std::ios::trunc) << damaged;
    CompileService service(settings());
    EXPECT_EQ(service.get(request("k"))->code,
              readFile(TESSERA_FIXTURE_KERNEL));
    EXPECT_EQ(service.counters().compiled, 1u);
    EXPECT_EQ(service.counters().loaded, 0u);
    EXPECT_EQ(service.cache().badEntries(), 1u);
    EXPECT_TRUE(
        fs::exists(settings().cacheFolder / "quarantine" / entry().filename()));
  }
};
} // namespace

TEST_F(CacheFaults, TruncatedAtEveryByteOfTheHeader) {
  CompileService(settings()).get(request("k"));
  const std::string good = readFile(entry());
  for (size_t length = 0; length <= artifactHeaderBytes; ++length)
    checkRecovery(good.substr(0, length));
  checkRecovery(good.substr(0, good.size() - 1));
  EXPECT_EQ(readFile(entry()), good);
  CompileService service(settings());
  service.get(request("k"));
  EXPECT_EQ(service.counters().loaded, 1u);
}

TEST_F(CacheFaults, FlippedBytes) {
  CompileService(settings()).get(request("k"));
  const std::string good = readFile(entry());
  for (size_t offset = 0; offset < good.size();
       offset += offset < artifactHeaderBytes ? 1 : 997) {
    std::string damaged = good;
    damaged[offset] ^= 0x40;
    checkRecovery(damaged);
  }
}

TEST_F(CacheFaults, AFolderInPlaceOfAnEntry) {
  CompileService(settings()).get(request("k"));
  fs::remove(entry());
  fs::create_directory(entry());
  CompileService service(settings());
  EXPECT_TRUE(service.get(request("k")));
  EXPECT_EQ(service.counters().compiled, 1u);
}

TEST_F(CacheFaults, AnotherCompilersEntryIsNotTaken) {
  CompileService(settings()).get(request("k"));
  auto newer = settings();
  newer.buildId = "another";
  ::setenv("FAKE_WORKER_ID", "another", 1);
  CompileService service(newer);
  service.get(request("k"));
  EXPECT_EQ(service.counters().compiled, 1u);
  EXPECT_EQ(service.cache().list().size(), 2u);
}

TEST_F(CacheFaults, EightThreadsCompileOnce) {
  CompileService service(settings());
  std::vector<std::thread> threads;
  std::vector<std::shared_ptr<const CompiledKernel>> got(8);
  for (size_t i = 0; i < got.size(); ++i)
    threads.emplace_back([&, i] { got[i] = service.get(request("slow")); });
  for (std::thread &thread : threads)
    thread.join();
  for (auto &kernel : got)
    EXPECT_EQ(kernel, got[0]);
  EXPECT_EQ(served().size(), 1u);
  EXPECT_EQ(service.counters().compiled, 1u);
}

TEST_F(CacheFaults, FourProcessesCompileOnce) {
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    pid_t pid = ::fork();
    if (pid == 0) {
      CompileService service(settings());
      ::_exit(service.get(request("slow")) ? 0 : 1);
    }
    children.push_back(pid);
  }
  for (pid_t pid : children) {
    int raw = 0;
    ASSERT_EQ(::waitpid(pid, &raw, 0), pid);
    EXPECT_EQ(raw, 0);
  }
  EXPECT_EQ(served().size(), 1u);
}

TEST_F(CacheFaults, FolderWritableByOthersIsNotUsed) {
  const fs::path path = settings().cacheFolder;
  makePrivateFolder(path);
  ::chmod(path.c_str(), 0777);
  testing::internal::CaptureStderr();
  CompileService service(settings());
  CompileService again(settings());
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("chmod go-w " + path.string()), std::string::npos) << log;
  EXPECT_EQ(log.find("not kept"), log.rfind("not kept")) << "warned twice";
  EXPECT_TRUE(service.get(request("k")));
  EXPECT_TRUE(service.get(request("k")));
  EXPECT_EQ(service.counters().compiled, 1u);
  EXPECT_TRUE(fs::is_empty(path));
}

// Root may write anywhere, so the check runs as another user where it can.
TEST_F(CacheFaults, UnwritableFolderCompilesInMemory) {
  const fs::path path = settings().cacheFolder;
  makePrivateFolder(path);
  if (::geteuid() == 0) {
    ::chmod(folder.path().c_str(), 0711);
    ASSERT_EQ(::chown(path.c_str(), 65534, 65534), 0);
  }
  ::chmod(path.c_str(), 0500);
  pid_t pid = ::fork();
  if (pid == 0) {
    if (::geteuid() == 0 && (::setgid(65534) || ::setuid(65534)))
      ::_exit(2);
    Cache cache(path);
    ::_exit(!cache.usable() &&
                    checkPrivateFolder(path).state == FolderState::Unwritable
                ? 0
                : 1);
  }
  int raw = 0;
  ASSERT_EQ(::waitpid(pid, &raw, 0), pid);
  EXPECT_EQ(raw, 0);
  ::chmod(path.c_str(), 0700);

  auto blocked = settings();
  writeFile(folder.path() / "file", "");
  blocked.cacheFolder = folder.path() / "file" / "cache";
  CompileService service(blocked);
  EXPECT_FALSE(service.cache().usable());
  EXPECT_TRUE(service.get(request("k")));
  EXPECT_EQ(service.counters().compiled, 1u);
}

TEST_F(CacheFaults, AFullDiskDoesNotStopTheRun) {
  CompileService service(settings());
  rlimit old;
  ::getrlimit(RLIMIT_FSIZE, &old);
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit small = {2000, old.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  std::shared_ptr<const CompiledKernel> kernel = service.get(request("k"));
  ::setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_EQ(kernel->code, readFile(TESSERA_FIXTURE_KERNEL));
  EXPECT_TRUE(service.cache().list().empty());
}
