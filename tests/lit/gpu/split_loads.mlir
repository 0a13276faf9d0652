// Two stages: tiles used after the first dots are copied when their iteration begins, and one buffer suffices
// where no tile is used on both sides.
// RUN: tessera-opt --tessera-pipeline-loops=num-stages=2 --tessera-async-waits %s | FileCheck %s
// RUN: tessera-opt --tessera-pipeline-loops=num-stages=3 %s | FileCheck %s --check-prefix=THREE
// RUN: tessera-opt --tessera-pipeline-loops="num-stages=2 shared-bytes=4096" %s | FileCheck %s --check-prefix=FITS
// RUN: tessera-opt --tessera-pipeline-loops="num-stages=2 shared-bytes=4095" %s | FileCheck %s --check-prefix=OVER
// RUN: %docblock-pipeline.md split.before > %t.before
// RUN: tessera-opt %s | FileCheck %t.before
// RUN: %docblock-pipeline.md split.after > %t.after
// RUN: tessera-opt %s --tessera-pipeline-loops=num-stages=2 | FileCheck %t.after

#rows = #tile.linear<16x32, register = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [1, 0], [2, 0], [4, 0]], warp = [[8, 0], [0, 0]]>
#acc = #tile.linear<16x16, register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 8], [0, 0]]>
#a = #tile.linear<16x32, register = [[0, 1], [8, 0], [0, 8], [0, 16]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 0], [0, 0]]>
#b = #tile.linear<32x16, register = [[1, 0], [8, 0], [16, 0]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = [[0, 8], [0, 0]]>

// CHECK-LABEL: func.func @softmax
// CHECK-DAG: %[[K:.*]] = tile.smem_alloc : <1 x 16x32xf16
// CHECK-DAG: %[[V:.*]] = tile.smem_alloc : <1 x 16x32xf16
// The first k only: v is of its own iteration.
// CHECK: scf.if
// CHECK: tile.async_copy
// CHECK-NOT: tile.async_copy
// CHECK: scf.for
// CHECK-NEXT: tile.async_wait {{.*}} leaving 0
// CHECK-NEXT: tile.barrier
// CHECK-NOT: scf.if
// CHECK: tile.async_copy
// CHECK: tile.async_commit
// CHECK: tile.smem_load
// CHECK: tile.dot
// Both threads' v and the last read of k: from here on the next k.
// CHECK: tile.async_wait {{.*}} leaving 0
// CHECK-NEXT: tile.barrier
// CHECK: scf.if
// CHECK: tile.async_copy
// CHECK: tile.async_commit
// CHECK: tile.smem_load
// CHECK: tile.dot
// CHECK-NOT: tile.barrier
// CHECK: scf.yield

// Two buffers of both are 4096 bytes.
// FITS-LABEL: func.func @softmax
// FITS-COUNT-2: tile.smem_alloc : <2 x 16x32xf16
// FITS-LABEL: func.func @backward
// OVER-LABEL: func.func @softmax
// OVER-COUNT-2: tile.smem_alloc : <1 x 16x32xf16
// OVER-LABEL: func.func @backward
// THREE-LABEL: func.func @softmax
// THREE-COUNT-2: tile.smem_alloc : <2 x 16x32xf16
func.func @softmax(%pk: tensor<16x32x!tile.ptr<f16>, #rows>, %pv: tensor<16x32x!tile.ptr<f16>, #rows>, %step: tensor<16x32xi32, #rows>, %b: tensor<32x16xf16, #b>, %zero: tensor<16x16xf32, #acc>, %n: i32) -> tensor<16x16xf32, #acc> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<16x16xf32, #acc>) : i32 {
    %s = tile.splat %i : i32 -> tensor<16x32xi32, #rows>
    %o = arith.muli %s, %step : tensor<16x32xi32, #rows>
    %qk = tile.addptr %pk, %o : tensor<16x32x!tile.ptr<f16>, #rows>, tensor<16x32xi32, #rows>
    %qv = tile.addptr %pv, %o : tensor<16x32x!tile.ptr<f16>, #rows>, tensor<16x32xi32, #rows>
    %k = tile.load %qk {tile.vector = 8 : i64} : tensor<16x32x!tile.ptr<f16>, #rows>
    %v = tile.load %qv {tile.vector = 8 : i64} : tensor<16x32x!tile.ptr<f16>, #rows>
    %ka = tile.convert_layout %k : tensor<16x32xf16, #rows> -> tensor<16x32xf16, #a>
    %va = tile.convert_layout %v : tensor<16x32xf16, #rows> -> tensor<16x32xf16, #a>
    %p = tile.dot %ka, %b, %zero ieee : tensor<16x32xf16, #a>, tensor<32x16xf16, #b> -> tensor<16x16xf32, #acc>
    %e = math.exp2 %p : tensor<16x16xf32, #acc>
    %scaled = arith.mulf %e, %acc : tensor<16x16xf32, #acc>
    %d = tile.dot %va, %b, %scaled ieee : tensor<16x32xf16, #a>, tensor<32x16xf16, #b> -> tensor<16x16xf32, #acc>
    scf.yield %d : tensor<16x16xf32, #acc>
  }
  return %r : tensor<16x16xf32, #acc>
}

// k on both sides of v: two buffers for k, copied at once; v is the older copy
// of the two where it is waited for.
// CHECK-LABEL: func.func @backward
// CHECK-DAG: tile.smem_alloc : <2 x 16x32xf16
// CHECK-DAG: tile.smem_alloc : <1 x 16x32xf16
// CHECK: scf.for
// CHECK-NEXT: tile.async_wait {{.*}} leaving 0
// CHECK-NEXT: tile.barrier
// CHECK: tile.async_copy
// CHECK: tile.async_commit
// CHECK: scf.if
// CHECK: tile.async_copy
// CHECK: tile.async_commit
// CHECK: tile.dot
// CHECK: tile.async_wait {{.*}} leaving 1
// CHECK-NEXT: tile.barrier
// CHECK-NOT: tile.async_copy
// CHECK: tile.dot
// CHECK: tile.dot
// CHECK: scf.yield
func.func @backward(%pk: tensor<16x32x!tile.ptr<f16>, #rows>, %pv: tensor<16x32x!tile.ptr<f16>, #rows>, %step: tensor<16x32xi32, #rows>, %b: tensor<32x16xf16, #b>, %zero: tensor<16x16xf32, #acc>, %n: i32) -> tensor<16x16xf32, #acc> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<16x16xf32, #acc>) : i32 {
    %s = tile.splat %i : i32 -> tensor<16x32xi32, #rows>
    %o = arith.muli %s, %step : tensor<16x32xi32, #rows>
    %qk = tile.addptr %pk, %o : tensor<16x32x!tile.ptr<f16>, #rows>, tensor<16x32xi32, #rows>
    %qv = tile.addptr %pv, %o : tensor<16x32x!tile.ptr<f16>, #rows>, tensor<16x32xi32, #rows>
    %k = tile.load %qk {tile.vector = 8 : i64} : tensor<16x32x!tile.ptr<f16>, #rows>
    %v = tile.load %qv {tile.vector = 8 : i64} : tensor<16x32x!tile.ptr<f16>, #rows>
    %ka = tile.convert_layout %k : tensor<16x32xf16, #rows> -> tensor<16x32xf16, #a>
    %va = tile.convert_layout %v : tensor<16x32xf16, #rows> -> tensor<16x32xf16, #a>
    %p = tile.dot %ka, %b, %zero ieee : tensor<16x32xf16, #a>, tensor<32x16xf16, #b> -> tensor<16x16xf32, #acc>
    %q = tile.dot %va, %b, %p ieee : tensor<16x32xf16, #a>, tensor<32x16xf16, #b> -> tensor<16x16xf32, #acc>
    %sum = arith.addf %q, %acc : tensor<16x16xf32, #acc>
    %d = tile.dot %ka, %b, %sum ieee : tensor<16x32xf16, #a>, tensor<32x16xf16, #b> -> tensor<16x16xf32, #acc>
    scf.yield %d : tensor<16x16xf32, #acc>
  }
  return %r : tensor<16x16xf32, #acc>
}

// One product: no dot would hide a copy. Two buffers, one barrier.
// CHECK-LABEL: func.func @product
// CHECK-COUNT-2: tile.smem_alloc : <2 x 
// CHECK: scf.for
// CHECK: tile.barrier
// CHECK-NOT: tile.barrier
// CHECK: scf.yield
#right = #tile.linear<32x16, register = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [1, 0], [2, 0], [4, 0], [8, 0]], warp = [[16, 0], [0, 0]]>
func.func @product(%pa: tensor<16x32x!tile.ptr<f16>, #rows>, %pb: tensor<32x16x!tile.ptr<f16>, #right>, %step: tensor<16x32xi32, #rows>, %down: tensor<32x16xi32, #right>, %zero: tensor<16x16xf32, #acc>, %n: i32) -> tensor<16x16xf32, #acc> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<16x16xf32, #acc>) : i32 {
    %s = tile.splat %i : i32 -> tensor<16x32xi32, #rows>
    %o = arith.muli %s, %step : tensor<16x32xi32, #rows>
    %t = tile.splat %i : i32 -> tensor<32x16xi32, #right>
    %u = arith.muli %t, %down : tensor<32x16xi32, #right>
    %qa = tile.addptr %pa, %o : tensor<16x32x!tile.ptr<f16>, #rows>, tensor<16x32xi32, #rows>
    %qb = tile.addptr %pb, %u : tensor<32x16x!tile.ptr<f16>, #right>, tensor<32x16xi32, #right>
    %x = tile.load %qa {tile.vector = 8 : i64} : tensor<16x32x!tile.ptr<f16>, #rows>
    %y = tile.load %qb {tile.vector = 8 : i64} : tensor<32x16x!tile.ptr<f16>, #right>
    %xa = tile.convert_layout %x : tensor<16x32xf16, #rows> -> tensor<16x32xf16, #a>
    %yb = tile.convert_layout %y : tensor<32x16xf16, #right> -> tensor<32x16xf16, #b>
    %d = tile.dot %xa, %yb, %acc ieee : tensor<16x32xf16, #a>, tensor<32x16xf16, #b> -> tensor<16x16xf32, #acc>
    scf.yield %d : tensor<16x16xf32, #acc>
  }
  return %r : tensor<16x16xf32, #acc>
}

// The number of a block, which the tile's address and the scores need: loaded
// with the copy, and carried to the iteration that uses both.
// CHECK-LABEL: func.func @indexed
// CHECK: %[[FIRST:.*]]:2 = scf.if {{.*}} -> (!tile.token, i32)
// CHECK: tile.load
// CHECK: tile.async_copy
// CHECK: scf.yield
// CHECK: } else {
// CHECK: scf.yield
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[BLOCK:.*]] = %[[FIRST]]#1,
// CHECK: %[[NEXT:.*]]:2 = scf.if {{.*}} -> (!tile.token, i32)
// CHECK: %[[LOADED:.*]] = tile.load
// CHECK: tile.async_copy
// CHECK: scf.yield %{{.*}}, %[[LOADED]]
// CHECK-NOT: tile.load
// CHECK: arith.sitofp %[[BLOCK]]
// CHECK: scf.yield %{{.*}}, %[[NEXT]]#1,
func.func @indexed(%p: tensor<16x32x!tile.ptr<f16>, #rows>, %index: !tile.ptr<i32>, %b: tensor<32x16xf16, #b>, %zero: tensor<16x16xf32, #acc>, %n: i32) -> tensor<16x16xf32, #acc> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<16x16xf32, #acc>) : i32 {
    %at = tile.addptr %index, %i : !tile.ptr<i32>, i32
    %block = tile.load %at : !tile.ptr<i32>
    %s = tile.splat %block : i32 -> tensor<16x32xi32, #rows>
    %q = tile.addptr %p, %s : tensor<16x32x!tile.ptr<f16>, #rows>, tensor<16x32xi32, #rows>
    %v = tile.load %q {tile.vector = 8 : i64} : tensor<16x32x!tile.ptr<f16>, #rows>
    %a = tile.convert_layout %v : tensor<16x32xf16, #rows> -> tensor<16x32xf16, #a>
    %d = tile.dot %a, %b, %acc ieee : tensor<16x32xf16, #a>, tensor<32x16xf16, #b> -> tensor<16x16xf32, #acc>
    %f = arith.sitofp %block : i32 to f32
    %g = tile.splat %f : f32 -> tensor<16x16xf32, #acc>
    %e = arith.addf %d, %g : tensor<16x16xf32, #acc>
    scf.yield %e : tensor<16x16xf32, #acc>
  }
  return %r : tensor<16x16xf32, #acc>
}

// Of two split points that leave as many dots on both sides, the later one.
// CHECK-LABEL: func.func @three_dots
// CHECK: scf.if
// CHECK-COUNT-2: tile.async_copy
// CHECK: scf.for
// CHECK-NEXT: tile.async_wait
// CHECK: tile.async_copy
// CHECK-NEXT: tile.async_commit
// CHECK: tile.dot
// CHECK: tile.dot
// CHECK: tile.async_wait
// CHECK: scf.if
// CHECK-COUNT-2: tile.async_copy
// CHECK: tile.dot
// CHECK: scf.yield
func.func @three_dots(%pk: tensor<16x32x!tile.ptr<f16>, #rows>, %pu: tensor<16x32x!tile.ptr<f16>, #rows>, %pv: tensor<16x32x!tile.ptr<f16>, #rows>, %step: tensor<16x32xi32, #rows>, %b: tensor<32x16xf16, #b>, %zero: tensor<16x16xf32, #acc>, %n: i32) -> tensor<16x16xf32, #acc> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<16x16xf32, #acc>) : i32 {
    %s = tile.splat %i : i32 -> tensor<16x32xi32, #rows>
    %o = arith.muli %s, %step : tensor<16x32xi32, #rows>
    %qk = tile.addptr %pk, %o : tensor<16x32x!tile.ptr<f16>, #rows>, tensor<16x32xi32, #rows>
    %qu = tile.addptr %pu, %o : tensor<16x32x!tile.ptr<f16>, #rows>, tensor<16x32xi32, #rows>
    %qv = tile.addptr %pv, %o : tensor<16x32x!tile.ptr<f16>, #rows>, tensor<16x32xi32, #rows>
    %k = tile.load %qk {tile.vector = 8 : i64} : tensor<16x32x!tile.ptr<f16>, #rows>
    %u = tile.load %qu {tile.vector = 8 : i64} : tensor<16x32x!tile.ptr<f16>, #rows>
    %v = tile.load %qv {tile.vector = 8 : i64} : tensor<16x32x!tile.ptr<f16>, #rows>
    %ka = tile.convert_layout %k : tensor<16x32xf16, #rows> -> tensor<16x32xf16, #a>
    %ua = tile.convert_layout %u : tensor<16x32xf16, #rows> -> tensor<16x32xf16, #a>
    %va = tile.convert_layout %v : tensor<16x32xf16, #rows> -> tensor<16x32xf16, #a>
    %d = tile.dot %ka, %b, %acc ieee : tensor<16x32xf16, #a>, tensor<32x16xf16, #b> -> tensor<16x16xf32, #acc>
    %e = tile.dot %ua, %b, %d ieee : tensor<16x32xf16, #a>, tensor<32x16xf16, #b> -> tensor<16x16xf32, #acc>
    %f = tile.dot %va, %b, %e ieee : tensor<16x32xf16, #a>, tensor<32x16xf16, #b> -> tensor<16x16xf32, #acc>
    scf.yield %f : tensor<16x16xf32, #acc>
  }
  return %r : tensor<16x16xf32, #acc>
}

// A number that only the tile's address needs is not carried.
// CHECK-LABEL: func.func @indexed_alone
// CHECK: scf.if {{.*}} -> (!tile.token) {
// CHECK: scf.for
// CHECK: scf.if {{.*}} -> (!tile.token) {
// CHECK: return
func.func @indexed_alone(%p: tensor<16x32x!tile.ptr<f16>, #rows>, %index: !tile.ptr<i32>, %b: tensor<32x16xf16, #b>, %zero: tensor<16x16xf32, #acc>, %n: i32) -> tensor<16x16xf32, #acc> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<16x16xf32, #acc>) : i32 {
    %at = tile.addptr %index, %i : !tile.ptr<i32>, i32
    %block = tile.load %at : !tile.ptr<i32>
    %s = tile.splat %block : i32 -> tensor<16x32xi32, #rows>
    %q = tile.addptr %p, %s : tensor<16x32x!tile.ptr<f16>, #rows>, tensor<16x32xi32, #rows>
    %v = tile.load %q {tile.vector = 8 : i64} : tensor<16x32x!tile.ptr<f16>, #rows>
    %a = tile.convert_layout %v : tensor<16x32xf16, #rows> -> tensor<16x32xf16, #a>
    %d = tile.dot %a, %b, %acc ieee : tensor<16x32xf16, #a>, tensor<32x16xf16, #b> -> tensor<16x16xf32, #acc>
    scf.yield %d : tensor<16x16xf32, #acc>
  }
  return %r : tensor<16x16xf32, #acc>
}

// An atomic between the load of v and its use tells other programs that v has
// been read: no copy of v is under way there, both are copied ahead.
// CHECK-LABEL: func.func @released
// CHECK-COUNT-2: tile.smem_alloc : <2 x
// CHECK: scf.for
// CHECK-NEXT: tile.async_wait
// CHECK-NEXT: tile.barrier
// CHECK: tile.atomic_rmw
// CHECK-NOT: tile.async_wait
// CHECK: scf.yield
func.func @released(%pk: tensor<16x32x!tile.ptr<f16>, #rows>, %pv: tensor<16x32x!tile.ptr<f16>, #rows>, %flag: !tile.ptr<i32>, %step: tensor<16x32xi32, #rows>, %b: tensor<32x16xf16, #b>, %zero: tensor<16x16xf32, #acc>, %n: i32) -> tensor<16x16xf32, #acc> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<16x16xf32, #acc>) : i32 {
    %s = tile.splat %i : i32 -> tensor<16x32xi32, #rows>
    %o = arith.muli %s, %step : tensor<16x32xi32, #rows>
    %qk = tile.addptr %pk, %o : tensor<16x32x!tile.ptr<f16>, #rows>, tensor<16x32xi32, #rows>
    %qv = tile.addptr %pv, %o : tensor<16x32x!tile.ptr<f16>, #rows>, tensor<16x32xi32, #rows>
    %k = tile.load %qk {tile.vector = 8 : i64} : tensor<16x32x!tile.ptr<f16>, #rows>
    %v = tile.load %qv {tile.vector = 8 : i64} : tensor<16x32x!tile.ptr<f16>, #rows>
    %ka = tile.convert_layout %k : tensor<16x32xf16, #rows> -> tensor<16x32xf16, #a>
    %va = tile.convert_layout %v : tensor<16x32xf16, #rows> -> tensor<16x32xf16, #a>
    %p = tile.dot %ka, %b, %zero ieee : tensor<16x32xf16, #a>, tensor<32x16xf16, #b> -> tensor<16x16xf32, #acc>
    %read = tile.atomic_rmw add %flag, %c1 {sem = "release"} : !tile.ptr<i32>, i32
    %d = tile.dot %va, %b, %p ieee : tensor<16x32xf16, #a>, tensor<32x16xf16, #b> -> tensor<16x16xf32, #acc>
    %sum = arith.addf %d, %acc : tensor<16x16xf32, #acc>
    scf.yield %sum : tensor<16x16xf32, #acc>
  }
  return %r : tensor<16x16xf32, #acc>
}

// After the use of v it is read.
// CHECK-LABEL: func.func @released_late
// CHECK-COUNT-2: tile.smem_alloc : <1 x
// CHECK: tile.atomic_rmw
func.func @released_late(%pk: tensor<16x32x!tile.ptr<f16>, #rows>, %pv: tensor<16x32x!tile.ptr<f16>, #rows>, %flag: !tile.ptr<i32>, %step: tensor<16x32xi32, #rows>, %b: tensor<32x16xf16, #b>, %zero: tensor<16x16xf32, #acc>, %n: i32) -> tensor<16x16xf32, #acc> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<16x16xf32, #acc>) : i32 {
    %s = tile.splat %i : i32 -> tensor<16x32xi32, #rows>
    %o = arith.muli %s, %step : tensor<16x32xi32, #rows>
    %qk = tile.addptr %pk, %o : tensor<16x32x!tile.ptr<f16>, #rows>, tensor<16x32xi32, #rows>
    %qv = tile.addptr %pv, %o : tensor<16x32x!tile.ptr<f16>, #rows>, tensor<16x32xi32, #rows>
    %k = tile.load %qk {tile.vector = 8 : i64} : tensor<16x32x!tile.ptr<f16>, #rows>
    %v = tile.load %qv {tile.vector = 8 : i64} : tensor<16x32x!tile.ptr<f16>, #rows>
    %ka = tile.convert_layout %k : tensor<16x32xf16, #rows> -> tensor<16x32xf16, #a>
    %va = tile.convert_layout %v : tensor<16x32xf16, #rows> -> tensor<16x32xf16, #a>
    %p = tile.dot %ka, %b, %zero ieee : tensor<16x32xf16, #a>, tensor<32x16xf16, #b> -> tensor<16x16xf32, #acc>
    %d = tile.dot %va, %b, %p ieee : tensor<16x32xf16, #a>, tensor<32x16xf16, #b> -> tensor<16x16xf32, #acc>
    %read = tile.atomic_rmw add %flag, %c1 {sem = "release"} : !tile.ptr<i32>, i32
    %sum = arith.addf %d, %acc : tensor<16x16xf32, #acc>
    scf.yield %sum : tensor<16x16xf32, #acc>
  }
  return %r : tensor<16x16xf32, #acc>
}
