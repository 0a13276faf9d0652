// dialect/tile/td/ShapeOps.td - making tensors and changing their shape.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#ifndef TILE_SHAPE_OPS_TD
#define TILE_SHAPE_OPS_TD

include "dialect/tile/td/TileBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Tile_ShapeOp<string mnemonic, list<Trait> traits = []>
    : Tile_Op<mnemonic, !listconcat([Pure], traits)> {
  let hasVerifier = 1;
}

def Tile_RangeOp : Tile_ShapeOp<"range"> {
  let summary = "consecutive integers";
  let description = [{
    result[i] = start + i, for i < end - start.

    ```mlir
    %r = tile.range 0, 16 : tensor<16xi32>
    ```
  }];
  let arguments = (ins I32Attr:$start, I32Attr:$end);
  let results = (outs RankedTensorOf<[I32]>:$result);
  let assemblyFormat = "$start `,` $end attr-dict `:` type($result)";
}

def Tile_SplatOp : Tile_ShapeOp<"splat"> {
  let summary = "a scalar in every element";
  let description = [{
    ```mlir
    // %x: f32
    %t = tile.splat %x : f32 -> tensor<8x4xf32>
    ```
  }];
  let arguments = (ins Tile_Element:$src);
  let results = (outs Tile_Tensor:$result);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($result)";
  let hasFolder = 1;
}

def Tile_ExpandDimsOp : Tile_ShapeOp<"expand_dims"> {
  let summary = "a new dimension of size 1";
  let description = [{
    `axis` is the position of the new dimension in the result.

    ```mlir
    // %r: tensor<16xi32>
    %c = tile.expand_dims %r, 1 : tensor<16xi32> -> tensor<16x1xi32>
    ```
  }];
  let arguments = (ins Tile_Tensor:$src, I32Attr:$axis);
  let results = (outs Tile_Tensor:$result);
  let assemblyFormat = "$src `,` $axis attr-dict `:` type($src) `->` type($result)";
  let hasFolder = 1;
}

def Tile_BroadcastOp : Tile_ShapeOp<"broadcast"> {
  let summary = "repetition along dimensions of size 1";
  let description = [{
    The ranks are equal; a dimension may only grow from 1.

    ```mlir
    // %c: tensor<16x1xi32>
    %b = tile.broadcast %c : tensor<16x1xi32> -> tensor<16x32xi32>
    ```
  }];
  let arguments = (ins Tile_Tensor:$src);
  let results = (outs Tile_Tensor:$result);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($result)";
  let hasFolder = 1;
}

def Tile_ReshapeOp : Tile_ShapeOp<"reshape"> {
  let summary = "the same elements in row-major order in another shape";
  let description = [{
    ```mlir
    // %x: tensor<4x8xf32>
    %v = tile.reshape %x : tensor<4x8xf32> -> tensor<32xf32>
    ```
  }];
  let arguments = (ins Tile_Tensor:$src);
  let results = (outs Tile_Tensor:$result);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($result)";
  let hasFolder = 1;
}

def Tile_TransOp : Tile_ShapeOp<"trans"> {
  let summary = "permuted dimensions";
  let description = [{
    Dimension d of the result is dimension `order[d]` of the source.

    ```mlir
    // %x: tensor<4x8xf32>
    %t = tile.trans %x [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
    ```
  }];
  let arguments = (ins Tile_Tensor:$src, DenseI32ArrayAttr:$order);
  let results = (outs Tile_Tensor:$result);
  let assemblyFormat = "$src $order attr-dict `:` type($src) `->` type($result)";
  let hasFolder = 1;
}

def Tile_JoinOp : Tile_ShapeOp<"join", [SameTypeOperands]> {
  let summary = "two tensors side by side in a new last dimension of size 2";
  let description = [{
    result[..., 0] = lhs[...], result[..., 1] = rhs[...].

    ```mlir
    // %a: tensor<8xf32>, %b: tensor<8xf32>
    %j = tile.join %a, %b : tensor<8xf32> -> tensor<8x2xf32>
    ```
  }];
  let arguments = (ins Tile_Tensor:$lhs, Tile_Tensor:$rhs);
  let results = (outs Tile_Tensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)";
}

def Tile_SplitOp : Tile_ShapeOp<"split", [AllTypesMatch<["lhs", "rhs"]>]> {
  let summary = "the halves of a last dimension of size 2; the inverse of join";
  let description = [{
    ```mlir
    // %j: tensor<8x2xf32>
    %a, %b = tile.split %j : tensor<8x2xf32> -> tensor<8xf32>
    ```
  }];
  let arguments = (ins Tile_Tensor:$src);
  let results = (outs Tile_Tensor:$lhs, Tile_Tensor:$rhs);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($lhs)";
}

#endif // TILE_SHAPE_OPS_TD
