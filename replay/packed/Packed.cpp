// replay/packed/Packed.cpp - recorded launches with their GPU code beside them.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "replay/packed/Packed.h"

#include "replay/packed/PackedTensors.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/GpuTarget.h"
#include "support/Json.h"

namespace tessera::cases {

namespace fs = std::filesystem;

namespace {

constexpr const char *fileName = "gpu.json";

// {"version", "tf32", "targets": {NAME: ENTRY}}.
Json readIndex(const fs::path &folder) {
  const fs::path path = folder / fileName;
  const auto text = tryReadFile(path);
  if (!text)
    return {{"version", 1}, {"tf32", false}, {"targets", Json::object()}};
  const Json json = parseJson(*text, path.string());
  checkKeys(json, {"version", "targets", "tf32"}, path.string());
  if (member<int64_t>(json, "version", path.string()) != 1)
    throw Error(path.string() + " is of another version",
                "pack the case again: tessera pack-cases");
  const Json targets = member<Json>(json, "targets", path.string());
  if (!targets.is_object())
    throw Error(path.string() + ": `targets` is no object",
                "pack the case again: tessera pack-cases");
  for (const auto &[target, entry] : targets.items())
    GpuTarget::parse(target); // also keeps file names what they seem
  return {{"version", 1},
          {"tf32", memberOr<bool>(json, "tf32", false, path.string())},
          {"targets", targets}};
}

Json entryOf(const fs::path &folder, const std::string &target,
             const std::string &where) {
  const Json targets = readIndex(folder)["targets"];
  if (!targets.contains(target))
    throw Error(folder.string() + " has no code for " + target,
                "pack it: tessera pack-cases --target " + target);
  checkKeys(targets[target], {"meta", "peer"}, where);
  return targets[target];
}

language::ArtifactMeta readMeta(const Json &entry, const std::string &where) {
  return readPackedMeta(member<Json>(entry, "meta", where), where);
}

// A file of code as it is, or deflated with .z behind its name; none where
// there is neither.
std::optional<std::string> tryReadCode(const fs::path &path) {
  if (auto plain = tryReadFile(path))
    return plain;
  const fs::path file = path.string() + ".z";
  const auto text = tryReadFile(file);
  if (!text)
    return std::nullopt;
  return inflated(*text, std::nullopt, file.string());
}

std::string readCode(const fs::path &path) {
  auto code = tryReadCode(path);
  return code ? std::move(*code) : readFile(path); // which says what is wrong
}

void writeCode(const fs::path &path, const std::string &code) {
  writeOutput(path.string() + ".z", deflated(code));
}

} // namespace

Json packedMeta(const language::ArtifactMeta &meta) {
  language::CompileResult result;
  result.ok = true;
  result.meta = meta;
  return parseJson(result.toJson(), "metadata").at("meta");
}

language::ArtifactMeta readPackedMeta(const Json &json,
                                      const std::string &where) {
  if (!json.is_object())
    throw Error(where + ": `meta` is no object",
                "pack the case again: tessera pack-cases");
  return language::CompileResult::fromJson(
             Json{{"ok", true}, {"meta", json}}.dump())
      .meta;
}

void packCode(const fs::path &folder, const std::string &target,
              const runtime::CompiledKernel &compiled, bool tf32) {
  Json index = readIndex(folder);
  index["tf32"] = tf32;
  index["targets"][target] = {{"meta", packedMeta(compiled.meta)}};
  writeCode(folder / (target + ".ptx"), compiled.stages.at("ptx"));
  if (!compiled.code.empty())
    writeCode(folder / (target + ".cubin"), compiled.code);
  writeOutput(folder / fileName, index.dump(1) + "\n");
}

std::vector<std::string> packedTargets(const fs::path &folder) {
  const Json targets = readIndex(folder)["targets"];
  std::vector<std::string> names;
  for (const std::string &name : GpuTarget::names())
    if (targets.contains(name))
      names.push_back(name);
  return names;
}

runtime::CompiledKernel readPacked(const fs::path &folder,
                                   const std::string &target) {
  const std::string where = (folder / fileName).string() + ": " + target;
  runtime::CompiledKernel compiled;
  compiled.meta = readMeta(entryOf(folder, target, where), where);
  compiled.stages["ptx"] = readCode(folder / (target + ".ptx"));
  if (auto cubin = tryReadCode(folder / (target + ".cubin")))
    compiled.code = std::move(*cubin);
  return compiled;
}

bool packedTf32(const fs::path &folder) {
  return readIndex(folder)["tf32"].get<bool>();
}

std::optional<PeerCode> readPeer(const fs::path &folder,
                                 const std::string &target) {
  const std::string where =
      (folder / fileName).string() + ": peer of " + target;
  const Json entry = entryOf(folder, target, where);
  if (!entry.contains("peer"))
    return std::nullopt;
  const Json &peer = entry["peer"];
  checkKeys(peer, {"meta", "appended", "compiler"}, where);
  PeerCode code;
  code.compiled.meta = readMeta(peer, where);
  code.compiled.code = readCode(folder / (target + ".peer.cubin"));
  if (auto ptx = tryReadCode(folder / (target + ".peer.ptx")))
    code.compiled.stages["ptx"] = std::move(*ptx);
  code.appended = member<uint32_t>(peer, "appended", where);
  code.compiler = member<std::string>(peer, "compiler", where);
  if (code.appended > 8)
    throw Error(where + ": too many appended parameters",
                "pack the case again: tessera pack-cases");
  return code;
}

} // namespace tessera::cases
