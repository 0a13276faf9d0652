// runtime/cases/Packed.cpp - recorded launches with their GPU code beside them.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/cases/Packed.h"

#include "runtime/device/cuda/CudaKernel.h"
#include "runtime/device/cuda/Driver.h"
#include "support/File.h"
#include "support/GpuTarget.h"
#include "support/Json.h"

#include <algorithm>

namespace tessera::cases {

namespace fs = std::filesystem;

namespace {

constexpr const char *fileName = "gpu.json";

Json readIndex(const fs::path &folder) {
  const fs::path path = folder / fileName;
  const auto text = tryReadFile(path);
  if (!text)
    return Json::object();
  const Json json = parseJson(*text, path.string());
  checkKeys(json, {"version", "targets"}, path.string());
  if (member<int64_t>(json, "version", path.string()) != 1)
    throw Error(path.string() + " is of another version",
                "pack the case again: tessera pack");
  const Json targets = member<Json>(json, "targets", path.string());
  if (!targets.is_object())
    throw Error(path.string() + ": `targets` is no object",
                "pack the case again: tessera pack");
  for (const auto &[target, entry] : targets.items())
    GpuTarget::parse(target); // also keeps file names what they seem
  return targets;
}

} // namespace

void packCode(const fs::path &folder, const std::string &target,
              const runtime::CompiledKernel &compiled) {
  Json targets = readIndex(folder);
  syntax::CompileResult result;
  result.ok = true;
  result.meta = compiled.meta;
  targets[target] = {
      {"meta", parseJson(result.toJson(), "metadata").at("meta")}};
  writeFile(folder / (target + ".ptx"), compiled.stages.at("ptx"));
  if (!compiled.code.empty())
    writeFile(folder / (target + ".cubin"), compiled.code);
  writeFile(folder / fileName,
            Json{{"version", 1}, {"targets", targets}}.dump(1) + "\n");
}

std::vector<std::string> packedTargets(const fs::path &folder) {
  const Json targets = readIndex(folder);
  std::vector<std::string> names;
  for (const std::string &name : GpuTarget::names())
    if (targets.contains(name))
      names.push_back(name);
  return names;
}

runtime::CompiledKernel readPacked(const fs::path &folder,
                                   const std::string &target) {
  const Json targets = readIndex(folder);
  if (!targets.contains(target))
    throw Error(folder.string() + " has no code for " + target,
                "pack it: tessera pack --target " + target);
  const std::string where = (folder / fileName).string() + ": " + target;
  checkKeys(targets[target], {"meta"}, where);
  runtime::CompiledKernel compiled;
  compiled.meta =
      syntax::CompileResult::fromJson(
          Json{{"ok", true},
               {"meta", member<Json>(targets[target], "meta", where)}}
              .dump())
          .meta;
  compiled.stages["ptx"] = readFile(folder / (target + ".ptx"));
  if (auto cubin = tryReadFile(folder / (target + ".cubin")))
    compiled.code = std::move(*cubin);
  return compiled;
}

PackedDevice::PackedDevice(uint32_t repeats) : repeats(repeats) {
  runtime::cuda::Driver::instance();
}

void PackedDevice::run(const LoadedCase &loaded, const PreparedLaunch &launch,
                       const std::vector<ArgumentMemory> &memory, bool) {
  // The newest code that the GPU can take.
  const std::string best = runtime::cuda::Driver::instance().target();
  used.clear();
  for (const std::string &target : packedTargets(loaded.folder))
    if (GpuTarget::parse(target).computeCapability <=
        GpuTarget::parse(best).computeCapability)
      used = target;
  if (used.empty())
    throw Error(loaded.folder.string() + " has no code for " + best +
                    " or an older GPU",
                "pack it: tessera pack --target " + best);
  const auto kernel = runtime::loadCudaKernel(readPacked(loaded.folder, used),
                                              launch.kernel->name(),
                                              launch.kernel->parameters());
  const std::vector<Arg> args = boundArguments(launch, memory);
  kernel->launch(loaded.recorded.grid, args);
  milliseconds = kernel->time(loaded.recorded.grid, args, repeats);
  std::sort(milliseconds.begin(), milliseconds.end());
}

} // namespace tessera::cases
