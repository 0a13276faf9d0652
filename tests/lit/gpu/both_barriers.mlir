// Barriers between global accesses and before scratch, decided on in one walk.
// RUN: tessera-opt %s -tessera-async-waits -tessera-allocate-shared -tessera-memory-barriers > %t.once
// RUN: FileCheck %s --input-file=%t.once
// Run again, it finds the same offsets and barriers.
// RUN: tessera-opt %t.once -tessera-allocate-shared -tessera-memory-barriers | diff %t.once -
// RUN: tessera-opt %t.once -tessera-memory-barriers | diff %t.once -

#row = #tile.linear<128, register = [], lane = [[1], [2], [4], [8], [16]], warp = [[32], [64]]>
#turned = #tile.linear<128, register = [], lane = [[4], [8], [16], [32], [64]], warp = [[1], [2]]>
#memory = #tile.shared<128, offset = [[1], [2], [4], [8], [16], [32], [64]]>
// Each warp has 32 rows in #wide and #high, and 16 columns in #across.
#wide = #tile.linear<128x64, register = [[0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = [[32, 0], [64, 0]]>
#high = #tile.linear<128x64, register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [[32, 0], [64, 0]]>
#across = #tile.linear<128x64, register = [[0, 1], [0, 2], [0, 4], [0, 8], [32, 0], [64, 0]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [[0, 16], [0, 32]]>
!pointers = tensor<128x!tile.ptr<f32>, #row>
!tensor = tensor<128xf32, #row>
!buffer = !tile.smem<1 x 128xf32, #memory>

// The barrier inside of the reduction is between the store and the load.
// CHECK-LABEL: @reduced_between
// CHECK: tile.store
// CHECK-NOT: tile.barrier
// CHECK: tile.reduce
// CHECK-NOT: tile.barrier
// CHECK: tile.load
// CHECK: return
func.func @reduced_between(%p: !tile.ptr<f32>, %x: !tensor) -> (f32, f32) {
  %s = tile.splat %p : !tile.ptr<f32> -> !pointers
  tile.store %s, %x : !pointers, !tensor
  %r = tile.reduce max %x, 0 : !tensor -> f32
  %y = tile.load %p : !tile.ptr<f32>
  return %r, %y : f32, f32
}

// The same of a conversion.
// CHECK-LABEL: @converted_between
// CHECK: tile.store
// CHECK-NOT: tile.barrier
// CHECK: tile.convert_layout
// CHECK-NOT: tile.barrier
// CHECK: tile.load
// CHECK: return
func.func @converted_between(%p: !tile.ptr<f32>, %x: !tensor) -> (tensor<128xf32, #turned>, f32) {
  %s = tile.splat %p : !tile.ptr<f32> -> !pointers
  tile.store %s, %x : !pointers, !tensor
  %t = tile.convert_layout %x : !tensor -> tensor<128xf32, #turned>
  %y = tile.load %p : !tile.ptr<f32>
  return %t, %y : tensor<128xf32, #turned>, f32
}

// A conversion within each warp contains no barrier of the block: the load
// needs one.
// CHECK-LABEL: @converted_in_warps
// CHECK: tile.store
// CHECK-NEXT: tile.convert_layout {{.*}}tile.scratch_of_warp
// CHECK-NEXT: tile.barrier{{$}}
// CHECK-NEXT: tile.load
func.func @converted_in_warps(%p: !tile.ptr<f32>, %x: !tensor, %z: tensor<128x64xf32, #wide>) -> (tensor<128x64xf32, #high>, f32) {
  %s = tile.splat %p : !tile.ptr<f32> -> !pointers
  tile.store %s, %x : !pointers, !tensor
  %t = tile.convert_layout %z : tensor<128x64xf32, #wide> -> tensor<128x64xf32, #high>
  %y = tile.load %p : !tile.ptr<f32>
  return %t, %y : tensor<128x64xf32, #high>, f32
}

// The second conversion overwrites memory that other warps may still read, in
// the next iteration the first one, too. Its barrier orders the load.
// CHECK-LABEL: @converted_twice
// CHECK: scf.for
// CHECK-NEXT: tile.barrier scratch
// CHECK-NEXT: tile.convert_layout
// CHECK-NEXT: tile.store
// CHECK-NEXT: tile.barrier scratch
// CHECK-NEXT: tile.convert_layout {{.*}}tile.scratch_of_warp
// CHECK-NEXT: tile.load
func.func @converted_twice(%p: !tile.ptr<f32>, %x: !tensor, %z: tensor<128x64xf32, #wide>, %f: f32, %n: i32) -> f32 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %s = tile.splat %p : !tile.ptr<f32> -> !pointers
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %f) -> (f32) : i32 {
    %t = tile.convert_layout %z : tensor<128x64xf32, #wide> -> tensor<128x64xf32, #across>
    tile.store %s, %x : !pointers, !tensor
    %u = tile.convert_layout %z : tensor<128x64xf32, #wide> -> tensor<128x64xf32, #high>
    %y = tile.load %p : !tile.ptr<f32>
    %a = arith.addf %y, %sum : f32
    scf.yield %a : f32
  }
  return %r : f32
}

// In one arm alone nothing is between.
// CHECK-LABEL: @reduced_in_an_arm
// CHECK: tile.store
// CHECK: tile.reduce
// CHECK: tile.barrier{{$}}
// CHECK-NEXT: tile.load
func.func @reduced_in_an_arm(%p: !tile.ptr<f32>, %x: !tensor, %f: f32, %c: i1) -> (f32, f32) {
  %s = tile.splat %p : !tile.ptr<f32> -> !pointers
  tile.store %s, %x : !pointers, !tensor
  %r = scf.if %c -> f32 {
    %m = tile.reduce max %x, 0 : !tensor -> f32
    scf.yield %m : f32
  } else {
    scf.yield %f : f32
  }
  %y = tile.load %p : !tile.ptr<f32>
  return %r, %y : f32, f32
}

// An atomic is done before its old element goes through scratch, whose barriers
// separate it and the store before it from the loads after it.
// CHECK-LABEL: @atomic_between
// CHECK: tile.store
// CHECK-NOT: tile.barrier{{$}}
// CHECK: tile.barrier scratch
// CHECK-NEXT: tile.atomic_rmw
// CHECK-NEXT: tile.load
// CHECK-NEXT: tile.load
func.func @atomic_between(%p: !tile.ptr<f32>, %q: !tile.ptr<f32>, %x: !tensor, %f: f32) -> (f32, f32, f32) {
  %s = tile.splat %p : !tile.ptr<f32> -> !pointers
  tile.store %s, %x : !pointers, !tensor
  %old = tile.atomic_rmw fadd %q, %f {sem = "relaxed"} : !tile.ptr<f32>, f32
  %y = tile.load %p : !tile.ptr<f32>
  %z = tile.load %q : !tile.ptr<f32>
  return %old, %y, %z : f32, f32, f32
}

// A barrier that the load gets lets the reduction in the loop do without one:
// it is found after the reduction was looked at.
// CHECK-LABEL: @barrier_for_both
// CHECK: scf.for
// CHECK-NOT: tile.barrier scratch
// CHECK: tile.reduce
// CHECK: tile.barrier{{$}}
// CHECK-NEXT: tile.load
// CHECK-NOT: tile.barrier
// CHECK: scf.yield
func.func @barrier_for_both(%p: !tile.ptr<f32>, %x: !tensor, %f: f32, %n: i32) -> f32 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %s = tile.splat %p : !tile.ptr<f32> -> !pointers
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %f) -> (f32) : i32 {
    %m = tile.reduce max %x, 0 : !tensor -> f32
    tile.store %s, %x : !pointers, !tensor
    %y = tile.load %p : !tile.ptr<f32>
    %a = arith.addf %m, %sum : f32
    %b = arith.addf %a, %y : f32
    scf.yield %b : f32
  }
  return %r : f32
}

// Scratch at another offset than a buffer does not wait for the buffer's readers; scratch at the same offset
// does.
// CHECK-LABEL: @beside_a_buffer
// CHECK: tile.smem_load
// CHECK-NOT: tile.barrier
// CHECK: tile.reduce max {{.*}} {tile.scratch = 512 : i64
// CHECK: tile.smem_load
// CHECK-NEXT: tile.barrier scratch
// CHECK-NEXT: tile.reduce min {{.*}} {tile.scratch = 128 : i64
func.func @beside_a_buffer(%x: !tensor) -> (f32, f32) {
  %b = tile.smem_alloc : !buffer
  tile.smem_store %x, %b : !tensor -> !buffer
  tile.barrier
  %y = tile.smem_load %b : !buffer -> !tensor
  %m = tile.reduce max %y, 0 : !tensor -> f32
  %z = tile.smem_load %b : !buffer -> !tensor
  %t = tile.reduce min %z, 0 : !tensor -> f32
  return %m, %t : f32, f32
}

// A copy is in progress until its wait, in other threads even after an earlier barrier: an operation that
// reuses the buffer's memory waits for them.
// CHECK-LABEL: @copied_late
// CHECK: tile.async_wait
// CHECK-NEXT: tile.barrier scratch
// CHECK-NEXT: tile.reduce {{.*}} {tile.scratch = {{[0-9]+}} : i64
func.func @copied_late(%p: !tile.ptr<f32>, %x: !tensor) -> f32 {
  %b = tile.smem_alloc : !buffer
  %s = tile.splat %p : !tile.ptr<f32> -> !pointers
  %c = tile.async_copy %s, %b vector 1 : !pointers -> !buffer
  %g = tile.async_commit %c
  tile.barrier
  tile.async_wait %g
  %m = tile.reduce max %x, 0 : !tensor -> f32
  return %m : f32
}

// The same of what a copy reads.
// CHECK-LABEL: @overwritten_late
// CHECK: tile.async_wait
// CHECK-NEXT: tile.barrier{{$}}
// CHECK-NEXT: tile.store
func.func @overwritten_late(%p: !tile.ptr<f32>, %x: !tensor) {
  %b = tile.smem_alloc : !buffer
  %i = tile.range 0, 128 : tensor<128xi32, #row>
  %f = tile.splat %p : !tile.ptr<f32> -> !pointers
  %s = tile.addptr %f, %i : !pointers, tensor<128xi32, #row>
  %c = tile.async_copy %s, %b vector 1 : !pointers -> !buffer
  %g = tile.async_commit %c
  tile.barrier
  tile.async_wait %g
  tile.store %s, %x : !pointers, !tensor
  return
}

// A buffer of unknown origin may be anywhere.
// CHECK-LABEL: @unknown_buffer
// CHECK: tile.smem_load
// CHECK-NEXT: tile.barrier scratch
// CHECK-NEXT: tile.reduce
func.func @unknown_buffer(%b: !buffer) -> f32 {
  %y = tile.smem_load %b : !buffer -> !tensor
  %m = tile.reduce max %y, 0 : !tensor -> f32
  return %m : f32
}

// Scratch of the iteration before, and scratch of one side of a branch.
// CHECK-LABEL: @scratch_again
// CHECK: scf.for
// CHECK-NEXT: tile.barrier scratch
// CHECK-NEXT: tile.reduce
func.func @scratch_again(%x: !tensor, %f: f32, %n: i32) -> f32 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %f) -> (f32) : i32 {
    %m = tile.reduce max %x, 0 : !tensor -> f32
    %a = arith.addf %m, %sum : f32
    scf.yield %a : f32
  }
  return %r : f32
}

// CHECK-LABEL: @scratch_of_a_side
// CHECK: scf.if
// CHECK: } else {
// CHECK: tile.smem_store
// CHECK: }
// CHECK: tile.barrier scratch
// CHECK-NEXT: tile.reduce
func.func @scratch_of_a_side(%x: !tensor, %f: f32, %c: i1) -> f32 {
  %b = tile.smem_alloc : !buffer
  scf.if %c {
  } else {
    tile.smem_store %x, %b : !tensor -> !buffer
  }
  %m = tile.reduce max %x, 0 : !tensor -> f32
  return %m : f32
}

// Two tiles that are staged: each has a barrier before and after its store, and
// nothing comes between the second and the third.
// CHECK-LABEL: @staged_twice
// CHECK: scf.for
// CHECK-NEXT: tile.barrier{{$}}
// CHECK-NEXT: tile.smem_store
// CHECK-NEXT: tile.barrier{{$}}
// CHECK-NEXT: arith.addf
// CHECK-NEXT: tile.smem_store
// CHECK-NEXT: tile.barrier{{$}}
// CHECK-NEXT: tile.smem_load
func.func @staged_twice(%x: !tensor, %n: i32) {
  %a = tile.smem_alloc : !buffer
  %b = tile.smem_alloc : !buffer
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    tile.barrier
    tile.smem_store %x, %a : !tensor -> !buffer
    tile.barrier
    %y = arith.addf %x, %x : !tensor
    tile.barrier
    tile.smem_store %y, %b : !tensor -> !buffer
    tile.barrier
    %u = tile.smem_load %a : !buffer -> !tensor
    %v = tile.smem_load %b : !buffer -> !tensor
  }
  return
}

// One side of a branch has an access after the barrier before, so the barrier
// remains.
// CHECK-LABEL: @store_on_a_side
// CHECK: tile.barrier{{$}}
// CHECK: scf.if
// CHECK: tile.smem_store
// CHECK: }
// CHECK-NEXT: tile.barrier{{$}}
// CHECK-NEXT: tile.smem_load
func.func @store_on_a_side(%x: !tensor, %c: i1) -> !tensor {
  %b = tile.smem_alloc : !buffer
  tile.smem_store %x, %b : !tensor -> !buffer
  tile.barrier
  scf.if %c {
    tile.smem_store %x, %b : !tensor -> !buffer
  }
  tile.barrier
  %y = tile.smem_load %b : !buffer -> !tensor
  return %y : !tensor
}
