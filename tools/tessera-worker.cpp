// tools/tessera-worker.cpp - the process that compiles kernels for the runtime.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/GpuPipeline.h"
#include "compiler/Pipeline.h"
#include "compiler/Worker.h"
#include "support/BuildId.h"
#include "support/Error.h"

#include <cstdio>
#include <cstring>
#include <fcntl.h>

// The runtime starts this program and communicates over two descriptors.
// Options for users: --selftest compiles and runs a kernel, --version prints
// the build, --pipeline prints the pass list for this machine or for a GPU.
int main(int argc, char **argv) {
  if (argc == 2 && std::strcmp(argv[1], "--selftest") == 0)
    return tessera::compiler::workerSelfTest();
  if (argc == 2 && std::strcmp(argv[1], "--version") == 0) {
    std::puts(tessera::compilerBuildId());
    return 0;
  }
  if (argc == 2 && std::strcmp(argv[1], "--pipeline") == 0) {
    auto target = tessera::CpuTarget::host().value_or(tessera::CpuTarget());
    std::fputs(tessera::compiler::cpuPipelineText(target).c_str(), stdout);
    return 0;
  }
  if (argc == 3 && std::strcmp(argv[1], "--pipeline") == 0) {
    try {
      std::fputs(
          tessera::compiler::gpuPipelineText(tessera::GpuTarget::parse(argv[2]))
              .c_str(),
          stdout);
      return 0;
    } catch (const tessera::Error &error) {
      std::fprintf(stderr, "%s\n", error.what());
      return 1;
    }
  }
  if (argc != 1 || fcntl(3, F_GETFD) < 0 || fcntl(4, F_GETFD) < 0) {
    std::fputs("tessera-worker is started by programs that run kernels.\n"
               "usage: tessera-worker --selftest | --version | "
               "--pipeline [sm_80]\n",
               stderr);
    return 2;
  }
  return tessera::compiler::workerMain();
}
