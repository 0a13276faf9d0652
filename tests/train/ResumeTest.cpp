// tests/train/ResumeTest.cpp - from what a run resumes, and what it refuses
// without changing anything.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/train/TrainRun.h"
#include "trainer/data/Prepare.h"

#include <fstream>

using namespace tessera;
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

class Resume : public TrainRun {
protected:
  /// A finished run that looks as if it had been killed after its newest
  /// checkpoint, of those at 5, 10 and 12 steps.
  void makeUnfinished(const std::string &out,
                      std::vector<std::string> more = {}) {
    more.insert(more.end(), {"train.save_every=5", "train.keep=9"});
    expectFine(run(out, more));
    fs::remove(folder.path / out / "metrics.json");
  }
  fs::path checkpointFile(const std::string &out, int step,
                          const std::string &name) {
    char folderName[32];
    std::snprintf(folderName, sizeof folderName, "step_%08d", step);
    return folder.path / out / "ckpt" / folderName / name;
  }
  void flipByte(const fs::path &file) {
    std::string bytes = readFile(file);
    bytes[bytes.size() / 2] = char(bytes[bytes.size() / 2] ^ 16);
    writeFile(file, bytes);
  }
  void expectSame(const std::string &a, const std::string &b) {
    for (const char *name : {"model.safetensors", "optimizer.safetensors"})
      EXPECT_EQ(checkpoint(a, 12, name), checkpoint(b, 12, name));
    EXPECT_EQ(steps(a), steps(b));
    EXPECT_EQ(metrics(a)["val_bpb"], metrics(b)["val_bpb"]);
  }
  /// Every path below, with the contents of files.
  std::map<std::string, std::string> contents(const std::string &out) {
    std::map<std::string, std::string> all;
    for (const auto &e : fs::recursive_directory_iterator(folder.path / out))
      if (e.path().filename() != "lock")
        all[e.path().string()] =
            e.is_regular_file() ? readFile(e.path()) : std::string();
    return all;
  }
};

/// A run that an earlier version made from a file for nsa-vibe.
TEST_F(Resume, AFileForNsaVibeDoesNotChangeTheModelOfAnOlderRun) {
  folder.write("theirs.yaml", "runtime: {use_flash: false}\n");
  const std::vector<std::string> file = {"--config",
                                         folder.file("theirs.yaml")};
  const std::vector<std::string> keep = {"model.mlp=relu2", "nsa.gate=sigmoid",
                                         "nsa.gate_input=x"};
  const auto with = [&](const std::vector<std::string> &more) {
    std::vector<std::string> all = file;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  makeUnfinished("older", with(keep));
  const auto before = contents("older");
  const CommandResult refused = run("older", file);
  expectRefused(refused, "has another model than nsa-vibe's");
  EXPECT_NE(refused.errors.find(
                "add model.mlp=relu2 nsa.gate=sigmoid nsa.gate_input=x"),
            std::string::npos)
      << refused.errors;
  EXPECT_EQ(contents("older"), before);
  const CommandResult resumed = run("older", with(keep));
  expectFine(resumed);
  EXPECT_NE(resumed.errors.find("for these differences"), std::string::npos)
      << resumed.errors;
  // The run is finished now.
  expectRefused(run("older", file), "has another model than nsa-vibe's");
  // Without gates only the MLP counts.
  makeUnfinished("dense", with({"attention=dense", "model.mlp=relu2"}));
  const CommandResult dense = run("dense", with({"attention=dense"}));
  expectRefused(dense, "has another model than nsa-vibe's");
  EXPECT_EQ(dense.errors.find("nsa.gate="), std::string::npos) << dense.errors;
}

/// All flags of nsa-vibe at once, with a setting for each.
TEST_F(Resume, FlagsOfNsaVibeAreExplained) {
  const CommandResult result =
      runCommand({TESSERA_TRAIN, "train", "--seq-len", "2048", "--no-gc",
                  "--lr=3e-4", "--dataset", "synthetic"},
                 std::chrono::seconds(60));
  expectRefused(result, "--seq-len, --no-gc, --lr, --dataset");
  for (const char *part :
       {"train.seq_len=2048", "runtime.gradient_checkpointing=false",
        "train.lr=3e-4", "data.source=synthetic"})
    EXPECT_NE(result.errors.find(part), std::string::npos) << result.errors;
}

TEST_F(Resume, ADamagedCheckpointIsPassedOverForTheOneBefore) {
  expectFine(run("straight"));
  makeUnfinished("damaged");
  flipByte(checkpointFile("damaged", 12, "optimizer.safetensors"));
  flipByte(checkpointFile("damaged", 10, "model.safetensors"));
  const CommandResult resumed = run("damaged");
  expectFine(resumed);
  for (const char *part :
       {"passing over the checkpoint",
        "step_00000012: optimizer.safetensors "
        "is damaged",
        "step_00000010: model.safetensors is damaged", "at step 5"})
    EXPECT_NE(resumed.errors.find(part), std::string::npos) << resumed.errors;
  expectSame("straight", "damaged");
  // What is damaged stays for who wants to look, and counts no more.
  EXPECT_TRUE(
      fs::exists(folder.file("damaged/ckpt/step_00000010.damaged/DONE")));
  EXPECT_TRUE(
      fs::exists(folder.file("damaged/ckpt/step_00000012.damaged/DONE")));
}

TEST_F(Resume, WhenAllAreDamagedNothingIsStartedOver) {
  makeUnfinished("lost");
  for (const int step : {5, 10, 12})
    flipByte(checkpointFile("lost", step, "state.json"));
  const auto before = contents("lost");
  expectRefused(run("lost"), "no checkpoint can be used");
  EXPECT_EQ(contents("lost"), before);
  expectFine(run("lost", {"resume=never"}));
  EXPECT_TRUE(fs::exists(folder.file("lost/previous-1/ckpt/step_00000012")));
}

TEST_F(Resume, ARefusedOneChangesNothing) {
  makeUnfinished("mine");
  const auto before = contents("mine");
  expectRefused(run("mine", {"train.weight_decay=0.3"}), "train.weight_decay");
  expectRefused(run("mine", {"train.seq_len=64"}), "train.seq_len");
  expectRefused(run("mine", {"train.lr_final=0.001"}), "train.lr_final");
  expectRefused(run("mine", {"model.rope_scale=2"}), "model.rope_scale");
  expectRefused(run("mine", {"model.rope_scaling=yarn"}), "model.rope_scaling");
  folder.write("other", smallText() + "more");
  expectRefused(run("mine", {"data.path=" + folder.file("other")}),
                "another text");
  EXPECT_EQ(contents("mine"), before);
  // The same of a finished run that is to be put aside.
  folder.write("mine/metrics.json", "{}");
  folder.write("mine/notes.txt", "of the user's");
  const auto finished = contents("mine");
  expectRefused(run("mine"), "notes.txt");
  fs::remove(folder.file("mine/notes.txt"));
  expectRefused(run("mine", {"data.path=" + folder.write("tiny", "word")}),
                "4 bytes");
  folder.write("mine/notes.txt", "of the user's");
  EXPECT_EQ(contents("mine"), finished);
}

// At a constant rate the longer run is a straight one of that length. Nothing
// but the folder and the steps is given.
TEST_F(Resume, AFinishedRunIsExtended) {
  const std::vector<std::string> constant = {"train.lr_schedule=constant",
                                             "train.lr=0.002"};
  std::vector<std::string> longer = constant;
  longer.push_back("train.steps=20");
  expectFine(run("straight", longer));
  expectFine(run("mine", constant));
  const std::string result = readFile(folder.file("mine/metrics.json"));
  const std::vector<std::string> extend = {TESSERA_TRAIN,
                                           "train",
                                           "out=" + folder.file("mine"),
                                           "train.steps=20",
                                           "train.log_every=1",
                                           "panel=false"};
  const CommandResult more = runCommand(extend, std::chrono::seconds(300));
  expectFine(more);
  for (const char *part :
       {"train.lr=0.002", "train.steps=12, this run has 20", "at step 12",
        "train.steps 12 -> 20: the learning rate of each step from here on is "
        "that of a run of 20 steps: 0.002 in step 13, after 0.002 in step 12"})
    EXPECT_NE(more.errors.find(part), std::string::npos) << more.errors;
  for (const char *name : {"model.safetensors", "optimizer.safetensors"})
    EXPECT_TRUE(checkpoint("straight", 20, name) ==
                checkpoint("mine", 20, name))
        << name;
  EXPECT_EQ(steps("straight"), steps("mine"));
  EXPECT_EQ(metrics("straight")["val_bpb"], metrics("mine")["val_bpb"]);
  EXPECT_EQ(readFile(folder.file("mine/metrics-12.json")), result);
  // As if it had been killed in its first added step: the same command resumes
  // it.
  fs::remove(folder.path / "mine/metrics.json");
  fs::remove_all(checkpointFile("mine", 20, "DONE").parent_path());
  const CommandResult again = runCommand(extend, std::chrono::seconds(300));
  expectFine(again);
  EXPECT_NE(again.errors.find("at step 12"), std::string::npos) << again.errors;
  EXPECT_TRUE(checkpoint("straight", 20, "model.safetensors") ==
              checkpoint("mine", 20, "model.safetensors"));
  EXPECT_FALSE(fs::exists(folder.file("mine/previous-1")));
}

TEST_F(Resume, OnlyMoreStepsExtend) {
  expectFine(run("mine"));
  const json result = metrics("mine");
  // Another seed is another run, which begins; the finished one is kept.
  const CommandResult other = run("mine", {"train.steps=14", "train.seed=2"});
  expectFine(other);
  EXPECT_NE(other.errors.find("train.seed=1, this run has 2: it is not "
                              "extended"),
            std::string::npos)
      << other.errors;
  EXPECT_EQ(metrics("mine/previous-1"), result);
  EXPECT_EQ(steps("mine").size(), 14u);
  // Less than there is of a run that is under way.
  fs::remove(folder.path / "mine/metrics.json");
  const auto before = contents("mine");
  expectRefused(run("mine", {"train.steps=13", "train.seed=2"}),
                "train.steps is 13, but");
  EXPECT_EQ(contents("mine"), before);
}

TEST_F(Resume, AnOlderCheckpointWithoutSumsIsTaken) {
  expectFine(run("straight"));
  makeUnfinished("old");
  for (const int step : {5, 10, 12}) {
    json state =
        json::parse(readFile(checkpointFile("old", step, "state.json")));
    state.erase("format");
    state.erase("kernels");
    writeFile(checkpointFile("old", step, "state.json"), state.dump());
    writeFile(checkpointFile("old", step, "DONE"), "");
  }
  const CommandResult resumed = run("old");
  expectFine(resumed);
  EXPECT_NE(resumed.errors.find("at step 12"), std::string::npos);
  expectSame("straight", "old");
}

// Its settings have their old names, train.batch_size means one process, and
// what the user leaves to defaults had other ones.
TEST_F(Resume, ARunOfAnOlderVersionResumes) {
  const std::vector<std::string> given = {"train.weight_decay=0.1",
                                          "train.lr_final=0.0005"};
  expectFine(run("straight", given));
  makeUnfinished("old", given);
  for (const int step : {5, 10, 12}) {
    const fs::path file = checkpointFile("old", step, "state.json");
    json state = json::parse(readFile(file));
    state.erase("format"); // with it, DONE would have to hold sums
    json &config = state["config"];
    for (const auto &[now, before] :
         std::vector<std::pair<std::string, std::string>>{
             {"model.n_layers", "model.layers"},
             {"model.n_heads", "model.heads"},
             {"model.n_kv_groups", "model.kv_heads"},
             {"model.d_k", "model.key_dim"},
             {"model.d_v", "model.value_dim"},
             {"train.warmup_steps", "train.warmup"},
             {"train.grad_clip", "train.clip"},
             {"train.accumulate_grad_batches", "train.accumulate"}}) {
      ASSERT_TRUE(config.contains(now)) << now;
      config[before] = config[now];
      config.erase(now);
    }
    for (const char *key :
         {"train.device_batch_size", "train.lr_schedule", "train.decay_share",
          "runtime.device", "runtime.precision", "data.tokenizer"})
      EXPECT_EQ(config.erase(key), 1u) << key;
    writeFile(file, state.dump());
    writeFile(checkpointFile("old", step, "DONE"), "");
  }
  // train.lr_final is not given this time: the checkpoint has it.
  const CommandResult resumed = run("old", {"train.keep=9"});
  expectFine(resumed);
  EXPECT_NE(resumed.errors.find("at step 12"), std::string::npos);
  EXPECT_NE(resumed.errors.find("as the checkpoint has them: "
                                "train.lr_final=0.0005"),
            std::string::npos)
      << resumed.errors;
  expectSame("straight", "old");
  for (const int step : {10, 12})
    fs::remove_all(checkpointFile("old", step, "DONE").parent_path());
  fs::remove(folder.path / "old/metrics.json");
  const CommandResult earlier = run("old");
  expectFine(earlier);
  EXPECT_NE(earlier.errors.find("at step 5"), std::string::npos);
  expectSame("straight", "old");
}

// Documents as shards, each pass in an order of its own, read ahead by a thread
// or not.
TEST_F(Resume, ShardsInShuffledOrderResumeBitForBit) {
  std::istringstream words(smallText());
  std::string lines;
  for (std::string line; std::getline(words, line);)
    lines += json{{"text", line}}.dump() + "\n";
  tessera::trainer::PrepareOptions options;
  options.input = folder.write("documents.jsonl", lines);
  options.out = folder.file("shards");
  options.shardTokens = 20000;
  prepareData(options);
  const std::vector<std::string> data = {"data.path=" + options.out,
                                         "data.order=shuffled"};
  expectFine(run("straight", data));
  EXPECT_TRUE(metrics("straight").contains("val_bpb"));
  makeUnfinished("cut", data);
  for (const int step : {10, 12})
    fs::remove_all(checkpointFile("cut", step, "DONE").parent_path());
  // The order is taken from the checkpoint.
  const CommandResult rest =
      run("cut", {"data.path=" + options.out, "data.prefetch=0"});
  expectFine(rest);
  EXPECT_NE(rest.errors.find("at step 5"), std::string::npos) << rest.errors;
  expectSame("straight", "cut");
  expectRefused(run("few", {"data.path=" + options.out, "data.order=shuffled",
                            "data.at_end=stop", "train.steps=100000"}),
                "sequences of 128 tokens to train on");
}

// Packed documents: the same in the middle of a pass, held-out loss included.
// Within a phase, and where one begins.
TEST_F(Resume, SchedulesResumeBitForBit) {
  for (const std::string order : {"random", "shuffled"}) {
    const std::vector<std::string> settings = {
        "data.order=" + order,
        "train.accumulate=2",
        "train.batch_schedule=[1:8, 6:2, 9:3]",
        "train.length_schedule=[1:32, 6:64, 11:128]",
        "train.save_every=5",
        "train.keep=9",
        "train.eval_every=5"};
    expectFine(run("straight" + order, settings));
    EXPECT_EQ(metrics("straight" + order)["tokens"],
              2 * (5 * 8 * 32 + 3 * 2 * 64 + 2 * 3 * 64 + 2 * 3 * 128));
    for (const int last : {5, 10}) {
      const std::string out = "cut" + order + std::to_string(last);
      fs::copy(folder.path / ("straight" + order), folder.path / out,
               fs::copy_options::recursive);
      fs::remove(folder.path / out / "metrics.json");
      for (int step = 12; step > last; --step)
        fs::remove_all(checkpointFile(out, step, "").parent_path());
      expectFine(run(out, settings));
      expectSame("straight" + order, out);
    }
    std::vector<std::string> other = settings;
    other[2] = "train.batch_schedule=[1:8]";
    fs::remove(folder.path / ("straight" + order) / "metrics.json");
    expectRefused(run("straight" + order, other), "train.batch_schedule=[1:8, "
                                                  "6:2, 9:3], this run has");
  }
}

TEST_F(Resume, PackedDocumentsResumeBitForBit) {
  std::istringstream words(smallText());
  std::string lines;
  for (std::string line; std::getline(words, line);)
    lines += json{{"text", line}}.dump() + "\n";
  tessera::trainer::PrepareOptions options;
  options.input = folder.write("documents.jsonl", lines);
  options.out = folder.file("shards");
  prepareData(options);
  const std::vector<std::string> data = {
      "data.path=" + options.out, "data.order=shuffled",
      "data.packing=best_fit", "data.prefetch=3"};
  expectFine(run("straight", data));
  makeUnfinished("cut", data);
  for (const int step : {10, 12})
    fs::remove_all(checkpointFile("cut", step, "DONE").parent_path());
  // Order and packing are taken from the checkpoint.
  const CommandResult rest =
      run("cut", {"data.path=" + options.out, "data.prefetch=0"});
  expectFine(rest);
  EXPECT_NE(rest.errors.find("at step 5"), std::string::npos) << rest.errors;
  expectSame("straight", "cut");
  // Another packing is another run.
  fs::remove(folder.path / "cut/metrics.json");
  fs::remove_all(checkpointFile("cut", 12, "DONE").parent_path());
  expectRefused(run("cut", {"data.path=" + options.out, "data.packing=joined"}),
                "data.packing");
}

// A rate with which the run diverges: the message names a change, and the run
// resumes with exactly that change.
TEST_F(Resume, AfterANaNALowerRateResumes) {
  // A decay that is mild at the usual rate and throws weights about at 100.
  const std::string decay = "train.weight_decay=50";
  makeUnfinished("nan", {decay});
  for (const int step : {10, 12})
    fs::remove_all(checkpointFile("nan", step, "DONE").parent_path());
  const CommandResult blown = run("nan", {decay, "train.lr=100"});
  expectRefused(blown, "is not finite at the last step, 12");
  EXPECT_NE(blown.errors.find("from here on: "), std::string::npos)
      << blown.errors;
  EXPECT_NE(blown.errors.find("with train.lr=50, for example, resumes from "
                              "the checkpoint of step 5"),
            std::string::npos)
      << blown.errors;
  const CommandResult rest = run("nan", {decay, "train.lr=0.001"});
  expectFine(rest);
  EXPECT_NE(rest.errors.find("train.lr=0.003, this run has 0.001"),
            std::string::npos)
      << rest.errors;
  EXPECT_NE(rest.errors.find("at step 5"), std::string::npos);
  EXPECT_EQ(json::parse(readFile(folder.file("nan/config.json")))["train.lr"],
            0.001);
  // The new rate counts from step 6 on.
  std::istringstream lines(readFile(folder.file("nan/metrics.jsonl")));
  int step = 0;
  for (std::string line; std::getline(lines, line);) {
    const json record = json::parse(line);
    EXPECT_EQ(record["step"], ++step);
    if (step == 5) {
      EXPECT_GT(record["lr"], 0.0025);
    }
    if (step > 5) {
      EXPECT_LE(record["lr"], 0.001);
    }
  }
  EXPECT_EQ(step, 12);
}

// Without a checkpoint the message does not promise one.
TEST_F(Resume, ANaNBeforeTheFirstCheckpointStartsOver) {
  const CommandResult blown = run(
      "early", {"train.weight_decay=50", "train.lr=100", "train.save_every=0"});
  expectRefused(blown, "is not finite at the last step, 12");
  EXPECT_NE(blown.errors.find("starts over (no checkpoint was saved yet"),
            std::string::npos)
      << blown.errors;
  expectFine(run("early", {"train.lr=0.001", "train.warmup=0"}));
}

// A file may not grow beyond 16 KiB, as on a full disk: metrics fit, weights do
// not.
TEST_F(Resume, ASaveThatFailsEndsNothingAndLosesNothing) {
  expectFine(run("straight"));
  makeUnfinished("full");
  for (const int step : {10, 12})
    fs::remove_all(checkpointFile("full", step, "DONE").parent_path());
  std::vector<std::string> limited = {"/bin/sh", "-c",
                                      "ulimit -f 32; exec \"$@\"", "sh"};
  for (const std::string &argument :
       command("full", {"train.save_every=3", "train.log_every=1"}))
    limited.push_back(argument);
  const CommandResult failed = runCommand(limited, std::chrono::seconds(300));
  EXPECT_EQ(failed.status.code, 1) << failed.errors;
  for (const char *part :
       {"WARNING: no checkpoint of step 6", "WARNING: no checkpoint of step 9",
        "step 12/12", "error: cannot write", "HINT"})
    EXPECT_NE(failed.errors.find(part), std::string::npos) << failed.errors;
  const CommandResult resumed = run("full");
  expectFine(resumed);
  EXPECT_NE(resumed.errors.find("at step 5"), std::string::npos);
  expectSame("straight", "full");
}

} // namespace
