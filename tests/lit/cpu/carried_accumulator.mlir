// A carried accumulator is updated in place: the loop body has no copy of it,
// the pointers are carried as one offset each, and the dot reads packed operands.
// RUN: tessera-opt %s --tessera-lower-to-loops=target=cpu:x86-64-v3:0000 | FileCheck %s
// CHECK: module attributes {tessera.scratch_bytes = 896 : i64}
// CHECK-LABEL: llvm.func @tessera_entry
// CHECK-NOT: masked.gather
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (i64) : i64 {
// CHECK: llvm.intr.fma
// CHECK-NOT: llvm.intr.masked.load
// CHECK: llvm.return
func.func @k(%a: !tile.ptr<f32>, %o: !tile.ptr<f32>, %n: i32) {
  %zero = arith.constant dense<0.0> : tensor<4x8xf32>
  %lo = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r = tile.range 0, 32 : tensor<32xi32>
  %i = tile.reshape %r : tensor<32xi32> -> tensor<4x8xi32>
  %j = tile.range 0, 64 : tensor<64xi32>
  %as = tile.splat %a : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>>
  %ap = tile.addptr %as, %j : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
  %step = arith.constant dense<64> : tensor<64xi32>
  %c:2 = scf.for %s = %lo to %n step %one iter_args(%acc = %zero, %p = %ap)
      -> (tensor<4x8xf32>, tensor<64x!tile.ptr<f32>>) : i32 {
    %l = tile.load %p : tensor<64x!tile.ptr<f32>>
    %b = tile.reshape %l : tensor<64xf32> -> tensor<8x8xf32>
    %twice = arith.addf %acc, %acc : tensor<4x8xf32>
    %k = arith.constant dense<2.0> : tensor<4x8xf32>
    %next = tile.dot %k, %b, %twice ieee : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
    %q = tile.addptr %p, %step : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
    scf.yield %next, %q : tensor<4x8xf32>, tensor<64x!tile.ptr<f32>>
  }
  %os = tile.splat %o : !tile.ptr<f32> -> tensor<4x8x!tile.ptr<f32>>
  %op = tile.addptr %os, %i : tensor<4x8x!tile.ptr<f32>>, tensor<4x8xi32>
  tile.store %op, %c#0 : tensor<4x8x!tile.ptr<f32>>, tensor<4x8xf32>
  return
}
