// tests/train/SimSmokeTest.cpp - a model trained on a simulated GPU learns what
// it learns on the cpu.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/train/TrainRun.h"

#include <cmath>

using namespace tessera;

namespace {

class SimSmoke : public TrainRun {
protected:
  CommandResult runOn(const std::string &device,
                      const std::vector<std::string> &more = {}) {
    std::vector<std::string> line = {TESSERA_TRAIN,
                                     "train",
                                     "--config",
                                     TESSERA_SOURCE "/configs/sim_smoke.yaml",
                                     "data.path=" + folder.file("text"),
                                     "out=" + folder.file(device)};
    line.insert(line.end(), more.begin(), more.end());
    return runCommand(line, std::chrono::seconds(1200),
                      {"TESSERA_DEVICE=" + device, "TESSERA_F32_DEFAULT=ieee",
                       "TESSERA_CACHE_DIR=" + folder.file("cache")});
  }
};

// Three steps from the same weights, fp32, dots in full precision.
TEST_F(SimSmoke, LossesAreThoseOfTheCpu) {
  expectFine(runOn("cpu"));
  const CommandResult simulated = runOn("sim:sm_80");
  expectFine(simulated);
  EXPECT_NE((simulated.errors + simulated.output)
                .find("tessera kernels on sim:sm_80"),
            std::string::npos);
  const auto cpu = steps("cpu"), sim = steps("sim:sm_80");
  ASSERT_EQ(cpu.size(), 3u);
  ASSERT_EQ(sim.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_GT(cpu[i].first, 1);
    EXPECT_LT(std::abs(sim[i].first / cpu[i].first - 1), 1e-3) << "step " << i;
    EXPECT_LT(std::abs(sim[i].second / cpu[i].second - 1), 1e-2)
        << "gradient norm of step " << i;
  }
  EXPECT_NEAR(metrics("sim:sm_80")["val_bpb"].get<double>() /
                  metrics("cpu")["val_bpb"].get<double>(),
              1, 1e-3);
}

// By runtime.loss_logits=auto a GPU keeps them, the cpu does not.
TEST_F(SimSmoke, KeptLogitsHaveTheLossOfTheCpu) {
  for (const char *device : {"cpu", "sim:sm_80"}) {
    expectFine(runOn(device, {"attention=dense", "train.steps=1",
                              "train.seq_len=32", "runtime.fused_loss=true"}));
    const bool gpu = device != std::string("cpu");
    const std::string launches = readFile(folder.file(device) + "/env.json");
    EXPECT_EQ(launches.find("logits_loss_bwd") != std::string::npos, gpu);
    EXPECT_EQ(launches.find("linear_loss_bwd") != std::string::npos, !gpu);
    EXPECT_EQ(metrics(device)["kernels_compiled_after_step_1"], 0);
  }
  const auto cpu = steps("cpu"), sim = steps("sim:sm_80");
  ASSERT_EQ(cpu.size(), 1u);
  ASSERT_EQ(sim.size(), 1u);
  EXPECT_LT(std::abs(sim[0].first / cpu[0].first - 1), 1e-5);
  EXPECT_LT(std::abs(sim[0].second / cpu[0].second - 1), 1e-4);
}

TEST_F(SimSmoke, AnUnknownDeviceIsRefused) {
  expectRefused(runOn("sim:sm_8"), "did you mean `sim:sm_80`?");
}

} // namespace
