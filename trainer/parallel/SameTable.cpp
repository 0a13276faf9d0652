// trainer/parallel/SameTable.cpp - compares the tuning tables of the processes
// of a run.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/parallel/SameTable.h"

#include "support/Error.h"

#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

namespace tessera::trainer {

std::string describe(const models::TuningTable &table) {
  if (table.sha256.empty())
    return "no table";
  return fmt::format("{} ({}, SHA-256 {})", table.path, table.origin,
                     table.sha256.substr(0, 16));
}

void requireSameTable(const models::TuningTable &table,
                      DataParallel &parallel) {
  const auto own = nlohmann::json::array({table.sha256, describe(table)});
  struct Group {
    std::string ranks, table;
    bool several = false;
  };
  std::map<std::string, Group> groups; // by hash
  std::vector<std::string> order;      // of the hashes, by first rank
  int64_t rank = 0;
  for (const std::string &text : parallel.fromAll(own.dump())) {
    const auto told = nlohmann::json::parse(text);
    const auto hash = told.at(0).get<std::string>();
    Group &group = groups[hash];
    if (group.ranks.empty()) {
      order.push_back(hash);
      group.table = told.at(1).get<std::string>();
    }
    group.several = !group.ranks.empty();
    group.ranks += fmt::format("{}{}", group.ranks.empty() ? "" : ", ", rank++);
  }
  if (groups.size() == 1)
    return;
  std::string text = "the processes of the run have different tuning tables";
  for (const std::string &hash : order) {
    const Group &group = groups[hash];
    text += fmt::format("{} {} {}: {}", hash == order.front() ? ":" : ";",
                        group.several ? "processes" : "process", group.ranks,
                        group.table);
  }
  throw Error(text, "set TESSERA_TUNED to tables of the same content in all "
                    "processes, or to none; without it, machines of different "
                    "models can have different tables of configs/tuned");
}

} // namespace tessera::trainer
