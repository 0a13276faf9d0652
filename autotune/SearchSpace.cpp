// autotune/SearchSpace.cpp - the configurations that are worth a try.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/SearchSpace.h"

#include "runtime/launch/KernelState.h"
#include "support/Error.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace tessera::tune {

using runtime::Description;
using runtime::Sizes;
using syntax::Value;

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

  SearchSpace read() {
    add({});
    for (const Value::Config &config : kernel.info.hints.cpuConfigs)
      add(config.constexprs);
    for (const Value::Config &config : kernel.info.configs)
      add(config.constexprs);
    const size_t configured = result.candidates.size();
    for (const syntax::Hints::Space &space : kernel.info.hints.spaces)
      addSpace(space);
    std::stable_sort(result.candidates.begin() + int64_t(configured),
                     result.candidates.end(),
                     [&](const Candidate &a, const Candidate &b) {
                       return distance(a.use) < distance(b.use);
                     });
    return std::move(result);
  }

private:
  TuneChoice with(const Named &values) const {
    TuneChoice choice = base;
    for (const auto &[name, value] : values)
      if (const auto place = choice.constexprs.find(name);
          place != choice.constexprs.end())
        place->second = runtime::fromValue(name, value);
    return choice;
  }

  // From the kernel's own choice, in factors of two of all tiles together.
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

  // The integers of a choice.
  static Sizes tilesOf(const TuneChoice &choice) {
    Sizes tiles;
    for (const auto &[name, value] : choice.constexprs)
      if (const auto *number = std::get_if<int64_t>(&value))
        tiles[name] = *number;
    return tiles;
  }

  void add(const Named &values) {
    const TuneChoice choice = with(values);
    if (!known.insert(describe(choice)).second)
      return;
    const runtime::TileGrid grid =
        gridWithTiles(kernel, launch, tilesOf(choice));
    if (grid.grid)
      result.candidates.push_back({choice, *grid.grid});
    else
      result.leftOut.emplace_back(choice, grid.why);
  }

  bool allowed(const syntax::Hints::Space &space, const Named &values) const {
    if (!space.where)
      return true;
    Sizes sizes = launch.sizes;
    for (const auto &[name, value] : tilesOf(with(values)))
      sizes[name] = value;
    return evaluateHint(kernel, *space.where, sizes, "the condition of a space")
        .truth();
  }

  void addSpace(const syntax::Hints::Space &space) {
    std::vector<size_t> at(space.values.size(), 0);
    while (true) {
      Named values;
      for (size_t i = 0; i < at.size(); ++i)
        values.emplace_back(space.values[i].first,
                            space.values[i].second[at[i]]);
      if (allowed(space, values))
        add(values);
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
  for (const syntax::Hints::Space &space : kernel.info.hints.spaces)
    for (const auto &[name, values] : space.values)
      names.insert(name);
  return {names.begin(), names.end()};
}

SearchSpace cpuSearchSpace(const Description &kernel,
                           const runtime::KnownLaunch &launch,
                           const Constexprs &given, const Constexprs &own) {
  return SpaceReader(kernel, launch, given, own).read();
}

} // namespace tessera::tune
