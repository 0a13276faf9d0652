// Folds of the tile ops.
// RUN: tessera-opt %s -canonicalize | FileCheck %s

// CHECK-LABEL: @splat_of_constant
// CHECK-NEXT: %[[C:.*]] = arith.constant dense<1.500000e+00> : tensor<8x4xf32>
// CHECK-NEXT: return %[[C]]
func.func @splat_of_constant() -> tensor<8x4xf32> {
  %x = arith.constant 1.5 : f32
  %t = tile.splat %x : f32 -> tensor<8x1xf32>
  %b = tile.broadcast %t : tensor<8x1xf32> -> tensor<8x4xf32>
  return %b : tensor<8x4xf32>
}

// CHECK-LABEL: @trans_of_trans
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>
// CHECK-NEXT: return %[[X]]
func.func @trans_of_trans(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %a = tile.trans %x [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  %b = tile.trans %a [1, 0] : tensor<8x4xf32> -> tensor<4x8xf32>
  return %b : tensor<4x8xf32>
}

// p = [1, 2, 0] and q = [2, 1, 0]: dimension d of the result is dimension p[q[d]] of x.
// CHECK-LABEL: @trans_composes
// CHECK: tile.trans %{{.*}} [0, 2, 1] : tensor<2x4x8xf32> -> tensor<2x8x4xf32>
func.func @trans_composes(%x: tensor<2x4x8xf32>) -> tensor<2x8x4xf32> {
  %a = tile.trans %x [1, 2, 0] : tensor<2x4x8xf32> -> tensor<4x8x2xf32>
  %b = tile.trans %a [2, 1, 0] : tensor<4x8x2xf32> -> tensor<2x8x4xf32>
  return %b : tensor<2x8x4xf32>
}

// CHECK-LABEL: @addptr_zero
// CHECK-SAME: %[[P:.*]]: !tile.ptr<f32>
// CHECK-NEXT: return %[[P]]
func.func @addptr_zero(%p: !tile.ptr<f32>) -> !tile.ptr<f32> {
  %z = arith.constant 0 : i64
  %q = tile.addptr %p, %z : !tile.ptr<f32>, i64
  return %q : !tile.ptr<f32>
}

// 1.01171875 lies midway between two bf16 values; ties go to the even one, truncation goes down.
// CHECK-LABEL: @convert_rounds
// CHECK-DAG: dense<1.015630e+00> : tensor<4xbf16>
// CHECK-DAG: dense<1.007810e+00> : tensor<4xbf16>
func.func @convert_rounds() -> (tensor<4xbf16>, tensor<4xbf16>) {
  %x = arith.constant dense<1.01171875> : tensor<4xf32>
  %a = tile.convert %x rtne : tensor<4xf32> -> tensor<4xbf16>
  %b = tile.convert %x rtz : tensor<4xf32> -> tensor<4xbf16>
  return %a, %b : tensor<4xbf16>, tensor<4xbf16>
}

// CHECK-LABEL: @reshape_of_reshape
// CHECK: tile.reshape %{{.*}} : tensor<4x8xf32> -> tensor<32xf32>
// CHECK-NOT: tile.reshape
func.func @reshape_of_reshape(%x: tensor<4x8xf32>) -> tensor<32xf32> {
  %a = tile.reshape %x : tensor<4x8xf32> -> tensor<2x16xf32>
  %b = tile.reshape %a : tensor<2x16xf32> -> tensor<32xf32>
  return %b : tensor<32xf32>
}
