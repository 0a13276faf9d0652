// codegen/cpu/object/Object.cpp - compiles a module in the LLVM dialect to a
// shared object.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/cpu/object/Object.h"

#include "codegen/LlvmModule.h"
#include "codegen/cpu/object/Lines.h"
#include "codegen/cpu/object/Link.h"
#include "codegen/cpu/object/Target.h"
#include "support/Error.h"
#include "support/InternalError.h"
#include "support/Stopwatch.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/Cloning.h"

#include <algorithm>
#include <memory>

namespace tessera::codegen::cpu {
namespace {

// LLVM may call these for a long copy or fill even if told not to. The string
// instructions are as fast as a loop for the sizes that occur.
const char *const memoryFunctions = R"(
define hidden ptr @memcpy(ptr returned %to, ptr %from, i64 %size) #0 {
  %r = call { ptr, ptr, i64 } asm sideeffect "rep movsb", "={di},={si},={cx},0,1,2,~{memory},~{dirflag},~{fpsr},~{flags}"(ptr %to, ptr %from, i64 %size)
  ret ptr %to
}
define hidden ptr @memset(ptr returned %to, i32 %value, i64 %size) #0 {
  %byte = trunc i32 %value to i8
  %r = call { ptr, i64 } asm sideeffect "rep stosb", "={di},={cx},{ax},0,1,~{memory},~{dirflag},~{fpsr},~{flags}"(i8 %byte, ptr %to, i64 %size)
  ret ptr %to
}
define hidden ptr @memmove(ptr returned %to, ptr %from, i64 %size) #0 {
  %a = ptrtoint ptr %to to i64
  %b = ptrtoint ptr %from to i64
  %distance = sub i64 %a, %b
  %overlaps = icmp ult i64 %distance, %size
  br i1 %overlaps, label %down, label %up
up:
  %r = call { ptr, ptr, i64 } asm sideeffect "rep movsb", "={di},={si},={cx},0,1,2,~{memory},~{dirflag},~{fpsr},~{flags}"(ptr %to, ptr %from, i64 %size)
  ret ptr %to
down:
  %left = phi i64 [ %size, %0 ], [ %next, %down.copy ]
  %done = icmp eq i64 %left, 0
  br i1 %done, label %end, label %down.copy
down.copy:
  %next = sub i64 %left, 1
  %source = getelementptr i8, ptr %from, i64 %next
  %target = getelementptr i8, ptr %to, i64 %next
  %value = load volatile i8, ptr %source
  store volatile i8 %value, ptr %target
  br label %down
end:
  ret ptr %to
}
attributes #0 = { nounwind noinline "no-builtins" }
)";

std::unique_ptr<llvm::Module> translate(mlir::ModuleOp module,
                                        llvm::LLVMContext &context) {
  mlir::DialectRegistry registry;
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  module.getContext()->appendDialectRegistry(registry);
  std::string messages;
  mlir::ScopedDiagnosticHandler handler(
      module.getContext(), [&](mlir::Diagnostic &diagnostic) {
        messages += (messages.empty() ? "" : "; ") + diagnostic.str();
        return mlir::success();
      });
  auto result = mlir::translateModuleToLLVMIR(module, context, "kernel");
  if (!result)
    internalError("cannot translate to LLVM IR: " + messages);
  return result;
}

// Makes all functions but the entry internal, so that LLVM can inline them.
void internalize(llvm::Module &module, const std::string &entry) {
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      function.setLinkage(function.getName() == entry
                              ? llvm::GlobalValue::ExternalLinkage
                              : llvm::GlobalValue::InternalLinkage);
  for (llvm::GlobalVariable &global : module.globals())
    if (!global.isDeclaration())
      global.setLinkage(llvm::GlobalValue::InternalLinkage);
}

// Describes a target without library functions, so that LLVM does not replace
// code by a library call.
llvm::TargetLibraryInfoImpl noLibrary(const llvm::Triple &triple) {
  llvm::TargetLibraryInfoImpl library(triple);
  library.disableAllFunctions();
  return library;
}

void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  const auto library = noLibrary(machine.getTargetTriple());
  llvm::PipelineTuningOptions tuning;
  // The loops already work on vectors.
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  tuning.LoopInterleaving = false;
  // LoopLoadElimination would take four fifths of the time for large kernels.
  // They keep in registers the values that it could find. LoopFullUnroll tries
  // the loops that LoopUnroll unrolls later: without it, a compilation takes a
  // sixth less time, and kernels are as fast.
  optimizeModule(module, machine, tuning,
                 {"LoopLoadEliminationPass", "LoopFullUnrollPass"}, &library);
}

// Computes fp16 intrinsics without rounding (maximum, floor ...) in fp32. LLVM
// moves the extension after the intrinsic and would then call libm for the fp16
// form on machines without it.
void widenHalves(llvm::Module &module) {
  llvm::SmallVector<llvm::IntrinsicInst *> found;
  for (llvm::Function &function : module)
    for (llvm::BasicBlock &block : function)
      for (llvm::Instruction &instruction : block)
        if (auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
            call && call->getType()->getScalarType()->isHalfTy())
          switch (call->getIntrinsicID()) {
          case llvm::Intrinsic::maxnum:
          case llvm::Intrinsic::minnum:
          case llvm::Intrinsic::maximum:
          case llvm::Intrinsic::minimum:
          case llvm::Intrinsic::floor:
          case llvm::Intrinsic::ceil:
          case llvm::Intrinsic::trunc:
          case llvm::Intrinsic::rint:
            found.push_back(call);
            break;
          default:
            break;
          }
  for (llvm::IntrinsicInst *call : found) {
    llvm::IRBuilder<> builder(call);
    llvm::Type *half = call->getType();
    llvm::Type *wide = half->getWithNewType(builder.getFloatTy());
    llvm::SmallVector<llvm::Value *> operands;
    for (llvm::Value *operand : call->args())
      operands.push_back(builder.CreateFPExt(operand, wide));
    llvm::Value *result =
        builder.CreateIntrinsic(call->getIntrinsicID(), {wide}, operands);
    call->replaceAllUsesWith(builder.CreateFPTrunc(result, half));
    call->eraseFromParent();
  }
}

void addMemoryFunctions(llvm::Module &module, bool needed = false) {
  for (llvm::Function &function : module)
    for (llvm::BasicBlock &block : function)
      for (llvm::Instruction &instruction : block)
        needed |= llvm::isa<llvm::MemIntrinsic>(instruction);
  if (!needed)
    return;
  llvm::SMDiagnostic error;
  auto library =
      llvm::parseAssemblyString(memoryFunctions, error, module.getContext());
  if (!library)
    internalError("memory functions: " + error.getMessage().str());
  library->setTargetTriple(module.getTargetTriple());
  library->setDataLayout(module.getDataLayout());
  if (llvm::Linker::linkModules(module, std::move(library)))
    internalError("cannot add the memory functions");
}

// Returns a copy without debug information, for texts that people read and
// edit.
std::unique_ptr<llvm::Module> copyWithoutLines(const llvm::Module &module) {
  auto copy = llvm::CloneModule(module);
  llvm::StripDebugInfo(*copy);
  return copy;
}

std::string emit(llvm::Module &module, llvm::TargetMachine &machine,
                 llvm::CodeGenFileType kind) {
  llvm::SmallString<0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  auto library = noLibrary(machine.getTargetTriple());
  passes.add(new llvm::TargetLibraryInfoWrapperPass(library));
  if (machine.addPassesToEmitFile(passes, stream, nullptr, kind))
    internalError("the target cannot emit this kind of file");
  passes.run(module);
  return std::string(bytes.str());
}

using File = std::shared_ptr<const SourceFile>;

// Returns the object of edited assembly. The text becomes the assembly of a
// module, so that LLVM's assembler reads it for the target's features.
std::string assemble(const File &file, const ObjectOptions &options,
                     llvm::TargetMachine &machine) {
  llvm::LLVMContext context;
  FirstError error(context);
  llvm::Module module("kernel", context);
  prepareModule(module, machine, options.target);
  module.setModuleInlineAsm(options.asmText);
  // The assembly may call them, although nothing in the module shows it.
  addMemoryFunctions(module, /*needed=*/true);
  const std::string object =
      emit(module, machine, llvm::CodeGenFileType::ObjectFile);
  if (!error.text.empty())
    refuseStage("asm", file, error.line, error.column, error.text);
  const auto missing = undefinedSymbols(object);
  if (!missing.empty())
    refuseStage("asm", file, 0, 0,
                "the code needs symbols that a kernel does not have: " +
                    llvm::join(missing, ", "));
  return object;
}

} // namespace

SharedObject emitSharedObject(mlir::ModuleOp module,
                              const ObjectOptions &options) {
  SharedObject result;
  Stopwatch watch;
  auto machine = createTargetMachine(options.target);
  llvm::LLVMContext context;
  const bool edited = !options.llvmPath.empty();
  const auto llvmFile =
      std::make_shared<SourceFile>(options.llvmPath, options.llvmText);
  if (!edited)
    keepLines(module);
  auto llvmModule =
      edited ? parseLlvmStage(context, llvmFile) : translate(module, context);
  llvm::Function *entry = llvmModule->getFunction(options.entry);
  const bool found = entry && !entry->isDeclaration();
  if (edited &&
      (!found || entry->arg_size() != 4 || !entry->getReturnType()->isVoidTy()))
    refuseStage("llvm", llvmFile, 1, 0,
                "no function @" + options.entry +
                    " of four arguments that returns void");
  if (!found)
    internalError("the module has no function " + options.entry);
  prepareModule(*llvmModule, *machine, options.target);
  internalize(*llvmModule, options.entry);
  result.translate = watch.lap();

  if (!edited)
    optimize(*llvmModule, *machine);
  widenHalves(*llvmModule);
  if (options.keepLlvm) {
    llvm::raw_string_ostream stream(result.llvmText);
    copyWithoutLines(*llvmModule)->print(stream, nullptr);
  }
  result.optimize = watch.lap();

  if (!options.asmPath.empty()) {
    const auto file =
        std::make_shared<SourceFile>(options.asmPath, options.asmText);
    const std::string object = assemble(file, options, *machine);
    result.asmText = options.asmText;
    result.emit = watch.lap();
    result.bytes = linkSharedObject(object, options.entry);
    result.link = watch.lap();
    const auto exported = exportedSymbols(result.bytes);
    if (!llvm::is_contained(exported, options.entry))
      refuseStage("asm", file, 1, 0, "no global symbol " + options.entry);
    return result;
  }
  if (options.keepAsm) {
    // Code generation changes the module.
    auto copy = copyWithoutLines(*llvmModule);
    result.asmText = emit(*copy, *machine, llvm::CodeGenFileType::AssemblyFile);
    watch.lap();
  }
  addMemoryFunctions(*llvmModule);
  std::string object =
      emit(*llvmModule, *machine, llvm::CodeGenFileType::ObjectFile);
  auto missing = undefinedSymbols(object);
  if (!missing.empty()) {
    const std::string names = llvm::join(missing, ", ");
    if (edited)
      refuseStage("llvm", llvmFile, 0, 0,
                  "the code needs symbols that a kernel does not have: " +
                      names);
    internalError("the generated code needs symbols that a kernel does not "
                  "have: " +
                  names);
  }
  if (!edited)
    result.lines = linesOf(object, options.entry);
  result.emit = watch.lap();

  result.bytes = linkSharedObject(object, options.entry);
  result.link = watch.lap();
  return result;
}

} // namespace tessera::codegen::cpu
