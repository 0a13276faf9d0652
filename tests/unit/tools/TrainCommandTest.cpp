// tests/unit/tools/TrainCommandTest.cpp - verbs that other programs carry out.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/File.h"
#include "support/Process.h"
#include "tests/unit/support/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <filesystem>

using namespace tessera;
namespace fs = std::filesystem;

namespace {

// The program with others beside it that say how they were started.
class TrainCommand : public testing::Test {
protected:
  TrainCommand() {
    fs::copy_file(TESSERA_PROGRAM, folder.path() / "tessera");
    for (const char *name : {"tessera-train", "tessera-bench"}) {
      const fs::path path = folder.path() / name;
      writeFile(path, "#!/bin/sh\necho \"$(basename $0) $* "
                      "spin=$GOMP_SPINCOUNT policy=$OMP_WAIT_POLICY\"\n");
      fs::permissions(path, fs::perms::owner_all);
    }
  }
  std::string run(std::vector<std::string> arguments,
                  std::vector<std::string> environment = {}) {
    arguments.insert(arguments.begin(), {"/usr/bin/env", "-u", "GOMP_SPINCOUNT",
                                         "-u", "OMP_WAIT_POLICY"});
    arguments.insert(arguments.begin() + 5, environment.begin(),
                     environment.end());
    arguments.insert(arguments.begin() + 5 + long(environment.size()),
                     (folder.path() / "tessera").string());
    const CommandResult result =
        runCommand(arguments, std::chrono::seconds(60));
    EXPECT_TRUE(result.status.ok()) << result.errors;
    return result.output;
  }

  TemporaryFolder folder;
};

} // namespace

TEST_F(TrainCommand, TheVerbIsAnArgumentOfTraining) {
  EXPECT_EQ(run({"train", "--config", "x"})
                .find("tessera-train train "
                      "--config x "),
            0u);
  EXPECT_EQ(run({"generate"}).find("tessera-train generate "), 0u);
}

TEST_F(TrainCommand, BenchIsAProgramOfItsOwn) {
  EXPECT_EQ(run({"bench", "fwd", "--rounds", "2"})
                .find("tessera-bench fwd "
                      "--rounds 2 "),
            0u);
}

// Torch's threads give the core away soon when they wait, unless someone has
// said what they do.
TEST_F(TrainCommand, ThreadsThatWaitYield) {
  EXPECT_NE(run({"train"}).find("spin=1000 policy=\n"), std::string::npos);
  EXPECT_NE(run({"bench", "fwd"}).find("spin=1000 policy=\n"),
            std::string::npos);
  EXPECT_NE(run({"train"}, {"GOMP_SPINCOUNT=7"}).find("spin=7 policy=\n"),
            std::string::npos);
  EXPECT_NE(
      run({"train"}, {"OMP_WAIT_POLICY=active"}).find("spin= policy=active\n"),
      std::string::npos);
}
