// trainer/Checkpoint.cpp - checkpoint folders, whole or absent.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/Checkpoint.h"

#include "support/Error.h"
#include "support/File.h"
#include "trainer/Config.h"
#include "trainer/TensorFile.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace fs = std::filesystem;

namespace tessera::trainer {
namespace {

using nlohmann::json;

fs::path checkpointFolder(const std::string &run) {
  return fs::path(run) / "ckpt";
}

/// Settings that may change between the two halves of one run without changing
/// its results.
bool mayChange(const std::string &key) {
  for (const char *free :
       {"out", "resume", "panel", "train.log_every", "train.eval_every",
        "train.eval_windows", "train.final_windows", "train.save_every",
        "train.keep", "data.path"})
    if (key == free)
      return true;
  return false;
}

/// Whole checkpoints, oldest first.
std::vector<fs::path> listCheckpoints(const std::string &run) {
  std::vector<fs::path> found;
  std::error_code code;
  for (const fs::directory_entry &e :
       fs::directory_iterator(checkpointFolder(run), code))
    if (e.path().filename().string().starts_with("step_") &&
        e.path().extension().empty() && fs::exists(e.path() / "DONE"))
      found.push_back(e.path());
  std::sort(found.begin(), found.end());
  return found;
}

} // namespace

void saveCheckpoint(const Config &config, const Progress &progress,
                    const std::string &dataHash,
                    const models::Transformer &model, const AdamW &optimizer) {
  const fs::path final =
      checkpointFolder(config.out) / fmt::format("step_{:08}", progress.step);
  const fs::path building = final.string() + ".tmp";
  std::error_code code;
  fs::remove_all(building, code);
  fs::create_directories(building, code);
  if (code)
    throw Error(
        fmt::format("cannot make {}: {}", building.string(), code.message()),
        "check the space and rights of the run folder");
  writeTensors((building / "model.safetensors").string(), model.parameters());
  writeTensors((building / "optimizer.safetensors").string(),
               optimizer.state());
  const json state = {{"step", progress.step},
                      {"windows", progress.windows},
                      {"train_seconds", progress.trainSeconds},
                      {"data_sha256", dataHash},
                      {"config", toJson(config)}};
  writeFile((building / "state.json").string(), state.dump(1) + "\n");
  writeFile((building / "DONE").string(), "");
  fs::remove_all(final, code);
  fs::rename(building, final, code);
  if (code)
    throw Error(
        fmt::format("cannot rename {}: {}", building.string(), code.message()),
        "check the rights of the run folder");
  std::vector<fs::path> all = listCheckpoints(config.out);
  while (int64_t(all.size()) > config.keepCheckpoints) {
    fs::remove_all(all.front(), code);
    all.erase(all.begin());
  }
}

std::optional<std::string> latestCheckpoint(const std::string &runFolder) {
  const std::vector<fs::path> all = listCheckpoints(runFolder);
  if (all.empty())
    return std::nullopt;
  return all.back().string();
}

Progress loadCheckpoint(const std::string &folder, const Config &config,
                        const std::string &dataHash, models::Transformer &model,
                        AdamW &optimizer) {
  const std::string startOver =
      "resume=never starts over in this folder; out=FOLDER uses another";
  const std::string file = (fs::path(folder) / "state.json").string();
  const json state = json::parse(readFile(file), nullptr, false);
  if (!state.is_object() || !state.contains("config"))
    throw Error(file + " is not a checkpoint's state", startOver);
  const json now = toJson(config);
  for (const auto &[key, value] : now.items())
    if (!mayChange(key) && state["config"].value(key, json()) != value)
      throw Error(fmt::format("{} was made with {}={}, this run has {}", folder,
                              key, state["config"].value(key, json()).dump(),
                              value.dump()),
                  startOver);
  if (state.value("data_sha256", "") != dataHash)
    throw Error(folder + " was trained on another text", startOver);
  readTensors((fs::path(folder) / "model.safetensors").string(),
              model.parameters());
  readTensors((fs::path(folder) / "optimizer.safetensors").string(),
              optimizer.state());
  return {state.value("step", int64_t(0)), state.value("windows", int64_t(0)),
          state.value("train_seconds", 0.0)};
}

} // namespace tessera::trainer
