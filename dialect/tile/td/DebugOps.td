// dialect/tile/td/DebugOps.td - print, assert and assume.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#ifndef TILE_DEBUG_OPS_TD
#define TILE_DEBUG_OPS_TD

include "dialect/tile/td/TileBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tile_PrintOp : Tile_Op<"print", [MemoryEffects<[MemWrite]>]> {
  let summary = "values written to the program's log";
  let description = [{
    `hex` shows the bits. `isUnsigned` says of each value whether its integers
    are shown without a sign.

    ```mlir
    // %x: tensor<8xf32>
    tile.print "row" %x : tensor<8xf32>
    ```
  }];
  let arguments = (ins StrAttr:$prefix, Variadic<Tile_AnyValue>:$values, UnitAttr:$hex,
                       OptionalAttr<DenseBoolArrayAttr>:$isUnsigned);
  let assemblyFormat = "$prefix ($values^ `:` type($values))? attr-dict";
}

def Tile_AssertOp : Tile_Op<"assert", [MemoryEffects<[MemWrite]>]> {
  let summary = "stops the launch with a message where a condition is false";
  let description = [{
    ```mlir
    // %ok: tensor<8xi1>
    tile.assert %ok, "row out of range" : tensor<8xi1>
    ```
  }];
  let arguments = (ins Tile_MaskValue:$condition, StrAttr:$message);
  let assemblyFormat = "$condition `,` $message attr-dict `:` type($condition)";
}

def Tile_AssumeOp : Tile_Op<"assume", [MemoryEffects<[MemWrite]>]> {
  let summary = "a fact the compiler may use";
  let description = [{
    Behaviour is undefined if the condition is false.

    ```mlir
    // %positive: i1
    tile.assume %positive : i1
    ```
  }];
  let arguments = (ins I1:$condition);
  let assemblyFormat = "$condition attr-dict `:` type($condition)";
}

#endif // TILE_DEBUG_OPS_TD
