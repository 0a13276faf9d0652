// A store whose value is as good for memory as the store's own layout.
// RUN: tessera-opt %s -tessera-dot-instructions -tessera-coalesce=num-warps=4 -tessera-dot-layouts=num-warps=4 -tessera-assign-layouts=num-warps=4 -cse -tessera-allocate-shared=num-warps=4 | FileCheck %s

// After the columns of the product are permuted, a lane holds four neighbours and four lanes hold a row. The
// store leaves them in these lanes.
// CHECK-LABEL: func.func @turned_columns
// CHECK: tile.dot
// CHECK-NOT: scratch_bytes
// CHECK: tile.store
// CHECK: return
func.func @turned_columns(%A: !tile.ptr<bf16> {tile.divisibility = 16 : i32}, %S: !tile.ptr<f32> {tile.divisibility = 16 : i32}, %B: !tile.ptr<bf16> {tile.divisibility = 16 : i32}) {
  %r = tile.range 0, 64 : tensor<64xi32>
  %k = tile.range 0, 16 : tensor<16xi32>
  %d = arith.constant dense<16> : tensor<64xi32>
  %e = arith.constant dense<16> : tensor<16xi32>
  %rd = arith.muli %r, %d : tensor<64xi32>
  %kd = arith.muli %k, %e : tensor<16xi32>
  %x = tile.expand_dims %rd, 1 : tensor<64xi32> -> tensor<64x1xi32>
  %x2 = tile.expand_dims %kd, 1 : tensor<16xi32> -> tensor<16x1xi32>
  %y = tile.expand_dims %k, 0 : tensor<16xi32> -> tensor<1x16xi32>
  %xb = tile.broadcast %x : tensor<64x1xi32> -> tensor<64x16xi32>
  %yb = tile.broadcast %y : tensor<1x16xi32> -> tensor<64x16xi32>
  %o = arith.addi %xb, %yb : tensor<64x16xi32>
  %x2b = tile.broadcast %x2 : tensor<16x1xi32> -> tensor<16x16xi32>
  %y2b = tile.broadcast %y : tensor<1x16xi32> -> tensor<16x16xi32>
  %o2 = arith.addi %x2b, %y2b : tensor<16x16xi32>
  %as = tile.splat %A : !tile.ptr<bf16> -> tensor<64x16x!tile.ptr<bf16>>
  %ap = tile.addptr %as, %o : tensor<64x16x!tile.ptr<bf16>>, tensor<64x16xi32>
  %a = tile.load %ap : tensor<64x16x!tile.ptr<bf16>>
  %bs = tile.splat %B : !tile.ptr<bf16> -> tensor<16x16x!tile.ptr<bf16>>
  %bp = tile.addptr %bs, %o2 : tensor<16x16x!tile.ptr<bf16>>, tensor<16x16xi32>
  %b = tile.load %bp : tensor<16x16x!tile.ptr<bf16>>
  %z = arith.constant dense<0.0> : tensor<64x16xf32>
  %c = tile.dot %a, %b, %z tf32 : tensor<64x16xbf16>, tensor<16x16xbf16> -> tensor<64x16xf32>
  %c4 = tile.reshape %c : tensor<64x16xf32> -> tensor<64x2x4x2xf32>
  %t4 = tile.trans %c4 [0, 2, 1, 3] : tensor<64x2x4x2xf32> -> tensor<64x4x2x2xf32>
  %t = tile.reshape %t4 : tensor<64x4x2x2xf32> -> tensor<64x16xf32>
  %ss = tile.splat %S : !tile.ptr<f32> -> tensor<64x16x!tile.ptr<f32>>
  %sp = tile.addptr %ss, %o : tensor<64x16x!tile.ptr<f32>>, tensor<64x16xi32>
  tile.store %sp, %t : tensor<64x16x!tile.ptr<f32>>, tensor<64x16xf32>
  return
}
