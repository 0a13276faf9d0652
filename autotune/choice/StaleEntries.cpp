// autotune/choice/StaleEntries.cpp - entries of kernels that have changed
// since.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/choice/StaleEntries.h"

#include "language/CudaSource.h"
#include "language/Expand.h"
#include "runtime/launch/FindFile.h"
#include "runtime/launch/KernelName.h"
#include "support/Error.h"

#include <map>

namespace tessera::tune {

namespace {

std::string hashOf(
    const std::string &path, const std::string &function,
    std::map<std::string, std::shared_ptr<const language::Program>> &programs) {
  try {
    const std::string file = runtime::findKernelFile(path);
    if (language::isCudaSource(file))
      return runtime::textHash(
          language::makeCudaRequest(file, function, {}, "sm_80").text);
    auto &program = programs[file];
    if (!program)
      program = language::Program::loadFile(file);
    return runtime::textHash(language::makeRequest(*program, function).text);
  } catch (const Error &) {
    return ""; // the launch that needs it says why
  }
}

std::optional<std::string> hashOf(
    const std::string &kernel,
    std::map<std::string, std::shared_ptr<const language::Program>> &programs) {
  const size_t colon = kernel.rfind(':');
  if (!kernel.starts_with("kernels/") || colon == std::string::npos)
    return std::nullopt;
  return hashOf(kernel.substr(0, colon), kernel.substr(colon + 1), programs);
}

} // namespace

std::optional<std::string> currentHash(const std::string &kernel) {
  std::map<std::string, std::shared_ptr<const language::Program>> programs;
  return hashOf(kernel, programs);
}

std::vector<StaleEntry> staleEntries(const TuneTable &table) {
  std::map<std::string, std::shared_ptr<const language::Program>> programs;
  std::map<std::string, std::optional<std::string>> hashes;
  std::vector<StaleEntry> stale;
  for (const TuneEntry &entry : table.entries()) {
    auto known = hashes.find(entry.key.kernel);
    if (known == hashes.end())
      known =
          hashes.emplace(entry.key.kernel, hashOf(entry.key.kernel, programs))
              .first;
    const std::optional<std::string> &hash = known->second;
    if (hash && *hash != entry.key.textHash)
      stale.push_back({entry.key, hash->empty() ? "there is no such kernel"
                                                : "the kernel has changed"});
  }
  return stale;
}

} // namespace tessera::tune
