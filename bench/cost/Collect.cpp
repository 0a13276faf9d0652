// bench/cost/Collect.cpp - counts the launches that docs/cost-model.md compares
// with published times, on the simulator.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
//   cost_collect [NAME ...] > profiles.json     all of them, or those named
#include "autotune/model/ProfileJson.h"
#include "autotune/model/SampledGpu.h"
#include "bench/cost/Launches.h"
#include "support/BuildId.h"
#include "support/Error.h"
#include "support/Json.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <random>

using namespace tessera;
using bench::Launch;

namespace {

// Zeros that take no memory until they are written.
class Zeros {
public:
  explicit Zeros(size_t bytes)
      : all(static_cast<char *>(std::calloc(bytes + 256, 1)), std::free) {
    const auto at = reinterpret_cast<uintptr_t>(all.get());
    begin = all.get() + (256 - at % 256) % 256;
  }
  char *data() const { return begin; }

private:
  std::unique_ptr<char, void (*)(void *)> all;
  char *begin = nullptr;
};

void fill(const std::string &name, char *to, int64_t tokens, int64_t elements) {
  auto *numbers = reinterpret_cast<int32_t *>(to);
  if (name == "CU")
    numbers[1] = int32_t(tokens);
  if (name == "CU_CMP")
    numbers[1] = int32_t(bench::compressed(tokens));
  if (name != "IDX")
    return;
  // Block 0, 13 blocks at random, the one before the token's and its own.
  std::mt19937 random(1);
  for (int64_t row = 0; row < elements / 16; ++row) {
    const int64_t own = row % tokens / 64;
    int32_t *list = numbers + row * 16;
    for (int64_t i = 0; i < 16; ++i)
      list[i] = int32_t(own <= 15 ? (i <= own ? i : -1)
                        : i < 14  ? i * (own - 2) / 14 + int64_t(random() % 2)
                                  : own - 15 + i);
  }
}

tune::LaunchProfile count(const Launch &launch, int64_t tokens) {
  const Kernel kernel = Kernel::fromFile(launch.file, launch.kernel);
  std::vector<Zeros> memory;
  std::vector<Arg> args;
  for (const std::string &name : kernel.parameters()) {
    if (auto scalar = launch.scalars.find(name);
        scalar != launch.scalars.end()) {
      args.push_back(scalar->second);
      continue;
    }
    const auto found = launch.tensors.find(name);
    if (found == launch.tensors.end())
      throw Error(launch.kernel + " has a parameter " + name,
                  "add it to bench/cost/Launches.cpp");
    const bench::Tensor &tensor = found->second;
    const size_t bytes =
        size_t(tensor.elements) *
        (tensor.type == DType::FP32 || tensor.type == DType::I32 ? 4 : 2);
    memory.emplace_back(bytes);
    fill(name, memory.back().data(), tokens, tensor.elements);
    args.push_back(Pointer{memory.back().data(), tensor.type, bytes, 0});
  }
  LaunchOptions options;
  options.device = findDevice("sim:sm_80");
  options.numWarps = launch.warps;
  options.numStages = launch.stages;
  options.tuned = false;
  sim::Options checks; // of addresses only: what is counted is the same
  checks.races = checks.uninitialized = checks.overflow = false;
  checks.conflicts = sim::GlobalConflicts::Off;
  tune::LaunchProfile profile = tune::profileLaunch(
      cases::gpuLaunch(kernel, args, launch.constexprs, options, launch.grid),
      checks);
  profile.bytes = launch.bytes();
  return profile;
}

const char *nameOf(bench::Order order) {
  return order == bench::Order::TokensUp     ? "tokens up"
         : order == bench::Order::TokensDown ? "tokens down"
                                             : "heads first";
}

struct Set {
  const char *name;
  std::vector<int64_t> sizes; // tokens
  std::function<std::vector<Launch>(int64_t tokens)> launches;
};

const std::vector<Set> &sets() {
  using List = std::vector<Launch>;
  static const std::vector<Set> list = {
      {"dense 128x128, 8 warps",
       {2048, 4096, 8192},
       [](int64_t t) { return List{bench::denseForward(t, 128, 128, 8, 2)}; }},
      {"compressed 128x128, 8 warps",
       {8192, 16384, 32768},
       [](int64_t t) {
         return List{bench::compressedForward(t, 128, 128, 8, 2)};
       }},
      {"compressed 128x64, 8 warps",
       {8192, 16384, 32768},
       [](int64_t t) {
         return List{bench::compressedForward(t, 128, 64, 8, 3)};
       }},
      {"compressed backward 64x128 and 128x64, 8 warps",
       {16384, 32768, 65536},
       [](int64_t t) { return bench::compressedBackward(t); }},
      {"selected, 8 warps",
       {4096, 8192, 16384},
       [](int64_t t) { return List{bench::selectedForward(t, 8, 3)}; }},
      {"selected, 1 warp",
       {4096, 8192, 16384},
       [](int64_t t) { return List{bench::selectedForward(t, 1, 2)}; }},
      {"gates",
       {2048, 4096, 8192},
       [](int64_t t) { return List{bench::gateForward(t)}; }},
      {"compression", {2048, 4096, 8192}, [](int64_t t) {
         return List{bench::compressForward(t)};
       }}};
  return list;
}

int run(int argc, char **argv) {
  Json result = {{"compiler", compilerBuildId()}};
  for (const Set &set : sets()) {
    bool wanted = argc == 1;
    for (int i = 1; i < argc; ++i)
      wanted |= std::strstr(set.name, argv[i]) != nullptr;
    if (!wanted)
      continue;
    Json launches = Json::array();
    for (size_t i = 0; i < set.launches(set.sizes[0]).size(); ++i) {
      Json sizes = Json::array();
      for (int64_t tokens : set.sizes) {
        const Launch launch = set.launches(tokens)[i];
        std::fprintf(stderr, "%s: %s at %lld tokens\n", set.name,
                     launch.kernel.c_str(), static_cast<long long>(tokens));
        sizes.push_back({{"tokens", tokens},
                         {"profile", tune::toJson(count(launch, tokens))}});
      }
      const Launch first = set.launches(set.sizes[0])[i];
      launches.push_back({{"kernel", first.kernel},
                          {"order", nameOf(first.order)},
                          {"sizes", sizes}});
    }
    // At the lengths of published times: grids and bytes of the launches.
    Json lengths = Json::array();
    for (int64_t tokens = 2048; tokens <= 131072; tokens *= 2) {
      Json row = {{"tokens", tokens},
                  {"grids", Json::array()},
                  {"bytes", Json::array()}};
      for (const Launch &launch : set.launches(tokens)) {
        row["grids"].push_back(launch.grid);
        row["bytes"].push_back(launch.bytes());
      }
      lengths.push_back(row);
    }
    result[set.name] = {{"launches", launches}, {"lengths", lengths}};
  }
  std::printf("%s\n", result.dump(1).c_str());
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  try {
    return run(argc, argv);
  } catch (const Error &error) {
    std::fprintf(stderr, "cost_collect: %s\nHINT: %s\n", error.message.c_str(),
                 error.hint.c_str());
    return 1;
  }
}
