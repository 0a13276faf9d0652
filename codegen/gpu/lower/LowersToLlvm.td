// codegen/gpu/lower/LowersToLlvm.td - an operation that writes its own LLVM IR.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#ifndef TESSERA_LOWERS_TO_LLVM_TD
#define TESSERA_LOWERS_TO_LLVM_TD

include "mlir/IR/OpBase.td"

def LowersToLlvm : OpInterface<"LowersToLlvm"> {
  let cppNamespace = "::tessera::codegen::gpu";
  let description = [{
    An operation of another dialect than `tile`, arith, math and scf. It uses
    no scratch.
  }];
  let methods = [InterfaceMethod<
    "Emits its code and gives its results their registers (Emitter::set).",
    "void", "emit", (ins "::tessera::codegen::gpu::Emitter &":$emitter)>];
}

#endif // TESSERA_LOWERS_TO_LLVM_TD
