// What is refused is not compiled, either.
// RUN: split-file %s %t
// RUN: not tessera-opt %t/nobody_waits.mlir -tessera-async-waits 2>&1 | FileCheck %s
// RUN: not tessera-opt %t/twice.mlir -tessera-async-waits 2>&1 | FileCheck %s --check-prefix=TWICE
// CHECK: is not awaited by any operation
// CHECK-NOT: func.func
// TWICE: takes a token that is of no copy of its own
// TWICE-NOT: func.func

//--- nobody_waits.mlir
#row = #tile.linear<64, register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = []>
#memory = #tile.shared<64, offset = [[1], [2], [4], [8], [16], [32]]>
!pointers = tensor<64x!tile.ptr<f32>, #row>
!buffer = !tile.smem<1 x 64xf32, #memory>
func.func @nobody_waits(%p: !pointers) {
  %m = tile.smem_alloc : !buffer
  %0 = tile.async_copy %p, %m vector 2 : !pointers -> !buffer
  %a = tile.async_commit %0
  %x = tile.smem_load %m : !buffer -> tensor<64xf32, #row>
  return
}

//--- twice.mlir
#row = #tile.linear<64, register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = []>
#memory = #tile.shared<64, offset = [[1], [2], [4], [8], [16], [32]]>
!pointers = tensor<64x!tile.ptr<f32>, #row>
!buffer = !tile.smem<1 x 64xf32, #memory>
func.func @twice(%p: !pointers, %m: !buffer) {
  %0 = tile.async_copy %p, %m vector 2 : !pointers -> !buffer
  %a = tile.async_commit %0
  %b = tile.async_commit %0
  return
}
