// Copies ahead: prologue, wait, barrier, next copy, then the body.
// RUN: tessera-opt --tessera-pipeline-loops=num-stages=4 --tessera-async-waits %s | FileCheck %s
// RUN: tessera-opt --tessera-pipeline-loops=num-stages=1 %s | FileCheck %s --check-prefix=ONE
// RUN: %docblock-pipeline.md pipeline.before > %t.before
// RUN: tessera-opt %s | FileCheck %t.before
// RUN: %docblock-pipeline.md pipeline.after > %t.after
// RUN: tessera-opt %s --tessera-pipeline-loops=num-stages=3 | FileCheck %t.after

#rows = #tile.linear<16x32, register = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [1, 0], [2, 0], [4, 0]], warp = [[8, 0], [0, 0]]>
#acc = #tile.linear<16x16, register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 8], [0, 0]]>
#a = #tile.linear<16x32, register = [[0, 1], [8, 0], [0, 8], [0, 16]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 0], [0, 0]]>
#b = #tile.linear<32x16, register = [[1, 0], [8, 0], [16, 0]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = [[0, 8], [0, 0]]>

// CHECK-LABEL: func.func @loop
// CHECK: tile.barrier
// CHECK: %[[MEM:.*]] = tile.smem_alloc : <3 x 16x32xf16
// Two iterations under way before the first; none beyond the last.
// CHECK: arith.cmpi slt
// CHECK: %[[STARTED:.*]] = scf.if {{.*}} -> (!tile.token)
// CHECK: %[[COPY:.*]] = tile.async_copy {{.*}} vector 8
// CHECK-NEXT: scf.yield %[[COPY]] : !tile.token
// CHECK-NEXT: } else {
// CHECK-NEXT: %[[DONE:.*]] = tile.async_done
// CHECK-NEXT: scf.yield %[[DONE]] : !tile.token
// CHECK: %[[FIRST:.*]] = tile.async_commit %[[STARTED]]
// CHECK: scf.if
// CHECK: tile.async_copy
// CHECK: %[[SECOND:.*]] = tile.async_commit
// The groups under way are carried, the oldest first; it is the one to wait for.
// CHECK: %[[LOOP:.*]]:5 = scf.for {{.*}}, %[[OLDER:.*]] = %[[FIRST]], %[[YOUNGER:.*]] = %[[SECOND]])
// CHECK-NEXT: tile.async_wait %[[OLDER]] leaving 1
// CHECK-NEXT: tile.barrier
// CHECK: scf.if
// CHECK: tile.async_copy
// CHECK: %[[NEW:.*]] = tile.async_commit
// CHECK: tile.smem_index %[[MEM]]
// CHECK: tile.smem_load
// CHECK-NOT: tile.load
// CHECK: tile.dot
// CHECK: scf.yield {{.*}}, %[[YOUNGER]], %[[NEW]] :
// CHECK: tile.async_wait %[[LOOP]]#3, %[[LOOP]]#4 leaving 0

// ONE-NOT: tile.async_copy
func.func @loop(%p: tensor<16x32x!tile.ptr<f16>, #rows>, %step: tensor<16x32xi32, #rows>, %b: tensor<32x16xf16, #b>, %zero: tensor<16x16xf32, #acc>, %n: i32) -> tensor<16x16xf32, #acc> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<16x16xf32, #acc>) : i32 {
    %s = tile.splat %i : i32 -> tensor<16x32xi32, #rows>
    %o = arith.muli %s, %step : tensor<16x32xi32, #rows>
    %q = tile.addptr %p, %o : tensor<16x32x!tile.ptr<f16>, #rows>, tensor<16x32xi32, #rows>
    %v = tile.load %q {tile.vector = 8 : i64} : tensor<16x32x!tile.ptr<f16>, #rows>
    %a = tile.convert_layout %v : tensor<16x32xf16, #rows> -> tensor<16x32xf16, #a>
    %d = tile.dot %a, %b, %acc ieee : tensor<16x32xf16, #a>, tensor<32x16xf16, #b> -> tensor<16x16xf32, #acc>
    scf.yield %d : tensor<16x16xf32, #acc>
  }
  return %r : tensor<16x16xf32, #acc>
}

// The address is carried from iteration to iteration, the tile is read through an index
// that is loaded itself, under an `if`: the condition becomes part of the mask.
// CHECK-LABEL: func.func @guarded
// CHECK: scf.for {{.*}} iter_args(
// CHECK: tile.async_wait {{.*}} leaving 1
// CHECK: tile.barrier
// CHECK: tile.load {{.*}} mask {{.*}} other
// CHECK: tile.async_copy {{.*}} mask
// CHECK: scf.if
// CHECK: tile.smem_load
// CHECK: tile.dot
func.func @guarded(%p: tensor<16x32x!tile.ptr<f16>, #rows>, %index: !tile.ptr<i32>, %b: tensor<32x16xf16, #b>, %zero: tensor<16x16xf32, #acc>, %n: i32) -> tensor<16x16xf32, #acc> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %at = %index) -> (tensor<16x16xf32, #acc>, !tile.ptr<i32>) : i32 {
    %block = tile.load %at : !tile.ptr<i32>
    %valid = arith.cmpi sge, %block, %c0 : i32
    %next = scf.if %valid -> tensor<16x16xf32, #acc> {
      %s = tile.splat %block : i32 -> tensor<16x32xi32, #rows>
      %q = tile.addptr %p, %s : tensor<16x32x!tile.ptr<f16>, #rows>, tensor<16x32xi32, #rows>
      %v = tile.load %q {tile.vector = 8 : i64} : tensor<16x32x!tile.ptr<f16>, #rows>
      %a = tile.convert_layout %v : tensor<16x32xf16, #rows> -> tensor<16x32xf16, #a>
      %d = tile.dot %a, %b, %acc ieee : tensor<16x32xf16, #a>, tensor<32x16xf16, #b> -> tensor<16x16xf32, #acc>
      scf.yield %d : tensor<16x16xf32, #acc>
    } else {
      scf.yield %acc : tensor<16x16xf32, #acc>
    }
    %later = tile.addptr %at, %c1 : !tile.ptr<i32>, i32
    scf.yield %next, %later : tensor<16x16xf32, #acc>, !tile.ptr<i32>
  }
  return %r#0 : tensor<16x16xf32, #acc>
}

// In the other arm the condition is negated.
// CHECK-LABEL: func.func @guarded_otherwise
// CHECK: scf.for
// CHECK: %[[INDEX:.*]] = tile.load {{.*}} mask {{.*}} other
// CHECK: %[[VALID:.*]] = arith.cmpi sge, %[[INDEX]],
// CHECK: %[[TRUE:.*]] = arith.constant true
// CHECK: %[[INVALID:.*]] = arith.xori %[[VALID]], %[[TRUE]]
// CHECK: %[[GUARD:.*]] = arith.andi %{{.*}}, %[[INVALID]] : i1
// CHECK: %[[MASK:.*]] = tile.splat %[[GUARD]]
// CHECK: tile.async_copy {{.*}} mask %[[MASK]]
func.func @guarded_otherwise(%p: tensor<16x32x!tile.ptr<f16>, #rows>, %index: !tile.ptr<i32>, %b: tensor<32x16xf16, #b>, %zero: tensor<16x16xf32, #acc>, %n: i32) -> tensor<16x16xf32, #acc> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %at = %index) -> (tensor<16x16xf32, #acc>, !tile.ptr<i32>) : i32 {
    %block = tile.load %at : !tile.ptr<i32>
    %valid = arith.cmpi sge, %block, %c0 : i32
    %next = scf.if %valid -> tensor<16x16xf32, #acc> {
      scf.yield %acc : tensor<16x16xf32, #acc>
    } else {
      %s = tile.splat %block : i32 -> tensor<16x32xi32, #rows>
      %q = tile.addptr %p, %s : tensor<16x32x!tile.ptr<f16>, #rows>, tensor<16x32xi32, #rows>
      %v = tile.load %q {tile.vector = 8 : i64} : tensor<16x32x!tile.ptr<f16>, #rows>
      %a = tile.convert_layout %v : tensor<16x32xf16, #rows> -> tensor<16x32xf16, #a>
      %d = tile.dot %a, %b, %acc ieee : tensor<16x32xf16, #a>, tensor<32x16xf16, #b> -> tensor<16x16xf32, #acc>
      scf.yield %d : tensor<16x16xf32, #acc>
    }
    %later = tile.addptr %at, %c1 : !tile.ptr<i32>, i32
    scf.yield %next, %later : tensor<16x16xf32, #acc>, !tile.ptr<i32>
  }
  return %r#0 : tensor<16x16xf32, #acc>
}

// What the loop writes may be what it reads: nothing is copied ahead.
// CHECK-LABEL: func.func @written
// CHECK-NOT: tile.async_copy
// CHECK: return
func.func @written(%base: !tile.ptr<f16>, %b: tensor<32x16xf16, #b>, %zero: tensor<16x16xf32, #acc>, %half: tensor<16x32xf16, #rows>, %n: i32) -> tensor<16x16xf32, #acc> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %p = tile.splat %base : !tile.ptr<f16> -> tensor<16x32x!tile.ptr<f16>, #rows>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<16x16xf32, #acc>) : i32 {
    %s = tile.splat %i : i32 -> tensor<16x32xi32, #rows>
    %q = tile.addptr %p, %s : tensor<16x32x!tile.ptr<f16>, #rows>, tensor<16x32xi32, #rows>
    %v = tile.load %q {tile.vector = 8 : i64} : tensor<16x32x!tile.ptr<f16>, #rows>
    tile.store %p, %half : tensor<16x32x!tile.ptr<f16>, #rows>, tensor<16x32xf16, #rows>
    %a = tile.convert_layout %v : tensor<16x32xf16, #rows> -> tensor<16x32xf16, #a>
    %d = tile.dot %a, %b, %acc ieee : tensor<16x32xf16, #a>, tensor<32x16xf16, #b> -> tensor<16x16xf32, #acc>
    scf.yield %d : tensor<16x16xf32, #acc>
  }
  return %r : tensor<16x16xf32, #acc>
}

// Nor is it if the loop writes the index that it loads.
// CHECK-LABEL: func.func @written_index
// CHECK-NOT: tile.async_copy
// CHECK: return
func.func @written_index(%p: tensor<16x32x!tile.ptr<f16>, #rows>, %index: !tile.ptr<i32>, %b: tensor<32x16xf16, #b>, %zero: tensor<16x16xf32, #acc>, %n: i32) -> tensor<16x16xf32, #acc> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<16x16xf32, #acc>) : i32 {
    %block = tile.load %index : !tile.ptr<i32>
    %s = tile.splat %block : i32 -> tensor<16x32xi32, #rows>
    %q = tile.addptr %p, %s : tensor<16x32x!tile.ptr<f16>, #rows>, tensor<16x32xi32, #rows>
    %v = tile.load %q {tile.vector = 8 : i64} : tensor<16x32x!tile.ptr<f16>, #rows>
    %a = tile.convert_layout %v : tensor<16x32xf16, #rows> -> tensor<16x32xf16, #a>
    %d = tile.dot %a, %b, %acc ieee : tensor<16x32xf16, #a>, tensor<32x16xf16, #b> -> tensor<16x16xf32, #acc>
    tile.store %index, %i : !tile.ptr<i32>, i32
    scf.yield %d : tensor<16x16xf32, #acc>
  }
  return %r : tensor<16x16xf32, #acc>
}

// The rows' numbers are loaded elsewhere and converted, perhaps through shared
// memory that the buffers get from the first copy on: the barrier before that
// copy comes after the conversion.
// CHECK-LABEL: func.func @converted_addresses
// CHECK-NOT: tile.barrier
// CHECK: tile.convert_layout
// CHECK: tile.barrier
// CHECK-NOT: tile.convert_layout
// CHECK: tile.async_copy
// CHECK: tile.convert_layout
// CHECK-NOT: tile.barrier
// CHECK: tile.async_copy
// CHECK: scf.for
#places = #tile.linear<16x32, register = [[1, 0], [2, 0], [4, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = [[8, 0], [0, 0]]>
func.func @converted_addresses(%p: tensor<16x32x!tile.ptr<f16>, #rows>, %index: tensor<16x32x!tile.ptr<i32>, #places>, %b: tensor<32x16xf16, #b>, %zero: tensor<16x16xf32, #acc>, %n: i32) -> tensor<16x16xf32, #acc> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<16x16xf32, #acc>) : i32 {
    %s = tile.splat %i : i32 -> tensor<16x32xi32, #places>
    %x = tile.addptr %index, %s : tensor<16x32x!tile.ptr<i32>, #places>, tensor<16x32xi32, #places>
    %k = tile.load %x : tensor<16x32x!tile.ptr<i32>, #places>
    %o = tile.convert_layout %k : tensor<16x32xi32, #places> -> tensor<16x32xi32, #rows>
    %q = tile.addptr %p, %o : tensor<16x32x!tile.ptr<f16>, #rows>, tensor<16x32xi32, #rows>
    %v = tile.load %q {tile.vector = 8 : i64} : tensor<16x32x!tile.ptr<f16>, #rows>
    %a = tile.convert_layout %v : tensor<16x32xf16, #rows> -> tensor<16x32xf16, #a>
    %d = tile.dot %a, %b, %acc ieee : tensor<16x32xf16, #a>, tensor<32x16xf16, #b> -> tensor<16x16xf32, #acc>
    scf.yield %d : tensor<16x16xf32, #acc>
  }
  return %r : tensor<16x16xf32, #acc>
}

// A barrier of the kernel's author: what is stored before it through one argument
// may be loaded after it through another.
// CHECK-LABEL: func.func @fenced
// CHECK-NOT: tile.async_copy
// CHECK: return
func.func @fenced(%p: tensor<16x32x!tile.ptr<f16>, #rows>, %other: !tile.ptr<i32>, %b: tensor<32x16xf16, #b>, %zero: tensor<16x16xf32, #acc>, %n: i32) -> tensor<16x16xf32, #acc> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<16x16xf32, #acc>) : i32 {
    %s = tile.splat %i : i32 -> tensor<16x32xi32, #rows>
    %q = tile.addptr %p, %s : tensor<16x32x!tile.ptr<f16>, #rows>, tensor<16x32xi32, #rows>
    %v = tile.load %q {tile.vector = 8 : i64} : tensor<16x32x!tile.ptr<f16>, #rows>
    %a = tile.convert_layout %v : tensor<16x32xf16, #rows> -> tensor<16x32xf16, #a>
    %d = tile.dot %a, %b, %acc ieee : tensor<16x32xf16, #a>, tensor<32x16xf16, #b> -> tensor<16x16xf32, #acc>
    tile.store %other, %i : !tile.ptr<i32>, i32
    tile.barrier
    scf.yield %d : tensor<16x16xf32, #acc>
  }
  return %r : tensor<16x16xf32, #acc>
}

// The same within an `if`.
// CHECK-LABEL: func.func @fenced_inside
// CHECK-NOT: tile.async_copy
// CHECK: return
func.func @fenced_inside(%p: tensor<16x32x!tile.ptr<f16>, #rows>, %other: !tile.ptr<i32>, %b: tensor<32x16xf16, #b>, %zero: tensor<16x16xf32, #acc>, %n: i32) -> tensor<16x16xf32, #acc> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<16x16xf32, #acc>) : i32 {
    %s = tile.splat %i : i32 -> tensor<16x32xi32, #rows>
    %q = tile.addptr %p, %s : tensor<16x32x!tile.ptr<f16>, #rows>, tensor<16x32xi32, #rows>
    %v = tile.load %q {tile.vector = 8 : i64} : tensor<16x32x!tile.ptr<f16>, #rows>
    %a = tile.convert_layout %v : tensor<16x32xf16, #rows> -> tensor<16x32xf16, #a>
    %d = tile.dot %a, %b, %acc ieee : tensor<16x32xf16, #a>, tensor<32x16xf16, #b> -> tensor<16x16xf32, #acc>
    %last = arith.cmpi eq, %i, %n : i32
    scf.if %last {
      tile.barrier
    }
    scf.yield %d : tensor<16x16xf32, #acc>
  }
  return %r : tensor<16x16xf32, #acc>
}

// What an atomic waits for is loaded after it. Without `sem` it acquires.
// CHECK-LABEL: func.func @waits
// CHECK-NOT: tile.async_copy
// CHECK: return
func.func @waits(%p: tensor<16x32x!tile.ptr<f16>, #rows>, %other: !tile.ptr<i32>, %b: tensor<32x16xf16, #b>, %zero: tensor<16x16xf32, #acc>, %n: i32) -> tensor<16x16xf32, #acc> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<16x16xf32, #acc>) : i32 {
    %s = tile.splat %i : i32 -> tensor<16x32xi32, #rows>
    %q = tile.addptr %p, %s : tensor<16x32x!tile.ptr<f16>, #rows>, tensor<16x32xi32, #rows>
    %v = tile.load %q {tile.vector = 8 : i64} : tensor<16x32x!tile.ptr<f16>, #rows>
    %a = tile.convert_layout %v : tensor<16x32xf16, #rows> -> tensor<16x32xf16, #a>
    %d = tile.dot %a, %b, %acc ieee : tensor<16x32xf16, #a>, tensor<32x16xf16, #b> -> tensor<16x16xf32, #acc>
    scf.while : () -> () {
      %seen = tile.atomic_cas %other, %c0, %c1 : !tile.ptr<i32>, i32
      %taken = arith.cmpi eq, %seen, %c1 : i32
      scf.condition(%taken)
    } do {
      scf.yield
    }
    scf.yield %d : tensor<16x16xf32, #acc>
  }
  return %r : tensor<16x16xf32, #acc>
}

// An atomic that acquires and nothing else.
// CHECK-LABEL: func.func @acquires
// CHECK-NOT: tile.async_copy
// CHECK: return
func.func @acquires(%p: tensor<16x32x!tile.ptr<f16>, #rows>, %other: !tile.ptr<i32>, %b: tensor<32x16xf16, #b>, %zero: tensor<16x16xf32, #acc>, %n: i32) -> tensor<16x16xf32, #acc> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<16x16xf32, #acc>) : i32 {
    %s = tile.splat %i : i32 -> tensor<16x32xi32, #rows>
    %q = tile.addptr %p, %s : tensor<16x32x!tile.ptr<f16>, #rows>, tensor<16x32xi32, #rows>
    %v = tile.load %q {tile.vector = 8 : i64} : tensor<16x32x!tile.ptr<f16>, #rows>
    %a = tile.convert_layout %v : tensor<16x32xf16, #rows> -> tensor<16x32xf16, #a>
    %d = tile.dot %a, %b, %acc ieee : tensor<16x32xf16, #a>, tensor<32x16xf16, #b> -> tensor<16x16xf32, #acc>
    %seen = tile.atomic_rmw add %other, %c0 {sem = "acquire"} : !tile.ptr<i32>, i32
    tile.store %other, %seen : !tile.ptr<i32>, i32
    scf.yield %d : tensor<16x16xf32, #acc>
  }
  return %r : tensor<16x16xf32, #acc>
}

// A volatile load looks at what others change.
// CHECK-LABEL: func.func @polls
// CHECK-NOT: tile.async_copy
// CHECK: return
func.func @polls(%p: tensor<16x32x!tile.ptr<f16>, #rows>, %other: !tile.ptr<i32>, %b: tensor<32x16xf16, #b>, %zero: tensor<16x16xf32, #acc>, %n: i32) -> tensor<16x16xf32, #acc> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<16x16xf32, #acc>) : i32 {
    %s = tile.splat %i : i32 -> tensor<16x32xi32, #rows>
    %q = tile.addptr %p, %s : tensor<16x32x!tile.ptr<f16>, #rows>, tensor<16x32xi32, #rows>
    %v = tile.load %q {tile.vector = 8 : i64} : tensor<16x32x!tile.ptr<f16>, #rows>
    %a = tile.convert_layout %v : tensor<16x32xf16, #rows> -> tensor<16x32xf16, #a>
    %d = tile.dot %a, %b, %acc ieee : tensor<16x32xf16, #a>, tensor<32x16xf16, #b> -> tensor<16x16xf32, #acc>
    %seen = tile.load %other {isVolatile} : !tile.ptr<i32>
    tile.print "seen" %seen : i32
    scf.yield %d : tensor<16x16xf32, #acc>
  }
  return %r : tensor<16x16xf32, #acc>
}

// Atomics that acquire nothing, or whose old element no operation reads: loads may
// be done before them.
// CHECK-LABEL: func.func @counts
// CHECK: tile.async_copy
// CHECK: return
func.func @counts(%p: tensor<16x32x!tile.ptr<f16>, #rows>, %other: !tile.ptr<i32>, %b: tensor<32x16xf16, #b>, %zero: tensor<16x16xf32, #acc>, %n: i32) -> tensor<16x16xf32, #acc> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<16x16xf32, #acc>) : i32 {
    %s = tile.splat %i : i32 -> tensor<16x32xi32, #rows>
    %q = tile.addptr %p, %s : tensor<16x32x!tile.ptr<f16>, #rows>, tensor<16x32xi32, #rows>
    %v = tile.load %q {tile.vector = 8 : i64} : tensor<16x32x!tile.ptr<f16>, #rows>
    %a = tile.convert_layout %v : tensor<16x32xf16, #rows> -> tensor<16x32xf16, #a>
    %d = tile.dot %a, %b, %acc ieee : tensor<16x32xf16, #a>, tensor<32x16xf16, #b> -> tensor<16x16xf32, #acc>
    %x = tile.atomic_rmw add %other, %c1 : !tile.ptr<i32>, i32
    %y = tile.atomic_rmw add %other, %c1 {sem = "release"} : !tile.ptr<i32>, i32
    %z = tile.atomic_rmw add %other, %y {sem = "relaxed"} : !tile.ptr<i32>, i32
    tile.store %other, %z : !tile.ptr<i32>, i32
    scf.yield %d : tensor<16x16xf32, #acc>
  }
  return %r : tensor<16x16xf32, #acc>
}

// The barriers that the inner loop gets are none of the author's: the outer
// loop is pipelined, too.
// CHECK-LABEL: func.func @nested
// CHECK: tile.smem_alloc
// CHECK: scf.for
// CHECK: tile.async_wait {{.*}} leaving 1
// CHECK: tile.async_copy
// CHECK: tile.smem_alloc
// CHECK: scf.for
// CHECK: tile.async_wait {{.*}} leaving 1
// CHECK: tile.async_copy
// CHECK-NOT: tile.load
// CHECK: return
func.func @nested(%p: tensor<16x32x!tile.ptr<f16>, #rows>, %b: tensor<32x16xf16, #b>, %zero: tensor<16x16xf32, #acc>, %n: i32) -> tensor<16x16xf32, #acc> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<16x16xf32, #acc>) : i32 {
    %s = tile.splat %i : i32 -> tensor<16x32xi32, #rows>
    %q = tile.addptr %p, %s : tensor<16x32x!tile.ptr<f16>, #rows>, tensor<16x32xi32, #rows>
    %v = tile.load %q {tile.vector = 8 : i64} : tensor<16x32x!tile.ptr<f16>, #rows>
    %a = tile.convert_layout %v : tensor<16x32xf16, #rows> -> tensor<16x32xf16, #a>
    %d = tile.dot %a, %b, %acc ieee : tensor<16x32xf16, #a>, tensor<32x16xf16, #b> -> tensor<16x16xf32, #acc>
    %t = scf.for %j = %c0 to %i step %c1 iter_args(%sum = %d) -> (tensor<16x16xf32, #acc>) : i32 {
      %s2 = tile.splat %j : i32 -> tensor<16x32xi32, #rows>
      %q2 = tile.addptr %p, %s2 : tensor<16x32x!tile.ptr<f16>, #rows>, tensor<16x32xi32, #rows>
      %v2 = tile.load %q2 {tile.vector = 8 : i64} : tensor<16x32x!tile.ptr<f16>, #rows>
      %a2 = tile.convert_layout %v2 : tensor<16x32xf16, #rows> -> tensor<16x32xf16, #a>
      %d2 = tile.dot %a2, %b, %sum ieee : tensor<16x32xf16, #a>, tensor<32x16xf16, #b> -> tensor<16x16xf32, #acc>
      scf.yield %d2 : tensor<16x16xf32, #acc>
    }
    scf.yield %t : tensor<16x16xf32, #acc>
  }
  return %r : tensor<16x16xf32, #acc>
}
