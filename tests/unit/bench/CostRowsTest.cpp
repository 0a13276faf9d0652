// tests/unit/bench/CostRowsTest.cpp - the committed validation of the cost
// model is that of the model, and docs show it.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "bench/cost/Rows.h"

#include "support/Error.h"
#include "support/File.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace tessera;
using tune::PublishedTime;

namespace {

const std::string source = TESSERA_SOURCE;

const Json &results() {
  static const Json json =
      Json::parse(readFile(source + "/bench/results/cost_model.json"));
  return json;
}

const std::vector<PublishedTime> &rows() {
  static const std::vector<PublishedTime> list =
      bench::publishedTimes(results());
  return list;
}

std::vector<double> column(const char *name) {
  std::vector<double> values;
  for (const Json &row : results().at("rows"))
    values.push_back(row.at(name));
  return values;
}

} // namespace

TEST(CostRows, PublishedTimesAreTheFilesOwn) {
  EXPECT_EQ(results().at("published"),
            Json::parse(readFile(source + "/bench/cost/published.json")));
  EXPECT_GE(rows().size(), 70u);
}

// A row has the tiles and warps of the kernel that was counted. Until 2026-11
// the times of a CUDA program and of other tiles were compared with our Triton
// tiles.
TEST(CostRows, ARowOfAnotherKernelIsRefused) {
  const auto problem = [](auto &&change) {
    Json changed = results();
    change(changed["published"]["kernels"][0]);
    try {
      bench::publishedTimes(changed);
    } catch (const Error &error) {
      return error.message;
    }
    return std::string();
  };
  EXPECT_EQ(problem([](Json &) {}), "");
  EXPECT_EQ(
      problem([](Json &row) { row["program"] = "CUDA"; }),
      "published row \"dense forward\" of a100: the published program is "
      "in CUDA, and the counted kernels have the tiles of programs in Triton");
  EXPECT_EQ(problem([](Json &row) { row["launches"][0]["tile"] = {128, 128}; }),
            "published row \"dense forward\" of a100: forward_kernel has "
            "128x128 with 8 warps, and dense_fwd was counted with 128x64 with "
            "8 warps");
  EXPECT_EQ(problem([](Json &row) { row["launches"][0]["warps"] = 1; }),
            "published row \"dense forward\" of a100: forward_kernel has "
            "128x64 with 1 warp, and dense_fwd was counted with 128x64 with 8 "
            "warps");
  EXPECT_EQ(
      problem([](Json &row) { row["launches"].push_back(row["launches"][0]); }),
      "published row \"dense forward\" of a100: 2 launches are "
      "published, and 1 were counted");
  EXPECT_EQ(
      problem([](Json &row) { row["set"] = "selected, 4 warps"; }),
      "published row \"dense forward\" of a100: forward_kernel has 128x64 with "
      "8 warps, and select_fwd was counted with 16x64 with 4 warps");
}

TEST(CostRows, ConstantsAreTheModels) {
  const Json &fitted = results().at("constants");
  const tune::CostConstants &model = tune::fittedConstants;
  EXPECT_EQ(fitted.size(), tune::numCostConstants);
  EXPECT_DOUBLE_EQ(fitted.at("serial"), model.serial);
  EXPECT_DOUBLE_EQ(fitted.at("issue_cycles"), model.issueCycles);
  EXPECT_DOUBLE_EQ(fitted.at("latency"), model.latency);
  EXPECT_DOUBLE_EQ(fitted.at("tensor_share"), model.tensorShare);
  EXPECT_DOUBLE_EQ(fitted.at("memory_share"), model.memoryShare);
}

// A change of the model changes its predictions: they must be made again.
TEST(CostRows, PredictionsAreTheModels) {
  const std::vector<double> fitted = column("fitted_us"),
                            plain = column("plain_us");
  ASSERT_EQ(fitted.size(), rows().size());
  for (size_t i = 0; i < rows().size(); ++i) {
    EXPECT_NEAR(tune::predicted(rows()[i], tune::fittedConstants) / fitted[i],
                1, 1e-9)
        << rows()[i].kernel << " " << rows()[i].tokens;
    EXPECT_NEAR(rows()[i].plain / plain[i], 1, 1e-9);
  }
}

TEST(CostRows, SummaryIsThatOfTheRows) {
  const auto summary = [](const char *which, const char *what) {
    return results().at("summary").at(which).at(what).get<double>();
  };
  const std::vector<double> left = column("left_out_us");
  EXPECT_NEAR(tune::medianError(rows(), left),
              summary("left_out", "median_error"), 1e-9);
  EXPECT_NEAR(tune::kendallTau(rows(), left),
              summary("left_out", "kendall_tau"), 1e-9);
  EXPECT_NEAR(tune::medianError(rows(), left, 4096),
              summary("left_out", "median_error_short"), 1e-9);
  EXPECT_GE(summary("left_out", "kendall_tau"), 0.70);
  EXPECT_LT(summary("left_out", "median_error"),
            summary("plain", "median_error"));
  EXPECT_GT(summary("left_out", "kendall_tau"),
            summary("plain", "kendall_tau"));
}

TEST(CostRows, DocsShowTheResults) {
  const std::string page = readFile(source + "/docs/cost-model.md");
  const std::string mark = "cost_report --print -->\n";
  const size_t at = page.find(mark);
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(page.substr(at + mark.size()), bench::tables(results()))
      << "run: cost_report --print bench/results/cost_model.json";
}

TEST(CostRows, OtherPagesStateTheMedianErrors) {
  const auto percent = [](const char *which) {
    const double error =
        results().at("summary").at(which).at("median_error").get<double>();
    return std::to_string(std::lround(100 * error)) + "%";
  };
  for (const auto &[page, words] :
       {std::pair{"/docs/results.md",
                  "off by " + percent("left_out") + " in the median"},
        std::pair{"/docs/results.md",
                  ", by " + percent("fitted") + " for those that it has"},
        std::pair{"/docs/tuning.md",
                  "the median error is " + percent("left_out") + " for"}})
    EXPECT_NE(readFile(source + page).find(words), std::string::npos)
        << page << ": " << words;
}
