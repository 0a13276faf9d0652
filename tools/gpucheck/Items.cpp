// tools/gpucheck/Items.cpp - what tessera-gpu-check has to do.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/gpucheck/GpuCheck.h"

#include "replay/packed/PackedTuning.h"
#include "support/Error.h"

#include <algorithm>

namespace tessera::gpucheck {

namespace fs = std::filesystem;

std::vector<fs::path> casesOf(const Options &options) {
  std::vector<fs::path> folders;
  for (const fs::path &folder : cases::findCases(options.folder))
    if (fs::absolute(folder).lexically_normal().filename().string().find(
            options.only) != std::string::npos)
      folders.push_back(folder);
  if (folders.empty())
    throw Error("no case in " + options.folder + " has `" + options.only +
                    "` in its name",
                "leave out --only");
  for (const fs::path &folder : folders)
    if (cases::packedTargets(folder).empty())
      throw Error(folder.string() + " has no gpu.json, so no code",
                  "make it with tessera pack-cases");
  return folders;
}

std::vector<Item> itemsOf(const Options &options) {
  const auto wanted = [&](Kind kind) {
    return options.phases.empty() ||
           std::find(options.phases.begin(), options.phases.end(),
                     kindNames[size_t(kind)]) != options.phases.end();
  };
  const std::vector<fs::path> folders = casesOf(options);
  const fs::path root = options.folder;
  std::vector<Item> items;
  // Results are compared whatever else is wanted: what is wrong is not timed.
  for (const fs::path &folder : folders)
    items.push_back({Kind::Check, folder, folder.filename().string()});
  if (wanted(Kind::Tune))
    for (const fs::path &folder : folders)
      if (!cases::tuningTargets(folder).empty())
        items.push_back({Kind::Tune, folder, folder.filename().string()});
  if (wanted(Kind::Time) && options.launches.timed)
    for (const fs::path &folder : folders)
      items.push_back({Kind::Time, folder, folder.filename().string()});
  if (wanted(Kind::Peers) && fs::exists(root / "peers.py"))
    items.push_back({Kind::Peers, root, "torch"});
  if (wanted(Kind::Calibrate) && fs::exists(root / "devices.json"))
    for (const std::string &name : figureNames())
      items.push_back({Kind::Calibrate, root, name});
  return items;
}

} // namespace tessera::gpucheck
