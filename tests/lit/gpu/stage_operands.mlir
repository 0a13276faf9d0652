// Operands of dots that stay in shared memory.
// RUN: tessera-opt --tessera-stage-operands %s | FileCheck %s
// RUN: %docblock-pipeline.md stage.before > %t.before
// RUN: tessera-opt %s | FileCheck %t.before
// RUN: %docblock-pipeline.md stage.after > %t.after
// RUN: tessera-opt %s --tessera-stage-operands | FileCheck %t.after

#rows = #tile.linear<16x16, register = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [1, 0], [2, 0], [4, 0]], warp = [[8, 0]]>
#acc = #tile.linear<16x16, register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 8]]>
#a = #tile.linear<16x16, register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 0]]>
#b = #tile.linear<16x16, register = [[1, 0], [8, 0]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = [[0, 8]]>
#turned = #tile.linear<16x16, register = [[1, 0], [2, 0]], lane = [[4, 0], [8, 0], [0, 1], [0, 2], [0, 4]], warp = [[0, 8]]>

// Two dots read %x, one of them transposed: one store, two loads.
// CHECK-LABEL: func.func @shared
// CHECK: %[[MEM:.*]] = tile.smem_alloc : <1 x 16x16xf16
// CHECK: tile.barrier
// CHECK-NEXT: tile.smem_store %{{.*}}, %[[MEM]]
// CHECK-NEXT: tile.barrier
// CHECK-NOT: tile.convert_layout
// CHECK: tile.smem_load %[[MEM]]
// CHECK: tile.dot
// CHECK: %[[T:.*]] = tile.smem_trans %[[MEM]] [1, 0]
// CHECK: tile.smem_load %[[T]]
// CHECK: tile.dot
func.func @shared(%x: tensor<16x16xf16, #rows>, %y: tensor<16x16xf16, #b>, %zero: tensor<16x16xf32, #acc>) -> tensor<16x16xf32, #acc> {
  %a = tile.convert_layout %x : tensor<16x16xf16, #rows> -> tensor<16x16xf16, #a>
  %d = tile.dot %a, %y, %zero ieee : tensor<16x16xf16, #a>, tensor<16x16xf16, #b> -> tensor<16x16xf32, #acc>
  %t = tile.trans %x [1, 0] : tensor<16x16xf16, #rows> -> tensor<16x16xf16, #turned>
  %u = tile.convert_layout %t : tensor<16x16xf16, #turned> -> tensor<16x16xf16, #a>
  %e = tile.dot %u, %y, %d ieee : tensor<16x16xf16, #a>, tensor<16x16xf16, #b> -> tensor<16x16xf32, #acc>
  return %e : tensor<16x16xf32, #acc>
}

// One reader, few registers: it stays where it is.
// CHECK-LABEL: func.func @alone
// CHECK-NOT: tile.smem_alloc
// CHECK: tile.convert_layout
func.func @alone(%x: tensor<16x16xf16, #rows>, %y: tensor<16x16xf16, #b>, %zero: tensor<16x16xf32, #acc>) -> tensor<16x16xf32, #acc> {
  %a = tile.convert_layout %x : tensor<16x16xf16, #rows> -> tensor<16x16xf16, #a>
  %d = tile.dot %a, %y, %zero ieee : tensor<16x16xf16, #a>, tensor<16x16xf16, #b> -> tensor<16x16xf32, #acc>
  return %d : tensor<16x16xf32, #acc>
}

// Each round loads single elements, which no cp.async brings: the barrier stands
// before the load, so that what arrives is stored at once, and the dot reads
// slice by slice.
// CHECK-LABEL: func.func @loaded
// CHECK: %[[MEM:.*]] = tile.smem_alloc : <1 x 16x16xf16
// CHECK: scf.for
// CHECK: tile.barrier
// CHECK-NEXT: %[[X:.*]] = tile.load
// CHECK-NEXT: tile.smem_store %[[X]], %[[MEM]]
// CHECK-NEXT: tile.barrier
// CHECK-NOT: tile.convert_layout
// CHECK: tile.smem_load %[[MEM]]
// CHECK-NEXT: tile.dot
func.func @loaded(%p: tensor<16x16x!tile.ptr<f16>, #rows>, %y: tensor<16x16xf16, #b>, %zero: tensor<16x16xf32, #acc>, %n: i32) -> tensor<16x16xf32, #acc> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> (tensor<16x16xf32, #acc>) : i32 {
    %x = tile.load %p {tile.vector = 1 : i64} : tensor<16x16x!tile.ptr<f16>, #rows>
    %a = tile.convert_layout %x : tensor<16x16xf16, #rows> -> tensor<16x16xf16, #a>
    %d = tile.dot %a, %y, %s ieee : tensor<16x16xf16, #a>, tensor<16x16xf16, #b> -> tensor<16x16xf32, #acc>
    scf.yield %d : tensor<16x16xf32, #acc>
  }
  return %r : tensor<16x16xf32, #acc>
}
