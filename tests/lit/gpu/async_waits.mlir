// How many groups a wait leaves under way follows from the tokens.
// RUN: tessera-opt %s -canonicalize -cse -tessera-async-waits | FileCheck %s

#row = #tile.linear<64, register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = []>
#memory = #tile.shared<64, offset = [[1], [2], [4], [8], [16], [32]]>
!pointers = tensor<64x!tile.ptr<f32>, #row>
!buffer = !tile.smem<1 x 64xf32, #memory>

// Two groups under way: the first one's wait leaves the second, theirs
// together leaves none.
// CHECK-LABEL: @prologue
// CHECK: %[[A:.*]] = tile.async_commit
// CHECK: %[[B:.*]] = tile.async_commit
// CHECK: tile.async_wait %[[A]] leaving 1
// CHECK: tile.async_wait %[[A]], %[[B]] leaving 0
func.func @prologue(%p: !pointers, %m: !buffer) {
  %0 = tile.async_copy %p, %m vector 2 : !pointers -> !buffer
  %a = tile.async_commit %0
  %1 = tile.async_copy %p, %m vector 2 : !pointers -> !buffer
  %b = tile.async_commit %1
  tile.async_wait %a
  tile.async_wait %a, %b
  return
}

// A group that no operation waits for counts, and no pass drops it.
// CHECK-LABEL: @unused
// CHECK: %[[A:.*]] = tile.async_commit
// CHECK-COUNT-2: tile.async_commit
// CHECK: tile.async_wait %[[A]] leaving 2
func.func @unused(%p: !pointers, %m: !buffer) {
  %0 = tile.async_copy %p, %m vector 2 : !pointers -> !buffer
  %a = tile.async_commit %0
  %1 = tile.async_copy %p, %m vector 2 : !pointers -> !buffer
  %b = tile.async_commit %1
  %2 = tile.async_copy %p, %m vector 2 : !pointers -> !buffer
  %c = tile.async_commit %2
  tile.async_wait %a
  return
}

// CHECK-LABEL: @three_stages
// CHECK: scf.for
// CHECK-NEXT: tile.async_wait {{.*}} leaving 1
// CHECK: tile.async_commit
// CHECK: tile.async_wait {{.*}} leaving 0
func.func @three_stages(%p: !pointers, %m: !buffer, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %0 = tile.async_copy %p, %m vector 2 : !pointers -> !buffer
  %a = tile.async_commit %0
  %1 = tile.async_copy %p, %m vector 2 : !pointers -> !buffer
  %b = tile.async_commit %1
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%old = %a, %new = %b) -> (!tile.token, !tile.token) : i32 {
    tile.async_wait %old
    %2 = tile.async_copy %p, %m vector 2 : !pointers -> !buffer
    %c = tile.async_commit %2
    scf.yield %new, %c : !tile.token, !tile.token
  }
  tile.async_wait %r#0, %r#1
  return
}

// The second loop's first group comes after the ones that the first loop left, and the second loop may run
// zero iterations.
// CHECK-LABEL: @two_loops
// CHECK: scf.for
// CHECK-NEXT: tile.async_wait {{.*}} leaving 0
// CHECK: scf.for
// CHECK-NEXT: tile.async_wait {{.*}} leaving 0
// CHECK: tile.async_wait {{.*}} leaving 1
// CHECK: tile.async_wait {{.*}} leaving 0
func.func @two_loops(%p: !pointers, %m: !buffer, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %0 = tile.async_copy %p, %m vector 2 : !pointers -> !buffer
  %a = tile.async_commit %0
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%own = %a) -> (!tile.token) : i32 {
    tile.async_wait %own
    %1 = tile.async_copy %p, %m vector 2 : !pointers -> !buffer
    %b = tile.async_commit %1
    scf.yield %b : !tile.token
  }
  %2 = tile.async_copy %p, %m vector 2 : !pointers -> !buffer
  %c = tile.async_commit %2
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%own = %c) -> (!tile.token) : i32 {
    tile.async_wait %own
    %3 = tile.async_copy %p, %m vector 2 : !pointers -> !buffer
    %d = tile.async_commit %3
    scf.yield %d : !tile.token
  }
  tile.async_wait %r
  tile.async_wait %s
  return
}

// In some iterations a group more is under way: the wait goes by those without.
// CHECK-LABEL: @branch
// CHECK: scf.for
// CHECK: scf.if
// CHECK: tile.async_wait {{.*}} leaving 0
// CHECK: }
// CHECK-NEXT: tile.async_wait {{.*}} leaving 1
// CHECK: scf.yield
func.func @branch(%p: !pointers, %m: !buffer, %n: i32, %e: i1) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %0 = tile.async_copy %p, %m vector 2 : !pointers -> !buffer
  %a = tile.async_commit %0
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%own = %a) -> (!tile.token) : i32 {
    %1 = tile.async_copy %p, %m vector 2 : !pointers -> !buffer
    %b = tile.async_commit %1
    scf.if %e {
      %2 = tile.async_copy %p, %m vector 2 : !pointers -> !buffer
      %c = tile.async_commit %2
      tile.async_wait %c
    }
    tile.async_wait %own
    scf.yield %b : !tile.token
  }
  return
}

// Either arm commits: the wait counts the arm with fewer later groups.
// CHECK-LABEL: @arms
// CHECK: tile.async_wait {{.*}} leaving 1
func.func @arms(%p: !pointers, %m: !buffer, %e: i1) {
  %g = scf.if %e -> !tile.token {
    %0 = tile.async_copy %p, %m vector 2 : !pointers -> !buffer
    %a = tile.async_commit %0
    %1 = tile.async_copy %p, %m vector 2 : !pointers -> !buffer
    %b = tile.async_commit %1
    scf.yield %a : !tile.token
  } else {
    %0 = tile.async_copy %p, %m vector 2 : !pointers -> !buffer
    %a = tile.async_commit %0
    scf.yield %a : !tile.token
  }
  %2 = tile.async_copy %p, %m vector 2 : !pointers -> !buffer
  %c = tile.async_commit %2
  tile.async_wait %g
  return
}

// Where nothing was copied there is nothing to wait for.
// CHECK-LABEL: @done
// CHECK: tile.async_wait {{.*}} leaving 63
// CHECK: tile.async_commit
// CHECK: tile.async_wait {{.*}} leaving 0
func.func @done(%p: !pointers, %m: !buffer, %e: i1) {
  %none = tile.async_done
  tile.async_wait %none
  %0 = scf.if %e -> !tile.token {
    %1 = tile.async_copy %p, %m vector 2 : !pointers -> !buffer
    scf.yield %1 : !tile.token
  } else {
    %1 = tile.async_done
    scf.yield %1 : !tile.token
  }
  %g = tile.async_commit %0
  tile.async_wait %g, %none
  return
}

// CHECK-LABEL: @while
// CHECK: scf.while
// CHECK-NEXT: tile.async_wait {{.*}} leaving 0
// CHECK: tile.async_wait {{.*}} leaving 1
func.func @while(%p: !pointers, %m: !buffer, %e: i1) {
  %0 = tile.async_copy %p, %m vector 2 : !pointers -> !buffer
  %a = tile.async_commit %0
  %r = scf.while (%own = %a) : (!tile.token) -> !tile.token {
    tile.async_wait %own
    %1 = tile.async_copy %p, %m vector 2 : !pointers -> !buffer
    %b = tile.async_commit %1
    scf.condition(%e) %b : !tile.token
  } do {
  ^bb0(%passed: !tile.token):
    scf.yield %passed : !tile.token
  }
  %2 = tile.async_copy %p, %m vector 2 : !pointers -> !buffer
  %c = tile.async_commit %2
  tile.async_wait %r
  return
}

// A buffer's readers before the copy, and in the other arm, need none of it.
// CHECK-LABEL: @read_before
// CHECK: tile.async_copy
// CHECK: return
func.func @read_before(%p: !pointers, %e: i1) {
  %m = tile.smem_alloc : !buffer
  %x = tile.smem_load %m : !buffer -> tensor<64xf32, #row>
  scf.if %e {
    %0 = tile.async_copy %p, %m vector 2 : !pointers -> !buffer
    %a = tile.async_commit %0
  } else {
    %y = tile.smem_load %m : !buffer -> tensor<64xf32, #row>
    tile.print "y" %y : tensor<64xf32, #row>
  }
  tile.print "x" %x : tensor<64xf32, #row>
  return
}
