// Warps that would only do what others do are not launched.
// RUN: tessera-opt %s -split-input-file -tessera-trim-warps=num-warps=4 | FileCheck %s
// RUN: %docblock-layouts.md trim.before > %t.before
// RUN: tessera-opt %s -split-input-file | FileCheck %t.before
// RUN: %docblock-layouts.md trim.after > %t.after
// RUN: tessera-opt %s -split-input-file -tessera-trim-warps=num-warps=4 | FileCheck %t.after

// Sixteen elements are half a warp's.
// CHECK: #linear = #tile.linear<16, register = [], lane = {{\[\[}}1], [2], [4], [8], [0]], warp = []>
// CHECK: module attributes {tessera.num_warps = 1 : i64}
// CHECK: arith.constant dense<1> : tensor<16xi32, #linear>
#row = #tile.linear<16, register = [], lane = [[1], [2], [4], [8], [0]], warp = [[0], [0]]>
func.func @small(%p: !tile.ptr<i32>) {
  %r = tile.range 0, 16 : tensor<16xi32, #row>
  %one = arith.constant dense<1> : tensor<16xi32, #row>
  %s = tile.splat %p : !tile.ptr<i32> -> tensor<16x!tile.ptr<i32>, #row>
  %q = tile.addptr %s, %r : tensor<16x!tile.ptr<i32>, #row>, tensor<16xi32, #row>
  tile.store %q, %one : tensor<16x!tile.ptr<i32>, #row>, tensor<16xi32, #row>
  return
}

// -----

// The second bit of the warp number moves elements of one tensor, the first those of none; it goes everywhere.
// CHECK-DAG: #tile.linear<64, register = [], lane = {{\[\[}}1], [2], [4], [8], [16]], warp = {{\[\[}}32]]>
// CHECK-DAG: #tile.linear<32, register = [], lane = {{\[\[}}1], [2], [4], [8], [16]], warp = {{\[\[}}0]]>
// CHECK: module attributes {tessera.num_warps = 2 : i64}
#two = #tile.linear<64, register = [], lane = [[1], [2], [4], [8], [16]], warp = [[0], [32]]>
#one = #tile.linear<32, register = [], lane = [[1], [2], [4], [8], [16]], warp = [[0], [0]]>
func.func @mixed(%p: !tile.ptr<i32>) {
  %r = tile.range 0, 64 : tensor<64xi32, #two>
  %s = tile.splat %p : !tile.ptr<i32> -> tensor<64x!tile.ptr<i32>, #two>
  %q = tile.addptr %s, %r : tensor<64x!tile.ptr<i32>, #two>, tensor<64xi32, #two>
  tile.store %q, %r : tensor<64x!tile.ptr<i32>, #two>, tensor<64xi32, #two>
  %r1 = tile.range 0, 32 : tensor<32xi32, #one>
  %s1 = tile.splat %p : !tile.ptr<i32> -> tensor<32x!tile.ptr<i32>, #one>
  %q1 = tile.addptr %s1, %r1 : tensor<32x!tile.ptr<i32>, #one>, tensor<32xi32, #one>
  tile.store %q1, %r1 : tensor<32x!tile.ptr<i32>, #one>, tensor<32xi32, #one>
  return
}

// -----

// Every warp has elements of its own: nothing changes.
// CHECK: warp = {{\[\[}}32], [64]]>
// CHECK-NOT: tessera.num_warps
#all = #tile.linear<128, register = [], lane = [[1], [2], [4], [8], [16]], warp = [[32], [64]]>
func.func @all(%p: !tile.ptr<i32>) {
  %r = tile.range 0, 128 : tensor<128xi32, #all>
  %s = tile.splat %p : !tile.ptr<i32> -> tensor<128x!tile.ptr<i32>, #all>
  %q = tile.addptr %s, %r : tensor<128x!tile.ptr<i32>, #all>, tensor<128xi32, #all>
  tile.store %q, %r : tensor<128x!tile.ptr<i32>, #all>, tensor<128xi32, #all>
  return
}
