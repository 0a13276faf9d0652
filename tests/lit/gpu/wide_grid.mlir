// With more than 2^21 programs along x a product of 32 bits may wrap, and a quotient has a sign to correct.
// RUN: tessera-lower %s --laid-out --num-warps=1 | FileCheck %s

#row = #tile.linear<32, register = [], lane = [[1], [2], [4], [8], [16]], warp = []>

module attributes {tessera.wide_grid} {
// CHECK-LABEL: .entry along_x(
// CHECK: shr.s32
// CHECK: st.global
func.func @along_x(%p: !tile.ptr<i32>) {
  %size = arith.constant 32 : i32
  %pid = tile.program_id 0 : i32
  %start = arith.muli %pid, %size : i32
  %s = tile.splat %start : i32 -> tensor<32xi32, #row>
  %r = tile.range 0, 32 : tensor<32xi32, #row>
  %t = arith.addi %s, %r : tensor<32xi32, #row>
  %d = arith.constant dense<32> : tensor<32xi32, #row>
  %q = arith.divsi %t, %d : tensor<32xi32, #row>
  %ps = tile.splat %p : !tile.ptr<i32> -> tensor<32x!tile.ptr<i32>, #row>
  %pp = tile.addptr %ps, %r : tensor<32x!tile.ptr<i32>, #row>, tensor<32xi32, #row>
  tile.store %pp, %q : tensor<32x!tile.ptr<i32>, #row>, tensor<32xi32, #row>
  return
}

// Along y a grid has 65,535 programs at most.
// CHECK-LABEL: .entry along_y(
// CHECK-NOT: sh{{[rl]}}.s32
// CHECK: st.global
func.func @along_y(%p: !tile.ptr<i32>) {
  %size = arith.constant 32 : i32
  %pid = tile.program_id 1 : i32
  %start = arith.muli %pid, %size : i32
  %s = tile.splat %start : i32 -> tensor<32xi32, #row>
  %r = tile.range 0, 32 : tensor<32xi32, #row>
  %t = arith.addi %s, %r : tensor<32xi32, #row>
  %d = arith.constant dense<32> : tensor<32xi32, #row>
  %q = arith.divsi %t, %d : tensor<32xi32, #row>
  %ps = tile.splat %p : !tile.ptr<i32> -> tensor<32x!tile.ptr<i32>, #row>
  %pp = tile.addptr %ps, %r : tensor<32x!tile.ptr<i32>, #row>, tensor<32xi32, #row>
  tile.store %pp, %q : tensor<32x!tile.ptr<i32>, #row>, tensor<32xi32, #row>
  return
}
}
