// Operands of dots that stay in shared memory.
// RUN: tessera-opt --tessera-promote-operands --tessera-async-waits %s | FileCheck %s
// RUN: %docblock-pipeline.md promote.before > %t.before
// RUN: tessera-opt %s | FileCheck %t.before
// RUN: %docblock-pipeline.md promote.after > %t.after
// RUN: tessera-opt %s --tessera-promote-operands | FileCheck %t.after
// RUN: %docblock-pipeline.md copied.before > %t.before
// RUN: tessera-opt %s | FileCheck %t.before
// RUN: %docblock-pipeline.md copied.after > %t.after
// RUN: tessera-opt %s --tessera-promote-operands | FileCheck %t.after

#rows = #tile.linear<16x16, register = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [1, 0], [2, 0], [4, 0]], warp = [[8, 0]]>
#acc = #tile.linear<16x16, register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 8]]>
#a = #tile.linear<16x16, register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 0]]>
#b = #tile.linear<16x16, register = [[1, 0], [8, 0]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = [[0, 8]]>
#turned = #tile.linear<16x16, register = [[1, 0], [2, 0]], lane = [[4, 0], [8, 0], [0, 1], [0, 2], [0, 4]], warp = [[0, 8]]>

// Two dots read %x, one of them transposed: one store, two loads.
// CHECK-LABEL: func.func @shared
// CHECK: %[[MEM:.*]] = tile.smem_alloc : <1 x 16x16xf16
// CHECK: tile.barrier
// CHECK-NEXT: tile.smem_store %{{.*}}, %[[MEM]]
// CHECK-NEXT: tile.barrier
// CHECK-NOT: tile.convert_layout
// CHECK: tile.smem_load %[[MEM]]
// CHECK: tile.dot
// CHECK: %[[T:.*]] = tile.smem_trans %[[MEM]] [1, 0]
// CHECK: tile.smem_load %[[T]]
// CHECK: tile.dot
func.func @shared(%x: tensor<16x16xf16, #rows>, %y: tensor<16x16xf16, #b>, %zero: tensor<16x16xf32, #acc>) -> tensor<16x16xf32, #acc> {
  %a = tile.convert_layout %x : tensor<16x16xf16, #rows> -> tensor<16x16xf16, #a>
  %d = tile.dot %a, %y, %zero ieee : tensor<16x16xf16, #a>, tensor<16x16xf16, #b> -> tensor<16x16xf32, #acc>
  %t = tile.trans %x [1, 0] : tensor<16x16xf16, #rows> -> tensor<16x16xf16, #turned>
  %u = tile.convert_layout %t : tensor<16x16xf16, #turned> -> tensor<16x16xf16, #a>
  %e = tile.dot %u, %y, %d ieee : tensor<16x16xf16, #a>, tensor<16x16xf16, #b> -> tensor<16x16xf32, #acc>
  return %e : tensor<16x16xf32, #acc>
}

// One reader, few registers: it stays where it is.
// CHECK-LABEL: func.func @alone
// CHECK-NOT: tile.smem_alloc
// CHECK: tile.convert_layout
func.func @alone(%x: tensor<16x16xf16, #rows>, %y: tensor<16x16xf16, #b>, %zero: tensor<16x16xf32, #acc>) -> tensor<16x16xf32, #acc> {
  %a = tile.convert_layout %x : tensor<16x16xf16, #rows> -> tensor<16x16xf16, #a>
  %d = tile.dot %a, %y, %zero ieee : tensor<16x16xf16, #a>, tensor<16x16xf16, #b> -> tensor<16x16xf32, #acc>
  return %d : tensor<16x16xf32, #acc>
}

// Each iteration loads single elements, which no cp.async brings: the barrier comes before the load, so that
// the elements are stored as they arrive, and the dot reads slice by slice.
// CHECK-LABEL: func.func @loaded
// CHECK: %[[MEM:.*]] = tile.smem_alloc : <1 x 16x16xf16
// CHECK: scf.for
// CHECK: tile.barrier
// CHECK-NEXT: %[[X:.*]] = tile.load
// CHECK-NEXT: tile.smem_store %[[X]], %[[MEM]]
// CHECK-NEXT: tile.barrier
// CHECK-NOT: tile.convert_layout
// CHECK: tile.smem_load %[[MEM]]
// CHECK-NEXT: tile.dot
func.func @loaded(%p: tensor<16x16x!tile.ptr<f16>, #rows>, %y: tensor<16x16xf16, #b>, %zero: tensor<16x16xf32, #acc>, %n: i32) -> tensor<16x16xf32, #acc> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> (tensor<16x16xf32, #acc>) : i32 {
    %x = tile.load %p {tile.vector = 1 : i64} : tensor<16x16x!tile.ptr<f16>, #rows>
    %a = tile.convert_layout %x : tensor<16x16xf16, #rows> -> tensor<16x16xf16, #a>
    %d = tile.dot %a, %y, %s ieee : tensor<16x16xf16, #a>, tensor<16x16xf16, #b> -> tensor<16x16xf32, #acc>
    scf.yield %d : tensor<16x16xf32, #acc>
  }
  return %r : tensor<16x16xf32, #acc>
}

// A tile that only dots read comes by cp.async, which must have read it before another tile is stored at the
// same addresses: the wait is not just before the first dot.
// CHECK-LABEL: func.func @overwritten
// CHECK: tile.async_copy
// CHECK-NEXT: tile.async_commit
// CHECK-NEXT: tile.async_wait {{.*}} leaving 0
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.store
// CHECK-NOT: tile.async_wait
// CHECK: return
func.func @overwritten(%p: tensor<16x16x!tile.ptr<f16>, #rows>, %k: tensor<16x16x!tile.ptr<f16>, #rows>, %lock: !tile.ptr<i32>, %one: i32, %new: tensor<16x16xf16, #rows>, %y: tensor<16x16xf16, #b>, %zero: tensor<16x16xf32, #acc>, %c: i1) -> tensor<16x16xf32, #acc> {
  %x = tile.load %p {tile.vector = 4 : i64} : tensor<16x16x!tile.ptr<f16>, #rows>
  tile.store %p, %new : tensor<16x16x!tile.ptr<f16>, #rows>, tensor<16x16xf16, #rows>
  %a1 = tile.convert_layout %x : tensor<16x16xf16, #rows> -> tensor<16x16xf16, #a>
  %d1 = tile.dot %a1, %y, %zero ieee : tensor<16x16xf16, #a>, tensor<16x16xf16, #b> -> tensor<16x16xf32, #acc>
  %t1 = tile.trans %x [1, 0] : tensor<16x16xf16, #rows> -> tensor<16x16xf16, #turned>
  %u1 = tile.convert_layout %t1 : tensor<16x16xf16, #turned> -> tensor<16x16xf16, #a>
  %e1 = tile.dot %u1, %y, %d1 ieee : tensor<16x16xf16, #a>, tensor<16x16xf16, #b> -> tensor<16x16xf32, #acc>
  return %e1 : tensor<16x16xf32, #acc>
}

// The same where the store is in an `if`.
// CHECK-LABEL: func.func @overwritten_in_a_branch
// CHECK: tile.async_copy
// CHECK-NEXT: tile.async_commit
// CHECK-NEXT: tile.async_wait {{.*}} leaving 0
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: scf.if
// CHECK-NOT: tile.async_wait
// CHECK: return
func.func @overwritten_in_a_branch(%p: tensor<16x16x!tile.ptr<f16>, #rows>, %k: tensor<16x16x!tile.ptr<f16>, #rows>, %lock: !tile.ptr<i32>, %one: i32, %new: tensor<16x16xf16, #rows>, %y: tensor<16x16xf16, #b>, %zero: tensor<16x16xf32, #acc>, %c: i1) -> tensor<16x16xf32, #acc> {
  %x = tile.load %p {tile.vector = 4 : i64} : tensor<16x16x!tile.ptr<f16>, #rows>
  scf.if %c {
    tile.store %p, %new : tensor<16x16x!tile.ptr<f16>, #rows>, tensor<16x16xf16, #rows>
  }
  %a1 = tile.convert_layout %x : tensor<16x16xf16, #rows> -> tensor<16x16xf16, #a>
  %d1 = tile.dot %a1, %y, %zero ieee : tensor<16x16xf16, #a>, tensor<16x16xf16, #b> -> tensor<16x16xf32, #acc>
  %t1 = tile.trans %x [1, 0] : tensor<16x16xf16, #rows> -> tensor<16x16xf16, #turned>
  %u1 = tile.convert_layout %t1 : tensor<16x16xf16, #turned> -> tensor<16x16xf16, #a>
  %e1 = tile.dot %u1, %y, %d1 ieee : tensor<16x16xf16, #a>, tensor<16x16xf16, #b> -> tensor<16x16xf32, #acc>
  return %e1 : tensor<16x16xf32, #acc>
}

// An atomic writes, too.
// CHECK-LABEL: func.func @added_to
// CHECK: tile.async_copy
// CHECK-NEXT: tile.async_commit
// CHECK-NEXT: tile.async_wait {{.*}} leaving 0
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.atomic_rmw
// CHECK-NOT: tile.async_wait
// CHECK: return
func.func @added_to(%p: tensor<16x16x!tile.ptr<f16>, #rows>, %k: tensor<16x16x!tile.ptr<f16>, #rows>, %lock: !tile.ptr<i32>, %one: i32, %new: tensor<16x16xf16, #rows>, %y: tensor<16x16xf16, #b>, %zero: tensor<16x16xf32, #acc>, %c: i1) -> tensor<16x16xf32, #acc> {
  %x = tile.load %p {tile.vector = 4 : i64} : tensor<16x16x!tile.ptr<f16>, #rows>
  %old = tile.atomic_rmw fadd %p, %new {sem = "relaxed"} : tensor<16x16x!tile.ptr<f16>, #rows>, tensor<16x16xf16, #rows>
  %a1 = tile.convert_layout %x : tensor<16x16xf16, #rows> -> tensor<16x16xf16, #a>
  %d1 = tile.dot %a1, %y, %zero ieee : tensor<16x16xf16, #a>, tensor<16x16xf16, #b> -> tensor<16x16xf32, #acc>
  %t1 = tile.trans %x [1, 0] : tensor<16x16xf16, #rows> -> tensor<16x16xf16, #turned>
  %u1 = tile.convert_layout %t1 : tensor<16x16xf16, #turned> -> tensor<16x16xf16, #a>
  %e1 = tile.dot %u1, %y, %d1 ieee : tensor<16x16xf16, #a>, tensor<16x16xf16, #b> -> tensor<16x16xf32, #acc>
  return %e1 : tensor<16x16xf32, #acc>
}

// Another argument is other memory.
// CHECK-LABEL: func.func @stored_elsewhere
// CHECK: tile.async_commit
// CHECK-NEXT: tile.store
// CHECK: tile.async_wait {{.*}} leaving 0
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.smem_load
// CHECK-NOT: tile.async_wait
// CHECK: return
func.func @stored_elsewhere(%p: tensor<16x16x!tile.ptr<f16>, #rows>, %k: tensor<16x16x!tile.ptr<f16>, #rows>, %lock: !tile.ptr<i32>, %one: i32, %new: tensor<16x16xf16, #rows>, %y: tensor<16x16xf16, #b>, %zero: tensor<16x16xf32, #acc>, %c: i1) -> tensor<16x16xf32, #acc> {
  %x = tile.load %p {tile.vector = 4 : i64} : tensor<16x16x!tile.ptr<f16>, #rows>
  tile.store %k, %new : tensor<16x16x!tile.ptr<f16>, #rows>, tensor<16x16xf16, #rows>
  %a1 = tile.convert_layout %x : tensor<16x16xf16, #rows> -> tensor<16x16xf16, #a>
  %d1 = tile.dot %a1, %y, %zero ieee : tensor<16x16xf16, #a>, tensor<16x16xf16, #b> -> tensor<16x16xf32, #acc>
  %t1 = tile.trans %x [1, 0] : tensor<16x16xf16, #rows> -> tensor<16x16xf16, #turned>
  %u1 = tile.convert_layout %t1 : tensor<16x16xf16, #turned> -> tensor<16x16xf16, #a>
  %e1 = tile.dot %u1, %y, %d1 ieee : tensor<16x16xf16, #a>, tensor<16x16xf16, #b> -> tensor<16x16xf32, #acc>
  return %e1 : tensor<16x16xf32, #acc>
}

// Unless the kernel has a barrier there: the copies before it are complete at that barrier.
// CHECK-LABEL: func.func @fenced
// CHECK: tile.async_copy
// CHECK-NEXT: tile.async_commit
// CHECK-NEXT: tile.async_wait {{.*}} leaving 0
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.barrier
// CHECK-NOT: tile.async_wait
// CHECK: return
func.func @fenced(%p: tensor<16x16x!tile.ptr<f16>, #rows>, %k: tensor<16x16x!tile.ptr<f16>, #rows>, %lock: !tile.ptr<i32>, %one: i32, %new: tensor<16x16xf16, #rows>, %y: tensor<16x16xf16, #b>, %zero: tensor<16x16xf32, #acc>, %c: i1) -> tensor<16x16xf32, #acc> {
  %x = tile.load %p {tile.vector = 4 : i64} : tensor<16x16x!tile.ptr<f16>, #rows>
  tile.barrier
  tile.store %k, %new : tensor<16x16x!tile.ptr<f16>, #rows>, tensor<16x16xf16, #rows>
  %a1 = tile.convert_layout %x : tensor<16x16xf16, #rows> -> tensor<16x16xf16, #a>
  %d1 = tile.dot %a1, %y, %zero ieee : tensor<16x16xf16, #a>, tensor<16x16xf16, #b> -> tensor<16x16xf32, #acc>
  %t1 = tile.trans %x [1, 0] : tensor<16x16xf16, #rows> -> tensor<16x16xf16, #turned>
  %u1 = tile.convert_layout %t1 : tensor<16x16xf16, #turned> -> tensor<16x16xf16, #a>
  %e1 = tile.dot %u1, %y, %d1 ieee : tensor<16x16xf16, #a>, tensor<16x16xf16, #b> -> tensor<16x16xf32, #acc>
  return %e1 : tensor<16x16xf32, #acc>
}

// Whoever gets the lock may write what it protects.
// CHECK-LABEL: func.func @given_back
// CHECK: tile.async_copy
// CHECK-NEXT: tile.async_commit
// CHECK-NEXT: tile.async_wait {{.*}} leaving 0
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.atomic_rmw
// CHECK-NOT: tile.async_wait
// CHECK: return
func.func @given_back(%p: tensor<16x16x!tile.ptr<f16>, #rows>, %k: tensor<16x16x!tile.ptr<f16>, #rows>, %lock: !tile.ptr<i32>, %one: i32, %new: tensor<16x16xf16, #rows>, %y: tensor<16x16xf16, #b>, %zero: tensor<16x16xf32, #acc>, %c: i1) -> tensor<16x16xf32, #acc> {
  %x = tile.load %p {tile.vector = 4 : i64} : tensor<16x16x!tile.ptr<f16>, #rows>
  %old = tile.atomic_rmw xchg %lock, %one : !tile.ptr<i32>, i32
  %a1 = tile.convert_layout %x : tensor<16x16xf16, #rows> -> tensor<16x16xf16, #a>
  %d1 = tile.dot %a1, %y, %zero ieee : tensor<16x16xf16, #a>, tensor<16x16xf16, #b> -> tensor<16x16xf32, #acc>
  %t1 = tile.trans %x [1, 0] : tensor<16x16xf16, #rows> -> tensor<16x16xf16, #turned>
  %u1 = tile.convert_layout %t1 : tensor<16x16xf16, #turned> -> tensor<16x16xf16, #a>
  %e1 = tile.dot %u1, %y, %d1 ieee : tensor<16x16xf16, #a>, tensor<16x16xf16, #b> -> tensor<16x16xf32, #acc>
  return %e1 : tensor<16x16xf32, #acc>
}

// An atomic that releases nothing may go ahead.
// CHECK-LABEL: func.func @counted
// CHECK: tile.async_commit
// CHECK-NEXT: tile.atomic_rmw
// CHECK: tile.async_wait {{.*}} leaving 0
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.smem_load
// CHECK-NOT: tile.async_wait
// CHECK: return
func.func @counted(%p: tensor<16x16x!tile.ptr<f16>, #rows>, %k: tensor<16x16x!tile.ptr<f16>, #rows>, %lock: !tile.ptr<i32>, %one: i32, %new: tensor<16x16xf16, #rows>, %y: tensor<16x16xf16, #b>, %zero: tensor<16x16xf32, #acc>, %c: i1) -> tensor<16x16xf32, #acc> {
  %x = tile.load %p {tile.vector = 4 : i64} : tensor<16x16x!tile.ptr<f16>, #rows>
  %old = tile.atomic_rmw add %lock, %one {sem = "relaxed"} : !tile.ptr<i32>, i32
  %a1 = tile.convert_layout %x : tensor<16x16xf16, #rows> -> tensor<16x16xf16, #a>
  %d1 = tile.dot %a1, %y, %zero ieee : tensor<16x16xf16, #a>, tensor<16x16xf16, #b> -> tensor<16x16xf32, #acc>
  %t1 = tile.trans %x [1, 0] : tensor<16x16xf16, #rows> -> tensor<16x16xf16, #turned>
  %u1 = tile.convert_layout %t1 : tensor<16x16xf16, #turned> -> tensor<16x16xf16, #a>
  %e1 = tile.dot %u1, %y, %d1 ieee : tensor<16x16xf16, #a>, tensor<16x16xf16, #b> -> tensor<16x16xf32, #acc>
  return %e1 : tensor<16x16xf32, #acc>
}

// Nor is a barrier of the pipeline waited at; it loses its mark here.
// CHECK-LABEL: func.func @pipelined
// CHECK: tile.async_commit
// CHECK-NEXT: tile.barrier{{$}}
// CHECK: tile.async_wait {{.*}} leaving 0
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.smem_load
// CHECK-NOT: tile.async_wait
// CHECK: return
func.func @pipelined(%p: tensor<16x16x!tile.ptr<f16>, #rows>, %k: tensor<16x16x!tile.ptr<f16>, #rows>, %lock: !tile.ptr<i32>, %one: i32, %new: tensor<16x16xf16, #rows>, %y: tensor<16x16xf16, #b>, %zero: tensor<16x16xf32, #acc>, %c: i1) -> tensor<16x16xf32, #acc> {
  %x = tile.load %p {tile.vector = 4 : i64} : tensor<16x16x!tile.ptr<f16>, #rows>
  tile.barrier {tile.pipeline}
  %a1 = tile.convert_layout %x : tensor<16x16xf16, #rows> -> tensor<16x16xf16, #a>
  %d1 = tile.dot %a1, %y, %zero ieee : tensor<16x16xf16, #a>, tensor<16x16xf16, #b> -> tensor<16x16xf32, #acc>
  %t1 = tile.trans %x [1, 0] : tensor<16x16xf16, #rows> -> tensor<16x16xf16, #turned>
  %u1 = tile.convert_layout %t1 : tensor<16x16xf16, #turned> -> tensor<16x16xf16, #a>
  %e1 = tile.dot %u1, %y, %d1 ieee : tensor<16x16xf16, #a>, tensor<16x16xf16, #b> -> tensor<16x16xf32, #acc>
  return %e1 : tensor<16x16xf32, #acc>
}

// Of two copies the one that is read later has to end earlier.
// CHECK-LABEL: func.func @two_copies
// CHECK: tile.async_commit
// CHECK-NEXT: tile.async_wait {{.*}} leaving 0
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.store
// CHECK: tile.async_commit
// CHECK: tile.async_wait {{.*}} leaving 0
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.smem_load
// CHECK-NOT: tile.async_wait
// CHECK: return
func.func @two_copies(%p: tensor<16x16x!tile.ptr<f16>, #rows>, %k: tensor<16x16x!tile.ptr<f16>, #rows>, %lock: !tile.ptr<i32>, %one: i32, %new: tensor<16x16xf16, #rows>, %y: tensor<16x16xf16, #b>, %zero: tensor<16x16xf32, #acc>, %c: i1) -> tensor<16x16xf32, #acc> {
  %x = tile.load %p {tile.vector = 4 : i64} : tensor<16x16x!tile.ptr<f16>, #rows>
  tile.store %p, %new : tensor<16x16x!tile.ptr<f16>, #rows>, tensor<16x16xf16, #rows>
  %w = tile.load %k {tile.vector = 4 : i64} : tensor<16x16x!tile.ptr<f16>, #rows>
  %a2 = tile.convert_layout %w : tensor<16x16xf16, #rows> -> tensor<16x16xf16, #a>
  %d2 = tile.dot %a2, %y, %zero ieee : tensor<16x16xf16, #a>, tensor<16x16xf16, #b> -> tensor<16x16xf32, #acc>
  %t2 = tile.trans %w [1, 0] : tensor<16x16xf16, #rows> -> tensor<16x16xf16, #turned>
  %u2 = tile.convert_layout %t2 : tensor<16x16xf16, #turned> -> tensor<16x16xf16, #a>
  %e2 = tile.dot %u2, %y, %d2 ieee : tensor<16x16xf16, #a>, tensor<16x16xf16, #b> -> tensor<16x16xf32, #acc>
  %a1 = tile.convert_layout %x : tensor<16x16xf16, #rows> -> tensor<16x16xf16, #a>
  %d1 = tile.dot %a1, %y, %e2 ieee : tensor<16x16xf16, #a>, tensor<16x16xf16, #b> -> tensor<16x16xf32, #acc>
  %t1 = tile.trans %x [1, 0] : tensor<16x16xf16, #rows> -> tensor<16x16xf16, #turned>
  %u1 = tile.convert_layout %t1 : tensor<16x16xf16, #turned> -> tensor<16x16xf16, #a>
  %e1 = tile.dot %u1, %y, %d1 ieee : tensor<16x16xf16, #a>, tensor<16x16xf16, #b> -> tensor<16x16xf32, #acc>
  return %e1 : tensor<16x16xf32, #acc>
}

// What a loop carries and an operand from outside of it are 128 and 64 registers,
// more than it may have: each iteration reads the operand. Of 32 rows they are 64
// and 32, and with 16 more that the loop carries 112, the most that stay.
// CHECK-LABEL: func.func @from_outside
// CHECK: %[[MEM:.*]] = tile.smem_alloc : <1 x 64x64xf16
// CHECK: tile.smem_store %{{.*}}, %[[MEM]]
// CHECK-NEXT: tile.barrier
// CHECK: scf.for
// CHECK-NEXT: tile.smem_load %[[MEM]]
// CHECK-NEXT: tile.dot
// CHECK-LABEL: func.func @few_from_outside
// CHECK-NOT: tile.smem_alloc
// CHECK: tile.convert_layout
// CHECK: scf.for
#wide_acc = #tile.linear<64x128, register = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32], [16, 0], [32, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 64]]>
#wide_a = #tile.linear<64x64, register = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32], [16, 0], [32, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 0]]>
#wide_b = #tile.linear<64x128, register = [[1, 0], [8, 0], [16, 0], [32, 0], [0, 8], [0, 16], [0, 32]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = [[0, 64]]>
#wide_rows = #tile.linear<64x64, register = [[0, 1], [0, 2], [0, 4], [8, 0], [16, 0], [32, 0]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0]]>
#half_acc = #tile.linear<32x128, register = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32], [16, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 64]]>
#half_a = #tile.linear<32x64, register = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32], [16, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 0]]>
#half_rows = #tile.linear<32x64, register = [[0, 1], [0, 2], [0, 4], [8, 0], [16, 0]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0]]>
func.func @from_outside(%x: tensor<64x64xf16, #wide_rows>, %y: tensor<64x128xf16, #wide_b>, %zero: tensor<64x128xf32, #wide_acc>, %n: i32) -> tensor<64x128xf32, #wide_acc> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %a = tile.convert_layout %x : tensor<64x64xf16, #wide_rows> -> tensor<64x64xf16, #wide_a>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x128xf32, #wide_acc>) : i32 {
    %d = tile.dot %a, %y, %acc ieee : tensor<64x64xf16, #wide_a>, tensor<64x128xf16, #wide_b> -> tensor<64x128xf32, #wide_acc>
    scf.yield %d : tensor<64x128xf32, #wide_acc>
  }
  return %r : tensor<64x128xf32, #wide_acc>
}
func.func @few_from_outside(%x: tensor<32x64xf16, #half_rows>, %y: tensor<64x128xf16, #wide_b>, %zero: tensor<32x128xf32, #half_acc>, %n: i32) -> tensor<32x128xf32, #half_acc> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %a = tile.convert_layout %x : tensor<32x64xf16, #half_rows> -> tensor<32x64xf16, #half_a>
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %z = %x) -> (tensor<32x128xf32, #half_acc>, tensor<32x64xf16, #half_rows>) : i32 {
    %d = tile.dot %a, %y, %acc ieee : tensor<32x64xf16, #half_a>, tensor<64x128xf16, #wide_b> -> tensor<32x128xf32, #half_acc>
    %w = arith.addf %z, %x : tensor<32x64xf16, #half_rows>
    scf.yield %d, %w : tensor<32x128xf32, #half_acc>, tensor<32x64xf16, #half_rows>
  }
  return %r#0 : tensor<32x128xf32, #half_acc>
}

// Accumulators are no operands: they stay in registers.
// CHECK-LABEL: func.func @accumulators
// CHECK-NOT: tile.smem_alloc
// CHECK: return
func.func @accumulators(%x: tensor<16x16xf32, #rows>, %a: tensor<16x16xf16, #a>, %y: tensor<16x16xf16, #b>) -> (tensor<16x16xf32, #acc>, tensor<16x16xf32, #acc>) {
  %u = tile.convert_layout %x : tensor<16x16xf32, #rows> -> tensor<16x16xf32, #acc>
  %d = tile.dot %a, %y, %u ieee : tensor<16x16xf16, #a>, tensor<16x16xf16, #b> -> tensor<16x16xf32, #acc>
  %v = tile.convert_layout %x : tensor<16x16xf32, #rows> -> tensor<16x16xf32, #acc>
  %e = tile.dot %a, %y, %v ieee : tensor<16x16xf16, #a>, tensor<16x16xf16, #b> -> tensor<16x16xf32, #acc>
  return %d, %e : tensor<16x16xf32, #acc>, tensor<16x16xf32, #acc>
}
