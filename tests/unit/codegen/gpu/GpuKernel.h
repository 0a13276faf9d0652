// tests/unit/codegen/gpu/GpuKernel.h - tile IR as text, run on the simulator.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/gpu/emit/Ptx.h"
#include "codegen/gpu/kernel/Warps.h"
#include "codegen/gpu/lower/Lower.h"
#include "codegen/gpu/passes/PassList.h"
#include "codegen/gpu/passes/Passes.h"
#include "dialect/tile/TileDialect.h"
#include "simulator/Sim.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace tessera {

struct GpuKernelOptions {
  int numWarps = 4;
  int numStages = 3;
  std::string target = "sm_80";
  // Run the layout passes; off for IR that has layouts already.
  bool assignLayouts = true;
};

/// An argument: memory with its bounds, or a number.
struct GpuArg {
  template <typename T>
  GpuArg(std::vector<T> &memory)
      : address(memory.data()), bytes(memory.size() * sizeof(T)) {}
  GpuArg(int32_t value) : number(uint32_t(value)) {}
  GpuArg(int64_t value) : number(uint64_t(value)) {}
  GpuArg(float value) { std::memcpy(&number, &value, sizeof value); }

  void *address = nullptr;
  uint64_t bytes = 0, number = 0;
};

class GpuKernel {
public:
  explicit GpuKernel(const std::string &text, const GpuKernelOptions &how = {})
      : how(how) {
    mlir::DialectRegistry registry;
    registry.insert<tile::TileDialect, mlir::arith::ArithDialect,
                    mlir::math::MathDialect, mlir::scf::SCFDialect,
                    mlir::func::FuncDialect>();
    mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    if (!module)
      throw std::runtime_error("the test's tile IR does not parse");
    compile(*module);
  }
  GpuKernel(mlir::ModuleOp module, const GpuKernelOptions &how) : how(how) {
    compile(module);
  }

  /// Runs a grid with every check of the simulator on; throws what it finds.
  sim::Report run(std::vector<uint32_t> grid, const std::vector<GpuArg> &args) {
    sim::Report report = tryRun(std::move(grid), args);
    report.throwIfBad();
    return report;
  }

  /// The same; what the kernel does wrong is in the report.
  sim::Report tryRun(std::vector<uint32_t> grid,
                     const std::vector<GpuArg> &args) {
    grid.resize(3, 1);
    auto loaded = sim::Module::load(ptx, "kernel.ptx");
    std::vector<uint32_t> sizes = loaded.parameterBytes(name);
    if (sizes.size() != args.size())
      throw std::runtime_error("the kernel has " +
                               std::to_string(sizes.size()) + " parameters");
    sim::Memory memory;
    std::vector<sim::Param> params;
    for (size_t i = 0; i < args.size(); ++i) {
      if (args[i].address)
        memory.add("arg" + std::to_string(i), args[i].address, args[i].bytes);
      uint64_t bits = args[i].address
                          ? reinterpret_cast<uint64_t>(args[i].address)
                          : args[i].number;
      sim::Param param = sim::scalar(bits);
      param.bytes.resize(sizes[i]);
      params.push_back(param);
    }
    return loaded.launch(name, {grid[0], grid[1], grid[2]},
                         {uint32_t(numWarps * 32), 1, 1}, sharedBytes, params,
                         memory);
  }

  std::string name, layoutText, llvmText, ptx;
  uint32_t sharedBytes = 0;
  int numWarps = 0; // of a block

private:
  void compile(mlir::ModuleOp module) {
    codegen::gpu::GpuOptions options;
    options.target = GpuTarget::parse(how.target);
    options.numWarps = how.numWarps;
    options.numStages = how.numStages;
    mlir::PassManager passes(module.getContext());
    if (how.assignLayouts) {
      codegen::gpu::addLayoutPasses(passes, options);
    } else {
      passes.addPass(codegen::gpu::createDotInstructionsPass());
      codegen::gpu::addMemoryPasses(passes, options);
    }
    if (mlir::failed(passes.run(module)))
      throw std::runtime_error("the layout passes failed");
    llvm::raw_string_ostream(layoutText) << *module;
    llvm::LLVMContext context;
    auto code = codegen::gpu::lowerToLlvm(module, context, options);
    sharedBytes = uint32_t(
        module->getAttrOfType<mlir::IntegerAttr>(codegen::gpu::kSharedBytesAttr)
            .getInt());
    numWarps = codegen::gpu::withWarpsOf(module, options).numWarps;
    name = (*module.getOps<mlir::func::FuncOp>().begin()).getName().str();
    llvm::raw_string_ostream(llvmText) << *code;
    codegen::gpu::PtxOptions ptxOptions;
    ptxOptions.target = options.target;
    ptxOptions.entry = name;
    ptx = codegen::gpu::emitPtx(*code, ptxOptions).ptx;
  }

  GpuKernelOptions how;
};

/// For tile IR whose tensors have layouts already.
inline GpuKernelOptions laidOut(int warps) {
  GpuKernelOptions how;
  how.numWarps = warps;
  how.assignLayouts = false;
  return how;
}

} // namespace tessera
