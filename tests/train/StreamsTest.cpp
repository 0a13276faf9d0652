// tests/train/StreamsTest.cpp - training patterns with several streams of keys.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/train/TrainRun.h"

#include <algorithm>
#include <filesystem>

using namespace tessera;
namespace fs = std::filesystem;

namespace {

using Settings = std::vector<std::string>;

class Streams : public TrainRun {
protected:
  /// The command of a run without the settings of NSA's sizes.
  Settings unsized(const std::string &out, const Settings &more) {
    Settings all = command(out, more);
    std::erase_if(all, [](const std::string &setting) {
      return setting.starts_with("nsa.");
    });
    return all;
  }
  CommandResult start(const std::string &out, const Settings &more) {
    return runCommand(unsized(out, more), std::chrono::seconds(300));
  }
  void expectSame(const std::string &one, const std::string &other) {
    for (const char *name : {"model.safetensors", "optimizer.safetensors"})
      EXPECT_EQ(checkpoint(one, 12, name), checkpoint(other, 12, name));
  }
  Settings mixedWith(Settings more) const {
    more.insert(more.begin(), mixed.begin(), mixed.end());
    return more;
  }

  // Each layer has compressed keys of other sizes.
  const Settings mixed = {
      "kernels=tessera",
      "model.layers=3",
      "train.save_every=5",
      "train.keep=9",
      "attention=compressed_sparse,heavily_compressed,kernels/patterns/nsa.py",
      "attention_params=top=4,l=8,d=4,window=9,heads=2,dim=8; "
      "l=16,d=16,window=5; block=8,top=4,l=4,d=2,window=7"};
};

TEST_F(Streams, ThePatternOfNsaIsTheKindNsa) {
  expectFine(
      run("kind", {"kernels=tessera", "attention=nsa", "train.save_every=12"}));
  const Settings pattern = {"kernels=tessera",
                            "attention=kernels/patterns/nsa.py",
                            "attention_params=block=16,top=4,l=8,d=4,window=16",
                            "train.save_every=12"};
  expectFine(start("pattern", pattern));
  expectSame("kind", "pattern");
  Settings other = pattern;
  other[2] = "attention_params=block=16,top=4,l=16,d=4,window=16";
  expectRefused(run("sized", other),
                "nsa.l is set, but kernels/patterns/nsa.py has its sizes");
}

TEST_F(Streams, LayersOfEveryFormLearn) {
  expectFine(start("run", mixedWith({"train.steps=40", "train.save_every=0"})));
  const auto all = records("run");
  ASSERT_EQ(all.size(), 40u);
  EXPECT_LT(all.back()["bpb"].get<double>(),
            0.9 * all.front()["bpb"].get<double>());
  for (const auto &record : all)
    EXPECT_GT(record["index_loss"].get<double>(), 0) << record;
}

TEST_F(Streams, ResumesBitForBitAndGenerates) {
  expectFine(start("straight", mixed));
  expectFine(start("resumed", mixed));
  fs::remove(folder.path / "resumed/metrics.json");
  for (const char *step : {"step_00000010", "step_00000012"})
    fs::remove_all(folder.path / "resumed/ckpt" / step);
  Settings other = mixed;
  other.back() = "attention_params=top=4,l=8,d=4,window=9,heads=2,dim=8; "
                 "l=16,d=16,window=6; block=8,top=4,l=4,d=2,window=7";
  expectRefused(start("resumed", other), "window=6");
  expectFine(start("resumed", mixed));
  expectSame("straight", "resumed");
  expectFine(
      runCommand({TESSERA_TRAIN, "generate", "--run", folder.file("resumed"),
                  "--prompt", "the ", "--tokens", "3"},
                 std::chrono::seconds(120)));
}

TEST_F(Streams, TwoProcessesAndRecomputedActivationsGiveTheSameModel) {
  expectFine(start("one", mixed));
  expectFine(
      start("again", mixedWith({"runtime.gradient_checkpointing=full"})));
  expectSame("one", "again");
  Settings two = unsized("two", mixed);
  two.insert(two.begin() + 2, {"--nproc", "2"});
  expectFine(runCommand(two, std::chrono::seconds(300)));
  const auto one = steps("one"), ours = steps("two");
  ASSERT_EQ(one.size(), ours.size());
  for (size_t i = 0; i < one.size(); ++i)
    EXPECT_NEAR(ours[i].first / one[i].first, 1, 1e-6) << "step " << i + 1;
}

} // namespace
