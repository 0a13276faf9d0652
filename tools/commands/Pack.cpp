// tools/commands/Pack.cpp - tessera pack CASE... -o FOLDER.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/Command.h"

#include "compiler/syntax/Request.h"
#include "runtime/cases/Packed.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/GpuTarget.h"
#include "support/Options.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <cstdlib>
#include <memory>

namespace tessera::tools {

namespace fs = std::filesystem;

namespace {

struct Options {
  std::vector<std::string> cases, targets = {"sm_80", "sm_90"};
  std::string out = "packed";
};

syntax::CompileRequest requestFor(const cases::PreparedLaunch &launch,
                                  const std::string &target) {
  ::setenv(optionInfo(Option::F32Default).name, launch.f32Default.c_str(), 1);
  LaunchOptions options = launch.options;
  options.device = "sim:" + target;
  auto request =
      launch.kernel->compileRequest(launch.args, launch.constexprs, options);
  request.assembler.clear(); // with a cubin where there is a ptxas
  return request;
}

// Whether all targets were packed.
bool packCase(const fs::path &from, const Options &options) {
  const std::string name = from.lexically_normal().filename().string();
  try {
    const cases::LoadedCase loaded = cases::loadCase(from);
    const cases::PreparedLaunch launch = cases::prepareLaunch(loaded);
    const fs::path to = fs::path(options.out) / loaded.folderName();
    std::error_code error;
    fs::create_directories(to, error);
    for (const std::string &file :
         {std::string("case.json"), loaded.recorded.kernelFile,
          std::string("before.safetensors"), std::string("after.safetensors")})
      writeFile(to / file, readFile(from / file));
    for (const std::string &target : options.targets) {
      const auto compiled =
          runtime::CompileService::instance().get(requestFor(launch, target));
      cases::packCode(to, target, *compiled);
      std::printf("%-32s %s%s\n", name.c_str(), target.c_str(),
                  compiled->code.empty() ? ", PTX only" : "");
    }
    return true;
  } catch (const Error &failed) {
    std::fprintf(stderr, "%s: %s\n", name.c_str(), failed.what());
    return false;
  }
}

int run(const Options &options) {
  for (const std::string &target : options.targets)
    GpuTarget::parse(target);
  std::vector<fs::path> folders;
  for (const std::string &path : options.cases)
    for (const fs::path &folder : cases::findCases(path))
      folders.push_back(folder);
  size_t failed = 0;
  for (const fs::path &folder : folders)
    failed += !packCase(folder, options);
  std::printf("%zu of %zu cases in %s; run them where a GPU is: "
              "tessera-gpu-check %s\n",
              folders.size() - failed, folders.size(), options.out.c_str(),
              options.out.c_str());
  return failed ? 1 : 0;
}

} // namespace

Command addPack(CLI::App &app) {
  auto options = std::make_shared<Options>();
  CLI::App *verb =
      app.add_subcommand("pack", "Put compiled GPU code beside recorded cases");
  verb->add_option("case", options->cases,
                   "folder with case.json, or a folder of such folders")
      ->required();
  verb->add_option("-o,--out", options->out, "folder that gets the cases")
      ->capture_default_str();
  verb->add_option("--target", options->targets, "sm_80,sm_90 ...")
      ->delimiter(',')
      ->capture_default_str();
  verb->footer(
      "Examples:\n"
      "  tessera record --config configs/sim_smoke.yaml --out cases\n"
      "  tessera pack cases -o packed\n"
      "  tessera-gpu-check packed --json result.json\n\n"
      "The folder needs nothing but tessera-gpu-check and an NVIDIA driver; "
      "docs/gpu-check.md.");
  return {verb, [options] { return run(*options); }};
}

} // namespace tessera::tools
