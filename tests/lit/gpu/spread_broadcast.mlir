// A column that is repeated along rows and summed over columns.
// RUN: tessera-opt %s -tessera-coalesce=num-warps=4 -tessera-assign-layouts=num-warps=4 -cse | FileCheck %s

// The lanes that hold replicas of it share the work, two elements a lane instead of sixteen; the column stays where its reduction
// left it.
// CHECK: [[WIDE:#linear[0-9]*]] = #tile.linear<16x16, register = {{\[\[}}0, 8]], lane = {{\[\[}}0, 1], [0, 2], [0, 4], [1, 0], [2, 0]], warp = {{\[\[}}4, 0], [8, 0]]>
// CHECK-LABEL: @ranks
// CHECK: tile.reduce max
// CHECK-NOT: tile.convert_layout
// CHECK: tile.broadcast {{.*}} -> tensor<16x16xi32, [[WIDE]]>
// CHECK-NOT: tile.convert_layout
// CHECK: tile.reduce sum
func.func @ranks(%X: !tile.ptr<i32> {tile.divisibility = 16 : i32}, %Y: !tile.ptr<i32> {tile.divisibility = 16 : i32}) {
  %r = tile.range 0, 16 : tensor<16xi32>
  %c = tile.range 0, 8 : tensor<8xi32>
  %d = arith.constant dense<8> : tensor<16xi32>
  %zero = arith.constant dense<0> : tensor<16x16xi32>
  %rd = arith.muli %r, %d : tensor<16xi32>
  %a = tile.expand_dims %rd, 1 : tensor<16xi32> -> tensor<16x1xi32>
  %b = tile.expand_dims %c, 0 : tensor<8xi32> -> tensor<1x8xi32>
  %ab = tile.broadcast %a : tensor<16x1xi32> -> tensor<16x8xi32>
  %bb = tile.broadcast %b : tensor<1x8xi32> -> tensor<16x8xi32>
  %o = arith.addi %ab, %bb : tensor<16x8xi32>
  %ps = tile.splat %X : !tile.ptr<i32> -> tensor<16x8x!tile.ptr<i32>>
  %p = tile.addptr %ps, %o : tensor<16x8x!tile.ptr<i32>>, tensor<16x8xi32>
  %x = tile.load %p : tensor<16x8x!tile.ptr<i32>>
  %h = tile.reduce max %x, 1 : tensor<16x8xi32> -> tensor<16xi32>
  %he = tile.expand_dims %h, 1 : tensor<16xi32> -> tensor<16x1xi32>
  %hb = tile.broadcast %he : tensor<16x1xi32> -> tensor<16x16xi32>
  %re = tile.expand_dims %r, 1 : tensor<16xi32> -> tensor<16x1xi32>
  %rb = tile.broadcast %re : tensor<16x1xi32> -> tensor<16x16xi32>
  %ce = tile.expand_dims %r, 0 : tensor<16xi32> -> tensor<1x16xi32>
  %cb = tile.broadcast %ce : tensor<1x16xi32> -> tensor<16x16xi32>
  %before = arith.cmpi slt, %rb, %cb : tensor<16x16xi32>
  %w = arith.select %before, %hb, %zero : tensor<16x16xi1>, tensor<16x16xi32>
  %s = tile.reduce sum %w, 0 : tensor<16x16xi32> -> tensor<16xi32>
  %qs = tile.splat %Y : !tile.ptr<i32> -> tensor<16x!tile.ptr<i32>>
  %q = tile.addptr %qs, %s : tensor<16x!tile.ptr<i32>>, tensor<16xi32>
  tile.store %q, %h : tensor<16x!tile.ptr<i32>>, tensor<16xi32>
  return
}
