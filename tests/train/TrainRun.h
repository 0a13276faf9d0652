// tests/train/TrainRun.h - runs tessera-train on a small text.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/File.h"
#include "support/Process.h"
#include "tests/unit/trainer/TestFolder.h"

#include <chrono>
#include <cstdlib>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>

/// Text with something to learn: words of a small vocabulary, in an order that
/// repeats nowhere.
inline std::string smallText() {
  const char *words[] = {"the ",  "tile ",  "of ",   "stone\n", "is ",
                         "laid ", "upon ",  "a ",    "floor, ", "and ",
                         "then ", "walls ", "rise. "};
  std::string text;
  uint32_t state = 1;
  while (text.size() < 65536) {
    state = state * 1664525 + 1013904223;
    text += words[(state >> 16) % 13];
  }
  return text;
}

class TrainRun : public testing::Test {
protected:
  // Shards that a run prepares once are kept here and not in the user's folder.
  TrainRun() {
    folder.write("text", smallText());
    ::setenv("TESSERA_DEPS", folder.file("deps").c_str(), 1);
  }

  std::vector<std::string> command(const std::string &out,
                                   const std::vector<std::string> &more) {
    std::vector<std::string> all = {TESSERA_TRAIN,
                                    "train",
                                    "kernels=torch",
                                    "data.path=" + folder.file("text"),
                                    "panel=false",
                                    "threads=1",
                                    "model.dim=32",
                                    "model.layers=2",
                                    "model.heads=2",
                                    "model.kv_heads=1",
                                    "model.key_dim=16",
                                    "model.value_dim=16",
                                    "model.mlp_dim=64",
                                    "nsa.l=8",
                                    "nsa.d=4",
                                    "nsa.l_sel=16",
                                    "nsa.n_sel=4",
                                    "nsa.w=16",
                                    "train.seq_len=128",
                                    "train.batch_size=2",
                                    "train.steps=12",
                                    "train.warmup=4",
                                    "train.weight_decay=0.1",
                                    "train.log_every=1",
                                    "train.save_every=0",
                                    "out=" + folder.file(out)};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  tessera::CommandResult run(const std::string &out,
                             const std::vector<std::string> &more = {}) {
    return tessera::runCommand(command(out, more), std::chrono::seconds(300));
  }

  void expectFine(const tessera::CommandResult &r) {
    EXPECT_TRUE(r.status.ok()) << r.status.text() << "\n" << r.errors;
  }
  void expectRefused(const tessera::CommandResult &r,
                     const std::string &message) {
    EXPECT_EQ(r.status.code, 1) << r.errors;
    EXPECT_NE(r.errors.find(message), std::string::npos) << r.errors;
    EXPECT_NE(r.errors.find("HINT"), std::string::npos) << r.errors;
  }

  nlohmann::json metrics(const std::string &out) {
    return nlohmann::json::parse(
        tessera::readFile(folder.file(out) + "/metrics.json"));
  }
  std::string checkpoint(const std::string &out, int step,
                         const std::string &name) {
    char folderName[32];
    std::snprintf(folderName, sizeof folderName, "step_%08d", step);
    return tessera::readFile(folder.path / out / "ckpt" / folderName / name);
  }
  /// The records of the logged steps.
  std::vector<nlohmann::json> records(const std::string &out) {
    std::istringstream in(
        tessera::readFile(folder.file(out) + "/metrics.jsonl"));
    std::vector<nlohmann::json> all;
    for (std::string line; std::getline(in, line);)
      if (nlohmann::json record = nlohmann::json::parse(line);
          record.contains("bpb"))
        all.push_back(std::move(record));
    return all;
  }
  /// Loss and gradient norm of every step.
  std::vector<std::pair<double, double>> steps(const std::string &out) {
    std::vector<std::pair<double, double>> all;
    for (const nlohmann::json &record : records(out))
      all.push_back({record["bpb"], record["grad_norm"]});
    return all;
  }

  TestFolder folder;
};
