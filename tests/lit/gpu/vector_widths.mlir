// How much a lane loads at once: registers, addresses, masks, alignment.
// RUN: tessera-opt --tessera-vector-widths %s | FileCheck %s
// RUN: %docblock-pipeline.md widths.before > %t.before
// RUN: tessera-opt %s | FileCheck %t.before
// RUN: %docblock-pipeline.md widths.after > %t.after
// RUN: tessera-opt %s --tessera-vector-widths | FileCheck %t.after

#four = #tile.linear<128, register = [[1], [2]], lane = [[4], [8], [16], [32], [64]], warp = []>
#spread = #tile.linear<128, register = [[32], [64]], lane = [[1], [2], [4], [8], [16]], warp = []>

// CHECK-LABEL: func.func @run
// CHECK: tile.load {{.*}} {tile.vector = 4 : i64}
// CHECK: tile.load {{.*}}#linear1>{{ *$}}
// The mask is constant over pairs.
// CHECK: tile.load {{.*}} mask {{.*}} {tile.vector = 2 : i64}
func.func @run(%p: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %n: i32 {tile.divisibility = 2 : i64}) {
  %r = tile.range 0, 128 : tensor<128xi32, #four>
  %s = tile.splat %p : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>, #four>
  %q = tile.addptr %s, %r : tensor<128x!tile.ptr<f32>, #four>, tensor<128xi32, #four>
  %x = tile.load %q : tensor<128x!tile.ptr<f32>, #four>
  // Lanes hold elements 32 apart.
  %r1 = tile.range 0, 128 : tensor<128xi32, #spread>
  %s1 = tile.splat %p : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>, #spread>
  %q1 = tile.addptr %s1, %r1 : tensor<128x!tile.ptr<f32>, #spread>, tensor<128xi32, #spread>
  %x1 = tile.load %q1 : tensor<128x!tile.ptr<f32>, #spread>
  %ns = tile.splat %n : i32 -> tensor<128xi32, #four>
  %m = arith.cmpi slt, %r, %ns : tensor<128xi32, #four>
  %x2 = tile.load %q mask %m : tensor<128x!tile.ptr<f32>, #four>
  return
}
