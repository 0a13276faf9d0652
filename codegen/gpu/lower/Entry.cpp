// codegen/gpu/lower/Entry.cpp - emits the kernel function and its line table.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/lower/Emitter.h"

#include "codegen/SourceLines.h"
#include "support/Error.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace tessera::codegen::gpu {

Emitter::Emitter(func::FuncOp kernel, llvm::Module &module,
                 const GpuOptions &options)
    : b(module.getContext()), options(options), kernel(kernel), module(module),
      debug(module) {
  layout::Extents ins = {
      {layout::Dim::Register, 0},
      {layout::Dim::Lane, 5},
      {layout::Dim::Warp, layout::log2Exact(options.numWarps, "num_warps")}};
  scalarLayout = layout::LinearLayout(
      ins, {}, std::vector<layout::Word>(size_t(5 + ins[2].bits), 0));
  // No default flags: the families set `contract` on each product and sum that
  // may be fused.
  b.setFastMathFlags({});
}

llvm::DIFile *Emitter::debugFile(llvm::StringRef path) {
  llvm::DIFile *&file = debugFiles[path.str()];
  if (!file)
    file = debug.createFile(llvm::sys::path::filename(path), "");
  return file;
}

void Emitter::declare() {
  llvm::SmallVector<llvm::Type *> types;
  for (Type type : kernel.getArgumentTypes())
    types.push_back(type.isInteger(1) ? b.getInt8Ty() : typeOf(type));
  auto *type = llvm::FunctionType::get(b.getVoidTy(), types, false);
  function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage,
                                    kernel.getName(), module);
  function->setCallingConv(llvm::CallingConv::PTX_Kernel);
  function->addFnAttr("nvvm.reqntid",
                      std::to_string(options.numWarps * 32) + ",1,1");
  function->addFnAttr(llvm::Attribute::NoUnwind);
  for (auto [index, argument] : llvm::enumerate(kernel.getArguments())) {
    auto divisor = kernel.getArgAttrOfType<IntegerAttr>(
        unsigned(index), tile::kDivisibilityAttr);
    if (divisor && isa<tile::PtrType>(argument.getType()) &&
        llvm::isPowerOf2_64(uint64_t(divisor.getInt())))
      function->addParamAttr(
          unsigned(index),
          llvm::Attribute::getWithAlignment(
              b.getContext(), llvm::Align(uint64_t(divisor.getInt()))));
  }
  FileLineColLoc place = placeOf(kernel.getLoc());
  auto *file = debugFile(place ? place.getFilename().getValue() : "kernel");
  debug.createCompileUnit(
      llvm::DISourceLanguageName(llvm::dwarf::DW_LANG_C), file, "tessera",
      /*isOptimized=*/true, "", 0, "",
      llvm::DICompileUnit::DebugEmissionKind::DebugDirectivesOnly);
  unsigned line = place ? place.getLine() : 1;
  subprogram = debug.createFunction(
      file, kernel.getName(), kernel.getName(), file, line,
      debug.createSubroutineType(debug.getOrCreateTypeArray({})), line,
      llvm::DINode::FlagPrototyped,
      llvm::DISubprogram::SPFlagDefinition |
          llvm::DISubprogram::SPFlagOptimized);
  function->setSubprogram(subprogram);
}

llvm::DILocation *Emitter::debugLocation(Location location) {
  auto found = locations.find(location);
  if (found != locations.end())
    return found->second;
  llvm::DILocation *result = nullptr;
  auto &context = b.getContext();
  if (auto call = dyn_cast<CallSiteLoc>(location)) {
    // A line of a helper belongs to a separate DISubprogram, which is inlined
    // at the location of the caller.
    llvm::DILocation *caller = debugLocation(call.getCaller());
    FileLineColLoc place = placeOf(call.getCallee());
    StringRef name = "helper";
    if (auto named = dyn_cast<NameLoc>(call.getCallee()))
      name = named.getName();
    if (place && caller) {
      auto *file = debugFile(place.getFilename());
      llvm::DISubprogram *&scope =
          inlined[{place.getFilename().str(), name.str()}];
      if (!scope)
        scope = debug.createFunction(
            file, name, name, file, place.getLine(),
            debug.createSubroutineType(debug.getOrCreateTypeArray({})),
            place.getLine(), llvm::DINode::FlagPrototyped,
            llvm::DISubprogram::SPFlagDefinition |
                llvm::DISubprogram::SPFlagOptimized |
                llvm::DISubprogram::SPFlagLocalToUnit);
      result = llvm::DILocation::get(context, place.getLine(),
                                     place.getColumn(), scope, caller);
    } else {
      result = caller;
    }
  } else if (FileLineColLoc place = placeOf(location)) {
    result = llvm::DILocation::get(context, place.getLine(), place.getColumn(),
                                   subprogram);
  } else {
    result = llvm::DILocation::get(context, 0, 0, subprogram);
  }
  locations[location] = result;
  return result;
}

void Emitter::setLocation(Location location) {
  b.SetCurrentDebugLocation(debugLocation(location));
}

void Emitter::run() {
  declare();
  b.SetInsertPoint(llvm::BasicBlock::Create(b.getContext(), "entry", function));
  setLocation(kernel.getLoc());
  threadValue = intrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, {});
  laneValue = b.CreateAnd(threadValue, i32(31));
  warpValue =
      options.numWarps == 1 ? i32(0) : b.CreateLShr(threadValue, i32(5));
  for (auto [argument, parameter] :
       llvm::zip(kernel.getArguments(), function->args())) {
    parameter.setName("arg" + llvm::Twine(argument.getArgNumber()));
    llvm::Value *value = &parameter;
    if (argument.getType().isInteger(1))
      value = b.CreateICmpNE(value, b.getInt8(0));
    set(argument, {value});
  }
  if (!kernel.getBody().hasOneBlock())
    throw Error(whereOf(kernel.getLoc()) +
                    ": error: the kernel has control flow that was not turned "
                    "into loops and branches",
                "this is a defect of tessera; please report it");
  emitBlock(kernel.getBody().front());
  b.CreateRetVoid();
  divisors.finish(module.getDataLayout());
  debug.finalize();
}

} // namespace tessera::codegen::gpu
