// Offsets in shared memory, and which scratch may be written without waiting.
// RUN: tessera-lower %s --laid-out --emit=layout | FileCheck %s
// RUN: %docblock-pipeline.md scratch.before > %t.before
// RUN: tessera-opt %s | FileCheck %t.before
// RUN: %docblock-pipeline.md scratch.after > %t.after
// RUN: tessera-lower %s --laid-out --emit=layout | FileCheck %t.after

#row = #tile.linear<128, register = [], lane = [[1], [2], [4], [8], [16]], warp = [[32], [64]]>
#turned = #tile.linear<128, register = [], lane = [[4], [8], [16], [32], [64]], warp = [[1], [2]]>
#memory = #tile.shared<128, offset = [[1], [2], [4], [8], [16], [32], [64]]>

// %a and %c are never live together: they have one offset. %b is live with both. The scratch memory of a
// conversion comes after the buffers that are live then.
// CHECK: module attributes {tessera.shared_bytes = 2048 : i64}
// CHECK-LABEL: @buffers
// CHECK: %[[A:.*]] = tile.smem_alloc {tile.scratch = 1024 : i64} : <1 x 128xf32
// CHECK: %[[B:.*]] = tile.smem_alloc {tile.scratch = 0 : i64} : <2 x 128xf32
// CHECK: %[[C:.*]] = tile.smem_alloc {tile.scratch = 1024 : i64} : <1 x 128xf32
// Since the last barrier no thread has accessed that memory.
// CHECK-NOT: tile.barrier scratch
// CHECK: tile.convert_layout {{.*}} {tile.scratch = 1536 : i64, tile.scratch_bytes = 512 : i64}
// CHECK: tile.smem_load %[[C]]
// Nothing is live any more.
// CHECK: tile.barrier scratch
// CHECK-NEXT: tile.convert_layout {{.*}} {tile.scratch = 0 : i64, tile.scratch_bytes = 512 : i64}
func.func @buffers(%f: f32, %i: i32) {
  %a = tile.smem_alloc : !tile.smem<1 x 128xf32, #memory>
  %b = tile.smem_alloc : !tile.smem<2 x 128xf32, #memory>
  %c = tile.smem_alloc : !tile.smem<1 x 128xf32, #memory>
  %x = tile.splat %f : f32 -> tensor<128xf32, #row>
  %b0 = tile.smem_index %b[%i] : !tile.smem<2 x 128xf32, #memory>
  tile.smem_store %x, %a : tensor<128xf32, #row> -> !tile.smem<1 x 128xf32, #memory>
  tile.smem_store %x, %b0 : tensor<128xf32, #row> -> !tile.smem<1 x 128xf32, #memory>
  tile.barrier
  %y = tile.smem_load %a : !tile.smem<1 x 128xf32, #memory> -> tensor<128xf32, #turned>
  tile.barrier
  tile.smem_store %x, %c : tensor<128xf32, #row> -> !tile.smem<1 x 128xf32, #memory>
  tile.barrier
  %t = tile.convert_layout %x : tensor<128xf32, #row> -> tensor<128xf32, #turned>
  %z = tile.smem_load %c : !tile.smem<1 x 128xf32, #memory> -> tensor<128xf32, #turned>
  %w = tile.smem_load %b0 : !tile.smem<1 x 128xf32, #memory> -> tensor<128xf32, #turned>
  %u = tile.convert_layout %x : tensor<128xf32, #row> -> tensor<128xf32, #turned>
  return
}

// Small scratch of neighbours does not overlap: an iteration has one barrier for each reduction, not two.
// CHECK-LABEL: @loop
// CHECK-NOT: tile.barrier
// CHECK: tile.reduce max {{.*}} {tile.scratch = [[FIRST:[0-9]+]] : i64, tile.scratch_bytes = {{[0-9]+}} : i64}
// CHECK-NOT: tile.scratch = [[FIRST]] :
// CHECK-NOT: tile.barrier
// CHECK: tile.reduce sum {{.*}} {tile.scratch = {{[0-9]+}} : i64, tile.scratch_bytes = {{[0-9]+}} : i64}
func.func @loop(%f: f32, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %x = tile.splat %f : f32 -> tensor<128xf32, #row>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %f) -> (f32) : i32 {
    %m = tile.reduce max %x, 0 : tensor<128xf32, #row> -> f32
    %t = tile.reduce sum %x, 0 : tensor<128xf32, #row> -> f32
    %a = arith.addf %m, %t : f32
    %b = arith.addf %a, %s : f32
    scf.yield %b : f32
  }
  return
}

// One alone meets itself in the next iteration: it waits.
// CHECK-LABEL: @alone
// CHECK: tile.barrier scratch
// CHECK-NEXT: tile.reduce max
// CHECK: scf.yield
func.func @alone(%f: f32, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %x = tile.splat %f : f32 -> tensor<128xf32, #row>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %f) -> (f32) : i32 {
    %m = tile.reduce max %x, 0 : tensor<128xf32, #row> -> f32
    %b = arith.addf %m, %s : f32
    scf.yield %b : f32
  }
  return
}

// In one branch only: what follows may meet it.
// CHECK-LABEL: @branch
// CHECK-NOT: tile.barrier
// CHECK: tile.reduce max
// CHECK-NOT: tile.barrier
// CHECK: tile.reduce sum
// CHECK: scf.yield
// CHECK: tile.barrier scratch
// CHECK-NEXT: tile.sort
// CHECK: tile.barrier scratch
// CHECK-NEXT: tile.reduce min
// CHECK: return
func.func @branch(%f: f32, %c: i1) {
  %x = tile.splat %f : f32 -> tensor<128xf32, #row>
  %m = tile.reduce max %x, 0 : tensor<128xf32, #row> -> f32
  %r = scf.if %c -> (f32) {
    %t = tile.reduce sum %x, 0 : tensor<128xf32, #row> -> f32
    scf.yield %t : f32
  } else {
    %s = tile.sort %x : tensor<128xf32, #row>
    scf.yield %f : f32
  }
  %t = tile.reduce min %x, 0 : tensor<128xf32, #row> -> f32
  return
}

// There is nothing to wait for in a buffer that no thread has touched yet; one
// that was read may be overwritten after a barrier.
// CHECK-LABEL: @touched
// CHECK-NOT: tile.barrier
// CHECK: tile.reduce max
// CHECK: tile.smem_load
// CHECK-NEXT: tile.barrier scratch
// CHECK-NEXT: tile.reduce sum
// CHECK-NEXT: tile.barrier{{$}}
// CHECK-NEXT: tile.reduce min
func.func @touched(%f: f32) {
  %x = tile.splat %f : f32 -> tensor<128xf32, #row>
  %b = tile.smem_alloc : !tile.smem<1 x 128xf32, #memory>
  %m = tile.reduce max %x, 0 : tensor<128xf32, #row> -> f32
  tile.barrier
  tile.smem_store %x, %b : tensor<128xf32, #row> -> !tile.smem<1 x 128xf32, #memory>
  tile.barrier
  %y = tile.smem_load %b : !tile.smem<1 x 128xf32, #memory> -> tensor<128xf32, #row>
  %s = tile.reduce sum %y, 0 : tensor<128xf32, #row> -> f32
  tile.barrier
  %t = tile.reduce min %x, 0 : tensor<128xf32, #row> -> f32
  return
}

// A buffer that one operation touches has a separate offset while others are live.
// CHECK-LABEL: @stored_once
// CHECK: tile.smem_alloc {tile.scratch = 0 : i64} : <1 x 128xf32
// CHECK: tile.smem_alloc {tile.scratch = 512 : i64} : <1 x 128xf32
func.func @stored_once(%f: f32) {
  %a = tile.smem_alloc : !tile.smem<1 x 128xf32, #memory>
  %b = tile.smem_alloc : !tile.smem<1 x 128xf32, #memory>
  %x = tile.splat %f : f32 -> tensor<128xf32, #row>
  tile.smem_store %x, %a : tensor<128xf32, #row> -> !tile.smem<1 x 128xf32, #memory>
  tile.smem_store %x, %b : tensor<128xf32, #row> -> !tile.smem<1 x 128xf32, #memory>
  tile.barrier
  %y = tile.smem_load %a : !tile.smem<1 x 128xf32, #memory> -> tensor<128xf32, #turned>
  return
}
