// compiler/Pipeline.h - the pass list, from tile IR to the LLVM dialect.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/CpuTarget.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace mlir {
class Location;
class ModuleOp;
class OpPassManager;
} // namespace mlir

namespace tessera::compiler {

struct PipelineOptions {
  CpuTarget target;
  // Verify the module after each pass, not only at the end of each phase.
  bool verifyEach = false;
  // Called when a phase is done: "tile", "loops", "llvm-dialect".
  std::function<void(std::string_view phase, mlir::ModuleOp module)> onPhase;
};

// What a pass says about a place in the kernel. Line 0: no place is known.
struct PipelineMessage {
  std::string file;
  uint32_t line = 0;
  uint32_t column = 0;
  std::string text;
};

// At the innermost place that `location` knows.
PipelineMessage messageAt(mlir::Location location, std::string text);

// Cleaning up: what holds on every target.
void addTilePasses(mlir::OpPassManager &passes);

// Runs the passes that `add` adds, then the verifier. Gives the messages of the
// pass that failed; none when all is well.
std::vector<PipelineMessage>
runPasses(mlir::ModuleOp module, bool verifyEach,
          const std::function<void(mlir::OpPassManager &)> &add);

// Runs all phases over a module with one kernel. Gives the messages of the pass
// that failed; none when all is well. Throws tessera::Error for what the CPU
// back end does not do.
std::vector<PipelineMessage> runCpuPipeline(mlir::ModuleOp module,
                                            const PipelineOptions &options);

// The pass list as text, one phase a line.
std::string cpuPipelineText(const CpuTarget &target);

// For tools: tessera-lower-to-loops.
void registerLoweringPass();

} // namespace tessera::compiler
