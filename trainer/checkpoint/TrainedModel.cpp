// trainer/checkpoint/TrainedModel.cpp - finds a run's checkpoint and reads its
// weights.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/checkpoint/TrainedModel.h"

#include "support/Error.h"
#include "trainer/checkpoint/Checkpoint.h"
#include "trainer/checkpoint/TensorFile.h"

#include <ATen/Parallel.h>
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tessera::trainer {
namespace {

namespace fs = std::filesystem;

/// The settings a checkpoint was made with, then the overrides.
Config checkpointConfig(const FoundCheckpoint &checkpoint,
                        const std::vector<std::string> &overrides) {
  std::vector<std::string> settings;
  const nlohmann::json earlier = toJson(earlierConfig(checkpoint));
  for (const auto &[key, value] : earlier.items())
    settings.push_back(
        key + "=" +
        (value.is_string() ? value.get<std::string>() : value.dump()));
  settings.insert(settings.end(), overrides.begin(), overrides.end());
  return parseConfig("", checkpoint.folder + "/state.json", settings);
}

/// Returns the run's newest copy of the file of its attention kernels, which is
/// found by the last two parts of its path; without one, the file itself, which
/// may have changed since.
std::string keptKernelFile(const std::string &run, const std::string &file) {
  std::error_code code;
  const fs::path given = file;
  const fs::path name = given.parent_path().filename() / given.filename();
  std::vector<fs::path> steps;
  for (const auto &e : fs::directory_iterator(fs::path(run) / "kernels", code))
    steps.push_back(e.path());
  std::sort(steps.rbegin(), steps.rend());
  for (const fs::path &step : steps)
    if (fs::exists(step / name, code))
      return (step / name).string();
  return file;
}

} // namespace

TrainedModel readTrainedModel(const std::string &run,
                              const std::vector<std::string> &overrides) {
  const auto checkpoint = findCheckpoint(
      run, [](const std::string &text) { fmt::print(stderr, "{}\n", text); });
  if (!checkpoint)
    throw Error("no checkpoint in " + run,
                "train first: tessera train --config configs/quickstart.yaml");
  TrainedModel trained;
  trained.config = checkpointConfig(*checkpoint, overrides);
  models::ModelConfig &shape = trained.config.model;
  if (shape.attention == models::AttentionKind::Kernel)
    shape.custom.file = keptKernelFile(run, shape.custom.file);
  at::set_num_threads(int(trained.config.threads));
  trained.model = std::make_unique<models::Transformer>(
      shape, trained.config.kernels, uint64_t(trained.config.seed));
  readTensors(checkpoint->folder + "/model.safetensors",
              trained.model->parameters());
  return trained;
}

int64_t longestText(const Config &config) {
  const models::Rope &rope = config.model.rope;
  constexpr double most = 1 << 20; // as of train.seq_len
  if (!rope.changed())
    return config.sequenceLength;
  return std::max(
      config.sequenceLength,
      int64_t(std::min(most, double(rope.originalLength) * rope.scale)));
}

} // namespace tessera::trainer
