// Integers that all lanes of a warp combine take one instruction a row, which leaves the row in every lane: nothing is shared out. The same sums of
// floats are.
// RUN: tessera-opt %s -tessera-dot-instructions -tessera-coalesce=num-warps=1 -tessera-dot-layouts=num-warps=1 -tessera-assign-layouts=num-warps=1 -cse | FileCheck %s
// RUN: tessera-lower %s --num-warps=1 | FileCheck %s --check-prefix=PTX

// CHECK-DAG: [[EVERY:#linear[0-9]*]] = #tile.linear<32, register = {{\[\[}}1], [2], [4], [8], [16]], lane = {{\[\[}}0], [0], [0], [0], [0]], warp = []>
// CHECK-DAG: [[SHARE:#linear[0-9]*]] = #tile.linear<32, register = [], lane = {{\[\[}}16], [8], [4], [2], [1]], warp = []>
// CHECK-LABEL: @counts
// CHECK: tile.reduce{{ +}}sum {{.*}} -> tensor<32xi32, [[EVERY]]>
// PTX-LABEL: .entry counts(
// PTX-COUNT-32: redux.sync.add.s32
// PTX-NOT: shfl
// PTX: ret
func.func @counts(%P: !tile.ptr<i32>, %O: !tile.ptr<i32>) {
  %r = tile.range 0, 32 : tensor<32xi32>
  %a = tile.expand_dims %r, 1 : tensor<32xi32> -> tensor<32x1xi32>
  %b = tile.expand_dims %r, 0 : tensor<32xi32> -> tensor<1x32xi32>
  %ab = tile.broadcast %a : tensor<32x1xi32> -> tensor<32x32xi32>
  %bb = tile.broadcast %b : tensor<1x32xi32> -> tensor<32x32xi32>
  %c32 = arith.constant dense<32> : tensor<32x32xi32>
  %row = arith.muli %bb, %c32 : tensor<32x32xi32>
  %o = arith.addi %row, %ab : tensor<32x32xi32>
  %ps = tile.splat %P : !tile.ptr<i32> -> tensor<32x32x!tile.ptr<i32>>
  %p = tile.addptr %ps, %o : tensor<32x32x!tile.ptr<i32>>, tensor<32x32xi32>
  %x = tile.load %p : tensor<32x32x!tile.ptr<i32>>
  %s = tile.reduce sum %x, 0 : tensor<32x32xi32> -> tensor<32xi32>
  %os = tile.splat %O : !tile.ptr<i32> -> tensor<32x!tile.ptr<i32>>
  %op = tile.addptr %os, %r : tensor<32x!tile.ptr<i32>>, tensor<32xi32>
  tile.store %op, %s : tensor<32x!tile.ptr<i32>>, tensor<32xi32>
  return
}

// CHECK-LABEL: @sums
// CHECK: tile.reduce{{ +}}sum {{.*}} -> tensor<32xf32, [[SHARE]]>
// PTX-LABEL: .entry sums(
// PTX-COUNT-31: shfl.sync.bfly.b32
// PTX-NOT: shfl
// PTX: ret
func.func @sums(%P: !tile.ptr<f32>, %O: !tile.ptr<f32>) {
  %r = tile.range 0, 32 : tensor<32xi32>
  %a = tile.expand_dims %r, 1 : tensor<32xi32> -> tensor<32x1xi32>
  %b = tile.expand_dims %r, 0 : tensor<32xi32> -> tensor<1x32xi32>
  %ab = tile.broadcast %a : tensor<32x1xi32> -> tensor<32x32xi32>
  %bb = tile.broadcast %b : tensor<1x32xi32> -> tensor<32x32xi32>
  %c32 = arith.constant dense<32> : tensor<32x32xi32>
  %row = arith.muli %bb, %c32 : tensor<32x32xi32>
  %o = arith.addi %row, %ab : tensor<32x32xi32>
  %ps = tile.splat %P : !tile.ptr<f32> -> tensor<32x32x!tile.ptr<f32>>
  %p = tile.addptr %ps, %o : tensor<32x32x!tile.ptr<f32>>, tensor<32x32xi32>
  %x = tile.load %p : tensor<32x32x!tile.ptr<f32>>
  %s = tile.reduce sum %x, 0 : tensor<32x32xf32> -> tensor<32xf32>
  %os = tile.splat %O : !tile.ptr<f32> -> tensor<32x!tile.ptr<f32>>
  %op = tile.addptr %os, %r : tensor<32x!tile.ptr<f32>>, tensor<32xi32>
  tile.store %op, %s : tensor<32x!tile.ptr<f32>>, tensor<32xf32>
  return
}
