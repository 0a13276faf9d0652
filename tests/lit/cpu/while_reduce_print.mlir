// A while loop carries a block in scratch memory and a scalar in a register;
// a reduction by a region goes through the axis in order; printing calls
// through the table in the slot after the arguments; an attribute marks this.
// RUN: tessera-opt %s --tessera-lower-to-loops=target=cpu:x86-64-v3:0000 | FileCheck %s
// CHECK: module attributes {tessera.reports, tessera.scratch_bytes = 128 : i64}
// CHECK: llvm.mlir.global internal constant @tessera_text0("product fp32:\00")
// CHECK-LABEL: llvm.func @tessera_entry
// CHECK: %[[W:.*]] = scf.while (%{{.*}} = %{{.*}}) : (i32) -> i32 {
// CHECK: scf.condition(%{{.*}}) %{{.*}} : i32
// CHECK: } do {
// CHECK: arith.addf {{.*}} : vector<8xf32>
// CHECK: scf.yield
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (f32) : i64 {
// CHECK: arith.mulf {{.*}} : f32
// CHECK: llvm.call %{{.*}}({{.*}}) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64) -> ()
// CHECK: llvm.return
func.func @k(%p: !tile.ptr<f32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r = tile.range 0, 8 : tensor<8xi32>
  %ps = tile.splat %p : !tile.ptr<f32> -> tensor<8x!tile.ptr<f32>>
  %q = tile.addptr %ps, %r : tensor<8x!tile.ptr<f32>>, tensor<8xi32>
  %x = tile.load %q : tensor<8x!tile.ptr<f32>>
  %w:2 = scf.while (%i = %zero, %a = %x) : (i32, tensor<8xf32>) -> (i32, tensor<8xf32>) {
    %c = arith.cmpi slt, %i, %n : i32
    scf.condition(%c) %i, %a : i32, tensor<8xf32>
  } do {
  ^bb0(%i: i32, %a: tensor<8xf32>):
    %d = arith.addf %a, %a : tensor<8xf32>
    %j = arith.addi %i, %one : i32
    scf.yield %j, %d : i32, tensor<8xf32>
  }
  %m = tile.reduce_by %w#1 axis 0 : tensor<8xf32> -> f32 {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    tile.yield %c : f32
  }
  tile.print "product" %m : f32
  tile.store %p, %m : !tile.ptr<f32>, f32
  return
}
