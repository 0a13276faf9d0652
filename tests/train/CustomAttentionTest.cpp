// tests/train/CustomAttentionTest.cpp - training with a kernel of a user's
// file.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/train/TrainRun.h"

#include <cmath>
#include <filesystem>

using namespace tessera;

namespace {

class CustomAttention : public TrainRun {
protected:
  CommandResult train(const std::string &config,
                      std::vector<std::string> more = {}) {
    std::vector<std::string> all = {TESSERA_TRAIN,
                                    "train",
                                    "--config",
                                    config,
                                    "data.path=" + folder.file("text"),
                                    "out=" + folder.file("run"),
                                    "threads=1"};
    all.insert(all.end(), more.begin(), more.end());
    return runCommand(all, std::chrono::seconds(600));
  }
  const std::string dilated = TESSERA_SOURCE "/configs/dilated_window.yaml";
};

TEST_F(CustomAttention, DilatedWindowTrains200Steps) {
  const std::vector<std::string> small = {"train.seq_len=64",
                                          "train.log_every=1"};
  expectFine(train(dilated, small));
  const auto all = steps("run");
  ASSERT_EQ(all.size(), 200u);
  for (const auto &[loss, norm] : all)
    ASSERT_TRUE(std::isfinite(loss) && std::isfinite(norm));
  EXPECT_LT(all.back().first, 0.5 * all.front().first);
  EXPECT_GE(metrics("run")["kernels_loaded"].get<int>(), 3);
}

/// A window that covers everything with STEP=1 is dense attention, so the
/// losses are those of torch's.
TEST_F(CustomAttention, IsDenseAttentionWhenItSeesEverything) {
  const std::vector<std::string> common = {"train.steps=20", "train.seq_len=64",
                                           "train.log_every=1",
                                           "train.weight_decay=0.1"};
  std::vector<std::string> mine = common;
  mine.push_back("attention.constexprs=W=64, STEP=1");
  expectFine(train(dilated, mine));
  const auto ours = steps("run");
  std::vector<std::string> theirs = common;
  for (const char *setting :
       {"attention=sdpa", "kernels=torch", "model.dim=64", "model.layers=2",
        "model.heads=4", "model.kv_heads=2", "model.key_dim=16",
        "model.value_dim=16", "model.mlp_dim=256", "train.batch_size=2",
        "train.lr=0.006", "train.warmup=20", "train.save_every=0",
        "panel=false"})
    theirs.push_back(setting);
  std::vector<std::string> command = {
      TESSERA_TRAIN, "train", "data.path=" + folder.file("text"),
      "out=" + folder.file("dense"), "threads=1"};
  command.insert(command.end(), theirs.begin(), theirs.end());
  expectFine(runCommand(command, std::chrono::seconds(600)));
  const auto dense = steps("dense");
  ASSERT_EQ(ours.size(), 20u);
  ASSERT_EQ(dense.size(), 20u);
  for (size_t i = 0; i < 20; ++i)
    EXPECT_NEAR(ours[i].first / dense[i].first, 1, 1e-3) << "step " << i + 1;
}

// The run keeps the file that its weights were trained with.
TEST_F(CustomAttention, GeneratesFromAnotherFolder) {
  const std::string source =
      readFile(TESSERA_SOURCE "/kernels/tutorials/dilated_window.py");
  std::filesystem::create_directories(folder.path / "mine");
  folder.write("mine/attention.py", source);
  const auto in = [](const std::string &where,
                     const std::vector<std::string> &command) {
    std::vector<std::string> all = {"/bin/sh", "-c",
                                    "cd " + where + " && exec \"$@\"", "sh"};
    all.insert(all.end(), command.begin(), command.end());
    return runCommand(all, std::chrono::seconds(300));
  };
  expectFine(
      in(folder.path.string(),
         {TESSERA_TRAIN, "train", "--config", dilated,
          "attention.kernel=mine/attention.py", "train.steps=1",
          "train.seq_len=64", "train.final_windows=1", "threads=1",
          "data.path=" + folder.file("text"), "out=" + folder.file("run")}));
  const std::vector<std::string> generate = {
      TESSERA_TRAIN, "generate", "--run",    folder.file("run"),
      "--tokens",    "4",        "--prompt", "the "};
  const CommandResult here = in(folder.path.string(), generate);
  expectFine(here);
  const CommandResult there = in("/", generate);
  expectFine(there);
  EXPECT_EQ(here.output, there.output);
}

TEST_F(CustomAttention, WrongKernelsAreRefused) {
  const auto refused = [&](const std::vector<std::string> &more,
                           const std::string &message) {
    expectRefused(train(dilated, more), message);
  };
  refused({"attention.fwd=dilated_windw"}, "did you mean `dilated_window`?");
  refused({"attention.bwd=window_bwd"}, "no kernel `window_bwd`");
  refused({"attention.bwd=dilated_window_bwd_dq"},
          "0 backward kernels of `dilated_window` write DK");
  refused({"attention.bwd="}, "attention.bwd is missing");
  refused({"attention.constexprs=W=4,STEPS=2"}, "sets `STEPS`");
  refused({"attention.constexprs=W=4, D=8"}, "it follows from the model");
  refused({"attention.constexprs=W=four"}, "write NAME=number");
  refused({"attention.kernel=nowhere.py"}, "no kernel file nowhere.py");
  refused({"attention.kernel=kernels/nsa/select_fwd.py",
           "attention.fwd=select_fwd"},
          "has a parameter `q.ptr` that nothing is passed for");
  std::string text =
      readFile(TESSERA_SOURCE "/kernels/tutorials/dilated_window.py");
  const size_t hint = text.find("# tessera: grid(cdiv");
  text.erase(hint, text.find('\n', hint) - hint);
  writeFile(folder.file("no_grid.py"), text);
  refused({"attention.kernel=" + folder.file("no_grid.py"),
           "attention.fwd=dilated_window"},
          "does not say its grid");
  refused({"attention=dense"}, "attention is dense, and attention.kernel");
  refused({"kernels=torch"}, "set kernels: tessera");
  refused({"attention.learned=GATE"}, "has no parameter `GATE`");
  refused({"attention.learned=gate"}, "names in capitals");
  // None of these runs has made a step, so none has left a folder.
  EXPECT_TRUE(std::filesystem::exists(folder.file("run")));
  EXPECT_FALSE(std::filesystem::exists(folder.file("run/previous-1")));
}

} // namespace
