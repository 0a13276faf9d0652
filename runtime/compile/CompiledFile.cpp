// runtime/compile/CompiledFile.cpp - compiled kernels as they are kept.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/compile/CompiledFile.h"

#include "language/Remarks.h"
#include "support/GpuTarget.h"

#include <algorithm>

namespace tessera::runtime {

using language::CompileRequest;
using language::CompileResult;

static bool hasStages(const CompileRequest &request,
                      const std::map<std::string, std::string> &stages) {
  return std::all_of(
      request.emit.begin(), request.emit.end(),
      [&](const std::string &stage) { return stages.count(stage) != 0; });
}

// The metadata is the worker's reply less what is stored beside it.
Artifact toKept(const CompileRequest &request, const std::string &buildId,
                const CompiledKernel &kernel) {
  CompileResult result;
  result.ok = true;
  result.meta = kernel.meta;
  result.diagnostics = kernel.remarks;
  Artifact artifact;
  artifact.code = kernel.code;
  artifact.stages = kernel.stages;
  artifact.meta = Json{{"kernel", request.kernel},
                       {"target", request.target},
                       {"configuration", describeConfiguration(request)},
                       {"build", buildId},
                       {"result", parseJson(result.toJson(), "reply")}};
  return artifact;
}

std::shared_ptr<const CompiledKernel> fromKept(Artifact artifact,
                                               const CompileRequest &request) {
  if (!hasStages(request, artifact.stages))
    return nullptr;
  // The PTX of GPU code is always stored (runtime/cache/Artifact.h).
  if (GpuTarget::looksLike(request.target) && !artifact.stages.count("ptx"))
    return nullptr;
  try {
    auto kernel = std::make_shared<CompiledKernel>();
    const auto result =
        CompileResult::fromJson(canonicalJson(artifact.meta.at("result")));
    kernel->meta = result.meta;
    kernel->remarks = language::remarksOf(result);
    kernel->code = std::move(artifact.code);
    kernel->stages = std::move(artifact.stages);
    return kernel;
  } catch (const std::exception &) {
    // Written by another version of the runtime with the same compiler.
    return nullptr;
  }
}

} // namespace tessera::runtime
