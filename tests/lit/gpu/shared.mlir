// Tiles in shared memory: copies in the background, ldmatrix, slices of K.
// RUN: tessera-lower %s --laid-out --num-warps=1 | FileCheck %s

#acc = #tile.linear<16x8, register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
#a = #tile.linear<16x32, register = [[0, 1], [8, 0], [0, 8], [0, 16]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
#b = #tile.linear<32x8, register = [[1, 0], [8, 0], [16, 0]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = []>
#rows = #tile.linear<16x32, register = [[0, 1], [0, 2], [0, 4], [8, 0]], lane = [[0, 8], [0, 16], [1, 0], [2, 0], [4, 0]], warp = []>
#flat = #tile.linear<512, register = [[1], [2], [4], [256]], lane = [[8], [16], [32], [64], [128]], warp = []>
#memory = #tile.shared<16x32, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 8], [4, 16], [8, 0]]>
#kn = #tile.shared<32x8, offset = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0]]>
#nk = #tile.shared<32x8, offset = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [0, 1], [8, 2], [16, 4]]>

// 16 bytes at a time; a masked one copies nothing and writes zeros.
// CHECK-LABEL: .entry copies(
// CHECK-COUNT-2: cp.async.cg.shared.global{{.*}}, 16
// CHECK: cp.async.commit_group
// CHECK: selp.b32 %[[BYTES:r[0-9]+]], 16, 0, %{{p[0-9]+}};
// CHECK: cp.async.cg.shared.global{{.*}}, 16, %{{r[0-9]+}}
// CHECK: cp.async.commit_group
// CHECK: cp.async.wait_group 1
// One warp waits for itself.
// CHECK: bar.warp.sync
// CHECK: cp.async.wait_group 0
// CHECK: ret
func.func @copies(%p: !tile.ptr<f16>, %n: i32) {
  %m = tile.smem_alloc : !tile.smem<2 x 16x32xf16, #memory>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %m0 = tile.smem_index %m[%c0] : !tile.smem<2 x 16x32xf16, #memory>
  %m1 = tile.smem_index %m[%c1] : !tile.smem<2 x 16x32xf16, #memory>
  %i = tile.range 0, 512 : tensor<512xi32, #flat>
  %t = tile.reshape %i : tensor<512xi32, #flat> -> tensor<16x32xi32, #rows>
  %ps = tile.splat %p : !tile.ptr<f16> -> tensor<16x32x!tile.ptr<f16>, #rows>
  %pp = tile.addptr %ps, %t : tensor<16x32x!tile.ptr<f16>, #rows>, tensor<16x32xi32, #rows>
  %t0 = tile.async_copy %pp, %m0 vector 8 : tensor<16x32x!tile.ptr<f16>, #rows> -> !tile.smem<1 x 16x32xf16, #memory>
  %g0 = tile.async_commit %t0
  %ns = tile.splat %n : i32 -> tensor<16x32xi32, #rows>
  %mask = arith.cmpi slt, %t, %ns : tensor<16x32xi32, #rows>
  %t1 = tile.async_copy %pp, %m1 mask %mask vector 8 : tensor<16x32x!tile.ptr<f16>, #rows> -> !tile.smem<1 x 16x32xf16, #memory>
  %g1 = tile.async_commit %t1
  tile.async_wait %g0
  tile.barrier
  tile.async_wait %g1
  return
}

// Operands by ldmatrix, a slice of K before the instruction that needs it;
// from rows of K as they lie, otherwise transposed.
// CHECK-LABEL: .entry slices(
// CHECK-DAG: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK-DAG: ldmatrix.sync.aligned.m8n8.{{x[24]}}.trans.shared.b16
// CHECK: mma.sync.aligned.m16n8k16
// CHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK: mma.sync.aligned.m16n8k16
// CHECK-NOT: {{mma|ld\.shared|shfl}}
// CHECK: ret
func.func @slices(%o: !tile.ptr<f32>) {
  %ma = tile.smem_alloc : !tile.smem<1 x 16x32xf16, #memory>
  %mb = tile.smem_alloc : !tile.smem<1 x 32x8xf16, #kn>
  %z = arith.constant dense<0.0> : tensor<16x8xf32, #acc>
  %a = tile.smem_load %ma : !tile.smem<1 x 16x32xf16, #memory> -> tensor<16x32xf16, #a>
  %b = tile.smem_load %mb : !tile.smem<1 x 32x8xf16, #kn> -> tensor<32x8xf16, #b>
  %x = tile.dot %a, %b, %z ieee : tensor<16x32xf16, #a>, tensor<32x8xf16, #b> -> tensor<16x8xf32, #acc>
  %os = tile.splat %o : !tile.ptr<f32> -> tensor<16x8x!tile.ptr<f32>, #acc>
  tile.store %os, %x : tensor<16x8x!tile.ptr<f32>, #acc>, tensor<16x8xf32, #acc>
  return
}

// CHECK-LABEL: .entry columns(
// CHECK: ldmatrix.sync.aligned.m8n8.{{x[24]}}.shared.b16
// CHECK-NOT: {{\.trans|ld\.shared}}
// CHECK: ret
func.func @columns(%o: !tile.ptr<f16>) {
  %mb = tile.smem_alloc : !tile.smem<1 x 32x8xf16, #nk>
  %b = tile.smem_load %mb : !tile.smem<1 x 32x8xf16, #nk> -> tensor<32x8xf16, #b>
  %os = tile.splat %o : !tile.ptr<f16> -> tensor<32x8x!tile.ptr<f16>, #b>
  tile.store %os, %b : tensor<32x8x!tile.ptr<f16>, #b>, tensor<32x8xf16, #b>
  return
}

// A buffer is read before a copy starts to fill it, though only an arm of the
// `if` looks at what it held.
// CHECK-LABEL: .entry refilled(
// CHECK: ld.shared
// CHECK: cp.async.cg.shared.global
// CHECK: bra
// CHECK-NOT: ld.shared
// CHECK: ret
func.func @refilled(%p: !tile.ptr<f16>, %o: !tile.ptr<f16>, %c: i1) {
  %m = tile.smem_alloc : !tile.smem<1 x 16x32xf16, #memory>
  %i = tile.range 0, 512 : tensor<512xi32, #flat>
  %t = tile.reshape %i : tensor<512xi32, #flat> -> tensor<16x32xi32, #rows>
  %ps = tile.splat %p : !tile.ptr<f16> -> tensor<16x32x!tile.ptr<f16>, #rows>
  %pp = tile.addptr %ps, %t : tensor<16x32x!tile.ptr<f16>, #rows>, tensor<16x32xi32, #rows>
  %os = tile.splat %o : !tile.ptr<f16> -> tensor<16x32x!tile.ptr<f16>, #rows>
  %oo = tile.addptr %os, %t : tensor<16x32x!tile.ptr<f16>, #rows>, tensor<16x32xi32, #rows>
  %x = tile.smem_load %m : !tile.smem<1 x 16x32xf16, #memory> -> tensor<16x32xf16, #rows>
  %copy = tile.async_copy %pp, %m vector 8 : tensor<16x32x!tile.ptr<f16>, #rows> -> !tile.smem<1 x 16x32xf16, #memory>
  scf.if %c {
    tile.store %oo, %x : tensor<16x32x!tile.ptr<f16>, #rows>, tensor<16x32xf16, #rows>
  }
  %g = tile.async_commit %copy
  tile.async_wait %g
  return
}
