// codegen/gpu/emit/Ptx.cpp - a module of LLVM IR to PTX text.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/emit/Ptx.h"

#include "codegen/LlvmModule.h"
#include "codegen/gpu/emit/ExactLoads.h"
#include "codegen/gpu/emit/InlinedLines.h"
#include "codegen/gpu/emit/Target.h"
#include "codegen/gpu/emit/WholeConditions.h"
#include "support/Error.h"
#include "support/InternalError.h"
#include "support/Stopwatch.h"
#include "support/Text.h"

#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/Pass.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

#include <algorithm>

namespace tessera::codegen::gpu {
namespace {

// "line 12 of k.py", when the instruction has a place.
std::string placeOf(const llvm::Instruction &instruction) {
  const llvm::DebugLoc &loc = instruction.getDebugLoc();
  if (!loc || !loc.getLine())
    return "";
  return " (line " + std::to_string(loc.getLine()) + ")";
}

// True if instruction selection supports the call. LLVM ends the process for a
// call that it cannot select, so such calls must not reach it.
bool selectable(const llvm::IntrinsicInst &call) {
  using namespace llvm;
  const Type *type = call.getType()->getScalarType();
  const auto approximate = [&] { return call.hasApproxFunc(); };
  switch (call.getIntrinsicID()) {
  case Intrinsic::exp:
  case Intrinsic::exp10:
  case Intrinsic::log:
  case Intrinsic::log10:
  case Intrinsic::log2:
  case Intrinsic::pow:
  case Intrinsic::powi:
  case Intrinsic::tan:
  case Intrinsic::asin:
  case Intrinsic::acos:
  case Intrinsic::atan:
  case Intrinsic::atan2:
  case Intrinsic::sinh:
  case Intrinsic::cosh:
  case Intrinsic::ldexp:
  case Intrinsic::frexp:
  case Intrinsic::sincos:
    return false;
  case Intrinsic::exp2:
    return !type->isDoubleTy();
  case Intrinsic::sin:
  case Intrinsic::cos:
  case Intrinsic::tanh:
    return approximate() && !type->isDoubleTy();
  default:
    return true;
  }
}

// Functions that the driver provides (CUDA C++ Programming Guide, "Formatted
// Output" and "Assertion").
bool isDeviceFunction(llvm::StringRef name) {
  return name == "vprintf" || name == "__assertfail" || name == "malloc" ||
         name == "free";
}

void checkCalls(const llvm::Module &module) {
  for (const llvm::Function &function : module) {
    if (function.isDeclaration() && !function.isIntrinsic() &&
        !function.use_empty() && !isDeviceFunction(function.getName()))
      internalError("the generated code calls @" + function.getName().str() +
                    ", which no device has");
    for (const llvm::BasicBlock &block : function)
      for (const llvm::Instruction &instruction : block)
        if (auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
            call && !selectable(*call))
          internalError("NVPTX has no instruction for " +
                        call->getCalledFunction()->getName().str() +
                        placeOf(instruction));
  }
}

void checkEntry(const llvm::Module &module, const PtxOptions &options) {
  const llvm::Function *entry = module.getFunction(options.entry);
  if (!entry || entry->isDeclaration() ||
      entry->getCallingConv() != llvm::CallingConv::PTX_Kernel)
    internalError("the module has no kernel @" + options.entry);
}

void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::PipelineTuningOptions tuning;
  // A value is one register of one thread already.
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  tuning.LoopInterleaving = false;
  // GVN takes half of the time of large kernels. Lowering repeats no loads and
  // EarlyCSE finds equal values across blocks: registers and spills are the
  // same without it.
  optimizeModule(module, machine, tuning, {"GVNPass"});
}

// f32 alone may be fused (docs/numerics.md). An operation of bf16 or f16 is one
// of f32 on widened operands until LLVM narrows it, contract flag and all,
// whether this compiler wrote it so or the kernel's author. Each rounds by
// itself.
void fuseSinglesOnly(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::BasicBlock &block : function)
      for (llvm::Instruction &instruction : block)
        if (llvm::isa<llvm::FPMathOperator>(instruction) &&
            !instruction.getType()->getScalarType()->isFloatTy())
          instruction.setHasAllowContract(false);
}

// The passes of the back end with one more, after the load-store vectorizer
// (ExactLoads.h), and without two:
//   - one compares every address with the fifty before it: half of the back
//     end's time, and ptxas orders addresses anew;
//   - loop strength reduction makes a counter of each row's number and address,
//     which then lives through the whole loop. An addition from one counter is
//     as fast (measured: 22 to 64 registers less in loops over 64 rows).
class EmitPasses : public llvm::legacy::PassManager {
public:
  void add(llvm::Pass *pass) override {
    const llvm::StringRef name = pass->getPassName();
    if (name == "Straight line strength reduction" ||
        name == "Loop Strength Reduction")
      delete pass;
    else
      PassManager::add(pass);
    if (name == "GPU Load and Store Vectorizer") {
      PassManager::add(createExactLoadsPass());
      exact = true;
    }
  }
  // False: LLVM has renamed its vectorizer.
  bool exact = false;
};

// `text` with the paths of all its files cut down to their last parts. A file
// is what stands in quotes after `mark`.
std::string withoutFolders(std::string_view text, std::string_view mark) {
  std::string result;
  for (;;) {
    const size_t at = text.find(mark);
    const size_t open =
        at == text.npos ? text.npos : text.find('"', at + mark.size() - 1);
    const size_t close =
        open == text.npos ? text.npos : text.find('"', open + 1);
    if (close == text.npos) {
      result += text;
      return result;
    }
    result += text.substr(0, open + 1);
    result += lastPart(text.substr(open + 1, close - open - 1));
    text.remove_prefix(close);
  }
}

// NVPTX numbers calls through the life of the process, in comments: "{ //
// callseq 7, 0". What a thread compiled before must not show.
std::string withoutCallNumbers(std::string_view text) {
  const std::string_view mark = " // callseq ";
  std::string result;
  for (size_t at; (at = text.find(mark)) != text.npos;) {
    result += text.substr(0, at);
    text.remove_prefix(std::min(text.find('\n', at), text.size()));
  }
  return result += text;
}

std::string printLlvm(const llvm::Module &module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  text = withoutFolders(text, "!DIFile(filename: \"");
  // The folder of a file adds nothing to a path's last part.
  const std::string mark = ", directory: \"";
  for (size_t at = text.find(mark); at != text.npos;
       at = text.find(mark, at + mark.size())) {
    const size_t begin = at + mark.size(), end = text.find('"', begin);
    text.erase(begin, end - begin);
  }
  return text;
}

} // namespace

PtxOutput emitPtx(llvm::Module &module, const PtxOptions &options) {
  PtxOutput result;
  Stopwatch watch;
  llvm::TargetMachine &machine = gpuTargetMachine(options.target);
  FirstError error(module.getContext());
  prepareGpuModule(module, options.target);
  module.setModuleIdentifier(options.entry);
  module.setSourceFileName(options.entry);
  if (const std::string broken = verifierMessage(module); !broken.empty())
    internalError("the LLVM IR is not valid: " + broken);
  checkEntry(module, options);
  if (options.optimize) {
    optimize(module, machine);
    fuseSinglesOnly(module);
    keepConditionsWhole(module);
  }
  checkCalls(module);
  if (options.keepLlvm)
    result.llvmText = printLlvm(module);
  result.optimize = watch.lap();

  const InlinedLines lines(module);
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  EmitPasses passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr,
                                  llvm::CodeGenFileType::AssemblyFile,
                                  /*DisableVerify=*/true))
    internalError("the target cannot emit this kind of file");
  if (!passes.exact)
    internalError("the back end has no load-store vectorizer");
  passes.run(module);
  if (!error.text.empty())
    internalError("LLVM: " + error.text);
  result.ptx = withoutCallNumbers(
      lines.write(withoutFolders({text.data(), text.size()}, "\t.file\t")));
  result.emit = watch.lap();
  return result;
}

std::unique_ptr<llvm::Module> parseGpuLlvm(llvm::LLVMContext &context,
                                           const std::string &path,
                                           const std::string &text,
                                           const PtxOptions &options) {
  auto file = std::make_shared<SourceFile>(path, text);
  auto module = parseLlvmStage(context, file);
  try {
    checkEntry(*module, options);
    checkCalls(*module);
  } catch (const Error &wrong) {
    const std::string start = "internal error: ";
    refuseStage("llvm", file, 1, 0,
                wrong.message.substr(
                    wrong.message.starts_with(start) ? start.size() : 0));
  }
  return module;
}

} // namespace tessera::codegen::gpu
