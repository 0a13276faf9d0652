// Dots that miss the tensor cores: location, types, reason, what to do.
// RUN: tessera-lower %s --remarks --emit=layout 2>&1 >%t.out | FileCheck %s
// RUN: tessera-lower %s --target=sm_90 --remarks --emit=layout 2>&1 >%t.out | FileCheck %s

// CHECK-NOT: remark
// CHECK: fma.py:12:9: remark: the dot of fp32[32, 32] and fp32[32, 32] runs as multiply-adds, not on tensor cores: the precision is ieee{{.*}}. HINT: write input_precision="tf32x3"
// CHECK-NOT: remark
// CHECK: helper.py:3:12: remark: {{.*}}: the precision is ieee{{.*}}; called from fma.py:20:5
// CHECK-NOT: remark
func.func @precisions(%f: f32, %o: !tile.ptr<f32>) {
  %z = arith.constant dense<0.0> : tensor<32x32xf32>
  %a = tile.splat %f : f32 -> tensor<32x32xf32>
  %x0 = tile.dot %a, %a, %z tf32 : tensor<32x32xf32>, tensor<32x32xf32> -> tensor<32x32xf32> loc("fma.py":10:9)
  %x1 = tile.dot %a, %x0, %z tf32x3 : tensor<32x32xf32>, tensor<32x32xf32> -> tensor<32x32xf32> loc("fma.py":11:9)
  %x2 = tile.dot %a, %x1, %z ieee : tensor<32x32xf32>, tensor<32x32xf32> -> tensor<32x32xf32> loc("fma.py":12:9)
  %x3 = tile.dot %a, %x2, %z ieee : tensor<32x32xf32>, tensor<32x32xf32> -> tensor<32x32xf32> loc(callsite("/some/where/helper.py":3:12 at "/some/where/fma.py":20:5))
  %os = tile.splat %o : !tile.ptr<f32> -> tensor<32x32x!tile.ptr<f32>>
  tile.store %os, %x3 : tensor<32x32x!tile.ptr<f32>>, tensor<32x32xf32>
  return
}

// K is what is too short; rows and columns are not.
// CHECK: short.py:2:1: remark: the dot of fp16[32, 8] and fp16[8, 32] {{.*}}: it sums over 8, an instruction for fp16 over 16. HINT: make the columns of the first operand at least 16;
// CHECK: short.py:4:1: remark: the dot of int8[32, 16] and int8[16, 32] {{.*}}: it sums over 16, an instruction for int8 over 32.
// CHECK-NOT: remark
func.func @shapes(%h: f16, %c: i8, %o: !tile.ptr<f32>, %oi: !tile.ptr<i32>) {
  %z = arith.constant dense<0.0> : tensor<32x32xf32>
  %z4 = arith.constant dense<0.0> : tensor<4x4xf32>
  %zi = arith.constant dense<0> : tensor<32x32xi32>
  %a = tile.splat %h : f16 -> tensor<32x8xf16>
  %b = tile.splat %h : f16 -> tensor<8x32xf16>
  %x = tile.dot %a, %b, %z tf32 : tensor<32x8xf16>, tensor<8x32xf16> -> tensor<32x32xf32> loc("short.py":2:1)
  %a4 = tile.splat %h : f16 -> tensor<4x16xf16>
  %b4 = tile.splat %h : f16 -> tensor<16x4xf16>
  %x4 = tile.dot %a4, %b4, %z4 tf32 : tensor<4x16xf16>, tensor<16x4xf16> -> tensor<4x4xf32> loc("short.py":3:1)
  %ac = tile.splat %c : i8 -> tensor<32x16xi8>
  %bc = tile.splat %c : i8 -> tensor<16x32xi8>
  %xi = tile.dot %ac, %bc, %zi tf32 : tensor<32x16xi8>, tensor<16x32xi8> -> tensor<32x32xi32> loc("short.py":4:1)
  %os = tile.splat %o : !tile.ptr<f32> -> tensor<32x32x!tile.ptr<f32>>
  tile.store %os, %x : tensor<32x32x!tile.ptr<f32>>, tensor<32x32xf32>
  %o4 = tile.splat %o : !tile.ptr<f32> -> tensor<4x4x!tile.ptr<f32>>
  tile.store %o4, %x4 : tensor<4x4x!tile.ptr<f32>>, tensor<4x4xf32>
  %ois = tile.splat %oi : !tile.ptr<i32> -> tensor<32x32x!tile.ptr<i32>>
  tile.store %ois, %xi : tensor<32x32x!tile.ptr<i32>>, tensor<32x32xi32>
  return
}
