// replay/packed/Packed.cpp - recorded launches packed with their GPU code.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "replay/packed/Packed.h"

#include "replay/packed/PackedTensors.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/GpuTarget.h"

namespace tessera::cases {

namespace fs = std::filesystem;

Json readTargets(const fs::path &file,
                 const std::vector<std::string> &members) {
  const auto text = tryReadFile(file);
  if (!text)
    return {{"version", 1}, {"targets", Json::object()}};
  const std::string where = file.string();
  Json json = parseJson(*text, where);
  checkKeys(json, members, where);
  if (member<int64_t>(json, "version", where) != 1)
    throw Error(where + " is of another version", packAgain);
  const Json targets = member<Json>(json, "targets", where);
  if (!targets.is_object())
    throw Error(where + ": `targets` is not an object", packAgain);
  for (const auto &[target, entry] : targets.items())
    GpuTarget::parse(target);
  return json;
}

std::vector<std::string> targetNames(const Json &file) {
  std::vector<std::string> names;
  for (const std::string &name : GpuTarget::names())
    if (file["targets"].contains(name))
      names.push_back(name);
  return names;
}

static Json readIndex(const fs::path &folder) {
  return readTargets(folder / "gpu.json", {"version", "targets", "tf32"});
}

static Json entryOf(const fs::path &folder, const std::string &target) {
  const Json targets = readIndex(folder)["targets"];
  if (!targets.contains(target))
    throw Error(folder.string() + " has no code for " + target,
                "pack it: tessera pack-cases --target " + target);
  return targets[target];
}

static std::string whereOf(const fs::path &folder, const std::string &target) {
  return (folder / "gpu.json").string() + ": " + target;
}

Json packCode(const fs::path &folder, const runtime::CompiledKernel &compiled,
              bool withPtx) {
  language::CompileResult result;
  result.ok = true;
  result.meta = compiled.meta;
  Json code = {{"meta", parseJson(result.toJson(), "metadata").at("meta")}};
  if (!compiled.code.empty())
    code["cubin"] = writeBlob(blobsOf(folder), compiled.code);
  if (compiled.code.empty() || withPtx)
    code["ptx"] = writeBlob(blobsOf(folder), compiled.stages.at("ptx"));
  return code;
}

runtime::CompiledKernel readCode(const fs::path &folder, const Json &code,
                                 const std::string &where) {
  const Json meta = member<Json>(code, "meta", where);
  if (!meta.is_object())
    throw Error(where + ": `meta` is not an object", packAgain);
  runtime::CompiledKernel compiled;
  compiled.meta = language::CompileResult::fromJson(
                      Json{{"ok", true}, {"meta", meta}}.dump())
                      .meta;
  const auto read = [&](const char *key) {
    const auto name = memberOr<std::string>(code, key, "", where);
    return name.empty() ? name
                        : readBlob(blobsOf(folder), name, std::nullopt, where);
  };
  compiled.code = read("cubin");
  compiled.stages["ptx"] = read("ptx");
  if (compiled.code.empty() && compiled.stages["ptx"].empty())
    throw Error(where + " has no code", packAgain);
  return compiled;
}

void packTarget(const fs::path &folder, const std::string &target,
                const runtime::CompiledKernel &compiled, bool tf32) {
  Json index = readIndex(folder);
  index["tf32"] = tf32;
  index["targets"][target] = packCode(folder, compiled, true);
  writeOutput(folder / "gpu.json", index.dump(1) + "\n");
}

std::vector<std::string> packedTargets(const fs::path &folder) {
  return targetNames(readIndex(folder));
}

std::string newestPackedTarget(const fs::path &folder, const std::string &gpu) {
  std::string used;
  for (const std::string &target : packedTargets(folder))
    if (GpuTarget::parse(target).computeCapability <=
        GpuTarget::parse(gpu).computeCapability)
      used = target;
  if (used.empty())
    throw Error(folder.string() + " has no code for " + gpu +
                    " or an older GPU",
                "pack it: tessera pack-cases --target " + gpu);
  return used;
}

runtime::CompiledKernel readPacked(const fs::path &folder,
                                   const std::string &target) {
  return readCode(folder, entryOf(folder, target), whereOf(folder, target));
}

bool packedTf32(const fs::path &folder) {
  return readIndex(folder).value("tf32", false);
}

std::optional<PeerCode> readPeer(const fs::path &folder,
                                 const std::string &target) {
  const Json entry = entryOf(folder, target);
  if (!entry.contains("peer"))
    return std::nullopt;
  const std::string where = whereOf(folder, target) + ": peer";
  const Json &peer = entry["peer"];
  PeerCode code{readCode(folder, peer, where),
                member<uint32_t>(peer, "appended", where),
                member<std::string>(peer, "compiler", where)};
  if (code.appended > 8)
    throw Error(where + ": too many appended parameters", packAgain);
  return code;
}

} // namespace tessera::cases
