// What is printed parses to the same, with the attributes of arguments.
// RUN: tessera-opt %s -verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @scale
// CHECK-SAME: %{{.*}}: !tile.ptr<f32> {tile.divisibility = 16 : i32}
func.func @scale(%p: !tile.ptr<f32> {tile.divisibility = 16 : i32}, %n: i32) {
  // CHECK: tile.program_id
  %pid = tile.program_id 0 : i32
  %c16 = arith.constant 16 : i32
  %start = arith.muli %pid, %c16 : i32
  %r = tile.range 0, 16 : tensor<16xi32>
  %s = tile.splat %start : i32 -> tensor<16xi32>
  %o = arith.addi %r, %s : tensor<16xi32>
  %limit = tile.splat %n : i32 -> tensor<16xi32>
  %m = arith.cmpi slt, %o, %limit : tensor<16xi32>
  %base = tile.splat %p : !tile.ptr<f32> -> tensor<16x!tile.ptr<f32>>
  %a = tile.addptr %base, %o : tensor<16x!tile.ptr<f32>>, tensor<16xi32>
  // CHECK: tile.load %{{.*}} mask %{{.*}} : tensor<16x!tile.ptr<f32>>
  %v = tile.load %a mask %m : tensor<16x!tile.ptr<f32>>
  %w = arith.addf %v, %v : tensor<16xf32>
  tile.store %a, %w mask %m : tensor<16x!tile.ptr<f32>>, tensor<16xf32>
  return
}
