// tests/train/TrainTest.cpp - complete runs: resume, equality, signals, bad
// input.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/Hash.h"
#include "tests/train/TrainRun.h"
#include "tests/unit/trainer/data/LlmCFile.h"
#include "trainer/data/Prepare.h"

#include <cmath>
#include <csignal>
#include <fcntl.h>
#include <fmt/format.h>
#include <thread>
#include <unistd.h>

using namespace tessera;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

using Train = TrainRun;

TEST_F(Train, TwoRunsAreEqualBitForBit) {
  expectFine(run("a"));
  expectFine(run("b"));
  for (const char *name : {"model.safetensors", "optimizer.safetensors"})
    EXPECT_EQ(checkpoint("a", 12, name), checkpoint("b", 12, name));
  EXPECT_EQ(metrics("a")["val_bpb"], metrics("b")["val_bpb"]);
  EXPECT_EQ(steps("a"), steps("b"));
  expectFine(run("c", {"train.seed=2"}));
  EXPECT_NE(metrics("a")["val_bpb"], metrics("c")["val_bpb"]);
}

TEST_F(Train, AResumedRunEqualsAStraightOne) {
  expectFine(run("straight"));
  // Stop after the checkpoint of step 5 by taking away everything later.
  expectFine(run("cut", {"train.save_every=5", "train.keep=9"}));
  namespace fs = std::filesystem;
  fs::remove(folder.path / "cut/metrics.json");
  fs::remove_all(folder.path / "cut/ckpt/step_00000010");
  fs::remove_all(folder.path / "cut/ckpt/step_00000012");
  const CommandResult resumed = run("cut");
  expectFine(resumed);
  EXPECT_NE(resumed.errors.find("at step 5"), std::string::npos)
      << resumed.errors;
  for (const char *name : {"model.safetensors", "optimizer.safetensors"})
    EXPECT_EQ(checkpoint("straight", 12, name), checkpoint("cut", 12, name));
  EXPECT_EQ(metrics("straight")["val_bpb"], metrics("cut")["val_bpb"]);
  EXPECT_EQ(steps("straight"), steps("cut"));
}

TEST_F(Train, ATornCheckpointIsPassedOver) {
  expectFine(run("torn", {"train.save_every=5", "train.keep=9"}));
  namespace fs = std::filesystem;
  fs::remove(folder.path / "torn/metrics.json");
  fs::remove(folder.path / "torn/ckpt/step_00000012/DONE");
  const CommandResult resumed = run("torn");
  expectFine(resumed);
  EXPECT_NE(resumed.errors.find("at step 10"), std::string::npos)
      << resumed.errors;
}

TEST_F(Train, AFinishedRunIsKeptWhenTheNextBegins) {
  expectFine(run("twice"));
  const json first = metrics("twice");
  const CommandResult second = run("twice", {"resume=never"});
  expectFine(second);
  EXPECT_NE(second.errors.find("previous-1"), std::string::npos);
  EXPECT_EQ(metrics("twice/previous-1"), first);
  EXPECT_EQ(metrics("twice")["val_bpb"], first["val_bpb"]);
}

TEST_F(Train, AFinishedRunIsNotTrainedAgain) {
  expectFine(run("again"));
  const json first = metrics("again");
  const CommandResult second = run("again");
  expectFine(second);
  EXPECT_NE(second.errors.find("is finished"), std::string::npos)
      << second.errors;
  EXPECT_NE(second.errors.find("resume=never"), std::string::npos);
  EXPECT_EQ(metrics("again"), first);
  EXPECT_FALSE(std::filesystem::exists(folder.path / "again/previous-1"));
  // Another setting is another run.
  expectFine(run("again", {"train.seed=2"}));
  EXPECT_EQ(metrics("again/previous-1"), first);
}

TEST_F(Train, LearnsASmallText) {
  expectFine(
      run("learn", {"train.steps=150", "train.lr=0.01", "train.log_every=10"}));
  const json m = metrics("learn");
  // 13 words of 3 to 7 bytes in any order: log2(13) bits for 5.3 bytes; a
  // table of single bytes needs 3.6 bits.
  EXPECT_GT(m["val_bpb"].get<double>(), 0.69);
  EXPECT_LT(m["val_bpb"].get<double>(), 2.2);
  EXPECT_GT(steps("learn").front().first, 7.5);
  EXPECT_GT(m["selected_fraction"].get<double>(), 0.4); // 4 * 16 of 128
  EXPECT_LE(m["selected_fraction"].get<double>(), 0.5);
  for (const char *key :
       {"bpb_by_position", "tokens_per_s", "train_seconds", "kernels_compiled",
        "kernels_loaded", "val_bpb_without_cmp", "val_bpb_without_sel",
        "val_bpb_without_win"})
    EXPECT_TRUE(m.contains(key)) << key;
}

// Compiled kernels in bf16 are covered by kernel-sources-tests.
TEST_F(Train, Bf16LearnsAsFp32DoesAndResumesBitForBit) {
  const std::vector<std::string> settings = {
      "train.steps=120", "train.lr=0.01", "train.log_every=10",
      "train.save_every=60", "runtime.precision=bf16"};
  expectFine(run("bf16", settings));
  expectFine(run("cut", settings));
  namespace fs = std::filesystem;
  fs::remove(folder.path / "cut/metrics.json");
  fs::remove_all(folder.path / "cut/ckpt/step_00000120");
  fs::copy(folder.path / "cut", folder.path / "wider",
           fs::copy_options::recursive);
  expectFine(run("cut", settings));
  for (const char *name : {"model.safetensors", "optimizer.safetensors"})
    EXPECT_EQ(checkpoint("bf16", 120, name), checkpoint("cut", 120, name));
  EXPECT_EQ(metrics("bf16")["val_bpb"], metrics("cut")["val_bpb"]);
  EXPECT_GT(steps("bf16").front().first, 7.5);
  // The weights of a checkpoint are fp32: a run of either precision resumes
  // from it.
  const CommandResult wider =
      run("wider", {"train.steps=120", "train.lr=0.01", "train.log_every=10",
                    "runtime.precision=fp32"});
  expectFine(wider);
  EXPECT_NE(wider.errors.find("runtime.precision=bf16, this run has fp32"),
            std::string::npos)
      << wider.errors;
  expectFine(
      run("fp32", {"train.steps=120", "train.lr=0.01", "train.log_every=10"}));
  const double exact = metrics("fp32")["val_bpb"];
  EXPECT_LT(exact, 2.4);
  EXPECT_NEAR(metrics("bf16")["val_bpb"].get<double>(), exact, 0.1);
  EXPECT_NEAR(metrics("wider")["val_bpb"].get<double>(), exact, 0.1);
  EXPECT_NE(metrics("bf16")["val_bpb"], metrics("fp32")["val_bpb"]);
}

// In either precision, with momentum and step counts from the checkpoint.
TEST_F(Train, MuonLearnsAndResumesBitForBit) {
  const std::vector<std::string> muon = {
      "train.steps=80",     "train.lr=0.005",      "train.optimizer=muon",
      "train.muon_lr=0.02", "train.save_every=40", "train.log_every=10"};
  const std::vector<std::string> recipe = {
      "train.muon_iterations=polar_express",
      "train.muon_normalize=true",
      "train.cautious_decay=true",
      "train.weight_decay=0.1",
      "train.head_lr_factor=2",
      "model.qk_norm=true",
      "model.logit_softcap=20",
      "model.value_embeddings=1",
      "model.bigram_embeddings=509"};
  for (const std::string precision : {"fp32", "bf16", "recipe"}) {
    std::vector<std::string> settings = muon;
    if (precision == "recipe")
      settings.insert(settings.end(), recipe.begin(), recipe.end());
    else
      settings.push_back("runtime.precision=" + precision);
    const std::string whole = "whole_" + precision, cut = "cut_" + precision;
    expectFine(run(whole, settings));
    expectFine(run(cut, settings));
    namespace fs = std::filesystem;
    fs::remove(folder.path / cut / "metrics.json");
    fs::remove_all(folder.path / cut / "ckpt/step_00000080");
    expectFine(run(cut, settings));
    for (const char *name : {"model.safetensors", "optimizer.safetensors"})
      EXPECT_EQ(checkpoint(whole, 80, name), checkpoint(cut, 80, name));
    EXPECT_GT(steps(whole).front().first, 7.5);
    EXPECT_LT(metrics(whole)["val_bpb"].get<double>(), 2.4);
  }
  std::filesystem::remove(folder.path / "cut_fp32/metrics.json");
  expectRefused(run("cut_fp32", {"train.steps=80", "train.lr=0.005",
                                 "train.optimizer=adamw"}),
                "train.optimizer=muon, this run has adamw");
}

// Scaled by 2^24 the first gradients do not fit: their updates are left out
// until they do, in a run that is cut in two as well.
TEST_F(Train, Fp16LearnsAndKeepsItsLossScale) {
  const std::vector<std::string> settings = {
      "train.steps=60",         "train.lr=0.01",
      "train.log_every=10",     "train.save_every=30",
      "runtime.precision=fp16", "train.loss_scale=16777216",
      "train.skip_budget=0"};
  expectFine(run("fp16", settings));
  const auto overflows = [&](const std::string &out) {
    std::istringstream in(readFile(folder.file(out + "/metrics.jsonl")));
    std::vector<nlohmann::json> all;
    for (std::string line; std::getline(in, line);)
      if (const auto record = nlohmann::json::parse(line);
          record.contains("overflow"))
        all.push_back(record);
    return all;
  };
  const auto left = overflows("fp16");
  ASSERT_FALSE(left.empty());
  double scale = 16777216;
  for (size_t i = 0; i < left.size(); ++i) {
    EXPECT_EQ(left[i]["overflow"], i + 1);
    EXPECT_EQ(left[i]["loss_scale"], scale /= 2);
  }
  EXPECT_GE(scale, 16);
  const auto state =
      nlohmann::json::parse(checkpoint("fp16", 60, "state.json"));
  EXPECT_EQ(state["loss_scale"]["factor"], scale);
  EXPECT_EQ(state["loss_scale"]["overflows"], left.size());
  EXPECT_EQ(state["loss_scale"]["good_steps"],
            60 - left.back()["step"].get<int>());

  expectFine(run("cut", settings));
  namespace fs = std::filesystem;
  fs::remove(folder.path / "cut/metrics.json");
  fs::remove_all(folder.path / "cut/ckpt/step_00000060");
  expectFine(run("cut", settings));
  for (const char *name : {"model.safetensors", "optimizer.safetensors"})
    EXPECT_EQ(checkpoint("fp16", 60, name), checkpoint("cut", 60, name));
  EXPECT_EQ(overflows("cut"), left);

  // From the usual scale no update is left out.
  const std::vector<std::string> usual = {"train.steps=60", "train.lr=0.01",
                                          "train.log_every=10"};
  expectFine(run("fp32", usual));
  std::vector<std::string> half = usual;
  half.push_back("runtime.precision=fp16");
  expectFine(run("half", half));
  EXPECT_TRUE(overflows("half").empty());
  EXPECT_NEAR(metrics("half")["val_bpb"].get<double>(),
              metrics("fp32")["val_bpb"].get<double>(), 0.1);
  EXPECT_NE(metrics("half")["val_bpb"], metrics("fp32")["val_bpb"]);
}

// Time, memory and MFU of each step; what the run was made with.
TEST_F(Train, TheFolderRecordsWhereTimeGoesAndWhatRan) {
  const CommandResult result =
      runCommand(command("told", {"train.accumulate=2"}),
                 std::chrono::seconds(300), {"GOMP_SPINCOUNT=1234"});
  expectFine(result);
  EXPECT_NE(result.errors.find("tok/s | MFU "), std::string::npos)
      << result.errors;
  std::istringstream in(readFile(folder.file("told/metrics.jsonl")));
  int lines = 0;
  for (std::string line; std::getline(in, line); ++lines) {
    const nlohmann::json record = nlohmann::json::parse(line);
    double sum = 0;
    for (const auto &[stage, ms] : record["stages_ms"].items())
      sum += ms.get<double>();
    EXPECT_NEAR(sum / record["step_ms"].get<double>(), 1, 1e-9) << line;
    for (const char *stage : {"data", "forward", "backward", "update"})
      EXPECT_GT(record["stages_ms"][stage], 0) << line;
    EXPECT_GT(record["mfu"], 0);
    EXPECT_LT(record["mfu"], 2); // of a rate that was measured beforehand
    EXPECT_GT(record["memory_bytes"], 1 << 20);
    EXPECT_GE(record["memory_most_bytes"], record["memory_bytes"]);
  }
  EXPECT_EQ(lines, 12);
  EXPECT_FALSE(std::filesystem::is_empty(folder.file("told/tb")));
  const auto told =
      nlohmann::json::parse(readFile(folder.file("told/env.json")));
  EXPECT_EQ(told["settings"],
            nlohmann::json::parse(readFile(folder.file("told/config.json"))));
  EXPECT_EQ(told["settings_sha256"], sha256Hex(told["settings"].dump()));
  EXPECT_FALSE(told["origins"].contains("train.lr"));
  EXPECT_EQ(told["origins"]["train.steps"], "command line");
  EXPECT_EQ(told["device"], "cpu");
  EXPECT_EQ(told["processes"], 1);
  EXPECT_EQ(told["threads"], 1);
  EXPECT_EQ(told["kernels"], nlohmann::json::object());
  EXPECT_EQ(told["environment"]["GOMP_SPINCOUNT"], "1234");
  for (const char *key : {"time", "torch", "compiler_build", "processor",
                          "memory_bytes", "environment"})
    EXPECT_TRUE(told.contains(key)) << key;
}

TEST_F(Train, AccumulationIsALargerBatch) {
  expectFine(run("one", {"train.batch_size=4", "train.steps=3"}));
  expectFine(run("two", {"train.accumulate=2", "train.steps=3"}));
  const auto one = steps("one"), two = steps("two");
  ASSERT_EQ(one.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(one[i].first, two[i].first, 1e-5);
    EXPECT_NEAR(one[i].second, two[i].second, 1e-4);
  }
}

// Loss and gradient are means over a step's targets: rows with the same
// documents and more padding have the same ones.
TEST_F(Train, PaddingChangesNeitherLossNorGradient) {
  std::string text;
  uint32_t state = 7;
  for (int line = 0; line < 600; ++line) {
    std::string words;
    for (int i = 0; i < 40; ++i)
      words += char('a' + ((state = state * 1664525 + 1013904223) >> 24) % 26);
    text += nlohmann::json{{"text", words}}.dump() + "\n";
  }
  folder.write("lines.jsonl", text);
  const auto rowsOf = [&](const std::string &tokens) {
    expectFine(run(tokens, {"data.path=" + folder.file("lines.jsonl"),
                            "data.packing=best_fit", "data.order=sequential",
                            "train.seq_len=" + tokens, "train.batch_size=4",
                            "train.accumulate=2", "train.steps=2",
                            "train.warmup=0", "train.final_windows=2"}));
    return steps(tokens);
  };
  const auto tight = rowsOf("42"), loose = rowsOf("64");
  EXPECT_TRUE(std::filesystem::exists(folder.file("deps/data/prepared")));
  ASSERT_EQ(tight.size(), 2u);
  ASSERT_EQ(loose.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_NEAR(loose[i].first / tight[i].first, 1, 1e-5) << i + 1;
    EXPECT_NEAR(loose[i].second / tight[i].second, 1, 1e-5) << i + 1;
  }
}

/// Starts a run that would take long and waits for its first log line.
Process startLong(const std::vector<std::string> &arguments,
                  const std::string &out) {
  SpawnOptions options;
  options.arguments = arguments;
  Process process = Process::spawn(options);
  for (int i = 0; i < 600; ++i) {
    const auto log = tryReadFile(out + "/metrics.jsonl");
    if (log && log->find("\"step\":2}") != std::string::npos)
      break;
    if (log && std::count(log->begin(), log->end(), '\n') >= 2)
      break;
    std::this_thread::sleep_for(50ms);
  }
  return process;
}

TEST_F(Train, SignalsSaveAndTheRunResumes) {
  expectFine(run("whole", {"train.steps=60"}));
  for (const int signal : {SIGINT, SIGTERM}) {
    const std::string out = signal == SIGINT ? "int" : "term";
    Process process =
        startLong(command(out, {"train.steps=60"}), folder.file(out));
    ASSERT_EQ(kill(process.pid(), signal), 0);
    const auto status = process.wait(60s);
    ASSERT_TRUE(status.has_value());
    EXPECT_EQ(status->code, 128 + signal) << status->text();
    EXPECT_FALSE(std::filesystem::exists(folder.file(out) + "/metrics.json"));
    const CommandResult rest = run(out, {"train.steps=60"});
    expectFine(rest);
    EXPECT_NE(rest.errors.find("going on from"), std::string::npos);
    EXPECT_EQ(checkpoint("whole", 60, "model.safetensors"),
              checkpoint(out, 60, "model.safetensors"));
  }
}

// They say what the run is doing; nothing else changes.
TEST_F(Train, ReportSignalsDoNotEndTheRun) {
  expectFine(run("whole", {"train.steps=600"}));
  const std::string log = folder.file("log");
  std::vector<std::string> arguments = {"/bin/sh", "-c", "exec \"$@\" 2>" + log,
                                        "sh"};
  for (const std::string &argument : command("told", {"train.steps=600"}))
    arguments.push_back(argument);
  SpawnOptions options;
  options.arguments = arguments;
  Process process = Process::spawn(options);
  // From the first moment on that a user can see: the run folder is there.
  while (!tryReadFile(folder.file("told") + "/lock"))
    std::this_thread::sleep_for(1ms);
  // A run that is asked without a pause answers a tenth of the time: the second
  // signal begins when the first was answered.
  std::optional<ExitStatus> status;
  while (!(status = process.wait(20ms))) {
    const std::string said = tryReadFile(log).value_or("");
    kill(process.pid(), said.find("SIGUSR1: training, ") == std::string::npos
                            ? SIGUSR1
                            : SIGHUP);
  }
  EXPECT_TRUE(status->ok()) << status->text();
  const std::string text = readFile(log);
  for (const char *part : {"SIGUSR1: training, ", "SIGHUP: training, ",
                           " steps done, ", "tessera-train("})
    EXPECT_NE(text.find(part), std::string::npos) << text;
  EXPECT_EQ(checkpoint("whole", 600, "model.safetensors"),
            checkpoint("told", 600, "model.safetensors"));
}

// A terminal that was closed, or a reader such as head that has gone.
TEST_F(Train, ARunOutlivesWhoWatchesIt) {
  int ends[2] = {};
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  SpawnOptions options;
  options.arguments = command("alone", {});
  options.descriptors = {{2, ends[1]}};
  close(ends[0]);
  Process process = Process::spawn(options);
  close(ends[1]);
  const auto status = process.wait(300s);
  ASSERT_TRUE(status.has_value());
  EXPECT_TRUE(status->ok()) << status->text();
  EXPECT_EQ(steps("alone").size(), 12u);
  EXPECT_TRUE(metrics("alone").contains("val_bpb"));
}

TEST_F(Train, TwoRunsInOneFolderAreRefused) {
  Process first =
      startLong(command("busy", {"train.steps=100000"}), folder.file("busy"));
  const std::string before = readFile(folder.file("busy") + "/config.json");
  expectRefused(run("busy", {"train.seed=9"}), "another run is using");
  EXPECT_EQ(readFile(folder.file("busy") + "/config.json"), before);
  kill(first.pid(), SIGTERM);
  EXPECT_TRUE(first.wait(60s).has_value());
}

TEST_F(Train, OtherSettingsDoNotResume) {
  Process first =
      startLong(command("mine", {"train.steps=100000"}), folder.file("mine"));
  kill(first.pid(), SIGINT);
  ASSERT_TRUE(first.wait(60s).has_value());
  expectRefused(run("mine", {"train.steps=100000", "train.beta1=0.5"}),
                "train.beta1");
  folder.write("other", smallText() + "more");
  expectRefused(
      run("mine", {"train.steps=100000", "data.path=" + folder.file("other")}),
      "another text");
  expectFine(run("mine", {"train.steps=3", "resume=never"}));
}

/// The number in the output that follows `before`, or -1.
int64_t numberAt(const std::string &text, const std::string &before) {
  const size_t at = text.find(before);
  return at == std::string::npos
             ? -1
             : std::atoll(text.c_str() + at + before.size());
}

// A dry run reports what the run then has, and changes nothing.
TEST_F(Train, ADryRunCountsWhatTheRunHas) {
  const std::vector<std::vector<std::string>> models = {
      {},
      {"nsa.phi=conv", "nsa.gate_input=q_mean"},
      {"nsa.phi=mlp_pe", "model.value_dim=8"},
      {"nsa.phi=mlp_pe", "nsa.phi_per_head=true", "nsa.phi_hidden=5",
       "model.kv_heads=2"},
      {"attention=dense", "model.tied_head=true"}};
  for (const auto &more : models) {
    std::vector<std::string> settings = more;
    settings.insert(settings.end(), {"train.steps=1", "train.final_windows=1"});
    std::vector<std::string> dry = command("dry", settings);
    dry.push_back("--dry-run");
    const CommandResult plan = runCommand(dry, 60s);
    expectFine(plan);
    EXPECT_FALSE(std::filesystem::exists(folder.file("dry")));
    const CommandResult real = run("real", settings);
    expectFine(real);
    EXPECT_EQ(numberAt(plan.output, "parameters: "),
              numberAt(real.errors, "model: "))
        << plan.output << real.errors;
    EXPECT_NE(plan.output.find("[command line]"), std::string::npos);
  }
}

// What is drawn cannot be learned: the loss has a floor, log2 of the
// vocabulary. Three quarters of the tokens follow from the one before: that is
// learned, and the loss stays above the entropy.
TEST_F(Train, SyntheticTokensAreLearnedAsFarAsTheyCanBe) {
  const auto losses = [&](const std::string &out,
                          const std::vector<std::string> &more) {
    std::vector<std::string> settings = {"data.source=synthetic",
                                         "data.path=", "model.vocab_size=16",
                                         "train.steps=150", "train.lr=0.01"};
    settings.insert(settings.end(), more.begin(), more.end());
    expectFine(run(out, settings));
    std::istringstream in(readFile(folder.file(out) + "/metrics.jsonl"));
    std::vector<double> all;
    for (std::string line; std::getline(in, line);)
      all.push_back(nlohmann::json::parse(line)["bits_per_token"]);
    return all;
  };
  const auto drawn = losses("drawn", {});
  ASSERT_EQ(drawn.size(), 150u);
  const double held = metrics("drawn")["val_bits_per_token"];
  EXPECT_GT(held, 4 - 0.01);
  EXPECT_LT(held, 4 + 0.1);
  const auto learned = losses("learned", {"data.synthetic_noise=0.25"});
  const double floor = metrics("learned")["val_bits_per_token"];
  // The successor, and each of the 15 others.
  const double next = 0.75 + 0.25 / 16, other = 0.25 / 16;
  const double entropy =
      -next * std::log2(next) - 15 * other * std::log2(other);
  EXPECT_GT(learned.front(), 3.9);
  EXPECT_GT(floor, entropy - 0.02);
  EXPECT_LT(floor, entropy + 0.15);
  EXPECT_EQ(losses("again", {"data.synthetic_noise=0.25"}), learned);
  EXPECT_NE(losses("other", {"data.synthetic_noise=0.25", "train.seed=2"}),
            learned);
  expectRefused(run("both", {"data.source=synthetic"}),
                "data.source is synthetic, but data.path is");
  expectRefused(run("packed", {"data.source=synthetic",
                               "data.path=", "data.packing=best_fit"}),
                "has no documents");
}

// The model's own draws, in the log and in metrics.jsonl; training takes no
// notice of them.
TEST_F(Train, SamplesAreDrawnOnTheWay) {
  const std::vector<std::string> settings = {"train.steps=60", "train.lr=0.01"};
  expectFine(run("plain", settings));
  std::vector<std::string> sampled = settings;
  sampled.insert(sampled.end(),
                 {"train.sample_every=20", "train.sample_tokens=300"});
  const CommandResult result = run("sampled", sampled);
  expectFine(result);
  EXPECT_EQ(checkpoint("plain", 60, "model.safetensors"),
            checkpoint("sampled", 60, "model.safetensors"));
  const std::string text = smallText();
  std::istringstream in(readFile(folder.file("sampled/metrics.jsonl")));
  std::vector<std::string> samples;
  for (std::string line; std::getline(in, line);) {
    const auto record = nlohmann::json::parse(line);
    if (!record.contains("sample"))
      continue;
    EXPECT_EQ(record["step"], 20 * (samples.size() + 1));
    // 32 held-out bytes, and what is left of 128.
    EXPECT_EQ(record["sample_prompt"],
              text.substr(text.size() - text.size() / 20, 32));
    samples.push_back(record["sample"]);
  }
  ASSERT_EQ(samples.size(), 2u); // not after the last step
  EXPECT_NE(samples[0], samples[1]);
  // 60 steps teach it which bytes there are.
  size_t known = 0;
  for (const char c : samples[1])
    known += text.find(c) != std::string::npos;
  EXPECT_GT(double(known), 0.9 * double(samples[1].size()));
  EXPECT_NE(result.errors.find("step 40: sample: \""), std::string::npos)
      << result.errors;
}

TEST_F(Train, SamplesOfOtherTokensAreNumbers) {
  const CommandResult result = run(
      "numbers", {"data.source=synthetic", "data.path=", "model.vocab_size=16",
                  "train.steps=4", "train.sample_every=2",
                  "train.sample_tokens=3", "runtime.precision=bf16"});
  expectFine(result);
  std::istringstream in(readFile(folder.file("numbers/metrics.jsonl")));
  int found = 0;
  for (std::string line; std::getline(in, line);) {
    const auto record = nlohmann::json::parse(line);
    if (!record.contains("sample"))
      continue;
    std::istringstream numbers(record["sample"].get<std::string>());
    for (int token; numbers >> token; ++found)
      EXPECT_LT(token, 16);
  }
  EXPECT_EQ(found, 3);
}

TEST_F(Train, HelpListsTheSettings) {
  const CommandResult help =
      runCommand({TESSERA_TRAIN, "train", "--help"}, 60s);
  expectFine(help);
  for (const char *part :
       {"--dry-run", "train.batch_size", "nsa.l_sel",
        "Examples:", "tessera train --config configs/quickstart.yaml\n"})
    EXPECT_NE(help.output.find(part), std::string::npos) << help.output;
}

// Tokens of another tokenizer: how long their text was is not known.
TEST_F(Train, AFileOfLlmCIsTrainedOn) {
  std::vector<uint32_t> tokens;
  for (uint32_t i = 0; i < 6000; ++i)
    tokens.push_back(i % 7 == 0 ? 50256 : i * i % 97);
  const std::string data =
      "data.path=" + folder.write("tokens.bin", llmcFile(tokens));
  const std::vector<std::string> settings = {data, "train.steps=2",
                                             "train.final_windows=1"};
  const CommandResult fine = run("llmc", settings);
  expectFine(fine);
  EXPECT_NE(fine.errors.find("bits/token"), std::string::npos) << fine.errors;
  // An untrained model guesses among 50257 tokens: 15.6 bits.
  EXPECT_NEAR(metrics("llmc")["val_bits_per_token"].get<double>(), 15.6, 0.3);
  EXPECT_EQ(json::parse(
                readFile(folder.file("llmc/config.json")))["model.vocab_size"],
            50257);
  expectRefused(run("small", {data, "model.vocab_size=300"}),
                "model.vocab_size is 300");
}

TEST_F(Train, ProcessesThatCannotMeetAreRefused) {
  std::vector<std::string> all = {"/usr/bin/env", "WORLD_SIZE=2"};
  for (const std::string &argument : command("x", {}))
    all.push_back(argument);
  expectRefused(runCommand(all, 60s), "WORLD_SIZE=2, but RANK is not set");
}

TEST_F(Train, BadInputStopsBeforeTraining) {
  expectRefused(run("x", {"train.stesp=3"}), "train.steps");
  expectRefused(run("x", {"nsa.d=3"}), "nsa.d");
  expectRefused(run("x", {"data.path=" + folder.write("tiny", "word")}),
                "4 bytes");
  expectRefused(run("text"), "cannot write to the run folder");
  expectRefused(
      runCommand({TESSERA_TRAIN, "train", "--config", "no.yaml"}, 60s),
      "no.yaml");
  EXPECT_FALSE(std::filesystem::exists(folder.file("x") + "/metrics.json"));
}

TEST_F(Train, GeneratesFromACheckpoint) {
  const auto write = [&](const std::vector<std::string> &more) {
    std::vector<std::string> all = {TESSERA_TRAIN,    "generate", "--run",
                                    folder.file("g"), "--prompt", "the ",
                                    "--tokens",       "200"};
    all.insert(all.end(), more.begin(), more.end());
    return runCommand(all, 60s);
  };
  expectRefused(write({}), "no checkpoint");
  expectFine(run("g"));
  const CommandResult first = write({"--seed", "4"});
  expectFine(first);
  EXPECT_EQ(first.output.size(), 4 + 200 + 1u);
  EXPECT_EQ(first.output.substr(0, 4), "the ");
  EXPECT_EQ(write({"--seed", "4"}).output, first.output);
  EXPECT_NE(write({"--seed", "5"}).output, first.output);
  EXPECT_EQ(write({"--temperature", "0", "--seed", "1"}).output,
            write({"--temperature", "0", "--seed", "2"}).output);
  EXPECT_EQ(write({"--top-k", "1"}).output,
            write({"--temperature", "0"}).output);
  EXPECT_EQ(write({"--top-p", "0"}).output,
            write({"--temperature", "0"}).output);
  // Several side by side; the first has the numbers of one alone.
  const CommandResult three =
      write({"--seed", "4", "--samples", "3", "--reads"});
  expectFine(three);
  EXPECT_EQ(three.output.size(), 3 * (4 + 200) + 2 * 10 + 1u);
  EXPECT_EQ(three.output.substr(0, 204), first.output.substr(0, 204));
  EXPECT_NE(three.output.substr(214, 204), first.output.substr(0, 204));
  EXPECT_NE(three.errors.find("keys read: "), std::string::npos)
      << three.errors;
}

TEST_F(Train, WhatNothingCanBeDrawnWithIsRefused) {
  for (const auto &[option, value] :
       {std::pair{"temperature", "nan"}, std::pair{"temperature", "-1"},
        std::pair{"temperature", "inf"}, std::pair{"top-p", "nan"},
        std::pair{"top-p", "1.5"}, std::pair{"top-p", "-0.1"},
        std::pair{"top-k", "-1"}, std::pair{"tokens", "-4"},
        std::pair{"samples", "0"}, std::pair{"samples", "-2"}})
    expectRefused(
        runCommand({TESSERA_TRAIN, "generate", "--run", folder.file("none"),
                    fmt::format("--{}={}", option, value)},
                   60s),
        fmt::format("--{} is ", option));
  expectRefused(runCommand({TESSERA_TRAIN, "generate", "--prompt", ""}, 60s),
                "the prompt is empty");
}

TEST_F(Train, AWarmUpLongerThanTheRunIsReported) {
  const CommandResult result = run("warm", {"train.steps=2"});
  expectFine(result);
  EXPECT_NE(result.errors.find("WARNING: train.warmup_steps is 4"),
            std::string::npos)
      << result.errors;
  EXPECT_EQ(run("cold").errors.find("warmup_steps is"), std::string::npos);
}

// Of 128 tokens none is at position 256.
TEST_F(Train, NothingIsReportedOfPositionsThatNoSequenceReaches) {
  const CommandResult result = run("short", {"train.steps=1"});
  expectFine(result);
  EXPECT_NE(result.errors.find("below position 32)"), std::string::npos)
      << result.errors;
  const json at = metrics("short")["bpb_by_position"];
  EXPECT_EQ(at.size(), 2u) << at;
  EXPECT_GT(at["32-255"], 7);
  const CommandResult longer =
      run("long", {"train.steps=1", "train.seq_len=300"});
  expectFine(longer);
  EXPECT_NE(longer.errors.find(" from 256)"), std::string::npos)
      << longer.errors;
  EXPECT_GT(metrics("long")["bpb_by_position"]["256-"], 7);
}

// Tokens of a vocabulary: made, prepared, trained on, written as text again.
TEST_F(Train, GeneratesTextOfATokenizer) {
  tessera::trainer::TokenizerOptions vocabulary;
  vocabulary.input = folder.file("text");
  vocabulary.out = folder.file("bpe");
  vocabulary.size = 300;
  makeTokenizer(vocabulary);
  tessera::trainer::PrepareOptions prepare;
  std::istringstream words(smallText());
  std::string lines;
  for (std::string line; std::getline(words, line);)
    lines += json{{"text", line}}.dump() + "\n";
  prepare.input = folder.write("documents.jsonl", lines);
  prepare.out = folder.file("shards");
  prepare.tokenizer = vocabulary.out;
  prepareData(prepare);
  expectFine(run("g", {"data.path=" + prepare.out, "train.steps=60",
                       "train.lr=0.01", "train.final_windows=4"}));
  const auto write = [&](const std::vector<std::string> &more) {
    std::vector<std::string> all = {TESSERA_TRAIN,    "generate", "--run",
                                    folder.file("g"), "--prompt", "the ",
                                    "--tokens",       "40"};
    all.insert(all.end(), more.begin(), more.end());
    return runCommand(all, 60s);
  };
  expectRefused(write({}), "of a tokenizer that is not known here");
  const CommandResult text =
      write({"data.tokenizer_path=" + vocabulary.out, "--seed", "3"});
  expectFine(text);
  EXPECT_EQ(text.output.substr(0, 4), "the ");
  // Words of the text, not single letters: the tokens are complete words.
  size_t known = 0;
  for (const char *word : {"tile", "of", "stone", "is", "laid", "upon", "floor",
                           "and", "then", "walls", "rise"})
    known += text.output.find(word) != std::string::npos;
  EXPECT_GE(known, 1u) << text.output;
}

} // namespace
