// trainer/checkpoint/CheckpointFolder.cpp - syncs a checkpoint to disk before
// it renames the folder.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/checkpoint/CheckpointFolder.h"

#include "support/Error.h"
#include "support/File.h"
#include "support/Hash.h"
#include "support/ShallowJson.h"
#include "support/Sync.h"

#include <charconv>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>

namespace fs = std::filesystem;

namespace tessera::trainer {
namespace {

constexpr std::string_view stepPrefix = "step_";
constexpr const char *doneFile = "DONE";

/// Returns the SHA-256 of a file in hexadecimal digits; nullopt if it cannot be
/// read.
std::optional<std::string> fileHash(const fs::path &path) {
  // open() of a FIFO would block until a writer opens it.
  std::error_code code;
  if (!fs::is_regular_file(path, code))
    return std::nullopt;
  std::ifstream in(path, std::ios::binary);
  std::vector<char> piece(1 << 20);
  Sha256 hash;
  while (in) {
    in.read(piece.data(), std::streamsize(piece.size()));
    hash.update({piece.data(), size_t(in.gcount())});
  }
  if (!in.eof())
    return std::nullopt;
  return toHex(hash.finish());
}

/// True if state.json has version 1, which has no checksums.
bool withoutSums(const fs::path &checkpoint) {
  const auto text = tryReadFile(checkpoint / "state.json");
  if (!text)
    return false;
  const auto state = parseShallowJson(*text);
  return state.is_object() && state.contains("step") &&
         !state.contains("format");
}

[[noreturn]] void cannot(const char *what, const fs::path &path,
                         const std::string &why) {
  throw Error(fmt::format("cannot {} {}: {}", what, path.string(), why),
              "check the space and rights of the run folder; the checkpoints "
              "before are untouched");
}

/// Syncs a folder, so that the names of its entries are on disk.
void sync(const fs::path &folder) {
  if (const int error = syncFolder(folder))
    cannot("sync", folder, errnoText(error));
}

} // namespace

fs::path checkpointPath(const std::string &run, int64_t step) {
  return fs::path(run) / "ckpt" / fmt::format("{}{:08}", stepPrefix, step);
}

std::map<int64_t, fs::path> listCheckpoints(const std::string &run) {
  std::map<int64_t, fs::path> found;
  std::error_code code;
  for (const fs::directory_entry &e :
       fs::directory_iterator(fs::path(run) / "ckpt", code)) {
    const std::string name = e.path().filename().string();
    int64_t step = 0;
    const char *end = name.data() + name.size();
    if (!name.starts_with(stepPrefix))
      continue;
    const auto [stop, error] =
        std::from_chars(name.data() + stepPrefix.size(), end, step);
    if (error == std::errc() && stop == end && step >= 0)
      found[step] = e.path();
  }
  return found;
}

std::optional<std::map<std::string, std::string>>
parseSums(std::string_view text) {
  std::map<std::string, std::string> sums;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos || end < 67 ||
        text.find_first_not_of("0123456789abcdef") != 64 ||
        text.substr(64, 2) != "  ")
      return std::nullopt;
    const fs::path name = text.substr(66, end - 66);
    if (name.is_absolute() || name.lexically_normal().string() != name ||
        *name.begin() == "..")
      return std::nullopt;
    sums[name.string()] = text.substr(0, 64);
    text.remove_prefix(end + 1);
  }
  return sums;
}

std::string formatSums(const std::map<std::string, std::string> &sums) {
  std::string text;
  for (const auto &[name, sum] : sums)
    text += fmt::format("{}  {}\n", sum, name);
  return text;
}

std::string faultOf(const fs::path &checkpoint) {
  const auto done = tryReadFile(checkpoint / doneFile);
  if (!done)
    return "DONE is missing";
  const auto sums = parseSums(*done);
  if (!sums)
    return "DONE is damaged";
  if (sums->empty())
    return withoutSums(checkpoint) ? "" : "DONE is empty";
  for (const char *name :
       {"model.safetensors", "optimizer.safetensors", "state.json"})
    if (!sums->count(name))
      return fmt::format("DONE does not name {}", name);
  for (const auto &[name, sum] : *sums) {
    const auto now = fileHash(checkpoint / name);
    if (!now)
      return fmt::format("{} cannot be read", name);
    if (*now != sum)
      return fmt::format("{} is damaged (its SHA-256 is not that of DONE)",
                         name);
  }
  return {};
}

UnfinishedCheckpoint::UnfinishedCheckpoint(const std::string &run, int64_t step)
    : final(checkpointPath(run, step)), building(final.string() + ".tmp") {
  // Left by a run that was killed while it wrote or removed a checkpoint.
  std::error_code code;
  std::vector<fs::path> unfinished;
  for (const fs::directory_entry &e :
       fs::directory_iterator(final.parent_path(), code))
    if (e.path().filename().string().starts_with(stepPrefix) &&
        e.path().extension() == building.extension())
      unfinished.push_back(e.path());
  for (const fs::path &path : unfinished)
    fs::remove_all(path, code);
  fs::create_directories(building, code);
  if (code)
    cannot("make", building, code.message());
}

UnfinishedCheckpoint::~UnfinishedCheckpoint() {
  std::error_code ignored;
  if (!committed)
    fs::remove_all(building, ignored);
}

void UnfinishedCheckpoint::add(const std::string &name,
                               std::string_view bytes) {
  const fs::path path = building / name;
  std::error_code code;
  fs::create_directories(path.parent_path(), code);
  if (code)
    cannot("make", path.parent_path(), code.message());
  writeFile(path, bytes);
  sums[name] = sha256Hex(bytes);
  // Syncs the parent folders of nested files, too.
  for (fs::path folder = path.parent_path(); folder != building;
       folder = folder.parent_path())
    sync(folder.parent_path());
}

void UnfinishedCheckpoint::commit() {
  writeFile(building / doneFile, formatSums(sums));
  sync(building);
  std::error_code code;
  if (fs::exists(final, code)) {
    if (faultOf(final).empty())
      return;
    fs::remove_all(final, code);
  }
  fs::rename(building, final, code);
  if (code)
    cannot("rename", building, code.message());
  committed = true;
  sync(final.parent_path());
  sync(final.parent_path().parent_path());
}

void pruneCheckpoints(const std::string &run, int64_t keep,
                      int64_t milestones) {
  std::map<int64_t, fs::path> all = listCheckpoints(run);
  // The newest ones count towards `keep`, whether milestones or not.
  for (int64_t newest = 0; !all.empty() && newest < keep; ++newest)
    all.erase(std::prev(all.end()));
  if (milestones > 0)
    std::erase_if(all,
                  [&](const auto &c) { return c.first % milestones == 0; });
  for (const auto &[step, path] : all) {
    // A partially removed checkpoint must not keep its name.
    const fs::path going = path.string() + ".tmp";
    std::error_code code;
    fs::rename(path, going, code);
    if (!code)
      fs::remove_all(going, code);
  }
}

void setDamagedAside(const fs::path &checkpoint) {
  std::error_code code;
  fs::path aside = checkpoint.string() + ".damaged";
  for (int number = 2; fs::exists(aside, code); ++number)
    aside = fmt::format("{}.damaged-{}", checkpoint.string(), number);
  fs::rename(checkpoint, aside, code);
}

} // namespace tessera::trainer
