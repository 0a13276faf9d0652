// codegen/analysis/DescribesMemory.td - interface of operations of other
// dialects that describe their memory behavior.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#ifndef TESSERA_DESCRIBES_MEMORY_TD
#define TESSERA_DESCRIBES_MEMORY_TD

include "mlir/IR/OpBase.td"

def DescribesMemory : OpInterface<"DescribesMemory"> {
  let cppNamespace = "::tessera::codegen";
  let description = [{
    An operation of another dialect than `tile` that touches memory: every pass
    that orders accesses asks memoryBehaviorOf, which asks here.
  }];
  let methods = [InterfaceMethod<
    "Which memory it reads and writes, and when that is done.",
    "::tessera::codegen::MemoryBehavior", "memoryBehavior", (ins)>];
}

#endif // TESSERA_DESCRIBES_MEMORY_TD
