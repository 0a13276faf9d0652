// LLVM learns nothing of a divisor from its division: what is 0 is divided by, and a test that follows sees it.
// RUN: tessera-lower %s --laid-out --num-warps=1 | FileCheck %s

#row = #tile.linear<32, register = [], lane = [[1], [2], [4], [8], [16]], warp = []>

// CHECK-LABEL: .entry by_argument(
// CHECK-NOT: setp
// CHECK: div.s32
// CHECK: setp.{{eq|ne}}
// CHECK: st.global
func.func @by_argument(%p: !tile.ptr<i32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %least = arith.constant -1 : i32
  %pid = tile.program_id 0 : i32
  %q = arith.divsi %pid, %n : i32
  %none = arith.cmpi eq, %n, %zero : i32
  %safe = arith.select %none, %least, %q : i32
  %s = tile.splat %safe : i32 -> tensor<32xi32, #row>
  %r = tile.range 0, 32 : tensor<32xi32, #row>
  %ps = tile.splat %p : !tile.ptr<i32> -> tensor<32x!tile.ptr<i32>, #row>
  %pp = tile.addptr %ps, %r : tensor<32x!tile.ptr<i32>, #row>, tensor<32xi32, #row>
  tile.store %pp, %s : tensor<32x!tile.ptr<i32>, #row>, tensor<32xi32, #row>
  return
}

// A divisor other than zero is divided by as it is; what is not negative needs no signs.
// CHECK-LABEL: .entry by_programs(
// CHECK-NOT: begin inline asm
// CHECK: div.u32
// CHECK-NOT: begin inline asm
// CHECK: ret;
func.func @by_programs(%p: !tile.ptr<i32>) {
  %one = arith.constant 1 : i32
  %pid = tile.program_id 0 : i32
  %y = tile.program_id 1 : i32
  %n = arith.addi %y, %one : i32
  %q = arith.divsi %pid, %n : i32
  %s = tile.splat %q : i32 -> tensor<32xi32, #row>
  %r = tile.range 0, 32 : tensor<32xi32, #row>
  %ps = tile.splat %p : !tile.ptr<i32> -> tensor<32x!tile.ptr<i32>, #row>
  %pp = tile.addptr %ps, %r : tensor<32x!tile.ptr<i32>, #row>, tensor<32xi32, #row>
  tile.store %pp, %s : tensor<32x!tile.ptr<i32>, #row>, tensor<32xi32, #row>
  return
}

// CHECK-LABEL: .entry by_another_program(
// CHECK: begin inline asm
// CHECK: div.u32
// CHECK: st.global
func.func @by_another_program(%p: !tile.ptr<i32>) {
  %pid = tile.program_id 0 : i32
  %n = tile.program_id 1 : i32
  %q = arith.divsi %pid, %n : i32
  %s = tile.splat %q : i32 -> tensor<32xi32, #row>
  %r = tile.range 0, 32 : tensor<32xi32, #row>
  %ps = tile.splat %p : !tile.ptr<i32> -> tensor<32x!tile.ptr<i32>, #row>
  %pp = tile.addptr %ps, %r : tensor<32x!tile.ptr<i32>, #row>, tensor<32xi32, #row>
  tile.store %pp, %s : tensor<32x!tile.ptr<i32>, #row>, tensor<32xi32, #row>
  return
}
