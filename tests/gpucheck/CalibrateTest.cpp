// tests/gpucheck/CalibrateTest.cpp - microbenchmarks of the cost model's
// figures, and a complete run from a pack.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/gpucheck/Fixture.h"

#include "autotune/model/Devices.h"
#include "autotune/table/TuneTable.h"

#include <cmath>
#include <set>

using namespace tessera;

namespace {

class GpuCalibrate : public GpuCheck {
protected:
  Json result() const { return parseJson(readFile(path("result.json")), "r"); }
  Json figure(const std::string &name) const {
    const Json all = result();
    for (const Json &row : all["calibration"])
      if (row["name"] == name)
        return row;
    return nullptr;
  }
  void pack(std::vector<std::string> more) {
    more.insert(more.begin(),
                {"pack-cases", TESSERA_SOURCE "/tests/replay/vector_add", "-o",
                 path("packed"), "--microbenchmarks"});
    expectFine(run(more));
  }
  CommandResult calibrate(std::vector<std::string> environment,
                          std::vector<std::string> options = {"--phases",
                                                              "calibrate"}) {
    options.insert(options.end(), {"--json", path("result.json")});
    return check(std::move(options), std::move(environment));
  }
};

// With a launch of a tenth of a second the figures follow from the work that
// each microbenchmark does: 264 blocks of 256 threads on 132 SMs.
TEST_F(GpuCalibrate, FiguresFollowFromTheWorkAndTheTime) {
  pack({"--target", "sm_80"});
  Json devices = parseJson(readFile(path("packed/devices.json")), "d");
  EXPECT_EQ(devices["gpus"].size(), tune::gpus().size());
  Json &ours = devices["gpus"][0];
  EXPECT_EQ(ours["dram_gbytes"], 2039); // of an A100
  ours.update({{"model", "Simulated"}, {"target", "sm_90"}, {"sms", 132}});
  write("packed/devices.json", devices.dump());
  expectFine(calibrate({"SIM_CUDA_US=100000"}));
  const double sms = 132, threads = 264 * 256, seconds = 0.1;
  const Json mma = figure("tensor_fma");
  const double products = 4.0 * 8 * 2048 * threads / 32;
  EXPECT_NEAR(
      mma["value"].get<double>() /
          (products / seconds / sms / (mma["clock_mhz"].get<double>() * 1e6)),
      1, 1e-6)
      << mma.dump();
  const Json shared = figure("shared_bytes_per_cycle");
  EXPECT_NEAR(shared["value"].get<double>() * sms *
                  shared["clock_mhz"].get<double>() * 1e6 * seconds /
                  (4.0 * 8 * 16 * threads),
              1, 1e-6);
  const Json dram = figure("dram_gbytes");
  // 16 times the L2 cache, in full rounds of all threads of 64 bytes each.
  const double round = threads * 64,
               bytes = std::floor(16.0 * (1 << 20) / round) * round;
  EXPECT_NEAR(dram["value"].get<double>() * 1e9 * seconds / bytes, 1, 1e-6);
  EXPECT_EQ(dram["published"], 2039);
  EXPECT_NEAR(dram["of_published"].get<double>(),
              dram["value"].get<double>() / 2039, 1e-9);
  EXPECT_NEAR(figure("launch_cycles")["value"].get<double>(), 1e5 * 1980, 10);
  for (const char *name : {"l2_bytes_per_cycle", "l2_latency", "dram_latency"})
    EXPECT_GT(figure(name)["value"].get<double>(), 0) << name;
}

TEST_F(GpuCalibrate, FiguresAboveThePeakAreRefused) {
  pack({"--target", "sm_80"});
  const CommandResult done =
      calibrate({"SIM_CUDA_US=100000,read_dram=0.001,nothing=0"});
  expectFine(done);
  const Json row = figure("dram_gbytes");
  EXPECT_FALSE(row.contains("value")) << row.dump();
  expectHas(row["refused"].get<std::string>(),
            "is above the hardware's peak of 4916.7");
  expectHas(figure("launch_cycles")["refused"].get<std::string>(),
            "no time or clock");
  EXPECT_TRUE(figure("shared_bytes_per_cycle").contains("value"));
  // No published figures of a simulated GPU.
  EXPECT_TRUE(figure("dram_latency")["published"].is_null());
  expectHas(done.output, "calibrate dram_gbytes: refused:");
}

// A kernel that does not do its work is not a measurement.
TEST_F(GpuCalibrate, WrongResultsAreNoFigure) {
  pack({"--target", "sm_80"});
  const fs::path at = path("packed/calibration/mma_loop");
  runtime::CompiledKernel kernel = cases::readPacked(at, "sm_80");
  std::string &code = kernel.stages.at("ptx");
  const std::string one = "mov.u32 %r20, 0x3f803f80;";
  code.replace(code.find(one), one.size(), "mov.u32 %r20, 0x40004000;");
  cases::packTarget(at, "sm_80", kernel);
  expectFine(calibrate({"SIM_CUDA_US=100000"}));
  expectHas(figure("tensor_fma")["error"].get<std::string>(),
            "wrote a wrong result");
  EXPECT_TRUE(figure("shared_bytes_per_cycle").contains("value"));
}

// Record, pack with every configuration, carry, check, tune, time, calibrate:
// the folder and the driver alone.
TEST_F(GpuCalibrate, ACompleteRunFromAPack) {
  // With tiles, which ask for other grids than the recorded one.
  const fs::path tiled = folder.path() / "cases" / "tiled";
  fs::create_directories(tiled.parent_path());
  fs::copy(TESSERA_SOURCE "/tests/replay/vector_add", tiled);
  std::string text = readFile(tiled / "kernel.py");
  text.replace(text.find("axis=0"), 6, "0");
  const std::string block = "BLOCK: tl.constexpr";
  text.insert(text.find(block) + block.size(), " = 256");
  text.insert(text.find("@triton.jit"),
              "# tessera: space(BLOCK=[16, 512, 1024])\n");
  writeFile(tiled / "kernel.py", text);
  pack({path("cases"), "--target", "sm_90", "--tune", "--tune-ptx", "--commit",
        "abc"});
  fs::rename(path("packed"), path("carried"));
  const auto start = std::chrono::steady_clock::now();
  const CommandResult done = runCommand(
      {"/usr/bin/env", "-i", "TESSERA_CUDA_DRIVER=" TESSERA_SIM_CUDA,
       "SIM_CUDA_US=100000", path("carried/tessera-gpu-check"), path("carried"),
       "--json", path("result.json"), "--repeat", "2", "--budget", "480"},
      std::chrono::seconds(400));
  std::printf(
      "%s%.1f s on the simulated driver\n", done.output.c_str(),
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count());
  expectFine(done);
  EXPECT_EQ(result()["complete"], true);
  EXPECT_EQ(result()["pack"]["commit"], "abc");
  EXPECT_EQ(result()["calibration"].size(), 7u);
  const Json tuned = result()["tuning"];
  ASSERT_EQ(tuned.size(), 2u);
  for (const Json &row : tuned) {
    EXPECT_EQ(row["timed"], row["candidates"].size()) << row.dump(1);
    EXPECT_GE(row["timed"], 5);
  }
  std::set<std::string> blocks;
  for (const Json &candidate : tuned[0]["candidates"]) {
    const auto use = candidate["use"].get<std::string>();
    blocks.insert(use.substr(0, use.find(' ')));
  }
  EXPECT_EQ(blocks.size(), 4u) << tuned[0].dump(1);
  const tune::TuneTable table =
      tune::readTable(path(result()["table"].get<std::string>()));
  EXPECT_EQ(table.entries().size(), 2u);
  EXPECT_EQ(table.device.target, "sm_90");
  EXPECT_EQ(table.provenance.commit, "abc");
}

// A process that begins with them, since the results are known.
TEST_F(GpuCalibrate, FiguresAreTheFirstThingOfAProcess) {
  pack({"--target", "sm_80"});
  expectFine(calibrate({}, {"--phases", "check"}));
  const CommandResult done =
      calibrate({"SIM_CUDA_US=100000"}, {"--phases", "calibrate", "--resume"});
  expectFine(done);
  expectHas(done.output, "of 8 are known");
  expectHasNot(done.output, "not measured");
  ASSERT_EQ(result()["calibration"].size(), 7u);
}

} // namespace
