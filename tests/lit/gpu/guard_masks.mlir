// Masks under a scalar condition: none where no element is masked.
// RUN: tessera-opt %s -tessera-guard-masks | FileCheck %s
// RUN: %docblock-masks.md guard.before > %t.before
// RUN: tessera-opt %s | FileCheck %t.before
// RUN: %docblock-masks.md guard.after > %t.after
// RUN: tessera-opt %s -tessera-guard-masks | FileCheck %t.after

#acc = #tile.linear<64x64, register = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#a = #tile.linear<64x16, register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#b = #tile.linear<16x64, register = [[1, 0], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = [[0, 0], [0, 0]]>
#row = #tile.linear<1x64, register = [[0, 1], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [0, 0], [0, 0], [0, 0]], warp = [[0, 0], [0, 0]]>
#col = #tile.linear<64x1, register = [[8, 0]], lane = [[0, 0], [0, 0], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#lines = #tile.linear<64, register = [[8]], lane = [[0], [0], [1], [2], [4]], warp = [[16], [32]]>
#cols = #tile.linear<64, register = [[1], [8], [16], [32]], lane = [[2], [4], [0], [0], [0]], warp = [[0], [0]]>
#a1 = #tile.linear<16x16, register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
#b1 = #tile.linear<16x8, register = [[1, 0], [8, 0]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = []>
#acc1 = #tile.linear<16x8, register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>

// Keys n .. n + 63 against tokens first .. first + 63. That first + 63 fits
// i32 is asked for once, before the loop; the counter needs no such check.
// CHECK-LABEL: func.func @causal
// CHECK-SAME: %[[FIRST:[a-z0-9]+]]: i32
// CHECK: %[[LIMIT:.*]] = arith.constant 2147483584 : i32
// CHECK: %[[FITS:.*]] = arith.cmpi sle, %[[FIRST]], %[[LIMIT]] : i32
// CHECK: scf.for %[[N:.*]] = %c0_i32 to
// CHECK-NEXT: %[[S:.*]] = tile.dot
// CHECK-NEXT: %[[LAST:.*]] = arith.addi %[[N]], %{{.*}} : i32
// CHECK-NEXT: %[[SEEN:.*]] = arith.cmpi sle, %[[LAST]], %[[FIRST]] : i32
// CHECK-NEXT: %[[ALL:.*]] = arith.andi %[[FITS]], %[[SEEN]] : i1
// CHECK-NEXT: %[[P:.*]] = scf.if %[[ALL]]
// CHECK-NEXT: scf.yield %[[S]]
// CHECK-NEXT: } else {
// CHECK-NEXT: tile.splat %[[N]]
// CHECK-NEXT: arith.addi
// CHECK-NEXT: tile.broadcast
// CHECK-NEXT: %[[KEEP:.*]] = arith.cmpi sle
// CHECK-NEXT: %[[MASKED:.*]] = arith.select %[[KEEP]], %[[S]]
// CHECK-NEXT: scf.yield %[[MASKED]]
// CHECK: scf.yield %[[P]]
func.func @causal(%first: i32, %end: i32, %q: tensor<64x16xf16, #a>, %k: tensor<16x64xf16, #b>, %zero: tensor<64x64xf32, #acc>) -> tensor<64x64xf32, #acc> {
  %c0_i32 = arith.constant 0 : i32
  %c64_i32 = arith.constant 64 : i32
  %none = arith.constant dense<0xFF800000> : tensor<64x64xf32, #acc>
  %rows = tile.range 0, 64 : tensor<64xi32, #lines>
  %f = tile.splat %first : i32 -> tensor<64xi32, #lines>
  %t = arith.addi %f, %rows : tensor<64xi32, #lines>
  %t1 = tile.expand_dims %t, 1 : tensor<64xi32, #lines> -> tensor<64x1xi32, #col>
  %t2 = tile.broadcast %t1 : tensor<64x1xi32, #col> -> tensor<64x64xi32, #acc>
  %cols = tile.range 0, 64 : tensor<64xi32, #cols>
  %c1 = tile.expand_dims %cols, 0 : tensor<64xi32, #cols> -> tensor<1x64xi32, #row>
  %r = scf.for %n = %c0_i32 to %end step %c64_i32 iter_args(%old = %zero) -> (tensor<64x64xf32, #acc>) : i32 {
    %s = tile.dot %q, %k, %zero ieee : tensor<64x16xf16, #a>, tensor<16x64xf16, #b> -> tensor<64x64xf32, #acc>
    %ns = tile.splat %n : i32 -> tensor<1x64xi32, #row>
    %pos = arith.addi %ns, %c1 : tensor<1x64xi32, #row>
    %p2 = tile.broadcast %pos : tensor<1x64xi32, #row> -> tensor<64x64xi32, #acc>
    %keep = arith.cmpi sle, %p2, %t2 : tensor<64x64xi32, #acc>
    %m = arith.select %keep, %s, %none : tensor<64x64xi1, #acc>, tensor<64x64xf32, #acc>
    scf.yield %m : tensor<64x64xf32, #acc>
  }
  return %r : tensor<64x64xf32, #acc>
}

// Tokens from memory have no known bounds; a mask outside of loops with dots
// costs once.
// CHECK-LABEL: func.func @kept
// CHECK-NOT: scf.if
func.func @kept(%t: tensor<64x64xi32, #acc>, %end: i32, %q: tensor<64x16xf16, #a>, %k: tensor<16x64xf16, #b>, %zero: tensor<64x64xf32, #acc>) -> tensor<64x64xf32, #acc> {
  %c0_i32 = arith.constant 0 : i32
  %c64_i32 = arith.constant 64 : i32
  %none = arith.constant dense<0xFF800000> : tensor<64x64xf32, #acc>
  %e = tile.splat %end : i32 -> tensor<64x64xi32, #acc>
  %r = scf.for %n = %c0_i32 to %end step %c64_i32 iter_args(%old = %zero) -> (tensor<64x64xf32, #acc>) : i32 {
    %s = tile.dot %q, %k, %zero ieee : tensor<64x16xf16, #a>, tensor<16x64xf16, #b> -> tensor<64x64xf32, #acc>
    %ns = tile.splat %n : i32 -> tensor<64x64xi32, #acc>
    %keep = arith.cmpi sle, %ns, %t : tensor<64x64xi32, #acc>
    %m = arith.select %keep, %s, %none : tensor<64x64xi1, #acc>, tensor<64x64xf32, #acc>
    scf.yield %m : tensor<64x64xf32, #acc>
  }
  %c5 = arith.constant dense<5> : tensor<64x64xi32, #acc>
  %keep = arith.cmpi sle, %c5, %e : tensor<64x64xi32, #acc>
  %m = arith.select %keep, %r, %none : tensor<64x64xi1, #acc>, tensor<64x64xf32, #acc>
  return %m : tensor<64x64xf32, #acc>
}

// Four elements a thread are masked faster than they are asked about.
// CHECK-LABEL: func.func @small
// CHECK-NOT: scf.if
func.func @small(%end: i32, %q: tensor<16x16xf16, #a1>, %k: tensor<16x8xf16, #b1>, %zero: tensor<16x8xf32, #acc1>) -> tensor<16x8xf32, #acc1> {
  %c0_i32 = arith.constant 0 : i32
  %c8_i32 = arith.constant 8 : i32
  %e = tile.splat %end : i32 -> tensor<16x8xi32, #acc1>
  %r = scf.for %n = %c0_i32 to %end step %c8_i32 iter_args(%old = %zero) -> (tensor<16x8xf32, #acc1>) : i32 {
    %s = tile.dot %q, %k, %zero ieee : tensor<16x16xf16, #a1>, tensor<16x8xf16, #b1> -> tensor<16x8xf32, #acc1>
    %ns = tile.splat %n : i32 -> tensor<16x8xi32, #acc1>
    %keep = arith.cmpi slt, %ns, %e : tensor<16x8xi32, #acc1>
    %m = arith.select %keep, %s, %old : tensor<16x8xi1, #acc1>, tensor<16x8xf32, #acc1>
    scf.yield %m : tensor<16x8xf32, #acc1>
  }
  return %r : tensor<16x8xf32, #acc1>
}
