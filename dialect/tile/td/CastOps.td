// dialect/tile/td/CastOps.td - conversions that arith has no op for.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#ifndef TILE_CAST_OPS_TD
#define TILE_CAST_OPS_TD

include "dialect/tile/td/TileEnums.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tile_BitcastOp : Tile_Op<"bitcast", [Pure]> {
  let summary = "the same bits as another element type of that width";
  let description = [{
    Also between pointer types, where the address stays.

    ```mlir
    // %f: tensor<8xf32>
    %i = tile.bitcast %f : tensor<8xf32> -> tensor<8xi32>
    ```
  }];
  let arguments = (ins Tile_AnyValue:$src);
  let results = (outs Tile_AnyValue:$result);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_ConvertOp : Tile_Op<"convert", [Pure]> {
  let summary = "a floating-point value in another precision";
  let description = [{
    Widening is exact; narrowing rounds as `rounding` says.

    ```mlir
    // %f: tensor<8xf32>
    %h = tile.convert %f rtne : tensor<8xf32> -> tensor<8xbf16>
    ```
  }];
  let arguments = (ins Tile_FloatValue:$src, Tile_RoundingAttr:$rounding);
  let results = (outs Tile_FloatValue:$result);
  let assemblyFormat = "$src $rounding attr-dict `:` type($src) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

#endif // TILE_CAST_OPS_TD
