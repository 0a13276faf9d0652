// tests/train/NoMemoryTest.cpp - a run whose tensors find no memory names a
// setting that takes less, and resumes with it.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/train/TrainRun.h"

using namespace tessera;
using namespace std::chrono_literals;

namespace {

class NoMemory : public TrainRun {
protected:
  CommandResult limited(const std::string &out, int64_t bytes,
                        const std::vector<std::string> &more) {
    return runCommand(command(out, more), 300s,
                      {"LD_PRELOAD=" TESSERA_LIMITED_MEMORY,
                       "TESSERA_TENSOR_BYTES=" + std::to_string(bytes)});
  }
};

// The MLP's activations are most of what a step keeps. The run resumes from its
// checkpoint with the setting that the hint names, and ends with the bits of a
// run that had enough memory.
TEST_F(NoMemory, ASettingIsNamedAndTheRunResumesWithIt) {
  const std::vector<std::string> settings = {
      "attention=sdpa",    "model.mlp_dim=2048", "train.batch_size=4",
      "train.seq_len=256", "train.save_every=2", "train.steps=4",
      "train.keep=9"};
  expectFine(run("enough", settings));
  expectFine(run("little", settings));
  std::filesystem::remove(folder.path / "little/metrics.json");
  std::filesystem::remove_all(folder.path / "little/ckpt/step_00000004");
  constexpr int64_t bytes = 44 << 20;
  const CommandResult refused = limited("little", bytes, settings);
  expectRefused(refused, "no memory for a step: ");
  const std::string setting = "runtime.gradient_checkpointing=mlp";
  EXPECT_NE(refused.errors.find("HINT: " + setting + " takes about"),
            std::string::npos)
      << refused.errors;
  std::vector<std::string> less = settings;
  less.push_back(setting);
  const CommandResult done = run("little", less);
  expectFine(done);
  EXPECT_NE(done.errors.find("at step 2"), std::string::npos) << done.errors;
  EXPECT_EQ(checkpoint("enough", 4, "model.safetensors"),
            checkpoint("little", 4, "model.safetensors"));
}

} // namespace
