// trainer/loop/KernelTexts.cpp - copies of the kernel files of a run.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/loop/KernelTexts.h"

#include "support/Error.h"
#include "support/File.h"
#include "support/Hash.h"
#include "trainer/checkpoint/CheckpointFolder.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace fs = std::filesystem;

namespace tessera::trainer {
namespace {

/// Returns the last `parts` components of a path.
std::string pathEnd(const fs::path &path, int parts) {
  std::vector<fs::path> all(path.begin(), path.end());
  if (!all.empty() && all.front().is_absolute())
    all.erase(all.begin());
  fs::path result;
  for (size_t i = all.size() - std::min(all.size(), size_t(parts));
       i < all.size(); ++i)
    result /= all[i];
  return result.string();
}

constexpr const char *sumsFile = "SHA256SUMS";

/// True if `all` has the file with the same text, possibly in another folder.
bool hasFile(const std::map<std::string, std::string> &all,
             const std::string &name, const std::string &sum) {
  return std::any_of(all.begin(), all.end(), [&](const auto &other) {
    return other.second == sum &&
           fs::path(other.first).filename() == fs::path(name).filename();
  });
}

} // namespace

KernelTexts kernelTexts(const std::vector<models::KernelFile> &files) {
  KernelTexts texts;
  for (const models::KernelFile &file : files) {
    int parts = 2;
    const auto shared = [&](const models::KernelFile &other) {
      return other.path != file.path &&
             pathEnd(other.path, parts) == pathEnd(file.path, parts);
    };
    constexpr int most = 64; // more components than any real path has
    while (parts < most && std::any_of(files.begin(), files.end(), shared))
      ++parts;
    texts[pathEnd(file.path, parts)] = file.text;
  }
  return texts;
}

std::map<std::string, std::string> kernelSums(const KernelTexts &texts) {
  std::map<std::string, std::string> sums;
  for (const auto &[name, text] : texts)
    sums[name] = sha256Hex(text);
  return sums;
}

std::string kernelChange(const std::map<std::string, std::string> &before,
                         const std::map<std::string, std::string> &now) {
  std::string text;
  const auto add = [&](const std::string &name, const char *what) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, what);
  };
  for (const auto &[name, sum] : now)
    if (!hasFile(before, name, sum))
      add(name, before.count(name) ? "has changed" : "is new");
  for (const auto &[name, sum] : before)
    if (!now.count(name) && !hasFile(now, name, sum))
      add(name, "is not used any more");
  return text;
}

void requireSameKernelFiles(const KernelTexts &texts, DataParallel &parallel) {
  if (parallel.size() == 1)
    return;
  const nlohmann::json own = {{"node", parallel.node()},
                              {"sums", kernelSums(texts)}};
  nlohmann::json first;
  int64_t rank = 0;
  for (const std::string &text : parallel.fromAll(own.dump())) {
    const auto told = nlohmann::json::parse(text);
    if (rank == 0)
      first = told;
    std::string different;
    for (const auto &[name, sum] : told["sums"].items())
      if (first["sums"].contains(name) && first["sums"][name] != sum)
        different += (different.empty() ? "" : ", ") + name;
    if (!different.empty())
      throw Error(fmt::format("process {} on node {} has other texts of kernel "
                              "files than process 0 on node {}: {}",
                              rank, told["node"].get<std::string>(),
                              first["node"].get<std::string>(), different),
                  "copy the files of one node to the others, or start all from "
                  "a shared folder");
    ++rank;
  }
}

std::string keptCopy(const fs::path &folder, const std::string &file) {
  if (file.empty())
    return {};
  const fs::path path = fs::absolute(file).lexically_normal();
  const int most = int(std::distance(path.begin(), path.end()));
  std::error_code code;
  for (int parts = most; parts >= 2; --parts)
    if (fs::exists(folder / pathEnd(path, parts), code))
      return (folder / pathEnd(path, parts)).string();
  return {};
}

std::string keptKernelFile(const std::string &run, const std::string &file) {
  std::error_code code;
  std::vector<fs::path> steps;
  for (const auto &e : fs::directory_iterator(fs::path(run) / "kernels", code))
    steps.push_back(e.path());
  std::sort(steps.rbegin(), steps.rend());
  for (const fs::path &step : steps)
    if (const std::string kept = keptCopy(fs::absolute(step), file);
        !kept.empty())
      return kept;
  return {};
}

void keepKernels(const std::string &run, int64_t step,
                 const KernelTexts &texts) {
  const fs::path all = fs::path(run) / "kernels";
  const fs::path mine = all / fmt::format("step_{:08}", step);
  // All names have the same length, so they sort in the order of the steps.
  fs::path newest;
  std::vector<fs::path> later;
  std::error_code code;
  for (const fs::directory_entry &e : fs::directory_iterator(all, code))
    if (e.path() < mine)
      newest = std::max(newest, e.path());
    else
      later.push_back(e.path());
  for (const fs::path &folder : later)
    fs::remove_all(folder, code);
  const std::string sums = formatSums(kernelSums(texts));
  if (texts.empty() ||
      (!newest.empty() && tryReadFile(newest / sumsFile) == sums))
    return;
  for (const auto &[name, text] : texts) {
    fs::create_directories((mine / name).parent_path(), code);
    writeFile(mine / name, text);
  }
  writeFile(mine / sumsFile, sums);
}

} // namespace tessera::trainer
