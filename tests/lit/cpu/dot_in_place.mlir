// A dot whose rows fit into registers at once reads rows of neighbouring elements where they lie: a copy would be read once, too.
// SPDX-License-Identifier: Apache-2.0
// RUN: tessera-opt %s --tessera-lower-to-loops=target=cpu:x86-64-v3:0000 --split-input-file | FileCheck %s

// Four rows: the accumulator (128 bytes) and the left operand (256) alone.
// CHECK: tessera.scratch_bytes = 384 : i64
func.func @in_place(%arg0: !tile.ptr<f32>, %arg1: !tile.ptr<f32>, %arg2: !tile.ptr<f32>) {
  %cst = arith.constant dense<0.000000e+00> : tensor<4x8xf32>
  %cst_0 = arith.constant dense<8> : tensor<4x1xi32>
  %cst_1 = arith.constant dense<8> : tensor<16x1xi32>
  %cst_2 = arith.constant dense<16> : tensor<4x1xi32>
  %0 = tile.range 0, 4 : tensor<4xi32>
  %1 = tile.range 0, 16 : tensor<16xi32>
  %2 = tile.range 0, 8 : tensor<8xi32>
  %3 = tile.expand_dims %0, 1 : tensor<4xi32> -> tensor<4x1xi32>
  %4 = arith.muli %3, %cst_2 : tensor<4x1xi32>
  %5 = tile.splat %arg0 : !tile.ptr<f32> -> tensor<4x1x!tile.ptr<f32>>
  %6 = tile.addptr %5, %4 : tensor<4x1x!tile.ptr<f32>>, tensor<4x1xi32>
  %7 = tile.expand_dims %1, 0 : tensor<16xi32> -> tensor<1x16xi32>
  %8 = tile.broadcast %6 : tensor<4x1x!tile.ptr<f32>> -> tensor<4x16x!tile.ptr<f32>>
  %9 = tile.broadcast %7 : tensor<1x16xi32> -> tensor<4x16xi32>
  %10 = tile.addptr %8, %9 : tensor<4x16x!tile.ptr<f32>>, tensor<4x16xi32>
  %11 = tile.load %10 : tensor<4x16x!tile.ptr<f32>>
  %12 = tile.expand_dims %1, 1 : tensor<16xi32> -> tensor<16x1xi32>
  %13 = arith.muli %12, %cst_1 : tensor<16x1xi32>
  %14 = tile.splat %arg1 : !tile.ptr<f32> -> tensor<16x1x!tile.ptr<f32>>
  %15 = tile.addptr %14, %13 : tensor<16x1x!tile.ptr<f32>>, tensor<16x1xi32>
  %16 = tile.expand_dims %2, 0 : tensor<8xi32> -> tensor<1x8xi32>
  %17 = tile.broadcast %15 : tensor<16x1x!tile.ptr<f32>> -> tensor<16x8x!tile.ptr<f32>>
  %18 = tile.broadcast %16 : tensor<1x8xi32> -> tensor<16x8xi32>
  %19 = tile.addptr %17, %18 : tensor<16x8x!tile.ptr<f32>>, tensor<16x8xi32>
  %20 = tile.load %19 : tensor<16x8x!tile.ptr<f32>>
  %21 = arith.muli %3, %cst_0 : tensor<4x1xi32>
  %22 = tile.splat %arg2 : !tile.ptr<f32> -> tensor<4x1x!tile.ptr<f32>>
  %23 = tile.addptr %22, %21 : tensor<4x1x!tile.ptr<f32>>, tensor<4x1xi32>
  %24 = tile.broadcast %23 : tensor<4x1x!tile.ptr<f32>> -> tensor<4x8x!tile.ptr<f32>>
  %25 = tile.broadcast %16 : tensor<1x8xi32> -> tensor<4x8xi32>
  %26 = tile.addptr %24, %25 : tensor<4x8x!tile.ptr<f32>>, tensor<4x8xi32>
  %27 = tile.dot %11, %20, %cst  ieee : tensor<4x16xf32>, tensor<16x8xf32> -> tensor<4x8xf32>
  tile.store %26, %27 : tensor<4x8x!tile.ptr<f32>>, tensor<4x8xf32>
  return
}

// -----

// Eight rows are two passes of AVX2: a copy of 512 bytes.
// CHECK: tessera.scratch_bytes = 1280 : i64
func.func @two_passes(%arg0: !tile.ptr<f32>, %arg1: !tile.ptr<f32>, %arg2: !tile.ptr<f32>) {
  %cst = arith.constant dense<0.000000e+00> : tensor<8x8xf32>
  %cst_0 = arith.constant dense<8> : tensor<8x1xi32>
  %cst_1 = arith.constant dense<8> : tensor<16x1xi32>
  %cst_2 = arith.constant dense<16> : tensor<8x1xi32>
  %0 = tile.range 0, 8 : tensor<8xi32>
  %1 = tile.range 0, 16 : tensor<16xi32>
  %2 = tile.expand_dims %0, 1 : tensor<8xi32> -> tensor<8x1xi32>
  %3 = arith.muli %2, %cst_2 : tensor<8x1xi32>
  %4 = tile.splat %arg0 : !tile.ptr<f32> -> tensor<8x1x!tile.ptr<f32>>
  %5 = tile.addptr %4, %3 : tensor<8x1x!tile.ptr<f32>>, tensor<8x1xi32>
  %6 = tile.expand_dims %1, 0 : tensor<16xi32> -> tensor<1x16xi32>
  %7 = tile.broadcast %5 : tensor<8x1x!tile.ptr<f32>> -> tensor<8x16x!tile.ptr<f32>>
  %8 = tile.broadcast %6 : tensor<1x16xi32> -> tensor<8x16xi32>
  %9 = tile.addptr %7, %8 : tensor<8x16x!tile.ptr<f32>>, tensor<8x16xi32>
  %10 = tile.load %9 : tensor<8x16x!tile.ptr<f32>>
  %11 = tile.expand_dims %1, 1 : tensor<16xi32> -> tensor<16x1xi32>
  %12 = arith.muli %11, %cst_1 : tensor<16x1xi32>
  %13 = tile.splat %arg1 : !tile.ptr<f32> -> tensor<16x1x!tile.ptr<f32>>
  %14 = tile.addptr %13, %12 : tensor<16x1x!tile.ptr<f32>>, tensor<16x1xi32>
  %15 = tile.expand_dims %0, 0 : tensor<8xi32> -> tensor<1x8xi32>
  %16 = tile.broadcast %14 : tensor<16x1x!tile.ptr<f32>> -> tensor<16x8x!tile.ptr<f32>>
  %17 = tile.broadcast %15 : tensor<1x8xi32> -> tensor<16x8xi32>
  %18 = tile.addptr %16, %17 : tensor<16x8x!tile.ptr<f32>>, tensor<16x8xi32>
  %19 = tile.load %18 : tensor<16x8x!tile.ptr<f32>>
  %20 = arith.muli %2, %cst_0 : tensor<8x1xi32>
  %21 = tile.splat %arg2 : !tile.ptr<f32> -> tensor<8x1x!tile.ptr<f32>>
  %22 = tile.addptr %21, %20 : tensor<8x1x!tile.ptr<f32>>, tensor<8x1xi32>
  %23 = tile.broadcast %22 : tensor<8x1x!tile.ptr<f32>> -> tensor<8x8x!tile.ptr<f32>>
  %24 = tile.broadcast %15 : tensor<1x8xi32> -> tensor<8x8xi32>
  %25 = tile.addptr %23, %24 : tensor<8x8x!tile.ptr<f32>>, tensor<8x8xi32>
  %26 = tile.dot %10, %19, %cst  ieee : tensor<8x16xf32>, tensor<16x8xf32> -> tensor<8x8xf32>
  tile.store %25, %26 : tensor<8x8x!tile.ptr<f32>>, tensor<8x8xf32>
  return
}

// -----

// Columns are copied into rows.
// CHECK: tessera.scratch_bytes = 896 : i64
func.func @columns(%arg0: !tile.ptr<f32>, %arg1: !tile.ptr<f32>, %arg2: !tile.ptr<f32>) {
  %cst = arith.constant dense<0.000000e+00> : tensor<4x8xf32>
  %cst_0 = arith.constant dense<8> : tensor<4x1xi32>
  %cst_1 = arith.constant dense<16> : tensor<1x8xi32>
  %cst_2 = arith.constant dense<16> : tensor<4x1xi32>
  %0 = tile.range 0, 4 : tensor<4xi32>
  %1 = tile.range 0, 16 : tensor<16xi32>
  %2 = tile.range 0, 8 : tensor<8xi32>
  %3 = tile.expand_dims %0, 1 : tensor<4xi32> -> tensor<4x1xi32>
  %4 = arith.muli %3, %cst_2 : tensor<4x1xi32>
  %5 = tile.splat %arg0 : !tile.ptr<f32> -> tensor<4x1x!tile.ptr<f32>>
  %6 = tile.addptr %5, %4 : tensor<4x1x!tile.ptr<f32>>, tensor<4x1xi32>
  %7 = tile.expand_dims %1, 0 : tensor<16xi32> -> tensor<1x16xi32>
  %8 = tile.broadcast %6 : tensor<4x1x!tile.ptr<f32>> -> tensor<4x16x!tile.ptr<f32>>
  %9 = tile.broadcast %7 : tensor<1x16xi32> -> tensor<4x16xi32>
  %10 = tile.addptr %8, %9 : tensor<4x16x!tile.ptr<f32>>, tensor<4x16xi32>
  %11 = tile.load %10 : tensor<4x16x!tile.ptr<f32>>
  %12 = tile.expand_dims %1, 1 : tensor<16xi32> -> tensor<16x1xi32>
  %13 = tile.splat %arg1 : !tile.ptr<f32> -> tensor<16x1x!tile.ptr<f32>>
  %14 = tile.addptr %13, %12 : tensor<16x1x!tile.ptr<f32>>, tensor<16x1xi32>
  %15 = tile.expand_dims %2, 0 : tensor<8xi32> -> tensor<1x8xi32>
  %16 = arith.muli %15, %cst_1 : tensor<1x8xi32>
  %17 = tile.broadcast %14 : tensor<16x1x!tile.ptr<f32>> -> tensor<16x8x!tile.ptr<f32>>
  %18 = tile.broadcast %16 : tensor<1x8xi32> -> tensor<16x8xi32>
  %19 = tile.addptr %17, %18 : tensor<16x8x!tile.ptr<f32>>, tensor<16x8xi32>
  %20 = tile.load %19 : tensor<16x8x!tile.ptr<f32>>
  %21 = arith.muli %3, %cst_0 : tensor<4x1xi32>
  %22 = tile.splat %arg2 : !tile.ptr<f32> -> tensor<4x1x!tile.ptr<f32>>
  %23 = tile.addptr %22, %21 : tensor<4x1x!tile.ptr<f32>>, tensor<4x1xi32>
  %24 = tile.broadcast %23 : tensor<4x1x!tile.ptr<f32>> -> tensor<4x8x!tile.ptr<f32>>
  %25 = tile.broadcast %15 : tensor<1x8xi32> -> tensor<4x8xi32>
  %26 = tile.addptr %24, %25 : tensor<4x8x!tile.ptr<f32>>, tensor<4x8xi32>
  %27 = tile.dot %11, %20, %cst  ieee : tensor<4x16xf32>, tensor<16x8xf32> -> tensor<4x8xf32>
  tile.store %26, %27 : tensor<4x8x!tile.ptr<f32>>, tensor<4x8xf32>
  return
}

// -----

// The store may change what the dot reads.
// CHECK: tessera.scratch_bytes = 896 : i64
func.func @written(%arg0: !tile.ptr<f32>, %arg1: !tile.ptr<f32>, %arg2: !tile.ptr<f32>) {
  %cst = arith.constant dense<0.000000e+00> : tensor<4x8xf32>
  %cst_0 = arith.constant dense<8> : tensor<4x1xi32>
  %cst_1 = arith.constant dense<1.000000e+00> : tensor<16xf32>
  %cst_2 = arith.constant dense<8> : tensor<16x1xi32>
  %cst_3 = arith.constant dense<16> : tensor<4x1xi32>
  %0 = tile.range 0, 4 : tensor<4xi32>
  %1 = tile.range 0, 16 : tensor<16xi32>
  %2 = tile.range 0, 8 : tensor<8xi32>
  %3 = tile.expand_dims %0, 1 : tensor<4xi32> -> tensor<4x1xi32>
  %4 = arith.muli %3, %cst_3 : tensor<4x1xi32>
  %5 = tile.splat %arg0 : !tile.ptr<f32> -> tensor<4x1x!tile.ptr<f32>>
  %6 = tile.addptr %5, %4 : tensor<4x1x!tile.ptr<f32>>, tensor<4x1xi32>
  %7 = tile.expand_dims %1, 0 : tensor<16xi32> -> tensor<1x16xi32>
  %8 = tile.broadcast %6 : tensor<4x1x!tile.ptr<f32>> -> tensor<4x16x!tile.ptr<f32>>
  %9 = tile.broadcast %7 : tensor<1x16xi32> -> tensor<4x16xi32>
  %10 = tile.addptr %8, %9 : tensor<4x16x!tile.ptr<f32>>, tensor<4x16xi32>
  %11 = tile.load %10 : tensor<4x16x!tile.ptr<f32>>
  %12 = tile.expand_dims %1, 1 : tensor<16xi32> -> tensor<16x1xi32>
  %13 = arith.muli %12, %cst_2 : tensor<16x1xi32>
  %14 = tile.splat %arg1 : !tile.ptr<f32> -> tensor<16x1x!tile.ptr<f32>>
  %15 = tile.addptr %14, %13 : tensor<16x1x!tile.ptr<f32>>, tensor<16x1xi32>
  %16 = tile.expand_dims %2, 0 : tensor<8xi32> -> tensor<1x8xi32>
  %17 = tile.broadcast %15 : tensor<16x1x!tile.ptr<f32>> -> tensor<16x8x!tile.ptr<f32>>
  %18 = tile.broadcast %16 : tensor<1x8xi32> -> tensor<16x8xi32>
  %19 = tile.addptr %17, %18 : tensor<16x8x!tile.ptr<f32>>, tensor<16x8xi32>
  %20 = tile.load %19 : tensor<16x8x!tile.ptr<f32>>
  %21 = tile.splat %arg2 : !tile.ptr<f32> -> tensor<16x!tile.ptr<f32>>
  %22 = tile.addptr %21, %1 : tensor<16x!tile.ptr<f32>>, tensor<16xi32>
  tile.store %22, %cst_1 : tensor<16x!tile.ptr<f32>>, tensor<16xf32>
  %23 = arith.muli %3, %cst_0 : tensor<4x1xi32>
  %24 = tile.splat %arg2 : !tile.ptr<f32> -> tensor<4x1x!tile.ptr<f32>>
  %25 = tile.addptr %24, %23 : tensor<4x1x!tile.ptr<f32>>, tensor<4x1xi32>
  %26 = tile.broadcast %25 : tensor<4x1x!tile.ptr<f32>> -> tensor<4x8x!tile.ptr<f32>>
  %27 = tile.broadcast %16 : tensor<1x8xi32> -> tensor<4x8xi32>
  %28 = tile.addptr %26, %27 : tensor<4x8x!tile.ptr<f32>>, tensor<4x8xi32>
  %29 = tile.dot %11, %20, %cst  ieee : tensor<4x16xf32>, tensor<16x8xf32> -> tensor<4x8xf32>
  tile.store %28, %29 : tensor<4x8x!tile.ptr<f32>>, tensor<4x8xf32>
  return
}
