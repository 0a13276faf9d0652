// tests/unit/compiler/WorkerTest.cpp - the worker as a process.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/BuildId.h"
#include "support/Frames.h"
#include "support/Json.h"
#include "support/Process.h"
#include "tests/unit/compiler/Requests.h"

#include "gtest/gtest.h"

#include <sys/socket.h>
#include <unistd.h>

using namespace tessera;
using namespace std::chrono_literals;

namespace {

class WorkerTest : public testing::Test {
protected:
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    socket = ends[0];
    SpawnOptions options;
    options.arguments = {TESSERA_WORKER_PATH};
    options.environment = environment;
    options.descriptors = {{workerRequestFd, ends[1]},
                           {workerReplyFd, ends[1]}};
    process.emplace(Process::spawn(options));
    close(ends[1]);
  }
  void TearDown() override {
    if (socket >= 0)
      close(socket);
  }

  std::pair<std::string, std::string> ask(const std::string &request) {
    EXPECT_EQ(writeFrame(socket, request, 30s), FrameStatus::Good);
    std::string json, artifact;
    phases.clear();
    for (;;) {
      const FrameStatus status = readFrame(socket, json, 60s);
      EXPECT_EQ(status, FrameStatus::Good);
      if (status != FrameStatus::Good)
        return {"{}", ""};
      if (!json.starts_with(phasePrefix))
        break;
      phases.push_back(json.substr(phasePrefix.size()));
    }
    EXPECT_EQ(readFrame(socket, artifact, 60s), FrameStatus::Good);
    return {json, artifact};
  }

  // The worker's; SetUp() again starts another with it.
  std::vector<std::string> environment;
  int socket = -1;
  std::optional<Process> process;
  std::vector<std::string> phases; // of the last answer
};

TEST_F(WorkerTest, ReportsItsBuild) {
  auto [json, artifact] = ask(R"({"hello": 1})");
  EXPECT_EQ(parseJson(json, "reply")["build_id"], compilerBuildId());
  EXPECT_TRUE(artifact.empty());
}

TEST_F(WorkerTest, AnswersOneRequestAfterAnother) {
  std::string request = scaledExpRequest().toJson();
  auto [json, artifact] = ask(request);
  auto result = language::CompileResult::fromJson(json);
  ASSERT_TRUE(result.ok) << result.rendered;
  EXPECT_EQ(artifact.substr(0, 4), "\177ELF");
  EXPECT_EQ(phases, (std::vector<std::string>{"front end", "loops", "LLVM"}));
  auto [json2, artifact2] = ask(request);
  EXPECT_EQ(artifact, artifact2);
  double cold = result.timings["total"];
  double warm = language::CompileResult::fromJson(json2).timings["total"];
  std::printf("cold %.1f ms, warm %.1f ms\n", cold * 1e3, warm * 1e3);
}

TEST_F(WorkerTest, LivesOnAfterErrors) {
  for (const char *bad : {"", "{", "[]", "{}", "null", R"({"file": 3})"}) {
    auto [json, artifact] = ask(bad);
    auto result = language::CompileResult::fromJson(json);
    EXPECT_FALSE(result.ok) << bad;
    EXPECT_FALSE(result.rendered.empty()) << bad;
    EXPECT_TRUE(artifact.empty());
  }
  auto [json, artifact] = ask(requestWithLine("y = x + nowhere").toJson());
  auto result = language::CompileResult::fromJson(json);
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.diagnostics.at(0).id, "UnknownName");
  EXPECT_TRUE(
      language::CompileResult::fromJson(ask(scaledExpRequest().toJson()).first)
          .ok);
}

#ifndef __SANITIZE_ADDRESS__ // which leaves the memory unlimited
// The system refuses memory to a runaway compilation, and the error reports it.
// Which allocation fails first differs from process to process; some are
// MLIR's, which does not check the result of malloc.
TEST_F(WorkerTest, ReportsThatMemoryHasRunOut) {
  environment = {"TESSERA_COMPILE_MEMORY=80M"};
  for (int i = 0; i < 40 && !HasFailure(); ++i) {
    close(socket);
    SetUp();
    auto [json, artifact] = ask(scaledExpRequest().toJson());
    auto result = language::CompileResult::fromJson(json);
    EXPECT_FALSE(result.ok);
    for (const char *part : {"kernels/scaled_exp.py: error: ", "`scaled_exp`",
                             "80.0 MiB", "HINT: ", "TESSERA_COMPILE_MEMORY"})
      EXPECT_NE(result.rendered.find(part), std::string::npos)
          << result.rendered;
    const auto ended = process->wait(10s);
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->code, 70) << ended->text();
  }
}
#endif

TEST_F(WorkerTest, RefusesALimitThatIsNoSize) {
  close(socket);
  environment = {"TESSERA_COMPILE_MEMORY=lots"};
  SetUp();
  const auto ended = process->wait(10s);
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->code, 1) << ended->text();
}

TEST_F(WorkerTest, EndsWhenTheOtherSideCloses) {
  ask(R"({"hello": 1})");
  close(socket);
  socket = -1;
  EXPECT_TRUE(process->wait(10s).has_value());
}

} // namespace
