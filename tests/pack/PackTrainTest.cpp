// tests/pack/PackTrainTest.cpp - training from a pack.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Kernel.h"
#include "runtime/pack/Pack.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/Json.h"
#include "support/Process.h"
#include "tests/unit/support/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>

using namespace tessera;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

constexpr const char *config = TESSERA_SOURCE "/configs/sim_smoke.yaml";

// One pack for all tests.
class PackTrain : public testing::Test {
protected:
  static void SetUpTestSuite() {
    shared = new TemporaryFolder;
    const CommandResult made =
        runCommand({TESSERA_PROGRAM, "pack", "--config", config, "--targets",
                    "sm_80,sm_90,cpu", "--commit", "abc", "-o", pack()},
                   580s, {"TESSERA_CACHE_DIR=" + inShared("cache")});
    ASSERT_TRUE(made.status.ok()) << made.output << made.errors;
    shown = made.output;
  }
  static void TearDownTestSuite() { delete shared; }

  static std::string inShared(const std::string &name) {
    return (shared->path() / name).string();
  }
  static std::string pack() { return inShared("run.tpack"); }
  std::string own(const std::string &name) {
    return (folder.path() / name).string();
  }

  // A compiler process that leaves a mark where it is started, and nothing that
  // could be found in PATH.
  std::vector<std::string> noCompiler() {
    const std::string worker = own("worker");
    writeFile(worker, "#!/bin/sh\necho started >> " + own("started") + "\n");
    fs::permissions(worker, fs::perms::owner_all);
    return {"TESSERA_WORKER=" + worker, "PATH=/nonexistent",
            "CUDA_HOME=/nonexistent", "TESSERA_PTXAS=/nonexistent",
            "TESSERA_CACHE_DIR=" + own("cache")};
  }

  CommandResult train(const std::string &out,
                      std::vector<std::string> environment,
                      const std::vector<std::string> &more = {}) {
    std::vector<std::string> command = {TESSERA_PROGRAM, "train", "--config",
                                        config, "out=" + own(out)};
    command.insert(command.end(), more.begin(), more.end());
    return runCommand(command, 300s, environment);
  }
  Json metrics(const std::string &out) {
    return parseJson(readFile(own(out) + "/metrics.json"), "metrics");
  }

  static TemporaryFolder *shared;
  static std::string shown;
  const TemporaryFolder folder;
};
TemporaryFolder *PackTrain::shared = nullptr;
std::string PackTrain::shown;

void expectHas(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

std::vector<std::string> with(std::vector<std::string> environment,
                              const std::string &one) {
  environment.push_back(one);
  return environment;
}

} // namespace

// Nothing is compiled, no compiler started, no ptxas looked for: on the cpu and
// on a simulated GPU.
TEST_F(PackTrain, StartsNoCompiler) {
  const auto environment = with(noCompiler(), "TESSERA_PACK=" + pack());
  for (const char *device : {"cpu", "sim:sm_80"}) {
    const CommandResult done = train(
        device, with(environment, std::string("TESSERA_DEVICE=") + device),
        {"train.steps=1"});
    ASSERT_TRUE(done.status.ok()) << done.errors;
    const Json counts = metrics(device);
    EXPECT_EQ(counts["kernels_compiled"], 0);
    EXPECT_EQ(counts["kernels_compiled_after_step_1"], 0);
    EXPECT_EQ(counts["compiler_processes"], 0);
    EXPECT_EQ(counts["kernels_not_in_pack"], 0);
    EXPECT_GT(counts["kernels_packed"].get<int>(), 10);
    EXPECT_EQ(counts["kernels_packed"], counts["kernels_loaded"]);
    expectHas(done.errors, "of them from the pack\n");
    EXPECT_EQ(done.errors.find("warning"), std::string::npos) << done.errors;
  }
  EXPECT_FALSE(fs::exists(own("started")));
}

// The comparison with SDPA at the end has kernels of other sizes.
TEST_F(PackTrain, ThePanelStartsNoCompiler) {
  ASSERT_TRUE(runCommand({TESSERA_PROGRAM, "pack", "--config", config,
                          "panel=true", "--targets", "cpu", "-o", own("panel")},
                         580s, {"TESSERA_CACHE_DIR=" + inShared("cache")})
                  .status.ok());
  const CommandResult done =
      train("cpu", with(noCompiler(), "TESSERA_PACK=" + own("panel")),
            {"train.steps=1", "panel=true"});
  ASSERT_TRUE(done.status.ok()) << done.errors;
  EXPECT_EQ(metrics("cpu")["kernels_not_in_pack"], 0);
  EXPECT_FALSE(metrics("cpu")["panel"].empty());
  EXPECT_FALSE(fs::exists(own("started")));
}

// CUDA tensors, on a driver whose GPU is the simulator.
TEST_F(PackTrain, TrainsOnAGpuWithoutACompiler) {
  std::vector<std::string> environment = noCompiler();
  for (const std::string &one :
       {std::string("TESSERA_PACK=") + pack(),
        std::string("TESSERA_F32_DEFAULT=tf32"),
        std::string("LD_PRELOAD=" TESSERA_SIM_TORCH),
        "SIM_CUDA_COUNTS=" + own("counts"),
        std::string("TESSERA_CUDA_DRIVER=" TESSERA_SIM_CUDA)})
    environment.push_back(one);
  const CommandResult done =
      train("cuda", environment,
            {"train.steps=3", "runtime.device=cuda", "panel=false"});
  ASSERT_TRUE(done.status.ok()) << done.errors;
  expectHas(done.errors, "tessera kernels on cuda:0");
  const Json counts = metrics("cuda");
  EXPECT_EQ(counts["kernels_compiled"], 0);
  EXPECT_EQ(counts["compiler_processes"], 0);
  EXPECT_EQ(counts["kernels_not_in_pack"], 0);
  EXPECT_GT(counts["kernels_packed"].get<int>(), 10);
  EXPECT_FALSE(fs::exists(own("started")));
  // They ran on the GPU.
  std::istringstream in(readFile(own("counts")));
  std::map<std::string, long> calls;
  std::string name;
  for (long count = 0; in >> name >> count;)
    calls[name] = count;
  EXPECT_GE(calls["cuLaunchKernelEx"], 3 * counts["kernels_packed"].get<int>());

  // What is learned there is what the cpu learns.
  ASSERT_TRUE(
      train("cpu", {"TESSERA_PACK=" + pack()}, {"train.steps=3"}).status.ok());
  EXPECT_NEAR(counts["val_bpb"].get<double>() /
                  metrics("cpu")["val_bpb"].get<double>(),
              1, 1e-2);
}

// The same losses as without it; sm_90 has the kernels of sm_80.
TEST_F(PackTrain, IsTheSameCode) {
  ASSERT_TRUE(train("pack", {"TESSERA_PACK=" + pack()}).status.ok());
  ASSERT_TRUE(
      train("cache", {"TESSERA_CACHE_DIR=" + inShared("cache")}).status.ok());
  EXPECT_EQ(metrics("pack")["val_bpb"], metrics("cache")["val_bpb"]);
  const runtime::Pack read(pack());
  EXPECT_EQ(read.index().commit, "abc");
  std::map<std::string, std::set<std::string>> kernels;
  for (const runtime::PackEntry &entry : read.index().entries) {
    const runtime::PackKernel &kernel = read.index().kernels[entry.kernel];
    kernels[entry.target].insert(kernel.name);
    EXPECT_TRUE(kernel.file.starts_with("kernels/")) << kernel.file;
    EXPECT_FALSE(kernel.manifest["kernels"].empty());
  }
  ASSERT_EQ(kernels.size(), 3u);
  EXPECT_EQ(kernels["sm_80"], kernels["sm_90"]);
  // Two stages have kernels of their own on each kind of device.
  EXPECT_EQ(kernels["sm_80"].erase("branch_bwd_sum"), 1u);
  EXPECT_EQ(kernels["sm_80"].erase("select_lists"), 1u);
  EXPECT_EQ(kernels["sm_80"].erase("select_list_fwd"), 1u);
  EXPECT_EQ(kernels["sm_80"].erase("select_list_bwd_dq"), 1u);
  EXPECT_EQ(kernels[hostTarget()].erase("select_packed_bwd_dq"), 1u);
  EXPECT_EQ(kernels[hostTarget()].erase("select_packed_fwd"), 1u);
  EXPECT_EQ(kernels[hostTarget()].erase("pack_keys"), 1u);
  EXPECT_EQ(kernels["sm_80"], kernels[hostTarget()]);
}

// A kernel that has changed since is compiled, which is reported once.
TEST_F(PackTrain, AChangedKernelIsAMiss) {
  fs::copy(TESSERA_SOURCE "/kernels", folder.path() / "kernels",
           fs::copy_options::recursive);
  const fs::path file = folder.path() / "kernels/nn/rope.py";
  std::string text = readFile(file);
  const size_t at = text.find("tl.load(");
  ASSERT_NE(at, std::string::npos);
  text.replace(at, 8, "0.0 + tl.load(");
  writeFile(file, text);
  const CommandResult done = train(
      "changed", {"TESSERA_PACK=" + pack(), "TESSERA_KERNELS=" + own("kernels"),
                  "TESSERA_CACHE_DIR=" + own("cache")});
  ASSERT_TRUE(done.status.ok()) << done.errors;
  expectHas(done.errors, "has no `rope` with");
  expectHas(done.errors, "the text of the kernel is another one");
  EXPECT_GT(metrics("changed")["kernels_not_in_pack"].get<int>(), 0);
  EXPECT_GT(metrics("changed")["kernels_packed"].get<int>(), 10);
  EXPECT_EQ(metrics("changed")["kernels_compiled"],
            metrics("changed")["kernels_not_in_pack"]);
}

TEST_F(PackTrain, WhatCannotBeUsedIsReported) {
  const std::string bytes = readFile(pack());
  const auto refused = [&](const std::string &broken, const std::string &part) {
    writeFile(own("broken"), broken);
    for (const CommandResult &result :
         {train("none", {"TESSERA_PACK=" + own("broken")}),
          runCommand({TESSERA_PROGRAM, "pack", "--show", own("broken")},
                     60s)}) {
      EXPECT_EQ(result.status.code, 1);
      expectHas(result.errors, part);
      expectHas(result.errors, "HINT");
    }
    EXPECT_FALSE(fs::exists(own("none") + "/metrics.json"));
  };
  refused(bytes.substr(0, bytes.size() / 2), "is cut");
  std::string version = bytes;
  version[8] = 9;
  refused(version, "is a pack of version 9");
  const CommandResult none = train("none", {"TESSERA_PACK=/nonexistent"});
  EXPECT_EQ(none.status.code, 1);
  expectHas(none.errors, "TESSERA_PACK: cannot read /nonexistent");
  // A pack for other machines: the kernels come from where they came before.
  const CommandResult gpu =
      runCommand({TESSERA_PROGRAM, "pack", "--config", config, "--targets",
                  "sm_80", "-o", own("gpu.tpack")},
                 300s, {"TESSERA_CACHE_DIR=" + inShared("cache")});
  ASSERT_TRUE(gpu.status.ok()) << gpu.errors;
  const CommandResult foreign =
      train("foreign", {"TESSERA_PACK=" + own("gpu.tpack"),
                        "TESSERA_CACHE_DIR=" + inShared("cache")});
  ASSERT_TRUE(foreign.status.ok()) << foreign.errors;
  expectHas(foreign.errors,
            "it has no code for " + hostTarget() + ", only for sm_80");
  EXPECT_EQ(metrics("foreign")["kernels_packed"], 0);
}

// The path of the pack that a user passes may be a link or a pipe.
TEST_F(PackTrain, IsWrittenThroughLinksAndDescriptors) {
  const std::vector<std::string> cache = {"TESSERA_CACHE_DIR=" +
                                          inShared("cache")};
  fs::create_symlink("linked.tpack", own("gpu.tpack"));
  const CommandResult made =
      runCommand({TESSERA_PROGRAM, "pack", "--config", config, "--targets",
                  "sm_80", "-o", own("gpu.tpack")},
                 300s, cache);
  ASSERT_TRUE(made.status.ok()) << made.errors;
  EXPECT_TRUE(fs::is_symlink(own("gpu.tpack")));
  expectHas(made.output, "all checksums right");
  const std::string bytes = readFile(own("linked.tpack"));
  // A pipe, and a file behind a descriptor, receive only the pack.
  for (const char *to : {"", " > file.tpack && cat file.tpack"}) {
    const CommandResult piped =
        runCommand({"/bin/sh", "-c",
                    "cd \"$0\" && \"$@\" -o /dev/stdout" + std::string(to),
                    folder.path().string(), TESSERA_PROGRAM, "pack", "--config",
                    config, "--targets", "sm_80"},
                   300s, cache);
    ASSERT_TRUE(piped.status.ok()) << piped.errors;
    EXPECT_EQ(piped.output.substr(0, 8), bytes.substr(0, 8));
    EXPECT_GT(piped.output.size(), bytes.size() - 200);
    EXPECT_EQ(piped.output.find("all checksums right"), std::string::npos);
  }
}

// A table goes with the kernels that it chooses, and is used without being
// named.
TEST_F(PackTrain, TablesTravelWithIt) {
  const std::vector<std::string> environment = {"TESSERA_CACHE_DIR=" +
                                                inShared("cache")};
  const CommandResult tuned = runCommand(
      {TESSERA_PROGRAM, "tune", "--config", config, "--kernels", "rope",
       "--budget", "10s", "--out", own("table.yaml"), "threads=1"},
      300s, environment);
  ASSERT_TRUE(tuned.status.ok()) << tuned.errors;
  writeFile(own("table.yaml"),
            std::regex_replace(readFile(own("table.yaml")),
                               std::regex("\n  use: \\{[^}]*\\}"),
                               "\n  use: {BT: 16}"));
  const CommandResult made =
      runCommand({TESSERA_PROGRAM, "pack", "--config", config, "--table",
                  own("table.yaml"), "-o", own("run.tpack")},
                 300s, environment);
  ASSERT_TRUE(made.status.ok()) << made.errors;
  expectHas(made.output, "entries for");
  std::vector<std::string> packed = noCompiler();
  packed.push_back("TESSERA_PACK=" + own("run.tpack"));
  packed.push_back("TESSERA_PRINT_ROUTING=1");
  const CommandResult done = train("tuned", packed);
  ASSERT_TRUE(done.status.ok()) << done.errors;
  expectHas(done.errors + done.output, "BT=16");
  expectHas(done.errors + done.output, "table " + own("run.tpack"));
  EXPECT_EQ(metrics("tuned")["kernels_not_in_pack"], 0);
  EXPECT_FALSE(fs::exists(own("started")));
}

TEST_F(PackTrain, ShowsWhatItHolds) {
  for (const char *part :
       {"all checksums right", "commit abc", "tessera pack --config", "sm_90",
        "kernels/nn/rope.py", "specializations of"})
    expectHas(shown, part);
  const CommandResult nothing =
      runCommand({TESSERA_PROGRAM, "pack", "--config", config}, 60s);
  EXPECT_EQ(nothing.status.code, 1);
  expectHas(nothing.errors, "was not told where to write the pack");
  expectHas(nothing.errors, "HINT: add -o ");
  expectHas(runCommand({TESSERA_PROGRAM, "pack", "-o", own("x")}, 60s).errors,
            "was not told what to pack");
  const CommandResult target =
      runCommand({TESSERA_PROGRAM, "pack", "--config", config, "--targets",
                  "sm_8", "-o", own("x")},
                 60s);
  EXPECT_EQ(target.status.code, 1);
  expectHas(target.errors, "sm_8");
}
