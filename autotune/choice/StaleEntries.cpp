// autotune/choice/StaleEntries.cpp - finds entries of kernels that have changed
// since tuning.
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
    const Constexprs &constexprs,
    std::map<std::string, std::shared_ptr<const language::Program>> &programs) {
  try {
    const std::string file = runtime::findKernelFile(path);
    if (language::isCudaSource(file))
      return runtime::textHash(
          language::makeCudaRequest(file, function, {}, "sm_80").text);
    auto &program = programs[file];
    if (!program)
      program = language::Program::loadFile(file);
    return runtime::textHash(
        language::textWith(*program, function, constexprs));
  } catch (const Error &) {
    return ""; // a launch of the kernel reports the reason
  }
}

std::optional<std::string> hashOf(
    const std::string &kernel, const Constexprs &constexprs,
    std::map<std::string, std::shared_ptr<const language::Program>> &programs) {
  const size_t colon = kernel.rfind(':');
  if (!kernel.starts_with("kernels/") || colon == std::string::npos)
    return std::nullopt;
  return hashOf(kernel.substr(0, colon), kernel.substr(colon + 1), constexprs,
                programs);
}

} // namespace

std::optional<std::string> currentHash(const std::string &kernel) {
  std::map<std::string, std::shared_ptr<const language::Program>> programs;
  return hashOf(kernel, {}, programs);
}

std::vector<StaleEntry> staleEntries(const TuneTable &table) {
  std::map<std::string, std::shared_ptr<const language::Program>> programs;
  // Keyed by kernel and the functions passed to it as constexprs.
  std::map<std::string, std::optional<std::string>> hashes;
  std::vector<StaleEntry> stale;
  for (const TuneEntry &entry : table.entries()) {
    std::string launch = entry.key.kernel;
    for (const auto &[name, value] : entry.key.constexprs)
      if (const auto *encoded = std::get_if<EncodedConstexpr>(&value))
        launch += "\n" + name + "=" + encoded->json;
    auto known = hashes.find(launch);
    if (known == hashes.end())
      known = hashes
                  .emplace(launch, hashOf(entry.key.kernel,
                                          entry.key.constexprs, programs))
                  .first;
    const std::optional<std::string> &hash = known->second;
    if (hash && *hash != entry.key.textHash)
      stale.push_back({entry.key, hash->empty() ? "no such kernel"
                                                : "the kernel has changed"});
  }
  return stale;
}

} // namespace tessera::tune
