// bench/cost/Predict.cpp - predicted times of launches that a file describes.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
//   cost_predict LAUNCHES.json GPU... > times.json
//
// LAUNCHES.json is a list of launches as bench/predicted.py writes them:
//   kernel, file    "kernels/..."
//   grid            three numbers
//   constexprs, warps, stages
//   arguments       by name: a number, or a tensor {type, elements, data};
//                   data: a file of its bytes, else it is zeros
//   ticket          an argument whose first number tells a program its block
//   samples         [{block, at}]: the blocks that run, the first one in the
//                   middle; without, those of tune::sampledBlocks()
// The result has for each launch and GPU what predict() says, and the blocks'
// counts. Code is for the GPU's target.
#include "autotune/model/CostModel.h"
#include "autotune/model/Floors.h"
#include "autotune/model/ProfileJson.h"
#include "autotune/model/SampledGpu.h"
#include "replay/Elements.h"
#include "replay/GpuLaunch.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/Json.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>

using namespace tessera;

namespace {

// Zeros that take no memory until they are written.
class Zeros {
public:
  explicit Zeros(size_t bytes)
      : all(static_cast<char *>(std::calloc(bytes + 256, 1)), std::free) {
    if (!all)
      throw Error("no memory for a tensor of " + std::to_string(bytes) +
                      " bytes",
                  "predict shorter sequences");
    begin =
        all.get() + (256 - reinterpret_cast<uintptr_t>(all.get()) % 256) % 256;
  }
  char *data() const { return begin; }

private:
  std::unique_ptr<char, void (*)(void *)> all;
  char *begin = nullptr;
};

// Writes the data of an argument, if it has any.
void fill(const Json &value, char *to, size_t bytes) {
  if (!value.is_object() || !value.contains("data"))
    return;
  const std::string data = readFile(value["data"].get<std::string>());
  std::memcpy(to, data.data(), std::min(bytes, data.size()));
}

Arg argument(const Json &value, std::vector<Zeros> &memory) {
  if (value.is_number_float())
    return value.get<double>();
  if (value.is_number())
    return value.get<int64_t>();
  const auto type = dtypeFromText(value.at("type").get<std::string>());
  if (!type)
    throw Error("unknown type " + value.at("type").dump(), "write \"bf16\"");
  const size_t bytes =
      value.at("elements").get<size_t>() * cases::elementBytes(*type);
  memory.emplace_back(bytes);
  char *const to = memory.back().data();
  fill(value, to, bytes);
  return Pointer{to, *type, bytes, 0};
}

// Runs the blocks that the file names.
// `prepare` writes what block `number` needs in memory.
tune::LaunchProfile profileOf(const cases::GpuLaunch &code, const Json &samples,
                              const std::function<void(int32_t)> &prepare,
                              const sim::Options &checks) {
  tune::LaunchProfile profile;
  profile.grid = code.launch.grid;
  const sim::Dim3 &block = code.launch.block;
  profile.threads = block[0] * block[1] * block[2];
  profile.registers = code.registers;
  profile.sharedBytes =
      code.launch.dynamicShared +
      uint64_t(code.launch.module.staticShared(code.launch.kernel));
  for (const Json &sample : samples) {
    sim::Options options = checks;
    options.serial = true;
    options.blocks = {sample.at("block").get<uint64_t>()};
    prepare(sample["block"].get<int32_t>());
    const sim::Report report = code.launch.run(options);
    if (!report.ok())
      throw cases::LaunchFault(report.findings[0].text());
    profile.samples.push_back({sample.at("at").get<std::array<double, 3>>(),
                               tune::workOf(report.counters)});
    profile.copiesInFlight = std::max(profile.copiesInFlight,
                                      double(report.counters.asyncMaxGroups));
  }
  return profile;
}

Json predictOn(const Json &launch, const tune::GpuData &gpu) {
  const Kernel kernel = Kernel::fromFile(launch.at("file"), launch["kernel"]);
  std::vector<Zeros> memory;
  std::vector<Arg> args;
  for (const std::string &name : kernel.parameters())
    args.push_back(argument(launch.at("arguments").at(name), memory));
  // A program with a ticket changes the counters that another waits for.
  auto prepare = [&](int32_t number) {
    if (!launch.contains("ticket"))
      return;
    for (size_t i = 0; i < args.size(); ++i) {
      const std::string &name = kernel.parameters()[i];
      const auto *tensor = std::get_if<Pointer>(&args[i]);
      if (!tensor)
        continue;
      auto *to = static_cast<char *>(tensor->address);
      fill(launch["arguments"][name], to, tensor->bytes);
      if (name == launch["ticket"])
        std::memcpy(to, &number, sizeof number);
    }
  };
  LaunchOptions options;
  options.device = findDevice("sim:" + gpu.rates.target);
  options.numWarps = launch.at("warps").get<int64_t>();
  options.numStages = launch.at("stages").get<int64_t>();
  options.tuned = false;
  const cases::GpuLaunch code = cases::gpuLaunch(
      kernel, args, constexprsFromJson(launch.at("constexprs").dump()), options,
      launch.at("grid").get<Grid>());
  sim::Options checks; // of addresses only: what is counted is the same
  checks.races = checks.uninitialized = checks.overflow = false;
  checks.conflicts = sim::GlobalConflicts::Off;
  tune::LaunchProfile profile =
      launch.contains("samples")
          ? profileOf(code, launch["samples"], prepare, checks)
          : tune::profileLaunch(code, checks);
  profile.bytes = launch.at("bytes");
  const tune::Prediction found = tune::predict(profile, gpu);
  Json floors = Json::object(); // microseconds by unit
  for (const tune::Floor &floor : tune::floorsOf(profile, gpu))
    floors[floor.unit] = floor.microseconds;
  return {{"microseconds", found.microseconds},
          {"resident_blocks", found.resident},
          {"limit", found.limit},
          {"floors", floors},
          {"unchecked", tune::uncheckedPart(profile, gpu)},
          {"spilled_bytes", code.spilledBytes},
          {"profile", tune::toJson(profile)}};
}

int run(int argc, char **argv) {
  if (argc < 3)
    throw Error("cost_predict takes a file of launches and names of GPUs",
                "bench/cost/Predict.cpp says what the file has");
  Json result = Json::array();
  for (const Json &launch : Json::parse(readFile(argv[1]))) {
    Json row = {{"kernel", launch.at("kernel")}, {"gpus", Json::object()}};
    for (int i = 2; i < argc; ++i) {
      std::fprintf(stderr, "%s on %s\n",
                   launch["kernel"].get<std::string>().c_str(), argv[i]);
      row["gpus"][argv[i]] = predictOn(launch, tune::findGpu(argv[i]));
    }
    result.push_back(row);
  }
  std::printf("%s\n", result.dump().c_str());
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "cost_predict: %s\n", error.what());
  }
  return 1;
}
