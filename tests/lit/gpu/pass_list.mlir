// `tessera-worker --pipeline sm_80` lists the passes that kernels go through:
// tessera-opt with that text makes what the compiler makes.
// REQUIRES: tessera-worker
// RUN: tessera-worker --pipeline sm_80 > %t.list
// RUN: FileCheck %s --input-file=%t.list
// RUN: sed -n 's/^tile: \(.*\)$/"--pass-pipeline=\1"/p' %t.list > %t.tile
// RUN: sed -n 's/^layout: \(.*\)$/"--pass-pipeline=\1"/p' %t.list > %t.layout
// RUN: tessera-opt %s @%t.tile | tessera-opt @%t.layout > %t.listed
// RUN: tessera-lower %s --emit=layout | tessera-opt > %t.made
// RUN: diff %t.listed %t.made
// RUN: not tessera-worker --pipeline sm_81 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// CHECK: tile: builtin.module(canonicalize
// CHECK-NEXT: layout: builtin.module({{.*}}tessera-coalesce{{.*}},tessera-dot-layouts{{.*}},tessera-assign-layouts
// CHECK-SAME: tessera-vector-widths
// CHECK-SAME: tessera-pipeline-loops
// CHECK-SAME: tessera-promote-operands
// CHECK-SAME: tessera-async-waits,tessera-allocate-shared{{.*}},tessera-memory-barriers
// CHECK: lower: functions, LLVM IR
// CHECK: emit: NVPTX for sm_80
// UNKNOWN: `sm_81` is not a GPU target

func.func @matmul(%A: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %B: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %C: !tile.ptr<f32> {tile.divisibility = 16 : i32}, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = tile.range 0, 64 : tensor<64xi32>
  %k = arith.constant dense<64> : tensor<64xi32>
  %rk = arith.muli %r, %k : tensor<64xi32>
  %a = tile.expand_dims %rk, 1 : tensor<64xi32> -> tensor<64x1xi32>
  %b = tile.expand_dims %r, 0 : tensor<64xi32> -> tensor<1x64xi32>
  %ab = tile.broadcast %a : tensor<64x1xi32> -> tensor<64x64xi32>
  %bb = tile.broadcast %b : tensor<1x64xi32> -> tensor<64x64xi32>
  %o = arith.addi %ab, %bb : tensor<64x64xi32>
  %as = tile.splat %A : !tile.ptr<f16> -> tensor<64x64x!tile.ptr<f16>>
  %ap = tile.addptr %as, %o : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
  %bs = tile.splat %B : !tile.ptr<f16> -> tensor<64x64x!tile.ptr<f16>>
  %bp = tile.addptr %bs, %o : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
  %step = arith.constant dense<4096> : tensor<64x64xi32>
  %z = arith.constant dense<0.0> : tensor<64x64xf32>
  %w:3 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %z, %p = %ap, %q = %bp) -> (tensor<64x64xf32>, tensor<64x64x!tile.ptr<f16>>, tensor<64x64x!tile.ptr<f16>>) : i32 {
    %x = tile.load %p : tensor<64x64x!tile.ptr<f16>>
    %y = tile.load %q : tensor<64x64x!tile.ptr<f16>>
    %d = tile.dot %x, %y, %acc tf32 : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    %pn = tile.addptr %p, %step : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
    %qn = tile.addptr %q, %step : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
    scf.yield %d, %pn, %qn : tensor<64x64xf32>, tensor<64x64x!tile.ptr<f16>>, tensor<64x64x!tile.ptr<f16>>
  }
  %cs = tile.splat %C : !tile.ptr<f32> -> tensor<64x64x!tile.ptr<f32>>
  %cp = tile.addptr %cs, %o : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
  tile.store %cp, %w#0 : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xf32>
  return
}
