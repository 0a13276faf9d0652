// What a select throws away is not loaded.
// RUN: tessera-opt %s -tessera-mask-loads | FileCheck %s

// The condition is computed after the load and moves before it; both factors of the product are masked.
// CHECK-LABEL: @product
// CHECK: %[[C:.*]] = arith.cmpi slt
// CHECK: %[[M:.*]] = arith.andi %arg2, %[[C]]
// CHECK: tile.load %arg0 mask %[[M]] other
// CHECK: %[[N:.*]] = arith.andi %arg2, %[[C]]
// CHECK: tile.load %arg1 mask %[[N]] : tensor
// CHECK: %[[P:.*]] = arith.mulf
// CHECK-NOT: arith.select
// CHECK: tile.store %arg4, %[[P]]
func.func @product(%x: tensor<128x!tile.ptr<bf16>>, %y: tensor<128x!tile.ptr<bf16>>, %m: tensor<128xi1>, %i: tensor<128xi32>, %o: tensor<128x!tile.ptr<f32>>) {
  %z = arith.constant dense<0.0> : tensor<128xbf16>
  %zero = arith.constant dense<0.0> : tensor<128xf32>
  %a = tile.load %x mask %m other %z : tensor<128x!tile.ptr<bf16>>
  %b = tile.load %y mask %m : tensor<128x!tile.ptr<bf16>>
  %r = tile.range 0, 128 : tensor<128xi32>
  %c = arith.cmpi slt, %r, %i : tensor<128xi32>
  %af = arith.extf %a : tensor<128xbf16> to tensor<128xf32>
  %bf = arith.extf %b : tensor<128xbf16> to tensor<128xf32>
  %p = arith.mulf %af, %bf : tensor<128xf32>
  %s = arith.select %c, %p, %zero : tensor<128xi1>, tensor<128xf32>
  tile.store %o, %s : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  return
}

// Not where the other value is not 0, where -0 is asked for, where 0 does not give 0, where another operation reads the element,
// where the condition depends on it, and not for loads without a mask.
// CHECK-LABEL: @kept
// CHECK-COUNT-6: arith.select
func.func @kept(%x: tensor<128x!tile.ptr<f32>>, %m: tensor<128xi1>, %c: tensor<128xi1>, %o: tensor<128x!tile.ptr<f32>>) {
  %one = arith.constant dense<1.0> : tensor<128xf32>
  %zero = arith.constant dense<0.0> : tensor<128xf32>
  %minus = arith.constant dense<-0.0> : tensor<128xf32>
  %a0 = tile.load %x mask %m other %one : tensor<128x!tile.ptr<f32>>
  %s0 = arith.select %c, %a0, %zero : tensor<128xi1>, tensor<128xf32>
  tile.store %o, %s0 : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  %a1 = tile.load %x mask %m : tensor<128x!tile.ptr<f32>>
  %s1 = arith.select %c, %a1, %minus : tensor<128xi1>, tensor<128xf32>
  tile.store %o, %s1 : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  %a2 = tile.load %x mask %m : tensor<128x!tile.ptr<f32>>
  %e2 = math.exp2 %a2 : tensor<128xf32>
  %s2 = arith.select %c, %e2, %zero : tensor<128xi1>, tensor<128xf32>
  tile.store %o, %s2 : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  %a3 = tile.load %x mask %m : tensor<128x!tile.ptr<f32>>
  %s3 = arith.select %c, %a3, %zero : tensor<128xi1>, tensor<128xf32>
  %t3 = arith.addf %s3, %a3 : tensor<128xf32>
  tile.store %o, %t3 : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  %a4 = tile.load %x mask %m : tensor<128x!tile.ptr<f32>>
  %b4 = tile.load %x mask %m : tensor<128x!tile.ptr<f32>>
  %c4 = arith.cmpf olt, %b4, %one : tensor<128xf32>
  %s4 = arith.select %c4, %a4, %zero : tensor<128xi1>, tensor<128xf32>
  tile.store %o, %s4 : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  %a5 = tile.load %x : tensor<128x!tile.ptr<f32>>
  %s5 = arith.select %c, %a5, %zero : tensor<128xi1>, tensor<128xf32>
  tile.store %o, %s5 : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  return
}
