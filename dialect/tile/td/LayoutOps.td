// dialect/tile/td/LayoutOps.td - conversion between tensor layouts.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#ifndef TILE_LAYOUT_OPS_TD
#define TILE_LAYOUT_OPS_TD

include "dialect/tile/td/TileBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tile_ConvertLayoutOp : Tile_Op<"convert_layout", [Pure]> {
  let summary = "the same tensor in other registers";
  let description = [{
    Operand and result differ in their encoding only. What that costs follows
    from the two layouts: nothing, renamed registers, shuffles, or a way through
    shared memory (docs/compiler/layouts.md).

    ```mlir
    // %x: tensor<32xf32, #tile.linear<32, register = [], lane = [[1], [2], [4], [8], [16]], warp = []>>
    %y = tile.convert_layout %x : tensor<32xf32, #tile.linear<32, register = [], lane = [[1], [2], [4], [8], [16]], warp = []>> -> tensor<32xf32, #tile.linear<32, register = [[1]], lane = [[2], [4], [8], [16], [0]], warp = []>>
    ```
  }];
  let arguments = (ins Tile_Tensor:$src);
  let results = (outs Tile_Tensor:$result);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

#endif // TILE_LAYOUT_OPS_TD
