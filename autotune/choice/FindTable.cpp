// autotune/choice/FindTable.cpp - finds the tuning table of a device.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/choice/FindTable.h"

#include "autotune/choice/ThisMachine.h"
#include "runtime/launch/FindFile.h"
#include "runtime/pack/Pack.h"
#include "support/Error.h"
#include "support/Log.h"
#include "support/Options.h"

namespace tessera::tune {

namespace fs = std::filesystem;

namespace {

bool isSimulator(const runtime::LaunchDevice &device) {
  return device.name.starts_with("sim:");
}

bool isFor(const DeviceModel &table, const runtime::LaunchDevice &device) {
  if (isSimulator(device))
    return table.target == device.target();
  return fits(table, deviceModel(device));
}

std::optional<FoundTable> named(const fs::path &path,
                                const runtime::LaunchDevice &device) {
  std::error_code ignored;
  fs::path file = path;
  if (fs::is_directory(path, ignored)) {
    file = tableFor(path, deviceModel(device));
    if (file.empty()) {
      logWarning("TESSERA_TUNED=" + path.string() + " has no table for " +
                 describe(deviceModel(device)) + ", " +
                 fileStem(deviceModel(device)) +
                 ".yaml; kernels run with their own configurations");
      return std::nullopt;
    }
  }
  FoundTable found{file.string(), "TESSERA_TUNED", readTable(file)};
  if (isFor(found.table.device, device))
    return found;
  logWarning(
      file.string() + ": none of its " +
      std::to_string(found.table.entries().size()) +
      " tuned configurations is used: it is for " +
      describe(found.table.device) + ", this is " +
      describe(deviceModel(device)) +
      "; make one for it: tessera tune --config RUN.yaml --out TABLE.yaml");
  return std::nullopt;
}

// A pack contains code only for the configurations of its tables.
std::optional<FoundTable> ofPack(const runtime::Pack &pack,
                                 const runtime::LaunchDevice &device) {
  for (const std::string &text : pack.index().tables) {
    FoundTable found{pack.path(), "TESSERA_PACK",
                     parseTable(text, pack.path() + ": table")};
    if (isFor(found.table.device, device))
      return found;
  }
  return std::nullopt;
}

std::optional<FoundTable> ofThisBuild(const runtime::LaunchDevice &device) {
  const fs::path folder = tunedFolder();
  if (folder.empty() || isSimulator(device))
    return std::nullopt;
  const fs::path file = tableFor(folder, deviceModel(device));
  if (file.empty())
    return std::nullopt;
  try {
    FoundTable found{file.string(), "this build", readTable(file)};
    if (isFor(found.table.device, device))
      return found;
  } catch (const Error &error) {
    logWarning("no tuned configurations: " + error.message +
               " (HINT: " + error.hint + ")");
  }
  return std::nullopt;
}

} // namespace

fs::path tunedFolder() { return runtime::findFolder("configs/tuned"); }

// Returns the file with the longest name that is a prefix of `stem`.
static fs::path longestPrefix(const fs::path &folder, const std::string &stem) {
  fs::path best;
  std::error_code error;
  fs::directory_iterator files(folder, error);
  for (; !error && files != fs::directory_iterator(); files.increment(error)) {
    const fs::path &file = files->path();
    const std::string name = file.stem().string();
    if (file.extension() == ".yaml" &&
        name.size() > best.stem().string().size() &&
        (stem + "-").starts_with(name + "-"))
      best = file;
  }
  return best;
}

fs::path tableFor(const fs::path &folder, const DeviceModel &device) {
  if (fs::path found = longestPrefix(folder, fileStem(device)); !found.empty())
    return found;
  // Earlier versions named tables after the name alone.
  const size_t numbers = device.name.find(" family ");
  if (numbers == std::string::npos)
    return {};
  DeviceModel former = device;
  former.name.resize(numbers);
  return longestPrefix(folder, fileStem(former));
}

std::optional<FoundTable> findTable(const runtime::LaunchDevice &device) {
  const std::string set = optionText(Option::Tuned);
  if (set == "none")
    return std::nullopt;
  if (!set.empty())
    return named(set, device);
  if (const runtime::Pack *pack = runtime::environmentPack())
    return ofPack(*pack, device);
  return ofThisBuild(device);
}

std::string renewalCommand(const TuneTable &table, const std::string &path) {
  if (!table.provenance.command.empty())
    return table.provenance.command;
  return "tessera tune --config RUN.yaml --out " + path;
}

} // namespace tessera::tune
