// tile.dot: tensor cores, multiply-adds, operands from shared memory.
// RUN: tessera-lower %s --laid-out --num-warps=1 | FileCheck %s

#acc = #tile.linear<16x8, register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
// kWidth 2: two neighbours along K in a register.
#a16 = #tile.linear<16x16, register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
#b16 = #tile.linear<16x8, register = [[1, 0], [8, 0]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = []>
#a32 = #tile.linear<16x8, register = [[8, 0], [0, 4]], lane = [[0, 1], [0, 2], [1, 0], [2, 0], [4, 0]], warp = []>
#b32 = #tile.linear<8x8, register = [[4, 0]], lane = [[1, 0], [2, 0], [0, 1], [0, 2], [0, 4]], warp = []>
#a8 = #tile.linear<16x32, register = [[0, 1], [0, 2], [8, 0], [0, 16]], lane = [[0, 4], [0, 8], [1, 0], [2, 0], [4, 0]], warp = []>
#b8 = #tile.linear<32x8, register = [[1, 0], [2, 0], [16, 0]], lane = [[4, 0], [8, 0], [0, 1], [0, 2], [0, 4]], warp = []>
#acc8 = #tile.linear<8x8, register = [[0, 1]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
#a64 = #tile.linear<8x4, register = [], lane = [[0, 1], [0, 2], [1, 0], [2, 0], [4, 0]], warp = []>
#b64 = #tile.linear<4x8, register = [], lane = [[1, 0], [2, 0], [0, 1], [0, 2], [0, 4]], warp = []>

// CHECK-LABEL: .entry types(
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// CHECK: mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32
// CHECK: mma.sync.aligned.m16n8k32.row.col{{.*}}.s32.s8.s8.s32
// CHECK: mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64
// CHECK-NOT: {{mma|fma}}
// CHECK: ret
func.func @types(%h: f16, %b: bf16, %f: f32, %c: i8, %d: f64, %o: !tile.ptr<f32>, %oi: !tile.ptr<i32>, %od: !tile.ptr<f64>) {
  %z = arith.constant dense<0.0> : tensor<16x8xf32, #acc>
  %ha = tile.splat %h : f16 -> tensor<16x16xf16, #a16>
  %hb = tile.splat %h : f16 -> tensor<16x8xf16, #b16>
  %x0 = tile.dot %ha, %hb, %z ieee : tensor<16x16xf16, #a16>, tensor<16x8xf16, #b16> -> tensor<16x8xf32, #acc>
  %ba = tile.splat %b : bf16 -> tensor<16x16xbf16, #a16>
  %bb = tile.splat %b : bf16 -> tensor<16x8xbf16, #b16>
  %x1 = tile.dot %ba, %bb, %x0 ieee : tensor<16x16xbf16, #a16>, tensor<16x8xbf16, #b16> -> tensor<16x8xf32, #acc>
  %fa = tile.splat %f : f32 -> tensor<16x8xf32, #a32>
  %fb = tile.splat %f : f32 -> tensor<8x8xf32, #b32>
  %x2 = tile.dot %fa, %fb, %x1 tf32 : tensor<16x8xf32, #a32>, tensor<8x8xf32, #b32> -> tensor<16x8xf32, #acc>
  %zi = arith.constant dense<0> : tensor<16x8xi32, #acc>
  %ca = tile.splat %c : i8 -> tensor<16x32xi8, #a8>
  %cb = tile.splat %c : i8 -> tensor<32x8xi8, #b8>
  %x3 = tile.dot %ca, %cb, %zi ieee : tensor<16x32xi8, #a8>, tensor<32x8xi8, #b8> -> tensor<16x8xi32, #acc>
  %zd = arith.constant dense<0.0> : tensor<8x8xf64, #acc8>
  %da = tile.splat %d : f64 -> tensor<8x4xf64, #a64>
  %db = tile.splat %d : f64 -> tensor<4x8xf64, #b64>
  %x4 = tile.dot %da, %db, %zd ieee : tensor<8x4xf64, #a64>, tensor<4x8xf64, #b64> -> tensor<8x8xf64, #acc8>
  %os = tile.splat %o : !tile.ptr<f32> -> tensor<16x8x!tile.ptr<f32>, #acc>
  tile.store %os, %x2 : tensor<16x8x!tile.ptr<f32>, #acc>, tensor<16x8xf32, #acc>
  %ois = tile.splat %oi : !tile.ptr<i32> -> tensor<16x8x!tile.ptr<i32>, #acc>
  tile.store %ois, %x3 : tensor<16x8x!tile.ptr<i32>, #acc>, tensor<16x8xi32, #acc>
  %ods = tile.splat %od : !tile.ptr<f64> -> tensor<8x8x!tile.ptr<f64>, #acc8>
  tile.store %ods, %x4 : tensor<8x8x!tile.ptr<f64>, #acc8>, tensor<8x8xf64, #acc8>
  return
}

// f32 by three products of tf32 terms; ieee by multiply-adds.
// CHECK-LABEL: .entry precisions(
// CHECK: cvt.rna.tf32.f32
// CHECK-COUNT-3: mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32
// CHECK-NOT: mma
// CHECK: ret
func.func @precisions(%f: f32, %o: !tile.ptr<f32>) {
  %z = arith.constant dense<0.0> : tensor<16x8xf32, #acc>
  %fa = tile.splat %f : f32 -> tensor<16x8xf32, #a32>
  %fb = tile.splat %f : f32 -> tensor<8x8xf32, #b32>
  %x2 = tile.dot %fa, %fb, %z tf32x3 : tensor<16x8xf32, #a32>, tensor<8x8xf32, #b32> -> tensor<16x8xf32, #acc>
  %os = tile.splat %o : !tile.ptr<f32> -> tensor<16x8x!tile.ptr<f32>, #acc>
  tile.store %os, %x2 : tensor<16x8x!tile.ptr<f32>, #acc>, tensor<16x8xf32, #acc>
  return
}

#rows = #tile.linear<8x4, register = [[0, 1], [0, 2]], lane = [[1, 0], [2, 0], [4, 0], [0, 0], [0, 0]], warp = []>
#own = #tile.linear<8x8, register = [[0, 4]], lane = [[1, 0], [2, 0], [4, 0], [0, 1], [0, 2]], warp = []>
#columns4 = #tile.linear<4x8, register = [[1, 0], [2, 0], [0, 4]], lane = [[0, 0], [0, 0], [0, 0], [0, 1], [0, 2]], warp = []>

// ieee: each thread multiplies its rows and columns, in the order of K.
// CHECK-LABEL: .entry ieee(
// CHECK-NOT: mma
// CHECK-COUNT-8: fma.rn.f32
// CHECK-NOT: {{fma|mma|shared}}
// CHECK: ret
func.func @ieee(%f: f32, %o: !tile.ptr<f32>) {
  %i = tile.range 0, 32 : tensor<32xi32, #tile.linear<32, register = [[1], [2]], lane = [[4], [8], [16], [0], [0]], warp = []>>
  %fi = arith.sitofp %i : tensor<32xi32, #tile.linear<32, register = [[1], [2]], lane = [[4], [8], [16], [0], [0]], warp = []>> to tensor<32xf32, #tile.linear<32, register = [[1], [2]], lane = [[4], [8], [16], [0], [0]], warp = []>>
  %a = tile.reshape %fi : tensor<32xf32, #tile.linear<32, register = [[1], [2]], lane = [[4], [8], [16], [0], [0]], warp = []>> -> tensor<8x4xf32, #rows>
  %j = tile.range 0, 32 : tensor<32xi32, #tile.linear<32, register = [[8], [16], [4]], lane = [[0], [0], [0], [1], [2]], warp = []>>
  %fj = arith.sitofp %j : tensor<32xi32, #tile.linear<32, register = [[8], [16], [4]], lane = [[0], [0], [0], [1], [2]], warp = []>> to tensor<32xf32, #tile.linear<32, register = [[8], [16], [4]], lane = [[0], [0], [0], [1], [2]], warp = []>>
  %b = tile.reshape %fj : tensor<32xf32, #tile.linear<32, register = [[8], [16], [4]], lane = [[0], [0], [0], [1], [2]], warp = []>> -> tensor<4x8xf32, #columns4>
  %z = tile.splat %f : f32 -> tensor<8x8xf32, #own>
  %x = tile.dot %a, %b, %z ieee : tensor<8x4xf32, #rows>, tensor<4x8xf32, #columns4> -> tensor<8x8xf32, #own>
  %k = tile.range 0, 64 : tensor<64xi32, #tile.linear<64, register = [[4]], lane = [[8], [16], [32], [1], [2]], warp = []>>
  %at = tile.reshape %k : tensor<64xi32, #tile.linear<64, register = [[4]], lane = [[8], [16], [32], [1], [2]], warp = []>> -> tensor<8x8xi32, #own>
  %ops = tile.splat %o : !tile.ptr<f32> -> tensor<8x8x!tile.ptr<f32>, #own>
  %os = tile.addptr %ops, %at : tensor<8x8x!tile.ptr<f32>, #own>, tensor<8x8xi32, #own>
  tile.store %os, %x : tensor<8x8x!tile.ptr<f32>, #own>, tensor<8x8xf32, #own>
  return
}
