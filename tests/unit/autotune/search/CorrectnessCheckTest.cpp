// tests/unit/autotune/search/CorrectnessCheckTest.cpp - tests of
// autotune/search/CorrectnessCheck.h.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/search/CorrectnessCheck.h"

#include "replay/Case.h"
#include "support/File.h"
#include "tests/unit/support/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>

using namespace tessera;
namespace fs = std::filesystem;

namespace {

// Runs a function on the memory of a launch.
class FunctionDevice : public cases::Device {
public:
  using Body = std::function<void(const std::vector<float *> &)>;
  explicit FunctionDevice(Body body) : body(std::move(body)) {}

  std::string name() const override { return "function"; }
  std::optional<std::string> unsupported(const cases::Case &) override {
    return std::nullopt;
  }
  void compile(const std::vector<const cases::PreparedLaunch *> &) override {}
  void compileOne(cases::PreparedLaunch &, const Grid &) override {}
  void run(const cases::LoadedCase &, const cases::PreparedLaunch &,
           const std::vector<cases::ArgumentMemory> &memory, bool) override {
    std::vector<float *> tensors;
    for (const cases::ArgumentMemory &one : memory)
      tensors.push_back(static_cast<float *>(one.address));
    body(tensors);
  }

  Body body;
};

cases::StoredTensor floats(const std::vector<float> &values) {
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return {"F32", {int64_t(values.size())}, bytes};
}

void addTensor(cases::LoadedCase &loaded, const std::string &name,
               cases::Layout layout, const std::vector<float> &before,
               const std::vector<float> &after) {
  cases::CaseArgument argument;
  argument.name = name;
  argument.kind = cases::ArgumentKind::Pointer;
  argument.dtype = "fp32";
  argument.type = DType::FP32;
  argument.elements = layout.count(name);
  argument.layout = std::move(layout);
  loaded.recorded.arguments.push_back(argument);
  loaded.recorded.written.push_back(name);
  loaded.before[name] = floats(before);
  loaded.after[name] = floats(after);
}

const Grid oneProgram = {1, 1, 1};

// The problem of a candidate, checked as a tuner does.
std::string problemOf(const cases::LoadedCase &loaded,
                      const FunctionDevice::Body &own,
                      const FunctionDevice::Body &candidate) {
  FunctionDevice device(own);
  EXPECT_EQ(tune::checkResults(loaded, {}, oneProgram, device).problem, "");
  const auto changed = tune::withoutOldResults(loaded, {}, oneProgram, device);
  device.body = candidate;
  return tune::checkResults(changed ? *changed : loaded, {}, oneProgram, device)
      .problem;
}

} // namespace

// The recorded memory holds the results in every one of these.

TEST(Gate, AStoreIntoRowsWithGapsMustNotBeLeftOut) {
  cases::LoadedCase loaded;
  addTensor(loaded, "Y", {{2, 2}, {3, 1}}, {1, 2, 9, 3, 4}, {1, 2, 9, 3, 4});
  const auto own = [](const std::vector<float *> &y) {
    for (int i : {0, 1, 3, 4})
      y[0][i] = float(i < 2 ? i + 1 : i);
  };
  EXPECT_EQ(problemOf(loaded, own, own), "");
  EXPECT_NE(problemOf(loaded, own,
                      [&](const std::vector<float *> &y) {
                        for (int i : {0, 1, 3})
                          y[0][i] = float(i < 2 ? i + 1 : i);
                      }),
            "");
}

TEST(Gate, AnElementThatTheDefaultConfigurationLeavesMayBeLeft) {
  cases::LoadedCase loaded;
  addTensor(loaded, "Y", cases::contiguousLayout({3}), {1, 2, 7}, {1, 2, 7});
  const auto own = [](const std::vector<float *> &y) {
    y[0][0] = 1;
    y[0][1] = 2;
  };
  EXPECT_EQ(problemOf(loaded, own, own), "");
  EXPECT_NE(problemOf(loaded, own,
                      [](const std::vector<float *> &y) { y[0][0] = 1; }),
            "");
}

TEST(Gate, AnArgumentThatIsReadKeepsItsContentsAndOthersAreFilled) {
  cases::LoadedCase loaded;
  addTensor(loaded, "SUM", cases::contiguousLayout({2}), {1, 2}, {2, 4});
  addTensor(loaded, "Y", cases::contiguousLayout({2}), {5, 6}, {5, 6});
  const auto own = [](const std::vector<float *> &at) {
    for (int i : {0, 1}) {
      at[0][i] += at[0][i];
      at[1][i] = float(5 + i);
    }
  };
  EXPECT_EQ(problemOf(loaded, own, own), "");
  const std::string problem =
      problemOf(loaded, own, [](const std::vector<float *> &at) {
        for (int i : {0, 1})
          at[0][i] += at[0][i];
      });
  EXPECT_EQ(problem.find("wrong results: `Y`"), 0u) << problem;
}

// Equal outputs are not taken for one tensor.
TEST(Gate, OneOfTwoEqualOutputsMustNotBeLeftOut) {
  cases::LoadedCase loaded;
  for (const char *name : {"Y", "Z"})
    addTensor(loaded, name, cases::contiguousLayout({2}), {0, 0}, {5, 6});
  const auto own = [](const std::vector<float *> &at) {
    for (int i : {0, 1})
      at[0][i] = at[1][i] = float(5 + i);
  };
  EXPECT_EQ(problemOf(loaded, own, own), "");
  EXPECT_NE(problemOf(loaded, own,
                      [](const std::vector<float *> &at) {
                        for (int i : {0, 1})
                          at[0][i] = float(5 + i);
                      }),
            "");
}

// What a candidate did wrong is recorded as a case, with the tensors that the
// recording has, also where its folder is named from the current one.
TEST(Gate, AReproducerHasTheTensorsOfItsRecording) {
  TemporaryFolder folder;
  const fs::path recorded = folder.path() / "recorded";
  fs::create_directory(recorded);
  cases::Case launch;
  launch.name = "copy";
  launch.kernel = "copy";
  launch.kernelFile = "copy.py";
  launch.constexprs = {{"BLOCK", int64_t(64)}};
  writeFile(recorded / "case.json", cases::writeCase(launch));
  writeFile(recorded / "copy.py", "the kernel");
  writeFile(recorded / "before.safetensors", "the tensors");

  cases::PreparedLaunch candidate;
  candidate.constexprs = {{"BLOCK", int64_t(16)}};
  candidate.options.numWarps = 8;
  const fs::path made = folder.path() / "failed" / "copy-1";
  tune::writeReproducer(made, fs::relative(recorded), candidate, {4, 1, 1});

  const cases::Case again = cases::loadCaseText(made).recorded;
  EXPECT_EQ(std::get<int64_t>(again.constexprs.at("BLOCK")), 16);
  EXPECT_EQ(again.numWarps, 8);
  EXPECT_FALSE(again.numStages);
  EXPECT_EQ(again.grid, (Grid{4, 1, 1}));
  EXPECT_EQ(readFile(made / "copy.py"), "the kernel");
  EXPECT_EQ(readFile(made / "before.safetensors"), "the tensors");
  EXPECT_FALSE(fs::exists(made / "after.safetensors"));
}
