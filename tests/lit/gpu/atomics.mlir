// Atomics: instruction, order, scope, type; who acts where elements are replicated.
// RUN: tessera-lower %s --laid-out | FileCheck %s
// RUN: tessera-lower %s --laid-out --target=sm_90 | FileCheck %s --check-prefix=NEXT

#row = #tile.linear<128, register = [], lane = [[1], [2], [4], [8], [16]], warp = [[32], [64]]>
#replicated = #tile.linear<32, register = [], lane = [[1], [2], [4], [8], [0]], warp = [[16], [0]]>

// Order and scope go into the instruction; without them acq_rel among the
// programs of the device. `red` if no operation reads the result.
// CHECK-LABEL: .entry orders(
// CHECK: atom.relaxed.cta.global.add.u32
// CHECK: atom.relaxed.gpu.global.add.u32
// CHECK: atom.relaxed.sys.global.add.u32
// CHECK: atom.acquire.cta.global.add.u32
// CHECK: atom.acquire.gpu.global.add.u32
// CHECK: atom.acquire.sys.global.add.u32
// CHECK: atom.release.cta.global.add.u32
// CHECK: atom.release.gpu.global.add.u32
// CHECK: atom.release.sys.global.add.u32
// CHECK: atom.acq_rel.cta.global.add.u32
// CHECK: atom.acq_rel.gpu.global.add.u32
// CHECK: atom.acq_rel.sys.global.add.u32
// CHECK: atom.acq_rel.gpu.global.add.u32
// CHECK: atom.release.gpu.global.cas.b32
func.func @orders(%p: !tile.ptr<i32>, %o: !tile.ptr<i32>) {
  %x = tile.range 0, 128 : tensor<128xi32, #row>
  %ps = tile.splat %p : !tile.ptr<i32> -> tensor<128x!tile.ptr<i32>, #row>
  %os = tile.splat %o : !tile.ptr<i32> -> tensor<128x!tile.ptr<i32>, #row>
  %a0 = tile.atomic_rmw add %ps, %x {sem = "relaxed", scope = "cta"} : tensor<128x!tile.ptr<i32>, #row>, tensor<128xi32, #row>
  %a1 = tile.atomic_rmw add %ps, %x {sem = "relaxed", scope = "gpu"} : tensor<128x!tile.ptr<i32>, #row>, tensor<128xi32, #row>
  %a2 = tile.atomic_rmw add %ps, %x {sem = "relaxed", scope = "sys"} : tensor<128x!tile.ptr<i32>, #row>, tensor<128xi32, #row>
  %a3 = tile.atomic_rmw add %ps, %x {sem = "acquire", scope = "cta"} : tensor<128x!tile.ptr<i32>, #row>, tensor<128xi32, #row>
  %a4 = tile.atomic_rmw add %ps, %x {sem = "acquire", scope = "gpu"} : tensor<128x!tile.ptr<i32>, #row>, tensor<128xi32, #row>
  %a5 = tile.atomic_rmw add %ps, %x {sem = "acquire", scope = "sys"} : tensor<128x!tile.ptr<i32>, #row>, tensor<128xi32, #row>
  %a6 = tile.atomic_rmw add %ps, %x {sem = "release", scope = "cta"} : tensor<128x!tile.ptr<i32>, #row>, tensor<128xi32, #row>
  %a7 = tile.atomic_rmw add %ps, %x {sem = "release", scope = "gpu"} : tensor<128x!tile.ptr<i32>, #row>, tensor<128xi32, #row>
  %a8 = tile.atomic_rmw add %ps, %x {sem = "release", scope = "sys"} : tensor<128x!tile.ptr<i32>, #row>, tensor<128xi32, #row>
  %a9 = tile.atomic_rmw add %ps, %x {sem = "acq_rel", scope = "cta"} : tensor<128x!tile.ptr<i32>, #row>, tensor<128xi32, #row>
  %a10 = tile.atomic_rmw add %ps, %x {sem = "acq_rel", scope = "gpu"} : tensor<128x!tile.ptr<i32>, #row>, tensor<128xi32, #row>
  %a11 = tile.atomic_rmw add %ps, %x {sem = "acq_rel", scope = "sys"} : tensor<128x!tile.ptr<i32>, #row>, tensor<128xi32, #row>
  %a12 = tile.atomic_rmw add %ps, %x : tensor<128x!tile.ptr<i32>, #row>, tensor<128xi32, #row>
  %a13 = tile.atomic_cas %ps, %x, %x {sem = "release", scope = "gpu"} : tensor<128x!tile.ptr<i32>, #row>, tensor<128xi32, #row>
  tile.store %os, %a0 : tensor<128x!tile.ptr<i32>, #row>, tensor<128xi32, #row>
  tile.store %os, %a1 : tensor<128x!tile.ptr<i32>, #row>, tensor<128xi32, #row>
  tile.store %os, %a2 : tensor<128x!tile.ptr<i32>, #row>, tensor<128xi32, #row>
  tile.store %os, %a3 : tensor<128x!tile.ptr<i32>, #row>, tensor<128xi32, #row>
  tile.store %os, %a4 : tensor<128x!tile.ptr<i32>, #row>, tensor<128xi32, #row>
  tile.store %os, %a5 : tensor<128x!tile.ptr<i32>, #row>, tensor<128xi32, #row>
  tile.store %os, %a6 : tensor<128x!tile.ptr<i32>, #row>, tensor<128xi32, #row>
  tile.store %os, %a7 : tensor<128x!tile.ptr<i32>, #row>, tensor<128xi32, #row>
  tile.store %os, %a8 : tensor<128x!tile.ptr<i32>, #row>, tensor<128xi32, #row>
  tile.store %os, %a9 : tensor<128x!tile.ptr<i32>, #row>, tensor<128xi32, #row>
  tile.store %os, %a10 : tensor<128x!tile.ptr<i32>, #row>, tensor<128xi32, #row>
  tile.store %os, %a11 : tensor<128x!tile.ptr<i32>, #row>, tensor<128xi32, #row>
  tile.store %os, %a12 : tensor<128x!tile.ptr<i32>, #row>, tensor<128xi32, #row>
  tile.store %os, %a13 : tensor<128x!tile.ptr<i32>, #row>, tensor<128xi32, #row>
  return
}

// CHECK-LABEL: .entry unread(
// CHECK: red.relaxed.cta.global.add.u32
// CHECK: red.relaxed.gpu.global.add.u32
// CHECK: red.relaxed.sys.global.add.u32
// CHECK: red.release.cta.global.add.u32
// CHECK: red.release.gpu.global.add.u32
// CHECK: red.release.sys.global.add.u32
// CHECK: red.{{relaxed|release}}.gpu.global.max.s32
// CHECK: red.{{relaxed|release}}.gpu.global.min.u32
// CHECK: red.{{relaxed|release}}.gpu.global.xor.b32
// CHECK-NOT: atom.
// CHECK: ret
func.func @unread(%p: !tile.ptr<i32>) {
  %x = tile.range 0, 128 : tensor<128xi32, #row>
  %ps = tile.splat %p : !tile.ptr<i32> -> tensor<128x!tile.ptr<i32>, #row>
  %relaxedcta = tile.atomic_rmw add %ps, %x {sem = "relaxed", scope = "cta"} : tensor<128x!tile.ptr<i32>, #row>, tensor<128xi32, #row>
  %relaxedgpu = tile.atomic_rmw add %ps, %x {sem = "relaxed", scope = "gpu"} : tensor<128x!tile.ptr<i32>, #row>, tensor<128xi32, #row>
  %relaxedsys = tile.atomic_rmw add %ps, %x {sem = "relaxed", scope = "sys"} : tensor<128x!tile.ptr<i32>, #row>, tensor<128xi32, #row>
  %releasecta = tile.atomic_rmw add %ps, %x {sem = "release", scope = "cta"} : tensor<128x!tile.ptr<i32>, #row>, tensor<128xi32, #row>
  %releasegpu = tile.atomic_rmw add %ps, %x {sem = "release", scope = "gpu"} : tensor<128x!tile.ptr<i32>, #row>, tensor<128xi32, #row>
  %releasesys = tile.atomic_rmw add %ps, %x {sem = "release", scope = "sys"} : tensor<128x!tile.ptr<i32>, #row>, tensor<128xi32, #row>
  %kmax = tile.atomic_rmw max %ps, %x {sem = "relaxed"} : tensor<128x!tile.ptr<i32>, #row>, tensor<128xi32, #row>
  %kumin = tile.atomic_rmw umin %ps, %x {sem = "relaxed"} : tensor<128x!tile.ptr<i32>, #row>, tensor<128xi32, #row>
  %kxor = tile.atomic_rmw xor %ps, %x {sem = "relaxed"} : tensor<128x!tile.ptr<i32>, #row>, tensor<128xi32, #row>
  return
}

// A bf16 is added in one instruction from sm_90 on; before, a loop.
// CHECK-LABEL: .entry sums(
// CHECK: {{red|atom}}.relaxed.gpu.global.add.f32
// CHECK: {{red|atom}}.relaxed.gpu.global.add.noftz.f16
// CHECK: atom.{{.*}}cas.b16
// CHECK: ret
// NEXT-LABEL: .entry sums(
// NEXT: {{red|atom}}.relaxed.gpu.global.add.noftz.bf16
// NEXT-NOT: cas
// NEXT: ret
func.func @sums(%p: !tile.ptr<f32>, %q: !tile.ptr<f16>, %r: !tile.ptr<bf16>, %v: f32, %h: f16, %b: bf16) {
  %x = tile.atomic_rmw fadd %p, %v {sem = "relaxed"} : !tile.ptr<f32>, f32
  %y = tile.atomic_rmw fadd %q, %h {sem = "relaxed"} : !tile.ptr<f16>, f16
  %z = tile.atomic_rmw fadd %r, %b {sem = "relaxed"} : !tile.ptr<bf16>, bf16
  return
}

// Of an element that many threads hold one adds; under a mask those that may.
// CHECK-LABEL: .entry replicated(
// CHECK: and.b32 %[[FREE:r[0-9]+]], %{{r[0-9]+}}, 80;
// CHECK: setp.eq.{{[a-z0-9]+}} %[[FIRST:p[0-9]+]], %[[FREE]], 0;
// CHECK: @%{{p[0-9]+}} red.relaxed.gpu.global.add.u32
// CHECK: ret
func.func @replicated(%p: !tile.ptr<i32>) {
  %x = tile.range 0, 32 : tensor<32xi32, #replicated>
  %ps = tile.splat %p : !tile.ptr<i32> -> tensor<32x!tile.ptr<i32>, #replicated>
  %pp = tile.addptr %ps, %x : tensor<32x!tile.ptr<i32>, #replicated>, tensor<32xi32, #replicated>
  %y = tile.atomic_rmw add %pp, %x {sem = "relaxed"} : tensor<32x!tile.ptr<i32>, #replicated>, tensor<32xi32, #replicated>
  return
}

// A scalar's old element reaches every thread through shared memory.
// CHECK-LABEL: .entry scalar(
// CHECK: @%{{p[0-9]+}} atom.acq_rel.gpu.global.add.u32
// CHECK: st.shared
// CHECK: bar.sync 0
// CHECK: ld.shared
// CHECK: ret
func.func @scalar(%p: !tile.ptr<i32>, %o: !tile.ptr<i32>, %one: i32) {
  %y = tile.atomic_rmw add %p, %one : !tile.ptr<i32>, i32
  %x = tile.range 0, 128 : tensor<128xi32, #row>
  %ys = tile.splat %y : i32 -> tensor<128xi32, #row>
  %z = arith.addi %x, %ys : tensor<128xi32, #row>
  %ps = tile.splat %o : !tile.ptr<i32> -> tensor<128x!tile.ptr<i32>, #row>
  tile.store %ps, %z : tensor<128x!tile.ptr<i32>, #row>, tensor<128xi32, #row>
  return
}

// What was loaded before an atomic is what was there before it, though only an
// arm of the `if` looks at it.
// CHECK-LABEL: .entry added(
// CHECK: ld.global.b32
// CHECK: {{red|atom}}.{{.*}}global
// CHECK: bra
// CHECK-NOT: ld.global
// CHECK: ret
func.func @added(%p: !tile.ptr<i32>, %o: !tile.ptr<i32>, %c: i1) {
  %x = tile.range 0, 128 : tensor<128xi32, #row>
  %ps = tile.splat %p : !tile.ptr<i32> -> tensor<128x!tile.ptr<i32>, #row>
  %pp = tile.addptr %ps, %x : tensor<128x!tile.ptr<i32>, #row>, tensor<128xi32, #row>
  %os = tile.splat %o : !tile.ptr<i32> -> tensor<128x!tile.ptr<i32>, #row>
  %oo = tile.addptr %os, %x : tensor<128x!tile.ptr<i32>, #row>, tensor<128xi32, #row>
  %old = tile.load %pp : tensor<128x!tile.ptr<i32>, #row>
  %y = tile.atomic_rmw add %pp, %x {sem = "relaxed"} : tensor<128x!tile.ptr<i32>, #row>, tensor<128xi32, #row>
  scf.if %c {
    tile.store %oo, %old : tensor<128x!tile.ptr<i32>, #row>, tensor<128xi32, #row>
  }
  return
}

// The same of one whose result is read.
// CHECK-LABEL: .entry swapped(
// CHECK: ld.global.b32
// CHECK: {{red|atom}}.{{.*}}global
// CHECK: bra
// CHECK-NOT: ld.global
// CHECK: ret
func.func @swapped(%p: !tile.ptr<i32>, %o: !tile.ptr<i32>, %c: i1) {
  %x = tile.range 0, 128 : tensor<128xi32, #row>
  %ps = tile.splat %p : !tile.ptr<i32> -> tensor<128x!tile.ptr<i32>, #row>
  %pp = tile.addptr %ps, %x : tensor<128x!tile.ptr<i32>, #row>, tensor<128xi32, #row>
  %os = tile.splat %o : !tile.ptr<i32> -> tensor<128x!tile.ptr<i32>, #row>
  %oo = tile.addptr %os, %x : tensor<128x!tile.ptr<i32>, #row>, tensor<128xi32, #row>
  %old = tile.load %pp : tensor<128x!tile.ptr<i32>, #row>
  %y = tile.atomic_rmw xchg %pp, %x {sem = "relaxed"} : tensor<128x!tile.ptr<i32>, #row>, tensor<128xi32, #row>
  scf.if %c {
    tile.store %oo, %old : tensor<128x!tile.ptr<i32>, #row>, tensor<128xi32, #row>
  }
  return
}
