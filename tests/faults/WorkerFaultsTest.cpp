// tests/faults/WorkerFaultsTest.cpp - workers that are missing, die or hang.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/Error.h"
#include "tests/faults/Fixture.h"
#include "tests/unit/support/Allocations.h"

#include <csignal>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace tessera;
using namespace tessera::runtime;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {
class WorkerFaults : public Faults {};

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}
} // namespace

TEST_F(WorkerFaults, WarmStartNeedsNoWorker) {
  CompileService(settings()).get(request("k"));
  ASSERT_EQ(served().size(), 1u);
  const fs::path notExecutable = folder.path() / "worker";
  writeFile(notExecutable, "#!/bin/sh\n");
  for (const std::string &worker :
       {std::string("/nonexistent"), notExecutable.string()}) {
    ::setenv("TESSERA_WORKER", worker.c_str(), 1);
    CompileService service(settings());
    EXPECT_TRUE(service.get(request("k")));
    EXPECT_EQ(service.counters().loaded, 1u);
    EXPECT_EQ(service.counters().compiled, 0u);
    EXPECT_EQ(service.workers().started(), 0u);
  }
}

TEST_F(WorkerFaults, MissingWorkerIsAnErrorUntilItIsThere) {
  CompileService service(settings());
  const fs::path notExecutable = folder.path() / "worker";
  writeFile(notExecutable, "#!/bin/sh\n");
  for (const std::string &worker :
       {std::string("/nonexistent"), notExecutable.string()}) {
    ::setenv("TESSERA_WORKER", worker.c_str(), 1);
    const std::string failure = failureOf(service, request("k"));
    EXPECT_TRUE(contains(failure, worker)) << failure;
    EXPECT_TRUE(contains(failure, "HINT")) << failure;
  }
  ::setenv("TESSERA_WORKER", TESSERA_FAKE_WORKER, 1);
  EXPECT_TRUE(service.get(request("k")));
}

TEST_F(WorkerFaults, WorkerIsFoundInTheProgramsFolder) {
  ::unsetenv("TESSERA_WORKER");
  const fs::path beside =
      fs::read_symlink("/proc/self/exe").parent_path() / "tessera-worker";
  if (fs::exists(beside)) {
    EXPECT_EQ(findWorker(), beside);
    return;
  }
  try {
    findWorker();
    FAIL();
  } catch (const Error &error) {
    EXPECT_TRUE(contains(error.message, beside.parent_path().string()));
    EXPECT_TRUE(contains(error.hint, "TESSERA_WORKER"));
  }
}

TEST_F(WorkerFaults, ACrashNamesKernelConfigurationAndReproducer) {
  CompileService service(settings());
  for (const auto &[kernel, how] :
       {std::pair("crash", "signal 11"), std::pair("exit", "exit status 3"),
        std::pair("garbage", "cannot be read")}) {
    const std::string failure = failureOf(service, request(kernel));
    EXPECT_TRUE(contains(failure, how)) << failure;
    EXPECT_TRUE(contains(failure, kernel)) << failure;
    EXPECT_TRUE(contains(failure, "BM=64")) << failure;
    const size_t begin = failure.find("reproducer: ") + 12;
    const std::string path =
        failure.substr(begin, failure.find(".json", begin) + 5 - begin);
    EXPECT_EQ(language::CompileRequest::fromJson(readFile(path)).key(),
              request(kernel).key());
  }
  // Not tried again, and other kernels still compile.
  const size_t before = served().size();
  EXPECT_TRUE(contains(failureOf(service, request("crash")), "signal 11"));
  EXPECT_EQ(served().size(), before);
  EXPECT_TRUE(service.get(request("k")));
}

TEST_F(WorkerFaults, KilledWhileCompiling) {
  CompileService service(settings());
  std::string failure;
  std::thread waiting([&] { failure = failureOf(service, request("hang")); });
  ASSERT_TRUE(eventually([&] { return !served().empty(); }));
  ::kill(served()[0].first, SIGKILL);
  waiting.join();
  EXPECT_TRUE(contains(failure, "signal 9")) << failure;
}

TEST_F(WorkerFaults, TimeOutKillsTheWorkersChildren) {
  auto shortTime = settings();
  shortTime.timeout = 1s;
  Outcomes outcomes;
  CompileService service(shortTime);
  attempt(service, "family", outcomes);
  const auto processes = served();
  ASSERT_EQ(processes.size(), 2u);
  for (const auto &[pid, kernel] : processes)
    EXPECT_TRUE(eventually([&, pid = pid] { return !alive(pid); })) << kernel;
  CompileService another(settings());
  attempt(another, "k", outcomes);
  EXPECT_EQ(outcomes["error"], 1u);
  EXPECT_EQ(outcomes["right"], 1u);
  outcomes.report("hanging worker with a child: both killed at the time-out");
}

TEST_F(WorkerFaults, TimeOutKillsTheWorker) {
  auto shortTime = settings();
  shortTime.timeout = 1s;
  CompileService service(shortTime);
  const std::string failure = failureOf(service, request("hang"));
  EXPECT_TRUE(contains(failure, "within 1 s")) << failure;
  EXPECT_FALSE(alive(served()[0].first));
}

TEST_F(WorkerFaults, AKernelThatDoesNotCompileIsACompileError) {
  CompileService service(settings());
  try {
    service.get(request("fail"));
    FAIL();
  } catch (const CompileError &error) {
    EXPECT_EQ(std::string(error.what()), "k.py:1:1: error: does not compile\n");
  }
  EXPECT_TRUE(service.cache().list().empty());
}

TEST_F(WorkerFaults, AWorkerThatDiedIdleIsReplaced) {
  auto one = settings();
  one.workers = 1;
  CompileService service(one);
  service.get(request("a"));
  const pid_t first = served()[0].first;
  ::kill(first, SIGKILL);
  ASSERT_TRUE(eventually([&] { return !alive(first); }));
  EXPECT_TRUE(service.get(request("b")));
  EXPECT_NE(served()[1].first, first);
}

TEST_F(WorkerFaults, AWorkerThatLeavesAfterItsReplyIsReplaced) {
  auto one = settings();
  one.workers = 1;
  CompileService service(one);
  EXPECT_TRUE(service.get(request("leave")));
  EXPECT_TRUE(service.get(request("b"))); // sent while the first still sleeps
  EXPECT_EQ(service.workers().started(), 2u);
}

TEST_F(WorkerFaults, AGreetingOfSomethingElseIsAnError) {
  Outcomes outcomes;
  for (const std::string &greeting :
       {std::string(""), std::string("hello"), std::string("[]"),
        std::string("{}"), std::string(R"({"build_id":7})"),
        std::string(R"({"version":"2","build_id":"build"})"),
        std::string(100000, '[')}) {
    ::setenv("FAKE_WORKER_GREETING", greeting.c_str(), 1);
    CompileService service(settings());
    attempt(service, "k", outcomes);
    const std::string failure = failureOf(service, request("k"));
    EXPECT_TRUE(contains(failure, "is not a tessera-worker")) << failure;
    EXPECT_TRUE(contains(failure, TESSERA_FAKE_WORKER)) << failure;
    // The right one is there afterwards: nothing has to be restarted.
    ::unsetenv("FAKE_WORKER_GREETING");
    attempt(service, "k" + std::to_string(greeting.size()), outcomes);
  }
  for (const std::string id : {"older", "", "build "}) {
    ::setenv("FAKE_WORKER_ID", id.c_str(), 1);
    CompileService service(settings());
    attempt(service, "other", outcomes);
    ::setenv("FAKE_WORKER_ID", "build", 1);
    attempt(service, "right" + id, outcomes);
  }
  EXPECT_EQ(outcomes["error"], 10u);
  EXPECT_EQ(outcomes["right"], 10u);
  outcomes.report("worker of another version, or no worker at all");
}

// One start, not one for each kernel of a batch, waits for it.
TEST_F(WorkerFaults, AWorkerThatDoesNotGreetIsKilledSoon) {
  EXPECT_LE(settings().greetingTimeout, 30s);
  ::setenv("FAKE_WORKER_MUTE", "1", 1);
  auto one = settings();
  one.workers = 1;
  one.greetingTimeout = 500ms;
  CompileService service(one);
  const std::string failure = failureOf(service, request("k"));
  EXPECT_TRUE(contains(failure, "no greeting within 1 s")) << failure;
  EXPECT_TRUE(contains(failure, TESSERA_FAKE_WORKER)) << failure;
  EXPECT_TRUE(contains(failure, "HINT")) << failure;
  EXPECT_THROW(service.getAll({request("a"), request("b"), request("c")}),
               WorkerUnavailable);
  const auto processes = served();
  EXPECT_EQ(processes.size(), 2u);
  for (const auto &[pid, kernel] : processes)
    EXPECT_FALSE(alive(pid));
  ::unsetenv("FAKE_WORKER_MUTE");
  EXPECT_TRUE(service.get(request("k")));
}

// Without a terminal it reports what it does, too.
TEST_F(WorkerFaults, ALongCompilationReportsItsPhase) {
  WorkerPool pool(1, "build", 20s);
  std::vector<std::string> phases;
  const WorkerOutcome outcome =
      pool.run(request("phases").toJson(), 60s, [&](const std::string &phase) {
        if (!phase.empty() && (phases.empty() || phases.back() != phase))
          phases.push_back(phase);
      });
  EXPECT_EQ(outcome.failure, "");
  EXPECT_EQ(outcome.artifact, expectedCode("phases"));
  EXPECT_EQ(phases, (std::vector<std::string>{"LLVM", "ptxas"}));

  for (const bool patient : {false, true}) {
    auto one = settings();
    one.cacheFolder = folder.path() / (patient ? "patient" : "impatient");
    one.patience = patient ? one.timeout : 0ms;
    CompileService service(one);
    testing::internal::CaptureStderr();
    EXPECT_TRUE(service.get(request("phases")));
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(contains(said, "compiling `phases` ... "), !patient) << said;
  }
}

// A reply that does not fit into memory must free its worker slot: with one
// slot the next request would otherwise wait forever.
TEST_F(WorkerFaults, AnExceptionGivesTheWorkerBack) {
  auto one = settings();
  one.workers = 1;
  CompileService service(one);
  service.get(request("first"));
  {
    const LargestAllocation limit(size_t(4) << 20);
    const std::string failure = failureOf(service, request("huge"));
    EXPECT_TRUE(contains(failure, "no memory")) << failure;
    EXPECT_TRUE(contains(failure, "HINT")) << failure;
  }
  EXPECT_EQ(service.workers().busyNow(), 0u);
  // The half-read worker is gone, and the request may be tried again.
  EXPECT_EQ(service.get(request("huge"))->code.size(), size_t(16) << 20);
  EXPECT_EQ(service.workers().started(), 2u);
}

TEST_F(WorkerFaults, AWorkerOfAnotherBuildIsRefused) {
  ::setenv("FAKE_WORKER_ID", "older", 1);
  CompileService service(settings());
  const std::string failure = failureOf(service, request("k"));
  EXPECT_TRUE(contains(failure, "other sources")) << failure;
  EXPECT_TRUE(service.cache().list().empty());
  ::setenv("FAKE_WORKER_ID", "build", 1);
  EXPECT_TRUE(service.get(request("k")));
}

TEST_F(WorkerFaults, AProgramThatIsNoWorkerIsAnError) {
  for (const char *program : {"/bin/true", "/bin/false"}) {
    ::setenv("TESSERA_WORKER", program, 1);
    CompileService service(settings());
    const std::string failure = failureOf(service, request("k"));
    EXPECT_TRUE(contains(failure, program)) << failure;
    EXPECT_TRUE(contains(failure, "before it answered")) << failure;
  }
}

TEST_F(WorkerFaults, WorkersAreReusedAndLimited) {
  auto two = settings();
  two.workers = 2;
  CompileService service(two);
  std::vector<language::CompileRequest> requests;
  for (int i = 0; i < 20; ++i)
    requests.push_back(request("k" + std::to_string(i)));
  requests.push_back(request("k3"));
  service.getAll(requests);
  EXPECT_EQ(served().size(), 20u);
  EXPECT_LE(service.workers().started(), 2u);
  // The batch ends its workers.
  const pid_t pid = served()[0].first;
  EXPECT_TRUE(eventually([&] { return !alive(pid); }));
}

TEST_F(WorkerFaults, ABatchFinishesTheOthersBeforeItThrows) {
  CompileService service(settings());
  EXPECT_THROW(service.getAll({request("fail"), request("a"), request("b")}),
               CompileError);
  EXPECT_EQ(service.counters().compiled, 2u);
}

TEST_F(WorkerFaults, WorkersDieWithTheirParent) {
  pid_t parent = ::fork();
  if (parent == 0) {
    CompileService service(settings());
    failureOf(service, request("hang"));
    ::_exit(0);
  }
  ASSERT_TRUE(eventually([&] { return !served().empty(); }));
  const pid_t worker = served()[0].first;
  EXPECT_TRUE(alive(worker));
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  EXPECT_TRUE(eventually([&] { return !alive(worker); }));
}

TEST_F(WorkerFaults, StagesThatTheCacheLacksAreCompiledAgain) {
  CompileService(settings()).get(request("k"));
  auto wanted = request("k");
  wanted.emit = {"tile"};
  CompileService first(settings());
  EXPECT_EQ(first.get(wanted)->stages.at("tile"), "text of tile");
  EXPECT_EQ(first.counters().compiled, 1u);
  CompileService second(settings());
  EXPECT_EQ(second.get(wanted)->stages.at("tile"), "text of tile");
  EXPECT_EQ(second.counters().loaded, 1u);
}

// The code of every kernel ever asked for would add up in a long run.
TEST_F(WorkerFaults, TheServiceKeepsNoKernelThatTheDiskHolds) {
  CompileService service(settings());
  auto first = service.get(request("k"));
  EXPECT_EQ(service.get(request("k")), first); // in use: the same one
  const std::weak_ptr<const CompiledKernel> watch = first;
  first.reset();
  EXPECT_TRUE(watch.expired());
  // Asked for again it comes from the disk.
  EXPECT_EQ(service.get(request("k"))->code, expectedCode("k"));
  EXPECT_EQ(service.counters().compiled, 1u);
  EXPECT_EQ(service.counters().loaded, 1u);
  // A failure is remembered: its kernel is not tried again.
  EXPECT_TRUE(contains(failureOf(service, request("exit")), "exit status 3"));
  const size_t before = served().size();
  EXPECT_TRUE(contains(failureOf(service, request("exit")), "exit status 3"));
  EXPECT_EQ(served().size(), before);
}

TEST_F(WorkerFaults, WhatTheDiskCannotHoldStaysInMemory) {
  auto noDisk = settings();
  writeFile(folder.path() / "file", "no folder");
  noDisk.cacheFolder = folder.path() / "file";
  auto tooSmall = settings();
  tooSmall.cacheLimit = 100;
  for (const auto &one : {noDisk, tooSmall}) {
    CompileService service(one);
    const std::weak_ptr<const CompiledKernel> watch = service.get(request("k"));
    EXPECT_FALSE(watch.expired());
    EXPECT_EQ(service.get(request("k")), watch.lock());
    EXPECT_EQ(service.counters().compiled, 1u);
  }
}

TEST_F(WorkerFaults, ABatchGivesItsKernelsInOrder) {
  ::setenv("FAKE_WORKER_NAMED", "1", 1);
  CompileService service(settings());
  const auto made =
      service.getAll({request("a"), request("b"), request("c"), request("a")});
  ASSERT_EQ(made.size(), 4u);
  EXPECT_EQ(made[0]->code, expectedCode("a"));
  EXPECT_EQ(made[1]->code, expectedCode("b"));
  EXPECT_EQ(made[2]->code, expectedCode("c"));
  EXPECT_EQ(made[3], made[0]);
}

TEST_F(WorkerFaults, DumpsWriteTheStages) {
  auto dumping = settings();
  dumping.dumpFolder = folder.path() / "dump";
  CompileService(settings()).get(request("k"));
  CompileService service(dumping);
  service.get(request("k")); // although the disk has it
  service.get(request("k")); // once is enough
  EXPECT_EQ(service.counters().compiled, 1u);
  size_t files = 0;
  for (const auto &file : fs::recursive_directory_iterator(dumping.dumpFolder))
    if (file.path().filename() == "01-tile.mlir") {
      EXPECT_EQ(readFile(file.path()), "text of tile");
      ++files;
    }
  EXPECT_EQ(files, 1u);
}
