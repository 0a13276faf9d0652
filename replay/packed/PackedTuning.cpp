// replay/packed/PackedTuning.cpp - compiled candidate configurations of a
// packed case.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "replay/packed/PackedTuning.h"

#include "language/ConstexprValues.h"
#include "language/ValueJson.h"
#include "replay/packed/Packed.h"
#include "support/Error.h"
#include "support/File.h"

namespace tessera::cases {

namespace fs = std::filesystem;
using tune::TuneChoice;
using tune::TuneKey;

namespace {

// Lossless: a dtype does not become a text.
Json toJson(const Constexprs &constexprs) {
  Json json = Json::object();
  for (const auto &[name, value] : constexprs)
    json[name] = language::toJson(language::toValue(value));
  return json;
}

Constexprs constexprsOf(const Json &json, const std::string &what) {
  if (!json.is_object())
    throw Error(what + ": the constexprs are not an object", packAgain);
  Constexprs result;
  for (const auto &[name, value] : json.items())
    result[name] = language::fromValue(
        name, language::valueFromJson(value, what + ": `" + name + "`"));
  return result;
}

Json toJson(const TuneChoice &choice) {
  Json json = {{"constexprs", toJson(choice.constexprs)}};
  if (choice.numWarps)
    json["num_warps"] = *choice.numWarps;
  if (choice.numStages)
    json["num_stages"] = *choice.numStages;
  return json;
}

TuneChoice choiceOf(const Json &json, const std::string &what) {
  checkKeys(json, {"constexprs", "num_warps", "num_stages"}, what);
  TuneChoice choice;
  choice.constexprs =
      constexprsOf(member<Json>(json, "constexprs", what), what);
  if (json.contains("num_warps"))
    choice.numWarps = member<int64_t>(json, "num_warps", what);
  if (json.contains("num_stages"))
    choice.numStages = member<int64_t>(json, "num_stages", what);
  return choice;
}

Json toJson(const TuneKey &key) {
  return {{"kernel", key.kernel},
          {"text", key.textHash},
          {"dtypes", key.dtypes},
          {"constexprs", toJson(key.constexprs)},
          {"sequence", key.bucket}};
}

TuneKey keyOf(const Json &json, const std::string &what) {
  checkKeys(json, {"kernel", "text", "dtypes", "constexprs", "sequence"}, what);
  TuneKey key;
  key.kernel = member<std::string>(json, "kernel", what);
  key.textHash = member<std::string>(json, "text", what);
  key.dtypes = member<std::vector<std::string>>(json, "dtypes", what);
  key.constexprs = constexprsOf(member<Json>(json, "constexprs", what), what);
  key.bucket = member<int64_t>(json, "sequence", what);
  return key;
}

Json readTuningFile(const fs::path &folder) {
  return readTargets(folder / "tuning.json", {"version", "targets"});
}

} // namespace

void packTuning(const fs::path &folder, const std::string &target,
                const PackedTuning &tuning) {
  Json file = readTuningFile(folder);
  Json entry = {{"key", toJson(tuning.key)},
                {"tokens", tuning.tokens},
                {"candidates", Json::array()},
                {"left_out", Json::array()}};
  for (const PackedCandidate &candidate : tuning.candidates) {
    Json one = candidate.code;
    one.update({{"use", toJson(candidate.use)}, {"grid", candidate.grid}});
    entry["candidates"].push_back(std::move(one));
  }
  for (const auto &[use, why] : tuning.leftOut)
    entry["left_out"].push_back({{"use", toJson(use)}, {"why", why}});
  file["targets"][target] = std::move(entry);
  writeOutput(folder / "tuning.json", file.dump() + "\n");
}

std::optional<PackedTuning> readTuning(const fs::path &folder,
                                       const std::string &target) {
  const Json targets = readTuningFile(folder)["targets"];
  if (!targets.contains(target))
    return std::nullopt;
  const std::string what = (folder / "tuning.json").string() + ": " + target;
  const Json &entry = targets[target];
  checkKeys(entry, {"key", "tokens", "candidates", "left_out"}, what);
  PackedTuning tuning;
  tuning.key = keyOf(member<Json>(entry, "key", what), what + ": key");
  tuning.tokens = member<int64_t>(entry, "tokens", what);
  for (const Json &one : member<Json>(entry, "candidates", what)) {
    const std::string which =
        what + ": candidate " + std::to_string(tuning.candidates.size() + 1);
    checkKeys(one, {"use", "grid", "meta", "cubin", "ptx"}, which);
    tuning.candidates.push_back(
        {choiceOf(member<Json>(one, "use", which), which),
         member<Grid>(one, "grid", which), one});
  }
  if (tuning.candidates.empty())
    throw Error(what + " has no candidates", packAgain);
  for (const Json &one : member<Json>(entry, "left_out", what)) {
    checkKeys(one, {"use", "why"}, what);
    tuning.leftOut.emplace_back(choiceOf(member<Json>(one, "use", what), what),
                                member<std::string>(one, "why", what));
  }
  return tuning;
}

std::vector<std::string> tuningTargets(const fs::path &folder) {
  return targetNames(readTuningFile(folder));
}

} // namespace tessera::cases
