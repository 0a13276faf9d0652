// bench/cost/Report.cpp - the cost model against published times: the file of
// results and the tables of docs/cost-model.md.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
//   cost_report PROFILES.json PUBLISHED.json RESULTS.json     makes RESULTS;
//       bench/run.py cost_model makes PROFILES
//   cost_report --print RESULTS.json                          its tables
#include "bench/cost/Rows.h"
#include "support/Error.h"
#include "support/File.h"

#include <cstdio>
#include <exception>
#include <string>

using namespace tessera;

int main(int argc, char **argv) {
  try {
    if (argc == 3 && std::string(argv[1]) == "--print") {
      std::fputs(bench::tables(Json::parse(readFile(argv[2]))).c_str(), stdout);
      return 0;
    }
    if (argc != 4)
      throw Error("cost_report takes three files, or --print and one",
                  "bench/cost/Report.cpp says which");
    Json profiles = Json::object();
    const Json counted = Json::parse(readFile(argv[1]));
    for (const Json &row : counted.at("rows"))
      profiles[row.at("set").get<std::string>()] = row;
    Json results = {{"profiles", profiles},
                    {"published", Json::parse(readFile(argv[2]))}};
    bench::addPredictions(results);
    writeFile(argv[3], results.dump(1) + "\n");
    std::fputs(bench::tables(results).c_str(), stdout);
    return 0;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "cost_report: %s\n", error.what());
  }
  return 1;
}
