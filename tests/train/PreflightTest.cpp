// tests/train/PreflightTest.cpp - tessera preflight: the first steps of a run,
// which leave no files.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/train/TrainRun.h"

using namespace tessera;
namespace fs = std::filesystem;

namespace {

class FirstSteps : public TrainRun {
protected:
  CommandResult preflight(const std::vector<std::string> &more) {
    std::vector<std::string> all = command("mine", more);
    all[0] = TESSERA_PROGRAM;
    all[1] = "preflight";
    // What it leaves would be here.
    return runCommand(all, std::chrono::seconds(300),
                      {"TMPDIR=" + folder.file("tmp")});
  }
  void expectNothingLeft() {
    EXPECT_TRUE(fs::is_empty(folder.file("tmp")));
    EXPECT_FALSE(fs::exists(folder.file("mine")));
  }
  FirstSteps() { fs::create_directories(folder.file("tmp")); }
};

TEST_F(FirstSteps, AreMadeWithTheScheduleOfTheRun) {
  const CommandResult go =
      preflight({"train.steps=100000", "train.warmup=0", "train.lr=0.01"});
  EXPECT_EQ(go.status.code, 0) << go.output << go.errors;
  for (const char *part :
       {"steps     20 of 20", "tokens/s", "GO\n", "100000 steps, about"})
    EXPECT_NE(go.output.find(part), std::string::npos) << go.output;
  // The last rate is that of step 20 of 100000.
  EXPECT_NE(go.errors.find("step 20/100000"), std::string::npos) << go.errors;
  EXPECT_EQ(go.output.find("NO-GO"), std::string::npos);
  expectNothingLeft();
}

TEST_F(FirstSteps, ARateThatIsTooHighIsNoGo) {
  const CommandResult no = preflight({"train.steps=100000", "train.warmup=0",
                                      "train.lr=90", "train.weight_decay=50"});
  EXPECT_EQ(no.status.code, 1) << no.output << no.errors;
  EXPECT_NE(no.output.find("NO-GO: "), std::string::npos) << no.output;
  EXPECT_EQ(no.output.find("\nGO"), std::string::npos) << no.output;
  expectNothingLeft();
}

TEST_F(FirstSteps, ARunThatCannotStartIsNoGo) {
  const CommandResult no = preflight({"data.path=/nowhere"});
  EXPECT_EQ(no.status.code, 1) << no.output << no.errors;
  EXPECT_NE(no.output.find("NO-GO: the run failed: exit status 1"),
            std::string::npos)
      << no.output;
  EXPECT_NE(no.output.find("change the settings and repeat tessera preflight"),
            std::string::npos)
      << no.output;
  EXPECT_NE(no.errors.find("/nowhere"), std::string::npos) << no.errors;
  expectNothingLeft();
}

} // namespace
