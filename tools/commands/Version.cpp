// tools/commands/Version.cpp - tessera version: prints the version and the
// build.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/Command.h"

#include "runtime/Kernel.h"
#include "support/BuildId.h"
#include "support/Error.h"

#include <CLI/CLI.hpp>

#include <cstdio>

namespace tessera::tools {

static int run() {
  std::printf("tessera %s\n", TESSERA_VERSION);
  std::printf("compiler %.16s\n", compilerBuildId());
  try {
    std::printf("target %s\n", hostTarget().c_str());
  } catch (const Error &error) {
    std::printf("target none: %s\n", error.message.c_str());
  }
  return 0;
}

Command addVersion(CLI::App &app) {
  CLI::App *verb = app.add_subcommand(
      "version", "Print the version, the compiler's id and this machine's "
                 "target");
  return {verb, run};
}

} // namespace tessera::tools
