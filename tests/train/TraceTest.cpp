// tests/train/TraceTest.cpp - trace.json of a run: what is in it, and where.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/train/TrainRun.h"

#include <algorithm>
#include <map>
#include <set>

using namespace tessera;
using nlohmann::json;

namespace {

class TraceFile : public TrainRun {
protected:
  json spans(const std::string &out) {
    const json all =
        json::parse(readFile(folder.file(out) + "/trace.json"))["traceEvents"];
    json complete = json::array();
    for (const json &e : all)
      if (e["ph"] == "X")
        complete.push_back(e);
    return complete;
  }
  static double begin(const json &e) { return e["ts"]; }
  static double end(const json &e) {
    return e["ts"].get<double>() + e["dur"].get<double>();
  }
  /// Whether `inner` is within `outer`, on the same thread; both are written in
  /// nanoseconds.
  static bool within(const json &inner, const json &outer) {
    return inner["tid"] == outer["tid"] &&
           begin(inner) >= begin(outer) - 1e-3 &&
           end(inner) <= end(outer) + 1e-3;
  }
  static std::vector<json> named(const json &all, const std::string &name,
                                 const json &outer) {
    std::vector<json> found;
    for (const json &e : all)
      if (e["name"] == name && within(e, outer))
        found.push_back(e);
    return found;
  }
  /// stages_ms and step_ms of a logged step.
  json record(const std::string &out, int step) {
    std::istringstream in(readFile(folder.file(out) + "/metrics.jsonl"));
    for (std::string line; std::getline(in, line);)
      if (const json r = json::parse(line);
          r["step"] == step && r.contains("stages_ms"))
        return r;
    return {};
  }
  const std::vector<std::string> compiled = {"kernels=tessera",
                                             "train.accumulate=2"};
};

TEST_F(TraceFile, SpansOfAThreadAreNested) {
  std::vector<std::string> settings = compiled;
  settings.insert(settings.end(),
                  {"train.trace_steps=[11, 12]", "train.save_every=11"});
  expectFine(run("run", settings));
  std::map<int64_t, std::vector<json>> threads;
  for (const json &e : spans("run"))
    threads[e["tid"]].push_back(e);
  EXPECT_GE(threads.size(), 2u) << "steps, and the writer of checkpoints";
  for (auto &[thread, all] : threads) {
    std::sort(all.begin(), all.end(), [](const json &a, const json &b) {
      return begin(a) != begin(b) ? begin(a) < begin(b) : end(a) > end(b);
    });
    std::vector<json> open;
    for (const json &e : all) {
      while (!open.empty() && end(open.back()) <= begin(e) + 1e-3 &&
             !within(e, open.back()))
        open.pop_back();
      if (!open.empty()) {
        EXPECT_TRUE(within(e, open.back())) << e << " in " << open.back();
      }
      open.push_back(e);
    }
  }
}

// Torch fills what it allocates while algorithms are deterministic, unless told
// that everything is written before it is read.
TEST_F(TraceFile, NewMemoryIsNotFilled) {
  std::vector<std::string> settings = compiled;
  settings.push_back("train.trace_steps=11,11");
  expectFine(run("run", settings));
  const json all = spans("run");
  std::vector<json> allocations;
  for (const json &e : all)
    if (e["name"] == "aten::empty" || e["name"] == "aten::empty_strided" ||
        e["name"] == "aten::empty_like")
      allocations.push_back(e);
  EXPECT_GT(allocations.size(), 10u);
  for (const json &e : allocations)
    EXPECT_TRUE(named(all, "aten::fill_", e).empty()) << e;
}

// Slices of one projection: the gradient of each slice would be as large as
// that of the projection, and would be added to the others.
TEST_F(TraceFile, GradientsOfHeadsArePutSideBySide) {
  std::vector<std::string> settings = compiled;
  settings.push_back("train.trace_steps=11,11");
  expectFine(run("run", settings));
  int slices = 0, parts = 0;
  for (const json &e : spans("run")) {
    slices += e["name"] == "aten::slice_backward";
    parts += e["name"] == "SplitWithSizesBackward0";
  }
  EXPECT_EQ(slices, 0);
  // Projection, rotated heads, values: of two layers in two micro-batches.
  EXPECT_EQ(parts, 3 * 2 * 2);
}

#ifdef TESSERA_NVTX_RECORDER
// What a profiler gets of NVTX: ranges of each thread are nested, every step
// has its phases in their order, layers and kernels in these; and no bit of the
// run is another.
TEST_F(TraceFile, NvtxHasStepsPhasesLayersAndKernels) {
  std::vector<std::string> settings = compiled;
  settings.insert(settings.end(), {"train.steps=3", "train.eval_every=2"});
  expectFine(run("plain", settings));
  settings.push_back("runtime.nvtx=true");
  const CommandResult done =
      runCommand(command("run", settings), std::chrono::seconds(300),
                 {"NVTX_INJECTION64_PATH=" TESSERA_NVTX_RECORDER,
                  "NVTX_RECORD=" + folder.file("ranges")});
  expectFine(done);
  EXPECT_EQ(checkpoint("plain", 3, "model.safetensors"),
            checkpoint("run", 3, "model.safetensors"));
  std::istringstream in(readFile(folder.file("ranges")));
  std::map<int, std::vector<std::string>> open;
  std::vector<std::string> phases; // "step/phase", in their order
  std::map<std::string, int> layers, kernels;
  int domains = 0, evaluations = 0;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    int thread = 0;
    std::string what, name;
    words >> thread >> what >> std::ws;
    std::getline(words, name);
    std::vector<std::string> &stack = open[thread];
    if (what == "domain") {
      EXPECT_EQ(name, "tessera");
      ++domains;
    } else if (what == "pop") {
      ASSERT_FALSE(stack.empty());
      stack.pop_back();
    } else {
      ASSERT_EQ(what, "push");
      stack.push_back(name);
      const bool inStep = stack[0].starts_with("step ");
      if (inStep && stack.size() == 2)
        phases.push_back(stack[0].substr(5) + "/" + name);
      if (inStep && stack.size() > 2 && name.starts_with("layer"))
        ++layers[stack[0] + "/" + stack[1]];
      if (inStep && stack.size() > 2 && name.starts_with("kernel "))
        ++kernels[stack[0] + "/" + stack[1]];
      evaluations += name == "evaluation" && stack.size() == 1;
    }
  }
  for (const auto &[thread, stack] : open)
    EXPECT_TRUE(stack.empty()) << thread << ": " << stack.size();
  EXPECT_EQ(domains, 1);
  EXPECT_EQ(evaluations, 1);
  for (const std::string step : {"1", "2", "3"}) {
    const std::string all = "step " + step;
    // Two layers, two micro-batches.
    EXPECT_EQ(layers[all + "/forward"], 4);
    EXPECT_GT(kernels[all + "/forward"], 4);
    for (const char *phase :
         {"data", "forward", "backward", "exchange", "update"})
      EXPECT_NE(std::find(phases.begin(), phases.end(), step + "/" + phase),
                phases.end())
          << step << phase;
  }
}
#endif

// Two layers, two micro-batches: what a step must have follows from the model.
TEST_F(TraceFile, AStepHasItsPhasesLayersAndKernels) {
  std::vector<std::string> settings = compiled;
  settings.insert(settings.end(),
                  {"train.trace_steps=11,12", "train.save_every=11"});
  const CommandResult done = run("run", settings);
  expectFine(done);
  EXPECT_NE(done.errors.find("trace.json"), std::string::npos) << done.errors;
  const json all = spans("run");
  std::vector<json> steps;
  for (const json &e : all)
    if (e["cat"] == "step")
      steps.push_back(e);
  ASSERT_EQ(steps.size(), 2u);
  for (int i = 0; i < 2; ++i) {
    const json &step = steps[size_t(i)];
    EXPECT_EQ(step["name"], "step " + std::to_string(11 + i));
    std::map<std::string, double> phases;
    double sum = 0;
    for (const json &e : all)
      if (e["cat"] == "phase" && within(e, step)) {
        phases[e["name"]] += e["dur"].get<double>() / 1e3;
        sum += e["dur"].get<double>();
      }
    // To the nanosecond that each is cut to.
    EXPECT_NEAR(sum, step["dur"].get<double>(), 0.1);
    // The run's own clock has the same moments. It is read for the last time
    // before `log`, and after the step has begun.
    const json own = record("run", 11 + i);
    for (const char *stage : {"data", "forward", "backward", "update"}) {
      EXPECT_NEAR(phases[stage], own["stages_ms"][stage].get<double>(), 1e-3)
          << stage;
      EXPECT_GT(phases[stage], 0) << stage;
    }
    EXPECT_GE(phases["other"] + 1e-3, own["stages_ms"]["other"].get<double>());
    const std::vector<json> forward = named(all, "forward", step),
                            backward = named(all, "backward", step);
    ASSERT_EQ(forward.size(), 2u);
    ASSERT_EQ(backward.size(), 2u);
    for (const json &phase : forward) {
      for (const char *layer : {"layer 0", "layer 1"})
        EXPECT_EQ(named(all, layer, phase).size(), 1u) << layer;
      // Two in each block, one before the head; all but the first follow a
      // residual sum.
      EXPECT_EQ(named(all, "kernel rmsnorm_fwd", phase).size(), 1u);
      EXPECT_EQ(named(all, "kernel residual_norm_fwd", phase).size(), 4u);
      const std::vector<json> first = named(all, "layer 0", phase);
      ASSERT_EQ(first.size(), 1u);
      EXPECT_EQ(named(all, "kernel rmsnorm_fwd", first[0]).size(), 1u);
      EXPECT_EQ(named(all, "kernel residual_norm_fwd", first[0]).size(), 1u);
      EXPECT_TRUE(named(all, "kernel rmsnorm_bwd", phase).empty());
    }
    // Nothing but the last norm reads the last sum.
    for (const json &phase : backward) {
      EXPECT_EQ(named(all, "kernel rmsnorm_bwd", phase).size(), 2u);
      EXPECT_EQ(named(all, "kernel residual_norm_bwd", phase).size(), 3u);
    }
  }
  // After step 11: this thread copies, another thread writes.
  std::map<std::string, json> parts;
  for (const json &e : all)
    if (e["cat"] == "part")
      parts[e["name"]] = e;
  ASSERT_TRUE(parts.contains("checkpoint: copy"));
  ASSERT_TRUE(parts.contains("checkpoint: write"));
  EXPECT_EQ(parts["checkpoint: copy"]["tid"], steps[0]["tid"]);
  EXPECT_NE(parts["checkpoint: write"]["tid"], steps[0]["tid"]);
  EXPECT_GE(begin(parts["checkpoint: copy"]), end(steps[0]) - 1e-3);
}

// The requests that a launch was compiled from say what its span must say.
TEST_F(TraceFile, LaunchesHaveTheConfigurationOfTheirKernel) {
  std::vector<std::string> settings = compiled;
  settings.insert(settings.end(),
                  {"train.trace_steps=[2, 3]", "--trace-target=sm_80"});
  expectFine(run("run", settings));
  const json list = json::parse(readFile(folder.file("run") + "/kernels.json"));
  std::set<size_t> seen;
  for (const json &e : spans("run")) {
    EXPECT_EQ(e.contains("args"), e["cat"] == "kernel") << e;
    if (e["cat"] != "kernel")
      continue;
    const json &args = e["args"];
    seen.insert(args["listed"].get<size_t>());
    const json &ran = list.at(args["listed"].get<size_t>())["ran"];
    EXPECT_EQ(e["name"], "kernel " + ran["kernel"].get<std::string>());
    EXPECT_EQ(args["target"], ran["target"]);
    EXPECT_EQ(args["num_warps"], ran["options"]["num_warps"]);
    EXPECT_EQ(args["num_stages"], ran["options"]["num_stages"]);
    size_t constexprs = 0;
    for (const json &a : ran["args"])
      if (a["kind"] == "constexpr") {
        ++constexprs;
        EXPECT_EQ(args["constexprs"][a["name"].get<std::string>()], a["value"])
            << a;
      }
    EXPECT_EQ(args["constexprs"].size(), constexprs);
    if (e["name"] == "kernel rmsnorm_fwd") {
      EXPECT_EQ(args["constexprs"]["D"], 32) << "model.dim";
    }
  }
  ASSERT_EQ(seen.size(), list.size()) << "each is listed once, and launched";
  EXPECT_GT(list.size(), 15u);
  for (const json &kind : list) {
    EXPECT_TRUE(kind["ran"]["target"].get<std::string>().starts_with("cpu:"));
    EXPECT_EQ(kind["for_target"]["target"], "sm_80");
    EXPECT_EQ(kind["for_target"]["kernel"], kind["ran"]["kernel"]);
  }
}

TEST_F(TraceFile, ChangesNoResultAndIsOffUnlessAskedFor) {
  expectFine(run("plain"));
  expectFine(run("traced", {"train.trace_steps=[2, 12]"}));
  EXPECT_FALSE(std::filesystem::exists(folder.file("plain") + "/trace.json"));
  EXPECT_TRUE(std::filesystem::exists(folder.file("traced") + "/trace.json"));
  EXPECT_FALSE(std::filesystem::exists(folder.file("traced") + "/kernels.json"))
      << "without --trace-target";
  EXPECT_EQ(steps("plain"), steps("traced"));
  EXPECT_TRUE(checkpoint("plain", 12, "model.safetensors") ==
              checkpoint("traced", 12, "model.safetensors"));
  expectRefused(run("bad", {"train.trace_steps=[4, 3]"}),
                "step 3 comes before step 4");
  expectRefused(run("bad", {"train.trace_steps=5"}), "[first, last] step");
}

} // namespace
