// RUN: tessera-opt %s -tessera-dot-instructions -tessera-swap-operands=num-warps=4 | FileCheck %s
// RUN: %docblock-layouts.md swap.before > %t.before
// RUN: tessera-opt %s | FileCheck %t.before
// RUN: %docblock-layouts.md swap.after > %t.after
// RUN: tessera-opt %s -tessera-dot-instructions -tessera-swap-operands=num-warps=4 | FileCheck %t.after

// 4 rows would be copied to 16: as columns they are copied to 8.
// CHECK-LABEL: @few_rows(
// CHECK-SAME: %[[A:.*]]: tensor<4x64xf32>, %[[B:.*]]: tensor<64x64xf32>, %[[C:.*]]: tensor<4x64xf32>
// CHECK-DAG: %[[BT:.*]] = tile.trans %[[B]] [1, 0]
// CHECK-DAG: %[[AT:.*]] = tile.trans %[[A]] [1, 0]
// CHECK-DAG: %[[CT:.*]] = tile.trans %[[C]] [1, 0]
// CHECK: %[[D:.*]] = tile.dot %[[BT]], %[[AT]], %[[CT]] tf32 by mma_m16n8k8 : tensor<64x64xf32>, tensor<64x4xf32> -> tensor<64x4xf32>
// CHECK: %[[R:.*]] = tile.trans %[[D]] [1, 0] : tensor<64x4xf32> -> tensor<4x64xf32>
// CHECK: return %[[R]]
func.func @few_rows(%a: tensor<4x64xf32>, %b: tensor<64x64xf32>, %c: tensor<4x64xf32>) -> tensor<4x64xf32> {
  %d = tile.dot %a, %b, %c tf32 : tensor<4x64xf32>, tensor<64x64xf32> -> tensor<4x64xf32>
  return %d : tensor<4x64xf32>
}

// A transpose of a transpose is nothing: K^T is read as it is stored.
// CHECK-LABEL: @transposed(
// CHECK-SAME: %[[Q:.*]]: tensor<8x64xbf16>, %[[K:.*]]: tensor<128x64xbf16>
// CHECK: tile.dot %[[K]], {{.*}} : tensor<128x64xbf16>, tensor<64x8xbf16> -> tensor<128x8xf32>
func.func @transposed(%q: tensor<8x64xbf16>, %k: tensor<128x64xbf16>) -> tensor<8x128xf32> {
  %z = arith.constant dense<0.0> : tensor<8x128xf32>
  %t = tile.trans %k [1, 0] : tensor<128x64xbf16> -> tensor<64x128xbf16>
  %d = tile.dot %q, %t, %z tf32 : tensor<8x64xbf16>, tensor<64x128xbf16> -> tensor<8x128xf32>
  return %d : tensor<8x128xf32>
}

// A batch in front stays there.
// CHECK-LABEL: @batch
// CHECK: tile.dot {{.*}} : tensor<2x64x16xbf16>, tensor<2x16x8xbf16> -> tensor<2x64x8xf32>
func.func @batch(%a: tensor<2x8x16xbf16>, %b: tensor<2x16x64xbf16>, %c: tensor<2x8x64xf32>) -> tensor<2x8x64xf32> {
  %d = tile.dot %a, %b, %c tf32 : tensor<2x8x16xbf16>, tensor<2x16x64xbf16> -> tensor<2x8x64xf32>
  return %d : tensor<2x8x64xf32>
}

// Nothing to gain: 16 rows; two instructions for four warps either way;
// multiply-adds.
// CHECK-LABEL: @nothing_to_gain
// CHECK-NOT: tile.trans
func.func @nothing_to_gain(%a: tensor<16x64xbf16>, %b: tensor<64x64xbf16>, %c: tensor<16x64xf32>,
                           %e: tensor<4x32xbf16>, %f: tensor<32x32xbf16>, %g: tensor<4x32xf32>,
                           %h: tensor<4x64xf32>, %i: tensor<64x64xf32>, %j: tensor<4x64xf32>)
    -> (tensor<16x64xf32>, tensor<4x32xf32>, tensor<4x64xf32>) {
  %d = tile.dot %a, %b, %c tf32 : tensor<16x64xbf16>, tensor<64x64xbf16> -> tensor<16x64xf32>
  %k = tile.dot %e, %f, %g tf32 : tensor<4x32xbf16>, tensor<32x32xbf16> -> tensor<4x32xf32>
  %l = tile.dot %h, %i, %j ieee : tensor<4x64xf32>, tensor<64x64xf32> -> tensor<4x64xf32>
  return %d, %k, %l : tensor<16x64xf32>, tensor<4x32xf32>, tensor<4x64xf32>
}
