// tests/faults/CacheFaultsTest.cpp - one cache, many users and compilers.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/Keys.h"
#include "runtime/device/cpu/Parallel.h"
#include "tests/faults/Fixture.h"

#include <csignal>
#include <fcntl.h>
#include <future>
#include <memory>
#include <mutex>
#include <random>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace tessera;
using namespace tessera::runtime;
namespace fs = std::filesystem;

namespace {
class CacheFaults : public Faults {};
} // namespace

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

// Every process asks for every kernel several times at once.
TEST_F(CacheFaults, EightProcessesOnOneColdCache) {
  constexpr int processes = 8, requests = 200, kernels = 40;
  ::setenv("FAKE_WORKER_NAMED", "1", 1);
  std::vector<std::function<std::string()>> children;
  for (int p = 0; p < processes; ++p)
    children.push_back(startChild([&, p] {
      CompileService service(settings());
      std::vector<Outcomes> counts(requests);
      // In use as long as the process lives, so loaded once.
      std::vector<std::shared_ptr<const CompiledKernel>> held(requests);
      std::vector<std::thread> threads;
      for (int i = 0; i < requests; ++i)
        threads.emplace_back([&, i] {
          // Each process begins elsewhere.
          held[size_t(i)] =
              attempt(service, "k" + std::to_string((i + 5 * p) % kernels),
                      counts[size_t(i)]);
        });
      for (std::thread &thread : threads)
        thread.join();
      Outcomes all;
      for (const Outcomes &one : counts)
        all.add(one.json());
      countWork(service, all);
      return all.json().dump();
    }));
  Outcomes outcomes;
  for (auto &child : children) {
    const std::string text = child();
    ASSERT_EQ(text.substr(0, 1), "{") << text;
    outcomes.add(parseJson(text, "outcomes"));
  }
  EXPECT_EQ(outcomes["right"], uint64_t(processes * requests));
  EXPECT_EQ(outcomes["compiled"], uint64_t(kernels));
  EXPECT_EQ(outcomes["loaded"], uint64_t((processes - 1) * kernels));
  EXPECT_EQ(served().size(), size_t(kernels));
  Cache cache(settings().cacheFolder);
  EXPECT_EQ(cache.list().size(), size_t(kernels));
  EXPECT_EQ(cache.leftovers().temporaries, 0u);
  outcomes.report("8 processes x 200 requests at once, cold cache");
}

// Readers and writers while the limit throws entries out all the time.
TEST_F(CacheFaults, EvictionDuringReadsAndWrites) {
  constexpr int processes = 4, rounds = 300, kernels = 40;
  const fs::path place = settings().cacheFolder;
  auto artifactOf = [](unsigned kernel) {
    Artifact made;
    made.code = std::string(1000 + 50 * kernel, char('a' + kernel % 26));
    return made;
  };
  const uint64_t limit = 20000; // of about 80000
  std::vector<std::function<std::string()>> children;
  for (int p = 0; p < processes; ++p)
    children.push_back(startChild([&, p] {
      Cache cache(place, limit);
      std::mt19937 random(unsigned(p) + 1);
      Outcomes counts;
      for (int i = 0; i < rounds; ++i) {
        const unsigned kernel = random() % kernels;
        const Sha256Digest key = sha256(std::to_string(kernel));
        counts.count("attempts");
        auto got = cache.load(key);
        if (!got)
          cache.store(key, artifactOf(kernel));
        counts.count(got ? "loaded" : "compiled");
        counts.count(!got || got->code == artifactOf(kernel).code ? "right"
                                                                  : "wrong");
        if (i % 50 == 49 && p == 0) {
          PruneOptions options;
          options.maxBytes = limit / 2;
          cache.prune(options);
        }
      }
      counts.count("quarantined", cache.badEntries());
      return counts.json().dump();
    }));
  Outcomes outcomes;
  for (auto &child : children) {
    const std::string text = child();
    ASSERT_EQ(text.substr(0, 1), "{") << text;
    outcomes.add(parseJson(text, "outcomes"));
  }
  uint64_t bytes = 0;
  Cache cache(place, limit);
  for (const CacheEntry &entry : cache.list()) {
    EXPECT_FALSE(entry.bad);
    bytes += entry.bytes;
  }
  EXPECT_LE(bytes, limit);
  EXPECT_EQ(outcomes["quarantined"], 0u);
  EXPECT_EQ(cache.leftovers().temporaries, 0u);
  EXPECT_GT(outcomes["loaded"], 0u);
  // Which of them hit depends on the order; the table keeps what does not.
  Outcomes fixed;
  for (const char *name : {"attempts", "right", "wrong", "quarantined"})
    fixed.count(name, outcomes[name]);
  fixed.report("size limit with 4 processes that read, write and prune");
}

TEST_F(CacheFaults, AStoppedEvictionDoesNotStopOthers) {
  Cache cache(settings().cacheFolder, 100000);
  Artifact made;
  made.code = "code";
  ASSERT_TRUE(cache.store(sha256("first"), made));
  // As a process would that is stopped while it removes entries.
  std::optional<FileLock> held =
      FileLock::acquire(settings().cacheFolder / "locks" / "eviction");
  ASSERT_TRUE(held->locked());
  auto stored = std::async(std::launch::async,
                           [&] { return cache.store(sha256("second"), made); });
  auto pruned = std::async(std::launch::async,
                           [&] { return cache.prune(PruneOptions()).kept; });
  EXPECT_EQ(stored.wait_for(std::chrono::seconds(60)),
            std::future_status::ready);
  EXPECT_EQ(pruned.wait_for(std::chrono::seconds(60)),
            std::future_status::ready);
  held.reset(); // so that a failed test ends
  EXPECT_TRUE(stored.get());
  EXPECT_GT(pruned.get(), 0u);
  EXPECT_TRUE(cache.load(sha256("second")));
}

TEST_F(CacheFaults, LockOfADeadProcess) {
  const Sha256Digest key = artifactKey(request("k").key(), "build");
  const fs::path lock = settings().cacheFolder / "locks" / toHex(key);
  // Dies with the lock held.
  EXPECT_EQ(inChild([&]() -> std::string {
              Cache cache(settings().cacheFolder);
              FileLock held = cache.lock(key);
              if (held.locked())
                ::raise(SIGKILL);
              return "not locked";
            }),
            "died: signal 9");
  ASSERT_TRUE(fs::exists(lock));
  Outcomes outcomes;
  CompileService service(settings());
  attempt(service, "k", outcomes);
  // Or the file there is not a lock.
  const Sha256Digest other = artifactKey(request("other").key(), "build");
  fs::create_directory(settings().cacheFolder / "locks" / toHex(other));
  attempt(service, "other", outcomes);
  const Sha256Digest third = artifactKey(request("third").key(), "build");
  ASSERT_EQ(
      ::mkfifo((settings().cacheFolder / "locks" / toHex(third)).c_str(), 0600),
      0);
  attempt(service, "third", outcomes);
  countWork(service, outcomes);
  EXPECT_EQ(outcomes["right"], 3u);
  outcomes.report("lock of a dead process, or something else in its place");
}

// A data loader, say, forks while a kernel is being compiled and lives on.
TEST_F(CacheFaults, AForkDoesNotKeepTheLock) {
  const fs::path path = folder.path() / "lock";
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  UniqueFd read(ends[0]), write(ends[1]);
  std::optional<FileLock> lock = FileLock::acquire(path);
  ASSERT_TRUE(lock->locked());
  const pid_t child = ::fork();
  if (child == 0) {
    write.reset();
    char byte;
    ::_exit(::read(read.get(), &byte, 1) == 0 ? 0 : 1); // until we are done
  }
  EXPECT_FALSE(FileLock::removeUnused(path)); // held
  lock.reset();
  EXPECT_TRUE(FileLock::removeUnused(path)); // free, with the child alive
  EXPECT_EQ(::kill(child, 0), 0);
  write.reset();
  ::waitpid(child, nullptr, 0);
}

TEST_F(CacheFaults, ALockIsOnTheFileThatIsThere) {
  const fs::path path = folder.path() / "lock";
  int inside = 0, worst = 0;
  std::mutex mutex;
  std::vector<std::thread> threads;
  std::atomic<int> done{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        FileLock lock = FileLock::acquire(path);
        {
          std::lock_guard<std::mutex> guard(mutex);
          worst = std::max(worst, ++inside);
        }
        std::this_thread::yield();
        std::lock_guard<std::mutex> guard(mutex);
        --inside;
      }
      ++done;
    });
  while (done < 4) {
    FileLock::removeUnused(path);
    std::this_thread::yield();
  }
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(worst, 1);
}

// The address sanitizer of GCC 12 holds no locks of its allocator during a fork
// of a process with threads, so a child may wait forever. The thread sanitizer
// ends a child of such a process that starts a thread ("dup thread").
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_F(CacheFaults, ForkAfterLoad) {
  ::setenv("TESSERA_THREADS", "4", 1);
  ::setenv("FAKE_WORKER_NAMED", "1", 1);
  auto one = settings();
  one.workers = 1;
  CompileService service(one);
  Outcomes outcomes;
  attempt(service, "k", outcomes);
  auto kernel = service.get(request("k"));
  CpuModule module(kernel->code, "tessera_entry");
  auto runAll = [&] {
    std::vector<int64_t> out(6 * 64);
    const void *slots[3] = {out.data(), nullptr, nullptr};
    EXPECT_FALSE(runGrid(module, slots, {64, 1, 1}, 1000).happened());
    outcomes.count("attempts");
    bool right = true;
    for (int i = 0; i < 64; ++i)
      right &= out[size_t(6 * i)] == 1 && out[size_t(6 * i + 1)] == i;
    outcomes.count(right ? "right" : "wrong");
  };
  runAll(); // makes the threads
  for (int i = 0; i < 3; ++i) {
    const std::string text = inChild([&] {
      outcomes = Outcomes();
      runAll();
      attempt(service, "k", outcomes);
      attempt(service, "child" + std::to_string(i), outcomes);
      std::thread([&] { runAll(); }).join();
      return outcomes.json().dump();
    });
    ASSERT_EQ(text.substr(0, 1), "{") << text;
    outcomes.add(parseJson(text, "outcomes"));
  }
  // The worker of the parent has answered no other process, and still answers.
  attempt(service, "after", outcomes);
  runAll();
  const auto lines = served();
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines.front().first, lines.back().first);
  for (size_t i = 1; i < 4; ++i)
    EXPECT_NE(lines[i].first, lines[0].first);
  EXPECT_EQ(service.workers().started(), 1u);
  ::unsetenv("TESSERA_THREADS");
  outcomes.report("fork after kernels were loaded");
}
#endif

// A copy of the service that ends in the child must not end our workers.
TEST_F(CacheFaults, AForkedServiceEndsNobodysWorkers) {
  auto service = std::make_unique<CompileService>(settings());
  service->get(request("k"));
  const pid_t worker = served()[0].first;
  EXPECT_EQ(inChild([&] {
              service.reset();
              return std::string("done");
            }),
            "done");
  EXPECT_TRUE(alive(worker));
  EXPECT_TRUE(service->get(request("b")));
  EXPECT_EQ(served()[1].first, worker);
}
