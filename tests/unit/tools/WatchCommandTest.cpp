// tests/unit/tools/WatchCommandTest.cpp - tessera watch: status and files.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/File.h"
#include "support/Process.h"
#include "tests/unit/trainer/TestFolder.h"

#include <ctime>
#include <gtest/gtest.h>

using namespace tessera;
namespace fs = std::filesystem;

namespace {

class Watching : public testing::Test {
protected:
  /// A run whose last sign of life is `age` seconds old.
  void beat(int age) {
    folder.write("heartbeat_rank0.jsonl",
                 "{\"ts\":" + std::to_string(std::time(nullptr) - age) +
                     ",\"step\":7,\"phase\":\"step\"}\n");
  }
  CommandResult watch(std::vector<std::string> more) {
    more.insert(more.begin(), {TESSERA_PROGRAM, "watch", folder.path.string()});
    return runCommand(more, std::chrono::seconds(60));
  }
  TestFolder folder;
};

TEST_F(Watching, ItsStatusReportsWhatIsWrong) {
  beat(1);
  const CommandResult fine = watch({"--once"});
  EXPECT_EQ(fine.status.code, 0) << fine.errors;
  EXPECT_NE(fine.output.find("step 7, "), std::string::npos) << fine.output;
  EXPECT_FALSE(fs::exists(folder.file(".anomaly_type")));

  beat(300);
  const CommandResult stalled = watch({"--once", "--stall", "200"});
  EXPECT_EQ(stalled.status.code, 3) << stalled.errors;
  EXPECT_NE(stalled.output.find("heartbeat_stall: no sign of life for 30"),
            std::string::npos)
      << stalled.output;
  EXPECT_EQ(readFile(folder.file(".anomaly_type")), "heartbeat_stall\n");
  EXPECT_FALSE(fs::exists(folder.file(".HALT")));
  EXPECT_EQ(watch({"--once", "--stall", "400"}).status.code, 0);

  // Without --once it looks until something is wrong.
  EXPECT_EQ(watch({"--halt", "--interval", "0.1"}).status.code, 3);
  EXPECT_NE(readFile(folder.file(".HALT")).find("no sign of life"),
            std::string::npos);

  std::string zero;
  for (int step = 1; step <= 3; ++step)
    zero += "{\"step\":" + std::to_string(step) + ",\"grad_norm\":0.0}\n";
  folder.write("metrics.jsonl", zero);
  EXPECT_EQ(watch({"--once"}).status.code, 7);
}

TEST_F(Watching, ARunThatHasEndedEndsIt) {
  beat(100000);
  folder.write("metrics.json", "{}");
  const CommandResult ended = watch({});
  EXPECT_EQ(ended.status.code, 0) << ended.errors;
  EXPECT_NE(ended.output.find("has made all its steps"), std::string::npos);
}

TEST_F(Watching, AFolderWithoutARunIsAnError) {
  const CommandResult none = watch({"--once"});
  EXPECT_EQ(none.status.code, 1);
  EXPECT_NE(none.errors.find("has no heartbeat_rank0.jsonl"), std::string::npos)
      << none.errors;
  EXPECT_NE(none.errors.find("HINT"), std::string::npos);
}

} // namespace
