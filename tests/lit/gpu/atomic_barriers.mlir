// RUN: tessera-opt %s -tessera-memory-barriers | FileCheck %s

// Barriers between an atomic and other accesses of the program.

#row = #tile.linear<128, register = [], lane = [[1], [2], [4], [8], [16]], warp = [[32], [64]]>
!pointers = tensor<128x!tile.ptr<i32>, #row>
!ints = tensor<128xi32, #row>

// A release comes after what all threads did: atomics, loads, stores of any
// argument.
// CHECK-LABEL: @release_after_relaxed
// CHECK: tile.atomic_rmw add
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.atomic_rmw add
func.func @release_after_relaxed(%p: !pointers, %x: !ints, %count: !tile.ptr<i32>, %n: i32) {
  %a = tile.atomic_rmw add %p, %x {sem = "relaxed"} : !pointers, !ints
  %b = tile.atomic_rmw add %count, %n : !tile.ptr<i32>, i32
  return
}

// CHECK-LABEL: @release_after_release
// CHECK: tile.atomic_rmw add
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.atomic_rmw add
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.atomic_cas
func.func @release_after_release(%p: !pointers, %q: !pointers, %x: !ints, %count: !tile.ptr<i32>, %n: i32) {
  %a = tile.atomic_rmw add %p, %x {sem = "release"} : !pointers, !ints
  %b = tile.atomic_rmw add %q, %x : !pointers, !ints
  %c = tile.atomic_cas %count, %n, %n {sem = "release"} : !tile.ptr<i32>, i32
  return
}

// CHECK-LABEL: @release_after_load
// CHECK: tile.load
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.atomic_rmw xchg
func.func @release_after_load(%p: !pointers, %q: !pointers, %x: !ints) -> !ints {
  %v = tile.load %p : !pointers
  %a = tile.atomic_rmw xchg %q, %x {sem = "release"} : !pointers, !ints
  return %v : !ints
}

// CHECK-LABEL: @release_after_store
// CHECK: tile.store
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.atomic_rmw xchg
func.func @release_after_store(%p: !pointers, %flag: !tile.ptr<i32>, %x: !ints, %n: i32) {
  tile.store %p, %x : !pointers, !ints
  %a = tile.atomic_rmw xchg %flag, %n {sem = "release"} : !tile.ptr<i32>, i32
  return
}

// A relaxed atomic, or one that only acquires, releases nothing.
// CHECK-LABEL: @relaxed_after_store
// CHECK-NOT: tile.barrier
// CHECK: return
func.func @relaxed_after_store(%p: !pointers, %flag: !tile.ptr<i32>, %x: !ints, %n: i32) {
  tile.store %p, %x : !pointers, !ints
  %a = tile.atomic_rmw xchg %flag, %n {sem = "relaxed"} : !tile.ptr<i32>, i32
  %b = tile.atomic_rmw xchg %flag, %n {sem = "acquire"} : !tile.ptr<i32>, i32
  return
}

// Thread 0 does all accesses of one address that write.
// CHECK-LABEL: @scalars
// CHECK-NOT: tile.barrier
// CHECK: return
func.func @scalars(%p: !tile.ptr<i32>, %flag: !tile.ptr<i32>, %n: i32) -> i32 {
  %a = tile.atomic_rmw add %p, %n {sem = "relaxed"} : !tile.ptr<i32>, i32
  tile.store %p, %n : !tile.ptr<i32>, i32
  %b = tile.atomic_rmw xchg %flag, %n : !tile.ptr<i32>, i32
  tile.store %p, %n : !tile.ptr<i32>, i32
  return %b : i32
}

// Every thread loads what thread 0 then changes, and what it has changed.
// CHECK-LABEL: @loads_of_a_scalar
// CHECK: tile.load
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.atomic_rmw
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.load
func.func @loads_of_a_scalar(%p: !tile.ptr<i32>, %n: i32) -> (i32, i32) {
  %v = tile.load %p : !tile.ptr<i32>
  %a = tile.atomic_rmw add %p, %n {sem = "relaxed"} : !tile.ptr<i32>, i32
  %w = tile.load %p : !tile.ptr<i32>
  return %v, %w : i32, i32
}

// What thread 0 acquires other threads load: shuffles of the old element order
// no memory.
// CHECK-LABEL: @acquired_by_thread_0
// CHECK: tile.atomic_rmw xchg
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.load
func.func @acquired_by_thread_0(%p: !pointers, %flag: !tile.ptr<i32>, %n: i32) -> (i32, !ints) {
  %a = tile.atomic_rmw xchg %flag, %n {sem = "acquire"} : !tile.ptr<i32>, i32
  %v = tile.load %p : !pointers
  return %a, %v : i32, !ints
}

// CHECK-LABEL: @acquired_by_cas
// CHECK: tile.atomic_cas
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.store
func.func @acquired_by_cas(%p: !pointers, %flag: !tile.ptr<i32>, %n: i32, %x: !ints) -> i32 {
  %a = tile.atomic_cas %flag, %n, %n : !tile.ptr<i32>, i32
  tile.store %p, %x : !pointers, !ints
  return %a : i32
}

// CHECK-LABEL: @acquired_by_a_tile
// CHECK: tile.atomic_rmw or
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.load
func.func @acquired_by_a_tile(%p: !pointers, %flags: !pointers, %x: !ints) -> (!ints, !ints) {
  %a = tile.atomic_rmw or %flags, %x {sem = "acquire"} : !pointers, !ints
  %v = tile.load %p : !pointers
  return %a, %v : !ints, !ints
}

// Without the old element the program does not know what it has acquired.
// CHECK-LABEL: @acquired_unread
// CHECK-NOT: tile.barrier
// CHECK: return
func.func @acquired_unread(%p: !pointers, %flags: !pointers, %x: !ints) -> !ints {
  %a = tile.atomic_rmw or %flags, %x {sem = "acquire"} : !pointers, !ints
  %v = tile.load %p : !pointers
  return %v : !ints
}

// A lock: its compare-and-swaps are all thread 0's, what it protects is not.
// CHECK-LABEL: @lock
// CHECK: scf.while
// CHECK-NEXT: tile.atomic_cas
// CHECK-NOT: tile.barrier
// CHECK: scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.load
// CHECK-NEXT: tile.store
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.atomic_rmw xchg
func.func @lock(%s: !tile.ptr<i32>, %flag: !tile.ptr<i32>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %i = tile.range 0, 128 : !ints
  %ss = tile.splat %s : !tile.ptr<i32> -> !pointers
  %p = tile.addptr %ss, %i : !pointers, !ints
  scf.while : () -> () {
    %old = tile.atomic_cas %flag, %c0, %c1 : !tile.ptr<i32>, i32
    %held = arith.cmpi eq, %old, %c1 : i32
    scf.condition(%held)
  } do {
    scf.yield
  }
  %v = tile.load %p : !pointers
  tile.store %p, %v : !pointers, !ints
  %a = tile.atomic_rmw xchg %flag, %c0 : !tile.ptr<i32>, i32
  return
}

// Two atomics of one argument whose elements other threads hold.
// CHECK-LABEL: @other_elements
// CHECK: tile.atomic_rmw add
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.atomic_rmw xchg
func.func @other_elements(%s: !tile.ptr<i32>, %x: !ints) -> !ints {
  %last = arith.constant dense<127> : !ints
  %i = tile.range 0, 128 : !ints
  %j = arith.subi %last, %i : !ints
  %ss = tile.splat %s : !tile.ptr<i32> -> !pointers
  %p = tile.addptr %ss, %i : !pointers, !ints
  %q = tile.addptr %ss, %j : !pointers, !ints
  %a = tile.atomic_rmw add %p, %x {sem = "relaxed"} : !pointers, !ints
  %b = tile.atomic_rmw xchg %q, %x {sem = "relaxed"} : !pointers, !ints
  return %b : !ints
}

// The same elements stay with their threads. Loaded indices may be equal.
// CHECK-LABEL: @same_elements
// CHECK: tile.atomic_rmw add
// CHECK-NEXT: tile.atomic_rmw xchg
// CHECK-NEXT: tile.store
// CHECK-NEXT: tile.addptr
// CHECK-NEXT: tile.atomic_rmw add
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.atomic_rmw xchg
func.func @same_elements(%s: !tile.ptr<i32>, %t: !tile.ptr<i32>, %x: !ints, %looked: !ints) -> (!ints, !ints) {
  %i = tile.range 0, 128 : !ints
  %ss = tile.splat %s : !tile.ptr<i32> -> !pointers
  %ts = tile.splat %t : !tile.ptr<i32> -> !pointers
  %p = tile.addptr %ss, %i : !pointers, !ints
  %a = tile.atomic_rmw add %p, %x {sem = "relaxed"} : !pointers, !ints
  %b = tile.atomic_rmw xchg %p, %x {sem = "relaxed"} : !pointers, !ints
  tile.store %p, %x : !pointers, !ints
  %q = tile.addptr %ts, %looked : !pointers, !ints
  %c = tile.atomic_rmw add %q, %x {sem = "relaxed"} : !pointers, !ints
  %d = tile.atomic_rmw xchg %q, %x {sem = "relaxed"} : !pointers, !ints
  return %b, %d : !ints, !ints
}

// Sums are the same in any order; exchanges, old elements, sums of other widths
// and other operations are not.
// CHECK-LABEL: @accumulations
// CHECK: tile.atomic_rmw add
// CHECK-NEXT: tile.atomic_rmw add
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.atomic_rmw max
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: %[[OLD:.*]] = tile.atomic_rmw max
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.atomic_rmw max
// CHECK-NEXT: tile.bitcast
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.atomic_rmw max
// CHECK-NEXT: return %[[OLD]]
func.func @accumulations(%s: !tile.ptr<i32>, %i: !ints, %j: !ints, %x: !ints, %y: tensor<128xi64, #row>) -> !ints {
  %ss = tile.splat %s : !tile.ptr<i32> -> !pointers
  %p = tile.addptr %ss, %i : !pointers, !ints
  %q = tile.addptr %ss, %j : !pointers, !ints
  %a = tile.atomic_rmw add %p, %x {sem = "relaxed"} : !pointers, !ints
  %b = tile.atomic_rmw add %q, %x {sem = "relaxed"} : !pointers, !ints
  %c = tile.atomic_rmw max %p, %x {sem = "relaxed"} : !pointers, !ints
  %d = tile.atomic_rmw max %q, %x {sem = "relaxed"} : !pointers, !ints
  %e = tile.atomic_rmw max %p, %x {sem = "relaxed"} : !pointers, !ints
  %w = tile.bitcast %q : !pointers -> tensor<128x!tile.ptr<i64>, #row>
  %f = tile.atomic_rmw max %w, %y {sem = "relaxed"} : tensor<128x!tile.ptr<i64>, #row>, tensor<128xi64, #row>
  return %d : !ints
}

// Exchanges never accumulate.
// CHECK-LABEL: @exchanges
// CHECK: tile.atomic_rmw xchg
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.atomic_rmw xchg
func.func @exchanges(%s: !tile.ptr<i32>, %i: !ints, %j: !ints, %x: !ints) {
  %ss = tile.splat %s : !tile.ptr<i32> -> !pointers
  %p = tile.addptr %ss, %i : !pointers, !ints
  %q = tile.addptr %ss, %j : !pointers, !ints
  %a = tile.atomic_rmw xchg %p, %x {sem = "relaxed"} : !pointers, !ints
  %b = tile.atomic_rmw xchg %q, %x {sem = "relaxed"} : !pointers, !ints
  return
}

// A store moves past itself by a stride of the launch, an atomic may not.
// CHECK-LABEL: @strided_iteration
// CHECK: scf.for
// CHECK: tile.barrier
// CHECK-NEXT: tile.atomic_rmw xchg
// CHECK: tile.store
func.func @strided_iteration(%s: !tile.ptr<i32>, %t: !tile.ptr<i32>, %x: !ints, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %i = tile.range 0, 128 : !ints
  %ss = tile.splat %s : !tile.ptr<i32> -> !pointers
  scf.for %k = %c0 to %n step %c1 : i32 {
    %o = arith.muli %k, %n : i32
    %os = tile.splat %o : i32 -> !ints
    %j = arith.addi %i, %os : !ints
    %p = tile.addptr %ss, %j : !pointers, !ints
    %a = tile.atomic_rmw xchg %p, %x {sem = "relaxed"} : !pointers, !ints
    %ts = tile.splat %t : !tile.ptr<i32> -> !pointers
    %q = tile.addptr %ts, %j : !pointers, !ints
    tile.store %q, %x : !pointers, !ints
  }
  return
}

// A volatile load orders what its own thread does.
// CHECK-LABEL: @volatile_load
// CHECK-NOT: tile.barrier
// CHECK: return
func.func @volatile_load(%p: !pointers, %q: !pointers) -> (!ints, !ints) {
  %v = tile.load %p {isVolatile} : !pointers
  %w = tile.load %q : !pointers
  return %v, %w : !ints, !ints
}

// An atomic in a loop may meet its own next iteration, unless it accumulates.
// CHECK-LABEL: @next_iteration
// CHECK: scf.for
// CHECK: tile.barrier
// CHECK-NEXT: tile.atomic_rmw xchg
// CHECK-NEXT: tile.atomic_rmw add
// CHECK-NEXT: {{^ +}$}}
func.func @next_iteration(%s: !tile.ptr<i32>, %t: !tile.ptr<i32>, %x: !ints, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %i = tile.range 0, 128 : !ints
  %ss = tile.splat %s : !tile.ptr<i32> -> !pointers
  %ts = tile.splat %t : !tile.ptr<i32> -> !pointers
  scf.for %k = %c0 to %n step %c1 : i32 {
    %ks = tile.splat %k : i32 -> !ints
    %j = arith.addi %i, %ks : !ints
    %p = tile.addptr %ss, %j : !pointers, !ints
    %q = tile.addptr %ts, %j : !pointers, !ints
    %a = tile.atomic_rmw xchg %p, %x {sem = "relaxed"} : !pointers, !ints
    %b = tile.atomic_rmw add %q, %x {sem = "relaxed"} : !pointers, !ints
  }
  return
}

// A release in a loop waits for the iteration before, an acquire is waited for
// in the next one.
// CHECK-LABEL: @around_the_loop
// CHECK: scf.for
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.load
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.atomic_rmw
// CHECK: }
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.load
func.func @around_the_loop(%p: !pointers, %flag: !tile.ptr<i32>, %n: i32, %x: !ints) -> (i32, !ints) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %sum:2 = scf.for %k = %c0 to %n step %c1 iter_args(%s = %c0, %t = %x) -> (i32, !ints) : i32 {
    %v = tile.load %p : !pointers
    %a = tile.atomic_rmw add %flag, %n : !tile.ptr<i32>, i32
    %o = arith.addi %s, %a : i32
    %w = arith.addi %t, %v : !ints
    scf.yield %o, %w : i32, !ints
  }
  %v = tile.load %p : !pointers
  %w = arith.addi %sum#1, %v : !ints
  return %sum#0, %w : i32, !ints
}
