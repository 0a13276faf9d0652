// runtime/compile/Stages.cpp - stages written for people, and read back edited.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/compile/Stages.h"

#include "language/CudaSource.h"
#include "runtime/compile/CompileService.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/GpuTarget.h"
#include "support/Hash.h"
#include "support/Json.h"
#include "support/Log.h"
#include "support/Trust.h"

#include <algorithm>
#include <optional>

namespace tessera::runtime {

namespace fs = std::filesystem;
using language::CompileRequest;
using language::StageOverride;

namespace {

struct StageFile {
  const char *stage;
  const char *file;
};

// In pipeline order. `loops` and `asm` belong to CPU targets, `layout` and
// `ptx` to GPU targets.
constexpr StageFile stageFiles[] = {
    {"tile", "01-tile.mlir"},     {"loops", "02-loops.mlir"},
    {"layout", "02-layout.mlir"}, {"llvm", "03-llvm.ll"},
    {"asm", "04-asm.s"},          {"ptx", "06-kernel.ptx"}};
constexpr const char *reportFile = "05-report.json";
constexpr const char *requestFile = "00-request.json";

std::string fileOf(const std::string &stage) {
  for (const StageFile &known : stageFiles)
    if (stage == known.stage)
      return known.file;
  return "06-" + stage + ".txt";
}

Json reportOf(const CompileRequest &request, const CompiledKernel &kernel) {
  Json hashes = Json::object();
  for (const auto &[stage, text] : kernel.stages)
    hashes[stage] = sha256Hex(text);
  return {{"kernel", request.kernel},
          {"configuration", describeConfiguration(request)},
          {"target", request.target},
          {"code_bytes", kernel.code.size()},
          {"code_sha256", sha256Hex(kernel.code)},
          {"scratch_bytes", kernel.meta.scratchBytes},
          {"stages", hashes},
          {"edited", kernel.meta.edited}};
}

// Returns the hash of a stage in the folder's dump report. Returns an empty
// string if the report lacks it, or if the dumped stage was itself edited.
std::string dumpedHash(const fs::path &folder, const std::string &stage) {
  const auto text = tryReadFile(folder / reportFile);
  if (!text)
    return "";
  const Json report = parseJson(*text, (folder / reportFile).string());
  if (!report.is_object() || !report.contains("stages"))
    return "";
  for (const Json &edited : report.value("edited", Json::array()))
    if (edited == stage)
      return "";
  return memberOr<std::string>(report["stages"], stage.c_str(), "", "report");
}

} // namespace

std::vector<std::string> dumpStageNames(const std::string &target) {
  if (GpuTarget::looksLike(target))
    return {"tile", "layout", "llvm"};
  return {"tile", "loops", "llvm", "asm"};
}

std::string dumpFolderName(const CompileRequest &request) {
  return request.kernel + "-" + sha256Hex(request.key()).substr(0, 8);
}

void dumpStages(const fs::path &dump, const CompileRequest &request,
                const CompiledKernel &kernel) {
  const fs::path folder = dump / dumpFolderName(request);
  try {
    fs::create_directories(folder);
    writeFile(folder / requestFile, request.toJson());
    for (const auto &[stage, text] : kernel.stages)
      writeFile(folder / fileOf(stage), text);
    writeFile(folder / reportFile, reportOf(request, kernel).dump(2) + "\n");
  } catch (const std::exception &error) {
    warnOnce("dump", std::string("TESSERA_DUMP: ") + error.what());
  }
}

std::vector<StageOverride> readOverrides(const fs::path &overrides,
                                         const CompileRequest &request) {
  std::error_code ignored;
  if (!fs::is_directory(overrides, ignored))
    throw Error("TESSERA_OVERRIDE=" + overrides.string() + " is not a folder",
                "write one with TESSERA_DUMP=" + overrides.string() +
                    " and edit a stage in it");
  fs::path folder = overrides / dumpFolderName(request);
  if (!fs::is_directory(folder, ignored))
    folder = overrides / request.kernel;
  std::vector<StageOverride> result;
  for (const StageFile &known : stageFiles) {
    const fs::path path = folder / known.file;
    if (!fs::exists(path, ignored) || (std::string_view(known.stage) == "ptx" &&
                                       language::isCudaSource(request.file)))
      continue;
    requireTrusted(path, "the edited stage " + path.string());
    std::string text = readFile(path);
    if (sha256Hex(text) == dumpedHash(folder, known.stage))
      continue;
    result.push_back({known.stage, path.string(), std::move(text)});
  }
  return result;
}

} // namespace tessera::runtime
