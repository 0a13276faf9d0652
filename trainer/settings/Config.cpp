// trainer/settings/Config.cpp - collects settings from files, the environment
// and arguments, and checks their combination.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/settings/Config.h"

#include "support/Error.h"
#include "support/File.h"
#include "support/Names.h"
#include "support/Process.h"
#include "support/Text.h"
#include "trainer/settings/AttentionSettings.h"
#include "trainer/settings/NsaVibe.h"
#include "trainer/settings/Phases.h"
#include "trainer/settings/Setting.h"
#include "trainer/settings/Variables.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <yaml-cpp/yaml.h>

namespace tessera::trainer {
namespace {

constexpr const char *allSettings = "docs/settings.md lists every setting";

/// The text of a setting and its origin, for messages.
struct Entry {
  std::string text, place;
  std::string name; ///< The key or alias that was written.
};

/// Entries by key of the setting.
using Entries = std::map<std::string, Entry>;

const Setting &settingNamed(const std::string &name, const std::string &place) {
  if (const Setting *s = findSetting(name))
    return *s;
  std::vector<std::string> known;
  for (const Setting &s : settingsTable()) {
    known.push_back(s.key);
    known.insert(known.end(), s.aliases.begin(), s.aliases.end());
  }
  const std::string nearest = nearestName(name, known);
  throw Error(fmt::format("{}: unknown setting '{}'", place, name),
              nearest.empty() ? allSettings
                              : fmt::format("did you mean '{}'?", nearest));
}

/// Returns the key that `name` sets. `attention: NAME` is the short form of
/// attention.pattern.
std::string keyOf(const std::string &name, const std::string &text) {
  return name == "attention" ? keyOfAttention(text) : name;
}

/// Adds a value of a file. Throws Error if the file sets the key twice.
void addOnce(Entries &entries, const std::string &name, const std::string &text,
             const std::string &place) {
  const Setting &s = settingNamed(keyOf(name, text), place);
  const auto [at, added] = entries.insert({s.key, {text, place, name}});
  if (!added)
    throw Error(fmt::format("{}: {} is given again, after {}{}", place, name,
                            at->second.place,
                            at->second.name == name
                                ? ""
                                : fmt::format(" as {}", at->second.name)),
                "leave one of the two");
}

/// Returns true if the setting of this name takes a list.
bool takesList(const std::string &name) {
  const Setting *s = findSetting(name);
  if (!s || !s->field)
    return false;
  Config any;
  const Field field = s->field(any);
  return std::holds_alternative<StepRange *>(field) ||
         std::holds_alternative<StepValues *>(field) ||
         std::holds_alternative<models::LayerSet *>(field);
}

std::string listText(const YAML::Node &list) {
  std::string text;
  for (const YAML::Node &item : list)
    text += (text.empty() ? "" : ",") +
            (item.IsScalar() ? item.Scalar() : std::string("?"));
  return "[" + text + "]";
}

/// Returns true if attentionText() converts the setting's lists and maps.
bool isOfAttention(const std::string &key) {
  return key == "attention" || key == "attention.pattern" ||
         key == "attention_params" || key == "attention.constexprs" ||
         key == "attention.per_sequence";
}

void flatten(const YAML::Node &node, const std::string &prefix,
             const std::string &file, Entries &out) {
  for (const auto &item : node) {
    const std::string key = prefix + item.first.as<std::string>();
    const std::string place =
        fmt::format("{}:{}", file, item.first.Mark().line + 1);
    // A YAML alias can refer to an enclosing node, so the depth is limited.
    if (std::count(key.begin(), key.end(), '.') > 8)
      throw Error(
          fmt::format("{}: {} is nested deeper than any setting", place, key),
          allSettings);
    if (isOfAttention(key) && !item.second.IsScalar() &&
        !(item.second.IsMap() && key == "attention"))
      addOnce(out, key, attentionText(item.second), place);
    else if (item.second.IsMap())
      flatten(item.second, key + ".", file, out);
    else if (item.second.IsSequence() && takesList(key))
      addOnce(out, key, listText(item.second), place);
    else if (item.second.IsScalar() || item.second.IsNull())
      addOnce(out, key, item.second.IsNull() ? "" : item.second.Scalar(),
              place);
    else
      throw Error(fmt::format("{}: {} holds a list, which it does not take",
                              place, key),
                  "write one value");
  }
}

void addYaml(Entries &entries, const std::string &text,
             const std::string &name) {
  try {
    const YAML::Node root = YAML::Load(text);
    if (!root.IsMap() && !root.IsNull())
      throw Error(name + ": a config is a map of settings",
                  "write lines such as 'attention: nsa'");
    flatten(root, "", name, entries);
  } catch (const YAML::Exception &e) {
    throw Error(fmt::format("{}:{}: {}", name, e.mark.line + 1, e.msg),
                "indent with spaces, one 'key: value' a line");
  }
}

/// Converts a list or a map of the command line, such as "[{window: 8},
/// {window: 64}]", as addYaml() does for files.
std::string typedText(const std::string &name, const std::string &text) {
  const bool list = text.starts_with('[') || text.starts_with('{');
  if (!list || !isOfAttention(name))
    return text;
  try {
    return attentionText(YAML::Load(text));
  } catch (const YAML::Exception &e) {
    throw Error(fmt::format("command line: {}={}: {}", name, text, e.msg),
                "write a list such as [window, dense] or [{window: 8}, {}]");
  }
}

void addOverrides(Entries &entries, const std::vector<std::string> &overrides) {
  for (const std::string &o : overrides) {
    const auto given = nameAndValueOf(o);
    if (!given || given->first.empty())
      throw Error(fmt::format("'{}' is not a key=value", o),
                  "for example train.steps=100");
    const auto &[name, value] = *given;
    const std::string text = typedText(name, value);
    const Setting &s = settingNamed(keyOf(name, text), "command line");
    if (name == "attention" && entries.contains("attention.pattern"))
      entries.erase("attention.pattern");
    if (s.key == "attention.pattern" && !text.empty())
      entries.erase("attention");
    entries[s.key] = {text, "command line", name};
  }
}

void apply(Config &config, const Entries &entries) {
  for (const auto &[key, entry] : entries) {
    try {
      setValue(*findSetting(key), config, entry.text);
    } catch (const Error &e) {
      throw Error(fmt::format("{}: {}", entry.place, e.message), e.hint);
    }
    config.origins[key] = entry.place;
  }
}

bool given(const Config &c, const char *key) { return c.origins.contains(key); }

/// Computes deviceBatchSize from batchSize or the reverse, and checks both.
void settleBatch(Config &c, int64_t processes) {
  c.processes = processes;
  if (!given(c, "train.device_batch_size"))
    c.deviceBatchSize = 0;
  if (c.deviceBatchSize > 0 && !given(c, "train.batch_size"))
    c.batchSize = c.deviceBatchSize * processes;
  if (c.batchSize % processes != 0)
    throw Error(fmt::format("train.batch_size ({}) cannot be divided among {} "
                            "processes",
                            c.batchSize, processes),
                "choose a multiple of the number of processes");
  const int64_t each = c.batchSize / processes;
  if (c.deviceBatchSize > 0 && c.deviceBatchSize != each)
    throw Error(fmt::format("train.batch_size ({}) is not "
                            "train.device_batch_size ({}) times {} process{}",
                            c.batchSize, c.deviceBatchSize, processes,
                            processes == 1 ? "" : "es"),
                "leave one of the two away");
  c.deviceBatchSize = each;
  validateSchedules(c);
}

void validateData(const Config &c) {
  if (c.dataOrigin == DataOrigin::Files)
    return;
  if (!c.dataPath.empty())
    throw Error(fmt::format("data.source is synthetic, but data.path is {}",
                            c.dataPath),
                "leave one of the two away");
  if (c.dataPacking == DataPacking::BestFit)
    throw Error("data.source is synthetic and has no documents, but "
                "data.packing is best_fit",
                "set data.packing to joined");
}

void validateOptimizer(const Config &c) {
  if (c.headRateFactor != 1 && c.model.tiedHead)
    throw Error(fmt::format("train.head_lr_factor is {}, but model.tied_head "
                            "makes the head the embedding",
                            c.headRateFactor),
                "set model.tied_head: false, or train.head_lr_factor: 1");
  if (c.muonNormalize && c.optimizer != OptimizerKind::Muon)
    throw Error("train.muon_normalize is true, but train.optimizer is adamw",
                "set train.optimizer: muon, or train.muon_normalize: false");
  if (c.optimizer != OptimizerKind::Muon)
    return;
  if (c.zeroStage > 0)
    throw Error("train.optimizer=muon needs whole matrices in each process, "
                "but runtime.zero_stage is 1",
                "set runtime.zero_stage: 0, or train.optimizer: adamw");
  if (c.learningRate == 0)
    throw Error("train.muon_lr follows the schedule of train.lr, which is 0",
                "set train.lr, the rate of embedding, head, norms and gates");
}

void validateRun(const Config &c) {
  validate(c.model);
  validateData(c);
  if (c.model.has(models::AttentionKind::Kernel) &&
      c.kernels == models::KernelSource::Torch)
    throw Error("attention.kernel needs compiled kernels, but kernels is torch",
                "set kernels: tessera");
  validateOptimizer(c);
  if (c.hellaSwagEvery > 0 && c.hellaSwag.empty())
    throw Error("train.hellaswag_every wants a file, but train.hellaswag names "
                "none",
                "set train.hellaswag to llm.c's hellaswag_val.bin");
  if (c.compareEvery > 0 && c.kernels == models::KernelSource::Torch)
    throw Error("debug.compare_every compares compiled kernels with plain "
                "torch, but kernels is torch",
                "set kernels: tessera, or debug.compare_every: 0");
  for (const Phase &phase : phasesOf(c))
    if (phase.batch / c.processes * phase.length >
        std::numeric_limits<int>::max())
      throw Error(fmt::format("a micro-batch of {} sequences of {} tokens has "
                              "more than 2^31 - 1 tokens",
                              phase.batch / c.processes, phase.length),
                  "lower train.batch_size and raise "
                  "train.accumulate_grad_batches");
  if (c.resume != "auto" && c.resume != "never")
    throw Error(fmt::format("resume wants auto or never, found '{}'", c.resume),
                "for example resume=auto");
  if (c.out.empty())
    throw Error("out is empty",
                "name a run folder, for example out=runs/first");
}

Config settled(const Entries &entries, int64_t processes,
               AttentionOrigin origin) {
  Config config;
  apply(config, entries);
  settleAttention(config, origin);
  settleBatch(config, processes);
  if (config.model.mlpDim == 0 || !given(config, "model.mlp_dim"))
    config.model.mlpDim = 4 * config.model.dim;
  if (config.model.rope.changed() && config.model.rope.originalLength == 0)
    config.model.rope.originalLength = config.sequenceLength;
  validateRun(config);
  return config;
}

} // namespace

Config parseConfig(const std::string &text, const std::string &name,
                   const std::vector<std::string> &overrides,
                   const Environment &environment, int64_t processes) {
  Entries entries;
  addYaml(entries, text, name);
  const bool forNsaVibe =
      std::any_of(entries.begin(), entries.end(), [](const auto &entry) {
        return isNameOfNsaVibe(entry.second.name);
      });
  if (forNsaVibe)
    for (const auto &[key, value] : modelOfNsaVibe())
      entries.insert({key, {value, originAsNsaVibe(name), key}});
  for (const VariableSetting &v : settingsOf(environment))
    entries[v.key] = {v.text, "environment " + v.variable, v.key};
  addOverrides(entries, overrides);
  Config config = settled(entries, processes, AttentionOrigin::User);
  if (forNsaVibe)
    config.nsaVibeFile = name;
  return config;
}

std::string configPath(const std::string &file) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path path = file;
  if (path.empty() || *path.begin() != "configs" || fs::exists(path, ignored))
    return file;
  for (fs::path folder = executablePath().parent_path();
       !folder.empty() && folder != folder.root_path();
       folder = folder.parent_path())
    for (const fs::path &found :
         {folder / path, folder / "share/tessera" / path})
      if (fs::is_regular_file(found, ignored))
        return found.string();
  return file;
}

Config readConfig(const std::string &file,
                  const std::vector<std::string> &overrides,
                  int64_t processes) {
  if (file.empty())
    return parseConfig("", "defaults", overrides, processEnvironment(),
                       processes);
  std::string text;
  try {
    text = readFile(configPath(file));
  } catch (const Error &error) {
    throw Error(error.message, "configs/quickstart.yaml is one to start from");
  }
  return parseConfig(text, file, overrides, processEnvironment(), processes);
}

Config configFromJson(const nlohmann::json &values, const std::string &place) {
  if (!values.is_object())
    throw Error(place + " holds no settings", allSettings);
  Entries entries;
  for (const auto &[key, value] : values.items())
    addOnce(entries, key,
            value.is_string() ? value.get<std::string>() : value.dump(), place);
  // The division among the processes of the stored run does not apply here.
  if (entries.contains("train.batch_size"))
    entries.erase("train.device_batch_size");
  return settled(entries, 1, AttentionOrigin::Stored);
}

Config forProcesses(Config config, int64_t processes) {
  settleBatch(config, processes);
  return config;
}

std::vector<std::string> takeFrom(const Config &earlier, Config &config) {
  std::vector<std::string> changed;
  // If the user chose another attention, its settings stay. A later check
  // refuses it, because its parameters are not those of the checkpoint.
  const bool chosen = given(config, "attention") ||
                      given(config, "attention.pattern") ||
                      given(config, "attention.kernel");
  const bool attention = !chosen || sameAttentionKinds(earlier, config);
  for (const Setting &s : settingsTable()) {
    if (s.absent() || s.atResume == AtResume::Change ||
        given(config, s.key.c_str()) ||
        (isAttentionSetting(s.key) && !attention))
      continue;
    const std::string before = valueText(s, earlier);
    if (before == valueText(s, config))
      continue;
    setValue(s, config, before);
    config.origins[s.key] = "checkpoint";
    changed.push_back(s.key + "=" + before);
  }
  settleAttention(config, AttentionOrigin::User);
  settleBatch(config, config.processes);
  return changed;
}

nlohmann::json toJson(const Config &config) {
  nlohmann::json json;
  for (const Setting &s : settingsTable()) {
    const Field field =
        s.field ? s.field(const_cast<Config &>(config)) : Field();
    if (const auto *flag = std::get_if<bool *>(&field))
      json[s.key] = **flag;
    else if (const auto *whole = std::get_if<int64_t *>(&field))
      json[s.key] = **whole;
    else if (const auto *real = std::get_if<double *>(&field))
      json[s.key] = **real;
    else if (!s.absent())
      json[s.key] = valueText(s, config);
  }
  return json;
}

} // namespace tessera::trainer
