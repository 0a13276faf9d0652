// In a loop, a conversion waits for the readers of its scratch in the step before.
// RUN: tessera-lower %s --laid-out --num-warps=4 | FileCheck %s

#row = #tile.linear<128, register = [], lane = [[1], [2], [4], [8], [16]], warp = [[32], [64]]>
#turned = #tile.linear<128, register = [], lane = [[4], [8], [16], [32], [64]], warp = [[1], [2]]>
!pointers = tensor<128x!tile.ptr<f32>, #turned>

// CHECK-LABEL: .entry twice(
// CHECK: bar.sync
// CHECK: st.shared.b32
// CHECK: bar.sync
// CHECK: ld.shared.b32
// CHECK: bra

// One conversion overwrites nothing that was read.
// CHECK-LABEL: .entry once(
// CHECK-NOT: bar.sync
// CHECK: st.shared.b32
// CHECK: bar.sync
// CHECK-NOT: bar.sync
// CHECK: ret
func.func @twice(%p: !tile.ptr<f32>, %f: f32, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %x = tile.splat %f : f32 -> tensor<128xf32, #row>
  %s = tile.splat %p : !tile.ptr<f32> -> !pointers
  scf.for %i = %c0 to %n step %c1 : i32 {
    %y = tile.convert_layout %x : tensor<128xf32, #row> -> tensor<128xf32, #turned>
    tile.store %s, %y : !pointers, tensor<128xf32, #turned>
  }
  return
}

func.func @once(%p: !tile.ptr<f32>, %f: f32) {
  %x = tile.splat %f : f32 -> tensor<128xf32, #row>
  %s = tile.splat %p : !tile.ptr<f32> -> !pointers
  %y = tile.convert_layout %x : tensor<128xf32, #row> -> tensor<128xf32, #turned>
  tile.store %s, %y : !pointers, tensor<128xf32, #turned>
  return
}
