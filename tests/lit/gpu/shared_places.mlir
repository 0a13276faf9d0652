// What an operation had before is forgotten where it needs nothing now.
// RUN: tessera-opt %s -tessera-shared-places | FileCheck %s
// RUN: not tessera-opt %s -tessera-shared-places=target=sm_1 2>&1 | FileCheck %s --check-prefix=TARGET

// TARGET: error: {{.*}}sm_1

#row = #tile.linear<128, register = [], lane = [[1], [2], [4], [8], [16]], warp = [[32], [64]]>
#turned = #tile.linear<128, register = [], lane = [[4], [8], [16], [32], [64]], warp = [[1], [2]]>
#memory = #tile.shared<128, offset = [[1], [2], [4], [8], [16], [32], [64]]>

// CHECK: module attributes {tessera.shared_bytes = 512 : i64}
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
  %z = tile.convert_layout %x {tile.scratch = 8 : i64, tile.scratch_bytes = 9 : i64} : tensor<128xf32, #row> -> tensor<128xf32, #turned>
  return
}
