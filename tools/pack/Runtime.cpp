// tools/pack/Runtime.cpp - creates a folder that trains on a machine without a
// compiler.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/pack/Runtime.h"

#include "runtime/launch/FindFile.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/Process.h"
#include "tools/commands/TrainProgram.h"
#include "trainer/settings/Config.h"

#include <sstream>

namespace tessera::tools {

namespace fs = std::filesystem;

namespace {

constexpr const char *script = R"sh(#!/bin/sh
# Trains with the kernels of run.tpack: ./train [key=value ...]
# TORCH_LIB: the folder torch/lib of torch )sh" TESSERA_TORCH_VERSION
                               R"sh(; default: that of python3.
here=$(dirname "$(readlink -f "$0")")
torch=${TORCH_LIB:-$(python3 -c 'import os, torch; print(os.path.join(os.path.dirname(torch.__file__), "lib"))')} || {
  echo "train: no torch found. HINT: set TORCH_LIB to the folder torch/lib" >&2
  exit 1
}
LD_LIBRARY_PATH=$here/lib:$torch${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
TESSERA_PACK=${TESSERA_PACK:-$here/run.tpack}
export LD_LIBRARY_PATH TESSERA_PACK
exec "$here/bin/tessera-train" train --config "$here/run.yaml")sh";

// True for libraries of libc, of the compiler's runtime or of torch: every
// machine with torch has them.
bool isThere(const fs::path &library) {
  const std::string path = library.string(), name = library.filename().string();
  for (const char *part : {"/torch/lib/", "/nvidia/"})
    if (path.find(part) != std::string::npos)
      return true;
  for (const char *start : {"libc.", "libm.", "libdl.", "libpthread.", "librt.",
                            "libutil.", "ld-linux", "libstdc++.", "libgcc_s."})
    if (name.starts_with(start))
      return true;
  return false;
}

// Returns the libraries that the loader finds for a program.
std::vector<fs::path> librariesOf(const TrainProgram &program) {
  std::vector<std::string> environment = program.environment;
  environment.push_back("LD_TRACE_LOADED_OBJECTS=1");
  const CommandResult listed =
      runCommand({program.path.string()}, std::chrono::minutes(1), environment);
  std::vector<fs::path> libraries;
  std::istringstream lines(listed.output);
  for (std::string line; std::getline(lines, line);) {
    const size_t arrow = line.find(" => "), end = line.rfind(" (");
    if (arrow == std::string::npos)
      continue;
    if (end == std::string::npos || line[arrow + 4] != '/')
      throw Error(program.path.string() + " lacks a library: " + line,
                  "build it again: scripts/build release");
    libraries.push_back(line.substr(arrow + 4, end - arrow - 4));
  }
  return libraries;
}

std::string quoted(const std::string &word) {
  std::string text = " '";
  for (const char c : word)
    text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

void copyFile(const fs::path &from, const fs::path &to) {
  writeOutput(to, readFile(from));
  fs::permissions(to, fs::status(from).permissions());
}

} // namespace

void writeRuntime(const fs::path &folder, const std::string &config,
                  const std::vector<std::string> &settings,
                  const std::string &pack) {
  const TrainProgram program = findTrainProgram("tessera-train");
  const fs::path kernels = runtime::findFolder("kernels");
  if (kernels.empty())
    throw Error("the kernels are missing next to " + executablePath().string(),
                "install them with the program (cmake --install does)");
  for (const char *inner : {"bin", "lib", "kernels"})
    fs::create_directories(folder / inner);
  copyFile(program.path, folder / "bin" / program.path.filename());
  for (const fs::path &library : librariesOf(program))
    if (!isThere(library))
      copyFile(library, folder / "lib" / library.filename());
  for (const auto &file : fs::recursive_directory_iterator(kernels))
    if (file.is_regular_file() && (file.path().extension() == ".py" ||
                                   file.path().extension() == ".cu")) {
      const fs::path to =
          folder / "kernels" / file.path().lexically_relative(kernels);
      fs::create_directories(to.parent_path());
      copyFile(file.path(), to);
    }
  writeOutput(folder / "run.yaml", readFile(trainer::configPath(config)));
  writeOutput(folder / "run.tpack", pack);
  std::string text = script;
  for (const std::string &setting : settings)
    text += quoted(setting);
  writeOutput(folder / "train", text + " \"$@\"\n");
  fs::permissions(folder / "train",
                  fs::perms::owner_all | fs::perms::group_read |
                      fs::perms::group_exec | fs::perms::others_read |
                      fs::perms::others_exec);
}

} // namespace tessera::tools
