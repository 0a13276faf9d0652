// autotune/search/SearchSpace.cpp - the configurations that a search tries.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/search/SearchSpace.h"

#include "autotune/model/CpuOrder.h"
#include "language/ConstexprValues.h"
#include "runtime/launch/KernelState.h"
#include "support/Error.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

namespace tessera::tune {

using language::Value;
using runtime::Description;
using runtime::Sizes;

namespace {

using Named = std::vector<std::pair<std::string, Value>>;

class SpaceReader {
public:
  SpaceReader(const Description &kernel, const runtime::KnownLaunch &launch,
              const Constexprs &given, const Constexprs &own)
      : kernel(kernel), launch(launch), given(given) {
    for (const std::string &name : tunableNames(kernel))
      if (const auto found = own.find(name);
          found != own.end() && !given.contains(name))
        base.constexprs[name] = found->second;
  }

  SearchSpace readGpu() {
    add({});
    if (result.candidates.empty())
      return std::move(result); // the baseline is missing
    const std::vector<Value::Config> &configs = kernel.info.configs;
    // The defaults of a launch, see Kernel::State.
    const auto warpsOf = [&](const Value::Config &config) {
      return config.numWarps.value_or(4);
    };
    const auto stagesOf = [&](const Value::Config &config) {
      return config.numStages.value_or(kernel.info.hints.stages.value_or(3));
    };
    const int64_t warps = configs.empty() ? 4 : warpsOf(configs[0]),
                  stages =
                      stagesOf(configs.empty() ? Value::Config() : configs[0]);
    ownWarps = warps;
    ownStages = stages;
    for (const Value::Config &config : configs)
      add(config.constexprs, warpsOf(config), stagesOf(config));
    if (configs.empty())
      addAround({}, warps, stages);
    for (const Value::Config &config : configs)
      addAround(config.constexprs, warpsOf(config), stagesOf(config));
    const size_t configured = result.candidates.size();
    for (const Value::Config &config : kernel.info.hints.cpuConfigs)
      addWarps(config.constexprs, warps, stages);
    for (const language::Hints::Space &space : kernel.info.hints.spaces)
      forEach(space,
              [&](const Named &values) { addWarps(values, warps, stages); });
    sortFrom(configured);
    return std::move(result);
  }

  SearchSpace read() {
    add({});
    for (const Value::Config &config : kernel.info.hints.cpuConfigs)
      add(config.constexprs);
    for (const Value::Config &config : kernel.info.configs)
      add(config.constexprs);
    for (const language::Hints::Space &space : kernel.info.hints.spaces)
      forEach(space, [&](const Named &values) { add(values); });
    // The first candidate is the kernel's default configuration.
    if (!result.candidates.empty())
      std::stable_sort(result.candidates.begin() + 1, result.candidates.end(),
                       [](const Candidate &a, const Candidate &b) {
                         return cpuElementCost(a.use) < cpuElementCost(b.use);
                       });
    return std::move(result);
  }

private:
  // Sorts by the distance of tiles from the kernel's default.
  void sortFrom(size_t first) {
    std::stable_sort(result.candidates.begin() + int64_t(first),
                     result.candidates.end(),
                     [&](const Candidate &a, const Candidate &b) {
                       return distance(a.use) < distance(b.use);
                     });
  }

  void addAround(const Named &values, int64_t warps, int64_t stages) {
    addWarps(values, warps, stages);
    for (int64_t other : {stages - 1, stages + 1})
      add(values, warps, other);
  }

  void addWarps(const Named &values, int64_t warps, int64_t stages) {
    for (int64_t other : {warps, warps / 2, warps * 2})
      add(values, other, stages);
  }

  TuneChoice with(const Named &values) const {
    TuneChoice choice = base;
    for (const auto &[name, value] : values)
      if (const auto place = choice.constexprs.find(name);
          place != choice.constexprs.end())
        place->second = language::fromValue(name, value);
    return choice;
  }

  // Returns the distance from the default configuration: factors of two, summed
  // over all tiles.
  double distance(const TuneChoice &choice) const {
    double sum = 0;
    const Sizes own = tilesOf(base);
    for (const auto &[name, value] : tilesOf(choice))
      if (const int64_t usual = own.at(name); usual > 0 && value > 0)
        sum += std::abs(std::log2(double(value) / double(usual)));
      else
        sum += usual == value ? 0 : 1;
    return sum;
  }

  // Returns the integers of a choice.
  static Sizes tilesOf(const TuneChoice &choice) {
    Sizes tiles;
    for (const auto &[name, value] : choice.constexprs)
      if (const auto *number = std::get_if<int64_t>(&value))
        tiles[name] = *number;
    return tiles;
  }

  // Adds a candidate. 0 warps or 0 stages mean the kernel's default.
  void add(const Named &values, int64_t warps = 0, int64_t stages = 0) {
    TuneChoice choice = with(values);
    if (warps || stages) {
      if (warps < 1 || warps > 16 || stages < 1 || stages > 5)
        return;
      if (warps != ownWarps)
        choice.numWarps = warps;
      if (stages != ownStages)
        choice.numStages = stages;
    }
    if (!known.insert(describe(choice)).second)
      return;
    const runtime::TileGrid grid =
        gridWithTiles(kernel, launch, tilesOf(choice));
    if (grid.grid) {
      result.candidates.push_back({choice, *grid.grid});
      return;
    }
    // The same for any number of warps.
    choice.numWarps = choice.numStages = std::nullopt;
    for (const auto &[other, why] : result.leftOut)
      if (other == choice)
        return;
    result.leftOut.emplace_back(choice, grid.why);
  }

  bool allowed(const language::Hints::Space &space, const Named &values) const {
    if (!space.where)
      return true;
    Sizes sizes = launch.sizes;
    for (const auto &[name, value] : tilesOf(with(values)))
      sizes[name] = value;
    return evaluateHint(kernel, *space.where, sizes, "the condition of a space")
        .truth();
  }

  void forEach(const language::Hints::Space &space,
               const std::function<void(const Named &)> &take) const {
    std::vector<size_t> at(space.values.size(), 0);
    while (true) {
      Named values;
      for (size_t i = 0; i < at.size(); ++i)
        values.emplace_back(space.values[i].first,
                            space.values[i].second[at[i]]);
      if (allowed(space, values))
        take(values);
      size_t last = at.size();
      while (last > 0 && ++at[last - 1] == space.values[last - 1].second.size())
        at[--last] = 0;
      if (last == 0)
        return;
    }
  }

  const Description &kernel;
  const runtime::KnownLaunch &launch;
  const Constexprs &given;
  TuneChoice base;
  int64_t ownWarps = 0, ownStages = 0;
  std::set<std::string> known;
  SearchSpace result;
};

} // namespace

std::vector<std::string> tunableNames(const Description &kernel) {
  std::set<std::string> names;
  const auto take = [&](const std::vector<Value::Config> &configs) {
    for (const Value::Config &config : configs)
      for (const auto &[name, value] : config.constexprs)
        names.insert(name);
  };
  take(kernel.info.hints.cpuConfigs);
  take(kernel.info.configs);
  for (const language::Hints::Space &space : kernel.info.hints.spaces)
    for (const auto &[name, values] : space.values)
      names.insert(name);
  return {names.begin(), names.end()};
}

SearchSpace cpuSearchSpace(const Description &kernel,
                           const runtime::KnownLaunch &launch,
                           const Constexprs &given, const Constexprs &own) {
  return SpaceReader(kernel, launch, given, own).read();
}

SearchSpace gpuSearchSpace(const Description &kernel,
                           const runtime::KnownLaunch &launch,
                           const Constexprs &given, const Constexprs &own) {
  return SpaceReader(kernel, launch, given, own).readGpu();
}

} // namespace tessera::tune
