// tests/train/KernelSourcesTest.cpp - compiled kernels train as torch does.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "models/Kernels.h"
#include "tests/train/TrainRun.h"
#include "trainer/data/Prepare.h"

#include <ATen/ATen.h>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

using namespace tessera;

namespace {

class KernelRun : public TrainRun {
protected:
  /// The files after `kernels:` in the output of --dry-run.
  static std::set<std::string> plannedKernels(const std::string &plan) {
    std::set<std::string> planned;
    std::istringstream words(plan.substr(plan.rfind("kernels:") + 8));
    for (std::string word; words >> word;)
      planned.insert(word);
    return planned;
  }
  /// The files that a run keeps, but for those they import.
  std::set<std::string> keptKernels(const std::string &out) {
    namespace fs = std::filesystem;
    std::set<std::string> kept;
    const fs::path kernels = folder.path / out / "kernels/step_00000000";
    for (const auto &e : fs::recursive_directory_iterator(kernels))
      if (e.path().extension() == ".py")
        kept.insert(fs::relative(e.path(), kernels).string());
    EXPECT_TRUE(kept.contains("kernels/tiles.py"));
    // Files that kernels import are kept; a plan names those with kernels.
    std::erase_if(kept, [&](const std::string &name) {
      return readFile(kernels / name).find("# tessera: instance") ==
             std::string::npos;
    });
    return kept;
  }
};

/// An exception ends a list: later launches run.
TEST(ListedLaunches, EndAtAnException) {
  const auto kernels = models::makeKernels(models::KernelSource::Tessera);
  const auto expected = models::makeKernels(models::KernelSource::Torch);
  const at::Tensor x = at::randn({4, 16}), weight = at::randn({16});
  EXPECT_THROW(kernels->listLaunches(
                   [&] {
                     kernels->rmsNorm(x, weight, 1e-5);
                     throw std::runtime_error("stop");
                   },
                   /*prepare=*/false),
               std::runtime_error);
  EXPECT_TRUE(at::allclose(kernels->rmsNorm(x, weight, 1e-5),
                           expected->rmsNorm(x, weight, 1e-5), 1e-4, 1e-5));
  EXPECT_EQ(kernels
                ->listLaunches([&] { kernels->rmsNorm(x, weight, 1e-5); },
                               /*prepare=*/false)
                .size(),
            1u);
}

class KernelSources : public KernelRun,
                      public testing::WithParamInterface<const char *> {};

/// 300 steps on the same data from the same weights: compiled kernels against
/// plain torch operations.
TEST_P(KernelSources, LossesAgree) {
  const std::vector<std::string> settings = {
      std::string("attention=") + GetParam(), "train.steps=300",
      "train.warmup=20", "train.lr=0.002"};
  for (const char *source : {"torch", "tessera"}) {
    std::vector<std::string> all = settings;
    all.push_back(std::string("kernels=") + source);
    expectFine(run(source, all));
  }
  const auto torch = steps("torch"), ours = steps("tessera");
  ASSERT_EQ(torch.size(), 300u);
  ASSERT_EQ(ours.size(), 300u);
  for (size_t i = 0; i < 300; ++i)
    EXPECT_LT(std::abs(ours[i].first / torch[i].first - 1), 1e-3)
        << "step " << i + 1;
  EXPECT_LT(torch.back().first, 0.7 * torch.front().first);
  const nlohmann::json counts = metrics("tessera");
  EXPECT_GT(counts["kernels_loaded"].get<int>(), 0);
  EXPECT_LE(counts["kernels_compiled"].get<int>(),
            counts["kernels_loaded"].get<int>());
  EXPECT_NEAR(counts["val_bpb"].get<double>() /
                  metrics("torch")["val_bpb"].get<double>(),
              1, 1e-3);
}

/// The same with everything but sums and masters in bf16, where the two round
/// at different points.
TEST_P(KernelSources, LossesAgreeInBf16) {
  const std::vector<std::string> settings = {
      std::string("attention=") + GetParam(), "train.steps=100",
      "train.warmup=20", "train.lr=0.002", "runtime.precision=bf16"};
  for (const char *source : {"torch", "tessera"}) {
    std::vector<std::string> all = settings;
    all.push_back(std::string("kernels=") + source);
    expectFine(run(source, all));
  }
  const auto torch = steps("torch"), ours = steps("tessera");
  ASSERT_EQ(torch.size(), 100u);
  ASSERT_EQ(ours.size(), 100u);
  for (size_t i = 0; i < 100; ++i)
    EXPECT_LT(std::abs(ours[i].first / torch[i].first - 1), 1e-2)
        << "step " << i + 1;
  EXPECT_LT(ours.back().first, 0.8 * ours.front().first);
  EXPECT_GT(metrics("tessera")["kernels_loaded"].get<int>(), 0);
  EXPECT_EQ(metrics("tessera")["kernels_compiled_after_step_1"], 0);
}

/// Packed documents of all lengths: both kinds of kernels learn the same of
/// them, and no batch needs a kernel that the first ones did not.
TEST_P(KernelSources, PackedDocumentsTrainAlike) {
  std::istringstream words(smallText());
  std::string lines;
  for (std::string line; std::getline(words, line);)
    lines += nlohmann::json{{"text", line}}.dump() + "\n";
  tessera::trainer::PrepareOptions options;
  options.input = folder.write("documents.jsonl", lines);
  options.out = folder.file("shards");
  prepareData(options);
  for (const char *source : {"torch", "tessera"})
    expectFine(run(source, {std::string("attention=") + GetParam(),
                            std::string("kernels=") + source, "train.steps=40",
                            "train.lr=0.002", "data.path=" + options.out,
                            "data.packing=best_fit"}));
  const auto torch = steps("torch"), ours = steps("tessera");
  ASSERT_EQ(torch.size(), 40u);
  ASSERT_EQ(ours.size(), 40u);
  for (size_t i = 0; i < 40; ++i)
    EXPECT_LT(std::abs(ours[i].first / torch[i].first - 1), 1e-3)
        << "step " << i + 1;
  EXPECT_LT(torch.back().first, 0.8 * torch.front().first);
  EXPECT_EQ(metrics("tessera")["kernels_compiled_after_step_1"], 0);
  for (const char *key : {"val_bpb", "selected_fraction"})
    EXPECT_NEAR(metrics("tessera")[key].get<double>(),
                metrics("torch")[key].get<double>(), 1e-3)
        << key;
}

/// Positions scaled by YaRN: the same losses, and others than without.
TEST_P(KernelSources, ScaledPositionsTrainAlike) {
  for (const char *name : {"torch", "tessera", "unscaled"}) {
    const bool scaled = name != std::string("unscaled");
    expectFine(
        run(name, {std::string("attention=") + GetParam(),
                   std::string("kernels=") + (scaled ? name : "torch"),
                   "train.steps=20", "train.lr=0.002",
                   "model.rope_scaling=yarn", "model.rope_original_len=64",
                   scaled ? "model.rope_scale=4" : "model.rope_scale=1"}));
  }
  const auto torch = steps("torch"), ours = steps("tessera");
  ASSERT_EQ(torch.size(), 20u);
  ASSERT_EQ(ours.size(), 20u);
  for (size_t i = 0; i < 20; ++i)
    EXPECT_LT(std::abs(ours[i].first / torch[i].first - 1), 1e-4)
        << "step " << i + 1;
  EXPECT_GT(std::abs(steps("unscaled").front().first / torch[0].first - 1),
            1e-4);
}

/// --dry-run names the files that the run then keeps, with those they import.
TEST_P(KernelSources, APlanNamesTheKernelsOfAStep) {
  const std::vector<std::string> settings = {
      std::string("attention=") + GetParam(), "kernels=tessera",
      "train.steps=1", "train.final_windows=1"};
  std::vector<std::string> dry = command("plan", settings);
  dry.push_back("--dry-run");
  const CommandResult plan = runCommand(dry, std::chrono::seconds(60));
  expectFine(plan);
  expectFine(run("real", settings));
  EXPECT_EQ(plannedKernels(plan.output), keptKernels("real"));
}

/// Loss, gradient norm and weights are the same bits with any number of
/// threads, also if a resumed run has another number.
TEST_P(KernelSources, ThreadsAndResumeChangeNoBit) {
  const std::vector<std::string> settings = {std::string("attention=") +
                                                 GetParam(),
                                             "kernels=tessera",
                                             "train.steps=24",
                                             "train.lr=0.002",
                                             "train.save_every=11",
                                             "train.keep=9"};
  const auto with = [&](const char *threads) {
    std::vector<std::string> all = settings;
    all.push_back(std::string("threads=") + threads);
    return all;
  };
  for (const auto &[out, threads] :
       {std::pair("one", "3"), {"two", "1"}, {"cut", "3"}})
    expectFine(run(out, with(threads)));
  namespace fs = std::filesystem;
  fs::remove(folder.path / "cut/metrics.json");
  fs::remove_all(folder.path / "cut/ckpt/step_00000022");
  fs::remove_all(folder.path / "cut/ckpt/step_00000024");
  const CommandResult resumed = run("cut", with("2"));
  expectFine(resumed);
  EXPECT_NE(resumed.errors.find("at step 11"), std::string::npos);
  for (const char *out : {"two", "cut"}) {
    EXPECT_EQ(steps("one"), steps(out));
    for (const char *name : {"model.safetensors", "optimizer.safetensors"})
      for (const int step : {11, 22, 24})
        EXPECT_EQ(checkpoint("one", step, name), checkpoint(out, step, name))
            << name << " of step " << step;
    EXPECT_EQ(metrics("one")["val_bpb"], metrics(out)["val_bpb"]);
  }
}

/// Two examples as llm.c's dev/data/hellaswag.py writes them, of bytes, padded
/// to 64 and to 128 tokens by the evaluation.
std::string twoExamples() {
  std::string file;
  const auto put = [&](uint32_t value, int bytes) {
    for (int i = 0; i < bytes; ++i)
      file += char(value >> (8 * i) & 255);
  };
  for (const uint32_t word : {20240522u, 1u, 2u, 0u})
    put(word, 4);
  file.resize(1024);
  for (const uint32_t context : {20u, 90u}) {
    constexpr uint32_t endings = 4, tokens = 5;
    put(65535, 2);
    put(2 * (6 + context + endings * (1 + tokens)), 2);
    for (const uint32_t value : {0u, 1u, endings, context})
      put(value, 2);
    for (uint32_t i = 0; i < context; ++i)
      put('a' + i % 26, 2);
    for (uint32_t e = 0; e < endings; ++e) {
      put(tokens, 2);
      for (uint32_t i = 0; i < tokens; ++i)
        put('a' + e + i, 2);
    }
  }
  return file;
}

/// All kernels of a run are compiled before its first step, those of
/// evaluations of other sizes and of scores of endings, too. The next run finds
/// them: it compiles none and starts no compiler, which is not there.
TEST_P(KernelSources, TheSecondStartCompilesNothing) {
  folder.write("endings", twoExamples());
  const auto start = [&](const std::string &out, const std::string &worker) {
    const CommandResult done = runCommand(
        command(out, {std::string("attention=") + GetParam(), "kernels=tessera",
                      "train.steps=4", "train.eval_every=2",
                      "train.eval_windows=3", "train.final_windows=13",
                      "train.hellaswag=" + folder.file("endings"),
                      "train.hellaswag_every=2"}),
        std::chrono::seconds(300),
        {"TESSERA_CACHE_DIR=" + folder.file("cache"), worker});
    expectFine(done);
    EXPECT_NE(done.errors.find("(0 after step 1)"), std::string::npos)
        << done.errors;
    return metrics(out);
  };
  const nlohmann::json first = start("first", "TESSERA_WORKER=");
  EXPECT_GT(first["kernels_compiled"].get<int>(), 0);
  EXPECT_EQ(first["kernels_compiled_after_step_1"], 0);
  const nlohmann::json second =
      start("second", "TESSERA_WORKER=/nonexistent/tessera-worker");
  EXPECT_EQ(second["kernels_compiled"], 0);
  EXPECT_EQ(second["kernels_compiled_after_step_1"], 0);
  EXPECT_EQ(second["kernels_loaded"], first["kernels_loaded"]);
  EXPECT_EQ(second["val_bpb"], first["val_bpb"]);
  EXPECT_EQ(second["val_hellaswag_examples"], 2);
}

INSTANTIATE_TEST_SUITE_P(Attention, KernelSources,
                         testing::Values("nsa", "dense"));

/// nsa.phi=mlp_pe is a product of torch's matrices, followed by the stages of
/// attention after the compression: the same losses, the kernels that --dry-run
/// names, packed documents, and a run that resumes bit for bit.
TEST_F(KernelRun, ALearnedCompressionTrainsAlike) {
  std::string lines;
  std::istringstream words(smallText());
  for (std::string line; std::getline(words, line);)
    lines += nlohmann::json{{"text", line}}.dump() + "\n";
  tessera::trainer::PrepareOptions options;
  options.input = folder.write("documents.jsonl", lines);
  options.out = folder.file("shards");
  prepareData(options);
  const std::vector<std::string> joined = {"nsa.phi=mlp_pe", "train.steps=40",
                                           "train.lr=0.002",
                                           "train.save_every=20"};
  std::vector<std::string> packed = joined;
  packed.insert(packed.end(),
                {"data.path=" + options.out, "data.packing=best_fit"});
  for (const auto &settings : {joined, packed}) {
    const std::string name = settings == joined ? "joined" : "packed";
    for (const char *source : {"torch", "tessera"}) {
      std::vector<std::string> all = settings;
      all.push_back(std::string("kernels=") + source);
      expectFine(run(name + source, all));
    }
    const auto torch = steps(name + "torch"), ours = steps(name + "tessera");
    ASSERT_EQ(torch.size(), 40u);
    ASSERT_EQ(ours.size(), 40u);
    for (size_t i = 0; i < 40; ++i)
      EXPECT_LT(std::abs(ours[i].first / torch[i].first - 1), 1e-3)
          << name << " step " << i + 1;
    EXPECT_LT(torch.back().first, 0.9 * torch.front().first);
    EXPECT_EQ(metrics(name + "tessera")["kernels_compiled_after_step_1"], 0);
    for (const char *key : {"val_bpb", "val_bpb_without_cmp"})
      EXPECT_NEAR(metrics(name + "tessera")[key].get<double>(),
                  metrics(name + "torch")[key].get<double>(), 1e-3)
          << key;
  }
  namespace fs = std::filesystem;
  const fs::path kernels = folder.path / "joinedtessera/kernels/step_00000000";
  EXPECT_FALSE(fs::exists(kernels / "nsa/compress_fwd.py"));
  EXPECT_TRUE(fs::exists(kernels / "nsa/cmp_select_fwd.py"));
  const std::string whole =
      checkpoint("joinedtessera", 40, "model.safetensors");
  fs::remove(folder.path / "joinedtessera/metrics.json");
  fs::remove_all(folder.path / "joinedtessera/ckpt/step_00000040");
  std::vector<std::string> again = joined;
  again.push_back("kernels=tessera");
  expectFine(run("joinedtessera", again));
  EXPECT_TRUE(checkpoint("joinedtessera", 40, "model.safetensors") == whole);
}

TEST_F(KernelRun, APlanNamesTheKernelsOfALearnedCompression) {
  const std::vector<std::string> settings = {"nsa.phi=mlp_pe",
                                             "kernels=tessera", "train.steps=1",
                                             "train.final_windows=1"};
  std::vector<std::string> dry = command("plan", settings);
  dry.push_back("--dry-run");
  const CommandResult plan = runCommand(dry, std::chrono::seconds(60));
  expectFine(plan);
  expectFine(run("real", settings));
  EXPECT_EQ(plannedKernels(plan.output), keptKernels("real"));
}

/// debug.compare_every reports nothing about correct kernels, changes no bit,
/// and compiles nothing after the first step.
TEST_F(KernelRun, ComparisonsChangeNoBit) {
  for (const std::string precision : {"fp32", "bf16"})
    for (const std::string attention : {"nsa", "dense"}) {
      const std::vector<std::string> settings = {
          "kernels=tessera", "train.steps=5", "train.lr=0.002",
          "runtime.precision=" + precision, "attention=" + attention};
      std::vector<std::string> compared = settings;
      compared.insert(compared.end(),
                      {"debug.compare_every=2", "debug.compare_stop=true"});
      const std::string name = precision + attention;
      expectFine(run(name, settings));
      const CommandResult result = run(name + "compared", compared);
      expectFine(result);
      EXPECT_EQ(result.errors.find("WARNING"), std::string::npos)
          << result.errors;
      EXPECT_NE(result.errors.find("step 4: kernels agree"), std::string::npos);
      EXPECT_EQ(checkpoint(name, 5, "model.safetensors"),
                checkpoint(name + "compared", 5, "model.safetensors"));
      EXPECT_EQ(metrics(name + "compared")["kernels_compiled_after_step_1"], 0);
      std::istringstream in(
          readFile(folder.file(name + "compared/metrics.jsonl")));
      std::set<std::string> seen;
      for (std::string line; std::getline(in, line);) {
        const nlohmann::json figures = nlohmann::json::parse(line).value(
            "kernel_differences", nlohmann::json::object());
        for (const auto &[operation, figure] : figures.items()) {
          seen.insert(operation);
          EXPECT_LT(figure.get<double>(), precision == "fp32" ? 1e-4 : 3e-2)
              << name << ' ' << operation;
          // They are two computations, not one.
          if (operation == "nsa" || operation == "dense") {
            EXPECT_GT(figure.get<double>(), 0);
          }
        }
      }
      EXPECT_EQ(seen, attention == "nsa"
                          ? (std::set<std::string>{
                                "activation", "blocks", "cmp", "loss", "nsa",
                                "rmsnorm", "rope", "sel", "win"})
                          : (std::set<std::string>{"activation", "dense",
                                                   "loss", "rmsnorm", "rope"}));
    }
  expectRefused(run("torch", {"kernels=torch", "debug.compare_every=2"}),
                "debug.compare_every compares compiled kernels");
}

/// A window's kernel that scales its scores by another factor.
TEST_F(KernelRun, AWrongKernelIsFoundWhileItTrains) {
  namespace fs = std::filesystem;
  fs::copy(TESSERA_SOURCE "/kernels", folder.path / "kernels",
           fs::copy_options::recursive);
  const fs::path file = folder.path / "kernels/nsa/window_fwd.py";
  std::string text = readFile(file);
  const std::string factor = "CU, nseq, scale,";
  ASSERT_NE(text.find(factor), std::string::npos);
  text.replace(text.find(factor), factor.size(), "CU, nseq, scale * 2.0,");
  std::ofstream(file) << text;
  const auto runWith = [&](const std::string &out, const std::string &stop) {
    return runCommand(
        command(out, {"kernels=tessera", "train.steps=3",
                      "debug.compare_every=2", "debug.compare_stop=" + stop}),
        std::chrono::seconds(300),
        {"TESSERA_KERNELS=" + folder.file("kernels")});
  };
  const CommandResult warned = runWith("warned", "false");
  expectFine(warned);
  EXPECT_NE(warned.errors.find("WARNING: step 2: kernels differ from plain "
                               "torch: "),
            std::string::npos)
      << warned.errors;
  EXPECT_NE(warned.errors.find("win by "), std::string::npos) << warned.errors;
  for (const char *right : {"cmp by ", "sel by ", "rmsnorm by ", "rope by "})
    EXPECT_EQ(warned.errors.find(right), std::string::npos) << right;
  expectRefused(runWith("stopped", "true"), "step 2: kernels differ");
}

class KernelFiles : public TrainRun {
protected:
  CommandResult runWith(const std::vector<std::string> &more = {}) {
    std::vector<std::string> all = {"attention=dense", "kernels=tessera",
                                    "train.steps=6", "train.save_every=3",
                                    "train.keep=9"};
    all.insert(all.end(), more.begin(), more.end());
    return runCommand(command("run", all), std::chrono::seconds(300),
                      {"TESSERA_KERNELS=" + folder.file("kernels")});
  }
  std::string text(const std::string &name) {
    return readFile(folder.path / name);
  }
};

// The files of every kernel are kept with the run and with each checkpoint; an
// edited one is refused, or announced when it is asked for.
TEST_F(KernelFiles, AChangedOneIsRefusedOrAnnounced) {
  namespace fs = std::filesystem;
  fs::copy(TESSERA_SOURCE "/kernels", folder.path / "kernels",
           fs::copy_options::recursive);
  expectFine(runWith());
  const std::string first = text("kernels/dense/attn_fwd.py");
  EXPECT_EQ(text("run/kernels/step_00000000/dense/attn_fwd.py"), first);
  EXPECT_EQ(text("run/ckpt/step_00000003/kernels/dense/attn_fwd.py"), first);
  const nlohmann::json state =
      nlohmann::json::parse(text("run/ckpt/step_00000003/state.json"));
  for (const char *name :
       {"dense/attn_fwd.py", "nn/residual_norm.py", "nn/rmsnorm_fwd.py",
        "nn/rmsnorm_bwd.py", "nn/rope.py"})
    EXPECT_TRUE(state["kernels"].contains(name)) << name;
  EXPECT_FALSE(state["kernels"].contains("nsa/select_fwd.py"));

  fs::remove(folder.path / "run/metrics.json");
  fs::remove_all(folder.path / "run/ckpt/step_00000006");
  const std::string config = text("run/config.json"),
                    metrics = text("run/metrics.jsonl");
  std::ofstream(folder.path / "kernels/dense/attn_fwd.py", std::ios::app)
      << "# edited\n";
  // A file that the run does not use may change.
  std::ofstream(folder.path / "kernels/nsa/select_fwd.py", std::ios::app)
      << "# edited\n";
  expectRefused(runWith(), "dense/attn_fwd.py has changed");
  EXPECT_EQ(text("run/config.json"), config);
  EXPECT_EQ(text("run/metrics.jsonl"), metrics);
  EXPECT_FALSE(fs::exists(folder.path / "run/kernels/step_00000003"));

  const CommandResult asked = runWith({"allow_changed_kernels=true"});
  expectFine(asked);
  EXPECT_NE(asked.errors.find("going on with other kernel files than before: "
                              "dense/attn_fwd.py has changed\n"),
            std::string::npos)
      << asked.errors;
  EXPECT_NE(asked.errors.find("at step 3"), std::string::npos);
  EXPECT_EQ(text("run/kernels/step_00000000/dense/attn_fwd.py"), first);
  EXPECT_EQ(text("run/kernels/step_00000003/dense/attn_fwd.py"),
            first + "# edited\n");
  EXPECT_EQ(text("run/ckpt/step_00000006/kernels/dense/attn_fwd.py"),
            first + "# edited\n");
}

} // namespace
