// tests/train/SaveTest.cpp - checkpoints that are written while steps are made.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/train/TrainRun.h"

#include <csignal>

using namespace tessera;
namespace fs = std::filesystem;

namespace {

class Save : public TrainRun {
protected:
  /// A run that saves at steps 3, 6, 9 and 12, with CrashAt.cpp loaded.
  CommandResult saving(const std::string &out,
                       std::vector<std::string> environment) {
    environment.push_back("LD_PRELOAD=" TESSERA_CRASH_AT);
    environment.push_back("CRASH_TRACE=" + folder.file(out + ".trace"));
    return runCommand(command(out, {"train.save_every=3", "train.keep=9",
                                    "train.final_windows=8"}),
                      std::chrono::seconds(300), environment);
  }
  std::string trace(const std::string &out) {
    return readFile(folder.file(out + ".trace"));
  }
};

// The first save waits in its third operation until two steps after it are
// logged: the run makes them meanwhile, and the checkpoint is that of its step.
TEST_F(Save, StepsContinueWhileACheckpointIsWritten) {
  expectFine(saving("straight", {}));
  expectFine(saving("slow", {"CRASH_SAVE=1", "CRASH_AT=3", "CRASH_WAIT=5"}));
  EXPECT_NE(trace("slow").find("1 3 waited"), std::string::npos)
      << trace("slow");
  for (const int step : {3, 6, 9, 12})
    for (const char *name : {"model.safetensors", "optimizer.safetensors"})
      EXPECT_EQ(checkpoint("slow", step, name),
                checkpoint("straight", step, name))
          << step << " " << name;
  EXPECT_EQ(steps("slow"), steps("straight"));
}

// The one that is being written is completed, and so is that of the step
// reached.
TEST_F(Save, ASignalDuringASaveLosesNothing) {
  for (const char *operation : {"CRASH_AT=1", "CRASH_AT=8"}) {
    const std::string out = std::string("stopped.") + (operation + 6);
    const CommandResult stopped =
        saving(out, {"CRASH_SAVE=2", operation,
                     "CRASH_SIGNAL=" + std::to_string(SIGTERM)});
    EXPECT_EQ(stopped.status.code, 128 + SIGTERM) << stopped.errors;
    EXPECT_NE(stopped.errors.find("stopped and saved at step"),
              std::string::npos)
        << stopped.errors;
    EXPECT_TRUE(fs::exists(folder.path / out / "ckpt/step_00000006/DONE"));
    for (const auto &e : fs::directory_iterator(folder.path / out / "ckpt"))
      EXPECT_EQ(e.path().extension(), "") << e.path();
    const CommandResult resumed = saving(out, {});
    expectFine(resumed);
    if (!fs::exists(folder.path / "straight"))
      expectFine(saving("straight", {}));
    EXPECT_EQ(checkpoint(out, 12, "model.safetensors"),
              checkpoint("straight", 12, "model.safetensors"));
  }
}

} // namespace
