// Sums in memory to which a loop adds a product.
// RUN: tessera-opt %s -tessera-dot-instructions -tessera-coalesce=num-warps=4 -tessera-dot-layouts=num-warps=4 -tessera-assign-layouts=num-warps=4 -cse | FileCheck %s

// Four lanes have a sector of eight neighbours: the sum is read and written where the product has it.
// CHECK-LABEL: func.func @fp32_sum
// CHECK: scf.for
// CHECK-NOT: tile.convert_layout
// CHECK: [[OLD:%.*]] = tile.load
// CHECK: [[NEW:%.*]] = tile.dot {{.*}}, [[OLD]]
// CHECK-NEXT: tile.store {{.*}}, [[NEW]]
// CHECK: return
func.func @fp32_sum(%A: !tile.ptr<bf16> {tile.divisibility = 16 : i32}, %S: !tile.ptr<f32> {tile.divisibility = 16 : i32}, %B: !tile.ptr<bf16> {tile.divisibility = 16 : i32}, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = tile.range 0, 64 : tensor<64xi32>
  %d = arith.constant dense<64> : tensor<64xi32>
  %rd = arith.muli %r, %d : tensor<64xi32>
  %x = tile.expand_dims %rd, 1 : tensor<64xi32> -> tensor<64x1xi32>
  %y = tile.expand_dims %r, 0 : tensor<64xi32> -> tensor<1x64xi32>
  %xb = tile.broadcast %x : tensor<64x1xi32> -> tensor<64x64xi32>
  %yb = tile.broadcast %y : tensor<1x64xi32> -> tensor<64x64xi32>
  %o = arith.addi %xb, %yb : tensor<64x64xi32>
  %as = tile.splat %A : !tile.ptr<bf16> -> tensor<64x64x!tile.ptr<bf16>>
  %ap = tile.addptr %as, %o : tensor<64x64x!tile.ptr<bf16>>, tensor<64x64xi32>
  %a = tile.load %ap : tensor<64x64x!tile.ptr<bf16>>
  %bs = tile.splat %B : !tile.ptr<bf16> -> tensor<64x64x!tile.ptr<bf16>>
  %bp = tile.addptr %bs, %o : tensor<64x64x!tile.ptr<bf16>>, tensor<64x64xi32>
  %b = tile.load %bp : tensor<64x64x!tile.ptr<bf16>>
  %ss = tile.splat %S : !tile.ptr<f32> -> tensor<64x64x!tile.ptr<f32>>
  %sp = tile.addptr %ss, %o : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
  scf.for %i = %c0 to %n step %c1 : i32 {
    %old = tile.load %sp : tensor<64x64x!tile.ptr<f32>>
    %new = tile.dot %a, %b, %old tf32 : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    tile.store %sp, %new : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xf32>
  }
  return
}

// Four lanes have half of a sector: the sum leaves in stores of 16 bytes.
// CHECK-LABEL: func.func @bf16_sum
// CHECK: scf.for
// CHECK: [[NEW:%.*]] = tile.dot
// CHECK: [[OUT:%.*]] = tile.convert_layout
// CHECK-NEXT: tile.store {{.*}}, [[OUT]]
// CHECK: return
func.func @bf16_sum(%A: !tile.ptr<bf16> {tile.divisibility = 16 : i32}, %S: !tile.ptr<bf16> {tile.divisibility = 16 : i32}, %B: !tile.ptr<bf16> {tile.divisibility = 16 : i32}, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = tile.range 0, 64 : tensor<64xi32>
  %d = arith.constant dense<64> : tensor<64xi32>
  %rd = arith.muli %r, %d : tensor<64xi32>
  %x = tile.expand_dims %rd, 1 : tensor<64xi32> -> tensor<64x1xi32>
  %y = tile.expand_dims %r, 0 : tensor<64xi32> -> tensor<1x64xi32>
  %xb = tile.broadcast %x : tensor<64x1xi32> -> tensor<64x64xi32>
  %yb = tile.broadcast %y : tensor<1x64xi32> -> tensor<64x64xi32>
  %o = arith.addi %xb, %yb : tensor<64x64xi32>
  %as = tile.splat %A : !tile.ptr<bf16> -> tensor<64x64x!tile.ptr<bf16>>
  %ap = tile.addptr %as, %o : tensor<64x64x!tile.ptr<bf16>>, tensor<64x64xi32>
  %a = tile.load %ap : tensor<64x64x!tile.ptr<bf16>>
  %bs = tile.splat %B : !tile.ptr<bf16> -> tensor<64x64x!tile.ptr<bf16>>
  %bp = tile.addptr %bs, %o : tensor<64x64x!tile.ptr<bf16>>, tensor<64x64xi32>
  %b = tile.load %bp : tensor<64x64x!tile.ptr<bf16>>
  %ss = tile.splat %S : !tile.ptr<bf16> -> tensor<64x64x!tile.ptr<bf16>>
  %sp = tile.addptr %ss, %o : tensor<64x64x!tile.ptr<bf16>>, tensor<64x64xi32>
  scf.for %i = %c0 to %n step %c1 : i32 {
    %stored = tile.load %sp : tensor<64x64x!tile.ptr<bf16>>
    %old = tile.convert %stored rtne : tensor<64x64xbf16> -> tensor<64x64xf32>
    %new = tile.dot %a, %b, %old tf32 : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    %rounded = tile.convert %new rtne : tensor<64x64xf32> -> tensor<64x64xbf16>
    tile.store %sp, %rounded : tensor<64x64x!tile.ptr<bf16>>, tensor<64x64xbf16>
  }
  return
}
