// tests/unit/trainer/loop/KernelTextsTest.cpp - names, changes and copies of
// kernel files.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/loop/KernelTexts.h"

#include "support/Error.h"
#include "support/File.h"
#include "support/Process.h"
#include "tests/unit/trainer/TestFolder.h"
#include "tests/unit/trainer/TwoRanks.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::trainer;
namespace fs = std::filesystem;

namespace {

TEST(KernelFiles, NamesAreTheEndsOfPathsThatTellFilesApart) {
  const KernelTexts texts = kernelTexts({{"/home/a/kernels/nsa/ranges.py", "1"},
                                         {"/home/a/mine/nsa/ranges.py", "2"},
                                         {"/home/a/kernels/nn/rope.py", "3"},
                                         {"/top.py", "4"}});
  EXPECT_EQ(texts, (KernelTexts{{"kernels/nsa/ranges.py", "1"},
                                {"mine/nsa/ranges.py", "2"},
                                {"nn/rope.py", "3"},
                                {"top.py", "4"}}));
  // Another copy of the repository has the same names.
  EXPECT_EQ(kernelTexts({{"/srv/kernels/nn/rope.py", "3"}}),
            (KernelTexts{{"nn/rope.py", "3"}}));
}

TEST(KernelFiles, ChangesAreNamed) {
  const auto before = kernelSums({{"a", "1"}, {"b", "2"}, {"c", "3"}});
  EXPECT_EQ(kernelChange(before, before), "");
  EXPECT_EQ(
      kernelChange(before, kernelSums({{"a", "1"}, {"b", "x"}, {"d", "3"}})),
      "b has changed, d is new, c is not used any more");
}

TEST(KernelFiles, AFileInAnotherFolderIsTheSameFile) {
  const auto before = kernelSums({{"mine/near.py", "1"}, {"nn/rope.py", "2"}});
  EXPECT_EQ(kernelChange(before, kernelSums({{"ours/near.py", "1"},
                                             {"nn/rope.py", "2"}})),
            "");
  EXPECT_EQ(kernelChange(before, kernelSums({{"ours/near.py", "3"},
                                             {"nn/rope.py", "2"}})),
            "ours/near.py is new, mine/near.py is not used any more");
}

std::vector<std::string> onNodes(const KernelTexts &first,
                                 const KernelTexts &second) {
  return onTwoRanks([&](DataParallel &parallel) {
    try {
      requireSameKernelFiles(parallel.first() ? first : second, parallel);
    } catch (const Error &error) {
      throw std::runtime_error(error.message + " / " + error.hint);
    }
  });
}

TEST(KernelFiles, NodesWithOtherTextsEnd) {
  const auto errors = onNodes({{"a", "1"}, {"b", "2"}, {"c", "3"}},
                              {{"a", "x"}, {"b", "2"}, {"c", "4"}});
  EXPECT_EQ(errors[0], errors[1]);
  EXPECT_EQ(errors[0].find("process 1 on node "), 0u) << errors[0];
  EXPECT_NE(errors[0].find(" has other texts of kernel files than process 0 on "
                           "node "),
            std::string::npos);
  EXPECT_NE(errors[0].find(": a, c / copy the files of one node"),
            std::string::npos)
      << errors[0];
  // One process may use a file that the other does not need.
  const std::vector<std::string> none = {"", ""};
  EXPECT_EQ(onNodes({{"a", "1"}, {"b", "2"}}, {{"a", "1"}, {"c", "2"}}), none);
  DataParallel alone(World{});
  requireSameKernelFiles({{"a", "1"}}, alone);
}

TEST(KernelFiles, ARunKeepsTheTextsOfEachOfItsParts) {
  const TestFolder run;
  const std::string path = run.path.string();
  const auto folders = [&] {
    std::vector<std::string> names;
    for (const auto &e : fs::directory_iterator(run.path / "kernels"))
      names.push_back(e.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  };
  using Names = std::vector<std::string>;
  keepKernels(path, 0, {});
  EXPECT_FALSE(fs::exists(run.path / "kernels")); // kernels=torch
  keepKernels(path, 0, {{"nsa/a.py", "one"}, {"nn/b.py", "two"}});
  EXPECT_EQ(readFile(run.path / "kernels/step_00000000/nsa/a.py"), "one");
  const auto check =
      runCommand({"/usr/bin/env", "-C", path + "/kernels/step_00000000",
                  "sha256sum", "-c", "SHA256SUMS"},
                 std::chrono::seconds(60));
  EXPECT_TRUE(check.status.ok()) << check.errors;
  EXPECT_NE(check.output.find("nn/b.py: OK"), std::string::npos);
  // The same texts are not kept again; other texts are kept in addition.
  keepKernels(path, 5, {{"nsa/a.py", "one"}, {"nn/b.py", "two"}});
  EXPECT_EQ(folders(), Names{"step_00000000"});
  keepKernels(path, 5, {{"nsa/a.py", "other"}, {"nn/b.py", "two"}});
  EXPECT_EQ(folders(), (Names{"step_00000000", "step_00000005"}));
  EXPECT_EQ(readFile(run.path / "kernels/step_00000000/nsa/a.py"), "one");
  EXPECT_EQ(readFile(run.path / "kernels/step_00000005/nsa/a.py"), "other");
  // Back to step 3: what followed it is not this run's past.
  keepKernels(path, 3, {{"nsa/a.py", "third"}});
  EXPECT_EQ(folders(), (Names{"step_00000000", "step_00000003"}));
  keepKernels(path, 2, {{"nsa/a.py", "one"}, {"nn/b.py", "two"}});
  EXPECT_EQ(folders(), Names{"step_00000000"});
}

} // namespace
