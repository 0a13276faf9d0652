// tests/train/SkipTest.cpp - updates that are left out, and runs that go on.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/Hash.h"
#include "support/Safetensors.h"
#include "tests/train/TrainRun.h"

#include <cstring>
#include <fstream>
#include <limits>

using namespace tessera;
using namespace std::chrono_literals;
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

class Skip : public TrainRun {
protected:
  /// The lines of metrics.jsonl that tell of skipped updates, by step.
  std::map<int64_t, json> skipped(const std::string &out) {
    std::istringstream in(readFile(folder.file(out) + "/metrics.jsonl"));
    std::map<int64_t, json> all;
    for (std::string line; std::getline(in, line);) {
      const json record = json::parse(line);
      if (record.contains("skipped"))
        all[record["step"]] = record;
    }
    return all;
  }

  /// Makes the embedding of `byte` not finite in a checkpoint, which stays one
  /// whose sums are right.
  void poison(const std::string &out, int step, unsigned char byte) {
    char name[32];
    std::snprintf(name, sizeof name, "step_%08d", step);
    const fs::path at = folder.path / out / "ckpt" / name;
    std::string bytes = readFile(at / "model.safetensors");
    const std::string before = sha256Hex(bytes);
    const StoredPlace place = locateTensors(bytes, "model").at("embedding");
    const float nan = std::numeric_limits<float>::quiet_NaN();
    std::memcpy(bytes.data() + place.begin +
                    byte * size_t(place.shape[1]) * sizeof nan,
                &nan, sizeof nan);
    writeFile(at / "model.safetensors", bytes);
    std::string done = readFile(at / "DONE");
    done.replace(done.find(before), before.size(), sha256Hex(bytes));
    writeFile(at / "DONE", done);
  }
};

// One byte gives a loss that is not finite; the text contains it once.
TEST_F(Skip, ANaNIsNoDeadEnd) {
  std::string text = smallText();
  text[30 * 128 + 5] = 'Z'; // window 30: in step 16
  const std::vector<std::string> settings = {"data.path=" +
                                                 folder.write("rare", text),
                                             "data.order=sequential",
                                             "train.steps=20",
                                             "train.save_every=8",
                                             "train.keep=9",
                                             "train.final_windows=4"};
  expectFine(run("nan", settings));
  fs::remove(folder.path / "nan/metrics.json");
  for (const char *later : {"step_00000016", "step_00000020"})
    fs::remove_all(folder.path / "nan/ckpt" / later);
  poison("nan", 8, 'Z');

  const CommandResult rest = run("nan", settings);
  expectFine(rest);
  EXPECT_NE(rest.errors.find("the update of step 16 is skipped: the loss is "
                             "not finite"),
            std::string::npos)
      << rest.errors;
  const auto records = skipped("nan");
  ASSERT_EQ(records.size(), 1u);
  const json &record = records.at(16);
  EXPECT_TRUE(record["loss"].is_null());
  EXPECT_EQ(record["first_window"], 30);
  EXPECT_EQ(record["first_tokens"], (std::vector<int>{30 * 128, 31 * 128}));
  // Nothing is saved while the loss of the last step was not finite; the
  // checkpoint that was due then comes one step later.
  EXPECT_FALSE(fs::exists(folder.file("nan/ckpt/step_00000016")));
  EXPECT_TRUE(fs::exists(folder.file("nan/ckpt/step_00000017")));
  EXPECT_TRUE(metrics("nan")["val_bpb"].is_number());

  // Without a budget the run stops there, and with one it resumes.
  fs::remove(folder.path / "nan/metrics.json");
  for (const char *later : {"step_00000017", "step_00000020"})
    fs::remove_all(folder.path / "nan/ckpt" / later);
  std::vector<std::string> strict = settings;
  strict.push_back("train.skip_budget=0");
  const CommandResult stopped = run("nan", strict);
  expectRefused(stopped, "is not finite at step 16");
  EXPECT_NE(stopped.errors.find("exceed train.skip_budget (0)"),
            std::string::npos)
      << stopped.errors;
  EXPECT_NE(stopped.errors.find("the checkpoint of step 8"), std::string::npos);
  strict.back() = "train.skip_budget=1";
  const CommandResult on = run("nan", strict);
  expectFine(on);
  EXPECT_NE(on.errors.find("train.skip_budget=10, this run has 1"),
            std::string::npos)
      << on.errors;
}

// Of two processes one has the sequence whose loss is not finite: both leave
// the update out, and both go on.
TEST_F(Skip, ANaNInOneProcessIsSkippedByBoth) {
  std::string text = smallText();
  text[30 * 128 + 5] = 'Z'; // window 30: in step 16, of the first process
  const std::vector<std::string> settings = {"data.path=" +
                                                 folder.write("rare", text),
                                             "data.order=sequential",
                                             "train.steps=20",
                                             "train.save_every=8",
                                             "train.keep=9",
                                             "train.final_windows=4"};
  expectFine(run("nan", settings));
  fs::remove(folder.path / "nan/metrics.json");
  for (const char *later : {"step_00000016", "step_00000020"})
    fs::remove_all(folder.path / "nan/ckpt" / later);
  poison("nan", 8, 'Z');
  std::vector<std::string> two = command("nan", settings);
  two.insert(two.begin() + 2, {"--nproc", "2"});
  const CommandResult rest = runCommand(two, 300s);
  expectFine(rest);
  const auto records = skipped("nan");
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records.at(16)["first_window"], 30);
  EXPECT_TRUE(fs::exists(folder.file("nan/ckpt/step_00000017")));
  EXPECT_TRUE(fs::exists(folder.file("nan/ckpt/step_00000020")));
  EXPECT_TRUE(metrics("nan")["val_bpb"].is_number());
}

// If all steps after a checkpoint fail, no message recommends to resume from
// it.
TEST_F(Skip, ACheckpointWithoutAFiniteStepAfterItIsNotRecommended) {
  const std::vector<std::string> settings = {
      "train.save_every=5", "train.keep=9", "train.final_windows=4"};
  expectFine(run("lost", settings));
  fs::remove(folder.path / "lost/metrics.json");
  fs::remove_all(folder.path / "lost/ckpt/step_00000012");
  poison("lost", 10, ' ');
  const CommandResult stopped = run("lost", settings);
  expectRefused(stopped, "is not finite at the last step, 12");
  for (const char *part :
       {"ckpt/step_00000010 was finite, so a lower train.lr alone does not "
        "help: "
        "its weights or the data that follow it are at fault",
        "move its folder away to resume from step 5", "resume=never"})
    EXPECT_NE(stopped.errors.find(part), std::string::npos) << stopped.errors;
  EXPECT_EQ(stopped.errors.find("with train.lr="), std::string::npos)
      << stopped.errors;
  fs::rename(folder.path / "lost/ckpt/step_00000010", folder.path / "aside");
  const CommandResult on = run("lost", settings);
  expectFine(on);
  EXPECT_NE(on.errors.find("at step 5"), std::string::npos) << on.errors;
}

// The save of step 6 waits until step 7 has failed: the message knows of it.
TEST_F(Skip, ACheckpointThatIsBeingWrittenCounts) {
  std::string text = smallText();
  text[12 * 128 + 5] = 'Z'; // window 12: in step 7
  const std::vector<std::string> settings = {"data.path=" +
                                                 folder.write("rare", text),
                                             "data.order=sequential",
                                             "train.save_every=3",
                                             "train.keep=9",
                                             "train.final_windows=4",
                                             "train.skip_budget=0"};
  expectFine(run("nan", settings));
  fs::remove(folder.path / "nan/metrics.json");
  for (const char *later : {"step_00000006", "step_00000009", "step_00000012"})
    fs::remove_all(folder.path / "nan/ckpt" / later);
  poison("nan", 3, 'Z');
  const CommandResult stopped =
      runCommand(command("nan", settings), std::chrono::seconds(300),
                 {"LD_PRELOAD=" TESSERA_CRASH_AT, "CRASH_SAVE=1", "CRASH_AT=1",
                  "CRASH_WAIT=4", "CRASH_TRACE=" + folder.file("trace")});
  expectRefused(stopped, "is not finite at step 7");
  EXPECT_NE(readFile(folder.file("trace")).find("1 1 waited"),
            std::string::npos);
  for (const char *part :
       {"ckpt/step_00000006 was finite", "resume from step 3"})
    EXPECT_NE(stopped.errors.find(part), std::string::npos) << stopped.errors;
}

// Two sequences of noise in a text that the model knows by then.
TEST_F(Skip, AnOutlierIsSkippedAlsoByAResumedRun) {
  std::string text = smallText();
  uint32_t state = 7;
  for (int i = 0; i < 256; ++i) {
    state = state * 1664525 + 1013904223;
    text[size_t(298 * 128 + i)] = char(state >> 24);
  }
  const std::vector<std::string> settings = {"data.path=" +
                                                 folder.write("noise", text),
                                             "data.order=sequential",
                                             "train.steps=160",
                                             "train.lr=0.01",
                                             "train.skip_z=6",
                                             "train.save_every=145",
                                             "train.keep=9",
                                             "train.final_windows=4"};
  expectFine(run("straight", settings));
  const auto records = skipped("straight");
  ASSERT_EQ(records.size(), 1u);
  EXPECT_TRUE(records.contains(150)) << records.begin()->second;
  expectFine(run("cut", settings));
  fs::remove(folder.path / "cut/metrics.json");
  fs::remove_all(folder.path / "cut/ckpt/step_00000160");
  const CommandResult rest = run("cut", settings);
  expectFine(rest);
  EXPECT_NE(rest.errors.find("at step 145"), std::string::npos) << rest.errors;
  EXPECT_EQ(skipped("cut"), records);
  EXPECT_EQ(checkpoint("straight", 160, "model.safetensors"),
            checkpoint("cut", 160, "model.safetensors"));
}

} // namespace
