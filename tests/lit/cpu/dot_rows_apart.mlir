// Rows of a dot's right operand that are 512 bytes long have a cache line between them: a strip of a few columns would lie in few sets.
// SPDX-License-Identifier: Apache-2.0
// RUN: tessera-opt %s --tessera-lower-to-loops=target=cpu:x86-64-v3:0000 --split-input-file | FileCheck %s

// The accumulator (4096 bytes), the left operand (512), and 16 rows of 576.
// CHECK: tessera.scratch_bytes = 13824 : i64
func.func @padded(%a: !tile.ptr<f32>, %b: !tile.ptr<f32>, %c: !tile.ptr<f32>) {
  %zero = arith.constant dense<0.000000e+00> : tensor<8x128xf32>
  %columns = arith.constant dense<128> : tensor<16x1xi32>
  %columns_0 = arith.constant dense<128> : tensor<8x1xi32>
  %depth = arith.constant dense<16> : tensor<8x1xi32>
  %m = tile.range 0, 8 : tensor<8xi32>
  %k = tile.range 0, 16 : tensor<16xi32>
  %n = tile.range 0, 128 : tensor<128xi32>
  %m1 = tile.expand_dims %m, 1 : tensor<8xi32> -> tensor<8x1xi32>
  %k0 = tile.expand_dims %k, 0 : tensor<16xi32> -> tensor<1x16xi32>
  %k1 = tile.expand_dims %k, 1 : tensor<16xi32> -> tensor<16x1xi32>
  %n0 = tile.expand_dims %n, 0 : tensor<128xi32> -> tensor<1x128xi32>
  %am = arith.muli %m1, %depth : tensor<8x1xi32>
  %as = tile.splat %a : !tile.ptr<f32> -> tensor<8x1x!tile.ptr<f32>>
  %ar = tile.addptr %as, %am : tensor<8x1x!tile.ptr<f32>>, tensor<8x1xi32>
  %ab = tile.broadcast %ar : tensor<8x1x!tile.ptr<f32>> -> tensor<8x16x!tile.ptr<f32>>
  %ak = tile.broadcast %k0 : tensor<1x16xi32> -> tensor<8x16xi32>
  %ap = tile.addptr %ab, %ak : tensor<8x16x!tile.ptr<f32>>, tensor<8x16xi32>
  %left = tile.load %ap : tensor<8x16x!tile.ptr<f32>>
  %bk = arith.muli %k1, %columns : tensor<16x1xi32>
  %bs = tile.splat %b : !tile.ptr<f32> -> tensor<16x1x!tile.ptr<f32>>
  %br = tile.addptr %bs, %bk : tensor<16x1x!tile.ptr<f32>>, tensor<16x1xi32>
  %bb = tile.broadcast %br : tensor<16x1x!tile.ptr<f32>> -> tensor<16x128x!tile.ptr<f32>>
  %bn = tile.broadcast %n0 : tensor<1x128xi32> -> tensor<16x128xi32>
  %bp = tile.addptr %bb, %bn : tensor<16x128x!tile.ptr<f32>>, tensor<16x128xi32>
  %right = tile.load %bp : tensor<16x128x!tile.ptr<f32>>
  %cm = arith.muli %m1, %columns_0 : tensor<8x1xi32>
  %cs = tile.splat %c : !tile.ptr<f32> -> tensor<8x1x!tile.ptr<f32>>
  %cr = tile.addptr %cs, %cm : tensor<8x1x!tile.ptr<f32>>, tensor<8x1xi32>
  %cb = tile.broadcast %cr : tensor<8x1x!tile.ptr<f32>> -> tensor<8x128x!tile.ptr<f32>>
  %cn = tile.broadcast %n0 : tensor<1x128xi32> -> tensor<8x128xi32>
  %cp = tile.addptr %cb, %cn : tensor<8x128x!tile.ptr<f32>>, tensor<8x128xi32>
  %dot = tile.dot %left, %right, %zero ieee : tensor<8x16xf32>, tensor<16x128xf32> -> tensor<8x128xf32>
  tile.store %cp, %dot : tensor<8x128x!tile.ptr<f32>>, tensor<8x128xf32>
  return
}

// -----

// Another reader of the matrix expects rows without a gap.
// CHECK: tessera.scratch_bytes = 12800 : i64
func.func @read_twice(%a: !tile.ptr<f32>, %b: !tile.ptr<f32>, %c: !tile.ptr<f32>) {
  %zero = arith.constant dense<0.000000e+00> : tensor<8x128xf32>
  %columns = arith.constant dense<128> : tensor<16x1xi32>
  %columns_0 = arith.constant dense<128> : tensor<8x1xi32>
  %depth = arith.constant dense<16> : tensor<8x1xi32>
  %m = tile.range 0, 8 : tensor<8xi32>
  %k = tile.range 0, 16 : tensor<16xi32>
  %n = tile.range 0, 128 : tensor<128xi32>
  %m1 = tile.expand_dims %m, 1 : tensor<8xi32> -> tensor<8x1xi32>
  %k0 = tile.expand_dims %k, 0 : tensor<16xi32> -> tensor<1x16xi32>
  %k1 = tile.expand_dims %k, 1 : tensor<16xi32> -> tensor<16x1xi32>
  %n0 = tile.expand_dims %n, 0 : tensor<128xi32> -> tensor<1x128xi32>
  %am = arith.muli %m1, %depth : tensor<8x1xi32>
  %as = tile.splat %a : !tile.ptr<f32> -> tensor<8x1x!tile.ptr<f32>>
  %ar = tile.addptr %as, %am : tensor<8x1x!tile.ptr<f32>>, tensor<8x1xi32>
  %ab = tile.broadcast %ar : tensor<8x1x!tile.ptr<f32>> -> tensor<8x16x!tile.ptr<f32>>
  %ak = tile.broadcast %k0 : tensor<1x16xi32> -> tensor<8x16xi32>
  %ap = tile.addptr %ab, %ak : tensor<8x16x!tile.ptr<f32>>, tensor<8x16xi32>
  %left = tile.load %ap : tensor<8x16x!tile.ptr<f32>>
  %bk = arith.muli %k1, %columns : tensor<16x1xi32>
  %bs = tile.splat %b : !tile.ptr<f32> -> tensor<16x1x!tile.ptr<f32>>
  %br = tile.addptr %bs, %bk : tensor<16x1x!tile.ptr<f32>>, tensor<16x1xi32>
  %bb = tile.broadcast %br : tensor<16x1x!tile.ptr<f32>> -> tensor<16x128x!tile.ptr<f32>>
  %bn = tile.broadcast %n0 : tensor<1x128xi32> -> tensor<16x128xi32>
  %bp = tile.addptr %bb, %bn : tensor<16x128x!tile.ptr<f32>>, tensor<16x128xi32>
  %right = tile.load %bp : tensor<16x128x!tile.ptr<f32>>
  %cm = arith.muli %m1, %columns_0 : tensor<8x1xi32>
  %cs = tile.splat %c : !tile.ptr<f32> -> tensor<8x1x!tile.ptr<f32>>
  %cr = tile.addptr %cs, %cm : tensor<8x1x!tile.ptr<f32>>, tensor<8x1xi32>
  %cb = tile.broadcast %cr : tensor<8x1x!tile.ptr<f32>> -> tensor<8x128x!tile.ptr<f32>>
  %cn = tile.broadcast %n0 : tensor<1x128xi32> -> tensor<8x128xi32>
  %cp = tile.addptr %cb, %cn : tensor<8x128x!tile.ptr<f32>>, tensor<8x128xi32>
  %dot = tile.dot %left, %right, %zero ieee : tensor<8x16xf32>, tensor<16x128xf32> -> tensor<8x128xf32>
  tile.store %cp, %dot : tensor<8x128x!tile.ptr<f32>>, tensor<8x128xf32>
  tile.store %bp, %right : tensor<16x128x!tile.ptr<f32>>, tensor<16x128xf32>
  return
}
