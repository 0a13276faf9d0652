// tools/pack/Make.cpp - compiles the contents of a pack.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/pack/Make.h"

#include "language/CudaSource.h"
#include "language/Manifest.h"
#include "runtime/compile/CompiledFile.h"
#include "runtime/launch/FindFile.h"
#include "runtime/pack/PackFile.h"
#include "support/BuildId.h"
#include "support/CudaTools.h"
#include "support/GpuTarget.h"
#include "support/Log.h"

#include <filesystem>
#include <map>
#include <set>

namespace tessera::tools {

namespace fs = std::filesystem;
using language::CompileRequest;

namespace {

// Returns each request once, sorted by kernel, target and key, so that the same
// run gives the same pack.
std::vector<CompileRequest> allRequests(const PackJob &job) {
  std::map<std::string, CompileRequest> all;
  const auto add = [&](const std::string &target, const std::string &table) {
    logInfo("listing what " + job.source.name() + " launches on " + target +
            (table == "none" ? "" : " with " + table));
    for (CompileRequest &request : listLaunches(job.source, target, table)) {
      const std::string order =
          request.kernel + " " + request.target + " " + request.key();
      all.emplace(order, std::move(request));
    }
  };
  for (const std::string &target : job.targets) {
    add(target, "none");
    for (const PackTable &table : job.tables)
      if (table.table.device.target == target)
        add(target, table.path);
  }
  std::vector<CompileRequest> requests;
  for (auto &[order, request] : all)
    requests.push_back(std::move(request));
  return requests;
}

// Returns the name that launches use, which does not contain a path of this
// machine.
std::string fileName(const std::string &file) {
  const std::string ours = runtime::nameAmongOurs(file);
  return ours.empty() ? fs::path(file).filename().string() : ours;
}

runtime::PackKernel kernelOf(const CompileRequest &request) {
  runtime::PackKernel kernel;
  kernel.file = fileName(request.file);
  kernel.name = request.kernel;
  kernel.text = sha256Hex(request.text);
  kernel.manifest = Json::object();
  if (!language::isCudaSource(request.file)) {
    kernel.manifest = parseJson(
        language::manifestJson(*language::Program::loadFile(request.file)),
        "manifest");
    kernel.manifest["file"] = kernel.file;
  }
  return kernel;
}

} // namespace

std::string makePack(const PackJob &job) {
  const std::vector<CompileRequest> requests = allRequests(job);
  const auto compiled = runtime::CompileService::instance().getAll(requests);
  runtime::PackIndex index;
  index.version = job.version;
  index.commit = job.commit;
  index.compiler = compilerBuildId();
  index.command = job.command;
  for (const PackTable &table : job.tables)
    index.tables.push_back(tune::printTable(table.table));
  std::map<std::pair<std::string, std::string>, uint64_t> known;
  std::vector<runtime::Artifact> artifacts;
  for (size_t i = 0; i < requests.size(); ++i) {
    const CompileRequest &request = requests[i];
    const auto [place, isNew] =
        known.try_emplace({request.kernel, request.text}, index.kernels.size());
    if (isNew)
      index.kernels.push_back(kernelOf(request));
    runtime::PackEntry entry;
    entry.request = request.key();
    entry.kernel = place->second;
    entry.target = request.target;
    entry.configuration = runtime::describeConfiguration(request);
    if (GpuTarget::looksLike(request.target) && !compiled[i]->code.empty())
      if (const auto ptxas = findPtxas({}, nullptr))
        entry.assembler = ptxas->version;
    index.entries.push_back(std::move(entry));
    artifacts.push_back(runtime::toKept(request, index.compiler, *compiled[i]));
  }
  return runtime::encodePack(std::move(index), artifacts);
}

} // namespace tessera::tools
