// A nest that reads a matrix has its vectors along the matrix' rows, however many columns it also reads: those are scalars then.
// SPDX-License-Identifier: Apache-2.0
// RUN: tessera-opt %s --tessera-lower-to-loops=target=cpu:x86-64-v3:0000 | FileCheck %s

// exp2(s - lse[:, None]) * delta[:, None]: s is read a vector at a time; eight elements put together would insert the last one at 7.
// CHECK-NOT: %c7_i32
// CHECK: math.exp2 {{.*}} : vector<8xf32>
// CHECK-NOT: %c7_i32
func.func @columns(%arg0: !tile.ptr<f32>, %arg1: !tile.ptr<f32>, %arg2: !tile.ptr<f32>, %arg3: !tile.ptr<f32>) {
  %cst = arith.constant dense<0.000000e+00> : tensor<16x16xf32>
  %cst_0 = arith.constant dense<3.000000e+00> : tensor<16xf32>
  %cst_1 = arith.constant dense<2.000000e+00> : tensor<16xf32>
  %cst_2 = arith.constant dense<16> : tensor<16x1xi32>
  %c16_i32 = arith.constant 16 : i32
  %0 = tile.range 0, 16 : tensor<16xi32>
  %1 = tile.expand_dims %0, 1 : tensor<16xi32> -> tensor<16x1xi32>
  %2 = arith.muli %1, %cst_2 : tensor<16x1xi32>
  %3 = tile.splat %arg0 : !tile.ptr<f32> -> tensor<16x1x!tile.ptr<f32>>
  %4 = tile.addptr %3, %2 : tensor<16x1x!tile.ptr<f32>>, tensor<16x1xi32>
  %5 = tile.expand_dims %0, 0 : tensor<16xi32> -> tensor<1x16xi32>
  %6 = tile.broadcast %4 : tensor<16x1x!tile.ptr<f32>> -> tensor<16x16x!tile.ptr<f32>>
  %7 = tile.broadcast %5 : tensor<1x16xi32> -> tensor<16x16xi32>
  %8 = tile.addptr %6, %7 : tensor<16x16x!tile.ptr<f32>>, tensor<16x16xi32>
  %9 = tile.load %8 : tensor<16x16x!tile.ptr<f32>> 
  %10 = tile.splat %arg2 : !tile.ptr<f32> -> tensor<16x1x!tile.ptr<f32>>
  %11 = tile.addptr %10, %2 : tensor<16x1x!tile.ptr<f32>>, tensor<16x1xi32>
  %12 = tile.broadcast %11 : tensor<16x1x!tile.ptr<f32>> -> tensor<16x16x!tile.ptr<f32>>
  %13 = tile.addptr %12, %7 : tensor<16x16x!tile.ptr<f32>>, tensor<16x16xi32>
  %14 = tile.load %13 : tensor<16x16x!tile.ptr<f32>> 
  %15 = tile.splat %arg1 : !tile.ptr<f32> -> tensor<16x!tile.ptr<f32>>
  %16 = tile.addptr %15, %0 : tensor<16x!tile.ptr<f32>>, tensor<16xi32>
  %17 = tile.load %16 : tensor<16x!tile.ptr<f32>> 
  %18 = arith.mulf %17, %cst_1 : tensor<16xf32>
  %19 = tile.addptr %arg1, %c16_i32 : !tile.ptr<f32>, i32
  %20 = tile.splat %19 : !tile.ptr<f32> -> tensor<16x!tile.ptr<f32>>
  %21 = tile.addptr %20, %0 : tensor<16x!tile.ptr<f32>>, tensor<16xi32>
  %22 = tile.load %21 : tensor<16x!tile.ptr<f32>> 
  %23 = arith.mulf %22, %cst_0 : tensor<16xf32>
  %24 = tile.dot %9, %14, %cst  ieee : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  %25 = tile.expand_dims %18, 1 : tensor<16xf32> -> tensor<16x1xf32>
  %26 = tile.broadcast %25 : tensor<16x1xf32> -> tensor<16x16xf32>
  %27 = arith.subf %24, %26 : tensor<16x16xf32>
  %28 = math.exp2 %27 : tensor<16x16xf32>
  %29 = tile.expand_dims %23, 1 : tensor<16xf32> -> tensor<16x1xf32>
  %30 = tile.broadcast %29 : tensor<16x1xf32> -> tensor<16x16xf32>
  %31 = arith.mulf %28, %30 : tensor<16x16xf32>
  %32 = tile.dot %31, %14, %cst  ieee : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  %33 = tile.splat %arg3 : !tile.ptr<f32> -> tensor<16x1x!tile.ptr<f32>>
  %34 = tile.addptr %33, %2 : tensor<16x1x!tile.ptr<f32>>, tensor<16x1xi32>
  %35 = tile.broadcast %34 : tensor<16x1x!tile.ptr<f32>> -> tensor<16x16x!tile.ptr<f32>>
  %36 = tile.addptr %35, %7 : tensor<16x16x!tile.ptr<f32>>, tensor<16x16xi32>
  tile.store %36, %32 : tensor<16x16x!tile.ptr<f32>>, tensor<16x16xf32> 
  return
}
