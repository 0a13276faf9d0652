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

// A message of a pass about a location in the kernel. Line 0: unknown location.
struct PipelineMessage {
  std::string file;
  uint32_t line = 0;
  uint32_t column = 0;
  std::string text;
};

// Returns a message at the innermost known file location of `location`.
PipelineMessage messageAt(mlir::Location location, std::string text);

// Adds the target-independent clean-up passes.
void addTilePasses(mlir::OpPassManager &passes);

// Runs the passes that `add` adds, then the verifier. Returns the messages of
// the pass that failed; empty on success.
std::vector<PipelineMessage>
runPasses(mlir::ModuleOp module, bool verifyEach,
          const std::function<void(mlir::OpPassManager &)> &add);

// Runs all phases over a module with one kernel. Returns the messages of the
// pass that failed; empty on success. Throws tessera::Error for constructs that
// the CPU back end does not support.
std::vector<PipelineMessage> runCpuPipeline(mlir::ModuleOp module,
                                            const PipelineOptions &options);

// Returns the pass list as text, one phase per line.
std::string cpuPipelineText(const CpuTarget &target);

// Registers the pass tessera-lower-to-loops, for tools.
void registerLoweringPass();

} // namespace tessera::compiler
