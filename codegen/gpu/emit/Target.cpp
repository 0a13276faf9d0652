// codegen/gpu/emit/Target.cpp - creates LLVM's NVPTX target machines.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/emit/Target.h"

#include "support/Error.h"

#include "llvm/IR/Metadata.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/TargetParser/Triple.h"

#include <map>
#include <memory>
#include <mutex>

namespace tessera::codegen::gpu {
namespace {

const char *const tripleText = "nvptx64-nvidia-cuda";

// Gives pointers to shared, constant and local memory 32 bits. The NVPTX back
// end has only a command-line option for it and reads the option when it
// creates a target machine. Linking with lld resets the option.
bool setShortPointers() {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  auto &known = llvm::cl::getRegisteredOptions();
  auto found = known.find("nvptx-short-ptr");
  return found != known.end() &&
         !found->second->addOccurrence(1, "nvptx-short-ptr", "true",
                                       /*MultiArg=*/true);
}

const llvm::Target &nvptx() {
  static std::once_flag once;
  static const llvm::Target *target = nullptr;
  static std::string error;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    target =
        llvm::TargetRegistry::lookupTarget(llvm::Triple(tripleText), error);
  });
  if (!target)
    throw Error("this LLVM has no NVPTX back end that can be used: " + error,
                "install the libmlir-22 packages that scripts/setup names");
  return *target;
}

} // namespace

llvm::TargetMachine &gpuTargetMachine(const GpuTarget &target) {
  thread_local std::map<std::string, std::unique_ptr<llvm::TargetMachine>>
      machines;
  auto &machine = machines[target.name];
  if (!machine) {
    llvm::TargetOptions options;
    options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
    options.ExceptionModel = llvm::ExceptionHandling::None;
    options.MCOptions.AsmVerbose = false;
    // The level is Default. Aggressive adds two runs of GVN, which take half of
    // the time of large kernels and find nothing after the optimizer.
    const llvm::Target &backEnd = nvptx();
    if (!setShortPointers())
      throw Error("this LLVM's NVPTX back end has no option nvptx-short-ptr",
                  "install the libmlir-22 packages that scripts/setup names");
    machine.reset(backEnd.createTargetMachine(
        llvm::Triple(tripleText), target.name,
        "+ptx" + std::to_string(target.ptxVersion), options, llvm::Reloc::PIC_,
        std::nullopt, llvm::CodeGenOptLevel::Default));
    if (!machine)
      throw Error("LLVM cannot generate code for " + target.name,
                  "choose another target");
  }
  return *machine;
}

void prepareGpuModule(llvm::Module &module, const GpuTarget &target) {
  module.setTargetTriple(llvm::Triple(tripleText));
  module.setDataLayout(gpuTargetMachine(target).createDataLayout());
  // Without this flag, LLVM's reader of textual IR drops the debug locations.
  if (!module.getModuleFlag("Debug Info Version"))
    module.addModuleFlag(llvm::Module::Warning, "Debug Info Version",
                         llvm::DEBUG_METADATA_VERSION);
}

} // namespace tessera::codegen::gpu
