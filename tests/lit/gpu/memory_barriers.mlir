// RUN: tessera-opt %s -tessera-memory-barriers -split-input-file | FileCheck %s
// RUN: %docblock-lowering.md order.before > %t.before
// RUN: tessera-opt %s -split-input-file | FileCheck %t.before
// RUN: %docblock-lowering.md order.after > %t.after
// RUN: tessera-opt %s -tessera-memory-barriers -split-input-file | FileCheck %t.after

// Barriers are inserted where the accesses of two threads may conflict.

#row = #tile.linear<128, register = [], lane = [[1], [2], [4], [8], [16]], warp = [[32], [64]]>
#replicated = #tile.linear<32, register = [], lane = [[1], [2], [4], [8], [16]], warp = [[0], [0]]>

// CHECK-LABEL: @in_place
// CHECK-NOT: tile.barrier
func.func @in_place(%p: !tile.ptr<f32>) {
  %i = tile.range 0, 128 : tensor<128xi32, #row>
  %s = tile.splat %p : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>, #row>
  %x = tile.addptr %s, %i : tensor<128x!tile.ptr<f32>, #row>, tensor<128xi32, #row>
  %v = tile.load %x : tensor<128x!tile.ptr<f32>, #row>
  tile.store %x, %v : tensor<128x!tile.ptr<f32>, #row>, tensor<128xf32, #row>
  return
}

// Two arrays in one buffer: 64 rows of 2 elements from 0, 128 elements from 128.
// CHECK-LABEL: @two_arrays
// CHECK-NOT: tile.barrier
// CHECK: return
#pair = #tile.linear<64x2, register = [[0, 1]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [[32, 0], [0, 0]]>
#rows = #tile.linear<64, register = [], lane = [[1], [2], [4], [8], [16]], warp = [[32], [0]]>
#column = #tile.linear<64x1, register = [], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [[32, 0], [0, 0]]>
#two = #tile.linear<2, register = [[1]], lane = [[0], [0], [0], [0], [0]], warp = [[0], [0]]>
#couple = #tile.linear<1x2, register = [[0, 1]], lane = [[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]], warp = [[0, 0], [0, 0]]>
func.func @two_arrays(%p: !tile.ptr<f32>, %x: tensor<64x2xf32, #pair>, %y: tensor<128xf32, #row>) {
  %r = tile.range 0, 64 : tensor<64xi32, #rows>
  %r1 = tile.expand_dims %r, 1 : tensor<64xi32, #rows> -> tensor<64x1xi32, #column>
  %two = arith.constant dense<2> : tensor<64x1xi32, #column>
  %r2 = arith.muli %r1, %two : tensor<64x1xi32, #column>
  %r3 = tile.broadcast %r2 : tensor<64x1xi32, #column> -> tensor<64x2xi32, #pair>
  %c = tile.range 0, 2 : tensor<2xi32, #two>
  %c1 = tile.expand_dims %c, 0 : tensor<2xi32, #two> -> tensor<1x2xi32, #couple>
  %c2 = tile.broadcast %c1 : tensor<1x2xi32, #couple> -> tensor<64x2xi32, #pair>
  %at = arith.addi %r3, %c2 : tensor<64x2xi32, #pair>
  %s = tile.splat %p : !tile.ptr<f32> -> tensor<64x2x!tile.ptr<f32>, #pair>
  %a = tile.addptr %s, %at : tensor<64x2x!tile.ptr<f32>, #pair>, tensor<64x2xi32, #pair>
  tile.store %a, %x : tensor<64x2x!tile.ptr<f32>, #pair>, tensor<64x2xf32, #pair>
  %n = arith.constant 128 : i32
  %q = tile.addptr %p, %n : !tile.ptr<f32>, i32
  %i = tile.range 0, 128 : tensor<128xi32, #row>
  %t = tile.splat %q : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>, #row>
  %b = tile.addptr %t, %i : tensor<128x!tile.ptr<f32>, #row>, tensor<128xi32, #row>
  tile.store %b, %y : tensor<128x!tile.ptr<f32>, #row>, tensor<128xf32, #row>
  return
}

// One element less between them.
// CHECK-LABEL: @overlapping_arrays
// CHECK: tile.store
// CHECK: tile.barrier
// CHECK: tile.store
func.func @overlapping_arrays(%p: !tile.ptr<f32>, %x: tensor<64xf32, #rows>, %y: tensor<128xf32, #row>) {
  %r = tile.range 0, 64 : tensor<64xi32, #rows>
  %s = tile.splat %p : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>, #rows>
  %a = tile.addptr %s, %r : tensor<64x!tile.ptr<f32>, #rows>, tensor<64xi32, #rows>
  tile.store %a, %x : tensor<64x!tile.ptr<f32>, #rows>, tensor<64xf32, #rows>
  %n = arith.constant 63 : i32
  %q = tile.addptr %p, %n : !tile.ptr<f32>, i32
  %i = tile.range 0, 128 : tensor<128xi32, #row>
  %t = tile.splat %q : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>, #row>
  %b = tile.addptr %t, %i : tensor<128x!tile.ptr<f32>, #row>, tensor<128xi32, #row>
  tile.store %b, %y : tensor<128x!tile.ptr<f32>, #row>, tensor<128xf32, #row>
  return
}

// The pointer of the next iteration has another base.
// CHECK-LABEL: @arrays_of_iterations
// CHECK: scf.for
// CHECK: tile.barrier
// CHECK: tile.store
func.func @arrays_of_iterations(%p: !tile.ptr<f32>, %n: i32, %x: tensor<64xf32, #rows>, %y: tensor<128xf32, #row>) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %r = tile.range 0, 64 : tensor<64xi32, #rows>
  %i = tile.range 0, 128 : tensor<128xi32, #row>
  scf.for %k = %c0 to %n step %c64 : i32 {
    %base = tile.addptr %p, %k : !tile.ptr<f32>, i32
    %s = tile.splat %base : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>, #rows>
    %a = tile.addptr %s, %r : tensor<64x!tile.ptr<f32>, #rows>, tensor<64xi32, #rows>
    tile.store %a, %x : tensor<64x!tile.ptr<f32>, #rows>, tensor<64xf32, #rows>
    %q = tile.addptr %base, %c64 : !tile.ptr<f32>, i32
    %t = tile.splat %q : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>, #row>
    %b = tile.addptr %t, %i : tensor<128x!tile.ptr<f32>, #row>, tensor<128xi32, #row>
    tile.store %b, %y : tensor<128x!tile.ptr<f32>, #row>, tensor<128xf32, #row>
  }
  return
}

// Several elements may have one index: all load before one stores.
// CHECK-LABEL: @indexed
// CHECK: tile.addptr %{{.*}}, %[[INDEX:.*]] :
// CHECK-NEXT: tile.load
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.store
func.func @indexed(%p: !tile.ptr<f32>, %ip: tensor<128x!tile.ptr<i32>, #row>) {
  %i = tile.load %ip : tensor<128x!tile.ptr<i32>, #row>
  %s = tile.splat %p : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>, #row>
  %x = tile.addptr %s, %i : tensor<128x!tile.ptr<f32>, #row>, tensor<128xi32, #row>
  %v = tile.load %x : tensor<128x!tile.ptr<f32>, #row>
  tile.store %x, %v : tensor<128x!tile.ptr<f32>, #row>, tensor<128xf32, #row>
  return
}

// All warps load what the first one stores.
// CHECK-LABEL: @replicated
// CHECK: tile.load
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.store
func.func @replicated(%p: !tile.ptr<f32>) {
  %i = tile.range 0, 32 : tensor<32xi32, #replicated>
  %s = tile.splat %p : !tile.ptr<f32> -> tensor<32x!tile.ptr<f32>, #replicated>
  %x = tile.addptr %s, %i : tensor<32x!tile.ptr<f32>, #replicated>, tensor<32xi32, #replicated>
  %v = tile.load %x : tensor<32x!tile.ptr<f32>, #replicated>
  tile.store %x, %v : tensor<32x!tile.ptr<f32>, #replicated>, tensor<32xf32, #replicated>
  return
}

// So do lanes.
// CHECK-LABEL: @replicated_lanes
// CHECK: tile.load
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.store
#lanes = #tile.linear<64, register = [], lane = [[1], [2], [4], [8], [0]], warp = [[16], [32]]>
func.func @replicated_lanes(%p: !tile.ptr<f32>) {
  %i = tile.range 0, 64 : tensor<64xi32, #lanes>
  %s = tile.splat %p : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>, #lanes>
  %x = tile.addptr %s, %i : tensor<64x!tile.ptr<f32>, #lanes>, tensor<64xi32, #lanes>
  %v = tile.load %x : tensor<64x!tile.ptr<f32>, #lanes>
  tile.store %x, %v : tensor<64x!tile.ptr<f32>, #lanes>, tensor<64xf32, #lanes>
  return
}

// Only one of the branches stores; the load after it may meet that store.
// CHECK-LABEL: @branches
// CHECK: scf.if
// CHECK: tile.store
// CHECK: }
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.load
func.func @branches(%c: i1, %p: !tile.ptr<f32>, %v: f32) -> f32 {
  scf.if %c {
    tile.store %p, %v : !tile.ptr<f32>, f32
  }
  %r = tile.load %p : !tile.ptr<f32>
  return %r : f32
}

// The store of one iteration may meet the load of the next.
// CHECK-LABEL: @loop
// CHECK: scf.for
// CHECK: tile.barrier
// CHECK-NEXT: tile.load
// CHECK-NEXT: tile.store
func.func @loop(%p: !tile.ptr<f32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %s = tile.splat %p : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>, #row>
  %e = tile.range 0, 128 : tensor<128xi32, #row>
  %f = tile.addptr %s, %e : tensor<128x!tile.ptr<f32>, #row>, tensor<128xi32, #row>
  scf.for %i = %c0 to %n step %c1 : i32 {
    %o = tile.splat %i : i32 -> tensor<128xi32, #row>
    %q = tile.addptr %f, %o : tensor<128x!tile.ptr<f32>, #row>, tensor<128xi32, #row>
    %v = tile.load %q : tensor<128x!tile.ptr<f32>, #row>
    tile.store %q, %v : tensor<128x!tile.ptr<f32>, #row>, tensor<128xf32, #row>
  }
  return
}

// Two arguments, and a pointer that was loaded, which may be anything.
// CHECK-LABEL: @origins
// CHECK: tile.store %{{.*}}, %{{.*}} : !tile.ptr<f32>, f32
// CHECK-NEXT: tile.load %arg1
// CHECK: tile.load %{{.*}} : !tile.ptr<!tile.ptr<f32>>
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.load
func.func @origins(%p: !tile.ptr<f32>, %q: !tile.ptr<f32>, %t: !tile.ptr<!tile.ptr<f32>>, %v: f32) -> (f32, f32) {
  tile.store %p, %v : !tile.ptr<f32>, f32
  %a = tile.load %q : !tile.ptr<f32>
  %u = tile.load %t : !tile.ptr<!tile.ptr<f32>>
  %b = tile.load %u : !tile.ptr<f32>
  return %a, %b : f32, f32
}

// A while ends after its condition: what the condition of the last iteration left
// is open after the loop, also what an earlier iteration's body left through it.
// CHECK-LABEL: @while_condition
// CHECK: tile.store
// CHECK: scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.load %arg0
func.func @while_condition(%p: !tile.ptr<f32>, %n: i32, %v: f32) -> f32 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %last = scf.while (%i = %c0) : (i32) -> i32 {
    tile.store %p, %v : !tile.ptr<f32>, f32
    %more = arith.cmpi slt, %i, %n : i32
    scf.condition(%more) %i : i32
  } do {
  ^bb0(%i: i32):
    tile.barrier
    %next = arith.addi %i, %c1 : i32
    scf.yield %next : i32
  }
  %r = tile.load %p : !tile.ptr<f32>
  return %r : f32
}

// CHECK-LABEL: @while_body
// CHECK: tile.store
// CHECK: scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.load %arg0
func.func @while_body(%p: !tile.ptr<f32>, %n: i32, %v: f32) -> f32 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %last = scf.while (%i = %c0) : (i32) -> i32 {
    %more = arith.cmpi slt, %i, %n : i32
    scf.condition(%more) %i : i32
  } do {
  ^bb0(%i: i32):
    tile.store %p, %v : !tile.ptr<f32>, f32
    %next = arith.addi %i, %c1 : i32
    scf.yield %next : i32
  }
  %r = tile.load %p : !tile.ptr<f32>
  return %r : f32
}

// A store before the loop, which may have no iterations.
// CHECK-LABEL: @while_before
// CHECK: scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.load %arg0
func.func @while_before(%p: !tile.ptr<f32>, %n: i32, %v: f32) -> f32 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  tile.store %p, %v : !tile.ptr<f32>, f32
  %last = scf.while (%i = %c0) : (i32) -> i32 {
    %more = arith.cmpi slt, %i, %n : i32
    scf.condition(%more) %i : i32
  } do {
  ^bb0(%i: i32):
    %next = arith.addi %i, %c1 : i32
    scf.yield %next : i32
  }
  %r = tile.load %p : !tile.ptr<f32>
  return %r : f32
}

// The body's store meets the load of the next condition; the barrier there is
// the last thing of every iteration that matters, so none is needed after the loop.
// CHECK-LABEL: @while_iterations
// CHECK: scf.while
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.load %arg0
// CHECK: tile.barrier
// CHECK-NEXT: tile.store %arg0
// CHECK: scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: tile.load %arg0
func.func @while_iterations(%p: !tile.ptr<f32>, %v: f32) -> f32 {
  %zero = arith.constant 0.0 : f32
  scf.while : () -> () {
    %x = tile.load %p : !tile.ptr<f32>
    %more = arith.cmpf one, %x, %zero : f32
    scf.condition(%more)
  } do {
    tile.store %p, %v : !tile.ptr<f32>, f32
    scf.yield
  }
  %r = tile.load %p : !tile.ptr<f32>
  return %r : f32
}

// A pointer to other elements is still the argument's.
// CHECK-LABEL: @recast
// CHECK: tile.store
// CHECK-NEXT: tile.bitcast %arg1
// CHECK-NEXT: tile.load
// CHECK-NEXT: tile.bitcast %arg0
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.load
func.func @recast(%p: !tile.ptr<f32>, %q: !tile.ptr<f32>, %v: f32) -> (i32, i32) {
  tile.store %p, %v : !tile.ptr<f32>, f32
  %i = tile.bitcast %q : !tile.ptr<f32> -> !tile.ptr<i32>
  %a = tile.load %i : !tile.ptr<i32>
  %j = tile.bitcast %p : !tile.ptr<f32> -> !tile.ptr<i32>
  %b = tile.load %j : !tile.ptr<i32>
  return %a, %b : i32, i32
}

// Thread 0 does both stores of one address, in its order; of a tile's stores and
// one address they are others'.
// CHECK-LABEL: @scalar_stores
// CHECK: tile.store
// CHECK-NEXT: tile.store
// CHECK-NEXT: tile.splat
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.store
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.store
func.func @scalar_stores(%p: !tile.ptr<f32>, %v: f32, %x: tensor<128xf32, #row>) {
  tile.store %p, %v : !tile.ptr<f32>, f32
  tile.store %p, %v : !tile.ptr<f32>, f32
  %s = tile.splat %p : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>, #row>
  tile.store %s, %x : tensor<128x!tile.ptr<f32>, #row>, tensor<128xf32, #row>
  tile.store %p, %v : !tile.ptr<f32>, f32
  return
}
