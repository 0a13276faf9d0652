// RUN: tessera-opt %s -split-input-file -tessera-rewrite-math | FileCheck %s

// No function of libm is left; what has an instruction stays.
// CHECK-LABEL: func.func @exponential
// CHECK-NOT: math.exp
// CHECK: math.fma {{.*}} : vector<8xf32>
// CHECK: arith.bitcast {{.*}} : vector<8xi32> to vector<8xf32>
// CHECK-NOT: math.exp
func.func @exponential(%x: vector<8xf32>) -> vector<8xf32> {
  %y = math.exp %x : vector<8xf32>
  return %y : vector<8xf32>
}

// -----

// CHECK-LABEL: func.func @direct
// CHECK-NEXT: math.sqrt
// CHECK-NEXT: math.floor
// CHECK-NEXT: math.fma
// CHECK-NEXT: return
func.func @direct(%x: f32) -> f32 {
  %a = math.sqrt %x : f32
  %b = math.floor %a : f32
  %c = math.fma %a, %b, %x : f32
  return %c : f32
}

// -----

// IEEE square root and division, not an approximation.
// CHECK-LABEL: func.func @reciprocal_root
// CHECK: %[[ROOT:.*]] = math.sqrt %{{.*}} : vector<4xf64>
// CHECK: arith.divf %{{.*}}, %[[ROOT]] : vector<4xf64>
func.func @reciprocal_root(%x: vector<4xf64>) -> vector<4xf64> {
  %y = math.rsqrt %x : vector<4xf64>
  return %y : vector<4xf64>
}

// -----

// 16-bit types are computed in f32 and rounded once.
// CHECK-LABEL: func.func @half
// CHECK: arith.extf %{{.*}} : bf16 to f32
// CHECK-NOT: bf16
// CHECK: arith.truncf %{{.*}} : f32 to bf16
// CHECK-NOT: arith.truncf
func.func @half(%x: bf16) -> bf16 {
  %y = math.log2 %x : bf16
  return %y : bf16
}

// -----

// The core of a sigmoid is one function: one division, corrected.
// CHECK-LABEL: func.func @sigmoid
// CHECK-COUNT-1: arith.divf
// CHECK: math.fma
// CHECK-NOT: arith.divf
func.func @sigmoid(%x: vector<8xf32>) -> vector<8xf32> {
  %one = arith.constant dense<1.0> : vector<8xf32>
  %m = arith.negf %x : vector<8xf32>
  %e = math.exp %m : vector<8xf32>
  %d = arith.addf %one, %e : vector<8xf32>
  %y = arith.divf %one, %d : vector<8xf32>
  return %y : vector<8xf32>
}
