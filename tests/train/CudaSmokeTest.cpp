// tests/train/CudaSmokeTest.cpp - a model trained on CUDA tensors, on a driver
// whose GPU is the simulator, learns what it learns on the cpu.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/train/TrainRun.h"

#include <cmath>
#include <map>

using namespace tessera;

namespace {

class CudaSmoke : public TrainRun {
protected:
  CommandResult train(const std::string &out,
                      const std::vector<std::string> &more,
                      std::vector<std::string> environment = {}) {
    std::vector<std::string> all = {program,
                                    "train",
                                    "--config",
                                    TESSERA_SOURCE "/configs/sim_smoke.yaml",
                                    "data.path=" + folder.file("text"),
                                    "out=" + folder.file(out)};
    all.insert(all.end(), more.begin(), more.end());
    for (const char *always : {"TESSERA_F32_DEFAULT=ieee", "TESSERA_PTXAS=none",
                               "TESSERA_CUDA_DRIVER=" TESSERA_SIM_CUDA})
      environment.push_back(always);
    environment.push_back("TESSERA_CACHE_DIR=" + folder.file("cache"));
    return runCommand(all, std::chrono::seconds(1200), environment);
  }
  CommandResult trainOnGpu(const std::string &out,
                           std::vector<std::string> more,
                           const std::string &failing = "") {
    more.push_back("runtime.device=cuda");
    return train(out, more,
                 {"LD_PRELOAD=" TESSERA_SIM_TORCH, "SIM_CUDA_DEVICES=2",
                  "SIM_CUDA_COUNTS=" + counts(out), "SIM_CUDA_FAIL=" + failing,
                  "LD_LIBRARY_PATH=" + libraries()});
  }
  /// Copies the program next to the plug-in of the simulated driver, so that it
  /// loads that plug-in instead of the one for real GPUs.
  void usePlugin() {
    const auto bin = folder.path / "bin";
    std::filesystem::create_directories(bin);
    const std::filesystem::path own(TESSERA_TRAIN);
    std::filesystem::copy_file(own, bin / own.filename());
    for (const std::filesystem::path &part :
         {own.parent_path() / "tessera-worker",
          std::filesystem::path(TESSERA_SIM_PLUGIN)})
      std::filesystem::create_symlink(part, bin / part.filename());
    program = (bin / own.filename()).string();
  }
  /// For copies of the program.
  static std::string libraries() {
    return std::filesystem::path(TESSERA_TRAIN)
        .parent_path()
        .parent_path()
        .append("lib")
        .string();
  }
  std::string program = TESSERA_TRAIN;
  std::string counts(const std::string &out) {
    return folder.file(out + ".counts");
  }
  /// How often the driver was asked for each function.
  std::map<std::string, long> calls(const std::string &out) {
    std::istringstream in(readFile(counts(out)));
    std::map<std::string, long> all;
    std::string name;
    for (long count = 0; in >> name >> count;)
      all[name] = count;
    return all;
  }
};

TEST_F(CudaSmoke, LossesAreThoseOfTheCpu) {
  expectFine(train("cpu", {}));
  const CommandResult trained = trainOnGpu("cuda", {});
  expectFine(trained);
  EXPECT_NE(trained.errors.find("tessera kernels on cuda:0"), std::string::npos)
      << trained.errors;
  const auto cpu = steps("cpu"), cuda = steps("cuda");
  ASSERT_EQ(cpu.size(), 3u);
  ASSERT_EQ(cuda.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_GT(cpu[i].first, 1);
    EXPECT_LT(std::abs(cuda[i].first / cpu[i].first - 1), 1e-3) << "step " << i;
    EXPECT_LT(std::abs(cuda[i].second / cpu[i].second - 1), 1e-2)
        << "gradient norm of step " << i;
  }
  EXPECT_NEAR(metrics("cuda")["val_bpb"].get<double>() /
                  metrics("cpu")["val_bpb"].get<double>(),
              1, 1e-3);

  // All kernels are compiled in parallel before the first step, for the GPU
  // alone.
  // Keys and values of selected blocks are packed on the CPU only, lists of
  // blocks made for GPUs only; these have branch_bwd_sum beyond that.
  EXPECT_EQ(metrics("cuda")["kernels_loaded"].get<int>(),
            metrics("cpu")["kernels_loaded"].get<int>() + 1);
  EXPECT_EQ(metrics("cuda")["kernels_compiled_after_step_1"], 0);

  // What two more steps ask of the driver: the tokens go there, the loss, the
  // norm of the gradient and the gates' figures come back together, and every
  // kernel is loaded already.
  expectFine(trainOnGpu("longer", {"train.steps=5"}));
  auto three = calls("cuda"), five = calls("longer");
  EXPECT_EQ(five["cuMemcpyHtoD"] - three["cuMemcpyHtoD"], 2 * 1);
  EXPECT_EQ(five["cuMemcpyDtoH"] - three["cuMemcpyDtoH"], 2 * 1);
  long waits = 0;
  for (const char *name :
       {"cuStreamSynchronize", "cuCtxSynchronize", "cuEventSynchronize"})
    waits += five[name] - three[name];
  EXPECT_EQ(waits, 2 * 1); // for what comes back
  EXPECT_EQ(five["cuModuleLoadData"], three["cuModuleLoadData"]);
  EXPECT_GT(five["cuLaunchKernelEx"], three["cuLaunchKernelEx"]);
  EXPECT_EQ(five["cuLaunchKernel"], 0); // that of drivers before CUDA 11.8
}

// Steps 2 to 4 of 5 are replayed, two micro-batches each: the same weights,
// from six launches of a graph instead of all those of kernels.
TEST_F(CudaSmoke, AGraphOfTheMicroStepChangesNoBit) {
  usePlugin();
  for (const char *precision : {"fp32", "bf16"}) {
    const std::string name = precision;
    std::vector<std::string> settings = {
        "train.steps=5", "train.log_every=5", "runtime.precision=" + name,
        "train.accumulate_grad_batches=2", "nsa.use_cmp=false"};
    expectFine(trainOnGpu(name, settings));
    settings.push_back("runtime.cuda_graph=true");
    expectFine(trainOnGpu(name + "_graph", settings));
    auto one = calls(name), graph = calls(name + "_graph");
    EXPECT_EQ(graph["cuGraphLaunch"], 6);
    EXPECT_LT(graph["cuLaunchKernelEx"], one["cuLaunchKernelEx"]);
    EXPECT_EQ(graph["rmsnorm_bwd"], one["rmsnorm_bwd"]);
    const std::string weights = checkpoint(name, 5, "model.safetensors");
    EXPECT_FALSE(weights.empty());
    EXPECT_EQ(weights, checkpoint(name + "_graph", 5, "model.safetensors"));
  }
}

// The hardware fails under the first kernel of a backward pass of step 4.
TEST_F(CudaSmoke, AGpuThatIsLostEndsTheRunAndLosesNothing) {
  const std::string kernel = "rmsnorm_bwd";
  expectFine(trainOnGpu("one", {"train.steps=1"}));
  expectFine(trainOnGpu("two", {"train.steps=2"}));
  const long first = calls("one")[kernel], each = calls("two")[kernel] - first;
  ASSERT_GT(each, 0);
  const std::vector<std::string> settings = {"train.steps=5",
                                             "train.save_every=2"};
  const CommandResult lost =
      trainOnGpu("lost", settings,
                 kernel + "=214@" + std::to_string(first + 2 * each + 1));
  expectRefused(lost, "GPU 0 failed, and this process cannot use it any more");
  for (const char *part :
       {"CUDA_ERROR_ECC_UNCORRECTABLE", "`rmsnorm_bwd` (", "rmsnorm_bwd.py",
        "nvidia-smi", "resumes from the checkpoint of step 2"})
    EXPECT_NE(lost.errors.find(part), std::string::npos) << lost.errors;
  std::vector<std::string> kept;
  for (const auto &entry :
       std::filesystem::directory_iterator(folder.path / "lost/ckpt"))
    kept.push_back(entry.path().filename().string());
  EXPECT_EQ(kept, std::vector<std::string>{"step_00000002"});
  EXPECT_EQ(steps("lost").size(), 3u);
  expectFine(trainOnGpu("lost", settings));
  EXPECT_EQ(steps("lost").size(), 5u);
}

// Two processes with a GPU each, whose tensors are exchanged through the host's
// memory, because NCCL needs real GPUs. The checkpoint joins the shards of the
// optimizer's state.
TEST_F(CudaSmoke, TwoGpusExchangeThroughTheHost) {
  const std::vector<std::string> settings = {
      "train.batch_size=2", "train.steps=2", "runtime.ddp_compress=off"};
  expectFine(train("cpu", settings));
  std::vector<std::string> two = settings;
  two.insert(two.end(), {"--nproc", "2", "runtime.ddp_backend=gloo",
                         "runtime.zero_stage=1"});
  const CommandResult trained = trainOnGpu("cuda", two);
  expectFine(trained);
  EXPECT_NE(trained.errors.find("tessera kernels on cuda:0"), std::string::npos)
      << trained.errors;
  const auto cpu = steps("cpu"), cuda = steps("cuda");
  ASSERT_EQ(cpu.size(), 2u);
  ASSERT_EQ(cuda.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_LT(std::abs(cuda[i].first / cpu[i].first - 1), 1e-3) << "step " << i;
    EXPECT_LT(std::abs(cuda[i].second / cpu[i].second - 1), 1e-2)
        << "gradient norm of step " << i;
  }
}

TEST_F(CudaSmoke, ProcessesThatHaveNoGpuOrNoNcclAreRefused) {
  const std::vector<std::string> two = {"--nproc", "2", "train.batch_size=2",
                                        "runtime.device=cuda"};
  expectRefused(train("none", two,
                      {"LD_PRELOAD=" TESSERA_SIM_TORCH, "SIM_CUDA_DEVICES=1"}),
                "process 1 of the run is number 1 of this machine, where torch "
                "finds 1 GPU");
  // The folder of this copy does not have libtessera_torch_cuda.so.
  const auto copy = folder.path / "tessera-train";
  std::filesystem::copy_file(TESSERA_TRAIN, copy);
  program = copy.string();
  expectRefused(train("none", two,
                      {"LD_PRELOAD=" TESSERA_SIM_TORCH, "SIM_CUDA_DEVICES=2",
                       "LD_LIBRARY_PATH=" + libraries()}),
                "runtime.ddp_backend=nccl: torch's CUDA part cannot be loaded");
  program = TESSERA_TRAIN;
  expectRefused(train("none", {"--nproc", "2", "train.batch_size=2",
                               "runtime.ddp_backend=nccl"}),
                "runtime.ddp_backend is nccl, but the run computes on the CPU");
}

TEST_F(CudaSmoke, NcclForPcieIsChosenByVariables) {
  expectFine(train(
      "run", {"runtime.device=cuda", "runtime.nccl_pcie=true"},
      {"LD_PRELOAD=" TESSERA_SIM_TORCH, "SIM_CUDA=idle", "NCCL_PROTO=LL"}));
  const auto made =
      nlohmann::json::parse(readFile(folder.file("run") + "/env.json"));
  const std::string text = made.dump();
  for (const char *part :
       {"\"NCCL_ALGO\":\"Ring\"", "\"NCCL_IB_DISABLE\":\"1\"",
        "\"NCCL_PROTO\":\"LL\""}) // what is set stays
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST_F(CudaSmoke, SettingsThatDoNotFitAreRefused) {
  expectRefused(trainOnGpu("none", {"kernels=torch"}),
                "kernels=torch computes on the CPU only");
  expectRefused(
      train("none", {"runtime.device=cuda"},
            {"LD_PRELOAD=" TESSERA_SIM_TORCH, "TESSERA_DEVICE=sim:sm_80"}),
      "runtime.device is cuda, but TESSERA_DEVICE=sim:sm_80");
  expectRefused(train("none", {"runtime.device=cpu"}, {"TESSERA_DEVICE=cuda"}),
                "runtime.device is cpu, but TESSERA_DEVICE=cuda");
  expectRefused(train("none", {"runtime.cuda_graph=true"}),
                "runtime.cuda_graph is true, but the run computes on the CPU");
  expectRefused(
      trainOnGpu("none", {"runtime.cuda_graph=true", "data.packing=best_fit"}),
      "with data.packing=best_fit each micro-batch has its own");
  for (const char *schedule :
       {"train.batch_schedule=[2:1]", "train.length_schedule=[1:32]"})
    expectRefused(trainOnGpu("none", {"runtime.cuda_graph=true", schedule}),
                  "runtime.cuda_graph replays launches of one shape");
  expectRefused(train("none", {"runtime.nccl_pcie=true"}),
                "runtime.nccl_pcie is true, but the run computes on the CPU");
  expectRefused(trainOnGpu("none", {"runtime.nccl_pcie=true",
                                    "runtime.ddp_backend=gloo"}),
                "runtime.nccl_pcie is true, but runtime.ddp_backend is gloo");
  // Another user of the same driver, whose GPU is not there.
  expectRefused(train("none", {"runtime.device=cuda"},
                      {"LD_PRELOAD=" TESSERA_SIM_TORCH, "SIM_CUDA_DEVICES=0"}),
                "torch finds no GPU");
}

} // namespace
