// compiler/GpuPipeline.cpp - the pass list of GPU targets as text.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/GpuPipeline.h"

#include "codegen/gpu/passes/PassList.h"
#include "compiler/Pipeline.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/raw_ostream.h"

namespace tessera::compiler {

std::string gpuPipelineText(const GpuTarget &target) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  mlir::OpPassManager tile("builtin.module"), layout("builtin.module");
  addTilePasses(tile);
  codegen::gpu::GpuOptions options;
  options.target = target;
  codegen::gpu::addLayoutPasses(layout, options);
  stream << "tile: ";
  tile.printAsTextualPipeline(stream);
  stream << "\nlayout: ";
  layout.printAsTextualPipeline(stream);
  stream << "\nlower: functions, LLVM IR (codegen/gpu/lower)\n"
            "optimize: LLVM's O3 without vectorizers\n"
            "emit: NVPTX for "
         << target.name << "\nptxas: a cubin\n";
  return text;
}

} // namespace tessera::compiler
