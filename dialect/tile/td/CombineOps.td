// dialect/tile/td/CombineOps.td - combinations by a region, and sort.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#ifndef TILE_COMBINE_OPS_TD
#define TILE_COMBINE_OPS_TD

include "dialect/tile/td/TileBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Tile_CombineOp<string mnemonic> : Tile_Op<mnemonic,
    [RecursiveMemoryEffects, RecursivelySpeculatable, SingleBlock]> {
  let arguments = (ins Variadic<Tile_NumberTensor>:$srcs, I32Attr:$axis);
  let regions = (region SizedRegion<1>:$combine);
  let hasVerifier = 1;
}

def Tile_ReduceByOp : Tile_CombineOp<"reduce_by"> {
  let summary = "elements combined by a function along one axis, which disappears";
  let description = [{
    The region gets what came before, one scalar a source, then the next
    elements, and yields their combination; elements come in the order of the
    axis. The combination must be associative. The sources have one shape; a
    rank-1 source gives a scalar.

    ```mlir
    // %x: tensor<16x32xf32>
    %m = tile.reduce_by %x axis 1 : tensor<16x32xf32> -> tensor<16xf32> {
    ^bb0(%a: f32, %b: f32):
      %c = arith.mulf %a, %b : f32
      tile.yield %c : f32
    }
    ```
  }];
  let results = (outs Variadic<Tile_NumberValue>:$results);
  let assemblyFormat = "$srcs `axis` $axis attr-dict `:` type($srcs) `->` type($results) $combine";
}

def Tile_ScanByOp : Tile_CombineOp<"scan_by"> {
  let summary = "running combination by a function along one axis";
  let description = [{
    Like `tile.reduce_by`, with every intermediate result; from the end of the
    axis if `reverse`.

    ```mlir
    // %x: tensor<16xf32>, %y: tensor<16xf32>
    %r:2 = tile.scan_by %x, %y axis 0 reverse : tensor<16xf32>, tensor<16xf32> -> tensor<16xf32>, tensor<16xf32> {
    ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
      %e = arith.mulf %a, %c : f32
      %f = arith.addf %b, %d : f32
      tile.yield %e, %f : f32, f32
    }
    ```
  }];
  let arguments = (ins Variadic<Tile_NumberTensor>:$srcs, I32Attr:$axis, UnitAttr:$reverse);
  let results = (outs Variadic<Tile_NumberTensor>:$results);
  let assemblyFormat = "$srcs `axis` $axis (`reverse` $reverse^)? attr-dict `:` type($srcs) `->` type($results) $combine";
}

def Tile_YieldOp : Tile_Op<"yield", [Pure, Terminator,
    ParentOneOf<["ReduceByOp", "ScanByOp"]>]> {
  let summary = "the result of a combination";
  let description = [{
    ```mlir
    // %x: tensor<16xi32>
    %m = tile.reduce_by %x axis 0 : tensor<16xi32> -> i32 {
    ^bb0(%a: i32, %b: i32):
      tile.yield %b : i32
    }
    ```
  }];
  let arguments = (ins Variadic<Tile_Number>:$values);
  let assemblyFormat = "$values attr-dict `:` type($values)";
}

def Tile_SortOp : Tile_Op<"sort", [Pure, AllTypesMatch<["src", "result"]>]> {
  let summary = "each row of the last dimension in ascending or descending order";
  let description = [{
    `isUnsigned` compares integers as unsigned. The place of NaN is not defined.

    ```mlir
    // %x: tensor<4x16xf32>
    %s = tile.sort %x descending : tensor<4x16xf32>
    ```
  }];
  let arguments = (ins Tile_NumberTensor:$src, UnitAttr:$descending, UnitAttr:$isUnsigned);
  let results = (outs Tile_NumberTensor:$result);
  let assemblyFormat = "$src (`descending` $descending^)? attr-dict `:` type($src)";
  let hasVerifier = 1;
}

#endif // TILE_COMBINE_OPS_TD
