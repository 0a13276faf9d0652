// tests/unit/trainer/observe/TraceTest.cpp - what is observed, and when.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/observe/Trace.h"

#include "support/File.h"
#include "tests/unit/trainer/TestFolder.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <set>

using namespace tessera;
using namespace tessera::trainer;

namespace {

const std::unique_ptr<models::Kernels> kernels = models::makeTorchKernels();

std::set<std::string> names(const TestFolder &folder) {
  std::set<std::string> found;
  const auto all = nlohmann::json::parse(readFile(folder.file("trace.json")));
  for (const auto &e : all["traceEvents"])
    if (e["ph"] == "X")
      found.insert(e["cat"].get<std::string>() + ": " +
                   e["name"].get<std::string>());
  return found;
}

TEST(Trace, ObservesItsStepsAndNothingElse) {
  const TestFolder folder;
  Trace trace(folder.file("trace.json"), {2, 3}, *kernels);
  for (int64_t step = 1; step <= 3; ++step) {
    EXPECT_EQ(trace.beginStep(step), "");
    EXPECT_EQ(at::hasGlobalCallbacks(), step > 1) << step;
    trace.phase("first");
    if (step == 1)
      at::zeros({2}).cos();
    if (step == 2)
      (at::ones({2}).requires_grad_(true) * 2).sum().backward();
    trace.endStep();
    RECORD_USER_SCOPE("kernel \"of\" a test");
  }
  EXPECT_EQ(trace.beginStep(4), "wrote " + folder.file("trace.json"));
  EXPECT_FALSE(at::hasGlobalCallbacks());
  at::zeros({2}).sin();
  const std::set<std::string> found = names(folder);
  for (const char *name :
       {"step: step 2", "step: step 3", "phase: first", "operation: aten::ones",
        "kernel: kernel \"of\" a "
        "test",
        "backward: SumBackward0"})
    EXPECT_TRUE(found.contains(name)) << name;
  for (const char *name : {"step: step 1", "step: step 4",
                           "operation: aten::cos", "operation: aten::sin"})
    EXPECT_FALSE(found.contains(name)) << name;
}

// A run that was resumed inside the range, and stopped inside it.
TEST(Trace, ARangeMayBeginAndEndEarly) {
  const TestFolder folder;
  Trace trace(folder.file("trace.json"), {2, 9}, *kernels);
  trace.beginStep(5);
  trace.phase("only");
  trace.endStep();
  EXPECT_EQ(trace.finish(), "wrote " + folder.file("trace.json"));
  EXPECT_EQ(trace.finish(), "");
  EXPECT_EQ(names(folder),
            (std::set<std::string>{"step: step 5", "phase: only"}));
}

TEST(Trace, WithoutStepsThereIsNone) {
  const TestFolder folder;
  Trace trace(folder.file("trace.json"), {}, *kernels);
  EXPECT_EQ(trace.beginStep(1), "");
  EXPECT_FALSE(at::hasGlobalCallbacks());
  trace.phase("first");
  trace.endStep();
  EXPECT_EQ(trace.finish(), "");
  EXPECT_FALSE(std::filesystem::exists(folder.file("trace.json")));
}

TEST(Trace, AFileThatCannotBeWrittenIsALine) {
  const TestFolder folder;
  Trace trace(folder.file("missing/trace.json"), {1, 1}, *kernels);
  trace.beginStep(1);
  trace.endStep();
  const std::string line = trace.beginStep(2);
  EXPECT_NE(line.find("WARNING: no trace"), std::string::npos) << line;
  EXPECT_NE(line.find("missing"), std::string::npos) << line;
}

} // namespace
