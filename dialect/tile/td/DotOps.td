// dialect/tile/td/DotOps.td - matrix products.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#ifndef TILE_DOT_OPS_TD
#define TILE_DOT_OPS_TD

include "dialect/tile/td/TileEnums.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tile_DotOp : Tile_Op<"dot", [Pure, AllTypesMatch<["acc", "result"]>]> {
  let summary = "acc + a * b";
  let description = [{
    a is [M, K], b is [K, N], acc and the result are [M, N]; with a dimension
    in front, [B, M, K] and so on, one product for each of its indices. 16-bit and fp32
    operands accumulate in fp32, fp64 in fp64, i8 in i32. `precision` says how
    a GPU reads fp32 operands; cpu always computes IEEE products.

    `by` names what computes the dot on a GPU, and `because` why it is `fma`: the
    pass `tessera-dot-instructions` decides both, once. The verifier knows which
    elements an instruction multiplies, and, where tensors have layouts, whether
    each lane has the fragments.

    ```mlir
    // %a: tensor<16x32xf32>, %b: tensor<32x8xf32>, %c: tensor<16x8xf32>
    %d = tile.dot %a, %b, %c ieee : tensor<16x32xf32>, tensor<32x8xf32> -> tensor<16x8xf32>
    %e = tile.dot %a, %b, %c tf32 by mma_m16n8k8 : tensor<16x32xf32>, tensor<32x8xf32> -> tensor<16x8xf32>
    ```
  }];
  let arguments = (ins Tile_NumberTensor:$a, Tile_NumberTensor:$b,
                       Tile_NumberTensor:$acc, Tile_PrecisionAttr:$precision,
                       OptionalAttr<Tile_DotInstructionAttr>:$instruction,
                       OptionalAttr<Tile_FmaReasonAttr>:$reason);
  let results = (outs Tile_NumberTensor:$result);
  let assemblyFormat = [{
    $a `,` $b `,` $acc $precision (`by` $instruction^)? (`because` $reason^)? attr-dict
    `:` type($a) `,` type($b) `->` type($result)
  }];
  let hasVerifier = 1;
}

#endif // TILE_DOT_OPS_TD
