// What is loaded, changed and stored element by element where it came from needs no buffer; what an earlier element could overwrite does.
// SPDX-License-Identifier: Apache-2.0
// RUN: tessera-opt %s --split-input-file --tessera-lower-to-loops=target=cpu:x86-64-v3:0000 | FileCheck %s

// x[i] += 1: one loop, a vector in and out.
// CHECK: tessera.scratch_bytes = 0
// CHECK: llvm.func @tessera_entry({{.*}}%arg3: !llvm.ptr {{.*}}llvm.noalias
// CHECK: scf.for
// CHECK: llvm.load {{.*}} vector<8xf32>
// CHECK: llvm.store
// CHECK-NOT: llvm.store
// CHECK: llvm.return
func.func @update(%x: !tile.ptr<f32>) {
  %one = arith.constant dense<1.000000e+00> : tensor<64xf32>
  %r = tile.range 0, 64 : tensor<64xi32>
  %s = tile.splat %x : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>>
  %p = tile.addptr %s, %r : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
  %v = tile.load %p : tensor<64x!tile.ptr<f32>>
  %w = arith.addf %v, %one : tensor<64xf32>
  tile.store %p, %w : tensor<64x!tile.ptr<f32>>, tensor<64xf32>
  return
}

// -----

// x[i] = x[63 - i]: everything is loaded before anything is stored.
// CHECK: tessera.scratch_bytes = 256
// CHECK: scf.for
// CHECK: scf.for
// CHECK: llvm.return
func.func @reverse(%x: !tile.ptr<f32>) {
  %last = arith.constant dense<63> : tensor<64xi32>
  %r = tile.range 0, 64 : tensor<64xi32>
  %b = arith.subi %last, %r : tensor<64xi32>
  %s = tile.splat %x : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>>
  %p = tile.addptr %s, %r : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
  %q = tile.addptr %s, %b : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
  %v = tile.load %q : tensor<64x!tile.ptr<f32>>
  tile.store %p, %v : tensor<64x!tile.ptr<f32>>, tensor<64xf32>
  return
}
