// dialect/tile/td/ReduceOps.td - combinations along an axis.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#ifndef TILE_REDUCE_OPS_TD
#define TILE_REDUCE_OPS_TD

include "dialect/tile/td/TileEnums.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tile_ReduceOp : Tile_Op<"reduce", [Pure]> {
  let summary = "elements combined along one axis, which disappears";
  let description = [{
    A rank-1 source gives a scalar. `max` and `min` pass over NaN; of equal
    elements `argmax` and `argmin` give the lowest index, as i32. `umax` and
    `umin` compare integers as unsigned.

    ```mlir
    // %x: tensor<16x32xf32>
    %m = tile.reduce max %x, 1 : tensor<16x32xf32> -> tensor<16xf32>
    ```
  }];
  let arguments = (ins Tile_ReduceKindAttr:$kind, Tile_NumberTensor:$src, I32Attr:$axis);
  let results = (outs Tile_NumberValue:$result);
  let assemblyFormat = "$kind $src `,` $axis attr-dict `:` type($src) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_ScanOp : Tile_Op<"scan", [Pure, AllTypesMatch<["src", "result"]>]> {
  let summary = "running combination along one axis";
  let description = [{
    result[i] combines source[0..i] along `axis`, or source[i..] if `reverse`.

    ```mlir
    // %x: tensor<16xf32>
    %s = tile.scan sum %x, 0 : tensor<16xf32>
    ```
  }];
  let arguments = (ins Tile_ScanKindAttr:$kind, Tile_NumberTensor:$src,
                       I32Attr:$axis, UnitAttr:$reverse);
  let results = (outs Tile_NumberTensor:$result);
  let assemblyFormat = "$kind $src `,` $axis (`reverse` $reverse^)? attr-dict `:` type($src)";
  let hasVerifier = 1;
}

def Tile_GatherOp : Tile_Op<"gather", [Pure]> {
  let summary = "elements picked by index along one axis";
  let description = [{
    result[.., i, ..] = src[.., indices[.., i, ..], ..]; an index outside the
    axis is taken modulo its size.

    ```mlir
    // %x: tensor<16xf32>, %i: tensor<8xi32>
    %g = tile.gather %x, %i, 0 : tensor<16xf32>, tensor<8xi32> -> tensor<8xf32>
    ```
  }];
  let arguments = (ins Tile_NumberTensor:$src, Tile_IntTensor:$indices, I32Attr:$axis);
  let results = (outs Tile_NumberTensor:$result);
  let assemblyFormat = "$src `,` $indices `,` $axis attr-dict `:` type($src) `,` type($indices) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_HistogramOp : Tile_Op<"histogram", [Pure]> {
  let summary = "how often each value below the result's size occurs";
  let description = [{
    Elements outside 0 <= v < bins are not counted, nor are those whose mask
    is false.

    ```mlir
    // %v: tensor<32xi32>
    %h = tile.histogram %v : tensor<32xi32> -> tensor<8xi32>
    ```
  }];
  let arguments = (ins RankedTensorOf<[I32]>:$src, Optional<RankedTensorOf<[I1]>>:$mask);
  let results = (outs RankedTensorOf<[I32]>:$result);
  let assemblyFormat = [{
    $src (`mask` $mask^)? attr-dict `:` type($src) (`,` type($mask)^)? `->` type($result)
  }];
  let hasVerifier = 1;
}

#endif // TILE_REDUCE_OPS_TD
