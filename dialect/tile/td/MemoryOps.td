// dialect/tile/td/MemoryOps.td - addresses, loads, stores.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#ifndef TILE_MEMORY_OPS_TD
#define TILE_MEMORY_OPS_TD

include "dialect/tile/td/TileEnums.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tile_AddPtrOp : Tile_Op<"addptr", [Pure, AllTypesMatch<["ptr", "result"]>]> {
  let summary = "address of the element `offset` elements further";
  let description = [{
    result = ptr + sext(offset) * size of the element, in 64 bits.

    ```mlir
    // %p: tensor<8x!tile.ptr<f32>>, %i: tensor<8xi32>
    %q = tile.addptr %p, %i : tensor<8x!tile.ptr<f32>>, tensor<8xi32>
    ```
  }];
  let arguments = (ins Tile_PtrValue:$ptr, Tile_IntValue:$offset);
  let results = (outs Tile_PtrValue:$result);
  let assemblyFormat = "$ptr `,` $offset attr-dict `:` type($ptr) `,` type($offset)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_LoadOp : Tile_Op<"load", [AttrSizedOperandSegments,
                                   MemoryEffects<[MemRead]>]> {
  let summary = "elements read through pointers";
  let description = [{
    Where `mask` is false nothing is read and the element is `other`, or
    undefined without it (0 on cpu).

    `cache` is ".ca", ".cg" or ".cv" and `eviction` "evict_first" or
    "evict_last", as in PTX. Both are written in the attribute dictionary.

    ```mlir
    // %p: tensor<8x!tile.ptr<f32>>, %m: tensor<8xi1>, %z: tensor<8xf32>
    %v = tile.load %p mask %m other %z : tensor<8x!tile.ptr<f32>>
    ```
  }];
  let arguments = (ins Tile_PtrValue:$ptr, Optional<Tile_MaskValue>:$mask,
                       Optional<Tile_NumberValue>:$other,
                       OptionalAttr<Tile_LoadCacheAttr>:$cache,
                       OptionalAttr<Tile_EvictionAttr>:$eviction, UnitAttr:$isVolatile);
  let results = (outs Tile_AnyValue:$result);
  let assemblyFormat = [{
    $ptr (`mask` $mask^)? (`other` $other^)? `` custom<CacheWords>($cache, $eviction, attr-dict)
    `:` type($ptr) custom<LoadTypes>(ref(type($ptr)), ref($mask), type($mask), ref($other), type($other), type($result))
  }];
  let hasVerifier = 1;
}

def Tile_StoreOp : Tile_Op<"store", [MemoryEffects<[MemWrite]>]> {
  let summary = "elements written through pointers";
  let description = [{
    Where `mask` is false nothing is written. If two elements write one
    address the winner is not defined.

    `cache` is ".wb", ".cg", ".cs" or ".wt" and `eviction` "evict_first" or
    "evict_last", as in PTX. Both are written in the attribute dictionary.

    ```mlir
    // %p: tensor<8x!tile.ptr<f32>>, %v: tensor<8xf32>, %m: tensor<8xi1>
    tile.store %p, %v mask %m : tensor<8x!tile.ptr<f32>>, tensor<8xf32>
    ```
  }];
  let arguments = (ins Tile_PtrValue:$ptr, Tile_AnyValue:$value,
                       Optional<Tile_MaskValue>:$mask,
                       OptionalAttr<Tile_StoreCacheAttr>:$cache,
                       OptionalAttr<Tile_EvictionAttr>:$eviction);
  let assemblyFormat = [{
    $ptr `,` $value (`mask` $mask^)? `` custom<CacheWords>($cache, $eviction, attr-dict)
    `:` type($ptr) `,` type($value) custom<MaskType>(ref(type($ptr)), ref($mask), type($mask))
  }];
  let hasVerifier = 1;
}

def Tile_SemAttr : DefaultValuedOptionalAttr<Tile_MemSemanticAttr, "MemSemantic::AcqRel">;
def Tile_ScopeAttr : DefaultValuedOptionalAttr<Tile_MemScopeAttr, "MemScope::Gpu">;

def Tile_AtomicRMWOp : Tile_Op<"atomic_rmw", [MemoryEffects<[MemRead, MemWrite]>,
    AllTypesMatch<["value", "result"]>]> {
  let summary = "read, combine, write as one step; gives the old elements";
  let description = [{
    `sem` is "relaxed", "acquire", "release" or "acq_rel" and `scope` "cta",
    "gpu" or "sys", as in PTX; without them it is acq_rel among all programs of
    the device. Where `mask` is false nothing happens and the result is 0.

    ```mlir
    // %p: tensor<8x!tile.ptr<f32>>, %v: tensor<8xf32>, %m: tensor<8xi1>
    %o = tile.atomic_rmw fadd %p, %v mask %m : tensor<8x!tile.ptr<f32>>, tensor<8xf32>
    ```
  }];
  let arguments = (ins Tile_AtomicKindAttr:$kind, Tile_PtrValue:$ptr,
                       Tile_NumberValue:$value, Optional<Tile_MaskValue>:$mask,
                       Tile_SemAttr:$sem, Tile_ScopeAttr:$scope);
  let results = (outs Tile_NumberValue:$result);
  let assemblyFormat = [{
    $kind $ptr `,` $value (`mask` $mask^)? `` custom<OrderWords>($sem, $scope, attr-dict)
    `:` type($ptr) `,` type($value) custom<MaskType>(ref(type($ptr)), ref($mask), type($mask))
  }];
  let hasVerifier = 1;
}

def Tile_AtomicCASOp : Tile_Op<"atomic_cas", [MemoryEffects<[MemRead, MemWrite]>,
    AllTypesMatch<["expected", "desired", "result"]>]> {
  let summary = "write `desired` where memory holds `expected`; gives the old elements";
  let description = [{
    Floats are compared as bits. `sem` and `scope` as in `tile.atomic_rmw`.

    ```mlir
    // %p: !tile.ptr<i32>, %e: i32, %d: i32
    %o = tile.atomic_cas %p, %e, %d : !tile.ptr<i32>, i32
    ```
  }];
  let arguments = (ins Tile_PtrValue:$ptr, Tile_NumberValue:$expected,
                       Tile_NumberValue:$desired,
                       Tile_SemAttr:$sem, Tile_ScopeAttr:$scope);
  let results = (outs Tile_NumberValue:$result);
  let assemblyFormat = [{
    $ptr `,` $expected `,` $desired `` custom<OrderWords>($sem, $scope, attr-dict)
    `:` type($ptr) `,` type($expected)
  }];
  let hasVerifier = 1;
}

#endif // TILE_MEMORY_OPS_TD
