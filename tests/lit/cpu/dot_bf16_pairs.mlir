// With avx512bf16 a dot of bf16 takes two neighbours along K at once: an i32 of the left operand against a vector of pairs of the right one.
// SPDX-License-Identifier: Apache-2.0
// RUN: tessera-opt %s --tessera-lower-to-loops=target=cpu:x86-64-v4:007f | FileCheck %s
// RUN: tessera-opt %s --tessera-lower-to-loops=target=cpu:x86-64-v4:003f | FileCheck %s --check-prefix=WIDE
// RUN: tessera-opt %s --tessera-lower-to-loops=target=cpu:x86-64-v3:0000 | FileCheck %s --check-prefix=WIDE

// The left operand (512 bytes) and the right one (1024) are half as large as in fp32; the accumulator has 2048.
// CHECK: tessera.scratch_bytes = 3584 : i64
// CHECK: arith.ori {{.*}} : vector<16xi32>
// CHECK: "llvm.x86.avx512bf16.dpbf16ps.512"({{.*}}) : (vector<16xf32>, vector<32xbf16>, vector<32xbf16>) -> vector<16xf32>
// CHECK-NOT: llvm.intr.fma
// WIDE: tessera.scratch_bytes = 5120 : i64
// WIDE-NOT: dpbf16ps
// WIDE: llvm.intr.fma
func.func @pairs(%arg0: !tile.ptr<bf16>, %arg1: !tile.ptr<bf16>, %arg2: !tile.ptr<f32>) {
  %zero = arith.constant dense<0.000000e+00> : tensor<16x32xf32>
  %k16 = arith.constant dense<16> : tensor<16x1xi32>
  %k32 = arith.constant dense<32> : tensor<16x1xi32>
  %i16 = tile.range 0, 16 : tensor<16xi32>
  %i32 = tile.range 0, 32 : tensor<32xi32>
  %row = tile.expand_dims %i16, 1 : tensor<16xi32> -> tensor<16x1xi32>
  %row16 = arith.muli %row, %k16 : tensor<16x1xi32>
  %row32 = arith.muli %row, %k32 : tensor<16x1xi32>
  %c16 = tile.expand_dims %i16, 0 : tensor<16xi32> -> tensor<1x16xi32>
  %c32 = tile.expand_dims %i32, 0 : tensor<32xi32> -> tensor<1x32xi32>
  %ra = tile.broadcast %row16 : tensor<16x1xi32> -> tensor<16x16xi32>
  %ca = tile.broadcast %c16 : tensor<1x16xi32> -> tensor<16x16xi32>
  %oa = arith.addi %ra, %ca : tensor<16x16xi32>
  %rb = tile.broadcast %row32 : tensor<16x1xi32> -> tensor<16x32xi32>
  %cb = tile.broadcast %c32 : tensor<1x32xi32> -> tensor<16x32xi32>
  %ob = arith.addi %rb, %cb : tensor<16x32xi32>
  %as = tile.splat %arg0 : !tile.ptr<bf16> -> tensor<16x16x!tile.ptr<bf16>>
  %ap = tile.addptr %as, %oa : tensor<16x16x!tile.ptr<bf16>>, tensor<16x16xi32>
  %bs = tile.splat %arg1 : !tile.ptr<bf16> -> tensor<16x32x!tile.ptr<bf16>>
  %bp = tile.addptr %bs, %ob : tensor<16x32x!tile.ptr<bf16>>, tensor<16x32xi32>
  %cs = tile.splat %arg2 : !tile.ptr<f32> -> tensor<16x32x!tile.ptr<f32>>
  %cp = tile.addptr %cs, %ob : tensor<16x32x!tile.ptr<f32>>, tensor<16x32xi32>
  %a = tile.load %ap : tensor<16x16x!tile.ptr<bf16>>
  %b = tile.load %bp : tensor<16x32x!tile.ptr<bf16>>
  %d = tile.dot %a, %b, %zero ieee : tensor<16x16xbf16>, tensor<16x32xbf16> -> tensor<16x32xf32>
  tile.store %cp, %d : tensor<16x32x!tile.ptr<f32>>, tensor<16x32xf32>
  return
}
