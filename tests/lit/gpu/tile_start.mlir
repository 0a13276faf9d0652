// Where a tile starts is not negative: quotients of its rows are one quotient, without a correction of signs.
// RUN: tessera-lower %s --laid-out --num-warps=1 | FileCheck %s

#row = #tile.linear<32, register = [], lane = [[1], [2], [4], [8], [16]], warp = []>

// CHECK-LABEL: .entry along_x(
// CHECK-NOT: sh{{[rl]}}.s32
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

// No tile is that large along x: the product may be a number of another kind.
// CHECK-LABEL: .entry large(
// CHECK: shr.s32
// CHECK: st.global
func.func @large(%p: !tile.ptr<i32>) {
  %size = arith.constant 12352 : i32
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
