// tools/commands/TrainProgram.cpp - finds the programs that need LibTorch.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/TrainProgram.h"

#include "support/Error.h"
#include "support/File.h"
#include "support/Process.h"
#include "support/Trust.h"

#include <cstdlib>
#include <sstream>

namespace tessera::tools {

namespace fs = std::filesystem;

namespace {

// Returns the version in torch's headers, such as "2.15"; empty without
// headers.
std::string torchVersion(const fs::path &torch) {
  std::istringstream lines(
      tryReadFile(torch / "include/torch/headeronly/version.h").value_or(""));
  std::string major, minor, word, name, value;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    words >> word >> name >> value;
    if (name == "TORCH_VERSION_MAJOR")
      major = value;
    else if (name == "TORCH_VERSION_MINOR")
      minor = value;
  }
  return major.empty() ? "" : major + "." + minor;
}

// Finds torch without an import, which would take seconds.
constexpr const char *askPython =
    "import importlib.util as u, os; s = u.find_spec('torch'); "
    "print(os.path.dirname(s.origin) if s and s.origin else '', end='')";

// Returns the folder of torch: site-packages/torch of a wheel.
fs::path findTorch() {
  const std::string hint = "install torch " TESSERA_TORCH_VERSION
                           " for python3, or set Torch_ROOT to its folder, "
                           "site-packages/torch of a wheel";
  const char *set = std::getenv("Torch_ROOT");
  fs::path torch = set ? set : "";
  if (torch.empty()) {
    const CommandResult said = runCommand(
        {"/usr/bin/env", "python3", "-c", askPython}, std::chrono::seconds(30));
    if (said.status.ok())
      torch = said.output;
  }
  if (torch.empty())
    throw Error("torch was not found: Torch_ROOT is not set, and python3 does "
                "not have torch",
                hint);
  if (!isFile(torch / "lib/libtorch_cpu.so"))
    throw Error(torch.string() +
                    " is not a folder of torch: it has no lib/libtorch_cpu.so",
                hint);
  const std::string version = torchVersion(torch);
  if (version != TESSERA_TORCH_VERSION)
    throw Error("tessera was built for torch " TESSERA_TORCH_VERSION ", and " +
                    torch.string() + " is " +
                    (version.empty() ? "of an unknown version" : version),
                hint);
  return torch;
}

} // namespace

TrainProgram findTrainProgram(const std::string &name) {
  const fs::path folder = executablePath().parent_path();
  TrainProgram found{folder / name, {}};
  const TrustedContext ours = TrustedContext::of(executablePath());
  if (isFile(found.path)) {
    requireTrusted(found.path, found.path.string(), ours);
    return found;
  }
  const fs::path installed = folder.parent_path() / "libexec/tessera";
  if (!isFile(installed / name))
    throw Error(name + " is not there; looked in: " + folder.string() + " " +
                    installed.string(),
                "install the torch part too (the package tessera-torch), or "
                "build the target " +
                    name + " (it needs -DTESSERA_TORCH=ON)");
  std::string libraries = (findTorch() / "lib").string();
  if (const char *others = std::getenv("LD_LIBRARY_PATH"); others && *others)
    libraries += std::string(":") + others;
  found.path = installed / name;
  requireTrusted(found.path, found.path.string(), ours);
  found.environment.push_back("LD_LIBRARY_PATH=" + libraries);
  return found;
}

} // namespace tessera::tools
