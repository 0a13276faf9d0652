// bench/cost/Rows.cpp - the rows of the cost model's validation.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "bench/cost/Rows.h"

#include "autotune/model/ProfileJson.h"
#include "support/Error.h"
#include "support/Lists.h"

#include <cmath>
#include <cstdarg>
#include <cstdio>

namespace tessera::bench {

using tune::CostConstants;
using tune::LaunchProfile;
using tune::PublishedTime;

namespace {

constexpr double heads = 64, headSize = 128;
// The committed tables of configs/tuned have sequences of at most so many
// tokens.
constexpr int64_t shortTokens = 4096;

// Keys that the queries of a sequence attend to, of one head.
double attended(const std::string &work, int64_t tokens) {
  double keys = 0;
  for (int64_t t = 0; t < tokens; ++t)
    if (work.starts_with("dense"))
      keys += double(t + 1);
    else if (work.starts_with("compressed"))
      keys += t + 1 < 32 ? 0 : double((t + 1 - 32) / 16 + 1);
    else if (work == "selected")
      keys += double(std::min<int64_t>(15, t / 64) * 64 + t % 64 + 1);
  return keys;
}

// Products that the result needs: two of a key and a query forward, five
// backward.
double flops(const std::string &work, int64_t tokens) {
  const double products = work.ends_with("backward") ? 5 : 2;
  return 2 * products * heads * headSize * attended(work, tokens);
}

// Published kernels have batch and head before the tile, and tiles ascend:
// those of all heads run side by side, those of long rows last.
void publishedOrder(LaunchProfile &profile, const std::string &order) {
  if (order == "heads first")
    return;
  for (LaunchProfile::Sample &sample : profile.samples) {
    if (order == "tokens down")
      sample.at[0] = 1 - sample.at[0];
    std::swap(sample.at[0], sample.at[2]);
  }
  std::swap(profile.grid[0], profile.grid[2]);
}

std::string text(const char *format, ...) {
  char line[512];
  va_list list;
  va_start(list, format);
  std::vsnprintf(line, sizeof(line), format, list);
  va_end(list);
  return line;
}

std::string milliseconds(double us) {
  return text(us < 1000 ? "%.3f" : us < 1e5 ? "%.2f" : "%.0f", us / 1000);
}

Json constantsJson(const CostConstants &c) {
  return {{"serial", c.serial},
          {"issue_cycles", c.issueCycles},
          {"latency", c.latency},
          {"tensor_share", c.tensorShare},
          {"memory_share", c.memoryShare}};
}

// Tiles as "128x64".
std::string tileText(const Json &launch) {
  return joined(launch.at("tile").get<std::vector<int>>(), "x",
                [](int size) { return std::to_string(size); });
}

std::string launchText(const Json &launch) {
  return tileText(launch) + " with " + launch.at("warps").dump() +
         (launch.at("warps") == 1 ? " warp" : " warps");
}

// A published time checks a prediction only if the counted kernels have the
// program, tiles and warps of the published ones.
void checkCounted(const Json &kernel, const Json &set) {
  const std::string what = "published row \"" +
                           kernel.at("name").get<std::string>() + "\" of " +
                           kernel.at("gpu").get<std::string>() + ": ";
  const std::string remedy =
      "count the published tiles and warps in bench/cost_model.py, or leave "
      "the row out of bench/cost/published.json";
  const std::string program = kernel.at("program");
  if (program != "Triton")
    throw Error(
        what + "the published program is in " + program +
            ", and the counted kernels have the tiles of programs in Triton",
        remedy);
  const Json &theirs = kernel.at("launches"), &ours = set.at("launches");
  if (theirs.size() != ours.size())
    throw Error(what + std::to_string(theirs.size()) +
                    " launches are published, and " +
                    std::to_string(ours.size()) + " were counted",
                remedy);
  for (size_t i = 0; i < ours.size(); ++i)
    if (launchText(theirs[i]) != launchText(ours[i]))
      throw Error(what + theirs[i].at("kernel").get<std::string>() + " has " +
                      launchText(theirs[i]) + ", and " +
                      ours[i].at("kernel").get<std::string>() +
                      " was counted with " + launchText(ours[i]),
                  remedy);
}

// "128x64, 8 warps, 3 stages (counted with 2)" of each launch.
std::string tilesText(const Json &kernel, const Json &set) {
  const Json &theirs = kernel.at("launches"), &ours = set.at("launches");
  std::string out;
  for (size_t i = 0; i < theirs.size(); ++i) {
    out += (i ? "; " : "") + launchText(theirs[i]) + ", " +
           theirs[i].at("stages").dump() + " stages";
    if (theirs[i].at("stages") != ours[i].at("stages"))
      out += " (counted with " + ours[i].at("stages").dump() + ")";
  }
  return out;
}

std::string sourceText(const Json &source) {
  const auto of = [&](const char *key) {
    return source.at(key).get<std::string>();
  };
  return of("repository") + " at " + of("commit") + ", " + of("place") + ", " +
         of("column");
}

} // namespace

std::vector<PublishedTime> publishedTimes(const Json &results) {
  std::vector<PublishedTime> rows;
  for (const Json &kernel : results.at("published").at("kernels")) {
    const Json &set = results.at("profiles").at(kernel.at("set"));
    checkCounted(kernel, set);
    const std::string work = kernel.at("work");
    for (const Json &length : set.at("lengths")) {
      const int64_t tokens = length.at("tokens");
      const auto time = kernel.at("ms").find(std::to_string(tokens));
      if (time == kernel.at("ms").end())
        continue;
      PublishedTime row;
      row.kernel = kernel.at("name");
      row.gpu = kernel.at("gpu");
      row.tokens = tokens;
      row.microseconds = time->get<double>() * 1000;
      double bytes = 0;
      for (size_t i = 0; i < set.at("launches").size(); ++i) {
        std::vector<std::pair<double, LaunchProfile>> sizes;
        for (const Json &size : set.at("launches")[i].at("sizes"))
          sizes.emplace_back(size.at("tokens").get<double>(),
                             tune::profileFromJson(size.at("profile")));
        const double moved = length.at("bytes")[i];
        LaunchProfile launch = tune::extrapolate(
            sizes, double(tokens), length.at("grids")[i].get<Grid>(), moved);
        launch.warpgroup = kernel.value("warpgroup", false);
        publishedOrder(launch, set.at("launches")[i].value(
                                   "order", std::string("tokens up")));
        row.launches.push_back(launch);
        bytes = std::max(bytes, moved);
      }
      row.plain =
          tune::plainBound(flops(work, tokens), bytes, tune::findGpu(row.gpu));
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

void addPredictions(Json &results) {
  const std::vector<PublishedTime> rows = publishedTimes(results);
  const CostConstants &all = tune::fittedConstants;
  const std::vector<double> left = tune::leaveOneKernelOut(rows);
  std::vector<double> fitted, plain;
  Json list = Json::array();
  for (size_t i = 0; i < rows.size(); ++i) {
    fitted.push_back(tune::predicted(rows[i], all));
    plain.push_back(rows[i].plain);
    const std::string limits =
        joined(rows[i].launches, ", ", [&](const LaunchProfile &launch) {
          return tune::predict(launch, tune::findGpu(rows[i].gpu), all).limit;
        });
    list.push_back({{"kernel", rows[i].kernel},
                    {"gpu", rows[i].gpu},
                    {"tokens", rows[i].tokens},
                    {"published_us", rows[i].microseconds},
                    {"fitted_us", fitted[i]},
                    {"left_out_us", left[i]},
                    {"plain_us", rows[i].plain},
                    {"limit", limits}});
  }
  const auto summary = [&](const std::vector<double> &values) {
    return Json{
        {"median_error", tune::medianError(rows, values)},
        {"median_error_short", tune::medianError(rows, values, shortTokens)},
        {"kendall_tau", tune::kendallTau(rows, values)}};
  };
  results["constants"] = constantsJson(all);
  results["refitted"] = constantsJson(tune::fitConstants(rows));
  results["rows"] = list;
  results["summary"] = {{"left_out", summary(left)},
                        {"fitted", summary(fitted)},
                        {"plain", summary(plain)}};
}

std::string tables(const Json &results) {
  const auto number = [](const Json &json, const char *name) {
    return json.at(name).get<double>();
  };
  std::string out = "| | median error | of rows up to 4,096 tokens | "
                    "Kendall's tau |\n|---|---:|---:|---:|\n";
  for (const auto &[key, name] :
       {std::pair{"left_out", "model, fitted without the row's kernel"},
        std::pair{"fitted",
                  "model as `tessera tune --gpu` uses it, fitted to all rows"},
        std::pair{"plain", "plain bound"}}) {
    const Json &one = results.at("summary").at(key);
    out += text("| %s | %.1f%% | %.1f%% | %.2f |\n", name,
                100 * number(one, "median_error"),
                100 * number(one, "median_error_short"),
                number(one, "kendall_tau"));
  }
  out += "\n| kernel | GPU | tokens | published ms | predicted ms | error | "
         "plain bound ms | limit |\n|---|---|---:|---:|---:|---:|---:|---|\n";
  for (const Json &row : results.at("rows"))
    out += text(
        "| %s | %s | %lld | %s | %s | %+.0f%% | %s | %s |\n",
        row.at("kernel").get<std::string>().c_str(),
        row.at("gpu").get<std::string>().c_str(),
        static_cast<long long>(row.at("tokens").get<int64_t>()),
        milliseconds(number(row, "published_us")).c_str(),
        milliseconds(number(row, "left_out_us")).c_str(),
        100 * (number(row, "left_out_us") / number(row, "published_us") - 1),
        milliseconds(number(row, "plain_us")).c_str(),
        row.at("limit").get<std::string>().c_str());
  out +=
      "\n| kernel | GPU | tiles | source of the times |\n|---|---|---|---|\n";
  for (const Json &kernel : results.at("published").at("kernels"))
    out += "| " + kernel.at("name").get<std::string>() + " | " +
           kernel.at("gpu").get<std::string>() + " | " +
           tilesText(kernel, results.at("profiles").at(kernel.at("set"))) +
           " | " + sourceText(kernel.at("source")) + " |\n";
  return out;
}

} // namespace tessera::bench
