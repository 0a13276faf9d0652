// Loads and stores: width, masks, cache modifiers, replication.
// RUN: tessera-lower %s --laid-out | FileCheck %s

#four = #tile.linear<512, register = [[1], [2]], lane = [[4], [8], [16], [32], [64]], warp = [[128], [256]]>
#eight = #tile.linear<1024, register = [[1], [2], [4]], lane = [[8], [16], [32], [64], [128]], warp = [[256], [512]]>
#replicated = #tile.linear<32, register = [], lane = [[1], [2], [4], [8], [0]], warp = [[16], [0]]>

// What every thread does is LLVM's: 16 bytes at once.
// CHECK-LABEL: .entry plain(
// CHECK: ld.global.v4.b32
// CHECK-NOT: ld.global
// CHECK: st.global.v4.b32
// CHECK-NOT: {{@|st\.global}}
// CHECK: ret
func.func @plain(%p: !tile.ptr<f32> {tile.divisibility = 16 : i32}, %q: !tile.ptr<f32> {tile.divisibility = 16 : i32}) {
  %i = tile.range 0, 512 : tensor<512xi32, #four>
  %ps = tile.splat %p : !tile.ptr<f32> -> tensor<512x!tile.ptr<f32>, #four>
  %pp = tile.addptr %ps, %i : tensor<512x!tile.ptr<f32>, #four>, tensor<512xi32, #four>
  %qs = tile.splat %q : !tile.ptr<f32> -> tensor<512x!tile.ptr<f32>, #four>
  %qq = tile.addptr %qs, %i : tensor<512x!tile.ptr<f32>, #four>, tensor<512xi32, #four>
  %x = tile.load %pp {tile.vector = 4 : i64} : tensor<512x!tile.ptr<f32>, #four>
  tile.store %qq, %x {tile.vector = 4 : i64} : tensor<512x!tile.ptr<f32>, #four>, tensor<512xf32, #four>
  return
}

// Under a mask: one predicate for the complete vector, no branch. Elements of 16 bits are packed.
// CHECK-LABEL: .entry masked(
// CHECK-NOT: bra
// CHECK: @%p{{[0-9]+}} ld.global.v4.b32
// CHECK-NOT: ld.global
// CHECK: @%p{{[0-9]+}} st.global.v4.b32
// CHECK-NOT: {{bra|st\.global}}
// CHECK: ret
func.func @masked(%p: !tile.ptr<bf16>, %q: !tile.ptr<bf16>, %n: i32) {
  %i = tile.range 0, 1024 : tensor<1024xi32, #eight>
  %ns = tile.splat %n : i32 -> tensor<1024xi32, #eight>
  %m = arith.cmpi slt, %i, %ns : tensor<1024xi32, #eight>
  %ps = tile.splat %p : !tile.ptr<bf16> -> tensor<1024x!tile.ptr<bf16>, #eight>
  %pp = tile.addptr %ps, %i : tensor<1024x!tile.ptr<bf16>, #eight>, tensor<1024xi32, #eight>
  %qs = tile.splat %q : !tile.ptr<bf16> -> tensor<1024x!tile.ptr<bf16>, #eight>
  %qq = tile.addptr %qs, %i : tensor<1024x!tile.ptr<bf16>, #eight>, tensor<1024xi32, #eight>
  %x = tile.load %pp mask %m {tile.vector = 8 : i64} : tensor<1024x!tile.ptr<bf16>, #eight>
  tile.store %qq, %x mask %m {tile.vector = 8 : i64} : tensor<1024x!tile.ptr<bf16>, #eight>, tensor<1024xbf16, #eight>
  return
}

// Masked-off elements are `other`, or 0: the registers hold these values before the load.
// CHECK-LABEL: .entry others(
// CHECK: mov.{{[bf]}}32 %[[A:[rf][0-9]+]], {{(0f40400000|1077936128|0x40400000)}};
// CHECK: @%p{{[0-9]+}} ld.global.b32 %[[A]]
// CHECK: mov.{{[bf]}}32 %[[B:[rf][0-9]+]], {{(0f00000000|0|0x0)}};
// CHECK: @%p{{[0-9]+}} ld.global.b32 %[[B]]
// CHECK: ret
func.func @others(%p: !tile.ptr<f32>, %q: !tile.ptr<f32>, %c: i1) {
  %three = arith.constant 3.0 : f32
  %x = tile.load %p mask %c other %three : !tile.ptr<f32>
  %y = tile.load %p mask %c : !tile.ptr<f32>
  %z = arith.addf %x, %y : f32
  tile.store %q, %z : !tile.ptr<f32>, f32
  return
}

// CHECK-LABEL: .entry caches(
// CHECK: ld.global.ca.v4.b32
// CHECK: ld.global.L1::evict_first.v4.b32
// CHECK: ld.volatile.global.v4.b32
// CHECK: st.global.cs.v4.b32
// CHECK: ret
func.func @caches(%p: !tile.ptr<f32>, %q: !tile.ptr<f32>) {
  %i = tile.range 0, 512 : tensor<512xi32, #four>
  %ps = tile.splat %p : !tile.ptr<f32> -> tensor<512x!tile.ptr<f32>, #four>
  %pp = tile.addptr %ps, %i : tensor<512x!tile.ptr<f32>, #four>, tensor<512xi32, #four>
  %qs = tile.splat %q : !tile.ptr<f32> -> tensor<512x!tile.ptr<f32>, #four>
  %qq = tile.addptr %qs, %i : tensor<512x!tile.ptr<f32>, #four>, tensor<512xi32, #four>
  %x = tile.load %pp {tile.vector = 4 : i64, cache = ".ca"} : tensor<512x!tile.ptr<f32>, #four>
  %y = tile.load %pp {tile.vector = 4 : i64, eviction = "evict_first"} : tensor<512x!tile.ptr<f32>, #four>
  %z = tile.load %pp {tile.vector = 4 : i64, isVolatile} : tensor<512x!tile.ptr<f32>, #four>
  %a = arith.addf %x, %y : tensor<512xf32, #four>
  %b = arith.addf %a, %z : tensor<512xf32, #four>
  tile.store %qq, %b {tile.vector = 4 : i64, cache = ".cs"} : tensor<512x!tile.ptr<f32>, #four>, tensor<512xf32, #four>
  return
}

// 32 elements, 128 threads: the first of four replicas stores.
// CHECK-LABEL: .entry replicated(
// CHECK: and.b32 %[[FREE:r[0-9]+]], %{{r[0-9]+}}, 80;
// CHECK: setp.eq.{{[a-z0-9]+}} %[[FIRST:p[0-9]+]], %[[FREE]], 0;
// CHECK: @%[[FIRST]] st.global.b32
// CHECK: ret
func.func @replicated(%p: !tile.ptr<i32>) {
  %i = tile.range 0, 32 : tensor<32xi32, #replicated>
  %ps = tile.splat %p : !tile.ptr<i32> -> tensor<32x!tile.ptr<i32>, #replicated>
  %pp = tile.addptr %ps, %i : tensor<32x!tile.ptr<i32>, #replicated>, tensor<32xi32, #replicated>
  tile.store %pp, %i : tensor<32x!tile.ptr<i32>, #replicated>, tensor<32xi32, #replicated>
  return
}

// A truth value is a byte, a pointer eight.
// CHECK-LABEL: .entry kinds(
// CHECK: ld.global.b64
// CHECK: st.global.b8
// CHECK: ret
func.func @kinds(%p: !tile.ptr<!tile.ptr<i1>>, %c: i1) {
  %q = tile.load %p : !tile.ptr<!tile.ptr<i1>>
  tile.store %q, %c : !tile.ptr<i1>, i1
  return
}

// The old elements are loaded before others are stored at their addresses, though only an arm of the `if`
// reads them.
// CHECK-LABEL: .entry overwritten(
// CHECK: ld.global.v4.b32
// CHECK: @%p{{[0-9]+}} st.global.v4.b32
// CHECK: bra
// CHECK-NOT: ld.global
// CHECK: ret
func.func @overwritten(%p: !tile.ptr<i32>, %q: !tile.ptr<i32>, %n: i32, %c: i1) {
  %i = tile.range 0, 512 : tensor<512xi32, #four>
  %ns = tile.splat %n : i32 -> tensor<512xi32, #four>
  %m = arith.cmpi slt, %i, %ns : tensor<512xi32, #four>
  %ps = tile.splat %p : !tile.ptr<i32> -> tensor<512x!tile.ptr<i32>, #four>
  %pp = tile.addptr %ps, %i : tensor<512x!tile.ptr<i32>, #four>, tensor<512xi32, #four>
  %qs = tile.splat %q : !tile.ptr<i32> -> tensor<512x!tile.ptr<i32>, #four>
  %qq = tile.addptr %qs, %i : tensor<512x!tile.ptr<i32>, #four>, tensor<512xi32, #four>
  %x = tile.load %pp {tile.vector = 4 : i64} : tensor<512x!tile.ptr<i32>, #four>
  tile.store %pp, %i mask %m {tile.vector = 4 : i64} : tensor<512x!tile.ptr<i32>, #four>, tensor<512xi32, #four>
  scf.if %c {
    tile.store %qq, %x {tile.vector = 4 : i64} : tensor<512x!tile.ptr<i32>, #four>, tensor<512xi32, #four>
  }
  return
}

// Nor does a load pass one that is volatile.
// CHECK-LABEL: .entry polled(
// CHECK: ld.global.v4.b32
// CHECK: ld.volatile.global.b32
// CHECK: bra
// CHECK-NOT: ld.global
// CHECK: ret
func.func @polled(%p: !tile.ptr<i32>, %q: !tile.ptr<i32>, %c: i1) {
  %i = tile.range 0, 512 : tensor<512xi32, #four>
  %ps = tile.splat %p : !tile.ptr<i32> -> tensor<512x!tile.ptr<i32>, #four>
  %pp = tile.addptr %ps, %i : tensor<512x!tile.ptr<i32>, #four>, tensor<512xi32, #four>
  %qs = tile.splat %q : !tile.ptr<i32> -> tensor<512x!tile.ptr<i32>, #four>
  %qq = tile.addptr %qs, %i : tensor<512x!tile.ptr<i32>, #four>, tensor<512xi32, #four>
  %x = tile.load %pp {tile.vector = 4 : i64} : tensor<512x!tile.ptr<i32>, #four>
  %flag = tile.load %q mask %c {isVolatile} : !tile.ptr<i32>
  %flags = tile.splat %flag : i32 -> tensor<512xi32, #four>
  scf.if %c {
    %y = arith.addi %x, %flags : tensor<512xi32, #four>
    tile.store %qq, %y {tile.vector = 4 : i64} : tensor<512x!tile.ptr<i32>, #four>, tensor<512xi32, #four>
  }
  return
}
