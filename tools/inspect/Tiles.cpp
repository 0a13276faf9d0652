// tools/inspect/Tiles.cpp - the layouts of a kernel's tiles, for drawings.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/Tiles.h"

#include "dialect/layout/Parse.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace tessera::tools {

static Json basesOf(const layout::LinearLayout &map) {
  using layout::Dim;
  Json result = Json::object();
  for (Dim dim : {Dim::Register, Dim::Lane, Dim::Warp, Dim::Offset}) {
    if (!map.hasIn(dim))
      continue;
    Json &bases = result[layout::dimName(dim)] = Json::array();
    for (int bit = 0; bit < map.inBits(dim); ++bit)
      bases.push_back(map.basis(dim, bit));
  }
  return result;
}

Json tilesJson(const std::string &stage, const SourceRows &source) {
  Json list = Json::array();
  std::map<std::string, size_t> known;
  for (const Json &entry : parseJson(stage, "the stage tiles")) {
    const Json rows = source.rowsOf(entry.at("places"));
    if (rows.empty())
      continue;
    const std::string layout = entry.at("layout");
    const auto shape = entry.at("shape").get<std::vector<int64_t>>();
    const std::string key = layout + entry.at("shape").dump() +
                            entry.at("element").get<std::string>();
    const auto [found, isNew] = known.emplace(key, list.size());
    if (isNew)
      list.push_back({{"shape", shape},
                      {"element", entry.at("element")},
                      {"bits", entry.at("bits")},
                      {"bases", basesOf(layout::parseLayout(layout, shape,
                                                            entry.at("bits")))},
                      {"uses", Json::array()}});
    Json &uses = list[found->second]["uses"];
    const Json use = {entry.at("op"), rows[0]};
    if (std::find(uses.begin(), uses.end(), use) == uses.end())
      uses.push_back(use);
  }
  return list;
}

} // namespace tessera::tools
