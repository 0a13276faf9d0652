// codegen/cpu/object/Target.cpp - creates LLVM's target machine for a CPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/cpu/object/Target.h"

#include "support/Error.h"

#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/TargetParser/Triple.h"

#include <mutex>

namespace tessera::codegen::cpu {

// LLVM's machine scheduler compares each memory access of a basic block with
// all others, up to this limit; beyond it, the scheduler keeps the order
// between the oldest accesses and the others. A network that sorts 1,024
// numbers is one basic block with 1,372 accesses: with LLVM's default limit of
// 1,000 the scheduler takes four fifths of the back end's time. LLVM reads the
// limit from the command line only, and linking with lld restores the default.
static bool limitScheduledAccesses() {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  constexpr const char *name = "dag-maps-huge-region";
  auto &known = llvm::cl::getRegisteredOptions();
  const auto found = known.find(name);
  return found != known.end() &&
         !found->second->addOccurrence(1, name, "100", /*MultiArg=*/true);
}

static const llvm::Target &x86Target(const llvm::Triple &triple) {
  static std::once_flag once;
  static const llvm::Target *found = nullptr;
  static std::string error;
  std::call_once(once, [&] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
    found = llvm::TargetRegistry::lookupTarget(triple, error);
  });
  if (!found)
    throw Error("this LLVM has no x86-64 back end: " + error,
                "install the libmlir-22 packages that scripts/setup names");
  return *found;
}

std::unique_ptr<llvm::TargetMachine>
createTargetMachine(const CpuTarget &target) {
  llvm::Triple triple("x86_64-unknown-linux-gnu");
  llvm::TargetOptions options;
  // Fuses only where both operations have the contract flag. LLVM must not
  // decide alone.
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  options.FunctionSections = true;
  options.ExceptionModel = llvm::ExceptionHandling::None;
  std::unique_ptr<llvm::TargetMachine> machine(
      x86Target(triple).createTargetMachine(
          triple, target.mcpu, target.llvmFeatures(), options,
          llvm::Reloc::PIC_, llvm::CodeModel::Small,
          llvm::CodeGenOptLevel::Aggressive));
  if (!machine || !limitScheduledAccesses())
    throw Error("LLVM cannot generate code for " + target.name(),
                "targets look like cpu:x86-64-v3:0000");
  return machine;
}

void prepareModule(llvm::Module &module, const llvm::TargetMachine &machine,
                   const CpuTarget &target) {
  module.setTargetTriple(machine.getTargetTriple());
  module.setDataLayout(machine.createDataLayout());
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("prefer-vector-width",
                       std::to_string(target.vectorBits()));
    // Keeps loops from turning into calls of memcpy and memset.
    function.addFnAttr("no-builtins");
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
}

} // namespace tessera::codegen::cpu
