// tools/inspect/Side.cpp - the data of one compiled configuration for the page.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/Side.h"

#include "language/Remarks.h"
#include "ptx/Listing.h"
#include "runtime/compile/CompileService.h"
#include "support/GpuTarget.h"
#include "tools/inspect/Stalls.h"
#include "tools/inspect/Tiles.h"
#include "tools/inspect/Timeline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace tessera::tools {
namespace {

using ptx::ListedInstruction;
using ptx::Listing;

// Counts per row of a pane, by the name of the counter.
using Heat = std::map<std::string, std::vector<uint64_t>>;

void addHeat(Heat &heat, const char *what, size_t row, size_t rows,
             uint64_t count) {
  std::vector<uint64_t> &list = heat[what];
  if (list.empty())
    list.resize(rows);
  list[row] += count;
}

Json printedPane(const std::string &id, const std::string &title,
                 const std::string &text, const Json &places,
                 const SourceRows &source) {
  const std::vector<std::string> lines = linesOf(text);
  Json links = Json::array();
  for (size_t i = 0; i < lines.size(); ++i)
    links.push_back(Json::array());
  for (const Json &entry : places)
    if (const size_t line = entry[0]; line >= 1 && line <= lines.size())
      links[line - 1] = source.rowsOf(entry[1]);
  return {{"id", id}, {"title", title}, {"text", lines}, {"links", links}};
}

Json rowsOfInstruction(const Listing &listing,
                       const ListedInstruction &instruction,
                       const SourceRows &source) {
  Json places = Json::array();
  for (const auto &place : {instruction.inner, instruction.place})
    if (place.line)
      places.push_back({listing.files[place.file], place.line});
  return source.rowsOf(places);
}

Json listedPane(const std::string &id, const std::string &title,
                const std::string &text, const Listing &listing,
                const SourceRows &source) {
  const std::vector<std::string> lines = linesOf(text);
  Json links = Json::array();
  for (size_t i = 0; i < lines.size(); ++i)
    links.push_back(Json::array());
  for (const ListedInstruction &instruction : listing.code) {
    const Json rows = rowsOfInstruction(listing, instruction, source);
    // An mma instruction takes four lines.
    for (size_t row = instruction.textLine - 1; row < instruction.lastLine;
         ++row)
      if (links[row].empty())
        links[row] = rows;
  }
  return {{"id", id}, {"title", title}, {"text", lines}, {"links", links}};
}

// Counts for PTX rows, and for the first source row to which each is linked.
Json heatOf(const Configuration &configuration, const Listing &ptx,
            const Json &links, const SourceRows &source) {
  Heat rows, sourceRows;
  const auto add = [&](const char *what, size_t row, uint64_t count) {
    if (row >= links.size())
      return;
    addHeat(rows, what, row, links.size(), count);
    if (!links[row].empty())
      addHeat(sourceRows, what, links[row][0].get<size_t>(), source.size(),
              count);
  };
  for (const ListedInstruction &instruction : ptx.code)
    add("instructions", instruction.textLine - 1, 1);
  if (configuration.counters)
    for (const sim::InstructionCount &i :
         configuration.counters->instructions) {
      const size_t row = i.ptxLine - 1; // line 0 becomes an invalid row
      add("executed", row, i.issues);
      add("requests", row, i.requests);
      add("passes", row, i.ways);
      add("conflicts", row, i.ways - i.leastWays);
      add("sectors", row, i.sectors);
    }
  return {{"ptx", rows}, {"source", sourceRows}};
}

// Stall cycles by row and reason. With the counters of a launch they cover all
// of its warps, otherwise one warp that executes everything once.
struct RowStalls {
  explicit RowStalls(size_t rows) : byReason(rows) {}
  std::vector<std::map<std::string, double>> byReason;

  Json cycles() const {
    Json list = Json::array();
    for (const auto &row : byReason) {
      double sum = 0;
      for (const auto &[reason, cycles] : row)
        sum += cycles;
      list.push_back(uint64_t(std::llround(sum)));
    }
    return list;
  }
  // Returns the most frequent reason of each row, or an empty text.
  Json reasons() const {
    Json list = Json::array();
    for (const auto &row : byReason) {
      const auto most = std::max_element(
          row.begin(), row.end(),
          [](const auto &a, const auto &b) { return a.second < b.second; });
      list.push_back(most == row.end() ? std::string() : most->first);
    }
    return list;
  }
};

// Returns {"ptx": {"cycles": [n...], "reasons": [text...]}, "source": the
// same}.
Json stallsOf(const Configuration &configuration, const Listing &ptx,
              const Json &links, size_t sourceSize) {
  std::map<size_t, double> executed; // by row
  if (configuration.counters)
    for (const sim::InstructionCount &i : configuration.counters->instructions)
      executed[i.ptxLine - 1] += double(i.issues);
  const std::vector<Stall> stalls =
      estimateStalls(ptx, configuration.request.target);
  RowStalls rows(links.size()), source(sourceSize);
  for (size_t i = 0; i < stalls.size(); ++i) {
    const size_t row = ptx.code[i].textLine - 1;
    const double cycles =
        stalls[i].cycles * (configuration.counters ? executed[row] : 1.0);
    if (cycles <= 0 || row >= links.size())
      continue;
    rows.byReason[row][stalls[i].reason] += cycles;
    if (!links[row].empty())
      source.byReason[links[row][0].get<size_t>()][stalls[i].reason] += cycles;
  }
  return {
      {"ptx", {{"cycles", rows.cycles()}, {"reasons", rows.reasons()}}},
      {"source", {{"cycles", source.cycles()}, {"reasons", source.reasons()}}}};
}

// Returns the number of blocks per SM with all limits, and without each limit.
Json occupancyOf(const Json &resources, const std::string &targetName) {
  Json rows = Json::array();
  if (resources.value("registers", Json()).is_null() ||
      resources.value("threads", Json()).is_null())
    return rows;
  const GpuTarget target = GpuTarget::parse(targetName);
  const uint32_t registers = resources["registers"],
                 threads = resources["threads"];
  const uint64_t shared = resources["shared"];
  const Occupancy all = target.occupancy(registers, shared, threads);
  rows.push_back({{"limit", all.limit},
                  {"blocks", all.blocks},
                  {"warps", all.warps},
                  {"most_warps", target.warpsPerSm}});
  rows.push_back({{"limit", "registers"},
                  {"blocks", target.occupancy(1, shared, threads).blocks}});
  rows.push_back({{"limit", "shared memory"},
                  {"blocks", target.occupancy(registers, 0, threads).blocks}});
  return rows;
}

Json remarksOf(const runtime::CompiledKernel &kernel,
               const SourceRows &source) {
  Json list = Json::array();
  for (const language::DiagnosticRecord &remark : kernel.remarks)
    list.push_back({{"row", source.rowOf(remark.file, remark.line)},
                    {"place", language::placeOf(remark)},
                    {"text", remark.message},
                    {"hint", remark.hint}});
  return list;
}

Json configurationOf(const language::CompileRequest &request) {
  Json list = Json::array();
  for (const language::Argument &argument : request.args)
    list.push_back({argument.name, argument.isConstexpr()
                                       ? argument.value.repr()
                                       : argument.type});
  list.push_back({"num_warps", std::to_string(request.options.numWarps)});
  list.push_back({"num_stages", std::to_string(request.options.numStages)});
  return list;
}

Json countersOf(const std::optional<sim::Counters> &counters) {
  if (!counters)
    return {};
  const sim::Counters &c = *counters;
  return {{"blocks", c.blocks},
          {"warps", c.warps},
          {"warp_instructions", c.warpInstructions},
          {"tensor_instructions", c.tensorInstructions},
          {"shared_requests", c.sharedRequests},
          {"shared_passes", c.sharedWays},
          {"bank_conflicts", c.sharedConflicts},
          {"copy_passes", c.copyWays},
          {"copy_conflicts", c.copyConflicts},
          {"global_requests", c.globalRequests},
          {"global_sectors", c.globalSectors},
          {"barriers", c.barriers}};
}

} // namespace

std::vector<std::string> inspectedStages(bool machine) {
  std::vector<std::string> stages = {"tile", "layout", "tiles", "places",
                                     "report"};
  if (machine)
    stages.push_back("sass");
  return stages;
}

Json sideJson(const Configuration &configuration, const SourceRows &source) {
  const runtime::CompiledKernel &kernel = *configuration.kernel;
  const auto stage = [&](const char *name) -> const std::string & {
    const auto found = kernel.stages.find(name);
    if (found == kernel.stages.end())
      throw Error("the compiler gave no stage `" + std::string(name) +
                      "` for " + configuration.title,
                  "clear the cache: tessera cache clear");
    return found->second;
  };
  const Json places = parseJson(stage("places"), "the stage places");
  const Listing ptx = ptx::readPtx(stage("ptx"));
  Json panes = Json::array();
  panes.push_back(
      printedPane("tile", "Tile IR", stage("tile"), places.at("tile"), source));
  panes.push_back(printedPane("layout", "Layout IR", stage("layout"),
                              places.at("layout"), source));
  panes.push_back(listedPane("ptx", "PTX", stage("ptx"), ptx, source));
  Json heat = heatOf(configuration, ptx, panes.back().at("links"), source);
  const Json stalls =
      stallsOf(configuration, ptx, panes.back().at("links"), source.size());
  for (const char *pane : {"ptx", "source"})
    heat[pane]["stalls"] = stalls.at(pane).at("cycles");
  if (kernel.stages.count("sass"))
    panes.push_back(listedPane("sass", "SASS", stage("sass"),
                               ptx::readSass(stage("sass")), source));
  Json resources = parseJson(stage("report"), "the stage report");
  for (const char *listing : {"ptx", "sass", "remarks"})
    resources.erase(listing);
  return {{"title", configuration.title},
          {"kernel", configuration.request.kernel},
          {"target", configuration.request.target},
          {"configuration", configurationOf(configuration.request)},
          {"panes", panes},
          {"heat", heat},
          {"reasons",
           {{"ptx", stalls.at("ptx").at("reasons")},
            {"source", stalls.at("source").at("reasons")}}},
          {"occupancy", occupancyOf(resources, configuration.request.target)},
          {"resources", resources},
          {"remarks", remarksOf(kernel, source)},
          {"counters", countersOf(configuration.counters)},
          {"tiles", tilesJson(stage("tiles"), source)},
          {"timeline", timelineJson(ptx)}};
}

} // namespace tessera::tools
