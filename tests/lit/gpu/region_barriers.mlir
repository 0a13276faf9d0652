// RUN: tessera-opt %s -tessera-memory-barriers | FileCheck %s

// Accesses before, in and after loops and branches. %p and %q name one argument
// by different values: elements of one meet those of the other.

#row = #tile.linear<128, register = [], lane = [[1], [2], [4], [8], [16]], warp = [[32], [64]]>
!pointers = tensor<128x!tile.ptr<i32>, #row>
!ints = tensor<128xi32, #row>

// CHECK-LABEL: @for_then_load
// CHECK: tile.store
// CHECK-NEXT: }
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.load
func.func @for_then_load(%s: !tile.ptr<i32>, %x: !ints, %n: i32) -> !ints {
  %p = tile.splat %s : !tile.ptr<i32> -> !pointers
  %q = tile.splat %s : !tile.ptr<i32> -> !pointers
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %k = %c0 to %n step %c1 : i32 {
    tile.store %q, %x : !pointers, !ints
  }
  %v = tile.load %p : !pointers
  return %v : !ints
}

// The load stays where no thread stores to its argument.
// CHECK-LABEL: @for_then_another_argument
// CHECK-NOT: tile.barrier
// CHECK: return
func.func @for_then_another_argument(%s: !tile.ptr<i32>, %t: !tile.ptr<i32>, %x: !ints, %n: i32) -> !ints {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %i = tile.range 0, 128 : !ints
  %ss = tile.splat %s : !tile.ptr<i32> -> !pointers
  %q = tile.addptr %ss, %i : !pointers, !ints
  scf.for %k = %c0 to %n step %c1 : i32 {
    tile.store %q, %x : !pointers, !ints
  }
  %ts = tile.splat %t : !tile.ptr<i32> -> !pointers
  %v = tile.load %ts : !pointers
  return %v : !ints
}

// A load in the loop, then a store.
// CHECK-LABEL: @for_then_store
// CHECK: tile.load
// CHECK: }
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.store
func.func @for_then_store(%s: !tile.ptr<i32>, %x: !ints, %n: i32) -> !ints {
  %p = tile.splat %s : !tile.ptr<i32> -> !pointers
  %q = tile.splat %s : !tile.ptr<i32> -> !pointers
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%a = %x) -> (!ints) : i32 {
    %v = tile.load %p : !pointers
    %b = arith.addi %a, %v : !ints
    scf.yield %b : !ints
  }
  tile.store %q, %x : !pointers, !ints
  return %r : !ints
}

// A store before the loop; the loop may have no iterations.
// CHECK-LABEL: @around_a_for
// CHECK: tile.store
// CHECK-NEXT: scf.for
// CHECK-NEXT: tile.barrier
// CHECK: }
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.load
func.func @around_a_for(%s: !tile.ptr<i32>, %x: !ints, %n: i32) -> !ints {
  %p = tile.splat %s : !tile.ptr<i32> -> !pointers
  %q = tile.splat %s : !tile.ptr<i32> -> !pointers
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  tile.store %q, %x : !pointers, !ints
  scf.for %k = %c0 to %n step %c1 : i32 {
    tile.barrier
  }
  %v = tile.load %p : !pointers
  return %v : !ints
}

// The first iteration meets the store before the loop.
// CHECK-LABEL: @before_a_for
// CHECK: tile.store
// CHECK-NEXT: scf.for
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.load
func.func @before_a_for(%s: !tile.ptr<i32>, %x: !ints, %n: i32) -> !ints {
  %p = tile.splat %s : !tile.ptr<i32> -> !pointers
  %q = tile.splat %s : !tile.ptr<i32> -> !pointers
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  tile.store %q, %x : !pointers, !ints
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%a = %x) -> (!ints) : i32 {
    %v = tile.load %p : !pointers
    %b = arith.addi %a, %v : !ints
    scf.yield %b : !ints
  }
  return %r : !ints
}

// An inner loop's store meets the load of the outer loop's next iteration, and
// the one after both loops.
// CHECK-LABEL: @nested
// CHECK: scf.for
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.load
// CHECK-NEXT: scf.for
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.store
// CHECK: scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.load
func.func @nested(%s: !tile.ptr<i32>, %x: !ints, %n: i32) -> (!ints, !ints) {
  %p = tile.splat %s : !tile.ptr<i32> -> !pointers
  %q = tile.splat %s : !tile.ptr<i32> -> !pointers
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%a = %x) -> (!ints) : i32 {
    %v = tile.load %p : !pointers
    scf.for %l = %c0 to %n step %c1 : i32 {
      tile.store %q, %v : !pointers, !ints
    }
    scf.yield %v : !ints
  }
  %v = tile.load %p : !pointers
  return %r, %v : !ints, !ints
}

// Either branch may have stored.
// CHECK-LABEL: @else_then_load
// CHECK: tile.store
// CHECK-NEXT: }
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.load
func.func @else_then_load(%s: !tile.ptr<i32>, %x: !ints, %c: i1) -> !ints {
  %p = tile.splat %s : !tile.ptr<i32> -> !pointers
  %q = tile.splat %s : !tile.ptr<i32> -> !pointers
  scf.if %c {
    tile.barrier
  } else {
    tile.store %q, %x : !pointers, !ints
  }
  %v = tile.load %p : !pointers
  return %v : !ints
}

// What is before a branch is before both of its sides, and what one side alone
// waits for is still open after it.
// CHECK-LABEL: @around_an_if
// CHECK: tile.store
// CHECK-NEXT: scf.if
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.load
// CHECK: } else {
// CHECK-NEXT: scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.load
func.func @around_an_if(%s: !tile.ptr<i32>, %x: !ints, %c: i1) -> (!ints, !ints) {
  %p = tile.splat %s : !tile.ptr<i32> -> !pointers
  %q = tile.splat %s : !tile.ptr<i32> -> !pointers
  tile.store %q, %x : !pointers, !ints
  %r = scf.if %c -> !ints {
    %v = tile.load %p : !pointers
    scf.yield %v : !ints
  } else {
    scf.yield %x : !ints
  }
  %w = tile.load %p : !pointers
  return %r, %w : !ints, !ints
}

// A branch without an else: nothing may have happened in between.
// CHECK-LABEL: @around_a_then
// CHECK: tile.store
// CHECK-NEXT: scf.if
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: }
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.load
func.func @around_a_then(%s: !tile.ptr<i32>, %x: !ints, %c: i1) -> !ints {
  %p = tile.splat %s : !tile.ptr<i32> -> !pointers
  %q = tile.splat %s : !tile.ptr<i32> -> !pointers
  tile.store %q, %x : !pointers, !ints
  scf.if %c {
    tile.barrier
  }
  %w = tile.load %p : !pointers
  return %w : !ints
}

// In one iteration one side stores, in the next the other one loads.
// CHECK-LABEL: @sides_of_a_loop
// CHECK: scf.if
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.store
// CHECK: } else {
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.load
func.func @sides_of_a_loop(%s: !tile.ptr<i32>, %x: !ints, %n: i32) -> !ints {
  %p = tile.splat %s : !tile.ptr<i32> -> !pointers
  %q = tile.splat %s : !tile.ptr<i32> -> !pointers
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%a = %x) -> (!ints) : i32 {
    %even = arith.cmpi eq, %k, %c0 : i32
    %o = scf.if %even -> !ints {
      tile.store %q, %a : !pointers, !ints
      scf.yield %a : !ints
    } else {
      %v = tile.load %p : !pointers
      scf.yield %v : !ints
    }
    scf.yield %o : !ints
  }
  return %r : !ints
}

// The condition of a while comes after its body.
// CHECK-LABEL: @while_then_store
// CHECK: scf.while
// CHECK: tile.load
// CHECK: scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.store
func.func @while_then_store(%s: !tile.ptr<i32>, %x: !ints, %n: i32) -> !ints {
  %p = tile.splat %s : !tile.ptr<i32> -> !pointers
  %q = tile.splat %s : !tile.ptr<i32> -> !pointers
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r:2 = scf.while (%i = %c0, %a = %x) : (i32, !ints) -> (i32, !ints) {
    %more = arith.cmpi slt, %i, %n : i32
    scf.condition(%more) %i, %a : i32, !ints
  } do {
  ^bb0(%i: i32, %a: !ints):
    %v = tile.load %p : !pointers
    %b = arith.addi %a, %v : !ints
    %next = arith.addi %i, %c1 : i32
    scf.yield %next, %b : i32, !ints
  }
  tile.store %q, %x : !pointers, !ints
  return %r#1 : !ints
}

// If a loop moves a pointer, other threads hold its elements in the next
// iteration. A pointer that stays keeps its threads.
// CHECK-LABEL: @moved_in_place
// CHECK: scf.for
// CHECK: tile.barrier
// CHECK-NEXT: tile.load
// CHECK-NEXT: tile.store
// CHECK-NOT: tile.barrier
// CHECK: return
func.func @moved_in_place(%s: !tile.ptr<i32>, %t: !tile.ptr<i32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %i = tile.range 0, 128 : !ints
  %one = arith.constant dense<1> : !ints
  %ss = tile.splat %s : !tile.ptr<i32> -> !pointers
  %ts = tile.splat %t : !tile.ptr<i32> -> !pointers
  %first = tile.addptr %ss, %i : !pointers, !ints
  %still = tile.addptr %ts, %i : !pointers, !ints
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%p = %first) -> (!pointers) : i32 {
    %v = tile.load %p : !pointers
    tile.store %p, %v : !pointers, !ints
    %w = tile.load %still : !pointers
    tile.store %still, %w : !pointers, !ints
    %next = tile.addptr %p, %one : !pointers, !ints
    scf.yield %next : !pointers
  }
  return
}

// Elements with one address: by looking it up, by a division, by a tile whose
// rows overlap, by a broadcast.
// CHECK-LABEL: @equal_elements
// CHECK: tile.store
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.load
// CHECK: tile.load
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.store
// CHECK: return
func.func @equal_elements(%s: !tile.ptr<i32>, %t: !tile.ptr<i32>, %looked: !ints, %x: !ints) -> !ints {
  %two = arith.constant dense<2> : !ints
  %i = tile.range 0, 128 : !ints
  %half = arith.divsi %i, %two : !ints
  %ss = tile.splat %s : !tile.ptr<i32> -> !pointers
  %ts = tile.splat %t : !tile.ptr<i32> -> !pointers
  %p = tile.addptr %ss, %looked : !pointers, !ints
  %q = tile.addptr %ts, %half : !pointers, !ints
  tile.store %p, %x : !pointers, !ints
  %v = tile.load %p : !pointers
  %w = tile.load %q : !pointers
  tile.store %q, %w : !pointers, !ints
  return %v : !ints
}

// A store of a loop meets that of another iteration if the loop moves the tile
// by less than its size, or not evenly.
// CHECK-LABEL: @overlapping_stores
// CHECK: scf.for
// CHECK: tile.barrier
// CHECK-NEXT: tile.store
func.func @overlapping_stores(%s: !tile.ptr<i32>, %x: !ints, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %i = tile.range 0, 128 : !ints
  %ss = tile.splat %s : !tile.ptr<i32> -> !pointers
  scf.for %k = %c0 to %n step %c1 : i32 {
    %o = arith.addi %k, %n : i32
    %os = tile.splat %o : i32 -> !ints
    %j = arith.addi %i, %os : !ints
    %p = tile.addptr %ss, %j : !pointers, !ints
    tile.store %p, %x : !pointers, !ints
  }
  return
}

// CHECK-LABEL: @overlapping_by_one
// CHECK: scf.for
// CHECK: tile.barrier
// CHECK-NEXT: tile.store
func.func @overlapping_by_one(%s: !tile.ptr<i32>, %x: !ints, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %i = tile.range 0, 128 : !ints
  %ss = tile.splat %s : !tile.ptr<i32> -> !pointers
  scf.for %k = %c0 to %n step %c1 : i32 {
    %c127 = arith.constant 127 : i32
    %o = arith.muli %k, %c127 : i32
    %os = tile.splat %o : i32 -> !ints
    %j = arith.addi %i, %os : !ints
    %p = tile.addptr %ss, %j : !pointers, !ints
    tile.store %p, %x : !pointers, !ints
  }
  return
}

// CHECK-LABEL: @overlapping_backwards
// CHECK: scf.for
// CHECK: tile.barrier
// CHECK-NEXT: tile.store
func.func @overlapping_backwards(%s: !tile.ptr<i32>, %x: !ints, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %i = tile.range 0, 128 : !ints
  %ss = tile.splat %s : !tile.ptr<i32> -> !pointers
  scf.for %k = %c0 to %n step %c1 : i32 {
    %c127 = arith.constant -127 : i32
    %o = arith.muli %c127, %k : i32
    %os = tile.splat %o : i32 -> !ints
    %j = arith.addi %i, %os : !ints
    %p = tile.addptr %ss, %j : !pointers, !ints
    tile.store %p, %x : !pointers, !ints
  }
  return
}

// CHECK-LABEL: @overlapping_unevenly
// CHECK: scf.for
// CHECK: tile.barrier
// CHECK-NEXT: tile.store
func.func @overlapping_unevenly(%s: !tile.ptr<i32>, %x: !ints, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %i = tile.range 0, 128 : !ints
  %ss = tile.splat %s : !tile.ptr<i32> -> !pointers
  scf.for %k = %c0 to %n step %c1 : i32 {
    %c2 = arith.constant 2 : i32
    %half = arith.divsi %k, %c2 : i32
    %c256 = arith.constant 256 : i32
    %o = arith.muli %half, %c256 : i32
    %os = tile.splat %o : i32 -> !ints
    %j = arith.addi %i, %os : !ints
    %p = tile.addptr %ss, %j : !pointers, !ints
    tile.store %p, %x : !pointers, !ints
  }
  return
}

// CHECK-LABEL: @overlapping_where_looked_up
// CHECK: scf.for
// CHECK: tile.barrier
// CHECK-NEXT: tile.store
func.func @overlapping_where_looked_up(%s: !tile.ptr<i32>, %x: !ints, %n: i32, %t: !tile.ptr<i32>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %i = tile.range 0, 128 : !ints
  %ss = tile.splat %s : !tile.ptr<i32> -> !pointers
  scf.for %k = %c0 to %n step %c1 : i32 {
    %at = tile.load %t : !tile.ptr<i32>
    %c128 = arith.constant 128 : i32
    %past = arith.muli %k, %c128 : i32
    %o = arith.addi %past, %at : i32
    %os = tile.splat %o : i32 -> !ints
    %j = arith.addi %i, %os : !ints
    %p = tile.addptr %ss, %j : !pointers, !ints
    tile.store %p, %x : !pointers, !ints
  }
  return
}

// CHECK-LABEL: @overlapping_carried
// CHECK: scf.for
// CHECK: tile.barrier
// CHECK-NEXT: tile.store
func.func @overlapping_carried(%s: !tile.ptr<i32>, %x: !ints, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %i = tile.range 0, 128 : !ints
  %ss = tile.splat %s : !tile.ptr<i32> -> !pointers
  %first = tile.addptr %ss, %i : !pointers, !ints
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%p = %first) -> (!pointers) : i32 {
    tile.store %p, %x : !pointers, !ints
    %more = arith.constant dense<127> : !ints
    %next = tile.addptr %p, %more : !pointers, !ints
    scf.yield %next : !pointers
  }
  return
}

// Not a step of the loop, as far as the compiler knows.
// CHECK-LABEL: @overlapping_from_the_start
// CHECK: scf.for
// CHECK: tile.barrier
// CHECK-NEXT: tile.store
func.func @overlapping_from_the_start(%s: !tile.ptr<i32>, %x: !ints, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %i = tile.range 0, 128 : !ints
  %ss = tile.splat %s : !tile.ptr<i32> -> !pointers
  %first = tile.addptr %ss, %i : !pointers, !ints
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%p = %first) -> (!pointers) : i32 {
    tile.store %p, %x : !pointers, !ints
    %more = arith.constant dense<128> : !ints
    %next = tile.addptr %first, %more : !pointers, !ints
    scf.yield %next : !pointers
  }
  return
}

// CHECK-LABEL: @overlapping_ever_more
// CHECK: scf.for
// CHECK: tile.barrier
// CHECK-NEXT: tile.store
func.func @overlapping_ever_more(%s: !tile.ptr<i32>, %x: !ints, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %i = tile.range 0, 128 : !ints
  %ss = tile.splat %s : !tile.ptr<i32> -> !pointers
  %first = tile.addptr %ss, %i : !pointers, !ints
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%p = %first) -> (!pointers) : i32 {
    tile.store %p, %x : !pointers, !ints
    %more = tile.splat %k : i32 -> !ints
    %next = tile.addptr %p, %more : !pointers, !ints
    scf.yield %next : !pointers
  }
  return
}

// CHECK-LABEL: @overlapping_difference
// CHECK: scf.for
// CHECK: tile.barrier
// CHECK-NEXT: tile.store
func.func @overlapping_difference(%s: !tile.ptr<i32>, %x: !ints, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %i = tile.range 0, 128 : !ints
  %ss = tile.splat %s : !tile.ptr<i32> -> !pointers
  scf.for %k = %c0 to %n step %c1 : i32 {
    %c128 = arith.constant 128 : i32
    %c127 = arith.constant 127 : i32
    %a = arith.muli %k, %c128 : i32
    %b = arith.muli %k, %c127 : i32
    %o = arith.subi %a, %b : i32
    %os = tile.splat %o : i32 -> !ints
    %j = arith.addi %i, %os : !ints
    %p = tile.addptr %ss, %j : !pointers, !ints
    tile.store %p, %x : !pointers, !ints
  }
  return
}

// Two elements of the tile have one address: how far it reaches is not known.
// CHECK-LABEL: @overlapping_halves
// CHECK: scf.for
// CHECK: tile.barrier
// CHECK-NEXT: tile.store
func.func @overlapping_halves(%s: !tile.ptr<i32>, %x: !ints, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %i = tile.range 0, 128 : !ints
  %ss = tile.splat %s : !tile.ptr<i32> -> !pointers
  %two = arith.constant dense<2> : !ints
  %half = arith.divsi %i, %two : !ints
  scf.for %k = %c0 to %n step %c1 : i32 {
    %c32 = arith.constant 32 : i32
    %o = arith.muli %k, %c32 : i32
    %os = tile.splat %o : i32 -> !ints
    %j = arith.addi %half, %os : !ints
    %p = tile.addptr %ss, %j : !pointers, !ints
    tile.store %p, %x : !pointers, !ints
  }
  return
}

// The outer loop moves where the inner one begins: its counter, its pointer.
// CHECK-LABEL: @overlapping_through_the_first_counter
// CHECK: tile.barrier
// CHECK-NEXT: tile.store
func.func @overlapping_through_the_first_counter(%s: !tile.ptr<i32>, %x: !ints, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %i = tile.range 0, 128 : !ints
  %ss = tile.splat %s : !tile.ptr<i32> -> !pointers
  scf.for %k = %c0 to %n step %c1 : i32 {
    scf.for %l = %k to %n step %n : i32 {
      %os = tile.splat %l : i32 -> !ints
      %j = arith.addi %i, %os : !ints
      %p = tile.addptr %ss, %j : !pointers, !ints
      tile.store %p, %x : !pointers, !ints
    }
  }
  return
}

// CHECK-LABEL: @overlapping_through_the_first_pointer
// CHECK: tile.barrier
// CHECK-NEXT: tile.store
func.func @overlapping_through_the_first_pointer(%s: !tile.ptr<i32>, %x: !ints, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %i = tile.range 0, 128 : !ints
  %ss = tile.splat %s : !tile.ptr<i32> -> !pointers
  %ns = tile.splat %n : i32 -> !ints
  scf.for %k = %c0 to %n step %c1 : i32 {
    %os = tile.splat %k : i32 -> !ints
    %j = arith.addi %i, %os : !ints
    %first = tile.addptr %ss, %j : !pointers, !ints
    %r = scf.for %l = %c0 to %n step %c1 iter_args(%p = %first) -> (!pointers) : i32 {
      tile.store %p, %x : !pointers, !ints
      %next = tile.addptr %p, %ns : !pointers, !ints
      scf.yield %next : !pointers
    }
  }
  return
}

// The load may be of an earlier iteration, through an earlier pointer: another
// thread stores to its elements.
// CHECK-LABEL: @loaded_an_iteration_ago
// CHECK: scf.if
// CHECK: tile.load
// CHECK: tile.barrier
// CHECK-NEXT: tile.store
func.func @loaded_an_iteration_ago(%s: !tile.ptr<i32>, %x: !ints, %n: i32) -> !ints {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %i = tile.range 0, 128 : !ints
  %ss = tile.splat %s : !tile.ptr<i32> -> !pointers
  %first = tile.addptr %ss, %i : !pointers, !ints
  %more = arith.constant dense<128> : !ints
  %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%p = %first, %a = %x) -> (!pointers, !ints) : i32 {
    %even = arith.cmpi eq, %k, %c0 : i32
    %b = scf.if %even -> !ints {
      %v = tile.load %p : !pointers
      scf.yield %v : !ints
    } else {
      scf.yield %a : !ints
    }
    tile.store %p, %x : !pointers, !ints
    %next = tile.addptr %p, %more : !pointers, !ints
    scf.yield %next, %b : !pointers, !ints
  }
  return %r#1 : !ints
}

// A tile moves past itself, by a constant, by a stride of the launch, in two
// loops (the inner one from 4 to 12 in steps of 2); or not at all.
// CHECK-LABEL: @stores_apart
// CHECK-NOT: tile.barrier
// CHECK: return
func.func @stores_apart(%s: !tile.ptr<i32>, %t: !tile.ptr<i32>, %u: !tile.ptr<i32>, %v: !tile.ptr<i32>, %w: !tile.ptr<i32>, %x: !ints, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c4 = arith.constant 4 : i32
  %c2 = arith.constant 2 : i32
  %c12 = arith.constant 12 : i32
  %c64 = arith.constant 64 : i32
  %c512 = arith.constant 512 : i32
  %t128 = arith.constant dense<128> : !ints
  %i = tile.range 0, 128 : !ints
  %ss = tile.splat %s : !tile.ptr<i32> -> !pointers
  %ts = tile.splat %t : !tile.ptr<i32> -> !pointers
  %us = tile.splat %u : !tile.ptr<i32> -> !pointers
  %vs = tile.splat %v : !tile.ptr<i32> -> !pointers
  %first = tile.addptr %ts, %i : !pointers, !ints
  %still = tile.addptr %vs, %i : !pointers, !ints
  %ws = tile.splat %w : !tile.ptr<i32> -> !pointers
  %other = tile.addptr %ws, %i : !pointers, !ints
  %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%third = %first, %same = %other) -> (!pointers, !pointers) : i32 {
    %times = arith.muli %k, %n : i32
    %strided = arith.addi %times, %k : i32
    %rs = tile.splat %strided : i32 -> !ints
    %h = arith.addi %i, %rs : !ints
    %q = tile.addptr %us, %h : !pointers, !ints
    tile.store %q, %x : !pointers, !ints
    tile.store %third, %x : !pointers, !ints
    tile.store %still, %x : !pointers, !ints
    tile.store %same, %x : !pointers, !ints
    %outer = arith.muli %k, %c512 : i32
    scf.for %l = %c4 to %c12 step %c2 : i32 {
      %inner = arith.muli %l, %c64 : i32
      %both = arith.addi %outer, %inner : i32
      %bs = tile.splat %both : i32 -> !ints
      %j = arith.addi %i, %bs : !ints
      %p = tile.addptr %ss, %j : !pointers, !ints
      tile.store %p, %x : !pointers, !ints
    }
    %next = tile.addptr %third, %t128 : !pointers, !ints
    scf.yield %next, %same : !pointers, !pointers
  }
  return
}

// A fifth iteration of the inner loop, or an unknown number of them, reaches the
// outer loop's next tile.
// CHECK-LABEL: @inner_loop_reaches_over
// CHECK: tile.barrier
// CHECK-NEXT: tile.store %{{.*}}, %arg2
// CHECK: tile.barrier
// CHECK-NEXT: tile.store %{{.*}}, %arg3
func.func @inner_loop_reaches_over(%s: !tile.ptr<i32>, %t: !tile.ptr<i32>, %x: !ints, %y: !ints, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c5 = arith.constant 5 : i32
  %c128 = arith.constant 128 : i32
  %c512 = arith.constant 512 : i32
  %i = tile.range 0, 128 : !ints
  %ss = tile.splat %s : !tile.ptr<i32> -> !pointers
  %ts = tile.splat %t : !tile.ptr<i32> -> !pointers
  scf.for %k = %c0 to %n step %c1 : i32 {
    %outer = arith.muli %k, %c512 : i32
    scf.for %l = %c0 to %c5 step %c1 : i32 {
      %inner = arith.muli %l, %c128 : i32
      %both = arith.addi %outer, %inner : i32
      %bs = tile.splat %both : i32 -> !ints
      %j = arith.addi %i, %bs : !ints
      %p = tile.addptr %ss, %j : !pointers, !ints
      tile.store %p, %x : !pointers, !ints
    }
    scf.for %l = %c0 to %n step %c1 : i32 {
      %inner = arith.muli %l, %c128 : i32
      %both = arith.addi %outer, %inner : i32
      %bs = tile.splat %both : i32 -> !ints
      %j = arith.addi %i, %bs : !ints
      %p = tile.addptr %ts, %j : !pointers, !ints
      tile.store %p, %y : !pointers, !ints
    }
  }
  return
}

// The mask keeps a padded tile within the step of the loop.
// CHECK-LABEL: @padded_tiles
// CHECK-NOT: tile.barrier
// CHECK: return
func.func @padded_tiles(%s: !tile.ptr<i32>, %x: !ints, %n: i32, %m: tensor<128xi1, #row>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %i = tile.range 0, 128 : !ints
  %ss = tile.splat %s : !tile.ptr<i32> -> !pointers
  %j0 = tile.range 0, 128 : !ints
  %end = arith.constant dense<100> : !ints
  %in = arith.cmpi slt, %j0, %end : !ints
  %mask = arith.andi %m, %in : tensor<128xi1, #row>
  scf.for %k = %c0 to %n step %c1 : i32 {
    %c100 = arith.constant 100 : i32
    %o = arith.muli %k, %c100 : i32
    %os = tile.splat %o : i32 -> !ints
    %j = arith.addi %i, %os : !ints
    %p = tile.addptr %ss, %j : !pointers, !ints
    tile.store %p, %x mask %mask : !pointers, !ints
  }
  return
}

// CHECK-LABEL: @padded_too_far
// CHECK: tile.barrier
// CHECK-NEXT: tile.store
func.func @padded_too_far(%s: !tile.ptr<i32>, %x: !ints, %n: i32, %m: tensor<128xi1, #row>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %i = tile.range 0, 128 : !ints
  %ss = tile.splat %s : !tile.ptr<i32> -> !pointers
  %j0 = tile.range 0, 128 : !ints
  %end = arith.constant dense<101> : !ints
  %in = arith.cmpi slt, %j0, %end : !ints
  %mask = arith.andi %m, %in : tensor<128xi1, #row>
  scf.for %k = %c0 to %n step %c1 : i32 {
    %c100 = arith.constant 100 : i32
    %o = arith.muli %k, %c100 : i32
    %os = tile.splat %o : i32 -> !ints
    %j = arith.addi %i, %os : !ints
    %p = tile.addptr %ss, %j : !pointers, !ints
    tile.store %p, %x mask %mask : !pointers, !ints
  }
  return
}

// CHECK-LABEL: @padded_elsewhere
// CHECK: tile.barrier
// CHECK-NEXT: tile.store
func.func @padded_elsewhere(%s: !tile.ptr<i32>, %x: !ints, %n: i32, %m: tensor<128xi1, #row>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %i = tile.range 0, 128 : !ints
  %ss = tile.splat %s : !tile.ptr<i32> -> !pointers
  %j0 = tile.range 8, 136 : !ints
  %end = arith.constant dense<100> : !ints
  %in = arith.cmpi slt, %j0, %end : !ints
  %mask = arith.andi %m, %in : tensor<128xi1, #row>
  scf.for %k = %c0 to %n step %c1 : i32 {
    %c100 = arith.constant 100 : i32
    %o = arith.muli %k, %c100 : i32
    %os = tile.splat %o : i32 -> !ints
    %j = arith.addi %i, %os : !ints
    %p = tile.addptr %ss, %j : !pointers, !ints
    tile.store %p, %x mask %mask : !pointers, !ints
  }
  return
}
