// RUN: tessera-opt %s -tessera-async-waits -tessera-allocate-shared -tessera-memory-barriers | FileCheck %s

#row = #tile.linear<128, register = [], lane = [[1], [2], [4], [8], [16]], warp = [[32], [64]]>
#memory = #tile.shared<128, offset = [[1], [2], [4], [8], [16], [32], [64]]>
!tensor = tensor<128xf32, #row>
!buffer = !tile.smem<1 x 128xf32, #memory>

// Scratch that ends where a buffer begins does not wait for its readers, either.
// CHECK-LABEL: @below_a_buffer
// CHECK: tile.smem_alloc {tile.scratch = 0 : i64}
// CHECK: tile.smem_alloc {tile.scratch = 512 : i64}
// CHECK: tile.barrier{{$}}
// CHECK-NEXT: tile.smem_load
// CHECK-NEXT: tile.barrier{{$}}
// CHECK-NEXT: tile.smem_load
// CHECK-NEXT: tile.gather {{.*}} {tile.scratch = 0 : i64, tile.scratch_bytes = 512 : i64}
func.func @below_a_buffer(%x: !tensor, %i: tensor<128xi32, #row>) -> (!tensor, !tensor, !tensor, !tensor) {
  %a = tile.smem_alloc : !buffer
  %b = tile.smem_alloc : !buffer
  tile.smem_store %x, %a : !tensor -> !buffer
  tile.smem_store %x, %b : !tensor -> !buffer
  tile.barrier
  %y = tile.smem_load %a : !buffer -> !tensor
  tile.barrier
  %z = tile.smem_load %b : !buffer -> !tensor
  %g = tile.gather %x, %i, 0 : !tensor, tensor<128xi32, #row> -> !tensor
  %w = tile.smem_load %b : !buffer -> !tensor
  return %y, %z, %g, %w : !tensor, !tensor, !tensor, !tensor
}
