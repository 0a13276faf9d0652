// What an operation had before is forgotten where it needs nothing now.
// RUN: tessera-opt %s -tessera-allocate-shared | FileCheck %s
// RUN: not tessera-opt %s -tessera-allocate-shared=target=sm_1 2>&1 | FileCheck %s --check-prefix=TARGET

// TARGET: error: {{.*}}sm_1

#row = #tile.linear<128, register = [], lane = [[1], [2], [4], [8], [16]], warp = [[32], [64]]>
#turned = #tile.linear<128, register = [], lane = [[4], [8], [16], [32], [64]], warp = [[1], [2]]>
#memory = #tile.shared<128, offset = [[1], [2], [4], [8], [16], [32], [64]]>

// CHECK: module attributes {tessera.shared_bytes = 1152 : i64}
// CHECK-LABEL: @again
// CHECK: tile.smem_alloc {tile.scratch = 0 : i64} :
// CHECK-NOT: tile.barrier
// CHECK: tile.convert_layout %{{.*}} :
// CHECK-NOT: tile.barrier
// CHECK: tile.convert_layout {{.*}} {tile.scratch = 0 : i64, tile.scratch_bytes = 512 : i64}
func.func @again(%x: tensor<128xf32, #row>) {
  %unused = tile.smem_alloc {tile.scratch = 7 : i64} : !tile.smem<9 x 128xf32, #memory>
  tile.barrier scratch
  %y = tile.convert_layout %x {tile.scratch = 8 : i64, tile.scratch_bytes = 9 : i64} : tensor<128xf32, #row> -> tensor<128xf32, #row>
  tile.barrier scratch
  %z = tile.convert_layout %x {tile.scratch = 8 : i64, tile.scratch_bytes = 9 : i64, tile.scratch_of_warp} : tensor<128xf32, #row> -> tensor<128xf32, #turned>
  return
}

// Small scratch does not overlap that of the two operations before it.
// CHECK-LABEL: @beside
// CHECK: tile.reduce max {{.*}} {tile.scratch = 512 : i64
// CHECK: tile.convert_layout {{.*}} {tile.scratch = 640 : i64, tile.scratch_bytes = 512 : i64}
// CHECK: tile.reduce min {{.*}} {tile.scratch = [[B:[0-9]+]] : i64
// CHECK: tile.reduce sum {{.*}} {tile.scratch = [[C:[0-9]+]] : i64
// CHECK: tile.reduce max {{.*}} {tile.scratch = 256 : i64
// CHECK: tile.reduce min {{.*}} {tile.scratch = [[B]] : i64
func.func @beside(%x: tensor<128xf32, #row>) {
  %a = tile.reduce max %x, 0 : tensor<128xf32, #row> -> f32
  %t = tile.convert_layout %x : tensor<128xf32, #row> -> tensor<128xf32, #turned>
  %b = tile.reduce min %x, 0 : tensor<128xf32, #row> -> f32
  %c = tile.reduce sum %x, 0 : tensor<128xf32, #row> -> f32
  %d = tile.reduce max %x, 0 : tensor<128xf32, #row> -> f32
  %e = tile.reduce min %x, 0 : tensor<128xf32, #row> -> f32
  return
}

// The larger buffer first, of equals the first.
// CHECK-LABEL: @larger
// CHECK: tile.smem_alloc {tile.scratch = 512 : i64} : <1 x
// CHECK: tile.smem_alloc {tile.scratch = 768 : i64} : <1 x
// CHECK: tile.smem_alloc {tile.scratch = 0 : i64} : <2 x
#half = #tile.linear<64, register = [], lane = [[1], [2], [4], [8], [16]], warp = [[32], [0]]>
#small = #tile.shared<64, offset = [[1], [2], [4], [8], [16], [32]]>
func.func @larger(%x: tensor<64xf32, #half>, %i: i32) {
  %a = tile.smem_alloc : !tile.smem<1 x 64xf32, #small>
  %b = tile.smem_alloc : !tile.smem<1 x 64xf32, #small>
  %c = tile.smem_alloc : !tile.smem<2 x 64xf32, #small>
  %c0 = tile.smem_index %c[%i] : !tile.smem<2 x 64xf32, #small>
  tile.smem_store %x, %a : tensor<64xf32, #half> -> !tile.smem<1 x 64xf32, #small>
  tile.smem_store %x, %b : tensor<64xf32, #half> -> !tile.smem<1 x 64xf32, #small>
  tile.smem_store %x, %c0 : tensor<64xf32, #half> -> !tile.smem<1 x 64xf32, #small>
  %y = tile.smem_load %a : !tile.smem<1 x 64xf32, #small> -> tensor<64xf32, #half>
  %z = tile.smem_load %b : !tile.smem<1 x 64xf32, #small> -> tensor<64xf32, #half>
  %w = tile.smem_load %c0 : !tile.smem<1 x 64xf32, #small> -> tensor<64xf32, #half>
  return
}

// Each iteration allocates the buffers of its two loops: they share memory,
// although each loop fills its buffer under a condition.
// CHECK-LABEL: @loops_in_a_loop
// CHECK: tile.smem_alloc {tile.scratch = 0 : i64} : <1 x 128xf32
// CHECK: tile.smem_alloc {tile.scratch = 0 : i64} : <1 x 128xf32
func.func @loops_in_a_loop(%x: tensor<128xf32, #row>, %n: i32, %p: i1) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    %a = tile.smem_alloc : !tile.smem<1 x 128xf32, #memory>
    scf.if %p {
      tile.smem_store %x, %a : tensor<128xf32, #row> -> !tile.smem<1 x 128xf32, #memory>
    }
    scf.for %j = %c0 to %n step %c1 : i32 {
      %y = tile.smem_load %a : !tile.smem<1 x 128xf32, #memory> -> tensor<128xf32, #row>
    }
    %b = tile.smem_alloc : !tile.smem<1 x 128xf32, #memory>
    scf.if %p {
      tile.smem_store %x, %b : tensor<128xf32, #row> -> !tile.smem<1 x 128xf32, #memory>
    }
    scf.for %j = %c0 to %n step %c1 : i32 {
      %y = tile.smem_load %b : !tile.smem<1 x 128xf32, #memory> -> tensor<128xf32, #row>
    }
  }
  return
}
