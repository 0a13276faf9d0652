// RUN: tessera-opt %s -tessera-dot-instructions -tessera-coalesce=num-warps=4 -tessera-dot-layouts=num-warps=4 -tessera-assign-layouts=num-warps=4 -cse | FileCheck %s
// RUN: %docblock-layouts.md assign.before > %t.before
// RUN: tessera-opt %s | FileCheck %t.before
// RUN: %docblock-layouts.md assign.after > %t.after
// RUN: tessera-opt %s -tessera-dot-instructions -tessera-coalesce=num-warps=4 -tessera-dot-layouts=num-warps=4 -tessera-assign-layouts=num-warps=4 -canonicalize -cse | FileCheck %t.after

// Attention over blocks of keys. In the loop only the operands from memory
// change layout: P is the second dot's operand as it is, row statistics lie as reductions leave them, indices and pointers are
// computed where loads want them.
// CHECK-LABEL: @attention
// CHECK: tile.convert_layout {{.*}} tensor<64x64xbf16,
// CHECK: scf.for
// CHECK: [[K:%.*]] = tile.load
// CHECK: [[T:%.*]] = tile.trans [[K]]
// CHECK: tile.convert_layout [[T]]
// CHECK: tile.dot
// CHECK-NOT: tile.convert_layout
// CHECK: tile.reduce{{ +}}max
// CHECK-NOT: tile.convert_layout
// CHECK: tile.reduce{{ +}}sum
// CHECK: [[V:%.*]] = tile.load
// CHECK: [[P:%.*]] = tile.convert {{.*}} rtne
// CHECK: [[VB:%.*]] = tile.convert_layout [[V]]
// CHECK-NEXT: tile.dot [[P]], [[VB]]
// CHECK-NOT: tile.convert_layout
// CHECK: scf.yield
// The result leaves in 16-byte stores, converted once and as bf16.
// CHECK: [[O:%.*]] = tile.convert {{.*}} rtne
// CHECK: [[OS:%.*]] = tile.convert_layout [[O]]
// CHECK-NEXT: tile.store {{.*}}, [[OS]]
// CHECK-NOT: tile.convert_layout
// CHECK: tile.store
func.func @attention(%Q: !tile.ptr<bf16> {tile.divisibility = 16 : i32}, %K: !tile.ptr<bf16> {tile.divisibility = 16 : i32}, %V: !tile.ptr<bf16> {tile.divisibility = 16 : i32}, %O: !tile.ptr<bf16> {tile.divisibility = 16 : i32}, %L: !tile.ptr<f32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %r = tile.range 0, 64 : tensor<64xi32>
  %d = arith.constant dense<64> : tensor<64xi32>
  %rd = arith.muli %r, %d : tensor<64xi32>
  %a = tile.expand_dims %rd, 1 : tensor<64xi32> -> tensor<64x1xi32>
  %b = tile.expand_dims %r, 0 : tensor<64xi32> -> tensor<1x64xi32>
  %ab = tile.broadcast %a : tensor<64x1xi32> -> tensor<64x64xi32>
  %bb = tile.broadcast %b : tensor<1x64xi32> -> tensor<64x64xi32>
  %o = arith.addi %ab, %bb : tensor<64x64xi32>
  %qs = tile.splat %Q : !tile.ptr<bf16> -> tensor<64x64x!tile.ptr<bf16>>
  %qp = tile.addptr %qs, %o : tensor<64x64x!tile.ptr<bf16>>, tensor<64x64xi32>
  %q = tile.load %qp : tensor<64x64x!tile.ptr<bf16>>
  %ks = tile.splat %K : !tile.ptr<bf16> -> tensor<64x64x!tile.ptr<bf16>>
  %kp = tile.addptr %ks, %o : tensor<64x64x!tile.ptr<bf16>>, tensor<64x64xi32>
  %vs = tile.splat %V : !tile.ptr<bf16> -> tensor<64x64x!tile.ptr<bf16>>
  %vp = tile.addptr %vs, %o : tensor<64x64x!tile.ptr<bf16>>, tensor<64x64xi32>
  %z = arith.constant dense<0.0> : tensor<64x64xf32>
  %m0 = arith.constant dense<0xFF800000> : tensor<64xf32>
  %l0 = arith.constant dense<0.0> : tensor<64xf32>
  %step = arith.constant dense<4096> : tensor<64x64xi32>
  %w:5 = scf.for %i = %c0 to %n step %c64 iter_args(%acc = %z, %m = %m0, %l = %l0, %kq = %kp, %vq = %vp) -> (tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64x64x!tile.ptr<bf16>>, tensor<64x64x!tile.ptr<bf16>>) : i32 {
    %k = tile.load %kq : tensor<64x64x!tile.ptr<bf16>>
    %kt = tile.trans %k [1, 0] : tensor<64x64xbf16> -> tensor<64x64xbf16>
    %s = tile.dot %q, %kt, %z tf32 : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    %mx = tile.reduce max %s, 1 : tensor<64x64xf32> -> tensor<64xf32>
    %mn = arith.maxnumf %m, %mx : tensor<64xf32>
    %me = tile.expand_dims %mn, 1 : tensor<64xf32> -> tensor<64x1xf32>
    %mb = tile.broadcast %me : tensor<64x1xf32> -> tensor<64x64xf32>
    %sm = arith.subf %s, %mb : tensor<64x64xf32>
    %p = math.exp2 %sm : tensor<64x64xf32>
    %al = arith.subf %m, %mn : tensor<64xf32>
    %ae = math.exp2 %al : tensor<64xf32>
    %ps = tile.reduce sum %p, 1 : tensor<64x64xf32> -> tensor<64xf32>
    %la = arith.mulf %l, %ae : tensor<64xf32>
    %ln = arith.addf %la, %ps : tensor<64xf32>
    %v = tile.load %vq : tensor<64x64x!tile.ptr<bf16>>
    %ph = tile.convert %p rtne : tensor<64x64xf32> -> tensor<64x64xbf16>
    %ax = tile.expand_dims %ae, 1 : tensor<64xf32> -> tensor<64x1xf32>
    %axb = tile.broadcast %ax : tensor<64x1xf32> -> tensor<64x64xf32>
    %acs = arith.mulf %acc, %axb : tensor<64x64xf32>
    %an = tile.dot %ph, %v, %acs tf32 : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    %kn = tile.addptr %kq, %step : tensor<64x64x!tile.ptr<bf16>>, tensor<64x64xi32>
    %vn = tile.addptr %vq, %step : tensor<64x64x!tile.ptr<bf16>>, tensor<64x64xi32>
    scf.yield %an, %mn, %ln, %kn, %vn : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64x64x!tile.ptr<bf16>>, tensor<64x64x!tile.ptr<bf16>>
  }
  %le = tile.expand_dims %w#2, 1 : tensor<64xf32> -> tensor<64x1xf32>
  %lb = tile.broadcast %le : tensor<64x1xf32> -> tensor<64x64xf32>
  %of = arith.divf %w#0, %lb : tensor<64x64xf32>
  %oh = tile.convert %of rtne : tensor<64x64xf32> -> tensor<64x64xbf16>
  %os = tile.splat %O : !tile.ptr<bf16> -> tensor<64x64x!tile.ptr<bf16>>
  %op = tile.addptr %os, %o : tensor<64x64x!tile.ptr<bf16>>, tensor<64x64xi32>
  tile.store %op, %oh : tensor<64x64x!tile.ptr<bf16>>, tensor<64x64xbf16>
  %ls = tile.splat %L : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>>
  %lp = tile.addptr %ls, %r : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
  tile.store %lp, %w#1 : tensor<64x!tile.ptr<f32>>, tensor<64xf32>
  return
}

// Every warp needs all of the weight. All warps together load it, and it goes through shared memory; nothing
// else converts.
// CHECK-LABEL: @weights
// CHECK: [[W:%.*]] = tile.load {{.*}} : tensor<128x!tile.ptr<f32>
// CHECK: tile.convert_layout [[W]]
// CHECK-NOT: tile.convert_layout
// CHECK: return
func.func @weights(%X: !tile.ptr<f32> {tile.divisibility = 16 : i32}, %W: !tile.ptr<f32> {tile.divisibility = 16 : i32}) {
  %r = tile.range 0, 16 : tensor<16xi32>
  %c = tile.range 0, 128 : tensor<128xi32>
  %d = arith.constant dense<128> : tensor<16xi32>
  %rd = arith.muli %r, %d : tensor<16xi32>
  %a = tile.expand_dims %rd, 1 : tensor<16xi32> -> tensor<16x1xi32>
  %b = tile.expand_dims %c, 0 : tensor<128xi32> -> tensor<1x128xi32>
  %ab = tile.broadcast %a : tensor<16x1xi32> -> tensor<16x128xi32>
  %bb = tile.broadcast %b : tensor<1x128xi32> -> tensor<16x128xi32>
  %o = arith.addi %ab, %bb : tensor<16x128xi32>
  %ps = tile.splat %X : !tile.ptr<f32> -> tensor<16x128x!tile.ptr<f32>>
  %p = tile.addptr %ps, %o : tensor<16x128x!tile.ptr<f32>>, tensor<16x128xi32>
  %x = tile.load %p : tensor<16x128x!tile.ptr<f32>>
  %ws = tile.splat %W : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
  %wp = tile.addptr %ws, %c : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  %w = tile.load %wp : tensor<128x!tile.ptr<f32>>
  %we = tile.expand_dims %w, 0 : tensor<128xf32> -> tensor<1x128xf32>
  %wb = tile.broadcast %we : tensor<1x128xf32> -> tensor<16x128xf32>
  %y = arith.mulf %x, %wb : tensor<16x128xf32>
  %s = tile.reduce sum %y, 1 : tensor<16x128xf32> -> tensor<16xf32>
  %se = tile.expand_dims %s, 1 : tensor<16xf32> -> tensor<16x1xf32>
  %sb = tile.broadcast %se : tensor<16x1xf32> -> tensor<16x128xf32>
  %z = arith.divf %y, %sb : tensor<16x128xf32>
  tile.store %p, %z : tensor<16x128x!tile.ptr<f32>>, tensor<16x128xf32>
  return
}

// Sums over heads of an accumulator's rows, of which no lane needs more than its share: not stored eight times, not sorted eight times. What
// lanes already hold as replicas a sort takes in shares, too.
// CHECK-LABEL: @shares
// CHECK: [[S:%.*]] = tile.reduce{{ +}}sum {{.*}} -> tensor<32xf32, [[SHARES:#linear[0-9]*]]>
// CHECK-NOT: tile.convert_layout
// CHECK: tile.sort {{.*}} : tensor<32xf32, [[SHARES]]>
// CHECK-NOT: tile.convert_layout
// CHECK: tile.store {{.*}} tensor<32xf32, [[SHARES]]>
// CHECK: return
func.func @shares(%A: !tile.ptr<bf16>, %B: !tile.ptr<bf16>, %O: !tile.ptr<f32>) {
  %z = arith.constant dense<0.0> : tensor<16x32xf32>
  %as = tile.splat %A : !tile.ptr<bf16> -> tensor<16x16x!tile.ptr<bf16>>
  %a = tile.load %as : tensor<16x16x!tile.ptr<bf16>>
  %bs = tile.splat %B : !tile.ptr<bf16> -> tensor<16x32x!tile.ptr<bf16>>
  %b = tile.load %bs : tensor<16x32x!tile.ptr<bf16>>
  %x = tile.dot %a, %b, %z tf32 : tensor<16x16xbf16>, tensor<16x32xbf16> -> tensor<16x32xf32>
  %s = tile.reduce sum %x, 0 : tensor<16x32xf32> -> tensor<32xf32>
  %t = arith.addf %s, %s : tensor<32xf32>
  %u = tile.sort %t : tensor<32xf32>
  %i = tile.range 0, 32 : tensor<32xi32>
  %os = tile.splat %O : !tile.ptr<f32> -> tensor<32x!tile.ptr<f32>>
  %o = tile.addptr %os, %i : tensor<32x!tile.ptr<f32>>, tensor<32xi32>
  tile.store %o, %u : tensor<32x!tile.ptr<f32>>, tensor<32xf32>
  return
}

// No operation loads: the halves get a layout although those of the plain
// layout of the unsplit tensor are in different lanes.
// CHECK-LABEL: @split_numbers
// CHECK: tile.split
// CHECK-NOT: tile.convert_layout
// CHECK: return
func.func @split_numbers(%p: !tile.ptr<i32>) {
  %r = tile.range 0, 8 : tensor<8xi32>
  %m = tile.reshape %r : tensor<8xi32> -> tensor<4x2xi32>
  %a, %b = tile.split %m : tensor<4x2xi32> -> tensor<4xi32>
  %o = tile.range 0, 4 : tensor<4xi32>
  %s = tile.splat %p : !tile.ptr<i32> -> tensor<4x!tile.ptr<i32>>
  %q = tile.addptr %s, %o : tensor<4x!tile.ptr<i32>>, tensor<4xi32>
  tile.store %q, %b : tensor<4x!tile.ptr<i32>>, tensor<4xi32>
  return
}
