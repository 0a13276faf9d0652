// replay/packed/PackedTuning.cpp - the configurations of a packed case,
// compiled.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "replay/packed/PackedTuning.h"

#include "language/ConstexprValues.h"
#include "language/ValueJson.h"
#include "replay/packed/Packed.h"
#include "replay/packed/PackedTensors.h"
#include "runtime/launch/KernelState.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/GpuTarget.h"
#include "support/Json.h"

namespace tessera::cases {

namespace fs = std::filesystem;
using tune::TuneChoice;
using tune::TuneKey;

namespace {

constexpr const char *tuningName = "tuning.json";
constexpr const char *packAgain = "pack the cases again: tessera pack-cases";

fs::path blobsOf(const fs::path &folder) {
  return fs::absolute(folder).lexically_normal().parent_path() / "blobs";
}

// A dtype is an object, so that it does not become a text on the way.
Json toJson(const Constexprs &constexprs) {
  Json json = Json::object();
  for (const auto &[name, value] : constexprs)
    json[name] = std::visit(
        [](const auto &held) -> Json {
          using T = std::decay_t<decltype(held)>;
          if constexpr (std::is_same_v<T, DType>)
            return {{"dtype", dtypeName(held)}};
          else if constexpr (std::is_same_v<T, EncodedConstexpr>)
            return parseJson(held.json, "a constexpr");
          else
            return held;
        },
        value);
  return json;
}

ConstexprValue valueOf(const Json &json, const std::string &what) {
  if (json.is_null())
    return nullptr;
  if (json.is_boolean())
    return json.get<bool>();
  if (json.is_string())
    return json.get<std::string>();
  if (json.is_number_integer())
    return json.get<int64_t>();
  if (json.is_number_float())
    return json.get<double>();
  if (json.is_object() && !json.contains("dtype"))
    return language::fromValue(what, language::valueFromJson(json, what));
  if (json.is_object())
    if (const auto type =
            dtypeFromText(member<std::string>(json, "dtype", what)))
      return *type;
  throw Error(what + " is no value of a constexpr", packAgain);
}

Constexprs constexprsOf(const Json &json, const std::string &what) {
  if (!json.is_object())
    throw Error(what + ": the constexprs are no object", packAgain);
  Constexprs result;
  for (const auto &[name, value] : json.items())
    result[name] = valueOf(value, what + ": `" + name + "`");
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

Json toJson(const PackedCandidate &candidate) {
  Json json = {{"use", toJson(candidate.use)},
               {"grid", candidate.grid},
               {"meta", packedMeta(candidate.meta)}};
  if (!candidate.cubin.empty())
    json["cubin"] = candidate.cubin;
  if (!candidate.ptx.empty())
    json["ptx"] = candidate.ptx;
  return json;
}

PackedCandidate candidateOf(const Json &json, const std::string &what) {
  checkKeys(json, {"use", "grid", "meta", "cubin", "ptx"}, what);
  PackedCandidate candidate;
  candidate.use = choiceOf(member<Json>(json, "use", what), what);
  candidate.grid = member<Grid>(json, "grid", what);
  candidate.meta = readPackedMeta(member<Json>(json, "meta", what), what);
  candidate.cubin = memberOr<std::string>(json, "cubin", "", what);
  candidate.ptx = memberOr<std::string>(json, "ptx", "", what);
  if (candidate.cubin.empty() && candidate.ptx.empty())
    throw Error(what + " has no code", packAgain);
  return candidate;
}

// {NAME: ...} of the targets; an empty object without a file.
Json readTargets(const fs::path &folder) {
  const fs::path path = folder / tuningName;
  const auto text = tryReadFile(path);
  if (!text)
    return Json::object();
  const Json json = parseJson(*text, path.string());
  checkKeys(json, {"version", "targets"}, path.string());
  if (member<int64_t>(json, "version", path.string()) != 1)
    throw Error(path.string() + " is of another version", packAgain);
  Json targets = member<Json>(json, "targets", path.string());
  if (!targets.is_object())
    throw Error(path.string() + ": `targets` is no object", packAgain);
  for (const auto &[target, entry] : targets.items())
    GpuTarget::parse(target);
  return targets;
}

} // namespace

PackedCandidate packCandidate(const fs::path &folder, const TuneChoice &use,
                              const Grid &grid,
                              const runtime::CompiledKernel &compiled,
                              bool withPtx) {
  PackedCandidate candidate;
  candidate.use = use;
  candidate.grid = grid;
  candidate.meta = compiled.meta;
  if (!compiled.code.empty())
    candidate.cubin = writeBlob(blobsOf(folder), compiled.code);
  if (compiled.code.empty() || withPtx)
    candidate.ptx = writeBlob(blobsOf(folder), compiled.stages.at("ptx"));
  return candidate;
}

void packTuning(const fs::path &folder, const std::string &target,
                const PackedTuning &tuning) {
  Json targets = readTargets(folder);
  Json entry = {{"key", toJson(tuning.key)},
                {"tokens", tuning.tokens},
                {"candidates", Json::array()},
                {"left_out", Json::array()}};
  for (const PackedCandidate &candidate : tuning.candidates)
    entry["candidates"].push_back(toJson(candidate));
  for (const auto &[use, why] : tuning.leftOut)
    entry["left_out"].push_back({{"use", toJson(use)}, {"why", why}});
  targets[target] = std::move(entry);
  writeOutput(folder / tuningName,
              Json{{"version", 1}, {"targets", targets}}.dump() + "\n");
}

std::optional<PackedTuning> readTuning(const fs::path &folder,
                                       const std::string &target) {
  const Json targets = readTargets(folder);
  if (!targets.contains(target))
    return std::nullopt;
  const std::string what = (folder / tuningName).string() + ": " + target;
  const Json &entry = targets[target];
  checkKeys(entry, {"key", "tokens", "candidates", "left_out"}, what);
  PackedTuning tuning;
  tuning.key = keyOf(member<Json>(entry, "key", what), what + ": key");
  tuning.tokens = member<int64_t>(entry, "tokens", what);
  for (const Json &one : member<Json>(entry, "candidates", what))
    tuning.candidates.push_back(
        candidateOf(one, what + ": candidate " +
                             std::to_string(tuning.candidates.size() + 1)));
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
  const Json targets = readTargets(folder);
  std::vector<std::string> names;
  for (const std::string &name : GpuTarget::names())
    if (targets.contains(name))
      names.push_back(name);
  return names;
}

runtime::CompiledKernel readCandidate(const fs::path &folder,
                                      const PackedCandidate &candidate) {
  const std::string what = folder.string() + ": " + describe(candidate.use);
  runtime::CompiledKernel compiled;
  compiled.meta = candidate.meta;
  if (!candidate.cubin.empty())
    compiled.code =
        readBlob(blobsOf(folder), candidate.cubin, std::nullopt, what);
  compiled.stages["ptx"] =
      candidate.ptx.empty()
          ? ""
          : readBlob(blobsOf(folder), candidate.ptx, std::nullopt, what);
  return compiled;
}

} // namespace tessera::cases
