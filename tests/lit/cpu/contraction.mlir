// What may be fused: products and sums of f32, not those that compute in 16 bits.
// SPDX-License-Identifier: Apache-2.0
// RUN: tessera-opt %s -tessera-allow-contraction | FileCheck %s

// CHECK-LABEL: @wide
func.func @wide(%a: f32, %b: f32, %c: f16) -> f32 {
  // CHECK: arith.mulf {{.*}} fastmath<contract>
  // CHECK: arith.addf {{.*}} fastmath<contract>
  %product = arith.mulf %a, %b : f32
  %wide = arith.extf %c : f16 to f32
  %sum = arith.addf %product, %wide : f32
  return %sum : f32
}

// On a CPU with arithmetic in fp16 both become one instruction each, which round
// by themselves.
// CHECK-LABEL: @narrow
func.func @narrow(%a: f16, %b: f16) -> f16 {
  // CHECK-NOT: contract
  %one = arith.constant 1.0 : f32
  %x = arith.extf %a : f16 to f32
  %y = arith.extf %b : f16 to f32
  %product = arith.mulf %x, %y : f32
  %rounded = arith.truncf %product : f32 to f16
  %again = arith.extf %rounded : f16 to f32
  %sum = arith.addf %again, %one : f32
  %result = arith.truncf %sum : f32 to f16
  return %result : f16
}
